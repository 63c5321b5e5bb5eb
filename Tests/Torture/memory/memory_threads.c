// SPDX-License-Identifier: MIT
// Threads that read and write one index: each has keys of its own, which must be as it left them,
// and they wait for each other in every way there is.
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

enum { THREADS = 8, OWN_KEYS = 400 };

typedef struct crowd {
    torture *run;
    larder_index *index;
    unsigned steps;
} crowd;

typedef struct worker {
    crowd *crowd;
    uint64_t number;
    /** What is under each key, 0 for nothing. */
    uint64_t values[OWN_KEYS];
} worker;

typedef struct pair {
    uint64_t key, value;
} pair;

static void nap(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

static void worker_read(worker *self, uint64_t which, bool is_slow) {
    crowd *all = self->crowd;
    larder_index_probe probe;
    uint64_t key = self->number * OWN_KEYS + which, value = 0;
    uint32_t token = larder_index_read_first(all->index, larder_index_hash_u64(key), &probe);
    while (probe.payload && !larder_index_equals_u64(probe.payload, &key)) {
        larder_index_next(all->index, &probe);
    }
    if (probe.payload) {
        value = ((const pair *)probe.payload)->value;
    }
    if (is_slow) {
        nap(1);
    }
    if (probe.payload) {
        larder_index_read_hit(all->index, token, &probe);
    } else {
        larder_index_read_end(all->index, token, LARDER_INDEX_NONE);
    }
    EXPECT(all->run, value == self->values[which], "key %llu has another value",
           (unsigned long long)key);
}

static void worker_write(worker *self, uint64_t which, uint64_t value, bool is_slow) {
    crowd *all = self->crowd;
    pair entry = {self->number * OWN_KEYS + which, value};
    larder_index_cause cause;
    larder_index_probe probe;
    bool is_due = larder_index_write_first(all->index, larder_index_hash_u64(entry.key), &probe);
    EXPECT(all->run, !is_due, "something is due, where nothing expires so soon");
    while (probe.payload && !larder_index_equals_u64(probe.payload, &entry.key)) {
        larder_index_next(all->index, &probe);
    }
    EXPECT(all->run, (probe.payload != NULL) == (self->values[which] != 0), "it is not as it was");
    if (probe.payload && !value) {
        larder_index_take(all->index, probe.slot, LARDER_INDEX_REMOVED);
    } else if (value) {
        if (probe.payload) {
            larder_index_rewrite(all->index, probe.slot, 0);
        } else if (!EXPECT_STATUS(all->run, larder_index_write_insert(all->index, 0, &probe),
                                  LARDER_OK)) {
            larder_index_write_end(all->index);
            return;
        }
        memcpy(probe.payload, &entry, sizeof entry);
    }
    if (is_slow) {
        nap(1);
    }
    EXPECT(all->run, !larder_index_write_settle(all->index, &probe, &cause), "something went");
    self->values[which] = value;
}

static void *work(void *argument) {
    worker *self = argument;
    rng random = rng_make(mix2(self->crowd->run->seed, self->number));
    for (unsigned i = 0; i < self->crowd->steps && torture_unhurt(self->crowd->run); i++) {
        uint64_t which = rng_below(&random, OWN_KEYS);
        bool is_slow = rng_one_in(&random, 200);
        if (rng_one_in(&random, 4)) {
            worker_write(self, which, rng_below(&random, 5), is_slow);
        } else {
            worker_read(self, which, is_slow);
        }
    }
    return NULL;
}

static void crowd_run(torture *run, larder_index_policy policy, uint64_t limit, uint32_t readers) {
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    crowd all = {run, NULL, run->brief ? 1500 : 10000};
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = policy;
    options.count_limit = limit;
    options.readers = readers;
    torture_note(run, "threads: policy %d, limit %llu, %u readers", (int)policy,
                 (unsigned long long)limit, readers);
    if (!EXPECT_STATUS(run, larder_index_create(&options, &all.index), LARDER_OK)) {
        return;
    }
    larder_index_expiry expiry = {INT64_MAX / 2, INT64_MAX / 2, LARDER_INDEX_NEVER};
    larder_index_write_begin(all.index);
    EXPECT_STATUS(run, readers == 1 ? LARDER_OK : larder_index_set_expiry(all.index, &expiry),
                  LARDER_OK);
    larder_index_write_end(all.index);
    memset(workers, 0, sizeof workers);
    unsigned started = 0;
    for (; started < THREADS; started++) {
        workers[started].crowd = &all;
        workers[started].number = started;
        if (pthread_create(&threads[started], NULL, work, &workers[started]) != 0) {
            break;
        }
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    const char *reason = NULL;
    larder_index_write_begin(all.index);
    EXPECT(run, larder_index_check(all.index, &reason) == LARDER_OK, "%s", reason);
    uint64_t count = 0;
    for (unsigned i = 0; i < started; i++) {
        for (unsigned which = 0; which < OWN_KEYS; which++) {
            count += workers[i].values[which] != 0;
        }
    }
    EXPECT(run, larder_index_count(all.index) == count, "another number of entries");
    larder_index_write_end(all.index);
    larder_index_destroy(all.index);
}

void memory_threads(torture *run, void *context) {
    (void)context;
    uint64_t none = LARDER_INDEX_UNLIMITED, wide = THREADS * OWN_KEYS;
    for (unsigned policy = LARDER_INDEX_LRU; policy <= LARDER_INDEX_ADAPTIVE; policy++) {
        for (uint32_t readers = 1; readers <= 4; readers *= 2) {
            torture_trial(run);
            crowd_run(run, (larder_index_policy)policy, readers == 2 ? wide : none, readers);
        }
    }
}
