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
