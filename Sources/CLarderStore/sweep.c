// SPDX-License-Identifier: MIT
/** @file sweep.c
    Files that a power cut left behind. Journal and tree name every file that a process leaves when
    it is killed; but a power cut can take from the journal what was not synced, and leave the file.
    Nobody knows its number then, so all are looked at. */
#include <errno.h>
#include <stdlib.h>

#include "store_internal.h"

static int compare_files(const void *a, const void *b) {
    const spill_reference *left = a;
    const spill_reference *right = b;
    if (left->number != right->number) return left->number < right->number ? -1 : 1;
    return (left->epoch > right->epoch) - (left->epoch < right->epoch);
}

static int note_file(void *context, uint32_t epoch, uint64_t number) {
    spill_reference file = {0, number, epoch, 0};
    return spill_files_add(context, &file) == LARDER_OK ? 0 : 1;
}

/** Adds what the tree refers to. LARDER_EDAMAGED if some of it cannot be read. */
static larder_status add_referenced(larder_store *store, spill_files *known) {
    snapshot *place;
    larder_status status = environment_read(store->environment, &place);
    if (status != LARDER_OK) return status;
    uint8_t space = SPACE_ENTRY;
    larder_bytes from = {&space, 1};
    tree_cursor cursor;
    status = tree_cursor_seek(&cursor, &place->tree, from);
    while (status == LARDER_OK) {
        larder_bytes key;
        larder_bytes value;
        record entry;
        status = tree_cursor_get(&cursor, &key, &value);
        if (status != LARDER_OK || *(const uint8_t *)key.data != SPACE_ENTRY) break;
        status = record_read(value, false, &entry);
        if (status == LARDER_OK && (entry.flags & RECORD_SPILLED) != 0)
            status = spill_files_add(known, &entry.spill);
        if (status == LARDER_OK) status = tree_cursor_next(&cursor);
    }
    environment_release(store->environment, place);
    return status == LARDER_END ? LARDER_OK : status;
}

larder_status store_sweep_files(larder_store *store) {
    spill_files there = {0};
    spill_files known = {0};
    larder_status status = spill_list(store->spill, note_file, &there);
    if (status == ECANCELED) status = ENOMEM;
    if (status == LARDER_OK && there.count > 0) {
        const spill_files *pending = &store->active->spills;
        status = spill_files_reserve(&known, pending->count);
        for (size_t at = 0; at < pending->count && status == LARDER_OK; at++)
            known.items[known.count++] = pending->items[at];
        if (status == LARDER_OK) status = add_referenced(store, &known);
    }
    if (status == LARDER_OK && known.count > 0)
        qsort(known.items, known.count, sizeof *known.items, compare_files);
    for (size_t at = 0; at < there.count && status == LARDER_OK; at++) {
        const spill_reference *file = &there.items[at];
        if (known.count > 0 &&
            bsearch(file, known.items, known.count, sizeof *file, compare_files) != NULL)
            continue;
        larder_status ignored = spill_delete(store->spill, file->epoch, file->number);
        // It takes room, and nothing else, until the next time.
        (void)ignored;
    }
    spill_files_free(&there);
    spill_files_free(&known);
    // Nothing is deleted where it is not certain what is needed.
    return status == ENOENT || status == LARDER_EDAMAGED ? LARDER_OK : status;
}
