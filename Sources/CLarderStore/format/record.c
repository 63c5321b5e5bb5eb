// SPDX-License-Identifier: MIT
/** @file record.c
    Writing and reading a record and its row; the drawings are in record.h. Both run on the way of
    every put and get, so the head is built in a struct and moved with one copy, and the checksum
    goes over the bytes once, when they are warm.

    Invariants:
    1. A record's parts fill it exactly: the value is what is left behind the other parts, and of a
       record that is no put nothing is left behind its key.
    2. larder_record_read takes any bytes: every length is compared with what is left before it is
    used. */
#include "format/record.h"

#include "larder_crc32c.h"

/** The first 36 bytes, as they lie on disk. */
typedef struct record_head {
    uint32_t length;
    uint32_t crc;
    uint64_t sequence;
    uint32_t minor;
    uint8_t kind;
    uint8_t flags;
    uint8_t index_count;
    uint8_t zero;
    int64_t written_ns;
    uint32_t key_bytes;
} record_head;

/** As in the tree. */
typedef struct row_head {
    uint64_t sequence;
    uint32_t segment;
    uint32_t offset;
    uint32_t value_bytes;
    uint32_t minor_and_flags;
} row_head;

_Static_assert(offsetof(record_head, sequence) == RECORD_CRC_START, "sequence");
_Static_assert(offsetof(record_head, minor) == 16, "minor");
_Static_assert(offsetof(record_head, kind) == 20, "kind");
_Static_assert(offsetof(record_head, flags) == 21, "flags");
_Static_assert(offsetof(record_head, index_count) == 22, "index count");
_Static_assert(offsetof(record_head, written_ns) == 24, "written");
_Static_assert(offsetof(record_head, key_bytes) + 4 == RECORD_HEAD_BYTES, "key bytes");
_Static_assert(sizeof(row_head) == ROW_BYTES, "row");
_Static_assert(LARDER_STORE_INDEX_MAX_COUNT <= UINT8_MAX, "index count is a byte");
_Static_assert(LARDER_STORE_INDEX_VALUE_MAX_BYTES <= UINT16_MAX, "index values have u16 lengths");
_Static_assert(RECORD_MAX_BYTES < SIZE_MAX, "a record's length is a size");

enum { INDEX_ENTRY_HEAD_BYTES = 4, PARTS_BYTES = 8 };

static const uint8_t RECORD_FLAGS = RECORD_EXPIRES | RECORD_IDLES | RECORD_HAS_PARTS |
                                    RECORD_OWN_TIMES | RECORD_COSTS | RECORD_CONTINUES |
                                    RECORD_REFRESHES;

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

static inline bool has_parts(const larder_store_item *item) {
    return item->extended.length > 0 || item->index_count > 0;
}

size_t larder_record_size(const larder_store_item *item) {
    if (item->key.length > LARDER_STORE_KEY_MAX_BYTES ||
        item->extended.length > LARDER_STORE_EXTENDED_MAX_BYTES ||
        item->value.length > RECORD_MAX_BYTES)
        return SIZE_MAX;
    // The other parts have limits far below that, so that the sum cannot overflow.
    uint64_t bytes = (uint64_t)RECORD_HEAD_BYTES + item->key.length + item->value.length;
    if (item->expires_ns != LARDER_STORE_NEVER) bytes += 8;
    if (item->idle_ns != LARDER_STORE_NEVER) bytes += 8;
    if (item->cost != 0) bytes += 8;
    if (item->refresh_ns != LARDER_STORE_NEVER) bytes += 8;
    if (has_parts(item)) {
        size_t indexes = indexes_size(item);
        if (indexes == SIZE_MAX) return SIZE_MAX;
        bytes += PARTS_BYTES + item->extended.length + indexes;
    }
    return bytes <= RECORD_MAX_BYTES ? (size_t)bytes : SIZE_MAX;
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
    } else {
        for (size_t i = 0; i < length; i++) target[i] = from[i];
    }
    return target + length;
}

/** Puts an optional word of eight bytes, if it is there, and notes in `flags` that it is. */
static inline uint8_t *put_word(uint8_t *target, bool is_there, const void *word, uint8_t flag,
                                uint8_t *flags) {
    if (!is_there) return target;
    *flags |= flag;
    memcpy(target, word, 8);
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

/** Zeros the padding: before the rest, because the word that has it may have more. */
static inline void put_padding(uint8_t *target, size_t length) {
    if ((length & 7) != 0) memset(target + record_padded(length) - 8, 0, 8);
}

/** The head, but for its first eight bytes. */
static inline void put_head(uint8_t *target, const record_head *head) {
    memcpy(target + RECORD_CRC_START, (const uint8_t *)head + RECORD_CRC_START,
           RECORD_HEAD_BYTES - RECORD_CRC_START);
}

void larder_record_write(uint8_t *target, const larder_store_item *item, size_t length,
                         int64_t written_ns) {
    put_padding(target, length);
    record_head head = {.kind = RECORD_PUT,
                        .index_count = (uint8_t)item->index_count,
                        .written_ns = written_ns,
                        .key_bytes = (uint32_t)item->key.length};
    if ((item->flags & LARDER_STORE_OWN_TIMES) != 0) head.flags |= RECORD_OWN_TIMES;
    uint8_t *parts = target + RECORD_HEAD_BYTES;
    uint32_t lengths[2] = {(uint32_t)item->extended.length, 0};
    uint8_t *end = put_word(parts, has_parts(item), lengths, RECORD_HAS_PARTS, &head.flags);
    end = put_word(end, item->expires_ns != LARDER_STORE_NEVER, &item->expires_ns, RECORD_EXPIRES,
                   &head.flags);
    end = put_word(end, item->idle_ns != LARDER_STORE_NEVER, &item->idle_ns, RECORD_IDLES,
                   &head.flags);
    end = put_word(end, item->cost != 0, &item->cost, RECORD_COSTS, &head.flags);
    end = put_word(end, item->refresh_ns != LARDER_STORE_NEVER, &item->refresh_ns, RECORD_REFRESHES,
                   &head.flags);
    put_head(target, &head);
    end = put_bytes(end, item->key);
    if (has_parts(item)) {
        end = put_bytes(end, item->extended);
        uint8_t *start = end;
        end = put_indexes(end, item);
        lengths[1] = (uint32_t)(end - start);
        memcpy(parts, lengths, sizeof lengths);
    }
    put_bytes(end, item->value);
}

size_t larder_record_write_bare(uint8_t *target, uint8_t kind, larder_bytes key) {
    size_t length = RECORD_HEAD_BYTES + key.length;
    put_padding(target, length);
    record_head head = {.kind = kind, .key_bytes = (uint32_t)key.length};
    put_head(target, &head);
    put_bytes(target + RECORD_HEAD_BYTES, key);
    return length;
}

uint64_t larder_record_seal(uint8_t *target, size_t length, uint64_t sequence, uint32_t minor,
                            bool continues) {
    memcpy(target + offsetof(record_head, sequence), &sequence, sizeof sequence);
    memcpy(target + offsetof(record_head, minor), &minor, sizeof minor);
    if (continues) target[offsetof(record_head, flags)] |= RECORD_CONTINUES;
    uint32_t crc = larder_crc32c(0, target + RECORD_CRC_START, length - RECORD_CRC_START);
    return (uint64_t)crc << 32 | (uint32_t)length;
}

// Reading -----------------------------------------------------------------------------------------

/** Whether there are as many index entries as the head says, and they fill their part. */
static bool indexes_are_sound(const record *entry) {
    larder_store_index_entry found;
    size_t offset = 0, count = 0;
    while (larder_record_next_index(entry, &offset, &found)) count++;
    return count == entry->index_count && offset == entry->indexes.length;
}

/** Whether a record that is no put is a key alone, or nothing. */
static bool is_bare_sound(const record_head *head) {
    bool has_key = head->kind == RECORD_REMOVE;
    return head->kind >= RECORD_REMOVE && head->kind <= RECORD_NEXT && head->index_count == 0 &&
           (head->flags & ~RECORD_CONTINUES) == 0 && (has_key || head->key_bytes == 0) &&
           head->length == RECORD_HEAD_BYTES + head->key_bytes;
}

static inline const uint8_t *read_word(const uint8_t *at, bool is_there, void *word) {
    if (!is_there) return at;
    memcpy(word, at, 8);
    return at + 8;
}

larder_status larder_record_read(larder_bytes bytes, bool verifies, record *out) {
    const uint8_t *at = bytes.data;
    record_head head;
    if (bytes.length < RECORD_HEAD_BYTES) return LARDER_EDAMAGED;
    memcpy(&head, at, RECORD_HEAD_BYTES);
    if (head.length != bytes.length || head.key_bytes > LARDER_STORE_KEY_MAX_BYTES ||
        (head.flags & ~RECORD_FLAGS) != 0 || head.zero != 0 || head.sequence > SEQUENCE_MAX ||
        head.index_count > LARDER_STORE_INDEX_MAX_COUNT ||
        (head.minor > RECORD_MINOR_MAX && head.kind != RECORD_NEXT) ||
        (head.kind != RECORD_PUT && !is_bare_sound(&head)))
        return LARDER_EDAMAGED;
    if (verifies &&
        larder_crc32c(0, at + RECORD_CRC_START, bytes.length - RECORD_CRC_START) != head.crc)
        return LARDER_EDAMAGED;
    size_t left = bytes.length - RECORD_HEAD_BYTES;
    size_t optional = record_optional_bytes(head.flags);
    if (optional + head.key_bytes > left) return LARDER_EDAMAGED;
    left -= optional + head.key_bytes;

    out->sequence = head.sequence;
    out->minor = head.minor;
    out->kind = head.kind;
    out->flags = head.flags;
    out->index_count = head.index_count;
    out->written_ns = head.written_ns;
    out->expires_ns = out->idle_ns = out->refresh_ns = LARDER_STORE_NEVER;
    out->cost = 0;
    uint32_t lengths[2] = {0, 0};
    at = read_word(at + RECORD_HEAD_BYTES, (head.flags & RECORD_HAS_PARTS) != 0, lengths);
    at = read_word(at, (head.flags & RECORD_EXPIRES) != 0, &out->expires_ns);
    at = read_word(at, (head.flags & RECORD_IDLES) != 0, &out->idle_ns);
    at = read_word(at, (head.flags & RECORD_COSTS) != 0, &out->cost);
    at = read_word(at, (head.flags & RECORD_REFRESHES) != 0, &out->refresh_ns);
    if (lengths[0] > LARDER_STORE_EXTENDED_MAX_BYTES || (uint64_t)lengths[0] + lengths[1] > left)
        return LARDER_EDAMAGED;
    out->key = (larder_bytes){at, head.key_bytes};
    at += head.key_bytes;
    out->extended = (larder_bytes){at, lengths[0]};
    at += lengths[0];
    out->indexes = (larder_bytes){at, lengths[1]};
    at += lengths[1];
    out->value = (larder_bytes){at, left - lengths[0] - lengths[1]};
    if (head.index_count == 0 && lengths[1] == 0) return LARDER_OK;
    return indexes_are_sound(out) ? LARDER_OK : LARDER_EDAMAGED;
}

larder_bytes larder_record_key(const uint8_t *at) {
    uint32_t length;
    memcpy(&length, at + offsetof(record_head, key_bytes), sizeof length);
    size_t optional = record_optional_bytes(at[offsetof(record_head, flags)]);
    return (larder_bytes){at + RECORD_HEAD_BYTES + optional, length};
}

uint64_t larder_record_value_length(const uint8_t *at) {
    uint8_t flags = at[offsetof(record_head, flags)];
    if (record_kind(at) != RECORD_PUT) return 0;
    uint32_t lengths[2] = {0, 0};
    if ((flags & RECORD_HAS_PARTS) != 0) memcpy(lengths, at + RECORD_HEAD_BYTES, PARTS_BYTES);
    return record_length(at) - RECORD_HEAD_BYTES - record_optional_bytes(flags) -
           larder_record_key(at).length - lengths[0] - lengths[1];
}

bool larder_record_next_index(const record *entry, size_t *offset, larder_store_index_entry *out) {
    size_t length = entry->indexes.length;
    if (length - *offset < INDEX_ENTRY_HEAD_BYTES) return false;
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

// Rows --------------------------------------------------------------------------------------------

size_t larder_row_write(uint8_t *target, const uint8_t *source, location at, bool inlines) {
    uint8_t flags = source[offsetof(record_head, flags)];
    if (source[offsetof(record_head, index_count)] != 0) flags |= RECORD_INDEXED;
    row_head row = {.sequence = record_sequence(source),
                    .segment = at.segment,
                    .offset = (uint32_t)(at.offset / 8),
                    .value_bytes = (uint32_t)larder_record_value_length(source),
                    .minor_and_flags = record_minor(source) << 8 | flags};
    memcpy(target, &row, ROW_BYTES);
    if (!inlines) return ROW_BYTES;
    memcpy(target + ROW_BYTES, source, record_length(source));
    return ROW_BYTES + record_length(source);
}

void larder_row_move(uint8_t *row, location to) {
    uint32_t place[2] = {to.segment, (uint32_t)(to.offset / 8)};
    memcpy(row + offsetof(row_head, segment), place, sizeof place);
}

larder_status larder_row_read(larder_bytes bytes, entry_row *out) {
    if (bytes.length != ROW_BYTES && bytes.length < ROW_BYTES + RECORD_HEAD_BYTES)
        return LARDER_EDAMAGED;
    row_head row;
    memcpy(&row, bytes.data, ROW_BYTES);
    *out =
        (entry_row){.sequence = row.sequence,
                    .at = {row.segment, (uint64_t)row.offset * 8},
                    .value_bytes = row.value_bytes,
                    .minor = row.minor_and_flags >> 8,
                    .flags = (uint8_t)row.minor_and_flags,
                    .inlined = {(const uint8_t *)bytes.data + ROW_BYTES, bytes.length - ROW_BYTES}};
    return row.segment != 0 ? LARDER_OK : LARDER_EDAMAGED;
}

bool larder_row_is_of_inlined(const entry_row *row) {
    const uint8_t *at = row->inlined.data;
    return row->inlined.length == 0 ||
           (record_sequence(at) == row->sequence && record_minor(at) == row->minor);
}

size_t larder_row_record_padded(const entry_row *row, larder_bytes stored) {
    if (row->inlined.length > 0) return record_padded(row->inlined.length);
    if ((row->flags & RECORD_HAS_PARTS) != 0 || stored.length > KEY_WHOLE_MAX_BYTES) return 0;
    return record_padded(RECORD_HEAD_BYTES + record_optional_bytes(row->flags) + stored.length +
                         row->value_bytes);
}
