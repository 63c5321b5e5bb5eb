// SPDX-License-Identifier: MIT
/** @file larder_store.h
    A durable key-value store with limits, in one folder: a log of everything that was written, and
    LMDB as its index.

    A write is an append to a memory-mapped segment of the log, and survives `kill -9` when the call
    returns. A checkpoint applies the writes since the last one to LMDB's tree, sorted, in large
    synced transactions: the location of each value, and the value itself only if it is short.
    Cleaning copies what is still needed out of segments that hold little of it, and deletes them. A
    read searches the memtable of writes that are not in the tree yet, then LMDB's pages, which it
    checks as it goes, and then reads the record in its mapped segment, whose checksum it verifies.
    It never writes.

    **Keys** are byte strings of 0 to 64 KiB, ordered by their bytes; keys that share their first
    494 bytes have another order among themselves, but always the same one. **Values** have up to
    4 GiB, less 4 KiB and what the rest of the entry takes.
    **Processes.** One handle writes; opening a second one for writing, in any process, gives
    LARDER_EBUSY. Any number of read-only handles, in any process, read while it writes.
    **Threads.** Every function that takes a store may be called from any thread at any time, except
    `larder_store_close`, which must be the last call. A batch, a cursor and an entry belong to one
    thread at a time.
    **Durability.** What a call wrote survives the end of the process when it returns, and a power
    cut after `larder_store_sync`, or with LARDER_STORE_SYNCED. What comes back after either is a
    prefix of what was written: never a newer write without an older one, except for eviction and
    expiration. Reads that no checkpoint has recorded in the order of use are lost with the process.
    **Corruption** loses only the affected entries. data.mdb can be rebuilt from the log: see
    larder_store_rebuild.
    **fork(2).** A child must not use its parent's handle; calls return LARDER_EFORKED.
    **Idle stores** take one descriptor each, no thread and no time: LMDB is open only while there
    is something to write, or another handle of the process is open. The store's folder is found by
    its path, and must not move while the store is open: where another one lies there, or none, or
    the file `lock` is another one, calls that need a file of it, reads of what is not mapped yet
    among them, give LARDER_EREPLACED, and nothing of the other one changes.
    **Global state.** A process keeps a table of the LMDB files that it has open, because LMDB must
    not open one twice in a process; handles on one folder share one. And it keeps a pool of up to
    four threads, which serve all its stores and end with the last one.

    The files are described in the documentation ("File formats"). */
#ifndef LARDER_STORE_H
#define LARDER_STORE_H

#include <stdbool.h>

#include "larder_ring.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** One open store. Owned by the caller of larder_store_open. */
typedef struct larder_store larder_store;

/** Writes that happen together or not at all. Owned by the caller of larder_store_batch_create. */
typedef struct larder_store_batch larder_store_batch;

/** One pass over a store. Owned by the caller of larder_store_cursor_open. */
typedef struct larder_store_cursor larder_store_cursor;

// Limits ------------------------------------------------------------------------------------------

/** The longest key. */
#define LARDER_STORE_KEY_MAX_BYTES ((size_t)65536)
/** The most extended data of an entry. */
#define LARDER_STORE_EXTENDED_MAX_BYTES ((size_t)65536)
/** The most index entries of an entry, and the longest value of one. */
#define LARDER_STORE_INDEX_MAX_COUNT ((size_t)64)
#define LARDER_STORE_INDEX_VALUE_MAX_BYTES ((size_t)4096)
/** The largest value that can be stored in LMDB too, whatever the threshold. */
#define LARDER_STORE_INLINE_MAX_BYTES ((uint64_t)1024)
/** The least that `journal_bytes` can be, and the default. */
#define LARDER_STORE_JOURNAL_MIN_BYTES ((uint64_t)64 << 10)
#define LARDER_STORE_JOURNAL_DEFAULT_BYTES ((uint64_t)256 << 20)
/** A time that never comes. */
#define LARDER_STORE_NEVER INT64_MAX
/** No limit. */
#define LARDER_STORE_UNLIMITED UINT64_MAX
/** Instead of an idle time, of 73 years: reads do not count, and larder_store_renew does. */
#define LARDER_STORE_RENEWABLE 2305843009213693953
/** Instead of a place in a file: there is no such file, or nothing in it. */
#define LARDER_STORE_MISSING UINT64_MAX

// Opening and closing -----------------------------------------------------------------------------

enum {
    /** Open for reading only; the store must exist. The handle takes slots in `lock.mdb`, which it
        makes if it is missing. Where that file can be neither made nor written, on a full or
        read-only file system or with read permission alone, where data.mdb is another user's
        (without LARDER_STORE_TRUST_OTHERS), or where a process with another C library uses it, or
        one of another PID namespace with this one's number, it does without, and writes nothing at
        all. Then it keeps no snapshot from a writer, which
        neither sees it nor waits for it: each call sees a state that was, or gives LARDER_EBUSY
        where a writer was faster sixteen times, a cursor ends with that if a writer has gone on,
        and segments that were read stay mapped until the handle is closed, with their space on
        disk. A handle of the same process that wants to write gets EACCES meanwhile. */
    LARDER_STORE_READ_ONLY = 1u << 0,
    /** Return ENOENT for a missing store instead of creating it. */
    LARDER_STORE_EXISTING = 1u << 1,
    /** The store has no threads: the caller calls larder_store_maintain from time to time. If too
        much waits for a checkpoint, the next write runs one. */
    LARDER_STORE_HOST_MAINTENANCE = 1u << 2,
    /** Record the order of reads although no limit needs it. */
    LARDER_STORE_TRACK_ACCESS = 1u << 3,
    /** Salvage and rebuild keep entries that may be outdated. */
    LARDER_STORE_WITH_UNCERTAIN = 1u << 4,
    /** If opening finds data.mdb damaged, missing, or not of this log, call larder_store_rebuild
        first. Ignored for a store that is only read. */
    LARDER_STORE_REBUILDS = 1u << 5,
    /** Write to a store although its folder or files belong to another user, or anybody may write
        to them. Without it that is LARDER_EOWNER or LARDER_EWRITABLE: whoever prepared such a
        folder could read and change what is stored there. What root owns, what a group may write
        to, and what `mode` lets anybody write to is trusted. */
    LARDER_STORE_TRUST_OTHERS = 1u << 6
};

/** How much a store keeps. What exceeds it is evicted by the next checkpoint, least recently used
    first: not what a read has just found, even while the checkpoint runs, unless all that is to
    stay is read just then.

    **How far, and how long, the limits of count and bytes may be exceeded.** By a tenth of the
    limit, or by 32 MiB and by 8,192 entries where that is more; but of a small limit by no more
    than half of it and a sixteenth of those. What larder_store_totals says stays within that,
    however fast writers are: those that are faster than eviction wait for it, as they do where too
    much waits for a checkpoint. What waits counts with its whole records, as if it replaced
    nothing. A single write or batch that is larger than this waits until nothing else does, and is
    let through. A checkpoint begins when half of the excess waits; and while a limit may be
    exceeded, no later than `flush_interval_ns` after a write, and at once in a store that is opened
    so, after a kill or with lower limits. Behind a checkpoint the limits hold.

    **What the log takes on disk** at a limit of bytes: 1.2 times the records of as many entries as
    the limit allows (key, value, extended data and 36 to 75 bytes each), 4 MiB and a segment; and
    while it is written to, what the limit may be exceeded by. So that is 1.3 times for a large
    limit. Segments
    have a sixty-fourth part of it, but 1 MiB at least. (Where the system cannot give back what
    stands empty behind the last record of a segment, as Apple's, that comes on top of it: less than
    a value each.) data.mdb comes on top of it; and what was evicted while somebody keeps an older
    snapshot, be it for one read: a thread that the system stops in it keeps it until it goes on. */
typedef struct larder_store_limits {
    /** Entries; LARDER_STORE_UNLIMITED for no limit. */
    uint64_t count;
    /** Bytes of all values together; LARDER_STORE_UNLIMITED for no limit. */
    uint64_t bytes;
    /** How long after it was written an entry expires; LARDER_STORE_NEVER for never. Holds for what
        was written earlier too. */
    int64_t age_ns;
    /** When everything expires, in nanoseconds since 1970; LARDER_STORE_NEVER for never. */
    int64_t end_ns;
    /** Space to leave free on the file system: each trim evicts as many bytes of values as are
        missing; 0 for none. */
    uint64_t free_bytes;
} larder_store_limits;

/** The store's thresholds. A program has no reason to change them: they are here so that tests
    cross each of them many times a second, and for measurements. Fill with
    larder_store_tuning_init. */
typedef struct larder_store_tuning {
    /** Of the first segment, and of the largest usual one; each is twice as large as the one
        before. A record that needs more gets a larger one. */
    uint64_t segment_min_bytes;
    uint64_t segment_max_bytes;
    /** Keys in the memtable: with so many a checkpoint begins. */
    uint64_t memtable_max_count;
    /** Writes of one transaction of a checkpoint. */
    uint64_t transaction_max_count;
    /** By age alone a checkpoint begins only with so many keys in the memtable for each 1,000
        entries in the tree, or when nothing was written since the last interval. */
    uint64_t checkpoint_permille;
    /** Segments may take so much for each 100 live bytes, and one segment more, before they are
        cleaned, and up to a quarter more of what was found so when the store was opened, until as
        much was written; and after so many bytes of segments one checkpoint cleans no more.
        Segments with nothing live in them do not count. With a limit of bytes the log keeps to
        what larder_store_limits says instead. */
    uint64_t space_percent;
    uint64_t clean_max_bytes;
    /** Entries that one transaction removes because of limits. */
    uint64_t remove_max_count;
    /** What limits of bytes and of entries may be exceeded by where that is more than a tenth: see
        larder_store_limits. */
    uint64_t excess_max_bytes;
    uint64_t excess_max_count;
} larder_store_tuning;

/** Sets the usual thresholds. */
LARDER_API void larder_store_tuning_init(larder_store_tuning *tuning);

/** What to open. Fill with larder_store_options_init, then change what matters. */
typedef struct larder_store_options {
    /** LARDER_STORE_… flags, or-ed. */
    uint32_t flags;
    /** Permissions of new files; folders get the right to search them too. `lock` and `lock.mdb`
        can be read only by those who may write to them. */
    uint32_t mode;
    /** The values' format, for example the coder's name in ASCII, as a number. Kept in the store; 0
        means unknown and matches everything. */
    uint64_t content_format;
    /** What bytes keys are: a number of the caller's, 65535 at most. Kept in the store; 0 means
        unknown and matches everything. */
    uint32_t key_form;
    /** A checkpoint begins when seven eighths of this were written since the last one. While it is
        under way, as many bytes as this may be written again, the last eighth of them slowed. So
        opening after a kill reads twice as much at most, unless checkpoints failed. */
    uint64_t journal_bytes;
    /** How far LMDB can grow before the map has to; 0 for some times the file's size. */
    uint64_t map_bytes;
    /** Values up to this length are stored in LMDB too, with their key, so that a read need not
        access the log; except where the whole record, with key and extended data, has more than
        1,400 bytes. Above LARDER_STORE_INLINE_MAX_BYTES it counts as that. */
    uint64_t inline_threshold_bytes;
    /** A sync begins no later than this after a write; 0: only with a checkpoint. */
    int64_t sync_interval_ns;
    /** A checkpoint begins no later than this after a write or a read that was recorded, unless
        writes alone wait, too few compared with the tree to be worth it yet; 0: only when
        `journal_bytes` asks for one. */
    int64_t flush_interval_ns;
    /** How often limits of age and free space are checked; 0: only by larder_store_maintain. */
    int64_t trim_interval_ns;
    /** How long expired entries are kept for LARDER_STORE_EXPIRED_TOO, unless a limit has them go;
        0, the default, and less: until the next trim. */
    int64_t grace_ns;
    larder_store_limits limits;
    /** Nanoseconds since 1970; NULL for the system's clock. Called while locked, from any thread.
        */
    int64_t (*LARDER_NULLABLE clock)(void *LARDER_NULLABLE context);
    /** Free space on the store's file system; NULL to ask the system. */
    uint64_t (*LARDER_NULLABLE free_space)(void *LARDER_NULLABLE context);
    /** Called when a checkpoint begins, by whichever thread runs it, when the store is closed, and
        every `flush_interval_ns` until it gives 0; by one thread at a time: for reads that
        the caller noted itself, and hands over by larder_store_touch_many before they decide about
        eviction. It may read too, but not write, nor call what runs a checkpoint or waits for one.
        NULL for none.
        @return 0 if nobody keeps such reads: then only checkpoints ask again. */
    int (*LARDER_NULLABLE hand_over_reads)(larder_store *store, void *LARDER_NULLABLE context);
    /** Told how far larder_store_open is, and not called after it: bytes of the log that were read
        of what there may be; with LARDER_STORE_REBUILDS, first as larder_store_rebuild. When it
        stops the call, the store is as it was. NULL if nobody wants to know. */
    larder_progress LARDER_NULLABLE progress;
    void *LARDER_NULLABLE context;
    /** Thresholds; NULL for the usual ones. Borrowed for the call. */
    const larder_store_tuning *LARDER_NULLABLE tuning;
} larder_store_options;

/** Sets the defaults: no limits, mode 0600, 256 MiB may wait for a checkpoint, values up to 64
    bytes are in LMDB too, sync after 1 s, checkpoint after 5 s, trim every 60 s. */
LARDER_API void larder_store_options_init(larder_store_options *options);

/** The part of a store that a failure is about. */
typedef enum larder_store_part {
    LARDER_STORE_PART_FOLDER = 0,
    LARDER_STORE_PART_LOCK,
    /** The log. */
    LARDER_STORE_PART_JOURNAL,
    /** data.mdb, the index. */
    LARDER_STORE_PART_DATA,
    /** lock.mdb, LMDB's table of readers. */
    LARDER_STORE_PART_READERS
} larder_store_part;

/** What has a version that Larder does not know. */
typedef enum larder_store_version_of {
    /** Larder's own: a later Larder wrote the part. */
    LARDER_STORE_VERSION_OF_LARDER = 0,
    /** LMDB's pages in data.mdb. Larder knows data version 1, that of LMDB 0.9. */
    LARDER_STORE_VERSION_OF_DATA,
    /** The LMDB library in this process, as MDB_VERINT has it: major << 24 | minor << 16 | patch.
        Larder works with 0.9. */
    LARDER_STORE_VERSION_OF_LMDB
} larder_store_version_of;

/** What a failed open found. All zero when there is nothing to tell. */
typedef struct larder_store_detail {
    larder_store_part part;
    /** LARDER_EVERSION: the version found; of what, `version_of` says. */
    uint32_t version;
    /** LARDER_EBUSY, LARDER_ELOCKED: the process that holds the store; 0 if it is unknown. */
    int64_t holder_pid;
    /** LARDER_EMISMATCH: the content format in the store, and the form of its keys. */
    uint64_t content_format;
    uint32_t key_form;
    /** LARDER_EDAMAGED: where in the part's file, or LARDER_STORE_MISSING. */
    uint64_t offset;
    larder_store_version_of version_of;
    /** LARDER_EDAMAGED, of files that do not belong together: of the index, the segment that is
        newer than it; of the log, the one that is missing, or under whose name another one lies.
        Its file is `log/` and this number in 8 hexadecimal digits, with `.seg`. Likewise
        LARDER_EOWNER, LARDER_EWRITABLE, LARDER_ELINKED, where it is a segment. Else 0. */
    uint32_t segment;
} larder_store_detail;

/** Opens the store in the folder at `path`, creating folder and store if they are missing (not the
    folders above it). A relative path means what it means now, wherever the process goes later.

    Writes that no checkpoint has applied are replayed from the log. A damaged record there loses
    its write, and a missing segment what it held; after a power cut, the log ends at the first
    write that is not whole, unless that was synced. larder_store_recovery reports it. A segment is
    deleted only if nothing can be lost with it. A folder that holds something else is left alone,
    and so is a store whose data.mdb is damaged, missing, or older than the log, or whose segments
    have changed names, unless LARDER_STORE_REBUILDS says otherwise: larder_store_rebuild rebuilds
    that file, larder_store_salvage copies what is intact. An index in which an earlier handle met
    damage when it wrote is rebuilt first, O(bytes of the log), if nobody reads the store and the
    whole log is there; else it opens as it is.

    @param options NULL for the defaults.
    @param detail receives what is known about a failure; may be NULL.
    @param out receives the store, owned by the caller; NULL on failure.
    @return LARDER_OK; LARDER_EINVALID (an option out of range), LARDER_EBUSY, LARDER_EVERSION,
            LARDER_EMISMATCH, LARDER_EDAMAGED, LARDER_EFOREIGN, LARDER_EREADONLY; ECANCELED;
            LARDER_ELOCKED: a process that may only read `lock` has locked it, which nothing of
            Larder's does; LARDER_ELIBRARY; LARDER_EOWNER, LARDER_EWRITABLE (see
            LARDER_STORE_TRUST_OTHERS);
            LARDER_ELINKED: a file has a second name, a hard link, as a copy by `cp -al`, and what
            is written to one is written to both; ENOENT, ENOTDIR, EACCES, ELOOP, ENOSPC, ENOMEM
            or another errno.
    O(segments) for a store that was closed, however many entries it holds; and O(what waited for a
    checkpoint) for one that was not. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_open(
    const char *path, const larder_store_options *LARDER_NULLABLE options,
    larder_store_detail *LARDER_NULLABLE detail, larder_store *LARDER_NULLABLE *LARDER_NONNULL out);

/** Ends all use of the store: syncs, runs a checkpoint unless so little waits that the next open
    replays it sooner, releases the lock. Calls that are under way finish first; later ones return
    LARDER_ECLOSED. The handle still needs larder_store_close. Any thread, any number of
    times.
    @return LARDER_OK, or why the checkpoint or the sync failed: what the checkpoint did not apply
            stays in the log, and the next open replays it. */
LARDER_API larder_status larder_store_shutdown(larder_store *store);

/** Shuts the store down if that was not done, and frees it. NULL is allowed. No other call may be
    under way; entries must be released, cursors closed and batches destroyed. */
LARDER_API void larder_store_close(larder_store *LARDER_NULLABLE store);

// Writing -----------------------------------------------------------------------------------------

/** A value under which an entry is found besides its key. */
typedef struct larder_store_index_entry {
    /** The index, chosen by the caller. */
    uint16_t index;
    /** Compared as bytes. */
    larder_bytes value;
} larder_store_index_entry;

enum {
    /** Return only when it survives a power cut. Concurrent callers share one sync. */
    LARDER_STORE_SYNCED = 1u << 0,
    /** Of an item: its own times hold instead of the store's limits of age and end. */
    LARDER_STORE_OWN_TIMES = 1u << 1
};

/** What to store. Fill with larder_store_item_init, then change what matters. */
typedef struct larder_store_item {
    larder_bytes key;
    larder_bytes value;
    /** Kept with the value, and read with it or without it. */
    larder_bytes extended;
    /** When it expires, in nanoseconds since 1970; LARDER_STORE_NEVER for never. */
    int64_t expires_ns;
    /** How long after its last read or write it expires; LARDER_STORE_NEVER for never.
        LARDER_STORE_RENEWABLE: never, and larder_store_renew moves its times. */
    int64_t idle_ns;
    /** When the caller wants to renew it, in nanoseconds since 1970; LARDER_STORE_NEVER for never.
        It is kept with the entry, and the store does nothing about it. */
    int64_t refresh_ns;
    /** When it was written; 0 for now. */
    int64_t written_ns;
    /** The caller's number, kept with the entry. */
    uint64_t cost;
    const larder_store_index_entry *LARDER_NULLABLE indexes;
    size_t index_count;
    /** LARDER_STORE_SYNCED, LARDER_STORE_OWN_TIMES, LARDER_STORE_NO_WAIT, or-ed; in a batch only
        the second counts. */
    uint32_t flags;
} larder_store_item;

/** An item of `key` and `value` that never expires. */
LARDER_API void larder_store_item_init(larder_store_item *item, larder_bytes key,
                                       larder_bytes value);

/** Stores an entry; another one under its key is replaced, whole.
    @param sequence receives the entry's version, a number that grows with every write; may be NULL.
    @return LARDER_OK; LARDER_ETOOLARGE (key, value, extended data or index entries),
            LARDER_EINVALID (unknown flags), LARDER_EREADONLY, LARDER_ECLOSED,
            LARDER_EFORKED; ENOSPC, EIO, ENOMEM or another errno of a new segment; LARDER_EDAMAGED,
            ENOSPC, EIO … of the checkpoint that had to make room. ENOSPC comes before the disk is
            completely full: space is left for checkpoints, cleaning and removals, about a
            thirty-second part of what the store holds, at most 256 MiB, and somewhat for the index.
            It comes only after a checkpoint has reclaimed what was removed, as far as that gives
            the space that is missing; such a call reads up to 256 MiB of the log. On failure
            nothing was stored, unless the sync of LARDER_STORE_SYNCED failed: then the entry is
            stored, and may or may not survive a power cut until a larder_store_sync succeeds.
            EAGAIN, with LARDER_STORE_NO_WAIT: it may have to wait, is longer than 16 KiB, or is to
            be synced. Nothing was stored; a thread that may wait calls again without the flag.
    O(bytes). Waits for no disk, and makes no system call except to wake the store's thread from
    time to time, unless a segment is full, too much waits for a checkpoint, or a limit would be
    exceeded too far. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_put(larder_store *store,
                                                            const larder_store_item *item,
                                                            uint64_t *LARDER_NULLABLE sequence);

/** Removes the entry under `key`, if there is one. Appends to the log like a put, even if there
    is none, but on a full disk may use the space left for removals: a store that has filled its
    disk can be emptied. While somebody keeps an older snapshot, with a cursor here or elsewhere,
    nothing comes free: ENOSPC is possible until that has ended, and where other files take all of
    the disk. What was removed can be written again after the next checkpoint, as far as
    the index is not fuller; removed entries of a few hundred bytes give back their space when no
    older version of theirs is left in the log.
    @param flags LARDER_STORE_SYNCED or LARDER_STORE_NO_WAIT; 0 for neither.
    @return as larder_store_put. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_remove(larder_store *store,
                                                               larder_bytes key, uint32_t flags);

/** Removes every entry, with one record in the log; a checkpoint deletes the segments.
    @param progress told of segments deleted; then the call runs that checkpoint. NULL leaves it to
           the next one, and returns at once. When it stops the call, later checkpoints delete the
           others.
    @return as larder_store_put; ECANCELED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_remove_all(
    larder_store *store, larder_progress LARDER_NULLABLE progress, void *LARDER_NULLABLE context);

/** Removes the entries whose keys begin with `prefix`, damaged ones too, some thousand at a time.
    @param removed receives how many there were; may be NULL.
    @return as larder_store_put; LARDER_EDAMAGED also if all were removed but those of which damage
            hides the key. O(entries removed). */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_remove_prefix(
    larder_store *store, larder_bytes prefix, uint64_t *LARDER_NULLABLE removed);

/** Creates an empty batch. @return LARDER_OK; ENOMEM, LARDER_ECLOSED, LARDER_EREADONLY,
    LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_batch_create(
    larder_store *store, larder_store_batch *LARDER_NULLABLE *LARDER_NONNULL out);

/** Adds a write to the batch; copied. Nothing happens before the commit.
    @return as larder_store_put; LARDER_ETOOLARGE also when the batch exceeds half of what may wait
            for a checkpoint, unless it is its first write. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_batch_put(larder_store_batch *batch,
                                                                  const larder_store_item *item);

/** Adds a removal to the batch.
    @return as larder_store_batch_put. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_batch_remove(larder_store_batch *batch,
                                                                     larder_bytes key);

/** Makes the commit require that `key` still has that version; 0: that it has no entry. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_batch_require(larder_store_batch *batch,
                                                                      larder_bytes key,
                                                                      uint64_t sequence);

/** Makes the commit require that after it no two entries are found by `value` in `index`: of what
    is stored, and of what the batch leaves. Expired entries do not count. Where one that may have
    the value is damaged, and the batch does not replace it, the commit returns LARDER_EDAMAGED.

    Commits that require this exclude each other. So an index is unique as long as every entry that
    is found by anything there is written with this requirement, and was so from the first one on.
    @return LARDER_OK; LARDER_ETOOLARGE: longer than LARDER_STORE_INDEX_VALUE_MAX_BYTES; ENOMEM.
    At the commit O(log entries) for the index and each entry that has the value. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_batch_require_unique(larder_store_batch *batch, uint16_t index, larder_bytes value);

/** Makes the commit require that nothing was written or removed since the write of that version,
    as larder_store_last_sequence gave it before anything was read. */
LARDER_API void larder_store_batch_require_unchanged(larder_store_batch *batch, uint64_t sequence);

/** After LARDER_ECONFLICT: whether all versions were as required, and a value was not unique.
    @param index receives the index that it is of; 0 on failure.
    @return LARDER_OK; LARDER_ENOTFOUND if it was another requirement. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_batch_duplicate(const larder_store_batch *batch, uint16_t *index);

/** The version of the last write, of a removal too. O(1).
    @param sequence receives it; 0 on failure.
    @return LARDER_OK; LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_last_sequence(larder_store *store,
                                                                      uint64_t *sequence);

/** Writes everything in the batch, atomically, and empties it.
    @param flags LARDER_STORE_SYNCED or 0.
    @param sequence receives the version of all its entries; may be NULL.
    @return as larder_store_put; LARDER_ECONFLICT if a requirement does not hold: then nothing was
            written, and the batch is empty too. LARDER_ECLOSED: it was not emptied, and can be
            moved. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_batch_commit(
    larder_store_batch *batch, uint32_t flags, uint64_t *LARDER_NULLABLE sequence);

/** Moves the batch to another handle of the same folder, which was shut down and opened again.
    @return LARDER_OK; LARDER_ECLOSED, LARDER_EREADONLY, LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_batch_move(larder_store_batch *batch,
                                                                   larder_store *store);

/** Frees the batch, and discards what was not committed. NULL is allowed. */
LARDER_API void larder_store_batch_destroy(larder_store_batch *LARDER_NULLABLE batch);

// Reading -----------------------------------------------------------------------------------------

enum {
    /** The value is in a segment of the log, and can be retained there. */
    LARDER_STORE_ENTRY_IN_LOG = 1u << 0,
    /** It was stored with LARDER_STORE_OWN_TIMES. */
    LARDER_STORE_ENTRY_OWN_TIMES = 1u << 1
};

/** An entry as read. Borrowed: valid until larder_store_release, or, from a cursor, until its next
    call. */
typedef struct larder_store_entry {
    larder_bytes key;
    /** Empty, with LARDER_STORE_WITHOUT_VALUE. */
    larder_bytes value;
    larder_bytes extended;
    /** Of the value, even if it was not requested. */
    uint64_t value_bytes;
    /** The version: grows with every write to the store. */
    uint64_t sequence;
    int64_t written_ns;
    /** When it expires by its own times and the last read, this one too where it counts;
        LARDER_STORE_NEVER for never. A handle that only reads knows of reads by checkpoints. */
    int64_t expires_ns;
    /** The same however often it is read; LARDER_STORE_NEVER for never. */
    int64_t ends_ns;
    /** As stored; LARDER_STORE_NEVER for none. */
    int64_t idle_ns;
    int64_t refresh_ns;
    uint64_t cost;
    /** In an index's order: the value it is found by. */
    larder_bytes index_value;
    /** LARDER_STORE_ENTRY_… flags. */
    uint32_t flags;
    uint32_t reserved;
    /** The store's own. */
    void *LARDER_NULLABLE lease;
    void *LARDER_NULLABLE store;
    uint32_t segment;
    uint32_t reserved2;
    /** For larder_store_entry_index. */
    larder_bytes index_entries;
} larder_store_entry;

/** Goes over the values that the entry was stored with for indexes, in the order of then.
    @param offset 0 for the first one; goes on.
    @param out receives it, borrowed as the entry is.
    @return LARDER_OK; LARDER_END. O(1). */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_entry_index(const larder_store_entry *entry,
                                                                    size_t *offset,
                                                                    larder_store_index_entry *out);

enum {
    /** Do not count the read, nor record it in the order of use. */
    LARDER_STORE_PEEK = 1u << 0,
    /** Omit the value. */
    LARDER_STORE_WITHOUT_VALUE = 1u << 1,
    /** Also find expired entries that were not removed yet. */
    LARDER_STORE_EXPIRED_TOO = 1u << 2,
    /** Wait for no page that is not in memory, no other process, and no writer to look the entry
        up; only to note a read, the lock of writers may be waited for. A write waits for no other
        one, no checkpoint and no new segment. */
    LARDER_STORE_NO_WAIT = 1u << 14
};

/** Looks an entry up. Checksums are verified.
    @param flags LARDER_STORE_PEEK, LARDER_STORE_WITHOUT_VALUE, LARDER_STORE_EXPIRED_TOO,
           LARDER_STORE_NO_WAIT, or-ed.
    @param entry receives the entry, to be released; all zero on failure, when releasing it does
           nothing.
    @return LARDER_OK; LARDER_EINVALID for an unknown flag; LARDER_ENOTFOUND if there is none or it
            has expired; LARDER_EDAMAGED if there is one but its record or the pages on the path are
            damaged; LARDER_EREPLACED if what is not mapped yet is not there any more;
            LARDER_ECLOSED, LARDER_EFORKED; ENOMEM, EMFILE or another errno.
            LARDER_ENOSLOT: all of the store's 960 reader slots in this process, or 1,022 in all
            processes, are held by entries and cursors: release some.
            LARDER_EBUSY: the handle only reads and has no slot, see LARDER_STORE_READ_ONLY, and a
            writer was faster sixteen times.
            EAGAIN, with LARDER_STORE_NO_WAIT: the answer may have to be waited for, or the entry is
            longer than 16 KiB, or the handle only reads. Nothing was counted; a thread that may
            wait calls again without the flag.
    O(log entries + bytes), the latter for the checksum. Writes nothing. Holds a reader slot until
    it is released, and with it the pages and segments of the snapshot that it was read from:
    release soon. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_get(larder_store *store, larder_bytes key,
                                                            uint32_t flags,
                                                            larder_store_entry *entry);

/** Looks a value up and copies it, so that there is nothing to release.
    @param flags LARDER_STORE_PEEK, LARDER_STORE_EXPIRED_TOO, or-ed.
    @param target receives the value; may be NULL if `capacity` is 0.
    @param capacity the bytes that `target` has room for.
    @param length receives how many bytes the value has, also if they do not fit; else 0.
    @return as larder_store_get; LARDER_ETOOLARGE if the value has more bytes than `capacity`: then
            nothing was copied, and the entry counts as read.
    O(log entries + bytes). */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_copy_value(larder_store *store,
                                                                   larder_bytes key, uint32_t flags,
                                                                   void *LARDER_NULLABLE target,
                                                                   size_t capacity, size_t *length);

/** Counts and records a read, as larder_store_get does, of an entry that the caller kept, if it is
    certainly unchanged.
    @param expires_ns, idle_ns as larder_store_get returned them.
    @param state this handle's number that changes whenever entries are written, removed, evicted or
           expire, as it was before the entry was read; receives the current one: 0, which means
           unknown, if limits of time are set, and for a handle that only reads. Start with 0.
    @return LARDER_OK; LARDER_ENOTFOUND if the entry has to be looked up, also because it may have
            expired; LARDER_ECLOSED, LARDER_EFORKED, LARDER_ENOSLOT; ENOMEM or another errno.
    O(1). */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_get_again(larder_store *store,
                                                                  larder_bytes key,
                                                                  int64_t expires_ns,
                                                                  int64_t idle_ns, uint64_t *state);

/** A read that the caller noted itself. */
typedef struct larder_store_noted_read {
    larder_bytes key;
    /** When it was, in nanoseconds since 1970: an entry with an idle time lives on from there; 0
        for now. */
    int64_t read_ns;
} larder_store_noted_read;

/** Records reads in the order of use, all of them as the newest, whenever they were: for a cache in
    memory over this store, whose hits the store does not see. Counts no hits. Keys without an entry
    are ignored; reads that there is no room for before the next checkpoint count as
    `touches_dropped`.
    @return LARDER_OK; LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED, LARDER_ENOSLOT; ENOMEM or
            another errno: then those from some read on were not recorded.
    O(reads · log entries): no value is read. Any thread. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_touch_many(larder_store *store, const larder_store_noted_read *reads, size_t count);

/** Has the times of an entry count from now on, as if it were written now, without writing it:
    `written_ns`, `expires_ns` and `refresh_ns` are later by how old it is. Every read of this
    handle sees that at once, other handles and processes with the next checkpoint, which keeps it.
    What no checkpoint has kept is lost with the process, and all of it with data.mdb: then the
    entry is as old as its write.
    @param sequence the write that is meant.
    @return LARDER_OK, also for an entry that has expired and was not removed yet; LARDER_ENOTFOUND
            if there is no such write under the key any more, or not with LARDER_STORE_RENEWABLE as
            its `idle_ns`; LARDER_EDAMAGED, LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED,
            LARDER_ENOSLOT; ENOMEM or another errno.
    O(log entries): no value is read. Any thread. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_renew(larder_store *store, larder_bytes key,
                                                              uint64_t sequence);

/** Ends the use of an entry. Harmless for one that was released. */
LARDER_API void larder_store_release(larder_store_entry *entry);

/** Keeps a value readable beyond the entry's release, and beyond the store's close, without copying
    it: it lies on the pages of its segment of the log. When that is deleted, the values that are
    retained are copied, and take its place in memory at the same addresses: disk and memory keep
    nothing else of it. On Apple systems they keep all of the segment until the last is released.
    @param retained receives what larder_store_release_value ends.
    @return LARDER_OK; LARDER_EINVALID if the entry lacks LARDER_STORE_ENTRY_IN_LOG; ENOMEM.
    O(bytes / 8 KiB). */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_retain_value(
    larder_store_entry *entry, void *LARDER_NULLABLE *LARDER_NONNULL retained);

/** Ends the use of a value that was retained. NULL is allowed. */
LARDER_API void larder_store_release_value(void *LARDER_NULLABLE retained);

/** Whether there is an entry under `key` that is not expired: LARDER_OK or LARDER_ENOTFOUND, or as
    larder_store_get. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_contains(larder_store *store,
                                                                 larder_bytes key);

/** Entries and the bytes of their values, including expired ones that were not removed yet.
    O(1), and once for each write since the last call O(log entries). */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_totals(larder_store *store, uint64_t *count,
                                                               uint64_t *bytes);

/** The order in which a cursor goes. */
typedef enum larder_store_order {
    /** By key. */
    LARDER_STORE_BY_KEY = 0,
    /** Least recently used first; if reads are not recorded, oldest write first. A store whose
        limits never needed this order, nor LARDER_STORE_TRACK_ACCESS, does not keep it: then the
        first entry takes O(entries · log entries), and the cursor 40 bytes for each. */
    LARDER_STORE_BY_RECENCY,
    /** By the value in an index, then by key. */
    LARDER_STORE_BY_INDEX
} larder_store_order;

enum {
    LARDER_STORE_DESCENDING = 1u << 8,
    /** `lower` or `upper` is a bound; without its flag there is none. */
    LARDER_STORE_HAS_LOWER = 1u << 9,
    LARDER_STORE_HAS_UPPER = 1u << 10,
    /** The range excludes the bound. */
    LARDER_STORE_LOWER_EXCLUSIVE = 1u << 11,
    LARDER_STORE_UPPER_EXCLUSIVE = 1u << 12,
    /** `expires_ns` need not count reads, which takes a search for each entry. */
    LARDER_STORE_WITHOUT_EXPIRY = 1u << 13
};

/** What to list. Fill with larder_store_query_init, then change what matters. */
typedef struct larder_store_query {
    larder_store_order order;
    /** LARDER_STORE_DESCENDING …, and LARDER_STORE_WITHOUT_VALUE, LARDER_STORE_EXPIRED_TOO. */
    uint32_t flags;
    /** By index: which one. */
    uint16_t index;
    /** Of keys, or of values in the index. Not for the order of use. Long keys are compared whole,
        although another order is theirs. */
    larder_bytes lower;
    larder_bytes upper;
    /** What keys, or values in the index, must begin with; empty for anything. */
    larder_bytes prefix;
    /** The content format that the store must have in the snapshot, for a caller to whom the values
        in an index mean something only then; 0 for any. See larder_store_formats_set. */
    uint64_t content_format;
    /** How many entries will be asked for, as far as is known: by index, so many are looked for
        together, which takes less. 0 if nobody knows. */
    uint64_t expected;
} larder_store_query;

/** Everything, by key. */
LARDER_API void larder_store_query_init(larder_store_query *query);

/** Opens a cursor. It sees the store as it is now, whatever is written meanwhile. It holds that
    snapshot: no page of it is reused and no segment deleted, so that files grow. Close it soon.
    Reads through a cursor are not recorded in the order of use.

    It waits for no checkpoint: what waits for one is laid over the tree. O(log n), and O(m log m)
    for the m writes since the last cursor was opened, or since the checkpoint before the first one.
    From then on each waiting write takes 72 bytes of memory, and 56 more for each index that
    cursors go by and value that it has there, until a checkpoint has applied it.
    @return LARDER_OK; LARDER_EINVALID, LARDER_ECLOSED, LARDER_EFORKED, LARDER_EDAMAGED;
            LARDER_EMISMATCH: the store has another content format than the query says;
            LARDER_ENOSLOT: 512 are open, or see larder_store_get; ENOMEM or another errno. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_cursor_open(larder_store *store, const larder_store_query *query,
                         larder_store_cursor *LARDER_NULLABLE *LARDER_NONNULL out);

/** Has the cursor list something else, by key or by an index, in the snapshot that it has: several
    queries are then answered as of one moment, and the later ones start faster.
    @param query may name bytes that the cursor lent.
    @return LARDER_OK; LARDER_EINVALID: also if either order is that of use; LARDER_EMISMATCH, as
            larder_store_cursor_open; LARDER_ECLOSED, LARDER_EFORKED, ENOMEM. After a failure the
            cursor lists nothing.
    O(log n); O(m log m) for the m waiting writes if no cursor went by that index before. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_cursor_seek(larder_store_cursor *cursor, const larder_store_query *query);

/** The next entry.
    @param entry receives it, borrowed until the next call; need not be released.
    @return LARDER_OK; LARDER_END; LARDER_EDAMAGED: the entry is damaged, of which `entry` has the
            key if it is known, and a further call continues after it as far as the pages can be
            read, or returns LARDER_END;
            LARDER_EBUSY: a handle without reader slots, see LARDER_STORE_READ_ONLY, and a writer
            has used pages of the snapshot again: open another cursor; as larder_store_get. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_cursor_next(larder_store_cursor *cursor,
                                                                    larder_store_entry *entry);

/** Frees the cursor. NULL is allowed. */
LARDER_API void larder_store_cursor_close(larder_store_cursor *LARDER_NULLABLE cursor);

/** Counts the entries that a cursor would return, as the store is now.

    Their values are not read, and their records only where that is necessary: where a limit of age
    or an end may make them expire, where a bound, a prefix or a value in the range
    is longer than the rows of the tree are (240 bytes of an index, a zero byte as two; 494 of a
    key), and where pages are damaged. So an entry whose record is damaged still
    counts otherwise, as it does for larder_store_totals: only larder_store_check and a read of it
    would find out. Without a bound and a prefix, only waiting writes and expired entries are read.

    @param query LARDER_STORE_EXPIRED_TOO counts; which order it is, and which direction, does not,
           but that an entry counts in an index once for each different value that it has there.
    @param limit stop at this many; LARDER_STORE_UNLIMITED to count all.
    @param count receives how many there are, `limit` at most; 0 on failure, but on LARDER_EDAMAGED
           how many can be read.
    @return LARDER_OK; LARDER_EDAMAGED: pages or records that had to be read are damaged; as
            larder_store_cursor_open.
    O(log entries + rows counted + pending writes + entries that expired but were not removed yet).
    Any thread; writes may go on. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_count(larder_store *store,
                                                              const larder_store_query *query,
                                                              uint64_t limit, uint64_t *count);

// Durability and maintenance ----------------------------------------------------------------------

/** Makes everything written before this call survive a power cut.
    @return LARDER_OK; LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED; EIO, ENOSPC or another
            errno: then everything is stored as before, and a power cut may lose what no earlier
            sync covered. The next sync, or checkpoint, has the system write all of that again. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_sync(larder_store *store);

/** Runs a checkpoint: syncs the log, applies the writes and the reads recorded for the order of use
    to LMDB's tree, evicts what exceeds the limits, and cleans segments.
    @return LARDER_OK; LARDER_EDAMAGED, LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED; ENOSPC,
            EIO, ENOMEM: then all stays in the log, and a later checkpoint tries again.
    O(writes · log entries), and O(live bytes) of what it cleans. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_flush(larder_store *store);

/** Gives the store another content format and form of keys, in the last transaction of a
    checkpoint: after a crash the new ones are never there without everything that was written
    before. For a caller that has converted or removed what the store holds.
    @return as larder_store_flush, LARDER_EINVALID; on failure both are the old ones. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_formats_set(larder_store *store,
                                                                    uint64_t content_format,
                                                                    uint32_t key_form);

/** The store's maintenance, which its threads run from time to time: runs a checkpoint, removes
    what expired, enforces the limits, cleans and deletes segments, clears stale readers. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_maintain(larder_store *store);

/** The limits as they are now. */
LARDER_API larder_store_limits larder_store_limits_get(larder_store *store);
/** Sets the limits; the next checkpoint enforces them, which is asked for now if they are exceeded;
    at once that of larder_store_flush. Until it has, writers that bring more wait. Of a handle that
    only reads, those of age and end say what its reads find.
    @return LARDER_OK; LARDER_ECLOSED, LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_limits_set(larder_store *store, const larder_store_limits *limits);

/** Runs a checkpoint, then evicts the least recently used until no more than that is left.
    LARDER_STORE_UNLIMITED for what does not matter.
    @param removed receives how many entries were evicted; may be NULL.
    O(evicted · log entries), but O(entries · log entries) once in a store that kept no order of use
    before: from then on it does. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_trim(larder_store *store, uint64_t count,
                                                             uint64_t bytes,
                                                             uint64_t *LARDER_NULLABLE removed);

/** Runs a checkpoint, then removes every entry that expired.
    @param removed receives how many there were; may be NULL.
    O(expired), but O(entries) once after the limit of age was set. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_remove_expired(larder_store *store, uint64_t *LARDER_NULLABLE removed);

// Inspection --------------------------------------------------------------------------------------

/** A store's figures. Counters start with the handle. */
typedef struct larder_store_statistics {
    /** As larder_store_totals, with what waits for a checkpoint. */
    uint64_t count;
    uint64_t bytes;
    /** Keys that wait for a checkpoint; the option `journal_bytes`; bytes of the log that wait. */
    uint64_t pending_count;
    uint64_t journal_bytes;
    uint64_t journal_used_bytes;
    /** Segments of the log, and as of the last checkpoint what is in them, and what of that is
        still needed. */
    uint64_t segment_count;
    uint64_t log_used_bytes;
    uint64_t log_live_bytes;
    /** Bytes that were appended, by writes and by cleaning, since the handle was opened. */
    uint64_t appended_bytes;
    uint64_t cleaned_bytes;
    /** Size of LMDB's file, and of what in it is in use. */
    uint64_t data_bytes;
    uint64_t data_used_bytes;
    uint64_t map_bytes;
    /** The last write's version, the last one in LMDB, the last one that survives a power cut. */
    uint64_t last_sequence;
    uint64_t applied_sequence;
    uint64_t synced_sequence;
    uint64_t hits;
    uint64_t misses;
    /** Entries found damaged. */
    uint64_t damaged;
    /** Puts and removals that were written, those of batches too; a removal counts whether or not
        there was an entry. */
    uint64_t written;
    uint64_t removed;
    /** Entries that left for a limit, and those that expired, as checkpoints found them. */
    uint64_t evicted;
    uint64_t expired;
    /** Checkpoints, those of them that failed, and how long all took together. */
    uint64_t flushes;
    uint64_t flush_failures;
    uint64_t flush_ns;
    /** Reads that were not remembered because too many came between two checkpoints, those of
        larder_store_touch_many among them. */
    uint64_t touches_dropped;
    /** Why the last checkpoint failed; LARDER_OK if it did not. */
    larder_status last_failure;
    /** The process that has the store open for writing, 0 if none. */
    int64_t writer_pid;
    uint64_t content_format;
    int64_t created_ns;
    uint32_t version;
    uint32_t read_only;
    uint32_t key_form;
} larder_store_statistics;

LARDER_API LARDER_MUST_CHECK larder_status
larder_store_statistics_get(larder_store *store, larder_store_statistics *statistics);

/** What a check, a salvage or a rebuild found. */
typedef struct larder_store_report {
    /** Intact entries, and the bytes of their values. */
    uint64_t intact;
    uint64_t intact_bytes;
    /** Entries that are damaged, or whose segment is missing. */
    uint64_t damaged;
    /** Entries that are left out because what was lost may have been newer. */
    uint64_t uncertain;
    /** Pages of LMDB's file that cannot be read. */
    uint64_t damaged_pages;
    /** Where the first of these is in data.mdb, or the first damaged row; 0 if none is there. */
    uint64_t first_damage_offset;
    /** Rows of order, expiration, indexes and segments that disagree with the entries, and orphaned
        segments; at opening, segments that were kept although nothing says what they belong to. */
    uint64_t inconsistencies;
    /** Writes after the last checkpoint that were or would be replayed from the log. */
    uint64_t journal_intact;
    /** Those that are lost, at least: damaged, missing with their segment, or given up behind the
        place where a power cut tore the log. Unless it is 0, entries may be older than what was
        lost. */
    uint64_t journal_lost;
} larder_store_report;

/** Whether the files of a store that is open for writing were deleted, by whomever, and not only
    moved: then what it holds is gone when it is closed. False of a handle that was shut down, or
    that only reads.
    Thread-safe. */
LARDER_API bool larder_store_is_deleted(larder_store *store);

/** What open found in the log, and entries whose segment is missing. Of a read-only handle: what
    was lost of the log, as far as it has followed it, and pages that a data.mdb lacks that was cut
    short; whoever opens such a store to write gets LARDER_EDAMAGED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_recovery(larder_store *store,
                                                                 larder_store_report *report);

/** Verifies everything: pages, every entry's record, that order, expiry and indexes agree with the
    entries and counters with a full count, the free list, the segments. Sees the store as it is
    now; writes may go on.
    @param progress told of entries; may be NULL.
    @return LARDER_OK; LARDER_EDAMAGED; ECANCELED; as larder_store_cursor_open. O(everything). */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_check(larder_store *store, larder_progress LARDER_NULLABLE progress,
                   void *LARDER_NULLABLE context, larder_store_report *report);

// Whole stores ------------------------------------------------------------------------------------

/** Copies the store, as it is now, into a new one at `target`, while it is in use.
    @param progress told of entries; may be NULL.
    @return LARDER_OK; EEXIST if `target` exists; LARDER_EDAMAGED at the first damaged entry; ENOSPC
            or another errno. On failure nothing is left at `target`. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_backup(larder_store *store, const char *target,
                    larder_progress LARDER_NULLABLE progress, void *LARDER_NULLABLE context);

/** What a compaction came to. */
typedef struct larder_store_compaction {
    /** What is in the segments of the log. */
    uint64_t log_bytes_before;
    uint64_t log_bytes_after;
    /** The size of the index, data.mdb. */
    uint64_t data_bytes_before;
    uint64_t data_bytes_after;
} larder_store_compaction;

/** Reclaims the space in the log of the store at `path` that replaced and removed entries left, by
    cleaning every segment that has any. The store must not be open for writing, but may be read
    meanwhile; a segment that a reader still needs is deleted when the store is opened next.

    Where more than half of data.mdb, and 64 KiB, is free pages, it is then replaced by a copy
    without them; but it stays as it is, for its pages to be used again, while anybody reads the
    store, and where the disk has no room for both. If that is interrupted, also by a kill or a
    power cut, the old file is there, or the new one.
    @param options as for larder_store_open; mode 0 is the permissions that the log has. NULL for
           the defaults, and those.
    @param progress told of segments deleted, and then of rows of the index copied; may be NULL.
           When it stops the call, what was done stays.
    @param report receives the sizes, on success; may be NULL.
    @return as larder_store_open; LARDER_EINVALID if it is to be read only; LARDER_EFOREIGN if
            `index.new`, in which the copy grows, is no folder; ECANCELED.
    O(live bytes) of the segments that it cleans, and O(rows of the index) where that is copied. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_compact(
    const char *path, const larder_store_options *LARDER_NULLABLE options,
    larder_store_detail *LARDER_NULLABLE detail, larder_progress LARDER_NULLABLE progress,
    void *LARDER_NULLABLE context, larder_store_compaction *LARDER_NULLABLE report);

/** Rebuilds data.mdb in place: it is the index of the log, which has every entry. No value is
    copied. The old file is not needed; if it is sound it tells what was evicted, and what is
    newest. Without it, or where it is another store's, as that of a backup is, some of what was
    evicted comes back. The order of use becomes that of writing, and an entry with an idle time
    counts as not read since it was written.

    A damaged record loses its entry; an older version of it does not come back. The segment with
    the damage stays as long as anything in it is live, and larder_store_check reports it;
    larder_store_salvage creates a store without. Where all that is known is that something was
    lost before what is there, so that older entries are uncertain, nothing is changed, because
    cleaning would delete what is left out: with LARDER_STORE_WITH_UNCERTAIN they are kept. Where
    the end of the log is lost, what is there is as it was before, and `journal_lost` tells of it.
    A segment whose file has another one's name is the one that its head says.

    If the call is interrupted, also by a kill or a power cut, the old data.mdb is there, and the
    next call starts again. Only heads of segments are overwritten before that which are damaged or
    say another number than the file's name.
    @param options as for larder_store_open: permissions, 0 for those that the log has, and the
           content format, if the old file does not tell. NULL for the defaults, and 0.
    @param progress told of entries; may be NULL.
    @param report receives what was found, also on LARDER_EDAMAGED.
    @return LARDER_OK; LARDER_EBUSY if the store is open, in any process, even for reading;
            LARDER_EDAMAGED: there would be uncertain entries; LARDER_EFOREIGN if nothing in the
            folder looks like a store, there are segments of several without a data.mdb of one of
            them, or `index.new`, in which the index is made, is no folder; LARDER_EVERSION;
            LARDER_EINVALID; ECANCELED; ENOENT, EACCES, ENOSPC, EIO (a segment cannot be read) or
            another errno.
    O(bytes of the log), and 56 bytes of memory a record. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_rebuild(const char *path, const larder_store_options *LARDER_NULLABLE options,
                     larder_progress LARDER_NULLABLE progress, void *LARDER_NULLABLE context,
                     larder_store_report *report);

/** Copies every intact entry of the folder at `source`, however damaged, into a new store at
    `target`: from every record in the log that is whole. data.mdb is not needed; if it is sound it
    tells what was evicted, and what is newest. Without it, some of what was evicted comes back. The
    order of use is that of writing. An older version of an entry whose newest one is damaged does
    not come back; where all that is known is that something was lost before what is there, what is
    older comes back only with LARDER_STORE_WITH_UNCERTAIN. Where the end of the log is lost, what
    comes back is as it was before, and `journal_lost` tells of it. `source` is only read, and must
    not be in use.
    @param report receives what was found.
    @return LARDER_OK; LARDER_EFOREIGN if nothing in it looks like a store; EEXIST if `target`
            exists; LARDER_EBUSY, LARDER_EVERSION; ECANCELED; or as larder_store_open. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_salvage(
    const char *source, const char *target, const larder_store_options *LARDER_NULLABLE options,
    larder_progress LARDER_NULLABLE progress, void *LARDER_NULLABLE context,
    larder_store_report *report);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
