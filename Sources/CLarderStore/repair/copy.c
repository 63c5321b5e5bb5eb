// SPDX-License-Identifier: MIT
/** @file copy.c
    Backup: everything that a cursor sees, into a new store. */
#include "read/cursor.h"
#include "repair/copy_target.h"

/** A cursor over everything: in the order of use, if the store keeps one, so that the copy has the
    same; else by key. In the midst of a large checkpoint some entries have no place in the order
    yet. */
static larder_status backup_cursor(larder_store *store, larder_store_cursor **out) {
    larder_store_query query;
    larder_store_query_init(&query);
    for (query.order = LARDER_STORE_BY_RECENCY;; query.order = LARDER_STORE_BY_KEY) {
        larder_status status = larder_store_cursor_open(store, &query, out);
        if (status || query.order == LARDER_STORE_BY_KEY) return status;
        const snapshot *place = (*out)->place;
        if ((*out)->pending.hides_tree ||
            (place->meta.has_order &&
             larder_tree_count_space(&place->tree, SPACE_ORDER) == place->meta.count))
            return LARDER_OK;
        larder_store_cursor_close(*out);
    }
}

static larder_status backup_copy(larder_store_cursor *cursor, copy_target *target,
                                 larder_progress progress, void *context) {
    uint64_t total = cursor->place->meta.count, done = 0;
    uint64_t pending = larder_overlay_count(cursor);
    if (total < pending) total = pending;
    larder_status status = LARDER_OK;
    while (!status) {
        record found;
        larder_bytes bytes;
        larder_store_entry entry;
        if (progress && progress(context, done, total < done ? done : total)) return ECANCELED;
        status = larder_cursor_next_record(cursor, &found, &bytes, &entry);
        int64_t until = entry.expires_ns;
        if (!status && record_is_renewable(&found)) until = record_first_deadline(&found);
        if (!status) status = larder_copy_target_put(target, bytes, until);
        if (!status) done++;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

larder_status larder_store_backup(larder_store *store, const char *target, larder_progress progress,
                                  void *context) {
    larder_status status = store_enter(store);
    if (status) return status;
    larder_store_options options = store->options;
    pthread_mutex_lock(&store->pending.lock);
    options.content_format = store->index.meta.content_format;
    options.key_form = store->index.meta.key_form;
    pthread_mutex_unlock(&store->pending.lock);
    // A copy keeps everything; it is for whoever opens it to say how much it is to hold.
    larder_store_options defaults;
    larder_store_options_init(&defaults);
    options.limits = defaults.limits;
    copy_target copy;
    status = larder_copy_target_open(target, &options, &copy);
    if (status) return status;
    larder_store_cursor *cursor;
    status = backup_cursor(store, &cursor);
    if (!status) status = backup_copy(cursor, &copy, progress, context);
    larder_store_cursor_close(cursor);
    return larder_copy_target_finish(&copy, status);
}
