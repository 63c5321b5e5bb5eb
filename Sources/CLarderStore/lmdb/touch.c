// SPDX-License-Identifier: MIT
#include "lmdb/touch.h"

uint16_t *larder_touch_buffer_slot(const touch_buffer *touches, uint64_t hash,
                                   larder_bytes stored) {
    for (uint64_t at = hash;; at++) {
        uint16_t *slot = &touches->slots[at % TOUCH_SLOTS];
        if (*slot == 0) return slot;
        const touch *noted = &touches->touches[*slot - 1];
        larder_bytes known = {touches->bytes + noted->offset, noted->length};
        if (noted->hash == hash && compare_bytes(known, stored) == 0) return slot;
    }
}

static void look_at(const touch *noted, uint64_t hash, uint64_t sequence, int64_t *latest) {
    if (__atomic_load_n(&noted->hash, __ATOMIC_ACQUIRE) != hash ||
        __atomic_load_n(&noted->at.sequence, __ATOMIC_ACQUIRE) < sequence)
        return;
    int64_t deadline = __atomic_load_n(&noted->deadline_ns, __ATOMIC_ACQUIRE);
    uint64_t renewed = __atomic_load_n(&noted->renewed, __ATOMIC_ACQUIRE);
    if (deadline > *latest && (renewed == 0 || renewed == sequence)) *latest = deadline;
}

void larder_touch_buffer_search(const touch_buffer *touches, uint64_t hash, uint64_t sequence,
                                int64_t *deadline_ns) {
    uint64_t emptied;
    int64_t latest;
    // A place that was used again meanwhile may have given parts of two reads.
    do {
        emptied = __atomic_load_n(&touches->emptied, __ATOMIC_ACQUIRE);
        uint32_t count = __atomic_load_n(&touches->count, __ATOMIC_ACQUIRE);
        const uint16_t *slots = __atomic_load_n(&touches->slots, __ATOMIC_ACQUIRE);
        latest = *deadline_ns;
        for (uint64_t at = hash; slots != NULL && count > 0; at++) {
            uint16_t number = __atomic_load_n(&slots[at % TOUCH_SLOTS], __ATOMIC_SEQ_CST);
            if (number == 0) break;
            look_at(&touches->touches[number - 1], hash, sequence, &latest);
        }
    } while (__atomic_load_n(&touches->emptied, __ATOMIC_RELAXED) != emptied);
    *deadline_ns = latest;
}

/** Has the table lead to all that there is.
    @return whether there is one: a few, and where there is no memory, are looked at one by one. */
static bool touch_buffer_index(touch_buffer *touches) {
    enum { FEW = 16 };
    if (touches->count <= FEW) return false;
    if (touches->count > touches->found_room / 2) {
        uint32_t room = 4 * FEW;
        while (touches->count > room / 4) room *= 2;
        uint32_t *found = calloc(room, sizeof *found);
        if (found == NULL) return false;
        free(touches->found);
        touches->found = found;
        touches->found_room = room;
        touches->found_count = 0;
    }
    while (touches->found_count < touches->count) {
        uint64_t at = touches->touches[touches->found_count++].hash;
        while (touches->found[at % touches->found_room] != 0) at++;
        touches->found[at % touches->found_room] = touches->found_count;
    }
    return true;
}

void larder_touch_buffer_find(touch_buffer *touches, uint64_t hash, uint64_t sequence,
                              int64_t *deadline_ns) {
    if (!touch_buffer_index(touches)) {
        for (uint32_t i = 0; i < touches->count; i++)
            look_at(&touches->touches[i], hash, sequence, deadline_ns);
        return;
    }
    uint32_t number;
    for (uint64_t at = hash; (number = touches->found[at % touches->found_room]) != 0; at++)
        look_at(&touches->touches[number - 1], hash, sequence, deadline_ns);
}

static void touch_buffer_empty(touch_buffer *touches) {
    __atomic_store_n(&touches->count, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&touches->emptied, touches->emptied + 1, __ATOMIC_RELEASE);
    for (uint32_t at = 0; touches->slots != NULL && at < TOUCH_SLOTS; at++)
        __atomic_store_n(&touches->slots[at], 0, __ATOMIC_RELAXED);
    free(touches->found);
    touches->found = NULL;
    touches->found_count = touches->found_room = 0;
    touches->used_bytes = 0;
    touches->dropped = 0;
}

void larder_touch_buffer_free(touch_buffer *touches) {
    touch_buffer_empty(touches);
    free(touches->touches);
    free(touches->slots);
    free(touches->bytes);
    touches->touches = NULL;
    touches->slots = NULL;
    touches->room_bytes = 0;
    touches->bytes = NULL;
}

void larder_touch_buffer_append(const touch_buffer *from, touch_buffer *to) {
    if (from->count == 0) return;
    uint32_t count = to->count + from->count;
    touch *touches = realloc(to->touches, count * sizeof *touches);
    if (touches) to->touches = touches;
    uint8_t *bytes = realloc(to->bytes, to->used_bytes + from->used_bytes + 1);
    if (bytes) to->bytes = bytes;
    if (!touches || !bytes) {
        to->dropped += from->count;
        return;
    }
    if (from->used_bytes > 0) memcpy(bytes + to->used_bytes, from->bytes, from->used_bytes);
    for (uint32_t i = 0; i < from->count; i++) {
        touch moved = from->touches[i];
        moved.offset += to->used_bytes;
        touches[to->count + i] = moved;
    }
    to->used_bytes += from->used_bytes;
    __atomic_store_n(&to->count, count, __ATOMIC_RELEASE);
}

void larder_touch_buffer_move(touch_buffer *from, touch_buffer *to) {
    // Before `from` is empty: whoever searches both, in this order, misses nothing.
    larder_touch_buffer_append(from, to);
    if (from->count == 0) return;
    to->dropped += from->dropped;
    touch_buffer_empty(from);
}
