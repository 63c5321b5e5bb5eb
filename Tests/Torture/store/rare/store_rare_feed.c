// SPDX-License-Identifier: MIT
// Feeds in what is rare. Named cursors that are made while a checkpoint deletes: from then on
// nothing goes that lies behind them, nor what hides something that stays for them. A log of which
// only the next segment is left, to which nothing was written yet. And one whose next segment goes,
// and another gets its number, while a feed looks where it goes on.
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "larder_store_feed.h"
#include "store_rare.h"
// The library has one of that name, too.
#define record_bytes bytes_of_record
#include "handle/handle.h"

enum { KEYS = 300, STEPS = 2400, HISTORIES = 20, SPACE_PERCENT = 250 };

/** What a feed tells up to its end: how many writes, the last one, and how many are missing. */
typedef struct tale {
    uint64_t writes, last, missing;
} tale;

/** One history: what is under each key, 0 for nothing; and who comes late. */
typedef struct history {
    torture *run;
    const char *path, *other;
    uint64_t held[KEYS];
    uint64_t writes;
    larder_store *reader;
    larder_store_feed *feed;
    /** After so many deletions the cursor is made, and what a feed tells then. */
    size_t comes_at;
    tale there;
} history;

/** Keys are put and removed, one after the other but for some, with a checkpoint now and then: so
    removals are copied while what they hide is still there. */
static bool write_on(history *self, rng *random) {
    torture *run = self->run;
    larder_store *store;
    char value[120];
    if (!EXPECT_STATUS(run, opened_small(self->path, 0, SPACE_PERCENT, &store), LARDER_OK))
        return false;
    const uint64_t window = rng_between(random, 4, 40);
    larder_status status = LARDER_OK;
    for (unsigned step = 0; step < STEPS && !status; step++) {
        unsigned key = step * KEYS / STEPS + (unsigned)rng_below(random, window);
        if (key >= KEYS || rng_one_in(random, 4)) key = (unsigned)rng_below(random, KEYS);
        if (rng_one_in(random, 3)) {
            status = larder_store_remove(store, rare_key(key), 0);
            self->held[key] = 0;
        } else {
            snprintf(value, sizeof value, "%0*" PRIu64, (int)rng_between(random, 20, 110),
                     self->writes + 1);
            status = rare_put(store, key, value);
            self->held[key] = self->writes + 1;
        }
        self->writes++;
        if (!status && rng_one_in(random, 60)) status = larder_store_flush(store);
    }
    larder_store_close(store);
    return EXPECT_STATUS(run, status, LARDER_OK);
}

static tale told_by(torture *run, larder_store_feed *feed) {
    larder_store_feed_event event;
    larder_status status;
    tale out = {0};
    while ((status = larder_store_feed_next(feed, &event)) == LARDER_OK) {
        out.writes += event.kind == LARDER_STORE_FEED_WRITE;
        out.missing += event.missing;
        out.last = event.sequence;
    }
    GIVES(status, LARDER_END);
    return out;
}

/** What compaction calls before each deletion. */
static int come_late(void *context, uint64_t done, uint64_t total) {
    history *self = context;
    torture *run = self->run;
    larder_store_feed *now = NULL;
    larder_store_feed_options options = {.flags = LARDER_STORE_FEED_FROM_START};
    (void)total;
    if (self->feed != NULL || done != self->comes_at) return 0;
    GIVES(opened_small(self->path, LARDER_STORE_READ_ONLY, SPACE_PERCENT, &self->reader),
          LARDER_OK);
    if (self->reader == NULL) return 0;
    GIVES(larder_store_feed_open(self->reader, &options, &now), LARDER_OK);
    self->there = told_by(run, now);
    larder_store_feed_close(now);
    options.flags |= LARDER_STORE_FEED_UNSYNCED;
    options.name = bytes_of_text("late");
    GIVES(larder_store_feed_open(self->reader, &options, &self->feed), LARDER_OK);
    return 0;
}

/** It is told whatever was there when it was made. */
static void is_told_all(history *self) {
    torture *run = self->run;
    tale found = told_by(run, self->feed);
    EXPECT(run,
           found.writes == self->there.writes && found.missing == self->there.missing &&
               found.last == self->there.last,
           "a late cursor is told %" PRIu64 " writes up to %" PRIu64 ", with %" PRIu64
           " missing; there were %" PRIu64 " up to %" PRIu64 ", with %" PRIu64,
           found.writes, found.last, found.missing, self->there.writes, self->there.last,
           self->there.missing);
}

/** The log alone says what there is. */
static void is_whole(history *self) {
    torture *run = self->run;
    larder_store *store;
    larder_store_report report;
    (void)unlink(inside(self->path, "data.mdb"));
    GIVES(larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_OK);
    if (!EXPECT_STATUS(run, opened_small(self->path, 0, SPACE_PERCENT, &store), LARDER_OK)) return;
    for (unsigned key = 0; key < KEYS; key++) {
        larder_store_entry entry;
        larder_status status = larder_store_get(store, rare_key(key), 0, &entry);
        EXPECT(run,
               self->held[key] == 0 ? status == LARDER_ENOTFOUND
                                    : !status && entry.sequence == self->held[key],
               "key %u, of write %" PRIu64 ", gave %d, write %" PRIu64, key, self->held[key],
               status, entry.sequence);
        larder_store_release(&entry);
    }
    larder_store_close(store);
}

void late_cursors(torture *run, void *context) {
    const rare *place = context;
    for (unsigned n = 0; n < HISTORIES && torture_unhurt(run); n++) {
        rng random = rng_make(mix2(run->seed, n));
        history self = {.run = run, .path = place->path, .comes_at = n % 3 / 2};
        torture_note(run, "a cursor made behind %zu deletions, history %u", self.comes_at, n);
        remove_tree(place->path);
        if (!write_on(&self, &random)) return;
        GIVES(larder_store_compact(place->path, NULL, NULL, come_late, &self, NULL), LARDER_OK);
        if (!EXPECT(run, self.feed != NULL, "nothing was deleted")) return;
        is_told_all(&self);
        larder_store_feed_close(self.feed);
        larder_store_close(self.reader);
        is_whole(&self);
    }
}

// Cursors that pass what is being deleted ---------------------------------------------------------

enum { FEED_FILE_BYTES = 4096 };

/** Tells `count` events at most.
    @param last receives the last token. */
static uint64_t tell(torture *run, larder_store_feed *feed, uint64_t count,
                     larder_store_token *last) {
    larder_store_feed_event event;
    uint64_t told = 0;
    larder_status status = LARDER_OK;
    while (told < count && (status = larder_store_feed_next(feed, &event)) == LARDER_OK) {
        EXPECT(run, event.kind == LARDER_STORE_FEED_WRITE, "it told of %d", (int)event.kind);
        *last = event.token;
        told++;
    }
    EXPECT(run, !status || status == LARDER_END, "a feed gave %d", status);
    return told;
}

/** What the device has of the cursor when the first segment is gone. */
static uint8_t synced_feed[FEED_FILE_BYTES];

/** Behind the first deletion the cursor passes everything, which is not on the device. What a
    checkpoint beyond that one deletes comes behind another sync. */
static int pass_meanwhile(void *context, uint64_t done, uint64_t total) {
    history *self = context;
    larder_store_token last;
    (void)total;
    if (done == 0 && self->comes_at > 0) return copy_tree(self->path, self->other) ? 1 : 2;
    self->comes_at = (size_t)done;
    if (done != 1) return 0;
    torture *run = self->run;
    EXPECT(run,
           read_file(inside(self->path, "feed"), synced_feed, FEED_FILE_BYTES) == FEED_FILE_BYTES,
           "there is no file of cursors");
    (void)tell(run, self->feed, UINT64_MAX, &last);
    GIVES(larder_store_feed_acknowledge(self->feed, &last, 0), LARDER_OK);
    return 0;
}

/** A power cut sets the cursor back to where it was synced, and nothing is missing behind that. */
void passing_cursors(torture *run, void *context) {
    const rare *place = context;
    rng random = rng_make(run->seed);
    history self = {.run = run, .path = place->path, .other = place->other};
    larder_store_feed_options options = {.flags = LARDER_STORE_FEED_UNSYNCED |
                                                  LARDER_STORE_FEED_FROM_START,
                                         .name = bytes_of_text("passes"),
                                         .max_lag_bytes = UINT64_C(1) << 40};
    larder_store_token half;
    torture_note(run, "a cursor that passes what is being deleted");
    GIVES(opened_small(place->path, 0, SPACE_PERCENT, &self.reader), LARDER_OK);
    if (self.reader == NULL) return;
    GIVES(larder_store_feed_open(self.reader, &options, &self.feed), LARDER_OK);
    larder_store_feed_close(self.feed);
    larder_store_close(self.reader);
    if (!write_on(&self, &random)) return;
    GIVES(opened_small(place->path, LARDER_STORE_READ_ONLY, SPACE_PERCENT, &self.reader),
          LARDER_OK);
    if (self.reader == NULL) return;
    GIVES(larder_store_feed_open(self.reader, &options, &self.feed), LARDER_OK);
    (void)tell(run, self.feed, STEPS / 2, &half);
    GIVES(larder_store_feed_acknowledge(self.feed, &half, 0), LARDER_OK);
    GIVES(larder_store_compact(place->path, NULL, NULL, pass_meanwhile, &self, NULL), ECANCELED);
    EXPECT(run, self.comes_at > 2, "%zu segments were deleted", self.comes_at);
    larder_store_feed_close(self.feed);
    larder_store_close(self.reader);
    EXPECT(run, write_file(inside(place->other, "feed"), synced_feed, FEED_FILE_BYTES),
           "it cannot be set back");
    GIVES(opened_small(place->other, LARDER_STORE_READ_ONLY, SPACE_PERCENT, &self.reader),
          LARDER_OK);
    if (self.reader == NULL) return;
    GIVES(larder_store_feed_open(self.reader, &options, &self.feed), LARDER_OK);
    uint64_t left = tell(run, self.feed, UINT64_MAX, &half);
    EXPECT(run, left == STEPS - STEPS / 2, "%" PRIu64 " writes are told", left);
    larder_store_feed_close(self.feed);
    larder_store_close(self.reader);
}

// A log that ends with an empty segment -----------------------------------------------------------

/** In a process of its own: the next segment is made in advance, and is entered by a write that the
    process dies in, behind those that filled the ones before. */
static void die_between(torture *run, const char *path, unsigned filled) {
    enum { BEFORE = 8, IN_EACH = 11, MORE = 2, LONG = 3000 };
    const unsigned before = (filled - 1) * IN_EACH + BEFORE;
    int ended = 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char value[256];
        uint8_t *target;
        larder_store *store;
        memset(value, 'v', sizeof value - 1);
        value[sizeof value - 1] = 0;
        larder_status status = opened_small(path, 0, SPACE_PERCENT, &store);
        // Those of the first of several stay.
        for (unsigned n = 0; n < before && !status; n++)
            status = rare_put(store, n < before - BEFORE ? 3 + n : n % 3, value);
        if (!status) larder_log_prepare(&store->pending.log, &store->pending.lock);
        bool is_made = !status && store->pending.log.spare != NULL;
        for (unsigned n = 0; n < MORE && !status; n++) status = rare_put(store, n % 3, value);
        if (!status) status = larder_log_reserve(&store->pending.log, LONG, false, &target);
        _exit(status || !is_made ? 1 : 0);
    }
    EXPECT(run, waitpid(child, &ended, 0) == child && ended == 0, "a writer ended with 0x%x",
           ended);
}

/** A feed that begins behind the last write is told of the next one: not that it is rewound to
    where the log was when the segment was made, nor that anything is missing. */
static void goes_on(torture *run, larder_store *store, larder_store_feed *feed, uint64_t last,
                    const char *who) {
    larder_store_feed_event event = {.count = 0};
    larder_status status = larder_store_feed_next(feed, &event);
    EXPECT(run, status == LARDER_END, "%s behind write %" PRIu64 " gave %d, %d at %" PRIu64, who,
           last, status, (int)event.kind, event.sequence);
    GIVES(rare_put(store, 1, "another"), LARDER_OK);
    GIVES(larder_store_feed_next(feed, &event), LARDER_OK);
    EXPECT(run, event.kind == LARDER_STORE_FEED_WRITE && event.sequence == last + 1,
           "%s behind write %" PRIu64 " told %d at %" PRIu64, who, last, (int)event.kind,
           event.sequence);
    larder_store_feed_close(feed);
}

// A number that is given again --------------------------------------------------------------------

/** The call of a feed's at which somebody writes. */
static struct beside {
    torture *run;
    const char *path;
    larder_store *writer;
    unsigned calls, at;
} beside;

/** In a process that is gone before a checkpoint: opens the store, which removes what was made in
    advance; or writes few keys, so that each segment keeps little, and makes the next one. */
static void open_and_die(torture *run, const char *path, unsigned writes) {
    char value[256];
    int ended = 1;
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        larder_store *store;
        larder_status status = opened_small(path, 0, 100, &store);
        for (unsigned n = 0; n < writes && !status; n++)
            status = rare_put(store, n % 11 == 0 ? n : n % 7, value);
        if (!status && writes > 0) larder_log_prepare(&store->pending.log, &store->pending.lock);
        _exit(status || (writes > 0 && store->pending.log.spare == NULL) ? 1 : 0);
    }
    EXPECT(run, waitpid(child, &ended, 0) == child && ended == 0, "a writer ended with 0x%x",
           ended);
}

/** What is worth keeping is copied to a segment of the number that one had that is gone. */
static void come_again(const char *call, const void *what) {
    torture *run = beside.run;
    (void)what;
    if (strcmp(call, "system openat") != 0 || ++beside.calls != beside.at) return;
    call_hook = NULL;
    open_and_die(run, beside.path, 0);
    GIVES(opened_small(beside.path, 0, 100, &beside.writer), LARDER_OK);
    GIVES(larder_store_flush(beside.writer), LARDER_OK);
    beside.at = 0;
}

void number_of_copies(torture *run, void *context) {
    enum { WRITES = 130, SPARE = 13 };
    const rare *place = context;
    unsigned again = 0;
    beside.at = 0;
    for (unsigned at = 1; beside.at == 0 && torture_unhurt(run); at++) {
        larder_store *reader = NULL;
        larder_store_token now;
        larder_store_feed *feed = NULL;
        larder_store_feed_options options = {.from = &now};
        larder_store_feed_event event = {.count = 0};
        torture_note(run, "a number that is given again at call %u of a feed", at);
        remove_tree(place->path);
        open_and_die(run, place->path, WRITES);
        GIVES(opened_small(place->path, LARDER_STORE_READ_ONLY, 100, &reader), LARDER_OK);
        if (reader == NULL) return;
        GIVES(larder_store_token_now(reader, &now), LARDER_OK);
        GIVES(larder_store_feed_open(reader, &options, &feed), LARDER_OK);
        beside = (struct beside){.run = run, .path = place->path, .at = at};
        call_hook = come_again;
        larder_status status = larder_store_feed_next(feed, &event);
        call_hook = NULL;
        EXPECT(run, status == LARDER_END, "a feed behind the last write gave %d, %d at %" PRIu64,
               status, (int)event.kind, event.sequence);
        segment *copies = NULL;
        again += larder_log_peek(&reader->pending.log, SPARE, &copies) == LARDER_OK &&
                 copies->kind == SEGMENT_CLEANED;
        larder_segment_close(copies);
        larder_store_feed_close(feed);
        larder_store_close(reader);
        larder_store_close(beside.writer);
    }
    EXPECT(run, again > 0, "the number was never given again");
}

void empty_log(torture *run, void *context) {
    const rare *place = context;
    torture_note(run, "a log of one empty segment");
    for (unsigned n = 0; n < 2; n++) {
        larder_store *store;
        larder_store_token now;
        larder_store_feed *feed = NULL;
        larder_store_feed_options options = {.flags = n == 0 ? 0 : LARDER_STORE_FEED_FROM_START};
        remove_tree(place->path);
        die_between(run, place->path, 1);
        GIVES(larder_store_compact(place->path, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
        EXPECT(run, size_of_file(inside(place->path, "log/00000001.seg")) < 0, "the log has more");
        if (!EXPECT_STATUS(run, opened_small(place->path, 0, SPACE_PERCENT, &store), LARDER_OK))
            return;
        GIVES(larder_store_token_now(store, &now), LARDER_OK);
        if (n == 0) options.from = &now;
        GIVES(larder_store_feed_open(store, &options, &feed), LARDER_OK);
        if (feed != NULL)
            goes_on(run, store, feed, larder_store_token_sequence(&now),
                    n == 0 ? "a token" : "the start");
        larder_store_close(store);
    }
}

/** What led from the last segment that is left to the one that the log goes on in was deleted, as
    all in it was copied elsewhere: a feed is told of the next write at once all the same. */
void hidden_end(torture *run, void *context) {
    const rare *place = context;
    larder_store *store;
    larder_store_token now;
    larder_store_feed *feed = NULL;
    larder_store_feed_options options = {.from = &now};
    torture_note(run, "a log whose last seal leads to a segment that was deleted");
    remove_tree(place->path);
    die_between(run, place->path, 2);
    if (!EXPECT_STATUS(run, opened_small(place->path, 0, SPACE_PERCENT, &store), LARDER_OK)) return;
    GIVES(larder_store_flush(store), LARDER_OK);
    EXPECT(run, store->index.meta.end.segment == 3, "the tree does not end behind the seal");
    EXPECT(run, unlink(inside(place->path, "log/00000002.seg")) == 0, "there is no second segment");
    GIVES(larder_store_token_now(store, &now), LARDER_OK);
    GIVES(larder_store_feed_open(store, &options, &feed), LARDER_OK);
    if (feed != NULL) goes_on(run, store, feed, larder_store_token_sequence(&now), "a feed");
    larder_store_close(store);
}
