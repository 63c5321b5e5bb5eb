// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "index/policy/ghost.h"

#include <stdlib.h>
#include <string.h>

enum {
    GHOST_ROOM_MAX = 1 << 28,
};

// Memory ------------------------------------------------------------------------------------------

static size_t ghost_bytes(const index_ghost *ghost) {
    return ghost->bucket_count == 0
               ? 0
               : (size_t)ghost->bucket_count * sizeof *ghost->buckets + (ghost->taken_mask + 1) / 8;
}

void larder_index_ghost_free(larder_index *index, index_ghost *ghost) {
    index->policy_bytes -= ghost_bytes(ghost);
    free(ghost->buckets);
    *ghost = (index_ghost){0};
}

static bool ghost_make(index_ghost *ghost, uint32_t room) {
    *ghost = (index_ghost){.room = room, .bucket_count = room / GHOSTS_PER_BUCKET + 1};
    ghost->taken_mask = 63;
    while (ghost->taken_mask < room + room / 4) ghost->taken_mask = ghost->taken_mask * 2 + 1;
    void *memory = NULL;
    if (posix_memalign(&memory, sizeof *ghost->buckets, ghost_bytes(ghost)) != 0) return false;
    ghost->buckets = memory;
    ghost->taken = (uint64_t *)(ghost->buckets + ghost->bucket_count);
    memset(memory, 0, (size_t)ghost->bucket_count * sizeof *ghost->buckets);
    for (uint32_t at = 0; at < ghost->bucket_count; at++)
        for (uint32_t i = 0; i < GHOST_BUCKET; i++)
            ghost->buckets[at].stamps[i] = (uint32_t)-LONG_AGO;
    return true;
}

// The hashes that are there, by their stamps; places of others are left alone.
static void ghost_list(const index_ghost *ghost, uint32_t *hashes) {
    for (uint32_t at = 0; at < ghost->bucket_count; at++)
        for (uint32_t i = 0; i < GHOST_BUCKET; i++) {
            const uint32_t stamp = ghost->buckets[at].stamps[i];
            if (ghost_is_there(ghost, stamp))
                hashes[stamp - ghost->horizon - 1] = ghost->buckets[at].hashes[i];
        }
}

void larder_index_ghost_resize(larder_index *index, index_ghost *ghost, uint64_t room) {
    if (room > GHOST_ROOM_MAX) room = GHOST_ROOM_MAX;
    if (room == ghost->room) return;
    if (room == 0) {
        larder_index_ghost_free(index, ghost);
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
        if (!ghost_is_taken(ghost, ghost->horizon + 1 + i))
            index_ghost_put(&other, hashes[i], room);
    free(hashes);
    index->policy_bytes += ghost_bytes(&other);
    larder_index_ghost_free(index, ghost);
    *ghost = other;
}

const char *larder_index_ghost_check(const index_ghost *ghost) {
    if (ghost->count > ghost->room || ghost->count > ghost->stamp - ghost->horizon)
        return "a ghost list holds more than it has room for";
    uint32_t count = 0;
    for (uint32_t at = 0; at < ghost->bucket_count; at++)
        for (uint32_t i = 0; i < GHOST_BUCKET; i++) {
            const uint32_t stamp = ghost->buckets[at].stamps[i];
            if (!ghost_is_there(ghost, stamp)) continue;
            count++;
            if (ghost_is_taken(ghost, stamp)) return "a ghost is there that was taken out";
            if (ghost_bucket(ghost, ghost->buckets[at].hashes[i]) != at)
                return "a ghost is not found from its hash";
        }
    return count == ghost->count ? NULL : "the number of ghosts is wrong";
}
