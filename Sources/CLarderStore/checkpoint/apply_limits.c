// SPDX-License-Identifier: MIT
/** @file apply_limits.c
    What goes by itself, and the reads that decide about it. Rows are gathered first and acted on
    then, because a change of the tree moves what a cursor looks at. */
#include <errno.h>
#include <stdlib.h>

#include "checkpoint/apply.h"

enum { GATHER_MAX_COUNT = 512 };

/** Rows of one name space, copied. */
typedef struct gathered {
    tree_key keys[GATHER_MAX_COUNT];
    tree_key stored[GATHER_MAX_COUNT];
    uint32_t count;
    bool is_end;
} gathered;

/** Copies up to `most` rows from `from` on, in which the stored key is the value. */
static larder_status gather(apply_transaction *apply, const tree_key *from, uint64_t most,
                            gathered *out) {
    MDB_val key = {from->length, (void *)(uintptr_t)from->bytes};
    MDB_val value;
    out->count = 0;
    out->is_end = false;
    larder_status status = apply_seek(apply, &key, &value);
    while (status == LARDER_OK && out->count < most && out->count < GATHER_MAX_COUNT) {
        const uint8_t *bytes = key.mv_data;
        if (key.mv_size == 0 || bytes[0] != from->bytes[0]) break;
        if (key.mv_size <= TREE_KEY_MAX_BYTES && value.mv_size < TREE_KEY_MAX_BYTES) {
            tree_key *row = &out->keys[out->count];
            row->length = (uint16_t)key.mv_size;
            memcpy(row->bytes, bytes, key.mv_size);
            tree_key *stored = &out->stored[out->count];
            stored->length = (uint16_t)value.mv_size;
            if (value.mv_size > 0) memcpy(stored->bytes, value.mv_data, value.mv_size);
            out->count++;
        }
        status = apply_next(apply, &key, &value);
    }
    out->is_end = status == LARDER_END ||
                  (status == LARDER_OK && out->count < most && out->count < GATHER_MAX_COUNT);
    return status == LARDER_END ? LARDER_OK : status;
}

static larder_status rows_apply(apply_transaction *apply) {
    return row_list_apply(&apply->rows, apply->store->environment, apply->txn, apply->main);
}

// Reads -------------------------------------------------------------------------------------------

static int compare_stamps(stamp a, stamp b) {
    if (a.sequence != b.sequence) return a.sequence < b.sequence ? -1 : 1;
    return (a.minor > b.minor) - (a.minor < b.minor);
}

/** Gives an entry another place in the order of use. */
static larder_status order_move(apply_transaction *apply, larder_bytes stored, stamp from,
                                stamp to) {
    tree_key key;
    tree_key_order(from, &key);
    larder_status status = apply_delete_row(apply, &key);
    tree_key_order(to, &key);
    return status == LARDER_OK ? apply_put_row(apply, &key, stored) : status;
}

static larder_status apply_touch(apply_transaction *apply, larder_bytes stored,
                                 const touch *noted) {
    apply_entry found;
    larder_status status = apply_find(apply, stored, &found);
    // It may have been removed since.
    if (status == LARDER_ENOTFOUND || status == LARDER_EDAMAGED) return LARDER_OK;
    if (status != LARDER_OK) return status;
    const record *entry = &found.record;
    bool idles = (entry->flags & RECORD_IDLES) != 0;
    if (!idles && !apply->meta.has_order) return LARDER_OK;
    entry_state state;
    apply_state(apply, stored, entry, &state);
    if (compare_stamps(noted->at, state.at) <= 0) return LARDER_OK;
    if (apply->meta.has_order) {
        status = order_move(apply, stored, state.at, noted->at);
        if (status != LARDER_OK) return status;
    }
    state.at = noted->at;
    if (idles)
        state.deadline_ns =
            noted->deadline_ns < entry->expires_ns ? noted->deadline_ns : entry->expires_ns;
    return apply_set_state(apply, stored, &state);
}

larder_status apply_touches(apply_transaction *apply, touch_buffer *touches) {
    larder_status status = LARDER_OK;
    for (uint32_t at = 0; at < touches->count && status == LARDER_OK; at++) {
        const touch *noted = &touches->touches[at];
        larder_bytes stored = {touches->bytes + noted->offset, noted->length};
        status = apply_touch(apply, stored, noted);
    }
    return status;
}

// Expiry ------------------------------------------------------------------------------------------

/** The row of an entry whose time may have come: removes it, or moves the row on. */
static larder_status apply_due_row(apply_transaction *apply, const tree_key *row,
                                   larder_bytes stored) {
    larder_status status = row_list_delete(&apply->rows, row);
    if (status != LARDER_OK || row->length != 1 + 8 + 8 + 4) return status;
    apply_entry found;
    status = apply_find(apply, stored, &found);
    if (status == LARDER_ENOTFOUND || status == LARDER_EDAMAGED) return LARDER_OK;
    if (status != LARDER_OK) return status;
    const record *entry = &found.record;
    if (entry->sequence != get_be64(row->bytes + 9) || entry->minor != get_be32(row->bytes + 17))
        return LARDER_OK;
    entry_state state;
    apply_state(apply, stored, entry, &state);
    int64_t due = store_due(apply->store, entry, state.deadline_ns);
    if (due <= apply->now_ns) {
        apply->expired++;
        return apply_remove(apply, stored, &found);
    }
    if (state.armed_ns != unflip(get_be64(row->bytes + 1))) return LARDER_OK;
    // Read since, or the limit of age was raised.
    state.armed_ns = due;
    if (due != LARDER_STORE_NEVER) {
        tree_key moved;
        tree_key_expiry(due, entry->sequence, entry->minor, &moved);
        status = row_list_put(&apply->rows, &moved, stored);
    }
    return status == LARDER_OK ? apply_set_state(apply, stored, &state) : status;
}

larder_status apply_expiry(apply_transaction *apply, uint64_t most, bool *is_done) {
    *is_done = false;
    gathered *due = malloc(sizeof *due);
    if (due == NULL) return ENOMEM;
    larder_status status = LARDER_OK;
    tree_key from = {{SPACE_EXPIRY}, 1};
    uint64_t handled = 0;
    while (status == LARDER_OK && !*is_done && handled < most) {
        status = gather(apply, &from, GATHER_MAX_COUNT, due);
        *is_done = due->is_end;
        for (uint32_t at = 0; at < due->count && status == LARDER_OK; at++) {
            const tree_key *row = &due->keys[at];
            if (row->length >= 9 && unflip(get_be64(row->bytes + 1)) > apply->now_ns) {
                *is_done = true;
                break;
            }
            status = apply_due_row(apply, row, bytes_of_key(&due->stored[at]));
            handled++;
        }
        if (status == LARDER_OK) status = rows_apply(apply);
    }
    free(due);
    return status;
}

// Eviction ----------------------------------------------------------------------------------------

larder_status apply_eviction(apply_transaction *apply, uint64_t count, uint64_t bytes,
                             uint64_t most, bool *is_done) {
    *is_done = apply->meta.count <= count && apply->meta.bytes <= bytes;
    if (*is_done) return LARDER_OK;
    gathered *oldest = malloc(sizeof *oldest);
    if (oldest == NULL) return ENOMEM;
    larder_status status = LARDER_OK;
    tree_key from = {{SPACE_ORDER}, 1};
    uint64_t handled = 0;
    while (status == LARDER_OK && !*is_done && handled < most) {
        status = gather(apply, &from, GATHER_MAX_COUNT, oldest);
        bool is_last = oldest->is_end;
        for (uint32_t at = 0; at < oldest->count && status == LARDER_OK && !*is_done; at++) {
            larder_bytes stored = bytes_of_key(&oldest->stored[at]);
            apply_entry entry;
            status = row_list_delete(&apply->rows, &oldest->keys[at]);
            if (status == LARDER_OK) status = apply_find(apply, stored, &entry);
            if (status == LARDER_OK) {
                apply->evicted++;
                status = apply_remove(apply, stored, &entry);
            } else if (status == LARDER_ENOTFOUND || status == LARDER_EDAMAGED) {
                status = LARDER_OK;
            }
            handled++;
            *is_done = apply->meta.count <= count && apply->meta.bytes <= bytes;
        }
        if (status == LARDER_OK) status = rows_apply(apply);
        // Only entries that are damaged are left without a place in the order.
        if (is_last) *is_done = true;
    }
    free(oldest);
    return status;
}

// The sweep ---------------------------------------------------------------------------------------

static larder_status sweep_entry(apply_transaction *apply, larder_bytes stored, int64_t age_ns) {
    apply_entry found;
    larder_status status = apply_find(apply, stored, &found);
    if (status == LARDER_ENOTFOUND || status == LARDER_EDAMAGED) return LARDER_OK;
    if (status != LARDER_OK) return status;
    const record *entry = &found.record;
    entry_state state;
    apply_state(apply, stored, entry, &state);
    if (store_due(apply->store, entry, state.deadline_ns) <= apply->now_ns) {
        apply->expired++;
        return apply_remove(apply, stored, &found);
    }
    int64_t due = apply_default_due(entry, age_ns);
    // A read moved the deadline of an entry that idles.
    if (state.has_row && state.deadline_ns > due) {
        record moved = *entry;
        moved.flags &= (uint8_t)~RECORD_IDLES;
        moved.expires_ns = state.deadline_ns;
        due = apply_default_due(&moved, age_ns);
    }
    if (due == state.armed_ns) return LARDER_OK;
    tree_key key;
    if (state.armed_ns != LARDER_STORE_NEVER) {
        tree_key_expiry(state.armed_ns, entry->sequence, entry->minor, &key);
        status = row_list_delete(&apply->rows, &key);
    }
    if (status == LARDER_OK && due != LARDER_STORE_NEVER) {
        tree_key_expiry(due, entry->sequence, entry->minor, &key);
        status = row_list_put(&apply->rows, &key, stored);
    }
    state.armed_ns = due;
    return status == LARDER_OK ? apply_set_state(apply, stored, &state) : status;
}

/** Keys of entries from `from` on. */
static larder_status gather_entries(apply_transaction *apply, const tree_key *from, gathered *out) {
    MDB_val key = {from->length, (void *)(uintptr_t)from->bytes};
    MDB_val value;
    out->count = 0;
    larder_status status = apply_seek(apply, &key, &value);
    while (status == LARDER_OK && out->count < GATHER_MAX_COUNT) {
        const uint8_t *bytes = key.mv_data;
        if (key.mv_size == 0 || bytes[0] != SPACE_ENTRY || key.mv_size > TREE_KEY_MAX_BYTES) break;
        tree_key *stored = &out->stored[out->count++];
        stored->length = (uint16_t)(key.mv_size - 1);
        memcpy(stored->bytes, bytes + 1, key.mv_size - 1);
        status = apply_next(apply, &key, &value);
    }
    out->is_end = out->count < GATHER_MAX_COUNT;
    return status == LARDER_END ? LARDER_OK : status;
}

/** The least key behind the last one that was gathered; false if there is none. */
static bool gather_behind(const gathered *entries, tree_key *from) {
    if (entries->count == 0) return false;
    tree_key_of_stored(SPACE_ENTRY, bytes_of_key(&entries->stored[entries->count - 1]), from);
    if (from->length < TREE_KEY_MAX_BYTES) from->bytes[from->length++] = 0;
    else if (!tree_key_after_prefix(from)) return false;
    return !entries->is_end;
}

larder_status apply_sweep(apply_transaction *apply, const larder_store_limits *limits,
                          uint64_t most, bool *is_done) {
    gathered *entries = malloc(sizeof *entries);
    if (entries == NULL) return ENOMEM;
    tree_key start = {{SPACE_ENTRY}, 1};
    tree_key from = apply->store->sweep_from;
    int64_t age = limits->age_ns;
    // From the start if the limit was changed in the middle of it.
    if (from.length == 0 || apply->store->sweep_age_ns != age) from = start;
    larder_status status = LARDER_OK;
    *is_done = false;
    for (uint64_t handled = 0; status == LARDER_OK && !*is_done && handled < most;) {
        status = gather_entries(apply, &from, entries);
        for (uint32_t at = 0; at < entries->count && status == LARDER_OK; at++)
            status = sweep_entry(apply, bytes_of_key(&entries->stored[at]), age);
        if (status == LARDER_OK) status = rows_apply(apply);
        handled += entries->count;
        if (!gather_behind(entries, &from)) *is_done = true;
    }
    free(entries);
    if (status != LARDER_OK) return status;
    apply->swept_to = from;
    apply->swept_age_ns = age;
    apply->has_swept = true;
    if (*is_done) {
        apply->swept_to.length = 0;
        apply->meta.age_ns = age;
    }
    return LARDER_OK;
}

// The order of use of everything ------------------------------------------------------------------

larder_status apply_order_all(apply_transaction *apply, tree_key *from, uint64_t most,
                              bool *is_done) {
    gathered *entries = malloc(sizeof *entries);
    if (entries == NULL) return ENOMEM;
    tree_key start = {{SPACE_ENTRY}, 1};
    if (from->length == 0) *from = start;
    larder_status status = LARDER_OK;
    *is_done = false;
    for (uint64_t handled = 0; status == LARDER_OK && !*is_done && handled < most;) {
        status = gather_entries(apply, from, entries);
        for (uint32_t at = 0; at < entries->count && status == LARDER_OK; at++) {
            larder_bytes stored = bytes_of_key(&entries->stored[at]);
            apply_entry found;
            status = apply_find(apply, stored, &found);
            if (status == LARDER_EDAMAGED) {
                status = LARDER_OK;
                continue;
            }
            if (status != LARDER_OK) break;
            entry_state state;
            apply_state(apply, stored, &found.record, &state);
            tree_key key;
            tree_key_order(state.at, &key);
            status = row_list_put(&apply->rows, &key, stored);
        }
        if (status == LARDER_OK) status = rows_apply(apply);
        handled += entries->count;
        if (!gather_behind(entries, from)) *is_done = true;
    }
    free(entries);
    return status;
}
