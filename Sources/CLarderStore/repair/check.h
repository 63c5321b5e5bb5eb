// SPDX-License-Identifier: MIT
/** @file store_check.h
    Private: what the deep check's source files share. */
#ifndef LARDER_STORE_CHECK_H
#define LARDER_STORE_CHECK_H

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
    /** Files that entries refer to or that wait for their deletion. */
    spill_files files;
    /** Files from this number on may be newer than what is looked at. */
    uint64_t first_new_file;
    bool is_cut_short;
} store_check;

// store_check_files.c
/** A file that is there for a reason. */
LARDER_MUST_CHECK larder_status check_file_add(store_check *check, const spill_reference *file);
/** The same for those that writes on their way have made; before the state to check is taken. */
LARDER_MUST_CHECK larder_status check_note_files(store_check *check);
/** Counts files that are there for none. */
LARDER_MUST_CHECK larder_status check_files(store_check *check);
LARDER_MUST_CHECK larder_status check_journal(store_check *check);

#endif
