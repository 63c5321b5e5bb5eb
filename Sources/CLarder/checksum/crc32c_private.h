// SPDX-License-Identifier: MIT
/** @file crc32c_private.h
    The implementations behind larder_crc32c, one file each. */
#ifndef LARDER_CRC32C_PRIVATE_H
#define LARDER_CRC32C_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#if (defined(__x86_64__)) && (defined(__GNUC__) || defined(__clang__))
#define LARDER_CRC32C_SSE42 1
#elif defined(__aarch64__) && defined(__LITTLE_ENDIAN__) ||                                        \
    defined(__aarch64__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LARDER_CRC32C_ARMV8 1
#endif

#if LARDER_CRC32C_SSE42
/** Needs SSE4.2 and PCLMULQDQ. */
uint32_t larder_crc32c_sse42(uint32_t crc, const void *data, size_t length);
#endif

#if LARDER_CRC32C_ARMV8
/** Needs the CRC32 extension of ARMv8.0. */
uint32_t larder_crc32c_armv8(uint32_t crc, const void *data, size_t length);
#endif

#endif
