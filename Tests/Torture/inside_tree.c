// SPDX-License-Identifier: MIT
// What the readers of LMDB's pages promise to whoever calls them, where no store calls them so: of a
// file that ends in its first pages, of an empty tree, without a place to note damage. By itself,
// because the library's own headers and the harness's have names in common.
#include "faults.h"
#include "pages/tree_page.h"

#define HOLD(condition)                                                                            \
    if (!(condition)) return #condition

const char *tree_contract(const uint8_t *map, uint64_t bytes) {
    static const larder_bytes first = {"", 0}, meta = {"\x01", 1};
    tree states[TREE_META_PAGES], state, part;
    tree_report report;
    tree_cursor cursor;
    larder_bytes key, value;
    for (int which = 0; which < TREE_META_PAGES; which++) {
        HOLD(tree_of_meta_page(map, 100, which, &part) == LARDER_EDAMAGED);
        HOLD(tree_of_meta_page(map + sizeof(meta_page), PAGE_MIN_BYTES, which, &part) != LARDER_OK);
        HOLD(tree_of_meta_page(map, bytes, which, &states[which]) == LARDER_OK);
    }
    int newer = states[1].transaction > states[0].transaction;
    state = states[newer];
    HOLD(tree_audit(&state, &report) == LARDER_OK && report.damaged_pages == 0);
    HOLD(tree_get(&state, meta, &value) == LARDER_OK && value.length > 0);

    // A file of one page and a bit.
    HOLD(tree_of_meta_page(map, state.page_bytes + 200, newer, &part) == LARDER_OK);
    HOLD(tree_audit(&part, &report) == LARDER_EDAMAGED && report.damaged_pages == 1);
    HOLD(tree_audit_free_list(&part) == LARDER_EDAMAGED);
    HOLD(tree_get(&part, meta, &value) == LARDER_EDAMAGED);

    part = state;
    part.main = (tree_head){.root = TREE_NO_PAGE};
    HOLD(tree_get(&part, meta, &value) == LARDER_ENOTFOUND);
    HOLD(tree_cursor_seek(&cursor, &part, first) == LARDER_END);
    HOLD(tree_cursor_get(&cursor, &key, &value) == LARDER_EDAMAGED && !key.data && !value.data);
    HOLD(tree_cursor_seek_back(&cursor, &part, meta) == LARDER_END);
    HOLD(tree_count_space(&part, SPACE_META) == 0);

    // Of a level that there is not, the way ends above the damage.
    part = state;
    part.main.depth++;
    HOLD(tree_cursor_seek(&cursor, &part, first) == LARDER_EDAMAGED);
    HOLD(cursor.depth > 0 && cursor.depth < part.main.depth);
    HOLD(tree_cursor_get(&cursor, &key, &value) == LARDER_EDAMAGED && !key.data && !value.data);
    uint64_t offset = 0;
    part.damage_offset = &offset;
    HOLD(tree_cursor_seek(&cursor, &part, first) == LARDER_EDAMAGED && offset > 0);
    return NULL;
}
