// SPDX-License-Identifier: MIT
/** @file index_sketch.h
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
#ifndef LARDER_INDEX_SKETCH_H
#define LARDER_INDEX_SKETCH_H

#include "index_internal.h"

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
void index_sketch_resize(larder_index *index, index_sketch *sketch, uint64_t entries);
void index_sketch_free(larder_index *index, index_sketch *sketch);

/** Brings nearer what counting a use will want. */
void index_sketch_approach(const index_sketch *sketch, uint32_t hash);
/** Counts one use. */
void index_sketch_add(index_sketch *sketch, uint32_t hash);
/** How often it was used: at least so often, up to 15, and halved from time to time. */
uint32_t index_sketch_estimate(const index_sketch *sketch, uint32_t hash);

#endif
