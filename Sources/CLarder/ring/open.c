// SPDX-License-Identifier: MIT
/** @file open.c
    From a path to a ring: create, or open what is there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "larder_os_fork.h"
#include "larder_os_machine.h"
#include "ring/ring_internal.h"

void larder_ring_options_init(larder_ring_options *options) {
    *options = (larder_ring_options){
        .cursor_slots = LARDER_RING_DEFAULT_CURSOR_SLOTS,
        .mode = 0600,
    };
}

// Opening -----------------------------------------------------------------------------------------

static larder_status ring_lock_page_make(larder_ring *ring) {
    void *memory;
    larder_status status = larder_os_fork_page_make(&memory);
    if (status) return status;
    ring->lock = memory;
    atomic_store_explicit(ring->lock, LOCK_FREE, memory_order_release);
    return LARDER_OK;
}

void larder_ring_free(larder_ring *ring) {
    larder_os_fork_page_free((void *)ring->lock);
    larder_ring_sync_destroy(ring);
    larder_ring_bell_unmap(ring);
    larder_record_runs_free(&ring->private_view.kept);
    free(ring->path);
    free(ring);
}

recovery_trust larder_ring_trust(const ring_header *header, const larder_os_facts *facts) {
    uint8_t boot[16];
    static const uint8_t zeros[16];
    larder_os_boot_id(boot);
    bool is_same_start = memcmp(boot, zeros, sizeof boot) != 0 &&
                         memcmp(boot, header->opened.boot_id, sizeof boot) == 0;
    // A power cut before the first sync may have left zeros.
    if (header->opened.inode == 0) return RECOVERY_POWER_CUT;
    // Devices may have other numbers after each start of the machine.
    bool is_same_file = header->opened.inode == facts->inode &&
                        (header->opened.device == facts->device || !is_same_start);
    if (!is_same_file) return RECOVERY_COPIED;
    return is_same_start ? RECOVERY_KILLED : RECOVERY_POWER_CUT;
}

static bool ring_is_closed(const ring_header *header, uint64_t data_bytes) {
    uint32_t crc = LOAD_ACQUIRE(header->state.closed_crc);
    if (crc == 0 || crc != larder_ring_closed_crc(header)) return false;
    uint64_t oldest = LOAD(header->state.oldest);
    uint64_t end = ring_published_end(header), newest = ring_published_newest(header);
    uint64_t count = LOAD(header->state.count), missing = LOAD(header->session.missing);
    uint64_t promised = LOAD(header->session.promised);
    if (!ring_count_is_possible(header) || count > newest || missing > newest - count ||
        promised > newest || record_sequence(LOAD(header->floor.synced)) < promised ||
        LOAD(header->session.floor_synced) > ring_next_floor(header))
        return false;
    return end <= RING_OFFSET_MAX / 2 && end - oldest <= data_bytes && oldest % 8 == 0 &&
           end % 8 == 0 && newest <= RING_SEQUENCE_MAX &&
           LOAD(header->floor.given) <= RING_SEQUENCE_MAX &&
           ring_next_floor(header) <= RING_SEQUENCE_MAX;
}

/** How a file is to be opened. */
typedef enum open_case {
    /** Trusted: it was closed, or only killed, in this boot. */
    OPEN_BELIEVED,
    /** Trusted too: it was sealed, in another boot. */
    OPEN_SEALED,
    OPEN_WALKED
} open_case;

static open_case ring_look(const larder_ring *ring, const larder_os_facts *facts,
                           ring_found *found) {
    const ring_header *header = ring->header;
    const ring_records records = ring_records_of(ring);
    *found = (ring_found){0};
    bool is_closed = ring_is_closed(header, ring->data_bytes);
    recovery_trust trust = larder_ring_trust(header, facts);
    bool is_same = trust == RECOVERY_KILLED;
    uint64_t given = LOAD(header->floor.given);
    if (is_closed) {
        found->oldest = LOAD(header->state.oldest);
        found->end = ring_published_end(header);
        found->newest = ring_published_newest(header);
        found->count = LOAD(header->state.count);
        found->next_sequence = (given > found->newest ? given : found->newest) + 1;
        // A header that is older than what stands behind its end is not the one that was left.
        if (is_same) return larder_ring_is_outrun(&records, header) ? OPEN_WALKED : OPEN_BELIEVED;
        if (trust == RECOVERY_COPIED || ring->recovery.header_damaged ||
            !larder_ring_seal_holds(&records, header))
            return OPEN_WALKED;
        // Who opened it since may have given numbers that the device has no trace of.
        uint64_t floor = ring_next_floor(header);
        if (floor > found->next_sequence) {
            found->skipped = floor - found->next_sequence;
            found->next_sequence = floor;
        }
        return OPEN_SEALED;
    }
    if (!is_same || LOAD(header->state.closed_crc) || ring->recovery.header_damaged ||
        !larder_ring_believe(&records, header, found))
        return OPEN_WALKED;
    return OPEN_BELIEVED;
}

uint64_t larder_ring_cursors_maximum(const ring_cursor_slot *slots, uint64_t count) {
    uint64_t maximum = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!larder_cursor_slot_is_taken(&slots[i])) continue;
        uint64_t acknowledged = larder_cursor_slot_acknowledged(&slots[i], UINT64_MAX);
        if (acknowledged > maximum) maximum = acknowledged;
    }
    return maximum;
}

/** Finds the ring's state by looking at every record. */
static larder_status ring_walk(larder_ring *ring, const larder_os_facts *facts, ring_found *found) {
    ring_source source = {ring->file, ring->fixed.data_offset};
    ring_records records = ring_records_of(ring);
    records.source = &source;
    recovery_case known = {
        .trust = larder_ring_trust(ring->header, facts),
        .overwrites = ring->overwrite,
        .is_established = ring->is_established,
        .is_damaged = ring->recovery.header_damaged != 0,
        .cursors_maximum = larder_ring_cursors_maximum(larder_ring_cursor_slots(ring),
                                                       ring_fixed_slots(&ring->fixed)),
        .lap_bytes = ring->data_bytes,
    };
    return larder_ring_recover(&records, ring->header, &known, found, &ring->recovery);
}

static void ring_take(larder_ring *ring, const ring_found *found) {
    ring->end = found->end;
    ring->end_position = found->end % ring->data_bytes;
    ring->newest = found->newest;
    ring->next_sequence = found->next_sequence;
    ring->count = found->count;
    ring->slot = 1 - ring_published_slot(ring->header);
    ring->warmed = found->end >= ring->data_bytes ? ring->data_bytes : ring->end_position;
    // The record that stands there, or if it was damaged since, the next one.
    larder_ring_settle_oldest(ring, found->oldest, 0);
}

/** The count is not that of the messages from the oldest on, in a file that was made to hurt: what
    is there counts.
    @return false if there cannot be as many. */
static bool ring_count_anew(larder_ring *ring, uint64_t missing) {
    uint64_t numbers = ring->newest + 1 - ring->oldest_sequence;
    if (ring->oldest_sequence > ring->newest || missing >= numbers) return false;
    ring->count = numbers - missing;
    return ring->count <= (ring->end - ring->oldest) / RING_HEAD_BYTES;
}

/** Notes what is damaged at the oldest end of a file whose state was believed.
    @return false if that state cannot be right. */
static bool ring_note_damaged(larder_ring *ring, const ring_found *found) {
    ring_records records = ring_records_of(ring);
    uint64_t missing = LOAD(ring->header->session.missing);
    // The number of the oldest message, as the counts have it.
    uint64_t first = found->newest + 1 - found->count - missing;
    bool has_oldest = ring->oldest < ring->end, is_there = ring->oldest == found->oldest;
    if (has_oldest &&
        (ring->oldest_sequence < first || (is_there && ring->oldest_sequence > first)))
        return ring_count_anew(ring, missing);
    if (is_there) return true;
    uint64_t lost = larder_ring_hole(&records, ring->oldest_position, ring->oldest_sequence - first,
                                     ring->oldest - found->oldest);
    if (lost > ring->count || ring->oldest == ring->end) lost = ring->count;
    ring->damaged_oldest = lost;
    ring->count -= lost;
    ring->recovery.lost += lost;
    ring->recovery.intact -= ring->recovery.intact ? lost : 0;
    return true;
}

/** Reads the state into the writer's handle, walking the records if it has to. */
static larder_status ring_load(larder_ring *ring, const larder_os_facts *facts, ring_found *found,
                               open_case *how) {
    *how = ring_look(ring, facts, found);
    if (*how != OPEN_WALKED) {
        ring_take(ring, found);
        ring->recovery.was_closed = LOAD(ring->header->state.closed_crc) != 0;
        if (!ring->recovery.was_closed) ring->recovery.intact = found->count;
        if (ring_note_damaged(ring, found)) return LARDER_OK;
        *how = OPEN_WALKED;
    }
    larder_status status = ring_walk(ring, facts, found);
    if (!status) ring_take(ring, found);
    return status;
}

/** Takes the heads from the intact records in [from, to) that could be taken for live ones. */
static void ring_erase(larder_ring *ring, uint64_t from, uint64_t to) {
    ring_source source = {ring->file, ring->fixed.data_offset};
    ring_records records = ring_records_of(ring);
    records.source = &source;
    record_bounds bounds = record_bounds_any(ring->newest);
    bounds.minimum = ring->oldest_sequence;
    record_head head;
    for (; larder_record_find(&records, from, to, bounds, &from, &head); from += 8)
        memset(ring->data + from, 0, RING_HEAD_BYTES);
}

/** What was not kept is intact, perhaps, and has a number that one of the live messages could have,
    now or when the log has gone on: it must not be there any more. */
static void ring_erase_others(larder_ring *ring, const record_runs *kept) {
    for (size_t i = 0; i < kept->count; i++) {
        const record_run *run = &kept->items[i], *before = i ? &run[-1] : &run[kept->count - 1];
        uint64_t from = before->end, to = run->start;
        uint64_t bytes = to >= from ? to - from : ring->data_bytes - from;
        // A pad would lead past what was kept. A copy may have a hole of 8 bytes.
        if (i && !larder_record_run_joins(before, run))
            memset(ring->data + from, 0, bytes < RING_HEAD_BYTES ? (size_t)bytes : RING_HEAD_BYTES);
        ring_erase(ring, from, from + bytes);
        if (to < from) ring_erase(ring, 0, to);
    }
}

/** A kill may have come between the two halves of a cursor's place, or into the taking of a slot.
    */
static void ring_repair_cursors(larder_ring *ring) {
    ring_cursor_slot *slots = larder_ring_cursor_slots(ring);
    uint64_t count = ring_fixed_slots(&ring->fixed);
    for (uint64_t i = 0; i < count; i++) {
        if (!larder_cursor_slot_is_taken(&slots[i])) {
            memset(&slots[i], 0, sizeof slots[i]);
            continue;
        }
        uint64_t acknowledged = larder_cursor_slot_acknowledged(&slots[i], ring->next_sequence);
        STORE(slots[i].acknowledged, acknowledged);
        STORE(slots[i].complement, ~acknowledged);
    }
}

static void ring_sign(larder_ring *ring, const larder_os_facts *facts) {
    ring_header *header = ring->header;
    ring_state *state = &header->state;
    STORE(header->opened.writer_pid, (int64_t)getpid());
    larder_ring_opened_sign(&header->opened, facts);
    // Always at least one epoch on, and even.
    STORE_RELEASE(state->epoch, (LOAD(state->epoch) | 1) + 1);
    larder_ring_bell_begin(ring);
    uint64_t synced = LOAD(header->floor.synced);
    ring->generation_bits = record_tag(0, record_generation(synced));
    ring->synced = LOAD(header->session.promised);
    ring->marked = LOAD(header->session.marked);
    ring->floor = LOAD(header->session.floor_synced);
    larder_ring_limit(ring);
}

/** Puts what a walk found into the file. A kill in the middle leaves a file that was not closed,
    and the next open walks it again. */
static larder_status ring_store_recovered(larder_ring *ring, const larder_os_facts *facts,
                                          const ring_found *found) {
    ring_header *header = ring->header;
    ring_state *state = &header->state;
    STORE_RELEASE(state->closed_crc, 0);
    // An odd epoch: a reader of another process waits for the even one.
    STORE(state->epoch, (LOAD(state->epoch) | 1));
    // If a sync of this fails, here or in who opens the file next, any page may have missed it.
    STORE(header->session.unsynced, UNSYNCED_UNKNOWN_ALL);
    atomic_thread_fence(memory_order_seq_cst);
    STORE(header->floor.given, ring->next_sequence - 1);
    ring_store_removed_through(header, ring->oldest_sequence - 1);
    if (found->pad_sequence && ring->data_bytes - found->pad_position >= RING_HEAD_BYTES)
        record_write_pad(ring->data, found->pad_position, ring->salt, found->pad_sequence);
    ring_erase_others(ring, &found->kept);
    ring_repair_cursors(ring);
    // What the walk found is added.
    ring_store_counters(ring,
                        larder_ring_counters_of(&header->opened, ring->next_sequence - 1,
                                                ring->count, found->skipped, ring->recovery.lost));
    memcpy(&header->fixed, &ring->fixed, sizeof ring->fixed);
    STORE(state->count, ring->count);
    for (unsigned i = 0; i < 2; i++) {
        STORE(state->published[i].newest, ring->newest);
        STORE(state->published[i].end, ring->end);
    }
    ring_store_oldest(ring);
    larder_ring_settle(ring);
    // The device knows of nothing of this yet.
    ring_store_next_floor(header, ring_floor_from(ring->next_sequence));
    STORE(header->session.sealed_limit, 0);
    STORE(header->session.promised, 0);
    STORE(header->session.marked, 0);
    STORE(header->session.floor_synced, 0);
    uint64_t named = LOAD(header->floor.synced);
    if (record_sequence(named) > ring->newest)
        STORE(header->floor.synced, record_tag(ring->newest, record_generation(named)));
    // If we crash from here on, or the sync fails, the next open believes the state, and syncs it
    // before it writes anything.
    ring_sign(ring, facts);
    ring->is_writing = true;
    larder_ring_store_backup(ring);
    larder_status status = larder_ring_mark(ring);
    if (status) return status;
    ring->marked = 0;
    uint64_t tag = record_tag(ring->newest, record_generation(LOAD(header->floor.syncing)));
    STORE(header->floor.syncing, tag);
    STORE(header->floor.synced, tag);
    ring->generation_bits = record_tag(0, record_generation(tag));
    ring->synced = ring->newest;
    STORE(header->session.promised, ring->newest);
    STORE(header->session.marked, 0);
    // So that no append has to (invariant 9).
    return ring->overwrite ? larder_ring_mark(ring) : LARDER_OK;
}

/** Shows what a killed writer had appended and not shown yet. */
static void ring_show_last(larder_ring *ring) {
    ring_publication *published = &ring->header->state.published[ring->slot];
    larder_ring_unsettle(ring);
    STORE(ring->header->state.count, ring->count);
    STORE(published->newest, ring->newest);
    STORE_RELEASE(published->end, ring->end);
    ring->slot ^= 1;
    larder_ring_settle(ring);
}

/** Takes over a file whose state was believed. */
static larder_status ring_take_over(larder_ring *ring, const larder_os_facts *facts, open_case how,
                                    uint64_t skipped) {
    ring_header *header = ring->header;
    if (!ring->has_backup) larder_ring_store_backup(ring);
    if (ring->recovery.header_damaged) memcpy(&header->fixed, &ring->fixed, sizeof ring->fixed);
    bool was_closed = LOAD(header->state.closed_crc) != 0;
    // Still closed for the next opener, should nothing be written; sign under a fresh checksum.
    // If we crash in between, the next open looks closer.
    STORE_RELEASE(header->state.closed_crc, 0);
    if (!was_closed || how == OPEN_SEALED) ring_repair_cursors(ring);
    if (ring->newest != ring_published_newest(header)) ring_show_last(ring);
    if (how == OPEN_SEALED) {
        // What the device has of the session is what was sealed. Numbers are reserved before any
        // is given, which takes a sync in each start of the machine.
        uint64_t synced = record_sequence(LOAD(header->floor.synced));
        STORE(header->session.promised, synced);
        STORE(header->session.marked, synced);
        STORE(header->opened.skipped, LOAD(header->opened.skipped) + skipped);
        STORE(header->floor.given, ring->next_sequence - 1);
        ring_store_next_floor(header, ring_floor_from(ring->next_sequence));
        STORE(header->session.floor_synced, 0);
        STORE(header->session.unsynced, UNSYNCED_UNKNOWN);
    }
    STORE(header->state.count, ring->count + ring->damaged_oldest);
    ring_sign(ring, facts);
    if (was_closed) STORE_RELEASE(header->state.closed_crc, larder_ring_closed_crc(header));
    if (how != OPEN_SEALED) return LARDER_OK;
    // The device's header stays a sealed one, and so the limit stands.
    uint64_t sealed_limit = LOAD(header->session.sealed_limit);
    ring_marking marking = larder_ring_mark_begin(ring);
    larder_status status = larder_ring_sync_file(ring, &marking);
    if (status) return status;
    STORE_RELEASE(header->state.closed_crc, 0);
    larder_ring_mark_end(ring, marking);
    STORE(header->session.sealed_limit, sealed_limit);
    STORE(header->session.unsynced, UNSYNCED_NOTHING);
    larder_ring_limit(ring);
    STORE_RELEASE(header->state.closed_crc, larder_ring_closed_crc(header));
    return LARDER_OK;
}

/** A handle that only reads a file that nobody writes. */
static larder_status ring_view_alone(larder_ring *ring, const larder_os_facts *facts) {
    uint32_t epoch = LOAD_ACQUIRE(ring->header->state.epoch);
    ring_found found;
    larder_status status = LARDER_OK;
    open_case how = ring_look(ring, facts, &found);
    ring->recovery.was_closed = how != OPEN_WALKED && LOAD(ring->header->state.closed_crc) != 0;
    if (ring->recovery.was_closed && how == OPEN_BELIEVED) return LARDER_OK;
    if (how == OPEN_WALKED) status = ring_walk(ring, facts, &found);
    ring->private_view = (ring_view){
        .oldest = found.oldest,
        .end = found.end,
        .newest = found.newest,
        .next_sequence = found.next_sequence,
        .count = found.count,
        .epoch = epoch,
        .kept = found.kept,
    };
    ring->private_skipped = found.skipped;
    ring->private_damaged = found.damaged;
    ring->has_private_view = true;
    return status;
}

/** Maps an open file whose fixed header is known, and takes it over. */
static larder_status ring_adopt(larder_ring *ring, const larder_os_facts *facts) {
    const ring_fixed *fixed = &ring->fixed;
    ring->map_bytes = (size_t)fixed->capacity_bytes;
    larder_status status =
        larder_os_file_map(ring->file, ring->map_bytes, !ring->read_only, &ring->map);
    if (status) return status;
    ring->header = (ring_header *)(void *)ring->map;
    // A writer's first touch is a write: a read first would be a second fault, and map 16 pages.
    if (!ring->read_only) atomic_fetch_or(&ring->header->state.closed_crc, 0);
    ring->data = ring->map + fixed->data_offset;
    ring->data_bytes = fixed->data_bytes;
    ring->salt = fixed->salt;
    // A sync that was completed left its mark also where the backup is gone, or not there yet.
    if (!ring->recovery.header_damaged && LOAD(ring->header->floor.synced) != 0) {
        ring->is_established = true;
        if (!ring->had_backup) ring->is_named = true;
    }
    ring->overwrite = (fixed->flags & LARDER_RING_OVERWRITE) != 0;
    ring->time_bytes = ring_fixed_time_bytes(fixed);
    uint64_t longest = fixed->data_bytes - RING_HEAD_BYTES - ring->time_bytes;
    ring->message_max =
        longest < LARDER_RING_MESSAGE_MAX_BYTES ? (size_t)longest : LARDER_RING_MESSAGE_MAX_BYTES;
    ring->plain_end = ring->time_bytes ? 0 : ring->message_max + 1;
    if (ring->read_only) {
        // With a live writer the header is read at each look.
        if (!larder_os_file_is_locked(ring->file)) return ring_view_alone(ring, facts);
        ring->recovery.was_closed = 1;
        return LARDER_OK;
    }
    // What the device lacks since a sync that failed, in this start of the machine (invariant 12).
    if (LOAD(ring->header->session.unsynced) >= UNSYNCED_UNKNOWN &&
        larder_ring_trust(ring->header, facts) == RECOVERY_KILLED)
        STORE(ring->sync_failures, 1);
    ring_found found;
    open_case how;
    status = ring_load(ring, facts, &found, &how);
    if (status) return status;
    ring->opened_sequence = found.next_sequence;
    ring->opened_skipped = found.skipped;
    status = how == OPEN_WALKED ? ring_store_recovered(ring, facts, &found)
                                : ring_take_over(ring, facts, how, found.skipped);
    larder_record_runs_free(&found.kept);
    return status;
}

static void detail_of_fixed(larder_ring_detail *detail, const ring_fixed *fixed) {
    detail->version = fixed->version;
    detail->flags = ring_fixed_flags(fixed);
    detail->capacity_bytes = fixed->capacity_bytes;
    detail->content_format = fixed->content_format;
}

static larder_status options_check(const larder_ring_options *options, larder_ring_detail *detail) {
    const uint32_t known = LARDER_RING_OVERWRITE | LARDER_RING_READ_ONLY | LARDER_RING_EXISTING |
                           LARDER_RING_TRUST_OTHERS | LARDER_RING_KEEP_TIMES;
    if (options->flags & ~known) return LARDER_EINVALID;
    if (options->sync_interval_ns < 0 || options->maximum_age_ns < 0) return LARDER_EINVALID;
    if (options->cursor_slots > LARDER_RING_CURSOR_SLOTS_MAX) return LARDER_EINVALID;
    if (options->capacity_bytes == 0) return LARDER_OK;
    ring_fixed unused;
    if (larder_ring_fixed_make(options, &unused)) {
        detail->capacity_bytes =
            larder_ring_minimum_capacity(options->cursor_slots) + ring_fixed_time_bytes(&unused);
        return LARDER_EINVALID;
    }
    return LARDER_OK;
}

static larder_status fixed_matches(const ring_fixed *fixed, const larder_ring_options *options) {
    if (options->capacity_bytes) {
        if (fixed->capacity_bytes != options->capacity_bytes) return LARDER_EMISMATCH;
        if ((fixed->flags ^ options->flags) & LARDER_RING_OVERWRITE) return LARDER_EMISMATCH;
    }
    if (ring_options_keep_times(options) && !ring_fixed_time_bytes(fixed)) return LARDER_EMISMATCH;
    if (options->content_format && fixed->content_format &&
        options->content_format != fixed->content_format)
        return LARDER_EMISMATCH;
    return LARDER_OK;
}

/** A file that was there before may be somebody else's, left for this process to write to. */
static larder_status ring_file_trust(int file, const larder_ring_options *options) {
    larder_os_facts facts;
    larder_status status = larder_os_file_facts_get(file, &facts);
    // What is no file is refused as such.
    if (status || !facts.is_regular) return status;
    return larder_os_trust_check(&facts, (options->flags & LARDER_RING_TRUST_OTHERS) != 0);
}

/** The writer's lock; if another has it, who that is. */
static larder_status ring_file_lock(int file, larder_ring_detail *detail) {
    larder_status status = larder_os_file_lock(file);
    ring_header header;
    size_t got;
    if (status == LARDER_ELOCKED) detail->holder_pid = larder_os_file_lock_pid(file);
    if (status == LARDER_EBUSY &&
        larder_os_file_read_at(file, &header, sizeof header, 0, &got) == LARDER_OK &&
        got == sizeof header)
        detail->holder_pid = LOAD(header.opened.writer_pid);
    return status;
}

/** So often a file that was locked may turn out to have been replaced meanwhile. */
enum { REPLACED_MAX = 100 };

/** Opens the file at `path`, or makes it where the options say so. */
static larder_status ring_file_find(const char *path, const larder_ring_options *options, int *file,
                                    bool *is_new) {
    larder_status status = larder_os_file_open(path, LARDER_OS_WRITE, 0, file);
    if (status != ENOENT || !options->capacity_bytes || options->flags & LARDER_RING_EXISTING)
        return status;
    status = larder_os_file_open(path, LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE,
                                 options->mode, file);
    *is_new = !status;
    // Another made it meanwhile.
    return status == EEXIST ? larder_os_file_open(path, LARDER_OS_WRITE, 0, file) : status;
}

/** Whether the path still leads to the file. */
static larder_status ring_file_is_there(const char *path, int file, bool *is_there) {
    larder_os_facts own, found;
    larder_status status = larder_os_file_facts_get(file, &own);
    if (!status) status = larder_os_file_facts_at(path, &found);
    *is_there = !status && larder_os_is_same_file(&own, &found);
    return status == ENOENT ? LARDER_OK : status;
}

/** The file, open and locked, if it is not open yet; `is_new` if this call made it. */
static larder_status ring_file_open(const char *path, const larder_ring_options *options,
                                    larder_ring_detail *detail, int *file, bool *is_new) {
    if (options->flags & LARDER_RING_READ_ONLY) return larder_os_file_open(path, 0, 0, file);
    // Who made it removes it.
    if (*file >= 0) return ring_file_lock(*file, detail);
    for (int tries = 0; tries < REPLACED_MAX; tries++) {
        bool is_there = false;
        larder_status status = ring_file_find(path, options, file, is_new);
        if (!status && !*is_new) status = ring_file_trust(*file, options);
        if (!status) status = ring_file_lock(*file, detail);
        // Whoever has the lock owns the file, even if it was this call that made it.
        if (status) *is_new = false;
        // The file of a log that was resized meanwhile has no name any more, and what is appended
        // to it would be lost.
        if (!status) status = ring_file_is_there(path, *file, &is_there);
        if (status || is_there) return status;
        larder_os_file_unlock(*file);
        larder_os_file_close(*file);
        *file = -1;
        *is_new = false;
    }
    return LARDER_EBUSY;
}

/** Takes what the disk lacks of a file, as of a copy with holes: a write to one through the mapping
    would end the process where the disk is full. Not for any length that the file claims. */
static larder_status ring_fill_holes(const larder_ring *ring, const larder_os_facts *facts,
                                     const larder_ring_options *options) {
    uint64_t capacity = ring->fixed.capacity_bytes;
    if (ring->read_only || facts->stored_bytes >= capacity) return LARDER_OK;
    if (options->capacity_bytes == 0 && capacity - facts->stored_bytes > RING_UNASKED_BYTES)
        return LARDER_OK;
    larder_status status = larder_os_file_reserve_behind(ring->file, 0, capacity);
    // There is nothing to be done where a file system cannot.
    return status == ENOSPC || status == EDQUOT || status == EIO ? status : LARDER_OK;
}

/** Whether the file is short because a power cut came before its first sync: it has the length that
    the device got, and whatever of its pages. */
static bool ring_was_cut_short(const larder_ring *ring, const larder_os_facts *facts) {
    ring_header header;
    size_t got;
    return !larder_os_file_read_at(ring->file, &header, sizeof header, 0, &got) &&
           got == sizeof header && LOAD(header.floor.synced) == 0 &&
           LOAD(header.session.promised) == 0 &&
           larder_ring_trust(&header, facts) == RECOVERY_POWER_CUT;
}

/** Reads the fixed header of a file that is not empty.
    @return as larder_ring_fixed_read; ENOENT for who only reads, while a writer is making it. */
static larder_status ring_read_fixed(larder_ring *ring, larder_os_facts *facts,
                                     fixed_state *state) {
    enum { LOOKS = 100 };
    larder_status status = LARDER_OK;
    for (int look = 0; look < LOOKS; look++) {
        status = larder_ring_fixed_read(ring->file, facts->bytes, &ring->fixed, state);
        bool is_short = !status && facts->bytes < ring->fixed.capacity_bytes;
        if (!ring->read_only || (status != LARDER_EFOREIGN && !is_short)) break;
        // Whoever makes it has it locked, and it is blank until its header is written. If that was
        // written, or the lock released, between two looks, the next one finds it.
        bool is_written = larder_os_file_is_locked(ring->file);
        if (is_written && state->is_blank) return ENOENT;
        if (!is_written && look > 0) break;
        if (look > 0) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        larder_status again = larder_os_file_facts_get(ring->file, facts);
        if (again) return again;
    }
    return status;
}

static larder_status ring_open_file(larder_ring *ring, const char *path,
                                    const larder_ring_options *options, larder_ring_detail *detail,
                                    bool *is_made) {
    larder_os_facts facts;
    larder_status status = larder_os_file_facts_get(ring->file, &facts);
    if (status) return status;
    if (!facts.is_regular) {
        char probe;
        size_t got;
        status = larder_os_file_read_at(ring->file, &probe, 1, 0, &got);
        return status == EISDIR ? EISDIR : LARDER_EFOREIGN;
    }
    fixed_state state = {.is_backup = false};
    if (facts.bytes > 0) {
        status = ring_read_fixed(ring, &facts, &state);
        detail_of_fixed(detail, &ring->fixed);
        if (!status && options->created_ns && options->created_ns != ring->fixed.created_ns)
            return LARDER_EREPLACED;
        if (status == LARDER_EFOREIGN && !state.is_blank)
            state.is_blank = larder_ring_creation_was_torn(ring->file, facts.bytes, options);
    }
    if (facts.bytes == 0 || (status == LARDER_EFOREIGN && state.is_blank)) {
        // Nothing yet: a writer makes it a log, or has just made it.
        if (ring->read_only) return facts.bytes == 0 ? ENOENT : LARDER_EFOREIGN;
        // A missing file would have been ENOENT: nothing says how large to make this one.
        if (options->capacity_bytes == 0) return LARDER_EINVALID;
        *is_made = true;
        // Zeros that are longer than the new file would leave its backup in the middle.
        if (facts.bytes > 0) status = larder_os_file_truncate(ring->file, 0);
        else status = LARDER_OK;
        // What was there gave numbers perhaps, but no more than a file that was never synced may.
        uint64_t first = facts.bytes > 0 ? 1 + larder_ring_numbers_ahead : 1;
        if (!status) status = larder_ring_create(ring->file, options, first);
        // Else one power cut after another would give them again.
        if (!status && first > 1) status = larder_os_file_sync(ring->file);
        if (!status) status = larder_os_file_facts_get(ring->file, &facts);
        if (!status) status = larder_ring_fixed_read(ring->file, facts.bytes, &ring->fixed, &state);
    }
    if (status) return status;
    if (facts.bytes < ring->fixed.capacity_bytes && !ring->read_only &&
        ring_was_cut_short(ring, &facts)) {
        status = larder_os_file_truncate(ring->file, ring->fixed.capacity_bytes);
        if (!status) status = larder_os_file_facts_get(ring->file, &facts);
        if (status) return status;
    }
    if (facts.bytes < ring->fixed.capacity_bytes) {
        detail->offset = facts.bytes;
        detail->file_bytes = facts.bytes;
        return LARDER_EDAMAGED;
    }
    status = fixed_matches(&ring->fixed, options);
    if (!status) status = ring_fill_holes(ring, &facts, options);
    if (status) return status;
    ring->facts = facts;
    ring->recovery.header_damaged = state.is_backup;
    ring->is_established = ring->is_named = state.is_established;
    ring->has_backup = state.is_whole;
    ring->had_backup = state.has_backup;
    status = larder_os_absolute_path(path, &ring->path);
    // The first sync cannot do without it; see larder_ring_sync_file.
    bool needs_path = !ring->read_only && !ring->is_named;
    return status && needs_path ? status : ring_adopt(ring, &facts);
}

larder_status larder_ring_open(const char *path, const larder_ring_options *options,
                               larder_ring_detail *detail, larder_ring **out) {
    return larder_ring_open_made(-1, path, options, detail, out);
}

larder_status larder_ring_open_made(int made, const char *path, const larder_ring_options *options,
                                    larder_ring_detail *detail, larder_ring **out) {
    *out = NULL;
    larder_ring_detail unused;
    if (!detail) detail = &unused;
    memset(detail, 0, sizeof *detail);
    larder_ring_options defaults;
    if (!options) {
        larder_ring_options_init(&defaults);
        options = &defaults;
    }
    larder_status status = path[0] ? options_check(options, detail) : LARDER_EINVALID;
    larder_ring *ring = status ? NULL : calloc(1, sizeof *ring);
    if (!ring) {
        larder_os_file_close(made);
        return status ? status : ENOMEM;
    }
    ring->file = made;
    ring->read_only = (options->flags & LARDER_RING_READ_ONLY) != 0;
    ring->maximum_age_ns = options->maximum_age_ns;
    ring->clock = options->clock;
    ring->clock_context = options->clock_context;
    larder_ring_sync_init(ring, ring->read_only ? 0 : options->sync_interval_ns);
    status = ring_lock_page_make(ring);
    bool is_new = false, is_made = false;
    if (!status) status = ring_file_open(path, options, detail, &ring->file, &is_new);
    if (!status) status = ring_open_file(ring, path, options, detail, &is_made);
    if (status) {
        larder_os_file_unmap(ring->map, ring->map_bytes);
        // Leave no half-made file: ours goes, and one that was there is empty again.
        if (is_new) (void)larder_os_file_remove(path);
        else if (is_made) (void)larder_os_file_truncate(ring->file, 0);
        if (!ring->read_only && ring->file >= 0) larder_os_file_unlock(ring->file);
        larder_os_file_close(ring->file);
        larder_ring_free(ring);
        return status;
    }
    *out = ring;
    return LARDER_OK;
}
