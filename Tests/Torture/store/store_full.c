// SPDX-License-Identifier: MIT
// Stores that fill a small file system of their own. Whatever the values' lengths, with a limit or
// without: they are filled, emptied in part and filled again, in rounds. No removal is refused, and
// a flush, a close and a compaction succeed; behind a flush at least four fifths of the bytes that
// were removed can be written again; check finds nothing; every value is the one that was written,
// also after opening again.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exhaustion.h"
#include "larder_store_feed.h"
#include "store.h"

#ifdef __linux__
enum { KEYS_MOST = 1 << 23, VALUE_MOST = 1 << 20, ROUNDS = 3, LIMIT_SECONDS = 300 };

/** Which entries a round removes. */
typedef enum pattern {
    PATTERN_RANDOM,
    PATTERN_EVERY_OTHER,
    PATTERN_OLDEST,
    PATTERN_NEWEST,
    PATTERN_PREFIX,
    PATTERNS
} pattern;

typedef struct full {
    torture *run;
    rng random;
    uint64_t disk_bytes;
    /** Lengths of values; different ones are spread evenly over the powers of two. */
    uint32_t shortest, longest;
    bool has_limit, has_index, has_deadlines, uses_threads, removes_in_batches;
    /** Another process looks at a state, and keeps it. */
    bool has_reader;
    /** A cursor of a feed that may keep all of the log. */
    bool has_cursor;
    char disk[640], path[700];
    larder_store *store;
    /** What each key holds, 0 for nothing: keys are numbered as they were first written. */
    uint64_t *salts;
    uint32_t count;
    uint8_t *value;
} full;

static size_t length_of(const full *self, uint64_t salt) {
    uint64_t spread = self->longest - self->shortest + 1;
    if (self->longest > 4 * self->shortest) {
        unsigned steps = 0;
        while (((uint64_t)self->shortest << (steps + 1)) <= self->longest) {
            steps++;
        }
        uint64_t from = (uint64_t)self->shortest << mix(salt) % (steps + 1);
        spread = from < self->longest - from ? from : self->longest - from + 1;
        return from + mix(salt + 1) % spread;
    }
    return self->shortest + mix(salt) % spread;
}

static larder_bytes key_of(uint32_t key, char room[64]) {
    // Neighbours lie far from each other.
    int length = snprintf(room, 64, "https://example.org/%08x/%u", (uint32_t)mix(key), key);
    return bytes_of(room, (size_t)length);
}

static larder_status open_store(full *self, uint32_t flags) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.mode = 0644;
    options.flags = flags | (self->uses_threads ? 0 : LARDER_STORE_HOST_MAINTENANCE);
    if (self->has_limit) {
        options.limits.bytes = self->disk_bytes / 2;
    }
    return larder_store_open(self->path, &options, NULL, &self->store);
}

static larder_status put(full *self, uint32_t key) {
    char room[64];
    uint64_t salt = rng_next(&self->random) | 1;
    size_t length = length_of(self, salt);
    message_fill(salt, self->value, length);
    larder_store_item item;
    larder_store_item_init(&item, key_of(key, room), bytes_of(self->value, length));
    larder_store_index_entry index = {BOOK_INDEX, bytes_of(&salt, sizeof salt)};
    item.indexes = &index;
    item.index_count = self->has_index ? 1 : 0;
    if (self->has_deadlines) {
        item.expires_ns = INT64_MAX / 2 + (int64_t)(salt >> 8);
    }
    larder_status status = larder_store_put(self->store, &item, NULL);
    if (status == LARDER_OK) {
        self->salts[key] = salt;
    }
    return status;
}

/** Puts keys until the disk is full, or `most` bytes were written. @return how many that were. */
static uint64_t fill(full *self, uint64_t most) {
    uint64_t bytes = 0;
    unsigned refused = 0;
    while (bytes < most && self->count < KEYS_MOST && torture_unhurt(self->run)) {
        uint32_t key = self->count;
        // Some replace what is there.
        if (self->count > 0 && rng_below(&self->random, 4) == 0) {
            key = (uint32_t)rng_below(&self->random, self->count);
        }
        bool is_new = self->salts[key] == 0;
        larder_status status = put(self, key);
        EXPECT(self->run, status == LARDER_OK || status == ENOSPC, "a put gave %d", status);
        // A shorter one may find room.
        if (status != LARDER_OK && ++refused == 3) {
            break;
        }
        if (status == LARDER_OK) {
            refused = 0;
            self->count += key == self->count;
            bytes += is_new || self->has_limit ? length_of(self, self->salts[key]) : 0;
        }
    }
    return bytes;
}

/** A named cursor is told everything up to the end, or how much is missing; some of it it
    acknowledges. */
static bool follow(full *self, const char *when) {
    larder_store_feed_options options = {.flags = LARDER_STORE_FEED_UNSYNCED,
                                         .name = bytes_of_text("cursor")};
    larder_store_feed *feed;
    larder_store_feed_event event;
    larder_store_token now;
    if (!EXPECT_STATUS(self->run, larder_store_feed_open(self->store, &options, &feed),
                       LARDER_OK) ||
        !EXPECT_STATUS(self->run, larder_store_token_now(self->store, &now), LARDER_OK)) {
        return false;
    }
    uint64_t last = 0, until = rng_below(&self->random, larder_store_token_sequence(&now) + 1);
    bool good = true, acknowledges = rng_below(&self->random, 3) == 0;
    larder_status status;
    while (good && (status = larder_store_feed_next(feed, &event)) == LARDER_OK) {
        uint64_t passed = event.kind == LARDER_STORE_FEED_WRITE ? 1 : event.missing;
        good = EXPECT(
            self->run,
            last == 0 || passed == LARDER_STORE_UNLIMITED || event.sequence == last + passed,
            "%s: a cursor at %" PRIu64 " is told of %" PRIu64 ", kind %d, %" PRIu64 " missing",
            when, last, event.sequence, event.kind, event.missing);
        last = event.sequence;
        if (good && acknowledges && last <= until) {
            good = EXPECT_STATUS(self->run, larder_store_feed_acknowledge(feed, &event.token, 0),
                                 LARDER_OK);
        }
    }
    larder_store_feed_close(feed);
    return good &&
           EXPECT(self->run,
                  status == LARDER_END && (last == 0 || last == larder_store_token_sequence(&now)),
                  "%s: a feed ends at %" PRIu64 " of %" PRIu64 " with %d", when, last,
                  larder_store_token_sequence(&now), status);
}

static bool verify(full *self, const char *when) {
    if (self->has_cursor && !follow(self, when)) {
        return false;
    }
    // Of many each few, from another one on each time.
    uint32_t step = self->count / 30000 + 1;
    for (uint32_t key = (uint32_t)rng_below(&self->random, step); key < self->count; key += step) {
        char room[64];
        larder_store_entry entry;
        uint64_t salt = self->salts[key];
        larder_status status =
            larder_store_get(self->store, key_of(key, room), LARDER_STORE_PEEK, &entry);
        bool is_right = status == LARDER_ENOTFOUND
                            ? salt == 0 || self->has_limit
                            : status == LARDER_OK && salt != 0 &&
                                  entry.value.length == length_of(self, salt) &&
                                  message_equals(salt, entry.value.data, entry.value.length);
        larder_store_release(&entry);
        if (!EXPECT(self->run, is_right, "%s: get of key %u gave %d, %s was stored", when, key,
                    status, salt ? "another value" : "nothing")) {
            return false;
        }
    }
    larder_store_report report;
    larder_status status = larder_store_check(self->store, NULL, NULL, &report);
    return EXPECT(self->run, status == LARDER_OK,
                  "%s: check gave %d, %" PRIu64 " inconsistencies, %" PRIu64 " damaged", when,
                  status, report.inconsistencies, report.damaged);
}

static uint64_t free_bytes(const full *self) {
    struct statvfs room = {0};
    (void)!statvfs(self->disk, &room);
    return (uint64_t)room.f_bavail * room.f_frsize;
}

/** Fails the trial where `status` is not LARDER_OK, and says how the disk is used. */
static bool succeeds(full *self, larder_status status, const char *what) {
    larder_store_statistics now = {0};
    if (status != LARDER_OK) {
        (void)!larder_store_statistics_get(self->store, &now);
    }
    return EXPECT(self->run, status == LARDER_OK,
                  "%s gave %d: %" PRIu64 " bytes are free, %" PRIu64 " writes wait, %" PRIu64
                  " segments have %" PRIu64 ", %" PRIu64 " of it live, the index %" PRIu64
                  ", %" PRIu64 " of it used; %" PRIu64 " flushes failed, the last with %d",
                  what, status, free_bytes(self), now.pending_count, now.segment_count,
                  now.log_used_bytes, now.log_live_bytes, now.data_bytes, now.data_used_bytes,
                  now.flush_failures, now.last_failure);
}

/** Takes a key out of the model. @return the bytes of its value. */
static uint64_t forget(full *self, uint32_t key) {
    uint64_t bytes = length_of(self, self->salts[key]);
    self->salts[key] = 0;
    return bytes;
}

static unsigned first_digit(uint32_t key) { return (uint32_t)mix(key) >> 28; }

static bool is_chosen(full *self, pattern which, unsigned percent, uint32_t key) {
    switch (which) {
    case PATTERN_EVERY_OTHER: return key % 2 == 0;
    case PATTERN_PREFIX: return first_digit(key) * 100 < 16 * percent;
    case PATTERN_OLDEST: return key < (uint64_t)self->count * percent / 100;
    case PATTERN_NEWEST: return key >= self->count - (uint64_t)self->count * percent / 100;
    default: return rng_below(&self->random, 100) < percent;
    }
}

/** The same as PATTERN_PREFIX for each of its digits. */
static bool remove_prefixes(full *self, unsigned percent) {
    bool good = true;
    for (unsigned digit = 0; digit * 100 < 16 * percent && good; digit++) {
        char prefix[64];
        int length = snprintf(prefix, sizeof prefix, "https://example.org/%x", digit);
        uint64_t removed;
        good = succeeds(
            self,
            larder_store_remove_prefix(self->store, bytes_of(prefix, (size_t)length), &removed),
            "a removal by prefix");
    }
    return good;
}

/** Removes part of the entries, beside a reader only as far as there is room.
    @return the bytes of their values. */
static uint64_t empty(full *self, pattern which, unsigned percent) {
    uint64_t bytes = 0;
    bool by_prefix = which == PATTERN_PREFIX && !self->has_reader;
    larder_store_batch *batch = NULL;
    unsigned waiting = 0;
    bool good = true;
    if (self->removes_in_batches && !self->has_reader && !by_prefix) {
        good = EXPECT_STATUS(self->run, larder_store_batch_create(self->store, &batch), LARDER_OK);
    }
    for (uint32_t key = 0; key < self->count && good; key++) {
        char room[64];
        larder_store_entry entry;
        larder_bytes name = key_of(key, room);
        if (self->salts[key] == 0 || !is_chosen(self, which, percent, key)) {
            continue;
        }
        bool is_there = !self->has_limit ||
                        larder_store_get(self->store, name, LARDER_STORE_PEEK, &entry) == LARDER_OK;
        if (self->has_limit && is_there) {
            larder_store_release(&entry);
        }
        if (batch == NULL && !by_prefix) {
            larder_status status = larder_store_remove(self->store, name, 0);
            if (status == ENOSPC && self->has_reader) {
                break;
            }
            good = succeeds(self, status, "a removal");
        } else if (batch != NULL) {
            good = EXPECT_STATUS(self->run, larder_store_batch_remove(batch, name), LARDER_OK);
            if (good && ++waiting % 20 == 0) {
                good = succeeds(self, larder_store_batch_commit(batch, 0, NULL), "a batch");
            }
        }
        uint64_t freed = forget(self, key);
        bytes += is_there ? freed : 0;
    }
    if (batch != NULL && good) {
        (void)succeeds(self, larder_store_batch_commit(batch, 0, NULL), "a batch");
    }
    larder_store_batch_destroy(batch);
    if (by_prefix && good) {
        (void)remove_prefixes(self, percent);
    }
    return bytes;
}

/** Looks at the store as it is, until `end` is closed. */
static void look(full *self, int begun, int end) {
    larder_store_cursor *cursor = NULL;
    larder_store_query every;
    larder_store_entry entry;
    char byte = 0;
    self->store = NULL;
    larder_store_query_init(&every);
    larder_status status = open_store(self, LARDER_STORE_READ_ONLY);
    status = status ? status : larder_store_cursor_open(self->store, &every, &cursor);
    status = status ? status : larder_store_cursor_next(cursor, &entry);
    bool is_well = status == LARDER_OK || status == LARDER_END;
    (void)!write(begun, &byte, is_well);
    close(begun);
    (void)!read(end, &byte, 1);
    larder_store_cursor_close(cursor);
    larder_store_close(self->store);
    _exit(is_well ? 0 : 1);
}

/** As `empty`, while another process keeps a snapshot: then nothing comes free, and at some point
    no removal has room. Behind it a flush finds room again. */
static uint64_t empty_beside_reader(full *self, pattern which, unsigned percent) {
    int begun[2], end[2];
    char byte;
    if (!EXPECT(self->run, pipe(begun) == 0 && pipe(end) == 0, "there is no pipe")) {
        return 0;
    }
    pid_t child = fork();
    if (child == 0) {
        close(end[1]);
        look(self, begun[1], end[0]);
    }
    close(begun[1]);
    close(end[0]);
    bool looks = read(begun[0], &byte, 1) == 1;
    EXPECT(self->run, child > 0 && looks, "a reader does not begin");
    self->has_reader = true;
    uint64_t bytes = empty(self, which, percent);
    self->has_reader = false;
    if (rng_below(&self->random, 2) == 0 && child > 0) {
        (void)kill(child, SIGKILL);
    }
    close(end[1]);
    close(begun[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    (void)succeeds(self, larder_store_flush(self->store), "a flush behind a reader");
    return bytes;
}

static bool reopen(full *self, bool compacts) {
    bool good = EXPECT_STATUS(self->run, larder_store_shutdown(self->store), LARDER_OK);
    larder_store_close(self->store);
    self->store = NULL;
    if (good && compacts) {
        good = EXPECT_STATUS(
            self->run, larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
    }
    return good && EXPECT_STATUS(self->run, open_store(self, 0), LARDER_OK);
}

static uint64_t more_than(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

/** Removes a part, and writes as much again. */
static bool round_of(full *self) {
    pattern which = (pattern)rng_below(&self->random, PATTERNS);
    unsigned percent = 5 + (unsigned)rng_below(&self->random, 91);
    torture_note(self->run,
                 "removing %u %% in pattern %u, values of %u to %u, limit %d, disk %" PRIu64
                 " index %d due %d",
                 percent, (unsigned)which, self->shortest, self->longest, self->has_limit,
                 self->disk_bytes >> 20, self->has_index, self->has_deadlines);
    if (rng_below(&self->random, 3) == 0 && !reopen(self, false)) {
        return false;
    }
    larder_store_statistics before = {0}, now = {0};
    (void)!larder_store_statistics_get(self->store, &before);
    uint64_t removed = 0;
    if (rng_below(&self->random, 4) == 0) {
        removed = empty_beside_reader(self, which, percent);
    }
    removed += empty(self, which, percent);
    if (!torture_unhurt(self->run) || !succeeds(self, larder_store_flush(self->store), "a flush") ||
        !verify(self, "emptied in part") ||
        (rng_below(&self->random, 3) == 0 && !reopen(self, rng_below(&self->random, 2) == 0))) {
        return false;
    }
    torture_note(self->run, "filling again");
    uint64_t written = fill(self, removed);
    (void)!larder_store_statistics_get(self->store, &now);
    // The index keeps what it has taken, and its pages may be less full: that is not the removals'
    // room.
    uint64_t grown = more_than(now.data_bytes, before.data_bytes);
    uint64_t fuller = more_than(now.data_used_bytes, before.data_used_bytes);
    grown = grown > fuller ? grown : fuller;
    // Nor is there room for a part of a value.
    grown += 2 * (uint64_t)self->longest;
    return torture_unhurt(self->run) &&
           EXPECT(self->run, written + grown >= removed / 5 * 4,
                  "%" PRIu64 " bytes were removed (%u %%, pattern %u), %" PRIu64
                  " could be written again; %" PRIu64 " are free, the log has %" PRIu64
                  " of which %" PRIu64 " live, the index %" PRIu64 ", before %" PRIu64 "; %" PRIu64
                  " flushes failed, the last with %d",
                  removed, percent, (unsigned)which, written, free_bytes(self), now.log_used_bytes,
                  now.log_live_bytes, now.data_bytes, before.data_bytes, now.flush_failures,
                  now.last_failure) &&
           verify(self, "filled again");
}

/** What is there from here on, nobody keeps. */
static bool lose_cursor(full *self) {
    if (!self->has_cursor) return true;
    self->has_cursor = false;
    return EXPECT_STATUS(self->run,
                         larder_store_feed_cursor_remove(self->store, bytes_of_text("cursor")),
                         LARDER_OK);
}

static bool end(full *self) {
    torture_note(self->run, "removing everything");
    if (rng_below(&self->random, 2) == 0) {
        (void)empty(self, PATTERN_RANDOM, 100);
    } else {
        (void)EXPECT_STATUS(self->run, larder_store_remove_all(self->store, NULL, NULL), LARDER_OK);
        memset(self->salts, 0, self->count * sizeof *self->salts);
    }
    if (!torture_unhurt(self->run) || !verify(self, "removed") || !lose_cursor(self) ||
        !succeeds(self, larder_store_flush(self->store), "a flush") || !verify(self, "emptied") ||
        !reopen(self, true) || !verify(self, "compacted")) {
        return false;
    }
    // The index keeps what it has, for later entries.
    larder_store_statistics now = {0};
    (void)!larder_store_statistics_get(self->store, &now);
    uint64_t left = free_bytes(self) + now.data_bytes;
    return EXPECT(self->run, left + (2 << 20) > self->disk_bytes,
                  "an empty store leaves %" PRIu64 " of %" PRIu64 " bytes", left, self->disk_bytes);
}

static void history(torture *run, void *context) {
    full own = *(const full *)context, *self = &own;
    char size[32];
    snprintf(size, sizeof size, "size=%" PRIu64, self->disk_bytes);
    if (!mount_small_disk(self->disk, size)) {
        torture_skip(run, "full disks: mounting small ones needs root or user namespaces");
        return;
    }
    self->salts = calloc(KEYS_MOST, sizeof *self->salts);
    self->value = malloc(VALUE_MOST + 1);
    torture_note(run, "filling a disk of %" PRIu64 " bytes with values of %u to %u%s",
                 self->disk_bytes, self->shortest, self->longest,
                 self->has_limit ? ", under a limit" : "");
    if (!EXPECT_STATUS(run, open_store(self, 0), LARDER_OK)) {
        return;
    }
    bool good = !self->has_cursor || follow(self, "empty");
    fill(self, self->has_limit ? self->disk_bytes + self->disk_bytes / 2 : UINT64_MAX);
    good = good && torture_unhurt(run) && verify(self, "full");
    for (unsigned i = 0; i < ROUNDS && good; i++) {
        good = round_of(self);
    }
    good = good && reopen(self, false) && verify(self, "opened again") && end(self);
    larder_store_close(self->store);
}

// Writing ----------------------------------------------------------------------------------------

/** The fuller the disk, the more has to be read for what it frees: a write is refused before it
    reads much of the log for next to nothing. */
static void refuses_soon(torture *run, void *context) {
    full own = *(const full *)context, *self = &own;
    larder_store_statistics now = {0};
    uint64_t cleaned = 0, most = 0, free = 0;
    if (!mount_small_disk(self->disk, "size=40m")) {
        torture_skip(run, "full disks: mounting small ones needs root or user namespaces");
        return;
    }
    torture_note(run, "writing on a full disk");
    // Not every history comes to where there is next to nothing to free.
    self->random = rng_make(1);
    self->salts = calloc(KEYS_MOST, sizeof *self->salts);
    self->value = malloc(VALUE_MOST + 1);
    self->shortest = self->longest = 1000;
    self->has_limit = self->has_index = self->has_deadlines = self->uses_threads = false;
    if (!EXPECT_STATUS(run, open_store(self, 0), LARDER_OK)) {
        return;
    }
    for (unsigned refused = 0; refused < 3 && torture_unhurt(run);) {
        bool is_new = self->count == 0 || rng_below(&self->random, 4) != 0;
        uint32_t key = is_new ? self->count : (uint32_t)rng_below(&self->random, self->count);
        larder_status status = put(self, key);
        EXPECT(run, status == LARDER_OK || status == ENOSPC, "a put gave %d", status);
        self->count += status == LARDER_OK && is_new;
        refused = status == LARDER_OK ? 0 : refused + 1;
        // Only what takes or frees room has cleaned.
        if (free_bytes(self) == free && status == LARDER_OK) {
            continue;
        }
        free = free_bytes(self);
        EXPECT_STATUS(run, larder_store_statistics_get(self->store, &now), LARDER_OK);
        most = now.cleaned_bytes - cleaned > most ? now.cleaned_bytes - cleaned : most;
        cleaned = now.cleaned_bytes;
    }
    EXPECT(run, most < now.log_used_bytes / 5,
           "a write has copied %" PRIu64 " bytes of a log of %" PRIu64, most, now.log_used_bytes);
    larder_store_close(self->store);
}

// Reading ----------------------------------------------------------------------------------------

enum { FEW = 10 };

/** Reads what `put_few` wrote with that salt; the last error in `other`. */
static unsigned read_few(larder_store *store, uint64_t salt, larder_status *other) {
    unsigned found = 0;
    for (uint32_t key = 0; key < FEW; key++) {
        char room[64];
        larder_store_entry entry;
        larder_status status = larder_store_get(store, key_of(key, room), 0, &entry);
        bool is_right = status == LARDER_OK && entry.value.length == 40 &&
                        message_equals(salt + key, entry.value.data, 40);
        found += is_right;
        if (!is_right) {
            *other = status;
        }
        larder_store_release(&entry);
    }
    return found;
}

static bool put_few(full *self, uint64_t salt) {
    bool good = true;
    for (uint32_t key = 0; key < FEW && good; key++) {
        char room[64];
        uint8_t value[40];
        message_fill(salt + key, value, sizeof value);
        larder_store_item item;
        larder_store_item_init(&item, key_of(key, room), bytes_of(value, sizeof value));
        good = EXPECT_STATUS(self->run, larder_store_put(self->store, &item, NULL), LARDER_OK);
    }
    return good;
}

/** Writes and removes until each page and each segment has been used again. */
static bool goes_on(full *self, uint64_t salt) {
    bool good = true;
    for (unsigned n = 0; n < 12 && good; n++) {
        for (self->count = FEW; self->count < 600 && good; self->count++) {
            good = EXPECT_STATUS(self->run, put(self, self->count), LARDER_OK);
        }
        good = good && put_few(self, salt) &&
               EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK);
    }
    return good;
}

/** Another process writes with that salt, and goes on for a while. */
static bool writes_elsewhere(full *self, uint64_t salt) {
    pid_t child = fork();
    if (child == 0) {
        bool is_well =
            EXPECT_STATUS(self->run, open_store(self, 0), LARDER_OK) && goes_on(self, salt);
        larder_store_close(self->store);
        _exit(is_well ? 0 : 1);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return EXPECT(self->run, child > 0 && status == 0, "a writer ended with %d", status);
}

/** Reads beside writers, without a place in LMDB's table. What a cursor looks at they use again,
    and it says so. */
static void reads_unprotected(full *self) {
    torture *run = self->run;
    larder_status other = LARDER_OK;
    larder_store *reader = self->store;
    larder_store_cursor *cursor;
    larder_store_entry entry;
    larder_store_query every;
    larder_store_query_init(&every);
    if (!writes_elsewhere(self, 100) ||
        !EXPECT(run, read_few(reader, 100, &other) == FEW, "behind a writer, gets give %d",
                other) ||
        !EXPECT_STATUS(run, larder_store_cursor_open(reader, &every, &cursor), LARDER_OK)) {
        return;
    }
    (void)(EXPECT_STATUS(run, larder_store_cursor_next(cursor, &entry), LARDER_OK) &&
           writes_elsewhere(self, 200) &&
           EXPECT_STATUS(run, larder_store_cursor_next(cursor, &entry), LARDER_EBUSY) &&
           EXPECT(run, read_few(reader, 200, &other) == FEW, "behind two, gets give %d", other));
    larder_store_cursor_close(cursor);
}

/** A few entries in a store that nobody has read yet. */
static bool young_store(full *self) {
    self->salts = calloc(KEYS_MOST, sizeof *self->salts);
    self->value = malloc(VALUE_MOST + 1);
    self->shortest = self->longest = 500;
    self->has_limit = self->has_index = self->has_deadlines = self->uses_threads = false;
    bool good = EXPECT_STATUS(self->run, open_store(self, 0), LARDER_OK) && put_few(self, 1);
    larder_store_close(self->store);
    return good;
}

/** A reader needs no file of its own, and makes none. */
static bool opens_to_read(full *self) {
    char table[800];
    larder_status other = LARDER_OK;
    snprintf(table, sizeof table, "%s/lock.mdb", self->path);
    return EXPECT_STATUS(self->run, open_store(self, LARDER_STORE_READ_ONLY), LARDER_OK) &&
           EXPECT(self->run, read_few(self->store, 1, &other) == FEW, "gets give %d", other) &&
           EXPECT(self->run, size_of_file(table) < 0, "a reader has made a file");
}

static void reads_on_full_disk(torture *run, void *context) {
    full own = *(const full *)context, *self = &own;
    const char *filler = torture_path(run, "disk/filler");
    if (!mount_small_disk(self->disk, "size=4m")) {
        torture_skip(run, "full disks: mounting small ones needs root or user namespaces");
        return;
    }
    torture_note(run, "reading on a full disk");
    if (!young_store(self)) {
        return;
    }
    fill_disk(filler);
    bool good = opens_to_read(self);
    (void)unlink(filler);
    if (good) {
        reads_unprotected(self);
    }
    larder_store_close(self->store);
}

static void reads_without_permission(torture *run, void *context) {
    full own = *(const full *)context, *self = &own;
    // Where a stranger can go to.
    char folder[] = "/tmp/larder-torture-read.XXXXXX";
    if (geteuid() != 0 || !mkdtemp(folder)) {
        torture_skip(run, "reading without permission to write: needs root");
        return;
    }
    torture_note(run, "reading without permission to write");
    snprintf(self->path, sizeof self->path, "%s/store", folder);
    bool good =
        chmod(folder, 0755) == 0 && young_store(self) && seteuid(65534) == 0 && opens_to_read(self);
    if (seteuid(0) == 0 && good) {
        reads_unprotected(self);
    }
    larder_store_close(self->store);
    remove_tree(folder);
}

// Compaction --------------------------------------------------------------------------------------

/** A value that was removed gives its room back to a compaction, however few records there are. */
static void frees_what_is_dead(torture *run, void *context) {
    static const size_t lengths[] = {30000, 33000, 200000, VALUE_MOST};
    full own = *(const full *)context, *self = &own;
    self->value = calloc(1, VALUE_MOST);
    torture_note(run, "compacting what was removed");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char room[64];
        larder_store_item item;
        larder_store_statistics now = {0};
        snprintf(self->path, sizeof self->path, "%s", torture_path(run, "compacted"));
        remove_tree(self->path);
        larder_store_item_init(&item, key_of(1, room), bytes_of(self->value, lengths[i]));
        bool good = EXPECT_STATUS(run, open_store(self, 0), LARDER_OK) &&
                    EXPECT_STATUS(run, larder_store_put(self->store, &item, NULL), LARDER_OK) &&
                    EXPECT_STATUS(run, larder_store_remove(self->store, item.key, 0), LARDER_OK) &&
                    reopen(self, true) &&
                    EXPECT_STATUS(run, larder_store_statistics_get(self->store, &now), LARDER_OK) &&
                    EXPECT(run, now.log_used_bytes < 1000, "%" PRIu64 " of %zu bytes are left",
                           now.log_used_bytes, lengths[i]);
        larder_store_close(self->store);
        if (!good) {
            return;
        }
    }
    remove_tree(self->path);
}

// Snapshots ---------------------------------------------------------------------------------------

static larder_bytes short_key(uint32_t number, char room[64]) {
    return bytes_of(room, (size_t)snprintf(room, 64, "%08x", number));
}

/** The bytes of the longest file in the log. */
static uint64_t longest_segment(const full *self) {
    uint64_t longest = 0;
    for (uint32_t number = 1; number < 2000; number++) {
        char path[800];
        struct stat facts;
        snprintf(path, sizeof path, "%s/log/%08x.seg", self->path, number);
        if (stat(path, &facts) == 0 && (uint64_t)facts.st_size > longest) {
            longest = (uint64_t)facts.st_size;
        }
    }
    return longest;
}

/** Small values in long segments: beside a snapshot they are removed from the middle on, until that
    is refused. What is left then suffices to copy any one segment; so once the snapshot is gone,
    everything can be removed. */
static void removes_behind_snapshot(torture *run, void *context) {
    full own = *(const full *)context, *self = &own;
    larder_store_cursor *cursor;
    larder_store_query every;
    larder_store_entry entry;
    char room[64];
    uint32_t count = 0;
    larder_status status = LARDER_OK;
    if (!mount_small_disk(self->disk, "size=20m")) {
        torture_skip(run, "full disks: mounting small ones needs root or user namespaces");
        return;
    }
    torture_note(run, "removing everything behind a snapshot");
    self->has_limit = self->uses_threads = false;
    if (!EXPECT_STATUS(run, open_store(self, 0), LARDER_OK)) {
        return;
    }
    for (; status == LARDER_OK; count += status == LARDER_OK) {
        larder_store_item item;
        larder_store_item_init(&item, short_key(count, room), bytes_of("twenty bytes of this", 20));
        status = larder_store_put(self->store, &item, NULL);
    }
    larder_store_query_init(&every);
    if (!EXPECT_STATUS(run, status, ENOSPC) ||
        !EXPECT_STATUS(run, larder_store_cursor_open(self->store, &every, &cursor), LARDER_OK)) {
        return;
    }
    (void)EXPECT_STATUS(run, larder_store_cursor_next(cursor, &entry), LARDER_OK);
    status = LARDER_OK;
    for (uint32_t number = 11000; number < count && status == LARDER_OK; number++) {
        status = larder_store_remove(self->store, short_key(number, room), 0);
    }
    (void)EXPECT_STATUS(run, status, ENOSPC);
    EXPECT(run, free_bytes(self) > longest_segment(self),
           "%" PRIu64 " bytes are left, a segment has %" PRIu64, free_bytes(self),
           longest_segment(self));
    larder_store_cursor_close(cursor);
    bool good = succeeds(self, larder_store_flush(self->store), "a flush behind a snapshot");
    for (uint32_t number = 0; number < count && good; number++) {
        good = succeeds(self, larder_store_remove(self->store, short_key(number, room), 0),
                        "a removal behind a snapshot");
    }
    if (good) {
        (void)succeeds(self, larder_store_flush(self->store), "a flush");
    }
    larder_store_close(self->store);
}

static void draw(full *self, torture *run) {
    static const uint32_t lengths[] = {100, 1000, 5000, 30000, 70000, 300000, VALUE_MOST};
    static const uint32_t megabytes[] = {17, 40, 64, 256};
    rng *random = &self->random;
    self->disk_bytes = (uint64_t)megabytes[rng_below(random, run->brief ? 1 : 4)] << 20;
    self->shortest = self->longest = lengths[rng_below(random, 7)];
    if (rng_below(random, 3) == 0) {
        self->shortest = 100;
    }
    self->has_limit = rng_below(random, 2) == 0;
    self->has_index = rng_below(random, 4) == 0;
    self->has_deadlines = rng_below(random, 4) == 0;
    self->uses_threads = rng_below(random, 2) == 0;
    self->has_cursor = rng_below(random, 2) == 0;
    self->removes_in_batches = rng_below(random, 4) == 0;
}
#endif

void family_store_full(torture *run) {
#ifdef __linux__
    static void (*const first[])(torture *, void *) = {reads_on_full_disk, reads_without_permission,
                                                       frees_what_is_dead, removes_behind_snapshot,
                                                       refuses_soon};
    full drawn = {.run = run}, *self = &drawn;
    for (uint64_t n = 0; torture_next_case(run, &self->random); n++) {
        snprintf(self->disk, sizeof self->disk, "%s", torture_path(run, "disk"));
        snprintf(self->path, sizeof self->path, "%s", torture_path(run, "disk/store"));
        for (unsigned i = 0; n == 0 && i < sizeof first / sizeof *first; i++) {
            torture_trial(run);
            torture_guard(run, LIMIT_SECONDS, first[i], self);
        }
        torture_trial(run);
        draw(self, run);
        torture_guard(run, LIMIT_SECONDS, history, self);
    }
#else
    torture_skip(run, "full disks: there is no small file system to be had here");
#endif
}
