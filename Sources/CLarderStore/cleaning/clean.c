// SPDX-License-Identifier: MIT
#include "cleaning/clean.h"

#include "format/array.h"

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
        if (work->victims[at].number == number) return true;
    return false;
}

/** Up to which sequence removals in a segment may go. Of the victims those are deleted before it,
    and their names are off the device by then, that come before it in the order of deletion. */
static uint64_t forgettable(const cleaning *work, const live_segment *facts) {
    const larder_store *store = work->store;
    uint64_t own = hides_from(facts->first_sequence, facts->as_of);
    uint64_t least = UINT64_MAX;
    for (size_t at = 0; at < store->live.count; at++) {
        const live_segment *other = &store->live.items[at];
        if (other->number == facts->number || !has_dead(other)) continue;
        uint64_t from = hides_from(other->first_sequence, other->as_of);
        bool goes_first = from < own || (from == own && other->number < facts->number);
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

static void add_victim(cleaning *work, const live_segment *facts) {
    if (is_victim(work, facts->number)) return;
    work->victims[work->victim_count++].number = facts->number;
    work->left_bytes += facts->live_bytes + facts->bare_count * SEGMENT_NEXT_BYTES;
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
    *out = (cleaning){.store = store, .as_of = store->committed.applied};
    size_t count = 0;
    live_segment *candidates = malloc((store->live.count + 1) * sizeof *candidates);
    out->victims = calloc(store->live.count + 1, sizeof *out->victims);
    if (candidates != NULL && out->victims != NULL) {
        for (size_t at = 0; at < store->live.count; at++)
            if (may_be_cleaned(store, &store->live.items[at]))
                candidates[count++] = store->live.items[at];
        qsort(candidates, count, sizeof *candidates, compare_ratios);
        choose(out, flags, candidates, count);
    }
    bool has_memory = candidates != NULL && out->victims != NULL;
    free(candidates);
    return has_memory ? LARDER_OK : ENOMEM;
}

// Gathering ---------------------------------------------------------------------------------------

/** LARDER_EDAMAGED: not all of it can be read. */
static larder_status gather_victim(cleaning *work, uint32_t index, uint64_t end,
                                   sorted_write **writes, uint32_t *count, size_t *capacity) {
    uint32_t number = work->victims[index].number;
    segment *from;
    larder_status status = log_segment(&work->store->log, number, &from);
    work->victims[index].from = status == LARDER_OK ? from : NULL;
    for (uint64_t at = SEGMENT_HEAD_BYTES; !status && at < end;) {
        const uint8_t *found = from->map + at;
        record whole;
        if (segment_read(from, &at, true, &whole) != LARDER_OK) return LARDER_EDAMAGED;
        if (whole.kind == RECORD_NEXT) continue;
        status = array_reserve(writes, *count, capacity, sizeof **writes);
        if (!status && *count == UINT32_MAX) status = ENOMEM;
        if (!status) (*writes)[(*count)++] = (sorted_write){0, found, number, index + 1};
    }
    return status == ENOENT ? LARDER_EDAMAGED : status;
}

larder_status cleaning_gather(cleaning *work, sorted_write **writes, uint32_t *count) {
    const uint32_t before = *count;
    size_t capacity = before;
    for (uint32_t at = 0; at < work->victim_count;) {
        victim *next = &work->victims[at];
        live_segment *facts = live_find(&work->store->live, next->number);
        bool is_dead = facts->live_count == 0;
        next->forgettable = forgettable(work, facts);
        larder_status status = LARDER_OK;
        // Unless all that it could have to remember may be forgotten.
        if (!is_dead || facts->last_sequence > next->forgettable)
            status = gather_victim(work, at, SEGMENT_HEAD_BYTES + facts->used_bytes, writes, count,
                                   &capacity);
        // Where nothing leads, what it had to remember cannot be read by anybody.
        if (status == LARDER_OK || (is_dead && status == LARDER_EDAMAGED)) {
            at++;
            continue;
        }
        if (status != LARDER_EDAMAGED) return status;
        // A segment with damage stays as it is, for salvage to make the most of; and once more from
        // the start, for now the others may have to remember more.
        facts->is_damaged = true;
        *next = work->victims[--work->victim_count];
        *count = before;
        at = 0;
    }
    return LARDER_OK;
}

// Copying -----------------------------------------------------------------------------------------

static larder_status target_make(cleaning *work, size_t length) {
    larder_store *store = work->store;
    larder_status status =
        array_reserve(&work->made, work->made_count, &work->made_capacity, sizeof *work->made);
    if (status) return status;
    uint64_t room = work->left_bytes < store->tuning.segment_max_bytes
                        ? work->left_bytes
                        : store->tuning.segment_max_bytes;
    if (room < store->tuning.segment_min_bytes) room = store->tuning.segment_min_bytes;
    if (room < length) room = length;
    room += SEGMENT_HEAD_BYTES + SEGMENT_NEXT_BYTES;
    // The least sequence is not known yet; none is smaller than 1.
    status = log_create_cleaned(&store->log, &store->lock, room, 1, work->as_of, &work->target);
    if (!status) work->made[work->made_count++] = work->target->number;
    return status;
}

/** Copies a record into a cleaned segment; of what is no live put, a removal with its sequence.
    @param to receives where it lies. */
static larder_status copy_record(cleaning *work, apply_transaction *apply, const uint8_t *at,
                                 bool is_live, location *to) {
    larder_bytes key = record_key(at);
    size_t length = is_live ? record_length(at) : RECORD_HEAD_BYTES + key.length;
    size_t padded = record_padded(length);
    larder_status status = LARDER_OK;
    segment *target = work->target;
    if (target != NULL &&
        atomic_load(&target->end) + padded + SEGMENT_NEXT_BYTES > target->capacity) {
        status = cleaning_settle(work, apply);
        if (status) return status;
        work->target = NULL;
    }
    if (work->target == NULL) status = target_make(work, padded);
    if (status) return status;
    target = work->target;
    *to = (location){target->number, atomic_load(&target->end)};
    uint8_t *copy = target->map + to->offset;
    uint64_t first_word;
    if (is_live) {
        memcpy(copy + 8, at + 8, length - 8);
        memcpy(&first_word, at, sizeof first_word);
    } else {
        uint8_t kind = record_kind(at) == RECORD_CLEAR ? RECORD_CLEAR : RECORD_REMOVE;
        record_write_bare(copy, kind, key);
        first_word = record_seal(copy, length, record_sequence(at), record_minor(at), false);
    }
    segment_publish(target, padded, first_word);
    target->record_count++;
    if (!is_live) target->bare_count++;
    uint64_t sequence = record_sequence(at);
    if (sequence > target->last_sequence) target->last_sequence = sequence;
    work->left_bytes -= padded < work->left_bytes ? padded : work->left_bytes;
    atomic_fetch_add_explicit(&work->store->cleaned_bytes, padded, memory_order_relaxed);
    return LARDER_OK;
}

/** Copies the record that the cursor's row leads to, and moves the row. */
static larder_status move_entry(cleaning *work, apply_transaction *apply, const sorted_write *found,
                                MDB_val *key, larder_bytes row) {
    uint8_t moved[ROW_BYTES + INLINE_RECORD_MAX_BYTES];
    if (row.length > sizeof moved) return LARDER_EDAMAGED;
    location to;
    larder_status status = copy_record(work, apply, found->record, true, &to);
    if (status) return status;
    memcpy(moved, row.data, row.length);
    row_move(moved, to);
    MDB_val fresh = {row.length, moved};
    size_t padded = record_padded(record_length(found->record));
    status = apply_status(mdb_cursor_put(apply->entries, key, &fresh, MDB_CURRENT));
    if (!status) status = apply_live(apply, found->segment, padded, true);
    return status ? status : apply_live(apply, to.segment, padded, false);
}

larder_status cleaning_move(cleaning *work, apply_transaction *apply, const sorted_write *found) {
    const victim *of = &work->victims[found->victim - 1];
    const uint8_t *at = found->record;
    tree_key scratch, key;
    larder_bytes stored = stored_key(record_key(at), apply->meta.secret, &scratch);
    tree_key_of_stored(SPACE_ENTRY, stored, &key);
    MDB_val name = {key.length, key.bytes};
    MDB_val value;
    larder_status status =
        record_kind(at) == RECORD_CLEAR ? LARDER_END : apply_seek(apply, MDB_SET, &name, &value);
    location ignored;
    if (status == LARDER_END)
        return record_sequence(at) <= of->forgettable
                   ? LARDER_OK
                   : copy_record(work, apply, at, false, &ignored);
    // Of a row that cannot be read there is no telling: the victim stays as it is.
    entry_row row;
    larder_bytes bytes = {value.mv_data, value.mv_size};
    if (!status) status = row_read(bytes, &row);
    if (status) return status;
    // Else what the tree has is newer, and hides what is older by itself.
    if (row.at.segment != found->segment || row.at.offset != (uint64_t)(at - of->from->map))
        return LARDER_OK;
    return move_entry(work, apply, found, &name, bytes);
}

larder_status cleaning_settle(cleaning *work, apply_transaction *apply) {
    if (work->target == NULL) return LARDER_OK;
#if !defined(LARDER_PLANT_STORE_COMMITS_EARLY) && !defined(LARDER_PLANT_STORE_SKIPS_CLEANED_SYNC)
    larder_status status = segment_sync(work->target, work->store->log.folder);
    if (status) return status;
#endif
    return apply_measure(apply, work->target, NULL);
}

// The end -----------------------------------------------------------------------------------------

larder_status cleaning_retire(cleaning *work, apply_transaction *apply) {
    for (size_t at = 0; at < work->victim_count; at++) {
        tree_key key;
        tree_key_segment(work->victims[at].number, &key);
        larder_status status = apply_row(apply, &key, NULL);
        if (status) return status;
        live_drop(&apply->live, work->victims[at].number);
    }
    return LARDER_OK;
}

larder_status store_retire(larder_store *store, uint32_t number, uint64_t transaction) {
    segment *found;
    larder_status status = log_segment(&store->log, number, &found);
    if (status == ENOMEM) return status;
    retired_segment gone = {.number = number, .transaction = transaction};
    if (!status) gone.first_sequence = found->first_sequence;
    if (!status) gone.as_of = found->as_of;
    status =
        array_reserve(&store->retired, store->retired_count, &store->retired_capacity, sizeof gone);
    if (!status) store->retired[store->retired_count++] = gone;
    return status;
}

void cleaning_end(cleaning *work, uint64_t transaction) {
    larder_store *store = work->store;
    for (size_t at = 0; transaction != 0 && at < work->victim_count; at++) {
        // Without memory its file stays until the store is opened again.
        larder_status status = store_retire(store, work->victims[at].number, transaction);
        (void)status;
    }
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
