// SPDX-License-Identifier: MIT
/** @file tree_cursor.c
    A cursor is the way from the root to a leaf's node, as page numbers and indexes. If a page on
    the way down is damaged, the way ends above it, at the node that leads to it; a further step
    goes on from there, to the next node of that page. So a step never comes back to the same
    damage.

    A page is also damage if its keys are not between the separators that led to it. No two places
    of a tree have those in common, so a page that several nodes lead to is read at one of them at
    most, and a pass ends after as many steps as the file has nodes, whatever it holds. */
#include "pages/tree_page.h"

/** Whether the keys of `page`, reached by the cursor's path, lie where the path says. */
static bool cursor_page_fits(const tree_cursor *cursor, const tree_page *page, bool is_leaf) {
    const tree *state = cursor->tree;
    tree_node first, last, separator;
    // The first key of a branch page has no meaning; one with a single child has no keys at all.
    if (!is_leaf && page->count < 2) return false;
    if (!page_node(page, is_leaf ? 0 : 1, &first) || !page_node(page, page->count - 1, &last))
        return false;
    bool has_lower = false;
    bool has_upper = false;
    for (uint32_t level = cursor->depth; level-- > 0 && !(has_lower && has_upper);) {
        uint32_t at = cursor->path[level].at;
        tree_page above;
        if (!page_open(state, cursor->path[level].page, PAGE_BRANCH, &above)) return false;
        if (!has_lower && at > 0) {
            has_lower = true;
            if (!page_node(&above, at, &separator) ||
                key_order(first.key, first.key_bytes, separator.key, separator.key_bytes) < 0)
                return false;
        }
        if (!has_upper && at + 1 < above.count) {
            has_upper = true;
            if (!page_node(&above, at + 1, &separator) ||
                key_order(last.key, last.key_bytes, separator.key, separator.key_bytes) >= 0)
                return false;
        }
    }
    return true;
}

/** Opens the page that the path leads to; `number` receives its number. */
static larder_status cursor_child(const tree_cursor *cursor, tree_page *page) {
    const tree *state = cursor->tree;
    uint64_t number = state->root;
    bool is_leaf = cursor->depth + 1 == state->depth;
    if (cursor->depth > 0) {
        tree_page above;
        tree_node node;
        uint64_t parent = cursor->path[cursor->depth - 1].page;
        if (!page_open(state, parent, PAGE_BRANCH, &above) ||
            !page_node(&above, cursor->path[cursor->depth - 1].at, &node))
            return tree_damaged(state, parent);
        number = node_child(&node);
    }
    if (!page_open(state, number, is_leaf ? PAGE_LEAF : PAGE_BRANCH, page) ||
        !cursor_page_fits(cursor, page, is_leaf))
        return tree_damaged(state, number);
    return LARDER_OK;
}

static void cursor_push(tree_cursor *cursor, const tree_page *page, uint32_t at) {
    cursor->path[cursor->depth].page = page->number;
    cursor->path[cursor->depth].at = at;
    cursor->path[cursor->depth].count = page->count;
    cursor->depth++;
}

/** Goes down to the first or the last leaf node below the path. */
static larder_status cursor_descend(tree_cursor *cursor, bool forward) {
    while (cursor->depth < cursor->tree->depth) {
        tree_page page;
        larder_status status = cursor_child(cursor, &page);
        if (status) return status;
        cursor_push(cursor, &page, forward ? 0 : page.count - 1);
    }
    return LARDER_OK;
}

/** Goes down along `key`; then the cursor's last index is that of the first key that is not less,
    and may be the page's count.
    @param equal receives whether it is `key`. */
static larder_status cursor_find(tree_cursor *cursor, const tree *state, larder_bytes key,
                                 bool *equal) {
    cursor->tree = state;
    cursor->depth = 0;
    *equal = false;
    if (state->depth > TREE_DEPTH_MAX) return tree_damaged(state, 0);
    while (cursor->depth < state->depth) {
        tree_page page;
        uint32_t index;
        bool is_leaf = cursor->depth + 1 == state->depth;
        larder_status status = cursor_child(cursor, &page);
        if (status) return status;
        if (!page_search(&page, is_leaf ? 0 : 1, key, &index, equal))
            return tree_damaged(state, page.number);
        if (!is_leaf && !*equal) index--;
        cursor_push(cursor, &page, index);
    }
    return LARDER_OK;
}

larder_status tree_cursor_seek(tree_cursor *cursor, const tree *state, larder_bytes key) {
    bool equal;
    larder_status status = cursor_find(cursor, state, key, &equal);
    if (status) return status;
    if (cursor->depth == 0) return LARDER_END;
    if (cursor->path[cursor->depth - 1].at < cursor->path[cursor->depth - 1].count)
        return LARDER_OK;
    return tree_cursor_next(cursor);
}

larder_status tree_cursor_seek_back(tree_cursor *cursor, const tree *state, larder_bytes key,
                                    bool inclusive) {
    bool equal;
    larder_status status = cursor_find(cursor, state, key, &equal);
    if (status) return status;
    if (equal && inclusive) return LARDER_OK;
    return tree_cursor_previous(cursor);
}

larder_status tree_cursor_next(tree_cursor *cursor) {
    while (cursor->depth > 0) {
        uint32_t level = cursor->depth - 1;
        // The index may be the count already, where a seek ended behind a leaf's last key.
        if (cursor->path[level].at < cursor->path[level].count &&
            ++cursor->path[level].at < cursor->path[level].count)
            return cursor_descend(cursor, true);
        cursor->depth--;
    }
    return LARDER_END;
}

larder_status tree_cursor_previous(tree_cursor *cursor) {
    while (cursor->depth > 0) {
        uint32_t level = cursor->depth - 1;
        if (cursor->path[level].at > 0) {
            cursor->path[level].at--;
            return cursor_descend(cursor, false);
        }
        cursor->depth--;
    }
    return LARDER_END;
}

larder_status tree_cursor_get(const tree_cursor *cursor, larder_bytes *key, larder_bytes *value) {
    const tree *state = cursor->tree;
    *key = *value = (larder_bytes){NULL, 0};
    if (cursor->depth == 0 || cursor->depth != state->depth) return LARDER_EDAMAGED;
    uint64_t number = cursor->path[cursor->depth - 1].page;
    uint32_t at = cursor->path[cursor->depth - 1].at;
    tree_page page;
    tree_node node;
    uint64_t overflow;
    if (!page_open(state, number, PAGE_LEAF, &page) || at >= page.count ||
        !page_node(&page, at, &node))
        return tree_damaged(state, number);
    *key = node_key(&node);
    return node_value(state, &page, &node, value, &overflow);
}

uint64_t tree_count_space(const tree *from, uint8_t space) {
    uint64_t count = 0;
    tree_cursor place;
    larder_bytes key, value;
    larder_status status = tree_cursor_seek(&place, from, (larder_bytes){&space, 1});
    for (; !status; status = tree_cursor_next(&place), count++)
        if (tree_cursor_get(&place, &key, &value) || key.length == 0 ||
            *(const uint8_t *)key.data != space)
            break;
    return count;
}
