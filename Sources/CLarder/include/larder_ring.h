// SPDX-License-Identifier: MIT
/** @file larder_ring.h
    A message log in one memory-mapped file that survives `kill -9` at memory speed.

    Messages are byte strings of 0 to 2 GiB. Each gets a sequence number: 1 for the first, never
    reused, not even after a power cut. Numbers are reserved on the device in steps, and after a
    power cut those that may have been assigned are skipped: up to 2^22, or 2^14 if the ring had
    been closed. Any other gap says how many messages were lost in it. The file has a fixed
    capacity, reserved on the disk when it is created; a full ring either overwrites its oldest
    messages or refuses the new one.

    **Processes.** One handle writes; opening a second one for writing, in any process, returns
    LARDER_EBUSY. Any number of read-only handles, in any process, read while it writes. A process
    that may read the file can hold a read lock on it and so keep a writer from opening it, which
    returns LARDER_ELOCKED; it cannot disturb one that has it open.
    **Threads.** Every function that takes a ring may be called from any thread at any time, except
    `larder_ring_close`, which must be the last call. A reader belongs to one thread at a time.
    **Durability.** When an append returns, the message survives the end of the process. When
    `larder_ring_sync_through` returns for it, it survives a power cut. After a power cut a ring
    holds a prefix of what was appended that includes everything synced, without a hole; a ring that
    overwrites may miss more of its oldest ones, where the power cut took those that were
    overwriting them.
    **Damage** costs the messages that it hit, and they are counted as lost. But after a reboot, in
    a ring that was not shut down with a sync, it cannot be told from what a power cut tore while
    it was being overwritten: then the messages in front of it are given up, too, which the report
    says (`cut`). Until the ring is opened for writing, larder_ring_salvage still copies them.
    **Failed syncs.** A sync of the device that failed (EIO, ENOSPC, ENOMEM, or what else fdatasync,
    or fsync of the folder, return) may have left pages that the system
    takes for written. Larder stores to them again before it trusts a later sync, in whatever
    process of the same boot that is made. The failure of a sync that a caller asked for, or that
    was made in the background, stays: each later one on the handle returns it. Append goes on. The
    first sync of a new file opens its folder, too: without a descriptor (EMFILE), or where that is
    gone, it asks the device for nothing, and the next one tries again.
    **Copies.** A file that was copied while it was written to may have parts of different moments.
    Its intact messages are kept as larder_ring_salvage keeps them, with holes between them that
    count as lost; opening it gives up nothing that salvage would have found. A file whose inode is
    not the one it was written under is such a copy, and no prefix is promised of it, whether the
    copy was made while a writer went on or of what a power cut had left.
    **Deleted and replaced files.** A handle keeps the file that it opened. If that is deleted, or
    something else gets its name, append goes on, into a file that no later open finds: it makes no
    system call that could tell. These do, and return LARDER_EREPLACED: larder_ring_sync,
    larder_ring_sync_through and larder_ring_append_synced; larder_ring_shutdown, if the handle
    changed something; larder_ring_acknowledge and larder_ring_cursor_remove, which then change
    nothing; larder_ring_check, and larder_ring_wait of a handle that only reads. A file that was
    moved is used on as long as nothing else is at its old path; a path is that of the moment of
    opening, wherever the process goes later. See larder_ring_check_place.
    **Waiting.** Only the calls that sync wait for the device: larder_ring_sync and its variants;
    larder_ring_shutdown and larder_ring_close if something was changed; and larder_ring_open if the
    machine has rebooted since the ring was written. An append waits only where it outpaces the
    device: if it uses up 2^21 numbers, or in a reopened ring that was closed with a sync writes 128
    KiB, or where messages were, in less time than one sync takes; or if it overwrites the whole
    ring, or removes all of it for its age, between two calls of larder_ring_sync_through or
    larder_ring_append_synced.
    **Signals.** A signal handler may call none of these functions: the thread that it interrupts
    may hold the ring's lock, and an append in the handler then waits for it for ever. Have a thread
    wait for signals (sigwait), or write(2) to a pipe that a thread reads. Of a process that
    crashes, every message whose append has returned is in the file as it is.
    **fork(2).** A child must not use its parent's handle; calls return LARDER_EFORKED.

    The file format is in ring/layout.h and in the documentation ("File formats"). */
#ifndef LARDER_RING_H
#define LARDER_RING_H

#include "larder_status.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** One open ring. Owned by the caller of larder_ring_open. */
typedef struct larder_ring larder_ring;

/** One pass over a ring's messages. Owned by the caller of larder_ring_reader_open. */
typedef struct larder_ring_reader larder_ring_reader;

// Limits ------------------------------------------------------------------------------------------

/** The longest message: 2 GiB less one page. */
#define LARDER_RING_MESSAGE_MAX_BYTES ((size_t)0x7FFFF000)
/** The longest name of a cursor, in bytes. */
#define LARDER_RING_CURSOR_NAME_MAX_BYTES ((size_t)32)
/** Cursor slots of a new ring, unless the options say otherwise. */
#define LARDER_RING_DEFAULT_CURSOR_SLOTS ((uint32_t)8)
/** The most cursor slots a ring can have. */
#define LARDER_RING_CURSOR_SLOTS_MAX ((uint32_t)1024)
/** What the time of a message takes in a ring that keeps times. */
#define LARDER_RING_TIME_BYTES ((size_t)8)
/** The largest file: 1 TiB. */
#define LARDER_RING_CAPACITY_MAX_BYTES ((uint64_t)1 << 40)

/** The smallest file with `cursor_slots` cursors: it holds one empty message. One that keeps times
    has LARDER_RING_TIME_BYTES more. */
LARDER_API uint64_t larder_ring_minimum_capacity(uint32_t cursor_slots);

/** The capacity of the file that holds exactly `count` messages of `length` bytes each. If it keeps
    times, add LARDER_RING_TIME_BYTES to the length.
    @return 0 if there is no such file: a limit above is exceeded. */
LARDER_API uint64_t larder_ring_capacity_for(uint64_t count, size_t length, uint32_t cursor_slots);

// Opening and closing -----------------------------------------------------------------------------

enum {
    /** A full ring makes room by dropping its oldest messages. Otherwise it refuses the new one. */
    LARDER_RING_OVERWRITE = 1u << 0,
    /** Open for reading only; the file must exist. Takes no lock and writes nothing, but for what
        larder_ring_wait says. */
    LARDER_RING_READ_ONLY = 1u << 1,
    /** Return ENOENT for a missing file instead of creating it. */
    LARDER_RING_EXISTING = 1u << 2,
    /** Open for writing also an existing file that another user owns, neither the effective one
        nor root, or that every user may write to. Without it these are refused: their owner could
        have left the file for this process to fill, and can read and change what it writes. */
    LARDER_RING_TRUST_OTHERS = 1u << 3,
    /** Keep the time of each message: a new file is of format version 3, which releases that do not
        know it refuse with LARDER_EVERSION. Times are nanoseconds since 1970 by the wall clock, and
        never decrease: a message gets at least the time of the newest one that the ring holds, also
        after the clock was set back. Costs 8 bytes and one look at the clock for each append, or
        batch. A file keeps times or not from its creation on, whatever later opens say; one that
        does not is LARDER_EMISMATCH with this flag, and larder_ring_resize gives it times. */
    LARDER_RING_KEEP_TIMES = 1u << 4
};

/** What to open. Fill with larder_ring_options_init, then change what matters. */
typedef struct larder_ring_options {
    /** The size of the whole file. 0 takes an existing file with its own capacity and policy. */
    uint64_t capacity_bytes;
    /** LARDER_RING_… flags, or-ed. */
    uint32_t flags;
    /** Cursor slots of a new file. An existing file keeps its own. */
    uint32_t cursor_slots;
    /** The messages' format, for example the coder's name in ASCII, as a number. Kept in the file;
        0 means unknown and matches everything. */
    uint64_t content_format;
    /** Sync in the background so that no message waits longer than this. 0: never. */
    int64_t sync_interval_ns;
    /** Permissions of a new file. */
    uint32_t mode;
    /** An append, batch or reservation first removes the messages that are older than this, as
        larder_ring_remove_before does. Not kept in the file. 0: never. Implies
        LARDER_RING_KEEP_TIMES. While the ring is open, a system's clock that jumps ahead, by more
        than passes on one that nobody sets, makes nothing older; what was appended meanwhile goes
        when it is that old, to a thirty-second part of the age. */
    int64_t maximum_age_ns;
    /** Nanoseconds since 1970; NULL for the system's wall clock. Called by whatever thread appends,
        several at a time; must not use the ring. */
    int64_t (*LARDER_NULLABLE clock)(void *LARDER_NULLABLE context);
    void *LARDER_NULLABLE clock_context;
    /** Not 0: take the log that has this `created_ns` in its statistics, also after it was resized,
        and no other one: LARDER_EREPLACED. A file that is missing is created all the same. */
    int64_t created_ns;
} larder_ring_options;

/** Sets the defaults: capacity 0, refuse when full, 8 cursor slots, no background sync, mode 0600,
    no times. */
LARDER_API void larder_ring_options_init(larder_ring_options *options);

/** What a failed open, check or salvage found. All zero when there is nothing to tell. */
typedef struct larder_ring_detail {
    /** LARDER_EBUSY, LARDER_ELOCKED: the process that holds the ring; 0 if it is unknown. */
    int64_t holder_pid;
    /** LARDER_EVERSION: the version in the file. */
    uint32_t version;
    /** LARDER_EMISMATCH and others: LARDER_RING_OVERWRITE and LARDER_RING_KEEP_TIMES, as in the
        file. */
    uint32_t flags;
    /** LARDER_EMISMATCH: the capacity in the file. LARDER_EINVALID: the smallest that would do. */
    uint64_t capacity_bytes;
    /** LARDER_EMISMATCH: the content format in the file. */
    uint64_t content_format;
    /** LARDER_EDAMAGED: where in the file. */
    uint64_t offset;
    /** LARDER_EDAMAGED: the size of the file as it is. */
    uint64_t file_bytes;
} larder_ring_detail;

/** Opens the ring at `path`, creating it if the file is missing or empty.

    Creation reserves the whole capacity, so a full disk is ENOSPC here and never a signal later. So
    does opening for writing where the file has holes, as a copy may, if the options name the
    capacity, or up to 1 GiB of holes without; a file that claims more reserves nothing, and fills
    its holes as messages are written: name its capacity, for a full disk is SIGBUS then.
    A file whose writer was killed is used as it is. After a power cut, in a copy, and where the
    state is damaged, the file is walked first, and `larder_ring_recovery` reports what is lost:
    after a power cut also intact messages beside a hole (`cut`), else only what is damaged. A
    damaged header is rebuilt from its backup.
    A file that is not a ring is left alone. One that is there already is opened for writing only if
    the effective user or root owns it and not every user may write to it, unless the options trust
    other users, and never if it has a second name, a hard link; reading is not restricted.
    For a handle that only reads, an empty file is none (ENOENT), and so is one that a writer is
    just making.
    The open maps the file's capacity, which is no more than its size: address space, no memory.

    @param options NULL takes an existing file with its own capacity and policy.
    @param detail receives what is known about a failure; may be NULL.
    @param out receives the ring, owned by the caller; NULL on failure, and then there is nothing to
           close.
    @return LARDER_OK; LARDER_EINVALID (capacity out of range, or 0 for an empty file; unknown
            flag; empty path), LARDER_EBUSY, LARDER_ELOCKED, LARDER_EOWNER, LARDER_EWRITABLE,
            LARDER_ELINKED, LARDER_EVERSION, LARDER_EMISMATCH, LARDER_EDAMAGED (shorter than its
            header says), LARDER_EREPLACED (another log than the options name), LARDER_EFOREIGN;
            ENOENT, ENOSPC, EFBIG (file size limit), EACCES, EISDIR, ELOOP (the path is a symbolic
            link), ENAMETOOLONG, ENOMEM, or another errno of open, flock, fallocate, mmap, fstat,
            getcwd, or of a sync: then the next open makes it again.
    O(1) without a sync within the same boot, whether the ring was closed or its writer was killed.
    After a reboot, O(1) and a sync if larder_ring_shutdown closed it; O(capacity) and a sync
    otherwise. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_open(
    const char *path, const larder_ring_options *LARDER_NULLABLE options,
    larder_ring_detail *LARDER_NULLABLE detail, larder_ring *LARDER_NULLABLE *LARDER_NONNULL out);

/** Ends all use of the ring: syncs, marks the file closed, releases lock and mapping. Calls that
    are under way finish first; later ones return LARDER_ECLOSED. The handle still needs
    larder_ring_close. Any thread, any number of times.
    @return LARDER_OK, also when it was shut down before; the errno of the sync, or of one that
            failed earlier, or LARDER_EREPLACED, and the ring is shut down all the same;
            LARDER_EFORKED, in a child of
            the process that opened it, and nothing was done. */
LARDER_API larder_status larder_ring_shutdown(larder_ring *ring);

/** The same without waiting for the device: the system writes what was not synced within half a
    minute or so. Within the same boot the next open finds everything, and takes no longer for it. A
    power cut before then leaves what it would leave of an open ring, and the first open after a
    reboot walks the file. Waits for a sync that is under way.
    @return LARDER_OK; LARDER_EREPLACED, and the ring is shut down all the same; LARDER_EFORKED. */
LARDER_API larder_status larder_ring_shutdown_unsynced(larder_ring *ring);

/** Shuts the ring down if that was not done, and frees it. NULL is allowed. No other call may be
    under way, and the ring's readers must be closed. */
LARDER_API void larder_ring_close(larder_ring *LARDER_NULLABLE ring);

/** Whether the ring's file can be found by the next open: a handle keeps a file that was deleted,
    and would not notice. For a reader that polls instead of waiting, and before work that is only
    of use if what it is about to write can be read later.
    @return LARDER_OK, also if the file was moved and nothing is at its old path;
            LARDER_EREPLACED if it was deleted, or if something else is at its path, as after
            larder_ring_resize. Everything in the file can still be read, and nothing more comes:
            read to its end, then open the path again. If the new file's `created_ns` is that of
            the old one, it is the same log, resized, and its numbers go on; else it is another
            one, with numbers of its own.
            LARDER_ECLOSED, LARDER_EFORKED, an errno of fstat. One system call, or two. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_check_place(larder_ring *ring);

/** Opens the folder that the ring's file is in, to keep other files beside it: by this descriptor
    they are beside this file, wherever its path leads by then.
    @param folder receives the descriptor, to be closed by the caller; -1 on failure.
    @param name receives the file's name in it, borrowed until larder_ring_close.
    @return LARDER_OK; LARDER_EREPLACED if the file is not there under that name any more, also if
            it was moved; LARDER_ECLOSED, LARDER_EFORKED; or an errno of fstat, open or lstat. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_folder_open(
    larder_ring *ring, int *folder, const char *LARDER_NONNULL *LARDER_NONNULL name);

// Appending ---------------------------------------------------------------------------------------

/** Appends one message.
    @param message may be NULL when `length` is 0; copied.
    @param sequence receives the message's number, 0 on failure; may be NULL.
    @return LARDER_OK; LARDER_ETOOLARGE, LARDER_EFULL (the ring is unchanged in both cases; also if
            the numbers below 2^54 are used up, as a file can pretend),
            LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED; or the errno of a sync where it waits
            for one, as above: then nothing was appended, though the oldest messages of an
            overwriting ring may have been dropped for it, and another append tries again.
    O(length), amortised; no allocation, and no system call except these: one that prepares new
    pages, every 64 KiB of the first lap after its first 64 KiB; one that starts the background
    thread, with the second message after opening; and a sync where it waits, see above. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_append(larder_ring *ring,
                                                              const void *LARDER_NULLABLE message,
                                                              size_t length,
                                                              uint64_t *LARDER_NULLABLE sequence);

enum {
    /** The message is incomplete: the last line of an input without a final newline, or a part
        that the next message continues. Larder keeps the mark and does nothing else with it. */
    LARDER_MESSAGE_PARTIAL = 1u << 0
};

/** One message of a batch. */
typedef struct larder_message {
    larder_bytes payload;
    /** LARDER_MESSAGE_… flags. */
    uint32_t flags;
} larder_message;

/** Appends `count` messages in order, taking the lock once and making them visible to readers all
    at once, or, where they need more than half the ring, in as few steps as that allows. If one
    cannot be appended, those before it have been.
    @param appended receives how many were appended; may be NULL.
    @param last_sequence receives the number of the last one appended, 0 if none; may be NULL.
    @return as larder_ring_append, for the first message that failed; or LARDER_EINVALID, for one
            with an unknown flag. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_append_batch(
    larder_ring *ring, const larder_message *LARDER_NULLABLE messages, size_t count,
    size_t *LARDER_NULLABLE appended, uint64_t *LARDER_NULLABLE last_sequence);

/** Room for one message inside the file itself. */
typedef struct larder_reservation {
    /** Where to write the message; borrowed, valid until commit or abort. */
    void *LARDER_NULLABLE bytes;
    /** How many bytes may be written there. */
    size_t capacity;
} larder_reservation;

/** Makes room for a message of up to `capacity` bytes, to be written in place. No other thread can
    append until the thread that made the reservation commits or aborts it; so keep it short, and
    make no other call on the ring meanwhile: it would deadlock. Making room may
    drop the oldest messages of an overwriting ring for good.
    @return as larder_ring_append. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_reserve(larder_ring *ring, size_t capacity,
                                                               larder_reservation *reservation);

/** Publishes the first `length` bytes of the reservation as a message.
    @param flags LARDER_MESSAGE_… flags.
    @return LARDER_OK; LARDER_EINVALID if `length` exceeds the reservation, a flag is unknown, or
            there is no reservation: then the reservation, if any, still stands. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_commit(larder_ring *ring,
                                                              larder_reservation *reservation,
                                                              size_t length, uint32_t flags,
                                                              uint64_t *LARDER_NULLABLE sequence);

/** Abandons the reservation; nothing was appended. Harmless for one that was committed. */
LARDER_API void larder_ring_abort(larder_ring *ring, larder_reservation *reservation);

/** Removes the oldest messages up to and including `sequence`. A number beyond the newest removes
    all. In memory at once; durable with the next sync.
    @param removed receives how many messages were removed; may be NULL.
    @return LARDER_OK; LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED; or the errno of a sync,
            which it makes if what it removes was synced and the device's header does not say so
            yet: then `removed` says how many went before that. O(messages removed). */
LARDER_API LARDER_MUST_CHECK larder_status
larder_ring_remove_through(larder_ring *ring, uint64_t sequence, uint64_t *LARDER_NULLABLE removed);

/** Removes the oldest messages that are older than `time_ns`, nanoseconds since 1970, of a ring
    that keeps times. Messages whose time is unknown are.
    @param removed receives how many messages were removed; may be NULL.
    @return as larder_ring_remove_through; LARDER_EINVALID if the ring keeps no times. O(bytes
            removed). */
LARDER_API LARDER_MUST_CHECK larder_status
larder_ring_remove_before(larder_ring *ring, int64_t time_ns, uint64_t *LARDER_NULLABLE removed);

// Durability --------------------------------------------------------------------------------------

/** Makes every message appended before this call survive a power cut, and removals and cursors. A
    ring that overwrites is synced twice, so that no append has to wait for the second one.
    @return LARDER_OK; LARDER_EREADONLY, LARDER_ECLOSED, LARDER_EFORKED; the errno of the sync,
            or of the first that failed on this handle; or LARDER_EREPLACED, for as long as that is
            so: the messages are in the handle's file, and the next open does not find them. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_sync(larder_ring *ring);

/** The same up to message `sequence`; returns at once if that is synced already. Concurrent callers
    share one sync (group commit).
    @return as larder_ring_sync. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_sync_through(larder_ring *ring,
                                                                    uint64_t sequence);

/** Appends one message and syncs it: larder_ring_append, then larder_ring_sync_through. If the sync
    fails the message stays appended, and `sequence` is set.
    @return as larder_ring_append or larder_ring_sync; `sequence` is 0 if nothing was appended. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_ring_append_synced(larder_ring *ring, const void *LARDER_NULLABLE message, size_t length,
                          uint64_t *LARDER_NULLABLE sequence);

// Reading -----------------------------------------------------------------------------------------

/** One message as read. */
typedef struct larder_ring_record {
    uint64_t sequence;
    /** Borrowed from the reader: valid until its next call. */
    larder_bytes payload;
    /** LARDER_MESSAGE_… flags. */
    uint32_t flags;
    /** Messages missing between the one this reader returned before and this one, because they were
        damaged or overwritten before they could be read. Not counted before the first. */
    uint64_t lost;
    /** When it was appended, in nanoseconds since 1970: never less than that of the message before
        it. 0 if the ring keeps no times, or kept none when it was appended. */
    int64_t time_ns;
} larder_ring_record;

enum {
    /** Read in place instead of from a copy. Only for a ring that nobody appends to or removes from
        while a record is in use: then payloads stay valid until the ring is shut down. */
    LARDER_RING_BORROW = 1u << 0
};

/** Creates a reader positioned before the oldest message.
    @param flags 0 or LARDER_RING_BORROW.
    @param out receives the reader, owned by the caller; NULL on failure.
    @return LARDER_OK; LARDER_EINVALID, LARDER_ECLOSED, LARDER_EFORKED, ENOMEM. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_reader_open(
    larder_ring *ring, uint32_t flags, larder_ring_reader *LARDER_NULLABLE *LARDER_NONNULL out);

/** Frees the reader. NULL is allowed. */
LARDER_API void larder_ring_reader_close(larder_ring_reader *LARDER_NULLABLE reader);

/** Reads the next message, towards the newest. Every payload's checksum is verified; a damaged
    message is skipped and counted in `lost`. At the end a later call finds what was appended since.
    @param record receives the message.
    @return LARDER_OK; LARDER_END; LARDER_ECLOSED, LARDER_EFORKED, ENOMEM.
    O(payload): messages are copied out in bulk, many per lock. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_reader_next(larder_ring_reader *reader,
                                                                   larder_ring_record *record);

/** Reads the message before the reader's position, towards the oldest: after `next` returned
    message 7, `previous` returns message 7. `lost` is 0.
    @return as larder_ring_reader_next. O(payload) amortised. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_reader_previous(larder_ring_reader *reader,
                                                                       larder_ring_record *record);

/** Places the reader before the first message whose number is at least `sequence`. 0 goes to the
    oldest, UINT64_MAX after the newest. O(log capacity).
    @return LARDER_OK; LARDER_ECLOSED, LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_reader_seek(larder_ring_reader *reader,
                                                                   uint64_t sequence);

/** Places the reader before the first message whose time is at least `time_ns`, nanoseconds since
    1970; after the newest if there is none. Messages whose time is unknown are before all others.
    O(log capacity), each step of which reads one message.
    @return LARDER_OK; LARDER_EINVALID if the ring keeps no times; LARDER_ECLOSED,
            LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_reader_seek_time(larder_ring_reader *reader,
                                                                        int64_t time_ns);

/** Waits until the ring holds a message with a number greater than `sequence`. Appends wake it,
    also those of another process where this one may write to the file: a handle that only reads
    says in the file's header that it waits, and writes nothing else. It costs the writer one system
    call, and nothing while nobody waits. A writer that is killed while it appends may wake nobody:
    then what it appended last is found within 20 seconds, or when another opens the ring.
    Where the file may only be read, while nobody has it open for writing, and beside a writer of a
    version that wakes nobody, the waiter looks: every 2 ms for a while after something came, and
    then less and less often, down to 20 times a second; so what comes is found within an eighth of
    the time that nothing came before, 50 ms at most. A handle that only reads also ends its wait
    when its file is replaced: a resize wakes it, and else it finds out when it looks.
    @param timeout_ns how long at most: 0 only looks, negative waits for ever.
    @return LARDER_OK; ETIMEDOUT; ECANCELED after larder_ring_interrupt; LARDER_EREPLACED, of a
            handle that only reads, if there is no such message and none comes, see
            larder_ring_check_place; LARDER_ECLOSED, also when the ring is shut down meanwhile;
            LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_wait(larder_ring *ring, uint64_t sequence,
                                                            int64_t timeout_ns);

/** Ends one larder_ring_wait of the handle that finds nothing: one that is under way, or the
    next. */
LARDER_API void larder_ring_interrupt(larder_ring *ring);

// Named cursors -----------------------------------------------------------------------------------

/** A consumer's position in the log, kept in the file. */
typedef struct larder_ring_cursor {
    /** NUL-terminated for C's convenience. */
    char name[33];
    uint8_t name_length;
    /** The number of the last message acknowledged; 0 if none was. */
    uint64_t acknowledged;
} larder_ring_cursor;

/** Records under `name` that every message up to `sequence` is done. The first call for a name
    takes a slot; with a `sequence` of 0 it does nothing else, so that a consumer learns before its
    work whether its position can be kept. A position only moves forward: a smaller number changes
    nothing.
    @param name 1 to 32 bytes of any kind.
    @return LARDER_OK; LARDER_EINVALID (name, or a number that was not assigned yet),
            LARDER_ENOSLOT, LARDER_EREADONLY, LARDER_EREPLACED, LARDER_ECLOSED, LARDER_EFORKED.
            O(slots), and a system call. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_acknowledge(larder_ring *ring,
                                                                   larder_bytes name,
                                                                   uint64_t sequence);

/** What was acknowledged under `name`.
    @return LARDER_OK; LARDER_ENOTFOUND, and `sequence` is 0; LARDER_EINVALID (name),
            LARDER_ECLOSED, LARDER_EFORKED. O(slots). */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_acknowledged(larder_ring *ring,
                                                                    larder_bytes name,
                                                                    uint64_t *sequence);

/** Forgets the cursor `name`.
    @return LARDER_OK; LARDER_ENOTFOUND if there is none; LARDER_EINVALID (name), LARDER_EREADONLY,
            LARDER_EREPLACED, LARDER_ECLOSED, LARDER_EFORKED. O(slots), and a system call. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_cursor_remove(larder_ring *ring,
                                                                     larder_bytes name);

/** Lists the cursors: up to `capacity` of them at `cursors`.
    @param count receives how many there are, which may be more than `capacity`.
    @return LARDER_OK; LARDER_ECLOSED, LARDER_EFORKED. O(slots). */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_cursors(
    larder_ring *ring, larder_ring_cursor *LARDER_NULLABLE cursors, size_t capacity, size_t *count);

// Inspection --------------------------------------------------------------------------------------

/** A ring's figures at one moment. `count`, `overwritten`, `removed`, `lost` and `skipped` add up
    to all numbers before `next_sequence`. Damage is in `lost` once it was found: by the
    open that walked the file, or whoever drops what is damaged. Until then the message is in
    `count`, and larder_ring_check tells of it. */
typedef struct larder_ring_statistics {
    /** Size of the file. */
    uint64_t capacity_bytes;
    /** Of that, room for messages with their 16-byte heads. */
    uint64_t data_bytes;
    /** Of that, in use. */
    uint64_t used_bytes;
    /** Messages in the ring. */
    uint64_t count;
    /** Numbers of the oldest and newest message; both 0 in an empty ring. */
    uint64_t oldest_sequence;
    uint64_t newest_sequence;
    /** The number that the next message gets. */
    uint64_t next_sequence;
    /** Everything up to here survives a power cut. */
    uint64_t synced_sequence;
    /** Since the ring was created: messages overwritten, removed by the caller or for their age,
        lost to damage. */
    uint64_t overwritten;
    uint64_t removed;
    uint64_t lost;
    /** Numbers skipped since then: they were reserved when the power was cut, and nobody can tell
        which of them had been assigned. */
    uint64_t skipped;
    /** How often the ring wrapped around to its start. */
    uint64_t wraps;
    /** As in the file. */
    uint64_t content_format;
    int64_t created_ns;
    uint32_t version;
    /** LARDER_RING_OVERWRITE, LARDER_RING_KEEP_TIMES, or-ed. */
    uint32_t flags;
    uint32_t cursor_slots;
    /** 1 if this handle cannot write. */
    uint32_t read_only;
    /** The process that has the ring open for writing, 0 if none. */
    int64_t writer_pid;
    /** Times of the oldest and the newest message; 0 if they are unknown, or there is none. */
    int64_t oldest_time_ns;
    int64_t newest_time_ns;
    /** The first number that this handle could give, and how many of those right before it were
        skipped when it was opened. Both 0 if it cannot write. */
    uint64_t opened_sequence;
    uint64_t opened_skipped;
} larder_ring_statistics;

/** @return LARDER_OK; LARDER_ECLOSED, LARDER_EFORKED. O(1), and in a ring that keeps times O(bytes
            of the oldest and the newest message). */
LARDER_API LARDER_MUST_CHECK larder_status
larder_ring_statistics_get(larder_ring *ring, larder_ring_statistics *statistics);

/** The number that the next message gets, as in the statistics, without the rest of them: for a
    reader that polls for new messages.
    @param sequence receives the number; 0 on failure.
    @return LARDER_OK; LARDER_ECLOSED, LARDER_EFORKED. O(1), and no system call: another process's
            appends are seen in the mapping. Any thread. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_next_sequence(larder_ring *ring,
                                                                     uint64_t *sequence);

/** What a walk over a file found. */
typedef struct larder_ring_report {
    /** Intact messages. */
    uint64_t intact;
    /** Messages known to be missing between them, or before and behind them. */
    uint64_t lost;
    /** Places where the walk had to search for the next intact record, and the bytes skipped. */
    uint64_t damaged_places;
    uint64_t damaged_bytes;
    /** Intact records beside a hole that a power cut tore: given up, so that what is left is a
        prefix. Included in `lost`, though those in front of the hole had been dropped or removed
        already if it was a power cut that tore it. */
    uint64_t cut;
    /** File offset of the first damage; 0 if there was none. */
    uint64_t first_damage_offset;
    uint64_t oldest_sequence;
    uint64_t newest_sequence;
    /** 1 if the file had been closed properly. */
    uint32_t was_closed;
    /** 1 if the header had to be rebuilt from its backup. */
    uint32_t header_damaged;
    /** 1 if the ring's state (oldest, end) was found by looking at every record, or is not that
        which was left when the file was closed. */
    uint32_t state_damaged;
    uint32_t reserved;
} larder_ring_report;

/** What open found in the file. Of one that had been closed it looked at the oldest record alone:
    `was_closed` is 1, and the counts are 0 but for what is `lost` there. After a kill, without a
    walk, `intact` is the file's own count. What it says is lost is in the statistics' `lost`, too.
    @return LARDER_OK; LARDER_ECLOSED, LARDER_EFORKED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_recovery(larder_ring *ring,
                                                                larder_ring_report *report);

/** Verifies everything in the ring: header, backup, state, cursors, every record's length, number
    and checksum, and that counters agree with the records. Blocks appends meanwhile. `intact` is
    what reading finds. A handle that only reads also reports what its open found to be missing
    before and behind, unless a power cut can have taken that before it was synced, which is no
    damage: see larder_ring_recovery. A writer's open has put it into the file's counters, and what
    is left is sound but for the holes.
    @param report receives what was found, also on failure.
    @return LARDER_OK; LARDER_EDAMAGED; LARDER_EREPLACED, and nothing was verified; LARDER_ECLOSED,
            LARDER_EFORKED. O(capacity). */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_check(larder_ring *ring,
                                                             larder_ring_report *report);

/** Reports the progress of a long call, in the calling thread.
    @return 0 to continue, another value to stop with ECANCELED. */
typedef int (*larder_progress)(void *LARDER_NULLABLE context, uint64_t done_bytes,
                               uint64_t total_bytes);

/** Copies every intact message of the file at `source`, however damaged, into a new ring at
    `target`, with its number, and the cursors that are readable. Where the parts of a copy made
    while a writer went on contradict each other, the newer part is kept. `source` is only read, and
    is not locked: it should not be in use.
    Times are kept where the source has them.
    @param options of the new ring; NULL, or a capacity of 0, takes those of the source, and of one
           that is shorter than it says, or has more than 1 GiB of holes, the capacity for what is
           there.
    @param progress may be NULL.
    @param report receives what was found.
    @return LARDER_OK; LARDER_EFOREIGN if nothing in it looks like a ring; LARDER_EDAMAGED if it
            ends inside its header; LARDER_EFULL, LARDER_ETOOLARGE if the options are of a ring that
            refuses and is too small; EEXIST if `target` exists; ECANCELED; the errno of a sync; or
            as larder_ring_open. On failure no file is left at `target`. */
LARDER_API LARDER_MUST_CHECK larder_status larder_ring_salvage(
    const char *source, const char *target, const larder_ring_options *LARDER_NULLABLE options,
    larder_progress LARDER_NULLABLE progress, void *LARDER_NULLABLE context,
    larder_ring_report *report);

/** Gives the closed ring at `path` another capacity, policy or format, or times. Keeps the newest
    messages that fit, their numbers, their times, and the cursors. A ring that keeps times goes on
    to. One that did not does with LARDER_RING_KEEP_TIMES, and the times of the messages in it are
    unknown. The new file is written next to the old one, synced and renamed over it: a crash leaves
    one or the other. It keeps `created_ns`, by which those that read the old file know the new one
    for the same log. Where the folder could not be synced, or the process ended before, the new
    file is in place, and the first sync of whoever opens it syncs the folder.
    @param options the capacity, policy, cursor slots and content format to have from now on.
    @param detail as for larder_ring_open; may be NULL.
    @return as larder_ring_open, and the errno of rename or of a sync. LARDER_EREPLACED if
            `path` leads to something else by now, which was not changed. LARDER_EFULL if the
            messages do not fit and the new policy is to refuse: nothing is dropped then. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_ring_resize(const char *path, const larder_ring_options *options,
                   larder_ring_detail *LARDER_NULLABLE detail);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
