// SPDX-License-Identifier: MIT
/** @file follow.c
    How a read-only handle sees what another process writes: it follows the log behind what the tree
    has, and lays that over the tree.

    A look takes its place first, and follows the log then, to its end. So it shows the tree with
    every write up to meta.applied, and over it every write behind: all that was written before the
    look began. Rows that a checkpoint brought into the tree early are among the latter. The writer
    removes no segment that the place's tree or the log behind it needs. So one that is missing is
    lost, or the place was not in LMDB's table when it mattered: then a newer state is there, in the
    same file or in the one that a compaction has put in its place. */
#include "log/scan.h"
#include "read/read.h"

/** How often following starts again because the tree, and with it the log, moved on. */
enum { LOOK_ATTEMPTS = 16 };

/** Begins behind what the tree has.
    @param is_newest there is no newer tree: what is missing is lost.
    @return LARDER_OK; ENOENT: the segment is missing; ENOMEM or another errno. */
static larder_status follow_from(larder_store *store, const store_meta *meta, bool is_newest) {
    follower *follow = &store->pending.follower;
    follow->first = 0;
    // Before the first checkpoint the log is whole.
    location start = meta->end.segment ? meta->end : (location){1, SEGMENT_HEAD_BYTES};
    if (meta->end.segment || follow->has_log) {
        segment *from;
        larder_status status = larder_log_segment(&store->pending.log, start.segment, &from);
        bool is_lost = status == LARDER_EDAMAGED || (status == ENOENT && is_newest);
        if (status && !is_lost) return status;
    }
    larder_memtable_reset(store->pending.active);
    atomic_store_explicit(&store->pending.count, 0, memory_order_release);
    // Nothing here leads to a segment any more, but what was found by those who hold their slots.
    larder_log_drop_missing(&store->pending.log);
    follow->next = start;
    follow->first = meta->applied + 1;
    follow->last = meta->applied;
    follow->lost = 0;
    return LARDER_OK;
}

/** Whether what was followed is behind the tree, or for its larger part known to it: reading the
    rest of it again costs less than it took, and the table stays as small as what is not
    applied. */
static bool is_outdated(const follower *follow, uint64_t applied) {
    if (follow->first == 0 || applied + 1 < follow->first || applied > follow->last) return true;
    return applied - (follow->first - 1) > follow->last - applied;
}

/** Reads on, to the log's end. What is damaged costs one write, as it does for whoever opens the
    store to write; behind a power cut, the log ends there. */
static larder_status follow_on(larder_store *store, const store_meta *meta) {
    follower *follow = &store->pending.follower;
    segment *last;
    log_scan scan = {.log = &store->pending.log,
                     .at = follow->next,
                     .sequence = follow->last,
                     .looks_behind = follow->is_fresh,
                     .closed_at = follow->closed_at,
                     .was_cut = follow->is_cut,
                     .synced = follow->synced};
    larder_status status = LARDER_OK;
    follow->is_hurt = false;
    while (!status) {
        const uint8_t *first;
        uint32_t count;
        segment *from;
        status = larder_log_scan_next(&scan, true, &first, &count, &from);
        if (status == LARDER_EDAMAGED) {
            follow->is_hurt = true;
            status = larder_log_scan_resync(&scan) ? LARDER_OK : LARDER_END;
            follow->has_ended = follow->is_cut && status == LARDER_END;
            scan.looks_behind = follow->is_fresh;
            follow->lost += status == LARDER_END && follow->is_fresh;
            continue;
        }
        if (!status) status = larder_memtable_reserve(store->pending.active, count);
        if (status) break;
        larder_store_publish(store, first, count, from->number);
        follow->next = scan.at;
        follow->last = scan.sequence;
    }
    follow->lost += scan.lost;
    // What was synced and is not there left no trace.
    bool is_short = compare_locations(scan.at, follow->noted) < 0;
    // Nor has what lay in the segment that the log goes on in.
    bool is_missing = (meta->end.segment || follow->has_log) &&
                      larder_log_segment(&store->pending.log, scan.at.segment, &last) == ENOENT;
    bool is_lost = status == LARDER_END && follow->is_fresh && (is_short || is_missing);
    if (is_lost && follow->lost == 0) follow->lost = 1;
    follow->is_fresh = false;
    return status == LARDER_END ? LARDER_OK : status;
}

/** Brings what was followed to the end of the log as it is now.
    @return LARDER_OK; ENOENT: the log's segment behind the tree is missing; ENOMEM or another
    errno.
    */
static larder_status follow_to_end(larder_store *store, const store_meta *meta, bool is_newest) {
    follower *follow = &store->pending.follower;
    if (follow->has_ended) {
        int64_t ignored;
        follow->is_cut = larder_identity_look(&store->identity, &ignored).is_other_boot;
        if (follow->is_cut) return LARDER_OK;
        follow->has_ended = false;
        follow->first = 0;
    }
    larder_status status = LARDER_OK;
    if (is_outdated(follow, meta->applied)) status = follow_from(store, meta, is_newest);
    return status ? status : follow_on(store, meta);
}

void larder_store_follow_begin(larder_store *store, const log_survey *there) {
    follower *follow = &store->pending.follower;
    int64_t ignored;
    lock_text text = larder_identity_look(&store->identity, &ignored);
    // A writer notes the new start of the machine once it has gone over the log.
    follow->is_cut = text.is_other_boot;
    follow->noted = larder_lock_text_synced(&text, store->pending.log.store_id);
    if (text.pid == 0 && !text.is_other_boot) follow->closed_at = follow->noted;
    follow->synced = larder_log_survey_synced(&store->pending.log, there, follow->noted);
    follow->is_fresh = true;
    // What a power cut left of a log of which nothing was synced is no log.
    follow->has_log = there->count > 0 && !(follow->is_cut && larder_log_survey_is_new(there));
}

/** Whether the tree may be of a file that a compaction has replaced: something is missing behind
    it, or it has been left behind for long. Asked so seldom because the answer costs a system call.
    */
static bool is_left(const larder_store *store, const follower *before, larder_status status) {
    enum { LONG_BITS = 16 };
    const follower *now = &store->pending.follower;
    bool is_doubtful = status == ENOENT || (!status && now->is_hurt) ||
                       now->last >> LONG_BITS != before->last >> LONG_BITS;
    return is_doubtful && larder_environment_is_replaced(store->index.environment);
}

larder_status larder_store_look(larder_store *store, bool is_long, snapshot **out) {
    environment *env = store->index.environment;
    store_meta seen;
    for (int attempt = 0;; attempt++) {
        larder_status status = store_enter(store);
        if (!status)
            status = is_long ? larder_environment_read_long(env, out)
                             : larder_environment_read(env, out);
        if (status || !store_is_read_only(store)) return status;
        follower before = store->pending.follower;
        const bool is_newest = attempt > 0 && larder_store_metas_are_same(&(*out)->meta, &seen);
        status = follow_to_end(store, &(*out)->meta, is_newest);
        if (is_left(store, &before, status)) status = LARDER_EBUSY;
        if (!status) status = larder_environment_confirm(*out, LARDER_OK);
        if (!status) return LARDER_OK;
        seen = status == ENOENT ? (*out)->meta : (store_meta){0};
        larder_environment_release(env, *out);
        *out = NULL;
        if (status != ENOENT && status != LARDER_EBUSY) return status;
        // What was followed may have gaps then, which are no losses: begins as if it had not been.
        before.first = 0;
        if (status == LARDER_EBUSY) store->pending.follower = before;
        if (attempt == LOOK_ATTEMPTS) return status == ENOENT ? LARDER_EDAMAGED : status;
    }
}

larder_status larder_store_newest(larder_store *store, const snapshot *seen, feed_place *out) {
    pending_writes *pending = &store->pending;
    const follower *follow = &pending->follower;
    segment *last;
    if (!store_is_read_only(store)) {
        *out = (feed_place){pending->log.epoch, pending->log.last_sequence};
        return LARDER_OK;
    }
    uint64_t applied = seen->meta.applied;
    *out = (feed_place){0, follow->last > applied ? follow->last : applied};
    larder_status status = larder_log_segment(&pending->log, follow->next.segment, &last);
    if (!status) out->epoch = larder_segment_epoch_now(last);
    // Nothing was written yet, or it is lost.
    return status == LARDER_EDAMAGED || status == ENOENT ? LARDER_OK : status;
}
