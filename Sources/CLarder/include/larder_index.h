// SPDX-License-Identifier: MIT
/** @file larder_index.h
    The bones of a memory cache: a hash index of entries, limits, an order of eviction, deadlines.

    An index holds entries of one fixed size, the payload, whose bytes are the caller's: usually a
    key and a value. It finds them by a hash that the caller computes and a comparison that the
    caller makes, keeps the number and the cost of entries within limits, and says which entry
    has to go. It never looks into a payload.

    An entry is named by its slot, a number. **A slot and a payload's address are valid until the
    next insertion** or the entry's removal, whichever comes first, and only while the index is
    held as below.

    **Threads.** Every call but create and destroy wants the index held: for reading, by any
    number of threads, or for writing, by one. larder_index_read_begin and
    larder_index_write_begin do that; a program with one thread calls them too, they are cheap.
    Readers of different threads write to no common cache line. The lock does not nest.
    **Memory.** All calls but insertion, a change of limits or of deadlines, and listing are free of
    allocation. What the policies remember of entries that are gone is bounded by the limits.

    How it is laid out, and why, is told in index/table.h. */
#ifndef LARDER_INDEX_H
#define LARDER_INDEX_H

#include <stdbool.h>

#include "larder_status.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** One index. Owned by the caller of larder_index_create. */
typedef struct larder_index larder_index;

/** The number of an entry. */
typedef uint32_t larder_index_slot;

/** No entry. As an outcome of a read: a miss. */
#define LARDER_INDEX_NONE ((larder_index_slot)0xFFFFFFFF)
/** As an outcome of a read: neither a hit nor a miss is counted, and no order changes. */
#define LARDER_INDEX_QUIET ((larder_index_slot)0xFFFFFFFE)
/** A limit that nothing reaches. */
#define LARDER_INDEX_UNLIMITED UINT64_MAX
/** A time that never comes. */
#define LARDER_INDEX_NEVER INT64_MAX

/** Which entry goes first. The numbers never change. */
typedef enum larder_index_policy {
    /** The least recently used one, exactly. */
    LARDER_INDEX_LRU = 0,
    /** The one that was inserted first. Reads change nothing. */
    LARDER_INDEX_FIFO = 1,
    /** S3-FIFO (Yang et al., SOSP 2023): three queues; what is read once only goes first. */
    LARDER_INDEX_S3FIFO = 2,
    /** W-TinyLFU (Einziger et al., ACM TOS 2017) with a window whose size two ghost lists adapt.
        With a limit of cost, uses count per cost: many small entries that are used outlast a large
        one that is not, and an entry may be evicted as it comes, see larder_index_evict. */
    LARDER_INDEX_ADAPTIVE = 3
} larder_index_policy;

/** Why an entry went. */
typedef enum larder_index_cause {
    /** The caller removed it. */
    LARDER_INDEX_REMOVED = 0,
    /** The caller stored another value under its key. */
    LARDER_INDEX_REPLACED = 1,
    /** Its deadline passed. */
    LARDER_INDEX_EXPIRED = 2,
    /** For the limit of entries. */
    LARDER_INDEX_EVICTED_COUNT = 3,
    /** For the limit of cost. */
    LARDER_INDEX_EVICTED_COST = 4,
    /** How many causes there are. */
    LARDER_INDEX_CAUSES = 5
} larder_index_cause;

// Creating ----------------------------------------------------------------------------------------

/** How an index is made. Fill with larder_index_options_init, then change what matters. */
typedef struct larder_index_options {
    larder_index_policy policy;
    /** Bytes of a payload, 0 included; at most 1 MiB. */
    size_t payload_bytes;
    /** A power of two, at most 4,096. */
    size_t payload_alignment;
    /** The most entries, and the most cost, that the index may hold when a call returns. */
    uint64_t count_limit;
    uint64_t cost_limit;
    /** Moves one payload to new memory when the index grows; NULL where memcpy does. */
    void (*LARDER_NULLABLE move)(void *target, void *source, void *LARDER_NULLABLE context);
    /** Nanoseconds of a clock that never goes back; NULL for the system's monotonic clock. */
    int64_t (*LARDER_NULLABLE clock)(void *LARDER_NULLABLE context);
    /** Given to `move` and `clock`. */
    void *LARDER_NULLABLE context;
    /** How many threads can read at once without waiting for each other; 0: one for each
        processor. Rounded up to a power of two, at most 64. */
    uint32_t readers;
} larder_index_options;

/** Sets the defaults: adaptive, no limits, payloads of 16 bytes aligned to 8. */
LARDER_API void larder_index_options_init(larder_index_options *options);

/** Makes an empty index.
    @param out receives the index, owned by the caller; NULL on failure.
    @return LARDER_OK; LARDER_EINVALID (payload, alignment or policy out of range), ENOMEM. */
LARDER_API LARDER_MUST_CHECK larder_status larder_index_create(
    const larder_index_options *options, larder_index *LARDER_NULLABLE *LARDER_NONNULL out);

/** Frees the index. NULL is allowed. What the payloads own is the caller's to release first. */
LARDER_API void larder_index_destroy(larder_index *LARDER_NULLABLE index);

// Holding it --------------------------------------------------------------------------------------

/** Holds the index for reading. Waits while a writer has it.
    @return a token for larder_index_read_end. */
LARDER_API uint32_t larder_index_read_begin(larder_index *index);

/** Ends reading. To be called by the thread that began.
    @param token what larder_index_read_begin gave.
    @param outcome the entry that was read (a hit: the policy hears of it), LARDER_INDEX_NONE (a
           miss) or LARDER_INDEX_QUIET (nothing to count). */
LARDER_API void larder_index_read_end(larder_index *index, uint32_t token,
                                      larder_index_slot outcome);

/** Holds the index for writing. Waits for all others. Reads that ended before are in the order of
    eviction now. The index's time is taken here, if any entry has a deadline. */
LARDER_API void larder_index_write_begin(larder_index *index);

/** Ends writing. */
LARDER_API void larder_index_write_end(larder_index *index);

// Finding -----------------------------------------------------------------------------------------

/** Where a search stands. The first two fields are for the caller. */
typedef struct larder_index_probe {
    /** The candidate's payload; NULL when there is no further one. */
    void *LARDER_NULLABLE payload;
    /** The candidate, or LARDER_INDEX_NONE. */
    larder_index_slot slot;
    // Private.
    uint32_t group;
    const void *LARDER_NULLABLE tags;
    uint64_t hash;
    uint32_t segment;
    uint16_t matches;
    uint16_t groups_left;
} larder_index_probe;

/** Finds the first entry that may have this hash. The caller compares keys, and goes on with
    larder_index_next while they differ. Entries whose deadline has passed are not found.
    Costs O(1) expected: 1.0 candidates for a hit, 0.1 for a miss. */
LARDER_API void larder_index_first(larder_index *index, uint64_t hash, larder_index_probe *probe);

/** Goes on to the next candidate. `probe->payload` is NULL when there is none. */
LARDER_API void larder_index_next(larder_index *index, larder_index_probe *probe);

/** Whether a payload is the one with this key. */
typedef bool (*larder_index_equals)(const void *payload, const void *key);

/** Both of the above with a comparison.
    @return the entry, or LARDER_INDEX_NONE. */
LARDER_API larder_index_slot larder_index_find(larder_index *index, uint64_t hash,
                                               larder_index_equals equals, const void *key);

/** For payloads that begin with a `uint64_t`: compares it with the `uint64_t` at `key`. */
LARDER_API bool larder_index_equals_u64(const void *payload, const void *key);
/** For payloads that begin with a `larder_bytes`: compares its bytes with the `larder_bytes` at
    `key`. */
LARDER_API bool larder_index_equals_bytes(const void *payload, const void *key);

/** A hash of an integer that differs from process to process, so that nobody can
    prepare keys that collide. All 64 bits are good. Thread-safe. */
LARDER_API uint64_t larder_index_hash_u64(uint64_t key);
/** The same for bytes. O(length). */
LARDER_API uint64_t larder_index_hash_bytes(const void *LARDER_NULLABLE data, size_t length);

/** larder_index_read_begin and larder_index_first in one call. @return the token. */
LARDER_API uint32_t larder_index_read_first(larder_index *index, uint64_t hash,
                                            larder_index_probe *probe);

/** larder_index_read_end for a hit of the entry that the probe is at: cheaper than with its
    slot. */
LARDER_API void larder_index_read_hit(larder_index *index, uint32_t token,
                                      const larder_index_probe *probe);

/** larder_index_write_begin and larder_index_first in one call.
    @return false; or true if something may be due, and then there was no search:
            larder_index_expire has to say that nothing is left, and larder_index_first to
            follow. */
LARDER_API bool larder_index_write_first(larder_index *index, uint64_t hash,
                                         larder_index_probe *probe);

/** larder_index_insert under the hash that the probe looked for; leaves the probe at the new entry.
    @return as there. */
LARDER_API LARDER_MUST_CHECK larder_status larder_index_write_insert(larder_index *index,
                                                                     uint64_t cost,
                                                                     larder_index_probe *probe);

/** larder_index_expire, larder_index_evict and larder_index_write_end in one call: takes out one
    entry to evict, or releases the index if there is none.
    @param probe is left at the entry, whose payload is to be moved away before the next call.
    @param cause receives why it had to go.
    @return whether there was one; if not, the index is not held any more. */
LARDER_API bool larder_index_write_settle(larder_index *index, larder_index_probe *probe,
                                          larder_index_cause *cause);

/** The payload of an entry. O(1). */
LARDER_API void *larder_index_payload(const larder_index *index, larder_index_slot slot);

// Changing; the index is held for writing ---------------------------------------------------------

/** Adds an entry, most recent, under a hash; its payload is for the caller to fill. Before this,
    larder_index_expire has said that nothing is due and a search that the key is not there; after
    it, larder_index_evict is to be called until it gives LARDER_INDEX_NONE.
    @param cost the entry's weight for the limit of cost.
    @return LARDER_OK; ENOMEM (nothing changed; also when 2^30 entries are there).
    Costs O(1) amortised; at worst a segment of 3,840 entries moves. */
LARDER_API LARDER_MUST_CHECK larder_status larder_index_insert(larder_index *index, uint64_t hash,
                                                               uint64_t cost,
                                                               larder_index_slot *slot);

/** Says that an entry was written again: it counts as used, has a new cost, and the index's own
    expiry from now on. Counts LARDER_INDEX_REPLACED. */
LARDER_API void larder_index_rewrite(larder_index *index, larder_index_slot slot, uint64_t cost);

/** Says that an entry was used. For callers that hold the index for writing while they read. */
LARDER_API void larder_index_touch(larder_index *index, larder_index_slot slot);

/** Takes out an entry. **Its payload stays where it is until the next call** that changes the
    index: this is when the caller moves it away. */
LARDER_API void larder_index_take(larder_index *index, larder_index_slot slot,
                                  larder_index_cause cause);

/** Takes out one entry if a limit is exceeded; as larder_index_take. Pinned entries stay.

    **What was just written** is found afterwards, unless

    - it is heavier than the limit of cost: then it goes, and no other for it;
    - nothing but pinned entries is left beside it;
    - the policy is adaptive, the limit of cost is exceeded, the entry is heavier than the window's
      share (1 % to 90 % of what is there), more than one entry would have to go for it, one of them
      was used again since it was stored, and they have more uses per cost than it has. Then it
      goes. So of 1,000 entries that are used again and again, not 500 go for one of 500 times
      their cost. One that is not much heavier gets in once it was asked for often enough.

    The limits hold when this has given LARDER_INDEX_NONE, whatever the policy.
    @param cause receives which limit it was; may be NULL.
    @return the entry whose payload is to be moved away, or LARDER_INDEX_NONE. O(1) amortised. */
LARDER_API larder_index_slot larder_index_evict(larder_index *index,
                                                larder_index_cause *LARDER_NULLABLE cause);

/** Takes out one entry whose deadline has passed, and the grace after it; as larder_index_take.
    O(log n). */
LARDER_API larder_index_slot larder_index_expire(larder_index *index);

/** Whether larder_index_expire may find something: never false when it would, and true without
    reason at most until it was called, after a deadline was put off. For readers too. O(1). */
LARDER_API bool larder_index_is_due(const larder_index *index);

/** Forgets all entries, whose payloads the caller has moved away, and what the policy remembers.
    Frees the memory unless `keep_capacity`. */
LARDER_API void larder_index_clear(larder_index *index, bool keep_capacity);

/** Sets the limits. larder_index_evict, which must follow, evicts what exceeds them.
    O(n) when the first limit is set, and when the last is lifted: entries of an index without
    limits are in no list, see index/table.h.
    @return LARDER_OK; ENOMEM, and then the limits are as they were. */
LARDER_API LARDER_MUST_CHECK larder_status larder_index_set_limits(larder_index *index,
                                                                   uint64_t count_limit,
                                                                   uint64_t cost_limit);

/** Takes a pinned entry out of the order of eviction, or puts it back. Pinned entries count for the
    limits. @return LARDER_OK; ENOMEM. */
LARDER_API LARDER_MUST_CHECK larder_status larder_index_pin(larder_index *index,
                                                            larder_index_slot slot, bool pinned);

// Deadlines ---------------------------------------------------------------------------------------

/** How long entries live. The earliest of the three counts. */
typedef struct larder_index_expiry {
    /** Nanoseconds after the last write; LARDER_INDEX_NEVER for no such end. 0 and less: at
        once. */
    int64_t after_write_ns;
    /** Nanoseconds after the last read or write. */
    int64_t after_access_ns;
    /** A time of the index's clock. */
    int64_t at_ns;
} larder_index_expiry;

/** Sets the expiry of all entries that have none of their own, those that are there included: their
    lives count from their last write, and `after_access_ns` from now; entries that were written
    while nothing in the index could expire count from now. O(n log n).
    @return LARDER_OK; ENOMEM, and nothing changed. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_index_set_expiry(larder_index *index, const larder_index_expiry *expiry);

/** Gives one entry an expiry of its own, until it is written again; NULL gives it the index's.
    O(log n). @return LARDER_OK; ENOMEM, and nothing changed. */
LARDER_API LARDER_MUST_CHECK larder_status larder_index_set_entry_expiry(
    larder_index *index, larder_index_slot slot, const larder_index_expiry *LARDER_NULLABLE expiry);

/** Keeps entries for so long after their deadlines: then searches of whoever holds the index for
    writing still find them, to tell by larder_index_has_passed, and no others do;
    larder_index_expire takes them out only after it. 0, the default, and less: not at all. To be
    set before the first entry. */
LARDER_API void larder_index_set_grace(larder_index *index, int64_t grace_ns);

/** Whether a time of the index's clock has passed, such as a deadline: to the moment, where
    larder_index_now may be a tick late. The index is held. O(1). */
LARDER_API bool larder_index_has_passed(const larder_index *index, int64_t time);

/** When an entry expires, LARDER_INDEX_NEVER if it does not. O(1). */
LARDER_API int64_t larder_index_deadline(const larder_index *index, larder_index_slot slot);

/** When an entry with a time after access was read or written last, by the index's clock;
    LARDER_INDEX_NEVER if its deadline does not tell. O(1). */
LARDER_API int64_t larder_index_last_use(const larder_index *index, larder_index_slot slot);

/** When the next entry is due to leave, at the earliest; LARDER_INDEX_NEVER if none will be.
    O(1). */
LARDER_API int64_t larder_index_next_deadline(const larder_index *index);

/** The time of the index's clock. Needs no hold. */
LARDER_API int64_t larder_index_now(const larder_index *index);

// Asking ------------------------------------------------------------------------------------------

/** How many entries there are. O(1). */
LARDER_API uint64_t larder_index_count(const larder_index *index);
/** The sum of their costs; UINT64_MAX if it is more. O(1). */
LARDER_API uint64_t larder_index_total_cost(const larder_index *index);
/** What one entry costs. O(1). */
LARDER_API uint64_t larder_index_cost(const larder_index *index, larder_index_slot slot);
/** Whether an entry is pinned. O(1). */
LARDER_API bool larder_index_is_pinned(const larder_index *index, larder_index_slot slot);

/** Orders in which entries can be listed. */
typedef enum larder_index_order {
    /** The one that would go first comes first: for LRU the least recent, for FIFO the oldest. */
    LARDER_INDEX_FIRST_TO_GO = 0,
    /** The other way round. */
    LARDER_INDEX_LAST_TO_GO = 1,
    /** As they lie in memory: the cheapest. */
    LARDER_INDEX_UNORDERED = 2
} larder_index_order;

/** Lists up to `capacity` entries. The index is held for writing. Pinned entries are the last to
    go. O(n), and O(n log n) for an index without limits.
    @return LARDER_OK; ENOMEM. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_index_list(larder_index *index, larder_index_order order,
                  larder_index_slot *LARDER_NULLABLE slots, size_t capacity, size_t *count);

enum {
    /** Entries that one call of larder_index_take_reads looks at. */
    LARDER_INDEX_TAKE_MAX_COUNT = 4096
};

/** Lists entries that were used since this last listed them, by a read or another write, but of
    those that have expired only what larder_index_last_use knows the time of: for a caller that
    keeps an order of use elsewhere. The index is held for
    writing. It may be released between calls: an entry that is moved meanwhile may be listed by the
    next pass only. When the last limit goes, uses so far may be forgotten. O(entries looked at), at
    most LARDER_INDEX_TAKE_MAX_COUNT; no read costs more for it.
    @param from where to go on: LARDER_INDEX_NONE for the beginning; receives LARDER_INDEX_NONE at
           the end.
    @param slots receives up to `capacity` of them, in no order. */
LARDER_API void larder_index_take_reads(larder_index *index, larder_index_slot *from,
                                        larder_index_slot *slots, size_t capacity, size_t *count);

/** Whether an entry was used since larder_index_take_reads listed it last; then it counts as
    listed. The index is held for writing. O(1). */
LARDER_API bool larder_index_take_read(larder_index *index, larder_index_slot slot);

/** When the entry was last used that was taken out last, if larder_index_take_reads would have
    listed it; as larder_index_last_use says. INT64_MIN if it would not. The index is held for
    writing, since it was taken out. O(1). */
LARDER_API int64_t larder_index_left_use(const larder_index *index);

/** What happened so far. */
typedef struct larder_index_statistics {
    uint64_t hits;
    uint64_t misses;
    /** Entries inserted. */
    uint64_t insertions;
    /** Entries that went, by cause. */
    uint64_t gone[LARDER_INDEX_CAUSES];
    /** Bytes of memory the index has, payloads included. */
    uint64_t memory_bytes;
    /** What the hits cost together, each as it was read: with bytes as cost, the bytes that were
        found. */
    uint64_t hit_cost;
} larder_index_statistics;

/** Reads the counters. The index is held for writing. */
LARDER_API void larder_index_get_statistics(const larder_index *index,
                                            larder_index_statistics *statistics);
/** Sets the counters to 0. The index is held for writing. */
LARDER_API void larder_index_reset_statistics(larder_index *index);

/** Walks everything and checks that it agrees: for tests and debugging. The index is held for
    writing. O(n).
    @param reason receives a sentence on the first contradiction, a static string; may be NULL.
    @return LARDER_OK; LARDER_EDAMAGED; ENOMEM. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_index_check(const larder_index *index, const char *LARDER_NULLABLE *LARDER_NULLABLE reason);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
