// SPDX-License-Identifier: MIT
#include "log/segment_table.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

struct segment_node {
    _Atomic(void *) below[DIGITS];
};

/** How many digits a number has, without zeros before it; at least one. */
static uint32_t digits_of(uint32_t number) {
    return (uint32_t)(31 - __builtin_clz(number | 1)) / DIGIT_BITS + 1;
}

/** Where a node has what leads to a number; `level` digits of that follow. */
static _Atomic(void *) *slot_in(segment_node *node, uint32_t number, uint32_t level) {
    return &node->below[number >> level * DIGIT_BITS & (DIGITS - 1)];
}

/** Goes down to a number as far as there are nodes.
    @param level receives how many digits follow the slot; of the root that is missing, as many as
           the number has.
    @return the slot of the number itself, at level 0; NULL above it. */
static _Atomic(void *) *find(const segment_table *table, uint32_t number, uint32_t *level) {
    *level = digits_of(number);
    segment_node *node = atomic_load_explicit(&table->roots[*level - 1], memory_order_acquire);
    while (node != NULL) {
        _Atomic(void *) *slot = slot_in(node, number, --*level);
        if (*level == 0) return slot;
        node = atomic_load_explicit(slot, memory_order_acquire);
    }
    return NULL;
}

static void free_node(segment_node *node, uint32_t level) {
    for (uint32_t digit = 0; node != NULL && level > 0 && digit < DIGITS; digit++)
        free_node(atomic_load(&node->below[digit]), level - 1);
    free(node);
}

void larder_segment_table_free(segment_table *table) {
    for (uint32_t level = 0; level < SEGMENT_DIGITS_MAX; level++)
        free_node(atomic_load(&table->roots[level]), level);
}

segment *larder_segment_table_find(const segment_table *table, uint32_t number) {
    uint32_t level;
    _Atomic(void *) *place = find(table, number, &level);
    return place == NULL ? NULL : atomic_load_explicit(place, memory_order_acquire);
}

larder_status larder_segment_table_reserve(segment_table *table, uint32_t number) {
    uint32_t level;
    while (find(table, number, &level) == NULL) {
        segment_node *made = calloc(1, sizeof *made);
        if (made == NULL) return ENOMEM;
        if (level == digits_of(number)) {
            atomic_store_explicit(&table->roots[level - 1], made, memory_order_release);
            continue;
        }
        segment_node *node = atomic_load(&table->roots[digits_of(number) - 1]);
        for (uint32_t at = digits_of(number) - 1; at > level; at--)
            node = atomic_load(slot_in(node, number, at));
        atomic_store_explicit(slot_in(node, number, level), made, memory_order_release);
    }
    return LARDER_OK;
}

segment *larder_segment_table_set(segment_table *table, uint32_t number, segment *added) {
    uint32_t level;
    _Atomic(void *) *place = find(table, number, &level);
    return place == NULL ? NULL : atomic_exchange(place, added);
}

segment *larder_segment_table_next(const segment_table *table, uint32_t from) {
    for (uint64_t number = from; number <= UINT32_MAX;) {
        uint32_t level;
        _Atomic(void *) *place = find(table, (uint32_t)number, &level);
        if (place != NULL && atomic_load(place) != NULL) return atomic_load(place);
        // Behind all that the missing node would have.
        uint32_t bits = level * DIGIT_BITS;
        number = ((number >> bits) + 1) << bits;
    }
    return NULL;
}
