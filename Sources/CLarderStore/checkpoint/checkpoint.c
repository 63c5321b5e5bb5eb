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
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>

#include "checkpoint/apply.h"
#include "cleaning/clean.h"
#include "condition.h"

void flush_order_init(flush_order *order) {
    memset(order, 0, sizeof *order);
    order->count = LARDER_STORE_UNLIMITED;
    order->bytes = LARDER_STORE_UNLIMITED;
}

// Transactions ------------------------------------------------------------------------------------

larder_status apply_run(larder_store *store, apply_body body, void *context,
                        store_meta *committed) {
    for (;;) {
        apply_transaction apply;
        larder_status status = apply_begin(store, &apply);
        if (status != LARDER_OK) return status;
        status = body(&apply, context);
        if (status == LARDER_OK) {
            status = apply_commit(&apply);
        } else {
            apply_abort(&apply);
            status = environment_reason(store->environment, status);
            if (status == EAGAIN) {
                larder_status grown = environment_grow(store->environment);
                if (grown != LARDER_OK) return grown;
            }
        }
        if (status == LARDER_OK) {
            *committed = apply.meta;
            store->swept_age_ns = apply.meta.age_ns;
            if (apply.has_swept) {
                store->sweep_from = apply.swept_to;
                store->sweep_age_ns = apply.swept_age_ns;
            }
        }
        if (status != EAGAIN) return status;
    }
}

/** A checkpoint under way. */
typedef struct checkpoint {
    larder_store *store;
    flush_order *order;
    uint32_t flags;
    const memtable *frozen;
    /** Writes and moves in the order of keys, and those of the transaction under way. */
    sorted_write *writes;
    uint32_t count;
    uint32_t from;
    uint32_t to;
    bool is_first;
    bool is_last;
    cleaning cleaning;
    touch_buffer *touches;
    /** Where the order of use of everything is being made. */
    tree_key order_from;
    /** Receives what follows from the commit. */
    store_meta meta;
    uint64_t evicted;
    uint64_t expired;
    bool is_done;
} checkpoint;

/** What a committed transaction changes for everybody. */
static void publish_commit(checkpoint *run, bool is_applied) {
    larder_store *store = run->store;
    pthread_mutex_lock(&store->lock);
    committed_state *committed = &store->committed;
    committed->applied = run->meta.applied;
    committed->count = run->meta.count;
    committed->bytes = run->meta.bytes;
    committed->transaction = run->meta.transaction;
    committed->end = run->meta.end;
    store->cleared = run->meta.cleared;
    committed->segment_count = store->live.count;
    live_totals(&store->live, &committed->log_used_bytes, &committed->log_live_bytes);
    if (run->evicted + run->expired > 0) {
        memtable_forget_bases(store->active);
        if (store->frozen != NULL) memtable_forget_bases(store->frozen);
    }
    if (is_applied && store->frozen != NULL) {
        uint64_t gone = store->frozen->count + (store->frozen->cleared != 0 ? 1 : 0);
        uint64_t bytes = store->frozen->bytes;
        store->log.unapplied_bytes -= bytes;
        store->spare = store->frozen;
        store->frozen = NULL;
        atomic_fetch_sub_explicit(&store->pending_count, gone, memory_order_release);
        memtable_reset(store->spare);
        store_relieve(store);
    } else if (store->frozen != NULL) {
        memtable_forget_bases(store->frozen);
    }
    pthread_mutex_unlock(&store->lock);
    atomic_fetch_add_explicit(&store->evicted, run->evicted, memory_order_relaxed);
    atomic_fetch_add_explicit(&store->expired, run->expired, memory_order_relaxed);
}

// Applying ----------------------------------------------------------------------------------------

/** Rows in the order of use of everything in the memtable that was not replaced in it. */
static larder_status apply_frozen_order(apply_transaction *apply, const memtable *frozen) {
    larder_status status = LARDER_OK;
    if (!apply->meta.has_order) return LARDER_OK;
    for (uint32_t at = 0; at < frozen->count && status == LARDER_OK; at++)
        if (record_kind(frozen->entries[at].record) == RECORD_PUT)
            status = apply_order_put(apply, frozen->entries[at].record);
    return status;
}

/** Every segment that the log went through is measured: the last one as it was when the memtable
    was frozen. */
static larder_status apply_segments(apply_transaction *apply, const memtable *frozen) {
    uint32_t number = apply->meta.end.segment;
    if (number == 0) number = frozen->first_segment;
    for (;;) {
        segment *passed;
        larder_status status = log_segment(&apply->store->log, number, &passed);
        if (status != LARDER_OK) return status;
        if (number == frozen->end.segment)
            return apply_measure(apply, passed, frozen->end.offset - SEGMENT_HEAD_BYTES,
                                 frozen->end_record_count, frozen->end_bare_count,
                                 frozen->last_sequence);
        status = apply_measure(apply, passed, atomic_load(&passed->end) - SEGMENT_HEAD_BYTES,
                               passed->record_count, passed->bare_count, passed->last_sequence);
        if (status != LARDER_OK) return status;
        number = passed->next;
    }
}

/** Where the last segment was sealed and nothing came behind it, the log goes on in the next one:
    so that it can be cleaned, too. */
static larder_status pass_sealed(apply_transaction *apply) {
    location *end = &apply->meta.end;
    segment *last;
    if (end->segment == 0) return LARDER_OK;
    larder_status status = log_segment(&apply->store->log, end->segment, &last);
    if (status != LARDER_OK || last->next == 0 ||
        end->offset + SEGMENT_NEXT_BYTES != atomic_load(&last->end))
        return status;
    status = apply_measure(apply, last, atomic_load(&last->end) - SEGMENT_HEAD_BYTES,
                           last->record_count, last->bare_count, last->last_sequence);
    *end = (location){last->next, SEGMENT_HEAD_BYTES};
    return status;
}

/** What the last transaction has besides: the order of use, reads, and how far the log came. */
static larder_status apply_last(apply_transaction *apply, checkpoint *run) {
    const memtable *frozen = run->frozen;
    larder_status status = LARDER_OK;
    if (frozen != NULL) {
        status = apply_segments(apply, frozen);
        if (status == LARDER_OK) status = apply_frozen_order(apply, frozen);
#ifdef LARDER_PLANT_STORE_FORGETS_APPLIED
        if (apply->meta.applied == 0)
#endif
            if (frozen->last_sequence > apply->meta.applied) {
                apply->meta.applied = frozen->last_sequence;
                apply->meta.end = frozen->end;
            }
    }
    if (status == LARDER_OK && (run->order->flags & (FLUSH_COMPACTS | FLUSH_PASSES)) != 0)
        status = pass_sealed(apply);
    if ((run->order->flags & FLUSH_SETS_FORMAT) != 0)
        apply->meta.content_format = run->order->content_format;
    if (status == LARDER_OK)
        status = row_list_apply(&apply->rows, apply->store->environment, apply->txn, apply->main);
    if (status == LARDER_OK) status = apply_touches(apply, run->touches);
    if (status == LARDER_OK) status = cleaning_retire(&run->cleaning, apply);
    return status;
}

static larder_status apply_part(apply_transaction *apply, void *context) {
    checkpoint *run = context;
    larder_status status = LARDER_OK;
    const memtable *frozen = run->frozen;
    if (run->is_first && frozen != NULL && frozen->cleared > apply->meta.applied)
        status = apply_clear(apply, frozen->cleared);
    for (uint32_t at = run->from; at < run->to && status == LARDER_OK; at++) {
        const sorted_write *next = &run->writes[at];
        status = next->is_move ? cleaning_move(&run->cleaning, apply, next->record, next->segment)
                               : apply_write(apply, next->record, next->segment);
    }
    if (status == LARDER_OK && run->is_last) status = apply_last(apply, run);
#ifndef LARDER_PLANT_STORE_COMMITS_EARLY
    if (status == LARDER_OK) status = cleaning_sync(&run->cleaning);
#endif
    if (status == LARDER_OK) status = cleaning_measure(&run->cleaning, apply);
    // Rows of every part may lead to new segments.
    pthread_mutex_lock(&apply->store->lock);
    if (apply->store->log.next_number > apply->meta.next_segment)
        apply->meta.next_segment = apply->store->log.next_number;
    pthread_mutex_unlock(&apply->store->lock);
    return status;
}

/** Applies the frozen memtable and the moves. */
static larder_status apply_all(checkpoint *run) {
    larder_store *store = run->store;
    run->is_first = true;
    do {
        uint64_t most = store->tuning.transaction_max_count;
        run->to = run->count - run->from > most ? run->from + (uint32_t)most : run->count;
        run->is_last = run->to == run->count;
        store->is_partly_applied = true;
        larder_status status = apply_run(store, apply_part, run, &run->meta);
        if (status != LARDER_OK) return status;
        if (run->is_last) store->is_partly_applied = false;
        publish_commit(run, run->is_last);
        run->is_first = false;
        run->from = run->to;
    } while (!run->is_last);
    return LARDER_OK;
}

/** Writes and moves, sorted. */
static larder_status prepare(checkpoint *run) {
    const memtable *frozen = run->frozen;
    larder_status status = cleaning_begin(run->store, run->flags, &run->cleaning);
    if (status != LARDER_OK) return status;
    uint32_t count = frozen == NULL ? 0 : frozen->count;
    run->writes = malloc(((size_t)count + 1) * sizeof *run->writes);
    if (run->writes == NULL) return ENOMEM;
    for (uint32_t at = 0; at < count; at++)
        run->writes[at] =
            (sorted_write){0, frozen->entries[at].record, frozen->entries[at].segment, false};
    run->count = count;
    status = cleaning_gather(&run->cleaning, &run->writes, &run->count);
    return status == LARDER_OK ? sorted_writes_sort(run->writes, run->count) : status;
}

static void drain_one(void *context, touch_buffer *touches) {
    larder_store *store = context;
    pthread_mutex_lock(&store->lock);
    touch_buffer_move(touches, &store->folding);
    pthread_mutex_unlock(&store->lock);
}

/** Applies what is frozen, with everything else that waits.
    @param flags FLUSH_…; FLUSH_COPIES_NOTHING leaves cleaning to segments that need no copy. */
static larder_status checkpoint_once(larder_store *store, flush_order *order, uint32_t flags) {
    environment_drain_touches(store->environment, drain_one, store);
    checkpoint run = {.store = store, .order = order, .flags = flags, .touches = &store->folding};
    pthread_mutex_lock(&store->lock);
    run.frozen = store->frozen;
    pthread_mutex_unlock(&store->lock);
    larder_status status = prepare(&run);
    bool has_work = run.frozen != NULL || run.cleaning.victim_count > 0 ||
                    store->folding.count > 0 ||
                    (order->flags & (FLUSH_SETS_FORMAT | FLUSH_COMPACTS | FLUSH_PASSES)) != 0;
    if (status == LARDER_OK && has_work) status = apply_all(&run);
    cleaning_end(&run.cleaning, status == LARDER_OK && has_work ? run.meta.transaction : 0);
    free(run.writes);
    if (status != LARDER_OK) return status;
    pthread_mutex_lock(&store->lock);
    uint64_t dropped = store->folding.dropped;
    touch_buffer_free(&store->folding);
    pthread_mutex_unlock(&store->lock);
    atomic_fetch_add_explicit(&store->touches_dropped, dropped, memory_order_relaxed);
    return LARDER_OK;
}

/** On a full disk cleaning has no room to copy, but what is to be removed has to come into the
    tree. */
static larder_status run_checkpoint(larder_store *store, flush_order *order) {
    larder_status status = checkpoint_once(store, order, order->flags);
    if (status != ENOSPC && status != EDQUOT) return status;
    return checkpoint_once(store, order, order->flags | FLUSH_COPIES_NOTHING);
}

// Limits ------------------------------------------------------------------------------------------

static larder_status clear_order(apply_transaction *apply) {
    larder_status status = environment_guard_all(apply->store->environment);
    while (status == LARDER_OK) {
        uint8_t space = SPACE_ORDER;
        MDB_val key = {1, &space};
        MDB_val value;
        int code = mdb_cursor_get(apply->entries, &key, &value, MDB_SET_RANGE);
        if (code == MDB_NOTFOUND) return LARDER_OK;
        if (code != 0) return apply_status(code);
        if (key.mv_size == 0 || *(const uint8_t *)key.mv_data != SPACE_ORDER) return LARDER_OK;
        status = apply_status(mdb_cursor_del(apply->entries, 0));
    }
    return status;
}

static larder_status make_order(apply_transaction *apply, void *context) {
    checkpoint *run = context;
    larder_status status = LARDER_OK;
    tree_key from = run->order_from;
    // Of an attempt that a crash ended.
    if (from.length == 0) status = clear_order(apply);
    if (status == LARDER_OK)
        status =
            apply_order_all(apply, &from, apply->store->tuning.remove_max_count * 4, &run->is_done);
    apply->meta.has_order = run->is_done;
    if (status == LARDER_OK) run->order_from = from;
    return status;
}

/** When a limit comes that asks for it, or something is evicted without one, every entry gets its
    row in the order of use. */
static larder_status ensure_order(larder_store *store, flush_order *order, bool evicts) {
    if (store->has_order || !(evicts || atomic_load(&store->tracks_access))) return LARDER_OK;
    checkpoint run = {.store = store, .order = order};
    while (!run.is_done) {
        larder_status status = apply_run(store, make_order, &run, &run.meta);
        if (status != LARDER_OK) return status;
        publish_commit(&run, false);
    }
    store->has_order = true;
    return LARDER_OK;
}

static larder_status apply_limits(apply_transaction *apply, void *context) {
    checkpoint *run = context;
    larder_store *store = apply->store;
    pthread_mutex_lock(&store->lock);
    larder_store_limits limits = store->limits;
    pthread_mutex_unlock(&store->lock);
    uint64_t count = limits.count < run->order->count ? limits.count : run->order->count;
    uint64_t bytes = limits.bytes < run->order->bytes ? limits.bytes : run->order->bytes;
    uint64_t most = store->tuning.remove_max_count;
    bool is_expiry_done = true;
    bool is_eviction_done = true;
    larder_status status = LARDER_OK;
    if ((run->order->flags & FLUSH_TRIMS) != 0) {
        bool is_sweep_done = true;
        if (limits.age_ns != apply->meta.age_ns || limits.end_ns <= apply->now_ns)
            status = apply_sweep(apply, &limits, most, &is_sweep_done);
        if (status == LARDER_OK) status = apply_expiry(apply, most, &is_expiry_done);
        is_expiry_done = is_expiry_done && is_sweep_done;
    }
    if (status == LARDER_OK) status = apply_eviction(apply, count, bytes, most, &is_eviction_done);
    run->evicted = apply->evicted;
    run->expired = apply->expired;
    run->is_done = is_expiry_done && is_eviction_done;
    return status;
}

/** Whether the first of the rows to expire is due. */
static bool is_row_due(larder_store *store) {
    snapshot *place;
    if (environment_read(store->environment, &place) != LARDER_OK) return true;
    uint8_t space = SPACE_EXPIRY;
    larder_bytes from = {&space, 1};
    larder_bytes key;
    larder_bytes value;
    tree_cursor cursor;
    larder_status status = tree_cursor_seek(&cursor, &place->tree, from);
    if (status == LARDER_OK) status = tree_cursor_get(&cursor, &key, &value);
    const uint8_t *bytes = key.data;
    bool is_due = status == LARDER_OK && key.length >= 9 && bytes[0] == SPACE_EXPIRY &&
                  unflip(get_be64(bytes + 1)) <= store_now(store);
    environment_release(store->environment, place);
    return is_due;
}

/** Whether there is anything for a transaction to do that only looks after limits: without, a store
    that nobody writes to is left alone. */
static bool needs_limits(larder_store *store, const flush_order *order) {
    pthread_mutex_lock(&store->lock);
    const committed_state *now = &store->committed;
    bool trims = (order->flags & FLUSH_TRIMS) != 0 && now->count > 0;
    bool needs = now->count > store->limits.count || now->bytes > store->limits.bytes ||
                 now->count > order->count || now->bytes > order->bytes;
    if (trims &&
        (store->limits.age_ns != store->swept_age_ns || store->limits.end_ns <= store_now(store)))
        needs = true;
    pthread_mutex_unlock(&store->lock);
    return needs || (trims && is_row_due(store));
}

static larder_status enforce_limits(larder_store *store, flush_order *order) {
    if (!needs_limits(store, order)) return LARDER_OK;
    bool evicts = order->count != LARDER_STORE_UNLIMITED || order->bytes != LARDER_STORE_UNLIMITED;
    larder_status status = ensure_order(store, order, evicts);
    checkpoint run = {.store = store, .order = order};
    while (status == LARDER_OK && !run.is_done) {
        run.evicted = run.expired = 0;
        status = apply_run(store, apply_limits, &run, &run.meta);
        if (status != LARDER_OK) break;
        publish_commit(&run, false);
        order->evicted += run.evicted;
        order->expired += run.expired;
    }
    return status;
}

// Flushing ----------------------------------------------------------------------------------------

/** Puts the active table's writes into the frozen one, that of a checkpoint that failed: so what
    was removed since need not come into the tree first, for which there may be no room. `lock` is
    held. */
static larder_status merge_into_frozen(larder_store *store) {
    memtable *frozen = store->frozen;
    const memtable *active = store->active;
    larder_status status = memtable_reserve(frozen, active->count);
    if (status != LARDER_OK) return status;
    memtable_forget_bases(frozen);
    if (active->cleared != 0) memtable_clear(frozen, active->cleared);
    for (uint32_t at = 0; at < active->count; at++)
        memtable_put(frozen, active->entries[at].record, active->entries[at].segment);
    frozen->bytes += active->bytes;
    frozen->last_sequence = active->last_sequence;
    frozen->end = active->end;
    memtable_reset(store->active);
    atomic_store_explicit(&store->pending_count, frozen->count + (frozen->cleared != 0 ? 1 : 0),
                          memory_order_release);
    return LARDER_OK;
}

/** What the last segment of the frozen table has in it; `lock` is held. The log may have gone on in
    another one that nothing was written to yet. */
static larder_status count_to_the_end(larder_store *store) {
    memtable *frozen = store->frozen;
    segment *last;
    larder_status status = log_segment(&store->log, frozen->end.segment, &last);
    if (status != LARDER_OK) return status;
    uint64_t next = last->is_sealed ? 1 : 0;
    frozen->end_record_count = last->record_count - next;
    frozen->end_bare_count = last->bare_count - next;
    return LARDER_OK;
}

/** Takes over what was written so far. */
static larder_status freeze(larder_store *store) {
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&store->lock);
    if (store->active->last_sequence > store->committed.applied) {
        if (store->frozen != NULL) {
            status = merge_into_frozen(store);
        } else {
            if (store->spare == NULL) status = memtable_create(system_random(), &store->spare);
            if (status == LARDER_OK) {
                store->frozen = store->active;
                store->active = store->spare;
                store->spare = NULL;
            }
        }
        if (status == LARDER_OK) {
            store->pending_since_ns = 0;
            store->wants_flush = false;
            status = count_to_the_end(store);
        }
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

/** Whether the segment that is appended to holds little, where every block counts: it is the one
    that cleaning does not reach. */
static bool is_worth_leaving(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    const segment *active = store->log.active;
    const live_segment *held = active == NULL ? NULL : live_find(&store->live, active->number);
    bool is_empty = held != NULL && held->live_bytes < held->used_bytes / 4 &&
                    held->used_bytes > active->capacity / 2 && store->active->count == 0 &&
                    store->active->cleared == 0;
    pthread_mutex_unlock(&store->lock);
    return is_empty && environment_is_short(store->environment);
}

/** The log goes on in another, small segment. On a full disk what is reserved for the tree makes
    way for it, for a moment. */
static larder_status leave_segment(larder_store *store, flush_order *order) {
    environment_unreserve(store->environment);
    pthread_mutex_lock(&store->lock);
    larder_status status = log_turn_over(&store->log);
    pthread_mutex_unlock(&store->lock);
    environment_reserve(store->environment);
    // It stays as it is, then.
    if (status != LARDER_OK) return LARDER_OK;
    status = store_sync_log(store);
    if (status != LARDER_OK) return status;
    flush_order passing = *order;
    passing.flags |= FLUSH_PASSES;
    return run_checkpoint(store, &passing);
}

static larder_status flush_once(larder_store *store, flush_order *order) {
    larder_status status = ensure_order(store, order, false);
    if (status == LARDER_OK) status = freeze(store);
#ifndef LARDER_PLANT_STORE_COMMITS_EARLY
    // Rows lead to records on the device only.
    bool leaves = (order->flags & (FLUSH_COMPACTS | FLUSH_PASSES)) != 0;
    if (status == LARDER_OK && (store->frozen != NULL || leaves)) status = store_sync_log(store);
#endif
    if (status == LARDER_OK) status = run_checkpoint(store, order);
    if (status == LARDER_OK) status = enforce_limits(store, order);
    if (status == LARDER_OK && order->flags < FLUSH_COMPACTS && is_worth_leaving(store))
        status = leave_segment(store, order);
    // Segments that died of it: removing everything gives its room back at once.
    if (status == LARDER_OK && cleaning_has_dead(store)) status = run_checkpoint(store, order);
    return status;
}

static bool has_room(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    bool has = store->active->bytes <= store->options.journal_bytes / 2 &&
               store->active->count <= store->tuning.memtable_max_count / 2;
    pthread_mutex_unlock(&store->lock);
    return has;
}

larder_status store_flush(larder_store *store, flush_order *order) {
    pthread_mutex_lock(&store->flush_lock);
    larder_status status = store_enter(store);
    bool is_needed = (order->flags & FLUSH_FOR_ROOM) == 0 || !has_room(store);
    if (status == LARDER_OK && is_needed) {
        status = flush_once(store, order);
        atomic_fetch_add_explicit(status == LARDER_OK ? &store->flushes : &store->flush_failures, 1,
                                  memory_order_relaxed);
        atomic_store(&store->last_failure, status);
        if (status == LARDER_OK) {
            store_delete_retired(store, order);
            environment_reserve(store->environment);
        }
    }
    pthread_mutex_unlock(&store->flush_lock);
    return status;
}

larder_status larder_store_flush(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    return store_flush(store, &order);
}

larder_status larder_store_trim(larder_store *store, uint64_t count, uint64_t bytes,
                                uint64_t *removed) {
    if (removed != NULL) *removed = 0;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    order.count = count;
    order.bytes = bytes;
    status = store_flush(store, &order);
    if (removed != NULL) *removed = order.evicted;
    return status;
}

larder_status larder_store_remove_expired(larder_store *store, uint64_t *removed) {
    if (removed != NULL) *removed = 0;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    order.flags = FLUSH_TRIMS;
    status = store_flush(store, &order);
    if (removed != NULL) *removed = order.expired;
    return status;
}

larder_status larder_store_content_format_set(larder_store *store, uint64_t content_format) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    order.flags = FLUSH_SETS_FORMAT;
    order.content_format = content_format;
    status = store_flush(store, &order);
    if (status != LARDER_OK) return status;
    pthread_mutex_lock(&store->lock);
    store->content_format = content_format;
    pthread_mutex_unlock(&store->lock);
    return LARDER_OK;
}

/** How many bytes of values have to go for the file system to have the room that the limit asks
    for; UINT64_MAX for no change. What is freed inside LMDB's file does not come back to the file
    system, but is used again; so one round frees so much, and no more. */
static uint64_t bytes_for_free_space(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    uint64_t wanted = store->limits.free_bytes;
    uint64_t there = store->committed.bytes;
    pthread_mutex_unlock(&store->lock);
    if (wanted == 0) return LARDER_STORE_UNLIMITED;
    uint64_t room = 0;
    if (store->options.free_space != NULL) room = store->options.free_space(store->options.context);
    else if (file_system_room(store->path, &room) != LARDER_OK) return LARDER_STORE_UNLIMITED;
    if (room >= wanted) return LARDER_STORE_UNLIMITED;
    return there > wanted - room ? there - (wanted - room) : 0;
}

larder_status larder_store_maintain(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    environment_reap(store->environment);
    flush_order order;
    flush_order_init(&order);
    order.flags = FLUSH_TRIMS;
    order.bytes = bytes_for_free_space(store);
    return store_flush(store, &order);
}

// The thread --------------------------------------------------------------------------------------

static int64_t sooner(int64_t a, int64_t b) { return a < b ? a : b; }

/** Whether what waits is worth a checkpoint by its age alone: enough beside what the tree holds, or
    nothing came since the last look. `lock` is held. */
static bool is_worth_it(larder_store *store) {
    uint64_t least = store->committed.count / 1000 * store->tuning.checkpoint_permille;
    bool rests = store->written_when_due == store->active->last_sequence;
    store->written_when_due = store->active->last_sequence;
    return rests || store->active->count >= least;
}

/** When there is something to do next; INT64_MAX: when a call asks for it. `lock` is held. */
static int64_t next_due(const larder_store *store) {
    const larder_store_options *options = &store->options;
    if (store->wants_flush || store->wants_spare) return 0;
    int64_t due = INT64_MAX;
    if (store->pending_since_ns != 0 && options->flush_interval_ns > 0)
        due = sooner(due, store->pending_since_ns + options->flush_interval_ns);
    if (store->unsynced_since_ns != 0 && options->sync_interval_ns > 0)
        due = sooner(due, store->unsynced_since_ns + options->sync_interval_ns);
    if (options->trim_interval_ns > 0 && store->may_expire)
        due = sooner(due, store->trimmed_ns + options->trim_interval_ns);
    return due;
}

/** Does the most urgent thing. `lock` is held, not meanwhile. */
static larder_status work_once(larder_store *store, int64_t now) {
    const larder_store_options *options = &store->options;
    if (store->wants_spare) {
        store->wants_spare = false;
        pthread_mutex_unlock(&store->lock);
        log_prepare(&store->log, &store->lock);
        pthread_mutex_lock(&store->lock);
        return LARDER_OK;
    }
    bool trims = options->trim_interval_ns > 0 && store->may_expire &&
                 now >= store->trimmed_ns + options->trim_interval_ns;
    bool is_old = store->pending_since_ns != 0 && options->flush_interval_ns > 0 &&
                  now >= store->pending_since_ns + options->flush_interval_ns;
    if (is_old && !store->wants_flush && !is_worth_it(store)) {
        store->pending_since_ns = now;
        is_old = false;
    }
    bool flushes = store->wants_flush || is_old;
    bool syncs = store->unsynced_since_ns != 0 && options->sync_interval_ns > 0 &&
                 now >= store->unsynced_since_ns + options->sync_interval_ns;
    if (!trims && !flushes && !syncs) return LARDER_OK;
    if (trims) store->trimmed_ns = now;
    store->wants_flush = false;
    pthread_mutex_unlock(&store->lock);
    flush_order order;
    flush_order_init(&order);
    larder_status status = trims     ? larder_store_maintain(store)
                           : flushes ? store_flush(store, &order)
                                     : larder_store_sync(store);
    pthread_mutex_lock(&store->lock);
    return status;
}

static int64_t store_work(void *context) {
    larder_store *store = context;
    pthread_mutex_lock(&store->lock);
    int64_t now = system_monotonic_ns();
    larder_status status = store->stops ? LARDER_OK : work_once(store, now);
    // last_failure says why; the next try is an interval away, or when a write finds no room.
    if (status != LARDER_OK && store->pending_since_ns != 0)
        store->pending_since_ns = system_monotonic_ns();
    if (status != LARDER_OK && store->unsynced_since_ns != 0)
        store->unsynced_since_ns = system_monotonic_ns();
    int64_t due = store->stops ? INT64_MAX : next_due(store);
    pthread_mutex_unlock(&store->lock);
    return due;
}

void store_wake(larder_store *store) {
    if (store->has_thread) pool_wake(&store->task, next_due(store));
}

larder_status store_thread_start(larder_store *store) {
    store->trimmed_ns = system_monotonic_ns();
    larder_status status = pool_add(&store->task, store_work, store);
    if (status != LARDER_OK) return status;
    pthread_mutex_lock(&store->lock);
    store->has_thread = true;
    store_wake(store);
    pthread_mutex_unlock(&store->lock);
    return LARDER_OK;
}

void store_thread_stop(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    bool had_thread = store->has_thread;
    store->stops = true;
    pthread_cond_broadcast(&store->backpressure.relief);
    pthread_mutex_unlock(&store->lock);
    if (!had_thread) return;
    pool_remove(&store->task);
    pthread_mutex_lock(&store->lock);
    store->has_thread = false;
    pthread_mutex_unlock(&store->lock);
}
