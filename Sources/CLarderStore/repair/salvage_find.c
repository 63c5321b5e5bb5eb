// SPDX-License-Identifier: MIT
/** @file salvage_find.c
    What the remains of a store are made of: data.mdb, which need not be there, and the segments. */
#include <errno.h>
#include <stdlib.h>

#include "format/array.h"
#include "repair/salvage.h"

larder_status salvage_told(salvage *search, uint64_t done, uint64_t total) {
    return search->progress && search->progress(search->context, done, total) ? ECANCELED
                                                                              : LARDER_OK;
}

larder_status salvage_add(salvage *search, const finding *found, larder_bytes key, bool is_stored) {
    tree_key scratch;
    larder_status status = array_reserve(&search->findings, search->count, &search->capacity,
                                         sizeof *search->findings);
    if (status) return status;
    finding *added = &search->findings[search->count++];
    *added = *found;
    if (!is_stored) key = stored_key(key, search->meta.secret, &scratch);
    siphash128(search->secret, key, added->hash);
    return LARDER_OK;
}

// data.mdb ----------------------------------------------------------------------------------------

/** Maps the file; nothing is mapped of one that is missing, or is no file. */
static larder_status map_data(salvage *search, int folder) {
    int file;
    file_facts facts;
    larder_status status = file_open_in(folder, "data.mdb", 0, 0, &file);
    if (status == ENOENT || status == ELOOP || status == ENXIO) return LARDER_OK;
    if (status) return status;
    status = file_facts_get(file, &facts);
    if (!status && facts.is_regular && facts.bytes && facts.bytes <= SIZE_MAX / 2)
        status = file_map(file, (size_t)facts.bytes, false, &search->map);
    if (!status && search->map) search->map_bytes = (size_t)facts.bytes;
    file_close(file);
    return status;
}

/** The meta record of one state. */
static larder_status take_meta(salvage *search, tree *state) {
    uint8_t space = SPACE_META;
    larder_bytes bytes;
    store_meta meta;
    state->damage_offset = NULL;
    larder_status status = tree_get(state, (larder_bytes){&space, 1}, &bytes);
    if (!status) status = store_meta_read(bytes, &meta);
    if (status == LARDER_EVERSION) search->is_other_version = true;
    if (status) return status;
    search->meta = meta;
    search->has_meta = true;
    return meta.transaction == state->transaction ? LARDER_OK : LARDER_EDAMAGED;
}

/** The newest state, if it is sound. Of one whose neighbour is damaged there is no telling whether
    it is the newest. */
static larder_status find_tree(salvage *search, bool asks_tree) {
    tree heads[TREE_META_PAGES], states[TREE_META_PAGES];
    larder_store_report *report = search->report;
    bool has_head[TREE_META_PAGES] = {false};
    for (int i = 0; i < TREE_META_PAGES && search->map; i++)
        has_head[i] = tree_meta_head(search->map, search->map_bytes, i, &heads[i]) == LARDER_OK;
    int newer = has_head[1] && (!has_head[0] || heads[1].transaction > heads[0].transaction);
    for (int i = 0; i < TREE_META_PAGES && !search->has_meta; i++) {
        int which = i == 0 ? newer : 1 - newer;
        if (!has_head[which] ||
            tree_of_meta_page(search->map, search->map_bytes, which, &states[which]))
            continue;
        search->has_tree = take_meta(search, &states[which]) == LARDER_OK && asks_tree && i == 0 &&
                           has_head[1 - which] &&
                           heads[which].transaction == heads[1 - which].transaction + 1;
        if (!search->has_tree) continue;
        tree_report pages;
        larder_status status = tree_audit(&states[which], &pages);
        if (status && status != LARDER_EDAMAGED) return status;
        report->damaged_pages = pages.damaged_pages;
        report->first_damage_offset = pages.first_damage_offset;
        search->tree = states[which];
        // Else a page of an older state is in the place of another.
        search->has_tree =
            !status && tree_count_space(&search->tree, SPACE_ENTRY) == search->meta.count;
    }
    if (search->has_tree) search->cleared = search->meta.cleared;
    if (search->has_meta) search->last_sequence = search->meta.applied;
    if (!search->has_tree && report->damaged_pages == 0) report->damaged_pages = 1;
    return LARDER_OK;
}

// The log -----------------------------------------------------------------------------------------

typedef struct segment_search {
    salvage *search;
    int folder;
    larder_status status;
} segment_search;

/** Takes a segment in, whatever its head says; but that of another store. */
static int take_segment(void *context, const char *name) {
    segment_search *visit = context;
    salvage *search = visit->search;
    uint32_t number;
    uint64_t store_id;
    segment *found;
    if (!segment_number_of(name, &number)) return 0;
    if (number > search->last_number) search->last_number = number;
    visit->status = array_reserve(&search->segments, search->segment_count,
                                  &search->segment_capacity, sizeof *search->segments);
    if (!visit->status)
        visit->status = segment_open_damaged(visit->folder, number, &store_id, &found);
    if (visit->status || !found) return visit->status != LARDER_OK;
    if (store_id) {
        uint64_t wanted = search->has_meta ? search->meta.store_id : search->store_id;
        bool is_foreign = wanted && store_id != wanted;
        search->has_foreign = search->has_foreign || is_foreign;
        if (is_foreign && search->has_meta) {
            segment_close(found);
            return 0;
        }
        search->store_id = store_id;
    }
    search->segments[search->segment_count++] = found;
    return 0;
}

static int compare_segments(const void *a, const void *b) {
    const segment *left = *(segment *const *)a, *right = *(segment *const *)b;
    return (left->number > right->number) - (left->number < right->number);
}

static larder_status find_segments(salvage *search, int folder) {
    segment_search visit = {.search = search};
    larder_status status = folder_open_in(folder, "log", &visit.folder);
    // Without a log, or with something else in its place, there are still the rows.
    if (status == ENOENT || status == ELOOP || status == ENOTDIR) return LARDER_OK;
    if (status) return status;
    status = folder_list_in(visit.folder, take_segment, &visit);
    file_close(visit.folder);
    if (search->segment_count)
        qsort(search->segments, search->segment_count, sizeof(segment *), compare_segments);
    return visit.status ? visit.status : status;
}

const segment *salvage_segment(const salvage *search, uint32_t number) {
    segment wanted = {.number = number}, *key = &wanted;
    if (search->segment_count == 0) return NULL;
    segment *const *found =
        bsearch(&key, search->segments, search->segment_count, sizeof key, compare_segments);
    return found ? *found : NULL;
}

// Rows --------------------------------------------------------------------------------------------

/** Whether `bytes` are the put that the row is of. */
static bool is_of_row(const salvage *search, larder_bytes bytes, const entry_row *row,
                      larder_bytes stored) {
    record entry;
    tree_key scratch;
    return !record_read(bytes, true, &entry) && entry.kind == RECORD_PUT &&
           entry.sequence == row->sequence && entry.minor == row->minor &&
           compare_bytes(stored_key(entry.key, search->meta.secret, &scratch), stored) == 0;
}

/** Whether there was something where the row leads, for all that the tree knows of its segment, and
    the walk over that one did not come by. */
static bool may_be_lost(const salvage *search, const entry_row *row, const segment *in) {
    tree_key key;
    larder_bytes value;
    live_segment known;
    tree_key_segment(row->at.segment, &key);
    if (row->sequence > search->last_sequence ||
        tree_get(&search->tree, bytes_of_key(&key), &value) || live_row_read(value, &known))
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
    larder_status status = salvage_add(search, &found, stored, true);
    if (!status) status = row_read(value, &row);
    if (status) return status;
    const segment *in = salvage_segment(search, row.at.segment);
    larder_bytes bytes;
    found = (finding){
        .kind = FOUND_PUT, .number = {row.sequence, row.minor}, .segment = row.at.segment};
    if (in && !segment_look(in, row.at.offset, &bytes) && is_of_row(search, bytes, &row, stored)) {
        found.bytes = bytes.data;
        // Beside damage, others lie out of turn, and the walk may have passed it by.
        return in->is_measured ? LARDER_OK : salvage_add(search, &found, stored, true);
    }
    if (is_of_row(search, row.inlined, &row, stored)) {
        found.kind = FOUND_INLINED;
        found.bytes = value.data;
        return salvage_add(search, &found, stored, true);
    }
    if (!may_be_lost(search, &row, in)) return LARDER_EDAMAGED;
    found.kind = FOUND_DAMAGE;
    found.before = (record_number){row.sequence, row.minor + 1};
    return salvage_add(search, &found, stored, true);
}

static larder_status add_rows(salvage *search) {
    tree_cursor place;
    uint8_t space = SPACE_ENTRY;
    larder_status status = tree_cursor_seek(&place, &search->tree, (larder_bytes){&space, 1});
    while (!status) {
        larder_bytes key, value;
        status = tree_cursor_get(&place, &key, &value);
        if (status || key.length == 0 || *(const uint8_t *)key.data != SPACE_ENTRY) break;
        larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
        status = add_row(search, stored, value);
        if (!status) status = tree_cursor_next(&place);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

const uint8_t *salvage_record(const salvage *search, const finding *put, location *at) {
    if (put->kind == FOUND_INLINED) {
        entry_row row;
        *at = (location){0};
        if (!row_read((larder_bytes){put->bytes, ROW_BYTES}, &row)) *at = row.at;
        return put->bytes + ROW_BYTES;
    }
    // The walk found it there.
    const segment *in = salvage_segment(search, put->segment);
    *at = (location){put->segment, in ? (uint64_t)(put->bytes - in->map) : 0};
    return put->bytes;
}

/** @param asks_tree of entries: else its meta record is all that is taken. */
static larder_status gather(salvage *search, int folder, bool asks_tree) {
    memset(search->report, 0, sizeof *search->report);
    system_random_fill(search->secret, sizeof search->secret);
    larder_status status = map_data(search, folder);
    if (!status) status = find_tree(search, asks_tree);
    if (!status) status = find_segments(search, folder);
    if (!status) status = salvage_read_log(search);
    return !status && search->has_tree ? add_rows(search) : status;
}

larder_status salvage_find(salvage *search, int folder) {
    salvage before = *search;
    larder_status status = gather(search, folder, true);
    if (status == LARDER_EDAMAGED) {
        // Rows have no checksum. Where one of them contradicts the log, none is believed.
        salvage_close(search);
        *search = before;
        status = gather(search, folder, false);
    }
    if (status) return status;
    if (!search->has_meta) {
        bool is_bare = !search->count || !search->segment_count;
        if (search->is_other_version && is_bare) return LARDER_EVERSION;
        if (!search->store_id && !search->count) return LARDER_EFOREIGN;
    }
    salvage_choose(search);
    return LARDER_OK;
}

void salvage_close(salvage *search) {
    file_unmap(search->map, search->map_bytes);
    for (size_t i = 0; i < search->segment_count; i++) segment_close(search->segments[i]);
    free(search->segments);
    free(search->findings);
}
