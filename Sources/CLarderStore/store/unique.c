// SPDX-License-Identifier: MIT
/** @file unique.c
    Values of an index that one entry at most may have.

    All batches that require it hold `unique_lock` from the look at what is stored to their commit,
    so no other gives an entry such a value meanwhile. What comes without it, removals and
    evictions, only takes values away: where one is called a duplicate, it was one at the time of
    the look.

    The batch counts as it will be: of each of its keys the last record. Whatever the store has
    under these keys does not count, as the batch replaces it. So two entries can exchange their
    values, and an entry can keep its own. */
#include "read/cursor.h"
#include "store/batch.h"

enum { INDEX_BYTES = 2 };

/** What a batch leaves, in the two orders that tell. */
typedef struct outcome {
    write_rows *rows;
    row_run *by_key[ROW_RUNS_MAX], *by_value[ROW_RUNS_MAX];
    size_t key_runs, value_runs;
    uint32_t count;
    /** Of which index `by_value` is. */
    uint16_t index;
    /** What is stored; opened on the index of the first value. */
    larder_store_cursor *stored;
} outcome;

larder_status larder_store_batch_require_unique(larder_store_batch *batch, uint16_t index,
                                                larder_bytes value) {
    if (value.length > LARDER_STORE_INDEX_VALUE_MAX_BYTES) return LARDER_ETOOLARGE;
    uint8_t key[INDEX_BYTES + LARDER_STORE_INDEX_VALUE_MAX_BYTES], *target;
    memcpy(key, &index, sizeof index);
    if (value.length > 0) memcpy(key + INDEX_BYTES, value.data, value.length);
    const size_t length = INDEX_BYTES + value.length;
    larder_status status = larder_chain_add(&batch->unique, RECORD_HEAD_BYTES + length, &target);
    if (!status) (void)larder_record_write_bare(target, RECORD_REMOVE, (larder_bytes){key, length});
    return status;
}

larder_status larder_store_batch_duplicate(const larder_store_batch *batch, uint16_t *index) {
    *index = batch->is_duplicate ? batch->duplicate_index : 0;
    return batch->is_duplicate ? LARDER_OK : LARDER_ENOTFOUND;
}

/** Numbers the batch's records, whose places tell which is the last of a key. */
static larder_status outcome_note(outcome *of, larder_store_batch *batch) {
    uint8_t *at = batch->records.bytes;
    larder_status status = LARDER_OK;
    of->count = batch->records.count;
    for (uint32_t n = 0; n < of->count && !status; n++) {
        memset(at + 8, 0, 8);
        memcpy(at + 16, &n, sizeof n);
        status = larder_write_rows_add(of->rows, at, 0);
        at += record_padded(record_length(at));
    }
    return status;
}

static larder_status outcome_make(outcome *of, larder_store_batch *batch) {
    snapshot *seen;
    larder_status status = larder_environment_read(batch->store->index.environment, &seen);
    if (status) return status;
    of->rows = larder_write_rows_create(seen->meta.secret);
    larder_environment_release(batch->store->index.environment, seen);
    status = of->rows == NULL ? ENOMEM : outcome_note(of, batch);
    if (!status)
        status = larder_write_rows_sorted(of->rows, (row_order){ROWS_BY_KEY, 0}, of->count,
                                          of->by_key, &of->key_runs);
    return status;
}

static void release_runs(row_run **runs, size_t *count) {
    while (*count > 0) larder_row_run_release(runs[--*count]);
}

static void outcome_free(outcome *of) {
    larder_store_cursor_close(of->stored);
    release_runs(of->by_key, &of->key_runs);
    release_runs(of->by_value, &of->value_runs);
    larder_write_rows_release(of->rows);
}

/** The last record of a key in the batch; NULL if it has none. */
static const uint8_t *last_record(const outcome *of, larder_bytes stored) {
    for (size_t run = 0; run < of->key_runs; run++) {
        const row_run *rows = of->by_key[run];
        uint32_t from = 0, to = rows->count;
        while (from < to) {
            uint32_t middle = from + (to - from) / 2;
            int order = compare_bytes(rows->rows[middle].stored, stored);
            if (order == 0) return rows->rows[middle].record;
            if (order < 0) from = middle + 1;
            else to = middle;
        }
    }
    return NULL;
}

/** How many entries of the batch have the value, as it leaves them. */
static uint64_t count_own(const outcome *of, larder_bytes value) {
    uint64_t count = 0;
    for (size_t run = 0; run < of->value_runs; run++) {
        const row_run *rows = of->by_value[run];
        uint32_t from = 0, to = rows->count;
        while (from < to) {
            uint32_t middle = from + (to - from) / 2;
            if (compare_bytes(rows->rows[middle].value, value) < 0) from = middle + 1;
            else to = middle;
        }
        for (; from < rows->count && compare_bytes(rows->rows[from].value, value) == 0; from++)
            count += last_record(of, rows->rows[from].stored) == rows->rows[from].record;
    }
    return count;
}

/** Whether what the cursor just called damaged has the value no more: the batch replaces it, or it
    is a row that an entry left when it was replaced while it was damaged, and leads to one that can
    be read, or to none. */
static bool damage_is_of_the_past(const outcome *of, const larder_store_entry *entry) {
    const store_meta *meta = &of->stored->place->meta;
    tree_key scratch;
    if (entry->key.length == 0) return false;
    larder_bytes stored = larder_stored_key(entry->key, meta->secret, &scratch);
    if (last_record(of, stored) != NULL) return true;
    if (!meta->has_strays) return false;
    cursor_row row = {.is_row = false};
    record found;
    larder_status status = larder_cursor_find_entry(of->stored, stored, &row);
    if (!status) status = larder_cursor_resolve(of->stored, &row);
    if (!status) status = larder_record_read(row.record, true, &found);
    return !status || status == LARDER_ENOTFOUND;
}

/** Adds the stored entries that have the value and are none of the batch's, until there are two.
    @return LARDER_OK; LARDER_EDAMAGED: one that nobody can read may have it, too; ENOMEM. */
static larder_status count_stored(outcome *of, larder_store *store, larder_bytes value,
                                  uint64_t *count) {
    larder_store_query query;
    larder_store_query_init(&query);
    query.order = LARDER_STORE_BY_INDEX;
    query.index = of->index;
    query.flags = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER | LARDER_STORE_WITHOUT_VALUE;
    query.lower = query.upper = value;
    larder_status status = of->stored == NULL ? larder_store_cursor_open(store, &query, &of->stored)
                                              : larder_store_cursor_seek(of->stored, &query);
    while (!status && *count < 2) {
        larder_store_entry entry;
        status = larder_store_cursor_next(of->stored, &entry);
        tree_key scratch;
        if (!status)
            *count += last_record(of, larder_stored_key(entry.key, of->stored->place->meta.secret,
                                                        &scratch)) == NULL;
        if (status == LARDER_EDAMAGED && damage_is_of_the_past(of, &entry)) status = LARDER_OK;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

static larder_status value_is_unique(outcome *of, larder_store *store, uint16_t index,
                                     larder_bytes value) {
    larder_status status = LARDER_OK;
    if (index != of->index || of->stored == NULL) {
        release_runs(of->by_value, &of->value_runs);
        of->index = index;
        status = larder_write_rows_sorted(of->rows, (row_order){ROWS_BY_INDEX, index}, of->count,
                                          of->by_value, &of->value_runs);
    }
    uint64_t count = status ? 0 : count_own(of, value);
    if (!status && count < 2) status = count_stored(of, store, value, &count);
    return !status && count > 1 ? LARDER_ECONFLICT : status;
}

larder_status larder_batch_is_unique(larder_store_batch *batch) {
    outcome of = {.index = 0};
    const uint8_t *at = batch->unique.bytes;
    larder_status status = outcome_make(&of, batch);
    for (uint32_t n = 0; n < batch->unique.count && !status; n++) {
        larder_bytes key = larder_record_key(at);
        memcpy(&batch->duplicate_index, key.data, INDEX_BYTES);
        larder_bytes value = {(const uint8_t *)key.data + INDEX_BYTES, key.length - INDEX_BYTES};
        status = value_is_unique(&of, batch->store, batch->duplicate_index, value);
        at += record_padded(record_length(at));
    }
    outcome_free(&of);
    return status;
}
