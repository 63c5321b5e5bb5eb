// SPDX-License-Identifier: MIT
/** @file segment_table.c
    A directory of chunks of pointers. Chunks stay where they are; a directory that has become too
    small is replaced by a larger one and kept until the table goes, because somebody may be reading
    it. Whoever reads an old one misses at most what was added since, and looks again under the
    lock. */
#include "log/segment_table.h"

#include <errno.h>
#include <stdlib.h>

enum { CHUNK_BITS = 8, CHUNK_COUNT = 1 << CHUNK_BITS, FIRST_COUNT = 4 };

typedef struct chunk {
    _Atomic(segment *) items[CHUNK_COUNT];
} chunk;

typedef struct directory {
    struct directory *older;
    uint32_t count;
    _Atomic(chunk *) chunks[];
} directory;

struct segment_table {
    _Atomic(directory *) newest;
};

static directory *directory_new(uint32_t count, directory *older) {
    directory *fresh = calloc(1, sizeof *fresh + count * sizeof fresh->chunks[0]);
    if (fresh == NULL) return NULL;
    fresh->older = older;
    fresh->count = count;
    for (uint32_t at = 0; older != NULL && at < older->count; at++)
        atomic_init(&fresh->chunks[at], atomic_load(&older->chunks[at]));
    return fresh;
}

segment_table *segment_table_create(void) {
    segment_table *table = calloc(1, sizeof *table);
    if (table == NULL) return NULL;
    directory *first = directory_new(FIRST_COUNT, NULL);
    atomic_init(&table->newest, first);
    if (first != NULL) return table;
    free(table);
    return NULL;
}

void segment_table_free(segment_table *table) {
    if (table == NULL) return;
    directory *newest = atomic_load(&table->newest);
    for (uint32_t at = 0; at < newest->count; at++) free(atomic_load(&newest->chunks[at]));
    while (newest != NULL) {
        directory *older = newest->older;
        free(newest);
        newest = older;
    }
    free(table);
}

static chunk *chunk_of(const segment_table *table, uint32_t number) {
    const directory *newest = atomic_load_explicit(&table->newest, memory_order_acquire);
    uint32_t at = number >> CHUNK_BITS;
    if (at >= newest->count) return NULL;
    return atomic_load_explicit(&newest->chunks[at], memory_order_acquire);
}

segment *segment_table_find(const segment_table *table, uint32_t number) {
    const chunk *has = chunk_of(table, number);
    if (has == NULL) return NULL;
    return atomic_load_explicit(&has->items[number % CHUNK_COUNT], memory_order_acquire);
}

larder_status segment_table_reserve(segment_table *table, uint32_t number) {
    directory *newest = atomic_load(&table->newest);
    uint32_t at = number >> CHUNK_BITS;
    if (at >= newest->count) {
        uint32_t count = newest->count;
        while (count <= at) count *= 2;
        newest = directory_new(count, newest);
        if (newest == NULL) return ENOMEM;
        atomic_store_explicit(&table->newest, newest, memory_order_release);
    }
    if (atomic_load(&newest->chunks[at]) != NULL) return LARDER_OK;
    chunk *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) return ENOMEM;
    atomic_store_explicit(&newest->chunks[at], fresh, memory_order_release);
    return LARDER_OK;
}

segment *segment_table_set(segment_table *table, uint32_t number, segment *added) {
    chunk *has = chunk_of(table, number);
    if (has == NULL) return NULL;
    return atomic_exchange(&has->items[number % CHUNK_COUNT], added);
}

segment *segment_table_next(const segment_table *table, uint32_t from) {
    const directory *newest = atomic_load(&table->newest);
    for (uint32_t at = from >> CHUNK_BITS; at < newest->count; at++) {
        const chunk *has = atomic_load(&newest->chunks[at]);
        uint32_t first = at == from >> CHUNK_BITS ? from % CHUNK_COUNT : 0;
        for (uint32_t place = first; has != NULL && place < CHUNK_COUNT; place++) {
            segment *found = atomic_load(&has->items[place]);
            if (found != NULL) return found;
        }
    }
    return NULL;
}
