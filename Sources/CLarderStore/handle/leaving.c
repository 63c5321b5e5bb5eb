// SPDX-License-Identifier: MIT
#include "handle/leaving.h"

#include <stdlib.h>

enum { LEAVING_SLOTS = 1 << 14, LEAVING_MAX_COUNT = LEAVING_SLOTS / 2 };
/** What slots have that have no hash: hashes are never these. */
enum { SLOT_EMPTY, SLOT_REMOVED, SLOT_MARKS };

static uint64_t load(const uint64_t *slot) { return __atomic_load_n(slot, __ATOMIC_SEQ_CST); }

/** The slot that has the hash, or the empty one that ends the search for it. */
static uint64_t *slot_of(uint64_t *slots, uint64_t hash) {
    uint64_t at = hash % LEAVING_SLOTS, found;
    while ((found = load(&slots[at])) != hash && found != SLOT_EMPTY) at = (at + 1) % LEAVING_SLOTS;
    return &slots[at];
}

static uint64_t unmarked(uint64_t hash) { return hash < SLOT_MARKS ? hash + SLOT_MARKS : hash; }

static void empty(leaving *table) {
    for (uint32_t at = 0; table->count > 0 && at < LEAVING_SLOTS; at++)
        __atomic_store_n(&table->slots[at], SLOT_EMPTY, __ATOMIC_RELAXED);
    table->count = 0;
}

void larder_leaving_begin(leaving *table, uint64_t transaction) {
    empty(table);
    if (table->slots == NULL) {
        uint64_t *made = calloc(LEAVING_SLOTS, sizeof *made);
        __atomic_store_n(&table->slots, made, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&table->transaction, transaction, __ATOMIC_SEQ_CST);
}

void larder_leaving_end(leaving *table) {
    __atomic_store_n(&table->transaction, 0, __ATOMIC_SEQ_CST);
    empty(table);
}

void larder_leaving_add(leaving *table, uint64_t hash) {
    if (table->slots == NULL || table->count == LEAVING_MAX_COUNT) return;
    table->count++;
    hash = unmarked(hash);
    __atomic_store_n(slot_of(table->slots, hash), hash, __ATOMIC_SEQ_CST);
}

void larder_leaving_remove(leaving *table, uint64_t hash) {
    if (table->slots == NULL) return;
    uint64_t *slot = slot_of(table->slots, unmarked(hash));
    if (load(slot) != SLOT_EMPTY) __atomic_store_n(slot, SLOT_REMOVED, __ATOMIC_SEQ_CST);
}

bool larder_leaving_has(const leaving *table, uint64_t transaction, uint64_t hash) {
    if (load(&table->transaction) <= transaction) return false;
    uint64_t *slots = __atomic_load_n(&table->slots, __ATOMIC_SEQ_CST);
    return slots != NULL && load(slot_of(slots, unmarked(hash))) != SLOT_EMPTY;
}

void larder_leaving_free(leaving *table) { free(table->slots); }
