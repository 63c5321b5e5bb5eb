// SPDX-License-Identifier: MIT
/** @file memtable.c
    Linear probing in a table at most half full; nothing is ever deleted from it but everything.
    Where the search for a key begins comes from the tag in its slot, so that the table grows
    without a look at the keys. */
#include "log/memtable.h"

#include "larder_index.h"

enum { FIRST_CAPACITY = 64, KEPT_CAPACITY = 1 << 14, ROWS_BEYOND_ENTRIES = 4096 };

static uint32_t tag_of(larder_bytes key) {
    return (uint32_t)(larder_index_hash_bytes(key.data, key.length) >> 32);
}

// Memory ------------------------------------------------------------------------------------------

larder_status larder_memtable_create(memtable **out) {
    *out = calloc(1, sizeof **out);
    return *out == NULL ? ENOMEM : LARDER_OK;
}

static void drop_rows(memtable *table) {
    larder_write_rows_release(table->rows);
    table->rows = NULL;
}

static void memtable_release(memtable *table) {
    drop_rows(table);
    free(table->entries);
    free(table->table);
    *table = (memtable){0};
}

void larder_memtable_destroy(memtable *table) {
    if (table == NULL) return;
    memtable_release(table);
    free(table);
}

static void memtable_empty(memtable *table) {
    drop_rows(table);
    if (table->count > 0) memset(table->table, 0, (size_t)(table->mask + 1) * sizeof(uint64_t));
    table->count = 0;
    table->row_bytes = 0;
    larder_memtable_forget_bases(table);
}

void larder_memtable_reset(memtable *table) {
    // Memory that was mostly unused is released; later writes grow it again if need be.
    if (table->capacity > KEPT_CAPACITY && table->count <= table->capacity / 8)
        memtable_release(table);
    else memtable_empty(table);
    *table = (memtable){.entries = table->entries,
                        .capacity = table->capacity,
                        .table = table->table,
                        .mask = table->mask};
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

larder_status larder_memtable_reserve(memtable *table, uint32_t count) {
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
        if (compare_bytes(larder_record_key(entry->record), key) == 0) return entry;
    }
}

const memtable_entry *larder_memtable_find(const memtable *table, larder_bytes key) {
    if (table->count == 0) return NULL;
    return find_tagged(table, tag_of(key), key);
}

/** What a resolved entry adds to count and bytes, or takes away, with a sign. */
static void count_entry(memtable *table, const memtable_entry *entry, int64_t sign) {
    int64_t is_there = record_kind(entry->record) == RECORD_PUT ? 1 : 0;
    int64_t was_there = entry->base != 0 ? 1 : 0;
    int64_t bytes = (int64_t)larder_record_value_length(entry->record);
    table->count_delta += sign * (is_there - was_there);
    table->bytes_delta += sign * (bytes - entry->base + was_there);
}

/** A row for the entry, one each for its use and its deadline, one for each index; and the record
    itself, if it is short. */
static uint64_t row_bytes(const uint8_t *at, larder_bytes key) {
    const uint64_t beside_key = 40;
    if (record_kind(at) != RECORD_PUT) return 0;
    uint64_t length = record_length(at), inlined = length <= INLINE_RECORD_MAX_BYTES ? length : 0;
    return (3 + (uint64_t)record_index_count(at)) * (key.length + beside_key) + inlined;
}

void larder_memtable_prefetch(const memtable *table, const uint8_t *at, uint32_t count) {
    enum { MOST = 64 };
    uint32_t tags[MOST];
    if (count > MOST) count = MOST;
    for (uint32_t n = 0; n < count; n++) {
        tags[n] = tag_of(larder_record_key(at));
        __builtin_prefetch(&table->table[tags[n] & table->mask]);
        at += record_padded(record_length(at));
    }
    // Of keys that are there already, what they will be compared with.
    uint32_t places[MOST], found = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint64_t slot = table->table[tags[n] & table->mask];
        if (slot == 0 || slot >> 32 != tags[n]) continue;
        places[found] = (uint32_t)slot - 1;
        __builtin_prefetch(&table->entries[places[found++]]);
    }
    for (uint32_t n = 0; n < found; n++) __builtin_prefetch(table->entries[places[n]].record);
}

static void note_for_cursors(memtable *table, const uint8_t *at, uint32_t number) {
    const uint64_t most = 2 * (uint64_t)table->count + ROWS_BEYOND_ENTRIES;
    if (table->rows == NULL) return;
    if (larder_write_rows_count(table->rows) >= most ||
        larder_write_rows_add(table->rows, at, number) != LARDER_OK)
        drop_rows(table);
}

larder_status larder_memtable_rows(memtable *table, const uint8_t secret[16], write_rows **out) {
    if (table->rows != NULL && !larder_write_rows_has_secret(table->rows, secret)) drop_rows(table);
    if (table->rows == NULL) {
        write_rows *made = larder_write_rows_create(secret);
        larder_status status = made == NULL ? ENOMEM : LARDER_OK;
        for (uint32_t at = 0; at < table->count && !status; at++)
            status =
                larder_write_rows_add(made, table->entries[at].record, table->entries[at].segment);
        if (status) {
            larder_write_rows_release(made);
            return status;
        }
        table->rows = made;
    }
    larder_write_rows_hold(*out = table->rows);
    return LARDER_OK;
}

void larder_memtable_put(memtable *table, const uint8_t *at, uint32_t number) {
    larder_bytes key = larder_record_key(at);
    uint32_t tag = tag_of(key);
    table->last_sequence = record_sequence(at);
    note_for_cursors(table, at, number);
    memtable_entry *entry = find_tagged(table, tag, key);
    if (entry == NULL) {
        table->row_bytes += row_bytes(at, key);
        uint32_t place = table->count++;
        table->entries[place] = (memtable_entry){.record = at, .segment = number};
        insert_slot(table->table, table->mask, (uint64_t)tag << 32 | (place + 1));
        return;
    }
    bool is_resolved = entry < table->entries + table->resolved;
    if (is_resolved) count_entry(table, entry, -1);
    entry->record = at;
    entry->segment = number;
    if (is_resolved) count_entry(table, entry, 1);
}

void larder_memtable_clear(memtable *table, uint64_t sequence) {
    memtable_empty(table);
    table->cleared = sequence;
    table->last_sequence = sequence;
}

larder_status larder_memtable_merge(memtable *table, memtable *later) {
    larder_status status = larder_memtable_reserve(table, later->count);
    if (status) return status;
    larder_memtable_forget_bases(table);
    if (later->cleared != 0) larder_memtable_clear(table, later->cleared);
    for (uint32_t at = 0; at < later->count; at++)
        larder_memtable_put(table, later->entries[at].record, later->entries[at].segment);
    table->bytes += later->bytes;
    table->last_sequence = later->last_sequence;
    table->end = later->end;
    larder_memtable_reset(later);
    return LARDER_OK;
}

// What lies under them ----------------------------------------------------------------------------

void larder_memtable_resolve(memtable *table, bool is_present, uint64_t bytes) {
    memtable_entry *entry = &table->entries[table->resolved++];
    entry->base = is_present ? (uint32_t)bytes + 1 : 0;
    count_entry(table, entry, 1);
}

void larder_memtable_forget_bases(memtable *table) {
    table->resolved = 0;
    table->count_delta = 0;
    table->bytes_delta = 0;
}
