// SPDX-License-Identifier: MIT
/** @file expiry.h
    Private: what makes entries go by themselves: the limits, the time, and the reads that count. */
#ifndef LARDER_EXPIRY_H
#define LARDER_EXPIRY_H

#include "format/record.h"
#include "larder_os_machine.h"

typedef struct store_expiry {
    /** NULL for the system's. */
    int64_t (*clock)(void *context);
    void *context;
    /** Copies of the limits for those who read without the pending lock. */
    _Atomic int64_t age_ns, end_ns;
    /** How long what has expired is kept. */
    int64_t grace_ns;
    /** Reads are noted for the order of use. */
    _Atomic bool tracks_access;
    _Atomic uint64_t read_number;
    /** The pending lock guards the rest. */
    larder_store_limits limits;
    /** There may be something to expire, or a limit that time or the file system decides about. */
    bool may_expire;
} store_expiry;

static inline int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t later_by(int64_t time, int64_t span) {
    int64_t sum;
    if (span == LARDER_STORE_NEVER) return LARDER_STORE_NEVER;
    if (__builtin_add_overflow(time, span, &sum)) return span < 0 ? INT64_MIN : LARDER_STORE_NEVER;
    return sum;
}

/** Later deadlines, from 2116 on, have no row among those to expire: of elements that have one only
    so that their reads are noted, each row would cost as much as an index. */
#define EXPIRY_ROWS_END_NS ((int64_t)1 << 62)

static inline int64_t expiry_now(const store_expiry *expiry) {
    if (expiry->clock != NULL) return expiry->clock(expiry->context);
    return larder_os_wall_clock_ns();
}
/** What expires up to this time is to be removed. */
static inline int64_t expiry_removes_before(const store_expiry *expiry) {
    int64_t grace = expiry->grace_ns, end;
    return __builtin_sub_overflow(expiry_now(expiry), grace, &end) ? INT64_MIN : end;
}
/** Whether something may have expired that had no row. */
static inline bool expiry_is_behind_rows(const store_expiry *expiry) {
    return expiry_now(expiry) >= EXPIRY_ROWS_END_NS;
}

// Renewals: the touch of an entry that is renewable says when that was, later by its idle time, and
// no read moves it.

static inline bool record_is_renewable(const record *entry) {
    return entry->idle_ns == LARDER_STORE_RENEWABLE;
}
/** The idle time that reads count for. */
static inline int64_t idle_of_reads(int64_t idle_ns) {
    return idle_ns == LARDER_STORE_RENEWABLE ? LARDER_STORE_NEVER : idle_ns;
}
/** When it expires by its own times if nobody reads it. */
static inline int64_t record_own_deadline(const record *entry) {
    return earlier(entry->expires_ns, later_by(entry->written_ns, idle_of_reads(entry->idle_ns)));
}
/** What reads and renewals move: of one that is renewable it says when that was done, no more. */
static inline int64_t record_first_deadline(const record *entry) {
    return record_is_renewable(entry) ? later_by(entry->written_ns, entry->idle_ns)
                                      : record_own_deadline(entry);
}
/** Moves the times of an entry that is renewable to its last renewal, which a touch has left. */
static inline void record_renew(record *entry, int64_t touched_ns) {
    int64_t by;
    // Others may have touched what the key had before.
    if (touched_ns < LARDER_STORE_RENEWABLE || touched_ns == LARDER_STORE_NEVER ||
        __builtin_sub_overflow(touched_ns - LARDER_STORE_RENEWABLE, entry->written_ns, &by) ||
        by <= 0)
        return;
    entry->written_ns += by;
    if (entry->expires_ns != LARDER_STORE_NEVER)
        entry->expires_ns = later_by(entry->expires_ns, by);
    if (entry->refresh_ns != LARDER_STORE_NEVER)
        entry->refresh_ns = later_by(entry->refresh_ns, by);
}

/** The earliest of the deadline, by an entry's own times and reads, and the limits' times. */
static inline int64_t expiry_due(const store_expiry *terms, const record *entry, int64_t deadline) {
    if ((entry->flags & RECORD_OWN_TIMES) != 0) return deadline;
    int64_t age = atomic_load_explicit(&terms->age_ns, memory_order_relaxed);
    int64_t end = atomic_load_explicit(&terms->end_ns, memory_order_relaxed);
    return earlier(earlier(deadline, end), later_by(entry->written_ns, age));
}

#endif
