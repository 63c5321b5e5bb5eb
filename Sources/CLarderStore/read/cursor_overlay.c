// SPDX-License-Identifier: MIT
/** @file cursor_overlay.c
    What was pending when a cursor was opened, as rows in its order: places in the runs of the
    memtables' write rows, of which the next row is always the first of them all. */
#include "read/cursor.h"

// Taking ------------------------------------------------------------------------------------------

static row_order order_of(const larder_store_cursor *cursor) {
    switch (cursor->query.order) {
    case LARDER_STORE_BY_INDEX: return (row_order){ROWS_BY_INDEX, cursor->query.index};
    case LARDER_STORE_BY_RECENCY: return (row_order){ROWS_BY_WRITE, 0};
    default: return (row_order){ROWS_BY_KEY, 0};
    }
}

/** Holds the rows of what is pending and not in the tree that the cursor sees; the pending lock is
    held. */
static larder_status hold_rows(larder_store_cursor *cursor) {
    const larder_store *store = cursor->store;
    overlay *over = &cursor->pending;
    memtable *tables[] = {store->pending.active, store->pending.frozen};
    over->applied = store_is_read_only(store) ? cursor->place->meta.applied : 0;
    for (int i = 0; i < 2 && tables[i] && !over->hides_tree; i++) {
        larder_status status = LARDER_OK;
        if (tables[i]->count)
            status = larder_memtable_rows(tables[i], cursor->place->meta.secret, &over->writes[i]);
        if (status) return status;
        if (tables[i]->count) over->until[i] = larder_write_rows_count(over->writes[i]);
        // Rows of the tree that are newer than that are of pending writes, which replace them.
        over->hides_tree = tables[i]->cleared > over->applied;
    }
    return LARDER_OK;
}

/** Has them sorted by key; `rows_lock` is held, also below. */
static larder_status take_runs_by_key(overlay *over) {
    for (int i = 0; i < 2; i++) {
        size_t count;
        if (!over->writes[i]) continue;
        larder_status status =
            larder_write_rows_sorted(over->writes[i], (row_order){ROWS_BY_KEY, 0}, over->until[i],
                                     over->by_key + over->by_key_count, &count);
        over->by_key_count += count;
        if (status) return status;
    }
    return LARDER_OK;
}

/** Has them sorted in the cursor's order. */
static larder_status take_runs(larder_store_cursor *cursor) {
    overlay *over = &cursor->pending;
    for (int i = 0; i < 2; i++) {
        row_run *runs[ROW_RUNS_MAX];
        size_t count;
        if (!over->writes[i]) continue;
        larder_status status = larder_write_rows_sorted(over->writes[i], order_of(cursor),
                                                        over->until[i], runs, &count);
        if (status) return status;
        for (size_t at = 0; at < count; at++)
            over->places[over->place_count++] = (overlay_place){.run = runs[at]};
    }
    return LARDER_OK;
}

larder_status larder_overlay_take(larder_store_cursor *cursor) {
    pending_writes *pending = &cursor->store->pending;
    const bool *counts_reads = &cursor->pending.touched.counts;
    larder_touched_gather(cursor);
    pthread_mutex_lock(&pending->rows_lock);
    pthread_mutex_lock(&pending->lock);
    larder_status status = larder_store_look(cursor->store, true, &cursor->place);
    if (!status) status = larder_store_newest(cursor->store, cursor->place, &cursor->newest);
    if (!status) status = hold_rows(cursor);
    if (!status && *counts_reads) status = larder_touched_copy(cursor);
    pthread_mutex_unlock(&pending->lock);
    if (!status) status = take_runs_by_key(&cursor->pending);
    if (!status) status = take_runs(cursor);
    pthread_mutex_unlock(&pending->rows_lock);
    return !status && *counts_reads ? larder_touched_sort(cursor) : status;
}

static void release_places(overlay *over) {
    for (size_t at = 0; at < over->place_count; at++) larder_row_run_release(over->places[at].run);
    over->place_count = 0;
}

larder_status larder_overlay_retake(larder_store_cursor *cursor) {
    pending_writes *pending = &cursor->store->pending;
    release_places(&cursor->pending);
    if (!cursor->pending.writes[0] && !cursor->pending.writes[1]) return LARDER_OK;
    pthread_mutex_lock(&pending->rows_lock);
    larder_status status = take_runs(cursor);
    pthread_mutex_unlock(&pending->rows_lock);
    return status;
}

void larder_overlay_free(overlay *over) {
    for (size_t at = 0; at < over->by_key_count; at++) larder_row_run_release(over->by_key[at]);
    release_places(over);
    for (int i = 0; i < 2; i++) larder_write_rows_release(over->writes[i]);
    larder_touched_free(&over->touched);
}

// The range ---------------------------------------------------------------------------------------

/** How many rows of the run lie on that side of the range, or on one before it. */
static uint32_t count_to(const larder_store_cursor *cursor, const row_run *run, int side) {
    uint32_t from = 0, to = run->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        const write_row *row = &run->rows[middle];
        if (larder_cursor_side(cursor, row->value, row->stored) <= side) from = middle + 1;
        else to = middle;
    }
    return from;
}

void larder_overlay_rewind(larder_store_cursor *cursor) {
    overlay *over = &cursor->pending;
    over->given = over->touched.given = 0;
    over->has_row = false;
    for (size_t at = 0; at < over->place_count; at++) {
        overlay_place *place = &over->places[at];
        place->from = count_to(cursor, place->run, -1);
        place->to = count_to(cursor, place->run, 0);
    }
}

size_t larder_overlay_count(const larder_store_cursor *cursor) {
    size_t count = 0;
    for (size_t at = 0; at < cursor->pending.place_count; at++)
        count += cursor->pending.places[at].to - cursor->pending.places[at].from;
    return count;
}

// Rows --------------------------------------------------------------------------------------------

static const write_row *run_find(const row_run *run, larder_bytes stored) {
    uint32_t from = 0, to = run->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = compare_bytes(run->rows[middle].stored, stored);
        if (order == 0) return &run->rows[middle];
        if (order < 0) from = middle + 1;
        else to = middle;
    }
    return NULL;
}

const write_row *larder_overlay_find(const larder_store_cursor *cursor, larder_bytes stored) {
    const overlay *over = &cursor->pending;
    for (size_t at = 0; at < over->by_key_count; at++) {
        const write_row *found = run_find(over->by_key[at], stored);
        // The tree has it, and all that came before.
        if (found) return record_sequence(found->record) > over->applied ? found : NULL;
    }
    return NULL;
}

/** Whether no later write, or read that moves it, is pending. */
static bool is_newest(const larder_store_cursor *cursor, const write_row *row) {
    const write_row *newest = larder_overlay_find(cursor, row->stored);
    return newest && newest->record == row->record &&
           !larder_touched_hides(cursor, row->stored, record_stamp(row->record));
}

static const write_row *place_row(const overlay_place *place, bool descends) {
    if (place->from == place->to) return NULL;
    return &place->run->rows[descends ? place->to - 1 : place->from];
}

static void place_step(overlay_place *place, bool descends) {
    if (descends) place->to--;
    else place->from++;
}

/** The first row of all places, and of alike ones the newest. */
static const write_row *first_row(const larder_store_cursor *cursor) {
    const overlay *over = &cursor->pending;
    const row_order order = order_of(cursor);
    const write_row *first = NULL;
    for (size_t at = 0; at < over->place_count; at++) {
        const write_row *row = place_row(&over->places[at], cursor->descends);
        if (!row) continue;
        int result = first ? larder_write_row_compare(order, row, first) : -1;
        if (first && cursor->descends) result = -result;
        if (result < 0) first = row;
    }
    return first;
}

/** Goes behind a row, and those that are alike. */
static void go_behind(larder_store_cursor *cursor, const write_row *passed) {
    const row_order order = order_of(cursor);
    for (size_t at = 0; at < cursor->pending.place_count; at++) {
        overlay_place *place = &cursor->pending.places[at];
        const write_row *row = place_row(place, cursor->descends);
        if (row && larder_write_row_compare(order, row, passed) == 0)
            place_step(place, cursor->descends);
    }
}

/** Whether the first row of the writes is to be given; if so, it is the next one. */
static bool take_write(larder_store_cursor *cursor, const write_row *first) {
    overlay *over = &cursor->pending;
    // By key the newest of alike rows comes first; the tree may have it.
    if (cursor->query.order == LARDER_STORE_BY_KEY ? record_sequence(first->record) <= over->applied
                                                   : !is_newest(cursor, first))
        return false;
    over->next = first;
    over->row = (cursor_row){.value = first->value,
                             .stored = first->stored,
                             .segment = first->segment,
                             .is_removal = record_kind(first->record) != RECORD_PUT};
    if (!over->row.is_removal) over->row.record = record_bytes(first->record);
    if (cursor->query.order == LARDER_STORE_BY_RECENCY) over->row.at = record_stamp(first->record);
    return true;
}

cursor_row *larder_overlay_peek(larder_store_cursor *cursor) {
    overlay *over = &cursor->pending;
    while (!over->has_row) {
        const write_row *first = first_row(cursor);
        const cursor_row *read = larder_touched_next(cursor);
        if (!first && !read) return NULL;
        int order = !first ? -1 : 1;
        if (first && read) {
            order = compare_stamps(read->at, record_stamp(first->record));
            if (cursor->descends) order = -order;
        }
        over->next = NULL;
        over->has_row =
            order < 0 ? larder_touched_row(cursor, read, &over->row) : take_write(cursor, first);
        if (over->has_row) break;
        if (order < 0) over->touched.given++;
        else go_behind(cursor, first);
    }
    return &over->row;
}

void larder_overlay_step(larder_store_cursor *cursor) {
    overlay *over = &cursor->pending;
    if (over->next) go_behind(cursor, over->next);
    else over->touched.given++;
    over->has_row = false;
    over->given++;
}
