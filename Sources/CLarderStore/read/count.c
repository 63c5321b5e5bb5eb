// SPDX-License-Identifier: MIT
/** @file count.c
    How many entries a query would give, from the rows that lead to them.

    A range is one run of tree keys, and so its rows are counted without a look at the records: in
    the order of keys each row is an entry, and in an index each is one value of an entry. That is
    too many where a pending write replaces the entry, and where it has expired but was not removed
    yet. Both are few, and can be told: what is pending is in the overlay, and what can have expired
    has a row of SPACE_EXPIRY that is due (apply.c, invariant 2). By key each of them is looked
    up and taken off; in an index each row is looked at, where there are any. Those of pending
    writes are added.

    All of this works only as far as the tree keys tell, and as long as no limit makes entries
    expire that have no such row. Otherwise the entries are gone over, one after the other. */
#include "pages/tree_page.h"
#include "read/cursor.h"

enum {
    /** The shortest tree key of a cut value. */
    CUT_KEY_MIN_BYTES = 3 + (INDEX_VALUE_ROOM - 1) + 2,
    /** Of rows that are due: with more, going over the entries is what takes a known time. */
    DUE_MAX_COUNT = 4096
};

/** Whether everything in the tree that has expired has a row that is due. Under a limit of age,
    entries that were written while there was another one may have a later row, or none. */
static bool expiry_is_in_rows(const larder_store_cursor *cursor) {
    const larder_store *store = cursor->store;
    return (cursor->query.flags & LARDER_STORE_EXPIRED_TOO) ||
           (atomic_load_explicit(&store->expiry.age_ns, memory_order_relaxed) ==
                LARDER_STORE_NEVER &&
            atomic_load_explicit(&store->expiry.end_ns, memory_order_relaxed) >
                expiry_now(&store->expiry) &&
            !expiry_is_behind_rows(&store->expiry));
}

/** Whether the row's entry does not count because it has expired. */
static larder_status look_at(const larder_store_cursor *cursor, cursor_row *row, bool *is_expired) {
    record entry;
    *is_expired = false;
    if (cursor->query.flags & LARDER_STORE_EXPIRED_TOO) return LARDER_OK;
    larder_status status = larder_cursor_resolve(cursor, row);
    if (!status) status = larder_record_read(row->record, true, &entry);
    if (!status)
        *is_expired = larder_store_is_expired(
            cursor->store, &entry,
            larder_store_deadline(cursor->store, cursor->place, &entry, false));
    return status;
}

/** The same for the tree's entry of a stored key. */
static larder_status look_up(const larder_store_cursor *cursor, larder_bytes stored,
                             bool *is_expired) {
    cursor_row row = {.stored = stored};
    larder_status status = larder_cursor_find_entry(cursor, stored, &row);
    if (!status) status = look_at(cursor, &row, is_expired);
    return status == LARDER_ENOTFOUND ? LARDER_EDAMAGED : status;
}

/** Lists the entries of the tree whose time may be over.
    @return LARDER_OK; LARDER_EDAMAGED if there are too many, or pages are damaged; ENOMEM. */
static larder_status list_due(const larder_store_cursor *cursor, row_array *due) {
    const tree *state = &cursor->place->tree;
    const uint8_t space = SPACE_EXPIRY;
    int64_t now_ns = expiry_now(&cursor->store->expiry);
    if (cursor->query.flags & LARDER_STORE_EXPIRED_TOO) return LARDER_OK;
    tree_cursor at;
    cursor_row row = {0};
    tree_key start = {.length = 1, .bytes = {space}};
    larder_status status = larder_cursor_prove_beside(cursor, &start, NULL, true);
    if (!status) status = larder_tree_cursor_seek(&at, state, bytes_of_key(&start));
    for (; !status; status = larder_tree_cursor_next(&at)) {
        larder_bytes key;
        status = larder_tree_cursor_get(&at, &key, &row.stored);
        if (status) break;
        const uint8_t *bytes = key.data;
        bool is_other = key.length == 0 || bytes[0] != space;
        if (!is_other && (key.length != EXPIRY_KEY_BYTES || due->count == DUE_MAX_COUNT))
            return LARDER_EDAMAGED;
        // Where one that changed lies, others may be missing.
        if (is_other || unflip(get_be64(bytes + 1)) > now_ns) {
            status = larder_cursor_prove(cursor, &at);
            break;
        }
        status = larder_row_array_add(due, &row);
        if (status) break;
    }
    // An entry counts once, though a write that was damaged may have left a row of its own.
    larder_cursor_sort(due);
    return status == LARDER_END ? LARDER_OK : status;
}

/** By key: how many of the tree's entries in the range a pending write replaces, or are over. */
static larder_status wrong_count(larder_store_cursor *cursor, const row_array *due,
                                 uint64_t *count) {
    larder_overlay_rewind(cursor);
    for (const cursor_row *pending; (pending = larder_overlay_peek(cursor));
         larder_overlay_step(cursor)) {
        cursor_row row;
        larder_status status = larder_cursor_find_entry(cursor, pending->stored, &row);
        if (status && status != LARDER_ENOTFOUND) return status;
        *count += !status;
    }
    for (size_t i = 0; i < due->count; i++) {
        const cursor_row *row = &due->items[i];
        bool is_expired = false;
        larder_status status = LARDER_OK;
        if (larder_cursor_side(cursor, row->value, row->stored) == 0 &&
            !larder_overlay_find(cursor, row->stored))
            status = look_up(cursor, row->stored, &is_expired);
        if (status) return status;
        *count += is_expired;
    }
    return LARDER_OK;
}

/** Whether a row of an index counts, which leads to the entry of that stored key. */
static larder_status row_counts(const larder_store_cursor *cursor, const row_array *due,
                                larder_bytes stored, bool *counts) {
    bool is_expired;
    *counts = !larder_overlay_find(cursor, stored);
    if (!*counts || !larder_rows_find(due, stored)) return LARDER_OK;
    larder_status status = look_up(cursor, stored, &is_expired);
    *counts = status || !is_expired;
    return status;
}

/** Counts the rows of a leaf up to index `to`, or until they are `limit`. */
static larder_status leaf_count(const larder_store_cursor *cursor, const row_array *due,
                                const tree_cursor *at, uint32_t to, uint64_t limit,
                                uint64_t *count) {
    bool is_index = cursor->query.order == LARDER_STORE_BY_INDEX;
    bool has_suspects = is_index && cursor->pending.by_key_count + due->count > 0;
    const tree_page *page = &at->path[at->depth - 1].page;
    // Nobody reads the rows between the two ends: they are one behind the other at least.
    if (!larder_page_is_full(page, true)) return LARDER_EDAMAGED;
    for (uint32_t i = at->path[at->depth - 1].at; i < to && *count < limit; i++) {
        tree_node node;
        size_t form_bytes;
        bool is_cut, counts = true;
        if (!page_node(page, i, &node)) return LARDER_EDAMAGED;
        // How many values such a row stands for only the record tells.
        if (is_index && node.key_bytes >= CUT_KEY_MIN_BYTES &&
            (!larder_tree_key_index_value(node_key(&node), &form_bytes, &is_cut) || is_cut))
            return LARDER_EDAMAGED;
        if (has_suspects) {
            larder_bytes value, stored;
            uint64_t overflow;
            larder_status status = node_value(at->tree, page, &node, &value, &overflow);
            if (!status) status = larder_cursor_index_row(cursor, node_key(&node), value, &stored);
            if (!status) status = row_counts(cursor, due, stored, &counts);
            if (status) return status;
        }
        *count += counts;
    }
    return LARDER_OK;
}

/** Whether the rows on both sides of the place where the range ends are what they say. Those of
    the range are seen to be that when they are read, but nobody reads them here. */
static larder_status end_prove(const larder_store_cursor *cursor, const tree_cursor *end) {
    larder_status status = larder_cursor_prove(cursor, end);
    return status ? status : larder_cursor_prove_beside(cursor, &cursor->end, end, true);
}

/** Counts rows of the tree's range until they are `limit`; in an index, those that count. */
static larder_status range_count(const larder_store_cursor *cursor, const row_array *due,
                                 uint64_t limit, uint64_t *count) {
    tree_cursor at;
    larder_bytes end = bytes_of_key(&cursor->end);
    larder_status status =
        larder_tree_cursor_seek(&at, &cursor->place->tree, bytes_of_key(&cursor->start));
    if (status == LARDER_END) return larder_cursor_prove_beside(cursor, &cursor->start, NULL, true);
    if (!status) status = larder_cursor_prove(cursor, &at);
    if (!status) status = larder_cursor_prove_beside(cursor, &cursor->start, &at, true);
    while (!status && *count < limit) {
        const tree_page *page = &at.path[at.depth - 1].page;
        uint32_t to;
        bool is_found;
        if (!page_search(page, at.path[at.depth - 1].at, end, &to, &is_found))
            return LARDER_EDAMAGED;
        status = leaf_count(cursor, due, &at, to, limit, count);
        at.path[at.depth - 1].at = to;
        bool has_ended = to < page->count;
        if (!status) status = has_ended ? end_prove(cursor, &at) : larder_tree_cursor_next(&at);
        if (has_ended) break;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/** Adds those of the tree's entries, or rows of an index, that count. */
static larder_status tree_count(larder_store_cursor *cursor, const row_array *due, uint64_t limit,
                                uint64_t *count) {
    uint64_t wrong = 0, rows = 0;
    if (cursor->query.order == LARDER_STORE_BY_INDEX) return range_count(cursor, due, limit, count);
    larder_status status = wrong_count(cursor, due, &wrong);
    if (status) return status;
    // Of everything the number is known.
    bool is_whole = cursor->query.prefix.length == 0 && !(cursor->query.flags & QUERY_BOUNDS);
    if (is_whole) rows = cursor->place->meta.count;
    else
        status =
            range_count(cursor, due, limit > UINT64_MAX - wrong ? limit : limit + wrong, &rows);
    if (!status && wrong > rows) status = LARDER_EDAMAGED;
    if (!status) *count += rows - wrong;
    return status;
}

/** Entries that are pending, until they are `limit`. */
static larder_status pending_count(larder_store_cursor *cursor, uint64_t limit, uint64_t *count) {
    larder_overlay_rewind(cursor);
    for (cursor_row *row; *count < limit && (row = larder_overlay_peek(cursor));
         larder_overlay_step(cursor)) {
        bool is_expired = true;
        larder_status status = row->is_removal ? LARDER_OK : look_at(cursor, row, &is_expired);
        if (status) return status;
        *count += !is_expired;
    }
    return LARDER_OK;
}

/** @return LARDER_OK; LARDER_EDAMAGED if it cannot be told from rows. */
static larder_status count_by_rows(larder_store_cursor *cursor, uint64_t limit, uint64_t *count) {
    row_array due = {0};
    bool has_strays =
        cursor->query.order == LARDER_STORE_BY_INDEX && cursor->place->meta.has_strays;
    if (has_strays || !cursor->has_exact_range || !expiry_is_in_rows(cursor))
        return LARDER_EDAMAGED;
    larder_status status = pending_count(cursor, limit, count);
    if (!status && *count < limit && !cursor->pending.hides_tree) {
        status = list_due(cursor, &due);
        if (!status) status = tree_count(cursor, &due, limit, count);
        free(due.items);
    }
    return status;
}

static larder_status count_each(larder_store_cursor *cursor, uint64_t limit, uint64_t *count) {
    bool is_damaged = false;
    larder_overlay_rewind(cursor);
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
    // They are as many in every order, and the tree may have to make that of use.
    if (query->order == LARDER_STORE_BY_RECENCY && (query->flags & QUERY_BOUNDS) == 0)
        counted.order = LARDER_STORE_BY_KEY;
    larder_store_cursor *cursor;
    larder_status status = larder_store_cursor_open(store, &counted, &cursor);
    if (status) return status;
    status = larder_environment_confirm(cursor->place, count_by_rows(cursor, limit, count));
    if (status == LARDER_EDAMAGED) status = count_each(cursor, limit, count);
    larder_store_cursor_close(cursor);
    if (status && status != LARDER_EDAMAGED) *count = 0;
    if (*count > limit) *count = limit;
    return status;
}
