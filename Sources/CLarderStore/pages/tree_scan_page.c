// SPDX-License-Identifier: MIT
/** @file tree_scan_page.c
    Records in one page: by its nodes as long as they are sound, and else by what a record says of
    itself, its magic number, length and checksum. */
#include "pages/tree_scan_page.h"

#include <errno.h>

enum { RECORD_LENGTH_OFFSET = 44 };

/** The record at `at`, if there is an intact one within `room` bytes. */
static bool scan_record(const uint8_t *at, uint64_t room, larder_bytes *out) {
    record entry;
    if (room < RECORD_HEAD_BYTES || load32(at) != RECORD_MAGIC) return false;
    uint32_t length = load32(at + RECORD_LENGTH_OFFSET);
    if (length < RECORD_HEAD_BYTES || length > room) return false;
    *out = (larder_bytes){at, length};
    return record_read(*out, true, &entry) == LARDER_OK;
}

/** Where the nodes of a page begin that may be a leaf; 0 if it does not look like one. What lies in
    front of them is left from nodes that were removed, or from another page. */
static uint32_t scan_nodes_start(const uint8_t *page, uint32_t page_bytes, uint64_t length) {
    uint32_t lower = load16(page + 12);
    uint32_t upper = load16(page + 14);
    if (lower <= PAGE_HEAD_BYTES || (lower & 1) || lower > upper || upper > page_bytes ||
        lower > length)
        return 0;
    uint32_t count = (lower - PAGE_HEAD_BYTES) / 2;
    uint32_t before = 0;
    uint32_t least = upper;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t offset = load16(page + PAGE_HEAD_BYTES + 2 * (size_t)i);
        if (offset >= upper || offset < lower) continue;
        before++;
        if (offset < least) least = offset;
    }
    // One node in front of the others: its offset is damaged. Several: it is the upper bound.
    return before > 1 ? least : upper;
}

larder_status scan_bytes(scan *walk, uint64_t number, uint64_t length, bool first_only) {
    uint32_t page_bytes = walk->file.page_bytes;
    const uint8_t *page = tree_page_at(&walk->file, number);
    const larder_bytes no_key = {NULL, 0};
    larder_bytes found;
    uint64_t at = PAGE_HEAD_BYTES;
    if (length <= at) return LARDER_OK;
    uint32_t start = first_only ? 0 : scan_nodes_start(page, page_bytes, length);
    if (start != 0) {
        at = start;
    } else if (scan_record(page + at, walk->length - number * page_bytes - at, &found)) {
        if (walk->visit(walk->context, no_key, found)) return ECANCELED;
        uint64_t count = overflow_pages(found.length, page_bytes);
        scan_done(walk, number, count);
        if (count > 1) return LARDER_OK;
        at += found.length;
    }
    if (first_only) return LARDER_OK;
    while (at + RECORD_HEAD_BYTES <= length) {
        const uint8_t *next = memchr(page + at, RECORD_MAGIC & 0xFF, (size_t)(length - at));
        if (!next) break;
        at = (uint64_t)(next - page);
        if (!scan_record(next, length - at, &found)) {
            at++;
            continue;
        }
        if (walk->visit(walk->context, no_key, found)) return ECANCELED;
        at += found.length;
    }
    return LARDER_OK;
}

larder_status scan_leaf(scan *walk, const tree_page *page) {
    bool is_whole = page_tiles(page, true);
    bool has_all = true;
    walk->report->pages++;
    for (uint32_t i = 0; i < page->count; i++) {
        tree_node node;
        larder_bytes value;
        uint64_t overflow;
        if (!page_node(page, i, &node) || node.key_bytes == 0 ||
            node.key_bytes > TREE_KEY_MAX_BYTES ||
            node_value(&walk->file, page, &node, &value, &overflow)) {
            is_whole = false;
            continue;
        }
        bool is_entry = node.key[0] == SPACE_ENTRY;
        bool looks_so = value.length >= RECORD_HEAD_BYTES && load32(value.data) == RECORD_MAGIC;
        if (!is_entry && !looks_so) continue;
        record entry;
        if (record_read(value, true, &entry) != LARDER_OK) has_all = false;
        else if (overflow != TREE_NO_PAGE)
            scan_done(walk, overflow, overflow_pages(value.length, page->size));
        larder_bytes key = is_entry ? node_key(&node) : (larder_bytes){NULL, 0};
        if (walk->visit(walk->context, key, value)) return ECANCELED;
    }
    if (!is_whole) scan_damage(walk, page->number);
    return is_whole && has_all ? LARDER_OK : scan_bytes(walk, page->number, page->size, false);
}
