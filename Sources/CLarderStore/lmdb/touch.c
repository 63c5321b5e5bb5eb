// SPDX-License-Identifier: MIT
#include "lmdb/touch.h"

void larder_touch_buffer_search(const touch_buffer *touches, uint64_t hash, uint64_t sequence,
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

static void touch_buffer_empty(touch_buffer *touches) {
    __atomic_store_n(&touches->count, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&touches->emptied, touches->emptied + 1, __ATOMIC_RELEASE);
    touches->used_bytes = 0;
    touches->dropped = 0;
}

void larder_touch_buffer_free(touch_buffer *touches) {
    touch_buffer_empty(touches);
    free(touches->touches);
    free(touches->bytes);
    touches->touches = NULL;
    touches->bytes = NULL;
}

void larder_touch_buffer_move(touch_buffer *from, touch_buffer *to) {
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
