// SPDX-License-Identifier: MIT
/** @file feed.c
    Opening, and one event after the other. */
#include "feed/feed.h"
#include "larder_os_machine.h"

// Opening and closing -----------------------------------------------------------------------------

static bool options_are_valid(const larder_store_feed_options *options) {
    const uint32_t flags =
        LARDER_STORE_FEED_SYNCED | LARDER_STORE_FEED_UNSYNCED | LARDER_STORE_FEED_FROM_START;
    const uint32_t both = LARDER_STORE_FEED_SYNCED | LARDER_STORE_FEED_UNSYNCED;
    return (options->flags & ~flags) == 0 && (options->flags & both) != both &&
           options->reserved == 0 && options->name.length <= LARDER_STORE_FEED_NAME_MAX_BYTES;
}

/** Where it begins, by what the caller says. */
static larder_status begin(larder_store_feed *feed, const larder_store_feed_options *options) {
    larder_store_token now;
    const larder_store_token *from = options->from;
    if (from == NULL && (options->flags & LARDER_STORE_FEED_FROM_START) != 0)
        return larder_feed_rewind(feed);
    if (from == NULL) {
        larder_status status = larder_store_token_now(feed->store, &now);
        if (status) return status;
        from = &now;
    }
    return larder_feed_token_read(feed->store, from, &feed->place, &feed->is_lost);
}

/** Has the slot for itself.
    @return LARDER_EBUSY if another feed has it. */
static larder_status take_slot(larder_store_feed *feed, size_t slot) {
    if (!larder_os_file_locks_places()) return LARDER_OK;
    return larder_os_file_lock_place(feed->file.file, FEED_PLACE_SLOT + slot, false);
}

/** The named cursor, which is made if there is none: then it is on the device, with its name. Where
    a damaged slot may be that of this name, what the new one misses is told. The table is
    locked. */
static larder_status find_cursor(larder_store_feed *feed,
                                 const larder_store_feed_options *options) {
    feed_page *page = feed->file.page;
    const larder_bytes name = options->name;
    size_t free_slot = SIZE_MAX, damaged_slot = SIZE_MAX;
    feed_cursor found;
    for (size_t at = 0; at < LARDER_STORE_FEED_CURSORS_MAX; at++) {
        bool is_taken = larder_feed_cursor_read(page, at, &found);
        if (larder_feed_cursor_is_damaged(page, at)) damaged_slot = at;
        else if (!is_taken && free_slot == SIZE_MAX) free_slot = at;
        if (!is_taken || found.length != name.length ||
            memcmp(found.name, name.data, name.length) != 0)
            continue;
        larder_status status = take_slot(feed, at);
        feed->slot = at;
        feed->place = (feed_place){found.epoch, found.sequence};
        feed->is_lost = found.epoch == FEED_EPOCH_NONE;
        // Whoever made it may have been killed before it was on the device.
        return status ? status : larder_feed_file_sync(&feed->file, feed->store->identity.path);
    }
    if (free_slot == SIZE_MAX) free_slot = damaged_slot;
    if (free_slot == SIZE_MAX) return LARDER_ENOSLOT;
    larder_status status = take_slot(feed, free_slot);
    if (status) return status;
    found = (feed_cursor){.length = (uint32_t)name.length, .max_lag = options->max_lag_bytes};
    if (found.max_lag == 0) found.max_lag = LARDER_STORE_FEED_LAG_DEFAULT_BYTES;
    memcpy(found.name, name.data, name.length);
    // At the start of all, so that nothing is deleted any more behind where it is found to begin.
    larder_feed_cursor_write(page, free_slot, &found);
    status = begin(feed, options);
    feed->is_lost |= damaged_slot != SIZE_MAX;
    if (!status)
        status = larder_feed_file_note(&feed->file, feed->log.store_id, free_slot,
                                       feed->is_lost ? FEED_EPOCH_NONE : feed->place.epoch,
                                       feed->place.sequence);
    if (status) {
        larder_feed_cursor_write(page, free_slot, &(feed_cursor){.length = 0});
        return status;
    }
    feed->slot = free_slot;
    return larder_feed_file_sync(&feed->file, feed->store->identity.path);
}

static larder_status open_cursor(larder_store_feed *feed,
                                 const larder_store_feed_options *options) {
    larder_status status = larder_feed_file_open(feed->store, true, &feed->file);
    if (!status) status = larder_feed_table_lock(&feed->file);
    if (status) return status;
    status = find_cursor(feed, options);
    larder_feed_table_unlock(&feed->file);
    return status;
}

larder_status larder_store_feed_open(larder_store *store, const larder_store_feed_options *options,
                                     larder_store_feed **out) {
    *out = NULL;
    larder_status status = store_enter(store);
    if (status) return status;
    if (!options_are_valid(options)) return LARDER_EINVALID;
    larder_store_feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL) return ENOMEM;
    feed->store = store;
    feed->slot = SIZE_MAX;
    feed->file.file = -1;
    bool is_named = options->name.length > 0;
    feed->is_synced_only = (options->flags & LARDER_STORE_FEED_SYNCED) != 0 ||
                           (is_named && (options->flags & LARDER_STORE_FEED_UNSYNCED) == 0);
    status =
        larder_log_open(store->identity.path, store->pending.log.store_id, 0600, true, &feed->log);
    if (!status) status = is_named ? open_cursor(feed, options) : begin(feed, options);
    if (status) {
        larder_store_feed_close(feed);
        return status;
    }
    atomic_store(&feed->waiter.page, feed->file.page);
    larder_feed_join(&store->feed, &feed->waiter);
    if (is_named) larder_feed_watch(store);
    *out = feed;
    return LARDER_OK;
}

void larder_store_feed_close(larder_store_feed *feed) {
    if (feed == NULL) return;
    // In a child, the thread that had the lock may be gone.
    if (*feed->store->identity.not_forked != 0)
        larder_feed_leave(&feed->store->feed, &feed->waiter);
    if (feed->slot != SIZE_MAX && larder_os_file_locks_places())
        larder_os_file_unlock_place(feed->file.file, FEED_PLACE_SLOT + feed->slot);
    larder_feed_file_close(&feed->file);
    if (feed->log.path != NULL) larder_log_close(&feed->log);
    free(feed->changes);
    free(feed);
}

// What may be told --------------------------------------------------------------------------------

bool larder_feed_is_cut(const larder_store_feed *feed) {
    int64_t ignored;
    return store_is_read_only(feed->store) &&
           larder_identity_look(&feed->store->identity, &ignored).is_other_boot;
}

/** Up to where the log is on the device, as far as anybody has noted. */
static location synced_now(larder_store_feed *feed) {
    larder_store *store = feed->store;
    location synced;
    if (!store_is_read_only(store)) {
        pthread_mutex_lock(&store->pending.lock);
        synced = store->pending.log.synced_end;
        pthread_mutex_unlock(&store->pending.lock);
        return synced;
    }
    int64_t ignored;
    lock_text text = larder_identity_look(&store->identity, &ignored);
    synced = larder_lock_text_synced(&text, feed->log.store_id);
    log_survey there;
    // Who may not read the lock's file knows what the heads say.
    if (text.boot[0] == 0 && larder_log_survey_make(&feed->log, &there) == LARDER_OK) {
        synced = larder_log_survey_synced(&feed->log, &there, synced);
        larder_log_survey_free(&there);
    }
    return synced;
}

static bool is_synced(larder_store_feed *feed, location end) {
    if (compare_locations(end, feed->synced) > 0) feed->synced = synced_now(feed);
    return compare_locations(end, feed->synced) <= 0;
}

// Events ------------------------------------------------------------------------------------------

void larder_feed_tell_gap(larder_store_feed *feed, uint64_t missing,
                          larder_store_feed_event *event) {
    *event = (larder_store_feed_event){
        .kind = LARDER_STORE_FEED_GAP, .sequence = feed->place.sequence, .missing = missing};
    larder_feed_token_write(feed->store, feed->place, &event->token);
}

static larder_status tell_write(larder_store_feed *feed, const uint8_t *first, uint32_t count,
                                larder_store_feed_event *event) {
    while (feed->capacity < count) {
        larder_status status = larder_os_array_reserve(&feed->changes, feed->capacity,
                                                       &feed->capacity, sizeof *feed->changes);
        if (status) return status;
    }
    const uint8_t *at = first;
    for (uint32_t n = 0; n < count; n++, at += record_padded(record_length(at))) {
        record found;
        larder_status status = larder_record_read(record_bytes(at), false, &found);
        if (status) return status;
        larder_store_change *told = &feed->changes[n];
        *told = (larder_store_change){.kind = (larder_store_change_kind)found.kind,
                                      .key = found.key,
                                      .value = found.value,
                                      .extended = found.extended,
                                      .written_ns = found.written_ns,
                                      .expires_ns = found.expires_ns,
                                      .idle_ns = found.idle_ns,
                                      .cost = found.cost};
        if ((found.flags & RECORD_OWN_TIMES) != 0) told->flags = LARDER_STORE_OWN_TIMES;
    }
    *event = (larder_store_feed_event){.kind = LARDER_STORE_FEED_WRITE,
                                       .count = count,
                                       .changes = feed->changes,
                                       .sequence = feed->place.sequence};
    larder_feed_token_write(feed->store, feed->place, &event->token);
    return LARDER_OK;
}

int64_t larder_feed_due_ns(const larder_store_feed *feed) {
    const int64_t interval_ns = 1000000000;
    if (feed->looked_ns == 0) return 0;
    return feed->looked_ns + interval_ns - larder_os_monotonic_ns();
}

static bool is_due(const larder_store_feed *feed) { return larder_feed_due_ns(feed) <= 0; }

/** Where the log goes on as the tree says, if that has all that the feed has told. If it has
    nothing more, what led there from the feed's place may be deleted, and nothing is damaged.
    @param applied receives the last write that the tree has. */
static bool tree_leads_on(larder_store_feed *feed, location *out, uint64_t *applied) {
    environment *env = feed->store->index.environment;
    snapshot *seen;
    segment *there;
    if (larder_environment_read(env, &seen) != LARDER_OK) return false;
    *applied = seen->meta.applied;
    *out = seen->meta.end;
    bool is_so = larder_environment_confirm(seen, LARDER_OK) == LARDER_OK;
    larder_environment_release(env, seen);
    return is_so && *applied >= feed->scan.sequence && out->segment != 0 &&
           compare_locations(*out, feed->scan.at) != 0 &&
           larder_log_segment(&feed->log, out->segment, &there) == LARDER_OK;
}

larder_status larder_feed_pass_damage(larder_store_feed *feed, larder_store_feed_event *event) {
    log_scan *scan = &feed->scan;
    location end;
    uint64_t applied = 0, first = larder_feed_first_at(&feed->log, scan->at);
    // One that is in turn is damaged behind its first record.
    bool is_stuck = first <= scan->sequence + 1;
    bool leads_on = is_stuck && tree_leads_on(feed, &end, &applied);
    log_scan rest = *scan;
    rest.was_cut = feed->is_cut;
    rest.synced = feed->synced;
    if (leads_on && applied == scan->sequence) {
        scan->at = end;
        first = scan->sequence + 1;
    } else if (is_stuck && larder_log_scan_resync(&rest)) {
        first = larder_feed_first_at(&feed->log, rest.at);
        if (first <= scan->sequence) return LARDER_END;
        scan->at = rest.at;
    } else if (leads_on) {
        // The log ends here, and had more: the last writes are missing.
        scan->at = end;
        first = applied + 1;
    } else if (is_stuck) {
        return LARDER_END;
    }
    segment *there;
    larder_status status = larder_log_segment(&feed->log, scan->at.segment, &there);
    // It may have been deleted by now; and the log may have gone back before it went on there.
    feed->is_placed =
        status != ENOENT && (status || larder_segment_epoch_now(there) <= feed->judged_epoch);
    if (!feed->is_placed) return EAGAIN;
    if (status) return status;
    if (first == scan->sequence + 1) return EAGAIN;
    uint64_t missing = first - scan->sequence - 1;
    scan->sequence = first - 1;
    feed->place = (feed_place){larder_segment_epoch_now(there), first - 1};
    larder_feed_tell_gap(feed, missing, event);
    return LARDER_OK;
}

/** Whether somebody has gone over the log since the feed was placed in what a power cut had left of
    it: then it is found again, for segments that it has mapped may be given up. */
static bool is_mended(const larder_store_feed *feed) {
    return feed->is_cut && !larder_feed_is_cut(feed);
}

/** The log behind the place of the feed. As larder_feed_pass_damage. */
static larder_status scan_on(larder_store_feed *feed, larder_store_feed_event *event) {
    const uint8_t *first;
    uint32_t count;
    segment *from;
    log_scan next = feed->scan;
    larder_status status = larder_log_scan_next(&next, true, &first, &count, &from);
    if (status == LARDER_EDAMAGED) {
        feed->scan.at = next.at;
        // What begins where the log was synced to, was not.
        const location behind = {next.at.segment, next.at.offset + 1};
        bool is_torn = feed->is_cut && !is_synced(feed, behind);
        if (is_mended(feed)) feed->is_placed = false;
        if (!feed->is_placed) return EAGAIN;
        bool was_here = compare_locations(next.at, feed->stuck_at) == 0;
        if (is_torn || (was_here && !is_due(feed))) return LARDER_END;
        feed->stuck_at = next.at;
        feed->looked_ns = larder_os_monotonic_ns();
        return larder_feed_pass_damage(feed, event);
    }
    if (status == LARDER_END) {
        feed->scan = next;
        bool looks = is_due(feed);
        return looks ? larder_feed_look_behind(feed, event) : LARDER_END;
    }
    bool waits = !status && feed->is_synced_only && !is_synced(feed, next.at);
    if (!status) feed->is_unsettled = false;
    if (status || waits) return status ? status : LARDER_END;
    // Only now: what is noted as synced may be of a log that goes on elsewhere.
    if (is_mended(feed)) {
        feed->is_placed = false;
        return EAGAIN;
    }
    feed->scan = next;
    feed->place = (feed_place){larder_segment_epoch_now(from), next.sequence};
    return tell_write(feed, first, count, event);
}

void larder_feed_let_go_before(larder_store_feed *feed, uint64_t number) {
    const segment *passed;
    while ((passed = larder_segment_table_next(&feed->log.table, 1)) != NULL &&
           passed->number < number)
        larder_log_let_go(&feed->log, passed->number);
}

/** What the feed has passed: a little at a time, for to unmap all of a long segment takes longer
    than it should take until a write is told. */
static void let_go_of_passed(larder_store_feed *feed) {
    const uint64_t step_bytes = (uint64_t)1 << 20;
    const location at = feed->scan.at;
    const segment *passed;
    if (at.segment != feed->rested.segment) feed->rested = (location){at.segment, 0};
    if (at.offset >= feed->rested.offset + step_bytes) {
        passed = larder_segment_table_next(&feed->log.table, at.segment);
        if (passed != NULL && passed->number == at.segment)
            larder_segment_rest_between(passed, feed->rested.offset, at.offset);
        feed->rested.offset = at.offset;
    }
    larder_feed_let_go_before(feed, at.segment);
}

larder_status larder_feed_fetch(larder_store_feed *feed) {
    enum { STEPS_MAX = 1000 };
    larder_status status = store_enter(feed->store);
    if (status || feed->has_event) return status;
    if (feed->is_placed) let_go_of_passed(feed);
    if (is_mended(feed)) feed->is_placed = false;
    status = EAGAIN;
    for (int step = 0; status == EAGAIN && step < STEPS_MAX; step++) {
        bool was_placed = feed->is_placed;
        status = was_placed ? scan_on(feed, &feed->event) : larder_feed_find(feed, &feed->event);
        if (status == LARDER_END && !was_placed && feed->is_placed) status = EAGAIN;
    }
    feed->has_event = !status;
    return status == EAGAIN ? LARDER_END : status;
}

larder_status larder_store_feed_next(larder_store_feed *feed, larder_store_feed_event *event) {
    memset(event, 0, sizeof *event);
    larder_status status = larder_feed_fetch(feed);
    if (status) return status;
    *event = feed->event;
    feed->has_event = false;
    if (feed->told_count < UINT32_MAX) feed->told_count++;
    return LARDER_OK;
}
