// SPDX-License-Identifier: MIT
/** @file apply.h
    Private: one LMDB transaction of the flusher, and the entries that come and go in it. */
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

/** Codes of LMDB as ours; MDB_MAP_FULL as EAGAIN. */
larder_status apply_status(int code);

/** The entry under a stored key. LARDER_ENOTFOUND; LARDER_EDAMAGED. Borrowed from the transaction:
    until its next write. */
LARDER_MUST_CHECK larder_status apply_find(apply_transaction *apply, larder_bytes stored,
                                           record *out);
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

/** Rows of `old`, which goes, deleted; and its file, unless `replacement` has the same. NULL if
    nothing replaces it. */
LARDER_MUST_CHECK larder_status apply_retire(apply_transaction *apply, larder_bytes stored,
                                             const record *old, const record *replacement);
/** Rows of an entry that comes, but that of the order of use. */
LARDER_MUST_CHECK larder_status apply_install(apply_transaction *apply, larder_bytes stored,
                                              const record *fresh);
/** Takes an entry out altogether. */
LARDER_MUST_CHECK larder_status apply_remove(apply_transaction *apply, larder_bytes stored,
                                             const record *old);

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
