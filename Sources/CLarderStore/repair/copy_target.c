// SPDX-License-Identifier: MIT
/** @file copy_target.c
    A store in the making. */
#include "repair/copy_target.h"

#include <stdio.h>

#include "checkpoint/append.h"
#include "checkpoint/apply.h"
#include "repair/working_folder.h"

// Opening -----------------------------------------------------------------------------------------

/** EEXIST if there is something at `path`, whatever it is. */
static larder_status path_is_free(const char *path) {
    int file;
    larder_status status = larder_os_file_open(path, 0, 0, &file);
    larder_os_file_close(file);
    if (status == ENOENT) return LARDER_OK;
    return !status || status == ELOOP || status == EACCES || status == ENXIO ? EEXIST : status;
}

static void copy_target_abandon(copy_target *target) {
    larder_store_close(target->store);
    target->store = NULL;
    larder_folder_remove_all(target->working_path);
}

larder_status larder_copy_target_open(const char *path, const larder_store_options *options,
                                      copy_target *out) {
    memset(out, 0, sizeof *out);
    if (!path[0]) return ENOENT;
    char *whole;
    larder_status status = path_is_free(path);
    if (!status) status = larder_os_absolute_path(path, &whole);
    if (status) return status;
    // Without slashes at its end, which would put the working folder into the target.
    size_t length = strlen(whole);
    while (length > 1 && whole[length - 1] == '/') length--;
    (void)snprintf(out->path, sizeof out->path, "%.*s", (int)length, whole);
    (void)snprintf(out->working_path, sizeof out->working_path, "%.*s.%08x", (int)length, whole,
                   (unsigned)larder_os_random());
    free(whole);
    larder_store_options wanted = *options;
    wanted.flags &=
        ~(uint32_t)(LARDER_STORE_READ_ONLY | LARDER_STORE_EXISTING | LARDER_STORE_WITH_UNCERTAIN);
    wanted.flags |= LARDER_STORE_HOST_MAINTENANCE;
    wanted.journal_bytes = LARDER_STORE_JOURNAL_DEFAULT_BYTES;
    // The folder is made here, and must be new: what is in it will be removed if we fail.
    status = larder_os_folder_make(out->working_path, wanted.mode | (wanted.mode & 0444) >> 2);
    if (status) return status;
    status = larder_store_open(out->working_path, &wanted, NULL, &out->store);
    if (status) copy_target_abandon(out);
    return status;
}

// Filling -----------------------------------------------------------------------------------------

/** Notes a read or renewal of the entry that the write `sequence` made, for the next checkpoint to
    fold in: so that it expires when it would have. In the order of use it stays where it is,
    behind the write. */
static larder_status copy_target_note(copy_target *target, const record *entry, uint64_t sequence,
                                      int64_t deadline_ns) {
    larder_store *store = target->store;
    tree_key scratch;
    larder_bytes stored = larder_stored_key(entry->key, store->index.meta.secret, &scratch);
    touch noted = {.at = {sequence, (uint64_t)1 << 32},
                   .deadline_ns = deadline_ns,
                   .renewed = record_is_renewable(entry) ? sequence : 0,
                   .hash = larder_index_hash_bytes(stored.data, stored.length),
                   .length = (uint32_t)stored.length};
    touch_buffer one = {.count = 1,
                        .used_bytes = noted.length,
                        .touches = &noted,
                        .bytes = (uint8_t *)(uintptr_t)stored.data};
    pthread_mutex_lock(&store->pending.lock);
    larder_touch_buffer_move(&one, &store->index.folding);
    bool is_dropped = store->index.folding.dropped != 0;
    pthread_mutex_unlock(&store->pending.lock);
    return is_dropped ? (larder_status)ENOMEM : LARDER_OK;
}

larder_status larder_copy_target_put(copy_target *target, larder_bytes whole, int64_t deadline_ns) {
    larder_store *store = target->store;
    record entry;
    uint8_t *copy;
    size_t padded = record_padded(whole.length);
    larder_status status = larder_record_read(whole, false, &entry);
    if (!status) status = larder_store_begin_append(store, padded, 1, 0, false, &copy);
    if (status) return status;
    memset(copy + padded - 8, 0, 8);
    memcpy(copy + 8, (const uint8_t *)whole.data + 8, whole.length - 8);
    // It may have been one of a batch.
    copy[21] &= (uint8_t)~RECORD_CONTINUES;
    uint64_t sequence = store->pending.log.last_sequence + 1;
    larder_log_publish(&store->pending.log, padded, 1,
                       larder_record_seal(copy, whole.length, sequence, 0, false));
    // Only a sync could fail, for which nobody asks.
    (void)!larder_store_end_append(store, copy, padded, 1, 0, NULL);
    bool was_read = (entry.flags & RECORD_IDLES) && deadline_ns != LARDER_STORE_NEVER &&
                    deadline_ns != record_first_deadline(&entry);
    return was_read ? copy_target_note(target, &entry, sequence, deadline_ns) : LARDER_OK;
}

// The end -----------------------------------------------------------------------------------------

larder_status larder_copy_target_finish(copy_target *target, larder_status status) {
    file_path inside;
    // Flushes and syncs: nothing waits for a checkpoint when the target gets its name.
    if (!status) status = larder_store_shutdown(target->store);
    // Names below it were synced with the log.
    if (!status)
        status = larder_os_file_sync_parent(
            larder_environment_path(inside, target->working_path, "data.mdb"));
    if (!status) status = path_is_free(target->path);
    larder_store_close(target->store);
    target->store = NULL;
    // If we crash before this, the working folder is left, and nothing at the target.
    if (!status) status = larder_os_file_rename(target->working_path, target->path);
    larder_status named = status ? LARDER_OK : larder_os_file_sync_parent(target->path);
    // Its name may not survive a power cut: then it had better not be there now.
    if (status || (named && !larder_os_file_rename(target->path, target->working_path)))
        copy_target_abandon(target);
    return status == ENOTEMPTY ? (larder_status)EEXIST : status ? status : named;
}
