// SPDX-License-Identifier: MIT
/** @file cursor_bounds.c
    Whether a range ends where the tree says.

    LMDB's pages have no checksum. A row that is given is seen to be what it says, as its record has
    a checksum and repeats the key and the values in indexes. But if a bit of a row's key has
    changed in such a way that the row seems to lie outside of the range, nobody would read it: it,
    or what lies behind it, would be missing in silence. So the rows on both sides of each bound are
    looked at too. If they are what they say, the search between them did not go astray. */
#include "pages/tree_page.h"
#include "read/cursor.h"

larder_status larder_cursor_index_row(const larder_store_cursor *cursor, larder_bytes key,
                                      larder_bytes value, larder_bytes *stored) {
    *stored = value;
    if (!meta_seals_index_rows(&cursor->place->meta)) return LARDER_OK;
    return larder_index_row_read(key, value, stored);
}

/** The row of the entry with that stored key.
    @return LARDER_OK; LARDER_ENOTFOUND: there is none; else nothing can be told. */
static larder_status entry_find(const larder_store_cursor *cursor, larder_bytes stored,
                                entry_row *out) {
    cursor_row row;
    larder_status status = larder_cursor_find_entry(cursor, stored, &row);
    return status ? status : larder_row_read(row.record, out);
}

static bool entry_is_wrong(const larder_store_cursor *cursor, larder_bytes stored,
                           larder_bytes value) {
    larder_bytes bytes;
    uint32_t number;
    entry_row row;
    record entry;
    tree_key scratch;
    if (larder_row_read(value, &row)) return true;
    if (larder_log_row(&cursor->store->pending.log, value, &bytes, &number) ||
        larder_record_read(bytes, false, &entry))
        return meta_contradicts_row(&cursor->place->meta, &row);
    larder_bytes own = larder_stored_key(entry.key, cursor->place->meta.secret, &scratch);
    return compare_bytes(own, stored) != 0 && larder_record_read(bytes, true, &entry) == LARDER_OK;
}

static bool expiry_row_is_wrong(const larder_store_cursor *cursor, larder_bytes key,
                                larder_bytes stored) {
    const uint8_t *bytes = key.data;
    entry_row row;
    if (key.length != EXPIRY_KEY_BYTES) return true;
    larder_status status = entry_find(cursor, stored, &row);
    if (status) return status == LARDER_ENOTFOUND;
    return row.sequence != get_be64(bytes + 9) || row.minor != get_be32(bytes + 17);
}

/** Whether a row cannot be what it says. A row whose record cannot be read may well be. */
static bool row_is_wrong(const larder_store_cursor *cursor, larder_bytes key, larder_bytes value) {
    enum { META_KEY_BYTES = 1, SEGMENT_KEY_BYTES = 1 + 4, ORDER_KEY_BYTES = 1 + 16 };
    if (key.length == 0) return true;
    larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
    entry_row row;
    switch (*(const uint8_t *)key.data) {
    case SPACE_META: return key.length != META_KEY_BYTES;
    case SPACE_SEGMENT: return key.length != SEGMENT_KEY_BYTES;
    case SPACE_ENTRY: return entry_is_wrong(cursor, stored, value);
    case SPACE_EXPIRY: return expiry_row_is_wrong(cursor, key, value);
    case SPACE_INDEX: return larder_cursor_index_row(cursor, key, value, &stored) != LARDER_OK;
    case SPACE_RECENCY:
        return value.length != STATE_BYTES || entry_find(cursor, stored, &row) == LARDER_ENOTFOUND;
    case SPACE_ORDER:
        // Rows of an order that was not completed mean nothing.
        return key.length != ORDER_KEY_BYTES ||
               (cursor->place->meta.has_order &&
                entry_find(cursor, value, &row) == LARDER_ENOTFOUND);
    default: return true;
    }
}

/** Whether the row is all of its node, and lies between those beside it in its page. If it does
    not, its place in the page names another row, and its own is missing. */
static bool is_in_its_place(const tree_cursor *at, larder_bytes key) {
    const tree_page *page = &at->path[at->depth - 1].page;
    uint32_t index = at->path[at->depth - 1].at;
    tree_node node, before, behind;
    if (!page_node(page, index, &node) || !larder_page_has_node_behind(page, &node)) return false;
    if (index > 0 &&
        (!page_node(page, index - 1, &before) || compare_bytes(node_key(&before), key) >= 0))
        return false;
    return index + 1 >= page->count ||
           (page_node(page, index + 1, &behind) && compare_bytes(key, node_key(&behind)) < 0);
}

larder_status larder_cursor_prove(const larder_store_cursor *cursor, const tree_cursor *at) {
    larder_bytes key, value;
    larder_status status = larder_tree_cursor_get(at, &key, &value);
    if (status) return status;
    return is_in_its_place(at, key) && !row_is_wrong(cursor, key, value) ? LARDER_OK
                                                                         : LARDER_EDAMAGED;
}

larder_status larder_cursor_prove_beside(const larder_store_cursor *cursor, const tree_key *bound,
                                         const tree_cursor *at, bool is_before) {
    const tree *state = &cursor->place->tree;
    larder_bytes key, value, limit = bytes_of_key(bound);
    tree_cursor beside;
    larder_status status;
    if (at) {
        beside = *at;
        status =
            is_before ? larder_tree_cursor_previous(&beside) : larder_tree_cursor_next(&beside);
    } else {
        status = is_before ? larder_tree_cursor_seek_back(&beside, state, limit)
                           : larder_tree_cursor_seek(&beside, state, limit);
    }
    if (status == LARDER_END) return LARDER_OK;
    if (!status) status = larder_tree_cursor_get(&beside, &key, &value);
    if (status) return status;
    bool is_where = (compare_bytes(key, limit) < 0) == is_before;
    return is_where ? larder_cursor_prove(cursor, &beside) : LARDER_EDAMAGED;
}
