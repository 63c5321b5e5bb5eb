// SPDX-License-Identifier: MIT
// A child writes and syncs, and dies at a random moment; from the versions its file had since the
// last sync images are put together, page by page, as a disk may hold them after a power cut. Each
// must open, in the next boot, and hold a run of messages without a hole that includes everything
// synced. In one family syncs fail, too, and the file is opened again, by that process or another.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "power.h"

enum { LARGEST_FILE = 256 * 1024 };

typedef struct cut {
    ledger *book;
    /** The ledger as it was at the cut; each image starts from it. */
    ledger *at_cut;
    vault *store;
    uint8_t *image;
    size_t image_size;
    const char *path;
    rng random;
    /** Syncs fail. */
    bool fails;
    uint64_t boots;
    /** What the file itself held at the cut, when every page is new. */
    ledger_contents *complete;
    /** Carried out of the guarded child: the image is a good start for the next session. */
    _Atomic uint32_t *recovered;
    bool chained;
} cut;

typedef struct capture {
    vault *store;
    rng random;
    int file;
    const char *path;
} capture;

static void capture_sometimes(void *context) {
    capture *self = context;
    if (rng_one_in(&self->random, 12)) {
        if (self->file < 0) {
            self->file = open(self->path, O_RDONLY | O_CLOEXEC);
        }
        vault_snapshot(self->store, self->file);
    }
}

/** Runs the writer in a child until it ends by itself or is killed. */
static bool write_and_die(torture *run, cut *self) {
    ledger *book = self->book;
    atomic_store(&book->ready, 0);
    uint64_t steps = rng_between(&self->random, 1, rng_one_in(&self->random, 4) ? 400 : 80);
    bool killed = rng_one_in(&self->random, 2);
    uint64_t patience_ns = rng_below(&self->random, 1500000);
    unsigned fail_every = self->fails ? (unsigned)rng_between(&self->random, 3, 60) : 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        capture watcher = {self->store, rng_make(rng_next(&self->random)), -1, self->path};
        writer_plan plan = {.book = book,
                            .path = self->path,
                            .random = rng_make(rng_next(&self->random)),
                            .after_step = capture_sometimes,
                            .context = &watcher,
                            .sync_every = (unsigned)rng_between(&self->random, 2, 60),
                            .fail_every = fail_every,
                            .steps = UINT64_MAX};
        if (!killed) {
            plan.steps = steps;
            plan.dies_open = true;
            plan.stops_behind_sync = rng_one_in(&plan.random, 2);
        }
        power_vault = self->store;
        writer_run(&plan);
        _exit(0);
    }
    if (child < 0) {
        torture_fail(run, "fork failed");
        return false;
    }
    (void)rng_next(&self->random); // What the child took is spent here, too.
    if (killed) {
        uint64_t limit = now_ns() + 10000000000u;
        while (!atomic_load(&book->ready) && !atomic_load(&book->broken) && now_ns() < limit) {
        }
        uint64_t end = now_ns() + patience_ns;
        while (now_ns() < end) {
        }
        kill(child, SIGKILL);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (atomic_load(&book->broken)) {
        torture_fail(run, "the writer: %s", book->broken_text);
        return false;
    }
    return EXPECT(run, killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0),
                  "the writer ended with status 0x%x", status);
}

static bool verify_promises(torture *run, const cut *self, const ledger_contents *held) {
    const ledger *book = self->book;
    const ledger_contents *complete = self->complete;
    uint64_t synced = atomic_load(&book->synced);
    // A sync right after a power cut covers numbers that no message has.
    if (synced > atomic_load(&book->passed_from) && synced <= atomic_load(&book->passed_to)) {
        synced = atomic_load(&book->passed_from);
    }
    uint64_t intent = atomic_load(&book->removed_intent);
    // Synced messages that were neither overwritten nor removed at the cut.
    uint64_t due = complete->count ? complete->oldest : synced + 1;
    if (due <= intent) {
        due = intent + 1;
    }
    if (synced >= due && !EXPECT(run, held->count && held->oldest <= due && held->newest >= synced,
                                 "messages %" PRIu64 " to %" PRIu64
                                 " were synced; found are %" PRIu64 " to %" PRIu64,
                                 due, synced, held->oldest, held->newest)) {
        return false;
    }
    // A prefix: where no message was ever dropped, whatever is there starts with the first. Where
    // messages that were not synced are the oldest, because they took the place of older ones,
    // any of them may be what is left, and that there is no hole is all that can be asked.
    if (complete->oldest == 1 && held->count && complete->count &&
        held->newest >= complete->oldest &&
        !EXPECT(run, held->oldest <= complete->oldest,
                "message %" PRIu64 " is there and %" PRIu64 " is not", held->newest,
                complete->oldest)) {
        return false;
    }
    uint64_t removed = atomic_load(&book->removed_synced);
    return EXPECT(run, held->count == 0 || held->oldest > removed,
                  "message %" PRIu64 " is back: removal through %" PRIu64 " was synced",
                  held->oldest, removed) &&
           EXPECT(run, held->next > atomic_load(&book->acknowledged),
                  "number %" PRIu64 " was given and comes again: next is %" PRIu64,
                  atomic_load(&book->acknowledged), held->next);
}

/** The machine starts again. */
static void next_boot(cut *self) {
#ifdef LARDER_FAULTS
    uint64_t id[2] = {++self->boots, 1};
    larder_fault_boot_id((const uint8_t *)id);
#endif
}

static void open_image(torture *run, void *context) {
    cut *self = context;
    ledger *book = self->book;
    if (!write_over(self->path, self->image, self->image_size) ||
        (run->keep &&
         !write_file(torture_path(run, "image-as-it-was"), self->image, self->image_size))) {
        torture_fail(run, "cannot write the image");
        return;
    }
    larder_ring *ring = NULL;
    ledger_contents held;
    if (rng_one_in(&self->random, 4)) {
        larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
        larder_status status = larder_ring_open(self->path, &reading, NULL, &ring);
        // Before the first sync there need not be a header: a writer makes it anew.
        bool is_torn = (status == LARDER_EFOREIGN || status == LARDER_EDAMAGED) &&
                       !atomic_load(&self->store->base);
        bool good =
            is_torn || (EXPECT_STATUS(run, status, LARDER_OK) &&
                        ledger_verify(run, book, ring, &held) && verify_promises(run, self, &held));
        larder_ring_close(ring);
        ring = NULL;
        if (!good) {
            return;
        }
    }
    larder_ring_options options = ledger_options(book);
    if (!EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK)) {
        return;
    }
    bool good = ledger_verify(run, book, ring, &held) && verify_promises(run, self, &held) &&
                ledger_verify_cursors(run, book, ring, book->cursor_synced);
    good = good && ledger_append_more(run, book, ring, &self->random,
                                      (unsigned)rng_between(&self->random, 1, 20));
    larder_ring_close(ring);
    ring = NULL;
    if (!good) {
        return;
    }
    // Closed, what was recovered is as durable as anything, and nothing older comes back.
    ledger_contents again;
    good = EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK) &&
           ledger_verify(run, book, ring, &again) &&
           EXPECT(run, again.next >= held.next,
                  "the next number went back from %" PRIu64 " to %" PRIu64, held.next, again.next);
    larder_ring_close(ring);
    if (good && self->chained) {
        atomic_store(&book->acknowledged, again.next - 1);
        atomic_store(&book->synced, again.newest);
        atomic_store(&book->passed_from, held.newest);
        atomic_store(&book->passed_to, held.next - 1);
        atomic_store(self->recovered, 1);
    }
}

/** Finds what the file held at the cut by opening a copy in which every page is new. */
static void open_complete(torture *run, void *context) {
    cut *self = context;
    larder_ring_options options = ledger_options(self->book);
    larder_ring *ring = NULL;
    ledger_contents held;
    (void)(run->keep && write_file(torture_path(run, "image-as-it-was"), self->store->final,
                                   self->store->final_size));
    if (EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK) &&
        ledger_verify(run, self->book, ring, &held) &&
        ledger_verify_acknowledged(run, self->book, &held) &&
        ledger_verify_cursors(run, self->book, ring, self->book->cursor)) {
        *self->complete = held;
        atomic_store(self->recovered, 1);
    }
    larder_ring_close(ring);
}

static void plan_file(cut *self) {
    static const uint64_t sizes[] = {4096, 8192, 12288, 20480, 65536, 65536, LARGEST_FILE - 4096};
    rng *random = &self->random;
    uint64_t capacity = sizes[rng_below(random, sizeof sizes / sizeof *sizes)];
    capacity += 8 * rng_below(random, 500);
    ledger_reset(self->book, rng_next(random), capacity,
                 (rng_one_in(random, 3) ? 0 : LARDER_RING_OVERWRITE) |
                     (rng_one_in(random, 2) ? 0 : LARDER_RING_KEEP_TIMES));
    self->book->gaps_between_epochs = true;
    // Thresholds as small as the files, or as they are.
    bool small = rng_one_in(random, 4) == 0;
    larder_fault_ring_limits(small ? rng_between(random, 8, 200) : (uint64_t)1 << 22,
                             small ? 512 * rng_between(random, 1, 64) : 256 * 1024);
    uint32_t usual = (uint32_t)rng_between(random, 1, rng_one_in(random, 2) ? 60 : 700);
    uint32_t most = (uint32_t)(capacity / 3 < 12000 ? capacity / 3 : 12000);
    self->book->profile = (message_profile){0, usual, (uint32_t)rng_between(random, usual, most)};
}

/** After a cut the surviving image is the file: a session continues on it. */
static void continue_on_image(cut *self) {
    vault_clear(self->store);
    // It was closed, and closing syncs: what it holds now is the base of the next session.
    self->store->base_size[0] = (size_t)read_file(self->path, self->store->bases[0], LARGEST_FILE);
    atomic_store(&self->store->base, 1);
    ledger *book = self->book;
    atomic_store(&book->oldest, 0);
    atomic_store(&book->removed_intent, 0);
    atomic_store(&book->removed, 0);
    atomic_store(&book->removed_synced, 0);
    for (unsigned i = 0; i < LEDGER_CURSORS; i++) {
        atomic_store(&book->cursor[i], 0);
        atomic_store(&book->cursor_synced[i], 0);
    }
}

static bool one_session(torture *run, cut *self) {
    // One process after the other, in one boot.
    do {
        torture_trial(run);
        if (!write_and_die(run, self)) {
            return false;
        }
    } while (rng_one_in(&self->random, self->fails ? 2 : 4));
    int64_t size = read_file(self->path, self->store->final, LARGEST_FILE);
    self->store->final_size = size < 0 ? 0 : (size_t)size;
    memcpy(self->at_cut, self->book, sizeof *self->book);
    atomic_store(self->recovered, 0);
    next_boot(self);
    torture_guard(run, 20, open_complete, self);
    if (!atomic_load(self->recovered)) {
        return false;
    }
    unsigned images = (unsigned)rng_between(&self->random, 2, 8);
    for (unsigned i = 0; i < images; i++) {
        torture_trial(run);
        memcpy(self->book, self->at_cut, sizeof *self->book);
        atomic_store(self->recovered, 0);
        self->chained = i + 1 == images;
        next_boot(self);
        self->image_size = power_image(self->store, &self->random, self->image);
        if (!torture_guard(run, 20, open_image, self) || !torture_unhurt(run)) {
            return false;
        }
    }
    return atomic_load(self->recovered) != 0;
}

static void cut_power(torture *run, bool fails) {
#ifndef TORTURE_WRAPS_SYNC
    torture_skip(run, "the linker cannot intercept sync calls here");
    return;
#endif
    _Atomic uint32_t *recovered = shared_memory(sizeof *recovered);
    cut self = {.book = shared_memory(sizeof(ledger)),
                .at_cut = shared_memory(sizeof(ledger)),
                .store = vault_make(LARGEST_FILE),
                .image = shared_memory(LARGEST_FILE),
                .complete = shared_memory(sizeof(ledger_contents)),
                .recovered = recovered,
                .fails = fails};
    rng random;
    while (torture_next_case(run, &random)) {
        self.random = random;
        self.path = torture_path(run, "ring");
        (void)unlink(self.path);
        next_boot(&self);
        vault_clear(self.store);
        plan_file(&self);
        unsigned sessions = (unsigned)rng_between(&self.random, 1, 4);
        for (unsigned i = 0; i < sessions; i++) {
            if (!one_session(run, &self)) {
                break;
            }
            continue_on_image(&self);
        }
    }
#ifdef LARDER_FAULTS
    larder_fault_boot_id(NULL);
#endif
}

void family_power(torture *run) { cut_power(run, false); }
void family_failed_syncs(torture *run) { cut_power(run, true); }
