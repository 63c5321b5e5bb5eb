// SPDX-License-Identifier: MIT
/** @file scan.h
    Private: following the log from one write to the next, for recovery, for readers elsewhere, and
    for salvage. Nothing is taken on trust: a damaged or foreign segment ends a scan, no more. */
#ifndef LARDER_SCAN_H
#define LARDER_SCAN_H

#include "log/log.h"

/** Starts as {log, at, sequence}; belongs to one thread. */
typedef struct log_scan {
    store_log *log;
    /** Where it reads on; after LARDER_EDAMAGED, what is damaged. Behind the last record of a
        segment it stays there as long as the next segment is missing. */
    location at;
    /** Of the last write that it gave. */
    uint64_t sequence;
    /** Writes that it skipped. */
    uint64_t lost;
    /** The next one need not have the next number. */
    bool has_resynced;
    /** Where nothing more was written, look at all that lies behind, in this segment and in later
        ones: then something is missing. Not at `closed_at`, where a writer ended that closed. */
    bool looks_behind;
    location closed_at;
    /** After a power cut: everything up to there was synced at least. */
    bool was_cut;
    location synced;
} log_scan;

/** Gives the next write, whole: `count` records at `first`, in `from`.
    @param verifies checksums too.
    @return LARDER_OK; LARDER_END: nothing was written yet; LARDER_EDAMAGED: something is there that
            is not a whole write with the next number, or the segment that the last one names is
            missing, or, where it looks behind, nothing is there and more comes later; or an
            errno. */
LARDER_MUST_CHECK larder_status larder_log_scan_next(log_scan *scan, bool verifies,
                                                     const uint8_t **first, uint32_t *count,
                                                     segment **from);
/** Searches after the damage for the next sound record in the same segment that a write begins
    with or that leads to the next segment; without one, for the segment that the log goes on in.
    Then the scan continues there, and after the write that it returns next, `lost` includes those
    that were skipped.
    @return false if there is none; or if a power cut may have torn something off between what was
            synced and that place: then the log ends here. */
bool larder_log_scan_resync(log_scan *scan);

#endif
