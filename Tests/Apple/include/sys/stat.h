// SPDX-License-Identifier: MIT
// Sources: stat(2), chmod(2), mkdir(2); xnu's bsd/sys/stat.h. What Linux calls st_ctim is
// st_ctimespec.
#ifndef LARDER_DARWIN_SYS_STAT_H
#define LARDER_DARWIN_SYS_STAT_H

#include <sys/time.h>

#define S_IFMT 0170000
#define S_IFDIR 0040000
#define S_IFREG 0100000
#define S_ISDIR(mode) (((mode)&S_IFMT) == S_IFDIR)
#define S_ISREG(mode) (((mode)&S_IFMT) == S_IFREG)

struct stat {
    dev_t st_dev;
    mode_t st_mode;
    nlink_t st_nlink;
    ino_t st_ino;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec;
    struct timespec st_mtimespec;
    struct timespec st_ctimespec;
    struct timespec st_birthtimespec;
    off_t st_size;
    blkcnt_t st_blocks;
    blksize_t st_blksize;
    uint32_t st_flags;
    uint32_t st_gen;
};

int lstat(const char *path, struct stat *facts);
int fstat(int file, struct stat *facts);
int fstatat(int folder, const char *path, struct stat *facts, int flags);
int fchmod(int file, mode_t mode);
int fchmodat(int folder, const char *path, mode_t mode, int flags);
int mkdirat(int folder, const char *path, mode_t mode);

#endif
