// SPDX-License-Identifier: MIT
/** @file tree_scan_page.h
    Private: a scan of the whole file, and what it does with one page. */
#ifndef LARDER_TREE_SCAN_PAGE_H
#define LARDER_TREE_SCAN_PAGE_H

#include "pages/tree_page.h"

typedef struct scan {
    /** Not a tree of the file, but all of its whole pages; and its bytes. */
    tree file;
    uint64_t length;
    tree_report *report;
    tree_visit visit;
    void *context;
    /** Bits of pages: done with; the first `free_count` of `free` are of the free list. */
    uint8_t *done;
    uint8_t *free;
    uint64_t free_count;
} scan;

static inline bool has_bit(const uint8_t *bits, uint64_t number) {
    return (bits[number >> 3] & 1u << (number & 7)) != 0;
}

static inline bool scan_is_free(const scan *walk, uint64_t number) {
    return walk->free && number < walk->free_count && has_bit(walk->free, number);
}

static inline void scan_done(scan *walk, uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count && first + i < walk->file.page_count; i++)
        walk->done[(first + i) >> 3] |= (uint8_t)(1u << ((first + i) & 7));
}

static inline void scan_damage(scan *walk, uint64_t number) {
    uint64_t offset = number * walk->file.page_bytes;
    tree_report *report = walk->report;
    if (report->damaged_pages == 0 || offset < report->first_damage_offset)
        report->first_damage_offset = offset;
    report->damaged_pages++;
}

/** The nodes of a leaf page; and if not all are as they should be, whatever records there are in it
    besides: a node's damaged length hides a record that is whole. */
LARDER_MUST_CHECK larder_status scan_leaf(scan *walk, const tree_page *page);
/** Tells of every intact record in the page, of which `length` bytes are there. One at the place
    where overflow pages have their value may go on in the pages behind it; with `first_only`,
    nothing else is looked for. */
LARDER_MUST_CHECK larder_status scan_bytes(scan *walk, uint64_t number, uint64_t length,
                                           bool first_only);

#endif
