// SPDX-License-Identifier: MIT
/** @file cursor_overlay.c
    What was pending when a cursor was opened, as rows in its order. */
#include <errno.h>
#include <stdlib.h>

#include "read/cursor.h"

larder_status row_array_add(row_array *rows, const cursor_row *row) {
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 16;
        cursor_row *items = realloc(rows->items, capacity * sizeof *items);
        if (!items) return ENOMEM;
        rows->items = items;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = *row;
    return LARDER_OK;
}

static int compare_stored(const void *a, const void *b) {
    const cursor_row *left = a, *right = b;
    return compare_bytes(left->stored, right->stored);
}

const cursor_row *overlay_rows_find(const overlay_rows *rows, larder_bytes stored) {
    if (rows->by_key.count == 0) return NULL;
    cursor_row wanted = {.stored = stored};
    return bsearch(&wanted, rows->by_key.items, rows->by_key.count, sizeof wanted, compare_stored);
}

/** Everything pending that the snapshot's tree does not know of, by key. */
static larder_status overlay_rows_sort(larder_store_cursor *cursor) {
    overlay_rows *rows = &cursor->pending;
    const overlay *pending = &rows->overlay;
    size_t long_count = 0;
    for (size_t i = 0; i < pending->count; i++)
        long_count += pending->items[i].key.length > KEY_WHOLE_MAX_BYTES;
    if (long_count) {
        rows->long_keys = malloc(long_count * KEY_STORED_MAX_BYTES);
        if (!rows->long_keys) return ENOMEM;
    }
    uint8_t *long_key = rows->long_keys;
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < pending->count && !status; i++) {
        const overlay_item *item = &pending->items[i];
        tree_key scratch;
        cursor_row row = {.stored = stored_key(item->key, cursor->place->meta.secret, &scratch),
                          .record = item->record,
                          .at = {item->sequence, item->minor},
                          .segment = item->segment,
                          .is_removal = item->is_removal,
                          .is_pending = true};
        if (item->key.length > KEY_WHOLE_MAX_BYTES) {
            memcpy(long_key, scratch.bytes, KEY_STORED_MAX_BYTES);
            row.stored.data = long_key;
            long_key += KEY_STORED_MAX_BYTES;
        }
        status = row_array_add(&rows->by_key, &row);
    }
    if (!status && rows->by_key.count)
        qsort(rows->by_key.items, rows->by_key.count, sizeof(cursor_row), compare_stored);
    return status;
}

larder_status overlay_rows_make(larder_store_cursor *cursor) {
    overlay_rows *rows = &cursor->pending;
    // Rows of the tree that are newer than that are of pending writes, which replace them.
    rows->hides_tree = rows->overlay.cleared != 0;
    larder_status status = overlay_rows_sort(cursor);
    for (size_t i = 0; i < rows->by_key.count && !status; i++) {
        const cursor_row *row = &rows->by_key.items[i];
        if (row->is_removal) continue;
        if (cursor->order != LARDER_STORE_BY_INDEX) {
            if (cursor_side(cursor, row->value, row->stored) == 0)
                status = row_array_add(&rows->ordered, row);
            continue;
        }
        record entry;
        status = record_read(row->record, false, &entry);
        // Said when it is read by key; there is no telling which value it would be found by.
        if (status == LARDER_EDAMAGED) status = LARDER_OK;
        else if (!status)
            status = cursor_expand(cursor, &entry, (larder_bytes){NULL, 0}, row, &rows->ordered);
    }
    if (!status) cursor_sort(cursor, &rows->ordered);
    return status;
}

void overlay_rows_free(overlay_rows *rows) {
    free(rows->ordered.items);
    free(rows->by_key.items);
    free(rows->long_keys);
    overlay_free(&rows->overlay);
}
