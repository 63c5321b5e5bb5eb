// SPDX-License-Identifier: MIT
/** @file feed.h
    Private: a consumer's way through the log: see "Feeding changes" in StoreProtocol.md.

    A feed has the log open by itself, with mappings of its own: what the store deletes stays
    readable here, and no lock of the store is held but to ask how far it was synced. */
#ifndef LARDER_FEED_H
#define LARDER_FEED_H

#include "handle/handle.h"
#include "log/scan.h"
#include "read/read.h"

struct larder_store_feed {
    larder_store *store;
    store_log log;
    bool is_synced_only;
    /** The last event's; `scan.at` is behind it, if `is_placed`. */
    feed_place place;
    bool is_placed;
    /** Where it is, is not known: the next event is a gap of nobody knows how many writes. */
    bool is_lost;
    /** Nobody had gone over the log since a power cut when it was placed. */
    bool is_cut;
    /** The newest epoch that there was when it was placed. */
    uint32_t judged_epoch;
    log_scan scan;
    /** Up to there pages of the segment were released. */
    location rested;
    /** How many events were told since the last wait. */
    uint32_t told_count;
    /** Up to there the log was synced, when it was looked at last. */
    location synced;
    /** When the heads were read last, monotonic; 0: to be read. And something came, perhaps, that
        is not behind `scan.at`. */
    int64_t looked_ns;
    /** Damage behind which nothing was found then. */
    location stuck_at;
    bool is_unsettled;
    /** What was fetched and not given yet. */
    larder_store_feed_event event;
    bool has_event;
    larder_store_change *changes;
    size_t capacity;
    feed_file file;
    /** Of the named cursor; SIZE_MAX for none. */
    size_t slot;
    _Atomic bool is_interrupted;
    /** With the page of `file`, for whoever interrupts. */
    feed_waiter waiter;
};

// token.c
void larder_feed_token_write(const larder_store *store, feed_place place, larder_store_token *out);
/** LARDER_EINVALID. @param is_other receives whether it is of another store. */
LARDER_MUST_CHECK larder_status larder_feed_token_read(const larder_store *store,
                                                       const larder_store_token *token,
                                                       feed_place *out, bool *is_other);

// place.c
/** Finds where the feed goes on, by its place alone.
    @param event receives what there is to tell: a gap, or that it was rewound.
    @return LARDER_OK with an event; LARDER_END without: it is placed then, unless there is no log
            yet; or an errno. */
LARDER_MUST_CHECK larder_status larder_feed_find(larder_store_feed *feed,
                                                 larder_store_feed_event *event);
/** At the end of what the scan has: finds it again if the log goes on elsewhere, where no seal
    leads to: EAGAIN. Else as larder_feed_find. */
LARDER_MUST_CHECK larder_status larder_feed_look_behind(larder_store_feed *feed,
                                                        larder_store_feed_event *event);
/** The oldest write that there is comes next. */
LARDER_MUST_CHECK larder_status larder_feed_rewind(larder_store_feed *feed);
/** The sequence of the first write from `at` on in its segment, as its first record tells; 0 if
    nothing whole lies there. */
uint64_t larder_feed_first_at(store_log *log, location at);

// feed.c
/** What lies where the scan is, is not the next write.
    @return LARDER_OK with a gap; LARDER_END: nothing else is there; EAGAIN: the scan goes on. */
LARDER_MUST_CHECK larder_status larder_feed_pass_damage(larder_store_feed *feed,
                                                        larder_store_feed_event *event);
/** How long until the heads of segments are read again at the end of the log. */
int64_t larder_feed_due_ns(const larder_store_feed *feed);
/** Whether the log may be torn where nobody has gone over it since a power cut. */
bool larder_feed_is_cut(const larder_store_feed *feed);
void larder_feed_tell_gap(larder_store_feed *feed, uint64_t missing,
                          larder_store_feed_event *event);
/** Ends the mappings of segments with smaller numbers. */
void larder_feed_let_go_before(larder_store_feed *feed, uint64_t number);
/** Fetches the next event, unless there is one. LARDER_OK; LARDER_END … */
LARDER_MUST_CHECK larder_status larder_feed_fetch(larder_store_feed *feed);

#endif
