// SPDX-License-Identifier: MIT
/** @file salvage_choose.c
    What comes back: of each key the newest record, but

    - not what a removal took that is newer, of the key or of everything;
    - not what the newest sound tree has not, although it was written before: it was evicted, or it
      expired;
    - not what is older than what was lost: where the row of the tree, or a damaged record, says
      that there was a newer one, the entry is damaged. Where all that is known is that some record
      was lost, entries older than it are uncertain.

    A row that leads to a damaged record still has the entry if its record lies in it too. Rows have
    no checksum: one that contradicts a record which is whole, and where it says, does not count. */
#include <stdlib.h>

#include "repair/salvage.h"

/** What is known of one key. */
typedef struct verdict {
    const finding *newest;
    const finding *row;
    const finding *damage;
    /** The row's own record is among the damaged ones. */
    bool names_row;
} verdict;

static int compare_findings(const void *a, const void *b) {
    const finding *left = a, *right = b;
    int order = memcmp(left->hash, right->hash, sizeof left->hash);
    if (!order) order = compare_numbers(left->number, right->number);
    // Cleaning leaves a removal in the place of a put that was evicted; a put that lives must never
    // lose to it, so where both are there the put counts: it comes behind.
    if (!order) order = (right->kind == FOUND_REMOVAL) - (left->kind == FOUND_REMOVAL);
    return order ? order : (left->kind > right->kind) - (left->kind < right->kind);
}

static int compare_puts(const void *a, const void *b) {
    return compare_numbers(((const finding *)a)->number, ((const finding *)b)->number);
}

static bool is_row(const finding *found) {
    return found->kind == FOUND_ROW || found->kind == FOUND_LOST_ROW;
}

static verdict gather(const finding *group, size_t count) {
    verdict known = {0};
    for (size_t i = 0; i < count; i++) {
        const finding *found = &group[i];
        if (is_row(found)) known.row = found;
        else if (found->kind != FOUND_DAMAGE) known.newest = found;
        else if (!known.damage || compare_numbers(found->before, known.damage->before) > 0)
            known.damage = found;
    }
    for (size_t i = 0; i < count && known.row; i++)
        known.names_row =
            known.names_row || (group[i].kind == FOUND_DAMAGE &&
                                compare_numbers(group[i].number, known.row->number) == 0);
    return known;
}

/** The record that lies in a row, whole. */
static bool row_has_record(const salvage *search, const finding *found, larder_bytes *bytes) {
    entry_row row;
    record entry;
    uint8_t hash[16];
    tree_key scratch;
    if (row_read(found->bytes, &row) || row.inlined.length == 0 ||
        record_read(row.inlined, true, &entry) || entry.kind != RECORD_PUT ||
        entry.sequence != row.sequence || entry.minor != row.minor)
        return false;
    siphash128(search->secret, stored_key(entry.key, search->meta.secret, &scratch), hash);
    *bytes = row.inlined;
    return memcmp(hash, found->hash, sizeof hash) == 0;
}

/** Whether the row is of a newer record than any that was found, which is lost. */
static bool row_is_ahead(const salvage *search, const verdict *known) {
    const finding *row = known->row;
    if (!row || row->number.sequence < search->cleared) return false;
    if (known->newest && compare_numbers(known->newest->number, row->number) >= 0) return false;
    if (known->names_row) return true;
    // Of an older state it may have been removed since, by what cleaning had no reason to keep.
    return search->worth == TREE_NEWEST || (search->worth == TREE_OLDER && known->newest);
}

/** Whether a record that was lost may be newer than what was found. */
static bool damage_is_ahead(const salvage *search, const verdict *known) {
    if (!known->damage || known->damage->before.sequence <= search->cleared) return false;
    record_number settled = {search->settled + 1, 0};
    if (compare_numbers(known->damage->before, settled) <= 0) return false;
    return !known->newest || (compare_numbers(known->newest->number, known->damage->before) < 0 &&
                              compare_numbers(known->newest->number, known->damage->number) != 0);
}

/** Decides one key. True if `chosen` comes back. */
static bool choose(salvage *search, const finding *group, size_t count, finding *chosen) {
    verdict known = gather(group, count);
    bool is_settled = known.newest && known.newest->number.sequence <= search->settled;
    finding found = {.kind = FOUND_REMOVAL};
    if (known.newest) found = *known.newest;
    bool has_recovered = false;
    if (row_is_ahead(search, &known)) {
        larder_bytes bytes;
        if (row_has_record(search, known.row, &bytes)) {
            found = (finding){.kind = FOUND_PUT, .number = known.row->number, .bytes = bytes};
            has_recovered = true;
        } else if (known.row->kind == FOUND_LOST_ROW || !known.newest) {
            search->report->damaged++;
            return false;
        }
    } else if (is_settled && !known.row && search->worth >= TREE_OLDER &&
               !damage_is_ahead(search, &known)) {
        return false;
    }
    bool is_same =
        has_recovered && known.damage && compare_numbers(known.damage->number, found.number) == 0;
    if (damage_is_ahead(search, &known) && !is_same) {
        search->report->damaged++;
        return false;
    }
    if (found.kind != FOUND_PUT || found.number.sequence < search->cleared) return false;
    if (compare_numbers(found.number, search->horizon) < 0) {
        search->report->uncertain++;
        if (!search->keeps_uncertain) return false;
    }
    *chosen = found;
    return true;
}

void salvage_choose(salvage *search) {
    finding *findings = search->findings;
    size_t kept = 0;
    if (search->count) qsort(findings, search->count, sizeof *findings, compare_findings);
    for (size_t from = 0, to; from < search->count; from = to) {
        for (to = from + 1; to < search->count; to++)
            if (memcmp(findings[from].hash, findings[to].hash, sizeof findings->hash) != 0) break;
        finding chosen;
        if (choose(search, &findings[from], to - from, &chosen)) findings[kept++] = chosen;
    }
    search->count = kept;
    if (kept) qsort(findings, kept, sizeof *findings, compare_puts);
}
