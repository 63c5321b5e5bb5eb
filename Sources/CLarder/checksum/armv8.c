// SPDX-License-Identifier: MIT
/** @file armv8.c
    CRC-32C by the CRC32 extension of ARMv8.0, which is optional there and part of ARMv8.1. */
#include "checksum/crc32c_private.h"

#if LARDER_CRC32C_ARMV8

#include <string.h>

// The instructions are written out because compilers disagree on how a file asks for them: the
// intrinsics of <arm_acle.h> appear only if the whole file is compiled for the extension.
#define CRC32C(suffix, width, crc, value)                                                          \
    __asm__(".arch_extension crc\n\tcrc32c" suffix " %w0, %w0, %" width "1"                        \
            : "+r"(crc)                                                                            \
            : "r"(value))

uint32_t larder_crc32c_armv8(uint32_t crc, const void *data, size_t length) {
    const uint8_t *bytes = data;
    crc = ~crc;
    for (; length >= 8; bytes += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        CRC32C("x", "x", crc, word);
    }
    if (length & 4) {
        uint32_t half;
        memcpy(&half, bytes, sizeof half);
        CRC32C("w", "w", crc, half);
        bytes += 4;
    }
    if (length & 2) {
        uint16_t quarter;
        memcpy(&quarter, bytes, sizeof quarter);
        CRC32C("h", "w", crc, (uint32_t)quarter);
        bytes += 2;
    }
    if (length & 1) {
        CRC32C("b", "w", crc, (uint32_t)*bytes);
    }
    return ~crc;
}

#else
typedef int crc32c_armv8_is_empty_here; // ISO C wants a declaration in every file.
#endif
