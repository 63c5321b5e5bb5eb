// SPDX-License-Identifier: MIT
/** @file thread.c
    What the pool of threads does for a store. */
#include "checkpoint/checkpoint.h"

/** Whether what waits is worth a checkpoint by its age alone: enough beside what the tree holds, or
    nothing came since the last look, or reads wait, or a limit is exceeded. The pending lock is
    held. */
static bool is_worth_it(larder_store *store) {
    uint64_t least = store->index.meta.count / 1000 * store->tuning.checkpoint_permille;
    bool rests = store->maintenance.written_when_due == store->pending.active->last_sequence;
    store->maintenance.written_when_due = store->pending.active->last_sequence;
    if (larder_store_is_over_limit(store) || store->maintenance.has_reads) return true;
    return rests || store->pending.active->count >= least;
}

/** Does the most urgent thing. The pending lock is held, not meanwhile. */
static larder_status work_once(larder_store *store, int64_t now) {
    larder_status status = LARDER_OK;
    const due_times due = larder_store_due_times(store);
    bool prepares = store->maintenance.wants_spare, trims = now >= due.trim_ns;
    if (!prepares && now >= due.flush_ns && !store->maintenance.wants_flush) {
        store->maintenance.wants_flush = is_worth_it(store);
        if (!store->maintenance.wants_flush) store->maintenance.pending_since_ns = now;
    }
    bool flushes = store->maintenance.wants_flush, syncs = now >= due.sync_ns;
    bool asks = now >= due.reads_ns;
    if (prepares) store->maintenance.wants_spare = false;
    else store->maintenance.wants_flush = false;
    if (!prepares && trims) store->maintenance.trimmed_ns = now;
    pthread_mutex_unlock(&store->pending.lock);
    if (prepares) larder_log_prepare(&store->pending.log, &store->pending.lock);
    else if (trims) status = larder_store_maintain(store);
    else if (flushes) status = larder_store_flush(store);
    else if (syncs) status = larder_store_sync(store);
    else if (asks) larder_store_ask_for_reads(store);
    pthread_mutex_lock(&store->pending.lock);
    // An interval has passed already.
    if (asks && store->maintenance.has_reads) store->maintenance.wants_flush = true;
    return status;
}

/** How often a store that nobody writes to looks whether somebody has begun to wait for writes. */
static const int64_t FEED_LOOK_NS = (int64_t)20 * 1000000000;

static int64_t store_work(void *context) {
    larder_store *store = context;
    larder_feed_watch(store);
    pthread_mutex_lock(&store->pending.lock);
    larder_status status = work_once(store, larder_os_monotonic_ns());
    // last_failure says why; the next try is an interval away, or when a write finds no room.
    if (status && store->maintenance.pending_since_ns != 0)
        store->maintenance.pending_since_ns = larder_os_monotonic_ns();
    if (status && store->syncing.unsynced_since_ns != 0)
        store->syncing.unsynced_since_ns = larder_os_monotonic_ns();
    int64_t due = larder_store_next_due(store);
    pthread_mutex_unlock(&store->pending.lock);
    if (atomic_load(&store->feed.page) == NULL)
        due = earlier(due, later_by(larder_os_monotonic_ns(), FEED_LOOK_NS));
    return due;
}

larder_status larder_store_thread_start(larder_store *store) {
    larder_status status = larder_os_pool_add(&store->maintenance.task, store_work, store);
    if (status) return status;
    pthread_mutex_lock(&store->pending.lock);
    store->maintenance.trimmed_ns = larder_os_monotonic_ns();
    if (store->options.hand_over_reads != NULL)
        store->maintenance.asked_for_reads_ns = store->maintenance.trimmed_ns;
    store->maintenance.has_thread = true;
    larder_store_wake(store);
    pthread_mutex_unlock(&store->pending.lock);
    return LARDER_OK;
}

void larder_store_thread_stop(larder_store *store) {
    larder_os_pool_remove(&store->maintenance.task);
    pthread_mutex_lock(&store->pending.lock);
    store->maintenance.has_thread = false;
    pthread_cond_broadcast(&store->pending.pressure.relief);
    pthread_mutex_unlock(&store->pending.lock);
}
