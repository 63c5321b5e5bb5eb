// SPDX-License-Identifier: MIT
/** @file touch.c
    Noting reads. */
#include "read/read.h"

static bool touch_buffer_prepare(touch_buffer *touches) {
    if (!touches->touches) touches->touches = malloc(TOUCH_MAX_COUNT * sizeof *touches->touches);
    if (!touches->bytes) touches->bytes = malloc(TOUCH_MAX_BYTES);
    return touches->touches && touches->bytes;
}

/** What the last read noted was of the same key; it is moved on then. */
static touch *touch_again(touch_buffer *touches, larder_bytes stored) {
    if (touches->count == 0) return NULL;
    touch *last = &touches->touches[touches->count - 1];
    bool is_same = last->length == stored.length &&
                   memcmp(touches->bytes + last->offset, stored.data, stored.length) == 0;
    return is_same ? last : NULL;
}

/** Room for one more read of the key; it is not counted yet. */
static touch *touch_add(touch_buffer *touches, larder_bytes stored) {
    if (touches->count == TOUCH_MAX_COUNT ||
        TOUCH_MAX_BYTES - touches->used_bytes < stored.length) {
        touches->dropped++;
        return NULL;
    }
    touch *noted = &touches->touches[touches->count];
    noted->offset = touches->used_bytes;
    noted->length = (uint32_t)stored.length;
    if (stored.length) memcpy(touches->bytes + noted->offset, stored.data, stored.length);
    touches->used_bytes += noted->length;
    __atomic_store_n(&noted->hash, larder_index_hash_bytes(stored.data, stored.length),
                     __ATOMIC_RELEASE);
    return noted;
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
    touch *noted = touch_again(touches, stored);
    bool is_new = !noted;
    if (is_new) noted = touch_add(touches, stored);
    if (!noted) return;
    bool idles = idle_ns != LARDER_STORE_NEVER;
    int64_t deadline = idles ? later_by(expiry_now(&store->expiry), idle_ns) : LARDER_STORE_NEVER;
    uint64_t newest = atomic_load_explicit(&store->pending.newest_sequence, memory_order_acquire);
    uint64_t nth = atomic_fetch_add_explicit(&store->expiry.read_number, 1, memory_order_relaxed);
    __atomic_store_n(&noted->at.sequence, newest, __ATOMIC_RELEASE);
    noted->at.minor = ((uint64_t)1 << 32) + nth;
    __atomic_store_n(&noted->deadline_ns, deadline, __ATOMIC_RELEASE);
    if (!is_new) return;
    __atomic_store_n(&touches->count, touches->count + 1, __ATOMIC_RELEASE);
    if (touches->count == TOUCH_MAX_COUNT / 4 * 3) ask_for_checkpoint(store);
}
