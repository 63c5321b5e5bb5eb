// SPDX-License-Identifier: MIT
/** @file store_read.c
    Reading: what is pending, then the tree. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "store/store_internal.h"

/** How often a file of a value may be gone because the entry was replaced meanwhile. */
enum { READ_AGAIN_MAX = 100 };

// Time --------------------------------------------------------------------------------------------

int64_t store_now(const larder_store *store) {
    if (store->options.clock != NULL) return store->options.clock(store->options.context);
    return system_wall_clock_ns();
}

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t later_by(int64_t time, int64_t span) {
    if (span == LARDER_STORE_NEVER) return LARDER_STORE_NEVER;
    int64_t sum;
    if (__builtin_add_overflow(time, span, &sum)) return span < 0 ? INT64_MIN : LARDER_STORE_NEVER;
    return sum;
}

int64_t store_deadline(const snapshot *place, const record *entry) {
    if ((entry->flags & (RECORD_EXPIRES | RECORD_IDLES)) == 0) return LARDER_STORE_NEVER;
    int64_t deadline = entry->expires_ns;
    if ((entry->flags & RECORD_IDLES) == 0) return deadline;
    int64_t idle = later_by(entry->written_ns, entry->idle_ns);
    tree_key key;
    larder_bytes row;
    tree_key_entry(SPACE_RECENCY, entry->key, place->meta.secret, &key);
    larder_bytes bytes = {key.bytes, key.length};
    if (tree_get(&place->tree, bytes, &row) == LARDER_OK && row.length == STATE_BYTES) {
        const uint8_t *parts = row.data;
        // Of an earlier write under the key?
        if (get_be64(parts) >= entry->sequence)
            idle = (int64_t)(get_be64(parts + 16) ^ ((uint64_t)1 << 63));
    }
    return earlier(deadline, idle);
}

int64_t store_due(const larder_store *store, const record *entry, int64_t deadline) {
    if ((entry->flags & RECORD_OWN_TIMES) != 0) return deadline;
    int64_t age = atomic_load_explicit(&store->age_ns, memory_order_relaxed);
    int64_t end = atomic_load_explicit(&store->end_ns, memory_order_relaxed);
    return earlier(earlier(deadline, end), later_by(entry->written_ns, age));
}

bool store_is_expired(const larder_store *store, const record *entry, int64_t deadline) {
    int64_t due = store_due(store, entry, deadline);
    return due != LARDER_STORE_NEVER && due <= store_now(store);
}

typedef struct touched {
    larder_bytes stored;
    uint64_t sequence;
    int64_t deadline_ns;
} touched;

static void touched_look(void *context, touch_buffer *touches) {
    touched *search = context;
    for (uint32_t at = 0; at < touches->count; at++) {
        const touch *noted = &touches->touches[at];
        if (noted->length == search->stored.length && noted->at.sequence >= search->sequence &&
            noted->deadline_ns > search->deadline_ns &&
            memcmp(touches->bytes + noted->offset, search->stored.data, noted->length) == 0)
            search->deadline_ns = noted->deadline_ns;
    }
}

/** The lock is held. */
static bool is_over_locked(larder_store *store, snapshot *place, const record *entry,
                           int64_t deadline) {
    if (!store_is_expired(store, entry, deadline)) return false;
    if ((entry->flags & RECORD_IDLES) == 0 || store_is_read_only(store)) return true;
    tree_key scratch;
    touched search = {stored_key(entry->key, place->meta.secret, &scratch), entry->sequence,
                      INT64_MIN};
    touched_look(&search, &place->touches);
    environment_drain_touches(store->environment, touched_look, &search);
    touched_look(&search, &store->folding);
    if (search.deadline_ns == INT64_MIN) return true;
    return store_is_expired(store, entry, earlier(entry->expires_ns, search.deadline_ns));
}

bool store_is_over(larder_store *store, snapshot *place, const record *entry, int64_t deadline) {
    if (!store_is_expired(store, entry, deadline)) return false;
    pthread_mutex_lock(&store->lock);
    bool is_over = is_over_locked(store, place, entry, deadline);
    pthread_mutex_unlock(&store->lock);
    return is_over;
}

// Entries -----------------------------------------------------------------------------------------

larder_status store_entry_of_record(larder_store *store, const record *found, int64_t deadline,
                                    uint32_t flags, larder_store_entry *entry) {
    entry->key = found->key;
    entry->value = found->value;
    entry->extended = found->extended;
    entry->value_bytes = record_value_bytes(found);
    entry->sequence = found->sequence;
    entry->written_ns = found->written_ns;
    entry->expires_ns = deadline;
    entry->idle_ns = found->idle_ns;
    entry->cost = found->cost;
    entry->flags = (found->flags & RECORD_OWN_TIMES) != 0 ? LARDER_STORE_ENTRY_OWN_TIMES : 0;
    if ((flags & LARDER_STORE_WITHOUT_VALUE) != 0) entry->value.length = 0;
    if ((found->flags & RECORD_SPILLED) == 0) return LARDER_OK;
    entry->flags |= LARDER_STORE_ENTRY_SPILLED;
    if ((flags & LARDER_STORE_WITHOUT_VALUE) != 0) return LARDER_OK;
    larder_bytes mapped;
    larder_status status = spill_map(store->spill, &found->spill, true, &mapped);
    if (status != LARDER_OK) return status;
    entry->value = mapped;
    entry->map = (void *)(uintptr_t)mapped.data;
    entry->map_bytes = mapped.length;
    return LARDER_OK;
}

static larder_status scratch_copy(snapshot *place, larder_bytes bytes, larder_bytes *out) {
    if (place->scratch_bytes < bytes.length) {
        uint8_t *scratch = realloc(place->scratch, bytes.length);
        if (scratch == NULL) return ENOMEM;
        place->scratch = scratch;
        place->scratch_bytes = bytes.length;
    }
    memcpy(place->scratch, bytes.data, bytes.length);
    out->data = place->scratch;
    out->length = bytes.length;
    return LARDER_OK;
}

/** Looks into what is pending; `lock` is held.
    @return LARDER_OK with the op; LARDER_ENOTFOUND if the entry was removed; LARDER_END if the tree
    has to say. */
static larder_status look_into_pending(larder_store *store, larder_bytes key, uint64_t applied,
                                       const uint8_t **op) {
    for (int round = 0; round < 2; round++) {
        const pending_writes *writes = round == 0 ? store->active : store->frozen;
        if (writes == NULL) continue;
        const pending_entry *entry = pending_find(writes, key);
        if (entry != NULL && entry->sequence > applied) {
            *op = entry->op;
            return op_read(entry->op).kind == OP_PUT ? LARDER_OK : LARDER_ENOTFOUND;
        }
        if (writes->cleared > applied) return LARDER_ENOTFOUND;
    }
    return LARDER_END;
}

/** Takes a place, and the record's bytes: from the tree, or copied to the place's scratch.
    On failure no place is held. */
static larder_status find_bytes(larder_store *store, larder_bytes key, snapshot **place,
                                larder_bytes *bytes) {
    larder_status status;
    if (__builtin_expect(atomic_load_explicit(&store->pending_count, memory_order_acquire) != 0,
                         0) ||
        store_is_read_only(store)) {
        pthread_mutex_lock(&store->lock);
        status = store_enter(store);
        if (status == LARDER_OK) status = store_look(store, false, place);
        if (status == LARDER_OK) {
            uint64_t applied = store_is_read_only(store) ? (*place)->meta.applied : 0;
            const uint8_t *op;
            status = look_into_pending(store, key, applied, &op);
            if (status == LARDER_OK) status = scratch_copy(*place, op_read(op).payload, bytes);
            else if (status == LARDER_END) status = LARDER_ENOTFOUND + LARDER_END;
            if (status != LARDER_OK && status != LARDER_ENOTFOUND + LARDER_END)
                environment_release(store->environment, *place);
        }
        pthread_mutex_unlock(&store->lock);
        if (status != LARDER_ENOTFOUND + LARDER_END) return status;
    } else {
        status = environment_read(store->environment, place);
        if (status != LARDER_OK) return status;
    }
    tree_key in_tree;
    tree_key_entry(SPACE_ENTRY, key, (*place)->meta.secret, &in_tree);
    larder_bytes wanted = {in_tree.bytes, in_tree.length};
    status = tree_get(&(*place)->tree, wanted, bytes);
    if (status != LARDER_OK) environment_release(store->environment, *place);
    return status;
}

static void count_read(larder_store *store, uint32_t flags, larder_status status) {
    if (status == LARDER_EDAMAGED)
        atomic_fetch_add_explicit(&store->damaged, 1, memory_order_relaxed);
    if ((flags & LARDER_STORE_PEEK) != 0) return;
    if (status == LARDER_OK) atomic_fetch_add_explicit(&store->hits, 1, memory_order_relaxed);
    else if (status == LARDER_ENOTFOUND)
        atomic_fetch_add_explicit(&store->misses, 1, memory_order_relaxed);
}

static bool same_key(larder_bytes a, larder_bytes b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/** One attempt; `file` receives the number of a file that is missing, with ENOENT. */
static larder_status get_once(larder_store *store, larder_bytes key, uint32_t flags,
                              larder_store_entry *entry, uint64_t *file) {
    snapshot *place;
    larder_bytes bytes;
    larder_status status = find_bytes(store, key, &place, &bytes);
    if (status != LARDER_OK) return status;
    record found;
    status = record_read(bytes, true, &found);
    // Two long keys can have one hash; then the one that is not there is a miss.
    if (status == LARDER_OK && !same_key(found.key, key))
        status = key.length > KEY_WHOLE_MAX_BYTES ? LARDER_ENOTFOUND : LARDER_EDAMAGED;
    int64_t deadline = LARDER_STORE_NEVER;
    if (status == LARDER_OK) {
        deadline = store_deadline(place, &found);
        if ((flags & LARDER_STORE_EXPIRED_TOO) == 0 &&
            store_is_over(store, place, &found, deadline))
            status = LARDER_ENOTFOUND;
    }
    if (status == LARDER_OK) status = store_entry_of_record(store, &found, deadline, flags, entry);
    if (status != LARDER_OK) {
        *file = found.spill.number;
        memset(entry, 0, sizeof *entry);
        environment_release(store->environment, place);
        return status;
    }
    if ((flags & LARDER_STORE_PEEK) == 0 && !store_is_read_only(store) &&
        ((found.flags & RECORD_IDLES) != 0 ||
         atomic_load_explicit(&store->tracks_access, memory_order_relaxed))) {
        tree_key scratch;
        store_touch(store, place, stored_key(key, store->secret, &scratch), &found);
    }
    entry->lease = place;
    return LARDER_OK;
}

larder_status larder_store_get(larder_store *store, larder_bytes key, uint32_t flags,
                               larder_store_entry *entry) {
    memset(entry, 0, sizeof *entry);
    larder_status status = store_enter(store);
    if (status != LARDER_OK) return status;
    if (key.length > LARDER_STORE_KEY_MAX_BYTES) return LARDER_ENOTFOUND;
    uint64_t missing = UINT64_MAX;
    for (int attempt = 0; attempt < READ_AGAIN_MAX; attempt++) {
        uint64_t file = UINT64_MAX;
        status = get_once(store, key, flags, entry, &file);
        if (status != ENOENT) break;
        // The entry's file is gone: because the entry is, or it is damaged.
        status = LARDER_EDAMAGED;
        if (file == missing) break;
        missing = file;
    }
    count_read(store, flags, status);
    return status;
}

void larder_store_release(larder_store_entry *entry) {
    if (entry->map != NULL) {
        larder_bytes mapped = {entry->map, entry->map_bytes};
        spill_unmap(mapped);
    }
    if (entry->lease != NULL) {
        snapshot *place = entry->lease;
        environment_release(place->environment, place);
    }
    memset(entry, 0, sizeof *entry);
}

larder_status larder_store_take_map(larder_store_entry *entry, larder_bytes *value) {
    value->data = NULL;
    value->length = 0;
    if ((entry->flags & LARDER_STORE_ENTRY_SPILLED) == 0 || entry->map == NULL)
        return LARDER_EINVALID;
    value->data = entry->map;
    value->length = entry->map_bytes;
    entry->map = NULL;
    entry->map_bytes = 0;
    entry->value.data = NULL;
    entry->value.length = 0;
    return LARDER_OK;
}

void larder_store_unmap(larder_bytes value) { spill_unmap(value); }

larder_status larder_store_contains(larder_store *store, larder_bytes key) {
    larder_store_entry entry;
    larder_status status =
        larder_store_get(store, key, LARDER_STORE_PEEK | LARDER_STORE_WITHOUT_VALUE, &entry);
    larder_store_release(&entry);
    return status;
}

larder_status store_version(larder_store *store, larder_bytes key, uint64_t *sequence) {
    *sequence = 0;
    snapshot *place;
    larder_status status = environment_read(store->environment, &place);
    if (status != LARDER_OK) return status;
    const uint8_t *op;
    larder_bytes bytes = {NULL, 0};
    status = look_into_pending(store, key, 0, &op);
    if (status == LARDER_OK) bytes = op_read(op).payload;
    if (status == LARDER_END) {
        tree_key in_tree;
        tree_key_entry(SPACE_ENTRY, key, place->meta.secret, &in_tree);
        larder_bytes wanted = {in_tree.bytes, in_tree.length};
        status = tree_get(&place->tree, wanted, &bytes);
    }
    record found;
    if (status == LARDER_OK) status = record_read(bytes, true, &found);
    if (status == LARDER_OK && same_key(found.key, key) &&
        !is_over_locked(store, place, &found, store_deadline(place, &found)))
        *sequence = found.sequence;
    environment_release(store->environment, place);
    return status == LARDER_ENOTFOUND ? LARDER_OK : status;
}

// Totals ------------------------------------------------------------------------------------------

/** What the tree holds under the key of a pending write. A damaged one counts as it is. */
static void resolve_in_tree(const snapshot *place, pending_writes *writes, pending_entry *entry) {
    tree_key in_tree;
    larder_bytes bytes;
    record found;
    tree_key_entry(SPACE_ENTRY, op_key(entry->op), place->meta.secret, &in_tree);
    larder_bytes wanted = {in_tree.bytes, in_tree.length};
    bool is_there = tree_get(&place->tree, wanted, &bytes) == LARDER_OK &&
                    record_read(bytes, false, &found) == LARDER_OK;
    pending_resolve(writes, entry, is_there, is_there ? record_value_bytes(&found) : 0);
}

static void resolve(const larder_store *store, const snapshot *place, pending_writes *writes,
                    uint64_t applied) {
    while (writes->resolved < writes->count) {
        pending_entry *entry = &writes->entries[writes->resolved++];
        const pending_entry *under = NULL;
        if (entry->sequence <= applied) {
            pending_resolve(writes, entry, op_read(entry->op).kind == OP_PUT,
                            op_value_bytes(entry->op));
            continue;
        }
        if (writes->cleared == 0 && writes == store->active && store->frozen != NULL)
            under = pending_find(store->frozen, op_key(entry->op));
        if (under != NULL)
            pending_resolve(writes, entry, op_read(under->op).kind == OP_PUT,
                            op_value_bytes(under->op));
        else if (writes->cleared > applied ||
                 (writes == store->active && store->frozen != NULL && store->frozen->cleared != 0))
            pending_resolve(writes, entry, false, 0);
        else resolve_in_tree(place, writes, entry);
    }
}

/** The lock is held, and the place is of the last transaction that the tables know of. */
static void add_up(const larder_store *store, const snapshot *place, uint64_t *count,
                   uint64_t *bytes) {
    uint64_t applied = store_is_read_only(store) ? store->committed.applied : 0;
    int64_t entries = (int64_t)store->committed.count;
    int64_t sum = (int64_t)store->committed.bytes;
    for (int round = 0; round < 2; round++) {
        pending_writes *writes = round == 0 ? store->frozen : store->active;
        if (writes == NULL) continue;
        if (writes->cleared > applied) entries = sum = 0;
        resolve(store, place, writes, applied);
        entries += writes->count_delta;
        sum += writes->bytes_delta;
    }
    *count = entries > 0 ? (uint64_t)entries : 0;
    *bytes = sum > 0 ? (uint64_t)sum : 0;
}

larder_status larder_store_totals(larder_store *store, uint64_t *count, uint64_t *bytes) {
    *count = *bytes = 0;
    for (;;) {
        pthread_mutex_lock(&store->lock);
        larder_status status = store_enter(store);
        snapshot *place;
        if (status == LARDER_OK) status = store_look(store, false, &place);
        if (status != LARDER_OK) {
            pthread_mutex_unlock(&store->lock);
            return status;
        }
        if (store_is_read_only(store) && place->tree.transaction != store->committed.transaction) {
            store->committed.transaction = place->tree.transaction;
            store->committed.applied = place->meta.applied;
            store->committed.count = place->meta.count;
            store->committed.bytes = place->meta.bytes;
            pending_forget_bases(store->active);
        }
        // Between a commit and its news there is a moment in which the tree is newer.
        bool is_current = place->tree.transaction == store->committed.transaction;
        if (is_current) add_up(store, place, count, bytes);
        environment_release(store->environment, place);
        pthread_mutex_unlock(&store->lock);
        if (is_current) return LARDER_OK;
        sched_yield();
    }
}
