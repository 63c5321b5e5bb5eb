// SPDX-License-Identifier: MIT
// What a program does with a store, on stores that are not what they seem.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static volatile uint8_t sink;

static void use(larder_bytes bytes) {
    const uint8_t *from = bytes.data;
    for (size_t i = 0; i < bytes.length; i += 1 + bytes.length / 4096) {
        sink ^= from[i];
    }
}

static void use_entry(larder_store_entry *entry) {
    use(entry->key);
    use(entry->value);
    use(entry->extended);
    larder_store_release(entry);
}

static void walk(larder_store *store, const larder_store_query *query) {
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    larder_status status = larder_store_cursor_open(store, query, &cursor);
    // Damage is stepped over, never twice.
    for (unsigned step = 0; !status || status == LARDER_EDAMAGED; step++) {
        if (cursor == NULL) {
            break;
        }
        if (step > 1000000) {
            fprintf(stderr, "a cursor goes on for ever\n");
            abort();
        }
        status = larder_store_cursor_next(cursor, &entry);
        if (!status) {
            use_entry(&entry);
        }
    }
    larder_store_cursor_close(cursor);
}

static void read_all(larder_store *store, unsigned keys, rng *random) {
    char key[1100];
    for (unsigned n = 0; n < keys; n += 1 + (unsigned)rng_below(random, 4)) {
        larder_store_entry entry;
        size_t length = hostile_key(n, (unsigned)rng_below(random, 5), key);
        if (!larder_store_get(store, (larder_bytes){key, length}, 0, &entry)) {
            use_entry(&entry);
        }
    }
    for (unsigned order = 0; order < 6; order++) {
        larder_store_query query;
        uint64_t count;
        larder_store_query_init(&query);
        query.order = (larder_store_order)(order / 2);
        query.index = 1;
        query.flags = order % 2 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        walk(store, &query);
        (void)!larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
    }
    larder_store_statistics statistics;
    larder_store_report report;
    (void)!larder_store_statistics_get(store, &statistics);
    (void)!larder_store_recovery(store, &report);
}

static void check(larder_store *store) {
    larder_store_report report;
    (void)!larder_store_check(store, NULL, NULL, &report);
}

static void write_all(larder_store *store, unsigned keys, rng *random, unsigned rounds) {
    for (unsigned round = 0; round < rounds; round++) {
        unsigned kind = (unsigned)rng_below(random, 5);
        unsigned from = (unsigned)rng_below(random, 4);
        unsigned step = 1 + (unsigned)rng_below(random, 5);
        for (unsigned n = from; n < keys; n += step) {
            char key[1100];
            if (rng_one_in(random, 1 + round % 3 * 2)) {
                (void)!hostile_put(store, n, kind, round);
            } else {
                size_t length = hostile_key(n, kind, key);
                (void)!larder_store_remove(store, (larder_bytes){key, length}, 0);
            }
        }
        (void)!larder_store_flush(store);
    }
}

static void change_all(larder_store *store, unsigned keys, rng *random) {
    write_all(store, keys, random, 3);
    check(store);
    uint64_t removed;
    (void)!larder_store_trim(store, 20, 2000, &removed);
    (void)!larder_store_remove_prefix(store, (larder_bytes){"b/", 2}, &removed);
    (void)!larder_store_flush(store);
    if (rng_one_in(random, 4)) {
        (void)!larder_store_remove_all(store, NULL, NULL);
        (void)!larder_store_flush(store);
    }
    write_all(store, keys, random, 2);
    read_all(store, keys, random);
    check(store);
}

void exercise(unsigned which, const char *folder, const char *target, unsigned keys,
              uint64_t seed) {
    rng random = rng_make(seed);
    // All that it has, and a few or many more: those cost more than what a mutant may hurt.
    keys = rng_one_in(&random, 4) ? HOSTILE_KEYS : keys + keys / 8;
    larder_store *store = NULL;
    larder_store_report report;
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = rng_one_in(&random, 2) ? (uint32_t)LARDER_STORE_WITH_UNCERTAIN : 0;
    bool rebuilds = rng_one_in(&random, 2);
    const char *changed = folder;
    switch (which) {
    case 0:
        if (!hostile_open(folder, LARDER_STORE_READ_ONLY, &store)) {
            read_all(store, keys, &random);
            check(store);
            (void)!larder_store_backup(store, target, NULL, NULL);
        }
        larder_store_close(store);
        return;
    case 1: break;
    case 2:
        (void)!larder_store_salvage(folder, target, &options, NULL, NULL, &report);
        changed = target;
        break;
    case 3: (void)!larder_store_rebuild(folder, &options, NULL, NULL, &report); break;
    case 4: (void)!larder_store_compact(folder, NULL, NULL, NULL, NULL, NULL); break;
    default:
        if (!hostile_open(folder, rebuilds ? (uint32_t)LARDER_STORE_REBUILDS : 0, &store)) {
            write_all(store, keys, &random, 1);
        }
        larder_store_close(store);
        store = NULL;
        break;
    }
    if (!hostile_open(changed, which == 1 && rebuilds ? (uint32_t)LARDER_STORE_REBUILDS : 0,
                      &store)) {
        change_all(store, keys, &random);
    }
    larder_store_close(store);
}
