// SPDX-License-Identifier: MIT
/** @file append.c
    A write's way into the log, and into the memtable: with room for it, which a checkpoint may have
    to make. */
#include "checkpoint/append.h"

#include "checkpoint/checkpoint.h"

larder_status larder_store_item_size(const larder_store_item *item, size_t *length) {
    const uint32_t flags = LARDER_STORE_SYNCED | LARDER_STORE_OWN_TIMES;
    if ((item->flags & ~flags) != 0) return LARDER_EINVALID;
    *length = larder_record_size(item);
    return *length == SIZE_MAX ? LARDER_ETOOLARGE : LARDER_OK;
}

/** Whether so many more records have to wait for a checkpoint: `lock` is held. */
static bool is_log_full(const pending_writes *pending, size_t length, uint32_t count) {
    // A write is let through when nothing else waits, however large it is.
    if (pending->log.unapplied_bytes == 0) return false;
    // What a checkpoint is applying counts as far as it may be as much again: one that fails stops
    // the writers sooner or later.
    uint64_t bytes = pending->bytes_limit, keys = pending->count_limit;
    const memtable *active = pending->active;
    return (active->count > 0 &&
            (active->bytes + length > bytes || (uint64_t)active->count + count > keys)) ||
           pending->log.unapplied_bytes + length > 2 * bytes ||
           atomic_load_explicit(&pending->count, memory_order_relaxed) + count > 2 * keys;
}

/** What is left for the smallest checkpoint. */
enum { ROOM_LEAST_BYTES = 4 << 10 };

/** Room that a checkpoint may take for what waits and what the tree has, so that it never fails for
    the want of it as long as nobody else fills the disk: pages that it rewrites, and new
    rows. */
static uint64_t checkpoint_room(const larder_store *store) {
    const uint64_t row_bytes = 200;
    uint64_t pending = atomic_load_explicit(&store->pending.count, memory_order_relaxed);
    uint64_t whole = (store->index.meta.count + pending) * row_bytes;
    uint64_t touched = store->tuning.transaction_max_count * 4096;
    return ROOM_LEAST_BYTES + pending * row_bytes + 3 * (whole < touched ? whole : touched);
}

/** Whether a write may take a new segment. A put leaves what checkpoints and removals may need, a
    removal the least of it: so a store that has filled its disk can be emptied. `lock` is held. */
static bool has_room(larder_store *store, size_t length, bool is_removal) {
    store_log *log = &store->pending.log;
    uint64_t room;
    if (!larder_log_turns_over(log, length) ||
        larder_os_file_system_room(store->identity.path, &room) != LARDER_OK)
        return true;
    // The less there is, the sooner this is asked again.
    log->capacity_limit_bytes = room / 16 + 1;
    uint64_t taken = log->spare != NULL ? length : larder_log_next_capacity(log) + length;
    return room >= taken + (is_removal ? ROOM_LEAST_BYTES : checkpoint_room(store));
}

/** Room in the log; `lock` is held. */
static larder_status reserve(larder_store *store, size_t length, bool is_removal, uint8_t **out) {
    if (has_room(store, length, is_removal))
        return larder_log_reserve(&store->pending.log, length, is_removal, out);
    return is_removal ? larder_log_reserve_kept(&store->pending.log, length, out) : ENOSPC;
}

/** As larder_store_begin_append, where no checkpoint is needed. LARDER_END: one is. */
static larder_status try_append(larder_store *store, size_t length, uint32_t count, bool is_removal,
                                uint8_t **target) {
    pthread_mutex_lock(&store->pending.lock);
    larder_status status = store_enter(store);
    while (!status && larder_store_hold_back(store, length)) status = store_enter(store);
    if (!status) status = larder_memtable_reserve(store->pending.active, count);
    if (!status && is_log_full(&store->pending, length, count)) status = LARDER_END;
    if (!status) status = reserve(store, length, is_removal, target);
    if (status) pthread_mutex_unlock(&store->pending.lock);
    return status;
}

larder_status larder_store_begin_append(larder_store *store, size_t length, uint32_t count,
                                        bool is_removal, uint8_t **target) {
    flush_order order = {.flags = FLUSH_FOR_ROOM};
    for (int shortages = 0;; order.flags = 0) {
        larder_status status = try_append(store, length, count, is_removal, target);
        // Without room for a segment: a checkpoint may give some back, once.
        bool is_short = status == ENOSPC || status == EDQUOT;
        if (is_short) shortages++;
        if ((status != LARDER_END && !is_short) || shortages > (is_removal ? 2 : 1)) return status;
        if (shortages == 2) {
            // What is kept for the tree makes room for the removal that will make more.
            pthread_mutex_lock(&store->index.lock);
            larder_environment_unreserve(store->index.environment);
            pthread_mutex_unlock(&store->index.lock);
            continue;
        }
        if (is_short) order.flags = 0;
        larder_status flushed = larder_store_checkpoint(store, &order);
        if (flushed) return is_short ? status : flushed;
    }
}

/** Tells the checkpoint's thread of the first write after a pause, and when much waits: the more it
    carries, the fewer times a page of the tree is written. */
static void store_tell(larder_store *store) {
    maintenance *work = &store->maintenance;
    bool is_nearly_full = pending_is_nearly_full(&store->pending, 0);
    bool is_first = work->pending_since_ns == 0;
    bool is_first_unsynced = store->syncing.unsynced_since_ns == 0;
    if (is_first) work->pending_since_ns = larder_os_monotonic_ns();
    if (is_first_unsynced) store->syncing.unsynced_since_ns = larder_os_monotonic_ns();
    const segment *active = store->pending.log.active;
    if (store->pending.log.spare == NULL && work->spare_asked_for != active->number &&
        atomic_load_explicit(&active->end, memory_order_relaxed) > active->capacity / 2) {
        work->spare_asked_for = active->number;
        work->wants_spare = true;
        larder_store_wake(store);
    }
    bool wakes = is_first || is_first_unsynced || (is_nearly_full && !work->wants_flush);
    if (is_nearly_full) work->wants_flush = true;
    if (wakes) larder_store_wake(store);
}

larder_status larder_store_end_append(larder_store *store, const uint8_t *target, size_t length,
                                      uint32_t count, uint64_t first_word, uint32_t flags,
                                      uint64_t *sequence) {
    pending_writes *pending = &store->pending;
    larder_log_publish(&pending->log, length, count, first_word);
    const segment *to = pending->log.active;
    larder_store_publish(store, target, count, to->number);
    pending->active->end =
        (location){to->number, atomic_load_explicit(&to->end, memory_order_relaxed)};
    uint64_t last = pending->log.last_sequence;
    store_tell(store);
    pthread_mutex_unlock(&pending->lock);
    atomic_fetch_add_explicit(&store->figures.appended_bytes, length, memory_order_relaxed);
    if (sequence != NULL) *sequence = last;
    return (flags & LARDER_STORE_SYNCED) != 0 ? larder_store_sync_through(store, last) : LARDER_OK;
}
