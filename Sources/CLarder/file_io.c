// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "file_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

// Fault points ------------------------------------------------------------------------------------

#ifdef LARDER_FAULTS
#include <pthread.h>

static pthread_mutex_t fault_mutex = PTHREAD_MUTEX_INITIALIZER;
static char fault_call[32];
static int fault_countdown;
static bool fault_lasts;
static int fault_error;
static int fault_count;
static uint8_t fault_boot[16];
static bool fault_boot_set;

void larder_fault_set(const char *call, int nth, int error) {
    pthread_mutex_lock(&fault_mutex);
    memset(fault_call, 0, sizeof fault_call);
    if (call) strncpy(fault_call, call, sizeof fault_call - 1);
    fault_lasts = nth < 0;
    fault_countdown = call ? abs(nth) : 0;
    fault_error = error;
    fault_count = 0;
    pthread_mutex_unlock(&fault_mutex);
}

int larder_fault_passes(void) {
    pthread_mutex_lock(&fault_mutex);
    int count = fault_count;
    pthread_mutex_unlock(&fault_mutex);
    return count;
}

void larder_fault_boot_id(const uint8_t *id) {
    fault_boot_set = id != NULL;
    if (id) memcpy(fault_boot, id, sizeof fault_boot);
}

int larder_fault_at(const char *call) {
    int error = 0;
    pthread_mutex_lock(&fault_mutex);
    if (fault_call[0] && strcmp(call, fault_call) == 0) {
        fault_count++;
        if (fault_countdown > 0 && --fault_countdown == 0) {
            error = fault_error;
            fault_countdown = fault_lasts;
        }
    }
    pthread_mutex_unlock(&fault_mutex);
    return error;
}

#define FAULT(call) larder_fault_at(call)
#else
#define FAULT(call) 0
#endif

/** Fails the enclosing function at the fault point `call`. EINTR counts as a retry, as in life. */
#define FAIL_AT(call)                                                                              \
    do {                                                                                           \
        int fault_ = FAULT(call);                                                                  \
        if (fault_ > 0 && fault_ != EINTR) return fault_;                                          \
    } while (0)

// Files -------------------------------------------------------------------------------------------

larder_status file_open(const char *path, int flags, uint32_t mode, int *out) {
    return file_open_in(AT_FDCWD, path, flags, mode, out);
}

larder_status file_open_in(int folder, const char *name, int flags, uint32_t mode, int *out) {
    *out = -1;
    FAIL_AT("open");
    // O_NONBLOCK so that a FIFO in the path's place is an error later and not a wait for a writer.
#ifdef LARDER_PLANT_FOLLOW_LINKS
#undef O_NOFOLLOW
#define O_NOFOLLOW 0
#endif
    int how = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | ((flags & FILE_WRITE) ? O_RDWR : O_RDONLY);
    if (flags & FILE_CREATE) how |= O_CREAT;
    if (flags & FILE_EXCLUSIVE) how |= O_EXCL;
    int file;
    do file = openat(folder, name, how, (mode_t)mode);
    while (file < 0 && errno == EINTR);
    if (file < 0) return errno;
    *out = file;
    return LARDER_OK;
}

void file_close(int file) {
    // After EINTR the descriptor is gone on Linux; trying again could close somebody else's.
    if (file >= 0) close(file);
}

static void facts_of(const struct stat *facts, file_facts *out) {
#if defined(__APPLE__)
    struct timespec changed = facts->st_ctimespec;
#else
    struct timespec changed = facts->st_ctim;
#endif
    out->bytes = (uint64_t)facts->st_size;
    out->device = (uint64_t)facts->st_dev;
    out->inode = (uint64_t)facts->st_ino;
    out->changed_ns = (int64_t)changed.tv_sec * 1000000000 + changed.tv_nsec;
    out->mode = (uint32_t)facts->st_mode & 07777;
    out->is_regular = S_ISREG(facts->st_mode);
    out->is_folder = S_ISDIR(facts->st_mode);
}

larder_status file_facts_get(int file, file_facts *out) {
    struct stat facts;
    FAIL_AT("fstat");
    if (fstat(file, &facts) != 0) return errno;
    facts_of(&facts, out);
    return LARDER_OK;
}

larder_status file_facts_at(const char *path, file_facts *out) {
    struct stat facts;
    FAIL_AT("lstat");
    if (lstat(path, &facts) != 0) return errno;
    facts_of(&facts, out);
    return LARDER_OK;
}

/** For file systems that cannot reserve: writing zeros takes the blocks as well. */
static larder_status file_fill(int file, uint64_t bytes) {
    static const uint8_t zeros[65536];
    for (uint64_t offset = 0; offset < bytes;) {
        uint64_t left = bytes - offset;
        size_t length = left < sizeof zeros ? (size_t)left : sizeof zeros;
        larder_status status = file_write_at(file, zeros, length, offset);
        if (status) return status;
        offset += length;
    }
    return LARDER_OK;
}

larder_status file_size_check(uint64_t bytes) {
    FAIL_AT("getrlimit");
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        bytes > limit.rlim_cur)
        return EFBIG;
    return LARDER_OK;
}

larder_status file_reserve(int file, uint64_t bytes) {
    FAIL_AT("fallocate");
    larder_status allowed = file_size_check(bytes);
    if (allowed) return allowed;
#ifdef LARDER_PLANT_NO_RESERVE
    return file_truncate(file, bytes);
#endif
#if defined(__APPLE__)
    fstore_t store = {F_ALLOCATECONTIG | F_ALLOCATEALL, F_PEOFPOSMODE, 0, (off_t)bytes, 0};
    int result = fcntl(file, F_PREALLOCATE, &store);
    if (result != 0) {
        store.fst_flags = F_ALLOCATEALL;
        result = fcntl(file, F_PREALLOCATE, &store);
    }
    if (result == 0) return file_truncate(file, bytes);
    if (errno != ENOTSUP && errno != EINVAL) return errno;
    return file_fill(file, bytes);
#else
    int result;
    do result = fallocate(file, 0, 0, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    if (result == 0) return LARDER_OK;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    return file_fill(file, bytes);
#endif
}

larder_status file_reserve_behind(int file, uint64_t offset, uint64_t bytes) {
    FAIL_AT("fallocate behind");
#if defined(FALLOC_FL_KEEP_SIZE)
    int result;
    do result = fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    return result == 0 ? LARDER_OK : errno;
#else
    (void)file;
    (void)offset;
    (void)bytes;
    return ENOTSUP;
#endif
}

larder_status file_truncate(int file, uint64_t bytes) {
    FAIL_AT("ftruncate");
    int result;
    do result = ftruncate(file, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    return result == 0 ? LARDER_OK : errno;
}

larder_status file_read_at(int file, void *target, size_t length, uint64_t offset, size_t *got) {
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

larder_status file_write_at(int file, const void *source, size_t length, uint64_t offset) {
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

larder_status file_map(int file, size_t bytes, bool writable, uint8_t **out) {
    *out = NULL;
    FAIL_AT("mmap");
    int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *map = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) return errno;
    *out = map;
    return LARDER_OK;
}

void file_unmap(uint8_t *map, size_t bytes) {
    if (map) munmap(map, bytes);
}

void file_warm(uint8_t *map, uint64_t from, uint64_t until) {
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

larder_status file_sync(int file) {
    FAIL_AT("fdatasync");
    int result;
#if defined(__APPLE__)
    // Plain fsync leaves the data in the drive's cache there.
    do result = fcntl(file, F_FULLFSYNC);
    while (result != 0 && errno == EINTR);
    if (result != 0 && (errno == ENOTSUP || errno == EINVAL)) result = fsync(file);
#else
    do result = fdatasync(file);
    while (result != 0 && errno == EINTR);
#endif
    return result == 0 ? LARDER_OK : errno;
}

larder_status file_sync_parent(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 1;
    if (slash == path) length = 1;
    char *parent = malloc(length + 1);
    if (!parent) return ENOMEM;
    memcpy(parent, slash ? path : ".", length);
    parent[length] = 0;
    int folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(parent);
    if (folder < 0) return errno;
    larder_status status = folder_sync(folder);
    close(folder);
    return status;
}

#if defined(F_OFD_SETLK) && defined(F_OFD_GETLK)

larder_status file_lock(int file) {
    FAIL_AT("lock");
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result;
    do result = fcntl(file, F_OFD_SETLK, &lock);
    while (result != 0 && errno == EINTR);
    if (result == 0) return LARDER_OK;
    return errno == EAGAIN || errno == EACCES ? LARDER_EBUSY : errno;
}

void file_unlock(int file) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)fcntl(file, F_OFD_SETLK, &lock);
}

bool file_is_locked(int file) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

#else

larder_status file_lock(int file) {
    FAIL_AT("lock");
    int result;
    do result = flock(file, LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR);
    if (result == 0) return LARDER_OK;
    return errno == EWOULDBLOCK ? LARDER_EBUSY : errno;
}

void file_unlock(int file) { (void)flock(file, LOCK_UN); }

bool file_is_locked(int file) {
    // flock has no question without an answer: this takes a shared lock for a moment.
    if (flock(file, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    (void)flock(file, LOCK_UN);
    return false;
}

#endif

larder_status file_change_mode(int file, uint32_t mode) {
    FAIL_AT("fchmod");
    return fchmod(file, (mode_t)mode) == 0 ? LARDER_OK : errno;
}

larder_status file_rename(const char *from, const char *to) {
    return file_rename_in(AT_FDCWD, from, to);
}

larder_status file_rename_in(int folder, const char *from, const char *to) {
    FAIL_AT("rename");
    return renameat(folder, from, folder, to) == 0 ? LARDER_OK : errno;
}

larder_status file_remove(const char *path) { return file_remove_in(AT_FDCWD, path); }

larder_status file_remove_in(int folder, const char *name) {
    FAIL_AT("unlink");
    return unlinkat(folder, name, 0) == 0 ? LARDER_OK : errno;
}

larder_status path_from_root(const char *path, char **out) {
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

// Folders -----------------------------------------------------------------------------------------

larder_status folder_open(const char *path, int *out) {
    return folder_open_in(AT_FDCWD, path, out);
}

larder_status folder_open_in(int folder, const char *name, int *out) {
    *out = -1;
    FAIL_AT("opendir");
    int file;
    do file = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    while (file < 0 && errno == EINTR);
    if (file < 0) return errno;
    *out = file;
    return LARDER_OK;
}

larder_status folder_sync(int folder) {
    FAIL_AT("fsync");
    int result;
    do result = fsync(folder);
    while (result != 0 && errno == EINTR);
    // Some file systems cannot sync a folder; there is nothing more to do about its names then.
    return result == 0 || errno == EINVAL ? LARDER_OK : errno;
}

larder_status folder_make(const char *path, uint32_t mode) {
    return folder_make_in(AT_FDCWD, path, mode);
}

larder_status folder_make_in(int folder, const char *name, uint32_t mode) {
    FAIL_AT("mkdir");
    if (mkdirat(folder, name, (mode_t)mode) != 0) return errno;
    // What the umask took away. Between the two it is only less than asked for.
    return fchmodat(folder, name, (mode_t)mode, 0) == 0 ? LARDER_OK : errno;
}

larder_status folder_remove(const char *path) {
    FAIL_AT("rmdir");
    return rmdir(path) == 0 ? LARDER_OK : errno;
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

larder_status folder_list(const char *path, int (*body)(void *context, const char *name),
                          void *context) {
    int file;
    larder_status status = folder_open(path, &file);
    return status ? status : list_opened(file, body, context);
}

larder_status folder_list_in(int folder, int (*body)(void *context, const char *name),
                             void *context) {
    // Opened anew: a listing moves its descriptor's place, and ends with closing it.
    int file;
    larder_status status = folder_open_in(folder, ".", &file);
    return status ? status : list_opened(file, body, context);
}

// The system --------------------------------------------------------------------------------------

larder_status file_system_room(const char *path, uint64_t *bytes) {
    struct statvfs room;
    *bytes = 0;
    FAIL_AT("statvfs");
    while (statvfs(path, &room) != 0)
        if (errno != EINTR) return errno;
    *bytes = (uint64_t)room.f_bavail * room.f_frsize;
    return LARDER_OK;
}

static uint8_t boot_id[16];

static void boot_id_read(void) {
    uint8_t *out = boot_id;
#if defined(__linux__)
    char text[37] = {0};
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t got = read(file, text, 36);
    close(file);
    if (got != 36) return;
    size_t digits = 0;
    for (size_t i = 0; i < 36 && digits < 32; i++) {
        char character = text[i];
        uint8_t value;
        if (character >= '0' && character <= '9') value = (uint8_t)(character - '0');
        else if (character >= 'a' && character <= 'f') value = (uint8_t)(character - 'a' + 10);
        else continue;
        out[digits / 2] = (uint8_t)(out[digits / 2] | (digits % 2 ? value : value << 4));
        digits++;
    }
#elif defined(__APPLE__)
    struct timeval boot;
    size_t length = sizeof boot;
    if (sysctlbyname("kern.boottime", &boot, &length, NULL, 0) == 0) {
        uint64_t seconds = (uint64_t)boot.tv_sec;
        memcpy(out, &seconds, sizeof seconds);
    }
#endif
}

void system_boot_id(uint8_t out[16]) {
    // A process does not live on when the machine starts anew.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, boot_id_read);
    memcpy(out, boot_id, sizeof boot_id);
#ifdef LARDER_FAULTS
    if (fault_boot_set) memcpy(out, fault_boot, 16);
#endif
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t system_wall_clock_ns(void) { return clock_ns(CLOCK_REALTIME); }
int64_t system_monotonic_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

void system_random_fill(uint8_t *out, size_t length) {
    if (getentropy(out, length) == 0) return;
    for (size_t at = 0; at < length; at++) out[at] = (uint8_t)(system_random() >> (at % 4 * 8));
}

uint32_t system_random(void) {
    uint32_t value = 0;
    if (getentropy(&value, sizeof value) == 0) return value;
    // Not a secret: only unlikely to be the same in two files.
    uint64_t mixed = (uint64_t)system_wall_clock_ns() ^ ((uint64_t)getpid() << 32);
    mixed *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(mixed >> 32);
}
