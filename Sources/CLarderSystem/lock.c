// SPDX-License-Identifier: MIT
/** @file lock.c
    One writer at a time, by a lock for writing on the whole file.

    Every process that may read the file can take a lock for reading on it, and the two exclude each
    other. That cannot be had otherwise: whatever lock the system has for a file, a reader can hold
    it, too (fcntl's locks for reading, flock of either kind). A lock on a file beside it, which
    readers could not open, would be found by its name, and one file may have a different name in
    each of two containers: each would find its own, and both would write. So a writer that finds a
    reader's lock in its way does not go on without one of its own, but says what it found. Readers
    look for locks for writing alone, which only who may write can hold. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "fail_at.h"
#include "larder_os_file.h"

#if defined(F_OFD_SETLK) && defined(F_OFD_GETLK)

/** Whether somebody holds a lock for reading; `lock` receives it. */
static bool is_read_locked(int file, struct flock *lock) {
    *lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_OFD_GETLK, lock) == 0 && lock->l_type == F_RDLCK;
}

larder_status larder_os_file_lock(int file) {
    FAIL_AT("lock");
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result;
    do result = fcntl(file, F_OFD_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    if (result == 0) return LARDER_OK;
    if (errno != EAGAIN && errno != EACCES) return errno;
    // A writer that left just now was still there.
    return larder_os_file_is_locked(file) || !is_read_locked(file, &lock) ? LARDER_EBUSY
                                                                          : LARDER_ELOCKED;
}

int64_t larder_os_file_lock_pid(int file) {
    struct flock lock;
    return is_read_locked(file, &lock) && lock.l_pid > 0 ? lock.l_pid : 0;
}

void larder_os_file_unlock(int file) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)fcntl(file, F_OFD_SETLK, &lock);
}

bool larder_os_file_locks_places(void) { return true; }

bool larder_os_file_is_locked(int file) {
    // Against a lock for reading stand those for writing, which nobody can take who may only read.
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

larder_status larder_os_file_lock_place(int file, uint64_t place, bool is_shared) {
    FAIL_AT("lock_place");
    struct flock lock = {.l_type = is_shared ? F_RDLCK : F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)place,
                         .l_len = 1};
    int result;
    do result = fcntl(file, F_OFD_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    if (result == 0) return LARDER_OK;
    return errno == EAGAIN || errno == EACCES ? LARDER_EBUSY : errno;
}

void larder_os_file_unlock_place(int file, uint64_t place) {
    struct flock lock = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = (off_t)place, .l_len = 1};
    (void)fcntl(file, F_OFD_SETLK, &lock);
}

bool larder_os_file_is_place_locked(int file, uint64_t first, uint64_t count, bool by_writers) {
    struct flock lock = {.l_type = by_writers ? F_RDLCK : F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)first,
                         .l_len = (off_t)count};
    return count > 0 && fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

#else

larder_status larder_os_file_lock(int file) {
    FAIL_AT("lock");
    int result;
    do result = flock(file, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    if (result == 0) return LARDER_OK;
    return errno == EWOULDBLOCK ? LARDER_EBUSY : errno;
}

int64_t larder_os_file_lock_pid(int file) {
    (void)file;
    return 0;
}

void larder_os_file_unlock(int file) { (void)flock(file, LOCK_UN); }

bool larder_os_file_locks_places(void) { return false; }

bool larder_os_file_is_locked(int file) {
    // flock has no question without an answer: this takes a shared lock for a moment.
    if (flock(file, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    (void)flock(file, LOCK_UN);
    return false;
}

larder_status larder_os_file_lock_place(int file, uint64_t place, bool is_shared) {
    (void)place;
    return is_shared ? LARDER_OK : larder_os_file_lock(file);
}

void larder_os_file_unlock_place(int file, uint64_t place) {
    (void)place;
    larder_os_file_unlock(file);
}

bool larder_os_file_is_place_locked(int file, uint64_t first, uint64_t count, bool by_writers) {
    (void)file, (void)first, (void)count, (void)by_writers;
    return false;
}

#endif
