// SPDX-License-Identifier: MIT
/** @file fed.c
    What named cursors of feeds keep from being deleted: of the written segments behind a cursor the
    newest, as many as it may lag. So what one that lags further is not told of, is the oldest. */
#include "cleaning/clean.h"

static bool is_behind(const live_segment *facts, uint64_t sequence) {
    return facts->as_of == 0 && facts->last_sequence > sequence;
}

/** Bytes of the written segments in a table with a write behind that sequence. */
static uint64_t bytes_after(const live_table *table, uint64_t sequence) {
    uint64_t bytes = 0;
    for (size_t at = 0; at < table->count; at++)
        if (is_behind(&table->items[at], sequence)) bytes += table->items[at].used_bytes;
    return bytes;
}

/** The oldest of them, or `oldest` if that is older. */
static const live_segment *oldest_after(const live_table *table, uint64_t sequence,
                                        const live_segment *oldest) {
    for (size_t at = 0; at < table->count; at++) {
        const live_segment *next = &table->items[at];
        if (is_behind(next, sequence) &&
            (oldest == NULL || next->last_sequence < oldest->last_sequence))
            oldest = next;
    }
    return oldest;
}

/** Behind which sequence no more than `most` bytes lie. */
static uint64_t within(const store_index *index, uint64_t sequence, uint64_t most) {
    uint64_t bytes = bytes_after(&index->live, sequence) + bytes_after(&index->retired, sequence);
    while (bytes > most) {
        const live_segment *oldest = oldest_after(&index->live, sequence, NULL);
        oldest = oldest_after(&index->retired, sequence, oldest);
        if (oldest == NULL) return sequence;
        bytes -= oldest->used_bytes;
        sequence = oldest->last_sequence;
    }
    return sequence;
}

uint64_t larder_cleaning_fed_after(const store_index *index) {
    const feed_page *page = atomic_load_explicit(&index->feed->page, memory_order_acquire);
    uint64_t least = UINT64_MAX;
    feed_cursor cursor;
    if (page == NULL && atomic_load(&index->feed->is_unknown)) return 0;
    for (size_t at = 0; page != NULL && at < LARDER_STORE_FEED_CURSORS_MAX; at++) {
        if (!larder_feed_cursor_read(page, at, &cursor) || cursor.epoch == FEED_EPOCH_NONE)
            continue;
        // It may be told that it is rewound, and to where is not known here.
        uint64_t behind = cursor.epoch < index->feed->epoch ? 0 : cursor.sequence;
        behind = within(index, behind, cursor.max_lag);
        if (behind < least) least = behind;
    }
    return least;
}
