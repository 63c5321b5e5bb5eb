// SPDX-License-Identifier: MIT
/** @file handle.h
    Private: a store is made of parts, each with a header of its own, and its lock if it has one.

    A write goes: record(s) → active segment (atomic) → memtable (where the newest record of each
    key lies) → checkpoint (sorted, in several LMDB transactions). A read goes: memtable, tree,
    record.

    Locks are taken in the order of unique, identity, index, syncing, rows, pending: each may be
    taken under those before it, never the other way round. The last one is "the pending lock" in
    all comments. Readers' slots guard themselves (environment.h); one may be taken under any lock.
    */
#ifndef LARDER_HANDLE_H
#define LARDER_HANDLE_H

#include "handle/expiry.h"
#include "handle/feed_file.h"
#include "handle/figures.h"
#include "handle/identity.h"
#include "handle/maintenance.h"
#include "handle/pending.h"
#include "handle/store_index.h"
#include "handle/syncing.h"

struct larder_store {
    // These two stay as they were when it was opened.
    larder_store_options options;
    larder_store_tuning tuning;
    /** What open found in the log. */
    larder_store_report recovery;
    store_identity identity;
    store_expiry expiry;
    pending_writes pending;
    syncing syncing;
    store_index index;
    maintenance maintenance;
    store_feed feed;
    figures figures;
};

/** LARDER_OK; LARDER_ECLOSED; LARDER_EFORKED. */
static inline larder_status store_enter(const larder_store *store) {
    if (*store->identity.not_forked == 0) return LARDER_EFORKED;
    return atomic_load_explicit(&store->identity.is_shut, memory_order_acquire) ? LARDER_ECLOSED
                                                                                : LARDER_OK;
}
static inline bool store_is_read_only(const larder_store *store) {
    return (store->options.flags & LARDER_STORE_READ_ONLY) != 0;
}
/** As store_enter, for a call that writes: LARDER_EREADONLY too. */
static inline larder_status store_enter_to_write(const larder_store *store) {
    larder_status status = store_enter(store);
    return !status && store_is_read_only(store) ? LARDER_EREADONLY : status;
}

#endif
