// SPDX-License-Identifier: MIT
// Deadlines: a heap of the entries that have one, the earliest on top.
//
// What puts a deadline off, as all reads and most writes do, does so in the entry alone; the heap
// keeps the earlier time and finds out when it comes to that (invariant 4). So neither costs a move
// in the heap, which has four children a node: fewer levels, and the four lie in one cache line.
#include <errno.h>
#include <stdlib.h>

#include "index/table.h"

static const larder_index_expiry never = {LARDER_INDEX_NEVER, LARDER_INDEX_NEVER,
                                          LARDER_INDEX_NEVER};

static bool is_never(const larder_index_expiry *expiry) {
    return expiry->after_write_ns == LARDER_INDEX_NEVER &&
           expiry->after_access_ns == LARDER_INDEX_NEVER && expiry->at_ns == LARDER_INDEX_NEVER;
}

static int64_t held_time(const larder_index *index) {
    return atomic_load_explicit(&index->now, memory_order_relaxed);
}

static index_times *times_of(const larder_index *index, larder_index_slot slot) {
    return &index_segment_of(index, slot)->times[index_place_of(slot)];
}

static _Atomic int64_t *deadline_of(const larder_index *index, larder_index_slot slot) {
    return &index_segment_of(index, slot)->deadlines[index_place_of(slot)];
}

// The heap ----------------------------------------------------------------------------------------

enum { HEAP_CHILDREN = 4 };

static void heap_set(larder_index *index, uint32_t position, index_deadline deadline) {
    index->heap[position] = deadline;
    times_of(index, deadline.slot)->heap_position = position;
}

static void heap_rise(larder_index *index, uint32_t position, index_deadline deadline) {
    while (position > 0) {
        const uint32_t parent = (position - 1) / HEAP_CHILDREN;
        if (index->heap[parent].at <= deadline.at) break;
        heap_set(index, position, index->heap[parent]);
        position = parent;
    }
    heap_set(index, position, deadline);
}

static void heap_sink(larder_index *index, uint32_t position, index_deadline deadline) {
    for (;;) {
        const uint32_t first = position * HEAP_CHILDREN + 1;
        if (first >= index->heap_count) break;
        uint32_t least = first;
        for (uint32_t child = first + 1; child < first + HEAP_CHILDREN && child < index->heap_count;
             child++)
            if (index->heap[child].at < index->heap[least].at) least = child;
        if (index->heap[least].at >= deadline.at) break;
        heap_set(index, position, index->heap[least]);
        position = least;
    }
    heap_set(index, position, deadline);
}

static void heap_move(larder_index *index, uint32_t position, index_deadline deadline) {
    if (position > 0 && index->heap[(position - 1) / HEAP_CHILDREN].at > deadline.at)
        heap_rise(index, position, deadline);
    else heap_sink(index, position, deadline);
}

static void heap_remove(larder_index *index, uint32_t position) {
    times_of(index, index->heap[position].slot)->heap_position = INDEX_NOT_IN_HEAP;
    const index_deadline last = index->heap[--index->heap_count];
    if (position < index->heap_count) heap_move(index, position, last);
}

// Lives -------------------------------------------------------------------------------------------

static int64_t time_after(int64_t start, int64_t duration) {
    int64_t sum;
    if (duration == LARDER_INDEX_NEVER) return LARDER_INDEX_NEVER;
    if (__builtin_add_overflow(start, duration, &sum))
        return duration < 0 ? INT64_MIN : LARDER_INDEX_NEVER - 1;
    return sum;
}

// When an entry leaves whose deadline this is.
static int64_t end_of_grace(const larder_index *index, int64_t deadline) {
    return time_after(deadline, index->grace_ns);
}

static int64_t earlier(int64_t first, int64_t second) { return first < second ? first : second; }

static const larder_index_expiry *expiry_of(const larder_index *index, larder_index_slot slot) {
    return (*index_mark_of(index, slot) & MARK_OWN_EXPIRY) != 0 ? &times_of(index, slot)->expiry
                                                                : &index->expiry;
}

// The deadline of an entry that is used now.
static int64_t deadline_now(const larder_index *index, larder_index_slot slot) {
    const larder_index_expiry *expiry = expiry_of(index, slot);
    int64_t deadline =
        earlier(time_after(held_time(index), expiry->after_access_ns), expiry->at_ns);
    // When it was written lies further away in memory, and most often does not matter.
    if (expiry->after_write_ns != LARDER_INDEX_NEVER)
        deadline =
            earlier(deadline, time_after(times_of(index, slot)->written, expiry->after_write_ns));
    return deadline;
}

static void set_deadline(larder_index *index, larder_index_slot slot) {
    index_times *times = times_of(index, slot);
    const index_deadline deadline = {deadline_now(index, slot), slot};
    const int64_t before = larder_index_deadline(index, slot);
    const bool is_in_heap = times->heap_position != INDEX_NOT_IN_HEAP;
    atomic_store_explicit(deadline_of(index, slot), deadline.at, memory_order_relaxed);
    if (deadline.at == LARDER_INDEX_NEVER) {
        if (is_in_heap) heap_remove(index, times->heap_position);
    } else if (!is_in_heap) {
        heap_rise(index, index->heap_count++, deadline);
    } else if (deadline.at < before) {
        heap_move(index, times->heap_position, deadline);
    }
}

static larder_status heap_reserve(larder_index *index, uint64_t count) {
    if (count <= index->heap_capacity) return LARDER_OK;
    uint64_t capacity = index->heap_capacity < 64 ? 64 : index->heap_capacity;
    while (capacity < count) capacity += capacity / 2;
    if (capacity > SIZE_MAX / sizeof *index->heap) return ENOMEM;
    index_deadline *heap = realloc(index->heap, (size_t)capacity * sizeof *heap);
    if (heap == NULL) return ENOMEM;
    index->heap = heap;
    index->heap_capacity = (uint32_t)capacity;
    return LARDER_OK;
}

larder_status larder_index_make_timed(larder_index *index) {
    if (heap_reserve(index, index->count + 1) != LARDER_OK) return ENOMEM;
    if (index->has_times) return LARDER_OK;
    if (larder_index_add_array(index, ARRAY_TIMES) != LARDER_OK) return ENOMEM;
    if (larder_index_add_array(index, ARRAY_DEADLINES) != LARDER_OK) {
        larder_index_drop_array(index, ARRAY_TIMES);
        return ENOMEM;
    }
    index->has_times = true;
    index->is_timed = true;
    atomic_store_explicit(&index->now, larder_index_now(index), memory_order_relaxed);
    // Nobody noted when these were written: their lives begin now, so that none ends too early.
    for (larder_index_slot slot = larder_index_step(index, LARDER_INDEX_NONE);
         slot != LARDER_INDEX_NONE; slot = larder_index_step(index, slot)) {
        index_times *times = times_of(index, slot);
        times->written = held_time(index);
        times->expiry = never;
        times->heap_position = INDEX_NOT_IN_HEAP;
        atomic_store_explicit(deadline_of(index, slot), LARDER_INDEX_NEVER, memory_order_relaxed);
    }
    return LARDER_OK;
}

void larder_index_begin_life(larder_index *index, larder_index_slot slot) {
    if (!index->has_times) return;
    index_times *times = times_of(index, slot);
    times->written = held_time(index);
    *index_mark_of(index, slot) &= (uint8_t) ~(unsigned)MARK_OWN_EXPIRY;
    set_deadline(index, slot);
}

void larder_index_end_life(larder_index *index, larder_index_slot slot) {
    if (index->has_times && times_of(index, slot)->heap_position != INDEX_NOT_IN_HEAP)
        heap_remove(index, times_of(index, slot)->heap_position);
}

void larder_index_extend_life(const larder_index *index, larder_index_slot slot) {
    // An entry's own expiry is a line of memory more, which most caches never need.
    if (!index->extends_lives) return;
    if (expiry_of(index, slot)->after_access_ns == LARDER_INDEX_NEVER) return;
    atomic_store_explicit(deadline_of(index, slot), deadline_now(index, slot),
                          memory_order_relaxed);
}

// Calls -------------------------------------------------------------------------------------------

larder_status larder_index_set_expiry(larder_index *index, const larder_index_expiry *expiry) {
    if (is_never(expiry) && !index->has_times) {
        index->expiry = *expiry;
        return LARDER_OK;
    }
    const larder_status status = larder_index_make_timed(index);
    if (status) return status;
    index->expiry = *expiry;
    if (expiry->after_access_ns != LARDER_INDEX_NEVER) index->extends_lives = true;
    for (larder_index_slot slot = larder_index_step(index, LARDER_INDEX_NONE);
         slot != LARDER_INDEX_NONE; slot = larder_index_step(index, slot))
        if ((*index_mark_of(index, slot) & MARK_OWN_EXPIRY) == 0) set_deadline(index, slot);
    return LARDER_OK;
}

larder_status larder_index_set_entry_expiry(larder_index *index, larder_index_slot slot,
                                            const larder_index_expiry *expiry) {
    if (expiry == NULL && !index->has_times) return LARDER_OK;
    const larder_status status = larder_index_make_timed(index);
    if (status) return status;
    uint8_t *mark = index_mark_of(index, slot);
    if (expiry != NULL) {
        *mark |= MARK_OWN_EXPIRY;
        times_of(index, slot)->expiry = *expiry;
        if (expiry->after_access_ns != LARDER_INDEX_NEVER) index->extends_lives = true;
    } else {
        *mark &= (uint8_t) ~(unsigned)MARK_OWN_EXPIRY;
    }
    set_deadline(index, slot);
    return LARDER_OK;
}

void larder_index_set_grace(larder_index *index, int64_t grace_ns) {
    index->grace_ns = grace_ns > 0 ? grace_ns : 0;
}

bool larder_index_has_passed(const larder_index *index, int64_t time) {
    return index_has_passed(index, time);
}

int64_t larder_index_deadline(const larder_index *index, larder_index_slot slot) {
    return index->has_times ? atomic_load_explicit(deadline_of(index, slot), memory_order_relaxed)
                            : LARDER_INDEX_NEVER;
}

int64_t larder_index_last_use(const larder_index *index, larder_index_slot slot) {
    const int64_t deadline = larder_index_deadline(index, slot);
    if (deadline == LARDER_INDEX_NEVER) return LARDER_INDEX_NEVER;
    const larder_index_expiry *expiry = expiry_of(index, slot);
    const int64_t end =
        earlier(expiry->at_ns, time_after(times_of(index, slot)->written, expiry->after_write_ns));
    int64_t used;
    // A duration that is too long to be added was cut.
    const bool tells = expiry->after_access_ns != LARDER_INDEX_NEVER && deadline < end &&
                       deadline < LARDER_INDEX_NEVER - 1 &&
                       !__builtin_sub_overflow(deadline, expiry->after_access_ns, &used);
    return tells ? used : LARDER_INDEX_NEVER;
}

// Uses --------------------------------------------------------------------------------------------

// Whether a use of the entry can be told of. Of one that has expired it must be known when it was.
static bool is_use_known(const larder_index *index, larder_index_slot slot) {
    const int64_t deadline = larder_index_deadline(index, slot);
    return deadline == LARDER_INDEX_NEVER || !index_has_passed(index, deadline) ||
           larder_index_last_use(index, slot) != LARDER_INDEX_NEVER;
}

int64_t larder_index_unlisted_use(const larder_index *index, larder_index_slot slot) {
    if (!larder_index_is_unlisted(index, slot) || !is_use_known(index, slot)) return INT64_MIN;
    return larder_index_last_use(index, slot);
}

void larder_index_take_reads(larder_index *index, larder_index_slot *from, larder_index_slot *slots,
                             size_t capacity, size_t *count) {
    *count = 0;
    for (uint32_t passed = 0; passed < LARDER_INDEX_TAKE_MAX_COUNT && *count < capacity; passed++) {
        *from = larder_index_step(index, *from);
        if (*from == LARDER_INDEX_NONE) return;
        if (larder_index_take_read(index, *from) && is_use_known(index, *from))
            slots[(*count)++] = *from;
    }
}

int64_t larder_index_next_deadline(const larder_index *index) {
    return index->heap_count > 0 ? end_of_grace(index, index->heap[0].at) : LARDER_INDEX_NEVER;
}

bool larder_index_is_due(const larder_index *index) {
    if (index->heap_count == 0) return false;
    // Who held the index before may have looked at the finer clock.
    const int64_t at = end_of_grace(index, index->heap[0].at);
    return at <= held_time(index) || at <= larder_index_now(index);
}

larder_index_slot larder_index_expire(larder_index *index) {
    while (index->heap_count > 0 && end_of_grace(index, index->heap[0].at) <= held_time(index)) {
        const larder_index_slot slot = index->heap[0].slot;
        const int64_t deadline = end_of_grace(index, larder_index_deadline(index, slot));
        if (deadline <= held_time(index)) {
            larder_index_take(index, slot, LARDER_INDEX_EXPIRED);
            return slot;
        }
        heap_sink(index, 0, (index_deadline){larder_index_deadline(index, slot), slot});
    }
    return LARDER_INDEX_NONE;
}
