// SPDX-License-Identifier: MIT
/** @file write.c
    Writing: into the log, and into the memtable. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#ifdef LARDER_PLANT_STORE_HALF_A_BATCH
#include <unistd.h>
#endif

#include "store/store_internal.h"

larder_status store_enter_to_write(const larder_store *store) {
    larder_status status = store_enter(store);
    if (status == LARDER_OK && store_is_read_only(store)) status = LARDER_EREADONLY;
    return status;
}

// Appending ---------------------------------------------------------------------------------------

/** Whether so many more records have to wait for a checkpoint: `lock` is held. */
static bool is_log_full(const larder_store *store, size_t length, uint32_t count) {
    // A write is let through when nothing else waits, however large it is.
    if (store->log.unapplied_bytes == 0) return false;
    // What a checkpoint is applying counts as far as it may be as much again: one that fails stops
    // the writers sooner or later.
    uint64_t bytes = store->options.journal_bytes, keys = store->tuning.memtable_max_count;
    uint64_t pending = atomic_load_explicit(&store->pending_count, memory_order_relaxed);
    return (store->active->count > 0 && (store->active->bytes + length > bytes ||
                                         (uint64_t)store->active->count + count > keys)) ||
           store->log.unapplied_bytes + length > 2 * bytes || pending + count > 2 * keys;
}

/** What is left for the smallest checkpoint. */
enum { ROOM_LEAST_BYTES = 4 << 10 };

/** Room that a checkpoint may take for what waits and what the tree has, so that it never fails for
    the want of it as long as nobody else fills the disk: pages that it writes anew, and new
    rows. */
static uint64_t checkpoint_room(const larder_store *store) {
    const uint64_t row_bytes = 200;
    uint64_t pending = atomic_load_explicit(&store->pending_count, memory_order_relaxed);
    uint64_t whole = (store->committed.count + pending) * row_bytes;
    uint64_t touched = store->tuning.transaction_max_count * 4096;
    return ROOM_LEAST_BYTES + pending * row_bytes + 3 * (whole < touched ? whole : touched);
}

/** Whether a write may take a new segment. A put leaves what checkpoints and removals may need, a
    removal the least of it: so a store that has filled its disk can be emptied. `lock` is held. */
static bool has_room(larder_store *store, size_t length, bool is_removal) {
    uint64_t room;
    if (!log_turns_over(&store->log, length) || file_system_room(store->path, &room) != LARDER_OK)
        return true;
    // The less there is, the sooner this is asked again.
    store->log.capacity_limit_bytes = room / 16 + 1;
    uint64_t taken = store->log.spare != NULL ? length : log_next_capacity(&store->log) + length;
    return room >= taken + (is_removal ? ROOM_LEAST_BYTES : checkpoint_room(store));
}

/** Room in the log; `lock` is held. */
static larder_status reserve(larder_store *store, size_t length, bool is_removal,
                             uint8_t **target) {
    if (has_room(store, length, is_removal))
        return log_reserve(&store->log, length, is_removal, target);
    return is_removal ? log_reserve_kept(&store->log, length, target) : ENOSPC;
}

larder_status store_begin_append(larder_store *store, size_t length, uint32_t count,
                                 bool is_removal, uint8_t **target) {
    bool has_unreserved = false;
    for (bool is_again = false, is_without_room = false;; is_again = true) {
        pthread_mutex_lock(&store->lock);
        larder_status status = store_enter(store);
        while (status == LARDER_OK && store_hold_back(store, length)) status = store_enter(store);
        if (status == LARDER_OK) status = memtable_reserve(store->active, count);
        bool is_full = status == LARDER_OK && is_log_full(store, length, count);
        if (status == LARDER_OK && !is_full) status = reserve(store, length, is_removal, target);
        if (status == LARDER_OK && !is_full) return LARDER_OK;
        pthread_mutex_unlock(&store->lock);
        // Without room for a segment: a checkpoint may give some back, once.
        bool may_help = status == ENOSPC || status == EDQUOT;
        if (status != LARDER_OK && may_help && is_without_room && is_removal && !has_unreserved) {
            // What is kept for the tree makes room for the removal that will make more.
            has_unreserved = true;
            pthread_mutex_lock(&store->flush_lock);
            environment_unreserve(store->environment);
            pthread_mutex_unlock(&store->flush_lock);
            continue;
        }
        if (status != LARDER_OK && (!may_help || is_without_room)) return status;
        is_without_room = may_help;
        flush_order order = {0};
        order.flags = is_again || may_help ? 0 : FLUSH_FOR_ROOM;
        larder_status flushed = store_flush(store, &order);
        if (flushed != LARDER_OK) return status != LARDER_OK ? status : flushed;
    }
}

void store_publish(larder_store *store, const uint8_t *records, uint32_t count, uint32_t number) {
    memtable *active = store->active;
    uint64_t sequence = 0;
    const uint64_t before = memtable_pending(active);
    const uint8_t *at = records;
    if (count > 1) memtable_prefetch(active, records, count < 64 ? count : 64);
    for (uint32_t n = 0; n < count; n++) {
        size_t length = record_padded(record_length(at));
        sequence = record_sequence(at);
        if (record_kind(at) == RECORD_CLEAR) {
            memtable_clear(active, sequence);
        } else {
            memtable_put(active, at, number);
            if ((at[21] & (RECORD_EXPIRES | RECORD_IDLES)) != 0) store->may_expire = true;
        }
        at += length;
#ifdef LARDER_PLANT_STORE_HALF_A_BATCH
        if (n == 0 && store->has_thread) {
            pthread_mutex_unlock(&store->lock);
            usleep(20);
            pthread_mutex_lock(&store->lock);
        }
#endif
    }
    active->bytes += (uint64_t)(at - records);
    if (active->first_segment == 0) active->first_segment = number;
    atomic_fetch_add_explicit(&store->pending_count, memtable_pending(active) - before,
                              memory_order_release);
    atomic_store_explicit(&store->newest_sequence, sequence, memory_order_release);
}

/** Tells the checkpoint's thread of the first write after a pause, and when much waits: the more it
    carries, the fewer times a page of the tree is written. */
static void store_tell(larder_store *store) {
    bool is_nearly_full = store->active->bytes > store->options.journal_bytes / 8 * 7 ||
                          (uint64_t)store->active->count > store->tuning.memtable_max_count / 8 * 7;
    bool is_first = store->pending_since_ns == 0;
    bool is_first_unsynced = store->unsynced_since_ns == 0;
    if (is_first) store->pending_since_ns = system_monotonic_ns();
    if (is_first_unsynced) store->unsynced_since_ns = system_monotonic_ns();
    const segment *active = store->log.active;
    if (store->log.spare == NULL && store->spare_asked_for != active->number &&
        atomic_load_explicit(&active->end, memory_order_relaxed) > active->capacity / 2) {
        store->spare_asked_for = active->number;
        store->wants_spare = true;
        store_wake(store);
    }
    bool wakes = is_first || is_first_unsynced || (is_nearly_full && !store->wants_flush);
    if (is_nearly_full) store->wants_flush = true;
    if (wakes) store_wake(store);
}

void store_end_append(larder_store *store, const uint8_t *target, size_t length, uint32_t count,
                      uint64_t first_word) {
    log_publish(&store->log, length, count, first_word);
    store_publish(store, target, count, store->log.active->number);
    store->active->end =
        (location){store->log.active->number,
                   atomic_load_explicit(&store->log.active->end, memory_order_relaxed)};
    atomic_fetch_add_explicit(&store->appended_bytes, length, memory_order_relaxed);
    store_tell(store);
    pthread_mutex_unlock(&store->lock);
}

larder_status store_sync_held(larder_store *store) {
    if (!store->is_settled && store->log.active != NULL) {
        larder_status status = environment_settle(store->environment);
        if (status != LARDER_OK) return status;
        store->is_settled = true;
    }
    return log_sync(&store->log, &store->lock);
}

/** The group commit: whoever waited for the lock while another one synced may find that done. */
static larder_status sync_through(larder_store *store, uint64_t sequence) {
    pthread_mutex_lock(&store->sync_lock);
    larder_status status = LARDER_OK;
    if (store->log.synced_sequence < sequence) {
        pthread_mutex_lock(&store->lock);
        store->unsynced_since_ns = 0;
        pthread_mutex_unlock(&store->lock);
        status = store_sync_held(store);
    }
    pthread_mutex_unlock(&store->sync_lock);
    return status;
}

larder_status store_sync_log(larder_store *store) { return sync_through(store, UINT64_MAX); }

larder_status store_finish_write(larder_store *store, uint32_t flags, uint64_t number,
                                 uint64_t *sequence) {
    if (sequence != NULL) *sequence = number;
    if ((flags & LARDER_STORE_SYNCED) == 0) return LARDER_OK;
    return sync_through(store, number);
}

larder_status larder_store_sync(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    return status == LARDER_OK ? store_sync_log(store) : status;
}

// The calls ---------------------------------------------------------------------------------------

void larder_store_item_init(larder_store_item *item, larder_bytes key, larder_bytes value) {
    memset(item, 0, sizeof *item);
    item->key = key;
    item->value = value;
    item->expires_ns = LARDER_STORE_NEVER;
    item->idle_ns = LARDER_STORE_NEVER;
}

larder_status larder_store_put(larder_store *store, const larder_store_item *item,
                               uint64_t *sequence) {
    if (sequence != NULL) *sequence = 0;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    size_t length = record_size(item);
    if (length == SIZE_MAX) return LARDER_ETOOLARGE;
    int64_t written = item->written_ns != 0 ? item->written_ns : store_now(store);
    uint8_t *target;
    status = store_begin_append(store, record_padded(length), 1, false, &target);
    if (status != LARDER_OK) return status;
    record_write(target, item, length, written);
    uint64_t number = store->log.last_sequence + 1;
    uint64_t first_word = record_seal(target, length, number, 0, false);
    store_end_append(store, target, record_padded(length), 1, first_word);
    atomic_fetch_add_explicit(&store->written, 1, memory_order_relaxed);
    return store_finish_write(store, item->flags, number, sequence);
}

/** Appends a record of a key alone. */
static larder_status append_bare(larder_store *store, uint8_t kind, larder_bytes key,
                                 uint32_t flags) {
    uint8_t *target;
    size_t room = record_padded(RECORD_HEAD_BYTES + key.length);
    larder_status status = store_begin_append(store, room, 1, true, &target);
    if (status != LARDER_OK) return status;
    size_t length = record_write_bare(target, kind, key);
    uint64_t number = store->log.last_sequence + 1;
    uint64_t first_word = record_seal(target, length, number, 0, false);
    store_end_append(store, target, room, 1, first_word);
    return store_finish_write(store, flags, number, NULL);
}

larder_status larder_store_remove(larder_store *store, larder_bytes key, uint32_t flags) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    status = append_bare(store, RECORD_REMOVE, key, flags);
    if (status == LARDER_OK) atomic_fetch_add_explicit(&store->removed, 1, memory_order_relaxed);
    return status;
}

larder_status larder_store_remove_all(larder_store *store, larder_progress progress,
                                      void *context) {
    larder_status status = store_enter_to_write(store);
    if (status == LARDER_OK) status = append_bare(store, RECORD_CLEAR, (larder_bytes){NULL, 0}, 0);
    if (status != LARDER_OK || progress == NULL) return status;
    flush_order order = {0};
    order.progress = progress;
    order.context = context;
    status = store_flush(store, &order);
    return status == LARDER_OK ? order.deletion : status;
}

larder_status larder_store_remove_prefix(larder_store *store, larder_bytes prefix,
                                         uint64_t *removed) {
    enum { BATCH_MAX_COUNT = 1024 };
    if (removed != NULL) *removed = 0;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    larder_store_query query;
    larder_store_query_init(&query);
    query.prefix = prefix;
    query.flags = LARDER_STORE_WITHOUT_VALUE | LARDER_STORE_EXPIRED_TOO;
    larder_store_cursor *cursor = NULL;
    larder_store_batch *batch = NULL;
    status = larder_store_cursor_open(store, &query, &cursor);
    if (status == LARDER_OK) status = larder_store_batch_create(store, &batch);
    uint64_t waiting = 0;
    while (status == LARDER_OK) {
        larder_store_entry entry;
        status = larder_store_cursor_next(cursor, &entry);
        // A damaged entry has no key that could be believed; it stays.
        if (status == LARDER_EDAMAGED) {
            status = LARDER_OK;
            continue;
        }
        if (status == LARDER_OK) status = larder_store_batch_remove(batch, entry.key);
        bool is_full = status == LARDER_ETOOLARGE && waiting > 0;
        if (status == LARDER_OK) waiting++;
        if (!is_full && status != LARDER_END && waiting < BATCH_MAX_COUNT) continue;
        larder_status committed = larder_store_batch_commit(batch, 0, NULL);
        if (committed == LARDER_OK && removed != NULL) *removed += waiting;
        waiting = committed == LARDER_OK && is_full ? 1 : 0;
        if (committed != LARDER_OK) status = committed;
        else if (is_full) status = larder_store_batch_remove(batch, entry.key);
    }
    larder_store_batch_destroy(batch);
    larder_store_cursor_close(cursor);
    return status == LARDER_END ? LARDER_OK : status;
}
