// SPDX-License-Identifier: MIT
// Searching entries, and the places of single ones. How segments grow is in index_growth.c.
#include "index_group.h"

bool index_was_read(const larder_index *index, larder_index_slot slot) {
    const uint32_t place = index_place_of(slot);
    const uint8_t *group = group_at(index, index_segment_of(index, slot), place / GROUP_PLACES);
    return (tag_get(group, place % GROUP_PLACES) & TAG_READ) != 0;
}

void index_mark_read(const larder_index *index, larder_index_slot slot) {
    const uint32_t place = index_place_of(slot);
    uint8_t *group = group_at(index, index_segment_of(index, slot), place / GROUP_PLACES);
    const uint8_t tag = tag_get(group, place % GROUP_PLACES);
    if ((tag & TAG_READ) == 0) tag_set(group, place % GROUP_PLACES, tag | TAG_READ);
}

bool index_take_read_mark(larder_index *index, larder_index_slot slot) {
    const uint32_t place = index_place_of(slot);
    uint8_t *group = group_at(index, index_segment_of(index, slot), place / GROUP_PLACES);
    const uint8_t tag = tag_get(group, place % GROUP_PLACES);
    tag_set(group, place % GROUP_PLACES, tag & TAG_HASH);
    return (tag & TAG_READ) != 0;
}

// Searching ---------------------------------------------------------------------------------------

static void probe_group(larder_index_probe *probe, const uint8_t *group, uint32_t number) {
    probe->group = number;
    probe->tags = group;
    probe->matches = (uint16_t)group_matches(group, hash_tag(probe->hash));
}

// Leaves the probe at the next group to look at; false if there is none.
static bool probe_further(const larder_index *index, larder_index_probe *probe) {
    const index_segment *segment = index->segments[probe->segment];
    uint32_t group;
    if (tag_get(probe->tags, OVERFLOW) != 0 && --probe->groups_left != 0) {
        group = next_group(segment, probe->group);
    } else {
        segment = segment->next;
        if (segment == NULL) return false;
        group = home_group(segment, hash_word(probe->hash));
        probe->segment = segment->id;
        probe->groups_left = (uint16_t)segment->group_count;
    }
    probe_group(probe, group_at(index, segment, group), group);
    return true;
}

void larder_index_next(larder_index *index, larder_index_probe *probe) {
    for (;;) {
        while (probe->matches != 0) {
            const uint32_t in_group = (uint32_t)__builtin_ctz(probe->matches);
            const uint32_t place = probe->group * GROUP_PLACES + in_group;
            probe->matches &= (uint16_t)(probe->matches - 1);
            if (index->is_timed && index_is_expired(index, index->segments[probe->segment], place))
                continue;
            probe->slot = probe->segment << SEGMENT_SHIFT | place;
            probe->payload = (uint8_t *)(uintptr_t)probe->tags + index->payload_offset +
                             (size_t)in_group * index->payload_stride;
            return;
        }
        // Most misses end here, without a look at the segment.
        const index_way *way = way_of(index, hash_word(probe->hash));
        if ((tag_get(probe->tags, OVERFLOW) == 0 && !way->is_chained) ||
            !probe_further(index, probe))
            break;
    }
    probe->slot = LARDER_INDEX_NONE;
    probe->payload = NULL;
}

void larder_index_first(larder_index *index, uint64_t hash, larder_index_probe *probe) {
    const index_way *way = way_of(index, hash_word(hash));
    const uint32_t group = group_of(hash_word(hash), way->depth, way->group_count);
    const uint8_t *tags = way->groups + (size_t)group * index->group_stride;
    const uint32_t wanted = wanted_place(hash_tag(hash));
    // The payload most likely lies where it was wanted: it comes while the tags do. A writer will
    // want to write the entry, too.
    __builtin_prefetch(tags + index->payload_offset + (size_t)wanted * index->payload_stride);
    if (atomic_load_explicit(&index->gate, memory_order_relaxed) != 0)
        __builtin_prefetch(&index->segments[way->id]->entries[group * GROUP_PLACES + wanted], 1);
    probe->hash = hash;
    probe->segment = way->id;
    probe->groups_left = way->group_count;
    probe_group(probe, tags, group);
    larder_index_next(index, probe);
}

larder_index_slot larder_index_find(larder_index *index, uint64_t hash, larder_index_equals equals,
                                    const void *key) {
    larder_index_probe probe;
    larder_index_first(index, hash, &probe);
    while (probe.payload != NULL && !equals(probe.payload, key)) larder_index_next(index, &probe);
    return probe.slot;
}

void *larder_index_payload(const larder_index *index, larder_index_slot slot) {
    return index_payload_at(index, index_segment_of(index, slot), index_place_of(slot));
}

larder_index_slot index_step(const larder_index *index, larder_index_slot slot) {
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

// Placing -----------------------------------------------------------------------------------------

// The first free place from the entry's home on; there is one. Where in a group it lies depends on
// the tag, so that a search can guess it before it has read the tags.
uint32_t index_segment_place(const larder_index *index, index_segment *segment, uint32_t word,
                             uint8_t tag) {
    uint32_t group = home_group(segment, word);
    for (;;) {
        uint8_t *at = group_at(index, segment, group);
        const uint32_t free_places = group_matches(at, 0);
        if (free_places != 0) {
            const uint32_t in_group = choose_place(free_places, tag);
            const uint32_t place = group * GROUP_PLACES + in_group;
            tag_set(at, in_group, tag);
            segment->entries[place].hash = word;
            segment->used++;
            return place;
        }
        group_count_overflow(at);
        group = next_group(segment, group);
    }
}

void index_vacate(larder_index *index, larder_index_slot slot) {
    index_segment *segment = index_segment_of(index, slot);
    const uint32_t place = index_place_of(slot), last = place / GROUP_PLACES;
    for (uint32_t group = home_group(segment, segment->entries[place].hash); group != last;
         group = next_group(segment, group)) {
        uint8_t *at = group_at(index, segment, group);
        const uint8_t overflow = tag_get(at, OVERFLOW);
#ifndef LARDER_PLANT_INDEX_OVERFLOW // A defect that tests can put in.
        if (overflow != OVERFLOW_STUCK) tag_set(at, OVERFLOW, overflow - 1);
#else
        (void)overflow;
#endif
    }
    tag_set(group_at(index, segment, last), place % GROUP_PLACES, 0);
    // A free place has no marks; to look is cheaper than to write.
    if (segment->marks[place] != 0) segment->marks[place] = 0;
    segment->used--;
}

// Checking ----------------------------------------------------------------------------------------

// Whether a search that starts at the hash's home reaches the place.
static bool is_reachable(const larder_index *index, const index_segment *segment, uint32_t place) {
    uint32_t group = home_group(segment, segment->entries[place].hash);
    for (uint32_t steps = 0; group != place / GROUP_PLACES; steps++) {
        if (steps == segment->group_count ||
            tag_get(group_at(index, segment, group), OVERFLOW) == 0)
            return false;
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

const char *index_segments_check(const larder_index *index) {
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
