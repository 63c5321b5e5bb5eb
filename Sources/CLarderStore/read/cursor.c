// SPDX-License-Identifier: MIT
/** @file cursor.c
    Cursors: opening, merging, and entries. Where the rows come from is in cursor_tree.c and
    cursor_overlay.c. */
#include "read/cursor.h"

#include <errno.h>
#include <stdlib.h>

void larder_store_query_init(larder_store_query *query) { memset(query, 0, sizeof *query); }

// Order and range ---------------------------------------------------------------------------------

int cursor_side(const larder_store_cursor *cursor, larder_bytes value, larder_bytes stored) {
    // Stamps are nothing that a caller could name.
    if (cursor->order == LARDER_STORE_BY_RECENCY) return 0;
    bool is_index = cursor->order == LARDER_STORE_BY_INDEX;
    larder_bytes subject = is_index ? value : stored;
    if (cursor->flags & LARDER_STORE_HAS_LOWER) {
        int order = compare_bytes(subject, cursor->lower);
        if (order < 0 || (order == 0 && (cursor->flags & LARDER_STORE_LOWER_EXCLUSIVE))) return -1;
    }
    if (cursor->flags & LARDER_STORE_HAS_UPPER) {
        int order = compare_bytes(subject, cursor->upper);
        if (order > 0 || (order == 0 && (cursor->flags & LARDER_STORE_UPPER_EXCLUSIVE))) return 1;
    }
    larder_bytes prefix = cursor->prefix;
    // Of a long key the tree knows no more; the rest is compared when its record is read.
    if (!is_index && prefix.length > KEY_WHOLE_MAX_BYTES) prefix.length = KEY_WHOLE_MAX_BYTES;
    if (subject.length > prefix.length) subject.length = prefix.length;
    return compare_bytes(subject, prefix);
}

int cursor_compare(const void *a, const void *b) {
    const cursor_row *left = a, *right = b;
    // What an order does not go by is alike in all of its rows.
    if (left->at.sequence != right->at.sequence)
        return left->at.sequence < right->at.sequence ? -1 : 1;
    if (left->at.minor != right->at.minor) return left->at.minor < right->at.minor ? -1 : 1;
    int order = compare_bytes(left->value, right->value);
    return order ? order : compare_bytes(left->stored, right->stored);
}

void cursor_sort(row_array *rows) {
    if (rows->count < 2) return;
    qsort(rows->items, rows->count, sizeof *rows->items, cursor_compare);
    size_t kept = 1;
    for (size_t i = 1; i < rows->count; i++)
        if (cursor_compare(&rows->items[kept - 1], &rows->items[i]) != 0)
            rows->items[kept++] = rows->items[i];
    rows->count = kept;
}

larder_status cursor_resolve(const larder_store_cursor *cursor, cursor_row *row) {
    if (!row->is_row) return LARDER_OK;
    row->is_row = false;
    return store_record_of_row(cursor->store, row->record, &row->record, &row->segment);
}

larder_status cursor_expand(const larder_store_cursor *cursor, const record *entry,
                            larder_bytes form, const cursor_row *row, row_array *rows) {
    size_t offset = 0;
    larder_store_index_entry found;
    while (record_next_index(entry, &offset, &found)) {
        if (found.index != cursor->index) continue;
        if (form.length && !index_value_has_form(found.value, form)) continue;
        if (row->is_pending && cursor_side(cursor, found.value, row->stored) != 0) continue;
        cursor_row expanded = *row;
        expanded.value = found.value;
        larder_status status = row_array_add(rows, &expanded);
        if (status) return status;
    }
    return LARDER_OK;
}

// Opening -----------------------------------------------------------------------------------------

static bool query_is_valid(const larder_store_query *query) {
    const uint32_t bounds = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER |
                            LARDER_STORE_LOWER_EXCLUSIVE | LARDER_STORE_UPPER_EXCLUSIVE;
    const uint32_t others = LARDER_STORE_DESCENDING | LARDER_STORE_PEEK |
                            LARDER_STORE_WITHOUT_VALUE | LARDER_STORE_EXPIRED_TOO;
    if (query->flags & ~(bounds | others)) return false;
    switch (query->order) {
    case LARDER_STORE_BY_KEY:
    case LARDER_STORE_BY_INDEX: return true;
    case LARDER_STORE_BY_RECENCY: return (query->flags & bounds) == 0;
    }
    return false;
}

/** Takes a bound over, as what it is compared with. */
static larder_bytes bound_copy(const larder_store_cursor *cursor, larder_bytes bound,
                               uint8_t **free_bytes) {
    tree_key scratch;
    if (cursor->order == LARDER_STORE_BY_KEY)
        bound = stored_key(bound, cursor->place->meta.secret, &scratch);
    if (bound.length) memcpy(*free_bytes, bound.data, bound.length);
    larder_bytes copy = {*free_bytes, bound.length};
    *free_bytes += bound.length;
    return copy;
}

static larder_status cursor_take_query(larder_store_cursor *cursor,
                                       const larder_store_query *query) {
    larder_bytes lower = query->lower, upper = query->upper, prefix = query->prefix;
    if (!(query->flags & LARDER_STORE_HAS_LOWER)) lower.length = 0;
    if (!(query->flags & LARDER_STORE_HAS_UPPER)) upper.length = 0;
    // A key just too long to be stored whole grows by its hash.
    size_t bytes = lower.length + upper.length + prefix.length + 2 * (size_t)KEY_HASH_BYTES;
    cursor->copies = malloc(bytes);
    if (!cursor->copies) return ENOMEM;
    uint8_t *free_bytes = cursor->copies;
    cursor->lower = bound_copy(cursor, lower, &free_bytes);
    cursor->upper = bound_copy(cursor, upper, &free_bytes);
    if (prefix.length) memcpy(free_bytes, prefix.data, prefix.length);
    cursor->prefix = (larder_bytes){free_bytes, prefix.length};
    cursor_set_range(cursor);
    return LARDER_OK;
}

/** Has a checkpoint come first where much is pending, or where the order of use depends on reads
    that only it folds in. If it fails the cursor still shows everything: the failure is counted,
    and told to who asks the store to flush. */
static void flush_first(larder_store *store, const larder_store_query *query) {
    if (store_is_read_only(store)) return;
    bool is_much = atomic_load_explicit(&store->pending_count, memory_order_acquire) >
                   store->tuning.overlay_max_count;
    bool needs_reads = query->order == LARDER_STORE_BY_RECENCY &&
                       atomic_load_explicit(&store->tracks_access, memory_order_relaxed);
    if (!is_much && !needs_reads) return;
    larder_status status = larder_store_flush(store);
    (void)status;
}

larder_status larder_store_cursor_open(larder_store *store, const larder_store_query *query,
                                       larder_store_cursor **out) {
    *out = NULL;
    larder_status status = store_enter(store);
    if (status) return status;
    if (!query_is_valid(query)) return LARDER_EINVALID;
    flush_first(store, query);
    larder_store_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) return ENOMEM;
    cursor->store = store;
    cursor->order = query->order;
    cursor->flags = query->flags;
    cursor->index = query->index;
    cursor->descends = (query->flags & LARDER_STORE_DESCENDING) != 0;
    status = overlay_rows_take(cursor);
    if (!status) status = cursor_take_query(cursor, query);
    if (!status) status = overlay_rows_make(cursor);
    if (status) {
        larder_store_cursor_close(cursor);
        return status;
    }
    *out = cursor;
    return LARDER_OK;
}

void larder_store_cursor_close(larder_store_cursor *cursor) {
    if (!cursor) return;
    if (cursor->place) environment_release(cursor->place->environment, cursor->place);
    overlay_rows_free(&cursor->pending);
    tree_rows_free(&cursor->tree);
    free(cursor->copies);
    free(cursor);
}

// Going on ----------------------------------------------------------------------------------------

/** The next row of both sources. */
static larder_status cursor_next_row(larder_store_cursor *cursor, cursor_row *row) {
    if (!cursor->has_tree_row) {
        larder_status status = tree_rows_next(cursor, &cursor->tree_row);
        if (status && status != LARDER_END) return status;
        cursor->has_tree_row = status == LARDER_OK;
    }
    const row_array *pending = &cursor->pending.ordered;
    const cursor_row *pending_row = NULL;
    if (cursor->pending_given < pending->count) {
        size_t at =
            cursor->descends ? pending->count - 1 - cursor->pending_given : cursor->pending_given;
        pending_row = &pending->items[at];
    }
    if (!cursor->has_tree_row && !pending_row) return LARDER_END;
    bool takes_pending = !cursor->has_tree_row;
    if (cursor->has_tree_row && pending_row) {
        int order = cursor_compare(pending_row, &cursor->tree_row);
        takes_pending = cursor->descends ? order > 0 : order < 0;
    }
    if (takes_pending) {
        *row = *pending_row;
        cursor->pending_given++;
    } else {
        *row = cursor->tree_row;
        cursor->has_tree_row = false;
    }
    return LARDER_OK;
}

/** Whether the record belongs to the key that led to it. */
static bool record_has_stored_key(const larder_store_cursor *cursor, const record *entry,
                                  larder_bytes stored) {
    tree_key scratch;
    return compare_bytes(stored_key(entry->key, cursor->place->meta.secret, &scratch), stored) == 0;
}

static bool is_asked_for(larder_store_cursor *cursor, const record *entry, int64_t deadline) {
    if (cursor->order != LARDER_STORE_BY_INDEX && !begins_with(entry->key, cursor->prefix))
        return false;
    return (cursor->flags & LARDER_STORE_EXPIRED_TOO) ||
           !store_is_over(cursor->store, cursor->place, entry, deadline);
}

/** The next row whose record is sound and asked for, and when that expires. */
static larder_status cursor_next_wanted(larder_store_cursor *cursor, cursor_row *row, record *found,
                                        int64_t *deadline) {
    for (;;) {
        larder_status status = cursor_next_row(cursor, row);
        if (status) return status;
        status = cursor_resolve(cursor, row);
        if (!status) status = record_read(row->record, !row->is_verified, found);
        if (!status && !record_has_stored_key(cursor, found, row->stored)) status = LARDER_EDAMAGED;
        if (status) return status;
        *deadline = store_deadline(cursor->place, found);
        if (is_asked_for(cursor, found, *deadline)) return LARDER_OK;
    }
}

larder_status cursor_next_record(larder_store_cursor *cursor, record *found, larder_bytes *bytes,
                                 larder_store_entry *entry) {
    cursor_row row;
    int64_t deadline;
    memset(entry, 0, sizeof *entry);
    larder_status status = store_enter(cursor->store);
    if (!status) status = cursor_next_wanted(cursor, &row, found, &deadline);
    if (status == LARDER_EDAMAGED)
        atomic_fetch_add_explicit(&cursor->store->damaged, 1, memory_order_relaxed);
    if (status) return status;
    store_entry_of_record(cursor->store, found, deadline, cursor->flags, row.segment, entry);
    entry->index_value = row.value;
    *bytes = row.record;
    return LARDER_OK;
}

larder_status larder_store_cursor_next(larder_store_cursor *cursor, larder_store_entry *entry) {
    record found;
    larder_bytes bytes;
    return cursor_next_record(cursor, &found, &bytes, entry);
}
