// SPDX-License-Identifier: MIT
/** @file record_keys.c
    Keys of the tree. LMDB compares them as bytes, so each is built such that this is the order
    wanted: numbers big-endian, values in an index escaped.

    Why escaping keeps the order: behind a value comes 00 01, or 00 02 if it was cut; 00 inside a
    value is followed by FF. So where one value ends and a longer one goes on, the end compares less
    than whatever comes there, and a cut one lies behind the whole one that it begins with. Where a
    value is cut depends only on the bytes before, so values that share a cut form share a place. */
#include "format/record.h"

#include "larder_crc32c.h"

_Static_assert(1 + KEY_STORED_MAX_BYTES == TREE_KEY_MAX_BYTES, "a stored key fills a tree key");
_Static_assert(3 + INDEX_VALUE_ROOM + 2 + INDEX_KEY_WHOLE_MAX_BYTES <= TREE_KEY_MAX_BYTES,
               "a row of an index is a tree key");

enum { CRC_BYTES = 4, MARK_ZERO = 0xFF, MARK_END = 0x01, MARK_CUT = 0x02 };

static const uint8_t *bytes_of(larder_bytes bytes) { return bytes.data; }

static void append(tree_key *key, const void *bytes, size_t length) {
    if (length) memcpy(key->bytes + key->length, bytes, length);
    key->length = (uint16_t)(key->length + length);
}

static void append_byte(tree_key *key, uint8_t byte) { key->bytes[key->length++] = byte; }

static void append_be64(tree_key *key, uint64_t value) {
    put_be64(key->bytes + key->length, value);
    key->length = (uint16_t)(key->length + 8);
}

static void append_be32(tree_key *key, uint32_t value) {
    value = __builtin_bswap32(value);
    append(key, &value, sizeof value);
}

static void key_start(tree_key *key, uint8_t space) {
    key->bytes[0] = space;
    key->length = 1;
}

// Entries -----------------------------------------------------------------------------------------

larder_bytes larder_stored_key(larder_bytes key, const uint8_t *secret, tree_key *scratch) {
    if (key.length <= KEY_WHOLE_MAX_BYTES) return key;
    scratch->length = 0;
    append(scratch, key.data, KEY_WHOLE_MAX_BYTES);
    larder_siphash128(secret, key, scratch->bytes + KEY_WHOLE_MAX_BYTES);
    scratch->length = KEY_STORED_MAX_BYTES;
    return (larder_bytes){scratch->bytes, scratch->length};
}

void larder_tree_key_entry(uint8_t space, larder_bytes key, const uint8_t *secret, tree_key *out) {
    tree_key scratch;
    larder_tree_key_of_stored(space, larder_stored_key(key, secret, &scratch), out);
}

void larder_tree_key_of_stored(uint8_t space, larder_bytes stored, tree_key *out) {
    key_start(out, space);
    // Longer than any that was stored: from a damaged page. It is found nowhere.
    size_t length = stored.length < KEY_STORED_MAX_BYTES ? stored.length : KEY_STORED_MAX_BYTES;
    append(out, stored.data, length);
}

void larder_tree_key_expiry(int64_t deadline_ns, uint64_t sequence, uint32_t minor, tree_key *out) {
    key_start(out, SPACE_EXPIRY);
    append_be64(out, flip(deadline_ns));
    append_be64(out, sequence);
    append_be32(out, minor);
}

void larder_tree_key_order(stamp at, tree_key *out) {
    key_start(out, SPACE_ORDER);
    append_be64(out, at.sequence);
    append_be64(out, at.minor);
}

void larder_tree_key_segment(uint32_t number, tree_key *out) {
    key_start(out, SPACE_SEGMENT);
    append_be32(out, number);
}

// Indexes -----------------------------------------------------------------------------------------

/** Appends `value`, escaped, as far as it fits. False if it was cut. */
static bool append_escaped(tree_key *key, larder_bytes value) {
    size_t limit = key->length + (size_t)INDEX_VALUE_ROOM;
    const uint8_t *bytes = bytes_of(value);
    for (size_t i = 0; i < value.length; i++) {
        if (key->length + (bytes[i] ? 1u : 2u) > limit) return false;
        append_byte(key, bytes[i]);
        if (!bytes[i]) append_byte(key, MARK_ZERO);
    }
    return true;
}

static void index_start(tree_key *key, uint16_t index) {
    key_start(key, SPACE_INDEX);
    append_byte(key, (uint8_t)(index >> 8));
    append_byte(key, (uint8_t)index);
}

void larder_tree_key_index(uint16_t index, larder_bytes value, const larder_bytes *stored,
                           const uint8_t *secret, tree_key *out) {
    index_start(out, index);
    bool is_whole = append_escaped(out, value);
    append_byte(out, 0);
    append_byte(out, is_whole ? MARK_END : MARK_CUT);
    if (!stored) return;
    if (stored->length <= INDEX_KEY_WHOLE_MAX_BYTES) {
        append(out, stored->data, stored->length);
        return;
    }
    append(out, stored->data, INDEX_KEY_CUT_BYTES);
    larder_siphash128(secret, *stored, out->bytes + out->length);
    out->length = (uint16_t)(out->length + KEY_HASH_BYTES);
}

void larder_tree_key_index_prefix(uint16_t index, larder_bytes prefix, tree_key *out) {
    index_start(out, index);
    (void)append_escaped(out, prefix);
}

bool larder_tree_key_index_value(larder_bytes key, size_t *value_bytes, bool *is_cut) {
    const uint8_t *bytes = bytes_of(key);
    if (key.length < INDEX_HEAD_BYTES + 2 || bytes[0] != SPACE_INDEX) return false;
    for (size_t i = INDEX_HEAD_BYTES; i + 1 < key.length; i++) {
        if (bytes[i]) continue;
        i++;
        if (bytes[i] == MARK_ZERO) continue;
        if (bytes[i] != MARK_END && bytes[i] != MARK_CUT) return false;
        *value_bytes = i + 1 - INDEX_HEAD_BYTES;
        *is_cut = bytes[i] == MARK_CUT;
        return true;
    }
    return false;
}

bool larder_index_value_has_form(larder_bytes value, larder_bytes escaped) {
    tree_key form;
    larder_tree_key_index(0, value, NULL, NULL, &form);
    size_t length = form.length - (size_t)INDEX_HEAD_BYTES;
    return length == escaped.length &&
           memcmp(form.bytes + INDEX_HEAD_BYTES, escaped.data, length) == 0;
}

static uint32_t index_row_crc(larder_bytes key, larder_bytes rest) {
    return larder_crc32c(larder_crc32c(0, key.data, key.length), rest.data, rest.length);
}

size_t larder_index_row_write(larder_bytes key, larder_bytes stored, uint8_t *target) {
    if (stored.length <= INDEX_KEY_WHOLE_MAX_BYTES) stored.length = 0;
    uint32_t crc = index_row_crc(key, stored);
    memcpy(target, &crc, CRC_BYTES);
    if (stored.length) memcpy(target + CRC_BYTES, stored.data, stored.length);
    return CRC_BYTES + stored.length;
}

larder_status larder_index_row_read(larder_bytes key, larder_bytes value, larder_bytes *stored) {
    size_t value_bytes;
    bool is_cut;
    if (value.length < CRC_BYTES || !larder_tree_key_index_value(key, &value_bytes, &is_cut))
        return LARDER_EDAMAGED;
    *stored = (larder_bytes){bytes_of(value) + CRC_BYTES, value.length - CRC_BYTES};
    if (load32(value.data) != index_row_crc(key, *stored)) return LARDER_EDAMAGED;
    if (stored->length) return LARDER_OK;
    const size_t head = INDEX_HEAD_BYTES + value_bytes;
    *stored = (larder_bytes){bytes_of(key) + head, key.length - head};
    return LARDER_OK;
}

void larder_tree_key_after_prefix(tree_key *key) {
    while (key->bytes[key->length - 1] == 0xFF) key->length--;
    key->bytes[key->length - 1]++;
}
