// SPDX-License-Identifier: MIT
#include "pages/tree_guard.h"

#include "pages/tree_page.h"

larder_status larder_tree_guard_begin(tree_guard *guard, const tree *state) {
    larder_tree_guard_end(guard);
    guard->unseen = malloc((size_t)(state->page_count / 8 + 1));
    if (!guard->unseen) return ENOMEM;
    memset(guard->unseen, 0xFF, (size_t)(state->page_count / 8 + 1));
    guard->page_count = state->page_count;
    return LARDER_OK;
}

void larder_tree_guard_end(tree_guard *guard) {
    free(guard->unseen);
    *guard = (tree_guard){0};
}

static bool is_seen(const tree_guard *guard, uint64_t number) {
    return number >= guard->page_count || (guard->unseen[number >> 3] & 1u << (number & 7)) == 0;
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
    if (is_seen(guard, page->number)) return LARDER_OK;
    if (!larder_page_is_sound(state, page, cursor->depth == state->main.depth, false, &none))
        return tree_damaged(state, page->number);
    guard->unseen[page->number >> 3] &= (uint8_t) ~(1u << (page->number & 7));
    return LARDER_OK;
}

/** Looks at the pages beside the one that the path leads to; behind it at the first ones below
    too, where a cursor goes from the last leaf before it. */
static larder_status look_beside(tree_guard *guard, tree_cursor *cursor) {
    uint32_t depth = cursor->depth;
    uint32_t at = cursor->path[depth - 1].at;
    larder_status status = LARDER_OK;
    if (at > 0) {
        cursor->path[depth - 1].at = at - 1;
        status = look(guard, cursor);
        cursor->depth = depth;
    }
    if (at + 1 < cursor->path[depth - 1].page.count) {
        cursor->path[depth - 1].at = at + 1;
        while (!status && cursor->depth < cursor->tree->main.depth) status = look(guard, cursor);
        cursor->depth = depth;
    }
    cursor->path[depth - 1].at = at;
    return status;
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
    if (!guard->unseen) return LARDER_OK;
    if (!guard->has_free_list) {
        larder_status status = larder_tree_audit_free_list(state);
        if (status) return status;
        guard->has_free_list = true;
    }
    if (lies_in_last(guard, state, key)) return LARDER_OK;
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
    page_bounds bounds;
    cursor.depth--;
    if (!status) status = larder_tree_cursor_bounds(&cursor, &bounds);
    if (status) return status;
    remember(&guard->lower, bounds.lower);
    remember(&guard->upper, bounds.upper);
    return LARDER_OK;
}
