// SPDX-License-Identifier: MIT
/** @file rng.h
    Seeded random numbers (SplitMix64), so that one printed seed replays every choice. */
#ifndef TORTURE_RNG_H
#define TORTURE_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rng {
    uint64_t state;
} rng;

/** Scrambles 64 bits: equal inputs give equal outputs, near ones give unrelated ones. */
static inline uint64_t mix(uint64_t value) {
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

/** The same for a pair, in which the order counts. */
static inline uint64_t mix2(uint64_t first, uint64_t second) {
    return mix(mix(first) ^ (second * 0xD6E8FEB86659FD93u));
}

static inline rng rng_make(uint64_t seed) { return (rng){seed}; }

static inline uint64_t rng_next(rng *random) {
    random->state += 0x9E3779B97F4A7C15u;
    return mix(random->state);
}

/** A number below `limit`; 0 if `limit` is 0. */
static inline uint64_t rng_below(rng *random, uint64_t limit) {
    return limit ? rng_next(random) % limit : 0;
}

/** A number from `low` to `high`, both possible. */
static inline uint64_t rng_between(rng *random, uint64_t low, uint64_t high) {
    return low + rng_below(random, high - low + 1);
}

/** True once in `n` times on average. */
static inline bool rng_one_in(rng *random, uint64_t n) { return rng_below(random, n) == 0; }

#endif
