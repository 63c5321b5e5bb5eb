// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "index_ghost.h"

#include <stdlib.h>
#include <string.h>

enum {
    GHOST_ROOM_MAX = 1 << 28,
    /** So far behind the horizon is what is not there. */
    LONG_AGO = 1 << 30,
};

static uint32_t bucket_of(const index_ghost *ghost, uint32_t hash) {
    return (uint32_t)((uint64_t)hash * ghost->bucket_count >> 32);
}

static bool is_there(const index_ghost *ghost, uint32_t stamp) {
    return stamp - ghost->horizon - 1 < ghost->stamp - ghost->horizon;
}

static bool is_taken(const index_ghost *ghost, uint32_t stamp) {
    const uint32_t bit = stamp & ghost->taken_mask;
    return (ghost->taken[bit / 64] >> bit % 64 & 1) != 0;
}

static void set_taken(index_ghost *ghost, uint32_t stamp, bool taken) {
    const uint32_t bit = stamp & ghost->taken_mask;
    ghost->taken[bit / 64] =
        (ghost->taken[bit / 64] & ~(UINT64_C(1) << bit % 64)) | (uint64_t)taken << bit % 64;
}

static void forget_oldest(index_ghost *ghost) {
    ghost->horizon++;
    ghost->count -= !is_taken(ghost, ghost->horizon);
}

// The place of the oldest in the bucket, most often of one that is not there any more.
static uint32_t oldest_in(const index_ghost *ghost, const index_ghost_bucket *bucket) {
    uint32_t oldest = 0, age = ghost->stamp - bucket->stamps[0];
    for (uint32_t i = 1; i < GHOST_BUCKET; i++) {
        const uint32_t its_age = ghost->stamp - bucket->stamps[i];
        oldest = its_age > age ? i : oldest;
        age = its_age > age ? its_age : age;
    }
    return oldest;
}

void index_ghost_put(index_ghost *ghost, uint32_t hash, uint64_t limit) {
    if (limit > ghost->room) limit = ghost->room;
    while (ghost->count > 0 &&
           (ghost->count >= limit || ghost->stamp - ghost->horizon > ghost->taken_mask))
        forget_oldest(ghost);
    if (limit == 0) return;
    if (ghost->count == 0) ghost->horizon = ghost->stamp;
    index_ghost_bucket *bucket = &ghost->buckets[bucket_of(ghost, hash)];
    const uint32_t at = oldest_in(ghost, bucket);
    if (is_there(ghost, bucket->stamps[at])) {
        set_taken(ghost, bucket->stamps[at], true);
        ghost->count--;
    }
    bucket->hashes[at] = hash;
    bucket->stamps[at] = ++ghost->stamp;
    set_taken(ghost, ghost->stamp, false);
    ghost->count++;
}

bool index_ghost_take(index_ghost *ghost, uint32_t hash) {
    if (ghost->count == 0) return false;
    index_ghost_bucket *bucket = &ghost->buckets[bucket_of(ghost, hash)];
    uint32_t found = 0;
    for (uint32_t i = 0; i < GHOST_BUCKET; i++) found |= (uint32_t)(bucket->hashes[i] == hash) << i;
    for (; found != 0; found &= found - 1) {
        uint32_t *stamp = &bucket->stamps[__builtin_ctz(found)];
        if (!is_there(ghost, *stamp)) continue;
        set_taken(ghost, *stamp, true);
        *stamp = ghost->horizon - LONG_AGO;
        ghost->count--;
        return true;
    }
    return false;
}

// Memory ------------------------------------------------------------------------------------------

static size_t ghost_bytes(const index_ghost *ghost) {
    return ghost->bucket_count == 0
               ? 0
               : (size_t)ghost->bucket_count * sizeof *ghost->buckets + (ghost->taken_mask + 1) / 8;
}

void index_ghost_free(larder_index *index, index_ghost *ghost) {
    index->policy_bytes -= ghost_bytes(ghost);
    free(ghost->buckets);
    *ghost = (index_ghost){0};
}

static bool ghost_make(index_ghost *ghost, uint32_t room) {
    *ghost = (index_ghost){.room = room, .bucket_count = room / (GHOST_BUCKET / 2) + 1};
    ghost->taken_mask = 63;
    while (ghost->taken_mask < room + room / 4) ghost->taken_mask = ghost->taken_mask * 2 + 1;
    void *memory = NULL;
    if (posix_memalign(&memory, sizeof *ghost->buckets, ghost_bytes(ghost)) != 0) return false;
    ghost->buckets = memory;
    ghost->taken = (uint64_t *)(ghost->buckets + ghost->bucket_count);
    for (uint32_t at = 0; at < ghost->bucket_count; at++)
        for (uint32_t i = 0; i < GHOST_BUCKET; i++) {
            ghost->buckets[at].hashes[i] = 0;
            ghost->buckets[at].stamps[i] = (uint32_t)-LONG_AGO;
        }
    return true;
}

// The hashes that are there, by their stamps; places of others are left alone.
static void ghost_list(const index_ghost *ghost, uint32_t *hashes) {
    for (uint32_t at = 0; at < ghost->bucket_count; at++)
        for (uint32_t i = 0; i < GHOST_BUCKET; i++) {
            const uint32_t stamp = ghost->buckets[at].stamps[i];
            if (is_there(ghost, stamp))
                hashes[stamp - ghost->horizon - 1] = ghost->buckets[at].hashes[i];
        }
}

void index_ghost_resize(larder_index *index, index_ghost *ghost, uint64_t room) {
    if (room > GHOST_ROOM_MAX) room = GHOST_ROOM_MAX;
    if (room == ghost->room) return;
    if (room == 0) {
        index_ghost_free(index, ghost);
        return;
    }
    const uint32_t span = ghost->stamp - ghost->horizon;
    uint32_t *hashes = malloc(((size_t)span + 1) * sizeof *hashes);
    index_ghost other;
    if (hashes == NULL || !ghost_make(&other, (uint32_t)room)) {
        free(hashes);
        return;
    }
    ghost_list(ghost, hashes);
    for (uint32_t i = 0; i < span; i++)
        if (!is_taken(ghost, ghost->horizon + 1 + i)) index_ghost_put(&other, hashes[i], room);
    free(hashes);
    index->policy_bytes += ghost_bytes(&other);
    index_ghost_free(index, ghost);
    *ghost = other;
}

const char *index_ghost_check(const index_ghost *ghost) {
    if (ghost->count > ghost->room || ghost->count > ghost->stamp - ghost->horizon)
        return "a ghost list holds more than it has room for";
    uint32_t count = 0;
    for (uint32_t at = 0; at < ghost->bucket_count; at++)
        for (uint32_t i = 0; i < GHOST_BUCKET; i++) {
            const uint32_t stamp = ghost->buckets[at].stamps[i];
            if (!is_there(ghost, stamp)) continue;
            count++;
            if (is_taken(ghost, stamp)) return "a ghost is there that was taken out";
            if (bucket_of(ghost, ghost->buckets[at].hashes[i]) != at)
                return "a ghost is not found from its hash";
        }
    return count == ghost->count ? NULL : "the number of ghosts is wrong";
}
