// SPDX-License-Identifier: MIT
// What a store may run out of, and what may be taken away from it: room on the disk, file size,
// descriptors, permissions, the folder. A call tells of it by an errno, nothing that was stored is
// lost, and it works again when it can. store-explore has system calls that fail.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exhaustion.h"
#include "faults.h"
#include "store.h"
#include "store_disk.h"

enum { THINGS = 24, THING_MAX = 9000, THRESHOLD = 700 };

typedef struct pantry {
    torture *run;
    const char *path;
    larder_store *store;
    /** What each key holds; 0 for nothing. Of the last write that returned well. */
    uint64_t salt[THINGS];
    /** What it may hold too: of one that gave an error that leaves it open. */
    uint64_t maybe[THINGS];
    larder_store_tuning tuning;
    uint64_t serial;
    uint32_t flags;
} pantry;

static larder_status pantry_open(pantry *self) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = self->flags;
    options.journal_bytes = 64 << 10;
    options.tuning = &self->tuning;
    options.inline_threshold_bytes = THRESHOLD;
    return larder_store_open(self->path, &options, NULL, &self->store);
}

static size_t thing_length(uint64_t salt) {
    return mix(salt) % 4 == 0 ? THRESHOLD + 1 + mix(salt) / 4 % (THING_MAX - THRESHOLD - 1)
                              : mix(salt) / 4 % THRESHOLD;
}

static larder_bytes thing_key(uint32_t key, char text[16]) {
    int length = snprintf(text, 16, "thing %u", key);
    return bytes_of(text, (size_t)length);
}

/** Puts value `salt`, synced or not. */
static larder_status pantry_put(pantry *self, uint32_t key, uint64_t salt, uint32_t flags) {
    static uint8_t value[THING_MAX];
    char text[16];
    size_t length = thing_length(salt);
    message_fill(salt, value, length);
    larder_store_item item;
    larder_store_item_init(&item, thing_key(key, text), bytes_of(value, length));
    item.flags = flags;
    larder_status status = larder_store_put(self->store, &item, NULL);
    if (status == LARDER_OK) {
        self->salt[key] = salt;
        self->maybe[key] = 0;
    } else if (flags) {
        self->maybe[key] = salt; // It may be there, and only the sync may have failed.
    }
    return status;
}

static uint64_t some_salt(pantry *self, bool is_large) {
    for (;;) {
        uint64_t salt = mix(++self->serial) | 1;
        if ((thing_length(salt) > THRESHOLD) == is_large) {
            return salt;
        }
    }
}

static bool pantry_verify(pantry *self, const char *when) {
    bool good = true;
    for (uint32_t key = 0; key < THINGS && good; key++) {
        char text[16];
        larder_store_entry entry;
        larder_status status =
            larder_store_get(self->store, thing_key(key, text), LARDER_STORE_PEEK, &entry);
        uint64_t salts[2] = {self->salt[key], self->maybe[key]};
        bool right = status == LARDER_ENOTFOUND && !self->salt[key];
        for (int i = 0; i < 2; i++) {
            right |= status == LARDER_OK && salts[i] &&
                     entry.value.length == thing_length(salts[i]) &&
                     message_equals(salts[i], entry.value.data, entry.value.length);
        }
        good = EXPECT(self->run, right, "%s: get of %s gave %d and %zu bytes; %s was stored", when,
                      text, status, status ? 0 : entry.value.length,
                      self->salt[key] ? "another value" : "nothing");
        larder_store_release(&entry);
    }
    return good;
}

/** What a new store holds at first; half of it flushed. */
static bool pantry_fill(pantry *self) {
    for (uint32_t key = 0; key < THINGS; key++) {
        if (!EXPECT_STATUS(self->run, pantry_put(self, key, some_salt(self, key % 4 == 0), 0),
                           LARDER_OK) ||
            (key == THINGS / 2 &&
             !EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK))) {
            return false;
        }
    }
    return true;
}

static bool pantry_begin(torture *run, pantry *self) {
    self->run = run;
    remove_tree(self->path);
    memset(self->salt, 0, sizeof self->salt);
    memset(self->maybe, 0, sizeof self->maybe);
    return EXPECT_STATUS(run, pantry_open(self), LARDER_OK) && pantry_fill(self);
}

/** Closed and opened again, everything is there, sound, and can be changed. */
static bool pantry_recovers(pantry *self) {
    larder_store_close(self->store);
    self->store = NULL;
    larder_store_report report;
    bool good = EXPECT_STATUS(self->run, pantry_open(self), LARDER_OK) &&
                pantry_verify(self, "opened again");
    for (int round = 0; round < 2 && good; round++) {
        good = EXPECT_STATUS(self->run, pantry_put(self, 1, some_salt(self, round > 0), 0),
                             LARDER_OK) &&
               EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK) &&
               pantry_verify(self, "flushed again");
    }
    good = good && EXPECT_STATUS(self->run, larder_store_check(self->store, NULL, NULL, &report),
                                 LARDER_OK);
    larder_store_close(self->store);
    self->store = NULL;
    return good;
}

// Calls ------------------------------------------------------------------------------------------

static larder_status put_small(pantry *self) {
    return pantry_put(self, 2, some_salt(self, false), 0);
}
static larder_status put_large(pantry *self) {
    return pantry_put(self, 5, some_salt(self, true), 0);
}
static larder_status put_many(pantry *self) {
    larder_status status = LARDER_OK; // More than may wait at once.
    for (unsigned i = 0; i < 300 && status == LARDER_OK; i++) {
        status = pantry_put(self, i % THINGS, some_salt(self, i % 50 == 0), 0);
    }
    return status;
}
static larder_status flush(pantry *self) { return larder_store_flush(self->store); }
static larder_status read_all(pantry *self) {
    larder_status worst = LARDER_OK;
    for (uint32_t key = 0; key < THINGS; key++) {
        char text[16];
        larder_store_entry entry;
        larder_status status = larder_store_get(self->store, thing_key(key, text), 0, &entry);
        worst = status == LARDER_OK || status == LARDER_ENOTFOUND ? worst : status;
        larder_store_release(&entry);
    }
    return worst;
}
static larder_status clear(pantry *self) {
    larder_status status = larder_store_remove_all(self->store, NULL, NULL);
    if (status == LARDER_OK) {
        memset(self->salt, 0, sizeof self->salt);
        memset(self->maybe, 0, sizeof self->maybe);
        status = larder_store_flush(self->store);
    }
    return status;
}
static larder_status backup(pantry *self) {
    char target[700];
    snprintf(target, sizeof target, "%s-copy", self->path);
    larder_status status = larder_store_backup(self->store, target, NULL, NULL);
    EXPECT(self->run, status == LARDER_OK || size_of_file(target) < 0,
           "a backup that failed with %d left its target", status);
    remove_tree(target);
    return status;
}

// Limits ------------------------------------------------------------------------------------------

#ifdef __linux__
/** Leaves nothing, by its own calls alone, and then there is room. */
static bool pantry_empties(pantry *self) {
    bool good = true;
    larder_store_limits limits = larder_store_limits_get(self->store), few = limits;
    unsigned way = (unsigned)(mix(self->serial) % 3);
    torture_note(self->run, "a full disk, emptied in way %u", way);
    for (uint32_t key = 0; way == 0 && key < THINGS && good; key++) {
        char text[16];
        good = EXPECT_STATUS(self->run, larder_store_remove(self->store, thing_key(key, text), 0),
                             LARDER_OK);
        self->salt[key] = self->maybe[key] = 0;
        good = good && EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK);
    }
    if (way == 1) {
        good = EXPECT_STATUS(self->run, clear(self), LARDER_OK);
    }
    if (way == 2) {
        few.count = 0;
        good = EXPECT_STATUS(self->run, larder_store_limits_set(self->store, &few), LARDER_OK) &&
               EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK) &&
               EXPECT_STATUS(self->run, larder_store_limits_set(self->store, &limits), LARDER_OK);
        memset(self->salt, 0, sizeof self->salt);
        memset(self->maybe, 0, sizeof self->maybe);
    }
    for (int i = 0; i < 3 && good; i++) {
        good = EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK) &&
               EXPECT_STATUS(self->run, put_small(self), LARDER_OK);
    }
    return good && pantry_verify(self, "emptied on a full disk");
}

static void full_disk(torture *run, void *context) {
    pantry *self = context;
    const char *mounted = torture_path(run, "disk");
    if (!mount_small_disk(mounted, "size=3m")) {
        torture_skip(run, "a full disk: mounting a small one needs root or user namespaces");
        return;
    }
    char path[700], filler[700];
    snprintf(path, sizeof path, "%s/store", mounted);
    snprintf(filler, sizeof filler, "%s/filler", mounted);
    self->path = path;
    torture_note(run, "a full disk");
    if (!pantry_begin(run, self)) {
        return;
    }
    fill_disk(filler);
    // What is already paid for goes on: the segment takes writes until it is full.
    larder_status status = LARDER_OK, small = LARDER_OK;
    unsigned taken = 0;
    for (unsigned i = 0; i < 3000 && small == LARDER_OK; i++, taken += small == LARDER_OK) {
        small = pantry_put(self, i % THINGS, some_salt(self, false), 0);
    }
    // Where cleaning makes room they never end.
    bool good = EXPECT(run, small == ENOSPC || small == LARDER_OK,
                       "puts on a full disk ended with %d after %u", small, taken);
    status = good ? flush(self) : LARDER_OK;
    good = good &&
           EXPECT(run, status == ENOSPC || status == LARDER_OK, "a flush gave %d", status) &&
           pantry_verify(self, "with a full disk");
    status = good ? backup(self) : LARDER_OK;
    good = good &&
           EXPECT(run, status == ENOSPC || status == LARDER_OK, "a backup gave %d", status) &&
           pantry_empties(self);
    torture_note(run, "room again");
    (void)unlink(filler);
    good = good && EXPECT_STATUS(run, flush(self), LARDER_OK) &&
           EXPECT_STATUS(run, put_large(self), LARDER_OK) &&
           EXPECT_STATUS(run, put_many(self), LARDER_OK) && pantry_verify(self, "with room again");
    // Closed on a full disk, nothing is lost.
    fill_disk(filler);
    torture_note(run, "closed on a full disk");
    small = LARDER_OK;
    for (unsigned i = 0; i < 30 && small == LARDER_OK && good; i++) {
        small = pantry_put(self, i % THINGS, some_salt(self, false), 0);
    }
    larder_store_close(self->store);
    self->store = NULL;
    (void)unlink(filler);
    (void)(good && EXPECT_STATUS(run, pantry_open(self), LARDER_OK) &&
           pantry_verify(self, "closed on a full disk") && pantry_recovers(self));
}
#endif

/** A store is made under each limit, or nothing. */
static void file_size_limits(torture *run) {
    const char *path = torture_path(run, "limited");
    struct rlimit before, now;
    getrlimit(RLIMIT_FSIZE, &before);
    now = before;
    for (now.rlim_cur = 4096; now.rlim_cur <= 1 << 20; now.rlim_cur += now.rlim_cur / 3) {
        larder_store *store = NULL;
        larder_store_item item;
        torture_note(run, "RLIMIT_FSIZE of %llu", (unsigned long long)now.rlim_cur);
        setrlimit(RLIMIT_FSIZE, &now);
        larder_status status = larder_store_open(path, NULL, NULL, &store), flushed = LARDER_OK;
        if (!status) {
            larder_store_item_init(&item, (larder_bytes){"key", 3}, (larder_bytes){"value", 5});
            (void)!larder_store_put(store, &item, NULL);
            flushed = larder_store_flush(store);
        }
        larder_store_close(store);
        setrlimit(RLIMIT_FSIZE, &before);
        EXPECT(run, status == LARDER_OK || (status == EFBIG && access(path, F_OK) != 0),
               "open gave %d", status);
        EXPECT(run, flushed == LARDER_OK || flushed == EFBIG, "flush gave %d", flushed);
        remove_tree(path);
    }
}

static void file_size_limit(torture *run, void *context) {
    pantry *self = context;
    if (!pantry_begin(run, self)) {
        return;
    }
    signal(SIGXFSZ, SIG_DFL); // Which ends the process, if it is raised.
    file_size_limits(run);
    torture_note(run, "RLIMIT_FSIZE of an open store");
    struct rlimit before, now;
    getrlimit(RLIMIT_FSIZE, &before);
    now = before;
    now.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &now);
    larder_status status = put_large(self);
    bool good = EXPECT(run, status == LARDER_OK || status == EFBIG, "a large put gave %d", status);
    status = flush(self);
    good = good && EXPECT(run, status == LARDER_OK || status == EFBIG, "flush gave %d", status) &&
           pantry_verify(self, "under a limit of file size");
    setrlimit(RLIMIT_FSIZE, &before);
    (void)(good && pantry_recovers(self));
}

static void descriptor_limit(torture *run, void *context) {
    pantry *self = context;
    if (!pantry_begin(run, self)) {
        return;
    }
    torture_note(run, "RLIMIT_NOFILE");
    struct rlimit before, now;
    getrlimit(RLIMIT_NOFILE, &before);
    now = before;
    now.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &now);
    larder_status status = put_large(self);
    bool good = EXPECT(run, status == LARDER_OK || status == EMFILE,
                       "a large put without a descriptor gave %d", status);
    status = put_small(self);
    good =
        good && EXPECT(run, status == LARDER_OK || status == EMFILE, "a small put gave %d", status);
    status = read_all(self);
    good = good && EXPECT(run, status == LARDER_OK || status == EMFILE, "get gave %d", status);
    status = flush(self);
    good = good && EXPECT(run, status == LARDER_OK || status == EMFILE, "flush gave %d", status);
    larder_store *other = NULL;
    char path[700];
    snprintf(path, sizeof path, "%s-other", self->path);
    status = larder_store_open(path, NULL, NULL, &other);
    good = good && EXPECT(run, status == EMFILE && !other, "open gave %d", status);
    setrlimit(RLIMIT_NOFILE, &before);
    (void)(good && pantry_verify(self, "with descriptors again") && pantry_recovers(self));
    remove_tree(path);
}

static void folder_changes(torture *run, void *context) {
    pantry *self = context;
    if (!pantry_begin(run, self)) {
        return;
    }
    larder_store_close(self->store);
    self->store = NULL;
    bool good = true;
    if (geteuid() != 0 || seteuid(65534) == 0) {
        torture_note(run, "a folder that cannot be changed");
        good = EXPECT(run, pantry_open(self) == EACCES && !self->store, "opened as nobody");
        if (geteuid() == 65534) {
            (void)!seteuid(0);
        }
    }
    good = good && EXPECT_STATUS(run, pantry_open(self), LARDER_OK);
    torture_note(run, "a folder that is removed while it is open");
    char away[700];
    snprintf(away, sizeof away, "%s-away", self->path);
    remove_tree(away);
    if (!good || rename(self->path, away) != 0) {
        return;
    }
    larder_status status = put_large(self);
    good = EXPECT(run, status == LARDER_EREPLACED || status == LARDER_OK, "a large put gave %d",
                  status);
    // No descriptor of the folder is kept: a new segment is looked for where it was.
    status = put_small(self);
    good = good &&
           EXPECT(run, status == LARDER_EREPLACED || status == LARDER_OK, "a put gave %d", status);
    status = flush(self);
    good = good &&
           EXPECT(run, status == LARDER_EREPLACED || status == LARDER_OK, "flush gave %d", status);
    larder_store_close(self->store);
    self->store = NULL;
    remove_tree(self->path);
    (void)(good && rename(away, self->path) == 0 && pantry_recovers(self));
    if (pantry_open(self) == LARDER_OK) {
        remove_tree(self->path);
        (void)put_small(self);
        (void)flush(self);
        (void)put_large(self);
        (void)read_all(self);
        larder_store_close(self->store);
        self->store = NULL;
    }
    remove_tree(self->path);
}

void family_store_exhaustion(torture *run) {
    pantry *self = shared_memory(sizeof *self);
    rng random;
    static void (*const limits[])(torture *, void *) = {
#ifdef __linux__
        full_disk,
#endif
        file_size_limit, descriptor_limit, folder_changes};
    if (!torture_next_case(run, &random)) {
        return;
    }
    self->path = torture_path(run, "store");
    for (size_t i = 0; i < 8 * sizeof limits / sizeof *limits; i++) {
        torture_trial(run);
        const char *path = self->path;
        tuning_draw(&self->tuning, &random);
        self->serial = rng_next(&random);
        self->flags = i % 2 ? (uint32_t)LARDER_STORE_HOST_MAINTENANCE : 0;
        torture_guard(run, 30, limits[i / 8], self);
        self->path = path;
    }
    remove_tree(self->path);
}
