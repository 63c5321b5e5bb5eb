// SPDX-License-Identifier: MIT
/** @file cursor.c
    Named cursors: a table of slots behind the header, one cache line each. */
#include "ring/ring_internal.h"

ring_cursor_slot *larder_ring_cursor_slots(const larder_ring *ring) {
    return (ring_cursor_slot *)(void *)(ring->map + RING_HEADER_BYTES);
}

static size_t ring_cursor_slot_count(const larder_ring *ring) {
    return ring_fixed_slots(&ring->fixed);
}

static uint32_t cursor_name_crc(const char name[32], uint32_t length) {
    return larder_crc32c(larder_crc32c(0, name, 32), &length, sizeof length);
}

bool larder_cursor_slot_is_taken(const ring_cursor_slot *slot) {
    return slot->name_length >= 1 && slot->name_length <= LARDER_RING_CURSOR_NAME_MAX_BYTES &&
           slot->name_crc == cursor_name_crc(slot->name, slot->name_length);
}

uint64_t larder_cursor_slot_acknowledged(const ring_cursor_slot *slot, uint64_t next) {
    uint64_t reading = ring_smaller_reading(&slot->acknowledged, &slot->complement);
    return reading < next ? reading : 0;
}

/** Where somebody else writes, the next number is read after the place: it only grows. */
static uint64_t cursor_place(const larder_ring *ring, const ring_cursor_slot *slot) {
    uint64_t place = larder_cursor_slot_acknowledged(slot, UINT64_MAX);
    atomic_thread_fence(memory_order_acquire);
    return place < larder_ring_view_get(ring).next_sequence ? place : 0;
}

static bool cursor_name_is_valid(larder_bytes name) {
    return name.data && name.length >= 1 && name.length <= LARDER_RING_CURSOR_NAME_MAX_BYTES;
}

/** The slot of `name`, or NULL; `spare` receives a free slot, or NULL. The lock is held. */
static ring_cursor_slot *cursor_find(const larder_ring *ring, larder_bytes name,
                                     ring_cursor_slot **spare) {
    ring_cursor_slot *slots = larder_ring_cursor_slots(ring);
    *spare = NULL;
    for (size_t i = 0; i < ring_cursor_slot_count(ring); i++) {
        if (!larder_cursor_slot_is_taken(&slots[i])) {
            if (!*spare) *spare = &slots[i];
        } else if (slots[i].name_length == name.length &&
                   memcmp(slots[i].name, name.data, name.length) == 0) {
            return &slots[i];
        }
    }
    return NULL;
}

static void cursor_slot_take(ring_cursor_slot *slot, larder_bytes name) {
    // While it is filled the slot's checksum must not agree by chance.
    slot->name_length = 0;
    memset(slot->name, 0, sizeof slot->name);
    memcpy(slot->name, name.data, name.length);
    STORE(slot->acknowledged, 0);
    STORE(slot->complement, ~(uint64_t)0);
    slot->name_crc = cursor_name_crc(slot->name, (uint32_t)name.length);
    atomic_thread_fence(memory_order_release);
    // If we crash here, the slot is still free.
    slot->name_length = (uint32_t)name.length;
}

larder_status larder_ring_acknowledge(larder_ring *ring, larder_bytes name, uint64_t sequence) {
    if (!cursor_name_is_valid(name)) return LARDER_EINVALID;
    larder_status status = larder_ring_check_place(ring);
    if (!status) status = ring_lock_to_write(ring);
    if (status) return status;
    ring_cursor_slot *spare;
    ring_cursor_slot *slot = cursor_find(ring, name, &spare);
    if (sequence >= ring->next_sequence) status = LARDER_EINVALID;
    else if (!slot && !spare) status = LARDER_ENOSLOT;
    if (!status) {
        if (!slot) {
            slot = spare;
            cursor_slot_take(slot, name);
        }
        if (sequence > larder_cursor_slot_acknowledged(slot, ring->next_sequence)) {
            STORE(slot->acknowledged, sequence);
            atomic_thread_fence(memory_order_release);
            // If we crash here, the place before this one counts.
            STORE(slot->complement, ~sequence);
        }
    }
    bool wakes = !status && larder_ring_changed(ring);
    ring_unlock(ring);
    if (wakes) larder_ring_sync_wake(ring);
    return status;
}

larder_status larder_ring_acknowledged(larder_ring *ring, larder_bytes name, uint64_t *sequence) {
    *sequence = 0;
    if (!cursor_name_is_valid(name)) return LARDER_EINVALID;
    larder_status status = ring_lock(ring);
    if (status) return status;
    ring_cursor_slot *spare;
    const ring_cursor_slot *slot = cursor_find(ring, name, &spare);
    if (slot) *sequence = cursor_place(ring, slot);
    else status = LARDER_ENOTFOUND;
    ring_unlock(ring);
    return status;
}

larder_status larder_ring_cursor_remove(larder_ring *ring, larder_bytes name) {
    if (!cursor_name_is_valid(name)) return LARDER_EINVALID;
    larder_status status = larder_ring_check_place(ring);
    if (!status) status = ring_lock_to_write(ring);
    if (status) return status;
    ring_cursor_slot *spare;
    ring_cursor_slot *slot = cursor_find(ring, name, &spare);
    if (slot) memset(slot, 0, sizeof *slot);
    else status = LARDER_ENOTFOUND;
    ring_unlock(ring);
    return status;
}

larder_status larder_ring_cursors(larder_ring *ring, larder_ring_cursor *cursors, size_t capacity,
                                  size_t *count) {
    *count = 0;
    larder_status status = ring_lock(ring);
    if (status) return status;
    const ring_cursor_slot *slots = larder_ring_cursor_slots(ring);
    for (size_t i = 0; i < ring_cursor_slot_count(ring); i++) {
        if (!larder_cursor_slot_is_taken(&slots[i])) continue;
        if (*count < capacity && cursors) {
            larder_ring_cursor *cursor = &cursors[*count];
            memcpy(cursor->name, slots[i].name, sizeof slots[i].name);
            cursor->name[32] = 0;
            cursor->name_length = (uint8_t)slots[i].name_length;
            cursor->acknowledged = cursor_place(ring, &slots[i]);
        }
        ++*count;
    }
    ring_unlock(ring);
    return LARDER_OK;
}
