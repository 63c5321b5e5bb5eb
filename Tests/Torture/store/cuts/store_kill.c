// SPDX-License-Identifier: MIT
// A child writes to a store and is killed at a random moment or before some system call, also in
// the middle of a checkpoint or of cleaning, while it makes the store or takes up what another one
// left. What comes back is everything that it was told was kept, and at most the one operation more
// that it had in hand.
#include <inttypes.h>
#include <string.h>

#include "store.h"

typedef struct life {
    book *book;
    const char *path;
    rng random;
    /** A child had the store open, so that its creation was done. */
    bool was_opened;
    held (*found)[BOOK_KEYS];
    /** Carried out of the guarded child. */
    _Atomic uint32_t *good;
} life;

static void write_until_killed(void *context) {
    life *self = context;
    store_plan plan = {.book = self->book,
                       .path = self->path,
                       .random = rng_make(rng_next(&self->random)),
                       .reopens = rng_one_in(&self->random, 4),
                       .steps = UINT64_MAX};
    store_writer_run(&plan);
}

static void recover_until_killed(void *context) {
    life *self = context;
    larder_store_options options = book_options(self->book, 0);
    larder_store *store = NULL;
    if (larder_store_open(self->path, &options, NULL, &store) == LARDER_OK) {
        atomic_store(&self->book->ready, 1);
        if (rng_one_in(&self->random, 2)) {
            larder_store_close(store);
        } else {
            (void)!larder_store_flush(store);
        }
    }
}

static void verify_reading(torture *run, void *context) {
    life *self = context;
    torture_note(run, "reading what was left");
    larder_store_options options = book_options(self->book, LARDER_STORE_READ_ONLY);
    larder_store *store = NULL;
    larder_status status = larder_store_open(self->path, &options, NULL, &store);
    if (status != LARDER_OK && !self->was_opened) {
        return; // Killed before there was a store: a writer will make it anew.
    }
    bool good = EXPECT_STATUS(run, status, LARDER_OK) &&
                book_verify(run, self->book, store, PROMISE_DONE, self->found) &&
                book_verify_sound(run, self->book, store, self->path, false);
    larder_store_close(store);
    if (good) {
        atomic_store(self->good, 1);
    }
}

static void verify_writing(torture *run, void *context) {
    life *self = context;
    larder_store_options options =
        book_options(self->book, (uint32_t)LARDER_STORE_HOST_MAINTENANCE);
    larder_store *store = NULL;
    larder_store_report report;
    torture_note(run, "taking up what was left");
    bool good =
        EXPECT_STATUS(run, larder_store_open(self->path, &options, NULL, &store), LARDER_OK) &&
        EXPECT_STATUS(run, larder_store_recovery(store, &report), LARDER_OK) &&
        EXPECT(run, report.journal_lost == 0,
               "recovery tells of %" PRIu64 " writes lost after a mere kill", report.journal_lost);
    good = good && book_verify(run, self->book, store, PROMISE_DONE, self->found) &&
           book_verify_sound(run, self->book, store, self->path, false) &&
           book_verify_sound(run, self->book, store, self->path, true) &&
           book_verify(run, self->book, store, PROMISE_DONE, NULL);
    larder_store_close(store);
    if (good) {
        atomic_store(self->good, 1);
    }
}

/** Looks at what is left, and takes it up; or leaves it to the next writer, so that there are two
    flushes in a row that a kill came into. */
static bool verify(torture *run, life *self) {
    atomic_store(self->good, 0);
    if (rng_one_in(&self->random, 3)) {
        if (!torture_guard(run, 30, verify_reading, self) || !torture_unhurt(run)) {
            return false;
        }
        if (atomic_load(self->good) && rng_one_in(&self->random, 2)) {
            return true;
        }
    }
    atomic_store(self->good, 0);
    return torture_guard(run, 30, verify_writing, self) && torture_unhurt(run) &&
           atomic_load(self->good);
}

/** One writer, and those that take up what it left, all of them killed. */
static bool live_and_die(torture *run, life *self, bool is_first) {
    torture_trial(run);
    bool early = rng_one_in(&self->random, is_first ? 2 : 10);
    if (!store_kill(run, self->book, &self->random, self->path, early, write_until_killed, self)) {
        return false;
    }
    self->was_opened |= atomic_load(&self->book->ready) != 0;
    while (rng_one_in(&self->random, 3)) {
        torture_trial(run);
        if (!store_kill(run, self->book, &self->random, self->path, true, recover_until_killed,
                        self)) {
            return false;
        }
        atomic_fetch_add(&run->tally->kills_in_a_row, 1);
    }
    return verify(run, self);
}

void family_store_kill(torture *run) {
    life self = {.book = shared_memory(sizeof(book)),
                 .found = shared_memory(BOOK_LANES * sizeof *self.found),
                 .good = shared_memory(sizeof *self.good)};
    rng random;
    while (torture_next_case(run, &random)) {
        self.random = random;
        self.was_opened = false;
        self.path = torture_path(run, "store");
        book_reset(self.book, &self.random);
        unsigned kills = (unsigned)rng_between(&self.random, 1, 10);
        for (unsigned i = 0; i < kills && live_and_die(run, &self, i == 0); i++) {
            book_go_on(self.book, self.found);
        }
        if (!torture_unhurt(run) && run->keep) {
            return; // Whoever looks into it wants these files.
        }
        remove_tree(self.path);
    }
}
