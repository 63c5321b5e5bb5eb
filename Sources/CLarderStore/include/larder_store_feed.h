// SPDX-License-Identifier: MIT
/** @file larder_store_feed.h
    A change feed: every write to a store in order, for any handle of any process, from where the
    consumer stopped.

    The log is the feed. An event is a whole write (a put, a removal, a batch), and each is told
    once, in the order of the sequences. A **token** says where a consumer is; it can be kept
    anywhere, and a feed opened with it goes on behind it.

    **Gaps.** Cleaning deletes segments of the log. Where one is gone that a feed had not read yet,
    LARDER_STORE_FEED_GAP says so, with the number of writes that are missing; the consumer then
    takes everything again: larder_store_snapshot_open is a cursor, and the token that belongs to
    it. A **named cursor** is kept by the store with the position that its consumer acknowledged,
    and keeps the log behind it from being deleted, up to `max_lag_bytes`; before a write is refused
    on a full disk, the oldest of it goes all the same. What is deleted at the moment in which a
    cursor is made with an older token, or set back, may be missing. A consumer that begins with a
    snapshot makes its named cursor first, without a token, and acknowledges the snapshot's token.

    **Power cuts** take back writes that were not synced, and their sequences are assigned again. A
    consumer that was told of one is told LARDER_STORE_FEED_REWOUND: everything after the event's
    token did not happen. With LARDER_STORE_FEED_SYNCED, the default for named cursors, it is told
    only what survives a power cut, and never rewound.

    **Not in the feed:** evictions and expirations, which are no writes. A consumer that mirrors a
    store with limits asks larder_store_contains.

    **Copies.** A folder that is put back from a copy has gone back without a power cut, and nothing
    in it tells: what is written from then on gets sequences of what the copy lacks. Put back what
    larder_store_backup made, of which tokens are told LARDER_STORE_FEED_GAP.

    A feed maps one segment of the log at a time, holds no reader's slot, and never delays
    checkpoints or cleaning; a segment that is deleted meanwhile keeps its space on disk until the
    feed is called again. Without a feed, nobody pays for one. */
#ifndef LARDER_STORE_FEED_H
#define LARDER_STORE_FEED_H

#include <stdbool.h>

#include "larder_store.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** A consumer of a store's changes. Owned by the caller of larder_store_feed_open. Used by one
    thread at a time, except for larder_store_feed_interrupt; to be closed before the store. */
typedef struct larder_store_feed larder_store_feed;

#define LARDER_STORE_TOKEN_BYTES ((size_t)32)
#define LARDER_STORE_FEED_NAME_MAX_BYTES ((size_t)32)
/** How many named cursors a store can have. */
#define LARDER_STORE_FEED_CURSORS_MAX ((size_t)30)
#define LARDER_STORE_FEED_LAG_DEFAULT_BYTES ((uint64_t)256 << 20)

/** A position in the feed of one store. The bytes are the library's; they can be stored and sent as
    they are. */
typedef struct larder_store_token {
    uint8_t bytes[32];
} larder_store_token;

/** Behind the newest write, as a handle sees it now. Any thread.
    @return LARDER_OK; as larder_store_cursor_open. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_token_now(larder_store *store,
                                                                  larder_store_token *token);
/** The sequence of the last write before the token; 0 for the start, and for bytes that are no
    token. */
LARDER_API uint64_t larder_store_token_sequence(const larder_store_token *token);
/** Opens a cursor as larder_store_cursor_open does, and gives the token of the same state: a feed
    opened with it tells every write that the cursor does not show, and no other. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_snapshot_open(
    larder_store *store, const larder_store_query *query, larder_store_token *token,
    larder_store_cursor *LARDER_NULLABLE *LARDER_NONNULL out);

enum {
    /** Tell only what survives a power cut. What was written and not synced is told after the next
        sync: see `sync_interval_ns`. */
    LARDER_STORE_FEED_SYNCED = 1u << 0,
    /** Of a named cursor: tell everything at once. */
    LARDER_STORE_FEED_UNSYNCED = 1u << 1,
    /** Without a token, begin with the oldest write that the log has; else with the next one. */
    LARDER_STORE_FEED_FROM_START = 1u << 2
};

/** What to open. All zero: from now on, everything at once. */
typedef struct larder_store_feed_options {
    /** LARDER_STORE_FEED_…, or-ed. */
    uint32_t flags;
    uint32_t reserved;
    /** Where to begin. Of a named cursor that exists, what it acknowledged counts instead. */
    const larder_store_token *LARDER_NULLABLE from;
    /** 1 to 32 bytes: the named cursor to go on with, or to make. Empty for none. */
    larder_bytes name;
    /** Of a named cursor: so many bytes of the log it keeps from being deleted, the newest, beyond
        what the store's limits allow, and the rest of the segment that the first of them is in, of
        64 MiB at most. One that lags further may be told of a gap. 0 for
        LARDER_STORE_FEED_LAG_DEFAULT_BYTES. Counts when the cursor is made. */
    uint64_t max_lag_bytes;
} larder_store_feed_options;

/** Opens a feed, in any process that may read the folder. A named cursor needs permission to write,
    and makes the file `feed` if it is missing, which is synced with the cursor in it.
    @return LARDER_OK; LARDER_EINVALID (flags, name, or a token that is none); LARDER_ENOSLOT: there
            are LARDER_STORE_FEED_CURSORS_MAX named cursors; LARDER_EBUSY: another feed, in any
            process, has the named cursor (where the system cannot lock parts of a file, as Apple's,
            nobody checks); LARDER_EREPLACED: another store is in the folder by now;
            LARDER_EFOREIGN: `feed` is another file; LARDER_EOWNER …;
            LARDER_ECLOSED, LARDER_EFORKED; ENOMEM, EACCES or another errno. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_feed_open(larder_store *store, const larder_store_feed_options *options,
                       larder_store_feed *LARDER_NULLABLE *LARDER_NONNULL out);
/** NULL is allowed. A named cursor stays, and goes on keeping the log. */
LARDER_API void larder_store_feed_close(larder_store_feed *LARDER_NULLABLE feed);

typedef enum larder_store_change_kind {
    LARDER_STORE_CHANGE_PUT = 1,
    LARDER_STORE_CHANGE_REMOVE,
    /** The removal of everything: `key` is empty. */
    LARDER_STORE_CHANGE_REMOVE_ALL
} larder_store_change_kind;

/** One change of a write. A removal is told also where there was no entry. */
typedef struct larder_store_change {
    larder_store_change_kind kind;
    /** LARDER_STORE_OWN_TIMES or 0. */
    uint32_t flags;
    larder_bytes key;
    /** Of a put, as are those below. */
    larder_bytes value;
    larder_bytes extended;
    int64_t written_ns;
    int64_t expires_ns;
    int64_t idle_ns;
    uint64_t cost;
} larder_store_change;

typedef enum larder_store_feed_kind {
    /** A write: `changes`, in their order. */
    LARDER_STORE_FEED_WRITE = 1,
    /** Writes are missing between the last event and the next one: deleted by cleaning, or damaged.
        The feed goes on behind `token`. */
    LARDER_STORE_FEED_GAP,
    /** The writes after `token` that were told were lost in a power cut. */
    LARDER_STORE_FEED_REWOUND
} larder_store_feed_kind;

typedef struct larder_store_feed_event {
    larder_store_feed_kind kind;
    uint32_t count;
    /** Borrowed, with all bytes, until the next call with the feed. */
    const larder_store_change *LARDER_NULLABLE changes;
    /** Of the write. */
    uint64_t sequence;
    /** Of a gap: how many writes; LARDER_STORE_UNLIMITED where nobody knows, as with the token of
        another store. */
    uint64_t missing;
    /** Behind this event. */
    larder_store_token token;
} larder_store_feed_event;

/** The next event. Checksums are verified.
    @return LARDER_OK; LARDER_END: there is none yet; LARDER_ECLOSED, LARDER_EFORKED; ENOMEM, EMFILE
            or another errno: the next call tries again.
    O(bytes of the event); the first call, and the first behind a gap, O(segments + bytes of a
    segment). */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_feed_next(larder_store_feed *feed,
                                                                  larder_store_feed_event *event);

/** Sleeps until there is an event. While a process has the store open for writing and knows of a
    waiter, this takes no time of any processor, but for a look every 20 s; it knows from its own
    feeds at once, and otherwise from when it was opened, its maintenance ran last, or 20 s
    later. Else, and where the file `feed` can be neither written nor made, the log is looked at
    every 1 to 50 ms.
    @param timeout_ns how long at most: 0 only looks, negative waits for ever.
    @return LARDER_OK; ETIMEDOUT; ECANCELED after larder_store_feed_interrupt; LARDER_ECLOSED as
            soon as the store is shut down; as larder_store_feed_next. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_feed_wait(larder_store_feed *feed,
                                                                  int64_t timeout_ns);
/** Ends the wait of another thread, or the next one if none is under way. */
LARDER_API void larder_store_feed_interrupt(larder_store_feed *feed);

/** Notes that a named cursor's consumer is done with everything up to the token: the feed that is
    opened next begins behind it, and the log before it may go. An earlier token than before sets
    the cursor back, as after LARDER_STORE_FEED_REWOUND. It survives the end of the process
    at once. A power cut may take it back, unless `flags` has LARDER_STORE_SYNCED: then events are
    told again.
    @return LARDER_OK; LARDER_EINVALID if the feed has no name, or the token is none;
            LARDER_EREPLACED: another store is in the folder by now; or why the sync failed. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_feed_acknowledge(
    larder_store_feed *feed, const larder_store_token *token, uint32_t flags);

/** A named cursor. */
typedef struct larder_store_feed_cursor {
    char name[33];
    uint8_t name_length;
    /** A feed, in some process, has it. */
    bool is_open;
    uint8_t reserved[5];
    /** What was acknowledged. */
    uint64_t sequence;
    uint64_t max_lag_bytes;
    /** Writes, and bytes of segments, that it has not acknowledged. */
    uint64_t lag_count;
    uint64_t lag_bytes;
} larder_store_feed_cursor;

/** The named cursors of a store.
    @param cursors receives the first `capacity`; may be NULL.
    @param count receives how many there are.
    @return LARDER_OK; EACCES where `feed` cannot be read; or another errno. O(segments). */
LARDER_API LARDER_MUST_CHECK larder_status
larder_store_feed_cursors(larder_store *store, larder_store_feed_cursor *LARDER_NULLABLE cursors,
                          size_t capacity, size_t *count);
/** Deletes a named cursor, which then keeps nothing.
    @return LARDER_OK; LARDER_ENOTFOUND; LARDER_EBUSY: a feed has it; or an errno. */
LARDER_API LARDER_MUST_CHECK larder_status larder_store_feed_cursor_remove(larder_store *store,
                                                                           larder_bytes name);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
