// SPDX-License-Identifier: MIT
// Stores with limits, written to at full speed, killed and opened again: by how much their values
// exceed the limits, and how much their log takes on disk, is what larder_store_limits says.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store.h"

enum {
    THREADS_MOST = 3,
    KEY_BYTES = 32,
    /** Of an entry's record, beside its key and value. */
    BESIDE_BYTES = 76,
    BATCH_MOST = 20,
    VALUE_MOST = 1 << 20,
    LIFE_SECONDS = 300
};
#define MEGABYTE UINT64_C(1000000)
#define MEBIBYTE (UINT64_C(1) << 20)

typedef struct trial {
    torture *run;
    const char *path;
    larder_store_limits limits;
    uint32_t shortest, longest;
    /** Keys that are written again and again; 0: each is a new one. */
    uint64_t keys;
    /** For all threads together: how many bytes of values they write, then the process dies. */
    uint64_t bytes;
    unsigned threads;
    uint32_t flags;
    uint64_t seed;
    larder_store *store;
    uint8_t *value;
    _Atomic uint64_t written, next_key;
    _Atomic bool is_over;
} trial;

// What is documented ------------------------------------------------------------------------------

/** A tenth of a limit, or that much if it is more; but of a small limit half of it and a sixteenth
    of that much. */
static uint64_t excess_of(uint64_t limit, uint64_t usual) {
    uint64_t small = limit / 2 + usual / 16;
    if (small > usual) {
        small = usual;
    }
    return limit / 10 > small ? limit / 10 : small;
}

static uint64_t most_of(uint64_t limit, uint64_t usual) {
    return limit == LARDER_STORE_UNLIMITED ? limit : limit + excess_of(limit, usual);
}

/** What the log's files may take that hold so many entries at the limit of bytes. */
static uint64_t log_most(const trial *self, uint64_t count, bool rests) {
    uint64_t limit = self->limits.bytes;
    if (limit == LARDER_STORE_UNLIMITED) {
        return limit;
    }
    uint64_t records = limit + count * (KEY_BYTES + BESIDE_BYTES);
    uint64_t segment = limit / 64 > MEBIBYTE ? limit / 64 : MEBIBYTE;
    return records / 5 * 6 + 4 * MEBIBYTE + segment + (rests ? 0 : excess_of(limit, 32 * MEBIBYTE));
}

static uint64_t log_bytes(const char *path) {
    char name[1400];
    snprintf(name, sizeof name, "%s/log", path);
    uint64_t bytes = 0;
    DIR *folder = opendir(name);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat facts;
        if (fstatat(dirfd(folder), entry->d_name, &facts, 0) == 0 && S_ISREG(facts.st_mode)) {
            bytes += (uint64_t)facts.st_blocks * 512;
        }
    }
    if (folder) {
        closedir(folder);
    }
    return bytes;
}

static bool totals_are_near(trial *self, const char *when) {
    uint64_t count, bytes;
    if (!EXPECT_STATUS(self->run, larder_store_totals(self->store, &count, &bytes), LARDER_OK)) {
        return false;
    }
    return EXPECT(self->run, bytes <= most_of(self->limits.bytes, 32 * MEBIBYTE),
                  "%s: %" PRIu64 " bytes of values at a limit of %" PRIu64, when, bytes,
                  self->limits.bytes) &&
           EXPECT(self->run, count <= most_of(self->limits.count, 8192),
                  "%s: %" PRIu64 " entries at a limit of %" PRIu64, when, count,
                  self->limits.count);
}

static bool log_is_near(trial *self, bool rests) {
    larder_store_statistics figures;
    if (!EXPECT_STATUS(self->run, larder_store_statistics_get(self->store, &figures), LARDER_OK)) {
        return false;
    }
    uint64_t count = figures.count + figures.pending_count;
    uint64_t there = log_bytes(self->path), most = log_most(self, count, rests);
    return EXPECT(self->run, there <= most,
                  "the log takes %" PRIu64 " bytes%s, at a limit of %" PRIu64 ", at most %" PRIu64
                  " for %" PRIu64 " entries; %u files, %" PRIu64 " segments with %" PRIu64
                  " bytes, %" PRIu64 " live, %" PRIu64 " waiting",
                  there, rests ? " behind a checkpoint" : "", self->limits.bytes, most, count,
                  count_segments(self->path), figures.segment_count, figures.log_used_bytes,
                  figures.log_live_bytes, figures.journal_used_bytes);
}

static bool limits_hold(trial *self, const char *when) {
    uint64_t count, bytes;
    larder_store_statistics figures;
    return EXPECT_STATUS(self->run, larder_store_totals(self->store, &count, &bytes), LARDER_OK) &&
           EXPECT_STATUS(self->run, larder_store_statistics_get(self->store, &figures),
                         LARDER_OK) &&
           EXPECT(self->run, count == figures.count && bytes == figures.bytes,
                  "%s: totals say %" PRIu64 " and %" PRIu64 " bytes, figures %" PRIu64
                  " and %" PRIu64,
                  when, count, bytes, figures.count, figures.bytes) &&
           EXPECT(self->run, bytes <= self->limits.bytes && count <= self->limits.count,
                  "%s: %" PRIu64 " entries of %" PRIu64 " bytes, at limits of %" PRIu64
                  " and %" PRIu64,
                  when, count, bytes, self->limits.count, self->limits.bytes);
}

// Writing -----------------------------------------------------------------------------------------

static larder_store_item item_of(trial *self, rng *random, char key[KEY_BYTES]) {
    uint64_t number =
        self->keys > 0 ? rng_below(random, self->keys) : atomic_fetch_add(&self->next_key, 1);
    memset(key, '.', KEY_BYTES);
    for (int at = 0; at < 16; at++) {
        key[at] = "0123456789abcdef"[number * UINT64_C(0x9E3779B97F4A7C15) >> 4 * at & 15];
    }
    larder_store_item item;
    larder_store_item_init(
        &item, bytes_of(key, KEY_BYTES),
        bytes_of(self->value, rng_between(random, self->shortest, self->longest)));
    return item;
}

static larder_status put_batch(trial *self, rng *random) {
    larder_store_batch *batch;
    larder_status status = larder_store_batch_create(self->store, &batch);
    if (status) {
        return status;
    }
    uint64_t bytes = 0;
    for (uint64_t left = rng_between(random, 2, BATCH_MOST); left > 0 && !status; left--) {
        char key[KEY_BYTES];
        larder_store_item item = item_of(self, random, key);
        // What is larger than the excess may exceed it.
        bytes += item.value.length;
        if (bytes > excess_of(self->limits.bytes, 32 * MEBIBYTE) / 4) {
            break;
        }
        status = larder_store_batch_put(batch, &item);
    }
    if (!status) {
        status = larder_store_batch_commit(batch, 0, NULL);
    }
    atomic_fetch_add(&self->written, bytes);
    larder_store_batch_destroy(batch);
    return status;
}

static larder_status write_one(trial *self, rng *random) {
    if (rng_one_in(random, 40)) {
        return put_batch(self, random);
    }
    char key[KEY_BYTES];
    larder_store_item item = item_of(self, random, key);
    atomic_fetch_add(&self->written, item.value.length);
    if (rng_one_in(random, 60)) {
        return larder_store_remove(self->store, item.key, 0);
    }
    if (rng_one_in(random, 30)) {
        larder_store_entry entry;
        (void)!larder_store_get(self->store, item.key, 0, &entry);
        larder_store_release(&entry);
    }
    return larder_store_put(self->store, &item, NULL);
}

static void *write_on(void *context) {
    trial *self = context;
    rng random = rng_make(self->seed + atomic_fetch_add(&self->next_key, 1));
    for (uint64_t step = 1; !atomic_load(&self->is_over) && torture_unhurt(self->run); step++) {
        bool good = EXPECT_STATUS(self->run, write_one(self, &random), LARDER_OK);
        if (good && step % 16 == 0) {
            good = totals_are_near(self, "while it is written to");
        }
        if (good && step % 128 == 0) {
            good = log_is_near(self, false);
        }
        if (!good || atomic_load(&self->written) >= self->bytes) {
            atomic_store(&self->is_over, true);
        }
    }
    return NULL;
}

static larder_status open_store(trial *self) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.limits = self->limits;
    options.flags = self->flags;
    // Only what waits asks for a checkpoint, or that a limit is exceeded.
    options.flush_interval_ns = options.sync_interval_ns = 0;
    return larder_store_open(self->path, &options, NULL, &self->store);
}

/** Writes in a process of its own, and dies of it. */
static void live(trial *self) {
    alarm(LIFE_SECONDS);
    pthread_t threads[THREADS_MOST];
    if (EXPECT_STATUS(self->run, open_store(self), LARDER_OK)) {
        for (unsigned at = 0; at < self->threads; at++) {
            (void)!pthread_create(&threads[at], NULL, write_on, self);
        }
        for (unsigned at = 0; at < self->threads; at++) {
            (void)!pthread_join(threads[at], NULL);
        }
    }
    (void)kill(getpid(), SIGKILL);
}

static void live_and_die(trial *self) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        live(self);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT(self->run, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
           "the writer ended with status 0x%x", status);
}

// Opening again -----------------------------------------------------------------------------------

/** The checkpoint that brings it back within its limits was asked for by the opening. */
static bool returns_by_itself(trial *self) {
    uint64_t count, bytes;
    larder_store_statistics figures;
    if (!EXPECT_STATUS(self->run, larder_store_totals(self->store, &count, &bytes), LARDER_OK)) {
        return false;
    }
    if ((bytes <= self->limits.bytes && count <= self->limits.count) ||
        (self->flags & LARDER_STORE_HOST_MAINTENANCE) != 0) {
        return true;
    }
    torture_note(self->run, "waiting for the checkpoint of a store beyond its limits");
    do {
        sched_yield();
        if (!EXPECT_STATUS(self->run, larder_store_statistics_get(self->store, &figures),
                           LARDER_OK)) {
            return false;
        }
    } while (figures.flushes == 0);
    return limits_hold(self, "behind the first checkpoint");
}

static void look_at_what_is_left(torture *run, void *context) {
    trial *self = context;
    larder_store_report report;
    bool good = EXPECT_STATUS(run, open_store(self), LARDER_OK) &&
                totals_are_near(self, "as it is opened") && log_is_near(self, false) &&
                returns_by_itself(self) &&
                EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_OK) &&
                limits_hold(self, "behind a flush") && log_is_near(self, true);
    if (good) {
        (void)EXPECT_STATUS(run, larder_store_check(self->store, NULL, NULL, &report), LARDER_OK);
    }
    larder_store_close(self->store);
}

static void draw(trial *self, rng *random) {
    static const uint64_t limits[] = {2, 2, 20, 20, 20, 200};
    static const uint32_t spans[][2] = {{100, 100},       {100, 4000},
                                        {10000, 100000},  {100, 1000000},
                                        {500000, 700000}, {VALUE_MOST - 500, VALUE_MOST}};
    self->limits = (larder_store_limits){.count = LARDER_STORE_UNLIMITED,
                                         .bytes = limits[rng_below(random, 6)] * MEGABYTE,
                                         .age_ns = LARDER_STORE_NEVER,
                                         .end_ns = LARDER_STORE_NEVER};
    const uint32_t *span = spans[rng_below(random, 6)];
    self->shortest = span[0];
    self->longest = span[1];
    uint64_t usual = (self->shortest + self->longest) / 2, fits = self->limits.bytes / usual + 1;
    self->keys = rng_one_in(random, 2) ? 0 : fits + rng_below(random, fits);
    self->bytes = 3 * self->limits.bytes;
    // What takes long because it is many.
    if (self->bytes / usual > 100000) {
        self->bytes = 100000 * usual;
    }
    if (rng_one_in(random, 4)) {
        self->limits.count = fits / rng_between(random, 1, 4) + 1;
        self->limits.bytes = rng_one_in(random, 2) ? self->limits.bytes : LARDER_STORE_UNLIMITED;
    }
    self->threads = (unsigned)rng_between(random, 1, THREADS_MOST);
    self->flags = rng_one_in(random, 4) ? (uint32_t)LARDER_STORE_HOST_MAINTENANCE : 0;
}

void family_store_limits(torture *run) {
    trial *self = shared_memory(sizeof *self);
    uint8_t *value = shared_memory(VALUE_MOST);
    rng random;
    memset(value, 0x5a, VALUE_MOST);
    while (torture_next_case(run, &random)) {
        *self = (trial){.run = run, .path = torture_path(run, "store"), .value = value};
        draw(self, &random);
        for (uint64_t lives = rng_between(&random, 1, 3); lives > 0 && torture_unhurt(run);
             lives--) {
            torture_trial(run);
            self->seed = rng_next(&random);
            self->bytes = rng_between(&random, self->bytes / 4, self->bytes);
            atomic_store(&self->written, 0);
            atomic_store(&self->is_over, false);
            live_and_die(self);
            atomic_fetch_add(&run->tally->kills, 1);
            if (torture_unhurt(run)) {
                (void)torture_guard(run, LIFE_SECONDS, look_at_what_is_left, self);
            }
        }
        if (!torture_unhurt(run) && run->keep) {
            return; // Whoever looks into it wants these files.
        }
        remove_tree(self->path);
    }
}
