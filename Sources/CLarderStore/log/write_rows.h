// SPDX-License-Identifier: MIT
/** @file write_rows.h
    Private: a memtable's writes in the orders that cursors ask for. Nothing of it is there before a
    cursor asks, so a store that is only read by key has no part of it.

    From then on each write is noted, in the order in which they came. Whoever opens a cursor sorts
    those that came since the last one did, as a run, and merges that with runs that are not much
    larger: the last stage of a log-structured merge tree (O'Neil et al., 1996), in memory. So a
    write costs O(log n) for each order that is asked for, and a cursor shares sorted runs, which
    never change, with those before it. Of the writes of one key all runs may have one each: the
    newest counts. */
#ifndef LARDER_WRITE_ROWS_H
#define LARDER_WRITE_ROWS_H

#include "format/record.h"

enum {
    /** A run is merged with the one before it that has less than so many times its rows… */
    ROW_RUN_RATIO = 8,
    /** …so there are never more of them: 8 to this power is more than a memtable can have. */
    ROW_RUNS_MAX = 12
};

/** One write, as a row of an order. */
typedef struct write_row {
    /** While rows are sorted: some bytes of what they are sorted by. */
    uint64_t digits;
    /** In an index: what the entry is found by. */
    larder_bytes value;
    larder_bytes stored;
    const uint8_t *record;
    uint32_t segment;
} write_row;

/** Rows in their order; by key with removals, and each key once. */
typedef struct row_run {
    _Atomic uint32_t holders;
    uint32_t count;
    write_row rows[];
} row_run;

/** What rows are sorted by: the stored key; the write itself; or a value of that index, then the
    stored key. */
typedef struct row_order {
    enum { ROWS_BY_KEY, ROWS_BY_WRITE, ROWS_BY_INDEX } by;
    uint16_t index;
} row_order;

typedef struct write_rows write_rows;

/** None yet. Holds it once. NULL without memory. */
write_rows *larder_write_rows_create(const uint8_t secret[16]);
/** Whether stored keys were made with that secret. */
bool larder_write_rows_has_secret(const write_rows *rows, const uint8_t secret[16]);
void larder_write_rows_hold(write_rows *rows);
/** NULL is allowed. */
void larder_write_rows_release(write_rows *rows);
/** A write came. The pending lock is held. ENOMEM: it is of no use any more. */
LARDER_MUST_CHECK larder_status larder_write_rows_add(write_rows *rows, const uint8_t *at,
                                                      uint32_t segment);
/** How many were added. The pending lock is held. */
uint32_t larder_write_rows_count(const write_rows *rows);
/** The first `until` writes in an order. Calls for one store exclude each other.
    @param runs has room for ROW_RUNS_MAX, and receives `count` of them, the newest first, each to
    be released. ENOMEM: there are none. O(n log n) for the n writes since the last call; for all of
    them if that one was given a later `until`. */
LARDER_MUST_CHECK larder_status larder_write_rows_sorted(write_rows *rows, row_order order,
                                                         uint32_t until, row_run **runs,
                                                         size_t *count);
void larder_row_run_release(row_run *run);
/** Order of two rows, ascending, in that of `order`. */
int larder_write_row_compare(row_order order, const write_row *a, const write_row *b);

#endif
