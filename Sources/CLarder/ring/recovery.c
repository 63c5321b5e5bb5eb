// SPDX-License-Identifier: MIT
/** @file recovery.c
    What open does with a file that was not closed.

    All intact records are found first, in *runs* that follow each other without a gap. Ordered by
    number and taken from the newest back, runs that lie in front of each other around the ring are
    the *chain*; what does not fit into it is left over from an earlier lap.

    If the writer was only killed, every page is there. The state is believed then as it stands, if
    the few records that it leads to bear it out, and nothing is walked. Else the whole chain
    counts, from the `oldest` of the header on, and a hole in it is damage that costs what was in
    it.

    After a power cut any page that was written since the last sync may be old, new or half of each.
    Then a hole behind the last synced message ends the log, so that what is left is a prefix. A
    hole in front of it is where unsynced messages that did not arrive whole overwrote the oldest
    ones: what lies in front of the hole had been dropped, and is given up. Damage there cannot be
    told from that, but in a file that was sealed, none of which was overwritten (invariant 11): it
    costs only what it hit. Which sync was the last that was completed follows from invariant 8.

    Of a copy the pages may be of different moments, and then no power cut explains the holes. The
    whole chain is kept, as for a header that no power cut can have left. */
#include <errno.h>
#include <stdlib.h>

#include "ring/ring_internal.h"

// Runs --------------------------------------------------------------------------------------------

static larder_status record_runs_add(record_runs *runs, record_run run) {
    if (runs->count == runs->capacity) {
        size_t capacity = runs->capacity ? runs->capacity * 2 : 16;
        record_run *items = realloc(runs->items, capacity * sizeof *items);
        if (!items) return ENOMEM;
        runs->items = items;
        runs->capacity = capacity;
    }
    runs->items[runs->count++] = run;
    return LARDER_OK;
}

void larder_record_runs_free(record_runs *runs) {
    free(runs->items);
    *runs = (record_runs){NULL, 0, 0};
}

/** Whether a record with this tag comes right after number `last`. */
static bool record_follows(uint64_t tag, uint64_t last) {
    uint64_t sequence = record_sequence(tag);
    return sequence == last + 1 || (record_is_after_gap(tag) && sequence > last);
}

larder_status larder_record_runs_scan(const ring_records *records, const ring_header *header,
                                      uint64_t synced, uint8_t generation, record_runs *runs) {
    *runs = (record_runs){NULL, 0, 0};
    // The header may be damaged, or older than the records.
    uint64_t known = ring_published_newest(header);
    if (known > RING_SEQUENCE_MAX) known = 0;
    uint64_t position = 0;
    record_run run = {0};
    larder_status status = LARDER_OK;
    while (records->data_bytes - position >= RING_HEAD_BYTES) {
        record_head head = record_head_at(records->data, position);
        bool is_intact = record_is_plausible(head, position, records->data_bytes) &&
                         record_is_intact(records, records->data + position, head, position);
        bool is_pad = is_intact && head.word == RECORD_PAD;
        if (is_pad && run.count) run.ends_lap = true;
        // Behind a pad are records of earlier laps or, if the pad itself is an old page, of later
        // ones.
        if ((is_pad || !is_intact) &&
            !larder_record_find(records, position + 8, records->data_bytes,
                                record_bounds_any(known), &position, &head))
            break;
        uint64_t sequence = record_sequence(head.tag);
        if (sequence > known) known = sequence;
        if (run.count && (run.end != position || !record_follows(head.tag, run.last))) {
            status = record_runs_add(runs, run);
            if (status) return status;
            run.count = 0;
        }
        if (!run.count) {
            run = (record_run){.start = position, .first = sequence};
            run.is_after_gap = record_is_after_gap(head.tag);
        }
        position += record_bytes(record_length(head.word));
        run.end = position;
        run.last = sequence;
        run.count++;
        if (sequence > synced && record_generation(head.tag) == generation) run.proves_sync = true;
    }
    if (run.count) {
        if (records->data_bytes - run.end < RING_HEAD_BYTES) run.ends_lap = true;
        status = record_runs_add(runs, run);
    }
    return status;
}

static int record_run_order(const void *left, const void *right) {
    uint64_t a = ((const record_run *)left)->last;
    uint64_t b = ((const record_run *)right)->last;
    return (a > b) - (a < b);
}

/** Keeps of the runs those that can have been live together, in order of number. */
static void record_runs_chain(record_runs *runs) {
    if (runs->count == 0) return;
    qsort(runs->items, runs->count, sizeof *runs->items, record_run_order);
    size_t newest = runs->count - 1;
    uint64_t live_end = runs->items[newest].end;
    uint64_t start = runs->items[newest].start;
    bool wrapped = false;
    size_t kept = newest;
    for (size_t i = newest; i-- > 0;) {
        record_run run = runs->items[i];
        if (run.last >= runs->items[kept].first) continue;
        if (!wrapped && run.start >= live_end) wrapped = true;
        else if (run.end > start) continue;
        if (wrapped && run.start < live_end) continue;
        start = run.start;
        runs->items[--kept] = run;
    }
    runs->count = newest - kept + 1;
    memmove(runs->items, runs->items + kept, runs->count * sizeof *runs->items);
}

bool larder_record_run_joins(const record_run *run, const record_run *next) {
    // The pad between two laps may be torn: consecutive numbers tell as much.
    if (next->first == run->last + 1) return next->start == 0;
    bool touches = run->end == next->start || (run->ends_lap && next->start == 0);
    return touches && next->is_after_gap;
}

// Believing ---------------------------------------------------------------------------------------

/** Goes along the records from `offset`, which lie behind each other, as far as `end`.
    @param last the number of the record before; receives that of the last one.
    @param count is raised by how many there are.
    @return where it stopped: `end`, or behind the last record, where no other one with a larger
            number follows. What leads from there to one that a killed writer had only begun does
            not count. */
static uint64_t records_follow(const ring_records *records, uint64_t offset, uint64_t end,
                               uint64_t *last, uint64_t *count) {
    uint64_t behind = offset;
    while (offset < end) {
        uint64_t position = offset % records->data_bytes;
        uint64_t rest = records->data_bytes - position;
        if (rest < RING_HEAD_BYTES) {
            offset += rest;
            continue;
        }
        record_head head;
        if (!record_goes_on(records, position, *last, &head)) break;
        if (head.word == RECORD_PAD) {
            offset += rest;
            continue;
        }
        *last = record_sequence(head.tag);
        offset += record_bytes(record_length(head.word));
        behind = offset;
        ++*count;
    }
    return offset < end ? behind : offset;
}

bool larder_ring_is_outrun(const ring_records *records, const ring_header *header) {
    uint64_t position = ring_published_end(header) % records->data_bytes;
    if (records->data_bytes - position < RING_HEAD_BYTES) position = 0;
    record_head head = record_head_at(records->data, position);
    return record_sequence(head.tag) > ring_published_newest(header) &&
           record_is_plausible(head, position, records->data_bytes) &&
           record_is_intact(records, records->data + position, head, position);
}

/** Whether nothing speaks against a state in which there are no messages. Damage can make one, and
    what it hides is there. */
static bool empty_is_possible(const ring_records *records, const ring_header *header,
                              uint64_t newest) {
    uint64_t position = LOAD(header->state.oldest) % records->data_bytes;
    record_head head;
    // A writer says first that it counts none. Only a ring that overwrites drops what nobody
    // removed, and only for a message that needs all of the room.
    bool may_drop = header->fixed.flags & LARDER_RING_OVERWRITE && ring_published_end(header) > 0;
    if (LOAD(header->state.count) || (ring_removed_through(header) < newest && !may_drop))
        return false;
    // What a killed writer had not shown yet is kept, too.
    return records->data_bytes - position < RING_HEAD_BYTES ||
           !record_goes_on(records, position, newest, &head) || head.word == RECORD_PAD;
}

bool larder_ring_believe(const ring_records *records, const ring_header *header,
                         ring_found *found) {
    const ring_session *session = &header->session;
    unsigned slot = ring_published_slot(header);
    const ring_publication *published = header->state.published;
    uint64_t end = LOAD(published[slot].end), before = LOAD(published[1 - slot].end);
    uint64_t newest = LOAD(published[slot].newest);
    uint64_t oldest = LOAD(header->state.oldest), given = LOAD(header->floor.given);
    uint64_t missing = LOAD(session->missing);
    uint64_t promised = LOAD(session->promised);
    if (LOAD(session->unsettled) || missing != ~LOAD(session->missing_complement) ||
        oldest != LOAD(header->state.oldest_copy) || (end | before | oldest) % 8 ||
        end > RING_OFFSET_MAX / 2 || newest > RING_SEQUENCE_MAX || given > RING_SEQUENCE_MAX ||
        promised > newest || record_sequence(LOAD(header->floor.synced)) < promised ||
        LOAD(session->floor_synced) > ring_next_floor(header))
        return false;
    *found = (ring_found){.oldest = oldest, .end = end, .newest = newest};
    found->next_sequence = (newest > given ? newest : given) + 1;
    if (oldest >= end) {
        // Empty; perhaps the writer was about to go on at the start of the next lap.
        found->oldest = found->end = oldest;
        return empty_is_possible(records, header, newest) &&
               (oldest == end ||
                (oldest % records->data_bytes == 0 && oldest - end < records->data_bytes));
    }
    if (end - oldest > records->data_bytes) return false;
    uint64_t position = oldest % records->data_bytes;
    if (records->data_bytes - position < RING_HEAD_BYTES) return false;
    record_head head = record_head_at(records->data, position);
    uint64_t first = record_sequence(head.tag);
    if (head.word == RECORD_PAD || !record_is_plausible(head, position, records->data_bytes) ||
        !record_is_intact(records, records->data + position, head, position) || first > newest ||
        first <= ring_removed_through(header) || missing > newest - first)
        return false;
    found->count = newest - first + 1 - missing;
    if (found->count > (end - oldest) / RING_HEAD_BYTES) return false;
    // What was published last has to lead from the publication before it to this one.
    uint64_t last = LOAD(published[1 - slot].newest), unused = 0;
    if (before < oldest) {
        before = oldest;
        last = first - 1;
    }
    if (records_follow(records, before, end, &last, &unused) != end || last != newest) return false;
    // What the writer had not shown yet when it was killed, which is less than half a lap.
    uint64_t limit = oldest + records->data_bytes;
    found->end = records_follow(records, end, limit, &found->newest, &found->count);
    if (found->newest == newest) found->end = end;
    if (found->newest > given) found->next_sequence = found->newest + 1;
    return found->end - end <= records->data_bytes / 2;
}

static bool header_is_closed(const ring_header *header) {
    uint32_t crc = LOAD(header->state.closed_crc);
    return crc != 0 && crc == larder_ring_closed_crc(header);
}

/** How many numbers there are from the oldest message on, as the header has it; UINT64_MAX if it
    does not agree with itself. */
static uint64_t header_numbers(const ring_header *header) {
    const ring_session *session = &header->session;
    uint64_t count = LOAD(header->state.count), missing = LOAD(session->missing);
    bool agrees = !LOAD(session->unsettled) && missing == ~LOAD(session->missing_complement) &&
                  count <= RING_SEQUENCE_MAX && missing <= RING_SEQUENCE_MAX;
    return agrees ? count + missing : UINT64_MAX;
}

/** Whether the header is of a file that was closed with everything synced. */
static bool header_is_sealed(const ring_header *header) {
    uint64_t limit = LOAD(header->session.sealed_limit), synced = LOAD(header->floor.synced);
    return header_is_closed(header) && limit >= ring_published_end(header) && limit % 8 == 0 &&
           synced == LOAD(header->floor.syncing) &&
           record_sequence(synced) == ring_published_newest(header);
}

/** Whether none of what it calls live was overwritten since (invariant 11). Earlier versions let
    writers go further. */
static bool header_protects(const ring_header *header, uint64_t data_bytes) {
    uint64_t limit = LOAD(header->session.sealed_limit);
    return header_is_sealed(header) && limit - LOAD(header->state.oldest) <= data_bytes;
}

bool larder_ring_seal_holds(const ring_records *records, const ring_header *header) {
    uint64_t limit = LOAD(header->session.sealed_limit);
    uint64_t end = ring_published_end(header), newest = ring_published_newest(header);
    if (!header_is_sealed(header)) return false;
    // Records that a later handle wrote, and that a power cut left behind.
    record_bounds later = record_bounds_any(newest);
    later.minimum = newest + 1;
    if (limit - end > records->data_bytes) limit = end + records->data_bytes;
    for (uint64_t from = end; from < limit;) {
        uint64_t position = from % records->data_bytes, found;
        uint64_t until = position + limit - from;
        if (until > records->data_bytes) until = records->data_bytes;
        record_head head;
        if (larder_record_find(records, position, until, later, &found, &head)) return false;
        from += until - position;
    }
    // Its fragments, in place of the oldest messages.
    uint64_t oldest = LOAD(header->state.oldest), last = 0, unused = 0;
    uint64_t overwritten = limit > records->data_bytes ? limit - records->data_bytes : 0;
    return overwritten <= oldest ||
           records_follow(records, oldest, overwritten, &last, &unused) >= overwritten;
}

// Choosing ----------------------------------------------------------------------------------------

/** The part [first, last] of a chain. */
typedef struct chain_part {
    size_t first;
    size_t last;
} chain_part;

static bool part_holds(const record_runs *runs, chain_part part, uint64_t sequence) {
    for (size_t i = part.first; i <= part.last; i++) {
        if (runs->items[i].first <= sequence && sequence <= runs->items[i].last) return true;
    }
    return false;
}

static uint64_t part_count(const record_runs *runs, chain_part part) {
    uint64_t count = 0;
    for (size_t i = part.first; i <= part.last; i++) count += runs->items[i].count;
    return count;
}

/** The part without holes that starts at run `first`. */
static chain_part part_from(const record_runs *runs, size_t first) {
    chain_part part = {first, first};
    while (part.last + 1 < runs->count &&
           larder_record_run_joins(&runs->items[part.last], &runs->items[part.last + 1]))
        part.last++;
    return part;
}

/** What the header says about a file that was not closed, as far as it can be believed. */
typedef struct state_hints {
    oldest_hint oldest;
    uint64_t synced;
    uint64_t syncing;
    /** Of the sync under way. */
    uint8_t generation;
    /** A record was begun that belongs behind the sync under way. */
    bool sync_is_proven;
    /** A full ring makes room by itself. */
    bool overwrites;
    /** A power cut at most has torn the header. */
    bool is_believable;
    /** No message that was synced was overwritten. */
    bool is_protected;
    /** Pages may be missing. */
    bool is_cut;
} state_hints;

/** Whether the part begins right behind `sequence`, which no run holds. */
static bool part_follows(const record_runs *runs, chain_part part, uint64_t sequence) {
    const record_run *run = &runs->items[part.first];
    if (part.first > 0 && run[-1].last >= sequence) return false;
    return run->first == sequence + 1 || (run->is_after_gap && run->first > sequence);
}

/** After a power cut: the part of the chain that is a prefix and holds everything synced.
    @return false if nothing can be kept. */
static bool choose_prefix(const record_runs *runs, const state_hints *hints, chain_part *out) {
    bool sync_is_proven = hints->sync_is_proven;
    for (size_t i = 0; i < runs->count; i++) sync_is_proven |= runs->items[i].proves_sync;
    uint64_t last_sync = sync_is_proven ? hints->syncing : hints->synced;
    bool is_found = false, has_syncing = false, has_before = false;
    chain_part before = {0, 0}, largest = {0, 0}, syncing = {0, 0}, part;
    for (size_t i = 0; i < runs->count; i = part.last + 1) {
        part = part_from(runs, i);
        // It was on the device: where it is gone, it was dropped, with all before it, for records
        // that did not arrive whole. Then the sync under way may have been completed, without one
        // to prove it; but if it was, what it covers begins here and has no hole (invariant 9).
        if (part_holds(runs, part, last_sync) || part_follows(runs, part, last_sync)) {
            *out = part;
            is_found = true;
        }
        if (part_holds(runs, part, hints->syncing)) {
            syncing = part;
            has_syncing = true;
        }
        if (runs->items[part.last].last < last_sync) {
            before = part;
            has_before = true;
        }
        if (part_count(runs, part) > part_count(runs, largest)) largest = part;
    }
    if (hints->is_protected && (is_found || has_before)) {
        // Whatever holes are in what was synced are damage, and cost what was in them.
        if (!is_found) *out = before;
        out->first = 0;
        return true;
    }
    if (is_found) return true;
    // A sync that was only under way proves nothing of what came before its last message: there may
    // be a hole. Where the ring came round since, nobody can say where the prefix starts. A ring
    // that refuses drops only what was removed: of two parts the older one is the prefix.
    bool is_lapped = hints->overwrites && runs->items[0].start >= runs->items[runs->count - 1].end;
    has_syncing = has_syncing && is_lapped;
    *out = has_syncing ? syncing : has_before ? before : largest;
    if (has_syncing || has_before) return true;
    // Nothing that was synced is left. Without a lap in between, a prefix starts at the oldest.
    if (is_lapped) return true;
    *out = part_from(runs, 0);
    return (hints->oldest.is_known && runs->items[0].start == hints->oldest.position) ||
           runs->items[0].first == oldest_hint_lower(hints->oldest);
}

/** Drops the records before position `start`/number `first` from the run that contains it. */
static void record_run_trim(const ring_records *records, record_run *run, uint64_t first) {
    while (run->count > 1 && run->first < first) {
        record_head head = record_head_at(records->data, run->start);
        run->start += record_bytes(record_length(head.word));
        uint64_t tag = record_head_at(records->data, run->start).tag;
        run->first = record_sequence(tag);
        run->is_after_gap = record_is_after_gap(tag);
        run->count--;
    }
}

/** Whether the record with this number can be the one at this offset. The words of a torn header
    are of different times, and a later lap may have put another record there. */
static bool hint_is_possible(const ring_header *header, uint64_t lap_bytes, uint64_t offset,
                             uint64_t sequence) {
    for (size_t i = 0; i < 2; i++) {
        uint64_t end = LOAD(header->state.published[i].end);
        if (end <= offset) continue;
        // What a publication covers, it has a number for; and it covers no more than a lap.
        if (end - offset > lap_bytes || sequence > LOAD(header->state.published[i].newest))
            return false;
    }
    return true;
}

oldest_hint larder_ring_oldest_hint(const ring_records *records, uint64_t lap_bytes,
                                    const ring_header *header, bool may_be_torn) {
    oldest_hint hint = {.removed_through = ring_removed_through(header)};
    uint64_t offsets[2] = {LOAD(header->state.oldest), LOAD(header->state.oldest_copy)};
    uint64_t end = ring_published_end(header);
    uint64_t newest = ring_published_newest(header);
    if (end == 0) {
        // As created: nothing was shown yet. Of a torn header `newest` may be that of a later one.
        hint.is_known = true;
        return hint;
    }
    if (LOAD(header->state.count) == 0 && offsets[0] >= end && offsets[1] >= end) {
        hint.number = newest + 1;
        return hint;
    }
    for (size_t i = 0; i < 2; i++) {
        uint64_t position = offsets[i] % lap_bytes;
        if (position % 8 || position + RING_HEAD_BYTES > records->data_bytes ||
            offsets[i] > RING_OFFSET_MAX / 2)
            continue;
        // Of one time, the two ends of what is live are no more than a lap apart.
        if (!may_be_torn && (offsets[i] > end || end - offsets[i] > lap_bytes)) continue;
        if (!hint.is_known || offsets[i] < offsets[0]) hint.position = position;
        hint.is_known = true;
        record_head head = record_head_at(records->data, position);
        // A number that this header did not know yet: the place was written over since.
        uint64_t sequence = record_sequence(head.tag);
        if (sequence > newest || (hint.number && sequence >= hint.number)) continue;
        if (!hint_is_possible(header, lap_bytes, offsets[i], sequence)) continue;
        if (head.word != RECORD_PAD && record_is_plausible(head, position, records->data_bytes) &&
            record_is_intact(records, records->data + position, head, position))
            hint.number = sequence;
    }
    // Where that record is damaged, or an older one, a header that was closed says how many numbers
    // there were.
    uint64_t held = header_numbers(header);
    if (header_is_closed(header) && ring_count_is_possible(header) && held <= newest &&
        newest - held > hint.removed_through)
        hint.removed_through = newest - held;
    return hint;
}

/** Whether the head right behind the header's `end` is that of a record appended after the sync
    under way, even if the rest of it is torn. */
static bool next_head_proves_sync(const ring_records *records, uint64_t lap_bytes,
                                  const ring_header *header) {
    uint64_t position = ring_published_end(header) % lap_bytes;
    // Of a truncated file there may be no data at all.
    if (position % 8 || position + RING_HEAD_BYTES > records->data_bytes) return false;
    record_head head = record_head_at(records->data, position);
    return record_sequence(head.tag) == ring_published_newest(header) + 1 &&
           record_generation(head.tag) == record_generation(LOAD(header->floor.syncing));
}

void larder_ring_report_hole(larder_ring_report *report, const record_run *run,
                             const record_run *next, const ring_records *records,
                             uint64_t data_offset) {
    uint64_t bytes = next->start >= run->end ? next->start - run->end
                                             : records->data_bytes - run->end + next->start;
    report->damaged_places++;
    report->damaged_bytes += bytes;
    if (!report->first_damage_offset) report->first_damage_offset = data_offset + run->end;
    report->lost += larder_ring_hole(records, next->start, next->first - run->last - 1, bytes);
}

// Numbers -----------------------------------------------------------------------------------------

/** The next number: none is given twice, not those of messages seen, nor those acknowledged, nor
    those the header speaks of, unless it speaks of more than the file could ever have lost.
    @param highest of the records, 0 without any.
    @param skipped receives how many of the numbers in between are only reserved. */
static uint64_t recovered_next(const ring_records *records, const ring_header *header,
                               const recovery_case *known, uint64_t highest, uint64_t *skipped) {
    const uint64_t named[] = {known->cursors_maximum,
                              ring_published_newest(header),
                              record_sequence(LOAD(header->floor.synced)),
                              record_sequence(LOAD(header->floor.syncing)),
                              ring_removed_through(header),
                              LOAD(header->floor.given)};
    uint64_t next = highest + 1;
    uint64_t reserved = ring_next_floor(header);
    uint64_t most = highest ? next + records->data_bytes / RING_HEAD_BYTES : RING_SEQUENCE_MAX;
    if (reserved > RING_SEQUENCE_MAX) reserved = 0;
    if (reserved > most) most = reserved;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i] >= next && named[i] < most) next = named[i] + 1;
    }
    *skipped = 0;
    if (known->trust != RECOVERY_KILLED) {
        // A file that was never synced gave no more than these; one that was sealed, and not
        // written since, no more than it says.
        bool is_sealed = header_is_sealed(header) && highest <= ring_published_newest(header);
        uint64_t floor = is_sealed ? 0 : 1 + larder_ring_numbers_ahead;
        if (reserved > floor) floor = reserved;
        if (floor > next) {
            *skipped = floor - next;
            next = floor;
        }
    }
    return next;
}

/** The highest number that was given, so far as two places agree: one alone may be damaged. They
    may be as far apart as the two publications are: of messages that one append published, only
    its own knows. */
static uint64_t confirmed_given(const ring_header *header, const recovery_case *known,
                                const oldest_hint *oldest, uint64_t highest) {
    const ring_publication *published = header->state.published;
    uint64_t end = ring_published_end(header);
    uint64_t other = LOAD(published[0].end) < end ? LOAD(published[0].end) : LOAD(published[1].end);
    const uint64_t named[] = {highest,
                              known->cursors_maximum,
                              LOAD(published[0].newest),
                              LOAD(published[1].newest),
                              record_sequence(LOAD(header->floor.synced)),
                              record_sequence(LOAD(header->floor.syncing)),
                              LOAD(header->floor.given),
                              oldest->number ? oldest->number + header_numbers(header) - 1 : 0};
    const size_t count = sizeof named / sizeof *named;
    const uint64_t apart = (end - other) / RING_HEAD_BYTES;
    uint64_t confirmed = highest;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count && named[i] > confirmed; j++)
            if (i != j && named[i] >= named[j] && named[i] - named[j] <= apart)
                confirmed = named[i];
    }
    return confirmed;
}

/** Whether a power cut can have left this header of a file that was synced before, each of whose
    words is of one time or another. */
static bool header_is_possible(const ring_header *header) {
    const ring_floor *floor = &header->floor;
    const ring_session *session = &header->session;
    const ring_publication *published = header->state.published;
    const uint64_t numbers[] = {LOAD(published[0].newest),    LOAD(published[1].newest),
                                LOAD(floor->removed_through), ~LOAD(floor->removed_complement),
                                LOAD(floor->next_floor),      ~LOAD(floor->next_complement),
                                LOAD(floor->given),           LOAD(session->marked),
                                LOAD(session->floor_synced),  LOAD(session->promised),
                                LOAD(session->missing),       ~LOAD(session->missing_complement)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i] > 2 * RING_SEQUENCE_MAX) return false;
    }
    uint64_t offsets = LOAD(header->state.oldest) | LOAD(header->state.oldest_copy) |
                       LOAD(published[0].end) | LOAD(published[1].end);
    return LOAD(header->state.epoch) != 0 && offsets % 8 == 0;
}

/** What the header says, as far as it can be believed. */
static state_hints hints_of(const ring_records *records, const ring_header *header,
                            const recovery_case *known) {
    // A header that something else than a power cut made so.
    if (known->is_established && (known->is_damaged || LOAD(header->state.epoch) == 0))
        return (state_hints){
            .oldest = oldest_hint_of_damaged(header),
            .overwrites = known->overwrites,
        };
    bool is_possible = !known->is_established || header_is_possible(header);
    uint64_t synced = LOAD(header->floor.synced), syncing = LOAD(header->floor.syncing);
    // What callers were told holds where the word that says why does not.
    uint64_t promised = LOAD(header->session.promised);
    return (state_hints){
        .oldest = larder_ring_oldest_hint(records, known->lap_bytes, header,
                                          known->trust == RECOVERY_POWER_CUT),
        .synced = promised > record_sequence(synced) ? promised : record_sequence(synced),
        .syncing = record_sequence(syncing),
        .generation = record_generation(syncing),
        .sync_is_proven = record_generation(synced) == record_generation(syncing) ||
                          next_head_proves_sync(records, known->lap_bytes, header),
        .overwrites = known->overwrites,
        .is_believable = is_possible,
        .is_protected = header_protects(header, known->lap_bytes),
        .is_cut = is_possible && known->trust == RECOVERY_POWER_CUT,
    };
}

/** The number of the oldest message that the file held, so far as anything tells: what of it and
    those behind it is missing in front of number `first`, at `start`, was lost.
    @return 0 if it may have been overwritten as well. */
static uint64_t oldest_number(const ring_header *header, const state_hints *hints,
                              const record_runs *runs, uint64_t data_bytes, uint64_t next) {
    uint64_t lower = oldest_hint_lower(hints->oldest);
    // A ring that refuses drops only what is removed, so far as that is known.
    if (!hints->overwrites && hints->is_believable) return lower;
    // Where the record is there and not in the chain, the header is older than what is, as in a
    // copy: what it speaks of is left over from a lap that was written over.
    bool is_left_over =
        runs->count && hints->oldest.number == lower && runs->items[0].first > hints->oldest.number;
    if (hints->oldest.number) return is_left_over ? 0 : lower;
    uint64_t newest = ring_published_newest(header), held = header_numbers(header);
    uint64_t highest = runs->count ? runs->items[runs->count - 1].last : 0;
    // What is missing among them may not be known.
    if (held == UINT64_MAX && LOAD(header->state.count) && ring_count_is_possible(header))
        held = LOAD(header->state.count);
    if (newest < next && newest >= highest && held <= newest)
        return newest + 1 - held > lower ? newest + 1 - held : lower;
    // In the first lap nothing is overwritten: then there was room for them before the first one.
    if (!runs->count || (hints->is_believable && ring_published_end(header) > data_bytes)) return 0;
    const record_run *first = &runs->items[0];
    bool is_lapped = first->start >= runs->items[runs->count - 1].end;
    bool fits = first->first >= lower && first->first - lower <= first->start / RING_HEAD_BYTES;
    return !is_lapped && fits ? lower : 0;
}

/** Puts together what is kept: the runs of the part, with holes in it as damage.
    @param part NULL if nothing is. */
static void found_of_part(const ring_records *records, const ring_header *header,
                          const ring_remains *remains, const chain_part *part, ring_found *found,
                          larder_ring_report *report) {
    const record_runs *runs = &remains->runs;
    uint64_t oldest = remains->oldest, given = remains->given;
    uint64_t data_offset = (uint64_t)(records->data - (const uint8_t *)header), before = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const record_run *run = &runs->items[i];
        bool is_kept = part && i >= part->first && i <= part->last;
        if (part && i < part->first) before += run->count;
        if (!is_kept) {
            report->cut += run->count;
            continue;
        }
        found->count += run->count;
        report->intact += run->count;
        if (i == part->first) continue;
        if (!larder_record_run_joins(&run[-1], run)) {
            larder_ring_report_hole(report, &run[-1], run, records, data_offset);
        } else if (run->start == 0) {
            found->pad_position = run[-1].end;
            found->pad_sequence = run->first;
        }
    }
    // Offsets go on from the header's, so that a reader of another process stays behind them.
    uint64_t lap = ring_published_end(header) / records->data_bytes;
    if (lap > RING_OFFSET_MAX / 2 / records->data_bytes) lap = 0;
    if (!part) {
        found->end = found->oldest = (lap + 1) * records->data_bytes;
        bool is_known = oldest && given >= oldest && given - oldest + 1 > report->cut;
        report->lost += is_known ? given - oldest + 1 : report->cut;
        return;
    }
    uint64_t start = runs->items[part->first].start, end = runs->items[part->last].end;
    uint64_t last = runs->items[part->last].last, first = runs->items[part->first].first;
    if (oldest && first > oldest)
        before = larder_ring_hole(records, start, first - oldest, records->data_bytes);
    found->damaged = before;
    if (given > last) found->damaged += given - last;
    report->lost += found->damaged;
    report->oldest_sequence = runs->items[part->first].first;
    report->newest_sequence = found->newest = last;
    if (start >= end && lap == 0) lap = 1;
    found->end = lap * records->data_bytes + end;
    found->oldest = start >= end ? found->end - end - (records->data_bytes - start)
                                 : lap * records->data_bytes + start;
}

/** What there is of a file, before any of it is chosen. */
typedef struct survey {
    ring_remains remains;
    state_hints hints;
    uint64_t highest, skipped;
    /** What is missing may be what a power cut took. */
    bool is_explained;
} survey;

/** How many runs come first that lie behind later ones, counted from where the header says that the
    oldest record lies: they are left over from laps that were written over, in room that was too
    short for a record. */
static size_t count_left_over(const ring_header *header, const recovery_case *known,
                              const record_runs *runs) {
    const uint64_t lap = known->lap_bytes, oldest = LOAD(header->state.oldest);
    const uint64_t end = ring_published_end(header);
    size_t count = 0;
    // After a power cut, and where there are newer records, the header is of another time. One more
    // may have been under way when the writer was killed.
    uint64_t newest = ring_published_newest(header) + (known->trust == RECOVERY_KILLED);
    bool is_older = runs->count && runs->items[runs->count - 1].last > newest;
    if (known->trust == RECOVERY_POWER_CUT || is_older ||
        oldest != LOAD(header->state.oldest_copy) || oldest >= end || end - oldest > lap)
        return 0;
    uint64_t before = 0;
    for (size_t at = 0; at < runs->count; at++) {
        // Where the header has it, the oldest record is damaged: else the header does not know.
        if (runs->items[at].start <= oldest % lap && oldest % lap < runs->items[at].end) return 0;
        uint64_t here = (runs->items[at].start + lap - oldest % lap) % lap;
        if (before > here) count = at;
        before = here;
    }
    return count;
}

static larder_status survey_file(const ring_records *records, const ring_header *header,
                                 const recovery_case *known, survey *out) {
    *out = (survey){.hints = hints_of(records, header, known)};
    const state_hints *hints = &out->hints;
    record_runs *runs = &out->remains.runs;
    larder_status status =
        larder_record_runs_scan(records, header, hints->synced, hints->generation, runs);
    if (status) {
        larder_record_runs_free(runs);
        return status;
    }
    record_runs_chain(runs);
    uint64_t highest = runs->count ? runs->items[runs->count - 1].last : 0;
    out->highest = highest;
    uint64_t next = recovered_next(records, header, known, highest, &out->skipped);
    out->remains.next = next - out->skipped;
    out->remains.given = confirmed_given(header, known, &hints->oldest, highest);
    if (out->remains.given >= out->remains.next) out->remains.given = out->remains.next - 1;
    out->is_explained =
        hints->is_cut && !(hints->is_protected && highest <= ring_published_newest(header));

    // What the header gave up stays given up; more than was ever given says nothing.
    if (hints->oldest.removed_through >= next) out->hints.oldest.removed_through = 0;
    uint64_t lower = oldest_hint_lower(hints->oldest);
    if (lower > next) lower = 0;
    size_t first = 0;
    while (first < runs->count && runs->items[first].last < lower) first++;
    // What bounds them else is the number of the oldest record, where that can be read.
    if (first == 0 && hints->oldest.number == 0) first = count_left_over(header, known, runs);
    if (first < runs->count) record_run_trim(records, &runs->items[first], lower);
    runs->count -= first;
    if (runs->count) memmove(runs->items, runs->items + first, runs->count * sizeof *runs->items);
    out->remains.oldest = oldest_number(header, hints, runs, known->lap_bytes, next);
    return LARDER_OK;
}

larder_status larder_ring_remains_find(const ring_records *records, const ring_header *header,
                                       const recovery_case *known, ring_remains *out) {
    survey found;
    larder_status status = survey_file(records, header, known, &found);
    *out = found.remains;
    // Then messages that did not arrive have overwritten them, perhaps.
    if (found.is_explained && out->runs.count && known->overwrites) out->oldest = 0;
    return status;
}

larder_status larder_ring_recover(const ring_records *records, const ring_header *header,
                                  const recovery_case *known, ring_found *found,
                                  larder_ring_report *report) {
    memset(report, 0, sizeof *report);
    report->header_damaged = known->is_damaged;
    report->was_closed = header_is_closed(header);
    survey all;
    larder_status status = survey_file(records, header, known, &all);
    if (status) return status;
    record_runs runs = all.remains.runs;
    const state_hints *hints = &all.hints;
    bool is_torn = LOAD(header->state.closed_crc) && !report->was_closed;
    report->state_damaged = (all.highest > 0 && !hints->oldest.is_known && !hints->oldest.number) ||
                            (is_torn && known->trust == RECOVERY_KILLED);

    chain_part part = {0, runs.count ? runs.count - 1 : 0};
    bool keeps = runs.count > 0;
    if (keeps && hints->is_cut) keeps = choose_prefix(&runs, hints, &part);
    if (all.is_explained && keeps && known->overwrites) all.remains.oldest = 0;
    uint64_t next = all.remains.next + all.skipped;
    *found = (ring_found){.newest = next - 1, .next_sequence = next, .skipped = all.skipped};
    found_of_part(records, header, &all.remains, keeps ? &part : NULL, found, report);
    // A power cut takes what was not synced, and what that overwrote, without any damage.
    if (all.is_explained) found->damaged = 0;
    runs.count = keeps ? part.last - part.first + 1 : 0;
    if (keeps) memmove(runs.items, runs.items + part.first, runs.count * sizeof *runs.items);
    found->kept = runs;
    return LARDER_OK;
}
