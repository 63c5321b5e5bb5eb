// SPDX-License-Identifier: MIT
/** @file replay.c
    What the log holds that is not in the tree, read when a store is opened.

    After a power cut any page may be missing that was not synced, so the log ends at the first
    write that is not whole: what comes back is a prefix. What lies behind is wiped, on the device,
    before the first new write: else a later power cut could leave an old write behind a new one.

    A process that was killed leaves every page, so a write that is not whole is damage there: it
    costs itself, and the writes behind it are kept. The same holds after a power cut for what is
    known to have been synced. But pages whose sync failed before may be taken for clean by the
    system; they are made dirty again before the next sync.

    Sequences of writes that were given up are assigned again, in another epoch: see begin_epoch.

    A file goes only if it is known that nobody needs it: see retire_unknown. */
#include "store/replay.h"

#include "cleaning/clean.h"
#include "log/scan.h"

typedef struct replay {
    larder_store *store;
    store_log *log;
    const log_survey *there;
    log_scan scan;
    /** The last segment of the chain that was entered; those before it are measured, too. */
    segment *at;
    /** Writes that follow one another in it, taken and not yet published. */
    const uint8_t *run;
    uint32_t run_count;
    /** What the segments of the log have room for. */
    uint64_t capacity_bytes;
    /** Bytes that were read when the caller was last told. */
    uint64_t told_bytes;
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

/** The last write that was taken is followed by a record that names the next segment. */
static bool is_followed_by_seal(const segment *at, record *next) {
    uint64_t end = atomic_load(&at->end);
    return larder_segment_read(at, &end, true, next) == LARDER_OK && next->kind == RECORD_NEXT &&
           next->minor > at->number;
}

/** Nothing of the log goes on in it any more. What seals it is counted if it is there. */
static void leave(segment *left, const segment *next) {
    record seal;
    left->next = next->number;
    left->is_sealed = true;
    if (!is_followed_by_seal(left, &seal)) return;
    atomic_store(&left->end, atomic_load(&left->end) + SEGMENT_NEXT_BYTES);
    left->record_count++;
    left->bare_count++;
}

/** The epoch of a segment whose head is damaged: that of the one before it, as far as is known. */
static segment_epoch epoch_below(const replay *work, uint32_t number) {
    uint32_t epoch = 0;
    for (size_t at = 0; at < work->there->count && work->there->items[at].number < number; at++)
        if (work->there->items[at].kind == SEGMENT_WRITTEN)
            epoch = work->there->items[at].epoch.number;
    return (segment_epoch){epoch, epoch};
}

/** The next segment of the chain: everything in it that is not in the tree is counted, and may not
    be on the device. One with a damaged head gets another. */
static larder_status enter_next(replay *work, segment *entered) {
    larder_store *store = work->store;
    if (work->at != NULL) leave(work->at, entered);
    else work->log->first_unsynced = entered->number;
    work->at = entered;
    entered->synced = SEGMENT_HEAD_BYTES;
    entered->record_count = entered->bare_count = 0;
    entered->is_measured = true;
    entered->is_named = false;
    entered->sync_failed = true;
    const live_segment *before = larder_live_find(&store->index.live, entered->number);
    if (entered->number == store->index.meta.end.segment) {
        if (before != NULL) {
            entered->record_count = before->record_count;
            entered->bare_count = before->bare_count;
            entered->last_sequence = before->last_sequence;
        }
        entered->synced = store->index.meta.end.offset;
        // Its file may have been cut short before that.
        if (entered->synced > entered->capacity) entered->synced = entered->capacity;
        entered->is_named = true;
    }
    atomic_store(&entered->end, entered->synced);
    if (entered->kind != SEGMENT_UNKNOWN) return LARDER_OK;
    entered->first_sequence =
        before != NULL ? before->first_sequence : work->log->last_sequence + 1;
    entered->epoch = epoch_below(work, entered->number);
    return larder_segment_mend(entered, work->log->folder, SEGMENT_WRITTEN, work->log->store_id);
}

/** Where the chain goes on behind the last write that was taken; `last` if there is no telling. */
static segment *next_in_chain(const replay *work, segment *last) {
    segment *found;
    larder_store *store = work->store;
    uint32_t number = store->index.meta.end.segment == 0 ? 1 : store->index.meta.end.segment;
    if (work->at != NULL) {
        record next;
        if (!is_followed_by_seal(work->at, &next)) return last;
        number = next.minor;
    }
    bool is_before = number < last->number;
    return is_before && larder_log_segment(work->log, number, &found) == LARDER_OK &&
                   found->kind != SEGMENT_CLEANED
               ? found
               : last;
}

/** The scan has come to `entered`, perhaps through segments that no write is in. */
static larder_status enter_segment(replay *work, segment *entered) {
    larder_status status = work->at == entered ? LARDER_OK : publish_run(work);
    while (!status && work->at != entered) status = enter_next(work, next_in_chain(work, entered));
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

/** Whole writes behind the end of the log, which a power cut may have torn anywhere. */
static uint64_t count_given_up(const replay *work) {
    log_scan rest = work->scan;
    rest.was_cut = false;
    const uint8_t *first;
    uint32_t count;
    segment *from;
    uint64_t found = 0;
    while (larder_log_scan_resync(&rest)) {
        rest.looks_behind = true;
        while (larder_log_scan_next(&rest, true, &first, &count, &from) == LARDER_OK) found++;
    }
    return found;
}

/** Says how far it is, now and then. ECANCELED if that is enough: nothing has changed so far. */
static larder_status tell(replay *work) {
    const larder_store_options *options = &work->store->options;
    const uint64_t step = 1 << 20;
    uint64_t done = work->log->unapplied_bytes, total = work->capacity_bytes;
    if (!options->progress || done - work->told_bytes < step) return LARDER_OK;
    work->told_bytes = done;
    return options->progress(options->context, done, total < done ? done : total) ? ECANCELED
                                                                                  : LARDER_OK;
}

static larder_status read_log(replay *work) {
    larder_store_report *report = &work->store->recovery;
    log_scan *scan = &work->scan;
    larder_status status = LARDER_OK;
    while (!status) {
        const uint8_t *first;
        uint32_t count;
        segment *from;
        scan->looks_behind = true;
        status = larder_log_scan_next(scan, true, &first, &count, &from);
        if (status == LARDER_EDAMAGED) {
            bool goes_on = larder_log_scan_resync(scan);
            report->journal_lost += !goes_on;
            if (!goes_on && scan->was_cut) report->journal_lost += count_given_up(work);
            status = goes_on ? LARDER_OK : LARDER_END;
            continue;
        }
        if (!status) status = enter_segment(work, from);
        if (!status) status = take_write(work, first, count);
        if (!status) status = tell(work);
    }
    report->journal_lost += scan->lost;
    // What was synced and is not there left no trace.
    bool is_short = compare_locations(scan->at, work->store->identity.synced) < 0;
    if (status == LARDER_END && is_short && report->journal_lost == 0) report->journal_lost = 1;
    return status == LARDER_END ? publish_run(work) : status;
}

/** What lies behind the end of the log is gone, on the device, before anything new is written. Most
    of the time nothing does. */
static larder_status wipe_behind(larder_store *store, segment *last) {
    enum { PART_BYTES = 4096 };
    uint64_t at = larder_segment_first_used(last, atomic_load(&last->end));
    if (at >= last->capacity) return LARDER_OK;
    while (at < last->capacity) {
        uint64_t rest = last->capacity - at, part = rest < PART_BYTES ? rest : PART_BYTES;
        memset(last->map + at, 0, (size_t)part);
        at = larder_segment_first_used(last, at + part);
    }
    larder_segment_redirty(last, last->synced);
    larder_status status = larder_segment_sync(last, store->pending.log.folder);
    if (!status) last->sync_failed = false;
    return status;
}

/** The last segment is the one that is appended to. Where it is missing, the next write makes
    another. */
static larder_status resume(replay *work, bool was_power_cut) {
    // It may have gone on in one that nothing was written to yet.
    segment *last;
    larder_status status = larder_log_segment(work->log, work->scan.at.segment, &last);
    if (!status && last->kind == SEGMENT_CLEANED) status = LARDER_EDAMAGED;
    if (status == ENOENT || status == LARDER_EDAMAGED) {
        work->store->recovery.journal_lost += work->at == NULL;
        return LARDER_OK;
    }
    // One that was being made when the power failed is not the end, if nothing came into it.
    bool is_torn = !status && was_power_cut && last->kind == SEGMENT_UNKNOWN && work->at != NULL &&
                   last != work->at && work->scan.at.offset == SEGMENT_HEAD_BYTES;
    while (is_torn && !status && next_in_chain(work, last) != last)
        status = enter_next(work, next_in_chain(work, last));
    // A segment has its head before the log leads to it.
    if (!status && !was_power_cut && last->kind == SEGMENT_UNKNOWN && last != work->at &&
        larder_segment_first_used(last, SEGMENT_HEAD_BYTES) < last->capacity &&
        work->store->recovery.journal_lost == 0)
        work->store->recovery.journal_lost = 1;
    if (is_torn) last = work->at;
    else if (!status) status = enter_segment(work, last);
    if (status) return status;
    // What is left of its file has no room for what would seal it: the next write makes another.
    uint64_t room = last->capacity - atomic_load(&last->end);
    if (last->cut_at > 0 && room < SEGMENT_NEXT_BYTES) return LARDER_OK;
    // Nor has the disk for what no segment of ours would keep empty.
    if (last->hole_count > 0) return LARDER_OK;
    // One that the log had left before: what was given back of it is needed again.
    if (was_power_cut || work->store->recovery.journal_lost > 0)
        status = larder_segment_reserve_rest(last, work->log->folder);
    if (status) return status;
    work->log->active = last;
    last->cut_at = 0;
    if (was_power_cut) return wipe_behind(work->store, last);
    uint64_t end = atomic_load(&last->end);
    // A write that was not published, or the name of a segment that is missing.
    if (end + 8 <= last->capacity) memset(last->map + end, 0, 8);
    return LARDER_OK;
}

/** A log of which nothing was ever synced, and whose first segment was lost to a power cut while it
    was made: then whatever is left goes, and the first segment has the first number again. */
static bool restarts_log(const replay *work) {
    const log_survey *there = work->there;
    return work->store->index.meta.end.segment == 0 && work->at == NULL && there->count > 0 &&
           !larder_log_survey_has(work->log, there, 1) && larder_log_survey_is_new(there);
}

// Epochs ------------------------------------------------------------------------------------------

/** What is appended to is of the greatest epoch that any head says.
    @return false if the log may have gone back, so that sequences name other writes than before. */
static bool is_of_last_epoch(const replay *work, bool was_power_cut, uint32_t *greatest) {
    const store_log *log = work->log;
    *greatest = 0;
    for (size_t at = 0; at < work->there->count; at++) {
        const segment_facts *facts = &work->there->items[at];
        if (facts->kind == SEGMENT_WRITTEN && facts->store_id == log->store_id &&
            facts->epoch.number > *greatest)
            *greatest = facts->epoch.number;
    }
    // Nobody knows a write of a store that was made just now.
    if (work->store->index.is_made) return true;
    return !was_power_cut && work->store->recovery.journal_lost == 0 &&
           (log->active == NULL || log->active->epoch.number == *greatest);
}

/** The epoch before one that begins here: if the greatest one begins here, too, as after two
    crashes of a recovery, then the one before that. */
static uint32_t epoch_before(const replay *work, uint32_t greatest) {
    for (size_t at = 0; at < work->there->count; at++) {
        const segment_facts *facts = &work->there->items[at];
        if (facts->kind == SEGMENT_WRITTEN && facts->epoch.number == greatest &&
            facts->epoch.before != greatest &&
            facts->first_sequence == work->log->last_sequence + 1)
            return facts->epoch.before;
    }
    return greatest;
}

/** RE1: another epoch begins behind the end of the log, on the device.
    @param next receives the segment that the log goes on in; NULL where that is the last one: it is
           empty, or there is no room for another. Then the epoch is said to begin with what it
           holds, which is told once more. One in which an epoch begins is not overwritten: torn, it
           would no longer tell that there was that epoch. */
static larder_status begin_epoch(replay *work, uint32_t greatest, segment **next) {
    store_log *log = work->log;
    segment *last = log->active != NULL ? log->active : work->at;
    const segment_epoch epoch = {greatest + 1, epoch_before(work, greatest)};
    log->epoch = epoch.number;
    bool is_empty = last != NULL && atomic_load(&last->end) == SEGMENT_HEAD_BYTES;
    bool is_spare = is_empty && last->epoch.before == last->epoch.number;
    // What tells of an epoch may be the first of the log that is on the device: the tree comes
    // before.
    larder_status status = larder_environment_settle(work->store->index.environment);
    if (!status) status = is_spare ? ENOSPC : larder_log_begin_epoch(log, epoch, next);
    if (last == NULL || (status != ENOSPC && status != EDQUOT)) return status;
    last->epoch = epoch;
    if (is_empty) last->first_sequence = log->last_sequence + 1;
    status = larder_segment_mend(last, log->folder, SEGMENT_WRITTEN, log->store_id);
    if (!status) status = larder_segment_sync_file(last, log->folder);
    return status ? status : larder_os_folder_sync(log->folder);
}

/** RE2: if we crash before this is on the device, the log ends where it ended. */
static void enter_epoch(replay *work, segment *next) {
    store_log *log = work->log;
    if (next == NULL) return;
    if (log->active != NULL) larder_segment_seal(log->active, next->number, log->last_sequence);
    else log->first_unsynced = next->number;
    log->active = next;
}

// What lies there besides -------------------------------------------------------------------------

/** What becomes of a segment that no row names and no write was read from. */
typedef enum unknown_fate {
    /** Nobody knows. */
    FATE_KEPT,
    /** Nothing lies in it, or a power cut tore the log before it and nothing of it was synced: its
        numbers are given again, and it must not come back. */
    FATE_GOES,
    /** All that it holds is in the tree, by its numbers: each record has to be found elsewhere, or
        replaced, before it goes. A checkpoint has the time for it. */
    FATE_PROVED
} unknown_fate;

static unknown_fate fate_of(const replay *work, const segment_facts *facts, bool was_power_cut) {
    const store_meta *meta = &work->store->index.meta;
    bool is_itself = larder_log_survey_is_itself(work->log, facts);
    bool is_behind = work->log->active == NULL || facts->number > work->log->active->number;
    segment *found;
    if (facts->is_blank) return FATE_GOES;
    if (!is_itself || larder_log_segment(work->log, facts->number, &found) != LARDER_OK)
        return FATE_KEPT;
    uint64_t start = facts->head_number == 0 ? 0 : SEGMENT_HEAD_BYTES;
    if (larder_segment_first_used(found, start) >= found->capacity) return FATE_GOES;
    // No row was ever committed that leads to one that was not synced.
    bool is_torn_off = is_behind || facts->kind != SEGMENT_WRITTEN;
    if (was_power_cut && is_torn_off && facts->is_new) return FATE_GOES;
    if (facts->kind == SEGMENT_CLEANED)
        return facts->as_of <= meta->applied ? FATE_PROVED : FATE_KEPT;
    return facts->kind == SEGMENT_WRITTEN && facts->number < meta->end.segment ? FATE_PROVED
                                                                               : FATE_KEPT;
}

/** The last write of a segment of which only the next one tells; 0 of one that no feed reads. */
static uint64_t last_sequence_of(const replay *work, size_t at) {
    const log_survey *there = work->there;
    if (there->items[at].kind != SEGMENT_WRITTEN) return 0;
    for (size_t next = at + 1; next < there->count; next++) {
        segment *found;
        larder_bytes bytes;
        if (there->items[next].kind != SEGMENT_WRITTEN ||
            larder_log_segment(work->log, there->items[next].number, &found) != LARDER_OK ||
            larder_segment_look(found, SEGMENT_HEAD_BYTES, &bytes) != LARDER_OK)
            continue;
        bool is_write = record_kind(bytes.data) != RECORD_NEXT;
        return record_sequence(bytes.data) - is_write;
    }
    return work->log->last_sequence;
}

static larder_status retire_unproven(const replay *work, size_t at) {
    store_index *index = &work->store->index;
    const segment_facts *facts = &work->there->items[at];
    larder_status status =
        larder_segment_retire(index, work->log, facts->number, index->meta.transaction, true);
    if (status) return status;
    live_segment *noted = larder_live_find(&index->retired, facts->number);
    noted->last_sequence = last_sequence_of(work, at);
    noted->used_bytes = facts->stored_bytes;
    return LARDER_OK;
}

/** What lies in the folder and belongs to nothing: of cleaning that was not committed, or not
    deleted; segments made in advance; what a power cut tore off; and what nobody knows. */
static larder_status retire_unknown(replay *work, bool was_power_cut) {
    store_index *index = &work->store->index;
    store_log *log = work->log;
    larder_status status = LARDER_OK;
    for (size_t at = 0; at < work->there->count && !status; at++) {
        const segment_facts *facts = &work->there->items[at];
        const segment *found = larder_segment_table_find(&log->table, facts->number);
        if ((found != NULL && found->is_measured) ||
            larder_live_find(&index->live, facts->number) != NULL)
            continue;
        unknown_fate fate = fate_of(work, facts, was_power_cut);
        work->store->recovery.inconsistencies += fate == FATE_KEPT;
        if (fate == FATE_KEPT) status = larder_segment_keep(index, log, facts->number);
        else if (fate == FATE_PROVED) status = retire_unproven(work, at);
        else {
            // Nobody reads it: not since the power came back, and there was nothing in it before.
            larder_status removed = larder_log_remove(log, facts->number);
            // What was given up must not come back behind what is written now.
            if (was_power_cut) status = removed;
        }
    }
    if (status) return status;
    return was_power_cut && work->there->count > 0 ? larder_os_folder_sync(log->folder) : LARDER_OK;
}

/** Segments that rows lead to and whose head is damaged get another, as far as their rows know. */
static larder_status mend_heads(const replay *work) {
    const live_table *live = &work->store->index.live;
    larder_status status = LARDER_OK;
    for (size_t at = 0; at < live->count && !status; at++) {
        const live_segment *row = &live->items[at];
        const segment_facts *facts = larder_log_survey_find(work->there, row->number);
        segment *found;
        if (facts == NULL || facts->bytes == 0 || facts->head_number != 0 || row->used_bytes == 0)
            continue;
        status = larder_log_segment(work->log, row->number, &found);
        if (status) break;
        found->first_sequence = row->first_sequence;
        found->as_of = row->as_of;
        if (row->as_of == 0) found->epoch = epoch_below(work, row->number);
        status = larder_segment_mend(found, work->log->folder,
                                     row->as_of > 0 ? SEGMENT_CLEANED : SEGMENT_WRITTEN,
                                     work->log->store_id);
    }
    return status;
}

/** Removes a segment that was being made. What cannot be removed goes when its number's turn comes,
    or with the next open. */
static int remove_unfinished(void *context, const char *name) {
    const store_log *log = context;
    if (larder_segment_is_unfinished(name)) (void)larder_os_file_remove_in(log->folder, name);
    return 0;
}

/** Numbers that there are, or were, are not given again. A file that is not of this log has none,
    whatever it is called: when its number's turn comes, the next one is taken. */
static void note_numbers(replay *work) {
    store_log *log = work->log;
    log->next_number = work->store->index.meta.next_segment;
    for (size_t at = 0; at < work->there->count; at++) {
        const segment_facts *facts = &work->there->items[at];
        if (facts->number >= log->next_number && larder_log_survey_is_itself(log, facts))
            log->next_number = facts->number + 1;
        if (facts->number >= work->store->index.meta.end.segment && facts->kind == SEGMENT_WRITTEN)
            work->capacity_bytes += facts->stored_bytes;
    }
}

larder_status larder_store_replay(larder_store *store, const log_survey *there, bool was_cut,
                                  bool was_closed, larder_store_detail *detail) {
    store_log *log = &store->pending.log;
    replay work = {.store = store, .log = log, .there = there};
    const store_meta *meta = &store->index.meta;
    detail->part = LARDER_STORE_PART_JOURNAL;
    note_numbers(&work);
    if (there->has_unfinished) (void)!larder_os_folder_list_in(log->folder, remove_unfinished, log);
    larder_status status = mend_heads(&work);
    bool has_log = meta->end.segment != 0 || there->count > 0;
    log->last_sequence = log->synced_sequence = meta->applied;
    // The first segment has the first number.
    location start = meta->end.segment != 0 ? meta->end : (location){1, SEGMENT_HEAD_BYTES};
    work.scan = (log_scan){.log = log,
                           .at = start,
                           .sequence = meta->applied,
                           .was_cut = was_cut,
                           .synced = larder_log_survey_synced(log, there, store->identity.synced)};
    if (was_closed) work.scan.closed_at = store->identity.synced;
    // The first one counts also where nothing in it is new but the record that names the next one:
    // it may not be on the device.
    segment *first;
    if (!status && has_log && larder_log_segment(log, start.segment, &first) == LARDER_OK &&
        first->kind != SEGMENT_CLEANED)
        status = enter_segment(&work, first);
    if (!status && has_log) status = read_log(&work);
    bool restarts = was_cut && restarts_log(&work);
    if (!status && has_log && !restarts) status = resume(&work, was_cut);
    segment *next = NULL;
    uint32_t epoch, number = log->next_number;
    bool goes_on = is_of_last_epoch(&work, was_cut, &epoch);
    log->epoch = epoch;
    if (restarts) log->next_number = 1;
    // Before anything goes that may be of the greatest epoch.
    if (!status && !goes_on) status = begin_epoch(&work, epoch, &next);
    if (log->next_number < number) log->next_number = number;
    if (!status) status = retire_unknown(&work, was_cut);
    if (!status) enter_epoch(&work, next);
    store->index.is_partly_applied = store->recovery.journal_intact > 0;
    if (status == LARDER_EDAMAGED) detail->offset = work.scan.at.offset;
    return status;
}
