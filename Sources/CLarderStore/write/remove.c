// SPDX-License-Identifier: MIT
/** @file remove.c
    Removing many entries. */
#include "handle/handle.h"

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
