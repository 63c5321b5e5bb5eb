// SPDX-License-Identifier: MIT
/** @file compact.c
    Compaction is cleaning without a threshold: checkpoints that clean every segment with anything
    dead in it, until that frees no more. */
#include <errno.h>
#include <stdlib.h>

#include "store/store_internal.h"

/** Nothing expires while a store is compacted, whatever clock its owner goes by. */
static int64_t no_time(void *context) {
    (void)context;
    return 0;
}

static larder_status compact_open(const char *path, larder_store_detail *detail,
                                  larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_EXISTING | LARDER_STORE_HOST_MAINTENANCE;
    options.clock = no_time;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
    // New segments have the permissions that the store's file has.
    char *name = environment_path(path, "data.mdb");
    if (!name) return ENOMEM;
    file_facts facts;
    if (file_facts_at(name, &facts) == LARDER_OK && facts.is_regular && (facts.mode & 0777))
        options.mode = facts.mode & 0777;
    free(name);
    return larder_store_open(path, &options, detail, out);
}

/** Bytes of segments that the tree does not lead to. */
static uint64_t dead_bytes(larder_store *store) {
    uint64_t used, live;
    pthread_mutex_lock(&store->flush_lock);
    live_totals(&store->live, &used, &live);
    pthread_mutex_unlock(&store->flush_lock);
    return used > live ? used - live : 0;
}

larder_status larder_store_compact(const char *path, larder_store_detail *detail,
                                   larder_progress progress, void *context) {
    larder_store *store;
    larder_status status = compact_open(path, detail, &store);
    if (status) return status;
    // What is dead in the last segment, too.
    if (!status)
        status = store_flush(store, &(flush_order){.count = LARDER_STORE_UNLIMITED,
                                                   .bytes = LARDER_STORE_UNLIMITED});
    pthread_mutex_lock(&store->lock);
    if (!status) status = log_turn_over(&store->log);
    pthread_mutex_unlock(&store->lock);
    if (!status)
        status = store_flush(store, &(flush_order){.flags = FLUSH_PASSES,
                                                   .count = LARDER_STORE_UNLIMITED,
                                                   .bytes = LARDER_STORE_UNLIMITED});
    // Once more than frees anything, for what the last one retired. Removals that have to be
    // remembered stay.
    for (uint64_t dead = UINT64_MAX, before = 0; !status && dead != before;) {
        flush_order order = {0};
        order.flags = FLUSH_COMPACTS;
        order.progress = progress;
        order.context = context;
        status = store_flush(store, &order);
        if (!status) status = order.deletion;
        before = dead;
        dead = dead_bytes(store);
    }
    larder_status closed = larder_store_shutdown(store);
    larder_store_close(store);
    return status ? status : closed;
}
