// SPDX-License-Identifier: MIT
/** @file get.c
    Reading one entry: what is pending, then the tree, then the record. And totals. */
#include <sched.h>

#include "read/read.h"

// Time --------------------------------------------------------------------------------------------

/** Raises `deadline_ns` to the latest that a read gave an entry which the tree does not know yet.

    No read is missed that was noted before this began, be its place in use or not: it is in the
    place's buffer, or was moved to `waiting` or `folding` before the buffer was emptied, or, if the
    checkpoint has ended since this caller took its place, in a newer tree. */
static void search_touches(larder_store *store, const snapshot *seen, const record *entry,
                           bool is_locked, int64_t *deadline_ns) {
    tree_key room;
    larder_bytes stored = larder_stored_key(entry->key, seen->meta.secret, &room);
    const uint64_t hash = larder_index_hash_bytes(stored.data, stored.length);
    larder_environment_search_touches(store->index.environment, hash, entry->sequence, deadline_ns);
    // What waits goes on to what is folded in, so in this order.
    if (__atomic_load_n(&store->index.waiting.count, __ATOMIC_ACQUIRE) == 0 &&
        __atomic_load_n(&store->index.folding.count, __ATOMIC_ACQUIRE) == 0)
        return;
    if (!is_locked) pthread_mutex_lock(&store->pending.lock);
    larder_touch_buffer_find(&store->index.waiting, hash, entry->sequence, deadline_ns);
    larder_touch_buffer_find(&store->index.folding, hash, entry->sequence, deadline_ns);
    if (!is_locked) pthread_mutex_unlock(&store->pending.lock);
}

int64_t larder_idle_deadline(const snapshot *seen, const record *entry) {
    tree_key key;
    larder_bytes row;
    larder_tree_key_entry(SPACE_RECENCY, entry->key, seen->meta.secret, &key);
    // What the tree has not got yet it knows nothing of.
    if (entry->sequence <= seen->meta.applied &&
        larder_tree_get(&seen->tree, bytes_of_key(&key), &row) == LARDER_OK &&
        row.length == STATE_BYTES) {
        const uint8_t *parts = row.data;
        // Of an earlier write under the key?
        if (get_be64(parts) >= entry->sequence) return unflip(get_be64(parts + 16));
    }
    return later_by(entry->written_ns, entry->idle_ns);
}

/** The same without the reads that the tree does not know of. */
static int64_t known_deadline(const snapshot *seen, record *entry) {
    if ((entry->flags & RECORD_IDLES) == 0) return entry->expires_ns;
    int64_t idle = larder_idle_deadline(seen, entry);
    if (!record_is_renewable(entry)) return earlier(entry->expires_ns, idle);
    record_renew(entry, idle);
    return entry->expires_ns;
}

int64_t larder_store_deadline(larder_store *store, const snapshot *seen, record *entry,
                              bool is_locked) {
    int64_t known = known_deadline(seen, entry), touched = INT64_MIN;
    if ((entry->flags & RECORD_IDLES) == 0 || store_is_read_only(store)) return known;
    search_touches(store, seen, entry, is_locked, &touched);
    if (!record_is_renewable(entry))
        return touched > known ? earlier(entry->expires_ns, touched) : known;
    record_renew(entry, touched);
    return entry->expires_ns;
}

bool larder_store_is_expired(const larder_store *store, const record *entry, int64_t deadline) {
    int64_t due = expiry_due(&store->expiry, entry, deadline);
    return due != LARDER_STORE_NEVER && due <= expiry_now(&store->expiry);
}

// Records -----------------------------------------------------------------------------------------

void larder_store_entry_of_record(larder_store *store, const record *found, int64_t deadline,
                                  uint32_t flags, uint32_t number, larder_store_entry *entry) {
    // Every member: to clear it all first would cost as much again.
    *entry = (larder_store_entry){
        .key = found->key,
        .value = {found->value.data,
                  (flags & LARDER_STORE_WITHOUT_VALUE) != 0 ? 0 : found->value.length},
        .extended = found->extended,
        .value_bytes = found->value.length,
        .sequence = found->sequence,
        .written_ns = found->written_ns,
        .expires_ns = deadline,
        .ends_ns = found->expires_ns,
        .idle_ns = found->idle_ns,
        .refresh_ns = found->refresh_ns,
        .cost = found->cost,
        .index_value = {NULL, 0},
        .flags = ((found->flags & RECORD_OWN_TIMES) != 0 ? LARDER_STORE_ENTRY_OWN_TIMES : 0u) |
                 (number != 0 ? LARDER_STORE_ENTRY_IN_LOG : 0u),
        .reserved = 0,
        .lease = NULL,
        .store = store,
        .segment = number,
        .reserved2 = 0,
        .index_entries = found->indexes};
}

larder_status larder_store_entry_index(const larder_store_entry *entry, size_t *offset,
                                       larder_store_index_entry *out) {
    const record stored = {.indexes = entry->index_entries};
    return larder_record_next_index(&stored, offset, out) ? LARDER_OK : LARDER_END;
}

// Finding -----------------------------------------------------------------------------------------

/** An entry's record, and the place that keeps it readable. */
typedef struct finding {
    snapshot *seen;
    larder_bytes record;
    uint32_t segment;
    bool is_in_tree;
    /** Else EAGAIN is given where a device, a lock or another process would be waited for. */
    bool waits;
} finding;

/** Looks into the memtables; the pending lock is held, and the place was taken under it.
    @param applied what the tree has is not looked for here.
    @return LARDER_OK with the record; LARDER_ENOTFOUND if the entry was removed; LARDER_END if the
    tree has to say. */
static larder_status find_pending(const larder_store *store, larder_bytes key, uint64_t applied,
                                  finding *found) {
    const memtable *tables[] = {store->pending.active, store->pending.frozen};
    for (int i = 0; i < 2; i++) {
        if (!tables[i]) continue;
        const memtable_entry *entry = larder_memtable_find(tables[i], key);
        if (entry && record_sequence(entry->record) > applied) {
            found->record = record_bytes(entry->record);
            found->segment = entry->segment;
            return record_kind(entry->record) == RECORD_PUT ? LARDER_OK : LARDER_ENOTFOUND;
        }
        // A row that is newer than that is of a write that is pending, too: it was found above.
        if (tables[i]->cleared > applied) return LARDER_ENOTFOUND;
    }
    return LARDER_END;
}

/** Whether the key that a row is under has changed. Where its record cannot be believed, the row
    tells. */
static bool has_changed_key(larder_store *store, const snapshot *seen, const tree_twin *twin) {
    entry_row row;
    larder_bytes bytes;
    uint32_t ignored;
    record found;
    tree_key key;
    if (larder_row_read(twin->value, &row)) return true;
    larder_status status = larder_log_row(&store->pending.log, twin->value, &bytes, &ignored);
    if (!status) status = larder_record_read(bytes, false, &found);
    if (!status) {
        larder_tree_key_entry(SPACE_ENTRY, found.key, seen->meta.secret, &key);
        if (compare_bytes(bytes_of_key(&key), twin->key) == 0) return false;
        // One of the two keys has changed: the record knows whether it is its own.
        status = larder_record_read(bytes, true, &found);
    }
    return !status || meta_contradicts_row(&seen->meta, &row);
}

/** Whether a record that lies there can be read without waiting for a device. */
static bool is_at_hand(const uint8_t *at, uint64_t room) {
    enum { AT_HAND_MAX_BYTES = 16 << 10 };
    if (room < RECORD_HEAD_BYTES || !larder_os_is_in_memory(at, RECORD_HEAD_BYTES)) return false;
    uint32_t length = record_length(at);
    return length <= room && length <= AT_HAND_MAX_BYTES && larder_os_is_in_memory(at, length);
}

/** The same of the record that a row leads to. */
static bool row_is_at_hand(const store_log *log, larder_bytes row) {
    entry_row parts;
    // What says nothing right is damage, which is told at once.
    if (larder_row_read(row, &parts) || (parts.inlined.length > 0 && !log->is_unprotected))
        return true;
    const segment *from = larder_segment_table_find(&log->table, parts.at.segment);
    return from != NULL && from->hole_count == 0 && parts.at.offset <= from->capacity &&
           is_at_hand(from->map + parts.at.offset, from->capacity - parts.at.offset);
}

larder_status larder_store_find_row(larder_store *store, const snapshot *seen,
                                    const tree_key *wanted, larder_bytes *row) {
    tree_twin twins[2];
    larder_status status = larder_tree_find(&seen->tree, bytes_of_key(wanted), row, twins);
    for (int i = 0; i < 2 && status == LARDER_ENOTFOUND; i++)
        if (twins[i].key.data && has_changed_key(store, seen, &twins[i]))
            status = larder_tree_note_damage(&seen->tree, twins[i].key.data);
    return status;
}

static larder_status find_in_tree(larder_store *store, larder_bytes key, finding *found) {
    tree_key wanted;
    larder_bytes row;
    larder_tree_key_entry(SPACE_ENTRY, key, found->seen->meta.secret, &wanted);
    found->seen->tree.waits_for_none = !found->waits;
    larder_status status = larder_store_find_row(store, found->seen, &wanted, &row);
    if (status) return status;
    found->is_in_tree = true;
    if (!found->waits && !row_is_at_hand(&store->pending.log, row)) return EAGAIN;
    return larder_log_row(&store->pending.log, row, &found->record, &found->segment);
}

/** What was written may be in a memtable still: takes a place and looks. As find_pending. */
static larder_status find_locked(larder_store *store, larder_bytes key, finding *found) {
    if (!found->waits && pthread_mutex_trylock(&store->pending.lock) != 0) return EAGAIN;
    if (found->waits) pthread_mutex_lock(&store->pending.lock);
    larder_status status = larder_store_look(store, false, &found->seen);
    if (!status) {
        uint64_t applied = store_is_read_only(store) ? found->seen->meta.applied : 0;
        status = find_pending(store, key, applied, found);
    }
    pthread_mutex_unlock(&store->pending.lock);
    return status;
}

/** Takes a place, which stays taken on failure too unless it is NULL, and finds the record. */
static larder_status find(larder_store *store, larder_bytes key, finding *found) {
    bool is_pending = atomic_load_explicit(&store->pending.count, memory_order_acquire) != 0;
    larder_status status;
    // What another process writes is followed, in its files.
    if (store_is_read_only(store) && !found->waits) return EAGAIN;
    if (is_pending || store_is_read_only(store)) {
        status = find_locked(store, key, found);
        bool is_far =
            !status && !found->waits && !is_at_hand(found->record.data, found->record.length);
        if (status != LARDER_END) return is_far ? EAGAIN : status;
    } else {
        status = larder_environment_read(store->index.environment, &found->seen);
        if (status) return status;
    }
    return find_in_tree(store, key, found);
}

/** @return whether a checkpoint is just about to evict what the state that is `seen` has there. */
static bool note_read(larder_store *store, snapshot *seen, larder_bytes key, int64_t idle_ns) {
    tree_key scratch;
    idle_ns = idle_of_reads(idle_ns);
    bool is_noted = idle_ns != LARDER_STORE_NEVER || atomic_load(&store->expiry.tracks_access);
    if (!is_noted || store_is_read_only(store)) return false;
    larder_bytes stored = larder_stored_key(key, seen->meta.secret, &scratch);
    const uint64_t hash = larder_store_touch(store, seen, stored, idle_ns, NULL);
    return larder_leaving_has(&store->index.leaving, seen->meta.transaction, hash);
}

/** Sees that when an entry was last used can be looked up without waiting, and has it so. */
static larder_status see_idle(snapshot *seen, larder_bytes key) {
    tree_key wanted;
    larder_bytes row;
    larder_tree_key_entry(SPACE_RECENCY, key, seen->meta.secret, &wanted);
    seen->tree.waits_for_none = true;
    larder_status status = larder_tree_get(&seen->tree, bytes_of_key(&wanted), &row);
    seen->tree.waits_for_none = false;
    return status == EAGAIN ? status : LARDER_OK;
}

/** What was found, verified, as an entry; notes the read. */
static larder_status read_finding(larder_store *store, larder_bytes key, uint32_t flags,
                                  const finding *found, larder_store_entry *entry) {
    record parts;
    larder_status status = larder_record_read(found->record, true, &parts);
    if (status) return status;
    // Two long keys can have one hash; then the one that is not there is a miss.
    if (compare_bytes(parts.key, key) != 0)
        return key.length > KEY_WHOLE_MAX_BYTES ? LARDER_ENOTFOUND : LARDER_EDAMAGED;
    if (!found->waits && (parts.flags & RECORD_IDLES) != 0) status = see_idle(found->seen, key);
    if (status) return status;
    const bool is_use = (flags & LARDER_STORE_PEEK) == 0;
    const bool idles = idle_of_reads(parts.idle_ns) != LARDER_STORE_NEVER;
    // A use moves the end itself: what others have moved it to matters only if it were over.
    const bool is_quick = is_use && idles;
    int64_t deadline = is_quick ? known_deadline(found->seen, &parts)
                                : larder_store_deadline(store, found->seen, &parts, false);
    if ((flags & LARDER_STORE_EXPIRED_TOO) == 0 &&
        larder_store_is_expired(store, &parts, deadline) &&
        (!is_quick || larder_store_is_expired(
                          store, &parts, larder_store_deadline(store, found->seen, &parts, false))))
        return LARDER_ENOTFOUND;
    if (is_use && note_read(store, found->seen, key, parts.idle_ns) && found->is_in_tree)
        return LARDER_ENOTFOUND;
    if (is_quick && !store_is_read_only(store))
        deadline = earlier(parts.expires_ns, later_by(expiry_now(&store->expiry), parts.idle_ns));
    larder_store_entry_of_record(store, &parts, deadline, flags, found->segment, entry);
    entry->lease = found->seen;
    return LARDER_OK;
}

static void count_read(figures *counts, uint32_t flags, larder_status status) {
    if (status == LARDER_EDAMAGED) atomic_fetch_add(&counts->damaged, 1);
    if ((flags & LARDER_STORE_PEEK) != 0) return;
    if (!status) atomic_fetch_add_explicit(&counts->hits, 1, memory_order_relaxed);
    else if (status == LARDER_ENOTFOUND)
        atomic_fetch_add_explicit(&counts->misses, 1, memory_order_relaxed);
}

larder_status larder_store_get(larder_store *store, larder_bytes key, uint32_t flags,
                               larder_store_entry *entry) {
    enum { ATTEMPTS = 16 };
    const uint32_t known = LARDER_STORE_PEEK | LARDER_STORE_WITHOUT_VALUE |
                           LARDER_STORE_EXPIRED_TOO | LARDER_STORE_NO_WAIT;
    larder_status status;
    for (int attempt = 1;; attempt++) {
        finding found = {.seen = NULL, .waits = (flags & LARDER_STORE_NO_WAIT) == 0};
        status = flags & ~known ? LARDER_EINVALID : store_enter(store);
        if (!status) status = find(store, key, &found);
        if (!status) status = read_finding(store, key, flags, &found, entry);
        if (found.seen) {
            found.seen->tree.waits_for_none = false;
            status = larder_environment_confirm(found.seen, status);
        }
        if (status && found.seen) larder_environment_release(store->index.environment, found.seen);
        // A writer went on meanwhile: there is a newer state.
        if (status != LARDER_EBUSY || !found.seen || attempt == ATTEMPTS) break;
    }
    if (status) memset(entry, 0, sizeof *entry);
    count_read(&store->figures, flags, status);
    return status;
}

larder_status larder_store_copy_value(larder_store *store, larder_bytes key, uint32_t flags,
                                      void *target, size_t capacity, size_t *length) {
    larder_store_entry entry;
    *length = 0;
    if ((flags & LARDER_STORE_WITHOUT_VALUE) != 0) return LARDER_EINVALID;
    larder_status status = larder_store_get(store, key, flags, &entry);
    if (status) return status;
    *length = entry.value.length;
    if (*length > capacity) status = LARDER_ETOOLARGE;
    else if (*length > 0) memcpy(target, entry.value.data, *length);
    larder_store_release(&entry);
    return status;
}

larder_status larder_store_get_again(larder_store *store, larder_bytes key, int64_t expires_ns,
                                     int64_t idle_ns, uint64_t *state) {
    // Each of them only grows.
    uint64_t known = *state, now = 1 + atomic_load(&store->pending.newest_sequence) +
                                   atomic_load(&store->figures.evicted) +
                                   atomic_load(&store->figures.expired);
    int64_t limit = earlier(atomic_load(&store->expiry.age_ns), atomic_load(&store->expiry.end_ns));
    *state = limit != LARDER_STORE_NEVER || store_is_read_only(store) ? 0 : now;
    snapshot *seen;
    larder_status status = store_enter(store);
    if (!status && (*state == 0 || known != now || expires_ns <= expiry_now(&store->expiry)))
        return LARDER_ENOTFOUND;
    if (!status) status = larder_environment_read(store->index.environment, &seen);
    if (status) return status;
    (void)note_read(store, seen, key, idle_ns);
    larder_environment_release(store->index.environment, seen);
    count_read(&store->figures, 0, LARDER_OK);
    return LARDER_OK;
}

larder_status larder_store_renew(larder_store *store, larder_bytes key, uint64_t sequence) {
    finding found = {.seen = NULL, .waits = true};
    record parts;
    tree_key room;
    larder_status status = store_enter_to_write(store);
    if (!status) status = find(store, key, &found);
    // Whoever reads the value next sees whether it is whole.
    if (!status) status = larder_record_read(found.record, false, &parts);
    if (!status && (parts.sequence != sequence || !record_is_renewable(&parts) ||
                    compare_bytes(parts.key, key) != 0))
        status = LARDER_ENOTFOUND;
    if (!status) {
        larder_bytes stored = larder_stored_key(key, found.seen->meta.secret, &room);
        const uint64_t dropped = found.seen->touches.dropped;
        const stamp written = {parts.sequence, parts.minor};
        (void)larder_store_touch(store, found.seen, stored, LARDER_STORE_RENEWABLE, &written);
        if (found.seen->touches.dropped != dropped) status = ENOMEM;
    }
    if (found.seen) larder_environment_release(store->index.environment, found.seen);
    return status;
}

void larder_store_release(larder_store_entry *entry) {
    snapshot *seen = entry->lease;
    if (seen) larder_environment_release(seen->environment, seen);
    entry->key = entry->value = entry->extended = entry->index_value = (larder_bytes){NULL, 0};
    entry->lease = entry->store = NULL;
}

larder_status larder_store_retain_value(larder_store_entry *entry, void **retained) {
    *retained = NULL;
    larder_store *store = entry->store;
    if (!store || (entry->flags & LARDER_STORE_ENTRY_IN_LOG) == 0) return LARDER_EINVALID;
    segment *from = larder_segment_table_find(&store->pending.log.table, entry->segment);
    if (from == NULL) return LARDER_EINVALID;
    *retained = larder_segment_lend(from, entry->value);
    return *retained != NULL ? LARDER_OK : ENOMEM;
}

void larder_store_release_value(void *retained) {
    if (retained) larder_segment_take_back(retained);
}

larder_status larder_store_contains(larder_store *store, larder_bytes key) {
    larder_store_entry entry;
    larder_status status =
        larder_store_get(store, key, LARDER_STORE_PEEK | LARDER_STORE_WITHOUT_VALUE, &entry);
    larder_store_release(&entry);
    return status;
}

larder_status larder_store_version(larder_store *store, larder_bytes key, uint64_t *sequence) {
    *sequence = 0;
    finding found = {.waits = true};
    larder_status status = larder_environment_read(store->index.environment, &found.seen);
    if (status) return status;
    status = find_pending(store, key, 0, &found);
    if (status == LARDER_END) status = find_in_tree(store, key, &found);
    record parts;
    if (!status) status = larder_record_read(found.record, true, &parts);
    if (!status && compare_bytes(parts.key, key) == 0 &&
        !larder_store_is_expired(store, &parts,
                                 larder_store_deadline(store, found.seen, &parts, true)))
        *sequence = parts.sequence;
    larder_environment_release(store->index.environment, found.seen);
    return status == LARDER_ENOTFOUND ? LARDER_OK : status;
}

// Totals ------------------------------------------------------------------------------------------

/** Entries that are resolved before the lock is given back for a moment. */
enum { RESOLVE_MAX_COUNT = 1024 };

/** What lies under the next entry that this is not known of: in the table below, or in the tree.
    What is damaged counts as an entry: one that is there is written more often than a new one. */
static void resolve_next(const larder_store *store, const snapshot *seen, memtable *table,
                         uint64_t applied) {
    const memtable_entry *under = &table->entries[table->resolved];
    larder_bytes key = larder_record_key(under->record), bytes;
    const memtable *below = table == store->pending.active ? store->pending.frozen : NULL;
    // What the tree has already adds nothing.
    if (record_sequence(under->record) > applied)
        under = below && table->cleared <= applied ? larder_memtable_find(below, key) : NULL;
    bool is_there = false;
    entry_row row = {0};
    if (under) {
        is_there = record_kind(under->record) == RECORD_PUT;
        row.value_bytes = (uint32_t)larder_record_value_length(under->record);
    } else if (table->cleared <= applied && (!below || below->cleared <= applied)) {
        tree_key wanted;
        larder_tree_key_entry(SPACE_ENTRY, key, seen->meta.secret, &wanted);
        larder_status status = larder_tree_get(&seen->tree, bytes_of_key(&wanted), &bytes);
        is_there = status != LARDER_ENOTFOUND;
        if (!status && larder_row_read(bytes, &row)) row.value_bytes = 0;
    }
    larder_memtable_resolve(table, is_there, row.value_bytes);
}

/** The lock is held, and the place is of the last transaction that the tables know of.
    @return LARDER_OK; EAGAIN: not all is resolved yet, and others want the lock. */
static larder_status add_up(const larder_store *store, const snapshot *seen, uint64_t *count,
                            uint64_t *bytes) {
    uint64_t applied = store_is_read_only(store) ? store->index.meta.applied : 0;
    int64_t entries = (int64_t)store->index.meta.count;
    int64_t sum = (int64_t)store->index.meta.bytes;
    memtable *tables[] = {store->pending.frozen, store->pending.active};
    for (uint32_t i = 0, resolved = 0; i < 2; i++) {
        if (!tables[i]) continue;
        for (; tables[i]->resolved < tables[i]->count; resolved++) {
            if (resolved == RESOLVE_MAX_COUNT) return EAGAIN;
            resolve_next(store, seen, tables[i], applied);
        }
        if (tables[i]->cleared > applied) entries = sum = 0;
        entries += tables[i]->count_delta;
        sum += tables[i]->bytes_delta;
    }
    *count = entries > 0 ? (uint64_t)entries : 0;
    *bytes = sum > 0 ? (uint64_t)sum : 0;
    return LARDER_OK;
}

larder_status larder_store_totals_look(larder_store *store, uint64_t *count, uint64_t *bytes) {
    snapshot *seen;
    larder_status status = larder_store_look(store, false, &seen);
    if (status) return status;
    if (store_is_read_only(store) &&
        !larder_store_metas_are_same(&seen->meta, &store->index.meta)) {
        store->index.meta = seen->meta;
        larder_memtable_forget_bases(store->pending.active);
    }
    // Between a commit and its news there is a moment in which the tree is newer.
    status = EAGAIN;
    if (seen->tree.transaction == store->index.meta.transaction)
        status = larder_environment_confirm(seen, add_up(store, seen, count, bytes));
    larder_environment_release(store->index.environment, seen);
    return status == LARDER_EBUSY ? EAGAIN : status;
}

larder_status larder_store_totals(larder_store *store, uint64_t *count, uint64_t *bytes) {
    *count = *bytes = 0;
    larder_status status = store_enter(store);
    if (status) return status;
    do {
        pthread_mutex_lock(&store->pending.lock);
        status = larder_store_totals_look(store, count, bytes);
        pthread_mutex_unlock(&store->pending.lock);
    } while (status == EAGAIN && sched_yield() == 0);
    return status;
}
