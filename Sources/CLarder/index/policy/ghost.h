// SPDX-License-Identifier: MIT
/** @file ghost.h
    Private: which entries went lately. A bounded set of hashes that are forgotten in the order in
    which they came.

    A policy that sees an entry come back soon after it went has learnt that it was wrong about it.
    All it needs for that is the hash, and whether it is in the list.

    The hashes lie in buckets of one cache line, each with a stamp that says when it came:

        | hash 0 | ... | hash 6 | next | stamp 0 | ... | stamp 6 | free |      64 bytes

    A bucket is a ring: a hash that comes takes the place of the one that came into the bucket seven
    hashes ago. That one was forgotten long ago, but for one time in eighty, when it goes early.
    Stamps count up. A hash is in the list if its stamp is above the horizon, and was not taken out.
    Forgetting the oldest moves the horizon, over those that were taken, of which a bit each tells.
    So to look up and to put in touch one line each.

    Invariants:
    1. A hash that is there lies in the bucket that its high bits lead to.
    2. `count` is the number of those that are there: stamps above the horizon that are not taken.

    It takes 21 bytes for each hash that it has room for, and none before the first comes. */
#ifndef LARDER_GHOST_H
#define LARDER_GHOST_H

#include "index/table.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { GHOST_BUCKET = 7, GHOSTS_PER_BUCKET = 3 };

typedef struct index_ghost_bucket {
    uint32_t hashes[GHOST_BUCKET];
    /** The place where the next one will be put. */
    uint32_t next;
    uint32_t stamps[GHOST_BUCKET];
    uint32_t free;
} index_ghost_bucket;

typedef struct index_ghost {
    index_ghost_bucket *buckets;
    /** A bit for each of the last stamps, in a ring of `taken_mask + 1`: it was taken out. */
    uint64_t *taken;
    uint32_t bucket_count;
    uint32_t taken_mask;
    /** The stamp given last, and the one up to which all are forgotten. */
    uint32_t stamp;
    uint32_t horizon;
    uint32_t count;
    /** How many hashes it has room for. */
    uint32_t room;
} index_ghost;

/** Makes room for so many hashes, keeping what is there; the latest, if not all fit. Without memory
    everything stays as it is. */
void larder_index_ghost_resize(larder_index *index, index_ghost *ghost, uint64_t room);
/** Forgets all hashes, and gives the memory back. */
void larder_index_ghost_free(larder_index *index, index_ghost *ghost);

/** A contradiction, or NULL. */
const char *larder_index_ghost_check(const index_ghost *ghost);

/** So far behind the horizon is what is not there. */
enum { LONG_AGO = 1 << 30 };

static inline uint32_t ghost_bucket(const index_ghost *ghost, uint32_t hash) {
    return (uint32_t)((uint64_t)hash * ghost->bucket_count >> 32);
}

static inline bool ghost_is_there(const index_ghost *ghost, uint32_t stamp) {
    return stamp - ghost->horizon - 1 < ghost->stamp - ghost->horizon;
}

static inline bool ghost_is_taken(const index_ghost *ghost, uint32_t stamp) {
    const uint32_t bit = stamp & ghost->taken_mask;
    return (ghost->taken[bit / 64] >> bit % 64 & 1) != 0;
}

static inline void ghost_set_taken(index_ghost *ghost, uint32_t stamp, bool taken) {
    const uint32_t bit = stamp & ghost->taken_mask;
    ghost->taken[bit / 64] =
        (ghost->taken[bit / 64] & ~(UINT64_C(1) << bit % 64)) | (uint64_t)taken << bit % 64;
}

static inline void ghost_forget_oldest(index_ghost *ghost) {
    ghost->horizon++;
    ghost->count -= !ghost_is_taken(ghost, ghost->horizon);
}

/** Puts a hash in, as the latest of at most `limit`: the oldest ones go. */
static inline void index_ghost_put(index_ghost *ghost, uint32_t hash, uint64_t limit) {
    if (limit > ghost->room) limit = ghost->room;
    while (ghost->count > 0 &&
           (ghost->count >= limit || ghost->stamp - ghost->horizon > ghost->taken_mask))
        ghost_forget_oldest(ghost);
    if (limit == 0) return;
    if (ghost->count == 0) ghost->horizon = ghost->stamp;
    index_ghost_bucket *bucket = &ghost->buckets[ghost_bucket(ghost, hash)];
    const uint32_t at = bucket->next;
    bucket->next = at + 1 == GHOST_BUCKET ? 0 : at + 1;
    if (ghost_is_there(ghost, bucket->stamps[at])) {
        ghost_set_taken(ghost, bucket->stamps[at], true);
        ghost->count--;
    }
    bucket->hashes[at] = hash;
    bucket->stamps[at] = ++ghost->stamp;
    ghost_set_taken(ghost, ghost->stamp, false);
    ghost->count++;
}

/** A bit for each place with this hash. */
static inline uint32_t ghost_matches(const index_ghost_bucket *bucket, uint32_t hash) {
#if defined(__SSE2__)
    const __m128i wanted = _mm_set1_epi32((int)hash);
    const __m128i *words = (const __m128i *)(const void *)bucket->hashes;
    const __m128i equal = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(words), wanted),
                                          _mm_cmpeq_epi32(_mm_load_si128(words + 1), wanted));
    const uint32_t bytes = (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(equal, equal));
    return bytes & ((1u << GHOST_BUCKET) - 1);
#else
    uint32_t found = 0;
    for (uint32_t i = 0; i < GHOST_BUCKET; i++) found |= (uint32_t)(bucket->hashes[i] == hash) << i;
    return found;
#endif
}

/** Takes a hash out. @return whether it was there. */
static inline bool index_ghost_take(index_ghost *ghost, uint32_t hash) {
    if (ghost->count == 0) return false;
    index_ghost_bucket *bucket = &ghost->buckets[ghost_bucket(ghost, hash)];
    uint32_t found = ghost_matches(bucket, hash);
    for (; found != 0; found &= found - 1) {
        uint32_t *stamp = &bucket->stamps[__builtin_ctz(found)];
        if (!ghost_is_there(ghost, *stamp)) continue;
        ghost_set_taken(ghost, *stamp, true);
        *stamp = ghost->horizon - LONG_AGO;
        ghost->count--;
        return true;
    }
    return false;
}

/** Brings nearer what a look-up will want. */
static inline void index_ghost_approach(const index_ghost *ghost, uint32_t hash) {
    if (ghost->count != 0) __builtin_prefetch(&ghost->buckets[ghost_bucket(ghost, hash)], 1);
}

#endif
