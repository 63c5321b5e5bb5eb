// SPDX-License-Identifier: MIT
// Rare states of data.mdb and of LMDB beside it: two files in one list of those that are open, what
// a power cut leaves of a new one, a table full of readers that died, LMDB refusing everything,
// meta pages that change under a reader, no address space, a disk that is nearly full.
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exhaustion.h"
#include "faults.h"
#include "store_rare.h"

#ifndef __linux__
static bool mount_small_disk(const char *path, const char *size) {
    (void)path, (void)size;
    return false;
}
#endif

static larder_status opened_with(const char *path, uint32_t flags, uint64_t map_bytes,
                                 larder_store **out) {
    larder_store_options options;
    larder_store_tuning tuning;
    larder_store_options_init(&options);
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = 16 << 10;
    tuning.segment_max_bytes = 32 << 10;
    options.tuning = &tuning;
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    options.map_bytes = map_bytes;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    return opened_with(path, flags, 0, out);
}

static larder_status put_flushed(larder_store *store, unsigned number, const char *value) {
    larder_status status = rare_put(store, number, value);
    return status ? status : larder_store_flush(store);
}

static bool is_value(const larder_store_entry *entry, const char *value) {
    return entry->value.length == strlen(value) &&
           memcmp(entry->value.data, value, strlen(value)) == 0;
}

static larder_status got(larder_store *store, unsigned number, const char *value) {
    larder_store_entry entry;
    larder_status status = larder_store_get(store, rare_key(number), 0, &entry);
    if (!status && !is_value(&entry, value)) {
        status = LARDER_EMISMATCH;
    }
    larder_store_release(&entry);
    return status;
}

static bool make_store(torture *run, const char *path, unsigned count) {
    larder_store *store = NULL;
    larder_status status = opened(path, 0, &store);
    for (unsigned i = 0; i < count && !status; i++) {
        status = rare_put(store, i, "value");
    }
    status = status ? status : larder_store_flush(store);
    larder_store_close(store);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

static const char *data_of(const char *folder) { return inside(folder, "data.mdb"); }

/** A cursor over all, of the state that there is now. */
static larder_store_cursor *cursor_of(torture *run, larder_store *store) {
    larder_store_query query;
    larder_store_cursor *cursor = NULL;
    larder_store_query_init(&query);
    EXPECT_STATUS(run, larder_store_cursor_open(store, &query, &cursor), LARDER_OK);
    return cursor;
}

static void passes(torture *run, larder_store_cursor *cursor, unsigned wanted) {
    larder_store_entry entry;
    larder_status status = cursor ? LARDER_OK : LARDER_END;
    unsigned count = 0;
    while (!status && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
        count += is_value(&entry, "value");
    }
    EXPECT(run, status == LARDER_END && count == wanted, "%u of %u passed, then %d", count, wanted,
           status);
    larder_store_cursor_close(cursor);
}

// Which file it is --------------------------------------------------------------------------------

/** Gives the store in `folder` a data.mdb whose number is like another one's, modulo 1024: that is
    how they come into one list. */
static bool make_alike(const char *folder, ino_t number) {
    static uint8_t bytes[1 << 20];
    char name[900];
    int64_t size = read_file(data_of(folder), bytes, sizeof bytes);
    bool is_found = false, good = size > 0;
    unsigned made = 0;
    for (; made < 8192 && good && !is_found; made++) {
        struct stat facts;
        snprintf(name, sizeof name, "%s/x%u", folder, made);
        int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        good = file >= 0 && fstat(file, &facts) == 0;
        is_found = good && facts.st_ino % 1024 == number % 1024;
        good = good && (!is_found || pwrite(file, bytes, (size_t)size, 0) == size);
        close(file);
    }
    good = good && is_found && rename(name, data_of(folder)) == 0;
    for (unsigned i = 0; i < made; i++) {
        snprintf(name, sizeof name, "%s/x%u", folder, i);
        (void)unlink(name);
    }
    return good;
}

/** Both are open, whichever goes first. */
static void open_both(torture *run, const char *first, const char *second) {
    struct stat facts;
    remove_tree(second);
    if (!make_store(run, second, 30) ||
        !EXPECT(run, stat(data_of(first), &facts) == 0, "no data.mdb")) {
        return;
    }
    if (!make_alike(second, facts.st_ino)) {
        torture_skip(run, "two files in one list: no number of a file is alike");
        return;
    }
    for (unsigned order = 0; order < 2; order++) {
        larder_store *stores[2] = {NULL, NULL};
        GIVES(opened(first, 0, &stores[0]), LARDER_OK);
        GIVES(opened(second, 0, &stores[1]), LARDER_OK);
        GIVES(put_flushed(stores[0], 100, "first"), LARDER_OK);
        GIVES(put_flushed(stores[1], 100, "second"), LARDER_OK);
        larder_store_close(stores[order]);
        GIVES(got(stores[!order], 100, order ? "first" : "second"), LARDER_OK);
        GIVES(opened(order ? second : first, LARDER_STORE_READ_ONLY, &stores[order]), LARDER_OK);
        GIVES(got(stores[order], 100, order ? "second" : "first"), LARDER_OK);
        larder_store_close(stores[!order]);
        larder_store_close(stores[order]);
    }
}

static void one_list(torture *run, void *context) {
    const rare *self = context;
    char path[700];
    if (!make_store(run, self->path, 30)) {
        return;
    }
    open_both(run, self->path, self->other);
    if (!mount_small_disk(self->kept, "size=8m")) {
        torture_skip(run, "two file systems: mounting one needs root or user namespaces");
        return;
    }
    snprintf(path, sizeof path, "%s/store", self->kept);
    open_both(run, self->path, path);
}

/** Another file at the path, on the same file system or another one, is another store: what is open
    goes on as it was, or fails. */
static void other_file(torture *run, void *context) {
    const rare *self = context;
    char link[700], there[700];
    larder_store *store = NULL;
    larder_store_statistics figures;
    if (!make_store(run, self->path, 30)) {
        return;
    }
    bool has_disk = mount_small_disk(self->kept, "size=8m");
    for (unsigned on_disk = 0; on_disk < 1 + (unsigned)has_disk; on_disk++) {
        snprintf(link, sizeof link, "%s-link", self->path);
        snprintf(there, sizeof there, "%s/store", on_disk ? self->kept : self->other);
        (void)make_directory(self->other);
        (void)unlink(link);
        EXPECT(run, copy_tree(self->path, there) && symlink(self->path, link) == 0, "no copy");
        char through[720];
        snprintf(through, sizeof through, "%s/.", link);
        GIVES(opened(through, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
        larder_store_close(store);
        GIVES(opened(through, 0, &store), LARDER_OK);
        GIVES(put_flushed(store, 3, "other"), LARDER_OK);
        GIVES(rare_put(store, 4, "other"), LARDER_OK);
        (void)unlink(link);
        EXPECT(run, symlink(there, link) == 0, "no link");
        larder_status status = larder_store_flush(store);
        EXPECT(run, status == LARDER_OK || status == LARDER_EREPLACED, "a checkpoint gave %d",
               status);
        status = larder_store_statistics_get(store, &figures);
        EXPECT(run, status == LARDER_OK || status == LARDER_EREPLACED, "statistics gave %d",
               status);
        (void)unlink(link);
        EXPECT(run, symlink(self->path, link) == 0, "no link");
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(got(store, 4, "other"), LARDER_OK);
        larder_store_close(store);
        GIVES(opened(there, 0, &store), LARDER_OK);
        GIVES(got(store, 4, "value"), LARDER_OK);
        larder_store_close(store);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(rare_put(store, 4, "value"), LARDER_OK);
        larder_store_close(store);
        remove_tree(there);
    }
    (void)unlink(link);
}

/** What a child has of its parent's store is of no use to it, but a handle of its own is. */
static void in_a_child(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *mine = NULL;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_flushed(store, 1, "value"), LARDER_OK);
    pid_t child = fork();
    if (child == 0) {
        EXPECT_STATUS(run, opened(self->path, LARDER_STORE_READ_ONLY, &mine), LARDER_OK);
        EXPECT_STATUS(run, got(mine, 1, "value"), LARDER_OK);
        EXPECT_STATUS(run, larder_store_shutdown(store), LARDER_EFORKED);
        larder_store_close(store);
        EXPECT_STATUS(run, got(mine, 1, "value"), LARDER_OK);
        larder_store_close(mine);
        _exit(0);
    }
    int ended = -1;
    EXPECT(run, child > 0 && waitpid(child, &ended, 0) == child && ended == 0, "the child: %d",
           ended);
    GIVES(put_flushed(store, 1, "other"), LARDER_OK);
    GIVES(got(store, 1, "other"), LARDER_OK);
    larder_store_close(store);
}

/** Whoever reads is joined by whoever writes; and another store is no hindrance to rebuilding. */
static void joined(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    larder_store_report report;
    if (!make_store(run, self->path, 30) || !make_store(run, self->other, 40)) {
        return;
    }
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_flushed(store, 3, "other"), LARDER_OK);
    GIVES(got(reader, 3, "other"), LARDER_OK);
    GIVES(larder_store_rebuild(self->other, NULL, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 40, "%llu are rebuilt", (unsigned long long)report.intact);
    larder_store_close(store);
    GIVES(larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_EBUSY);
    larder_store_close(reader);
}

/** What a handle that is shut down has lent out stays as it is while another one writes. */
static void lent(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *second = NULL;
    larder_store_entry entry;
    if (!make_store(run, self->path, 300)) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    larder_store_cursor *cursor = cursor_of(run, store);
    GIVES(larder_store_get(store, rare_key(7), 0, &entry), LARDER_OK);
    GIVES(larder_store_shutdown(store), LARDER_OK);
    GIVES(opened(self->path, 0, &second), LARDER_OK);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 300; i++) {
            EXPECT_STATUS(run, rare_put(second, i, "something else"), LARDER_OK);
        }
        GIVES(larder_store_flush(second), LARDER_OK);
    }
    EXPECT(run, is_value(&entry, "value"), "an entry that was lent out has changed");
    larder_store_release(&entry);
    larder_store_cursor_close(cursor);
    larder_store_close(store);
    GIVES(got(second, 7, "something else"), LARDER_OK);
    larder_store_close(second);
}

// New files ---------------------------------------------------------------------------------------

/** A new one that is gone again at any moment of its making. */
static void vanished(torture *run, void *context) {
    const rare *self = context;
    for (int nth = 1; nth < 14; nth++) {
        larder_store *store = NULL;
        torture_note(run, "pass %d of open finds nothing", nth);
        remove_tree(self->path);
        larder_fault_set("open", nth, ENOENT);
        larder_status status = opened(self->path, 0, &store);
        larder_fault_set(NULL, 0, 0);
        torture_trial(run);
        EXPECT(run,
               status == LARDER_OK || status == ENOENT || status == LARDER_EDAMAGED ||
                   status == LARDER_EREPLACED,
               "an open gave %d", status);
        larder_store_close(store);
        status = opened(self->path, 0, &store);
        EXPECT(run, status == LARDER_OK, "the next open gave %d", status);
        if (store) {
            EXPECT_STATUS(run, rare_put(store, 1, "value"), LARDER_OK);
        }
        larder_store_close(store);
    }
}

/** A store that a power cut left before anything of it was promised. */
static bool make_cut(torture *run, const rare *self) {
    static const uint8_t boots[2][16] = {{5}, {6}};
    larder_store *store = NULL;
    remove_tree(self->path);
    remove_tree(self->other);
    larder_fault_boot_id(boots[0]);
    EXPECT_STATUS(run, opened(self->path, 0, &store), LARDER_OK);
    EXPECT_STATUS(run, rare_put(store, 1, "value"), LARDER_OK);
    bool good = EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
    larder_store_close(store);
    larder_fault_boot_id(boots[1]);
    return good;
}

/** What may be left of a new file is made anew; what is somebody's is not touched. */
static void remnants(torture *run, void *context) {
    enum { LONGEST = 16384 };
    static const struct {
        const char *name;
        size_t size, offset;
        uint8_t byte;
        bool is_remnant;
    } left[] = {{"zeros", 12288, 0, 0, true},
                {"a page of zeros", 4096, 0, 0, true},
                {"more zeros than a new file has", LONGEST, 0, 0, false},
                {"a first page of another number", 8192, 0, 7, false},
                {"a second page of another number", 8192, 4096, 7, false},
                {"the magic of others", 8192, 16, 0x34, false}};
    static const char *const calls[] = {"open", "fstat", "pread"};
    static uint8_t bytes[LONGEST];
    const rare *self = context;
    larder_store *store = NULL;
    const char *data = data_of(self->other);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        torture_note(run, "%s", left[i].name);
        memset(bytes, 0, sizeof bytes);
        bytes[left[i].offset] = left[i].byte;
        if (!make_cut(run, self) ||
            !EXPECT(run, write_file(data, bytes, left[i].size), "cannot write")) {
            return;
        }
        torture_trial(run);
        larder_status status = opened(self->other, 0, &store);
        if (left[i].is_remnant) {
            EXPECT(run, status == LARDER_OK, "an open gave %d", status);
            EXPECT_STATUS(run, rare_put(store, 1, "again"), LARDER_OK);
            larder_store_close(store);
        } else {
            uint8_t now[LONGEST];
            EXPECT(run, status == LARDER_EDAMAGED || status == LARDER_EFOREIGN, "an open gave %d",
                   status);
            EXPECT(run,
                   read_file(data, now, sizeof now) == (int64_t)left[i].size &&
                       memcmp(now, bytes, left[i].size) == 0,
                   "it was touched");
        }
    }
    if (make_cut(run, self) &&
        EXPECT(run, unlink(data) == 0 && mkfifo(data, 0600) == 0, "no pipe")) {
        struct stat facts;
        GIVES(opened(self->other, 0, &store), LARDER_EFOREIGN);
        EXPECT(run, lstat(data, &facts) == 0 && S_ISFIFO(facts.st_mode), "the pipe is gone");
    }
    memset(bytes, 0, sizeof bytes);
    for (unsigned call = 0; call < 3; call++) {
        for (int nth = 1; nth < 12; nth++) {
            torture_note(run, "pass %d of %s fails", nth, calls[call]);
            if (!make_cut(run, self) ||
                !EXPECT(run, write_file(data, bytes, 8192), "cannot write")) {
                return;
            }
            torture_trial(run);
            larder_fault_set(calls[call], nth, EIO);
            larder_status status = opened(self->other, 0, &store);
            larder_fault_set(NULL, 0, 0);
            EXPECT(run,
                   status == LARDER_OK || status == EIO || status == LARDER_EDAMAGED ||
                       status == LARDER_EFOREIGN,
                   "an open gave %d", status);
            larder_store_close(store);
            EXPECT_STATUS(run, opened(self->other, 0, &store), LARDER_OK);
            larder_store_close(store);
        }
    }
    larder_fault_boot_id(NULL);
}

/** LMDB's own, of which no transaction was committed: there is nothing in it, so that who writes
    makes a store of it; who reads does not. With larger pages it is not what a creation leaves. */
static void no_transaction(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    MDB_env *env = NULL;
    EXPECT(run,
           make_directory(self->path) && mdb_env_create(&env) == 0 &&
               mdb_env_open(env, self->path, 0, 0600) == 0,
           "LMDB does not open");
    mdb_env_close(env);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_EFOREIGN);
    if (sysconf(_SC_PAGESIZE) > 4096) {
        GIVES(opened(self->path, 0, &store), LARDER_EFOREIGN);
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_flushed(store, 1, "value"), LARDER_OK);
    GIVES(got(store, 1, "value"), LARDER_OK);
    larder_store_close(store);
}

// LMDB --------------------------------------------------------------------------------------------

/** Where nothing can be written, whoever reads does without; whoever writes is told. */
static void refused(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    if (!make_store(run, self->path, 30)) {
        return;
    }
    for (int nth = 1; nth < 12; nth++) {
        torture_note(run, "pass %d of open fails", nth);
        larder_fault_set("open", nth, EROFS);
        larder_status status = opened(self->path, LARDER_STORE_READ_ONLY, &store);
        larder_fault_set(NULL, 0, 0);
        torture_trial(run);
        EXPECT(run, status == LARDER_OK || status == EROFS, "an open gave %d", status);
        EXPECT(run, !store || got(store, 7, "value") == LARDER_OK, "a key is lost");
        larder_store_close(store);
        EXPECT_STATUS(run, opened(self->path, 0, &store), LARDER_OK);
        EXPECT_STATUS(run, rare_put(store, 8, nth % 2 ? "odd" : "even"), LARDER_OK);
        larder_fault_set("open", nth, EROFS);
        status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == EROFS, "a checkpoint gave %d", status);
        EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
        EXPECT_STATUS(run, got(store, 8, nth % 2 ? "odd" : "even"), LARDER_OK);
        larder_store_close(store);
    }
    larder_fault_set("mdb_env_open", -1, EACCES);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), EACCES);
    larder_fault_set(NULL, 0, 0);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
    larder_store_close(store);
}

static void *flush_one_more(void *store) {
    return put_flushed(store, 120, "more") == LARDER_OK ? store : NULL;
}

/** LMDB refuses everything, as after a failed write of a meta page, until it is opened anew. */
static void panics(torture *run, void *context) {
    static const char *const calls[] = {"mdb_txn_begin", "mdb_txn_renew"};
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    if (!make_store(run, self->path, 30)) {
        return;
    }
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    larder_fault_set("mdb_txn_renew", 1, MDB_PANIC);
    GIVES(got(reader, 1, "value"), EIO);
    // A map that never becomes large enough is not waited for.
    larder_fault_set("mdb_txn_renew", -1, MDB_MAP_RESIZED);
    GIVES(got(reader, 1, "value"), EAGAIN);
    larder_fault_set("mdb_txn_renew", 3, MDB_MAP_RESIZED);
    GIVES(got(reader, 1, "value"), LARDER_OK);
    larder_fault_set(NULL, 0, 0);
    GIVES(got(reader, 1, "value"), LARDER_OK);
    // With the other handle there, LMDB stays open.
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    for (unsigned call = 0; call < 2; call++) {
        GIVES(put_flushed(store, 100 + call, "more"), LARDER_OK);
        larder_fault_set(calls[call], -1, MDB_PANIC);
        larder_store_cursor *cursor = cursor_of(run, store);
        larder_store_cursor *again = cursor_of(run, store);
        larder_fault_set(NULL, 0, 0);
        GIVES(rare_put(store, 102 + call, "more"), LARDER_OK);
        // So that there is a place for the state that a checkpoint begins with.
        GIVES(got(store, 1, "value"), LARDER_OK);
        larder_fault_set("mdb_txn_begin", 1, MDB_PANIC);
        GIVES(larder_store_flush(store), LARDER_OK);
        larder_fault_set(NULL, 0, 0);
        passes(run, cursor, 30);
        passes(run, again, 30);
    }
    // A place outside of LMDB's table that a commit left behind, used again by its thread.
    pthread_t thread;
    void *is_flushed = NULL;
    GIVES(put_flushed(store, 105, "more"), LARDER_OK);
    larder_fault_set("mdb_txn_renew", 1, MDB_PANIC);
    larder_store_cursor *behind = cursor_of(run, store);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run,
           pthread_create(&thread, NULL, flush_one_more, store) == 0 &&
               pthread_join(thread, &is_flushed) == 0 && is_flushed,
           "a checkpoint by another thread failed");
    passes(run, behind, 30);
    GIVES(got(store, 120, "more"), LARDER_OK);
    // A reader of an older state would lose it.
    larder_store_cursor *older = cursor_of(run, store);
    GIVES(put_flushed(store, 110, "more"), LARDER_OK);
    GIVES(rare_put(store, 111, "more"), LARDER_OK);
    larder_fault_set("mdb_txn_begin", 1, MDB_PANIC);
    GIVES(larder_store_flush(store), EIO);
    larder_fault_set(NULL, 0, 0);
    passes(run, older, 30);
    larder_fault_set("mdb_txn_begin", -1, MDB_PANIC);
    GIVES(larder_store_flush(store), EIO);
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(got(store, 111, "more"), LARDER_OK);
    larder_store_close(reader);
    larder_store_close(store);
}

/** What LMDB does not tell, is taken as the worst. */
static void untold(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    GIVES(opened_with(self->path, 0, 1, &store), LARDER_OK);
    unsigned number = 0;
    for (int nth = 1; nth < 8; nth++) {
        torture_note(run, "pass %d of mdb_env_info fails", nth);
        for (unsigned i = 0; i < 2500; i++) {
            EXPECT_STATUS(run, rare_put(store, number++, "a value that lies beside its key"),
                          LARDER_OK);
        }
        larder_fault_set("mdb_env_info", nth, EINVAL);
        larder_status status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        torture_trial(run);
        EXPECT(run, status == LARDER_OK || status == EINVAL || status == EIO,
               "a checkpoint gave %d", status);
        EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
    }
    // Segments that all is dead of stay as long as nobody knows who reads them.
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < number; i++) {
            EXPECT_STATUS(run, rare_put(store, i, "b value that lies beside its key"), LARDER_OK);
        }
        larder_fault_set("mdb_reader_list", -1, -1);
        GIVES(larder_store_flush(store), LARDER_OK);
        EXPECT(run, round == 0 || larder_fault_passes() > 0, "no segment was to go");
        larder_fault_set("mdb_env_open", -1, EMFILE);
        larder_status status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == EMFILE, "a checkpoint gave %d", status);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_report report;
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == number, "%llu are there", (unsigned long long)report.intact);
    larder_store_close(store);
}

/** Takes every place in LMDB's table, says so, and waits for its end. */
static void take_table(const char *path, int ready) {
    MDB_env *env = NULL;
    unsigned count = 0;
    if (mdb_env_create(&env) == 0 && mdb_env_set_maxreaders(env, 1022) == 0 &&
        mdb_env_open(env, path, MDB_NOTLS, 0600) == 0) {
        MDB_txn *txn;
        while (count < 2000 && mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0) {
            count++;
        }
    }
    char answer = count > 900 ? 'y' : 'n';
    (void)!write(ready, &answer, 1);
    for (;;) {
        pause();
    }
}

/** The table is full of readers elsewhere, and then of dead ones. */
static void full_table(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    int ends[2];
    if (!make_store(run, self->path, 30) || !EXPECT(run, pipe(ends) == 0, "no pipe")) {
        return;
    }
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
    GIVES(got(store, 7, "value"), LARDER_OK);
    pid_t child = fork();
    if (child == 0) {
        take_table(self->path, ends[1]);
    }
    char answer = 'n';
    EXPECT(run, child > 0 && read(ends[0], &answer, 1) == 1 && answer == 'y', "a free place");
    larder_store_cursor *cursor = cursor_of(run, store);
    GIVES(got(store, 7, "value"), LARDER_ENOSLOT);
    larder_fault_set("mdb_reader_check", -1, EIO);
    GIVES(got(store, 7, "value"), LARDER_ENOSLOT);
    larder_fault_set(NULL, 0, 0);
    kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    GIVES(got(store, 7, "value"), LARDER_OK);
    passes(run, cursor, 30);
    larder_store_close(store);
    close(ends[0]);
    close(ends[1]);
}

/** data.mdb, to be changed, and the number of the transaction of each meta page. */
static int open_metas(torture *run, const char *path, uint64_t numbers[2]) {
    int file = open(data_of(path), O_RDWR | O_CLOEXEC);
    EXPECT(run,
           file >= 0 && pread(file, &numbers[0], 8, 144) == 8 &&
               pread(file, &numbers[1], 8, 4096 + 144) == 8,
           "cannot read the meta pages");
    return file;
}

/** Meta pages that change where no writer is: a reader that meets them says so, or reads what is
    whole; and when they are as before, so is it. */
static void changed_metas(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_statistics figures;
    uint64_t numbers[2];
    if (!make_store(run, self->path, 30)) {
        return;
    }
    int file = open_metas(run, self->path, numbers);
    unsigned newer = numbers[1] > numbers[0];
    off_t start = newer * 4096, other = 4096 - start;
    uint64_t next = numbers[newer] + 1, later = numbers[newer] + 2;
    const struct {
        off_t at;
        uint64_t value, was;
        size_t width;
        larder_status status;
    } changes[] = {{start + 16, 0, 0xBEEFC0DE, 4, LARDER_EFOREIGN},
                   {start + 144, later, numbers[newer], 8, LARDER_EDAMAGED},
                   {other + 144, next, numbers[!newer], 8, LARDER_OK}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        torture_note(run, "change %zu of a meta page", i);
        GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
        larder_store_cursor *cursor = cursor_of(run, store);
        EXPECT(run,
               pwrite(file, &changes[i].value, changes[i].width, changes[i].at) ==
                   (ssize_t)changes[i].width,
               "cannot write");
        GIVES(got(store, 7, "value"), changes[i].status);
        GIVES(larder_store_statistics_get(store, &figures), changes[i].status);
        EXPECT(run,
               pwrite(file, &changes[i].was, changes[i].width, changes[i].at) ==
                   (ssize_t)changes[i].width,
               "cannot write");
        GIVES(got(store, 7, "value"), LARDER_OK);
        passes(run, cursor, 30);
        larder_store_close(store);
    }
    close(file);
}

/** A checkpoint whose meta page is broken is damage, not an older state without its writes. */
static void hidden_state(torture *run, void *context) {
    static const uint64_t broken = 0;
    const rare *self = context;
    larder_store *store = NULL;
    uint64_t numbers[2], count, bytes;
    if (!make_store(run, self->path, 30)) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_flushed(store, 7, "other"), LARDER_OK);
    int file = open_metas(run, self->path, numbers);
    unsigned newer = numbers[1] > numbers[0];
    off_t place = newer * 4096 + 144;
    EXPECT(run, pwrite(file, &broken, 8, place) == 8, "cannot write");
    GIVES(got(store, 7, "other"), LARDER_EDAMAGED);
    GIVES(larder_store_totals(store, &count, &bytes), LARDER_EDAMAGED);
    EXPECT(run, pwrite(file, &numbers[newer], 8, place) == 8, "cannot write");
    GIVES(got(store, 7, "other"), LARDER_OK);
    GIVES(larder_store_totals(store, &count, &bytes), LARDER_OK);
    larder_store_close(store);
    close(file);
}

// Room --------------------------------------------------------------------------------------------

/** A file that is much longer than its pages, and grows; with no room in memory for its map. */
static void large_file(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_statistics figures;
    if (!make_store(run, self->path, 30)) {
        return;
    }
    const char *data = data_of(self->path);
    EXPECT(run, truncate(data, 100 << 20) == 0, "cannot lengthen");
    for (int nth = 1; nth < 6; nth++) {
        larder_fault_set("system mmap", nth, ENOMEM);
        larder_status status = opened(self->path, 0, &store);
        larder_fault_set(NULL, 0, 0);
        torture_trial(run);
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "an open gave %d", status);
        larder_store_close(store);
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(got(store, 7, "value"), LARDER_OK);
    EXPECT(run, truncate(data, 400 << 20) == 0, "cannot lengthen");
    GIVES(larder_store_statistics_get(store, &figures), LARDER_OK);
    EXPECT(run, figures.data_bytes == 400 << 20, "%llu bytes",
           (unsigned long long)figures.data_bytes);
    GIVES(put_flushed(store, 8, "other"), LARDER_OK);
    GIVES(got(store, 8, "other"), LARDER_OK);
    larder_store_close(store);
}

/** Where memory has no room for a map as large as it should be, there are more of them, up to a
    number; then the file's new end is not read. What was there before is. */
static void many_maps(torture *run, void *context) {
    enum { MANY = 60 };
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_statistics figures;
    if (!make_store(run, self->path, 30)) {
        return;
    }
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
    uint64_t least = (uint64_t)64 << 20, bytes = least + 1;
    const char *data = data_of(self->path);
    // The file has no blocks there, and is as long as a file may be where this ends before.
    for (unsigned i = 0; i < MANY && bytes < MAPPED_MAX_BYTES / 8; i++) {
        if (truncate(data, (off_t)bytes)) {
            break;
        }
        torture_note(run, "map %u, of %llu bytes", i, (unsigned long long)bytes);
        larder_fault_set("mmap", 1, ENOMEM);
        GIVES(larder_store_statistics_get(store, &figures), LARDER_OK);
        larder_fault_set(NULL, 0, 0);
        GIVES(got(store, 7, "value"), LARDER_OK);
        // One more than the map that was made has.
        uint64_t length = least;
        while (length < bytes + bytes / 2) {
            length *= 2;
        }
        bytes += (length - bytes) / 4 + 1;
    }
    larder_store_close(store);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_flushed(store, 8, "other"), LARDER_OK);
    larder_store_close(store);
}

/** Another process makes the file larger than a reader's map, which has no room to grow. */
static void outgrown(torture *run, void *context) {
    enum { MANY = 6000 };
    const rare *self = context;
    larder_store *store = NULL;
    if (!make_store(run, self->path, 30)) {
        return;
    }
    GIVES(opened_with(self->path, LARDER_STORE_READ_ONLY, 1, &store), LARDER_OK);
    GIVES(got(store, 7, "value"), LARDER_OK);
    pid_t child = fork();
    if (child == 0) {
        larder_store *writer = NULL;
        larder_status status = opened(self->path, 0, &writer);
        for (unsigned i = 1000; i < MANY && !status; i++) {
            status = rare_put(writer, i, "a value that lies beside its key");
        }
        status = status ? status : larder_store_flush(writer);
        larder_store_close(writer);
        _exit(status != LARDER_OK);
    }
    int ended = -1;
    EXPECT(run, child > 0 && waitpid(child, &ended, 0) == child && ended == 0, "the child: %d",
           ended);
    larder_fault_set("system mmap", 1, ENOMEM);
    GIVES(got(store, MANY - 1, "a value that lies beside its key"), ENOMEM);
    larder_fault_set(NULL, 0, 0);
    GIVES(got(store, MANY - 1, "a value that lies beside its key"), LARDER_OK);
    GIVES(got(store, 7, "value"), LARDER_OK);
    larder_store_close(store);
}

/** A disk with little room: what is reserved for the tree, and given back. */
static void short_disk(torture *run, void *context) {
    static const struct {
        const char *call;
        int first, last, error;
    } faults[] = {{NULL, 0, 0, 0},
                  {"fallocate behind", -1, -1, ENOSPC},
                  {"open", 1, 16, EIO},
                  {"ftruncate", 1, 4, EIO}};
    static const int sizes[] = {0, 3 << 20, 9 << 20};
    const rare *self = context;
    char path[700];
    static char value[600];
    if (!mount_small_disk(self->kept, "size=24m")) {
        torture_skip(run, "a disk with little room: mounting one needs root or user namespaces");
        return;
    }
    snprintf(path, sizeof path, "%s/store", self->kept);
    memset(value, 'v', sizeof value - 1);
    for (size_t size = 0; size < 3; size++) {
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
            for (int nth = faults[i].first; nth <= faults[i].last; nth++) {
                larder_store *store = NULL;
                torture_note(run, "pass %d of %s fails, size %zu", nth, faults[i].call, size);
                remove_tree(path);
                if (!make_store(run, path, 5)) {
                    return;
                }
                EXPECT(run, !sizes[size] || truncate(data_of(path), sizes[size]) == 0, "no length");
                larder_fault_set(nth < 0 ? faults[i].call : NULL, nth, faults[i].error);
                GIVES(opened(path, 0, &store), LARDER_OK);
                for (unsigned n = 10; n < 26; n++) {
                    EXPECT_STATUS(run, rare_put(store, n, value), LARDER_OK);
                }
                for (unsigned n = 10; n < 26; n++) {
                    EXPECT_STATUS(run, larder_store_remove(store, rare_key(n), 0), LARDER_OK);
                }
                larder_fault_set(faults[i].call, nth, faults[i].error);
                larder_status status = larder_store_flush(store);
                larder_fault_set(NULL, 0, 0);
                EXPECT(run, status == LARDER_OK || status == faults[i].error, "a flush gave %d",
                       status);
                EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
                EXPECT_STATUS(run, got(store, 3, "value"), LARDER_OK);
                larder_store_close(store);
            }
        }
    }
}

/** Gives an empty store another version. */
static bool set_version(const char *path, uint32_t version) {
    tree_edit edit;
    uint8_t space = 1, meta[128];
    MDB_val key = {1, &space}, value;
    if (!edit_begin(path, &edit) || mdb_get(edit.txn, edit.tree, &key, &value) != 0) return false;
    memcpy(meta, value.mv_data, sizeof meta);
    memcpy(meta + 12, &version, sizeof version);
    value = (MDB_val){sizeof meta, meta};
    return mdb_put(edit.txn, edit.tree, &key, &value, 0) == 0 && edit_seal(&edit, NULL) &&
           edit_end(&edit);
}

/** Entries of an index by its own order; and that the store has that version, and is whole. */
static void has_index(torture *run, larder_store *store, uint32_t version, uint64_t entries) {
    larder_store_query query;
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    larder_store_statistics figures;
    larder_store_report report;
    uint64_t count = 0, given = 0;
    larder_store_query_init(&query);
    query.order = LARDER_STORE_BY_INDEX;
    query.index = 7;
    query.flags = LARDER_STORE_HAS_LOWER;
    query.lower = bytes_of_text("v");
    GIVES(larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count), LARDER_OK);
    GIVES(larder_store_cursor_open(store, &query, &cursor), LARDER_OK);
    while (larder_store_cursor_next(cursor, &entry) == LARDER_OK) given++;
    larder_store_cursor_close(cursor);
    EXPECT(run, count == entries && given == entries, "of %llu entries %llu, and %llu counted",
           (unsigned long long)entries, (unsigned long long)given, (unsigned long long)count);
    GIVES(larder_store_statistics_get(store, &figures), LARDER_OK);
    EXPECT(run, figures.version == version, "version %u", figures.version);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
}

/** A store of version 2 goes on as it was, with rows of indexes that have no checksums, until its
    index is made again. Another version is none of ours. */
static void rows_of_before(torture *run, void *context) {
    enum { COUNT = 40 };
    const char *path = ((const rare *)context)->path;
    larder_store *store = NULL;
    larder_store_report report;
    GIVES(opened(path, 0, &store), LARDER_OK);
    larder_store_close(store);
    for (uint32_t version = 1; version < 5; version += 3) {
        EXPECT(run, set_version(path, version), "no version %u", version);
        GIVES(opened(path, 0, &store), LARDER_EVERSION);
    }
    EXPECT(run, set_version(path, 2), "no version 2");
    for (unsigned round = 0; round < 2; round++) {
        GIVES(opened(path, 0, &store), LARDER_OK);
        for (unsigned i = 0; i < COUNT; i++) {
            // Some keys are longer than what a row of an index has of them.
            char key[400], value[16];
            memset(key, 'k', sizeof key);
            size_t length = (size_t)sprintf(key, "%u", i) + i % 2 * 300;
            larder_store_index_entry index = {
                7, bytes_of(value, (size_t)sprintf(value, "v %u", i % 5 + round))};
            larder_store_item item;
            larder_store_item_init(&item, bytes_of(key, length), bytes_of_text("value"));
            item.indexes = &index;
            item.index_count = 1;
            EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
        }
        GIVES(larder_store_flush(store), LARDER_OK);
        has_index(run, store, 2, COUNT);
        larder_store_close(store);
    }
    GIVES(larder_store_rebuild(path, NULL, NULL, NULL, &report), LARDER_OK);
    GIVES(opened(path, 0, &store), LARDER_OK);
    has_index(run, store, 3, COUNT);
    larder_store_close(store);
}

/** The index of another store, a copy of this one for example, does not lead into this one's log:
    nobody is to take it for an empty store, or for one whose entries are all damaged. */
static void of_another(torture *run, void *context) {
    const rare *place = context;
    const uint32_t flags[] = {LARDER_STORE_READ_ONLY, 0};
    static const char large[2000] = "larger than what lies in a row";
    larder_store *store = NULL;
    for (unsigned which = 0; which < 2; which++) {
        GIVES(opened(which ? place->other : place->path, 0, &store), LARDER_OK);
        for (unsigned i = 0; i < 20; i++) {
            larder_store_item item;
            larder_store_item_init(&item, rare_key(i), bytes_of(large, sizeof large));
            EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
        }
        GIVES(larder_store_flush(store), LARDER_OK);
        larder_store_close(store);
    }
    char own[700];
    snprintf(own, sizeof own, "%s/kept.mdb", place->path);
    EXPECT(run, copy_file(inside(place->path, "data.mdb"), own), "cannot copy");
    EXPECT(run, copy_file(inside(place->other, "data.mdb"), inside(place->path, "data.mdb")),
           "cannot copy");
    for (unsigned i = 0; i < 2; i++) {
        larder_store_options options;
        larder_store_detail detail;
        larder_store_options_init(&options);
        options.flags = flags[i] | LARDER_STORE_HOST_MAINTENANCE;
        GIVES(larder_store_open(place->path, &options, &detail, &store), LARDER_EDAMAGED);
        EXPECT(run, detail.part == LARDER_STORE_PART_JOURNAL && detail.segment == 1,
               "part %d, segment %u", detail.part, detail.segment);
    }
    EXPECT(run, copy_file(own, inside(place->path, "data.mdb")), "cannot copy");
    GIVES(opened(place->path, 0, &store), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 20, "entries are missing");
    larder_store_close(store);
}

/** Files that are not the store's have the names of the segments that come next. */
static void names_taken(torture *run, void *context) {
    enum { TAKEN = 400, ROUNDS = 20, KEYS = 40 };
    const rare *place = context;
    static const char value[300] = "larger than what lies in a row";
    larder_store *store = NULL;
    GIVES(opened_small(place->path, 0, 100, &store), LARDER_OK);
    for (unsigned round = 0; round < ROUNDS; round++) {
        // Of each pair of names one.
        for (unsigned i = 0; i < KEYS; i++) {
            larder_store_item item;
            larder_store_item_init(&item, rare_key(i), bytes_of(value, sizeof value));
            if (i % 2 || round == 0) EXPECT_STATUS(run, larder_store_put(store, &item, NULL), 0);
        }
        for (unsigned number = 2; number < TAKEN && round == 0; number++) {
            char name[32];
            snprintf(name, sizeof name, "log/%08x.seg", number * 2);
            const char *taken = inside(place->path, name);
            if (size_of_file(taken) < 0)
                EXPECT(run, write_file(taken, value, sizeof value), "no file");
        }
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(larder_store_maintain(store), LARDER_OK);
    }
    EXPECT(run, rare_count(run, store) == KEYS, "entries are missing");
    larder_store_close(store);
}

void family_store_rare_data(torture *run) {
    RARE_EACH(run, "", NULL, one_list, other_file, in_a_child, joined, lent, vanished, remnants,
              refused, panics, untold, full_table, changed_metas, hidden_state, large_file,
              many_maps, outgrown, short_disk, no_transaction, rows_of_before, of_another,
              names_taken);
}
