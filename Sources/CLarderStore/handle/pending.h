// SPDX-License-Identifier: MIT
/** @file pending.h
    Private: what was written: the log, and where in it those writes lie that the tree does not have
    yet. */
#ifndef LARDER_PENDING_H
#define LARDER_PENDING_H

#include "larder_os_condition.h"
#include "log/log.h"
#include "log/memtable.h"

/** Since when the last eighth of what may wait for a checkpoint is being used, 0 if it is not; how
    long it took, the last time, until there was room again; and where those wait whom it slows. */
typedef struct backpressure {
    int64_t since_ns, took_ns;
    /** `since_ns` is when a checkpoint began that has not made room. */
    bool is_behind;
    pthread_cond_t relief;
} backpressure;

/** How much may wait for a checkpoint: see checkpoint/room.c. */
typedef struct pending_room {
    /** In the active memtable, as bytes of the log and as keys. */
    uint64_t active_bytes, active_count;
    /** In both memtables. */
    uint64_t bytes, count;
} pending_room;

/** A read-only handle's way through the log of the process that writes. */
typedef struct follower {
    /** Where it reads on. */
    location next;
    /** `active` has every write from here on, to `last`; 0 before the first. */
    uint64_t first, last;
    /** The machine was started again since somebody wrote, and nobody has gone over the log yet: it
        ends where it is not whole, but not before `synced`. */
    bool is_cut;
    bool has_ended;
    location synced;
    /** Up to there the log was synced when the handle was opened, as the lock's file says. */
    location noted;
    /** Where it ended if it was closed then. */
    location closed_at;
    /** It has not come to the log's end yet. */
    bool is_fresh;
    /** There is a log, also where no checkpoint came yet: then its first segment has to be there.
        */
    bool has_log;
    /** Writes that are known to be lost, behind `first`. */
    uint64_t lost;
    /** Something was missing, or not what it should be, when it was followed last. */
    bool is_hurt;
} follower;

typedef struct pending_writes {
    /** Guards the log's end, the memtables and totals. Held for an append and for looking into a
        memtable; never over a system call, but to wait for room and to make a segment. */
    pthread_mutex_t lock;
    store_log log;
    /** Writes since the last checkpoint began, those that it is applying or NULL, and an empty
        table to go on with. */
    memtable *active, *frozen, *spare;
    /** Held by a batch that requires unique values, from before its look at those that there are
        until it is written. A checkpoint may be run meanwhile. */
    pthread_mutex_t unique_lock;
    /** One at a time adds to the memtables' write rows; before `lock`. */
    pthread_mutex_t rows_lock;
    /** Entries in both tables, and removals of everything: readers look no further if it is 0. */
    _Atomic uint64_t count;
    /** The newest write's number, for stamps of reads. */
    _Atomic uint64_t newest_sequence;
    pending_room room;
    /** What the tree holds; while there is a frozen table, what it held when that was frozen. */
    uint64_t tree_bytes, tree_count;
    /** What the longest segment holds that cleaning may have to copy: without room for so much
        nothing may come free. */
    uint64_t copied_at_once;
    /** Writers that need more room than there is, and wait until nothing else does: the others
        wait for them. */
    uint32_t large_writers;
    backpressure pressure;
    follower follower;
} pending_writes;

/** Whether, with `length` bytes more, the last eighth of what may wait is being used; the pending
    lock is held. */
static inline bool pending_is_nearly_full(const pending_writes *pending, size_t length) {
    uint64_t bytes = pending->room.active_bytes, keys = pending->room.active_count;
    return pending->active->bytes + length > bytes - bytes / 8 ||
           pending->active->count > keys - keys / 8;
}

/** Records of one write become part of the active table; the pending lock is held, room reserved.
    */
void larder_store_publish(larder_store *store, const uint8_t *records, uint32_t count,
                          uint32_t number);

#endif
