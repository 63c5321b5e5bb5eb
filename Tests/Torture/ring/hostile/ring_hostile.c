// SPDX-License-Identifier: MIT
// Logs made by somebody who means harm: valid ones with fields, records, cursors, lengths and
// places changed, several at once, and the checksums and complements mended, so that what is wrong
// gets past them. Each is read, followed, checked, written to, resized and salvaged, in a child
// that may take 2 seconds, files of little more than twice the size, and 256 MB. Any answer is fine
// that says damage, but no crash, no wait and no claim that is believed; what is appended is there,
// and what a salvage or a resize made is sound. The seed, the case and the number of the mutant
// tell all of it.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "children.h"
#include "faults.h"
#include "ring_bytes.h"

enum { IMAGES = 10, IMAGE_BYTES = 65536, ROOM = 2 * IMAGE_BYTES, MUTANTS = 64, MESSAGES = 12 };

typedef struct image {
    uint8_t bytes[IMAGE_BYTES];
    size_t size;
} image;

typedef struct bench {
    const char *path, *other;
    image images[IMAGES];
    uint64_t seed;
    uint8_t bytes[ROOM];
    /** A pad stands where there was none: nobody writes one in the middle of a lap, and it hides
        what is behind it from those who come from the front. */
    bool has_pad;
    /** Numbers may contradict each other, and who comes from another side believes others. */
    bool has_other_records;
    /** In memory that the children share: how many mutants were opened, of how many. */
    _Atomic uint64_t *opened, *tried;
} bench;

// The rings ---------------------------------------------------------------------------------------

/** Some came round, some not; closed, killed; with cursors, removals, long messages and gaps. */
static bool make_image(torture *run, const bench *self, unsigned number, image *out) {
    static const uint16_t sizes[IMAGES] = {1024,  4096, 16384, 2048, 1024,
                                           32768, 8192, 600,   4096, 16384};
    larder_ring *ring = NULL;
    uint32_t flags = number % 3 ? LARDER_RING_OVERWRITE : 0;
    larder_ring_options options = ring_options(sizes[number], flags);
    options.cursor_slots = number % 4;
    (void)unlink(self->path);
    larder_status status = larder_ring_open(self->path, &options, NULL, &ring);
    for (uint64_t i = 1; i <= 20 + 40 * (number % 5) && !status; i++) {
        uint8_t bytes[2000];
        size_t length = (size_t)(i * 37 % (number % 4 == 1 ? 1900 : 130));
        message_fill(i, bytes, length);
        status = larder_ring_append(ring, bytes, length, NULL);
        bool is_full = status == LARDER_EFULL || status == LARDER_ETOOLARGE;
        status = is_full ? LARDER_OK : status;
        if (i % 30 == 10 && !status) {
            status = larder_ring_sync(ring);
        }
        // A full one that refuses gives no more numbers.
        if (i % 25 == 20 && !status && !is_full && options.cursor_slots && number != 7) {
            status = larder_ring_acknowledge(ring, bytes_of_text("one"), 1 + number);
        }
        if (i % 30 == 29 && !status) {
            status = larder_ring_remove_through(ring, i / 3, NULL);
        }
    }
    if (number % 2 && !status) {
        status = larder_ring_shutdown(ring);
    }
    int64_t size = read_file(self->path, out->bytes, sizeof out->bytes);
    out->size = size > 0 ? (size_t)size : 0;
    larder_ring_close(ring);
    return EXPECT(run, !status && size == sizes[number], "making a ring gave %d", status);
}

// Changing ----------------------------------------------------------------------------------------

static uint64_t hostile_number(rng *random, const uint8_t *bytes, size_t size, uint64_t is) {
    uint64_t data = ring_field(bytes + RING_DATA_BYTES, 8);
    uint64_t word = ring_field(bytes + 8 * rng_below(random, RING_HEADER / 8), 8);
    uint64_t lap = data ? is - is % data : 0;
    const uint64_t numbers[] = {0,
                                1,
                                8,
                                16,
                                is + 1,
                                is - 1,
                                is + 8,
                                is - 8,
                                is * 2,
                                ~is,
                                word,
                                word + 1,
                                word - 1,
                                ~word,
                                lap,
                                lap + data,
                                lap + data - 8,
                                is + data,
                                is - data,
                                data,
                                size,
                                size - 8,
                                size + 8,
                                RING_HEADER,
                                UINT64_C(1) << 31,
                                UINT64_C(1) << 32,
                                UINT64_C(1) << 33,
                                UINT64_C(1) << 40,
                                UINT64_C(1) << 54,
                                UINT64_C(1) << 62,
                                UINT64_C(1) << 63,
                                UINT64_MAX,
                                UINT64_MAX / 2,
                                UINT64_MAX - 7,
                                is ^ UINT64_C(1) << rng_below(random, 64),
                                rng_next(random)};
    return numbers[rng_below(random, sizeof numbers / sizeof *numbers)];
}

static void set_at(rng *random, uint8_t *bytes, size_t size, size_t at, uint32_t width) {
    if (at + width > size) {
        return;
    }
    uint64_t value = hostile_number(random, bytes, size, ring_field(bytes + at, width));
    memcpy(bytes + at, &value, width);
}

/** Where a record may begin; mostly where one does. */
static size_t some_record(rng *random, const uint8_t *bytes, size_t size) {
    uint64_t at = ring_field(bytes + RING_DATA_OFFSET, 8), steps = rng_below(random, 40);
    if (at > size || rng_one_in(random, 8)) {
        return (size_t)rng_below(random, size) & ~(size_t)7;
    }
    for (; steps > 0 && at + RING_HEAD < size; steps--) {
        uint32_t word = (uint32_t)ring_field(bytes + at, 4);
        at += word == UINT32_MAX ? RING_HEAD : record_bytes(word & INT32_MAX);
    }
    return at + RING_HEAD <= size ? (size_t)at : size - RING_HEAD;
}

static void change_record(rng *random, uint8_t *bytes, size_t size) {
    size_t at = some_record(random, bytes, size), from = some_record(random, bytes, size);
    uint32_t pad = UINT32_MAX;
    switch (rng_below(random, 6)) {
    case 0: set_at(random, bytes, size, at, 4); break;
    case 1: set_at(random, bytes, size, at + 8, 8); break;
    // The bit after which numbers may be missing, and the generation.
    case 2: bytes[at + 14] ^= 0x80; break;
    case 3: bytes[at + 15] = (uint8_t)rng_next(random); break;
    case 4: memcpy(bytes + at, &pad, sizeof pad); break;
    default: {
        size_t length = 8 * (size_t)rng_between(random, 1, 60);
        if (at + length <= size && from + length <= size) {
            memmove(bytes + at, bytes + from, length);
        }
    }
    }
}

static void change_cursor(rng *random, uint8_t *bytes, size_t size) {
    size_t at = RING_HEADER + RING_CURSOR * (size_t)rng_below(random, 4);
    if (at + RING_CURSOR > size) {
        return;
    }
    static const uint8_t places[] = {0, 32, 40, 48};
    size_t place = places[rng_below(random, 4)];
    set_at(random, bytes, size, at + place, place == 32 ? 4 : 8);
    // The name's checksum.
    uint32_t crc = larder_crc32c(larder_crc32c(0, bytes + at, 32), bytes + at + 32, 4);
    memcpy(bytes + at + 36, &crc, sizeof crc);
}

/** A file is cut, or grows by zeros. */
static size_t change_size(rng *random, uint8_t *bytes, size_t size) {
    size_t changed = rng_one_in(random, 2) ? (size_t)rng_below(random, size + 1)
                                           : size + 8 * (size_t)rng_below(random, 600);
    changed = changed < RING_HEADER ? RING_HEADER : changed > ROOM ? ROOM : changed;
    if (changed > size) {
        memset(bytes + size, 0, changed - size);
    }
    return changed;
}

static size_t change(rng *random, uint8_t *bytes, size_t size) {
    static const uint8_t fixed[][2] = {{8, 4},  {12, 4}, {16, 8}, {16, 8}, {24, 8},
                                       {32, 8}, {32, 8}, {40, 8}, {56, 4}};
    const uint8_t *field = fixed[rng_below(random, sizeof fixed / sizeof *fixed)];
    switch (rng_below(random, 12)) {
    case 0: set_at(random, bytes, size, field[0], field[1]); break;
    case 1: set_at(random, bytes, size, size - RING_FIXED + field[0], field[1]); break;
    case 2:
    case 3:
    case 4: set_at(random, bytes, size, RING_STATE + 8 * rng_below(random, 8), 8); break;
    case 5: set_at(random, bytes, size, RING_FLOOR - 64 + 8 * rng_below(random, 3), 8); break;
    case 6: set_at(random, bytes, size, RING_FLOOR + 8 * rng_below(random, 8), 8); break;
    case 7: set_at(random, bytes, size, RING_SESSION + 8 * rng_below(random, 8), 8); break;
    case 8: change_cursor(random, bytes, size); break;
    case 9: return rng_one_in(random, 4) ? change_size(random, bytes, size) : size;
    default: change_record(random, bytes, size);
    }
    return size;
}

// Mending -----------------------------------------------------------------------------------------

static void mend_records(uint8_t *bytes, size_t size) {
    uint64_t data = ring_field(bytes + RING_DATA_OFFSET, 8);
    uint64_t end = ring_field(bytes + RING_DATA_BYTES, 8);
    end = data <= size && end <= size - data ? data + end : size;
    for (uint64_t at = data; at < end && end - at >= RING_HEAD;) {
        uint32_t word = (uint32_t)ring_field(bytes + at, 4);
        uint64_t number = ring_field(bytes + at + 8, 8) & ((UINT64_C(1) << 55) - 1);
        uint64_t length = word == UINT32_MAX ? RING_HEAD : record_bytes(word & INT32_MAX);
        if (number == 0 || number > UINT64_C(1) << 54 || length > end - at) {
            at += 8;
            continue;
        }
        uint32_t crc = ring_record_crc(bytes, size, (size_t)at, (size_t)data);
        memcpy(bytes + at + 4, &crc, sizeof crc);
        at += length;
    }
}

static void mend(rng *random, uint8_t *bytes, size_t size) {
    static const uint16_t complements[][2] = {{RING_REMOVED, RING_REMOVED + 8},
                                              {RING_FLOOR, RING_FLOOR + 48},
                                              {RING_MISSING, RING_MISSING + 8},
                                              {RING_HEADER + 40, RING_HEADER + 48}};
    for (size_t i = 0; i < sizeof complements / sizeof *complements; i++) {
        uint64_t value = ~ring_field(bytes + complements[i][0], 8);
        if (!rng_one_in(random, 6) && complements[i][1] + 8u <= size) {
            memcpy(bytes + complements[i][1], &value, sizeof value);
        }
    }
    if (!rng_one_in(random, 4)) {
        memcpy(bytes + RING_STATE + 8, bytes + RING_STATE, 8);
    }
    ring_mend_fixed(bytes);
    if (size >= RING_HEADER + RING_FIXED) {
        // The backup as it is, or of this header.
        if (rng_one_in(random, 2)) {
            memcpy(bytes + size - RING_FIXED, bytes, RING_FIXED);
        }
        ring_mend_fixed(bytes + size - RING_FIXED);
        if (rng_one_in(random, 8)) {
            bytes[RING_FIXED_CRC] ^= 1;
        }
    }
    if (!rng_one_in(random, 8)) {
        mend_records(bytes, size);
    }
    bool is_closed = ring_field(bytes + RING_CLOSED_CRC, 4) != 0;
    if (is_closed || rng_one_in(random, 8)) {
        ring_mend_closed(bytes);
    }
}

/** Writes a mutant to the file, signed as if the process that was killed, or that closed it, had
    had that file; or left as a copy. */
static bool write_mutant(rng *random, bench *self) {
    const image *from = &self->images[rng_below(random, IMAGES)];
    size_t size = from->size;
    struct stat facts;
    memcpy(self->bytes, from->bytes, size);
    for (uint64_t count = 1 + rng_below(random, 6); count > 0; count--) {
        size = change(random, self->bytes, size);
    }
    int file = open(self->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    bool good = file >= 0 && fstat(file, &facts) == 0;
    if (good && !rng_one_in(random, 4)) {
        const uint64_t words[2] = {(uint64_t)facts.st_dev, (uint64_t)facts.st_ino};
        memcpy(self->bytes + RING_DEVICE, words, sizeof words);
    }
    mend(random, self->bytes, size);
    self->has_pad = self->has_other_records = false;
    size_t data = (size_t)ring_field(from->bytes + RING_DATA_OFFSET, 8);
    for (size_t at = data; at + 8 <= size; at += 8) {
        bool was = at < from->size && ring_field(from->bytes + at, 4) == UINT32_MAX;
        self->has_pad |= !was && ring_field(self->bytes + at, 4) == UINT32_MAX;
        self->has_other_records |=
            at + RING_FIXED < from->size && memcmp(from->bytes + at, self->bytes + at, 8) != 0;
    }
    good = good && write(file, self->bytes, size) == (ssize_t)size;
    close(file);
    return good;
}

// Using -------------------------------------------------------------------------------------------

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN || status == LARDER_EVERSION ||
           status == LARDER_EMISMATCH;
}

static larder_status opened(const char *path, uint32_t flags, larder_ring **out) {
    larder_ring_options options = ring_options(0, flags);
    *out = NULL;
    return larder_ring_open(path, &options, NULL, out);
}

/** Reads on to the end, and back if wanted.
    @return a sum over what was read. */
static uint64_t read_all(torture *run, larder_ring *ring, bool goes_back) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_status status;
    uint64_t before = 0, sum = 0, steps = 0, back = 0;
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return 0;
    }
    while ((status = larder_ring_reader_next(reader, &record)) == LARDER_OK &&
           EXPECT(run, steps++ < ROOM / RING_HEAD, "a reader goes on for ever") &&
           EXPECT(run, record.sequence > before, "number %llu comes behind %llu",
                  (unsigned long long)record.sequence, (unsigned long long)before)) {
        before = record.sequence;
        sum = mix2(sum, mix2(before, larder_crc32c(record.flags, record.payload.data,
                                                   record.payload.length)));
    }
    EXPECT(run, status == LARDER_END || !torture_unhurt(run), "a reader gave %d", status);
    while (goes_back && (status = larder_ring_reader_previous(reader, &record)) == LARDER_OK &&
           EXPECT(run, back++ < ROOM / RING_HEAD, "a reader goes back for ever")) {
    }
    EXPECT(run, status == LARDER_END || !torture_unhurt(run), "a reader back gave %d", status);
    EXPECT_STATUS(run, larder_ring_reader_seek(reader, before / 2 + 1), LARDER_OK);
    status = larder_ring_reader_next(reader, &record);
    EXPECT(run, status == LARDER_END || (!status && record.sequence > before / 2),
           "a search gave %d", status);
    larder_ring_reader_close(reader);
    return sum;
}

static void look(torture *run, larder_ring *ring, bool must_be_sound) {
    larder_ring_statistics is;
    larder_ring_report report;
    larder_ring_cursor cursors[4];
    size_t count;
    uint64_t sequence;
    larder_status status = larder_ring_check(ring, &report);
    EXPECT(run, status == LARDER_OK || (!must_be_sound && is_damage(status)), "a check gave %d",
           status);
    EXPECT_STATUS(run, larder_ring_recovery(ring, &report), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_cursors(ring, cursors, 4, &count), LARDER_OK);
    status = larder_ring_acknowledged(ring, bytes_of_text("one"), &sequence);
    EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND, "a cursor gave %d", status);
    status = larder_ring_wait(ring, UINT64_MAX, 0);
    EXPECT(run, status == ETIMEDOUT, "a wait gave %d", status);
    if (!EXPECT_STATUS(run, larder_ring_statistics_get(ring, &is), LARDER_OK)) {
        return;
    }
    EXPECT(run, is.used_bytes <= is.data_bytes && is.count <= is.used_bytes / RING_HEAD,
           "%llu messages are said to be in %llu of %llu bytes", (unsigned long long)is.count,
           (unsigned long long)is.used_bytes, (unsigned long long)is.data_bytes);
    uint64_t sum = is.count + is.overwritten + is.removed + is.lost + is.skipped;
    EXPECT(run, sum == is.next_sequence - 1 && is.overwritten < is.next_sequence,
           "%llu + %llu + %llu + %llu + %llu is not %llu", (unsigned long long)is.count,
           (unsigned long long)is.overwritten, (unsigned long long)is.removed,
           (unsigned long long)is.lost, (unsigned long long)is.skipped,
           (unsigned long long)is.next_sequence - 1);
}

static void append_and_follow(torture *run, const bench *self, larder_ring *ring,
                              larder_ring *follower, rng *random) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    bool follows = follower &&
                   EXPECT_STATUS(run, larder_ring_reader_open(follower, 0, &reader), LARDER_OK) &&
                   EXPECT_STATUS(run, larder_ring_reader_seek(reader, UINT64_MAX), LARDER_OK);
    for (unsigned i = 0; i < MESSAGES && torture_unhurt(run); i++) {
        uint8_t bytes[600];
        uint64_t next = 0, given = 0;
        size_t length = (size_t)rng_below(random, rng_one_in(random, 4) ? 600 : 60);
        EXPECT_STATUS(run, larder_ring_next_sequence(ring, &next), LARDER_OK);
        message_fill(next, bytes, length);
        larder_status status = rng_one_in(random, 6)
                                   ? larder_ring_append_synced(ring, bytes, length, &given)
                                   : larder_ring_append(ring, bytes, length, &given);
        // A ring may be small, or refuse by its flags, or have given all numbers.
        bool is_last =
            status == LARDER_EFULL || status == LARDER_ETOOLARGE || next >= UINT64_C(1) << 53;
        if (!EXPECT(run, (!status && given == next) || is_last, "append %llu gave %d as %llu",
                    (unsigned long long)next, status, (unsigned long long)given) ||
            status || !follows) {
            continue;
        }
        while ((status = larder_ring_reader_next(reader, &record)) == LARDER_OK &&
               record.sequence < given) {
        }
        EXPECT(run,
               self->has_pad ||
                   (!status && record.sequence == given && record.payload.length == length &&
                    message_equals(given, record.payload.data, length)),
               "a follower of message %llu has %d, %llu", (unsigned long long)given, status,
               (unsigned long long)record.sequence);
    }
    larder_ring_reader_close(reader);
}

static void write_to(torture *run, bench *self, rng *random) {
    larder_ring *ring = NULL, *follower = NULL;
    larder_ring_statistics is = {0};
    larder_status status = opened(self->path, 0, &ring);
    EXPECT(run, status == LARDER_OK || is_damage(status), "an open gave %d", status);
    atomic_fetch_add(self->tried, 1);
    if (!ring) {
        return;
    }
    atomic_fetch_add(self->opened, 1);
    EXPECT_STATUS(run, opened(self->path, LARDER_RING_READ_ONLY, &follower), LARDER_OK);
    look(run, ring, false);
    EXPECT(run,
           !follower || self->has_other_records ||
               read_all(run, ring, true) == read_all(run, follower, true),
           "a reader beside the writer reads something else");
    append_and_follow(run, self, ring, follower, random);
    status = larder_ring_acknowledge(ring, bytes_of_text("new"), 1);
    EXPECT(run,
           status == LARDER_OK || status == LARDER_ENOSLOT ||
               (status == LARDER_EINVALID && is.next_sequence <= 1),
           "a cursor gave %d", status);
    EXPECT_STATUS(run, larder_ring_statistics_get(ring, &is), LARDER_OK);
    if (is.count > 2 && rng_one_in(random, 2)) {
        EXPECT_STATUS(run, larder_ring_remove_through(ring, is.oldest_sequence + 1, NULL),
                      LARDER_OK);
    }
    append_and_follow(run, self, ring, NULL, random);
    look(run, ring, false);
    uint64_t sum = read_all(run, ring, true);
    larder_ring_close(follower);
    bool syncs = rng_one_in(random, 2);
    EXPECT_STATUS(run, syncs ? larder_ring_shutdown(ring) : larder_ring_shutdown_unsynced(ring),
                  LARDER_OK);
    larder_ring_close(ring);
    if (EXPECT_STATUS(run, opened(self->path, 0, &ring), LARDER_OK)) {
        EXPECT(run, self->has_other_records || read_all(run, ring, false) == sum,
               "the next open has other messages");
        look(run, ring, false);
    }
    larder_ring_close(ring);
}

static void make_anew(torture *run, bench *self, bool salvages) {
    larder_ring *ring = NULL;
    larder_ring_report report;
    larder_status status;
    if (salvages) {
        (void)unlink(self->other);
        status = larder_ring_salvage(self->path, self->other, NULL, NULL, NULL, &report);
    } else {
        larder_ring_options options =
            ring_options(2 * (uint64_t)size_of_file(self->path), LARDER_RING_OVERWRITE);
        status = larder_ring_resize(self->path, &options, NULL);
    }
    EXPECT(run, status == LARDER_OK || is_damage(status), "a %s gave %d",
           salvages ? "salvage" : "resize", status);
    if (!status &&
        EXPECT_STATUS(run, opened(salvages ? self->other : self->path, 0, &ring), LARDER_OK)) {
        look(run, ring, true);
        (void)read_all(run, ring, true);
    }
    larder_ring_close(ring);
}

static void trial(torture *run, void *context, uint64_t index) {
    static const uint8_t another_boot[16] = {6};
    bench *self = context;
    rng random = {mix2(self->seed, index)};
    larder_ring *ring = NULL;
    hostile_begin(2);
    torture_note(run, "mutant %llu of the case", (unsigned long long)index);
    if (!EXPECT(run, write_mutant(&random, self), "cannot write %s", self->path)) {
        return;
    }
    hostile_limit_files((uint64_t)size_of_file(self->path) * 2 + 65536);
    larder_fault_boot_id(rng_one_in(&random, 4) ? another_boot : NULL);
    larder_status status = opened(self->path, LARDER_RING_READ_ONLY, &ring);
    EXPECT(run, status == LARDER_OK || is_damage(status), "an open to read gave %d", status);
    if (ring) {
        look(run, ring, false);
        (void)read_all(run, ring, true);
    }
    larder_ring_close(ring);
    make_anew(run, self, true);
    if (rng_one_in(&random, 4)) {
        make_anew(run, self, false);
    } else {
        write_to(run, self, &random);
    }
    hostile_end_of(run);
}

void family_hostile(torture *run) {
    static bench self;
    _Atomic uint64_t *counts = shared_memory(2 * sizeof *counts);
    self.opened = counts;
    self.tried = counts + 1;
    self.path = torture_path(run, "hostile");
    self.other = torture_path(run, "salvaged");
    for (unsigned i = 0; i < IMAGES; i++) {
        if (!make_image(run, &self, i, &self.images[i])) {
            return;
        }
    }
    rng random;
    while (torture_next_case(run, &random)) {
        self.seed = rng_next(&random);
        torture_guard_each(run, MUTANTS, 60, true, trial, &self);
    }
    EXPECT(run,
           atomic_load(self.tried) < 200 || atomic_load(self.opened) > atomic_load(self.tried) / 4,
           "of %llu mutants %llu were opened", (unsigned long long)atomic_load(self.tried),
           (unsigned long long)atomic_load(self.opened));
}
