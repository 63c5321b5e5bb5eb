// SPDX-License-Identifier: MIT
/** @file live.h
    Private: how much of each segment the tree still leads to. A row of the tree for each segment,
    changed by the transactions that change the entries, and the same in memory.

        key    03, number u32 big-endian
        value  0   u64  bytes of its records, padding included, up to its end when it was applied
               8   u64  records up to there
               16  u64  those of them that are no puts
               24  u64  live bytes, padding included
               32  u64  live records
               40  u64  first sequence
               48  u64  last sequence
               56  u64  as of: see segment.h
               64       end

    A segment is dead when it has no live record and nothing in it has to be remembered: see
    clean.h. */
#ifndef LARDER_LIVE_H
#define LARDER_LIVE_H

#include <stddef.h>

#include "format/record.h"

enum { LIVE_ROW_BYTES = 64 };

typedef struct live_segment {
    /** As in the row, and in its order. */
    uint64_t used_bytes;
    uint64_t record_count;
    uint64_t bare_count;
    uint64_t live_bytes;
    uint64_t live_count;
    uint64_t first_sequence;
    uint64_t last_sequence;
    uint64_t as_of;
    uint32_t number;
    /** Only in memory: the first transaction without it, for one that is retired. */
    uint64_t retired_by;
    /** Only in memory: bytes of the removals in it, 0 as long as nobody has counted them, and the
        mean of their sequences. */
    uint64_t removal_bytes, removal_middle;
    /** A record of it is damaged, or nobody knows what it is: it is not cleaned. Only in memory. */
    bool is_damaged;
    /** Of one that is retired: whether anybody needs it has to be found out before it goes. */
    bool is_unproven;
    /** Of one that is retired: a named cursor of a feed needed it then. */
    bool is_fed;
    /** By the transaction under way. */
    bool is_changed;
} live_segment;

_Static_assert(offsetof(live_segment, live_bytes) == 24, "live bytes");
_Static_assert(offsetof(live_segment, as_of) + 8 == LIVE_ROW_BYTES, "live row");

/** Segments in the order of their numbers. */
typedef struct live_table {
    live_segment *items;
    size_t count, capacity;
} live_table;

/** LARDER_EDAMAGED. The number comes from the key. Until the last transaction of a checkpoint
    measures a segment, more of it may live than it has. */
LARDER_MUST_CHECK larder_status larder_live_row_read(larder_bytes value, live_segment *out);

/** NULL if there is none. */
live_segment *larder_live_find(const live_table *table, uint32_t number);
/** Finds it or makes it, all zero. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_live_add(live_table *to, uint32_t of, live_segment **out);
void larder_live_drop(live_table *table, uint32_t number);
/** A copy of all. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_live_copy(const live_table *from, live_table *to);
void larder_live_free(live_table *table);
/** Sums: bytes used, and bytes live. */
void larder_live_totals(const live_table *table, uint64_t *used_bytes, uint64_t *live_bytes);
/** Bytes used by the longest one with several puts in it, no more than `most`. */
uint64_t larder_live_longest(const live_table *table, uint64_t most);

#endif
