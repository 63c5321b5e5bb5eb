// SPDX-License-Identifier: MIT
/** @file cursor_touched.c
    In the order of use: entries that were read, and whose reads no checkpoint has folded in yet.
    They stand where the checkpoint will move them. */
#include "read/cursor.h"

void larder_touched_gather(larder_store_cursor *cursor) {
    larder_store *store = cursor->store;
    bool *counts = &cursor->pending.touched.counts;
    *counts = cursor->query.order == LARDER_STORE_BY_RECENCY && !store_is_read_only(store) &&
              atomic_load_explicit(&store->expiry.tracks_access, memory_order_relaxed);
    if (*counts)
        larder_environment_drain_touches(store->index.environment, &store->index.waiting,
                                         &store->pending.lock, false);
}

larder_status larder_touched_copy(larder_store_cursor *cursor) {
    touch_buffer *copy = &cursor->pending.touched.buffer;
    const touch_buffer *sources[] = {&cursor->store->index.folding, &cursor->store->index.waiting};
    for (int i = 0; i < 2; i++) larder_touch_buffer_append(sources[i], copy);
    return copy->dropped ? ENOMEM : LARDER_OK;
}

static int compare_reads(const void *a, const void *b) {
    const cursor_row *left = a, *right = b;
    int order = compare_bytes(left->stored, right->stored);
    return order ? order : compare_stamps(left->at, right->at);
}

larder_status larder_touched_sort(larder_store_cursor *cursor) {
    touched_rows *rows = &cursor->pending.touched;
    for (uint32_t i = 0; i < rows->buffer.count; i++) {
        const touch *noted = &rows->buffer.touches[i];
        cursor_row row = {.stored = {rows->buffer.bytes + noted->offset, noted->length},
                          .at = noted->at};
        larder_status status = larder_row_array_add(&rows->by_key, &row);
        if (status) return status;
    }
    if (rows->by_key.count == 0) return LARDER_OK;
    qsort(rows->by_key.items, rows->by_key.count, sizeof(cursor_row), compare_reads);
    size_t kept = 0;
    for (size_t i = 0; i < rows->by_key.count; i++) {
        cursor_row *row = &rows->by_key.items[i];
        bool is_again =
            kept && compare_bytes(rows->by_key.items[kept - 1].stored, row->stored) == 0;
        rows->by_key.items[is_again ? kept - 1 : kept++] = *row;
    }
    rows->by_key.count = kept;
    for (size_t i = 0; i < kept; i++) {
        larder_status status = larder_row_array_add(&rows->ordered, &rows->by_key.items[i]);
        if (status) return status;
    }
    larder_cursor_sort(&rows->ordered);
    return LARDER_OK;
}

void larder_touched_free(touched_rows *rows) {
    larder_touch_buffer_free(&rows->buffer);
    free(rows->by_key.items);
    free(rows->ordered.items);
}

bool larder_touched_hides(const larder_store_cursor *cursor, larder_bytes stored, stamp at) {
    const cursor_row *row = larder_rows_find(&cursor->pending.touched.by_key, stored);
    return row && compare_stamps(row->at, at) > 0;
}

const cursor_row *larder_touched_next(const larder_store_cursor *cursor) {
    const touched_rows *rows = &cursor->pending.touched;
    size_t count = rows->ordered.count;
    if (rows->given == count) return NULL;
    return &rows->ordered.items[cursor->descends ? count - 1 - rows->given : rows->given];
}

stamp larder_touched_in_tree(const larder_store_cursor *cursor, larder_bytes stored,
                             const entry_row *row) {
    tree_key key;
    larder_bytes state;
    const stamp written = {row->sequence, row->minor};
    larder_tree_key_of_stored(SPACE_RECENCY, stored, &key);
    if (larder_tree_get(&cursor->place->tree, bytes_of_key(&key), &state) != LARDER_OK ||
        state.length != STATE_BYTES)
        return written;
    const uint8_t *parts = state.data;
    const stamp noted = {get_be64(parts), get_be64(parts + 8)};
    // Of an earlier write under the key?
    return compare_stamps(noted, written) < 0 ? written : noted;
}

bool larder_touched_row(const larder_store_cursor *cursor, const cursor_row *read,
                        cursor_row *out) {
    const write_row *write = larder_overlay_find(cursor, read->stored);
    *out = *read;
    if (write) {
        const stamp written = record_stamp(write->record);
        out->record = record_bytes(write->record);
        out->segment = write->segment;
        return record_kind(write->record) == RECORD_PUT && compare_stamps(written, read->at) < 0;
    }
    entry_row row;
    if (cursor->pending.hides_tree) return false;
    larder_status status = larder_cursor_find_entry(cursor, read->stored, out);
    if (status == LARDER_ENOTFOUND) return false;
    if (!status) status = larder_row_read(out->record, &row);
    // Damage is told of where the record is read.
    if (status) out->record = (larder_bytes){NULL, 0};
    return status ||
           compare_stamps(larder_touched_in_tree(cursor, read->stored, &row), read->at) < 0;
}
