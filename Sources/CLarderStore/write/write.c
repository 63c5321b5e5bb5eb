// SPDX-License-Identifier: MIT
/** @file write.c
    Writing: into the log, and into the memtable. */
#include "write/write.h"

#include <errno.h>

#include "checkpoint/checkpoint.h"
#include "handle/entry.h"
#include "handle/pending.h"
#include "larder_os_machine.h"

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
    the want of it as long as nobody else fills the disk: pages that it rewrites, and new
    rows. */
static uint64_t checkpoint_room(const larder_store *store) {
    const uint64_t row_bytes = 200;
    uint64_t pending = atomic_load_explicit(&store->pending_count, memory_order_relaxed);
    uint64_t whole = (store->meta.count + pending) * row_bytes;
    uint64_t touched = store->tuning.transaction_max_count * 4096;
    return ROOM_LEAST_BYTES + pending * row_bytes + 3 * (whole < touched ? whole : touched);
}

/** Whether a write may take a new segment. A put leaves what checkpoints and removals may need, a
    removal the least of it: so a store that has filled its disk can be emptied. `lock` is held. */
static bool has_room(larder_store *store, size_t length, bool is_removal) {
    uint64_t room;
    if (!larder_log_turns_over(&store->log, length) ||
        larder_os_file_system_room(store->path, &room) != LARDER_OK)
        return true;
    // The less there is, the sooner this is asked again.
    store->log.capacity_limit_bytes = room / 16 + 1;
    uint64_t taken =
        store->log.spare != NULL ? length : larder_log_next_capacity(&store->log) + length;
    return room >= taken + (is_removal ? ROOM_LEAST_BYTES : checkpoint_room(store));
}

/** Room in the log; `lock` is held. */
static larder_status reserve(larder_store *store, size_t length, bool is_removal,
                             uint8_t **target) {
    if (has_room(store, length, is_removal))
        return larder_log_reserve(&store->log, length, is_removal, target);
    return is_removal ? larder_log_reserve_kept(&store->log, length, target) : ENOSPC;
}

/** As larder_store_begin_append, where no checkpoint is needed. LARDER_END: one is. */
static larder_status try_append(larder_store *store, size_t length, uint32_t count, bool is_removal,
                                uint8_t **target) {
    pthread_mutex_lock(&store->lock);
    larder_status status = store_enter(store);
    while (!status && larder_store_hold_back(store, length)) status = store_enter(store);
    if (!status) status = larder_memtable_reserve(store->active, count);
    if (!status && is_log_full(store, length, count)) status = LARDER_END;
    if (!status) status = reserve(store, length, is_removal, target);
    if (status) pthread_mutex_unlock(&store->lock);
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
            pthread_mutex_lock(&store->flush_lock);
            larder_environment_unreserve(store->environment);
            pthread_mutex_unlock(&store->flush_lock);
            continue;
        }
        if (is_short) order.flags = 0;
        larder_status flushed = larder_store_checkpoint(store, &order);
        if (flushed) return is_short ? status : flushed;
    }
}

larder_status larder_store_end_append(larder_store *store, const uint8_t *target, size_t length,
                                      uint32_t count, uint64_t first_word, uint32_t flags,
                                      uint64_t *sequence) {
    larder_log_publish(&store->log, length, count, first_word);
    const segment *to = store->log.active;
    larder_store_publish(store, target, count, to->number);
    store->active->end =
        (location){to->number, atomic_load_explicit(&to->end, memory_order_relaxed)};
    uint64_t number = store->log.last_sequence;
    larder_schedule_tell(store);
    pthread_mutex_unlock(&store->lock);
    atomic_fetch_add_explicit(&store->appended_bytes, length, memory_order_relaxed);
    if (sequence != NULL) *sequence = number;
    return (flags & LARDER_STORE_SYNCED) != 0 ? larder_store_sync_through(store, number)
                                              : LARDER_OK;
}

// The calls ---------------------------------------------------------------------------------------

void larder_store_item_init(larder_store_item *item, larder_bytes key, larder_bytes value) {
    *item = (larder_store_item){.key = key,
                                .value = value,
                                .expires_ns = LARDER_STORE_NEVER,
                                .idle_ns = LARDER_STORE_NEVER};
}

larder_status larder_store_item_size(const larder_store_item *item, size_t *length) {
    const uint32_t flags = LARDER_STORE_SYNCED | LARDER_STORE_OWN_TIMES;
    if ((item->flags & ~flags) != 0) return LARDER_EINVALID;
    *length = larder_record_size(item);
    return *length == SIZE_MAX ? LARDER_ETOOLARGE : LARDER_OK;
}

/** Appends a put, or what has a key alone. */
static larder_status append(larder_store *store, uint8_t kind, const larder_store_item *item,
                            size_t length, uint64_t *sequence) {
    bool is_put = kind == RECORD_PUT;
    int64_t written = is_put && item->written_ns == 0 ? larder_store_now(store) : item->written_ns;
    uint8_t *target;
    larder_status status =
        larder_store_begin_append(store, record_padded(length), 1, !is_put, &target);
    if (status) return status;
    if (is_put) larder_record_write(target, item, length, written);
    else (void)larder_record_write_bare(target, kind, item->key);
    uint64_t first_word =
        larder_record_seal(target, length, store->log.last_sequence + 1, 0, false);
    if (kind != RECORD_CLEAR)
        atomic_fetch_add_explicit(is_put ? &store->written : &store->removed, 1,
                                  memory_order_relaxed);
    return larder_store_end_append(store, target, record_padded(length), 1, first_word, item->flags,
                                   sequence);
}

larder_status larder_store_put(larder_store *store, const larder_store_item *item,
                               uint64_t *sequence) {
    size_t length;
    if (sequence != NULL) *sequence = 0;
    larder_status status = store_enter_to_write(store);
    if (!status) status = larder_store_item_size(item, &length);
    return status ? status : append(store, RECORD_PUT, item, length, sequence);
}

larder_status larder_store_remove(larder_store *store, larder_bytes key, uint32_t flags) {
    larder_status status = store_enter_to_write(store);
    if (status) return status;
    if ((flags & ~(uint32_t)LARDER_STORE_SYNCED) != 0) return LARDER_EINVALID;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    larder_store_item item = {.key = key, .flags = flags};
    return append(store, RECORD_REMOVE, &item, RECORD_HEAD_BYTES + key.length, NULL);
}

larder_status larder_store_remove_all(larder_store *store, larder_progress progress,
                                      void *context) {
    larder_status status = store_enter_to_write(store);
    larder_store_item nothing = {.flags = 0};
    if (!status) status = append(store, RECORD_CLEAR, &nothing, RECORD_HEAD_BYTES, NULL);
    if (status || progress == NULL) return status;
    flush_order order = {.progress = progress, .context = context};
    status = larder_store_checkpoint(store, &order);
    return status ? status : order.deletion;
}
