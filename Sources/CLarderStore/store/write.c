// SPDX-License-Identifier: MIT
/** @file write.c
    Writing. */
#include "checkpoint/append.h"
#include "checkpoint/checkpoint.h"

void larder_store_item_init(larder_store_item *item, larder_bytes key, larder_bytes value) {
    *item = (larder_store_item){.key = key,
                                .value = value,
                                .expires_ns = LARDER_STORE_NEVER,
                                .idle_ns = LARDER_STORE_NEVER,
                                .refresh_ns = LARDER_STORE_NEVER};
}

/** Appends a removal, of one key or of all. */
static larder_status append_bare(larder_store *store, uint8_t kind, larder_bytes key,
                                 uint32_t flags) {
    size_t length = RECORD_HEAD_BYTES + key.length;
    uint8_t *target;
    larder_status status =
        larder_store_begin_append(store, record_padded(length), 1, flags, true, &target);
    if (status) return status;
    store_log *log = &store->pending.log;
    (void)larder_record_write_bare(target, kind, key);
    if (kind == RECORD_REMOVE)
        atomic_fetch_add_explicit(&store->figures.removed, 1, memory_order_relaxed);
    larder_log_publish(log, record_padded(length), 1,
                       larder_record_seal(target, length, log->last_sequence + 1, 0, false));
    return larder_store_end_append(store, target, record_padded(length), 1, flags, NULL);
}

larder_status larder_store_put(larder_store *store, const larder_store_item *item,
                               uint64_t *sequence) {
    size_t length;
    if (sequence != NULL) *sequence = 0;
    larder_status status = store_enter_to_write(store);
    if (!status) status = larder_store_item_size(item, &length);
    if (status) return status;
    int64_t written = item->written_ns != 0 ? item->written_ns : expiry_now(&store->expiry);
    uint8_t *target;
    status =
        larder_store_begin_append(store, record_padded(length), 1, item->flags, false, &target);
    if (status) return status;
    store_log *log = &store->pending.log;
    larder_record_write(target, item, length, written);
    atomic_fetch_add_explicit(&store->figures.written, 1, memory_order_relaxed);
    larder_log_publish(log, record_padded(length), 1,
                       larder_record_seal(target, length, log->last_sequence + 1, 0, false));
    return larder_store_end_append(store, target, record_padded(length), 1, item->flags, sequence);
}

larder_status larder_store_remove(larder_store *store, larder_bytes key, uint32_t flags) {
    larder_status status = store_enter_to_write(store);
    if (status) return status;
    if ((flags & ~(uint32_t)(LARDER_STORE_SYNCED | LARDER_STORE_NO_WAIT)) != 0)
        return LARDER_EINVALID;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    return append_bare(store, RECORD_REMOVE, key, flags);
}

larder_status larder_store_remove_all(larder_store *store, larder_progress progress,
                                      void *context) {
    larder_status status = store_enter_to_write(store);
    if (!status) status = append_bare(store, RECORD_CLEAR, (larder_bytes){0}, 0);
    if (status || progress == NULL) return status;
    flush_order order = {.progress = progress, .context = context};
    status = larder_store_checkpoint(store, &order);
    return status ? status : order.deletion;
}

/** Removes entries of a query, as many as a batch may have; the query begins at the last one then.
    @param cursor NULL for one to be opened; stays open where it does no harm.
    @param last room for its key.
    @param is_damaged becomes true if there are some of which nobody knows the key.
    @return LARDER_END: there are no more. */
static larder_status remove_some(larder_store *store, larder_store_batch *batch,
                                 larder_store_query *query, larder_store_cursor **cursor,
                                 uint8_t *last, uint64_t *removed, bool *is_damaged) {
    enum { BATCH_MAX_COUNT = 1024 };
    uint64_t count = 0;
    size_t length = 0;
    larder_status found = LARDER_OK, status = LARDER_OK;
    if (*cursor == NULL) status = larder_store_cursor_open(store, query, cursor);
    if (status) return status;
    while (!found && count < BATCH_MAX_COUNT) {
        larder_store_entry entry;
        found = larder_store_cursor_next(*cursor, &entry);
        if (found == LARDER_EDAMAGED) {
            found = LARDER_OK;
            // Whatever the row leads to, its key begins with the prefix.
            if (entry.key.length == 0) {
                *is_damaged = true;
                continue;
            }
        }
        if (!found) found = larder_store_batch_remove(batch, entry.key);
        if (found) break;
        length = entry.key.length;
        if (length > 0) memcpy(last, entry.key.data, length);
        count++;
    }
    // The batch is full, and the entry for the next one.
    bool is_full = found == LARDER_ETOOLARGE && count > 0;
    if (is_full) found = LARDER_OK;
    // What it looks at is kept: on a full disk nothing came free for what follows.
    if (is_full || larder_environment_is_short(store->index.environment)) {
        larder_store_cursor_close(*cursor);
        *cursor = NULL;
    }
    if (count > 0) query->lower = (larder_bytes){last, length};
    if (!found || found == LARDER_END) status = larder_store_batch_commit(batch, 0, NULL);
    if (!status && removed != NULL) *removed += count;
    return status ? status : found;
}

larder_status larder_store_remove_prefix(larder_store *store, larder_bytes prefix,
                                         uint64_t *removed) {
    if (removed != NULL) *removed = 0;
    larder_store_query query;
    larder_store_query_init(&query);
    query.prefix = prefix;
    query.flags = LARDER_STORE_WITHOUT_VALUE | LARDER_STORE_EXPIRED_TOO;
    larder_store_batch *batch;
    larder_store_cursor *cursor = NULL;
    bool is_damaged = false;
    uint8_t *last = malloc(LARDER_STORE_KEY_MAX_BYTES);
    larder_status status = last == NULL ? ENOMEM : larder_store_batch_create(store, &batch);
    if (!status) {
        do status = remove_some(store, batch, &query, &cursor, last, removed, &is_damaged);
        while (!status);
        larder_store_cursor_close(cursor);
        larder_store_batch_destroy(batch);
    }
    free(last);
    if (status != LARDER_END) return status;
    return is_damaged ? LARDER_EDAMAGED : LARDER_OK;
}
