// SPDX-License-Identifier: MIT
#include "log/scan.h"

#include "larder_os_array.h"

/** Whether a write with this number, or a RECORD_NEXT behind it, comes here. */
static bool is_in_turn(const log_scan *scan, const record *found) {
    uint64_t expected = scan->sequence + (found->kind == RECORD_NEXT ? 0 : 1);
    return scan->has_resynced ? found->sequence >= expected : found->sequence == expected;
}

/** A segment of the chain, or one that may be.
    @return LARDER_OK; ENOENT: there is none; LARDER_EDAMAGED: something else is in its place; or an
    errno. */
static larder_status segment_at(const log_scan *scan, uint32_t number, segment **out) {
    larder_status status = larder_log_segment(scan->log, number, out);
    return !status && (*out)->kind == SEGMENT_CLEANED ? LARDER_EDAMAGED : status;
}

/** Goes on in the segment that the record at `offset` names. */
static larder_status follow_next(log_scan *scan, const segment *here, uint64_t offset) {
    record next;
    if (larder_segment_read(here, &offset, true, &next) != LARDER_OK || !is_in_turn(scan, &next) ||
        next.minor <= scan->at.segment)
        return LARDER_EDAMAGED;
    segment *there;
    larder_status status = segment_at(scan, next.minor, &there);
    // It had its name before this record named it.
    if (status) return status == ENOENT ? LARDER_EDAMAGED : status;
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

static bool find_next(const log_scan *scan, location *out);
static uint64_t place_by_search(const log_scan *scan, const segment *here, uint64_t offset);

/** Nothing more was written at the place of the scan; or something is missing there, for more comes
    later. A process that writes may have gone on meanwhile: then the place is not empty. */
static larder_status end_at(log_scan *scan) {
    location ignored;
    segment *here;
    larder_bytes bytes;
    if (!scan->looks_behind || compare_locations(scan->at, scan->closed_at) == 0) return LARDER_END;
    scan->looks_behind = false;
    bool is_there = segment_at(scan, scan->at.segment, &here) == LARDER_OK;
    uint64_t next = is_there ? place_by_search(scan, here, scan->at.offset) : UINT64_MAX;
    bool is_here = is_there && next < here->capacity;
    if (!is_here && !find_next(scan, &ignored)) return LARDER_END;
    // Its segment may have been made only now, too.
    bool is_written = segment_at(scan, scan->at.segment, &here) == LARDER_OK &&
                      larder_segment_look(here, scan->at.offset, &bytes) != LARDER_END;
    return is_written ? LARDER_OK : LARDER_EDAMAGED;
}

/** The first record at the place of the scan.
    @return as larder_log_scan_next. */
static larder_status look(log_scan *scan, segment **here, larder_bytes *out) {
    larder_status status;
    do {
        status = segment_at(scan, scan->at.segment, here);
        if (status && status != ENOENT) return status;
        if (!status) status = larder_segment_look(*here, scan->at.offset, out);
        if (status != ENOENT && status != LARDER_END) return status;
        if (status == LARDER_END && segment_is_cut_at(*here, scan->at.offset))
            return LARDER_EDAMAGED;
        status = end_at(scan);
    } while (!status);
    return status;
}

larder_status larder_log_scan_next(log_scan *scan, bool verifies, const uint8_t **first,
                                   uint32_t *count, segment **from) {
    for (;;) {
        segment *here;
        larder_bytes bytes;
        larder_status status = look(scan, &here, &bytes);
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

/** The first place from `offset` on where the log may go on; the capacity if there is none. */
static uint64_t place_by_search(const log_scan *scan, const segment *here, uint64_t offset) {
    offset = larder_segment_first_used(here, offset);
    while (offset < here->capacity && !resumes_at(scan, here, offset, false))
        offset = larder_segment_first_used(here, offset + 8);
    return offset;
}

typedef struct next_search {
    const log_scan *scan;
    location next;
    uint64_t least;
} next_search;

static void look_into(next_search *search, const segment *found) {
    if (found->kind == SEGMENT_CLEANED) return;
    uint64_t place = place_by_search(search->scan, found, SEGMENT_HEAD_BYTES);
    if (place >= found->capacity) return;
    uint64_t sequence = record_sequence(found->map + place);
    if (sequence >= search->least) return;
    search->least = sequence;
    search->next = (location){found->number, place};
}

/** Looks into a segment of the folder.
    @return whether none behind it comes earlier in the log: its head says which one it is. */
static bool look_at_segment(next_search *search, uint32_t number) {
    segment *found;
    if (larder_log_peek(search->scan->log, number, &found) != LARDER_OK) return false;
    look_into(search, found);
    bool is_next = search->next.segment == number && found->kind == SEGMENT_WRITTEN;
    larder_segment_close(found);
    return is_next;
}

/** Numbers of segments behind the place of a scan. */
typedef struct later_segments {
    uint32_t *numbers;
    size_t count, capacity;
    uint32_t after;
} later_segments;

static int add_segment(void *context, const char *name) {
    later_segments *later = context;
    uint32_t number;
    if (!larder_segment_number_of(name, &number) || number <= later->after) return 0;
    larder_status status = larder_os_array_reserve(&later->numbers, later->count, &later->capacity,
                                                   sizeof *later->numbers);
    if (!status) later->numbers[later->count++] = number;
    return status;
}

static int compare_numbers(const void *left, const void *right) {
    uint32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return a < b ? -1 : a > b;
}

/** Where the log goes on behind a segment whose end is damaged or missing: in the one that begins
    with the least sequence of those that come later. They are looked at in their order: where many
    are missing, this is done for each. */
static bool find_next(const log_scan *scan, location *out) {
    next_search search = {.scan = scan, .least = UINT64_MAX};
    later_segments later = {.after = scan->at.segment};
    if (larder_log_enter(scan->log) != LARDER_OK) return false;
    larder_status status = larder_os_folder_list_in(scan->log->folder, add_segment, &later);
    if (!status && later.count > 1)
        qsort(later.numbers, later.count, sizeof *later.numbers, compare_numbers);
    for (size_t i = 0; i < later.count && !status; i++)
        if (look_at_segment(&search, later.numbers[i])) break;
    free(later.numbers);
    larder_log_leave(scan->log);
    *out = search.next;
    return !status && search.next.segment != 0;
}

/** Whether something may be missing before `place` that was not synced. */
static bool is_torn_before(const log_scan *scan, location place) {
    return scan->was_cut && compare_locations(place, scan->synced) > 0;
}

bool larder_log_scan_resync(log_scan *scan) {
    segment *here;
    location next = scan->at;
    // Whatever is found lies behind this place.
    if (is_torn_before(scan, (location){next.segment, next.offset + 1})) return false;
    bool is_there = segment_at(scan, scan->at.segment, &here) == LARDER_OK;
    if (is_there) {
        uint64_t from = scan->at.offset < SEGMENT_HEAD_BYTES ? SEGMENT_HEAD_BYTES
                                                             : (scan->at.offset + 8) / 8 * 8;
        next.offset = place_by_lengths(scan, here);
        if (next.offset == 0) next.offset = place_by_search(scan, here, from);
    }
    if ((!is_there || next.offset >= here->capacity) && !find_next(scan, &next)) return false;
    if (is_torn_before(scan, next)) return false;
    scan->at = next;
    scan->has_resynced = true;
    return true;
}
