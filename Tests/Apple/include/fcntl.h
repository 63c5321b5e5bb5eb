// SPDX-License-Identifier: MIT
// Sources: open(2), fcntl(2), flock(2); xnu's bsd/sys/fcntl.h. There is no fallocate.
#ifndef LARDER_DARWIN_FCNTL_H
#define LARDER_DARWIN_FCNTL_H

#include <sys/types.h>

#define O_RDONLY 0x0000
#define O_WRONLY 0x0001
#define O_RDWR 0x0002
#define O_NONBLOCK 0x00000004
#define O_NOFOLLOW 0x00000100
#define O_CREAT 0x00000200
#define O_TRUNC 0x00000400
#define O_EXCL 0x00000800
#define O_DIRECTORY 0x00100000
#define O_CLOEXEC 0x01000000

#define AT_FDCWD -2
#define AT_SYMLINK_NOFOLLOW 0x0020
#define AT_REMOVEDIR 0x0080

#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_GETLK 7
#define F_SETLK 8
#define F_SETLKW 9
#define F_PREALLOCATE 42
#define F_FULLFSYNC 51
#define F_GETPROTECTIONCLASS 63
#define F_SETPROTECTIONCLASS 64
#define F_DUPFD_CLOEXEC 67
#define F_BARRIERFSYNC 85
#define F_OFD_SETLK 90
#define F_OFD_SETLKW 91
#define F_OFD_GETLK 92

#define FD_CLOEXEC 1

#define F_RDLCK 1
#define F_UNLCK 2
#define F_WRLCK 3

#define F_ALLOCATECONTIG 0x00000002
#define F_ALLOCATEALL 0x00000004
#define F_ALLOCATEPERSIST 0x00000008
#define F_PEOFPOSMODE 3
#define F_VOLPOSMODE 4

#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2

#define LOCK_SH 0x01
#define LOCK_EX 0x02
#define LOCK_NB 0x04
#define LOCK_UN 0x08

struct flock {
    off_t l_start;
    off_t l_len;
    pid_t l_pid;
    short l_type;
    short l_whence;
};

typedef struct fstore {
    unsigned int fst_flags;
    int fst_posmode;
    off_t fst_offset;
    off_t fst_length;
    off_t fst_bytesalloc;
} fstore_t;

int open(const char *path, int flags, ...);
int openat(int folder, const char *path, int flags, ...);
int fcntl(int file, int command, ...);

#endif
