// SPDX-License-Identifier: MIT
/** @file memtable.h
    Private: where the newest write of each key lies in the log: a hash table of places in a dense
    array, which is in the order in which the keys came. The pending lock guards it. */
#ifndef LARDER_MEMTABLE_H
#define LARDER_MEMTABLE_H

#include "log/segment.h"
#include "log/write_rows.h"

typedef struct memtable_entry {
    /** In a segment's mapping. */
    const uint8_t *record;
    uint32_t segment;
    /** What lies under it, once that is known: bytes of the value there + 1, 0 if there is none. */
    uint32_t base;
} memtable_entry;

typedef struct memtable {
    memtable_entry *entries;
    uint32_t count, capacity;
    /** Tag in the upper half, place + 1 in the lower; 0 is empty. A tag's low bits are where its
        search begins. */
    uint64_t *table;
    uint64_t mask;
    /** Of the last write that it covers, 0 if there was none; and where the log goes on behind. */
    uint64_t last_sequence;
    location end;
    /** What that segment had in it then. */
    uint64_t end_record_count, end_bare_count;
    /** Where its first write lies; 0 if there was none. */
    uint32_t first_segment;
    /** Bytes of all records that came, replaced ones too. */
    uint64_t bytes;
    /** What the rows of its entries may take in the tree, as far as the records tell. */
    uint64_t row_bytes;
    /** Of the last removal of everything; 0 if there was none. */
    uint64_t cleared;
    /** Of so many entries, the first ones, it is known what lies under them; and what they add to
        that, or take away. */
    uint32_t resolved;
    int64_t count_delta, bytes_delta;
    /** For cursors; NULL before the first that came since it was emptied, or since keys were
        written again so often that another look at the entries costs less. */
    write_rows *rows;
} memtable;

LARDER_MUST_CHECK larder_status larder_memtable_create(memtable **out);
void larder_memtable_destroy(memtable *table);
/** Forgets everything. */
void larder_memtable_reset(memtable *table);
/** Room for `count` more entries, so that larder_memtable_put cannot fail. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_memtable_reserve(memtable *table, uint32_t count);
/** `count` records lie at `records`, one behind the other, and will be put: a large table is in no
    cache of the processor. */
void larder_memtable_prefetch(const memtable *table, const uint8_t *records, uint32_t count);
/** A write is there; `record` is a put or a removal. */
void larder_memtable_put(memtable *table, const uint8_t *record, uint32_t segment);
/** Everything before is gone. */
void larder_memtable_clear(memtable *table, uint64_t sequence);
/** Moves what is in `later`, which was written behind it, into `table`. ENOMEM: nothing has
    changed. */
LARDER_MUST_CHECK larder_status larder_memtable_merge(memtable *table, memtable *later);
/** Keys, and one for a removal of everything. */
static inline uint32_t memtable_pending(const memtable *table) {
    return table->count + (table->cleared != 0 ? 1 : 0);
}
/** NULL if there is none. */
const memtable_entry *larder_memtable_find(const memtable *table, larder_bytes key);
/** The writes for cursors, held for the caller, with stored keys that are made with that secret.
    ENOMEM. O(1), O(entries) for the first. */
LARDER_MUST_CHECK larder_status larder_memtable_rows(memtable *table, const uint8_t secret[16],
                                                     write_rows **out);
/** Says what lies under entries[resolved], the first one of which that is not known: `bytes` of a
    value if it is present. Counts `resolved` up. */
void larder_memtable_resolve(memtable *table, bool is_present, uint64_t bytes);
/** What lay under the entries has changed: evictions. */
void larder_memtable_forget_bases(memtable *table);

/** A write or a record to be moved by cleaning, with the first bytes of its key to sort by. */
typedef struct sorted_write {
    uint64_t digits;
    const uint8_t *record;
    uint32_t segment;
    /** Which victim of cleaning it was found in, from 1: it moves if it is still the one that
        counts. 0 for a write. */
    uint32_t victim;
} sorted_write;

/** Sorts by the bytes of keys; of one key, writes come before moves. LSD radix sort by eight bytes
    behind what all keys share, the rest by comparison. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_sorted_writes_sort(sorted_write *writes, uint32_t count);

#endif
