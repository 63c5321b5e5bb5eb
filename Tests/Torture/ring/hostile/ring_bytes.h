// SPDX-License-Identifier: MIT
/** @file ring_bytes.h
    A ring's file as bytes, to be set wrong: where its fields are, and the checksums that fit. From
    "File formats" and not from the library's headers, which do not go together with the harness's.
    */
#ifndef TORTURE_RING_BYTES_H
#define TORTURE_RING_BYTES_H

#include <string.h>

#include "torture.h"

enum {
    RING_FIXED = 64,
    RING_HEADER = 320,
    RING_CURSOR = 64,
    RING_HEAD = 16,
    RING_CAPACITY = 16,
    RING_DATA_OFFSET = 24,
    RING_DATA_BYTES = 32,
    RING_SALT = 56,
    RING_FIXED_CRC = 60,
    RING_STATE = 64,
    RING_CLOSED_CRC = 124,
    RING_DEVICE = 160,
    RING_FLOOR = 192,
    RING_REMOVED = 200,
    RING_BELL = 248,
    RING_SESSION = 256,
    RING_MISSING = 288
};

/** Of the library: what a closed ring's header has at RING_CLOSED_CRC. */
uint32_t larder_ring_closed_crc(const void *header);

static inline uint64_t ring_field(const uint8_t *bytes, uint32_t width) {
    uint64_t value = 0;
    memcpy(&value, bytes, width);
    return value;
}

/** The checksum of the record whose head is at `at` in a file of `size` bytes, with its data from
    `data` on; of as much of it as there is. */
static inline uint32_t ring_record_crc(const uint8_t *bytes, size_t size, size_t at, size_t data) {
    uint32_t word = (uint32_t)ring_field(bytes + at, 4);
    size_t length = word == UINT32_MAX ? 0 : word & INT32_MAX, left = size - at - RING_HEAD;
    uint32_t salt = (uint32_t)ring_field(bytes + RING_SALT, 4);
    uint32_t crc = larder_crc32c(salt, bytes + at + RING_HEAD, length < left ? length : left);
    uint64_t words[2] = {word | (uint64_t)(uint32_t)((at - data) >> 3) << 32,
                         ring_field(bytes + at + 8, 8)};
    return larder_crc32c(crc, words, sizeof words);
}

static inline void ring_mend_fixed(uint8_t *header) {
    uint32_t crc = larder_crc32c(0, header, RING_FIXED_CRC);
    memcpy(header + RING_FIXED_CRC, &crc, sizeof crc);
}

static inline void ring_mend_closed(uint8_t *bytes) {
    uint32_t crc = larder_ring_closed_crc(bytes);
    memcpy(bytes + RING_CLOSED_CRC, &crc, sizeof crc);
}

#endif
