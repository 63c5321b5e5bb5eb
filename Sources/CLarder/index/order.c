// SPDX-License-Identifier: MIT
// Entries in the order in which they would go: from the lists, or, without limits, from the stamps.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index/table.h"

// Those that were read since they were inserted go after those that were not, as a clock's second
// chance has it; with LRU the stamp itself is of the last use, and the tag says nothing.
typedef struct ranked {
    uint64_t rank;
    larder_index_slot slot;
} ranked;

enum { RADIX_BITS = 11, RADIX_PASSES = 3, RADIX_SIZE = 1 << RADIX_BITS };

static uint32_t radix_digit(uint64_t rank, uint32_t pass) {
    return (uint32_t)(rank >> (pass * RADIX_BITS)) & (RADIX_SIZE - 1);
}

// By rank, of 33 bits, least significant digit first; n entries in three passes, whatever n is.
static void sort_ranked(ranked *items, ranked *spare, size_t count) {
    for (uint32_t pass = 0; pass < RADIX_PASSES; pass++) {
        size_t starts[RADIX_SIZE] = {0};
        for (size_t i = 0; i < count; i++) starts[radix_digit(items[i].rank, pass)]++;
        size_t sum = 0;
        for (size_t digit = 0; digit < RADIX_SIZE; digit++) {
            const size_t here = starts[digit];
            starts[digit] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            spare[starts[radix_digit(items[i].rank, pass)]++] = items[i];
        ranked *swap = items;
        items = spare;
        spare = swap;
    }
    // Three passes: the result lies in what came in as the spare.
}

// By age alone, or with those last that were read, and behind them those that are pinned.
static larder_status order_by_stamp(larder_index *index, bool by_age, larder_index_slot *slots) {
    ranked *items = index_memory(2 * index->count + 1, sizeof *items);
    if (items == NULL) return ENOMEM;
    const size_t count = (size_t)index->count;
    ranked *sorted = items + count;
    size_t i = 0;
    for (larder_index_slot slot = larder_index_step(index, LARDER_INDEX_NONE);
         slot != LARDER_INDEX_NONE; slot = larder_index_step(index, slot)) {
        const uint32_t stamp =
            atomic_load_explicit(index_stamp_of(index, slot), memory_order_relaxed);
        const bool was_read = !by_age && index->policy->hears_reads && !index->stamps_reads &&
                              larder_index_was_read(index, slot);
        items[i++] = (ranked){(uint64_t)was_read << 32 | stamp, slot};
    }
    sort_ranked(items, sorted, count);
    size_t at = 0;
    for (i = 0; i < count; i++)
        if (by_age || !index_is_pinned(index, sorted[i].slot)) slots[at++] = sorted[i].slot;
    for (i = 0; i < count && at < count; i++)
        if (index_is_pinned(index, sorted[i].slot)) slots[at++] = sorted[i].slot;
    free(items);
    return LARDER_OK;
}

static size_t list_to_slots(const larder_index *index, uint32_t list, larder_index_slot *slots) {
    size_t count = 0;
    for (larder_index_slot slot = index->lists[list].last; slot != LARDER_INDEX_NONE;
         slot = index_link_of(index, slot)->newer)
        slots[count++] = slot;
    return count;
}

larder_status larder_index_sort(larder_index *index, larder_index_slot *slots) {
    if (!index->is_limited) return order_by_stamp(index, false, slots);
    size_t count = 0;
    for (const uint8_t *list = index->policy->lists; *list != LIST_NONE; list++)
        count += list_to_slots(index, *list, slots + count);
    list_to_slots(index, LIST_PINNED, slots + count);
    return LARDER_OK;
}

void larder_index_renumber(larder_index *index) {
    // With limits there are no stamps to give. Without memory to sort in, all stamps begin again
    // from 0, and for once the order of what is there is forgotten.
    uint32_t stamp = 0;
    if (!index->is_limited) {
        larder_index_slot *slots = index_memory(index->count + 1, sizeof *slots);
        const bool is_sorted = slots != NULL && order_by_stamp(index, true, slots) == LARDER_OK;
        larder_index_slot slot = larder_index_step(index, LARDER_INDEX_NONE);
        for (size_t i = 0; i < index->count; i++) {
            const larder_index_slot at = is_sorted ? slots[i] : slot;
            atomic_store_explicit(index_stamp_of(index, at), is_sorted ? ++stamp : 0,
                                  memory_order_relaxed);
            slot = larder_index_step(index, slot);
        }
        free(slots);
    }
    atomic_store_explicit(&index->stamp, stamp, memory_order_relaxed);
}

static void reverse(larder_index_slot *slots, size_t count) {
    for (size_t i = 0; i < count / 2; i++) {
        const larder_index_slot swap = slots[i];
        slots[i] = slots[count - 1 - i];
        slots[count - 1 - i] = swap;
    }
}

larder_status larder_index_list(larder_index *index, larder_index_order order,
                                larder_index_slot *slots, size_t capacity, size_t *count) {
    const size_t wanted = capacity < index->count ? capacity : (size_t)index->count;
    *count = 0;
    if (order == LARDER_INDEX_UNORDERED) {
        for (larder_index_slot slot = larder_index_step(index, LARDER_INDEX_NONE); *count < wanted;
             slot = larder_index_step(index, slot))
            slots[(*count)++] = slot;
        return LARDER_OK;
    }
    if (wanted == 0) return LARDER_OK;
    larder_index_slot *all = index_memory(index->count, sizeof *all);
    if (all == NULL || larder_index_sort(index, all) != LARDER_OK) {
        free(all);
        return ENOMEM;
    }
    if (order == LARDER_INDEX_LAST_TO_GO) reverse(all, (size_t)index->count);
    memcpy(slots, all, wanted * sizeof *all);
    *count = wanted;
    free(all);
    return LARDER_OK;
}

void larder_index_empty_lists(larder_index *index) {
    for (uint32_t list = 0; list < LISTS; list++)
        index->lists[list] = (index_list){LARDER_INDEX_NONE, LARDER_INDEX_NONE, 0, 0};
}
