// SPDX-License-Identifier: MIT
/** @file cursor_tree.c
    A cursor's rows as the snapshot's tree has them.

    The tree's own order is that of a cursor, but for groups in an index: rows that share a cut
    value (it ends by 00 02), and rows of one value whose keys share their first 237 bytes. Each
    kind is one run of tree keys that begin alike, so a group is read from its first row to the
    first that begins otherwise. */
#include "pages/tree_page.h"
#include "read/cursor.h"

// The range ---------------------------------------------------------------------------------------

/** What all keys of the range begin with. */
static void range_prefix(const larder_store_cursor *cursor, tree_key *key) {
    larder_bytes prefix = cursor->query.prefix;
    if (cursor->query.order == LARDER_STORE_BY_INDEX) {
        larder_tree_key_index_prefix(cursor->query.index, prefix, key);
        return;
    }
    // In the order of use without rows of it, all entries are gathered, and sorted.
    bool is_by_key = cursor->query.order == LARDER_STORE_BY_KEY;
    bool has_rows = !is_by_key && cursor->place->meta.has_order;
    if (!is_by_key) prefix.length = 0;
    if (prefix.length > KEY_WHOLE_MAX_BYTES) prefix.length = KEY_WHOLE_MAX_BYTES;
    larder_tree_key_of_stored(has_rows ? SPACE_ORDER : SPACE_ENTRY, prefix, key);
}

/** Whether the tree's rows have only the beginning of such a key or value of an index. */
static bool has_cut_form(const larder_store_cursor *cursor, larder_bytes value) {
    if (cursor->query.order != LARDER_STORE_BY_INDEX) return value.length > KEY_WHOLE_MAX_BYTES;
    tree_key key;
    size_t form_bytes;
    bool is_shorter = true;
    larder_tree_key_index(0, value, NULL, NULL, &key);
    (void)larder_tree_key_index_value(bytes_of_key(&key), &form_bytes, &is_shorter);
    return is_shorter;
}

/** The least tree key of a bound's rows, or the least one behind them all. */
static void bound_key(const larder_store_cursor *cursor, larder_bytes bound, bool is_behind,
                      tree_key *key) {
    bool is_index = cursor->query.order == LARDER_STORE_BY_INDEX;
    bool is_cut = !is_index && has_cut_form(cursor, bound);
    if (is_cut) bound.length = KEY_WHOLE_MAX_BYTES;
    if (is_index) larder_tree_key_index(cursor->query.index, bound, NULL, NULL, key);
    else larder_tree_key_of_stored(SPACE_ENTRY, bound, key);
    if (!is_behind) return;
    // In an index these are all that begin so. Never false: the first byte of a key is never 0xFF.
    if (is_index || is_cut) larder_tree_key_after_prefix(key);
    else key->bytes[key->length++] = 0;
}

void larder_cursor_set_range(larder_store_cursor *cursor) {
    // What is greater or less than a cut bound may share its form.
    bool has_cut_lower = has_cut_form(cursor, cursor->query.lower);
    bool has_cut_upper = has_cut_form(cursor, cursor->query.upper);
    bool has_cut_prefix = has_cut_form(cursor, cursor->query.prefix);
    cursor->has_exact_range = !has_cut_lower && !has_cut_upper && !has_cut_prefix;
    range_prefix(cursor, &cursor->start);
    cursor->end = cursor->start;
    larder_tree_key_after_prefix(&cursor->end);
    tree_key bound;
    if (cursor->query.flags & LARDER_STORE_HAS_LOWER) {
        bool is_behind = (cursor->query.flags & LARDER_STORE_LOWER_EXCLUSIVE) && !has_cut_lower;
        bound_key(cursor, cursor->query.lower, is_behind, &bound);
        if (compare_bytes(bytes_of_key(&bound), bytes_of_key(&cursor->start)) > 0)
            cursor->start = bound;
    }
    if (cursor->query.flags & LARDER_STORE_HAS_UPPER) {
        bool is_behind = !(cursor->query.flags & LARDER_STORE_UPPER_EXCLUSIVE) || has_cut_upper;
        bound_key(cursor, cursor->query.upper, is_behind, &bound);
        if (compare_bytes(bytes_of_key(&bound), bytes_of_key(&cursor->end)) < 0)
            cursor->end = bound;
    }
}

/** Moves to the first row between `start` and `end`, or to the next one. */
static larder_status tree_move(larder_store_cursor *cursor) {
    tree_rows *rows = &cursor->tree;
    const tree *state = &cursor->place->tree;
    bool is_ahead = rows->is_ahead;
    rows->is_ahead = false;
    if (is_ahead) return LARDER_OK;
    if (rows->is_placed)
        return cursor->descends ? larder_tree_cursor_previous(&rows->cursor)
                                : larder_tree_cursor_next(&rows->cursor);
    rows->is_placed = true;
    const tree_key *first = cursor->descends ? &cursor->end : &cursor->start;
    larder_bytes bound = bytes_of_key(first);
    larder_status status = cursor->descends
                               ? larder_tree_cursor_seek_back(&rows->cursor, state, bound)
                               : larder_tree_cursor_seek(&rows->cursor, state, bound);
    if (status && status != LARDER_END) return status;
    const tree_cursor *at = status ? NULL : &rows->cursor;
    if (!larder_cursor_prove_beside(cursor, first, at, !cursor->descends)) return status;
    rows->is_ahead = !status;
    return LARDER_EDAMAGED;
}

/** The next row between `start` and `end`.
    LARDER_EDAMAGED: something was skipped. */
static larder_status tree_step(larder_store_cursor *cursor, larder_bytes *key, larder_bytes *row) {
    larder_bytes start = bytes_of_key(&cursor->start), end = bytes_of_key(&cursor->end);
    larder_bytes last = cursor->tree.is_ahead ? (larder_bytes){NULL, 0} : cursor->tree.last;
    larder_status status = tree_move(cursor);
    if (!status) status = larder_tree_cursor_get(&cursor->tree.cursor, key, row);
    if (status) return status;
    cursor->tree.last = *key;
    bool is_before = compare_bytes(*key, start) < 0, is_behind = compare_bytes(*key, end) >= 0;
    // Behind the last row, as the cursor goes, lies none but what a damaged page has there.
    if (last.data &&
        (cursor->descends ? compare_bytes(*key, last) : compare_bytes(last, *key)) >= 0)
        return LARDER_EDAMAGED;
    if (!is_before && !is_behind) return LARDER_OK;
    // Nor on the other side of the range.
    if (is_before != cursor->descends) return LARDER_EDAMAGED;
    status = larder_cursor_prove(cursor, &cursor->tree.cursor);
    return status ? status : LARDER_END;
}

// Rows that lead to an entry ----------------------------------------------------------------------

/** The entry that a row leads to, by the stored key that is its value. */
static larder_status row_follow(larder_store_cursor *cursor, cursor_row *row) {
    row->is_row = true;
    if (larder_ahead_take(&cursor->tree.ahead, row->stored, &row->record)) return LARDER_OK;
    larder_status status = larder_cursor_find_entry(cursor, row->stored, row);
    return status == LARDER_ENOTFOUND ? LARDER_EDAMAGED : status;
}

/** The entry that a row of the order of use leads to. It must have its place there, or it would be
    given twice, and that to which the row belongs not at all. */
static larder_status order_follow(larder_store_cursor *cursor, cursor_row *row) {
    entry_row entry;
    larder_status status = row_follow(cursor, row);
    if (!status) status = larder_row_read(row->record, &entry);
    if (status) return status;
    // In the midst of a large checkpoint the newest entries have the place that they had before.
    if (entry.sequence > cursor->place->meta.applied) return LARDER_OK;
    stamp at = larder_touched_in_tree(cursor, row->stored, &entry);
    return compare_stamps(at, row->at) == 0 ? LARDER_OK : LARDER_EDAMAGED;
}

/** Follows one row of an index, and adds what it stands for to the group. LARDER_EDAMAGED. */
static larder_status group_follow(larder_store_cursor *cursor, larder_bytes key, cursor_row row) {
    larder_status status = row_follow(cursor, &row);
    record entry;
    if (!status) status = larder_cursor_resolve(cursor, &row);
    if (!status) status = larder_record_read(row.record, true, &entry);
    size_t form_bytes;
    bool is_cut;
    if (!status && !larder_tree_key_index_value(key, &form_bytes, &is_cut))
        status = LARDER_EDAMAGED;
    if (status) return status;
    larder_bytes form = {(const uint8_t *)key.data + INDEX_HEAD_BYTES, form_bytes};
    size_t before = cursor->tree.group.count;
    status = larder_cursor_expand(cursor, &entry, form, &row, &cursor->tree.group);
    // A row that its entry knows nothing of.
    return !status && cursor->tree.group.count == before ? LARDER_EDAMAGED : status;
}

/** Adds one row of an index to the group; nothing, if a pending write replaces it. */
static larder_status group_add(larder_store_cursor *cursor, larder_bytes key, larder_bytes value) {
    cursor_row row = {.is_verified = true};
    larder_status status = larder_cursor_index_row(cursor, key, value, &row.stored);
    if (!status && larder_overlay_find(cursor, row.stored)) return LARDER_OK;
    if (!status) status = group_follow(cursor, key, row);
    row.is_damaged = status == LARDER_EDAMAGED;
    return row.is_damaged ? larder_row_array_add(&cursor->tree.group, &row) : status;
}

/** What the keys of the group begin with that `key` belongs to; false if it is alone. */
static bool group_head(larder_bytes key, larder_bytes *head) {
    size_t form_bytes;
    bool is_cut;
    *head = key;
    if (!larder_tree_key_index_value(key, &form_bytes, &is_cut)) return false;
    size_t head_bytes = INDEX_HEAD_BYTES + form_bytes;
    if (!is_cut) head_bytes += INDEX_KEY_CUT_BYTES;
    if (key.length < head_bytes) return false;
    head->length = head_bytes;
    return true;
}

/** Reads a group. `rows->damaged` counts the rows in it of which nothing is known. */
static larder_status group_fill(larder_store_cursor *cursor) {
    tree_rows *rows = &cursor->tree;
    rows->group.count = rows->given = 0;
    larder_bytes key, value, head;
    larder_status status = tree_step(cursor, &key, &value);
    if (status) return status;
    bool is_open = group_head(key, &head);
    if (rows->ahead.next == rows->ahead.count) larder_ahead_look(cursor);
    while (!status) {
        larder_status added = group_add(cursor, key, value);
        if (added) return added;
        if (!is_open) break;
        do {
            status = tree_step(cursor, &key, &value);
            if (status == LARDER_EDAMAGED) rows->damaged++;
        } while (status == LARDER_EDAMAGED);
        if (!status && !begins_with(key, head)) {
            rows->is_ahead = true;
            break;
        }
    }
    if (status == LARDER_END) rows->has_ended = true;
    larder_cursor_sort(&rows->group);
    return LARDER_OK;
}

// Rows of no order --------------------------------------------------------------------------------

static larder_status gathered_add(larder_store_cursor *cursor, larder_bytes key,
                                  larder_bytes value) {
    tree_rows *rows = &cursor->tree;
    entry_row row;
    larder_status status = larder_row_read(value, &row);
    if (!status && value.length > UINT16_MAX) status = LARDER_EDAMAGED;
    if (!status)
        status = larder_os_array_reserve(&rows->gathered, rows->gathered_count,
                                         &rows->gathered_capacity, sizeof *rows->gathered);
    if (status) return status;
    larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
    stamp at = {row.sequence, row.minor};
    if (cursor->pending.touched.counts) at = larder_touched_in_tree(cursor, stored, &row);
    rows->gathered[rows->gathered_count++] =
        (gathered_row){.at = at,
                       .stored = stored.data,
                       .row = value.data,
                       .stored_bytes = (uint16_t)(key.length - 1),
                       .row_bytes = (uint16_t)value.length};
    return LARDER_OK;
}

static int compare_gathered(const void *a, const void *b) {
    const gathered_row *left = a, *right = b;
    return compare_stamps(left->at, right->at);
}

/** Reads every entry's row, and sorts them. */
static larder_status gather(larder_store_cursor *cursor) {
    tree_rows *rows = &cursor->tree;
    rows->gathered_count = rows->damaged = 0;
    rows->is_placed = false;
    rows->last = (larder_bytes){NULL, 0};
    larder_status status;
    do {
        larder_bytes key, value;
        status = tree_step(cursor, &key, &value);
        if (!status) status = gathered_add(cursor, key, value);
        if (status == LARDER_EDAMAGED) rows->damaged++;
    } while (!status || status == LARDER_EDAMAGED);
    if (status != LARDER_END) return status;
    if (rows->gathered_count)
        qsort(rows->gathered, rows->gathered_count, sizeof *rows->gathered, compare_gathered);
    rows->has_ended = true;
    return LARDER_OK;
}

// Rows, in order ----------------------------------------------------------------------------------

/** The next of rows that are read before they are given: of a group in an index, or all of them. */
static larder_status next_sorted(larder_store_cursor *cursor, cursor_row *row) {
    tree_rows *rows = &cursor->tree;
    bool is_index = cursor->query.order == LARDER_STORE_BY_INDEX;
    const size_t *count = is_index ? &rows->group.count : &rows->gathered_count;
    while (rows->given == *count) {
        if (rows->damaged) {
            rows->damaged--;
            return LARDER_EDAMAGED;
        }
        if (rows->has_ended) return LARDER_END;
        larder_status status = is_index ? group_fill(cursor) : gather(cursor);
        if (status) return status;
    }
    size_t at = cursor->descends ? *count - 1 - rows->given : rows->given;
    rows->given++;
    if (is_index) {
        *row = rows->group.items[at];
        return row->is_damaged ? LARDER_EDAMAGED : LARDER_OK;
    }
    const gathered_row *found = &rows->gathered[at];
    *row = (cursor_row){.stored = {found->stored, found->stored_bytes},
                        .record = {found->row, found->row_bytes},
                        .at = found->at,
                        .is_row = true};
    return LARDER_OK;
}

/** Has the processor fetch records that come soon, each of which lies elsewhere in the log. */
static void ask_ahead(larder_store_cursor *cursor) {
    enum { AHEAD = 4 };
    const tree_cursor *at = &cursor->tree.cursor;
    const tree_page *page = &at->path[at->depth - 1].page;
    // Of a leaf that was just reached, all of them.
    uint32_t distance = page->number == cursor->tree.asked_page ? AHEAD : 1;
    cursor->tree.asked_page = page->number;
    for (; distance <= AHEAD; distance++) {
        uint32_t index = at->path[at->depth - 1].at;
        index = cursor->descends ? index - distance : index + distance;
        tree_node node;
        larder_bytes value;
        uint64_t overflow;
        if (index < page->count && page_node(page, index, &node) &&
            !node_value(at->tree, page, &node, &value, &overflow) && value.length == ROW_BYTES)
            larder_log_prefetch(&cursor->store->pending.log, row_location(value.data));
    }
}

static larder_status next_in_order(larder_store_cursor *cursor, cursor_row *row) {
    larder_bytes key, value;
    larder_status status = tree_step(cursor, &key, &value);
    if (status) return status;
    *row = (cursor_row){0};
    if (cursor->query.order == LARDER_STORE_BY_KEY) {
        ask_ahead(cursor);
        row->stored = (larder_bytes){(const uint8_t *)key.data + 1, key.length - 1};
        row->record = value;
        row->is_row = true;
        return LARDER_OK;
    }
    if (key.length != 1 + 16) return LARDER_EDAMAGED;
    const uint8_t *bytes = key.data;
    row->at = (stamp){get_be64(bytes + 1), get_be64(bytes + 9)};
    row->stored = value;
    return LARDER_OK;
}

/** Whether the key of a row by key has changed: its record has another one, or it is out of its
    place and no record says that it is right. Then where it lies says nothing.
    @param row has the record's key afterwards, where that is whole. */
static bool is_out_of_turn(const larder_store_cursor *cursor, cursor_row *row) {
    cursor_row copy = *row;
    record found;
    tree_key key;
    bool is_read = larder_cursor_resolve(cursor, &copy) == LARDER_OK &&
                   larder_record_read(copy.record, false, &found) == LARDER_OK;
    bool is_own =
        is_read && compare_bytes(larder_stored_key(found.key, cursor->place->meta.secret, &key),
                                 row->stored) == 0;
    if (is_own && larder_tree_cursor_is_in_order(&cursor->tree.cursor)) return false;
    bool is_whole = is_read && larder_record_read(copy.record, true, &found) == LARDER_OK;
    if (is_whole && !is_own) row->stored = found.key;
    return is_whole ? !is_own : !larder_tree_cursor_is_in_order(&cursor->tree.cursor);
}

larder_status larder_tree_rows_next(larder_store_cursor *cursor, cursor_row *row) {
    tree_rows *rows = &cursor->tree;
    bool is_index = cursor->query.order == LARDER_STORE_BY_INDEX;
    bool is_by_key = cursor->query.order == LARDER_STORE_BY_KEY;
    bool is_sorted = is_index || !(is_by_key || cursor->place->meta.has_order);
    if (cursor->pending.hides_tree || (rows->has_ended && !is_sorted)) return LARDER_END;
    row->is_damaged = false;
    for (;;) {
        larder_status status = is_sorted ? next_sorted(cursor, row) : next_in_order(cursor, row);
        if (status == LARDER_END) rows->has_ended = true;
        if (status) return status;
        // The merge goes by keys, and a pending write hides what is under its own.
        if (is_by_key && cursor->pending.by_key_count > 0 && is_out_of_turn(cursor, row)) {
            row->is_damaged = true;
            return LARDER_EDAMAGED;
        }
        // By key the range is exact as far as the tree knows, and the merge sees what is pending;
        // but it relies on the order of rows, which damage may change, once a pending one was
        // given.
        bool counts = is_index ? cursor->has_exact_range ||
                                     larder_cursor_side(cursor, row->value, row->stored) == 0
                               : (is_by_key && cursor->pending.given == 0) ||
                                     !(larder_overlay_find(cursor, row->stored) ||
                                       larder_touched_hides(cursor, row->stored, row->at));
        if (!counts) continue;
        status = row->record.data ? LARDER_OK : order_follow(cursor, row);
        row->is_damaged = status == LARDER_EDAMAGED;
        return status;
    }
}

void larder_tree_rows_restart(tree_rows *rows) {
    rows->is_placed = rows->has_ended = rows->is_ahead = false;
    rows->group.count = rows->given = rows->damaged = 0;
    rows->asked_page = 0;
    rows->last = (larder_bytes){NULL, 0};
    rows->ahead.count = rows->ahead.next = 0;
    rows->ahead.given = 0;
}

void larder_tree_rows_free(tree_rows *rows) {
    free(rows->group.items);
    free(rows->gathered);
}
