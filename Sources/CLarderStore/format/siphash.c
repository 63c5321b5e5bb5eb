// SPDX-License-Identifier: MIT
/** @file siphash.c
    SipHash-2-4 with 128 bits of result, after Aumasson and Bernstein, "SipHash: a fast short-input
    PRF", 2012, and its longer form of 2014. Who does not know the key cannot choose inputs that
    collide; a store keeps its key to itself. */
#include "format/record.h"

typedef struct sip_state {
    uint64_t v0, v1, v2, v3;
} sip_state;

static inline uint64_t rotated(uint64_t word, unsigned bits) {
    return word << bits | word >> (64 - bits);
}

static inline void sip_rounds(sip_state *sip, int count) {
    for (int i = 0; i < count; i++) {
        sip->v0 += sip->v1;
        sip->v2 += sip->v3;
        sip->v1 = rotated(sip->v1, 13) ^ sip->v0;
        sip->v3 = rotated(sip->v3, 16) ^ sip->v2;
        sip->v0 = rotated(sip->v0, 32);
        sip->v2 += sip->v1;
        sip->v0 += sip->v3;
        sip->v1 = rotated(sip->v1, 17) ^ sip->v2;
        sip->v3 = rotated(sip->v3, 21) ^ sip->v0;
        sip->v2 = rotated(sip->v2, 32);
    }
}

static inline void sip_absorb(sip_state *sip, uint64_t word) {
    sip->v3 ^= word;
    sip_rounds(sip, 2);
    sip->v0 ^= word;
}

void larder_siphash128(const uint8_t *key, larder_bytes bytes, uint8_t out[16]) {
    uint64_t k0 = load64(key), k1 = load64(key + 8);
    sip_state sip = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
                     k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
    const uint8_t *at = bytes.data;
    size_t left = bytes.length;
    for (; left >= 8; at += 8, left -= 8) sip_absorb(&sip, load64(at));
    uint64_t last = (uint64_t)bytes.length << 56;
    for (size_t i = 0; i < left; i++) last |= (uint64_t)at[i] << (8 * i);
    sip_absorb(&sip, last);
    sip.v2 ^= 0xee;
    sip_rounds(&sip, 4);
    uint64_t low = sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
    sip.v1 ^= 0xdd;
    sip_rounds(&sip, 4);
    uint64_t high = sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
    memcpy(out, &low, 8);
    memcpy(out + 8, &high, 8);
}
