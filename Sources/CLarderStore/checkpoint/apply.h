// SPDX-License-Identifier: MIT
/** @file apply.h
    Private: one LMDB transaction of a checkpoint, and the entries that come and go in it. */
#ifndef LARDER_APPLY_H
#define LARDER_APPLY_H

#include "lmdb/rows.h"
#include "store/store_internal.h"

typedef struct apply_transaction {
    larder_store *store;
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
    /** Evicted or expired in this transaction: what lies under pending writes has changed. */
    uint64_t evicted;
    uint64_t expired;
    /** How far the sweep came, for after the commit. */
    tree_key swept_to;
    int64_t swept_age_ns;
    bool has_swept;
} apply_transaction;

/** Begins a transaction and reads its meta record. */
LARDER_MUST_CHECK larder_status apply_begin(larder_store *store, apply_transaction *out);
/** Writes the meta record and commits; then tells the store of it.
    @return LARDER_OK; EAGAIN: the map was too small and has grown, everything again. */
LARDER_MUST_CHECK larder_status apply_commit(apply_transaction *apply);
void apply_abort(apply_transaction *apply);
/** Runs `body` in a transaction; again when the map had to grow.
    @param committed receives what the transaction left as the meta record. */
typedef larder_status (*apply_body)(apply_transaction *apply, void *context);
LARDER_MUST_CHECK larder_status apply_run(larder_store *store, apply_body body, void *context,
                                          store_meta *committed);

/** The row of `key`, or the next one behind it; and the one behind `key`, where the cursor is.
    After a look at the pages that this leads to: LMDB trusts what it reads, too.
    @return LARDER_OK; LARDER_END; LARDER_EDAMAGED, or an errno. */
LARDER_MUST_CHECK larder_status apply_seek(apply_transaction *apply, MDB_val *key, MDB_val *value);
LARDER_MUST_CHECK larder_status apply_next(apply_transaction *apply, MDB_val *key, MDB_val *value);
/** Writes a row, or deletes it, after a look at the pages that this changes. */
LARDER_MUST_CHECK larder_status apply_put_row(apply_transaction *apply, const tree_key *key,
                                              larder_bytes value);
LARDER_MUST_CHECK larder_status apply_delete_row(apply_transaction *apply, const tree_key *key);
/** Before a change at `key`. */
LARDER_MUST_CHECK larder_status apply_guard(apply_transaction *apply, const tree_key *key);
/** Codes of LMDB as ours; MDB_MAP_FULL as EAGAIN. */
larder_status apply_status(int code);

/** An entry of the tree: its row, and of its record what is needed to take it out. Where the row
    alone tells, the record is not read, and has no key and no times; nor where it is damaged. */
typedef struct apply_entry {
    entry_row row;
    record record;
    /** Bytes of its record with padding; 0 if there is no telling. */
    size_t padded;
} apply_entry;
/** The entry under a stored key. LARDER_ENOTFOUND; LARDER_EDAMAGED: not even its row can be read.
    Borrowed until the transaction's next write. */
LARDER_MUST_CHECK larder_status apply_find(apply_transaction *apply, larder_bytes stored,
                                           apply_entry *out);
/** The same of a row that was found. */
LARDER_MUST_CHECK larder_status apply_entry_of_row(apply_transaction *apply, larder_bytes stored,
                                                   larder_bytes row, apply_entry *out);
/** When an entry was used last, by what is folded in, its deadline, and under which one it stands
    among those to expire. */
typedef struct entry_state {
    stamp at;
    int64_t deadline_ns;
    int64_t armed_ns;
    bool has_row;
} entry_state;
void apply_state(apply_transaction *apply, larder_bytes stored, const record *entry,
                 entry_state *out);
/** Sets the row of an entry that was read since it was written. */
LARDER_MUST_CHECK larder_status apply_set_state(apply_transaction *apply, larder_bytes stored,
                                                const entry_state *state);

/** Rows of `old`, which goes, deleted, and its bytes no longer live. */
LARDER_MUST_CHECK larder_status apply_retire(apply_transaction *apply, larder_bytes stored,
                                             const apply_entry *old);
/** Takes an entry out altogether. */
LARDER_MUST_CHECK larder_status apply_remove(apply_transaction *apply, larder_bytes stored,
                                             const apply_entry *old);
/** Bytes of a segment come to life, or die. */
LARDER_MUST_CHECK larder_status apply_live(apply_transaction *apply, uint32_t segment,
                                           size_t padded, bool is_dead);
/** What there is in a segment, as far as it counts from now on. */
LARDER_MUST_CHECK larder_status apply_measure(apply_transaction *apply, const segment *from,
                                              uint64_t used_bytes, uint64_t record_count,
                                              uint64_t bare_count, uint64_t last_sequence);
/** A write: `record` lies in `segment`. */
LARDER_MUST_CHECK larder_status apply_write(apply_transaction *apply, const uint8_t *record,
                                            uint32_t segment);
/** The same of a record that lies, or lay, at `where`, wherever it can be read. */
LARDER_MUST_CHECK larder_status apply_write_at(apply_transaction *apply, const uint8_t *record,
                                               location where);
/** The row in the order of use of a put that was written. */
LARDER_MUST_CHECK larder_status apply_order_put(apply_transaction *apply, const uint8_t *at);
/** Everything goes that was written before. */
LARDER_MUST_CHECK larder_status apply_clear(apply_transaction *apply, uint64_t sequence);
/** Gives entries from `from` on their rows in the order of use, up to `most`; `from` moves on.
    `is_done` receives whether all have theirs. */
LARDER_MUST_CHECK larder_status apply_order_all(apply_transaction *apply, tree_key *from,
                                                uint64_t most, bool *is_done);

/** Folds reads into the order of use. */
LARDER_MUST_CHECK larder_status apply_touches(apply_transaction *apply, touch_buffer *touches);
/** Removes what expired: up to `most` rows. `is_done` receives whether that was all. */
LARDER_MUST_CHECK larder_status apply_expiry(apply_transaction *apply, uint64_t most,
                                             bool *is_done);
/** Evicts the least recently used until the limits hold: up to `most` entries. */
LARDER_MUST_CHECK larder_status apply_eviction(apply_transaction *apply, uint64_t count,
                                               uint64_t bytes, uint64_t most, bool *is_done);
/** Goes over all entries, up to `most` of them at a time: removes what the limits of age and end
    let expire, and gives the others their deadlines in the tree. */
LARDER_MUST_CHECK larder_status apply_sweep(apply_transaction *apply,
                                            const larder_store_limits *limits, uint64_t most,
                                            bool *is_done);
/** When an entry stands among those to expire, unless SPACE_RECENCY says otherwise. */
int64_t apply_default_due(const record *entry, int64_t age_ns);

#endif
