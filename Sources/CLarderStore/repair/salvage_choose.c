// SPDX-License-Identifier: MIT
/** @file salvage_choose.c
    What comes back: of each key the newest record, but

    - not what a removal took that is newer, of the key or of everything;
    - not what a sound tree has not, although it was written before: it was evicted, or it expired;
    - not what is older than what was lost: where a row of the tree, or a damaged record, says that
      there was a newer one, the entry is damaged. Where all that is known is that some record was
      lost, entries older than it are uncertain. */
#include "repair/salvage.h"

static int compare_findings(const void *a, const void *b) {
    const finding *left = a, *right = b;
    int order = memcmp(left->hash, right->hash, sizeof left->hash);
    if (!order) order = compare_stamps(left->number, right->number);
    return order ? order : (left->kind > right->kind) - (left->kind < right->kind);
}

static int compare_puts(const void *a, const void *b) {
    return compare_stamps(((const finding *)a)->number, ((const finding *)b)->number);
}

/** Whether the record that was lost may be newer than what was found. */
static bool is_ahead(const salvage *search, const finding *damage, const finding *newest) {
    return damage->before.sequence > search->cleared &&
           (!newest || (compare_stamps(newest->number, damage->before) < 0 &&
                        compare_stamps(newest->number, damage->number) != 0));
}

/** What comes back of one key; NULL if nothing does. */
static const finding *choose(salvage *search, const finding *group, size_t count) {
    const finding *newest = NULL;
    bool has_row = false, is_damaged = false;
    for (size_t i = 0; i < count; i++) {
        if (group[i].kind == FOUND_ROW) has_row = true;
        else if (group[i].kind != FOUND_DAMAGE) newest = &group[i];
    }
    for (size_t i = 0; i < count; i++)
        is_damaged =
            is_damaged || (group[i].kind == FOUND_DAMAGE && is_ahead(search, &group[i], newest));
    search->report->damaged += is_damaged;
    if (is_damaged || !newest || newest->kind == FOUND_REMOVAL ||
        newest->number.sequence < search->cleared)
        return NULL;
    if (search->has_tree && !has_row && newest->number.sequence <= search->meta.applied)
        return NULL;
    if (compare_stamps(newest->number, search->horizon) >= 0) return newest;
    search->report->uncertain++;
    return search->keeps_uncertain ? newest : NULL;
}

void larder_salvage_choose(salvage *search) {
    finding *findings = search->findings;
    size_t kept = 0;
    if (search->count) qsort(findings, search->count, sizeof *findings, compare_findings);
    for (size_t from = 0, to; from < search->count; from = to) {
        for (to = from + 1; to < search->count; to++)
            if (memcmp(findings[from].hash, findings[to].hash, sizeof findings->hash) != 0) break;
        const finding *chosen = choose(search, &findings[from], to - from);
        if (chosen) findings[kept++] = *chosen;
    }
    search->count = kept;
    if (kept) qsort(findings, kept, sizeof *findings, compare_puts);
}
