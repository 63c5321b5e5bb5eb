// SPDX-License-Identifier: MIT
// One bit of data.mdb changed, or a sector of it zeros, everywhere there is a page. What is asked
// of the store, in ranges of two indexes and of keys, both ways, gives what it gave before, or says
// that it is damaged: no entry is left out in silence.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store.h"

enum {
    KEYS = 420,
    WORDS = 3,
    NUMBERS = 4,
    VALUES = 24,
    /** Every so many of them are bounds of half-open ranges too. */
    STEP = 6,
    QUERIES = 2 * (2 * VALUES + 2 * 2 * VALUES / STEP + VALUES + 8),
    WORD_MAX_BYTES = 300,
    KEY_MAX_BYTES = 64,
    PAGE_BITS = 4096 * 8,
    SECTOR_BYTES = 512,
    HEAD_BITS = 16 * 8
};

/** What a query gives, in order; and whether something could not be read. */
typedef struct outcome {
    uint64_t digest, entries, counted;
    bool is_damaged, is_count_damaged;
    /** By key: something came before it was its turn, and nothing had been said of damage. */
    bool is_out_of_turn;
    long first;
} outcome;

typedef struct bits_bench {
    const char *path;
    int file;
    uint64_t bits;
    outcome whole[QUERIES];
} bits_bench;

// The store ---------------------------------------------------------------------------------------

static size_t number_value(unsigned number, uint8_t target[4]) {
    memset(target, 0, 4);
    target[3] = (uint8_t)(number * 2);
    return 4;
}

/** The last ones are so long that the index has only what they begin with. */
static size_t word_value(unsigned number, char target[WORD_MAX_BYTES]) {
    size_t stem = number < VALUES - 3 ? 0 : 270;
    memset(target, 'd', stem);
    return stem + (size_t)sprintf(target + stem, "%c word %u", 'c' + (int)number % 3, number);
}

/** Of different lengths: beside a key that zeros begin in, the wanted one may be longer. */
static larder_bytes key_of(unsigned number, char target[KEY_MAX_BYTES]) {
    const char *rest = number % 7 == 0 ? ", and more of it, for it is longer than others" : "";
    return bytes_of(target, (size_t)sprintf(target, "key %03u%s", number * 2, rest));
}

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static larder_status put(larder_store *store, unsigned i) {
    char key[KEY_MAX_BYTES], word[WORD_MAX_BYTES];
    uint8_t number[4];
    size_t number_bytes = number_value(i % VALUES, number);
    larder_store_index_entry indexes[2] = {
        {NUMBERS, bytes_of(number, number_bytes)},
        {WORDS, bytes_of(word, word_value(i * 7 % VALUES, word))}};
    larder_store_item item;
    larder_store_item_init(&item, key_of(i, key), bytes_of(key, 1 + i % 6));
    item.indexes = indexes;
    item.index_count = 2;
    item.expires_ns = i % 5 ? LARDER_STORE_NEVER : INT64_MAX / 4 + i;
    return larder_store_put(store, &item, NULL);
}

/** Writes some again, and ends without a checkpoint: lists merge them with the index. */
static larder_status leave_some_waiting(const char *path) {
    pid_t child = fork();
    if (child == 0) {
        larder_store *store;
        larder_status status = opened(path, 0, &store);
        for (unsigned i = 3; i < KEYS && !status; i += 20) status = put(store, i);
        _exit(status != LARDER_OK);
    }
    int ended = -1;
    return child > 0 && waitpid(child, &ended, 0) == child && ended == 0 ? LARDER_OK : ECHILD;
}

static bool make_store(torture *run, const char *path) {
    larder_store *store = NULL;
    larder_status status = opened(path, LARDER_STORE_TRACK_ACCESS, &store);
    for (unsigned i = 0; i < KEYS && !status; i++) status = put(store, i);
    if (!status) status = larder_store_flush(store);
    larder_store_close(store);
    // Without pages that nothing leads to.
    if (!status) status = larder_store_compact(path, NULL, NULL, NULL, NULL, NULL);
    if (!status) status = leave_some_waiting(path);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

// Asking ------------------------------------------------------------------------------------------

static outcome ask(larder_store *store, const larder_store_query *query) {
    outcome out = {0};
    larder_store_cursor *cursor = NULL;
    larder_status status = larder_store_cursor_open(store, query, &cursor);
    out.is_damaged = status != LARDER_OK;
    const bool is_by_key = query->order == LARDER_STORE_BY_KEY;
    const long step = query->flags & LARDER_STORE_DESCENDING ? -2 : 2;
    out.first = -1;
    // Never the same damage twice, so this ends.
    while (cursor && status != LARDER_END) {
        larder_store_entry entry;
        status = larder_store_cursor_next(cursor, &entry);
        if (status == LARDER_OK) {
            uint64_t digest = query->order == LARDER_STORE_BY_RECENCY ? 0 : out.digest;
            for (size_t i = 0; i < entry.key.length; i++)
                digest = mix2(digest, ((const uint8_t *)entry.key.data)[i]);
            // In the order of use a row that says another time is no entry less.
            out.digest = digest + (query->order == LARDER_STORE_BY_RECENCY ? out.digest : 0);
            // Behind "key ": a key ends without a zero.
            const uint8_t *digits = (const uint8_t *)entry.key.data + 4;
            long number = (digits[0] * 10L + digits[1]) * 10 + digits[2] - 111L * '0';
            if (out.entries == 0) out.first = number;
            out.is_out_of_turn |=
                is_by_key && !out.is_damaged && number != out.first + step * (long)out.entries;
            out.entries++;
        } else if (status != LARDER_END) {
            out.is_damaged = true;
        }
    }
    larder_store_cursor_close(cursor);
    out.is_count_damaged =
        larder_store_count(store, query, LARDER_STORE_UNLIMITED, &out.counted) != LARDER_OK;
    return out;
}

static unsigned ask_both_ways(larder_store *store, larder_store_query *query, outcome *out) {
    query->flags &= ~(uint32_t)LARDER_STORE_DESCENDING;
    out[0] = ask(store, query);
    query->flags |= LARDER_STORE_DESCENDING;
    out[1] = ask(store, query);
    return 2;
}

static void ask_everything(larder_store *store, outcome out[QUERIES]) {
    unsigned count = 0;
    char word[WORD_MAX_BYTES], key[KEY_MAX_BYTES], other[KEY_MAX_BYTES];
    uint8_t number[4];
    for (uint16_t index = WORDS; index <= NUMBERS; index++) {
        for (unsigned i = 0; i < VALUES; i++) {
            larder_store_query query;
            larder_store_query_init(&query);
            query.order = LARDER_STORE_BY_INDEX;
            query.index = index;
            larder_bytes value = index == WORDS ? bytes_of(word, word_value(i, word))
                                                : bytes_of(number, number_value(i, number));
            query.lower = query.upper = value;
            query.flags = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER;
            count += ask_both_ways(store, &query, out + count);
            if (i % STEP) continue;
            query.flags = LARDER_STORE_HAS_LOWER | LARDER_STORE_LOWER_EXCLUSIVE;
            count += ask_both_ways(store, &query, out + count);
            query.flags = LARDER_STORE_HAS_UPPER;
            count += ask_both_ways(store, &query, out + count);
        }
    }
    for (unsigned i = 0; i < VALUES; i++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.flags = LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER;
        query.lower = key_of(i * KEYS / VALUES, key);
        query.upper = key_of(i * KEYS / VALUES + 15, other);
        count += ask_both_ways(store, &query, out + count);
    }
    for (unsigned i = 0; i < 8; i++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = i < 6 ? (larder_store_order)(i % 3) : LARDER_STORE_BY_INDEX;
        query.index = i % 2 ? WORDS : NUMBERS;
        if (i == 6) query.prefix = bytes_of("d word 1", 8);
        if (i == 3) query.prefix = bytes_of("key 3", 5);
        count += ask_both_ways(store, &query, out + count);
    }
}

/** How many keys that are there are said not to be. */
static unsigned missed_keys(larder_store *store) {
    unsigned missed = 0;
    char key[KEY_MAX_BYTES];
    for (unsigned i = 0; i < KEYS; i++) {
        larder_store_entry entry;
        missed +=
            larder_store_get(store, key_of(i, key), LARDER_STORE_PEEK, &entry) == LARDER_ENOTFOUND;
        larder_store_release(&entry);
    }
    return missed;
}

// Trials ------------------------------------------------------------------------------------------

/** Changes the bit, or has zeros in its sector. @param was receives what was there. */
static bool hurt(const bits_bench *self, uint64_t bit, bool zeroes, uint8_t was[SECTOR_BYTES]) {
    uint8_t now[SECTOR_BYTES] = {0};
    off_t at = (off_t)(bit / 8 / SECTOR_BYTES * SECTOR_BYTES);
    if (pread(self->file, was, SECTOR_BYTES, at) != SECTOR_BYTES) return false;
    if (!zeroes) memcpy(now, was, sizeof now);
    if (!zeroes) now[bit / 8 % SECTOR_BYTES] ^= (uint8_t)(1u << bit % 8);
    return pwrite(self->file, now, SECTOR_BYTES, at) == SECTOR_BYTES;
}

static bool heal(const bits_bench *self, uint64_t bit, const uint8_t was[SECTOR_BYTES]) {
    off_t at = (off_t)(bit / 8 / SECTOR_BYTES * SECTOR_BYTES);
    return pwrite(self->file, was, SECTOR_BYTES, at) == SECTOR_BYTES;
}

static void trial(torture *run, void *context, uint64_t index) {
    static outcome now[QUERIES];
    const bits_bench *self = context;
    uint64_t bit = mix2(run->seed, index) % self->bits;
    // Every fourth one in a page's head, of which each bit matters to the whole page.
    if (index % 4 == 0) bit = bit / PAGE_BITS * PAGE_BITS + bit % HEAD_BITS;
    larder_store *store = NULL;
    uint8_t before[SECTOR_BYTES];
    const bool zeroes = index % 8 == 1;
    torture_note(run, "byte %llu, bit %llu%s", (unsigned long long)bit / 8,
                 (unsigned long long)bit % 8, zeroes ? ", its sector" : "");
    if (!EXPECT(run, hurt(self, bit, zeroes, before), "cannot change the bit")) return;
    if (opened(self->path, LARDER_STORE_READ_ONLY, &store) == LARDER_OK) {
        ask_everything(store, now);
        for (unsigned i = 0; i < QUERIES && torture_unhurt(run); i++) {
            const outcome *was = &self->whole[i];
            EXPECT(run,
                   now[i].is_damaged ||
                       (now[i].digest == was->digest && now[i].entries == was->entries),
                   "byte %llu, bit %llu: query %u gives %llu of %llu, and nothing is damaged",
                   (unsigned long long)bit / 8, (unsigned long long)bit % 8, i,
                   (unsigned long long)now[i].entries, (unsigned long long)was->entries);
            EXPECT(run,
                   !now[i].is_out_of_turn &&
                       (now[i].first == was->first || now[i].is_damaged || was->entries == 0),
                   "byte %llu, bit %llu: query %u has an entry before it is its turn",
                   (unsigned long long)bit / 8, (unsigned long long)bit % 8, i);
            EXPECT(run, now[i].is_count_damaged || now[i].counted == was->counted,
                   "byte %llu, bit %llu: query %u counts %llu of %llu, and nothing is damaged",
                   (unsigned long long)bit / 8, (unsigned long long)bit % 8, i,
                   (unsigned long long)now[i].counted, (unsigned long long)was->counted);
        }
        unsigned missed = missed_keys(store);
        EXPECT(run, missed == 0,
               "byte %llu, bit %llu: %u keys are not found, and nothing is damaged",
               (unsigned long long)bit / 8, (unsigned long long)bit % 8, missed);
        larder_store_close(store);
    }
    EXPECT(run, heal(self, bit, before), "cannot change the bit back");
}

void family_store_bits(torture *run) {
    rng random;
    static bits_bench self;
    if (!torture_next_case(run, &random)) return;
    torture_trial(run);
    self.path = torture_path(run, "store");
    if (!make_store(run, self.path)) return;
    char data[700];
    snprintf(data, sizeof data, "%s/data.mdb", self.path);
    larder_store *store = NULL;
    self.file = open(data, O_RDWR | O_CLOEXEC);
    self.bits = (uint64_t)size_of_file(data) * 8;
    if (!EXPECT(run, self.file >= 0, "cannot open %s", data) ||
        !EXPECT_STATUS(run, opened(self.path, LARDER_STORE_READ_ONLY, &store), LARDER_OK))
        return;
    ask_everything(store, self.whole);
    larder_store_close(store);
    EXPECT(run, self.whole[QUERIES - 16].entries == KEYS, "the whole has %llu entries",
           (unsigned long long)self.whole[QUERIES - 16].entries);
    torture_guard_each(run, run->brief ? 120 : self.bits, 20, run->brief, trial, &self);
    close(self.file);
}
