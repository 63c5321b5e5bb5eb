// SPDX-License-Identifier: MIT
/** @file record.c
    Writing and reading a record; the drawing is in record.h. Both run on the way of every put and
    get, so the head is built in a struct and moved with one copy, and the checksum goes over the
    bytes once, when they are warm.

    Invariants:
    1. A record's parts fill it exactly: the value is what is left behind the other parts, and a
       reference has its 24 bytes. So the container's length (a frame of the journal, a node of the
       tree) is part of what is checked.
    2. record_read takes any bytes: every length is compared with what is left before it is used. */
#include "format/record.h"

#include "larder_crc32c.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "A record is little-endian, and so must the machine be."
#endif

/** The first 48 bytes, as they lie on disk. */
typedef struct record_head {
    uint32_t magic;
    uint32_t crc;
    uint64_t sequence;
    uint32_t minor;
    uint8_t flags;
    uint8_t index_count;
    uint16_t zero;
    int64_t written_ns;
    uint32_t key_bytes;
    uint32_t extended_bytes;
    uint32_t indexes_bytes;
    uint32_t record_bytes;
} record_head;

_Static_assert(sizeof(record_head) == RECORD_HEAD_BYTES, "record head");
_Static_assert(offsetof(record_head, crc) == 4, "crc");
_Static_assert(offsetof(record_head, sequence) == 8, "sequence");
_Static_assert(offsetof(record_head, minor) == 16, "minor");
_Static_assert(offsetof(record_head, flags) == 20, "flags");
_Static_assert(offsetof(record_head, index_count) == 21, "index_count");
_Static_assert(offsetof(record_head, zero) == 22, "zero");
_Static_assert(offsetof(record_head, written_ns) == 24, "written_ns");
_Static_assert(offsetof(record_head, key_bytes) == 32, "key_bytes");
_Static_assert(offsetof(record_head, extended_bytes) == 36, "extended_bytes");
_Static_assert(offsetof(record_head, indexes_bytes) == 40, "indexes_bytes");
_Static_assert(offsetof(record_head, record_bytes) == 44, "record bytes");
_Static_assert(sizeof(spill_reference) == RECORD_SPILL_BYTES, "reference");
_Static_assert(offsetof(spill_reference, number) == 8, "number");
_Static_assert(offsetof(spill_reference, epoch) == 16, "epoch");
_Static_assert(offsetof(spill_reference, crc) == 20, "crc of the value");
_Static_assert(LARDER_STORE_INDEX_MAX_COUNT <= UINT8_MAX, "index count is a byte");
_Static_assert(LARDER_STORE_INDEX_VALUE_MAX_BYTES <= UINT16_MAX, "index values have u16 lengths");

enum { CRC_START = 8, INDEX_ENTRY_HEAD_BYTES = 4 };

static const uint8_t RECORD_FLAGS =
    RECORD_EXPIRES | RECORD_IDLES | RECORD_SPILLED | RECORD_OWN_TIMES | RECORD_COSTS;

// Writing -----------------------------------------------------------------------------------------

/** Bytes of the index entries; SIZE_MAX if one is out of range. */
static size_t indexes_size(const larder_store_item *item) {
    if (item->index_count > LARDER_STORE_INDEX_MAX_COUNT) return SIZE_MAX;
    size_t bytes = 0;
    for (size_t i = 0; i < item->index_count; i++) {
        size_t length = item->indexes[i].value.length;
        if (length > LARDER_STORE_INDEX_VALUE_MAX_BYTES) return SIZE_MAX;
        bytes += INDEX_ENTRY_HEAD_BYTES + length;
    }
    return bytes;
}

size_t record_size(const larder_store_item *item, const spill_reference *spill) {
    if (item->key.length > LARDER_STORE_KEY_MAX_BYTES ||
        item->extended.length > LARDER_STORE_EXTENDED_MAX_BYTES)
        return SIZE_MAX;
    size_t value_bytes = spill ? RECORD_SPILL_BYTES : item->value.length;
    if (value_bytes > LARDER_STORE_INLINE_MAX_BYTES) return SIZE_MAX;
    size_t bytes = RECORD_HEAD_BYTES + item->key.length + item->extended.length + value_bytes;
    if (item->expires_ns != LARDER_STORE_NEVER) bytes += 8;
    if (item->idle_ns != LARDER_STORE_NEVER) bytes += 8;
    if (item->cost != 0) bytes += 8;
    if (item->index_count) {
        size_t indexes = indexes_size(item);
        if (indexes == SIZE_MAX) return SIZE_MAX;
        bytes += indexes;
    }
    return bytes;
}

/** Copies `source`, and gives where the next part goes. Most keys and many values are so short that
    the call of memcpy would cost more than the copy. */
static inline uint8_t *put_bytes(uint8_t *target, larder_bytes source) {
    const uint8_t *from = source.data;
    size_t length = source.length;
    if (length > 32) {
        memcpy(target, from, length);
    } else if (length >= 16) {
        uint64_t words[4];
        memcpy(words, from, 16);
        memcpy(words + 2, from + length - 16, 16);
        memcpy(target, words, 16);
        memcpy(target + length - 16, words + 2, 16);
    } else if (length >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + length - 8, 8);
        memcpy(target, &first, 8);
        memcpy(target + length - 8, &last, 8);
    } else if (length >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + length - 4, 4);
        memcpy(target, &first, 4);
        memcpy(target + length - 4, &last, 4);
    } else {
        for (size_t i = 0; i < length; i++) target[i] = from[i];
    }
    return target + length;
}

static inline uint8_t *put_time(uint8_t *target, int64_t time) {
    memcpy(target, &time, 8);
    return target + 8;
}

static uint8_t *put_indexes(uint8_t *target, const larder_store_item *item) {
    for (size_t i = 0; i < item->index_count; i++) {
        const larder_store_index_entry *entry = &item->indexes[i];
        uint16_t length = (uint16_t)entry->value.length;
        memcpy(target, &entry->index, 2);
        memcpy(target + 2, &length, 2);
        target = put_bytes(target + INDEX_ENTRY_HEAD_BYTES, entry->value);
    }
    return target;
}

static inline void record_sum(uint8_t *target, size_t length) {
    uint32_t crc = larder_crc32c(0, target + CRC_START, length - CRC_START);
    memcpy(target + offsetof(record_head, crc), &crc, sizeof crc);
}

void record_write(uint8_t *target, const larder_store_item *item, const spill_reference *spill,
                  uint64_t sequence, uint32_t minor, int64_t written_ns) {
    record_head head = {.magic = RECORD_MAGIC,
                        .sequence = sequence,
                        .minor = minor,
                        .index_count = (uint8_t)item->index_count,
                        .written_ns = written_ns,
                        .key_bytes = (uint32_t)item->key.length,
                        .extended_bytes = (uint32_t)item->extended.length};
    uint8_t *end = target + RECORD_HEAD_BYTES;
    if (item->expires_ns != LARDER_STORE_NEVER) {
        head.flags |= RECORD_EXPIRES;
        end = put_time(end, item->expires_ns);
    }
    if (item->idle_ns != LARDER_STORE_NEVER) {
        head.flags |= RECORD_IDLES;
        end = put_time(end, item->idle_ns);
    }
    if (item->cost != 0) {
        head.flags |= RECORD_COSTS;
        memcpy(end, &item->cost, 8);
        end += 8;
    }
    end = put_bytes(end, item->key);
    end = put_bytes(end, item->extended);
    if (item->index_count) {
        uint8_t *start = end;
        end = put_indexes(end, item);
        head.indexes_bytes = (uint32_t)(end - start);
    }
    if (spill) {
        head.flags |= RECORD_SPILLED;
        memcpy(end, spill, RECORD_SPILL_BYTES);
        end += RECORD_SPILL_BYTES;
    } else {
        end = put_bytes(end, item->value);
    }
    if ((item->flags & LARDER_STORE_OWN_TIMES) != 0) head.flags |= RECORD_OWN_TIMES;
    head.record_bytes = (uint32_t)(end - target);
    memcpy(target, &head, sizeof head);
    if (sequence) record_sum(target, (size_t)(end - target));
}

void record_seal(uint8_t *target, size_t length, uint64_t sequence, uint32_t minor) {
    memcpy(target + offsetof(record_head, sequence), &sequence, sizeof sequence);
    memcpy(target + offsetof(record_head, minor), &minor, sizeof minor);
    record_sum(target, length);
}

// Reading -----------------------------------------------------------------------------------------

/** Whether there are as many index entries as the head says, and they fill their part. */
static bool indexes_are_sound(const record *entry) {
    larder_store_index_entry found;
    size_t offset = 0, count = 0;
    while (record_next_index(entry, &offset, &found)) count++;
    return count == entry->index_count && offset == entry->indexes.length;
}

static inline int64_t time_at(const uint8_t *bytes) {
    int64_t time;
    memcpy(&time, bytes, sizeof time);
    return time;
}

larder_status record_read(larder_bytes bytes, bool verifies, record *out) {
    const uint8_t *at = bytes.data;
    record_head head;
    if (bytes.length < sizeof head) return LARDER_EDAMAGED;
    memcpy(&head, at, sizeof head);
    if (head.magic != RECORD_MAGIC || (head.flags & ~RECORD_FLAGS) || head.zero ||
        head.record_bytes != bytes.length)
        return LARDER_EDAMAGED;
#ifndef LARDER_PLANT_STORE_SKIPS_CRC
    if (verifies && larder_crc32c(0, at + CRC_START, bytes.length - CRC_START) != head.crc)
        return LARDER_EDAMAGED;
#endif
    if (head.key_bytes > LARDER_STORE_KEY_MAX_BYTES ||
        head.extended_bytes > LARDER_STORE_EXTENDED_MAX_BYTES ||
        head.index_count > LARDER_STORE_INDEX_MAX_COUNT)
        return LARDER_EDAMAGED;

    // None of these sums can overflow: each part has a limit far below that, or is 32 bits wide.
    uint64_t before_value = RECORD_HEAD_BYTES + record_optional_bytes(head.flags) + head.key_bytes +
                            (uint64_t)head.extended_bytes + head.indexes_bytes;
    if (before_value > bytes.length) return LARDER_EDAMAGED;
    size_t value_bytes = bytes.length - (size_t)before_value;
    bool is_spilled = (head.flags & RECORD_SPILLED) != 0;
    if (is_spilled ? value_bytes != RECORD_SPILL_BYTES
                   : value_bytes > LARDER_STORE_INLINE_MAX_BYTES)
        return LARDER_EDAMAGED;

    at += sizeof head;
    out->sequence = head.sequence;
    out->minor = head.minor;
    out->flags = head.flags;
    out->index_count = head.index_count;
    out->written_ns = head.written_ns;
    out->expires_ns = LARDER_STORE_NEVER;
    out->idle_ns = LARDER_STORE_NEVER;
    out->cost = 0;
    if (head.flags & RECORD_EXPIRES) {
        out->expires_ns = time_at(at);
        at += 8;
    }
    if (head.flags & RECORD_IDLES) {
        out->idle_ns = time_at(at);
        at += 8;
    }
    if (head.flags & RECORD_COSTS) {
        memcpy(&out->cost, at, 8);
        at += 8;
    }
    out->key = (larder_bytes){at, head.key_bytes};
    at += head.key_bytes;
    out->extended = (larder_bytes){at, head.extended_bytes};
    at += head.extended_bytes;
    out->indexes = (larder_bytes){at, head.indexes_bytes};
    at += head.indexes_bytes;
    if (is_spilled) {
        memcpy(&out->spill, at, RECORD_SPILL_BYTES);
        out->value = (larder_bytes){at, 0};
    } else {
        out->spill = (spill_reference){0};
        out->value = (larder_bytes){at, value_bytes};
    }
    if (head.index_count == 0 && head.indexes_bytes == 0) return LARDER_OK;
    return indexes_are_sound(out) ? LARDER_OK : LARDER_EDAMAGED;
}

bool record_next_index(const record *entry, size_t *offset, larder_store_index_entry *out) {
    size_t length = entry->indexes.length;
    if (*offset > length || length - *offset < INDEX_ENTRY_HEAD_BYTES) return false;
    const uint8_t *at = (const uint8_t *)entry->indexes.data + *offset;
    uint16_t value_bytes;
    memcpy(&value_bytes, at + 2, 2);
    size_t left = length - *offset - INDEX_ENTRY_HEAD_BYTES;
    if (value_bytes > left || value_bytes > LARDER_STORE_INDEX_VALUE_MAX_BYTES) return false;
    memcpy(&out->index, at, 2);
    out->value = (larder_bytes){at + INDEX_ENTRY_HEAD_BYTES, value_bytes};
    *offset += INDEX_ENTRY_HEAD_BYTES + (size_t)value_bytes;
    return true;
}
