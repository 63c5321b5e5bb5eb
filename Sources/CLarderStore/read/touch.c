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

static void ask_for_checkpoint(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    store->maintenance.wants_flush = true;
    larder_store_wake(store);
    pthread_mutex_unlock(&store->pending.lock);
}

void larder_store_touch(larder_store *store, snapshot *seen, larder_bytes stored, int64_t idle_ns) {
    touch_buffer *touches = &seen->touches;
    if (!touch_buffer_prepare(touches)) return;
    const uint64_t hash = larder_index_hash_bytes(stored.data, stored.length);
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
        return;
    }
    bool idles = idle_ns != LARDER_STORE_NEVER;
    int64_t deadline = idles ? later_by(expiry_now(&store->expiry), idle_ns) : LARDER_STORE_NEVER;
    uint64_t newest = atomic_load_explicit(&store->pending.newest_sequence, memory_order_acquire);
    uint64_t nth = atomic_fetch_add_explicit(&store->expiry.read_number, 1, memory_order_relaxed);
    __atomic_store_n(&noted->at.sequence, newest, __ATOMIC_RELEASE);
    noted->at.minor = ((uint64_t)1 << 32) + nth;
    __atomic_store_n(&noted->deadline_ns, deadline, __ATOMIC_RELEASE);
    if (!is_new) return;
    __atomic_store_n(&touches->count, touches->count + 1, __ATOMIC_RELEASE);
    __atomic_store_n(slot, (uint16_t)touches->count, __ATOMIC_RELEASE);
    if (touches->count == TOUCH_MAX_COUNT / 4 * 3) ask_for_checkpoint(store);
}
