// SPDX-License-Identifier: MIT
/** @file cursor.c
    Cursors: opening, merging, and entries. Where the rows come from is in cursor_tree.c and
    cursor_overlay.c; what a row is, in cursor_rows.c. */
#include "read/cursor.h"

void larder_store_query_init(larder_store_query *query) { memset(query, 0, sizeof *query); }

// Opening -----------------------------------------------------------------------------------------

static bool query_is_valid(const larder_store_query *query) {
    const uint32_t others = LARDER_STORE_DESCENDING | LARDER_STORE_PEEK |
                            LARDER_STORE_WITHOUT_VALUE | LARDER_STORE_EXPIRED_TOO |
                            LARDER_STORE_WITHOUT_EXPIRY;
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

/** Whether everything that the cursor sees was written under the content format asked for. */
static larder_status content_is_as_asked(const larder_store_cursor *cursor) {
    uint64_t wanted = cursor->query.content_format;
    if (wanted == 0) return LARDER_OK;
    if (cursor->place->meta.content_format != wanted) return LARDER_EMISMATCH;
    if (!store_is_read_only(cursor->store)) return LARDER_OK;
    // What was followed behind the place may be newer. A writer changes the format before it writes
    // anything that means something else, so that the newest state tells.
    snapshot *now;
    larder_status status = larder_environment_read(cursor->place->environment, &now);
    if (status) return status;
    if (now->meta.content_format != wanted) status = LARDER_EMISMATCH;
    larder_environment_release(cursor->place->environment, now);
    return status;
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
    if (!status) status = content_is_as_asked(cursor);
    if (!status) status = cursor_take_bytes(cursor);
    if (status) {
        larder_store_cursor_close(cursor);
        return status;
    }
    larder_overlay_rewind(cursor);
    *out = cursor;
    return LARDER_OK;
}

larder_status larder_store_cursor_seek(larder_store_cursor *cursor,
                                       const larder_store_query *query) {
    larder_status status = store_enter(cursor->store);
    if (status) return status;
    if (!query_is_valid(query) || query->order == LARDER_STORE_BY_RECENCY ||
        cursor->query.order == LARDER_STORE_BY_RECENCY)
        return LARDER_EINVALID;
    uint8_t *copies = cursor->copies;
    bool is_same = query->order == cursor->query.order && query->index == cursor->query.index;
    bool is_checked = query->content_format == cursor->query.content_format;
    cursor->query = *query;
    cursor->descends = (query->flags & LARDER_STORE_DESCENDING) != 0;
    larder_tree_rows_restart(&cursor->tree);
    cursor->has_tree_row = false;
    status = cursor_take_bytes(cursor);
    // Only now: the bounds may be those of an entry that the cursor gave.
    free(copies);
    if (!status && !is_checked) status = content_is_as_asked(cursor);
    if (!status && !is_same) status = larder_overlay_retake(cursor);
    if (!status) larder_overlay_rewind(cursor);
    // Without bounds nothing is in the range.
    else cursor->tree.has_ended = true;
    return status;
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
            if (cursor->tree_row.is_damaged) *row = &cursor->tree_row;
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

/** Whether the entry has not expired; and when it will, or where that is not asked for, would if
    nobody had read it. */
static bool is_alive(const larder_store_cursor *cursor, record *entry, int64_t *deadline) {
    larder_store *store = cursor->store;
    if ((cursor->query.flags & LARDER_STORE_WITHOUT_EXPIRY) && !record_is_renewable(entry)) {
        *deadline = record_own_deadline(entry);
        int64_t due = expiry_due(&store->expiry, entry, *deadline);
        if (due == LARDER_STORE_NEVER || due > expiry_now(&store->expiry)) return true;
    }
    *deadline = larder_store_deadline(store, cursor->place, entry, false);
    return (cursor->query.flags & LARDER_STORE_EXPIRED_TOO) ||
           !larder_store_is_expired(store, entry, *deadline);
}

/** The next row whose record is sound and asked for, and when that expires. */
static larder_status cursor_next_wanted(larder_store_cursor *cursor, cursor_row **row,
                                        record *found, int64_t *deadline) {
    for (;;) {
        larder_status status = cursor_next_row(cursor, row);
        if (status) return status;
        status = larder_cursor_resolve(cursor, *row);
        if (!status) status = larder_record_read((*row)->record, !(*row)->is_verified, found);
        if (!status && !record_has_stored_key(cursor, found, (*row)->stored)) {
            // The record is whole, and says which entry this is.
            (*row)->stored = found->key;
            status = LARDER_EDAMAGED;
        }
        if (status) return status;
        // Rows have long keys only as far as their beginning.
        bool is_in_range = cursor->query.order == LARDER_STORE_BY_INDEX ||
                           larder_query_side(&cursor->query, found->key) == 0;
        if (is_in_range && is_alive(cursor, found, deadline)) return LARDER_OK;
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
        // Of a longer key the row has the beginning only.
        if (status == LARDER_EDAMAGED && row != NULL && row->stored.length <= KEY_WHOLE_MAX_BYTES)
            entry->key = row->stored;
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
