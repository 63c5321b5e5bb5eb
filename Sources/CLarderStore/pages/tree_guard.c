// SPDX-License-Identifier: MIT
#include "pages/tree_guard.h"

#include "pages/tree_page.h"

enum {
    /** LMDB merges a leaf that is less than a quarter full; some more for its rounding. */
    SPARSE_PERCENT = 30,
    /** So many of them in a row, and everything is looked at. */
    SPARSE_MAX_COUNT = 32
};

static bool has_bit(const uint8_t *bits, uint64_t number) {
    return (bits[number >> 3] & 1u << (number & 7)) != 0;
}

/** Notes that something leads to the pages; false if something else does, or they are none. */
static bool take(tree_guard *guard, uint64_t first, uint64_t count) {
    if (first >= guard->page_count || count > guard->page_count - first) return false;
    for (uint64_t number = first; number < first + count; number++) {
        if (has_bit(guard->taken, number)) return false;
        guard->taken[number >> 3] |= (uint8_t)(1u << (number & 7));
    }
    return true;
}

larder_status larder_tree_guard_begin(tree_guard *guard, const tree *state) {
    larder_tree_guard_end(guard);
    larder_status status = larder_tree_audit_free_list(state, &guard->taken);
    size_t bytes = (size_t)(state->next_page / 8 + 1);
    if (!status && (guard->unseen = malloc(bytes)) == NULL) status = ENOMEM;
    for (size_t at = 0; !status && at < bytes; at++) guard->unseen[at] = (uint8_t)~guard->taken[at];
    guard->page_count = state->page_count;
    if (!status && state->main.depth > 0 && !take(guard, state->main.root, 1))
        status = tree_damaged(state, state->main.root);
    if (status) larder_tree_guard_end(guard);
    return status;
}

void larder_tree_guard_end(tree_guard *guard) {
    free(guard->unseen);
    free(guard->taken);
    *guard = (tree_guard){0};
}

static bool is_seen(const tree_guard *guard, uint64_t number) {
    return number >= guard->page_count || !has_bit(guard->unseen, number);
}

/** Takes what a page that is sound leads to: children, or overflow pages. */
static bool take_below(tree_guard *guard, const tree *state, const tree_page *page, bool is_leaf) {
    for (uint32_t i = 0; i < page->count; i++) {
        tree_node node;
        larder_bytes value;
        uint64_t first = TREE_NO_PAGE, count = 1;
        if (!page_node(page, i, &node)) return false;
        if (!is_leaf) first = node_child(&node);
        else if (node_value(state, page, &node, &value, &first)) return false;
        else if (first != TREE_NO_PAGE) count = load32(tree_page_at(state, first) + 12);
        if (first != TREE_NO_PAGE && !take(guard, first, count)) return false;
    }
    return true;
}

/** Goes on to the page that the path leads to, and looks at it, unless somebody has. Every time it
    is seen to lie between the separators above it: one changed bit of a key can leave a page in
    order, but not in its place, and LMDB's cursors would put into it what others look for
    elsewhere. */
static larder_status look(tree_guard *guard, tree_cursor *cursor) {
    static const page_bounds none = {{NULL, 0}, {NULL, 0}};
    const tree *state = cursor->tree;
    larder_status status = larder_tree_cursor_enter(cursor);
    if (status) return status;
    const tree_page *page = &cursor->path[cursor->depth - 1].page;
    bool is_leaf = cursor->depth == state->main.depth;
    if (is_seen(guard, page->number)) return LARDER_OK;
    if (!larder_page_is_sound(state, page, is_leaf, false, &none) ||
        !take_below(guard, state, page, is_leaf))
        return tree_damaged(state, page->number);
    guard->unseen[page->number >> 3] &= (uint8_t) ~(1u << (page->number & 7));
    return LARDER_OK;
}

/** Goes on to the leaf that is the first or the last one below the path. */
static larder_status look_down(tree_guard *guard, tree_cursor *cursor, bool forward) {
    larder_status status = LARDER_OK;
    while (!status && cursor->depth < cursor->tree->main.depth) {
        status = look(guard, cursor);
        if (!status && !forward)
            cursor->path[cursor->depth - 1].at = cursor->path[cursor->depth - 1].page.count - 1;
    }
    return status;
}

/** Goes to the child number `at` of the path's last page, looks at it, and comes back.
    @param is_whole also at the first leaf below it, and what leads there. */
static larder_status look_at_child(tree_guard *guard, tree_cursor *cursor, uint32_t child,
                                   bool is_whole) {
    uint32_t depth = cursor->depth, *at = &cursor->path[depth - 1].at, here = *at;
    *at = child;
    larder_status status = is_whole ? look_down(guard, cursor, true) : look(guard, cursor);
    cursor->depth = depth;
    *at = here;
    return status;
}

/** Looks at the branch pages beside the one that the path leads to, and at the first leaves below
    the one behind it and below the path's last page, unless that is the root. */
static larder_status look_beside(tree_guard *guard, tree_cursor *cursor) {
    uint32_t depth = cursor->depth, here = cursor->path[depth - 1].at;
    bool has_branches = depth + 1 < cursor->tree->main.depth;
    larder_status status = LARDER_OK;
    if (has_branches && here > 0) status = look_at_child(guard, cursor, here - 1, false);
    if (!status && has_branches && here + 1 < cursor->path[depth - 1].page.count)
        status = look_at_child(guard, cursor, here + 1, true);
    if (!status && here > 0 && depth > 1) status = look_at_child(guard, cursor, 0, true);
    return status;
}

static bool is_sparse(const tree_page *page) {
    uint32_t room = page->size - PAGE_HEAD_BYTES;
    uint32_t free_bytes = page->upper - PAGE_HEAD_BYTES - 2 * page->count;
    return (uint64_t)(room - free_bytes) * 100 < (uint64_t)room * SPARSE_PERCENT;
}

/** Looks at the leaves behind the one that the path ends with, or before it, up to one that LMDB
    does not merge. */
static larder_status look_along(tree_guard *guard, const tree_cursor *from, bool forward) {
    tree_cursor cursor;
    memcpy(&cursor, from, offsetof(tree_cursor, path) + from->depth * sizeof *from->path);
    for (int count = 0; count < SPARSE_MAX_COUNT; count++) {
        for (bool moves = false; !moves;) {
            if (--cursor.depth == 0) return LARDER_OK;
            uint32_t *at = &cursor.path[cursor.depth - 1].at;
            moves = forward ? *at + 1 < cursor.path[cursor.depth - 1].page.count : *at > 0;
            if (moves) *at = forward ? *at + 1 : *at - 1;
        }
        larder_status status = look_down(guard, &cursor, forward);
        if (status || !is_sparse(&cursor.path[cursor.depth - 1].page)) return status;
    }
    return EAGAIN;
}

static bool lies_in_last(const tree_guard *guard, const tree *state, larder_bytes key) {
    return guard->transaction == state->transaction && guard->lower.length > 0 &&
           compare_bytes(bytes_of_key(&guard->lower), key) <= 0 &&
           (guard->upper.length == 0 || compare_bytes(key, bytes_of_key(&guard->upper)) < 0);
}

static void remember(tree_key *bound, larder_bytes key) {
    bound->length = (uint16_t)key.length;
    if (key.length) memcpy(bound->bytes, key.data, key.length);
}

larder_status larder_tree_guard_look(tree_guard *guard, const tree *state, larder_bytes key) {
    if (!guard->unseen || lies_in_last(guard, state, key)) return LARDER_OK;
    guard->lower.length = 0;
    guard->transaction = state->transaction;
    tree_cursor cursor;
    cursor.tree = state;
    cursor.depth = 0;
    larder_status status = look(guard, &cursor);
    while (!status && cursor.depth < state->main.depth) {
        bool equal;
        status = larder_tree_cursor_aim(&cursor, key, &equal);
        if (!status) status = look_beside(guard, &cursor);
        if (!status) status = look(guard, &cursor);
    }
    if (!status) status = look_along(guard, &cursor, false);
    if (!status) status = look_along(guard, &cursor, true);
    page_bounds bounds;
    cursor.depth--;
    if (!status) status = larder_tree_cursor_bounds(&cursor, &bounds);
    if (status) return status;
    remember(&guard->lower, bounds.lower);
    remember(&guard->upper, bounds.upper);
    return LARDER_OK;
}
