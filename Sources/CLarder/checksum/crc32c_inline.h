// SPDX-License-Identifier: MIT
/** @file crc32c_inline.h
    Private: the last 16 bytes of a record's CRC, inline.

    An append has the CRC of its payload from `larder_crc32c`, computed before it takes the lock;
    number and place become known inside it. Two instructions go on from there. They are written as
    assembly because a compiler refuses to inline a function built for SSE4.2 into one that is not;
    whether the processor has them is decided once. */
#ifndef LARDER_CRC32C_INLINE_H
#define LARDER_CRC32C_INLINE_H

#include "larder_crc32c.h"

/** Goes on from `crc` over two little-endian words. */
static inline uint32_t crc32c_two_words(uint32_t crc, uint64_t first, uint64_t second) {
#if defined(__x86_64__) && defined(__SSE4_2__)
    uint64_t state = (uint32_t)~crc;
    state = __builtin_ia32_crc32di(state, first);
    state = __builtin_ia32_crc32di(state, second);
    return ~(uint32_t)state;
#elif defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        uint64_t state = (uint32_t)~crc;
        __asm__("crc32q %1, %0" : "+r"(state) : "r"(first));
        __asm__("crc32q %1, %0" : "+r"(state) : "r"(second));
        return ~(uint32_t)state;
    }
    uint64_t words[2] = {first, second};
    return larder_crc32c(crc, words, sizeof words);
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
    uint32_t state = ~crc;
    state = __builtin_arm_crc32cd(state, first);
    return ~(uint32_t)__builtin_arm_crc32cd(state, second);
#else
    uint64_t words[2] = {first, second};
    return larder_crc32c(crc, words, sizeof words);
#endif
}

#endif
