// SPDX-License-Identifier: MIT
/** @file read.h
    Private: what reading one entry, many, and noting that share. */
#ifndef LARDER_READ_H
#define LARDER_READ_H

#include "handle/handle.h"
#include "log/survey.h"

/** A write, for good: sequences alone are assigned again after a power cut. */
typedef struct feed_place {
    uint32_t epoch;
    uint64_t sequence;
} feed_place;

// get.c
/** Until when the entry lives for its last read that the tree knows of; of one that can be renewed,
    when that was done. Of an entry with RECORD_IDLES. */
int64_t larder_idle_deadline(const snapshot *place, const record *entry);
/** When the entry expires, by its own times and the last read, not by the store's limits. The times
    of one that was renewed are moved to that. A handle that only reads knows the reads that a
    checkpoint has folded in. Only if a checkpoint has ended since the caller took its place, a read
    may be missed. Waits for nobody, and takes the pending lock only while a checkpoint folds reads
    in.
    @param is_locked the caller has the pending lock. */
int64_t larder_store_deadline(larder_store *store, const snapshot *place, record *entry,
                              bool is_locked);
/** Whether an entry has expired, by `deadline` and the store's limits of age and end. */
bool larder_store_is_expired(const larder_store *store, const record *entry, int64_t deadline);
/** What the tree has of the entry with that key of its rows.
    @return LARDER_OK; LARDER_ENOTFOUND; LARDER_EDAMAGED, also where a row beside its place may be
            the entry's, under a key that has changed; EAGAIN of a tree that waits for no page. */
LARDER_MUST_CHECK larder_status larder_store_find_row(larder_store *store, const snapshot *seen,
                                                      const tree_key *wanted, larder_bytes *row);
/** The version of the entry under `key`, 0 if there is none or it expired; the pending lock is
    held. */
LARDER_MUST_CHECK larder_status larder_store_version(larder_store *store, larder_bytes key,
                                                     uint64_t *sequence);
/** As larder_store_totals, by who has the pending lock; EAGAIN: release it, and look again. */
LARDER_MUST_CHECK larder_status larder_store_totals_look(larder_store *store, uint64_t *count,
                                                         uint64_t *bytes);
/** Turns a record into an entry: verified before by the caller, who sees to expiry. Bytes stay
    borrowed from where the record lies. `number`: of its segment, 0 for inline. */
void larder_store_entry_of_record(larder_store *store, const record *found, int64_t deadline,
                                  uint32_t flags, uint32_t number, larder_store_entry *entry);

// follow.c
/** Prepares a handle that only reads, which has just been opened.
    @param there what lies in the log. */
void larder_store_follow_begin(larder_store *store, const log_survey *there);
/** Takes a reader's slot, to be released, of a state that everything belongs to that was written
    before; the pending lock is held. Of what is pending a handle that writes needs all, whatever
    the tree has of it by then; a read-only one only what is newer than the slot's meta.applied:
    another process writes, and the tree may be newer than what was followed. As store_enter, too.
    */
LARDER_MUST_CHECK larder_status larder_store_look(larder_store *store, bool is_long,
                                                  snapshot **out);
/** The newest write of a state that was just looked at; the pending lock is held. */
LARDER_MUST_CHECK larder_status larder_store_newest(larder_store *store, const snapshot *seen,
                                                    feed_place *out);

// touch.c
/** Notes a read of an entry with that idle time, LARDER_STORE_NEVER for none; or that the write
    `renewed` was renewed, NULL for a read.
    @return the hash of the stored key */
uint64_t larder_store_touch(larder_store *store, snapshot *seen, larder_bytes stored,
                            int64_t idle_ns, const stamp *renewed);

#endif
