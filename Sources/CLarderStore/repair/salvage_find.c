// SPDX-License-Identifier: MIT
/** @file salvage_find.c
    What the remains of a store are made of: data.mdb, which need not be there, and the segments. */
#include "repair/salvage.h"

larder_status larder_salvage_told(salvage *search, uint64_t done, uint64_t total) {
    return search->progress && search->progress(search->context, done, total) ? ECANCELED
                                                                              : LARDER_OK;
}

larder_status larder_salvage_add(salvage *search, const finding *found, larder_bytes key,
                                 bool is_stored) {
    tree_key scratch;
    larder_status status = larder_os_array_reserve(&search->findings, search->count,
                                                   &search->capacity, sizeof *search->findings);
    if (status) return status;
    finding *added = &search->findings[search->count++];
    *added = *found;
    if (!is_stored) key = larder_stored_key(key, search->meta.secret, &scratch);
    larder_siphash128(search->secret, key, added->hash);
    return LARDER_OK;
}

// data.mdb ----------------------------------------------------------------------------------------

/** The newest state, if it is sound.
    @param asks_tree of entries: else its meta record is all that is taken. */
static larder_status find_tree(salvage *search, const char *path, bool asks_tree) {
    larder_store_report *report = search->report;
    larder_store_detail detail = {0};
    tree_report pages;
    // Nobody writes meanwhile, and so LMDB is not opened.
    larder_status status =
        larder_environment_open(path, ENVIRONMENT_WRITES, NULL, 0600, 0, &detail, &search->data);
    if (!status) status = larder_environment_read(search->data, &search->newest);
    search->opened = status;
    report->first_damage_offset = detail.offset;
    if (status)
        return status == LARDER_EVERSION || status == LARDER_EDAMAGED ||
                       status == LARDER_EFOREIGN || status == ENOENT || status == ELOOP ||
                       status == ENXIO
                   ? LARDER_OK
                   : status;
    const store_meta *meta = &search->newest->meta;
    search->meta = *meta;
    search->form = *meta;
    search->store_id = meta->store_id;
    search->last_sequence = meta->applied;
    if (meta->next_segment) search->last_number = meta->next_segment - 1;
    if (!asks_tree) return LARDER_OK;
    status = larder_tree_audit(&search->newest->tree, &pages);
    if (status && status != LARDER_EDAMAGED) return status;
    // Else a page of an older state is in the place of another.
    search->has_tree =
        !status && larder_tree_count_space(&search->newest->tree, SPACE_ENTRY) == meta->count;
    if (search->has_tree) search->cleared = meta->cleared;
    if (search->has_tree || status) report->damaged_pages = pages.damaged_pages;
    report->first_damage_offset = pages.first_damage_offset;
    return LARDER_OK;
}

// The log -----------------------------------------------------------------------------------------

typedef struct segment_search {
    salvage *search;
    int folder;
    larder_status status;
} segment_search;

/** Takes a segment in, whatever its head says; but that of another store. One whose head is sound
    is the segment that it says, under whatever name its file lies. */
static int take_segment(void *context, const char *name) {
    segment_search *visit = context;
    salvage *search = visit->search;
    uint32_t number;
    uint64_t store_id;
    segment *found;
    if (!larder_segment_number_of(name, &number)) return 0;
    if (number > search->last_number) search->last_number = number;
    visit->status = larder_os_array_reserve(&search->segments, search->segment_count,
                                            &search->segment_capacity, sizeof *search->segments);
    if (!visit->status)
        visit->status = larder_segment_open_damaged(visit->folder, number, &store_id, &found);
    if (visit->status || !found) return visit->status;
    if (found->number > search->last_number) search->last_number = found->number;
    if (store_id) {
        bool is_foreign = search->store_id && store_id != search->store_id;
        search->has_foreign |= is_foreign;
        search->has_own |= !is_foreign;
        if (is_foreign && search->form.store_id) {
            larder_segment_close(found);
            return 0;
        }
        search->store_id = store_id;
    }
    // So much was in the tree once.
    if (found->as_of > search->newest_cleaned) search->newest_cleaned = found->as_of;
    if (found->as_of > search->last_sequence) search->last_sequence = found->as_of;
    search->segments[search->segment_count++] = found;
    return 0;
}

/** By number; of those with the same one, what is most likely that segment comes first. */
static int compare_segments(const void *a, const void *b) {
    const segment *left = *(segment *const *)a, *right = *(segment *const *)b;
    if (left->number != right->number) return left->number < right->number ? -1 : 1;
    bool is_known = left->kind != SEGMENT_UNKNOWN;
    if (is_known != (right->kind != SEGMENT_UNKNOWN)) return is_known ? -1 : 1;
    bool is_named = left->file_number == left->number;
    if (is_named != (right->file_number == right->number)) return is_named ? -1 : 1;
    return (left->file_number > right->file_number) - (left->file_number < right->file_number);
}

/** Of a segment there is one file; a copy under another name has nothing else. */
static void drop_copies(salvage *search) {
    size_t kept = 0;
    for (size_t i = 0; i < search->segment_count; i++) {
        segment *next = search->segments[i];
        const segment *last = kept ? search->segments[kept - 1] : NULL;
        if (last && next->kind != SEGMENT_UNKNOWN && last->number == next->number)
            larder_segment_close(next);
        else search->segments[kept++] = next;
    }
    search->segment_count = kept;
}

static larder_status find_segments(salvage *search, const char *path) {
    segment_search visit = {.search = search};
    file_path log;
    larder_status status =
        larder_os_folder_open(larder_environment_path(log, path, "log"), &visit.folder);
    // Without a log, or with something else in its place, there are still the rows.
    if (status == ENOENT || status == ELOOP || status == ENOTDIR) return LARDER_OK;
    if (status) return status;
    status = larder_os_folder_list_in(visit.folder, take_segment, &visit);
    larder_os_file_close(visit.folder);
    if (search->segment_count)
        qsort(search->segments, search->segment_count, sizeof(segment *), compare_segments);
    drop_copies(search);
    return visit.status ? visit.status : status;
}

const segment *larder_salvage_segment(const salvage *search, uint32_t number) {
    size_t from = 0, to = search->segment_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (search->segments[middle]->number < number) from = middle + 1;
        else to = middle;
    }
    bool is_there = from < search->segment_count && search->segments[from]->number == number;
    return is_there ? search->segments[from] : NULL;
}

// Rows --------------------------------------------------------------------------------------------

/** Whether `bytes` are the put that the row is of. */
static bool is_of_row(const salvage *search, larder_bytes bytes, const entry_row *row,
                      larder_bytes stored) {
    record entry;
    tree_key scratch;
    return !larder_record_read(bytes, true, &entry) && entry.kind == RECORD_PUT &&
           entry.sequence == row->sequence && entry.minor == row->minor &&
           compare_bytes(larder_stored_key(entry.key, search->meta.secret, &scratch), stored) == 0;
}

/** Whether there was something where the row leads, for all that the tree knows of its segment, and
    the walk over that one did not come by. */
static bool may_be_lost(const salvage *search, const entry_row *row, const segment *in) {
    tree_key key;
    larder_bytes value;
    live_segment known;
    larder_tree_key_segment(row->at.segment, &key);
    if (row->sequence > search->last_sequence ||
        larder_tree_get(&search->newest->tree, bytes_of_key(&key), &value) ||
        larder_live_row_read(value, &known))
        return false;
    // In the midst of a checkpoint its end is not known yet.
    if (row->sequence <= search->meta.applied &&
        row->at.offset >= SEGMENT_HEAD_BYTES + known.used_bytes)
        return false;
    return !in || !in->is_measured || row->at.offset >= atomic_load(&in->end);
}

/** What one row tells. LARDER_EDAMAGED if it contradicts the log. */
static larder_status add_row(salvage *search, larder_bytes stored, larder_bytes value) {
    entry_row row;
    finding found = {.kind = FOUND_ROW};
    larder_status status = larder_salvage_add(search, &found, stored, true);
    if (!status) status = larder_row_read(value, &row);
    if (status) return status;
    const segment *in = larder_salvage_segment(search, row.at.segment);
    larder_bytes bytes;
    found = (finding){.kind = FOUND_PUT,
                      .number = {row.sequence, row.minor},
                      .segment = in ? in->file_number : row.at.segment,
                      .offset = row.at.offset};
    if (in && !larder_segment_look(in, row.at.offset, &bytes) &&
        is_of_row(search, bytes, &row, stored)) {
        found.bytes = bytes.data;
        // Beside damage, others lie out of turn, and the walk may have passed it by.
        return in->is_measured ? LARDER_OK : larder_salvage_add(search, &found, stored, true);
    }
    if (is_of_row(search, row.inlined, &row, stored)) {
        found.kind = FOUND_INLINED;
        found.bytes = row.inlined.data;
        return larder_salvage_add(search, &found, stored, true);
    }
    if (!may_be_lost(search, &row, in)) return LARDER_EDAMAGED;
    found.kind = FOUND_DAMAGE;
    found.before = (stamp){row.sequence, row.minor + 1};
    return larder_salvage_add(search, &found, stored, true);
}

static larder_status add_rows(salvage *search) {
    tree_cursor place;
    larder_bytes from = {&(uint8_t){SPACE_ENTRY}, 1};
    larder_status status = larder_tree_cursor_seek(&place, &search->newest->tree, from);
    while (!status) {
        larder_bytes key, value;
        status = larder_tree_cursor_get(&place, &key, &value);
        if (status || key.length == 0 || *(const uint8_t *)key.data != SPACE_ENTRY) break;
        larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
        status = add_row(search, stored, value);
        if (!status) status = larder_tree_cursor_next(&place);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/** Whether the log was synced farther than it goes, or went on in a segment that is missing,
    without another trace. */
static bool end_is_missing(const salvage *search, const char *path) {
    int64_t ignored;
    store_identity where = {.path = (char *)(uintptr_t)path};
    lock_text text = larder_identity_look(&where, &ignored);
    location synced = larder_lock_text_synced(&text, search->store_id);
    location end = search->has_tree ? search->meta.end : (location){0, 0};
    for (size_t i = 0; i < search->segment_count; i++) {
        const segment *from = search->segments[i];
        location reached = {from->number, atomic_load(&from->end)};
        if (from->kind != SEGMENT_CLEANED && compare_locations(reached, end) > 0) end = reached;
    }
    uint32_t next = search->meta.end.segment;
    bool is_missing = next != 0 && larder_salvage_segment(search, next) == NULL;
    return search->report->journal_lost == 0 && (is_missing || compare_locations(end, synced) < 0);
}

/** What of data.mdb is believed. */
typedef enum tree_use { TREE_ROWS, TREE_META, TREE_NOTHING } tree_use;

/** @return LARDER_EMISMATCH if data.mdb is not that of the log: a backup's, for example, or one
    from before the last cleaning. */
static larder_status gather(salvage *search, const char *path, tree_use use) {
    memset(search->report, 0, sizeof *search->report);
    larder_os_random_fill(search->secret, sizeof search->secret);
    search->report->damaged_pages = 1;
    search->opened = ENOENT;
    larder_status status = LARDER_OK;
    if (use != TREE_NOTHING) status = find_tree(search, path, use == TREE_ROWS);
    if (!status) status = find_segments(search, path);
    bool is_other = search->has_foreign && !search->has_own;
    // An older one of the log's has rows for what was cleaned away since.
    bool is_older = !is_other && search->newest_cleaned > search->meta.applied;
    if (!status && search->newest && (is_other || is_older)) {
        if (is_other) search->form = (store_meta){0};
        return LARDER_EMISMATCH;
    }
    if (!status) status = larder_salvage_read_log(search);
    if (!status && end_is_missing(search, path)) search->report->journal_lost = 1;
    return !status && search->has_tree ? add_rows(search) : status;
}

larder_status larder_salvage_find(salvage *search, const char *path) {
    const salvage before = *search;
    larder_status status = gather(search, path, TREE_ROWS);
    if (status == LARDER_EDAMAGED || status == LARDER_EMISMATCH) {
        // Rows have no checksum. Where one of them contradicts the log, none is believed.
        const store_meta form = search->form;
        larder_salvage_close(search);
        *search = before;
        search->form = form;
        search->store_id = form.store_id;
        status = gather(search, path, status == LARDER_EDAMAGED ? TREE_META : TREE_NOTHING);
    }
    if (status) return status;
    if (search->opened == LARDER_EVERSION && !search->count) return LARDER_EVERSION;
    if (search->opened && search->opened != LARDER_EDAMAGED && !search->store_id && !search->count)
        return LARDER_EFOREIGN;
    larder_salvage_choose(search);
    return LARDER_OK;
}

void larder_salvage_close(salvage *search) {
    if (search->newest) larder_environment_release(search->data, search->newest);
    larder_environment_close(search->data, true);
    for (size_t i = 0; i < search->segment_count; i++) larder_segment_close(search->segments[i]);
    free(search->segments);
    free(search->findings);
}
