// SPDX-License-Identifier: MIT
/** @file shrink.c
    Shrinking the index: a new data.mdb with the rows of the old one and nothing else. LMDB uses the
    pages again that are free, but never gives them back.

    1. The copy grows in a folder of its own, `index.new`, in several transactions.
    2. It takes the place of data.mdb.

    If we crash before 2, the old file is there; what is left in the working folder goes with the
    next attempt. Nobody may have the store open, and the old file is read page by page as every
    reader does: LMDB does not see it. */
#include "repair/salvage.h"
#include "repair/working_folder.h"

typedef struct shrink {
    const snapshot *from;
    environment *to;
    /** The next row. */
    tree_cursor at;
    uint64_t done, total;
    larder_progress progress;
    void *context;
} shrink;

/** Rows, in order, until that is enough for a transaction. LARDER_END behind the last. */
static larder_status copy_rows(shrink *work, MDB_txn *txn, MDB_dbi main, uint64_t most) {
    larder_status status = LARDER_OK;
    for (uint64_t count = 0; !status && count < most; count++) {
        larder_bytes key, row;
        status = larder_tree_cursor_get(&work->at, &key, &row);
        if (status) break;
        // The meta record is that of the transaction.
        if (key.length == 0 || *(const uint8_t *)key.data != SPACE_META) {
            MDB_val name = {key.length, (void *)(uintptr_t)key.data};
            MDB_val value = {row.length, (void *)(uintptr_t)row.data};
            // Behind all others: pages become full.
            status = larder_environment_status(mdb_put(txn, main, &name, &value, MDB_APPEND));
        }
        work->done++;
        if (!status) status = larder_tree_cursor_next(&work->at);
    }
    return status;
}

static larder_status copy_meta(const shrink *work, MDB_txn *txn, MDB_dbi main,
                               uint32_t page_bytes) {
    uint8_t bytes[META_BYTES];
    const uint8_t key = SPACE_META;
    store_meta meta = work->from->meta;
    meta.transaction = mdb_txn_id(txn);
    meta.page_bytes = page_bytes;
    larder_store_meta_write(bytes, &meta);
    return larder_environment_row(work->to, txn, main, (larder_bytes){&key, 1},
                                  &(larder_bytes){bytes, sizeof bytes});
}

/** One transaction; LARDER_END when that was the last. */
static larder_status copy_some(shrink *work, uint64_t most, uint32_t page_bytes) {
    const shrink before = *work;
    MDB_txn *txn;
    MDB_dbi main;
    if (work->progress && work->progress(work->context, work->done, work->total)) return ECANCELED;
    larder_status status = larder_environment_begin(work->to, &txn, &main);
    if (status) return status;
    status = copy_rows(work, txn, main, most);
    bool is_last = status == LARDER_END;
    if (is_last) status = LARDER_OK;
    if (!status) status = copy_meta(work, txn, main, page_bytes);
    status = larder_environment_end(work->to, txn, status);
    // The map was too small, and has grown.
    if (status == EAGAIN) *work = before;
    if (status == EAGAIN) return LARDER_OK;
    return !status && is_last ? (larder_status)LARDER_END : status;
}

static larder_status copy_all(larder_store *store, shrink *work) {
    snapshot *made;
    larder_status status = larder_environment_read(work->to, &made);
    if (status) return status;
    uint32_t page_bytes = made->meta.page_bytes;
    larder_environment_release(work->to, made);
    const uint8_t first = 0;
    work->total = work->from->tree.main.counts.entries;
    status = larder_tree_cursor_seek(&work->at, &work->from->tree, (larder_bytes){&first, 1});
    while (!status) status = copy_some(work, store->tuning.transaction_max_count, page_bytes);
    return status == LARDER_END ? LARDER_OK : status;
}

/** Makes the copy in the folder at `path`, which is new. */
static larder_status copy_index(larder_store *store, const char *folder, void *context) {
    shrink *work = context;
    larder_store_detail ignored = {0};
    larder_status status =
        larder_environment_open(folder, ENVIRONMENT_WRITES, &work->from->meta, store->options.mode,
                                store->options.map_bytes, &ignored, &work->to);
    if (!status) status = copy_all(store, work);
    larder_environment_close(work->to, true);
    return status;
}

larder_status larder_store_shrink_index(larder_store *store, larder_progress progress,
                                        void *context) {
    shrink work = {.progress = progress, .context = context};
    larder_store_detail ignored = {0};
    environment *old = NULL;
    snapshot *seen = NULL;
    int lock = -1;
    larder_status status = larder_environment_shut_out(store->identity.path, &lock);
    if (!status)
        status = larder_environment_open(store->identity.path, ENVIRONMENT_WRITES, NULL,
                                         store->options.mode, 0, &ignored, &old);
    if (!status) status = larder_environment_read(old, &seen);
    work.from = seen;
    if (!status) status = larder_index_replace(store, copy_index, &work);
    if (seen) larder_environment_release(old, seen);
    larder_environment_close(old, true);
    larder_os_file_close(lock);
    return status;
}
