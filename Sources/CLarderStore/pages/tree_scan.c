// SPDX-License-Identifier: MIT
/** @file tree_scan.c
    Looks for records in three rounds: in the leaves that the newest tree leads to, so far as it can
    be followed; in the other pages that look like leaves, whose way from the root is lost; and in
    what is left, where a record is found by its own magic number, length and checksum, be it that
    its page's head is damaged or that the leaf is gone that knew of it.

    A page that the free list names holds what is out of date: it is passed over if that list is
    sound, and the newest. If it is not, old versions come too, and entries that were removed. */
#include <errno.h>
#include <stdlib.h>

#include "format/meta.h"
#include "pages/tree_scan_page.h"

/** Between which keys all of a page's own should be; NULL for no bound. */
typedef struct scan_bounds {
    larder_bytes lower;
    larder_bytes upper;
} scan_bounds;

static bool scan_fits(const tree_page *page, bool is_leaf, const scan_bounds *bounds) {
    tree_node first, last;
    if (!is_leaf && page->count < 2) return false;
    if (!page_node(page, is_leaf ? 0 : 1, &first) || !page_node(page, page->count - 1, &last))
        return false;
    return (!bounds->lower.data || compare_bytes(node_key(&first), bounds->lower) >= 0) &&
           (!bounds->upper.data || compare_bytes(node_key(&last), bounds->upper) < 0);
}

/** The leaves below `number`, at most `depth` levels down; a page that was seen is not seen again,
    so this ends. A page that is free, too, is in use if its keys are those that should be here:
    then it is the free list's number that is damaged, and not the one that led here. */
static larder_status scan_tree(scan *walk, uint64_t number, uint32_t depth,
                               const scan_bounds *bounds) {
    tree_page page;
    if (depth == 0 || number < TREE_META_PAGES || number >= walk->file.page_count ||
        has_bit(walk->done, number))
        return LARDER_OK;
    bool is_leaf = page_open(&walk->file, number, PAGE_LEAF, &page);
    if (!is_leaf && !page_open(&walk->file, number, PAGE_BRANCH, &page)) return LARDER_OK;
    if (scan_is_free(walk, number) && !scan_fits(&page, is_leaf, bounds)) return LARDER_OK;
    scan_done(walk, number, 1);
    if (is_leaf) return scan_leaf(walk, &page);
    scan_bounds below = *bounds;
    for (uint32_t i = 0; i < page.count; i++) {
        tree_node node, next;
        if (!page_node(&page, i, &node)) continue;
        if (i > 0) below.lower = node_key(&node);
        below.upper =
            i + 1 < page.count && page_node(&page, i + 1, &next) ? node_key(&next) : bounds->upper;
        larder_status status = scan_tree(walk, node_child(&node), depth - 1, &below);
        if (status) return status;
    }
    return LARDER_OK;
}

/** How many pages from `number` on are one run of overflow pages; 0 if none begins here. A page
    among them that has a head of its own is not one of them, whatever the first one says. */
static uint64_t scan_run(const tree *file, uint64_t number) {
    const uint8_t *bytes = tree_page_at(file, number);
    uint64_t count = load32(bytes + 12);
    if (load64(bytes) != number || load16(bytes + 10) != PAGE_OVERFLOW || count == 0) return 0;
    if (count > file->page_count - number) count = file->page_count - number;
    for (uint64_t i = 1; i < count; i++)
        if (load64(bytes + i * file->page_bytes) == number + i) return i;
    return count;
}

/** The pages that no other round has seen. */
static larder_status scan_rest(scan *walk) {
    const tree *file = &walk->file;
    for (uint64_t number = TREE_META_PAGES; number < file->page_count; number++) {
        if (has_bit(walk->done, number) || scan_is_free(walk, number)) continue;
        tree_page page;
        uint64_t run = scan_run(file, number);
        larder_status status = LARDER_OK;
        if (run > 0) {
            // What lies in the middle of a value only looks like a record.
            status = scan_bytes(walk, number, file->page_bytes, true);
            scan_done(walk, number, run);
        } else if (!page_open(file, number, PAGE_BRANCH, &page)) {
            scan_damage(walk, number);
            status = scan_bytes(walk, number, file->page_bytes, false);
        }
        if (status) return status;
    }
    return LARDER_OK;
}

static larder_status scan_rounds(scan *walk, const tree *newest) {
    const tree *file = &walk->file;
    larder_status status = LARDER_OK;
    const scan_bounds none = {{NULL, 0}, {NULL, 0}};
    if (newest) status = scan_tree(walk, newest->root, TREE_DEPTH_MAX, &none);
    for (uint64_t number = TREE_META_PAGES; !status && number < file->page_count; number++) {
        tree_page page;
        if (has_bit(walk->done, number) || scan_is_free(walk, number) ||
            !page_open(file, number, PAGE_LEAF, &page))
            continue;
        scan_done(walk, number, 1);
        status = scan_leaf(walk, &page);
    }
    if (!status) status = scan_rest(walk);
    // Where the file was cut, a part of a page is left.
    uint64_t rest = walk->length % file->page_bytes;
    if (status || file->page_count < TREE_META_PAGES || scan_is_free(walk, file->page_count))
        return status;
    return scan_bytes(walk, file->page_count, rest, false);
}

/** The greatest number of a transaction that left a meta record in any page, free or not, and be it
    in another's place. Its key is the least of all, so it is the first in its page. */
static uint64_t scan_newest_transaction(const tree *file) {
    uint64_t newest = 0;
    for (uint64_t number = 0; number < file->page_count; number++) {
        tree_page page;
        tree_node node;
        larder_bytes value;
        uint64_t overflow;
        store_meta meta;
        if (page_look(file, number, PAGE_LEAF, &page) && page_node(&page, 0, &node) &&
            node.key_bytes == 1 && node.key[0] == SPACE_META &&
            node_value(file, &page, &node, &value, &overflow) == LARDER_OK &&
            store_meta_read(value, &meta) == LARDER_OK && meta.transaction > newest)
            newest = meta.transaction;
    }
    return newest;
}

/** Whether the first of `trees` is the newest state that the file had: else what came after it is
    in pages that it calls free. A damaged number of a transaction can be any. */
static bool scan_knows_newest(const scan *walk, const tree *trees, size_t tree_count) {
    if (tree_count == 0 || trees[0].page_bytes != walk->file.page_bytes) return false;
    uint64_t newest = scan_newest_transaction(&walk->file);
    bool are_in_turn = tree_count > 1 && trees[0].transaction == trees[1].transaction + 1;
    return trees[0].transaction == newest || (are_in_turn && trees[0].transaction > newest);
}

larder_status tree_scan(const uint8_t *map, uint64_t map_bytes, uint32_t page_bytes,
                        const tree *trees, size_t tree_count, tree_visit visit, void *context,
                        tree_report *report) {
    *report = (tree_report){0};
    if (page_bytes < PAGE_MIN_BYTES || page_bytes > PAGE_MAX_BYTES ||
        (page_bytes & (page_bytes - 1)) != 0)
        return LARDER_EINVALID;
    scan walk = {.report = report, .visit = visit, .context = context, .length = map_bytes};
    walk.file = (tree){.map = map, .page_count = map_bytes / page_bytes, .page_bytes = page_bytes};
    walk.done = calloc(1, (size_t)(walk.file.page_count / 8 + 1));
    larder_status status = walk.done ? LARDER_OK : ENOMEM;
    const tree *newest = tree_count > 0 && trees[0].page_bytes == page_bytes ? &trees[0] : NULL;
    if (!status && scan_knows_newest(&walk, trees, tree_count)) {
        status = tree_free_marks(&trees[0], &walk.free, &walk.free_count);
        if (status == LARDER_EDAMAGED) status = LARDER_OK;
    }
    if (!status) status = scan_rounds(&walk, newest);
    for (uint64_t number = TREE_META_PAGES; number < walk.file.page_count && walk.free; number++)
        if (scan_is_free(&walk, number)) report->free_pages++;
    free(walk.free);
    free(walk.done);
    return status;
}
