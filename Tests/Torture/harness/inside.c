// SPDX-License-Identifier: MIT
// Looks into a store's handle. By itself, because the library's own headers and the harness's have
// names in common.
#include "faults.h"
#include "handle/handle.h"

bool store_is_inside(larder_store *store) {
    if (!store || pthread_mutex_trylock(&store->index.lock) != 0) {
        return store != NULL;
    }
    pthread_mutex_unlock(&store->index.lock);
    return false;
}

void store_hold(larder_store *store, bool holds) {
    if (holds) pthread_mutex_lock(&store->pending.lock);
    else pthread_mutex_unlock(&store->pending.lock);
}
