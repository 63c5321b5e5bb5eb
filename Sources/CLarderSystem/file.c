// SPDX-License-Identifier: MIT
#include "larder_os_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "descriptor.h"
#include "fail_at.h"

larder_status larder_os_file_open(const char *path, int flags, uint32_t mode, int *out) {
    return larder_os_file_open_in(AT_FDCWD, path, flags, mode, out);
}

larder_status larder_os_file_open_in(int folder, const char *name, int flags, uint32_t mode,
                                     int *out) {
    *out = -1;
    FAIL_AT("open");
    // O_NONBLOCK so that a FIFO in the path's place is an error later and not a wait for a writer.
    int how = O_NOFOLLOW | O_NONBLOCK | ((flags & LARDER_OS_WRITE) ? O_RDWR : O_RDONLY);
    if (flags & LARDER_OS_CREATE) how |= O_CREAT;
    if (flags & LARDER_OS_EXCLUSIVE) how |= O_EXCL;
    return larder_os_descriptor_open(folder, name, how, mode, out);
}

void larder_os_file_close(int file) {
    // After EINTR the descriptor is gone on Linux; trying again could close somebody else's.
    if (file >= 0) close(file);
}

#ifdef LARDER_FAULTS
static _Atomic bool hides_links;

void larder_fault_hide_links(bool hides) { hides_links = hides; }
#endif

static void facts_of(const struct stat *facts, larder_os_facts *out) {
#if defined(__APPLE__)
    struct timespec changed = facts->st_ctimespec;
#else
    struct timespec changed = facts->st_ctim;
#endif
    out->bytes = (uint64_t)facts->st_size;
    out->stored_bytes = (uint64_t)facts->st_blocks * 512;
    out->device = (uint64_t)facts->st_dev;
    out->inode = (uint64_t)facts->st_ino;
    out->changed_ns = (int64_t)changed.tv_sec * 1000000000 + changed.tv_nsec;
    out->mode = (uint32_t)facts->st_mode & 07777;
    out->links = (uint64_t)facts->st_nlink;
#ifdef LARDER_FAULTS
    if (hides_links && out->links > 1) out->links = 1;
#endif
    out->owner = (uint32_t)facts->st_uid;
    out->is_regular = S_ISREG(facts->st_mode);
    out->is_folder = S_ISDIR(facts->st_mode);
}

larder_status larder_os_file_facts_get(int file, larder_os_facts *out) {
    struct stat facts;
    FAIL_AT("fstat");
    if (fstat(file, &facts) != 0) return errno;
    facts_of(&facts, out);
    return LARDER_OK;
}

larder_status larder_os_file_facts_at(const char *path, larder_os_facts *out) {
    return larder_os_file_facts_in(AT_FDCWD, path, out);
}

larder_status larder_os_file_facts_in(int folder, const char *name, larder_os_facts *out) {
    struct stat facts;
    FAIL_AT("lstat");
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    facts_of(&facts, out);
    return LARDER_OK;
}

larder_status larder_os_file_identify(const char *path, larder_os_identity *out) {
    return larder_os_file_identify_in(AT_FDCWD, path, out);
}

larder_status larder_os_file_identify_in(int folder, const char *name, larder_os_identity *out) {
    struct stat facts;
    memset(out, 0, sizeof *out);
    FAIL_AT("lstat");
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    out->device = (uint64_t)facts.st_dev;
    out->inode = (uint64_t)facts.st_ino;
#if defined(__APPLE__)
    const struct timespec born = facts.st_birthtimespec;
    out->born_ns = (int64_t)born.tv_sec * 1000000000 + born.tv_nsec;
#elif defined(__linux__) && defined(STATX_BTIME) && defined(SYS_statx)
    // Past the C library, where it may be newer than the system. Where it is refused, as sandboxes
    // do, the number has to do.
    struct statx more;
    if (syscall(SYS_statx, folder, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_INO, &more) ==
            0 &&
        (more.stx_mask & STATX_BTIME) != 0 && more.stx_ino == out->inode)
        out->born_ns = (int64_t)more.stx_btime.tv_sec * 1000000000 + more.stx_btime.tv_nsec;
#endif
    return LARDER_OK;
}

/** For file systems that cannot reserve: writing zeros takes the blocks as well. What the file has
    already stays as it is. */
static larder_status file_fill(int file, uint64_t bytes) {
    static const uint8_t zeros[65536];
    struct stat facts;
    if (fstat(file, &facts) != 0) return errno;
    for (uint64_t offset = (uint64_t)facts.st_size; offset < bytes;) {
        uint64_t left = bytes - offset;
        size_t length = left < sizeof zeros ? (size_t)left : sizeof zeros;
        larder_status status = larder_os_file_write_at(file, zeros, length, offset);
        if (status) return status;
        offset += length;
    }
    return LARDER_OK;
}

larder_status larder_os_file_size_check(uint64_t bytes) {
    FAIL_AT("getrlimit");
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur)
        return EFBIG;
    return LARDER_OK;
}

bool larder_os_block_file_size_signal(void) {
    sigset_t limit, before;
    sigemptyset(&limit);
    sigemptyset(&before);
    sigaddset(&limit, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &limit, &before);
    return sigismember(&before, SIGXFSZ) == 1;
}

void larder_os_unblock_file_size_signal(bool was_blocked) {
    if (was_blocked) return;
    sigset_t limit, pending;
    int signal;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ)) (void)sigwait(&limit, &signal);
    (void)pthread_sigmask(SIG_UNBLOCK, &limit, NULL);
}

#if defined(FALLOC_FL_KEEP_SIZE) && defined(FALLOC_FL_PUNCH_HOLE)
enum { RESERVES = FALLOC_FL_KEEP_SIZE, RELEASES = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE };

/** Blocks come or go, as `mode` says. A signal undoes a call, on some file systems: what is done at
    once becomes less each time, so that a timer does not keep this from its end.
    @return EINTR if there is no end to them. */
static larder_status change_blocks(int file, int mode, uint64_t offset, uint64_t bytes) {
    enum { LEAST_BYTES = 64 << 10, TRIES = 100 };
    uint64_t piece = bytes;
    for (int tries = 0; bytes > 0 && tries < TRIES;) {
        if (piece > bytes) piece = bytes;
        if (fallocate(file, mode, (off_t)offset, (off_t)piece) == 0) {
            offset += piece;
            bytes -= piece;
            tries = 0;
        } else if (errno != EINTR) {
            return errno;
        } else if (piece > LEAST_BYTES) {
            piece = (piece / 2 + LEAST_BYTES - 1) / LEAST_BYTES * LEAST_BYTES;
        } else {
            tries++;
        }
    }
    return bytes == 0 ? LARDER_OK : EINTR;
}
#else
enum { RESERVES, RELEASES };

static larder_status change_blocks(int file, int mode, uint64_t offset, uint64_t bytes) {
    (void)file, (void)mode, (void)offset, (void)bytes;
    return ENOTSUP;
}
#endif

larder_status larder_os_file_reserve(int file, uint64_t bytes) {
    FAIL_AT("fallocate");
    larder_status allowed = larder_os_file_size_check(bytes);
    if (allowed) return allowed;
#if defined(__APPLE__)
    fstore_t store = {F_ALLOCATECONTIG | F_ALLOCATEALL, F_PEOFPOSMODE, 0, (off_t)bytes, 0};
    int result = fcntl(file, F_PREALLOCATE, &store);
    if (result != 0) {
        store.fst_flags = F_ALLOCATEALL;
        result = fcntl(file, F_PREALLOCATE, &store);
    }
    if (result == 0) return larder_os_file_truncate(file, bytes);
    if (errno != ENOTSUP && errno != EINVAL) return errno;
    return file_fill(file, bytes);
#else
    larder_status status = change_blocks(file, 0, 0, bytes);
    return status == EINTR || status == EOPNOTSUPP || status == ENOSYS ? file_fill(file, bytes)
                                                                       : status;
#endif
}

larder_status larder_os_file_reserve_behind(int file, uint64_t offset, uint64_t bytes) {
    FAIL_AT("fallocate behind");
    return change_blocks(file, RESERVES, offset, bytes);
}

larder_status larder_os_file_release(int file, uint64_t offset, uint64_t bytes) {
    FAIL_AT("release");
    return change_blocks(file, RELEASES, offset, bytes);
}

larder_status larder_os_file_next_data(int file, uint64_t from, uint64_t *data, uint64_t *hole) {
    *data = *hole = UINT64_MAX;
#if defined(__linux__)
    off_t start = lseek(file, (off_t)from, SEEK_DATA);
    if (start < 0) return errno == ENXIO ? LARDER_END : ENOTSUP;
    off_t end = lseek(file, start, SEEK_HOLE);
    if (end <= start) return ENOTSUP;
    *data = (uint64_t)start;
    *hole = (uint64_t)end;
    return LARDER_OK;
#else
    (void)file, (void)from;
    return ENOTSUP;
#endif
}

larder_status larder_os_file_truncate(int file, uint64_t bytes) {
    FAIL_AT("ftruncate");
    int result;
    do result = ftruncate(file, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    return result == 0 ? LARDER_OK : errno;
}

larder_status larder_os_file_read_at(int file, void *target, size_t length, uint64_t offset,
                                     size_t *got) {
    *got = 0;
    while (*got < length) {
        size_t want = length - *got;
        int fault = FAULT("pread");
        if (fault > 0 && fault != EINTR) return fault;
        if (fault < 0) want = 1;
        ssize_t count = pread(file, (uint8_t *)target + *got, want, (off_t)(offset + *got));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        if (count == 0) break;
        *got += (size_t)count;
    }
    return LARDER_OK;
}

larder_status larder_os_file_write_at(int file, const void *source, size_t length,
                                      uint64_t offset) {
    size_t done = 0;
    while (done < length) {
        size_t want = length - done;
        int fault = FAULT("pwrite");
        if (fault > 0 && fault != EINTR) return fault;
        if (fault < 0) want = 1;
        ssize_t count = pwrite(file, (const uint8_t *)source + done, want, (off_t)(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        if (count == 0) return EIO;
        done += (size_t)count;
    }
    return LARDER_OK;
}

larder_status larder_os_file_map(int file, size_t bytes, bool writable, uint8_t **out) {
    *out = NULL;
    FAIL_AT("mmap");
    int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *map = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) return errno;
    *out = map;
    return LARDER_OK;
}

void larder_os_file_unmap(uint8_t *map, size_t bytes) {
    if (map) munmap(map, bytes);
}

larder_status larder_os_memory_map(size_t bytes, uint8_t **out) {
    *out = NULL;
#if defined(__linux__)
    FAIL_AT("map");
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return errno;
    *out = map;
    return LARDER_OK;
#else
    (void)bytes;
    return ENOTSUP;
#endif
}

larder_status larder_os_memory_move(uint8_t *from, uint8_t *onto, size_t bytes) {
#if defined(__linux__)
    // The pages move: threads that meet the gap wait in the kernel until it is closed.
    void *moved = mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, onto);
    return moved == MAP_FAILED ? errno : LARDER_OK;
#else
    (void)from, (void)onto, (void)bytes;
    return ENOTSUP;
#endif
}

void larder_os_file_warm(uint8_t *map, uint64_t from, uint64_t until) {
#if defined(__linux__)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    int keep = errno;
    from -= from % page;
    until -= until % page;
    if (until > from) (void)madvise(map + from, (size_t)(until - from), MADV_POPULATE_WRITE);
    errno = keep;
#else
    (void)map, (void)from, (void)until;
#endif
}

/** To the medium, and not only to the drive, where fsync leaves it on Apple systems. */
static int sync_to_medium(int file) {
    int result;
#if defined(__APPLE__)
    do result = fcntl(file, F_FULLFSYNC);
    while (result != 0 && errno == EINTR);
    // Not every file system knows it.
    if (result == 0 || (errno != ENOTSUP && errno != EINVAL)) return result;
    do result = fsync(file);
#else
    do result = fdatasync(file);
#endif
    while (result != 0 && errno == EINTR);
    return result;
}

larder_status larder_os_file_sync(int file) {
    FAIL_AT("fdatasync");
    return sync_to_medium(file) == 0 ? LARDER_OK : errno;
}

larder_status larder_os_map_sync(int file, uint8_t *map, uint64_t bytes) {
#if defined(__APPLE__)
    // F_FULLFSYNC is not said to write the dirty pages of mappings.
    if (msync(map, (size_t)bytes, MS_SYNC) != 0) return errno;
#else
    (void)map, (void)bytes;
#endif
    return larder_os_file_sync(file);
}

larder_status larder_os_file_sync_lower(int file) {
#if defined(__APPLE__)
    return sync_to_medium(file) == 0 ? LARDER_OK : errno;
#else
    (void)file;
    return LARDER_OK;
#endif
}

larder_status larder_os_parent_open_to_sync(const char *path, int *folder) {
    const char *name;
    larder_status status = larder_os_parent_open(path, folder, &name);
#if defined(__APPLE__)
    // The sandbox may have let the program have this one file, or its folder may be entered but not
    // read, and then there is no more to be done.
    if (status == EPERM || status == EACCES) return LARDER_OK;
#endif
    return status;
}

/** All of the file system that an open file, or folder, is in. */
static larder_status sync_file_system(int file) {
#if defined(__linux__)
    FAIL_AT("syncfs");
    int result;
    do result = syncfs(file);
    while (result != 0 && errno == EINTR);
    return result == 0 ? LARDER_OK : errno;
#else
    (void)file;
    return LARDER_OK;
#endif
}

larder_status larder_os_file_sync_name(int file, int folder) {
    // What may be entered but not read cannot be synced by itself.
    larder_status status = folder < 0 ? EBADF : larder_os_folder_sync(folder);
    return status == EBADF ? sync_file_system(file) : status;
}

larder_status larder_os_file_sync_parent(const char *path) {
    int folder, file = -1;
    larder_status status = larder_os_parent_open_to_sync(path, &folder);
    if (!status) status = folder < 0 ? EBADF : larder_os_folder_sync(folder);
    larder_os_file_close(folder);
    if (status != EBADF) return status;
    status = larder_os_descriptor_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0, &file);
    if (!status) status = sync_file_system(file);
    larder_os_file_close(file);
    return status;
}

larder_status larder_os_file_change_mode(int file, uint32_t mode) {
    FAIL_AT("fchmod");
    return fchmod(file, (mode_t)mode) == 0 ? LARDER_OK : errno;
}

larder_status larder_os_file_rename(const char *from, const char *to) {
    return larder_os_file_rename_in(AT_FDCWD, from, to);
}

larder_status larder_os_file_rename_in(int folder, const char *from, const char *to) {
    FAIL_AT("rename");
    return renameat(folder, from, folder, to) == 0 ? LARDER_OK : errno;
}

larder_status larder_os_file_remove(const char *path) {
    return larder_os_file_remove_in(AT_FDCWD, path);
}

larder_status larder_os_file_remove_in(int folder, const char *name) {
    FAIL_AT("unlink");
    return unlinkat(folder, name, 0) == 0 ? LARDER_OK : errno;
}

larder_status larder_os_absolute_path(const char *path, char **out) {
    char folder[4096] = "";
    *out = NULL;
    FAIL_AT("getcwd");
    if (path[0] != '/' && !getcwd(folder, sizeof folder))
        return errno == ERANGE ? ENAMETOOLONG : errno;
    size_t length = strlen(folder) + strlen(path) + 2;
    *out = malloc(length);
    if (!*out) return ENOMEM;
    const char *slash = path[0] == '/' || strcmp(folder, "/") == 0 ? "" : "/";
    (void)snprintf(*out, length, "%s%s%s", folder, slash, path);
    return LARDER_OK;
}
