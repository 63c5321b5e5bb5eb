// SPDX-License-Identifier: MIT
/** @file schedule.c
    When the thread in the background has something to do, and who tells it. */
#include "handle/entry.h"
#include "handle/pending.h"
#include "larder_os_machine.h"

/** So long after `since`; INT64_MAX where one of the two is 0, for never. */
static int64_t due_after(int64_t since_ns, int64_t interval_ns) {
    return since_ns == 0 || interval_ns == 0 ? INT64_MAX : later_by(since_ns, interval_ns);
}

int64_t larder_schedule_trim(const larder_store *store) {
    return store->may_expire ? due_after(store->trimmed_ns, store->options.trim_interval_ns)
                             : INT64_MAX;
}

int64_t larder_schedule_flush(const larder_store *store) {
    return due_after(store->pending_since_ns, store->options.flush_interval_ns);
}

int64_t larder_schedule_sync(const larder_store *store) {
    return due_after(store->unsynced_since_ns, store->options.sync_interval_ns);
}

int64_t larder_schedule_next(const larder_store *store) {
    if (store->wants_flush || store->wants_spare) return 0;
    return earlier(larder_schedule_trim(store),
                   earlier(larder_schedule_flush(store), larder_schedule_sync(store)));
}

void larder_store_wake(larder_store *store) {
    if (store->has_thread) larder_os_pool_wake(&store->task, larder_schedule_next(store));
}

void larder_schedule_tell(larder_store *store) {
    bool is_nearly_full = larder_store_is_nearly_full(store, 0);
    bool is_first = store->pending_since_ns == 0;
    bool is_first_unsynced = store->unsynced_since_ns == 0;
    if (is_first) store->pending_since_ns = larder_os_monotonic_ns();
    if (is_first_unsynced) store->unsynced_since_ns = larder_os_monotonic_ns();
    const segment *active = store->log.active;
    if (store->log.spare == NULL && store->spare_asked_for != active->number &&
        atomic_load_explicit(&active->end, memory_order_relaxed) > active->capacity / 2) {
        store->spare_asked_for = active->number;
        store->wants_spare = true;
        larder_store_wake(store);
    }
    bool wakes = is_first || is_first_unsynced || (is_nearly_full && !store->wants_flush);
    if (is_nearly_full) store->wants_flush = true;
    if (wakes) larder_store_wake(store);
}
