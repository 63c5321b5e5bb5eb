// SPDX-License-Identifier: MIT
/** @file touch.c
    Noting reads. */
#include <stdlib.h>

#include "larder_index.h"
#include "store/store_internal.h"

void touch_buffer_search(const touch_buffer *touches, uint64_t hash, uint64_t sequence,
                         int64_t *deadline_ns) {
    uint64_t emptied;
    int64_t latest;
    // A place that was used again meanwhile may have given parts of two reads.
    do {
        emptied = __atomic_load_n(&touches->emptied, __ATOMIC_ACQUIRE);
        uint32_t count = __atomic_load_n(&touches->count, __ATOMIC_ACQUIRE);
        latest = *deadline_ns;
        for (uint32_t i = 0; i < count; i++) {
            const touch *noted = &touches->touches[i];
            if (__atomic_load_n(&noted->hash, __ATOMIC_ACQUIRE) != hash ||
                __atomic_load_n(&noted->at.sequence, __ATOMIC_ACQUIRE) < sequence)
                continue;
            int64_t deadline = __atomic_load_n(&noted->deadline_ns, __ATOMIC_ACQUIRE);
            if (deadline > latest) latest = deadline;
        }
    } while (__atomic_load_n(&touches->emptied, __ATOMIC_RELAXED) != emptied);
    *deadline_ns = latest;
}

static bool touch_buffer_prepare(touch_buffer *touches) {
    if (!touches->touches) touches->touches = malloc(TOUCH_MAX_COUNT * sizeof *touches->touches);
    if (!touches->bytes) touches->bytes = malloc(TOUCH_MAX_BYTES);
    return touches->touches && touches->bytes;
}

static void touch_buffer_empty(touch_buffer *touches) {
    __atomic_store_n(&touches->count, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&touches->emptied, touches->emptied + 1, __ATOMIC_RELEASE);
    touches->used_bytes = 0;
    touches->dropped = 0;
}

void touch_buffer_free(touch_buffer *touches) {
    touch_buffer_empty(touches);
    free(touches->touches);
    free(touches->bytes);
    touches->touches = NULL;
    touches->bytes = NULL;
}

void touch_buffer_move(touch_buffer *from, touch_buffer *to) {
    if (from->count == 0) return;
    uint32_t count = to->count + from->count;
    touch *touches = realloc(to->touches, count * sizeof *touches);
    if (touches) to->touches = touches;
    uint8_t *bytes = realloc(to->bytes, to->used_bytes + from->used_bytes + 1);
    if (bytes) to->bytes = bytes;
    if (!touches || !bytes) {
        to->dropped += from->count;
    } else {
        memcpy(bytes + to->used_bytes, from->bytes, from->used_bytes);
        for (uint32_t i = 0; i < from->count; i++) {
            touch moved = from->touches[i];
            moved.offset += to->used_bytes;
            touches[to->count + i] = moved;
        }
        to->used_bytes += from->used_bytes;
        // Before `from` is empty: whoever searches both, in this order, misses nothing.
        __atomic_store_n(&to->count, count, __ATOMIC_RELEASE);
    }
    to->dropped += from->dropped;
    touch_buffer_empty(from);
}

/** What the last read noted was of the same key; it is moved on then. */
static touch *touch_again(touch_buffer *touches, larder_bytes stored) {
    if (touches->count == 0) return NULL;
    touch *last = &touches->touches[touches->count - 1];
    if (last->length != stored.length ||
        memcmp(touches->bytes + last->offset, stored.data, stored.length) != 0)
        return NULL;
    return last;
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
    pthread_mutex_lock(&store->lock);
    store->wants_flush = true;
    store_wake(store);
    pthread_mutex_unlock(&store->lock);
}

void store_touch(larder_store *store, snapshot *seen, larder_bytes stored, const record *entry) {
    touch_buffer *touches = &seen->touches;
    if (!touch_buffer_prepare(touches)) return;
    touch *noted = touch_again(touches, stored);
    bool is_new = !noted;
    if (is_new) noted = touch_add(touches, stored);
    if (!noted) return;
    int64_t deadline = LARDER_STORE_NEVER;
    if (entry->flags & RECORD_IDLES) deadline = later_by(store_now(store), entry->idle_ns);
    uint64_t newest = atomic_load_explicit(&store->newest_sequence, memory_order_acquire);
    uint64_t number = atomic_fetch_add_explicit(&store->read_number, 1, memory_order_relaxed);
    __atomic_store_n(&noted->at.sequence, newest, __ATOMIC_RELEASE);
    noted->at.minor = ((uint64_t)1 << 32) + number;
    __atomic_store_n(&noted->deadline_ns, deadline, __ATOMIC_RELEASE);
    if (!is_new) return;
    __atomic_store_n(&touches->count, touches->count + 1, __ATOMIC_RELEASE);
    if (touches->count == TOUCH_MAX_COUNT / 4 * 3) ask_for_checkpoint(store);
}
