// SPDX-License-Identifier: MIT
/** @file append.c
    Appending and removing: the hot path. Invariants are those of ring/layout.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>

#include "larder_os_machine.h"
#include "ring/ring_internal.h"

/** After this long, the removal of what is too old is tried again where a sync failed. */
#define EXPIRE_AGAIN_NS ((int64_t)1000000000)

/** How far ahead of the end a first lap's pages are warmed, with one system call. */
#define WARM_BYTES ((uint64_t)64 * 1024)

// Telling others ----------------------------------------------------------------------------------

/** Notes a change; the lock is held. The very first one of a handle wakes nobody: a program that
    appends one message and ends needs no thread.
    @return whether the background thread is to be woken. */
COLD static bool ring_changed_first(larder_ring *ring) {
    bool wakes = ring->wants_mark || (ring->has_changed && ring->sync_interval_ns > 0);
    ring->is_dirty = wakes || ring->sync_interval_ns == 0;
    ring->has_changed = true;
    return wakes;
}

bool larder_ring_changed(larder_ring *ring) {
    return UNLIKELY(!ring->is_dirty) && ring_changed_first(ring);
}

/** After a change: wakes those who wait for it. The lock is not held any more. */
static inline void ring_announce(larder_ring *ring, bool wakes) {
    if (UNLIKELY(wakes)) larder_ring_sync_wake(ring);
    // A waiter raises `waiters` before it takes the lock to look, so whoever appends after that
    // look sees it raised.
    if (UNLIKELY(LOAD(ring->waiters) != 0)) larder_ring_wake_waiters(ring);
}

// The oldest end ----------------------------------------------------------------------------------

static void ring_settle_empty(larder_ring *ring) {
    ring->oldest = ring->end;
    ring->oldest_position = ring->end_position;
    ring->oldest_sequence = ring->next_sequence;
    ring->oldest_bytes = 0;
}

void larder_ring_settle_oldest(larder_ring *ring, uint64_t offset, uint64_t after) {
    ring_records records = ring_records_of(ring);
    record_bounds bounds = {.minimum = after + 1, .maximum = ring->next_sequence - 1};
    uint64_t position = offset % ring->data_bytes;
    while (offset < ring->end) {
        uint64_t rest = ring->data_bytes - position;
        uint64_t live = ring->end - offset;
        uint64_t limit = position + (live < rest ? live : rest);
        uint64_t found;
        record_head head;
        if (larder_record_find(&records, position, limit, bounds, &found, &head)) {
            ring->oldest = offset + (found - position);
            ring->oldest_position = found;
            ring->oldest_sequence = record_sequence(head.tag);
            ring->oldest_bytes = record_bytes(record_length(head.word));
            return;
        }
        if (live <= rest) break;
        offset += rest;
        position = 0;
    }
    ring_settle_empty(ring);
}

/** No more messages are left than there are numbers: the others were lost to damage. Those that a
    recovery found lost count no more, and their numbers are among those that no message has. */
static void ring_count_lost(larder_ring *ring) {
    // Also of a gap alone: its numbers are missing no more.
    larder_ring_unsettle(ring);
    uint64_t left = ring->oldest < ring->end ? ring->newest - ring->oldest_sequence + 1 : 0;
    if (ring->count <= left) return;
    ring_opened *opened = &ring->header->opened;
    STORE(opened->lost, LOAD(opened->lost) + ring->count - left);
    ring->count = left;
}

/** The slow half of ring_drop_oldest: what follows is not the next number. That is a gap that an
    earlier recovery left, or damage. */
static void ring_drop_damaged(larder_ring *ring, uint64_t dropped_offset, uint64_t dropped_position,
                              uint64_t next_offset) {
    ring_records records = ring_records_of(ring);
    uint64_t dropped = ring->oldest_sequence;
    uint64_t next_position = next_offset % ring->data_bytes;
    if (next_offset < ring->end) {
        record_head head = record_head_at(ring->data, next_position);
        uint64_t sequence = record_sequence(head.tag);
        if (head.word != RECORD_PAD && sequence > dropped && sequence < ring->next_sequence &&
            record_is_plausible(head, next_position, ring->data_bytes) &&
            record_is_intact(&records, ring->data + next_position, head, next_position)) {
            ring->oldest = next_offset;
            ring->oldest_position = next_position;
            ring->oldest_bytes = record_bytes(record_length(head.word));
            ring->oldest_sequence = sequence;
            ring_count_lost(ring);
            return;
        }
    }
    // The length that led here may be what is damaged, so look from behind the last head.
    record_head head = record_head_at(ring->data, dropped_position);
    bool is_intact =
        head.word != RECORD_PAD && record_is_plausible(head, dropped_position, ring->data_bytes) &&
        record_is_intact(&records, ring->data + dropped_position, head, dropped_position);
    larder_ring_settle_oldest(ring, is_intact ? next_offset : dropped_offset + 8, dropped);
    ring_count_lost(ring);
}

/** The next record is not simply the next one in this lap: the ring ends, the lap ends, or
    something is damaged. */
COLD static void ring_drop_oldest_slowly(larder_ring *ring) {
    uint64_t dropped_offset = ring->oldest;
    uint64_t dropped_position = ring->oldest_position;
    uint64_t offset = dropped_offset + ring->oldest_bytes;
    uint64_t position = dropped_position + ring->oldest_bytes;
    if (offset == ring->end) {
        ring_settle_empty(ring);
        if (ring->count) ring_count_lost(ring);
        return;
    }
    uint64_t rest = ring->data_bytes - position;
    record_head next = {0, 0, 0};
    if (rest >= RING_HEAD_BYTES) next = record_head_at(ring->data, position);
    if (offset < ring->end && (rest < RING_HEAD_BYTES || next.word == RECORD_PAD)) {
        offset += rest;
        next = record_head_at(ring->data, 0);
        if (record_sequence(next.tag) == ring->oldest_sequence + 1 && offset < ring->end &&
            next.word != RECORD_PAD && record_is_plausible(next, 0, ring->data_bytes)) {
            ring->oldest = offset;
            ring->oldest_position = 0;
            ring->oldest_bytes = record_bytes(record_length(next.word));
            ring->oldest_sequence++;
            return;
        }
    }
    ring_drop_damaged(ring, dropped_offset, dropped_position, offset);
}

/** Moves `oldest` past the record it stands at; the lock is held, and the ring is not empty.
    Only in memory: ring_store_oldest publishes it. Damaged records on the way count as lost.
    */
static inline void ring_drop_oldest(larder_ring *ring) {
    uint64_t bytes = ring->oldest_bytes;
    uint64_t position = ring->oldest_position + bytes;
    if (ring->count > 0) ring->count--;
    if (ring->oldest + bytes < ring->end && ring->data_bytes - position >= RING_HEAD_BYTES) {
        record_head next = record_head_at(ring->data, position);
        uint64_t next_bytes = record_bytes(record_length(next.word));
        if (record_sequence(next.tag) == ring->oldest_sequence + 1 && next.word != RECORD_PAD &&
            next_bytes <= ring->data_bytes - position) {
            ring->oldest += bytes;
            ring->oldest_position = position;
            ring->oldest_bytes = next_bytes;
            ring->oldest_sequence++;
            return;
        }
    }
    ring_drop_oldest_slowly(ring);
}

/** Whether the oldest record may not be dropped yet (invariant 9). */
static inline bool ring_must_mark(const larder_ring *ring) {
    return UNLIKELY(ring->synced != ring->marked) && ring->oldest_sequence > ring->marked &&
           ring->oldest_sequence <= ring->synced;
}

/** Removes the oldest messages up to number `through` that are older than `before_ns`, which is
    INT64_MAX where times do not matter. The lock is held.
    @return how many went, in `removed`, also where a sync failed. */
static larder_status ring_remove(larder_ring *ring, uint64_t through, int64_t before_ns,
                                 uint64_t *removed) {
    larder_status status = LARDER_OK;
    uint64_t before = ring->count;
    ring_opened *opened = &ring->header->opened;
    uint64_t lost_before = LOAD(opened->lost);
    while (!status && ring->oldest < ring->end && ring->oldest_sequence <= through) {
        ring_view view = larder_ring_view_get(ring);
        if (before_ns != INT64_MAX && larder_ring_oldest_time(ring, &view) >= before_ns) break;
        if (ring_must_mark(ring)) status = larder_ring_mark(ring);
        if (!status) ring_drop_oldest(ring);
    }
    ring_store_removed_through(ring->header, ring->oldest_sequence - 1);
    // If we crash in between, an empty ring must look it: see ring_make_room.
    if (ring->oldest == ring->end) STORE(ring->header->state.count, 0);
    ring_store_oldest(ring);
    STORE(ring->header->state.count, ring->count);
    if (ring->is_unsettled) larder_ring_settle(ring);
    uint64_t lost = LOAD(opened->lost) - lost_before;
    *removed = before - ring->count > lost ? before - ring->count - lost : 0;
    STORE(opened->removed, LOAD(opened->removed) + *removed);
    return status;
}

// Times -------------------------------------------------------------------------------------------

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

/** The time for what is appended next, read before the lock is taken. */
static int64_t ring_now(const larder_ring *ring) {
    if (!ring->time_bytes) return 0;
    return ring->clock ? ring->clock(ring->clock_context) : larder_os_wall_clock_ns();
}

/** What time it is for ages, where the clock says `now_ns`. One that jumped ahead, by more than
    passed on the clock that nobody sets, is not believed from then on, but for what passes: nothing
    is too old because of it. One that was set back is. */
static int64_t ring_believed_time(ring_ages *ages, int64_t now_ns) {
    enum { SLACK_NS = 1000000000, DRIFT_PART = 1024 };
    int64_t ticks_ns = larder_os_fine_ns(), passed = ticks_ns - ages->ticks_ns;
    if (ages->mark_count > 0 && now_ns - ages->now_ns > passed + passed / DRIFT_PART + SLACK_NS)
        now_ns = ages->now_ns + passed;
    ages->now_ns = now_ns;
    ages->ticks_ns = ticks_ns;
    return now_ns;
}

/** Notes by when what there is was appended, once for each part of the maximum age. */
static void ring_mark_age(larder_ring *ring, int64_t now_ns, int64_t part_ns) {
    ring_ages *ages = &ring->ages;
    uint32_t count = ages->mark_count;
    // The clock was set back: what it said until then is later than it was.
    for (uint32_t i = 0; i < count; i++)
        if (ages->marks[i].time_ns > now_ns) ages->marks[i].time_ns = now_ns;
    if (count == RING_AGE_MARKS || (count > 0 && now_ns - ages->marks[count - 1].time_ns < part_ns))
        return;
    ages->marks[count].number = ring->next_sequence;
    ages->marks[count].time_ns = count > 0 ? earlier(ages->last_ns, now_ns) : now_ns;
    ages->mark_count++;
}

/** Removes what was appended before a mark that is too old: the times of that may be later.
    @return whether it could. */
static bool ring_expire_marked(larder_ring *ring, int64_t before_ns) {
    ring_ages *ages = &ring->ages;
    uint32_t old = 0;
    uint64_t removed = 0;
    while (old < ages->mark_count && ages->marks[old].time_ns < before_ns) old++;
    if (old == 0) return true;
    if (ring_remove(ring, ages->marks[old - 1].number - 1, INT64_MAX, &removed)) return false;
    ages->mark_count -= old;
    memmove(ages->marks, ages->marks + old, ages->mark_count * sizeof *ages->marks);
    return true;
}

/** Removes what is too old by now; the lock is held. */
COLD static void ring_expire(larder_ring *ring, const int64_t clock_ns) {
    const int64_t part_ns = ring->maximum_age_ns / (RING_AGE_MARKS - 2);
    int64_t age = ring->maximum_age_ns, now_ns = clock_ns, oldest;
    uint64_t removed = 0;
    // A clock of the caller's has no other beside it.
    if (!ring->clock) {
        now_ns = ring_believed_time(&ring->ages, clock_ns);
        ring_mark_age(ring, now_ns, part_ns);
        ring->ages.clock_ns = clock_ns;
        ring->ages.ahead_ns = clock_ns - now_ns;
    }
    // A failure is not this append's, which needs none of it.
    bool is_done = ring_expire_marked(ring, now_ns - age) &&
                   ring_remove(ring, UINT64_MAX, now_ns - age, &removed) == LARDER_OK;
    ring_view view = larder_ring_view_get(ring);
    oldest = is_done && view.oldest < view.end ? larder_ring_oldest_time(ring, &view) : now_ns;
    // The clock may have been ahead when that was appended.
    oldest = earlier(oldest, now_ns);
    if (__builtin_add_overflow(oldest, is_done ? age : EXPIRE_AGAIN_NS, &ring->expires_ns))
        ring->expires_ns = INT64_MAX;
    if (ring->clock) return;
    // As the clock will say then, unless it is set again.
    if (ring->expires_ns - now_ns > part_ns) ring->expires_ns = now_ns + part_ns;
    ring->expires_ns += ring->ages.ahead_ns;
}

/** Begins an append at `now_ns`; the lock is held. */
static void ring_begin_time(larder_ring *ring, int64_t now_ns) {
    if (UNLIKELY(!ring->knows_newest_ns)) {
        ring_view view = larder_ring_view_get(ring);
        ring->newest_ns = larder_ring_newest_time(ring, &view);
        ring->knows_newest_ns = true;
    }
    if (now_ns > ring->newest_ns) ring->newest_ns = now_ns;
    if (ring->maximum_age_ns == 0) return;
    if (now_ns >= ring->expires_ns || now_ns < ring->ages.clock_ns) ring_expire(ring, now_ns);
    ring->ages.last_ns = now_ns - ring->ages.ahead_ns;
}

// The newest end ----------------------------------------------------------------------------------

/** In the first lap, makes the pages ahead of it cheap to touch; not for a handle that appends but
    a few messages. */
COLD static void ring_warm(larder_ring *ring, uint64_t needed) {
    uint64_t until = needed + WARM_BYTES;
    if (until > ring->data_bytes) until = ring->data_bytes;
    uint64_t start = ring->fixed.data_offset;
    if (ring->has_warmed) larder_os_file_warm(ring->map, start + ring->warmed, start + until);
    ring->has_warmed = true;
    ring->warmed = until;
}

/** Nothing is live: starts at the first data byte, where the longest message fits. */
COLD static void ring_restart(larder_ring *ring) {
    ring->end += ring->data_bytes - ring->end_position;
    ring->end_position = 0;
    ring_settle_empty(ring);
    // `oldest` beyond the published `end` also reads as empty, so the order does not matter.
    ring_store_oldest(ring);
}

/** The record about to be written ends behind the soft limit, at `last`. */
COLD static larder_status ring_reach_limit(larder_ring *ring, uint64_t last) {
    uint64_t sealed = LOAD(ring->header->session.sealed_limit);
    if (ring->next_sequence >= ring->floor || (sealed && last > sealed)) {
        // It ran out of numbers or room before the background thread was done.
        larder_status status = larder_ring_mark(ring);
        if (status) return status;
        if (ring->next_sequence >= ring->floor) return LARDER_EFULL;
    }
    sealed = LOAD(ring->header->session.sealed_limit);
    bool is_half_way = ring->floor - ring->next_sequence <= larder_ring_numbers_ahead / 2 ||
                       (sealed && last > ring_sealed_half_way(sealed));
    if (is_half_way && !ring->wants_mark) {
        ring->wants_mark = true;
        ring->is_dirty = false; // So that this change is looked at.
    }
    larder_ring_limit(ring);
    return LARDER_OK;
}

/** Makes room for a record of `bytes`, which fits the data.
    @param skip receives how many bytes before the end of the data are to be skipped. */
static inline ALWAYS_INLINE larder_status ring_make_room(larder_ring *ring, uint64_t bytes,
                                                         uint64_t *skip) {
    uint64_t rest = ring->data_bytes - ring->end_position;
    *skip = 0;
    uint64_t behind = ring->end + bytes + (bytes > rest ? rest : 0);
    if (UNLIKELY(behind > ring->soft_limit)) {
        larder_status status = ring_reach_limit(ring, behind);
        if (status) return status;
    }
    if (UNLIKELY(bytes > rest)) {
        if (ring->oldest == ring->end) ring_restart(ring);
        else *skip = rest;
    }
    if (ring->end + *skip + bytes - ring->oldest > ring->data_bytes) {
        if (!ring->overwrite) return LARDER_EFULL;
        do {
            larder_status status = ring_must_mark(ring) ? larder_ring_mark(ring) : LARDER_OK;
            if (status) {
                ring_store_oldest(ring);
                STORE(ring->header->state.count, ring->count);
                if (ring->is_unsettled) larder_ring_settle(ring);
                return status;
            }
            ring_drop_oldest(ring);
        } while (ring->oldest < ring->end &&
                 ring->end + *skip + bytes - ring->oldest > ring->data_bytes);
        if (UNLIKELY(ring->oldest >= ring->end)) {
            // If we crash here, or before the message is published, an empty ring must look it:
            // what is left of the dropped messages would come back with a hole.
            STORE(ring->header->state.count, 0);
            if (*skip) ring_restart(ring);
            *skip = 0;
        }
        ring_store_oldest(ring);
    }
    uint64_t last = *skip ? ring->data_bytes : ring->end_position + bytes;
    if (UNLIKELY(last > ring->warmed)) ring_warm(ring, last);
    return LARDER_OK;
}

/** Writes the head of a record whose payload is in place, and advances the private end. */
static inline void ring_seal(larder_ring *ring, uint32_t payload_crc, uint32_t word,
                             uint64_t bytes) {
    uint8_t *place = ring->data + ring->end_position;
    record_head head;
    head.word = word;
    head.tag = ring->next_sequence | ring->generation_bits;
    if (UNLIKELY(ring->next_sequence != ring->newest + 1)) {
        head.tag |= RECORD_AFTER_GAP;
        larder_ring_unsettle(ring);
    }
    head.crc = record_crc(payload_crc, word, ring->end_position, head.tag);
    memcpy(place, &head, sizeof head);
    if (UNLIKELY(ring->oldest == ring->end)) ring->oldest_bytes = bytes;
    ring->end += bytes;
    ring->end_position += bytes;
    if (ring->end_position == ring->data_bytes) ring->end_position = 0;
    ring->newest = ring->next_sequence++;
    ring->count++;
}

/** Fills the rest of the lap (invariant 3). */
COLD static void ring_pad(larder_ring *ring, uint64_t skip) {
    if (skip >= RING_HEAD_BYTES)
        record_write_pad(ring->data, ring->end_position, ring->salt,
                         ring->next_sequence | ring->generation_bits);
    ring->end += skip;
    ring->end_position = 0;
}

/** Shows what was written since. */
static inline void ring_publish(larder_ring *ring) {
    ring_state *state = &ring->header->state;
    ring_publication *published = &state->published[ring->slot];
    ring->slot ^= 1;
    STORE(state->count, ring->count);
    // If we crash here, the other publication has the larger end, and holds.
    STORE(published->newest, ring->newest);
    STORE_RELEASE(published->end, ring->end);
    if (UNLIKELY(ring->is_unsettled)) larder_ring_settle(ring);
    // No fence: see ring/wait.c.
    atomic_signal_fence(memory_order_seq_cst);
    if (UNLIKELY(LOAD(ring->header->floor.bell.armed) != 0)) larder_ring_bell_ring(ring);
}

/** Ends a payload with its time.
    @return its checksum, from that of the message. */
static inline uint32_t ring_write_time(larder_ring *ring, uint8_t *place, uint32_t message_crc) {
    memcpy(place, &ring->newest_ns, sizeof ring->newest_ns);
    return larder_crc32c(message_crc, &ring->newest_ns, sizeof ring->newest_ns);
}

static inline ALWAYS_INLINE void ring_write_record(larder_ring *ring, uint64_t skip,
                                                   const void *message, size_t length,
                                                   size_t time_bytes, uint32_t payload_crc,
                                                   uint32_t partial) {
    if (UNLIKELY(skip != 0)) ring_pad(ring, skip);
    // If we crash here, or in the copy, the bytes lie behind `end` and nothing refers to them.
    uint8_t *payload = ring->data + ring->end_position + RING_HEAD_BYTES;
    if (length) memcpy(payload, message, length);
    if (time_bytes) payload_crc = ring_write_time(ring, payload + length, payload_crc);
    length += time_bytes;
    ring_seal(ring, payload_crc, (uint32_t)length | partial, record_bytes(length));
}

/** Of a message that needs a time, or is too long. */
static __attribute__((noinline)) larder_status
ring_append_specially(larder_ring *ring, const void *message, size_t length, uint64_t *sequence) {
    if (length > ring->message_max) return ring->read_only ? LARDER_EREADONLY : LARDER_ETOOLARGE;
    larder_message one = {{message, length}, 0};
    return larder_ring_append_batch_at(ring, &one, 1, ring_now(ring), NULL, sequence);
}

larder_status larder_ring_append(larder_ring *ring, const void *message, size_t length,
                                 uint64_t *sequence) {
    if (sequence) *sequence = 0;
    if (UNLIKELY(length >= ring->plain_end))
        return ring_append_specially(ring, message, length, sequence);
    // Before the lock, so that two threads do this part at the same time.
    uint32_t crc = larder_crc32c(ring->salt, message, length);
    larder_status status = ring_lock_to_write(ring);
    if (status) return status;
    uint64_t skip;
    status = ring_make_room(ring, record_bytes(length), &skip);
    if (status) {
        ring_unlock(ring);
        return status;
    }
    ring_write_record(ring, skip, message, length, 0, crc, 0);
    ring_publish(ring);
    if (sequence) *sequence = ring->newest;
    bool wakes = larder_ring_changed(ring);
    ring_unlock(ring);
    ring_announce(ring, wakes);
    return LARDER_OK;
}

/** Appends messages up to the first that cannot be; the lock is held.
    @param time_bytes of the ring: a constant, so that those without times pay for none.
    @param done receives how many there were. */
static inline ALWAYS_INLINE larder_status ring_append_each(larder_ring *ring,
                                                           const larder_message *messages,
                                                           size_t count, size_t time_bytes,
                                                           size_t *done) {
    uint64_t published = ring->end;
    for (; *done < count; ++*done) {
        const larder_message *message = &messages[*done];
        size_t length = message->payload.length;
        if (length > ring->message_max) return LARDER_ETOOLARGE;
        if (message->flags & ~(uint32_t)LARDER_MESSAGE_PARTIAL) return LARDER_EINVALID;
        uint64_t bytes = record_bytes(length + time_bytes);
        // What is written but not shown yet must not be overwritten by its own batch.
        if (ring->end + bytes - published > ring->data_bytes / 2) {
            ring_publish(ring);
            published = ring->end;
        }
        uint64_t skip;
        larder_status status = ring_make_room(ring, bytes, &skip);
        if (status) return status;
        uint32_t crc = larder_crc32c(ring->salt, message->payload.data, length);
        uint32_t partial = message->flags & LARDER_MESSAGE_PARTIAL ? RECORD_PARTIAL : 0;
        ring_write_record(ring, skip, message->payload.data, length, time_bytes, crc, partial);
    }
    return LARDER_OK;
}

larder_status larder_ring_append_batch_at(larder_ring *ring, const larder_message *messages,
                                          size_t count, int64_t now_ns, size_t *appended,
                                          uint64_t *last_sequence) {
    if (appended) *appended = 0;
    if (last_sequence) *last_sequence = 0;
    larder_status status = ring_lock_to_write(ring);
    if (status) return status;
    size_t done = 0;
    if (ring->time_bytes) {
        if (count) ring_begin_time(ring, now_ns);
        status = ring_append_each(ring, messages, count, LARDER_RING_TIME_BYTES, &done);
    } else {
        status = ring_append_each(ring, messages, count, 0, &done);
    }
    bool wakes = false;
    if (done) {
        ring_publish(ring);
        if (last_sequence) *last_sequence = ring->newest;
        ring->has_changed |= done > 1;
        wakes = larder_ring_changed(ring);
    }
    ring_unlock(ring);
    if (done) ring_announce(ring, wakes);
    if (appended) *appended = done;
    return status;
}

larder_status larder_ring_append_batch(larder_ring *ring, const larder_message *messages,
                                       size_t count, size_t *appended, uint64_t *last_sequence) {
    int64_t now_ns = ring_now(ring);
    return larder_ring_append_batch_at(ring, messages, count, now_ns, appended, last_sequence);
}

// Reserve and commit ------------------------------------------------------------------------------

larder_status larder_ring_reserve(larder_ring *ring, size_t capacity,
                                  larder_reservation *reservation) {
    *reservation = (larder_reservation){NULL, 0};
    if (ring->read_only) return LARDER_EREADONLY;
    if (capacity > ring->message_max) return LARDER_ETOOLARGE;
    int64_t now_ns = ring_now(ring);
    larder_status status = ring_lock_to_write(ring);
    if (status) return status;
    if (ring->time_bytes) ring_begin_time(ring, now_ns);
    uint64_t skip;
    status = ring_make_room(ring, record_bytes(capacity + ring->time_bytes), &skip);
    if (status) {
        ring_unlock(ring);
        return status;
    }
    ring->reserved_skip = skip;
    ring->reserved_position = skip ? 0 : ring->end_position;
    ring->reserved_capacity = capacity;
    ring->is_reserved = true;
    reservation->bytes = ring->data + ring->reserved_position + RING_HEAD_BYTES;
    reservation->capacity = capacity;
    return LARDER_OK;
}

/** Whether this is the reservation whose holder holds the lock. */
static bool reservation_is_held(const larder_ring *ring, const larder_reservation *reservation) {
    return reservation->bytes &&
           atomic_load_explicit(ring->lock, memory_order_relaxed) == LOCK_HELD &&
           ring->is_reserved &&
           reservation->bytes == ring->data + ring->reserved_position + RING_HEAD_BYTES;
}

larder_status larder_ring_commit(larder_ring *ring, larder_reservation *reservation, size_t length,
                                 uint32_t flags, uint64_t *sequence) {
    if (sequence) *sequence = 0;
    if (!reservation_is_held(ring, reservation) || length > ring->reserved_capacity ||
        (flags & ~(uint32_t)LARDER_MESSAGE_PARTIAL))
        return LARDER_EINVALID;
    uint32_t crc = larder_crc32c(ring->salt, reservation->bytes, length);
    if (ring->reserved_skip) ring_pad(ring, ring->reserved_skip);
    uint32_t partial = flags & LARDER_MESSAGE_PARTIAL ? RECORD_PARTIAL : 0;
    if (ring->time_bytes) crc = ring_write_time(ring, (uint8_t *)reservation->bytes + length, crc);
    length += ring->time_bytes;
    ring_seal(ring, crc, (uint32_t)length | partial, record_bytes(length));
    ring_publish(ring);
    if (sequence) *sequence = ring->newest;
    ring->is_reserved = false;
    *reservation = (larder_reservation){NULL, 0};
    bool wakes = larder_ring_changed(ring);
    ring_unlock(ring);
    ring_announce(ring, wakes);
    return LARDER_OK;
}

void larder_ring_abort(larder_ring *ring, larder_reservation *reservation) {
    if (reservation_is_held(ring, reservation)) {
        ring->is_reserved = false;
        // Making room may have dropped messages and moved the end to the next lap.
        ring_publish(ring);
        ring_unlock(ring);
    }
    *reservation = (larder_reservation){NULL, 0};
}

// Removing ----------------------------------------------------------------------------------------

static larder_status ring_lock_and_remove(larder_ring *ring, uint64_t through, int64_t before_ns,
                                          uint64_t *removed) {
    uint64_t unused;
    if (!removed) removed = &unused;
    *removed = 0;
    larder_status status = ring_lock_to_write(ring);
    if (status) return status;
    status = ring_remove(ring, through, before_ns, removed);
    bool wakes = larder_ring_changed(ring);
    ring_unlock(ring);
    ring_announce(ring, wakes);
    return status;
}

larder_status larder_ring_remove_through(larder_ring *ring, uint64_t sequence, uint64_t *removed) {
    return ring_lock_and_remove(ring, sequence, INT64_MAX, removed);
}

larder_status larder_ring_remove_before(larder_ring *ring, int64_t time_ns, uint64_t *removed) {
    if (removed) *removed = 0;
    if (!ring->time_bytes) return LARDER_EINVALID;
    return ring_lock_and_remove(ring, UINT64_MAX, time_ns, removed);
}
