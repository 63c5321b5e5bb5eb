// SPDX-License-Identifier: MIT
/** @file text.h
    Private: up to eight bytes as one word, and whether text is UTF-8.

    Most text is ASCII and short. It is looked at eight bytes at a time, inline, and its last bytes
    with one load where the input goes on behind them; anything else is decoded in cbor/text.c. */
#ifndef LARDER_TEXT_H
#define LARDER_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The first `count` bytes, at most 8, as a little-endian number, of which `readable` may be read:
    `count` or more. */
static inline uint64_t cbor_word(const uint8_t *bytes, size_t count, size_t readable) {
    uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (readable >= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        return count < sizeof word ? word & (((uint64_t)1 << (8 * count)) - 1) : word;
    }
#else
    (void)readable;
#endif
    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    return word;
}

/** The same as text_valid_length, for what is ASCII up to `offset`. */
size_t larder_text_valid_length_from(const uint8_t *text, size_t length, size_t offset);

/** How many of the `length` bytes are good UTF-8: `length`, or where the first bad sequence begins.
    @param readable how many bytes may be read from `text` on: `length` or more. */
static inline size_t text_valid_length(const uint8_t *text, size_t length, size_t readable) {
    const uint64_t high_bits = 0x8080808080808080u;
    size_t offset = 0;
    for (; length - offset >= sizeof(uint64_t); offset += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text + offset, sizeof word);
        if (word & high_bits) {
            return larder_text_valid_length_from(text, length, offset);
        }
    }
    if (cbor_word(text + offset, length - offset, readable - offset) & high_bits) {
        return larder_text_valid_length_from(text, length, offset);
    }
    return length;
}

#endif
