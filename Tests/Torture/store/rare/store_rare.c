// SPDX-License-Identifier: MIT
// What happens seldom, each by itself, because chance does not come to it: every option out of its
// range, every code that LMDB may give, what may lie in a store's folder, removals of very many and
// of very long keys, limits of every kind that the store's own thread keeps.
#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "store_rare.h"

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static bool holds(larder_store *store, unsigned number, const char *value) {
    larder_store_entry entry;
    bool is_same = larder_store_get(store, rare_key(number), 0, &entry) == LARDER_OK &&
                   entry.value.length == strlen(value) &&
                   memcmp(entry.value.data, value, strlen(value)) == 0;
    larder_store_release(&entry);
    return is_same;
}

static bool make_store(torture *run, const char *path, unsigned count, bool closes) {
    larder_store *store = NULL;
    larder_status status = opened(path, 0, &store);
    for (unsigned i = 0; i < count && !status; i++) {
        status = rare_put(store, i, "value");
    }
    status = status ? status : closes ? larder_store_shutdown(store) : larder_store_flush(store);
    larder_store_close(store);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

// Options -----------------------------------------------------------------------------------------

static larder_status opened_with(const char *path, larder_store_options *options) {
    larder_store *store = NULL;
    larder_status status = larder_store_open(path, options, NULL, &store);
    larder_store_close(store);
    return (status == LARDER_OK) == (store != NULL) ? status : LARDER_EDAMAGED;
}

static void wrong_options(torture *run, void *context) {
    const rare *self = context;
    larder_store_options options;
    larder_store_tuning tuning;
#define WRONG_TUNING(field, value)                                                                 \
    larder_store_options_init(&options);                                                           \
    larder_store_tuning_init(&tuning);                                                             \
    options.tuning = &tuning;                                                                      \
    tuning.field = (value);                                                                        \
    GIVES(opened_with(self->path, &options), LARDER_EINVALID)
    WRONG_TUNING(segment_min_bytes, 1023);
    WRONG_TUNING(segment_max_bytes, tuning.segment_min_bytes - 1);
    WRONG_TUNING(segment_max_bytes, ((uint64_t)1 << 32) + 1);
    WRONG_TUNING(memtable_max_count, 0);
    WRONG_TUNING(memtable_max_count, ((uint64_t)1 << 24) + 1);
    WRONG_TUNING(transaction_max_count, 0);
    WRONG_TUNING(space_percent, 99);
    WRONG_TUNING(space_percent, 100001);
    WRONG_TUNING(remove_max_count, 0);
    WRONG_TUNING(checkpoint_permille, 1000001);
#define WRONG_OPTION(field, value)                                                                 \
    larder_store_options_init(&options);                                                           \
    options.field = (value);                                                                       \
    GIVES(opened_with(self->path, &options), LARDER_EINVALID)
    WRONG_OPTION(flags, 1u << 30);
    WRONG_OPTION(mode, 0);
    WRONG_OPTION(mode, 01000);
    WRONG_OPTION(journal_bytes, LARDER_STORE_JOURNAL_MIN_BYTES - 1);
    WRONG_OPTION(sync_interval_ns, -1);
    WRONG_OPTION(flush_interval_ns, -1);
    WRONG_OPTION(trim_interval_ns, -1);
    EXPECT(run, size_of_file(self->path) < 0, "a refused open made a folder");
    // As much as there may be is that much.
    larder_store_options_init(&options);
    options.inline_threshold_bytes = UINT64_MAX;
    GIVES(opened_with(self->path, &options), LARDER_OK);
    options.map_bytes = UINT64_MAX;
    GIVES(opened_with(self->path, &options), ENOMEM);
    options.map_bytes = 1;
    GIVES(opened_with(self->path, &options), LARDER_OK);
}

// LMDB --------------------------------------------------------------------------------------------

/** What a checkpoint gives for each code; and nothing is lost by it. */
static void lmdb_codes(torture *run, void *context) {
    static const struct {
        int code;
        larder_status status;
    } codes[] = {
        {MDB_NOTFOUND, LARDER_ENOTFOUND},
        {MDB_KEYEXIST, EEXIST},
        {MDB_VERSION_MISMATCH, LARDER_EVERSION},
        {MDB_INVALID, LARDER_EFOREIGN},
        {MDB_READERS_FULL, LARDER_ENOSLOT},
        {MDB_TXN_FULL, ENOMEM},
        {MDB_BAD_VALSIZE, LARDER_EINVALID},
        {MDB_CORRUPTED, LARDER_EDAMAGED},
        {MDB_PAGE_NOTFOUND, LARDER_EDAMAGED},
        {MDB_CURSOR_FULL, LARDER_EDAMAGED},
        {MDB_PAGE_FULL, LARDER_EDAMAGED},
        {MDB_INCOMPATIBLE, LARDER_EDAMAGED},
        {MDB_PANIC, EIO},
        {MDB_BAD_DBI, EIO},
        {EDQUOT, EDQUOT},
    };
    static const char *const calls[] = {"mdb_put", "mdb_dbi_open", "mdb_txn_begin", "mdb_get",
                                        "mdb_txn_commit"};
    const rare *self = context;
    larder_store *store = NULL;
    if (!EXPECT_STATUS(run, opened(self->path, 0, &store), LARDER_OK)) {
        return;
    }
    unsigned number = 0;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        for (size_t call = 0; call < sizeof calls / sizeof *calls; call++) {
            torture_trial(run);
            torture_note(run, "%s gives %d", calls[call], codes[i].code);
            EXPECT_STATUS(run, rare_put(store, number++, "value"), LARDER_OK);
            larder_fault_set(calls[call], 1, codes[i].code);
            larder_status status = larder_store_flush(store);
            bool is_reached = larder_fault_passes() >= 1;
            larder_fault_set(NULL, 0, 0);
            EXPECT(run,
                   !is_reached || status == codes[i].status || status == LARDER_OK ||
                       status == LARDER_EDAMAGED || status == EIO,
                   "a checkpoint gave %d", status);
            // A full disk has a checkpoint begin anew, with less.
            bool may_do_without = codes[i].code == EDQUOT || codes[i].code == MDB_NOTFOUND;
            EXPECT(run, call > 0 || !is_reached || status == codes[i].status || may_do_without,
                   "a put's code became %d, not %d", status, codes[i].status);
            EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
        }
    }
    for (unsigned i = 0; i < number; i++) {
        EXPECT(run, holds(store, i, "value"), "key %u is lost", i);
    }
    larder_store_report report;
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
}

/** What LMDB gives for a map that is too small, a table that is full, and after a failed write: the
    call is made again, or fails; whatever it is, the next ones work. */
static void lmdb_refusals(torture *run, void *context) {
    static const char *const calls[] = {"mdb_txn_begin",  "mdb_txn_renew",       "mdb_put",
                                        "mdb_del",        "mdb_txn_commit",      "mdb_cursor_put",
                                        "mdb_cursor_del", "mdb_env_set_mapsize", "mdb_env_info"};
    static const int codes[] = {MDB_MAP_FULL,     MDB_MAP_RESIZED, MDB_PANIC,
                                MDB_READERS_FULL, ENOMEM,          EIO};
    enum { CALLS = sizeof calls / sizeof *calls, CODES = sizeof codes / sizeof *codes };
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(rare_put(store, 0, "value"), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    unsigned number = 1;
    for (unsigned i = 0; i < CALLS * CODES * 3; i++, number++) {
        int nth = 1 + (int)(i % 3);
        // Nobody finds the map full who does not write.
        bool is_write = strstr(calls[i / 3 / CODES], "txn_") == NULL || i / 3 / CODES == 4;
        if (codes[i / 3 % CODES] == MDB_MAP_FULL && !is_write) {
            continue;
        }
        torture_trial(run);
        torture_note(run, "pass %d of %s gives %d", nth, calls[i / 3 / CODES],
                     codes[i / 3 % CODES]);
        if (!reader) {
            EXPECT_STATUS(run, opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
        }
        EXPECT_STATUS(run, rare_put(store, number, "value"), LARDER_OK);
        EXPECT_STATUS(run, larder_store_remove(store, rare_key(number / 2 * 2 - 1), 0), LARDER_OK);
        larder_fault_set(calls[i / 3 / CODES], nth, codes[i / 3 % CODES]);
        larder_status flushed = larder_store_flush(store);
        larder_store_entry entry;
        larder_status got = larder_store_get(reader, rare_key(0), 0, &entry);
        larder_store_release(&entry);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, flushed >= 0 || flushed <= LARDER_ETOOLARGE, "a checkpoint gave %d", flushed);
        EXPECT(run, got >= 0 || got <= LARDER_ETOOLARGE, "a read gave %d", got);
        EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
        EXPECT(run, holds(store, 0, "value") && holds(reader, 0, "value"), "the first key is lost");
        if (i % 4 == 3) {
            larder_store_close(reader);
            reader = NULL;
        }
    }
    larder_store_close(reader);
    larder_store_report report;
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
}

/** A map that is much too small grows with what is in it, also where somebody reads. */
static void lmdb_growth(torture *run, void *context) {
    enum { MANY = 12000 };
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    options.map_bytes = 1;
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_STATUS(run, rare_put(store, i, "a value that lies beside its key"), LARDER_OK);
        if (i % 3000 == 2999) {
            GIVES(larder_store_flush(store), LARDER_OK);
            EXPECT(run, holds(reader, i, "a value that lies beside its key"), "key %u", i);
        }
    }
    larder_store_report report;
    GIVES(larder_store_check(reader, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == MANY, "%llu are there", (unsigned long long)report.intact);
    larder_store_close(reader);
    larder_store_close(store);
}

/** Where a reader may not write, LMDB is opened to read. */
static void lmdb_for_reading(torture *run, void *context) {
    static const int denied[] = {EACCES, EROFS, EPERM, ENOSPC};
    const rare *self = context;
    larder_store *store = NULL, *writer = NULL;
    if (!make_store(run, self->path, 50, true)) {
        return;
    }
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        larder_fault_set("mdb_env_open", 1, denied[i]);
        GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, store && holds(store, 7, "value"), "nothing is read where nothing is written");
        // Both share what LMDB has open, and that cannot write.
        GIVES(opened(self->path, 0, &writer), EACCES);
        larder_store_close(store);
        larder_fault_set("open", 3, denied[i]);
        larder_status status = opened(self->path, LARDER_STORE_READ_ONLY, &store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == denied[i], "an open gave %d", status);
        larder_store_close(store);
    }
    larder_fault_set("mdb_env_open", 1, EIO);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), EIO);
    larder_fault_set(NULL, 0, 0);
}

// Folders -----------------------------------------------------------------------------------------

static void write_text(torture *run, const char *path) {
    EXPECT(run, write_file(path, "something of others", 19), "cannot write %s", path);
}

/** Names that look a little like a segment's mean nothing. */
static void odd_names(torture *run, void *context) {
    static const char *const names[] = {"x",
                                        "0000000g.seg",
                                        "0000000G.seg",
                                        "0000000/.seg",
                                        "00000000.seg",
                                        "00000005.seh",
                                        "000005.seg",
                                        "00000005",
                                        "00000009.new",
                                        "0000000:.seg",
                                        "0000000`.seg",
                                        "00000000.new"};
    const rare *self = context;
    larder_store *store = NULL;
    if (!make_store(run, self->path, 50, true)) {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[32];
        snprintf(name, sizeof name, "log/%s", names[i]);
        if (strcmp(names[i], "0000000/.seg") != 0) {
            write_text(run, inside(self->path, name));
        }
    }
    larder_store_report report;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    // The check tells of them, and that is all.
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_EDAMAGED);
    EXPECT(run, report.inconsistencies == 10 && report.damaged == 0 && report.intact == 50,
           "%llu odd names are told", (unsigned long long)report.inconsistencies);
    EXPECT(run, holds(store, 7, "value"), "a key is lost among odd names");
    larder_store_close(store);
    EXPECT(run, size_of_file(inside(self->path, "log/00000009.new")) < 0, "a half segment is left");
    EXPECT(run, size_of_file(inside(self->path, "log/0000000g.seg")) > 0, "a file of others went");
    GIVES(larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 50, "%llu are rebuilt", (unsigned long long)report.intact);
}

/** What is no file, in the place of one. */
static void odd_files(torture *run, void *context) {
    static const char *const names[] = {
        "data.mdb", "lock", "lock.mdb", "log", "log/00000001.seg", "log/00000077.seg"};
    const rare *self = context;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (unsigned kind = 0; kind < 4; kind++) {
            larder_store *store = NULL;
            larder_store_report report;
            torture_trial(run);
            torture_note(run, "%s is %s", names[i],
                         kind == 0   ? "a folder"
                         : kind == 1 ? "a link"
                         : kind == 2 ? "a pipe"
                                     : "empty");
            remove_tree(self->path);
            remove_tree(self->other);
            if (!make_store(run, self->path, 50, true)) {
                return;
            }
            const char *path = inside(self->path, names[i]);
            remove_tree(path);
            (void)unlink(path);
            bool good = kind == 0   ? mkdir(path, 0700) == 0
                        : kind == 1 ? symlink("/dev/null", path) == 0
                        : kind == 2 ? mkfifo(path, 0600) == 0
                                    : write_file(path, "", 0);
            EXPECT(run, good, "cannot make %s", path);
            bool is_needed = i != 2 && i != 5;
            larder_status status =
                larder_store_salvage(self->path, self->other, NULL, NULL, NULL, &report);
            EXPECT(run, status == LARDER_OK || is_needed, "a salvage gave %d", status);
            EXPECT(run, status != LARDER_OK || i == 3 || i == 4 || report.intact == 50,
                   "%llu are salvaged", (unsigned long long)report.intact);
            status = opened(self->path, LARDER_STORE_READ_ONLY, &store);
            larder_store_close(store);
            status = opened(self->path, 0, &store);
            EXPECT(run, status != LARDER_OK || i == 4 || holds(store, 7, "value"),
                   "a store without its %s has lost a key, untold", names[i]);
            larder_store_close(store);
            status = larder_store_rebuild(self->path, NULL, NULL, NULL, &report);
            EXPECT(run, status != LARDER_OK || i >= 3 || report.intact == 50, "%llu are rebuilt",
                   (unsigned long long)report.intact);
        }
    }
}

/** Copies a segment, and gives it the number 0x31. */
static bool lend_segment(const char *from, const char *to) {
    int64_t size = size_of_file(from);
    uint8_t *bytes = size > 64 ? malloc((size_t)size) : NULL;
    if (!bytes) {
        return false;
    }
    bool good = read_file(from, bytes, (size_t)size) == size;
    uint32_t number = 0x31;
    memcpy(bytes + 12, &number, sizeof number);
    uint32_t crc = larder_crc32c(0, bytes + 12, 52);
    memcpy(bytes + 8, &crc, sizeof crc);
    good = good && write_file(to, bytes, (size_t)size);
    free(bytes);
    return good;
}

/** A segment of another store is no part of this one. */
static void foreign_segments(torture *run, void *context) {
    const rare *self = context;
    larder_store_report report;
    char third[700];
    snprintf(third, sizeof third, "%s-3", self->other);
    if (!make_store(run, self->path, 50, true) || !make_store(run, self->other, 60, true)) {
        return;
    }
    EXPECT(run,
           lend_segment(inside(self->other, "log/00000001.seg"),
                        inside(self->path, "log/00000031.seg")),
           "cannot copy a segment");
    for (int i = 0; i < 2; i++) {
        GIVES(larder_store_salvage(self->path, third, NULL, NULL, NULL, &report), LARDER_OK);
        EXPECT(run, report.intact == 50, "%llu are salvaged", (unsigned long long)report.intact);
        remove_tree(third);
        GIVES(larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_OK);
        EXPECT(run, report.intact == 50, "%llu are rebuilt", (unsigned long long)report.intact);
    }
    EXPECT(run, size_of_file(inside(self->path, "log/00000031.seg")) > 0,
           "what is another's is gone");
    // Without its index, nobody can tell which of the two it was.
    (void)unlink(inside(self->path, "data.mdb"));
    GIVES(larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_EFOREIGN);
    GIVES(larder_store_salvage(self->path, third, NULL, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact > 0, "nothing is salvaged");
    remove_tree(third);
}

/** A log without its index is told from one beside a damaged index. */
static void missing_index(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_detail detail;
    for (int way = 0; way < 2; way++) {
        remove_tree(self->path);
        if (!make_store(run, self->path, 5, true)) {
            return;
        }
        const char *data = inside(self->path, "data.mdb");
        EXPECT(run, way ? write_file(data, "", 0) : unlink(data) == 0, "cannot remove the index");
        for (uint32_t flags = 0; flags <= LARDER_STORE_READ_ONLY; flags += LARDER_STORE_READ_ONLY) {
            larder_store_options options;
            larder_store_options_init(&options);
            options.flags = flags;
            GIVES(larder_store_open(self->path, &options, &detail, &store), LARDER_EDAMAGED);
            EXPECT(run,
                   detail.part == LARDER_STORE_PART_DATA && detail.offset == LARDER_STORE_MISSING,
                   "part %d at %llu", (int)detail.part, (unsigned long long)detail.offset);
        }
    }
}

/** Pages of a version that is not known, in both heads. */
static void other_version(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_detail detail;
    larder_store_report report;
    static uint8_t bytes[1 << 16];
    if (!make_store(run, self->path, 5, true)) {
        return;
    }
    const char *data = inside(self->path, "data.mdb");
    int64_t size = read_file(data, bytes, sizeof bytes);
    uint32_t page;
    memcpy(&page, bytes + 40, sizeof page);
    bytes[20] = bytes[page + 20] = 9;
    EXPECT(run, size > 0 && write_file(data, bytes, (size_t)size), "cannot write");
    GIVES(larder_store_open(self->path, NULL, &detail, &store), LARDER_EVERSION);
    EXPECT(run,
           detail.version == 9 && detail.version_of == LARDER_STORE_VERSION_OF_DATA &&
               detail.part == LARDER_STORE_PART_DATA,
           "version %u of %d", detail.version, (int)detail.version_of);
    larder_status status = larder_store_rebuild(self->path, NULL, NULL, NULL, &report);
    EXPECT(run, status == LARDER_OK || status == LARDER_EVERSION, "rebuilding gave %d", status);
}

/** A store of which nothing was promised when the power went is made anew; one that was, is not. */
static void unmade(torture *run, void *context) {
    static const uint8_t boots[2][16] = {{3}, {4}};
    const rare *self = context;
    for (unsigned what = 0; what < 8; what++) {
        larder_store *store = NULL;
        torture_trial(run);
        torture_note(run, "what is left of the making of a store, %u", what);
        remove_tree(self->path);
        remove_tree(self->other);
        larder_fault_boot_id(boots[0]);
        bool is_promised = what & 1;
        EXPECT_STATUS(run, opened(self->path, 0, &store), LARDER_OK);
        EXPECT_STATUS(run, rare_put(store, 1, "value"), LARDER_OK);
        EXPECT_STATUS(run, is_promised ? larder_store_sync(store) : LARDER_OK, LARDER_OK);
        EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
        larder_store_close(store);
        const char *data = inside(self->other, "data.mdb");
        bool good = what / 2 == 0   ? unlink(data) == 0
                    : what / 2 == 1 ? write_file(data, "", 0)
                    : what / 2 == 2 ? truncate(data, 0) == 0 && truncate(data, 8192) == 0
                                    : truncate(data, 100) == 0;
        EXPECT(run, good, "cannot change %s", data);
        larder_fault_boot_id(boots[1]);
        larder_status status = opened(self->other, 0, &store);
        EXPECT(run, status == (is_promised ? LARDER_EDAMAGED : LARDER_OK),
               "after a power cut an open gave %d", status);
        if (store) {
            EXPECT_STATUS(run, rare_put(store, 2, "other"), LARDER_OK);
            EXPECT(run, holds(store, 2, "other") && !holds(store, 1, "value"), "not as new");
        }
        larder_store_close(store);
        larder_fault_boot_id(NULL);
    }
}

// Targets -----------------------------------------------------------------------------------------

static void targets(torture *run, void *context) {
    const rare *self = context;
    static const int errors[] = {ELOOP, EACCES, ENXIO};
    larder_store *store = NULL;
    larder_store_options options;
    larder_store_report report;
    char slashes[700];
    if (!make_store(run, self->path, 50, false)) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    snprintf(slashes, sizeof slashes, "%s///", self->other);
    GIVES(larder_store_backup(store, slashes, NULL, NULL), LARDER_OK);
    GIVES(larder_store_backup(store, self->other, NULL, NULL), EEXIST);
    remove_tree(self->other);
    EXPECT(run, symlink("nowhere", self->other) == 0, "no link");
    GIVES(larder_store_backup(store, self->other, NULL, NULL), EEXIST);
    (void)unlink(self->other);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        larder_fault_set("open", 1, errors[i]);
        GIVES(larder_store_backup(store, self->other, NULL, NULL), EEXIST);
        larder_fault_set(NULL, 0, 0);
    }
    GIVES(larder_store_backup(store, inside(self->other, "below/none"), NULL, NULL), ENOENT);
    larder_store_close(store);
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_READ_ONLY;
    GIVES(larder_store_salvage(self->path, self->other, &options, NULL, NULL, &report),
          LARDER_EINVALID);
    GIVES(larder_store_rebuild(self->path, &options, NULL, NULL, &report), LARDER_EINVALID);
    static char path[6000];
    memset(path, 'x', sizeof path - 1);
    for (size_t i = 0; i < sizeof path - 1; i += 100) {
        path[i] = '/';
    }
    GIVES(opened(path, 0, &store), ENAMETOOLONG);
    const char *none = NULL;
    GIVES(larder_store_open(none, NULL, NULL, &store), LARDER_EINVALID);
}

// Removing ----------------------------------------------------------------------------------------

/** Very many, in several batches; and keys so long that few of them fill one. */
static void removals(torture *run, void *context) {
    enum { MANY = 9000, LONG = 12 };
    const rare *self = context;
    static char key[60000];
    larder_store *store = NULL;
    larder_store_options options;
    uint64_t removed = 0, count = 0, bytes = 0;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    options.journal_bytes = 400000;
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    larder_status status = LARDER_OK;
    for (unsigned i = 0; i < MANY && !status; i++) {
        status = rare_put(store, i, "value");
    }
    memset(key, 'z', sizeof key);
    for (unsigned i = 0; i < LONG && !status; i++) {
        larder_store_item item;
        key[1] = (char)('a' + i);
        larder_store_item_init(&item, bytes_of(key, sizeof key), bytes_of_text("long"));
        status = larder_store_put(store, &item, NULL);
    }
    GIVES(status, LARDER_OK);
    GIVES(larder_store_remove_prefix(store, bytes_of_text("k"), &removed), LARDER_OK);
    EXPECT(run, removed == MANY, "%llu are removed", (unsigned long long)removed);
    GIVES(larder_store_remove_prefix(store, bytes_of_text("z"), &removed), LARDER_OK);
    EXPECT(run, removed == LONG, "%llu long ones are removed", (unsigned long long)removed);
    GIVES(larder_store_remove_prefix(store, bytes_of_text("z"), NULL), LARDER_OK);
    GIVES(larder_store_totals(store, &count, &bytes), LARDER_OK);
    EXPECT(run, count == 0 && bytes == 0, "%llu are left", (unsigned long long)count);
    larder_store_close(store);
}

/** Reads of the same keys take room once, however long those are; of more keys between two
    checkpoints than are noted the others are forgotten, and told. */
static void many_reads(torture *run, void *context) {
    enum { MANY = 75000, LONG = 3000, ROUNDS = 3 };
    const rare *self = context;
    static char key[400];
    larder_store *store = NULL;
    larder_store_statistics figures;
    larder_status status = opened(self->path, LARDER_STORE_TRACK_ACCESS, &store);
    for (unsigned i = 0; i < MANY && !status; i++) {
        status = rare_put(store, i, "value");
    }
    memset(key, 'l', sizeof key);
    for (unsigned i = 0; i < LONG && !status; i++) {
        larder_store_item item;
        (void)snprintf(key, sizeof key, "l%04u", i);
        larder_store_item_init(&item, bytes_of(key, sizeof key), bytes_of_text("long"));
        status = larder_store_put(store, &item, NULL);
    }
    GIVES(status ? status : larder_store_flush(store), LARDER_OK);
    for (unsigned i = 0; i < LONG * ROUNDS; i++) {
        larder_store_entry entry;
        (void)snprintf(key, sizeof key, "l%04u", i % LONG);
        EXPECT_STATUS(run, larder_store_get(store, bytes_of(key, sizeof key), 0, &entry),
                      LARDER_OK);
        larder_store_release(&entry);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(larder_store_statistics_get(store, &figures), LARDER_OK);
    EXPECT(run, figures.touches_dropped == 0, "%llu reads of long keys were not noted",
           (unsigned long long)figures.touches_dropped);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT(run, holds(store, i, "value"), "key %u is lost", i);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(larder_store_statistics_get(store, &figures), LARDER_OK);
    EXPECT(run, figures.touches_dropped > 0 && figures.touches_dropped < MANY / 4,
           "%llu reads were not noted", (unsigned long long)figures.touches_dropped);
    larder_store_close(store);
}

/** Very many keys wait for a checkpoint, then few. */
static void many_keys(torture *run, void *context) {
    enum { MANY = 40000 };
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_batch *batch = NULL;
    larder_status status = opened(self->path, 0, &store);
    status = status ? status : larder_store_batch_create(store, &batch);
    for (unsigned i = 0; i < MANY && !status; i++) {
        larder_store_item item;
        larder_store_item_init(&item, rare_key(i), bytes_of_text("value"));
        status = larder_store_batch_put(batch, &item);
        if (!status && i % 10000 == 9999) {
            status = larder_store_batch_commit(batch, 0, NULL);
        }
    }
    GIVES(status, LARDER_OK);
    larder_store_batch_destroy(batch);
    for (unsigned round = 0; round < 4; round++) {
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(rare_put(store, round, "again"), LARDER_OK);
    }
    EXPECT(run, holds(store, 3, "again") && holds(store, MANY - 1, "value"), "a key is lost");
    GIVES(larder_store_remove_all(store, NULL, NULL), LARDER_OK);
    GIVES(rare_put(store, 1, "after"), LARDER_OK);
    EXPECT(run, !holds(store, 3, "again") && holds(store, 1, "after"), "not all are removed");
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(store);
}

/** Formats of the content and forms of keys that agree, and do not; a value beside its key that
    cannot be kept. */
static void formats_and_values(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_options options;
    larder_store_detail detail;
    larder_store_options_init(&options);
    static const struct {
        uint64_t format;
        uint32_t keys;
        larder_status status;
    } opens[] = {{7, 3, LARDER_OK},          {7, 3, LARDER_OK},        {0, 0, LARDER_OK},
                 {8, 3, LARDER_EMISMATCH},   {7, 4, LARDER_EMISMATCH}, {0, 65535, LARDER_EMISMATCH},
                 {7, 65536, LARDER_EINVALID}};
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        options.content_format = opens[i].format;
        options.key_form = opens[i].keys;
        GIVES(larder_store_open(self->path, &options, &detail, &store), opens[i].status);
        EXPECT(run,
               opens[i].status != LARDER_EMISMATCH ||
                   (detail.content_format == 7 && detail.key_form == 3),
               "another format is told");
        larder_store_close(store);
    }
    larder_store_entry entry;
    void *kept = NULL;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(rare_put(store, 1, "short"), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(larder_store_get(store, rare_key(1), 0, &entry), LARDER_OK);
    bool is_in_log = entry.flags & LARDER_STORE_ENTRY_IN_LOG;
    GIVES(larder_store_retain_value(&entry, &kept), is_in_log ? LARDER_OK : LARDER_EINVALID);
    larder_store_release(&entry);
    larder_store_release(&entry);
    larder_store_release_value(kept);
    larder_store_close(store);
}

/** Passes in an order that there is not. */
static void no_order(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_query query;
    larder_store_cursor *cursor = NULL;
    uint64_t count = 9;
    larder_store_query_init(&query);
    query.order = (larder_store_order)9;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(larder_store_cursor_open(store, &query, &cursor), LARDER_EINVALID);
    GIVES(larder_store_count(store, &query, 1, &count), LARDER_EINVALID);
    EXPECT(run, !cursor && count == 0, "a cursor in no order");
    larder_store_close(store);
}

/** Of a batch, too much of everything. */
static void batches(torture *run, void *context) {
    const rare *self = context;
    static char key[LARDER_STORE_KEY_MAX_BYTES + 1];
    larder_store *store = NULL;
    larder_store_batch *batch = NULL;
    larder_store_item item;
    uint64_t sequence = 0;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(larder_store_batch_create(store, &batch), LARDER_OK);
    GIVES(larder_store_batch_commit(batch, 0, &sequence), LARDER_OK);
    GIVES(larder_store_batch_remove(batch, bytes_of(key, sizeof key)), LARDER_ETOOLARGE);
    GIVES(larder_store_batch_require(batch, bytes_of(key, sizeof key), 0), LARDER_ETOOLARGE);
    larder_store_item_init(&item, bytes_of(key, sizeof key), bytes_of_text("x"));
    GIVES(larder_store_batch_put(batch, &item), LARDER_ETOOLARGE);
    GIVES(larder_store_batch_require(batch, bytes_of_text("none"), 0), LARDER_OK);
    GIVES(larder_store_batch_commit(batch, LARDER_STORE_SYNCED, NULL), LARDER_OK);
    for (unsigned i = 0; i < 300; i++) {
        larder_store_item_init(&item, rare_key(i), bytes_of_text("x"));
        EXPECT_STATUS(run, larder_store_batch_put(batch, &item), LARDER_OK);
        EXPECT_STATUS(run, larder_store_batch_require(batch, rare_key(i), 0), LARDER_OK);
    }
    GIVES(larder_store_batch_commit(batch, 0, &sequence), LARDER_OK);
    EXPECT(run, sequence > 0 && holds(store, 299, "x"), "a batch is not there");
    GIVES(larder_store_batch_remove(batch, rare_key(1)), LARDER_OK);
    GIVES(larder_store_batch_require(batch, rare_key(1), sequence + 1), LARDER_OK);
    GIVES(larder_store_batch_commit(batch, 0, NULL), LARDER_ECONFLICT);
    EXPECT(run, holds(store, 1, "x"), "a batch in conflict was written");
    GIVES(larder_store_shutdown(store), LARDER_OK);
    GIVES(larder_store_batch_remove(batch, rare_key(1)), LARDER_ECLOSED);
    larder_store_batch_destroy(batch);
    larder_store_batch_destroy(NULL);
    larder_store_cursor_close(NULL);
    larder_store_close(store);
    larder_store_close(NULL);
    larder_store_release_value(NULL);
}

// Limits ------------------------------------------------------------------------------------------

static _Atomic uint64_t the_room;
static uint64_t own_room(void *context) {
    (void)context;
    return the_room;
}

static larder_store *limited(torture *run, const char *path, uint32_t flags) {
    larder_store_options options;
    larder_store_tuning tuning;
    larder_store_options_init(&options);
    larder_store_tuning_init(&tuning);
    // Each pass over many takes several transactions.
    tuning.remove_max_count = 60;
    tuning.transaction_max_count = 100;
    options.tuning = &tuning;
    options.flags = flags;
    options.clock = own_clock;
    options.free_space = own_room;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 1000000;
    larder_store *store = NULL;
    the_time = 1000;
    the_room = UINT64_MAX / 2;
    EXPECT_STATUS(run, larder_store_open(path, &options, NULL, &store), LARDER_OK);
    for (unsigned i = 0; i < 1000 && store; i++) {
        larder_store_item item;
        larder_store_item_init(&item, rare_key(i), bytes_of_text("0123456789"));
        item.expires_ns = i % 5 == 0 ? 5000 + i : LARDER_STORE_NEVER;
        item.idle_ns = i % 5 == 1 ? 3000 : LARDER_STORE_NEVER;
        item.flags = i % 5 == 2 ? (uint32_t)LARDER_STORE_OWN_TIMES : 0;
        EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
    }
    return store;
}

static void read_range(torture *run, larder_store *store, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        larder_store_entry entry;
        larder_status status = larder_store_get(store, rare_key(i), 0, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND, "get gave %d", status);
        larder_store_release(&entry);
    }
}

/** Each limit in turn, by hand. */
static void limits_by_hand(torture *run, void *context) {
    const rare *self = context;
    larder_store *store =
        limited(run, self->path, LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS);
    if (!store) {
        return;
    }
    uint64_t removed = 0;
    GIVES(larder_store_flush(store), LARDER_OK);
    // Those that idle live on when they are read.
    the_time = 3500;
    read_range(run, store, 0, 500);
    GIVES(larder_store_flush(store), LARDER_OK);
    the_time = 4500;
    GIVES(larder_store_remove_expired(store, &removed), LARDER_OK);
    EXPECT(run, removed == 100, "%llu idle ones went, not 100", (unsigned long long)removed);
    the_time = 5500;
    GIVES(larder_store_remove_expired(store, &removed), LARDER_OK);
    EXPECT(run, removed == 101, "%llu went of 101 that expired", (unsigned long long)removed);
    larder_store_limits limits = larder_store_limits_get(store);
    limits.bytes = 7000;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(larder_store_maintain(store), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 700, "%llu are left, not 700",
           (unsigned long long)rare_count(run, store));
    limits.bytes = LARDER_STORE_UNLIMITED;
    limits.free_bytes = 1000000;
    the_room = 1000000 - 500;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(larder_store_maintain(store), LARDER_OK);
    EXPECT(run, rare_count(run, store) <= 650, "%llu are left where there is no room",
           (unsigned long long)rare_count(run, store));
    the_room = UINT64_MAX / 2;
    limits.free_bytes = 0;
    // Of age: those with times of their own stay.
    limits.age_ns = 100;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(larder_store_remove_expired(store, &removed), LARDER_OK);
    EXPECT(run, rare_count(run, store) <= 200, "%llu are left of an age",
           (unsigned long long)rare_count(run, store));
    limits.age_ns = 1000000;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(larder_store_remove_expired(store, NULL), LARDER_OK);
    limits.age_ns = LARDER_STORE_NEVER;
    limits.end_ns = 5600;
    for (unsigned i = 0; i < 300; i++) {
        EXPECT_STATUS(run, rare_put(store, 2000 + i, "late"), LARDER_OK);
    }
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    the_time = 5601;
    GIVES(larder_store_contains(store, rare_key(2001)), LARDER_ENOTFOUND);
    GIVES(larder_store_maintain(store), LARDER_OK);
    EXPECT(run, rare_count(run, store) <= 200, "%llu are left at the end",
           (unsigned long long)rare_count(run, store));
    GIVES(larder_store_trim(store, 0, LARDER_STORE_UNLIMITED, &removed), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 0, "a trim left some");
    larder_store_report report;
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
}

/** The order of use is made in several transactions. What is there of it when one fails, or when a
    crash comes between them, means nothing. */
static void half_an_order(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = limited(run, self->path, LARDER_STORE_HOST_MAINTENANCE);
    if (!store || failing_call_count == 0) {
        larder_store_close(store);
        return;
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_fault_set("mdb_txn_commit", 2, EIO);
    larder_status status = larder_store_trim(store, 900, LARDER_STORE_UNLIMITED, NULL);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, status == EIO, "a trim whose second transaction failed gave %d", status);
    for (unsigned i = 0; i < 1000; i++) {
        EXPECT_STATUS(run, rare_put(store, i, "again"), LARDER_OK);
    }
    larder_store_report report;
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    // And it is made whole all the same.
    GIVES(larder_store_trim(store, 900, LARDER_STORE_UNLIMITED, NULL), LARDER_OK);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 900, "%llu are left, not 900",
           (unsigned long long)rare_count(run, store));
    larder_store_close(store);
}

static bool comes_to(torture *run, larder_store *store, uint64_t most) {
    struct timespec nap = {0, 2000000};
    for (unsigned i = 0; i < 5000 && rare_count(run, store) > most; i++) {
        nanosleep(&nap, NULL);
    }
    return rare_count(run, store) <= most;
}

/** And by the store's own thread. */
static void limits_by_thread(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = limited(run, self->path, 0);
    if (!store) {
        return;
    }
    torture_trial(run);
    larder_store_limits limits = larder_store_limits_get(store);
    limits.count = 900;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    EXPECT(run, comes_to(run, store, 900), "too many stay");
    the_time = 7000;
    EXPECT(run, comes_to(run, store, 700), "what expired stays");
    limits.free_bytes = 1000000;
    the_room = 1000000 - 3000;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    EXPECT(run, comes_to(run, store, 400), "they stay where there is no room");
    the_room = UINT64_MAX / 2;
    // A checkpoint that fails is tried again.
    larder_fault_set("fdatasync", 1, EIO);
    EXPECT_STATUS(run, rare_put(store, 5000, "again"), LARDER_OK);
    struct timespec nap = {0, 20000000};
    nanosleep(&nap, NULL);
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_sync(store), LARDER_OK);
    GIVES(larder_store_shutdown(store), LARDER_OK);
    larder_store_close(store);
}

/** The system's own answer on how much room there is. */
static void real_room(torture *run, void *context) {
    const rare *self = context;
    larder_store_options options;
    larder_store *store = NULL;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    options.limits.free_bytes = 1;
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    for (unsigned i = 0; i < 50; i++) {
        EXPECT_STATUS(run, rare_put(store, i, "value"), LARDER_OK);
    }
    GIVES(larder_store_maintain(store), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 50, "some went, with room for all");
    larder_fault_set("statvfs", 1, EIO);
    GIVES(larder_store_maintain(store), LARDER_OK);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, rare_count(run, store) == 50, "some went, without an answer");
    larder_store_limits limits = larder_store_limits_get(store);
    limits.free_bytes = UINT64_MAX;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(larder_store_maintain(store), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 0, "some stay, without room for any");
    larder_store_close(store);
}

// Behind a checkpoint that failed -----------------------------------------------------------------

enum { FROZEN_KEYS = 320, FROZEN_INDEX = 7 };

static larder_status put_indexed(larder_store *store, unsigned number, const char *value) {
    static const char *const values[] = {"", "a", "bc", "def", "ghij"};
    larder_store_index_entry index = {.index = FROZEN_INDEX,
                                      .value = bytes_of_text(values[number % 5])};
    larder_store_item item;
    larder_store_item_init(&item, rare_key(number), bytes_of_text(value));
    item.indexes = &index;
    item.index_count = 1;
    item.idle_ns = number % 3 == 0 ? 1000 : LARDER_STORE_NEVER;
    item.expires_ns = number % 7 == 1 ? 5000 : LARDER_STORE_NEVER;
    return larder_store_put(store, &item, NULL);
}

/** All ways of reading find as many. */
static void agree(torture *run, larder_store *store, const char *when) {
    uint64_t gotten = 0;
    torture_trial(run);
    for (unsigned i = 0; i < FROZEN_KEYS; i++) {
        larder_store_entry entry;
        gotten += larder_store_get(store, rare_key(i), LARDER_STORE_PEEK, &entry) == LARDER_OK;
        larder_store_release(&entry);
    }
    for (unsigned way = 0; way < 6; way++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = (larder_store_order)(way % 3);
        query.index = FROZEN_INDEX;
        query.flags = way >= 3 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        uint64_t count = 0, seen = 0;
        EXPECT_STATUS(run, larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count),
                      LARDER_OK);
        larder_store_cursor *cursor = NULL;
        larder_store_entry entry;
        larder_status status = larder_store_cursor_open(store, &query, &cursor);
        // The order of use may have to be made first, which takes a transaction.
        if (status == EIO && query.order == LARDER_STORE_BY_RECENCY) {
            continue;
        }
        while (!status && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
            seen++;
        }
        larder_store_cursor_close(cursor);
        EXPECT(run, status == LARDER_END && count == gotten && seen == gotten,
               "%s, way %u: %llu gotten, %llu counted, %llu passed, and %d", when, way,
               (unsigned long long)gotten, (unsigned long long)count, (unsigned long long)seen,
               status);
    }
}

static void frozen(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS;
    options.clock = own_clock;
    the_time = 1000;
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    for (unsigned i = 0; i < 100; i++) {
        EXPECT_STATUS(run, put_indexed(store, i, "value"), LARDER_OK);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    the_time = 1500;
    read_range(run, store, 0, 60);
    for (unsigned i = 50; i < 150; i++) {
        EXPECT_STATUS(run, put_indexed(store, i, "other"), LARDER_OK);
    }
    larder_fault_set("mdb_txn_commit", -1, EIO);
    for (unsigned part = 0; part < 2; part++) {
        GIVES(larder_store_flush(store), EIO);
        agree(run, store, "frozen");
        for (unsigned i = 40 + 20 * part; i < 70; i++) {
            EXPECT_STATUS(run,
                          i % 4 ? put_indexed(store, i, "newer")
                                : larder_store_remove(store, rare_key(i), 0),
                          LARDER_OK);
        }
        for (unsigned i = 200; i < 220; i++) {
            EXPECT_STATUS(run, put_indexed(store, i, "late"), LARDER_OK);
        }
        uint64_t count = 0;
        for (unsigned i = 0; i < FROZEN_KEYS; i++) {
            count += larder_store_contains(store, rare_key(i)) == LARDER_OK;
        }
        EXPECT(run, rare_count(run, store) == count, "%llu, of %llu",
               (unsigned long long)rare_count(run, store), (unsigned long long)count);
        agree(run, store, "written on");
    }
    // Those that idle live on where they were read, which only the failed checkpoint knows.
    the_time = 2300;
    GIVES(larder_store_contains(store, rare_key(6)), LARDER_OK);
    GIVES(larder_store_contains(store, rare_key(72)), LARDER_OK);
    GIVES(larder_store_contains(store, rare_key(78)), LARDER_OK);
    larder_store_batch *batch = NULL;
    GIVES(larder_store_batch_create(store, &batch), LARDER_OK);
    GIVES(larder_store_batch_require(batch, rare_key(9), 0), LARDER_OK);
    GIVES(larder_store_batch_commit(batch, 0, NULL), LARDER_ECONFLICT);
    larder_store_batch_destroy(batch);
    agree(run, store, "idle");
    the_time = 6000;
    agree(run, store, "expired");
    // Everything goes, by a write that waits as well.
    larder_status status = larder_store_remove_all(store, NULL, NULL);
    EXPECT(run, status == LARDER_OK || status == EIO, "removing all gave %d", status);
    for (unsigned i = 300; i < 310; i++) {
        EXPECT_STATUS(run, put_indexed(store, i, "last"), LARDER_OK);
    }
    agree(run, store, "removed");
    (void)rare_count(run, store);
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_remove_all(store, NULL, NULL), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 0, "some are left");
    agree(run, store, "empty");
    larder_store_report report;
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
}

void family_store_rare(torture *run) {
    RARE_EACH(run, "", NULL, wrong_options, lmdb_codes, lmdb_refusals, lmdb_growth,
              lmdb_for_reading, odd_names, odd_files, foreign_segments, missing_index,
              other_version, unmade, targets, removals, batches, no_order, limits_by_hand,
              half_an_order, limits_by_thread, real_room, many_reads, many_keys, formats_and_values,
              frozen);
}
