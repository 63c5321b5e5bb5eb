// SPDX-License-Identifier: MIT
/** @file record.h
    Private: the bytes of a write, the same in the log's segments and inline in LMDB, and the keys
    and rows of LMDB's tree. Normative in the documentation ("File formats").

    A record, little-endian, at a multiple of 8 in a segment:

        0   u32  length of the record, padding not included; 0: nothing was written here
        4   u32  CRC-32C of everything behind it
        8   u64  sequence   the number of its write, shared by all records of a batch
        16  u32  minor      its place in a batch, from 0; of RECORD_NEXT a segment's number
        20  u8   kind       RECORD_PUT …
        21  u8   flags      RECORD_…
        22  u8   index count
        23  u8   0
        24  i64  written    nanoseconds since 1970
        32  u32  key length
        36       then, in this order:
            u32  extended length, u32 bytes of index entries, if RECORD_HAS_PARTS
            i64  expires    if RECORD_EXPIRES
            i64  idle       if RECORD_IDLES
            u64  cost       if RECORD_COSTS
            i64  refresh    if RECORD_REFRESHES
            …    key
            …    extended data
            …    index entries, each: u16 index, u16 length, value
            …    the value

    A batch is a chain: all its records but the last have RECORD_CONTINUES. The first eight bytes of
    the first are stored last, in one piece, and the eight bytes behind the last are zero by then:
    a batch is there whole or not at all.

    The tree has one name space for each first byte of the key, all other numbers in it big-endian:

        01                                       meta              → store_meta, see meta.h
        03 number u32                            a segment         → its live bytes, see live.h
        10 key                                   an entry          → its row, see below
        20 deadline i64, sequence u64, minor u32 its deadline      → key
        30 index u16, value, key                 found by index    → CRC-32C u32, key if cut here
        40 key                                   read since        → stamp, i64 deadline, i64 armed
        50 stamp                                 order of use      → key

    An entry's row says where its record is, little-endian:

        0   u64  sequence
        8   u32  segment
        12  u32  offset in the segment / 8
        16  u32  bytes of the value
        20  u32  minor << 8 | flags of the record, with RECORD_INDEXED
        24       the record itself, if it is short enough to lie here too

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

#include <stdatomic.h>
#include <stdbool.h>

#include "larder_os_array.h"
#include "larder_store.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Records, the meta record and LMDB's pages are little-endian, and so must the machine be."
#endif

static inline uint16_t load16(const uint8_t *source) {
    uint16_t value;
    memcpy(&value, source, sizeof value);
    return value;
}
static inline uint32_t load32(const uint8_t *source) {
    uint32_t value;
    memcpy(&value, source, sizeof value);
    return value;
}
static inline uint64_t load64(const uint8_t *source) {
    uint64_t value;
    memcpy(&value, source, sizeof value);
    return value;
}

enum {
    RECORD_HEAD_BYTES = 36,
    /** Where what the checksum covers begins. */
    RECORD_CRC_START = 8,

    RECORD_PUT = 1,
    RECORD_REMOVE = 2,
    /** Everything before it is removed. */
    RECORD_CLEAR = 3,
    /** The last record of a segment: `minor` is the number of the next one. */
    RECORD_NEXT = 4,

    RECORD_EXPIRES = 1,
    RECORD_IDLES = 2,
    /** The lengths of extended data and index entries are there. */
    RECORD_HAS_PARTS = 4,
    /** Its own times hold instead of the limits of age and end. */
    RECORD_OWN_TIMES = 8,
    RECORD_COSTS = 16,
    /** More records of the same batch follow. */
    RECORD_CONTINUES = 32,
    /** Only in rows: the record has index entries. */
    RECORD_INDEXED = 64,
    RECORD_REFRESHES = 128,

    /** Records of one batch. */
    RECORD_MINOR_MAX = (1 << 24) - 1,
    ROW_BYTES = 24,
    /** The longest record that lies in a row: with it and the longest key, two rows fill a page. */
    INLINE_RECORD_MAX_BYTES = 1400,

    SPACE_META = 0x01,
    SPACE_SEGMENT = 0x03,
    SPACE_ENTRY = 0x10,
    SPACE_EXPIRY = 0x20,
    SPACE_INDEX = 0x30,
    SPACE_RECENCY = 0x40,
    SPACE_ORDER = 0x50,

    STATE_BYTES = 32,
    EXPIRY_KEY_BYTES = 1 + 8 + 8 + 4,
    KEY_WHOLE_MAX_BYTES = 494,
    KEY_HASH_BYTES = 16,
    KEY_STORED_MAX_BYTES = KEY_WHOLE_MAX_BYTES + KEY_HASH_BYTES,
    TREE_KEY_MAX_BYTES = 511,

    /** Of a value and of a key in an index. */
    INDEX_VALUE_ROOM = 240,
    INDEX_KEY_WHOLE_MAX_BYTES = 253,
    INDEX_KEY_CUT_BYTES = INDEX_KEY_WHOLE_MAX_BYTES - KEY_HASH_BYTES,
    INDEX_HEAD_BYTES = 3,
    INDEX_ROW_MAX_BYTES = 4 + KEY_STORED_MAX_BYTES
};

/** The greatest number of a write that is believed: they are counted up by one. */
#define SEQUENCE_MAX (UINT64_MAX / 2)

/** The longest record; its length is 32 bits wide, and that of a segment in eighths, too. */
#define RECORD_MAX_BYTES ((uint64_t)UINT32_MAX - 4096)

/** A record taken apart; all bytes are borrowed from where it lies. */
typedef struct record {
    uint64_t sequence;
    uint32_t minor;
    uint8_t kind;
    uint8_t flags;
    uint8_t index_count;
    int64_t written_ns;
    int64_t expires_ns;
    int64_t idle_ns;
    int64_t refresh_ns;
    uint64_t cost;
    larder_bytes key;
    larder_bytes extended;
    larder_bytes indexes;
    larder_bytes value;
} record;

/** Where a record is. */
typedef struct location {
    uint32_t segment;
    /** In bytes; a multiple of 8. */
    uint64_t offset;
} location;

/** The order of the log: where it goes on, numbers of segments grow. */
static inline int compare_locations(location a, location b) {
    if (a.segment != b.segment) return a.segment < b.segment ? -1 : 1;
    return (a.offset > b.offset) - (a.offset < b.offset);
}

/** An entry's row, taken apart. */
typedef struct entry_row {
    uint64_t sequence;
    location at;
    uint32_t value_bytes;
    uint32_t minor;
    /** RECORD_…, RECORD_INDEXED. */
    uint8_t flags;
    /** The record, if it lies in the row too; else empty. */
    larder_bytes inlined;
} entry_row;

/** Order of use: a write's or a read's. */
typedef struct stamp {
    uint64_t sequence;
    uint64_t minor;
} stamp;

static inline int compare_stamps(stamp a, stamp b) {
    if (a.sequence != b.sequence) return a.sequence < b.sequence ? -1 : 1;
    return (a.minor > b.minor) - (a.minor < b.minor);
}

/** A key of the tree. */
typedef struct tree_key {
    uint8_t bytes[TREE_KEY_MAX_BYTES];
    uint16_t length;
} tree_key;

/** Bytes that `item` takes as a record; SIZE_MAX if one is out of range. */
size_t larder_record_size(const larder_store_item *item);
/** A record's bytes with the padding behind it. */
static inline size_t record_padded(size_t length) { return (length + 7) & ~(size_t)7; }
/** Writes a put's record at `target`, which has room for record_padded(larder_record_size) bytes,
    with zeros as padding, and without its first eight bytes, numbers and checksum:
    larder_record_seal follows. */
void larder_record_write(uint8_t *target, const larder_store_item *item, size_t length,
                         int64_t written_ns);
/** The same for a record of a key alone (RECORD_REMOVE) or of nothing (RECORD_CLEAR, RECORD_NEXT).
    @return its length. */
size_t larder_record_write_bare(uint8_t *target, uint8_t kind, larder_bytes key);
/** Gives a record of `length` bytes its numbers, and sums it up.
    @return its first eight bytes, length and checksum: to be stored there at once or, of the first
            record of a write, when all of it is there. */
uint64_t larder_record_seal(uint8_t *target, size_t length, uint64_t sequence, uint32_t minor,
                            bool continues);
/** Takes a record apart, of whatever kind, that fills `bytes`: bounds are always checked, the
    checksum if `verifies`. LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_record_read(larder_bytes bytes, bool verifies, record *out);

// Of a record that is known to be whole, where it lies.
static inline uint32_t record_length(const uint8_t *at) { return load32(at); }
static inline larder_bytes record_bytes(const uint8_t *at) {
    return (larder_bytes){at, record_length(at)};
}
static inline uint8_t record_kind(const uint8_t *at) { return at[20]; }
static inline uint8_t record_index_count(const uint8_t *at) { return at[22]; }
static inline uint64_t record_sequence(const uint8_t *at) { return load64(at + 8); }
static inline uint32_t record_minor(const uint8_t *at) { return load32(at + 16); }
static inline stamp record_stamp(const uint8_t *at) {
    return (stamp){record_sequence(at), record_minor(at)};
}
larder_bytes larder_record_key(const uint8_t *at);
/** Bytes of its value; 0 of a removal. */
uint64_t larder_record_value_length(const uint8_t *at);

/** Bytes between the head and the key. */
static inline size_t record_optional_bytes(uint8_t flags) {
    return ((flags & RECORD_EXPIRES) != 0 ? 8u : 0u) + ((flags & RECORD_IDLES) != 0 ? 8u : 0u) +
           ((flags & RECORD_COSTS) != 0 ? 8u : 0u) + ((flags & RECORD_HAS_PARTS) != 0 ? 8u : 0u) +
           ((flags & RECORD_REFRESHES) != 0 ? 8u : 0u);
}

/** Writes the row of a put's record that lies at `at`. `target` has room for ROW_BYTES and, if
    `inlines`, the record.
    @return its length. */
size_t larder_row_write(uint8_t *target, const uint8_t *record, location at, bool inlines);
/** Where the record of a row lies. */
static inline location row_location(const uint8_t *row) {
    return (location){load32(row + 8), (uint64_t)load32(row + 12) * 8};
}
/** Gives a row another place; nothing else of it changes. */
void larder_row_move(uint8_t *row, location to);
/** Takes a row apart; what is inline is not verified. LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_row_read(larder_bytes bytes, entry_row *out);
/** Whether a row names the write that lies in it; true if none does. */
bool larder_row_is_of_inlined(const entry_row *row);
/** Bytes of the record of an entry under the stored key, padded, as far as the row tells; 0 if only
    the record does. */
size_t larder_row_record_padded(const entry_row *row, larder_bytes stored);

/** The next of a record's index entries; false behind the last. `offset` is 0 for the first, and
    goes on. */
bool larder_record_next_index(const record *entry, size_t *offset, larder_store_index_entry *out);

// Keys of the tree. `stored` is what stands for the user's key: see above.

/** What stands for `key` in the tree. `secret` has 16 bytes. */
larder_bytes larder_stored_key(larder_bytes key, const uint8_t *secret, tree_key *scratch);
/** `space` and then the stored key of the user's `key`. */
void larder_tree_key_entry(uint8_t space, larder_bytes key, const uint8_t *secret, tree_key *out);
void larder_tree_key_of_stored(uint8_t space, larder_bytes stored, tree_key *out);
void larder_tree_key_expiry(int64_t deadline_ns, uint64_t sequence, uint32_t minor, tree_key *out);
void larder_tree_key_order(stamp at, tree_key *out);
void larder_tree_key_segment(uint32_t number, tree_key *out);
/** `stored` NULL: the least key of that value, for bounds; then `secret` is not used. */
void larder_tree_key_index(uint16_t index, larder_bytes value, const larder_bytes *stored,
                           const uint8_t *secret, tree_key *out);
/** What the keys of all values in `index` begin with that begin with `prefix`: exact up to its
    first 240 escaped bytes. */
void larder_tree_key_index_prefix(uint16_t index, larder_bytes prefix, tree_key *out);
/** Takes a key of SPACE_INDEX apart: `value_bytes` are those of the escaped value with its end,
    behind the first three; `is_cut` says whether it ended by 00 02. False if it is no such key. */
bool larder_tree_key_index_value(larder_bytes key, size_t *value_bytes, bool *is_cut);
/** The value of the row under a key of SPACE_INDEX: a CRC-32C of the key and of what follows, u32;
    then, if the key has only the beginning of `stored`, all of that.
    @param target has INDEX_ROW_MAX_BYTES.
    @return its length. */
size_t larder_index_row_write(larder_bytes key, larder_bytes stored, uint8_t *target);
/** What the row leads to; LARDER_EDAMAGED: neither the key nor the value is what was written.
    @param stored lies in the key or in the value. */
LARDER_MUST_CHECK larder_status larder_index_row_read(larder_bytes key, larder_bytes value,
                                                      larder_bytes *stored);
/** Whether `value` has the escaped form at `escaped`, with its end. */
bool larder_index_value_has_form(larder_bytes value, larder_bytes escaped);
/** The least key behind all that begin with the bytes of `key`, of which the first is a name
    space: there is one. */
void larder_tree_key_after_prefix(tree_key *key);

/** SipHash-2-4 with 128 bits of result (Aumasson, Bernstein). */
void larder_siphash128(const uint8_t *key, larder_bytes bytes, uint8_t out[16]);

static inline void put_be64(uint8_t *target, uint64_t value) {
    value = __builtin_bswap64(value);
    memcpy(target, &value, 8);
}
static inline uint64_t get_be64(const uint8_t *source) { return __builtin_bswap64(load64(source)); }
static inline uint32_t get_be32(const uint8_t *source) { return __builtin_bswap32(load32(source)); }

static inline larder_bytes bytes_of_key(const tree_key *key) {
    return (larder_bytes){key->bytes, key->length};
}

/** An i64 with its sign bit flipped, as it stands in a tree key, and back. */
static inline uint64_t flip(int64_t time) { return (uint64_t)time ^ (uint64_t)1 << 63; }
static inline int64_t unflip(uint64_t sorted) { return (int64_t)(sorted ^ (uint64_t)1 << 63); }

/** Order of bytes; of two of which one begins with the other, the shorter one comes first. Inline,
    word by word, for most keys are short. */
static inline int compare_bytes(larder_bytes left, larder_bytes right) {
    const uint8_t *a = left.data, *b = right.data;
    size_t common = left.length < right.length ? left.length : right.length;
    if (common >= 8) {
        for (size_t at = 0;;) {
            uint64_t first = load64(a + at), second = load64(b + at);
            if (first != second)
                return __builtin_bswap64(first) < __builtin_bswap64(second) ? -1 : 1;
            if (at + 8 >= common) break;
            // The last word may overlap the one before.
            at = at + 16 <= common ? at + 8 : common - 8;
        }
    } else {
        for (size_t at = 0; at < common; at++)
            if (a[at] != b[at]) return a[at] < b[at] ? -1 : 1;
    }
    return (left.length > right.length) - (left.length < right.length);
}

static inline bool begins_with(larder_bytes bytes, larder_bytes prefix) {
    return bytes.length >= prefix.length &&
           (prefix.length == 0 || memcmp(bytes.data, prefix.data, prefix.length) == 0);
}
/** How far `bytes` begin as the first `length` bytes of `first` do. */
static inline size_t bytes_shared_prefix(const void *first, size_t length, larder_bytes bytes) {
    const uint8_t *left = first, *right = bytes.data;
    size_t at = 0;
    while (at < length && at < bytes.length && left[at] == right[at]) at++;
    return at;
}
/** Eight of them from there on, big-endian; zeros behind their end. */
static inline uint64_t bytes_digits(larder_bytes bytes, size_t from) {
    const uint8_t *at = bytes.data;
    size_t length = bytes.length - from;
    if (length >= 8) return get_be64(at + from);
    uint8_t padded[8] = {0};
    if (length > 0) memcpy(padded, at + from, length);
    return get_be64(padded);
}

#endif
