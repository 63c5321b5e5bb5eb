// SPDX-License-Identifier: MIT
/** @file maintenance.h
    Private: what is done for the store in the background, and when. */
#ifndef LARDER_MAINTENANCE_H
#define LARDER_MAINTENANCE_H

#include "larder_os_pool.h"
#include "larder_store.h"

/** The pending lock guards it, and is held by whoever calls what is below. */
typedef struct maintenance {
    /** Of the pool: checkpoints, syncs and limits. */
    larder_os_task task;
    bool has_thread, wants_flush, wants_spare;
    /** Reads wait that no checkpoint has seen. */
    bool has_reads, is_asking_for_reads;
    /** For which segment a spare was asked for. */
    uint32_t spare_asked_for;
    /** Monotonic times; 0 for none. */
    int64_t pending_since_ns, trimmed_ns, asked_for_reads_ns;
    uint64_t written_when_due;
} maintenance;

/** When each is to be done; INT64_MAX for never. */
typedef struct due_times {
    int64_t trim_ns, flush_ns, sync_ns, reads_ns;
} due_times;
due_times larder_store_due_times(const larder_store *store);
/** When there is something to do next; INT64_MAX: when a call asks for it. */
int64_t larder_store_next_due(const larder_store *store);
/** Tells the pool when there is something to do. */
void larder_store_wake(larder_store *store);
/** Reads are worth a checkpoint as writes are, an interval after the first one. */
void larder_store_has_reads(larder_store *store);
/** Has who keeps reads from the store hand them over, unless that is going on; the lock is not
    held. */
void larder_store_ask_for_reads(larder_store *store);

#endif
