// SPDX-License-Identifier: MIT
/** @file batch.c
    Writes that happen together: gathered as the journal's message that they will be. */
#include <errno.h>
#include <stdlib.h>

#include "store/store_internal.h"

typedef struct requirement {
    uint64_t sequence;
    size_t offset;
    size_t length;
} requirement;

struct larder_store_batch {
    larder_store *store;
    /** The message. */
    uint8_t *bytes;
    size_t length;
    size_t capacity;
    uint32_t count;
    /** Files already written, in the order of their puts. */
    spill_files files;
    requirement *requirements;
    size_t requirement_count;
    size_t requirement_capacity;
    /** Their keys. */
    uint8_t *keys;
    size_t keys_length;
    size_t keys_capacity;
};

static larder_status grow(uint8_t **bytes, size_t *capacity, size_t wanted) {
    if (wanted <= *capacity) return LARDER_OK;
    size_t larger = *capacity * 2 > wanted ? *capacity * 2 : wanted;
    uint8_t *moved = realloc(*bytes, larger);
    if (moved == NULL) return ENOMEM;
    *bytes = moved;
    *capacity = larger;
    return LARDER_OK;
}

larder_status larder_store_batch_create(larder_store *store, larder_store_batch **out) {
    *out = NULL;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    larder_store_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return ENOMEM;
    batch->store = store;
    status = grow(&batch->bytes, &batch->capacity, 512);
    if (status != LARDER_OK) {
        free(batch);
        return status;
    }
    batch->length = JOURNAL_HEAD_BYTES;
    *out = batch;
    return LARDER_OK;
}

/** Room for one more op; where its payload goes. */
static larder_status batch_add(larder_store_batch *batch, uint8_t kind, size_t length,
                               uint8_t **payload) {
    size_t size = op_size(length);
    if (size > batch->store->journal.data_bytes / 2 - 64 ||
        batch->length + size > batch->store->journal.data_bytes / 2 - 64 ||
        batch->count == UINT32_MAX)
        return LARDER_ETOOLARGE;
    larder_status status = grow(&batch->bytes, &batch->capacity, batch->length + size);
    if (status != LARDER_OK) return status;
    uint8_t *op = batch->bytes + batch->length;
    put_le64(op + size - 8, 0);
    op_head_write(op, kind, length);
    *payload = op + OP_HEAD_BYTES;
    batch->length += size;
    batch->count++;
    return LARDER_OK;
}

larder_status larder_store_batch_put(larder_store_batch *batch, const larder_store_item *item) {
    larder_store *store = batch->store;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    bool is_spilled = item->value.length > store->options.inline_threshold_bytes;
    spill_reference file = {0};
    size_t size = record_size(item, is_spilled ? &file : NULL);
    if (size == SIZE_MAX) return LARDER_ETOOLARGE;
    if (is_spilled) {
        status = spill_files_reserve(&batch->files, 1);
        if (status == LARDER_OK) status = store_spill(store, item->value, &file);
        if (status != LARDER_OK) return status;
    }
    uint8_t *payload;
    status = batch_add(batch, OP_PUT, size, &payload);
    if (status != LARDER_OK) {
        if (is_spilled) store_unspill(store, &file);
        return status;
    }
    if (is_spilled) batch->files.items[batch->files.count++] = file;
    int64_t written = item->written_ns != 0 ? item->written_ns : store_now(store);
    record_write(payload, item, is_spilled ? &file : NULL, 0, 0, written);
    return LARDER_OK;
}

larder_status larder_store_batch_remove(larder_store_batch *batch, larder_bytes key) {
    larder_status status = store_enter_to_write(batch->store);
    if (status != LARDER_OK) return status;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    uint8_t *payload;
    status = batch_add(batch, OP_REMOVE, key.length, &payload);
    if (status == LARDER_OK && key.length > 0) memcpy(payload, key.data, key.length);
    return status;
}

larder_status larder_store_batch_require(larder_store_batch *batch, larder_bytes key,
                                         uint64_t sequence) {
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    if (batch->requirement_count == batch->requirement_capacity) {
        size_t capacity = batch->requirement_capacity == 0 ? 4 : batch->requirement_capacity * 2;
        requirement *moved = realloc(batch->requirements, capacity * sizeof *moved);
        if (moved == NULL) return ENOMEM;
        batch->requirements = moved;
        batch->requirement_capacity = capacity;
    }
    larder_status status =
        grow(&batch->keys, &batch->keys_capacity, batch->keys_length + key.length);
    if (status != LARDER_OK) return status;
    if (key.length > 0) memcpy(batch->keys + batch->keys_length, key.data, key.length);
    requirement fresh = {sequence, batch->keys_length, key.length};
    batch->requirements[batch->requirement_count++] = fresh;
    batch->keys_length += key.length;
    return LARDER_OK;
}

static void batch_empty(larder_store_batch *batch) {
    batch->length = JOURNAL_HEAD_BYTES;
    batch->count = 0;
    batch->files.count = 0;
    batch->requirement_count = 0;
    batch->keys_length = 0;
}

/** Gives up what was written to files. */
static void batch_unspill(larder_store_batch *batch) {
    for (size_t at = 0; at < batch->files.count; at++)
        store_unspill(batch->store, &batch->files.items[at]);
    batch->files.count = 0;
}

/** Whether every requirement holds; the store's lock is held. */
static larder_status batch_holds(larder_store_batch *batch) {
    for (size_t at = 0; at < batch->requirement_count; at++) {
        const requirement *wanted = &batch->requirements[at];
        larder_bytes key = {batch->keys + wanted->offset, wanted->length};
        uint64_t sequence;
        larder_status status = store_version(batch->store, key, &sequence);
        if (status != LARDER_OK) return status;
        if (sequence != wanted->sequence) return LARDER_ECONFLICT;
    }
    return LARDER_OK;
}

/** Takes the files into the store; records whose file moved are written anew. */
static larder_status batch_adopt_files(larder_store_batch *batch) {
    journal_message message = {.kind = JOURNAL_BATCH};
    message.ops.data = batch->bytes + JOURNAL_HEAD_BYTES;
    message.ops.length = batch->length - JOURNAL_HEAD_BYTES;
    size_t offset = 0;
    size_t next = 0;
    const uint8_t *op;
    while (next < batch->files.count && journal_next_op(&message, &offset, &op)) {
        spill_reference reference;
        if (!op_spill(op, &reference)) continue;
        larder_status status = store_adopt_spill(batch->store, &reference);
        if (status != LARDER_OK) return status;
        batch->files.items[next++] = reference;
        size_t length = get_le32(op);
        uint8_t *record_end =
            batch->bytes + ((op + OP_HEAD_BYTES) - (const uint8_t *)batch->bytes) + length;
        put_le32(record_end - 8, reference.epoch);
    }
    return LARDER_OK;
}

/** In place, in the journal: every record gets the batch's number and its checksum. */
static void seal_records(uint8_t *bytes, size_t length, uint64_t sequence) {
    journal_message message = {.kind = JOURNAL_BATCH};
    message.ops.data = bytes + JOURNAL_HEAD_BYTES;
    message.ops.length = length - JOURNAL_HEAD_BYTES;
    size_t offset = 0;
    const uint8_t *op;
    for (uint32_t minor = 0; journal_next_op(&message, &offset, &op); minor++) {
        if (op[4] != OP_PUT) continue;
        record_seal(bytes + (op - bytes) + OP_HEAD_BYTES, get_le32(op), sequence, minor);
    }
}

larder_status larder_store_batch_commit(larder_store_batch *batch, uint32_t flags,
                                        uint64_t *sequence) {
    larder_store *store = batch->store;
    if (sequence != NULL) *sequence = 0;
    larder_status status = store_enter_to_write(store);
    larder_reservation room;
    if (status == LARDER_OK) {
        status = store_begin_append(store, batch->length, batch->count, &room);
        if (status == LARDER_OK) {
            status = batch_holds(batch);
            if (status == LARDER_OK) status = batch_adopt_files(batch);
            if (status != LARDER_OK || batch->count == 0) {
                larder_ring_abort(store->journal.ring, &room);
                pthread_mutex_unlock(&store->lock);
            }
        }
    }
    if (status != LARDER_OK || batch->count == 0) {
        batch_unspill(batch);
        batch_empty(batch);
        return status;
    }
    journal_head_write(batch->bytes, JOURNAL_BATCH, batch->count, store->store_id);
    memcpy(room.bytes, batch->bytes, batch->length);
    seal_records(room.bytes, batch->length, store->journal.last_sequence + 1);
    uint64_t number;
    status = store_end_append(store, &room, batch->length, &number);
    if (status == LARDER_OK) {
        atomic_fetch_add_explicit(&store->written, batch->count, memory_order_relaxed);
        if (sequence != NULL) *sequence = number;
        if ((flags & LARDER_STORE_SYNCED) != 0) status = store_sync_through(store, number);
    } else {
        batch_unspill(batch);
    }
    batch_empty(batch);
    return status;
}

void larder_store_batch_destroy(larder_store_batch *batch) {
    if (batch == NULL) return;
    batch_unspill(batch);
    spill_files_free(&batch->files);
    free(batch->requirements);
    free(batch->keys);
    free(batch->bytes);
    free(batch);
}
