// SPDX-License-Identifier: MIT
/** @file append.c
    A write's way into the log, and into the memtable: with room for it, which a checkpoint may have
    to make. */
#include "checkpoint/append.h"

#include "checkpoint/checkpoint.h"
#include "cleaning/clean.h"

larder_status larder_store_item_size(const larder_store_item *item, size_t *length) {
    const uint32_t flags = LARDER_STORE_SYNCED | LARDER_STORE_OWN_TIMES | LARDER_STORE_NO_WAIT;
    if ((item->flags & ~flags) != 0) return LARDER_EINVALID;
    *length = larder_record_size(item);
    return *length == SIZE_MAX ? LARDER_ETOOLARGE : LARDER_OK;
}

/** A write that asks for room. */
typedef struct room_request {
    size_t length;
    uint32_t count;
    bool is_removal;
    /** Else EAGAIN is given where a lock, a checkpoint or a file would be waited for. */
    bool waits;
    /** It is more than may wait beside others: until it is through, they wait for it. */
    bool is_large;
    /** How often there was no room on the disk. */
    int shortages;
    /** What the file system is to have, when nothing waits. */
    uint64_t wanted;
} room_request;

/** Whether so many more records have to wait for a checkpoint: the pending lock is held. */
static bool is_full(const larder_store *store, const room_request *asked) {
    const pending_writes *pending = &store->pending;
    // A write is let through when nothing else waits, however large it is.
    if (pending->log.unapplied_bytes == 0) return false;
    const pending_room room = asked->is_removal ? larder_store_journal_room(store) : pending->room;
    const memtable *active = pending->active;
    return (active->count > 0 && (active->bytes + asked->length > room.active_bytes ||
                                  (uint64_t)active->count + asked->count > room.active_count)) ||
           pending->log.unapplied_bytes + asked->length > room.bytes ||
           atomic_load_explicit(&pending->count, memory_order_relaxed) + asked->count > room.count;
}

/** What the rows of all that waits may take. Pages are two thirds full. */
static uint64_t pending_rows(const pending_writes *pending) {
    uint64_t bytes = pending->active->row_bytes;
    if (pending->frozen != NULL) bytes += pending->frozen->row_bytes;
    return bytes + bytes / 2;
}

/** Whether a write may take a new segment; the pending lock is held. A put leaves what checkpoints
    and removals may need, so that a store that has filled its disk can be emptied; while much waits
    of which only a guess tells what it will take, a checkpoint has to find out first. A removal
    leaves a part of it, and the least where a checkpoint did not help. */
static bool has_room(larder_store *store, room_request *asked) {
    store_log *log = &store->pending.log;
    const size_t length = asked->length;
    const int shortages = asked->shortages;
    uint64_t room;
    if (!larder_log_turns_over(log, length) ||
        larder_os_file_system_room(store->identity.path, &room) != LARDER_OK)
        return true;
    // The less there is, the sooner this is asked again, and the less room it takes to clean it.
    log->capacity_limit_bytes = room / 64 + 1;
    uint64_t taken = log->spare != NULL ? length : larder_log_next_capacity(log) + length;
    uint64_t left = larder_store_room_to_keep(store), rows = pending_rows(&store->pending);
    if (asked->is_removal) left = shortages == 0 ? left / 4 * 3 : larder_store_least_room(store);
    asked->wanted = taken + left;
    if (!asked->is_removal) left += shortages == 0 ? 3 * rows : rows;
    return room >= taken + left;
}

/** Whether a write may have to wait for something that takes its time; the pending lock is held. */
static bool would_wait(const larder_store *store, const room_request *asked) {
    const pending_writes *pending = &store->pending;
    return pending->large_writers > 0 || pending_is_nearly_full(pending, asked->length) ||
           is_full(store, asked) || larder_log_turns_over(&pending->log, asked->length);
}

/** As larder_store_begin_append, where no checkpoint is needed. LARDER_END: one is. */
static larder_status try_append(larder_store *store, room_request *asked, uint8_t **target) {
    pending_writes *pending = &store->pending;
    if (asked->waits) pthread_mutex_lock(&pending->lock);
    else if (pthread_mutex_trylock(&pending->lock) != 0) return EAGAIN;
    larder_status status = store_enter(store);
    if (!status && !asked->waits && would_wait(store, asked)) status = EAGAIN;
    while (!status && pending->large_writers > 0 && !asked->is_large) {
        larder_pending_wait(pending);
        status = store_enter(store);
    }
    while (!status && larder_store_hold_back(store, asked->length)) status = store_enter(store);
    if (!status) status = larder_memtable_reserve(pending->active, asked->count);
    if (!status && is_full(store, asked)) status = LARDER_END;
    if (status == LARDER_END && !asked->is_large && !asked->is_removal &&
        (asked->length > pending->room.active_bytes || asked->count > pending->room.active_count)) {
        asked->is_large = true;
        pending->large_writers++;
    }
    store_log *log = &pending->log;
    if (!status && has_room(store, asked))
        status = larder_log_reserve(log, asked->length, asked->is_removal, target);
    else if (!status)
        status = asked->is_removal ? larder_log_reserve_kept(log, asked->length, target) : ENOSPC;
    if (status) pthread_mutex_unlock(&pending->lock);
    return status;
}

/** Whether there are segments that nobody but feeds' cursors needs. */
static bool keeps_for_cursors(larder_store *store) {
    pthread_mutex_lock(&store->index.lock);
    const bool keeps =
        store->index.retired.count > 0 && larder_cleaning_fed_after(&store->index) != UINT64_MAX;
    pthread_mutex_unlock(&store->index.lock);
    return keeps;
}

/** As larder_store_begin_append, but a large write still has the others wait. */
static larder_status append_at_last(larder_store *store, room_request *asked, uint8_t **target) {
    enum { CURSOR_ROUNDS = 8 };
    int rounds = 0;
    for (uint32_t flags = FLUSH_FOR_ROOM;; flags = 0) {
        larder_status status = try_append(store, asked, target);
        // Without room for a segment: a checkpoint may give some back, once; for a removal once
        // more, when little is enough, for what is dead may not suffice for more.
        bool is_short = status == ENOSPC || status == EDQUOT;
        if (is_short) asked->shortages++;
        if ((status != LARDER_END && !is_short) || asked->shortages > (asked->is_removal ? 4 : 1))
            return status;
        if (is_short && asked->shortages % 2 == 0) {
            // What is kept for the tree makes room for the removal that will make more.
            pthread_mutex_lock(&store->index.lock);
            larder_environment_unreserve(store->index.environment);
            pthread_mutex_unlock(&store->index.lock);
            continue;
        }
        flush_order order = {.flags = is_short ? 0 : flags,
                             .room_bytes = is_short ? asked->wanted : 0};
        larder_status flushed = larder_store_checkpoint(store, &order);
        if (flushed && !(is_short && asked->is_removal)) return is_short ? status : flushed;
        // Of those no more went than was wanted before the checkpoint, behind which it may be more.
        if (is_short && !asked->is_removal && rounds++ < CURSOR_ROUNDS && keeps_for_cursors(store))
            asked->shortages = 0;
    }
}

larder_status larder_store_begin_append(larder_store *store, size_t length, uint32_t count,
                                        uint32_t flags, bool is_removal, uint8_t **target) {
    enum { AT_ONCE_MAX_BYTES = 16 << 10 };
    pending_writes *pending = &store->pending;
    const bool waits = (flags & LARDER_STORE_NO_WAIT) == 0;
    room_request asked = {
        .length = length, .count = count, .is_removal = is_removal, .waits = waits};
    if (!waits && (length > AT_ONCE_MAX_BYTES || (flags & LARDER_STORE_SYNCED) != 0)) return EAGAIN;
    larder_status status = append_at_last(store, &asked, target);
    if (!asked.is_large) return status;
    if (status) pthread_mutex_lock(&pending->lock);
    if (--pending->large_writers == 0) pthread_cond_broadcast(&pending->pressure.relief);
    if (status) pthread_mutex_unlock(&pending->lock);
    return status;
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
                                      uint32_t count, uint32_t flags, uint64_t *sequence) {
    pending_writes *pending = &store->pending;
    const segment *to = pending->log.active;
    larder_store_publish(store, target, count, to->number);
    pending->active->end =
        (location){to->number, atomic_load_explicit(&to->end, memory_order_relaxed)};
    uint64_t last = pending->log.last_sequence;
    store_tell(store);
    pthread_mutex_unlock(&pending->lock);
    feed_tell(&store->feed, FEED_WRITTEN);
    atomic_fetch_add_explicit(&store->figures.appended_bytes, length, memory_order_relaxed);
    if (sequence != NULL) *sequence = last;
    return (flags & LARDER_STORE_SYNCED) != 0 ? larder_store_sync_through(store, last) : LARDER_OK;
}
