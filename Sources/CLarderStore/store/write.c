// SPDX-License-Identifier: MIT
/** @file write.c
    Writing. */
#include "checkpoint/append.h"
#include "checkpoint/checkpoint.h"

void larder_store_item_init(larder_store_item *item, larder_bytes key, larder_bytes value) {
    *item = (larder_store_item){.key = key,
                                .value = value,
                                .expires_ns = LARDER_STORE_NEVER,
                                .idle_ns = LARDER_STORE_NEVER};
}

/** Appends a put, or what has a key alone. */
static larder_status append(larder_store *store, uint8_t kind, const larder_store_item *item,
                            size_t length, uint64_t *sequence) {
    bool is_put = kind == RECORD_PUT;
    int64_t written =
        is_put && item->written_ns == 0 ? expiry_now(&store->expiry) : item->written_ns;
    uint8_t *target;
    larder_status status =
        larder_store_begin_append(store, record_padded(length), 1, !is_put, &target);
    if (status) return status;
    if (is_put) larder_record_write(target, item, length, written);
    else (void)larder_record_write_bare(target, kind, item->key);
    uint64_t first_word =
        larder_record_seal(target, length, store->pending.log.last_sequence + 1, 0, false);
    if (kind != RECORD_CLEAR)
        atomic_fetch_add_explicit(is_put ? &store->figures.written : &store->figures.removed, 1,
                                  memory_order_relaxed);
    return larder_store_end_append(store, target, record_padded(length), 1, first_word, item->flags,
                                   sequence);
}

larder_status larder_store_put(larder_store *store, const larder_store_item *item,
                               uint64_t *sequence) {
    size_t length;
    if (sequence != NULL) *sequence = 0;
    larder_status status = store_enter_to_write(store);
    if (!status) status = larder_store_item_size(item, &length);
    return status ? status : append(store, RECORD_PUT, item, length, sequence);
}

larder_status larder_store_remove(larder_store *store, larder_bytes key, uint32_t flags) {
    larder_status status = store_enter_to_write(store);
    if (status) return status;
    if ((flags & ~(uint32_t)LARDER_STORE_SYNCED) != 0) return LARDER_EINVALID;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    larder_store_item item = {.key = key, .flags = flags};
    return append(store, RECORD_REMOVE, &item, RECORD_HEAD_BYTES + key.length, NULL);
}

larder_status larder_store_remove_all(larder_store *store, larder_progress progress,
                                      void *context) {
    larder_status status = store_enter_to_write(store);
    larder_store_item nothing = {.flags = 0};
    if (!status) status = append(store, RECORD_CLEAR, &nothing, RECORD_HEAD_BYTES, NULL);
    if (status || progress == NULL) return status;
    flush_order order = {.progress = progress, .context = context};
    status = larder_store_checkpoint(store, &order);
    return status ? status : order.deletion;
}

larder_status larder_store_remove_prefix(larder_store *store, larder_bytes prefix,
                                         uint64_t *removed) {
    enum { BATCH_MAX_COUNT = 1024 };
    if (removed != NULL) *removed = 0;
    larder_store_query query;
    larder_store_query_init(&query);
    query.prefix = prefix;
    query.flags = LARDER_STORE_WITHOUT_VALUE | LARDER_STORE_EXPIRED_TOO;
    larder_store_cursor *cursor = NULL;
    larder_store_batch *batch;
    larder_status status = larder_store_batch_create(store, &batch);
    if (!status) status = larder_store_cursor_open(store, &query, &cursor);
    for (uint64_t waiting = 0; !status;) {
        larder_store_entry entry;
        larder_status added = larder_store_cursor_next(cursor, &entry);
        // A damaged entry has no key that could be believed; it stays.
        if (added == LARDER_EDAMAGED) continue;
        if (!added) added = larder_store_batch_remove(batch, entry.key);
        if (!added && ++waiting < BATCH_MAX_COUNT) continue;
        status = larder_store_batch_commit(batch, 0, NULL);
        if (!status && removed != NULL) *removed += waiting;
        waiting = added == LARDER_ETOOLARGE ? 1 : 0;
        // The batch was full.
        if (!status) status = waiting > 0 ? larder_store_batch_remove(batch, entry.key) : added;
    }
    larder_store_batch_destroy(batch);
    larder_store_cursor_close(cursor);
    return status == LARDER_END ? LARDER_OK : status;
}
