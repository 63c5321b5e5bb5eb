// SPDX-License-Identifier: MIT
/** @file check.c
    The deep check.

    Every entry says which rows must be there because of it: its place in the order of use, its
    deadline, one row for each value in an index. Each is looked up, and counted. Then the rows that
    there are of each kind are counted too: if there are more, the others belong to nothing. So
    nothing has to be remembered but a line for each segment. */
#include <errno.h>

#include "checkpoint/apply.h"
#include "repair/check.h"

static const uint8_t space_of_row[ROW_KINDS] = {SPACE_ORDER, SPACE_RECENCY, SPACE_EXPIRY,
                                                SPACE_INDEX};

static void check_damaged(store_check *check, const void *where) {
    larder_store_report *report = check->report;
    report->damaged++;
    if (!where) return;
    uint64_t offset = (uint64_t)((const uint8_t *)where - check->tree->map);
    if (report->first_damage_offset == 0 || offset < report->first_damage_offset)
        report->first_damage_offset = offset;
}

// Rows that an entry asks for ---------------------------------------------------------------------

/** Whether the row is there and leads to `stored`; counts it. */
static bool check_row(store_check *check, int kind, const tree_key *key, larder_bytes stored) {
    larder_bytes value;
    if (tree_get(check->tree, bytes_of_key(key), &value) != LARDER_OK ||
        compare_bytes(value, stored) != 0)
        return false;
    check->rows[kind]++;
    return true;
}

static void check_indexes(store_check *check, const record *entry, larder_bytes stored) {
    tree_key seen[LARDER_STORE_INDEX_MAX_COUNT];
    size_t seen_count = 0, offset = 0;
    larder_store_index_entry item;
    while (record_next_index(entry, &offset, &item)) {
        tree_key *key = &seen[seen_count];
        tree_key_index(item.index, item.value, &stored, check->meta->secret, key);
        bool is_new = true;
        for (size_t i = 0; i < seen_count && is_new; i++)
            is_new = compare_bytes(bytes_of_key(&seen[i]), bytes_of_key(key)) != 0;
        if (!is_new) continue;
        if (!check_row(check, ROW_INDEX, key, stored)) check->report->inconsistencies++;
        seen_count++;
    }
}

static void check_rows(store_check *check, const record *entry, larder_bytes stored) {
    stamp at = {entry->sequence, entry->minor};
    int64_t armed_ns = apply_default_due(entry, check->meta->age_ns);
    tree_key key;
    larder_bytes state;
    tree_key_of_stored(SPACE_RECENCY, stored, &key);
    if (tree_get(check->tree, bytes_of_key(&key), &state) == LARDER_OK && state.length == 32) {
        const uint8_t *bytes = state.data;
        at = (stamp){get_be64(bytes), get_be64(bytes + 8)};
        armed_ns = unflip(get_be64(bytes + 24));
        check->rows[ROW_RECENCY]++;
    }
    tree_key_order(at, &key);
    // In the midst of a large checkpoint the newest entries have no place in the order yet.
    if (!check_row(check, ROW_ORDER, &key, stored) && check->meta->has_order &&
        entry->sequence <= check->meta->applied)
        check->report->inconsistencies++;
    if (armed_ns != LARDER_STORE_NEVER) {
        tree_key_expiry(armed_ns, entry->sequence, entry->minor, &key);
        if (!check_row(check, ROW_EXPIRY, &key, stored)) check->report->inconsistencies++;
    }
    if (entry->index_count) check_indexes(check, entry, stored);
}

// Entries -----------------------------------------------------------------------------------------

/** An entry that counts: one that no pending write replaces. */
static void check_intact(store_check *check, const record *entry) {
    check->report->intact++;
    check->report->intact_bytes += entry->value.length;
}

/** Reads the record that a row leads to, and that in its segment too, where the row has a copy.
    LARDER_EDAMAGED. */
static larder_status check_records(store_check *check, larder_bytes stored, larder_bytes value,
                                   const entry_row *row, record *out, size_t *length) {
    larder_bytes bytes, original;
    uint32_t number;
    tree_key scratch;
    larder_status status = store_record_of_row(check->store, value, &bytes, &number);
    if (!status) status = record_read(bytes, true, out);
    if (status) return status;
    *length = bytes.length;
    if (compare_bytes(stored_key(out->key, check->meta->secret, &scratch), stored) != 0 ||
        out->value.length != row->value_bytes)
        return LARDER_EDAMAGED;
    if (row->inlined.length == 0) return LARDER_OK;
    status = log_record(&check->store->log, row->at, &original);
    if (!status && compare_bytes(bytes, original) != 0) status = LARDER_EDAMAGED;
    return status;
}

static larder_status check_entry(store_check *check, larder_bytes key, larder_bytes value) {
    larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
    bool is_hidden = check->cursor->pending.hides_tree ||
                     overlay_rows_find(&check->cursor->pending, stored) != NULL;
    entry_row row;
    record entry;
    size_t length;
    check->tree_count++;
    larder_status status = row_read(value, &row);
    if (!status) status = check_records(check, stored, value, &row, &entry, &length);
    if (status == LARDER_EDAMAGED) {
        check_damaged(check, value.data);
        return LARDER_OK;
    }
    if (status) return status;
    check->tree_bytes += entry.value.length;
    check_rows(check, &entry, stored);
    if (!is_hidden) check_intact(check, &entry);
    return check_segment_use(check, row.at.segment, length);
}

static larder_status check_told(store_check *check) {
    uint64_t done = check->done++;
    uint64_t total = check->meta->count > done ? check->meta->count : done;
    return check->progress && check->progress(check->context, done, total) ? ECANCELED : LARDER_OK;
}

/** One pass over the whole tree. `counts` are those of the rows there are. */
static larder_status check_tree(store_check *check, uint64_t counts[ROW_KINDS]) {
    tree_cursor place;
    uint8_t first = 0;
    larder_status status = tree_cursor_seek(&place, check->tree, (larder_bytes){&first, 1});
    while (status != LARDER_END) {
        larder_bytes key, value;
        if (!status) status = tree_cursor_get(&place, &key, &value);
        if (status == LARDER_EDAMAGED) {
            // The audit has counted the page.
            check->is_cut_short = true;
        } else if (status) {
            return status;
        } else if (key.length) {
            uint8_t space = *(const uint8_t *)key.data;
            for (int kind = 0; kind < ROW_KINDS; kind++)
                if (space == space_of_row[kind]) counts[kind]++;
            if (space == SPACE_SEGMENT) status = check_segment_row(check, key, value);
            if (space == SPACE_ENTRY) status = check_entry(check, key, value);
            if (!status && space == SPACE_ENTRY) status = check_told(check);
            if (status) return status;
        }
        status = tree_cursor_next(&place);
    }
    return LARDER_OK;
}

static larder_status check_pending(store_check *check) {
    const row_array *rows = &check->cursor->pending.by_key;
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < rows->count && !status; i++) {
        if (rows->items[i].is_removal) continue;
        record entry;
        if (record_read(rows->items[i].record, true, &entry) != LARDER_OK) {
            check_damaged(check, NULL);
            continue;
        }
        check_intact(check, &entry);
        status = check_told(check);
    }
    return status;
}

// All of it ---------------------------------------------------------------------------------------

static larder_status check_everything(store_check *check) {
    larder_store_report *report = check->report;
    tree_report pages;
    larder_status status = tree_audit(check->tree, &pages);
    if (status && status != LARDER_EDAMAGED) return status;
    report->damaged_pages = pages.damaged_pages;
    report->first_damage_offset = pages.first_damage_offset;
    bool is_damaged = status == LARDER_EDAMAGED;

    uint64_t counts[ROW_KINDS] = {0};
    status = check_tree(check, counts);
    if (!status) status = check_pending(check);
    if (status) return status;
    // Of a tree with holes it says nothing that rows and entries do not meet.
    bool is_complete = !check->is_cut_short && report->damaged == 0;
    if (is_complete) {
        for (int kind = 0; kind < ROW_KINDS; kind++)
            if (counts[kind] > check->rows[kind])
                report->inconsistencies += counts[kind] - check->rows[kind];
        report->inconsistencies += check->tree_count != check->meta->count;
        report->inconsistencies += check->tree_bytes != check->meta->bytes;
    }
    status = check_segments(check, is_complete);
    if (!status) status = check_pending_log(check);
    if (!status && !check->is_cut_short && !store_is_read_only(check->store))
        status = check_files(check);
    if (status) return status;
    is_damaged = is_damaged || report->damaged || report->damaged_pages ||
                 report->inconsistencies || report->journal_lost;
    return is_damaged ? LARDER_EDAMAGED : LARDER_OK;
}

larder_status larder_store_check(larder_store *store, larder_progress progress, void *context,
                                 larder_store_report *report) {
    memset(report, 0, sizeof *report);
    larder_status status = store_enter(store);
    if (status) return status;
    // So that as much as can be is seen in the tree; what stays pending is looked at where it is.
    if (!store_is_read_only(store)) {
        status = larder_store_flush(store);
        if (status == LARDER_ECLOSED || status == LARDER_EFORKED) return status;
    }
    store_check check = {
        .store = store, .report = report, .progress = progress, .context = context};
    check.last_sequence = UINT64_MAX;
    larder_store_query query;
    larder_store_query_init(&query);
    status = larder_store_cursor_open(store, &query, &check.cursor);
    if (!status) {
        if (!store_is_read_only(store))
            check.last_sequence =
                atomic_load_explicit(&store->newest_sequence, memory_order_acquire);
        check.tree = &check.cursor->place->tree;
        check.meta = &check.cursor->place->meta;
        status = check_everything(&check);
    }
    live_free(&check.segments);
    live_free(&check.found);
    larder_store_cursor_close(check.cursor);
    return status;
}
