// SPDX-License-Identifier: MIT
// A child writes and syncs, and dies; from what its disk had and had synced then images are put
// together, each of which may be what a power cut leaves. Each must open, and hold a state that the
// writer went through and that is no older than what was promised. It dies at a random moment, or,
// in a short run that is repeated, before every one of its system calls.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"
#include "store_disk.h"

typedef struct cut {
    book *book;
    disk *disk;
    /** The folder whose fate is modelled, and the store in it. */
    char root[700], path[768], vault[700], image[700], image_store[768];
    rng random;
    held (*found)[BOOK_KEYS];
    _Atomic uint32_t *good;
} cut;

static void capture_sometimes(void *context) {
    rng *random = context;
    if (rng_one_in(random, 16)) {
        disk_snapshot();
    }
}

static void write_until_killed(void *context) {
    cut *self = context;
    static rng captures;
    captures = rng_make(rng_next(&self->random));
    store_plan plan = {.book = self->book,
                       .path = self->path,
                       .random = rng_make(rng_next(&self->random)),
                       .after_step = capture_sometimes,
                       .context = &captures,
                       .reopens = rng_one_in(&self->random, 4),
                       .steps = UINT64_MAX};
    if (rng_one_in(&self->random, 3)) {
        plan.steps = rng_between(&self->random, 1, 300);
        plan.reopens = false;
    }
    disk_watch(self->disk, rng_make(rng_next(&self->random)), 40);
    store_writer_run(&plan);
}

static void verify_image(torture *run, void *context) {
    cut *self = context;
    uint8_t boot[16];
    for (unsigned i = 0; i < 16; i++) {
        boot[i] = (uint8_t)rng_next(&self->random);
    }
    larder_fault_boot_id(boot);
    uint64_t promised = 0;
    for (uint32_t i = 0; i < self->book->lanes; i++) {
        const lane *own = &self->book->lane[i];
        promised += atomic_load(&own->synced) > own->first;
        for (uint32_t key = 0; key < BOOK_KEYS; key++) {
            promised += own->base[key].salt != 0;
        }
    }
    larder_store *store = NULL;
    if (rng_one_in(&self->random, 4)) {
        torture_note(run, "reading the image");
        larder_store_options reading = book_options(self->book, LARDER_STORE_READ_ONLY);
        larder_status status = larder_store_open(self->image_store, &reading, NULL, &store);
        bool good = (status != LARDER_OK && !promised) ||
                    (EXPECT_STATUS(run, status, LARDER_OK) &&
                     book_verify(run, self->book, store, PROMISE_SYNCED, NULL));
        larder_store_close(store);
        store = NULL;
        if (!good) {
            return;
        }
    }
    torture_note(run, "taking up the image");
    larder_store_options options =
        book_options(self->book, (uint32_t)LARDER_STORE_HOST_MAINTENANCE);
    larder_store_detail detail = {0};
    larder_status status = larder_store_open(self->image_store, &options, &detail, &store);
    bool good = EXPECT(run, status == LARDER_OK, "open gave %d (%s), part %d, offset %" PRIu64,
                       status, larder_strerror(status), (int)detail.part, detail.offset) &&
                book_verify(run, self->book, store, PROMISE_SYNCED, self->found) &&
                book_verify_sound(run, self->book, store, self->image_store, true) &&
                book_verify(run, self->book, store, PROMISE_SYNCED, NULL);
    larder_store_close(store);
    store = NULL;
    torture_note(run, "opening it again");
    // Closed, what was recovered is as durable as anything, and nothing older comes back.
    status = good ? larder_store_open(self->image_store, &options, &detail, &store) : LARDER_OK;
    good = good && EXPECT_STATUS(run, status, LARDER_OK) &&
           book_verify(run, self->book, store, PROMISE_SYNCED, self->found);
    larder_store_close(store);
    if (good) {
        atomic_store(self->good, 1);
    }
}

/** As it was before it was opened. */
static void keep_image(const cut *self) {
    char copy[2400];
    snprintf(copy, sizeof copy, "rm -rf '%s.was' && cp -r '%s' '%s.was'", self->image, self->image,
             self->image);
    (void)!system(copy);
}

static bool one_session(torture *run, cut *self) {
    torture_trial(run);
    if (!EXPECT(run, disk_begin(self->disk, self->root, self->vault), "cannot begin a disk") ||
        !store_kill(run, self->book, &self->random, self->path, rng_one_in(&self->random, 6),
                    write_until_killed, self)) {
        return false;
    }
    if (atomic_load(&self->disk->overflow)) {
        return false; // Nothing can be said; the next case is shorter.
    }
    unsigned images = (unsigned)rng_between(&self->random, 2, 8);
    for (unsigned i = 0; i < images; i++) {
        torture_trial(run);
        atomic_store(self->good, 0);
        if (!EXPECT(run, disk_image(self->disk, &self->random, DISK_SOME, self->image),
                    "cannot make an image: %s", strerror(errno))) {
            return false;
        }
        if (run->keep) {
            keep_image(self);
        }
        if (!torture_guard(run, 30, verify_image, self) || !torture_unhurt(run)) {
            return false;
        }
    }
    return atomic_load(self->good) != 0;
}

// Every place -------------------------------------------------------------------------------------

enum { PLACES_MOST = 100000 };

static void write_shortly(cut *self, rng random, uint64_t steps) {
    store_plan plan = {.book = self->book, .path = self->path, .random = random, .steps = steps};
    store_writer_run(&plan);
}

/** The same run every time, ended before a system call of that number.
    @return how many calls there were; 0 after a failure. */
static int run_to_the_place(torture *run, cut *self, rng random, uint64_t steps, int place,
                            _Atomic int *passes) {
    book *notes = self->book;
    for (uint32_t i = 0; i < notes->lanes; i++) {
        lane *own = &notes->lane[i];
        memset(own->base, 0, sizeof own->base);
        own->first = 0;
        atomic_store(&own->begun, 0);
        atomic_store(&own->done, 0);
        atomic_store(&own->synced, 0);
    }
    atomic_store(&notes->ready, 0);
    remove_tree(self->root);
    if (!EXPECT(run, make_directory(self->root) && disk_begin(self->disk, self->root, self->vault),
                "cannot begin a disk")) {
        return 0;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        disk_fail(self->root, "any", place, DISK_KILLS, true);
        disk_watch(self->disk, random, 0);
        write_shortly(self, random, steps);
        atomic_store(passes, disk_passes());
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    bool is_right = !atomic_load(&notes->broken) &&
                    (place == PLACES_MOST ? WIFEXITED(status)
                                          : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return EXPECT(run, is_right, "the writer ended with 0x%x at %d: %s", status, place,
                  notes->broken_text)
               ? 1
               : 0;
}

/** Before each system call of a short run, with nothing, everything and any part of what no sync
    covers. */
static void every_place(torture *run, cut *self, _Atomic int *passes) {
    self->book->lanes = 1;
    self->book->flags |= (uint32_t)LARDER_STORE_HOST_MAINTENANCE;
    self->book->flushes = 100;
    self->book->syncs = 100;
    uint64_t steps = rng_between(&self->random, 10, 60);
    rng writing = rng_make(rng_next(&self->random));
    if (!run_to_the_place(run, self, writing, steps, PLACES_MOST, passes)) {
        return;
    }
    int count = atomic_load(passes);
    // All of them if there is time, and else some of everywhere.
    int stride = count / 3 | 1;
    while (count % stride == 0 && stride > 1) {
        stride -= 2;
    }
    for (int i = 0; i < count && torture_goes_on(run); i++) {
        int place = 1 + (int)((int64_t)i * stride % count);
        if (!run_to_the_place(run, self, writing, steps, place, passes)) {
            return;
        }
        static const disk_shape shapes[] = {DISK_NOTHING, DISK_EVERYTHING, DISK_SOME, DISK_SOME};
        for (int k = 0; k < 4; k++) {
            torture_trial(run);
            torture_note(run, "before call %d of %d, image %d", place, count, k);
            if (!EXPECT(run, disk_image(self->disk, &self->random, shapes[k], self->image),
                        "cannot make an image: %s", strerror(errno))) {
                return;
            }
            if (run->keep) {
                keep_image(self);
            }
            if (!torture_guard(run, 30, verify_image, self) || !torture_unhurt(run)) {
                return;
            }
        }
    }
}

void family_store_power(torture *run) {
    _Atomic uint32_t *good = shared_memory(sizeof *good);
    _Atomic int *passes = shared_memory(sizeof *passes);
    cut self = {.book = shared_memory(sizeof(book)),
                .disk = shared_memory(sizeof(disk)),
                .found = shared_memory(BOOK_LANES * sizeof *self.found),
                .good = good};
    snprintf(self.root, sizeof self.root, "%s/disk", run->directory);
    snprintf(self.path, sizeof self.path, "%s/store", self.root);
    snprintf(self.vault, sizeof self.vault, "%s/vault", run->directory);
    snprintf(self.image, sizeof self.image, "%s/image", run->directory);
    snprintf(self.image_store, sizeof self.image_store, "%s/store", self.image);
    rng random;
    while (torture_next_case(run, &random)) {
        self.random = random;
        remove_tree(self.root);
        if (!make_directory(self.root)) {
            torture_fail(run, "cannot make a folder: %s", strerror(errno));
            return;
        }
        book_reset(self.book, &self.random);
        if (run->case_index % 4 == 3) {
            every_place(run, &self, passes);
            if (!torture_unhurt(run) && run->keep) {
                return;
            }
            continue;
        }
        unsigned sessions = (unsigned)rng_between(&self.random, 1, 4);
        for (unsigned i = 0; i < sessions && one_session(run, &self); i++) {
            // The image that survived is the disk from here on.
            book_go_on(self.book, self.found);
            remove_tree(self.root);
            if (rename(self.image, self.root) != 0) {
                break;
            }
        }
        if (!torture_unhurt(run) && run->keep) {
            return;
        }
    }
    remove_tree(self.vault);
}
