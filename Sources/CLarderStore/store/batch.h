// SPDX-License-Identifier: MIT
/** @file batch.h
    Private: what a batch has gathered. */
#ifndef LARDER_BATCH_H
#define LARDER_BATCH_H

#include "handle/handle.h"

/** Records, one behind the other. */
typedef struct chain {
    uint8_t *bytes;
    size_t length, capacity;
    uint32_t count;
} chain;

struct larder_store_batch {
    larder_store *store;
    /** Padded, without numbers and checksums. */
    chain records;
    /** How many of them are no removals. */
    uint32_t put_count;
    /** Each a removal of the key, with the version that is asked for as its number. */
    chain required;
    /** Each a removal of what has the index as the first two bytes of its key, then the value. */
    chain unique;
    bool requires_unchanged;
    /** The last commit failed because of a value of `duplicate_index`. */
    bool is_duplicate;
    uint16_t duplicate_index;
    uint64_t unchanged_since;
};

/** Room for one more record; where it goes. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_chain_add(chain *grown, size_t length, uint8_t **target);
/** Whether the values in `unique` are that, after the batch; `unique_lock` is held.
    @return LARDER_OK; LARDER_ECONFLICT, and `duplicate_index` says of which index; ENOMEM or
            another error of a cursor. */
LARDER_MUST_CHECK larder_status larder_batch_is_unique(larder_store_batch *batch);

#endif
