// SPDX-License-Identifier: MIT
// A child writes and syncs, and dies; from what its disk had and had synced then images are put
// together, each of which may be what a power cut leaves. Each must open, and hold a state that the
// writer went through and that is no older than what was promised. It dies at a random moment;
// store-explore has every system call of short runs.
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

/** Whether there was anything before the lane was made safe last. Of a store that nothing was
    written to a sync promises nothing, not even that there is one. */
static bool lane_is_promised(const book *notes, uint32_t which) {
    const lane *own = &notes->lane[which];
    for (uint32_t key = 0; key < BOOK_KEYS; key++) {
        if (own->base[key].salt != 0) {
            return true;
        }
    }
    uint64_t synced = atomic_load(&own->synced);
    for (uint64_t number = own->first; number < synced; number++) {
        if (book_operation(notes, which, number).part_count > 0) {
            return true;
        }
    }
    return false;
}

static void verify_image(torture *run, void *context) {
    cut *self = context;
    uint8_t boot[16];
    for (unsigned i = 0; i < 16; i++) {
        boot[i] = (uint8_t)rng_next(&self->random);
    }
    larder_fault_boot_id(boot);
    bool promised = false;
    for (uint32_t i = 0; i < self->book->lanes; i++) {
        promised = promised || lane_is_promised(self->book, i);
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
        atomic_fetch_add(&run->tally->images, 1);
        atomic_fetch_add(&run->tally->images_inside, atomic_load(&self->book->is_inside) != 0);
        if (run->keep) {
            keep_image(self);
        }
        if (!torture_guard(run, 30, verify_image, self) || !torture_unhurt(run)) {
            return false;
        }
    }
    return atomic_load(self->good) != 0;
}

void family_store_power(torture *run) {
    _Atomic uint32_t *good = shared_memory(sizeof *good);
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
