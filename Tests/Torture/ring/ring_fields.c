// SPDX-License-Identifier: MIT
// Every field of a ring's header, of its backup and of some records set to values that it must not
// have, one at a time, with the checksum that fits, and the complement: what the reader's checks of
// sense are for, which a flipped byte never comes to. A ring that was closed, one whose writer was
// killed, and one that lost power. No message may be read that was not written, numbers grow, and
// what is appended then is there.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "ring_bytes.h"

enum { BYTES = 16384, PLACES = 400, VALUES = 10, IMAGES = 4 };

typedef struct place {
    /** Of the record, or of the header's copy at the end; 0 for the header. */
    uint32_t start;
    uint32_t offset;
    uint32_t width;
    /** Where the complement is; 0 for none. */
    uint32_t complement;
} place;

typedef struct image {
    uint8_t bytes[BYTES];
    place places[PLACES];
    size_t count;
} image;

typedef struct fields_bench {
    const char *path, *other;
    image images[IMAGES];
    unsigned stride;
    /** So many trials set one field; the rest, several. */
    uint64_t singles;
} fields_bench;

// The rings ---------------------------------------------------------------------------------------

static bool make_image(torture *run, const char *path, unsigned number, image *out) {
    // One that came round, with a pad; one that did not; each closed and not.
    bool is_closed = number & 1, is_small = number & 2;
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(BYTES, LARDER_RING_OVERWRITE);
    options.cursor_slots = 2;
    (void)unlink(path);
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    for (uint64_t i = 1; i <= (is_small ? 20 : 300) && !status; i++) {
        uint8_t bytes[400];
        size_t length = (size_t)(i * 37 % 390);
        message_fill(i, bytes, length);
        status = larder_ring_append(ring, bytes, length, NULL);
        if (i % 50 == 10 && !status) {
            status = larder_ring_sync(ring);
        }
    }
    status = status ? status : larder_ring_acknowledge(ring, bytes_of_text("one"), 7);
    status = status ? status : larder_ring_acknowledge(ring, bytes_of_text("two"), 12);
    status = status ? status : larder_ring_remove_through(ring, is_small ? 3 : 280, NULL);
    if (is_closed && !status) {
        status = larder_ring_shutdown(ring);
    }
    bool good = EXPECT(run, status == LARDER_OK, "making a ring gave %d", status) &&
                EXPECT(run, read_file(path, out->bytes, BYTES) == BYTES, "cannot read %s", path);
    larder_ring_close(ring);
    return good;
}

static void add(image *to, uint32_t start, uint32_t offset, uint32_t width) {
    if (to->count == PLACES) {
        return;
    }
    place *added = &to->places[to->count++];
    *added = (place){start, offset, width, 0};
    uint64_t value = ring_field(to->bytes + start + offset, width);
    for (uint32_t at = offset + 8; start == 0 && width == 8 && at < offset + 64; at += 8) {
        if (ring_field(to->bytes + at, 8) == ~value) {
            added->complement = at;
        }
    }
}

static void find_places(image *to) {
    static const uint8_t fixed[][2] = {{0, 8},  {8, 4},  {12, 4}, {16, 8},
                                       {24, 8}, {32, 8}, {40, 8}, {56, 4}};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        add(to, 0, fixed[i][0], fixed[i][1]);
        add(to, BYTES - RING_FIXED, fixed[i][0], fixed[i][1]);
    }
    for (uint32_t at = RING_FIXED; at < RING_HEADER; at += 8) {
        add(to, 0, at, 8);
    }
    // Cursors.
    for (uint32_t at = RING_HEADER; at < RING_HEADER + 64; at += 8) {
        add(to, 0, at, 8);
    }
    uint32_t data = (uint32_t)ring_field(to->bytes + 24, 8);
    uint32_t bytes = (uint32_t)ring_field(to->bytes + 32, 8), number = 0;
    for (uint32_t at = data; at + RING_HEAD <= data + bytes && number < 60; number++) {
        uint32_t word = (uint32_t)ring_field(to->bytes + at, 4);
        uint32_t length = word == UINT32_MAX ? 0 : word & INT32_MAX;
        if (number % 9 == 0 || word == UINT32_MAX) {
            add(to, at, 0, 4);
            add(to, at, 8, 8);
            add(to, at, 12, 4);
            add(to, at, 15, 1);
        }
        if (ring_field(to->bytes + at + 8, 8) == 0) {
            break;
        }
        at += (uint32_t)record_bytes(length);
    }
}

// Hurting -----------------------------------------------------------------------------------------

static uint64_t bad_value(uint64_t is, uint32_t width, unsigned which) {
    uint64_t all = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
    const uint64_t values[VALUES] = {0,      1,      all,    all / 2, is + 1,
                                     is - 1, is + 8, is - 8, is * 2,  is ^ UINT64_C(1) << 55};
    return values[which] & all;
}

static void set_field(const image *from, const place *where, unsigned which, uint8_t *bytes) {
    memcpy(bytes, from->bytes, BYTES);
    uint8_t *at = bytes + where->start + where->offset;
    uint64_t value = bad_value(ring_field(at, where->width), where->width, which);
    memcpy(at, &value, where->width);
    if (where->complement) {
        value = ~value;
        memcpy(bytes + where->complement, &value, sizeof value);
    }
    bool is_header = where->start == 0 || where->start == BYTES - RING_FIXED;
    uint32_t data = (uint32_t)ring_field(from->bytes + 24, 8), crc;
    if (!is_header) {
        crc = ring_record_crc(bytes, BYTES, where->start, data);
        memcpy(bytes + where->start + 4, &crc, sizeof crc);
    } else if (where->offset < RING_FIXED) {
        ring_mend_fixed(bytes + where->start);
    } else if (where->offset < RING_HEADER && ring_field(bytes + RING_CLOSED_CRC, 4)) {
        ring_mend_closed(bytes);
    }
}

/** Several words of the live state at once, each like another one: what no single field gives away.
    The two copies of the oldest place stay alike in some. */
static void mix_fields(const image *from, rng *random, uint8_t *bytes) {
    memcpy(bytes, from->bytes, BYTES);
    uint64_t data = ring_field(bytes + 32, 8);
    for (uint64_t count = 1 + rng_below(random, 3); count > 0; count--) {
        static const uint16_t starts[] = {RING_STATE, RING_FLOOR, RING_SESSION};
        uint32_t at = starts[rng_below(random, 3)] + 8 * (uint32_t)rng_below(random, 8);
        uint32_t other =
            RING_STATE + 8 * (uint32_t)rng_below(random, (RING_HEADER - RING_STATE) / 8);
        uint64_t is = ring_field(bytes + other, 8);
        const uint64_t values[] = {is,
                                   is + 1,
                                   is - 1,
                                   is + 8,
                                   is - 8,
                                   is + data,
                                   is - data,
                                   is - is % data,
                                   is - is % data + data,
                                   is - is % data - 8,
                                   is - is % data + data - 8,
                                   0,
                                   3,
                                   UINT64_C(1) << 60,
                                   is ^ UINT64_C(1) << 56};
        uint64_t value = values[rng_below(random, sizeof values / sizeof *values)];
        memcpy(bytes + at, &value, sizeof value);
        if (at == RING_STATE && rng_below(random, 4)) {
            memcpy(bytes + at + 8, &value, sizeof value);
        }
        if (at == RING_MISSING || at == RING_REMOVED) {
            value = ~value;
            memcpy(bytes + at + 8, &value, sizeof value);
        }
    }
    uint32_t crc = larder_ring_closed_crc(bytes);
    bool is_closed = ring_field(from->bytes + RING_CLOSED_CRC, 4) != 0;
    memcpy(bytes + RING_CLOSED_CRC, is_closed ? &crc : &(uint32_t){0}, sizeof crc);
}

/** Flips bits in so many bytes of the records, in a file that may be open. */
static void hurt_records(const char *path, rng *random, uint64_t count) {
    int file = open(path, O_RDWR);
    uint64_t data = 0, bytes = 0;
    bool good = file >= 0 && pread(file, &data, 8, 24) == 8 && pread(file, &bytes, 8, 32) == 8;
    for (; count > 0 && good; count--) {
        uint8_t byte = 0;
        off_t at = (off_t)(data + rng_below(random, bytes));
        good = pread(file, &byte, 1, at) == 1;
        byte ^= (uint8_t)(1 + rng_below(random, 255));
        good = good && pwrite(file, &byte, 1, at) == 1;
    }
    (void)close(file);
}

// Reading -----------------------------------------------------------------------------------------

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN || status == LARDER_EVERSION ||
           status == LARDER_EMISMATCH;
}

/** Reads all, both ways. @param odd how many may be others: the record that was hurt. */
static void read_all(torture *run, larder_ring *ring, unsigned odd) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return;
    }
    uint64_t before = 0, count = 0;
    unsigned others = 0;
    larder_status status;
    while ((status = larder_ring_reader_next(reader, &record)) == LARDER_OK &&
           EXPECT(run, count++ < 2000, "a reader goes on for ever")) {
        others += !message_equals(record.sequence, record.payload.data, record.payload.length);
        EXPECT(run, record.sequence > before, "number %llu comes behind %llu",
               (unsigned long long)record.sequence, (unsigned long long)before);
        before = record.sequence;
    }
    EXPECT(run, status == LARDER_END, "a reader gave %d", status);
    EXPECT(run, others <= odd, "%u messages were never written", others);
    uint64_t back = 0;
    while ((status = larder_ring_reader_previous(reader, &record)) == LARDER_OK &&
           EXPECT(run, back++ < 2000, "a reader goes back for ever")) {
    }
    // A pad in the middle, which nobody writes, ends the lap for who comes from the front.
    EXPECT(run, status == LARDER_END && (back == count || (odd && back > count)),
           "%llu back, of %llu", (unsigned long long)back, (unsigned long long)count);
    EXPECT_STATUS(run, larder_ring_reader_seek(reader, before / 2 + 100), LARDER_OK);
    status = larder_ring_reader_next(reader, &record);
    EXPECT(run, status == LARDER_END || (!status && record.sequence >= before / 2 + 100),
           "a search gave %d", status);
    larder_ring_reader_close(reader);
}

static larder_status opened(const char *path, uint32_t flags, larder_ring **out) {
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = flags;
    *out = NULL;
    return larder_ring_open(path, &options, NULL, out);
}

/** @param live if not NULL, records are hurt while the ring is open. */
static void use_ring(torture *run, const char *path, unsigned odd, rng *live) {
    larder_ring *ring = NULL;
    larder_ring_report report;
    larder_status status = opened(path, LARDER_RING_READ_ONLY, &ring);
    EXPECT(run, status == LARDER_OK || is_damage(status), "an open to read gave %d", status);
    if (ring) {
        read_all(run, ring, odd);
        status = larder_ring_check(ring, &report);
        EXPECT(run, status == LARDER_OK || is_damage(status), "a check to read gave %d", status);
    }
    larder_ring_close(ring);
    status = opened(path, LARDER_RING_OVERWRITE, &ring);
    if (!EXPECT(run, status == LARDER_OK || is_damage(status), "an open gave %d", status) ||
        !ring) {
        return;
    }
    read_all(run, ring, odd);
    if (live) {
        hurt_records(path, live, 1 + rng_below(live, 40));
        read_all(run, ring, odd);
    }
    status = larder_ring_check(ring, &report);
    EXPECT(run, status == LARDER_OK || is_damage(status), "a check gave %d", status);
    for (unsigned i = 0; i < 70 && torture_unhurt(run); i++) {
        uint8_t bytes[400];
        uint64_t next = 0, given = 0;
        EXPECT_STATUS(run, larder_ring_next_sequence(ring, &next), LARDER_OK);
        size_t length = (size_t)(next * 37 % 390);
        message_fill(next, bytes, length);
        status = larder_ring_append(ring, bytes, length, &given);
        // Behind the greatest number there is nothing comes; and a ring may refuse by its flags.
        bool is_last = next >= UINT64_C(1) << 53 || status == LARDER_EFULL;
        EXPECT(run, (!status && given == next) || is_last, "an append gave %d", status);
    }
    status = larder_ring_sync(ring);
    EXPECT(run, status == LARDER_OK, "a sync gave %d", status);
    read_all(run, ring, odd);
    (void)larder_ring_shutdown(ring);
    larder_ring_close(ring);
    status = opened(path, LARDER_RING_OVERWRITE, &ring);
    if (EXPECT(run, status == LARDER_OK, "the next open gave %d", status)) {
        read_all(run, ring, odd);
    }
    larder_ring_close(ring);
}

static void salvage_ring(torture *run, const fields_bench *self, unsigned odd) {
    larder_ring *ring = NULL;
    larder_ring_report report;
    (void)unlink(self->other);
    larder_status status = larder_ring_salvage(self->path, self->other, NULL, NULL, NULL, &report);
    EXPECT(run, status == LARDER_OK || is_damage(status) || status == LARDER_EINVALID,
           "a salvage gave %d", status);
    if (status ||
        !EXPECT_STATUS(run, opened(self->other, LARDER_RING_READ_ONLY, &ring), LARDER_OK)) {
        return;
    }
    read_all(run, ring, odd);
    EXPECT_STATUS(run, larder_ring_check(ring, &report), LARDER_OK);
    larder_ring_close(ring);
}

/** As if its own writer had been killed: only then is the state of a file believed as it is. */
static bool sign(const char *path, uint8_t *bytes) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return false;
    }
    const uint64_t words[2] = {(uint64_t)facts.st_dev, (uint64_t)facts.st_ino};
    memcpy(bytes + RING_DEVICE, words, sizeof words);
    int file = open(path, O_WRONLY);
    bool good = file >= 0 && pwrite(file, bytes, BYTES, 0) == BYTES;
    (void)close(file);
    return good;
}

/** What another handle, which reads, makes of a state that is hurt while the writer is there. */
static void look_at_hurt(torture *run, larder_ring *ring) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_ring_report report;
    larder_ring_statistics figures;
    larder_status status = larder_ring_check(ring, &report);
    EXPECT(run, status == LARDER_OK || is_damage(status), "a check gave %d", status);
    EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK);
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return;
    }
    unsigned steps = 0;
    for (unsigned way = 0; way < 2; way++) {
        do {
            status = way ? larder_ring_reader_previous(reader, &record)
                         : larder_ring_reader_next(reader, &record);
            EXPECT(run,
                   status == LARDER_END || is_damage(status) ||
                       (!status && message_equals(record.sequence, record.payload.data,
                                                  record.payload.length)),
                   "a reader gave %d", status);
        } while (!status && EXPECT(run, steps++ < 4000, "a reader goes on for ever"));
    }
    larder_ring_reader_close(reader);
}

static void live_trial(torture *run, const fields_bench *self, const image *from, uint64_t index) {
    rng random = {mix2(run->seed, index)};
    static uint8_t bytes[BYTES], good[BYTES];
    larder_ring *writer = NULL, *ring = NULL;
    torture_note(run, "state hurt beside its writer, %llu", (unsigned long long)index);
    if (!EXPECT(run, write_file(self->path, from->bytes, BYTES), "cannot write %s", self->path) ||
        !EXPECT_STATUS(run, opened(self->path, LARDER_RING_OVERWRITE, &writer), LARDER_OK)) {
        return;
    }
    EXPECT_STATUS(run, opened(self->path, LARDER_RING_READ_ONLY, &ring), LARDER_OK);
    int file = open(self->path, O_RDWR);
    for (unsigned i = 0; i < 4 && ring && torture_unhurt(run); i++) {
        mix_fields(from, &random, bytes);
        EXPECT(run,
               pread(file, good, RING_HEADER, 0) == RING_HEADER &&
                   pwrite(file, bytes + RING_FIXED, RING_HEADER - RING_FIXED, RING_FIXED) ==
                       RING_HEADER - RING_FIXED,
               "cannot hurt it");
        look_at_hurt(run, ring);
        EXPECT(run,
               pwrite(file, good + RING_FIXED, RING_HEADER - RING_FIXED, RING_FIXED) ==
                   RING_HEADER - RING_FIXED,
               "no");
    }
    (void)close(file);
    larder_ring_close(ring);
    EXPECT_STATUS(run, larder_ring_shutdown(writer), LARDER_OK);
    larder_ring_close(writer);
}

static void mixed_trial(torture *run, const fields_bench *self, const image *from, uint64_t index) {
    static const uint8_t another_boot[16] = {6};
    static uint8_t bytes[BYTES];
    rng random = {mix2(run->seed, index)};
    if (index % 8 == 7) {
        live_trial(run, self, &self->images[index / 8 % IMAGES], index);
        return;
    }
    bool lost_power = rng_below(&random, 3) == 0, is_hurt = rng_below(&random, 2);
    torture_note(run, "mixed state %llu%s", (unsigned long long)index,
                 lost_power ? ", without power" : "");
    mix_fields(from, &random, bytes);
    larder_fault_boot_id(lost_power ? another_boot : NULL);
    bool is_killed = ring_field(bytes + RING_CLOSED_CRC, 4) == 0;
    if (EXPECT(run, write_file(self->path, bytes, BYTES) && (!is_killed || sign(self->path, bytes)),
               "cannot write %s", self->path)) {
        if (is_hurt) {
            hurt_records(self->path, &random, 1 + rng_below(&random, 60));
        }
        if (rng_below(&random, 4) == 0) {
            salvage_ring(run, self, is_hurt);
        }
        use_ring(run, self->path, is_hurt, rng_below(&random, 3) ? NULL : &random);
    }
    larder_fault_boot_id(NULL);
}

static void trial(torture *run, void *context, uint64_t index) {
    static const uint8_t another_boot[16] = {6};
    static uint8_t bytes[BYTES];
    const fields_bench *self = context;
    uint64_t nth = index * self->stride;
    unsigned number = (unsigned)(nth % IMAGES), which = (unsigned)(nth / IMAGES % VALUES);
    const image *from = &self->images[number];
    if (index >= self->singles) {
        mixed_trial(run, self, from, index);
        return;
    }
    const place *where = &from->places[nth / IMAGES / VALUES % from->count];
    bool lost_power = (number & 1) == 0 && mix2(run->seed, nth) % 2;
    torture_note(run, "image %u%s, %u bytes at %u + %u, value %u", number,
                 lost_power ? ", without power" : "", where->width, where->start, where->offset,
                 which);
    set_field(from, where, which, bytes);
    bool is_record = where->start != 0 && where->start != BYTES - RING_FIXED;
    larder_fault_boot_id(lost_power ? another_boot : NULL);
    if (EXPECT(run, write_file(self->path, bytes, BYTES), "cannot write %s", self->path)) {
        salvage_ring(run, self, is_record);
        use_ring(run, self->path, is_record, NULL);
    }
    larder_fault_boot_id(NULL);
}

void family_fields(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    char path[600], other[600];
    snprintf(path, sizeof path, "%s", torture_path(run, "ring"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    static fields_bench self;
    self.path = path;
    self.other = other;
    self.stride = run->brief ? 11 : 1;
    torture_trial(run);
    size_t most = 0;
    for (unsigned i = 0; i < IMAGES; i++) {
        if (!make_image(run, path, i, &self.images[i])) {
            return;
        }
        find_places(&self.images[i]);
        most = self.images[i].count > most ? self.images[i].count : most;
        uint32_t data = (uint32_t)ring_field(self.images[i].bytes + 24, 8);
        EXPECT(run,
               ring_record_crc(self.images[i].bytes, BYTES, data, data) ==
                   ring_field(self.images[i].bytes + data + 4, 4),
               "records have another checksum");
    }
    self.singles = most * IMAGES * VALUES / self.stride;
    torture_guard_each(run, self.singles + (run->brief ? 500 : 16000), 20, true, trial, &self);
}
