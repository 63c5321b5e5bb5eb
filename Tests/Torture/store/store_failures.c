// SPDX-License-Identifier: MIT
// Every call that a store makes fails once, LMDB's calls too, in each operation on a store: nothing
// that was stored is lost, nothing that was removed comes back, and the store works on.
#include <dirent.h>
#include <errno.h>
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>

#include "failing_calls.h"
#include "faults.h"
#include "store.h"

enum { KEYS = 48, LONGEST = 6000, INDEX = 7 };

/** What a key may hold: nothing, or the value that its version says. */
typedef enum hold { HOLDS_NOTHING = 1, HOLDS_OLD = 2, HOLDS_NEW = 4 } hold;

typedef struct stall {
    const char *path;
    const char *target;
    /** What the trials begin with: closed, and as a process that died left it. */
    const char *closed;
    const char *unclean;
    larder_store *store;
    /** What each key may hold. */
    uint8_t may[KEYS];
    int64_t now_ns;
    uint64_t room;
    uint32_t flags;
    /** The trial made a store at `target`. */
    bool has_target;
} stall;

static int64_t stall_clock(void *context) { return ((stall *)context)->now_ns; }
static uint64_t stall_room(void *context) { return ((stall *)context)->room; }

static larder_status stall_open(stall *self, uint32_t flags, larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags;
    options.journal_bytes = 64 << 10;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
    options.clock = stall_clock;
    options.free_space = stall_room;
    options.context = self;
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = 4096;
    tuning.segment_max_bytes = 16384;
    tuning.transaction_max_count = 20;
    tuning.remove_max_count = 10;
    tuning.memtable_max_count = 100;
    tuning.space_percent = 120;
    options.tuning = &tuning;
    return larder_store_open(self->path, &options, NULL, out);
}

static larder_status stall_start(stall *self) {
    return stall_open(self, LARDER_STORE_HOST_MAINTENANCE | self->flags, &self->store);
}

static larder_status stall_end(stall *self, larder_status status) {
    larder_status ended = self->store ? larder_store_shutdown(self->store) : LARDER_OK;
    larder_store_close(self->store);
    self->store = NULL;
    return status ? status : ended;
}

static larder_bytes stall_key(unsigned key, char text[400]) {
    int length = snprintf(text, 400, "%c%02u", 'a' + (int)(key % 4), key);
    // Some are too long for a row of an index, some share all that the tree has of them.
    if (key % 12 == 5) {
        memset(text + length, 'x', 300);
        length += 300;
    }
    return bytes_of(text, (size_t)length);
}

static size_t stall_length(unsigned key, bool is_new) {
    static const size_t lengths[] = {0, 20, 64, 65, 300, 1500, LONGEST};
    return lengths[(key + is_new) % 7];
}

static void stall_item(unsigned key, bool is_new, char text[400], uint8_t *value,
                       larder_store_index_entry *index, larder_store_item *item) {
    size_t length = stall_length(key, is_new);
    message_fill(key * 2 + is_new + 1, value, length);
    larder_store_item_init(item, stall_key(key, text), bytes_of(value, length));
    item->extended = bytes_of(text, key % 3);
    if (key % 2) {
        index->index = INDEX;
        index->value = bytes_of(text, 1 + key % 3);
        item->indexes = index;
        item->index_count = 1;
    }
    if (key % 8 == 3) {
        item->expires_ns = 5000;
    }
    if (key % 8 == 6) {
        item->idle_ns = 3000;
    }
}

static larder_status stall_put(stall *self, unsigned key, bool is_new, uint32_t flags) {
    static uint8_t value[LONGEST];
    char text[400];
    larder_store_index_entry index;
    larder_store_item item;
    stall_item(key, is_new, text, value, &index, &item);
    item.flags = flags;
    larder_status status = larder_store_put(self->store, &item, NULL);
    uint8_t there = is_new ? HOLDS_NEW : HOLDS_OLD;
    if (!status) {
        self->may[key] = there;
    } else if (flags & LARDER_STORE_SYNCED) {
        self->may[key] |= there;
    }
    return status;
}

static larder_status stall_remove(stall *self, unsigned key) {
    char text[400];
    larder_status status = larder_store_remove(self->store, stall_key(key, text), 0);
    if (!status) {
        self->may[key] = HOLDS_NOTHING;
    }
    return status;
}

/** Any of these may be gone, from now on. */
static void stall_drops(stall *self, unsigned first, unsigned step) {
    for (unsigned key = first; key < KEYS; key += step) {
        self->may[key] |= HOLDS_NOTHING;
    }
}

// Operations --------------------------------------------------------------------------------------

static larder_status open_close(void *context) { return stall_end(context, stall_start(context)); }

static larder_status create(void *context) {
    stall *self = context;
    const char *path = self->path;
    self->path = self->target;
    larder_status status = stall_end(self, stall_start(self));
    self->path = path;
    return status;
}

static larder_status with_threads(void *context) {
    stall *self = context;
    larder_status status = stall_open(self, 0, &self->store);
    status = status ? status : stall_put(self, 1, true, LARDER_STORE_SYNCED);
    return stall_end(self, status);
}

/** Everything changes, over several segments and transactions. */
static larder_status change(void *context) {
    stall *self = context;
    larder_status status = stall_start(self);
    for (unsigned key = 0; key < KEYS && !status; key++) {
        status = key % 5 == 2 ? stall_remove(self, key)
                              : stall_put(self, key, key % 3 != 0, key % 16 == 0);
    }
    status = status ? status : larder_store_flush(self->store);
    for (unsigned key = 0; key < KEYS && !status; key += 3) {
        status = stall_put(self, key, key % 2 == 0, 0);
    }
    status = status ? status : larder_store_formats_set(self->store, 77, 0);
    status = status ? status : larder_store_sync(self->store);
    status = status ? status : larder_store_maintain(self->store);
    return stall_end(self, status);
}

static larder_status change_by_batch(void *context) {
    stall *self = context;
    larder_store_batch *batch = NULL;
    static uint8_t value[LONGEST];
    larder_status status = stall_start(self);
    for (unsigned part = 0; part < 3 && !status; part++) {
        status = larder_store_batch_create(self->store, &batch);
        for (unsigned key = part; key < KEYS && !status; key += 3) {
            char text[400];
            larder_store_index_entry index;
            larder_store_item item;
            stall_item(key, true, text, value, &index, &item);
            status = key % 7 == 1 ? larder_store_batch_remove(batch, item.key)
                                  : larder_store_batch_put(batch, &item);
        }
        status =
            status ? status : larder_store_batch_require(batch, bytes_of_text("nothing there"), 0);
        status = status ? status : larder_store_batch_commit(batch, 0, NULL);
        for (unsigned key = part; key < KEYS && !status; key += 3) {
            self->may[key] = key % 7 == 1 ? HOLDS_NOTHING : HOLDS_NEW;
        }
        larder_store_batch_destroy(batch);
        batch = NULL;
    }
    return stall_end(self, status);
}

static int goes_on(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return 0;
}

static larder_status clear(void *context) {
    stall *self = context;
    larder_status status = stall_start(self);
    stall_drops(self, 0, 1);
    status = status ? status : larder_store_remove_prefix(self->store, bytes_of_text("b"), NULL);
    status = status ? status : larder_store_flush(self->store);
    status = status ? status : larder_store_remove_all(self->store, goes_on, NULL);
    return stall_end(self, status);
}

static larder_status limit(void *context) {
    stall *self = context;
    larder_status status = stall_start(self);
    stall_drops(self, 0, 1);
    larder_store_limits limits = {30, LARDER_STORE_UNLIMITED, LARDER_STORE_NEVER,
                                  LARDER_STORE_NEVER, 0};
    status = status ? status : larder_store_limits_set(self->store, &limits);
    status = status ? status : larder_store_flush(self->store);
    limits.bytes = 9000;
    limits.age_ns = 4000;
    status = status ? status : larder_store_limits_set(self->store, &limits);
    status = status ? status : larder_store_maintain(self->store);
    status = status ? status : larder_store_trim(self->store, 10, LARDER_STORE_UNLIMITED, NULL);
    limits.free_bytes = 2000;
    self->room = 1500;
    status = status ? status : larder_store_limits_set(self->store, &limits);
    status = status ? status : larder_store_maintain(self->store);
    self->now_ns = 4500;
    status = status ? status : larder_store_maintain(self->store);
    status = status ? status : larder_store_remove_expired(self->store, NULL);
    return stall_end(self, status);
}

static larder_status expire(void *context) {
    stall *self = context;
    self->flags = LARDER_STORE_TRACK_ACCESS;
    larder_status status = stall_start(self);
    stall_drops(self, 3, 8);
    stall_drops(self, 6, 8);
    for (unsigned key = 0; key < KEYS && !status; key += 2) {
        char text[400];
        larder_store_entry entry;
        status = larder_store_get(self->store, stall_key(key, text), 0, &entry);
        larder_store_release(&entry);
    }
    self->now_ns = 2500;
    status = status ? status : larder_store_flush(self->store);
    self->now_ns = 6000;
    status = status ? status : larder_store_maintain(self->store);
    larder_store_limits limits = {LARDER_STORE_UNLIMITED, LARDER_STORE_UNLIMITED, 100000,
                                  LARDER_STORE_NEVER, 0};
    status = status ? status : larder_store_limits_set(self->store, &limits);
    status = status ? status : larder_store_remove_expired(self->store, NULL);
    return stall_end(self, status);
}

static larder_status go_over(larder_store *store, larder_store_query *query) {
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    larder_status status = larder_store_cursor_open(store, query, &cursor);
    while (!status) {
        status = larder_store_cursor_next(cursor, &entry);
    }
    larder_store_cursor_close(cursor);
    uint64_t count;
    larder_status counted = larder_store_count(store, query, LARDER_STORE_UNLIMITED, &count);
    return status == LARDER_END ? counted : status;
}

static larder_status go_over_all(stall *self, larder_store *store) {
    larder_status status = LARDER_OK;
    for (unsigned way = 0; way < 12 && !status; way++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = (larder_store_order)(way % 3);
        query.index = INDEX;
        query.flags = way / 3 % 2 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        if (way >= 6 && query.order != LARDER_STORE_BY_RECENCY) {
            query.prefix = bytes_of_text("b");
            query.lower = bytes_of_text("b03");
            query.flags |= LARDER_STORE_HAS_LOWER | LARDER_STORE_LOWER_EXCLUSIVE;
        }
        status = go_over(store, &query);
    }
    for (unsigned key = 0; key < KEYS && !status; key++) {
        char text[400];
        larder_store_entry entry;
        void *kept = NULL;
        status = larder_store_get(store, stall_key(key, text), LARDER_STORE_EXPIRED_TOO, &entry);
        if (!status && (entry.flags & LARDER_STORE_ENTRY_IN_LOG)) {
            status = larder_store_retain_value(&entry, &kept);
        }
        larder_store_release(&entry);
        larder_store_release_value(kept);
        status =
            status == LARDER_ENOTFOUND && (self->may[key] & HOLDS_NOTHING) ? LARDER_OK : status;
    }
    return status;
}

static larder_status read_all(void *context) {
    stall *self = context;
    larder_status status = stall_start(self);
    for (unsigned key = 1; key < KEYS && !status; key += 4) {
        status = key % 8 == 1 ? stall_put(self, key, true, 0) : stall_remove(self, key);
    }
    uint64_t count, bytes;
    status = status ? status : go_over_all(self, self->store);
    status = status ? status : larder_store_totals(self->store, &count, &bytes);
    larder_store_statistics figures;
    status = status ? status : larder_store_statistics_get(self->store, &figures);
    return stall_end(self, status);
}

/** Several reads under way at once, each of another state, while LMDB is open for writing. */
static larder_status read_at_once(void *context) {
    enum { READS = 6 };
    stall *self = context;
    larder_store_entry entries[READS];
    larder_store_cursor *cursors[READS] = {NULL};
    larder_store_query query;
    larder_store_query_init(&query);
    larder_status status = stall_start(self);
    for (unsigned i = 0; i < READS; i++) {
        char text[400];
        larder_store_entry next;
        // Keys that are not written here.
        status = status ? status : stall_put(self, i * 4 + 1, true, 0);
        status = status || i % 2 ? status : larder_store_flush(self->store);
        entries[i] = (larder_store_entry){0};
        if (!status) {
            status = larder_store_get(self->store, stall_key(i * 4 + 2, text), 0, &entries[i]);
        }
        status = status ? status : larder_store_cursor_open(self->store, &query, &cursors[i]);
        status = status ? status : larder_store_cursor_next(cursors[i], &next);
    }
    for (unsigned i = 0; i < READS; i++) {
        larder_store_cursor_close(cursors[i]);
        larder_store_release(&entries[i]);
    }
    status = status ? status : go_over_all(self, self->store);
    return stall_end(self, status);
}

/** Another handle writes what this one follows. */
static larder_status follow(void *context) {
    stall *self = context;
    larder_store *reader = NULL;
    larder_status status = stall_start(self);
    for (unsigned key = 0; key < KEYS && !status; key += 5) {
        status = stall_put(self, key, true, 0);
    }
    status = status ? status : stall_open(self, LARDER_STORE_READ_ONLY, &reader);
    status = status ? status : go_over_all(self, reader);
    for (unsigned key = 2; key < KEYS && !status; key += 5) {
        status = stall_put(self, key, true, 0);
    }
    status = status ? status : larder_store_flush(self->store);
    status = status ? status : stall_put(self, 1, true, 0);
    status = status ? status : go_over_all(self, reader);
    larder_store_close(reader);
    return stall_end(self, status);
}

static larder_status check(void *context) {
    stall *self = context;
    larder_status status = stall_start(self);
    larder_store_report report;
    status = status ? status : stall_put(self, 1, true, 0);
    status = status ? status : larder_store_check(self->store, goes_on, NULL, &report);
    return stall_end(self, status);
}

static larder_status backup(void *context) {
    stall *self = context;
    larder_status status = stall_start(self);
    status = status ? status : stall_put(self, 1, true, 0);
    status = status ? status : larder_store_backup(self->store, self->target, goes_on, NULL);
    self->has_target = status == LARDER_OK;
    return stall_end(self, status);
}

static larder_status compact(void *context) {
    stall *self = context;
    return larder_store_compact(self->path, NULL, NULL, goes_on, NULL, NULL);
}

static larder_status salvage(void *context) {
    stall *self = context;
    larder_store_report report;
    larder_status status =
        larder_store_salvage(self->path, self->target, NULL, goes_on, NULL, &report);
    self->has_target = status == LARDER_OK;
    return status;
}

static larder_status salvage_without_tree(void *context) {
    stall *self = context;
    char data[600];
    snprintf(data, sizeof data, "%s/data.mdb", self->path);
    char aside[600];
    snprintf(aside, sizeof aside, "%s-data", self->path);
    if (rename(data, aside) != 0) {
        return LARDER_OK;
    }
    larder_status status = salvage(context);
    return rename(aside, data) == 0 ? status : EIO;
}

static larder_status rebuild(void *context) {
    stall *self = context;
    larder_store_report report;
    return larder_store_rebuild(self->path, NULL, goes_on, NULL, &report);
}

static const failing_trial trials[] = {
    {"create", create},
    {"open", open_close},
    {"open unclean", open_close},
    {"open after a power cut, unclean", open_close},
    {"open with threads", with_threads},
    {"change", change},
    {"change unclean", change},
    {"change by batches", change_by_batch},
    {"clear", clear},
    {"limit", limit},
    {"expire", expire},
    {"read", read_all},
    {"read at once", read_at_once},
    {"follow", follow},
    {"check", check},
    {"back up", backup},
    {"compact", compact},
    {"compact unclean", compact},
    {"salvage", salvage},
    {"salvage unclean", salvage},
    {"salvage without a tree, unclean", salvage_without_tree},
    {"rebuild", rebuild},
    {"rebuild unclean", rebuild},
};

// Trials ------------------------------------------------------------------------------------------

static bool stall_prepare(torture *run, void *context, const failing_trial *trial) {
    stall *self = context;
    bool is_unclean = strstr(trial->name, "unclean") != NULL;
    remove_tree(self->target);
    remove_tree(self->path);
    memset(self->may, HOLDS_OLD, sizeof self->may);
    self->now_ns = 1000;
    self->room = UINT64_MAX;
    self->flags = 0;
    self->has_target = false;
    for (unsigned key = 0; is_unclean && key < KEYS; key += 4) {
        self->may[key] = HOLDS_NEW;
    }
    uint8_t boot[16] = {1};
    larder_fault_boot_id(strstr(trial->name, "power") ? boot : NULL);
    return EXPECT(run, copy_tree(is_unclean ? self->unclean : self->closed, self->path),
                  "cannot copy the store");
}

static bool stall_holds(torture *run, stall *self, unsigned key) {
    char text[400];
    larder_store_entry entry;
    larder_status status = larder_store_get(self->store, stall_key(key, text),
                                            LARDER_STORE_PEEK | LARDER_STORE_EXPIRED_TOO, &entry);
    bool good = status == LARDER_ENOTFOUND && (self->may[key] & HOLDS_NOTHING);
    for (unsigned is_new = 0; is_new < 2 && !status; is_new++) {
        good |= (self->may[key] & (is_new ? HOLDS_NEW : HOLDS_OLD)) &&
                entry.value.length == stall_length(key, is_new) &&
                message_equals(key * 2 + is_new + 1, entry.value.data, entry.value.length);
    }
    EXPECT(run, good, "key %u, which may hold %u, gave %d and %zu bytes", key, self->may[key],
           status, status ? 0 : entry.value.length);
    larder_store_release(&entry);
    return good;
}

static void stall_verify(torture *run, void *context, const failing_trial *trial,
                         larder_status status, int error) {
    stall *self = context;
    larder_fault_boot_id(NULL);
    EXPECT(run, trial->act == create || self->has_target == (size_of_file(self->target) >= 0),
           "it gave %d, and a target is there, or is not", status);
    self->flags = 0;
    self->now_ns = 1000;
    larder_store_report report;
    bool good = EXPECT_STATUS(run, stall_start(self), LARDER_OK);
    for (unsigned key = 0; key < KEYS && good; key++) {
        good = stall_holds(run, self, key);
    }
    good = good && EXPECT_STATUS(run, stall_put(self, 0, true, 0), LARDER_OK) &&
           EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_OK) &&
           stall_holds(run, self, 0);
    // Where LMDB says that a page is damaged, what it held is given up, and the rest does not agree
    // with it any more.
    larder_status checked = good ? larder_store_check(self->store, NULL, NULL, &report) : LARDER_OK;
    EXPECT(run, checked == LARDER_OK || (checked == LARDER_EDAMAGED && error == MDB_CORRUPTED),
           "the check gave %d", checked);
    (void)stall_end(self, LARDER_OK);
}

static void fill(torture *run, void *context) {
    stall *self = context;
    if (!EXPECT_STATUS(run, stall_start(self), LARDER_OK)) {
        return;
    }
    for (unsigned key = 0; key < KEYS; key++) {
        EXPECT_STATUS(run, stall_put(self, key, key % 3 == 0, 0), LARDER_OK);
    }
    EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_OK);
    for (unsigned key = 0; key < KEYS; key += 3) {
        EXPECT_STATUS(run, stall_put(self, key, false, 0), LARDER_OK);
    }
    EXPECT_STATUS(run, stall_end(self, LARDER_OK), LARDER_OK);
    remove_tree(self->closed);
    EXPECT(run, copy_tree(self->path, self->closed), "cannot copy the store");
    EXPECT_STATUS(run, stall_start(self), LARDER_OK);
    for (unsigned key = 0; key < KEYS; key += 4) {
        EXPECT_STATUS(run, stall_put(self, key, true, LARDER_STORE_SYNCED), LARDER_OK);
    }
    // Dies with the store open.
}

void family_store_failures(torture *run) {
    rng random;
    if (failing_call_count == 0) {
        torture_skip(run, "failing calls: the linker does not wrap them here");
        return;
    }
    if (!torture_next_case(run, &random)) {
        return;
    }
    stall *self = shared_memory(sizeof *self);
    char paths[4][600];
    static const char *const names[] = {"store", "target", "closed", "unclean"};
    for (unsigned i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", torture_path(run, names[i]));
    }
    *self = (stall){.path = paths[3], .target = paths[1], .closed = paths[2], .unclean = paths[3]};
    self->now_ns = 1000;
    self->room = UINT64_MAX;
    torture_trial(run);
    if (!torture_guard(run, 30, fill, self)) {
        return;
    }
    self->path = paths[0];
    failing_bench bench = {trials, sizeof trials / sizeof *trials, stall_prepare, stall_verify,
                           self};
    fail_every_call(run, &bench);
}
