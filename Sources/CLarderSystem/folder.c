// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "descriptor.h"
#include "fail_at.h"
#include "larder_os_file.h"

larder_status larder_os_folder_open(const char *path, int *out) {
    return larder_os_folder_open_in(AT_FDCWD, path, out);
}

larder_status larder_os_folder_open_in(int folder, const char *name, int *out) {
    *out = -1;
    FAIL_AT("opendir");
    return larder_os_descriptor_open(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, out);
}

larder_status larder_os_folder_sync(int folder) {
    FAIL_AT("fsync");
    int result;
#if defined(__APPLE__)
    do result = fcntl(folder, F_FULLFSYNC);
    while (result != 0 && errno == EINTR);
    if (result == 0) return LARDER_OK;
#endif
    do result = fsync(folder);
    while (result != 0 && errno == EINTR);
    // Some file systems cannot sync a folder; there is nothing more to do about its names then.
    return result == 0 || errno == EINVAL ? LARDER_OK : errno;
}

larder_status larder_os_folder_make(const char *path, uint32_t mode) {
    return larder_os_folder_make_in(AT_FDCWD, path, mode);
}

larder_status larder_os_folder_make_in(int folder, const char *name, uint32_t mode) {
    FAIL_AT("mkdir");
    if (mkdirat(folder, name, (mode_t)mode) != 0) return errno;
    // What the umask took away: between the two it is only less than asked for. By a descriptor,
    // where one can be had, for another folder may have come into its place.
    int made;
    if (larder_os_folder_open_in(folder, name, &made) != LARDER_OK)
        return fchmodat(folder, name, (mode_t)mode, 0) == 0 ? LARDER_OK : errno;
    larder_status status = fchmod(made, (mode_t)mode) == 0 ? LARDER_OK : errno;
    close(made);
    return status;
}

larder_status larder_os_folder_remove(const char *path) {
    FAIL_AT("rmdir");
    return rmdir(path) == 0 ? LARDER_OK : errno;
}

larder_status larder_os_folder_remove_in(int folder, const char *name) {
    FAIL_AT("rmdir");
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 ? LARDER_OK : errno;
}

/** Closes `file`. */
static larder_status list_opened(int file, int (*body)(void *context, const char *name),
                                 void *context) {
    DIR *list = fdopendir(file);
    if (!list) {
        larder_status status = errno;
        close(file);
        return status;
    }
    larder_status status = LARDER_OK;
    while (!status) {
        errno = 0;
        const struct dirent *found = readdir(list);
        if (!found) {
            status = errno;
            break;
        }
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0) continue;
        if (body(context, found->d_name)) status = ECANCELED;
    }
    closedir(list);
    return status;
}

larder_status larder_os_folder_list(const char *path, int (*body)(void *context, const char *name),
                                    void *context) {
    int file;
    larder_status status = larder_os_folder_open(path, &file);
    return status ? status : list_opened(file, body, context);
}

larder_status larder_os_folder_list_in(int folder, int (*body)(void *context, const char *name),
                                       void *context) {
    // Opened again: a listing moves its descriptor's position, and closes it at the end.
    int file;
    larder_status status = larder_os_folder_open_in(folder, ".", &file);
    return status ? status : list_opened(file, body, context);
}

larder_status larder_os_file_system_room(const char *path, uint64_t *bytes) {
    struct statvfs room;
    *bytes = 0;
    FAIL_AT("statvfs");
    while (statvfs(path, &room) != 0)
        if (errno != EINTR) return errno;
    *bytes = (uint64_t)room.f_bavail * room.f_frsize;
    return LARDER_OK;
}
