// SPDX-License-Identifier: MIT
#include "handle/handle.h"

larder_status larder_store_sync_held(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    bool is_empty = store->pending.log.active == NULL;
    pthread_mutex_unlock(&store->pending.lock);
    // A first segment that comes from here on is for the next time, when all is settled before it.
    if (is_empty) return LARDER_OK;
    if (!store->syncing.is_settled) {
        larder_status status = larder_environment_settle(store->index.environment);
        if (status) return status;
        store->syncing.is_settled = true;
    }
    larder_status status = larder_log_sync(&store->pending.log, &store->pending.lock);
    location synced = store->pending.log.synced_end;
    if (!status && compare_locations(synced, store->identity.synced) > 0)
        larder_identity_note_synced(&store->identity, synced, store->pending.log.store_id);
    if (!status) feed_tell(&store->feed, FEED_SYNCED);
    return status;
}

larder_status larder_store_sync_through(larder_store *store, uint64_t sequence) {
    pthread_mutex_lock(&store->syncing.lock);
    larder_status status = LARDER_OK;
    if (store->pending.log.synced_sequence < sequence) {
        pthread_mutex_lock(&store->pending.lock);
        store->syncing.unsynced_since_ns = 0;
        pthread_mutex_unlock(&store->pending.lock);
        status = larder_store_sync_held(store);
    }
    pthread_mutex_unlock(&store->syncing.lock);
    return status;
}

larder_status larder_store_sync(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    return !status ? larder_store_sync_through(store, UINT64_MAX) : status;
}
