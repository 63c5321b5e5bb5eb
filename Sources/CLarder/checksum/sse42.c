// SPDX-License-Identifier: MIT
/** @file sse42.c
    CRC-32C by the CRC32 instruction of SSE4.2, three streams at a time.

    The instruction takes eight bytes, starts every cycle and ends three cycles later, so one stream
    leaves two thirds of it idle. The input is therefore cut into three equal parts of w words:

        A (w words) | B (w words) | C (w words) | fewer than 24 bytes

    and CRC(A B C) = CRC(A) x^(128w) + CRC(B) x^(64w) + CRC(C). The shifts are one carry-less
    multiplication each, and their 64-bit products are reduced for nothing by adding them to the
    last word of C before the instruction consumes it. That word is multiplied by x^32 there, and a
    product of two bit-reflected factors is one bit short, so the factor for n bits is x^(n - 33).
    As w is free, a message of 120 bytes gains as much as a long one; see Gopal et al., "Fast CRC
    Computation for iSCSI Polynomial Using CRC32 Instruction", Intel, 2011, for fixed parts. */
#include "checksum/crc32c_private.h"

#if LARDER_CRC32C_SSE42

#include <immintrin.h>
#include <string.h>

/// Compiles one function for these instructions in a file that must not need them.
#define SSE42 __attribute__((target("sse4.2,pclmul")))

/// Words of a part. Below the first the products cost more than they save: a stream that waits for
/// itself leaves the processor to its caller's other work. The second is what the table has.
#define WORDS_MIN ((size_t)5)
#define WORDS_MAX ((size_t)64)

/// How far ahead of a long message memory is asked for. A processor's own prefetching ends with
/// each page and starts again after it; where 100 KB are not in a cache this halves the time.
#define AHEAD_BYTES ((size_t)4096)
#define CACHE_LINE_BYTES ((size_t)64)

/// shift[m - 1] is x^(64 m - 33) modulo the polynomial: the factor for m words.
static const uint32_t shift[2 * WORDS_MAX] = {
    0x00000001, 0x493c7d27, 0xf20c0dfe, 0xba4fc28e, 0x3da6d0cb, 0xddc0152b, 0x1c291d04, 0x9e4addf8,
    0x740eef02, 0x39d3b296, 0x083a6eec, 0x0715ce53, 0xc49f4f67, 0x47db8317, 0x2ad91c30, 0x0d3b6092,
    0x6992cea2, 0xc96cfdc0, 0x7e908048, 0x878a92a7, 0x1b3d8f29, 0xdaece73e, 0xf1d0f55e, 0xab7aff2a,
    0xa87ab8a8, 0x2162d385, 0x8462d800, 0x83348832, 0x71d111a8, 0x299847d5, 0xffd852c6, 0xb9e02b86,
    0xdcb17aa4, 0x18b33a4e, 0xf37c5aee, 0xb6dd949b, 0x6051d5a2, 0x78d9ccb7, 0x18b0d4ff, 0xbac2fd7b,
    0x21f3d99c, 0xa60ce07b, 0x8f158014, 0xce7f39f4, 0xa00457f7, 0x61d82e56, 0x8d6d2c43, 0xd270f1a2,
    0x00ac29cf, 0xc619809d, 0xe9adf796, 0x2b3cac5d, 0x96638b34, 0x65863b64, 0xe0e9f351, 0x1b03397f,
    0x9af01f2d, 0xebb883bd, 0x2cff42cf, 0xb3e32c28, 0x88f25a3a, 0x064f7f26, 0x4e36f0b0, 0xdd7e3b0c,
    0xbd6f81f8, 0xf285651c, 0x91c9bd4b, 0x10746f3c, 0x885f087b, 0xc7a68855, 0x4c144932, 0x271d9844,
    0x52148f02, 0x8e766a0c, 0xa3c6f37a, 0x93a5f730, 0xd7c0557f, 0x6cb08e5c, 0x63ded06a, 0x6b749fb2,
    0x4d56973c, 0x1393e203, 0x9669c9df, 0xcec3662e, 0xe417f38a, 0x96c515bb, 0x4b9e0f71, 0xe6fc4e6a,
    0xd104b8fc, 0x8227bb8a, 0x5b397730, 0xb0cd4768, 0xe78eb416, 0x39c7ff35, 0x61ff0e01, 0xd7a4825c,
    0x8d96551c, 0x0ab3844b, 0x0bf80dd2, 0x0167d312, 0x8821abed, 0xf6076544, 0x6a45d2b2, 0x26f6a60a,
    0xd8d26619, 0xa741c1bf, 0xde87806c, 0x98d8d9cb, 0x14338754, 0x49c3cc9c, 0x5bd2011f, 0x68bce87a,
    0xdd07448e, 0x57a3d037, 0xdde8f5b9, 0x6956fc3b, 0xa3e3e02c, 0x42d98888, 0xd73c7bea, 0x3771e98f,
    0x80ff0093, 0xb42ae3d9, 0x8fe4c34d, 0x2178513a, 0xdf99fc11, 0xe0ac139e, 0x6c23e841, 0x170076fa,
};

static inline uint64_t word_at(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/// The unreduced product, bit-reflected, of a CRC and the factor for `words` words.
SSE42 static inline uint64_t shifted(uint64_t crc, size_t words) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
                                           _mm_cvtsi32_si128((int32_t)shift[words - 1]), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/// Goes on over fewer bytes than three parts are worth, and ends.
SSE42 static inline uint32_t one_stream(uint64_t a, const uint8_t *bytes, size_t length) {
    for (; length >= 32; bytes += 32, length -= 32) {
        a = _mm_crc32_u64(a, word_at(bytes));
        a = _mm_crc32_u64(a, word_at(bytes + 8));
        a = _mm_crc32_u64(a, word_at(bytes + 16));
        a = _mm_crc32_u64(a, word_at(bytes + 24));
    }
    if (length & 16) {
        a = _mm_crc32_u64(a, word_at(bytes));
        a = _mm_crc32_u64(a, word_at(bytes + 8));
        bytes += 16;
    }
    if (length & 8) {
        a = _mm_crc32_u64(a, word_at(bytes));
        bytes += 8;
    }
    uint32_t result = (uint32_t)a;
    if (length & 4) {
        uint32_t half;
        memcpy(&half, bytes, sizeof half);
        result = _mm_crc32_u32(result, half);
        bytes += 4;
    }
    if (length & 2) {
        uint16_t quarter;
        memcpy(&quarter, bytes, sizeof quarter);
        result = _mm_crc32_u16(result, quarter);
        bytes += 2;
    }
    if (length & 1) {
        result = _mm_crc32_u8(result, *bytes);
    }
    return ~result;
}

/// Out of the way of short messages, which need fewer registers than have to be saved for this.
SSE42 __attribute__((noinline)) static uint32_t three_streams(uint64_t a, const uint8_t *bytes,
                                                              size_t length) {
    while (length >= WORDS_MIN * 24) {
        size_t words = length / 24;
        if (words > WORDS_MAX) {
            words = WORDS_MAX;
        }
        const uint8_t *last = bytes + (words - 1) * 8;
        uint64_t b = 0;
        uint64_t c = 0;
        if (length >= AHEAD_BYTES + WORDS_MAX * 24) {
            for (size_t at = 0; at < WORDS_MAX * 24; at += CACHE_LINE_BYTES) {
                __builtin_prefetch(bytes + AHEAD_BYTES + at);
            }
        }
        for (; bytes < last; bytes += 8) {
            a = _mm_crc32_u64(a, word_at(bytes));
            b = _mm_crc32_u64(b, word_at(bytes + words * 8));
            c = _mm_crc32_u64(c, word_at(bytes + words * 16));
        }
        a = _mm_crc32_u64(a, word_at(bytes));
        b = _mm_crc32_u64(b, word_at(bytes + words * 8));
        a = _mm_crc32_u64(c,
                          word_at(bytes + words * 16) ^ shifted(a, 2 * words) ^ shifted(b, words));
        bytes += words * 16 + 8;
        length -= words * 24;
    }
    return one_stream(a, bytes, length);
}

SSE42 uint32_t larder_crc32c_sse42(uint32_t crc, const void *data, size_t length) {
    uint64_t a = ~crc;
    if (length >= WORDS_MIN * 24) {
        return three_streams(a, data, length);
    }
    return one_stream(a, data, length);
}

#else
typedef int crc32c_sse42_is_empty_here; // ISO C wants a declaration in every file.
#endif
