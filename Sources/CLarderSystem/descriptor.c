// SPDX-License-Identifier: MIT
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail_at.h"

enum { STANDARD_COUNT = STDERR_FILENO + 1 };

// Placeholders ------------------------------------------------------------------------------------

static pthread_mutex_t standard_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t standard_users;
/** What was opened where a standard descriptor was closed; no mode where nothing was. */
static struct stat placeholders[STANDARD_COUNT];

static void close_placeholders(void) {
    for (int file = 0; file < STANDARD_COUNT; file++) {
        struct stat now, *then = &placeholders[file];
        if (!then->st_mode) continue;
        // The program may have opened it for itself meanwhile, as by dup2.
        if (fstat(file, &now) == 0 && now.st_dev == then->st_dev && now.st_ino == then->st_ino)
            close(file);
        then->st_mode = 0;
    }
}

static void standard_before_fork(void) { pthread_mutex_lock(&standard_lock); }

static void standard_in_parent(void) { pthread_mutex_unlock(&standard_lock); }

/** No thread that uses them is in the child. */
static void standard_in_child(void) {
    standard_users = 0;
    close_placeholders();
    pthread_mutex_unlock(&standard_lock);
}

/** Files are opened under other locks, whose handlers have to run before these: the first ones that
    are registered are called last before a fork. */
__attribute__((constructor)) static void standard_outlives_fork(void) {
    (void)pthread_atfork(standard_before_fork, standard_in_parent, standard_in_child);
}

static bool has_closed(void) {
    for (int file = 0; file < STANDARD_COUNT; file++)
        if (fcntl(file, F_GETFD) < 0) return true;
    return false;
}

/** What is written to it is refused, as if it were closed. */
static int open_placeholder(void) {
    // Some roots have no devices, and some sandboxes keep a program from the root.
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return file < 0 ? open("/", O_RDONLY | O_CLOEXEC) : file;
}

larder_status larder_os_standard_occupy(void) {
    int fault = FAULT("standard"), file = 0;
    larder_status status = fault;
    pthread_mutex_lock(&standard_lock);
    standard_users++;
    while (!status && file < STANDARD_COUNT && has_closed()) {
        file = open_placeholder();
        if (file < 0) status = errno;
        else if (file >= STANDARD_COUNT) close(file);
        else if (fstat(file, &placeholders[file]) != 0) {
            status = errno;
            placeholders[file].st_mode = 0;
            close(file);
        }
    }
    pthread_mutex_unlock(&standard_lock);
    return status;
}

void larder_os_standard_vacate(void) {
    int keep = errno;
    pthread_mutex_lock(&standard_lock);
    if (--standard_users == 0) close_placeholders();
    pthread_mutex_unlock(&standard_lock);
    errno = keep;
}

// Descriptors -------------------------------------------------------------------------------------

larder_status larder_os_file_duplicate(int file, int *out) {
    *out = fcntl(file, F_DUPFD_CLOEXEC, STANDARD_COUNT);
    return *out < 0 ? errno : LARDER_OK;
}

void larder_os_file_close_on_exec(int file) { (void)fcntl(file, F_SETFD, FD_CLOEXEC); }

larder_status larder_os_descriptor_open(int folder, const char *name, int flags, uint32_t mode,
                                        int *out) {
    int file;
    *out = -1;
    // Another thread may write to a standard descriptor as soon as the file is open there, so it
    // is not enough to move it.
    (void)larder_os_standard_occupy();
    do file = openat(folder, name, flags | O_CLOEXEC, (mode_t)mode);
    while (file < 0 && errno == EINTR);
    larder_os_standard_vacate();
    if (file < 0) return errno;
    *out = file;
    if (file >= STANDARD_COUNT) return LARDER_OK;
    // One was closed just now, or no placeholder could be had.
    larder_status status = larder_os_file_duplicate(file, out);
    close(file);
    return status;
}

larder_status larder_os_parent_open(const char *path, int *folder, const char **name) {
    *folder = -1;
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(slash - path) : 1;
    if (slash == path) length = 1;
    char *parent = malloc(length + 1);
    if (!parent) return ENOMEM;
    memcpy(parent, slash ? path : ".", length);
    parent[length] = 0;
    larder_status status =
        larder_os_descriptor_open(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0, folder);
#if defined(O_PATH)
    // It may be entered but not read: what lies in it can be reached all the same.
    if (status == EACCES)
        status = larder_os_descriptor_open(AT_FDCWD, parent, O_PATH | O_DIRECTORY, 0, folder);
#endif
    free(parent);
    return status;
}
