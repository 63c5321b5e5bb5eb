// SPDX-License-Identifier: MIT
#include "handle/handle.h"

/** So long after `since`; INT64_MAX where one of the two is 0, for never. */
static int64_t due_after(int64_t since_ns, int64_t interval_ns) {
    return since_ns == 0 || interval_ns == 0 ? INT64_MAX : later_by(since_ns, interval_ns);
}

due_times larder_store_due_times(const larder_store *store) {
    const larder_store_options *options = &store->options;
    const maintenance *work = &store->maintenance;
    int64_t trimmed_ns = store->expiry.may_expire ? work->trimmed_ns : 0;
    return (due_times){due_after(trimmed_ns, options->trim_interval_ns),
                       due_after(work->pending_since_ns, options->flush_interval_ns),
                       due_after(store->syncing.unsynced_since_ns, options->sync_interval_ns),
                       due_after(work->asked_for_reads_ns, options->flush_interval_ns)};
}

int64_t larder_store_next_due(const larder_store *store) {
    due_times due = larder_store_due_times(store);
    if (store->maintenance.wants_flush || store->maintenance.wants_spare) return 0;
    return earlier(earlier(due.trim_ns, due.reads_ns), earlier(due.flush_ns, due.sync_ns));
}

void larder_store_has_reads(larder_store *store) {
    maintenance *work = &store->maintenance;
    work->has_reads = true;
    if (work->pending_since_ns != 0) return;
    work->pending_since_ns = larder_os_monotonic_ns();
    larder_store_wake(store);
}

void larder_store_ask_for_reads(larder_store *store) {
    const larder_store_options *options = &store->options;
    if (options->hand_over_reads == NULL) return;
    maintenance *work = &store->maintenance;
    pthread_mutex_lock(&store->pending.lock);
    bool was_asking = work->is_asking_for_reads;
    work->is_asking_for_reads = true;
    work->asked_for_reads_ns = larder_os_monotonic_ns();
    pthread_mutex_unlock(&store->pending.lock);
    if (was_asking) return;
    const bool goes_on = options->hand_over_reads(store, options->context) != 0;
    pthread_mutex_lock(&store->pending.lock);
    work->is_asking_for_reads = false;
    // Where nobody keeps reads, the next checkpoint is soon enough to ask again.
    if (!goes_on) work->asked_for_reads_ns = 0;
    pthread_mutex_unlock(&store->pending.lock);
}

void larder_store_wake(larder_store *store) {
    if (store->maintenance.has_thread)
        larder_os_pool_wake(&store->maintenance.task, larder_store_next_due(store));
}
