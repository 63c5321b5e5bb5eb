// SPDX-License-Identifier: MIT
/** @file replay.c
    What the log holds that is not in the tree, read when a store is opened.

    After a power cut any page may be missing that was not synced, so the log ends at the first
    write that is not whole: what comes back is a prefix. What lies behind is wiped, on the device,
    before the first new write: else a later power cut could leave an old write behind a new one.

    A process that was killed leaves every page, so a write that is not whole is damage there: it
    costs itself, and the writes behind it are kept. But pages whose sync failed before may be taken
    for clean by the system; they are made dirty again before the next sync. */
#include "store/replay.h"

#include "cleaning/clean.h"
#include "log/scan.h"

typedef struct replay {
    larder_store *store;
    store_log *log;
    /** Numbers of the segments that there are. */
    live_table there;
    log_scan scan;
    /** The last segment of the chain that was entered; those before it are measured, too. */
    segment *at;
    /** Writes that follow one another in it, taken and not yet published. */
    const uint8_t *run;
    uint32_t run_count;
    /** What the segments of the log have room for. */
    uint64_t capacity_bytes;
} replay;

enum { RUN_MAX_COUNT = 32, SAMPLE_COUNT = 4096 };

/** Room for the run. A table that grew by doubling would be refilled each time: what was
    read so far tells how many entries there will be. */
static larder_status reserve_run(const replay *work) {
    larder_store *store = work->store;
    memtable *active = store->pending.active;
    uint64_t wanted = work->run_count;
    if (active->count >= SAMPLE_COUNT && active->count + wanted > active->capacity) {
        uint64_t most = 2 * store->tuning.memtable_max_count;
        uint64_t all =
            work->capacity_bytes / (store->pending.log.unapplied_bytes / active->count + 1);
        if (all > most) all = most;
        if (all > active->count + wanted) wanted = all - active->count;
    }
    return larder_memtable_reserve(active, (uint32_t)wanted);
}

/** The run becomes part of the memtable: many writes at a time, for each of them waits for memory
    otherwise. */
static larder_status publish_run(replay *work) {
    if (work->run_count == 0) return LARDER_OK;
    larder_store *store = work->store;
    larder_status status = reserve_run(work);
    if (status) return status;
    larder_store_publish(store, work->run, work->run_count, work->at->number);
    store->pending.active->end = (location){work->at->number, atomic_load(&work->at->end)};
    work->run_count = 0;
    return LARDER_OK;
}

/** The next segment of the chain: everything in it that is not in the tree is counted, and may not
    be on the device. */
static void enter_next(replay *work, segment *entered) {
    larder_store *store = work->store;
    if (work->at != NULL) {
        work->at->next = entered->number;
        work->at->is_sealed = true;
        atomic_store(&work->at->end, work->at->end + SEGMENT_NEXT_BYTES);
        work->at->record_count++;
        work->at->bare_count++;
    } else {
        work->log->first_unsynced = entered->number;
    }
    work->at = entered;
    entered->synced = SEGMENT_HEAD_BYTES;
    entered->record_count = entered->bare_count = 0;
    entered->is_measured = true;
    entered->is_named = false;
    entered->sync_failed = true;
    if (entered->number == store->index.meta.end.segment) {
        const live_segment *before = larder_live_find(&store->index.live, entered->number);
        if (before != NULL) {
            entered->record_count = before->record_count;
            entered->bare_count = before->bare_count;
            entered->last_sequence = before->last_sequence;
        }
        entered->synced = store->index.meta.end.offset;
        entered->is_named = true;
    }
    atomic_store(&entered->end, entered->synced);
}

/** Where the chain goes on behind the last write that was taken; `last` if there is no telling. */
static segment *next_in_chain(const replay *work, segment *last) {
    segment *found;
    larder_store *store = work->store;
    uint32_t number = store->index.meta.end.segment == 0 ? 1 : store->index.meta.end.segment;
    if (work->at != NULL) {
        record next;
        uint64_t end = atomic_load(&work->at->end);
        if (larder_segment_read(work->at, &end, true, &next) != LARDER_OK ||
            next.kind != RECORD_NEXT || next.minor <= work->at->number)
            return last;
        number = next.minor;
    }
    bool is_before = number < last->number;
    return is_before && larder_log_segment(work->log, number, &found) == LARDER_OK ? found : last;
}

/** The scan has come to `entered`, perhaps through segments that no write is in. */
static larder_status enter_segment(replay *work, segment *entered) {
    larder_status status = work->at == entered ? LARDER_OK : publish_run(work);
    while (!status && work->at != entered) enter_next(work, next_in_chain(work, entered));
    return status;
}

static larder_status take_write(replay *work, const uint8_t *first, uint32_t count) {
    larder_store *store = work->store;
    segment *from = work->at;
    const uint8_t *at = first;
    // Behind damage, or behind so many, another one begins.
    if (work->run_count >= RUN_MAX_COUNT ||
        (uint64_t)(first - from->map) != atomic_load(&from->end)) {
        larder_status status = publish_run(work);
        if (status) return status;
    }
    if (work->run_count == 0) work->run = first;
    work->run_count += count;
    from->record_count += count;
    for (uint32_t n = 0; n < count; n++) {
        if (record_kind(at) != RECORD_PUT) from->bare_count++;
        at += record_padded(record_length(at));
    }
    from->last_sequence = record_sequence(first);
    atomic_store(&from->end, (uint64_t)(at - from->map));
    work->log->unapplied_bytes += (uint64_t)(at - first);
    work->log->last_sequence = from->last_sequence;
    store->recovery.journal_intact++;
    return LARDER_OK;
}

static larder_status read_log(replay *work, bool was_power_cut) {
    larder_store_report *report = &work->store->recovery;
    larder_status status = LARDER_OK;
    while (!status) {
        const uint8_t *first;
        uint32_t count;
        segment *from;
        status = larder_log_scan_next(&work->scan, true, &first, &count, &from);
        if (status == LARDER_EDAMAGED) {
            bool goes_on = !was_power_cut && larder_log_scan_resync(&work->scan);
            report->journal_lost += !goes_on;
            status = goes_on ? LARDER_OK : LARDER_END;
            continue;
        }
        if (!status) status = enter_segment(work, from);
        if (!status) status = take_write(work, first, count);
    }
    report->journal_lost += work->scan.lost;
    return status == LARDER_END ? publish_run(work) : status;
}

/** What lies behind the end of the log is gone, on the device, before anything new is written. Most
    of the time nothing does. */
static larder_status wipe_behind(larder_store *store, segment *last) {
    uint64_t at = atomic_load(&last->end), word = 0;
    for (; at < last->capacity && word == 0; at += sizeof word)
        memcpy(&word, last->map + at, sizeof word);
    if (word == 0) return LARDER_OK;
    at -= sizeof word;
    memset(last->map + at, 0, (size_t)(last->capacity - at));
    larder_segment_redirty(last, last->synced);
    larder_status status = larder_segment_sync(last, store->pending.log.folder);
    if (!status) last->sync_failed = false;
    return status;
}

/** The last segment is the one that is appended to. */
static larder_status resume(replay *work, bool was_power_cut) {
    // It may have gone on in one that nothing was written to yet.
    segment *last;
    larder_status status = larder_log_segment(work->log, work->scan.at.segment, &last);
    if (!status) status = enter_segment(work, last);
    if (status) return status == ENOENT ? LARDER_EDAMAGED : status;
    work->log->active = last;
    if (was_power_cut) return wipe_behind(work->store, last);
    uint64_t end = atomic_load(&last->end);
    // A write that was not published.
    if (end + 8 <= last->capacity) memset(last->map + end, 0, 8);
    return LARDER_OK;
}

/** The first segment of a log that no checkpoint knows may have been lost to a power cut while it
    was made: then whatever is left goes, so that the first segment has the first number.
    @return LARDER_END if so. */
static larder_status restart_log(const replay *work) {
    store_log *log = work->log;
    segment *first;
    if (work->store->index.meta.end.segment != 0 || work->at != NULL || work->there.count == 0)
        return LARDER_OK;
    larder_status status = larder_log_segment(log, 1, &first);
    if (status != LARDER_EDAMAGED && status != ENOENT) return LARDER_OK;
    for (size_t at = work->there.count; at > 0; at--) {
        status = larder_log_remove(log, work->there.items[at - 1].number);
        if (status) return status;
    }
    log->next_number = 1;
    status = larder_os_folder_sync(log->folder);
    return status ? status : LARDER_END;
}

/** Notes a segment; removes one that was being made. */
static int note_name(void *context, const char *name) {
    replay *work = context;
    store_log *log = work->log;
    uint32_t number;
    live_segment *ignored;
    segment *found;
    // What cannot be removed goes when its number's turn comes, or with the next open.
    if (larder_segment_is_unfinished(name)) (void)larder_os_file_remove_in(log->folder, name);
    if (!larder_segment_number_of(name, &number)) return 0;
    if (number >= log->next_number) log->next_number = number + 1;
    if (number >= work->store->index.meta.end.segment &&
        larder_log_segment(log, number, &found) == LARDER_OK)
        work->capacity_bytes += found->capacity;
    return larder_live_add(&work->there, number, &ignored) != LARDER_OK;
}

/** Of cleaning that was not committed, or not deleted, and segments made in advance. */
static larder_status retire_unknown(replay *work, bool was_power_cut) {
    larder_store *store = work->store;
    larder_status status = LARDER_OK;
    for (size_t at = 0; at < work->there.count && !status; at++) {
        uint32_t number = work->there.items[at].number;
        segment *found;
        bool is_in_chain =
            larder_log_segment(work->log, number, &found) == LARDER_OK && found->is_measured;
        if (!is_in_chain && larder_live_find(&store->index.live, number) == NULL)
            status = larder_segment_retire(&store->index, work->log, number,
                                           store->index.meta.transaction);
    }
    if (status) return status;
    larder_segments_delete_retired(&store->index, work->log, &(flush_order){0});
    // What was given up must not come back: its numbers are given again.
    return was_power_cut && work->there.count > 0 ? larder_os_folder_sync(work->log->folder)
                                                  : LARDER_OK;
}

larder_status larder_store_replay(larder_store *store, bool was_cut, larder_store_detail *detail) {
    store_log *log = &store->pending.log;
    replay work = {.store = store, .log = log};
    const store_meta *meta = &store->index.meta;
    detail->part = LARDER_STORE_PART_JOURNAL;
    log->next_number = meta->next_segment;
    larder_status status = larder_os_folder_list_in(log->folder, note_name, &work);
    // Without memory it stops.
    if (status == ECANCELED) status = ENOMEM;
    bool has_log = meta->end.segment != 0 || larder_live_find(&work.there, 1) != NULL;
    log->last_sequence = log->synced_sequence = meta->applied;
    // The first segment has the first number.
    location start = meta->end.segment != 0 ? meta->end : (location){1, SEGMENT_HEAD_BYTES};
    work.scan = (log_scan){.log = log, .at = start, .sequence = meta->applied};
    // The first one counts also where nothing in it is new but the record that names the next one:
    // it may not be on the device.
    segment *first;
    if (!status && has_log && larder_log_segment(log, start.segment, &first) == LARDER_OK)
        status = enter_segment(&work, first);
    if (!status && has_log) status = read_log(&work, was_cut);
    if (!status && was_cut) status = restart_log(&work);
    if (!status && has_log) status = resume(&work, was_cut);
    if (!status) status = retire_unknown(&work, was_cut);
    if (status == LARDER_END) status = LARDER_OK;
    store->index.is_partly_applied = store->recovery.journal_intact > 0;
    larder_live_free(&work.there);
    if (status == LARDER_EDAMAGED) detail->offset = work.scan.at.offset;
    return status;
}
