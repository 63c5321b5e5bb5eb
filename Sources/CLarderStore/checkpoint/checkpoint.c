// SPDX-License-Identifier: MIT
/** @file checkpoint.c
    When what was written is brought into the tree, by whom, and what comes before and after.

    1. The memtable is frozen; a new one takes what is written from here on.
    2. The log is synced up to there. If we crash here, recovery reads it again.
    3. Its writes, and the records of the segments that are cleaned, are sorted by key and applied,
       in one pass over the tree and several transactions. Each leads to records on the device only.
       If we crash between two, the tree has rows newer than meta.applied, and recovery finds the
       same writes in the log: they are applied again, which changes nothing.
    4. The last transaction says how far the log was applied, and takes the cleaned segments out of
       the tree. If we crash behind it, their files are found to belong to nothing, and deleted.
    5. Limits, in transactions of their own.
    6. Segments go that nobody's state leads to. */
#include "checkpoint/checkpoint.h"

#include "cleaning/clean.h"

/** A checkpoint under way, or a pass over the tree that follows one. */
typedef struct checkpoint {
    larder_store *store;
    flush_order *order;
    /** What it applies, NULL if there is nothing. */
    const memtable *frozen;
    /** Writes and moves in the order of keys; those of the transaction under way. */
    sorted_write *writes;
    uint32_t count;
    uint32_t from, to;
    /** How many writes, or rows of a pass, the transaction under way may have; how often that was
        halved, because there was no room for its pages. */
    uint64_t most;
    uint32_t halvings;
    cleaning cleaning;
    /** How far a pass had come with the last commit, and with this one. */
    tree_key passed, passing;
    /** The transaction under way is the last one; it has all reads that were taken. */
    bool is_done, has_reads;
    apply_txn apply;
} checkpoint;

/** What a committed transaction changes for everybody. */
static void publish_commit(checkpoint *run) {
    larder_store *store = run->store;
    pending_writes *pending = &store->pending;
    const apply_txn *done = &run->apply;
    const uint64_t copied = larder_store_copied_at_once(store);
    pthread_mutex_lock(&pending->lock);
    pending->copied_at_once = copied;
    store->index.meta = done->meta;
    if (done->evicted + done->expired > 0) larder_memtable_forget_bases(pending->active);
    if (pending->frozen != NULL) larder_memtable_forget_bases(pending->frozen);
    if (run->frozen != NULL && run->is_done) {
        uint64_t bytes = pending->frozen->bytes, *grace = &store->index.clean_grace_bytes;
        *grace -= bytes < *grace ? bytes : *grace;
        pending->log.unapplied_bytes -= bytes;
        atomic_fetch_sub(&pending->count, memtable_pending(pending->frozen));
        pending->spare = pending->frozen;
        pending->frozen = NULL;
        larder_memtable_reset(pending->spare);
    }
    larder_store_set_room(store);
    if (pending->frozen == NULL) larder_pending_relieve(pending);
    pthread_mutex_unlock(&pending->lock);
    store->index.has_damaged_rows |= done->has_damaged_row;
    run->order->evicted += done->evicted;
    run->order->expired += done->expired;
    atomic_fetch_add(&store->figures.evicted, done->evicted);
    atomic_fetch_add(&store->figures.expired, done->expired);
}

static bool is_full_disk(larder_status status) { return status == ENOSPC || status == EDQUOT; }

/** How many of `usual` go into one transaction. */
static uint64_t share_of(checkpoint *run, uint64_t usual) {
    // Rows of an entry, of when it was used and when it expires, and those beside them.
    const uint64_t pages = 4;
    uint64_t most = larder_environment_spare_pages(run->store->index.environment) / pages;
    if (most > usual) most = usual;
    most >>= run->halvings < 63 ? run->halvings : 63;
    return run->most = most > 0 ? most : 1;
}

/** Runs `body` in as many transactions as it takes: in smaller ones where there is no room for the
    pages of a large one. */
static larder_status run_all(checkpoint *run, apply_body body) {
    environment *env = run->store->index.environment;
    for (run->is_done = false; !run->is_done;) {
        run->most = 0;
        if (larder_environment_room(env) < 2 * larder_store_least_room(run->store) &&
            larder_environment_keeps_pages(env))
            return ENOSPC;
        larder_status status = larder_apply_run(run->store, body, run, &run->apply);
        // The first time even a single one is tried again: without the reads.
        bool has_begun = run->most > 0, can_halve = run->most > 1 || run->halvings == 0;
        if (is_full_disk(status) && has_begun && can_halve) {
            run->halvings += 2;
            run->is_done = false;
            continue;
        }
        if (status) return status == LARDER_END ? LARDER_OK : status;
        larder_cleaning_commit(&run->cleaning);
        run->from = run->to;
        run->passed = run->passing;
        publish_commit(run);
    }
    return LARDER_OK;
}

// Applying ----------------------------------------------------------------------------------------

/** Every segment that the log went through is measured: the last one as it was when the memtable
    was frozen. */
static larder_status apply_segments(apply_txn *apply, const memtable *frozen) {
    store_log *log = &apply->store->pending.log;
    // The first one has the first number, also where no write is in it.
    uint32_t number = apply->meta.end.segment == 0 ? 1 : apply->meta.end.segment;
    segment *passed;
    larder_status found = larder_log_segment(log, number, &passed);
    bool is_lost = found == ENOENT || found == LARDER_EDAMAGED;
    if (found && !is_lost) return found;
    // Where the log went on is lost, or something else has come into its place.
    if (is_lost || (number != frozen->end.segment && passed->next == 0))
        number = frozen->first_segment;
    for (;;) {
        larder_status status = larder_log_segment(log, number, &passed);
        bool is_last = number == frozen->end.segment;
        if (!status) status = larder_apply_measure(apply, passed, is_last ? frozen : NULL);
        if (status || is_last) return status;
        number = passed->next;
    }
}

/** Where the last segment was sealed and nothing came behind it, the log goes on in the next one:
    so that it can be cleaned, too. What leads there has to be on the device: a write may have left
    the last one only now. */
static larder_status pass_sealed(apply_txn *apply) {
    pending_writes *pending = &apply->store->pending;
    location end = apply->meta.end;
    if (end.segment == 0) end = (location){1, SEGMENT_HEAD_BYTES};
    pthread_mutex_lock(&pending->lock);
    const uint32_t synced = pending->log.synced_end.segment;
    pthread_mutex_unlock(&pending->lock);
    while (end.segment < synced) {
        segment *last;
        larder_status status = larder_log_segment(&pending->log, end.segment, &last);
        // What is lost is not cleaned.
        if (status == ENOENT || status == LARDER_EDAMAGED) return LARDER_OK;
        if (status || last->next == 0 || end.offset + SEGMENT_NEXT_BYTES != atomic_load(&last->end))
            return status;
        end = (location){last->next, SEGMENT_HEAD_BYTES};
        status = larder_apply_measure(apply, last, NULL);
        if (status) return status;
        apply->meta.end = end;
    }
    return LARDER_OK;
}

/** What the last transaction has besides: the order of use, reads, and how far the log came. */
static larder_status apply_last(apply_txn *apply, checkpoint *run) {
    const memtable *frozen = run->frozen;
    larder_status status = LARDER_OK;
    if (frozen != NULL) {
        status = apply_segments(apply, frozen);
        if (!status) status = larder_apply_order(apply, frozen);
        apply->meta.applied = frozen->last_sequence;
        apply->meta.end = frozen->end;
    }
    if (!status && (run->order->flags & (FLUSH_COMPACTS | FLUSH_PASSES)) != 0)
        status = pass_sealed(apply);
    if ((run->order->flags & FLUSH_SETS_FORMATS) != 0) {
        apply->meta.content_format = run->order->content_format;
        apply->meta.key_form = run->order->key_form;
    }
    const touch_buffer *reads = &run->store->index.folding;
    // Where there is little room they come afterwards.
    if (!status && run->halvings == 0) status = larder_apply_touches(apply, reads, 0, reads->count);
    if (!status) status = larder_cleaning_retire(&run->cleaning, apply);
    return status;
}

static larder_status apply_one(apply_txn *apply, const sorted_write *next) {
    segment *from;
    larder_status status = larder_log_segment(&apply->store->pending.log, next->segment, &from);
    if (status) return status;
    location where = {next->segment, (uint64_t)(next->record - from->map)};
    return larder_apply_write(apply, next->record, where);
}

static larder_status apply_part(apply_txn *apply, void *context) {
    checkpoint *run = context;
    larder_store *store = run->store;
    larder_status status = LARDER_OK;
    uint64_t most = share_of(run, store->tuning.transaction_max_count);
    larder_cleaning_rewind(&run->cleaning);
    run->to = run->count - run->from > most ? run->from + (uint32_t)most : run->count;
    run->is_done = run->to == run->count;
    if (run->from == 0 && run->frozen != NULL && run->frozen->cleared > apply->meta.applied)
        status = larder_apply_clear(apply, run->frozen->cleared);
    for (uint32_t at = run->from; at < run->to && !status; at++) {
        const sorted_write *next = &run->writes[at];
        status = next->victim != 0 ? larder_cleaning_move(&run->cleaning, apply, next)
                                   : apply_one(apply, next);
    }
    if (!status && run->is_done) status = apply_last(apply, run);
    if (!status) status = larder_cleaning_settle(&run->cleaning, apply);
    // Rows of every part may lead to new segments.
    pthread_mutex_lock(&store->pending.lock);
    if (store->pending.log.next_number > apply->meta.next_segment)
        apply->meta.next_segment = store->pending.log.next_number;
    pthread_mutex_unlock(&store->pending.lock);
    return status;
}

/** Writes and moves, sorted. */
static larder_status prepare(checkpoint *run) {
    const memtable *frozen = run->frozen;
    larder_status status = larder_cleaning_begin(&run->cleaning, run->order);
    run->order->is_cut = run->cleaning.is_cut;
    run->order->cleaned_bytes = run->cleaning.cleaned_bytes;
    if (status) return status;
    uint32_t count = frozen == NULL ? 0 : frozen->count;
    run->writes = malloc(((size_t)count + 1) * sizeof *run->writes);
    if (run->writes == NULL) return ENOMEM;
    for (uint32_t at = 0; at < count; at++)
        run->writes[at] =
            (sorted_write){0, frozen->entries[at].record, frozen->entries[at].segment, 0};
    run->count = count;
    status = larder_cleaning_gather(&run->cleaning, &run->writes, &run->count);
    larder_cleaning_commit(&run->cleaning);
    return status ? status : larder_sorted_writes_sort(run->writes, run->count);
}

static larder_status apply_reads(apply_txn *apply, void *context) {
    checkpoint *run = context;
    const touch_buffer *reads = &run->store->index.folding;
    uint64_t most = share_of(run, run->store->tuning.transaction_max_count);
    run->to = reads->count - run->from > most ? run->from + (uint32_t)most : reads->count;
    run->is_done = run->to == reads->count;
    return larder_apply_touches(apply, reads, run->from, run->to);
}

/** Reads that the transactions of `behind` had no room for. They are no reason to fail.
    @param dropped receives how many there is no room for either. */
static larder_status apply_reads_in_steps(const checkpoint *behind, uint64_t *dropped) {
    checkpoint run = {.store = behind->store, .order = behind->order, .halvings = behind->halvings};
    larder_status status = run_all(&run, apply_reads);
    if (!is_full_disk(status)) return status;
    *dropped = behind->store->index.folding.count - run.from;
    return LARDER_OK;
}

/** Then the log has to keep to its bound however much is written. */
static bool has_bytes_limit(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    const bool is_limited = store->expiry.limits.bytes != LARDER_STORE_UNLIMITED;
    pthread_mutex_unlock(&store->pending.lock);
    return is_limited;
}

/** Takes the reads that were noted so far, to be applied. */
static void take_reads(larder_store *store) {
    store_index *index = &store->index;
    pthread_mutex_lock(&store->pending.lock);
    store->maintenance.has_reads = false;
    pthread_mutex_unlock(&store->pending.lock);
    bool is_all = larder_environment_drain_touches(index->environment, &index->folding,
                                                   &store->pending.lock, true);
    pthread_mutex_lock(&store->pending.lock);
    if (!is_all) larder_store_has_reads(store);
    larder_touch_buffer_move(&index->waiting, &index->folding);
    pthread_mutex_unlock(&store->pending.lock);
}

/** Those that were taken are in the tree, except for `dropped`. */
static void forget_reads(larder_store *store, uint64_t dropped) {
    touch_buffer *reads = &store->index.folding;
    pthread_mutex_lock(&store->pending.lock);
    atomic_fetch_add(&store->figures.touches_dropped, dropped + reads->dropped);
    larder_touch_buffer_free(reads);
    pthread_mutex_unlock(&store->pending.lock);
}

/** Applies what is frozen, with everything else that waits. */
static larder_status checkpoint_once(larder_store *store, flush_order *order) {
    store_index *index = &store->index;
    take_reads(store);
    pthread_mutex_lock(&store->pending.lock);
    index->value_max_bytes = store->expiry.limits.bytes;
    pthread_mutex_unlock(&store->pending.lock);
    checkpoint run = {.store = store,
                      .order = order,
                      .frozen = store->pending.frozen,
                      .cleaning = {.index = index,
                                   .pending = &store->pending,
                                   .tuning = &store->tuning,
                                   .is_limited = has_bytes_limit(store),
                                   .figures = &store->figures}};
    larder_status status = prepare(&run);
    bool has_work = run.frozen != NULL || run.cleaning.victim_count > 0 ||
                    index->folding.count > 0 ||
                    (order->flags & (FLUSH_SETS_FORMATS | FLUSH_COMPACTS | FLUSH_PASSES)) != 0;
    if (!status && has_work) {
        // Rows that cleaning moves are no newer than before.
        if (run.frozen != NULL) index->is_partly_applied = true;
        status = run_all(&run, apply_part);
        if (!status) index->is_partly_applied = false;
    }
    larder_cleaning_end(&run.cleaning, !status && has_work ? run.apply.meta.transaction : 0);
    free(run.writes);
    uint64_t dropped = 0;
    if (!status && run.halvings > 0 && index->folding.count > 0)
        status = apply_reads_in_steps(&run, &dropped);
    if (!status) forget_reads(store, dropped);
    return status;
}

/** On a full disk cleaning has no room to copy, but what is to be removed has to come into the
    tree. */
static larder_status run_checkpoint(larder_store *store, flush_order *order) {
    larder_status status = checkpoint_once(store, order);
    if (!is_full_disk(status)) return status;
    const uint32_t flags = order->flags;
    order->flags |= FLUSH_COPIES_NOTHING;
    status = checkpoint_once(store, order);
    order->flags = flags;
    order->is_cut = true;
    return status;
}

/** What is reserved for the tree, and what was made in advance, for those who make room of it. */
static void give_reserves(larder_store *store) {
    larder_environment_unreserve(store->index.environment);
    pthread_mutex_lock(&store->pending.lock);
    larder_log_drop_spare(&store->pending.log);
    pthread_mutex_unlock(&store->pending.lock);
}

/** Before a checkpoint fails for the want of room, that goes, and what cursors keep. */
static void give_all(larder_store *store) {
    give_reserves(store);
    flush_order order = {.room_bytes = larder_store_room_to_keep(store)};
    larder_segments_delete_retired(store, &order);
}

/** What cleaning may have to copy before anything comes free. */
static uint64_t room_for_copies(const larder_store *store) {
    const uint64_t beside_value = 128, most = 4 * store->tuning.segment_max_bytes;
    uint64_t copied = (store->index.meta.bytes + store->index.meta.count * beside_value) / 32;
    if (copied < 2 * store->pending.copied_at_once) copied = 2 * store->pending.copied_at_once;
    return copied < most ? copied : most;
}

uint64_t larder_store_least_room(larder_store *store) {
    return CHECKPOINT_ROOM_BYTES + room_for_copies(store) / 2;
}

uint64_t larder_store_room_to_keep(larder_store *store) {
    const uint64_t row_bytes = 200;
    const store_meta *meta = &store->index.meta;
    uint64_t pending = atomic_load_explicit(&store->pending.count, memory_order_relaxed);
    uint64_t whole = (meta->count + pending) * row_bytes;
    uint64_t rewritten = 3 * whole, rewritten_most = ((uint64_t)3 << 19) + whole / 32;
    if (rewritten > rewritten_most) rewritten = rewritten_most;
    uint64_t free = larder_environment_free_bytes(store->index.environment);
    return CHECKPOINT_ROOM_BYTES + (rewritten > free ? rewritten - free : 0) +
           room_for_copies(store);
}

/** Where there was no room to clean all that is worth it: what one checkpoint frees is the room of
    the next, as long as that is worth what it reads. */
static larder_status clean_in_steps(larder_store *store, flush_order *order) {
    enum { WORTH_PART = 64 };
    bool has_given = false;
    uint64_t used, live, before = UINT64_MAX, read_before = order->cleaned_bytes;
    while (order->is_cut) {
        larder_segments_delete_retired(store, order);
        // Somebody looks at an older state, or wants no more of it.
        if (larder_segments_are_looked_at(&store->index, order) || order->deletion)
            return LARDER_OK;
        larder_live_totals(&store->index.live, &used, &live);
        const uint64_t dead = used - live, read = order->cleaned_bytes - read_before;
        bool is_stuck = dead + read / WORTH_PART >= before;
        if (is_stuck && has_given) return LARDER_OK;
        if (is_stuck) give_reserves(store);
        has_given = has_given || is_stuck;
        before = dead;
        read_before = order->cleaned_bytes;
        larder_status status = run_checkpoint(store, order);
        if (status) return is_full_disk(status) ? LARDER_OK : status;
    }
    return LARDER_OK;
}

// Limits ------------------------------------------------------------------------------------------

/** Where a pass over a name space goes on; from its beginning where none was begun. */
static tree_key *pass_on(checkpoint *run, uint8_t space) {
    run->passing = run->passed;
    if (run->passing.length == 0) run->passing = (tree_key){{space}, 1};
    return &run->passing;
}

static larder_status make_order(apply_txn *apply, void *context) {
    checkpoint *run = context;
    larder_status status = LARDER_OK;
    tree_key first = {{SPACE_ORDER}, 1};
    uint64_t most = share_of(run, apply->store->tuning.remove_max_count * 4);
    // Of an attempt that a crash ended.
    if (run->passed.length == 0)
        status =
            larder_apply_pass(apply, larder_pass_order_clear, UINT64_MAX, &first, &run->is_done);
    if (!status)
        status = larder_apply_pass(apply, larder_pass_order_make, most, pass_on(run, SPACE_ENTRY),
                                   &run->is_done);
    apply->meta.has_order = run->is_done;
    return status;
}

/** When a limit comes that asks for it, or something is evicted without one, every entry gets its
    row in the order of use. */
static larder_status ensure_order(larder_store *store, flush_order *order, bool evicts) {
    if (store->index.meta.has_order || !(evicts || atomic_load(&store->expiry.tracks_access)))
        return LARDER_OK;
    checkpoint run = {.store = store, .order = order};
    larder_status status = run_all(&run, make_order);
    // What was written comes into the tree all the same.
    return is_full_disk(status) && !evicts ? LARDER_OK : status;
}

/** What was read since the checkpoint began is neither the least recently used nor idle. Where
    there is little room, reads come with the next one.
    @param applied how many reads this transaction has already */
static larder_status apply_news(apply_txn *apply, const checkpoint *run, uint32_t *applied) {
    if (run->halvings > 0) return LARDER_OK;
    take_reads(run->store);
    const touch_buffer *reads = &run->store->index.folding;
    larder_status status = larder_apply_touches(apply, reads, *applied, reads->count);
    *applied = reads->count;
    return status;
}

/** Spares what is read meanwhile, and looks again for others; where nothing else is left, that goes
    all the same. */
static larder_status evict(apply_txn *apply, const checkpoint *run, uint64_t most,
                           uint32_t *applied, bool *is_done) {
    const uint64_t step = 512;
    larder_leaving_begin(&run->store->index.leaving, mdb_txn_id(apply->txn));
    larder_status status = LARDER_OK;
    *is_done = false;
    apply->spares = run->halvings == 0;
    for (uint64_t left = most; !status && !*is_done && left > 0;) {
        const uint64_t count = left < step ? left : step, evicted = apply->evicted;
        tree_key use = {{SPACE_ORDER}, 1};
        apply->spared = 0;
        status = larder_apply_pass(apply, larder_pass_eviction, count, &use, is_done);
        left -= count;
        if (status || apply->spared == 0) continue;
        *is_done = larder_apply_is_within_limits(apply);
        apply->spares = apply->evicted > evicted;
        status = apply_news(apply, run, applied);
    }
    return status;
}

static larder_status apply_limits(apply_txn *apply, void *context) {
    checkpoint *run = context;
    const larder_store_limits *limits = apply->limits = &run->order->limits;
    uint64_t most = share_of(run, run->store->tuning.remove_max_count);
    bool is_swept = true, is_expired = true, is_evicted = false;
    tree_key expiry = {{SPACE_EXPIRY}, 1};
    uint32_t applied = 0;
    larder_status status = apply_news(apply, run, &applied);
    if (!status && (run->order->flags & FLUSH_TRIMS) != 0) {
        if (limits->age_ns != apply->meta.age_ns || limits->end_ns <= apply->now_ns ||
            apply->now_ns >= EXPIRY_ROWS_END_NS)
            status = larder_apply_pass(apply, larder_pass_sweep, most, pass_on(run, SPACE_ENTRY),
                                       &is_swept);
        if (is_swept) {
            run->passing.length = 0;
            apply->meta.age_ns = limits->age_ns;
        }
        if (!status)
            status = larder_apply_pass(apply, larder_pass_expiry, most, &expiry, &is_expired);
    }
    // None is evicted as long as there are some that expired.
    if (!status && is_swept && is_expired) status = evict(apply, run, most, &applied, &is_evicted);
    run->is_done = !status && is_swept && is_expired && is_evicted;
    run->has_reads = run->halvings == 0 && apply->passed > 0;
    // A store that nobody writes to is left alone.
    return !status && apply->passed == 0 ? LARDER_END : status;
}

static larder_status enforce_limits(larder_store *store, flush_order *order) {
    checkpoint run = {.store = store, .order = order};
    const larder_store_limits asked = order->limits;
    larder_store_limits *limits = &order->limits;
    pthread_mutex_lock(&store->pending.lock);
    const store_meta *now = &store->index.meta;
    bool evicts = (order->flags & FLUSH_EVICTS) != 0;
    *limits = store->expiry.limits;
    if (evicts && asked.count < limits->count) limits->count = asked.count;
    if (evicts && asked.bytes < limits->bytes) limits->bytes = asked.bytes;
    bool may_expire = store->expiry.may_expire || expiry_is_behind_rows(&store->expiry);
    bool trims = (order->flags & FLUSH_TRIMS) != 0 && may_expire && now->count > 0;
    bool has_work = trims || now->count > limits->count || now->bytes > limits->bytes;
    pthread_mutex_unlock(&store->pending.lock);
    // Only now: an order that nothing asked for would have reads count that nobody tracks.
    larder_status status = has_work ? ensure_order(store, order, evicts) : LARDER_OK;
    if (!status && has_work) status = run_all(&run, apply_limits);
    if (status) larder_leaving_end(&store->index.leaving);
    if (!status && run.has_reads) forget_reads(store, 0);
    pthread_mutex_lock(&store->pending.lock);
    if (store->index.folding.count > 0) larder_store_has_reads(store);
    pthread_mutex_unlock(&store->pending.lock);
    return status;
}

// Flushing ----------------------------------------------------------------------------------------

/** What the last segment of the frozen table has in it; the pending lock is held. The log may have
    gone on in another one that nothing was written to yet. */
static larder_status count_to_the_end(larder_store *store) {
    memtable *frozen = store->pending.frozen;
    segment *last;
    larder_status status = larder_log_segment(&store->pending.log, frozen->end.segment, &last);
    if (status) return status;
    uint64_t next = last->is_sealed ? 1 : 0;
    frozen->end_record_count = last->record_count - next;
    frozen->end_bare_count = last->bare_count - next;
    return LARDER_OK;
}

/** Takes over what was written so far. Behind a checkpoint that failed it joins what that one had:
    so what was removed since need not come into the tree first, for which there may be no room. */
static larder_status freeze(larder_store *store) {
    pending_writes *pending = &store->pending;
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&pending->lock);
    bool is_new = pending->active->last_sequence > store->index.meta.applied;
    if (is_new && pending->frozen != NULL) {
        status = larder_memtable_merge(pending->frozen, pending->active);
        if (!status) atomic_store(&pending->count, memtable_pending(pending->frozen));
    } else if (is_new) {
        if (pending->spare == NULL) status = larder_memtable_create(&pending->spare);
        if (!status) {
            pending->frozen = pending->active;
            pending->active = pending->spare;
            pending->spare = NULL;
        }
    }
    if (is_new && !status) {
        store->maintenance.pending_since_ns = 0;
        store->maintenance.wants_flush = false;
        larder_store_set_room(store);
        larder_pending_restart(pending);
    }
    // What waited were reads.
    if (!is_new && pending->frozen == NULL) store->maintenance.pending_since_ns = 0;
    if (!status && pending->frozen != NULL) status = count_to_the_end(store);
    pthread_mutex_unlock(&pending->lock);
    return status;
}

/** Whether the segment that is appended to holds little, where every block counts: it is the one
    that cleaning does not reach. */
static bool is_worth_leaving(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    const segment *active = store->pending.log.active;
    const live_segment *held =
        active == NULL ? NULL : larder_live_find(&store->index.live, active->number);
    bool is_empty = held != NULL && held->live_bytes < held->used_bytes / 4 &&
                    held->record_count > held->live_count + held->bare_count &&
                    held->used_bytes > active->capacity / 2 && store->pending.active->count == 0 &&
                    store->pending.active->cleared == 0;
    pthread_mutex_unlock(&store->pending.lock);
    return is_empty && larder_environment_is_short(store->index.environment);
}

static larder_status turn_over(larder_store *store) {
    larder_environment_unreserve(store->index.environment);
    pthread_mutex_lock(&store->pending.lock);
    larder_status status = larder_log_turn_over(&store->pending.log);
    pthread_mutex_unlock(&store->pending.lock);
    larder_environment_reserve(store->index.environment);
    return status;
}

larder_status larder_store_turn_over(larder_store *store) {
    larder_status status = turn_over(store);
    return is_full_disk(status) ? LARDER_OK : status;
}

static larder_status leave_segment(larder_store *store, flush_order *order) {
    // It stays as it is, then.
    if (turn_over(store) != LARDER_OK) return LARDER_OK;
    order->flags |= FLUSH_PASSES;
    larder_status status = larder_store_sync_through(store, UINT64_MAX);
    if (!status) status = run_checkpoint(store, order);
    order->flags &= ~(uint32_t)FLUSH_PASSES;
    return status;
}

/** Whether recovery has left behind the segment where the tree ends, and nothing was written since:
    then those before it need not wait for a write to be cleaned. */
static bool is_behind_seal(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    const segment *active = store->pending.log.active;
    bool is_behind = active != NULL && active->number != store->index.meta.end.segment &&
                     active->number != 1 && atomic_load(&active->end) == SEGMENT_HEAD_BYTES;
    pthread_mutex_unlock(&store->pending.lock);
    return is_behind;
}

static larder_status flush_once(larder_store *store, flush_order *order) {
    if (is_behind_seal(store)) order->flags |= FLUSH_PASSES;
    bool leaves = (order->flags & (FLUSH_COMPACTS | FLUSH_PASSES)) != 0;
    larder_status status = ensure_order(store, order, false);
    if (!status) status = freeze(store);
    // Rows lead to records on the device only.
    if (!status && (store->pending.frozen != NULL || leaves))
        status = larder_store_sync_through(store, UINT64_MAX);
    const bool has_applied = store->pending.frozen != NULL;
    for (int attempt = 0; !status && attempt < 2; attempt++) {
        if (attempt > 0) give_all(store);
        status = run_checkpoint(store, order);
        if (!status) status = enforce_limits(store, order);
        if (!is_full_disk(status) || attempt > 0) break;
        status = LARDER_OK;
    }
    if (!status && !leaves && is_worth_leaving(store)) status = leave_segment(store, order);
    // Segments that died of it: removing everything gives its room back at once. And what else died
    // of it, as far as a limit asks for that.
    bool cleans_again = has_applied && has_bytes_limit(store);
    if (!status && (cleans_again || larder_cleaning_has_dead(&store->index)))
        status = run_checkpoint(store, order);
    // What died of it need not wait for the next one where every block counts.
    if (has_applied && larder_environment_is_short(store->index.environment)) {
        uint64_t kept = larder_store_room_to_keep(store);
        if (order->room_bytes < kept) order->room_bytes = kept;
        order->is_cut = true;
    }
    return status ? status : clean_in_steps(store, order);
}

larder_status larder_store_checkpoint(larder_store *store, flush_order *order) {
    larder_status status = store_enter_to_write(store);
    if (status) return status;
    larder_feed_watch(store);
    pthread_mutex_lock(&store->index.lock);
    status = store_enter(store);
    pthread_mutex_lock(&store->pending.lock);
    bool runs = (order->flags & FLUSH_FOR_ROOM) == 0 || pending_is_nearly_full(&store->pending, 0);
    pthread_mutex_unlock(&store->pending.lock);
    if (!status && runs) status = larder_log_enter(&store->pending.log);
    if (!status && runs) {
        larder_store_ask_for_reads(store);
        const int64_t began_ns = larder_os_monotonic_ns();
        status = flush_once(store, order);
        if (larder_environment_is_damaged(store->index.environment) ||
            store->index.has_damaged_rows)
            larder_identity_note_damage(&store->identity, store->options.mode);
        store->index.has_damaged_rows = false;
        const int64_t took_ns = larder_os_monotonic_ns() - began_ns;
        atomic_fetch_add(&store->figures.flush_ns, (uint64_t)took_ns);
        atomic_fetch_add(status ? &store->figures.flush_failures : &store->figures.flushes, 1);
        atomic_store(&store->figures.last_failure, status);
        if (!status) larder_segments_delete_retired(store, order);
        larder_environment_reserve(store->index.environment);
        larder_log_leave(&store->pending.log);
        if (atomic_load(&store->pending.count) == 0)
            larder_environment_rest(store->index.environment);
    }
    pthread_mutex_unlock(&store->index.lock);
    return status;
}

larder_status larder_store_flush(larder_store *store) {
    return larder_store_checkpoint(store, &(flush_order){0});
}

larder_status larder_store_trim(larder_store *store, uint64_t count, uint64_t bytes,
                                uint64_t *removed) {
    flush_order order = {.flags = FLUSH_EVICTS, .limits = {.count = count, .bytes = bytes}};
    larder_status status = larder_store_checkpoint(store, &order);
    if (removed != NULL) *removed = order.evicted;
    return status;
}

larder_status larder_store_remove_expired(larder_store *store, uint64_t *removed) {
    flush_order order = {.flags = FLUSH_TRIMS};
    larder_status status = larder_store_checkpoint(store, &order);
    if (removed != NULL) *removed = order.expired;
    return status;
}

larder_status larder_store_formats_set(larder_store *store, uint64_t content_format,
                                       uint32_t key_form) {
    if (key_form > UINT16_MAX) return LARDER_EINVALID;
    flush_order order = {.flags = FLUSH_SETS_FORMATS,
                         .content_format = content_format,
                         .key_form = (uint16_t)key_form};
    return larder_store_checkpoint(store, &order);
}

/** How many bytes of values have to go for the file system to have the room that the limit asks
    for; UINT64_MAX for no change. What is freed inside LMDB's file does not come back to the file
    system, but is used again; so one round frees so much, and no more. */
static uint64_t bytes_for_free_space(larder_store *store) {
    pthread_mutex_lock(&store->pending.lock);
    uint64_t wanted = store->expiry.limits.free_bytes;
    uint64_t there = store->index.meta.bytes;
    pthread_mutex_unlock(&store->pending.lock);
    if (wanted == 0) return LARDER_STORE_UNLIMITED;
    uint64_t room = 0;
    if (store->options.free_space != NULL) room = store->options.free_space(store->options.context);
    else if (larder_os_file_system_room(store->identity.path, &room) != LARDER_OK)
        return LARDER_STORE_UNLIMITED;
    if (room >= wanted) return LARDER_STORE_UNLIMITED;
    return there > wanted - room ? there - (wanted - room) : 0;
}

larder_status larder_store_maintain(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    if (status) return status;
    larder_environment_clear_stale_readers(store->index.environment);
    uint64_t bytes = bytes_for_free_space(store);
    flush_order order = {.flags = FLUSH_TRIMS,
                         .limits = {.count = LARDER_STORE_UNLIMITED, .bytes = bytes}};
    if (bytes != LARDER_STORE_UNLIMITED) order.flags |= FLUSH_EVICTS;
    return larder_store_checkpoint(store, &order);
}
