// SPDX-License-Identifier: MIT
/** @file cursor_overlay.c
    What was pending when a cursor was opened, as rows in its order. */
#include "read/cursor.h"

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

/** Lists what is pending and not in the tree that the cursor sees; `lock` is held. What a row has
    as its stored key is the whole one still. */
static larder_status list_pending(larder_store_cursor *cursor) {
    const larder_store *store = cursor->store;
    const memtable *tables[] = {store->pending.active, store->pending.frozen};
    uint64_t applied = store_is_read_only(store) ? cursor->place->meta.applied : 0;
    row_array *rows = &cursor->pending.by_key;
    rows->capacity = tables[0]->count + (tables[1] ? (size_t)tables[1]->count : 0);
    if (rows->capacity) rows->items = malloc(rows->capacity * sizeof *rows->items);
    if (rows->capacity && !rows->items) return ENOMEM;
    for (int i = 0; i < 2 && tables[i]; i++) {
        for (uint32_t at = 0; at < tables[i]->count; at++) {
            const memtable_entry *entry = &tables[i]->entries[at];
            uint64_t sequence = record_sequence(entry->record);
            larder_bytes key = larder_record_key(entry->record);
            // The tree has it, or it was written again since it was frozen.
            if (sequence <= applied || (i == 1 && larder_memtable_find(store->pending.active, key)))
                continue;
            cursor_row row = {.stored = key, .segment = entry->segment};
            row.is_removal = record_kind(entry->record) != RECORD_PUT;
            if (!row.is_removal) row.record = record_bytes(entry->record);
            if (cursor->query.order == LARDER_STORE_BY_RECENCY)
                row.at = (stamp){sequence, record_minor(entry->record)};
            rows->items[rows->count++] = row;
        }
        // Rows of the tree that are newer than that are of pending writes, which replace them.
        cursor->pending.hides_tree = tables[i]->cleared > applied;
        if (cursor->pending.hides_tree) break;
    }
    return LARDER_OK;
}

larder_status larder_overlay_rows_take(larder_store_cursor *cursor) {
    larder_store *store = cursor->store;
    pthread_mutex_lock(&store->pending.lock);
    larder_status status = larder_store_look(store, true, &cursor->place);
    if (!status) status = list_pending(cursor);
    pthread_mutex_unlock(&store->pending.lock);
    return status;
}

/** Makes whole keys stored ones. */
static larder_status shorten_keys(larder_store_cursor *cursor) {
    row_array *rows = &cursor->pending.by_key;
    size_t long_count = 0;
    for (size_t i = 0; i < rows->count; i++)
        long_count += rows->items[i].stored.length > KEY_WHOLE_MAX_BYTES;
    if (long_count == 0) return LARDER_OK;
    uint8_t *target = cursor->pending.long_keys = malloc(long_count * KEY_STORED_MAX_BYTES);
    if (!target) return ENOMEM;
    for (size_t i = 0; i < rows->count; i++) {
        larder_bytes *stored = &rows->items[i].stored;
        if (stored->length <= KEY_WHOLE_MAX_BYTES) continue;
        tree_key scratch;
        *stored = larder_stored_key(*stored, cursor->place->meta.secret, &scratch);
        stored->data = memcpy(target, scratch.bytes, KEY_STORED_MAX_BYTES);
        target += KEY_STORED_MAX_BYTES;
    }
    return LARDER_OK;
}

/** Adds what one pending write stands for in the cursor's order, which is not that by key. */
static larder_status add_in_order(larder_store_cursor *cursor, const cursor_row *row) {
    row_array *ordered = &cursor->pending.ordered;
    if (row->is_removal) return LARDER_OK;
    if (cursor->query.order == LARDER_STORE_BY_RECENCY) return larder_row_array_add(ordered, row);
    record entry;
    // Said when it is read by key; there is no telling which value it would be found by.
    if (larder_record_read(row->record, false, &entry)) return LARDER_OK;
    return larder_cursor_expand(cursor, &entry, (larder_bytes){NULL, 0}, row, ordered);
}

larder_status larder_overlay_rows_make(larder_store_cursor *cursor) {
    row_array *by_key = &cursor->pending.by_key;
    bool is_by_key = cursor->query.order == LARDER_STORE_BY_KEY;
    larder_status status = shorten_keys(cursor);
    size_t kept = 0;
    for (size_t i = 0; i < by_key->count && !status; i++) {
        const cursor_row *row = &by_key->items[i];
        if (!is_by_key) status = add_in_order(cursor, row);
        else if (larder_cursor_wants(cursor, row->value, row->stored)) by_key->items[kept++] = *row;
    }
    if (is_by_key) by_key->count = kept;
    if (!status && by_key->count > 1)
        qsort(by_key->items, by_key->count, sizeof(cursor_row), compare_stored);
    if (!status) larder_cursor_sort(&cursor->pending.ordered);
    return status;
}

const row_array *larder_overlay_rows_ordered(const larder_store_cursor *cursor) {
    return cursor->query.order == LARDER_STORE_BY_KEY ? &cursor->pending.by_key
                                                      : &cursor->pending.ordered;
}

void larder_overlay_rows_free(overlay_rows *rows) {
    free(rows->ordered.items);
    free(rows->by_key.items);
    free(rows->long_keys);
}
