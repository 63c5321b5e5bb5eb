// SPDX-License-Identifier: MIT
// Limits: how an index comes to have lists, and how it loses them again.
#include <errno.h>
#include <stdlib.h>

#include "index/table.h"

static bool is_unlimited(uint64_t count_limit, uint64_t cost_limit) {
    return count_limit == LARDER_INDEX_UNLIMITED && cost_limit == LARDER_INDEX_UNLIMITED;
}

void larder_index_set_limited(larder_index *index, bool is_limited) {
    index->is_limited = is_limited;
    index->notes_reads = is_limited && index->policy->hears_reads;
    index->stamps_reads = !is_limited && index->options.policy == LARDER_INDEX_LRU;
    index->marks_reads = !index->notes_reads;
}

// Entries that have stamps come into lists.
static larder_status make_lists(larder_index *index) {
    const uint64_t count = index->count;
    larder_index_slot *slots = index_memory(count + 1, sizeof *slots);
    bool *read = index_memory(count + 1, sizeof *read);
    larder_status status =
        slots != NULL && read != NULL ? larder_index_sort(index, slots) : (larder_status)ENOMEM;
    if (!status) status = larder_index_add_array(index, ARRAY_LINKS);
    if (!status && (status = index->policy->start(index, true)) != LARDER_OK)
        larder_index_drop_array(index, ARRAY_LINKS);
    if (!status) {
        larder_index_set_limited(index, true);
        size_t unpinned = 0;
        for (size_t i = 0; i < count; i++) {
            const bool was_read = larder_index_was_read(index, slots[i]);
            larder_index_move_read_mark(index, slots[i]);
            if (index_is_pinned(index, slots[i])) {
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
    larder_index_slot *slots = index_memory(index->count + 1, sizeof *slots);
    if (slots == NULL) return ENOMEM;
    (void)larder_index_sort(index, slots); // From the lists, which takes no memory.
    larder_index_drop_array(index, ARRAY_LINKS);
    larder_index_empty_lists(index);
    const bool was_told = index->notes_reads;
    larder_index_set_limited(index, false);
    for (size_t i = 0; i < index->count; i++) {
        // Without lists it would say that the entry was read since it was stored.
        const unsigned ended = MARK_LIST | MARK_USES | MARK_READ;
        *index_mark_of(index, slots[i]) &= (uint8_t)~ended;
        if (was_told) larder_index_clear_told(index, slots[i]);
        larder_index_stamp(index, slots[i]);
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
    if (cost_limit != LARDER_INDEX_UNLIMITED && index->count > 0 && index->unit_cost != 0)
        status = larder_index_make_costly(index);
    if (status) return status;
    index->count_limit = count_limit;
    index->cost_limit = cost_limit;
    if (is_limited && !was_limited) status = make_lists(index);
    else if (!is_limited && was_limited) status = drop_lists(index);
    else if (is_limited) status = index->policy->start(index, false);
    if (status) {
        index->count_limit = old_count;
        index->cost_limit = old_cost;
    }
    return status;
}

larder_status larder_index_pin(larder_index *index, larder_index_slot slot, bool pinned) {
    if (index_is_pinned(index, slot) == pinned) return LARDER_OK;
    *index_mark_of(index, slot) ^= MARK_PINNED;
    if (!index->is_limited) return LARDER_OK;
    index_list_remove(index, slot);
    if (pinned) index_list_put_first(index, LIST_PINNED, slot);
    else index->policy->inserted(index, slot);
    return LARDER_OK;
}

bool larder_index_is_pinned(const larder_index *index, larder_index_slot slot) {
    return index_is_pinned(index, slot);
}
