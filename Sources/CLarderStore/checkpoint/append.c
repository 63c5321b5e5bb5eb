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

/** What the rows of all that waits may take. Pages are two thirds full. */
static uint64_t pending_rows(const pending_writes *pending) {
    uint64_t bytes = pending->active->row_bytes;
    if (pending->frozen != NULL) bytes += pending->frozen->row_bytes;
    return bytes + bytes / 2;
}

/** Whether a write may take a new segment; `lock` is held. A put leaves what checkpoints and
    removals may need, so that a store that has filled its disk can be emptied; while much waits of
    which only a guess tells what it will take, a checkpoint has to find out first. A removal leaves
    a part of it, and the least where a checkpoint did not help.
    @param shortages how often there was no room.
    @param wanted receives what the file system is to have, when nothing waits. */
static bool has_room(larder_store *store, size_t length, bool is_removal, int shortages,
                     uint64_t *wanted) {
    store_log *log = &store->pending.log;
    uint64_t room;
    if (!larder_log_turns_over(log, length) ||
        larder_os_file_system_room(store->identity.path, &room) != LARDER_OK)
        return true;
    // The less there is, the sooner this is asked again, and the less room it takes to clean it.
    log->capacity_limit_bytes = room / 64 + 1;
    uint64_t taken = log->spare != NULL ? length : larder_log_next_capacity(log) + length;
    uint64_t left = larder_store_room_to_keep(store), rows = pending_rows(&store->pending);
    if (is_removal) left = shortages == 0 ? left / 4 * 3 : larder_store_least_room(store);
    *wanted = taken + left;
    if (!is_removal) left += shortages == 0 ? 3 * rows : rows;
    return room >= taken + left;
}

/** As larder_store_begin_append, where no checkpoint is needed. LARDER_END: one is.
    @param shortages how often there was no room. */
static larder_status try_append(larder_store *store, size_t length, uint32_t count, bool is_removal,
                                int shortages, uint64_t *wanted, uint8_t **target) {
    pthread_mutex_lock(&store->pending.lock);
    larder_status status = store_enter(store);
    while (!status && larder_store_hold_back(store, length)) status = store_enter(store);
    if (!status) status = larder_memtable_reserve(store->pending.active, count);
    if (!status && is_log_full(&store->pending, length, count)) status = LARDER_END;
    store_log *log = &store->pending.log;
    if (!status && has_room(store, length, is_removal, shortages, wanted))
        status = larder_log_reserve(log, length, is_removal, target);
    else if (!status) status = is_removal ? larder_log_reserve_kept(log, length, target) : ENOSPC;
    if (status) pthread_mutex_unlock(&store->pending.lock);
    return status;
}

larder_status larder_store_begin_append(larder_store *store, size_t length, uint32_t count,
                                        bool is_removal, uint8_t **target) {
    uint64_t wanted = 0;
    uint32_t flags = FLUSH_FOR_ROOM;
    for (int shortages = 0;; flags = 0) {
        larder_status status =
            try_append(store, length, count, is_removal, shortages, &wanted, target);
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
        flush_order order = {.flags = is_short ? 0 : flags, .room_bytes = is_short ? wanted : 0};
        larder_status flushed = larder_store_checkpoint(store, &order);
        if (flushed && !(is_short && is_removal)) return is_short ? status : flushed;
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
