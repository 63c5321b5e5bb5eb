// SPDX-License-Identifier: MIT
/** @file apply.c
    One transaction of a checkpoint: entries, and the rows that follow from them.

    Invariants, between transactions:
    1. If meta.has_order, each entry has one row in the order of use: of its write, or of the last
       read that was folded in, and then SPACE_RECENCY says which.
    2. Each entry with a deadline has one row among those to expire: at its own deadline, or at the
       one that SPACE_RECENCY calls armed. It is never later than the deadline. From
       EXPIRY_ROWS_END_NS on there is none, unless an earlier version put it there.
    3. Each index entry of each entry has its row.
    4. Each entry's row leads to a record in a segment that is there and, as far as that record, on
       the device; and a row of SPACE_SEGMENT counts it.
    5. meta.count and meta.bytes are those of all entries.
    6. Of each key the tree has the newest write up to meta.applied, or a newer one. */
#include "checkpoint/apply.h"

larder_status larder_apply_seek(apply_txn *apply, MDB_cursor_op op, MDB_val *key, MDB_val *value) {
    larder_status status = larder_environment_guard(apply->environment, key->mv_data, key->mv_size);
    if (status) return status;
    int code = mdb_cursor_get(apply->entries, key, value, op);
    return code == MDB_NOTFOUND ? LARDER_END : larder_environment_status(code);
}

static MDB_val val_of(larder_bytes bytes) {
    return (MDB_val){bytes.length, (void *)(uintptr_t)bytes.data};
}

larder_status larder_apply_get(apply_txn *apply, const tree_key *key, larder_bytes *row) {
    MDB_val name = val_of(bytes_of_key(key)), value;
    larder_status status = larder_apply_seek(apply, MDB_SET, &name, &value);
    if (!status) *row = (larder_bytes){value.mv_data, value.mv_size};
    return status;
}

larder_status larder_apply_row(apply_txn *apply, const tree_key *key, const larder_bytes *value) {
    return larder_environment_row(apply->environment, apply->txn, apply->main, bytes_of_key(key),
                                  value);
}

larder_status larder_apply_rows(apply_txn *apply) {
    return larder_row_list_apply(&apply->rows, apply->environment, apply->txn, apply->main);
}

// The transaction ---------------------------------------------------------------------------------

static larder_status apply_begin(larder_store *store, apply_txn *out) {
    memset(out, 0, sizeof *out);
    out->store = store;
    out->environment = store->index.environment;
    out->now_ns = expiry_removes_before(&store->expiry);
    larder_status status = larder_live_copy(&store->index.live, &out->live);
    if (!status) status = larder_environment_begin(out->environment, &out->txn, &out->main);
    if (status) return status;
    int code = mdb_cursor_open(out->txn, out->main, &out->entries);
    if (code != 0) return larder_environment_status(code);
    larder_bytes meta;
    status = larder_apply_get(out, &(tree_key){{SPACE_META}, 1}, &meta);
    if (status == LARDER_END) return LARDER_EDAMAGED;
    if (!status) status = larder_store_meta_read(meta, &out->meta);
    if (status) return status;
    MDB_val key = {1, &(uint8_t){SPACE_RECENCY}}, value;
    status = larder_apply_seek(out, MDB_SET_RANGE, &key, &value);
    out->has_recency = !status && *(const uint8_t *)key.mv_data == SPACE_RECENCY;
    if (status && status != LARDER_END) return status;
    tree_key late;
    larder_tree_key_expiry(EXPIRY_ROWS_END_NS, 0, 0, &late);
    key = val_of(bytes_of_key(&late));
    status = larder_apply_seek(out, MDB_SET_RANGE, &key, &value);
    out->has_late_rows = !status && *(const uint8_t *)key.mv_data == SPACE_EXPIRY;
    return status == LARDER_END ? LARDER_OK : status;
}

/** Rows of the segments that the transaction changed, rows that follow from entries, and meta. */
static larder_status apply_end(apply_txn *apply) {
    larder_status status = larder_apply_rows(apply);
    for (size_t at = 0; at < apply->live.count && !status; at++) {
        live_segment *changed = &apply->live.items[at];
        if (!changed->is_changed) continue;
        changed->is_changed = false;
        tree_key key;
        larder_tree_key_segment(changed->number, &key);
        status = larder_apply_row(apply, &key, &(larder_bytes){changed, LIVE_ROW_BYTES});
    }
    if (status) return status;
    apply->meta.transaction = mdb_txn_id(apply->txn);
    uint8_t bytes[META_BYTES];
    larder_store_meta_write(bytes, &apply->meta);
    tree_key key = {{SPACE_META}, 1};
    return larder_apply_row(apply, &key, &(larder_bytes){bytes, sizeof bytes});
}

/** Commits if `status` is LARDER_OK, and releases everything. EAGAIN: the map was too small and
    has grown. */
static larder_status apply_finish(apply_txn *apply, larder_status status) {
    if (apply->entries != NULL) mdb_cursor_close(apply->entries);
    if (apply->txn) status = larder_environment_end(apply->environment, apply->txn, status);
    if (!status) {
        live_table before = apply->store->index.live;
        apply->store->index.live = apply->live;
        apply->live = before;
    }
    larder_row_list_free(&apply->rows);
    larder_live_free(&apply->live);
    return status;
}

larder_status larder_apply_run(larder_store *store, apply_body body, void *context,
                               apply_txn *out) {
    larder_status status;
    do {
        status = apply_begin(store, out);
        if (!status) status = body(out, context);
        if (!status) status = apply_end(out);
        status = apply_finish(out, status);
    } while (status == EAGAIN && out->txn != NULL);
    return status;
}

// Entries -----------------------------------------------------------------------------------------

int64_t larder_apply_default_due(const record *entry, int64_t age_ns) {
    if ((entry->flags & RECORD_OWN_TIMES) != 0) age_ns = LARDER_STORE_NEVER;
    return earlier(record_own_deadline(entry), later_by(entry->written_ns, age_ns));
}

/** The entry's state: of its row in SPACE_RECENCY, or as it was when it was written. */
static larder_status read_state(apply_txn *apply, larder_bytes stored, apply_entry *out) {
    const record *entry = &out->record;
    out->state = (entry_state){{entry->sequence, entry->minor},
                               record_first_deadline(entry),
                               larder_apply_default_due(entry, apply->meta.age_ns),
                               false};
    if (!apply->has_recency) return LARDER_OK;
    tree_key key;
    larder_tree_key_of_stored(SPACE_RECENCY, stored, &key);
    larder_bytes row;
    larder_status status = larder_apply_get(apply, &key, &row);
    if (status || row.length != STATE_BYTES) return status == LARDER_END ? LARDER_OK : status;
    const uint8_t *bytes = row.data;
    out->state = (entry_state){{get_be64(bytes), get_be64(bytes + 8)},
                               unflip(get_be64(bytes + 16)),
                               unflip(get_be64(bytes + 24)),
                               true};
    if (record_is_renewable(entry)) record_renew(&out->record, out->state.deadline_ns);
    return LARDER_OK;
}

larder_status larder_apply_set_state(apply_txn *apply, larder_bytes stored,
                                     const entry_state *state) {
    uint8_t bytes[STATE_BYTES];
    put_be64(bytes, state->at.sequence);
    put_be64(bytes + 8, state->at.minor);
    put_be64(bytes + 16, flip(state->deadline_ns));
    put_be64(bytes + 24, flip(state->armed_ns));
    tree_key key;
    larder_tree_key_of_stored(SPACE_RECENCY, stored, &key);
    apply->has_recency = true;
    return row_list_put(&apply->rows, &key, (larder_bytes){bytes, sizeof bytes});
}

larder_status larder_apply_find(apply_txn *apply, larder_bytes stored, tree_key *key,
                                apply_entry *out) {
    memset(out, 0, sizeof *out);
    larder_tree_key_of_stored(SPACE_ENTRY, stored, key);
    larder_bytes row;
    larder_status status = larder_apply_get(apply, key, &row);
    if (status) return status == LARDER_END ? LARDER_ENOTFOUND : status;
    const entry_row *found = &out->row;
    out->is_damaged = larder_row_read(row, &out->row) || !larder_row_is_of_inlined(found);
    if (out->is_damaged) return LARDER_OK;
    out->padded = larder_row_record_padded(found, stored);
    const uint8_t telling = RECORD_EXPIRES | RECORD_IDLES | RECORD_INDEXED;
    bool is_read = false;
    if ((found->flags & telling) != 0 || apply->meta.age_ns != LARDER_STORE_NEVER ||
        atomic_load_explicit(&apply->store->expiry.age_ns, memory_order_relaxed) !=
            LARDER_STORE_NEVER ||
        out->padded == 0) {
        larder_bytes bytes;
        uint32_t segment_number;
        status = larder_log_row(&apply->store->pending.log, row, &bytes, &segment_number);
        if (!status) status = larder_record_read(bytes, false, &out->record);
        // Without it, the rows that it asked for stay, and are found to lead nowhere when their
        // time comes.
        if (status && status != LARDER_EDAMAGED) return status;
        is_read = !status;
        if (is_read) out->padded = record_padded(bytes.length);
        record whole;
        out->leaves_strays = (found->flags & RECORD_INDEXED) != 0 &&
                             (status || larder_record_read(bytes, true, &whole) != LARDER_OK);
    }
    if (!is_read)
        out->record = (record){.kind = RECORD_PUT,
                               .sequence = found->sequence,
                               .minor = found->minor,
                               .flags = found->flags & (uint8_t)~telling,
                               .expires_ns = LARDER_STORE_NEVER,
                               .idle_ns = LARDER_STORE_NEVER,
                               .refresh_ns = LARDER_STORE_NEVER,
                               .value = {NULL, found->value_bytes}};
    return read_state(apply, stored, out);
}

larder_status larder_apply_measure(apply_txn *apply, const segment *from, const memtable *frozen) {
    live_segment *measured;
    larder_status status = larder_live_add(&apply->live, from->number, &measured);
    if (status) return status;
    uint64_t end = frozen ? frozen->end.offset : atomic_load(&from->end);
    measured->used_bytes = end - SEGMENT_HEAD_BYTES;
    measured->record_count = frozen ? frozen->end_record_count : from->record_count;
    measured->bare_count = frozen ? frozen->end_bare_count : from->bare_count;
    measured->first_sequence = from->first_sequence;
    measured->last_sequence = frozen ? frozen->last_sequence : from->last_sequence;
    measured->as_of = from->as_of;
    measured->is_changed = true;
    return LARDER_OK;
}

larder_status larder_apply_live(apply_txn *apply, uint32_t number, size_t padded, bool is_dead) {
    live_segment *changed = larder_live_find(&apply->live, number);
    if (is_dead && changed == NULL) return LARDER_OK;
    larder_status status = larder_live_add(&apply->live, number, &changed);
    if (status) return status;
    changed->is_changed = true;
    if (is_dead) {
        changed->live_bytes -= padded < changed->live_bytes ? padded : changed->live_bytes;
        if (changed->live_count > 0) changed->live_count--;
        if (changed->live_count == 0) changed->live_bytes = 0;
    } else {
        changed->live_bytes += padded;
        changed->live_count++;
    }
    return LARDER_OK;
}

larder_status larder_apply_arm(apply_txn *apply, larder_bytes stored, const record *entry,
                               int64_t from_ns, int64_t to_ns) {
    tree_key key;
    larder_status status = LARDER_OK;
    bool has_row =
        from_ns < EXPIRY_ROWS_END_NS || (from_ns != LARDER_STORE_NEVER && apply->has_late_rows);
    if (has_row) {
        larder_tree_key_expiry(from_ns, entry->sequence, entry->minor, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status || to_ns >= EXPIRY_ROWS_END_NS) return status;
    larder_tree_key_expiry(to_ns, entry->sequence, entry->minor, &key);
    return row_list_put(&apply->rows, &key, stored);
}

static larder_status index_rows(apply_txn *apply, larder_bytes stored, const record *entry,
                                bool are_deleted) {
    size_t offset = 0;
    larder_store_index_entry item;
    larder_status status = LARDER_OK;
    while (!status && larder_record_next_index(entry, &offset, &item)) {
        tree_key key;
        uint8_t bytes[INDEX_ROW_MAX_BYTES];
        larder_tree_key_index(item.index, item.value, &stored, apply->meta.secret, &key);
        larder_bytes value = meta_index_row(&apply->meta, &key, stored, bytes);
        status = are_deleted ? row_list_delete(&apply->rows, &key)
                             : row_list_put(&apply->rows, &key, value);
    }
    return status;
}

/** Rows of an entry that goes deleted, and its bytes no longer live. */
static larder_status retire_entry(apply_txn *apply, larder_bytes stored, const apply_entry *old) {
    tree_key key;
    larder_status status =
        larder_apply_arm(apply, stored, &old->record, old->state.armed_ns, LARDER_STORE_NEVER);
    if (!status) status = index_rows(apply, stored, &old->record, true);
    if (!status) status = larder_apply_live(apply, old->row.at.segment, old->padded, true);
    if (!status && apply->meta.has_order) {
        larder_tree_key_order(old->state.at, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    apply->meta.count -= 1;
    apply->meta.bytes -= old->row.value_bytes;
    apply->meta.has_strays |= old->leaves_strays;
    if (status || !old->state.has_row) return status;
    larder_tree_key_of_stored(SPACE_RECENCY, stored, &key);
    return row_list_delete(&apply->rows, &key);
}

/** Rows of an entry that comes, but that of the order of use. */
static larder_status install_entry(apply_txn *apply, larder_bytes stored, const record *fresh,
                                   uint32_t segment_number, size_t padded) {
    int64_t age = atomic_load_explicit(&apply->store->expiry.age_ns, memory_order_relaxed);
    int64_t due = larder_apply_default_due(fresh, age);
    larder_status status = larder_apply_arm(apply, stored, fresh, LARDER_STORE_NEVER, due);
    if (!status) status = index_rows(apply, stored, fresh, false);
    if (!status) status = larder_apply_live(apply, segment_number, padded, false);
    apply->meta.count += 1;
    apply->meta.bytes += fresh->value.length;
    if (status || due == larder_apply_default_due(fresh, apply->meta.age_ns)) return status;
    // The limit of age is not the one that the tree is in order for, until the sweep is done.
    entry_state state = {{fresh->sequence, fresh->minor}, record_first_deadline(fresh), due, true};
    return larder_apply_set_state(apply, stored, &state);
}

larder_status larder_apply_remove(apply_txn *apply, larder_bytes stored, const apply_entry *old) {
    larder_status status = retire_entry(apply, stored, old);
    if (status) return status;
    tree_key key;
    larder_tree_key_of_stored(SPACE_ENTRY, stored, &key);
    return larder_apply_row(apply, &key, NULL);
}

// Writes ------------------------------------------------------------------------------------------

/** Such a put is evicted before it comes into the tree, and nothing else for it. */
static bool exceeds_limit_alone(const apply_txn *apply, const uint8_t *at) {
    uint64_t most = apply->store->index.value_max_bytes;
    record entry;
    return record_length(at) > most &&
           larder_record_read(record_bytes(at), false, &entry) == LARDER_OK &&
           entry.value.length > most;
}

/** Whether the tree has the entry of a put. It has not where that exceeded the limit alone, unless
    it was applied under another one. */
static larder_status is_applied(apply_txn *apply, larder_bytes stored, const uint8_t *at,
                                bool *out) {
    tree_key ignored;
    apply_entry found;
    *out = true;
    if (!exceeds_limit_alone(apply, at)) return LARDER_OK;
    larder_status status = larder_apply_find(apply, stored, &ignored, &found);
    *out = !status && !found.is_damaged && found.row.sequence == record_sequence(at);
    return status == LARDER_ENOTFOUND ? LARDER_OK : status;
}

/** Whether the tree has a write already, or a later one: after a crash between the transactions of
    a checkpoint. Of a batch with the key more than once only the last record comes here.
    @param old is damaged from here on if its row says so, and not the record that it leads to. */
static larder_status is_there_already(apply_txn *apply, const tree_key *key, const uint8_t *at,
                                      apply_entry *old, bool *out) {
    larder_store *store = apply->store;
    larder_bytes row, bytes;
    uint32_t segment_number;
    *out = !old->is_damaged && old->row.sequence >= record_sequence(at);
    // A later one may be what was lost of the log: then nothing older comes in its place.
    if (!*out || (old->row.sequence > record_sequence(at) && store->recovery.journal_lost > 0))
        return LARDER_OK;
    larder_status status = larder_apply_get(apply, key, &row);
    if (!status) status = larder_log_row(&store->pending.log, row, &bytes, &segment_number);
    old->is_damaged = status == LARDER_EDAMAGED;
    *out = !status;
    return old->is_damaged ? LARDER_OK : status;
}

larder_status larder_apply_write(apply_txn *apply, const uint8_t *at, location where) {
    tree_key scratch, key;
    larder_bytes stored = larder_stored_key(larder_record_key(at), apply->meta.secret, &scratch);
    apply_entry old;
    larder_status status = larder_apply_find(apply, stored, &key, &old);
    bool is_there = status != LARDER_ENOTFOUND;
    if (status && is_there) return status;
    bool is_already = false;
    status = is_there ? is_there_already(apply, &key, at, &old, &is_already) : LARDER_OK;
    if (status || is_already) return status;
    if (is_there && old.is_damaged) {
        // It is replaced all the same. What else it has in the tree and the log, nobody knows.
        apply->meta.has_strays = apply->has_damaged_row = true;
        apply->meta.count -= 1;
    } else if (is_there) {
        status = retire_entry(apply, stored, &old);
        if (status) return status;
    }
    if (record_kind(at) == RECORD_REMOVE)
        return is_there ? larder_apply_row(apply, &key, NULL) : LARDER_OK;
    record fresh;
    status = larder_record_read(record_bytes(at), false, &fresh);
    if (status) return status;
    if (exceeds_limit_alone(apply, at)) {
        apply->evicted++;
        return is_there ? larder_apply_row(apply, &key, NULL) : LARDER_OK;
    }
    uint8_t bytes[ROW_BYTES + INLINE_RECORD_MAX_BYTES];
    bool inlines = fresh.value.length <= apply->store->options.inline_threshold_bytes &&
                   record_length(at) <= INLINE_RECORD_MAX_BYTES;
    MDB_val name = val_of(bytes_of_key(&key));
    MDB_val value = {larder_row_write(bytes, at, where, inlines), bytes};
    status = larder_environment_status(mdb_cursor_put(apply->entries, &name, &value, 0));
    if (status) return status;
    return install_entry(apply, stored, &fresh, where.segment, record_padded(record_length(at)));
}

larder_status larder_apply_clear(apply_txn *apply, uint64_t sequence) {
    larder_status status = larder_environment_guard_all(apply->environment);
    if (status) return status;
    mdb_cursor_close(apply->entries);
    apply->entries = NULL;
    int code = mdb_drop(apply->txn, apply->main, 0);
    if (code == 0) code = mdb_cursor_open(apply->txn, apply->main, &apply->entries);
    if (code != 0) return larder_environment_status(code);
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

larder_status larder_apply_order(apply_txn *apply, const memtable *from) {
    for (uint32_t n = 0; apply->meta.has_order && n < from->count; n++) {
        const uint8_t *at = from->entries[n].record;
        if (record_kind(at) != RECORD_PUT) continue;
        tree_key room, key;
        larder_bytes stored = larder_stored_key(larder_record_key(at), apply->meta.secret, &room);
        bool is_there;
        larder_status status = is_applied(apply, stored, at, &is_there);
        if (status) return status;
        if (!is_there) continue;
        larder_tree_key_order((stamp){record_sequence(at), record_minor(at)}, &key);
        status = larder_environment_guard_last(apply->environment);
        if (status) return status;
        MDB_val name = {key.length, key.bytes}, value = val_of(stored);
        int code = mdb_put(apply->txn, apply->main, &name, &value, MDB_APPEND);
        // Not behind everything: something was read after it, or it is there from before a crash.
        if (code == MDB_KEYEXIST) status = larder_apply_row(apply, &key, &stored);
        else status = larder_environment_status(code);
        if (status) return status;
    }
    return LARDER_OK;
}
