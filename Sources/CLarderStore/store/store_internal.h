// SPDX-License-Identifier: MIT
/** @file store_internal.h
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
#ifndef LARDER_STORE_INTERNAL_H
#define LARDER_STORE_INTERNAL_H

#include <pthread.h>

#include "cleaning/live.h"
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
/** The same for a call that writes: LARDER_EREADONLY too. */
larder_status larder_store_enter_to_write(const larder_store *store);
static inline bool store_is_read_only(const larder_store *store) {
    return (store->options.flags & LARDER_STORE_READ_ONLY) != 0;
}

static inline int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t later_by(int64_t time, int64_t span) {
    int64_t sum;
    if (span == LARDER_STORE_NEVER) return LARDER_STORE_NEVER;
    if (__builtin_add_overflow(time, span, &sum)) return span < 0 ? INT64_MIN : LARDER_STORE_NEVER;
    return sum;
}
int64_t larder_store_now(const larder_store *store);
/** When the entry expires, by its own times and the last read that was folded in or is in no
    reader's buffer; not by the store's limits. */
int64_t larder_store_deadline(const snapshot *snapshot, const record *entry);
/** Whether an entry of `place` has expired, by `deadline` and the store's limits of age and end.
    One with an idle time may have been read since, which was not folded in.
    @param is_locked the caller has `lock`. */
bool larder_store_is_expired(larder_store *store, const snapshot *place, const record *entry,
                             int64_t deadline, bool is_locked);
/** The earliest of these times. */
int64_t larder_store_due(const larder_store *store, const record *entry, int64_t deadline);

/** Locks `lock` for an append of `length` bytes of `count` records and makes room for it: waits a
    while if writers are ahead of the checkpoint, runs one if need be. On failure nothing is locked.
    @param is_removal may use what is kept back for that on a full disk. */
LARDER_MUST_CHECK larder_status larder_store_begin_append(larder_store *store, size_t length,
                                                          uint32_t count, bool is_removal,
                                                          uint8_t **target);
/** Whether, with `length` bytes more, the last eighth of what may wait is being used; `lock` is
    held. */
bool larder_store_is_nearly_full(const larder_store *store, size_t length);
/** Sleeps a while if writers are ahead of the checkpoint: then true, and everything may have
    changed. `lock` is held, not meanwhile. */
bool larder_store_hold_back(larder_store *store, size_t length);
/** To be called when a checkpoint made room; `lock` is held. */
void larder_store_relieve(larder_store *store);
/** Of its record. LARDER_EINVALID: flags that there are not; LARDER_ETOOLARGE. */
LARDER_MUST_CHECK larder_status larder_store_item_size(const larder_store_item *item,
                                                       size_t *length);
/** Publishes the `count` records that were written at `target`, sealed but for the first word of
    the first one; tells the checkpoint's thread if it is time; unlocks; syncs if `flags` ask for
    it.
    @param sequence receives their number; may be NULL. */
LARDER_MUST_CHECK larder_status larder_store_end_append(larder_store *store, const uint8_t *target,
                                                        size_t length, uint32_t count,
                                                        uint64_t first_word, uint32_t flags,
                                                        uint64_t *sequence);
/** Records of one write become part of the active table; `lock` is held, room reserved. */
void larder_store_publish(larder_store *store, const uint8_t *records, uint32_t count,
                          uint32_t number);

/** The version of the entry under `key`, 0 if there is none or it expired; `lock` is held. */
LARDER_MUST_CHECK larder_status larder_store_version(larder_store *store, larder_bytes key,
                                                     uint64_t *sequence);

/** Everything that was written before on the device. */
LARDER_MUST_CHECK larder_status larder_store_sync_log(larder_store *store);
/** The same with `sync_lock` held. Before the first segment is marked as synced, the tree and all
    names are. */
LARDER_MUST_CHECK larder_status larder_store_sync_held(larder_store *store);

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
    uint64_t evicted;
    uint64_t expired;
    /** Told of segments deleted; NULL if nobody asks. */
    larder_progress progress;
    void *context;
    /** ECANCELED if it stopped that. */
    larder_status deletion;
} flush_order;
LARDER_MUST_CHECK larder_status larder_store_checkpoint(larder_store *store, flush_order *order);
/** Deletes segments that no state needs any more; the flush lock is held. */
void larder_store_delete_retired(larder_store *store, flush_order *order);
/** Tells the pool when there is something to do; `lock` is held. */
void larder_store_wake(larder_store *store);
larder_status larder_store_thread_start(larder_store *store);
void larder_store_thread_stop(larder_store *store);

/** Reads what the log holds behind what the tree has, into the active table, and opens its last
    segment for appending. */
LARDER_MUST_CHECK larder_status larder_store_replay(larder_store *store, bool was_power_cut,
                                                    larder_store_detail *detail);
/** Whether whoever had the store open for writing last ran before the machine was started again.
    @param holder_pid receives the process, this one too, that has it open; 0 if there is none. */
bool larder_store_was_cut(const larder_store *store, int64_t *holder_pid);
/** Takes a reader's slot, to be released, of a state that everything belongs to that was written
    before; `lock` is held. Of what is pending a handle that writes needs all, whatever the tree has
    of it by then; a read-only one only what is newer than the slot's meta.applied: another process
    writes, and the tree may be newer than what was followed. As store_enter, too. */
LARDER_MUST_CHECK larder_status larder_store_look(larder_store *store, bool is_long,
                                                  snapshot **place);

/** The record that an entry's row leads to: inline, or in its segment. Not verified, but for what
    the row says of it: sequence, minor, and that it is a put.
    @return LARDER_OK; LARDER_EDAMAGED, or an errno.
    @param number receives that of the segment that it lies in, 0 for inline. */
LARDER_MUST_CHECK larder_status larder_store_record_of_row(larder_store *store, larder_bytes row,
                                                           larder_bytes *bytes, uint32_t *number);

/** Notes a read of an entry with that idle time, LARDER_STORE_NEVER for none. */
void larder_store_touch(larder_store *store, snapshot *snapshot, larder_bytes stored,
                        int64_t idle_ns);

/** Turns a record into an entry: verified before by the caller, who sees to expiry. Bytes stay
    borrowed from where the record lies. `number`: of its segment, 0 for inline. */
void larder_store_entry_of_record(larder_store *store, const record *found, int64_t deadline,
                                  uint32_t flags, uint32_t number, larder_store_entry *entry);

#endif
