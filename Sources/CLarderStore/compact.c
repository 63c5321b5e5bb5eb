// SPDX-License-Identifier: MIT
/** @file compact.c
    Compaction: every row of the tree, in order, into a new data.mdb, whose pages are then full and
    without gaps. Journal and files of values stay as they are, and so do all numbers, so the new
    file can take the old one's place by one rename. The store's lock is held all the while.

    LMDB can copy a file compactly itself, but would trust its pages, and count transactions from 1
    again under a table of readers that goes on; see compact_swap. */
#include <errno.h>
#include <stdlib.h>

#include "copy_target.h"
#include "cursor.h"

/** Bytes of keys and values in one transaction. */
enum { CHUNK_BYTES = 32 << 20 };

typedef struct compaction {
    const snapshot *place;
    environment *target;
    MDB_txn *txn;
    MDB_dbi main;
    tree_cursor cursor;
    size_t chunk_bytes;
    uint64_t done;
    larder_progress progress;
    void *context;
} compaction;

/** Nothing expires while a store is compacted, whatever clock its owner goes by. */
static int64_t no_time(void *context) {
    (void)context;
    return 0;
}

// Rows --------------------------------------------------------------------------------------------

/** A code of LMDB; MDB_MAP_FULL is EAGAIN. */
static larder_status compact_status(int code) {
    return code == MDB_MAP_FULL ? EAGAIN : environment_status(code);
}

static larder_status compact_row(compaction *work, larder_bytes key, larder_bytes value) {
    uint8_t space = key.length ? *(const uint8_t *)key.data : 0;
    if (space == SPACE_META) return LARDER_OK; // The new file has its own.
    record entry;
    if (space == SPACE_ENTRY && record_read(value, true, &entry) != LARDER_OK)
        return LARDER_EDAMAGED;
    // Transactions are counted anew, so what files wait for has passed.
    uint8_t doomed[16] = {0};
    if (space == SPACE_DOOMED && value.length >= 8 && value.length <= sizeof doomed) {
        memcpy(doomed + 8, (const uint8_t *)value.data + 8, value.length - 8);
        value.data = doomed;
    }
    MDB_val name = {key.length, (void *)(uintptr_t)key.data};
    MDB_val data = {value.length, (void *)(uintptr_t)value.data};
    larder_status status = compact_status(mdb_put(work->txn, work->main, &name, &data, MDB_APPEND));
    if (status) return status;
    work->chunk_bytes += key.length + value.length;
    if (space != SPACE_ENTRY) return LARDER_OK;
    uint64_t total = work->place->meta.count;
    work->done += work->done < total;
    return work->progress && work->progress(work->context, work->done, total) ? ECANCELED
                                                                              : LARDER_OK;
}

/** Rows from the cursor's place on, until a transaction is full.
    @return LARDER_OK; LARDER_END behind the last row. */
static larder_status compact_chunk(compaction *work) {
    work->chunk_bytes = 0;
    larder_status status = LARDER_OK;
    while (!status && work->chunk_bytes < CHUNK_BYTES) {
        larder_bytes key, value;
        status = tree_cursor_get(&work->cursor, &key, &value);
        if (!status) status = compact_row(work, key, value);
        if (!status) status = tree_cursor_next(&work->cursor);
    }
    return status;
}

static larder_status compact_end(compaction *work) {
    store_meta meta = work->place->meta;
    meta.transaction = mdb_txn_id(work->txn);
    uint8_t bytes[META_BYTES], space = SPACE_META;
    store_meta_write(bytes, &meta);
    MDB_val name = {1, &space};
    MDB_val data = {sizeof bytes, bytes};
    return compact_status(mdb_put(work->txn, work->main, &name, &data, 0));
}

/** One transaction; again from where it began when the map had to grow.
    @return as compact_chunk. */
static larder_status compact_transaction(compaction *work) {
    tree_cursor start = work->cursor;
    uint64_t done = work->done;
    for (;;) {
        work->cursor = start;
        work->done = done;
        larder_status status = environment_begin(work->target, &work->txn, &work->main);
        if (status) return status;
        larder_status chunk = compact_chunk(work);
        status = chunk;
        if (chunk == LARDER_END) status = compact_end(work);
        if (status) {
            environment_abort(work->target, work->txn);
            if (status == EAGAIN) status = environment_grow(work->target);
            if (status) return status;
            continue;
        }
        status = environment_commit(work->target, work->txn);
        if (!status) return chunk;
        if (status != EAGAIN) return status;
    }
}

static larder_status compact_rows(compaction *work) {
    uint8_t first = 0;
    larder_status status =
        tree_cursor_seek(&work->cursor, &work->place->tree, (larder_bytes){&first, 1});
    while (!status) status = compact_transaction(work);
    return status == LARDER_END ? LARDER_OK : status;
}

// Files -------------------------------------------------------------------------------------------

/** Puts the new file in the old one's place. */
static larder_status compact_swap(const char *path, const char *folder) {
    char *from = path_joined(folder, "/data.mdb");
    char *to = path_joined(path, "/data.mdb");
    char *readers = path_joined(path, "/lock.mdb");
    larder_status status = from && to && readers ? LARDER_OK : ENOMEM;
    // The table of readers knows numbers of transactions, which begin anew. LMDB makes another.
    if (!status) status = file_remove(readers);
    if (status == ENOENT) status = LARDER_OK;
    // If we crash here, the old file is there, and nobody has it open.
    if (!status) status = file_rename(from, to);
    // If we crash here, the new file is there, or after a power cut the one or the other.
    if (!status) status = file_sync_parent(to);
    free(from);
    free(to);
    free(readers);
    return status;
}

static larder_status compact_into(larder_store *store, const char *folder, larder_progress progress,
                                  void *context) {
    larder_store_query query;
    larder_store_query_init(&query);
    larder_store_cursor *cursor;
    larder_status status = larder_store_cursor_open(store, &query, &cursor);
    if (status) return status;
    compaction work = {.place = cursor->place, .progress = progress, .context = context};
    // So that no row is left behind unseen.
    tree_report audit;
    status = tree_audit(&work.place->tree, &audit);
    // Everything was flushed; what another one wrote meanwhile cannot be, for we hold the lock.
    if (!status && cursor->pending.by_key.count) status = LARDER_EBUSY;
    larder_store_detail detail;
    if (!status)
        status = environment_open(folder, true, &work.place->meta, store->options.mode,
                                  store->options.map_bytes, &detail, &work.target);
    if (!status) {
        status = compact_rows(&work);
        environment_close(work.target, true);
    }
    larder_store_cursor_close(cursor);
    return status;
}

static larder_status compact_open(const char *path, larder_store_detail *detail,
                                  larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_EXISTING | LARDER_STORE_HOST_MAINTENANCE;
    options.clock = no_time;
    options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
    // The files keep their size and permissions.
    static const char *const names[] = {"/journal", "/data.mdb"};
    for (int i = 0; i < 2; i++) {
        char *name = path_joined(path, names[i]);
        if (!name) return ENOMEM;
        int file;
        file_facts facts;
        if (file_open(name, 0, 0, &file) == LARDER_OK) {
            if (file_facts_get(file, &facts) == LARDER_OK && facts.is_regular) {
                if (i == 0 && facts.bytes >= LARDER_STORE_JOURNAL_MIN_BYTES)
                    options.journal_bytes = facts.bytes;
                if (i == 1 && (facts.mode & 0777)) options.mode = facts.mode & 0777;
            }
            file_close(file);
        }
        free(name);
    }
    return larder_store_open(path, &options, detail, out);
}

/** As larder_store_compact, of a path from the root on. */
static larder_status compact_at(const char *path, larder_store_detail *detail,
                                larder_progress progress, void *context) {
    larder_store *store;
    larder_status status = compact_open(path, detail, &store);
    if (status) return status;
    char *folder = path_joined(path, "/compacting");
    if (!folder) status = ENOMEM;
    if (!status) status = larder_store_flush(store);
    if (!status) {
        // Left by one that did not end.
        status = spill_check_store(store->spill);
    }
    if (!status) {
        folder_remove_all(folder);
        status = folder_make(folder, store->options.mode | (store->options.mode & 0444) >> 2);
    }
    if (!status) {
        status = compact_into(store, folder, progress, context);
        // It took its time: what is there must be the store that was read.
        larder_status same = spill_check_store(store->spill);
        if (!status) status = same;
        if (!status) status = compact_swap(path, folder);
        if (!same) folder_remove_all(folder);
    }
    free(folder);
    // Nothing waits, so this writes nothing: what it holds is the file that has lost its name.
    larder_store_close(store);
    return status;
}

larder_status larder_store_compact(const char *path, larder_store_detail *detail,
                                   larder_progress progress, void *context) {
    char *whole = NULL;
    if (!path[0]) return LARDER_EINVALID;
    larder_status status = path_from_root(path, &whole);
    if (status) return status;
    status = compact_at(whole, detail, progress, context);
    free(whole);
    return status;
}
