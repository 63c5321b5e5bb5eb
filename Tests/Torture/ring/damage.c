// SPDX-License-Identifier: MIT
// Bytes flipped, pages zeroed and swapped, files cut short. Every trial runs in a guarded child: a
// crash or a hang is a failure like another.
#include <inttypes.h>
#include <string.h>

#include "specimen.h"

typedef struct bench {
    specimen *what;
    const char *path;
    const char *target;
    uint8_t *work;
    rng random;
    /** The bit to flip; 8 for one at random. */
    unsigned bit;
    /** Where the file's records begin. */
    uint64_t first_record;
} bench;

static void flip_byte(torture *run, void *context, uint64_t index) {
    bench *self = context;
    const specimen *what = self->what;
    rng random = rng_make(mix2(self->random.state, index));
    unsigned bit = self->bit < 8 ? self->bit : (unsigned)rng_below(&random, 8);
    torture_note(run, "bit %u of byte %" PRIu64, bit, index);
    memcpy(self->work, what->bytes, what->size);
    self->work[index] = (uint8_t)(self->work[index] ^ (1u << bit));
    damage one = {index, index + 1};
    if (EXPECT(run, write_over(self->path, self->work, what->size), "cannot write the file")) {
        specimen_verify(run, what, self->path, self->target, &one, 1, 1);
    }
}

/** In front of the records every bit counts. */
static void flip_header_bit(torture *run, void *context, uint64_t index) {
    bench *self = context;
    self->bit = (unsigned)(index % 8);
    flip_byte(run, context, index / 8);
}

static void truncate_at(torture *run, void *context, uint64_t index) {
    bench *self = context;
    const specimen *what = self->what;
    size_t size = (size_t)index + 1;
    torture_note(run, "%zu of %zu bytes", size, what->size);
    if (size >= what->size ||
        !EXPECT(run, write_over(self->path, what->bytes, size), "cannot write the file")) {
        return;
    }
    for (unsigned writable = 0; writable < 2; writable++) {
        larder_ring_options options = ring_options(0, writable ? 0 : LARDER_RING_READ_ONLY);
        larder_ring_detail detail;
        larder_ring *ring = NULL;
        larder_status status = larder_ring_open(self->path, &options, &detail, &ring);
        larder_ring_close(ring);
        // Too short for its header, a file can only be foreign.
        if (!EXPECT(run, status == LARDER_EDAMAGED || (size < 64 && status == LARDER_EFOREIGN),
                    "a file cut to %zu of %zu bytes opens with status %d", size, what->size,
                    status) ||
            !EXPECT(run,
                    read_file(self->path, self->work, what->size) == (int64_t)size &&
                        memcmp(self->work, what->bytes, size) == 0,
                    "a file cut to %zu bytes was changed by a refused open", size)) {
            return;
        }
    }
    damage gone = {size, UINT64_MAX};
    // In front of all records, or without a header to read them by, there is nothing to salvage.
    if (size > self->first_record) {
        specimen_salvage(run, what, self->path, self->target, &gone, 1, what->count);
    }
}

static void hurt_pages(torture *run, void *context, uint64_t index) {
    bench *self = context;
    const specimen *what = self->what;
    rng random = rng_make(mix2(self->random.state, index));
    memcpy(self->work, what->bytes, what->size);
    uint64_t pages = what->size / 4096;
    uint64_t one = rng_below(&random, pages) * 4096, two = rng_below(&random, pages) * 4096;
    damage damages[2] = {{one, one + 4096}, {two, two + 4096}};
    unsigned count = 1;
    uint64_t most = what->count;
    switch (rng_below(&random, 4)) {
    case 0:
        torture_note(run, "page at %" PRIu64 " zeroed", one);
        memset(self->work + one, 0, 4096);
        break;
    case 1:
        torture_note(run, "pages at %" PRIu64 " and %" PRIu64 " swapped", one, two);
        memcpy(self->work + one, what->bytes + two, 4096);
        memcpy(self->work + two, what->bytes + one, 4096);
        count = 2;
        break;
    default: {
        uint64_t byte = rng_below(&random, what->size);
        unsigned bit = (unsigned)rng_below(&random, 8);
        torture_note(run, "bit %u of byte %" PRIu64, bit, byte);
        self->work[byte] = (uint8_t)(self->work[byte] ^ (1u << bit));
        damages[0] = (damage){byte, byte + 1};
        most = 1;
    }
    }
    if (EXPECT(run, write_over(self->path, self->work, what->size), "cannot write the file")) {
        specimen_verify(run, what, self->path, self->target, damages, count, most);
    }
}

/** Every byte and every length of a small file. */
static void hurt_small(torture *run, bench *self, unsigned laps, uint64_t capacity, uint32_t slots,
                       message_profile profile) {
    specimen small = {0};
    torture_trial(run);
    if (!specimen_make(run, &small, self->path, capacity, slots, profile, laps, 0,
                       rng_next(&self->random))) {
        return;
    }
    self->what = &small;
    self->bit = 8;
    self->first_record = small.size;
    for (size_t i = 0; i < small.count; i++) {
        if (small.records[i].from < self->first_record) {
            self->first_record = small.records[i].from;
        }
    }
    torture_guard_each(run, small.size, 5, true, flip_byte, self);
    torture_guard_each(run, self->first_record * 8, 5, true, flip_header_bit, self);
    torture_guard_each(run, small.size - 1, 5, true, truncate_at, self);
    for (self->bit = 0; self->bit < 8 && !run->brief; self->bit++) {
        torture_guard_each(run, small.size, 5, false, flip_byte, self);
    }
}

void family_damage(torture *run) {
    enum { LARGE = 2 * 1024 * 1024 };
    bench self = {.work = shared_memory(LARGE)};
    rng random;
    uint64_t end = run->deadline_ns, half = now_ns() + (end - now_ns()) / 2;
    while (torture_next_case(run, &random)) {
        self.random = random;
        self.path = torture_path(run, "ring");
        self.target = torture_path(run, "salvaged");
        if (run->case_index % 2 == 0) {
            // The first small file gets half the time, so that there is some for the large one.
            run->deadline_ns = run->case_index == 0 ? half : end;
            hurt_small(run, &self, (unsigned)rng_below(&random, 4), run->brief ? 1200 : 2400, 2,
                       (message_profile){0, 60, 150});
            run->deadline_ns = end;
            continue;
        }
        // Once without and once after wrapping: 10,000 messages of 100 bytes take 1.2 MB.
        specimen large = {0};
        torture_trial(run);
        message_profile profile = {80, 110, 120};
        uint64_t capacity = rng_one_in(&random, 2) ? larder_ring_capacity_for(10000, 112, 8) + 4096
                                                   : larder_ring_capacity_for(5000, 112, 8);
        capacity = (capacity + 4095) & ~(uint64_t)4095;
        if (!specimen_make(run, &large, self.path, capacity, 8, profile, 2, 10000,
                           rng_next(&random))) {
            continue;
        }
        self.what = &large;
        torture_guard_each(run, run->brief ? 40 : 400, 20, false, hurt_pages, &self);
    }
}
