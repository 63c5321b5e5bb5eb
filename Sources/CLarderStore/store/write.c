// SPDX-License-Identifier: MIT
/** @file store_write.c
    Writing: into the journal, and into the table of what is pending. */
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

larder_status store_begin_append(larder_store *store, size_t length, uint32_t ops,
                                 larder_reservation *out) {
    for (bool is_again = false;; is_again = true) {
        pthread_mutex_lock(&store->lock);
        larder_status status = store_enter(store);
        while (status == LARDER_OK && store_hold_back(store, length)) status = store_enter(store);
        if (status == LARDER_OK) status = pending_reserve(store->active, ops);
        if (status == LARDER_OK && ops > 0) status = spill_files_reserve(&store->unsynced, ops);
        if (status == LARDER_OK) status = journal_reserve(&store->journal, length, out);
        if (status == LARDER_OK) return LARDER_OK;
        pthread_mutex_unlock(&store->lock);
        if (status != LARDER_EFULL) return status;
        flush_order order;
        flush_order_init(&order);
        order.flags = is_again ? 0 : FLUSH_FOR_ROOM;
        status = store_flush(store, &order);
        if (status != LARDER_OK) return status;
    }
}

void store_publish(larder_store *store, const journal_message *message) {
    pending_writes *active = store->active;
    switch (message->kind) {
    case JOURNAL_BATCH: {
        size_t offset = 0;
        const uint8_t *op;
        uint32_t before = active->count;
        size_t files = active->spills.count;
        for (uint32_t minor = 0; journal_next_op(message, &offset, &op); minor++) {
            pending_put(active, op, message->sequence, minor);
#ifdef LARDER_PLANT_STORE_HALF_A_BATCH
            if (minor == 0 && store->has_thread) {
                pthread_mutex_unlock(&store->lock);
                usleep(20);
                pthread_mutex_lock(&store->lock);
            }
#endif
        }
        if (files < active->spills.count && store->unsynced_since_ns == 0) {
            store->unsynced_since_ns = system_monotonic_ns();
            pthread_cond_signal(&store->wake);
        }
        for (; files < active->spills.count; files++)
            store->unsynced.items[store->unsynced.count++] = active->spills.items[files];
        atomic_fetch_add_explicit(&store->pending_count, active->count - before,
                                  memory_order_release);
        break;
    }
    case JOURNAL_CLEAR: {
        uint64_t gone = active->count;
        uint64_t added = active->cleared == 0 ? 1 : 0;
        pending_clear(active, message->sequence, store->spill_epoch, message->epoch);
        // Files of earlier writes stay on the list of those to sync: the writes are still in the
        // journal, which ends where a file is missing.
        store->spill_epoch = message->epoch;
        atomic_fetch_add_explicit(&store->pending_count, added - gone, memory_order_release);
        break;
    }
    case JOURNAL_INTENT:
        active->last_sequence = message->sequence;
        if (message->number >= store->spill_number) store->spill_number = message->number + 1;
        break;
    default: break;
    }
    atomic_store_explicit(&store->newest_sequence, message->sequence, memory_order_release);
}

/** Tells the flusher of the first write after a pause, and when the journal is nearly full: the
    more it holds, the fewer times a page of the tree is written. */
static void store_tell(larder_store *store) {
    bool is_nearly_full = store->journal.used_bytes > store->journal.data_bytes / 8 * 7;
    if (store->pending_since_ns != 0 && (!is_nearly_full || store->wants_flush)) return;
    if (store->pending_since_ns == 0) store->pending_since_ns = system_monotonic_ns();
    if (is_nearly_full) store->wants_flush = true;
    pthread_cond_signal(&store->wake);
}

larder_status store_end_append(larder_store *store, larder_reservation *reservation, size_t length,
                               uint64_t *sequence) {
    const uint8_t *bytes = reservation->bytes;
    larder_status status = journal_commit(&store->journal, reservation, length);
    if (status != LARDER_OK) {
        larder_ring_abort(store->journal.ring, reservation);
        pthread_mutex_unlock(&store->lock);
        return status;
    }
    // Ours, just written: no need to check it. The one op of a put goes a shorter way.
    journal_message message = {bytes[0],
                               get_le32(bytes + 4),
                               store->journal.last_sequence,
                               {bytes + JOURNAL_HEAD_BYTES, length - JOURNAL_HEAD_BYTES},
                               0,
                               0};
    if (message.kind == JOURNAL_CLEAR) message.epoch = get_le32(bytes + JOURNAL_HEAD_BYTES);
    if (message.kind == JOURNAL_INTENT) message.number = get_le64(bytes + JOURNAL_HEAD_BYTES);
    store_publish(store, &message);
    store_tell(store);
    *sequence = message.sequence;
    pthread_mutex_unlock(&store->lock);
    return LARDER_OK;
}

static larder_status store_finish(larder_store *store, uint32_t flags, uint64_t number,
                                  uint64_t *sequence) {
    if (sequence != NULL) *sequence = number;
    if ((flags & LARDER_STORE_SYNCED) == 0) return LARDER_OK;
    return store_sync_through(store, number);
}

// Files of values ---------------------------------------------------------------------------------

larder_status store_spill(larder_store *store, larder_bytes value, spill_reference *out) {
    larder_reservation room;
    uint64_t sequence;
    larder_status status = store_note_session(store);
    if (status == LARDER_OK) status = store_begin_append(store, JOURNAL_INTENT_BYTES, 0, &room);
    if (status != LARDER_OK) return status;
    spill_reference reference = {0, store->spill_number, store->spill_epoch, 0};
    status = spill_files_add(&store->intents, &reference);
    if (status != LARDER_OK) {
        larder_ring_abort(store->journal.ring, &room);
        pthread_mutex_unlock(&store->lock);
        return status;
    }
    journal_head_write(room.bytes, JOURNAL_INTENT, 0, store->store_id);
    put_le64((uint8_t *)room.bytes + 16, reference.number);
    put_le32((uint8_t *)room.bytes + 24, reference.epoch);
    put_le32((uint8_t *)room.bytes + 28, 0);
    status = store_end_append(store, &room, JOURNAL_INTENT_BYTES, &sequence);
    // If we crash here, or while the file is written, the next open finds the intent without a put
    // and deletes what is there.
    if (status == LARDER_OK) status = spill_write(store->spill, value, &reference);
    if (status != LARDER_OK) {
        store_unspill(store, &reference);
        return status;
    }
    *out = reference;
    return LARDER_OK;
}

static void intents_drop(larder_store *store, uint64_t number) {
    for (size_t at = 0; at < store->intents.count; at++) {
        if (store->intents.items[at].number != number) continue;
        store->intents.items[at] = store->intents.items[--store->intents.count];
        return;
    }
}

void store_unspill(larder_store *store, const spill_reference *reference) {
    larder_status ignored = spill_delete(store->spill, reference->epoch, reference->number);
    // A file that stays is found by the next open, unless a flush came between: then by its row.
    (void)ignored;
    pthread_mutex_lock(&store->lock);
    intents_drop(store, reference->number);
    pthread_mutex_unlock(&store->lock);
}

larder_status store_adopt_spill(larder_store *store, spill_reference *reference) {
    if (reference->epoch != store->spill_epoch) {
        larder_status status = spill_move(store->spill, reference, store->spill_epoch);
        if (status != LARDER_OK) return status;
        reference->epoch = store->spill_epoch;
    }
    intents_drop(store, reference->number);
    return LARDER_OK;
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
    bool is_spilled = item->value.length > store->options.inline_threshold_bytes;
    spill_reference file = {0};
    size_t size = record_size(item, is_spilled ? &file : NULL);
    if (size == SIZE_MAX) return LARDER_ETOOLARGE;
    if (is_spilled) {
        status = store_spill(store, item->value, &file);
        if (status != LARDER_OK) return status;
    }
    int64_t written = item->written_ns != 0 ? item->written_ns : store_now(store);
    size_t length = JOURNAL_HEAD_BYTES + op_size(size);
    larder_reservation room;
    status = store_begin_append(store, length, 1, &room);
    if (status == LARDER_OK && is_spilled) {
        status = store_adopt_spill(store, &file);
        if (status != LARDER_OK) {
            larder_ring_abort(store->journal.ring, &room);
            pthread_mutex_unlock(&store->lock);
        }
    }
    if (status != LARDER_OK) {
        if (is_spilled) store_unspill(store, &file);
        return status;
    }
    uint8_t *bytes = room.bytes;
    // The padding behind the record.
    put_le64(bytes + length - 8, 0);
    journal_head_write(bytes, JOURNAL_BATCH, 1, store->store_id);
    op_head_write(bytes + JOURNAL_HEAD_BYTES, OP_PUT, size);
    record_write(bytes + JOURNAL_HEAD_BYTES + OP_HEAD_BYTES, item, is_spilled ? &file : NULL,
                 store->journal.last_sequence + 1, 0, written);
    uint64_t number;
    status = store_end_append(store, &room, length, &number);
    if (status != LARDER_OK) return status;
    atomic_fetch_add_explicit(&store->written, 1, memory_order_relaxed);
    return store_finish(store, item->flags, number, sequence);
}

larder_status larder_store_remove(larder_store *store, larder_bytes key, uint32_t flags) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    size_t length = JOURNAL_HEAD_BYTES + op_size(key.length);
    larder_reservation room;
    status = store_begin_append(store, length, 1, &room);
    if (status != LARDER_OK) return status;
    uint8_t *bytes = room.bytes;
    put_le64(bytes + length - 8, 0);
    journal_head_write(bytes, JOURNAL_BATCH, 1, store->store_id);
    op_head_write(bytes + JOURNAL_HEAD_BYTES, OP_REMOVE, key.length);
    if (key.length > 0) memcpy(bytes + JOURNAL_HEAD_BYTES + OP_HEAD_BYTES, key.data, key.length);
    uint64_t number;
    status = store_end_append(store, &room, length, &number);
    if (status != LARDER_OK) return status;
    atomic_fetch_add_explicit(&store->removed, 1, memory_order_relaxed);
    return store_finish(store, flags, number, NULL);
}

larder_status larder_store_remove_all(larder_store *store, larder_progress progress,
                                      void *context) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    larder_reservation room;
    status = store_begin_append(store, JOURNAL_CLEAR_BYTES, 0, &room);
    if (status != LARDER_OK) return status;
    if (store->spill_epoch == UINT32_MAX) {
        larder_ring_abort(store->journal.ring, &room);
        pthread_mutex_unlock(&store->lock);
        return LARDER_EFULL;
    }
    journal_head_write(room.bytes, JOURNAL_CLEAR, 0, store->store_id);
    put_le32((uint8_t *)room.bytes + 16, store->spill_epoch + 1);
    put_le32((uint8_t *)room.bytes + 20, 0);
    uint64_t number;
    status = store_end_append(store, &room, JOURNAL_CLEAR_BYTES, &number);
    if (status != LARDER_OK || progress == NULL) return status;
    flush_order order;
    flush_order_init(&order);
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
