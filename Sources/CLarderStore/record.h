// SPDX-License-Identifier: MIT
/** @file record.h
    Private: the bytes of an entry, the same in the journal and in LMDB, and the keys of LMDB's
    tree. Normative in the documentation ("File formats").

    A record, little-endian, at any alignment:

        0   u32  magic "LREC"
        4   u32  CRC-32C of everything behind it
        8   u64  sequence   the entry's version; the number of its write in the journal
        16  u32  minor      its place in a batch, from 0
        20  u8   flags      RECORD_…
        21  u8   index count
        22  u16  0
        24  i64  written    nanoseconds since 1970
        32  u32  key length
        36  u32  extended length
        40  u32  bytes of index entries
        44  u32  length of the whole record, so that it is found without its page
        48       then, in this order:
            i64  expires    if RECORD_EXPIRES
            i64  idle       if RECORD_IDLES
            u64  cost       if RECORD_COSTS
            …    key
            …    extended data
            …    index entries, each: u16 index, u16 length, value
            …    the value; if RECORD_SPILLED a reference of 24 bytes instead:
                 u64 length, u64 file number, u32 epoch, u32 CRC-32C of the value

    Numbers as in the code are RECORD_… constants; the static asserts are in record.c.

    The tree has one name space for each first byte of the key, all other numbers in it big-endian:

        01                                       meta              → store_meta, see meta.h
        02 epoch u32, number u64                 a file to delete  → transaction u64, announced
                                                                   u8; number 2⁶⁴-1: the folder
        10 key                                   an entry          → its record
        20 deadline i64, sequence u64, minor u32 its deadline      → key
        30 index u16, value, key                 found by index    → key
        40 key                                   read since        → stamp, i64 deadline, i64 armed
        50 stamp                                 order of use      → key

    `key` is the entry's key if it has at most 494 bytes, else its first 494 bytes and 16 bytes of
    its SipHash-2-4-128 under the store's secret. `armed` is the deadline under which the entry
    stands in the name space 20, if that is not its own any more. A stamp is sequence u64, minor
    u64: of a write its own, of a read the last write's number and 2³² + the number of the read. The
    value in an index is escaped, so that it can be followed: 00 becomes 00 FF, and 00 01 ends it.
    What takes more than 240 bytes so is cut to what fits whole, ended by 00 02: such values share a
    key, and only their records tell them apart. `key` behind a value is cut to its first 237 bytes
    and 16 of its own hash if it is longer than 253. An i64 has its sign bit flipped, so that it
    sorts. */
#ifndef LARDER_RECORD_H
#define LARDER_RECORD_H

#include <stdbool.h>
#include <string.h>

#include "larder_store.h"

enum {
    RECORD_MAGIC = 0x4345524C,
    RECORD_HEAD_BYTES = 48,
    RECORD_SPILL_BYTES = 24,

    RECORD_EXPIRES = 1,
    RECORD_IDLES = 2,
    RECORD_SPILLED = 4,
    /** Its own times hold instead of the limits of age and end. */
    RECORD_OWN_TIMES = 8,
    RECORD_COSTS = 16,

    SPACE_META = 0x01,
    SPACE_DOOMED = 0x02,
    SPACE_ENTRY = 0x10,
    SPACE_EXPIRY = 0x20,
    SPACE_INDEX = 0x30,
    SPACE_RECENCY = 0x40,
    SPACE_ORDER = 0x50,

    DOOMED_BYTES = 9,
    STATE_BYTES = 32,
    KEY_WHOLE_MAX_BYTES = 494,
    KEY_HASH_BYTES = 16,
    KEY_STORED_MAX_BYTES = KEY_WHOLE_MAX_BYTES + KEY_HASH_BYTES,
    TREE_KEY_MAX_BYTES = 511,

    /** Of a value and of a key in an index. */
    INDEX_VALUE_ROOM = 240,
    INDEX_KEY_WHOLE_MAX_BYTES = 253,
    INDEX_KEY_CUT_BYTES = INDEX_KEY_WHOLE_MAX_BYTES - KEY_HASH_BYTES
};

/** Where a spilled value is. */
typedef struct spill_reference {
    uint64_t length;
    uint64_t number;
    uint32_t epoch;
    uint32_t crc;
} spill_reference;

/** A record taken apart; all bytes are borrowed from where it lies. */
typedef struct record {
    uint64_t sequence;
    uint32_t minor;
    uint8_t flags;
    uint8_t index_count;
    int64_t written_ns;
    int64_t expires_ns;
    int64_t idle_ns;
    uint64_t cost;
    larder_bytes key;
    larder_bytes extended;
    larder_bytes indexes;
    /** The value itself; empty if it is spilled. */
    larder_bytes value;
    spill_reference spill;
} record;

/** Order of use: a write's or a read's. */
typedef struct stamp {
    uint64_t sequence;
    uint64_t minor;
} stamp;

/** A key of the tree. */
typedef struct tree_key {
    uint8_t bytes[TREE_KEY_MAX_BYTES];
    uint16_t length;
} tree_key;

/** Bytes that `item` takes as a record; SIZE_MAX if one is out of range. `spill` may be NULL. */
size_t record_size(const larder_store_item *item, const spill_reference *spill);
/** Writes the record at `target`, which has room for record_size bytes. With `sequence` 0 it gets
    no checksum yet: record_seal follows. */
void record_write(uint8_t *target, const larder_store_item *item, const spill_reference *spill,
                  uint64_t sequence, uint32_t minor, int64_t written_ns);
/** Gives a record that was written in advance its number, and its checksum. */
void record_seal(uint8_t *target, size_t length, uint64_t sequence, uint32_t minor);
/** Takes a record apart: bounds are always checked, the checksum if `verifies`. LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status record_read(larder_bytes bytes, bool verifies, record *out);
/** Bytes between the head and the key. */
static inline size_t record_optional_bytes(uint8_t flags) {
    return ((flags & RECORD_EXPIRES) != 0 ? 8u : 0u) + ((flags & RECORD_IDLES) != 0 ? 8u : 0u) +
           ((flags & RECORD_COSTS) != 0 ? 8u : 0u);
}
/** Bytes of the value, wherever it is. */
static inline uint64_t record_value_bytes(const record *entry) {
    return (entry->flags & RECORD_SPILLED) != 0 ? entry->spill.length : entry->value.length;
}
/** The next of a record's index entries; false behind the last. `offset` is 0 for the first, and
    goes on. */
bool record_next_index(const record *entry, size_t *offset, larder_store_index_entry *out);

// Keys of the tree. `stored` is what stands for the user's key: see above.

/** What stands for `key` in the tree. `secret` has 16 bytes. */
larder_bytes stored_key(larder_bytes key, const uint8_t *secret, tree_key *scratch);
/** `space` and then the stored key of the user's `key`. */
void tree_key_entry(uint8_t space, larder_bytes key, const uint8_t *secret, tree_key *out);
void tree_key_of_stored(uint8_t space, larder_bytes stored, tree_key *out);
void tree_key_expiry(int64_t deadline_ns, uint64_t sequence, uint32_t minor, tree_key *out);
void tree_key_order(stamp at, tree_key *out);
void tree_key_doomed(uint32_t epoch, uint64_t number, tree_key *out);
/** `stored` NULL: the least key of that value, for bounds; then `secret` is not used. */
void tree_key_index(uint16_t index, larder_bytes value, const larder_bytes *stored,
                    const uint8_t *secret, tree_key *out);
/** What the keys of all values in `index` begin with that begin with `prefix`: exact up to its
    first 240 escaped bytes. */
void tree_key_index_prefix(uint16_t index, larder_bytes prefix, tree_key *out);
/** Takes a key of SPACE_INDEX apart: `value_bytes` are those of the escaped value with its end,
    behind the first three; `is_cut` says whether it ended by 00 02. False if it is no such key. */
bool tree_key_index_value(larder_bytes key, size_t *value_bytes, bool *is_cut);
/** Whether `value` has the escaped form at `escaped`, with its end. */
bool index_value_has_form(larder_bytes value, larder_bytes escaped);
/** The least key behind all that begin with the bytes of `key`; false if there is none. */
bool tree_key_after_prefix(tree_key *key);

/** SipHash-2-4 with 128 bits of result (Aumasson, Bernstein). */
void siphash128(const uint8_t *key, larder_bytes bytes, uint8_t out[16]);

static inline void put_be64(uint8_t *target, uint64_t value) {
    value = __builtin_bswap64(value);
    memcpy(target, &value, 8);
}
static inline uint64_t get_be64(const uint8_t *source) {
    uint64_t value;
    memcpy(&value, source, 8);
    return __builtin_bswap64(value);
}
static inline void put_be32(uint8_t *target, uint32_t value) {
    value = __builtin_bswap32(value);
    memcpy(target, &value, 4);
}
static inline uint32_t get_be32(const uint8_t *source) {
    uint32_t value;
    memcpy(&value, source, 4);
    return __builtin_bswap32(value);
}

static inline larder_bytes bytes_of_key(const tree_key *key) {
    return (larder_bytes){key->bytes, key->length};
}

/** An i64 with its sign bit flipped, as it stands in a tree key, and back. */
static inline uint64_t flip(int64_t time) { return (uint64_t)time ^ (uint64_t)1 << 63; }
static inline int64_t unflip(uint64_t sorted) { return (int64_t)(sorted ^ (uint64_t)1 << 63); }

/** Order of bytes; of two of which one begins with the other, the shorter one comes first. */
static inline int compare_bytes(larder_bytes a, larder_bytes b) {
    size_t length = a.length < b.length ? a.length : b.length;
    int order = length ? memcmp(a.data, b.data, length) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

#endif
