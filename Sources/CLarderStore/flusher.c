// SPDX-License-Identifier: MIT
/** @file flusher.c
    When the journal is applied to LMDB, by whom, and what comes after the commit.

    A file is deleted only when every message of the journal that names it is applied: replay looks
    for the files of all messages, and where one is missing the journal ends. A flush may be several
    transactions, of which each but the last leaves meta.applied as it was, and schedules files for
    deletion all the same. So files are deleted straight after a flush that was completed, and when
    a store is opened whose journal holds nothing that is not applied; never between two
    transactions, or after one that failed, or before the flush that takes up what was left. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "condition.h"
#include "store_internal.h"

// Syncing -----------------------------------------------------------------------------------------

/** Takes the list of files that are not synced yet; `sync_lock` is held. */
static void take_unsynced(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    store->syncing = store->unsynced;
    memset(&store->unsynced, 0, sizeof store->unsynced);
    store->unsynced_since_ns = 0;
    pthread_mutex_unlock(&store->lock);
}

/** Tells the thread that something is left to sync. */
static void note_unsynced(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    if (store->unsynced_since_ns == 0) store->unsynced_since_ns = system_monotonic_ns();
    pthread_mutex_unlock(&store->lock);
}

static larder_status sync_files(larder_store *store, const spill_files *files) {
    uint32_t epoch = UINT32_MAX;
#ifdef LARDER_PLANT_STORE_SKIPS_FILE_SYNC
    return LARDER_OK;
#endif
    for (size_t at = 0; at < files->count; at++) {
        larder_status status = spill_sync(store->spill, &files->items[at]);
        // Replaced or removed since, and deleted.
        if (status == LARDER_ENOTFOUND) continue;
        if (status != LARDER_OK) return status;
        if (files->items[at].epoch == epoch) continue;
        epoch = files->items[at].epoch;
        status = spill_sync_folders(store->spill, epoch);
        if (status != LARDER_OK && status != ENOENT) return status;
    }
    return LARDER_OK;
}

larder_status store_sync_through(larder_store *store, uint64_t sequence) {
    // Whoever comes while files are being synced has to wait for them: his may be among them.
    pthread_mutex_lock(&store->sync_lock);
    // What a sync left that failed goes first, and then what has come since.
    bool had_some = store->syncing.count > 0;
    if (!had_some) take_unsynced(store);
    larder_status status = sync_files(store, &store->syncing);
    if (status == LARDER_OK) spill_files_free(&store->syncing);
    if (status == LARDER_OK && had_some) {
        take_unsynced(store);
        status = sync_files(store, &store->syncing);
        if (status == LARDER_OK) spill_files_free(&store->syncing);
    }
    if (status != LARDER_OK) note_unsynced(store);
    pthread_mutex_unlock(&store->sync_lock);
    if (status != LARDER_OK) return status;
    return journal_sync(&store->journal, sequence);
}

larder_status larder_store_sync(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    pthread_mutex_lock(&store->lock);
    uint64_t sequence = store->journal.last_sequence;
    pthread_mutex_unlock(&store->lock);
    return store_sync_through(store, sequence);
}

// Files that are not needed any more --------------------------------------------------------------

typedef struct doomed {
    spill_reference file;
    uint64_t transaction;
    bool is_announced;
} doomed;

/** Rows of SPACE_DOOMED, up to `most`; the file's length is not known. */
static size_t list_doomed(larder_store *store, doomed *out, size_t most) {
    snapshot *place;
    if (environment_read(store->environment, &place) != LARDER_OK) return 0;
    tree_cursor cursor;
    uint8_t space = SPACE_DOOMED;
    larder_bytes from = {&space, 1};
    size_t count = 0;
    larder_status status = tree_cursor_seek(&cursor, &place->tree, from);
    while (status == LARDER_OK && count < most) {
        larder_bytes key;
        larder_bytes value;
        status = tree_cursor_get(&cursor, &key, &value);
        if (status != LARDER_OK) break;
        const uint8_t *bytes = key.data;
        if (key.length != 13 || bytes[0] != SPACE_DOOMED || value.length != DOOMED_BYTES) break;
        doomed *row = &out[count++];
        memset(row, 0, sizeof *row);
        row->file.epoch = get_be32(bytes + 1);
        row->file.number = get_be64(bytes + 5);
        row->transaction = get_be64(value.data);
        row->is_announced = ((const uint8_t *)value.data)[8] != 0;
        status = tree_cursor_next(&cursor);
    }
    environment_release(store->environment, place);
    return count;
}

static bool lists_file(const spill_files *files, uint64_t number) {
    for (size_t at = files->count; at-- > 0;)
        if (files->items[at].number == number) return true;
    return false;
}

/** Whether the row's file is gone already; rows of whole epochs share their number. */
static bool lists_deleted(const larder_store *store, const spill_reference *file) {
    for (size_t at = store->deleted.count; at-- > 0;) {
        const spill_reference *gone = &store->deleted.items[at];
        if (gone->number == file->number && gone->epoch == file->epoch) return true;
    }
    return false;
}

/** Whether a file that was announced before its put became known may be needed. */
static bool may_be_needed(larder_store *store, uint64_t number) {
    pthread_mutex_lock(&store->lock);
    bool may = lists_file(&store->intents, number) || lists_file(&store->active->spills, number) ||
               (store->frozen != NULL && lists_file(&store->frozen->spills, number));
    pthread_mutex_unlock(&store->lock);
    return may;
}

/** Whether the folder of an ended epoch holds a value whose put is still to come: it will be moved.
    */
static bool is_written_to(larder_store *store, uint32_t epoch) {
    pthread_mutex_lock(&store->lock);
    bool is_written = false;
    for (size_t at = 0; at < store->intents.count; at++)
        if (store->intents.items[at].epoch == epoch) is_written = true;
    pthread_mutex_unlock(&store->lock);
    return is_written;
}

/** Whether everything is applied that names files with rows: a part of it may be in the tree. */
static bool is_applied(larder_store *store) {
#ifdef LARDER_PLANT_STORE_DELETES_EARLY
    return true;
#endif
    pthread_mutex_lock(&store->lock);
    bool is = store->frozen == NULL && store->committed.applied >= store->recovery.through;
    pthread_mutex_unlock(&store->lock);
    return is;
}

void store_delete_doomed(larder_store *store, flush_order *order) {
    enum { DOOMED_MAX_COUNT = 4096 };
    if (!store->has_doomed || !is_applied(store)) return;
    doomed *rows = malloc(DOOMED_MAX_COUNT * sizeof *rows);
    if (rows == NULL) return;
    size_t count = list_doomed(store, rows, DOOMED_MAX_COUNT);
    uint64_t oldest = count == 0 ? UINT64_MAX : environment_oldest_reader(store->environment);
    bool is_all = count < DOOMED_MAX_COUNT;
    for (size_t at = 0; at < count; at++) {
        const doomed *row = &rows[at];
        if (lists_deleted(store, &row->file)) continue;
        // Somebody still looks at a state in which it belongs to an entry.
        bool is_seen = oldest < row->transaction;
        bool is_needed = row->file.number == UINT64_MAX
                             ? is_written_to(store, row->file.epoch)
                             : row->is_announced && may_be_needed(store, row->file.number);
        if (is_seen || is_needed) {
            is_all = false;
            continue;
        }
        larder_status status =
            row->file.number == UINT64_MAX
                ? spill_delete_epoch(store->spill, row->file.epoch, order->progress, order->context)
                : spill_delete(store->spill, row->file.epoch, row->file.number);
        if (status == ECANCELED) order->deletion = status;
        // What cannot be deleted now keeps its row, for the next time.
        if (status == LARDER_OK) status = spill_files_add(&store->deleted, &row->file);
        if (status != LARDER_OK) is_all = false;
    }
    // If we crash here the rows are there still, and the next open finds no files under them.
    if (is_all) store->has_doomed = false;
    free(rows);
}

// Flushing ----------------------------------------------------------------------------------------

void flush_order_init(flush_order *order) {
    memset(order, 0, sizeof *order);
    order->count = LARDER_STORE_UNLIMITED;
    order->bytes = LARDER_STORE_UNLIMITED;
}

/** Takes over what was written so far; false if there is nothing. */
static larder_status freeze(larder_store *store) {
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&store->lock);
    if (store->frozen == NULL && store->active->last_sequence > store->committed.applied) {
        pending_writes *active = store->active;
        if (store->spare == NULL) status = pending_create(system_random(), &store->spare);
        active->intents.count = 0;
        if (status == LARDER_OK)
            status = spill_files_reserve(&active->intents, store->intents.count);
        if (status == LARDER_OK) {
            for (size_t at = 0; at < store->intents.count; at++)
                active->intents.items[active->intents.count++] = store->intents.items[at];
            active->spill_number = store->spill_number;
            store->frozen = active;
            store->active = store->spare;
            store->spare = NULL;
            store->pending_since_ns = 0;
            store->wants_flush = false;
        }
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

/** The files before the transaction that refers to them: those of puts that were not replaced. */
static larder_status sync_live_files(larder_store *store) {
    const pending_writes *frozen = store->frozen;
    spill_files live = {0};
    larder_status status = LARDER_OK;
    for (uint32_t at = 0; at < frozen->count && frozen->spills.count > 0; at++) {
        spill_reference file;
        if (!op_spill(frozen->entries[at].op, &file)) continue;
        status = spill_files_add(&live, &file);
        if (status != LARDER_OK) break;
    }
    if (status == LARDER_OK) status = sync_files(store, &live);
    spill_files_free(&live);
    return status;
}

/** That files were deleted has to be on the device before their rows go, or a power cut brings back
    files that nobody knows of. */
static larder_status sync_deletions(larder_store *store) {
    larder_status status = LARDER_OK;
    uint32_t synced = UINT32_MAX;
    for (size_t at = 0; at < store->deleted.count && status == LARDER_OK; at++) {
        const spill_reference *file = &store->deleted.items[at];
        if (file->number == UINT64_MAX) {
            status = spill_sync_deleted_epoch(store->spill, file->epoch);
        } else if (file->epoch != synced) {
            status = spill_sync_folders(store->spill, file->epoch);
            synced = file->epoch;
        }
        // The folder is gone itself.
        if (status == ENOENT) status = LARDER_OK;
    }
    return status;
}

static larder_status flush_once(larder_store *store, flush_order *order) {
    larder_status status = freeze(store);
    if (status != LARDER_OK) return status;
    if (store->frozen != NULL) {
        status = sync_live_files(store);
        if (status != LARDER_OK) return status;
    }
#ifdef LARDER_PLANT_STORE_FREES_EARLY
    if (store->frozen != NULL) {
        pthread_mutex_lock(&store->lock);
        status = journal_free(&store->journal, store->frozen->last_sequence);
        pthread_mutex_unlock(&store->lock);
    }
    if (status != LARDER_OK) return status;
#endif
    status = sync_deletions(store);
    if (status == LARDER_OK) status = store_apply(store, order);
    if (status != LARDER_OK) return status;
    pthread_mutex_lock(&store->lock);
    status = journal_free(&store->journal, store->committed.applied);
    store_relieve(store);
    pthread_mutex_unlock(&store->lock);
    return status;
}

static bool has_room(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    bool has = store->journal.used_bytes <= store->journal.data_bytes / 2;
    pthread_mutex_unlock(&store->lock);
    return has;
}

larder_status store_flush(larder_store *store, flush_order *order) {
    pthread_mutex_lock(&store->flush_lock);
    larder_status status = store_enter(store);
    bool is_needed = (order->flags & FLUSH_FOR_ROOM) == 0 || !has_room(store);
    if (status == LARDER_OK && is_needed) {
        // What was frozen when an earlier flush failed goes first.
        bool had_frozen = store->frozen != NULL;
        status = flush_once(store, order);
        if (status == LARDER_OK && had_frozen) status = flush_once(store, order);
        atomic_fetch_add_explicit(status == LARDER_OK ? &store->flushes : &store->flush_failures, 1,
                                  memory_order_relaxed);
        atomic_store(&store->last_failure, status);
        if (status == LARDER_OK) store_delete_doomed(store, order);
    }
    pthread_mutex_unlock(&store->flush_lock);
    return status;
}

larder_status larder_store_flush(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    return store_flush(store, &order);
}

larder_status larder_store_trim(larder_store *store, uint64_t count, uint64_t bytes,
                                uint64_t *removed) {
    if (removed != NULL) *removed = 0;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    order.count = count;
    order.bytes = bytes;
    status = store_flush(store, &order);
    if (removed != NULL) *removed = order.evicted;
    return status;
}

larder_status larder_store_remove_expired(larder_store *store, uint64_t *removed) {
    if (removed != NULL) *removed = 0;
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    order.flags = FLUSH_TRIMS;
    status = store_flush(store, &order);
    if (removed != NULL) *removed = order.expired;
    return status;
}

larder_status larder_store_content_format_set(larder_store *store, uint64_t content_format) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    order.flags = FLUSH_SETS_FORMAT;
    order.content_format = content_format;
    status = store_flush(store, &order);
    if (status != LARDER_OK) return status;
    pthread_mutex_lock(&store->lock);
    store->content_format = content_format;
    pthread_mutex_unlock(&store->lock);
    return LARDER_OK;
}

/** How many bytes of values have to go for the file system to have the room that the limit asks
    for; UINT64_MAX for no change. What is freed inside LMDB's file does not come back to the file
    system, but is used again; so one round frees so much, and no more. */
static uint64_t bytes_for_free_space(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    uint64_t wanted = store->limits.free_bytes;
    uint64_t there = store->committed.bytes;
    pthread_mutex_unlock(&store->lock);
    if (wanted == 0) return LARDER_STORE_UNLIMITED;
    uint64_t room = 0;
    if (store->options.free_space != NULL) room = store->options.free_space(store->options.context);
    else if (file_system_room(store->path, &room) != LARDER_OK) return LARDER_STORE_UNLIMITED;
    if (room >= wanted) return LARDER_STORE_UNLIMITED;
    return there > wanted - room ? there - (wanted - room) : 0;
}

larder_status larder_store_maintain(larder_store *store) {
    larder_status status = store_enter_to_write(store);
    if (status != LARDER_OK) return status;
    environment_reap(store->environment);
    flush_order order;
    flush_order_init(&order);
    order.flags = FLUSH_TRIMS;
    order.bytes = bytes_for_free_space(store);
    return store_flush(store, &order);
}

// The thread --------------------------------------------------------------------------------------

static int64_t sooner(int64_t a, int64_t b) { return a < b ? a : b; }

/** When the thread has something to do next; INT64_MAX: when it is told. `lock` is held. */
static int64_t next_due(const larder_store *store) {
    const larder_store_options *options = &store->options;
    int64_t due = INT64_MAX;
    if (store->pending_since_ns != 0 && options->flush_interval_ns > 0)
        due = sooner(due, store->pending_since_ns + options->flush_interval_ns);
    if (store->unsynced_since_ns != 0 && options->sync_interval_ns > 0)
        due = sooner(due, store->unsynced_since_ns + options->sync_interval_ns);
    if (options->trim_interval_ns > 0)
        due = sooner(due, store->trimmed_ns + options->trim_interval_ns);
    return due;
}

static void wait_until(larder_store *store, int64_t due) {
    if (due == INT64_MAX) {
        pthread_cond_wait(&store->wake, &store->lock);
        return;
    }
    int64_t span = due - system_monotonic_ns();
    if (span > 0) condition_wait(&store->wake, &store->lock, span);
}

static void *thread_main(void *context) {
    larder_store *store = context;
    pthread_mutex_lock(&store->lock);
    while (!store->stops) {
        int64_t now = system_monotonic_ns();
        int64_t due = next_due(store);
        if (!store->wants_flush && now < due) {
            wait_until(store, due);
            continue;
        }
        const larder_store_options *options = &store->options;
        bool trims =
            options->trim_interval_ns > 0 && now >= store->trimmed_ns + options->trim_interval_ns;
        bool flushes =
            store->wants_flush || (store->pending_since_ns != 0 && options->flush_interval_ns > 0 &&
                                   now >= store->pending_since_ns + options->flush_interval_ns);
        if (trims) store->trimmed_ns = now;
        store->wants_flush = false;
        pthread_mutex_unlock(&store->lock);
        larder_status status;
        flush_order order;
        flush_order_init(&order);
        if (trims) status = larder_store_maintain(store);
        else if (flushes) status = store_flush(store, &order);
        else status = larder_store_sync(store);
        pthread_mutex_lock(&store->lock);
        // last_failure says why; the next try is an interval away, or when a write finds no room.
        if (status != LARDER_OK && store->pending_since_ns != 0)
            store->pending_since_ns = system_monotonic_ns();
        if (status != LARDER_OK && store->unsynced_since_ns != 0)
            store->unsynced_since_ns = system_monotonic_ns();
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}

larder_status store_thread_start(larder_store *store) {
    store->trimmed_ns = system_monotonic_ns();
    int error = pthread_create(&store->thread, NULL, thread_main, store);
    store->has_thread = error == 0;
    return error;
}

void store_thread_stop(larder_store *store) {
    if (!store->has_thread) return;
    pthread_mutex_lock(&store->lock);
    store->stops = true;
    pthread_cond_broadcast(&store->wake);
    pthread_cond_broadcast(&store->backpressure.relief);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->thread, NULL);
    pthread_mutex_lock(&store->lock);
    store->has_thread = false;
    pthread_mutex_unlock(&store->lock);
}
