// SPDX-License-Identifier: MIT
/** @file check_log.c
    The part of the deep check that looks at the log. */
#include <errno.h>

#include "log/scan.h"
#include "repair/check.h"

// What the tree knows of segments -----------------------------------------------------------------

larder_status check_segment_row(store_check *check, larder_bytes key, larder_bytes value) {
    live_segment row, *known;
    if (key.length != 5 || live_row_read(value, &row) != LARDER_OK) {
        check->report->inconsistencies++;
        return LARDER_OK;
    }
    row.number = get_be32((const uint8_t *)key.data + 1);
    larder_status status = live_add(&check->segments, row.number, &known);
    if (!status) *known = row;
    return status;
}

larder_status check_segment_use(store_check *check, uint32_t number, size_t length) {
    live_segment *found;
    larder_status status = live_add(&check->found, number, &found);
    if (status) return status;
    found->live_count++;
    found->live_bytes += record_padded(length);
    return LARDER_OK;
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
        if (segment_read(found, &offset, false, &entry) != LARDER_OK ||
            entry.sequence < row->first_sequence)
            return false;
        bool is_put = entry.kind == RECORD_PUT;
        if (!is_put && segment_read(found, &at, true, &entry) != LARDER_OK) return false;
        count++;
        bare += !is_put;
    }
    return offset == end && count == row->record_count && bare == row->bare_count;
}

larder_status check_segments(store_check *check, bool is_complete) {
    uint64_t *wrong = &check->report->inconsistencies;
    for (size_t i = 0; i < check->segments.count; i++) {
        const live_segment *row = &check->segments.items[i];
        const live_segment *found = live_find(&check->found, row->number);
        segment *mapped;
        larder_status status = log_segment(&check->store->log, row->number, &mapped);
        if (status == ENOMEM || status == EMFILE || status == ENFILE) return status;
        *wrong += status || !segment_is_sound(mapped, row);
        if (is_complete)
            *wrong += row->live_count != (found ? found->live_count : 0) ||
                      row->live_bytes != (found ? found->live_bytes : 0);
        if (row->number >= check->meta->next_segment) ++*wrong;
    }
    for (size_t i = 0; i < check->found.count; i++)
        *wrong += !live_find(&check->segments, check->found.items[i].number);
    return LARDER_OK;
}

// What the tree has not yet -----------------------------------------------------------------------

larder_status check_pending_log(store_check *check) {
    larder_store_report *report = check->report;
    location at = check->meta->end;
    // The first segment has the first number.
    if (at.segment == 0) at = (location){1, SEGMENT_HEAD_BYTES};
    log_scan scan = {.log = &check->store->log, .at = at, .sequence = check->meta->applied};
    larder_status status = LARDER_OK;
    while (!status) {
        const uint8_t *first;
        uint32_t count;
        segment *from;
        status = log_scan_next(&scan, true, &first, &count, &from);
        bool goes_on = status != LARDER_EDAMAGED || log_scan_resync(&scan);
        report->journal_lost += !goes_on;
        if (status == LARDER_END || !goes_on || scan.sequence > check->last_sequence) break;
        if (status == LARDER_EDAMAGED) status = LARDER_OK;
        else report->journal_intact += !status;
    }
    report->journal_lost += scan.lost;
    return status == LARDER_END || status == LARDER_EDAMAGED ? LARDER_OK : status;
}

// Files -------------------------------------------------------------------------------------------

typedef struct file_check {
    store_check *check;
    /** Those from here on may have been made meanwhile. */
    uint32_t first_new;
} file_check;

static int check_file(void *context, const char *name) {
    const file_check *files = context;
    const larder_store *store = files->check->store;
    uint32_t number;
    if (segment_is_unfinished(name)) return 0;
    bool is_known = segment_number_of(name, &number) &&
                    (number >= files->first_new || live_find(&files->check->found, number) ||
                     live_find(&store->live, number));
    for (size_t i = 0; i < store->retired_count && !is_known; i++)
        is_known = store->retired[i].number == number;
    files->check->report->inconsistencies += !is_known;
    return 0;
}

larder_status check_files(store_check *check) {
    larder_store *store = check->store;
    file_check files = {.check = check};
    // Without a checkpoint at work, so that each segment is in the table or in the chain.
    pthread_mutex_lock(&store->flush_lock);
    pthread_mutex_lock(&store->lock);
    committed_state committed = store->committed;
    live_segment *noted;
    // The last one may be the spare, or is just being made to be that.
    files.first_new = store->log.next_number ? store->log.next_number - 1 : 0;
    segment *kept[] = {store->log.active, store->log.spare};
    larder_status status = store_enter(store);
    for (int i = 0; i < 2 && !status; i++)
        if (kept[i]) status = live_add(&check->found, kept[i]->number, &noted);
    uint32_t number = committed.end.segment ? committed.end.segment : 1;
    segment *passed;
    while (!status && log_segment(&store->log, number, &passed) == LARDER_OK) {
        status = live_add(&check->found, number, &noted);
        number = passed->next;
    }
    pthread_mutex_unlock(&store->lock);
    // Who only reads cannot tell what its writer still keeps, or a killed one left.
    if (!status && !store_is_read_only(store) && !(status = log_enter(&store->log))) {
        status = folder_list_in(store->log.folder, check_file, &files);
        log_leave(&store->log);
    }
    pthread_mutex_unlock(&store->flush_lock);
    return status;
}
