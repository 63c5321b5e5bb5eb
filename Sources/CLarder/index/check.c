// SPDX-License-Identifier: MIT
// Walks an index and checks the invariants of index/table.h.
#include "index/table.h"

static bool is_list_of(const larder_index *index, uint32_t list) {
    if (list == LIST_PINNED) return true;
    for (const uint8_t *at = index->policy->lists; *at != LIST_NONE; at++)
        if (*at == list) return true;
    return false;
}

static const char *check_list(const larder_index *index, uint32_t list) {
    const index_list *at = &index->lists[list];
    uint64_t count = 0;
    index_total cost = 0;
    larder_index_slot before = LARDER_INDEX_NONE;
    for (larder_index_slot slot = at->first; slot != LARDER_INDEX_NONE;
         slot = index_link_of(index, slot)->older) {
        if (++count > at->count) return "a list has more entries than it says, or goes in a circle";
        if (index_link_of(index, slot)->newer != before)
            return "two neighbours in a list do not agree";
        if (index_list_of(index, slot) != list)
            return "an entry is marked for another list than it is in";
        // Where all cost the same, lists need not add it up.
        if (index->has_costs) cost += larder_index_cost(index, slot);
        before = slot;
    }
    if (cost != at->cost) return "the cost of a list is not the sum of its entries' costs";
    if (at->last != before) return "a list's last entry is another one";
    return count == at->count ? NULL : "a list has fewer entries than it says";
}

// Invariant 3.
static const char *check_lists(const larder_index *index) {
    uint64_t count = 0;
    for (uint32_t list = 0; list < LISTS; list++) {
        const index_list *at = &index->lists[list];
        if (at->count == 0 && at->cost == 0 && at->first == LARDER_INDEX_NONE &&
            at->last == LARDER_INDEX_NONE)
            continue;
        if (!index->is_limited) return "an index without limits has lists";
        if (!is_list_of(index, list)) return "entries are in a list that the policy does not have";
        const char *reason = check_list(index, list);
        if (reason != NULL) return reason;
        count += at->count;
    }
    if (index->is_limited && count != index->count) return "an entry is in no list, or in two";
    return index->is_limited && index->policy->check != NULL ? index->policy->check(index) : NULL;
}

// Invariant 4.
static const char *check_heap(const larder_index *index) {
    for (uint32_t i = 0; i < index->heap_count; i++) {
        const index_deadline *deadline = &index->heap[i];
        if (i > 0 && index->heap[(i - 1) / 4].at > deadline->at)
            return "the heap of deadlines is out of order";
        const index_times *times =
            &index_segment_of(index, deadline->slot)->times[index_place_of(deadline->slot)];
        if (times->heap_position != i) return "an entry does not know its place in the heap";
        if (larder_index_deadline(index, deadline->slot) < deadline->at)
            return "an entry is due before the heap says so";
    }
    return NULL;
}

static const char *check_entries(const larder_index *index) {
    index_total cost = 0;
    uint64_t timed = 0;
    for (larder_index_slot slot = larder_index_step(index, LARDER_INDEX_NONE);
         slot != LARDER_INDEX_NONE; slot = larder_index_step(index, slot)) {
        const uint32_t list = index_list_of(index, slot);
        cost += larder_index_cost(index, slot);
        timed += larder_index_deadline(index, slot) != LARDER_INDEX_NEVER;
        if (!index->is_limited && list != LIST_NONE)
            return "an entry of an index without limits is marked for a list";
        if (index->is_limited && (list == LIST_PINNED) != index_is_pinned(index, slot))
            return "pinned entries are others than those in the list of pinned ones";
    }
    if (cost != index->total_cost) return "the total cost is not the sum of costs";
    return timed == index->heap_count ? NULL : "the heap has others than those with a deadline";
}

larder_status larder_index_check(const larder_index *index, const char **reason) {
    const char *found = larder_index_segments_check(index);
    if (found == NULL) found = check_lists(index);
    if (found == NULL) found = check_heap(index);
    if (found == NULL) found = check_entries(index);
    if (reason != NULL) *reason = found;
    return found == NULL ? LARDER_OK : LARDER_EDAMAGED;
}
