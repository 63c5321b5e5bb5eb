// SPDX-License-Identifier: MIT
/** @file leaving.h
    Private: what the transaction under way evicts. Who reads it from an older state comes too late:
    else an entry that was just found would be gone.

    A reader notes its read and then looks here; an eviction puts the entry here and then looks for
    a read of it. All four are in one order, so at least one of the two finds the other. */
#ifndef LARDER_LEAVING_H
#define LARDER_LEAVING_H

#include <stdbool.h>

#include "larder_base.h"

/** One thread at a time changes it, any number look. */
typedef struct leaving {
    /** The transaction's number: who looks at that state or a newer one finds what stays. */
    uint64_t transaction;
    /** A table of hashes of stored keys; allocated for the first transaction that evicts, and never
        moved. Without memory for it nothing is in it. */
    uint64_t *slots;
    uint32_t count;
} leaving;

/** Empties it, for that transaction. */
void larder_leaving_begin(leaving *table, uint64_t transaction);
/** What the transaction evicts stays, it failed. */
void larder_leaving_end(leaving *table);
/** Does nothing when it is full. */
void larder_leaving_add(leaving *table, uint64_t hash);
void larder_leaving_remove(leaving *table, uint64_t hash);
/** Whether it is in it, for one who looks at the state of `transaction`. */
bool larder_leaving_has(const leaving *table, uint64_t transaction, uint64_t hash);
void larder_leaving_free(leaving *table);

#endif
