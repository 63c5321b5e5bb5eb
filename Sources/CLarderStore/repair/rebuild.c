// SPDX-License-Identifier: MIT
/** @file rebuild.c
    Rebuilding the index: a new data.mdb, from what salvage finds. No value is copied: rows lead to
    the records where they are.

    1. The new index grows in a folder of its own, `index.new`, in several transactions.
    2. Segments with a damaged head get one, and those with another segment's name one that says it;
       all of them are synced: rows lead to records on the device only.
    3. The log goes on in a segment of its own, behind all that there are: so nothing has to be said
       of how they follow each other.
    4. The new data.mdb takes the place of the old one.

    If we crash before 4, the store is as it was, but for heads that can be read again; what is left
    in the working folder goes with the next attempt, and a segment that nothing leads to when the
    store is opened. */
#include "checkpoint/apply.h"
#include "repair/salvage.h"
#include "repair/working_folder.h"

typedef struct rebuild {
    salvage search;
    size_t from, to;
    store_meta meta;
} rebuild;

/** In the last transaction: the segments, and how far the log was applied. */
static larder_status rebuild_meta(apply_txn *apply, const rebuild *work) {
    const salvage *search = &work->search;
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < search->segment_count && !status; i++) {
        const segment *from = search->segments[i];
        // Of one in which nothing lies nobody has to know.
        if (atomic_load(&from->end) > SEGMENT_HEAD_BYTES)
            status = larder_apply_measure(apply, from, NULL);
    }
    apply->meta.applied = search->last_sequence;
    apply->meta.cleared = search->cleared;
    // Where the log goes on.
    apply->meta.end = (location){search->last_number + 1, SEGMENT_HEAD_BYTES};
    apply->meta.next_segment = apply->meta.end.segment + 1;
    return status;
}

static larder_status rebuild_part(apply_txn *apply, void *context) {
    rebuild *work = context;
    larder_status status = LARDER_OK;
    for (size_t i = work->from; i < work->to && !status; i++) {
        const finding *found = &work->search.findings[i];
        status = larder_apply_write(apply, found->bytes, (location){found->segment, found->offset});
    }
    if (!status && work->to == work->search.count) status = rebuild_meta(apply, work);
    return status;
}

static int compare_keys(const void *a, const void *b) {
    const finding *left = a, *right = b;
    return compare_bytes(larder_record_key(left->bytes), larder_record_key(right->bytes));
}

/** Fills the new index, which is open as the store's environment. */
static larder_status rebuild_rows(larder_store *store, rebuild *work) {
    salvage *search = &work->search;
    if (search->count) qsort(search->findings, search->count, sizeof(finding), compare_keys);
    larder_status status;
    apply_txn done;
    do {
        size_t most = (size_t)store->tuning.transaction_max_count;
        work->to = search->count - work->from > most ? work->from + most : search->count;
        status = larder_salvage_told(search, work->from, search->count);
        if (!status) status = larder_apply_run(store, rebuild_part, work, &done);
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
                        .key_form = (uint16_t)store->options.key_form,
                        .created_ns = expiry_now(&store->expiry),
                        .age_ns = LARDER_STORE_NEVER,
                        .next_segment = 1,
                        .version = META_VERSION,
                        .store_id = search->store_id};
    larder_os_random_fill(fresh.secret, sizeof fresh.secret);
    if (!fresh.store_id) memcpy(&fresh.store_id, search->secret, sizeof fresh.store_id);
    if (search->form.store_id) {
        fresh.content_format = search->form.content_format;
        fresh.key_form = search->form.key_form;
        fresh.created_ns = search->form.created_ns;
        memcpy(fresh.secret, search->form.secret, sizeof fresh.secret);
    }
    larder_store_detail ignored;
    larder_status status =
        larder_environment_open(path, ENVIRONMENT_WRITES, &fresh, store->options.mode,
                                store->options.map_bytes, &ignored, &store->index.environment);
    if (!status) status = rebuild_rows(store, work);
    larder_environment_close(store->index.environment, true);
    store->index.environment = NULL;
    larder_live_free(&store->index.live);
    return status;
}

/** The folder `log`, which may be missing: rows have records, too. Its name is synced with that of
    the new data.mdb.
    @param log receives -1 on failure. */
static larder_status open_log(const larder_store *store, int *log) {
    *log = -1;
    int folder;
    uint32_t mode = store->options.mode;
    larder_status status = larder_identity_folder(&store->identity, &folder);
    if (status) return status;
    status = larder_os_folder_make_in(folder, "log", mode | (mode & 0444u) >> 2);
    if (!status || status == EEXIST) status = larder_os_folder_open_in(folder, "log", log);
    larder_os_file_close(folder);
    return status;
}

/** The end of the log may be lost: its sequences may be used again. */
static segment_epoch epoch_behind(const salvage *search) {
    uint32_t greatest = 0;
    for (size_t i = 0; i < search->segment_count; i++)
        if (search->segments[i]->epoch.number > greatest)
            greatest = search->segments[i]->epoch.number;
    return (segment_epoch){greatest + 1, greatest};
}

/** The segments on the device, each with a head, and the one in which the log goes on. */
static larder_status rebuild_log(const larder_store *store, const rebuild *work) {
    const salvage *search = &work->search;
    segment *next = NULL;
    int log;
    larder_status status = open_log(store, &log);
    if (status) return status;
    for (size_t i = 0; i < search->segment_count && !status; i++) {
        segment *kept = search->segments[i];
        if (kept->kind == SEGMENT_UNKNOWN)
            status = larder_segment_mend(kept, log, SEGMENT_CLEANED, work->meta.store_id);
        if (!status) status = larder_segment_sync_file(kept, log);
    }
    if (!status)
        status = larder_segment_create(log, work->meta.end.segment, SEGMENT_WRITTEN,
                                       store->tuning.segment_min_bytes, search->last_sequence + 1,
                                       0, epoch_behind(search), work->meta.store_id,
                                       store->options.mode, &next);
    // It stays marked as never synced, so that the next open syncs all names before it promises
    // anything: the rename may succeed, and its sync fail.
    if (!status) status = larder_segment_sync_file(next, log);
    if (!status) status = larder_os_folder_sync(log);
    larder_segment_close(next);
    larder_os_file_close(log);
    return status;
}

/** Segments are called by the names of their files from here on. Of one whose head is damaged, or
    says another name, nothing is believed but its records. */
static void settle_names(salvage *search) {
    for (size_t i = 0; i < search->segment_count; i++) {
        segment *known = search->segments[i];
        if (known->file_number != known->number) known->kind = SEGMENT_UNKNOWN;
        known->number = known->file_number;
        if (known->kind == SEGMENT_UNKNOWN) known->as_of = 0;
    }
}

/** Records that only lie in rows any more are copied to a segment of their own: a row of the new
    index has to lead to the log. */
static larder_status keep_inlined(const larder_store *store, salvage *search) {
    uint64_t bytes = SEGMENT_HEAD_BYTES + SEGMENT_NEXT_BYTES;
    for (size_t i = 0; i < search->count; i++)
        if (search->findings[i].kind == FOUND_INLINED)
            bytes += record_padded(record_length(search->findings[i].bytes));
    if (bytes == SEGMENT_HEAD_BYTES + SEGMENT_NEXT_BYTES) return LARDER_OK;
    segment *made = NULL;
    int log = -1;
    larder_status status =
        larder_os_array_reserve(&search->segments, search->segment_count, &search->segment_capacity,
                                sizeof *search->segments);
    if (!status) status = open_log(store, &log);
    if (!status)
        status = larder_segment_create(log, search->last_number + 1, SEGMENT_CLEANED, bytes, 1, 0,
                                       (segment_epoch){0, 0}, search->store_id, store->options.mode,
                                       &made);
    larder_os_file_close(log);
    if (status) return status;
    search->last_number++;
    search->segments[search->segment_count++] = made;
    for (size_t i = 0; i < search->count; i++) {
        finding *found = &search->findings[i];
        if (found->kind != FOUND_INLINED) continue;
        size_t length = record_length(found->bytes);
        uint64_t first_word, at = atomic_load(&made->end);
        memcpy(made->map + at + 8, found->bytes + 8, length - 8);
        memcpy(&first_word, found->bytes, sizeof first_word);
        larder_segment_publish(made, record_padded(length), first_word);
        made->record_count++;
        found->bytes = made->map + at;
        found->segment = made->number;
        found->offset = at;
    }
    made->last_sequence = search->last_sequence;
    return LARDER_OK;
}

static larder_status make_index(larder_store *store, const char *folder, void *context) {
    rebuild *work = context;
    larder_status status = rebuild_index(store, folder, work);
    return status ? status : rebuild_log(store, work);
}

/** Whether the segment is there that a row leads to; or the entry, elsewhere, if the row is what is
    damaged. One that leads to a segment that never was says nothing. */
static bool leads_somewhere(const salvage *search, larder_bytes key, larder_bytes value) {
    const uint8_t *bytes = key.data;
    uint8_t hash[16];
    entry_row row;
    if (key.length == 5 && bytes[0] == SPACE_SEGMENT)
        return larder_salvage_segment(search, get_be32(bytes + 1)) != NULL;
    if (key.length < 1 || bytes[0] != SPACE_ENTRY || larder_row_read(value, &row) ||
        row.at.segment >= search->meta.next_segment ||
        larder_salvage_segment(search, row.at.segment) != NULL)
        return true;
    larder_siphash128(search->secret, (larder_bytes){bytes + 1, key.length - 1}, hash);
    for (size_t i = 0; i < search->count; i++)
        if (memcmp(search->findings[i].hash, hash, sizeof hash) == 0) return true;
    return false;
}

/** Whether a new index tells all that the old one does. Of an entry that is damaged, or whose
    segment is missing, a row says so, and a new index has none: the whole log has to be there. */
static larder_status tells_all(const salvage *search, bool *out) {
    const larder_store_report *report = search->report;
    *out = search->newest && !report->damaged && !report->uncertain && !report->journal_lost;
    for (size_t i = 0; i < search->segment_count; i++) *out &= search->segments[i]->is_measured;
    if (!*out) return LARDER_OK;
    tree_cursor place;
    larder_status status =
        larder_tree_cursor_seek(&place, &search->newest->tree, (larder_bytes){NULL, 0});
    while (*out && status != LARDER_END) {
        larder_bytes key, value;
        if (!status) status = larder_tree_cursor_get(&place, &key, &value);
        if (!status) *out = leads_somewhere(search, key, value);
        // Behind what cannot be read there may be more.
        else if (status != LARDER_EDAMAGED) return status;
        status = larder_tree_cursor_next(&place);
    }
    return LARDER_OK;
}

larder_status larder_store_rebuild_index(larder_store *store, bool loses_nothing,
                                         larder_progress progress, void *context,
                                         larder_store_report *report) {
    rebuild work = {
        .search = {.report = report,
                   .progress = progress,
                   .context = context,
                   .keeps_uncertain = (store->options.flags & LARDER_STORE_WITH_UNCERTAIN) != 0}};
    const salvage *search = &work.search;
    int lock = -1;
    larder_status status = larder_environment_shut_out(store->identity.path, &lock);
    if (!status) status = larder_salvage_find(&work.search, store->identity.path);
    if (!status && search->opened == LARDER_EVERSION) status = LARDER_EVERSION;
    // Beside a data.mdb of its own, another store's segments are left where they are.
    if (!status && search->has_foreign && !search->form.store_id) status = LARDER_EFOREIGN;
    // Three more numbers are needed, and the log has to go on.
    if (!status && search->last_number > UINT32_MAX / 2) status = LARDER_EDAMAGED;
    // What is left out, cleaning deletes: that is for the caller to choose.
    if (!status && report->uncertain && !search->keeps_uncertain) status = LARDER_EDAMAGED;
    bool is_whole = true;
    if (!status && loses_nothing) status = tells_all(search, &is_whole);
    if (!status && !is_whole) status = LARDER_EDAMAGED;
    if (!status) {
        settle_names(&work.search);
        status = keep_inlined(store, &work.search);
    }
    if (!status) status = larder_index_replace(store, make_index, &work);
    if (!status) larder_identity_forget_damage(&store->identity);
    larder_os_file_close(lock);
    larder_salvage_close(&work.search);
    return status;
}
