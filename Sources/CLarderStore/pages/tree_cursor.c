// SPDX-License-Identifier: MIT
/** @file tree_cursor.c
    The way from the root to a leaf's node. If a page on the way down is damaged, the way ends above
    it, at the node that leads to it; a further step goes on from there, to the next node of that
    page. So a step never comes back to the same damage.

    A page is also damage if its keys are not between the separators that led to it. No two places
    of a tree have those in common, so a page that several nodes lead to is read at one of them at
    most, and a pass ends after as many steps as the file has nodes, whatever it holds. */
#include "larder_os_machine.h"
#include "pages/tree_page.h"

/** The separators around the node that the path takes: where it begins, and where the next one
    does; without bytes where there is none. One that is not in its turn is damage: another node's
    offset may be in its place, which leads to a page that would be right there. */
static bool separators_at(const tree_page *above, uint32_t at, page_bounds *out) {
    tree_node before, here, behind;
    *out = (page_bounds){{NULL, 0}, {NULL, 0}};
    if (at > 0 && !page_node(above, at, &here)) return false;
    if (at > 0) out->lower = node_key(&here);
    if (at + 1 < above->count && !page_node(above, at + 1, &behind)) return false;
    if (at + 1 < above->count) out->upper = node_key(&behind);
    // The first key of a branch page has no meaning.
    if (at > 1 &&
        (!page_node(above, at - 1, &before) || compare_bytes(node_key(&before), out->lower) >= 0))
        return false;
    return !out->lower.data || !out->upper.data || compare_bytes(out->lower, out->upper) < 0;
}

larder_status larder_tree_cursor_bounds(const tree_cursor *cursor, page_bounds *bounds) {
    *bounds = (page_bounds){{NULL, 0}, {NULL, 0}};
    for (uint32_t level = cursor->depth; level-- > 0;) {
        const tree_page *above = &cursor->path[level].page;
        page_bounds here;
        if (!separators_at(above, cursor->path[level].at, &here))
            return tree_damaged(cursor->tree, above->number);
        if (!bounds->lower.data) bounds->lower = here.lower;
        if (!bounds->upper.data) bounds->upper = here.upper;
    }
    return LARDER_OK;
}

/** Whether the page that the path leads to has its keys where the path says. */
static larder_status cursor_prove(const tree_cursor *cursor, const tree_page *page, bool is_leaf) {
    page_bounds bounds;
    larder_status status = larder_tree_cursor_bounds(cursor, &bounds);
    if (status) return status;
    tree_node first, last;
    // The first key of a branch page has no meaning; one with a single child has no keys at all.
    if ((!is_leaf && page->count < 2) || !page_node(page, is_leaf ? 0 : 1, &first) ||
        !page_node(page, page->count - 1, &last) ||
        (bounds.lower.data && compare_bytes(node_key(&first), bounds.lower) < 0) ||
        (bounds.upper.data && compare_bytes(node_key(&last), bounds.upper) >= 0))
        return tree_damaged(cursor->tree, page->number);
    return LARDER_OK;
}

/** Opens the page that the path leads to, behind its last one. */
static inline larder_status cursor_open(tree_cursor *cursor, bool *is_leaf) {
    const tree *state = cursor->tree;
    uint64_t number = state->main.root;
    if (cursor->depth > 0) {
        const tree_page *above = &cursor->path[cursor->depth - 1].page;
        tree_node node;
        if (!page_node(above, cursor->path[cursor->depth - 1].at, &node))
            return tree_damaged(state, above->number);
        number = node_child(&node);
    }
    if (state->waits_for_none && number < state->page_count &&
        !larder_os_is_in_memory(tree_page_at(state, number), state->page_bytes))
        return EAGAIN;
    *is_leaf = cursor->depth + 1 == state->main.depth;
    cursor->path[cursor->depth].at = 0;
    if (!page_open(state, number, *is_leaf, &cursor->path[cursor->depth].page))
        return tree_damaged(state, number);
    return LARDER_OK;
}

larder_status larder_tree_cursor_enter(tree_cursor *cursor) {
    bool is_leaf;
    larder_status status = cursor_open(cursor, &is_leaf);
    if (!status) status = cursor_prove(cursor, &cursor->path[cursor->depth].page, is_leaf);
    if (!status) cursor->depth++;
    return status;
}

larder_status larder_tree_cursor_aim(tree_cursor *cursor, larder_bytes key, bool *equal) {
    const tree_page *page = &cursor->path[cursor->depth - 1].page;
    uint32_t *at = &cursor->path[cursor->depth - 1].at;
    bool is_leaf = cursor->depth == cursor->tree->main.depth;
    if (!page_search(page, is_leaf ? 0 : 1, key, at, equal)) {
        cursor->depth--;
        return tree_damaged(cursor->tree, page->number);
    }
    if (!is_leaf && !*equal) --*at;
    return LARDER_OK;
}

/** Goes by the end of the path's last page: there must be no more in it than it says. */
static larder_status cursor_pass_end(tree_cursor *cursor) {
    const tree_page *page = &cursor->path[cursor->depth - 1].page;
    if (larder_page_is_full(page, cursor->depth == cursor->tree->main.depth)) return LARDER_OK;
    cursor->depth--;
    return tree_damaged(cursor->tree, page->number);
}

/** Goes down to the first or the last leaf node below the path. */
static larder_status cursor_descend(tree_cursor *cursor, bool forward) {
    while (cursor->depth < cursor->tree->main.depth) {
        larder_status status = larder_tree_cursor_enter(cursor);
        if (!status && !forward) status = cursor_pass_end(cursor);
        if (status) return status;
        if (!forward)
            cursor->path[cursor->depth - 1].at = cursor->path[cursor->depth - 1].page.count - 1;
    }
    return LARDER_OK;
}

/** Goes down along `key`; then the cursor's last index is that of the first key that is not less,
    and may be the page's count. */
static larder_status cursor_find(tree_cursor *cursor, const tree *state, larder_bytes key) {
    bool equal;
    cursor->tree = state;
    cursor->depth = 0;
    larder_status status = LARDER_OK;
    while (!status && cursor->depth < state->main.depth) {
        status = larder_tree_cursor_enter(cursor);
        if (!status) status = larder_tree_cursor_aim(cursor, key, &equal);
    }
    return status;
}

static larder_status cursor_step(tree_cursor *cursor, bool forward) {
    for (; cursor->depth > 0; cursor->depth--) {
        uint32_t *at = &cursor->path[cursor->depth - 1].at;
        // The index may be the count already, where a seek ended behind a leaf's last key.
        const uint32_t count = cursor->path[cursor->depth - 1].page.count;
        if (forward ? *at + 1 >= count : *at == count) {
            larder_status status = cursor_pass_end(cursor);
            if (status) return status;
        }
        if (forward ? *at + 1 < count : *at > 0) {
            *at = forward ? *at + 1 : *at - 1;
            return cursor_descend(cursor, forward);
        }
    }
    return LARDER_END;
}

larder_status larder_tree_cursor_next(tree_cursor *cursor) { return cursor_step(cursor, true); }

larder_status larder_tree_cursor_previous(tree_cursor *cursor) {
    return cursor_step(cursor, false);
}

larder_status larder_tree_cursor_seek(tree_cursor *cursor, const tree *state, larder_bytes key) {
    larder_status status = cursor_find(cursor, state, key);
    if (status) return status;
    if (cursor->depth == 0) return LARDER_END;
    uint32_t level = cursor->depth - 1;
    bool is_there = cursor->path[level].at < cursor->path[level].page.count;
    return is_there ? LARDER_OK : larder_tree_cursor_next(cursor);
}

larder_status larder_tree_cursor_seek_back(tree_cursor *cursor, const tree *of, larder_bytes key) {
    larder_status status = cursor_find(cursor, of, key);
    return status ? status : larder_tree_cursor_previous(cursor);
}

larder_status larder_tree_cursor_get(const tree_cursor *cursor, larder_bytes *key,
                                     larder_bytes *value) {
    *key = *value = (larder_bytes){NULL, 0};
    if (cursor->depth == 0 || cursor->depth != cursor->tree->main.depth) return LARDER_EDAMAGED;
    const tree_page *page = &cursor->path[cursor->depth - 1].page;
    uint32_t at = cursor->path[cursor->depth - 1].at;
    tree_node node;
    uint64_t overflow;
    if (!page_node(page, at, &node)) return tree_damaged(cursor->tree, page->number);
    if (cursor->tree->waits_for_none && load16(node.bytes + 4) == NODE_OVERFLOWS) return EAGAIN;
    *key = node_key(&node);
    return node_value(cursor->tree, page, &node, value, &overflow);
}

bool larder_tree_cursor_is_in_order(const tree_cursor *cursor) {
    const tree_page *page = &cursor->path[cursor->depth - 1].page;
    const uint32_t at = cursor->path[cursor->depth - 1].at;
    tree_node here, beside;
    if (!page_node(page, at, &here)) return false;
    if (at > 0 && (!page_node(page, at - 1, &beside) ||
                   compare_bytes(node_key(&beside), node_key(&here)) >= 0))
        return false;
    return at + 1 >= page->count || (page_node(page, at + 1, &beside) &&
                                     compare_bytes(node_key(&here), node_key(&beside)) < 0);
}

/** Whether the nodes up to two before and behind `at` are in order, and those beside it as long as
    they say. One whose key has changed leads a search astray that ends beside it. No key is empty:
    one whose head is zeros seems so, and the key that the zeros begin in may be in order behind
    it. */
static bool is_in_order(const tree_page *page, uint32_t at) {
    const uint32_t from = at > 2 ? at - 2 : 0, to = at + 2 < page->count ? at + 2 : page->count;
    tree_node node;
    larder_bytes before = {NULL, 0};
    for (uint32_t i = from; i < to; i++) {
        if (!page_node(page, i, &node) || node.key_bytes == 0) return false;
        if (i > from && compare_bytes(before, node_key(&node)) >= 0) return false;
        if ((i == at || i + 1 == at) && !larder_page_has_node_behind(page, &node)) return false;
        before = node_key(&node);
    }
    return true;
}

/** Whether one bit, also of its length, or zeros may have made the one key of the other. */
static bool is_nearly(larder_bytes found, larder_bytes wanted) {
    const uint8_t *a = found.data, *b = wanted.data;
    const size_t common = found.length < wanted.length ? found.length : wanted.length;
    uint32_t bits = (uint32_t)__builtin_popcountll(found.length ^ wanted.length);
    uint32_t other = 0;
    for (size_t i = 0; i < common; i++) {
        if (a[i] == b[i]) continue;
        bits += (uint32_t)__builtin_popcount(a[i] ^ b[i]);
        other += a[i] != 0;
        if (bits > 1 && other > 0) return false;
    }
    return bits <= 1 || found.length == wanted.length;
}

/** What the nodes beside `at` have whose keys may be the wanted one, changed.
    @return EAGAIN of a tree that waits for no page, if there is one: few look at them. */
static larder_status find_twins(const tree *state, const tree_page *leaf, uint32_t at,
                                larder_bytes key, tree_twin twins[2]) {
    for (uint32_t i = 0; i < 2; i++) {
        tree_node node;
        larder_bytes value;
        uint64_t overflow;
        // The last one before it, and the one in its place.
        if (at + i == 0 || at + i > leaf->count || !page_node(leaf, at + i - 1, &node)) continue;
        if (!is_nearly(node_key(&node), key)) continue;
        if (state->waits_for_none) return EAGAIN;
        if (!node_value(state, leaf, &node, &value, &overflow))
            twins[i] = (tree_twin){node_key(&node), value};
    }
    return LARDER_OK;
}

/** Sees that nothing is hidden behind the end of a leaf, or before its beginning: neither in the
    pages of the way to it, nor because the separators there have changed, for then the leaf beside
    it is not where they say. */
static larder_status prove_beside(const tree_cursor *leaf, bool forward) {
    const tree *state = leaf->tree;
    const tree_page *page = &leaf->path[leaf->depth].page;
    // Where keys grow, searches end at the end of the same leaf again and again.
    if (forward && __atomic_load_n(&state->full_leaf, __ATOMIC_RELAXED) == page->number)
        return LARDER_OK;
    if (forward && !larder_page_is_full(page, true)) return tree_damaged(state, page->number);
    tree_cursor beside;
    memcpy(&beside, leaf, offsetof(tree_cursor, path) + leaf->depth * sizeof *leaf->path);
    larder_status status = cursor_step(&beside, forward);
    if (status == LARDER_EDAMAGED) return tree_damaged(state, page->number);
    if (status == EAGAIN) return status;
    if (forward)
        __atomic_store_n((uint64_t *)(uintptr_t)&state->full_leaf, page->number, __ATOMIC_RELAXED);
    return LARDER_OK;
}

larder_status larder_tree_get(const tree *state, larder_bytes key, larder_bytes *value) {
    return larder_tree_find(state, key, value, NULL);
}

larder_status larder_tree_find(const tree *state, larder_bytes key, larder_bytes *value,
                               tree_twin twins[2]) {
    tree_cursor cursor;
    larder_bytes found;
    bool equal = false, is_leaf;
    *value = (larder_bytes){NULL, 0};
    if (twins) memset(twins, 0, 2 * sizeof *twins);
    cursor.tree = state;
    for (cursor.depth = 0; cursor.depth < state->main.depth;) {
        larder_status status = cursor_open(&cursor, &is_leaf);
        cursor.depth++;
        if (!status) status = larder_tree_cursor_aim(&cursor, key, &equal);
        if (status) return status;
    }
    if (equal) return larder_tree_cursor_get(&cursor, &found, value);
    if (state->main.depth == 0) return LARDER_ENOTFOUND;
    // A page from elsewhere in the tree has all its keys on one side of the separators on the way
    // to it. So it is the right one if the key would be between two of its own.
    const tree_page *leaf = &cursor.path[--cursor.depth].page;
    uint32_t at = cursor.path[cursor.depth].at;
    bool is_last = at == leaf->count, is_at_end = at == 0 || is_last;
    larder_status status = is_at_end ? cursor_prove(&cursor, leaf, true) : LARDER_OK;
    if (!status && !is_in_order(leaf, at)) status = tree_damaged(state, leaf->number);
    if (!status && is_at_end) status = prove_beside(&cursor, is_last);
    if (!status && twins) status = find_twins(state, leaf, at, key, twins);
    return status ? status : LARDER_ENOTFOUND;
}

larder_status larder_tree_note_damage(const tree *state, const void *at) {
    return tree_damaged(state, (uint64_t)((const uint8_t *)at - state->map) / state->page_bytes);
}

uint64_t larder_tree_count_space(const tree *from, uint8_t space) {
    uint64_t count = 0;
    tree_cursor place;
    larder_bytes key, value;
    larder_status status = larder_tree_cursor_seek(&place, from, (larder_bytes){&space, 1});
    for (; !status; status = larder_tree_cursor_next(&place), count++)
        if (larder_tree_cursor_get(&place, &key, &value) || key.length == 0 ||
            *(const uint8_t *)key.data != space)
            break;
    return count;
}
