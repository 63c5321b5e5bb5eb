// SPDX-License-Identifier: MIT
/** @file touch.c
    Noting reads. */
#include "read/read.h"

static bool touch_buffer_prepare(touch_buffer *touches) {
    if (touches->touches != NULL) return true;
    touch *made = malloc(TOUCH_MAX_COUNT * sizeof *made);
    uint16_t *slots = calloc(TOUCH_SLOTS, sizeof *slots);
    if (made == NULL || slots == NULL) {
        free(made);
        free(slots);
        return false;
    }
    __atomic_store_n(&touches->slots, slots, __ATOMIC_RELEASE);
    __atomic_store_n(&touches->touches, made, __ATOMIC_RELEASE);
    return true;
}

/** Room for one more read; it is not counted yet. NULL if there is none. */
static touch *touch_add(touch_buffer *touches, uint64_t hash, larder_bytes stored) {
    uint64_t needed = (uint64_t)touches->used_bytes + stored.length, room = touches->room_bytes;
    // Also for the empty key: then there is a place that it begins at.
    if (needed >= room) {
        room = needed + needed / 2 + 4096;
        uint8_t *bytes = realloc(touches->bytes, (size_t)room);
        if (bytes == NULL) return NULL;
        touches->bytes = bytes;
        touches->room_bytes = (uint32_t)room;
    }
    touch *noted = &touches->touches[touches->count];
    noted->offset = touches->used_bytes;
    noted->length = (uint32_t)stored.length;
    if (stored.length > 0) memcpy(touches->bytes + noted->offset, stored.data, stored.length);
    touches->used_bytes += noted->length;
    __atomic_store_n(&noted->hash, hash, __ATOMIC_RELEASE);
    return noted;
}

/** When an entry with that idle time expires that was read at `read_ns`, 0 for now. */
static int64_t deadline_after(const larder_store *store, int64_t read_ns, int64_t idle_ns) {
    if (idle_ns == LARDER_STORE_NEVER) return TOUCH_NO_DEADLINE;
    return later_by(read_ns != 0 ? read_ns : expiry_now(&store->expiry), idle_ns);
}

/** It is the newest read of all. One that gives no deadline leaves that of a renewal. */
static void touch_stamp(larder_store *store, touch *noted, bool is_new, int64_t deadline_ns) {
    uint64_t newest = atomic_load_explicit(&store->pending.newest_sequence, memory_order_acquire);
    uint64_t nth = atomic_fetch_add_explicit(&store->expiry.read_number, 1, memory_order_relaxed);
    __atomic_store_n(&noted->at.sequence, newest, __ATOMIC_RELEASE);
    noted->at.minor = ((uint64_t)1 << 32) + nth;
    if (!is_new && deadline_ns == TOUCH_NO_DEADLINE) return;
    __atomic_store_n(&noted->renewed, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&noted->deadline_ns, deadline_ns, __ATOMIC_RELEASE);
}

/** A renewal is no read: it stands where the write does that it renews, or where that was read
    since. So one that comes too late is not one of a later write. */
static void touch_renew(larder_store *store, touch *noted, bool is_new, const stamp *renewed) {
    if (is_new || compare_stamps(noted->at, *renewed) < 0) {
        noted->at.minor = renewed->minor;
        __atomic_store_n(&noted->at.sequence, renewed->sequence, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&noted->renewed, renewed->sequence, __ATOMIC_RELEASE);
    __atomic_store_n(&noted->deadline_ns, deadline_after(store, 0, LARDER_STORE_RENEWABLE),
                     __ATOMIC_RELEASE);
}

/** A checkpoint that lasts long is no reason to forget reads.
    @return whether there is room again. */
static bool hand_on(larder_store *store, touch_buffer *touches) {
    pthread_mutex_lock(&store->pending.lock);
    touch_buffer *waiting = &store->index.waiting;
    bool has_room = waiting->count + touches->count <= TOUCH_WAITING_MAX_COUNT;
    if (has_room) larder_touch_buffer_move(touches, waiting);
    pthread_mutex_unlock(&store->pending.lock);
    return has_room;
}

static void note_reads(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    larder_store_has_reads(store);
    pthread_mutex_unlock(&store->pending.lock);
}

static void ask_for_checkpoint(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    store->maintenance.wants_flush = true;
    larder_store_wake(store);
    pthread_mutex_unlock(&store->pending.lock);
}

uint64_t larder_store_touch(larder_store *store, snapshot *seen, larder_bytes stored,
                            int64_t idle_ns, const stamp *renewed) {
    touch_buffer *touches = &seen->touches;
    const uint64_t hash = larder_index_hash_bytes(stored.data, stored.length);
    if (!touch_buffer_prepare(touches)) {
        touches->dropped++;
        return hash;
    }
    uint16_t *slot = larder_touch_buffer_slot(touches, hash, stored);
    const bool is_new = *slot == 0;
    bool has_room = !is_new || touches->count < TOUCH_MAX_COUNT;
    if (!has_room && hand_on(store, touches)) {
        slot = larder_touch_buffer_slot(touches, hash, stored);
        has_room = true;
    }
    touch *noted = NULL;
    if (has_room) noted = is_new ? touch_add(touches, hash, stored) : &touches->touches[*slot - 1];
    if (noted == NULL) {
        touches->dropped++;
        return hash;
    }
    if (renewed != NULL) touch_renew(store, noted, is_new, renewed);
    else touch_stamp(store, noted, is_new, deadline_after(store, 0, idle_ns));
    if (!is_new) return hash;
    __atomic_store_n(&touches->count, touches->count + 1, __ATOMIC_RELEASE);
    // As leaving.h asks.
    __atomic_store_n(slot, (uint16_t)touches->count, __ATOMIC_SEQ_CST);
    if (touches->count == 1) note_reads(store);
    if (touches->count == TOUCH_MAX_COUNT / 4 * 3) ask_for_checkpoint(store);
    return hash;
}

// Many reads --------------------------------------------------------------------------------------

enum { CHUNK_MAX_COUNT = 256 };

/** What is known of the entries of some reads. */
typedef struct noted_chunk {
    const larder_store_noted_read *reads;
    size_t count;
    /** LARDER_END: the tree has to say. LARDER_ENOTFOUND: there is none, or it cannot be read. */
    larder_status found[CHUNK_MAX_COUNT];
    int64_t idle_ns[CHUNK_MAX_COUNT];
} noted_chunk;

static void look_into_record(noted_chunk *chunk, size_t at, larder_bytes bytes) {
    record found;
    bool is_put = larder_record_read(bytes, false, &found) == LARDER_OK &&
                  found.kind == RECORD_PUT && compare_bytes(found.key, chunk->reads[at].key) == 0;
    chunk->found[at] = is_put ? LARDER_OK : LARDER_ENOTFOUND;
    if (is_put) chunk->idle_ns[at] = idle_of_reads(found.idle_ns);
}

/** What waits for a checkpoint; the pending lock is held. */
static void look_into_pending(const larder_store *store, noted_chunk *chunk) {
    const memtable *tables[] = {store->pending.active, store->pending.frozen};
    for (size_t at = 0; at < chunk->count; at++) {
        chunk->found[at] = LARDER_END;
        for (int i = 0; i < 2 && tables[i] != NULL && chunk->found[at] == LARDER_END; i++) {
            const memtable_entry *entry = larder_memtable_find(tables[i], chunk->reads[at].key);
            if (entry != NULL) look_into_record(chunk, at, record_bytes(entry->record));
            else if (tables[i]->cleared != 0) chunk->found[at] = LARDER_ENOTFOUND;
        }
    }
}

/** The row tells whether the entry idles: only then its record is looked at. */
static void look_into_tree(larder_store *store, const snapshot *seen, noted_chunk *chunk) {
    for (size_t at = 0; at < chunk->count; at++) {
        if (chunk->found[at] != LARDER_END) continue;
        tree_key wanted;
        larder_bytes row, bytes;
        entry_row parts;
        uint32_t ignored;
        larder_tree_key_entry(SPACE_ENTRY, chunk->reads[at].key, seen->meta.secret, &wanted);
        chunk->found[at] = LARDER_ENOTFOUND;
        chunk->idle_ns[at] = LARDER_STORE_NEVER;
        if (larder_tree_get(&seen->tree, bytes_of_key(&wanted), &row) != LARDER_OK ||
            larder_row_read(row, &parts) != LARDER_OK)
            continue;
        if ((parts.flags & RECORD_IDLES) == 0) chunk->found[at] = LARDER_OK;
        else if (larder_log_row(&store->pending.log, row, &bytes, &ignored) == LARDER_OK)
            look_into_record(chunk, at, bytes);
    }
}

/** Adds the reads that count to `noted`, which has no table: each key comes once. */
static larder_status note_chunk(larder_store *store, const snapshot *seen, const noted_chunk *chunk,
                                touch_buffer *noted) {
    bool tracks = atomic_load(&store->expiry.tracks_access);
    noted->touches = malloc(chunk->count * sizeof *noted->touches);
    if (noted->touches == NULL) return ENOMEM;
    for (size_t at = 0; at < chunk->count; at++) {
        const int64_t idle_ns = chunk->idle_ns[at];
        if (chunk->found[at] != LARDER_OK || !(tracks || idle_ns != LARDER_STORE_NEVER)) continue;
        tree_key room;
        larder_bytes key = chunk->reads[at].key;
        larder_bytes stored = larder_stored_key(key, seen->meta.secret, &room);
        touch *made = touch_add(noted, larder_index_hash_bytes(stored.data, stored.length), stored);
        if (made == NULL) return ENOMEM;
        touch_stamp(store, made, true, deadline_after(store, chunk->reads[at].read_ns, idle_ns));
        noted->count++;
    }
    return LARDER_OK;
}

static larder_status touch_chunk(larder_store *store, noted_chunk *chunk) {
    snapshot *seen;
    touch_buffer noted = {0};
    pthread_mutex_lock(&store->pending.lock);
    larder_status status = larder_store_look(store, false, &seen);
    if (!status) look_into_pending(store, chunk);
    pthread_mutex_unlock(&store->pending.lock);
    if (status) return status;
    look_into_tree(store, seen, chunk);
    status = note_chunk(store, seen, chunk, &noted);
    if (!status && noted.count > 0) note_reads(store);
    if (!status && !hand_on(store, &noted)) noted.dropped = noted.count;
    atomic_fetch_add(&store->figures.touches_dropped, noted.dropped);
    larder_environment_release(store->index.environment, seen);
    larder_touch_buffer_free(&noted);
    return status;
}

larder_status larder_store_touch_many(larder_store *store, const larder_store_noted_read *reads,
                                      size_t count) {
    larder_status status = store_enter_to_write(store);
    for (size_t at = 0; at < count && !status; at += CHUNK_MAX_COUNT) {
        size_t left = count - at;
        noted_chunk chunk = {.reads = reads + at,
                             .count = left < CHUNK_MAX_COUNT ? left : CHUNK_MAX_COUNT};
        status = touch_chunk(store, &chunk);
    }
    return status;
}
