// SPDX-License-Identifier: MIT
/** @file store.c
    A program as a C user would write it of the store, against the installed headers and libraries
    only: put and get, versions, batches, orders, limits, files of values, a copy. C11 and C++17 at
    once. */
#include "check.h"

#include <larder_store.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder;

static const char *path_of(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static larder_bytes bytes_of(const char *text) {
    larder_bytes bytes;
    bytes.data = text;
    bytes.length = strlen(text);
    return bytes;
}

static larder_store_options make_options(void) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.journal_bytes = 1 << 20;
    return options;
}

static larder_store *open_store(const char *name, const larder_store_options *options) {
    larder_store_options defaults = make_options();
    larder_store *store = NULL;
    CHECK_OK(larder_store_open(path_of(name), options ? options : &defaults, NULL, &store));
    return store;
}

static uint64_t put(larder_store *store, const char *key, const char *value) {
    larder_store_item item;
    larder_store_item_init(&item, bytes_of(key), bytes_of(value));
    uint64_t version = 0;
    CHECK_OK(larder_store_put(store, &item, &version));
    return version;
}

/// The value as text, until the next call; "none" if there is none.
static const char *get(larder_store *store, const char *key) {
    static char text[256];
    larder_store_entry entry;
    larder_status status = larder_store_get(store, bytes_of(key), 0, &entry);
    if (status == LARDER_ENOTFOUND) return "none";
    CHECK_OK(status);
    CHECK(entry.value.length < sizeof text && entry.value_bytes == entry.value.length);
    size_t length = entry.value.length < sizeof text ? entry.value.length : 0;
    if (length > 0) memcpy(text, entry.value.data, length);
    text[length] = '\0';
    larder_store_release(&entry);
    return text;
}

/// The keys as the query finds them, each followed by a comma; they are as many as are counted.
static const char *keys(larder_store *store, const larder_store_query *query) {
    static char text[256];
    size_t used = 0;
    uint64_t count = 0, counted;
    larder_store_cursor *cursor = NULL;
    CHECK_OK(larder_store_cursor_open(store, query, &cursor));
    larder_store_entry entry;
    larder_status status;
    while ((status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
        CHECK(used + entry.key.length + 2 <= sizeof text);
        if (entry.key.length > 0) memcpy(text + used, entry.key.data, entry.key.length);
        used += entry.key.length;
        text[used++] = ',';
        count++;
    }
    CHECK(status == LARDER_END);
    larder_store_cursor_close(cursor);
    CHECK_OK(larder_store_count(store, query, LARDER_STORE_UNLIMITED, &counted));
    CHECK(counted == count);
    text[used] = '\0';
    return text;
}

static void check_sound(larder_store *store) {
    larder_store_report report;
    CHECK_OK(larder_store_check(store, NULL, NULL, &report));
    CHECK(report.damaged == 0 && report.inconsistencies == 0);
}

static void entries_are_there_after_a_reopen(void) {
    larder_store *store = open_store("reopen", NULL);
    uint64_t first = put(store, "apple", "red");
    CHECK(put(store, "pear", "green") > first);
    CHECK(put(store, "", "under the empty key") > first);
    CHECK(put(store, "empty", "") > first);
    CHECK_TEXT(get(store, "apple"), "red");
    CHECK(put(store, "apple", "yellow") > first);
    CHECK_OK(larder_store_remove(store, bytes_of("pear"), 0));
    CHECK_TEXT(get(store, "pear"), "none");
    CHECK_OK(larder_store_sync(store));
    larder_store_close(store);

    store = open_store("reopen", NULL);
    CHECK_TEXT(get(store, "apple"), "yellow");
    CHECK_TEXT(get(store, "pear"), "none");
    CHECK_TEXT(get(store, ""), "under the empty key");
    CHECK_TEXT(get(store, "empty"), "");
    CHECK_OK(larder_store_contains(store, bytes_of("empty")));
    CHECK(larder_store_contains(store, bytes_of("pear")) == LARDER_ENOTFOUND);
    uint64_t count = 0, bytes = 0;
    CHECK_OK(larder_store_totals(store, &count, &bytes));
    CHECK(count == 3 && bytes == 25);
    check_sound(store);
    larder_store_close(store);
    larder_store_close(NULL);
}

static void a_batch_is_all_or_nothing_and_knows_versions(void) {
    larder_store *store = open_store("batch", NULL);
    uint64_t version = put(store, "stock", "1");
    larder_store_batch *batch = NULL;
    CHECK_OK(larder_store_batch_create(store, &batch));
    larder_store_item item;
    larder_store_item_init(&item, bytes_of("sold"), bytes_of("1"));
    CHECK_OK(larder_store_batch_require(batch, bytes_of("stock"), version));
    CHECK_OK(larder_store_batch_require(batch, bytes_of("sold"), 0));
    CHECK_OK(larder_store_batch_put(batch, &item));
    CHECK_OK(larder_store_batch_remove(batch, bytes_of("stock")));
    CHECK_TEXT(get(store, "sold"), "none");
    CHECK_OK(larder_store_batch_commit(batch, LARDER_STORE_SYNCED, NULL));
    CHECK_TEXT(get(store, "sold"), "1");
    CHECK_TEXT(get(store, "stock"), "none");

    CHECK_OK(larder_store_batch_require(batch, bytes_of("stock"), version));
    CHECK_OK(larder_store_batch_remove(batch, bytes_of("sold")));
    CHECK(larder_store_batch_commit(batch, 0, NULL) == LARDER_ECONFLICT);
    CHECK_TEXT(get(store, "sold"), "1");

    uint64_t last = 0;
    CHECK_OK(larder_store_last_sequence(store, &last));
    larder_store_batch_require_unchanged(batch, last);
    CHECK_OK(larder_store_batch_remove(batch, bytes_of("sold")));
    CHECK(put(store, "other", "1") > last);
    CHECK(larder_store_batch_commit(batch, 0, NULL) == LARDER_ECONFLICT);
    larder_store_batch_destroy(batch);
    larder_store_batch_destroy(NULL);
    check_sound(store);
    larder_store_close(store);
}

static larder_status put_unique(larder_store_batch *batch, const char *key, const char *code) {
    larder_store_index_entry found;
    found.index = 3;
    found.value = bytes_of(code);
    larder_store_item item;
    larder_store_item_init(&item, bytes_of(key), bytes_of("1"));
    item.indexes = &found;
    item.index_count = 1;
    larder_status status = larder_store_batch_put(batch, &item);
    return status ? status : larder_store_batch_require_unique(batch, 3, bytes_of(code));
}

static void a_value_of_an_index_can_be_unique(void) {
    larder_store *store = open_store("unique", NULL);
    larder_store_batch *batch = NULL;
    uint16_t index = 1;
    CHECK_OK(larder_store_batch_create(store, &batch));
    CHECK_OK(put_unique(batch, "one", "a"));
    CHECK_OK(put_unique(batch, "two", "b"));
    CHECK_OK(larder_store_batch_commit(batch, 0, NULL));
    CHECK(larder_store_batch_duplicate(batch, &index) == LARDER_ENOTFOUND && index == 0);
    for (int flushed = 0; flushed < 2; flushed++) {
        CHECK_OK(put_unique(batch, "three", "a"));
        CHECK(larder_store_batch_commit(batch, 0, NULL) == LARDER_ECONFLICT);
        CHECK_OK(larder_store_batch_duplicate(batch, &index));
        CHECK(index == 3);
        CHECK_TEXT(get(store, "three"), "none");
        CHECK_OK(larder_store_flush(store));
    }
    CHECK_OK(put_unique(batch, "one", "b"));
    CHECK_OK(put_unique(batch, "two", "a"));
    CHECK_OK(larder_store_batch_commit(batch, LARDER_STORE_SYNCED, NULL));
    larder_store_batch_destroy(batch);
    check_sound(store);
    larder_store_close(store);
}

static void cursors_go_by_key_by_use_and_by_index(void) {
    larder_store_options options = make_options();
    options.flags = LARDER_STORE_TRACK_ACCESS;
    larder_store *store = open_store("orders", &options);
    const char *const cities[][2] = {
        {"Oslo", "no"}, {"Bergen", "no"}, {"Lima", "pe"}, {"Paris", "fr"}, {"Lyon", "fr"}};
    for (size_t i = 0; i < sizeof cities / sizeof *cities; i++) {
        larder_store_index_entry country;
        country.index = 7;
        country.value = bytes_of(cities[i][1]);
        larder_store_item item;
        larder_store_item_init(&item, bytes_of(cities[i][0]), bytes_of("a city"));
        item.indexes = &country;
        item.index_count = 1;
        CHECK_OK(larder_store_put(store, &item, NULL));
    }
    CHECK_TEXT(get(store, "Oslo"), "a city");
    for (int flushed = 0; flushed < 2; flushed++) {
        larder_store_query query;
        larder_store_query_init(&query);
        CHECK_TEXT(keys(store, &query), "Bergen,Lima,Lyon,Oslo,Paris,");
        query.flags = LARDER_STORE_DESCENDING | LARDER_STORE_HAS_UPPER;
        query.upper = bytes_of("Lyon");
        CHECK_TEXT(keys(store, &query), "Lyon,Lima,Bergen,");
        larder_store_query_init(&query);
        query.prefix = bytes_of("L");
        CHECK_TEXT(keys(store, &query), "Lima,Lyon,");
        larder_store_query_init(&query);
        query.order = LARDER_STORE_BY_INDEX;
        query.index = 7;
        CHECK_TEXT(keys(store, &query), "Lyon,Paris,Bergen,Oslo,Lima,");
        larder_store_query_init(&query);
        query.order = LARDER_STORE_BY_RECENCY;
        CHECK_TEXT(keys(store, &query), "Bergen,Lima,Paris,Lyon,Oslo,");
        CHECK_OK(larder_store_flush(store));
    }
    uint64_t removed = 0;
    CHECK_OK(larder_store_trim(store, 3, LARDER_STORE_UNLIMITED, &removed));
    CHECK(removed == 2);
    CHECK_TEXT(get(store, "Bergen"), "none");
    CHECK_OK(larder_store_remove_prefix(store, bytes_of("L"), &removed));
    CHECK(removed == 1);
    check_sound(store);
    CHECK_OK(larder_store_remove_all(store, NULL, NULL));
    uint64_t count = 1, bytes = 1;
    CHECK_OK(larder_store_totals(store, &count, &bytes));
    CHECK(count == 0 && bytes == 0);
    check_sound(store);
    larder_store_close(store);
}

static int64_t clock_of(void *context) { return *(const int64_t *)context; }

static void entries_expire_by_the_clock_of_the_caller(void) {
    int64_t now = 1000;
    larder_store_options options = make_options();
    options.clock = clock_of;
    options.context = &now;
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    larder_store *store = open_store("expiry", &options);
    larder_store_item item;
    larder_store_item_init(&item, bytes_of("milk"), bytes_of("fresh"));
    item.expires_ns = 2000;
    item.extended = bytes_of("from the farm");
    CHECK_OK(larder_store_put(store, &item, NULL));
    put(store, "salt", "for ever");
    larder_store_entry entry;
    CHECK_OK(larder_store_get(store, bytes_of("milk"), LARDER_STORE_PEEK, &entry));
    CHECK(entry.expires_ns == 2000 && entry.written_ns == 1000);
    CHECK(entry.extended.length == 13 && memcmp(entry.extended.data, "from the farm", 13) == 0);
    larder_store_release(&entry);
    now = 2000;
    CHECK_TEXT(get(store, "milk"), "none");
    CHECK_OK(larder_store_maintain(store));
    uint64_t removed = 9;
    CHECK_OK(larder_store_remove_expired(store, &removed));
    uint64_t count = 0, bytes = 0;
    CHECK_OK(larder_store_totals(store, &count, &bytes));
    CHECK(count == 1 && bytes == 8);
    check_sound(store);
    larder_store_close(store);
}

static void a_value_is_copied(void) {
    larder_store *store = open_store("copied", NULL);
    put(store, "milk", "fresh");
    put(store, "air", "");
    char text[6] = "_____";
    size_t length = 9;
    CHECK_OK(larder_store_copy_value(store, bytes_of("milk"), 0, text, sizeof text, &length));
    CHECK(length == 5 && memcmp(text, "fresh", 5) == 0);
    memset(text, '_', 5);
    CHECK(larder_store_copy_value(store, bytes_of("milk"), 0, text, 4, &length) ==
          LARDER_ETOOLARGE);
    CHECK(length == 5 && memcmp(text, "_____", 5) == 0);
    CHECK(larder_store_copy_value(store, bytes_of("milk"), LARDER_STORE_PEEK, NULL, 0, &length) ==
          LARDER_ETOOLARGE);
    CHECK(length == 5);
    CHECK_OK(larder_store_copy_value(store, bytes_of("air"), 0, NULL, 0, &length));
    CHECK(length == 0);
    length = 9;
    CHECK(larder_store_copy_value(store, bytes_of("salt"), 0, text, sizeof text, &length) ==
          LARDER_ENOTFOUND);
    CHECK(length == 0);
    CHECK(larder_store_copy_value(store, bytes_of("milk"), LARDER_STORE_WITHOUT_VALUE, text,
                                  sizeof text, &length) == LARDER_EINVALID);
    larder_store_statistics now;
    CHECK_OK(larder_store_statistics_get(store, &now));
    CHECK(now.hits == 3 && now.misses == 1);
    larder_store_close(store);
}

static void a_large_value_is_retained_and_outlives_its_entry_and_the_store(void) {
    enum { SIZE = 300000 };
    larder_store *store = open_store("large", NULL);
    char *large = (char *)malloc(SIZE);
    CHECK(large != NULL);
    if (!large) return;
    memset(large, 'L', SIZE);
    larder_store_item item;
    larder_bytes value;
    value.data = large;
    value.length = SIZE;
    larder_store_item_init(&item, bytes_of("large"), value);
    CHECK_OK(larder_store_put(store, &item, NULL));
    larder_store_entry entry;
    CHECK_OK(larder_store_get(store, bytes_of("large"), 0, &entry));
    CHECK((entry.flags & LARDER_STORE_ENTRY_IN_LOG) != 0);
    CHECK(entry.value.length == SIZE && memcmp(entry.value.data, large, SIZE) == 0);
    larder_bytes kept = entry.value;
    void *retained = NULL;
    CHECK_OK(larder_store_retain_value(&entry, &retained));
    larder_store_release(&entry);
    CHECK_OK(larder_store_remove(store, bytes_of("large"), 0));
    CHECK_OK(larder_store_flush(store));
    CHECK(kept.length == SIZE && memcmp(kept.data, large, SIZE) == 0);
    larder_store_close(store);
    CHECK(memcmp(kept.data, large, SIZE) == 0);
    larder_store_release_value(retained);
    free(large);
}

static void one_handle_writes_and_others_read(void) {
    larder_store *store = open_store("busy", NULL), *other = store;
    put(store, "a", "1");
    larder_store_detail detail;
    CHECK(larder_store_open(path_of("busy"), NULL, &detail, &other) == LARDER_EBUSY);
    CHECK(other == NULL && detail.holder_pid == (int64_t)getpid());
    larder_store_options options = make_options();
    options.flags = LARDER_STORE_READ_ONLY;
    larder_store *reader = open_store("busy", &options);
    CHECK_TEXT(get(reader, "a"), "1");
    larder_store_item item;
    larder_store_item_init(&item, bytes_of("b"), bytes_of("2"));
    CHECK(larder_store_put(reader, &item, NULL) == LARDER_EREADONLY);
    put(store, "b", "2");
    CHECK_TEXT(get(reader, "b"), "2");
    larder_store_close(reader);
    CHECK_OK(larder_store_shutdown(store));
    CHECK(larder_store_put(store, &item, NULL) == LARDER_ECLOSED);
    larder_store_close(store);
    CHECK(larder_store_open(path_of("missing/too"), NULL, NULL, &other) == ENOENT);
}

static void a_store_is_copied_salvaged_and_compacted(void) {
    larder_store *store = open_store("original", NULL);
    put(store, "a", "1");
    put(store, "b", "2");
    char copy[4096], rescued[4096];
    snprintf(copy, sizeof copy, "%s/copy", folder);
    snprintf(rescued, sizeof rescued, "%s/rescued", folder);
    CHECK_OK(larder_store_backup(store, copy, NULL, NULL));
    put(store, "c", "3");
    larder_store_close(store);
    larder_store_report report;
    CHECK_OK(larder_store_salvage(path_of("original"), rescued, NULL, NULL, NULL, &report));
    CHECK(report.intact == 3);
    CHECK_OK(larder_store_compact(path_of("original"), NULL, NULL, NULL, NULL, NULL));
    const char *const names[] = {"copy", "rescued", "original"};
    for (size_t i = 0; i < 3; i++) {
        larder_store *again = open_store(names[i], NULL);
        CHECK_TEXT(get(again, "b"), "2");
        CHECK_TEXT(get(again, "c"), i == 0 ? "none" : "3");
        check_sound(again);
        larder_store_statistics statistics;
        CHECK_OK(larder_store_statistics_get(again, &statistics));
        CHECK(statistics.count == (i == 0 ? 2u : 3u));
        larder_store_close(again);
    }
}

int main(int count, char **values) {
    if (count != 2) {
        fprintf(stderr, "Usage: store FOLDER\n");
        return 64;
    }
    folder = values[1];
    RUN(entries_are_there_after_a_reopen);
    RUN(a_batch_is_all_or_nothing_and_knows_versions);
    RUN(a_value_of_an_index_can_be_unique);
    RUN(cursors_go_by_key_by_use_and_by_index);
    RUN(entries_expire_by_the_clock_of_the_caller);
    RUN(a_value_is_copied);
    RUN(a_large_value_is_retained_and_outlives_its_entry_and_the_store);
    RUN(one_handle_writes_and_others_read);
    RUN(a_store_is_copied_salvaged_and_compacted);
    return check_summary();
}
