// SPDX-License-Identifier: MIT
// Entries of different costs: what has to go for what, and that no limit is ever exceeded.
#include <string.h>

#include "memory.h"

typedef struct cache {
    torture *run;
    larder_index *index;
    uint64_t count_limit, cost_limit;
} cache;

static bool cache_open(cache *self, torture *run, larder_index_policy policy, uint64_t cost_limit) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = policy;
    options.payload_bytes = 8;
    options.cost_limit = cost_limit;
    *self = (cache){run, NULL, LARDER_INDEX_UNLIMITED, cost_limit};
    torture_trial(run);
    return EXPECT_STATUS(run, larder_index_create(&options, &self->index), LARDER_OK);
}

static void cache_close(cache *self) {
    const char *reason = NULL;
    larder_index_write_begin(self->index);
    EXPECT(self->run, larder_index_check(self->index, &reason) == LARDER_OK, "%s", reason);
    larder_index_write_end(self->index);
    larder_index_destroy(self->index);
}

/** A hash of a run of its own: the outcome is that of the seed. */
static bool cache_get(cache *self, uint64_t key) {
    uint32_t token = larder_index_read_begin(self->index);
    larder_index_slot slot =
        larder_index_find(self->index, mix(key), larder_index_equals_u64, &key);
    larder_index_read_end(self->index, token, slot);
    return slot != LARDER_INDEX_NONE;
}

/** @return how many others went. */
static uint64_t cache_set(cache *self, uint64_t key, uint64_t cost) {
    larder_index_probe probe;
    larder_index_cause cause;
    uint64_t gone = 0;
    EXPECT(self->run, !larder_index_write_first(self->index, mix(key), &probe), "one is due");
    while (probe.payload && !larder_index_equals_u64(probe.payload, &key)) {
        larder_index_next(self->index, &probe);
    }
    if (probe.payload) {
        larder_index_rewrite(self->index, probe.slot, cost);
    } else if (EXPECT_STATUS(self->run, larder_index_write_insert(self->index, cost, &probe),
                             LARDER_OK)) {
        memcpy(probe.payload, &key, sizeof key);
    }
    while (larder_index_write_settle(self->index, &probe, &cause)) {
        gone++;
    }
    larder_index_write_begin(self->index);
    uint64_t total = larder_index_total_cost(self->index);
    uint64_t count = larder_index_count(self->index);
    larder_index_write_end(self->index);
    EXPECT(self->run, total <= self->cost_limit && count <= self->count_limit,
           "%llu entries cost %llu", (unsigned long long)count, (unsigned long long)total);
    return gone;
}

/** A thousand entries of cost 1 under keys from 0 on, which are all that fits. */
static bool cache_fill(cache *self, torture *run, larder_index_policy policy, uint64_t uses) {
    if (!cache_open(self, run, policy, 1000)) {
        return false;
    }
    for (uint64_t use = 0; use < uses; use++) {
        for (uint64_t key = 0; key < 1000; key++) {
            bool is_there = cache_get(self, key);
            EXPECT(run, is_there == (use > 0), "key %llu in round %llu", (unsigned long long)key,
                   (unsigned long long)use);
            if (!is_there) {
                cache_set(self, key, 1);
            }
        }
    }
    return true;
}

static uint64_t count_there(cache *self, uint64_t first, uint64_t count) {
    uint64_t there = 0;
    for (uint64_t key = first; key < first + count; key++) {
        there += cache_get(self, key);
    }
    return there;
}

/** Entries that are used again and again do not go for a heavy one that nobody asked for. */
static void many_small_outlast_a_large_one(torture *run, uint64_t uses) {
    cache self;
    if (!cache_fill(&self, run, LARDER_INDEX_ADAPTIVE, uses)) {
        return;
    }
    EXPECT(run, cache_set(&self, 5000, 500) == 1 && !cache_get(&self, 5000), "it came in");
    EXPECT(run, count_there(&self, 0, 1000) == 1000, "others went for it");
    // As a new value of one that is there it is no better.
    EXPECT(run, cache_set(&self, 7, 600) == 1 && !cache_get(&self, 7), "it grew");
    EXPECT(run, count_there(&self, 0, 1000) == 999, "others went for what grew");
    cache_close(&self);
}

/** What is heavier than the window gets in once it was asked for often enough. */
static void what_is_asked_for_gets_in(torture *run) {
    cache self;
    if (!cache_open(&self, run, LARDER_INDEX_ADAPTIVE, 1000)) {
        return;
    }
    for (uint64_t key = 0; key < 100; key++) {
        cache_set(&self, key, 10);
    }
    EXPECT(run, count_there(&self, 0, 100) == 100, "they do not fit");
    uint64_t tries = 0;
    while (tries < 15 && !cache_get(&self, 5000)) {
        EXPECT(run, cache_set(&self, 5000, 40) <= 4, "more went than it needs");
        tries++;
    }
    EXPECT(run, tries > 1 && tries < 15, "it came in after %llu tries", (unsigned long long)tries);
    EXPECT(run, count_there(&self, 0, 100) >= 96, "others went for it");
    cache_close(&self);
}

/** What was asked for once makes room at once; so does one entry, however much it is used. */
static void what_is_new_stays(torture *run, larder_index_policy policy) {
    cache self;
    if (cache_fill(&self, run, policy, 1)) {
        EXPECT(run, cache_set(&self, 5000, 500) == 500 && cache_get(&self, 5000), "it is gone");
        cache_close(&self);
    }
    if (cache_open(&self, run, policy, 1000)) {
        for (uint64_t key = 0; key < 50; key++) {
            EXPECT(run, cache_set(&self, key, 300) == (key > 2), "%llu", (unsigned long long)key);
            for (int uses = 0; uses < 9; uses++) {
                EXPECT(run, cache_get(&self, key), "key %llu is gone", (unsigned long long)key);
            }
        }
        EXPECT(run, cache_set(&self, 60, 1001) == 1 && !cache_get(&self, 60), "it is too heavy");
        EXPECT(run, count_there(&self, 0, 50) == 3, "others went for what is too heavy");
        cache_close(&self);
    }
}

/** A million writes, reads and removals of entries of many sizes. */
static void limits_hold(torture *run, larder_index_policy policy, uint64_t seed) {
    cache self;
    rng random = rng_make(mix2(run->seed, seed));
    if (!cache_open(&self, run, policy, 100000)) {
        return;
    }
    for (uint64_t i = 0, most = run->brief ? 50000 : 1000000; i < most && torture_unhurt(run);
         i++) {
        uint64_t key = rng_below(&random, 1 + rng_below(&random, 5000));
        uint64_t dice = rng_below(&random, 1000);
        if (dice < 500) {
            cache_get(&self, key);
        } else if (dice < 998) {
            cache_set(&self, key, rng_below(&random, 1 + (UINT64_C(1) << rng_below(&random, 17))));
        } else {
            larder_index_write_begin(self.index);
            self.count_limit = dice == 998 ? rng_between(&random, 1, 3000) : LARDER_INDEX_UNLIMITED;
            self.cost_limit = rng_below(&random, 200000);
            EXPECT_STATUS(run,
                          larder_index_set_limits(self.index, self.count_limit, self.cost_limit),
                          LARDER_OK);
            while (larder_index_evict(self.index, NULL) != LARDER_INDEX_NONE) {
            }
            const char *reason = NULL;
            EXPECT(run, larder_index_check(self.index, &reason) == LARDER_OK, "%s", reason);
            larder_index_write_end(self.index);
        }
    }
    cache_close(&self);
}

void memory_weights(torture *run, void *context) {
    (void)context;
    for (uint64_t uses = 2; uses <= 6; uses++) {
        many_small_outlast_a_large_one(run, uses);
    }
    what_is_asked_for_gets_in(run);
    for (unsigned policy = LARDER_INDEX_LRU; policy <= LARDER_INDEX_ADAPTIVE; policy++) {
        what_is_new_stays(run, (larder_index_policy)policy);
        limits_hold(run, (larder_index_policy)policy, policy);
    }
}
