// SPDX-License-Identifier: MIT
/** @file apply_limits.c
    What goes by itself, and the reads that decide about it. */
#include "checkpoint/apply.h"

// Reads -------------------------------------------------------------------------------------------

static larder_status apply_touch(apply_txn *apply, larder_bytes stored, const touch *noted) {
    apply_entry found;
    tree_key key;
    larder_status status = larder_apply_find(apply, stored, &key, &found);
    // It may have been removed since.
    if (status) return status == LARDER_ENOTFOUND ? LARDER_OK : status;
    if (found.is_damaged) return LARDER_OK;
    const record *entry = &found.record;
    entry_state *state = &found.state;
    bool idles = (entry->flags & RECORD_IDLES) != 0;
    bool is_older =
        noted->at.sequence < state->at.sequence ||
        (noted->at.sequence == state->at.sequence && noted->at.minor <= state->at.minor);
    // One that was handed over may be of an earlier time than another one that was noted at once.
    const bool is_renewable = record_is_renewable(entry);
    const int64_t deadline =
        is_renewable ? noted->deadline_ns : earlier(noted->deadline_ns, entry->expires_ns);
    bool is_of_it = is_renewable ? noted->renewed == entry->sequence
                                 : noted->renewed == 0 && noted->at.sequence >= entry->sequence;
    bool lives_on = idles && is_of_it && deadline > state->deadline_ns;
    if ((is_older && !lives_on) || (!idles && !apply->meta.has_order)) return LARDER_OK;
    if (!is_older && apply->meta.has_order) {
        larder_tree_key_order(state->at, &key);
        status = row_list_delete(&apply->rows, &key);
        larder_tree_key_order(noted->at, &key);
        if (!status) status = row_list_put(&apply->rows, &key, stored);
    }
    if (!is_older) state->at = noted->at;
    if (lives_on) state->deadline_ns = deadline;
    if (!status) status = larder_apply_set_state(apply, stored, state);
    // The same entry may have been read again.
    return status ? status : larder_apply_rows(apply);
}

larder_status larder_apply_touches(apply_txn *apply, const touch_buffer *touches, uint32_t from,
                                   uint32_t to) {
    larder_status status = larder_apply_rows(apply);
    for (uint32_t at = from; at < to && !status; at++) {
        const touch *noted = &touches->touches[at];
        larder_bytes stored = {touches->bytes + noted->offset, noted->length};
        status = apply_touch(apply, stored, noted);
    }
    return status;
}

// Passes ------------------------------------------------------------------------------------------

enum { GATHER_MAX_COUNT = 512 };

/** Rows of one name space, copied: a change of the tree moves what a cursor looks at. */
typedef struct gathered {
    tree_key keys[GATHER_MAX_COUNT];
    tree_key stored[GATHER_MAX_COUNT];
    uint32_t count;
    bool is_end;
} gathered;

static void tree_key_copy(larder_bytes bytes, tree_key *out) {
    out->length = (uint16_t)bytes.length;
    if (bytes.length > 0) memcpy(out->bytes, bytes.data, bytes.length);
}

/** Copies rows from `from` on, which moves behind them. The stored key is the value, of entries
    what follows the name space. */
static larder_status gather(apply_txn *apply, uint64_t most, tree_key *from, gathered *out) {
    uint8_t space = from->bytes[0];
    MDB_val key = {from->length, from->bytes}, value;
    out->count = 0;
    larder_status status = larder_apply_seek(apply, MDB_SET_RANGE, &key, &value);
    if (most > GATHER_MAX_COUNT) most = GATHER_MAX_COUNT;
    while (!status && out->count < most) {
        const uint8_t *bytes = key.mv_data;
        if (bytes[0] != space || key.mv_size > TREE_KEY_MAX_BYTES) break;
        larder_bytes stored = {value.mv_data, value.mv_size};
        if (space == SPACE_ENTRY) stored = (larder_bytes){bytes + 1, key.mv_size - 1};
        if (stored.length < TREE_KEY_MAX_BYTES) {
            tree_key_copy((larder_bytes){bytes, key.mv_size}, &out->keys[out->count]);
            tree_key_copy(stored, &out->stored[out->count++]);
        }
        status = larder_apply_seek(apply, MDB_NEXT, &key, &value);
    }
    out->is_end = out->count < most;
    if (out->count > 0) *from = out->keys[out->count - 1];
    if (from->length < TREE_KEY_MAX_BYTES) from->bytes[from->length++] = 0;
    else larder_tree_key_after_prefix(from);
    return status == LARDER_END ? LARDER_OK : status;
}

static larder_status pass_gathered(apply_txn *apply, pass_body *body, const gathered *rows) {
    larder_status status = LARDER_OK;
    for (uint32_t at = 0; at < rows->count && !status; at++) {
        tree_key ignored;
        apply_entry entry;
        larder_bytes stored = bytes_of_key(&rows->stored[at]);
        status = larder_apply_find(apply, stored, &ignored, &entry);
        bool is_gone = status == LARDER_ENOTFOUND || (!status && entry.is_damaged);
        if (!status || is_gone)
            status = body(apply, &rows->keys[at], stored, is_gone ? NULL : &entry);
        if (!status) apply->passed++;
    }
    return status;
}

larder_status larder_apply_pass(apply_txn *apply, pass_body *body, uint64_t most, tree_key *from,
                                bool *is_done) {
    gathered *rows = malloc(sizeof *rows);
    if (rows == NULL) return ENOMEM;
    larder_status status = LARDER_OK;
    *is_done = false;
    for (uint64_t handled = 0; !status && !*is_done && handled < most;) {
        status = gather(apply, most, from, rows);
        if (!status) status = pass_gathered(apply, body, rows);
        *is_done = rows->is_end || status == LARDER_END;
        if (!status || status == LARDER_END) status = larder_apply_rows(apply);
        handled += rows->count;
    }
    free(rows);
    return status;
}

static int64_t entry_due(const apply_txn *apply, const apply_entry *entry) {
    const record *of = &entry->record;
    int64_t deadline = record_is_renewable(of) ? of->expires_ns : entry->state.deadline_ns;
    return expiry_due(&apply->store->expiry, of, deadline);
}

/** Removes an entry that expired; moves another one among those to expire.
    @param from_ns where it stands, LARDER_STORE_NEVER if it does no more. */
static larder_status expire(apply_txn *apply, larder_bytes stored, const apply_entry *entry,
                            int64_t from_ns, int64_t to_ns) {
    int64_t due = entry_due(apply, entry);
    if (due <= apply->now_ns) {
        apply->expired++;
        return larder_apply_remove(apply, stored, entry);
    }
    if (to_ns == entry->state.armed_ns) return LARDER_OK;
    entry_state state = entry->state;
    state.armed_ns = to_ns;
    larder_status status = larder_apply_arm(apply, stored, &entry->record, from_ns, to_ns);
    return status ? status : larder_apply_set_state(apply, stored, &state);
}

/** For SPACE_EXPIRY: removes what expired. */
larder_status larder_pass_expiry(apply_txn *apply, const tree_key *row, larder_bytes stored,
                                 const apply_entry *entry) {
    bool has_form = row->length == 1 + 8 + 8 + 4;
    int64_t at = has_form ? unflip(get_be64(row->bytes + 1)) : INT64_MIN;
    if (at > apply->now_ns) return LARDER_END;
    larder_status status = row_list_delete(&apply->rows, row);
    if (status || !has_form || entry == NULL ||
        entry->record.sequence != get_be64(row->bytes + 9) ||
        entry->record.minor != get_be32(row->bytes + 17))
        return status;
    // Where it is not due, it was read since, or the limit of age was raised. A row that is not its
    // own goes, no more.
    int64_t due = entry_due(apply, entry);
    bool is_own = entry->state.armed_ns == at;
    return expire(apply, stored, entry, LARDER_STORE_NEVER, is_own ? due : entry->state.armed_ns);
}

bool larder_apply_is_within_limits(const apply_txn *apply) {
    return apply->meta.count <= apply->limits->count && apply->meta.bytes <= apply->limits->bytes;
}

/** Whether an entry may go. Then nobody finds it any more who is to note that it is in use. */
static bool leaves(apply_txn *apply, larder_bytes stored) {
    store_index *index = &apply->store->index;
    const uint64_t hash = larder_index_hash_bytes(stored.data, stored.length);
    int64_t read_until = INT64_MIN;
    larder_leaving_add(&index->leaving, hash);
    if (!apply->spares) return true;
    larder_environment_search_touches(apply->environment, hash, 0, &read_until);
    if (__atomic_load_n(&index->waiting.count, __ATOMIC_SEQ_CST) != 0) {
        pthread_mutex_lock(&apply->store->pending.lock);
        larder_touch_buffer_find(&index->waiting, hash, 0, &read_until);
        pthread_mutex_unlock(&apply->store->pending.lock);
    }
    if (read_until == INT64_MIN) return true;
    larder_leaving_remove(&index->leaving, hash);
    apply->spared++;
    return false;
}

/** For SPACE_ORDER: evicts the least recently used until the limits hold. */
larder_status larder_pass_eviction(apply_txn *apply, const tree_key *row, larder_bytes stored,
                                   const apply_entry *entry) {
    if (larder_apply_is_within_limits(apply)) return LARDER_END;
    if (entry != NULL && !leaves(apply, stored)) return LARDER_OK;
    larder_status status = row_list_delete(&apply->rows, row);
    if (status || entry == NULL) return status;
    apply->evicted++;
    return larder_apply_remove(apply, stored, entry);
}

/** For SPACE_ENTRY: removes what the limits of age and end let expire, and gives the others their
    deadlines in the tree. */
larder_status larder_pass_sweep(apply_txn *apply, const tree_key *row, larder_bytes stored,
                                const apply_entry *entry) {
    (void)row;
    if (entry == NULL) return LARDER_OK;
    const entry_state *state = &entry->state;
    int64_t due = larder_apply_default_due(&entry->record, apply->limits->age_ns);
    // A read moved the deadline of an entry that idles.
    if (state->has_row && state->deadline_ns > due && !record_is_renewable(&entry->record)) {
        record moved = entry->record;
        moved.idle_ns = LARDER_STORE_NEVER;
        moved.expires_ns = state->deadline_ns;
        due = larder_apply_default_due(&moved, apply->limits->age_ns);
    }
    return expire(apply, stored, entry, state->armed_ns, due);
}

/** For SPACE_ORDER: deletes it. */
larder_status larder_pass_order_clear(apply_txn *apply, const tree_key *row, larder_bytes stored,
                                      const apply_entry *entry) {
    (void)stored, (void)entry;
    return row_list_delete(&apply->rows, row);
}

/** For SPACE_ENTRY: rebuilds the order of use. */
larder_status larder_pass_order_make(apply_txn *apply, const tree_key *row, larder_bytes stored,
                                     const apply_entry *entry) {
    (void)row;
    if (entry == NULL) return LARDER_OK;
    tree_key key;
    larder_tree_key_order(entry->state.at, &key);
    return row_list_put(&apply->rows, &key, stored);
}
