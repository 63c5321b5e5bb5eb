// SPDX-License-Identifier: MIT
/** @file entry.h
    Private: when entries expire, and their rows and records. */
#ifndef LARDER_ENTRY_H
#define LARDER_ENTRY_H

#include "handle/handle.h"

// expiry.c
static inline int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t later_by(int64_t time, int64_t span) {
    int64_t sum;
    if (span == LARDER_STORE_NEVER) return LARDER_STORE_NEVER;
    if (__builtin_add_overflow(time, span, &sum)) return span < 0 ? INT64_MIN : LARDER_STORE_NEVER;
    return sum;
}
int64_t larder_store_now(const larder_store *store);
/** When the entry expires, by its own times and the last read that was folded in or is in no
    reader's buffer; not by the store's limits. */
int64_t larder_store_deadline(const snapshot *snapshot, const record *entry);
/** Whether an entry of `place` has expired, by `deadline` and the store's limits of age and end.
    One with an idle time may have been read since, which was not folded in.
    @param is_locked the caller has `lock`. */
bool larder_store_is_expired(larder_store *store, const snapshot *place, const record *entry,
                             int64_t deadline, bool is_locked);
/** The earliest of these times. */
int64_t larder_store_due(const larder_store *store, const record *entry, int64_t deadline);

// entry.c
/** The record that an entry's row leads to: inline, or in its segment. Not verified, but for what
    the row says of it: sequence, minor, and that it is a put.
    @return LARDER_OK; LARDER_EDAMAGED, or an errno.
    @param number receives that of the segment that it lies in, 0 for inline. */
LARDER_MUST_CHECK larder_status larder_store_record_of_row(larder_store *store, larder_bytes row,
                                                           larder_bytes *bytes, uint32_t *number);

/** Turns a record into an entry: verified before by the caller, who sees to expiry. Bytes stay
    borrowed from where the record lies. `number`: of its segment, 0 for inline. */
void larder_store_entry_of_record(larder_store *store, const record *found, int64_t deadline,
                                  uint32_t flags, uint32_t number, larder_store_entry *entry);

#endif
