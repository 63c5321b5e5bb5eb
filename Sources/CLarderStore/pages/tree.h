// SPDX-License-Identifier: MIT
/** @file tree.h
    Private: reads LMDB's B+ tree in a mapping of its file, without LMDB, and believes nothing.

    LMDB trusts its pages: one flipped bit in them can crash the process that reads them. These
    functions check every page and every node before they follow it: the page's own number, its
    kind, that its offsets lie inside it and its children inside the file. What they cannot know is
    whether a page that looks right is the right one; the record in it says so itself, and
    larder_tree_audit sees it.

    The layout is that of LMDB 0.9 (data version 1) on a 64-bit little-endian machine. */
#ifndef LARDER_TREE_H
#define LARDER_TREE_H

#include "format/record.h"

enum { TREE_DEPTH_MAX = 32, TREE_META_PAGES = 2 };
#define TREE_NO_PAGE UINT64_MAX

/** What LMDB counts of a tree. */
typedef struct tree_counts {
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
} tree_counts;

/** A tree as a meta page has it; larder_tree_audit compares the counts. */
typedef struct tree_head {
    /** Of the free list the page size. */
    uint32_t pad;
    uint16_t flags;
    uint16_t depth;
    tree_counts counts;
    /** TREE_NO_PAGE for an empty tree. */
    uint64_t root;
} tree_head;

/** One state of the tree. Valid while its reader's place in LMDB's table is held. */
typedef struct tree {
    const uint8_t *map;
    /** Pages of the file that the mapping covers and the file has; 0 until larder_tree_attach. */
    uint64_t page_count;
    uint32_t page_bytes;
    tree_head main;
    /** The free list is a tree too. */
    tree_head free_list;
    uint64_t transaction;
    /** Page numbers from here on are not in use. */
    uint64_t next_page;
    /** The number in its own meta page, where only that says whether its pages are still what they
        were; NULL for a state that is protected. */
    const uint64_t *watched;
    /** Where the last LARDER_EDAMAGED was, in bytes from the file's start. Only a hint for people:
        threads may overwrite each other's. */
    uint64_t *damage_offset;
    /** Pages that are not in memory are not read: then larder_tree_find gives EAGAIN. */
    bool waits_for_none;
    /** A leaf behind whose end larder_tree_get has seen that nothing is hidden; 0: none yet. What
        reading changes, in any thread. */
    uint64_t full_leaf;
} tree;

/** The state that one of the two meta pages describes, checked by itself. It has no pages until
    larder_tree_attach: the file may have grown beyond `map_bytes` for this very state.
    @param which 0 or 1.
    @return LARDER_OK; LARDER_EFOREIGN (not LMDB's), LARDER_EVERSION, LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_tree_of_meta_page(const uint8_t *map, uint64_t map_bytes,
                                                         int which, tree *out);
/** Gives the state its pages, and judges it by how many there are.
    @param file_bytes how long the file is, seen after the meta page was read; all of it mapped.
    @return LARDER_OK; LARDER_EDAMAGED: the state speaks of more pages than such a file can have. */
LARDER_MUST_CHECK larder_status larder_tree_attach(tree *state, const uint8_t *map,
                                                   uint64_t file_bytes);

/** The value under `key`, borrowed from the mapping.
    @return LARDER_OK; LARDER_ENOTFOUND, LARDER_EDAMAGED. O(depth · log page entries). */
LARDER_MUST_CHECK larder_status larder_tree_get(const tree *tree, larder_bytes key,
                                                larder_bytes *value);
/** What is under a key that may be another one, changed by damage. */
typedef struct tree_twin {
    larder_bytes key, value;
} tree_twin;
/** The same.
    @param twins receive, on LARDER_ENOTFOUND, those beside it that one bit, or zeros, may have made
    of this one. Empty where there is none. May be NULL.
    @return EAGAIN, too, of a tree that waits for no page. */
LARDER_MUST_CHECK larder_status larder_tree_find(const tree *tree, larder_bytes key,
                                                 larder_bytes *value, tree_twin twins[2]);
/** Notes that what lies there in the mapping is damaged.
    @return LARDER_EDAMAGED, always. */
larder_status larder_tree_note_damage(const tree *tree, const void *at);

/** A branch or leaf page whose head was checked. */
typedef struct tree_page {
    const uint8_t *bytes;
    uint64_t number;
    /** Of the whole page. */
    uint32_t size;
    uint32_t upper;
    uint32_t count;
} tree_page;

/** A place in the tree: the way to it from the root, as pages and which node of each. */
typedef struct tree_cursor {
    const tree *tree;
    uint32_t depth;
    struct {
        tree_page page;
        uint32_t at;
    } path[TREE_DEPTH_MAX];
} tree_cursor;

/** Places the cursor at the first key that is not less than `key`; LARDER_END behind the last. */
LARDER_MUST_CHECK larder_status larder_tree_cursor_seek(tree_cursor *cursor, const tree *tree,
                                                        larder_bytes key);
/** Places it at the last key that is less than `key`; LARDER_END before the first. */
LARDER_MUST_CHECK larder_status larder_tree_cursor_seek_back(tree_cursor *cursor, const tree *tree,
                                                             larder_bytes key);
/** Moves on. LARDER_OK; LARDER_END; LARDER_EDAMAGED: a page that cannot be read was skipped, and
    the cursor is after it; call again. Never the same damage twice, so a loop over it ends. */
LARDER_MUST_CHECK larder_status larder_tree_cursor_next(tree_cursor *cursor);
LARDER_MUST_CHECK larder_status larder_tree_cursor_previous(tree_cursor *cursor);
/** Key and value at the cursor's place, borrowed from the mapping. */
LARDER_MUST_CHECK larder_status larder_tree_cursor_get(const tree_cursor *cursor, larder_bytes *key,
                                                       larder_bytes *value);

/** Whether the key at the cursor's place lies between those beside it in its page. */
bool larder_tree_cursor_is_in_order(const tree_cursor *cursor);

/** What larder_tree_audit found. */
typedef struct tree_report {
    /** In use, those of the free list's own tree included, and free. */
    uint64_t pages;
    uint64_t free_pages;
    uint64_t damaged_pages;
    /** Of the first of them in the file. */
    uint64_t first_damage_offset;
} tree_report;

/** Verifies the whole state: every page of tree and free list, each reached once, keys in order
    within a page and between the separators above it, overflow pages whole, depth the same
    everywhere, the free list in order and apart from what is in use, no page in neither.
    After this LMDB can change the tree without meeting a page that it would crash on.
    @return LARDER_OK; LARDER_EDAMAGED; ENOMEM. O(pages), and one bit of memory for each. */
LARDER_MUST_CHECK larder_status larder_tree_audit(const tree *tree, tree_report *report);
/** The same of the free list alone, as far as it can be told without the tree.
    @param taken receives, on success, a bit for each page that is a meta page, of the free list's
           own, or free; to be freed. */
LARDER_MUST_CHECK larder_status larder_tree_audit_free_list(const tree *tree, uint8_t **taken);

/** Pages that the file is too short for, and that are not free: LMDB does not write those at its
    end that were free again before it came to that.
    @return LARDER_OK; ENOMEM. O(1) unless the file is shorter than its pages; then O(pages of the
            free list), and one bit of memory for each page. */
LARDER_MUST_CHECK larder_status larder_tree_missing_pages(const tree *state, uint64_t *count);

/** Rows whose key begins with that byte, as far as the pages can be read. O(them). */
uint64_t larder_tree_count_space(const tree *from, uint8_t space);

#endif
