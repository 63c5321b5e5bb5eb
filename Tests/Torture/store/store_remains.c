// SPDX-License-Identifier: MIT
// What is left of a store after files went missing, were cut short, swapped, doubled, replaced by
// older ones or another store's, or hurt, behind a close, a kill or another start of the machine.
// Opening must not make it worse: what it finds, with what a salvage finds after it, is no less
// than what a salvage found before; a handle that only reads sees the same; what is lost is told
// of, and nothing comes that never was, nor what is old without a word. Where opening refuses,
// nothing has changed.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "larder_crc32c.h"
#include "store.h"

enum {
    KEYS = 90,
    FILES = 400,
    HEAD_BYTES = 4,
    LONGEST = 3000,
    /** What is found under a key besides a version. */
    NOTHING = 0,
    DAMAGED = -1
};

typedef enum ending { CLOSED, KILLED, REBOOTED } ending;

/** What was written, in memory that outlives the writer. */
typedef struct written {
    /** Of each key what is there, NOTHING if it was removed; and the newest that ever was. */
    int now[KEYS], newest[KEYS];
    ending end;
    /** All of it was synced; else an end of it that is gone leaves no trace. */
    bool is_synced;
    bool is_done;
} written;

typedef struct remains {
    written *model;
    rng random;
    const char *made, *older, *hurt, *work, *target;
    /** An end of the log may be gone that nothing tells of. */
    bool may_hide;
    /** data.mdb is not one that there ever was; it is one, but shorter. */
    bool is_data_hurt, is_data_cut;
    /** A file of the log is hurt. */
    bool is_log_hurt;
} remains;

// Values ------------------------------------------------------------------------------------------

static larder_bytes key_of(int key, char *room) {
    // Some are longer than a page's share.
    int length = sprintf(room, "key %04d of what was written", key);
    while (key % 9 == 0 && length < 600) room[length++] = 'k';
    return bytes_of(room, (size_t)length);
}

static size_t value_of(int key, int version, uint8_t *room) {
    uint64_t seed = mix2((uint64_t)key, (uint64_t)version);
    size_t length = HEAD_BYTES + (size_t)(seed % 37 == 0 ? seed % LONGEST : seed % 400);
    uint32_t head = (uint32_t)version;
    memcpy(room, &head, HEAD_BYTES);
    message_fill(seed, room + HEAD_BYTES, length - HEAD_BYTES);
    return length;
}

// Making ------------------------------------------------------------------------------------------

typedef struct writing {
    remains *self;
    larder_store *store;
    /** Looks at an older state from some moment on: what that needs is not deleted. */
    larder_store_cursor *cursor;
    larder_store_batch *batch;
    rng random;
} writing;

static larder_status write_one(writing *of, int key, bool removes) {
    written *model = of->self->model;
    char name[700];
    uint8_t value[HEAD_BYTES + LONGEST];
    larder_status status;
    if (removes) {
        larder_bytes gone = key_of(key, name);
        status = of->batch ? larder_store_batch_remove(of->batch, gone)
                           : larder_store_remove(of->store, gone, 0);
        model->now[key] = NOTHING;
        return status;
    }
    int version = ++model->newest[key];
    larder_store_item item;
    larder_store_item_init(&item, key_of(key, name),
                           bytes_of(value, value_of(key, version, value)));
    status = of->batch ? larder_store_batch_put(of->batch, &item)
                       : larder_store_put(of->store, &item, NULL);
    model->now[key] = version;
    return status;
}

static larder_status write_batch(writing *of) {
    larder_status status = larder_store_batch_create(of->store, &of->batch);
    int first = (int)rng_below(&of->random, KEYS);
    for (int i = 0; i < 4 && !status; i++) {
        status = write_one(of, (first + 7 * i) % KEYS, rng_one_in(&of->random, 4));
    }
    if (!status) status = larder_store_batch_commit(of->batch, 0, NULL);
    larder_store_batch_destroy(of->batch);
    of->batch = NULL;
    return status;
}

static larder_status write_some(writing *of) {
    uint64_t way = rng_below(&of->random, 1000);
    if (way < 60) return larder_store_flush(of->store);
    if (way < 80) return larder_store_sync(of->store);
    if (way < 90) return larder_store_maintain(of->store);
    if (way < 180) return write_batch(of);
    if (way == 180) {
        memset(of->self->model->now, 0, sizeof of->self->model->now);
        return larder_store_remove_all(of->store, NULL, NULL);
    }
    return write_one(of, (int)rng_below(&of->random, KEYS), way < 300);
}

static larder_store_options options_of(rng *random, larder_store_tuning *tuning, uint32_t flags) {
    larder_store_options options;
    larder_store_options_init(&options);
    larder_store_tuning_init(tuning);
    tuning->segment_min_bytes = 4096;
    tuning->segment_max_bytes = random ? 4096u << rng_below(random, 3) : 4096;
    tuning->transaction_max_count = random ? rng_between(random, 3, 100) : 100;
    tuning->space_percent = random ? rng_between(random, 105, 160) : 120;
    options.tuning = tuning;
    options.journal_bytes = 64 << 10;
    options.inline_threshold_bytes = random && rng_one_in(random, 2) ? 700 : 0;
    options.flags = (uint32_t)LARDER_STORE_HOST_MAINTENANCE | flags;
    return options;
}

static void write_store(torture *run, void *context) {
    remains *self = context;
    writing of = {.self = self, .random = rng_make(rng_next(&self->random))};
    larder_store_tuning tuning;
    larder_store_options options = options_of(&of.random, &tuning, 0);
    uint64_t steps = rng_between(&of.random, 30, 700), copied = rng_below(&of.random, steps);
    uint64_t looked = rng_below(&of.random, 2 * steps);
    if (!EXPECT_STATUS(run, larder_store_open(self->made, &options, NULL, &of.store), LARDER_OK)) {
        return;
    }
    larder_status status = LARDER_OK;
    for (uint64_t step = 0; step < steps && !status; step++) {
        if (step == copied) (void)copy_tree(self->made, self->older);
        if (step == looked)
            status = larder_store_cursor_open(of.store, &(larder_store_query){0}, &of.cursor);
        if (status) break;
        status = write_some(&of);
    }
    self->model->is_synced = self->model->end != KILLED || rng_one_in(&of.random, 2);
    if (!status && self->model->is_synced) status = larder_store_sync(of.store);
    self->model->is_done = EXPECT_STATUS(run, status, LARDER_OK);
    if (self->model->end != CLOSED) _exit(0);
    (void)larder_store_shutdown(of.store);
    larder_store_cursor_close(of.cursor);
    larder_store_close(of.store);
}

// Hurting -----------------------------------------------------------------------------------------

typedef struct file_list {
    char names[FILES][40];
    uint32_t count;
} file_list;

static void list_files(const char *path, file_list *out) {
    char below[700];
    out->count = 0;
    snprintf(out->names[out->count++], sizeof out->names[0], "data.mdb");
    snprintf(below, sizeof below, "%s/log", path);
    DIR *entries = opendir(below);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (strstr(entry->d_name, ".seg") && out->count < FILES) {
            snprintf(out->names[out->count++], sizeof out->names[0], "log/%.20s", entry->d_name);
        }
    }
    if (entries) closedir(entries);
}

/** A file of the folder: mostly of the log. */
static void choose(const char *path, rng *random, char *out, size_t room) {
    file_list list;
    list_files(path, &list);
    uint32_t at = rng_one_in(random, 8) || list.count == 1
                      ? 0
                      : 1 + (uint32_t)rng_below(random, list.count - 1);
    snprintf(out, room, "%s/%s", path, list.names[at]);
}

static void hurt_bytes(rng *random, const char *path, uint64_t way) {
    static uint8_t bytes[4 << 20];
    int64_t size = read_file(path, bytes, sizeof bytes);
    if (size <= 0 || size > (int64_t)sizeof bytes) return;
    uint64_t at = rng_below(random, (uint64_t)size);
    // Often where the head is.
    if (rng_one_in(random, 4)) at = rng_below(random, size < 64 ? (uint64_t)size : 64);
    uint64_t most = rng_one_in(random, 2) ? 60 : 5000, length = 1 + rng_below(random, most);
    if (length > (uint64_t)size - at) length = (uint64_t)size - at;
    if (way == 0) bytes[at] ^= (uint8_t)(1u << rng_below(random, 8));
    if (way == 1) memset(bytes + at, 0, length);
    if (way == 2) message_fill(rng_next(random), bytes + at, length);
    if (way == 3) size = (int64_t)at;
    (void)write_file(path, bytes, (size_t)size);
}

/** Takes the file of that name from the older folder; without one, it goes. */
static void take_older(const remains *self, const char *path) {
    char from[700];
    snprintf(from, sizeof from, "%s%s", self->older, path + strlen(self->hurt));
    (void)unlink(path);
    if (size_of_file(from) >= 0) (void)copy_file(from, path);
}

static void exchange(const char *one, const char *other) {
    char between[720];
    snprintf(between, sizeof between, "%s.between", one);
    (void)!rename(one, between);
    (void)!rename(other, one);
    (void)!rename(between, other);
}

/** A sound segment, but of another store. */
static void give_to_another(const char *path) {
    enum { HEAD = 64, CRC = 8, COVERED = 12, STORE = 16 };
    static uint8_t bytes[1 << 20];
    int64_t size = read_file(path, bytes, sizeof bytes);
    if (size < HEAD || size > (int64_t)sizeof bytes) return;
    bytes[STORE] ^= 0x55;
    uint32_t crc = larder_crc32c(0, bytes + COVERED, HEAD - COVERED);
    memcpy(bytes + CRC, &crc, sizeof crc);
    (void)write_file(path, bytes, (size_t)size);
}

static void hurt_once(torture *run, remains *self, rng *random) {
    static const char *const ways[] = {"a bit",          "zeros",     "noise",
                                       "cut short",      "missing",   "older",
                                       "exchanged with", "copied to", "another's"};
    char one[700], other[700];
    choose(self->hurt, random, one, sizeof one);
    choose(self->hurt, random, other, sizeof other);
    uint64_t way = rng_below(random, sizeof ways / sizeof *ways);
    torture_note(run, "%s, %s, %s %s",
                 (const char *[]){"closed", "killed", "rebooted"}[self->model->end],
                 one + strlen(self->hurt) + 1, ways[way],
                 way == 6 || way == 7 ? other + strlen(self->hurt) + 1 : "");
    bool is_data = strstr(one, "data.mdb") || strstr(other, "data.mdb");
    self->is_data_hurt = self->is_data_hurt || (way < 4 && strstr(one, "data.mdb"));
    self->is_log_hurt = self->is_log_hurt || !strstr(one, "data.mdb");
    self->may_hide = self->may_hide || (!self->model->is_synced && (way == 1 || way == 5));
    if (way < 4) hurt_bytes(random, one, way);
    else if (way == 4) (void)unlink(one);
    else if (way == 5) take_older(self, one);
    else if (way == 8 && !strstr(one, "data.mdb")) give_to_another(one);
    else if (way == 6 && !is_data) exchange(one, other);
    else if (way == 7 && !is_data) {
        uint32_t number = 1 + (uint32_t)rng_below(random, 300);
        if (rng_one_in(random, 2))
            snprintf(other, sizeof other, "%s/log/%08x.seg", self->hurt, number);
        (void)unlink(other);
        (void)copy_file(one, other);
    }
}

/** The lock's file as of another start of the machine; all else in it stays. */
static void start_anew(const char *path) {
    char name[700];
    uint8_t text[65] = {0};
    snprintf(name, sizeof name, "%s/lock", path);
    int64_t size = read_file(name, text, 64);
    char *boot = size > 0 ? strchr((char *)text, ' ') : NULL;
    for (char *at = boot ? boot + 1 : NULL; at && *at && *at != ' '; at++) *at = '0';
    if (boot) (void)write_file(name, text, (size_t)size);
}

// What is found -----------------------------------------------------------------------------------

typedef struct found {
    larder_status opened;
    int versions[KEYS];
    larder_store_report report;
    larder_status check;
} found;

static bool read_keys(torture *run, const remains *self, larder_store *store, const char *who,
                      found *out) {
    for (int key = 0; key < KEYS; key++) {
        char name[700];
        uint8_t value[HEAD_BYTES + LONGEST];
        larder_store_entry entry;
        larder_status status = larder_store_get(store, key_of(key, name), 0, &entry);
        out->versions[key] = status == LARDER_EDAMAGED ? DAMAGED : NOTHING;
        bool good = EXPECT(
            run, status == LARDER_OK || status == LARDER_ENOTFOUND || status == LARDER_EDAMAGED,
            "%s: get gave %d (%s)", who, status, larder_strerror(status));
        if (good && !status) {
            uint32_t version = 0;
            if (entry.value.length >= HEAD_BYTES) memcpy(&version, entry.value.data, HEAD_BYTES);
            bool is_known = version > 0 && version <= (uint32_t)self->model->newest[key];
            size_t length = is_known ? value_of(key, (int)version, value) : 0;
            good =
                EXPECT(run,
                       is_known && length == entry.value.length &&
                           memcmp(value, entry.value.data, length) == 0,
                       "%s: key %d has a value that never was: version %u of %d, %zu bytes of %zu",
                       who, key, version, self->model->newest[key], entry.value.length, length);
            out->versions[key] = (int)version;
        }
        larder_store_release(&entry);
        if (!good) return false;
    }
    return true;
}

static bool open_and_read(torture *run, const remains *self, const char *path, uint32_t flags,
                          const char *who, found *out, larder_store **store) {
    larder_store_tuning tuning;
    larder_store_options options = options_of(NULL, &tuning, flags);
    memset(out, 0, sizeof *out);
    out->opened = larder_store_open(path, &options, NULL, store);
    if (out->opened) return true;
    if (!read_keys(run, self, *store, who, out)) return false;
    return EXPECT_STATUS(run, larder_store_recovery(*store, &out->report), LARDER_OK);
}

static bool salvage(torture *run, const remains *self, const char *path, uint32_t flags,
                    const char *who, found *out) {
    larder_store_tuning tuning;
    larder_store_options options = options_of(NULL, &tuning, flags);
    larder_store_report report;
    larder_store *store = NULL;
    remove_tree(self->target);
    memset(out, 0, sizeof *out);
    larder_status status = larder_store_salvage(path, self->target, &options, NULL, NULL, &report);
    if (status) {
        out->check = LARDER_EDAMAGED;
        return EXPECT(run, status == LARDER_EFOREIGN, "%s gave %d (%s)", who, status,
                      larder_strerror(status));
    }
    bool good = open_and_read(run, self, self->target, 0, who, out, &store);
    out->report = report;
    good = good && EXPECT_STATUS(run, out->opened, LARDER_OK);
    larder_store_close(store);
    return good;
}

/** Whether something that is not as it was is told of. */
static bool is_told(const found *of, int key) {
    const larder_store_report *told = &of->report;
    return of->versions[key] == DAMAGED || told->journal_lost > 0 || told->damaged > 0 ||
           told->uncertain > 0 || told->damaged_pages > 0 || told->inconsistencies > 0 ||
           of->check == LARDER_EDAMAGED;
}

static bool compare(torture *run, const remains *self, const found *of, const char *who,
                    bool may_bring_back) {
    for (int key = 0; key < KEYS; key++) {
        int right = self->model->now[key], there = of->versions[key];
        bool is_back = right == NOTHING && may_bring_back;
        if (!EXPECT(run, there == right || is_back || self->may_hide || is_told(of, key),
                    "%s: key %d has version %d instead of %d, without a word", who, key, there,
                    right)) {
            return false;
        }
    }
    return true;
}

// Checking ----------------------------------------------------------------------------------------

/** Everything below a folder but the locks, summed up. */
static uint64_t sum_of(const char *path) {
    static uint8_t bytes[4 << 20];
    file_list list;
    uint64_t sum = 0;
    list_files(path, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        char name[700];
        snprintf(name, sizeof name, "%s/%s", path, list.names[i]);
        int64_t size = read_file(name, bytes, sizeof bytes);
        uint64_t own =
            mix2(larder_crc32c(0, list.names[i], strlen(list.names[i])),
                 size < 0 ? UINT64_MAX : larder_crc32c(1, bytes, (size_t)size) + (uint64_t)size);
        sum += own;
    }
    return sum;
}

/** Other keys, over what an open that ends too early would leave behind. */
static bool write_more(torture *run, larder_store *store, bool may_fail) {
    static const uint8_t value[900];
    for (uint32_t i = 0; i < 12; i++) {
        larder_store_item item;
        larder_store_item_init(&item, bytes_of(&i, sizeof i), bytes_of(value, 75 * i));
        larder_status status = larder_store_put(store, &item, NULL);
        if (may_fail && status) return true;
        if (!EXPECT_STATUS(run, status, LARDER_OK)) return false;
    }
    return true;
}

/** A handle that only reads tells of what is missing in a data.mdb that is shorter than it was; one
    that writes refuses, or rebuilds it from the log. */
static bool use_cut(torture *run, const remains *self, const found *reader) {
    static const uint32_t flags[] = {0, LARDER_STORE_REBUILDS};
    for (int key = 0; key < KEYS && !reader->opened; key++) {
        if (!EXPECT(run,
                    reader->versions[key] == self->model->now[key] || reader->report.damaged_pages,
                    "a reader's key %d has version %d, and nothing is told of data.mdb", key,
                    reader->versions[key])) {
            return false;
        }
    }
    for (int way = 0; way < 2; way++) {
        larder_store *store = NULL;
        found opened;
        if (!EXPECT(run, copy_tree(self->hurt, self->target), "cannot copy the store"))
            return false;
        bool good = open_and_read(run, self, self->target, flags[way], "cut", &opened, &store) &&
                    EXPECT(run,
                           !opened.opened || (way == 0 && opened.opened == LARDER_EDAMAGED) ||
                               (way == 0 && opened.opened == LARDER_EFOREIGN),
                           "open gave %d (%s)", opened.opened, larder_strerror(opened.opened));
        for (int key = 0; key < KEYS && good && !opened.opened; key++) {
            good = EXPECT(run, opened.versions[key] == self->model->now[key],
                          "key %d has version %d in a data.mdb that was cut short and opened", key,
                          opened.versions[key]);
        }
        good =
            good && (opened.opened || (write_more(run, store, false) &&
                                       EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK)));
        larder_store_close(store);
        remove_tree(self->target);
        if (!good) return false;
    }
    return true;
}

static bool use(torture *run, const remains *self, const found *before, const found *reader,
                bool is_data) {
    found opened, after, rebuilt;
    larder_store *store = NULL;
    // What came behind a loss makes what is older uncertain, which it was not before.
    const uint32_t uncertain = (uint32_t)LARDER_STORE_WITH_UNCERTAIN;
    uint64_t sum = sum_of(self->work);
    if (!open_and_read(run, self, self->work, 0, "opened", &opened, &store)) return false;
    bool good = EXPECT(run,
                       opened.opened == LARDER_OK || opened.opened == LARDER_EDAMAGED ||
                           opened.opened == LARDER_EFOREIGN || opened.opened == LARDER_EVERSION,
                       "open gave %d (%s)", opened.opened, larder_strerror(opened.opened));
    if (good && opened.opened) {
        good = EXPECT(run, sum_of(self->work) == sum, "an open that refuses changed something");
    }
    // Of a hurt index a handle that reads shows what it can.
    if (good && !is_data) {
        good = EXPECT(run, (reader->opened != LARDER_OK) == (opened.opened != LARDER_OK),
                      "open gave %d, and %d for reading", opened.opened, reader->opened);
        for (int key = 0; key < KEYS && good && !opened.opened; key++) {
            good = EXPECT(run, reader->versions[key] == opened.versions[key],
                          "key %d has version %d, and %d for who reads", key, opened.versions[key],
                          reader->versions[key]);
        }
        bool is_lost = opened.report.journal_lost > 0;
        good = good && EXPECT(run, opened.opened || (reader->report.journal_lost > 0) == is_lost,
                              "%" PRIu64 " writes are told lost, and %" PRIu64 " to who reads",
                              opened.report.journal_lost, reader->report.journal_lost);
    }
    if (good && !opened.opened) {
        larder_store_report ignored;
        opened.check = larder_store_check(store, NULL, NULL, &ignored);
        good = compare(run, self, &opened, "opened", false) && write_more(run, store, is_data) &&
               (is_data || EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK)) &&
               (is_data || EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK));
    }
    larder_store_close(store);
    good = good && salvage(run, self, self->work, uncertain, "salvaged after", &after);
    for (int key = 0; key < KEYS && good; key++) {
        int right = self->model->now[key];
        if (right == NOTHING || before->versions[key] != right) continue;
        // The open itself finds it, refuses, or says that the record is damaged of which cleaning
        // has left another copy; in a hurt index, what leads there may be lost.
        bool is_told = opened.versions[key] == DAMAGED && self->is_log_hurt;
        bool is_kept =
            (opened.opened || self->is_data_hurt || is_told) && after.versions[key] == right;
        good = EXPECT(run, is_kept || opened.versions[key] == right,
                      "key %d: a salvage had found it, and now version %d is there, and %d "
                      "salvaged (open gave %d)",
                      key, opened.versions[key], after.versions[key], opened.opened);
    }
    if (!good) return false;
    larder_store_tuning tuning;
    larder_store_options options = options_of(NULL, &tuning, uncertain);
    larder_store_report report;
    larder_status status = larder_store_rebuild(self->work, &options, NULL, NULL, &report);
    if (status == LARDER_EFOREIGN || (is_data && status == LARDER_EVERSION)) return true;
    if (!EXPECT_STATUS(run, status, LARDER_OK)) return false;
    store = NULL;
    good = open_and_read(run, self, self->work, 0, "rebuilt", &rebuilt, &store) &&
           EXPECT_STATUS(run, rebuilt.opened, LARDER_OK);
    larder_store_close(store);
    for (int key = 0; key < KEYS && good; key++) {
        int right = self->model->now[key];
        if (right == NOTHING || before->versions[key] != right) continue;
        good = EXPECT(run, rebuilt.versions[key] == right,
                      "key %d: a salvage had found it, and a rebuilding has version %d", key,
                      rebuilt.versions[key]);
    }
    return good;
}

static void hurt(torture *run, void *context, uint64_t index) {
    remains *self = context;
    rng random = rng_make(mix2(self->random.state, index));
    self->is_data_cut = false;
    self->may_hide = self->is_data_hurt = self->is_log_hurt = false;
    remove_tree(self->hurt);
    remove_tree(self->work);
    if (!EXPECT(run, copy_tree(self->made, self->hurt), "cannot copy the store")) return;
    if (self->model->end == REBOOTED) start_anew(self->hurt);
    char data[700];
    static uint8_t bytes[4 << 20], now[4 << 20];
    snprintf(data, sizeof data, "%s/data.mdb", self->hurt);
    int64_t size = read_file(data, bytes, sizeof bytes);
    do hurt_once(run, self, &random);
    while (rng_one_in(&random, 4));
    int64_t left = read_file(data, now, sizeof now);
    bool is_data = left != size || memcmp(now, bytes, (size_t)size) != 0;
    self->is_data_cut = left >= 0 && left < size && memcmp(now, bytes, (size_t)left) == 0;
    found before, reader;
    larder_store *store = NULL;
    bool good = salvage(run, self, self->hurt, 0, "salvaged", &before) &&
                compare(run, self, &before, "salvaged", is_data) &&
                EXPECT(run, copy_tree(self->hurt, self->work), "cannot copy the store") &&
                open_and_read(run, self, self->work, (uint32_t)LARDER_STORE_READ_ONLY, "read",
                              &reader, &store);
    larder_store_close(store);
    remove_tree(self->target);
    if (good && self->is_data_cut && !self->is_log_hurt) good = use_cut(run, self, &reader);
    (void)(good && use(run, self, &before, &reader, is_data));
}

void family_store_remains(torture *run) {
    remains self = {.model = shared_memory(sizeof(written))};
    uint64_t end = run->deadline_ns;
    rng random;
    while (torture_next_case(run, &random)) {
        self.random = random;
        self.made = torture_path(run, "made");
        self.older = torture_path(run, "older");
        self.hurt = torture_path(run, "hurt");
        self.work = torture_path(run, "work");
        self.target = torture_path(run, "salvaged");
        remove_tree(self.made);
        remove_tree(self.older);
        memset(self.model, 0, sizeof *self.model);
        self.model->end = (ending)rng_below(&random, 3);
        self.random = random;
        torture_trial(run);
        if (!torture_guard(run, 60, write_store, &self) || !self.model->is_done) continue;
        uint64_t left = end > now_ns() ? end - now_ns() : 0;
        run->deadline_ns = now_ns() + left / 8 + 100000000;
        torture_guard_each(run, run->brief ? 60 : 300, 20, false, hurt, &self);
        run->deadline_ns = end;
    }
    run->deadline_ns = end;
}
