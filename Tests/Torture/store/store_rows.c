// SPDX-License-Identifier: MIT
// Rows of the tree in data.mdb changed through LMDB itself, so that every page is sound and what is
// in it is not: rows that are missing, too short, too long, of other numbers, under other keys, of
// no name space. No key may give another value than it has; nothing crashes, hangs, or goes on for
// ever; and the log has everything, whatever the tree says.
#include <errno.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store_rare.h"

enum { KEYS = 90, INDEX = 5, ROWS_OF_SPACE = 5, PLACES = 64, WAYS = 40 };

typedef struct rows_bench {
    const char *whole, *hurt, *target;
    /** The keys of the rows that are changed. */
    uint8_t keys[PLACES][512];
    size_t lengths[PLACES];
    size_t count;
    unsigned stride;
} rows_bench;

// The store ---------------------------------------------------------------------------------------

static larder_status opened(const char *path, uint32_t flags, int64_t age_ns, larder_store **out) {
    larder_store_options options;
    larder_store_tuning tuning;
    larder_store_options_init(&options);
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = 8 << 10;
    tuning.segment_max_bytes = 16 << 10;
    options.tuning = &tuning;
    options.clock = own_clock;
    options.limits.age_ns = age_ns;
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static larder_bytes key_of(unsigned number, char *target) {
    size_t length = (size_t)sprintf(target, "key %03u", number);
    size_t more = number % 6 == 5 ? 600 : number % 3 * 90;
    memset(target + length, 'k', more);
    return bytes_of(target, length + more);
}

static larder_bytes value_of(unsigned number, uint8_t *target) {
    size_t length = 1 + number % 5 * 150;
    target[0] = (uint8_t)number;
    for (size_t i = 1; i < length; i++) {
        target[i] = (uint8_t)mix2(number, i);
    }
    return bytes_of(target, length);
}

static larder_status put(larder_store *store, unsigned number) {
    static uint8_t text[400];
    char key[700];
    uint8_t value[700];
    larder_store_item item;
    memset(text, 'i', sizeof text);
    larder_store_index_entry index = {INDEX, bytes_of(text, number % 8 == 7 ? 300 : number % 8)};
    larder_store_item_init(&item, key_of(number, key), value_of(number, value));
    item.indexes = &index;
    item.index_count = number % 2;
    item.expires_ns = number % 4 == 1 ? 5000 + number : LARDER_STORE_NEVER;
    item.idle_ns = number % 6 == 3 ? 4000 : LARDER_STORE_NEVER;
    return larder_store_put(store, &item, NULL);
}

static bool make_store(torture *run, const char *path) {
    larder_store *store = NULL;
    the_time = 1000;
    larder_status status = opened(path, LARDER_STORE_TRACK_ACCESS, LARDER_STORE_NEVER, &store);
    for (unsigned round = 0; round < 2 && !status; round++) {
        for (unsigned i = 0; i < KEYS && !status; i++) {
            status = put(store, i);
        }
        status = status ? status : larder_store_flush(store);
    }
    // Reads are in the order of use with the next checkpoint.
    the_time = 1500;
    for (unsigned i = 0; i < KEYS && !status; i += 3) {
        char key[700];
        larder_store_entry entry;
        status = larder_store_get(store, key_of(i, key), 0, &entry);
        larder_store_release(&entry);
    }
    status = status ? status : put(store, 7);
    status = status ? status : larder_store_flush(store);
    larder_store_close(store);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

// Changing ----------------------------------------------------------------------------------------

/** Some rows of each name space: the first ones, and the last. */
static bool find_rows(torture *run, rows_bench *self) {
    static const uint8_t spaces[] = {0x01, 0x03, 0x10, 0x20, 0x30, 0x40, 0x50};
    tree_edit edit;
    MDB_cursor *cursor = NULL;
    bool good =
        edit_begin(self->whole, &edit) && mdb_cursor_open(edit.txn, edit.tree, &cursor) == 0;
    for (size_t i = 0; i < sizeof spaces && good; i++) {
        uint8_t start = spaces[i];
        MDB_val key = {1, &start}, value;
        int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
        for (unsigned n = 0; code == 0 && *(uint8_t *)key.mv_data == spaces[i]; n++) {
            if (n % 7 == 0 && n / 7 < ROWS_OF_SPACE && self->count < PLACES) {
                memcpy(self->keys[self->count], key.mv_data, key.mv_size);
                self->lengths[self->count++] = key.mv_size;
            }
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
    }
    if (good) {
        mdb_cursor_close(cursor);
        mdb_txn_abort(edit.txn);
        mdb_env_close(edit.env);
    }
    return EXPECT(run, good && self->count > 15, "%zu rows to change", self->count);
}

/** Changes the row in one of the ways. @return false if it has none such. */
static bool change_row(tree_edit *edit, const uint8_t *name, size_t length, unsigned way) {
    static const uint8_t numbers[] = {0x00, 0x01, 0x7F, 0xFF};
    uint8_t key[512], value[2000];
    MDB_val at = {length, key}, found;
    memcpy(key, name, length);
    if (mdb_get(edit->txn, edit->tree, &at, &found) != 0 || found.mv_size > sizeof value - 8) {
        return false;
    }
    size_t size = found.mv_size;
    memset(value, 0, sizeof value);
    memcpy(value, found.mv_data, size);
    if (way < 8) {
        // Of another length, or gone.
        const size_t sizes[] = {0, size - 1, size + 1, size + 8, size / 2, 1, 15, 24};
        size = sizes[way];
    } else if (way < 32) {
        // One of the value's words: in eights from the start.
        size_t word = (way - 8) / 4 * 4;
        if (word + 4 > size) {
            return false;
        }
        memset(value + word, numbers[way % 4], 4);
    } else if (way < 36) {
        // Under another key.
        if (length < 2) {
            return false;
        }
        (void)mdb_del(edit->txn, edit->tree, &at, NULL);
        at.mv_size = way == 32 ? length - 1 : way == 33 && length < 511 ? length + 1 : length;
        key[length] = 0;
        key[length / 2] ^= way == 34;
        key[1] ^= way == 35 ? 0x40 : 0;
    } else if (way == 36) {
        return mdb_del(edit->txn, edit->tree, &at, NULL) == 0;
    } else if (way == 37) {
        memset(key, 0xEE, sizeof key);
        key[0] = name[0];
        at.mv_size = 511;
    } else {
        // A name space that there is not, or the key of a row of another one.
        key[0] = way == 38 ? 0x60 : (uint8_t)(name[0] ^ 0x10);
    }
    found = (MDB_val){size, value};
    return mdb_put(edit->txn, edit->tree, &at, &found, 0) == 0;
}

// Reading -----------------------------------------------------------------------------------------

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN || status == LARDER_EVERSION ||
           status == LARDER_EMISMATCH;
}

static bool is_right(const larder_store_entry *entry) {
    uint8_t value[700];
    char key[700];
    if (entry->value.length == 0 || *(const uint8_t *)entry->value.data >= KEYS) {
        return false;
    }
    unsigned number = *(const uint8_t *)entry->value.data;
    larder_bytes wanted = value_of(number, value), name = key_of(number, key);
    return entry->value.length == wanted.length &&
           memcmp(entry->value.data, value, wanted.length) == 0 &&
           entry->key.length == name.length && memcmp(entry->key.data, key, name.length) == 0;
}

static void walk(torture *run, larder_store *store, const larder_store_query *query) {
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    uint64_t count;
    larder_status status = larder_store_cursor_open(store, query, &cursor);
    EXPECT(run, status == LARDER_OK || is_damage(status), "cursor_open gave %d", status);
    unsigned steps = 0;
    while (cursor && status != LARDER_END &&
           EXPECT(run, steps++ < 30 * KEYS, "a cursor goes on for ever")) {
        status = larder_store_cursor_next(cursor, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_END || is_damage(status),
               "a cursor gave %d", status);
        EXPECT(run, status != LARDER_OK || is_right(&entry), "a cursor gave a wrong value");
    }
    larder_store_cursor_close(cursor);
    status = larder_store_count(store, query, LARDER_STORE_UNLIMITED, &count);
    EXPECT(run, status == LARDER_OK || is_damage(status), "count gave %d", status);
}

static void read_all(torture *run, larder_store *store) {
    static uint8_t text[700];
    memset(text, 'k', sizeof text);
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i++) {
        char key[700];
        larder_store_entry entry;
        larder_status status = larder_store_get(store, key_of(i, key), 0, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND || is_damage(status),
               "get gave %d", status);
        EXPECT(run, status != LARDER_OK || is_right(&entry), "key %u has a wrong value", i);
        larder_store_release(&entry);
    }
    for (unsigned kind = 0; kind < 24 && torture_unhurt(run); kind++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = (larder_store_order)(kind % 3);
        query.index = INDEX;
        query.flags = kind & 1 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        char lower[700], upper[700];
        bool is_index = query.order == LARDER_STORE_BY_INDEX;
        memset(text, is_index ? 'i' : 'k', sizeof text);
        if (kind / 6 == 1 && query.order != LARDER_STORE_BY_RECENCY) {
            query.flags |= LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER |
                           (kind & 2 ? LARDER_STORE_LOWER_EXCLUSIVE : 0) |
                           (kind & 2 ? 0 : LARDER_STORE_UPPER_EXCLUSIVE);
            query.lower = is_index ? bytes_of(text, 2) : key_of(11, lower);
            query.upper = is_index ? bytes_of(text, 300) : key_of(77, upper);
        } else if (kind / 6 == 2 && query.order != LARDER_STORE_BY_RECENCY) {
            query.prefix = is_index ? bytes_of(text, kind & 1 ? 290 : 3)
                                    : bytes_of(key_of(5, lower).data, kind & 1 ? 600 : 5);
        } else if (kind / 6 == 3 && query.order != LARDER_STORE_BY_RECENCY) {
            query.flags |= LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER;
            query.lower = is_index ? bytes_of(text, 280) : key_of(5, lower);
            query.upper = is_index ? bytes_of(text, 300) : key_of(83, upper);
        }
        walk(run, store, &query);
    }
}

static void write_some(torture *run, larder_store *store) {
    uint64_t removed;
    larder_status statuses[8];
    size_t count = 0;
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i += 2) {
        larder_status status = put(store, i);
        EXPECT(run, status == LARDER_OK || is_damage(status), "put gave %d", status);
    }
    // What waits for a checkpoint lies over what is in the tree.
    read_all(run, store);
    statuses[count++] = larder_store_flush(store);
    read_all(run, store);
    the_time = 5060;
    statuses[count++] = larder_store_remove_expired(store, &removed);
    statuses[count++] = larder_store_trim(store, KEYS / 3, LARDER_STORE_UNLIMITED, &removed);
    statuses[count++] = larder_store_remove_prefix(store, bytes_of_text("key 04"), &removed);
    statuses[count++] = larder_store_maintain(store);
    for (size_t i = 0; i < count; i++) {
        EXPECT(run, statuses[i] == LARDER_OK || is_damage(statuses[i]), "call %zu gave %d", i,
               statuses[i]);
    }
    read_all(run, store);
}

// Trials ------------------------------------------------------------------------------------------

static void use_hurt(torture *run, const char *path, unsigned way) {
    larder_store *store = NULL;
    larder_store_report report;
    int64_t age_ns = way & 4 ? 1000000 : LARDER_STORE_NEVER;
    uint32_t flags = way & 1 ? (uint32_t)LARDER_STORE_READ_ONLY : 0;
    larder_status status = opened(path, flags, age_ns, &store);
    if (!EXPECT(run, status == LARDER_OK || is_damage(status), "open gave %d", status) || !store) {
        return;
    }
    read_all(run, store);
    status = larder_store_check(store, NULL, NULL, &report);
    EXPECT(run, status == LARDER_OK || is_damage(status), "the check gave %d", status);
    if (!(way & 1)) {
        write_some(run, store);
    }
    larder_store_close(store);
}

/** The tree is not needed: what the log has comes back. */
static void mend_hurt(torture *run, const rows_bench *self, bool is_rebuilt) {
    larder_store *store = NULL;
    larder_store_report report;
    const char *path = is_rebuilt ? self->hurt : self->target;
    remove_tree(self->target);
    larder_status status =
        is_rebuilt ? larder_store_rebuild(self->hurt, NULL, NULL, NULL, &report)
                   : larder_store_salvage(self->hurt, self->target, NULL, NULL, NULL, &report);
    if (!EXPECT(run, status == LARDER_OK || is_damage(status), "mending gave %d", status) ||
        status) {
        return;
    }
    if (EXPECT_STATUS(run, opened(path, LARDER_STORE_READ_ONLY, LARDER_STORE_NEVER, &store),
                      LARDER_OK)) {
        read_all(run, store);
        EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    }
    larder_store_close(store);
}

static void trial(torture *run, void *context, uint64_t index) {
    const rows_bench *self = context;
    uint64_t nth = index * self->stride;
    size_t number = nth / WAYS;
    unsigned way = (unsigned)(nth % WAYS), use = (unsigned)(mix2(run->seed, nth) % 8);
    tree_edit edit;
    torture_note(run, "row %zu, of name space %02x, way %u, use %u", number, self->keys[number][0],
                 way, use);
    the_time = 2000;
    remove_tree(self->hurt);
    if (!EXPECT(run, copy_tree(self->whole, self->hurt) && edit_begin(self->hurt, &edit),
                "cannot copy or open the store")) {
        return;
    }
    bool is_changed = change_row(&edit, self->keys[number], self->lengths[number], way);
    // A meta row that has another length now, or is gone, cannot be sealed.
    bool is_sealed =
        (use == 7 && is_changed) || edit_seal(&edit, NULL) || self->keys[number][0] == 1;
    if (!EXPECT(run, edit_end(&edit) && is_sealed, "cannot commit") || !is_changed) {
        return;
    }
    if (use == 2 || use == 6) {
        mend_hurt(run, self, use == 2);
    } else {
        use_hurt(run, self->hurt, use);
    }
}

void family_store_rows(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    char whole[600], hurt[600], target[600];
    snprintf(whole, sizeof whole, "%s", torture_path(run, "whole"));
    snprintf(hurt, sizeof hurt, "%s", torture_path(run, "hurt"));
    snprintf(target, sizeof target, "%s", torture_path(run, "target"));
    static rows_bench self;
    self = (rows_bench){.whole = whole, .hurt = hurt, .target = target};
    self.stride = run->brief ? 11 : 2;
    torture_trial(run);
    if (make_store(run, whole) && find_rows(run, &self)) {
        torture_guard_each(run, self.count * WAYS / self.stride, 20, true, trial, &self);
    }
}
