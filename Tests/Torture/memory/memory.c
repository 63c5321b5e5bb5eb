// SPDX-License-Identifier: MIT
// Indexes in memory: random operations beside a model, threads, and what has to be tried by itself:
// arguments, hashes, times and sums at the ends of their ranges.
#include "memory.h"

#include <errno.h>
#include <string.h>

#include "failing_calls.h"
#include "faults.h"

static larder_status created(size_t bytes, size_t alignment, unsigned policy) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.payload_bytes = bytes;
    options.payload_alignment = alignment;
    options.policy = (larder_index_policy)policy;
    larder_index *index = NULL;
    larder_status status = larder_index_create(&options, &index);
    larder_index_destroy(index);
    return (status == LARDER_OK) == (index != NULL) ? status : LARDER_EDAMAGED;
}

static void options_of_indexes(torture *run) {
    GIVES(created(0, 1, LARDER_INDEX_LRU), LARDER_OK);
    GIVES(created((size_t)1 << 20, 4096, LARDER_INDEX_FIFO), LARDER_OK);
    GIVES(created(((size_t)1 << 20) + 1, 8, LARDER_INDEX_FIFO), LARDER_EINVALID);
    GIVES(created(16, 0, LARDER_INDEX_LRU), LARDER_EINVALID);
    GIVES(created(16, 24, LARDER_INDEX_LRU), LARDER_EINVALID);
    GIVES(created(16, 8192, LARDER_INDEX_LRU), LARDER_EINVALID);
    GIVES(created(16, 8, 4), LARDER_EINVALID);
    larder_index_destroy(NULL);
    // Of so many readers there is no more than a line each for some.
    larder_index_options options;
    larder_index *index = NULL;
    larder_index_options_init(&options);
    options.readers = 100000;
    GIVES(larder_index_create(&options, &index), LARDER_OK);
    uint32_t token = larder_index_read_begin(index);
    larder_index_read_end(index, token, LARDER_INDEX_NONE);
    larder_index_destroy(index);
}

/** Bytes of any length have a hash that all of them count for, and equal ones are equal. */
static void hashes(torture *run) {
    uint8_t bytes[70], copy[70];
    for (size_t i = 0; i < sizeof bytes; i++) {
        copy[i] = bytes[i] = (uint8_t)(i * 7);
    }
    for (size_t length = 0; length < sizeof bytes; length++) {
        torture_trial(run);
        uint64_t hash = larder_index_hash_bytes(bytes, length);
        larder_bytes one = bytes_of(bytes, length), other = bytes_of(copy, length);
        EXPECT(run, larder_index_hash_bytes(copy, length) == hash, "two hashes of %zu", length);
        EXPECT(run, larder_index_hash_bytes(bytes, length + 1) != hash, "a hash of %zu", length);
        EXPECT(run, larder_index_equals_bytes(&one, &other), "%zu bytes differ", length);
        other.length++;
        EXPECT(run, !larder_index_equals_bytes(&one, &other), "%zu bytes are one more", length);
        other.length--;
        for (size_t i = 0; i < length; i++) {
            copy[i] ^= 1;
            EXPECT(run, larder_index_hash_bytes(copy, length) != hash, "byte %zu of %zu", i,
                   length);
            EXPECT(run, !larder_index_equals_bytes(&one, &other), "byte %zu of %zu", i, length);
            copy[i] ^= 1;
        }
    }
}

static int64_t fixed_clock(void *context) { return *(const int64_t *)context; }

static larder_index *small_index(torture *run, int64_t *now, larder_index_slot *slot) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.payload_bytes = 8;
    options.clock = now ? fixed_clock : NULL;
    options.context = now;
    larder_index *index = NULL;
    if (!EXPECT_STATUS(run, larder_index_create(&options, &index), LARDER_OK)) {
        return NULL;
    }
    larder_index_write_begin(index);
    EXPECT_STATUS(run, larder_index_insert(index, larder_index_hash_u64(1), 0, slot), LARDER_OK);
    return index;
}

/** Times at both ends of what a clock can say: a sum that is too large is a time all the same. */
static void far_times(torture *run) {
    static const struct {
        int64_t now, duration, deadline;
    } times[] = {
        {1000, 5, 1005},
        {1000, -5, 995},
        {1000, INT64_MAX - 1, INT64_MAX - 1},
        {INT64_MIN + 3, -100, INT64_MIN},
        {1000, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        torture_trial(run);
        int64_t now = times[i].now;
        larder_index_slot slot;
        larder_index *index = small_index(run, &now, &slot);
        if (!index) {
            return;
        }
        larder_index_expiry expiry = {times[i].duration, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
        EXPECT_STATUS(run, larder_index_set_entry_expiry(index, slot, NULL), LARDER_OK);
        EXPECT(run,
               larder_index_deadline(index, slot) == LARDER_INDEX_NEVER &&
                   larder_index_next_deadline(index) == LARDER_INDEX_NEVER,
               "a deadline where none was set");
        EXPECT_STATUS(run, larder_index_set_entry_expiry(index, slot, &expiry), LARDER_OK);
        EXPECT(run, larder_index_deadline(index, slot) == times[i].deadline, "case %zu", i);
        EXPECT(run, larder_index_is_due(index) == (times[i].deadline <= now), "due %zu", i);
        larder_index_write_end(index);
        larder_index_destroy(index);
    }
}

/** The system's clock goes on, and lives that count from it end. */
static void system_clock(torture *run) {
    torture_trial(run);
    larder_index_slot slot;
    larder_index *index = small_index(run, NULL, &slot);
    if (!index) {
        return;
    }
    larder_index_expiry expiry = {LARDER_INDEX_NEVER, 0, LARDER_INDEX_NEVER};
    EXPECT_STATUS(run, larder_index_set_expiry(index, &expiry), LARDER_OK);
    EXPECT(run, larder_index_is_due(index) && larder_index_expire(index) == slot, "still there");
    larder_index_write_end(index);
    larder_index_destroy(index);
}

/** Costs whose sum no 64 bits hold are counted all the same. */
static void large_costs(torture *run) {
    torture_trial(run);
    larder_index_slot slot, other;
    larder_index *index = small_index(run, NULL, &slot);
    if (!index) {
        return;
    }
    uint64_t hash = larder_index_hash_u64(2);
    EXPECT(run, larder_index_cost(index, slot) == 0, "a cost that was not given");
    EXPECT_STATUS(run, larder_index_insert(index, hash, UINT64_MAX, &other), LARDER_OK);
    larder_index_rewrite(index, slot, 7);
    EXPECT(run, larder_index_total_cost(index) == UINT64_MAX, "the sum is not at its end");
    larder_index_take(index, other, LARDER_INDEX_REMOVED);
    EXPECT(run, larder_index_total_cost(index) == 7, "the rest is not 7");
    size_t count = 9;
    EXPECT_STATUS(run, larder_index_list(index, LARDER_INDEX_UNORDERED, NULL, 0, &count),
                  LARDER_OK);
    EXPECT(run, count == 0, "a list of nothing is %zu long", count);
    larder_index_write_end(index);
    larder_index_destroy(index);
}

/** So many uses that they have to be numbered afresh: the order stays. */
static void many_uses(torture *run, larder_index_policy policy) {
    enum { KEYS = 2000 };
    static larder_index_slot slots[KEYS];
    torture_trial(run);
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = policy;
    larder_index *index = NULL;
    if (!EXPECT_STATUS(run, larder_index_create(&options, &index), LARDER_OK)) {
        return;
    }
    for (uint64_t round = 0; round < 32; round++) {
        for (uint64_t key = 0; key < KEYS; key++) {
            larder_index_probe probe;
            larder_index_cause cause;
            uint64_t hash = larder_index_hash_u64(key);
            uint32_t token = larder_index_read_begin(index);
            larder_index_slot slot = larder_index_find(index, hash, larder_index_equals_u64, &key);
            larder_index_read_end(index, token, slot);
            if (slot == LARDER_INDEX_NONE) {
                (void)larder_index_write_first(index, hash, &probe);
                EXPECT_STATUS(run, larder_index_write_insert(index, 0, &probe), LARDER_OK);
                memcpy(probe.payload, &key, sizeof key);
                EXPECT(run, !larder_index_write_settle(index, &probe, &cause), "one went");
            }
        }
    }
    size_t count = 0;
    larder_index_write_begin(index);
    EXPECT_STATUS(run, larder_index_list(index, LARDER_INDEX_FIRST_TO_GO, slots, KEYS, &count),
                  LARDER_OK);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key;
        memcpy(&key, larder_index_payload(index, slots[i]), sizeof key);
        EXPECT(run, key == i, "key %llu is number %llu", (unsigned long long)key,
               (unsigned long long)i);
    }
    EXPECT(run, count == KEYS, "%zu are listed", count);
    larder_index_write_end(index);
    larder_index_destroy(index);
}

/** As many uses of one hold, behind which there are limits, or there is no memory to sort in: all
    entries are there. */
static void uses_of_one_hold(torture *run, bool is_starved) {
    enum { KEYS = 1200, USES = 60000 };
    static larder_index_slot slots[KEYS];
    torture_trial(run);
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = LARDER_INDEX_LRU;
    larder_index *index = NULL;
    if (!EXPECT_STATUS(run, larder_index_create(&options, &index), LARDER_OK)) {
        return;
    }
    larder_index_write_begin(index);
    for (uint64_t key = 0; key < KEYS; key++) {
        EXPECT_STATUS(run, larder_index_insert(index, mix(key), 0, &slots[key]), LARDER_OK);
    }
    size_t count = 0;
    EXPECT_STATUS(run, larder_index_list(index, LARDER_INDEX_UNORDERED, slots, KEYS, &count),
                  LARDER_OK);
    for (uint64_t i = 0; i < USES; i++) {
        larder_index_touch(index, slots[i % count]);
    }
    uint64_t limit = is_starved ? LARDER_INDEX_UNLIMITED : KEYS;
    EXPECT_STATUS(run, larder_index_set_limits(index, limit, LARDER_INDEX_UNLIMITED), LARDER_OK);
    larder_index_write_end(index);
    larder_fault_set(is_starved ? "memory" : NULL, 1, ENOMEM);
    larder_index_write_begin(index);
    larder_fault_set(NULL, 0, 0);
    const char *reason = NULL;
    EXPECT(run, larder_index_check(index, &reason) == LARDER_OK, "%s", reason);
    EXPECT_STATUS(run, larder_index_list(index, LARDER_INDEX_LAST_TO_GO, slots, KEYS, &count),
                  LARDER_OK);
    EXPECT(run, count == KEYS, "%zu are listed", count);
    larder_index_write_end(index);
    larder_index_destroy(index);
}

// Without memory ----------------------------------------------------------------------------------

typedef struct starved {
    larder_index *index;
    uint64_t count;
    /** Nothing tells its hashes apart: they need a chain of segments. */
    bool has_poor_hashes;
} starved;

static void starved_put(torture *run, starved *self, uint64_t key, uint64_t cost) {
    larder_index_probe probe;
    larder_index_cause cause;
    uint64_t hash = self->has_poor_hashes ? mix(key) & UINT32_MAX : mix(key);
    bool is_due = larder_index_write_first(self->index, hash, &probe);
    EXPECT(run, !is_due, "something is due");
    larder_status status = larder_index_write_insert(self->index, cost, &probe);
    EXPECT(run, status == LARDER_OK || status == ENOMEM, "an insertion gave %d", status);
    EXPECT(run, (status == LARDER_OK) == (probe.payload != NULL), "a payload of no entry");
    if (probe.payload) {
        memcpy(probe.payload, &key, sizeof key);
        self->count++;
    }
    while (larder_index_write_settle(self->index, &probe, &cause)) {
        self->count--;
    }
}

/** What asks for memory, one after the other. */
static void starved_use(torture *run, starved *self, uint64_t first, uint64_t count_of_keys) {
    static larder_index_slot slots[4];
    size_t count = 0;
    larder_index_expiry far = {INT64_MAX / 2, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
    for (uint64_t key = first; key < first + count_of_keys; key++) {
        starved_put(run, self, key, key % 500 == 499);
    }
    larder_index_write_begin(self->index);
    larder_status statuses[] = {
        larder_index_set_limits(self->index, 1000, LARDER_INDEX_UNLIMITED),
        larder_index_list(self->index, LARDER_INDEX_LAST_TO_GO, slots, 4, &count),
        larder_index_set_limits(self->index, LARDER_INDEX_UNLIMITED, LARDER_INDEX_UNLIMITED),
        larder_index_list(self->index, LARDER_INDEX_FIRST_TO_GO, slots, 4, &count),
        larder_index_set_expiry(self->index, &far),
        count ? larder_index_set_entry_expiry(self->index, slots[0], &far) : LARDER_OK,
        larder_index_set_limits(self->index, 2000, LARDER_INDEX_UNLIMITED)};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        EXPECT(run, statuses[i] == LARDER_OK || statuses[i] == ENOMEM, "call %zu gave %d", i,
               statuses[i]);
    }
    while (larder_index_evict(self->index, NULL) != LARDER_INDEX_NONE) {
        self->count--;
    }
    larder_index_write_end(self->index);
}

/** Every call for memory fails once: nothing is lost by it but what it was for. */
static void without_memory(torture *run, void *context) {
    unsigned policy = *(const unsigned *)context;
    bool is_reached = failing_call_count > 0;
    for (int nth = 1; is_reached && torture_unhurt(run); nth += run->brief ? 9 : 1) {
        starved self = {.has_poor_hashes = policy == LARDER_INDEX_FIFO};
        larder_index_options options;
        larder_index_options_init(&options);
        options.policy = (larder_index_policy)policy;
        torture_trial(run);
        torture_note(run, "policy %u: call number %d for memory fails", policy, nth);
        larder_fault_set("memory", nth, ENOMEM);
        larder_status status = larder_index_create(&options, &self.index);
        if (!status) {
            starved_use(run, &self, 0, 3600);
            larder_index_write_begin(self.index);
            larder_index_clear(self.index, nth % 2);
            larder_index_write_end(self.index);
            self.count = 0;
            starved_use(run, &self, 3000, 400);
        }
        is_reached = larder_fault_passes() >= nth;
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, (status == ENOMEM) == (self.index == NULL), "creating gave %d", status);
        if (self.index) {
            const char *reason = NULL;
            larder_index_write_begin(self.index);
            EXPECT(run, larder_index_check(self.index, &reason) == LARDER_OK, "%s", reason);
            EXPECT(run, larder_index_count(self.index) == self.count, "another count");
            larder_index_write_end(self.index);
        }
        larder_index_destroy(self.index);
    }
}

static void by_itself(torture *run, void *context) {
    (void)context;
    options_of_indexes(run);
    hashes(run);
    far_times(run);
    system_clock(run);
    large_costs(run);
    many_uses(run, LARDER_INDEX_LRU);
    many_uses(run, LARDER_INDEX_S3FIFO);
    uses_of_one_hold(run, false);
    uses_of_one_hold(run, true);
}

static void one_case(torture *run, void *context) {
    uint64_t number = *(const uint64_t *)context;
    rng random = rng_make(mix2(mix2(run->seed, run->case_index), number));
    memory_model_case(run, &random, number);
}

void family_memory(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    torture_trial(run);
    torture_guard(run, 60, by_itself, NULL);
    torture_guard(run, 60, memory_rare, NULL);
    torture_trial(run);
    torture_guard(run, 120, memory_weights, NULL);
    torture_trial(run);
    torture_guard(run, 60, memory_contradictions, NULL);
    torture_guard(run, 120, memory_threads, NULL);
    for (unsigned policy = LARDER_INDEX_LRU; policy <= LARDER_INDEX_ADAPTIVE; policy++) {
        torture_guard(run, 120, without_memory, &policy);
    }
    for (uint64_t i = 0, most = run->brief ? 12 : 96; i < most; i++) {
        torture_trial(run);
        torture_note(run, "index number %llu", (unsigned long long)i);
        torture_guard(run, 60, one_case, &i);
    }
}
