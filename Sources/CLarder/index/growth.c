// SPDX-License-Identifier: MIT
// How segments grow and split, and the directory that leads to them (Fagin et al., "Extendible
// hashing", ACM TODS 1979).
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index/group.h"

/** A directory has at most so many more bits than its entries need. */
enum { DEPTH_SLACK = 3 };

// All that knows a slot hears of the new one.
static void entry_moved(larder_index *index, larder_index_slot source, larder_index_slot target) {
    if (index->newest == source) index->newest = target;
    if (index->has_times) {
        const index_times *times = &index_segment_of(index, target)->times[index_place_of(target)];
        if (times->heap_position != INDEX_NOT_IN_HEAP)
            index->heap[times->heap_position].slot = target;
    }
    const uint32_t list = index_list_of(index, target);
    if (list == LIST_NONE) return;
    const index_link link = *index_link_of(index, target);
    if (link.newer == LARDER_INDEX_NONE) index->lists[list].first = target;
    else index_link_of(index, link.newer)->older = target;
    if (link.older == LARDER_INDEX_NONE) index->lists[list].last = target;
    else index_link_of(index, link.older)->newer = target;
}

// Payloads are a multiple of 8 bytes long in all but odd cases: words are quicker than a call.
static void payload_copy(void *target, const void *source, uint32_t bytes) {
    if (bytes == 16) {
        memcpy(target, source, 16);
        return;
    }
    if (bytes % 8 != 0 || bytes > 64) {
        memcpy(target, source, bytes);
        return;
    }
    for (uint32_t at = 0; at < bytes; at += 8)
        memcpy((char *)target + at, (const char *)source + at, 8);
}

// What lies beside the groups. Both segments are registered: links between entries of the two
// resolve at every step.
static void entry_move_rest(larder_index *index, const index_segment *from, uint32_t place,
                            index_segment *to, uint32_t target) {
    if (from->marks[place] != 0) to->marks[target] = from->marks[place];
    to->entries[target].hash = from->entries[place].hash;
    atomic_store_explicit(&to->entries[target].stamp,
                          atomic_load_explicit(&from->entries[place].stamp, memory_order_relaxed),
                          memory_order_relaxed);
    if (index->is_limited) to->links[target] = from->links[place];
    if (index->has_costs) to->costs[target] = from->costs[place];
    if (index->has_times) {
        const int64_t deadline =
            atomic_load_explicit(&from->deadlines[place], memory_order_relaxed);
        atomic_store_explicit(&to->deadlines[target], deadline, memory_order_relaxed);
        to->times[target] = from->times[place];
    }
    if (index->is_limited || index->has_times || index->newest != LARDER_INDEX_NONE)
        entry_moved(index, from->id << SEGMENT_SHIFT | place, to->id << SEGMENT_SHIFT | target);
}

// In a segment of a directory's depth d, the entries whose next bit is set.
static bool goes_right(const index_segment *segment, uint32_t word) {
    return (word >> (31 - segment->depth) & 1) != 0;
}

// Leads what led to the segment that a word is in, of so many bits in common, to others.
static void directory_lead(larder_index *index, uint32_t word, uint32_t depth,
                           const index_segment *left, const index_segment *right) {
    const uint64_t count = UINT64_C(1) << (index->directory_depth - depth);
    const uint64_t first = ((uint64_t)word << depth >> 32) * count;
    for (uint64_t i = 0; i < count; i++)
        index->directory[first + i] =
            larder_index_directory_entry(left == right || i < count / 2 ? left : right);
}

// A segment that is being filled. Which places are taken is kept aside: to read a group's tags
// right after one of them was written would wait for that write.
typedef struct filling {
    index_segment *segment;
    uint16_t taken[SEGMENT_GROUPS_MAX];
} filling;

static uint32_t filling_place(const larder_index *index, filling *into, uint32_t word,
                              uint8_t tag) {
    index_segment *segment = into->segment;
    const uint32_t all = (1u << GROUP_PLACES) - 1;
    uint32_t group = home_group(segment, word);
    while (into->taken[group] == all) {
        group_count_overflow(group_at(index, segment, group));
        group = next_group(segment, group);
    }
    const uint32_t in_group = choose_place(all & ~(uint32_t)into->taken[group], tag);
    into->taken[group] |= (uint16_t)(1u << in_group);
    tag_set(group_at(index, segment, group), in_group, tag);
    return group * GROUP_PLACES + in_group;
}

static void segment_empty_into(larder_index *index, index_segment *old, uint32_t word_there,
                               index_segment *left, index_segment *right) {
    filling into[2] = {{.segment = left}, {.segment = right}};
    const uint32_t offset = index->payload_offset, stride = index->payload_stride;
    const bool is_split = left != right;
    directory_lead(index, word_there, old->depth, left, right);
    for (uint32_t group = 0; group < old->group_count; group++) {
        uint8_t *source = group_at(index, old, group);
        uint32_t used = ~group_matches(source, 0) & ((1u << GROUP_PLACES) - 1);
        for (; used != 0; used &= used - 1) {
            const uint32_t in_group = (uint32_t)__builtin_ctz(used);
            const uint32_t place = group * GROUP_PLACES + in_group;
            const uint32_t word = old->entries[place].hash;
            filling *to = &into[is_split && goes_right(old, word)];
            const uint32_t target = filling_place(index, to, word, tag_get(source, in_group));
            void *target_payload = index_payload_at(index, to->segment, target);
            void *source_payload = source + offset + (size_t)in_group * stride;
            if (index->options.move != NULL)
                index->options.move(target_payload, source_payload, index->options.context);
            else payload_copy(target_payload, source_payload, stride);
            to->segment->used++;
            entry_move_rest(index, old, place, to->segment, target);
        }
    }
    larder_index_segment_unregister(index, old);
    larder_index_segment_destroy(old);
}

// Groups for so many entries, two thirds full.
static uint32_t groups_for(uint32_t entries) {
    const uint32_t groups = (entries * 3 / 2 + GROUP_PLACES - 1) / GROUP_PLACES;
    return groups < 1 ? 1 : groups > SEGMENT_GROUPS_MAX ? SEGMENT_GROUPS_MAX : groups;
}

static larder_status segment_enlarge(larder_index *index, index_segment *old, uint32_t word) {
    const uint32_t count = old->group_count;
    const uint32_t larger =
        count < SEGMENT_GROUPS_MAX / 2 ? 2 * count : (uint32_t)SEGMENT_GROUPS_MAX;
    if (larder_index_reserve_ids(index, 1) != LARDER_OK) return ENOMEM;
    index_segment *segment = larder_index_segment_create(index, larger, old->depth);
    if (segment == NULL) return ENOMEM;
    larder_index_segment_register(index, segment);
    segment_empty_into(index, old, word, segment, segment);
    return LARDER_OK;
}

static larder_status directory_double(larder_index *index) {
    const uint64_t count = UINT64_C(1) << index->directory_depth;
    index_way *directory = index_memory(2 * count, sizeof *directory);
    if (directory == NULL) return ENOMEM;
    for (uint64_t i = 0; i < 2 * count; i++) directory[i] = index->directory[i / 2];
    free(index->directory);
    index->directory = directory;
    index->directory_depth++;
    return LARDER_OK;
}

// Whether to split is worth a directory of that size; hashes with few different bits in front would
// have it grow without end.
static bool may_split(const larder_index *index, const index_segment *segment) {
    if (segment->depth < index->directory_depth) return true;
    return index->directory_depth < 28 &&
           (UINT64_C(1024) << index->directory_depth) <= index->count << DEPTH_SLACK;
}

static larder_status segment_split(larder_index *index, index_segment *old, uint32_t word) {
    uint32_t right_count = 0;
    for (uint32_t place = 0; place < segment_places(old); place++) {
        const uint8_t *group = group_at(index, old, place / GROUP_PLACES);
        if (tag_get(group, place % GROUP_PLACES) != 0)
            right_count += goes_right(old, old->entries[place].hash);
    }
    if (larder_index_reserve_ids(index, 2) != LARDER_OK ||
        (old->depth == index->directory_depth && directory_double(index) != LARDER_OK))
        return ENOMEM;
    const uint32_t left_count = old->used - right_count;
    index_segment *left =
        larder_index_segment_create(index, groups_for(left_count), old->depth + 1);
    index_segment *right =
        larder_index_segment_create(index, groups_for(right_count), old->depth + 1);
    if (left == NULL || right == NULL) {
        larder_index_segment_destroy(left);
        larder_index_segment_destroy(right);
        return ENOMEM;
    }
    larder_index_segment_register(index, left);
    larder_index_segment_register(index, right);
    segment_empty_into(index, old, word, left, right);
    return LARDER_OK;
}

// A further segment for hashes that cannot be told apart.
static larder_status segment_chain(larder_index *index, index_segment *last, uint32_t word) {
    if (larder_index_reserve_ids(index, 1) != LARDER_OK) return ENOMEM;
    index_segment *segment = larder_index_segment_create(index, SEGMENT_GROUPS_MAX, last->depth);
    if (segment == NULL) return ENOMEM;
    larder_index_segment_register(index, segment);
    last->next = segment;
    const index_segment *head = directory_at(index, word);
    directory_lead(index, word, head->depth, head, head);
    return LARDER_OK;
}

larder_status larder_index_place(larder_index *index, uint64_t hash, larder_index_slot *slot) {
    const uint32_t word = hash_word(hash);
    index_segment *segment = directory_at(index, word);
    while (segment->used >= segment_room(segment)) {
        larder_status status = LARDER_OK;
        if (segment->next != NULL) {
            segment = segment->next;
            continue;
        }
        const bool is_chained = segment != directory_at(index, word);
        if (segment->group_count < SEGMENT_GROUPS_MAX)
            status = segment_enlarge(index, segment, word);
        else if (!is_chained && may_split(index, segment))
            status = segment_split(index, segment, word);
        else status = segment_chain(index, segment, word);
        if (status) return status;
        segment = directory_at(index, word);
    }
    const uint32_t place = segment_place(index, segment, word, hash_tag(hash));
    *slot = segment->id << SEGMENT_SHIFT | place;
    return LARDER_OK;
}
