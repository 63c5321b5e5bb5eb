// SPDX-License-Identifier: MIT
/** @file create.c
    What makes a file a ring: its fixed header, the header's backup, and making both. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "larder_os_machine.h"
#include "ring/ring_internal.h"

// The fixed header of a file ----------------------------------------------------------------------

static larder_status file_is_blank(int file, uint64_t bytes, bool *is_blank) {
    uint8_t buffer[65536];
    *is_blank = true;
    for (uint64_t offset = 0; offset < bytes && *is_blank; offset += sizeof buffer) {
        size_t got;
        larder_status status = larder_os_file_read_at(file, buffer, sizeof buffer, offset, &got);
        if (status) return status;
        for (size_t i = 0; i < got; i++) {
            if (buffer[i]) *is_blank = false;
        }
        if (got < sizeof buffer) break;
    }
    return LARDER_OK;
}

larder_status larder_ring_fixed_read(int file, uint64_t file_bytes, ring_fixed *fixed,
                                     fixed_state *state) {
    *state = (fixed_state){.is_backup = false};
    memset(fixed, 0, sizeof *fixed);
    ring_fixed backup;
    size_t got = 0, got_backup = 0;
    larder_status status = larder_os_file_read_at(file, fixed, sizeof *fixed, 0, &got);
    if (!status && file_bytes >= RING_HEADER_BYTES + RING_FIXED_BYTES)
        status = larder_os_file_read_at(file, &backup, sizeof backup, file_bytes - RING_FIXED_BYTES,
                                        &got_backup);
    if (status) return status;
    // The backup says how long its file was: one inside a longer file's data is not it.
    bool has_backup = got_backup == sizeof backup && larder_ring_fixed_is_intact(&backup) &&
                      backup.capacity_bytes == file_bytes;
    state->has_backup = has_backup;
    state->is_established = has_backup && !(backup.flags & RING_NEVER_SYNCED);
    if (got == sizeof *fixed && larder_ring_fixed_is_intact(fixed)) {
        state->is_whole = state->is_established && memcmp(&backup, fixed, sizeof backup) == 0;
        return larder_ring_fixed_validate(fixed);
    }
    if (has_backup) {
        state->is_backup = true;
        *fixed = backup;
        fixed->flags &= ~RING_NEVER_SYNCED;
        larder_ring_fixed_seal(fixed, fixed->created_ns, fixed->salt);
        return larder_ring_fixed_validate(fixed);
    }
    status = file_is_blank(file, file_bytes, &state->is_blank);
    return status ? status : LARDER_EFOREIGN;
}

ring_fixed larder_ring_backup(const ring_fixed *fixed, bool is_named) {
    ring_fixed backup = *fixed;
    if (!is_named) backup.flags |= RING_NEVER_SYNCED;
    larder_ring_fixed_seal(&backup, backup.created_ns, backup.salt);
    return backup;
}

void larder_ring_store_backup(larder_ring *ring) {
    ring_fixed backup = larder_ring_backup(&ring->fixed, ring->is_named);
    uint8_t *place = ring->map + ring->fixed.capacity_bytes - RING_FIXED_BYTES;
    if (memcmp(place, &backup, RING_FIXED_BYTES) != 0) memcpy(place, &backup, RING_FIXED_BYTES);
}

// Creating ----------------------------------------------------------------------------------------

void larder_ring_opened_sign(ring_opened *opened, const larder_os_facts *facts) {
    opened->device = facts->device;
    opened->inode = facts->inode;
    larder_os_boot_id(opened->boot_id);
}

larder_status larder_ring_create(int file, const larder_ring_options *options, uint64_t first) {
    ring_header header;
    memset(&header, 0, sizeof header);
    if (larder_ring_fixed_make(options, &header.fixed)) return LARDER_EINVALID;
    larder_ring_fixed_seal(&header.fixed, larder_os_wall_clock_ns(), larder_os_random());
    larder_os_facts facts;
    larder_status status = larder_os_file_facts_get(file, &facts);
    if (status) return status;
    larder_ring_opened_sign(&header.opened, &facts);
    STORE(header.opened.skipped, first - 1);
    STORE(header.floor.given, first - 1);
    ring_store_next_floor(&header, ring_floor_from(first));
    STORE(header.session.floor_synced, ring_floor_from(first));
    STORE(header.session.missing_complement, ~(uint64_t)0);
    ring_store_removed_through(&header, 0);
    STORE(header.state.epoch, 2);
    STORE(header.state.closed_crc, larder_ring_closed_crc(&header));
    uint64_t capacity = header.fixed.capacity_bytes;
    status = larder_os_file_reserve(file, capacity);
    // If we crash here, the file is all zeros, and the next open creates it again. The header is
    // inside one page, so a kill leaves all of it or nothing.
    if (!status) status = larder_os_file_write_at(file, &header, sizeof header, 0);
    // If we crash here, or half-way through the backup, the next open for writing completes it.
    ring_fixed backup = larder_ring_backup(&header.fixed, false);
    if (!status)
        status =
            larder_os_file_write_at(file, &backup, RING_FIXED_BYTES, capacity - RING_FIXED_BYTES);
    return status;
}

/** Whether the bytes are zeros where they are not those of `whole`. */
static bool fixed_is_torn(const uint8_t *bytes, const ring_fixed *whole) {
    uint8_t expected[RING_FIXED_BYTES];
    memcpy(expected, whole, sizeof expected);
    for (size_t i = 0; i < offsetof(ring_fixed, created_ns); i++) {
        if (bytes[i] && bytes[i] != expected[i]) return false;
    }
    return true;
}

bool larder_ring_creation_was_torn(int file, uint64_t file_bytes,
                                   const larder_ring_options *options) {
    ring_fixed expected;
    if (file_bytes != options->capacity_bytes || larder_ring_fixed_make(options, &expected))
        return false;
    ring_fixed backup = larder_ring_backup(&expected, false);
    uint8_t bytes[RING_FIXED_BYTES];
    size_t got;
    return !larder_os_file_read_at(file, bytes, sizeof bytes, 0, &got) && got == sizeof bytes &&
           fixed_is_torn(bytes, &expected) &&
           !larder_os_file_read_at(file, bytes, sizeof bytes, file_bytes - RING_FIXED_BYTES,
                                   &got) &&
           got == sizeof bytes && fixed_is_torn(bytes, &backup);
}
