// SPDX-License-Identifier: MIT
/** @file store_check_files.c
    The part of the deep check that looks at files of values, and at the journal. */
#include <errno.h>
#include <stdlib.h>

#include "repair/check.h"

larder_status check_file_add(store_check *check, const spill_reference *file) {
    return spill_files_add(&check->files, file);
}

static larder_status check_note_list(store_check *check, const spill_files *list) {
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < list->count && !status; i++)
        status = check_file_add(check, &list->items[i]);
    return status;
}

larder_status check_note_files(store_check *check) {
    larder_store *store = check->store;
    pthread_mutex_lock(&store->lock);
    larder_status status = store_enter(store);
    if (!status) status = check_note_list(check, &store->intents);
    if (!status) status = check_note_list(check, &store->active->spills);
    if (!status && store->frozen) status = check_note_list(check, &store->frozen->spills);
    check->first_new_file = store->spill_number;
    pthread_mutex_unlock(&store->lock);
    return status;
}

static int compare_files(const void *a, const void *b) {
    const spill_reference *left = a, *right = b;
    if (left->epoch != right->epoch) return left->epoch < right->epoch ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static int check_found_file(void *context, uint32_t epoch, uint64_t number) {
    store_check *check = context;
    // Made since, and not in this state of the tree.
    if (number >= check->first_new_file || number >= check->meta->spill_number) return 0;
    const spill_files *files = &check->files;
    spill_reference file = {.epoch = epoch, .number = number};
    spill_reference folder = {.epoch = epoch, .number = UINT64_MAX};
    if (files->count == 0 ||
        (!bsearch(&file, files->items, files->count, sizeof file, compare_files) &&
         !bsearch(&folder, files->items, files->count, sizeof file, compare_files)))
        check->report->orphans++;
    return 0;
}

larder_status check_files(store_check *check) {
    if (check->files.count)
        qsort(check->files.items, check->files.count, sizeof *check->files.items, compare_files);
    return spill_list(check->store->spill, check_found_file, check);
}

/** The journal, as it is now. Another process may be writing it: then its messages are read as they
    come, for there is no telling what is damage and what is being written. */
larder_status check_journal(store_check *check) {
    larder_ring *ring = check->store->journal.ring;
    larder_store_report *report = check->report;
    // A read-only handle of a store that has lost its journal.
    if (!ring) return LARDER_OK;
    if (!store_is_read_only(check->store)) {
        larder_ring_report found;
        larder_status status = larder_ring_check(ring, &found);
        report->journal_intact = found.intact;
        report->journal_lost = found.lost;
        return status;
    }
    larder_ring_reader *reader;
    larder_status status = larder_ring_reader_open(ring, 0, &reader);
    if (status) return status;
    larder_ring_record message;
    while ((status = larder_ring_reader_next(reader, &message)) == LARDER_OK)
        report->journal_intact++;
    larder_ring_reader_close(reader);
    return status == LARDER_END ? LARDER_OK : status;
}
