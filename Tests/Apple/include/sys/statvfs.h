// SPDX-License-Identifier: MIT
// Sources: statvfs(3); Libc's include/sys/statvfs.h. Blocks are counted in 32 bits.
#ifndef LARDER_DARWIN_SYS_STATVFS_H
#define LARDER_DARWIN_SYS_STATVFS_H

#include <sys/types.h>

typedef unsigned int fsblkcnt_t;
typedef unsigned int fsfilcnt_t;

struct statvfs {
    unsigned long f_bsize;
    unsigned long f_frsize;
    fsblkcnt_t f_blocks;
    fsblkcnt_t f_bfree;
    fsblkcnt_t f_bavail;
    fsfilcnt_t f_files;
    fsfilcnt_t f_ffree;
    fsfilcnt_t f_favail;
    unsigned long f_fsid;
    unsigned long f_flag;
    unsigned long f_namemax;
};

int statvfs(const char *path, struct statvfs *room);

#endif
