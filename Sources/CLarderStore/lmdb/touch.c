// SPDX-License-Identifier: MIT
/** @file touch.c
    Noting reads. */
#include <stdlib.h>

#include "store/store_internal.h"

static bool touch_buffer_prepare(touch_buffer *touches) {
    if (touches->touches == NULL)
        touches->touches = malloc(TOUCH_MAX_COUNT * sizeof *touches->touches);
    if (touches->bytes == NULL) touches->bytes = malloc(TOUCH_MAX_BYTES);
    return touches->touches != NULL && touches->bytes != NULL;
}

void touch_buffer_free(touch_buffer *touches) {
    free(touches->touches);
    free(touches->bytes);
    memset(touches, 0, sizeof *touches);
}

void touch_buffer_move(touch_buffer *from, touch_buffer *to) {
    if (from->count == 0) return;
    touch *touches = realloc(to->touches, (to->count + from->count) * sizeof *touches);
    if (touches != NULL) to->touches = touches;
    uint8_t *bytes = realloc(to->bytes, to->used_bytes + from->used_bytes);
    if (bytes != NULL) to->bytes = bytes;
    if (touches == NULL || (bytes == NULL && from->used_bytes > 0)) {
        to->dropped += from->count;
    } else {
        if (from->used_bytes > 0) memcpy(to->bytes + to->used_bytes, from->bytes, from->used_bytes);
        for (uint32_t at = 0; at < from->count; at++) {
            touch moved = from->touches[at];
            moved.offset += to->used_bytes;
            to->touches[to->count++] = moved;
        }
        to->used_bytes += from->used_bytes;
    }
    to->dropped += from->dropped;
    from->count = 0;
    from->used_bytes = 0;
    from->dropped = 0;
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

void store_touch(larder_store *store, snapshot *place, larder_bytes stored, const record *entry) {
    touch_buffer *touches = &place->touches;
    if (!touch_buffer_prepare(touches)) return;
    touch *noted = touch_again(touches, stored);
    if (noted == NULL) {
        if (touches->count == TOUCH_MAX_COUNT ||
            TOUCH_MAX_BYTES - touches->used_bytes < stored.length) {
            touches->dropped++;
            return;
        }
        noted = &touches->touches[touches->count++];
        noted->offset = touches->used_bytes;
        noted->length = (uint32_t)stored.length;
        memcpy(touches->bytes + noted->offset, stored.data, stored.length);
        touches->used_bytes += (uint32_t)stored.length;
        if (touches->count == TOUCH_MAX_COUNT / 4 * 3) {
            pthread_mutex_lock(&store->lock);
            store->wants_flush = true;
            pthread_cond_signal(&store->wake);
            pthread_mutex_unlock(&store->lock);
        }
    }
    noted->at.sequence = atomic_load_explicit(&store->newest_sequence, memory_order_acquire);
    noted->at.minor = ((uint64_t)1 << 32) +
                      atomic_fetch_add_explicit(&store->read_number, 1, memory_order_relaxed);
    noted->deadline_ns = LARDER_STORE_NEVER;
    if ((entry->flags & RECORD_IDLES) != 0) {
        int64_t now = store_now(store);
        if (entry->idle_ns < LARDER_STORE_NEVER - now) noted->deadline_ns = now + entry->idle_ns;
    }
}
