// SPDX-License-Identifier: MIT
/** @file cursor_ahead.c
    The next rows of an index lead to entries all over the tree, and those to records all over the
    log. One after the other, each would wait for memory some ten times. So several are looked for
    together, page by page: while one waits, the others have their memory fetched.

    What is found here is what larder_tree_get would find. What is not found, be it not there or
    damaged, is left to that. */
#include "pages/tree_page.h"
#include "read/cursor.h"

/** The way to one entry. */
typedef struct search {
    tree_key key;
    tree_page page;
    uint64_t number;
    bool is_over;
} search;

/** Notes the entries that the next rows of the index's leaf lead to, as far as they are in the
    range. @return how many there are. */
static uint32_t collect(larder_store_cursor *cursor, uint32_t wanted, search *searches) {
    const tree_cursor *at = &cursor->tree.cursor;
    const tree_page *leaf = &at->path[at->depth - 1].page;
    uint32_t index = at->path[at->depth - 1].at, count = 0;
    larder_bytes start = bytes_of_key(&cursor->start), end = bytes_of_key(&cursor->end);
    // Below 0 it is not less than the count either.
    for (; count < wanted && index < leaf->count; index += cursor->descends ? UINT32_MAX : 1) {
        tree_node node;
        larder_bytes value, stored;
        uint64_t overflow;
        if (!page_node(leaf, index, &node) ||
            node_value(at->tree, leaf, &node, &value, &overflow) ||
            compare_bytes(node_key(&node), start) < 0 || compare_bytes(node_key(&node), end) >= 0 ||
            larder_cursor_index_row(cursor, node_key(&node), value, &stored))
            break;
        cursor->tree.ahead.rows[count] = (ahead_row){.stored = stored.data};
        larder_tree_key_of_stored(SPACE_ENTRY, stored, &searches[count].key);
        searches[count].number = at->tree->main.root;
        searches[count++].is_over = false;
    }
    return count;
}

/** Has the processor fetch the nodes that a search in the page may look at first. */
static void prefetch_nodes(const tree_page *page) {
    enum { EIGHTHS = 8 };
    for (uint32_t i = 1; i < EIGHTHS; i++) page_prefetch(page, page->count * i / EIGHTHS);
}

/** Opens the next page of each search. */
static void open_pages(const tree *state, bool is_leaf, search *searches, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        search *next = &searches[i];
        next->is_over = next->is_over || !page_open(state, next->number, is_leaf, &next->page);
        if (!next->is_over && is_leaf) prefetch_nodes(&next->page);
    }
}

/** Goes down to the child where the entry has to be. */
static void search_branch(const tree *state, search *next) {
    enum { LINE_BYTES = 64, HEAD_LINES = 4 };
    uint32_t at;
    bool is_equal;
    tree_node node;
    next->is_over = !page_search(&next->page, 1, bytes_of_key(&next->key), &at, &is_equal) ||
                    !page_node(&next->page, is_equal ? at : at - 1, &node);
    if (next->is_over) return;
    next->number = node_child(&node);
    if (next->number >= state->page_count) return;
    for (uint32_t line = 0; line < HEAD_LINES; line++)
        __builtin_prefetch(tree_page_at(state, next->number) + (size_t)line * LINE_BYTES);
}

static void search_leaf(const larder_store_cursor *cursor, const search *last, ahead_row *row) {
    const tree *state = &cursor->place->tree;
    uint32_t at;
    uint64_t overflow;
    bool is_equal;
    tree_node node;
    if (!page_search(&last->page, 0, bytes_of_key(&last->key), &at, &is_equal) || !is_equal ||
        !page_node(&last->page, at, &node) ||
        node_value(state, &last->page, &node, &row->row, &overflow))
        row->row = (larder_bytes){NULL, 0};
    else if (row->row.length == ROW_BYTES)
        larder_log_prefetch(&cursor->store->pending.log, row_location(row->row.data));
}

void larder_ahead_look(larder_store_cursor *cursor) {
    ahead_rows *ahead = &cursor->tree.ahead;
    const tree *state = &cursor->place->tree;
    search searches[AHEAD_MAX_COUNT];
    uint64_t wanted = cursor->query.expected;
    ahead->next = ahead->count = 0;
    // As many as are expected; else few at first, in case that nobody wants many.
    if (wanted > ahead->given) wanted -= ahead->given;
    else wanted = ahead->given < 4 ? 4 : ahead->given;
    if (wanted > AHEAD_MAX_COUNT) wanted = AHEAD_MAX_COUNT;
    ahead->given += wanted;
    // A single one waits for nothing else.
    if (wanted < 2) return;
    ahead->count = collect(cursor, (uint32_t)wanted, searches);
    for (uint32_t level = 1; level <= state->main.depth; level++) {
        bool is_leaf = level == state->main.depth;
        open_pages(state, is_leaf, searches, ahead->count);
        for (uint32_t i = 0; i < ahead->count; i++) {
            if (searches[i].is_over) continue;
            if (is_leaf) search_leaf(cursor, &searches[i], &ahead->rows[i]);
            else search_branch(state, &searches[i]);
        }
    }
}

bool larder_ahead_take(ahead_rows *ahead, larder_bytes stored, larder_bytes *row) {
    while (ahead->next < ahead->count) {
        const ahead_row *found = &ahead->rows[ahead->next++];
        if (found->stored != stored.data) continue;
        *row = found->row;
        return row->data != NULL;
    }
    return false;
}
