// SPDX-License-Identifier: MIT
/** @file tree_page.h
    Private: the bytes of LMDB's pages, and every check that comes before they are believed.

    A page has 16 bytes of head: u64 its number, u16 unused, u16 kind, then u16 lower and u16 upper,
    or, of the first of a run of overflow pages, u32 how many. Behind the head of a branch or leaf
    page come the nodes' offsets, u16 each in the order of their keys, up to `lower`; the nodes fill
    the page from `upper` to its end, each on an even offset:

        0   u32  bytes of the value     | of a branch page: number of the child, 48 bits
        4   u16  flags                  |
        6   u16  bytes of the key
        8        key, then the value    | nothing

    A value that is too long for a page lies on overflow pages, behind the first one's head; the
    node has their number instead, u64. The first key of a branch page has no meaning.

    A meta page is a meta_page. */
#ifndef LARDER_TREE_PAGE_H
#define LARDER_TREE_PAGE_H

#include "pages/tree.h"

enum {
    PAGE_HEAD_BYTES = 16,
    PAGE_BRANCH = 0x01,
    PAGE_LEAF = 0x02,
    PAGE_OVERFLOW = 0x04,
    PAGE_META = 0x08,
    NODE_HEAD_BYTES = 8,
    /** The value is on overflow pages. */
    NODE_OVERFLOWS = 0x01,
    /** What LMDB keeps of flags. Ours are always these: the free list is ordered by its numbers,
        the tree by its bytes, without duplicates. With others LMDB would read the same pages
        differently. */
    FREE_LIST_FLAGS = 0x08,
    MAIN_FLAGS = 0,
    PAGE_MIN_BYTES = 512,
    PAGE_MAX_BYTES = 32768,
    /** So many nodes of a page are asked for at once. */
    PREFETCH_MAX_COUNT = 24
};
#define LMDB_MAGIC 0xBEEFC0DEu
#define LMDB_DATA_VERSION 1u

/** A meta page, as it lies in the file: the head that all pages have, and what follows. */
typedef struct meta_page {
    uint64_t number;
    uint16_t unused;
    uint16_t kind;
    uint32_t bounds;
    uint32_t magic;
    uint32_t version;
    uint64_t address;
    uint64_t map_bytes;
    tree_head free_list;
    tree_head main;
    uint64_t last_page;
    uint64_t transaction;
} meta_page;
_Static_assert(sizeof(tree_head) == 48 && sizeof(meta_page) == 152, "nothing lies between");

/** A node inside of its page. */
typedef struct tree_node {
    const uint8_t *bytes;
    const uint8_t *key;
    uint32_t key_bytes;
    uint32_t offset;
} tree_node;

static inline larder_bytes node_key(const tree_node *node) {
    return (larder_bytes){node->key, node->key_bytes};
}

static inline const uint8_t *tree_page_at(const tree *state, uint64_t number) {
    return state->map + number * state->page_bytes;
}

/** Notes where the damage is. @return LARDER_EDAMAGED, always. */
static inline larder_status tree_damaged(const tree *state, uint64_t number) {
    if (state->damage_offset)
        __atomic_store_n(state->damage_offset, number * state->page_bytes, __ATOMIC_RELAXED);
    return LARDER_EDAMAGED;
}

/** Whether there is a page `number`, a leaf or a branch page as asked for, and it has nodes. */
static inline bool page_open(const tree *state, uint64_t number, bool is_leaf, tree_page *page) {
    if (number < TREE_META_PAGES || number >= state->page_count) return false;
    const uint8_t *bytes = tree_page_at(state, number);
    uint32_t lower = load16(bytes + 12);
    uint32_t upper = load16(bytes + 14);
    if (load64(bytes) != number || load16(bytes + 10) != (is_leaf ? PAGE_LEAF : PAGE_BRANCH))
        return false;
    if (lower <= PAGE_HEAD_BYTES || (lower & 1) || lower > upper || upper > state->page_bytes)
        return false;
    *page = (tree_page){bytes, number, state->page_bytes, upper, (lower - PAGE_HEAD_BYTES) / 2};
    return true;
}

/** The node number `index`, less than the page's count; false if it is not inside the page. */
static inline bool page_node(const tree_page *page, uint32_t index, tree_node *node) {
    uint32_t offset = load16(page->bytes + PAGE_HEAD_BYTES + 2 * (size_t)index);
    if (offset < page->upper || offset + NODE_HEAD_BYTES > page->size) return false;
    node->offset = offset;
    node->bytes = page->bytes + offset;
    node->key = node->bytes + NODE_HEAD_BYTES;
    node->key_bytes = load16(node->bytes + 6);
    return offset + NODE_HEAD_BYTES + node->key_bytes <= page->size;
}

/** The page that a node of a branch page leads to. */
static inline uint64_t node_child(const tree_node *node) {
    return load64(node->bytes) & UINT64_C(0xFFFFFFFFFFFF);
}

/** How many pages from `first` on hold `length` bytes. */
static inline uint64_t overflow_pages(uint64_t length, uint32_t page_bytes) {
    return (PAGE_HEAD_BYTES - 1 + length) / page_bytes + 1;
}

/** The value of a leaf's node; `overflow` receives its first page, or TREE_NO_PAGE.
    @return LARDER_OK or LARDER_EDAMAGED. */
static inline larder_status node_value(const tree *state, const tree_page *page,
                                       const tree_node *node, larder_bytes *value,
                                       uint64_t *overflow) {
    uint32_t length = load32(node->bytes);
    uint32_t flags = load16(node->bytes + 4);
    const uint8_t *data = node->key + node->key_bytes;
    uint32_t room = page->size - (node->offset + NODE_HEAD_BYTES + node->key_bytes);
    *overflow = TREE_NO_PAGE;
    if (flags == 0) {
        if (length > room) return tree_damaged(state, page->number);
        *value = (larder_bytes){data, length};
        return LARDER_OK;
    }
    if (flags != NODE_OVERFLOWS || room < sizeof(uint64_t))
        return tree_damaged(state, page->number);
    uint64_t first = load64(data);
    if (first < TREE_META_PAGES || first >= state->page_count)
        return tree_damaged(state, page->number);
    const uint8_t *bytes = tree_page_at(state, first);
    uint64_t count = load32(bytes + 12);
    if (load64(bytes) != first || load16(bytes + 10) != PAGE_OVERFLOW ||
        count < overflow_pages(length, state->page_bytes) || count > state->page_count - first)
        return tree_damaged(state, first);
    *overflow = first;
    *value = (larder_bytes){bytes + PAGE_HEAD_BYTES, length};
    return LARDER_OK;
}

/** Only a hint: the node need not be inside the page. */
static inline void page_prefetch(const tree_page *page, uint32_t index) {
    __builtin_prefetch(page->bytes + load16(page->bytes + PAGE_HEAD_BYTES + 2 * (size_t)index));
}

/** The first of the page's nodes from `from` on whose key is not less than `key`, or its count.
    @param equal receives whether it is `key`.
    @return false if a node on the way is not inside the page. */
static inline bool page_search(const tree_page *page, uint32_t from, larder_bytes key,
                               uint32_t *index, bool *equal) {
    uint32_t low = from;
    uint32_t high = page->count;
    bool is_asked = false;
    *equal = false;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        tree_node node;
        // Memory is not waited for node by node: both that may come next are asked for, and when
        // few are left all of them at once (measured: a sixth of a get).
        if (high - low > PREFETCH_MAX_COUNT) {
            page_prefetch(page, (low + middle) / 2);
            page_prefetch(page, (middle + high) / 2);
        } else if (!is_asked) {
            for (uint32_t at = low; at < high; at++) page_prefetch(page, at);
            is_asked = true;
        }
        if (!page_node(page, middle, &node)) return false;
        int order = compare_bytes(key, node_key(&node));
        if (order == 0) {
            *index = middle;
            *equal = true;
            return true;
        }
        if (order > 0) low = middle + 1;
        else high = middle;
    }
    *index = low;
    return true;
}

// tree.c

/** The first part of larder_tree_of_meta_page: that it is a meta page, and its page size and
    transaction are such as LMDB writes. After a failed write of it LMDB leaves a page of which no
    more is true; it is the older one then. */
LARDER_MUST_CHECK larder_status larder_tree_meta_head(const uint8_t *map, uint64_t map_bytes,
                                                      int which, meta_page *out);

// tree_cursor.c

/** Between which keys all of a page lie, by the separators nearest to the way to it: from `lower`
    on, and below `upper`. One without bytes is no bound. */
typedef struct page_bounds {
    larder_bytes lower, upper;
} page_bounds;
/** Of the page that the path leads to. LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_tree_cursor_bounds(const tree_cursor *cursor,
                                                          page_bounds *bounds);
/** Makes the page that the path leads to its next one, at its first node, if the page's keys lie
    where the path says. LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_tree_cursor_enter(tree_cursor *cursor);
/** Gives the path's last page the index where `key` is, or would be: of a branch page, of the child
    that leads there. LARDER_EDAMAGED: the way ends above that page.
    @param equal receives whether it is `key`. */
LARDER_MUST_CHECK larder_status larder_tree_cursor_aim(tree_cursor *cursor, larder_bytes key,
                                                       bool *equal);

// tree_audit.c

/** Whether LMDB can change the page: its nodes fill it from `upper` to its end, without a gap and
    without a byte that two of them share, for LMDB moves nodes about as if it were so; its keys are
    such as LMDB takes, ascend, and lie between the bounds; and values lie where they can. */
bool larder_page_is_sound(const tree *state, const tree_page *page, bool is_leaf,
                          bool is_of_free_list, const page_bounds *bounds);
/** Whether the nodes are as long together as the page is full. So it is seen if the page says that
    it has fewer than it has, and hides the others behind its last one. O(nodes of the page). */
bool larder_page_is_full(const tree_page *page, bool is_leaf);
/** Whether another node begins where the node ends, or the page ends there. So a length that has
    changed is seen. O(nodes of the page). */
bool larder_page_has_node_behind(const tree_page *leaf, const tree_node *node);
#endif
