// SPDX-License-Identifier: MIT
/** @file sketch.h
    Private: about how often something was used lately, for far more than there are entries.

    A count-min sketch (Cormode and Muthukrishnan, "An improved data stream summary", J. Algorithms
    2005) of counters of 4 bits. Each hash has four of them, it counts up all, and what it counts is
    in the smallest: the others were counted up by other hashes too. All counters are halved when as
    many uses were counted as there may be entries, 20 times over, so that old fame fades (Einziger,
    Friedman and Manes, "TinyLFU", ACM TOS 2017).

    The four counters of a hash are in one cache line, one in each quarter of it:

        | 32 counters | 32 counters | 32 counters | 32 counters |      64 bytes, a block

    The hash's high bits lead to the block. If there are twice as many blocks, two have the hashes
    of one, at the same places in it: it can grow by copying each block, and no count is lost.

    24 counters for each entry take 12 bytes. That much pays: on recorded traces 8 lose 2 % of the
    hits of 24, and 64 gain another half. A small sketch has 8,192, as a page does not matter. */
#ifndef LARDER_SKETCH_H
#define LARDER_SKETCH_H

#include "index/table.h"

typedef struct index_sketch {
    /** Blocks of eight words; NULL before there is memory, and then it counts nothing. */
    uint64_t *blocks;
    void *memory;
    uint32_t block_count;
    /** How many entries it is made for. */
    uint64_t entries;
    /** Uses that were counted since the last halving. */
    uint64_t uses;
} index_sketch;

/** Makes it fit for so many entries, keeping the counts. Without memory it stays as it is. */
void larder_index_sketch_resize(larder_index *index, index_sketch *sketch, uint64_t entries);
void larder_index_sketch_free(larder_index *index, index_sketch *sketch);

/** Halves all counters. */
void larder_index_sketch_halve(index_sketch *sketch);

enum {
    BLOCK_WORDS = 8,
    ROWS = 4,
    ROW_WORDS = BLOCK_WORDS / ROWS,
    /** The number of a counter in its row has so many bits; a word has 16 counters of 4 bits. */
    ROW_BITS = 5,
    COUNTER_MAX = 15,
    USES_PER_ENTRY = 20,
};

static inline uint64_t *sketch_block(const index_sketch *sketch, uint32_t hash) {
    return sketch->blocks + ((uint64_t)hash * sketch->block_count >> 32) * BLOCK_WORDS;
}

/** Bits for the places in the block that have nothing to do with which block it is. */
static inline uint64_t sketch_places(uint32_t hash) { return hash * UINT64_C(0x9E3779B97F4A7C15); }

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

/** Brings nearer what counting a use will want. */
static inline void index_sketch_approach(const index_sketch *sketch, uint32_t hash) {
    if (sketch->block_count != 0) __builtin_prefetch(sketch_block(sketch, hash), 1);
}

/** Counts one use. The rows are written out, as not every compiler unrolls a loop over them. */
static inline void index_sketch_add(index_sketch *sketch, uint32_t hash) {
    if (sketch->block_count == 0) return;
    uint64_t *block = sketch_block(sketch, hash);
    const uint64_t places = sketch_places(hash);
    row_add(block, places, 0);
    row_add(block, places, 1);
    row_add(block, places, 2);
    row_add(block, places, 3);
    if (++sketch->uses >= sketch->entries * USES_PER_ENTRY) larder_index_sketch_halve(sketch);
}

/** How often it was used: at least so often, up to 15, and halved from time to time. */
static inline uint32_t index_sketch_estimate(const index_sketch *sketch, uint32_t hash) {
    if (sketch->block_count == 0) return 0;
    const uint64_t *block = sketch_block(sketch, hash);
    const uint64_t places = sketch_places(hash);
    return lesser(lesser(row_get(block, places, 0), row_get(block, places, 1)),
                  lesser(row_get(block, places, 2), row_get(block, places, 3)));
}

#endif
