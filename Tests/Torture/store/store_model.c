// SPDX-License-Identifier: MIT
// Random operations on a store and on a simple model of it, with a clock of their own: values,
// versions, expiry by age, by date and by idling, limits, the order of use, indexes, batches with
// requirements, cursors in every order. Both must say the same, always.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "store.h"

enum { MODEL_KEYS = 160, MODEL_KEY_MAX = 800 };

typedef struct model_entry {
    /** 0: none. */
    uint64_t salt;
    /** Place in the order of use: grows with writes and with reads that count. */
    uint64_t order;
    /** The same of its write. */
    uint64_t write_order;
    uint64_t sequence;
    int64_t written, expires, idle, refresh;
    /** When it was read or written last, as far as idling goes. */
    int64_t used;
    bool own_times;
    /** Written since the last checkpoint. */
    bool is_new;
} model_entry;

typedef struct model {
    torture *run;
    book *book;
    rng random;
    const char *path;
    larder_store *store;
    larder_store_options options;
    int64_t now;
    model_entry entries[MODEL_KEYS];
    uint64_t order, sequence;
    /** Checkpoints, also those that came because a threshold asked for them. */
    uint64_t flushes;
    /** The order of use is kept: some limit, or something that was evicted, has asked for it. */
    bool has_order;
    unsigned reads;
    uint64_t operations;
    uint8_t *room;
    /** Versions that were read, and what larder_store_get_again said of the store before. */
    struct {
        uint64_t sequence, state;
        int64_t expires, idle;
    } kept[MODEL_KEYS];
} model;

static int64_t model_clock(void *context) { return ((model *)context)->now; }

static size_t model_key(uint32_t key, uint8_t target[MODEL_KEY_MAX]) {
    if (key == 0) {
        return 0;
    }
    uint64_t shape = mix(key);
    size_t filling = shape % 12 == 0 ? 490 + shape / 12 % 300 : shape % 20;
    target[0] = (uint8_t)('a' + key % 5);
    target[1] = (uint8_t)(key * 37);
    target[2] = (uint8_t)(key >> 3);
    memset(target + 3, shape % 3 ? 'x' : 0, filling);
    return 3 + filling;
}

static larder_bytes key_of(uint32_t key) {
    static uint8_t buffers[4][MODEL_KEY_MAX];
    static unsigned next;
    uint8_t *buffer = buffers[next++ % 4];
    return bytes_of(buffer, model_key(key, buffer));
}

static int compare_bytes_of(larder_bytes one, larder_bytes other) {
    size_t shorter = one.length < other.length ? one.length : other.length;
    int order = shorter ? memcmp(one.data, other.data, shorter) : 0;
    return order ? order : (one.length > other.length) - (one.length < other.length);
}

static bool has_prefix(larder_bytes key, larder_bytes prefix) {
    return key.length >= prefix.length &&
           (prefix.length == 0 || memcmp(key.data, prefix.data, prefix.length) == 0);
}

// Time and limits ---------------------------------------------------------------------------------

static int64_t later(int64_t time, int64_t span) {
    return span == LARDER_STORE_NEVER || time > INT64_MAX - span ? LARDER_STORE_NEVER : time + span;
}

static int64_t due_of(const model *self, const model_entry *entry) {
    int64_t due = entry->expires;
    int64_t idle = later(entry->used, entry->idle);
    due = idle < due && entry->idle != LARDER_STORE_RENEWABLE ? idle : due;
    if (!entry->own_times) {
        int64_t aged = later(entry->written, self->options.limits.age_ns);
        due = aged < due ? aged : due;
        due = self->options.limits.end_ns < due ? self->options.limits.end_ns : due;
    }
    return due;
}

static bool is_there_at(const model *self, uint32_t key, int64_t time) {
    const model_entry *entry = &self->entries[key];
    int64_t due = due_of(self, entry);
    return entry->salt && (due == LARDER_STORE_NEVER || due > time);
}

static bool is_there(const model *self, uint32_t key) { return is_there_at(self, key, self->now); }

static void totals_of(const model *self, uint64_t *count, uint64_t *bytes) {
    *count = *bytes = 0;
    for (uint32_t key = 0; key < MODEL_KEYS; key++) {
        if (self->entries[key].salt) {
            *count += 1;
            *bytes += book_value_length(self->book, self->entries[key].salt);
        }
    }
}

static bool tracks(const model *self) {
    return (self->options.flags & LARDER_STORE_TRACK_ACCESS) != 0 ||
           self->options.limits.count != LARDER_STORE_UNLIMITED ||
           self->options.limits.bytes != LARDER_STORE_UNLIMITED ||
           self->options.limits.free_bytes != 0;
}

/** What a flush does first: what exceeds the limit alone goes alone. */
static uint64_t evict_alone(model *self) {
    uint64_t removed = 0;
    for (uint32_t key = 0; key < MODEL_KEYS; key++) {
        model_entry *entry = &self->entries[key];
        if (entry->salt && entry->is_new &&
            book_value_length(self->book, entry->salt) > self->options.limits.bytes) {
            entry->salt = 0;
            removed++;
        }
        entry->is_new = false;
    }
    return removed;
}

/** What a flush does by itself. */
static uint64_t evict(model *self, uint64_t count_limit, uint64_t bytes_limit) {
    uint64_t removed = evict_alone(self);
    for (;; removed++) {
        uint64_t count, bytes;
        totals_of(self, &count, &bytes);
        bool too_much = count > count_limit || bytes > bytes_limit;
        uint32_t oldest = MODEL_KEYS;
        for (uint32_t key = 0; key < MODEL_KEYS && too_much; key++) {
            if (self->entries[key].salt &&
                (oldest == MODEL_KEYS || self->entries[key].order < self->entries[oldest].order)) {
                oldest = key;
            }
        }
        if (oldest == MODEL_KEYS) {
            break;
        }
        self->entries[oldest].salt = 0;
    }
    self->reads = 0;
    self->has_order |= removed > 0 || tracks(self);
    return removed;
}

static void flushed(model *self) {
    (void)evict(self, self->options.limits.count, self->options.limits.bytes);
}

/** A call may have had a checkpoint come first. */
static bool catch_up(model *self) {
    larder_store_statistics figures;
    if (!EXPECT_STATUS(self->run, larder_store_statistics_get(self->store, &figures), LARDER_OK)) {
        return false;
    }
    if (figures.flushes != self->flushes) {
        flushed(self);
    }
    self->flushes = figures.flushes;
    return true;
}

static uint64_t expire(model *self) {
    uint64_t removed = 0;
    (void)evict_alone(self);
    for (uint32_t key = 0; key < MODEL_KEYS; key++) {
        if (self->entries[key].salt &&
            !is_there_at(self, key, self->now - self->options.grace_ns)) {
            self->entries[key].salt = 0;
            removed++;
        }
    }
    return removed;
}

// Writing -----------------------------------------------------------------------------------------

static int64_t some_time(model *self, int64_t from) {
    return rng_one_in(&self->random, 3) ? from + (int64_t)rng_below(&self->random, 3000)
                                        : LARDER_STORE_NEVER;
}

static void make_item(model *self, uint64_t salt, uint32_t key, larder_store_item *item,
                      larder_store_index_entry *index, model_entry *entry) {
    book_item(self->book, salt, key_of(key), self->room, index, item);
    item->expires_ns = some_time(self, self->now - 100);
    item->idle_ns = rng_one_in(&self->random, 4) ? LARDER_STORE_RENEWABLE : some_time(self, 1);
    item->refresh_ns = some_time(self, 1);
    if (rng_one_in(&self->random, 8)) {
        item->flags = LARDER_STORE_OWN_TIMES;
    }
    if (rng_one_in(&self->random, 8)) {
        item->written_ns = self->now - (int64_t)rng_below(&self->random, 500);
    }
    int64_t written = item->written_ns ? item->written_ns : self->now;
    *entry = (model_entry){.salt = salt,
                           .is_new = true,
                           .order = ++self->order,
                           .write_order = self->order,
                           .written = written,
                           .used = written,
                           .expires = item->expires_ns,
                           .idle = item->idle_ns,
                           .refresh = item->refresh_ns,
                           .own_times = item->flags != 0};
}

static uint32_t some_key(model *self) {
    uint32_t keys = rng_one_in(&self->random, 2) ? MODEL_KEYS : 20;
    return (uint32_t)rng_below(&self->random, keys);
}

static bool grows(model *self, uint64_t sequence) {
    bool does = sequence > self->sequence;
    EXPECT(self->run, does, "version %" PRIu64 " follows %" PRIu64, sequence, self->sequence);
    self->sequence = sequence;
    return does;
}

static bool put_one(model *self) {
    uint32_t key = some_key(self);
    larder_store_item item;
    larder_store_index_entry index;
    model_entry entry;
    make_item(self, rng_next(&self->random) | 1, key, &item, &index, &entry);
    larder_status status = EAGAIN;
    if (rng_one_in(&self->random, 3)) {
        item.flags |= LARDER_STORE_NO_WAIT;
        status = larder_store_put(self->store, &item, &entry.sequence);
        item.flags &= ~(uint32_t)LARDER_STORE_NO_WAIT;
        // It has done nothing then.
        if (status == EAGAIN && rng_one_in(&self->random, 2)) return true;
    }
    if (status == EAGAIN) status = larder_store_put(self->store, &item, &entry.sequence);
    if (!EXPECT(self->run, status == LARDER_OK, "a put gave %d", status) || !catch_up(self) ||
        !grows(self, entry.sequence)) {
        return false;
    }
    self->entries[key] = entry;
    return true;
}

static bool remove_one(model *self) {
    uint32_t key = some_key(self);
    uint32_t flags = rng_one_in(&self->random, 3) ? LARDER_STORE_NO_WAIT : 0;
    larder_status status = larder_store_remove(self->store, key_of(key), flags);
    if (flags != 0 && status == EAGAIN) return true;
    if (!EXPECT(self->run, status == LARDER_OK, "a removal gave %d", status) || !catch_up(self)) {
        return false;
    }
    self->entries[key].salt = 0;
    return true;
}

/** What a batch asks for, and what it writes. */
typedef struct batch_part {
    uint32_t key;
    bool requires, is_unique;
    uint64_t version;
    model_entry entry;
} batch_part;

/** Requires some of what the batch puts to be found by what nothing else is. */
static bool require_unique(model *self, larder_store_batch *batch, batch_part *all,
                           unsigned parts) {
    if (!rng_one_in(&self->random, 3)) {
        return true;
    }
    for (unsigned i = 0; i < parts; i++) {
        uint8_t value[BOOK_INDEX_MAX];
        size_t length = all[i].entry.salt ? book_index_value(all[i].entry.salt, value) : SIZE_MAX;
        all[i].is_unique = length != SIZE_MAX && !rng_one_in(&self->random, 4);
        if (all[i].is_unique && !EXPECT_STATUS(self->run,
                                               larder_store_batch_require_unique(
                                                   batch, BOOK_INDEX, bytes_of(value, length)),
                                               LARDER_OK)) {
            return false;
        }
    }
    return true;
}

/** How many entries have the value behind the batch. */
static unsigned count_value(const model *self, const batch_part *all, unsigned parts,
                            larder_bytes value) {
    unsigned count = 0;
    for (uint32_t key = 0; key < MODEL_KEYS; key++) {
        uint64_t salt = is_there(self, key) ? self->entries[key].salt : 0;
        for (unsigned i = 0; i < parts; i++) {
            if (all[i].key == key && !all[i].requires) {
                salt = all[i].entry.salt;
            }
        }
        uint8_t found[BOOK_INDEX_MAX];
        size_t length = salt ? book_index_value(salt, found) : SIZE_MAX;
        count += length != SIZE_MAX && compare_bytes_of(bytes_of(found, length), value) == 0;
    }
    return count;
}

static bool is_unique(const model *self, const batch_part *all, unsigned parts) {
    for (unsigned i = 0; i < parts; i++) {
        uint8_t value[BOOK_INDEX_MAX];
        if (all[i].is_unique &&
            count_value(self, all, parts,
                        bytes_of(value, book_index_value(all[i].entry.salt, value))) > 1) {
            return false;
        }
    }
    return true;
}

static bool run_batch(model *self) {
    larder_store_batch *batch = NULL;
    if (!EXPECT_STATUS(self->run, larder_store_batch_create(self->store, &batch), LARDER_OK)) {
        return false;
    }
    batch_part all[10] = {0};
    bool good = true;
    unsigned parts = (unsigned)rng_between(&self->random, 0, 10);
    for (unsigned i = 0; i < parts && good; i++) {
        uint32_t key = some_key(self);
        all[i].key = key;
        if (rng_one_in(&self->random, 4)) {
            uint64_t version = is_there(self, key) ? self->entries[key].sequence : 0;
            if (rng_one_in(&self->random, 10)) {
                version = version ? version - rng_below(&self->random, 2) * version : 1;
            }
            all[i].requires = true;
            all[i].version = version;
            good = EXPECT_STATUS(self->run, larder_store_batch_require(batch, key_of(key), version),
                                 LARDER_OK);
        } else if (rng_one_in(&self->random, 4)) {
            good =
                EXPECT_STATUS(self->run, larder_store_batch_remove(batch, key_of(key)), LARDER_OK);
        } else {
            larder_store_item item;
            larder_store_index_entry index;
            make_item(self, rng_next(&self->random) | 1, key, &item, &index, &all[i].entry);
            good = EXPECT_STATUS(self->run, larder_store_batch_put(batch, &item), LARDER_OK);
        }
    }
    good = good && require_unique(self, batch, all, parts);
    uint64_t sequence = 0;
    uint16_t index = 0;
    // The store looks before it makes room for the batch, for which a checkpoint may evict.
    bool was_unique = is_unique(self, all, parts);
    larder_status status = good ? larder_store_batch_commit(batch, 0, &sequence) : LARDER_OK;
    bool is_duplicate = larder_store_batch_duplicate(batch, &index) == LARDER_OK;
    larder_store_batch_destroy(batch);
    good = good && catch_up(self);
    bool holds = true, any = false;
    for (unsigned i = 0; i < parts; i++) {
        uint64_t version = is_there(self, all[i].key) ? self->entries[all[i].key].sequence : 0;
        holds = holds && (!all[i].requires || version == all[i].version);
    }
    bool wanted = holds && !was_unique;
    good = good && EXPECT(self->run, is_duplicate == wanted && index == (wanted ? BOOK_INDEX : 0),
                          "a value is %s, and %s", wanted ? "there twice" : "unique",
                          is_duplicate ? "refused" : "taken");
    holds = holds && !wanted;
    good = good &&
           EXPECT(self->run, status == (holds ? LARDER_OK : LARDER_ECONFLICT),
                  "a batch whose requirements %s gave %d", holds ? "hold" : "do not hold", status);
    if (good && holds) {
        for (unsigned i = 0; i < parts; i++) {
            if (!all[i].requires) {
                all[i].entry.sequence = sequence;
                self->entries[all[i].key] = all[i].entry;
                any |= all[i].entry.salt != 0;
            }
        }
        good = !any || grows(self, sequence);
    }
    return good;
}

// Reading -----------------------------------------------------------------------------------------

static bool is_right(model *self, uint32_t key, const larder_store_entry *entry, uint32_t flags) {
    const model_entry *wanted = &self->entries[key];
    const bool with_value = (flags & LARDER_STORE_WITHOUT_VALUE) == 0;
    const bool idles = wanted->idle != LARDER_STORE_RENEWABLE;
    const int64_t idle = idles ? later(wanted->used, wanted->idle) : LARDER_STORE_NEVER;
    const int64_t expires = idle < wanted->expires ? idle : wanted->expires;
    larder_bytes name = key_of(key);
    bool value = with_value ? book_matches(self->book, wanted->salt, entry)
                            : entry->value.length == 0 &&
                                  entry->value_bytes == book_value_length(self->book, wanted->salt);
    bool times = entry->written_ns == wanted->written && entry->idle_ns == wanted->idle &&
                 entry->refresh_ns == wanted->refresh &&
                 (entry->expires_ns == expires ||
                  (idle != LARDER_STORE_NEVER && (flags & LARDER_STORE_WITHOUT_EXPIRY) != 0)) &&
                 ((entry->flags & LARDER_STORE_ENTRY_OWN_TIMES) != 0) == wanted->own_times;
    return EXPECT(self->run,
                  compare_bytes_of(entry->key, name) == 0 && value && times &&
                      entry->sequence == wanted->sequence,
                  "key %u: %s is wrong (version %" PRIu64 ", wanted %" PRIu64 ")", key,
                  !value   ? "the value"
                  : !times ? "a time"
                           : "key or version",
                  entry->sequence, wanted->sequence);
}

/** A read of the key at that time was noted, if such reads are. */
static void note_read_at(model *self, uint32_t key, int64_t time) {
    model_entry *read = &self->entries[key];
    bool idles = read->idle != LARDER_STORE_NEVER && read->idle != LARDER_STORE_RENEWABLE;
    if (idles || tracks(self)) {
        read->order = ++self->order;
        read->used = time > read->used ? time : read->used;
        self->reads++;
    }
}

static void note_read(model *self, uint32_t key) { note_read_at(self, key, self->now); }

/** Reads that a cache above noted, of entries that are there and of keys that have none. */
static bool hand_over_reads(model *self) {
    enum { MOST = 8 };
    larder_store_noted_read reads[MOST];
    uint8_t keys[MOST][MODEL_KEY_MAX];
    size_t count = 0;
    for (uint64_t left = rng_between(&self->random, 1, MOST); left > 0; left--) {
        uint32_t key = some_key(self);
        // One that expired but was not removed yet would live on.
        if (self->entries[key].salt != 0 && !is_there(self, key)) {
            continue;
        }
        bool is_now = rng_one_in(&self->random, 2);
        int64_t time = self->now - (is_now ? 0 : (int64_t)rng_below(&self->random, 500));
        reads[count].key = bytes_of(keys[count], model_key(key, keys[count]));
        reads[count++].read_ns = is_now ? 0 : time;
        if (self->entries[key].salt != 0) {
            note_read_at(self, key, time);
        }
    }
    return EXPECT_STATUS(self->run, larder_store_touch_many(self->store, reads, count), LARDER_OK);
}

/** What was kept is what there is, or has to be looked up; then it is. */
static bool get_again(model *self, uint32_t key) {
    uint64_t sequence = self->kept[key].sequence, *state = &self->kept[key].state;
    larder_status status = larder_store_get_again(self->store, key_of(key), self->kept[key].expires,
                                                  self->kept[key].idle, state);
    if (status == LARDER_OK) {
        note_read(self, key);
        return EXPECT(self->run, is_there(self, key) && self->entries[key].sequence == sequence,
                      "key %u: version %" PRIu64 " is not what is there", key, sequence);
    }
    larder_store_entry entry;
    larder_status found = larder_store_get(self->store, key_of(key), LARDER_STORE_PEEK, &entry);
    self->kept[key].sequence = entry.sequence;
    self->kept[key].expires = entry.expires_ns;
    self->kept[key].idle = entry.idle_ns;
    if (found != LARDER_OK) {
        *state = 0;
    }
    larder_store_release(&entry);
    return EXPECT_STATUS(self->run, status, LARDER_ENOTFOUND);
}

/** Moves the times of what is there in that version and renewable, without a write. */
static bool renew_one(model *self) {
    uint32_t key = some_key(self);
    model_entry *entry = &self->entries[key];
    bool is_of_it = !rng_one_in(&self->random, 8);
    // One that expired but was not removed yet would be there again.
    if (entry->salt != 0 && !is_there(self, key)) {
        return true;
    }
    larder_status status =
        larder_store_renew(self->store, key_of(key), entry->sequence + (is_of_it ? 0 : 1));
    bool is_renewed = entry->salt != 0 && entry->idle == LARDER_STORE_RENEWABLE && is_of_it;
    int64_t by = self->now - entry->written;
    if (is_renewed && by > 0) {
        entry->written += by;
        entry->expires =
            entry->expires == LARDER_STORE_NEVER ? entry->expires : entry->expires + by;
        entry->refresh =
            entry->refresh == LARDER_STORE_NEVER ? entry->refresh : entry->refresh + by;
        self->reads++;
    }
    return EXPECT_STATUS(self->run, status, is_renewed ? LARDER_OK : LARDER_ENOTFOUND);
}

/** A get that waits for none, of pages of which one may not be in memory: that is no answer, and
    nothing else is another one. */
static larder_status get_at_once(model *self, uint32_t key, uint32_t flags,
                                 larder_store_entry *entry) {
    int away = (int)rng_below(&self->random, 8);
#ifdef LARDER_FAULTS
    larder_fault_set(away ? "mincore" : NULL, away, 1);
#endif
    larder_status status =
        larder_store_get(self->store, key_of(key), flags | LARDER_STORE_NO_WAIT, entry);
#ifdef LARDER_FAULTS
    bool is_away = away && larder_fault_passes() >= away;
    larder_fault_set(NULL, 0, 0);
    EXPECT(self->run, !is_away || status == EAGAIN, "page %d of key %u is away: %d", away, key,
           status);
#else
    (void)away;
#endif
    return status;
}

static bool get_one(model *self) {
    if (rng_one_in(&self->random, 6)) {
        return renew_one(self);
    }
    uint32_t key = some_key(self);
    if (rng_one_in(&self->random, 4)) {
        return get_again(self, key);
    }
    if (rng_one_in(&self->random, 6)) {
        return hand_over_reads(self);
    }
    static const uint32_t all[] = {0,
                                   0,
                                   0,
                                   LARDER_STORE_PEEK,
                                   LARDER_STORE_WITHOUT_VALUE,
                                   LARDER_STORE_EXPIRED_TOO,
                                   LARDER_STORE_PEEK | LARDER_STORE_EXPIRED_TOO};
    uint32_t flags = all[rng_below(&self->random, sizeof all / sizeof *all)];
    bool wanted = (flags & LARDER_STORE_EXPIRED_TOO) != 0 ? self->entries[key].salt != 0
                                                          : is_there(self, key);
    if (rng_one_in(&self->random, 5)) {
        bool there = is_there(self, key);
        return EXPECT_STATUS(self->run, larder_store_contains(self->store, key_of(key)),
                             there ? LARDER_OK : LARDER_ENOTFOUND);
    }
    larder_store_entry entry;
    larder_status status = EAGAIN;
    if (rng_one_in(&self->random, 3)) {
        status = get_at_once(self, key, flags, &entry);
    }
    if (status == EAGAIN) {
        status = larder_store_get(self->store, key_of(key), flags, &entry);
    }
    if (wanted && (flags & LARDER_STORE_PEEK) == 0) {
        note_read(self, key);
    }
    bool good = EXPECT(self->run, status == (wanted ? LARDER_OK : LARDER_ENOTFOUND),
                       "key %u is %s: get with flags %u gave %d", key,
                       wanted ? "there" : "not there", flags, status) &&
                (!wanted || is_right(self, key, &entry, flags));
    larder_store_release(&entry);
    return good;
}

// Cursors -----------------------------------------------------------------------------------------

typedef struct listed {
    uint32_t key;
    larder_bytes name, value;
    uint64_t order;
    uint8_t name_bytes[MODEL_KEY_MAX], value_bytes[BOOK_INDEX_MAX];
} listed;

static larder_store_order listed_order;

static int compare_listed(const void *first, const void *second) {
    const listed *one = first, *other = second;
    if (listed_order == LARDER_STORE_BY_RECENCY) {
        return (one->order > other->order) - (one->order < other->order);
    }
    int order =
        listed_order == LARDER_STORE_BY_INDEX ? compare_bytes_of(one->value, other->value) : 0;
    return order ? order : compare_bytes_of(one->name, other->name);
}

static bool in_range(const larder_store_query *query, larder_bytes name) {
    int low = compare_bytes_of(name, query->lower), high = compare_bytes_of(name, query->upper);
    uint32_t flags = query->flags;
    return has_prefix(name, query->prefix) &&
           ((flags & LARDER_STORE_HAS_LOWER) == 0 ||
            (low >= 0 && (low > 0 || (flags & LARDER_STORE_LOWER_EXCLUSIVE) == 0))) &&
           ((flags & LARDER_STORE_HAS_UPPER) == 0 ||
            (high <= 0 && (high < 0 || (flags & LARDER_STORE_UPPER_EXCLUSIVE) == 0)));
}

static size_t list(model *self, const larder_store_query *query, listed *out) {
    size_t count = 0;
    for (uint32_t key = 0; key < MODEL_KEYS; key++) {
        const model_entry *entry = &self->entries[key];
        bool wanted =
            (query->flags & LARDER_STORE_EXPIRED_TOO) != 0 ? entry->salt != 0 : is_there(self, key);
        listed *one = &out[count];
        one->key = key;
        one->order = self->has_order || tracks(self) ? entry->order : entry->write_order;
        one->name = bytes_of(one->name_bytes, model_key(key, one->name_bytes));
        size_t length = wanted ? book_index_value(entry->salt, one->value_bytes) : SIZE_MAX;
        one->value = bytes_of(one->value_bytes, length == SIZE_MAX ? 0 : length);
        bool by_index = query->order == LARDER_STORE_BY_INDEX;
        if (wanted && (!by_index || length != SIZE_MAX) &&
            (query->order == LARDER_STORE_BY_RECENCY ||
             in_range(query, by_index ? one->value : one->name))) {
            count++;
        }
    }
    listed_order = query->order;
    // `listed` holds pointers into itself, so that it is moved by hand.
    uint32_t places[MODEL_KEYS];
    for (uint32_t i = 0; i < count; i++) {
        places[i] = i;
    }
    for (size_t i = 1; i < count; i++) {
        for (size_t k = i; k > 0 && compare_listed(&out[places[k - 1]], &out[places[k]]) > 0; k--) {
            uint32_t other = places[k];
            places[k] = places[k - 1];
            places[k - 1] = other;
        }
    }
    uint32_t keys[MODEL_KEYS];
    for (size_t i = 0; i < count; i++) {
        keys[i] = out[places[i]].key;
    }
    for (size_t i = 0; i < count; i++) {
        bool back = (query->flags & LARDER_STORE_DESCENDING) != 0;
        out[i].key = keys[back ? count - 1 - i : i];
    }
    return count;
}

/** `wanted` entries, or as many as are enough. */
static bool count_all(model *self, const larder_store_query *query, uint64_t wanted) {
    uint64_t limit = rng_one_in(&self->random, 3) ? rng_below(&self->random, MODEL_KEYS)
                                                  : LARDER_STORE_UNLIMITED;
    uint64_t count = 0;
    wanted = wanted < limit ? wanted : limit;
    return EXPECT_STATUS(self->run, larder_store_count(self->store, query, limit, &count),
                         LARDER_OK) &&
           EXPECT(self->run, count == wanted,
                  "%" PRIu64 " entries in order %d, flags %x, should be %" PRIu64, count,
                  (int)query->order, query->flags, wanted);
}

static bool flush(model *self) {
    flushed(self);
    return EXPECT_STATUS(self->run, larder_store_flush(self->store), LARDER_OK) && catch_up(self);
}

/** Opens a cursor, perhaps for something else first, of which some is read. */
static bool open_cursor(model *self, larder_store_query *query, larder_store_cursor **cursor) {
    larder_store_query first = *query;
    bool seeks = query->order != LARDER_STORE_BY_RECENCY && rng_one_in(&self->random, 2);
    if (seeks) {
        larder_store_query_init(&first);
        first.order = rng_one_in(&self->random, 2) ? LARDER_STORE_BY_KEY : LARDER_STORE_BY_INDEX;
        first.index = BOOK_INDEX;
    }
    if (!EXPECT_STATUS(self->run, larder_store_cursor_open(self->store, &first, cursor),
                       LARDER_OK) ||
        !catch_up(self))
        return false;
    if (!seeks) return true;
    larder_store_entry passed;
    larder_status status = LARDER_OK;
    for (size_t left = rng_below(&self->random, 4); left > 0 && !status; left--)
        status = larder_store_cursor_next(*cursor, &passed);
    if (status && !EXPECT_STATUS(self->run, status, LARDER_END)) return false;
    return EXPECT_STATUS(self->run, larder_store_cursor_seek(*cursor, query), LARDER_OK);
}

static bool go_over(model *self) {
    static listed wanted[MODEL_KEYS + 1];
    larder_store_query query;
    larder_store_query_init(&query);
    query.order = (larder_store_order)rng_below(&self->random, 3);
    query.index = BOOK_INDEX;
    static const uint32_t flags[] = {
        LARDER_STORE_DESCENDING,      LARDER_STORE_WITHOUT_VALUE, LARDER_STORE_EXPIRED_TOO,
        LARDER_STORE_HAS_LOWER,       LARDER_STORE_HAS_UPPER,     LARDER_STORE_LOWER_EXCLUSIVE,
        LARDER_STORE_UPPER_EXCLUSIVE, LARDER_STORE_DESCENDING,    LARDER_STORE_WITHOUT_EXPIRY};
    // A guess, which may be wrong.
    query.expected = rng_below(&self->random, MODEL_KEYS / 2);
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        query.flags |= rng_one_in(&self->random, 4) ? flags[i] : 0;
    }
    uint8_t lower[BOOK_INDEX_MAX + MODEL_KEY_MAX], upper[sizeof lower], prefix[3];
    if (query.order == LARDER_STORE_BY_RECENCY) {
        query.flags &= (uint32_t)(LARDER_STORE_DESCENDING | LARDER_STORE_WITHOUT_VALUE |
                                  LARDER_STORE_EXPIRED_TOO | LARDER_STORE_WITHOUT_EXPIRY);
        // Where reads are not remembered, only a flush folds in those of entries that idle.
        if (!tracks(self) && !flush(self)) {
            return false;
        }
    } else if (query.order == LARDER_STORE_BY_KEY) {
        query.lower = bytes_of(lower, model_key(some_key(self), lower));
        query.upper = bytes_of(upper, model_key(some_key(self), upper));
        prefix[0] = (uint8_t)('a' + rng_below(&self->random, 5));
        query.prefix = bytes_of(prefix, rng_one_in(&self->random, 3));
    } else {
        memset(lower, '0' + (int)rng_below(&self->random, 10), BOOK_INDEX_MAX);
        memset(upper, '0' + (int)rng_below(&self->random, 10), BOOK_INDEX_MAX);
        query.lower = bytes_of(lower, rng_below(&self->random, 4));
        query.upper = bytes_of(upper, rng_below(&self->random, 4));
        prefix[0] = (uint8_t)('0' + rng_below(&self->random, 10));
        query.prefix = bytes_of(prefix, rng_one_in(&self->random, 3));
    }
    larder_store_cursor *cursor = NULL;
    if (!open_cursor(self, &query, &cursor)) return false;
    size_t count = list(self, &query, wanted), at = 0;
    larder_store_entry entry;
    larder_status status;
    bool good = true;
    while (good && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
        good = EXPECT(self->run,
                      at < count && compare_bytes_of(entry.key, key_of(wanted[at].key)) == 0,
                      "a cursor in order %d, flags %x, has another entry at %zu of %zu",
                      (int)query.order, query.flags, at, count) &&
               is_right(self, wanted[at].key, &entry, query.flags);
        at++;
    }
    larder_store_cursor_close(cursor);
    return good &&
           EXPECT(self->run, status == LARDER_END && at == count,
                  "a cursor in order %d, flags %x, gave %d behind %zu of %zu entries",
                  (int)query.order, query.flags, status, at, count) &&
           count_all(self, &query, count);
}

// Care --------------------------------------------------------------------------------------------

static bool verify_totals(model *self) {
    uint64_t count, bytes, is_count = 0, is_bytes = 0;
    totals_of(self, &count, &bytes);
    return EXPECT_STATUS(self->run, larder_store_totals(self->store, &is_count, &is_bytes),
                         LARDER_OK) &&
           EXPECT(self->run, is_count == count && is_bytes == bytes,
                  "totals are %" PRIu64 " and %" PRIu64 ", should be %" PRIu64 " and %" PRIu64,
                  is_count, is_bytes, count, bytes);
}

static bool take_care(model *self) {
    uint64_t removed = 0, wanted;
    switch (rng_below(&self->random, 10)) {
    case 0:
    case 1:
    case 2: return flush(self);
    case 3:
        wanted = expire(self);
        flushed(self);
        return EXPECT_STATUS(self->run, larder_store_remove_expired(self->store, &removed),
                             LARDER_OK) &&
               EXPECT(self->run, removed == wanted,
                      "%" PRIu64 " expired were removed, not %" PRIu64, removed, wanted);
    case 4:
        (void)expire(self);
        flushed(self);
        return EXPECT_STATUS(self->run, larder_store_maintain(self->store), LARDER_OK);
    case 5: {
        uint64_t count = rng_below(&self->random, MODEL_KEYS);
        uint64_t bytes =
            rng_one_in(&self->random, 2) ? LARDER_STORE_UNLIMITED : rng_below(&self->random, 8000);
        uint64_t count_limit = self->options.limits.count, bytes_limit = self->options.limits.bytes;
        wanted = evict(self, count < count_limit ? count : count_limit,
                       bytes < bytes_limit ? bytes : bytes_limit);
        return EXPECT_STATUS(self->run, larder_store_trim(self->store, count, bytes, &removed),
                             LARDER_OK) &&
               EXPECT(self->run, removed == wanted, "a trim removed %" PRIu64 ", not %" PRIu64,
                      removed, wanted);
    }
    case 6: {
        larder_store_limits *limits = &self->options.limits;
        limits->count = rng_one_in(&self->random, 2) ? LARDER_STORE_UNLIMITED
                                                     : rng_below(&self->random, MODEL_KEYS);
        limits->bytes = rng_one_in(&self->random, 2)   ? LARDER_STORE_UNLIMITED
                        : rng_one_in(&self->random, 8) ? 0
                                                       : rng_below(&self->random, 20000);
        limits->age_ns = rng_one_in(&self->random, 2) ? LARDER_STORE_NEVER
                                                      : (int64_t)rng_below(&self->random, 5000);
        limits->end_ns = rng_one_in(&self->random, 8)
                             ? self->now + (int64_t)rng_below(&self->random, 500)
                             : LARDER_STORE_NEVER;
        return EXPECT_STATUS(self->run, larder_store_limits_set(self->store, limits), LARDER_OK);
    }
    case 7: {
        uint8_t prefix = (uint8_t)('a' + rng_below(&self->random, 5));
        if (!rng_one_in(&self->random, 4)) {
            return true;
        }
        // Nothing waits then that could bring a checkpoint between its parts.
        if (!flush(self)) {
            return false;
        }
        wanted = 0;
        for (uint32_t key = 1; key < MODEL_KEYS; key++) {
            if (self->entries[key].salt && has_prefix(key_of(key), bytes_of(&prefix, 1))) {
                self->entries[key].salt = 0;
                wanted++;
            }
        }
        return EXPECT_STATUS(
                   self->run,
                   larder_store_remove_prefix(self->store, bytes_of(&prefix, 1), &removed),
                   LARDER_OK) &&
               EXPECT(self->run, removed == wanted,
                      "%" PRIu64 " were removed by prefix, not %" PRIu64, removed, wanted);
    }
    case 8:
        if (!rng_one_in(&self->random, 6)) {
            return true;
        }
        if (!EXPECT_STATUS(self->run, larder_store_remove_all(self->store, NULL, NULL),
                           LARDER_OK) ||
            !catch_up(self)) {
            return false;
        }
        memset(self->entries, 0, sizeof self->entries);
        return true;
    default: return EXPECT_STATUS(self->run, larder_store_sync(self->store), LARDER_OK);
    }
}

static bool reopen(model *self) {
    larder_store_close(self->store);
    self->store = NULL;
    memset(self->kept, 0, sizeof self->kept);
    flushed(self);
    self->flushes = 0;
    return EXPECT_STATUS(
        self->run, larder_store_open(self->path, &self->options, NULL, &self->store), LARDER_OK);
}

static bool check(model *self) {
    larder_store_report report;
    if (!flush(self)) {
        return false;
    }
    larder_status status = larder_store_check(self->store, NULL, NULL, &report);
    return EXPECT(self->run,
                  status == LARDER_OK && report.damaged == 0 && report.inconsistencies == 0,
                  "check gave %d: %" PRIu64 " damaged, %" PRIu64 " inconsistencies", status,
                  report.damaged, report.inconsistencies);
}

static bool act(model *self) {
    // What is noted of reads is bounded.
    if (self->reads >= 40) {
        return flush(self);
    }
    uint64_t choice = rng_below(&self->random, 1000);
    if (choice < 300) {
        return put_one(self);
    }
    if (choice < 380) {
        return remove_one(self);
    }
    if (choice < 470) {
        return run_batch(self);
    }
    if (choice < 800) {
        return get_one(self);
    }
    if (choice < 860) {
        self->now += (int64_t)rng_below(&self->random, 300);
        return true;
    }
    if (choice < 920) {
        return verify_totals(self);
    }
    if (choice < 960) {
        return go_over(self);
    }
    if (choice < 990) {
        return take_care(self);
    }
    return choice < 997 ? check(self) : reopen(self);
}

static bool step(model *self) {
    self->operations++;
    torture_note(self->run, "operation %" PRIu64, self->operations);
    larder_store_statistics figures;
    if (!act(self) ||
        !EXPECT_STATUS(self->run, larder_store_statistics_get(self->store, &figures), LARDER_OK)) {
        return false;
    }
    // What was asked for is done in the model too.
    self->flushes = figures.flushes;
    return true;
}

static void run_model(torture *run, void *context) {
    model *self = context;
    self->run = run;
    remove_tree(self->path);
    larder_store_options *options = &self->options;
    *options = book_options(self->book, (uint32_t)LARDER_STORE_HOST_MAINTENANCE);
    if (rng_one_in(&self->random, 2)) {
        options->flags |= (uint32_t)LARDER_STORE_TRACK_ACCESS;
    }
    options->clock = model_clock;
    options->context = self;
    if (rng_one_in(&self->random, 2)) {
        options->grace_ns = (int64_t)rng_below(&self->random, 2000);
    }
    // Later deadlines than the second have no rows.
    self->now = rng_one_in(&self->random, 2) ? 1000000 : ((int64_t)1 << 62) - 30000;
    self->has_order = tracks(self);
    self->room = malloc((size_t)self->book->longest + (size_t)self->book->threshold_bytes + 4096);
    bool good =
        self->room &&
        EXPECT_STATUS(run, larder_store_open(self->path, options, NULL, &self->store), LARDER_OK);
    uint64_t most = run->brief ? 8000 : 30000;
    while (good && self->operations < most) {
        good = step(self);
    }
    if (!good) {
        printf("       at operation %" PRIu64 "\n", self->operations);
        fflush(stdout);
    }
    larder_store_close(self->store);
}

void family_store_model(torture *run) {
    model *self = shared_memory(sizeof *self);
    self->book = shared_memory(sizeof(book));
    rng random;
    while (torture_next_case(run, &random)) {
        torture_trial(run);
        book *notes = self->book;
        memset(self, 0, sizeof *self);
        self->book = notes;
        book_reset(self->book, &random);
        self->book->usual = 60;
        self->book->longest = 3000;
        self->random = random;
        self->path = torture_path(run, "store");
        torture_guard(run, 120, run_model, self);
        if (!torture_unhurt(run) && run->keep) {
            return;
        }
        remove_tree(self->path);
    }
}
