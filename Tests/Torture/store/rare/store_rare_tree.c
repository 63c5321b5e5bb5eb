// SPDX-License-Identifier: MIT
// Trees that no field set wrong by itself makes: pages made by hand, and put into data.mdb in the
// place of others. Of each it is known whether the check has to find it. Reading such a store gives
// no other value than there was, writing to it ends no process, and from the log it comes back.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"

enum { KEYS = 900, PAGE = 4096, ENTRIES = 0x10, ORDER = 0x50 };
/** Fields of a meta page: what the free list's tree has lies before what the tree itself has. */
enum { PAGE_SIZE = 40, FREE = 40, MAIN = 88, DEPTH = 6, COUNTS = 8, ROOT = 40, LAST = 136 };

typedef struct bench {
    const char *whole, *hurt, *other;
    uint8_t *bytes;
    size_t size;
} bench;

/** data.mdb, to be changed. */
typedef struct image {
    uint8_t *bytes;
    size_t size;
    uint8_t *meta, *older;
} image;

/** A node of a page made by hand. */
typedef struct node {
    const void *key;
    size_t key_bytes;
    const void *value;
    /** What it says of its value, and how long that really is. */
    uint32_t says, value_bytes;
    uint16_t flags;
} node;

// The store ---------------------------------------------------------------------------------------

static larder_bytes key_of(unsigned number, char *target) {
    size_t length = (size_t)sprintf(target, "%05u/", number);
    memset(target + length, 'x', 70 + number % 5 * 30);
    return bytes_of(target, length + 70 + number % 5 * 30);
}

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static larder_status put(larder_store *store, unsigned number) {
    char key[300], value[16];
    larder_store_item item;
    larder_store_item_init(&item, key_of(number, key),
                           bytes_of(value, (size_t)sprintf(value, "value %u", number)));
    return larder_store_put(store, &item, NULL);
}

static bool make_store(torture *run, const char *path) {
    larder_store *store = NULL;
    larder_status status = opened(path, 0, &store);
    for (unsigned round = 0; round < 3 && !status; round++) {
        for (unsigned i = 0; i < KEYS && !status; i += 1 + round) {
            status = put(store, i);
        }
        status = status ? status : larder_store_flush(store);
    }
    larder_store_close(store);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN;
}

/** @return of how many keys the value is there. */
static unsigned get_all(torture *run, larder_store *store) {
    unsigned count = 0;
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i++) {
        char key[300], value[16];
        size_t length = (size_t)sprintf(value, "value %u", i);
        larder_store_entry entry;
        larder_status status = larder_store_get(store, key_of(i, key), 0, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND || is_damage(status),
               "get gave %d", status);
        EXPECT(run,
               status != LARDER_OK ||
                   (entry.value.length == length && memcmp(entry.value.data, value, length) == 0),
               "key %u has another value", i);
        count += status == LARDER_OK;
        larder_store_release(&entry);
    }
    return count;
}

static void walk_all(torture *run, larder_store *store) {
    for (unsigned way = 0; way < 4; way++) {
        larder_store_query query;
        larder_store_cursor *cursor = NULL;
        larder_store_entry entry;
        larder_store_query_init(&query);
        query.order = way / 2 ? LARDER_STORE_BY_RECENCY : LARDER_STORE_BY_KEY;
        query.flags = way % 2 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        larder_status status = larder_store_cursor_open(store, &query, &cursor);
        EXPECT(run, status == LARDER_OK || is_damage(status), "cursor_open gave %d", status);
        unsigned steps = 0;
        while (cursor && status != LARDER_END &&
               EXPECT(run, steps++ < 4 * KEYS, "a cursor goes on for ever")) {
            status = larder_store_cursor_next(cursor, &entry);
            EXPECT(run, status == LARDER_OK || status == LARDER_END || is_damage(status),
                   "a cursor gave %d", status);
        }
        larder_store_cursor_close(cursor);
    }
}

// Pages -------------------------------------------------------------------------------------------

static uint64_t field(const uint8_t *at, size_t width) {
    uint64_t value = 0;
    memcpy(&value, at, width);
    return value;
}

static void set(uint8_t *at, size_t width, uint64_t value) { memcpy(at, &value, width); }

static uint8_t *page_at(const image *self, uint64_t number) { return self->bytes + number * PAGE; }

static unsigned count_of(const uint8_t *page) { return (unsigned)(field(page + 12, 2) - 16) / 2; }

static uint8_t *node_of(uint8_t *page, unsigned index) {
    return page + field(page + 16 + 2 * (size_t)index, 2);
}

/** A leaf of the tree, of which all keys are of this name space. */
static uint8_t *leaf_of(const image *self, uint64_t number, unsigned depth, uint8_t space) {
    uint8_t *page = page_at(self, number);
    if (depth == 1) {
        unsigned count = count_of(page);
        return count > 3 && node_of(page, 0)[8] == space && node_of(page, count - 1)[8] == space
                   ? page
                   : NULL;
    }
    uint8_t *found = NULL;
    for (unsigned i = 0; i < count_of(page) && !found; i++) {
        found = leaf_of(self, field(node_of(page, i), 6), depth - 1, space);
    }
    return found;
}

static uint8_t *a_leaf(const image *self, uint8_t space) {
    return leaf_of(self, field(self->meta + MAIN + ROOT, 8),
                   (unsigned)field(self->meta + MAIN + DEPTH, 2), space);
}

/** The number of a new page at the file's end, of this kind. */
static uint64_t add_page(image *self, uint16_t kind) {
    uint64_t number = field(self->meta + LAST, 8) + 1;
    uint8_t *page = page_at(self, number);
    memset(page, 0, PAGE);
    set(page, 8, number);
    set(page + 10, 2, kind);
    set(self->meta + LAST, 8, number);
    self->size = (size_t)(number + 1) * PAGE;
    return number;
}

/** Gives a page these nodes, the first one at its end. */
static void fill_page(uint8_t *page, const node *nodes, unsigned count) {
    size_t upper = PAGE;
    for (unsigned i = 0; i < count; i++) {
        const node *from = &nodes[i];
        upper -= (8 + from->key_bytes + from->value_bytes + 1) & ~(size_t)1;
        uint8_t *to = page + upper;
        set(to, 4, from->says);
        set(to + 4, 2, from->flags);
        set(to + 6, 2, from->key_bytes);
        memcpy(to + 8, from->key, from->key_bytes);
        memcpy(to + 8 + from->key_bytes, from->value, from->value_bytes);
        set(page + 16 + 2 * (size_t)i, 2, upper);
    }
    set(page + 12, 2, 16 + 2 * count);
    set(page + 14, 2, upper);
}

static const uint64_t one = 1, two = 2;

/** Gives the free list a single leaf with this value, which may be on overflow pages. */
static void set_free_list(image *self, const uint64_t *key, const void *value, uint32_t says,
                          uint32_t bytes, uint16_t flags, unsigned count) {
    node nodes[2] = {{key, 8, value, says, bytes, flags}, {&two, 8, value, says, bytes, flags}};
    uint64_t number = add_page(self, 2);
    fill_page(page_at(self, number), nodes, count);
    uint8_t *head = self->meta + FREE;
    set(head + DEPTH, 2, 1);
    memset(head + COUNTS, 0, 32);
    set(head + COUNTS + 8, 8, 1);
    set(head + COUNTS + 24, 8, count);
    set(head + ROOT, 8, number);
}

// What is wrong -----------------------------------------------------------------------------------

static void rootless(image *self) { set(self->meta + MAIN + ROOT, 8, UINT64_MAX); }
static void rootless_flat(image *self) {
    rootless(self);
    set(self->meta + MAIN + DEPTH, 2, 0);
}
static void empty_tree(image *self) {
    rootless_flat(self);
    memset(self->meta + MAIN + COUNTS, 0, 32);
}
static void large_pages(image *self) {
    set(self->bytes + PAGE_SIZE, 4, 65536);
    set(self->bytes + PAGE + PAGE_SIZE, 4, 65536);
}
static void other_pages(image *self) { set(self->bytes + PAGE + PAGE_SIZE, 4, 65536); }
static void no_pages(image *self) { set(self->meta + LAST, 8, 0); }
static void far_end(image *self) { set(self->meta + LAST, 8, (uint64_t)1 << 40); }
static void stray_page(image *self) { (void)add_page(self, 2); }

static void shared_node(image *self) {
    uint8_t *page = a_leaf(self, ENTRIES);
    set(page + 16, 2, field(page + 18, 2));
}
static void single_child(image *self) {
    set(page_at(self, field(self->meta + MAIN + ROOT, 8)) + 12, 2, 18);
}
static void long_key(image *self) {
    static const uint8_t bytes[700] = {ENTRIES, '0'};
    node nodes[2] = {{bytes, 600, bytes, 8, 8, 0}, {bytes, 700, bytes, 8, 8, 0}};
    fill_page(a_leaf(self, ENTRIES), nodes, 2);
}
static void no_key(image *self) { set(node_of(a_leaf(self, ENTRIES), 2) + 6, 2, 0); }
static void no_key_in_order(image *self) { set(node_of(a_leaf(self, ORDER), 2) + 6, 2, 0); }
static void long_value_in_order(image *self) { set(node_of(a_leaf(self, ORDER), 1), 4, 5000); }

/** Where the last entry's key leads. */
static void last_leaf(image *self) {
    uint8_t *page = page_at(self, field(self->meta + MAIN + ROOT, 8));
    for (uint64_t depth = field(self->meta + MAIN + DEPTH, 2); depth > 1; depth--) {
        unsigned at = 0;
        while (at + 1 < count_of(page) && node_of(page, at + 1)[8] <= ENTRIES) {
            at++;
        }
        page = page_at(self, field(node_of(page, at), 6));
    }
    set(node_of(page, 0), 4, 5000);
}

/** The first entry of a leaf alone, at its end, with its value elsewhere. */
static void elsewhere(image *self, uint64_t first, uint32_t says, uint32_t room) {
    static uint8_t key[512];
    uint8_t *page = a_leaf(self, ENTRIES), *from = node_of(page, 0);
    size_t length = (size_t)field(from + 6, 2);
    memcpy(key, from + 8, length);
    fill_page(page, &(node){key, length, &first, says, room, 1}, 1);
}
static void no_room(image *self) { elsewhere(self, 2, 100, 4); }
static void in_meta(image *self) { elsewhere(self, 1, 100, 8); }
static void behind_the_end(image *self) { elsewhere(self, self->size / PAGE, 100, 8); }
static void no_overflow(image *self) { elsewhere(self, field(self->meta + MAIN + ROOT, 8), 9, 8); }
static void overflow(image *self, uint64_t count, uint32_t says) {
    uint64_t number = add_page(self, 4);
    set(page_at(self, number) + 12, 4, count);
    elsewhere(self, number, says, 8);
}
static void few_overflow(image *self) { overflow(self, 1, 5000); }
static void many_overflow(image *self) { overflow(self, 1000, 5000); }
/** A row that is sound for LMDB, and no row of a store. */
static void long_row(image *self) { overflow(self, 1, 3000); }

static void free_zero(image *self) {
    static const uint64_t none = 0;
    set_free_list(self, &none, &none, 8, 8, 0, 1);
}
/** What lies farther back in the file is come upon first. */
static void free_zero_and_shared_node(image *self) {
    free_zero(self);
    shared_node(self);
}
static void free_later(image *self) {
    static const uint64_t later = 1 << 20;
    set_free_list(self, &later, (uint64_t[]){0}, 8, 8, 0, 1);
}
static void free_short(image *self) { set_free_list(self, &one, &one, 4, 4, 0, 1); }
static void free_odd(image *self) { set_free_list(self, &one, (uint64_t[]){0, 0}, 12, 12, 0, 1); }
static void free_many(image *self) { set_free_list(self, &one, (uint64_t[]){9, 2}, 16, 16, 0, 1); }
static void free_upwards(image *self) {
    uint64_t number = add_page(self, 2);
    set_free_list(self, &one, (uint64_t[]){2, number, number + 1}, 24, 24, 0, 1);
}
static void free_meta(image *self) { set_free_list(self, &one, (uint64_t[]){1, 1}, 16, 16, 0, 1); }
static void free_in_use(image *self) {
    uint64_t itself = field(self->meta + LAST, 8) + 1;
    set_free_list(self, &one, (uint64_t[]){1, itself}, 16, 16, 0, 1);
}
static void free_shared(image *self) {
    uint64_t number = add_page(self, 4);
    set(page_at(self, number) + 12, 4, 1);
    set_free_list(self, &one, &number, 8, 8, 1, 2);
    set(self->meta + FREE + COUNTS + 16, 8, 2);
}
/** Where LMDB deletes a row of it, it would stop the process. */
static void free_single_child(image *self) {
    uint64_t child = field(self->meta + FREE + ROOT, 8), number = add_page(self, 1);
    // Of a branch page's node, the child's number is where a leaf has the length and the flags.
    fill_page(page_at(self, number), &(node){"", 0, "", (uint32_t)child, 0, 0}, 1);
    uint8_t *head = self->meta + FREE;
    set(head + DEPTH, 2, field(head + DEPTH, 2) + 1);
    set(head + COUNTS, 8, field(head + COUNTS, 8) + 1);
    set(head + ROOT, 8, number);
}

static const struct {
    const char *name;
    void (*change)(image *self);
    larder_status opens, checks;
} ways[] = {
    {"nothing is wrong", NULL, LARDER_OK, LARDER_OK},
    {"no root, though it has levels", rootless, LARDER_EDAMAGED, 0},
    {"no root, though it has rows", rootless_flat, LARDER_EDAMAGED, 0},
    {"an empty tree", empty_tree, LARDER_EDAMAGED, 0},
    {"pages of 65536 bytes", large_pages, LARDER_EDAMAGED, 0},
    {"pages of another size in the second meta page", other_pages, LARDER_EDAMAGED, 0},
    {"no pages", no_pages, LARDER_EDAMAGED, 0},
    {"more pages than can be free", far_end, LARDER_EDAMAGED, 0},
    {"a page of no use", stray_page, LARDER_OK, LARDER_EDAMAGED},
    {"two keys with one node", shared_node, LARDER_OK, LARDER_EDAMAGED},
    {"a root with one child", single_child, LARDER_OK, LARDER_EDAMAGED},
    {"a key of 600 bytes", long_key, LARDER_OK, LARDER_EDAMAGED},
    {"a key without bytes", no_key, LARDER_OK, LARDER_EDAMAGED},
    {"a place in the order without bytes", no_key_in_order, LARDER_OK, LARDER_EDAMAGED},
    {"a place in the order with a long value", long_value_in_order, LARDER_OK, LARDER_EDAMAGED},
    {"no room for an overflow page's number", no_room, LARDER_OK, LARDER_EDAMAGED},
    {"a value in a meta page", in_meta, LARDER_OK, LARDER_EDAMAGED},
    {"a value behind the file's end", behind_the_end, LARDER_OK, LARDER_EDAMAGED},
    {"a value in a branch page", no_overflow, LARDER_OK, LARDER_EDAMAGED},
    {"too few overflow pages", few_overflow, LARDER_OK, LARDER_EDAMAGED},
    {"more overflow pages than there are", many_overflow, LARDER_OK, LARDER_EDAMAGED},
    {"a row on an overflow page", long_row, LARDER_OK, LARDER_EDAMAGED},
    {"pages freed by no transaction", free_zero, LARDER_OK, LARDER_EDAMAGED},
    {"damage in the free list, and before it", free_zero_and_shared_node, LARDER_OK,
     LARDER_EDAMAGED},
    {"pages freed by a later transaction", free_later, LARDER_OK, LARDER_EDAMAGED},
    {"pages freed in four bytes", free_short, LARDER_OK, LARDER_EDAMAGED},
    {"pages freed in twelve bytes", free_odd, LARDER_OK, LARDER_EDAMAGED},
    {"more pages freed than are named", free_many, LARDER_OK, LARDER_EDAMAGED},
    {"pages freed upwards", free_upwards, LARDER_OK, LARDER_EDAMAGED},
    {"a meta page freed", free_meta, LARDER_OK, LARDER_EDAMAGED},
    {"a page freed by itself", free_in_use, LARDER_OK, LARDER_EDAMAGED},
    {"two lists of freed pages on one page", free_shared, LARDER_OK, LARDER_EDAMAGED},
    {"a free list of one child", free_single_child, LARDER_OK, LARDER_EDAMAGED},
};
enum { WAYS = sizeof ways / sizeof *ways };

// Trials ------------------------------------------------------------------------------------------

static bool hurt_store(torture *run, const bench *self, void (*change)(image *)) {
    char path[700];
    image made = {calloc(1, self->size + 8 * PAGE), self->size, NULL, NULL};
    remove_tree(self->hurt);
    if (!EXPECT(run, made.bytes && copy_tree(self->whole, self->hurt), "cannot copy the store")) {
        free(made.bytes);
        return false;
    }
    memcpy(made.bytes, self->bytes, self->size);
    bool is_second = field(made.bytes + PAGE + 144, 8) > field(made.bytes + 144, 8);
    made.meta = made.bytes + is_second * PAGE;
    if (change) {
        change(&made);
    }
    snprintf(path, sizeof path, "%s/data.mdb", self->hurt);
    bool good = EXPECT(run, write_file(path, made.bytes, made.size), "cannot write %s", path);
    free(made.bytes);
    return good;
}

static void read_hurt(torture *run, const bench *self, unsigned way) {
    larder_store *store = NULL;
    larder_store_report report;
    if (!EXPECT_STATUS(run, opened(self->hurt, LARDER_STORE_READ_ONLY, &store), ways[way].opens) ||
        !store) {
        return;
    }
    unsigned count = get_all(run, store);
    walk_all(run, store);
    larder_status status = larder_store_check(store, NULL, NULL, &report);
    // A row of another form is for the check of the rows to tell.
    EXPECT(run, status == ways[way].checks, "the check gave %d", status);
    EXPECT(run, count == KEYS || status != LARDER_OK, "%u are there, and the check found nothing",
           count);
    remove_tree(self->other);
    status = larder_store_backup(store, self->other, NULL, NULL);
    EXPECT(run, status == LARDER_OK || is_damage(status), "a backup gave %d", status);
    larder_store_close(store);
}

/** @param clears with everything removed at once, which all pages are looked at for. */
static void write_hurt(torture *run, const bench *self, unsigned way, bool clears) {
    larder_store *store = NULL;
    larder_status opens = opened(self->hurt, 0, &store);
    // Who writes reads more of the tree first.
    EXPECT(run, opens == ways[way].opens || (is_damage(opens) && ways[way].checks),
           "an open gave %d", opens);
    if (!store) {
        return;
    }
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i += clears ? 400 : 3) {
        larder_status status = put(store, i);
        EXPECT(run, status == LARDER_OK || is_damage(status), "put gave %d", status);
    }
    larder_status statuses[] = {clears ? larder_store_remove_all(store, NULL, NULL) : LARDER_OK,
                                larder_store_flush(store),
                                larder_store_trim(store, KEYS / 2, LARDER_STORE_UNLIMITED, NULL),
                                larder_store_flush(store)};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        EXPECT(run, statuses[i] == LARDER_OK || (is_damage(statuses[i]) && ways[way].checks),
               "call %zu gave %d", i, statuses[i]);
    }
    if (!ways[way].checks) {
        larder_store_report report;
        EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
        unsigned wanted = clears ? 0 : KEYS / 2;
        EXPECT(run, report.intact == wanted, "%llu are left", (unsigned long long)report.intact);
    }
    larder_store_close(store);
}

static void rebuild_hurt(torture *run, const bench *self) {
    larder_store *store = NULL;
    larder_store_report report;
    if (EXPECT_STATUS(run, larder_store_rebuild(self->hurt, NULL, NULL, NULL, &report),
                      LARDER_OK) &&
        EXPECT_STATUS(run, opened(self->hurt, LARDER_STORE_READ_ONLY, &store), LARDER_OK)) {
        EXPECT(run, get_all(run, store) == KEYS, "something is missing, rebuilt");
        EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    }
    larder_store_close(store);
}

static void trial(torture *run, void *context, uint64_t number) {
    const bench *self = context;
    unsigned way = (unsigned)number;
    torture_note(run, "%s", ways[way].name);
    if (!hurt_store(run, self, ways[way].change)) {
        return;
    }
    read_hurt(run, self, way);
    rebuild_hurt(run, self);
    for (unsigned clears = 0; clears < 2 && torture_unhurt(run); clears++) {
        if (hurt_store(run, self, ways[way].change)) {
            write_hurt(run, self, way, clears);
        }
    }
}

static bool read_whole(torture *run, bench *self) {
    char path[700];
    snprintf(path, sizeof path, "%s/data.mdb", self->whole);
    int64_t size = size_of_file(path);
    self->bytes = size > 0 ? aligned_alloc(PAGE, ((size_t)size + PAGE - 1) / PAGE * PAGE) : NULL;
    if (!EXPECT(run, self->bytes && read_file(path, self->bytes, (size_t)size) == size,
                "cannot read %s", path)) {
        return false;
    }
    self->size = (size_t)size;
    const char *broken = tree_contract(self->bytes, self->size);
    return EXPECT(run, field(self->bytes + PAGE_SIZE, 4) == PAGE, "pages of another size") &&
           EXPECT(run, !broken, "this did not hold: %s", broken);
}

void family_store_rare_tree(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    char whole[600], hurt[600], other[600];
    snprintf(whole, sizeof whole, "%s", torture_path(run, "whole"));
    snprintf(hurt, sizeof hurt, "%s", torture_path(run, "hurt"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    static bench self;
    self = (bench){.whole = whole, .hurt = hurt, .other = other};
    torture_trial(run);
    if (make_store(run, whole) && read_whole(run, &self)) {
        const char *broken = rows_contract(whole, false);
        EXPECT(run, !broken, "this did not hold: %s", broken);
        if (hurt_store(run, &self, last_leaf)) {
            broken = rows_contract(hurt, true);
            EXPECT(run, !broken, "of a damaged leaf, this did not hold: %s", broken);
        }
        torture_guard_each(run, WAYS, 20, true, trial, &self);
    }
    free(self.bytes);
}
