// SPDX-License-Identifier: MIT
/** @file tree_audit.c
    One pass over the free list's tree and the tree itself marks every page that either of them uses
    and every page that the free list names. Each page must be marked once: twice is a page that two
    nodes lead to, or that is in use and free at once, such as the old version of a page that was
    copied; never is a page that nothing leads to any more.

    The free list's keys are the numbers of the transactions that freed the pages, u64; a value is a
    count, then as many page numbers from the greatest to the least, u64 each, and may have unused
    room behind them. */
#include <errno.h>
#include <stdlib.h>

#include "pages/tree_page.h"

typedef struct audit {
    const tree *state;
    tree_report *report;
    /** A bit for each page below `next_page`. */
    uint8_t *marks;
    /** What the walk goes over now: the free list, or the tree. */
    bool is_free_list;
    tree_counts counts;
} audit;

/** A page on the way down, and between which keys all of its own must lie; NULL for no bound. */
typedef struct audit_level {
    tree_page page;
    uint32_t next;
    larder_bytes lower;
    larder_bytes upper;
} audit_level;

static void audit_damage(audit *walk, uint64_t number) {
    uint64_t offset = number * walk->state->page_bytes;
    tree_report *report = walk->report;
    if (report->damaged_pages == 0 || offset < report->first_damage_offset)
        report->first_damage_offset = offset;
    report->damaged_pages++;
}

/** @return false if the page was marked before. */
static bool audit_mark(audit *walk, uint64_t number) {
    uint8_t bit = (uint8_t)(1u << (number & 7));
    bool is_first = (walk->marks[number >> 3] & bit) == 0;
    walk->marks[number >> 3] |= bit;
    return is_first;
}

static int audit_order(const audit *walk, larder_bytes a, larder_bytes b) {
    if (!walk->is_free_list) return compare_bytes(a, b);
    uint64_t first = load64(a.data);
    uint64_t second = load64(b.data);
    return (first > second) - (first < second);
}

/** Whether the keys of a page are such as LMDB takes, ascend, and lie between its bounds. */
static bool audit_keys(const audit *walk, const audit_level *level, bool is_leaf) {
    const tree_page *page = &level->page;
    larder_bytes before = {NULL, 0};
    for (uint32_t i = 0; i < page->count; i++) {
        tree_node node;
        if (!page_node(page, i, &node) || node.key_bytes > TREE_KEY_MAX_BYTES) return false;
        // The first key of a branch page has no meaning.
        if (i == 0 && !is_leaf) continue;
        larder_bytes key = node_key(&node);
        if (walk->is_free_list ? key.length != sizeof(uint64_t) : key.length == 0) return false;
        if (before.data ? audit_order(walk, before, key) >= 0
                        : level->lower.data && audit_order(walk, level->lower, key) > 0)
            return false;
        before = key;
    }
    return !before.data || !level->upper.data || audit_order(walk, before, level->upper) < 0;
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
        if (!page_node(page, i, &node) || node_value(state, page, &node, &value, &overflow)) {
            audit_damage(walk, page->number);
            continue;
        }
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

/** A page that was reached for the first time; false if nothing in it can be followed. */
static bool audit_page(audit *walk, uint64_t number, bool is_leaf, audit_level *level) {
    if (!page_open(walk->state, number, is_leaf ? PAGE_LEAF : PAGE_BRANCH, &level->page)) {
        // Such a page, if there is one, is where the damage is; else the number is, further up.
        bool exists = number >= TREE_META_PAGES && number < walk->state->page_count;
        audit_damage(walk, exists ? number : 0);
        return false;
    }
    bool is_sound = audit_mark(walk, number);
    // LMDB stops the whole process at a branch page with one child, but not in the free list.
    if (!is_leaf && !walk->is_free_list && level->page.count < 2) is_sound = false;
    if (!is_sound || !page_tiles(&level->page, is_leaf) || !audit_keys(walk, level, is_leaf)) {
        audit_damage(walk, number);
        return false;
    }
    if (is_leaf) walk->counts.leaf_pages++;
    else walk->counts.branch_pages++;
    return true;
}

static void audit_walk(audit *walk, uint64_t root, uint32_t depth) {
    audit_level levels[TREE_DEPTH_MAX];
    walk->counts = (tree_counts){0};
    if (depth == 0) return;
    uint32_t at = 0;
    uint64_t number = root;
    levels[0] = (audit_level){0};
    for (;;) {
        bool is_leaf = at + 1 == depth;
        audit_level *level = &levels[at];
        level->next = 0;
        bool is_open = audit_page(walk, number, is_leaf, level);
        if (is_open && is_leaf) audit_leaf(walk, &level->page);
        if (is_leaf || !is_open) {
            // Up to the next page that has a child left.
            do {
                if (at == 0) return;
                at--;
            } while (levels[at].next == levels[at].page.count);
        }
        audit_level *above = &levels[at];
        tree_node node = {0};
        audit_level *below = &levels[++at];
        below->lower = above->lower;
        below->upper = above->upper;
        // audit_keys has seen all of these nodes.
        if (above->next + 1 < above->page.count && page_node(&above->page, above->next + 1, &node))
            below->upper = node_key(&node);
        bool has_node = page_node(&above->page, above->next, &node);
        if (has_node && above->next > 0) below->lower = node_key(&node);
        number = has_node ? node_child(&node) : 0;
        above->next++;
    }
}

static bool audit_counts_agree(const tree_counts *a, const tree_counts *b) {
    return a->branch_pages == b->branch_pages && a->leaf_pages == b->leaf_pages &&
           a->overflow_pages == b->overflow_pages && a->entries == b->entries;
}

/** Room for the marks; LARDER_EDAMAGED if the meta page speaks of more pages than there can be. */
static larder_status audit_start(audit *walk) {
    const tree *state = walk->state;
    *walk->report = (tree_report){0};
    // A page that the file is too short for can only be free, and the free list has 8 bytes of the
    // file for each of those: that bounds the memory, whatever the meta page says.
    if (state->depth > TREE_DEPTH_MAX || state->free_depth > TREE_DEPTH_MAX ||
        state->page_count < TREE_META_PAGES || state->page_count > state->next_page ||
        state->next_page - state->page_count > state->page_count * (state->page_bytes / 8)) {
        audit_damage(walk, state->transaction & 1);
        return LARDER_EDAMAGED;
    }
    walk->marks = calloc(1, (size_t)(state->next_page / 8 + 1));
    if (!walk->marks) return ENOMEM;
    (void)audit_mark(walk, 0);
    (void)audit_mark(walk, 1);
    return LARDER_OK;
}

static void audit_free_list(audit *walk) {
    walk->is_free_list = true;
    audit_walk(walk, walk->state->free_root, walk->state->free_depth);
    walk->is_free_list = false;
}

larder_status tree_free_marks(const tree *state, uint8_t **marks, uint64_t *count) {
    tree_report report;
    audit walk = {.state = state, .report = &report};
    *marks = NULL;
    larder_status status = audit_start(&walk);
    if (status) return status;
    audit_free_list(&walk);
    if (report.damaged_pages || !audit_counts_agree(&walk.counts, &state->free_counts)) {
        free(walk.marks);
        return LARDER_EDAMAGED;
    }
    *marks = walk.marks;
    *count = state->next_page;
    return LARDER_OK;
}

larder_status tree_audit(const tree *state, tree_report *report) {
    audit walk = {.state = state, .report = report};
    larder_status status = audit_start(&walk);
    if (status) return status;
    audit_free_list(&walk);
    tree_counts free_counts = walk.counts;
    audit_walk(&walk, state->root, state->depth);
    const tree_counts *both[] = {&walk.counts, &free_counts};
    for (size_t i = 0; i < 2; i++)
        report->pages += both[i]->branch_pages + both[i]->leaf_pages + both[i]->overflow_pages;

    // What damage hides cannot be counted, so these are looked at only without any.
    if (report->damaged_pages == 0) {
        if (!audit_counts_agree(&walk.counts, &state->counts) ||
            !audit_counts_agree(&free_counts, &state->free_counts))
            audit_damage(&walk, state->transaction & 1);
        for (uint64_t number = TREE_META_PAGES; number < state->next_page; number++)
            if ((walk.marks[number >> 3] & 1u << (number & 7)) == 0) audit_damage(&walk, number);
    }
    free(walk.marks);
    return report->damaged_pages ? LARDER_EDAMAGED : LARDER_OK;
}
