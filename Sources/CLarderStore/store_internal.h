// SPDX-License-Identifier: MIT
/** @file store_internal.h
    Private: what the store's source files share.

    A write goes: batch (records, ready) → journal (one message, atomic) → pending (where the newest
    record of each key lies, in the journal's own bytes) → flusher (sorted, one LMDB transaction).
    A read goes the other way: pending, then the tree.

    Who holds what:
    - `lock` guards journal, pending tables, totals and spill epoch. Held for an append and for
      looking into pending; never over a system call, but to wait for room.
    - `flush_lock` is held by the one thread that applies the journal. `lock` may be taken under it,
      never the other way round.
    - Readers' places guard themselves (environment.h); one may be taken under either lock.

    Numbers: the store's sequence is `base` + the ring's, so that a journal that was made anew goes
    on counting. */
#ifndef LARDER_STORE_INTERNAL_H
#define LARDER_STORE_INTERNAL_H

#include <pthread.h>

#include "environment.h"
#include "file_io.h"
#include "journal.h"
#include "pending.h"
#include "spill.h"

/** What open found in the journal. */
typedef struct journal_recovery {
    uint64_t intact;
    uint64_t lost;
    /** The last message that was taken up; what the tree had of it, if there was none. */
    uint64_t through;
} journal_recovery;

/** Of the last transaction that was committed. */
typedef struct committed_state {
    uint64_t transaction;
    uint64_t applied;
    uint64_t count;
    uint64_t bytes;
} committed_state;

/** A read-only handle's way through the journal of the process that writes. */
typedef struct follower {
    larder_ring_reader *reader;
    /** Numbers of the messages that `active` holds without a gap; first 0 before the first. */
    uint64_t first;
    uint64_t last;
    /** Copies of their bytes. */
    uint8_t **blocks;
    size_t block_count;
    size_t block_capacity;
    /** Nobody writes: the journal is what a process left that was killed, or a power cut. It ends
        where a file is missing, or, after a power cut, damaged. */
    bool is_left;
    bool was_power_cut;
    bool has_ended;
    /** Which file the journal is; inode 0 if there was none. */
    uint64_t device;
    uint64_t inode;
    /** Journals that another one came in the place of. */
    larder_ring **retired;
    size_t retired_count;
} follower;

/** Since when the last eighth of the journal is being used, 0 if it is not; how long it took, the
    last time, until there was room again; and where those wait whom it slows. */
typedef struct backpressure {
    int64_t since_ns;
    int64_t took_ns;
    pthread_cond_t relief;
} backpressure;

struct larder_store {
    char *path;
    larder_store_options options;
    environment *environment;
    spill *spill;
    /** A byte in a page that fork(2) hands to the child as zeros. */
    const volatile uint8_t *not_forked;
    int lock_file;
    /** The start of the machine that the lock's file names. */
    char boot[33];
    uint32_t version;
    uint64_t content_format;
    int64_t created_ns;
    uint64_t store_id;
    uint8_t secret[16];
    journal_recovery recovery;
    /** The lock's file names this session, on the device. */
    _Atomic bool is_noted;
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
    store_journal journal;
    /** Writes since the flusher last took over, those that it is applying or NULL, and an empty
        table to go on with. */
    pending_writes *active;
    pending_writes *frozen;
    pending_writes *spare;
    /** Entries in both tables, and removals of everything: readers look no further if it is 0. */
    _Atomic uint64_t pending_count;
    committed_state committed;
    uint64_t spill_number;
    uint32_t spill_epoch;
    /** Announced files whose put has not come yet. */
    spill_files intents;
    /** Reads that the transaction under way folds in. */
    touch_buffer folding;
    /** Files of puts since the last sync. */
    spill_files unsynced;
    larder_store_limits limits;
    /** Monotonic times; 0 for none. */
    int64_t pending_since_ns;
    int64_t unsynced_since_ns;
    bool wants_flush;
    bool stops;
    backpressure backpressure;
    follower follower;
    pthread_cond_t wake;

    /** Taken before every other one. */
    pthread_mutex_t shutdown_lock;
    /** Taken before `lock`. Guards the files that are being synced, or were left when it failed. */
    pthread_mutex_t sync_lock;
    spill_files syncing;
    /** Taken before `lock` and `sync_lock`. */
    pthread_mutex_t flush_lock;
    pthread_t thread;
    bool has_thread;
    /** Whether rows of SPACE_DOOMED may be there. */
    bool has_doomed;
    /** Whose files are deleted and whose rows are still there. */
    spill_files deleted;
    /** How far the sweep has come that gives entries their deadlines; empty for the start. */
    tree_key sweep_from;
    int64_t sweep_age_ns;
    /** As meta.age_ns. */
    int64_t swept_age_ns;
    int64_t trimmed_ns;
    _Atomic larder_status last_failure;

    _Atomic uint64_t hits, misses, damaged, written, removed, evicted, expired;
    _Atomic uint64_t flushes, flush_failures, touches_dropped;
};

/** LARDER_OK; LARDER_ECLOSED; LARDER_EFORKED. */
static inline larder_status store_enter(const larder_store *store) {
    if (__builtin_expect(*store->not_forked == 0, 0)) return LARDER_EFORKED;
    if (__builtin_expect(atomic_load_explicit(&store->is_shut, memory_order_acquire), 0))
        return LARDER_ECLOSED;
    return LARDER_OK;
}
/** The same for a call that writes: LARDER_EREADONLY too. */
larder_status store_enter_to_write(const larder_store *store);
static inline bool store_is_read_only(const larder_store *store) {
    return (store->options.flags & LARDER_STORE_READ_ONLY) != 0;
}

int64_t store_now(const larder_store *store);
/** When the entry expires, by its own times and the last read that was folded in or is in no
    reader's buffer; not by the store's limits. */
int64_t store_deadline(const snapshot *snapshot, const record *entry);
/** Whether its time is over, by `deadline` and the store's limits of age and end. */
bool store_is_expired(const larder_store *store, const record *entry, int64_t deadline);
/** The same for an entry of `place`; one that idles may have been read since, which was not folded
    in. */
bool store_is_over(larder_store *store, snapshot *place, const record *entry, int64_t deadline);
/** The earliest of these times. */
int64_t store_due(const larder_store *store, const record *entry, int64_t deadline);

/** Locks `lock` for an append of `length` bytes with `ops` ops and makes room for it: waits a while
    if writers are ahead of the flusher, flushes if need be. On failure nothing is locked. */
LARDER_MUST_CHECK larder_status store_begin_append(larder_store *store, size_t length, uint32_t ops,
                                                   larder_reservation *out);
/** Sleeps a while if writers are ahead of the flusher: then true, and everything may have changed.
    `lock` is held, not meanwhile. */
bool store_hold_back(larder_store *store, size_t length);
/** To be called when the journal was freed; `lock` is held. */
void store_relieve(larder_store *store);
/** Publishes what was written into the reservation, tells the flusher if it is time; unlocks. */
LARDER_MUST_CHECK larder_status store_end_append(larder_store *store,
                                                 larder_reservation *reservation, size_t length,
                                                 uint64_t *sequence);
/** A message of the journal becomes part of the active table; `lock` is held, room reserved. */
void store_publish(larder_store *store, const journal_message *message);

/** The version of the entry under `key`, 0 if there is none or its time is over; `lock` is held. */
LARDER_MUST_CHECK larder_status store_version(larder_store *store, larder_bytes key,
                                              uint64_t *sequence);

/** Before the first file of a session: that it began goes to the device, so that after a power cut
    the next one looks for files that nobody knows of. */
LARDER_MUST_CHECK larder_status store_note_session(larder_store *store);

/** Announces a file and writes the value to it. */
LARDER_MUST_CHECK larder_status store_spill(larder_store *store, larder_bytes value,
                                            spill_reference *out);
/** Deletes such a file again, when its put did not come. */
void store_unspill(larder_store *store, const spill_reference *reference);
/** With `lock` held, right before the put is published: moves the file if everything was removed
    meanwhile, and takes it off the list of announced ones. */
LARDER_MUST_CHECK larder_status store_adopt_spill(larder_store *store, spill_reference *reference);

/** Everything up to `sequence` on the device: files of values first, then the journal. */
LARDER_MUST_CHECK larder_status store_sync_through(larder_store *store, uint64_t sequence);

enum {
    /** Look at expiry and free space too. */
    FLUSH_TRIMS = 1,
    /** Only if the journal is more than half full. */
    FLUSH_FOR_ROOM = 2,
    /** The store gets `content_format`, in the last transaction of the flush. */
    FLUSH_SETS_FORMAT = 4
};
/** What to evict beyond the store's limits. */
typedef struct flush_order {
    uint32_t flags;
    uint64_t count;
    uint64_t bytes;
    uint64_t content_format;
    uint64_t evicted;
    uint64_t expired;
    /** Told of files deleted; NULL if nobody asks. */
    larder_progress progress;
    void *context;
    /** ECANCELED if it stopped that. */
    larder_status deletion;
} flush_order;
void flush_order_init(flush_order *order);
LARDER_MUST_CHECK larder_status store_flush(larder_store *store, flush_order *order);
/** Deletes files that no state needs any more, if no message that names one of them waits to be
    applied; the flush lock is held. */
void store_delete_doomed(larder_store *store, flush_order *order);
larder_status store_thread_start(larder_store *store);
void store_thread_stop(larder_store *store);

/** Applies the frozen table and everything else that waits; the flush lock is held. */
LARDER_MUST_CHECK larder_status store_apply(larder_store *store, flush_order *order);

/** Takes up what the journal holds. */
LARDER_MUST_CHECK larder_status store_replay(larder_store *store, uint64_t applied,
                                             bool was_power_cut, larder_store_detail *detail);
/** After a power cut: deletes every file that neither the tree nor the journal refers to.
    O(entries), if there are any files. */
LARDER_MUST_CHECK larder_status store_sweep_files(larder_store *store);
/** Whether the files that a message refers to are there, and if `verifies`, whole.
    @return LARDER_OK; LARDER_EDAMAGED if not; another errno if that cannot be said: nothing may be
            given up for want of a descriptor or of memory. */
LARDER_MUST_CHECK larder_status store_find_files(larder_store *store,
                                                 const journal_message *message, bool verifies);
/** Whether a process, this one too, has the store open for writing.
    @param is_other_boot receives whether whoever had it open last ran before the machine was
    started again. */
bool store_is_held(const larder_store *store, bool *is_other_boot);
/** Takes a place, to be released, of a state that everything belongs to that was written before;
    `lock` is held. Of what is pending a handle that writes needs all, whatever the tree has of it
    by then; a read-only one only what is newer than the place's meta.applied: another process
    writes, and the tree may be newer than what was followed. */
LARDER_MUST_CHECK larder_status store_look(larder_store *store, bool is_long, snapshot **place);
/** Opens the journal of a read-only handle, if there is one. */
LARDER_MUST_CHECK larder_status store_follow_begin(larder_store *store,
                                                   larder_store_detail *detail);
void store_follow_end(larder_store *store);

/** Notes a read. */
void store_touch(larder_store *store, snapshot *snapshot, larder_bytes stored, const record *entry);
void touch_buffer_free(touch_buffer *touches);
/** Moves what is in `from` behind what is in `to`, which grows; what finds no memory is dropped. */
void touch_buffer_move(touch_buffer *from, touch_buffer *to);

/** Everything pending at one moment, copied: one item for each key, in no order. */
typedef struct overlay_item {
    /** Of the write, and its place in a batch. */
    uint64_t sequence;
    uint32_t minor;
    bool is_removal;
    /** The whole key; of a removal as of a put. */
    larder_bytes key;
    /** The record; empty for a removal. */
    larder_bytes record;
} overlay_item;

typedef struct overlay {
    overlay_item *items;
    size_t count;
    /** Number of the last removal of everything; entries of the tree are gone if it is greater than
        the snapshot's meta.applied. 0 if there was none. */
    uint64_t cleared;
    /** Where all bytes lie. */
    uint8_t *bytes;
} overlay;

/** Copies what is pending, and takes a place that fits it, to be released: as store_look. */
LARDER_MUST_CHECK larder_status store_overlay(larder_store *store, overlay *out, snapshot **place);
void overlay_free(overlay *overlay);

/** Pending writes above which a cursor has the flusher come first, and the order of use always. */
enum { OVERLAY_MAX_COUNT = 4096 };

/** Turns a record into an entry: verifies it, opens a spilled value unless told not to.
    The caller sees to expiry. Bytes stay borrowed from where the record lies. */
LARDER_MUST_CHECK larder_status store_entry_of_record(larder_store *store, const record *record,
                                                      int64_t deadline, uint32_t flags,
                                                      larder_store_entry *entry);

#endif
