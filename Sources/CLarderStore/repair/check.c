// SPDX-License-Identifier: MIT
/** @file store_check.c
    The deep check.

    Every entry says which rows must be there because of it: its place in the order of use, its
    deadline, one row for each value in an index. Each is looked up, and counted. Then the rows that
    there are of each kind are counted too: if there are more, the others belong to nothing. So
    nothing has to be remembered but the numbers of files. */
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
    // In the midst of a large flush the newest entries have no place in the order yet.
    if (!check_row(check, ROW_ORDER, &key, stored) && entry->sequence <= check->meta->applied)
        check->report->inconsistencies++;
    if (armed_ns != LARDER_STORE_NEVER) {
        tree_key_expiry(armed_ns, entry->sequence, entry->minor, &key);
        if (!check_row(check, ROW_EXPIRY, &key, stored)) check->report->inconsistencies++;
    }
    if (entry->index_count) check_indexes(check, entry, stored);
}

// Entries -----------------------------------------------------------------------------------------

/** The value of an entry that counts: one that no pending write replaces.
    @param where the record, in the tree; NULL for a pending one. */
static larder_status check_value(store_check *check, const record *entry, const void *where) {
    if (entry->flags & RECORD_SPILLED) {
        larder_bytes mapped;
        larder_status status = spill_map(check->store->spill, &entry->spill, true, &mapped);
        if (status == ENOENT && !where) return LARDER_OK; // Replaced meanwhile.
        if (status == ENOENT || status == LARDER_EDAMAGED) {
            check_damaged(check, where);
            return LARDER_OK;
        }
        if (status) return status;
        spill_unmap(mapped);
    }
    check->report->intact++;
    check->report->intact_bytes += record_value_bytes(entry);
    return LARDER_OK;
}

static larder_status check_entry(store_check *check, larder_bytes key, larder_bytes bytes) {
    larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
    bool is_hidden = check->cursor->pending.hides_tree ||
                     overlay_rows_find(&check->cursor->pending, stored) != NULL;
    record entry;
    tree_key scratch;
    check->tree_count++;
    if (record_read(bytes, true, &entry) != LARDER_OK ||
        compare_bytes(stored_key(entry.key, check->meta->secret, &scratch), stored) != 0) {
        check_damaged(check, bytes.data);
        return LARDER_OK;
    }
    check->tree_bytes += record_value_bytes(&entry);
    check_rows(check, &entry, stored);
    larder_status status = LARDER_OK;
    if (entry.flags & RECORD_SPILLED) status = check_file_add(check, &entry.spill);
    return status || is_hidden ? status : check_value(check, &entry, bytes.data);
}

static larder_status check_doomed(store_check *check, larder_bytes key) {
    const uint8_t *bytes = key.data;
    if (key.length != 1 + 4 + 8) {
        check->report->inconsistencies++;
        return LARDER_OK;
    }
    spill_reference file = {.epoch = get_be32(bytes + 1), .number = get_be64(bytes + 5)};
    return check_file_add(check, &file);
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
            if (space == SPACE_DOOMED) status = check_doomed(check, key);
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
        if (entry.flags & RECORD_SPILLED) status = check_file_add(check, &entry.spill);
        if (!status) status = check_value(check, &entry, NULL);
        if (!status) status = check_told(check);
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
    if (!check->is_cut_short && report->damaged == 0) {
        for (int kind = 0; kind < ROW_KINDS; kind++)
            if (counts[kind] > check->rows[kind])
                report->inconsistencies += counts[kind] - check->rows[kind];
        report->inconsistencies += check->tree_count != check->meta->count;
        report->inconsistencies += check->tree_bytes != check->meta->bytes;
        status = check_files(check);
        if (status) return status;
    }
    status = check_journal(check);
    if (status) return status;
    is_damaged = is_damaged || report->damaged || report->damaged_pages || report->inconsistencies;
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
    status = check_note_files(&check);
    larder_store_query query;
    larder_store_query_init(&query);
    if (!status) status = larder_store_cursor_open(store, &query, &check.cursor);
    if (!status) {
        check.tree = &check.cursor->place->tree;
        check.meta = &check.cursor->place->meta;
        status = check_everything(&check);
    }
    spill_files_free(&check.files);
    larder_store_cursor_close(check.cursor);
    return status;
}
