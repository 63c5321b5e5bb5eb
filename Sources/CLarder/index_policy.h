// SPDX-License-Identifier: MIT
/** @file index_policy.h
    Private: what the eviction policies have in common. */
#ifndef LARDER_INDEX_POLICY_H
#define LARDER_INDEX_POLICY_H

#include "index_internal.h"

/** The last entry of a list that is not the index's newest one, or LARDER_INDEX_NONE. What was just
    inserted has to be found afterwards, so it goes only where nothing else can. */
static inline larder_index_slot policy_last(const larder_index *index, uint32_t list) {
    larder_index_slot last = index->lists[list].last;
    if (last == index->newest && last != LARDER_INDEX_NONE) {
        return index_link_of(index, last)->newer;
    }
    return last;
}

#endif
