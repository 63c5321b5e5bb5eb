// SPDX-License-Identifier: MIT
// The processes of the family: one that writes, and those that follow its feed. Each may be killed
// at any moment; what they find wrong they leave in the truth.
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "feed_model.h"

static void nap(unsigned us) { usleep(us); }

// The writer --------------------------------------------------------------------------------------

static larder_store_options writer_options(const feed_truth *truth, larder_store_tuning *tuning) {
    larder_store_options options;
    rng random = rng_make(mix2(truth->seed, 77));
    larder_store_options_init(&options);
    larder_store_tuning_init(tuning);
    tuning->segment_min_bytes = rng_one_in(&random, 2) ? 4096 : 16384;
    tuning->segment_max_bytes = tuning->segment_min_bytes * rng_between(&random, 1, 4);
    tuning->memtable_max_count = rng_between(&random, 8, 200);
    tuning->checkpoint_permille = 1;
    options.journal_bytes = LARDER_STORE_JOURNAL_MIN_BYTES;
    options.flush_interval_ns = 3000000;
    options.sync_interval_ns = 2000000;
    options.inline_threshold_bytes = rng_below(&random, 300);
    if (truth->syncs_seldom) {
        options.flush_interval_ns = options.sync_interval_ns = 1000000000;
        tuning->memtable_max_count = 5000;
    }
    if (truth->evicts) options.limits.count = FEED_KEYS / 2;
    options.tuning = tuning;
    return options;
}

/** What is left of what was written, as the store says: else another generation begins. */
static bool resume(feed_truth *truth, larder_store *store) {
    larder_store_statistics now;
    uint32_t generation = atomic_load(&truth->generation);
    uint64_t last = atomic_load(&truth->last);
    larder_status status = larder_store_statistics_get(store, &now);
    if (status) {
        feed_break(truth, "statistics gave %d", status);
        return false;
    }
    const uint64_t found = now.last_sequence;
    if (found > last + 1 || (found < last && !atomic_load(&truth->was_cut)) ||
        (found > last && atomic_load(&truth->begun) == 0)) {
        feed_break(truth, "the store ends at %" PRIu64 ", and %" PRIu64 " were written", found,
                   last);
        return false;
    }
    // What was begun may have been told, and be gone as well.
    uint32_t begun = atomic_load(&truth->begun);
    bool was_lost = found <= last && begun != 0 && atomic_load(&truth->was_cut);
    if (found > last || was_lost) truth->writes[generation][last + 1] = begun;
    if (found < last || was_lost) {
        if (generation + 1 == FEED_GENERATIONS) {
            feed_break(truth, "the harness has room for %d generations", FEED_GENERATIONS);
            return false;
        }
        memcpy(truth->writes[generation + 1], truth->writes[generation],
               (found + 1) * sizeof **truth->writes);
        memset(&truth->writes[generation + 1][found + 1], 0,
               (FEED_WRITES - found - 1) * sizeof **truth->writes);
        atomic_store(&truth->generation, generation + 1);
    }
    atomic_store(&truth->last, found);
    atomic_store(&truth->begun, 0);
    atomic_store(&truth->was_cut, 0);
    return true;
}

static larder_status write_one(const feed_write *what, larder_store *store, uint64_t *sequence) {
    larder_store_batch *batch;
    if (what->clears) {
        larder_status status = larder_store_remove_all(store, NULL, NULL);
        *sequence = 0;
        return status;
    }
    larder_status status = larder_store_batch_create(store, &batch);
    for (uint32_t n = 0; n < what->count && !status; n++) {
        uint8_t key[16], value[FEED_VALUE_MAX];
        larder_bytes name = bytes_of(key, feed_key(what->parts[n].key, key));
        larder_store_item item;
        if (what->parts[n].salt == 0) {
            status = larder_store_batch_remove(batch, name);
            continue;
        }
        larder_store_item_init(&item, name,
                               bytes_of(value, feed_value(what->parts[n].salt, value)));
        status = larder_store_batch_put(batch, &item);
    }
    if (!status) status = larder_store_batch_commit(batch, 0, sequence);
    larder_store_batch_destroy(batch);
    return status;
}

/** Whoever waits is told within five seconds, which is less than a waiter sleeps at most. */
static bool await_told(feed_truth *truth, uint64_t sequence) {
    const feed_consumer *consumer = &truth->consumers[0];
    uint64_t limit = now_ns() + 5000000000u;
    if (atomic_load(&consumer->told) == 0) return true;
    for (unsigned spins = 0; atomic_load(&consumer->told) < sequence; spins++) {
        if (atomic_load(&truth->stop)) return false;
        if (spins > 20000) nap(50);
        if (now_ns() < limit) continue;
        feed_break(truth, "nobody was told of %" PRIu64, sequence);
        return false;
    }
    return true;
}

static bool step(feed_truth *truth, larder_store *store, rng *random) {
    uint32_t number = atomic_fetch_add(&truth->next_number, 1) + 1;
    uint64_t next = atomic_load(&truth->last) + 1, sequence;
    feed_write what = feed_write_of(truth, number);
    atomic_store(&truth->begun, number);
    larder_status status = write_one(&what, store, &sequence);
    if (status || (sequence != 0 && sequence != next)) {
        feed_break(truth, "a write gave %d, and %" PRIu64 " instead of %" PRIu64, status, sequence,
                   next);
        return false;
    }
    truth->writes[atomic_load(&truth->generation)][next] = number;
    atomic_store(&truth->last, next);
    bool is_rare = truth->pings || truth->syncs_seldom;
    if (rng_one_in(random, is_rare ? 1000 : 25)) (void)!larder_store_sync(store);
    if (rng_one_in(random, truth->syncs_seldom ? 1000 : 60)) (void)!larder_store_flush(store);
    if (truth->evicts && rng_one_in(random, 100))
        (void)!larder_store_trim(store, rng_below(random, FEED_KEYS), LARDER_STORE_UNLIMITED, NULL);
    if (!truth->pings && rng_one_in(random, 20)) nap((unsigned)rng_below(random, 400));
    if (!truth->pings) return true;
    // Now it looks once more, and then it sleeps: at any moment of that the next one comes.
    if (!await_told(truth, next)) return false;
    uint64_t until = now_ns() + rng_below(random, 6000);
    while (now_ns() < until) {
    }
    return true;
}

void feed_write_on(feed_truth *truth, const char *path, rng random) {
    larder_store_tuning tuning;
    larder_store_options options = writer_options(truth, &tuning);
    larder_store *store;
    larder_status status = larder_store_open(path, &options, NULL, &store);
    if (status) {
        feed_break(truth, "opening to write gave %d", status);
        return;
    }
    if (!resume(truth, store)) return;
    // Made by the process whose disk is watched. While the consumer has it, it is there.
    larder_store_feed *feed;
    larder_store_feed_options named = {.name = bytes_of_text("c2")};
    if (larder_store_feed_open(store, &named, &feed) == LARDER_OK) larder_store_feed_close(feed);
    atomic_store(&truth->has_cursor, 1);
    while (!atomic_load(&truth->broken) && atomic_load(&truth->last) + 8 < FEED_WRITES &&
           !atomic_load(&truth->stop) && step(truth, store, &random)) {
    }
    if (atomic_load(&truth->stop) != 1) return;
    status = larder_store_sync(store);
    if (status) feed_break(truth, "a sync gave %d", status);
    // Until it is killed: whoever is told what is synced needs nothing more.
    for (;;) pause();
}

// A consumer --------------------------------------------------------------------------------------

typedef struct follower {
    feed_truth *truth;
    feed_consumer *own;
    unsigned which;
    larder_store *store;
    larder_store_feed *feed;
    feed_state state;
    rng random;
} follower;

static void keep(follower *self) {
    uint32_t kept = atomic_load(&self->own->kept);
    self->own->states[kept % FEED_STATES] = self->state;
    // If it is killed here, the state before this one counts.
    atomic_store(&self->own->kept, kept + 1);
    atomic_store(&self->own->told, self->state.sequence);
}

static uint32_t key_of(larder_bytes key) {
    unsigned number = FEED_KEYS;
    char text[20] = {0};
    if (key.length < sizeof text) memcpy(text, key.data, key.length);
    if (sscanf(text, "key %u", &number) != 1 || number > FEED_KEYS) return FEED_KEYS;
    return number;
}

static bool take_entry(follower *self, larder_bytes key, larder_bytes value) {
    uint32_t number = key_of(key), salt = feed_salt_of(value);
    if (number == FEED_KEYS || salt == 0) {
        feed_break(self->truth, "consumer %u was told of another key or value", self->which);
        return false;
    }
    self->state.mirror[number] = salt;
    return true;
}

/** Everything that is there, with the token to go on with. */
static larder_status take_snapshot(follower *self) {
    larder_store_query query;
    larder_store_cursor *cursor;
    larder_store_entry entry;
    larder_store_query_init(&query);
    query.flags = LARDER_STORE_EXPIRED_TOO;
    larder_status status =
        larder_store_snapshot_open(self->store, &query, &self->state.token, &cursor);
    if (status) return status;
    self->state.generation = atomic_load(&self->truth->generation);
    memset(self->state.mirror, 0, sizeof self->state.mirror);
    while ((status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK)
        if (!take_entry(self, entry.key, entry.value)) break;
    larder_store_cursor_close(cursor);
    if (status != LARDER_END) return status ? status : LARDER_EDAMAGED;
    self->state.sequence = larder_store_token_sequence(&self->state.token);
    self->state.has_token = self->state.is_snapshot = true;
    self->state.may_lack = self->truth->evicts;
    atomic_fetch_add(&self->own->snapshots, 1);
    keep(self);
    return LARDER_OK;
}

static larder_status open_feed(follower *self) {
    char name[8];
    larder_store_feed_close(self->feed);
    self->feed = NULL;
    larder_store_feed_options options = {.from = &self->state.token};
    if (self->own->kind == FEED_ONLY_SYNCED) options.flags = LARDER_STORE_FEED_SYNCED;
    snprintf(name, sizeof name, "c%u", self->which);
    if (self->own->kind == FEED_NAMED) options.name = bytes_of_text(name);
    if (!self->truth->keeps_all) options.max_lag_bytes = 40000;
    larder_status status;
    // The writer makes the cursor, and has it for a moment.
    while ((status = larder_store_feed_open(self->store, &options, &self->feed)) == LARDER_EBUSY)
        nap(200);
    return status;
}

/** Begins anew behind a snapshot. */
static larder_status start_over(follower *self) {
    larder_status status = take_snapshot(self);
    if (!status && self->own->kind == FEED_NAMED)
        status = larder_store_feed_acknowledge(self->feed, &self->state.token, LARDER_STORE_SYNCED);
    if (!status) atomic_store(&self->own->has_acknowledged, 1);
    return status ? status : open_feed(self);
}

static bool take_write(follower *self, const larder_store_feed_event *event) {
    const bool is_named = self->own->kind == FEED_NAMED;
    // What was not acknowledged is told again.
    if (is_named && event->sequence <= self->state.sequence) return true;
    // One that the writer has made only now.
    if (is_named && !atomic_load(&self->own->has_acknowledged)) {
        return start_over(self) == LARDER_OK;
    }
    if (event->sequence != self->state.sequence + 1) {
        feed_break(self->truth, "consumer %u was told of %" PRIu64 " behind %" PRIu64, self->which,
                   event->sequence, self->state.sequence);
        return false;
    }
    self->state.generation = atomic_load(&self->truth->generation);
    for (uint32_t n = 0; n < event->count; n++) {
        const larder_store_change *change = &event->changes[n];
        if (change->kind == LARDER_STORE_CHANGE_REMOVE_ALL) {
            memset(self->state.mirror, 0, sizeof self->state.mirror);
        } else if (change->kind == LARDER_STORE_CHANGE_REMOVE) {
            self->state.mirror[key_of(change->key) % FEED_KEYS] = 0;
        } else if (!take_entry(self, change->key, change->value)) {
            return false;
        }
    }
    self->state.token = event->token;
    self->state.sequence = event->sequence;
    self->state.is_snapshot = false;
    keep(self);
    atomic_fetch_add(&self->own->events, 1);
    return true;
}

static larder_status take_event(follower *self, const larder_store_feed_event *event) {
    feed_truth *truth = self->truth;
    bool is_named = self->own->kind == FEED_NAMED;
    switch (event->kind) {
    case LARDER_STORE_FEED_WRITE:
        if (!take_write(self, event)) return LARDER_EDAMAGED;
        if (is_named && rng_one_in(&self->random, 3))
            return larder_store_feed_acknowledge(self->feed, &self->state.token, 0);
        return LARDER_OK;
    case LARDER_STORE_FEED_GAP:
        atomic_fetch_add(&self->own->gaps, 1);
        if (is_named && truth->keeps_all && atomic_load(&self->own->has_acknowledged))
            feed_break(truth, "named consumer %u at %" PRIu64 " has a gap of %" PRIu64, self->which,
                       self->state.sequence, event->missing);
        return start_over(self);
    default:
        atomic_fetch_add(&self->own->rewounds, 1);
        // Where a named cursor is after a power cut, the disk's model knows of the writer alone.
        if (self->own->kind == FEED_ONLY_SYNCED && !self->state.is_snapshot)
            feed_break(truth,
                       "consumer %u of what is synced is rewound from %" PRIu64 " to %" PRIu64,
                       self->which, self->state.sequence, event->sequence);
        if (event->sequence >= self->state.sequence && !is_named)
            feed_break(truth, "consumer %u is rewound ahead", self->which);
        return start_over(self);
    }
}

static larder_status follow_on(follower *self) {
    larder_store_feed_event event;
    bool waits_for_good = self->truth->pings && self->which == 0;
    int64_t limit = waits_for_good ? INT64_MAX : (int64_t)rng_below(&self->random, 20000000);
    larder_status status = larder_store_feed_wait(self->feed, limit);
    if (status == ETIMEDOUT) return LARDER_OK;
    for (unsigned n = 0; n < 50 && !status; n++) {
        status = larder_store_feed_next(self->feed, &event);
        if (!status) status = take_event(self, &event);
        if (atomic_load(&self->truth->broken)) return LARDER_EDAMAGED;
    }
    if (status == LARDER_END) status = LARDER_OK;
    if (!status && rng_one_in(&self->random, 400)) status = start_over(self);
    if (!status && rng_one_in(&self->random, 200)) status = open_feed(self);
    return status;
}

void feed_consume(feed_truth *truth, unsigned which, const char *path, rng random) {
    follower self = {
        .truth = truth, .own = &truth->consumers[which], .which = which, .random = random};
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_READ_ONLY;
    uint32_t kept = atomic_load(&self.own->kept);
    if (kept > 0) self.state = self.own->states[(kept - 1) % FEED_STATES];
    atomic_store(&self.own->told, self.state.sequence);
    larder_status status = LARDER_END;
    // There may be no store yet; and none is promised before the first sync.
    while (larder_store_open(path, &options, NULL, &self.store) != LARDER_OK) nap(500);
    // The file is made by the process whose disk is watched.
    while (!atomic_load(&truth->has_cursor)) nap(500);
    status = self.state.has_token ? LARDER_OK : take_snapshot(&self);
    if (!status) status = open_feed(&self);
    while (!status) status = follow_on(&self);
    if (!atomic_load(&truth->broken))
        feed_break(truth, "consumer %u ended with %d (%s)", which, status, larder_strerror(status));
}
