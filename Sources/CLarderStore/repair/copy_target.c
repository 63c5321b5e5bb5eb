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
    free(target->deadlines);
    free(target->keys);
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

/** Remembers when an entry expires that was read since it was written. */
static larder_status copy_target_note(copy_target *target, larder_bytes key, int64_t deadline_ns) {
    if (target->deadline_count == target->deadline_capacity) {
        size_t capacity = target->deadline_capacity ? 2 * target->deadline_capacity : 64;
        copy_deadline *deadlines = realloc(target->deadlines, capacity * sizeof *deadlines);
        if (!deadlines) return ENOMEM;
        target->deadlines = deadlines;
        target->deadline_capacity = capacity;
    }
    size_t wanted = target->key_bytes + key.length;
    if (wanted > target->key_capacity) {
        uint8_t *keys = realloc(target->keys, 2 * wanted);
        if (!keys) return ENOMEM;
        target->keys = keys;
        target->key_capacity = 2 * wanted;
    }
    if (key.length) memcpy(target->keys + target->key_bytes, key.data, key.length);
    target->key_bytes = wanted;
    target->deadlines[target->deadline_count++] = (copy_deadline){deadline_ns, key.length};
    return LARDER_OK;
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

    larder_status status = larder_store_put(target->store, &item, NULL);
    bool was_read = (source->flags & RECORD_IDLES) && deadline_ns != LARDER_STORE_NEVER &&
                    deadline_ns != apply_default_due(source, LARDER_STORE_NEVER);
    if (!status && was_read) status = copy_target_note(target, source->key, deadline_ns);
    return status;
}

// The end -----------------------------------------------------------------------------------------

/** Sets the deadlines of entries that were read, which no write can say. */
static larder_status set_deadlines(apply_transaction *apply, void *context) {
    const copy_target *target = context;
    larder_status status = LARDER_OK;
    size_t offset = 0;
    for (size_t i = 0; i < target->deadline_count && !status; i++) {
        larder_bytes key = {target->keys + offset, target->deadlines[i].key_length};
        offset += key.length;
        tree_key scratch;
        larder_bytes stored = stored_key(key, apply->meta.secret, &scratch);
        apply_entry entry;
        entry_state state;
        status = apply_find(apply, stored, &entry);
        if (!status) {
            apply_state(apply, stored, &entry.record, &state);
            bool is_other = state.deadline_ns != target->deadlines[i].deadline_ns;
            state.deadline_ns = target->deadlines[i].deadline_ns;
            if (is_other) status = apply_set_state(apply, stored, &state);
        }
        if (status == LARDER_ENOTFOUND) status = LARDER_OK;
    }
    return status;
}

static larder_status copy_target_set_deadlines(copy_target *target) {
    store_meta ignored;
    if (target->deadline_count == 0) return LARDER_OK;
    larder_status status = larder_store_flush(target->store);
    return status ? status : apply_run(target->store, set_deadlines, target, &ignored);
}

/** Names in the working folder to the device; those below it were synced with the log. */
static larder_status copy_target_sync_names(const copy_target *target) {
    char *inside = environment_path(target->working_path, "data.mdb");
    if (!inside) return ENOMEM;
    larder_status status = file_sync_parent(inside);
    free(inside);
    return status;
}

larder_status copy_target_finish(copy_target *target) {
    larder_status status = copy_target_set_deadlines(target);
    // Flushes and syncs: nothing waits for a checkpoint when the target gets its name.
    if (!status) status = larder_store_shutdown(target->store);
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
