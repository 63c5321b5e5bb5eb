// SPDX-License-Identifier: MIT
/** @file place.c
    Where a feed goes on, found by a write's epoch and sequence alone. */
#include "feed/feed.h"
#include "log/survey.h"

// Segments ----------------------------------------------------------------------------------------
//
// One that was made in advance and never entered has a number that is given again once it is gone:
// behind a list of written segments, one of copies may have that name.

/** The written segments with a sound head, in the order of the log. */
static larder_status list_written(store_log *log, log_survey *out) {
    larder_status status = larder_log_survey_make(log, out);
    size_t count = 0;
    for (size_t at = 0; at < out->count; at++) {
        const segment_facts *next = &out->items[at];
        if (next->kind == SEGMENT_WRITTEN && next->head_number == next->number &&
            next->store_id == log->store_id)
            out->items[count++] = *next;
    }
    out->count = count;
    return status;
}

uint64_t larder_feed_first_at(store_log *log, location at) {
    segment *from, *named = NULL;
    record found;
    if (larder_log_peek(log, at.segment, &from) != LARDER_OK) return 0;
    larder_status status = from->kind == SEGMENT_CLEANED
                               ? ENOENT
                               : larder_segment_read(from, &at.offset, true, &found);
    larder_segment_close(from);
    if (status) return 0;
    if (found.kind != RECORD_NEXT) return found.minor == 0 ? found.sequence : 0;
    // What it leads to has to be there.
    bool leads_on = found.minor > at.segment &&
                    larder_log_peek(log, found.minor, &named) == LARDER_OK &&
                    named->kind == SEGMENT_WRITTEN;
    larder_segment_close(named);
    return leads_on ? found.sequence + 1 : 0;
}

/** Passes what is not behind `sequence`, without a look at checksums: what is wrong is found where
    the scan goes on.
    @param last receives the sequence of the last record that was passed, 0 for none.
    @return where it stopped. */
static location pass(const segment *in, uint64_t sequence, uint64_t *last) {
    uint64_t offset = SEGMENT_HEAD_BYTES;
    larder_bytes bytes;
    *last = 0;
    while (larder_segment_look(in, offset, &bytes) == LARDER_OK &&
           record_kind(bytes.data) != RECORD_NEXT && record_sequence(bytes.data) <= sequence) {
        *last = record_sequence(bytes.data);
        offset += record_padded(bytes.length);
    }
    return (location){in->number, offset};
}

// Epochs ------------------------------------------------------------------------------------------

/** The first segment of which a token's epoch does not tell; the count if there is none. One of a
    smaller epoch than that before it was written by a release without epochs. */
static size_t find_later(const log_survey *written, uint32_t epoch) {
    size_t at = 0;
    for (; at < written->count; at++) {
        uint32_t here = written->items[at].epoch.number;
        if (here > epoch || (at > 0 && here < written->items[at - 1].epoch.number)) break;
    }
    return at;
}

/** The sequence of the last write in a segment that is not the last one. */
static larder_status last_of(store_log *log, uint32_t number, uint64_t *last) {
    segment *found;
    larder_status status = larder_log_peek(log, number, &found);
    if (status) return status;
    (void)pass(found, SEQUENCE_MAX, last);
    larder_segment_close(found);
    return LARDER_OK;
}

typedef enum verdict { VERDICT_GOES_ON, VERDICT_REWOUND, VERDICT_UNKNOWN } verdict;

/** Whether a write of that epoch was given up later.
    @param begin receives the sequence from which on writes were, or where what is known goes on. */
static larder_status judge(store_log *log, const log_survey *written, feed_place place,
                           verdict *out, const segment_facts **later) {
    size_t at = find_later(written, place.epoch);
    *out = VERDICT_GOES_ON;
    *later = NULL;
    // Of what was never told nothing can have been given up.
    if (place.sequence == 0) return LARDER_OK;
    if (at == written->count) {
        bool is_known = written->items[at - 1].epoch.number >= place.epoch;
        if (!is_known) *out = VERDICT_UNKNOWN;
        *later = is_known ? NULL : &written->items[0];
        return LARDER_OK;
    }
    const segment_facts *next = *later = &written->items[at];
    bool begins = next->epoch.number > place.epoch && next->epoch.before != next->epoch.number;
    bool is_known = begins && next->epoch.before <= place.epoch;
    uint64_t last = 0;
    if (!is_known && at > 0) {
        larder_status status = last_of(log, written->items[at - 1].number, &last);
        if (status) return status;
        // All writes up to there are of its epoch, or of one before.
        if (place.sequence <= last) return LARDER_OK;
        is_known = begins && last + 1 == next->first_sequence;
    }
    if (!is_known) *out = VERDICT_UNKNOWN;
    else if (place.sequence >= next->first_sequence) *out = VERDICT_REWOUND;
    return LARDER_OK;
}

// Finding -----------------------------------------------------------------------------------------

/** Sets the scan behind the feed's place.
    @param last receives the last write before it that was seen where the log ends; 0 if the log
           does not tell. */
static larder_status set_scan(larder_store_feed *feed, const log_survey *written, uint64_t *last) {
    const uint64_t sequence = feed->place.sequence;
    store_log *log = &feed->log;
    size_t at = written->count - 1;
    // One that was made in advance has a `first` that the log had not come to by then.
    while (at > 0) {
        uint64_t first =
            larder_feed_first_at(log, (location){written->items[at].number, SEGMENT_HEAD_BYTES});
        if (written->items[at].first_sequence <= sequence + 1 && first > 0 && first <= sequence + 1)
            break;
        at--;
    }
    segment *from;
    larder_status status = larder_log_segment(log, written->items[at].number, &from);
    if (!status && from->kind == SEGMENT_CLEANED) {
        larder_log_let_go(log, from->number);
        return ENOENT;
    }
    if (status) return status;
    feed->scan = (log_scan){.log = log, .sequence = sequence, .at = pass(from, sequence, last)};
    larder_bytes bytes;
    bool is_end = at + 1 == written->count &&
                  larder_segment_look(from, feed->scan.at.offset, &bytes) == LARDER_END;
    if (!is_end || *last > sequence) *last = sequence;
    feed->is_placed = true;
    return LARDER_OK;
}

static larder_status rewound_to(larder_store_feed *feed, uint32_t epoch, uint64_t sequence,
                                larder_store_feed_event *event) {
    feed->place = (feed_place){epoch, sequence};
    feed->is_placed = false;
    *event = (larder_store_feed_event){.kind = LARDER_STORE_FEED_REWOUND, .sequence = sequence};
    larder_feed_token_write(feed->store, feed->place, &event->token);
    return LARDER_OK;
}

/** Goes on in a segment of which it is not known what came before. */
static larder_status lost_before(larder_store_feed *feed, const segment_facts *there,
                                 larder_store_feed_event *event) {
    location start = {there->number, SEGMENT_HEAD_BYTES};
    uint64_t first = larder_feed_first_at(&feed->log, start);
    if (first == 0) first = there->first_sequence;
    feed->is_lost = feed->is_placed = false;
    feed->place = (feed_place){there->epoch.number, first > 0 ? first - 1 : 0};
    larder_feed_tell_gap(feed, LARDER_STORE_UNLIMITED, event);
    return LARDER_OK;
}

/** Behind the newest write that the store's handle sees: the `first` of an empty segment does not
    tell, for one that was made in advance may have come late. */
static larder_status newest(const larder_store_feed *feed, feed_place *out) {
    larder_store_token now;
    bool is_other;
    larder_status status = larder_store_token_now(feed->store, &now);
    return status ? status : larder_feed_token_read(feed->store, &now, out, &is_other);
}

/** There is no log yet, nothing in it, or not all that was told: what the store has says whether
    the feed was further. */
static larder_status find_without_log(larder_store_feed *feed, larder_store_feed_event *event) {
    feed_place end;
    if (feed->is_cut || (!feed->is_lost && feed->place.sequence == 0)) return LARDER_END;
    larder_status status = newest(feed, &end);
    // A writer goes on: soon there is a log.
    if (status == LARDER_EBUSY) feed->is_placed = false;
    if (status) return status == LARDER_EBUSY ? LARDER_END : status;
    if (feed->is_lost) {
        feed->is_lost = false;
        feed->place = end;
        larder_feed_tell_gap(feed, LARDER_STORE_UNLIMITED, event);
        return LARDER_OK;
    }
    if (end.sequence >= feed->place.sequence) return LARDER_END;
    return rewound_to(feed, end.epoch, end.sequence, event);
}

static larder_status find_among(larder_store_feed *feed, const log_survey *written,
                                larder_store_feed_event *event) {
    verdict found;
    const segment_facts *later;
    uint64_t last;
    if (written->count == 0) return find_without_log(feed, event);
    if (feed->is_lost) return lost_before(feed, &written->items[0], event);
    larder_status status = judge(&feed->log, written, feed->place, &found, &later);
    if (status) return status;
    if (found == VERDICT_UNKNOWN) return lost_before(feed, later, event);
    if (found == VERDICT_REWOUND)
        return rewound_to(feed, later->epoch.number, later->first_sequence - 1, event);
    feed->judged_epoch = 0;
    for (size_t at = 0; at < written->count; at++)
        if (written->items[at].epoch.number > feed->judged_epoch)
            feed->judged_epoch = written->items[at].epoch.number;
    status = set_scan(feed, written, &last);
    if (status) return status;
    // Nobody can have been told of what is behind the end; a power cut may have taken it, of which
    // a new epoch will tell. Where the store still has it, the log is damaged, and goes on.
    return last < feed->place.sequence ? find_without_log(feed, event) : LARDER_END;
}

larder_status larder_feed_find(larder_store_feed *feed, larder_store_feed_event *event) {
    enum { ATTEMPTS = 16 };
    larder_status status = ENOENT;
    // The log may have gone back, and what it had mapped have come by another file.
    larder_feed_let_go_before(feed, UINT64_MAX);
    // Cleaning may delete what was there a moment ago.
    for (int attempt = 0; attempt < ATTEMPTS && status == ENOENT; attempt++) {
        log_survey written;
        feed->is_cut = larder_feed_is_cut(feed);
        status = list_written(&feed->log, &written);
        if (!status) status = find_among(feed, &written, event);
        larder_log_survey_free(&written);
    }
    // Whether the log goes on from there as it should is to be seen at its end.
    feed->looked_ns = 0;
    return status;
}

/** Whether all that is left of the log from the feed's place on ends there. */
static bool ends_at(const larder_store_feed *feed, location at) {
    log_scan ahead = feed->scan;
    const uint8_t *first;
    uint32_t count;
    segment *from;
    return larder_log_scan_next(&ahead, false, &first, &count, &from) == LARDER_END &&
           compare_locations(ahead.at, at) == 0;
}

/** Whether the store knows of writes behind the place at which the log seems to end: what lies
    there are zeros that nobody wrote. */
static bool is_hole(const larder_store_feed *feed) {
    feed_place end;
    return newest(feed, &end) == LARDER_OK && end.sequence > feed->scan.sequence;
}

larder_status larder_feed_look_behind(larder_store_feed *feed, larder_store_feed_event *event) {
    log_survey written;
    location at = feed->scan.at;
    segment *here;
    larder_bytes bytes;
    bool goes_on = false;
    larder_status status = list_written(&feed->log, &written);
    for (size_t i = 0; i < written.count && !status && !goes_on; i++)
        goes_on = written.items[i].number > at.segment && !written.items[i].is_empty;
    larder_log_survey_free(&written);
    feed->looked_ns = larder_os_monotonic_ns();
    feed->is_unsettled = false;
    if (status || larder_feed_is_cut(feed) || (!goes_on && !is_hole(feed)))
        return status ? status : LARDER_END;
    // The log may have gone on meanwhile, as it should.
    if (larder_log_segment(&feed->log, at.segment, &here) == LARDER_OK &&
        larder_segment_look(here, at.offset, &bytes) != LARDER_END)
        return LARDER_END;
    feed->is_placed = false;
    status = larder_feed_find(feed, event);
    feed->looked_ns = larder_os_monotonic_ns();
    if (status != LARDER_END) return status;
    return ends_at(feed, at) ? larder_feed_pass_damage(feed, event) : EAGAIN;
}

larder_status larder_feed_rewind(larder_store_feed *feed) {
    log_survey written;
    larder_status status = list_written(&feed->log, &written);
    size_t at = 0;
    while (at < written.count && written.items[at].is_empty) at++;
    feed->place = (feed_place){0, 0};
    if (!status && at < written.count) {
        const segment_facts *oldest = &written.items[at];
        uint64_t first =
            larder_feed_first_at(&feed->log, (location){oldest->number, SEGMENT_HEAD_BYTES});
        if (first == 0) first = oldest->first_sequence;
        feed->place = (feed_place){oldest->epoch.number, first > 0 ? first - 1 : 0};
    } else if (!status && at > 0) {
        status = newest(feed, &feed->place);
    }
    larder_log_survey_free(&written);
    return status;
}
