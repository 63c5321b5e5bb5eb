// SPDX-License-Identifier: MIT
// What the readers of LMDB's pages promise to whoever calls them, where no store calls them so: of
// a file that ends in its first pages, of an empty tree, without a place to note damage; and what
// writes rows, of many changes of one. By itself, because the library's own headers and the
// harness's have names in common.
#include "faults.h"
#include "lmdb/rows.h"
#include "pages/tree_page.h"

#define HOLD(condition)                                                                            \
    if (!(condition)) return #condition

const char *tree_contract(const uint8_t *map, uint64_t bytes) {
    static const larder_bytes first = {"", 0}, meta = {"\x01", 1};
    tree states[TREE_META_PAGES], state, part;
    tree_report report;
    tree_cursor cursor;
    larder_bytes key, value;
    uint8_t *taken;
    for (int which = 0; which < TREE_META_PAGES; which++) {
        HOLD(larder_tree_of_meta_page(map, 100, which, &part) == LARDER_EDAMAGED);
        HOLD(larder_tree_of_meta_page(map + sizeof(meta_page), PAGE_MIN_BYTES, which, &part) !=
             LARDER_OK);
        HOLD(larder_tree_of_meta_page(map, bytes, which, &states[which]) == LARDER_OK);
        // Nothing of it can be read before it has pages.
        HOLD(larder_tree_get(&states[which], meta, &value) != LARDER_OK);
        HOLD(larder_tree_attach(&states[which], map, bytes) == LARDER_OK);
    }
    int newer = states[1].transaction > states[0].transaction;
    state = states[newer];
    HOLD(larder_tree_audit(&state, &report) == LARDER_OK && report.damaged_pages == 0);
    HOLD(larder_tree_get(&state, meta, &value) == LARDER_OK && value.length > 0);

    // A file of one page and a bit.
    HOLD(larder_tree_of_meta_page(map, state.page_bytes + 200, newer, &part) == LARDER_OK);
    HOLD(larder_tree_attach(&part, map, state.page_bytes + 200) == LARDER_OK);
    HOLD(larder_tree_audit(&part, &report) == LARDER_EDAMAGED && report.damaged_pages == 1);
    HOLD(larder_tree_audit_free_list(&part, &taken) == LARDER_EDAMAGED && !taken);
    HOLD(larder_tree_get(&part, meta, &value) == LARDER_EDAMAGED);

    part = state;
    part.main = (tree_head){.root = TREE_NO_PAGE};
    HOLD(larder_tree_get(&part, meta, &value) == LARDER_ENOTFOUND);
    HOLD(larder_tree_cursor_seek(&cursor, &part, first) == LARDER_END);
    HOLD(larder_tree_cursor_get(&cursor, &key, &value) == LARDER_EDAMAGED && !key.data &&
         !value.data);
    HOLD(larder_tree_cursor_seek_back(&cursor, &part, meta) == LARDER_END);
    HOLD(larder_tree_count_space(&part, SPACE_META) == 0);

    // Of a level that there is not, the way ends above the damage.
    part = state;
    part.main.depth++;
    HOLD(larder_tree_cursor_seek(&cursor, &part, first) == LARDER_EDAMAGED);
    HOLD(cursor.depth > 0 && cursor.depth < part.main.depth);
    HOLD(larder_tree_cursor_get(&cursor, &key, &value) == LARDER_EDAMAGED && !key.data &&
         !value.data);
    uint64_t offset = 0;
    part.damage_offset = &offset;
    HOLD(larder_tree_cursor_seek(&cursor, &part, first) == LARDER_EDAMAGED && offset > 0);
    return NULL;
}

/** Puts and deletes of one key in a transaction: deletions come first, then the last one counts. */
static const char *rows_in(environment *env, MDB_txn *txn, MDB_dbi main) {
    static uint8_t text[1 << 16];
    static const char *const values[] = {"first", NULL, "second", "last", NULL};
    tree_key key = {{0x7F, 'k'}, 2};
    row_list list = {0};
    HOLD(row_list_put(&list, &key, (larder_bytes){text, sizeof text}) == LARDER_ETOOLARGE);
    HOLD(larder_row_list_apply(&list, env, txn, main) == LARDER_OK);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        larder_bytes value = {values[i], values[i] ? strlen(values[i]) : 0};
        HOLD(larder_row_list_add(&list, &key, values[i] ? &value : NULL) == LARDER_OK);
    }
    HOLD(larder_row_list_apply(&list, env, txn, main) == LARDER_OK && list.count == 0);
    MDB_val name = {key.length, key.bytes}, found;
    HOLD(mdb_get(txn, main, &name, &found) == 0);
    HOLD(found.mv_size == 4 && memcmp(found.mv_data, "last", 4) == 0);
    HOLD(row_list_delete(&list, &key) == LARDER_OK && list.count == 1);
    HOLD(larder_row_list_apply(&list, env, txn, main) == LARDER_OK);
    HOLD(mdb_get(txn, main, &name, &found) == MDB_NOTFOUND);
    larder_row_list_free(&list);
    return NULL;
}

const char *rows_contract(const char *folder, bool is_damaged) {
    larder_store_detail detail;
    environment *env;
    MDB_txn *txn;
    MDB_dbi main;
    HOLD(larder_environment_open(folder, ENVIRONMENT_WRITES, NULL, 0600, 0, &detail, &env) ==
         LARDER_OK);
    HOLD(larder_environment_begin(env, &txn, &main) == LARDER_OK);
    const char *broken = NULL;
    if (is_damaged) {
        // Whoever passes over the damage commits nothing all the same.
        HOLD(larder_environment_guard(env, "\x10z", 2) == LARDER_EDAMAGED);
        HOLD(larder_environment_end(env, txn, LARDER_OK) == LARDER_EDAMAGED);
        HOLD(larder_environment_begin(env, &txn, &main) == LARDER_EDAMAGED);
    } else {
        broken = rows_in(env, txn, main);
        HOLD(larder_environment_end(env, txn, LARDER_ECLOSED) == LARDER_ECLOSED);
    }
    larder_environment_close(env, true);
    return broken;
}
