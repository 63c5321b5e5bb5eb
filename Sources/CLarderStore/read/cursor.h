// SPDX-License-Identifier: MIT
/** @file cursor.h
    Private: a cursor merges two sources, the tree as a long-held snapshot has it and what was
    pending when it was opened. Both give rows in the order asked for; of a key that both have only
    the pending one counts.

    Order of rows, ascending:
    - by key: stored key;
    - by recency: stamp; whatever is pending is newer than everything in the tree. Without rows of
      order in the tree its entries are gathered when the first is asked for, and sorted by their
      writes, or what reads of them are recorded: 40 bytes an entry;
    - by index: value, then stored key, exactly. Rows of the tree that share a cut value or the
      first bytes of a long key lie in another order there: such a group is read whole, and sorted.
      Memory for it is 72 bytes a row, and nothing for rows whose values have up to 240 bytes and
      keys up to 236. */
#ifndef LARDER_CURSOR_H
#define LARDER_CURSOR_H

#include "read/read.h"

enum {
    QUERY_BOUNDS = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER | LARDER_STORE_LOWER_EXCLUSIVE |
                   LARDER_STORE_UPPER_EXCLUSIVE
};

/** One entry, found at one place of the order. All bytes are borrowed from the snapshot's tree or
    the log, which stay as they are until the cursor is closed. */
typedef struct cursor_row {
    /** What it is found by, in an index's order. */
    larder_bytes value;
    larder_bytes stored;
    /** The record; of a removal that is pending, empty. */
    larder_bytes record;
    /** In the order of use; else 0. */
    stamp at;
    /** Where the record lies, 0 for inline. */
    uint32_t segment;
    /** `record` is what the tree has of the entry, and leads to the record: see
        larder_cursor_resolve. */
    bool is_row;
    bool is_removal;
    /** The record's checksum was seen to agree. */
    bool is_verified;
    /** What leads to the entry names `stored`, and cannot be followed. */
    bool is_damaged;
} cursor_row;

/** A growing array of rows. */
typedef struct row_array {
    cursor_row *items;
    size_t count, capacity;
} row_array;
LARDER_MUST_CHECK larder_status larder_row_array_add(row_array *rows, const cursor_row *row);

/** Where a cursor is in a run: the rows that are still to come. */
typedef struct overlay_place {
    row_run *run;
    uint32_t from, to;
} overlay_place;

/** Entries whose reads are pending, in the order of use; elsewhere none. */
typedef struct touched_rows {
    bool counts;
    touch_buffer buffer;
    row_array by_key, ordered;
    size_t given;
} touched_rows;

/** What was pending. */
typedef struct overlay {
    /** Of the active and the frozen memtable; NULL where there is nothing. */
    write_rows *writes[2];
    /** The newest first. */
    row_run *by_key[2 * ROW_RUNS_MAX];
    size_t by_key_count;
    /** In the cursor's order; likewise. */
    overlay_place places[2 * ROW_RUNS_MAX];
    size_t place_count;
    touched_rows touched;
    /** How many writes of each the cursor sees. */
    uint32_t until[2];
    /** Everything was removed, and that is pending: all entries of the tree are gone. */
    bool hides_tree;
    /** Writes up to this one are in the tree, and do not count here. */
    uint64_t applied;
    /** The next row was found: of a write, or of a read if `next` is NULL. */
    bool has_row;
    const write_row *next;
    cursor_row row;
    size_t given;
} overlay;

/** An entry of the tree, for an order that the tree does not have. */
typedef struct gathered_row {
    stamp at;
    const uint8_t *stored;
    const uint8_t *row;
    uint16_t stored_bytes;
    uint16_t row_bytes;
} gathered_row;

enum { AHEAD_MAX_COUNT = 16 };
/** What the tree has of the entry that a row of an index leads to by that stored key; NULL: it was
    not found yet. */
typedef struct ahead_row {
    const uint8_t *stored;
    larder_bytes row;
} ahead_row;

/** The entries of the index's next rows, if they have been looked for. */
typedef struct ahead_rows {
    ahead_row rows[AHEAD_MAX_COUNT];
    uint32_t count, next;
    /** How many have been looked for since the first row of the range. */
    uint64_t given;
} ahead_rows;

/** The place in the tree. */
typedef struct tree_rows {
    tree_cursor cursor;
    bool is_placed;
    /** The last key that was read; NULL before the first. */
    larder_bytes last;
    bool has_ended;
    /** By recency, without rows of order: every entry, sorted. */
    gathered_row *gathered;
    size_t gathered_count, gathered_capacity;
    /** By index: the group at hand, sorted. */
    row_array group;
    /** How many of the group's or the gathered rows have been given. */
    size_t given;
    /** Rows of them that cannot be read, and were not told of yet. */
    size_t damaged;
    /** The cursor is at the row behind the group already. */
    bool is_ahead;
    ahead_rows ahead;
    /** The leaf of which the next records were asked for. */
    uint64_t asked_page;
} tree_rows;

struct larder_store_cursor {
    larder_store *store;
    snapshot *place;
    /** The newest write that it shows. */
    feed_place newest;
    /** A bound that was not given is empty. */
    larder_store_query query;
    bool descends;
    /** Where the bytes of bounds and prefix lie. */
    uint8_t *copies;
    /** All of the tree's rows in the range have keys from `start` on and below `end`. The other way
        round that holds but for what an index has under a cut value, and for a prefix that is
        longer than a stored key. */
    tree_key start, end;
    /** It holds for everything. */
    bool has_exact_range;
    overlay pending;
    tree_rows tree;
    cursor_row tree_row;
    bool has_tree_row;
};

// cursor_rows.c
/** The row of the entry with that stored key.
    @return LARDER_OK; LARDER_ENOTFOUND; LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_cursor_find_entry(const larder_store_cursor *cursor,
                                                         larder_bytes stored, cursor_row *row);
/** Where a row lies, as far as the cursor's order tells, by key or in an index: 0 in the range
    asked for, -1 before it, 1 behind it. */
int larder_cursor_side(const larder_store_cursor *cursor, larder_bytes value, larder_bytes stored);
/** The same for a key or a value in an index by itself, by the bounds and the prefix alone. */
int larder_query_side(const larder_store_query *query, larder_bytes value);
/** Finds the record that a row's `record` leads to, if it is not the record yet.
    @return as larder_log_row. */
LARDER_MUST_CHECK larder_status larder_cursor_resolve(const larder_store_cursor *cursor,
                                                      cursor_row *row);
/** Order of two rows, ascending. */
int larder_cursor_compare(const void *a, const void *b);
/** Sorts by that, and drops all but one of equal rows. */
void larder_cursor_sort(row_array *rows);
/** Adds a row for each different value by which `entry` is found in the cursor's index, if it has
    `form`, escaped; if that is empty, for it is no row of the tree: if it lies in the range. */
LARDER_MUST_CHECK larder_status larder_cursor_expand(const larder_store_cursor *cursor,
                                                     const record *entry, larder_bytes form,
                                                     const cursor_row *row, row_array *rows);

// cursor_bounds.c
/** The stored key that a row of SPACE_INDEX leads to. LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_cursor_index_row(const larder_store_cursor *cursor,
                                                        larder_bytes key, larder_bytes value,
                                                        larder_bytes *stored);
/** Whether the row at a place beside a bound is what it says, as far as can be told.
    @return LARDER_OK; LARDER_EDAMAGED: rows of the range may be missing. O(log n). */
LARDER_MUST_CHECK larder_status larder_cursor_prove(const larder_store_cursor *cursor,
                                                    const tree_cursor *at);
/** The same for the row on the other side of a bound, as seen from a row on the one side.
    @param at that row; NULL if there is none.
    @param is_before it is the last row below the bound, or else the first one from it on. */
LARDER_MUST_CHECK larder_status larder_cursor_prove_beside(const larder_store_cursor *cursor,
                                                           const tree_key *bound,
                                                           const tree_cursor *at, bool is_before);

// cursor_overlay.c
/** Takes the cursor's place, and what was pending then. */
LARDER_MUST_CHECK larder_status larder_overlay_take(larder_store_cursor *cursor);
/** Takes the same again for another order. */
LARDER_MUST_CHECK larder_status larder_overlay_retake(larder_store_cursor *cursor);
void larder_overlay_free(overlay *over);
/** Begins again with the first row of the range, which has to be known. O(log n). */
void larder_overlay_rewind(larder_store_cursor *cursor);
/** At most so many rows are still to come. */
size_t larder_overlay_count(const larder_store_cursor *cursor);
/** The next row in the cursor's order, with removals if that is by key; NULL if there is none. */
cursor_row *larder_overlay_peek(larder_store_cursor *cursor);
/** Goes behind the row that was peeked at, which stays as it is until the next peek. */
void larder_overlay_step(larder_store_cursor *cursor);
/** The newest pending write of a key; NULL if there is none that the tree does not have. */
const write_row *larder_overlay_find(const larder_store_cursor *cursor, larder_bytes stored);

// cursor_touched.c
/** Looks whether reads count in the cursor's order. If so, those that are pending in readers'
    buffers go to where they are copied from, but for buffers in use. */
void larder_touched_gather(larder_store_cursor *cursor);
/** Copies them; the pending lock is held. */
LARDER_MUST_CHECK larder_status larder_touched_copy(larder_store_cursor *cursor);
LARDER_MUST_CHECK larder_status larder_touched_sort(larder_store_cursor *cursor);
void larder_touched_free(touched_rows *rows);
/** Where the tree has an entry in the order of use. */
stamp larder_touched_in_tree(const larder_store_cursor *cursor, larder_bytes stored,
                             const entry_row *row);
/** Whether a read moves the entry away from that place in the order. */
bool larder_touched_hides(const larder_store_cursor *cursor, larder_bytes stored, stamp at);
/** The next read; NULL if there is none. */
const cursor_row *larder_touched_next(const larder_store_cursor *cursor);
/** Whether the entry is there, and was not written later. If so, it is filled in. */
bool larder_touched_row(const larder_store_cursor *cursor, const cursor_row *read, cursor_row *out);

/** The row of a stored key among rows that are sorted by them; NULL if there is none. */
const cursor_row *larder_rows_find(const row_array *rows, larder_bytes stored);

// cursor_ahead.c
/** Looks for the entries of the rows of an index from the cursor's place on. */
void larder_ahead_look(larder_store_cursor *cursor);
/** Whether the entry to which a row leads by `stored`, as it lies in the tree, was found. Rows have
    to be asked for in their order. */
bool larder_ahead_take(ahead_rows *ahead, larder_bytes stored, larder_bytes *row);

// cursor_tree.c
/** The tree's next row in the range. That no pending write replaces it is seen to here but by key,
    where both sources have the same order.
    @return LARDER_OK; LARDER_END; LARDER_EDAMAGED: a row was skipped; ENOMEM. */
LARDER_MUST_CHECK larder_status larder_tree_rows_next(larder_store_cursor *cursor, cursor_row *row);
/** Forgets where it is: the next row is the first of the range. */
void larder_tree_rows_restart(tree_rows *rows);
void larder_tree_rows_free(tree_rows *rows);
/** Fills in `start`, `end` and `has_exact_range`. */
void larder_cursor_set_range(larder_store_cursor *cursor);
/** As larder_store_cursor_next. `found` and `bytes` receive the record, borrowed until the cursor
    is closed. For copies of a store. */
LARDER_MUST_CHECK larder_status larder_cursor_next_record(larder_store_cursor *cursor,
                                                          record *found, larder_bytes *bytes,
                                                          larder_store_entry *entry);
#endif
