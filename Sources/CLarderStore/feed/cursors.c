// SPDX-License-Identifier: MIT
/** @file cursors.c
    Named cursors, as their consumers and as others see them. */
#include "feed/feed.h"
#include "log/survey.h"

larder_status larder_store_feed_acknowledge(larder_store_feed *feed,
                                            const larder_store_token *token, uint32_t flags) {
    feed_place place;
    bool is_other;
    larder_status status = store_enter(feed->store);
    if (status) return status;
    if (feed->slot == SIZE_MAX || (flags & ~(uint32_t)LARDER_STORE_SYNCED) != 0)
        return LARDER_EINVALID;
    status = larder_feed_token_read(feed->store, token, &place, &is_other);
    if (status || is_other) return LARDER_EINVALID;
    larder_feed_position_write(feed->file.page, feed->slot, place.epoch, place.sequence);
    if ((flags & LARDER_STORE_SYNCED) == 0) return LARDER_OK;
    return larder_feed_file_sync(&feed->file, feed->store->identity.path);
}

/** The file as it is, in which nothing is made.
    @return LARDER_OK; ENOENT … */
static larder_status open_existing(const larder_store *store, feed_file *out) {
    bool trusts = (store->options.flags & LARDER_STORE_TRUST_OTHERS) != 0;
    return larder_feed_file_open(store->identity.path, store->pending.log.store_id, false, trusts,
                                 out);
}

/** How much of the log lies behind a sequence; one segment of it counts whole. */
static uint64_t bytes_after(const log_survey *there, uint64_t sequence) {
    uint64_t bytes = 0, next_first = UINT64_MAX;
    for (size_t at = there->count; at > 0; at--) {
        const segment_facts *next = &there->items[at - 1];
        if (next->kind != SEGMENT_WRITTEN || next->is_empty) continue;
        if (next_first > sequence + 1) bytes += next->stored_bytes;
        next_first = next->first_sequence;
    }
    return bytes;
}

static void cursor_tell(const feed_file *file, size_t slot, const feed_cursor *found,
                        uint64_t newest, const log_survey *there, larder_store_feed_cursor *out) {
    *out = (larder_store_feed_cursor){.name_length = (uint8_t)found->length,
                                      .sequence = found->sequence,
                                      .max_lag_bytes = found->max_lag};
    memcpy(out->name, found->name, found->length);
    out->is_open = larder_os_file_is_place_locked(file->file, FEED_PLACE_SLOT + slot, 1, true);
    if (newest <= found->sequence) return;
    out->lag_count = newest - found->sequence;
    out->lag_bytes = bytes_after(there, found->sequence);
}

larder_status larder_store_feed_cursors(larder_store *store, larder_store_feed_cursor *cursors,
                                        size_t capacity, size_t *count) {
    feed_file file;
    feed_cursor found;
    larder_store_token now;
    *count = 0;
    larder_status status = store_enter(store);
    if (!status) status = open_existing(store, &file);
    if (status) return status == ENOENT ? LARDER_OK : status;
    log_survey there = {0};
    status = larder_store_token_now(store, &now);
    if (!status) status = larder_log_survey_make(&store->pending.log, &there);
    for (size_t at = 0; at < LARDER_STORE_FEED_CURSORS_MAX && !status; at++) {
        if (!larder_feed_cursor_read(file.page, at, &found)) continue;
        if (*count < capacity && cursors != NULL)
            cursor_tell(&file, at, &found, larder_store_token_sequence(&now), &there,
                        &cursors[*count]);
        ++*count;
    }
    larder_log_survey_free(&there);
    larder_feed_file_close(&file);
    return status;
}

larder_status larder_store_feed_cursor_remove(larder_store *store, larder_bytes name) {
    feed_file file;
    feed_cursor found;
    larder_status status = store_enter(store);
    if (!status) status = open_existing(store, &file);
    if (status) return status == ENOENT ? LARDER_ENOTFOUND : status;
    status = larder_feed_table_lock(&file);
    bool is_locked = !status, is_found = false;
    for (size_t at = 0; at < LARDER_STORE_FEED_CURSORS_MAX && !status && !is_found; at++) {
        is_found = larder_feed_cursor_read(file.page, at, &found) && found.length == name.length &&
                   compare_bytes(name, (larder_bytes){found.name, found.length}) == 0;
        if (!is_found) continue;
        if (larder_os_file_is_place_locked(file.file, FEED_PLACE_SLOT + at, 1, true))
            status = LARDER_EBUSY;
        else larder_feed_cursor_write(file.page, at, &(feed_cursor){.length = 0});
    }
    if (!status && !is_found) status = LARDER_ENOTFOUND;
    if (is_locked) larder_feed_table_unlock(&file);
    larder_feed_file_close(&file);
    return status;
}
