// SPDX-License-Identifier: MIT
/** @file apply.c
    One transaction of the flusher: entries, and the rows that follow from them.

    Invariants, between transactions:
    1. Each entry has one row in the order of use: of its write, or of the last read that was folded
       in, and then SPACE_RECENCY says which.
    2. Each entry with a deadline has one row among those to expire: at its own deadline, or at the
       one that SPACE_RECENCY calls armed. It is never later than the deadline.
    3. Each index entry of each entry has its row.
    4. Each file is referred to by an entry or has a row of SPACE_DOOMED.
    5. meta.count and meta.bytes are those of all entries. */
#include "apply.h"

#include <errno.h>
#include <stdlib.h>

#include "store_faults.h"

larder_status apply_status(int code) {
    if (code == MDB_MAP_FULL) return EAGAIN;
    return environment_status(code);
}

// The transaction ---------------------------------------------------------------------------------

static larder_status apply_prepare(apply_transaction *apply) {
    uint8_t space = SPACE_META;
    MDB_val key = {1, &space};
    MDB_val value;
    int code = mdb_get(apply->txn, apply->main, &key, &value);
    if (code != 0) return code == MDB_NOTFOUND ? LARDER_EDAMAGED : apply_status(code);
    larder_bytes bytes = {value.mv_data, value.mv_size};
    larder_status status = store_meta_read(bytes, &apply->meta);
    if (status != LARDER_OK) return status;
    code = mdb_cursor_open(apply->txn, apply->main, &apply->entries);
    if (code != 0) return apply_status(code);
    uint8_t recency = SPACE_RECENCY;
    MDB_val first = {1, &recency};
    code = mdb_cursor_get(apply->entries, &first, &value, MDB_SET_RANGE);
    apply->has_recency =
        code == 0 && first.mv_size > 0 && *(const uint8_t *)first.mv_data == SPACE_RECENCY;
    return code == 0 || code == MDB_NOTFOUND ? LARDER_OK : apply_status(code);
}

larder_status apply_begin(larder_store *store, apply_transaction *out) {
    memset(out, 0, sizeof *out);
    out->store = store;
    out->now_ns = store_now(store);
    larder_status status = environment_begin(store->environment, &out->txn, &out->main);
    if (status != LARDER_OK) return status;
    status = apply_prepare(out);
    if (status != LARDER_OK) apply_abort(out);
    return status;
}

void apply_abort(apply_transaction *apply) {
    if (apply->entries != NULL) mdb_cursor_close(apply->entries);
    if (apply->txn != NULL) environment_abort(apply->store->environment, apply->txn);
    apply->entries = NULL;
    apply->txn = NULL;
    row_list_free(&apply->rows);
}

larder_status apply_commit(apply_transaction *apply) {
    larder_store *store = apply->store;
    larder_status status = apply_status(row_list_apply(&apply->rows, apply->txn, apply->main));
    if (status == LARDER_OK) {
        apply->meta.transaction = mdb_txn_id(apply->txn);
        uint8_t bytes[META_BYTES];
        store_meta_write(bytes, &apply->meta);
        uint8_t space = SPACE_META;
        MDB_val key = {1, &space};
        MDB_val value = {sizeof bytes, bytes};
        status = apply_status(mdb_put(apply->txn, apply->main, &key, &value, 0));
    }
    if (status != LARDER_OK) {
        apply_abort(apply);
        status = environment_reason(store->environment, status);
        if (status == EAGAIN) {
            larder_status grown = environment_grow(store->environment);
            if (grown != LARDER_OK) return grown;
        }
        return status;
    }
    mdb_cursor_close(apply->entries);
    apply->entries = NULL;
    MDB_txn *txn = apply->txn;
    apply->txn = NULL;
    row_list_free(&apply->rows);
    return environment_commit(store->environment, txn);
}

// Entries -----------------------------------------------------------------------------------------

larder_status apply_find(apply_transaction *apply, larder_bytes stored, record *out) {
    tree_key key;
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    MDB_val wanted = {key.length, key.bytes};
    MDB_val value;
    int code = mdb_get(apply->txn, apply->main, &wanted, &value);
    if (code == MDB_NOTFOUND) return LARDER_ENOTFOUND;
    if (code != 0) return apply_status(code);
    larder_bytes bytes = {value.mv_data, value.mv_size};
    return record_read(bytes, false, out);
}

static int64_t own_deadline(const record *entry) {
    int64_t idle;
    if ((entry->flags & RECORD_IDLES) == 0 ||
        __builtin_add_overflow(entry->written_ns, entry->idle_ns, &idle))
        idle = LARDER_STORE_NEVER;
    return idle < entry->expires_ns ? idle : entry->expires_ns;
}

int64_t apply_default_due(const record *entry, int64_t age_ns) {
    int64_t due = own_deadline(entry);
    int64_t aged;
    if ((entry->flags & RECORD_OWN_TIMES) != 0 || age_ns == LARDER_STORE_NEVER) return due;
    if (__builtin_add_overflow(entry->written_ns, age_ns, &aged))
        aged = age_ns < 0 ? INT64_MIN : LARDER_STORE_NEVER;
    return aged < due ? aged : due;
}

void apply_state(apply_transaction *apply, larder_bytes stored, const record *entry,
                 entry_state *out) {
    out->at.sequence = entry->sequence;
    out->at.minor = entry->minor;
    out->deadline_ns = own_deadline(entry);
    out->armed_ns = apply_default_due(entry, apply->meta.age_ns);
    out->has_row = false;
    if (!apply->has_recency) return;
    tree_key key;
    tree_key_of_stored(SPACE_RECENCY, stored, &key);
    MDB_val wanted = {key.length, key.bytes};
    MDB_val value;
    if (mdb_get(apply->txn, apply->main, &wanted, &value) != 0 || value.mv_size != STATE_BYTES)
        return;
    const uint8_t *bytes = value.mv_data;
    out->at.sequence = get_be64(bytes);
    out->at.minor = get_be64(bytes + 8);
    out->deadline_ns = unflip(get_be64(bytes + 16));
    out->armed_ns = unflip(get_be64(bytes + 24));
    out->has_row = true;
}

static void state_write(uint8_t target[STATE_BYTES], const entry_state *state) {
    put_be64(target, state->at.sequence);
    put_be64(target + 8, state->at.minor);
    put_be64(target + 16, flip(state->deadline_ns));
    put_be64(target + 24, flip(state->armed_ns));
}

larder_status apply_set_state(apply_transaction *apply, larder_bytes stored,
                              const entry_state *state) {
    uint8_t bytes[STATE_BYTES];
    state_write(bytes, state);
    tree_key key;
    tree_key_of_stored(SPACE_RECENCY, stored, &key);
    apply->has_recency = true;
    MDB_val name = {key.length, key.bytes};
    MDB_val value = {sizeof bytes, bytes};
    return apply_status(mdb_put(apply->txn, apply->main, &name, &value, 0));
}

/** A file that nothing refers to from now on. */
static larder_status doom(apply_transaction *apply, const spill_reference *file,
                          bool is_announced) {
    tree_key key;
    tree_key_doomed(file->epoch, file->number, &key);
    uint8_t bytes[DOOMED_BYTES];
    put_be64(bytes, mdb_txn_id(apply->txn));
    bytes[8] = is_announced;
    larder_bytes value = {bytes, sizeof bytes};
    apply->store->has_doomed = true;
    return row_list_put(&apply->rows, &key, value);
}

static larder_status index_rows(apply_transaction *apply, larder_bytes stored, const record *entry,
                                bool are_deleted) {
    size_t offset = 0;
    larder_store_index_entry item;
    while (record_next_index(entry, &offset, &item)) {
        tree_key key;
        tree_key_index(item.index, item.value, &stored, apply->meta.secret, &key);
        larder_status status = are_deleted ? row_list_delete(&apply->rows, &key)
                                           : row_list_put(&apply->rows, &key, stored);
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

larder_status apply_retire(apply_transaction *apply, larder_bytes stored, const record *old,
                           const record *replacement) {
    entry_state state;
    apply_state(apply, stored, old, &state);
    tree_key key;
    tree_key_order(state.at, &key);
    larder_status status = row_list_delete(&apply->rows, &key);
    if (status == LARDER_OK && state.has_row) {
        tree_key_of_stored(SPACE_RECENCY, stored, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status == LARDER_OK && state.armed_ns != LARDER_STORE_NEVER) {
        tree_key_expiry(state.armed_ns, old->sequence, old->minor, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    bool keeps_file = replacement != NULL && (replacement->flags & RECORD_SPILLED) != 0 &&
                      replacement->spill.number == old->spill.number;
    if (status == LARDER_OK && (old->flags & RECORD_SPILLED) != 0 && !keeps_file)
        status = doom(apply, &old->spill, false);
    if (status == LARDER_OK) status = index_rows(apply, stored, old, true);
    if (status != LARDER_OK) return status;
    apply->meta.count -= 1;
    apply->meta.bytes -= record_value_bytes(old);
    return LARDER_OK;
}

larder_status apply_install(apply_transaction *apply, larder_bytes stored, const record *fresh) {
    larder_status status = LARDER_OK;
    int64_t age = atomic_load_explicit(&apply->store->age_ns, memory_order_relaxed);
    int64_t usual = apply_default_due(fresh, apply->meta.age_ns);
    int64_t due = age != apply->meta.age_ns ? apply_default_due(fresh, age) : usual;
    if (due != LARDER_STORE_NEVER) {
        tree_key key;
        tree_key_expiry(due, fresh->sequence, fresh->minor, &key);
        status = row_list_put(&apply->rows, &key, stored);
    }
    if (status == LARDER_OK && due != usual) {
        // The limit of age is not the one that the tree is in order for, until the sweep is done.
        entry_state state = {{fresh->sequence, fresh->minor}, own_deadline(fresh), due, true};
        tree_key key;
        uint8_t bytes[STATE_BYTES];
        state_write(bytes, &state);
        larder_bytes value = {bytes, sizeof bytes};
        tree_key_of_stored(SPACE_RECENCY, stored, &key);
        apply->has_recency = true;
        // Behind the deletion of the row of what it replaces.
        status = row_list_put(&apply->rows, &key, value);
    }
    if (status == LARDER_OK && (fresh->flags & RECORD_SPILLED) != 0) {
        // It may have been announced to an earlier transaction, which then wrote a row in advance.
        tree_key key;
        tree_key_doomed(fresh->spill.epoch, fresh->spill.number, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status == LARDER_OK) status = index_rows(apply, stored, fresh, false);
    if (status != LARDER_OK) return status;
    apply->meta.count += 1;
    apply->meta.bytes += record_value_bytes(fresh);
    return LARDER_OK;
}

larder_status apply_remove(apply_transaction *apply, larder_bytes stored, const record *old) {
    larder_status status = apply_retire(apply, stored, old, NULL);
    if (status != LARDER_OK) return status;
    tree_key key;
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    MDB_val name = {key.length, key.bytes};
    return apply_status(mdb_del(apply->txn, apply->main, &name, NULL));
}

// Pending writes ----------------------------------------------------------------------------------

/** One pending write; its rows wait in the list. */
static larder_status apply_write(apply_transaction *apply, const pending_entry *write) {
    journal_op op = op_read(write->op);
    larder_bytes user_key = op_key(write->op);
    tree_key scratch;
    larder_bytes stored = stored_key(user_key, apply->meta.secret, &scratch);
    tree_key key;
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    MDB_val name = {key.length, key.bytes};
    MDB_val value = {op.payload.length, (void *)(uintptr_t)op.payload.data};
    record old;
    record fresh = {0};
    larder_status status = LARDER_OK;
    bool is_put = op.kind == OP_PUT;
    if (is_put) {
        status = record_read(op.payload, true, &fresh);
        if (status != LARDER_OK) return status;
        int code = mdb_cursor_put(apply->entries, &name, &value, MDB_NOOVERWRITE);
        if (code == 0) return apply_install(apply, stored, &fresh);
        if (code != MDB_KEYEXIST) return apply_status(code);
    } else {
        int code = mdb_cursor_get(apply->entries, &name, &value, MDB_SET);
        if (code == MDB_NOTFOUND) return LARDER_OK;
        if (code != 0) return apply_status(code);
    }
    larder_bytes there = {value.mv_data, value.mv_size};
    // A record that cannot be read is replaced all the same; its rows stay, and are found to lead
    // nowhere when their time comes.
    if (record_read(there, false, &old) == LARDER_OK) {
        // The same one again, after a crash between two chunks, keeps its file.
        status = apply_retire(apply, stored, &old, is_put ? &fresh : NULL);
        if (status != LARDER_OK) return status;
    }
    if (!is_put) return apply_status(mdb_cursor_del(apply->entries, 0));
    value.mv_size = op.payload.length;
    value.mv_data = (void *)(uintptr_t)op.payload.data;
    int code = mdb_cursor_put(apply->entries, &name, &value, 0);
    if (code != 0) return apply_status(code);
    return apply_install(apply, stored, &fresh);
}

/** Rows of SPACE_DOOMED survive the removal of everything. */
static larder_status keep_doomed(apply_transaction *apply) {
    uint8_t space = SPACE_DOOMED;
    MDB_val key = {1, &space};
    MDB_val value;
    int code = mdb_cursor_get(apply->entries, &key, &value, MDB_SET_RANGE);
    while (code == 0 && *(const uint8_t *)key.mv_data == SPACE_DOOMED &&
           key.mv_size <= TREE_KEY_MAX_BYTES) {
        tree_key kept;
        kept.length = (uint16_t)key.mv_size;
        memcpy(kept.bytes, key.mv_data, key.mv_size);
        larder_bytes bytes = {value.mv_data, value.mv_size};
        larder_status status = row_list_put(&apply->rows, &kept, bytes);
        if (status != LARDER_OK) return status;
        code = mdb_cursor_get(apply->entries, &key, &value, MDB_NEXT);
    }
    return code == 0 || code == MDB_NOTFOUND ? LARDER_OK : apply_status(code);
}

static larder_status apply_clear(apply_transaction *apply, uint32_t from_epoch, uint32_t to_epoch) {
    larder_status status = keep_doomed(apply);
    if (status != LARDER_OK) return status;
    mdb_cursor_close(apply->entries);
    apply->entries = NULL;
    int code = mdb_drop(apply->txn, apply->main, 0);
    if (code == 0) code = mdb_cursor_open(apply->txn, apply->main, &apply->entries);
    if (code != 0) return apply_status(code);
    apply->meta.count = 0;
    apply->meta.bytes = 0;
    apply->meta.spill_epoch = to_epoch;
    apply->has_recency = false;
    for (uint32_t epoch = from_epoch; epoch < to_epoch; epoch++) {
        spill_reference folder = {0, UINT64_MAX, epoch, 0};
        status = doom(apply, &folder, false);
        if (status != LARDER_OK) return status;
    }
    // The meta record is written with the commit; until then a reader sees the old state.
    return LARDER_OK;
}

static int compare_sequences(const void *a, const void *b) {
    const pending_entry *left = *(const pending_entry *const *)a;
    const pending_entry *right = *(const pending_entry *const *)b;
    if (left->sequence != right->sequence) return left->sequence < right->sequence ? -1 : 1;
    return (left->minor > right->minor) - (left->minor < right->minor);
}

/** The order of use of everything that was written, at the end of the tree. */
static larder_status apply_order(apply_transaction *apply, const pending_writes *frozen) {
    if (frozen->count == 0) return LARDER_OK;
    const pending_entry **writes = malloc(frozen->count * sizeof *writes);
    if (writes == NULL) return ENOMEM;
    bool is_sorted = true;
    for (uint32_t at = 0; at < frozen->count; at++) {
        writes[at] = &frozen->entries[at];
        if (at > 0 && compare_sequences(&writes[at - 1], &writes[at]) > 0) is_sorted = false;
    }
    if (!is_sorted) qsort(writes, frozen->count, sizeof *writes, compare_sequences);
    larder_status status = LARDER_OK;
    for (uint32_t at = 0; at < frozen->count && status == LARDER_OK; at++) {
        if (op_read(writes[at]->op).kind != OP_PUT) continue;
        tree_key scratch;
        larder_bytes stored = stored_key(op_key(writes[at]->op), apply->meta.secret, &scratch);
        stamp written = {writes[at]->sequence, writes[at]->minor};
        tree_key key;
        tree_key_order(written, &key);
        MDB_val name = {key.length, key.bytes};
        MDB_val value = {stored.length, (void *)(uintptr_t)stored.data};
        int code = mdb_put(apply->txn, apply->main, &name, &value, MDB_APPEND);
        // Not behind everything: something was read after it, or it is there from before a crash.
        if (code == MDB_KEYEXIST) code = mdb_put(apply->txn, apply->main, &name, &value, 0);
        status = apply_status(code);
    }
    free(writes);
    return status;
}

// Putting it together -----------------------------------------------------------------------------

/** Of one transaction: its pages wait in memory, and most writes touch one of their own. */
typedef struct transaction_limits {
    uint32_t writes;
    uint32_t removals;
    uint64_t bytes;
} transaction_limits;

#define USUAL_LIMITS                                                                               \
    { 1 << 15, 8192, 32 << 20 }
#ifdef LARDER_FAULTS
static transaction_limits most = USUAL_LIMITS;

void larder_fault_transaction(uint32_t most_count, uint64_t most_bytes) {
    most = (transaction_limits)USUAL_LIMITS;
    if (most_count != 0) most.writes = most.removals = most_count;
    if (most_bytes != 0) most.bytes = most_bytes;
}
#else
static const transaction_limits most = USUAL_LIMITS;
#endif

/** Runs `body` in a transaction; again when the map had to grow. */
typedef larder_status (*apply_body)(apply_transaction *apply, void *context);
static larder_status in_transaction(larder_store *store, apply_body body, void *context,
                                    store_meta *committed) {
    for (;;) {
        apply_transaction apply;
        larder_status status = apply_begin(store, &apply);
        if (status != LARDER_OK) return status;
        status = body(&apply, context);
        if (status == LARDER_OK) {
            status = apply_commit(&apply);
        } else {
            apply_abort(&apply);
            status = environment_reason(store->environment, status);
            if (status == EAGAIN) {
                larder_status grown = environment_grow(store->environment);
                if (grown != LARDER_OK) return grown;
            }
        }
        if (status == LARDER_OK) {
            *committed = apply.meta;
            store->swept_age_ns = apply.meta.age_ns;
            if (apply.has_swept) {
                store->sweep_from = apply.swept_to;
                store->sweep_age_ns = apply.swept_age_ns;
            }
        }
        if (status != EAGAIN) return status;
    }
}

typedef struct apply_chunk {
    const pending_writes *frozen;
    const pending_entry **writes;
    uint32_t from;
    uint32_t to;
    bool is_first;
    bool is_last;
    touch_buffer *touches;
    flush_order *order;
    /** Receives what follows from the commit. */
    store_meta meta;
    uint64_t evicted;
    uint64_t expired;
    bool is_done;
} apply_chunk;

/** What the flusher itself wants of the tree: files announced or superfluous, reads, limits. */
static larder_status apply_last(apply_transaction *apply, apply_chunk *chunk) {
    larder_store *store = apply->store;
    larder_status status = LARDER_OK;
    // What follows from the writes comes before their order of use: of a write that is in the tree
    // from before a crash between two transactions, it takes away the very row that comes back.
    if (chunk->frozen != NULL)
        status = apply_status(row_list_apply(&apply->rows, apply->txn, apply->main));
    if (chunk->frozen != NULL) {
        for (size_t at = 0; at < chunk->frozen->dropped.count && status == LARDER_OK; at++)
            status = doom(apply, &chunk->frozen->dropped.items[at], false);
        for (size_t at = 0; at < chunk->frozen->intents.count && status == LARDER_OK; at++)
            status = doom(apply, &chunk->frozen->intents.items[at], true);
        if (status == LARDER_OK) status = apply_order(apply, chunk->frozen);
#ifndef LARDER_PLANT_STORE_FORGETS_APPLIED
        if (chunk->frozen->last_sequence > apply->meta.applied)
#else
        if (apply->meta.applied == 0)
#endif
            apply->meta.applied = chunk->frozen->last_sequence;
        if (chunk->frozen->spill_number > apply->meta.spill_number)
            apply->meta.spill_number = chunk->frozen->spill_number;
    }
    if ((chunk->order->flags & FLUSH_SETS_FORMAT) != 0)
        apply->meta.content_format = chunk->order->content_format;
    // Rows of files whose deletion is done.
    for (size_t at = 0; at < store->deleted.count && status == LARDER_OK; at++) {
        tree_key key;
        tree_key_doomed(store->deleted.items[at].epoch, store->deleted.items[at].number, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status == LARDER_OK)
        status = apply_status(row_list_apply(&apply->rows, apply->txn, apply->main));
    if (status == LARDER_OK) status = apply_touches(apply, chunk->touches);
    return status;
}

static larder_status apply_part(apply_transaction *apply, void *context) {
    apply_chunk *chunk = context;
    larder_status status = LARDER_OK;
    if (chunk->is_first && chunk->frozen != NULL && chunk->frozen->cleared > apply->meta.applied)
        status = apply_clear(apply, chunk->frozen->ended_from, chunk->frozen->ended_to);
    for (uint32_t at = chunk->from; at < chunk->to && status == LARDER_OK; at++)
        status = apply_write(apply, chunk->writes[at]);
    if (status == LARDER_OK && chunk->is_last) status = apply_last(apply, chunk);
    return status;
}

static larder_status apply_limits(apply_transaction *apply, void *context) {
    apply_chunk *chunk = context;
    larder_store *store = apply->store;
    pthread_mutex_lock(&store->lock);
    larder_store_limits limits = store->limits;
    pthread_mutex_unlock(&store->lock);
    uint64_t count = limits.count < chunk->order->count ? limits.count : chunk->order->count;
    uint64_t bytes = limits.bytes < chunk->order->bytes ? limits.bytes : chunk->order->bytes;
    bool is_expiry_done = true;
    bool is_eviction_done = true;
    larder_status status = LARDER_OK;
    if ((chunk->order->flags & FLUSH_TRIMS) != 0) {
        bool is_sweep_done = true;
        if (limits.age_ns != apply->meta.age_ns || limits.end_ns <= apply->now_ns)
            status = apply_sweep(apply, &limits, most.removals, &is_sweep_done);
        if (status == LARDER_OK) status = apply_expiry(apply, most.removals, &is_expiry_done);
        is_expiry_done = is_expiry_done && is_sweep_done;
    }
    if (status == LARDER_OK)
        status = apply_eviction(apply, count, bytes, most.removals, &is_eviction_done);
    chunk->evicted = apply->evicted;
    chunk->expired = apply->expired;
    chunk->is_done = is_expiry_done && is_eviction_done;
    return status;
}

/** What a committed transaction changes for everybody. */
static void publish_commit(larder_store *store, const apply_chunk *chunk, bool is_applied) {
    pthread_mutex_lock(&store->lock);
    committed_state *committed = &store->committed;
    committed->applied = chunk->meta.applied;
    committed->count = chunk->meta.count;
    committed->bytes = chunk->meta.bytes;
    committed->transaction = chunk->meta.transaction;
    if (chunk->evicted + chunk->expired > 0) {
        pending_forget_bases(store->active);
        if (store->frozen != NULL) pending_forget_bases(store->frozen);
    }
    if (is_applied && store->frozen != NULL) {
        uint64_t gone = store->frozen->count + (store->frozen->cleared != 0 ? 1 : 0);
        store->spare = store->frozen;
        store->frozen = NULL;
        atomic_fetch_sub_explicit(&store->pending_count, gone, memory_order_release);
        pending_reset(store->spare);
    } else if (store->frozen != NULL) {
        pending_forget_bases(store->frozen);
    }
    pthread_mutex_unlock(&store->lock);
    atomic_fetch_add_explicit(&store->evicted, chunk->evicted, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->expired, chunk->expired, memory_order_relaxed);
}

static uint32_t chunk_end(const pending_entry **writes, uint32_t from, uint32_t count) {
    uint64_t bytes = 0;
    uint32_t to = from;
    while (to < count && to - from < most.writes && bytes < most.bytes)
        bytes += op_read(writes[to++]->op).payload.length;
    return to;
}

static larder_status apply_frozen(larder_store *store, apply_chunk *chunk) {
    uint32_t count = chunk->frozen == NULL ? 0 : chunk->frozen->count;
    larder_status status = LARDER_OK;
    chunk->is_first = true;
    do {
        chunk->to = chunk_end(chunk->writes, chunk->from, count);
        chunk->is_last = chunk->to == count;
        // A part of what is pending may only be in the tree when the whole is safe in the journal:
        // else a power cut could leave the part. The journal ends where a file is missing, so this
        // goes for all files that it names, also those of values that were replaced since.
        if (chunk->is_first && !chunk->is_last)
#ifdef LARDER_PLANT_STORE_SYNCS_JOURNAL_ALONE
            status = journal_sync(&store->journal, chunk->frozen->last_sequence);
#else
            status = store_sync_through(store, chunk->frozen->last_sequence);
#endif
        if (status == LARDER_OK) status = in_transaction(store, apply_part, chunk, &chunk->meta);
        if (status != LARDER_OK) return status;
        if (chunk->is_last) store->deleted.count = 0;
        publish_commit(store, chunk, chunk->is_last);
        chunk->is_first = false;
        chunk->from = chunk->to;
    } while (!chunk->is_last);
    return LARDER_OK;
}

static void drain_one(void *context, touch_buffer *touches) {
    larder_store *store = context;
    pthread_mutex_lock(&store->lock);
    touch_buffer_move(touches, &store->folding);
    pthread_mutex_unlock(&store->lock);
}

/** Whether the first of the rows to expire is due. */
static bool is_row_due(larder_store *store) {
    snapshot *place;
    if (environment_read(store->environment, &place) != LARDER_OK) return true;
    uint8_t space = SPACE_EXPIRY;
    larder_bytes from = {&space, 1};
    larder_bytes key;
    larder_bytes value;
    tree_cursor cursor;
    larder_status status = tree_cursor_seek(&cursor, &place->tree, from);
    if (status == LARDER_OK) status = tree_cursor_get(&cursor, &key, &value);
    const uint8_t *bytes = key.data;
    bool is_due = status == LARDER_OK && key.length >= 9 && bytes[0] == SPACE_EXPIRY &&
                  unflip(get_be64(bytes + 1)) <= store_now(store);
    environment_release(store->environment, place);
    return is_due;
}

/** Whether there is anything for a transaction to do that only looks after limits: without, a store
    that nobody writes to is left alone by the flusher too. */
static bool needs_limits(larder_store *store, const flush_order *order, int64_t swept_age_ns) {
    pthread_mutex_lock(&store->lock);
    const committed_state *now = &store->committed;
    bool trims = (order->flags & FLUSH_TRIMS) != 0 && now->count > 0;
    bool needs = now->count > store->limits.count || now->bytes > store->limits.bytes ||
                 now->count > order->count || now->bytes > order->bytes;
    if (trims && (store->limits.age_ns != swept_age_ns || store->limits.end_ns <= store_now(store)))
        needs = true;
    pthread_mutex_unlock(&store->lock);
    return needs || (trims && is_row_due(store));
}

larder_status store_apply(larder_store *store, flush_order *order) {
    environment_drain_touches(store->environment, drain_one, store);
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&store->lock);
    apply_chunk chunk = {.frozen = store->frozen, .order = order, .touches = &store->folding};
    pthread_mutex_unlock(&store->lock);
    bool has_work = chunk.frozen != NULL || store->folding.count > 0 || store->deleted.count > 0 ||
                    (order->flags & FLUSH_SETS_FORMAT) != 0;
    if (status == LARDER_OK && chunk.frozen != NULL) {
        chunk.writes = malloc((chunk.frozen->count + 1) * sizeof *chunk.writes);
        status = chunk.writes == NULL ? ENOMEM : pending_sort(chunk.frozen, chunk.writes);
    }
    if (status == LARDER_OK && has_work) status = apply_frozen(store, &chunk);
    if (status == LARDER_OK) {
        pthread_mutex_lock(&store->lock);
        uint64_t dropped = store->folding.dropped;
        touch_buffer_free(&store->folding);
        pthread_mutex_unlock(&store->lock);
        atomic_fetch_add_explicit(&store->touches_dropped, dropped, memory_order_relaxed);
    }
    chunk.is_done = !needs_limits(store, order, store->swept_age_ns);
    while (status == LARDER_OK && !chunk.is_done) {
        chunk.evicted = chunk.expired = 0;
        status = in_transaction(store, apply_limits, &chunk, &chunk.meta);
        if (status != LARDER_OK) break;
        publish_commit(store, &chunk, false);
        order->evicted += chunk.evicted;
        order->expired += chunk.expired;
    }
    free(chunk.writes);
    return status;
}
