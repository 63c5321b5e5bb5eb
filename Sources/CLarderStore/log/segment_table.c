// SPDX-License-Identifier: MIT
#include "log/segment_table.h"

typedef _Atomic(segment *) slot;

enum { CHUNKS = sizeof(segment_table) / sizeof(slot *) };

/** Which chunk has a number. */
static uint32_t chunk_of(uint32_t number) {
    uint32_t above = number >> SEGMENT_CHUNK_BITS;
    return above == 0 ? 0 : 32 - (uint32_t)__builtin_clz(above);
}

/** How many a chunk has; in all but the first that is its first number, too. */
static size_t chunk_count(uint32_t chunk) {
    return (size_t)1 << (SEGMENT_CHUNK_BITS + (chunk == 0 ? 0 : chunk - 1));
}

/** NULL if it was not reserved. */
static slot *slot_of(const segment_table *table, uint32_t number) {
    uint32_t chunk = chunk_of(number);
    slot *slots = atomic_load_explicit(&table->chunks[chunk], memory_order_acquire);
    return slots == NULL ? NULL : &slots[chunk == 0 ? number : number - chunk_count(chunk)];
}

void larder_segment_table_free(segment_table *table) {
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) free(atomic_load(&table->chunks[chunk]));
}

segment *larder_segment_table_find(const segment_table *table, uint32_t number) {
    const slot *place = slot_of(table, number);
    return place == NULL ? NULL : atomic_load_explicit(place, memory_order_acquire);
}

larder_status larder_segment_table_reserve(segment_table *table, uint32_t number) {
    if (slot_of(table, number) != NULL) return LARDER_OK;
    uint32_t chunk = chunk_of(number);
    slot *slots = calloc(chunk_count(chunk), sizeof *slots);
    if (slots == NULL) return ENOMEM;
    atomic_store_explicit(&table->chunks[chunk], slots, memory_order_release);
    return LARDER_OK;
}

segment *larder_segment_table_set(segment_table *table, uint32_t number, segment *added) {
    slot *place = slot_of(table, number);
    return place == NULL ? NULL : atomic_exchange(place, added);
}

segment *larder_segment_table_next(const segment_table *table, uint32_t from) {
    for (uint64_t number = from; number <= UINT32_MAX; number++) {
        const slot *place = slot_of(table, (uint32_t)number);
        // The last of a chunk that is not there.
        if (place == NULL)
            number = ((uint64_t)1 << (SEGMENT_CHUNK_BITS + chunk_of((uint32_t)number))) - 1;
        else if (atomic_load(place) != NULL) return atomic_load(place);
    }
    return NULL;
}
