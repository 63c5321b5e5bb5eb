// SPDX-License-Identifier: MIT
/** @file sync.c
    Syncing the log: a group commit. */
#include "handle/pending.h"

larder_status larder_store_sync_held(larder_store *store) {
    if (!store->is_settled && store->log.active != NULL) {
        larder_status status = larder_environment_settle(store->environment);
        if (status) return status;
        store->is_settled = true;
    }
    return larder_log_sync(&store->log, &store->lock);
}

larder_status larder_store_sync_through(larder_store *store, uint64_t sequence) {
    pthread_mutex_lock(&store->sync_lock);
    larder_status status = LARDER_OK;
    if (store->log.synced_sequence < sequence) {
        pthread_mutex_lock(&store->lock);
        store->unsynced_since_ns = 0;
        pthread_mutex_unlock(&store->lock);
        status = larder_store_sync_held(store);
    }
    pthread_mutex_unlock(&store->sync_lock);
    return status;
}

larder_status larder_store_sync_log(larder_store *store) {
    return larder_store_sync_through(store, UINT64_MAX);
}

larder_status larder_store_sync(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    return !status ? larder_store_sync_log(store) : status;
}
