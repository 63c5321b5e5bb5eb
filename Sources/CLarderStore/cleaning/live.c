// SPDX-License-Identifier: MIT
#include "cleaning/live.h"

#include <errno.h>
#include <stdlib.h>

/** As in the file; the offsets are those of the drawing in live.h. */
typedef struct live_layout {
    uint64_t used_bytes;
    uint64_t record_count;
    uint64_t bare_count;
    uint64_t live_bytes;
    uint64_t live_count;
    uint64_t first_sequence;
    uint64_t last_sequence;
    uint64_t as_of;
} live_layout;

_Static_assert(sizeof(live_layout) == LIVE_ROW_BYTES, "live row");
_Static_assert(offsetof(live_layout, live_bytes) == 24, "live bytes");
_Static_assert(offsetof(live_layout, as_of) == 56, "as of");

void live_row_write(uint8_t target[LIVE_ROW_BYTES], const live_segment *segment) {
    live_layout layout = {segment->used_bytes,    segment->record_count, segment->bare_count,
                          segment->live_bytes,    segment->live_count,   segment->first_sequence,
                          segment->last_sequence, segment->as_of};
    memcpy(target, &layout, sizeof layout);
}

larder_status live_row_read(larder_bytes value, live_segment *out) {
    live_layout layout;
    if (value.length != sizeof layout) return LARDER_EDAMAGED;
    memcpy(&layout, value.data, sizeof layout);
    *out = (live_segment){.used_bytes = layout.used_bytes,
                          .record_count = layout.record_count,
                          .bare_count = layout.bare_count,
                          .live_bytes = layout.live_bytes,
                          .live_count = layout.live_count,
                          .first_sequence = layout.first_sequence,
                          .last_sequence = layout.last_sequence,
                          .as_of = layout.as_of};
    // Until the last transaction of a checkpoint measures a segment, more of it may live than it
    // has.
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

live_segment *live_find(const live_table *table, uint32_t number) {
    size_t at = live_place(table, number);
    return at < table->count && table->items[at].number == number ? &table->items[at] : NULL;
}

larder_status live_add(live_table *table, uint32_t number, live_segment **out) {
    size_t at = live_place(table, number);
    *out = NULL;
    if (at == table->count || table->items[at].number != number) {
        if (table->count == table->capacity) {
            size_t capacity = table->capacity == 0 ? 16 : 2 * table->capacity;
            live_segment *items = realloc(table->items, capacity * sizeof *items);
            if (items == NULL) return ENOMEM;
            table->items = items;
            table->capacity = capacity;
        }
        memmove(&table->items[at + 1], &table->items[at],
                (table->count - at) * sizeof *table->items);
        table->items[at] = (live_segment){.number = number};
        table->count++;
    }
    *out = &table->items[at];
    return LARDER_OK;
}

void live_drop(live_table *table, uint32_t number) {
    live_segment *gone = live_find(table, number);
    if (gone == NULL) return;
    size_t behind = table->count - (size_t)(gone - table->items) - 1;
    memmove(gone, gone + 1, behind * sizeof *gone);
    table->count--;
}

larder_status live_copy(const live_table *from, live_table *to) {
    *to = (live_table){0};
    if (from->count == 0) return LARDER_OK;
    to->items = malloc(from->count * sizeof *to->items);
    if (to->items == NULL) return ENOMEM;
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = to->capacity = from->count;
    return LARDER_OK;
}

void live_free(live_table *table) {
    free(table->items);
    *table = (live_table){0};
}

void live_totals(const live_table *table, uint64_t *used_bytes, uint64_t *live_bytes) {
    *used_bytes = *live_bytes = 0;
    for (size_t at = 0; at < table->count; at++) {
        *used_bytes += table->items[at].used_bytes;
        *live_bytes += table->items[at].live_bytes;
    }
}
