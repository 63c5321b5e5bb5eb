// SPDX-License-Identifier: MIT
/** @file compact.c
    Compaction is cleaning without a threshold: checkpoints that clean every segment with anything
    dead in it, until that frees no more; and then an index without free pages, if it has many. */
#include "checkpoint/checkpoint.h"
#include "repair/salvage.h"

/** Bytes of segments that the tree does not lead to. */
static uint64_t dead_bytes(larder_store *store) {
    uint64_t used, live;
    pthread_mutex_lock(&store->index.lock);
    larder_live_totals(&store->index.live, &used, &live);
    pthread_mutex_unlock(&store->index.lock);
    return used > live ? used - live : 0;
}

static larder_status clean(larder_store *store, larder_progress progress, void *context) {
    // What is dead in the last segment, too.
    larder_status status = larder_store_turn_over(store);
    // Once more than frees anything, for what the last one retired. Removals that have to be
    // remembered stay.
    for (uint64_t dead = UINT64_MAX, before = 0; !status && dead != before;) {
        flush_order order = {.flags = FLUSH_COMPACTS, .progress = progress, .context = context};
        status = larder_store_checkpoint(store, &order);
        if (!status) status = order.deletion;
        before = dead;
        dead = dead_bytes(store);
    }
    return status;
}

/** Whether most of data.mdb is free pages, and these are worth a copy of the others. */
static bool is_mostly_free(const larder_store_statistics *now) {
    const uint64_t least = 64 << 10;
    return now->data_bytes > now->data_used_bytes * 2 &&
           now->data_bytes - now->data_used_bytes >= least;
}

/** @param path of the closed store, absolute: who is told may have moved on. */
static larder_status shrink(const char *path, const larder_store_options *options,
                            larder_progress progress, void *context, uint64_t *bytes) {
    file_path name;
    larder_os_facts facts;
    larder_status status = larder_store_shrink(path, options, progress, context);
    // What is in use, or does not fit beside the old one, stays as it is.
    if (status == LARDER_EBUSY || status == ENOSPC) status = LARDER_OK;
    (void)larder_environment_path(name, path, "data.mdb");
    if (!larder_os_file_facts_at(name, &facts)) *bytes = facts.bytes;
    return status;
}

larder_status larder_store_compact(const char *path, const larder_store_options *options,
                                   larder_store_detail *detail, larder_progress progress,
                                   void *context, larder_store_compaction *report) {
    larder_store *store;
    larder_store_options wanted = larder_store_repair_options(path, options);
    larder_store_statistics before = {0}, after = {0};
    wanted.flags |= LARDER_STORE_EXISTING | LARDER_STORE_HOST_MAINTENANCE;
    if (report) memset(report, 0, sizeof *report);
    if (detail) memset(detail, 0, sizeof *detail);
    if (wanted.flags & LARDER_STORE_READ_ONLY) return LARDER_EINVALID;
    char *whole = NULL;
    larder_status status = larder_store_open(path, &wanted, detail, &store);
    if (status) return status;
    if ((whole = strdup(store->identity.path)) == NULL) status = ENOMEM;
    if (!status) status = larder_store_flush(store);
    if (!status) status = larder_store_statistics_get(store, &before);
    if (!status) status = clean(store, progress, context);
    if (!status) status = larder_store_statistics_get(store, &after);
    larder_status closed = larder_store_shutdown(store);
    larder_store_close(store);
    if (!status) status = closed;
    uint64_t data_bytes = after.data_bytes;
    if (!status && is_mostly_free(&after))
        status = shrink(whole, &wanted, progress, context, &data_bytes);
    free(whole);
    if (!status && report)
        *report = (larder_store_compaction){.log_bytes_before = before.log_used_bytes,
                                            .log_bytes_after = after.log_used_bytes,
                                            .data_bytes_before = before.data_bytes,
                                            .data_bytes_after = data_bytes};
    return status;
}
