// SPDX-License-Identifier: MIT
/** @file tree_guard.h
    Private: what LMDB is about to change is looked at before.

    LMDB trusts its pages: one flipped bit in them can crash the process that changes them, or reads
    them by LMDB's own calls. To look at the whole file before the first write would cost a read of
    it; so each page is looked at once, when a write is about to reach it: the pages on the way to
    its key, their neighbours, with which LMDB may merge them, and the next leaf, where a cursor
    goes. Pages that were written since the file was opened need no look. */
#ifndef LARDER_TREE_GUARD_H
#define LARDER_TREE_GUARD_H

#include "pages/tree.h"

typedef struct tree_guard {
    /** A bit for each page that the file had when it was opened and nobody has looked at yet. */
    uint8_t *unseen;
    uint64_t page_count;
    /** The free list was looked at, as a whole. */
    bool has_free_list;
    /** Keys below this one, and not below the one before it, lead to the leaf that was seen last;
        of the state that it belongs to. Without an upper one, that is empty. */
    tree_key lower, upper;
    uint64_t transaction;
} tree_guard;

/** Every page of `state` is to be looked at. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_tree_guard_begin(tree_guard *guard, const tree *state);
void larder_tree_guard_end(tree_guard *guard);
/** Looks at what a change at `key` may reach. O(log entries) for a leaf that was not seen last.
    @return LARDER_OK; LARDER_EDAMAGED; ENOMEM. */
LARDER_MUST_CHECK larder_status larder_tree_guard_look(tree_guard *guard, const tree *state,
                                                       larder_bytes key);

#endif
