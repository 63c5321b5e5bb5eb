// SPDX-License-Identifier: MIT
/** @file salvage_find.c
    What the remains of a store are made of: data.mdb, which need not be there, and the segments. */
#include <errno.h>
#include <stdlib.h>

#include "larder_crc32c.h"
#include "log/segment.h"
#include "repair/salvage.h"

void *salvage_grown(void *items, size_t count, size_t *capacity, size_t item_bytes) {
    if (count < *capacity) return items;
    size_t wanted = *capacity ? 2 * *capacity : 256;
    void *more = realloc(items, wanted * item_bytes);
    if (more) *capacity = wanted;
    return more;
}

larder_status salvage_told(salvage *search, uint64_t done, uint64_t total) {
    return search->progress && search->progress(search->context, done, total) ? ECANCELED
                                                                              : LARDER_OK;
}

static larder_status add_stored(salvage *search, const finding *found, larder_bytes stored) {
    finding *findings =
        salvage_grown(search->findings, search->count, &search->capacity, sizeof *findings);
    if (!findings) return ENOMEM;
    search->findings = findings;
    finding *added = &findings[search->count++];
    *added = *found;
    siphash128(search->secret, stored, added->hash);
    return LARDER_OK;
}

larder_status salvage_add(salvage *search, const finding *found, larder_bytes key) {
    tree_key scratch;
    return add_stored(search, found, stored_key(key, search->meta.secret, &scratch));
}

/** Maps a regular file of the folder; nothing is mapped of one that is missing, or is no file. */
static larder_status map_file(int folder, const char *name, uint8_t **map, size_t *bytes) {
    int file;
    file_facts facts;
    *map = NULL;
    *bytes = 0;
    larder_status status = file_open_in(folder, name, 0, 0, &file);
    if (status == ENOENT || status == ELOOP || status == ENXIO) return LARDER_OK;
    if (status) return status;
    status = file_facts_get(file, &facts);
    if (!status && facts.is_regular && facts.bytes && facts.bytes <= SIZE_MAX / 2)
        status = file_map(file, (size_t)facts.bytes, false, map);
    if (!status && *map) *bytes = (size_t)facts.bytes;
    file_close(file);
    return status;
}

// data.mdb ----------------------------------------------------------------------------------------

static larder_status take_meta(salvage *search, const tree *from) {
    uint8_t space = SPACE_META;
    larder_bytes bytes;
    store_meta meta;
    larder_status status = tree_get(from, (larder_bytes){&space, 1}, &bytes);
    if (!status) status = store_meta_read(bytes, &meta);
    if (status == LARDER_EVERSION) search->is_other_version = true;
    if (status) return status;
    if (!search->has_meta) search->meta = meta;
    search->has_meta = true;
    return meta.transaction == from->transaction ? LARDER_OK : LARDER_EDAMAGED;
}

/** Takes one state, if it is sound. */
static larder_status take_tree(salvage *search, const tree *state, tree_worth worth) {
    tree_report pages;
    larder_status status = tree_audit(state, &pages);
    if (status == ENOMEM) return status;
    larder_store_report *report = search->report;
    if (status && report->damaged_pages == 0) {
        report->damaged_pages = pages.damaged_pages;
        report->first_damage_offset = pages.first_damage_offset;
    }
    if (take_meta(search, state) || status) worth = TREE_PARTIAL;
    if (worth <= search->worth) return LARDER_OK;
    search->worth = worth;
    search->tree = *state;
    if (worth < TREE_OLDER) return LARDER_OK;
    uint8_t space = SPACE_META;
    larder_bytes bytes;
    status = tree_get(state, (larder_bytes){&space, 1}, &bytes);
    if (!status) status = store_meta_read(bytes, &search->meta);
    search->settled = search->meta.applied;
    search->cleared = search->meta.cleared;
    return status;
}

/** The newest state that is sound. Of one whose neighbour is damaged there is no telling whether it
    is the newest. */
static larder_status find_tree(salvage *search) {
    tree heads[TREE_META_PAGES], states[TREE_META_PAGES];
    bool has_head[TREE_META_PAGES], has_state[TREE_META_PAGES];
    for (int i = 0; i < TREE_META_PAGES && search->map; i++) {
        has_head[i] = tree_meta_head(search->map, search->map_bytes, i, &heads[i]) == LARDER_OK;
        has_state[i] =
            tree_of_meta_page(search->map, search->map_bytes, i, &states[i]) == LARDER_OK;
        states[i].damage_offset = NULL;
    }
    larder_status status = LARDER_OK;
    if (search->map) {
        bool are_both = has_head[0] && has_head[1];
        int newer = has_head[1] && (!has_head[0] || heads[1].transaction > heads[0].transaction);
        bool are_in_turn = are_both && heads[newer].transaction == heads[1 - newer].transaction + 1;
        if (has_state[newer])
            status = take_tree(search, &states[newer], are_in_turn ? TREE_NEWEST : TREE_OLDER);
        if (!status && search->worth < TREE_OLDER && has_state[1 - newer])
            status = take_tree(search, &states[1 - newer], TREE_OLDER);
    }
    if (search->worth != TREE_NEWEST && search->report->damaged_pages == 0)
        search->report->damaged_pages = 1;
    return status;
}

// The log -----------------------------------------------------------------------------------------

typedef struct segment_search {
    salvage *search;
    int folder;
    larder_status status;
} segment_search;

/** Takes a segment in, whatever its head says; but that of another store. */
static larder_status take_segment(salvage *search, int folder, const char *name, uint32_t number) {
    salvage_segment *segments = salvage_grown(search->segments, search->segment_count,
                                              &search->segment_capacity, sizeof *segments);
    if (!segments) return ENOMEM;
    search->segments = segments;
    salvage_segment found = {.number = number};
    larder_status status = map_file(folder, name, &found.map, &found.bytes);
    if (status || found.bytes < SEGMENT_HEAD_BYTES) {
        file_unmap(found.map, found.bytes);
        return status;
    }
    uint32_t crc, kind;
    uint64_t store_id;
    memcpy(&crc, found.map + 8, sizeof crc);
    memcpy(&store_id, found.map + 16, sizeof store_id);
    memcpy(&kind, found.map + 24, sizeof kind);
    bool has_magic = memcmp(found.map, "LARDSEG1", 8) == 0 || memcmp(found.map, "LARDNEW1", 8) == 0;
    if (has_magic && larder_crc32c(0, found.map + 12, SEGMENT_HEAD_BYTES - 12) == crc) {
        if (search->has_meta && store_id != search->meta.store_id) {
            file_unmap(found.map, found.bytes);
            return LARDER_OK;
        }
        found.kind = kind;
        search->has_head = true;
    }
    segments[search->segment_count++] = found;
    return LARDER_OK;
}

static int visit_name(void *context, const char *name) {
    segment_search *visit = context;
    uint32_t number;
    if (segment_number_of(name, &number))
        visit->status = take_segment(visit->search, visit->folder, name, number);
    return visit->status != LARDER_OK;
}

static int compare_segments(const void *a, const void *b) {
    const salvage_segment *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

static larder_status find_segments(salvage *search, int folder) {
    segment_search visit = {.search = search};
    larder_status status = folder_open_in(folder, "log", &visit.folder);
    // Without a log, or with something else in its place, there are still the rows.
    if (status == ENOENT || status == ELOOP || status == ENOTDIR) return LARDER_OK;
    if (status) return status;
    status = folder_list_in(visit.folder, visit_name, &visit);
    file_close(visit.folder);
    if (search->segment_count)
        qsort(search->segments, search->segment_count, sizeof *search->segments, compare_segments);
    return visit.status ? visit.status : status;
}

// Rows --------------------------------------------------------------------------------------------

/** Whether the walk over the segment came by a record at `offset`, or by its middle. */
static bool was_walked(const salvage *search, const salvage_segment *mapped, uint64_t offset) {
    for (size_t i = 0; i < search->gap_count; i++)
        if (search->gaps[i].segment == mapped->number && search->gaps[i].from <= offset &&
            offset < search->gaps[i].to)
            return false;
    return offset < mapped->walked_to;
}

/** What a row says, with the record that it leads to. */
typedef struct row_found {
    finding row;
    /** Whose the record says it is; no bytes if it is not there. */
    larder_bytes key;
    /** The record, where the walk did not take it for one: others lie out of turn beside it. That
        it is whole, and the row leads right there, says enough. */
    larder_bytes stray;
} row_found;

/** What became of the record that a row leads to: FOUND_ROW if it is there, or if another one of
    the same key is, so that the row's number is wrong. */
static void look_behind_row(const salvage *search, const entry_row *row, larder_bytes stored,
                            row_found *out) {
    const salvage_segment wanted = {.number = row->at.segment};
    const salvage_segment *mapped = search->segment_count
                                        ? bsearch(&wanted, search->segments, search->segment_count,
                                                  sizeof wanted, compare_segments)
                                        : NULL;
    // A state that is not the newest one leads to segments that were deleted since.
    if (!mapped && search->worth != TREE_NEWEST) out->row.kind = FOUND_ROW;
    uint64_t offset = row->at.offset;
    if (!mapped || offset < SEGMENT_HEAD_BYTES || offset + RECORD_HEAD_BYTES > mapped->bytes)
        return;
    const uint8_t *at = mapped->map + offset;
    record entry;
    if (record_length(at) < RECORD_HEAD_BYTES || record_length(at) > mapped->bytes - offset ||
        record_read(record_bytes(at), true, &entry))
        return;
    tree_key scratch;
    larder_bytes own = stored_key(entry.key, search->meta.secret, &scratch);
    if (entry.sequence == row->sequence && entry.minor == row->minor) {
        out->row.kind = FOUND_ROW;
        // The record knows better whose it is.
        out->key = entry.key;
        if (entry.kind == RECORD_PUT && !was_walked(search, mapped, offset))
            out->stray = record_bytes(at);
    } else if (compare_bytes(own, stored) == 0) {
        out->row.kind = FOUND_ROW;
    }
}

static larder_status add_row(salvage *search, larder_bytes stored, larder_bytes value) {
    // One that makes no sense still says that there is an entry, of whatever number.
    row_found found = {.row = {.kind = FOUND_LOST_ROW, .bytes = value}};
    entry_row row;
    if (row_read(value, &row) == LARDER_OK) {
        found.row.number = (record_number){row.sequence, row.minor};
        look_behind_row(search, &row, stored, &found);
    }
    if (!found.key.data) return add_stored(search, &found.row, stored);
    larder_status status = salvage_add(search, &found.row, found.key);
    if (status || !found.stray.data) return status;
    finding put = {.kind = FOUND_PUT, .number = found.row.number, .bytes = found.stray};
    return salvage_add(search, &put, found.key);
}

static larder_status add_rows(salvage *search) {
    tree_cursor place;
    uint8_t space = SPACE_ENTRY;
    larder_status status = tree_cursor_seek(&place, &search->tree, (larder_bytes){&space, 1});
    while (status != LARDER_END) {
        larder_bytes key, value;
        if (!status) status = tree_cursor_get(&place, &key, &value);
        if (status && status != LARDER_EDAMAGED) return status;
        if (!status && (key.length == 0 || *(const uint8_t *)key.data != SPACE_ENTRY)) break;
        if (!status) {
            larder_bytes stored = {(const uint8_t *)key.data + 1, key.length - 1};
            status = add_row(search, stored, value);
            if (status) return status;
        }
        status = tree_cursor_next(&place);
    }
    return LARDER_OK;
}

larder_status salvage_find(salvage *search, int folder) {
    system_random_fill(search->secret, sizeof search->secret);
    larder_status status = map_file(folder, "data.mdb", &search->map, &search->map_bytes);
    if (!status) status = find_tree(search);
    if (!status) status = find_segments(search, folder);
    if (!status) status = salvage_read_log(search);
    if (!status && search->worth > TREE_LOST) status = add_rows(search);
    return status;
}

void salvage_close(salvage *search) {
    file_unmap(search->map, search->map_bytes);
    for (size_t i = 0; i < search->segment_count; i++)
        file_unmap(search->segments[i].map, search->segments[i].bytes);
    free(search->segments);
    free(search->gaps);
    free(search->findings);
}
