// SPDX-License-Identifier: MIT
// Random operations beside a model so simple that it cannot be wrong: the messages are the numbers
// from `oldest` to `newest`, and what each holds follows from its number.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger.h"

typedef struct model {
    torture *run;
    ledger *book;
    larder_ring *ring;
    const char *path;
    rng random;
    uint64_t oldest;
    uint64_t next;
    uint64_t overwritten;
    uint64_t removed;
    uint64_t data_bytes;
    uint64_t cursor[LEDGER_CURSORS];
    bool known[LEDGER_CURSORS];
    uint8_t *scratch;
    uint64_t operations;
} model;

static size_t length_of(const model *self, uint64_t sequence) {
    return message_length(&self->book->profile, ledger_key(self->book, sequence, sequence));
}

/** Bytes that the live messages take. */
static uint64_t live_bytes(const model *self) {
    uint64_t sum = 0;
    for (uint64_t sequence = self->oldest; sequence < self->next; sequence++) {
        sum += ledger_record_bytes(self->book, length_of(self, sequence));
    }
    return sum;
}

static bool compare(model *self, bool deep) {
    larder_ring_statistics figures;
    torture *run = self->run;
    uint64_t count = self->next - self->oldest;
    if (!EXPECT_STATUS(run, larder_ring_statistics_get(self->ring, &figures), LARDER_OK) ||
        !EXPECT(run,
                figures.count == count && figures.next_sequence == self->next &&
                    figures.oldest_sequence == (count ? self->oldest : 0) &&
                    figures.newest_sequence == (count ? self->next - 1 : 0),
                "operation %" PRIu64 ": the ring has %" PRIu64 " messages, %" PRIu64 " to %" PRIu64
                ", next %" PRIu64 "; the model %" PRIu64 ", from %" PRIu64 ", next %" PRIu64,
                self->operations, figures.count, figures.oldest_sequence, figures.newest_sequence,
                figures.next_sequence, count, self->oldest, self->next) ||
        !EXPECT(run,
                figures.overwritten == self->overwritten && figures.removed == self->removed &&
                    figures.lost == 0,
                "operation %" PRIu64 ": overwritten %" PRIu64 ", removed %" PRIu64 ", lost %" PRIu64
                "; the model %" PRIu64 ", %" PRIu64 ", 0",
                self->operations, figures.overwritten, figures.removed, figures.lost,
                self->overwritten, self->removed)) {
        return false;
    }
    // Beside the messages there is at most one pad in use, shorter than the record that follows it.
    uint64_t live = deep ? live_bytes(self) : figures.used_bytes;
    if (!EXPECT(run,
                figures.used_bytes >= live && figures.used_bytes <= figures.data_bytes &&
                    figures.used_bytes - live <
                        ledger_record_bytes(self->book, self->book->profile.longest) + 16,
                "%" PRIu64 " bytes are in use, the messages take %" PRIu64, figures.used_bytes,
                live)) {
        return false;
    }
    larder_ring_report report;
    if (deep) {
        larder_status status = larder_ring_check(self->ring, &report);
        if (!EXPECT(run, status == LARDER_OK && report.intact == count,
                    "operation %" PRIu64 ": check gave %d and finds %" PRIu64 " of %" PRIu64
                    " messages, %" PRIu64 " damaged places, the first at %" PRIu64
                    ", state damaged %u",
                    self->operations, status, report.intact, count, report.damaged_places,
                    report.first_damage_offset, report.state_damaged)) {
            return false;
        }
    }
    for (unsigned i = 0; i < LEDGER_CURSORS; i++) {
        uint64_t found = 0;
        larder_status status = larder_ring_acknowledged(self->ring, ledger_cursor_name(i), &found);
        if (!EXPECT(run,
                    status == (self->known[i] ? LARDER_OK : LARDER_ENOTFOUND) &&
                        found == self->cursor[i],
                    "cursor %u is at %" PRIu64 " (status %d), not %" PRIu64, i, found, status,
                    self->cursor[i])) {
            return false;
        }
    }
    return true;
}

/** After appends that may have dropped messages: how many is read from the ring, and judged. */
static bool settle_overwriting(model *self, uint64_t appended_bytes) {
    larder_ring_statistics figures;
    if (!EXPECT_STATUS(self->run, larder_ring_statistics_get(self->ring, &figures), LARDER_OK)) {
        return false;
    }
    uint64_t oldest = figures.count ? figures.oldest_sequence : self->next;
    if (oldest == self->oldest) {
        return true;
    }
    if (!EXPECT(self->run, oldest > self->oldest && self->book->flags & LARDER_RING_OVERWRITE,
                "the oldest message went from %" PRIu64 " to %" PRIu64, self->oldest, oldest)) {
        return false;
    }
    uint64_t last = ledger_record_bytes(self->book, length_of(self, oldest - 1));
    self->overwritten += oldest - self->oldest;
    self->oldest = oldest;
    // Without the last message dropped there was no room: what is free now is at most that message,
    // a pad behind it, which is shorter than the record after the pad, and twice what was appended,
    // because a record does not cross the end of the data.
    uint64_t pad = figures.count ? ledger_record_bytes(self->book, length_of(self, oldest)) : 0;
    uint64_t free_now = figures.data_bytes - figures.used_bytes;
    return EXPECT(self->run, free_now <= last + pad + 2 * appended_bytes + 16,
                  "dropped more than needed: %" PRIu64 " bytes are free after appending %" PRIu64
                  " and dropping %" PRIu64,
                  free_now, appended_bytes, last);
}

static bool append_some(model *self, unsigned count, unsigned how) {
    torture *run = self->run;
    larder_message messages[8];
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t key = ledger_key(self->book, self->next + i, self->next + i);
        size_t length = message_length(&self->book->profile, key);
        uint8_t *target = self->scratch + i * (self->book->profile.longest + 16u);
        message_fill(key, target, length);
        messages[i] = (larder_message){{target, length}, message_flags(key)};
        bytes += ledger_record_bytes(self->book, length);
    }
    size_t done = 0;
    uint64_t last = 0;
    larder_status status;
    larder_reservation room;
    if (how == 0 && count == 1 && messages[0].flags == 0) {
        status = larder_ring_append(self->ring, messages[0].payload.data,
                                    messages[0].payload.length, &last);
        done = status == LARDER_OK;
    } else if (how == 1 && count == 1) {
        size_t length = messages[0].payload.length;
        status = larder_ring_reserve(self->ring, length, &room);
        if (status == LARDER_OK) {
            if (length) {
                memcpy(room.bytes, messages[0].payload.data, length);
            }
            status = larder_ring_commit(self->ring, &room, length, messages[0].flags, &last);
            done = status == LARDER_OK;
        }
    } else {
        status = larder_ring_append_batch(self->ring, messages, count, &done, &last);
    }
    uint64_t failed =
        done < count ? ledger_record_bytes(self->book, messages[done].payload.length) : 0;
    self->next += done;
    if (!EXPECT(run, done == 0 ? last == 0 : last == self->next - 1,
                "%zu appended, the last is %" PRIu64 " and not %" PRIu64, done, last,
                self->next - 1) ||
        !settle_overwriting(self, bytes)) {
        return false;
    }
    if (status == LARDER_EFULL && !(self->book->flags & LARDER_RING_OVERWRITE)) {
        larder_ring_statistics figures;
        if (!EXPECT_STATUS(run, larder_ring_statistics_get(self->ring, &figures), LARDER_OK)) {
            return false;
        }
        uint64_t free_now = figures.data_bytes - figures.used_bytes;
        return EXPECT(run, free_now < 2 * failed + 16,
                      "full, with %" PRIu64 " bytes free for a record of %" PRIu64, free_now,
                      failed);
    }
    if (status == LARDER_ETOOLARGE) {
        // A message that never fits: the next one has another length only with another number, so
        // the profile keeps this from happening.
        return EXPECT(run, failed > self->data_bytes, "too large: %" PRIu64 " of %" PRIu64, failed,
                      self->data_bytes);
    }
    return EXPECT_STATUS(run, status, LARDER_OK) &&
           EXPECT(run, done == count, "%zu of %u appended", done, count);
}

static bool remove_some(model *self) {
    uint64_t count = self->next - self->oldest;
    uint64_t through = rng_one_in(&self->random, 20)
                           ? UINT64_MAX
                           : self->oldest - 1 + rng_below(&self->random, count / 2 + 2);
    uint64_t expected = through >= self->next ? count : through + 1 - self->oldest;
    expected = through < self->oldest ? 0 : expected;
    uint64_t removed = 0;
    if (!EXPECT_STATUS(self->run, larder_ring_remove_through(self->ring, through, &removed),
                       LARDER_OK)) {
        return false;
    }
    self->oldest += expected;
    self->removed += expected;
    return EXPECT(self->run, removed == expected, "%" PRIu64 " were removed, not %" PRIu64, removed,
                  expected);
}

static bool read_some(model *self) {
    torture *run = self->run;
    larder_ring_reader *reader = NULL;
    uint64_t count = self->next - self->oldest;
    uint64_t from = self->oldest + rng_below(&self->random, count + 1);
    bool borrow = rng_one_in(&self->random, 3);
    if (!EXPECT_STATUS(
            run, larder_ring_reader_open(self->ring, borrow ? LARDER_RING_BORROW : 0, &reader),
            LARDER_OK)) {
        return false;
    }
    bool good = EXPECT_STATUS(run, larder_ring_reader_seek(reader, from), LARDER_OK);
    uint64_t place = from;
    for (unsigned i = 0; good && i < 24; i++) {
        bool forwards = rng_below(&self->random, 8) < 5;
        larder_ring_record record;
        larder_status status = forwards ? larder_ring_reader_next(reader, &record)
                                        : larder_ring_reader_previous(reader, &record);
        if (status == LARDER_END) {
            good = EXPECT(run, place == (forwards ? self->next : self->oldest),
                          "an end at %" PRIu64 " of %" PRIu64 " to %" PRIu64, place, self->oldest,
                          self->next);
            continue;
        }
        uint64_t wanted = forwards ? place : place - 1;
        place = forwards ? place + 1 : place - 1;
        uint64_t key = ledger_key(self->book, wanted, wanted);
        good = EXPECT_STATUS(run, status, LARDER_OK) &&
               EXPECT(run, record.sequence == wanted && record.lost == 0,
                      "message %" PRIu64 " in the place of %" PRIu64 " (%s after a seek to %" PRIu64
                      ", lost %" PRIu64 ")",
                      record.sequence, wanted, forwards ? "forwards" : "backwards", from,
                      record.lost) &&
               EXPECT(run,
                      record.payload.length == message_length(&self->book->profile, key) &&
                          message_equals(key, record.payload.data, record.payload.length) &&
                          record.flags == message_flags(key),
                      "message %" PRIu64 " has a wrong value", wanted);
    }
    larder_ring_reader_close(reader);
    return good;
}

static bool move_cursor(model *self) {
    unsigned index = (unsigned)rng_below(&self->random, LEDGER_CURSORS);
    if (rng_one_in(&self->random, 8)) {
        larder_status wanted = self->known[index] ? LARDER_OK : LARDER_ENOTFOUND;
        self->known[index] = false;
        self->cursor[index] = 0;
        return EXPECT_STATUS(
            self->run, larder_ring_cursor_remove(self->ring, ledger_cursor_name(index)), wanted);
    }
    uint64_t place = rng_below(&self->random, self->next);
    if (!EXPECT_STATUS(self->run,
                       larder_ring_acknowledge(self->ring, ledger_cursor_name(index), place),
                       LARDER_OK)) {
        return false;
    }
    self->known[index] = true;
    self->cursor[index] = place > self->cursor[index] ? place : self->cursor[index];
    return true;
}

static bool open_again(model *self) {
    larder_ring_close(self->ring);
    self->ring = NULL;
    larder_ring_report report;
    larder_ring_options options = ledger_options(self->book);
    return EXPECT_STATUS(self->run, larder_ring_open(self->path, &options, NULL, &self->ring),
                         LARDER_OK) &&
           EXPECT_STATUS(self->run, larder_ring_recovery(self->ring, &report), LARDER_OK) &&
           EXPECT(self->run, report.was_closed, "a closed ring opens as if it had not been");
}

static bool operate(model *self) {
    uint64_t choice = rng_below(&self->random, 100);
    if (choice == 99 && rng_one_in(&self->random, 2)) {
        return ledger_verify_times(self->run, self->book, self->ring);
    }
    if (choice < 45) {
        return append_some(self, 1, (unsigned)(choice % 3));
    }
    if (choice < 57) {
        return append_some(self, (unsigned)rng_between(&self->random, 1, 8), 2);
    }
    if (choice < 65) {
        return remove_some(self);
    }
    if (choice < 85) {
        return read_some(self);
    }
    if (choice < 93) {
        return move_cursor(self);
    }
    if (choice < 97) {
        larder_reservation room;
        larder_status status = larder_ring_reserve(self->ring, self->book->profile.longest, &room);
        if (status == LARDER_OK) {
            memset(room.bytes, 0xAA, room.capacity < 64 ? room.capacity : 64);
            larder_ring_abort(self->ring, &room);
        }
        uint64_t bytes = ledger_record_bytes(self->book, self->book->profile.longest);
        return EXPECT(self->run, status == LARDER_OK || status == LARDER_EFULL, "reserve gave %d",
                      status) &&
               settle_overwriting(self, bytes);
    }
    if (choice < 98) {
        return EXPECT_STATUS(self->run, larder_ring_sync(self->ring), LARDER_OK);
    }
    return open_again(self);
}

void family_model(torture *run) {
    static const uint64_t sizes[] = {1024, 1500, 4096, 4104, 16384, 100000};
    model self = {.run = run, .book = shared_memory(sizeof(ledger))};
    rng random;
    self.scratch = shared_memory(8 * 40000);
    while (torture_next_case(run, &random)) {
        self = (model){.run = run,
                       .book = self.book,
                       .scratch = self.scratch,
                       .path = torture_path(run, "ring"),
                       .random = random,
                       .oldest = 1,
                       .next = 1};
        (void)unlink(self.path);
        uint64_t capacity = sizes[rng_below(&self.random, sizeof sizes / sizeof *sizes)];
        ledger_reset(self.book, run->seed, capacity,
                     (rng_one_in(&self.random, 3) ? 0 : LARDER_RING_OVERWRITE) |
                         (rng_one_in(&self.random, 2) ? 0 : LARDER_RING_KEEP_TIMES));
        uint32_t most = (uint32_t)(capacity / 4 < 30000 ? capacity / 4 - 200 : 30000);
        uint32_t usual = (uint32_t)rng_between(&self.random, 0, most < 100 ? most : 100);
        self.book->profile =
            (message_profile){0, usual, (uint32_t)rng_between(&self.random, usual, most)};
        ledger_begin_epoch(self.book, 1);
        larder_ring_options options = ledger_options(self.book);
        larder_ring_statistics figures = {0};
        bool good = EXPECT_STATUS(run, larder_ring_open(self.path, &options, NULL, &self.ring),
                                  LARDER_OK) &&
                    EXPECT_STATUS(run, larder_ring_statistics_get(self.ring, &figures), LARDER_OK);
        self.data_bytes = figures.data_bytes;
        for (; good && self.operations < 4000; self.operations++) {
            torture_trial(run);
            // The deep check is O(capacity): after every operation of the first part, then rarely.
            bool deep = self.operations < 600 || rng_one_in(&self.random, 64);
            good = operate(&self) && compare(&self, deep);
        }
        larder_ring_close(self.ring);
    }
}
