// SPDX-License-Identifier: MIT
/** @file tree_audit.c
    One pass over the free list's tree and the tree itself marks every page that either of them uses
    and every page that the free list names. Each page must be marked once: twice is a page that two
    nodes lead to, or that is in use and free at once, such as the old version of a page that was
    copied; never is a page that nothing leads to any more.

    The free list's keys are the numbers of the transactions that freed the pages, u64; a value is a
    count, then as many page numbers from the greatest to the least, u64 each, and may have unused
    room behind them. */
#include "pages/tree_page.h"

// Pages -------------------------------------------------------------------------------------------

/** Of a node with its padding; more than a page if it is longer. */
static uint32_t node_bytes(const tree_node *node, bool is_leaf) {
    uint64_t bytes = NODE_HEAD_BYTES + (uint64_t)node->key_bytes;
    if (is_leaf) bytes += load16(node->bytes + 4) ? sizeof(uint64_t) : load32(node->bytes);
    return bytes > PAGE_MAX_BYTES ? PAGE_MAX_BYTES : (uint32_t)(bytes + 1) & ~1u;
}

bool larder_page_has_node_behind(const tree_page *leaf, const tree_node *node) {
    uint32_t end = node->offset + node_bytes(node, true);
    const uint8_t *offsets = leaf->bytes + PAGE_HEAD_BYTES;
    for (uint32_t i = 0; i < leaf->count; i++)
        if (load16(offsets + 2 * (size_t)i) == end) return true;
    return end == leaf->size;
}

bool larder_page_is_full(const tree_page *page, bool is_leaf) {
    tree_node node;
    uint32_t left = page->size - page->upper;
    for (uint32_t i = 0; i < page->count; i++) {
        if (!page_node(page, i, &node)) return false;
        const uint32_t bytes = node_bytes(&node, is_leaf);
        if (bytes > left) return false;
        left -= bytes;
    }
    return left == 0;
}

/** Whether the nodes fill the page, each once. */
static bool page_tiles(const tree_page *page, bool is_leaf) {
    uint8_t starts[PAGE_MAX_BYTES / 2 / 8];
    memset(starts, 0, page->size / 16);
    tree_node node;
    for (uint32_t i = 0; i < page->count; i++) {
        if (!page_node(page, i, &node) || (node.offset & 1)) return false;
        uint8_t bit = (uint8_t)(1u << (node.offset / 2 & 7));
        if (starts[node.offset / 16] & bit) return false;
        starts[node.offset / 16] |= bit;
    }
    uint32_t count = 0;
    for (uint32_t offset = page->upper; offset < page->size; count++) {
        if ((offset & 1) || (starts[offset / 16] & 1u << (offset / 2 & 7)) == 0) return false;
        node.bytes = page->bytes + offset;
        node.key_bytes = load16(node.bytes + 6);
        offset += node_bytes(&node, is_leaf);
        if (offset > page->size) return false;
    }
    return count == page->count;
}

static int number_order(larder_bytes a, larder_bytes b) {
    uint64_t first = load64(a.data), second = load64(b.data);
    return (first > second) - (first < second);
}

bool larder_page_is_sound(const tree *state, const tree_page *page, bool is_leaf,
                          bool is_of_free_list, const page_bounds *bounds) {
    int (*order)(larder_bytes, larder_bytes) = is_of_free_list ? number_order : compare_bytes;
    // LMDB stops the whole process at a branch page with one child.
    if ((!is_leaf && page->count < 2) || !page_tiles(page, is_leaf)) return false;
    larder_bytes before = {NULL, 0};
    for (uint32_t i = 0; i < page->count; i++) {
        tree_node node;
        larder_bytes value;
        uint64_t overflow;
        if (!page_node(page, i, &node) || node.key_bytes > TREE_KEY_MAX_BYTES) return false;
        // The first key of a branch page has no meaning.
        if (i == 0 && !is_leaf) continue;
        larder_bytes key = node_key(&node);
        if (is_of_free_list ? key.length != sizeof(uint64_t) : key.length == 0) return false;
        if (before.data ? order(before, key) >= 0
                        : bounds->lower.data && order(bounds->lower, key) > 0)
            return false;
        if (is_leaf && node_value(state, page, &node, &value, &overflow)) return false;
        before = key;
    }
    return !bounds->upper.data || order(before, bounds->upper) < 0;
}

// All of them -------------------------------------------------------------------------------------

typedef struct audit {
    const tree *state;
    tree_report *report;
    /** A bit for each page below `next_page`. */
    uint8_t *marks;
    /** What the walk goes over now: the free list, or the tree. */
    bool is_free_list;
    tree_counts counts;
} audit;

static void audit_damage(audit *walk, uint64_t number) {
    uint64_t offset = number * walk->state->page_bytes;
    tree_report *report = walk->report;
    if (report->damaged_pages == 0 || offset < report->first_damage_offset)
        report->first_damage_offset = offset;
    report->damaged_pages++;
}

static bool is_marked(const audit *walk, uint64_t number) {
    return (walk->marks[number >> 3] & 1u << (number & 7)) != 0;
}

/** @return false if the page was marked before. */
static bool audit_mark(audit *walk, uint64_t number) {
    bool is_first = !is_marked(walk, number);
    walk->marks[number >> 3] |= (uint8_t)(1u << (number & 7));
    return is_first;
}

/** Marks the pages that a row of the free list names. */
static bool audit_free_row(audit *walk, larder_bytes key, larder_bytes value) {
    const tree *state = walk->state;
    uint64_t transaction = load64(key.data);
    if (transaction == 0 || transaction > state->transaction) return false;
    if (value.length < sizeof(uint64_t) || value.length % sizeof(uint64_t) != 0) return false;
    const uint8_t *numbers = value.data;
    uint64_t count = load64(numbers);
    if (count > value.length / sizeof(uint64_t) - 1) return false;
    uint64_t before = state->next_page;
    bool is_sound = true;
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = load64(numbers + i * sizeof(uint64_t));
        if (number < TREE_META_PAGES || number >= before) return false;
        before = number;
        if (!audit_mark(walk, number)) is_sound = false;
        else walk->report->free_pages++;
    }
    return is_sound;
}

/** The values of a leaf page, and the overflow pages that some are on. */
static void audit_leaf(audit *walk, const tree_page *page) {
    const tree *state = walk->state;
    for (uint32_t i = 0; i < page->count; i++) {
        tree_node node;
        larder_bytes value;
        uint64_t overflow;
        // larder_page_is_sound has seen all of them.
        if (!page_node(page, i, &node) || node_value(state, page, &node, &value, &overflow)) return;
        walk->counts.entries++;
        if (overflow != TREE_NO_PAGE) {
            uint64_t count = load32(tree_page_at(state, overflow) + 12);
            bool is_first = true;
            for (uint64_t j = 0; j < count; j++) is_first &= audit_mark(walk, overflow + j);
            if (!is_first) audit_damage(walk, overflow);
            walk->counts.overflow_pages += count;
        }
        if (walk->is_free_list && !audit_free_row(walk, node_key(&node), value))
            audit_damage(walk, page->number);
    }
}

/** Goes over a page that stands `height` above the leaves, and over all below it. */
static void audit_walk(audit *walk, uint64_t number, uint32_t height, const page_bounds *bounds) {
    tree_page page;
    bool is_leaf = height == 0;
    if (!page_open(walk->state, number, is_leaf, &page)) {
        // Such a page, if there is one, is where the damage is; else the number is, further up.
        bool exists = number >= TREE_META_PAGES && number < walk->state->page_count;
        audit_damage(walk, exists ? number : 0);
        return;
    }
    if (!audit_mark(walk, number) ||
        !larder_page_is_sound(walk->state, &page, is_leaf, walk->is_free_list, bounds)) {
        audit_damage(walk, number);
        return;
    }
    if (is_leaf) {
        walk->counts.leaf_pages++;
        audit_leaf(walk, &page);
        return;
    }
    walk->counts.branch_pages++;
    tree_node node, next;
    for (uint32_t i = 0; i < page.count && page_node(&page, i, &node); i++) {
        page_bounds below = *bounds;
        if (i > 0) below.lower = node_key(&node);
        if (i + 1 < page.count && page_node(&page, i + 1, &next)) below.upper = node_key(&next);
        audit_walk(walk, node_child(&node), height - 1, &below);
    }
}

/** Goes over one of the trees, of which no level is deeper than TREE_DEPTH_MAX.
    @return whether LMDB counts in it what there is. */
static bool audit_tree(audit *walk, bool is_free_list) {
    static const page_bounds none = {{NULL, 0}, {NULL, 0}};
    const tree_head *head = is_free_list ? &walk->state->free_list : &walk->state->main;
    const tree_counts *counts = &walk->counts;
    walk->is_free_list = is_free_list;
    walk->counts = (tree_counts){0};
    if (head->depth > 0) audit_walk(walk, head->root, head->depth - 1u, &none);
    walk->report->pages += counts->branch_pages + counts->leaf_pages + counts->overflow_pages;
    // All of it is u64: nothing lies between.
    return memcmp(counts, &head->counts, sizeof *counts) == 0;
}

/** Room for the marks; LARDER_EDAMAGED if the meta page speaks of more pages than there can be. */
static larder_status audit_start(audit *walk) {
    const tree *state = walk->state;
    *walk->report = (tree_report){0};
    // Reading the meta page has bounded the pages, and so the memory, by the size of the file.
    if (state->page_count < TREE_META_PAGES) {
        audit_damage(walk, state->transaction & 1);
        return LARDER_EDAMAGED;
    }
    walk->marks = calloc(1, (size_t)(state->next_page / 8 + 1));
    if (!walk->marks) return ENOMEM;
    (void)audit_mark(walk, 0);
    (void)audit_mark(walk, 1);
    return LARDER_OK;
}

larder_status larder_tree_audit_free_list(const tree *state, uint8_t **taken) {
    tree_report report;
    audit walk = {.state = state, .report = &report};
    larder_status status = audit_start(&walk);
    if (!status && (!audit_tree(&walk, true) || report.damaged_pages)) status = LARDER_EDAMAGED;
    if (status) free(walk.marks);
    *taken = status ? NULL : walk.marks;
    return status;
}

larder_status larder_tree_missing_pages(const tree *state, uint64_t *count) {
    tree_report report;
    audit walk = {.state = state, .report = &report};
    *count = 0;
    if (state->page_count == state->next_page) return LARDER_OK;
    larder_status status = audit_start(&walk);
    if (status) return status;
    // Of a free list that is damaged or missing itself, what can be read counts.
    (void)audit_tree(&walk, true);
    for (uint64_t number = state->page_count; number < state->next_page; number++)
        *count += !is_marked(&walk, number);
    free(walk.marks);
    return LARDER_OK;
}

larder_status larder_tree_audit(const tree *state, tree_report *report) {
    audit walk = {.state = state, .report = report};
    larder_status status = audit_start(&walk);
    if (status) return status;
    bool agrees = audit_tree(&walk, true);
    agrees = audit_tree(&walk, false) && agrees;
    // What damage hides cannot be counted, so these are looked at only without any.
    if (report->damaged_pages == 0) {
        if (!agrees) audit_damage(&walk, state->transaction & 1);
        for (uint64_t number = TREE_META_PAGES; number < state->next_page; number++)
            if (!is_marked(&walk, number)) audit_damage(&walk, number);
    }
    free(walk.marks);
    return report->damaged_pages ? LARDER_EDAMAGED : LARDER_OK;
}
