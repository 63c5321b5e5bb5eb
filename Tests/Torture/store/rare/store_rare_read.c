// SPDX-License-Identifier: MIT
// What reading, opening and writing come to seldom, each by itself: rows of the tree that lead
// nowhere while others wait over them, counts that memory runs out in, handles that were shut down
// or inherited, logs that are cut or have holes, writers without room, several stores at once.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <lmdb.h>
#include <signal.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "larder_store_feed.h"
#include "store_disk.h"
#include "store_rare.h"

enum { KEYS = 60, INDEX = 5, PASSES_MOST = 400, ROOM = 1 << 20, MANY_READ = 600 };

// Stores ------------------------------------------------------------------------------------------

static larder_store_options options_of(uint32_t flags) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags;
    options.clock = own_clock;
    return options;
}

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    larder_store_options options = options_of(flags | LARDER_STORE_HOST_MAINTENANCE);
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static larder_status opened_tuned(const char *path, const larder_store_tuning *tuning,
                                  larder_store **out) {
    larder_store_options options = options_of(LARDER_STORE_HOST_MAINTENANCE);
    options.tuning = tuning;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

/** One in ten is longer than the tree's keys can be. */
static larder_bytes key_of(unsigned number) {
    static char texts[4][800];
    static unsigned next;
    char *text = texts[next++ % 4];
    bool is_long = number % 10 == 9;
    size_t more = is_long ? 600 : 0;
    memset(text, 'l', more);
    return bytes_of(text, more + (size_t)snprintf(text + more, 20, "key %05u", number));
}

static larder_bytes value_of(unsigned number, uint8_t *target) {
    size_t length = 2 + number % 3 * 100;
    memset(target, (int)(number & 0x7F) | 0x80, length);
    target[0] = (uint8_t)number;
    target[1] = (uint8_t)(number >> 8);
    return bytes_of(target, length);
}

/** Those of odd numbers expire, and are in the index; one in eight with a value that is cut. */
static larder_status put(larder_store *store, unsigned number) {
    static uint8_t text[300], value[300];
    larder_store_item item;
    memset(text, 'i', sizeof text);
    larder_store_index_entry index = {INDEX, bytes_of(text, number % 8 == 7 ? 300 : number % 8)};
    larder_store_item_init(&item, key_of(number), value_of(number, value));
    item.indexes = &index;
    item.index_count = number % 2;
    item.expires_ns = number % 2 ? 5000 + (int64_t)number : LARDER_STORE_NEVER;
    return larder_store_put(store, &item, NULL);
}

static bool is_right(unsigned number, const larder_store_entry *entry) {
    uint8_t value[300];
    larder_bytes wanted = value_of(number, value);
    return entry->value.length == wanted.length &&
           memcmp(entry->value.data, value, wanted.length) == 0;
}

static bool holds(larder_store *store, unsigned number) {
    larder_store_entry entry;
    bool is_there =
        larder_store_get(store, key_of(number), LARDER_STORE_EXPIRED_TOO, &entry) == LARDER_OK &&
        is_right(number, &entry);
    larder_store_release(&entry);
    return is_there;
}

static bool make_store(torture *run, const char *path, unsigned count) {
    larder_store *store = NULL;
    the_time = 1000;
    larder_status status = opened(path, 0, &store);
    for (unsigned i = 0; i < count && !status; i++) {
        status = put(store, i);
    }
    status = status ? status : larder_store_flush(store);
    larder_store_close(store);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

/** Writes over the file that is there, for whoever has it open. */
static bool overwrite(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "r+b");
    bool good = file && fwrite(bytes, 1, size, file) == size;
    return file && fclose(file) == 0 && good;
}

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN || status == LARDER_EVERSION;
}

static larder_store_query query_of(unsigned kind) {
    static char text[700];
    static uint8_t value[300];
    larder_store_query query;
    larder_store_query_init(&query);
    memset(value, 'i', sizeof value);
    memset(text, 'l', sizeof text);
    query.order = (larder_store_order)(kind % 3);
    query.index = INDEX;
    bool is_index = query.order == LARDER_STORE_BY_INDEX;
    if (kind / 3 == 1) {
        query.flags = LARDER_STORE_DESCENDING;
    } else if (kind / 3 == 2 && query.order != LARDER_STORE_BY_RECENCY) {
        query.flags = LARDER_STORE_HAS_LOWER | LARDER_STORE_LOWER_EXCLUSIVE;
        query.lower = is_index ? bytes_of(value, 290) : bytes_of("key 00003", 9);
    } else if (kind / 3 == 3 && query.order != LARDER_STORE_BY_RECENCY) {
        // Longer than what the tree has of a key.
        memcpy(text + 600, "key 0002", 8);
        query.prefix = is_index ? bytes_of(value, 2) : bytes_of(text, 608);
    } else if (kind / 3 == 4 && query.order != LARDER_STORE_BY_RECENCY) {
        query.flags = LARDER_STORE_HAS_LOWER;
        query.lower = bytes_of_text("j");
    } else if (kind / 3 == 5 && query.order != LARDER_STORE_BY_RECENCY) {
        query.flags = LARDER_STORE_HAS_UPPER | LARDER_STORE_UPPER_EXCLUSIVE;
        query.upper = bytes_of_text("iii");
    }
    return query;
}
enum { QUERIES = 18 };

/** Passes and counts in one of the orders. */
static void walk(torture *run, larder_store *store, unsigned kind, bool is_hurt) {
    larder_store_query query = query_of(kind);
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    uint64_t count = 0, seen = 0;
    bool is_whole = true;
    larder_status status = larder_store_cursor_open(store, &query, &cursor);
    EXPECT(run, status == LARDER_OK || is_damage(status), "a cursor's opening gave %d", status);
    unsigned steps = 0;
    while (cursor && status != LARDER_END &&
           EXPECT(run, steps++ < 40 * KEYS, "a cursor goes on for ever")) {
        status = larder_store_cursor_next(cursor, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_END || is_damage(status),
               "a cursor gave %d", status);
        is_whole = is_whole && (status == LARDER_OK || status == LARDER_END);
        seen += status == LARDER_OK;
    }
    larder_store_cursor_close(cursor);
    larder_status counted = larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
    EXPECT(run, counted == LARDER_OK || is_damage(counted), "count gave %d", counted);
    // Of rows that contradict one another, either may be believed.
    EXPECT(run, is_hurt || (is_whole && !counted && count == seen),
           "query %u: %llu counted, %llu passed, and %d", kind, (unsigned long long)count,
           (unsigned long long)seen, counted);
}

static void read_all(torture *run, larder_store *store) {
    larder_store_statistics figures;
    uint64_t count, bytes;
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i++) {
        larder_store_entry entry;
        larder_status status = larder_store_get(store, key_of(i), 0, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND || is_damage(status),
               "get gave %d", status);
        EXPECT(run, status != LARDER_OK || is_right(i, &entry), "key %u has a wrong value", i);
        larder_store_release(&entry);
    }
    for (unsigned kind = 0; kind < QUERIES && torture_unhurt(run); kind++) {
        walk(run, store, kind, true);
    }
    larder_status status = larder_store_statistics_get(store, &figures);
    EXPECT(run, status == LARDER_OK || is_damage(status), "statistics gave %d", status);
    status = larder_store_totals(store, &count, &bytes);
    EXPECT(run, status == LARDER_OK || is_damage(status), "totals gave %d", status);
}

/** Each key has to have no version that any has. */
static void require_all(torture *run, larder_store *store) {
    larder_store_batch *batch = NULL;
    EXPECT_STATUS(run, larder_store_batch_create(store, &batch), LARDER_OK);
    for (unsigned i = 0; i < KEYS && batch; i++) {
        larder_status status = larder_store_batch_require(batch, key_of(i), 9999);
        status = status ? status : larder_store_batch_commit(batch, 0, NULL);
        EXPECT(run, status == LARDER_ECONFLICT || is_damage(status), "a requirement gave %d",
               status);
    }
    larder_store_batch_destroy(batch);
}

// Rows that are wrong -----------------------------------------------------------------------------

/** A row that is changed, and room for it. */
typedef struct row_edit {
    tree_edit in;
    uint8_t key[600], value[70000];
    MDB_val at, found;
} row_edit;

static bool edit_put(row_edit *edit) {
    return mdb_put(edit->in.txn, edit->in.tree, &edit->at, &edit->found, 0) == 0;
}

/** Copies the row with that key, or the first one behind it. */
static bool edit_find(row_edit *edit, const void *key, size_t length) {
    MDB_cursor *cursor = NULL;
    memcpy(edit->key, key, length);
    edit->at = (MDB_val){length, edit->key};
    bool good = mdb_cursor_open(edit->in.txn, edit->in.tree, &cursor) == 0 &&
                mdb_cursor_get(cursor, &edit->at, &edit->found, MDB_SET_RANGE) == 0 &&
                edit->at.mv_size <= 511 && edit->found.mv_size < 4096;
    if (good) {
        memmove(edit->key, edit->at.mv_data, edit->at.mv_size);
        memset(edit->value, 0, sizeof edit->value);
        memcpy(edit->value, edit->found.mv_data, edit->found.mv_size);
        edit->at.mv_data = edit->key;
        edit->found.mv_data = edit->value;
    }
    if (cursor) {
        mdb_cursor_close(cursor);
    }
    return good;
}

static bool edit_find_entry(row_edit *edit, unsigned number) {
    uint8_t key[64] = {0x10};
    larder_bytes name = key_of(number);
    // Of a long one its first bytes are enough: they come in the order of their hashes.
    size_t length = name.length > 60 ? 60 : name.length;
    memcpy(key + 1, name.data, length);
    return edit_find(edit, key, 1 + length);
}

/** Gives the first row behind these bytes a value that lies on pages of its own. */
static bool edit_overflow(row_edit *edit, const void *start, size_t length) {
    bool good = edit_find(edit, start, length);
    edit->found.mv_size = 6000;
    return good && edit_put(edit);
}

enum {
    ENTRY_GONE,
    ENTRY_OF_ANOTHER_WRITE,
    ENTRY_TOO_SHORT,
    ENTRY_TOO_LONG,
    ENTRY_OF_ANOTHER_KEY,
    EXPIRY_TWICE,
    EXPIRY_OVERFLOWS,
    EXPIRY_WITHOUT_KEY,
    EXPIRY_WITHOUT_KEY_LAST = EXPIRY_WITHOUT_KEY + 3,
    INDEX_WITHOUT_END,
    INDEX_TO_A_LONG_KEY,
    INDEX_OVERFLOWS,
    SEGMENT_OVERFLOWS,
    SEGMENT_WITHOUT_NUMBER,
    COUNT_TOO_SMALL,
    VALUE_FLIPPED,
    ROWS_WRONG
};
/** The key that is hurt: it expires, is in the index, and its value lies in the log. */
enum { HURT = 11 };

static bool change_row(row_edit *edit, unsigned what) {
    bool good;
    switch (what) {
    case ENTRY_GONE:
        return edit_find_entry(edit, HURT) &&
               mdb_del(edit->in.txn, edit->in.tree, &edit->at, NULL) == 0;
    case ENTRY_OF_ANOTHER_WRITE:
        good = edit_find_entry(edit, HURT);
        edit->value[0] ^= 0x80;
        return good && edit_put(edit);
    case ENTRY_TOO_SHORT:
        good = edit_find_entry(edit, HURT);
        edit->found.mv_size = 10;
        return good && edit_put(edit);
    case ENTRY_TOO_LONG:
        good = edit_find_entry(edit, HURT);
        edit->found.mv_size = 70000;
        return good && edit_put(edit);
    case ENTRY_OF_ANOTHER_KEY: {
        uint8_t first[512];
        good = edit_find_entry(edit, 9);
        size_t length = edit->at.mv_size;
        memcpy(first, edit->key, length);
        edit->key[length - 1]++;
        good = good && edit_find(edit, edit->key, length) && edit->at.mv_size == length;
        edit->at = (MDB_val){length, first};
        return good && edit_put(edit);
    }
    case EXPIRY_TWICE:
        good = edit_find(edit, "\x20", 1);
        edit->key[edit->at.mv_size - 1] ^= 1;
        return good && edit_put(edit);
    case EXPIRY_OVERFLOWS: return edit_overflow(edit, "\x20", 1);
    case INDEX_WITHOUT_END:
        good = edit_find(edit, "\x30\0\5", 3);
        memset(edit->key + 3, 'j', 400);
        edit->at.mv_size = 403;
        return good && edit_put(edit);
    case INDEX_TO_A_LONG_KEY:
        good = edit_find(edit, "\x30\0\5", 3);
        memset(edit->value, 'x', 600);
        edit->found.mv_size = 600;
        return good && edit_put(edit);
    case INDEX_OVERFLOWS:
        // Not the first one, which is what lies behind the rows of expiry.
        return edit_overflow(edit, "\x30\0\5ii", 5);
    case SEGMENT_OVERFLOWS: return edit_overflow(edit, "\3", 1);
    case SEGMENT_WITHOUT_NUMBER:
        good = edit_find(edit, "\3", 1);
        edit->key[edit->at.mv_size++] = 0;
        return good && edit_put(edit);
    default: return true;
    }
}

static bool is_without_key(unsigned what) {
    return what >= EXPIRY_WITHOUT_KEY && what <= EXPIRY_WITHOUT_KEY_LAST;
}

/** Hurts the page that overflows, the key of an expiry row, or a value in the log. */
static bool change_file(const char *folder, unsigned what) {
    unsigned time_ns = 5007 + 12 * (what - EXPIRY_WITHOUT_KEY);
    static uint8_t bytes[ROOM];
    bool is_in_log = what == VALUE_FLIPPED;
    const char *path = inside(folder, is_in_log ? "log/00000001.seg" : "data.mdb");
    int64_t size = read_file(path, bytes, sizeof bytes);
    uint8_t wanted[64];
    unsigned seen = 0;
    for (int64_t at = 8; at + 64 < size; at += 2) {
        if (is_without_key(what)) {
            // A search for the first of these rows must not come by: there are several tries.
            bool is_row = bytes[at] == 0x20 && bytes[at - 2] == 21 && bytes[at - 1] == 0 &&
                          bytes[at + 7] == time_ns >> 8 && bytes[at + 8] == (time_ns & 0xFF);
            if (is_row) {
                bytes[at - 2] = 0;
                seen = 2;
            }
        } else if (is_in_log) {
            memset(wanted, HURT | 0x80, sizeof wanted);
            if (seen == 0 && memcmp(bytes + at, wanted, sizeof wanted) == 0) {
                bytes[at + 20] ^= 1;
                seen = 2;
            }
        } else if (at % 4096 == 10 && bytes[at] == 4 && bytes[at + 1] == 0) {
            memset(bytes + at, 0xFF, 2);
            seen = 2;
        }
    }
    return seen >= 2 && write_file(path, bytes, (size_t)size);
}

static void use_hurt(torture *run, const rare *self, unsigned what, uint32_t flags) {
    larder_store *store = NULL;
    larder_store_query query = query_of(0);
    uint64_t count = 0;
    the_time = 20000;
    larder_status status = opened(self->path, flags, &store);
    if (!EXPECT(run, status == LARDER_OK || is_damage(status), "open gave %d", status) || !store) {
        return;
    }
    larder_status counted = larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
    bool tells = what == ENTRY_OF_ANOTHER_WRITE || what == ENTRY_TOO_SHORT || what == VALUE_FLIPPED;
    EXPECT(run, !tells || (counted == LARDER_EDAMAGED && count == KEYS / 2),
           "a count over what is hurt gave %d and %llu", counted, (unsigned long long)count);
    read_all(run, store);
    // What waits lies over what is hurt, and over other rows.
    if (!(flags & LARDER_STORE_READ_ONLY)) {
        require_all(run, store);
        for (unsigned i = 0; i < KEYS; i += 5) {
            EXPECT_STATUS(run, put(store, i == 10 ? HURT : i), LARDER_OK);
        }
        read_all(run, store);
        require_all(run, store);
        EXPECT(run, holds(store, HURT) && holds(store, 5), "what waits is not there");
    }
    larder_store_close(store);
}

static void wrong_rows(torture *run, void *context) {
    const rare *self = context;
    static row_edit edit;
    const uint64_t none = 0;
    for (unsigned trial = 0; trial < 2 * ROWS_WRONG && torture_unhurt(run); trial++) {
        unsigned what = trial / 2;
        torture_trial(run);
        torture_note(run, "what is wrong in the tree: %u, and %s", what,
                     trial % 2 ? "a reader" : "a writer");
        remove_tree(self->path);
        bool overflows = what == EXPIRY_OVERFLOWS || what == INDEX_OVERFLOWS ||
                         what == SEGMENT_OVERFLOWS || is_without_key(what) || what == VALUE_FLIPPED;
        if (!EXPECT(run, copy_tree(self->kept, self->path) && edit_begin(self->path, &edit.in),
                    "cannot copy") ||
            !EXPECT(run, change_row(&edit, what), "cannot change a row, %u", what) ||
            !EXPECT(run,
                    edit_seal(&edit.in, what == COUNT_TOO_SMALL ? &none : NULL) &&
                        edit_end(&edit.in),
                    "no commit") ||
            !EXPECT(run, !overflows || change_file(self->path, what), "cannot hurt, %u", what)) {
            return;
        }
        use_hurt(run, self, what, trial % 2 ? (uint32_t)LARDER_STORE_READ_ONLY : 0);
    }
}

/** Pages that go bad while the store is open, and writes wait over them. */
static void pages_gone(torture *run, void *context) {
    const rare *self = context;
    static uint8_t bytes[ROOM], hurt[ROOM];
    int64_t size = read_file(inside(self->kept, "data.mdb"), bytes, sizeof bytes);
    for (int64_t page = 2; page < size / 4096 && torture_unhurt(run); page++) {
        for (unsigned way = 0; way < 8; way++) {
            larder_store *store = NULL;
            torture_trial(run);
            torture_note(run, "page %d is gone, way %u", (int)page, way);
            remove_tree(self->path);
            the_time = 20000;
            if (!EXPECT(run, copy_tree(self->kept, self->path), "cannot copy") ||
                !EXPECT_STATUS(run, opened(self->path, 0, &store), LARDER_OK)) {
                return;
            }
            for (unsigned i = 0; i < KEYS; i += 4) {
                EXPECT_STATUS(run, put(store, i + way % 3), LARDER_OK);
            }
            memcpy(hurt, bytes, sizeof hurt);
            uint8_t *at = hurt + page * 4096;
            unsigned nodes = (unsigned)(at[12] | at[13] << 8) / 2 - 8;
            // The head, many nodes, or a single one: the way in may still be sound.
            unsigned first = way == 1 ? nodes / 2 : way == 2 ? 2 : nodes * (way - 3) / 5;
            unsigned step = way < 3 ? 2 : nodes;
            for (unsigned i = first; way && i < nodes && i < 2000; i += step) {
                memset(at + 16 + 2 * i, 0xFF, 2);
            }
            if (way == 0) {
                memset(at, 0xFF, 16);
            }
            EXPECT(run, overwrite(inside(self->path, "data.mdb"), hurt, (size_t)size), "no file");
            read_all(run, store);
            require_all(run, store);
            larder_store_close(store);
        }
    }
}

/** What waits for a checkpoint, and is hurt in the log. */
static void waiting_is_hurt(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    static uint8_t bytes[ROOM];
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put(store, 1), LARDER_OK);
    GIVES(put(store, HURT), LARDER_OK);
    const char *path = inside(self->path, "log/00000001.seg");
    int64_t size = read_file(path, bytes, sizeof bytes);
    for (unsigned way = 0; way < 2; way++) {
        uint8_t wanted[64];
        memset(wanted, HURT | 0x80, sizeof wanted);
        uint8_t *value = memmem(bytes, (size_t)size, wanted, sizeof wanted);
        uint8_t *name = memmem(bytes, (size_t)size, "key 00011", 9);
        if (!EXPECT(run, value && name, "a value is not in the log")) {
            return;
        }
        // A byte of the value, and then the length of the record's parts, in front of the key.
        if (way == 0) {
            value[20] ^= 1;
        } else {
            memset(name - 16, 0xFF, 8);
        }
        EXPECT(run, overwrite(path, bytes, (size_t)size), "cannot write");
        torture_trial(run);
        larder_store_query query = query_of(0);
        uint64_t count = 0;
        EXPECT_STATUS(run, larder_store_count(store, &query, 100, &count), LARDER_EDAMAGED);
        EXPECT(run, count == 1, "%llu are counted", (unsigned long long)count);
        for (unsigned kind = 0; kind < QUERIES; kind++) {
            walk(run, store, kind, true);
        }
        require_all(run, store);
        EXPECT(run, holds(store, 1) && !holds(store, HURT), "one is hurt, and not the other");
    }
    larder_store_close(store);
}

// Memory, and places in LMDB's table --------------------------------------------------------------

/** Whatever there is to read; the first thing that fails. */
static larder_status read_once(larder_store *store, unsigned what) {
    larder_store_query query = query_of(what % QUERIES);
    larder_store_cursor *cursor = NULL;
    larder_store_statistics figures;
    larder_store_entry entry;
    uint64_t count, bytes;
    if (what < QUERIES) {
        return larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
    } else if (what < 2 * QUERIES) {
        larder_status status = larder_store_cursor_open(store, &query, &cursor);
        while (!status) {
            status = larder_store_cursor_next(cursor, &entry);
        }
        larder_store_cursor_close(cursor);
        return status == LARDER_END ? LARDER_OK : status;
    } else if (what == 2 * QUERIES) {
        return larder_store_statistics_get(store, &figures);
    } else if (what == 2 * QUERIES + 1) {
        return larder_store_totals(store, &count, &bytes);
    } else if (what < 2 * QUERIES + 4) {
        larder_status status = larder_store_get(store, key_of(2), 0, &entry);
        larder_store_release(&entry);
        return status;
    }
    larder_store_batch *batch = NULL;
    larder_status status = larder_store_batch_create(store, &batch);
    status = status ? status : larder_store_batch_require(batch, key_of(2), 0);
    status = status ? status : larder_store_batch_commit(batch, 0, NULL);
    larder_store_batch_destroy(batch);
    return status == LARDER_ECONFLICT ? LARDER_OK : status;
}
enum { READS = 2 * QUERIES + 5 };

static void memory_ends(torture *run, void *context) {
    const rare *self = context;
    for (unsigned what = 0; what < READS && torture_unhurt(run); what++) {
        larder_store *store = NULL;
        remove_tree(self->path);
        the_time = 5031;
        if (!EXPECT(run, copy_tree(self->kept, self->path), "cannot copy") ||
            !EXPECT_STATUS(run, opened(self->path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK)) {
            return;
        }
        for (unsigned i = 4; i < KEYS; i += 5) {
            EXPECT_STATUS(run, put(store, i), LARDER_OK);
        }
        larder_status status = ENOMEM;
        // What is made of two parts may have its first one alone.
        larder_fault_set("memory", 1 + (int)(what % 2), ENOMEM);
        (void)!read_once(store, what);
        for (int nth = 1; status && nth < PASSES_MOST; nth++) {
            torture_trial(run);
            torture_note(run, "read %u without memory, the %dth time", what, nth);
            larder_fault_set("memory", nth, ENOMEM);
            status = read_once(store, what);
            int passes = larder_fault_passes();
            larder_fault_set(NULL, 0, 0);
            EXPECT(run, status == LARDER_OK || status == ENOMEM, "a read gave %d", status);
            // What is noted of a read is done without.
            status = passes >= nth ? ENOMEM : status;
        }
        EXPECT_STATUS(run, status, LARDER_OK);
        for (unsigned kind = 0; kind < QUERIES; kind++) {
            walk(run, store, kind, false);
        }
        larder_store_close(store);
    }
}

/** A read while others are under way needs a place of its own. LMDB, which gives it, is open while
    there is a reader. */
static void places_end(torture *run, void *context) {
    const rare *self = context;
    if (!EXPECT(run, copy_tree(self->kept, self->path), "cannot copy")) {
        return;
    }
    for (unsigned i = 0; i < 2 * READS && torture_unhurt(run); i++) {
        larder_store *store = NULL, *reader = NULL;
        larder_store_entry entries[4];
        torture_trial(run);
        torture_note(run, "read %u without a place", i / 2);
        EXPECT_STATUS(run, opened(self->path, 0, &store), LARDER_OK);
        EXPECT_STATUS(run, opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
        larder_store *user = i % 2 ? reader : store;
        for (unsigned n = 0; n < 4; n++) {
            EXPECT_STATUS(run, larder_store_get(user, key_of(n), 0, &entries[n]), LARDER_OK);
        }
        larder_fault_set("mdb_txn_begin", -1, EIO);
        larder_status status = read_once(user, i / 2);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == EIO || (i % 2 && status == LARDER_EREADONLY), "a read gave %d",
               status);
        status = read_once(user, i / 2);
        EXPECT(run, status == LARDER_OK || (i % 2 && status == LARDER_EREADONLY),
               "and %d when there is one", status);
        for (unsigned n = 0; n < 4; n++) {
            larder_store_release(&entries[n]);
        }
        larder_store_close(reader);
        larder_store_close(store);
    }
}

// Handles that ended ------------------------------------------------------------------------------

static void wrong_flags(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_batch *batch = NULL;
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    larder_store_item item;
    larder_store_report report;
    larder_store_query query = query_of(0);
    uint64_t count = 7;
    GIVES(opened(self->path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    larder_store_item_init(&item, bytes_of_text("key"), bytes_of_text("x"));
    item.flags = 1u << 29;
    GIVES(larder_store_put(store, &item, NULL), LARDER_EINVALID);
    GIVES(larder_store_remove(store, item.key, 1u << 29), LARDER_EINVALID);
    GIVES(larder_store_batch_create(store, &batch), LARDER_OK);
    GIVES(larder_store_batch_put(batch, &item), LARDER_EINVALID);
    item.flags = 0;
    GIVES(larder_store_batch_put(batch, &item), LARDER_OK);
    GIVES(larder_store_batch_commit(batch, 1u << 29, NULL), LARDER_EINVALID);
    query.order = LARDER_STORE_BY_RECENCY;
    query.flags = LARDER_STORE_HAS_LOWER;
    GIVES(larder_store_count(store, &query, 1, &count), LARDER_EINVALID);
    EXPECT(run, count == 0, "%llu are counted in no order", (unsigned long long)count);
    // The empty key is one like any other.
    larder_store_item_init(&item, bytes_of_text(""), bytes_of_text("x"));
    GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    for (unsigned i = 0; i < 3; i++) {
        GIVES(larder_store_get(store, bytes_of_text(""), 0, &entry), LARDER_OK);
        larder_store_release(&entry);
    }
    query = query_of(0);
    GIVES(larder_store_cursor_open(store, &query, &cursor), LARDER_OK);
    GIVES(larder_store_shutdown(store), LARDER_OK);
    GIVES(larder_store_cursor_next(cursor, &entry), LARDER_ECLOSED);
    GIVES(larder_store_batch_put(batch, &item), LARDER_ECLOSED);
    GIVES(larder_store_batch_commit(batch, 0, NULL), LARDER_ECLOSED);
    GIVES(larder_store_recovery(store, &report), LARDER_ECLOSED);
    larder_store_cursor_close(cursor);
    larder_store_batch_destroy(batch);
    larder_store_close(store);
}

static void end_inherited(torture *run, void *context) {
    larder_store *store = context;
    GIVES(larder_store_shutdown(store), LARDER_EFORKED);
    GIVES(put(store, 1), LARDER_EFORKED);
    larder_store_close(store);
}

static void inherited(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put(store, 1), LARDER_OK);
    torture_guard(run, 20, end_inherited, store);
    EXPECT(run, put(store, 2) == LARDER_OK && holds(store, 1), "a child has hurt the store");
    GIVES(larder_store_shutdown(store), LARDER_OK);
    larder_store_close(store);
}

/** A store of so many entries, flushed, whose segments are small and stay while any is in them. */
static larder_store *with_small_segments(torture *run, const char *path, unsigned count) {
    larder_store *store = NULL;
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = tuning.segment_max_bytes = 4096;
    tuning.space_percent = 100000;
    the_time = 1000;
    GIVES(opened_tuned(path, &tuning, &store), LARDER_OK);
    for (unsigned i = 0; i < count; i++) {
        EXPECT_STATUS(run, put(store, i), LARDER_OK);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    return store;
}

/** An entry whose segment somebody has removed. */
static void value_without_segment(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *writer = with_small_segments(run, self->path, KEYS);
    larder_store_entry entry, other;
    void *kept = NULL, *none = NULL;
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
    GIVES(larder_store_get(store, key_of(HURT), 0, &entry), LARDER_OK);
    GIVES(larder_store_retain_value(&entry, &kept), LARDER_OK);
    (void)unlink(inside(self->path, "log/00000001.seg"));
    // A checkpoint has the reader look for the log anew.
    GIVES(put(writer, 1), LARDER_OK);
    GIVES(larder_store_flush(writer), LARDER_OK);
    larder_status status = larder_store_get(store, key_of(HURT + 2), 0, &other);
    EXPECT(run, status == LARDER_EDAMAGED, "a get gave %d", status);
    larder_store_release(&other);
    EXPECT(run, is_right(HURT, &entry), "a value that is kept has changed");
    GIVES(larder_store_retain_value(&entry, &none), LARDER_EINVALID);
    larder_store_release(&entry);
    larder_store_release_value(kept);
    larder_store_close(store);
    larder_store_close(writer);
}

// Several stores, one pool ------------------------------------------------------------------------

static larder_status opened_pooled(const char *path, int64_t sync_ns, int64_t flush_ns,
                                   larder_store **out) {
    larder_store_options options = options_of(0);
    options.sync_interval_ns = sync_ns;
    options.flush_interval_ns = flush_ns;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static _Atomic bool is_held, lets_go;
static void hold_sync(void) {
    atomic_store(&is_held, true);
    while (!atomic_load(&lets_go)) {
        usleep(200);
    }
}

static bool comes_to_sync(torture *run, larder_store *store) {
    larder_store_statistics figures = {0};
    for (unsigned i = 0; i < 20000; i++) {
        EXPECT_STATUS(run, larder_store_statistics_get(store, &figures), LARDER_OK);
        if (figures.synced_sequence == figures.last_sequence) {
            return true;
        }
        usleep(500);
    }
    return false;
}

/** One thread is held in a sync, another one sees to the other store; then both wait. */
static void two_threads(torture *run, void *context) {
    const rare *self = context;
    enum { SOON = 1000000 };
    const int64_t hour = 3600000000000;
    larder_store *late = NULL, *later = NULL;
    GIVES(opened_pooled(self->path, SOON, 2 * hour, &late), LARDER_OK);
    GIVES(opened_pooled(self->other, SOON, hour, &later), LARDER_OK);
    disk_on_call(hold_sync);
    disk_fail(self->path, "sync", 1000000, EIO, false);
    GIVES(put(late, 1), LARDER_OK);
    for (unsigned i = 0; i < 20000 && !atomic_load(&is_held); i++) {
        usleep(500);
    }
    bool is_watched = atomic_load(&is_held);
    GIVES(put(later, 1), LARDER_OK);
    EXPECT(run, comes_to_sync(run, later), "nobody syncs the second store");
    atomic_store(&lets_go, true);
    EXPECT(run, is_watched && comes_to_sync(run, late), "nobody syncs the first store");
    disk_fail(NULL, NULL, 0, 0, false);
    disk_on_call(NULL);
    GIVES(put(late, 2), LARDER_OK);
    GIVES(put(later, 2), LARDER_OK);
    EXPECT(run, comes_to_sync(run, late) && comes_to_sync(run, later), "nobody syncs any more");
    larder_store_close(late);
    EXPECT(run, holds(later, 1) && holds(later, 2), "a store has lost what was put");
    larder_store_close(later);
}

typedef struct first_thread {
    const char *path, *call;
    int nth;
    /** How often the call was made; in shared memory. */
    _Atomic int *passes;
} first_thread;

/** The first store of a process that has a thread. */
static void begin_thread(torture *run, void *context) {
    const first_thread *self = context;
    larder_store *store = NULL;
    larder_fault_set(self->call, self->nth, EAGAIN);
    larder_status status = opened_pooled(self->path, 0, 0, &store);
    atomic_store(self->passes, larder_fault_passes());
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, status == LARDER_OK || status == ENOMEM || status == EAGAIN, "an open gave %d",
           status);
    larder_store_close(store);
    GIVES(opened_pooled(self->path, 0, 0, &store), LARDER_OK);
    EXPECT(run, put(store, 1) == LARDER_OK && holds(store, 1), "no put");
    larder_store_close(store);
}

static void pool_fails(torture *run, void *context) {
    static const char *const calls[] = {"memory", "pthread_create"};
    const rare *self = context;
    first_thread trial = {.path = self->path, .passes = shared_memory(sizeof(int))};
    for (unsigned i = 0; i < 2; i++) {
        trial.call = calls[i];
        trial.nth = 0;
        do {
            trial.nth++;
            torture_trial(run);
            torture_note(run, "an open with %s failing, the %dth time", calls[i], trial.nth);
            torture_guard(run, 20, begin_thread, &trial);
        } while (atomic_load(trial.passes) >= trial.nth && trial.nth < PASSES_MOST);
    }
}

// Logs --------------------------------------------------------------------------------------------

static void boot(uint8_t which) {
    uint8_t id[16] = {9, which};
    larder_fault_boot_id(id);
}

/** Leaves a store as a process does that dies: with so many writes in segments of a few KiB. */
static bool leave_store(torture *run, const rare *self, unsigned count, uint64_t segment_bytes) {
    larder_store *store = NULL;
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = tuning.segment_max_bytes = segment_bytes;
    remove_tree(self->path);
    remove_tree(self->other);
    the_time = 1000;
    larder_status status = opened_tuned(self->path, &tuning, &store);
    for (unsigned i = 0; i < count && !status; i++) {
        status = put(store, i);
    }
    bool good = EXPECT_STATUS(run, status, LARDER_OK) &&
                EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
    larder_store_close(store);
    return good;
}

static unsigned how_many(larder_store *store, unsigned most) {
    unsigned count = 0;
    for (unsigned i = 0; i < most; i++) {
        count += holds(store, i);
    }
    return count;
}

/** More waits than a sample tells the number of, in tables that may be as large, or not. */
static void long_logs(torture *run, void *context) {
    enum { MANY = 20000 };
    static const uint64_t limits[] = {1 << 20, 6000, 4200, 1};
    const rare *self = context;
    larder_store *store = NULL;
    the_time = 1000;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    larder_status status = LARDER_OK;
    for (unsigned i = 0; i < MANY && !status; i++) {
        status = put(store, i * 10 + 1);
    }
    GIVES(status, LARDER_OK);
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        larder_store *copy = NULL;
        larder_store_tuning tuning;
        uint64_t count = 0, bytes;
        remove_tree(self->other);
        EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
        larder_store_tuning_init(&tuning);
        tuning.memtable_max_count = limits[i];
        GIVES(opened_tuned(self->other, &tuning, &copy), LARDER_OK);
        GIVES(larder_store_totals(copy, &count, &bytes), LARDER_OK);
        EXPECT(run, count == MANY && holds(copy, 1) && holds(copy, MANY * 10 - 9), "%llu come back",
               (unsigned long long)count);
        (void)larder_store_shutdown(copy);
        larder_store_close(copy);
    }
    larder_store_close(store);
}

/** An open of what a process left, or a power cut, while calls fail; then one that is right. */
static void open_failing(torture *run, const rare *self, const char *call, int error) {
    char saved[700];
    snprintf(saved, sizeof saved, "%s-saved", self->other);
    remove_tree(saved);
    EXPECT(run, copy_tree(self->other, saved), "cannot copy");
    larder_status status = error;
    for (int nth = 1; status && nth < PASSES_MOST && torture_unhurt(run); nth++) {
        larder_store *store = NULL;
        torture_trial(run);
        torture_note(run, "an open with %s failing, the %dth time", call, nth);
        remove_tree(self->other);
        EXPECT(run, copy_tree(saved, self->other), "cannot copy");
        larder_fault_set(call, nth, error);
        status = opened(self->other, LARDER_STORE_READ_ONLY, &store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == error || is_damage(status),
               "a reader's open gave %d", status);
        larder_store_close(store);
        larder_fault_set(call, nth, error);
        status = opened(self->other, 0, &store);
        int passes = larder_fault_passes();
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == error || is_damage(status), "an open gave %d",
               status);
        larder_store_close(store);
        status = passes >= nth ? error : LARDER_OK;
        EXPECT_STATUS(run, opened(self->other, 0, &store), LARDER_OK);
        EXPECT(run, store && put(store, 5) == LARDER_OK && holds(store, 5), "no put");
        larder_store_close(store);
    }
    EXPECT_STATUS(run, status, LARDER_OK);
    remove_tree(self->other);
    EXPECT(run, copy_tree(saved, self->other), "cannot copy");
    remove_tree(saved);
}

/** Zeros the writes of a segment, or one byte of the `nth` value, by where its key lies. */
static bool hurt_write(const char *path, unsigned number) {
    static uint8_t bytes[ROOM];
    char name[16];
    int64_t size = read_file(path, bytes, sizeof bytes);
    snprintf(name, sizeof name, "key %05u", number);
    uint8_t *at = size > 0 ? memmem(bytes, (size_t)size, name, 9) : NULL;
    if (at) {
        at[0] ^= 1;
    }
    return at && write_file(path, bytes, (size_t)size);
}

static void log_without_memory(torture *run, void *context) {
    const rare *self = context;
    if (leave_store(run, self, 1500, 1 << 19)) {
        open_failing(run, self, "memory", ENOMEM);
        open_failing(run, self, "mdb_txn_begin", ENOMEM);
        open_failing(run, self, "mdb_txn_renew", ENOMEM);
    }
}

static void cut_logs(torture *run, void *context) {
    const rare *self = context;
    // A write in the midst is lost to a power cut: what lies behind it is wiped.
    boot(1);
    if (!leave_store(run, self, 12, 4096) ||
        !EXPECT(run, hurt_write(inside(self->other, "log/00000001.seg"), 8), "no write to hurt")) {
        return;
    }
    boot(2);
    open_failing(run, self, "fdatasync", EIO);
    open_failing(run, self, "fsync", EIO);
    larder_store *store = NULL;
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    EXPECT(run, how_many(store, 12) == 8, "%u come back of 8", how_many(store, 12));
    larder_store_close(store);
    // The first segment is lost, or nothing is in it, and others are left.
    for (unsigned what = 0; what < 2; what++) {
        boot(3);
        if (!leave_store(run, self, what ? 0 : 70, 4096)) {
            return;
        }
        const char *first = inside(self->other, "log/00000001.seg");
        if (what == 0) {
            (void)unlink(first);
        }
        boot(4);
        open_failing(run, self, "system openat", EMFILE);
        open_failing(run, self, "mmap", ENOMEM);
        open_failing(run, self, "unlink", EIO);
        open_failing(run, self, "fsync", EIO);
        GIVES(opened(self->other, 0, &store), LARDER_OK);
        EXPECT(run, how_many(store, 70) == 0, "writes are there without the first ones");
        GIVES(put(store, 1), LARDER_OK);
        larder_store_close(store);
    }
    larder_fault_boot_id(NULL);
}

/** All writes of a segment in the midst are lost, but what leads on. */
static void hollow_segment(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    static uint8_t bytes[ROOM];
    if (!leave_store(run, self, 90, 4096)) {
        return;
    }
    const char *path = inside(self->other, "log/00000002.seg");
    int64_t size = read_file(path, bytes, sizeof bytes);
    uint32_t at = 64, length = 0, lost = 0;
    for (; at + 36 < size; at += (length + 7) / 8 * 8, lost++) {
        memcpy(&length, bytes + at, sizeof length);
        if (length < 36 || bytes[at + 20] == 4) {
            break;
        }
        // Its checksum is wrong; its length leads on.
        bytes[at + 4] ^= 0xFF;
    }
    EXPECT(run, lost > 3 && write_file(path, bytes, (size_t)size), "no segment to hurt");
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    unsigned left = how_many(store, 90);
    EXPECT(run, left == 90 - lost, "%u are left of %u", left, 90 - lost);
    GIVES(put(store, 5), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(store);
}

/** Segments that the tree knows nothing of, and no memory to note them. */
static void unknown_segments(torture *run, void *context) {
    const rare *self = context;
    if (!leave_store(run, self, 70, 4096)) {
        return;
    }
    static uint8_t bytes[ROOM];
    int64_t size = read_file(inside(self->other, "log/00000001.seg"), bytes, sizeof bytes);
    for (uint32_t number = 0x31; number < 0x34 && size > 64; number++) {
        char name[32];
        snprintf(name, sizeof name, "log/%08x.seg", number);
        memcpy(bytes + 12, &number, sizeof number);
        uint32_t crc = larder_crc32c(0, bytes + 12, 52);
        memcpy(bytes + 8, &crc, sizeof crc);
        EXPECT(run, write_file(inside(self->other, name), bytes, (size_t)size), "no segment");
    }
    open_failing(run, self, "memory", ENOMEM);
    larder_store *store = NULL;
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    EXPECT(run, how_many(store, 70) == 70, "%u come back", how_many(store, 70));
    EXPECT(run, size_of_file(inside(self->other, "log/00000031.seg")) == size,
           "what nobody knows was deleted");
    larder_store_close(store);
}

/** A segment that is full to its last byte, which no log leaves. */
static void full_segment(torture *run, void *context) {
    const rare *self = context;
    static uint8_t bytes[ROOM];
    larder_store *store = NULL;
    larder_store_item item;
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = 8192;
    GIVES(opened_tuned(self->path, &tuning, &store), LARDER_OK);
    larder_store_item_init(&item, bytes_of_text("full"), bytes_of(bytes, 4096 - 64 - 36 - 4));
    GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
    larder_store_close(store);
    const char *path = inside(self->other, "log/00000001.seg");
    (void)read_file(path, bytes, sizeof bytes);
    uint64_t capacity = 4096;
    memcpy(bytes + 32, &capacity, sizeof capacity);
    uint32_t crc = larder_crc32c(0, bytes + 12, 52);
    memcpy(bytes + 8, &crc, sizeof crc);
    EXPECT(run, write_file(path, bytes, 4096), "cannot write");
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    GIVES(larder_store_contains(store, item.key), LARDER_OK);
    larder_status status = put(store, 1);
    EXPECT(run, status == LARDER_OK || status == LARDER_EDAMAGED, "a put gave %d", status);
    larder_store_close(store);
}

// Readers -----------------------------------------------------------------------------------------

/** A reader whose log ends where the power went, until a writer has gone over it. */
static void reader_behind_cut(torture *run, void *context) {
    const rare *self = context;
    larder_store *reader = NULL, *store = NULL;
    boot(1);
    if (!leave_store(run, self, 12, 4096) ||
        !EXPECT(run, hurt_write(inside(self->other, "log/00000001.seg"), 8), "no write to hurt")) {
        return;
    }
    boot(2);
    GIVES(opened(self->other, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(run, how_many(reader, 20) == 8, "%u are read of 8", how_many(reader, 20));
    }
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    GIVES(put(store, 15), LARDER_OK);
    EXPECT(run, how_many(reader, 20) == 9 && holds(reader, 15), "%u are read of 9",
           how_many(reader, 20));
    larder_store_close(store);
    larder_store_close(reader);
    larder_fault_boot_id(NULL);
}

static larder_store *during_store, *during_reader;
static unsigned during_puts;
static void write_during(void) {
    static bool is_inside;
    if (is_inside || during_puts >= 100) {
        return;
    }
    is_inside = true;
    for (unsigned i = 0; i < 50; i++) {
        (void)!put(during_store, 100 + during_puts++);
    }
    uint64_t count, bytes;
    (void)!larder_store_totals(during_reader, &count, &bytes);
    is_inside = false;
}

/** What a reader adds up while a checkpoint is made, and behind it. */
static void reader_adds_up(torture *run, void *context) {
    const rare *self = context;
    uint64_t count = 0, bytes = 0;
    the_time = 1000;
    GIVES(opened(self->path, 0, &during_store), LARDER_OK);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &during_reader), LARDER_OK);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 10; i++) {
            EXPECT_STATUS(run, put(during_store, round * 10 + i), LARDER_OK);
        }
        GIVES(larder_store_totals(during_reader, &count, &bytes), LARDER_OK);
        EXPECT(run, count == how_many(during_store, 200), "%llu are told, before",
               (unsigned long long)count);
        during_puts = 0;
        if (round % 2) {
            disk_on_call(write_during);
            disk_fail(self->path, "write", 1000000, EIO, false);
        }
        GIVES(larder_store_flush(during_store), LARDER_OK);
        disk_fail(NULL, NULL, 0, 0, false);
        disk_on_call(NULL);
        GIVES(larder_store_totals(during_reader, &count, &bytes), LARDER_OK);
        EXPECT(run, count == how_many(during_store, 200), "%llu are told, behind",
               (unsigned long long)count);
        EXPECT(run, how_many(during_reader, 200) == count, "others are read");
    }
    larder_store_close(during_reader);
    larder_store_close(during_store);
}

static unsigned during_looks;
static char shown_path[800], away_path[800];
static void commit_during(void) {
    static bool is_inside;
    if (is_inside || during_looks >= 100) {
        return;
    }
    is_inside = true;
    // Who writes needs the segment's file; who looks for it finds none.
    (void)rename(away_path, shown_path);
    (void)!put(during_store, during_looks++);
    (void)!larder_store_flush(during_store);
    (void)rename(shown_path, away_path);
    is_inside = false;
}

/** Each time that a reader looks there is a newer tree, and the log behind it is not there. */
static void tree_moves_on(torture *run, void *context) {
    const rare *self = context;
    larder_store *reader = NULL;
    larder_store_entry entry;
    the_time = 1000;
    GIVES(opened(self->path, 0, &during_store), LARDER_OK);
    GIVES(put(during_store, 200), LARDER_OK);
    GIVES(larder_store_flush(during_store), LARDER_OK);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    snprintf(shown_path, sizeof shown_path, "%s", inside(self->path, "log/00000001.seg"));
    snprintf(away_path, sizeof away_path, "%s", inside(self->path, "log/away"));
    disk_on_call(commit_during);
    disk_fail(self->path, "open", 1000000, EIO, false);
    GIVES(larder_store_get(reader, key_of(200), 0, &entry), LARDER_EDAMAGED);
    disk_fail(NULL, NULL, 0, 0, false);
    disk_on_call(NULL);
    EXPECT(run, during_looks > 1 && during_looks < 100, "%u newer trees were there", during_looks);
    (void)rename(away_path, shown_path);
    EXPECT(run, holds(reader, 200) && holds(reader, 1), "nothing is read of a log that is there");
    larder_store_close(reader);
    larder_store_close(during_store);
}

static void shut_during(void) {
    disk_on_call(NULL);
    (void)!larder_store_shutdown(during_store);
}

/** What a store is asked about itself while somebody shuts it. */
static void shut_in_between(torture *run, void *context) {
    const rare *self = context;
    larder_store_statistics figures;
    GIVES(opened(self->path, 0, &during_store), LARDER_OK);
    GIVES(put(during_store, 1), LARDER_OK);
    disk_on_call(shut_during);
    disk_fail(self->path, "facts", 1000000, EIO, false);
    larder_status status = larder_store_statistics_get(during_store, &figures);
    disk_fail(NULL, NULL, 0, 0, false);
    disk_on_call(NULL);
    EXPECT(run, status == LARDER_ECLOSED, "statistics gave %d", status);
    larder_store_close(during_store);
}

/** The newest state is lost under a reader that has seen it. */
static void tree_goes_back(torture *run, void *context) {
    const rare *self = context;
    static uint8_t bytes[ROOM];
    larder_store *store = NULL, *reader = NULL;
    the_time = 1000;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    for (unsigned i = 0; i < 6; i++) {
        GIVES(put(store, i), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
    }
    larder_store_close(store);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    EXPECT(run, how_many(reader, 6) == 6, "not all are read");
    const char *path = inside(self->path, "data.mdb");
    int64_t size = read_file(path, bytes, sizeof bytes);
    uint64_t one, other;
    memcpy(&one, bytes + 144, sizeof one);
    memcpy(&other, bytes + 4096 + 144, sizeof other);
    memset(bytes + (one > other ? 0 : 4096), 0, 160);
    EXPECT(run, size > 8192 && overwrite(path, bytes, (size_t)size), "cannot write");
    for (unsigned i = 0; i < 6; i++) {
        larder_store_entry entry;
        larder_status status = larder_store_get(reader, key_of(i), 0, &entry);
        EXPECT(run, is_damage(status) || (status == LARDER_OK && is_right(i, &entry)),
               "key %u gave %d", i, status);
        larder_store_release(&entry);
    }
    larder_store_close(reader);
}

// Totals ------------------------------------------------------------------------------------------

static void adds_up(torture *run, larder_store *store, uint64_t wanted) {
    uint64_t count = 0, bytes = 0;
    torture_trial(run);
    EXPECT_STATUS(run, larder_store_totals(store, &count, &bytes), LARDER_OK);
    EXPECT(run, count == wanted, "%llu are told, not %llu", (unsigned long long)count,
           (unsigned long long)wanted);
}

static void many_totals(torture *run, void *context) {
    enum { MANY = 3000 };
    const rare *self = context;
    larder_store *store = NULL;
    the_time = 1000;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_STATUS(run, put(store, i), LARDER_OK);
    }
    adds_up(run, store, MANY);
    GIVES(larder_store_flush(store), LARDER_OK);
    // Everything goes: in the table that is written to, then in the one that a checkpoint has.
    larder_fault_set("mdb_txn_commit", -1, EIO);
    GIVES(put(store, 1), LARDER_OK);
    GIVES(larder_store_flush(store), EIO);
    GIVES(larder_store_remove_all(store, NULL, NULL), LARDER_OK);
    GIVES(put(store, 1), LARDER_OK);
    GIVES(put(store, MANY + 1), LARDER_OK);
    adds_up(run, store, 2);
    GIVES(larder_store_flush(store), EIO);
    GIVES(put(store, 2), LARDER_OK);
    GIVES(put(store, 1), LARDER_OK);
    adds_up(run, store, 3);
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_flush(store), LARDER_OK);
    adds_up(run, store, 3);
    EXPECT(run, holds(store, 1) && holds(store, 2) && !holds(store, 3), "others are there");
    larder_store_close(store);
}

/** More entries are over than rows are looked through for. */
static void many_over(torture *run, void *context) {
    enum { MANY = 9000 };
    const rare *self = context;
    larder_store *store = NULL;
    uint64_t count = 0;
    if (!make_store(run, self->path, MANY)) {
        return;
    }
    the_time = 100000;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    for (unsigned kind = 0; kind < 3; kind++) {
        larder_store_query query = query_of(kind);
        GIVES(larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count), LARDER_OK);
        bool is_index = query.order == LARDER_STORE_BY_INDEX;
        EXPECT(run, count == (is_index ? 0 : MANY / 2), "%llu are counted",
               (unsigned long long)count);
    }
    larder_store_close(store);
}

// Late deadlines ----------------------------------------------------------------------------------

/** Gives the entry of that number the row that a late deadline used to have. */
static bool give_late_row(row_edit *edit, unsigned number, int64_t deadline_ns) {
    uint8_t stored[600], value[24];
    if (!edit_find_entry(edit, number) || edit->found.mv_size < sizeof value) {
        return false;
    }
    size_t length = edit->at.mv_size - 1;
    memcpy(stored, edit->key + 1, length);
    memcpy(value, edit->value, sizeof value);
    edit->key[0] = 0x20;
    for (unsigned i = 0; i < 8; i++) {
        edit->key[1 + i] = (uint8_t)((uint64_t)deadline_ns >> (56 - 8 * i)) ^ (i ? 0 : 0x80);
        edit->key[9 + i] = value[7 - i];
    }
    // The last word has the flags in its first byte, and the number in a batch above.
    edit->key[17] = 0;
    for (unsigned i = 0; i < 3; i++) {
        edit->key[18 + i] = value[23 - i];
    }
    edit->at.mv_size = 21;
    edit->found = (MDB_val){length, stored};
    return edit_put(edit);
}

/** Rows of late deadlines, which there are in stores from before, go with their entries. */
static void late_rows(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    const int64_t idle_ns = (int64_t)1 << 62;
    static row_edit edit;
    the_time = 1000;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    for (unsigned i = 0; i < KEYS; i++) {
        larder_store_item item;
        larder_store_item_init(&item, key_of(i), bytes_of_text("value"));
        item.idle_ns = idle_ns;
        EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
    }
    GIVES(larder_store_shutdown(store), LARDER_OK);
    larder_store_close(store);
    bool good = edit_begin(self->path, &edit.in);
    for (unsigned i = 0; i < KEYS && good; i += 2) {
        good = give_late_row(&edit, i, the_time + idle_ns);
    }
    if (!EXPECT(run, good && edit_seal(&edit.in, NULL) && edit_end(&edit.in), "cannot change")) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == KEYS && report.inconsistencies == 0, "rows from before are wrong");
    for (unsigned i = 0; i < KEYS; i++) {
        bool goes = i % 4 < 2;
        EXPECT_STATUS(run, goes ? larder_store_remove(store, key_of(i), 0) : put(store, i),
                      LARDER_OK);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == KEYS / 2 && report.inconsistencies == 0, "rows are left");
    larder_store_close(store);
}

/** A renewal is of its write alone: what replaces that keeps its own times where it is read, also
    if it was written before the renewal was. */
static void renewal_of_another(torture *run, void *context) {
    enum { WRITTEN = 1000, REPLACED = 1200, RENEWED = 1500 };
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_entry entry;
    larder_store_item item;
    uint64_t version = 0;
    the_time = WRITTEN;
    GIVES(opened(self->path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    larder_store_item_init(&item, key_of(0), bytes_of_text("value"));
    item.idle_ns = LARDER_STORE_RENEWABLE;
    GIVES(larder_store_put(store, &item, &version), LARDER_OK);
    the_time = RENEWED;
    GIVES(larder_store_renew(store, key_of(0), version), LARDER_OK);
    item.written_ns = REPLACED;
    GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    for (unsigned look = 0; look < 4; look++) {
        if (look == 2) GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(larder_store_get(store, key_of(0), 0, &entry), LARDER_OK);
        EXPECT(run, entry.written_ns == REPLACED, "written at %" PRId64, entry.written_ns);
        larder_store_release(&entry);
    }
    larder_store_close(store);
}

// Opening -----------------------------------------------------------------------------------------

static char hidden_path[800], data_path[800];
static void show_data(void) { (void)rename(hidden_path, data_path); }

static void odd_openings(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    larder_store_options options = options_of(LARDER_STORE_HOST_MAINTENANCE);
    the_time = 1000;
    // A format where there was none.
    EXPECT(run, copy_tree(self->kept, self->path), "cannot copy");
    options.content_format = 7;
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    larder_store_close(store);
    // The tree is lost, and among the log's segments lies what is none.
    snprintf(data_path, sizeof data_path, "%s", inside(self->path, "data.mdb"));
    snprintf(hidden_path, sizeof hidden_path, "%s", inside(self->path, "hidden"));
    show_data();
    EXPECT(run, write_file(inside(self->path, "log/other"), "x", 1), "cannot write");
    EXPECT(run, rename(data_path, hidden_path) == 0, "cannot rename");
    GIVES(opened(self->path, 0, &store), LARDER_EDAMAGED);
    // Unless it comes while somebody looks.
    disk_on_call(show_data);
    disk_fail(self->path, "open", 1000000, EIO, false);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    disk_fail(NULL, NULL, 0, 0, false);
    disk_on_call(NULL);
    EXPECT(run, how_many(store, KEYS) == KEYS, "not all are there");
    larder_store_close(store);
    // No mode can be taken over from the lock's file.
    GIVES(chmod(inside(self->path, "lock"), 0), 0);
    larder_status status = larder_store_rebuild(self->path, NULL, NULL, NULL, &report);
    EXPECT(run, status == LARDER_OK || status == EACCES, "a rebuild gave %d", status);
    GIVES(chmod(inside(self->path, "lock"), 0600), 0);
    // Nothing that the program has open is closed where a file cannot be looked at.
    const unsigned before = open_descriptors();
    status = EIO;
    for (int nth = 1; nth < 100 && status != LARDER_OK; nth++) {
        larder_fault_set("fstat", nth, EIO);
        status = larder_store_rebuild(self->path, NULL, NULL, NULL, &report);
        larder_fault_set(NULL, 0, 0);
        const unsigned after = open_descriptors();
        EXPECT(run, after == before, "pass %d: %u descriptors are open, not %u", nth, after,
               before);
    }
    GIVES(status, LARDER_OK);
    // A power cut, and a tree that is damaged and was promised.
    static uint8_t bytes[ROOM];
    int64_t size = read_file(data_path, bytes, sizeof bytes);
    memset(bytes + 16, 0, 4);
    memset(bytes + 4096 + 16, 0, 4);
    EXPECT(run, size > 3 * 4096 && write_file(data_path, bytes, (size_t)size), "cannot write");
    boot(7);
    GIVES(opened(self->path, 0, &store), LARDER_EDAMAGED);
    // It cannot be made anew out of what another store's segment lies among.
    GIVES(larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, make_store(run, self->other, 3), "no other store");
    uint32_t number = 0x31;
    int64_t other = read_file(inside(self->other, "log/00000001.seg"), bytes, sizeof bytes);
    memcpy(bytes + 12, &number, sizeof number);
    uint32_t crc = larder_crc32c(0, bytes + 12, 52);
    memcpy(bytes + 8, &crc, sizeof crc);
    EXPECT(run,
           other > 64 && write_file(inside(self->path, "log/00000031.seg"), bytes, (size_t)other),
           "no segment");
    (void)unlink(data_path);
    GIVES(opened(self->path, LARDER_STORE_REBUILDS, &store), LARDER_EFOREIGN);
    (void)unlink(inside(self->path, "log/00000031.seg"));
    GIVES(opened(self->path, LARDER_STORE_REBUILDS, &store), LARDER_OK);
    EXPECT(run, how_many(store, KEYS) == KEYS, "not all are rebuilt");
    larder_store_close(store);
    larder_fault_boot_id(NULL);
}

/** What a store that is shut leaves in its log is no more than it may have. */
static void few_but_too_many(torture *run, void *context) {
    const rare *self = context;
    for (unsigned way = 0; way < 2; way++) {
        larder_store *store = NULL;
        remove_tree(self->path);
        the_time = 1000;
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        for (unsigned i = 0; i < 6; i++) {
            EXPECT_STATUS(run, put(store, 3 * i), LARDER_OK);
        }
        larder_store_limits limits = larder_store_limits_get(store);
        limits.count = way ? LARDER_STORE_UNLIMITED : 2;
        limits.bytes = way ? 4 : LARDER_STORE_UNLIMITED;
        GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
        larder_store_close(store);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        EXPECT(run, how_many(store, 20) == 2, "%u are left of two", how_many(store, 20));
        larder_store_close(store);
    }
}

// Writers without room ----------------------------------------------------------------------------

/** While checkpoints fail, only so much is taken, all of it is there, and then it goes on. */
static void checkpoints_fail(torture *run, void *context) {
    const rare *self = context;
    for (unsigned way = 0; way < 2; way++) {
        larder_store *store = NULL;
        larder_store_tuning tuning;
        larder_store_tuning_init(&tuning);
        tuning.memtable_max_count = 20;
        remove_tree(self->path);
        the_time = 1000;
        GIVES(opened_tuned(self->path, &tuning, &store), LARDER_OK);
        larder_fault_set("mdb_txn_commit", -1, EIO);
        unsigned taken = 0;
        larder_status status = LARDER_OK;
        while (taken < 1000 && (status = put(store, taken)) == LARDER_OK) {
            taken++;
            if (way && taken % 5 == 0) {
                GIVES(larder_store_flush(store), EIO);
            }
        }
        GIVES(status, EIO);
        EXPECT(run, taken >= 20 && taken <= 60, "%u were taken", taken);
        EXPECT(run, how_many(store, 1000) == taken, "not all are there");
        larder_fault_set(NULL, 0, 0);
        GIVES(put(store, taken), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        EXPECT(run, how_many(store, 1000) == taken + 1, "not all are there");
        larder_store_close(store);
    }
}

/** A disk that is full, and removals until even what is kept for them is used. */
static void removals_without_room(torture *run, void *context) {
    enum { MANY = 400 };
    const rare *self = context;
    larder_store *store = with_small_segments(run, self->path, MANY), *reader = NULL;
    // What keeps LMDB open, which needs room for the file of its locks.
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    disk_fail(self->path, "room", 1, ENOSPC, true);
    larder_status status = LARDER_OK;
    unsigned removed = 0;
    while (removed < MANY && !status) {
        status = larder_store_remove(store, key_of(removed), 0);
        removed += status == LARDER_OK;
    }
    disk_fail(NULL, NULL, 0, 0, false);
    EXPECT(run, status == LARDER_OK || status == ENOSPC, "a removal gave %d", status);
    EXPECT(run, how_many(store, MANY) == MANY - removed, "%u of %u are removed",
           MANY - how_many(store, MANY), removed);
    GIVES(put(store, 1), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(reader);
    larder_store_close(store);
}

/** Files that are deleted, and mapped all the same. */
static unsigned deleted_maps(const char *suffix) {
    char line[4096];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) count += strstr(line, suffix) != NULL;
    if (maps) (void)fclose(maps);
    return count;
}

/** Values that are kept beyond everything else in their segments: those are given back. */
static void kept_values(torture *run, void *context) {
    enum { MANY = 40, LONG = 100000, KEPT = 8 };
    static uint8_t value[LONG];
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    larder_store_entry entries[KEPT];
    void *kept[KEPT] = {NULL};
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    for (unsigned n = 0; n < MANY; n++) {
        larder_store_item item;
        message_fill(n, value, sizeof value);
        larder_store_item_init(&item, key_of(n), bytes_of(value, sizeof value));
        GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    for (unsigned i = 0; i < KEPT; i++) {
        larder_store *from = i % 2 ? reader : store;
        GIVES(larder_store_get(from, key_of(i * 5), 0, &entries[i]), LARDER_OK);
        GIVES(larder_store_retain_value(&entries[i], &kept[i]), LARDER_OK);
        larder_bytes bytes = entries[i].value;
        larder_store_release(&entries[i]);
        entries[i].value = bytes;
    }
    GIVES(larder_store_remove_all(store, NULL, NULL), LARDER_OK);
    for (unsigned n = 0; n < 3; n++) {
        GIVES(put(store, n), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        EXPECT(run, holds(reader, n), "a reader does not see what was written");
    }
    EXPECT(run, deleted_maps(".seg (deleted)") == 0, "%u segments are kept",
           deleted_maps(".seg (deleted)"));
    larder_store_close(reader);
    for (unsigned i = 0; i < KEPT; i++) {
        if (i == KEPT / 2) larder_store_close(store);
        EXPECT(run, message_equals(i * 5, entries[i].value.data, entries[i].value.length),
               "a value that is kept has changed");
        larder_store_release_value(kept[i]);
    }
}

/** Reads at some calls of a checkpoint. */
static struct {
    larder_store *store;
    rng random;
    unsigned commits, reads;
    /** What was found meanwhile; what is read at the first commit, UINT_MAX for any. */
    bool is_found[MANY_READ];
    unsigned first;
} meanwhile;

static void read_meanwhile(const char *call, const void *what) {
    (void)what;
    bool is_commit = strcmp(call, "mdb_txn_commit") == 0;
    bool is_eviction = meanwhile.commits > 0 && strcmp(call, "mdb_del") == 0;
    // Fewer than the limit that is to hold: each of them stays.
    if (!is_commit && !(is_eviction && rng_one_in(&meanwhile.random, 100))) {
        return;
    }
    larder_store_entry entry;
    unsigned number = meanwhile.first;
    if (meanwhile.commits > 0 || number == UINT_MAX) {
        number = (unsigned)rng_below(&meanwhile.random, MANY_READ);
    }
    meanwhile.commits += is_commit;
    meanwhile.reads++;
    if (larder_store_get(meanwhile.store, key_of(number), 0, &entry) == LARDER_OK) {
        meanwhile.is_found[number] = true;
        larder_store_release(&entry);
    }
    the_time = 1120;
}

static void begin_meanwhile(torture *run, const rare *self, uint64_t seed, unsigned idle) {
    larder_store_options options = options_of(LARDER_STORE_HOST_MAINTENANCE);
    options.limits.count = MANY_READ;
    remove_tree(self->path);
    the_time = 1000;
    memset(&meanwhile, 0, sizeof meanwhile);
    meanwhile.random = rng_make(seed);
    meanwhile.first = idle;
    GIVES(larder_store_open(self->path, &options, NULL, &meanwhile.store), LARDER_OK);
    for (unsigned n = 0; n < MANY_READ; n++) {
        uint8_t value[300];
        larder_store_item item;
        larder_store_item_init(&item, key_of(n), value_of(n, value));
        item.idle_ns = n == idle ? 100 : LARDER_STORE_NEVER;
        GIVES(larder_store_put(meanwhile.store, &item, NULL), LARDER_OK);
    }
    the_time = 1050;
}

/** What is found during a checkpoint is not what it evicts, and not idle. */
static void read_during_checkpoint(torture *run, void *context) {
    enum { IDLE = 7 };
    static const unsigned left[] = {20, 500, 0};
    const rare *self = context;
    uint64_t removed = 0;
    for (unsigned at = 0; at < 3; at++) {
        begin_meanwhile(run, self, mix(at), UINT_MAX);
        call_hook = read_meanwhile;
        larder_status status = larder_store_trim(meanwhile.store, left[at], UINT64_MAX, &removed);
        call_hook = NULL;
        GIVES(status, LARDER_OK);
        EXPECT(run, meanwhile.reads > 2, "%u reads are too few", meanwhile.reads);
        EXPECT(run, removed == MANY_READ - left[at], "%" PRIu64 " were removed", removed);
        for (unsigned n = 0; n < MANY_READ && left[at] > 0 && torture_unhurt(run); n++) {
            EXPECT(run, !meanwhile.is_found[n] || holds(meanwhile.store, n),
                   "entry %u was found during a checkpoint, and is gone", n);
        }
        larder_store_close(meanwhile.store);
    }
    begin_meanwhile(run, self, 0, IDLE);
    call_hook = read_meanwhile;
    larder_status status = larder_store_remove_expired(meanwhile.store, &removed);
    call_hook = NULL;
    GIVES(status, LARDER_OK);
    EXPECT(run, removed == 0 && meanwhile.is_found[IDLE] && holds(meanwhile.store, IDLE),
           "what was read during a checkpoint counts as idle");
    larder_store_close(meanwhile.store);
}

/** At one call of a reader, another process writes more than two segments hold. */
static struct {
    int asks[2], answers[2];
    unsigned calls, at;
} written;

static noreturn void write_when_asked(const char *path, bool has_log) {
    larder_store *store = NULL;
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = tuning.segment_max_bytes = 4096;
    char status = (char)opened_tuned(path, &tuning, &store);
    for (unsigned n = KEYS; n < 2 * KEYS && has_log && !status; n++) {
        status = (char)(put(store, n) || (n == KEYS + KEYS / 2 && larder_store_flush(store)));
    }
    for (;;) {
        char asked;
        if (write(written.answers[1], &status, 1) != 1 || read(written.asks[0], &asked, 1) != 1) {
            _exit(1);
        }
        for (unsigned n = 0; n < KEYS && !status; n++) {
            status = (char)put(store, n);
        }
    }
}

static char answer_of_writer(void) {
    char status = 1;
    return read(written.answers[0], &status, 1) == 1 ? status : 1;
}

static void write_meanwhile(const char *call, const void *what) {
    (void)call;
    (void)what;
    if (++written.calls == written.at && write(written.asks[1], "w", 1) == 1) {
        written.at = answer_of_writer() ? UINT_MAX : 0;
    }
}

/** A reader that looks for the first time sees all that is written at one of its calls, or nothing
    until it looks again. */
static void written_during(torture *run, const rare *self, bool has_log) {
    bool goes_on = true;
    unsigned at = 0;
    EXPECT(run, pipe(written.asks) == 0 && pipe(written.answers) == 0, "no pipes");
    while (goes_on && torture_unhurt(run)) {
        larder_store *reader = NULL;
        remove_tree(self->path);
        pid_t writer = fork();
        if (writer == 0) {
            write_when_asked(self->path, has_log);
        }
        EXPECT(run, answer_of_writer() == 0, "the writer has no store");
        written.calls = 0;
        written.at = ++at;
        call_hook = write_meanwhile;
        larder_status status = opened(self->path, LARDER_STORE_READ_ONLY, &reader);
        bool is_last = !status && holds(reader, KEYS - 1), is_first = !status && holds(reader, 0);
        call_hook = NULL;
        goes_on = written.at == 0;
        GIVES(status, LARDER_OK);
        EXPECT(run, is_first || !is_last, "at call %u the first write was missed", at);
        EXPECT(run, !goes_on || holds(reader, 0), "behind call %u the first write is hidden", at);
        larder_store_close(reader);
        kill(writer, SIGKILL);
        waitpid(writer, NULL, 0);
    }
    EXPECT(run, written.at != UINT_MAX && at > 20, "%u calls", at);
    for (unsigned end = 0; end < 2; end++) {
        close(written.asks[end]);
        close(written.answers[end]);
    }
}

static void written_during_look(torture *run, void *context) {
    for (unsigned has_log = 0; has_log < 2; has_log++) {
        written_during(run, context, has_log);
    }
}

/** In a process that is gone then, and has closed nothing: writes so many entries from `first` on.
    @param spare the segment that is made in advance meanwhile; NULL for none. */
static void write_and_die(torture *run, const char *path, unsigned first, unsigned count,
                          const char *spare) {
    int ended = 1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        larder_store *store = NULL;
        larder_store_tuning tuning;
        larder_store_tuning_init(&tuning);
        tuning.segment_min_bytes = tuning.segment_max_bytes = 4096;
        larder_store_options options = options_of(spare ? 0 : LARDER_STORE_HOST_MAINTENANCE);
        options.tuning = &tuning;
        alarm(30);
        larder_status status = larder_store_open(path, &options, NULL, &store);
        for (unsigned i = first; i < first + count && !status; i++) status = put(store, i);
        while (spare && !status && size_of_file(spare) < 4096) usleep(100);
        _exit(status != LARDER_OK);
    }
    EXPECT(run, waitpid(child, &ended, 0) == child && ended == 0, "a writer ended with 0x%x",
           ended);
}

/** What a feed tells is `count` writes behind the one of `before`. */
static void tells(torture *run, larder_store_feed *feed, uint64_t before, unsigned count) {
    larder_store_feed_event event;
    larder_status status = LARDER_OK;
    uint64_t last = before;
    while ((status = larder_store_feed_next(feed, &event)) == LARDER_OK) {
        if (!EXPECT(run, event.kind == LARDER_STORE_FEED_WRITE && event.sequence == last + 1,
                    "a feed told %d at %" PRIu64 " behind %" PRIu64, (int)event.kind,
                    event.sequence, last)) {
            return;
        }
        last = event.sequence;
    }
    GIVES(status, LARDER_END);
    EXPECT(run, last == before + count, "a feed told %" PRIu64 " writes of %u", last - before,
           count);
}

/** A segment that was made in advance goes with a recovery, and its number comes again with the
    next: who looked for what lies behind the log's end while it was there, reads the other one. */
static void number_comes_again(torture *run, void *context) {
    enum { HALF = 12 };
    const rare *self = context;
    char spare[800];
    larder_store *reader = NULL;
    larder_store_feed *feed = NULL;
    larder_store_feed_options options = {.flags = 0};
    snprintf(spare, sizeof spare, "%s", inside(self->path, "log/00000002.seg"));
    write_and_die(run, self->path, 0, HALF, spare);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    EXPECT(run, how_many(reader, KEYS) == HALF, "%u are read", how_many(reader, KEYS));
    GIVES(larder_store_feed_open(reader, &options, &feed), LARDER_OK);
    tells(run, feed, HALF, 0);
    write_and_die(run, self->path, 0, 0, NULL);
    EXPECT(run, size_of_file(spare) < 0, "what nothing leads to is there");
    write_and_die(run, self->path, HALF, KEYS - HALF, NULL);
    EXPECT(run, size_of_file(spare) > 0, "it has another number");
    EXPECT(run, how_many(reader, KEYS) == KEYS, "%u are read", how_many(reader, KEYS));
    tells(run, feed, HALF, KEYS - HALF);
    larder_store_feed_close(feed);
    larder_store_close(reader);
}

static bool make_whole(torture *run, const char *path) { return make_store(run, path, KEYS); }

void family_store_rare_read(torture *run) {
#if !defined(TORTURE_WRAPS_CALLS) || defined(__SANITIZE_THREAD__)
    torture_skip(run, "calls are not intercepted here");
    return;
#endif
    RARE_EACH(run, " to read", make_whole, wrong_rows, pages_gone, waiting_is_hurt, memory_ends,
              places_end, wrong_flags, inherited, kept_values, value_without_segment, two_threads,
              pool_fails, long_logs, log_without_memory, cut_logs, hollow_segment, unknown_segments,
              full_segment, reader_behind_cut, reader_adds_up, tree_goes_back, tree_moves_on,
              shut_in_between, many_totals, many_over, late_rows, renewal_of_another, odd_openings,
              few_but_too_many, checkpoints_fail, removals_without_room, read_during_checkpoint,
              written_during_look, number_comes_again, slotless_readers, replaced_below,
              untold_state, late_cursors, passing_cursors, number_of_copies, empty_log, hidden_end);
}
