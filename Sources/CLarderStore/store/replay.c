// SPDX-License-Identifier: MIT
/** @file replay.c
    What the log holds that is not in the tree, read when a store is opened.

    After a power cut any page may be missing that was not synced, so the log ends at the first
    write that is not whole: what comes back is a prefix. What lies behind is wiped, on the device,
    before the first new write: else a later power cut could leave an old write behind a new one.

    A process that was killed leaves every page, so a write that is not whole is damage there: it
    costs itself, and the writes behind it are kept. But pages whose sync failed before may be taken
    for clean by the system; they are made dirty again before the next sync. */
#include <errno.h>
#include <stdlib.h>

#include "cleaning/clean.h"
#include "format/array.h"
#include "log/scan.h"

/** Numbers of the segments that there are. */
typedef struct numbers {
    uint32_t *items;
    size_t count;
    size_t capacity;
    larder_status status;
} numbers;

static int note_number(void *context, const char *name) {
    numbers *list = context;
    uint32_t number;
    if (!segment_number_of(name, &number)) return 0;
    list->status = array_reserve(&list->items, list->count, &list->capacity, sizeof *list->items);
    if (list->status) return 1;
    list->items[list->count++] = number;
    return 0;
}

static bool lists(const numbers *list, uint32_t number) {
    for (size_t at = 0; at < list->count; at++)
        if (list->items[at] == number) return true;
    return false;
}

typedef struct replay {
    larder_store *store;
    numbers there;
    log_scan scan;
    /** The last segment of the chain that was entered; those before it are measured, too. */
    segment *at;
    /** Writes that follow one another in it, taken and not yet published. */
    const uint8_t *run;
    uint32_t run_count;
} replay;

enum { RUN_MAX_COUNT = 32 };

/** The run becomes part of the memtable: many writes at a time, for each of them waits for memory
    otherwise. */
static larder_status publish_run(replay *work) {
    if (work->run_count == 0) return LARDER_OK;
    larder_store *store = work->store;
    larder_status status = memtable_reserve(store->active, work->run_count);
    if (status != LARDER_OK) return status;
    store_publish(store, work->run, work->run_count, work->at->number);
    store->active->end = (location){work->at->number, atomic_load(&work->at->end)};
    work->run_count = 0;
    return LARDER_OK;
}

/** The next segment of the chain: everything in it that is not in the tree is counted, and may not
    be on the device. */
static void enter_next(replay *work, segment *entered, const store_meta *meta) {
    larder_store *store = work->store;
    if (work->at != NULL) {
        work->at->next = entered->number;
        work->at->is_sealed = true;
        atomic_store(&work->at->end, work->at->end + SEGMENT_NEXT_BYTES);
        work->at->record_count++;
        work->at->bare_count++;
    } else {
        store->log.first_unsynced = entered->number;
    }
    work->at = entered;
    entered->synced = SEGMENT_HEAD_BYTES;
    entered->record_count = entered->bare_count = 0;
    entered->is_measured = true;
    entered->is_named = false;
    entered->sync_failed = true;
    if (entered->number == meta->end.segment) {
        const live_segment *before = live_find(&store->live, entered->number);
        if (before != NULL) {
            entered->record_count = before->record_count;
            entered->bare_count = before->bare_count;
            entered->last_sequence = before->last_sequence;
        }
        entered->synced = meta->end.offset;
        entered->is_named = true;
    }
    atomic_store(&entered->end, entered->synced);
}

/** Where the chain goes on behind the last write that was taken; `last` if there is no telling. */
static segment *next_in_chain(const replay *work, segment *last, const store_meta *meta) {
    segment *found;
    uint32_t number = meta->end.segment == 0 ? 1 : meta->end.segment;
    if (work->at != NULL) {
        record next;
        uint64_t end = atomic_load(&work->at->end);
        if (segment_read(work->at, &end, true, &next) != LARDER_OK || next.kind != RECORD_NEXT ||
            next.minor <= work->at->number)
            return last;
        number = next.minor;
    }
    bool is_before = number < last->number;
    return is_before && log_segment(&work->store->log, number, &found) == LARDER_OK ? found : last;
}

/** The scan has come to `entered`, perhaps through segments that no write is in. */
static larder_status enter_segment(replay *work, segment *entered, const store_meta *meta) {
    larder_status status = work->at == entered ? LARDER_OK : publish_run(work);
    while (!status && work->at != entered)
        enter_next(work, next_in_chain(work, entered, meta), meta);
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
        if (status != LARDER_OK) return status;
    }
    if (work->run_count == 0) work->run = first;
    work->run_count += count;
    for (uint32_t n = 0; n < count; n++) {
        from->record_count++;
        if (record_kind(at) != RECORD_PUT) from->bare_count++;
        at += record_padded(record_length(at));
    }
    from->last_sequence = record_sequence(first);
    atomic_store(&from->end, (uint64_t)(at - from->map));
    store->log.unapplied_bytes += (uint64_t)(at - first);
    store->log.last_sequence = from->last_sequence;
    store->recovery.intact++;
    return LARDER_OK;
}

static larder_status read_log(replay *work, const store_meta *meta, bool was_power_cut) {
    larder_store *store = work->store;
    for (;;) {
        const uint8_t *first;
        uint32_t count;
        segment *from;
        uint64_t before = work->scan.sequence;
        larder_status status = log_scan_next(&work->scan, true, &first, &count, &from);
        if (status == LARDER_END) return publish_run(work);
        if (status == LARDER_EDAMAGED) {
            store->recovery.lost++;
            if (was_power_cut) return publish_run(work);
            if (!log_scan_resync(&work->scan)) return publish_run(work);
            continue;
        }
        if (status != LARDER_OK) return status;
        if (work->scan.sequence > before + 1 && store->recovery.lost > 0)
            store->recovery.lost += work->scan.sequence - before - 2;
        status = enter_segment(work, from, meta);
        if (status == LARDER_OK) status = take_write(work, first, count);
        if (status != LARDER_OK) return status;
    }
}

/** What lies behind the end of the log is gone, on the device, before anything new is written. Most
    of the time nothing does. */
static larder_status wipe_behind(larder_store *store, segment *last) {
    uint64_t at = atomic_load(&last->end);
    uint64_t word = 0;
    for (; at < last->capacity && word == 0; at += sizeof word)
        memcpy(&word, last->map + at, sizeof word);
    if (word == 0) return LARDER_OK;
    at -= sizeof word;
    memset(last->map + at, 0, (size_t)(last->capacity - at));
    segment_redirty(last, last->synced);
    larder_status status = segment_sync(last, store->log.folder);
    if (status == LARDER_OK) last->sync_failed = false;
    return status;
}

/** The last segment is the one that is appended to. */
static larder_status resume(replay *work, const store_meta *meta, bool has_log,
                            bool was_power_cut) {
    larder_store *store = work->store;
    store_log *log = &store->log;
    segment *last = NULL;
    if (has_log) {
        // It may have gone on in one that nothing was written to yet.
        larder_status status = log_segment(log, work->scan.at.segment, &last);
        if (status == LARDER_OK) status = enter_segment(work, last, meta);
        if (status != LARDER_OK) return status == ENOENT ? LARDER_EDAMAGED : status;
    }
    log->active = last;
    if (last == NULL) return LARDER_OK;
    if (was_power_cut) return wipe_behind(store, last);
    uint64_t end = atomic_load(&last->end);
    // A write that was not published.
    if (end + 8 <= last->capacity) memset(last->map + end, 0, 8);
    return LARDER_OK;
}

/** Whether a log that no checkpoint knows has not begun: the making of its first segment was cut
    short, or after a power cut nothing of that is left. */
static bool is_unbegun(const replay *work, const store_meta *meta, bool was_power_cut) {
    if (meta->end.segment != 0 || work->at != NULL || work->there.count == 0) return false;
    store_log *log = &work->store->log;
    segment *first;
    larder_status status = log_segment(log, 1, &first);
    if (status != LARDER_EDAMAGED && status != ENOENT) return false;
    return was_power_cut;
}

/** Whatever is left of it goes, so that the first segment has the first number. */
static larder_status begin_anew(replay *work) {
    store_log *log = &work->store->log;
    for (; work->there.count > 0; work->there.count--) {
        larder_status status = log_remove(log, work->there.items[work->there.count - 1]);
        if (status != LARDER_OK) return status;
    }
    log->next_number = 1;
    return folder_sync(log->folder);
}

static int remove_unfinished(void *context, const char *name) {
    const store_log *log = context;
    // What cannot be removed goes when its number's turn comes, or with the next open.
    if (segment_is_unfinished(name)) (void)file_remove_in(log->folder, name);
    return 0;
}

larder_status store_replay(larder_store *store, const store_meta *meta, bool was_power_cut,
                           larder_store_detail *detail) {
    replay work = {.store = store};
    detail->part = LARDER_STORE_PART_JOURNAL;
    larder_status status = folder_list_in(store->log.folder, note_number, &work.there);
    if (work.there.status != LARDER_OK) status = work.there.status;
    if (status == LARDER_OK)
        status = folder_list_in(store->log.folder, remove_unfinished, &store->log);
    uint32_t greatest = meta->next_segment == 0 ? 0 : meta->next_segment - 1;
    for (size_t at = 0; at < work.there.count; at++)
        if (work.there.items[at] > greatest) greatest = work.there.items[at];
    store->log.next_number = greatest + 1;
    store->log.last_sequence = store->log.synced_sequence = meta->applied;
    location start = meta->end;
    // The first segment has the first number.
    if (start.segment == 0) start = (location){1, SEGMENT_HEAD_BYTES};
    work.scan = (log_scan){.log = &store->log, .at = start, .sequence = meta->applied};
    bool has_log = meta->end.segment != 0 || lists(&work.there, 1);
    // The first one counts also where nothing in it is new but the record that names the next one:
    // it may not be on the device.
    segment *first = NULL;
    if (status == LARDER_OK && has_log &&
        log_segment(&store->log, start.segment, &first) == LARDER_OK)
        status = enter_segment(&work, first, meta);
    if (status == LARDER_OK && has_log) status = read_log(&work, meta, was_power_cut);
    if (status == LARDER_OK && is_unbegun(&work, meta, was_power_cut)) {
        has_log = false;
        status = begin_anew(&work);
    }
    if (status == LARDER_OK) status = resume(&work, meta, has_log, was_power_cut);
    store->is_partly_applied = store->recovery.intact > 0;
    // Of cleaning that was not committed, or not deleted, and segments made in advance.
    for (size_t at = 0; at < work.there.count && status == LARDER_OK; at++) {
        uint32_t number = work.there.items[at];
        if (live_find(&store->live, number) != NULL ||
            (log_segment(&store->log, number, &first) == LARDER_OK && first->is_measured))
            continue;
        status = store_retire(store, number, store->committed.transaction);
    }
    if (status == LARDER_OK) {
        flush_order order = {0};
        store_delete_retired(store, &order);
        // What was given up must not come back: its numbers are given again.
        if (was_power_cut && work.there.count > 0) status = folder_sync(store->log.folder);
    }
    free(work.there.items);
    if (status == LARDER_EDAMAGED) detail->offset = work.scan.at.offset;
    return status;
}
