// SPDX-License-Identifier: MIT
/** @file fifo.c
    FIFO: the entry goes that was inserted first.

    One list in the order of insertion. Neither a read nor a new value under an old key changes it,
    so a read costs nothing but the look-up. It is for what ages by itself: a cache of the last so
    many days, or of what was just written. */
#include "index/policy/policy.h"

enum { LIST_INSERTED = 1 };

static larder_status fifo_start(larder_index *index, bool forget) {
    (void)index;
    (void)forget;
    return LARDER_OK;
}

static void fifo_stop(larder_index *index) { (void)index; }

static void fifo_inserted(larder_index *index, larder_index_slot slot) {
    index_list_put_first(index, LIST_INSERTED, slot);
}

static larder_index_slot fifo_victim(larder_index *index) {
    larder_index_slot slot = policy_last(index, LIST_INSERTED);
    return slot != LARDER_INDEX_NONE ? slot : index->newest;
}

static void fifo_adopt(larder_index *index, const larder_index_slot *slots, const bool *read,
                       size_t count) {
    (void)read;
    for (size_t i = 0; i < count; i++) {
        index_list_put_first(index, LIST_INSERTED, slots[i]);
    }
}

const index_policy larder_index_policy_fifo = {
    .hears_reads = false,
    .lists = {LIST_INSERTED},
    .start = fifo_start,
    .stop = fifo_stop,
    .inserted = fifo_inserted,
    .victim = fifo_victim,
    .adopt = fifo_adopt,
};
