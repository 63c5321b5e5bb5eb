// SPDX-License-Identifier: MIT
#include "pages/tree_guard.h"

#include <errno.h>
#include <stdlib.h>

#include "pages/tree_page.h"

larder_status tree_guard_begin(tree_guard *guard, const tree *state) {
    tree_guard_end(guard);
    guard->unseen = malloc((size_t)(state->page_count / 8 + 1));
    if (!guard->unseen) return ENOMEM;
    memset(guard->unseen, 0xFF, (size_t)(state->page_count / 8 + 1));
    guard->page_count = state->page_count;
    return LARDER_OK;
}

void tree_guard_end(tree_guard *guard) {
    free(guard->unseen);
    *guard = (tree_guard){0};
}

static bool is_seen(const tree_guard *guard, uint64_t number) {
    return number >= guard->page_count || (guard->unseen[number >> 3] & 1u << (number & 7)) == 0;
}

/** Whether the nodes fill the page without a gap, their keys are such as LMDB
   takes and ascend, and values lie where they can. */
static bool page_is_sound(const tree *state, const tree_page *page, bool is_leaf) {
    // LMDB stops the whole process at a branch page with one child.
    if ((!is_leaf && page->count < 2) || !page_tiles(page, is_leaf)) return false;
    tree_node before = {0}, node;
    for (uint32_t i = 0; i < page->count; i++) {
        if (!page_node(page, i, &node) || node.key_bytes > TREE_KEY_MAX_BYTES) return false;
        // The first key of a branch page has no meaning.
        if (i == 0 && !is_leaf) continue;
        if (node.key_bytes == 0) return false;
        if (before.key && compare_bytes(node_key(&before), node_key(&node)) >= 0) return false;
        before = node;
        larder_bytes value;
        uint64_t overflow;
        if (is_leaf && node_value(state, page, &node, &value, &overflow)) return false;
    }
    return true;
}

/** Whether the page's keys lie from `lower` on and below `upper`, the
   separators on the way to it; one without a key is no bound. One changed bit
   of a key can leave the page in order, but not in its place: LMDB's cursors
   would put into it what others look for elsewhere. */
static bool page_is_between(const tree_page *page, bool is_leaf, const tree_node *lower,
                            const tree_node *upper) {
    uint32_t first = is_leaf ? 0 : 1;
    tree_node node;
    if (page->count <= first) return true;
    if (lower->key &&
        (!page_node(page, first, &node) || compare_bytes(node_key(&node), node_key(lower)) < 0))
        return false;
    return !upper->key || (page_node(page, page->count - 1, &node) &&
                           compare_bytes(node_key(&node), node_key(upper)) < 0);
}

/** Looks at a page, unless somebody has. */
static bool look(tree_guard *guard, const tree *state, uint64_t number, bool is_leaf,
                 tree_page *page) {
    if (!page_open(state, number, is_leaf ? PAGE_LEAF : PAGE_BRANCH, page)) return false;
    if (is_seen(guard, number)) return true;
    if (!page_is_sound(state, page, is_leaf)) return false;
    guard->unseen[number >> 3] &= (uint8_t) ~(1u << (number & 7));
    return true;
}

/** The page and the first ones below it, `height` of them: where a cursor goes
   from the last leaf before it. */
static bool look_first(tree_guard *guard, const tree *state, uint64_t number, uint32_t height,
                       const tree_node *lower, const tree_node *upper) {
    for (tree_node bound = *upper;; height--) {
        tree_page page;
        tree_node node;
        if (!look(guard, state, number, height == 0, &page) ||
            !page_is_between(&page, height == 0, lower, &bound))
            return false;
        if (height == 0) return true;
        if (!page_node(&page, 1, &bound) || !page_node(&page, 0, &node)) return false;
        number = node_child(&node);
    }
}

/** Between which keys those of child `index` of a branch page lie, whose own
   are between `lower` and `upper`. */
static bool child_bounds(const tree_page *parent, uint32_t index, tree_node *lower,
                         tree_node *upper) {
    return (index == 0 || page_node(parent, index, lower)) &&
           (index + 1 >= parent->count || page_node(parent, index + 1, upper));
}

/** The children beside number `index` of a branch page; they stand `height`
 * above the leaves. */
static bool look_beside(tree_guard *guard, const tree *state, const tree_page *parent,
                        uint32_t index, uint32_t height, const tree_node *lower,
                        const tree_node *upper) {
    tree_node node;
    tree_page before;
    if (index > 0) {
        tree_node low = *lower, high = *upper;
        if (!page_node(parent, index - 1, &node) || !child_bounds(parent, index - 1, &low, &high) ||
            !look(guard, state, node_child(&node), height == 0, &before) ||
            !page_is_between(&before, height == 0, &low, &high))
            return false;
    }
    if (index + 1 >= parent->count) return true;
    tree_node low = *lower, high = *upper;
    return page_node(parent, index + 1, &node) && child_bounds(parent, index + 1, &low, &high) &&
           look_first(guard, state, node_child(&node), height, &low, &high);
}

static bool lies_in_last(const tree_guard *guard, const tree *state, larder_bytes key) {
    return guard->transaction == state->transaction && guard->lower.length > 0 &&
           compare_bytes(bytes_of_key(&guard->lower), key) <= 0 &&
           (!guard->has_upper || compare_bytes(key, bytes_of_key(&guard->upper)) < 0);
}

static void remember(tree_key *bound, const tree_node *node) {
    bound->length = (uint16_t)node->key_bytes;
    memcpy(bound->bytes, node->key, node->key_bytes);
}

larder_status tree_guard_look(tree_guard *guard, const tree *state, larder_bytes key) {
    if (!guard->unseen) return LARDER_OK;
    if (!guard->has_free_list) {
        uint8_t *marks;
        uint64_t count;
        larder_status status = tree_free_marks(state, &marks, &count);
        if (status) return status;
        free(marks);
        guard->has_free_list = true;
    }
    if (state->depth == 0 || lies_in_last(guard, state, key)) return LARDER_OK;
    if (state->depth > TREE_DEPTH_MAX) return tree_damaged(state, 0);
    uint64_t number = state->root;
    guard->lower.length = 0;
    guard->has_upper = false;
    guard->transaction = state->transaction;
    tree_node lower = {0}, upper = {0};
    tree_page page;
    for (uint32_t level = 0; level + 1 < state->depth; level++) {
        uint32_t index;
        bool is_equal;
        tree_node node;
        if (!look(guard, state, number, false, &page) ||
            !page_is_between(&page, false, &lower, &upper) ||
            !page_search(&page, 1, key, &index, &is_equal))
            return tree_damaged(state, number);
        if (!is_equal) index--;
        if (!look_beside(guard, state, &page, index, state->depth - level - 2, &lower, &upper) ||
            !page_node(&page, index, &node) || !child_bounds(&page, index, &lower, &upper))
            return tree_damaged(state, number);
        number = node_child(&node);
    }
    if (!look(guard, state, number, true, &page) || !page_is_between(&page, true, &lower, &upper))
        return tree_damaged(state, number);
    if (upper.key) remember(&guard->upper, &upper);
    guard->has_upper = upper.key != NULL;
    if (lower.key) remember(&guard->lower, &lower);
    return LARDER_OK;
}
