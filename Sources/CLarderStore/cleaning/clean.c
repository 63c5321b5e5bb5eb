// SPDX-License-Identifier: MIT
#include "cleaning/clean.h"

#include <errno.h>
#include <stdlib.h>

// Choosing ----------------------------------------------------------------------------------------

/** Everything in it is in the tree, and nothing is appended to it any more. */
static bool may_be_cleaned(const larder_store *store, const live_segment *candidate) {
    return !store->is_partly_applied && !candidate->is_damaged &&
           candidate->number != store->committed.end.segment;
}

bool cleaning_has_dead(const larder_store *store) {
    for (size_t at = 0; at < store->live.count; at++)
        if (store->live.items[at].live_count == 0 && may_be_cleaned(store, &store->live.items[at]))
            return true;
    return false;
}

static bool has_dead(const live_segment *facts) {
    return facts->record_count > facts->bare_count + facts->live_count;
}

/** Puts of an older state may lie in it up to this sequence. */
static uint64_t hides_from(uint64_t first_sequence, uint64_t as_of) {
    return first_sequence > as_of ? first_sequence : as_of;
}

static int compare_ratios(const void *a, const void *b) {
    const live_segment *left = a, *right = b;
    // live / used, without a division.
    __uint128_t one = (__uint128_t)left->live_bytes * right->used_bytes;
    __uint128_t other = (__uint128_t)right->live_bytes * left->used_bytes;
    if (one != other) return one < other ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static bool is_victim(const cleaning *work, uint32_t number) {
    for (size_t at = 0; at < work->victim_count; at++)
        if (work->victims[at] == number) return true;
    return false;
}

/** Up to which sequence removals of `victim` may go. Of the other victims those are deleted before
    it, and their names are off the device by then, that come before it in the order of deletion. */
static uint64_t forgettable(const cleaning *work, const live_segment *victim) {
    const larder_store *store = work->store;
    uint64_t own = hides_from(victim->first_sequence, victim->as_of);
    uint64_t least = UINT64_MAX;
    for (size_t at = 0; at < store->live.count; at++) {
        const live_segment *other = &store->live.items[at];
        if (other->number == victim->number || !has_dead(other)) continue;
        uint64_t from = hides_from(other->first_sequence, other->as_of);
        bool goes_first = from < own || (from == own && other->number < victim->number);
        if (goes_first && is_victim(work, other->number)) continue;
        if (from < least) least = from;
    }
    for (size_t at = 0; at < store->retired_count; at++) {
        uint64_t from = hides_from(store->retired[at].first_sequence, store->retired[at].as_of);
        if (from < least) least = from;
    }
    // What the last removal of everything hides needs no other: that one stays as long as it has
    // to.
    if (store->cleared > 0 && least < store->cleared - 1) least = store->cleared - 1;
#ifdef LARDER_PLANT_STORE_FORGETS_REMOVALS
    least = UINT64_MAX;
#endif
    return least;
}

/** Whether nearly everything dead in it are removals that have to be remembered. */
static bool is_all_memory(const live_segment *facts) {
    uint64_t dead = facts->record_count - facts->live_count;
    return facts->bare_count > 1 && facts->bare_count * 2 > dead;
}

/** The segment that keeps removals from being forgotten: the oldest one with anything dead in
    it. */
static const live_segment *oldest_with_dead(const larder_store *store) {
    const live_segment *oldest = NULL;
    for (size_t at = 0; at < store->live.count; at++) {
        const live_segment *other = &store->live.items[at];
        if (!has_dead(other) || !may_be_cleaned(store, other)) continue;
        if (oldest == NULL || hides_from(other->first_sequence, other->as_of) <
                                  hides_from(oldest->first_sequence, oldest->as_of))
            oldest = other;
    }
    return oldest;
}

static void add_victim(cleaning *work, const live_segment *victim) {
    if (is_victim(work, victim->number)) return;
    work->victims[work->victim_count++] = victim->number;
    work->left_bytes += victim->live_bytes + victim->bare_count * SEGMENT_NEXT_BYTES;
}

/** Chooses among `candidates`, the emptiest first. */
static void choose(cleaning *work, uint32_t flags, const live_segment *candidates, size_t count) {
    larder_store *store = work->store;
    uint64_t used, live;
    live_totals(&store->live, &used, &live);
    pthread_mutex_lock(&store->lock);
    uint64_t slack = log_next_capacity(&store->log);
    pthread_mutex_unlock(&store->lock);
    uint64_t bound = live / 100 * store->tuning.space_percent + slack;
    uint64_t cleaned = 0;
    for (size_t at = 0; at < count; at++) {
        const live_segment *candidate = &candidates[at];
        bool is_dead = candidate->live_count == 0 && candidate->bare_count <= 1;
        bool is_due = used > bound && cleaned < store->tuning.clean_max_bytes;
        bool has_use =
            (flags & FLUSH_COMPACTS) != 0 && candidate->record_count - candidate->live_count > 1;
        if (!is_dead && !is_due && !has_use) continue;
        if ((flags & FLUSH_COPIES_NOTHING) != 0 &&
            (candidate->live_count > 0 || candidate->last_sequence > forgettable(work, candidate)))
            continue;
        if (is_due && !is_dead && is_all_memory(candidate)) {
            // To copy it would free nothing.
            const live_segment *cause = oldest_with_dead(store);
            if (cause == NULL || cause->number == candidate->number) continue;
            if (hides_from(cause->first_sequence, cause->as_of) < candidate->first_sequence &&
                !is_victim(work, cause->number)) {
                add_victim(work, cause);
                cleaned += cause->used_bytes;
                used -= cause->used_bytes - cause->live_bytes;
            }
        }
        if (is_victim(work, candidate->number)) continue;
        add_victim(work, candidate);
        cleaned += candidate->live_bytes == 0 ? 0 : candidate->used_bytes;
        used -= candidate->used_bytes - candidate->live_bytes;
    }
}

larder_status cleaning_begin(larder_store *store, uint32_t flags, cleaning *out) {
    memset(out, 0, sizeof *out);
    out->store = store;
    out->as_of = store->committed.applied;
    size_t count = 0;
    live_segment *candidates = malloc((store->live.count + 1) * sizeof *candidates);
    out->victims = malloc((store->live.count + 1) * sizeof *out->victims);
    if (candidates == NULL || out->victims == NULL) {
        free(candidates);
        free(out->victims);
        out->victims = NULL;
        return ENOMEM;
    }
    for (size_t at = 0; at < store->live.count; at++)
        if (may_be_cleaned(store, &store->live.items[at]))
            candidates[count++] = store->live.items[at];
    qsort(candidates, count, sizeof *candidates, compare_ratios);
    choose(out, flags, candidates, count);
    free(candidates);
    return LARDER_OK;
}

// Gathering ---------------------------------------------------------------------------------------

static larder_status gather_victim(cleaning *work, uint32_t number, sorted_write **writes,
                                   uint32_t *count, uint32_t *capacity) {
    const live_segment *facts = live_find(&work->store->live, number);
    if (facts == NULL) return LARDER_EDAMAGED;
    // All that it could have to remember may be forgotten.
    if (facts->live_count == 0 && facts->last_sequence <= forgettable(work, facts))
        return LARDER_OK;
    segment *victim;
    larder_status status = log_segment(&work->store->log, number, &victim);
    uint64_t end = SEGMENT_HEAD_BYTES + facts->used_bytes;
    for (uint64_t at = SEGMENT_HEAD_BYTES; status == LARDER_OK && at < end;) {
        const uint8_t *found = victim->map + at;
        record whole;
        status = segment_read(victim, &at, true, &whole);
        // Nothing leads there, and what it had to remember cannot be read by anybody.
        if (status != LARDER_OK && facts->live_count == 0) return LARDER_OK;
        if (status != LARDER_OK) return LARDER_EDAMAGED;
        if (whole.kind == RECORD_NEXT) continue;
        if (*count == *capacity) {
            uint64_t larger = *capacity < 1024 ? 1024 : (uint64_t)*capacity * 2;
            if (larger > UINT32_MAX || larger > SIZE_MAX / sizeof **writes) return ENOMEM;
            sorted_write *grown = realloc(*writes, (size_t)larger * sizeof *grown);
            if (grown == NULL) return ENOMEM;
            *writes = grown;
            *capacity = (uint32_t)larger;
        }
        (*writes)[(*count)++] = (sorted_write){0, found, number, true};
    }
    bool is_lost = status == LARDER_EDAMAGED || status == ENOENT;
    return is_lost && facts->live_count == 0 ? LARDER_OK : status;
}

larder_status cleaning_gather(cleaning *work, sorted_write **writes, uint32_t *count) {
    uint32_t capacity = *count;
    for (size_t at = 0; at < work->victim_count;) {
        uint32_t before = *count;
        larder_status status = gather_victim(work, work->victims[at], writes, count, &capacity);
        if (status == LARDER_OK) {
            at++;
            continue;
        }
        // A segment with damage stays as it is, for salvage to make the most of.
        if (status != LARDER_EDAMAGED && status != ENOENT) return status;
        live_segment *damaged = live_find(&work->store->live, work->victims[at]);
        if (damaged != NULL) damaged->is_damaged = true;
        *count = before;
        work->victims[at] = work->victims[--work->victim_count];
    }
    return LARDER_OK;
}

// Copying -----------------------------------------------------------------------------------------

static larder_status target_make(cleaning *work, size_t length) {
    larder_store *store = work->store;
    if (work->made_count == work->made_capacity) {
        size_t capacity = work->made_capacity == 0 ? 8 : 2 * work->made_capacity;
        uint32_t *made = realloc(work->made, capacity * sizeof *made);
        if (made == NULL) return ENOMEM;
        work->made = made;
        work->made_capacity = capacity;
    }
    uint64_t room = work->left_bytes < store->tuning.segment_max_bytes
                        ? work->left_bytes
                        : store->tuning.segment_max_bytes;
    if (room < store->tuning.segment_min_bytes) room = store->tuning.segment_min_bytes;
    if (room < length) room = length;
    room += SEGMENT_HEAD_BYTES + SEGMENT_NEXT_BYTES;
    // The least sequence is not known yet; none is smaller than 1.
    larder_status status =
        log_create_cleaned(&store->log, &store->lock, room, 1, work->as_of, &work->target);
    if (status != LARDER_OK) return status;
    work->made[work->made_count++] = work->target->number;
    work->synced_end = SEGMENT_HEAD_BYTES;
    return LARDER_OK;
}

/** Room for a record of `length` bytes in a cleaned segment; where it goes. */
static larder_status target_reserve(cleaning *work, apply_transaction *apply, size_t length,
                                    uint8_t **out) {
    size_t padded = record_padded(length);
    segment *target = work->target;
    if (target != NULL &&
        atomic_load(&target->end) + padded + SEGMENT_NEXT_BYTES > target->capacity) {
        larder_status status = cleaning_sync(work);
        if (status == LARDER_OK) status = cleaning_measure(work, apply);
        if (status != LARDER_OK) return status;
        segment_close_file(target);
        work->target = target = NULL;
    }
    if (target == NULL) {
        larder_status status = target_make(work, padded);
        if (status != LARDER_OK) return status;
        target = work->target;
    }
    *out = target->map + atomic_load(&target->end);
    work->left_bytes -= padded < work->left_bytes ? padded : work->left_bytes;
    atomic_fetch_add_explicit(&work->store->cleaned_bytes, padded, memory_order_relaxed);
    return LARDER_OK;
}

static void count_record(segment *target, const uint8_t *at) {
    target->record_count++;
    if (record_kind(at) != RECORD_PUT) target->bare_count++;
    uint64_t sequence = record_sequence(at);
    if (sequence > target->last_sequence) target->last_sequence = sequence;
}

/** Copies a record as it is. */
static larder_status copy_record(cleaning *work, apply_transaction *apply, const uint8_t *at,
                                 location *to) {
    size_t length = record_length(at);
    uint8_t *target;
    larder_status status = target_reserve(work, apply, length, &target);
    if (status != LARDER_OK) return status;
    to->segment = work->target->number;
    to->offset = atomic_load(&work->target->end);
    memcpy(target + 8, at + 8, length - 8);
    uint64_t first_word;
    memcpy(&first_word, at, sizeof first_word);
    segment_publish(work->target, record_padded(length), first_word);
    count_record(work->target, at);
    return LARDER_OK;
}

/** A removal with the sequence of a put that is gone. */
static larder_status leave_removal(cleaning *work, apply_transaction *apply, const uint8_t *at) {
    larder_bytes key = record_key(at);
    uint8_t *target;
    larder_status status = target_reserve(work, apply, RECORD_HEAD_BYTES + key.length, &target);
    if (status != LARDER_OK) return status;
    size_t length = record_write_bare(target, RECORD_REMOVE, key);
    uint64_t first_word = record_seal(target, length, record_sequence(at), record_minor(at), false);
    segment_publish(work->target, record_padded(length), first_word);
    count_record(work->target, target);
    return LARDER_OK;
}

larder_status cleaning_move(cleaning *work, apply_transaction *apply, const uint8_t *at,
                            uint32_t number) {
    uint64_t sequence = record_sequence(at);
    location ignored;
    if (work->forgettable_of != number) {
        const live_segment *facts = live_find(&work->store->live, number);
        if (facts == NULL) return LARDER_EDAMAGED;
        work->forgettable = forgettable(work, facts);
        work->forgettable_of = number;
    }
    if (record_kind(at) == RECORD_CLEAR)
        return sequence <= work->forgettable ? LARDER_OK : copy_record(work, apply, at, &ignored);
    tree_key scratch, key;
    larder_bytes stored = stored_key(record_key(at), apply->meta.secret, &scratch);
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    larder_status status = apply_guard(apply, &key);
    if (status != LARDER_OK) return status;
    MDB_val name = {key.length, key.bytes};
    MDB_val value;
    int code = mdb_cursor_get(apply->entries, &name, &value, MDB_SET);
    if (code != 0 && code != MDB_NOTFOUND) return apply_status(code);
    entry_row row = {0};
    bool has_row = code == 0;
    larder_bytes bytes = {value.mv_data, value.mv_size};
    // Of a row that cannot be read there is no telling: the victim stays as it is.
    if (has_row && row_read(bytes, &row) != LARDER_OK) return LARDER_EDAMAGED;
    segment *victim;
    status = log_segment(&work->store->log, number, &victim);
    if (status != LARDER_OK) return status;
    uint64_t offset = (uint64_t)(at - victim->map);
    if (has_row && row.at.segment == number && row.at.offset == offset) {
        uint8_t moved[ROW_BYTES + INLINE_RECORD_MAX_BYTES];
        if (value.mv_size > sizeof moved) return LARDER_EDAMAGED;
        location to;
        status = copy_record(work, apply, at, &to);
        if (status != LARDER_OK) return status;
        memcpy(moved, value.mv_data, value.mv_size);
        row_move(moved, to);
        MDB_val fresh = {value.mv_size, moved};
        name = (MDB_val){key.length, key.bytes};
        code = mdb_cursor_put(apply->entries, &name, &fresh, MDB_CURRENT);
        if (code != 0) return apply_status(code);
        size_t padded = record_padded(record_length(at));
        status = apply_live(apply, number, padded, true);
        return status == LARDER_OK ? apply_live(apply, to.segment, padded, false) : status;
    }
    // What the tree has is newer, and hides what is older by itself.
    if (has_row || sequence <= work->forgettable) return LARDER_OK;
    if (record_kind(at) == RECORD_REMOVE) return copy_record(work, apply, at, &ignored);
    return leave_removal(work, apply, at);
}

larder_status cleaning_measure(cleaning *work, apply_transaction *apply) {
    const segment *target = work->target;
    if (target == NULL) return LARDER_OK;
    return apply_measure(apply, target, atomic_load(&target->end) - SEGMENT_HEAD_BYTES,
                         target->record_count, target->bare_count, target->last_sequence);
}

larder_status cleaning_sync(cleaning *work) {
    segment *target = work->target;
    if (target == NULL) return LARDER_OK;
    uint64_t end = atomic_load(&target->end);
    if (end == work->synced_end && target->is_named) return LARDER_OK;
#ifndef LARDER_PLANT_STORE_SKIPS_CLEANED_SYNC
    larder_status status = segment_sync(target, work->store->log.folder);
    if (status != LARDER_OK) return status;
#endif
    work->synced_end = end;
    return LARDER_OK;
}

// The end -----------------------------------------------------------------------------------------

larder_status cleaning_retire(cleaning *work, apply_transaction *apply) {
    for (size_t at = 0; at < work->victim_count; at++) {
        tree_key key;
        tree_key_segment(work->victims[at], &key);
        larder_status status = apply_delete_row(apply, &key);
        if (status != LARDER_OK) return status;
        live_drop(&apply->live, work->victims[at]);
    }
    return LARDER_OK;
}

static larder_status retire(larder_store *store, uint32_t number, uint64_t transaction,
                            uint64_t first_sequence, uint64_t as_of) {
    if (store->retired_count == store->retired_capacity) {
        size_t capacity = store->retired_capacity == 0 ? 16 : 2 * store->retired_capacity;
        retired_segment *grown = realloc(store->retired, capacity * sizeof *grown);
        if (grown == NULL) return ENOMEM;
        store->retired = grown;
        store->retired_capacity = capacity;
    }
    store->retired[store->retired_count++] =
        (retired_segment){number, transaction, first_sequence, as_of};
    return LARDER_OK;
}

larder_status store_retire(larder_store *store, uint32_t number, uint64_t transaction) {
    segment *found;
    larder_status status = log_segment(&store->log, number, &found);
    if (status == ENOMEM) return status;
    uint64_t first_sequence = status == LARDER_OK ? found->first_sequence : 0;
    return retire(store, number, transaction, first_sequence,
                  status == LARDER_OK ? found->as_of : 0);
}

void cleaning_end(cleaning *work, uint64_t transaction) {
    larder_store *store = work->store;
    for (size_t at = 0; transaction != 0 && at < work->victim_count; at++) {
        // Without memory its file stays until the store is opened again.
        larder_status status = store_retire(store, work->victims[at], transaction);
        (void)status;
    }
    if (work->target != NULL) segment_close_file(work->target);
    for (size_t at = 0; at < work->made_count; at++) {
        if (live_find(&store->live, work->made[at]) != NULL) continue;
        // Nothing leads there.
        larder_status status = log_remove(&store->log, work->made[at]);
        (void)status;
    }
    free(work->made);
    free(work->victims);
    memset(work, 0, sizeof *work);
}

static int compare_retired(const void *a, const void *b) {
    const retired_segment *left = a, *right = b;
    uint64_t one = hides_from(left->first_sequence, left->as_of);
    uint64_t other = hides_from(right->first_sequence, right->as_of);
    if (one != other) return one < other ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

void store_delete_retired(larder_store *store, flush_order *order) {
    size_t total = store->retired_count;
    if (order->progress != NULL && order->progress(order->context, 0, total) != 0)
        order->deletion = ECANCELED;
    if (total == 0) return;
    uint64_t oldest = environment_oldest_reader(store->environment);
    qsort(store->retired, total, sizeof *store->retired, compare_retired);
    size_t done = 0;
    // One after the other, each off the device before the next: a removal in one of them may hide
    // what lies in those before it.
    while (done < total && order->deletion == LARDER_OK) {
        const retired_segment *gone = &store->retired[done];
#ifndef LARDER_PLANT_STORE_DELETES_EARLY
        // Somebody still looks at a state that leads there.
        if (oldest < gone->transaction) break;
#endif
        if (log_remove(&store->log, gone->number) != LARDER_OK ||
            folder_sync(store->log.folder) != LARDER_OK)
            break;
        done++;
        if (order->progress != NULL && order->progress(order->context, done, total) != 0)
            order->deletion = ECANCELED;
    }
    store->retired_count -= done;
    memmove(store->retired, store->retired + done, store->retired_count * sizeof *store->retired);
}
