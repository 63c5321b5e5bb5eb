// SPDX-License-Identifier: MIT
// Of indexes in memory what seldom happens: memory that is missing at one certain place, more
// entries than there may be, a reader whose notes are full, windows that grow as far as they may.
#include <errno.h>
#include <string.h>

#include "failing_calls.h"
#include "faults.h"
#include "index/group.h"
#include "index/policy/ghost.h"
#include "index/policy/sketch.h"
#include "memory.h"

/** Held for writing. */
static larder_index *made(torture *run, larder_index_policy policy, uint64_t count_limit) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = policy;
    options.count_limit = count_limit;
    larder_index *index = NULL;
    torture_trial(run);
    if (EXPECT_STATUS(run, larder_index_create(&options, &index), LARDER_OK)) {
        larder_index_write_begin(index);
    }
    return index;
}

static void unmade(torture *run, larder_index *index, uint64_t count) {
    const char *reason = NULL;
    EXPECT(run, larder_index_check(index, &reason) == LARDER_OK, "%s", reason);
    EXPECT(run, larder_index_count(index) == count, "%llu entries, not %llu",
           (unsigned long long)larder_index_count(index), (unsigned long long)count);
    larder_index_write_end(index);
    larder_index_destroy(index);
}

static larder_status add(larder_index *index, uint64_t hash, uint64_t cost,
                         larder_index_slot *slot) {
    larder_index_slot unused;
    return larder_index_insert(index, hash, cost, slot ? slot : &unused);
}

/** The next call for memory fails. */
static void starve(void) { larder_fault_set("memory", 1, ENOMEM); }
static void feed(void) { larder_fault_set(NULL, 0, 0); }

static void insertions(torture *run) {
    larder_index *index = made(run, LARDER_INDEX_LRU, LARDER_INDEX_UNLIMITED);
    larder_index_slot slot;
    // As many as there may be.
    GIVES(add(index, mix(0), 0, &slot), LARDER_OK);
    index->count = UINT64_C(1) << 30;
    GIVES(add(index, mix(1), 0, NULL), ENOMEM);
    index->count = 1;
    // Lives that need no memory, and ones that do.
    larder_index_expiry expiry = {LARDER_INDEX_NEVER, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
    GIVES(larder_index_set_expiry(index, &expiry), LARDER_OK);
    EXPECT(run, !index->has_times, "times for nothing");
    expiry.after_write_ns = INT64_MAX / 2;
    GIVES(larder_index_set_expiry(index, &expiry), LARDER_OK);
    uint64_t count = 1;
    for (uint64_t key = 1; failing_call_count > 0 && key < 70; key++) {
        starve();
        larder_status status = add(index, mix(key), 0, NULL);
        feed();
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "an insertion gave %d", status);
        count += status == LARDER_OK;
        EXPECT(run, status == LARDER_OK || key >= 8, "key %llu", (unsigned long long)key);
    }
    for (uint64_t key = 100; key < 200; key++, count++) {
        bool is_full = index->heap_capacity == index->count;
        if (is_full && failing_call_count > 0) {
            starve();
            GIVES(add(index, mix(key), 0, NULL), ENOMEM);
            feed();
        }
        EXPECT_STATUS(run, add(index, mix(key), 0, &slot), LARDER_OK);
    }
    // A cost that there is no memory to note.
    if (failing_call_count > 0) {
        starve();
        larder_index_rewrite(index, slot, 5);
        feed();
        EXPECT(run, larder_index_cost(index, slot) == 0, "a cost out of nothing");
    }
    larder_index_rewrite(index, slot, 5);
    EXPECT(run, larder_index_total_cost(index) == 5, "another cost");
    unmade(run, index, count);
}

/** An entry that has expired, by the clock as it is now: the index looks when it is taken. */
static larder_index_slot expired_now(larder_index *index) {
    larder_index_write_end(index);
    larder_index_write_begin(index);
    return larder_index_expire(index);
}

/** Lives go on while the machine is suspended, as it can be on Linux. */
static void suspended(torture *run) {
    larder_index *index = made(run, LARDER_INDEX_LRU, LARDER_INDEX_UNLIMITED);
    const int64_t minute_ns = INT64_C(60000000000);
    larder_index_expiry expiry = {minute_ns * 60, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
    GIVES(larder_index_set_expiry(index, &expiry), LARDER_OK);
    GIVES(add(index, mix(1), 0, NULL), LARDER_OK);
    int64_t before = larder_os_coarse_ns();
    // Nobody was away for so little: the two clocks are never read at the same moment.
    larder_fault_suspend(1000000);
    EXPECT(run, larder_os_coarse_ns() - before < minute_ns, "a millisecond was a minute");
    larder_fault_suspend(minute_ns * 30);
    EXPECT(run, larder_os_coarse_ns() - before >= minute_ns * 30, "half an hour was lost");
    EXPECT(run, expired_now(index) == LARDER_INDEX_NONE, "expired after half of its life");
    larder_fault_suspend(minute_ns * 31);
    EXPECT(run, expired_now(index) != LARDER_INDEX_NONE, "still there after its life");
    unmade(run, index, 0);
}

/** What has expired is not found while the coarse clock has not come to that, and leaves before
    anything is added in its place. */
static void late_clock(torture *run) {
    enum { KEYS = 50 };
    larder_index *index = made(run, LARDER_INDEX_ADAPTIVE, LARDER_INDEX_UNLIMITED);
    larder_index_expiry expiry = {LARDER_INDEX_NEVER, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
    larder_index_slot slot;
    larder_index_probe probe;
    GIVES(larder_index_set_expiry(index, &(larder_index_expiry){1, 1, 1}), LARDER_OK);
    larder_fault_late_clock(40000000);
    for (uint64_t key = 1; key <= KEYS; key++) {
        GIVES(larder_index_set_expiry(index, &expiry), LARDER_OK);
        GIVES(add(index, mix(key), 0, &slot), LARDER_OK);
        // At this very moment, which the coarse clock comes to in 40 ms.
        larder_index_expiry now = expiry;
        now.at_ns = larder_os_fine_ns();
        GIVES(larder_index_set_entry_expiry(index, slot, &now), LARDER_OK);
        larder_index_write_end(index);
        uint32_t token = larder_index_read_first(index, mix(key), &probe);
        EXPECT(run, probe.payload == NULL, "a read found what has expired");
        larder_index_read_end(index, token, LARDER_INDEX_NONE);
        EXPECT(run, larder_index_write_first(index, mix(key), &probe), "nothing seemed due");
        EXPECT(run, larder_index_expire(index) != LARDER_INDEX_NONE, "it did not leave");
        larder_index_first(index, mix(key), &probe);
        EXPECT(run, probe.payload == NULL, "a writer found it");
    }
    larder_fault_late_clock(0);
    unmade(run, index, 0);
}

/** Numbers of segments run out wherever one is asked for: entries without an equal in their hashes,
    which enlarge segments, and such with, which need a chain. */
static void segment_numbers(torture *run) {
    enum { KEYS = 20000 };
    for (unsigned is_poor = 0; is_poor < 2 && failing_call_count > 0; is_poor++) {
        larder_index *index = made(run, LARDER_INDEX_FIFO, LARDER_INDEX_UNLIMITED);
        uint64_t refused = 0;
        for (uint64_t key = 0; key < KEYS; key++) {
            uint64_t hash = is_poor ? mix(key) & UINT32_MAX : mix(key);
            const uint32_t capacity = index->segment_capacity, free_ids = index->free_id_count;
            index->segment_capacity = index->segment_count;
            index->free_id_count = 0;
            starve();
            larder_status status = add(index, hash, 0, NULL);
            feed();
            index->segment_capacity = capacity;
            index->free_id_count = free_ids;
            if (status) {
                EXPECT(run, status == ENOMEM, "an insertion gave %d", status);
                refused++;
                EXPECT_STATUS(run, add(index, hash, 0, NULL), LARDER_OK);
            }
        }
        EXPECT(run, refused >= 6, "%llu were refused", (unsigned long long)refused);
        unmade(run, index, KEYS);
    }
}

static void count_move(void *target, void *source, void *context) {
    memcpy(target, source, sizeof(uint64_t));
    ++*(uint64_t *)context;
}

/** With a limit of entries an index grows in a few large steps, so that hardly an entry moves on
    the way there; of which each may want for memory anywhere. */
static void planned_growth(torture *run, uint64_t limit) {
    uint64_t moves = 0, starved = 0;
    larder_index_options options;
    larder_index_options_init(&options);
    options.payload_bytes = sizeof(uint64_t);
    options.count_limit = limit;
    options.move = count_move;
    options.context = &moves;
    larder_index *index = NULL;
    torture_trial(run);
    if (!EXPECT_STATUS(run, larder_index_create(&options, &index), LARDER_OK)) {
        return;
    }
    larder_index_write_begin(index);
    for (uint64_t key = 0; key < limit; key++) {
        larder_status status = ENOMEM;
        larder_index_slot slot = LARDER_INDEX_NONE;
        for (int call = 1; status == ENOMEM; call++) {
            larder_fault_set("memory", call, ENOMEM);
            status = add(index, mix(key), key % 100, &slot);
            feed();
            starved += status == ENOMEM;
        }
        if (EXPECT_STATUS(run, status, LARDER_OK)) {
            memcpy(larder_index_payload(index, slot), &key, sizeof key);
        }
    }
    for (uint64_t key = 0; key < limit; key++) {
        EXPECT(run,
               larder_index_find(index, mix(key), larder_index_equals_u64, &key) !=
                   LARDER_INDEX_NONE,
               "key %llu is gone", (unsigned long long)key);
    }
    EXPECT(run, moves < limit / 2, "%llu of %llu moved", (unsigned long long)moves,
           (unsigned long long)limit);
    EXPECT(run, failing_call_count == 0 || starved > 0, "no memory was missing");
    unmade(run, index, limit);
}

/** Costs beyond all numbers, of which there is no limit. */
static void endless_costs(torture *run) {
    larder_index *index = made(run, LARDER_INDEX_LRU, 10);
    GIVES(add(index, mix(1), UINT64_MAX, NULL), LARDER_OK);
    GIVES(add(index, mix(2), UINT64_MAX, NULL), LARDER_OK);
    EXPECT(run, larder_index_evict(index, NULL) == LARDER_INDEX_NONE, "one went");
    unmade(run, index, 2);
}

/** A reader that comes to notes which another one filled, before a writer took them up. */
static void full_notes(torture *run) {
    larder_index *index = made(run, LARDER_INDEX_ADAPTIVE, 100);
    larder_index_slot slot;
    uint64_t key = 7;
    GIVES(add(index, mix(key), 0, &slot), LARDER_OK);
    memcpy(larder_index_payload(index, slot), &key, sizeof key);
    larder_index_write_end(index);
    uint32_t token = larder_index_read_begin(index);
    if (token < READERS_MAX) {
        index_reader *reader = &index->readers[token];
        for (reader->noted = 0; reader->noted < READER_NOTES;) {
            reader->notes[reader->noted++] = slot;
        }
    }
    larder_index_read_end(index, token, slot);
    larder_index_write_begin(index);
    EXPECT(run, token >= READERS_MAX || index->readers[token].noted == 0, "notes are left");
    unmade(run, index, 1);
}

/** Stamps begin again without memory for what is to be put in order, at each of the two calls. */
static void stamps_without_memory(torture *run) {
    for (int nth = 1; nth <= 2 && failing_call_count > 0; nth++) {
        larder_index *index = made(run, LARDER_INDEX_LRU, LARDER_INDEX_UNLIMITED);
        larder_index_slot slot;
        for (uint64_t key = 0; key < 100; key++) {
            EXPECT_STATUS(run, add(index, mix(key), 0, &slot), LARDER_OK);
        }
        for (uint64_t i = 0; i < 60000; i++) {
            larder_index_touch(index, slot);
        }
        larder_index_write_end(index);
        larder_fault_set("memory", nth, ENOMEM);
        larder_index_write_begin(index);
        EXPECT(run, larder_fault_passes() >= nth, "memory was not asked for");
        feed();
        unmade(run, index, 100);
    }
}

// The adaptive policy -----------------------------------------------------------------------------

/** Ghosts and counters for as many as there may be, and for as many as there are. */
static void sizes(torture *run) {
    larder_index *index = made(run, LARDER_INDEX_ADAPTIVE, 50);
    index_ghost ghost = {0};
    index_sketch sketch = {0};
    torture_trial(run);
    larder_index_ghost_resize(index, &ghost, 100);
    index_ghost_put(&ghost, 77, 100);
    larder_index_ghost_resize(index, &ghost, 100);
    EXPECT(run, ghost.room == 100 && ghost.count == 1, "another room");
    larder_index_sketch_resize(index, &sketch, 0);
    EXPECT(run, sketch.entries == 1, "room for %llu", (unsigned long long)sketch.entries);
    if (failing_call_count > 0) {
        larder_fault_set("memory", 2, ENOMEM);
        larder_index_ghost_resize(index, &ghost, UINT64_MAX);
        starve();
        larder_index_sketch_resize(index, &sketch, UINT64_MAX);
        feed();
        EXPECT(run, ghost.room == 100 && index_ghost_take(&ghost, 77), "another room");
        EXPECT(run, sketch.entries == 1, "room for %llu", (unsigned long long)sketch.entries);
    }
    larder_index_ghost_free(index, &ghost);
    larder_index_sketch_free(index, &sketch);
    unmade(run, index, 0);
}

/** All but the newest go: the window is too large by more than one call moves. */
static void shrinking_window(torture *run) {
    enum { KEYS = 6000 };
    static larder_index_slot slots[KEYS];
    larder_index *index = made(run, LARDER_INDEX_ADAPTIVE, KEYS + 10);
    size_t count = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        EXPECT_STATUS(run, add(index, mix(key), 0, NULL), LARDER_OK);
        (void)larder_index_evict(index, NULL);
    }
    GIVES(larder_index_list(index, LARDER_INDEX_FIRST_TO_GO, slots, KEYS, &count), LARDER_OK);
    uint64_t left = count;
    for (size_t i = 0; i < count; i++) {
        // The lists of the main part; the window's number is 1.
        if (index_list_of(index, slots[i]) != 1) {
            larder_index_take(index, slots[i], LARDER_INDEX_REMOVED);
            left--;
        }
    }
    EXPECT(run, left > 30, "%llu in the window", (unsigned long long)left);
    for (uint64_t key = KEYS; key < KEYS + 50; key++, left++) {
        EXPECT_STATUS(run, add(index, mix(key), 0, NULL), LARDER_OK);
    }
    unmade(run, index, left);
}

/** What goes from the window comes back at once, over and over, beside entries that are used much:
    the window's share comes to its end. */
static void growing_window(torture *run) {
    enum { LIMIT = 16, OFTEN = 20, ROUNDS = 1000 };
    larder_index *index = made(run, LARDER_INDEX_ADAPTIVE, LIMIT);
    static bool is_in_main[ROUNDS * 2];
    uint64_t next = 0, count = 0, fresh = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        larder_index_slot slot;
        EXPECT_STATUS(run, add(index, mix(next), 0, &slot), LARDER_OK);
        memcpy(larder_index_payload(index, slot), &next, sizeof next);
        count++;
        next = fresh++;
        while ((slot = larder_index_evict(index, NULL)) != LARDER_INDEX_NONE) {
            uint64_t gone;
            memcpy(&gone, larder_index_payload(index, slot), sizeof gone);
            next = is_in_main[gone] ? next : gone;
            count--;
        }
        for (slot = larder_index_step(index, LARDER_INDEX_NONE); slot != LARDER_INDEX_NONE;
             slot = larder_index_step(index, slot)) {
            uint64_t key;
            memcpy(&key, larder_index_payload(index, slot), sizeof key);
            is_in_main[key] = index_list_of(index, slot) != 1;
            for (unsigned i = 0; i < OFTEN && is_in_main[key]; i++) {
                larder_index_touch(index, slot);
            }
        }
    }
    EXPECT(run, index->lists[1].count >= LIMIT - 2, "%llu in the window",
           (unsigned long long)index->lists[1].count);
    unmade(run, index, count);
}

enum { TAKEN_COUNT = 10000, TAKEN_LIMIT = 20000, TAKEN_STEP = 7 };

static void read_some(larder_index *index) {
    for (uint64_t i = 0; i < TAKEN_COUNT; i += TAKEN_STEP) {
        larder_index_probe probe;
        uint32_t token = larder_index_read_first(index, mix(i), &probe);
        while (probe.payload && memcmp(probe.payload, &i, sizeof i) != 0) {
            larder_index_next(index, &probe);
        }
        if (i % 2) {
            larder_index_read_hit(index, token, &probe);
        } else {
            larder_index_read_end(index, token, probe.slot);
        }
    }
}

static void take_and_count(torture *run, larder_index *index, uint64_t wanted, unsigned form) {
    static larder_index_slot room[LARDER_INDEX_TAKE_MAX_COUNT];
    larder_index_slot from = LARDER_INDEX_NONE;
    uint64_t taken = 0, calls = 0;
    do {
        size_t count;
        larder_index_take_reads(index, &from, room, LARDER_INDEX_TAKE_MAX_COUNT, &count);
        taken += count;
        calls++;
    } while (from != LARDER_INDEX_NONE);
    EXPECT(run, taken == wanted && calls > 2, "form %u: %llu reads in %llu calls, not %llu", form,
           (unsigned long long)taken, (unsigned long long)calls, (unsigned long long)wanted);
}

/** All leave, of which so many were read and not listed. */
static void leave_and_count(torture *run, larder_index *index, larder_index_slot *slots,
                            uint64_t wanted, unsigned form) {
    size_t count = 0;
    uint64_t told = 0;
    GIVES(larder_index_list(index, LARDER_INDEX_UNORDERED, slots, TAKEN_COUNT, &count), LARDER_OK);
    for (size_t i = 0; i < count; i++) {
        // Half of them are asked before: then that is the time when it is told.
        bool was_read = i % 2 && larder_index_take_read(index, slots[i]);
        larder_index_take(index, slots[i], LARDER_INDEX_EXPIRED);
        bool is_told = larder_index_left_use(index) != INT64_MIN;
        EXPECT(run, !(was_read && is_told), "form %u: a read is told twice", form);
        told += was_read || is_told;
    }
    EXPECT(run, count == TAKEN_COUNT && told == wanted, "form %u: %llu reads of %zu that left",
           form, (unsigned long long)told, count);
}

/** Reads are listed once, whatever the policy and however they were noted, over a change of limits,
    and when they come again; or are told of what leaves. */
static void taken_reads(torture *run) {
    static larder_index_slot slots[TAKEN_COUNT];
    const uint64_t all = (TAKEN_COUNT + TAKEN_STEP - 1) / TAKEN_STEP;
    for (unsigned form = 0; form < 8; form++) {
        uint64_t limit = form / 4 ? TAKEN_LIMIT : LARDER_INDEX_UNLIMITED;
        larder_index *index = made(run, (larder_index_policy)(form % 4), limit);
        for (uint64_t i = 0; i < TAKEN_COUNT; i++) {
            if (add(index, mix(i), 0, &slots[i]) == LARDER_OK) {
                memcpy(larder_index_payload(index, slots[i]), &i, sizeof i);
            }
        }
        larder_index_write_end(index);
        for (unsigned round = 0; round < 4; round++) {
            read_some(index);
            larder_index_write_begin(index);
            if (form % 2 && round == 2) {
                limit = limit == TAKEN_LIMIT ? LARDER_INDEX_UNLIMITED : TAKEN_LIMIT;
                GIVES(larder_index_set_limits(index, limit, LARDER_INDEX_UNLIMITED), LARDER_OK);
            }
            // Lists that go take with them what readers noted.
            bool is_lost = round == 2 && form == 4 + LARDER_INDEX_ADAPTIVE;
            take_and_count(run, index, is_lost ? 0 : all, form);
            take_and_count(run, index, 0, form);
            larder_index_write_end(index);
        }
        read_some(index);
        larder_index_write_begin(index);
        leave_and_count(run, index, slots, all, form);
        unmade(run, index, 0);
    }
}

/** When an entry was used last, where its deadline tells. */
static void last_uses(torture *run) {
    static const larder_index_expiry expiries[] = {
        {LARDER_INDEX_NEVER, 50, LARDER_INDEX_NEVER},
        {1000, 50, LARDER_INDEX_NEVER},
        {10, 50, LARDER_INDEX_NEVER},
        {LARDER_INDEX_NEVER, 50, 0},
        {LARDER_INDEX_NEVER, LARDER_INDEX_NEVER - 1, LARDER_INDEX_NEVER},
        {1000, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER}};
    larder_index *index = made(run, LARDER_INDEX_LRU, LARDER_INDEX_UNLIMITED);
    larder_index_slot slot;
    GIVES(add(index, mix(1), 0, &slot), LARDER_OK);
    EXPECT(run, larder_index_last_use(index, slot) == LARDER_INDEX_NEVER, "a use without times");
    for (unsigned i = 0; i < sizeof expiries / sizeof *expiries; i++) {
        GIVES(larder_index_set_entry_expiry(index, slot, &expiries[i]), LARDER_OK);
        int64_t used = larder_index_last_use(index, slot);
        EXPECT(run, (used == LARDER_INDEX_NEVER) == (i >= 2), "expiry %u tells of %lld", i,
               (long long)used);
    }
    unmade(run, index, 1);
}

void memory_rare(torture *run, void *context) {
    (void)context;
    insertions(run);
    suspended(run);
    late_clock(run);
    segment_numbers(run);
    planned_growth(run, 1000);
    planned_growth(run, 3073);
    planned_growth(run, 60000);
    endless_costs(run);
    full_notes(run);
    taken_reads(run);
    last_uses(run);
    stamps_without_memory(run);
    sizes(run);
    shrinking_window(run);
    growing_window(run);
}
