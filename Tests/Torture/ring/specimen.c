// SPDX-License-Identifier: MIT
#include "specimen.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/** In front of each message. */
enum { HEAD_BYTES = 16 };

static larder_status append_one(specimen *what, larder_ring *ring, uint64_t sequence,
                                uint8_t *scratch) {
    uint64_t key = ledger_key(what->book, sequence, sequence);
    size_t length = message_length(&what->book->profile, key);
    message_fill(key, scratch, length);
    larder_message message = {{scratch, length}, message_flags(key)};
    return larder_ring_append_batch(ring, &message, 1, NULL, NULL);
}

/** Learns where in the file each record lies: where the mapping begins is found by the first one,
    whose head has its number, and the rest by the distance to it. */
static bool learn_places(torture *run, specimen *what, larder_ring *ring) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, LARDER_RING_BORROW, &reader),
                       LARDER_OK)) {
        return false;
    }
    const uint8_t *place = NULL;
    if (EXPECT_STATUS(run, larder_ring_reader_next(reader, &record), LARDER_OK)) {
        const uint8_t *head = (const uint8_t *)record.payload.data - HEAD_BYTES;
        place = memmem(what->bytes, what->size, head, HEAD_BYTES + record.payload.length);
    }
    if (!EXPECT(run, place != NULL, "the first message is not in the file")) {
        larder_ring_reader_close(reader);
        return false;
    }
    uintptr_t start =
        (uintptr_t)record.payload.data - HEAD_BYTES - (uintptr_t)(place - what->bytes);
    what->count = 0;
    bool good = EXPECT_STATUS(run, larder_ring_reader_seek(reader, 0), LARDER_OK);
    while (good && larder_ring_reader_next(reader, &record) == LARDER_OK) {
        uint64_t from = (uintptr_t)record.payload.data - HEAD_BYTES - start;
        what->records[what->count++] =
            (specimen_record){record.sequence, from, from + record_bytes(record.payload.length)};
    }
    larder_ring_reader_close(reader);
    return good;
}

bool specimen_make(torture *run, specimen *what, const char *path, uint64_t capacity,
                   uint32_t cursor_slots, message_profile profile, unsigned laps, unsigned most,
                   uint64_t seed) {
    what->capacity = capacity;
    what->cursor_slots = cursor_slots;
    what->flags = LARDER_RING_OVERWRITE;
    what->book = shared_memory(sizeof(ledger));
    ledger_reset(what->book, seed, capacity, what->flags);
    what->book->profile = profile;
    ledger_begin_epoch(what->book, 1);
    what->bytes = shared_memory(capacity);
    what->records = shared_memory(sizeof *what->records * (capacity / 16));
    uint8_t *scratch = shared_memory(profile.longest + 16u);
    (void)unlink(path);
    larder_ring_options options = ring_options(capacity, what->flags);
    options.cursor_slots = cursor_slots;
    larder_ring *ring = NULL;
    if (!EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK)) {
        return false;
    }
    bool good = true;
    larder_ring_statistics figures = {0};
    for (uint64_t next = 1; good; next++) {
        if (larder_ring_statistics_get(ring, &figures) != LARDER_OK || (most && next > most) ||
            (!most && figures.wraps >= laps && next % 8 == 3)) {
            break;
        }
        good = EXPECT_STATUS(run, append_one(what, ring, next, scratch), LARDER_OK);
    }
    what->cursor = figures.newest_sequence;
    good = good &&
           EXPECT_STATUS(
               run, larder_ring_acknowledge(ring, bytes_of_text("reader"), figures.newest_sequence),
               LARDER_OK);
    larder_ring_close(ring);
    what->size = (size_t)read_file(path, what->bytes, capacity);
    ring = NULL;
    options = ring_options(0, LARDER_RING_READ_ONLY);
    good = good && EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK) &&
           learn_places(run, what, ring);
    larder_ring_close(ring);
    return good && EXPECT(run, what->count == figures.count && what->size == capacity,
                          "the specimen has %zu messages of %" PRIu64, what->count, figures.count);
}

static bool touches(const specimen_record *record, const damage *damages, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (record->from < damages[i].to && damages[i].from < record->to) {
            return true;
        }
    }
    return false;
}

static bool exact(torture *run, const specimen *what, const larder_ring_record *record) {
    uint64_t key = ledger_key(what->book, record->sequence, record->sequence);
    return EXPECT(run,
                  record->payload.length == message_length(&what->book->profile, key) &&
                      message_equals(key, record->payload.data, record->payload.length) &&
                      record->flags == message_flags(key),
                  "message %" PRIu64 " (%zu bytes) has a wrong value", record->sequence,
                  record->payload.length);
}

static bool read_back(torture *run, larder_ring_reader *reader, const finding *forwards) {
    larder_ring_record record;
    larder_status status;
    uint64_t count = 0, last = UINT64_MAX;
    if (!EXPECT_STATUS(run, larder_ring_reader_seek(reader, UINT64_MAX), LARDER_OK)) {
        return false;
    }
    while ((status = larder_ring_reader_previous(reader, &record)) == LARDER_OK) {
        if (!EXPECT(run, record.sequence < last, "backwards, %" PRIu64 " follows %" PRIu64,
                    record.sequence, last)) {
            return false;
        }
        last = record.sequence;
        count++;
    }
    return EXPECT_STATUS(run, status, LARDER_END) &&
           EXPECT(run, count == forwards->found,
                  "%" PRIu64 " messages backwards, %" PRIu64 " forwards", count, forwards->found);
}

bool specimen_read(torture *run, const specimen *what, larder_ring *ring, const damage *damages,
                   unsigned damage_count, uint64_t most_missing, finding *out) {
    memset(out, 0, sizeof *out);
    larder_ring_reader *reader = NULL;
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return false;
    }
    larder_ring_record record;
    larder_status status;
    uint64_t first = 0, lost = 0;
    size_t due = 0;
    bool good = true;
    while (good && (status = larder_ring_reader_next(reader, &record)) == LARDER_OK) {
        good = EXPECT(run, record.sequence > out->newest, "message %" PRIu64 " follows %" PRIu64,
                      record.sequence, out->newest) &&
               exact(run, what, &record);
        first = first ? first : record.sequence;
        lost += record.lost;
        for (; due < what->count && what->records[due].sequence < record.sequence; due++) {
            good = good && EXPECT(run, touches(&what->records[due], damages, damage_count),
                                  "message %" PRIu64 " at %" PRIu64
                                  " is missing, but the damage is at %" PRIu64,
                                  what->records[due].sequence, what->records[due].from,
                                  damage_count ? damages[0].from : 0);
            out->missing++;
        }
        due += due < what->count && what->records[due].sequence == record.sequence;
        out->newest = record.sequence;
        out->found++;
    }
    for (; good && due < what->count; due++) {
        good = EXPECT(run, touches(&what->records[due], damages, damage_count),
                      "message %" PRIu64 " at %" PRIu64 " is missing at the end, but the damage is "
                      "at %" PRIu64,
                      what->records[due].sequence, what->records[due].from,
                      damage_count ? damages[0].from : 0);
        out->missing++;
    }
    good = good && EXPECT_STATUS(run, status, LARDER_END) &&
           EXPECT(run, out->missing <= most_missing,
                  "%" PRIu64 " messages are missing, not %" PRIu64, out->missing, most_missing) &&
           EXPECT(run, out->found == 0 || lost == out->newest - first + 1 - out->found,
                  "the reader tells of %" PRIu64 " lost messages among %" PRIu64 " to %" PRIu64
                  ", of which it returned %" PRIu64,
                  lost, first, out->newest, out->found) &&
           read_back(run, reader, out);
    larder_ring_reader_close(reader);
    return good;
}

bool specimen_salvage(torture *run, const specimen *what, const char *path, const char *target,
                      const damage *damages, unsigned damage_count, uint64_t most_missing) {
    (void)unlink(target);
    larder_ring_report report;
    larder_ring *ring = NULL;
    finding found;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    bool good = EXPECT_STATUS(run, larder_ring_salvage(path, target, NULL, NULL, NULL, &report),
                              LARDER_OK) &&
                EXPECT_STATUS(run, larder_ring_open(target, &reading, NULL, &ring), LARDER_OK) &&
                specimen_read(run, what, ring, damages, damage_count, most_missing, &found) &&
                EXPECT(run, report.intact == found.found,
                       "salvage tells of %" PRIu64 " messages, the new ring has %" PRIu64,
                       report.intact, found.found) &&
                EXPECT_STATUS(run, larder_ring_check(ring, &report), LARDER_OK);
    larder_ring_close(ring);
    (void)unlink(target);
    return good;
}

static bool verify_reading(torture *run, const specimen *what, const char *path,
                           const damage *damages, unsigned damage_count, uint64_t most_missing) {
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    larder_ring *ring = NULL;
    larder_ring_report report;
    finding found = {0};
    uint64_t cursor = 0;
    torture_note(run, "reading with damage at %" PRIu64, damages[0].from);
    bool good = EXPECT_STATUS(run, larder_ring_open(path, &reading, NULL, &ring), LARDER_OK) &&
                specimen_read(run, what, ring, damages, damage_count, most_missing, &found);
    if (good) {
        larder_status checked = larder_ring_check(ring, &report);
        larder_status status = larder_ring_acknowledged(ring, bytes_of_text("reader"), &cursor);
        good = EXPECT(run, checked == LARDER_EDAMAGED || (checked == LARDER_OK && !found.missing),
                      "check gave %d with %" PRIu64 " messages missing", checked, found.missing) &&
               EXPECT(run,
                      (status == LARDER_OK && cursor <= what->cursor) || status == LARDER_ENOTFOUND,
                      "the cursor is at %" PRIu64 " (status %d), not %" PRIu64, cursor, status,
                      what->cursor);
    }
    larder_ring_close(ring);
    return good;
}

void specimen_verify(torture *run, const specimen *what, const char *path, const char *target,
                     const damage *damages, unsigned damage_count, uint64_t most_missing) {
    if (!verify_reading(run, what, path, damages, damage_count, most_missing) ||
        !specimen_salvage(run, what, path, target, damages, damage_count, most_missing)) {
        return;
    }
    torture_note(run, "writing with damage at %" PRIu64, damages[0].from);
    larder_ring *ring = NULL;
    larder_ring_statistics figures;
    finding found;
    if (!EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), LARDER_OK)) {
        return;
    }
    bool good = specimen_read(run, what, ring, damages, damage_count, most_missing, &found) &&
                EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK) &&
                EXPECT(run, figures.next_sequence > found.newest,
                       "the next number is %" PRIu64 ", and %" PRIu64 " is taken",
                       figures.next_sequence, found.newest);
    uint64_t mine = 0;
    static const char text[] = "appended to a damaged ring";
    good =
        good && EXPECT_STATUS(run, larder_ring_append(ring, text, sizeof text, &mine), LARDER_OK);
    larder_ring_close(ring);
    ring = NULL;
    larder_ring_reader *reader = NULL;
    larder_ring_record record = {0};
    good = good && EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), LARDER_OK) &&
           EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK) &&
           EXPECT_STATUS(run, larder_ring_reader_seek(reader, UINT64_MAX), LARDER_OK) &&
           EXPECT_STATUS(run, larder_ring_reader_previous(reader, &record), LARDER_OK) &&
           EXPECT(run,
                  record.sequence == mine && record.payload.length == sizeof text &&
                      memcmp(record.payload.data, text, sizeof text) == 0,
                  "message %" PRIu64 " was appended and %" PRIu64 " is the newest", mine,
                  record.sequence);
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
}
