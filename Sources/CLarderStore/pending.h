// SPDX-License-Identifier: MIT
/** @file pending.h
    Private: where the newest write of each key lies in the journal: a hash table of places in a
    dense array, which is in the order in which the keys came. The store's lock guards it. */
#ifndef LARDER_PENDING_H
#define LARDER_PENDING_H

#include "journal.h"
#include "spill.h"

/** What lies under an entry's write: in the tree, or in the table that is being applied. */
enum { BASE_UNKNOWN = 0, BASE_ABSENT = 1, BASE_PRESENT = 2 };

typedef struct pending_entry {
    uint64_t hash;
    /** In the journal. */
    const uint8_t *op;
    uint64_t sequence;
    uint64_t base_bytes;
    uint32_t minor;
    uint8_t base;
} pending_entry;

typedef struct spill_files {
    spill_reference *items;
    size_t count;
    size_t capacity;
} spill_files;

typedef struct pending_writes {
    pending_entry *entries;
    uint32_t count;
    uint32_t capacity;
    /** Tag in the upper half, place + 1 in the lower; 0 is empty. */
    uint64_t *table;
    uint64_t mask;
    uint64_t seed;
    /** Of the last message that it covers; 0 if there was none. */
    uint64_t last_sequence;
    /** Of the last removal of everything, and the epochs that it ended: their files can go. */
    uint64_t cleared;
    uint32_t ended_from;
    uint32_t ended_to;
    /** Values in files, of all puts that came, also of those replaced since or removed with
        everything: the journal still names them, and ends where one of them is missing. */
    spill_files spills;
    /** Files of puts that were replaced before they came into the tree. */
    spill_files dropped;
    /** When the flusher took over: numbers of files from here on were not announced yet; and those
        that were, and whose put had not come. */
    uint64_t spill_number;
    spill_files intents;
    /** The first so many entries have a known base; what they add to count and bytes. */
    uint32_t resolved;
    int64_t count_delta;
    int64_t bytes_delta;
} pending_writes;

LARDER_MUST_CHECK larder_status pending_create(uint64_t seed, pending_writes **out);
void pending_destroy(pending_writes *pending);
/** Empty again; keeps its memory. */
void pending_reset(pending_writes *pending);

/** Makes room for `count` more entries and files, so that pending_put cannot fail. ENOMEM. */
LARDER_MUST_CHECK larder_status pending_reserve(pending_writes *pending, uint32_t count);
void pending_put(pending_writes *pending, const uint8_t *op, uint64_t sequence, uint32_t minor);
/** Everything before is gone; `epoch` is that of files from now on. */
void pending_clear(pending_writes *pending, uint64_t sequence, uint32_t from_epoch, uint32_t epoch);
/** NULL if there is none. */
pending_entry *pending_find(const pending_writes *pending, larder_bytes key);
/** Says what lies under an entry: the first one whose base is unknown, entries[resolved]. The
    caller counts `resolved` up. */
void pending_resolve(pending_writes *pending, pending_entry *entry, bool is_present,
                     uint64_t bytes);
/** What lay under the entries has changed: evictions. */
void pending_forget_bases(pending_writes *pending);
/** The entries in the order of their keys' bytes; `out` has room for pending->count.
    LSD radix sort by eight bytes behind what all keys share; the rest by comparison. */
LARDER_MUST_CHECK larder_status pending_sort(const pending_writes *pending,
                                             const pending_entry **out);

LARDER_MUST_CHECK larder_status spill_files_reserve(spill_files *list, size_t count);
LARDER_MUST_CHECK larder_status spill_files_add(spill_files *list,
                                                const spill_reference *reference);
void spill_files_free(spill_files *list);

/** Bytes of an op's value; 0 of a removal. */
uint64_t op_value_bytes(const uint8_t *op);
/** The reference to the file of a put; false if its value lies in it, or for a removal. */
bool op_spill(const uint8_t *op, spill_reference *out);

#endif
