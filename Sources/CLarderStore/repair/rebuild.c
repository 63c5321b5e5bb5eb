// SPDX-License-Identifier: MIT
/** @file rebuild.c
    Rebuilding the index: data.mdb anew, from what salvage finds. No value is copied: rows lead to
    the records where they are.

    1. The new index grows in a folder of its own, `index.new`, in several transactions.
    2. Segments with a damaged head get one, and all of them are synced: rows lead to records on the
       device only.
    3. The log goes on in a segment of its own, behind all that there are: so nothing has to be said
       of how they follow each other.
    4. The new data.mdb takes the place of the old one.

    If we crash before 4, the store is as it was, but for heads that can be read again; what is left
    in the working folder goes with the next attempt, and a segment that nothing leads to when the
    store is opened. */
#include <errno.h>
#include <stdlib.h>

#include "checkpoint/apply.h"
#include "repair/copy_target.h"
#include "repair/salvage.h"

typedef struct rebuild {
    salvage search;
    size_t from;
    size_t to;
    /** Where the log goes on. */
    uint32_t next_segment;
    store_meta meta;
    int log;
} rebuild;

/** In the last transaction: the segments, and how far the log was applied. */
static larder_status rebuild_meta(apply_transaction *apply, const rebuild *work) {
    const salvage *search = &work->search;
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < search->segment_count && !status; i++) {
        const segment *from = search->segments[i];
        // Of one in which nothing lies nobody has to know.
        if (atomic_load(&from->end) > SEGMENT_HEAD_BYTES) status = apply_measure(apply, from, NULL);
    }
    apply->meta.applied = search->last_sequence;
    apply->meta.cleared = search->cleared;
    apply->meta.end = (location){work->next_segment, SEGMENT_HEAD_BYTES};
    apply->meta.next_segment = work->next_segment + 1;
    return status;
}

static larder_status rebuild_part(apply_transaction *apply, void *context) {
    rebuild *work = context;
    larder_status status = LARDER_OK;
    for (size_t i = work->from; i < work->to && !status; i++) {
        location at;
        const uint8_t *found = salvage_record(&work->search, &work->search.findings[i], &at);
        status = apply_write_at(apply, found, at);
    }
    if (!status && work->to == work->search.count) status = rebuild_meta(apply, work);
    return status;
}

static int compare_keys(const void *a, const void *b) {
    const finding *left = a, *right = b;
    const uint8_t *one = left->bytes + (left->kind == FOUND_INLINED ? ROW_BYTES : 0);
    const uint8_t *other = right->bytes + (right->kind == FOUND_INLINED ? ROW_BYTES : 0);
    return compare_bytes(record_key(one), record_key(other));
}

/** Fills the new index, which is open as the store's environment. */
static larder_status rebuild_rows(larder_store *store, rebuild *work) {
    salvage *search = &work->search;
    if (search->count) qsort(search->findings, search->count, sizeof(finding), compare_keys);
    larder_status status;
    apply_transaction done;
    do {
        size_t most = (size_t)store->tuning.transaction_max_count;
        work->to = search->count - work->from > most ? work->from + most : search->count;
        status = salvage_told(search, work->from, search->count);
        if (!status) status = apply_run(store, rebuild_part, work, &done);
        if (!status) work->meta = done.meta;
        work->from = work->to;
    } while (!status && work->to < search->count);
    search->report->intact = work->meta.count;
    search->report->intact_bytes = work->meta.bytes;
    return status;
}

/** Makes the index in the folder at `path`, which is new. */
static larder_status rebuild_index(larder_store *store, const char *path, rebuild *work) {
    const salvage *search = &work->search;
    store_meta fresh = {.content_format = store->options.content_format,
                        .created_ns = store_now(store),
                        .age_ns = LARDER_STORE_NEVER,
                        .next_segment = 1,
                        .version = META_VERSION,
                        .store_id = search->store_id};
    system_random_fill(fresh.secret, sizeof fresh.secret);
    if (search->has_meta) {
        fresh.content_format = search->meta.content_format;
        fresh.created_ns = search->meta.created_ns;
        fresh.store_id = search->meta.store_id;
        memcpy(fresh.secret, search->meta.secret, sizeof fresh.secret);
    }
    larder_store_detail ignored;
    larder_status status =
        environment_open(path, true, &fresh, store->options.mode, store->options.map_bytes,
                         &ignored, &store->environment);
    if (!status) status = rebuild_rows(store, work);
    environment_close(store->environment, true);
    store->environment = NULL;
    live_free(&store->live);
    return status;
}

/** The segments on the device, each with a head, and the one in which the log goes on. */
static larder_status rebuild_log(const larder_store *store, rebuild *work) {
    const salvage *search = &work->search;
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < search->segment_count && !status; i++)
        status = segment_mend(search->segments[i], work->log, work->meta.store_id);
    segment *next = NULL;
    if (!status)
        status = segment_create(work->log, work->next_segment, SEGMENT_WRITTEN,
                                store->tuning.segment_min_bytes, search->last_sequence + 1, 0,
                                work->meta.store_id, store->options.mode, &next);
    // It stays one of which nothing was synced, so that whoever opens the store syncs all names
    // before he promises anything: the rename may be done, and its sync fail.
    if (!status) status = segment_mend(next, work->log, work->meta.store_id);
    if (!status) status = folder_sync(work->log);
    segment_close(next);
    return status;
}

/** Whether there is enough to go by, and nothing that would be given up. */
static larder_status rebuild_judge(const rebuild *work) {
    const salvage *search = &work->search;
    if (search->is_other_version) return LARDER_EVERSION;
    if (search->has_foreign || (!search->has_meta && !search->store_id)) return LARDER_EFOREIGN;
    // What is left out, cleaning deletes: that is for the caller to choose.
    if (search->report->uncertain && !search->keeps_uncertain) return LARDER_EDAMAGED;
    return LARDER_OK;
}

static larder_status rebuild_in(larder_store *store, const char *path, int folder, rebuild *work) {
    const salvage *search = &work->search;
    char *fresh = environment_path(path, "data.mdb");
    char *data = environment_path(store->path, "data.mdb");
    larder_status status = fresh && data ? LARDER_OK : ENOMEM;
    uint32_t mode = store->options.mode;
    work->next_segment = search->last_number;
    if (search->has_meta && search->meta.next_segment > work->next_segment + 1)
        work->next_segment = search->meta.next_segment - 1;
    if (++work->next_segment == 0) status = EOVERFLOW;
    if (!status) status = folder_make(path, mode | (mode & 0444) >> 2);
    if (!status) status = rebuild_index(store, path, work);
    if (!status) status = rebuild_log(store, work);
    // If we crash before this, the old index is there.
    if (!status) status = file_rename(fresh, data);
    if (!status) status = folder_sync(folder);
    free(fresh);
    free(data);
    return status;
}

larder_status store_rebuild(larder_store *store, larder_progress progress, void *context,
                            larder_store_report *report) {
    rebuild work = {
        .search = {.report = report,
                   .progress = progress,
                   .context = context,
                   .keeps_uncertain = (store->options.flags & LARDER_STORE_WITH_UNCERTAIN) != 0},
        .log = -1};
    int folder = -1, lock = -1;
    char *path = environment_path(store->path, "index.new");
    larder_status status = path ? environment_shut_out(store->path, &lock) : ENOMEM;
    if (!status) status = folder_open(store->path, &folder);
    if (!status) status = salvage_find(&work.search, folder);
    if (!status) status = rebuild_judge(&work);
    if (!status) status = folder_open_in(folder, "log", &work.log);
    if (!status) {
        // Of an attempt that a crash ended.
        folder_remove_all(path);
        status = rebuild_in(store, path, folder, &work);
        folder_remove_all(path);
    }
    file_close(work.log);
    file_close(folder);
    file_close(lock);
    salvage_close(&work.search);
    free(path);
    return status;
}
