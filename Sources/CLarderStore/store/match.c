// SPDX-License-Identifier: MIT
#include "store/match.h"

/** How often a tree that changes is looked at again. */
enum { MATCH_ATTEMPTS = 16 };

larder_status larder_store_live_load(const tree *from, live_table *table) {
    tree_cursor cursor;
    larder_status status =
        larder_tree_cursor_seek(&cursor, from, (larder_bytes){&(uint8_t){SPACE_SEGMENT}, 1});
    while (!status) {
        larder_bytes key, value;
        status = larder_tree_cursor_get(&cursor, &key, &value);
        const uint8_t *bytes = key.data;
        if (status || bytes[0] != SPACE_SEGMENT) break;
        live_segment found, *added;
        status = key.length == 5 ? larder_live_row_read(value, &found) : LARDER_EDAMAGED;
        if (!status) status = larder_live_add(table, found.number = get_be32(bytes + 1), &added);
        if (status) break;
        *added = found;
        status = larder_tree_cursor_next(&cursor);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

typedef struct match {
    const store_log *log;
    const log_survey *there;
    const store_meta *meta;
    const live_table *live;
} match;

/** Whether the tree leads to the segment, or the log behind the tree may go through it. */
static bool is_needed(const match *of, uint32_t number) {
    return number >= of->meta->end.segment || larder_live_find(of->live, number) != NULL;
}

/** @return the segment that was cleaned when more was in the tree than there is; 0 for none. */
static uint32_t newer_than_tree(const match *of) {
    for (size_t at = 0; at < of->there->count; at++) {
        const segment_facts *facts = &of->there->items[at];
        if (facts->kind == SEGMENT_CLEANED && facts->store_id == of->log->store_id &&
            facts->as_of > of->meta->applied)
            return facts->number;
    }
    return 0;
}

/** @return the name of a file that is another segment, which is needed, and nothing under its own
    name says that it is it; 0 for none. */
static uint32_t misnamed(const match *of) {
    for (size_t at = 0; at < of->there->count; at++) {
        const segment_facts *facts = &of->there->items[at];
        if (facts->head_number == 0 || facts->head_number == facts->number ||
            facts->store_id != of->log->store_id || !is_needed(of, facts->head_number))
            continue;
        const segment_facts *other = larder_log_survey_find(of->there, facts->head_number);
        if (other == NULL || other->head_number != facts->head_number) return facts->number;
    }
    return 0;
}

/** Entries whose segment is missing.
    @param first receives the number of the first such segment; 0 if there is none.
    @param newest receives a sequence that no write is behind of which cleaning has put a copy into
           one of them; 0 for none. */
static uint64_t count_missing(const match *of, uint32_t *first, uint64_t *newest) {
    uint64_t entries = 0;
    *first = 0;
    *newest = 0;
    for (size_t at = of->live->count; at > 0; at--) {
        const live_segment *row = &of->live->items[at - 1];
        if (row->live_count == 0 || larder_log_survey_has(of->log, of->there, row->number))
            continue;
        entries += row->live_count;
        *first = row->number;
        if (row->as_of > *newest) *newest = row->as_of;
    }
    return entries;
}

/** Whether there is a segment with something in it that no row knows and that is not behind the
    tree: it may have what a missing one had. Or one of another store, whose log this may be. A
    segment that was written has only what cleaning copied later: nothing behind `newest`. */
static bool has_unknown(const match *of, uint64_t newest) {
    for (size_t at = 0; at < of->there->count; at++) {
        const segment_facts *facts = &of->there->items[at];
        bool is_in_log = facts->kind == SEGMENT_WRITTEN && facts->number >= of->meta->end.segment;
        bool is_itself = larder_log_survey_is_itself(of->log, facts);
        bool is_foreign = facts->head_number != 0 && facts->store_id != of->log->store_id;
        bool is_later = facts->kind == SEGMENT_WRITTEN && facts->first_sequence > newest;
        bool is_known = is_in_log || is_later || larder_live_find(of->live, facts->number) != NULL;
        if (!facts->is_empty && (is_foreign || (is_itself && !is_known))) return true;
    }
    return false;
}

/** @return LARDER_EDAMAGED if tree and log do not belong together. */
static larder_status judge(const match *of, larder_store_report *report,
                           larder_store_detail *detail) {
    uint32_t missing;
    uint64_t newest;
    report->damaged = count_missing(of, &missing, &newest);
    detail->part = LARDER_STORE_PART_DATA;
    detail->segment = newer_than_tree(of);
    if (detail->segment != 0) return LARDER_EDAMAGED;
    detail->part = LARDER_STORE_PART_JOURNAL;
    detail->segment = misnamed(of);
    if (detail->segment == 0 && missing != 0 && has_unknown(of, newest)) detail->segment = missing;
    return detail->segment != 0 ? LARDER_EDAMAGED : LARDER_OK;
}

/** The same for a handle that only reads, beside one that may write.
    @param transaction receives that of the tree that was looked at. */
static larder_status match_snapshot(larder_store *store, log_survey *there, uint64_t *transaction,
                                    larder_store_detail *detail) {
    snapshot *seen;
    live_table live = {0};
    larder_status status = larder_environment_read(store->index.environment, &seen);
    if (status) return status;
    *transaction = seen->tree.transaction;
    status = larder_environment_confirm(seen, larder_store_live_load(&seen->tree, &live));
    larder_log_survey_free(there);
    larder_status listed = larder_log_survey_make(&store->pending.log, there);
    match of = {&store->pending.log, there, &seen->meta, &live};
    // Where pages are damaged, it shows what it can.
    if (status == LARDER_EDAMAGED) status = LARDER_OK;
    else if (!status && !listed) {
        status = judge(&of, &store->recovery, detail);
        // What is missing may be what a newer state needs no more.
        bool is_missing = store->recovery.damaged > 0;
        if (larder_environment_confirm(seen, is_missing ? LARDER_EDAMAGED : status) == LARDER_EBUSY)
            status = LARDER_EBUSY;
    }
    larder_live_free(&live);
    larder_environment_release(store->index.environment, seen);
    return listed ? listed : status;
}

larder_status larder_store_match(larder_store *store, log_survey *out,
                                 larder_store_detail *detail) {
    *out = (log_survey){0};
    detail->part = LARDER_STORE_PART_DATA;
    if (!store_is_read_only(store)) {
        larder_status status = larder_log_survey_make(&store->pending.log, out);
        match of = {&store->pending.log, out, &store->index.meta, &store->index.live};
        return status ? status : judge(&of, &store->recovery, detail);
    }
    uint64_t before = 0, transaction = 0;
    for (int attempt = 0;; attempt++) {
        larder_status status = match_snapshot(store, out, &transaction, detail);
        // Only where nobody wrote meanwhile do the two have to agree.
        bool is_settled = status == LARDER_EDAMAGED && transaction == before;
        if ((status != LARDER_EDAMAGED && status != LARDER_EBUSY) || is_settled ||
            attempt == MATCH_ATTEMPTS)
            return status;
        before = transaction;
    }
}
