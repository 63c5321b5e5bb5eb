// SPDX-License-Identifier: MIT
/** @file wait.c
    Sleeping until there is an event: see feed_file.h for why no wake-up is lost. */
#include "feed/feed.h"
#include "larder_os_machine.h"

/** How long a waiter sleeps that a writer will wake: one that was killed between its write and that
    is found out then. And how long where nobody will. */
static const int64_t LONG_SLEEP_NS = (int64_t)20 * 1000000000;
static const int64_t SHORT_SLEEP_NS = 1000000, SHORT_SLEEP_MOST_NS = 50000000;

/** The file, if it can be had: for a process that may only read, there is none. */
static void open_page(larder_store_feed *feed) {
    if (feed->file.page == NULL &&
        larder_feed_file_open(feed->store, true, &feed->file) == LARDER_OK)
        atomic_store(&feed->waiter.page, feed->file.page);
    // The store's own handle knows of it from now on.
    larder_feed_watch(feed->store);
}

/** Whether whatever is written will wake those who wait: the process that writes looks at the page,
    or none has the store open, and the next one that opens it wakes everybody first. */
static bool is_watched(const larder_store_feed *feed) {
    int64_t holder;
    if (feed->file.page == NULL) return false;
    if (!store_is_read_only(feed->store)) return atomic_load(&feed->store->feed.page) != NULL;
    if (!larder_os_file_locks_places()) return true;
    if (larder_os_file_is_place_locked(feed->file.file, FEED_PLACE_WATCH, 1, true)) return true;
    lock_text text = larder_identity_look(&feed->store->identity, &holder);
    return text.boot[0] != 0 && holder == 0;
}

/** Sleeps once, until the word changes or it is time to look again. */
static void sleep_once(larder_store_feed *feed, feed_bell *bell, uint32_t word, int64_t left_ns,
                       int64_t *pause_ns) {
    int64_t limit = LONG_SLEEP_NS;
    if (!is_watched(feed)) {
        limit = *pause_ns;
        if (*pause_ns < SHORT_SLEEP_MOST_NS) *pause_ns *= 2;
        if (*pause_ns > SHORT_SLEEP_MOST_NS) *pause_ns = SHORT_SLEEP_MOST_NS;
    }
    // What woke it up last may be where no seal leads to.
    int64_t due = larder_feed_due_ns(feed);
    if (feed->is_unsettled && due < limit) limit = due > SHORT_SLEEP_NS ? due : SHORT_SLEEP_NS;
    if (left_ns < limit) limit = left_ns;
    if (bell == NULL) {
        larder_os_sleep(limit);
        return;
    }
    larder_os_shared_wait(&bell->word, word, limit);
    if (atomic_load(&bell->word) != word) feed->is_unsettled = true;
}

/** Beside a writer that writes without a pause, the next write is there sooner than a sleep begins
    and ends, and the writer need not wake anybody. One that writes now and then is not waited for
    in this way. */
static larder_status look_for_more(larder_store_feed *feed) {
    const int64_t until = larder_os_monotonic_ns() + 20000;
    const bool is_busy = feed->told_count > 1 && !feed->is_synced_only;
    larder_status status = LARDER_END;
    feed->told_count = 0;
    while (is_busy && status == LARDER_END && !atomic_load(&feed->is_interrupted) &&
           larder_os_monotonic_ns() < until)
        status = larder_feed_fetch(feed);
    return status;
}

larder_status larder_store_feed_wait(larder_store_feed *feed, int64_t timeout_ns) {
    const int64_t start = larder_os_monotonic_ns();
    int64_t pause = SHORT_SLEEP_NS;
    if (timeout_ns < 0) timeout_ns = INT64_MAX;
    larder_status status = look_for_more(feed);
    if (status != LARDER_END) return status;
    for (;;) {
        status = store_enter(feed->store);
        if (status) return status;
        open_page(feed);
        feed_bell *bell = NULL;
        if (feed->file.page != NULL) bell = &feed->file.page->bells[feed->is_synced_only];
        // If somebody writes from here on, the word changes.
        uint32_t word = bell != NULL ? larder_feed_arm(bell) : 0;
        if (atomic_exchange(&feed->is_interrupted, false)) return ECANCELED;
        status = larder_feed_fetch(feed);
        if (status != LARDER_END) return status;
        int64_t left = INT64_MAX;
        if (timeout_ns != INT64_MAX) left = timeout_ns - (larder_os_monotonic_ns() - start);
        if (left <= 0) return ETIMEDOUT;
        sleep_once(feed, bell, word, left, &pause);
    }
}

void larder_store_feed_interrupt(larder_store_feed *feed) {
    atomic_store(&feed->is_interrupted, true);
    feed_page *page = atomic_load(&feed->waiter.page);
    if (page != NULL) larder_feed_wake(&page->bells[feed->is_synced_only]);
}
