// SPDX-License-Identifier: MIT
/** @file salvage.h
    Private: what is found in the remains of a store.

    The segments are the whole truth: of each key the record with the greatest number counts. So
    every record in them that is whole becomes a finding, and so does what tells of one that is not:
    a row of the tree, and a damaged record whose key can still be read. Findings are sorted by a
    hash of 128 bits of their stored keys, under a secret drawn for the occasion; then each key is
    decided by itself, see salvage_choose.c. */
#ifndef LARDER_SALVAGE_H
#define LARDER_SALVAGE_H

#include "repair/copy_target.h"

/** The number of a record: of a write, and its place in it. */
typedef struct record_number {
    uint64_t sequence;
    uint32_t minor;
} record_number;

static inline int compare_numbers(record_number a, record_number b) {
    if (a.sequence != b.sequence) return a.sequence < b.sequence ? -1 : 1;
    return (a.minor > b.minor) - (a.minor < b.minor);
}

typedef enum finding_kind {
    FOUND_PUT,
    FOUND_REMOVAL,
    /** A row of the tree. */
    FOUND_ROW,
    /** The same, of a record that is not where the row says, and nor is another of its key. */
    FOUND_LOST_ROW,
    /** A damaged record; its number is what it says itself. */
    FOUND_DAMAGE
} finding_kind;

typedef struct finding {
    uint8_t hash[16];
    record_number number;
    uint32_t kind;
    union {
        /** FOUND_DAMAGE: its number was less than that. */
        record_number before;
        /** Of a put the record; of a row its value. Borrowed from the mappings. */
        larder_bytes bytes;
    };
} finding;

/** One file of the log. */
typedef struct salvage_segment {
    uint32_t number;
    /** SEGMENT_…; 0 if its head is damaged. */
    uint32_t kind;
    /** Something in it may have been written after what a TREE_NEWEST has, from here on; UINT64_MAX
        if nothing can. */
    uint64_t pending_from;
    /** Behind the last record that was believed. */
    uint64_t walked_to;
    uint8_t *map;
    size_t bytes;
} salvage_segment;

/** Bytes of a segment that hold something, but no record that is whole. */
typedef struct salvage_gap {
    uint32_t segment;
    uint64_t from;
    uint64_t to;
} salvage_gap;

/** What data.mdb is good for. */
typedef enum tree_worth {
    TREE_LOST,
    /** Some of its rows can be read. */
    TREE_PARTIAL,
    /** It is sound, but what came after it may be lost. */
    TREE_OLDER,
    TREE_NEWEST
} tree_worth;

typedef struct salvage {
    larder_store_report *report;
    larder_progress progress;
    void *context;
    bool keeps_uncertain;
    uint8_t secret[16];

    // data.mdb
    uint8_t *map;
    size_t map_bytes;
    tree tree;
    tree_worth worth;
    store_meta meta;
    bool has_meta;
    /** Its meta record is of another version. */
    bool is_other_version;
    /** All that was written up to it is in a sound tree, or was removed; 0 without one. */
    uint64_t settled;

    // The log, in the order of numbers.
    salvage_segment *segments;
    size_t segment_count;
    size_t segment_capacity;
    bool has_head;
    salvage_gap *gaps;
    size_t gap_count;
    size_t gap_capacity;
    /** Number of the last removal of everything. */
    uint64_t cleared;
    /** Of any key there may have been a record with a number less than that, which is lost. */
    record_number horizon;

    finding *findings;
    size_t count;
    size_t capacity;
} salvage;

/** Maps data.mdb and the segments, and gathers all that they tell. What is missing or damaged is
    fine. `folder` is the store's. */
LARDER_MUST_CHECK larder_status salvage_find(salvage *search, int folder);
LARDER_MUST_CHECK larder_status salvage_add(salvage *search, const finding *found,
                                            larder_bytes key);
/** Ends the mappings, and frees everything. */
void salvage_close(salvage *search);

// salvage_log.c
/** Finds the records of all segments, and what damage there is between them. */
LARDER_MUST_CHECK larder_status salvage_read_log(salvage *search);
LARDER_MUST_CHECK larder_status salvage_told(salvage *search, uint64_t done, uint64_t total);

// salvage_choose.c
/** Leaves one put for each entry that comes back, in the order of their numbers. */
void salvage_choose(salvage *search);
/** `items` with room for one more. NULL without memory. */
void *salvage_grown(void *items, size_t count, size_t *capacity, size_t item_bytes);

#endif
