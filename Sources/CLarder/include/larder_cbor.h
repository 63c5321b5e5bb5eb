// SPDX-License-Identifier: MIT
/** @file larder_cbor.h
    CBOR (RFC 8949): heads written and read, items checked, skipped and indexed.

    Every item begins with a head: three bits of major type, five of additional information, and up
    to eight bytes of an argument, which is a value, a length, a count or a tag, as the type says:

        major  0 unsigned   argument is the value            4 array   argument is the item count
               1 negative   the value is -1 - argument       5 map     … the count of pairs
               2 bytes      argument is the length           6 tag     … the tag's number
               3 text       … the length, in UTF-8 bytes     7 simple  false, null, floats, break

    Arguments are written in the shortest form and floats in the shortest that keeps the value
    (RFC 8949, section 4.1); every form is read. Whoever reads bytes of unknown origin calls
    larder_cbor_check first; the other readers keep to the bounds of their input whatever it holds,
    but only of checked bytes do they promise a meaning.

    Thread-safe: no function has a state, and an index is used by one thread at a time. Nothing
    allocates but larder_cbor_check_and_index, larder_cbor_check and larder_cbor_find_duplicate, the
    latter two only for more than a few keys and for keys in chunks. */
#ifndef LARDER_CBOR_H
#define LARDER_CBOR_H

#include <stdbool.h>
#include <string.h>

#include "larder_status.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** Major types. */
enum {
    LARDER_CBOR_UNSIGNED = 0,
    LARDER_CBOR_NEGATIVE = 1,
    LARDER_CBOR_BYTES = 2,
    LARDER_CBOR_TEXT = 3,
    LARDER_CBOR_ARRAY = 4,
    LARDER_CBOR_MAP = 5,
    LARDER_CBOR_TAG = 6,
    LARDER_CBOR_SIMPLE = 7
};

/** Additional information of note, and the one-byte items of major type 7. */
enum {
    LARDER_CBOR_INFO_HALF = 25,
    LARDER_CBOR_INFO_SINGLE = 26,
    LARDER_CBOR_INFO_DOUBLE = 27,
    /** An array, map or string whose end is marked by a break; or, of type 7, that break. */
    LARDER_CBOR_INFO_INDEFINITE = 31,
    LARDER_CBOR_FALSE = 0xf4,
    LARDER_CBOR_TRUE = 0xf5,
    LARDER_CBOR_NULL = 0xf6,
    LARDER_CBOR_UNDEFINED = 0xf7,
    LARDER_CBOR_BREAK = 0xff
};

/** The longest head. */
#define LARDER_CBOR_HEAD_MAX_BYTES ((size_t)9)

/** The deepest nesting that any function here can follow. */
#define LARDER_CBOR_MAX_DEPTH 1024u

/** The first bytes of an item. */
typedef struct larder_cbor_head {
    /** A value, length, count, tag, simple value, or the bits of a float; 0 if indefinite. */
    uint64_t argument;
    /** LARDER_CBOR_UNSIGNED to LARDER_CBOR_SIMPLE. */
    uint8_t major;
    /** Additional information: 0 to 27, or 31. */
    uint8_t info;
    /** How many bytes the head has: 1, 2, 3, 5 or 9. */
    uint8_t length;
} larder_cbor_head;

/** Writes the low 1, 2, 4 or 8 `bytes` of `value` at `target`, the highest first. */
LARDER_API_INLINE void larder_cbor_write_big_endian(uint8_t *target, uint64_t value, size_t bytes) {
    // Spelled out, since each line then becomes one instruction.
    if (bytes >= 4) {
        if (bytes == 8) {
            target[0] = (uint8_t)(value >> 56), target[1] = (uint8_t)(value >> 48);
            target[2] = (uint8_t)(value >> 40), target[3] = (uint8_t)(value >> 32);
            target += 4;
        }
        target[0] = (uint8_t)(value >> 24), target[1] = (uint8_t)(value >> 16);
        target[2] = (uint8_t)(value >> 8), target[3] = (uint8_t)value;
        return;
    }
    if (bytes == 2) *target++ = (uint8_t)(value >> 8);
    *target = (uint8_t)value;
}

/** Reads a number of 1, 2, 4 or 8 `bytes` at `source`, the highest first. */
LARDER_API_INLINE uint64_t larder_cbor_read_big_endian(const uint8_t *source, size_t bytes) {
    if (bytes == 1) return source[0];
    if (bytes == 2) return (uint64_t)source[0] << 8 | source[1];
    uint64_t high = (uint64_t)source[0] << 24 | (uint64_t)source[1] << 16 |
                    (uint64_t)source[2] << 8 | source[3];
    if (bytes == 4) return high;
    return high << 32 | (uint64_t)source[4] << 24 | (uint64_t)source[5] << 16 |
           (uint64_t)source[6] << 8 | source[7];
}

/** Writes a head at `target`, in the shortest form.
    @param target has room for LARDER_CBOR_HEAD_MAX_BYTES.
    @return the number of bytes written. */
LARDER_API_INLINE size_t larder_cbor_write_head(uint8_t *target, unsigned major,
                                                uint64_t argument) {
    uint8_t type = (uint8_t)(major << 5);
    if (argument < 24) {
        target[0] = (uint8_t)(type | argument);
        return 1;
    }
    if (argument <= UINT8_MAX) {
        target[0] = (uint8_t)(type | 24);
        target[1] = (uint8_t)argument;
        return 2;
    }
    size_t bytes = argument <= UINT16_MAX ? 2 : argument <= UINT32_MAX ? 4 : 8;
    target[0] = (uint8_t)(type | (bytes == 2 ? 25u : bytes == 4 ? 26u : 27u));
    larder_cbor_write_big_endian(target + 1, argument, bytes);
    return 1 + bytes;
}

/** Reads the head at the start of the `length` bytes at `source`.
    @param head receives it; its length is 0 on failure.
    @return false if the input ends inside it, or its additional information is 28 to 30, which mean
            nothing, or 31 for a type that has no indefinite length. */
LARDER_API_INLINE bool larder_cbor_read_head(const uint8_t *LARDER_NULLABLE source, size_t length,
                                             larder_cbor_head *head) {
    // Nothing at all is read as a head that means nothing.
    uint8_t initial = length > 0 && source ? source[0] : (uint8_t)0x1f;
    uint8_t info = initial & 31;
    head->argument = info;
    head->major = initial >> 5;
    head->info = info;
    head->length = 1;
    if (info < 24) return true;
    if (info < 28) {
        size_t bytes = (size_t)1 << (info - 24);
        head->argument = 0;
        head->length = 0;
        if (length < 1 + bytes) return false;
        head->argument = larder_cbor_read_big_endian(source + 1, bytes);
        head->length = (uint8_t)(1 + bytes);
        return true;
    }
    bool is_good = info == LARDER_CBOR_INFO_INDEFINITE && head->major != LARDER_CBOR_UNSIGNED &&
                   head->major != LARDER_CBOR_NEGATIVE && head->major != LARDER_CBOR_TAG;
    head->argument = 0;
    head->length = is_good ? 1 : 0;
    return is_good;
}

/** The value of a half-precision float. Exact. */
LARDER_API double larder_cbor_half_value(uint16_t bits);

/** Writes `value` at `target` as half, single or double precision: the shortest that keeps it.
    Every NaN is written as the one of RFC 8949, section 4.2.2: f9 7e00.
    @param target has room for LARDER_CBOR_HEAD_MAX_BYTES.
    @return the number of bytes written: 3, 5 or 9. */
LARDER_API size_t larder_cbor_write_float(uint8_t *target, double value);

/** Why bytes are not one good item. */
typedef enum larder_cbor_fault {
    LARDER_CBOR_GOOD = 0,
    /** The input ends inside an item, or a length or count exceeds what is left of it. */
    LARDER_CBOR_CUT_OFF,
    /** Additional information 28 to 30, or 31 where it means nothing. */
    LARDER_CBOR_RESERVED,
    /** A break outside of an indefinite-length item, or between a key and its value. */
    LARDER_CBOR_STRAY_BREAK,
    /** A chunk of an indefinite-length string that is not a definite string of its type. */
    LARDER_CBOR_BAD_CHUNK,
    /** A simple value below 32 in two bytes. */
    LARDER_CBOR_BAD_SIMPLE,
    /** A text string, or a chunk of one, that is not UTF-8. */
    LARDER_CBOR_BAD_UTF8,
    /** A map with two equal keys. */
    LARDER_CBOR_DUPLICATE_KEY,
    /** More levels of arrays, maps and tags than allowed. */
    LARDER_CBOR_TOO_DEEP,
    /** Bytes behind the item. */
    LARDER_CBOR_TRAILING
} larder_cbor_fault;

/** Where and why a check failed. */
typedef struct larder_cbor_detail {
    larder_cbor_fault fault;
    /** Of what is at fault, from the start of the input: of an item, also of one that is cut off or
        missing; of the first byte of a sequence that is not UTF-8; of the first key that repeats
        another. 0 if nothing is. */
    size_t offset;
} larder_cbor_detail;

/** A phrase for people, without a full stop: "duplicate map key". Static. */
LARDER_API const char *larder_cbor_fault_text(larder_cbor_fault fault);

/** Checks that the `length` bytes at `source` are one well-formed, valid item and nothing else.

    Two keys of a map are equal if they are the same integer, the same text or the same bytes in
    whatever form, or otherwise have the same encoding.
    @param depth_limit how many arrays, maps and tags may enclose each other: 1 allows an array of
           numbers; at most LARDER_CBOR_MAX_DEPTH.
    @param detail receives where and why it failed, unless for want of memory or because of the
           limit; may be NULL.
    @return LARDER_OK; LARDER_EINCOMPLETE (cut off), LARDER_ETOOLARGE (too deep), LARDER_EDAMAGED
            (every other fault), ENOMEM, LARDER_EINVALID (the limit).
    O(length), and O(keys log keys) in time and O(keys) in memory for a map of more than 16 keys. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_cbor_check(const uint8_t *LARDER_NULLABLE source, size_t length, uint32_t depth_limit,
                  larder_cbor_detail *LARDER_NULLABLE detail);

/** An array or a map that is not empty, or that has no definite length. */
typedef struct larder_cbor_container {
    /** Where its head is, behind any tags. */
    size_t start;
    /** The offset behind it. */
    size_t end;
    /** Of a map: larder_cbor_text_bit or larder_cbor_integer_bit of each key that has one. A key
        whose bit is missing is not in the map; one whose bit is there may be. 0 for an array. */
    uint64_t keys;
} larder_cbor_container;

/** The containers of an input, in the order of their starts. Zero is an index of nothing. */
typedef struct larder_cbor_index {
    larder_cbor_container *LARDER_NULLABLE containers;
    size_t count;
    /** For how many there is memory, which the next check uses again. */
    size_t capacity;
} larder_cbor_index;

/** The bit of a text key of `length` bytes in `keys` of a map. */
LARDER_API_INLINE uint64_t larder_cbor_text_bit(const uint8_t *LARDER_NULLABLE text,
                                                size_t length) {
    uint32_t ends = length > 0 && text ? (uint32_t)text[0] | (uint32_t)text[length - 1] << 8 : 0;
    return (uint64_t)1 << ((ends ^ (uint32_t)length << 16) * 0x9e3779b1u >> 26);
}

/** The bit of an integer key in `keys` of a map.
    @param major LARDER_CBOR_UNSIGNED or LARDER_CBOR_NEGATIVE, `argument` that of its head. */
LARDER_API_INLINE uint64_t larder_cbor_integer_bit(unsigned major, uint64_t argument) {
    return (uint64_t)1 << ((argument ^ (uint64_t)major << 63) * 0x9e3779b97f4a7c15u >> 58);
}

/** Checks as larder_cbor_check does, and lists the containers on the way, so that whoever reads the
    input later need not walk over them.
    @param index receives them, in place of those it had; none on failure. Destroy it at the end.
    @return as larder_cbor_check. O(length), and 24 bytes of memory for each container, of
            which there are fewer than bytes. */
LARDER_API LARDER_MUST_CHECK larder_status larder_cbor_check_and_index(
    const uint8_t *LARDER_NULLABLE source, size_t length, uint32_t depth_limit,
    larder_cbor_index *index, larder_cbor_detail *LARDER_NULLABLE detail);

/** Frees the memory of an index, which is one of nothing then. */
LARDER_API void larder_cbor_index_destroy(larder_cbor_index *index);

/** Finds the end of the item at `offset`.
    @param end receives the offset behind it; 0 on failure.
    @return LARDER_OK; LARDER_EINCOMPLETE, LARDER_ETOOLARGE (deeper than LARDER_CBOR_MAX_DEPTH),
            LARDER_EDAMAGED. O(bytes of the item), O(1) for what is not nested. */
LARDER_API LARDER_MUST_CHECK larder_status larder_cbor_skip(const uint8_t *LARDER_NULLABLE source,
                                                            size_t length, size_t offset,
                                                            size_t *end);

/** A pair of a map. */
typedef struct larder_cbor_pair {
    /** Where its key begins, from the start of the input. */
    size_t key;
    /** Where its value begins; the key ends here. */
    size_t value;
} larder_cbor_pair;

/** Lists the pairs of the map at `offset`, in order.
    @param pairs receives the first `capacity` pairs; may be NULL if that is 0.
    @param count receives how many pairs the map has, which may be more; 0 on failure.
    @param end receives the offset behind the map; 0 on failure.
    @return as larder_cbor_skip; LARDER_EDAMAGED also if the item is not a map. */
LARDER_API LARDER_MUST_CHECK larder_status larder_cbor_map_pairs(
    const uint8_t *LARDER_NULLABLE source, size_t length, size_t offset,
    larder_cbor_pair *LARDER_NULLABLE pairs, size_t capacity, size_t *count, size_t *end);

/** Finds two equal keys among the `pair_count` pairs that begin at `offset`, which may be the
    inside of a map that is still being written.
    @param first receives the earlier pair of the two, `second` the later one, which is the first
           that repeats a key.
    @return LARDER_OK; LARDER_END if there are none; ENOMEM, or as larder_cbor_skip. */
LARDER_API LARDER_MUST_CHECK larder_status
larder_cbor_find_duplicate(const uint8_t *LARDER_NULLABLE source, size_t length, size_t offset,
                           size_t pair_count, larder_cbor_pair *first, larder_cbor_pair *second);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
