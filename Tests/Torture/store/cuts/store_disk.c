// SPDX-License-Identifier: MIT
// Interception of the system calls that change files and folders, and of those that sync them.
#include "store_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define DISK_WATCHES 0 // Its runtime needs these calls for itself, and power is not tried with it.
#elif defined(__linux__) && defined(__x86_64__)
#define DISK_WATCHES 1
#elif defined(__linux__) && defined(__aarch64__)
#define DISK_WATCHES 1
#else
#define DISK_WATCHES 0
#endif

static disk *watched;
static struct {
    const char *root;
    const char *call;
    _Atomic int countdown;
    _Atomic int passes;
    _Atomic int failures;
    int error;
    bool for_good;
} failing;
static void (*on_call)(void);
static rng watched_random;
static unsigned watched_chance;

#if DISK_WATCHES
#include <sys/syscall.h>

// The calls themselves ----------------------------------------------------------------------------

static int raw_open(int folder, const char *path, int flags, mode_t mode) {
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}
/** Of an empty path, that of the open file. */
static int raw_stat(int folder, const char *path, struct stat *facts) {
    return (int)syscall(SYS_newfstatat, folder, path, facts,
                        AT_SYMLINK_NOFOLLOW | (*path ? 0 : AT_EMPTY_PATH));
}
static int raw_unlink(int folder, const char *path, int flags) {
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}
static int raw_rename(int from_folder, const char *from, int to_folder, const char *to) {
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

// Notes -------------------------------------------------------------------------------------------

static pthread_mutex_t notes = PTHREAD_MUTEX_INITIALIZER;

static void begin_notes(void) {
    pthread_mutex_lock(&notes);
    if (watched) atomic_store(&watched->is_noting, 1);
}

static void end_notes(void) {
    if (watched) atomic_store(&watched->is_noting, 0);
    pthread_mutex_unlock(&notes);
}

static bool is_in(const char *root, const char *path) {
    size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static bool is_below(const disk *self, const char *path) { return is_in(self->root, path); }

static bool open_path(int file, char path[1024]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, 1023);
    path[length < 0 ? 0 : length] = '\0';
    return length > 0;
}

/** The path of an open file; false if it is not ours. */
static bool path_of_file(const disk *self, int file, char path[1024]) {
    return open_path(file, path) && is_below(self, path);
}

/** Whether a call of that name is one of those that are to fail. */
static bool is_meant(const char *call) {
    static const struct {
        const char *name, *members;
    } groups[] = {
        {"any", ""}, {"growth", "write sync room make"}, {"slow", "write sync room read"}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (strcmp(failing.call, groups[i].name) == 0) {
            return i == 0 || strstr(groups[i].members, call);
        }
    }
    return strcmp(failing.call, call) == 0 ||
           (strcmp(failing.call, "open") == 0 && *call == 'm' && strcmp(call, "make") == 0);
}

/** Whether this call has to fail now: sets errno. It is on `file`, or on `path` in that folder. */
static bool fails(const char *call, int file, const char *path) {
    char start[1024], whole[2048];
    if (!failing.call || !is_meant(call)) {
        return false;
    }
    int before = errno;
    if (path && (path[0] == '/' || file == AT_FDCWD)) {
        snprintf(whole, sizeof whole, "%s", path);
    } else if (open_path(file, start)) {
        snprintf(whole, sizeof whole, "%s%s%s", start, path ? "/" : "", path ? path : "");
    } else {
        whole[0] = '\0';
    }
    errno = before;
    size_t length = strlen(whole);
    bool is_lmdb = length > 4 && strcmp(whole + length - 4, ".mdb") == 0;
    // LMDB tells of a signal, and takes any error of a lock for another process that has it.
    bool is_spared =
        is_lmdb && (failing.error == EINTR || (failing.error > 0 && strcmp(call, "lock") == 0));
    if (!is_in(failing.root, whole) || is_spared) {
        return false;
    }
    if (on_call) {
        on_call();
    }
    atomic_fetch_add(&failing.passes, 1);
    int left = atomic_fetch_sub(&failing.countdown, 1);
    if (left > 1 || (left < 1 && !failing.for_good)) {
        return false;
    }
    if (failing.error == DISK_KILLS) {
        kill(getpid(), SIGKILL);
    }
    atomic_fetch_add(&failing.failures, 1);
    errno = failing.error;
    return true;
}

/** The whole path that a call means; false if it is not ours. */
static bool path_of_call(const disk *self, int folder, const char *path, char whole[2048]) {
    char start[1024];
    if (path[0] == '/' || folder == AT_FDCWD) {
        snprintf(whole, 2048, "%s", path);
    } else if (path_of_file(self, folder, start)) {
        snprintf(whole, 2048, "%s/%s", start, path);
    } else {
        return false;
    }
    return is_below(self, whole);
}

/** Folder, name and inode of a path that exists. */
static bool look_up(const char *whole, disk_name *out) {
    struct stat facts, above;
    char parent[2048];
    snprintf(parent, sizeof parent, "%s", whole);
    char *slash = strrchr(parent, '/');
    if (!slash || lstat(whole, &facts) != 0) {
        return false;
    }
    *slash = '\0';
    if (stat(parent, &above) != 0 || strlen(slash + 1) >= DISK_NAME_MAX) {
        return false;
    }
    *out = (disk_name){.folder = above.st_ino, .inode = facts.st_ino};
    out->is_folder = S_ISDIR(facts.st_mode);
    snprintf(out->name, sizeof out->name, "%s", slash + 1);
    return true;
}

static void note(disk *self, disk_event_kind kind, const disk_name *what, const disk_name *from) {
    uint32_t at = atomic_load(&self->event_count);
    if (at == DISK_EVENTS) {
        atomic_store(&self->overflow, 1);
        return;
    }
    disk_event *event = &self->events[at];
    event->kind = kind;
    event->what = *what;
    if (from) {
        event->from = *from;
    }
    atomic_store(&event->is_durable, false);
    atomic_store(&self->event_count, at + 1);
}

static void keep_link(const disk *self, const char *whole, uint64_t inode) {
    char link_path[700];
    snprintf(link_path, sizeof link_path, "%s/live-%" PRIu64, self->vault, inode);
    (void)!linkat(AT_FDCWD, whole, AT_FDCWD, link_path, 0);
}

static bool copy_raw(const char *from, const char *to) {
    static _Thread_local uint8_t block[65536];
    int source = raw_open(AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
    int target = raw_open(AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = source >= 0 && target >= 0;
    ssize_t got;
    while (good && (got = syscall(SYS_read, source, block, sizeof block)) != 0) {
        good = got > 0 && syscall(SYS_write, target, block, (size_t)got) == got;
    }
    if (source >= 0) {
        close(source);
    }
    if (target >= 0) {
        close(target);
    }
    return good;
}

static unsigned next_serial(void) {
    static _Atomic unsigned serial;
    return atomic_fetch_add(&serial, 1);
}

/** Guards which snapshots there are, and how often older ones were given up. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t forgotten;

/** One file's syncs come one after the other: of two at once the one that began first, with the
    older copy, would else be noted last, and take back what the other one promised. */
static pthread_mutex_t *sync_lock(uint64_t inode) {
    static pthread_mutex_t locks[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                      PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                      PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                      PTHREAD_MUTEX_INITIALIZER};
    return &locks[inode % (sizeof locks / sizeof *locks)];
}

static void snapshot_inode(const disk *self, uint64_t inode) {
    char live[700], kept[760], fresh[700];
    pthread_mutex_lock(&kept_lock);
    uint64_t before = forgotten;
    pthread_mutex_unlock(&kept_lock);
    // Under its name only when it is whole: we may be killed.
    snprintf(live, sizeof live, "%s/live-%" PRIu64, self->vault, inode);
    snprintf(fresh, sizeof fresh, "%s/fresh-%u", self->vault, next_serial());
    bool is_whole = copy_raw(live, fresh);
    pthread_mutex_lock(&kept_lock);
    // A sync that came during the copy covers what the copy may not have.
    for (unsigned i = 0; i < DISK_SNAPSHOTS && is_whole && before == forgotten; i++) {
        struct stat facts;
        snprintf(kept, sizeof kept, "%s/snap-%" PRIu64 "-%u", self->vault, inode, i);
        if (stat(kept, &facts) != 0) {
            (void)raw_rename(AT_FDCWD, fresh, AT_FDCWD, kept);
            is_whole = false;
        }
    }
    pthread_mutex_unlock(&kept_lock);
    (void)raw_unlink(AT_FDCWD, fresh, 0);
}

/** Versions from before a sync are no more; `kept_lock` is held. */
static void forget_snapshots(const disk *self, uint64_t inode) {
    char kept[760];
    forgotten++;
    for (unsigned i = 0; i < DISK_SNAPSHOTS; i++) {
        snprintf(kept, sizeof kept, "%s/snap-%" PRIu64 "-%u", self->vault, inode, i);
        (void)raw_unlink(AT_FDCWD, kept, 0);
    }
}

void disk_snapshot(void) {
    disk *self = watched;
    char path[700];
    struct stat facts;
    static const char *const names[] = {"data.mdb", "lock.mdb"};
    for (unsigned i = 0; self && i < 2; i++) {
        snprintf(path, sizeof path, "%s/store/%s", self->root, names[i]);
        if (stat(path, &facts) == 0) {
            snapshot_inode(self, facts.st_ino);
        }
    }
    // What is stored into a mapped segment is seen by no call.
    if (self) {
        snprintf(path, sizeof path, "%s/store/log", self->root);
    }
    DIR *segments = self ? opendir(path) : NULL;
    for (struct dirent *entry; segments && (entry = readdir(segments));) {
        if (fstatat(dirfd(segments), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(facts.st_mode)) {
            snapshot_inode(self, facts.st_ino);
        }
    }
    if (segments) {
        closedir(segments);
    }
}

/** A write is coming, or was done: what lies there now may be what is left. */
static void write_passes(int file) {
    char path[1024];
    struct stat facts;
    if (!watched || watched_chance == 0) {
        return;
    }
    begin_notes();
    bool now = rng_one_in(&watched_random, watched_chance);
    end_notes();
    if (now && path_of_file(watched, file, path) && fstat(file, &facts) == 0) {
        snapshot_inode(watched, facts.st_ino);
    }
}

/** What went through a descriptor that syncs by itself is durable, and nothing else. */
static void synced_write(int file, const void *bytes, size_t length, off_t offset) {
    char path[1024];
    struct stat facts;
    disk *self = watched;
    if (!self || length == 0 || (fcntl(file, F_GETFL) & O_DSYNC) == 0 ||
        !path_of_file(self, file, path) || fstat(file, &facts) != 0) {
        return;
    }
    snprintf(path, sizeof path, "%s/base-%" PRIu64, self->vault, (uint64_t)facts.st_ino);
    pthread_mutex_lock(sync_lock(facts.st_ino));
    pthread_mutex_lock(&kept_lock);
    forget_snapshots(self, facts.st_ino);
    int base = raw_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (base >= 0) {
        (void)!syscall(SYS_pwrite64, base, bytes, length, offset);
        close(base);
    }
    pthread_mutex_unlock(&kept_lock);
    pthread_mutex_unlock(sync_lock(facts.st_ino));
    atomic_fetch_add(&self->syncs, 1);
}

/** Syncs a file; what it had when that began is durable then. */
static int sync_content(const disk *self, int file, long number, uint64_t inode) {
    char live[700], fresh[700], base[700];
    snprintf(live, sizeof live, "%s/live-%" PRIu64, self->vault, inode);
    snprintf(base, sizeof base, "%s/base-%" PRIu64, self->vault, inode);
    snprintf(fresh, sizeof fresh, "%s/fresh-%u", self->vault, next_serial());
    bool is_copied = copy_raw(live, fresh);
    int result = (int)syscall(number, file);
    if (result != 0 || !is_copied) {
        return result;
    }
    // If we are killed before this, the sync had not returned: the old one holds.
    pthread_mutex_lock(&kept_lock);
    forget_snapshots(self, inode);
    (void)raw_rename(AT_FDCWD, fresh, AT_FDCWD, base);
    pthread_mutex_unlock(&kept_lock);
    return 0;
}

/** Syncs a folder; the names that it had when that began are durable then. */
static int sync_names(disk *self, int file, long number, uint64_t inode) {
    uint32_t events = atomic_load(&self->event_count);
    int result = (int)syscall(number, file);
    for (uint32_t i = 0; i < events && result == 0; i++) {
        if (self->events[i].what.folder == inode) {
            atomic_store(&self->events[i].is_durable, true);
        }
    }
    return result;
}

static int sync_file(int file, long number) {
    char path[1024];
    struct stat facts;
    disk *self = watched;
    if (fails("sync", file, NULL)) {
        return -1;
    }
    if (!self || !path_of_file(self, file, path) || fstat(file, &facts) != 0) {
        return (int)syscall(number, file);
    }
    int result;
    if (S_ISREG(facts.st_mode)) {
        pthread_mutex_lock(sync_lock(facts.st_ino));
        result = sync_content(self, file, number, facts.st_ino);
        pthread_mutex_unlock(sync_lock(facts.st_ino));
    } else {
        result = sync_names(self, file, number, facts.st_ino);
    }
    if (result == 0) {
        atomic_fetch_add(&self->syncs, 1);
    }
    return result;
}

// What stands before the system's calls -----------------------------------------------------------

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    char whole[2048];
    struct stat facts;
    disk *self = watched;
    bool makes = failing.call && (flags & O_CREAT) && raw_stat(folder, path, &facts) != 0;
    if (fails(makes ? "make" : "open", folder, path)) {
        return -1;
    }
    bool ours = self && (flags & O_CREAT) != 0 && path_of_call(self, folder, path, whole);
    bool was_there = ours && lstat(whole, &facts) == 0;
    int file = raw_open(folder, path, flags, mode);
    disk_name what;
    if (ours && file >= 0 && !was_there) {
        begin_notes();
        if (look_up(whole, &what)) {
            keep_link(self, whole, what.inode);
            note(self, DISK_MADE, &what, NULL);
        }
        end_notes();
    }
    return file;
}

static mode_t mode_of(int flags, va_list arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_at(folder, path, flags, mode);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    if (fails("make", folder, path)) {
        return -1;
    }
    char whole[2048];
    disk_name what;
    int result = (int)syscall(SYS_mkdirat, folder, path, mode);
    if (result == 0 && watched && path_of_call(watched, folder, path, whole)) {
        begin_notes();
        if (look_up(whole, &what)) {
            note(watched, DISK_MADE, &what, NULL);
        }
        end_notes();
    }
    return result;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int unlinkat(int folder, const char *path, int flags) {
    if (fails("gone", folder, path)) {
        return -1;
    }
    char whole[2048];
    disk_name what;
    if (watched && path_of_call(watched, folder, path, whole)) {
        begin_notes();
        // Noted first: if we are killed in between it may be gone as well as not.
        bool was_there = look_up(whole, &what);
        if (was_there) {
            note(watched, DISK_GONE, &what, NULL);
        }
        int result = raw_unlink(folder, path, flags);
        int error = errno;
        if (was_there && result != 0) {
            note(watched, DISK_MADE, &what, NULL);
        }
        end_notes();
        errno = error;
        return result;
    }
    return raw_unlink(folder, path, flags);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (fails("name", from_folder, from)) {
        return -1;
    }
    char from_whole[2048], to_whole[2048];
    disk_name was, is;
    if (!watched || !path_of_call(watched, from_folder, from, from_whole) ||
        !path_of_call(watched, to_folder, to, to_whole)) {
        return raw_rename(from_folder, from, to_folder, to);
    }
    begin_notes();
    bool known = look_up(from_whole, &was);
    int result = raw_rename(from_folder, from, to_folder, to);
    int error = errno;
    if (result == 0 && known && look_up(to_whole, &is)) {
        note(watched, DISK_MOVED, &is, &was);
    }
    end_notes();
    errno = error;
    return result;
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int fallocate(int file, int mode, off_t offset, off_t length) {
    return fails("room", file, NULL) ? -1 : (int)syscall(SYS_fallocate, file, mode, offset, length);
}
int ftruncate(int file, off_t length) {
    return fails("room", file, NULL) ? -1 : (int)syscall(SYS_ftruncate, file, length);
}

ssize_t pread(int file, void *bytes, size_t length, off_t offset) {
    return fails("read", file, NULL) ? -1 : syscall(SYS_pread64, file, bytes, length, offset);
}
void *mmap(void *at, size_t length, int access, int flags, int file, off_t offset) {
    if (file >= 0 && fails("map", file, NULL)) {
        return MAP_FAILED;
    }
#ifdef TORTURE_EMULATED
    if (length > MAPPED_MAX_BYTES) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
#endif
    return (void *)syscall(SYS_mmap, at, length, access, flags, file, offset);
}
int fstat(int file, struct stat *facts) {
    return fails("facts", file, NULL) ? -1 : raw_stat(file, "", facts);
}
int fcntl(int file, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    bool locks = command == F_OFD_SETLK || command == F_SETLK || command == F_SETLKW;
    return locks && fails("lock", file, NULL) ? -1
                                              : (int)syscall(SYS_fcntl, file, command, argument);
}

#ifdef TORTURE_EMULATED
/** The emulator says yes to everything, and wipes nothing on fork. */
int madvise(void *at, size_t length, int advice) {
    if (advice == MADV_WIPEONFORK) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, at, length, advice);
}
#endif

int fsync(int file) { return sync_file(file, SYS_fsync); }
int fdatasync(int file) { return sync_file(file, SYS_fdatasync); }

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
    if (fails("write", file, NULL)) {
        return -1;
    }
    write_passes(file);
    ssize_t done = syscall(SYS_pwrite64, file, bytes, length, offset);
    if (done > 0) {
        synced_write(file, bytes, (size_t)done, offset);
    }
    return done;
}

ssize_t write(int file, const void *bytes, size_t length) {
    if (fails("write", file, NULL)) {
        return -1;
    }
    if (!watched) {
        return syscall(SYS_write, file, bytes, length);
    }
    write_passes(file);
    off_t offset = (off_t)syscall(SYS_lseek, file, 0, SEEK_CUR);
    ssize_t done = syscall(SYS_write, file, bytes, length);
    if (done > 0 && offset >= 0) {
        synced_write(file, bytes, (size_t)done, offset);
    }
    return done;
}

/** Each part by itself: a process can be killed, and a machine stop, between any two. */
ssize_t writev(int file, const struct iovec *parts, int count) {
    if (!watched && fails("write", file, NULL)) {
        return -1;
    }
    if (!watched) {
        return syscall(SYS_writev, file, parts, count);
    }
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        ssize_t done = write(file, parts[i].iov_base, parts[i].iov_len);
        if (done < 0) {
            return total ? total : done;
        }
        total += done;
        if ((size_t)done < parts[i].iov_len) {
            break;
        }
    }
    return total;
}
#else
void disk_snapshot(void) {}
#endif

void disk_fail(const char *root, const char *call, int nth, int error, bool for_good) {
    failing.root = root;
    failing.error = error;
    failing.for_good = for_good;
    atomic_store(&failing.countdown, nth);
    atomic_store(&failing.failures, 0);
    atomic_store(&failing.passes, 0);
    failing.call = call;
}

void disk_on_call(void (*hook)(void)) { on_call = hook; }
int disk_failures(void) { return atomic_load(&failing.failures); }
int disk_passes(void) { return atomic_load(&failing.passes); }

void disk_watch(disk *self, rng random, unsigned chance) {
    watched = self;
    watched_random = random;
    watched_chance = chance;
}
