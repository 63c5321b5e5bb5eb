// SPDX-License-Identifier: MIT
/** @file expiry.c
    What time it is, and what has expired. */
#include "handle/entry.h"
#include "larder_index.h"
#include "larder_os_machine.h"

int64_t larder_store_now(const larder_store *store) {
    if (store->options.clock != NULL) return store->options.clock(store->options.context);
    return larder_os_wall_clock_ns();
}

int64_t larder_store_deadline(const snapshot *seen, const record *entry) {
    if ((entry->flags & (RECORD_EXPIRES | RECORD_IDLES)) == 0) return LARDER_STORE_NEVER;
    int64_t deadline = entry->expires_ns;
    if ((entry->flags & RECORD_IDLES) == 0) return deadline;
    int64_t idle = later_by(entry->written_ns, entry->idle_ns);
    tree_key key;
    larder_bytes row;
    larder_tree_key_entry(SPACE_RECENCY, entry->key, seen->meta.secret, &key);
    if (larder_tree_get(&seen->tree, bytes_of_key(&key), &row) == LARDER_OK &&
        row.length == STATE_BYTES) {
        const uint8_t *parts = row.data;
        // Of an earlier write under the key?
        if (get_be64(parts) >= entry->sequence) idle = unflip(get_be64(parts + 16));
    }
    return earlier(deadline, idle);
}

int64_t larder_store_due(const larder_store *store, const record *entry, int64_t deadline) {
    if ((entry->flags & RECORD_OWN_TIMES) != 0) return deadline;
    int64_t age = atomic_load_explicit(&store->age_ns, memory_order_relaxed);
    int64_t end = atomic_load_explicit(&store->end_ns, memory_order_relaxed);
    return earlier(earlier(deadline, end), later_by(entry->written_ns, age));
}

/** Whether it has expired, by `deadline` and the store's limits of age and end. */
static bool is_expired(const larder_store *store, const record *entry, int64_t deadline) {
    int64_t due = larder_store_due(store, entry, deadline);
    return due != LARDER_STORE_NEVER && due <= larder_store_now(store);
}

typedef struct touched {
    uint64_t hash, sequence;
    int64_t deadline_ns;
} touched;

static void touched_look(void *context, const touch_buffer *touches) {
    touched *search = context;
    larder_touch_buffer_search(touches, search->hash, search->sequence, &search->deadline_ns);
}

/** Whether it has expired although it may have been read since the last checkpoint. Waits for
    nobody, and takes `lock`, unless the caller has it, only while a checkpoint folds reads in.

    No read is missed that was noted before this began, be its place in use or not: it is in the
    place's buffer, or was moved to `folding` before the buffer was emptied, or, if the checkpoint
    has ended since this caller took its place, in a newer tree. Only in that last case an entry
    that was read may seem to have expired. */
bool larder_store_is_expired(larder_store *store, const snapshot *seen, const record *entry,
                             int64_t deadline, bool is_locked) {
    if (!is_expired(store, entry, deadline)) return false;
    if ((entry->flags & RECORD_IDLES) == 0 || store_is_read_only(store)) return true;
    tree_key scratch;
    larder_bytes stored = larder_stored_key(entry->key, seen->meta.secret, &scratch);
    touched search = {larder_index_hash_bytes(stored.data, stored.length), entry->sequence,
                      INT64_MIN};
    larder_environment_look_at_touches(store->environment, touched_look, &search);
    if (__atomic_load_n(&store->folding.count, __ATOMIC_ACQUIRE) != 0) {
        if (!is_locked) pthread_mutex_lock(&store->lock);
        touched_look(&search, &store->folding);
        if (!is_locked) pthread_mutex_unlock(&store->lock);
    }
    if (search.deadline_ns == INT64_MIN) return true;
    return is_expired(store, entry, earlier(entry->expires_ns, search.deadline_ns));
}
