// SPDX-License-Identifier: MIT
/** @file policy.h
    Private: what the eviction policies have in common. */
#ifndef LARDER_POLICY_H
#define LARDER_POLICY_H

#include "index/policy/ghost.h"
#include "index/table.h"

/** The last entry of a list that is not the index's newest one, or LARDER_INDEX_NONE. What was just
    written has to be found afterwards, so it goes only where nothing else can. */
static inline larder_index_slot policy_last(const larder_index *index, uint32_t list) {
    const larder_index_slot last = index->lists[list].last;
    if (last == index->newest && last != LARDER_INDEX_NONE)
        return index_link_of(index, last)->newer;
    return last;
}

/** How many entries fit, when one has to go: so many as there are, or fewer by the limit. */
static inline uint64_t policy_capacity(const larder_index *index) {
    return index->count < index->count_limit ? index->count : index->count_limit;
}

/** Puts the hash of what goes into a ghost list of at most `limit`, which grows as needed: at once
    to what the limit of entries will want, else to twice its room, so that it seldom grows. */
static inline void policy_remember(larder_index *index, index_ghost *ghost, uint32_t hash,
                                   uint64_t limit) {
    if (limit > ghost->room)
        larder_index_ghost_resize(index, ghost,
                                  index->count < index->count_limit ? limit * 2 : limit);
    index_ghost_put(ghost, hash, limit);
}

#endif
