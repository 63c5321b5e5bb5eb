// SPDX-License-Identifier: MIT
/** @file checkpoint.h
    Private: what is asked of checkpoints, by calls, by writers that are faster, and by time. */
#ifndef LARDER_CHECKPOINT_H
#define LARDER_CHECKPOINT_H

#include "handle/handle.h"

enum {
    /** Look at expiry and free space too. */
    FLUSH_TRIMS = 1,
    /** Only if nearly as much waits for a checkpoint as may. */
    FLUSH_FOR_ROOM = 2,
    /** The store gets `content_format`, in the last transaction of the flush. */
    FLUSH_SETS_FORMAT = 4,
    /** Clean every segment that has anything dead in it. */
    FLUSH_COMPACTS = 8,
    /** Clean only segments of which nothing has to be copied. */
    FLUSH_COPIES_NOTHING = 16,
    /** Leave the log's last segment, where it was sealed and nothing came behind it. */
    FLUSH_PASSES = 32,
    /** Evict beyond the store's limits, down to the count and bytes of `limits`. */
    FLUSH_EVICTS = 64
};
/** All zero for what a checkpoint does anyway. */
typedef struct flush_order {
    /** FLUSH_… */
    uint32_t flags;
    larder_store_limits limits;
    uint64_t content_format;
    uint64_t evicted, expired;
    /** Told of segments deleted; NULL if nobody asks. */
    larder_progress progress;
    void *context;
    /** ECANCELED if it stopped that. */
    larder_status deletion;
} flush_order;
LARDER_MUST_CHECK larder_status larder_store_checkpoint(larder_store *store, flush_order *order);

// backpressure.c
/** Sleeps a while if writers are ahead of the checkpoint: then true, and everything may have
    changed. `lock` is held, not meanwhile. */
bool larder_store_hold_back(larder_store *store, size_t length);
/** To be called when a checkpoint made room; `lock` is held. */
void larder_pending_relieve(pending_writes *pending);

// thread.c
/** The pool looks after the store from here on, until the other call. */
larder_status larder_store_thread_start(larder_store *store);
void larder_store_thread_stop(larder_store *store);

#endif
