// SPDX-License-Identifier: MIT
/** @file apply.h
    Private: one LMDB transaction of a checkpoint, and the entries that come and go in it. */
#ifndef LARDER_APPLY_H
#define LARDER_APPLY_H

#include "handle/handle.h"
#include "lmdb/rows.h"

typedef struct apply_txn {
    larder_store *store;
    environment *environment;
    MDB_txn *txn;
    MDB_dbi main;
    MDB_cursor *entries;
    store_meta meta;
    row_list rows;
    /** Bytes that segments keep, as the transaction leaves them. */
    live_table live;
    int64_t now_ns;
    /** There are rows of SPACE_RECENCY. */
    bool has_recency;
    /** There are rows of deadlines that have none any more. */
    bool has_late_rows;
    /** A row was replaced that was damaged. */
    bool has_damaged_row;
    /** Evicted or expired in this transaction: what lies under pending writes has changed. */
    uint64_t evicted, expired;
    /** Rows that passes went over. */
    uint64_t passed;
    /** What passes keep to. */
    const larder_store_limits *limits;
    /** Eviction leaves what was read just now, and so many it left. */
    bool spares;
    uint64_t spared;
} apply_txn;

/** Runs `body` in a transaction and commits; again from the start when the map had to grow. Then
    the store has what follows for `live`, and `out` what else the transaction came to. Where `body`
    gives LARDER_END, nothing is committed. */
typedef larder_status (*apply_body)(apply_txn *apply, void *context);
LARDER_MUST_CHECK larder_status larder_apply_run(larder_store *store, apply_body body,
                                                 void *context, apply_txn *out);

/** Moves the cursor `entries`: to the first row from `key` on (MDB_SET_RANGE), or to the one behind
    it (MDB_NEXT). After a look at the pages that this leads
    to: LMDB trusts what it reads, too.
    @return LARDER_OK; LARDER_END; LARDER_EDAMAGED, or an errno. */
LARDER_MUST_CHECK larder_status larder_apply_seek(apply_txn *apply, MDB_cursor_op where,
                                                  MDB_val *key, MDB_val *value);
/** The row of `key`, borrowed until the next change; the cursor moves there. As larder_apply_seek.
    */
LARDER_MUST_CHECK larder_status larder_apply_get(apply_txn *apply, const tree_key *key,
                                                 larder_bytes *row);
/** Puts a row, or deletes it if `value` is NULL, after a look at the pages that this changes. */
LARDER_MUST_CHECK larder_status larder_apply_row(apply_txn *apply, const tree_key *key,
                                                 const larder_bytes *value);
/** Applies `rows`. */
LARDER_MUST_CHECK larder_status larder_apply_rows(apply_txn *apply);

/** When an entry was used last, by what is folded in, its deadline, and under which one it stands
    among those to expire. */
typedef struct entry_state {
    stamp at;
    int64_t deadline_ns;
    int64_t armed_ns;
    bool has_row;
} entry_state;

/** An entry of the tree: its row, and of its record what is needed to take it out. Where the row
    alone tells, the record is not read, and has no key and no times; nor where it is damaged. */
typedef struct apply_entry {
    entry_row row;
    record record;
    /** Not even its row can be read: nothing else is known. */
    bool is_damaged;
    /** Bytes of its record with padding; 0 if there is no telling. */
    size_t padded;
    /** Whether it is damaged, so that nobody knows all of its rows in indexes. */
    bool leaves_strays;
    entry_state state;
} apply_entry;
/** The entry under a stored key. LARDER_ENOTFOUND. Borrowed until the transaction's next write.
    @param key receives its row's. */
LARDER_MUST_CHECK larder_status larder_apply_find(apply_txn *apply, larder_bytes stored,
                                                  tree_key *key, apply_entry *out);
/** Sets the row of an entry that was read since it was written: once `rows` are applied. */
LARDER_MUST_CHECK larder_status larder_apply_set_state(apply_txn *apply, larder_bytes stored,
                                                       const entry_state *state);
/** Moves an entry among those to expire, once `rows` are applied; LARDER_STORE_NEVER for a place
    that it does not have. */
LARDER_MUST_CHECK larder_status larder_apply_arm(apply_txn *apply, larder_bytes stored,
                                                 const record *entry, int64_t from_ns,
                                                 int64_t to_ns);
/** Takes an entry out altogether. */
LARDER_MUST_CHECK larder_status larder_apply_remove(apply_txn *apply, larder_bytes stored,
                                                    const apply_entry *old);
/** Bytes of a segment come to life, or die. */
LARDER_MUST_CHECK larder_status larder_apply_live(apply_txn *apply, uint32_t segment, size_t padded,
                                                  bool is_dead);
/** What there is in a segment, up to its end, counts from now on.
    @param frozen if the log still goes on in it: up to the end of that memtable. NULL. */
LARDER_MUST_CHECK larder_status larder_apply_measure(apply_txn *apply, const segment *from,
                                                     const memtable *frozen);
/** A write: `record`, which lies, or lay, at `where`, wherever it can be read. */
LARDER_MUST_CHECK larder_status larder_apply_write(apply_txn *apply, const uint8_t *record,
                                                   location where);
/** Rows in the order of use of everything in a memtable that was not replaced in it. */
LARDER_MUST_CHECK larder_status larder_apply_order(apply_txn *apply, const memtable *from);
/** Everything goes that was written before. */
LARDER_MUST_CHECK larder_status larder_apply_clear(apply_txn *apply, uint64_t sequence);

/** Folds reads into the order of use. */
LARDER_MUST_CHECK larder_status larder_apply_touches(apply_txn *apply, const touch_buffer *touches,
                                                     uint32_t from, uint32_t to);

/** What a pass does with a row that leads to an entry: NULL if that is gone, or even its row is
    damaged. Its changes go into `rows`, but for whole entries. LARDER_END ends the pass. */
typedef larder_status pass_body(apply_txn *apply, const tree_key *row, larder_bytes stored,
                                const apply_entry *entry);
pass_body larder_pass_expiry, larder_pass_eviction, larder_pass_sweep, larder_pass_order_clear,
    larder_pass_order_make;
/** Goes over the rows of one name space from `from` on, about `most` of them; `from` moves on.
    `is_done` receives whether that was all. */
LARDER_MUST_CHECK larder_status larder_apply_pass(apply_txn *apply, pass_body *body, uint64_t most,
                                                  tree_key *from, bool *is_done);
bool larder_apply_is_within_limits(const apply_txn *apply);
/** When an entry stands among those to expire, unless SPACE_RECENCY says otherwise. */
int64_t larder_apply_default_due(const record *entry, int64_t age_ns);

#endif
