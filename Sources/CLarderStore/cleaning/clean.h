// SPDX-License-Identifier: MIT
/** @file clean.h
    Private: cleaning. What is still needed of segments that hold little of it is copied, in the
    order of keys, and the segments go. It rides on a checkpoint: a moved row costs nothing where
    the page that it lies on is written anyway.

    What is still needed of a victim:
    - a put that the tree leads to;
    - a removal (of a key, or of everything), as long as another segment may hold an older put that
      it has to hide when the tree is rebuilt from the segments alone;
    - of a put whose key the tree does not have (it was evicted, expired or removed): a removal in
      its place, under the same condition, because it hides older puts, too.

    When may a removal of sequence s go? A put that it hides is dead, older than s, and lies in a
    segment S. If S was cleaned as of s or later, its dead puts did not come along. So none is left
    if every other segment with anything dead in it has max(first sequence, as of) >= s. Segments
    that are retired count as well, until their names are off the device. Victims are deleted in the
    order of that maximum, one after the other; so of the other victims those count that come later.
    A removal of everything hides what is older than itself, as long as it is there. */
#ifndef LARDER_CLEAN_H
#define LARDER_CLEAN_H

#include "checkpoint/apply.h"
#include "checkpoint/checkpoint.h"

typedef struct victim {
    uint32_t number;
    /** Where it is mapped; NULL where nothing of it is looked at. */
    const segment *from;
    /** Removals up to this sequence may go. */
    uint64_t forgettable;
    /** Not all that lives in it was found. */
    bool stays;
    /** What a named cursor of a feed may need of it: up to which sequence, and its bytes. 0 of a
        cleaned one, which no feed reads. */
    uint64_t last_sequence, used_bytes;
    /** One needs it. */
    bool is_fed;
} victim;

/** How far copying had come with the last transaction that was committed. */
typedef struct cleaning_mark {
    segment *target;
    uint64_t end, record_count, bare_count, last_sequence, left_bytes;
    size_t made_count;
} cleaning_mark;

/** Segments that are being cleaned, and where their records go. */
typedef struct cleaning {
    store_index *index;
    pending_writes *pending;
    const larder_store_tuning *tuning;
    figures *figures;
    victim *victims;
    size_t victim_count;
    /** meta.applied when it began. */
    uint64_t as_of;
    /** Writes behind this one are kept for feeds; UINT64_MAX without. */
    uint64_t fed_after;
    /** Bytes that may still have to be copied. */
    uint64_t left_bytes;
    /** The one that is being filled. */
    segment *target;
    /** The numbers of those that were made. */
    uint32_t *made;
    size_t made_count, made_capacity;
    cleaning_mark mark;
    /** What the log's next segment will have: so much may be taken beyond the bound. */
    uint64_t next_capacity;
    /** The largest usual one. */
    uint64_t segment_max_bytes;
    /** Values are limited: the log has to keep to its bound however much is written. */
    bool is_limited;
    /** Bytes that may still be copied, but for the first victim that has any, before what was
        copied before has given back its room. */
    uint64_t copies_bytes;
    bool has_copies;
    /** Bytes that copies may take, those of the first victim, and bytes that have to come free
        beyond the bound. */
    uint64_t room_bytes, first_bytes, wanted_bytes;
    /** Bytes that were read of victims for the same order. */
    uint64_t cleaned_bytes;
    /** There is little room: new segments are no larger than what they hold, nor than so much. */
    bool is_short;
    uint64_t target_most_bytes;
    /** A segment is worth cleaning that there is no room for now. */
    bool is_cut;
} cleaning;

/** Whether there is a segment that nothing leads to. */
bool larder_cleaning_has_dead(const store_index *index);
/** Chooses victims, as far as an order and the space ask for any: no more than there is room to
    copy. Of `work` the parts of the store are given. larder_cleaning_end follows in any case. */
LARDER_MUST_CHECK larder_status larder_cleaning_begin(cleaning *work, const flush_order *order);
/** Adds the victims' records behind `count` writes; `writes` grows. */
LARDER_MUST_CHECK larder_status larder_cleaning_gather(cleaning *work, sorted_write **writes,
                                                       uint32_t *count);
/** To be called when a transaction is committed, and before each begins: what one copied that was
    not committed is not there any more. */
void larder_cleaning_commit(cleaning *work);
void larder_cleaning_rewind(cleaning *work);
/** Deals with one record of a victim: copies it, and moves its row. */
LARDER_MUST_CHECK larder_status larder_cleaning_move(cleaning *work, apply_txn *apply,
                                                     const sorted_write *found);
/** What was copied goes to the device, before the commit of the rows that lead there, and its
    figures into the transaction. */
LARDER_MUST_CHECK larder_status larder_cleaning_settle(cleaning *work, apply_txn *apply);
/** In the last transaction: the victims' rows go. */
LARDER_MUST_CHECK larder_status larder_cleaning_retire(cleaning *work, apply_txn *apply);
/** After the last commit the victims are retired; after a failure, with transaction 0, segments go
    that no commit leads to. */
void larder_cleaning_end(cleaning *work, uint64_t transaction);
/** Notes a segment that nothing leads to, as from `transaction` on.
    @param is_unproven it was found when the store was opened: it goes only if each of its records
           lies elsewhere too, or was replaced. */
LARDER_MUST_CHECK larder_status larder_segment_retire(store_index *index, store_log *log,
                                                      uint32_t number, uint64_t transaction,
                                                      bool is_unproven);
/** Leaves a segment that nothing leads to as it is, for salvage: it is never cleaned. */
LARDER_MUST_CHECK larder_status larder_segment_keep(store_index *index, store_log *log,
                                                    uint32_t number);
/** Whether all that a segment holds, to which nothing leads, is in other segments, or was replaced:
    it is for each of its records that the tree's row leads to an intact one, or names another
    write. O(its records). */
LARDER_MUST_CHECK larder_status larder_segment_prove(store_index *index, store_log *log,
                                                     uint32_t number, bool *is_superfluous);
/** Behind which sequence named cursors of feeds need the log, each no more of it than it may lag.
    UINT64_MAX if none does. The lock of the index is held. O(cursors · segments · those that fall
    out). */
uint64_t larder_cleaning_fed_after(const store_index *index);
/** Whether retired segments stay because of a state that somebody looks at, not of a cursor. The
    lock of the index is held. */
bool larder_segments_are_looked_at(const store_index *index, const flush_order *order);
/** Deletes segments that no state needs any more; those that cursors need, too, as long as the file
    system has not the room that the order asks for. The lock of the index is held. */
void larder_segments_delete_retired(larder_store *store, flush_order *order);

#endif
