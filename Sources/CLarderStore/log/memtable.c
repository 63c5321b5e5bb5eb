// SPDX-License-Identifier: MIT
/** @file memtable.c
    Linear probing in a table at most half full; nothing is ever deleted from it but everything.
    Where the search for a key begins comes from the tag in its slot, so that the table grows
    without a look at the keys. */
#include "log/memtable.h"

#include <errno.h>
#include <stdlib.h>

#include "larder_index.h"

enum { FIRST_CAPACITY = 64, KEPT_CAPACITY = 1 << 14 };

static uint32_t tag_of(larder_bytes key) {
    return (uint32_t)(larder_index_hash_bytes(key.data, key.length) >> 32);
}

// Memory ------------------------------------------------------------------------------------------

larder_status memtable_create(memtable **out) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return ENOMEM;
    larder_status status = memtable_reserve(*out, 1);
    if (status) {
        memtable_destroy(*out);
        *out = NULL;
    }
    return status;
}

static void memtable_release(memtable *table) {
    free(table->entries);
    free(table->table);
    free(table->bases);
    *table = (memtable){0};
}

void memtable_destroy(memtable *table) {
    if (table == NULL) return;
    memtable_release(table);
    free(table);
}

static void memtable_empty(memtable *table) {
    if (table->count > 0) memset(table->table, 0, (size_t)(table->mask + 1) * sizeof(uint64_t));
    table->count = 0;
    memtable_forget_bases(table);
}

void memtable_reset(memtable *table) {
    // Memory that was not needed by far is let go of; what follows grows it again if need be.
    if (table->capacity > KEPT_CAPACITY && table->count <= table->capacity / 8)
        memtable_release(table);
    else memtable_empty(table);
    *table = (memtable){.entries = table->entries,
                        .capacity = table->capacity,
                        .table = table->table,
                        .mask = table->mask,
                        .bases = table->bases};
}

static void insert_slot(uint64_t *slots, uint64_t mask, uint64_t slot) {
    uint64_t at = slot >> 32 & mask;
    while (slots[at] != 0) at = (at + 1) & mask;
    slots[at] = slot;
}

static larder_status memtable_grow(memtable *table, uint64_t wanted) {
    uint64_t capacity = table->capacity == 0 ? FIRST_CAPACITY : table->capacity;
    while (capacity < wanted) capacity *= 2;
    // Sizes have 32 bits on a watch.
    const size_t one = sizeof(memtable_entry) + 2 * sizeof(uint64_t);
    if (capacity > UINT32_MAX / 4 || capacity > SIZE_MAX / one) return ENOMEM;
    size_t count = (size_t)capacity;
    memtable_entry *entries = realloc(table->entries, count * sizeof *entries);
    if (entries == NULL) return ENOMEM;
    table->entries = entries;
    if (table->bases != NULL) {
        uint64_t *bases = realloc(table->bases, count * sizeof *bases);
        if (bases == NULL) return ENOMEM;
        table->bases = bases;
    }
    uint64_t *slots = calloc(count * 2, sizeof *slots);
    if (slots == NULL) return ENOMEM;
    uint64_t mask = capacity * 2 - 1;
    for (uint64_t at = 0; table->count > 0 && at <= table->mask; at++)
        if (table->table[at] != 0) insert_slot(slots, mask, table->table[at]);
    free(table->table);
    table->table = slots;
    table->mask = mask;
    table->capacity = (uint32_t)capacity;
    return LARDER_OK;
}

larder_status memtable_reserve(memtable *table, uint32_t count) {
    uint64_t wanted = (uint64_t)table->count + count;
    return wanted > table->capacity ? memtable_grow(table, wanted) : LARDER_OK;
}

// Entries -----------------------------------------------------------------------------------------

static memtable_entry *find_tagged(const memtable *table, uint32_t tag, larder_bytes key) {
    for (uint64_t at = tag & table->mask;; at = (at + 1) & table->mask) {
        uint64_t slot = table->table[at];
        if (slot == 0) return NULL;
        if (slot >> 32 != tag) continue;
        memtable_entry *entry = &table->entries[(uint32_t)slot - 1];
        if (compare_bytes(record_key(entry->record), key) == 0) return entry;
    }
}

const memtable_entry *memtable_find(const memtable *table, larder_bytes key) {
    if (table->count == 0) return NULL;
    return find_tagged(table, tag_of(key), key);
}

/** What a resolved entry adds to count and bytes, or takes away, with a sign. */
static void count_entry(memtable *table, size_t place, int64_t sign) {
    const uint8_t *at = table->entries[place].record;
    uint64_t base = table->bases[place];
    int64_t is_there = record_kind(at) == RECORD_PUT ? 1 : 0;
    int64_t was_there = base != 0 ? 1 : 0;
    table->count_delta += sign * (is_there - was_there);
    table->bytes_delta += sign * ((int64_t)record_value_length(at) - (int64_t)base + was_there);
}

void memtable_prefetch(const memtable *table, const uint8_t *at, uint32_t count) {
    for (uint32_t n = 0; n < count; n++) {
        __builtin_prefetch(&table->table[tag_of(record_key(at)) & table->mask]);
        at += record_padded(record_length(at));
    }
}

void memtable_put(memtable *table, const uint8_t *at, uint32_t number) {
    larder_bytes key = record_key(at);
    uint32_t tag = tag_of(key);
    table->last_sequence = record_sequence(at);
    memtable_entry *entry = find_tagged(table, tag, key);
    if (entry == NULL) {
        uint32_t place = table->count++;
        table->entries[place] = (memtable_entry){at, number};
        insert_slot(table->table, table->mask, (uint64_t)tag << 32 | (place + 1));
        return;
    }
    size_t place = (size_t)(entry - table->entries);
    bool is_resolved = place < table->resolved;
    if (is_resolved) count_entry(table, place, -1);
    *entry = (memtable_entry){at, number};
    if (is_resolved) count_entry(table, place, 1);
}

void memtable_clear(memtable *table, uint64_t sequence) {
    memtable_empty(table);
    table->cleared = sequence;
    table->last_sequence = sequence;
}

larder_status memtable_merge(memtable *table, memtable *later) {
    larder_status status = memtable_reserve(table, later->count);
    if (status) return status;
    memtable_forget_bases(table);
    if (later->cleared != 0) memtable_clear(table, later->cleared);
    for (uint32_t at = 0; at < later->count; at++)
        memtable_put(table, later->entries[at].record, later->entries[at].segment);
    table->bytes += later->bytes;
    table->last_sequence = later->last_sequence;
    table->end = later->end;
    memtable_reset(later);
    return LARDER_OK;
}

// What lies under them ----------------------------------------------------------------------------

larder_status memtable_resolve(memtable *table, bool is_present, uint64_t bytes) {
    if (table->bases == NULL) {
        table->bases = malloc(table->capacity * sizeof *table->bases);
        if (table->bases == NULL) return ENOMEM;
    }
    table->bases[table->resolved] = is_present ? bytes + 1 : 0;
    count_entry(table, table->resolved++, 1);
    return LARDER_OK;
}

void memtable_forget_bases(memtable *table) {
    table->resolved = 0;
    table->count_delta = 0;
    table->bytes_delta = 0;
}
