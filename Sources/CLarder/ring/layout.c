// SPDX-License-Identifier: MIT
#include "ring/layout.h"
#include "larder_os_file.h"

/** Candidates longer than this are not tried any more once larder_record_find's budget is used up.
    */
#define FIND_SHORT_BYTES ((size_t)1024)

/** A smaller hole is read. */
#define FIND_HOLE_BYTES ((uint64_t)1 << 20)

/** Before the first byte behind the large hole at `position`; there, if there is none.
    @param until receives where to ask again. */
static uint64_t find_behind_hole(const ring_records *records, uint64_t position, uint64_t *until) {
    uint64_t data, hole, offset = records->source->offset;
    larder_status status =
        larder_os_file_next_data(records->source->file, offset + position, &data, &hole);
    *until = UINT64_MAX;
    if (status == LARDER_END) return records->data_bytes;
    if (status) return position;
    *until = hole - offset;
    return data - offset < position + FIND_HOLE_BYTES ? position
                                                      : ((data - offset) & ~(uint64_t)7) - 8;
}

bool larder_record_find(const ring_records *records, uint64_t position, uint64_t limit,
                        record_bounds bounds, uint64_t *found, record_head *head) {
    if (limit > records->data_bytes) limit = records->data_bytes;
    // A payload may be full of false heads, each naming the rest of the file as its length. They
    // are weeded out by number; what is left may cost this many bytes of checksum in all, and as
    // many again what is likely.
    uint64_t most = 8 * (limit > position ? limit - position : 0) + ((uint64_t)1 << 20);
    uint64_t budgets[] = {most, most};
    uint64_t ask_at = records->source ? position : UINT64_MAX;
    for (; position < limit && records->data_bytes - position >= RING_HEAD_BYTES; position += 8) {
        // A head's second half in a hole is no number. In memory, a hole that is read is there.
        if (position + 8 >= ask_at) {
            uint64_t behind = find_behind_hole(records, position + 8, &ask_at);
            if (behind != position + 8) position = behind;
            if (position >= limit || records->data_bytes - position < RING_HEAD_BYTES) break;
        }
        record_head candidate = record_head_at(records->data, position);
        uint64_t sequence = record_sequence(candidate.tag);
        if (sequence < bounds.minimum || sequence > bounds.maximum) continue;
        if (candidate.word == RECORD_PAD) continue;
        if (!record_is_plausible(candidate, position, records->data_bytes)) continue;
        size_t length = record_length(candidate.word);
        uint64_t *budget = &budgets[sequence <= bounds.likely];
        if (length > FIND_SHORT_BYTES && length > *budget) continue;
        if (record_is_intact(records, records->data + position, candidate, position)) {
            *found = position;
            *head = candidate;
            return true;
        }
        *budget = *budget > length ? *budget - length : 0;
    }
    return false;
}

#ifdef LARDER_FAULTS
uint64_t larder_ring_numbers_ahead = (uint64_t)1 << 22;
uint64_t larder_ring_window_bytes = (uint64_t)256 * 1024;

void larder_fault_ring_limits(uint64_t numbers_ahead, uint64_t window_bytes) {
    larder_ring_numbers_ahead = numbers_ahead;
    larder_ring_window_bytes = window_bytes;
}
#endif

// The fixed header --------------------------------------------------------------------------------

static uint32_t ring_fixed_crc(const ring_fixed *fixed) {
    return larder_crc32c(0, fixed, offsetof(ring_fixed, crc));
}

bool larder_ring_fixed_is_intact(const ring_fixed *fixed) {
    return memcmp(fixed->magic, RING_MAGIC, sizeof fixed->magic) == 0 &&
           fixed->crc == ring_fixed_crc(fixed);
}

larder_status larder_ring_fixed_validate(const ring_fixed *fixed) {
    if (fixed->version != RING_VERSION && fixed->version != RING_VERSION_TIMES)
        return LARDER_EVERSION;
    uint64_t capacity = fixed->capacity_bytes;
    if (capacity > LARDER_RING_CAPACITY_MAX_BYTES) return LARDER_EDAMAGED;
    if (fixed->data_offset < RING_HEADER_BYTES || fixed->data_offset % 8 != 0 ||
        fixed->data_offset > RING_HEADER_BYTES + RING_CURSOR_BYTES * LARDER_RING_CURSOR_SLOTS_MAX)
        return LARDER_EDAMAGED;
    if (fixed->data_bytes < RING_HEAD_BYTES + ring_fixed_time_bytes(fixed) ||
        fixed->data_bytes % 8 != 0)
        return LARDER_EDAMAGED;
    if (capacity < fixed->data_offset + RING_FIXED_BYTES ||
        fixed->data_bytes > capacity - fixed->data_offset - RING_FIXED_BYTES)
        return LARDER_EDAMAGED;
    return LARDER_OK;
}

uint64_t larder_ring_minimum_capacity(uint32_t cursor_slots) {
    return RING_HEADER_BYTES + RING_CURSOR_BYTES * cursor_slots + RING_HEAD_BYTES +
           RING_FIXED_BYTES;
}

uint64_t larder_ring_capacity_for(uint64_t count, size_t length, uint32_t cursor_slots) {
    if (count == 0 || length > LARDER_RING_MESSAGE_MAX_BYTES) return 0;
    if (cursor_slots > LARDER_RING_CURSOR_SLOTS_MAX) return 0;
    uint64_t each = record_bytes(length);
    if (count > LARDER_RING_CAPACITY_MAX_BYTES / each) return 0;
    uint64_t capacity = larder_ring_minimum_capacity(cursor_slots) - RING_HEAD_BYTES + count * each;
    return capacity <= LARDER_RING_CAPACITY_MAX_BYTES ? capacity : 0;
}

larder_status larder_ring_fixed_make(const larder_ring_options *options, ring_fixed *out) {
    memset(out, 0, sizeof *out);
    out->version = ring_options_keep_times(options) ? RING_VERSION_TIMES : RING_VERSION;
    if (options->capacity_bytes <
            larder_ring_minimum_capacity(options->cursor_slots) + ring_fixed_time_bytes(out) ||
        options->capacity_bytes > LARDER_RING_CAPACITY_MAX_BYTES)
        return LARDER_EINVALID;
    memcpy(out->magic, RING_MAGIC, sizeof out->magic);
    out->flags = options->flags & LARDER_RING_OVERWRITE;
    out->capacity_bytes = options->capacity_bytes;
    out->data_offset = RING_HEADER_BYTES + RING_CURSOR_BYTES * options->cursor_slots;
    out->data_bytes =
        (options->capacity_bytes - out->data_offset - RING_FIXED_BYTES) & ~(uint64_t)7;
    out->content_format = options->content_format;
    out->crc = ring_fixed_crc(out);
    return LARDER_OK;
}

void larder_ring_fixed_seal(ring_fixed *fixed, int64_t created_ns, uint32_t salt) {
    fixed->created_ns = created_ns;
    fixed->salt = salt;
    fixed->crc = ring_fixed_crc(fixed);
}

uint32_t larder_ring_closed_crc(const ring_header *header) {
    uint8_t bytes[sizeof(ring_header) - sizeof(ring_fixed)];
    memcpy(bytes, &header->state, sizeof bytes);
    memset(bytes + offsetof(ring_state, closed_crc), 0, sizeof(uint32_t));
    memset(bytes + offsetof(ring_header, floor.bell) - sizeof(ring_fixed), 0, sizeof(ring_bell));
    uint32_t crc = larder_crc32c(0, bytes, sizeof bytes);
    return crc ? crc : 1; // 0 says that the ring is open.
}
