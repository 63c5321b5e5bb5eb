// SPDX-License-Identifier: MIT
// Calls of the library that have no fault point of their own and can fail all the same: memory,
// locks, LMDB, and what the system interrupts. The linker sends the library's calls here
// (-Wl,--wrap), LMDB's own go where they went; larder_fault_set names them "malloc", "mdb_put" ….
#include "failing_calls.h"
#include "faults.h"
#include "power.h"

void (*call_hook)(const char *call, const void *what);
const uint32_t *failing_random;

int call_passes(const char *call, const void *what) {
    if (call_hook) {
        call_hook(call, what);
    }
    return larder_fault_at(call);
}

#ifdef TORTURE_WRAPS_CALLS
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/** A call that returns `failed` with errno set. */
#define FAILS_BY_ERRNO(type, name, failed, parameters, ...)                                        \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters {                                                                \
        int error = call_passes("system " #name, NULL);                                            \
        if (error) {                                                                               \
            errno = error;                                                                         \
            return failed;                                                                         \
        }                                                                                          \
        return __real_##name(__VA_ARGS__);                                                         \
    }

/** A call that returns what is wrong. */
#define FAILS_BY_CODE(name, parameters, ...)                                                       \
    int __real_##name parameters;                                                                  \
    int __wrap_##name parameters;                                                                  \
    int __wrap_##name parameters {                                                                 \
        int error = call_passes(#name, NULL);                                                      \
        return error ? error : __real_##name(__VA_ARGS__);                                         \
    }

/** A call that gives memory. */
#define FAILS_BY_NULL(name, parameters, ...)                                                       \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters {                                                               \
        if (call_passes("memory", NULL)) {                                                         \
            errno = ENOMEM;                                                                        \
            return NULL;                                                                           \
        }                                                                                          \
        return __real_##name(__VA_ARGS__);                                                         \
    }

FAILS_BY_NULL(malloc, (size_t size), size)
FAILS_BY_NULL(calloc, (size_t count, size_t size), count, size)
FAILS_BY_NULL(realloc, (void *old, size_t size), old, size)
FAILS_BY_NULL(aligned_alloc, (size_t alignment, size_t size), alignment, size)

int __real_posix_memalign(void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    return call_passes("memory", NULL) ? ENOMEM : __real_posix_memalign(out, alignment, size);
}
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
    return call_passes("memory", NULL) ? NULL : __real_strdup(text);
}

int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = call_passes("memory", NULL) ? -1 : vasprintf(out, format, arguments);
    va_end(arguments);
    return length;
}

FAILS_BY_CODE(pthread_create,
              (pthread_t * thread, const pthread_attr_t *attributes, void *(*body)(void *),
               void *context),
              thread, attributes, body, context)
FAILS_BY_CODE(pthread_mutex_init, (pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes),
              mutex, attributes)
FAILS_BY_CODE(pthread_cond_init, (pthread_cond_t * condition, const pthread_condattr_t *attributes),
              condition, attributes)
FAILS_BY_CODE(pthread_condattr_init, (pthread_condattr_t * attributes), attributes)
FAILS_BY_CODE(pthread_condattr_setclock, (pthread_condattr_t * attributes, clockid_t clock),
              attributes, clock)
FAILS_BY_CODE(pthread_attr_init, (pthread_attr_t * attributes), attributes)
FAILS_BY_CODE(pthread_attr_setdetachstate, (pthread_attr_t * attributes, int state), attributes,
              state)
FAILS_BY_CODE(pthread_atfork, (void (*before)(void), void (*parent)(void), void (*child)(void)),
              before, parent, child)

void *__real_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    int error = call_passes("system mmap", NULL);
    if (error) {
        errno = error;
        return MAP_FAILED;
    }
    void *map = __real_mmap(at, size, protection, flags, file, offset);
    if (map != MAP_FAILED) {
        power_mapped(map, size, protection, flags, file, offset);
    }
    return map;
}
int __real_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size);
int __wrap_munmap(void *at, size_t size) {
    power_unmapped(at);
    return __real_munmap(at, size);
}
FAILS_BY_ERRNO(int, fstat, -1, (int file, struct stat *facts), file, facts)
FAILS_BY_ERRNO(int, fchmod, -1, (int file, mode_t mode), file, mode)
FAILS_BY_ERRNO(int, getrlimit, -1, (int which, struct rlimit *limit), which, limit)
int __real_getentropy(void *bytes, size_t length);
int __wrap_getentropy(void *bytes, size_t length);
int __wrap_getentropy(void *bytes, size_t length) {
    int error = call_passes("system getentropy", NULL);
    if (error) {
        errno = error;
        return -1;
    }
    if (!failing_random) {
        return __real_getentropy(bytes, length);
    }
    memset(bytes, 0, length);
    memcpy(bytes, failing_random++, length < sizeof *failing_random ? length : sizeof(uint32_t));
    return 0;
}
FAILS_BY_ERRNO(int, clock_gettime, -1, (clockid_t clock, struct timespec *now), clock, now)
FAILS_BY_ERRNO(int, fallocate, -1, (int file, int mode, off_t offset, off_t length), file, mode,
               offset, length)
FAILS_BY_ERRNO(int, ftruncate, -1, (int file, off_t length), file, length)
FAILS_BY_ERRNO(ssize_t, pread, -1, (int file, void *bytes, size_t length, off_t offset), file,
               bytes, length, offset)
ssize_t __real_pwrite(int file, const void *bytes, size_t length, off_t offset);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t length, off_t offset);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t length, off_t offset) {
    int error = call_passes("system pwrite", NULL);
    if (error) {
        errno = error;
        return -1;
    }
    power_stored(file);
    return __real_pwrite(file, bytes, length, offset);
}
FAILS_BY_ERRNO(char *, getcwd, NULL, (char *path, size_t size), path, size)
FAILS_BY_ERRNO(DIR *, fdopendir, NULL, (int file), file)
FAILS_BY_ERRNO(int, renameat, -1, (int from_folder, const char *from, int folder, const char *to),
               from_folder, from, folder, to)
FAILS_BY_ERRNO(int, unlinkat, -1, (int folder, const char *name, int flags), folder, name, flags)
FAILS_BY_ERRNO(int, rmdir, -1, (const char *path), path)
FAILS_BY_ERRNO(int, madvise, -1, (void *at, size_t size, int advice), at, size, advice)

int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    (void)call_passes("pthread_cond_wait", condition);
    return __real_pthread_cond_wait(condition, mutex);
}

uint64_t failing_room = UINT64_MAX;
int __real_statvfs(const char *path, struct statvfs *facts);
int __wrap_statvfs(const char *path, struct statvfs *facts);
int __wrap_statvfs(const char *path, struct statvfs *facts) {
    int error = larder_fault_at("system statvfs");
    errno = error ? error : errno;
    int status = error ? -1 : __real_statvfs(path, facts);
    if (status == 0 && failing_room != UINT64_MAX) {
        facts->f_bavail = failing_room / facts->f_frsize;
    }
    return status;
}
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode) {
    int error = call_passes("system openat", NULL);
    errno = error ? error : errno;
    return error ? -1 : __real_openat(folder, path, flags, mode);
}
int __real_fcntl(int file, int command, ...);
int __wrap_fcntl(int file, int command, void *argument);
int __wrap_fcntl(int file, int command, void *argument) {
    int error = call_passes("system fcntl", NULL);
    errno = error ? error : errno;
    return error ? -1 : __real_fcntl(file, command, argument);
}
/** As if the system could tell where it ended, which nothing in a folder's names can provoke. */
struct dirent *__real_readdir(DIR *folder);
struct dirent *__wrap_readdir(DIR *folder);
struct dirent *__wrap_readdir(DIR *folder) {
    int error = larder_fault_at("system readdir");
    errno = error ? error : errno;
    return error ? NULL : __real_readdir(folder);
}

// LMDB --------------------------------------------------------------------------------------------

FAILS_BY_CODE(mdb_env_create, (MDB_env * *out), out)
FAILS_BY_CODE(mdb_env_open, (MDB_env * env, const char *path, unsigned flags, mode_t mode), env,
              path, flags, mode)
FAILS_BY_CODE(mdb_env_set_mapsize, (MDB_env * env, size_t size), env, size)
FAILS_BY_CODE(mdb_env_set_maxreaders, (MDB_env * env, unsigned count), env, count)
FAILS_BY_CODE(mdb_env_get_fd, (MDB_env * env, int *out), env, out)
FAILS_BY_CODE(mdb_env_info, (MDB_env * env, MDB_envinfo *out), env, out)
FAILS_BY_CODE(mdb_reader_check, (MDB_env * env, int *dead), env, dead)
FAILS_BY_CODE(mdb_reader_list, (MDB_env * env, MDB_msg_func *body, void *context), env, body,
              context)
FAILS_BY_CODE(mdb_txn_begin, (MDB_env * env, MDB_txn *parent, unsigned flags, MDB_txn **out), env,
              parent, flags, out)
FAILS_BY_CODE(mdb_txn_renew, (MDB_txn * txn), txn)
FAILS_BY_CODE(mdb_dbi_open, (MDB_txn * txn, const char *name, unsigned flags, MDB_dbi *out), txn,
              name, flags, out)
FAILS_BY_CODE(mdb_get, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *value), txn, dbi, key,
              value)
FAILS_BY_CODE(mdb_put, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags),
              txn, dbi, key, value, flags)
FAILS_BY_CODE(mdb_del, (MDB_txn * txn, MDB_dbi dbi, MDB_val *key, MDB_val *value), txn, dbi, key,
              value)
FAILS_BY_CODE(mdb_drop, (MDB_txn * txn, MDB_dbi dbi, int flag), txn, dbi, flag)
FAILS_BY_CODE(mdb_cursor_open, (MDB_txn * txn, MDB_dbi dbi, MDB_cursor **out), txn, dbi, out)
FAILS_BY_CODE(mdb_cursor_get, (MDB_cursor * cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op),
              cursor, key, value, op)
FAILS_BY_CODE(mdb_cursor_put, (MDB_cursor * cursor, MDB_val *key, MDB_val *value, unsigned flags),
              cursor, key, value, flags)
FAILS_BY_CODE(mdb_cursor_del, (MDB_cursor * cursor, unsigned flags), cursor, flags)

// One that fails has ended the transaction, too.
int __real_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn) {
    int error = call_passes("mdb_txn_commit", NULL);
    if (!error) {
        return __real_mdb_txn_commit(txn);
    }
    mdb_txn_abort(txn);
    return error;
}

const failing_call failing_calls[] = {
    {"memory", {ENOMEM}},
    {"pthread_create", {EAGAIN}},
    {"pthread_mutex_init", {ENOMEM}},
    {"pthread_cond_init", {ENOMEM}},
    {"pthread_condattr_init", {ENOMEM}},
    {"pthread_condattr_setclock", {EINVAL}},
    {"pthread_attr_init", {ENOMEM}},
    {"pthread_attr_setdetachstate", {EINVAL}},
    {"pthread_atfork", {ENOMEM}},
    {"wipe on fork", {ENOSYS}},
    {"system mmap", {ENOMEM}},
    {"system fstat", {EIO}},
    {"system fchmod", {EPERM}},
    {"system statvfs", {EIO, EINTR}},
    {"system getrlimit", {EINVAL}},
    {"system getentropy", {ENOSYS}},
    {"system fallocate", {EINTR, EOPNOTSUPP, ENOSPC}},
    {"system ftruncate", {EINTR, EIO}},
    {"system pread", {EINTR, EIO}},
    {"system pwrite", {EINTR, EIO}},
    {"system getcwd", {ERANGE, ENOENT}},
    {"system fdopendir", {ENOMEM}},
    {"system renameat", {EIO}},
    {"system unlinkat", {EIO}},
    {"system rmdir", {EIO}},
    {"system openat", {EINTR, EMFILE}},
    {"system fcntl", {EINTR, EACCES, EIO}},
    {"system readdir", {EIO}},
    {"open", {EIO, EMFILE}},
    {"fstat", {EIO}},
    {"lstat", {EIO}},
    {"fallocate", {ENOSPC}},
    {"fallocate behind", {ENOSPC, ENOTSUP}},
    {"release", {EIO, ENOTSUP}},
    {"ftruncate", {EIO}},
    {"pread", {EIO, LARDER_FAULT_SHORT}},
    {"pwrite", {EIO, LARDER_FAULT_SHORT}},
    {"mmap", {ENOMEM}},
    {"fdatasync", {EIO}},
    {"fsync", {EIO}},
    {"lock", {EIO}},
    {"fchmod", {EIO}},
    {"getcwd", {EIO}},
    {"getrlimit", {EIO}},
    {"mkdir", {EIO}},
    {"opendir", {EIO}},
    {"rename", {EIO}},
    {"rmdir", {EIO}},
    {"statvfs", {EIO}},
    {"unlink", {EIO}},
    {"mdb_version", {1 << 24}},
    {"mdb_env_create", {ENOMEM}},
    {"mdb_env_open", {EIO, MDB_VERSION_MISMATCH, MDB_INVALID}},
    {"mdb_env_set_mapsize", {ENOMEM}},
    {"mdb_env_set_maxreaders", {EINVAL}},
    {"mdb_env_get_fd", {EINVAL}},
    {"mdb_env_info", {EINVAL}},
    {"mdb_reader_check", {EIO}},
    {"mdb_reader_list", {EIO}},
    {"mdb_txn_begin", {ENOMEM, MDB_READERS_FULL, MDB_MAP_RESIZED}},
    {"mdb_txn_renew", {ENOMEM, MDB_READERS_FULL}},
    {"mdb_txn_commit", {EIO, ENOSPC}},
    {"mdb_dbi_open", {ENOMEM}},
    {"mdb_get", {EIO, MDB_CORRUPTED}},
    {"mdb_put", {ENOMEM, MDB_MAP_FULL}},
    {"mdb_del", {EIO, MDB_MAP_FULL}},
    {"mdb_drop", {ENOSPC, MDB_MAP_FULL}},
    {"mdb_cursor_open", {ENOMEM}},
    {"mdb_cursor_get", {EIO, MDB_CORRUPTED}},
    {"mdb_cursor_put", {ENOSPC, MDB_MAP_FULL}},
    {"mdb_cursor_del", {EIO, MDB_MAP_FULL}},
};
const size_t failing_call_count = sizeof failing_calls / sizeof *failing_calls;
#else
uint64_t failing_room = UINT64_MAX;
const failing_call failing_calls[1];
const size_t failing_call_count = 0;
#endif
