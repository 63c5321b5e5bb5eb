// SPDX-License-Identifier: MIT
/** @file segment_table.h
    Private: the mapped segments by number. Looking takes no lock; changes need log->table_lock. */
#ifndef LARDER_SEGMENT_TABLE_H
#define LARDER_SEGMENT_TABLE_H

#include "log/segment.h"

/** Of a number, of eight bits each. */
enum { SEGMENT_DIGITS_MAX = 4 };

/** What numbers with one digit more in common lead to: further nodes, or segments. */
typedef struct segment_node segment_node;

/** For each count of digits a tree by them, of nodes that never move: a number costs as much as it
    has digits, however great it is. All zero for an empty one. */
typedef struct segment_table {
    _Atomic(segment_node *) roots[SEGMENT_DIGITS_MAX];
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
