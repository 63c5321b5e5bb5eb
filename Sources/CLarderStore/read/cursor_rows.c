// SPDX-License-Identifier: MIT
/** @file cursor_rows.c
    Rows by themselves: their order, whether they are asked for, and what they lead to. */
#include "read/cursor.h"

// Order and range ---------------------------------------------------------------------------------

static int side_of_key(const larder_store_cursor *cursor, larder_bytes stored) {
    // Of a long key the tree knows no more; the rest is compared when its record is read.
    const tree_key *start = &cursor->start, *end = &cursor->end;
    if (compare_bytes(stored, (larder_bytes){start->bytes + 1, start->length - 1u}) < 0) return -1;
    // It may be the least key behind all entries.
    if (end->bytes[0] != SPACE_ENTRY) return 0;
    return compare_bytes(stored, (larder_bytes){end->bytes + 1, end->length - 1u}) < 0 ? 0 : 1;
}

int larder_query_side(const larder_store_query *query, larder_bytes value) {
    int lower = 1, upper = -1;
    if (query->flags & LARDER_STORE_HAS_LOWER) lower = compare_bytes(value, query->lower);
    if (query->flags & LARDER_STORE_HAS_UPPER) upper = compare_bytes(value, query->upper);
    if (query->flags & LARDER_STORE_LOWER_EXCLUSIVE ? lower <= 0 : lower < 0) return -1;
    if (query->flags & LARDER_STORE_UPPER_EXCLUSIVE ? upper >= 0 : upper > 0) return 1;
    if (begins_with(value, query->prefix)) return 0;
    return compare_bytes(value, query->prefix) < 0 ? -1 : 1;
}

int larder_cursor_side(const larder_store_cursor *cursor, larder_bytes value, larder_bytes stored) {
    switch (cursor->query.order) {
    case LARDER_STORE_BY_KEY: return side_of_key(cursor, stored);
    case LARDER_STORE_BY_INDEX: return larder_query_side(&cursor->query, value);
    default: return 0;
    }
}

larder_status larder_row_array_add(row_array *rows, const cursor_row *row) {
    larder_status status =
        larder_os_array_reserve(&rows->items, rows->count, &rows->capacity, sizeof *rows->items);
    if (!status) rows->items[rows->count++] = *row;
    return status;
}

static int compare_stored(const void *a, const void *b) {
    const cursor_row *left = a, *right = b;
    return compare_bytes(left->stored, right->stored);
}

const cursor_row *larder_rows_find(const row_array *rows, larder_bytes stored) {
    if (rows->count == 0) return NULL;
    cursor_row wanted = {.stored = stored};
    return bsearch(&wanted, rows->items, rows->count, sizeof wanted, compare_stored);
}

int larder_cursor_compare(const void *a, const void *b) {
    const cursor_row *left = a, *right = b;
    // What an order does not go by is alike in all of its rows.
    int order = compare_stamps(left->at, right->at);
    if (!order) order = compare_bytes(left->value, right->value);
    return order ? order : compare_bytes(left->stored, right->stored);
}

void larder_cursor_sort(row_array *rows) {
    if (rows->count < 2) return;
    qsort(rows->items, rows->count, sizeof *rows->items, larder_cursor_compare);
    size_t kept = 1;
    for (size_t i = 1; i < rows->count; i++)
        if (larder_cursor_compare(&rows->items[kept - 1], &rows->items[i]) != 0)
            rows->items[kept++] = rows->items[i];
    rows->count = kept;
}

larder_status larder_cursor_resolve(const larder_store_cursor *cursor, cursor_row *row) {
    if (!row->is_row) return LARDER_OK;
    row->is_row = false;
    return larder_log_row(&cursor->store->pending.log, row->record, &row->record, &row->segment);
}

larder_status larder_cursor_expand(const larder_store_cursor *cursor, const record *entry,
                                   larder_bytes form, const cursor_row *row, row_array *rows) {
    size_t offset = 0;
    larder_store_index_entry found;
    while (larder_record_next_index(entry, &offset, &found)) {
        if (found.index != cursor->query.index) continue;
        if (form.length ? !larder_index_value_has_form(found.value, form)
                        : larder_cursor_side(cursor, found.value, row->stored) != 0)
            continue;
        cursor_row expanded = *row;
        expanded.value = found.value;
        larder_status status = larder_row_array_add(rows, &expanded);
        if (status) return status;
    }
    return LARDER_OK;
}

// What they lead to -------------------------------------------------------------------------------

larder_status larder_cursor_find_entry(const larder_store_cursor *cursor, larder_bytes stored,
                                       cursor_row *row) {
    if (stored.length > KEY_STORED_MAX_BYTES) return LARDER_EDAMAGED;
    tree_key key;
    larder_tree_key_of_stored(SPACE_ENTRY, stored, &key);
    row->is_row = true;
    return larder_store_find_row(cursor->store, cursor->place, &key, &row->record);
}
