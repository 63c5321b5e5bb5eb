// SPDX-License-Identifier: MIT
// What nobody should pass, and where no store should be: limits of 0, 1, 63 and huge, keys of every
// length and any bytes, times at both ends, folders that hold something else, a version of the
// future. A clear status or correct work, never a crash, and nothing of others is touched.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"

typedef struct visit {
    const char *path;
    torture *run;
} visit;

static larder_store *open_with(torture *run, const char *path, larder_store_options *options,
                               larder_status wanted) {
    larder_store *store = NULL;
    larder_store_detail detail;
    larder_status status = larder_store_open(path, options, &detail, &store);
    EXPECT(run, status == wanted && (store != NULL) == (status == LARDER_OK),
           "open gave %d (%s), not %d, at journal %" PRIu64 ", flags %u", status,
           larder_strerror(status), wanted, options->journal_bytes, options->flags);
    return store;
}

static larder_status put(larder_store *store, larder_bytes key, larder_bytes value) {
    larder_store_item item;
    larder_store_item_init(&item, key, value);
    return larder_store_put(store, &item, NULL);
}

static bool holds(larder_store *store, larder_bytes key, larder_bytes value) {
    larder_store_entry entry;
    bool same = larder_store_get(store, key, 0, &entry) == LARDER_OK &&
                entry.key.length == key.length && entry.value.length == value.length &&
                (!key.length || memcmp(entry.key.data, key.data, key.length) == 0) &&
                (!value.length || memcmp(entry.value.data, value.data, value.length) == 0);
    larder_store_release(&entry);
    return same;
}

// Options -----------------------------------------------------------------------------------------

static void odd_options(torture *run, void *context) {
    const visit *self = context;
    larder_store_options options;
    larder_store *store = NULL;
    larder_store_options_init(&options);
    EXPECT_STATUS(run, larder_store_open("", &options, NULL, &store), LARDER_EINVALID);
    static const uint64_t journals[] = {0, 1, 63, (64 << 10) - 1};
    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        options.journal_bytes = journals[i];
        open_with(run, self->path, &options, LARDER_EINVALID);
    }
    EXPECT(run, size_of_file(self->path) < 0, "a refused open made a folder");
    larder_store_options_init(&options);
    options.flags = 1u << 20;
    open_with(run, self->path, &options, LARDER_EINVALID);
    larder_store_options_init(&options);
    options.sync_interval_ns = -1;
    open_with(run, self->path, &options, LARDER_EINVALID);
    larder_store_options_init(&options);
    options.flags = (uint32_t)LARDER_STORE_EXISTING;
    open_with(run, self->path, &options, ENOENT);
    options.flags = (uint32_t)LARDER_STORE_READ_ONLY;
    open_with(run, self->path, &options, ENOENT);

    static const uint64_t limits[] = {0, 1, 63, UINT64_MAX - 1, UINT64_MAX};
    static const int64_t times[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 6; k++) {
            larder_store_options_init(&options);
            options.journal_bytes = 64 << 10;
            options.limits.count = limits[i];
            options.limits.bytes = limits[(i + k) % 5];
            options.limits.age_ns = times[k];
            options.limits.end_ns = times[(i + k) % 6];
            options.inline_threshold_bytes = limits[k % 5];
            options.map_bytes = k % 2 ? limits[i] : 0;
            options.flags = (uint32_t)LARDER_STORE_HOST_MAINTENANCE;
            torture_note(run, "limits %zu, times %zu", i, k);
            larder_status status = larder_store_open(self->path, &options, NULL, &store);
            if (status == LARDER_EINVALID || status == ENOMEM) {
                continue;
            }
            if (!EXPECT(run, status == LARDER_OK, "open gave %d (%s)", status,
                        larder_strerror(status))) {
                return;
            }
            uint64_t count, bytes;
            larder_store_report report;
            for (char key = 'a'; key < 'f'; key++) {
                EXPECT_STATUS(run, put(store, bytes_of(&key, 1), bytes_of("0123456789", 10)),
                              LARDER_OK);
            }
            EXPECT_STATUS(run, larder_store_maintain(store), LARDER_OK);
            EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
            EXPECT_STATUS(run, larder_store_totals(store, &count, &bytes), LARDER_OK);
            EXPECT(run, count <= options.limits.count && bytes <= options.limits.bytes,
                   "limits of %" PRIu64 " and %" PRIu64 " leave %" PRIu64 " and %" PRIu64,
                   options.limits.count, options.limits.bytes, count, bytes);
            EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
            larder_store_close(store);
            store = NULL;
        }
    }
}

// Items -------------------------------------------------------------------------------------------

static void odd_keys(torture *run, void *context) {
    const visit *self = context;
    larder_store_options options;
    larder_store_options_init(&options);
    options.journal_bytes = 1 << 20;
    larder_store *store = open_with(run, self->path, &options, LARDER_OK);
    if (!store) {
        return;
    }
    static const size_t lengths[] = {0,   1,   2,   62,  63,   64,   493,   494,
                                     495, 510, 511, 512, 1000, 4096, 65535, 65536};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    uint8_t *key = malloc(1 << 17);
    for (int fill = 0; fill < 3; fill++) {
        for (int round = 0; round < 2; round++) {
            for (size_t i = 0; i < LENGTHS; i++) {
                memset(key, fill == 0 ? 0 : fill == 1 ? 255 : '/', 1 << 17);
                larder_bytes name = bytes_of(key, lengths[i]);
                torture_note(run, "a key of %zu bytes %02x", lengths[i], key[0]);
                // The filling is no part of the empty key.
                uint8_t value[2] = {(uint8_t)(i ? fill : 0), (uint8_t)i};
                if (round == 0) {
                    EXPECT_STATUS(run, put(store, name, bytes_of(value, 2)), LARDER_OK);
                }
                EXPECT(run, holds(store, name, bytes_of(value, 2)),
                       "it is not there, or another one is");
            }
            EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
        }
    }
    torture_note(run, "too long");
    EXPECT_STATUS(run, put(store, bytes_of(key, 65537), bytes_of("x", 1)), LARDER_ETOOLARGE);
    EXPECT_STATUS(run, larder_store_remove(store, bytes_of(key, 65537), 0), LARDER_ETOOLARGE);
    EXPECT_STATUS(run, larder_store_contains(store, bytes_of(key, 65537)), LARDER_ENOTFOUND);
    larder_store_item item;
    larder_store_item_init(&item, bytes_of("k", 1), bytes_of("v", 1));
    item.extended = bytes_of(key, 65537);
    EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    larder_store_index_entry indexes[65];
    for (unsigned i = 0; i < 65; i++) {
        indexes[i] = (larder_store_index_entry){(uint16_t)i, {key, i}};
    }
    larder_store_item_init(&item, bytes_of("k", 1), bytes_of("v", 1));
    item.indexes = indexes;
    item.index_count = 65;
    EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    item.index_count = 64;
    EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
    indexes[0].value = bytes_of(key, 4097);
    EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    indexes[0].value = bytes_of(key, 4096);
    EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
    torture_note(run, "odd times");
    static const int64_t times[] = {INT64_MIN,     -1,       0, 1, 4102444800000000000,
                                    INT64_MAX - 1, INT64_MAX};
    for (unsigned i = 0; i < 343; i++) {
        larder_store_item_init(&item, bytes_of("time", 4), bytes_of("v", 1));
        item.expires_ns = times[i % 7];
        item.idle_ns = times[i / 7 % 7];
        item.written_ns = times[i / 49];
        larder_status status = larder_store_put(store, &item, NULL);
        EXPECT(run, status == LARDER_OK || status == LARDER_EINVALID, "put gave %d", status);
        larder_store_entry entry;
        status = larder_store_get(store, item.key, 0, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND, "get gave %d", status);
        larder_store_release(&entry);
        if (i % 50 == 0) {
            EXPECT_STATUS(run, larder_store_maintain(store), LARDER_OK);
        }
    }
    EXPECT_STATUS(run, larder_store_remove(store, item.key, 0), LARDER_OK);
    larder_store_report report;
    EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 3 * (LENGTHS - 1) + 1 + 1, "%" PRIu64 " entries", report.intact);
    larder_store_close(store);
    free(key);
}

static void large_values(torture *run, void *context) {
    const visit *self = context;
    larder_store_options options;
    larder_store_options_init(&options);
    options.journal_bytes = 16 << 20;
    options.inline_threshold_bytes = 4 << 20; // Counts as 1 KiB.
    larder_store *store = open_with(run, self->path, &options, LARDER_OK);
    size_t most = run->brief ? (8u << 20) : (300u << 20);
    uint8_t *value = malloc(most);
    if (!store || !value) {
        return;
    }
    message_fill(1, value, most);
    size_t lengths[] = {0, 1, 1023, 1024, 1025, most};
    for (int round = 0; round < 2; round++) {
        for (uint8_t i = 0; i < 6; i++) {
            torture_note(run, "a value of %zu bytes", lengths[i]);
            if (round == 0) {
                EXPECT_STATUS(run, put(store, bytes_of(&i, 1), bytes_of(value, lengths[i])),
                              LARDER_OK);
            }
            EXPECT(run, holds(store, bytes_of(&i, 1), bytes_of(value, lengths[i])), "not there");
        }
        EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
    }
    larder_store_close(store);
    free(value);
}

// Folders -----------------------------------------------------------------------------------------

static void expect_left_alone(torture *run, const visit *self, const char *file) {
    larder_store_options options;
    larder_store_options_init(&options);
    uint8_t before[200], after[200];
    char path[700];
    snprintf(path, sizeof path, "%s%s%s", self->path, *file ? "/" : "", file);
    int64_t size = read_file(path, before, sizeof before);
    // What does not lie in a segment that is none is found, and the rest is told of.
    bool is_segment = strncmp(file, "log/", 4) == 0;
    for (int flags = 0; flags < 2; flags++) {
        options.flags = flags ? (uint32_t)LARDER_STORE_READ_ONLY : 0;
        larder_store *store = NULL;
        larder_status status = larder_store_open(self->path, &options, NULL, &store);
        larder_store_report report = {0};
        if (!status && is_segment) status = larder_store_recovery(store, &report);
        EXPECT(run,
               report.journal_lost > 0 || status == LARDER_EFOREIGN || status == ENOTDIR ||
                   status == ENOENT || status == LARDER_EDAMAGED || status == ELOOP ||
                   status == LARDER_EVERSION,
               "open with flags %u gave %d (%s)", options.flags, status, larder_strerror(status));
        larder_store_close(store);
    }
    EXPECT(run,
           read_file(path, after, sizeof after) == size &&
               (size <= 0 || memcmp(before, after, (size_t)size) == 0),
           "what was there is changed");
}

static void make_store(torture *run, const char *path) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.journal_bytes = 64 << 10;
    larder_store *store = open_with(run, path, &options, LARDER_OK);
    if (store) {
        EXPECT_STATUS(run, put(store, bytes_of("k", 1), bytes_of("v", 1)), LARDER_OK);
    }
    larder_store_close(store);
}

/** The library that is found when the program runs is the wrong one: nothing is made, and a store
    that is there is left alone. */
static void other_lmdb(torture *run, void *context) {
    static const struct {
        int version;
        larder_status wanted;
    } libraries[] = {
        {1 << 24, LARDER_EVERSION},     {10 << 16, LARDER_EVERSION},
        {8 << 16 | 3, LARDER_EVERSION}, {1 << 24 | 9 << 16, LARDER_EVERSION},
        {9 << 16 | 99, LARDER_OK},
    };
    const visit *self = context;
    char path[700];
    snprintf(path, sizeof path, "%s/data.mdb", self->path);
    for (int is_there = 0; is_there < 2; is_there++) {
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
            uint32_t version = (uint32_t)libraries[i].version;
            torture_note(run, "LMDB %u.%u.%u", version >> 24, version >> 16 & 0xff,
                         version & 0xffff);
            if (is_there) {
                make_store(run, self->path);
            }
            int64_t size = size_of_file(path);
            larder_store *store = NULL;
            larder_store_detail detail;
            larder_fault_set("mdb_version", 1, libraries[i].version);
            larder_status status = larder_store_open(self->path, NULL, &detail, &store);
            EXPECT(run, larder_fault_passes() > 0, "nobody asked for LMDB's version");
            larder_fault_set(NULL, 0, 0);
            bool is_refused = libraries[i].wanted == LARDER_EVERSION;
            EXPECT(run,
                   status == libraries[i].wanted &&
                       (!is_refused || (detail.part == LARDER_STORE_PART_DATA &&
                                        detail.version_of == LARDER_STORE_VERSION_OF_LMDB &&
                                        detail.version == version)),
                   "open gave %d, part %d, version %x of %d", status, (int)detail.part,
                   detail.version, (int)detail.version_of);
            EXPECT(run, !is_refused || size_of_file(path) == size, "data.mdb has changed");
            larder_store_close(store);
            remove_tree(self->path);
        }
    }
}

static void odd_folders(torture *run, void *context) {
    const visit *self = context;
    char path[700];
    larder_store_options options;
    larder_store_options_init(&options);

    torture_note(run, "a file in the folder's place");
    write_file(self->path, "text", 4);
    expect_left_alone(run, self, "");
    (void)unlink(self->path);

    torture_note(run, "a folder that holds something else");
    make_directory(self->path);
    snprintf(path, sizeof path, "%s/letter.txt", self->path);
    write_file(path, "Dear", 4);
    expect_left_alone(run, self, "letter.txt");
    remove_tree(self->path);

    static const char *const names[] = {"data.mdb", "log/00000001.seg"};
    for (int i = 0; i < 2; i++) {
        torture_note(run, "text as %s", names[i]);
        make_store(run, self->path);
        snprintf(path, sizeof path, "%s/%s", self->path, names[i]);
        write_file(path, "This is a text that somebody keeps under this name.", 51);
        expect_left_alone(run, self, names[i]);
        remove_tree(self->path);

        torture_note(run, "%s is a link", names[i]);
        make_store(run, self->path);
        char elsewhere[700];
        snprintf(elsewhere, sizeof elsewhere, "%s-elsewhere", self->path);
        (void)rename(path, elsewhere);
        (void)!symlink(elsewhere, path);
        larder_store *store = NULL;
        larder_status status = larder_store_open(self->path, &options, NULL, &store);
        EXPECT(run, status == ELOOP || status == LARDER_EFOREIGN || status == LARDER_EDAMAGED,
               "open followed a link: %d", status);
        larder_store_close(store);
        (void)unlink(elsewhere);
        remove_tree(self->path);

        torture_note(run, "%s is a folder", names[i]);
        make_store(run, self->path);
        (void)unlink(path);
        make_directory(path);
        status = larder_store_open(self->path, &options, NULL, &store);
        EXPECT(run, status != LARDER_OK && store == NULL, "open gave %d", status);
        remove_tree(self->path);
    }

    torture_note(run, "permissions");
    make_store(run, self->path);
    struct stat facts;
    EXPECT(run, stat(self->path, &facts) == 0 && (facts.st_mode & 0777) == 0700,
           "the folder has mode %o", facts.st_mode & 0777);
    snprintf(path, sizeof path, "%s/data.mdb", self->path);
    EXPECT(run, stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600, "data.mdb has mode %o",
           facts.st_mode & 0777);
    remove_tree(self->path);

    torture_note(run, "another content");
    options.content_format = 1;
    larder_store *store = open_with(run, self->path, &options, LARDER_OK);
    larder_store_close(store);
    options.content_format = 2;
    open_with(run, self->path, &options, LARDER_EMISMATCH);
    options.content_format = 0;
    store = open_with(run, self->path, &options, LARDER_OK);
    larder_store_close(store);
}

void family_store_input(torture *run) {
    static void (*const visits[])(torture *, void *) = {odd_options, odd_keys, large_values,
                                                        odd_folders, other_lmdb};
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    visit self = {torture_path(run, "store"), run};
    for (size_t i = 0; i < sizeof visits / sizeof *visits; i++) {
        torture_trial(run);
        remove_tree(self.path);
        torture_guard(run, 60, visits[i], &self);
    }
    remove_tree(self.path);
}
