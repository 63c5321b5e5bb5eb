// SPDX-License-Identifier: MIT
// The index: entries come and go, within limits. Where they lie is in index_segment.c, which goes
// first in index_policy_*.c, how readers and writers keep apart in index_lock.c.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index_internal.h"

enum {
    PAYLOAD_MAX_BYTES = 1 << 20,
    ALIGNMENT_MAX = 4096,
    GROUP_HEAD_BYTES = 16,
    ENTRIES_MAX = 1 << 30,
};

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

static const index_policy *policy_of(larder_index_policy policy) {
    switch (policy) {
    case LARDER_INDEX_LRU: return &index_policy_lru;
    case LARDER_INDEX_FIFO: return &index_policy_fifo;
    case LARDER_INDEX_S3FIFO: return &index_policy_s3fifo;
    case LARDER_INDEX_ADAPTIVE: return &index_policy_adaptive;
    }
    return NULL;
}

static bool is_unlimited(uint64_t count_limit, uint64_t cost_limit) {
    return count_limit == LARDER_INDEX_UNLIMITED && cost_limit == LARDER_INDEX_UNLIMITED;
}

// What readers do with a hit follows from the policy and from whether there are lists.
static void set_limited(larder_index *index, bool is_limited) {
    index->is_limited = is_limited;
    index->notes_reads = is_limited && index->policy->hears_reads;
    index->stamps_reads = !is_limited && index->options.policy == LARDER_INDEX_LRU;
    index->marks_reads = !is_limited && index->policy->hears_reads && !index->stamps_reads;
}

// Creating ----------------------------------------------------------------------------------------

void larder_index_options_init(larder_index_options *options) {
    *options = (larder_index_options){
        .policy = LARDER_INDEX_ADAPTIVE,
        .payload_bytes = 16,
        .payload_alignment = 8,
        .count_limit = LARDER_INDEX_UNLIMITED,
        .cost_limit = LARDER_INDEX_UNLIMITED,
    };
}

static void index_empty_lists(larder_index *index) {
    for (uint32_t list = 0; list < LISTS; list++)
        index->lists[list] = (index_list){LARDER_INDEX_NONE, LARDER_INDEX_NONE, 0};
}

static larder_status index_set_up(larder_index *index) {
    const larder_index_options *options = &index->options;
    const size_t alignment =
        options->payload_alignment < 16 ? 16 : (size_t)options->payload_alignment;
    index->payload_stride = (uint32_t)round_up(options->payload_bytes, options->payload_alignment);
    index->payload_offset = (uint32_t)round_up(GROUP_HEAD_BYTES, options->payload_alignment);
    index->group_stride = (uint32_t)round_up(
        index->payload_offset + (size_t)GROUP_PLACES * index->payload_stride, alignment);
    index->policy = policy_of(options->policy);
    index->count_limit = options->count_limit;
    index->cost_limit = options->cost_limit;
    index->newest = LARDER_INDEX_NONE;
    index->expiry =
        (larder_index_expiry){LARDER_INDEX_NEVER, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
    atomic_init(&index->stamp, INDEX_STAMPS_BEGIN);
    atomic_init(&index->now, INT64_MIN);
    atomic_init(&index->reads_exclusively, options->policy == LARDER_INDEX_LRU);
    set_limited(index, !is_unlimited(index->count_limit, index->cost_limit));
    index_empty_lists(index);
    larder_status status = index_readers_create(index);
    if (status == LARDER_OK) status = index_segments_create(index);
    if (status == LARDER_OK && index->is_limited) status = index->policy->start(index, true);
    return status;
}

larder_status larder_index_create(const larder_index_options *options, larder_index **out) {
    *out = NULL;
    const size_t alignment = options->payload_alignment;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > ALIGNMENT_MAX ||
        options->payload_bytes > PAYLOAD_MAX_BYTES || policy_of(options->policy) == NULL)
        return LARDER_EINVALID;
    void *memory = NULL;
    if (posix_memalign(&memory, _Alignof(larder_index), sizeof(larder_index)) != 0) return ENOMEM;
    larder_index *index = memset(memory, 0, sizeof *index);
    index->options = *options;
    const larder_status status = index_set_up(index);
    if (status != LARDER_OK) larder_index_destroy(index);
    else *out = index;
    return status;
}

void larder_index_destroy(larder_index *index) {
    if (index == NULL) return;
    index->policy->stop(index);
    index_segments_destroy(index);
    index_readers_destroy(index);
    free(index->heap);
    free(index);
}

// Coming and going --------------------------------------------------------------------------------

static uint64_t *cost_of(const larder_index *index, larder_index_slot slot) {
    return &index_segment_of(index, slot)->costs[index_place_of(slot)];
}

static larder_status make_costly(larder_index *index) {
    if (index->has_costs) return LARDER_OK;
    const larder_status status = index_add_array(index, ARRAY_COSTS);
    index->has_costs = status == LARDER_OK;
    return status;
}

static void set_cost(larder_index *index, larder_index_slot slot, uint64_t cost) {
    if (!index->has_costs) return;
    uint64_t *at = cost_of(index, slot);
    index->total_cost = index->total_cost - *at + cost;
    *at = cost;
}

static void stamp(larder_index *index, larder_index_slot slot) {
    atomic_store_explicit(index_stamp_of(index, slot), index_next_stamp(index),
                          memory_order_relaxed);
}

void index_used(larder_index *index, larder_index_slot slot) {
    if (index->is_limited) {
        if (index_list_of(index, slot) != LIST_PINNED) index->policy->touched(index, slot);
    } else if (index->stamps_reads) {
        stamp(index, slot);
    } else if (index->marks_reads) {
        index_mark_read(index, slot);
    }
}

larder_status larder_index_insert(larder_index *index, uint64_t hash, uint64_t cost,
                                  larder_index_slot *slot) {
    *slot = LARDER_INDEX_NONE;
    if (index->count >= ENTRIES_MAX || (cost != 0 && make_costly(index) != LARDER_OK) ||
        (index->has_times && index_make_timed(index) != LARDER_OK) ||
        index_place(index, hash, slot) != LARDER_OK)
        return ENOMEM;
    index->count++;
    index->insertions++;
    index->newest = *slot;
    if (index->has_costs) {
        *cost_of(index, *slot) = 0;
        set_cost(index, *slot, cost);
    }
    if (index->has_times) {
        index_segment_of(index, *slot)->times[index_place_of(*slot)].heap_position =
            INDEX_NOT_IN_HEAP;
        index_begin_life(index, *slot);
    }
    if (index->is_limited) index->policy->inserted(index, *slot);
    else stamp(index, *slot);
    return LARDER_OK;
}

void larder_index_rewrite(larder_index *index, larder_index_slot slot, uint64_t cost) {
    if (cost == 0 || make_costly(index) == LARDER_OK) set_cost(index, slot, cost);
    index->gone[LARDER_INDEX_REPLACED]++;
    index->newest = slot;
    index_begin_life(index, slot);
    index_used(index, slot);
}

void larder_index_touch(larder_index *index, larder_index_slot slot) {
    if (index->is_timed) index_extend_life(index, slot);
    index_used(index, slot);
}

void larder_index_take(larder_index *index, larder_index_slot slot, larder_index_cause cause) {
    if (index->is_limited) index_list_remove(index, slot);
    index_end_life(index, slot);
    set_cost(index, slot, 0);
    index_vacate(index, slot);
    index->count--;
    index->gone[cause < LARDER_INDEX_CAUSES ? cause : LARDER_INDEX_REMOVED]++;
    if (index->newest == slot) index->newest = LARDER_INDEX_NONE;
}

// Whether the entry that was written just now is heavier than the limit, all alone.
static bool is_newest_too_heavy(const larder_index *index) {
    return index->has_costs && index->newest != LARDER_INDEX_NONE &&
           *cost_of(index, index->newest) > index->cost_limit &&
           index_list_of(index, index->newest) != LIST_PINNED;
}

larder_index_slot larder_index_evict(larder_index *index, larder_index_cause *cause) {
    if (!index->is_limited) return LARDER_INDEX_NONE;
    const bool is_over_count = index->count > index->count_limit;
    if (!is_over_count &&
        (index->total_cost <= index->cost_limit || index->cost_limit == LARDER_INDEX_UNLIMITED))
        return LARDER_INDEX_NONE;
    larder_index_slot slot = index->newest;
    larder_index_cause reason = LARDER_INDEX_EVICTED_COST;
    if (!is_newest_too_heavy(index)) {
        if (index->count == index->lists[LIST_PINNED].count) return LARDER_INDEX_NONE;
        slot = index->policy->victim(index);
        reason = is_over_count ? LARDER_INDEX_EVICTED_COUNT : LARDER_INDEX_EVICTED_COST;
    }
    larder_index_take(index, slot, reason);
    if (cause != NULL) *cause = reason;
    return slot;
}

void larder_index_clear(larder_index *index, bool keep_capacity) {
    index->gone[LARDER_INDEX_REMOVED] += index->count;
    index->count = 0;
    index->total_cost = 0;
    index->heap_count = 0;
    index->newest = LARDER_INDEX_NONE;
    index_empty_lists(index);
    index_segments_clear(index, keep_capacity);
    if (!index->is_limited) return;
    // What cannot be made afresh for want of memory is kept: it only remembers.
    const larder_status forgotten = index->policy->start(index, true);
    (void)forgotten;
}

// Limits ------------------------------------------------------------------------------------------

static bool is_pinned(const larder_index *index, larder_index_slot slot) {
    return (*index_mark_of(index, slot) & MARK_PINNED) != 0;
}

// Entries that have stamps come into lists.
static larder_status make_lists(larder_index *index) {
    const size_t count = index->count;
    larder_index_slot *slots = malloc((count + 1) * sizeof *slots);
    bool *read = malloc((count + 1) * sizeof *read);
    larder_status status =
        slots != NULL && read != NULL ? index_order(index, slots) : (larder_status)ENOMEM;
    if (status == LARDER_OK) status = index_add_array(index, ARRAY_LINKS);
    if (status == LARDER_OK && (status = index->policy->start(index, true)) != LARDER_OK)
        index_drop_array(index, ARRAY_LINKS);
    if (status == LARDER_OK) {
        set_limited(index, true);
        size_t unpinned = 0;
        for (size_t i = 0; i < count; i++) {
            const bool was_read = index_take_read_mark(index, slots[i]);
            if (is_pinned(index, slots[i])) {
                index_list_put_first(index, LIST_PINNED, slots[i]);
                continue;
            }
            slots[unpinned] = slots[i];
            read[unpinned++] = was_read;
        }
        index->policy->adopt(index, slots, read, unpinned);
    }
    free(slots);
    free(read);
    return status;
}

// The other way: what was first to go has the lowest stamp.
static larder_status drop_lists(larder_index *index) {
    larder_index_slot *slots = malloc((size_t)(index->count + 1) * sizeof *slots);
    if (slots == NULL || index_order(index, slots) != LARDER_OK) {
        free(slots);
        return ENOMEM;
    }
    index_drop_array(index, ARRAY_LINKS);
    index_empty_lists(index);
    set_limited(index, false);
    for (size_t i = 0; i < index->count; i++) {
        *index_mark_of(index, slots[i]) &= (uint8_t) ~(unsigned)(MARK_LIST | MARK_USES);
        stamp(index, slots[i]);
    }
    free(slots);
    return LARDER_OK;
}

larder_status larder_index_set_limits(larder_index *index, uint64_t count_limit,
                                      uint64_t cost_limit) {
    const uint64_t old_count = index->count_limit, old_cost = index->cost_limit;
    const bool was_limited = index->is_limited;
    const bool is_limited = !is_unlimited(count_limit, cost_limit);
    larder_status status = LARDER_OK;
    index->count_limit = count_limit;
    index->cost_limit = cost_limit;
    if (is_limited && !was_limited) status = make_lists(index);
    else if (!is_limited && was_limited) status = drop_lists(index);
    else if (is_limited) status = index->policy->start(index, false);
    if (status != LARDER_OK) {
        index->count_limit = old_count;
        index->cost_limit = old_cost;
    }
    return status;
}

larder_status larder_index_pin(larder_index *index, larder_index_slot slot, bool pinned) {
    if (is_pinned(index, slot) == pinned) return LARDER_OK;
    *index_mark_of(index, slot) ^= MARK_PINNED;
    if (!index->is_limited) return LARDER_OK;
    index_list_remove(index, slot);
    if (pinned) index_list_put_first(index, LIST_PINNED, slot);
    else index->policy->inserted(index, slot);
    return LARDER_OK;
}

bool larder_index_is_pinned(const larder_index *index, larder_index_slot slot) {
    return is_pinned(index, slot);
}

// Asking ------------------------------------------------------------------------------------------

uint64_t larder_index_count(const larder_index *index) { return index->count; }

uint64_t larder_index_total_cost(const larder_index *index) {
    return index->total_cost > UINT64_MAX ? UINT64_MAX : (uint64_t)index->total_cost;
}

uint64_t larder_index_cost(const larder_index *index, larder_index_slot slot) {
    return index->has_costs ? *cost_of(index, slot) : 0;
}

void larder_index_get_statistics(const larder_index *index, larder_index_statistics *statistics) {
    *statistics = (larder_index_statistics){.insertions = index->insertions};
    memcpy(statistics->gone, index->gone, sizeof index->gone);
    for (uint32_t at = 0; at <= index->reader_mask; at++) {
        statistics->hits += index->readers[at].hits;
        statistics->misses += index->readers[at].misses;
    }
    statistics->memory_bytes = sizeof *index + index_segments_bytes(index) + index->policy_bytes +
                               (uint64_t)index->heap_capacity * sizeof *index->heap +
                               ((uint64_t)index->reader_mask + 1) * sizeof *index->readers;
}

void larder_index_reset_statistics(larder_index *index) {
    index->insertions = 0;
    memset(index->gone, 0, sizeof index->gone);
    for (uint32_t at = 0; at <= index->reader_mask; at++)
        index->readers[at].hits = index->readers[at].misses = 0;
}
