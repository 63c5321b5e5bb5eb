// SPDX-License-Identifier: MIT
// Every status that larder_ring.h and larder_store.h list for a function is provoked, by name. What
// comes from the system, ENOMEM and EIO for example, the families of failing calls provoke.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "store.h"

static int stops(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return 1;
}

/** Runs `body` in a child of fork(2), whose handles are its parent's. */
static void as_child(torture *run, void (*body)(torture *, void *), void *context) {
    torture_guard(run, 20, body, context);
}

static bool flip(const char *path, int64_t at) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    uint8_t byte;
    bool good = pread(file, &byte, 1, at) == 1;
    byte ^= 0x55;
    good = good && pwrite(file, &byte, 1, at) == 1;
    close(file);
    return good;
}

// Rings -------------------------------------------------------------------------------------------

typedef struct ring_call {
    const char *name;
    larder_status (*call)(larder_ring *ring);
    /** What it gives on a handle that cannot write: LARDER_OK, LARDER_END, LARDER_EREADONLY …. */
    larder_status when_read_only;
} ring_call;

static larder_status call_append(larder_ring *ring) {
    return larder_ring_append(ring, "x", 1, NULL);
}
static larder_status call_batch(larder_ring *ring) {
    larder_message message = {bytes_of("x", 1), 0};
    return larder_ring_append_batch(ring, &message, 1, NULL, NULL);
}
static larder_status call_reserve(larder_ring *ring) {
    larder_reservation reservation;
    larder_status status = larder_ring_reserve(ring, 8, &reservation);
    if (!status) {
        larder_ring_abort(ring, &reservation);
    }
    return status;
}
static larder_status call_remove(larder_ring *ring) {
    return larder_ring_remove_through(ring, 0, NULL);
}
static larder_status call_sync_through(larder_ring *ring) {
    return larder_ring_sync_through(ring, UINT64_MAX);
}
static larder_status call_synced(larder_ring *ring) {
    return larder_ring_append_synced(ring, "x", 1, NULL);
}
static larder_status call_reader(larder_ring *ring) {
    larder_ring_reader *reader = NULL;
    larder_status status = larder_ring_reader_open(ring, 0, &reader);
    larder_ring_reader_close(reader);
    return status;
}
static larder_status call_wait(larder_ring *ring) { return larder_ring_wait(ring, 1u << 30, 1); }
static larder_status call_acknowledge(larder_ring *ring) {
    return larder_ring_acknowledge(ring, bytes_of_text("cursor"), 1);
}
static larder_status call_acknowledged(larder_ring *ring) {
    uint64_t sequence;
    return larder_ring_acknowledged(ring, bytes_of_text("cursor"), &sequence);
}
static larder_status call_cursor_remove(larder_ring *ring) {
    return larder_ring_cursor_remove(ring, bytes_of_text("cursor"));
}
static larder_status call_cursors(larder_ring *ring) {
    size_t count;
    return larder_ring_cursors(ring, NULL, 0, &count);
}
static larder_status call_statistics(larder_ring *ring) {
    larder_ring_statistics figures;
    return larder_ring_statistics_get(ring, &figures);
}
static larder_status call_next_sequence(larder_ring *ring) {
    uint64_t sequence;
    return larder_ring_next_sequence(ring, &sequence);
}
static larder_status call_check(larder_ring *ring) {
    larder_ring_report report;
    return larder_ring_check(ring, &report);
}

static const ring_call ring_calls[] = {
    {"append", call_append, LARDER_EREADONLY},
    {"append_batch", call_batch, LARDER_EREADONLY},
    {"reserve", call_reserve, LARDER_EREADONLY},
    {"remove_through", call_remove, LARDER_EREADONLY},
    {"sync", larder_ring_sync, LARDER_EREADONLY},
    {"sync_through", call_sync_through, LARDER_EREADONLY},
    {"append_synced", call_synced, LARDER_EREADONLY},
    {"reader_open", call_reader, LARDER_OK},
    {"wait", call_wait, ETIMEDOUT},
    {"acknowledge", call_acknowledge, LARDER_EREADONLY},
    {"acknowledged", call_acknowledged, LARDER_OK},
    {"cursor_remove", call_cursor_remove, LARDER_EREADONLY},
    {"cursors", call_cursors, LARDER_OK},
    {"statistics_get", call_statistics, LARDER_OK},
    {"next_sequence", call_next_sequence, LARDER_OK},
    {"check", call_check, LARDER_OK},
};

static void each_ring_call(torture *run, larder_ring *ring, larder_status wanted) {
    for (size_t i = 0; i < sizeof ring_calls / sizeof *ring_calls; i++) {
        torture_trial(run);
        larder_status right = wanted == LARDER_EREADONLY ? ring_calls[i].when_read_only : wanted;
        larder_status status = ring_calls[i].call(ring);
        EXPECT(run, status == right, "larder_ring_%s gave %d, not %d", ring_calls[i].name, status,
               right);
    }
}

static void forked_ring(torture *run, void *context) {
    each_ring_call(run, context, LARDER_EFORKED);
}

static larder_status ring_opened(const char *path, uint64_t capacity, uint32_t flags,
                                 uint64_t format, larder_ring **out) {
    larder_ring_options options = ring_options(capacity, flags);
    options.content_format = format;
    options.cursor_slots = 1;
    return larder_ring_open(path, &options, NULL, out);
}

/** Arguments that no function of a ring takes. */
static void refused_arguments(torture *run, larder_ring *ring) {
    larder_message message = {bytes_of("x", 1), 1u << 9};
    larder_reservation reservation;
    uint64_t sequence;
    GIVES(larder_ring_append_batch(ring, &message, 1, NULL, NULL), LARDER_EINVALID);
    GIVES(larder_ring_reserve(ring, 8, &reservation), LARDER_OK);
    GIVES(larder_ring_commit(ring, &reservation, 8, 1u << 9, NULL), LARDER_EINVALID);
    GIVES(larder_ring_commit(ring, &reservation, 9, 0, NULL), LARDER_EINVALID);
    larder_reservation another = {&sequence, 8};
    GIVES(larder_ring_commit(ring, &another, 8, 0, NULL), LARDER_EINVALID);
    larder_ring_abort(ring, &reservation);
    GIVES(larder_ring_commit(ring, &reservation, 0, 0, NULL), LARDER_EINVALID);
    GIVES(larder_ring_acknowledged(ring, bytes_of_text(""), &sequence), LARDER_EINVALID);
    GIVES(larder_ring_cursor_remove(ring, bytes_of_text("")), LARDER_EINVALID);
    EXPECT(run,
           larder_ring_capacity_for(0, 1, 0) == 0 &&
               larder_ring_capacity_for(1, LARDER_RING_MESSAGE_MAX_BYTES + 1, 0) == 0 &&
               larder_ring_capacity_for(UINT64_MAX / 2, 1, 0) == 0 &&
               larder_ring_capacity_for(1, 1, LARDER_RING_CURSOR_SLOTS_MAX + 1) == 0,
           "there is a file for what no file can hold");
}

static void refused_options(torture *run, const char *path) {
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(16384, 1u << 20);
    GIVES(larder_ring_open(path, &options, NULL, &ring), LARDER_EINVALID);
    options = ring_options(16384, 0);
    options.cursor_slots = LARDER_RING_CURSOR_SLOTS_MAX + 1;
    GIVES(larder_ring_open(path, &options, NULL, &ring), LARDER_EINVALID);
    options = ring_options(16384, 0);
    options.sync_interval_ns = -1;
    GIVES(larder_ring_open(path, &options, NULL, &ring), LARDER_EINVALID);
    options = ring_options(LARDER_RING_CAPACITY_MAX_BYTES + 1, 0);
    GIVES(larder_ring_open(path, &options, NULL, &ring), LARDER_EINVALID);
}

static void refused_rings(torture *run, const char *path, const char *other) {
    larder_ring *ring = NULL;
    larder_ring_report report;
    GIVES(ring_opened(path, 1, 0, 0, &ring), LARDER_EINVALID);
    GIVES(ring_opened(path, 16384, 0, 9, &ring), LARDER_EMISMATCH);
    GIVES(ring_opened(path, 20480, 0, 7, &ring), LARDER_EMISMATCH);
    GIVES(ring_opened(path, 16384, LARDER_RING_OVERWRITE, 7, &ring), LARDER_EMISMATCH);
    GIVES(ring_opened(other, 0, LARDER_RING_EXISTING, 0, &ring), ENOENT);
    GIVES(larder_ring_salvage(path, path, NULL, NULL, NULL, &report), EEXIST);
    GIVES(larder_ring_salvage(path, other, NULL, stops, NULL, &report), LARDER_OK);
    (void)unlink(other);
    char text[64] = "not a ring, but something of others, which has to stay as it is";
    write_file(other, text, sizeof text);
    GIVES(ring_opened(other, 16384, 0, 0, &ring), LARDER_EFOREIGN);
    (void)unlink(other);
    EXPECT(run, symlink(path, other) == 0, "no symbolic link");
    GIVES(ring_opened(other, 0, 0, 0, &ring), ELOOP);
    (void)unlink(other);
    GIVES(ring_opened("", 16384, 0, 0, &ring), LARDER_EINVALID);
    EXPECT(run, truncate(path, 9000) == 0, "no truncation");
    GIVES(ring_opened(path, 0, 0, 0, &ring), LARDER_EDAMAGED);
}

static void ring_statuses(torture *run, const char *path, const char *other) {
    larder_ring *ring = NULL, *second = NULL;
    if (!EXPECT_STATUS(run, ring_opened(path, 16384, 0, 7, &ring), LARDER_OK)) {
        return;
    }
    refused_options(run, other);
    refused_arguments(run, ring);
    static uint8_t bytes[20000];
    larder_reservation none = {0};
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    uint64_t sequence;
    GIVES(larder_ring_append(ring, bytes, sizeof bytes, NULL), LARDER_ETOOLARGE);
    GIVES(larder_ring_commit(ring, &none, 0, 0, NULL), LARDER_EINVALID);
    GIVES(larder_ring_reader_open(ring, 1u << 9, &reader), LARDER_EINVALID);
    GIVES(larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
    GIVES(larder_ring_reader_next(reader, &record), LARDER_END);
    GIVES(larder_ring_reader_previous(reader, &record), LARDER_END);
    GIVES(larder_ring_append(ring, bytes, 100, NULL), LARDER_OK);
    GIVES(larder_ring_acknowledged(ring, bytes_of_text("none"), &sequence), LARDER_ENOTFOUND);
    GIVES(larder_ring_cursor_remove(ring, bytes_of_text("none")), LARDER_ENOTFOUND);
    GIVES(larder_ring_acknowledge(ring, bytes_of_text(""), 1), LARDER_EINVALID);
    GIVES(larder_ring_acknowledge(ring, bytes_of_text("a"), 99), LARDER_EINVALID);
    GIVES(larder_ring_acknowledge(ring, bytes_of_text("cursor"), 1), LARDER_OK);
    GIVES(larder_ring_acknowledge(ring, bytes_of_text("b"), 1), LARDER_ENOSLOT);
    GIVES(larder_ring_open(path, NULL, NULL, &second), LARDER_EBUSY);
    larder_status status = LARDER_OK;
    while (!status) {
        status = larder_ring_append(ring, bytes, 500, NULL);
    }
    EXPECT(run, status == LARDER_EFULL, "a full ring gave %d", status);
    GIVES(ring_opened(path, 0, LARDER_RING_READ_ONLY, 0, &second), LARDER_OK);
    each_ring_call(run, second, LARDER_EREADONLY);
    larder_ring_close(second);
    as_child(run, forked_ring, ring);
    GIVES(larder_ring_shutdown(ring), LARDER_OK);
    each_ring_call(run, ring, LARDER_ECLOSED);
    GIVES(larder_ring_reader_next(reader, &record), LARDER_ECLOSED);
    GIVES(larder_ring_reader_previous(reader, &record), LARDER_ECLOSED);
    GIVES(larder_ring_reader_seek(reader, 1), LARDER_ECLOSED);
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
    refused_rings(run, path, other);
}

// Stores ------------------------------------------------------------------------------------------

typedef struct store_call {
    const char *name;
    larder_status (*call)(larder_store *store);
    larder_status when_read_only;
} store_call;

static larder_status call_put(larder_store *store) {
    larder_store_item item;
    larder_store_item_init(&item, bytes_of_text("key"), bytes_of_text("value"));
    return larder_store_put(store, &item, NULL);
}
static larder_status call_store_remove(larder_store *store) {
    return larder_store_remove(store, bytes_of_text("none"), 0);
}
static larder_status call_remove_all(larder_store *store) {
    return larder_store_remove_all(store, NULL, NULL);
}
static larder_status call_remove_prefix(larder_store *store) {
    return larder_store_remove_prefix(store, bytes_of_text("none"), NULL);
}
static larder_status call_batch_create(larder_store *store) {
    larder_store_batch *batch = NULL;
    larder_status status = larder_store_batch_create(store, &batch);
    larder_store_batch_destroy(batch);
    return status;
}
static larder_status call_get(larder_store *store) {
    larder_store_entry entry;
    larder_status status = larder_store_get(store, bytes_of_text("none"), 0, &entry);
    larder_store_release(&entry);
    return status == LARDER_ENOTFOUND ? LARDER_OK : status;
}
static larder_status call_get_again(larder_store *store) {
    uint64_t state = 0;
    larder_status status = larder_store_get_again(store, bytes_of_text("none"), LARDER_STORE_NEVER,
                                                  LARDER_STORE_NEVER, &state);
    return status == LARDER_ENOTFOUND ? LARDER_OK : status;
}
static larder_status call_contains(larder_store *store) {
    larder_status status = larder_store_contains(store, bytes_of_text("none"));
    return status == LARDER_ENOTFOUND ? LARDER_OK : status;
}
static larder_status call_totals(larder_store *store) {
    uint64_t count, bytes;
    return larder_store_totals(store, &count, &bytes);
}
static larder_status call_cursor(larder_store *store) {
    larder_store_query query;
    larder_store_query_init(&query);
    larder_store_cursor *cursor = NULL;
    larder_status status = larder_store_cursor_open(store, &query, &cursor);
    larder_store_cursor_close(cursor);
    return status;
}
static larder_status call_count(larder_store *store) {
    larder_store_query query;
    larder_store_query_init(&query);
    uint64_t count;
    return larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
}
static larder_status call_format(larder_store *store) {
    return larder_store_formats_set(store, 7, 7);
}
static larder_status call_limits(larder_store *store) {
    larder_store_limits limits = larder_store_limits_get(store);
    return larder_store_limits_set(store, &limits);
}
static larder_status call_trim(larder_store *store) {
    return larder_store_trim(store, LARDER_STORE_UNLIMITED, LARDER_STORE_UNLIMITED, NULL);
}
static larder_status call_remove_expired(larder_store *store) {
    return larder_store_remove_expired(store, NULL);
}
static larder_status call_store_statistics(larder_store *store) {
    larder_store_statistics figures;
    return larder_store_statistics_get(store, &figures);
}
static larder_status call_store_check(larder_store *store) {
    larder_store_report report;
    return larder_store_check(store, NULL, NULL, &report);
}
static larder_status call_backup(larder_store *store) {
    return larder_store_backup(store, "", NULL, NULL);
}

static const store_call store_calls[] = {
    {"put", call_put, LARDER_EREADONLY},
    {"remove", call_store_remove, LARDER_EREADONLY},
    {"remove_prefix", call_remove_prefix, LARDER_EREADONLY},
    {"remove_all", call_remove_all, LARDER_EREADONLY},
    {"batch_create", call_batch_create, LARDER_EREADONLY},
    {"get", call_get, LARDER_OK},
    {"get again", call_get_again, LARDER_OK},
    {"contains", call_contains, LARDER_OK},
    {"totals", call_totals, LARDER_OK},
    {"cursor_open", call_cursor, LARDER_OK},
    {"count", call_count, LARDER_OK},
    {"sync", larder_store_sync, LARDER_EREADONLY},
    {"flush", larder_store_flush, LARDER_EREADONLY},
    {"maintain", larder_store_maintain, LARDER_EREADONLY},
    {"formats_set", call_format, LARDER_EREADONLY},
    {"limits_set", call_limits, LARDER_OK},
    {"trim", call_trim, LARDER_EREADONLY},
    {"remove_expired", call_remove_expired, LARDER_EREADONLY},
    {"statistics_get", call_store_statistics, LARDER_OK},
    {"check", call_store_check, LARDER_OK},
    {"backup", call_backup, ENOENT},
};

static void each_store_call(torture *run, larder_store *store, larder_status wanted) {
    for (size_t i = 0; i < sizeof store_calls / sizeof *store_calls; i++) {
        torture_trial(run);
        larder_status right = wanted == LARDER_EREADONLY ? store_calls[i].when_read_only : wanted;
        larder_status status = store_calls[i].call(store);
        EXPECT(run, status == right, "larder_store_%s gave %d, not %d", store_calls[i].name, status,
               right);
    }
}

static void forked_store(torture *run, void *context) {
    each_store_call(run, context, LARDER_EFORKED);
}

static larder_status store_opened(const char *path, uint32_t flags, uint64_t format,
                                  larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags;
    options.content_format = format;
    options.journal_bytes = 64 << 10;
    return larder_store_open(path, &options, NULL, out);
}

/** Puts entries that are too large in one way each. */
static void refused_items(torture *run, larder_store *store) {
    static uint8_t bytes[LARDER_STORE_KEY_MAX_BYTES + 1];
    static larder_store_index_entry indexes[LARDER_STORE_INDEX_MAX_COUNT + 1];
    larder_store_item item;
    larder_store_item_init(&item, bytes_of(bytes, sizeof bytes), bytes_of_text("x"));
    GIVES(larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    GIVES(larder_store_remove(store, item.key, 0), LARDER_ETOOLARGE);
    larder_store_item_init(&item, bytes_of_text("key"), bytes_of_text("x"));
    item.extended = bytes_of(bytes, sizeof bytes);
    GIVES(larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    larder_store_item_init(&item, bytes_of_text("key"), bytes_of_text("x"));
    item.indexes = indexes;
    item.index_count = LARDER_STORE_INDEX_MAX_COUNT + 1;
    GIVES(larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    item.index_count = 1;
    indexes[0].value = bytes_of(bytes, LARDER_STORE_INDEX_VALUE_MAX_BYTES + 1);
    GIVES(larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
}

/** Writes that wait for nothing, or say that they would have to. */
static void writes_at_once(torture *run, const char *path) {
    larder_store *store = NULL;
    // No thread of the store's takes its lock meanwhile.
    GIVES(store_opened(path, LARDER_STORE_HOST_MAINTENANCE, 0, &store), LARDER_OK);
    enum { LONG = 16 << 10, SHORT = 1000, LEAST = 10, MOST = 1000 };
    static uint8_t bytes[LONG];
    const uint32_t wait = LARDER_STORE_NO_WAIT, sync = LARDER_STORE_SYNCED;
    const larder_bytes key = bytes_of_text("at once");
    larder_store_item item;
    larder_store_item_init(&item, key, bytes_of(bytes, LONG));
    item.flags = wait;
    GIVES(larder_store_put(store, &item, NULL), EAGAIN);
    item.value.length = SHORT;
    item.flags = wait | sync;
    GIVES(larder_store_put(store, &item, NULL), EAGAIN);
    GIVES(larder_store_remove(store, key, wait | sync), EAGAIN);
    GIVES(larder_store_contains(store, key), LARDER_ENOTFOUND);
    // Until too much waits for a checkpoint, or a segment is full; there has to be one.
    item.flags = 0;
    GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    item.flags = wait;
    unsigned written = 0;
    larder_status status;
    do status = larder_store_put(store, &item, NULL);
    while (status == LARDER_OK && ++written < MOST);
    EXPECT(run, status == EAGAIN && written >= LEAST, "%u writes, then %d", written, status);
    GIVES(larder_store_contains(store, key), LARDER_OK);
    store_hold(store, true);
    GIVES(larder_store_put(store, &item, NULL), EAGAIN);
    GIVES(larder_store_remove(store, key, wait), EAGAIN);
    store_hold(store, false);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(larder_store_remove(store, key, wait), LARDER_OK);
    GIVES(larder_store_contains(store, key), LARDER_ENOTFOUND);
    larder_store_close(store);
    remove_tree(path);
}

static void batches_and_cursors(torture *run, larder_store *store) {
    static uint8_t bytes[40000];
    larder_store_item item;
    larder_store_batch *batch = NULL;
    larder_store_item_init(&item, bytes_of_text("key"), bytes_of(bytes, 30000));
    GIVES(larder_store_batch_create(store, &batch), LARDER_OK);
    GIVES(larder_store_batch_put(batch, &item), LARDER_OK);
    GIVES(larder_store_batch_put(batch, &item), LARDER_ETOOLARGE);
    GIVES(larder_store_batch_require(batch, bytes_of_text("none"), 5), LARDER_OK);
    GIVES(larder_store_batch_commit(batch, 0, NULL), LARDER_ECONFLICT);
    larder_store_batch_destroy(batch);

    larder_store_entry entry = {0};
    void *retained = NULL;
    GIVES(larder_store_retain_value(&entry, &retained), LARDER_EINVALID);
    GIVES(larder_store_get(store, bytes_of_text("none"), 0, &entry), LARDER_ENOTFOUND);
    GIVES(larder_store_get(store, bytes_of_text("none"), 1u << 30, &entry), LARDER_EINVALID);
    GIVES(larder_store_contains(store, bytes_of_text("none")), LARDER_ENOTFOUND);
    larder_store_query query;
    larder_store_query_init(&query);
    query.flags = 1u << 30;
    larder_store_cursor *cursor = NULL;
    uint64_t count;
    GIVES(larder_store_cursor_open(store, &query, &cursor), LARDER_EINVALID);
    GIVES(larder_store_count(store, &query, 1, &count), LARDER_EINVALID);
    static larder_store_cursor *cursors[600];
    larder_store_query_init(&query);
    larder_status status = LARDER_OK;
    size_t opened = 0;
    while (!status && opened < 600) {
        status = larder_store_cursor_open(store, &query, &cursors[opened]);
        opened += !status;
    }
    EXPECT(run, status == LARDER_ENOSLOT && opened == 512, "%zu cursors, then %d", opened, status);
    EXPECT(run, opened && larder_store_cursor_next(cursors[0], &entry) == LARDER_OK, "no entry");
    EXPECT(run, opened && larder_store_cursor_next(cursors[0], &entry) == LARDER_END, "no end");
    for (size_t i = 0; i < opened; i++) {
        larder_store_cursor_close(cursors[i]);
    }
}

/** Of a store that is closed. */
static void refused_stores(torture *run, const char *path, const char *other) {
    larder_store *store = NULL;
    larder_store_report report;
    char file[700], data[700];
    snprintf(file, sizeof file, "%s/file", other);
    snprintf(data, sizeof data, "%s/data.mdb", path);
    GIVES(store_opened("", 0, 0, &store), LARDER_EINVALID);
    GIVES(store_opened(other, LARDER_STORE_EXISTING, 0, &store), ENOENT);
    GIVES(store_opened(path, 0, 8, &store), LARDER_EMISMATCH);
    GIVES(store_opened(data, 0, 0, &store), ENOTDIR);
    GIVES(store_opened(other, 0, 0, &store), LARDER_OK);
    larder_store_close(store);
    store = NULL;
    remove_tree(other);
    larder_fault_set("mdb_version", 1, 1 << 24);
    GIVES(store_opened(path, 0, 0, &store), LARDER_EVERSION);
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_compact(other, NULL, NULL, NULL, NULL, NULL), ENOENT);
    GIVES(larder_store_salvage(path, path, NULL, NULL, NULL, &report), EEXIST);
    GIVES(larder_store_salvage(path, other, NULL, stops, NULL, &report), ECANCELED);
    EXPECT(run, make_directory(other) && write_file(file, "x", 1), "no folder");
    snprintf(file, sizeof file, "%s-none", other);
    GIVES(larder_store_salvage(other, file, NULL, NULL, NULL, &report), LARDER_EFOREIGN);
    remove_tree(other);
    EXPECT(run, flip(data, 16) && flip(data, 4096 + 16), "no byte flipped");
    GIVES(store_opened(path, 0, 0, &store), LARDER_EDAMAGED);
    EXPECT(run, unlink(data) == 0, "no file removed");
    GIVES(store_opened(path, 0, 0, &store), LARDER_EDAMAGED);
}

static void store_statuses(torture *run, const char *path, const char *other) {
    larder_store *store = NULL, *second = NULL;
    larder_store_report report;
    if (!EXPECT_STATUS(run, store_opened(path, LARDER_STORE_HOST_MAINTENANCE, 7, &store),
                       LARDER_OK)) {
        return;
    }
    GIVES(call_put(store), LARDER_OK);
    refused_items(run, store);
    batches_and_cursors(run, store);
    writes_at_once(run, other);
    GIVES(larder_store_check(store, stops, NULL, &report), ECANCELED);
    GIVES(larder_store_backup(store, path, NULL, NULL), EEXIST);
    GIVES(larder_store_backup(store, other, stops, NULL), ECANCELED);
    GIVES(store_opened(path, 0, 0, &second), LARDER_EBUSY);
    GIVES(larder_store_compact(path, NULL, NULL, NULL, NULL, NULL), LARDER_EBUSY);
    GIVES(larder_store_salvage(path, other, NULL, NULL, NULL, &report), LARDER_EBUSY);
    GIVES(store_opened(path, LARDER_STORE_READ_ONLY, 0, &second), LARDER_OK);
    each_store_call(run, second, LARDER_EREADONLY);
    larder_store_close(second);
    as_child(run, forked_store, store);
    // One segment at least goes, and is told of.
    GIVES(larder_store_remove_all(store, stops, NULL), ECANCELED);
    GIVES(call_put(store), LARDER_OK);
    GIVES(larder_store_shutdown(store), LARDER_OK);
    each_store_call(run, store, LARDER_ECLOSED);
    larder_store_close(store);
    refused_stores(run, path, other);
}

/** Every status has a sentence of its own, the last one and those of no system the same. */
static void texts(torture *run) {
    const char *unknown = larder_strerror(INT32_MIN);
    for (larder_status status = -41100; status < 200; status++) {
        const char *text = larder_strerror(status);
        bool is_ours = status <= LARDER_ETOOLARGE && status >= LARDER_ELOCKED;
        EXPECT(run, text && text[0] && (!is_ours || strcmp(text, unknown) != 0),
               "status %d has no text", status);
        status = status == -40900 ? -10 : status;
    }
}

static void all_statuses(torture *run, void *context) {
    (void)context;
    texts(run);
    char path[600], other[600];
    snprintf(path, sizeof path, "%s", torture_path(run, "here"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    torture_note(run, "statuses of a ring");
    ring_statuses(run, path, other);
    (void)unlink(path);
    torture_trial(run);
    torture_note(run, "statuses of a store");
    store_statuses(run, path, other);
}

void family_statuses(torture *run) {
    rng random;
    if (torture_next_case(run, &random)) {
        torture_trial(run);
        torture_guard(run, 60, all_statuses, NULL);
    }
}
