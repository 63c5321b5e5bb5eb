// SPDX-License-Identifier: MIT
// What a call promised when it returned, though syncs failed, descriptors ran out, the process went
// to another folder or another store took the place, or the power failed twice; and that the log
// alone has all of it.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "larder_store_feed.h"
#include "store.h"
#include "store_disk.h"

/** A checkpoint of twenty writes is at least five transactions, over several segments. */
enum { ITEMS = 20, ITEMS_MOST = 4, THRESHOLD = 100, LARGE = 300, PLACES = 400 };

typedef struct deed {
    torture *run;
    const char *path;
    larder_store *store;
    /** What lies under "large": so many of the same letter. 0: nothing. */
    char letter;
} deed;

static larder_status deed_open(deed *self) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    options.journal_bytes = 64 << 10;
    options.inline_threshold_bytes = THRESHOLD;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = tuning.segment_max_bytes = 1024;
    tuning.space_percent = 100;
    tuning.transaction_max_count = ITEMS_MOST;
    options.tuning = &tuning;
    return larder_store_open(self->path, &options, NULL, &self->store);
}

static larder_status put_large(deed *self, char letter, uint32_t flags) {
    char value[LARGE];
    memset(value, letter, sizeof value);
    larder_store_item item;
    larder_store_item_init(&item, bytes_of_text("large"), bytes_of(value, sizeof value));
    item.flags = flags;
    return larder_store_put(self->store, &item, NULL);
}

static bool put_items(deed *self) {
    for (int i = 0; i < ITEMS; i++) {
        char text[16];
        int length = snprintf(text, sizeof text, "item %02d", i * 7 % ITEMS);
        larder_bytes bytes = bytes_of(text, (size_t)length);
        larder_store_item item;
        larder_store_item_init(&item, bytes, bytes);
        if (!EXPECT_STATUS(self->run, larder_store_put(self->store, &item, NULL), LARDER_OK)) {
            return false;
        }
    }
    return true;
}

/** Everything that was put is there. */
static bool deed_verify(deed *self) {
    larder_store_entry entry;
    for (int i = 0; i < ITEMS; i++) {
        char text[16];
        int length = snprintf(text, sizeof text, "item %02d", i);
        larder_bytes bytes = bytes_of(text, (size_t)length);
        larder_status status = larder_store_get(self->store, bytes, LARDER_STORE_PEEK, &entry);
        larder_store_release(&entry);
        if (!EXPECT(self->run, status == LARDER_OK, "get of %s gave %d", text, status)) {
            return false;
        }
    }
    larder_status status =
        larder_store_get(self->store, bytes_of_text("large"), LARDER_STORE_PEEK, &entry);
    bool is_right = self->letter == 0 ? status == LARDER_ENOTFOUND
                                      : status == LARDER_OK && entry.value.length == LARGE &&
                                            *(const char *)entry.value.data == self->letter;
    larder_store_release(&entry);
    larder_store_report report;
    return EXPECT(self->run, is_right, "get of the large one gave %d", status) &&
           EXPECT_STATUS(self->run, larder_store_recovery(self->store, &report), LARDER_OK) &&
           EXPECT(self->run, report.journal_lost == 0, "recovery tells of %" PRIu64 " writes lost",
                  report.journal_lost);
}

// Rebuilding --------------------------------------------------------------------------------------

static void rebuild_what_is_open(torture *run, void *context) {
    const deed *self = context;
    larder_store_report report;
    EXPECT_STATUS(run, larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_EBUSY);
}

/** Whoever has it open, here or elsewhere, to write or to read. */
static void a_store_that_is_open_is_not_rebuilt(torture *run, void *context) {
    deed self = {.run = run, .path = context};
    larder_store_options options;
    larder_store_options_init(&options);
    larder_store *reader = NULL;
    if (!EXPECT_STATUS(run, deed_open(&self), LARDER_OK) || !put_items(&self)) {
        return;
    }
    rebuild_what_is_open(run, &self);
    (void)torture_guard(run, 30, rebuild_what_is_open, &self);
    larder_store_close(self.store);
    options.flags = (uint32_t)LARDER_STORE_READ_ONLY;
    if (EXPECT_STATUS(run, larder_store_open(self.path, &options, NULL, &reader), LARDER_OK)) {
        rebuild_what_is_open(run, &self);
        (void)torture_guard(run, 30, rebuild_what_is_open, &self);
    }
    larder_store_close(reader);
    larder_store_report report;
    EXPECT_STATUS(run, larder_store_rebuild(self.path, NULL, NULL, NULL, &report), LARDER_OK);
}

// What is left ------------------------------------------------------------------------------------

static void write_and_leave(torture *run, void *context) {
    deed *self = context;
    (void)(EXPECT_STATUS(run, deed_open(self), LARDER_OK) &&
           EXPECT_STATUS(run, put_large(self, 'a', 0), LARDER_OK) && put_items(self));
}

static void open_without_means(torture *run, void *context) {
    deed *self = context;
    static const char *const calls[] = {"open", "mmap", "fstat"};
    for (int i = 0; i < 3 && torture_unhurt(run); i++) {
        larder_status status = EMFILE;
        for (int nth = 1; status != LARDER_OK && nth < PLACES; nth++) {
            larder_fault_set(calls[i], nth, EMFILE);
            status = deed_open(self);
            larder_fault_set(NULL, 0, 0);
            if (!EXPECT(run, status == LARDER_OK || status == EMFILE, "open gave %d", status)) {
                return;
            }
        }
        bool is_whole = deed_verify(self);
        larder_store_close(self->store);
        self->store = NULL;
        if (!is_whole) {
            return;
        }
        if (i < 2 && !torture_guard(run, 30, write_and_leave, self)) {
            return;
        }
    }
}

static void an_open_without_descriptors_gives_up_nothing_that_was_left(torture *run) {
    deed self = {.run = run, .path = torture_path(run, "store"), .letter = 'a'};
    torture_trial(run);
    remove_tree(self.path);
    if (torture_guard(run, 30, write_and_leave, &self)) {
        (void)torture_guard(run, 30, open_without_means, &self);
    }
    remove_tree(self.path);
}

// Syncs -------------------------------------------------------------------------------------------

/** The large value lies under its key. */
static bool has_large(deed *self, char letter) {
    larder_store_entry entry;
    larder_status status =
        larder_store_get(self->store, bytes_of_text("large"), LARDER_STORE_PEEK, &entry);
    bool has = status == LARDER_OK && entry.value.length == LARGE &&
               *(const char *)entry.value.data == letter;
    larder_store_release(&entry);
    return EXPECT(self->run, has, "get of the large one gave %d", status);
}

/** A sync or a flush, while the `nth` sync of a segment, or of their folder, fails once. */
static bool fails_at(deed *self, const char *log, int nth, bool flushes) {
    disk_fail(log, "sync", nth, EIO, false);
    larder_status status =
        flushes ? larder_store_flush(self->store) : larder_store_sync(self->store);
    int failures = disk_failures();
    disk_fail(NULL, NULL, 0, 0, false);
    return EXPECT(self->run, status == EIO && failures == 1,
                  "sync number %d failing: a %s gave %d, and met %d", nth,
                  flushes ? "flush" : "sync", status, failures);
}

/** A put that asks to survive a power cut, while the `nth` sync fails. */
static bool begins_unsure(deed *self, const char *log, int nth) {
    remove_tree(self->path);
    if (!EXPECT_STATUS(self->run, deed_open(self), LARDER_OK)) {
        return false;
    }
    disk_fail(log, "sync", nth, EIO, false);
    larder_status status = put_large(self, 'a', LARDER_STORE_SYNCED);
    disk_fail(NULL, NULL, 0, 0, false);
    return EXPECT_STATUS(self->run, status, EIO) && has_large(self, 'a');
}

static void ends_sure(deed *self, bool good) {
    (void)(good && EXPECT_STATUS(self->run, larder_store_sync(self->store), LARDER_OK) &&
           EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK) &&
           has_large(self, 'a'));
    larder_store_close(self->store);
    self->store = NULL;
}

/** Whoever asks after a failure has the device asked again, by a sync as by a flush. */
static void a_sync_that_failed_is_repeated(deed *self, const char *log) {
    // The folder's comes first, for the segment's name, and then that of its content.
    for (int nth = 1; nth <= 2; nth++) {
        torture_trial(self->run);
        ends_sure(self, begins_unsure(self, log, nth) && fails_at(self, log, 1, false) &&
                            fails_at(self, log, 1, true) && fails_at(self, log, 1, true) &&
                            fails_at(self, log, 1, false));
    }
}

static void a_sync_that_failed_in_a_flush_is_not_believed_by_a_sync(deed *self, const char *log) {
    torture_trial(self->run);
    remove_tree(self->path);
    ends_sure(self, EXPECT_STATUS(self->run, deed_open(self), LARDER_OK) &&
                        EXPECT_STATUS(self->run, put_large(self, 'a', 0), LARDER_OK) &&
                        fails_at(self, log, 1, true) && fails_at(self, log, 1, false));
}

static void try_syncs(torture *run) {
    char log[700];
    deed self = {.run = run, .path = torture_path(run, "store")};
    snprintf(log, sizeof log, "%s/log", self.path);
    a_sync_that_failed_is_repeated(&self, log);
    a_sync_that_failed_in_a_flush_is_not_believed_by_a_sync(&self, log);
    remove_tree(self.path);
}

// The log alone ----------------------------------------------------------------------------------

enum { TRUTH_KEYS = 60, TRUTH_STEPS = 1500, TRUTH_ROUNDS = 6 };

typedef struct truth {
    const char *path, *target;
    uint64_t seed;
} truth;

static larder_bytes truth_key(uint32_t key, char text[16]) {
    int length = snprintf(text, 16, "key %u", key);
    return bytes_of(text, (size_t)length);
}

/** Writes, removes, flushes, all the time; nothing is evicted. */
static bool truth_write(torture *run, larder_store *store, rng *random,
                        uint64_t salts[TRUTH_KEYS]) {
    uint8_t value[700];
    char text[16];
    for (int i = 0; i < TRUTH_STEPS; i++) {
        uint32_t key = (uint32_t)rng_below(random, TRUTH_KEYS);
        larder_status status;
        uint64_t choice = rng_below(random, 100);
        if (choice < 3) {
            status = larder_store_flush(store);
        } else if (choice < 4 && rng_one_in(random, 4)) {
            status = larder_store_remove_all(store, NULL, NULL);
            memset(salts, 0, TRUTH_KEYS * sizeof *salts);
        } else if (choice < 40) {
            status = larder_store_remove(store, truth_key(key, text), 0);
            salts[key] = 0;
        } else {
            larder_store_item item;
            salts[key] = rng_next(random) | 1;
            size_t length = salts[key] / 2 % sizeof value;
            message_fill(salts[key], value, length);
            larder_store_item_init(&item, truth_key(key, text), bytes_of(value, length));
            status = larder_store_put(store, &item, NULL);
        }
        if (!EXPECT_STATUS(run, status, LARDER_OK)) {
            return false;
        }
    }
    return true;
}

/** Everything is there that should be, and sound. */
static bool truth_verify(torture *run, const char *path, const larder_store_options *options,
                         const uint64_t salts[TRUTH_KEYS]) {
    larder_store *store = NULL;
    larder_store_report report;
    bool good = EXPECT_STATUS(run, larder_store_open(path, options, NULL, &store), LARDER_OK);
    for (uint32_t key = 0; key < TRUTH_KEYS && good; key++) {
        char text[16];
        larder_store_entry entry;
        larder_status status = larder_store_get(store, truth_key(key, text), 0, &entry);
        bool is_right = salts[key]
                            ? status == LARDER_OK && entry.value.length == salts[key] / 2 % 700 &&
                                  message_equals(salts[key], entry.value.data, entry.value.length)
                            : status == LARDER_ENOTFOUND;
        larder_store_release(&entry);
        good = EXPECT(run, is_right, "without its index: get of %s, which was %s, gave %d", text,
                      salts[key] ? "written" : "removed", status);
    }
    good = good && EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
    return good;
}

static void write_and_lose_the_index(torture *run, void *context) {
    const truth *self = context;
    rng random = rng_make(self->seed);
    uint64_t salts[TRUTH_KEYS] = {0};
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    larder_store_tuning tuning;
    tuning_draw(&tuning, &random);
    tuning.space_percent = 100;
    options.tuning = &tuning;
    larder_store *store = NULL;
    char data[700];
    bool good =
        EXPECT_STATUS(run, larder_store_open(self->path, &options, NULL, &store), LARDER_OK) &&
        truth_write(run, store, &random, salts);
    larder_store_close(store);
    store = NULL;
    snprintf(data, sizeof data, "%s/data.mdb", self->path);
    (void)unlink(data);
    // Without leave, opening changes nothing.
    good = good && EXPECT_STATUS(run, larder_store_open(self->path, &options, NULL, &store),
                                 LARDER_EDAMAGED);
    larder_store_report report;
    good = good &&
           EXPECT_STATUS(
               run, larder_store_salvage(self->path, self->target, &options, NULL, NULL, &report),
               LARDER_OK) &&
           truth_verify(run, self->target, &options, salts);
    options.flags |= (uint32_t)LARDER_STORE_REBUILDS;
    // What the rebuilt one writes and cleans must be the whole truth again.
    for (int round = 0; round < 3 && good; round++) {
        good =
            truth_verify(run, self->path, &options, salts) &&
            EXPECT_STATUS(run, larder_store_open(self->path, &options, NULL, &store), LARDER_OK) &&
            truth_write(run, store, &random, salts);
        larder_store_close(store);
        (void)unlink(data);
    }
}

static void the_log_alone_is_the_whole_truth(torture *run, rng *random) {
    truth self = {.path = torture_path(run, "store"), .target = torture_path(run, "salvaged")};
    for (int round = 0; round < TRUTH_ROUNDS; round++) {
        torture_trial(run);
        self.seed = rng_next(random);
        remove_tree(self.path);
        remove_tree(self.target);
        (void)torture_guard(run, 30, write_and_lose_the_index, &self);
    }
    remove_tree(self.path);
    remove_tree(self.target);
}

// A power cut behind another ----------------------------------------------------------------------

/** Each write takes a sector, so that what lies behind one that was lost begins where a new one
    ends. */
enum {
    CUT_ROUNDS = 20,
    CUT_IMAGES = 8,
    CUT_WRITES = 24,
    CUT_SECTOR = 512,
    CUT_FIRST = CUT_SECTOR - 64,
    CUT_HEAD = 40
};

typedef struct twice {
    deed deed;
    disk *disk;
    rng random;
    /** How many of the first writes came through the first power cut, and how many were lost before
        the next one that is on the device: so many are written anew. */
    _Atomic uint32_t kept, anew;
    /** There is no room for another segment when it is opened behind the first one: the log goes on
        where it ended. */
    bool is_full;
    char root[600], vault[600], image[600], store[640];
} twice;

static void twice_boot(uint8_t which) {
    uint8_t boot[16] = {7, which};
    larder_fault_boot_id(boot);
}

static bool twice_open(torture *run, twice *self, const char *root, uint8_t boot, uint32_t flags) {
    twice_boot(boot);
    snprintf(self->store, sizeof self->store, "%s/store", root);
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
    return EXPECT_STATUS(run, larder_store_open(self->store, &options, NULL, &self->deed.store),
                         LARDER_OK);
}

static bool put_a_sector(torture *run, twice *self, uint32_t number, char letter, size_t bytes,
                         uint32_t flags) {
    char key[8], value[CUT_SECTOR];
    memset(value, letter, sizeof value);
    larder_store_item item;
    snprintf(key, sizeof key, "%03u", number % 1000);
    larder_store_item_init(&item, bytes_of(key, 3), bytes_of(value, bytes - CUT_HEAD));
    item.flags = flags;
    return EXPECT_STATUS(run, larder_store_put(self->deed.store, &item, NULL), LARDER_OK);
}

/** The letter under a key; 0 if there is nothing. */
static char letter_of(const twice *self, uint32_t number) {
    char key[8];
    larder_store_entry entry;
    snprintf(key, sizeof key, "%03u", number % 1000);
    larder_status status =
        larder_store_get(self->deed.store, bytes_of(key, 3), LARDER_STORE_PEEK, &entry);
    char letter =
        status == LARDER_OK && entry.value.length > 0 ? ((const char *)entry.value.data)[0] : 0;
    larder_store_release(&entry);
    return letter;
}

static void write_first(torture *run, void *context) {
    twice *self = context;
    disk_watch(self->disk, self->random, 0);
    bool good = twice_open(run, self, self->root, 1, 0) &&
                put_a_sector(run, self, 999, 'a', CUT_FIRST, LARDER_STORE_SYNCED);
    for (uint32_t i = 0; i < CUT_WRITES && good; i++) {
        good = put_a_sector(run, self, i, 'a', CUT_SECTOR, 0);
    }
    larder_store_statistics figures;
    (void)(good &&
           EXPECT_STATUS(run, larder_store_statistics_get(self->deed.store, &figures), LARDER_OK) &&
           EXPECT(run, figures.appended_bytes == CUT_FIRST + CUT_WRITES * CUT_SECTOR,
                  "%" PRIu64 " bytes are no sectors", figures.appended_bytes));
}

static void write_behind_cut(torture *run, void *context) {
    twice *self = context;
    disk_watch(self->disk, self->random, 0);
    larder_fault_set(self->is_full ? "fallocate" : NULL, 1, ENOSPC);
    bool is_open = twice_open(run, self, self->image, 2, 0);
    EXPECT(run, !self->is_full || larder_fault_passes() > 0, "no segment was to be made");
    larder_fault_set(NULL, 0, 0);
    if (!is_open) {
        return;
    }
    uint32_t kept = 0;
    while (kept < CUT_WRITES && letter_of(self, kept) == 'a') {
        kept++;
    }
    bool good = EXPECT(run, letter_of(self, 999) == 'a', "a synced write is lost");
    for (uint32_t i = kept; i < CUT_WRITES && good; i++) {
        good = EXPECT(run, letter_of(self, i) == 0, "write %u is there without %u", i, kept);
    }
    uint32_t anew = atomic_load(&self->anew);
    if (kept + anew > CUT_WRITES) {
        anew = CUT_WRITES - kept;
    }
    atomic_store(&self->kept, kept);
    atomic_store(&self->anew, anew);
    for (uint32_t i = 0; i < anew && good; i++) {
        good = put_a_sector(run, self, kept + i, 'b', CUT_SECTOR, 0);
    }
}

static void verify_behind_cuts(torture *run, void *context) {
    twice *self = context;
    if (!twice_open(run, self, self->root, 3, 0)) {
        return;
    }
    uint32_t kept = atomic_load(&self->kept), most = kept + atomic_load(&self->anew), at = kept;
    while (at < most && letter_of(self, at) == 'b') {
        at++;
    }
    for (uint32_t i = 0; i < CUT_WRITES; i++) {
        char wanted = (char)(i < kept ? 'a' : i < at ? 'b' : 0), found = letter_of(self, i);
        if (!EXPECT(run, found == wanted,
                    "write %u is '%c' behind two power cuts, not '%c'; %u came through the first, "
                    "and %u behind it through the second",
                    i, found ? found : '-', wanted ? wanted : '-', kept, at - kept)) {
            return;
        }
    }
}

/** Whether the image has a write behind one that is lost. */
static bool has_hole(twice *self) {
    static uint8_t bytes[(CUT_WRITES + 1) * CUT_SECTOR];
    char path[700];
    snprintf(path, sizeof path, "%s/store/log/00000001.seg", self->image);
    if (read_file(path, bytes, sizeof bytes) < (int64_t)sizeof bytes) {
        return false;
    }
    uint32_t lost = 1, next;
    while (lost <= CUT_WRITES && bytes[lost * CUT_SECTOR]) {
        lost++;
    }
    for (next = lost; next <= CUT_WRITES && !bytes[next * CUT_SECTOR]; next++) {
    }
    atomic_store(&self->anew, next - lost);
    return next <= CUT_WRITES;
}

static bool cut_twice(torture *run, twice *self, rng *random) {
    remove_tree(self->root);
    if (!EXPECT(run, make_directory(self->root) && disk_begin(self->disk, self->root, self->vault),
                "cannot begin a disk: %s", strerror(errno)) ||
        !torture_guard(run, 30, write_first, self)) {
        return false;
    }
    for (int i = 0; i == 0 || (i < 100 && !has_hole(self)); i++) {
        if (!EXPECT(run, disk_image(self->disk, random, DISK_SOME, self->image),
                    "cannot make an image: %s", strerror(errno))) {
            return false;
        }
    }
    if (!EXPECT(run, disk_begin(self->disk, self->image, self->vault), "cannot begin a disk: %s",
                strerror(errno)) ||
        !torture_guard(run, 30, write_behind_cut, self)) {
        return false;
    }
    for (int i = 0; i < CUT_IMAGES && torture_unhurt(run); i++) {
        torture_trial(run);
        atomic_fetch_add(&run->tally->images, 1);
        if (!EXPECT(run, disk_image(self->disk, random, DISK_SOME, self->root),
                    "cannot make an image: %s", strerror(errno)) ||
            !torture_guard(run, 30, verify_behind_cuts, self)) {
            return false;
        }
    }
    return torture_unhurt(run);
}

/** What lies behind the end of the log is gone before the log goes on, on the device too: else it
    comes back behind what is written in its place. */
static void what_a_power_cut_took_does_not_come_back(torture *run, rng *random) {
    twice *self = shared_memory(sizeof *self);
    self->disk = shared_memory(sizeof *self->disk);
    snprintf(self->root, sizeof self->root, "%s", torture_path(run, "disk"));
    snprintf(self->vault, sizeof self->vault, "%s", torture_path(run, "vault"));
    snprintf(self->image, sizeof self->image, "%s", torture_path(run, "image"));
    for (int round = 0; round < CUT_ROUNDS; round++) {
        torture_note(run, "a power cut behind another, round %d", round);
        self->random = rng_make(rng_next(random));
        self->is_full = round % 2 == 1;
        if (!cut_twice(run, self, random)) {
            break;
        }
    }
    remove_tree(self->root);
    remove_tree(self->vault);
    remove_tree(self->image);
}

// Damage before what a power cut tore off ---------------------------------------------------------

enum { TORN_WRITES = 6 };

typedef struct torn {
    twice twice;
    /** The write that is not on the device, of those behind the one that is damaged; TORN_WRITES
        if all are. */
    uint32_t lost;
    bool is_read_only;
} torn;

static void write_a_synced_one_and_more(torture *run, void *context) {
    torn *self = context;
    bool good = twice_open(run, &self->twice, self->twice.root, 1, 0) &&
                put_a_sector(run, &self->twice, 999, 'a', CUT_FIRST, LARDER_STORE_SYNCED);
    for (uint32_t i = 0; i < TORN_WRITES && good; i++) {
        good =
            put_a_sector(run, &self->twice, i, 'a', CUT_SECTOR, i == 0 ? LARDER_STORE_SYNCED : 0);
    }
}

/** As for who reads; the write that is damaged is a gap. Where it lies right before the hole,
    nobody can tell yet where the log goes on. */
static void a_feed_ends_there(torture *run, const torn *self) {
    larder_store_feed_options options = {.flags = LARDER_STORE_FEED_FROM_START};
    larder_store_feed *feed = NULL;
    larder_store_feed_event event;
    larder_status status;
    uint32_t writes = 0, gaps = 0;
    if (!EXPECT_STATUS(run, larder_store_feed_open(self->twice.deed.store, &options, &feed),
                       LARDER_OK)) {
        return;
    }
    while ((status = larder_store_feed_next(feed, &event)) == LARDER_OK) {
        writes += event.kind == LARDER_STORE_FEED_WRITE;
        gaps += event.kind == LARDER_STORE_FEED_GAP;
    }
    EXPECT(run, status == LARDER_END && writes == self->lost && gaps == (self->lost > 1),
           "a feed told %u writes and %u gaps, then gave %d; write %u is lost", writes, gaps,
           status, self->lost);
    larder_store_feed_close(feed);
}

/** Write 0 was synced and is damaged, which costs that one alone. But what was not synced ends
    where the first of it is missing, as ever. */
static void verify_torn(torture *run, void *context) {
    torn *self = context;
    twice *store = &self->twice;
    uint32_t flags = self->is_read_only ? LARDER_STORE_READ_ONLY : 0;
    if (!twice_open(run, store, store->root, 2, flags)) {
        return;
    }
    bool good = EXPECT(run, letter_of(store, 999) == 'a', "a synced write is lost");
    for (uint32_t i = 0; i < TORN_WRITES && good; i++) {
        bool wanted = i > 0 && i < self->lost, found = letter_of(store, i) != 0;
        good = EXPECT(run, found == wanted, "write %u is %s, and %u is not on the device", i,
                      found ? "there" : "lost", self->lost);
    }
    if (self->is_read_only && good) {
        a_feed_ends_there(run, self);
    }
    larder_store_close(store->deed.store);
}

static void a_hole_behind_damage_ends_the_log(torture *run) {
    static torn self;
    snprintf(self.twice.root, sizeof self.twice.root, "%s", torture_path(run, "disk"));
    for (uint32_t lost = 1; lost <= TORN_WRITES; lost++) {
        for (unsigned how = 0; how < 4; how++) {
            static uint8_t bytes[1 << 20];
            char path[700];
            torture_trial(run);
            torture_note(run, "a damaged write before a power cut, write %u lost, %u", lost, how);
            self.lost = lost;
            self.is_read_only = how & 1;
            remove_tree(self.twice.root);
            if (!EXPECT(run, make_directory(self.twice.root), "cannot make a folder: %s",
                        strerror(errno)) ||
                !torture_guard(run, 30, write_a_synced_one_and_more, &self)) {
                return;
            }
            snprintf(self.twice.store, sizeof self.twice.store, "%s/store", self.twice.root);
            snprintf(path, sizeof path, "%s/log/00000001.seg", self.twice.store);
            int64_t size = read_file(path, bytes, sizeof bytes);
            // A byte of its value, or its length.
            bytes[CUT_SECTOR + (how & 2 ? 200 : 0)] ^= 0x55;
            if (lost < TORN_WRITES) {
                memset(bytes + (size_t)(lost + 1) * CUT_SECTOR, 0, CUT_SECTOR);
            }
            if (!EXPECT(run, size > 0 && write_file(path, bytes, (size_t)size), "cannot change %s",
                        path) ||
                !torture_guard(run, 30, verify_torn, &self)) {
                return;
            }
        }
    }
    remove_tree(self.twice.root);
}

// Paths -------------------------------------------------------------------------------------------

/** Goes to the folder that `context` names, in the midst of a call. */
static int go_elsewhere(void *context, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return chdir(context);
}

static void a_store_opened_by_a_relative_path_is_found_from_every_folder(torture *run,
                                                                         void *context) {
    char *base = context;
    char one[800], two[800], inside[900], copy[900], saved[900];
    deed self = {.run = run, .path = "store", .letter = 'b'};
    snprintf(one, sizeof one, "%s/one", base);
    snprintf(two, sizeof two, "%s/two", base);
    snprintf(inside, sizeof inside, "%s/store", one);
    snprintf(copy, sizeof copy, "%s/copy", one);
    snprintf(saved, sizeof saved, "%s/saved", one);
    larder_store_report report;
    bool good =
        EXPECT(run,
               make_directory(base) && make_directory(one) && make_directory(two) &&
                   chdir(one) == 0,
               "cannot make folders: %s", strerror(errno)) &&
        EXPECT_STATUS(run, deed_open(&self), LARDER_OK) &&
        EXPECT_STATUS(run, put_large(&self, 'a', 0), LARDER_OK) && chdir(two) == 0 &&
        has_large(&self, 'a') &&
        EXPECT_STATUS(run, put_large(&self, 'b', LARDER_STORE_SYNCED), LARDER_OK) &&
        EXPECT_STATUS(run, larder_store_flush(self.store), LARDER_OK) && has_large(&self, 'b') &&
        EXPECT(run, count_segments(inside) >= 1 && access("store", F_OK) != 0,
               "%u segments are in the store", count_segments(inside)) &&
        chdir(one) == 0 &&
        EXPECT_STATUS(run, larder_store_backup(self.store, "copy", go_elsewhere, two), LARDER_OK) &&
        EXPECT(run, access(copy, F_OK) == 0, "the copy is elsewhere");
    larder_store_close(self.store);
    good =
        good && chdir(one) == 0 &&
        EXPECT_STATUS(run, larder_store_compact("store", NULL, NULL, go_elsewhere, two, NULL),
                      LARDER_OK) &&
        chdir(one) == 0 &&
        EXPECT_STATUS(run, larder_store_salvage("store", "saved", NULL, go_elsewhere, two, &report),
                      LARDER_OK) &&
        EXPECT(run, access(saved, F_OK) == 0 && report.intact == 1, "salvage found %" PRIu64,
               report.intact);
    const char *const paths[] = {inside, copy, saved};
    for (int i = 0; i < 3 && good; i++) {
        self.path = paths[i];
        good = EXPECT_STATUS(run, deed_open(&self), LARDER_OK) && has_large(&self, 'b');
        larder_store_close(self.store);
    }
}

/** What a handle does whose folder is not there any more, while another store is in its place. */
static void act_from_the_past(deed *old, int what) {
    switch (what) {
    case 0:
        for (int i = 0; i < ITEMS; i++) {
            (void)!put_large(old, 'x', 0);
        }
        return;
    case 1: (void)!larder_store_sync(old->store); return;
    case 2: (void)!larder_store_flush(old->store); return;
    case 3:
        (void)!larder_store_remove(old->store, bytes_of_text("large"), 0);
        (void)!larder_store_flush(old->store);
        return;
    case 4:
        (void)!larder_store_remove_all(old->store, NULL, NULL);
        (void)!larder_store_flush(old->store);
        (void)!larder_store_maintain(old->store);
        return;
    default:
        larder_store_close(old->store);
        old->store = NULL;
        return;
    }
}

static void a_handle_whose_folder_was_made_anew_leaves_the_new_store_alone(torture *run,
                                                                           void *context) {
    for (int what = 0; what < 12 && torture_unhurt(run); what++) {
        deed old = {.run = run, .path = context}, new = {.run = run, .path = context};
        bool flushes = what >= 6;
        remove_tree(old.path);
        torture_note(run, "a handle from the past does %d", what);
        bool good = EXPECT_STATUS(run, deed_open(&old), LARDER_OK) &&
                    EXPECT_STATUS(run, put_large(&old, 'a', 0), LARDER_OK) &&
                    (!flushes || EXPECT_STATUS(run, larder_store_flush(old.store), LARDER_OK));
        remove_tree(old.path);
        good = good && EXPECT_STATUS(run, deed_open(&new), LARDER_OK) &&
               EXPECT_STATUS(run, put_large(&new, 'b', LARDER_STORE_SYNCED), LARDER_OK);
        unsigned segments = count_segments(new.path);
        if (good) {
            act_from_the_past(&old, what % 6);
        }
        good = good && has_large(&new, 'b') &&
               EXPECT(run, count_segments(new.path) == segments,
                      "%u segments are in the new store, not %u", count_segments(new.path),
                      segments) &&
               EXPECT_STATUS(run, larder_store_flush(new.store), LARDER_OK) && has_large(&new, 'b');
        larder_store_close(old.store);
        good = good && has_large(&new, 'b');
        larder_store_close(new.store);
        new.store = NULL;
        good = good && EXPECT_STATUS(run, deed_open(&new), LARDER_OK) && has_large(&new, 'b');
        larder_store_close(new.store);
        if (!good) {
            return;
        }
    }
}

static void try_paths(torture *run) {
    char base[600];
    snprintf(base, sizeof base, "%s", torture_path(run, "paths"));
    torture_trial(run);
    remove_tree(base);
    (void)torture_guard(run, 30, a_store_opened_by_a_relative_path_is_found_from_every_folder,
                        base);
    remove_tree(base);
    torture_trial(run);
    (void)torture_guard(run, 30, a_handle_whose_folder_was_made_anew_leaves_the_new_store_alone,
                        base);
    remove_tree(base);
}

void family_store_promises(torture *run) {
    rng random;
    (void)torture_next_case(run, &random);
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)
    torture_trial(run);
    (void)torture_guard(run, 60, a_store_that_is_open_is_not_rebuilt,
                        (void *)(uintptr_t)torture_path(run, "store"));
    remove_tree(torture_path(run, "store"));
    an_open_without_descriptors_gives_up_nothing_that_was_left(run);
    try_syncs(run);
    try_paths(run);
    what_a_power_cut_took_does_not_come_back(run, &random);
    a_hole_behind_damage_ends_the_log(run);
    the_log_alone_is_the_whole_truth(run, &random);
#else
    torture_skip(run, "calls are not intercepted here");
#endif
}
