// SPDX-License-Identifier: MIT
/** @file count.c
    How many entries a query would give, from the rows that lead to them.

    A range is one run of tree keys, and so its rows are counted leaf by leaf, without a look at the
    records: in the order of keys each row is an entry, and in an index each is one value of an
    entry, but for those of cut values, whose records say how many values they stand for. That is
    too many where a pending write replaces the entry, and where its time is over but it was not
    removed yet. Both are few, and can be told: what is pending is in the overlay, and what can be
    over has a row of SPACE_EXPIRY that is due (apply.c, invariant 2). So their rows are taken off
    again, and those of pending writes added.

    All of this works only as far as the tree keys tell, and as long as no limit makes entries
    expire that have no such row. Otherwise the entries are gone over, one after the other. */
#include "pages/tree_page.h"
#include "read/cursor.h"

enum {
    /** The shortest tree key of a cut value. */
    CUT_KEY_MIN_BYTES = 3 + (INDEX_VALUE_ROOM - 1) + 2,
    /** Of rows that are due: with more, going over the entries is what takes a known time. */
    DUE_MAX_COUNT = 4096,
    EXPIRY_KEY_BYTES = 1 + 8 + 8 + 4
};

typedef struct counter {
    larder_store_cursor *cursor;
    tree_key start;
    tree_key end;
    /** A row of just that key does not count, or does. */
    bool skips_start;
    bool includes_end;
    int64_t now_ns;
} counter;

// What can be told --------------------------------------------------------------------------------

static bool value_is_cut(larder_bytes value) {
    tree_key key;
    size_t form_bytes;
    bool is_cut;
    tree_key_index(0, value, NULL, NULL, &key);
    return !tree_key_index_value(bytes_of_key(&key), &form_bytes, &is_cut) || is_cut;
}

/** Whether a row's tree key tells that it is in the range. */
static bool range_is_exact(const larder_store_cursor *cursor) {
    if (cursor->order != LARDER_STORE_BY_INDEX) return cursor->prefix.length <= KEY_WHOLE_MAX_BYTES;
    return !value_is_cut(cursor->prefix) && !value_is_cut(cursor->lower) &&
           !value_is_cut(cursor->upper);
}

/** Whether everything in the tree whose time is over has a row that is due. Under a limit of age,
    entries that were written while there was another one may have a later row, or none. */
static bool expiry_is_in_rows(const counter *count) {
    const larder_store *store = count->cursor->store;
    if (count->cursor->flags & LARDER_STORE_EXPIRED_TOO) return true;
    return atomic_load_explicit(&store->age_ns, memory_order_relaxed) == LARDER_STORE_NEVER &&
           atomic_load_explicit(&store->end_ns, memory_order_relaxed) > count->now_ns;
}

/** Everything. */
static bool is_whole(const larder_store_cursor *cursor) {
    const uint32_t bounds = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER;
    return cursor->order == LARDER_STORE_BY_KEY && cursor->prefix.length == 0 &&
           (cursor->flags & bounds) == 0;
}

static void counter_make(counter *count, larder_store_cursor *cursor) {
    *count = (counter){.cursor = cursor, .now_ns = store_now(cursor->store)};
    bool is_index = cursor->order == LARDER_STORE_BY_INDEX;
    tree_key bound;
    const uint32_t above = LARDER_STORE_HAS_LOWER | LARDER_STORE_LOWER_EXCLUSIVE;
    const uint32_t below = LARDER_STORE_HAS_UPPER | LARDER_STORE_UPPER_EXCLUSIVE;
    cursor_range_start(cursor, &count->start);
    if ((cursor->flags & above) == above) {
        cursor_bound_key(cursor, cursor->lower, &bound);
        count->skips_start = compare_bytes(bytes_of_key(&bound), bytes_of_key(&count->start)) == 0;
        // All rows of that value.
        if (count->skips_start && is_index) (void)tree_key_after_prefix(&count->start);
    }
    count->includes_end = cursor_range_end(cursor, &count->end);
    if ((cursor->flags & below) == below) {
        count->includes_end = false;
        cursor_bound_key(cursor, cursor->upper, &bound);
        if (compare_bytes(bytes_of_key(&bound), bytes_of_key(&count->end)) < 0) count->end = bound;
    }
}

// Rows of the tree --------------------------------------------------------------------------------

/** How many different values of the range an entry has in the index, of those that have `form`
    (escaped; empty for any). */
static uint64_t values_count(const larder_store_cursor *cursor, const record *entry,
                             larder_bytes form) {
    uint64_t count = 0;
    size_t offset = 0;
    larder_store_index_entry found;
    while (record_next_index(entry, &offset, &found)) {
        if (found.index != cursor->index || cursor_side(cursor, found.value, entry->key) != 0)
            continue;
        if (form.length && !index_value_has_form(found.value, form)) continue;
        size_t earlier = 0;
        larder_store_index_entry other;
        // It ends at `found` at the latest.
        while (record_next_index(entry, &earlier, &other) &&
               (other.index != found.index || compare_bytes(other.value, found.value) != 0)) {
        }
        if (earlier == offset) count++;
    }
    return count;
}

/** An entry's row in the tree.
    @return LARDER_OK; LARDER_ENOTFOUND; LARDER_EDAMAGED. */
static larder_status row_under(const larder_store_cursor *cursor, larder_bytes stored,
                               larder_bytes *row) {
    if (stored.length > KEY_STORED_MAX_BYTES) return LARDER_EDAMAGED;
    tree_key key;
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    return tree_get(&cursor->place->tree, bytes_of_key(&key), row);
}

/** Its record, verified.
    @return LARDER_OK; LARDER_ENOTFOUND; LARDER_EDAMAGED, or an errno. */
static larder_status record_under(const larder_store_cursor *cursor, larder_bytes stored,
                                  record *out) {
    larder_bytes row, bytes;
    uint32_t segment_number;
    larder_status status = row_under(cursor, stored, &row);
    if (!status) status = store_record_of_row(cursor->store, row, &bytes, &segment_number);
    return status ? status : record_read(bytes, true, out);
}

/** The record that a row of another name space leads to: it has to be there. */
static larder_status record_behind(const larder_store_cursor *cursor, larder_bytes stored,
                                   record *out) {
    larder_status status = record_under(cursor, stored, out);
    return status == LARDER_ENOTFOUND ? LARDER_EDAMAGED : status;
}

/** What the row of a cut value counts for; of another row with a key that is as long, 1. */
static larder_status long_row_count(const counter *count, const tree_page *page,
                                    const tree_node *node, uint64_t *rows) {
    size_t form_bytes;
    bool is_cut;
    *rows = 1;
    if (!tree_key_index_value(node_key(node), &form_bytes, &is_cut)) return LARDER_EDAMAGED;
    if (!is_cut) return LARDER_OK;
    larder_bytes stored;
    uint64_t overflow;
    record entry;
    larder_status status = node_value(&count->cursor->place->tree, page, node, &stored, &overflow);
    if (!status) status = record_behind(count->cursor, stored, &entry);
    if (status) return status;
    *rows = values_count(count->cursor, &entry, (larder_bytes){node->key + 3, form_bytes});
    return LARDER_OK;
}

/** Rows of one leaf, from the cursor's place on.
    @param is_last receives whether the range ends in it. */
static larder_status leaf_count(const counter *count, const tree_cursor *at, uint64_t *rows,
                                bool *is_last) {
    const tree *state = at->tree;
    uint64_t number = at->path[at->depth - 1].page;
    uint32_t from = at->path[at->depth - 1].at;
    bool is_index = count->cursor->order == LARDER_STORE_BY_INDEX;
    bool is_found;
    tree_page page;
    tree_node node;
    if (!page_open(state, number, PAGE_LEAF, &page) || !page_node(&page, page.count - 1, &node))
        return tree_damaged(state, number);
    uint32_t to = page.count;
    *is_last = compare_bytes(node_key(&node), bytes_of_key(&count->end)) >= 0;
    if (*is_last) {
        if (!page_search(&page, from, bytes_of_key(&count->end), &to, &is_found))
            return tree_damaged(state, number);
        if (is_found && count->includes_end) to++;
    }
    *rows = 0;
    for (uint32_t i = from; i < to; i++) {
        if (!page_node(&page, i, &node)) return tree_damaged(state, number);
        uint64_t alike = 1;
        if (is_index && node.key_bytes >= CUT_KEY_MIN_BYTES) {
            larder_status status = long_row_count(count, &page, &node, &alike);
            if (status) return status;
        }
        *rows += alike;
    }
    return LARDER_OK;
}

/** Rows in the range; `most` of them or a few more are enough. */
static larder_status rows_count(const counter *count, uint64_t most, uint64_t *rows) {
    const larder_store_cursor *cursor = count->cursor;
    tree_cursor at;
    larder_bytes key, value;
    *rows = cursor->place->meta.count;
    if (is_whole(cursor)) return LARDER_OK;
    *rows = 0;
    larder_status status = tree_cursor_seek(&at, &cursor->place->tree, bytes_of_key(&count->start));
    if (!status && count->skips_start && cursor->order == LARDER_STORE_BY_KEY) {
        status = tree_cursor_get(&at, &key, &value);
        if (!status && compare_bytes(key, bytes_of_key(&count->start)) == 0)
            status = tree_cursor_next(&at);
    }
    bool is_last = false;
    while (!status && !is_last && *rows < most) {
        uint64_t more;
        status = leaf_count(count, &at, &more, &is_last);
        if (status) return status;
        *rows += more;
        // Behind the leaf.
        at.path[at.depth - 1].at = at.path[at.depth - 1].count - 1;
        if (!is_last) status = tree_cursor_next(&at);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

// Rows that do not count --------------------------------------------------------------------------

/** How many rows of the range lead to an entry. */
static uint64_t rows_of_record(const larder_store_cursor *cursor, larder_bytes stored,
                               const record *entry) {
    const larder_bytes any = {NULL, 0};
    if (cursor->order == LARDER_STORE_BY_INDEX) return values_count(cursor, entry, any);
    return cursor_side(cursor, any, stored) == 0;
}

/** Adds the rows of entries that a pending write replaces. */
static larder_status replaced_count(const larder_store_cursor *cursor, uint64_t *rows) {
    const row_array *pending = &cursor->pending.by_key;
    bool is_index = cursor->order == LARDER_STORE_BY_INDEX;
    const larder_bytes any = {NULL, 0};
    for (size_t i = 0; i < pending->count; i++) {
        larder_bytes stored = pending->items[i].stored, row;
        if (!is_index && cursor_side(cursor, any, stored) != 0) continue;
        record entry;
        larder_status status =
            is_index ? record_under(cursor, stored, &entry) : row_under(cursor, stored, &row);
        if (!status) *rows += is_index ? values_count(cursor, &entry, any) : 1;
        else if (status != LARDER_ENOTFOUND) return status;
    }
    return LARDER_OK;
}

/** Goes over the rows that are due. */
typedef struct due_rows {
    tree_cursor at;
    bool is_placed;
} due_rows;

/** @return LARDER_OK; LARDER_END; LARDER_EDAMAGED. */
static larder_status due_next(const counter *count, due_rows *due, larder_bytes *key,
                              larder_bytes *stored) {
    const uint8_t space = SPACE_EXPIRY;
    larder_status status = due->is_placed ? tree_cursor_next(&due->at)
                                          : tree_cursor_seek(&due->at, &count->cursor->place->tree,
                                                             (larder_bytes){&space, sizeof space});
    due->is_placed = true;
    if (!status) status = tree_cursor_get(&due->at, key, stored);
    if (status) return status;
    const uint8_t *bytes = key->data;
    if (key->length == 0 || bytes[0] != SPACE_EXPIRY) return LARDER_END;
    if (key->length != EXPIRY_KEY_BYTES) return LARDER_EDAMAGED;
    return unflip(get_be64(bytes + 1)) > count->now_ns ? LARDER_END : LARDER_OK;
}

/** How many rows are due; no more than one too many for `DUE_MAX_COUNT` are looked at. */
static larder_status due_count(const counter *count, uint64_t *rows) {
    due_rows due = {.is_placed = false};
    larder_status status = LARDER_OK;
    larder_bytes key, stored;
    *rows = 0;
    if (count->cursor->flags & LARDER_STORE_EXPIRED_TOO) return LARDER_OK;
    while (!status && *rows <= DUE_MAX_COUNT) {
        status = due_next(count, &due, &key, &stored);
        if (!status) *rows += 1;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/** Adds the rows of entries whose time is over. */
static larder_status expired_count(const counter *count, uint64_t *rows) {
    larder_store_cursor *cursor = count->cursor;
    due_rows due = {.is_placed = false};
    larder_bytes key, stored;
    larder_status status;
    while (!(status = due_next(count, &due, &key, &stored))) {
        // Its rows are taken off already.
        if (overlay_rows_find(&cursor->pending, stored)) continue;
        record entry;
        status = record_behind(cursor, stored, &entry);
        if (status) return status;
        const uint8_t *bytes = key.data;
        // Of a record that was damaged when it was replaced; or it was read since.
        if (get_be64(bytes + 9) != entry.sequence || get_be32(bytes + 17) != entry.minor ||
            !store_is_over(cursor->store, cursor->place, &entry,
                           store_deadline(cursor->place, &entry)))
            continue;
        *rows += rows_of_record(cursor, stored, &entry);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

// Putting it together -----------------------------------------------------------------------------

/** Entries that are pending. */
static larder_status pending_count(const larder_store_cursor *cursor, uint64_t *rows) {
    const row_array *pending = &cursor->pending.ordered;
    for (size_t i = 0; i < pending->count; i++) {
        record entry;
        larder_status status = record_read(pending->items[i].record, true, &entry);
        if (status) return status;
        if ((cursor->flags & LARDER_STORE_EXPIRED_TOO) ||
            !store_is_over(cursor->store, cursor->place, &entry,
                           store_deadline(cursor->place, &entry)))
            *rows += 1;
    }
    return LARDER_OK;
}

static uint64_t saturating_sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/** @return LARDER_OK; LARDER_EDAMAGED if it cannot be told from rows, or not with less work than
    going over the entries. */
static larder_status count_by_rows(larder_store_cursor *cursor, uint64_t limit, uint64_t *out) {
    counter count;
    uint64_t rows = 0, wrong = 0, fresh = 0, due = 0;
    counter_make(&count, cursor);
    if (!range_is_exact(cursor) || !expiry_is_in_rows(&count)) return LARDER_EDAMAGED;
    larder_status status = pending_count(cursor, &fresh);
    if (!status && !cursor->pending.hides_tree) {
        status = due_count(&count, &due);
        uint64_t suspects = due + cursor->pending.by_key.count;
        uint64_t most = saturating_sum(limit, suspects);
        if (!status && due > DUE_MAX_COUNT) status = LARDER_EDAMAGED;
        if (!status) status = rows_count(&count, most, &rows);
        if (!status && rows < suspects) status = LARDER_EDAMAGED;
        if (!status && suspects) status = replaced_count(cursor, &wrong);
        if (!status && due) status = expired_count(&count, &wrong);
        // An entry can have several rows.
        if (!status && rows >= most && rows < saturating_sum(limit, wrong))
            status = rows_count(&count, UINT64_MAX, &rows);
        if (!status && wrong > rows) status = LARDER_EDAMAGED;
    }
    if (status) return status;
    uint64_t found = rows - wrong + fresh;
    *out = found < limit ? found : limit;
    return LARDER_OK;
}

static larder_status count_one_by_one(larder_store_cursor *cursor, uint64_t limit, uint64_t *out) {
    bool is_damaged = false;
    while (*out < limit) {
        larder_status status = cursor_pass_over(cursor);
        if (status == LARDER_END) break;
        if (status == LARDER_EDAMAGED) is_damaged = true;
        else if (status) return status;
        else *out += 1;
    }
    return is_damaged ? LARDER_EDAMAGED : LARDER_OK;
}

larder_status larder_store_count(larder_store *store, const larder_store_query *query,
                                 uint64_t limit, uint64_t *out) {
    *out = 0;
    larder_store_query counted = *query;
    const uint32_t bounds = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER |
                            LARDER_STORE_LOWER_EXCLUSIVE | LARDER_STORE_UPPER_EXCLUSIVE;
    // They are as many in every order, and that of use may have a checkpoint come first.
    if (query->order == LARDER_STORE_BY_RECENCY && (query->flags & bounds) == 0)
        counted.order = LARDER_STORE_BY_KEY;
    larder_store_cursor *cursor;
    larder_status status = larder_store_cursor_open(store, &counted, &cursor);
    if (status) return status;
    status = count_by_rows(cursor, limit, out);
    if (status == LARDER_EDAMAGED) status = count_one_by_one(cursor, limit, out);
    larder_store_cursor_close(cursor);
    return status;
}
