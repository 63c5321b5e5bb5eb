// SPDX-License-Identifier: MIT
/** @file store_index.h
    Private: the tree, and what is known of it in memory. */
#ifndef LARDER_STORE_INDEX_H
#define LARDER_STORE_INDEX_H

#include "handle/feed_file.h"
#include "handle/leaving.h"
#include "handle/live.h"
#include "lmdb/environment.h"

typedef struct store_index {
    /** Held by the one thread that runs a checkpoint. */
    pthread_mutex_t lock;
    environment *environment;
    /** Of the last transaction that was committed; changed under `lock` and the pending lock. */
    store_meta meta;
    /** Reads that the transaction under way folds in; the pending lock guards them. */
    touch_buffer folding;
    /** Reads that came while there was no room for more in a slot's buffer; likewise. */
    touch_buffer waiting;
    leaving leaving;
    /** The limit of bytes, as it was when the checkpoint began. */
    uint64_t value_max_bytes;
    live_table live;
    /** Segments that the tree leads to no more: deleted when nobody looks at an older state. */
    live_table retired;
    /** The tree may have writes behind meta.applied: a checkpoint ended early. */
    bool is_partly_applied;
    /** This handle has made it. */
    bool is_made;
    /** A checkpoint met rows that are damaged. */
    bool has_damaged_rows;
    /** Named cursors keep segments. */
    const store_feed *feed;
    /** What segments may take too much, since opening: fewer by each byte written. */
    uint64_t clean_grace_bytes;
} store_index;

#endif
