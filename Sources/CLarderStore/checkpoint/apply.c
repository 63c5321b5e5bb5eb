// SPDX-License-Identifier: MIT
/** @file apply.c
    One transaction of a checkpoint: entries, and the rows that follow from them.

    Invariants, between transactions:
    1. If meta.has_order, each entry has one row in the order of use: of its write, or of the last
       read that was folded in, and then SPACE_RECENCY says which.
    2. Each entry with a deadline has one row among those to expire: at its own deadline, or at the
       one that SPACE_RECENCY calls armed. It is never later than the deadline.
    3. Each index entry of each entry has its row.
    4. Each entry's row leads to a record in a segment that is there and, as far as that record, on
       the device; and a row of SPACE_SEGMENT counts it.
    5. meta.count and meta.bytes are those of all entries.
    6. Of each key the tree has the newest write up to meta.applied, or a newer one. */
#include "checkpoint/apply.h"

#include <errno.h>
#include <stdlib.h>

larder_status apply_status(int code) {
    if (code == MDB_MAP_FULL) return EAGAIN;
    return environment_status(code);
}

larder_status apply_guard(apply_transaction *apply, const tree_key *key) {
    return environment_guard(apply->store->environment, key->bytes, key->length);
}

larder_status apply_seek(apply_transaction *apply, MDB_val *key, MDB_val *value) {
    larder_status status = environment_guard(apply->store->environment, key->mv_data, key->mv_size);
    if (status != LARDER_OK) return status;
    int code = mdb_cursor_get(apply->entries, key, value, MDB_SET_RANGE);
    return code == MDB_NOTFOUND ? LARDER_END : apply_status(code);
}

larder_status apply_next(apply_transaction *apply, MDB_val *key, MDB_val *value) {
    larder_status status = environment_guard(apply->store->environment, key->mv_data, key->mv_size);
    if (status != LARDER_OK) return status;
    int code = mdb_cursor_get(apply->entries, key, value, MDB_NEXT);
    return code == MDB_NOTFOUND ? LARDER_END : apply_status(code);
}

larder_status apply_put_row(apply_transaction *apply, const tree_key *key, larder_bytes value) {
    larder_status status = apply_guard(apply, key);
    if (status != LARDER_OK) return status;
    MDB_val name = {key->length, (void *)(uintptr_t)key->bytes};
    MDB_val bytes = {value.length, (void *)(uintptr_t)value.data};
    return apply_status(mdb_put(apply->txn, apply->main, &name, &bytes, 0));
}

larder_status apply_delete_row(apply_transaction *apply, const tree_key *key) {
    larder_status status = apply_guard(apply, key);
    if (status != LARDER_OK) return status;
    MDB_val name = {key->length, (void *)(uintptr_t)key->bytes};
    int code = mdb_del(apply->txn, apply->main, &name, NULL);
    return code == MDB_NOTFOUND ? LARDER_OK : apply_status(code);
}

// The transaction ---------------------------------------------------------------------------------

static larder_status apply_prepare(apply_transaction *apply) {
    int code = mdb_cursor_open(apply->txn, apply->main, &apply->entries);
    if (code != 0) return apply_status(code);
    uint8_t space = SPACE_META;
    MDB_val key = {1, &space};
    MDB_val value;
    larder_status status = apply_seek(apply, &key, &value);
    if (status == LARDER_END || (status == LARDER_OK && key.mv_size != 1)) return LARDER_EDAMAGED;
    if (status == LARDER_OK)
        status = store_meta_read((larder_bytes){value.mv_data, value.mv_size}, &apply->meta);
    if (status != LARDER_OK) return status;
    uint8_t recency = SPACE_RECENCY;
    key = (MDB_val){1, &recency};
    status = apply_seek(apply, &key, &value);
    apply->has_recency =
        status == LARDER_OK && key.mv_size > 0 && *(const uint8_t *)key.mv_data == SPACE_RECENCY;
    return status == LARDER_END ? LARDER_OK : status;
}

larder_status apply_begin(larder_store *store, apply_transaction *out) {
    memset(out, 0, sizeof *out);
    out->store = store;
    out->now_ns = store_now(store);
    larder_status status = live_copy(&store->live, &out->live);
    if (status == LARDER_OK) status = environment_begin(store->environment, &out->txn, &out->main);
    if (status == LARDER_OK) status = apply_prepare(out);
    if (status != LARDER_OK) apply_abort(out);
    return status;
}

void apply_abort(apply_transaction *apply) {
    if (apply->entries != NULL) mdb_cursor_close(apply->entries);
    if (apply->txn != NULL) environment_abort(apply->store->environment, apply->txn);
    apply->entries = NULL;
    apply->txn = NULL;
    row_list_free(&apply->rows);
    live_free(&apply->live);
}

/** Rows of the segments that the transaction changed. */
static larder_status live_rows(apply_transaction *apply) {
    for (size_t at = 0; at < apply->live.count; at++) {
        live_segment *changed = &apply->live.items[at];
        if (!changed->is_changed) continue;
        changed->is_changed = false;
        uint8_t bytes[LIVE_ROW_BYTES];
        live_row_write(bytes, changed);
        tree_key key;
        tree_key_segment(changed->number, &key);
        larder_status status = apply_put_row(apply, &key, (larder_bytes){bytes, sizeof bytes});
        if (status != LARDER_OK) return status;
    }
    return LARDER_OK;
}

larder_status apply_commit(apply_transaction *apply) {
    larder_store *store = apply->store;
    larder_status status =
        row_list_apply(&apply->rows, apply->store->environment, apply->txn, apply->main);
    if (status == LARDER_OK) status = live_rows(apply);
    if (status == LARDER_OK) {
        apply->meta.transaction = mdb_txn_id(apply->txn);
        uint8_t bytes[META_BYTES];
        store_meta_write(bytes, &apply->meta);
        tree_key key = {{SPACE_META}, 1};
        status = apply_put_row(apply, &key, (larder_bytes){bytes, sizeof bytes});
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
    status = environment_commit(store->environment, txn);
    if (status == LARDER_OK) {
        live_table before = store->live;
        store->live = apply->live;
        apply->live = before;
    }
    live_free(&apply->live);
    return status;
}

// Entries -----------------------------------------------------------------------------------------

larder_status apply_entry_of_row(apply_transaction *apply, larder_bytes stored, larder_bytes row,
                                 apply_entry *out) {
    memset(out, 0, sizeof *out);
    larder_status status = row_read(row, &out->row);
    if (status != LARDER_OK) return status;
    const entry_row *found = &out->row;
    out->padded = row_record_padded(found, stored);
    const uint8_t telling = RECORD_EXPIRES | RECORD_IDLES | RECORD_INDEXED;
    if ((found->flags & telling) != 0 || apply->meta.age_ns != LARDER_STORE_NEVER ||
        atomic_load_explicit(&apply->store->age_ns, memory_order_relaxed) != LARDER_STORE_NEVER ||
        out->padded == 0) {
        larder_bytes bytes;
        uint32_t segment_number;
        status = store_record_of_row(apply->store, row, &bytes, &segment_number);
        if (status == LARDER_OK) status = record_read(bytes, false, &out->record);
        if (status == LARDER_OK) {
            out->padded = record_padded(bytes.length);
            return LARDER_OK;
        }
        if (status != LARDER_EDAMAGED) return status;
        // The rows that it asked for stay, and are found to lead nowhere when their time comes.
        memset(&out->record, 0, sizeof out->record);
    }
    out->record.kind = RECORD_PUT;
    out->record.sequence = found->sequence;
    out->record.minor = found->minor;
    out->record.flags = found->flags & (uint8_t)~telling;
    out->record.expires_ns = out->record.idle_ns = LARDER_STORE_NEVER;
    out->record.value.length = found->value_bytes;
    return LARDER_OK;
}

larder_status apply_find(apply_transaction *apply, larder_bytes stored, apply_entry *out) {
    tree_key key;
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    larder_status status = apply_guard(apply, &key);
    if (status != LARDER_OK) return status;
    MDB_val wanted = {key.length, key.bytes};
    MDB_val value;
    int code = mdb_get(apply->txn, apply->main, &wanted, &value);
    if (code == MDB_NOTFOUND) return LARDER_ENOTFOUND;
    if (code != 0) return apply_status(code);
    larder_bytes bytes = {value.mv_data, value.mv_size};
    return apply_entry_of_row(apply, stored, bytes, out);
}

larder_status apply_measure(apply_transaction *apply, const segment *from, uint64_t used_bytes,
                            uint64_t record_count, uint64_t bare_count, uint64_t last_sequence) {
    live_segment *measured;
    larder_status status = live_add(&apply->live, from->number, &measured);
    if (status != LARDER_OK) return status;
    measured->used_bytes = used_bytes;
    measured->record_count = record_count;
    measured->bare_count = bare_count;
    measured->first_sequence = from->first_sequence;
    measured->last_sequence = last_sequence;
    measured->as_of = from->as_of;
    measured->is_changed = true;
    return LARDER_OK;
}

larder_status apply_live(apply_transaction *apply, uint32_t number, size_t padded, bool is_dead) {
    live_segment *changed;
    if (is_dead) {
        changed = live_find(&apply->live, number);
        if (changed == NULL) return LARDER_OK;
        changed->live_bytes -= padded < changed->live_bytes ? padded : changed->live_bytes;
        if (changed->live_count > 0) changed->live_count--;
        if (changed->live_count == 0) changed->live_bytes = 0;
    } else {
        larder_status status = live_add(&apply->live, number, &changed);
        if (status != LARDER_OK) return status;
        changed->live_bytes += padded;
        changed->live_count++;
    }
    changed->is_changed = true;
    return LARDER_OK;
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
    // Of damage the commit tells.
    if (apply_guard(apply, &key) != LARDER_OK) return;
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
    return apply_put_row(apply, &key, (larder_bytes){bytes, sizeof bytes});
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

larder_status apply_retire(apply_transaction *apply, larder_bytes stored, const apply_entry *old) {
    const record *entry = &old->record;
    entry_state state;
    apply_state(apply, stored, entry, &state);
    tree_key key;
    larder_status status = LARDER_OK;
    if (apply->meta.has_order) {
        tree_key_order(state.at, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status == LARDER_OK && state.has_row) {
        tree_key_of_stored(SPACE_RECENCY, stored, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status == LARDER_OK && state.armed_ns != LARDER_STORE_NEVER) {
        tree_key_expiry(state.armed_ns, entry->sequence, entry->minor, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status == LARDER_OK) status = index_rows(apply, stored, entry, true);
    if (status == LARDER_OK) status = apply_live(apply, old->row.at.segment, old->padded, true);
    if (status != LARDER_OK) return status;
    apply->meta.count -= 1;
    apply->meta.bytes -= old->row.value_bytes;
    return LARDER_OK;
}

/** Rows of an entry that comes, but that of the order of use. */
static larder_status apply_install(apply_transaction *apply, larder_bytes stored,
                                   const record *fresh, uint32_t segment_number, size_t padded) {
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
    if (status == LARDER_OK) status = index_rows(apply, stored, fresh, false);
    if (status == LARDER_OK) status = apply_live(apply, segment_number, padded, false);
    if (status != LARDER_OK) return status;
    apply->meta.count += 1;
    apply->meta.bytes += fresh->value.length;
    return LARDER_OK;
}

larder_status apply_remove(apply_transaction *apply, larder_bytes stored, const apply_entry *old) {
    larder_status status = apply_retire(apply, stored, old);
    if (status != LARDER_OK) return status;
    tree_key key;
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    return apply_delete_row(apply, &key);
}

// Writes ------------------------------------------------------------------------------------------

/** Whether the tree has the write already, or a later one: after a crash between the transactions
    of a checkpoint. */
static bool row_has(const entry_row *row, const uint8_t *written) {
    uint64_t sequence = record_sequence(written);
    return row->sequence > sequence ||
           (row->sequence == sequence && row->minor >= record_minor(written));
}

larder_status apply_write(apply_transaction *apply, const uint8_t *at, uint32_t segment_number) {
    segment *from;
    larder_status status = log_segment(&apply->store->log, segment_number, &from);
    if (status != LARDER_OK) return status;
    return apply_write_at(apply, at, (location){segment_number, (uint64_t)(at - from->map)});
}

larder_status apply_write_at(apply_transaction *apply, const uint8_t *at, location where) {
    tree_key scratch;
    larder_bytes stored = stored_key(record_key(at), apply->meta.secret, &scratch);
    tree_key key;
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    MDB_val name = {key.length, key.bytes};
    MDB_val value = {0, NULL};
    larder_status status = apply_guard(apply, &key);
    if (status != LARDER_OK) return status;
    int code = mdb_cursor_get(apply->entries, &name, &value, MDB_SET);
    bool is_there = code == 0;
    if (code != 0 && code != MDB_NOTFOUND) return apply_status(code);
    if (is_there) {
        apply_entry old;
        larder_bytes row = {value.mv_data, value.mv_size};
        status = apply_entry_of_row(apply, stored, row, &old);
        if (status == LARDER_OK && row_has(&old.row, at)) return LARDER_OK;
        if (status == LARDER_OK) status = apply_retire(apply, stored, &old);
        // A row that cannot be read is replaced all the same.
        if (status != LARDER_OK && status != LARDER_EDAMAGED) return status;
    }
    if (record_kind(at) == RECORD_REMOVE)
        return is_there ? apply_status(mdb_cursor_del(apply->entries, 0)) : LARDER_OK;
    record fresh;
    status = record_read(record_bytes(at), false, &fresh);
    if (status != LARDER_OK) return status;
    uint8_t bytes[ROW_BYTES + INLINE_RECORD_MAX_BYTES];
    bool inlines = fresh.value.length <= apply->store->options.inline_threshold_bytes &&
                   record_length(at) <= INLINE_RECORD_MAX_BYTES;
    value.mv_size = row_write(bytes, at, where, inlines);
    value.mv_data = bytes;
    name = (MDB_val){key.length, key.bytes};
    code = mdb_cursor_put(apply->entries, &name, &value, 0);
    if (code != 0) return apply_status(code);
    return apply_install(apply, stored, &fresh, where.segment, record_padded(record_length(at)));
}

larder_status apply_clear(apply_transaction *apply, uint64_t sequence) {
    larder_status status = environment_guard_all(apply->store->environment);
    if (status != LARDER_OK) return status;
    mdb_cursor_close(apply->entries);
    apply->entries = NULL;
    int code = mdb_drop(apply->txn, apply->main, 0);
    if (code == 0) code = mdb_cursor_open(apply->txn, apply->main, &apply->entries);
    if (code != 0) return apply_status(code);
    apply->meta.count = 0;
    apply->meta.bytes = 0;
    apply->meta.cleared = sequence;
    apply->has_recency = false;
    for (size_t at = 0; at < apply->live.count; at++) {
        live_segment *emptied = &apply->live.items[at];
        emptied->live_bytes = emptied->live_count = 0;
        emptied->is_changed = true;
    }
    // The meta record is written with the commit; until then a reader sees the old state.
    return LARDER_OK;
}

// The order of use --------------------------------------------------------------------------------

larder_status apply_order_put(apply_transaction *apply, const uint8_t *at) {
    tree_key scratch;
    larder_bytes stored = stored_key(record_key(at), apply->meta.secret, &scratch);
    tree_key key;
    tree_key_order((stamp){record_sequence(at), record_minor(at)}, &key);
    larder_status status = apply_guard(apply, &key);
    if (status != LARDER_OK) return status;
    MDB_val name = {key.length, key.bytes};
    MDB_val value = {stored.length, (void *)(uintptr_t)stored.data};
    int code = mdb_put(apply->txn, apply->main, &name, &value, MDB_APPEND);
    // Not behind everything: something was read after it, or it is there from before a crash.
    if (code == MDB_KEYEXIST) code = mdb_put(apply->txn, apply->main, &name, &value, 0);
    return apply_status(code);
}
