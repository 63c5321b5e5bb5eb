// SPDX-License-Identifier: MIT
// Threads on one store, second openers, fork, a shutdown in the middle of everything; and readers
// of a store whose writers change things only in pairs. Readers in other processes are in
// store_readers.c.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"

enum { PAIRS = 24, PAIR_THREADS = 3, PAIR_VALUE_MAX = 6000 };

typedef struct scene {
    const char *path;
    rng random;
    torture *run;
    larder_store *store;
    _Atomic uint32_t stops;
    _Atomic uint64_t count;
    uint64_t threshold, journal;
    larder_store_tuning tuning;
    _Atomic int64_t owner;
} scene;

static larder_store_options scene_options(const scene *self, uint32_t flags) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags;
    options.journal_bytes = self->journal;
    options.inline_threshold_bytes = self->threshold;
    options.tuning = &self->tuning;
    options.flush_interval_ns = 2000000;
    options.sync_interval_ns = 1000000;
    options.trim_interval_ns = 3000000;
    return options;
}

static bool scene_open(torture *run, scene *self, uint32_t flags, larder_store **out) {
    larder_store_options options = scene_options(self, flags);
    return EXPECT_STATUS(run, larder_store_open(self->path, &options, NULL, out), LARDER_OK);
}

static pid_t spawn(torture *run, scene *self, void (*body)(torture *, scene *)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        body(run, self);
        _exit(0);
    }
    return child;
}

static void join(torture *run, pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT(run, WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "another process ended with status 0x%x", status);
}

// Pairs -------------------------------------------------------------------------------------------

/** Number and thread, and then bytes that follow from them. */
static size_t pair_value(uint64_t number, uint32_t thread, uint8_t target[PAIR_VALUE_MAX]) {
    uint64_t tag = number << 8 | thread;
    size_t length = 8 + mix(tag) % (mix(tag) % 8 == 0 ? PAIR_VALUE_MAX - 8 : 200);
    memcpy(target, &tag, 8);
    message_fill(tag, target + 8, length - 8);
    return length;
}

/** The number in a value; 0 if it was never written. */
static uint64_t pair_number(larder_bytes value, uint32_t thread) {
    uint64_t tag;
    uint8_t wanted[PAIR_VALUE_MAX];
    if (value.length < 8) {
        return 0;
    }
    memcpy(&tag, value.data, 8);
    if ((tag & 255) != thread || pair_value(tag >> 8, thread, wanted) != value.length ||
        memcmp(wanted, value.data, value.length) != 0) {
        return 0;
    }
    return tag >> 8;
}

static larder_bytes pair_key(uint32_t thread, uint32_t pair, char side, char key[32]) {
    int length = snprintf(key, 32, "%c-%u-%u", side, thread, pair);
    return bytes_of(key, (size_t)length);
}

static bool write_pair(torture *run, larder_store *store, uint32_t thread, uint32_t pair,
                       uint64_t number, uint32_t flags) {
    larder_store_batch *batch = NULL;
    larder_status status = larder_store_batch_create(store, &batch);
    uint8_t value[PAIR_VALUE_MAX];
    size_t length = pair_value(number, thread, value);
    for (int side = 0; side < 2 && status == LARDER_OK; side++) {
        char key[32];
        larder_store_item item;
        larder_store_item_init(&item, pair_key(thread, pair, side ? 'b' : 'a', key),
                               bytes_of(value, length));
        status = larder_store_batch_put(batch, &item);
    }
    if (status == LARDER_OK) {
        status = larder_store_batch_commit(batch, flags, NULL);
    }
    larder_store_batch_destroy(batch);
    return EXPECT(run, status == LARDER_OK, "a batch gave %d (%s)", status,
                  larder_strerror(status));
}

/** Whole pairs are counted, by the totals of the tree or by its rows. */
static bool count_pairs(torture *run, larder_store *store) {
    larder_store_query query;
    larder_store_query_init(&query);
    for (unsigned round = 0; round < 2; round++) {
        uint64_t count = 0;
        larder_status status = larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
        if (status != LARDER_ENOSLOT &&
            (!EXPECT_STATUS(run, status, LARDER_OK) ||
             !EXPECT(run, count % 2 == 0 && count <= 2 * PAIR_THREADS * PAIRS,
                     "%" PRIu64 " entries are no pairs", count))) {
            return false;
        }
        query.flags = LARDER_STORE_HAS_LOWER;
    }
    return true;
}

/** One look at everything: both of each pair are of one write, and none is older than before. */
static bool look_at_pairs(torture *run, larder_store *store, uint64_t seen[PAIR_THREADS][PAIRS]) {
    uint64_t numbers[2][PAIR_THREADS][PAIRS];
    memset(numbers, 0, sizeof numbers);
    if (!count_pairs(run, store)) {
        return false;
    }
    larder_store_cursor *cursor = NULL;
    larder_store_query query;
    larder_store_query_init(&query);
    larder_status status = larder_store_cursor_open(store, &query, &cursor);
    if (status == LARDER_ENOSLOT) {
        return true;
    }
    if (!EXPECT_STATUS(run, status, LARDER_OK)) {
        return false;
    }
    larder_store_entry entry;
    bool good = true;
    while (good && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
        char key[32] = {0}, side = 0;
        unsigned thread = 0, pair = 0;
        if (entry.key.length < sizeof key) {
            memcpy(key, entry.key.data, entry.key.length);
        }
        good = EXPECT(run,
                      sscanf(key, "%c-%u-%u", &side, &thread, &pair) == 3 &&
                          thread < PAIR_THREADS && pair < PAIRS,
                      "a cursor found an unknown key");
        if (good) {
            uint64_t number = pair_number(entry.value, thread);
            numbers[side == 'b'][thread][pair] = number;
            good = EXPECT(run, number > 0, "the value of %s was never written", key);
        }
    }
    larder_store_cursor_close(cursor);
    good = good && EXPECT(run, status == LARDER_END, "a cursor gave %d (%s)", status,
                          larder_strerror(status));
    for (uint32_t thread = 0; thread < PAIR_THREADS && good; thread++) {
        for (uint32_t pair = 0; pair < PAIRS && good; pair++) {
            uint64_t one = numbers[0][thread][pair], other = numbers[1][thread][pair];
            good = EXPECT(run, one == other,
                          "pair %u-%u has %" PRIu64 " and %" PRIu64 ": half of a batch", thread,
                          pair, one, other) &&
                   EXPECT(run, one >= seen[thread][pair],
                          "pair %u-%u went back from %" PRIu64 " to %" PRIu64, thread, pair,
                          seen[thread][pair], one);
            seen[thread][pair] = one;
        }
    }
    return good;
}

static bool look_at_one(torture *run, larder_store *store, rng *random,
                        uint64_t seen[PAIR_THREADS][PAIRS]) {
    uint32_t thread = (uint32_t)rng_below(random, PAIR_THREADS);
    uint32_t pair = (uint32_t)rng_below(random, PAIRS);
    char key[32];
    larder_store_entry entry;
    larder_status status = larder_store_get(
        store, pair_key(thread, pair, rng_one_in(random, 2) ? 'a' : 'b', key), 0, &entry);
    uint64_t number = status == LARDER_OK ? pair_number(entry.value, thread) : 0;
    larder_store_release(&entry);
    bool good =
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND, "get of %s gave %d (%s)",
               key, status, larder_strerror(status)) &&
        EXPECT(run, status != LARDER_OK || number > 0, "the value of %s was never written", key) &&
        EXPECT(run, number >= seen[thread][pair],
               "get of %s went back from %" PRIu64 " to %" PRIu64, key, seen[thread][pair], number);
    seen[thread][pair] = number > seen[thread][pair] ? number : seen[thread][pair];
    return good;
}

static void *read_pairs(void *context) {
    scene *self = context;
    uint64_t seen[PAIR_THREADS][PAIRS];
    memset(seen, 0, sizeof seen);
    rng random = rng_make(mix(atomic_fetch_add(&self->count, 1)));
    bool good = true;
    while (good && !atomic_load(&self->stops)) {
        good = rng_one_in(&random, 30) ? look_at_pairs(self->run, self->store, seen)
                                       : look_at_one(self->run, self->store, &random, seen);
    }
    if (!good) {
        atomic_store(&self->stops, 1);
    }
    return NULL;
}

typedef struct pair_writer {
    scene *scene;
    uint32_t thread;
    rng random;
    uint64_t steps;
} pair_writer;

static void *write_pairs(void *context) {
    pair_writer *self = context;
    scene *at = self->scene;
    for (uint64_t number = 1; number <= self->steps && !atomic_load(&at->stops); number++) {
        uint32_t pair = (uint32_t)rng_below(&self->random, PAIRS);
        uint32_t flags = rng_one_in(&self->random, 40) ? (uint32_t)LARDER_STORE_SYNCED : 0;
        if (!write_pair(at->run, at->store, self->thread, pair, number, flags)) {
            atomic_store(&at->stops, 1);
            break;
        }
        larder_status status = LARDER_OK;
        if (rng_one_in(&self->random, 150)) {
            status = larder_store_flush(at->store);
        } else if (rng_one_in(&self->random, 150)) {
            status = larder_store_maintain(at->store);
        } else if (rng_one_in(&self->random, 100)) {
            status = larder_store_sync(at->store);
        }
        if (!EXPECT(at->run, status == LARDER_OK, "flush, sync or maintain gave %d", status)) {
            atomic_store(&at->stops, 1);
        }
    }
    return NULL;
}

/** Writers and readers of one process. */
static void pairs(torture *run, void *context) {
    scene *self = context;
    self->run = run;
    unsigned writers = (unsigned)rng_between(&self->random, 1, PAIR_THREADS);
    if (!scene_open(run, self, 0, &self->store)) {
        return;
    }
    pair_writer selves[PAIR_THREADS];
    pthread_t writing[PAIR_THREADS], reading[2];
    for (unsigned i = 0; i < writers; i++) {
        selves[i] =
            (pair_writer){self, i, rng_make(rng_next(&self->random)), run->brief ? 1500 : 5000};
        (void)!pthread_create(&writing[i], NULL, write_pairs, &selves[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        (void)!pthread_create(&reading[i], NULL, read_pairs, self);
    }
    for (unsigned i = 0; i < writers; i++) {
        pthread_join(writing[i], NULL);
    }
    atomic_store(&self->stops, 1);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(reading[i], NULL);
    }
    larder_store_report report;
    EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_OK);
    larder_status status = larder_store_check(self->store, NULL, NULL, &report);
    EXPECT(run, status == LARDER_OK,
           "check gave %d: %" PRIu64 " damaged, %" PRIu64 " pages, %" PRIu64 " inconsistencies",
           status, report.damaged, report.damaged_pages, report.inconsistencies);
    larder_store_close(self->store);
}

// Shutdown ----------------------------------------------------------------------------------------

static void *use_until_closed(void *context) {
    scene *self = context;
    rng random = rng_make(mix(atomic_fetch_add(&self->count, 1)));
    larder_status status = LARDER_OK;
    for (uint64_t step = 0; status == LARDER_OK || status == LARDER_ENOTFOUND; step++) {
        char key[32];
        larder_bytes name = pair_key(0, (uint32_t)rng_below(&random, PAIRS), 'a', key);
        uint8_t value[PAIR_VALUE_MAX];
        switch (rng_below(&random, 8)) {
        case 0:
        case 1:
        case 2: {
            larder_store_item item;
            larder_store_item_init(&item, name, bytes_of(value, pair_value(step, 0, value)));
            status = larder_store_put(self->store, &item, NULL);
            break;
        }
        case 3: status = larder_store_remove(self->store, name, 0); break;
        case 4: status = larder_store_sync(self->store); break;
        case 5: {
            larder_store_cursor *cursor = NULL;
            larder_store_query query;
            larder_store_query_init(&query);
            status = larder_store_cursor_open(self->store, &query, &cursor);
            larder_store_entry entry;
            while (status == LARDER_OK) {
                status = larder_store_cursor_next(cursor, &entry);
            }
            status = status == LARDER_END ? LARDER_OK : status;
            larder_store_cursor_close(cursor);
            break;
        }
        default: {
            larder_store_entry entry;
            status = larder_store_get(self->store, name, 0, &entry);
            larder_store_release(&entry);
            break;
        }
        }
    }
    EXPECT(self->run, status == LARDER_ECLOSED, "a call during a shutdown gave %d (%s)", status,
           larder_strerror(status));
    return NULL;
}

static void shutdown_in_use(torture *run, void *context) {
    scene *self = context;
    self->run = run;
    if (!scene_open(run, self, 0, &self->store)) {
        return;
    }
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++) {
        (void)!pthread_create(&threads[i], NULL, use_until_closed, self);
    }
    usleep((useconds_t)rng_below(&self->random, 8000));
    EXPECT_STATUS(run, larder_store_shutdown(self->store), LARDER_OK);
    EXPECT_STATUS(run, larder_store_shutdown(self->store), LARDER_OK);
    // The folder is free, though the handle still is there and threads come with late calls.
    larder_store *other = NULL;
    EXPECT(run, scene_open(run, self, 0, &other), "not free after a shutdown");
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    larder_store_entry entry;
    larder_store_cursor *cursor = NULL;
    larder_store_batch *batch = NULL;
    uint64_t count;
    larder_store_query query;
    larder_store_query_init(&query);
    EXPECT_STATUS(run, larder_store_get(self->store, bytes_of("a", 1), 0, &entry), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_store_cursor_open(self->store, &query, &cursor), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_store_batch_create(self->store, &batch), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_store_totals(self->store, &count, &count), LARDER_ECLOSED);
    larder_store_close(self->store);
    larder_store_report report;
    if (other) {
        EXPECT_STATUS(run, larder_store_check(other, NULL, NULL, &report), LARDER_OK);
    }
    larder_store_close(other);
}

// Openers and fork --------------------------------------------------------------------------------

static void open_busy(torture *run, scene *self) {
    larder_store *store = NULL;
    larder_store_detail detail = {0};
    larder_store_options options = scene_options(self, 0);
    EXPECT_STATUS(run, larder_store_open(self->path, &options, &detail, &store), LARDER_EBUSY);
    EXPECT(run, store == NULL && detail.holder_pid == atomic_load(&self->owner),
           "the holder is said to be %" PRId64 ", and is %" PRId64, detail.holder_pid,
           atomic_load(&self->owner));
    if (scene_open(run, self, (uint32_t)LARDER_STORE_READ_ONLY, &store)) {
        larder_store_statistics figures;
        EXPECT_STATUS(run, larder_store_contains(store, bytes_of("x", 1)), LARDER_OK);
        EXPECT_STATUS(run, larder_store_statistics_get(store, &figures), LARDER_OK);
        EXPECT(run, figures.writer_pid == atomic_load(&self->owner),
               "a reader is told that %" PRId64 " writes", figures.writer_pid);
    }
    larder_store_close(store);
}

static void linger(torture *run, scene *self) {
    (void)run;
    while (!atomic_load(&self->stops)) {
        usleep(300);
    }
}

static void use_inherited(torture *run, scene *self) {
    larder_store_entry entry;
    larder_store_item item;
    larder_store_batch *batch = NULL;
    larder_store_cursor *cursor = NULL;
    larder_store_report report;
    larder_store_query query;
    larder_store_query_init(&query);
    larder_store_item_init(&item, bytes_of("y", 1), bytes_of("z", 1));
    EXPECT_STATUS(run, larder_store_get(self->store, bytes_of("x", 1), 0, &entry), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_put(self->store, &item, NULL), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_remove(self->store, bytes_of("x", 1), 0), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_remove_all(self->store, NULL, NULL), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_sync(self->store), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_maintain(self->store), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_batch_create(self->store, &batch), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_cursor_open(self->store, &query, &cursor), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_store_check(self->store, NULL, NULL, &report), LARDER_EFORKED);
    larder_store_close(self->store);
    open_busy(run, self);
}

/** @param wipes whether the kernel empties what tells a child that the store is its parent's; where
           it does not know how, as on Apple systems, a handler of fork does. */
static void open_and_fork(torture *run, scene *self, bool wipes) {
    larder_store_item item;
    larder_store_item_init(&item, bytes_of("x", 1), bytes_of("1", 1));
    atomic_store(&self->owner, getpid());
    atomic_store(&self->stops, 0);
    larder_fault_set(wipes ? NULL : "wipe on fork", 1, ENOSYS);
    bool is_open = scene_open(run, self, 0, &self->store);
    EXPECT(run, wipes || larder_fault_passes() == 1, "the kernel was asked %d times to wipe",
           larder_fault_passes());
    larder_fault_set(NULL, 0, 0);
    if (!is_open || !EXPECT_STATUS(run, larder_store_put(self->store, &item, NULL), LARDER_OK)) {
        return;
    }
    open_busy(run, self);
    join(run, spawn(run, self, open_busy));
    join(run, spawn(run, self, use_inherited));
    // Neither took anything away.
    EXPECT_STATUS(run, larder_store_put(self->store, &item, NULL), LARDER_OK);
    EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_OK);
    EXPECT_STATUS(run, larder_store_contains(self->store, item.key), LARDER_OK);
    // A child that only lives on with the descriptors that it got must not keep the store locked.
    pid_t child = spawn(run, self, linger);
    larder_store_close(self->store);
    EXPECT(run, scene_open(run, self, 0, &self->store), "closed, but held by a forked child");
    larder_store_close(self->store);
    atomic_store(&self->stops, 1);
    join(run, child);
}

static void openers(torture *run, void *context) {
    open_and_fork(run, context, true);
    open_and_fork(run, context, false);
}

static void open_and_count(torture *run, scene *self) {
    for (unsigned done = 0; done < 15;) {
        larder_store *store = NULL;
        larder_store_options options = scene_options(self, 0);
        larder_status status = larder_store_open(self->path, &options, NULL, &store);
        if (status == LARDER_EBUSY) {
            usleep(100);
            continue;
        }
        larder_store_entry entry;
        uint64_t number = 0;
        if (!EXPECT_STATUS(run, status, LARDER_OK)) {
            return;
        }
        if (larder_store_get(store, bytes_of("n", 1), 0, &entry) == LARDER_OK) {
            memcpy(&number, entry.value.data, sizeof number);
        }
        larder_store_release(&entry);
        uint64_t before = atomic_fetch_add(&self->count, 1);
        EXPECT(run, number == before, "the counter is %" PRIu64 " after %" PRIu64, number, before);
        number++;
        larder_store_item item;
        larder_store_item_init(&item, bytes_of("n", 1), bytes_of(&number, sizeof number));
        EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
        larder_store_close(store);
        done++;
    }
}

static void openers_race(torture *run, void *context) {
    scene *self = context;
    pid_t children[3];
    for (unsigned i = 0; i < 3; i++) {
        children[i] = spawn(run, self, open_and_count);
    }
    for (unsigned i = 0; i < 3; i++) {
        join(run, children[i]);
    }
}

void family_store_concurrency(torture *run) {
    static void (*const scenes[])(torture *, void *) = {pairs, openers, shutdown_in_use, pairs,
                                                        openers_race};
    static const char *const names[] = {"pairs", "openers", "a shutdown in use", "pairs",
                                        "openers that race"};
    scene *self = shared_memory(sizeof *self);
    rng random;
    while (torture_next_case(run, &random)) {
        torture_trial(run);
        unsigned which = (unsigned)(run->case_index % (sizeof scenes / sizeof *scenes));
        memset(self, 0, sizeof *self);
        self->random = random;
        self->path = torture_path(run, "store");
        static const uint64_t thresholds[] = {0, 100, 500, 1024};
        self->threshold = thresholds[rng_below(&self->random, 4)];
        self->journal = rng_one_in(&self->random, 2) ? 64 << 10 : 4 << 20;
        tuning_draw(&self->tuning, &self->random);
#if defined(__SANITIZE_THREAD__)
        // A checkpoint for every few writes takes too long there.
        if (self->tuning.memtable_max_count < 200) self->tuning.memtable_max_count = 200;
        if (self->tuning.transaction_max_count < 50) self->tuning.transaction_max_count = 50;
#endif
        torture_note(run, "%s", names[which]);
        remove_tree(self->path);
        torture_guard(run, 30, scenes[which], self);
        if (!torture_unhurt(run) && run->keep) {
            return;
        }
    }
    remove_tree(self->path);
}
