// SPDX-License-Identifier: MIT
/** @file pending.c
    The table of pending writes. Linear probing in a table at most half full; nothing is ever
    deleted from it but everything. */
#include "pending.h"

#include <errno.h>
#include <stdlib.h>

enum { PENDING_FIRST_CAPACITY = 64, PENDING_KEPT_CAPACITY = 1 << 14 };

static uint64_t load64(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, 8);
    return value;
}

static uint64_t fold(uint64_t a, uint64_t b) {
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/** A seeded hash of the multiply-and-fold kind (wyhash, by Wang Yi, is the best known of them). */
static uint64_t hash_bytes(uint64_t seed, larder_bytes key) {
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    const uint8_t *bytes = key.data;
    size_t left = key.length;
    uint64_t hash = seed ^ (key.length * odd);
    while (left > 16) {
        hash = fold(load64(bytes) ^ hash, load64(bytes + 8) ^ odd);
        bytes += 16;
        left -= 16;
    }
    uint64_t low = 0;
    uint64_t high = 0;
    if (left >= 8) {
        low = load64(bytes);
        high = load64(bytes + left - 8);
    } else if (left > 0) {
        memcpy(&low, bytes, left);
    }
    return fold(fold(low ^ hash, odd), high ^ seed ^ odd);
}

// Lists of files ----------------------------------------------------------------------------------

larder_status spill_files_reserve(spill_files *list, size_t count) {
    if (list->capacity - list->count >= count) return LARDER_OK;
    size_t capacity =
        list->capacity * 2 > list->count + count ? list->capacity * 2 : list->count + count;
    if (capacity > SIZE_MAX / sizeof *list->items) return ENOMEM;
    spill_reference *items = realloc(list->items, capacity * sizeof *items);
    if (items == NULL) return ENOMEM;
    list->items = items;
    list->capacity = capacity;
    return LARDER_OK;
}

larder_status spill_files_add(spill_files *list, const spill_reference *reference) {
    larder_status status = spill_files_reserve(list, 1);
    if (status == LARDER_OK) list->items[list->count++] = *reference;
    return status;
}

void spill_files_free(spill_files *list) {
    free(list->items);
    memset(list, 0, sizeof *list);
}

// Ops ---------------------------------------------------------------------------------------------

bool op_spill(const uint8_t *op, spill_reference *out) {
    journal_op read = op_read(op);
    record entry;
    if (read.kind != OP_PUT || record_read(read.payload, false, &entry) != LARDER_OK) return false;
    if ((entry.flags & RECORD_SPILLED) == 0) return false;
    *out = entry.spill;
    return true;
}

uint64_t op_value_bytes(const uint8_t *op) {
    journal_op read = op_read(op);
    record entry;
    if (read.kind != OP_PUT || record_read(read.payload, false, &entry) != LARDER_OK) return 0;
    return record_value_bytes(&entry);
}

// The table ---------------------------------------------------------------------------------------

larder_status pending_create(uint64_t seed, pending_writes **out) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return ENOMEM;
    (*out)->seed = seed;
    larder_status status = pending_reserve(*out, 1);
    if (status != LARDER_OK) {
        pending_destroy(*out);
        *out = NULL;
    }
    return status;
}

void pending_destroy(pending_writes *pending) {
    if (pending == NULL) return;
    free(pending->entries);
    free(pending->table);
    spill_files_free(&pending->spills);
    spill_files_free(&pending->dropped);
    spill_files_free(&pending->intents);
    free(pending);
}

static void pending_empty(pending_writes *pending) {
    if (pending->count > 0)
        memset(pending->table, 0, ((size_t)pending->mask + 1) * sizeof *pending->table);
    pending->count = 0;
    pending->resolved = 0;
    pending->count_delta = 0;
    pending->bytes_delta = 0;
    pending->dropped.count = 0;
}

/** Lets go of memory that was not needed by far; what follows grows it again if need be. */
static void pending_shrink(pending_writes *pending) {
    if (pending->capacity <= PENDING_KEPT_CAPACITY || pending->count > pending->capacity / 8)
        return;
    pending->count = 0;
    free(pending->entries);
    free(pending->table);
    pending->entries = NULL;
    pending->table = NULL;
    pending->capacity = 0;
    pending->mask = 0;
}

void pending_reset(pending_writes *pending) {
    pending_shrink(pending);
    pending_empty(pending);
    pending->spills.count = 0;
    pending->last_sequence = 0;
    pending->cleared = 0;
    pending->ended_from = pending->ended_to = 0;
}

static void table_insert(pending_writes *pending, uint64_t hash, uint32_t place) {
    uint64_t at = hash & pending->mask;
    while (pending->table[at] != 0) at = (at + 1) & pending->mask;
    pending->table[at] = (hash >> 32) << 32 | (place + 1);
}

static larder_status pending_grow(pending_writes *pending, uint64_t wanted) {
    uint64_t capacity = pending->capacity == 0 ? PENDING_FIRST_CAPACITY : pending->capacity;
    while (capacity < wanted) capacity *= 2;
    // A size_t of 32 bits says less.
    if (capacity > UINT32_MAX / 4 || capacity > SIZE_MAX / sizeof *pending->entries) return ENOMEM;
    pending_entry *entries = realloc(pending->entries, (size_t)capacity * sizeof *entries);
    if (entries == NULL) return ENOMEM;
    pending->entries = entries;
    uint64_t *table = calloc((size_t)capacity * 2, sizeof *table);
    if (table == NULL) return ENOMEM;
    free(pending->table);
    pending->table = table;
    pending->mask = capacity * 2 - 1;
    pending->capacity = (uint32_t)capacity;
    for (uint32_t place = 0; place < pending->count; place++)
        table_insert(pending, entries[place].hash, place);
    return LARDER_OK;
}

larder_status pending_reserve(pending_writes *pending, uint32_t count) {
    uint64_t wanted = (uint64_t)pending->count + count;
    larder_status status = LARDER_OK;
    if (wanted > pending->capacity) status = pending_grow(pending, wanted);
    // Each op adds a file at most, and makes one superfluous at most.
    if (status == LARDER_OK) status = spill_files_reserve(&pending->spills, count);
    if (status == LARDER_OK) status = spill_files_reserve(&pending->dropped, count);
    return status;
}

static pending_entry *pending_find_hashed(const pending_writes *pending, uint64_t hash,
                                          larder_bytes key) {
    uint64_t tag = hash >> 32;
    for (uint64_t at = hash & pending->mask;; at = (at + 1) & pending->mask) {
        uint64_t slot = pending->table[at];
        if (slot == 0) return NULL;
        if (slot >> 32 != tag) continue;
        pending_entry *entry = &pending->entries[(uint32_t)slot - 1];
        larder_bytes there = op_key(entry->op);
        if (there.length == key.length &&
            (key.length == 0 || memcmp(there.data, key.data, key.length) == 0))
            return entry;
    }
}

pending_entry *pending_find(const pending_writes *pending, larder_bytes key) {
    if (pending->count == 0) return NULL;
    return pending_find_hashed(pending, hash_bytes(pending->seed, key), key);
}

/** What an entry adds to count and bytes, or takes away, with a sign. */
static void pending_count_entry(pending_writes *pending, const pending_entry *entry, int64_t sign) {
    bool is_there = op_read(entry->op).kind == OP_PUT;
    pending->count_delta += sign * ((is_there ? 1 : 0) - (entry->base == BASE_PRESENT ? 1 : 0));
    pending->bytes_delta +=
        sign * ((int64_t)op_value_bytes(entry->op) - (int64_t)entry->base_bytes);
}

void pending_resolve(pending_writes *pending, pending_entry *entry, bool is_present,
                     uint64_t bytes) {
    entry->base = is_present ? BASE_PRESENT : BASE_ABSENT;
    entry->base_bytes = is_present ? bytes : 0;
    pending_count_entry(pending, entry, 1);
}

void pending_forget_bases(pending_writes *pending) {
    for (uint32_t place = 0; place < pending->resolved; place++) {
        pending->entries[place].base = BASE_UNKNOWN;
        pending->entries[place].base_bytes = 0;
    }
    pending->resolved = 0;
    pending->count_delta = 0;
    pending->bytes_delta = 0;
}

static void pending_add_spill(pending_writes *pending, const uint8_t *op) {
    const uint8_t *entry = op + OP_HEAD_BYTES;
    if (op[4] != OP_PUT || (entry[20] & RECORD_SPILLED) == 0) return;
    spill_reference reference;
    if (op_spill(op, &reference)) pending->spills.items[pending->spills.count++] = reference;
}

void pending_put(pending_writes *pending, const uint8_t *op, uint64_t sequence, uint32_t minor) {
    larder_bytes key = op_key(op);
    uint64_t hash = hash_bytes(pending->seed, key);
    pending->last_sequence = sequence;
    pending_add_spill(pending, op);
    pending_entry *entry = pending_find_hashed(pending, hash, key);
    if (entry != NULL) {
        spill_reference reference;
        if (op_spill(entry->op, &reference))
            pending->dropped.items[pending->dropped.count++] = reference;
        if (entry->base != BASE_UNKNOWN) pending_count_entry(pending, entry, -1);
        entry->op = op;
        entry->sequence = sequence;
        entry->minor = minor;
        if (entry->base != BASE_UNKNOWN) pending_count_entry(pending, entry, 1);
        return;
    }
    pending_entry fresh = {hash, op, sequence, 0, minor, BASE_UNKNOWN};
    table_insert(pending, hash, pending->count);
    pending->entries[pending->count++] = fresh;
}

void pending_clear(pending_writes *pending, uint64_t sequence, uint32_t from_epoch,
                   uint32_t epoch) {
    pending_empty(pending);
    if (pending->cleared == 0) pending->ended_from = from_epoch;
    pending->ended_to = epoch;
    pending->cleared = sequence;
    pending->last_sequence = sequence;
}
