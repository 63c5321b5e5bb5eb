// SPDX-License-Identifier: MIT
/** @file ring_internal.h
    Private: what the ring's source files share. The bytes on disk are in ring/layout.h.

    Who holds what:
    - `ring_lock` guards everything but what is said below. It is held for the copy of a message, or
      of a reader's chunk; over a system call only to warm pages ahead, to wake followers that
      sleep, and for the sync of an append that has overtaken the background, larder_ring_mark.
    - `device_mutex` lets one thread at a time wait for the device: the kernel tells of a failure
      once, and would tell the other one that all is well. It is the last to be taken.
    - `sync_mutex` guards the group commit and its thread; it may be held when ring_lock is taken,
      never the other way round.
    - `wait_mutex` guards sleeping in larder_ring_wait, in the same order. */
#ifndef LARDER_RING_INTERNAL_H
#define LARDER_RING_INTERNAL_H

#include <pthread.h>

#include "larder_os_file.h"
#include "ring/layout.h"

#define COLD __attribute__((noinline, cold))

/** A condition that seldom holds. Clang takes a way with a chance below one in a hundred for cold;
    with it the return that it leads to, and so the whole function, which it makes small then, not
    fast. Plain __builtin_expect says one in two thousand. */
#define UNLIKELY(condition) __builtin_expect_with_probability((condition), 0, 0.98)

/** The lock's word lives in a page that fork(2) hands to the child as zeros: the child finds a lock
    that is neither free nor held, and its parent's ring is never written by two processes. */
enum { LOCK_FORKED = 0, LOCK_FREE = 1, LOCK_HELD = 2, LOCK_SHUT = 3 };

/** One stretch of records that follow each other without a gap. */
typedef struct record_run {
    /** Positions. */
    uint64_t start;
    uint64_t end;
    /** Numbers. */
    uint64_t first;
    uint64_t last;
    uint64_t count;
    /** The first one's AFTER GAP bit. */
    bool is_after_gap;
    /** The lap ends behind it, properly. */
    bool ends_lap;
    /** It holds a record that was appended after the sync that the header calls under way. */
    bool proves_sync;
} record_run;

typedef struct record_runs {
    record_run *items;
    size_t count;
    size_t capacity;
} record_runs;

/** A consistent reading of the state; of the live header for a handle of another process. */
typedef struct ring_view {
    uint64_t oldest;
    uint64_t end;
    /** The number given last. */
    uint64_t newest;
    uint64_t next_sequence;
    uint64_t count;
    uint32_t epoch;
    /** Of a walk whose holes nobody has cleared: what it kept, in order; else without any. */
    record_runs kept;
} ring_view;

/** More than there are in a log's maximum age. */
enum { RING_AGE_MARKS = 34 };

/** What is known of the ages of messages besides their times, which are of a clock that may have
    been ahead: by a clock that nobody sets, and since the first append of this handle. */
typedef struct ring_ages {
    /** The time that was believed last, what the other clock said then, and when the last message
        was appended. */
    int64_t now_ns, ticks_ns, last_ns;
    /** What the clock said at the first of these, and by how much it was ahead of it. */
    int64_t clock_ns, ahead_ns;
    /** Messages before the number were appended by the time; a new one for each thirty-second part
        of the maximum age. */
    struct {
        uint64_t number;
        int64_t time_ns;
    } marks[RING_AGE_MARKS];
    uint32_t mark_count;
} ring_ages;

struct larder_ring {
    // What an append touches.
    _Atomic uint32_t *lock;
    uint8_t *data;
    uint64_t data_bytes;
    /** Messages shorter than this are appended without a time: none where times are kept. */
    size_t plain_end;
    ring_header *header;
    uint32_t salt;
    bool overwrite;
    bool read_only;
    /** The file is marked as being written; see larder_ring_begin_writing. */
    bool is_writing;
    /** The background thread knows that there is work for it, or needs not know. */
    bool is_dirty;
    /** The next publication stores `missing`, too; see larder_ring_unsettle. */
    bool is_unsettled;
    /** Which of the two publications is the next one. */
    unsigned slot;
    uint64_t end;
    uint64_t end_position;
    uint64_t next_sequence;
    uint64_t newest;
    uint64_t count;
    uint64_t oldest;
    uint64_t oldest_position;
    /** Of the record at `oldest`, with its head; 0 in an empty ring. */
    uint64_t oldest_bytes;
    /** Number of the record at `oldest`, or `next_sequence` in an empty ring. */
    uint64_t oldest_sequence;
    /** The last generation completed, as a tag without a number. */
    uint64_t generation_bits;
    /** What callers were told is on the device, and up to where a header that says so is there, too
        (invariant 9). */
    uint64_t synced;
    uint64_t marked;
    /** Numbers below it may be given (invariant 10). */
    uint64_t floor;
    /** Offset behind which ring_reach_limit is asked (invariants 10 and 11). */
    uint64_t soft_limit;
    /** Pages up to here (a position) are warm; data_bytes after the first lap. */
    uint64_t warmed;
    _Atomic uint32_t waiters;

    size_t message_max;
    /** What of each payload is its time; 0 if times are not kept, and then the rest means nothing.
        */
    size_t time_bytes;
    /** No record written from now on has an earlier time. Known from the first append on. */
    int64_t newest_ns;
    bool knows_newest_ns;
    /** Older messages are removed by an append; 0 for none. Nothing is so old before `expires_ns`.
        */
    int64_t maximum_age_ns;
    int64_t expires_ns;
    /** NULL for the system's. */
    int64_t (*clock)(void *context);
    void *clock_context;

    // The reservation under way, if any: its holder holds the lock.
    uint64_t reserved_position;
    size_t reserved_capacity;
    uint64_t reserved_skip;
    bool is_reserved;

    /** Something was changed by this handle; pages were warmed, or nearly. */
    bool has_changed;
    bool has_warmed;
    /** A header is to be brought to the device in the background (invariants 10 and 11). */
    bool wants_mark;
    /** Something was synced before: a header that is gone was damaged. */
    bool is_established;
    /** The file's name is on the device, and the backup says so (invariant 13). */
    bool is_named;
    /** The file is about to be renamed: its name now need not get there. */
    bool is_temporary;
    /** The backup needs no look: it would cost a page. */
    bool has_backup;
    /** There was one, of whatever kind, when the file was opened. */
    bool had_backup;

    // Once per open.
    /** From the root on; NULL if it could not be told. */
    char *path;
    int file;
    uint8_t *map;
    size_t map_bytes;
    ring_fixed fixed;
    larder_ring_report recovery;
    /** Messages at the oldest end that open found damaged in a file that had been closed; counted
        as lost with the first change. */
    uint64_t damaged_oldest;
    /** As in the statistics. */
    uint64_t opened_sequence, opened_skipped;
    /** A read-only handle of a file that nobody closed: what the walk found, which holds as long as
        the file's epoch is this. */
    ring_view private_view;
    bool has_private_view;
    uint64_t private_skipped;
    /** Messages that a walk of a file which only this handle reads found damaged before and behind
        all others. */
    uint64_t private_damaged;

    pthread_mutex_t device_mutex;
    /** How many syncs of the device failed, and how many of these a later one has made good, for
        which pages were made dirty again (invariant 12). The lock guards the second. */
    _Atomic uint32_t sync_failures;
    uint32_t sync_failures_mended;

    pthread_mutex_t sync_mutex;
    pthread_cond_t sync_done;
    pthread_cond_t sync_wanted;
    bool is_syncing;
    bool has_sync_thread;
    bool stops_sync_thread;
    bool is_shut;
    /** The first failure of the device stays: after it the kernel may have dropped what it could
        not write, and a later success would prove nothing. */
    larder_status sync_failure;
    /** Callers who wait for a sync now, and who did when the last one set out; how long that took.
        */
    uint32_t sync_callers;
    uint32_t sync_group;
    int64_t sync_took_ns;
    pthread_t sync_thread;
    int64_t sync_interval_ns;

    pthread_mutex_t wait_mutex;
    pthread_cond_t wait_appended;
    /** Of a handle that only reads, from its first wait on: the header, to be written to. */
    uint8_t *bell_map;
    bool has_no_bell;
    _Atomic bool is_interrupted;
    /** The newest number that a wait of a read-only handle saw, and when it saw it first. */
    uint64_t seen_newest;
    int64_t seen_newest_ns;

    /** Of the file, as it was opened: which one it is. */
    larder_os_facts facts;

    ring_ages ages;
};

/** A file may claim any length: beyond what the disk has of it, no more than that is reserved,
    unless the caller names the capacity. */
#define RING_UNASKED_BYTES ((uint64_t)1 << 30)

/** The records of a ring, for reading. */
static inline ring_records ring_records_of(const larder_ring *ring) {
    ring_records records = {ring->data, ring->data_bytes, ring->salt, NULL, ring->time_bytes};
    return records;
}

// Locking -----------------------------------------------------------------------------------------

larder_status larder_ring_lock_slowly(larder_ring *ring);

static inline larder_status ring_lock(larder_ring *ring) {
    uint32_t expected = LOCK_FREE;
    if (atomic_compare_exchange_strong_explicit(ring->lock, &expected, LOCK_HELD,
                                                memory_order_acquire, memory_order_relaxed))
        return LARDER_OK;
    return larder_ring_lock_slowly(ring);
}

static inline void ring_unlock(larder_ring *ring) {
    atomic_store_explicit(ring->lock, LOCK_FREE, memory_order_release);
}

/** Marks the file as open before its first change, in memory alone: what the header on the device
    says is good for long enough (invariant 11). The lock is held; on failure it is not any more. */
larder_status larder_ring_begin_writing(larder_ring *ring);

/** Notes a change; the lock is held.
    @return whether larder_ring_sync_wake is to be called when it is not any more. */
bool larder_ring_changed(larder_ring *ring);

/** Takes the lock for a change; refuses a read-only handle. */
static inline larder_status ring_lock_to_write(larder_ring *ring) {
    larder_status status = ring_lock(ring);
    if (status) return status;
    if (UNLIKELY(!ring->is_writing)) return larder_ring_begin_writing(ring);
    return LARDER_OK;
}

// The ring at one moment --------------------------------------------------------------------------

/** What became of numbers that no message has, but for those that were overwritten. */
typedef struct ring_counters {
    uint64_t removed, skipped, lost;
} ring_counters;
/** The file's counters and what opening it adds. Those of a damaged header may be anything;
    together with the `count` messages that are here they are no more than the numbers given. */
ring_counters larder_ring_counters_of(const ring_opened *opened, uint64_t given, uint64_t count,
                                      uint64_t skipped, uint64_t lost);
/** The lock is held. */
static inline void ring_store_counters(larder_ring *ring, ring_counters counters) {
    ring_opened *opened = &ring->header->opened;
    STORE(opened->removed, counters.removed);
    STORE(opened->skipped, counters.skipped);
    STORE(opened->lost, counters.lost);
}
/** The lock must be held. */
ring_view larder_ring_view_get(const larder_ring *ring);
/** The oldest offset now; what was copied before this call from below it may be torn. */
uint64_t larder_ring_oldest_now(const larder_ring *ring);

/** Publishes where the oldest message is; the lock is held. */
static inline void ring_store_oldest(larder_ring *ring) {
    ring_state *state = &ring->header->state;
    STORE(state->oldest, ring->oldest);
    // Invariant 6: before any byte that it protected.
    atomic_thread_fence(memory_order_release);
    // If we crash here, `oldest_copy` names a message that was given up but not yet overwritten;
    // recovery keeps it.
    STORE(state->oldest_copy, ring->oldest);
}

/** To be called before a change of what lies between numbers and records is published. A kill from
    here on makes the next open walk the file. */
void larder_ring_unsettle(larder_ring *ring);
/** Stores `missing` as it is now; the lock is held. */
void larder_ring_settle(larder_ring *ring);

/** Sets `oldest` to the first intact record at or after `offset`, whose number exceeds `after`. */
void larder_ring_settle_oldest(larder_ring *ring, uint64_t offset, uint64_t after);
/** Where the live bytes go on, at or after `offset`: at `offset` itself unless the view has holes,
    which may be full of records that were given up.
    @param until receives where they end. O(log holes). */
uint64_t larder_ring_view_from(const larder_ring *ring, const ring_view *view, uint64_t offset,
                               uint64_t *until);
/** Offset of the first intact record in [from, end), all live but for holes, with a number in the
    bounds; `end` if none.
    @param sequence receives its number; may be NULL. */
uint64_t larder_ring_find_offset(const larder_ring *ring, const ring_view *view, uint64_t from,
                                 uint64_t end, record_bounds bounds, uint64_t *sequence);
/** Offset of the first live message whose number is at least `sequence`; the view's end without
    one. The lock is held. O(log capacity). */
uint64_t larder_ring_offset_of(const larder_ring *ring, const ring_view *view, uint64_t sequence);

// Times, of a ring that keeps them ----------------------------------------------------------------

/** The time of the intact record at `offset`; anything if a writer in another process overwrites
    it meanwhile. */
static inline int64_t ring_time_at(const larder_ring *ring, uint64_t offset) {
    uint64_t position = offset % ring->data_bytes;
    const uint8_t *record = ring->data + position;
    size_t length = record_length(record_head_at(record, 0).word);
    bool is_whole =
        length >= ring->time_bytes && RING_HEAD_BYTES + length <= ring->data_bytes - position;
    return is_whole ? payload_time(record + RING_HEAD_BYTES, length) : 0;
}
/** The times of the first and the last intact record; 0 if there is none. The lock is held. O(bytes
    of these records). */
int64_t larder_ring_oldest_time(const larder_ring *ring, const ring_view *view);
int64_t larder_ring_newest_time(const larder_ring *ring, const ring_view *view);

/** As larder_ring_append_batch, at the time `now_ns` or that of the newest message if it is later;
    without times it does not matter. */
larder_status larder_ring_append_batch_at(larder_ring *ring, const larder_message *messages,
                                          size_t count, int64_t now_ns, size_t *appended,
                                          uint64_t *last_sequence);

/** Whether a closed header counts as many messages as there can be between its places. Somebody may
    have computed the checksum of any. */
static inline bool ring_count_is_possible(const ring_header *header) {
    uint64_t oldest = LOAD(header->state.oldest), end = ring_published_end(header);
    uint64_t count = LOAD(header->state.count);
    return oldest <= end && (count == 0) == (oldest == end) &&
           count <= (end - oldest) / RING_HEAD_BYTES;
}

// Recovery ----------------------------------------------------------------------------------------

/** What a walk over all records concluded. */
typedef struct ring_found {
    uint64_t oldest;
    uint64_t end;
    /** Of the last record kept; without one, the last number known to have been given. */
    uint64_t newest;
    uint64_t next_sequence;
    uint64_t count;
    /** Numbers skipped because messages that had them may be gone without a trace. */
    uint64_t skipped;
    /** Where the lap that is live in part ends, and the number it goes on with; 0 without one. The
        pad there may be torn, or be that of an earlier lap. */
    uint64_t pad_position;
    uint64_t pad_sequence;
    /** Messages lost to damage before the first record kept or after the last. */
    uint64_t damaged;
    /** What was kept, in order, for the caller to free. */
    record_runs kept;
} ring_found;

/** How much to believe of a file that was not closed. */
typedef enum recovery_trust {
    /** Its writer was killed, but the machine ran on: every page is there. Salvage around damage.
        */
    RECOVERY_KILLED,
    /** Pages may be missing: after the last sync, keep a prefix. */
    RECOVERY_POWER_CUT,
    /** Another file, whose pages may be of different moments. No prefix can be told from a part,
        so whatever is intact is kept, as salvage does. */
    RECOVERY_COPIED
} recovery_trust;

/** What there is to know of a file besides its bytes. */
typedef struct recovery_case {
    recovery_trust trust;
    /** A full ring overwrites its oldest. */
    bool overwrites;
    /** Its backup says that it was synced before: a header that is gone was damaged. */
    bool is_established;
    /** Its fixed header was. */
    bool is_damaged;
    uint64_t cursors_maximum;
    /** What positions are counted modulo; more than there are bytes of a truncated file. */
    uint64_t lap_bytes;
} recovery_case;
/** What may have become of the pages that the last writer wrote. */
recovery_trust larder_ring_trust(const ring_header *header, const larder_os_facts *facts);

larder_status larder_ring_recover(const ring_records *records, const ring_header *header,
                                  const recovery_case *known, ring_found *found,
                                  larder_ring_report *report);

/** What is intact in a file, whatever happened to it. */
typedef struct ring_remains {
    /** In order of number, without what the header gave up; for the caller to free. */
    record_runs runs;
    /** Number of the oldest message that the file held, which is missing if no run begins with it;
        0 if it may have been overwritten as well. */
    uint64_t oldest;
    /** The highest number that was given, as far as it is certain. */
    uint64_t given;
    /** No number from here on was, as far as the file says. */
    uint64_t next;
} ring_remains;
larder_status larder_ring_remains_find(const ring_records *records, const ring_header *header,
                                       const recovery_case *known, ring_remains *out);

/** Takes a state that no walk is needed for: of a file that only a kill left open, in the same
    start of the machine. Every record that it leads to is looked at, which is a handful.
    @return false if it cannot be believed as it stands. */
bool larder_ring_believe(const ring_records *records, const ring_header *header, ring_found *found);

/** How many messages were lost in a hole of `bytes` in front of the record at `position`, whose
    number is larger by `numbers` than it would be without a hole. Behind numbers that no message
    has, which AFTER GAP says, there can be no more than there was room for. */
static inline uint64_t larder_ring_hole(const ring_records *records, uint64_t position,
                                        uint64_t numbers, uint64_t bytes) {
    bool is_after_gap = record_is_after_gap(record_head_at(records->data, position).tag);
    return is_after_gap && numbers > bytes / RING_HEAD_BYTES ? bytes / RING_HEAD_BYTES : numbers;
}

/** Whether an intact record that the header does not know stands behind its end: of a file that was
    closed, it is an older header. */
bool larder_ring_is_outrun(const ring_records *records, const ring_header *header);

/** Whether nothing was written behind a sealed end, as far as one can see (invariant 11). */
bool larder_ring_seal_holds(const ring_records *records, const ring_header *header);

/** Where the oldest live record is, as far as a header can be believed. */
typedef struct oldest_hint {
    uint64_t position;
    /** Its number; 0 if there is no such record any more. */
    uint64_t number;
    /** No number up to this one is live. */
    uint64_t removed_through;
    bool is_known;
} oldest_hint;

/** What a header may be believed that is damaged elsewhere: a number that agrees with its
    complement. */
static inline oldest_hint oldest_hint_of_damaged(const ring_header *header) {
    oldest_hint hint = {0};
    uint64_t through = LOAD(header->floor.removed_through);
    if (through == ~LOAD(header->floor.removed_complement)) hint.removed_through = through;
    return hint;
}

/** No smaller number is live. */
static inline uint64_t oldest_hint_lower(oldest_hint hint) {
    return hint.number > hint.removed_through ? hint.number : hint.removed_through + 1;
}

/** @param lap_bytes as in recovery_case.
    @param may_be_torn the header's words may be of different times. */
oldest_hint larder_ring_oldest_hint(const ring_records *records, uint64_t lap_bytes,
                                    const ring_header *header, bool may_be_torn);

/** All runs of intact records in the data, in order of position. */
larder_status larder_record_runs_scan(const ring_records *records, const ring_header *header,
                                      uint64_t synced, uint8_t generation, record_runs *runs);
/** Whether `next` follows `run` with nothing missing between them. */
bool larder_record_run_joins(const record_run *run, const record_run *next);
void larder_record_runs_free(record_runs *runs);
/** Counts what is missing between two runs that do not join. */
void larder_ring_report_hole(larder_ring_report *report, const record_run *run,
                             const record_run *next, const ring_records *records,
                             uint64_t data_offset);

// Opening, shared with salvage --------------------------------------------------------------------

/** What became of a fixed header and its backup. */
typedef struct fixed_state {
    /** The header itself was damaged. */
    bool is_backup;
    /** The file is nothing but zeros: a creation that was cut short. */
    bool is_blank;
    /** There is a backup. */
    bool has_backup;
    /** And it says that something was synced, and the name is on the device. */
    bool is_established;
    /** And is that of the header. */
    bool is_whole;
} fixed_state;

/** Reads the fixed header of an open file, from its backup if need be. */
larder_status larder_ring_fixed_read(int file, uint64_t file_bytes, ring_fixed *fixed,
                                     fixed_state *state);
/** Puts down which file of which start of the machine this is. */
void larder_ring_opened_sign(ring_opened *opened, const larder_os_facts *facts);
/** Makes the file a ring whose first number is `first`. Nothing here is synced: until something is,
    a power cut may leave any part of it. */
larder_status larder_ring_create(int file, const larder_ring_options *options, uint64_t first);
/** Whether this is a file of just these options whose header and backup a power cut took, or tore,
    before they were ever synced. Nothing in it was. */
bool larder_ring_creation_was_torn(int file, uint64_t file_bytes,
                                   const larder_ring_options *options);
/** What the backup of a file is to be. */
ring_fixed larder_ring_backup(const ring_fixed *fixed, bool is_named);
/** Puts the backup in its place. */
void larder_ring_store_backup(larder_ring *ring);
/** As larder_ring_open, of a file that was just made, with nothing in it, and is or will be at
    `path`. It is closed with the handle, or on failure; -1 opens what is at `path`. */
larder_status larder_ring_open_made(int made, const char *path, const larder_ring_options *options,
                                    larder_ring_detail *detail, larder_ring **out);
/** Frees the handle, which has released its file. */
void larder_ring_free(larder_ring *ring);
ring_cursor_slot *larder_ring_cursor_slots(const larder_ring *ring);
bool larder_cursor_slot_is_taken(const ring_cursor_slot *slot);
/** @param next no number from there on was given: a place that says so says nothing, and is 0.
           Seeing a message twice is better than never seeing it. */
uint64_t larder_cursor_slot_acknowledged(const ring_cursor_slot *slot, uint64_t next);
/** The highest number that a cursor has acknowledged. */
uint64_t larder_ring_cursors_maximum(const ring_cursor_slot *slots, uint64_t count);

// Syncing -----------------------------------------------------------------------------------------

void larder_ring_sync_init(larder_ring *ring, int64_t interval_ns);
/** One sync of everything, before the ring is shut. */
larder_status larder_ring_sync_last(larder_ring *ring);
/** Ends the thread, after which no sync of its is under way. */
void larder_ring_sync_stop(larder_ring *ring);
/** What a sync of the header that is about to begin brings to the device. */
typedef struct ring_marking {
    uint64_t synced;
    uint64_t floor;
    /** As `sync_failures`: another one meanwhile is one of this sync, too. */
    uint32_t failures;
} ring_marking;

/** Before a sync: reserves numbers, and makes dirty again what a failed one left. The lock is held.
    */
ring_marking larder_ring_mark_begin(larder_ring *ring);
/** The file, and with the first sync its name, to the device. If that failed, `sync_failures` is
    not that of the marking any more; else there was no descriptor for the folder. */
larder_status larder_ring_sync_file(larder_ring *ring, const ring_marking *marking);
/** After it: what it allows. The lock is held. */
void larder_ring_mark_end(larder_ring *ring, ring_marking marking);
/** All three: brings the header to the device on the caller's thread. The lock is held. */
larder_status larder_ring_mark(larder_ring *ring);
/** Where a writer that comes near `sealed_limit` has the header brought to the device. */
static inline uint64_t ring_sealed_half_way(uint64_t limit) {
    return limit - (limit < larder_ring_window_bytes / 2 ? limit : larder_ring_window_bytes / 2);
}

/** Sets `soft_limit`; the lock is held, or nobody else has the ring yet. */
void larder_ring_limit(larder_ring *ring);
void larder_ring_sync_destroy(larder_ring *ring);
/** Tells the background sync that there is work. The lock must not be held. */
void larder_ring_sync_wake(larder_ring *ring);

// Waiting -----------------------------------------------------------------------------------------

/** Wakes everybody in larder_ring_wait on the handle. */
void larder_ring_wake_waiters(larder_ring *ring);
/** From here on, the writer looks at `armed`. Wakes all who waited for an earlier one. */
void larder_ring_bell_begin(larder_ring *ring);
/** Wakes all who wait in other processes; the lock is held. */
COLD void larder_ring_bell_ring(larder_ring *ring);
/** Nobody looks at `armed` any more. */
void larder_ring_bell_end(larder_ring *ring);
void larder_ring_bell_unmap(larder_ring *ring);

#endif
