// SPDX-License-Identifier: MIT
// Every field of the pages of data.mdb set to values that it must not have, one at a time: of both
// meta pages, of branch pages, of leaves and of the free list. LMDB's pages have no checksums, so
// what is read from them has to be right for other reasons. Reading may fail and may not find, but
// gives no other value than there was; where the check finds nothing, nothing is missing; and
// writing to such a store ends no process, nor does it lose what the log has.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"

enum { KEYS = 1600, INDEX = 7, PLACES = 4000, FREE_LEAVES = 3, LEAVES = 4 };

/** A field of a page: where it is in the file, and how wide. */
typedef struct place {
    uint64_t offset;
    uint32_t width;
    /** The other meta page is hurt as well: its newest state is not the only one. */
    uint64_t other;
} place;

typedef struct pages_bench {
    const char *whole, *hurt;
    uint8_t *bytes;
    size_t size, page;
    place places[PLACES];
    size_t count;
    unsigned stride;
} pages_bench;

// The store ---------------------------------------------------------------------------------------

static size_t key_of(unsigned number, char *target) {
    size_t length = (size_t)sprintf(target, "%c/%05u/", 'a' + number % 3, number);
    size_t more = number % 7 * 50;
    memset(target + length, 'x', more);
    return length + more;
}

/** What is under a key: the length is 0 for nothing. */
static size_t value_of(unsigned number, uint8_t *target) {
    bool is_gone = number % 3 == 1 || number % 11 == 5;
    size_t length = is_gone ? 0 : 1 + number % 90;
    for (size_t i = 0; i < length; i++) {
        target[i] = (uint8_t)mix2(number, i + (number % 5 == 0));
    }
    return length;
}

static larder_status put(larder_store *store, unsigned number, bool is_last) {
    char key[400];
    uint8_t value[100] = {1, 2, 3};
    size_t length = value_of(number, value);
    larder_store_item item;
    larder_store_index_entry index = {INDEX, bytes_of(value, number % 40)};
    larder_store_item_init(&item, bytes_of(key, key_of(number, key)),
                           bytes_of(value, is_last ? length : 3));
    item.indexes = &index;
    item.index_count = number % 2;
    item.expires_ns = number % 4 == 0 ? INT64_MAX / 2 : LARDER_STORE_NEVER;
    return larder_store_put(store, &item, NULL);
}

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS;
    options.journal_bytes = 8 << 20;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static bool make_store(torture *run, const char *path) {
    larder_store *store = NULL;
    larder_status status = opened(path, 0, &store);
    for (unsigned i = 0; i < KEYS && !status; i++) {
        status = put(store, i, false);
    }
    status = status ? status : larder_store_flush(store);
    for (unsigned i = 0; i < KEYS && !status; i++) {
        status = i % 5 == 0 || i % 11 == 5 || i % 7 == 0 ? LARDER_OK : put(store, i, true);
    }
    status = status ? status : larder_store_flush(store);
    // Many pages become free at once, so that the free list is long.
    status = status ? status : larder_store_remove_prefix(store, bytes_of_text("b/"), NULL);
    for (unsigned i = 0; i < KEYS && !status; i++) {
        char key[400];
        uint8_t value[100];
        if (!value_of(i, value)) {
            status = larder_store_remove(store, bytes_of(key, key_of(i, key)), 0);
        } else if (i % 5 == 0 || i % 7 == 0) {
            status = put(store, i, true);
        }
    }
    status = status ? status : larder_store_flush(store);
    larder_store_close(store);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

// Reading -----------------------------------------------------------------------------------------

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN || status == LARDER_EVERSION;
}

static bool is_right(torture *run, const larder_store_entry *entry, unsigned number) {
    char key[400];
    uint8_t value[100];
    size_t length = value_of(number, value);
    return EXPECT(run,
                  length > 0 && entry->value.length == length &&
                      memcmp(entry->value.data, value, length) == 0 &&
                      entry->key.length == key_of(number, key) &&
                      memcmp(entry->key.data, key, entry->key.length) == 0,
                  "key %u has another value", number);
}

/** Reads every seventh key. @return of how many it is told rightly what is there. */
static unsigned get_all(torture *run, larder_store *store) {
    unsigned right = 0;
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i += 7) {
        char key[400];
        uint8_t value[100];
        larder_store_entry entry;
        larder_status status = larder_store_get(store, bytes_of(key, key_of(i, key)), 0, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND || is_damage(status),
               "get gave %d", status);
        if (status == LARDER_OK) {
            right += is_right(run, &entry, i);
        } else {
            right += status == LARDER_ENOTFOUND && value_of(i, value) == 0;
        }
        larder_store_release(&entry);
    }
    return right;
}

static unsigned number_of(const larder_store_entry *entry) {
    char text[8] = "";
    if (entry->key.length >= 8) {
        memcpy(text, (const char *)entry->key.data + 2, 5);
    }
    return (unsigned)atoi(text);
}

/** Goes over all. @return how many there are, or KEYS + 1 with a damage. */
static unsigned walk(torture *run, larder_store *store, const larder_store_query *query) {
    larder_store_cursor *cursor = NULL;
    larder_store_entry entry;
    larder_status status = larder_store_cursor_open(store, query, &cursor);
    unsigned steps = 0, damages = status != LARDER_OK;
    EXPECT(run, status == LARDER_OK || is_damage(status), "cursor_open gave %d", status);
    while (!status && EXPECT(run, steps + damages < 4 * KEYS, "a cursor goes on for ever")) {
        status = larder_store_cursor_next(cursor, &entry);
        if (status == LARDER_OK) {
            steps += is_right(run, &entry, number_of(&entry));
        } else if (status != LARDER_END) {
            damages++;
            EXPECT(run, is_damage(status), "a cursor gave %d", status);
            status = LARDER_OK;
        }
    }
    larder_store_cursor_close(cursor);
    return damages ? KEYS + 1 : steps;
}

/** How many entries there are, of every `step`-th key; of those in the index alone. */
static unsigned all_there(unsigned step, bool is_indexed) {
    unsigned count = 0;
    for (unsigned i = 0; i < KEYS; i += step) {
        uint8_t value[100];
        count += value_of(i, value) > 0 && (!is_indexed || i % 2);
    }
    return count;
}

/** Reads all in every way. @return whether everything was there. */
static bool read_all(torture *run, larder_store *store) {
    bool is_whole = get_all(run, store) == (KEYS + 6) / 7;
    for (unsigned order = 0; order < 6 && torture_unhurt(run); order++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = (larder_store_order)(order / 2);
        query.index = INDEX;
        query.flags = order % 2 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        unsigned wanted = all_there(1, query.order == LARDER_STORE_BY_INDEX);
        is_whole = walk(run, store, &query) == wanted && is_whole;
        uint64_t count = 0;
        larder_status status = larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
        EXPECT(run, status == LARDER_OK || is_damage(status), "count gave %d", status);
        is_whole = is_whole && status == LARDER_OK && count == wanted;
        if (order >= 2) {
            continue;
        }
        query.flags |= LARDER_STORE_HAS_LOWER | LARDER_STORE_HAS_UPPER;
        query.lower = bytes_of_text("a/00300");
        query.upper = bytes_of_text("c/00800");
        (void)walk(run, store, &query);
        status = larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
        EXPECT(run, status == LARDER_OK || is_damage(status), "count gave %d", status);
    }
    return is_whole;
}

// Hurting -----------------------------------------------------------------------------------------

static uint64_t read_field(const uint8_t *bytes, uint32_t width) {
    uint64_t value = 0;
    memcpy(&value, bytes, width);
    return value;
}

enum { VALUES = 7 };

static uint64_t bad_value(uint64_t is, uint32_t width, unsigned which) {
    uint64_t all = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
    const uint64_t values[VALUES] = {0, 1, all, is + 1, is - 1, all / 2, is ^ 0x30};
    return values[which] & all;
}

static void add(pages_bench *self, uint64_t offset, uint32_t width, uint64_t other) {
    if (self->count < PLACES && offset + width <= self->size) {
        self->places[self->count++] = (place){offset, width, other};
    }
}

/** Head, some of the nodes' offsets, and the nodes themselves. */
static void add_page(pages_bench *self, uint64_t number) {
    uint64_t start = number * self->page;
    const uint8_t *bytes = self->bytes + start;
    unsigned count = ((unsigned)read_field(bytes + 12, 2) - 16) / 2;
    add(self, start, 8, 0);
    for (uint32_t at = 10; at < 16; at += 2) {
        add(self, start + at, 2, 0);
    }
    for (unsigned i = 0; i < count; i = i == 1 ? (count > 3 ? count - 1 : 2) : i + 1) {
        uint64_t node = read_field(bytes + 16 + 2 * i, 2);
        add(self, start + 16 + 2 * i, 2, 0);
        for (uint32_t at = 0; at < 8 && node < self->page; at += 2) {
            add(self, start + node + at, 2, 0);
        }
        // The first of the key and of the value.
        add(self, start + node + 8, 8, 0);
        for (uint32_t at = 0; at < 24; at += 8) {
            add(self, start + node + 8 + read_field(bytes + node + 6, 2) + at, 8, 0);
        }
    }
}

static void add_meta(pages_bench *self) {
    static const uint8_t fields[][2] = {{0, 8},   {10, 2},  {16, 4},  {20, 4}, {40, 4},  {44, 2},
                                        {46, 2},  {48, 8},  {56, 8},  {64, 8}, {72, 8},  {80, 8},
                                        {88, 4},  {92, 2},  {94, 2},  {96, 8}, {104, 8}, {112, 8},
                                        {120, 8}, {128, 8}, {136, 8}, {144, 8}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t first = fields[i][0], second = self->page + fields[i][0];
        add(self, first, fields[i][1], 0);
        add(self, second, fields[i][1], 0);
        add(self, first, fields[i][1], second);
    }
}

static uint64_t child_of(const pages_bench *self, uint64_t number, unsigned index) {
    const uint8_t *bytes = self->bytes + number * self->page;
    return read_field(bytes + read_field(bytes + 16 + 2 * index, 2), 6);
}

/** The pages of a tree: all that have children, and some that have not. */
static void add_tree(pages_bench *self, uint64_t number, unsigned *leaves) {
    if (number >= self->size / self->page) {
        return;
    }
    const uint8_t *bytes = self->bytes + number * self->page;
    bool is_branch = (bytes[10] & 1) != 0;
    if (!is_branch && (*leaves)-- == 0) {
        ++*leaves;
        return;
    }
    add_page(self, number);
    unsigned count = ((unsigned)read_field(bytes + 12, 2) - 16) / 2;
    for (unsigned i = 0; is_branch && i < count; i += 1 + (i > 2) * count / 5) {
        add_tree(self, child_of(self, number, i), leaves);
    }
}

static bool find_places(torture *run, pages_bench *self) {
    char path[700];
    snprintf(path, sizeof path, "%s/data.mdb", self->whole);
    int64_t size = size_of_file(path);
    self->bytes = size > 0 ? malloc((size_t)size) : NULL;
    if (!EXPECT(run, self->bytes && read_file(path, self->bytes, (size_t)size) == size,
                "cannot read %s", path)) {
        return false;
    }
    self->size = (size_t)size;
    self->page = (size_t)read_field(self->bytes + 40, 4);
    const uint8_t *meta = self->bytes;
    if (read_field(meta + self->page + 144, 8) > read_field(meta + 144, 8)) {
        meta += self->page;
    }
    unsigned leaves = LEAVES, free_leaves = FREE_LEAVES;
    add_meta(self);
    add_tree(self, read_field(meta + 80, 8), &free_leaves);
    add_tree(self, read_field(meta + 128, 8), &leaves);
    return true;
}

static bool set_field(const pages_bench *self, const char *folder, const place *where,
                      unsigned which) {
    char path[700];
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    int file = open(path, O_RDWR | O_CLOEXEC);
    uint64_t value = bad_value(read_field(self->bytes + where->offset, where->width), where->width,
                               which % VALUES);
    bool good = file >= 0 && pwrite(file, &value, where->width, (off_t)where->offset) > 0;
    good = good && (!where->other ||
                    pwrite(file, &value, where->width, (off_t)where->other) == where->width);
    close(file);
    return good;
}

// Trials ------------------------------------------------------------------------------------------

static void read_hurt(torture *run, const char *path) {
    larder_store *store = NULL;
    larder_store_report report;
    larder_status status = opened(path, LARDER_STORE_READ_ONLY, &store);
    if (!EXPECT(run, status == LARDER_OK || is_damage(status), "open gave %d", status) || status) {
        return;
    }
    status = larder_store_check(store, NULL, NULL, &report);
    EXPECT(run, status == LARDER_OK || is_damage(status), "the check gave %d", status);
    bool is_whole = read_all(run, store);
    EXPECT(run, is_whole || status != LARDER_OK,
           "something is missing, and the check found it not");
    larder_store_close(store);
}

/** Everything that changes pages: more of the same, other keys, removals, limits. */
static void write_hurt(torture *run, const char *path) {
    larder_store *store = NULL;
    larder_status status = opened(path, 0, &store);
    if (!EXPECT(run, status == LARDER_OK || is_damage(status), "open gave %d", status) || status) {
        return;
    }
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i += 5) {
        uint8_t value[100];
        status = value_of(i, value) ? put(store, i, true) : LARDER_OK;
        EXPECT(run, status == LARDER_OK || is_damage(status), "put gave %d", status);
    }
    status = larder_store_flush(store);
    EXPECT(run, status == LARDER_OK || is_damage(status), "a flush gave %d", status);
    status = larder_store_remove_prefix(store, bytes_of_text("c/"), NULL);
    EXPECT(run, status == LARDER_OK || is_damage(status), "remove_prefix gave %d", status);
    status = larder_store_trim(store, KEYS / 9, LARDER_STORE_UNLIMITED, NULL);
    EXPECT(run, status == LARDER_OK || is_damage(status), "a trim gave %d", status);
    status = larder_store_shutdown(store);
    EXPECT(run, status == LARDER_OK || is_damage(status), "the end gave %d", status);
    larder_store_close(store);
}

/** From the log it is as it was; but the file of another version of LMDB stays as it is. */
static void rebuild_hurt(torture *run, const place *where, const char *path) {
    enum { LMDB_VERSION_OFFSET = 20 };
    larder_store_report report;
    larder_store *store = NULL;
    larder_status status = larder_store_rebuild(path, NULL, NULL, NULL, &report);
    if (status == LARDER_EVERSION && where->other && where->offset == LMDB_VERSION_OFFSET) {
        return;
    }
    if (!EXPECT(run, status == LARDER_OK, "rebuilding gave %d", status) ||
        !EXPECT_STATUS(run, opened(path, LARDER_STORE_READ_ONLY, &store), LARDER_OK)) {
        return;
    }
    EXPECT(run, get_all(run, store) == (KEYS + 6) / 7, "something is missing, rebuilt");
    EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
}

static void trial(torture *run, void *context, uint64_t number) {
    const pages_bench *self = context;
    uint64_t nth = number * self->stride;
    const place *where = &self->places[nth / VALUES];
    unsigned which = (unsigned)(nth % VALUES);
    torture_note(run, "%u bytes at %llu of data.mdb%s, value %u", where->width,
                 (unsigned long long)where->offset, where->other ? " and in the other meta" : "",
                 which);
    // Reading changes nothing, so that only what was set has to be set back.
    if (EXPECT(run, set_field(self, self->hurt, where, which), "cannot write")) {
        read_hurt(run, self->hurt);
    }
    bool is_written = mix2(run->seed, nth) % 4 == 0;
    bool is_rebuilt = mix2(run->seed, nth) % 32 == 1;
    if (is_written && torture_unhurt(run)) {
        write_hurt(run, self->hurt);
    } else if (is_rebuilt && torture_unhurt(run)) {
        rebuild_hurt(run, where, self->hurt);
    }
    remove_tree(self->hurt);
    EXPECT(run, copy_tree(self->whole, self->hurt), "cannot copy the store");
}

/** The newest state's root. */
static uint64_t root_of(const pages_bench *self) {
    bool is_second =
        read_field(self->bytes + self->page + 144, 8) > read_field(self->bytes + 144, 8);
    return read_field(self->bytes + (is_second ? self->page : 0) + 128, 8);
}

/** An earlier version of a page, which is free by now: another one of its kind with the same first
    key. The page itself if there is none. */
static uint64_t earlier_page(const pages_bench *self, uint64_t number) {
    const uint8_t *bytes = self->bytes + number * self->page;
    for (uint64_t other = 2; other < self->size / self->page; other++) {
        const uint8_t *page = self->bytes + other * self->page;
        const uint8_t *first = bytes + read_field(bytes + 16, 2);
        const uint8_t *second = page + read_field(page + 16, 2) % self->page;
        if (other != number && page[10] == bytes[10] &&
            memcmp(first + 6, second + 6, 2 + read_field(first + 6, 2)) == 0) {
            return other;
        }
    }
    return number;
}

/** A branch leads to a page that is free as well: LMDB would give it out again, and end the process
    when it finds it in use. It is found when something below it is to be changed. */
static void lead_to_free(torture *run, void *context, uint64_t index) {
    const pages_bench *self = context;
    uint64_t root = root_of(self), child = child_of(self, root, (unsigned)index);
    uint64_t other = earlier_page(self, child);
    const uint8_t *bytes = self->bytes + root * self->page;
    if (other == child) {
        return;
    }
    place where = {root * self->page + read_field(bytes + 16 + 2 * index, 2), 4, 0};
    char path[700];
    snprintf(path, sizeof path, "%s/data.mdb", self->hurt);
    int file = open(path, O_RDWR | O_CLOEXEC);
    uint32_t value = (uint32_t)other;
    EXPECT(run, pwrite(file, &value, sizeof value, (off_t)where.offset) == sizeof value,
           "cannot write");
    close(file);
    larder_store *store = NULL;
    larder_status status = opened(self->hurt, 0, &store);
    for (unsigned round = 0; round < 4 && !status && torture_unhurt(run); round++) {
        for (unsigned i = round % 2; i < KEYS; i += 2) {
            (void)!put(store, i, round > 1);
        }
        status = larder_store_flush(store);
        EXPECT(run, is_damage(status), "a page in use that is free is changed: %d", status);
    }
    larder_store_close(store);
    remove_tree(self->hurt);
    EXPECT(run, copy_tree(self->whole, self->hurt), "cannot copy the store");
}

static uint64_t children_of_root(const pages_bench *self) {
    const uint8_t *bytes = self->bytes + root_of(self) * self->page;
    return (bytes[10] & 1) != 0 ? (read_field(bytes + 12, 2) - 16) / 2 : 0;
}

void family_store_pages(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    char whole[600], hurt[600];
    snprintf(whole, sizeof whole, "%s", torture_path(run, "whole"));
    snprintf(hurt, sizeof hurt, "%s", torture_path(run, "hurt"));
    static pages_bench self;
    self = (pages_bench){.whole = whole, .hurt = hurt, .stride = run->brief ? 29 : 9};
    torture_trial(run);
    if (make_store(run, whole) && find_places(run, &self)) {
        larder_store *store = NULL;
        EXPECT(run, copy_tree(whole, hurt), "cannot copy the store");
        EXPECT_STATUS(run, opened(hurt, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
        EXPECT(run, read_all(run, store), "something is missing, unhurt");
        larder_store_close(store);
        torture_guard_each(run, self.count * VALUES / self.stride, 20, true, trial, &self);
        torture_guard_each(run, children_of_root(&self), 20, true, lead_to_free, &self);
    }
    free(self.bytes);
}
