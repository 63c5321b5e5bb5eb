// SPDX-License-Identifier: MIT
/** @file segment_table.h
    Private: the mapped segments by number. Looking takes no lock; changes need log->table_lock. */
#ifndef LARDER_SEGMENT_TABLE_H
#define LARDER_SEGMENT_TABLE_H

#include "log/segment.h"

/** Digits of the numbers that the first chunk has. */
enum { SEGMENT_CHUNK_BITS = 8 };

/** Chunks of pointers, which never move: the first one has the numbers below 256, and each further
    one those that have one more binary digit. All zero for an empty one. */
typedef struct segment_table {
    _Atomic(_Atomic(segment *) *) chunks[33 - SEGMENT_CHUNK_BITS];
} segment_table;

/** Frees its memory, not what is in it. */
void larder_segment_table_free(segment_table *table);
/** NULL if there is none. */
segment *larder_segment_table_find(const segment_table *table, uint32_t number);
/** Sees to a place for `number`. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_segment_table_reserve(segment_table *table, uint32_t number);
/** Into a place that was reserved; NULL empties it.
    @return what was there. */
segment *larder_segment_table_set(segment_table *table, uint32_t number, segment *added);
/** The first one with `from` or a greater number; NULL if there is none. */
segment *larder_segment_table_next(const segment_table *table, uint32_t from);

#endif
