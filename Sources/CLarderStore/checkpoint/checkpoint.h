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
    /** The store gets `content_format` and `key_form`, in the last transaction of the flush. */
    FLUSH_SETS_FORMATS = 4,
    /** Clean every segment that has anything dead in it. */
    FLUSH_COMPACTS = 8,
    /** Clean only segments of which nothing has to be copied. */
    FLUSH_COPIES_NOTHING = 16,
    /** Leave the log's last segment, where it was sealed and nothing came behind it. */
    FLUSH_PASSES = 32,
    /** Evict beyond the store's limits, down to the count and bytes of `limits`. */
    FLUSH_EVICTS = 64
};
/** Room for the smallest checkpoint, with a table of readers. */
enum { CHECKPOINT_ROOM_BYTES = 32 << 10 };
/** All zero for what a checkpoint does anyway. */
typedef struct flush_order {
    /** FLUSH_… */
    uint32_t flags;
    larder_store_limits limits;
    uint64_t content_format;
    uint16_t key_form;
    uint64_t evicted, expired;
    /** So much the file system is to have left: cleaning goes beyond its bound for it. */
    uint64_t room_bytes;
    /** Bytes that cleaning has read for it. */
    uint64_t cleaned_bytes;
    /** More is worth cleaning than there was room to copy. */
    bool is_cut;
    /** Told of segments deleted; NULL if nobody asks. */
    larder_progress progress;
    void *context;
    /** ECANCELED if it stopped that. */
    larder_status deletion;
} flush_order;
LARDER_MUST_CHECK larder_status larder_store_checkpoint(larder_store *store, flush_order *order);
/** Room that checkpoints may take whose writes bring no rows, so that they never fail for the want
    of it as long as nobody else fills the disk: pages that they rewrite, in small transactions if
    need be, and copies of cleaning. The pending lock or that of the index is held. */
uint64_t larder_store_room_to_keep(larder_store *store);
/** The part of it that cleaning needs to begin with. No removal takes it, nor a transaction while
    an old snapshot has each one take new pages: so that what was removed gives its room back once
    that snapshot is gone. */
uint64_t larder_store_least_room(larder_store *store);
/** The log goes on in another, small segment, so that its last one can be cleaned, too. On a full
    disk what is reserved for the tree makes way for it; without any room it stays as it is. */
LARDER_MUST_CHECK larder_status larder_store_turn_over(larder_store *store);

// room.c
/** Works out how much may wait for a checkpoint, and how large segments are; the pending lock is
    held. To be called when what that depends on has changed: limits, the tree, the frozen memtable.
    */
void larder_store_set_room(larder_store *store);
/** The same for removals, which no limit delays. */
pending_room larder_store_journal_room(const larder_store *store);
/** As larder_live_longest, of what is in the tree. Where others have filled the disk, no more than
    segments have that are made on it. The index's lock is held. */
uint64_t larder_store_copied_at_once(const larder_store *store);
/** Whether the tree and what waits may be more than a limit allows; the pending lock is held. */
bool larder_store_is_over_limit(const larder_store *store);

// backpressure.c
/** Sleeps a while if writers are ahead of the checkpoint: then true, and everything may have
    changed. The pending lock is held, not meanwhile. */
bool larder_store_hold_back(larder_store *store, size_t length);
/** To be called when a checkpoint made room, and when one begins with what has waited so far;
    the pending lock is held. */
void larder_pending_relieve(pending_writes *pending);
void larder_pending_restart(pending_writes *pending);
/** Waits until there is news of room, or a moment; the pending lock is held, not meanwhile. */
void larder_pending_wait(pending_writes *pending);

// thread.c
/** The pool looks after the store from here on, until the other call. */
larder_status larder_store_thread_start(larder_store *store);
void larder_store_thread_stop(larder_store *store);

#endif
