// SPDX-License-Identifier: MIT
// How segments grow and split, and the directory that leads to them (Fagin et al., "Extendible
// hashing", ACM TODS 1979).
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index/group.h"

enum {
    /** A directory has at most so many more bits than its entries need. */
    DEPTH_SLACK = 3,
    /** With a limit of entries a segment grows eightfold at once, or into as many as that will
        want: few entries move on the way there. */
    PLANNED_BITS = 3,
    PARTS_MAX = 1 << PLANNED_BITS,
    /** A higher limit is no plan. */
    PLANNED_LIMIT_MAX = 1 << 24,
    /** The entries of a segment at the limit, at most: four fifths of its places. */
    PLANNED_MAX = SEGMENT_GROUPS_MAX * GROUP_PLACES * 4 / 5,
};

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

// The next bits of a word after the first `depth`.
static uint32_t bits_after(uint32_t word, uint32_t depth, uint32_t bits) {
    return (uint32_t)(((uint64_t)word << depth & UINT32_MAX) >> (32 - bits));
}

// Leads what led to the segment that a word is in, of so many bits in common, to `1 << bits`
// others, in their order.
static void directory_lead(larder_index *index, uint32_t word, uint32_t depth,
                           index_segment *const *parts, uint32_t bits) {
    const uint32_t free_bits = index->directory_depth - depth;
    const uint64_t first = ((uint64_t)word << depth >> 32) << free_bits;
    for (uint64_t i = 0; i < UINT64_C(1) << free_bits; i++)
        index->directory[first + i] = larder_index_directory_entry(parts[i >> (free_bits - bits)]);
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
                               index_segment *const *parts, uint32_t bits) {
    filling into[PARTS_MAX];
    const uint32_t offset = index->payload_offset, stride = index->payload_stride;
    for (uint32_t i = 0; i < 1u << bits; i++) {
        into[i] = (filling){.segment = parts[i]};
        parts[i]->turn = old->turn;
    }
    directory_lead(index, word_there, old->depth, parts, bits);
    for (uint32_t group = 0; group < old->group_count; group++) {
        uint8_t *source = group_at(index, old, group);
        uint32_t used = ~group_matches(source, 0) & ((1u << GROUP_PLACES) - 1);
        for (; used != 0; used &= used - 1) {
            const uint32_t in_group = (uint32_t)__builtin_ctz(used);
            const uint32_t place = group * GROUP_PLACES + in_group;
            const uint32_t word = old->entries[place].hash;
            filling *to = &into[bits_after(word, old->depth, bits)];
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

// How many entries a segment of this depth has when the limit of entries is reached; 0: who knows.
static uint32_t planned_entries(const larder_index *index, uint32_t depth) {
    return index->count_limit > PLANNED_LIMIT_MAX ? 0 : (uint32_t)index->count_limit >> depth;
}

static larder_status segment_enlarge(larder_index *index, index_segment *old, uint32_t word) {
    const uint32_t planned = groups_for(planned_entries(index, old->depth));
    uint32_t larger = 2 * old->group_count;
    if (larger < planned) {
        larger = old->group_count << PLANNED_BITS;
        if (larger > planned / 2) larger = planned;
    }
    if (larger > SEGMENT_GROUPS_MAX) larger = SEGMENT_GROUPS_MAX;
    if (larder_index_reserve_ids(index, 1) != LARDER_OK) return ENOMEM;
    index_segment *segment = larder_index_segment_create(index, larger, old->depth);
    if (segment == NULL) return ENOMEM;
    larder_index_segment_register(index, segment);
    segment_empty_into(index, old, word, &segment, 0);
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

// Into how many a segment splits, as a power of two: so many that the last split is a large one.
static uint32_t split_bits(const larder_index *index, const index_segment *segment) {
    uint32_t levels = 0;
    while (planned_entries(index, segment->depth + levels) > PLANNED_MAX) levels++;
    if (levels == 0) return 1;
    return levels % PLANNED_BITS != 0 ? levels % PLANNED_BITS : PLANNED_BITS;
}

// Has room for all entries of a segment, and for those that will come. @return false: no memory.
static bool parts_create(const larder_index *index, const index_segment *old, uint32_t bits,
                         index_segment **parts) {
    const uint32_t depth = old->depth + bits, planned = planned_entries(index, depth);
    uint32_t counts[PARTS_MAX] = {0};
    for (uint32_t place = 0; place < segment_places(old); place++) {
        const uint8_t *group = group_at(index, old, place / GROUP_PLACES);
        if (tag_get(group, place % GROUP_PLACES) != 0)
            counts[bits_after(old->entries[place].hash, old->depth, bits)]++;
    }
    for (uint32_t i = 0; i < 1u << bits; i++) {
        const uint32_t entries = counts[i] > planned ? counts[i] : planned;
        parts[i] = larder_index_segment_create(index, groups_for(entries), depth);
        if (parts[i] != NULL) continue;
        while (i > 0) larder_index_segment_destroy(parts[--i]);
        return false;
    }
    return true;
}

static larder_status segment_split(larder_index *index, index_segment *old, uint32_t word) {
    const uint32_t bits = split_bits(index, old);
    index_segment *parts[PARTS_MAX];
    if (larder_index_reserve_ids(index, 1u << bits) != LARDER_OK) return ENOMEM;
    while (index->directory_depth < old->depth + bits)
        if (directory_double(index) != LARDER_OK) return ENOMEM;
    if (!parts_create(index, old, bits, parts)) return ENOMEM;
    for (uint32_t i = 0; i < 1u << bits; i++) larder_index_segment_register(index, parts[i]);
    segment_empty_into(index, old, word, parts, bits);
    return LARDER_OK;
}

// A further segment for hashes that cannot be told apart.
static larder_status segment_chain(larder_index *index, index_segment *last, uint32_t word) {
    if (larder_index_reserve_ids(index, 1) != LARDER_OK) return ENOMEM;
    index_segment *segment = larder_index_segment_create(index, SEGMENT_GROUPS_MAX, last->depth);
    if (segment == NULL) return ENOMEM;
    larder_index_segment_register(index, segment);
    last->next = segment;
    index_segment *head = directory_at(index, word);
    directory_lead(index, word, head->depth, &head, 0);
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
