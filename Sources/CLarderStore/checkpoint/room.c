// SPDX-License-Identifier: MIT
/** @file room.c
    How much may wait for a checkpoint, so that limits are exceeded by little.

    Eviction comes with a checkpoint. Let T be what the tree holds, F what the frozen memtable adds
    at most, A the same of the active one: all count whole, as if they replaced nothing. Then T + F
    + A stays within the limit and its excess E:
    1. After an eviction T is within the limit.
    2. A may have E/2, or half of what T + F leaves of the limit, if that is more. So when it is
       frozen, T + F is within the limit, or beyond it by E/2 at most.
    3. While F is applied T + F does not change, and there is E/2 at least for the next A.
    What is let through because nothing else waits comes on top of it. */
#include "checkpoint/checkpoint.h"

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t beyond(uint64_t all, uint64_t part) { return all > part ? all - part : 0; }

/** By how much a limit may be exceeded: a tenth of it, or half of it and a little, but of that no
    more than `usual`. */
static uint64_t excess_of(uint64_t limit, uint64_t usual) {
    return most(limit / 10, least(usual, limit / 2 + usual / 16));
}

/** Lowers what the active memtable and both together may have, so that the limit holds.
    @param held by the tree, and `frozen` what is being applied to it. */
static void keep_to(uint64_t limit, uint64_t usual_excess, uint64_t held, uint64_t frozen,
                    uint64_t *active, uint64_t *both) {
    if (limit == LARDER_STORE_UNLIMITED) return;
    const uint64_t excess = excess_of(limit, usual_excess);
    const uint64_t bound = limit > UINT64_MAX - excess ? UINT64_MAX : limit + excess;
    uint64_t share = most(excess / 2, beyond(limit, held + frozen) / 2);
    share = least(share, beyond(bound, held + frozen));
    *active = most(least(*active, share), 1);
    *both = most(least(*both, beyond(bound, held)), 1);
}

pending_room larder_store_journal_room(const larder_store *store) {
    const uint64_t bytes = store->options.journal_bytes, count = store->tuning.memtable_max_count;
    // What a checkpoint is applying counts as far as it may be as much again: one that fails stops
    // the writers sooner or later.
    return (pending_room){bytes, count, 2 * bytes, 2 * count};
}

/** Of a store whose values are limited two segments at most stand empty, and what is written last
    is as small a part of it. */
static uint64_t segment_most(const larder_store *store) {
    const uint64_t small = (uint64_t)1 << 20, limit = store->expiry.limits.bytes;
    const larder_store_tuning *tuning = &store->tuning;
    if (limit == LARDER_STORE_UNLIMITED) return tuning->segment_max_bytes;
    uint64_t bytes = least(most(limit / 64, small), tuning->segment_max_bytes);
    return most(bytes, tuning->segment_min_bytes);
}

void larder_store_set_room(larder_store *store) {
    pending_writes *pending = &store->pending;
    const memtable *frozen = pending->frozen;
    const larder_store_limits *limits = &store->expiry.limits;
    const larder_store_tuning *tuning = &store->tuning;
    if (frozen == NULL) {
        pending->tree_bytes = store->index.meta.bytes;
        pending->tree_count = store->index.meta.count;
    }
    pending_room room = larder_store_journal_room(store);
    keep_to(limits->bytes, tuning->excess_max_bytes, pending->tree_bytes,
            frozen == NULL ? 0 : frozen->bytes, &room.active_bytes, &room.bytes);
    keep_to(limits->count, tuning->excess_max_count, pending->tree_count,
            frozen == NULL ? 0 : memtable_pending(frozen), &room.active_count, &room.count);
    pending->room = room;
    pending->log.segment_max_bytes = segment_most(store);
}

uint64_t larder_store_copied_at_once(const larder_store *store) {
    const live_table *live = &store->index.live;
    uint64_t used, ignored, room = larder_environment_room(store->index.environment);
    larder_live_totals(live, &used, &ignored);
    used += larder_environment_bytes(store->index.environment);
    return larder_live_longest(live, room < UINT64_MAX - used ? (used + room) / 32 : 0);
}

bool larder_store_is_over_limit(const larder_store *store) {
    const pending_writes *pending = &store->pending;
    const larder_store_limits *limits = &store->expiry.limits;
    return pending->tree_bytes + pending->log.unapplied_bytes > limits->bytes ||
           pending->tree_count + atomic_load(&pending->count) > limits->count;
}
