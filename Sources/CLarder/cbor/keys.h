// SPDX-License-Identifier: MIT
/** @file keys.h
    Private: the keys of the maps that a check is inside of, and whether two of a map are equal.

    The keys are a stack: those of an inner map lie on those of the outer one, and go when it ends.
    Each is brought into a form in which equal keys have equal fields and equal bytes:

        kind    0 or 1 for an integer, whose value is `word`; else length << 3 | major type, and 7
                for the major type of everything but strings
        word    of up to 8 bytes all of them, of more a digest of the first and the last 8
        item    where the key begins; of a string in chunks, where a copy in one piece does

    A few keys are compared each with each. Of more, a table of bits sorts out those that have no
    equal, which commonly is all of them, and what is left is sorted. There is no hash that an
    attacker could make slow: keys that defeat the table are sorted, and every comparison in that
    costs no more than the shorter key. */
#ifndef LARDER_KEYS_H
#define LARDER_KEYS_H

#include "cbor/text.h"
#include "larder_cbor.h"

enum {
    /** Up to so many keys of a map are compared each with each. */
    CBOR_KEYS_FEW = 16,
    /** For so many keys, nesting included, nothing is allocated. */
    CBOR_KEYS_ROOM = 32
};

typedef struct cbor_key {
    const uint8_t *item;
    uint64_t kind;
    uint64_t word;
} cbor_key;

/** A copy of a string in chunks, as one piece behind this head. */
typedef struct cbor_whole {
    struct cbor_whole *next;
    size_t offset;
} cbor_whole;

typedef struct cbor_keys {
    const uint8_t *source;
    size_t length;
    cbor_key *all;
    size_t count;
    size_t capacity;
    cbor_whole *copies;
    cbor_key room[CBOR_KEYS_ROOM];
} cbor_keys;

static inline void cbor_keys_init(cbor_keys *keys, const uint8_t *source, size_t length) {
    keys->source = source;
    keys->length = length;
    keys->all = keys->room;
    keys->count = 0;
    keys->capacity = CBOR_KEYS_ROOM;
    keys->copies = NULL;
}

void larder_cbor_keys_destroy(cbor_keys *keys);

/** Makes room. LARDER_OK or ENOMEM. */
larder_status larder_cbor_keys_grow(cbor_keys *keys);

/** Ends a key that is a string in chunks. LARDER_OK or ENOMEM. */
larder_status larder_cbor_keys_end_chunked(cbor_keys *keys, size_t end);

/** Looks for equal keys from the one with index `base` on, whose order is then lost.
    @param first, second receive the offsets of the first key that repeats another, and of that.
    @return LARDER_OK, LARDER_END if there are none, ENOMEM. */
larder_status larder_cbor_keys_find_equal(cbor_keys *keys, size_t base, size_t *first,
                                          size_t *second);

/** Begins a key at `offset`; the keys of maps inside it come and go before it ends. */
static inline larder_status cbor_keys_begin(cbor_keys *keys, size_t offset) {
    if (keys->count == keys->capacity) {
        larder_status status = larder_cbor_keys_grow(keys);
        if (status) {
            return status;
        }
    }
    keys->all[keys->count++].item = keys->source + offset;
    return LARDER_OK;
}

/** How many bytes the head of the string at `item` has, which was read before and is in one piece.
    */
static inline size_t cbor_head_bytes(const uint8_t *item) {
    unsigned info = item[0] & 31;
    return info < 24 ? 1 : 1 + ((size_t)1 << (info - 24));
}

/** The bits of the keys from the one with index `base` on, as an index has them. */
static inline uint64_t cbor_keys_bits(const cbor_keys *keys, size_t base) {
    uint64_t bits = 0;
    for (size_t i = base; i < keys->count; i++) {
        const cbor_key *key = &keys->all[i];
        unsigned major = (unsigned)(key->kind & 7);
        if (major == LARDER_CBOR_TEXT) {
            bits |= larder_cbor_text_bit(key->item + cbor_head_bytes(key->item),
                                         (size_t)(key->kind >> 3));
        } else if (major <= LARDER_CBOR_NEGATIVE) {
            bits |= larder_cbor_integer_bit(major, key->word);
        }
    }
    return bits;
}

/** The word of a key of more than 8 bytes, from the first and the last 8. */
static inline uint64_t cbor_key_word(uint64_t first, uint64_t last) {
    return first ^ last * 0x9e3779b97f4a7c15u;
}

/** The content of a key whose end is known. */
static inline void cbor_key_set(cbor_key *key, uint64_t major, const uint8_t *content,
                                size_t length, size_t readable) {
    key->kind = (uint64_t)length << 3 | major;
    key->word = cbor_word(content, length < 8 ? length : 8, readable);
    if (length > 8) {
        key->word = cbor_key_word(key->word, cbor_word(content + length - 8, 8, 8));
    }
}

/** Ends the newest key, which is a good item. */
static inline larder_status cbor_keys_end(cbor_keys *keys, size_t end) {
    cbor_key *key = &keys->all[keys->count - 1];
    const uint8_t *item = key->item;
    const uint8_t *behind = keys->source + end;
    unsigned major = *item >> 5;
    if (major == LARDER_CBOR_TEXT || major == LARDER_CBOR_BYTES) {
        if ((*item & 31) == LARDER_CBOR_INFO_INDEFINITE) {
            return larder_cbor_keys_end_chunked(keys, end);
        }
        item += cbor_head_bytes(item);
    } else if (major <= LARDER_CBOR_NEGATIVE) {
        larder_cbor_head head;
        (void)larder_cbor_read_head(item, (size_t)(behind - item), &head);
        key->kind = major;
        key->word = head.argument;
        return LARDER_OK;
    } else {
        major = LARDER_CBOR_SIMPLE;
    }
    size_t readable = (size_t)(keys->source + keys->length - item);
    cbor_key_set(key, major, item, (size_t)(behind - item), readable);
    return LARDER_OK;
}

#endif
