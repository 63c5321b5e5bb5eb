// SPDX-License-Identifier: MIT
// The memory of segments: what each consists of, and the numbers they have.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index/group.h"

enum { SEGMENTS_MAX = 1 << (32 - SEGMENT_SHIFT) };

static size_t array_element_bytes(index_array array) {
    switch (array) {
    case ARRAY_LINKS: return sizeof(index_link);
    case ARRAY_COSTS: return sizeof(uint64_t);
    case ARRAY_DEADLINES: return sizeof(int64_t);
    case ARRAY_TIMES: return sizeof(index_times);
    }
    return 0;
}

static void **array_of(index_segment *segment, index_array array) {
    switch (array) {
    case ARRAY_LINKS: return (void **)&segment->links;
    case ARRAY_COSTS: return (void **)&segment->costs;
    case ARRAY_DEADLINES: return (void **)&segment->deadlines;
    case ARRAY_TIMES: break;
    }
    return (void **)&segment->times;
}

static bool has_array(const larder_index *index, index_array array) {
    switch (array) {
    case ARRAY_LINKS: return index->is_limited;
    case ARRAY_COSTS: return index->has_costs;
    case ARRAY_DEADLINES:
    case ARRAY_TIMES: return index->has_times;
    }
    return false;
}

larder_status larder_index_add_array(larder_index *index, index_array array) {
    for (uint32_t id = 0; id < index->segment_count; id++) {
        index_segment *segment = index->segments[id];
        if (segment == NULL) continue;
        void **at = array_of(segment, array);
        *at = calloc(segment_places(segment), array_element_bytes(array));
        if (*at == NULL) {
            larder_index_drop_array(index, array);
            return ENOMEM;
        }
    }
    return LARDER_OK;
}

void larder_index_drop_array(larder_index *index, index_array array) {
    for (uint32_t id = 0; id < index->segment_count; id++) {
        if (index->segments[id] == NULL) continue;
        void **at = array_of(index->segments[id], array);
        free(*at);
        *at = NULL;
    }
}

void larder_index_segment_destroy(index_segment *segment) {
    if (segment == NULL) return;
    free(segment->groups);
    free(segment->entries);
    free(segment->marks);
    for (int array = ARRAY_LINKS; array <= ARRAY_TIMES; array++)
        free(*array_of(segment, (index_array)array));
    free(segment);
}

// Without an id.
index_segment *larder_index_segment_create(const larder_index *index, uint32_t group_count,
                                           uint32_t depth) {
    index_segment *segment = calloc(1, sizeof *segment);
    if (segment == NULL) return NULL;
    const size_t places = (size_t)group_count * GROUP_PLACES;
    const size_t alignment =
        index->options.payload_alignment > 64 ? index->options.payload_alignment : 64;
    const size_t bytes = (size_t)group_count * index->group_stride;
    segment->group_count = group_count;
    segment->depth = depth;
    segment->entries = malloc(places * sizeof *segment->entries);
    segment->marks = calloc(places, 1);
    void *groups = NULL;
    bool failed = posix_memalign(&groups, alignment, bytes) != 0;
    segment->groups = failed ? NULL : groups;
    for (int array = ARRAY_LINKS; array <= ARRAY_TIMES; array++) {
        if (!has_array(index, (index_array)array)) continue;
        void **at = array_of(segment, (index_array)array);
        *at = calloc(places, array_element_bytes((index_array)array));
        failed = failed || *at == NULL;
    }
    if (failed || segment->entries == NULL || segment->marks == NULL) {
        larder_index_segment_destroy(segment);
        return NULL;
    }
    for (uint32_t group = 0; group < group_count; group++)
        memset(group_at(index, segment, group), 0, GROUP_HEAD_BYTES);
    return segment;
}

// Gives the segment an id, for which larder_index_reserve_ids has made room.
void larder_index_segment_register(larder_index *index, index_segment *segment) {
    segment->id =
        index->free_id_count > 0 ? index->free_ids[--index->free_id_count] : index->segment_count++;
    index->segments[segment->id] = segment;
}

void larder_index_segment_unregister(larder_index *index, const index_segment *segment) {
    index->segments[segment->id] = NULL;
    index->free_ids[index->free_id_count++] = segment->id;
}

larder_status larder_index_reserve_ids(larder_index *index, uint32_t count) {
    if (index->free_id_count + (index->segment_capacity - index->segment_count) >= count)
        return LARDER_OK;
    uint32_t capacity = index->segment_capacity == 0 ? 4 : 2 * index->segment_capacity;
    while (index->free_id_count + (capacity - index->segment_count) < count) capacity *= 2;
    if (capacity > SEGMENTS_MAX) return ENOMEM;
    index_segment **segments = realloc(index->segments, capacity * sizeof *segments);
    if (segments == NULL) return ENOMEM;
    index->segments = segments;
    uint32_t *free_ids = realloc(index->free_ids, capacity * sizeof *free_ids);
    if (free_ids == NULL) return ENOMEM;
    index->free_ids = free_ids;
    index->segment_capacity = capacity;
    return LARDER_OK;
}

index_way larder_index_directory_entry(const index_segment *segment) {
    return (index_way){segment->groups, segment->id, (uint16_t)segment->group_count,
                       (uint8_t)segment->depth, segment->next != NULL};
}

larder_status larder_index_segments_create(larder_index *index) {
    index->directory_depth = 0;
    index->directory = malloc(sizeof *index->directory);
    index_segment *segment = larder_index_segment_create(index, 1, 0);
    if (index->directory == NULL || segment == NULL ||
        larder_index_reserve_ids(index, 1) != LARDER_OK) {
        larder_index_segment_destroy(segment);
        free(index->directory);
        index->directory = NULL;
        return ENOMEM;
    }
    larder_index_segment_register(index, segment);
    index->directory[0] = larder_index_directory_entry(segment);
    return LARDER_OK;
}

void larder_index_segments_destroy(larder_index *index) {
    for (uint32_t id = 0; id < index->segment_count; id++)
        larder_index_segment_destroy(index->segments[id]);
    free(index->segments);
    free(index->free_ids);
    free(index->directory);
    index->segments = NULL;
    index->free_ids = NULL;
    index->directory = NULL;
    index->segment_count = index->segment_capacity = index->free_id_count = 0;
}

void larder_index_segments_clear(larder_index *index, bool keep_capacity) {
    if (!keep_capacity) {
        // The smallest segment, made before the others go: an index is never without one.
        index_segment **old = index->segments;
        index_way *directory = index->directory;
        uint32_t *free_ids = index->free_ids;
        const uint32_t count = index->segment_count, capacity = index->segment_capacity,
                       free_id_count = index->free_id_count, depth = index->directory_depth;
        index->segments = NULL;
        index->free_ids = NULL;
        index->segment_count = index->segment_capacity = index->free_id_count = 0;
        if (larder_index_segments_create(index) == LARDER_OK) {
            for (uint32_t id = 0; id < count; id++) larder_index_segment_destroy(old[id]);
            free(old);
            free(free_ids);
            free(directory);
            return;
        }
        free(index->segments);
        free(index->free_ids);
        index->segments = old;
        index->free_ids = free_ids;
        index->directory = directory;
        index->segment_count = count;
        index->segment_capacity = capacity;
        index->free_id_count = free_id_count;
        index->directory_depth = depth;
    }
    for (uint32_t id = 0; id < index->segment_count; id++) {
        index_segment *segment = index->segments[id];
        if (segment == NULL) continue;
        for (uint32_t group = 0; group < segment->group_count; group++)
            memset(group_at(index, segment, group), 0, GROUP_HEAD_BYTES);
        memset(segment->marks, 0, segment_places(segment));
        segment->used = 0;
    }
}

uint64_t larder_index_segments_bytes(const larder_index *index) {
    uint64_t bytes =
        ((uint64_t)1 << index->directory_depth) * sizeof *index->directory +
        (uint64_t)index->segment_capacity * (sizeof *index->segments + sizeof *index->free_ids);
    for (uint32_t id = 0; id < index->segment_count; id++) {
        const index_segment *segment = index->segments[id];
        if (segment == NULL) continue;
        uint64_t each = sizeof *segment->entries + sizeof *segment->marks;
        for (int array = ARRAY_LINKS; array <= ARRAY_TIMES; array++)
            each +=
                has_array(index, (index_array)array) ? array_element_bytes((index_array)array) : 0;
        bytes += sizeof *segment + (uint64_t)segment->group_count * index->group_stride +
                 each * segment_places(segment);
    }
    return bytes;
}
