// SPDX-License-Identifier: MIT
// Logs that were closed, or whose writer was killed, and that are damaged then, rebooted or copied.
// A writing open and a salvage after it must find what a salvage before it found; counts must add
// up to what was appended; nothing may come back that was not appended. And large copies of two
// moments, of which every way of looking must find the same, then and when the log goes on.
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "ledger.h"

enum { WRECK_BYTES = 64 * 1024, WRECK_MESSAGES = 8192 };

/** How the file was left: closed with a sync or without one, by a killed writer, or as a copy that
    was read while its writer went on. And what became of it. */
typedef enum wreck_end { END_SEALED, END_CLOSED, END_KILLED, END_TORN, ENDS } wreck_end;
typedef enum place { PLACE_HERE, PLACE_REBOOTED, PLACE_COPIED, PLACE_MOVED, PLACES } place;

/** Which numbers a ring has. */
typedef struct contents {
    uint64_t count, newest;
    uint8_t has[WRECK_MESSAGES];
    larder_ring_statistics figures;
    larder_ring_report recovery;
} contents;

typedef struct wreck {
    ledger *book;
    rng random;
    const char *path, *copy, *target;
    uint8_t *bytes, *older, *torn;
    size_t size;
    wreck_end end;
    place where;
    uint64_t appended, synced;
    /** What the file held before, and what of it salvage found, opening, and salvage again. */
    contents *before, *salvaged, *opened, *after;
    /** Only the records were damaged; the backup was not; and not what tells of file and boot. */
    bool header_is_whole, backup_is_whole, boot_is_whole;
} wreck;

static void boot(uint64_t number) {
#ifdef LARDER_FAULTS
    uint64_t id[2] = {number, 7};
    larder_fault_boot_id((const uint8_t *)id);
#else
    (void)number;
#endif
}

/** Reads all that a ring has. Every message must be the one that was appended. */
static bool read_contents(torture *run, const wreck *self, larder_ring *ring, contents *out) {
    memset(out, 0, sizeof *out);
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_status status = LARDER_OK;
    bool good = EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
    while (good && (status = larder_ring_reader_next(reader, &record)) == LARDER_OK) {
        uint64_t key = ledger_key(self->book, record.sequence, record.sequence);
        good = EXPECT(run, record.sequence > out->newest && record.sequence <= self->appended,
                      "message %" PRIu64 " follows %" PRIu64 ", and %" PRIu64 " were appended",
                      record.sequence, out->newest, self->appended) &&
               EXPECT(run,
                      record.payload.length == message_length(&self->book->profile, key) &&
                          message_equals(key, record.payload.data, record.payload.length),
                      "message %" PRIu64 " has other content", record.sequence);
        out->newest = record.sequence;
        out->has[good ? record.sequence : 0] = 1;
        out->count++;
    }
    larder_ring_reader_close(reader);
    return good && EXPECT_STATUS(run, status, LARDER_END) &&
           EXPECT_STATUS(run, larder_ring_statistics_get(ring, &out->figures), LARDER_OK) &&
           EXPECT_STATUS(run, larder_ring_recovery(ring, &out->recovery), LARDER_OK);
}

/** Counts add up to the numbers given, and agree with each other. */
static bool verify_figures(torture *run, const wreck *self, larder_ring *ring,
                           const contents *found) {
    const larder_ring_statistics *figures = &found->figures;
    uint64_t sum =
        figures->count + figures->removed + figures->lost + figures->overwritten + figures->skipped;
    larder_ring_report report;
    larder_status status = larder_ring_check(ring, &report);
    bool may_tear = self->where == PLACE_REBOOTED && self->end != END_SEALED;
    bool is_certain = self->header_is_whole && !may_tear && self->end != END_TORN;
    uint64_t gone = self->before->count > found->count ? self->before->count - found->count : 0;
    const larder_ring_statistics *was = &self->before->figures;
    uint64_t newly_lost = figures->lost - was->lost;
    return EXPECT(run, !self->header_is_whole || sum == figures->next_sequence - 1,
                  "%" PRIu64 " numbers make up %" PRIu64, figures->next_sequence - 1, sum) &&
           EXPECT(run, report.intact == found->count, "check finds %" PRIu64 ", reading %" PRIu64,
                  report.intact, found->count) &&
           EXPECT(run, status == LARDER_EDAMAGED || figures->count == found->count,
                  "%" PRIu64 " messages counted and %" PRIu64 " read, and all is well",
                  figures->count, found->count) &&
           // What is gone is counted: as lost already, or by who looks.
           EXPECT(run, !is_certain || newly_lost + figures->count - found->count >= gone,
                  "%" PRIu64 " are gone, %" PRIu64 " more are lost than before, of %" PRIu64
                  " counted",
                  gone, newly_lost, figures->count) &&
           EXPECT(run,
                  !is_certain || self->end == END_KILLED ||
                      figures->overwritten == was->overwritten,
                  "%" PRIu64 " are said to be overwritten, and %" PRIu64 " were",
                  figures->overwritten, was->overwritten);
}

static bool salvage_contents(torture *run, const wreck *self, const char *path, contents *out) {
    (void)unlink(self->target);
    memset(out, 0, sizeof *out);
    larder_ring_report report;
    larder_ring *ring = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    if (larder_ring_salvage(path, self->target, NULL, NULL, NULL, &report) != LARDER_OK) {
        return true; // Nothing to go by.
    }
    bool good =
        EXPECT_STATUS(run, larder_ring_open(self->target, &reading, NULL, &ring), LARDER_OK) &&
        read_contents(run, self, ring, out) &&
        EXPECT(run, out->count == report.intact, "salvage tells of %" PRIu64 ", and has %" PRIu64,
               report.intact, out->count) &&
        // A walk of a file counts the holes again that it had told of.
        (out == self->after || verify_figures(run, self, ring, out));
    larder_ring_close(ring);
    return good;
}

/** Nothing that a salvage found before is gone, but for what a power cut may have torn: what was
    synced is gone only in front of a hole then. */
static bool verify_kept(torture *run, const wreck *self) {
    // An older header is what a power cut leaves as well, and before the first sync none: whether
    // that is long ago only the backup says, which may be damaged, too.
    bool is_sealed = self->end == END_SEALED && self->header_is_whole;
    bool says_never = (self->bytes[self->size - 64 + 15] & 0x80) != 0;
    bool is_rebooted = self->where == PLACE_REBOOTED || !self->boot_is_whole;
    bool may_be_cut =
        (is_rebooted && !is_sealed) ||
        (!self->header_is_whole && (!self->synced || says_never || !self->backup_is_whole));
    uint64_t cut = may_be_cut ? self->opened->recovery.cut : 0;
    uint64_t synced = self->header_is_whole ? self->synced : 0, hole = 0;
    for (uint64_t i = 1; may_be_cut && i <= synced; i++) {
        if (!self->salvaged->has[i]) hole = i;
    }
    uint64_t missing = 0, first = 0;
    for (uint64_t i = 1; i < WRECK_MESSAGES; i++) {
        // An older page may bring back what was dropped.
        bool is_due = self->salvaged->has[i] && (self->end == END_TORN || self->before->has[i]);
        if (is_due && !self->opened->has[i] && !self->after->has[i]) {
            missing++;
            first = first || i < hole ? first : i;
        }
    }
    return EXPECT(run, missing <= cut && (first == 0 || first > synced),
                  "%" PRIu64 " of %" PRIu64 " messages that salvage found are gone, the first is "
                  "%" PRIu64 ", %" PRIu64 " were cut and %" PRIu64 " synced",
                  missing, self->salvaged->count, first, cut, synced);
}

static void open_wreck(torture *run, void *context) {
    wreck *self = context;
    const char *path = self->where >= PLACE_COPIED ? self->copy : self->path;
    bool is_written = self->where >= PLACE_COPIED ? write_file(path, self->bytes, self->size)
                                                  : write_over(path, self->bytes, self->size);
    (void)(run->keep && write_file(torture_path(run, "as-it-was"), self->bytes, self->size));
    boot(self->where == PLACE_REBOOTED || self->where == PLACE_MOVED ? 2 : 1);
    if (!EXPECT(run, is_written, "cannot write the file") ||
        !salvage_contents(run, self, path, self->salvaged)) {
        return;
    }
    larder_ring *ring = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    larder_status status = larder_ring_open(path, &reading, NULL, &ring);
    bool good = status || (read_contents(run, self, ring, self->opened) &&
                           verify_figures(run, self, ring, self->opened));
    uint64_t read = self->opened->count;
    larder_ring_close(ring);
    ring = NULL;
    if (!good) {
        return;
    }
    larder_status opened = larder_ring_open(path, NULL, NULL, &ring);
    if (!EXPECT(run, opened == status, "opened for reading with %d, for writing with %d", status,
                opened)) {
        larder_ring_close(ring);
        return;
    }
    memset(self->opened, 0, sizeof *self->opened);
    if (!opened) {
        good = read_contents(run, self, ring, self->opened) &&
               verify_figures(run, self, ring, self->opened) &&
               EXPECT(run, self->opened->count == read,
                      "a reader finds %" PRIu64 ", a writer %" PRIu64, read, self->opened->count);
        larder_ring_close(ring);
    }
    (void)(good && salvage_contents(run, self, path, self->after) && verify_kept(run, self));
}

// Making one --------------------------------------------------------------------------------------

static bool append_some(torture *run, wreck *self, larder_ring *ring, uint64_t count) {
    static uint8_t message[4096];
    for (uint64_t i = 0; i < count && self->appended < WRECK_MESSAGES - 2; i++) {
        uint64_t key = ledger_key(self->book, self->appended + 1, self->appended + 1);
        size_t length = message_length(&self->book->profile, key);
        message_fill(key, message, length);
        larder_status status = larder_ring_append(ring, message, length, NULL);
        if (status == LARDER_EFULL) {
            larder_ring_statistics figures;
            uint64_t through = 0;
            if (larder_ring_statistics_get(ring, &figures) == LARDER_OK) {
                through = figures.oldest_sequence + rng_below(&self->random, figures.count);
            }
            if (!EXPECT_STATUS(run, larder_ring_remove_through(ring, through, NULL), LARDER_OK)) {
                return false;
            }
        } else if (!EXPECT_STATUS(run, status, LARDER_OK)) {
            return false;
        } else {
            self->appended++;
        }
    }
    return true;
}

/** In a child of its own, which may die with the ring open. */
static void fill_wreck(torture *run, void *context) {
    wreck *self = context;
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(self->book->capacity, self->book->flags);
    boot(1);
    if (!EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK)) {
        return;
    }
    bool good = true;
    for (uint64_t steps = rng_between(&self->random, 1, 6); good && steps; steps--) {
        good = append_some(run, self, ring, rng_between(&self->random, 1, 120));
        if (steps % 2 == 0 && good) {
            good = EXPECT_STATUS(run, larder_ring_sync(ring), LARDER_OK);
            self->synced = self->appended;
        }
        if (rng_one_in(&self->random, 2)) {
            (void)read_file(self->path, self->older, WRECK_BYTES);
        }
    }
    for (size_t at = 0; good && self->end == END_TORN && at < self->book->capacity;) {
        size_t chunk = (size_t)rng_between(&self->random, 1, 16) * 512;
        int file = open(self->path, O_RDONLY | O_CLOEXEC);
        good = file >= 0 && pread(file, self->torn + at, chunk, (off_t)at) > 0;
        close(file);
        at += chunk;
        good = EXPECT(run, good, "cannot read the file") &&
               append_some(run, self, ring, rng_below(&self->random, 60));
    }
    good = good && read_contents(run, self, ring, self->before);
    if (self->end == END_KILLED) {
        _exit(0);
    }
    if (self->end == END_CLOSED) {
        (void)larder_ring_shutdown_unsynced(ring);
    } else if (self->end == END_SEALED) {
        self->synced = self->appended;
    }
    larder_ring_close(ring);
}

static void damage_once(torture *run, wreck *self) {
    rng *random = &self->random;
    uint64_t first = self->header_is_whole ? 832 : 0;
    uint64_t at = rng_between(random, first, self->size - 1);
    uint64_t length = rng_between(random, 1, rng_one_in(random, 2) ? 40 : self->size / 4);
    length = at + length > self->size ? self->size - at : length;
    if (self->header_is_whole && at + length > self->size - 64) {
        length = at < self->size - 64 ? self->size - 64 - at : 0;
    }
    uint64_t kind = rng_below(random, 6);
    torture_note(run, "%" PRIu64 " bytes at %" PRIu64 " in way %" PRIu64 ", ended %d, at %d",
                 length, at, kind, (int)self->end, (int)self->where);
    for (uint64_t i = at; i < at + length; i++) {
        switch (kind) {
        case 0:
        case 1: self->bytes[i] ^= i == at ? (uint8_t)(1u << rng_below(random, 8)) : 0; break;
        case 2: self->bytes[i] = 0; break;
        case 3: self->bytes[i] = (uint8_t)rng_next(random); break;
        default: self->bytes[i] = self->older[i]; break;
        }
    }
}

static void make_wreck(wreck *self) {
    rng *random = &self->random;
    (void)unlink(self->path);
    uint64_t capacity = 4096 * rng_between(random, 1, WRECK_BYTES / 4096) - rng_below(random, 2000);
    capacity = capacity & ~7ull;
    ledger_reset(self->book, rng_next(random), capacity,
                 rng_one_in(random, 2) ? 0 : LARDER_RING_OVERWRITE);
    self->book->profile =
        (message_profile){0, 60, (uint32_t)(capacity / 8 < 900 ? capacity / 8 : 900)};
    ledger_begin_epoch(self->book, 1);
    self->appended = self->synced = 0;
    self->end = (wreck_end)rng_below(random, ENDS);
    memset(self->older, 0, WRECK_BYTES);
}

// Large copies ------------------------------------------------------------------------------------

enum { COPY_BYTES = 8 * 1024 * 1024, COPY_MESSAGES = 4096 };

/** A copy made of two moments of a log with large messages: between what is left of them there are
    holes full of payloads, and of records of other laps. */
typedef struct large_copy {
    rng random;
    const char *path, *copy, *target;
    uint8_t *first, *second, *message;
    uint64_t seed, capacity, appended;
} large_copy;

/** What one way of looking finds. */
typedef struct numbers {
    uint64_t count;
    uint64_t at[COPY_MESSAGES];
} numbers;

static bool append_large(torture *run, large_copy *self, larder_ring *ring, uint64_t *sequence) {
    larder_status status = larder_ring_next_sequence(ring, sequence);
    message_profile profile = {0, (uint32_t)(self->capacity / 20), (uint32_t)(self->capacity / 20)};
    uint64_t key = mix2(self->seed, *sequence);
    size_t length = message_length(&profile, key);
    message_fill(key, self->message, length);
    if (!status) {
        status = larder_ring_append(ring, self->message, length, NULL);
    }
    return EXPECT_STATUS(run, status, LARDER_OK);
}

/** Reads forwards and backwards, from the end and in pieces, which has to give the same. */
static bool read_large(torture *run, large_copy *self, larder_ring *ring, numbers *out) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_status status = LARDER_OK;
    out->count = 0;
    uint32_t flags = rng_one_in(&self->random, 2) ? LARDER_RING_BORROW : 0;
    bool good = EXPECT_STATUS(run, larder_ring_reader_open(ring, flags, &reader), LARDER_OK);
    while (good && (status = larder_ring_reader_next(reader, &record)) == LARDER_OK) {
        uint64_t last = out->count ? out->at[out->count - 1] : 0;
        good = EXPECT(run, record.sequence > last && out->count < COPY_MESSAGES,
                      "message %" PRIu64 " follows %" PRIu64, record.sequence, last) &&
               EXPECT(run,
                      message_equals(mix2(self->seed, record.sequence), record.payload.data,
                                     record.payload.length),
                      "message %" PRIu64 " has other content", record.sequence);
        out->at[good ? out->count++ : 0] = record.sequence;
    }
    good = good && EXPECT_STATUS(run, status, LARDER_END);
    uint64_t left = out->count;
    while (good && (status = larder_ring_reader_previous(reader, &record)) == LARDER_OK) {
        good = EXPECT(run, left && record.sequence == out->at[left - 1],
                      "backwards there is %" PRIu64 " where forwards there was %" PRIu64,
                      record.sequence, left ? out->at[left - 1] : 0);
        left -= good;
        if (good && rng_one_in(&self->random, 4)) {
            good = EXPECT_STATUS(run, larder_ring_reader_next(reader, &record), LARDER_OK) &&
                   EXPECT(run, record.sequence == out->at[left],
                          "after %" PRIu64 " backwards comes %" PRIu64 " forwards", out->at[left],
                          record.sequence) &&
                   EXPECT_STATUS(run, larder_ring_reader_previous(reader, &record), LARDER_OK);
        }
    }
    for (unsigned i = 0; good && out->count && i < 8; i++) {
        uint64_t chosen = rng_below(&self->random, out->count);
        good = EXPECT_STATUS(run, larder_ring_reader_seek(reader, out->at[chosen]), LARDER_OK) &&
               EXPECT_STATUS(run, larder_ring_reader_next(reader, &record), LARDER_OK) &&
               EXPECT(run, record.sequence == out->at[chosen],
                      "%" PRIu64 " is found where %" PRIu64 " was looked for", record.sequence,
                      out->at[chosen]);
    }
    larder_ring_reader_close(reader);
    return good && EXPECT_STATUS(run, status, LARDER_END) &&
           EXPECT(run, left == 0, "%" PRIu64 " messages are not found backwards", left);
}

/** The figures are those of what reading finds. */
static bool verify_large(torture *run, larder_ring *ring, const numbers *read, uint64_t lost) {
    larder_ring_statistics figures;
    larder_ring_report report;
    larder_status status = larder_ring_check(ring, &report);
    uint64_t newest = read->count ? read->at[read->count - 1] : 0;
    return EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK) &&
           EXPECT(run, figures.count == read->count && report.intact == read->count,
                  "%" PRIu64 " are counted, %" PRIu64 " checked and %" PRIu64 " read",
                  figures.count, report.intact, read->count) &&
           EXPECT(run, figures.newest_sequence == newest,
                  "%" PRIu64 " is the newest, and %" PRIu64 " is read", figures.newest_sequence,
                  newest) &&
           EXPECT(run, report.lost <= lost && (status == LARDER_OK) == (report.damaged_places == 0),
                  "check says %d, and %" PRIu64 " of %" PRIu64 " lost", status, report.lost, lost);
}

/** What was kept stays as it is, but for the oldest that newer messages take the place of. */
static bool grow_large(torture *run, large_copy *self, larder_ring *ring, numbers *was,
                       uint64_t lost) {
    numbers *now = (numbers *)(void *)self->second;
    for (unsigned round = 0; round < 4; round++) {
        for (uint64_t n = round ? rng_between(&self->random, 1, 12) : 1; n; n--) {
            if (!append_large(run, self, ring, &was->at[was->count])) {
                return false;
            }
            was->count++;
        }
        if (!read_large(run, self, ring, now) || !verify_large(run, ring, now, lost)) {
            return false;
        }
        uint64_t gone = was->count - now->count;
        if (!EXPECT(run,
                    now->count <= was->count && (round || gone <= was->count / 2) &&
                        memcmp(now->at, was->at + gone, now->count * sizeof *now->at) == 0,
                    "of %" PRIu64 " messages others are left than the %" PRIu64 " newest",
                    was->count, now->count)) {
            return false;
        }
    }
    return true;
}

static void open_large(torture *run, void *context) {
    large_copy *self = context;
    numbers *read = (numbers *)(void *)self->first, *kept = read + 1;
    larder_ring_report salvaged, recovery;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    larder_ring *ring = NULL;
    (void)unlink(self->target);
    larder_status status =
        larder_ring_salvage(self->copy, self->target, NULL, NULL, NULL, &salvaged);
    bool good =
        EXPECT_STATUS(run, status, LARDER_OK) &&
        EXPECT_STATUS(run, larder_ring_open(self->target, &reading, NULL, &ring), LARDER_OK) &&
        read_large(run, self, ring, kept);
    larder_ring_close(ring);
    for (unsigned writes = 0; good && writes < 2; writes++) {
        ring = NULL;
        good =
            EXPECT_STATUS(run, larder_ring_open(self->copy, writes ? NULL : &reading, NULL, &ring),
                          LARDER_OK) &&
            EXPECT_STATUS(run, larder_ring_recovery(ring, &recovery), LARDER_OK) &&
            read_large(run, self, ring, read) && verify_large(run, ring, read, recovery.lost) &&
            EXPECT(run,
                   read->count == kept->count && salvaged.intact == kept->count &&
                       recovery.intact == kept->count &&
                       memcmp(read->at, kept->at, kept->count * sizeof *kept->at) == 0,
                   "salvage finds %" PRIu64 " messages, opening %" PRIu64 ", reading %" PRIu64,
                   kept->count, recovery.intact, read->count) &&
            EXPECT(run, salvaged.lost <= recovery.lost,
                   "salvage finds %" PRIu64 " lost, opening %" PRIu64, salvaged.lost,
                   recovery.lost);
        if (good && writes) {
            (void)grow_large(run, self, ring, kept, recovery.lost);
        }
        larder_ring_close(ring);
    }
}

static void make_large(torture *run, void *context) {
    large_copy *self = context;
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(self->capacity, LARDER_RING_OVERWRITE);
    bool good = EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK);
    for (unsigned moment = 0; good && moment < 2; moment++) {
        uint64_t some = rng_between(&self->random, 1, moment ? 60 : 120), sequence;
        for (; good && some; some--) {
            good = append_large(run, self, ring, &sequence);
        }
        (void)read_file(self->path, moment ? self->second : self->first, self->capacity);
    }
    for (size_t at = 0; at < self->capacity;) {
        size_t chunk = (size_t)4096 << rng_below(&self->random, 9);
        chunk = at + chunk > self->capacity ? (size_t)self->capacity - at : chunk;
        if (rng_one_in(&self->random, 2)) {
            memcpy(self->first + at, self->second + at, chunk);
        }
        at += chunk;
    }
    (void)(good && EXPECT(run, write_file(self->copy, self->first, (size_t)self->capacity),
                          "cannot write the copy"));
    larder_ring_close(ring);
}

static void one_large_copy(torture *run, large_copy *self, rng random) {
    self->random = random;
    self->path = torture_path(run, "ring");
    self->copy = torture_path(run, "copy");
    self->target = torture_path(run, "salvaged");
    self->seed = rng_next(&self->random);
    self->capacity = COPY_BYTES >> rng_below(&self->random, 3);
    (void)unlink(self->path);
    torture_trial(run);
    if (torture_guard(run, 20, make_large, self) && torture_unhurt(run)) {
        torture_guard(run, 20, open_large, self);
    }
}

void family_wreck(torture *run) {
    wreck *self = shared_memory(sizeof *self);
    large_copy *large = shared_memory(sizeof *large);
    large->first = shared_memory(COPY_BYTES);
    large->second = shared_memory(COPY_BYTES);
    large->message = shared_memory(COPY_BYTES / 8);
    self->book = shared_memory(sizeof *self->book);
    self->bytes = shared_memory(WRECK_BYTES);
    self->older = shared_memory(WRECK_BYTES);
    self->torn = shared_memory(WRECK_BYTES + 8192);
    uint8_t *whole = shared_memory(WRECK_BYTES);
    self->before = shared_memory(sizeof(contents));
    self->salvaged = shared_memory(sizeof(contents));
    self->opened = shared_memory(sizeof(contents));
    self->after = shared_memory(sizeof(contents));
    rng random;
    while (torture_next_case(run, &random)) {
        if (rng_one_in(&random, 8)) {
            one_large_copy(run, large, random);
            continue;
        }
        self->random = random;
        self->path = torture_path(run, "ring");
        self->copy = torture_path(run, "copy");
        self->target = torture_path(run, "salvaged");
        make_wreck(self);
        if (!torture_guard(run, 20, fill_wreck, self) || !torture_unhurt(run)) {
            continue;
        }
        self->size = (size_t)read_file(self->path, whole, WRECK_BYTES);
        for (unsigned i = 0; i < 8 && torture_unhurt(run); i++) {
            torture_trial(run);
            bool is_torn = self->end == END_TORN;
            memcpy(self->bytes, is_torn ? self->torn : whole, self->size);
            self->where = is_torn ? PLACE_COPIED : (place)rng_below(&self->random, PLACES);
            self->header_is_whole = rng_one_in(&self->random, 2);
            for (uint64_t n = rng_below(&self->random, 3) + !is_torn; n; n--) {
                damage_once(run, self);
            }
            const uint8_t *was = is_torn ? self->torn : whole;
            self->backup_is_whole =
                memcmp(self->bytes + self->size - 64, was + self->size - 64, 64) == 0;
            self->boot_is_whole = memcmp(self->bytes + 160, was + 160, 32) == 0;
            torture_guard(run, 20, open_wreck, self);
        }
    }
    boot(0);
#ifdef LARDER_FAULTS
    larder_fault_boot_id(NULL);
#endif
}
