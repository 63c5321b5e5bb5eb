// SPDX-License-Identifier: MIT
/** @file walk.h
    Private: one walk over an item, which serves the check and the skip.

    It does not call itself: what encloses the place where it is lies on a stack of bounded size, so
    that no input can exhaust the thread's. Everything here is inlined into the two functions that
    need it, and the parts of a check drop out of the skip.

    Invariants:
      1. `at` never exceeds `length`, and a length or count is compared with what is left before
         anything is done with it: each element takes a byte, each pair two.
      2. On a fault, `at` is the offset that the detail reports.
      3. Whatever the check finds good, the skip finds to end at the same offset.
      4. Containers enter the index where they begin, and get their end and keys where they end: it
         is in order of their starts, and complete when the walk is. */
#ifndef LARDER_WALK_H
#define LARDER_WALK_H

#include "cbor/keys.h"

#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

/** The input, and how far it was read. */
typedef struct input {
    const uint8_t *bytes;
    size_t length;
    size_t at;
    larder_cbor_fault fault;
} input;

/** What is left of an array, map or tag: how many items, keys counted as such, and two flags. One
    of indefinite length starts with a number that is even and never used up. */
enum { LEFT_INDEFINITE_BIT = 63, LEFT_MAP_BIT = 62 };
static const uint64_t left_indefinite = (uint64_t)1 << LEFT_INDEFINITE_BIT;
static const uint64_t left_map = (uint64_t)1 << LEFT_MAP_BIT;
static const uint64_t left_count = ((uint64_t)1 << LEFT_MAP_BIT) - 1;
static const uint64_t left_endless = (uint64_t)1 << LEFT_INDEFINITE_BIT | (uint64_t)1 << 61;

typedef struct level {
    uint64_t left;
    /** Index of the first key of this map. */
    size_t keys;
    /** Place of this container in the index. */
    size_t place;
} level;

/** A place in the index that no container has: of tags, and of what is empty. */
static const size_t place_none = SIZE_MAX;

/** Of a map, keys and values are taken in turns, and an even number of them is left at a key. */
ALWAYS_INLINE bool level_is_at_key(uint64_t left) { return (left & left_map) && !(left & 1); }

static inline larder_status fault_status(larder_cbor_fault fault) {
    switch (fault) {
    case LARDER_CBOR_GOOD: return LARDER_OK;
    case LARDER_CBOR_CUT_OFF: return LARDER_EINCOMPLETE;
    case LARDER_CBOR_TOO_DEEP: return LARDER_ETOOLARGE;
    default: return LARDER_EDAMAGED;
    }
}

static inline larder_status fail(input *in, larder_cbor_fault fault, size_t offset) {
    in->fault = fault;
    in->at = offset;
    return fault_status(fault);
}

ALWAYS_INLINE larder_status read_head(input *in, larder_cbor_head *head) {
    if (larder_cbor_read_head(in->bytes + in->at, in->length - in->at, head)) {
        in->at += head->length;
        return LARDER_OK;
    }
    bool is_cut_off = in->at == in->length || (in->bytes[in->at] & 31) < 28;
    return fail(in, is_cut_off ? LARDER_CBOR_CUT_OFF : LARDER_CBOR_RESERVED, in->at);
}

/** The content of a string whose head, at `start`, was read. */
ALWAYS_INLINE larder_status read_content(input *in, size_t start, uint64_t length, bool is_text) {
    size_t readable = in->length - in->at;
    if (length > readable) {
        return fail(in, LARDER_CBOR_CUT_OFF, start);
    }
    if (is_text) {
        size_t valid = text_valid_length(in->bytes + in->at, (size_t)length, readable);
        if (valid != length) {
            return fail(in, LARDER_CBOR_BAD_UTF8, in->at + valid);
        }
    }
    in->at += (size_t)length;
    return LARDER_OK;
}

/** The chunks of a string of indefinite length, and the break behind them. */
static inline larder_status read_chunks(input *in, unsigned major, bool is_text) {
    for (;;) {
        size_t start = in->at;
        if (start < in->length) {
            uint8_t initial = in->bytes[start];
            if (initial == LARDER_CBOR_BREAK) {
                in->at++;
                return LARDER_OK;
            }
            if (initial >> 5 != major || (initial & 31) == LARDER_CBOR_INFO_INDEFINITE) {
                return fail(in, LARDER_CBOR_BAD_CHUNK, start);
            }
        }
        larder_cbor_head head;
        larder_status status = read_head(in, &head);
        if (!status) {
            status = read_content(in, start, head.argument, is_text);
        }
        if (status) {
            return status;
        }
    }
}

/** What is behind the head of an item, at `start`, that holds no other item. */
ALWAYS_INLINE larder_status read_leaf(input *in, size_t start, const larder_cbor_head *head,
                                      bool validates) {
    if (head->major == LARDER_CBOR_BYTES || head->major == LARDER_CBOR_TEXT) {
        bool is_text = validates && head->major == LARDER_CBOR_TEXT;
        return head->info == LARDER_CBOR_INFO_INDEFINITE
                   ? read_chunks(in, head->major, is_text)
                   : read_content(in, start, head->argument, is_text);
    }
    if (head->major == LARDER_CBOR_SIMPLE) {
        if (head->info == LARDER_CBOR_INFO_INDEFINITE) {
            return fail(in, LARDER_CBOR_STRAY_BREAK, start);
        }
        if (head->info == 24 && head->argument < 32) {
            return fail(in, LARDER_CBOR_BAD_SIMPLE, start);
        }
    }
    return LARDER_OK;
}

ALWAYS_INLINE bool head_is_leaf(const larder_cbor_head *head) {
    return head->major < LARDER_CBOR_ARRAY || head->major == LARDER_CBOR_SIMPLE;
}

/** How many items the array, map or tag encloses. */
ALWAYS_INLINE larder_status read_count(input *in, size_t start, const larder_cbor_head *head,
                                       uint64_t *left) {
    uint64_t per_element = head->major == LARDER_CBOR_MAP ? 2 : 1;
    *left = head->major == LARDER_CBOR_MAP ? left_map : 0;
    if (head->major == LARDER_CBOR_TAG) {
        *left |= 1;
    } else if (head->info == LARDER_CBOR_INFO_INDEFINITE) {
        *left |= left_endless;
    } else if (head->argument > (in->length - in->at) / per_element) {
        return fail(in, LARDER_CBOR_CUT_OFF, start);
    } else {
        *left |= head->argument * per_element;
    }
    return LARDER_OK;
}

/** Whether no two keys of the map that just ended are equal; they are forgotten. */
static inline larder_status close_map(input *in, cbor_keys *keys, size_t base) {
    size_t first, second;
    larder_status status = larder_cbor_keys_find_equal(keys, base, &first, &second);
    keys->count = base;
    if (!status) {
        return fail(in, LARDER_CBOR_DUPLICATE_KEY, second);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/** Makes room in the index. LARDER_OK or ENOMEM. */
larder_status larder_cbor_index_grow(larder_cbor_index *index);

/** Lists the container whose head is at `start`, unless it shows that it is empty. */
ALWAYS_INLINE larder_status open_container(larder_cbor_index *index, size_t start,
                                           const larder_cbor_head *head, size_t *place) {
    if (head->major == LARDER_CBOR_TAG ||
        (head->argument == 0 && head->info != LARDER_CBOR_INFO_INDEFINITE)) {
        return LARDER_OK;
    }
    if (index->count == index->capacity) {
        larder_status status = larder_cbor_index_grow(index);
        if (status) {
            return status;
        }
    }
    *place = index->count++;
    index->containers[*place].start = start;
    return LARDER_OK;
}

/** Notes where the container at `place` ends, and of a map which keys may be in it. */
ALWAYS_INLINE void close_container(const input *in, larder_cbor_index *index, const cbor_keys *keys,
                                   const level *top) {
    larder_cbor_container *container = &index->containers[top->place];
    container->end = in->at;
    container->keys = top->left & left_map ? cbor_keys_bits(keys, top->keys) : 0;
}

/** An item inside of `top` has ended. */
ALWAYS_INLINE larder_status end_item(const input *in, cbor_keys *keys, level *top) {
    bool was_key = keys && level_is_at_key(top->left);
    top->left--;
    return was_key ? cbor_keys_end(keys, in->at) : LARDER_OK;
}

/** The first and the last bytes of a text of less than 24, of which 24 may be read, as the word of
    a key.
    @param is_ascii receives whether all of them are ASCII. */
ALWAYS_INLINE uint64_t short_text_word(const uint8_t *text, size_t length, bool *is_ascii) {
    const uint64_t high_bits = 0x8080808080808080u;
    if (length <= 8) {
        uint64_t word = cbor_word(text, length, 8);
        *is_ascii = (word & high_bits) == 0;
        return word;
    }
    uint64_t first = cbor_word(text, 8, 8), last = cbor_word(text + length - 8, 8, 8);
    uint64_t middle = length > 16 ? cbor_word(text + 8, 8, 8) : 0;
    *is_ascii = ((first | middle | last) & high_bits) == 0;
    return cbor_key_word(first, last);
}

/** How long the text at `item` is if its head is one byte and 24 bytes may be read behind that;
    else 24 or more. */
ALWAYS_INLINE size_t short_text_length(const uint8_t *item, size_t readable) {
    return readable > 24 ? (size_t)*item - (LARDER_CBOR_TEXT << 5) : SIZE_MAX;
}

/** Reads a key of the usual kind, an ASCII text of less than 24 bytes, if there is one. Only faster
    than the rest. */
ALWAYS_INLINE bool read_short_key(input *in, cbor_keys *keys) {
    const uint8_t *item = in->bytes + in->at;
    size_t length = short_text_length(item, in->length - in->at);
    if (length >= 24 || keys->count == keys->capacity) {
        return false;
    }
    bool is_ascii;
    uint64_t word = short_text_word(item + 1, length, &is_ascii);
    if (!is_ascii) {
        return false;
    }
    cbor_key *key = &keys->all[keys->count++];
    key->item = item;
    key->kind = (uint64_t)length << 3 | LARDER_CBOR_TEXT;
    key->word = word;
    in->at += 1 + length;
    return true;
}

/** Reads a value of the usual kinds, a number, bool, null or short ASCII text, if there is one.
    Only faster than the rest. */
ALWAYS_INLINE bool read_short_value(input *in) {
    const uint8_t *item = in->bytes + in->at;
    size_t readable = in->length - in->at;
    if (readable == 0) {
        return false;
    }
    unsigned major = *item >> 5, info = *item & 31;
    if (major == LARDER_CBOR_TEXT) {
        size_t length = short_text_length(item, readable);
        bool is_ascii;
        if (length >= 24 || (short_text_word(item + 1, length, &is_ascii), !is_ascii)) {
            return false;
        }
        in->at += 1 + length;
        return true;
    }
    // A simple value of two bytes may be a bad one.
    bool is_number = major <= LARDER_CBOR_NEGATIVE || (major == LARDER_CBOR_SIMPLE && info != 24);
    size_t length = info < 24 ? 1 : 1 + ((size_t)1 << (info & 3));
    if (!is_number || info >= 28 || length > readable) {
        return false;
    }
    in->at += length;
    return true;
}

/** Reads the item at `in`. With `keys`, which are none yet, it is checked in full; without, only as
    far as its end depends on it. With `index`, which needs keys, its containers are listed. */
ALWAYS_INLINE larder_status walk(input *in, uint32_t depth_limit, cbor_keys *keys,
                                 larder_cbor_index *index) {
    level outer[LARDER_CBOR_MAX_DEPTH];
    size_t depth = 0;
    level top = {1, 0, place_none};
    larder_status status;
    for (;;) {
        size_t start = in->at;
        bool is_key = keys && level_is_at_key(top.left);
        if (is_key && read_short_key(in, keys)) {
            top.left--;
            continue;
        }
        if (keys && !is_key && read_short_value(in)) {
            top.left--;
        } else if (start < in->length && in->bytes[start] == LARDER_CBOR_BREAK &&
                   (top.left & left_indefinite) &&
                   (!(top.left & left_map) || level_is_at_key(top.left))) {
            in->at++;
            top.left &= ~left_count;
        } else {
            if (is_key && (status = cbor_keys_begin(keys, start)) != LARDER_OK) {
                return status;
            }
            larder_cbor_head head;
            if ((status = read_head(in, &head)) != LARDER_OK) {
                return status;
            }
            if (head_is_leaf(&head)) {
                if ((status = read_leaf(in, start, &head, keys != NULL)) != LARDER_OK ||
                    (status = end_item(in, keys, &top)) != LARDER_OK) {
                    return status;
                }
            } else {
                uint64_t left;
                if ((status = read_count(in, start, &head, &left)) != LARDER_OK) {
                    return status;
                }
                if (depth == depth_limit) {
                    return fail(in, LARDER_CBOR_TOO_DEEP, start);
                }
                size_t place = place_none;
                if (index && (status = open_container(index, start, &head, &place)) != LARDER_OK) {
                    return status;
                }
                outer[depth++] = top;
                top = (level){left, keys ? keys->count : 0, place};
            }
        }
        // What has nothing left ends here, and with it perhaps what it is in.
        while (!(top.left & left_count)) {
            if (depth == 0) {
                return LARDER_OK;
            }
            if (index && top.place != place_none) {
                close_container(in, index, keys, &top);
            }
            if (keys && (top.left & left_map) &&
                (status = close_map(in, keys, top.keys)) != LARDER_OK) {
                return status;
            }
            top = outer[--depth];
            if ((status = end_item(in, keys, &top)) != LARDER_OK) {
                return status;
            }
        }
    }
}

#endif
