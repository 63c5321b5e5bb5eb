// SPDX-License-Identifier: MIT
/** @file lru.c
    LRU: the entry goes whose last use is longest ago.

    One list in the order of use. A use moves an entry to its front, and the last one goes. It does
    what everybody expects, is never far from the best on work that comes back soon, and one scan
    over more than fits empties it: then `adaptive` keeps more. */
#include "index/policy/policy.h"

enum { LIST_USED = 1 };

static larder_status lru_start(larder_index *index, bool forget) {
    (void)index;
    (void)forget;
    return LARDER_OK;
}

static void lru_stop(larder_index *index) { (void)index; }

static void lru_inserted(larder_index *index, larder_index_slot slot) {
    index_list_put_first(index, LIST_USED, slot);
}

static void lru_touched(larder_index *index, larder_index_slot slot) {
    index_list_move_first(index, LIST_USED, slot);
}

static larder_index_slot lru_victim(larder_index *index) {
    larder_index_slot slot = policy_last(index, LIST_USED);
    return slot != LARDER_INDEX_NONE ? slot : index->newest;
}

static void lru_adopt(larder_index *index, const larder_index_slot *slots, const bool *read,
                      size_t count) {
    (void)read;
    for (size_t i = 0; i < count; i++) {
        index_list_put_first(index, LIST_USED, slots[i]);
    }
}

const index_policy larder_index_policy_lru = {
    .hears_reads = true,
    .lists = {LIST_USED},
    .start = lru_start,
    .stop = lru_stop,
    .inserted = lru_inserted,
    .touched = lru_touched,
    .victim = lru_victim,
    .adopt = lru_adopt,
};
