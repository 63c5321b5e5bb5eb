// SPDX-License-Identifier: MIT
/** @file batch.c
    Writes that happen together: gathered as the chain of records that they will be. */
#include <errno.h>
#include <stdlib.h>

#include "format/array.h"
#include "store/store_internal.h"

typedef struct requirement {
    uint64_t sequence;
    size_t offset;
    size_t length;
} requirement;

typedef struct buffer {
    uint8_t *bytes;
    size_t length;
    size_t capacity;
} buffer;

struct larder_store_batch {
    larder_store *store;
    /** Records, padded, without numbers and checksums. */
    buffer records;
    uint32_t count;
    /** Whether all of them are removals. */
    bool has_put;
    requirement *requirements;
    size_t requirement_count;
    size_t requirement_capacity;
    /** Their keys. */
    buffer keys;
};

/** Room for `length` more bytes. */
static larder_status buffer_reserve(buffer *grown, size_t length) {
    size_t wanted = grown->length + length;
    if (wanted < length) return ENOMEM;
    if (wanted <= grown->capacity) return LARDER_OK;
    size_t larger = grown->capacity * 2 > wanted ? grown->capacity * 2 : wanted;
    uint8_t *moved = realloc(grown->bytes, larger);
    if (moved == NULL) return ENOMEM;
    grown->bytes = moved;
    grown->capacity = larger;
    return LARDER_OK;
}

larder_status larder_store_batch_create(larder_store *store, larder_store_batch **out) {
    *out = NULL;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    larder_store_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return ENOMEM;
    batch->store = store;
    status = buffer_reserve(&batch->records, 512);
    if (status != LARDER_OK) {
        free(batch);
        return status;
    }
    *out = batch;
    return LARDER_OK;
}

/** Room for one more record; where it goes. */
static larder_status batch_add(larder_store_batch *batch, size_t length, uint8_t **target) {
    size_t padded = record_padded(length);
    if (batch->count == RECORD_MINOR_MAX ||
        (batch->count > 0 &&
         batch->records.length + padded > batch->store->options.journal_bytes / 2))
        return LARDER_ETOOLARGE;
    larder_status status = buffer_reserve(&batch->records, padded);
    if (status != LARDER_OK) return status;
    *target = batch->records.bytes + batch->records.length;
    batch->records.length += padded;
    batch->count++;
    return LARDER_OK;
}

larder_status larder_store_batch_put(larder_store_batch *batch, const larder_store_item *item) {
    larder_status status = store_enter_to_write(batch->store);
    if (status != LARDER_OK) return status;
    size_t length = record_size(item);
    if (length == SIZE_MAX) return LARDER_ETOOLARGE;
    uint8_t *target;
    status = batch_add(batch, length, &target);
    if (status != LARDER_OK) return status;
    batch->has_put = true;
    int64_t written = item->written_ns != 0 ? item->written_ns : store_now(batch->store);
    record_write(target, item, length, written);
    uint32_t word = (uint32_t)length;
    memcpy(target, &word, sizeof word);
    return LARDER_OK;
}

larder_status larder_store_batch_remove(larder_store_batch *batch, larder_bytes key) {
    larder_status status = store_enter_to_write(batch->store);
    if (status != LARDER_OK) return status;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    uint8_t *target;
    status = batch_add(batch, RECORD_HEAD_BYTES + key.length, &target);
    if (status != LARDER_OK) return status;
    uint32_t length = (uint32_t)record_write_bare(target, RECORD_REMOVE, key);
    memcpy(target, &length, sizeof length);
    return LARDER_OK;
}

larder_status larder_store_batch_require(larder_store_batch *batch, larder_bytes key,
                                         uint64_t sequence) {
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    larder_status status = array_reserve(&batch->requirements, batch->requirement_count,
                                         &batch->requirement_capacity, sizeof *batch->requirements);
    if (status == LARDER_OK) status = buffer_reserve(&batch->keys, key.length);
    if (status != LARDER_OK) return status;
    if (key.length > 0) memcpy(batch->keys.bytes + batch->keys.length, key.data, key.length);
    requirement fresh = {sequence, batch->keys.length, key.length};
    batch->requirements[batch->requirement_count++] = fresh;
    batch->keys.length += key.length;
    return LARDER_OK;
}

static void batch_empty(larder_store_batch *batch) {
    batch->records.length = 0;
    batch->count = 0;
    batch->has_put = false;
    batch->requirement_count = 0;
    batch->keys.length = 0;
}

/** Whether every requirement holds; the store's lock is held. */
static larder_status batch_holds(const larder_store_batch *batch) {
    for (size_t at = 0; at < batch->requirement_count; at++) {
        const requirement *wanted = &batch->requirements[at];
        larder_bytes key = {batch->keys.bytes + wanted->offset, wanted->length};
        uint64_t sequence;
        larder_status status = store_version(batch->store, key, &sequence);
        if (status != LARDER_OK) return status;
        if (sequence != wanted->sequence) return LARDER_ECONFLICT;
    }
    return LARDER_OK;
}

/** Gives every record its numbers and its checksum, and moves all to the log but the first eight
    bytes, which it gives. */
static uint64_t batch_move(larder_store_batch *batch, uint8_t *target, uint64_t sequence) {
    uint64_t first_word = 0;
    uint8_t *at = batch->records.bytes;
    for (uint32_t minor = 0; minor < batch->count; minor++) {
        size_t length = record_length(at);
        uint64_t word = record_seal(at, length, sequence, minor, minor + 1 < batch->count);
        if (minor == 0) first_word = word;
        else memcpy(at, &word, sizeof word);
        at += record_padded(length);
    }
    memcpy(target + 8, batch->records.bytes + 8, batch->records.length - 8);
    return first_word;
}

larder_status larder_store_batch_commit(larder_store_batch *batch, uint32_t flags,
                                        uint64_t *sequence) {
    larder_store *store = batch->store;
    if (sequence != NULL) *sequence = 0;
    larder_status status = store_enter_to_write(store);
    uint8_t *target = NULL;
    if (status == LARDER_OK && batch->count > 0)
        status = store_begin_append(store, batch->records.length, batch->count, !batch->has_put,
                                    &target);
    else if (status == LARDER_OK) pthread_mutex_lock(&store->lock);
    if (status == LARDER_OK) {
        // What was reserved and is not published is the next write's.
        status = batch_holds(batch);
        if (status != LARDER_OK || batch->count == 0) pthread_mutex_unlock(&store->lock);
    }
    if (status == LARDER_OK && batch->count > 0) {
        uint64_t number = store->log.last_sequence + 1;
        uint64_t first_word = batch_move(batch, target, number);
        store_end_append(store, target, batch->records.length, batch->count, first_word);
        atomic_fetch_add_explicit(&store->written, batch->count, memory_order_relaxed);
        status = store_finish_write(store, flags, number, sequence);
    }
    batch_empty(batch);
    return status;
}

void larder_store_batch_destroy(larder_store_batch *batch) {
    if (batch == NULL) return;
    free(batch->records.bytes);
    free(batch->requirements);
    free(batch->keys.bytes);
    free(batch);
}
