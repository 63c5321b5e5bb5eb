// SPDX-License-Identifier: MIT
/** @file memtable_sort.c
    Writes in the order of their keys. */
#include "log/memtable.h"

enum { RADIX_BITS = 11, RADIX_BUCKETS = 1 << RADIX_BITS, RADIX_PASSES = 6 };

static int compare_writes(const void *a, const void *b) {
    const sorted_write *left = a, *right = b;
    int order = compare_bytes(larder_record_key(left->record), larder_record_key(right->record));
    return order != 0 ? order : (left->victim > right->victim) - (left->victim < right->victim);
}

/** Fills in the digits. What all keys share is left out of them, which is known when the last one
    was seen; so those before the one that made it shorter are done again. */
static void fill_digits(sorted_write *writes, uint32_t count) {
    larder_bytes first = larder_record_key(writes[0].record);
    size_t prefix = first.length;
    uint32_t stale = 0;
    for (uint32_t at = 0; at < count; at++) {
        larder_bytes key = larder_record_key(writes[at].record);
        size_t shared = bytes_shared_prefix(first.data, prefix, key);
        if (shared < prefix) stale = at;
        prefix = shared;
        writes[at].digits = bytes_digits(key, prefix);
    }
    for (uint32_t at = 0; at < stale; at++)
        writes[at].digits = bytes_digits(larder_record_key(writes[at].record), prefix);
}

/** Sorts by `digits`; the result is in `items`. Passes in which all agree are left out. */
static void radix_sort(sorted_write *items, sorted_write *other, uint32_t count) {
    sorted_write *from = items, *to = other;
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
        sorted_write *swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, count * sizeof *items);
}

larder_status larder_sorted_writes_sort(sorted_write *writes, uint32_t count) {
    if (count < 2) return LARDER_OK;
    sorted_write *other = malloc(count * sizeof *other);
    if (other == NULL) return ENOMEM;
    fill_digits(writes, count);
    radix_sort(writes, other, count);
    free(other);
    for (uint32_t from = 0; from < count;) {
        uint32_t to = from + 1;
        while (to < count && writes[to].digits == writes[from].digits) to++;
        if (to - from > 1) qsort(writes + from, to - from, sizeof *writes, compare_writes);
        from = to;
    }
    return LARDER_OK;
}
