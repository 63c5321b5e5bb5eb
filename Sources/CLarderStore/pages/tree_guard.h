// SPDX-License-Identifier: MIT
/** @file tree_guard.h
    Private: what LMDB is about to change is looked at before.

    LMDB trusts its pages: one flipped bit in them can crash the process that changes them, or reads
    them by LMDB's own calls. To look at the whole file before the first write would cost a read of
    it; so each page is looked at once, when a write is about to reach it:

    1. the pages on the way to its key;
    2. their siblings, which LMDB merges them with, and the first leaf below a page or its right
       sibling, whose first key becomes the name of what LMDB moves;
    3. the leaf before and the one behind, whatever page they hang on; and the next one, as long as
       a leaf is so empty that LMDB may merge it away within the same transaction. Where that does
       not end soon, everything is looked at.

    **No page is reached twice, and none that is free.** What the free list names, its own pages and
    the meta pages are taken from the start; whoever looks at a page takes all that it leads to, and
    what is taken already is damage. So whatever LMDB allocates, which is free or was on such a way,
    nothing that was not looked at leads to, and what a page held when the file was opened it holds
    until somebody looks at it. Pages that were written since then need no look.

    **LMDB's assertions.** LMDB 0.9.24 to 0.9.35 end the process by assert where bytes of the file
    contradict themselves; compiled with NDEBUG they go on, with worse to come. So nothing that an
    assertion could be about may reach LMDB, and mdb_env_set_assert would be of no use: it is not
    called with NDEBUG, and could not return into a transaction that is half done and holds a mutex.

    - mdb_page_touch `mp_pgno != pgno`, mdb_page_dirty `rc == 0`, mdb_ovpage_free `x > 1`,
      mdb_freelist_save about loose pages: LMDB hands a page on that is in use, or twice. The free
      list names a page once, and what it names is taken.
    - mdb_freelist_save `pglast <= me_pglast`, `id <= me_pglast`, `len >= 0`: its rows are in order,
      from 1 to the last transaction, and each has a count and as many numbers (audit_free_row).
    - mdb_page_search_root `NUMKEYS > 1`, `i > 0`, `i < NUMKEYS`, mdb_rebalance `NUMKEYS > 1`: a
      branch page has two children (larder_page_is_sound); what LMDB leaves has, too.
    - mdb_page_search `root > 1`, mdb_page_merge `mc_snum > 1`: larder_tree_of_meta_page.
    - mdb_cursor_sibling, _next, _prev, _set, _first, _last `IS_BRANCH`, `IS_LEAF`: a page is of the
      kind that its level asks for (page_open).
    - mdb_node_add `upper >= lower`, `ofs >= lower`, mdb_node_del `indx < numkeys`, mdb_node_move
      `srcnode & 1`: nodes fill their page, on even offsets, and have no flags but one (page_tiles,
      node_value).
    - mdb_drop and its mdb_ovpage_free: everything is looked at before (guard_all).
    - mdb_page_spill, mdb_page_touch `dl[0].mid`, mdb_cursor_put `rc2 == 0`, mdb_xcursor…,
      mdb_audit, mdb_env_copy…: nested transactions, duplicates and copies are not used.
    Beside these, LMDB's cursor has 32 levels and a split adds one (head_is_sound), and the number
    of a transaction must not come round to 0 (larder_tree_meta_head).

    The same checks keep LMDB from reading outside of the pages that there are. */
#ifndef LARDER_TREE_GUARD_H
#define LARDER_TREE_GUARD_H

#include "pages/tree.h"

typedef struct tree_guard {
    /** A bit for each page that the file had when it was opened and nobody has looked at yet, but
        for the free ones. */
    uint8_t *unseen;
    /** A bit for each page that something leads to, as far as it was looked at. */
    uint8_t *taken;
    uint64_t page_count;
    /** Keys below this one, and not below the one before it, lead to the leaf that was seen last;
        of the state that it belongs to. Without an upper one, that is empty. */
    tree_key lower, upper;
    uint64_t transaction;
} tree_guard;

/** Every page of `state` is to be looked at; those of the free list are, here. O(pages of the free
    list), and two bits of memory for each page.
    @return LARDER_OK; LARDER_EDAMAGED; ENOMEM. */
LARDER_MUST_CHECK larder_status larder_tree_guard_begin(tree_guard *guard, const tree *state);
void larder_tree_guard_end(tree_guard *guard);
/** Looks at what a change at `key` may reach. O(log entries) for a leaf that was not seen last.
    @return LARDER_OK; LARDER_EDAMAGED; EAGAIN: everything has to be looked at. */
LARDER_MUST_CHECK larder_status larder_tree_guard_look(tree_guard *guard, const tree *state,
                                                       larder_bytes key);

#endif
