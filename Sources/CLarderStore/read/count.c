// SPDX-License-Identifier: MIT
/** @file count.c
    How many entries a query would give, from the rows that lead to them.

    A range is one run of tree keys, and so its rows are counted without a look at the records: in
    the order of keys each row is an entry, and in an index each is one value of an entry. That is
    too many where a pending write replaces the entry, and where its time is over but it was not
    removed yet. Both are few, and can be told: what is pending is in the overlay, and what can be
    over has a row of SPACE_EXPIRY that is due (apply.c, invariant 2). So their rows are looked at,
    and those of pending writes added.

    All of this works only as far as the tree keys tell, and as long as no limit makes entries
    expire that have no such row. Otherwise the entries are gone over, one after the other. */
#include <stdlib.h>

#include "pages/tree_page.h"
#include "read/cursor.h"

enum {
    /** The shortest tree key of a cut value. */
    CUT_KEY_MIN_BYTES = 3 + (INDEX_VALUE_ROOM - 1) + 2,
    /** Of rows that are due: with more, going over the entries is what takes a known time. */
    DUE_MAX_COUNT = 4096,
    EXPIRY_KEY_BYTES = 1 + 8 + 8 + 4,
    FILTER_WORDS = 1024
};

/** Entries whose rows may not count. */
typedef struct suspects {
    /** Those of the tree whose time may be over, by key. */
    row_array due;
    /** Of these and what is pending, a bit for the hash of each. */
    uint64_t filter[FILTER_WORDS];
    bool has_any;
} suspects;

/** Whether everything in the tree whose time is over has a row that is due. Under a limit of age,
    entries that were written while there was another one may have a later row, or none. */
static bool expiry_is_in_rows(const larder_store_cursor *cursor) {
    const larder_store *store = cursor->store;
    return (cursor->flags & LARDER_STORE_EXPIRED_TOO) ||
           (atomic_load_explicit(&store->age_ns, memory_order_relaxed) == LARDER_STORE_NEVER &&
            atomic_load_explicit(&store->end_ns, memory_order_relaxed) > store_now(store));
}

/** Everything. */
static bool is_whole(const larder_store_cursor *cursor) {
    const uint32_t bounds = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER;
    return cursor->order == LARDER_STORE_BY_KEY && cursor->prefix.length == 0 &&
           (cursor->flags & bounds) == 0;
}

/** Whether the row's entry, that is there, does not count: its time is over. */
static larder_status look_at(const larder_store_cursor *cursor, cursor_row *row, bool *is_over) {
    record entry;
    *is_over = false;
    if (cursor->flags & LARDER_STORE_EXPIRED_TOO) return LARDER_OK;
    larder_status status = cursor_resolve(cursor, row);
    if (!status) status = record_read(row->record, true, &entry);
    if (!status)
        *is_over = store_is_over(cursor->store, cursor->place, &entry,
                                 store_deadline(cursor->place, &entry));
    return status;
}

/** Lists the entries of the tree whose time may be over.
    @return LARDER_OK; LARDER_EDAMAGED if there are too many, or pages are damaged; ENOMEM. */
static larder_status list_due(const larder_store_cursor *cursor, row_array *due) {
    const tree *state = &cursor->place->tree;
    const uint8_t space = SPACE_EXPIRY;
    int64_t now_ns = store_now(cursor->store);
    if (cursor->flags & LARDER_STORE_EXPIRED_TOO) return LARDER_OK;
    tree_cursor at;
    cursor_row row = {0};
    larder_status status = tree_cursor_seek(&at, state, (larder_bytes){&space, sizeof space});
    for (; !status; status = tree_cursor_next(&at)) {
        larder_bytes key;
        status = tree_cursor_get(&at, &key, &row.stored);
        if (status) break;
        const uint8_t *bytes = key.data;
        if (key.length == 0 || bytes[0] != space) break;
        if (key.length != EXPIRY_KEY_BYTES || due->count == DUE_MAX_COUNT) return LARDER_EDAMAGED;
        if (unflip(get_be64(bytes + 1)) > now_ns) break;
        status = row_array_add(due, &row);
        if (status) break;
    }
    // An entry counts once, though a write that was damaged may have left a row of its own.
    cursor_sort(due);
    return status == LARDER_END ? LARDER_OK : status;
}

/** All of the tree's entries, but those that a pending write replaces or whose time is over. */
static larder_status whole_count(const larder_store_cursor *cursor, const row_array *due,
                                 uint64_t *count) {
    const row_array *pending = &cursor->pending.by_key;
    uint64_t wrong = 0;
    for (size_t i = 0; i < pending->count + due->count; i++) {
        bool is_pending = i < pending->count, is_over = true;
        cursor_row row = {0};
        row.stored = is_pending ? pending->items[i].stored : due->items[i - pending->count].stored;
        if (!is_pending && overlay_rows_find(&cursor->pending, row.stored)) continue;
        larder_status status = cursor_find_entry(cursor, row.stored, &row);
        if (is_pending && status == LARDER_ENOTFOUND) continue;
        if (!status && !is_pending) status = look_at(cursor, &row, &is_over);
        if (status) return status == LARDER_ENOTFOUND ? LARDER_EDAMAGED : status;
        wrong += is_over;
    }
    if (wrong > cursor->place->meta.count) return LARDER_EDAMAGED;
    *count += cursor->place->meta.count - wrong;
    return LARDER_OK;
}

static uint64_t *filter_word(suspects *among, larder_bytes stored, uint64_t *bit) {
    uint64_t hash = touch_hash(stored);
    *bit = (uint64_t)1 << (hash & 63);
    return &among->filter[hash >> 6 & (FILTER_WORDS - 1)];
}

static void filter_add(suspects *among, const row_array *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        uint64_t bit, *word = filter_word(among, rows->items[i].stored, &bit);
        *word |= bit;
    }
    among->has_any = among->has_any || rows->count > 0;
}

/** Whether a row of the range counts, which leads to the entry of that stored key. */
static larder_status row_counts(const larder_store_cursor *cursor, suspects *among,
                                larder_bytes stored, bool *counts) {
    uint64_t bit;
    *counts = true;
    const uint64_t *word = filter_word(among, stored, &bit);
    if ((*word & bit) == 0) return LARDER_OK;
    *counts = !overlay_rows_find(&cursor->pending, stored);
    if (!*counts || !rows_find(&among->due, stored)) return LARDER_OK;
    bool is_over;
    cursor_row row = {.stored = stored};
    larder_status status = cursor_find_entry(cursor, stored, &row);
    if (!status) status = look_at(cursor, &row, &is_over);
    if (!status) *counts = !is_over;
    return status == LARDER_ENOTFOUND ? LARDER_EDAMAGED : status;
}

/** Counts the rows of a leaf up to index `to`, or until they are `limit`. */
static larder_status leaf_count(const larder_store_cursor *cursor, suspects *among, tree_cursor *at,
                                uint32_t to, uint64_t limit, uint64_t *count) {
    bool is_index = cursor->order == LARDER_STORE_BY_INDEX;
    const tree_page *page = &at->path[at->depth - 1].page;
    uint64_t rows = *count;
    for (uint32_t i = at->path[at->depth - 1].at; i < to && rows < limit; i++) {
        tree_node node;
        if (!page_node(page, i, &node)) return LARDER_EDAMAGED;
        size_t form_bytes;
        bool is_cut, counts = true;
        // How many values such a row stands for only the record tells.
        if (is_index && node.key_bytes >= CUT_KEY_MIN_BYTES &&
            (!tree_key_index_value(node_key(&node), &form_bytes, &is_cut) || is_cut))
            return LARDER_EDAMAGED;
        if (among->has_any) {
            if (node.key_bytes == 0) return LARDER_EDAMAGED;
            larder_bytes stored = {node.key + 1, node.key_bytes - 1};
            uint64_t overflow;
            larder_status status = LARDER_OK;
            if (is_index) status = node_value(at->tree, page, &node, &stored, &overflow);
            if (!status) status = row_counts(cursor, among, stored, &counts);
            if (status) return status;
        }
        rows += counts;
    }
    *count = rows;
    return LARDER_OK;
}

/** Counts rows of the tree's range until they are `limit`. */
static larder_status range_count(const larder_store_cursor *cursor, suspects *among, uint64_t limit,
                                 uint64_t *count) {
    tree_cursor at;
    filter_add(among, &cursor->pending.by_key);
    filter_add(among, &among->due);
    larder_status status =
        tree_cursor_seek(&at, &cursor->place->tree, bytes_of_key(&cursor->start));
    while (!status && *count < limit) {
        const tree_page *page = &at.path[at.depth - 1].page;
        uint32_t to;
        bool is_found;
        if (!page_search(page, at.path[at.depth - 1].at, bytes_of_key(&cursor->end), &to,
                         &is_found))
            return LARDER_EDAMAGED;
        status = leaf_count(cursor, among, &at, to, limit, count);
        if (to < page->count) break;
        at.path[at.depth - 1].at = to;
        if (!status) status = tree_cursor_next(&at);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/** Entries that are pending. */
static larder_status pending_count(const larder_store_cursor *cursor, uint64_t *count) {
    const row_array *pending = &cursor->pending.ordered;
    for (size_t i = 0; i < pending->count; i++) {
        bool is_over;
        cursor_row row = pending->items[i];
        larder_status status = look_at(cursor, &row, &is_over);
        if (status) return status;
        *count += !is_over;
    }
    return LARDER_OK;
}

/** @return LARDER_OK; LARDER_EDAMAGED if it cannot be told from rows. */
static larder_status count_by_rows(const larder_store_cursor *cursor, uint64_t limit,
                                   uint64_t *count) {
    suspects among = {.due = {0}};
    if (!cursor->has_exact_range || !expiry_is_in_rows(cursor)) return LARDER_EDAMAGED;
    larder_status status = pending_count(cursor, count);
    if (!status && !cursor->pending.hides_tree) {
        status = list_due(cursor, &among.due);
        if (!status)
            status = is_whole(cursor) ? whole_count(cursor, &among.due, count)
                                      : range_count(cursor, &among, limit, count);
        free(among.due.items);
    }
    return status;
}

static larder_status count_one_by_one(larder_store_cursor *cursor, uint64_t limit,
                                      uint64_t *count) {
    bool is_damaged = false;
    *count = 0;
    while (*count < limit) {
        larder_store_entry entry;
        larder_status status = larder_store_cursor_next(cursor, &entry);
        if (status == LARDER_END) break;
        if (status == LARDER_EDAMAGED) is_damaged = true;
        else if (status) return status;
        else *count += 1;
    }
    return is_damaged ? LARDER_EDAMAGED : LARDER_OK;
}

larder_status larder_store_count(larder_store *store, const larder_store_query *query,
                                 uint64_t limit, uint64_t *count) {
    *count = 0;
    larder_store_query counted = *query;
    const uint32_t bounds = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER |
                            LARDER_STORE_LOWER_EXCLUSIVE | LARDER_STORE_UPPER_EXCLUSIVE;
    // They are as many in every order, and that of use may have a checkpoint come first.
    if (query->order == LARDER_STORE_BY_RECENCY && (query->flags & bounds) == 0)
        counted.order = LARDER_STORE_BY_KEY;
    larder_store_cursor *cursor;
    larder_status status = larder_store_cursor_open(store, &counted, &cursor);
    if (status) return status;
    status = count_by_rows(cursor, limit, count);
    if (status == LARDER_EDAMAGED) status = count_one_by_one(cursor, limit, count);
    larder_store_cursor_close(cursor);
    if (status && status != LARDER_EDAMAGED) *count = 0;
    if (*count > limit) *count = limit;
    return status;
}
