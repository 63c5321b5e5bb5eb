// SPDX-License-Identifier: MIT
/** @file syncing.h
    Private: bringing the log to the device. */
#ifndef LARDER_SYNCING_H
#define LARDER_SYNCING_H

#include <pthread.h>
#include <stdbool.h>

#include "larder_store.h"

typedef struct syncing {
    /** Held by whoever syncs the log. */
    pthread_mutex_t lock;
    /** What makes the store is on the device, with all names. */
    bool is_settled;
    /** Monotonic, 0 for none; the pending lock guards it. */
    int64_t unsynced_since_ns;
} syncing;

/** The write of that number, and all before it, on the device; UINT64_MAX: all that there are. The
    group commit: whoever waited for the lock while another one synced may find that done. */
LARDER_MUST_CHECK larder_status larder_store_sync_through(larder_store *store, uint64_t sequence);
/** Everything, for a caller that has the lock. Before the first segment is marked as synced, the
    tree and all names are. */
LARDER_MUST_CHECK larder_status larder_store_sync_held(larder_store *store);

#endif
