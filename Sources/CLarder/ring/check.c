// SPDX-License-Identifier: MIT
/** @file check.c
    The deep validator: does every byte that means something agree with every other? */
#include "ring/ring_internal.h"

static void report_damage(larder_ring_report *report, uint64_t offset, uint64_t bytes) {
    report->damaged_places++;
    report->damaged_bytes += bytes;
    if (!report->first_damage_offset) report->first_damage_offset = offset;
}

/** Goes along the records of [from, view->end), one after the other. */
static void check_records(const larder_ring *ring, const ring_view *view,
                          larder_ring_report *report) {
    ring_records records = ring_records_of(ring);
    uint64_t offset = view->oldest;
    uint64_t previous = 0;
    int64_t previous_ns = 0;
    while (offset < view->end) {
        uint64_t position = offset % ring->data_bytes;
        uint64_t rest = ring->data_bytes - position;
        if (rest < RING_HEAD_BYTES) {
            offset += rest;
            continue;
        }
        uint64_t until, kept = larder_ring_view_from(ring, view, offset, &until);
        record_head head;
        bool is_live = record_goes_on(&records, position, previous, &head);
        bool is_pad = is_live && head.word == RECORD_PAD;
        // Of what a walk kept, a pad leads to the next.
        is_live = is_live && (kept == offset || (is_pad && kept == offset + rest));
        uint64_t sequence = is_live ? record_sequence(head.tag) : 0;
        uint64_t bytes = is_pad ? rest : is_live ? record_bytes(record_length(head.word)) : 0;
        if (is_live && sequence <= view->newest && offset + bytes <= view->end) {
            int64_t time = ring->time_bytes && !is_pad ? ring_time_at(ring, offset) : previous_ns;
            if (time < previous_ns) report_damage(report, ring->fixed.data_offset + position, 0);
            previous_ns = time;
            offset += bytes;
            if (is_pad) continue;
            // Where the ones between ended their lap, nothing else tells of them.
            if (previous && sequence != previous + 1 && !record_is_after_gap(head.tag)) {
                report->lost += sequence - previous - 1;
                report_damage(report, ring->fixed.data_offset + position, 0);
            }
            if (!report->intact) report->oldest_sequence = sequence;
            report->newest_sequence = sequence;
            report->intact++;
            previous = sequence;
            continue;
        }
        // Damaged: on to the next intact record, in this lap or the next.
        record_bounds bounds = {.minimum = previous + 1, .maximum = view->newest};
        uint64_t start = offset, next = view->newest + 1;
        offset = larder_ring_find_offset(ring, view, start + 8, view->end, bounds, &next);
        bool is_found = offset < view->end;
        uint64_t before = previous;
        if (is_found) previous = next - 1; // So that this gap is told of once.
        // A file that nobody closed may have a torn pad, which the next writer makes good.
        if (ring->has_private_view && is_found && next == before + 1) continue;
        // With no intact record before it, what is missing in front of it cannot be told.
        if (before)
            report->lost += is_found ? larder_ring_hole(&records, offset % ring->data_bytes,
                                                        next - before - 1, offset - start)
                                     : next - before - 1;
        report_damage(report, ring->fixed.data_offset + position, offset - start);
    }
}

/** Whether the backup is that of this file. Until something was synced it may be torn between
    zeros, the first one and the second. */
static bool backup_is_good(const larder_ring *ring) {
    const uint8_t *backup = ring->map + ring->fixed.capacity_bytes - RING_FIXED_BYTES;
    ring_fixed second = larder_ring_backup(&ring->fixed, true),
               first = larder_ring_backup(&ring->fixed, false);
    if (memcmp(backup, &second, RING_FIXED_BYTES) == 0) return true;
    // And then the writer renews it, until that is synced.
    if (ring->is_named && !ring->has_private_view) return false;
    const uint8_t *left = (const uint8_t *)&first, *right = (const uint8_t *)&second;
    for (size_t i = 0; i < RING_FIXED_BYTES; i++) {
        if (backup[i] && backup[i] != left[i] && backup[i] != right[i]) return false;
    }
    return true;
}

/** Whether the file is still closed as it was: a writer that begins says so before anything. */
static bool is_closed_still(const larder_ring *ring, uint32_t closed) {
    atomic_thread_fence(memory_order_acquire);
    return closed && LOAD(ring->header->state.closed_crc) == closed;
}

/** A reader may look between the two halves of a writer's change, or of a killed one's.
    @param closed the checksum under which the file is closed; 0 if it is not. */
static void check_cursors(const larder_ring *ring, uint32_t closed, larder_ring_report *report) {
    uint64_t slots = ring_fixed_slots(&ring->fixed);
    const ring_cursor_slot *slot = larder_ring_cursor_slots(ring);
    static const ring_cursor_slot empty;
    for (uint64_t i = 0; i < slots; i++) {
        bool is_taken = larder_cursor_slot_is_taken(&slot[i]);
        uint64_t place = ring_smaller_reading(&slot[i].acknowledged, &slot[i].complement);
        atomic_thread_fence(memory_order_acquire);
        bool is_whole =
            is_taken ? LOAD(slot[i].acknowledged) == ~LOAD(slot[i].complement)
                     : memcmp(&slot[i], &empty, sizeof empty) == 0 || slot[i].name_length == 0;
        bool is_possible = !is_taken || place < larder_ring_view_get(ring).next_sequence;
        bool may_change = ring->read_only && !is_closed_still(ring, closed);
        if (is_possible && (is_whole || may_change)) continue;
        report_damage(report, RING_HEADER_BYTES + i * RING_CURSOR_BYTES, RING_CURSOR_BYTES);
    }
}

static void check_header(const larder_ring *ring, larder_ring_report *report) {
    const ring_header *header = ring->header;
    uint64_t backup = ring->fixed.capacity_bytes - RING_FIXED_BYTES;
    // A header that a power cut tore before the first sync is rewritten by the next writer.
    bool is_torn = ring->read_only && !ring->is_established;
    if (memcmp(&header->fixed, &ring->fixed, RING_FIXED_BYTES) != 0 && !is_torn) {
        report->header_damaged = 1;
        report_damage(report, 0, RING_FIXED_BYTES);
    }
    if (!backup_is_good(ring)) {
        report->header_damaged = 1;
        report_damage(report, backup, RING_FIXED_BYTES);
    }
    if (!ring->read_only &&
        (LOAD(header->state.oldest) != ring->oldest || ring_published_end(header) != ring->end ||
         LOAD(header->state.oldest_copy) != ring->oldest ||
         ring_published_newest(header) != ring->newest)) {
        report->state_damaged = 1;
        report_damage(report, RING_FIXED_BYTES, sizeof header->state);
    }
    uint32_t closed = LOAD(header->state.closed_crc);
    bool is_closed = closed && closed == larder_ring_closed_crc(header);
    // Behind a walk it may be that a power cut tore the header, which the next writer makes good.
    if (!is_closed && is_closed_still(ring, closed) &&
        (!ring->has_private_view || ring->recovery.state_damaged)) {
        report->state_damaged = 1;
        report_damage(report, RING_FIXED_BYTES, sizeof header->state);
    }
    check_cursors(ring, is_closed ? closed : 0, report);
}

/** Everything once; the lock is held. */
static bool check_all(const larder_ring *ring, const ring_view *view, larder_ring_report *report) {
    memset(report, 0, sizeof *report);
    report->was_closed = ring->recovery.was_closed;
    check_header(ring, report);
    check_records(ring, view, report);
    // Of the messages that the state counts, those are missing that no record stands for.
    if (view->count > report->intact && view->count - report->intact > report->lost)
        report->lost = view->count - report->intact;
    // And what a walk has found to be missing before and behind them.
    if (ring->has_private_view && view->epoch == ring->private_view.epoch &&
        ring->private_damaged) {
        report->lost += ring->private_damaged;
        if (!report->damaged_places) report_damage(report, ring->fixed.data_offset, 0);
    }
    if (report->intact != view->count && report->damaged_places == 0) report->state_damaged = 1;
    return report->damaged_places == 0 && report->intact == view->count;
}

larder_status larder_ring_check(larder_ring *ring, larder_ring_report *report) {
    memset(report, 0, sizeof *report);
    larder_status status = larder_ring_check_place(ring);
    if (!status) status = ring_lock(ring);
    if (status) return status;
    bool is_sound = false;
    // A writer in another process goes on meanwhile, and what it overtook looks like damage: look
    // again until nothing moved, or take what was seen last.
    for (int attempt = 0; attempt < 16 && !is_sound; attempt++) {
        ring_view view = larder_ring_view_get(ring);
        is_sound = check_all(ring, &view, report);
        ring_view after = larder_ring_view_get(ring);
        if (after.oldest == view.oldest && after.end == view.end && after.count == view.count)
            break;
    }
    ring_unlock(ring);
    return is_sound ? LARDER_OK : LARDER_EDAMAGED;
}
