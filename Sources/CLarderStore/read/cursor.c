// SPDX-License-Identifier: MIT
/** @file cursor.c
    Cursors: opening, merging, and entries. Where the rows come from is in cursor_tree.c and
    cursor_overlay.c. */
#include "read/cursor.h"

void larder_store_query_init(larder_store_query *query) { memset(query, 0, sizeof *query); }

// Order and range ---------------------------------------------------------------------------------

bool larder_cursor_wants(const larder_store_cursor *cursor, larder_bytes value,
                         larder_bytes stored) {
    if (cursor->query.order == LARDER_STORE_BY_KEY) {
        // Of a long key the tree knows no more; the rest is compared when its record is read.
        tree_key key;
        larder_tree_key_of_stored(SPACE_ENTRY, stored, &key);
        return compare_bytes(bytes_of_key(&key), bytes_of_key(&cursor->start)) >= 0 &&
               compare_bytes(bytes_of_key(&key), bytes_of_key(&cursor->end)) < 0;
    }
    int lower = 1, upper = -1;
    if (cursor->query.flags & LARDER_STORE_HAS_LOWER)
        lower = compare_bytes(value, cursor->query.lower);
    if (cursor->query.flags & LARDER_STORE_HAS_UPPER)
        upper = compare_bytes(value, cursor->query.upper);
    return (cursor->query.flags & LARDER_STORE_LOWER_EXCLUSIVE ? lower > 0 : lower >= 0) &&
           (cursor->query.flags & LARDER_STORE_UPPER_EXCLUSIVE ? upper < 0 : upper <= 0) &&
           begins_with(value, cursor->query.prefix);
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
                        : !larder_cursor_wants(cursor, found.value, row->stored))
            continue;
        cursor_row expanded = *row;
        expanded.value = found.value;
        larder_status status = larder_row_array_add(rows, &expanded);
        if (status) return status;
    }
    return LARDER_OK;
}

// Opening -----------------------------------------------------------------------------------------

static bool query_is_valid(const larder_store_query *query) {
    const uint32_t others = LARDER_STORE_DESCENDING | LARDER_STORE_PEEK |
                            LARDER_STORE_WITHOUT_VALUE | LARDER_STORE_EXPIRED_TOO;
    if (query->flags & ~(QUERY_BOUNDS | others)) return false;
    if (query->order == LARDER_STORE_BY_RECENCY) return (query->flags & QUERY_BOUNDS) == 0;
    return query->order == LARDER_STORE_BY_KEY || query->order == LARDER_STORE_BY_INDEX;
}

/** Copies the bytes that the query names, which are the caller's. */
static larder_status cursor_take_bytes(larder_store_cursor *cursor) {
    larder_store_query *query = &cursor->query;
    if (!(query->flags & LARDER_STORE_HAS_LOWER)) query->lower.length = 0;
    if (!(query->flags & LARDER_STORE_HAS_UPPER)) query->upper.length = 0;
    larder_bytes *taken[] = {&query->lower, &query->upper, &query->prefix};
    size_t bytes = 1;
    for (int i = 0; i < 3; i++) bytes += taken[i]->length;
    uint8_t *target = cursor->copies = malloc(bytes);
    if (!target) return ENOMEM;
    for (int i = 0; i < 3; i++) {
        if (taken[i]->length) memcpy(target, taken[i]->data, taken[i]->length);
        taken[i]->data = target;
        target += taken[i]->length;
    }
    larder_cursor_set_range(cursor);
    return LARDER_OK;
}

larder_status larder_store_cursor_open(larder_store *store, const larder_store_query *query,
                                       larder_store_cursor **out) {
    *out = NULL;
    larder_status status = store_enter(store);
    if (status) return status;
    if (!query_is_valid(query)) return LARDER_EINVALID;
    larder_store_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) return ENOMEM;
    cursor->store = store;
    cursor->query = *query;
    cursor->descends = (query->flags & LARDER_STORE_DESCENDING) != 0;
    status = larder_overlay_take(cursor);
    if (!status) status = cursor_take_bytes(cursor);
    if (status) {
        larder_store_cursor_close(cursor);
        return status;
    }
    larder_overlay_rewind(cursor);
    *out = cursor;
    return LARDER_OK;
}

void larder_store_cursor_close(larder_store_cursor *cursor) {
    if (!cursor) return;
    if (cursor->place) larder_environment_release(cursor->place->environment, cursor->place);
    larder_overlay_free(&cursor->pending);
    larder_tree_rows_free(&cursor->tree);
    free(cursor->copies);
    free(cursor);
}

// Going on ----------------------------------------------------------------------------------------

/** The next row of both sources, which the caller may change. */
static larder_status cursor_next_row(larder_store_cursor *cursor, cursor_row **row) {
    for (;;) {
        if (!cursor->has_tree_row) {
            larder_status status = larder_tree_rows_next(cursor, &cursor->tree_row);
            if (status && status != LARDER_END) return status;
            cursor->has_tree_row = !status;
        }
        cursor_row *pending = larder_overlay_peek(cursor);
        if (!pending && !cursor->has_tree_row) return LARDER_END;
        int order = !pending ? 1 : -1;
        if (pending && cursor->has_tree_row) {
            order = larder_cursor_compare(pending, &cursor->tree_row);
            if (cursor->descends) order = -order;
        }
        // What the tree has under the key of a pending write is replaced.
        if (order >= 0) cursor->has_tree_row = false;
        *row = order > 0 ? &cursor->tree_row : pending;
        if (order > 0) return LARDER_OK;
        larder_overlay_step(cursor);
        if (!pending->is_removal) return LARDER_OK;
    }
}

/** Whether the record belongs to the key that led to it. */
static bool record_has_stored_key(const larder_store_cursor *cursor, const record *entry,
                                  larder_bytes stored) {
    tree_key scratch;
    return compare_bytes(larder_stored_key(entry->key, cursor->place->meta.secret, &scratch),
                         stored) == 0;
}

static bool is_asked_for(larder_store_cursor *cursor, const record *entry, int64_t deadline) {
    if (cursor->query.order != LARDER_STORE_BY_INDEX &&
        !begins_with(entry->key, cursor->query.prefix))
        return false;
    return (cursor->query.flags & LARDER_STORE_EXPIRED_TOO) ||
           !larder_store_is_expired(cursor->store, cursor->place, entry, deadline, false);
}

/** The next row whose record is sound and asked for, and when that expires. */
static larder_status cursor_next_wanted(larder_store_cursor *cursor, cursor_row **row,
                                        record *found, int64_t *deadline) {
    for (;;) {
        larder_status status = cursor_next_row(cursor, row);
        if (status) return status;
        status = larder_cursor_resolve(cursor, *row);
        if (!status) status = larder_record_read((*row)->record, !(*row)->is_verified, found);
        if (!status && !record_has_stored_key(cursor, found, (*row)->stored))
            status = LARDER_EDAMAGED;
        if (status) return status;
        *deadline = larder_store_deadline(cursor->place, found);
        if (is_asked_for(cursor, found, *deadline)) return LARDER_OK;
    }
}

larder_status larder_cursor_next_record(larder_store_cursor *cursor, record *found,
                                        larder_bytes *bytes, larder_store_entry *entry) {
    cursor_row *row = NULL;
    int64_t deadline = LARDER_STORE_NEVER;
    larder_status status = store_enter(cursor->store);
    if (!status) status = cursor_next_wanted(cursor, &row, found, &deadline);
    if (cursor->place) status = larder_environment_confirm(cursor->place, status);
    if (status == LARDER_EDAMAGED)
        atomic_fetch_add_explicit(&cursor->store->figures.damaged, 1, memory_order_relaxed);
    if (status) {
        memset(entry, 0, sizeof *entry);
        return status;
    }
    larder_store_entry_of_record(cursor->store, found, deadline, cursor->query.flags, row->segment,
                                 entry);
    entry->index_value = row->value;
    *bytes = row->record;
    return LARDER_OK;
}

larder_status larder_store_cursor_next(larder_store_cursor *cursor, larder_store_entry *entry) {
    record found;
    larder_bytes bytes;
    return larder_cursor_next_record(cursor, &found, &bytes, entry);
}
