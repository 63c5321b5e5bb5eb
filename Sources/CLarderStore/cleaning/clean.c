// SPDX-License-Identifier: MIT
#include "cleaning/clean.h"

enum {
    /** With a limit: what waits for a checkpoint, and what is being copied, come on top of it. */
    LIMITED_SPACE_PERCENT = 112,
    /** So small a part of what is live may be copied at a time then. */
    LIMITED_COPIES_PART = 64,
    /** What the file of a segment of copies has besides, up to the end of its last block. */
    TARGET_MORE_BYTES = SEGMENT_HEAD_BYTES + SEGMENT_NEXT_BYTES + 4096
};

// Choosing ----------------------------------------------------------------------------------------

/** Everything in it is in the tree, and nothing is appended to it any more. */
static bool may_be_cleaned(const store_index *index, const live_segment *candidate) {
    return !index->is_partly_applied && !candidate->is_damaged &&
           candidate->number != index->meta.end.segment;
}

bool larder_cleaning_has_dead(const store_index *index) {
    for (size_t at = 0; at < index->live.count; at++)
        if (index->live.items[at].live_count == 0 && may_be_cleaned(index, &index->live.items[at]))
            return true;
    return false;
}

static bool has_dead(const live_segment *facts) {
    return facts->record_count > facts->bare_count + facts->live_count;
}

/** Puts of an older state may lie in it up to this sequence. */
static uint64_t hides_from(const live_segment *of) {
    return of->first_sequence > of->as_of ? of->first_sequence : of->as_of;
}

/** The order of deletion: a removal in one of them may hide what lies in those before it. */
static bool goes_before(const live_segment *one, const live_segment *other) {
    uint64_t from = hides_from(one), than = hides_from(other);
    return from != than ? from < than : one->number < other->number;
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

/** Whether a named cursor of a feed needs what was written there: its file stays. */
static bool is_fed(const cleaning *work, const live_segment *facts) {
    return facts->as_of == 0 && facts->last_sequence > work->fed_after;
}

/** Up to which sequence removals in a segment may go. Of the victims those are deleted before it,
    and their names are off the device by then, that come before it in the order of deletion. */
static uint64_t forgettable(const cleaning *work, const live_segment *facts) {
    const store_index *index = work->index;
    uint64_t least = UINT64_MAX;
    for (size_t at = 0; at < index->live.count; at++) {
        const live_segment *other = &index->live.items[at];
        if (other->number == facts->number || !has_dead(other) ||
            (goes_before(other, facts) && is_victim(work, other->number) && !is_fed(work, other)))
            continue;
        if (hides_from(other) < least) least = hides_from(other);
    }
    for (size_t at = 0; at < index->retired.count; at++)
        if (hides_from(&index->retired.items[at]) < least)
            least = hides_from(&index->retired.items[at]);
    // What the last removal of everything hides needs no other: that one stays as long as it has
    // to.
    if (index->meta.cleared > 0 && least < index->meta.cleared - 1) least = index->meta.cleared - 1;
    return least;
}

static uint64_t dead_bytes(const live_segment *facts) {
    return facts->used_bytes > facts->live_bytes ? facts->used_bytes - facts->live_bytes : 0;
}

/** Reads once what removals there are in a segment: it does not change any more. */
static const live_segment *count_removals(const cleaning *work, uint32_t number) {
    live_segment *facts = larder_live_find(&work->index->live, number);
    segment *from;
    if (facts->removal_bytes > 0 || larder_log_segment(&work->pending->log, number, &from))
        return facts;
    const uint64_t end = SEGMENT_HEAD_BYTES + facts->used_bytes;
    uint64_t count = 0, sum = 0;
    record found;
    for (uint64_t at = SEGMENT_HEAD_BYTES, next = at; at < end; at = next) {
        // Damage is for whoever cleans it.
        if (larder_segment_read(from, &next, false, &found) != LARDER_OK) break;
        if (found.kind != RECORD_REMOVE && found.kind != RECORD_CLEAR) continue;
        facts->removal_bytes += next - at;
        sum += found.sequence - facts->first_sequence;
        count++;
    }
    if (count > 0) facts->removal_middle = facts->first_sequence + sum / count;
    return facts;
}

/** Whether most of what is dead in it are removals, by their bytes. */
static bool is_all_memory(const cleaning *work, const live_segment *facts) {
    uint64_t dead = facts->record_count - facts->live_count;
    return facts->bare_count > 1 && facts->bare_count * 2 > dead &&
           count_removals(work, facts->number)->removal_bytes * 2 > dead_bytes(facts);
}

/** The segment that keeps removals from being forgotten: the oldest one with anything dead in it
    that is no victim yet. */
static const live_segment *oldest_with_dead(const cleaning *work) {
    const store_index *index = work->index;
    const live_segment *oldest = NULL;
    for (size_t at = 0; at < index->live.count; at++) {
        const live_segment *other = &index->live.items[at];
        if (has_dead(other) && may_be_cleaned(index, other) && !is_victim(work, other->number) &&
            (oldest == NULL || goes_before(other, oldest)))
            oldest = other;
    }
    return oldest;
}

/** What its copies will take: of what is dead removals at most, unless they may be forgotten. */
static uint64_t needed_bytes(const cleaning *work, const live_segment *facts) {
    if (facts->last_sequence <= forgettable(work, facts)) return facts->live_bytes;
    uint64_t removals = (facts->record_count - facts->live_count) * 2 * SEGMENT_NEXT_BYTES;
    return facts->live_bytes + (removals < dead_bytes(facts) ? removals : dead_bytes(facts));
}

/** @param used_bytes of all segments, and will be fewer by what is dead in it.
    @return false if there is no room for its copies. */
static bool add_victim(cleaning *work, const live_segment *facts, uint64_t *used_bytes) {
    if (is_victim(work, facts->number)) return true;
    const uint64_t copied = needed_bytes(work, facts);
    uint64_t needed = copied;
    // Several segments of copies are not filled to their ends.
    if (copied > 0) needed += work->has_copies ? copied / 4 : TARGET_MORE_BYTES;
    if (needed > (work->has_copies ? work->room_bytes : work->first_bytes) ||
        (work->has_copies && needed > work->copies_bytes)) {
        work->is_cut = true;
        return false;
    }
    // What the first one needs fits into one.
    if (work->is_short && !work->has_copies && copied > work->target_most_bytes)
        work->target_most_bytes = copied;
    work->has_copies |= copied > 0;
    work->room_bytes -= needed < work->room_bytes ? needed : work->room_bytes;
    work->copies_bytes -= needed < work->copies_bytes ? needed : work->copies_bytes;
    work->cleaned_bytes += facts->live_bytes == 0 ? 0 : facts->used_bytes;
    *used_bytes -= dead_bytes(facts);
    work->victims[work->victim_count++].number = facts->number;
    return true;
}

/** What segments may take beyond `bound` for now. What was too much already when the store was
    opened is cleaned as more is written, not by the first checkpoint, which may have to read most
    of the tree for it. */
static uint64_t grace(const cleaning *work, uint64_t used, uint64_t bound) {
    uint64_t *left = &work->index->clean_grace_bytes;
    if (used <= bound || *left == 0 || work->is_short || work->is_limited) return *left = 0;
    uint64_t most = used - bound + work->segment_max_bytes;
    if (*left > most) *left = most;
    return *left < bound / 4 ? *left : bound / 4;
}

/** What segments may take for each 100 live bytes. */
static uint64_t percent_of(const cleaning *work) {
    const uint64_t usual = work->tuning->space_percent;
    return work->is_limited && usual > LIMITED_SPACE_PERCENT ? LIMITED_SPACE_PERCENT : usual;
}

/** What segments may take, all of them together. */
static uint64_t bound_of(cleaning *work, uint64_t used, uint64_t live) {
    uint64_t bound = live / 100 * percent_of(work) + work->next_capacity;
    bound += grace(work, used, bound);
    // What a write has no room for comes from what is dead, if that suffices; and a little more, so
    // that the next one need not ask again.
    if (work->wanted_bytes == 0 || used < live + work->wanted_bytes) return bound;
    uint64_t wanted = used - work->wanted_bytes - live / 64;
    return wanted < bound && wanted < used ? wanted : bound;
}

/** After how many bytes of victims the checkpoint cleans no more. */
static uint64_t clean_most(const cleaning *work) {
    return work->is_limited ? UINT64_MAX : work->tuning->clean_max_bytes;
}

/** To copy what is only removals frees nothing, unless most of them may be forgotten: what they
    hide goes with them for that. */
static bool frees_something(cleaning *work, const live_segment *candidate, uint64_t *used) {
    if (!is_all_memory(work, candidate)) return true;
    const uint64_t middle = count_removals(work, candidate->number)->removal_middle;
    while (forgettable(work, candidate) < middle) {
        const live_segment *cause = oldest_with_dead(work);
        if (cause == NULL) return false;
        if (cause->number == candidate->number) return true;
        if (!goes_before(cause, candidate) || work->cleaned_bytes >= clean_most(work) ||
            !add_victim(work, cause, used))
            return false;
    }
    return true;
}

/** Chooses among `candidates`, the emptiest first. */
static void choose(cleaning *work, uint32_t flags, const live_segment *candidates, size_t count) {
    uint64_t used, live;
    larder_live_totals(&work->index->live, &used, &live);
    // What is never cleaned must not have the others cleaned again and again.
    for (size_t at = 0; at < work->index->live.count; at++) {
        const live_segment *other = &work->index->live.items[at];
        if (other->is_damaged) used -= dead_bytes(other);
    }
    const uint64_t bound = bound_of(work, used, live);
    const uint64_t most = clean_most(work);
    for (size_t at = 0; at < count; at++) {
        const live_segment *candidate = &candidates[at];
        bool is_dead = candidate->live_count == 0 && candidate->bare_count <= 1;
        // More than the record that names the next segment.
        bool has_use = candidate->record_count - candidate->live_count > 1;
        bool is_due = has_use && used > bound && work->cleaned_bytes < most;
        if (!is_dead && !is_due && !(has_use && (flags & FLUSH_COMPACTS) != 0)) continue;
        if ((flags & FLUSH_COPIES_NOTHING) != 0 &&
            (candidate->live_count > 0 || candidate->last_sequence > forgettable(work, candidate)))
            continue;
        if (is_dead || !is_due || frees_something(work, candidate, &used))
            (void)add_victim(work, candidate, &used);
    }
}

/** What is there is for copies and for the pages of their rows: half of it, unless those take
    less. One victim may have nearly all of it: small transactions take the pages that others freed.
    */
static void measure_room(cleaning *work, const flush_order *order) {
    environment *env = work->index->environment;
    uint64_t room = larder_environment_room(env), pages = larder_environment_growth_bytes(env);
    work->room_bytes = room - (pages < room / 2 ? pages : room / 2);
    work->first_bytes = room > CHECKPOINT_ROOM_BYTES / 2 ? room - CHECKPOINT_ROOM_BYTES / 2 : 0;
    if (work->first_bytes < work->room_bytes) work->first_bytes = work->room_bytes;
    uint64_t used, live;
    larder_live_totals(&work->index->live, &used, &live);
    work->target_most_bytes = (used + room) / 64;
    if (work->target_most_bytes > work->segment_max_bytes)
        work->target_most_bytes = work->segment_max_bytes;
    work->copies_bytes = work->is_limited ? live / LIMITED_COPIES_PART : UINT64_MAX;
    work->is_short = larder_environment_is_short(work->index->environment);
    // A long record may leave most of a segment of copies empty: one more than there have to be.
    uint64_t most = work->target_most_bytes;
    if (work->room_bytes > 3 * most) most = work->room_bytes - 2 * most;
    if (work->is_short && work->copies_bytes > most) work->copies_bytes = most;
    work->wanted_bytes = order->room_bytes > room ? order->room_bytes - room : 0;
    work->cleaned_bytes = order->cleaned_bytes;
}

larder_status larder_cleaning_begin(cleaning *work, const flush_order *order) {
    const live_table *live = &work->index->live;
    work->as_of = work->index->meta.applied;
    work->fed_after = larder_cleaning_fed_after(work->index);
    pthread_mutex_lock(&work->pending->lock);
    work->next_capacity = larder_log_next_capacity(&work->pending->log);
    work->segment_max_bytes = work->pending->log.segment_max_bytes;
    pthread_mutex_unlock(&work->pending->lock);
    measure_room(work, order);
    size_t count = 0;
    live_segment *candidates = malloc((live->count + 1) * sizeof *candidates);
    work->victims = calloc(live->count + 1, sizeof *work->victims);
    if (candidates == NULL || work->victims == NULL) {
        free(candidates);
        return ENOMEM;
    }
    for (size_t at = 0; at < live->count; at++)
        if (may_be_cleaned(work->index, &live->items[at])) candidates[count++] = live->items[at];
    qsort(candidates, count, sizeof *candidates, compare_ratios);
    choose(work, order->flags, candidates, count);
    free(candidates);
    return LARDER_OK;
}

// Gathering ---------------------------------------------------------------------------------------

/** LARDER_EDAMAGED: not all of it can be read. */
static larder_status gather_victim(cleaning *work, uint32_t index, uint64_t end,
                                   sorted_write **writes, uint32_t *count, size_t *capacity) {
    uint32_t number = work->victims[index].number;
    segment *from;
    larder_status status = larder_log_segment(&work->pending->log, number, &from);
    work->victims[index].from = !status ? from : NULL;
    uint64_t put_count = 0, removal_bytes = 0, put_removal_bytes = 0;
    for (uint64_t at = SEGMENT_HEAD_BYTES; !status && at < end;) {
        const uint8_t *found = from->map + at;
        record whole;
        if (larder_segment_read(from, &at, true, &whole) != LARDER_OK) return LARDER_EDAMAGED;
        if (whole.kind == RECORD_NEXT) continue;
        bool is_put = whole.kind == RECORD_PUT;
        put_count += is_put;
        if (whole.sequence > work->victims[index].forgettable)
            *(is_put ? &put_removal_bytes : &removal_bytes) +=
                record_padded(RECORD_HEAD_BYTES + whole.key.length);
        status = larder_os_array_reserve(writes, *count, capacity, sizeof **writes);
        if (!status && *count == UINT32_MAX) status = ENOMEM;
        if (!status) (*writes)[(*count)++] = (sorted_write){0, found, number, index + 1};
    }
    // Of puts only those leave a removal behind that are dead.
    const live_segment *facts = larder_live_find(&work->index->live, number);
    uint64_t dead_count = put_count > facts->live_count ? put_count - facts->live_count : 0;
    work->left_bytes += facts->live_bytes + removal_bytes;
    if (put_count > 0) work->left_bytes += put_removal_bytes / put_count * dead_count;
    return status == ENOENT ? LARDER_EDAMAGED : status;
}

larder_status larder_cleaning_gather(cleaning *work, sorted_write **writes, uint32_t *count) {
    const uint32_t before = *count;
    size_t capacity = before;
    work->left_bytes = 0;
    for (uint32_t at = 0; at < work->victim_count;) {
        victim *next = &work->victims[at];
        live_segment *facts = larder_live_find(&work->index->live, next->number);
        bool is_dead = facts->live_count == 0;
        next->forgettable = forgettable(work, facts);
        larder_status status = LARDER_OK;
        // Unless all that it could have to remember may be forgotten.
        if (!is_dead || facts->last_sequence > next->forgettable)
            status = gather_victim(work, at, SEGMENT_HEAD_BYTES + facts->used_bytes, writes, count,
                                   &capacity);
        // Where nothing leads, what it had to remember cannot be read by anybody.
        if (!status || (is_dead && status == LARDER_EDAMAGED)) {
            at++;
            continue;
        }
        if (status != LARDER_EDAMAGED) return status;
        // A segment with damage stays as it is, for salvage to make the most of; and once more from
        // the start, for now the others may have to remember more.
        facts->is_damaged = true;
        *next = work->victims[--work->victim_count];
        *count = before;
        work->left_bytes = 0;
        at = 0;
    }
    return LARDER_OK;
}

// Copying -----------------------------------------------------------------------------------------

static larder_status target_make(cleaning *work, size_t length) {
    const larder_store_tuning *tuning = work->tuning;
    uint64_t room = work->left_bytes;
    // So many that what remains at the end of one is little.
    uint64_t most = 8 * length < work->segment_max_bytes ? 8 * length : work->segment_max_bytes;
    if (most < work->target_most_bytes) most = work->target_most_bytes;
    if (room > most) room = most;
    if (room < tuning->segment_min_bytes && !work->is_short) room = tuning->segment_min_bytes;
    if (room < length) room = length;
    room += SEGMENT_HEAD_BYTES + SEGMENT_NEXT_BYTES;
    larder_status status = larder_os_array_reserve(&work->made, work->made_count,
                                                   &work->made_capacity, sizeof *work->made);
    // The least sequence is not known yet; none is smaller than 1.
    if (!status)
        status = larder_log_create_cleaned(&work->pending->log, &work->pending->lock, room, 1,
                                           work->as_of, &work->target);
    if (!status) work->made[work->made_count++] = work->target->number;
    return status;
}

/** Copies a record into a cleaned segment; of what is no live put, a removal with its sequence.
    @param to receives where it lies. */
static larder_status copy_record(cleaning *work, apply_txn *apply, const uint8_t *at, bool is_live,
                                 location *to) {
    larder_bytes key = larder_record_key(at);
    size_t length = is_live ? record_length(at) : RECORD_HEAD_BYTES + key.length;
    size_t padded = record_padded(length);
    segment *target = work->target;
    bool is_full = target == NULL ||
                   atomic_load(&target->end) + padded + SEGMENT_NEXT_BYTES > target->capacity;
    larder_status status = is_full ? larder_cleaning_settle(work, apply) : LARDER_OK;
    if (!status && is_full) status = target_make(work, padded);
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
        larder_record_write_bare(copy, kind, key);
        first_word = larder_record_seal(copy, length, record_sequence(at), record_minor(at), false);
    }
    larder_segment_publish(target, padded, first_word);
    target->record_count++;
    if (!is_live) target->bare_count++;
    uint64_t sequence = record_sequence(at);
    if (sequence > target->last_sequence) target->last_sequence = sequence;
    work->left_bytes -= padded < work->left_bytes ? padded : work->left_bytes;
    atomic_fetch_add_explicit(&work->figures->cleaned_bytes, padded, memory_order_relaxed);
    return LARDER_OK;
}

/** Copies the record that the cursor's row leads to, and moves the row. */
static larder_status move_entry(cleaning *work, apply_txn *apply, const sorted_write *found,
                                tree_key *key, larder_bytes row) {
    uint8_t moved[ROW_BYTES + INLINE_RECORD_MAX_BYTES];
    if (row.length > sizeof moved) return LARDER_EDAMAGED;
    location to;
    larder_status status = copy_record(work, apply, found->record, true, &to);
    if (status) return status;
    memcpy(moved, row.data, row.length);
    larder_row_move(moved, to);
    MDB_val name = {key->length, key->bytes}, fresh = {row.length, moved};
    size_t padded = record_padded(record_length(found->record));
    status = larder_environment_status(mdb_cursor_put(apply->entries, &name, &fresh, MDB_CURRENT));
    if (!status) status = larder_apply_live(apply, found->segment, padded, true);
    return status ? status : larder_apply_live(apply, to.segment, padded, false);
}

larder_status larder_cleaning_move(cleaning *work, apply_txn *apply, const sorted_write *found) {
    const victim *of = &work->victims[found->victim - 1];
    const uint8_t *at = found->record;
    tree_key key;
    larder_tree_key_entry(SPACE_ENTRY, larder_record_key(at), apply->meta.secret, &key);
    larder_bytes bytes;
    larder_status status =
        record_kind(at) == RECORD_CLEAR ? LARDER_END : larder_apply_get(apply, &key, &bytes);
    location ignored;
    if (status == LARDER_END)
        return record_sequence(at) <= of->forgettable
                   ? LARDER_OK
                   : copy_record(work, apply, at, false, &ignored);
    // Of a row that cannot be read there is no telling: the victim stays as it is.
    entry_row row;
    if (!status) status = larder_row_read(bytes, &row);
    if (status) return status;
    // Else what the tree has is newer, and hides what is older by itself.
    if (row.at.segment != found->segment || row.at.offset != (uint64_t)(at - of->from->map))
        return LARDER_OK;
    return move_entry(work, apply, found, &key, bytes);
}

/** Nothing leads there. What cannot be removed now is deleted like a victim, later. */
static void drop_made(cleaning *work, uint32_t number) {
    if (larder_log_remove(&work->pending->log, number) != LARDER_OK)
        (void)!larder_segment_retire(work->index, &work->pending->log, number, 0, false);
}

void larder_cleaning_commit(cleaning *work) {
    segment *target = work->target;
    work->mark = (cleaning_mark){
        .target = target, .left_bytes = work->left_bytes, .made_count = work->made_count};
    if (target == NULL) return;
    work->mark.end = atomic_load(&target->end);
    work->mark.record_count = target->record_count;
    work->mark.bare_count = target->bare_count;
    work->mark.last_sequence = target->last_sequence;
}

void larder_cleaning_rewind(cleaning *work) {
    const cleaning_mark *mark = &work->mark;
    segment *target = work->target = mark->target;
    work->left_bytes = mark->left_bytes;
    while (work->made_count > mark->made_count) drop_made(work, work->made[--work->made_count]);
    if (target == NULL) return;
    uint64_t end = atomic_load(&target->end);
    memset(target->map + mark->end, 0, (size_t)(end - mark->end));
    atomic_store(&target->end, mark->end);
    if (target->synced > mark->end) target->synced = mark->end;
    target->record_count = mark->record_count;
    target->bare_count = mark->bare_count;
    target->last_sequence = mark->last_sequence;
}

larder_status larder_cleaning_settle(cleaning *work, apply_txn *apply) {
    if (work->target == NULL) return LARDER_OK;
    larder_status status = larder_segment_sync(work->target, work->pending->log.folder);
    return status ? status : larder_apply_measure(apply, work->target, NULL);
}

// The end -----------------------------------------------------------------------------------------

larder_status larder_cleaning_retire(cleaning *work, apply_txn *apply) {
    for (size_t at = 0; at < work->victim_count; at++) {
        victim *next = &work->victims[at];
        live_segment *facts = larder_live_find(&apply->live, next->number);
        // More rows lead there than were found: pages that hide some have no checksum to tell so.
        next->stays = facts->live_count > 0;
        if (next->stays) {
            facts->is_damaged = true;
            continue;
        }
        next->is_fed = is_fed(work, facts);
        next->last_sequence = facts->as_of == 0 ? facts->last_sequence : 0;
        next->used_bytes = facts->used_bytes;
        tree_key key;
        larder_tree_key_segment(next->number, &key);
        larder_status status = larder_apply_row(apply, &key, NULL);
        if (status) return status;
        larder_live_drop(&apply->live, next->number);
    }
    return LARDER_OK;
}

larder_status larder_segment_retire(store_index *index, store_log *log, uint32_t number,
                                    uint64_t transaction, bool is_unproven) {
    segment *found;
    live_segment *gone;
    larder_status status = larder_log_segment(log, number, &found);
    bool is_there = !status;
    if (status != ENOMEM) status = larder_live_add(&index->retired, number, &gone);
    if (status) return status;
    gone->retired_by = transaction;
    gone->is_unproven = is_unproven;
    if (is_there) gone->first_sequence = found->first_sequence;
    if (is_there) gone->as_of = found->as_of;
    return LARDER_OK;
}

void larder_cleaning_end(cleaning *work, uint64_t transaction) {
    store_log *log = &work->pending->log;
    for (size_t at = 0; transaction != 0 && at < work->victim_count; at++) {
        const victim *gone = &work->victims[at];
        if (gone->stays) continue;
        // Without memory its file stays until the store is opened again.
        if (larder_segment_retire(work->index, log, gone->number, transaction, false)) continue;
        live_segment *noted = larder_live_find(&work->index->retired, gone->number);
        noted->is_fed = gone->is_fed;
        noted->last_sequence = gone->last_sequence;
        noted->used_bytes = gone->used_bytes;
    }
    for (size_t at = 0; at < work->made_count; at++) {
        segment *made;
        if (larder_live_find(&work->index->live, work->made[at]) == NULL)
            drop_made(work, work->made[at]);
        else if (larder_log_segment(log, work->made[at], &made) == LARDER_OK)
            larder_segment_release_rest(made, log->folder);
    }
    free(work->made);
    free(work->victims);
    memset(work, 0, sizeof *work);
}

/** Keeps all that were found when the store was opened: what one of them hides may be in another
    one. */
static larder_status keep_unproven(store_index *index, store_log *log) {
    live_table *retired = &index->retired;
    for (size_t at = retired->count; at > 0; at--) {
        const live_segment *kept = &retired->items[at - 1];
        if (!kept->is_unproven) continue;
        larder_status status = larder_segment_keep(index, log, kept->number);
        if (status) return status;
        larder_live_drop(retired, kept->number);
    }
    return LARDER_OK;
}

/** Whether something stays for a cursor that nobody knew to need it when `next` was retired with
    it, or that was found when the store was opened: what `next` has to remember may hide what is in
    it. */
static bool has_to_stay(const live_table *retired, const live_segment *next, uint64_t fed_after) {
    for (size_t at = 0; at < retired->count; at++) {
        const live_segment *kept = &retired->items[at];
        if (kept->retired_by == next->retired_by && !kept->is_fed &&
            kept->last_sequence > fed_after && goes_before(kept, next))
            return true;
    }
    return false;
}

/** The next one to delete; NULL if feeds need all the others. */
static const live_segment *next_to_delete(const live_table *retired, uint64_t fed_after) {
    const live_segment *gone = NULL;
    for (size_t at = 0; at < retired->count; at++) {
        const live_segment *next = &retired->items[at];
        if (next->last_sequence <= fed_after && (gone == NULL || goes_before(next, gone)) &&
            !has_to_stay(retired, next, fed_after))
            gone = next;
    }
    return gone;
}

/** The same, on a disk that has no room for what is asked: before a write is refused, the oldest
    goes that cursors keep, and they are told of a gap. */
static const live_segment *next_for_room(const store_index *index, uint64_t fed_after,
                                         const flush_order *order) {
    const live_segment *gone = next_to_delete(&index->retired, fed_after);
    bool is_short = order->room_bytes > larder_environment_room(index->environment);
    return gone == NULL && is_short ? next_to_delete(&index->retired, UINT64_MAX) : gone;
}

bool larder_segments_are_looked_at(const store_index *index, const flush_order *order) {
    return next_for_room(index, larder_cleaning_fed_after(index), order) != NULL;
}

void larder_segments_delete_retired(larder_store *store, flush_order *order) {
    store_index *index = &store->index;
    store_log *log = &store->pending.log;
    live_table *retired = &index->retired;
    const size_t total = retired->count;
    if (total == 0) return;
    uint64_t oldest = larder_environment_oldest_reader(index->environment);
    uint64_t synced_after = UINT64_MAX;
    // One after the other, each off the device before the next.
    for (size_t done = 0;; done++) {
        if (order->progress != NULL && order->progress(order->context, done, total) != 0)
            order->deletion = ECANCELED;
        if (order->deletion || done == total) return;
        // A cursor may have been made, or set back, since the checkpoint began.
        larder_feed_watch(store);
        uint64_t fed_after = larder_cleaning_fed_after(index);
        // One that has passed more since the sync may not have done so on the device.
        if (fed_after > synced_after) fed_after = synced_after;
        const live_segment *gone = next_for_room(index, fed_after, order);
        if (gone == NULL) return;
        // What a cursor has passed goes for good: a power cut must not set the cursor back to it.
        if (fed_after != UINT64_MAX && synced_after == UINT64_MAX) {
            if (larder_feed_sync(index->feed) != LARDER_OK) return;
            synced_after = fed_after;
        }
        // Somebody still looks at a state that leads there.
        if (oldest < gone->retired_by) return;
        bool is_superfluous = true;
        if (gone->is_unproven &&
            larder_segment_prove(index, log, gone->number, &is_superfluous) != LARDER_OK)
            return;
        if (!is_superfluous) {
            if (keep_unproven(index, log) != LARDER_OK) return;
            continue;
        }
        if (larder_log_remove(log, gone->number) != LARDER_OK ||
            larder_os_folder_sync(log->folder) != LARDER_OK)
            return;
        larder_live_drop(retired, gone->number);
    }
}
