// SPDX-License-Identifier: MIT
// Folders of stores as this version makes them, for the tests that later versions read them or
// refuse them: store-2 and store-2-unclosed. Those of version 1 were made by a program like this,
// which is in the history of this file, and stay for the tests that they are refused.
#include "make_corpus.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "larder_store.h"

static int64_t clock_of(void *context) {
    (void)context;
    return 1000;
}

static larder_bytes text(const char *characters) {
    return (larder_bytes){characters, strlen(characters)};
}

static int put(larder_store *store, larder_bytes key, larder_bytes value, const char *place) {
    larder_store_item item;
    larder_store_item_init(&item, key, value);
    larder_store_index_entry index = {3, {place, place ? strlen(place) : 0}};
    if (place) {
        item.indexes = &index;
        item.index_count = 1;
    }
    if (key.length == 5 && memcmp(key.data, "apple", 5) == 0) {
        item.extended = text("a fruit");
        item.expires_ns = 9000;
        item.cost = 5;
    }
    return larder_store_put(store, &item, NULL) != LARDER_OK;
}

/** Segments are small, so that the folders are, and so that there are some that cleaning made. */
static int fill(const char *path, int stays_open) {
    char large[5000], key[700];
    memset(large, 'L', sizeof large);
    memset(key, 'k', sizeof key);
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = tuning.segment_max_bytes = 4096;
    tuning.space_percent = 100;
    larder_store_options options;
    larder_store_options_init(&options);
    options.journal_bytes = 64 << 10;
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    options.clock = clock_of;
    options.tuning = &tuning;
    larder_store *store = NULL;
    if (larder_store_open(path, &options, NULL, &store) != LARDER_OK) {
        return 1;
    }
    int bad =
        put(store, text("apple"), text("green"), "b") + put(store, text("gone"), text("x"), NULL);
    bad += put(store, text("large"), (larder_bytes){large, sizeof large}, NULL);
    bad += larder_store_flush(store) != LARDER_OK;
    // Replaced, so that their segments hold little that is needed.
    for (int round = 0; round < 4; round++) {
        larder_bytes filler = {large, 3000};
        bad += put(store, text("filler"), filler, NULL) + put(store, text("pear"), filler, "a");
        bad += larder_store_remove(store, text("filler"), 0) != LARDER_OK;
        bad += larder_store_flush(store) != LARDER_OK;
    }
    bad +=
        put(store, text("apple"), text("red"), "b") + put(store, text("pear"), text("green"), "a");
    bad += put(store, text(""), text("under the empty key"), NULL);
    bad += put(store, (larder_bytes){key, sizeof key}, text("under a long key"), NULL);
    bad += larder_store_remove(store, text("gone"), 0) != LARDER_OK;
    if (stays_open) {
        _exit(bad);
    }
    larder_store_close(store);
    return bad;
}

void make_store_fixtures(const char *folder) {
    char path[600], name[700];
    snprintf(path, sizeof path, "%s/../fixtures", folder);
    mkdir(path, 0777);
    for (int open = 0; open < 2; open++) {
        snprintf(path, sizeof path, "%s/../fixtures/store-2%s", folder, open ? "-unclosed" : "");
        snprintf(name, sizeof name, "rm -rf '%s'", path);
        int status = system(name);
        pid_t child = fork();
        if (child == 0) {
            _exit(fill(path, open));
        }
        if (waitpid(child, &status, 0) < 0 || status != 0) {
            fputs("make-corpus: cannot make a store\n", stderr);
            exit(1);
        }
        // Of this machine and this moment alone.
        snprintf(name, sizeof name, "%s/lock", path);
        unlink(name);
        snprintf(name, sizeof name, "%s/lock.mdb", path);
        unlink(name);
    }
}
