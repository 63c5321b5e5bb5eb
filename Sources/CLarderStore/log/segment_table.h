// SPDX-License-Identifier: MIT
/** @file segment_table.h
    Private: the mapped segments by number. Looking takes no lock; changes need log->table_lock. */
#ifndef LARDER_SEGMENT_TABLE_H
#define LARDER_SEGMENT_TABLE_H

#include "log/segment.h"

typedef struct segment_table segment_table;

/** NULL: ENOMEM. */
segment_table *segment_table_create(void);
/** Frees the table, not what is in it. */
void segment_table_free(segment_table *table);
/** NULL if there is none. */
segment *segment_table_find(const segment_table *table, uint32_t number);
/** Sees to a place for `number`. ENOMEM. */
LARDER_MUST_CHECK larder_status segment_table_reserve(segment_table *table, uint32_t number);
/** Into a place that was reserved; NULL empties it.
    @return what was there. */
segment *segment_table_set(segment_table *table, uint32_t number, segment *added);
/** The first one with `from` or a greater number; NULL if there is none. */
segment *segment_table_next(const segment_table *table, uint32_t from);

#endif
