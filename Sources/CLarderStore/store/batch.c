// SPDX-License-Identifier: MIT
/** @file batch.c
    Writes that happen together: gathered as the chain of records that they will be. */
#include "store/batch.h"

#include "checkpoint/append.h"
#include "read/read.h"

larder_status larder_chain_add(chain *grown, size_t length, uint8_t **target) {
    size_t padded = record_padded(length), wanted = grown->length + padded;
    if (wanted < padded) return ENOMEM;
    if (wanted > grown->capacity) {
        size_t larger = grown->capacity * 2 > wanted ? grown->capacity * 2 : wanted;
        uint8_t *moved = realloc(grown->bytes, larger);
        if (moved == NULL) return ENOMEM;
        grown->bytes = moved;
        grown->capacity = larger;
    }
    *target = grown->bytes + grown->length;
    uint32_t word = (uint32_t)length;
    memcpy(*target, &word, sizeof word);
    grown->length = wanted;
    grown->count++;
    return LARDER_OK;
}

larder_status larder_store_batch_create(larder_store *store, larder_store_batch **out) {
    *out = NULL;
    larder_status status = store_enter_to_write(store);
    if (status) return status;
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return ENOMEM;
    (*out)->store = store;
    return LARDER_OK;
}

larder_status larder_store_batch_move(larder_store_batch *batch, larder_store *store) {
    larder_status status = store_enter_to_write(store);
    if (!status) batch->store = store;
    return status;
}

static larder_status batch_add(larder_store_batch *batch, size_t length, uint8_t **target) {
    const chain *records = &batch->records;
    if (records->count == RECORD_MINOR_MAX ||
        (records->count > 0 &&
         records->length + record_padded(length) > batch->store->options.journal_bytes / 2))
        return LARDER_ETOOLARGE;
    return larder_chain_add(&batch->records, length, target);
}

larder_status larder_store_batch_put(larder_store_batch *batch, const larder_store_item *item) {
    larder_status status = store_enter_to_write(batch->store);
    uint8_t *target;
    size_t length;
    if (!status) status = larder_store_item_size(item, &length);
    if (!status) status = batch_add(batch, length, &target);
    if (status) return status;
    batch->put_count++;
    int64_t written = item->written_ns != 0 ? item->written_ns : expiry_now(&batch->store->expiry);
    larder_record_write(target, item, length, written);
    return LARDER_OK;
}

larder_status larder_store_batch_remove(larder_store_batch *batch, larder_bytes key) {
    larder_status status = store_enter_to_write(batch->store);
    if (!status && key.length > LARDER_STORE_KEY_MAX_BYTES) status = LARDER_ETOOLARGE;
    uint8_t *target;
    if (!status) status = batch_add(batch, RECORD_HEAD_BYTES + key.length, &target);
    if (!status) (void)larder_record_write_bare(target, RECORD_REMOVE, key);
    return status;
}

larder_status larder_store_batch_require(larder_store_batch *batch, larder_bytes key,
                                         uint64_t sequence) {
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ETOOLARGE;
    uint8_t *target;
    larder_status status =
        larder_chain_add(&batch->required, RECORD_HEAD_BYTES + key.length, &target);
    if (status) return status;
    size_t length = larder_record_write_bare(target, RECORD_REMOVE, key);
    (void)larder_record_seal(target, length, sequence, 0, false);
    return LARDER_OK;
}

void larder_store_batch_require_unchanged(larder_store_batch *batch, uint64_t sequence) {
    // Of two the earlier one is harder to keep.
    if (!batch->requires_unchanged || sequence < batch->unchanged_since)
        batch->unchanged_since = sequence;
    batch->requires_unchanged = true;
}

larder_status larder_store_last_sequence(larder_store *store, uint64_t *sequence) {
    *sequence = 0;
    larder_status status = store_enter_to_write(store);
    if (!status)
        *sequence = atomic_load_explicit(&store->pending.newest_sequence, memory_order_acquire);
    return status;
}

/** Whether every requirement holds but that of unique values; the pending lock is held. */
static larder_status batch_holds(const larder_store_batch *batch) {
    if (batch->requires_unchanged &&
        batch->store->pending.log.last_sequence != batch->unchanged_since)
        return LARDER_ECONFLICT;
    const uint8_t *at = batch->required.bytes;
    for (uint32_t n = 0; n < batch->required.count; n++) {
        uint64_t sequence;
        larder_status status = larder_store_version(batch->store, larder_record_key(at), &sequence);
        if (status) return status;
        if (sequence != record_sequence(at)) return LARDER_ECONFLICT;
        at += record_padded(record_length(at));
    }
    return LARDER_OK;
}

/** Gives every record its numbers and its checksum, and moves all to the log but the first eight
    bytes, which it gives. */
static uint64_t batch_move(const chain *records, uint8_t *target, uint64_t sequence) {
    uint64_t first_word = 0;
    uint8_t *at = records->bytes;
    for (uint32_t minor = 0; minor < records->count; minor++) {
        size_t length = record_length(at);
        uint64_t word = larder_record_seal(at, length, sequence, minor, minor + 1 < records->count);
        if (minor == 0) first_word = word;
        else memcpy(at, &word, sizeof word);
        at += record_padded(length);
    }
    memcpy(target + 8, records->bytes + 8, records->length - 8);
    return first_word;
}

/** Writes everything if all requirements hold.
    @param uniqueness whether values are unique. That they are not is only told where all that was
           read is as it was: who has read something else begins again. */
static larder_status batch_write(larder_store_batch *batch, larder_status uniqueness,
                                 uint32_t flags, uint64_t *sequence) {
    larder_store *store = batch->store;
    const chain *records = &batch->records;
    uint8_t *target;
    larder_status status = LARDER_OK;
    if (records->count > 0)
        status = larder_store_begin_append(store, records->length, records->count, 0,
                                           batch->put_count == 0, &target);
    else pthread_mutex_lock(&store->pending.lock);
    if (status) return status;
    // What was reserved and is not published is the next write's.
    status = batch_holds(batch);
    batch->is_duplicate = !status && uniqueness == LARDER_ECONFLICT;
    if (!status) status = uniqueness;
    if (status || records->count == 0) {
        pthread_mutex_unlock(&store->pending.lock);
        return status;
    }
    uint64_t first_word = batch_move(records, target, store->pending.log.last_sequence + 1);
    atomic_fetch_add_explicit(&store->figures.written, batch->put_count, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->figures.removed, records->count - batch->put_count,
                              memory_order_relaxed);
    larder_log_publish(&store->pending.log, records->length, records->count, first_word);
    return larder_store_end_append(store, target, records->length, records->count, flags, sequence);
}

larder_status larder_store_batch_commit(larder_store_batch *batch, uint32_t flags,
                                        uint64_t *sequence) {
    larder_store *store = batch->store;
    uint64_t written = 0;
    if (sequence != NULL) *sequence = 0;
    batch->is_duplicate = false;
    larder_status status = store_enter_to_write(store);
    if (!status && (flags & ~(uint32_t)LARDER_STORE_SYNCED) != 0) status = LARDER_EINVALID;
    if (!status && batch->unique.count > 0) {
        pthread_mutex_lock(&store->pending.unique_lock);
        status = larder_batch_is_unique(batch);
        if (!status || status == LARDER_ECONFLICT) status = batch_write(batch, status, 0, &written);
        pthread_mutex_unlock(&store->pending.unique_lock);
        if (sequence != NULL) *sequence = written;
        // Others need not wait for the device.
        if (!status && (flags & LARDER_STORE_SYNCED) != 0)
            status = larder_store_sync_through(store, written);
    } else if (!status) {
        status = batch_write(batch, LARDER_OK, flags, sequence);
    }
    // One that a shutdown forestalled can be moved.
    if (status == LARDER_ECLOSED) return status;
    batch->records.length = batch->required.length = batch->unique.length = 0;
    batch->records.count = batch->required.count = batch->unique.count = 0;
    batch->put_count = 0;
    batch->requires_unchanged = false;
    return status;
}

void larder_store_batch_destroy(larder_store_batch *batch) {
    if (batch == NULL) return;
    free(batch->records.bytes);
    free(batch->required.bytes);
    free(batch->unique.bytes);
    free(batch);
}
