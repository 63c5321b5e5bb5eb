// SPDX-License-Identifier: MIT
#include "log/scan.h"

/** Whether a write with this number, or a RECORD_NEXT behind it, comes here. */
static bool is_in_turn(const log_scan *scan, const record *found) {
    uint64_t expected = scan->sequence + (found->kind == RECORD_NEXT ? 0 : 1);
    return scan->has_resynced ? found->sequence >= expected : found->sequence == expected;
}

/** Goes on in the segment that the record at `offset` names. */
static larder_status follow_next(log_scan *scan, const segment *here, uint64_t offset) {
    record next;
    if (larder_segment_read(here, &offset, true, &next) != LARDER_OK || !is_in_turn(scan, &next) ||
        next.minor <= scan->at.segment)
        return LARDER_EDAMAGED;
    segment *there;
    larder_status status = larder_log_segment(scan->log, next.minor, &there);
    if (status) return status == ENOENT ? LARDER_END : status;
    if (there->kind != SEGMENT_WRITTEN) return LARDER_EDAMAGED;
    scan->lost += next.sequence - scan->sequence;
    scan->sequence = next.sequence;
    scan->has_resynced = false;
    scan->at = (location){next.minor, SEGMENT_HEAD_BYTES};
    return LARDER_OK;
}

/** Counts the records of the write at `offset`, if it is whole. */
static larder_status read_write(const log_scan *scan, const segment *here, bool verifies,
                                uint64_t *offset, uint32_t *count) {
    *count = 0;
    uint64_t sequence = 0;
    for (bool continues = true; continues; ++*count) {
        record found;
        if (larder_segment_read(here, offset, verifies, &found) != LARDER_OK ||
            found.kind == RECORD_NEXT || found.minor != *count)
            return LARDER_EDAMAGED;
        if (*count == 0 ? !is_in_turn(scan, &found) : found.sequence != sequence)
            return LARDER_EDAMAGED;
        sequence = found.sequence;
        continues = (found.flags & RECORD_CONTINUES) != 0;
    }
    return LARDER_OK;
}

larder_status larder_log_scan_next(log_scan *scan, bool verifies, const uint8_t **first,
                                   uint32_t *count, segment **from) {
    for (;;) {
        segment *here;
        larder_status status = larder_log_segment(scan->log, scan->at.segment, &here);
        if (status) return status == ENOENT ? LARDER_END : status;
        if (here->kind != SEGMENT_WRITTEN) return LARDER_EDAMAGED;
        larder_bytes bytes;
        status = larder_segment_look(here, scan->at.offset, &bytes);
        if (status) return status;
        if (record_kind(bytes.data) == RECORD_NEXT) {
            status = follow_next(scan, here, scan->at.offset);
            if (status) return status;
            continue;
        }
        uint64_t end = scan->at.offset;
        status = read_write(scan, here, verifies, &end, count);
        if (status) return status;
        uint64_t sequence = record_sequence(bytes.data);
        scan->lost += sequence - scan->sequence - 1;
        scan->sequence = sequence;
        scan->has_resynced = false;
        scan->at.offset = end;
        *first = bytes.data;
        *from = here;
        return LARDER_OK;
    }
}

// After damage ------------------------------------------------------------------------------------

/** Whether a sound record lies at `offset` that the log may go on with: behind the write that
    `scan` gave last, and if `is_next` only behind the very next one. */
static bool resumes_at(const log_scan *scan, const segment *here, uint64_t offset, bool is_next) {
    larder_bytes bytes;
    record found;
    if (larder_segment_look(here, offset, &bytes) != LARDER_OK) return false;
    // Cheap questions first: a search asks at each place.
    const uint8_t *at = bytes.data;
    bool leads_on = record_kind(at) == RECORD_NEXT;
    uint64_t least = scan->sequence + (leads_on ? 0 : 1);
    if (leads_on ? record_minor(at) <= here->number : record_minor(at) != 0) return false;
    if (record_sequence(at) < least || (is_next && record_sequence(at) != least + 1)) return false;
    return larder_record_read(bytes, true, &found) == LARDER_OK;
}

/** What a damaged write's own lengths lead to is believed if nothing but that write is lost then: a
    search might find a record that lies in a value. 0 if there is nothing. */
static uint64_t place_by_lengths(const log_scan *scan, const segment *here) {
    larder_bytes bytes;
    uint64_t offset = scan->at.offset;
    while (larder_segment_look(here, offset, &bytes) == LARDER_OK) {
        offset += record_padded(bytes.length);
        if (resumes_at(scan, here, offset, true)) return offset;
    }
    return 0;
}

typedef struct next_search {
    const log_scan *scan;
    uint32_t next;
    uint64_t least;
} next_search;

static int look_at_segment(void *context, const char *name) {
    next_search *search = context;
    uint32_t number;
    segment *found;
    larder_bytes first;
    if (!larder_segment_number_of(name, &number) || number <= search->scan->at.segment ||
        larder_log_segment(search->scan->log, number, &found) != LARDER_OK ||
        found->kind != SEGMENT_WRITTEN ||
        larder_segment_look(found, SEGMENT_HEAD_BYTES, &first) != LARDER_OK)
        return 0;
    uint64_t sequence = record_sequence(first.data);
    if (sequence <= search->scan->sequence || sequence >= search->least) return 0;
    search->least = sequence;
    search->next = number;
    return 0;
}

/** Where the log goes on behind a segment whose end is damaged: the one that begins with the least
    sequence of those that come later. */
static bool find_next(log_scan *scan) {
    next_search search = {scan, 0, UINT64_MAX};
    if (larder_os_folder_list_in(scan->log->folder, look_at_segment, &search) != LARDER_OK ||
        search.next == 0)
        return false;
    scan->at = (location){search.next, SEGMENT_HEAD_BYTES};
    scan->has_resynced = true;
    return true;
}

bool larder_log_scan_resync(log_scan *scan) {
    segment *here;
    if (larder_log_segment(scan->log, scan->at.segment, &here) != LARDER_OK) return find_next(scan);
    uint64_t offset = place_by_lengths(scan, here);
    if (offset == 0) {
        offset = scan->at.offset < SEGMENT_HEAD_BYTES ? SEGMENT_HEAD_BYTES
                                                      : (scan->at.offset + 8) / 8 * 8;
        while (offset < here->capacity && !resumes_at(scan, here, offset, false)) offset += 8;
        if (offset >= here->capacity) return find_next(scan);
    }
    scan->at.offset = offset;
    scan->has_resynced = true;
    return true;
}
