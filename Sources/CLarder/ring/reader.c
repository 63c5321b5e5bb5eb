// SPDX-License-Identifier: MIT
/** @file reader.c
    Reading: bytes are copied out of the ring in chunks, many messages at a time, and looked at
    afterwards. In the writer's process the copy is made under the lock; in another process it is
    made without one, and `oldest`, read again after it, tells which of the copied bytes can have
    been overwritten meanwhile. Either way a message is handed out only if its checksum agrees. */
#include <errno.h>
#include <stdlib.h>

#include "ring/ring_internal.h"

#define CHUNK_BYTES ((size_t)32 * 1024)
/** How far `previous` goes back for a place to start from. */
#define STEP_BACK_BYTES ((uint64_t)16 * 1024)
/** A seek that has come this close walks the rest. */
#define SEEK_WALK_BYTES ((uint64_t)4096)
/** How far in front of the end the newest message is looked for first. */
#define NEWEST_TIME_BYTES ((uint64_t)512)

/** So often a seek begins again because a writer overtook it. */
#define SEEK_TRIES 100

#ifdef LARDER_FAULTS
uint64_t larder_ring_seek_probes;
#endif

struct larder_ring_reader {
    larder_ring *ring;
    bool borrows;
    /** Whether `sequence` is that of a message handed out: gaps before the first do not count. */
    bool has_started;
    /** The last walk stopped where offsets of the file's earlier life may not hold any more. */
    uint32_t epoch;
    /** Where the next message starts; a record boundary, `end`, or below `oldest`. */
    uint64_t offset;
    /** Number of the message before `offset`, as far as known; else 0. */
    uint64_t sequence;
    /** Copied bytes of the offsets [chunk_start, chunk_end), all in one lap. */
    uint64_t chunk_start;
    uint64_t chunk_end;
    /** Where in the data `chunk_start` is: spares a division a message. */
    uint64_t chunk_position;
    const uint8_t *chunk;
    uint8_t *buffer;
    size_t buffer_bytes;
    /** Offsets of the records before `offset`, for `previous`; the last is the nearest. */
    uint64_t *back;
    size_t back_count;
    size_t back_capacity;
};

larder_status larder_ring_reader_open(larder_ring *ring, uint32_t flags, larder_ring_reader **out) {
    *out = NULL;
    if (flags & ~(uint32_t)LARDER_RING_BORROW) return LARDER_EINVALID;
    larder_ring_reader *reader = calloc(1, sizeof *reader);
    if (!reader) return ENOMEM;
    reader->ring = ring;
    reader->borrows = (flags & LARDER_RING_BORROW) != 0;
    larder_status status = larder_ring_reader_seek(reader, 0);
    if (status) {
        larder_ring_reader_close(reader);
        return status;
    }
    *out = reader;
    return LARDER_OK;
}

void larder_ring_reader_close(larder_ring_reader *reader) {
    if (!reader) return;
    free(reader->buffer);
    free(reader->back);
    free(reader);
}

static larder_status reader_grow(larder_ring_reader *reader, size_t bytes) {
    if (bytes <= reader->buffer_bytes) return LARDER_OK;
    uint8_t *buffer = malloc(bytes);
    if (!buffer) return ENOMEM;
    free(reader->buffer);
    reader->buffer = buffer;
    reader->buffer_bytes = bytes;
    reader->chunk_start = reader->chunk_end = 0;
    return LARDER_OK;
}

/** Whether the offsets [from, to), which do not cross a lap, are in the chunk. */
static inline bool reader_has(const larder_ring_reader *reader, uint64_t from, uint64_t to) {
    return reader->chunk_start <= from && to <= reader->chunk_end;
}

static inline const uint8_t *reader_bytes(const larder_ring_reader *reader, uint64_t offset) {
    return reader->chunk + (offset - reader->chunk_start);
}

static inline uint64_t reader_position(const larder_ring_reader *reader, uint64_t offset) {
    if (reader_has(reader, offset, offset + 1))
        return reader->chunk_position + (offset - reader->chunk_start);
    return offset % reader->ring->data_bytes;
}

/** Copies up to `bytes` bytes of the lap from `from` on, none from `until` on; the lock is held.
    Afterwards the chunk holds what of it was not overwritten, which may be nothing. */
static void reader_copy(larder_ring_reader *reader, uint64_t from, uint64_t until, uint64_t bytes) {
    const larder_ring *ring = reader->ring;
    uint64_t position = from % ring->data_bytes;
    uint64_t length = until - from;
    if (length > ring->data_bytes - position) length = ring->data_bytes - position;
    reader->chunk_start = from;
    reader->chunk_position = position;
    if (reader->borrows) {
        reader->chunk = ring->data + position;
        reader->chunk_end = from + length;
        return;
    }
    if (length > bytes) length = bytes;
    memcpy(reader->buffer, ring->data + position, (size_t)length);
    reader->chunk = reader->buffer;
    reader->chunk_end = from + length;
    uint64_t oldest = larder_ring_oldest_now(ring);
    if (oldest > from) {
        uint64_t start = oldest < reader->chunk_end ? oldest : reader->chunk_end;
        reader->chunk = reader->buffer + (start - from);
        reader->chunk_position = position + (start - from);
        reader->chunk_start = start;
    }
}

/** Whether the record at `offset` in the chunk, whose head was checked for plausibility and is
    complete there, is intact. */
static inline bool reader_verifies(const larder_ring_reader *reader, uint64_t offset,
                                   record_head head) {
    ring_records records = ring_records_of(reader->ring);
    return record_is_intact(&records, reader_bytes(reader, offset), head,
                            reader_position(reader, offset));
}

uint64_t larder_ring_find_offset(const larder_ring *ring, const ring_view *view, uint64_t from,
                                 uint64_t end, record_bounds bounds, uint64_t *sequence) {
    ring_records records = ring_records_of(ring);
    uint64_t until;
    while ((from = larder_ring_view_from(ring, view, from, &until)) < end) {
        uint64_t position = from % ring->data_bytes;
        uint64_t rest = ring->data_bytes - position;
        if (until > end) until = end;
        if (until - from < rest) rest = until - from;
        uint64_t limit = position + rest;
        uint64_t found;
        record_head head;
        if (larder_record_find(&records, position, limit, bounds, &found, &head)) {
            if (sequence) *sequence = record_sequence(head.tag);
            return from + (found - position);
        }
        from += rest;
    }
    return end;
}

/** The number of the oldest live message, of which there is one, or 1 if it cannot be read. What
    lies behind a pad is left over from earlier laps, and whoever starts to look there must not take
    it for live. */
static uint64_t ring_first_number(const larder_ring *ring, const ring_view *view) {
    if (!ring->read_only) return ring->oldest_sequence;
    ring_records records = ring_records_of(ring);
    uint64_t position = view->oldest % ring->data_bytes;
    if (ring->data_bytes - position < RING_HEAD_BYTES) return 1;
    record_head head = record_head_at(ring->data, position);
    if (!record_is_plausible(head, position, ring->data_bytes) ||
        !record_is_intact(&records, ring->data + position, head, position))
        return 1;
    return record_sequence(head.tag);
}

/** The file was recovered by a new writer, or the reader is new: finds the place again by number.
    */
static void reader_settle(larder_ring_reader *reader, const ring_view *view) {
    if (reader->epoch == view->epoch) return;
    reader->epoch = view->epoch;
    reader->chunk_start = reader->chunk_end = 0;
    reader->back_count = 0;
    record_bounds bounds = {.minimum = reader->sequence + 1, .maximum = view->newest};
    reader->offset =
        larder_ring_find_offset(reader->ring, view, view->oldest, view->end, bounds, NULL);
}

/** What is to be done about the bytes at `reader->offset`. */
typedef enum reader_step { STEP_RECORD, STEP_AGAIN, STEP_END } reader_step;

/** Makes sure the record at `offset` is wholly in the chunk, or moves on. `wanted` grows when the
    record turns out longer than what was copied. */
static larder_status reader_refill(larder_ring_reader *reader, uint64_t wanted, bool is_damaged,
                                   reader_step *step) {
    larder_ring *ring = reader->ring;
    *step = STEP_AGAIN;
    larder_status status = LARDER_OK;
    if (!reader->borrows) {
        status = reader_grow(reader, wanted > CHUNK_BYTES ? (size_t)wanted : CHUNK_BYTES);
        if (status) return status;
    }
    status = ring_lock(ring);
    if (status) return status;
    ring_view view = larder_ring_view_get(ring);
    reader_settle(reader, &view);
    if (reader->offset < view.oldest) reader->offset = view.oldest;
    uint64_t until;
    reader->offset = larder_ring_view_from(ring, &view, reader->offset, &until);
    if (reader->offset >= view.end) {
        *step = STEP_END;
    } else if (is_damaged) {
        record_bounds bounds = {.minimum = reader->sequence + 1, .maximum = view.newest};
        uint64_t found;
        reader->offset =
            larder_ring_find_offset(ring, &view, reader->offset, view.end, bounds, &found);
        reader->chunk_start = reader->chunk_end = 0;
        if (reader->offset >= view.end) *step = STEP_END;
    } else {
        reader_copy(reader, reader->offset, until, reader->buffer_bytes);
        if (reader->offset < reader->chunk_start) reader->offset = reader->chunk_start;
        if (reader->chunk_end - reader->offset >= wanted ||
            reader->chunk_start == reader->chunk_end)
            *step = STEP_AGAIN;
        else *step = STEP_RECORD; // All there is: what wants more cannot be a record.
    }
    ring_unlock(ring);
    return LARDER_OK;
}

/** Tells what the record `bytes` with this head, which is intact, holds. */
static inline ALWAYS_INLINE void reader_tell(const larder_ring *ring, const uint8_t *bytes,
                                             record_head head, larder_ring_record *record) {
    size_t length = record_length(head.word);
    record->sequence = record_sequence(head.tag);
    record->payload.data = bytes + RING_HEAD_BYTES;
    record->payload.length = length - ring->time_bytes;
    record->flags = record_flags(head.word);
    record->time_ns = ring->time_bytes ? payload_time(bytes + RING_HEAD_BYTES, length) : 0;
}

/** Takes the message at `offset` if the chunk has all of it and it is intact, which is what a
    reader finds but for one time in hundreds. */
static inline ALWAYS_INLINE bool reader_take(larder_ring_reader *reader,
                                             larder_ring_record *record) {
    uint64_t held = reader->chunk_end - reader->chunk_start;
    uint64_t before = reader->offset - reader->chunk_start;
    if (before > held || held - before < RING_HEAD_BYTES) return false;
    const larder_ring *ring = reader->ring;
    const uint8_t *bytes = reader->chunk + before;
    record_head head = record_head_at(bytes, 0);
    uint64_t sequence = record_sequence(head.tag);
    uint64_t position = reader->chunk_position + before;
    if (head.word == RECORD_PAD || sequence <= reader->sequence) return false;
    if (!record_is_plausible(head, position, ring->data_bytes)) return false;
    size_t length = record_length(head.word);
    if (record_bytes(length) > held - before || length < ring->time_bytes ||
        !record_agrees(ring->salt, bytes, head, length, position))
        return false;
    reader_tell(ring, bytes, head, record);
    record->lost = reader->has_started ? sequence - reader->sequence - 1 : 0;
    reader->has_started = true;
    reader->sequence = sequence;
    reader->offset += record_bytes(length);
    reader->back_count = 0;
    return true;
}

/** Whether a pad leads on. The record that it names is no part of the chunk, and may be written
    over unless the lock is held. */
static bool reader_follows(const larder_ring_reader *reader, record_head pad) {
    ring_records records = ring_records_of(reader->ring);
    if (ring_lock(reader->ring)) return false;
    bool leads = record_pad_leads(&records, pad);
    ring_unlock(reader->ring);
    return leads;
}

/** What is at `reader->offset`, of which the chunk has a head at least. */
typedef enum reader_sight { SIGHT_TAKEN, SIGHT_PAD, SIGHT_CUT_OFF, SIGHT_DAMAGED } reader_sight;

/** @param wanted receives the bytes of a record that the chunk has not all of. */
static reader_sight reader_look(larder_ring_reader *reader, larder_ring_record *record,
                                uint64_t *wanted) {
    if (reader_take(reader, record)) return SIGHT_TAKEN;
    uint64_t data_bytes = reader->ring->data_bytes;
    uint64_t position = reader_position(reader, reader->offset);
    record_head head = record_head_at(reader_bytes(reader, reader->offset), 0);
    if (record_sequence(head.tag) <= reader->sequence ||
        !record_is_plausible(head, position, data_bytes))
        return SIGHT_DAMAGED;
    if (head.word == RECORD_PAD) {
        if (!reader_verifies(reader, reader->offset, head) || !reader_follows(reader, head))
            return SIGHT_DAMAGED;
        reader->offset += data_bytes - position;
        return SIGHT_PAD;
    }
    uint64_t bytes = record_bytes(record_length(head.word));
    if (reader_has(reader, reader->offset, reader->offset + bytes)) return SIGHT_DAMAGED;
    *wanted = bytes;
    return SIGHT_CUT_OFF;
}

/** The rest of the lap is too short for a head: passes it over, if something follows. */
static larder_status reader_pass_rest(larder_ring_reader *reader, uint64_t position,
                                      reader_step *step) {
    uint64_t data_bytes = reader->ring->data_bytes;
    larder_status status = reader_refill(reader, RING_HEAD_BYTES, false, step);
    if (!status && *step != STEP_END && reader->offset % data_bytes == position)
        reader->offset += data_bytes - position;
    return status;
}

/** With what the chunk does not have, or does not have intact. */
COLD static larder_status reader_search(larder_ring_reader *reader, larder_ring_record *record) {
    const larder_ring *ring = reader->ring;
    bool is_all = false;
    for (;;) {
        bool is_damaged = false;
        uint64_t wanted = RING_HEAD_BYTES;
        uint64_t position = reader_position(reader, reader->offset);
        reader_step step;
        larder_status status;
        if (reader_has(reader, reader->offset, reader->offset + RING_HEAD_BYTES)) {
            reader_sight sight = reader_look(reader, record, &wanted);
            if (sight == SIGHT_TAKEN) return LARDER_OK;
            if (sight == SIGHT_PAD) {
                is_all = false;
                continue;
            }
            // Damaged, or torn by a writer that overtook this reader: look again from here on.
            is_damaged = sight == SIGHT_DAMAGED || is_all;
            if (is_damaged) reader->offset += 8;
        } else if (ring->data_bytes - position < RING_HEAD_BYTES) {
            status = reader_pass_rest(reader, position, &step);
            if (status) return status;
            if (step == STEP_END) return LARDER_END;
            is_all = false;
            continue;
        }
        status = reader_refill(reader, wanted, is_damaged, &step);
        if (status) return status;
        if (step == STEP_END) return LARDER_END;
        is_all = step == STEP_RECORD;
        // The end of what was copied, and not even a head: nothing that can be read here.
        if (is_all && reader->chunk_end - reader->offset < RING_HEAD_BYTES) {
            reader->offset = reader->chunk_end;
            is_all = false;
        }
    }
}

larder_status larder_ring_reader_next(larder_ring_reader *reader, larder_ring_record *record) {
    // What is read in place is gone with the mapping.
    if (reader->borrows &&
        atomic_load_explicit(reader->ring->lock, memory_order_acquire) == LOCK_SHUT) {
        *record = (larder_ring_record){.sequence = 0};
        return LARDER_ECLOSED;
    }
    if (reader_take(reader, record)) return LARDER_OK;
    *record = (larder_ring_record){.sequence = 0};
    return reader_search(reader, record);
}

// Backwards ---------------------------------------------------------------------------------------

static larder_status back_add(larder_ring_reader *reader, uint64_t offset) {
    if (reader->back_count == reader->back_capacity) {
        size_t capacity = reader->back_capacity ? reader->back_capacity * 2 : 256;
        uint64_t *back = realloc(reader->back, capacity * sizeof *back);
        if (!back) return ENOMEM;
        reader->back = back;
        reader->back_capacity = capacity;
    }
    reader->back[reader->back_count++] = offset;
    return LARDER_OK;
}

/** Collects the offsets of the records in [from, until), all in one lap; the lock is held. */
static larder_status back_collect(larder_ring_reader *reader, const ring_view *view, uint64_t from,
                                  uint64_t until) {
    const larder_ring *ring = reader->ring;
    record_bounds bounds = {.minimum = ring_first_number(ring, view), .maximum = view->newest};
    // Where a damaged pad shows what lies behind it, no newer one than was read.
    if (reader->sequence && reader->sequence < bounds.maximum) bounds.maximum = reader->sequence;
    while (from < until) {
        uint64_t number;
        from = larder_ring_find_offset(ring, view, from, until, bounds, &number);
        if (from >= until) break;
        larder_status status = back_add(reader, from);
        if (status) return status;
        bounds.minimum = number + 1;
        record_head head = record_head_at(ring->data, from % ring->data_bytes);
        from += record_bytes(record_length(head.word));
    }
    return LARDER_OK;
}

/** Fills `back` with records before `reader->offset`; none if that is the oldest. */
static larder_status reader_step_back(larder_ring_reader *reader) {
    larder_ring *ring = reader->ring;
    larder_status status = ring_lock(ring);
    if (status) return status;
    ring_view view = larder_ring_view_get(ring);
    reader_settle(reader, &view);
    uint64_t until = reader->offset < view.end ? reader->offset : view.end;
    for (uint64_t step = STEP_BACK_BYTES; !status && !reader->back_count && until > view.oldest;
         step *= 2) {
        // A lap starts with a record; other places have to be found.
        uint64_t lap = (until - 1) - (until - 1) % ring->data_bytes;
        uint64_t floor = lap > view.oldest ? lap : view.oldest;
        uint64_t from = until - floor > step ? (until - step) & ~(uint64_t)7 : floor;
        status = back_collect(reader, &view, from, until);
        if (!reader->back_count && from == floor) {
            until = floor;
            step = STEP_BACK_BYTES / 2;
        }
    }
    ring_unlock(ring);
    return status;
}

/** Copies the record at `offset` into the chunk, with those before it that `back` names. */
static larder_status reader_fetch(larder_ring_reader *reader, uint64_t offset, uint64_t bytes) {
    larder_ring *ring = reader->ring;
    uint64_t from = offset;
    if (reader->back_count) from = reader->back[0];
    if (offset + bytes - from > CHUNK_BYTES) from = offset;
    larder_status status = LARDER_OK;
    uint64_t want = offset + bytes - from;
    if (!reader->borrows)
        status = reader_grow(reader, want > CHUNK_BYTES ? (size_t)want : CHUNK_BYTES);
    if (!status) status = ring_lock(ring);
    if (status) return status;
    ring_view view = larder_ring_view_get(ring);
    reader_settle(reader, &view);
    if (from < view.oldest) from = view.oldest;
    uint64_t until;
    from = larder_ring_view_from(ring, &view, from, &until);
    // Behind a hole.
    if (until <= offset) from = larder_ring_view_from(ring, &view, offset, &until);
    if (from < view.end) reader_copy(reader, from, until, want);
    ring_unlock(ring);
    return LARDER_OK;
}

larder_status larder_ring_reader_previous(larder_ring_reader *reader, larder_ring_record *record) {
    *record = (larder_ring_record){.sequence = 0};
    if (reader->borrows &&
        atomic_load_explicit(reader->ring->lock, memory_order_acquire) == LOCK_SHUT)
        return LARDER_ECLOSED;
    for (;;) {
        if (!reader->back_count) {
            larder_status status = reader_step_back(reader);
            if (status) return status;
            if (!reader->back_count) return LARDER_END;
        }
        uint64_t offset = reader->back[--reader->back_count];
        uint64_t bytes = RING_HEAD_BYTES;
        record_head head = {0, 0, 0};
        for (int attempt = 0; attempt < 2; attempt++) {
            if (!reader_has(reader, offset, offset + bytes)) {
                larder_status status = reader_fetch(reader, offset, bytes);
                if (status) return status;
            }
            if (!reader_has(reader, offset, offset + bytes)) break;
            memcpy(&head, reader_bytes(reader, offset), sizeof head);
            uint64_t position = offset % reader->ring->data_bytes;
            // Damaged since it was found: its length leads nowhere.
            if (head.word == RECORD_PAD ||
                !record_is_plausible(head, position, reader->ring->data_bytes)) {
                head.tag = 0;
                break;
            }
            bytes = record_bytes(record_length(head.word));
            if (reader_has(reader, offset, offset + bytes)) break;
        }
        reader->offset = offset;
        reader->sequence = 0;
        reader->has_started = false;
        // Overwritten since it was found: then so is everything before it.
        if (head.tag == 0 || !reader_has(reader, offset, offset + bytes) ||
            !reader_verifies(reader, offset, head)) {
            reader->back_count = 0;
            continue;
        }
        reader_tell(reader->ring, reader_bytes(reader, offset), head, record);
        reader->sequence = record->sequence - 1;
        return LARDER_OK;
    }
}

// Seeking -----------------------------------------------------------------------------------------

/** What a seek looks for: the first message that has at least this number, and this time. */
typedef struct seek_goal {
    uint64_t sequence;
    /** INT64_MIN where it does not matter. */
    int64_t time_ns;
} seek_goal;

/** Whether what is looked for is not before the intact record at `offset`, with this number. */
static bool seek_reaches(const larder_ring *ring, uint64_t offset, uint64_t number,
                         seek_goal goal) {
#ifdef LARDER_FAULTS
    larder_ring_seek_probes++;
#endif
    if (goal.time_ns == INT64_MIN) return number <= goal.sequence;
    // Of several messages at that time, the first one is looked for. One that a writer in another
    // process overwrites meanwhile may have any time here; but then so is everything before it.
    return ring_time_at(ring, offset) < goal.time_ns;
}

/** The last record boundary found in [low, high), one lap, which the goal is not before. */
static uint64_t seek_in_lap(const larder_ring *ring, const ring_view *view, uint64_t low,
                            uint64_t high, seek_goal goal) {
    record_bounds bounds = {.minimum = ring_first_number(ring, view), .maximum = view->newest};
    while (high - low > SEEK_WALK_BYTES) {
        uint64_t middle = (low + (high - low) / 2) & ~(uint64_t)7;
        uint64_t number;
        uint64_t found = larder_ring_find_offset(ring, view, middle, high, bounds, &number);
        if (found < high && seek_reaches(ring, found, number, goal)) low = found;
        else high = middle;
    }
    return low;
}

/** @param number receives that of the message at the offset, if there is one. */
static uint64_t seek_offset(const larder_ring *ring, const ring_view *view, seek_goal goal,
                            uint64_t *number) {
    if (view->oldest >= view->end) return view->end;
    uint64_t low = view->oldest;
    uint64_t lap = (view->end - 1) - (view->end - 1) % ring->data_bytes;
    if (lap > view->oldest) {
        // Two laps: the later one starts with a record, whose number tells which to search.
        record_bounds bounds = {.minimum = ring_first_number(ring, view), .maximum = view->newest};
        uint64_t found = larder_ring_find_offset(ring, view, lap, view->end, bounds, number);
        if (found < view->end && seek_reaches(ring, found, *number, goal))
            low = seek_in_lap(ring, view, found, view->end, goal);
        else low = seek_in_lap(ring, view, low, lap, goal);
    } else {
        low = seek_in_lap(ring, view, low, view->end, goal);
    }
    record_bounds bounds = {.minimum = goal.sequence, .maximum = view->newest};
    for (;;) {
        low = larder_ring_find_offset(ring, view, low, view->end, bounds, number);
        if (low >= view->end || goal.time_ns == INT64_MIN) return low;
        if (ring_time_at(ring, low) >= goal.time_ns) return low;
        bounds.minimum = *number + 1;
        low += RING_HEAD_BYTES;
    }
}

uint64_t larder_ring_offset_of(const larder_ring *ring, const ring_view *view, uint64_t sequence) {
    uint64_t number;
    return seek_offset(ring, view, (seek_goal){sequence, INT64_MIN}, &number);
}

/** Takes the lock, and forgets where the reader was. */
static larder_status reader_leave(larder_ring_reader *reader, ring_view *view) {
    larder_status status = ring_lock(reader->ring);
    if (status) return status;
    *view = larder_ring_view_get(reader->ring);
    reader->epoch = view->epoch;
    reader->back_count = 0;
    reader->chunk_start = reader->chunk_end = 0;
    reader->has_started = false;
    reader->sequence = 0;
    return LARDER_OK;
}

larder_status larder_ring_reader_seek(larder_ring_reader *reader, uint64_t sequence) {
    larder_ring *ring = reader->ring;
    ring_view view;
    larder_status status = reader_leave(reader, &view);
    if (status) return status;
    if (sequence == 0 || view.oldest >= view.end) {
        reader->offset = view.oldest;
    } else if (sequence > view.newest) {
        reader->offset = view.end;
        reader->sequence = view.newest;
    } else {
        reader->offset = larder_ring_offset_of(ring, &view, sequence);
        reader->sequence = sequence - 1;
    }
    ring_unlock(ring);
    return LARDER_OK;
}

larder_status larder_ring_reader_seek_time(larder_ring_reader *reader, int64_t time_ns) {
    larder_ring *ring = reader->ring;
    if (!ring->time_bytes) return LARDER_EINVALID;
    if (time_ns <= 0) return larder_ring_reader_seek(reader, 0);
    // What another process overwrites meanwhile tells no time.
    bool is_overtaken = true;
    for (int tries = 0; is_overtaken && tries < SEEK_TRIES; tries++) {
        ring_view view;
        larder_status status = reader_leave(reader, &view);
        if (status) return status;
        uint64_t number = 0;
        seek_goal goal = {ring_first_number(ring, &view), time_ns};
        reader->offset = seek_offset(ring, &view, goal, &number);
        bool is_found = reader->offset < view.end;
        reader->sequence = is_found ? number - 1 : view.newest;
        is_overtaken = is_found && larder_ring_oldest_now(ring) > reader->offset;
        ring_unlock(ring);
    }
    return LARDER_OK;
}

// Times at both ends ------------------------------------------------------------------------------

int64_t larder_ring_oldest_time(const larder_ring *ring, const ring_view *view) {
    record_bounds bounds = {.minimum = ring_first_number(ring, view), .maximum = view->newest};
    uint64_t offset = larder_ring_find_offset(ring, view, view->oldest, view->end, bounds, NULL);
    return offset < view->end ? ring_time_at(ring, offset) : 0;
}

int64_t larder_ring_newest_time(const larder_ring *ring, const ring_view *view) {
    int64_t newest = 0;
    bool is_found = false;
    // The last record starts somewhere in front of the end: looks further and further back for it.
    uint64_t live = view->end - view->oldest;
    for (uint64_t step = NEWEST_TIME_BYTES; !is_found && live; step *= 2) {
        record_bounds bounds = {.minimum = ring_first_number(ring, view), .maximum = view->newest};
        uint64_t from = view->end - (step < live ? step : live), number;
        while ((from = larder_ring_find_offset(ring, view, from, view->end, bounds, &number)) <
               view->end) {
            newest = ring_time_at(ring, from);
            is_found = true;
            bounds.minimum = number + 1;
            from += RING_HEAD_BYTES;
        }
        if (step >= live) break;
    }
    return newest;
}
