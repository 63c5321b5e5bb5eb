// SPDX-License-Identifier: MIT
/** @file crc32c.c
    CRC-32C from tables, and the choice of the fastest implementation that the processor can run.

    A CRC register holds a polynomial over GF(2), bit 31 the coefficient of x^0 and bit 0 that of
    x^31. Eight bytes at once ("slicing-by-8": Kounavis and Berry, "A Systematic Approach to
    Building High Performance Software-based CRC Generators", ISCC 2005) need T_k[b], the remainder
    of byte b with k bytes of zeros behind it, for k from 0 to 7. T_k is linear: T_k[b] is the sum
    of T_k[1 << i] over the bits i that are set in b, and T_k[0x80 >> i] is x^(32 + 8k + i) modulo
    the polynomial. So 64 numbers, which the compiler adds up, stand for the 2,048. */
#include "larder_crc32c.h"

#include "checksum/crc32c_private.h"
#include "larder_os_machine.h"

#include <stdatomic.h>

// The tables --------------------------------------------------------------------------------------

#define BIT(byte, mask, power) (((byte) & (mask)) ? (power) : 0u)
#define ENTRY(b, x0, x1, x2, x3, x4, x5, x6, x7)                                                   \
    (BIT(b, 128, x0) ^ BIT(b, 64, x1) ^ BIT(b, 32, x2) ^ BIT(b, 16, x3) ^ BIT(b, 8, x4) ^          \
     BIT(b, 4, x5) ^ BIT(b, 2, x6) ^ BIT(b, 1, x7))
#define ENTRIES_4(b, ...)                                                                          \
    ENTRY(b, __VA_ARGS__), ENTRY((b) + 1, __VA_ARGS__), ENTRY((b) + 2, __VA_ARGS__),               \
        ENTRY((b) + 3, __VA_ARGS__)
#define ENTRIES_16(b, ...)                                                                         \
    ENTRIES_4(b, __VA_ARGS__), ENTRIES_4((b) + 4, __VA_ARGS__), ENTRIES_4((b) + 8, __VA_ARGS__),   \
        ENTRIES_4((b) + 12, __VA_ARGS__)
#define ENTRIES_64(b, ...)                                                                         \
    ENTRIES_16(b, __VA_ARGS__), ENTRIES_16((b) + 16, __VA_ARGS__),                                 \
        ENTRIES_16((b) + 32, __VA_ARGS__), ENTRIES_16((b) + 48, __VA_ARGS__)
#define ENTRIES_256(...)                                                                           \
    {                                                                                              \
        ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),     \
            ENTRIES_64(192, __VA_ARGS__)                                                           \
    }

static const uint32_t table[8][256] = {
    ENTRIES_256(0x82f63b78u, 0x417b1dbcu, 0x20bd8edeu, 0x105ec76fu, 0x8ad958cfu, 0xc79a971fu,
                0xe13b70f7u, 0xf26b8303u),
    ENTRIES_256(0xfbc3faf9u, 0xff17c604u, 0x7f8be302u, 0x3fc5f181u, 0x9d14c3b8u, 0x4e8a61dcu,
                0x274530eeu, 0x13a29877u),
    ENTRIES_256(0x8b277743u, 0xc76580d9u, 0xe144fb14u, 0x70a27d8au, 0x38513ec5u, 0x9edea41au,
                0x4f6f520du, 0xa541927eu),
    ENTRIES_256(0x52a0c93fu, 0xaba65fe7u, 0xd725148bu, 0xe964b13du, 0xf64463e6u, 0x7b2231f3u,
                0xbf672381u, 0xdd45aab8u),
    ENTRIES_256(0x6ea2d55cu, 0x37516aaeu, 0x1ba8b557u, 0x8f2261d3u, 0xc5670b91u, 0xe045beb0u,
                0x7022df58u, 0x38116facu),
    ENTRIES_256(0x1c08b7d6u, 0x0e045bebu, 0x85f4168du, 0xc00c303eu, 0x6006181fu, 0xb2f53777u,
                0xdb8ca0c3u, 0xef306b19u),
    ENTRIES_256(0xf56e0ef4u, 0x7ab7077au, 0x3d5b83bdu, 0x9c5bfaa6u, 0x4e2dfd53u, 0xa5e0c5d1u,
                0xd0065990u, 0x68032cc8u),
    ENTRIES_256(0x34019664u, 0x1a00cb32u, 0x0d006599u, 0x847609b4u, 0x423b04dau, 0x211d826du,
                0x9278fa4eu, 0x493c7d27u)};

uint32_t larder_crc32c_portable(uint32_t crc, const void *data, size_t length) {
    const uint8_t *bytes = data;
    crc = ~crc;
    for (; length >= 8; bytes += 8, length -= 8) {
        crc = table[7][bytes[0] ^ (crc & 0xff)] ^ table[6][bytes[1] ^ (crc >> 8 & 0xff)] ^
              table[5][bytes[2] ^ (crc >> 16 & 0xff)] ^ table[4][bytes[3] ^ crc >> 24] ^
              table[3][bytes[4]] ^ table[2][bytes[5]] ^ table[1][bytes[6]] ^ table[0][bytes[7]];
    }
    for (; length > 0; bytes++, length--) {
        crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 0xff];
    }
    return ~crc;
}

// The choice --------------------------------------------------------------------------------------

typedef uint32_t crc32c_function(uint32_t crc, const void *data, size_t length);

static crc32c_function *crc32c_best(void) {
#if LARDER_CRC32C_SSE42
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")) {
        return larder_crc32c_sse42;
    }
#elif LARDER_CRC32C_ARMV8
    if (larder_os_has_arm_crc32()) return larder_crc32c_armv8;
#endif
    return larder_crc32c_portable;
}

static uint32_t crc32c_choose(uint32_t crc, const void *data, size_t length);

/// What larder_crc32c calls. Every thread that finds the first value stores the same second one,
/// and nothing else is published with it, so relaxed order is enough.
static _Atomic(crc32c_function *) chosen = crc32c_choose;

static uint32_t crc32c_choose(uint32_t crc, const void *data, size_t length) {
    crc32c_function *best = crc32c_best();
    atomic_store_explicit(&chosen, best, memory_order_relaxed);
    return best(crc, data, length);
}

uint32_t larder_crc32c(uint32_t crc, const void *data, size_t length) {
    return atomic_load_explicit(&chosen, memory_order_relaxed)(crc, data, length);
}

const char *larder_crc32c_implementation(void) {
    crc32c_function *best = crc32c_best();
#if LARDER_CRC32C_SSE42
    if (best == larder_crc32c_sse42) {
        return "sse4.2";
    }
#elif LARDER_CRC32C_ARMV8
    if (best == larder_crc32c_armv8) {
        return "armv8";
    }
#endif
    return best == larder_crc32c_portable ? "portable" : "unknown";
}
