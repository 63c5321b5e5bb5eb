// SPDX-License-Identifier: MIT
// Kills inside flushes of a hundred thousand writes, with the thresholds that programs have: twice
// in a row, or three times, the later ones while the store is opened and flushed again. Everything
// was acknowledged, so all of it has to be there.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store.h"

enum { WRITES = 100000, INLINE_BYTES = 40, LONG_BYTES = 900, GENERATIONS = 3 };

typedef struct flood {
    const char *path;
    /** Which values: inline, long, or both. */
    uint32_t kind;
    /** Each key was written so often. */
    uint32_t generation;
    bool clears;
    _Atomic uint32_t flushes;
    char broken[200];
} flood;

static size_t flood_value(const flood *self, uint32_t i, uint8_t value[LONG_BYTES]) {
    uint64_t salt = mix2(self->generation, i);
    bool is_long = self->kind == 1 || (self->kind == 2 && salt % 3 == 0);
    size_t length = is_long ? LONG_BYTES - salt % 50 : INLINE_BYTES;
    message_fill(salt, value, length);
    return length;
}

static larder_bytes flood_key(uint32_t i, char text[16]) {
    return bytes_of(text, (size_t)snprintf(text, 16, "k%06u", i * 7919u % WRITES));
}

static larder_status flood_open(const flood *self, larder_store **store) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
    return larder_store_open(self->path, &options, NULL, store);
}

static void write_and_flush(flood *self) {
    larder_store *store = NULL;
    larder_status status = flood_open(self, &store);
    if (status == LARDER_OK && self->clears) {
        status = larder_store_remove_all(store, NULL, NULL);
    }
    for (uint32_t i = 0; i < WRITES && status == LARDER_OK; i++) {
        uint8_t value[LONG_BYTES];
        char text[16];
        larder_store_item item;
        larder_store_item_init(&item, flood_key(i, text),
                               bytes_of(value, flood_value(self, i, value)));
        status = larder_store_put(store, &item, NULL);
    }
    if (status == LARDER_OK) {
        atomic_store(&self->flushes, 1);
        status = larder_store_flush(store);
    }
    if (status != LARDER_OK) {
        snprintf(self->broken, sizeof self->broken, "the writer came upon %d", status);
    }
}

static void open_and_flush(flood *self) {
    larder_store *store = NULL;
    atomic_store(&self->flushes, 1);
    larder_status status = flood_open(self, &store);
    status = status ? status : larder_store_flush(store);
    if (status != LARDER_OK) {
        snprintf(self->broken, sizeof self->broken, "what was left gave %d", status);
    }
}

/** Kills `body` in a child a while after its flush began. */
static bool kill_flush(torture *run, flood *self, rng *random, void (*body)(flood *self)) {
    uint64_t span = rng_below(random, 1000000u << rng_below(random, 9));
    atomic_store(&self->flushes, 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(300);
        body(self);
        for (;;) {
            pause();
        }
    }
    struct timespec tick = {0, 200000},
                    wait = {(time_t)(span / 1000000000u), (long)(span % 1000000000u)};
    int status = 0;
    bool is_dead = child < 0;
    while (!is_dead && !atomic_load(&self->flushes) && !self->broken[0]) {
        nanosleep(&tick, NULL);
        is_dead = waitpid(child, &status, WNOHANG) == child;
    }
    nanosleep(&wait, NULL);
    if (!is_dead) {
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    atomic_fetch_add(&run->tally->kills, 1);
    return EXPECT(run, !self->broken[0] && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "ended with 0x%x: %s", status, self->broken);
}

static void count_what_is_there(torture *run, void *context) {
    const flood *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    uint64_t count = 0, bytes = 0, lost = 0;
    bool good = EXPECT_STATUS(run, flood_open(self, &store), LARDER_OK) &&
                EXPECT_STATUS(run, larder_store_recovery(store, &report), LARDER_OK) &&
                EXPECT_STATUS(run, larder_store_totals(store, &count, &bytes), LARDER_OK);
    for (uint32_t i = 0; i < WRITES && good; i++) {
        uint8_t value[LONG_BYTES];
        char text[16];
        larder_store_entry entry;
        size_t length = flood_value(self, i, value);
        larder_status status =
            larder_store_get(store, flood_key(i, text), LARDER_STORE_PEEK, &entry);
        lost += status != LARDER_OK || entry.value.length != length ||
                memcmp(entry.value.data, value, length) != 0;
        larder_store_release(&entry);
    }
    (void)(good && EXPECT(run, lost == 0 && count == WRITES && report.journal_lost == 0,
                          "%" PRIu64 " of %d acknowledged writes are lost, %" PRIu64
                          " entries are there, recovery tells of %" PRIu64 " lost",
                          lost, (int)WRITES, count, report.journal_lost));
    larder_store_close(store);
}

void family_store_kill_large(torture *run) {
    static const char *const kinds[] = {"inline", "long", "mixed"};
    flood *self = shared_memory(sizeof *self);
    self->path = torture_path(run, "store");
    rng random;
    run->deadline_ns = UINT64_MAX;
    while ((run->case_index == UINT64_MAX || run->case_index + run->jobs < run->rounds) &&
           torture_next_case(run, &random)) {
        torture_trial(run);
        // Five of seven are killed twice.
        uint32_t kills = run->case_index % 7 < 5 ? 2 : 3;
        self->kind = (uint32_t)rng_below(&random, 3);
        // What is there is replaced a few times, so that there is something to clean.
        if (self->generation % GENERATIONS == 0) {
            remove_tree(self->path);
        }
        self->generation++;
        self->clears = rng_one_in(&random, 3);
        torture_note(run, "%s values, killed %u times", kinds[self->kind], kills);
        bool good = kill_flush(run, self, &random, write_and_flush);
        for (uint32_t i = 1; i < kills && good; i++) {
            good = kill_flush(run, self, &random, open_and_flush);
            atomic_fetch_add(&run->tally->kills_in_a_row, 1);
        }
        if (!good || !torture_guard(run, 300, count_what_is_there, self) || !torture_unhurt(run)) {
            self->generation = 0;
            self->broken[0] = '\0';
            if (run->keep) {
                return;
            }
        }
        if (run->case_index % 50 == 49) {
            printf("  %" PRIu64 " of %" PRIu64 " rounds, %" PRIu64 " failed\n", run->case_index + 1,
                   run->rounds, atomic_load(&run->tally->failures));
            fflush(stdout);
        }
    }
}
