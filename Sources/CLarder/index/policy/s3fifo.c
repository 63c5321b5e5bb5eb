// SPDX-License-Identifier: MIT
/** @file s3fifo.c
    S3-FIFO (Yang, Zhang, Qiu, Yue and Rashmi, "FIFO queues are all you need for cache eviction",
    SOSP 2023): three queues, and a use only counts.

        new ----> small, 10 % ---- used twice and more ----> main, 90 % ---+
                       |                                       ^  |  ^     | used: one use less,
                       |    ghosts: hashes of 90 % ---- back --+  |  +-----+ and again
                       +------^                                   v
                     not used twice                         not used: gone

    Most entries are used once and never again. They go from a short queue, and do not push out what
    is in the long one. What comes back while its hash is among the ghosts was misjudged, and goes
    into the long one at once. A use counts up to three in the entry's mark and moves nothing.

    The queues have no fixed lengths: as long as the small one has its tenth or more, it gives. The
    entry that comes in is not reckoned with until the next one comes.

    It remembers 19 bytes for each entry that fits in: 0.9 hashes of 21. */
#include <errno.h>
#include <stdlib.h>

#include "index/policy/policy.h"

enum { LIST_SMALL = 1, LIST_MAIN = 2, USES_MAX = 3, USES_TO_MAIN = 2 };

typedef struct s3fifo_state {
    index_ghost ghost;
} s3fifo_state;

static uint64_t ghost_share(uint64_t entries) { return entries - entries / 10; }

static larder_status s3fifo_start(larder_index *index, bool forget) {
    s3fifo_state *state = index->policy_state;
    if (state == NULL) {
        state = calloc(1, sizeof *state);
        if (state == NULL) return ENOMEM;
        index->policy_state = state;
        index->policy_bytes += sizeof *state;
    }
    if (forget) larder_index_ghost_free(index, &state->ghost);
    else if (ghost_share(index->count_limit) < state->ghost.room)
        larder_index_ghost_resize(index, &state->ghost, ghost_share(index->count_limit));
    return LARDER_OK;
}

static void s3fifo_stop(larder_index *index) {
    s3fifo_state *state = index->policy_state;
    if (state == NULL) return;
    larder_index_ghost_free(index, &state->ghost);
    index->policy_bytes -= sizeof *state;
    free(state);
    index->policy_state = NULL;
}

static void s3fifo_inserted(larder_index *index, larder_index_slot slot) {
    s3fifo_state *state = index->policy_state;
    const bool was_misjudged = index_ghost_take(&state->ghost, index_hash_of(index, slot));
    index_list_put_first(index, was_misjudged ? LIST_MAIN : LIST_SMALL, slot);
}

static void s3fifo_touched(larder_index *index, larder_index_slot slot) {
    const uint32_t uses = index_uses_of(index, slot);
    if (uses < USES_MAX) index_set_uses(index, slot, uses + 1);
}

static larder_index_slot s3fifo_forget(larder_index *index, larder_index_slot slot) {
    s3fifo_state *state = index->policy_state;
    policy_remember(index, &state->ghost, index_hash_of(index, slot),
                    ghost_share(policy_capacity(index)));
    return slot;
}

static larder_index_slot s3fifo_victim(larder_index *index) {
    const bool is_new_in_small =
        index->newest != LARDER_INDEX_NONE && index_list_of(index, index->newest) == LIST_SMALL;
    const uint64_t others = index->lists[LIST_SMALL].count + index->lists[LIST_MAIN].count - 1;
    const uint64_t share = others < 10 ? 1 : others / 10;
    // Ends: each step moves an entry out of the small queue, or takes a use away.
    for (;;) {
        const uint64_t small = index->lists[LIST_SMALL].count - is_new_in_small;
        larder_index_slot slot = policy_last(index, LIST_MAIN);
        if (small >= share || slot == LARDER_INDEX_NONE) {
            slot = policy_last(index, LIST_SMALL);
            if (slot == LARDER_INDEX_NONE) return index->newest;
            if (index_uses_of(index, slot) < USES_TO_MAIN) return s3fifo_forget(index, slot);
            index_set_uses(index, slot, 0);
        } else {
            const uint32_t uses = index_uses_of(index, slot);
            if (uses == 0) return slot;
            index_set_uses(index, slot, uses - 1);
        }
        index_list_move_first(index, LIST_MAIN, slot);
    }
}

/** What was read has shown that it is not used once only. */
static void s3fifo_adopt(larder_index *index, const larder_index_slot *slots, const bool *read,
                         size_t count) {
    for (size_t i = 0; i < count; i++)
        index_list_put_first(index, read[i] ? LIST_MAIN : LIST_SMALL, slots[i]);
}

static const char *s3fifo_check(const larder_index *index) {
    const s3fifo_state *state = index->policy_state;
    return larder_index_ghost_check(&state->ghost);
}

const index_policy larder_index_policy_s3fifo = {
    .hears_reads = true,
    .lists = {LIST_SMALL, LIST_MAIN},
    .start = s3fifo_start,
    .stop = s3fifo_stop,
    .inserted = s3fifo_inserted,
    .touched = s3fifo_touched,
    .victim = s3fifo_victim,
    .adopt = s3fifo_adopt,
    .check = s3fifo_check,
};
