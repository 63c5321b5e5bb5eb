// SPDX-License-Identifier: MIT
/** @file check.h
    Private: what the deep check's source files share. */
#ifndef LARDER_CHECK_H
#define LARDER_CHECK_H

#include "read/cursor.h"

enum { ROW_ORDER, ROW_RECENCY, ROW_EXPIRY, ROW_INDEX, ROW_KINDS };

typedef struct store_check {
    larder_store *store;
    larder_store_cursor *cursor;
    const tree *tree;
    const store_meta *meta;
    larder_store_report *report;
    larder_progress progress;
    void *context;
    uint64_t done;
    uint64_t tree_count;
    uint64_t tree_bytes;
    /** Rows that entries said must be there, and are. */
    uint64_t rows[ROW_KINDS];
    /** Segments as the tree has them, and what entries said is alive in them. */
    live_table segments;
    live_table found;
    /** Writes with a greater number came while the check was at work. */
    uint64_t last_sequence;
    bool is_cut_short;
} store_check;

// check_log.c
/** A row of SPACE_SEGMENT; in the tree they come before the entries. */
LARDER_MUST_CHECK larder_status check_segment_row(store_check *check, larder_bytes key,
                                                  larder_bytes value);
/** An entry's record of `length` bytes is alive in `segment`. */
LARDER_MUST_CHECK larder_status check_segment_use(store_check *check, uint32_t number,
                                                  size_t length);
/** Compares the segments with their rows; the entries were counted if `is_complete`. */
LARDER_MUST_CHECK larder_status check_segments(store_check *check, bool is_complete);
/** The log behind what the tree has. */
LARDER_MUST_CHECK larder_status check_pending_log(store_check *check);
/** Counts segments that are there for no reason: not for a handle that only reads, which cannot
    tell what its writer still keeps, or a killed one left. */
LARDER_MUST_CHECK larder_status check_files(store_check *check);

#endif
