// SPDX-License-Identifier: MIT
// Entries as they lie in their segments: marks of reads, steps over all, the check of places.
#include <string.h>

#include "index/group.h"

static uint8_t *group_of_slot(const larder_index *index, larder_index_slot slot) {
    return group_at(index, index_segment_of(index, slot), index_place_of(slot) / GROUP_PLACES);
}

bool larder_index_was_read(const larder_index *index, larder_index_slot slot) {
    const uint8_t tag = tag_get(group_of_slot(index, slot), index_place_of(slot) % GROUP_PLACES);
    return (tag & TAG_READ) != 0 || (*index_mark_of(index, slot) & MARK_READ) != 0;
}

// Whether the tag said so.
static bool take_tag_mark(const larder_index *index, larder_index_slot slot) {
    uint8_t *group = group_of_slot(index, slot);
    const uint32_t place = index_place_of(slot) % GROUP_PLACES;
    const uint8_t tag = tag_get(group, place);
    if ((tag & TAG_READ) != 0) tag_set(group, place, tag & TAG_HASH);
    return (tag & TAG_READ) != 0;
}

static bool take_mark(const larder_index *index, larder_index_slot slot) {
    uint8_t *mark = index_mark_of(index, slot);
    const bool was_set = (*mark & MARK_READ) != 0;
    *mark &= (uint8_t) ~(unsigned)MARK_READ;
    return was_set;
}

void larder_index_move_read_mark(const larder_index *index, larder_index_slot slot) {
    (void)take_mark(index, slot);
    if (!index->marks_reads && take_tag_mark(index, slot)) *index_mark_of(index, slot) |= MARK_READ;
}

// What the tags of a segment say of another turn is taken out of all of them at once. The byte
// behind a group's tags is none.
static void begin_turn(const larder_index *index, index_segment *segment) {
    static const uint8_t hashes[GROUP_HEAD_BYTES] = {
        TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH,
        TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, TAG_HASH, 0xFF};
    uint64_t masks[2];
    memcpy(masks, hashes, sizeof masks);
    for (uint32_t group = 0; group < segment->group_count; group++) {
        _Atomic uint64_t *words = (_Atomic uint64_t *)(uintptr_t)group_at(index, segment, group);
        for (uint32_t i = 0; i < 2; i++) {
            const uint64_t word = atomic_load_explicit(&words[i], memory_order_relaxed);
            atomic_store_explicit(&words[i], word & masks[i], memory_order_relaxed);
        }
    }
    segment->turn = index->turn;
}

void larder_index_set_told(const larder_index *index, larder_index_slot slot) {
    index_segment *segment = index_segment_of(index, slot);
    if (segment->turn != index->turn) begin_turn(index, segment);
    segment_mark_read(index, slot);
}

void larder_index_clear_told(const larder_index *index, larder_index_slot slot) {
    (void)take_tag_mark(index, slot);
}

bool larder_index_was_told(const larder_index *index, larder_index_slot slot) {
    const uint8_t tag = tag_get(group_of_slot(index, slot), index_place_of(slot) % GROUP_PLACES);
    return tag_was_told(index, index_segment_of(index, slot), tag);
}

// Whether it was read since it was taken. Where the order of eviction needs to know whether it was
// read at all, the mark keeps that.
static bool take_read(const larder_index *index, larder_index_slot slot) {
    if (!index->marks_reads) {
        // Only what is told is marked.
        larder_index_clear_told(index, slot);
        return take_mark(index, slot);
    }
    const bool was_read = take_tag_mark(index, slot);
    if (was_read && !index->is_limited) *index_mark_of(index, slot) |= MARK_READ;
    return was_read;
}

larder_index_slot larder_index_step(const larder_index *index, larder_index_slot slot) {
    uint32_t id = 0, place = 0;
    if (slot != LARDER_INDEX_NONE) {
        id = slot >> SEGMENT_SHIFT;
        place = index_place_of(slot) + 1;
    }
    for (; id < index->segment_count; id++, place = 0) {
        const index_segment *segment = index->segments[id];
        if (segment == NULL) continue;
        for (; place < segment_places(segment); place++) {
            const uint8_t *group = group_at(index, segment, place / GROUP_PLACES);
            if (tag_get(group, place % GROUP_PLACES) != 0) return id << SEGMENT_SHIFT | place;
        }
    }
    return LARDER_INDEX_NONE;
}

bool larder_index_take_read(larder_index *index, larder_index_slot slot) {
    return take_read(index, slot);
}

bool larder_index_is_unlisted(const larder_index *index, larder_index_slot slot) {
    if (!index->marks_reads) return (*index_mark_of(index, slot) & MARK_READ) != 0;
    const uint8_t tag = tag_get(group_of_slot(index, slot), index_place_of(slot) % GROUP_PLACES);
    return (tag & TAG_READ) != 0;
}

// Checking ----------------------------------------------------------------------------------------

// Whether a search that starts at the hash's home reaches the place. Sooner or later it comes to
// every group of the segment.
static bool is_reachable(const larder_index *index, const index_segment *segment, uint32_t place) {
    uint32_t group = home_group(segment, segment->entries[place].hash);
    while (group != place / GROUP_PLACES) {
        if (tag_get(group_at(index, segment, group), OVERFLOW) == 0) return false;
        group = next_group(segment, group);
    }
    return true;
}

static bool is_in_directory(const larder_index *index, const index_segment *segment,
                            uint32_t word) {
    const index_segment *at = directory_at(index, word);
    while (at != NULL && at != segment) at = at->next;
    return at == segment;
}

const char *larder_index_segments_check(const larder_index *index) {
    uint64_t count = 0;
    for (uint32_t id = 0; id < index->segment_count; id++) {
        const index_segment *segment = index->segments[id];
        if (segment == NULL) continue;
        if (segment->id != id) return "a segment does not know its number";
        uint32_t used = 0, overflow = 0, displaced = 0;
        bool is_stuck = false;
        for (uint32_t place = 0; place < segment_places(segment); place++) {
            const uint8_t *group = group_at(index, segment, place / GROUP_PLACES);
            if (tag_get(group, place % GROUP_PLACES) == 0) continue;
            used++;
            if (!is_in_directory(index, segment, segment->entries[place].hash))
                return "the directory does not lead to an entry";
            if (!is_reachable(index, segment, place)) return "a search does not reach an entry";
            const uint32_t home = home_group(segment, segment->entries[place].hash);
            displaced +=
                (place / GROUP_PLACES + segment->group_count - home) % segment->group_count;
        }
        for (uint32_t group = 0; group < segment->group_count; group++) {
            const uint8_t there = tag_get(group_at(index, segment, group), OVERFLOW);
            overflow += there;
            is_stuck = is_stuck || there == OVERFLOW_STUCK;
        }
        if (used != segment->used) return "a segment has another number of entries than it says";
        if (!is_stuck && overflow != displaced)
            return "groups count other displaced entries than there are";
        count += used;
    }
    return count == index->count ? NULL : "the segments hold another number of entries";
}
