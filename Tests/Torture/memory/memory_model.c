// SPDX-License-Identifier: MIT
// Random operations on an index, and the same on a table that says what must be there: which keys,
// with which bytes, costs and deadlines, and for LRU and FIFO in which order.
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { KEYS = 9000, PAYLOAD_MAX = 200 };

typedef struct kept {
    bool is_there, is_pinned, has_own_expiry;
    uint64_t value;
    uint64_t cost;
    int64_t written;
    int64_t deadline;
    larder_index_expiry expiry;
    /** Grows with each use that counts: the lowest goes first. */
    uint64_t rank;
} kept;

typedef struct shelf {
    torture *run;
    rng *random;
    larder_index *index;
    larder_index_options options;
    /** How many there may be, and how poor their hashes are. */
    uint64_t keys;
    unsigned hash_kind;
    int64_t now;
    /** How long what has expired stays, for writers. */
    int64_t grace;
    bool has_times;
    larder_index_expiry expiry;
    uint64_t count_limit, cost_limit;
    uint64_t count, moves, last_rank;
    larder_index_statistics told;
    /** Written since the index was held; UINT64_MAX for none. */
    uint64_t newest;
    kept all[KEYS];
} shelf;

static int64_t shelf_clock(void *context) { return ((shelf *)context)->now; }

static void shelf_move(void *target, void *source, void *context) {
    shelf *self = context;
    self->moves++;
    memcpy(target, source, self->options.payload_bytes);
}

static uint64_t shelf_hash(const shelf *self, uint64_t key) {
    switch (self->hash_kind) {
    case 0: return larder_index_hash_u64(key);
    case 1: return larder_index_hash_bytes(&key, sizeof key);
    // Hashes that no directory can tell apart.
    case 2: return mix(key) & UINT64_C(0xFFFFFFFF);
    default: return mix(key) >> 40 << 32 | (mix(key) & 0xFF);
    }
}

// Payloads ----------------------------------------------------------------------------------------

static void payload_make(const shelf *self, uint64_t key, uint64_t value, uint8_t *bytes) {
    memcpy(bytes, &key, sizeof key);
    for (size_t i = sizeof key; i < self->options.payload_bytes; i++) {
        bytes[i] = (uint8_t)mix2(value, i);
    }
}

static uint64_t payload_key(const void *payload) {
    uint64_t key;
    memcpy(&key, payload, sizeof key);
    return key;
}

static bool payload_is_right(shelf *self, const void *payload, uint64_t key) {
    uint8_t bytes[PAYLOAD_MAX];
    payload_make(self, key, self->all[key].value, bytes);
    return EXPECT(self->run, memcmp(payload, bytes, self->options.payload_bytes) == 0,
                  "the payload of key %llu is another one", (unsigned long long)key);
}

// Lives -------------------------------------------------------------------------------------------

static int64_t after(int64_t start, int64_t duration) {
    return duration == LARDER_INDEX_NEVER ? LARDER_INDEX_NEVER : start + duration;
}

static void life_set(shelf *self, kept *entry) {
    const larder_index_expiry *by = entry->has_own_expiry ? &entry->expiry : &self->expiry;
    int64_t ends[] = {after(self->now, by->after_access_ns),
                      after(entry->written, by->after_write_ns), by->at_ns};
    entry->deadline = LARDER_INDEX_NEVER;
    for (size_t i = 0; i < 3; i++) {
        entry->deadline = ends[i] < entry->deadline ? ends[i] : entry->deadline;
    }
}

static void life_begin(shelf *self, kept *entry) {
    entry->written = self->now;
    entry->has_own_expiry = false;
    life_set(self, entry);
}

static bool is_alive(const shelf *self, uint64_t key) {
    return self->all[key].is_there && self->all[key].deadline > self->now;
}

/** Whether whoever holds the index for writing finds it. */
static bool is_kept(const shelf *self, uint64_t key) {
    return self->grace > 0 ? self->all[key].is_there : is_alive(self, key);
}

static void shelf_make_timed(shelf *self) {
    for (uint64_t key = 0; !self->has_times && key < self->keys; key++) {
        self->all[key].written = self->now;
    }
    self->has_times = true;
}

static bool is_limited(const shelf *self) {
    return self->count_limit != LARDER_INDEX_UNLIMITED ||
           self->cost_limit != LARDER_INDEX_UNLIMITED;
}

static void used(shelf *self, kept *entry) {
    if (self->options.policy == LARDER_INDEX_LRU && !(is_limited(self) && entry->is_pinned)) {
        entry->rank = ++self->last_rank;
    }
}

static void was_read(shelf *self, uint64_t key) {
    kept *entry = &self->all[key];
    const larder_index_expiry *by = entry->has_own_expiry ? &entry->expiry : &self->expiry;
    if (by->after_access_ns != LARDER_INDEX_NEVER) {
        life_set(self, entry);
    }
    used(self, entry);
    self->told.hits++;
    self->told.hit_cost += entry->cost;
}

static void went(shelf *self, uint64_t key, larder_index_cause cause) {
    self->all[key].is_there = false;
    self->count--;
    self->told.gone[cause]++;
    self->newest = self->newest == key ? UINT64_MAX : self->newest;
}

// Searching ---------------------------------------------------------------------------------------

/** Leaves the probe at the key. */
static void search_on(shelf *self, uint64_t key, bool is_there, larder_index_probe *probe) {
    while (probe->payload && payload_key(probe->payload) != key) {
        larder_index_next(self->index, probe);
    }
    bool is_found = probe->payload != NULL;
    if (EXPECT(self->run, is_found == is_there, "key %llu is %sfound", (unsigned long long)key,
               is_found ? "" : "not ") &&
        is_found) {
        payload_is_right(self, probe->payload, key);
    }
}

static larder_index_slot find(shelf *self, uint64_t key) {
    larder_index_slot slot =
        larder_index_find(self->index, shelf_hash(self, key), larder_index_equals_u64, &key);
    EXPECT(self->run, (slot != LARDER_INDEX_NONE) == is_alive(self, key), "key %llu is %sfound",
           (unsigned long long)key, slot == LARDER_INDEX_NONE ? "not " : "");
    return slot;
}

/** The same while the index is held for writing. @return LARDER_INDEX_NONE also for what only the
    grace keeps. */
static larder_index_slot find_to_write(shelf *self, uint64_t key) {
    larder_index_slot slot =
        larder_index_find(self->index, shelf_hash(self, key), larder_index_equals_u64, &key);
    if (!EXPECT(self->run, (slot != LARDER_INDEX_NONE) == is_kept(self, key),
                "key %llu is %sfound by a writer", (unsigned long long)key,
                slot == LARDER_INDEX_NONE ? "not " : "") ||
        slot == LARDER_INDEX_NONE) {
        return LARDER_INDEX_NONE;
    }
    bool has_passed =
        larder_index_has_passed(self->index, larder_index_deadline(self->index, slot));
    EXPECT(self->run, has_passed == !is_alive(self, key), "key %llu is %sover",
           (unsigned long long)key, has_passed ? "" : "not ");
    return has_passed ? LARDER_INDEX_NONE : slot;
}

static void read_one(shelf *self, uint64_t key) {
    larder_index_probe probe;
    uint32_t token;
    larder_index_slot slot;
    switch (rng_below(self->random, 4)) {
    case 0:
        token = larder_index_read_first(self->index, shelf_hash(self, key), &probe);
        search_on(self, key, is_alive(self, key), &probe);
        if (probe.payload) {
            larder_index_read_hit(self->index, token, &probe);
            was_read(self, key);
            return;
        }
        larder_index_read_end(self->index, token, LARDER_INDEX_NONE);
        self->told.misses++;
        return;
    case 1:
        larder_index_write_begin(self->index);
        slot = find_to_write(self, key);
        if (slot != LARDER_INDEX_NONE) {
            larder_index_touch(self->index, slot);
            was_read(self, key);
            self->told.hits--;
            self->told.hit_cost -= self->all[key].cost;
        }
        larder_index_write_end(self->index);
        return;
    case 2:
        token = larder_index_read_begin(self->index);
        find(self, key);
        larder_index_read_end(self->index, token, LARDER_INDEX_QUIET);
        return;
    default:
        token = larder_index_read_begin(self->index);
        slot = find(self, key);
        larder_index_read_end(self->index, token, slot);
        if (slot != LARDER_INDEX_NONE) {
            was_read(self, key);
        } else {
            self->told.misses++;
        }
    }
}

// Writing -----------------------------------------------------------------------------------------

static uint64_t total_cost(const shelf *self) {
    uint64_t sum = 0;
    for (uint64_t key = 0; key < self->keys; key++) {
        sum += self->all[key].is_there ? self->all[key].cost : 0;
    }
    return sum;
}

/** The one that has to go, where the policy says exactly which. */
static uint64_t first_to_go(const shelf *self) {
    uint64_t first = UINT64_MAX;
    for (uint64_t key = 0; key < self->keys; key++) {
        const kept *entry = &self->all[key];
        if (entry->is_there && !entry->is_pinned && key != self->newest &&
            (first == UINT64_MAX || entry->rank < self->all[first].rank)) {
            first = key;
        }
    }
    return first != UINT64_MAX ? first : self->newest;
}

/** What was just written goes only where no other can, or where it is weighed. */
static void check_newest(shelf *self, uint64_t key) {
    uint64_t others = 0;
    for (uint64_t other = 0; other < self->keys; other++) {
        others += other != key && self->all[other].is_there && !self->all[other].is_pinned;
    }
    bool is_weighed = self->options.policy == LARDER_INDEX_ADAPTIVE && others > 1 &&
                      total_cost(self) > self->cost_limit;
    EXPECT(self->run, others == 0 || is_weighed, "key %llu was just written, and went",
           (unsigned long long)key);
}

static void check_victim(shelf *self, uint64_t key, larder_index_cause cause) {
    const kept *entry = &self->all[key];
    unsigned long long name = key;
    if (!EXPECT(self->run, key < self->keys && entry->is_there, "key %llu went twice", name) ||
        cause == LARDER_INDEX_EXPIRED) {
        EXPECT(self->run, after(self->grace, entry->deadline) <= self->now,
               "key %llu went before its time", name);
        return;
    }
    uint64_t total = total_cost(self);
    bool is_heavy = self->newest == key && entry->cost > self->cost_limit;
    EXPECT(self->run, !entry->is_pinned, "key %llu is pinned, and went", name);
    EXPECT(self->run,
           cause == LARDER_INDEX_EVICTED_COUNT ? self->count > self->count_limit
                                               : total > self->cost_limit,
           "key %llu went for cause %d, which is none", name, (int)cause);
    if (key == self->newest && !is_heavy) {
        check_newest(self, key);
    }
    bool is_exact =
        self->options.policy == LARDER_INDEX_LRU || self->options.policy == LARDER_INDEX_FIFO;
    EXPECT(self->run, !is_exact || is_heavy || key == first_to_go(self),
           "key %llu went, and not key %llu", name, (unsigned long long)first_to_go(self));
}

static bool is_over(const shelf *self) {
    uint64_t pinned = 0;
    for (uint64_t key = 0; key < self->keys; key++) {
        pinned += self->all[key].is_there && self->all[key].is_pinned;
    }
    return pinned < self->count &&
           (self->count > self->count_limit || total_cost(self) > self->cost_limit);
}

static void expire_all(shelf *self) {
    larder_index_slot slot;
    while ((slot = larder_index_expire(self->index)) != LARDER_INDEX_NONE) {
        uint64_t key = payload_key(larder_index_payload(self->index, slot));
        check_victim(self, key, LARDER_INDEX_EXPIRED);
        went(self, key, LARDER_INDEX_EXPIRED);
    }
    EXPECT(self->run, !larder_index_is_due(self->index), "something is due still");
}

static void evict_all(shelf *self) {
    larder_index_slot slot;
    larder_index_cause cause = LARDER_INDEX_REMOVED;
    bool is_told = rng_one_in(self->random, 2);
    while ((slot = larder_index_evict(self->index, is_told ? &cause : NULL)) != LARDER_INDEX_NONE) {
        uint64_t key = payload_key(larder_index_payload(self->index, slot));
        larder_index_cause why = self->count > self->count_limit ? LARDER_INDEX_EVICTED_COUNT
                                                                 : LARDER_INDEX_EVICTED_COST;
        why = is_told ? cause : why;
        check_victim(self, key, why);
        went(self, key, why);
    }
}

static void put(shelf *self, uint64_t key, uint64_t cost) {
    larder_index_probe probe;
    larder_index_cause cause;
    uint64_t hash = shelf_hash(self, key);
    if (larder_index_write_first(self->index, hash, &probe)) {
        expire_all(self);
        larder_index_first(self->index, hash, &probe);
    }
    search_on(self, key, is_kept(self, key), &probe);
    kept *entry = &self->all[key];
    bool is_new = !probe.payload;
    if (!is_new) {
        larder_index_rewrite(self->index, probe.slot, cost);
        used(self, entry);
        self->told.gone[LARDER_INDEX_REPLACED]++;
    } else if (EXPECT_STATUS(self->run, larder_index_write_insert(self->index, cost, &probe),
                             LARDER_OK)) {
        *entry = (kept){.is_there = true, .rank = ++self->last_rank};
        self->count++;
        self->told.insertions++;
    } else {
        larder_index_write_end(self->index);
        return;
    }
    entry->cost = cost;
    entry->value = rng_next(self->random);
    self->newest = key;
    if (self->has_times) {
        life_begin(self, entry);
    } else {
        entry->deadline = LARDER_INDEX_NEVER;
    }
    payload_make(self, key, entry->value, probe.payload);
    while (larder_index_write_settle(self->index, &probe, &cause)) {
        uint64_t gone = payload_key(probe.payload);
        check_victim(self, gone, cause);
        went(self, gone, cause);
    }
    EXPECT(self->run, !is_over(self), "it is over its limits");
    self->newest = UINT64_MAX;
}

static void remove_one(shelf *self, uint64_t key) {
    larder_index_write_begin(self->index);
    larder_index_slot slot = find_to_write(self, key);
    if (slot != LARDER_INDEX_NONE) {
        // A cause that there is not counts as the caller's.
        larder_index_take(self->index, slot, (larder_index_cause)rng_below(self->random, 2) * 9);
        went(self, key, LARDER_INDEX_REMOVED);
    }
    larder_index_write_end(self->index);
}

static void pin(shelf *self, uint64_t key, bool is_pinned) {
    larder_index_write_begin(self->index);
    larder_index_slot slot = find_to_write(self, key);
    if (slot != LARDER_INDEX_NONE) {
        kept *entry = &self->all[key];
        EXPECT_STATUS(self->run, larder_index_pin(self->index, slot, is_pinned), LARDER_OK);
        if (entry->is_pinned != is_pinned && is_limited(self)) {
            entry->rank = ++self->last_rank;
        }
        entry->is_pinned = is_pinned;
        EXPECT(self->run, larder_index_is_pinned(self->index, slot) == is_pinned, "not pinned");
        EXPECT(self->run, larder_index_cost(self->index, slot) == entry->cost, "another cost");
    }
    larder_index_write_end(self->index);
}

// Deadlines and limits ----------------------------------------------------------------------------

static int64_t a_duration(rng *random) {
    return rng_one_in(random, 2) ? LARDER_INDEX_NEVER : (int64_t)rng_below(random, 400) - 5;
}

static larder_index_expiry an_expiry(const shelf *self, rng *random) {
    return (larder_index_expiry){a_duration(random), a_duration(random),
                                 rng_one_in(random, 3) ? self->now + (int64_t)rng_below(random, 500)
                                                       : LARDER_INDEX_NEVER};
}

static bool is_never(const larder_index_expiry *expiry) {
    return expiry->after_write_ns == LARDER_INDEX_NEVER &&
           expiry->after_access_ns == LARDER_INDEX_NEVER && expiry->at_ns == LARDER_INDEX_NEVER;
}

static void set_expiry(shelf *self) {
    larder_index_expiry expiry = an_expiry(self, self->random);
    larder_index_write_begin(self->index);
    EXPECT_STATUS(self->run, larder_index_set_expiry(self->index, &expiry), LARDER_OK);
    larder_index_write_end(self->index);
    self->expiry = expiry;
    if (is_never(&expiry) && !self->has_times) {
        return;
    }
    shelf_make_timed(self);
    for (uint64_t key = 0; key < self->keys; key++) {
        if (self->all[key].is_there && !self->all[key].has_own_expiry) {
            life_set(self, &self->all[key]);
        }
    }
}

static void set_own_expiry(shelf *self, uint64_t key) {
    larder_index_expiry expiry = an_expiry(self, self->random);
    bool has_own = !rng_one_in(self->random, 3);
    larder_index_write_begin(self->index);
    larder_index_slot slot = find_to_write(self, key);
    if (slot != LARDER_INDEX_NONE) {
        kept *entry = &self->all[key];
        EXPECT_STATUS(self->run,
                      larder_index_set_entry_expiry(self->index, slot, has_own ? &expiry : NULL),
                      LARDER_OK);
        if (has_own || self->has_times) {
            shelf_make_timed(self);
            entry->has_own_expiry = has_own;
            entry->expiry = expiry;
            life_set(self, entry);
        }
        EXPECT(self->run, larder_index_deadline(self->index, slot) == entry->deadline,
               "key %llu is due at another time", (unsigned long long)key);
    }
    larder_index_write_end(self->index);
}

static int by_rank(const void *first, const void *second) {
    const kept *a = *(const kept *const *)first, *b = *(const kept *const *)second;
    return a->is_pinned != b->is_pinned ? (a->is_pinned ? 1 : -1)
                                        : (a->rank > b->rank) - (a->rank < b->rank);
}

/** All that is there, the first to go first, pinned ones last. @return how many. */
static size_t in_order(shelf *self, kept **sorted) {
    size_t count = 0;
    for (uint64_t key = 0; key < self->keys; key++) {
        if (self->all[key].is_there) {
            sorted[count++] = &self->all[key];
        }
    }
    qsort(sorted, count, sizeof *sorted, by_rank);
    return count;
}

static void set_limits(shelf *self) {
    static kept *sorted[KEYS];
    bool was_limited = is_limited(self);
    uint64_t count = rng_one_in(self->random, 2) ? LARDER_INDEX_UNLIMITED
                                                 : rng_between(self->random, 1, self->keys);
    uint64_t cost = rng_one_in(self->random, 2) ? LARDER_INDEX_UNLIMITED
                                                : rng_below(self->random, self->keys * 30);
    larder_index_write_begin(self->index);
    EXPECT_STATUS(self->run, larder_index_set_limits(self->index, count, cost), LARDER_OK);
    self->count_limit = count;
    self->cost_limit = cost;
    if (was_limited && !is_limited(self)) {
        size_t there = in_order(self, sorted);
        for (size_t i = 0; i < there; i++) {
            sorted[i]->rank = ++self->last_rank;
        }
    }
    evict_all(self);
    larder_index_write_end(self->index);
    EXPECT(self->run, !is_over(self), "it is over its new limits");
}

// Asking ------------------------------------------------------------------------------------------

static void check_list(shelf *self) {
    static larder_index_slot slots[3][KEYS];
    static kept *sorted[KEYS];
    size_t counts[3] = {0}, count = in_order(self, sorted);
    for (unsigned order = 0; order < 3; order++) {
        EXPECT_STATUS(self->run,
                      larder_index_list(self->index, (larder_index_order)order, slots[order], KEYS,
                                        &counts[order]),
                      LARDER_OK);
        EXPECT(self->run, counts[order] == count, "%zu are listed, not %zu", counts[order], count);
    }
    bool is_exact =
        self->options.policy == LARDER_INDEX_LRU || self->options.policy == LARDER_INDEX_FIFO;
    for (size_t i = 0; i < count && torture_unhurt(self->run); i++) {
        larder_index_slot slot = slots[LARDER_INDEX_FIRST_TO_GO][i];
        uint64_t key = payload_key(larder_index_payload(self->index, slot));
        EXPECT(self->run, slot == slots[LARDER_INDEX_LAST_TO_GO][count - 1 - i],
               "both orders differ at %zu", i);
        EXPECT(self->run, key < self->keys && self->all[key].is_there, "a key that is not there");
        EXPECT(self->run, !is_exact || &self->all[key] == sorted[i], "key %llu is not number %zu",
               (unsigned long long)key, i);
        payload_is_right(self, larder_index_payload(self->index, slot), key);
    }
    size_t one = 0;
    EXPECT_STATUS(self->run,
                  larder_index_list(self->index, LARDER_INDEX_FIRST_TO_GO, slots[1], 1, &one),
                  LARDER_OK);
    EXPECT(self->run, one == (count > 0) && (!one || slots[1][0] == slots[0][0]),
           "a list of one is %zu long", one);
}

static void check_all(shelf *self) {
    const char *reason = NULL;
    larder_index_statistics told;
    larder_index_write_begin(self->index);
    EXPECT(self->run, larder_index_check(self->index, &reason) == LARDER_OK, "%s", reason);
    EXPECT(self->run, larder_index_count(self->index) == self->count, "another count");
    EXPECT(self->run, larder_index_total_cost(self->index) == total_cost(self), "another cost");
    int64_t earliest = LARDER_INDEX_NEVER;
    for (uint64_t key = 0; key < self->keys; key++) {
        const kept *entry = &self->all[key];
        earliest = entry->is_there && entry->deadline < earliest ? entry->deadline : earliest;
    }
    // A read may have put the earliest one off, of which the index hears later.
    EXPECT(self->run, larder_index_next_deadline(self->index) <= after(self->grace, earliest),
           "another deadline");
    larder_index_get_statistics(self->index, &told);
    EXPECT(self->run,
           told.hits == self->told.hits && told.misses == self->told.misses &&
               told.insertions == self->told.insertions && told.hit_cost == self->told.hit_cost &&
               memcmp(told.gone, self->told.gone, sizeof told.gone) == 0 && told.memory_bytes > 0,
           "other statistics");
    if (rng_one_in(self->random, 3)) {
        larder_index_reset_statistics(self->index);
        self->told = (larder_index_statistics){0};
    }
    check_list(self);
    larder_index_write_end(self->index);
}

static void clear(shelf *self) {
    larder_index_write_begin(self->index);
    larder_index_clear(self->index, rng_one_in(self->random, 2));
    larder_index_write_end(self->index);
    self->told.gone[LARDER_INDEX_REMOVED] += self->count;
    self->count = 0;
    for (uint64_t key = 0; key < self->keys; key++) {
        self->all[key].is_there = false;
    }
}

// Cases -------------------------------------------------------------------------------------------

static uint64_t a_key(shelf *self) {
    // Some again and again, so that there is something to remember.
    uint64_t among = rng_one_in(self->random, 3) ? self->keys : self->keys / 16 + 1;
    return rng_below(self->random, among);
}

static void step(shelf *self, bool is_timed) {
    uint64_t dice = rng_below(self->random, 1000);
    uint64_t key = a_key(self);
    if (rng_one_in(self->random, 4)) {
        self->now += (int64_t)rng_below(self->random, 4);
    }
    if (dice < 450) {
        uint64_t heavy = rng_one_in(self->random, 200) ? self->keys * 40 : 60;
        bool is_costly = self->keys % 2 == 0;
        put(self, key, is_costly ? rng_below(self->random, heavy) : 0);
    } else if (dice < 900) {
        read_one(self, key);
    } else if (dice < 960) {
        remove_one(self, key);
    } else if (dice < 980) {
        pin(self, key, rng_one_in(self->random, 3));
    } else if (dice < 992 && is_timed) {
        set_own_expiry(self, key);
    } else if (dice == 993 && is_timed) {
        set_expiry(self);
    } else if (dice == 994) {
        set_limits(self);
    } else if (dice == 995 && rng_one_in(self->random, 6)) {
        clear(self);
    } else if (dice > 998) {
        check_all(self);
    }
}

/** What an index of this number is: each policy, with and without limits, of each shape. */
static void shelf_choose(shelf *self, rng *random, uint64_t number) {
    static const size_t sizes[][2] = {{16, 8}, {24, 8}, {12, 4}, {72, 8}, {200, 128}, {64, 64}};
    size_t shape = number / 3 % (sizeof sizes / sizeof *sizes);
    bool is_large = number % 6 == 0;
    self->hash_kind = is_large && number % 12 ? 2 : (unsigned)rng_below(random, 4) % 3 * 3 / 2;
    self->keys = is_large ? KEYS - rng_below(random, 1500) : rng_between(random, 20, 1500);
    larder_index_options_init(&self->options);
    self->options.policy = (larder_index_policy)(number % 4);
    self->options.payload_bytes = sizes[shape][0];
    self->options.payload_alignment = sizes[shape][1];
    self->options.clock = shelf_clock;
    self->options.move = rng_one_in(random, 2) ? shelf_move : NULL;
    self->options.context = self;
    self->options.readers = (uint32_t)rng_below(random, 4);
    self->count_limit = self->cost_limit = LARDER_INDEX_UNLIMITED;
    if (number / 4 % 2 == 0) {
        self->count_limit = self->keys / rng_between(random, 2, 9) + 1;
    } else if (number / 4 % 4 == 1) {
        self->cost_limit = self->keys * 5;
    }
    if (number % 5 == 4) {
        // So few that there is often nothing to choose between.
        self->keys = rng_between(random, 8, 40);
        self->count_limit = number / 5 % 4;
    }
    self->options.count_limit = self->count_limit;
    self->options.cost_limit = self->cost_limit;
}

void memory_model_case(torture *run, rng *random, uint64_t number) {
    static shelf room;
    shelf *self = &room;
    memset(self, 0, sizeof *self);
    self->run = run;
    self->random = random;
    self->now = 1000;
    self->newest = UINT64_MAX;
    self->expiry =
        (larder_index_expiry){LARDER_INDEX_NEVER, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
    shelf_choose(self, random, number);
    bool is_timed = rng_one_in(random, 2);
    if (!EXPECT_STATUS(run, larder_index_create(&self->options, &self->index), LARDER_OK)) {
        return;
    }
    self->grace = rng_one_in(random, 3) ? (int64_t)rng_between(random, 1, 300) : 0;
    larder_index_set_grace(self->index, self->grace);
    uint64_t steps = self->keys * 3 + 2000;
    for (uint64_t key = 0; self->hash_kind == 2 && key < self->keys; key++) {
        put(self, key, 0);
    }
    for (uint64_t i = 0; i < steps && torture_unhurt(run); i++) {
        step(self, is_timed);
    }
    check_all(self);
    larder_index_destroy(self->index);
}
