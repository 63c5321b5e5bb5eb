// SPDX-License-Identifier: MIT
/** @file salvage.h
    Private: what is found in the remains of a store.

    The segments are the whole truth: of each key the record with the greatest number counts. So
    every record in them that is whole becomes a finding, and so does a damaged one whose key can
    still be read. If data.mdb is sound it tells what became of the writes that are in it, and each
    of its rows becomes a finding too; else nothing in it is believed but its meta record. Findings
    are sorted by a hash of 128 bits of their stored keys, under a secret drawn for the occasion;
    then each key is decided by itself, see salvage_choose.c. */
#ifndef LARDER_SALVAGE_H
#define LARDER_SALVAGE_H

#include "log/segment.h"
#include "store/store_internal.h"

/** The number of a record: of a write, and its place in it. */
typedef struct record_number {
    uint64_t sequence;
    uint32_t minor;
} record_number;

static inline int compare_numbers(record_number a, record_number b) {
    if (a.sequence != b.sequence) return a.sequence < b.sequence ? -1 : 1;
    return (a.minor > b.minor) - (a.minor < b.minor);
}

/** Of one number the last in this order counts. Cleaning leaves a removal in the place of a put
    that was evicted; a put that lives must never lose to it. */
typedef enum finding_kind {
    /** The tree has a row for the key. */
    FOUND_ROW,
    /** A record that is lost; its number is what it says itself. */
    FOUND_DAMAGE,
    FOUND_REMOVAL,
    /** A put that only lies in its row any more. */
    FOUND_INLINED,
    FOUND_PUT
} finding_kind;

typedef struct finding {
    uint8_t hash[16];
    record_number number;
    uint32_t kind;
    union {
        /** Of a put the record, or the row that it lies in. Borrowed from the mappings. */
        struct {
            uint32_t segment;
            const uint8_t *bytes;
        };
        /** FOUND_DAMAGE: its number was less than that. */
        record_number before;
    };
} finding;

typedef struct salvage {
    larder_store_report *report;
    larder_progress progress;
    void *context;
    bool keeps_uncertain;
    uint8_t secret[16];

    // data.mdb
    uint8_t *map;
    size_t map_bytes;
    store_meta meta;
    bool has_meta;
    /** Its meta record is of another version. */
    bool is_other_version;
    /** The newest state of the tree, if it is sound. */
    tree tree;
    bool has_tree;

    /** The log, in the order of numbers; of kind 0 are those with a damaged head. */
    segment **segments;
    size_t segment_count;
    size_t segment_capacity;
    /** Which store it is of, as the last sound head says; 0 without one. */
    uint64_t store_id;
    /** There are segments of another store, too. */
    bool has_foreign;
    /** The greatest number that a file has, also one of which nothing is left. */
    uint32_t last_number;
    /** Number of the last removal of everything. */
    uint64_t cleared;
    /** No write had a greater number. */
    uint64_t last_sequence;
    /** Of any key there may have been a record with a number less than that, which is lost. */
    record_number horizon;

    finding *findings;
    size_t count;
    size_t capacity;
} salvage;

/** Maps data.mdb and the segments, gathers all that they tell, and leaves one put for each entry
    that comes back, in the order of their numbers. What is missing or damaged is fine.
    @param folder is the store's.
    @return LARDER_OK; LARDER_EFOREIGN, LARDER_EVERSION: there is no store in it; ECANCELED; an
            errno. */
LARDER_MUST_CHECK larder_status salvage_find(salvage *search, int folder);
/** `stored` stands for the key that `found` is about. */
LARDER_MUST_CHECK larder_status salvage_add(salvage *search, const finding *found, larder_bytes key,
                                            bool is_stored);
LARDER_MUST_CHECK larder_status salvage_told(salvage *search, uint64_t done, uint64_t total);
/** NULL if it is not there. */
const segment *salvage_segment(const salvage *search, uint32_t number);
/** The record of a put that was found, and where it lies, or lay. */
const uint8_t *salvage_record(const salvage *search, const finding *put, location *at);
/** Ends the mappings, and frees everything. */
void salvage_close(salvage *search);

// salvage_log.c
/** Finds the records of all segments, and what damage there is between them. */
LARDER_MUST_CHECK larder_status salvage_read_log(salvage *search);

// salvage_choose.c
void salvage_choose(salvage *search);

// rebuild.c
/** Makes data.mdb anew from the segments, and puts it in the place of what is there; the store's
    lock is held, and its log not open. On failure, also by a kill, data.mdb is as it was.
    @return LARDER_OK; LARDER_EBUSY: somebody reads the store; as larder_store_rebuild. */
LARDER_MUST_CHECK larder_status store_rebuild(larder_store *store, larder_progress progress,
                                              void *context, larder_store_report *report);

#endif
