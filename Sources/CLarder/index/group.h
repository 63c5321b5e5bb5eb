// SPDX-License-Identifier: MIT
/** @file group.h
    Private: tags, groups and the way from a hash to them; the drawing is in index/table.h.
    */
#ifndef LARDER_GROUP_H
#define LARDER_GROUP_H

#include "index/table.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
    TAG_READ = 0x80,
    TAG_HASH = 0x7F,
    GROUP_HEAD_BYTES = 16,
    /** The place of the overflow counter in a group's head, after the tags. */
    OVERFLOW = GROUP_PLACES,
    OVERFLOW_STUCK = 255,
};

static inline uint8_t hash_tag(uint64_t hash) {
    const uint8_t tag = (uint8_t)(hash & TAG_HASH);
    return tag != 0 ? tag : 1;
}

/** Where in a group an entry is put if it can be, so that a search can guess it. */
static inline uint32_t wanted_place(uint8_t tag) {
    return (uint32_t)(tag & TAG_HASH) * GROUP_PLACES >> 7;
}

static inline uint32_t hash_word(uint64_t hash) { return (uint32_t)(hash >> 32); }

/** The group of a word in a segment with a common prefix of so many bits. */
static inline uint32_t group_of(uint32_t word, uint32_t depth, uint32_t group_count) {
    const uint32_t rest = (uint32_t)((uint64_t)word << depth);
    return (uint32_t)(((uint64_t)rest * group_count) >> 32);
}

static inline uint32_t home_group(const index_segment *segment, uint32_t word) {
    return group_of(word, segment->depth, segment->group_count);
}

static inline uint32_t next_group(const index_segment *segment, uint32_t group) {
    return group + 1 == segment->group_count ? 0 : group + 1;
}

static inline uint8_t *group_at(const larder_index *index, const index_segment *segment,
                                uint32_t group) {
    return segment->groups + (size_t)group * index->group_stride;
}

static inline const index_way *way_of(const larder_index *index, uint32_t word) {
    return &index->directory[((uint64_t)word << index->directory_depth) >> 32];
}

static inline index_segment *directory_at(const larder_index *index, uint32_t word) {
    return index->segments[way_of(index, word)->id];
}

// The most entries before a segment is replaced: 17 of 20 places.
static inline uint32_t segment_room(const index_segment *segment) {
    return segment->group_count * GROUP_PLACES * 17 / 20;
}

static inline uint32_t segment_places(const index_segment *segment) {
    return segment->group_count * GROUP_PLACES;
}

static inline void *index_payload_at(const larder_index *index, const index_segment *segment,
                                     uint32_t place) {
    return group_at(index, segment, place / GROUP_PLACES) + index->payload_offset +
           (size_t)(place % GROUP_PLACES) * index->payload_stride;
}

// Tags --------------------------------------------------------------------------------------------

// Readers set the top bit of a tag while others look at it, so tags are read and written as
// atomics; that a group is read as two words and written in bytes is what processors do well.
static inline uint64_t tags_word(const uint8_t *group, size_t at) {
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)(group + at), memory_order_relaxed);
}

static inline uint8_t tag_get(const uint8_t *group, uint32_t place) {
    return atomic_load_explicit((_Atomic uint8_t *)(uintptr_t)(group + place),
                                memory_order_relaxed);
}

static inline void tag_set(uint8_t *group, uint32_t place, uint8_t tag) {
    atomic_store_explicit((_Atomic uint8_t *)(group + place), tag, memory_order_relaxed);
}

#if !defined(__SSE2__)
// Bit i for each byte i that equals; exact, with no carry from byte to byte.
static inline uint32_t equal_bytes(uint64_t word, uint8_t byte) {
    const uint64_t low = UINT64_C(0x7F7F7F7F7F7F7F7F);
    const uint64_t differs = (word & low) ^ (UINT64_C(0x0101010101010101) * byte);
    const uint64_t equal = ~(differs + low) & ~low;
    return (uint32_t)((equal >> 7) * UINT64_C(0x0102040810204080) >> 56);
}
#endif

// A bit for each place whose tag is this one, read or not; 0 finds the free ones.
static inline uint32_t group_matches(const uint8_t *group, uint8_t tag) {
    const uint64_t first = tags_word(group, 0), second = tags_word(group, 8);
    const uint32_t places = (1u << GROUP_PLACES) - 1;
#if defined(__SSE2__)
    const __m128i tags = _mm_set_epi64x((long long)second, (long long)first);
    const __m128i hashes = _mm_and_si128(tags, _mm_set1_epi8(TAG_HASH));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(hashes, _mm_set1_epi8((char)tag))) & places;
#else
    return (equal_bytes(first, tag) | equal_bytes(second, tag) << 8) & places;
#endif
}

/** The first free place from the wanted one on. */
static inline uint32_t choose_place(uint32_t free_places, uint8_t tag) {
    const uint32_t wanted = wanted_place(tag);
    const uint32_t from_there = free_places & (UINT32_MAX << wanted);
    return (uint32_t)__builtin_ctz(from_there != 0 ? from_there : free_places);
}

/** An entry found the group full. */
static inline void group_count_overflow(uint8_t *group) {
    const uint8_t overflow = tag_get(group, OVERFLOW);
    if (overflow != OVERFLOW_STUCK) tag_set(group, OVERFLOW, (uint8_t)(overflow + 1));
}

// Places ------------------------------------------------------------------------------------------

/** Takes the first free place from an entry's home on; there is one. Where in a group it lies
    depends on the tag, so that a search can guess it before it has read the tags. */
static inline uint32_t segment_place(const larder_index *index, index_segment *segment,
                                     uint32_t word, uint8_t tag) {
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

/** Frees the entry's place. It is in no list and not in the heap. */
static inline void segment_vacate(larder_index *index, larder_index_slot slot) {
    index_segment *segment = index_segment_of(index, slot);
    const uint32_t place = index_place_of(slot), last = place / GROUP_PLACES;
    for (uint32_t group = home_group(segment, segment->entries[place].hash); group != last;
         group = next_group(segment, group)) {
        uint8_t *at = group_at(index, segment, group);
        const uint8_t overflow = tag_get(at, OVERFLOW);
        if (overflow != OVERFLOW_STUCK) tag_set(at, OVERFLOW, overflow - 1);
    }
    tag_set(group_at(index, segment, last), place % GROUP_PLACES, 0);
    // A free place has no marks; to look is cheaper than to write.
    if (segment->marks[place] != 0) segment->marks[place] = 0;
    segment->used--;
}

/** Notes in a tag that its entry was read. */
static inline void tag_mark_read(uint8_t *group, uint32_t place) {
    const uint8_t tag = tag_get(group, place);
    if ((tag & TAG_READ) == 0) tag_set(group, place, tag | TAG_READ);
}

/** Whether a tag says that its entry was told to the policy, and speaks of this turn. */
static inline bool tag_was_told(const larder_index *index, const index_segment *segment,
                                uint8_t tag) {
    return (tag & TAG_READ) != 0 && segment->turn == index->turn;
}

static inline void segment_mark_read(const larder_index *index, larder_index_slot slot) {
    const uint32_t place = index_place_of(slot);
    tag_mark_read(group_at(index, index_segment_of(index, slot), place / GROUP_PLACES),
                  place % GROUP_PLACES);
}

#endif
