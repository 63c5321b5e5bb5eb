// SPDX-License-Identifier: MIT
/** @file index_ghost.h
    Private: which entries went lately. A bounded set of hashes that are forgotten in the order in
    which they came.

    A policy that sees an entry come back soon after it went has learnt that it was wrong about it.
    All it needs for that is the hash, and whether it is in the list.

    The hashes lie in buckets of one cache line, each with a stamp that says when it came:

        | hash 0 | ... | hash 7 | stamp 0 | ... | stamp 7 |      64 bytes

    Stamps count up. A hash is in the list if its stamp is above the horizon, and was not taken out.
    Forgetting the oldest moves the horizon, over those that were taken, of which a bit each tells;
    its place is written over when somebody needs it. So to look up and to put in touch one line
    each. A hash that finds eight others in its bucket, which happens to one in fifty, takes the
    place of the oldest of them.

    Invariants:
    1. A hash that is there lies in the bucket that its high bits lead to.
    2. `count` is the number of those that are there: stamps above the horizon that are not taken.

    It takes 16 bytes for each hash that it has room for, and none before the first comes. */
#ifndef LARDER_INDEX_GHOST_H
#define LARDER_INDEX_GHOST_H

#include "index_internal.h"

enum { GHOST_BUCKET = 8 };

typedef struct index_ghost_bucket {
    uint32_t hashes[GHOST_BUCKET];
    uint32_t stamps[GHOST_BUCKET];
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
void index_ghost_resize(larder_index *index, index_ghost *ghost, uint64_t room);
/** Forgets all hashes, and gives the memory back. */
void index_ghost_free(larder_index *index, index_ghost *ghost);

/** Puts a hash in, as the latest of at most `limit`: the oldest ones go. */
void index_ghost_put(index_ghost *ghost, uint32_t hash, uint64_t limit);
/** Takes a hash out. @return whether it was there. */
bool index_ghost_take(index_ghost *ghost, uint32_t hash);

/** A contradiction, or NULL. */
const char *index_ghost_check(const index_ghost *ghost);

#endif
