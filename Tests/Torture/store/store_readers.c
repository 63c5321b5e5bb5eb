// SPDX-License-Identifier: MIT
// Readers in other processes, beside a writer that flushes, cleans, compacts, closes, and is
// killed: also in the middle of a recovery, and more than once before a checkpoint. Write number n
// of a store is the one with sequence n, and follows from the seed and n: so whatever a reader sees
// has to be what some number of writes leave, none that is less than what had returned when it
// began to look, or than it saw before, and none that is more than what had begun by then. No power
// is cut, so nothing is ever lost.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "larder_store_feed.h"
#include "store.h"

enum { READERS = 3, KEYS = 40, PARTS = 12, KEY_MAX = 700, VALUE_MAX = 12000, INDEX = 1 };

typedef struct sight {
    torture *run;
    const char *path;
    uint64_t seed;
    larder_store_tuning tuning;
    uint64_t threshold, journal;
    int64_t sync_ns;
    /** Each reader has a named cursor, and so nothing that it was not told is deleted. */
    bool has_cursors;
    /** A second thread writes. */
    bool has_threads;
    /** The readers have no slots when they open the store; none of them keeps a compaction from
        replacing data.mdb. */
    bool is_slotless;
    /** The last write that began, and that returned. */
    _Atomic uint64_t begun, done;
    _Atomic uint32_t is_made, stops;
    _Atomic uint64_t snapshots, gets, counts, opens, events, checks;
} sight;

// Writes ------------------------------------------------------------------------------------------

typedef struct part {
    uint32_t key;
    bool removes;
} part;

typedef struct store_write {
    bool clears;
    uint32_t count;
    part parts[PARTS];
} store_write;

/** What is under each key: the sequence of the put, 0 for nothing. */
typedef struct state {
    uint64_t at;
    uint64_t held[KEYS];
} state;

/** Takes so long to write that some are killed in the middle of it. */
static bool is_large(uint64_t number) { return mix(number) % 12 == 0; }

static store_write write_of(const sight *self, uint64_t number) {
    rng random = rng_make(mix2(self->seed, number));
    store_write out = {.count = 1, .clears = rng_one_in(&random, 150)};
    if (out.clears) out.count = 0;
    else if (is_large(number)) out.count = PARTS;
    else if (rng_one_in(&random, 3)) out.count = (uint32_t)rng_between(&random, 2, PARTS);
    bool is_alone = out.count == 1;
    for (uint32_t n = 0; n < out.count; n++) {
        out.parts[n].key = (uint32_t)rng_below(&random, KEYS);
        out.parts[n].removes = rng_one_in(&random, is_alone ? 5 : 4);
    }
    return out;
}

static void apply(const sight *self, state *to) {
    store_write what = write_of(self, ++to->at);
    if (what.clears) memset(to->held, 0, sizeof to->held);
    for (uint32_t n = 0; n < what.count; n++)
        to->held[what.parts[n].key] = what.parts[n].removes ? 0 : to->at;
}

/** Some are so long that rows have only their hashes. */
static larder_bytes key_of(uint32_t key, char room[KEY_MAX]) {
    int width = key % 7 == 3 ? KEY_MAX - 100 : 2;
    return bytes_of(room, (size_t)snprintf(room, KEY_MAX, "%0*u", width, key));
}

/** KEYS if it is none. */
static uint32_t key_named(larder_bytes name) {
    char room[KEY_MAX], last[4] = {0};
    if (name.length < 2) return KEYS;
    memcpy(last, (const char *)name.data + name.length - 2, 2);
    uint32_t key = (uint32_t)strtoul(last, NULL, 10);
    larder_bytes wanted = key_of(key % KEYS, room);
    bool is_it = key < KEYS && wanted.length == name.length &&
                 memcmp(wanted.data, name.data, name.length) == 0;
    return is_it ? key : KEYS;
}

static size_t value_length(uint64_t number, uint32_t key) {
    uint64_t draw = mix2(number, key);
    size_t most = is_large(number) ? VALUE_MAX - 8
                  : draw % 10 < 7  ? 200
                  : draw % 10 < 9  ? 3000
                                   : VALUE_MAX - 8;
    return 8 + (size_t)(draw / 10 % most);
}

static size_t value_of(uint64_t number, uint32_t key, uint8_t room[VALUE_MAX]) {
    size_t length = value_length(number, key);
    memcpy(room, &number, 8);
    message_fill(mix2(number, key), room + 8, length - 8);
    return length;
}

/** The write that a value is of, 0 if it is no value of that key. */
static uint64_t number_in(larder_bytes value, uint32_t key) {
    static uint8_t wanted[VALUE_MAX];
    uint64_t number;
    if (value.length < 8) return 0;
    memcpy(&number, value.data, 8);
    if (value_length(number, key) != value.length) return 0;
    (void)value_of(number, key, wanted);
    return memcmp(wanted, value.data, value.length) == 0 ? number : 0;
}

static larder_store_options options_of(const sight *self, uint32_t flags) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags;
    options.journal_bytes = self->journal;
    options.inline_threshold_bytes = self->threshold;
    options.tuning = &self->tuning;
    options.flush_interval_ns = 1000000;
    options.sync_interval_ns = self->sync_ns;
    options.trim_interval_ns = 3000000;
    return options;
}

// The writer --------------------------------------------------------------------------------------

static larder_status put_or_add(larder_store *store, larder_store_batch *batch, uint64_t number,
                                part what) {
    char name[KEY_MAX];
    uint8_t value[VALUE_MAX], order[8];
    larder_store_item item;
    larder_bytes key = key_of(what.key, name);
    if (what.removes)
        return batch ? larder_store_batch_remove(batch, key) : larder_store_remove(store, key, 0);
    for (unsigned at = 0; at < 8; at++) order[at] = (uint8_t)(number >> 8 * (7 - at));
    larder_store_index_entry index = {.index = INDEX, .value = bytes_of(order, sizeof order)};
    larder_store_item_init(&item, key, bytes_of(value, value_of(number, what.key, value)));
    item.indexes = &index;
    item.index_count = 1;
    return batch ? larder_store_batch_put(batch, &item) : larder_store_put(store, &item, NULL);
}

static larder_status perform(larder_store *store, uint64_t number, const store_write *what) {
    larder_store_batch *batch;
    if (what->clears) return larder_store_remove_all(store, NULL, NULL);
    if (what->count == 1) return put_or_add(store, NULL, number, what->parts[0]);
    larder_status status = larder_store_batch_create(store, &batch);
    for (uint32_t n = 0; n < what->count && !status; n++)
        status = put_or_add(store, batch, number, what->parts[n]);
    if (!status) status = larder_store_batch_commit(batch, 0, NULL);
    larder_store_batch_destroy(batch);
    return status;
}

static bool nothing_is_lost(sight *self, larder_store *store, const char *who) {
    larder_store_report report;
    larder_status status = larder_store_recovery(store, &report);
    if (self->is_slotless && status == LARDER_EBUSY) return true;
    return EXPECT_STATUS(self->run, status, LARDER_OK) &&
           EXPECT(self->run,
                  report.journal_lost == 0 && report.damaged == 0 && report.damaged_pages == 0,
                  "%s is told of %" PRIu64 " lost writes, %" PRIu64 " entries, %" PRIu64 " pages",
                  who, report.journal_lost, report.damaged, report.damaged_pages);
}

/** Opens it, and goes on behind the last write that is there. */
static larder_store *resume(sight *self) {
    larder_store *store = NULL;
    larder_store_statistics now;
    larder_store_options options = options_of(self, 0);
    torture *run = self->run;
    if (!EXPECT_STATUS(run, larder_store_open(self->path, &options, NULL, &store), LARDER_OK))
        return NULL;
    uint64_t done = atomic_load(&self->done), begun = atomic_load(&self->begun);
    if (!nothing_is_lost(self, store, "the writer") ||
        !EXPECT_STATUS(run, larder_store_statistics_get(store, &now), LARDER_OK) ||
        !EXPECT(run, now.last_sequence >= done && now.last_sequence <= begun,
                "the store ends with write %" PRIu64 "; %" PRIu64 " returned, %" PRIu64 " began",
                now.last_sequence, done, begun))
        return NULL;
    atomic_store(&self->done, now.last_sequence);
    atomic_store(&self->begun, now.last_sequence);
    atomic_store(&self->is_made, 1);
    return store;
}

static bool write_next(sight *self, larder_store *store) {
    uint64_t number = atomic_load(&self->done) + 1;
    store_write what = write_of(self, number);
    atomic_store(&self->begun, number);
    if (!EXPECT_STATUS(self->run, perform(store, number, &what), LARDER_OK)) return false;
    atomic_store(&self->done, number);
    return true;
}

static bool attend(sight *self, larder_store *store, rng *random) {
    larder_status status = LARDER_OK;
    if (rng_one_in(random, 60)) status = larder_store_flush(store);
    else if (rng_one_in(random, 90)) status = larder_store_sync(store);
    else if (rng_one_in(random, 120)) status = larder_store_maintain(store);
    else if (rng_one_in(random, 100)) usleep((useconds_t)rng_below(random, 2000));
    return EXPECT(self->run, status == LARDER_OK, "flush, sync or maintain gave %d", status);
}

static bool check(sight *self, larder_store *store, const char *who) {
    larder_store_report report;
    larder_status status = larder_store_check(store, NULL, NULL, &report);
    atomic_fetch_add(&self->checks, 1);
    bool is_overtaken = self->is_slotless && status == LARDER_EBUSY;
    return is_overtaken ||
           EXPECT(self->run, status == LARDER_OK,
                  "%s: check gave %d: %" PRIu64 " damaged, %" PRIu64 " pages, %" PRIu64
                  " inconsistencies",
                  who, status, report.damaged, report.damaged_pages, report.inconsistencies);
}

/** While it has the store open: its threads write in turns, and flush while others write. */
typedef struct session {
    sight *of;
    larder_store *store;
    pthread_mutex_t turn;
    _Atomic bool ends;
    rng random;
} session;

static void *write_some(void *context) {
    session *self = context;
    sight *of = self->of;
    pthread_mutex_lock(&self->turn);
    rng own = rng_make(rng_next(&self->random));
    pthread_mutex_unlock(&self->turn);
    bool is_good = true;
    while (is_good && !atomic_load(&of->stops) && !atomic_load(&self->ends)) {
        pthread_mutex_lock(&self->turn);
        is_good = write_next(of, self->store);
        pthread_mutex_unlock(&self->turn);
        is_good = is_good && attend(of, self->store, &own) && torture_unhurt(of->run);
        if (rng_one_in(&own, 400)) atomic_store(&self->ends, true);
    }
    atomic_store(&self->ends, true);
    return NULL;
}

/** Until it is told to stop, or killed. */
static void write_on(sight *self, rng random) {
    while (torture_unhurt(self->run) && !atomic_load(&self->stops)) {
        pthread_t other;
        session now = {.of = self, .store = resume(self), .turn = PTHREAD_MUTEX_INITIALIZER};
        if (!now.store) return;
        now.random = rng_make(rng_next(&random));
        bool is_alone = !self->has_threads || pthread_create(&other, NULL, write_some, &now) != 0;
        (void)write_some(&now);
        if (!is_alone) pthread_join(other, NULL);
        if (atomic_load(&self->stops)) (void)check(self, now.store, "the writer");
        larder_store_close(now.store);
        if (rng_one_in(&random, 2))
            EXPECT_STATUS(self->run, larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL),
                          LARDER_OK);
    }
}

/** Is gone again before a checkpoint, having written little or nothing. */
static void recover_and_die(sight *self, rng random) {
    larder_store *store = resume(self);
    uint64_t writes = rng_one_in(&random, 2) ? 0 : rng_below(&random, 4);
    while (store && writes-- > 0 && write_next(self, store)) continue;
    // Its handle is not closed.
}

// A reader ----------------------------------------------------------------------------------------

typedef struct reader {
    sight *of;
    torture *run;
    unsigned which;
    rng random;
    larder_store *store;
    /** The last state that it is known to have seen, at least. */
    state base;
    larder_store_feed *feed;
    /** The last write that the feed told, and that its named cursor is behind, if it has one. */
    uint64_t told, acknowledged;
    bool has_cursor;
    larder_store_token token;
    /** Without a slot, the last look came to nothing: a writer went on. */
    bool is_overtaken;
} reader;

/** What a look has found: some of these, the others are not asked for. */
typedef struct found {
    /** Of all keys, or of one. */
    const uint64_t *held;
    uint32_t key;
    uint64_t number;
    /** UINT64_MAX where that was not counted. */
    uint64_t count, bytes;
} found;

static bool is_state(const state *at, const found *what) {
    uint64_t count = 0, bytes = 0;
    if (what->held) return memcmp(at->held, what->held, sizeof at->held) == 0;
    if (what->key < KEYS) return at->held[what->key] == what->number;
    for (uint32_t key = 0; key < KEYS; key++) {
        count += at->held[key] != 0;
        bytes += at->held[key] ? value_length(at->held[key], key) : 0;
    }
    return count == what->count && (what->bytes == UINT64_MAX || bytes == what->bytes);
}

/** Whether there was that between `least` and what has begun by now. */
static bool was_there(reader *self, uint64_t least, const found *what, const char *name) {
    uint64_t most = atomic_load(&self->of->begun);
    // That it goes on from what is known settles that nothing goes back.
    while (self->base.at < least) apply(self->of, &self->base);
    state at = self->base;
    while (!is_state(&at, what) && at.at < most) apply(self->of, &at);
    if (!EXPECT(self->run, is_state(&at, what),
                "reader %u: %s is of no state between write %" PRIu64 " and %" PRIu64, self->which,
                name, self->base.at, most))
        return false;
    self->base = at;
    return true;
}

/** @param number receives the write that it is of, which a copy numbers anew. */
static bool take_entry(reader *self, const larder_store_entry *entry, bool is_copy,
                       uint64_t entries[KEYS], uint64_t *number) {
    uint32_t key = key_named(entry->key);
    *number = key < KEYS ? number_in(entry->value, key) : 0;
    if (!EXPECT(self->run,
                *number != 0 && (is_copy || *number == entry->sequence) && entries[key] == 0,
                "reader %u: a cursor gave key %u, write %" PRIu64 ", sequence %" PRIu64
                ", behind write %" PRIu64 " of that key",
                self->which, key, *number, entry->sequence, key < KEYS ? entries[key] : 0))
        return false;
    entries[key] = *number;
    return true;
}

static bool is_overtaken(reader *self, larder_status status) {
    return self->is_overtaken = self->of->is_slotless && status == LARDER_EBUSY;
}

/** Everything that a cursor gives, unless it is overtaken; the cursor is closed. */
static bool take_all(reader *self, larder_store_cursor *cursor, const larder_store_query *query,
                     bool is_copy, uint64_t entries[KEYS]) {
    larder_store_entry entry;
    uint64_t number;
    larder_status status = LARDER_OK;
    const bool descends = (query->flags & LARDER_STORE_DESCENDING) != 0;
    uint64_t before = descends ? UINT64_MAX : 0;
    bool is_slow = rng_one_in(&self->random, 12), is_good = true;
    memset(entries, 0, KEYS * sizeof *entries);
    while (is_good && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
        is_good = take_entry(self, &entry, is_copy, entries, &number);
        bool is_behind = descends ? number <= before : number >= before;
        is_good = is_good && EXPECT(self->run, is_behind || query->order != LARDER_STORE_BY_INDEX,
                                    "reader %u: the index has %" PRIu64 " behind %" PRIu64,
                                    self->which, number, before);
        before = number;
        if (is_slow) usleep(200);
    }
    larder_store_cursor_close(cursor);
    return is_good && (is_overtaken(self, status) ||
                       EXPECT(self->run, status == LARDER_END, "reader %u: a cursor gave %d (%s)",
                              self->which, status, larder_strerror(status)));
}

static larder_store_query query_of(reader *self) {
    larder_store_query query;
    larder_store_query_init(&query);
    if (rng_one_in(&self->random, 4)) query.flags |= LARDER_STORE_DESCENDING;
    if (!rng_one_in(&self->random, 4)) return query;
    query.order = LARDER_STORE_BY_INDEX;
    query.index = INDEX;
    return query;
}

static bool look_at_all(reader *self, larder_store *store, uint64_t least, const char *name) {
    uint64_t entries[KEYS];
    larder_store_cursor *cursor;
    larder_store_query query = query_of(self);
    larder_status status = larder_store_cursor_open(store, &query, &cursor);
    if (is_overtaken(self, status)) return true;
    if (!EXPECT_STATUS(self->run, status, LARDER_OK)) return false;
    if (rng_one_in(&self->random, 12)) usleep((useconds_t)rng_below(&self->random, 15000));
    atomic_fetch_add(&self->of->snapshots, 1);
    found what = {.held = entries, .key = KEYS};
    return take_all(self, cursor, &query, store != self->store, entries) &&
           (self->is_overtaken || was_there(self, least, &what, name));
}

static bool look_at_one(reader *self, uint64_t least) {
    char name[KEY_MAX];
    larder_store_entry entry;
    found what = {.key = (uint32_t)rng_below(&self->random, KEYS)};
    larder_status status =
        larder_store_get(self->store, key_of(what.key, name), LARDER_STORE_PEEK, &entry);
    if (!status) what.number = number_in(entry.value, what.key);
    bool is_whole = status == LARDER_ENOTFOUND ||
                    (!status && what.number != 0 && what.number == entry.sequence);
    larder_store_release(&entry);
    atomic_fetch_add(&self->of->gets, 1);
    if (is_overtaken(self, status)) return true;
    return EXPECT(self->run, is_whole, "reader %u: a get gave %d (%s), write %" PRIu64, self->which,
                  status, larder_strerror(status), what.number) &&
           was_there(self, least, &what, "a get");
}

static bool count(reader *self, uint64_t least) {
    larder_store_query query = query_of(self);
    found what = {.key = KEYS, .bytes = UINT64_MAX};
    bool by_rows = rng_one_in(&self->random, 2);
    larder_status status =
        by_rows ? larder_store_count(self->store, &query, LARDER_STORE_UNLIMITED, &what.count)
                : larder_store_totals(self->store, &what.count, &what.bytes);
    atomic_fetch_add(&self->of->counts, 1);
    if (is_overtaken(self, status)) return true;
    return EXPECT(self->run, !status, "reader %u: counting gave %d (%s)", self->which, status,
                  larder_strerror(status)) &&
           was_there(self, least, &what, by_rows ? "a count" : "a total");
}

static bool back_up(reader *self, uint64_t least) {
    char target[800];
    larder_store *copy = NULL;
    larder_store_options options = options_of(self->of, LARDER_STORE_READ_ONLY);
    snprintf(target, sizeof target, "%s.%u", self->of->path, self->which);
    remove_tree(target);
    larder_status status = larder_store_backup(self->store, target, NULL, NULL);
    if (is_overtaken(self, status)) return true;
    bool is_good = EXPECT_STATUS(self->run, status, LARDER_OK);
    uint64_t most = atomic_load(&self->of->begun);
    is_good = is_good &&
              EXPECT_STATUS(self->run, larder_store_open(target, &options, NULL, &copy), LARDER_OK);
    is_good = is_good && look_at_all(self, copy, least, "a backup") &&
              EXPECT(self->run, self->base.at <= most, "a backup is of the future");
    larder_store_close(copy);
    remove_tree(target);
    return is_good;
}

// Its feed ----------------------------------------------------------------------------------------

/** @param from NULL for what is written from now on. */
static bool open_from(reader *self, const larder_store_token *from) {
    char name[8];
    larder_store_feed_options options = {.from = from};
    snprintf(name, sizeof name, "r%u", self->which);
    if (self->of->has_cursors) {
        options.name = bytes_of_text(name);
        options.flags = LARDER_STORE_FEED_UNSYNCED;
        options.max_lag_bytes = UINT64_C(1) << 40;
    }
    return EXPECT_STATUS(self->run, larder_store_feed_open(self->store, &options, &self->feed),
                         LARDER_OK);
}

/** Looks at a snapshot, and keeps its token. */
static bool take_token(reader *self) {
    uint64_t entries[KEYS], least = atomic_load(&self->of->done);
    larder_store_cursor *cursor;
    larder_store_query query = query_of(self);
    larder_status status = larder_store_snapshot_open(self->store, &query, &self->token, &cursor);
    if (is_overtaken(self, status)) return true;
    if (!EXPECT_STATUS(self->run, status, LARDER_OK) ||
        !take_all(self, cursor, &query, false, entries))
        return false;
    if (self->is_overtaken) return true;
    found what = {.held = entries, .key = KEYS};
    self->told = larder_store_token_sequence(&self->token);
    if (!was_there(self, least, &what, "a snapshot")) return false;
    // Writes that change nothing leave the same.
    state at = self->base;
    while (at.at < self->told) apply(self->of, &at);
    return EXPECT(self->run, self->told >= at.at && is_state(&at, &what),
                  "reader %u: the token of a snapshot is of write %" PRIu64, self->which,
                  self->told);
}

/** Whoever goes on behind a snapshot makes its cursor before: else what is written meanwhile might
    be deleted before the cursor keeps it. */
static bool open_feed(reader *self) {
    bool makes = self->of->has_cursors && !self->has_cursor;
    if ((makes && !open_from(self, NULL)) || !take_token(self)) return false;
    bool is_good =
        !makes || self->is_overtaken ||
        EXPECT_STATUS(self->run, larder_store_feed_acknowledge(self->feed, &self->token, 0),
                      LARDER_OK);
    larder_store_feed_close(self->feed);
    self->feed = NULL;
    if (!is_good || self->is_overtaken) return is_good;
    if (!open_from(self, &self->token)) return false;
    if (self->has_cursor) self->told = self->acknowledged;
    self->acknowledged = self->told;
    self->has_cursor = self->of->has_cursors;
    return true;
}

static bool is_write(reader *self, const larder_store_feed_event *event) {
    store_write wanted = write_of(self->of, event->sequence);
    uint32_t kinds = wanted.clears ? 1 : wanted.count;
    bool is_it = event->sequence == self->told + 1 && event->count == kinds;
    for (uint32_t n = 0; is_it && n < event->count; n++) {
        const larder_store_change *change = &event->changes[n];
        part one = wanted.parts[n];
        if (wanted.clears) is_it = change->kind == LARDER_STORE_CHANGE_REMOVE_ALL;
        else if (one.removes)
            is_it = change->kind == LARDER_STORE_CHANGE_REMOVE && key_named(change->key) == one.key;
        else
            is_it = change->kind == LARDER_STORE_CHANGE_PUT && key_named(change->key) == one.key &&
                    number_in(change->value, one.key) == event->sequence;
    }
    return EXPECT(self->run, is_it,
                  "reader %u: the feed told %" PRIu64 " with %u changes behind %" PRIu64,
                  self->which, event->sequence, event->count, self->told);
}

static bool follow(reader *self, uint64_t least) {
    larder_store_feed_event event;
    larder_status status = LARDER_OK;
    if (!self->feed && !open_feed(self)) return false;
    if (!self->feed) return true;
    for (unsigned n = 0; n < 500 && !status; n++) {
        status = larder_store_feed_next(self->feed, &event);
        if (status) break;
        bool is_gap = event.kind == LARDER_STORE_FEED_GAP && !self->of->has_cursors &&
                      event.sequence == self->told + event.missing;
        if (!is_gap &&
            !EXPECT(self->run, event.kind == LARDER_STORE_FEED_WRITE,
                    "reader %u: the feed told of event %d at %" PRIu64 " behind %" PRIu64
                    ", with %" PRIu64 " missing",
                    self->which, (int)event.kind, event.sequence, self->told, event.missing))
            return false;
        if (!is_gap && !is_write(self, &event)) return false;
        self->told = event.sequence;
        self->token = event.token;
        atomic_fetch_add(&self->of->events, 1);
    }
    if (!EXPECT(self->run, !status || status == LARDER_END,
                "reader %u: the feed gave %d (%s) behind %" PRIu64, self->which, status,
                larder_strerror(status), self->told))
        return false;
    // Without a cursor, what it would tell may be deleted, and it looks for that once in a while.
    bool is_late = status && self->of->has_cursors && self->told < least;
    if (!EXPECT(self->run, !is_late,
                "reader %u: the feed ends at %" PRIu64 ", and %" PRIu64 " had returned",
                self->which, self->told, least))
        return false;
    if (!self->of->has_cursors || rng_one_in(&self->random, 3)) return true;
    self->acknowledged = self->told;
    return EXPECT_STATUS(self->run, larder_store_feed_acknowledge(self->feed, &self->token, 0),
                         LARDER_OK);
}

// Its looks ---------------------------------------------------------------------------------------

static void leave(reader *self) {
    larder_store_feed_close(self->feed);
    larder_store_close(self->store);
    self->feed = NULL;
    self->store = NULL;
}

static bool enter(reader *self) {
    larder_store_options options = options_of(self->of, LARDER_STORE_READ_ONLY);
    bool was_made = atomic_load(&self->of->is_made);
    uint64_t least = atomic_load(&self->of->done);
    if (self->of->is_slotless) larder_fault_set("mdb_env_open", 1, EACCES);
    larder_status status = larder_store_open(self->of->path, &options, NULL, &self->store);
    larder_fault_set(NULL, 0, 0);
    if (is_overtaken(self, status)) return true;
    if (status == ENOENT && !was_made) return usleep(300) == 0;
    bool is_good = EXPECT(self->run, !status, "reader %u: an open gave %d (%s)", self->which,
                          status, larder_strerror(status)) &&
                   nothing_is_lost(self->of, self->store, "a reader") &&
                   (rng_one_in(&self->random, 2) || follow(self, least));
    atomic_fetch_add(&self->of->opens, 1);
    return is_good;
}

static bool look(reader *self) {
    // What had returned before the look has to be in it.
    uint64_t least = atomic_load(&self->of->done);
    // Some handles are new, others have seen much.
    if (rng_one_in(&self->random, 6 + 12 * (uint64_t)self->which)) {
        leave(self);
        return true;
    }
    switch (rng_below(&self->random, 100)) {
    case 0: return back_up(self, least);
    case 1: return check(self->of, self->store, "a reader");
    case 2:
    case 3:
    case 4:
    case 5: return nothing_is_lost(self->of, self->store, "a reader");
    default: break;
    }
    switch (rng_below(&self->random, 8)) {
    case 0: return count(self, least);
    case 1:
    case 2: return follow(self, least);
    case 3:
    case 4: return look_at_one(self, least);
    default: return look_at_all(self, self->store, least, "a snapshot");
    }
}

static void read_on(sight *of, unsigned which, rng random) {
    reader self = {.of = of, .run = of->run, .which = which, .random = random};
    bool is_good = true;
    while (is_good && torture_unhurt(of->run) && !atomic_load(&of->stops))
        is_good = self.store ? look(&self) : enter(&self);
    leave(&self);
}

// Processes ---------------------------------------------------------------------------------------

static pid_t start(sight *self, rng *random, int which) {
    rng own = rng_make(rng_next(random));
    fflush(NULL);
    pid_t child = fork();
    if (child != 0) return child;
    alarm(60);
    if (which >= 0) read_on(self, (unsigned)which, own);
    else if (which == -1) write_on(self, own);
    else recover_and_die(self, own);
    _exit(0);
}

/** @param is_killed it may have been, too. */
static void await(sight *self, pid_t child, bool is_killed) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    bool is_good =
        WIFEXITED(status) ? WEXITSTATUS(status) == 0 : is_killed && WTERMSIG(status) == SIGKILL;
    EXPECT(self->run, is_good, "a process ended with status 0x%x", status);
}

/** Before a checkpoint, or behind it; and often in the middle of a write. */
static void await_moment(const sight *self, rng *random) {
    usleep((useconds_t)rng_below(random, rng_one_in(random, 2) ? 4000 : 40000));
    if (rng_one_in(random, 3)) return;
    uint64_t limit = now_ns() + 3000000, begun;
    do begun = atomic_load(&self->begun);
    while ((begun == atomic_load(&self->done) || !is_large(begun)) && now_ns() < limit);
    limit = now_ns() + rng_below(random, 80000);
    while (now_ns() < limit) continue;
}

/** What was left is seen by a handle that comes before the next writer. */
static void await_reader(const sight *self) {
    uint64_t before = atomic_load(&self->opens), limit = now_ns() + 30000000;
    while (atomic_load(&self->opens) == before && now_ns() < limit) usleep(100);
}

static void play(sight *self, rng *random, unsigned kills) {
    pid_t readers[READERS], writer = start(self, random, -1);
    for (int n = 0; n < READERS; n++) readers[n] = start(self, random, n);
    for (unsigned n = 0; n < kills && torture_unhurt(self->run); n++) {
        await_moment(self, random);
        kill(writer, SIGKILL);
        await(self, writer, true);
        atomic_fetch_add(&self->run->tally->kills, 1);
        if (rng_one_in(random, 2)) await_reader(self);
        for (uint64_t more = rng_below(random, 3); more > 0; more--) {
            await(self, start(self, random, -2), false);
            atomic_fetch_add(&self->run->tally->kills_in_a_row, 1);
        }
        writer = start(self, random, -1);
    }
    usleep((useconds_t)rng_below(random, 20000));
    atomic_store(&self->stops, 1);
    await(self, writer, false);
    for (unsigned n = 0; n < READERS; n++) await(self, readers[n], false);
}

static void prepare(sight *self, torture *run, rng *random) {
    static const uint64_t thresholds[] = {0, 64, 400, 1024};
    self->run = run;
    self->seed = rng_next(random);
    tuning_draw(&self->tuning, random);
    // Most have segments as small as there are, and so many that are made, left and removed.
    if (!rng_one_in(random, 4))
        self->tuning.segment_max_bytes = self->tuning.segment_min_bytes = 1024;
    self->threshold = thresholds[rng_below(random, 4)];
    self->journal = rng_one_in(random, 2) ? 256 << 10 : 8 << 20;
    self->sync_ns = rng_one_in(random, 2) ? 1000000 : 0;
    self->has_cursors = !rng_one_in(random, 3);
    self->has_threads = rng_one_in(random, 5);
    self->is_slotless = rng_one_in(random, 4);
    atomic_store(&self->begun, 0);
    atomic_store(&self->done, 0);
    atomic_store(&self->is_made, 0);
    atomic_store(&self->stops, 0);
}

void family_store_readers(torture *run) {
    sight *self = shared_memory(sizeof *self);
    rng random;
    self->path = torture_path(run, "store");
    while (torture_next_case(run, &random)) {
        torture_trial(run);
        prepare(self, run, &random);
        remove_tree(self->path);
        play(self, &random, 12);
        if (!torture_unhurt(run) && run->keep) return;
    }
    printf("  %" PRIu64 " snapshots, %" PRIu64 " gets, %" PRIu64 " counts, %" PRIu64
           " events of feeds, %" PRIu64 " opens, %" PRIu64 " checks\n",
           self->snapshots, self->gets, self->counts, self->events, self->opens, self->checks);
    remove_tree(self->path);
}
