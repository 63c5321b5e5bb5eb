// SPDX-License-Identifier: MIT
#include "index/policy/sketch.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64, BLOCK_COUNTERS = 128, COUNTERS_PER_ENTRY = 24, BLOCKS_MIN = 64 };

static const uint64_t ENTRIES_MAX = UINT64_C(1) << 30;

void larder_index_sketch_halve(index_sketch *sketch) {
    const size_t words = (size_t)sketch->block_count * BLOCK_WORDS;
    for (size_t i = 0; i < words; i++)
        sketch->blocks[i] = sketch->blocks[i] >> 1 & UINT64_C(0x7777777777777777);
    sketch->uses = 0;
}

static size_t sketch_bytes(const index_sketch *sketch) {
    return sketch->block_count == 0 ? 0 : (size_t)sketch->block_count * CACHE_LINE + CACHE_LINE;
}

void larder_index_sketch_free(larder_index *index, index_sketch *sketch) {
    index->policy_bytes -= sketch_bytes(sketch);
    free(sketch->memory);
    *sketch = (index_sketch){0};
}

void larder_index_sketch_resize(larder_index *index, index_sketch *sketch, uint64_t entries) {
    entries = entries > ENTRIES_MAX ? ENTRIES_MAX : entries < 1 ? 1 : entries;
    if (entries == sketch->entries) return;
    uint64_t blocks = (entries * COUNTERS_PER_ENTRY + BLOCK_COUNTERS - 1) / BLOCK_COUNTERS;
    if (blocks < BLOCKS_MIN) blocks = BLOCKS_MIN;
    if (blocks != sketch->block_count) {
        index_sketch other = {.block_count = (uint32_t)blocks, .uses = sketch->uses};
        other.memory = calloc(1, sketch_bytes(&other));
        if (other.memory == NULL) return;
        const uintptr_t aligned = ((uintptr_t)other.memory + CACHE_LINE - 1) / CACHE_LINE;
        other.blocks = (uint64_t *)(aligned * CACHE_LINE);
        for (uint64_t i = 0; i < blocks && sketch->block_count != 0; i++)
            memcpy(other.blocks + i * BLOCK_WORDS,
                   sketch->blocks + i * sketch->block_count / blocks * BLOCK_WORDS, CACHE_LINE);
        index->policy_bytes += sketch_bytes(&other);
        larder_index_sketch_free(index, sketch);
        *sketch = other;
    }
    sketch->entries = entries;
    if (sketch->uses >= entries * USES_PER_ENTRY) larder_index_sketch_halve(sketch);
}
