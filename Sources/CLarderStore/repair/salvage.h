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

#include "handle/handle.h"
#include "log/segment.h"

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
    stamp number;
    uint32_t kind;
    /** Where a put's record lies, or lay. */
    uint32_t segment;
    union {
        struct {
            uint64_t offset;
            /** The record. Borrowed from the mappings. */
            const uint8_t *bytes;
        };
        /** FOUND_DAMAGE: its number was less than that. */
        stamp before;
    };
} finding;

typedef struct salvage {
    larder_store_report *report;
    larder_progress progress;
    void *context;
    bool keeps_uncertain;
    uint8_t secret[16];

    /** data.mdb, and its newest state; NULL if it cannot be opened, and `opened` says why. */
    environment *data;
    snapshot *newest;
    larder_status opened;
    /** Of that state; else zeros. */
    store_meta meta;
    /** Of whatever state there is of this store: what its values and keys are. Else zeros. */
    store_meta form;
    /** All of the newest state is sound. */
    bool has_tree;

    /** The log, in the order of numbers, which those with a sound head say themselves. */
    segment **segments;
    size_t segment_count, segment_capacity;
    /** Which store it is of, as data.mdb says, or else the last sound head; 0 without both. */
    uint64_t store_id;
    /** There are segments of another store; of this one, or whose store nobody knows. */
    bool has_foreign, has_own;
    /** The greatest number that a file has or had, as far as it is known. */
    uint32_t last_number;
    /** Number of the last removal of everything. */
    uint64_t cleared;
    /** No write had a greater number. */
    uint64_t last_sequence;
    /** The greatest number that was found, and one in the tree when a segment was cleaned. */
    uint64_t newest_found, newest_cleaned;
    /** Of any key there may have been a record with a number less than that, which is lost. */
    stamp horizon;

    finding *findings;
    size_t count, capacity;
} salvage;

/** Maps data.mdb and the segments, gathers all that they tell, and leaves one put for each entry
    that comes back, in the order of their numbers. What is missing or damaged is fine.
    @param path of the store.
    @return LARDER_OK; LARDER_EFOREIGN, LARDER_EVERSION: there is no store in it; ECANCELED; an
            errno. */
LARDER_MUST_CHECK larder_status larder_salvage_find(salvage *search, const char *path);
/** `stored` stands for the key that `found` is about. */
LARDER_MUST_CHECK larder_status larder_salvage_add(salvage *search, const finding *found,
                                                   larder_bytes key, bool is_stored);
LARDER_MUST_CHECK larder_status larder_salvage_told(salvage *search, uint64_t done, uint64_t total);
/** NULL if it is not there. */
const segment *larder_salvage_segment(const salvage *search, uint32_t number);
/** Ends the mappings, and frees everything. */
void larder_salvage_close(salvage *search);

// salvage_log.c
/** Finds the records of all segments, and what damage there is between them. */
LARDER_MUST_CHECK larder_status larder_salvage_read_log(salvage *search);

// salvage_choose.c
void larder_salvage_choose(salvage *search);

// shrink.c
/** Replaces data.mdb by a copy without its free pages; the store's lock is held, and its log not
    open. On failure, also by a kill, data.mdb is as it was.
    @param progress told of rows; may be NULL.
    @return LARDER_OK; LARDER_EBUSY: somebody reads the store; LARDER_EDAMAGED; ECANCELED; ENOSPC or
            another errno. */
LARDER_MUST_CHECK larder_status larder_store_shrink_index(larder_store *store,
                                                          larder_progress progress, void *context);
// store.c
/** Does that with a store that nobody has open. LARDER_EBUSY if somebody has. */
LARDER_MUST_CHECK larder_status larder_store_shrink(const char *path,
                                                    const larder_store_options *options,
                                                    larder_progress progress, void *context);
/** What whoever mends a store asked for, NULL for the defaults; where that names no permissions,
    with those that the log has. But anybody may write to it only if others are trusted. */
larder_store_options larder_store_repair_options(const char *path,
                                                 const larder_store_options *options);

// rebuild.c
/** Rebuilds data.mdb from the segments and replaces the old one; the store's lock is held, and its
    log not open. On failure, also by a kill, data.mdb is as it was.
    @param loses_nothing nobody asked for it: LARDER_EDAMAGED, too, where the log is damaged, so
           that entries which say that they are would be missing.
    @return LARDER_OK; LARDER_EBUSY: somebody reads the store; as larder_store_rebuild. */
LARDER_MUST_CHECK larder_status larder_store_rebuild_index(larder_store *store, bool loses_nothing,
                                                           larder_progress progress, void *context,
                                                           larder_store_report *report);

#endif
