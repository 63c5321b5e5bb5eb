// SPDX-License-Identifier: MIT
/** @file pending_sort.c
    Pending writes in the order of their keys. */
#include <errno.h>
#include <stdlib.h>

#include "log/memtable.h"

enum { RADIX_BITS = 11, RADIX_BUCKETS = 1 << RADIX_BITS, RADIX_PASSES = 6 };

typedef struct sort_item {
    /** Eight bytes of the key, behind what all keys share, big-endian; zeros behind its end. */
    uint64_t digits;
    const pending_entry *entry;
} sort_item;

static int compare_keys(larder_bytes a, larder_bytes b) {
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    if (order != 0) return order;
    return (a.length > b.length) - (a.length < b.length);
}

static int compare_items(const void *a, const void *b) {
    return compare_keys(op_key(((const sort_item *)a)->entry->op),
                        op_key(((const sort_item *)b)->entry->op));
}

static size_t shared_prefix(larder_bytes a, larder_bytes b) {
    const uint8_t *left = a.data;
    const uint8_t *right = b.data;
    size_t at = 0;
    while (at < a.length && at < b.length && left[at] == right[at]) at++;
    return at;
}

static uint64_t digits_of(larder_bytes key, size_t from) {
    uint8_t bytes[8] = {0};
    size_t length = key.length - from;
    if (length > 0) memcpy(bytes, (const uint8_t *)key.data + from, length < 8 ? length : 8);
    return get_be64(bytes);
}

/** Sorts by `digits`; the result is in `items`. Passes in which all agree are left out. */
static void radix_sort(sort_item *items, sort_item *other, uint32_t count) {
    sort_item *from = items;
    sort_item *to = other;
    for (int pass = 0; pass < RADIX_PASSES; pass++) {
        uint32_t places[RADIX_BUCKETS] = {0};
        int shift = pass * RADIX_BITS;
        for (uint32_t at = 0; at < count; at++)
            places[from[at].digits >> shift & (RADIX_BUCKETS - 1)]++;
        if (places[from[0].digits >> shift & (RADIX_BUCKETS - 1)] == count) continue;
        uint32_t sum = 0;
        for (uint32_t bucket = 0; bucket < RADIX_BUCKETS; bucket++) {
            uint32_t here = places[bucket];
            places[bucket] = sum;
            sum += here;
        }
        for (uint32_t at = 0; at < count; at++)
            to[places[from[at].digits >> shift & (RADIX_BUCKETS - 1)]++] = from[at];
        sort_item *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, count * sizeof *items);
}

larder_status pending_sort(const pending_writes *pending, const pending_entry **out) {
    uint32_t count = pending->count;
    if (count == 0) return LARDER_OK;
    sort_item *items = malloc(2 * (size_t)count * sizeof *items);
    if (items == NULL) return ENOMEM;
    larder_bytes first = op_key(pending->entries[0].op);
    size_t prefix = first.length;
    for (uint32_t at = 1; at < count && prefix > 0; at++) {
        larder_bytes head = {first.data, prefix};
        prefix = shared_prefix(head, op_key(pending->entries[at].op));
    }
    for (uint32_t at = 0; at < count; at++) {
        const pending_entry *entry = &pending->entries[at];
        sort_item item = {digits_of(op_key(entry->op), prefix), entry};
        items[at] = item;
    }
    radix_sort(items, items + count, count);
    for (uint32_t from = 0; from < count;) {
        uint32_t to = from + 1;
        while (to < count && items[to].digits == items[from].digits) to++;
        if (to - from > 1) qsort(items + from, to - from, sizeof *items, compare_items);
        from = to;
    }
    for (uint32_t at = 0; at < count; at++) out[at] = items[at].entry;
    free(items);
    return LARDER_OK;
}
