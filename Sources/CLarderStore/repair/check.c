// SPDX-License-Identifier: MIT
/** @file check.c
    The deep check.

    Every entry says which rows must be there because of it: its place in the order of use, its
    deadline, one row for each value in an index. Each is looked up, and counted. Then the rows that
    there are of each kind are counted too: if there are more, the others belong to nothing. So
    nothing has to be remembered but a line for each segment. */
#include "checkpoint/apply.h"
#include "log/scan.h"
#include "read/cursor.h"

/** So many name spaces a byte can tell of. */
enum { SPACES = 256 };

typedef struct store_check {
    larder_store *store;
    larder_store_cursor *cursor;
    const tree *tree;
    const store_meta *meta;
    larder_store_report *report;
    larder_progress progress;
    void *context;
    uint64_t done;
    uint64_t tree_count;
    uint64_t tree_bytes;
    /** Rows that there are, by name space, and those that entries said must be there, and are. */
    uint64_t counts[SPACES];
    uint64_t rows[SPACES];
    /** Segments as the tree has them, without what entries said is alive in them: nothing is left
        of that in the end. */
    live_table segments;
    /** Writes with a greater number came while the check was at work. */
    uint64_t last_sequence;
    /** Segments from here on may have been made meanwhile. */
    uint32_t first_new;
    bool is_cut_short;
} store_check;

// Segments, as the tree knows them ----------------------------------------------------------------

static larder_status check_segment_row(store_check *check, larder_bytes key, larder_bytes value) {
    live_segment row, *known;
    if (key.length != 5 || larder_live_row_read(value, &row) != LARDER_OK) {
        check->report->inconsistencies++;
        return LARDER_OK;
    }
    row.number = get_be32((const uint8_t *)key.data + 1);
    larder_status status = larder_live_add(&check->segments, row.number, &known);
    if (!status) *known = row;
    return status;
}

/** Whether the segment's content is what its row says: as many records in as many bytes, and the
    removals among them whole, for they are needed too. */
static bool segment_is_sound(const segment *found, const live_segment *row) {
    uint64_t offset = SEGMENT_HEAD_BYTES, end = SEGMENT_HEAD_BYTES + row->used_bytes;
    uint64_t count = 0, bare = 0;
    if (row->used_bytes > found->capacity - SEGMENT_HEAD_BYTES) return false;
    while (offset < end) {
        record entry;
        uint64_t at = offset;
        if (larder_segment_read(found, &offset, false, &entry) != LARDER_OK) return false;
        // What names the next segment has the number of the write before it.
        if (entry.sequence < row->first_sequence && entry.kind != RECORD_NEXT) return false;
        bool is_put = entry.kind == RECORD_PUT;
        if (!is_put && larder_segment_read(found, &at, true, &entry) != LARDER_OK) return false;
        count++;
        bare += !is_put;
    }
    return offset == end && count == row->record_count && bare == row->bare_count;
}

static larder_status check_segments(store_check *check, bool is_complete) {
    uint64_t *wrong = &check->report->inconsistencies;
    for (size_t i = 0; i < check->segments.count; i++) {
        const live_segment *row = &check->segments.items[i];
        segment *mapped;
        larder_status status = larder_log_segment(&check->store->pending.log, row->number, &mapped);
        if (status == ENOMEM || status == EMFILE || status == ENFILE) return status;
        *wrong += status || !segment_is_sound(mapped, row);
        *wrong += is_complete && (row->live_count || row->live_bytes);
        *wrong += row->number >= check->meta->next_segment;
    }
    return LARDER_OK;
}

// What the tree has not yet -----------------------------------------------------------------------

/** Up to where the log was synced when this was asked, for who only reads. A writer has counted
    what is missing when it opened. */
static location synced_at_least(const store_check *check) {
    int64_t ignored;
    if (!store_is_read_only(check->store)) return (location){0, 0};
    const lock_text text = larder_identity_look(&check->store->identity, &ignored);
    return larder_lock_text_synced(&text, check->meta->store_id);
}

static larder_status check_pending_log(store_check *check) {
    larder_store_report *report = check->report;
    const location synced = synced_at_least(check);
    location at = check->meta->end;
    // The first segment has the first number.
    if (at.segment == 0) at = (location){1, SEGMENT_HEAD_BYTES};
    log_scan scan = {.log = &check->store->pending.log, .at = at, .sequence = check->meta->applied};
    larder_status status;
    for (;; report->journal_intact += !status) {
        const uint8_t *first;
        uint32_t count;
        segment *from;
        status = larder_log_scan_next(&scan, true, &first, &count, &from);
        if (status == LARDER_EDAMAGED && larder_log_scan_resync(&scan)) continue;
        if (status || scan.sequence > check->last_sequence) break;
    }
    report->journal_lost += scan.lost + (status == LARDER_EDAMAGED);
    // What was synced and is not there left no trace.
    if (status == LARDER_END && !report->journal_lost && compare_locations(scan.at, synced) < 0)
        report->journal_lost = 1;
    return status == LARDER_END || status == LARDER_EDAMAGED ? LARDER_OK : status;
}

// Files -------------------------------------------------------------------------------------------

static int check_file(void *context, const char *name) {
    store_check *check = context;
    const larder_store *store = check->store;
    uint32_t number;
    if (larder_segment_is_unfinished(name)) return 0;
    bool is_known = larder_segment_number_of(name, &number) &&
                    (number >= check->first_new || larder_live_find(&check->segments, number) ||
                     larder_live_find(&store->index.live, number));
    check->report->inconsistencies += !is_known && !larder_live_find(&store->index.retired, number);
    return 0;
}

static larder_status check_files(store_check *check) {
    larder_store *store = check->store;
    live_segment *noted;
    segment *passed;
    // Without a checkpoint at work, so that each segment is in the table or in the chain.
    pthread_mutex_lock(&store->index.lock);
    pthread_mutex_lock(&store->pending.lock);
    check->first_new = store->pending.log.next_number;
    segment *kept[] = {store->pending.log.active, store->pending.log.spare};
    larder_status status = store_enter(store);
    if (!status) status = larder_live_add(&check->segments, store->pending.log.prepared, &noted);
    for (int i = 0; i < 2 && !status; i++)
        if (kept[i]) status = larder_live_add(&check->segments, kept[i]->number, &noted);
    uint32_t number = store->index.meta.end.segment ? store->index.meta.end.segment : 1;
    for (; !status && !larder_log_segment(&store->pending.log, number, &passed);
         number = passed->next)
        status = larder_live_add(&check->segments, number, &noted);
    pthread_mutex_unlock(&store->pending.lock);
    if (!status) {
        status = larder_log_enter(&store->pending.log);
        bool is_there = !status;
        if (is_there)
            status = larder_os_folder_list_in(store->pending.log.folder, check_file, check);
        if (is_there) larder_log_leave(&store->pending.log);
        else if (status == ENOENT && store->pending.log.place.inode == 0) status = LARDER_OK;
    }
    pthread_mutex_unlock(&store->index.lock);
    return status;
}

// Rows that an entry asks for ---------------------------------------------------------------------

/** Counts the row, if it is there and has that value; `must_be` that it is missing. */
static void check_row(store_check *check, const tree_key *key, larder_bytes wanted, bool must_be) {
    larder_bytes value;
    bool is_there = larder_tree_get(check->tree, bytes_of_key(key), &value) == LARDER_OK &&
                    compare_bytes(value, wanted) == 0;
    check->rows[key->bytes[0]] += is_there;
    check->report->inconsistencies += must_be && !is_there;
}

static void check_indexes(store_check *check, const record *entry, larder_bytes stored) {
    tree_key seen[LARDER_STORE_INDEX_MAX_COUNT];
    size_t seen_count = 0, offset = 0;
    larder_store_index_entry item;
    while (larder_record_next_index(entry, &offset, &item)) {
        tree_key *key = &seen[seen_count];
        larder_tree_key_index(item.index, item.value, &stored, check->meta->secret, key);
        bool is_new = true;
        for (size_t i = 0; i < seen_count && is_new; i++)
            is_new = compare_bytes(bytes_of_key(&seen[i]), bytes_of_key(key)) != 0;
        if (!is_new) continue;
        uint8_t bytes[INDEX_ROW_MAX_BYTES];
        check_row(check, key, meta_index_row(check->meta, key, stored, bytes), true);
        seen_count++;
    }
}

static void check_rows(store_check *check, const record *entry, larder_bytes stored) {
    stamp at = {entry->sequence, entry->minor};
    int64_t armed_ns = larder_apply_default_due(entry, check->meta->age_ns);
    tree_key key;
    larder_bytes row;
    larder_tree_key_of_stored(SPACE_RECENCY, stored, &key);
    if (larder_tree_get(check->tree, bytes_of_key(&key), &row) == LARDER_OK && row.length == 32) {
        const uint8_t *bytes = row.data;
        at = (stamp){get_be64(bytes), get_be64(bytes + 8)};
        armed_ns = unflip(get_be64(bytes + 24));
        check->rows[SPACE_RECENCY]++;
    }
    larder_tree_key_order(at, &key);
    // In the midst of a large checkpoint the newest entries have no place in the order yet.
    check_row(check, &key, stored,
              check->meta->has_order && entry->sequence <= check->meta->applied);
    larder_tree_key_expiry(armed_ns, entry->sequence, entry->minor, &key);
    if (armed_ns != LARDER_STORE_NEVER)
        check_row(check, &key, stored, armed_ns < EXPIRY_ROWS_END_NS);
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
    larder_status status = larder_log_row(&check->store->pending.log, value, &bytes, &number);
    if (!status) status = larder_record_read(bytes, true, out);
    if (status) return status;
    *length = bytes.length;
    if (compare_bytes(larder_stored_key(out->key, check->meta->secret, &scratch), stored) != 0 ||
        out->value.length != row->value_bytes)
        return LARDER_EDAMAGED;
    if (row->inlined.length == 0) return LARDER_OK;
    status = larder_log_record(&check->store->pending.log, row->at, &original);
    if (!status && compare_bytes(bytes, original) != 0) status = LARDER_EDAMAGED;
    return status;
}

static larder_status check_entry(store_check *check, larder_bytes key, larder_bytes value) {
    larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
    bool is_hidden =
        check->cursor->pending.hides_tree || larder_overlay_find(check->cursor, stored) != NULL;
    entry_row row;
    record entry;
    size_t length;
    check->tree_count++;
    larder_status status = larder_row_read(value, &row);
    // What the log has is none of the file's.
    bool is_in_row = status || row.inlined.length > 0;
    if (!status) status = check_records(check, stored, value, &row, &entry, &length);
    if (status == LARDER_EDAMAGED) {
        uint64_t offset = (uint64_t)((const uint8_t *)value.data - check->tree->map);
        uint64_t *first = &check->report->first_damage_offset;
        if (is_in_row && (*first == 0 || offset < *first)) *first = offset;
        check->report->damaged++;
        return LARDER_OK;
    }
    if (status) return status;
    check->tree_bytes += entry.value.length;
    check_rows(check, &entry, stored);
    if (!is_hidden) check_intact(check, &entry);
    live_segment *lies_in;
    status = larder_live_add(&check->segments, row.at.segment, &lies_in);
    if (status) return status;
    lies_in->live_count--;
    lies_in->live_bytes -= record_padded(length);
    return LARDER_OK;
}

static larder_status check_told(store_check *check) {
    uint64_t done = check->done++;
    uint64_t total = check->meta->count > done ? check->meta->count : done;
    return check->progress && check->progress(check->context, done, total) ? ECANCELED : LARDER_OK;
}

/** One pass over the whole tree. */
static larder_status check_tree(store_check *check) {
    tree_cursor place;
    uint8_t first = 0;
    larder_status status = larder_tree_cursor_seek(&place, check->tree, (larder_bytes){&first, 1});
    while (status != LARDER_END) {
        larder_bytes key = {NULL, 0}, value;
        if (!status) status = larder_tree_cursor_get(&place, &key, &value);
        if (status == LARDER_EDAMAGED) {
            // The audit has counted the page.
            check->is_cut_short = true;
        } else if (key.length) {
            uint8_t space = *(const uint8_t *)key.data;
            check->counts[space]++;
            if (space == SPACE_SEGMENT) status = check_segment_row(check, key, value);
            if (space == SPACE_ENTRY) status = check_entry(check, key, value);
            if (!status && space == SPACE_ENTRY) status = check_told(check);
            if (status) return status;
        }
        status = larder_tree_cursor_next(&place);
    }
    return LARDER_OK;
}

static larder_status check_pending(store_check *check) {
    larder_status status = LARDER_OK;
    larder_overlay_rewind(check->cursor);
    for (const cursor_row *row; !status && (row = larder_overlay_peek(check->cursor));
         larder_overlay_step(check->cursor)) {
        record entry;
        if (row->is_removal) continue;
        if (larder_record_read(row->record, true, &entry)) check->report->damaged++;
        else check_intact(check, &entry);
        status = check_told(check);
    }
    return status;
}

// All of it ---------------------------------------------------------------------------------------

static larder_status check_everything(store_check *check) {
    larder_store_report *report = check->report;
    tree_report pages;
    larder_status status = larder_tree_audit(check->tree, &pages);
    if (status && status != LARDER_EDAMAGED) return status;
    report->damaged_pages = pages.damaged_pages;
    report->first_damage_offset = pages.first_damage_offset;
    status = check_tree(check);
    if (!status) status = check_pending(check);
    if (status) return status;
    // Of a tree with holes it says nothing that rows and entries do not meet.
    bool is_complete = !check->is_cut_short && report->damaged == 0;
    const uint8_t derived[] = {SPACE_ORDER, SPACE_RECENCY, SPACE_EXPIRY, SPACE_INDEX};
    // An order that is not complete, where a crash came while it was made, means nothing: it is
    // cleared before it is made again.
    for (size_t i = check->meta->has_order ? 0 : 1; i < sizeof derived && is_complete; i++)
        if (check->counts[derived[i]] > check->rows[derived[i]])
            report->inconsistencies += check->counts[derived[i]] - check->rows[derived[i]];
    if (is_complete) {
        report->inconsistencies += check->tree_count != check->meta->count;
        report->inconsistencies += check->tree_bytes != check->meta->bytes;
    }
    status = check_segments(check, is_complete);
    if (!status) status = check_pending_log(check);
    if (!status && !check->is_cut_short && !store_is_read_only(check->store))
        status = check_files(check);
    if (status) return status;
    return report->damaged || report->damaged_pages || report->inconsistencies ||
                   report->journal_lost
               ? LARDER_EDAMAGED
               : LARDER_OK;
}

larder_status larder_store_check(larder_store *store, larder_progress progress, void *context,
                                 larder_store_report *report) {
    memset(report, 0, sizeof *report);
    larder_status status = store_enter(store);
    if (status) return status;
    // So that as much as can be is seen in the tree; what stays pending is looked at where it is.
    if (!store_is_read_only(store)) (void)!larder_store_flush(store);
    store_check check = {.store = store,
                         .report = report,
                         .progress = progress,
                         .context = context,
                         .last_sequence = UINT64_MAX};
    status = larder_store_cursor_open(store, &(larder_store_query){0}, &check.cursor);
    if (!status) {
        if (!store_is_read_only(store))
            check.last_sequence = atomic_load(&store->pending.newest_sequence);
        check.tree = &check.cursor->place->tree;
        check.meta = &check.cursor->place->meta;
        status = larder_environment_confirm(check.cursor->place, check_everything(&check));
    }
    larder_live_free(&check.segments);
    larder_store_cursor_close(check.cursor);
    return status;
}
