// SPDX-License-Identifier: MIT
/** @file working_folder.c
    Folders in which something grows, and which are removed whole. */
#include "repair/working_folder.h"

static int remove_one(void *folder, const char *name) {
    file_path path;
    (void)!larder_os_file_remove(larder_environment_path(path, folder, name));
    return 0;
}

void larder_folder_remove_all(const char *path) {
    file_path log;
    // What cannot be removed stays; there is nobody to tell.
    (void)!larder_os_folder_list(larder_environment_path(log, path, "log"), remove_one, log);
    (void)!larder_os_folder_remove(log);
    (void)!larder_os_folder_list(path, remove_one, (void *)(uintptr_t)path);
    (void)!larder_os_folder_remove(path);
}

larder_status larder_index_replace(larder_store *store, index_maker make, void *work) {
    const uint32_t mode = store->options.mode;
    file_path folder, fresh, data;
    (void)larder_environment_path(folder, store->identity.path, "index.new");
    (void)larder_environment_path(fresh, folder, "data.mdb");
    (void)larder_environment_path(data, store->identity.path, "data.mdb");
    // Of an attempt that a crash ended.
    larder_folder_remove_all(folder);
    larder_status status = larder_os_folder_make(folder, mode | (mode & 0444) >> 2);
    // Nothing of ours: what is left of an attempt was removed.
    if (status == EEXIST) return LARDER_EFOREIGN;
    if (!status) status = make(store, folder, work);
    // If we crash before this, the old index is there.
    if (!status) status = larder_os_file_rename(fresh, data);
    if (!status) status = larder_os_file_sync_parent(data);
    larder_folder_remove_all(folder);
    return status;
}
