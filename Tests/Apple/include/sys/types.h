// SPDX-License-Identifier: MIT
// Sources: xnu's bsd/sys/types.h, bsd/sys/_types.h and bsd/arm/_types.h.
#ifndef LARDER_DARWIN_SYS_TYPES_H
#define LARDER_DARWIN_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/cdefs.h>

// long has 32 bits on a watch's arm64_32, and so have size_t, ssize_t and time_t; off_t has 64.
typedef long ssize_t;
typedef long time_t;
typedef int64_t off_t;
typedef int64_t blkcnt_t;
typedef int32_t blksize_t;
typedef int32_t dev_t;
typedef uint64_t ino_t;
typedef uint16_t mode_t;
typedef uint16_t nlink_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef int32_t pid_t;
typedef int32_t suseconds_t;

// POSIX wants them here, too; libpthread's include/sys/_pthread/_pthread_types.h.
typedef struct larder_darwin_thread *pthread_t;

typedef struct {
    long signature;
    char opaque[56];
} pthread_attr_t;

typedef struct {
    long signature;
    char opaque[8];
} pthread_mutexattr_t;

typedef struct {
    long signature;
    char opaque[56];
} pthread_mutex_t;

typedef struct {
    long signature;
    char opaque[8];
} pthread_condattr_t;

typedef struct {
    long signature;
    char opaque[40];
} pthread_cond_t;

typedef struct {
    long signature;
    char opaque[8];
} pthread_once_t;

#endif
