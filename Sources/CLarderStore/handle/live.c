// SPDX-License-Identifier: MIT
#include "handle/live.h"

larder_status larder_live_row_read(larder_bytes value, live_segment *out) {
    *out = (live_segment){0};
    if (value.length != LIVE_ROW_BYTES) return LARDER_EDAMAGED;
    memcpy(out, value.data, LIVE_ROW_BYTES);
    return LARDER_OK;
}

/** Where the number is, or belongs. */
static size_t live_place(const live_table *table, uint32_t number) {
    size_t from = 0, to = table->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (table->items[middle].number < number) from = middle + 1;
        else to = middle;
    }
    return from;
}

live_segment *larder_live_find(const live_table *table, uint32_t number) {
    size_t at = live_place(table, number);
    return at < table->count && table->items[at].number == number ? &table->items[at] : NULL;
}

larder_status larder_live_add(live_table *table, uint32_t number, live_segment **out) {
    size_t at = live_place(table, number);
    *out = NULL;
    if (at == table->count || table->items[at].number != number) {
        larder_status status = larder_os_array_reserve(&table->items, table->count,
                                                       &table->capacity, sizeof *table->items);
        if (status) return status;
        memmove(&table->items[at + 1], &table->items[at],
                (table->count - at) * sizeof *table->items);
        table->items[at] = (live_segment){.number = number};
        table->count++;
    }
    *out = &table->items[at];
    return LARDER_OK;
}

void larder_live_drop(live_table *table, uint32_t number) {
    live_segment *gone = larder_live_find(table, number);
    size_t behind = table->count - (size_t)(gone - table->items) - 1;
    memmove(gone, gone + 1, behind * sizeof *gone);
    table->count--;
}

larder_status larder_live_copy(const live_table *from, live_table *to) {
    *to = (live_table){0};
    if (from->count == 0) return LARDER_OK;
    to->items = malloc(from->count * sizeof *to->items);
    if (to->items == NULL) return ENOMEM;
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = to->capacity = from->count;
    return LARDER_OK;
}

void larder_live_free(live_table *table) {
    free(table->items);
    *table = (live_table){0};
}

void larder_live_totals(const live_table *table, uint64_t *used_bytes, uint64_t *live_bytes) {
    *used_bytes = *live_bytes = 0;
    for (size_t at = 0; at < table->count; at++) {
        *used_bytes += table->items[at].used_bytes;
        *live_bytes += table->items[at].live_bytes;
    }
}

uint64_t larder_live_longest(const live_table *table, uint64_t most) {
    uint64_t longest = 0;
    for (size_t at = 0; at < table->count; at++) {
        const live_segment *one = &table->items[at];
        // A single put is live, and stays, or dead, and is not copied.
        if (one->record_count > one->bare_count + 1 && one->used_bytes > longest)
            longest = one->used_bytes;
    }
    return longest < most ? longest : most;
}
