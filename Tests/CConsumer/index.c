// SPDX-License-Identifier: MIT
/** @file index.c
    A cache as a C user would make it of the index, against the installed headers and library only:
    with integers as keys, with bytes, and with a comparison of its own. C11 and C++17 at once. */
#include "check.h"

#include <stdlib.h>

// Integer keys ------------------------------------------------------------------------------------

typedef struct square {
    uint64_t key;
    uint64_t value;
} square;

static larder_index *make_squares(larder_index_policy policy, uint64_t count_limit) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = policy;
    options.payload_bytes = sizeof(square);
    options.payload_alignment = sizeof(uint64_t);
    options.count_limit = count_limit;
    larder_index *index = NULL;
    CHECK_OK(larder_index_create(&options, &index));
    return index;
}

/// 0 if the key is not there.
static uint64_t get_square(larder_index *index, uint64_t key) {
    uint32_t token = larder_index_read_begin(index);
    larder_index_slot slot =
        larder_index_find(index, larder_index_hash_u64(key), larder_index_equals_u64, &key);
    uint64_t value = 0;
    if (slot != LARDER_INDEX_NONE) value = ((square *)larder_index_payload(index, slot))->value;
    larder_index_read_end(index, token, slot);
    return value;
}

/// The key that had to go for this one; 0 if none had to.
static uint64_t set_square(larder_index *index, uint64_t key) {
    uint64_t hash = larder_index_hash_u64(key), evicted = 0;
    larder_index_write_begin(index);
    while (larder_index_expire(index) != LARDER_INDEX_NONE) {
    }
    larder_index_slot slot = larder_index_find(index, hash, larder_index_equals_u64, &key);
    if (slot != LARDER_INDEX_NONE) {
        larder_index_rewrite(index, slot, 1);
    } else {
        CHECK_OK(larder_index_insert(index, hash, 1, &slot));
    }
    square *payload = (square *)larder_index_payload(index, slot);
    payload->key = key;
    payload->value = key * key;
    larder_index_cause cause;
    while ((slot = larder_index_evict(index, &cause)) != LARDER_INDEX_NONE) {
        CHECK(cause == LARDER_INDEX_EVICTED_COUNT);
        evicted = ((square *)larder_index_payload(index, slot))->key;
    }
    larder_index_write_end(index);
    return evicted;
}

static void integer_keys_are_found_and_the_least_recent_goes(void) {
    larder_index *index = make_squares(LARDER_INDEX_LRU, 3);
    for (uint64_t key = 1; key <= 3; key++) CHECK(set_square(index, key) == 0);
    CHECK(get_square(index, 1) == 1);
    CHECK(set_square(index, 4) == 2);
    CHECK(get_square(index, 2) == 0);
    CHECK(get_square(index, 4) == 16);
    CHECK(set_square(index, 3) == 0);

    larder_index_write_begin(index);
    larder_index_slot slots[4];
    size_t count = 0;
    CHECK_OK(larder_index_list(index, LARDER_INDEX_FIRST_TO_GO, slots, 4, &count));
    CHECK(count == 3 && larder_index_count(index) == 3 && larder_index_total_cost(index) == 3);
    const uint64_t order[] = {1, 4, 3};
    for (size_t i = 0; i < count; i++) {
        CHECK(((square *)larder_index_payload(index, slots[i]))->key == order[i]);
    }
    larder_index_statistics statistics;
    larder_index_get_statistics(index, &statistics);
    CHECK(statistics.hits == 2 && statistics.misses == 1 && statistics.insertions == 4);
    CHECK(statistics.gone[LARDER_INDEX_EVICTED_COUNT] == 1);
    CHECK(statistics.memory_bytes > 0);
    const char *reason = "";
    CHECK_OK(larder_index_check(index, &reason));
    CHECK(reason == NULL);
    larder_index_write_end(index);
    larder_index_destroy(index);
}

static void every_policy_keeps_to_its_limits(void) {
    const larder_index_policy policies[] = {LARDER_INDEX_LRU, LARDER_INDEX_FIFO,
                                            LARDER_INDEX_S3FIFO, LARDER_INDEX_ADAPTIVE};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        larder_index *index = make_squares(policies[i], 100);
        for (uint64_t step = 0; step < 20000; step++) {
            uint64_t key = 1 + step * 7919 % (step % 3 == 0 ? 1000 : 60);
            uint64_t value = get_square(index, key);
            CHECK(value == 0 || value == key * key);
            if (value == 0) set_square(index, key);
            CHECK(get_square(index, key) == key * key);
        }
        larder_index_write_begin(index);
        CHECK(larder_index_count(index) == 100);
        CHECK_OK(larder_index_set_limits(index, 10, LARDER_INDEX_UNLIMITED));
        while (larder_index_evict(index, NULL) != LARDER_INDEX_NONE) {
        }
        CHECK(larder_index_count(index) == 10);
        CHECK_OK(larder_index_check(index, NULL));
        larder_index_clear(index, false);
        CHECK(larder_index_count(index) == 0);
        larder_index_write_end(index);
        larder_index_destroy(index);
    }
}

// Byte keys, and what the payloads own ------------------------------------------------------------

typedef struct page {
    larder_bytes key;
    char *text;
} page;

static int pages_alive;

static char *copy_of(const char *text) {
    char *copy = (char *)malloc(strlen(text) + 1);
    CHECK(copy != NULL);
    if (copy) strcpy(copy, text);
    pages_alive++;
    return copy;
}

static void release_page(larder_index *index, larder_index_slot slot) {
    page *payload = (page *)larder_index_payload(index, slot);
    free((void *)(uintptr_t)payload->key.data);
    free(payload->text);
    pages_alive -= 2;
}

static larder_bytes bytes_of(const char *text) {
    larder_bytes bytes;
    bytes.data = text;
    bytes.length = strlen(text);
    return bytes;
}

static larder_index_slot find_page(larder_index *index, const char *path) {
    larder_bytes key = bytes_of(path);
    uint64_t hash = larder_index_hash_bytes(key.data, key.length);
    return larder_index_find(index, hash, larder_index_equals_bytes, &key);
}

static void set_page(larder_index *index, const char *path, const char *text) {
    larder_index_write_begin(index);
    larder_index_slot slot = find_page(index, path);
    if (slot != LARDER_INDEX_NONE) {
        larder_index_take(index, slot, LARDER_INDEX_REPLACED);
        release_page(index, slot);
    }
    page fresh;
    fresh.key = bytes_of(copy_of(path));
    fresh.text = copy_of(text);
    uint64_t hash = larder_index_hash_bytes(fresh.key.data, fresh.key.length);
    CHECK_OK(larder_index_insert(index, hash, strlen(text), &slot));
    memcpy(larder_index_payload(index, slot), &fresh, sizeof fresh);
    while ((slot = larder_index_evict(index, NULL)) != LARDER_INDEX_NONE) {
        release_page(index, slot);
    }
    larder_index_write_end(index);
}

static void check_page(larder_index *index, const char *path, const char *text) {
    uint32_t token = larder_index_read_begin(index);
    larder_index_slot slot = find_page(index, path);
    CHECK_TEXT(slot == LARDER_INDEX_NONE ? "none"
                                         : ((page *)larder_index_payload(index, slot))->text,
               text);
    larder_index_read_end(index, token, slot);
}

static void byte_keys_own_what_they_point_to(void) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = LARDER_INDEX_LRU;
    options.payload_bytes = sizeof(page);
    options.payload_alignment = sizeof(void *);
    options.cost_limit = 20;
    larder_index *index = NULL;
    CHECK_OK(larder_index_create(&options, &index));
    set_page(index, "/", "12345678");
    set_page(index, "/a", "12345678");
    check_page(index, "/", "12345678");
    set_page(index, "/b", "1234");
    check_page(index, "/a", "12345678");
    set_page(index, "/b", "12345");
    check_page(index, "/", "none");
    check_page(index, "/b", "12345");
    set_page(index, "/c", "this is more than the limit");
    check_page(index, "/c", "none");
    check_page(index, "/a", "12345678");
    CHECK(pages_alive == 4);

    larder_index_write_begin(index);
    larder_index_slot slots[8];
    size_t count = 0;
    CHECK_OK(larder_index_list(index, LARDER_INDEX_UNORDERED, slots, 8, &count));
    for (size_t i = 0; i < count; i++) release_page(index, slots[i]);
    larder_index_clear(index, true);
    larder_index_write_end(index);
    larder_index_destroy(index);
    CHECK(pages_alive == 0);
}

// A comparison, a clock and moves of one's own ----------------------------------------------------

typedef struct world {
    int64_t now;
    int moves;
} world;

static int64_t world_clock(void *context) { return ((world *)context)->now; }

static void world_move(void *target, void *source, void *context) {
    memcpy(target, source, sizeof(uint32_t));
    ((world *)context)->moves++;
}

/// Words without regard to case; the payload is a number from a table.
static const char *const words[] = {"Larder", "LARDER", "pantry", "cellar"};

static int is_word(uint32_t number, const char *word) {
    const char *at = words[number];
    while (*at && (*at | 32) == (*word | 32)) at++, word++;
    return *at == *word;
}

static larder_index_slot find_word(larder_index *index, const char *word) {
    larder_index_probe probe;
    larder_index_first(index, (uint64_t)(word[0] | 32) << 40, &probe);
    while (probe.payload && !is_word(*(uint32_t *)probe.payload, word)) {
        larder_index_next(index, &probe);
    }
    return probe.slot;
}

static void a_comparison_and_a_clock_of_the_callers_do(void) {
    world now = {0, 0};
    larder_index_options options;
    larder_index_options_init(&options);
    options.payload_bytes = sizeof(uint32_t);
    options.payload_alignment = sizeof(uint32_t);
    options.clock = world_clock;
    options.move = world_move;
    options.context = &now;
    larder_index *index = NULL;
    CHECK_OK(larder_index_create(&options, &index));
    larder_index_write_begin(index);
    larder_index_slot slot = LARDER_INDEX_NONE;
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t number = 1; number < 4; number++) {
            CHECK_OK(larder_index_insert(index, (uint64_t)(words[number][0] | 32) << 40, 0, &slot));
            *(uint32_t *)larder_index_payload(index, slot) = number;
        }
    }
    CHECK(now.moves > 0);
    slot = find_word(index, "lARDER");
    CHECK(slot != LARDER_INDEX_NONE && *(uint32_t *)larder_index_payload(index, slot) == 1);
    CHECK(find_word(index, "lard") == LARDER_INDEX_NONE);

    larder_index_expiry expiry = {10, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
    CHECK_OK(larder_index_set_entry_expiry(index, slot, &expiry));
    CHECK_OK(larder_index_pin(index, slot, true));
    CHECK(larder_index_is_pinned(index, slot));
    CHECK(larder_index_deadline(index, slot) == 10 && larder_index_next_deadline(index) == 10);
    larder_index_write_end(index);
    now.now = 10;
    CHECK(larder_index_now(index) == 10 && larder_index_is_due(index));
    larder_index_write_begin(index);
    CHECK(larder_index_expire(index) == slot);
    CHECK(larder_index_expire(index) == LARDER_INDEX_NONE && larder_index_count(index) == 299);
    CHECK_OK(larder_index_check(index, NULL));
    larder_index_write_end(index);
    larder_index_destroy(index);
}

static void what_cannot_be_made_is_an_error_and_leaves_nothing(void) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.payload_alignment = 12;
    larder_index *index = make_squares(LARDER_INDEX_FIFO, 1), *none = index;
    CHECK(larder_index_create(&options, &none) == LARDER_EINVALID);
    CHECK(none == NULL);
    larder_index_destroy(index);
    larder_index_destroy(NULL);
}

int main(void) {
    RUN(integer_keys_are_found_and_the_least_recent_goes);
    RUN(every_policy_keeps_to_its_limits);
    RUN(byte_keys_own_what_they_point_to);
    RUN(a_comparison_and_a_clock_of_the_callers_do);
    RUN(what_cannot_be_made_is_an_error_and_leaves_nothing);
    return check_summary();
}
