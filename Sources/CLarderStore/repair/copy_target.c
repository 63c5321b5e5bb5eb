// SPDX-License-Identifier: MIT
/** @file copy_target.c
    A store in the making. */
#include "repair/copy_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "checkpoint/apply.h"

enum { FOLDER_DEPTH_MAX = 8 };

// Removing ----------------------------------------------------------------------------------------

typedef struct folder_removal {
    const char *path;
    int depth;
} folder_removal;

static void remove_all(const char *path, int depth);

static int remove_one(void *context, const char *name) {
    const folder_removal *removal = context;
    char *path = environment_path(removal->path, name);
    if (!path) return 1;
    larder_status status = file_remove(path);
    if (status == EISDIR || status == EPERM) remove_all(path, removal->depth + 1);
    free(path);
    return 0;
}

/** What cannot be removed stays; there is nobody to tell. */
static void remove_all(const char *path, int depth) {
    if (depth > FOLDER_DEPTH_MAX) return;
    folder_removal removal = {path, depth};
    larder_status status = folder_list(path, remove_one, &removal);
    if (status == LARDER_OK) status = folder_remove(path);
    (void)status;
}

void folder_remove_all(const char *path) { remove_all(path, 0); }

// Opening -----------------------------------------------------------------------------------------

/** EEXIST if there is something at `path`, whatever it is. */
static larder_status path_is_free(const char *path) {
    int file;
    larder_status status = file_open(path, 0, 0, &file);
    file_close(file);
    if (status == ENOENT) return LARDER_OK;
    return status == LARDER_OK || status == ELOOP || status == EACCES || status == ENXIO ? EEXIST
                                                                                         : status;
}

/** From the root on, and without slashes at its end, which would put the working folder into the
    target. */
static larder_status path_trimmed(const char *path, char **out) {
    larder_status status = path_from_root(path, out);
    size_t length = status == LARDER_OK ? strlen(*out) : 0;
    while (length > 1 && (*out)[length - 1] == '/') (*out)[--length] = 0;
    return status;
}

static void copy_target_free(copy_target *target) {
    larder_store_close(target->store);
    free(target->path);
    free(target->working_path);
    memset(target, 0, sizeof *target);
}

larder_status copy_target_open(const char *path, const larder_store_options *options,
                               copy_target *out) {
    memset(out, 0, sizeof *out);
    if (!path[0]) return ENOENT;
    larder_status status = path_is_free(path);
    if (status) return status;
    status = path_trimmed(path, &out->path);
    if (status) return status;
    size_t room = strlen(out->path) + 16;
    out->working_path = malloc(room);
    if (!out->working_path) {
        copy_target_free(out);
        return ENOMEM;
    }
    (void)snprintf(out->working_path, room, "%s.%08x", out->path, (unsigned)system_random());
    larder_store_options wanted = *options;
    wanted.flags &=
        ~(uint32_t)(LARDER_STORE_READ_ONLY | LARDER_STORE_EXISTING | LARDER_STORE_WITH_UNCERTAIN);
    wanted.flags |= LARDER_STORE_HOST_MAINTENANCE;
    wanted.journal_bytes = LARDER_STORE_JOURNAL_DEFAULT_BYTES;
    wanted.sync_interval_ns = wanted.flush_interval_ns = wanted.trim_interval_ns = 0;
    // The folder is made here, and must be new: what is in it will be removed if we fail.
    status = folder_make(out->working_path, wanted.mode | (wanted.mode & 0444) >> 2);
    if (status) {
        copy_target_free(out);
        return status;
    }
    status = larder_store_open(out->working_path, &wanted, NULL, &out->store);
    if (status) copy_target_abandon(out);
    return status;
}

void copy_target_abandon(copy_target *target) {
    if (!target->working_path) return;
    larder_store_close(target->store);
    target->store = NULL;
    folder_remove_all(target->working_path);
    copy_target_free(target);
}

// Filling -----------------------------------------------------------------------------------------

/** Notes a read of the entry that the write `sequence` made, for the next checkpoint to fold in: so
    that it expires when it would have. In the order of use it stays where it is, behind the write.
    */
static larder_status copy_target_note(copy_target *target, larder_bytes key, uint64_t sequence,
                                      int64_t deadline_ns) {
    larder_store *store = target->store;
    tree_key scratch;
    larder_bytes stored = stored_key(key, store->secret, &scratch);
    touch noted = {.at = {sequence, (uint64_t)1 << 32},
                   .deadline_ns = deadline_ns,
                   .hash = touch_hash(stored),
                   .length = (uint32_t)stored.length};
    touch_buffer one = {.count = 1,
                        .used_bytes = noted.length,
                        .touches = &noted,
                        .bytes = (uint8_t *)(uintptr_t)stored.data};
    pthread_mutex_lock(&store->lock);
    touch_buffer_move(&one, &store->folding);
    bool is_dropped = store->folding.dropped != 0;
    pthread_mutex_unlock(&store->lock);
    return is_dropped ? (larder_status)ENOMEM : LARDER_OK;
}

larder_status copy_target_put(copy_target *target, const record *source, larder_bytes value,
                              int64_t deadline_ns) {
    larder_store_index_entry indexes[LARDER_STORE_INDEX_MAX_COUNT];
    larder_store_item item;
    larder_store_item_init(&item, source->key, value);
    item.extended = source->extended;
    item.expires_ns = source->expires_ns;
    item.idle_ns = source->idle_ns;
    item.cost = source->cost;
    // 0 would say "now".
    item.written_ns = source->written_ns ? source->written_ns : 1;
    if (source->flags & RECORD_OWN_TIMES) item.flags |= LARDER_STORE_OWN_TIMES;
    size_t offset = 0;
    while (item.index_count < LARDER_STORE_INDEX_MAX_COUNT &&
           record_next_index(source, &offset, &indexes[item.index_count]))
        item.index_count++;
    if (item.index_count) item.indexes = indexes;

    uint64_t sequence;
    larder_status status = larder_store_put(target->store, &item, &sequence);
    bool was_read = (source->flags & RECORD_IDLES) && deadline_ns != LARDER_STORE_NEVER &&
                    deadline_ns != apply_default_due(source, LARDER_STORE_NEVER);
    return !status && was_read ? copy_target_note(target, source->key, sequence, deadline_ns)
                               : status;
}

// The end -----------------------------------------------------------------------------------------

/** Names in the working folder to the device; those below it were synced with the log. */
static larder_status copy_target_sync_names(const copy_target *target) {
    char *inside = environment_path(target->working_path, "data.mdb");
    if (!inside) return ENOMEM;
    larder_status status = file_sync_parent(inside);
    free(inside);
    return status;
}

larder_status copy_target_finish(copy_target *target) {
    // Flushes and syncs: nothing waits for a checkpoint when the target gets its name.
    larder_status status = larder_store_shutdown(target->store);
    larder_store_close(target->store);
    target->store = NULL;
    if (!status) status = copy_target_sync_names(target);
    if (!status) status = path_is_free(target->path);
    // If we crash before this, the working folder is left, and nothing at the target.
    if (!status) status = file_rename(target->working_path, target->path);
    if (status) {
        copy_target_abandon(target);
        return status == ENOTEMPTY ? EEXIST : status;
    }
    status = file_sync_parent(target->path);
    if (status) {
        // Its name may not survive a power cut: then it had better not be there now.
        larder_status moved = file_rename(target->path, target->working_path);
        if (!moved) copy_target_abandon(target);
    }
    copy_target_free(target);
    return status;
}
