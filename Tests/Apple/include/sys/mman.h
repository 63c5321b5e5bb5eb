// SPDX-License-Identifier: MIT
// Sources: mmap(2), msync(2), madvise(2), minherit(2); xnu's bsd/sys/mman.h. There is no mremap, no
// MAP_POPULATE and no MADV_WIPEONFORK. Of what minherit takes, which <mach/vm_inherit.h> declares,
// nothing makes a child's pages zero.
#ifndef LARDER_DARWIN_SYS_MMAN_H
#define LARDER_DARWIN_SYS_MMAN_H

#include <sys/types.h>

#define PROT_NONE 0x00
#define PROT_READ 0x01
#define PROT_WRITE 0x02

#define MAP_SHARED 0x0001
#define MAP_PRIVATE 0x0002
#define MAP_FIXED 0x0010
#define MAP_NORESERVE 0x0040
#define MAP_FILE 0x0000
#define MAP_ANON 0x1000
#define MAP_ANONYMOUS MAP_ANON
#define MAP_FAILED ((void *)-1)

#define MS_ASYNC 0x0001
#define MS_INVALIDATE 0x0002
#define MS_SYNC 0x0010

#define POSIX_MADV_NORMAL 0
#define POSIX_MADV_RANDOM 1
#define POSIX_MADV_SEQUENTIAL 2
#define POSIX_MADV_WILLNEED 3
#define POSIX_MADV_DONTNEED 4
#define MADV_NORMAL POSIX_MADV_NORMAL
#define MADV_RANDOM POSIX_MADV_RANDOM
#define MADV_SEQUENTIAL POSIX_MADV_SEQUENTIAL
#define MADV_WILLNEED POSIX_MADV_WILLNEED
#define MADV_DONTNEED POSIX_MADV_DONTNEED
#define MADV_FREE 5
#define MADV_FREE_REUSABLE 7
#define MADV_FREE_REUSE 8

void *mmap(void *address, size_t length, int protection, int flags, int file, off_t offset);
int msync(void *address, size_t length, int flags);
int munmap(void *address, size_t length);
int madvise(void *address, size_t length, int advice);
int minherit(void *address, size_t length, int inherit);
int posix_madvise(void *address, size_t length, int advice);

#endif
