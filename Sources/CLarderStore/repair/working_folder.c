// SPDX-License-Identifier: MIT
/** @file working_folder.c
    Folders in which something grows, and which are removed whole. */
#include "repair/working_folder.h"

static int remove_one(void *folder, const char *name) {
    (void)!larder_os_file_remove_in(*(const int *)folder, name);
    return 0;
}

/** Removes what is in the folder, and closes it. */
static void empty(int folder) {
    int log;
    // What cannot be removed stays; there is nobody to tell.
    if (larder_os_folder_open_in(folder, "log", &log) == LARDER_OK) {
        (void)!larder_os_folder_list_in(log, remove_one, &log);
        (void)!larder_os_folder_remove_in(folder, "log");
        larder_os_file_close(log);
    }
    (void)!larder_os_folder_list_in(folder, remove_one, &folder);
    larder_os_file_close(folder);
}

void larder_folder_remove_all(const char *path) {
    int folder;
    if (larder_os_folder_open(path, &folder) != LARDER_OK) return;
    empty(folder);
    (void)!larder_os_folder_remove(path);
}

/** The folder `index.new` in a store's folder. */
static void remove_working_folder(int folder) {
    int working;
    if (larder_os_folder_open_in(folder, "index.new", &working) != LARDER_OK) return;
    empty(working);
    (void)!larder_os_folder_remove_in(folder, "index.new");
}

larder_status larder_index_replace(larder_store *store, index_maker make, void *work) {
    const uint32_t mode = store->options.mode;
    int folder;
    file_path working;
    larder_status status = larder_identity_folder(&store->identity, &folder);
    if (status) return status;
    (void)larder_environment_path(working, store->identity.path, "index.new");
    // Of an attempt that a crash ended.
    remove_working_folder(folder);
    status = larder_os_folder_make_in(folder, "index.new", mode | (mode & 0444) >> 2);
    // Nothing of ours: what is left of an attempt was removed.
    if (status == EEXIST) {
        larder_os_file_close(folder);
        return LARDER_EFOREIGN;
    }
    if (!status) status = make(store, working, work);
    // If we crash before this, the old index is there.
    if (!status) status = larder_os_file_rename_in(folder, "index.new/data.mdb", "data.mdb");
    if (!status) status = larder_os_folder_sync(folder);
    remove_working_folder(folder);
    larder_os_file_close(folder);
    return status;
}
