// SPDX-License-Identifier: MIT
/** @file fed.c
    What named cursors of feeds keep from being deleted. */
#include "cleaning/clean.h"

/** Bytes of the written segments in a table with a write behind that sequence. */
static uint64_t bytes_after(const live_table *table, uint64_t sequence) {
    uint64_t bytes = 0;
    for (size_t at = 0; at < table->count; at++) {
        const live_segment *next = &table->items[at];
        if (next->as_of == 0 && next->last_sequence > sequence) bytes += next->used_bytes;
    }
    return bytes;
}

uint64_t larder_cleaning_fed_after(const store_index *index) {
    const feed_page *page = atomic_load_explicit(&index->feed->page, memory_order_acquire);
    uint64_t least = UINT64_MAX;
    feed_cursor cursor;
    if (page == NULL && atomic_load(&index->feed->is_unknown)) return 0;
    for (size_t at = 0; page != NULL && at < LARDER_STORE_FEED_CURSORS_MAX; at++) {
        if (!larder_feed_cursor_read(page, at, &cursor) || cursor.epoch == FEED_EPOCH_NONE ||
            cursor.sequence >= least)
            continue;
        // It may be told that it is rewound, and to where is not known here.
        const uint64_t behind = cursor.epoch < index->feed->epoch ? 0 : cursor.sequence;
        uint64_t lag = bytes_after(&index->live, cursor.sequence) +
                       bytes_after(&index->retired, cursor.sequence);
        // One that lags further is cut off.
        if (lag <= cursor.max_lag) least = behind;
    }
    return least;
}
