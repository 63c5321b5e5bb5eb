// SPDX-License-Identifier: MIT
// An index as a whole: made, emptied, counted, ended.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index/group.h"

enum {
    PAYLOAD_MAX_BYTES = 1 << 20,
    ALIGNMENT_MAX = 4096,
};

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

static const index_policy *policy_of(larder_index_policy policy) {
    switch (policy) {
    case LARDER_INDEX_LRU: return &larder_index_policy_lru;
    case LARDER_INDEX_FIFO: return &larder_index_policy_fifo;
    case LARDER_INDEX_S3FIFO: return &larder_index_policy_s3fifo;
    case LARDER_INDEX_ADAPTIVE: return &larder_index_policy_adaptive;
    }
    return NULL;
}

void larder_index_options_init(larder_index_options *options) {
    *options = (larder_index_options){
        .policy = LARDER_INDEX_ADAPTIVE,
        .payload_bytes = 16,
        .payload_alignment = 8,
        .count_limit = LARDER_INDEX_UNLIMITED,
        .cost_limit = LARDER_INDEX_UNLIMITED,
    };
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
    larder_index_set_limited(index, index->count_limit != LARDER_INDEX_UNLIMITED ||
                                        index->cost_limit != LARDER_INDEX_UNLIMITED);
    larder_index_empty_lists(index);
    larder_status status = larder_index_readers_create(index);
    if (!status) status = larder_index_segments_create(index);
    if (!status && index->is_limited) status = index->policy->start(index, true);
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
    if (status) larder_index_destroy(index);
    else *out = index;
    return status;
}

void larder_index_destroy(larder_index *index) {
    if (index == NULL) return;
    index->policy->stop(index);
    larder_index_segments_destroy(index);
    larder_index_readers_destroy(index);
    free(index->heap);
    free(index);
}

void larder_index_clear(larder_index *index, bool keep_capacity) {
    index->gone[LARDER_INDEX_REMOVED] += index->count;
    index->count = 0;
    index->total_cost = 0;
    index->heap_count = 0;
    index->newest = LARDER_INDEX_NONE;
    larder_index_empty_lists(index);
    larder_index_segments_clear(index, keep_capacity);
    if (!index->is_limited) return;
    // What cannot be made afresh for want of memory is kept: it only remembers.
    const larder_status forgotten = index->policy->start(index, true);
    (void)forgotten;
}

void larder_index_get_statistics(const larder_index *index, larder_index_statistics *statistics) {
    *statistics = (larder_index_statistics){.insertions = index->insertions};
    memcpy(statistics->gone, index->gone, sizeof index->gone);
    for (uint32_t at = 0; at <= index->reader_mask; at++) {
        statistics->hits += index->readers[at].hits;
        statistics->misses += index->readers[at].misses;
        statistics->hit_cost += index->readers[at].hit_cost;
    }
    statistics->memory_bytes = sizeof *index + larder_index_segments_bytes(index) +
                               index->policy_bytes +
                               (uint64_t)index->heap_capacity * sizeof *index->heap +
                               ((uint64_t)index->reader_mask + 1) * sizeof *index->readers;
}

void larder_index_reset_statistics(larder_index *index) {
    index->insertions = 0;
    memset(index->gone, 0, sizeof index->gone);
    for (uint32_t at = 0; at <= index->reader_mask; at++)
        index->readers[at].hits = index->readers[at].misses = index->readers[at].hit_cost = 0;
}
