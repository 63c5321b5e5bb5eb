// SPDX-License-Identifier: MIT
/** @file log.h
    Private: everything that was written, in segments. The log is the data; LMDB's tree says where
    in it a value is.

    Records are appended to the active segment. When it is full it is sealed by a record that names
    the next one, so that whoever reads along or recovers follows a chain that ends where a record
    is missing. Segments of kind SEGMENT_CLEANED are no part of the chain.

    The pending lock guards the appending half (`active`, `last_sequence`, `unapplied_bytes`), its
    sync lock the syncing half. Looking for a segment needs no lock. */
#ifndef LARDER_LOG_H
#define LARDER_LOG_H

#include <pthread.h>

#include "log/segment_table.h"

typedef struct store_log {
    /** Of `<store>/log`; open only for those between larder_log_enter and larder_log_leave, else
        -1. */
    int folder;
    uint32_t folder_users;
    /** Where that is, and which folder it was when it was first opened: the inode is 0 before. NULL
        as long as the log is not open. */
    char *path;
    larder_os_facts place;
    /** See larder_log_hold; the inode is 0 before. */
    char *lock_path;
    larder_os_facts lock;
    uint64_t store_id;
    uint32_t mode;
    bool is_read_only;
    /** Nothing keeps the tree's pages and the segments from a writer: what is read is taken from
        segments alone, and those stay mapped. */
    bool is_unprotected;
    segment_table table;
    /** Guards making, mapping, and retiring segments, and who uses `folder`. */
    pthread_mutex_t table_lock;
    /** Where records go; NULL before the first write. */
    segment *active;
    /** Made in advance; NULL if there is none. */
    segment *spare;
    uint32_t next_number;
    /** The last one that was, or is being, made in advance: its file may be there. */
    uint32_t prepared;
    /** Of the last record that is there. */
    uint64_t last_sequence;
    /** Of the segments that are made: see StoreProtocol.md, I15. */
    uint32_t epoch;
    /** Bytes and records behind what the tree has. */
    uint64_t unapplied_bytes;
    /** Of the segments that lie in the chain and may not be on the device: the first one. */
    uint32_t first_unsynced;
    uint64_t synced_sequence;
    /** Behind it. */
    location synced_end;
    uint64_t segment_min_bytes, segment_max_bytes;
    /** No usual segment is larger: there is little room. 0 for no limit. */
    uint64_t capacity_limit_bytes;
} store_log;

/** Opens `<store>/log`, making it if it is missing and the handle may write.
    @param store the path of the store's folder.
    @return LARDER_OK, and only then there is something to close; ENOENT; ENOTDIR; an errno. */
LARDER_MUST_CHECK larder_status larder_log_open(const char *store, uint64_t store_id, uint32_t mode,
                                                bool is_read_only, store_log *out);
/** From now on the log's folder is the same only beside this file, `<store>/lock`, which whoever
    may write has locked. */
LARDER_MUST_CHECK larder_status larder_log_hold(store_log *log, int lock_file);
/** Opens the folder, if it is still the same, for whoever uses `folder` until larder_log_leave; the
    calls below do so themselves. An idle store has no descriptor of it.
    @return LARDER_OK; LARDER_EREPLACED if it was moved, deleted or replaced, or the locked file
            was; ENOENT if it has never been there; or an errno. */
LARDER_MUST_CHECK larder_status larder_log_enter(store_log *log);
void larder_log_leave(store_log *log);
/** Ends all mappings. */
void larder_log_close(store_log *log);

/** The segment of that number, mapped; takes no lock if it was mapped before. For those that a row
    or the log leads to, whose numbers are not given again.
    @return LARDER_OK; ENOENT, LARDER_EDAMAGED … as larder_segment_open. */
LARDER_MUST_CHECK larder_status larder_log_segment(store_log *log, uint32_t number, segment **out);
/** Opens one apart from the table, to be closed by the caller, for whoever looks for where the log
    goes on: what nothing leads to may be removed by whoever writes, and its number be given to
    another file. As larder_segment_open. */
LARDER_MUST_CHECK larder_status larder_log_peek(store_log *log, uint32_t number, segment **out);
/** The bytes of the record at `at`, not verified; borrowed until the segment is retired.
    @return LARDER_OK; LARDER_EDAMAGED (also where the segment is missing), or an errno. */
LARDER_MUST_CHECK larder_status larder_log_record(store_log *log, location at, larder_bytes *out);
/** The record that an entry's row leads to: inline, or in its segment. Not verified, but for what
    the row says of it: sequence, minor, and that it is a put.
    @return LARDER_OK; LARDER_EDAMAGED, or an errno.
    @param number receives that of the segment that it lies in, 0 for inline. */
LARDER_MUST_CHECK larder_status larder_log_row(store_log *log, larder_bytes row,
                                               larder_bytes *record, uint32_t *number);

/** Asks for the memory of the record at `at`: the processor goes on meanwhile. */
void larder_log_prefetch(const store_log *log, location at);

/** Room for `length` bytes of records, a multiple of 8; the pending lock is held. A full segment is
    sealed, and the spare or a new one becomes the active one. Nothing has changed if that fails.
    @param uses_reserve may use what is left for removals.
    @return LARDER_OK; LARDER_ETOOLARGE; ENOSPC … as larder_segment_create. */
LARDER_MUST_CHECK larder_status larder_log_reserve(store_log *log, size_t length, bool uses_reserve,
                                                   uint8_t **target);
/** The same for a removal where no segment can be made: from what the active one keeps back.
    ENOSPC. */
LARDER_MUST_CHECK larder_status larder_log_reserve_kept(store_log *log, size_t length,
                                                        uint8_t **out);
/** Whether so much asks for another segment. */
bool larder_log_turns_over(const store_log *log, size_t length);
/** Seals the active segment, if anything was written to it, and goes on in one of the least size;
    the pending lock is held. */
LARDER_MUST_CHECK larder_status larder_log_turn_over(store_log *log);
/** Publishes the records that were written there, all with the sequence last_sequence + 1.
    @param length as reserved.
    @param first_word of the first record: its length and checksum, which are not there yet. */
void larder_log_publish(store_log *log, size_t length, uint32_t count, uint64_t first_word);
/** Makes a spare segment if the active one is half full; without the pending lock, by one thread at
    a time. A failure is the next rotation's. */
void larder_log_prepare(store_log *log, pthread_mutex_t *pending_lock);
/** Removes the spare segment, if there is one. */
void larder_log_drop_spare(store_log *log);
/** What the next new segment will have. */
uint64_t larder_log_next_capacity(const store_log *log);

/** Everything up to the end of the log as it is now to the device, in the order of the chain.
    @param pending_lock to be taken for a moment.
    The caller holds the sync lock. After a failure nothing of it is believed: the next call makes
    the pages dirty again. */
LARDER_MUST_CHECK larder_status larder_log_sync(store_log *log, pthread_mutex_t *pending_lock);

/** After opening: what the log holds is on the device, as the last handle that wrote has made sure.
    */
void larder_log_trust(store_log *log);

/** Makes a segment for cleaning. */
LARDER_MUST_CHECK larder_status larder_log_create_cleaned(store_log *log,
                                                          pthread_mutex_t *pending_lock,
                                                          uint64_t capacity,
                                                          uint64_t first_sequence, uint64_t as_of,
                                                          segment **out);
/** Makes the segment in which the log goes on in another epoch, behind `last_sequence`, and has it
    and its name on the device; it is not the active one yet. */
LARDER_MUST_CHECK larder_status larder_log_begin_epoch(store_log *log, segment_epoch epoch,
                                                       segment **out);
/** Takes a segment out of the table; ends the mapping, of which what is lent out is kept. */
void larder_log_let_go(store_log *log, uint32_t number);
/** Takes a segment out of the table and removes its file; ends the mapping, of which what is lent
    out is kept as a copy. Nobody looks for it any more.
    @return LARDER_OK, or why its file is still there; the call can be repeated. */
larder_status larder_log_remove(store_log *log, uint32_t number);
/** For a read-only handle: releases segments whose files the writer has deleted, which it does when
    no snapshot, of this process or another, leads there. Otherwise they would keep their space on
    the disk. */
void larder_log_drop_missing(store_log *log);
#endif
