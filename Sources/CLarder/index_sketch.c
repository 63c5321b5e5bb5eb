// SPDX-License-Identifier: MIT
#include "index_sketch.h"

#include <stdlib.h>
#include <string.h>

enum {
    CACHE_LINE = 64,
    BLOCK_WORDS = 8,
    BLOCK_COUNTERS = 128,
    ROWS = 4,
    ROW_WORDS = BLOCK_WORDS / ROWS,
    /** The number of a counter in its row has so many bits; a word has 16 counters of 4 bits. */
    ROW_BITS = 5,
    COUNTER_MAX = 15,
    COUNTERS_PER_ENTRY = 24,
    BLOCKS_MIN = 64,
    USES_PER_ENTRY = 20,
};

static const uint64_t ENTRIES_MAX = UINT64_C(1) << 30;

static uint64_t *sketch_block(const index_sketch *sketch, uint32_t hash) {
    return sketch->blocks + ((uint64_t)hash * sketch->block_count >> 32) * BLOCK_WORDS;
}

/** Bits for the places in the block that have nothing to do with which block it is. */
static uint64_t sketch_places(uint32_t hash) { return hash * UINT64_C(0x9E3779B97F4A7C15); }

static inline uint32_t sketch_place(uint64_t places, uint32_t row) {
    return (uint32_t)(places >> (64 - ROW_BITS * (row + 1))) & ((1u << ROW_BITS) - 1);
}

static inline void row_add(uint64_t *block, uint64_t places, uint32_t row) {
    const uint32_t place = sketch_place(places, row);
    uint64_t *word = block + row * ROW_WORDS + (place >> 4);
    const uint32_t shift = (place & 15) * 4;
    *word += (uint64_t)((*word >> shift & COUNTER_MAX) != COUNTER_MAX) << shift;
}

static inline uint32_t row_get(const uint64_t *block, uint64_t places, uint32_t row) {
    const uint32_t place = sketch_place(places, row);
    return (uint32_t)(block[row * ROW_WORDS + (place >> 4)] >> (place & 15) * 4) & COUNTER_MAX;
}

static inline uint32_t lesser(uint32_t one, uint32_t other) { return one < other ? one : other; }

static void sketch_halve(index_sketch *sketch) {
    const size_t words = (size_t)sketch->block_count * BLOCK_WORDS;
    for (size_t i = 0; i < words; i++)
        sketch->blocks[i] = sketch->blocks[i] >> 1 & UINT64_C(0x7777777777777777);
    sketch->uses = 0;
}

// The four rows are written out, as not every compiler unrolls a loop over them.
void index_sketch_approach(const index_sketch *sketch, uint32_t hash) {
    if (sketch->block_count != 0) __builtin_prefetch(sketch_block(sketch, hash), 1);
}

void index_sketch_add(index_sketch *sketch, uint32_t hash) {
    if (sketch->block_count == 0) return;
    uint64_t *block = sketch_block(sketch, hash);
    const uint64_t places = sketch_places(hash);
    row_add(block, places, 0);
    row_add(block, places, 1);
    row_add(block, places, 2);
    row_add(block, places, 3);
    if (++sketch->uses >= sketch->entries * USES_PER_ENTRY) sketch_halve(sketch);
}

uint32_t index_sketch_estimate(const index_sketch *sketch, uint32_t hash) {
    if (sketch->block_count == 0) return 0;
    const uint64_t *block = sketch_block(sketch, hash);
    const uint64_t places = sketch_places(hash);
    return lesser(lesser(row_get(block, places, 0), row_get(block, places, 1)),
                  lesser(row_get(block, places, 2), row_get(block, places, 3)));
}

static size_t sketch_bytes(const index_sketch *sketch) {
    return sketch->block_count == 0 ? 0 : (size_t)sketch->block_count * CACHE_LINE + CACHE_LINE;
}

void index_sketch_free(larder_index *index, index_sketch *sketch) {
    index->policy_bytes -= sketch_bytes(sketch);
    free(sketch->memory);
    *sketch = (index_sketch){0};
}

void index_sketch_resize(larder_index *index, index_sketch *sketch, uint64_t entries) {
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
        index_sketch_free(index, sketch);
        *sketch = other;
    }
    sketch->entries = entries;
    if (sketch->uses >= entries * USES_PER_ENTRY) sketch_halve(sketch);
}
