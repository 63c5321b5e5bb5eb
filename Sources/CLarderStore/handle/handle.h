// SPDX-License-Identifier: MIT
/** @file handle.h
    Private: what the store's source files share.

    A write goes: record(s) → active segment (atomic) → memtable (where the newest record of each
    key lies) → checkpoint (sorted, in several LMDB transactions). A read goes: memtable, tree,
    record.

    Who holds what:
    - `lock` guards the log's end, the memtables and totals. Held for an append and for looking into
      a memtable; never over a system call, but to wait for room and to make a segment.
    - `flush_lock` is held by the one thread that runs a checkpoint; it guards `live` and `retired`.
      `lock` may be taken under it, never the other way round.
    - `sync_lock` is held by whoever syncs the log. `lock` may be taken under it.
    - Readers' slots guard themselves (environment.h); one may be taken under any lock. */
#ifndef LARDER_HANDLE_H
#define LARDER_HANDLE_H

#include <pthread.h>

#include "handle/live.h"
#include "larder_os_file.h"
#include "larder_os_pool.h"
#include "lmdb/environment.h"
#include "log/log.h"
#include "log/memtable.h"

/** A read-only handle's way through the log of the process that writes. */
typedef struct follower {
    /** Where it reads on. */
    location next;
    /** `active` has every write from here on, to `last`; 0 before the first. */
    uint64_t first;
    uint64_t last;
    /** The machine was started again since somebody wrote, and nobody has gone over the log yet: it
        ends where it is not whole. */
    bool is_cut;
    bool has_ended;
} follower;

/** Since when the last eighth of what may wait for a checkpoint is being used, 0 if it is not; how
    long it took, the last time, until there was room again; and where those wait whom it slows. */
typedef struct backpressure {
    int64_t since_ns;
    int64_t took_ns;
    pthread_cond_t relief;
} backpressure;

struct larder_store {
    /** Absolute. */
    char *path;
    larder_store_options options;
    larder_store_tuning tuning;
    environment *environment;
    /** A byte in a page that fork(2) hands to the child as zeros. */
    const volatile uint8_t *not_forked;
    /** The one descriptor of an idle store. */
    int lock_file;
    /** The start of the machine that the lock's file names. */
    char boot[33];
    /** What open found in the log. */
    larder_store_report recovery;
    _Atomic bool is_shut;
    /** Reads are noted for the order of use. */
    _Atomic bool tracks_access;
    /** Copies of the limits for those who read without the lock. */
    _Atomic int64_t age_ns;
    _Atomic int64_t end_ns;
    _Atomic uint64_t read_number;
    /** The newest write's number, for stamps of reads. */
    _Atomic uint64_t newest_sequence;

    pthread_mutex_t lock;
    store_log log;
    /** Writes since the last checkpoint began, those that it is applying or NULL, and an empty
        table to go on with. */
    memtable *active;
    memtable *frozen;
    memtable *spare;
    /** Entries in both tables, and removals of everything: readers look no further if it is 0. */
    _Atomic uint64_t pending_count;
    /** Of the last transaction that was committed; changed under `flush_lock` and `lock`. */
    store_meta meta;
    /** Reads that the transaction under way folds in. */
    touch_buffer folding;
    larder_store_limits limits;
    /** Monotonic times; 0 for none. */
    int64_t pending_since_ns;
    int64_t unsynced_since_ns;
    uint64_t written_when_due;
    bool wants_flush;
    bool wants_spare;
    /** There may be something to expire, or a limit that time or the file system decides about. */
    bool may_expire;
    /** For which segment a spare was asked for. */
    uint32_t spare_asked_for;
    backpressure backpressure;
    follower follower;

    /** Taken before every other one. */
    pthread_mutex_t shutdown_lock;
    /** Taken before `lock`. */
    pthread_mutex_t sync_lock;
    /** What makes the store is on the device, with all names; `sync_lock` guards it. */
    bool is_settled;
    /** Taken before `lock` and `sync_lock`. */
    pthread_mutex_t flush_lock;
    /** Of the pool: checkpoints, syncs and limits. */
    larder_os_task task;
    bool has_thread;
    live_table live;
    /** Segments that the tree leads to no more: deleted when nobody looks at an older state. */
    live_table retired;
    /** The tree may have writes behind meta.applied: a checkpoint ended early. */
    bool is_partly_applied;
    /** What segments may take too much, since opening: fewer by each byte written. */
    uint64_t clean_grace_bytes;
    int64_t trimmed_ns;
    _Atomic larder_status last_failure;

    _Atomic uint64_t hits, misses, damaged, written, removed, evicted, expired;
    _Atomic uint64_t flushes, flush_failures, touches_dropped;
    _Atomic uint64_t appended_bytes, cleaned_bytes;
};

/** LARDER_OK; LARDER_ECLOSED; LARDER_EFORKED. */
static inline larder_status store_enter(const larder_store *store) {
    if (*store->not_forked == 0) return LARDER_EFORKED;
    if (atomic_load_explicit(&store->is_shut, memory_order_acquire)) return LARDER_ECLOSED;
    return LARDER_OK;
}
static inline bool store_is_read_only(const larder_store *store) {
    return (store->options.flags & LARDER_STORE_READ_ONLY) != 0;
}
/** As store_enter, for a call that writes: LARDER_EREADONLY too. */
static inline larder_status store_enter_to_write(const larder_store *store) {
    larder_status status = store_enter(store);
    return !status && store_is_read_only(store) ? LARDER_EREADONLY : status;
}

#endif
