// SPDX-License-Identifier: MIT
/** @file spill.c
    Values in files of their own.

    No temporary name and no rename are needed: nobody refers to a file before the write that names
    its number is in the journal, and that comes after the file is whole. So a file is whole, or
    nobody looks at it; which a number's intent in the journal has deleted at the next open.

    Invariants:
    1. A number is never given twice, so a file that is there under a new number is one whose intent
       a power cut took away, together with everything that could refer to it. It is replaced.
    2. A file's length and checksum are in the reference, not in the file: it holds the value and
       nothing else. */
#include "spill_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "larder_crc32c.h"

static char *put_hex(char *target, uint64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--) {
        target[i] = "0123456789abcdef"[value & 15];
        value >>= 4;
    }
    return target + digits;
}

char *spill_path_of_epoch(const spill *folder, uint32_t epoch, spill_path *path) {
    memcpy(path->text, folder->root, folder->root_length);
    char *end = path->text + folder->root_length;
    *end++ = '/';
    end = put_hex(end, epoch, EPOCH_DIGITS);
    *end = 0;
    return end;
}

void spill_path_of_file(const spill *folder, uint32_t epoch, uint64_t number, spill_path *path) {
    char *end = spill_path_of_epoch(folder, epoch, path);
    *end++ = '/';
    *put_hex(end, number, NUMBER_DIGITS) = 0;
}

// The store's folder ------------------------------------------------------------------------------

static larder_status store_facts(const spill *folder, file_facts *facts) {
    spill_path path;
    size_t length = folder->root_length - (sizeof "/spill" - 1);
    memcpy(path.text, folder->root, length);
    // With the dot it is the folder behind a symbolic link.
    memcpy(path.text + length, "/.", sizeof "/.");
    return file_facts_at(path.text, facts);
}

larder_status spill_check_store(const spill *folder) {
    file_facts now;
    larder_status status = store_facts(folder, &now);
    if (status) return status == ENOTDIR ? ENOENT : status;
    return now.device == folder->device && now.inode == folder->inode ? LARDER_OK : ENOENT;
}

// Opening -----------------------------------------------------------------------------------------

larder_status spill_open(const char *store, uint32_t mode, spill **out) {
    *out = NULL;
    size_t length = strlen(store);
    if (length + sizeof "/spill" + NAME_ROOM > PATH_ROOM) return ENAMETOOLONG;
    spill *folder = malloc(sizeof *folder + length + sizeof "/spill");
    if (!folder) return ENOMEM;
    folder->mode = mode;
    // Who may read a folder may search it.
    folder->folder_mode = mode | (mode & 0444) >> 2;
    atomic_init(&folder->synced_epoch, 0);
    spill_cache_init(&folder->cache);
    (void)pthread_mutex_init(&folder->sync_lock, NULL);
    folder->unsure = NULL;
    folder->unsure_count = 0;
    folder->unsure_all = LARDER_OK;
    memcpy(folder->root, store, length);
    memcpy(folder->root + length, "/spill", sizeof "/spill");
    folder->root_length = length + sizeof "/spill" - 1;

    // Something else of that name, a symbolic link for one, is told of now and not at the first
    // value.
    file_facts facts = {0};
    larder_status status = store_facts(folder, &facts);
    folder->device = facts.device;
    folder->inode = facts.inode;
    // Where there is no store, there is nothing to be read, and nobody writes.
    if (!status || status == ENOENT || status == ENOTDIR)
        status = file_facts_at(folder->root, &facts);
    if (!status && !facts.is_folder) status = ENOTDIR;
    if (status && status != ENOENT) {
        spill_close(folder);
        return status;
    }
    *out = folder;
    return LARDER_OK;
}

void spill_close(spill *folder) {
    if (!folder) return;
    spill_cache_destroy(&folder->cache);
    (void)pthread_mutex_destroy(&folder->sync_lock);
    free(folder->unsure);
    free(folder);
}

/** Makes the folder of an epoch, and the root above it. */
static larder_status spill_make_folders(const spill *folder, uint32_t epoch) {
    larder_status status = folder_make(folder->root, folder->folder_mode);
    if (status && status != EEXIST) return status;
    spill_path path;
    spill_path_of_epoch(folder, epoch, &path);
    status = folder_make(path.text, folder->folder_mode);
    return status == EEXIST ? LARDER_OK : status;
}

// Writing -----------------------------------------------------------------------------------------

static larder_status spill_create(const spill *folder, uint32_t epoch, const char *path,
                                  int *file) {
    enum { HOW = FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE };
    larder_status status = file_open(path, HOW, folder->mode, file);
    if (status == ENOENT) {
        status = spill_make_folders(folder, epoch);
        if (!status) status = file_open(path, HOW, folder->mode, file);
    }
    if (status == EEXIST) { // Invariant 1.
        status = file_remove(path);
        if (!status) status = file_open(path, HOW, folder->mode, file);
    }
    return status;
}

larder_status spill_write(spill *folder, larder_bytes value, spill_reference *reference) {
    spill_path path;
    spill_path_of_file(folder, reference->epoch, reference->number, &path);
    larder_status status = file_size_check(value.length);
    if (!status) status = spill_check_store(folder);
    if (status) return status;
    int file;
    status = spill_create(folder, reference->epoch, path.text, &file);
    if (status) return status;
    // No usual umask takes away the owner's rights.
    if (folder->mode & 077) status = file_change_mode(file, folder->mode);
    // If we crash here, or before the write ends, the intent's number is all that is known of the
    // file; opening deletes it.
    if (!status) status = file_write_at(file, value.data, value.length, 0);
    file_close(file);
    if (status) {
        (void)file_remove(path.text);
        return status;
    }
    reference->length = value.length;
    reference->crc = larder_crc32c(0, value.data, value.length);
    return LARDER_OK;
}

larder_status spill_move(spill *folder, const spill_reference *from, uint32_t epoch) {
    spill_path source, target;
    spill_path_of_file(folder, from->epoch, from->number, &source);
    spill_path_of_file(folder, epoch, from->number, &target);
    spill_cache_drop(&folder->cache, from->epoch, from->number);
    larder_status status = spill_check_store(folder);
    if (status) return status;
    status = file_rename(source.text, target.text);
    if (status != ENOENT) return status;
    status = spill_make_folders(folder, epoch);
    return status ? status : file_rename(source.text, target.text);
}

larder_status spill_sync_folders(spill *folder, uint32_t epoch) {
    spill_path path;
    spill_path_of_file(folder, epoch, 0, &path);
    larder_status status = file_sync_parent(path.text);
    if (status || atomic_load(&folder->synced_epoch) == (uint64_t)epoch + 1) return status;
    spill_path_of_epoch(folder, epoch, &path);
    status = file_sync_parent(path.text);
    if (!status) status = file_sync_parent(folder->root);
    if (!status) atomic_store(&folder->synced_epoch, (uint64_t)epoch + 1);
    return status;
}

larder_status spill_sync_deleted_epoch(spill *folder, uint32_t epoch) {
    spill_path path;
    spill_path_of_epoch(folder, epoch, &path);
    return file_sync_parent(path.text);
}
