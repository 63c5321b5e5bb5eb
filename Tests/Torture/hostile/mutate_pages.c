// SPDX-License-Identifier: MIT
// Fields of data.mdb: pages of LMDB, which have no checksums, and what of ours lies in them.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/meta.h"
#include "larder_crc32c.h"
#include "mutate.h"
#include "pages/tree_page.h"

void tell(char *told, size_t room, const char *format, ...) {
    size_t length = strlen(told);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(told + length, room - length, format, arguments);
    va_end(arguments);
}

uint64_t odd_number(rng *random, uint64_t now, uint64_t near) {
    const uint64_t others[] = {0,
                               1,
                               2,
                               now + 1,
                               now - 1,
                               now * 2,
                               now / 2,
                               near,
                               near + 1,
                               near - 1,
                               UINT16_MAX,
                               UINT32_MAX,
                               INT64_MAX,
                               UINT64_MAX,
                               rng_below(random, near + 1),
                               (uint64_t)1 << rng_below(random, 64),
                               now ^ (uint64_t)1 << rng_below(random, 64),
                               rng_next(random)};
    return others[rng_below(random, sizeof others / sizeof *others)];
}

/** The file as pages. */
typedef struct paper {
    uint8_t *bytes;
    uint64_t count;
    uint32_t size;
    rng *random;
    char *told;
    size_t room;
} paper;

static uint8_t *page_of(const paper *on, uint64_t number) { return on->bytes + number * on->size; }

static void set(const paper *on, uint8_t *at, size_t width, uint64_t value, const char *what) {
    uint64_t before = 0;
    memcpy(&before, at, width);
    memcpy(at, &value, width);
    tell(on->told, on->room, " %s at %zu: %llx -> %llx;", what, (size_t)(at - on->bytes),
         (unsigned long long)before, (unsigned long long)value);
}

static void set_odd(const paper *on, uint8_t *at, size_t width, const char *what) {
    uint64_t now = 0;
    memcpy(&now, at, width);
    set(on, at, width, odd_number(on->random, now, on->count), what);
}

/** A page of one of those kinds, or any other one. */
static uint64_t some_page(const paper *on, unsigned kinds) {
    for (unsigned attempt = 0; attempt < 64; attempt++) {
        uint64_t number = rng_below(on->random, on->count);
        if (load16(page_of(on, number) + 10) & kinds) {
            return number;
        }
    }
    return rng_below(on->random, on->count);
}

static uint32_t nodes_of(const paper *on, uint64_t number) {
    uint32_t lower = load16(page_of(on, number) + 12);
    return lower < PAGE_HEAD_BYTES || lower > on->size ? 0 : (lower - PAGE_HEAD_BYTES) / 2;
}

/** One of a page's nodes, inside the file; NULL if there is none. */
static uint8_t *some_node(const paper *on, uint64_t number, uint32_t *at) {
    uint32_t count = nodes_of(on, number);
    if (count == 0) {
        return NULL;
    }
    *at = (uint32_t)rng_below(on->random, count);
    uint32_t offset = load16(page_of(on, number) + PAGE_HEAD_BYTES + 2 * *at);
    return offset + NODE_HEAD_BYTES > on->size ? NULL : page_of(on, number) + offset;
}

/** Another page of the same kind with the same first key, such as an earlier version; the page
    itself if there is none. */
static uint64_t page_alike(const paper *on, uint64_t number) {
    uint64_t start = rng_below(on->random, on->count);
    for (uint64_t i = 0; i < on->count && number < on->count; i++) {
        uint64_t other = (start + i) % on->count;
        const uint8_t *page = page_of(on, number), *second = page_of(on, other);
        uint32_t at = load16(page + PAGE_HEAD_BYTES), there = load16(second + PAGE_HEAD_BYTES);
        if (other == number || load16(page + 10) != load16(second + 10) || at + 300 > on->size ||
            there + 300 > on->size) {
            continue;
        }
        uint32_t key_bytes = load16(page + at + 6) % 256;
        if (memcmp(page + at + 6, second + there + 6, 2 + key_bytes) == 0) {
            return other;
        }
    }
    return number;
}

static void change_child(const paper *on) {
    uint64_t branch = some_page(on, PAGE_BRANCH), to = some_page(on, PAGE_BRANCH | PAGE_LEAF);
    uint32_t at, from;
    uint8_t *node = some_node(on, branch, &at), *other;
    if (node == NULL) {
        return;
    }
    switch (rng_below(on->random, 4)) {
    case 0: to = odd_number(on->random, load32(node), on->count); break;
    case 1:
        other = some_node(on, branch, &from);
        to = other != NULL ? load32(other) : to;
        break;
    case 2: to = page_alike(on, load32(node)); break;
    default: break;
    }
    set(on, node, 4, to, "child");
}

static void change_head(const paper *on) {
    static const uint16_t kinds[] = {1, 2, 4, 8, 0x10, 0x20, 0x22, 0x40, 3, 0x4000, 0x8000, 0x8002};
    uint8_t *page = page_of(on, some_page(on, PAGE_BRANCH | PAGE_LEAF | PAGE_OVERFLOW));
    switch (rng_below(on->random, 5)) {
    case 0: set_odd(on, page, 8, "page number"); break;
    case 1: set(on, page + 10, 2, kinds[rng_below(on->random, 12)], "kind"); break;
    case 2: set_odd(on, page + 12, 2, "lower"); break;
    case 3: set_odd(on, page + 14, 2, "upper"); break;
    default: set_odd(on, page + 12, 4, "overflow pages"); break;
    }
}

static void change_node(const paper *on) {
    uint64_t number = some_page(on, PAGE_LEAF | PAGE_BRANCH);
    uint32_t at;
    uint8_t *node = some_node(on, number, &at);
    if (node == NULL) {
        return;
    }
    uint32_t key_bytes = load16(node + 6);
    size_t left = (size_t)(on->bytes + on->count * on->size - node);
    switch (rng_below(on->random, 6)) {
    case 0: set_odd(on, page_of(on, number) + PAGE_HEAD_BYTES + 2 * at, 2, "node"); break;
    case 1: set_odd(on, node, 2, "value length"); break;
    case 2: set_odd(on, node + 2, 2, "value length"); break;
    case 3: set(on, node + 4, 2, rng_below(on->random, 9), "node flags"); break;
    case 4: set_odd(on, node + 6, 2, "key length"); break;
    default:
        if (key_bytes > 0 && NODE_HEAD_BYTES + key_bytes <= left) {
            uint64_t byte = rng_below(on->random, key_bytes);
            set(on, node + NODE_HEAD_BYTES + byte, 1, rng_next(on->random), "key");
        }
        break;
    }
}

/** Rows of the free list: the leaves whose keys have eight bytes and values of as many. */
static void change_free_list(const paper *on) {
    for (unsigned attempt = 0; attempt < 40; attempt++) {
        uint64_t number = some_page(on, PAGE_LEAF);
        uint32_t at;
        uint8_t *node = some_node(on, number, &at);
        if (node == NULL || load16(node + 6) != 8 || load32(node) % 8 != 0 || load32(node) < 16 ||
            load64(node + 8) > 100000) {
            continue;
        }
        uint64_t count = load32(node) / 8 - 1;
        uint8_t *numbers = node + 16;
        if (numbers + 8 + 8 * count > on->bytes + on->count * on->size) {
            continue;
        }
        switch (rng_below(on->random, 4)) {
        case 0: set_odd(on, node + 8, 8, "freed by"); break;
        case 1: set_odd(on, numbers, 8, "free count"); break;
        case 2:
            set(on, numbers + 8 + 8 * rng_below(on->random, count), 8,
                some_page(on, PAGE_LEAF | PAGE_BRANCH), "free page");
            break;
        default: set_odd(on, numbers + 8 + 8 * rng_below(on->random, count), 8, "free page"); break;
        }
        return;
    }
}

static void change_meta_page(const paper *on) {
    static const struct {
        uint16_t offset, width;
    } fields[] = {{0, 8},  {10, 2}, {16, 4},  {20, 4},  {24, 8},  {32, 8},  {40, 4},  {44, 2},
                  {46, 2}, {48, 8}, {56, 8},  {64, 8},  {72, 8},  {80, 8},  {88, 4},  {92, 2},
                  {94, 2}, {96, 8}, {104, 8}, {112, 8}, {120, 8}, {128, 8}, {136, 8}, {144, 8}};
    unsigned field = (unsigned)rng_below(on->random, sizeof fields / sizeof *fields);
    uint64_t which = rng_below(on->random, TREE_META_PAGES);
    uint8_t *at = page_of(on, which) + fields[field].offset;
    if (fields[field].offset == 144) {
        // Both, a number apart, or nobody looks further.
        uint64_t value = odd_number(on->random, load64(at), on->count) & ~(uint64_t)1;
        set(on, page_of(on, 0) + 144, 8, value, "transaction");
        set(on, page_of(on, 1) + 144, 8, value + 1, "transaction");
    } else if (fields[field].offset == 80 || fields[field].offset == 128) {
        set(on, at, 8, some_page(on, PAGE_BRANCH | PAGE_LEAF), "root");
    } else {
        set_odd(on, at, fields[field].width, "meta page");
    }
}

static void change_page(const paper *on) {
    uint64_t from = some_page(on, PAGE_LEAF | PAGE_BRANCH), to = some_page(on, 0xFF);
    if (from != to && to >= TREE_META_PAGES) {
        tell(on->told, on->room, " page %d becomes %d;", (int)to, (int)from);
        memcpy(page_of(on, to), page_of(on, from), on->size);
        memcpy(page_of(on, to), &to, 8);
    }
}

/** A row of ours of a name space; its value is at least so long. */
static uint8_t *some_row(const paper *on, uint8_t space, uint32_t least, uint32_t *length) {
    for (unsigned attempt = 0; attempt < 60; attempt++) {
        uint32_t at;
        uint8_t *node = some_node(on, some_page(on, PAGE_LEAF), &at);
        if (node == NULL || load16(node + 4) != 0 || node[NODE_HEAD_BYTES] != space) {
            continue;
        }
        uint8_t *value = node + NODE_HEAD_BYTES + load16(node + 6);
        *length = load32(node);
        if (*length >= least && *length <= on->size &&
            value + *length <= on->bytes + on->count * on->size) {
            return value;
        }
    }
    return NULL;
}

/** All copies of the meta record, each with its checksum. */
static void change_meta_record(const paper *on) {
    static const uint8_t offsets[] = {24, 32, 40, 56, 64, 72, 80, 84, 104, 112, 120, 124};
    unsigned field = (unsigned)rng_below(on->random, sizeof offsets);
    size_t width = field + 1 < sizeof offsets ? (size_t)offsets[field + 1] - offsets[field] : 4;
    width = width > 8 ? 8 : width;
    uint64_t value = 0;
    bool is_chosen = false;
    for (uint64_t number = TREE_META_PAGES; number < on->count; number++) {
        for (uint32_t at = 0; at < nodes_of(on, number); at++) {
            uint32_t offset = load16(page_of(on, number) + PAGE_HEAD_BYTES + 2 * at);
            uint8_t *node = page_of(on, number) + offset, *meta = node + NODE_HEAD_BYTES + 1;
            if (offset + NODE_HEAD_BYTES + 1 + META_BYTES > on->size ||
                load32(node) != META_BYTES || load16(node + 6) != 1 ||
                node[NODE_HEAD_BYTES] != SPACE_META) {
                continue;
            }
            uint64_t now = 0;
            memcpy(&now, meta + offsets[field], width);
            value = is_chosen ? value : odd_number(on->random, now, 16);
            is_chosen = true;
            set(on, meta + offsets[field], width, value, "meta record");
            uint32_t crc = larder_crc32c(0, meta + 12, META_BYTES - 12);
            memcpy(meta + 8, &crc, 4);
        }
    }
}

static void change_row(const paper *on) {
    static const uint8_t spaces[] = {SPACE_ENTRY, SPACE_SEGMENT, SPACE_EXPIRY, SPACE_RECENCY};
    uint32_t length;
    uint8_t space = spaces[rng_below(on->random, sizeof spaces)];
    uint8_t *value = some_row(on, space, 8, &length);
    if (value == NULL) {
        return;
    }
    size_t width = space == SPACE_ENTRY ? 4 : 8;
    size_t within = space == SPACE_ENTRY && length > ROW_BYTES ? ROW_BYTES : length;
    set_odd(on, value + rng_below(on->random, within / width) * width, width, "row");
    bool is_inlined = space == SPACE_ENTRY && length > ROW_BYTES + RECORD_HEAD_BYTES;
    if (is_inlined && rng_one_in(on->random, 2)) {
        mutate_record(value + ROW_BYTES, length - ROW_BYTES, on->random, on->told, on->room);
    }
}

void mutate_pages(image_file *data, rng *random, char *told, size_t room) {
    uint32_t size = data->size >= 4096 ? load32(data->bytes + 40) : 0;
    // Its own page size may have been changed already.
    size = size < PAGE_MIN_BYTES || size > PAGE_MAX_BYTES || (size & (size - 1)) != 0 ? 4096 : size;
    paper on = {data->bytes, data->size / size, size, random, told, room};
    if (on.count < 3) {
        return;
    }
    switch (rng_below(random, 12)) {
    case 0:
    case 1:
    case 2: change_child(&on); break;
    case 3: change_head(&on); break;
    case 4:
    case 5: change_node(&on); break;
    case 6:
    case 7: change_free_list(&on); break;
    case 8: change_meta_page(&on); break;
    case 9: change_page(&on); break;
    case 10: change_meta_record(&on); break;
    default: change_row(&on); break;
    }
}
