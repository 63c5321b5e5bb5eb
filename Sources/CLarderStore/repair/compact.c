// SPDX-License-Identifier: MIT
/** @file compact.c
    Compaction is cleaning without a threshold: checkpoints that clean every segment with anything
    dead in it, until that frees no more. */
#include "checkpoint/checkpoint.h"

/** Bytes of segments that the tree does not lead to. */
static uint64_t dead_bytes(larder_store *store) {
    uint64_t used, live;
    pthread_mutex_lock(&store->index.lock);
    larder_live_totals(&store->index.live, &used, &live);
    pthread_mutex_unlock(&store->index.lock);
    return used > live ? used - live : 0;
}

larder_status larder_store_compact(const char *path, larder_store_detail *detail,
                                   larder_progress progress, void *context) {
    larder_store *store;
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_EXISTING | LARDER_STORE_HOST_MAINTENANCE;
    // New segments have the permissions that the store's file has.
    file_path name;
    larder_os_facts facts;
    if (!larder_os_file_facts_at(larder_environment_path(name, path, "data.mdb"), &facts) &&
        facts.is_regular && (facts.mode & 0777))
        options.mode = facts.mode & 0777;
    larder_status status = larder_store_open(path, &options, detail, &store);
    if (status) return status;
    // What is dead in the last segment, too.
    status = larder_store_flush(store);
    if (!status) status = larder_store_turn_over(store);
    // Once more than frees anything, for what the last one retired. Removals that have to be
    // remembered stay.
    for (uint64_t dead = UINT64_MAX, before = 0; !status && dead != before;) {
        flush_order order = {.flags = FLUSH_COMPACTS, .progress = progress, .context = context};
        status = larder_store_checkpoint(store, &order);
        if (!status) status = order.deletion;
        before = dead;
        dead = dead_bytes(store);
    }
    larder_status closed = larder_store_shutdown(store);
    larder_store_close(store);
    return status ? status : closed;
}
