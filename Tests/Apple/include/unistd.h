// SPDX-License-Identifier: MIT
// Sources: the sections 2 and 3 of the manual; Libc's include/unistd.h. There is no fdatasync: the
// name is in the kernel's table of calls, but declared nowhere, and it does not reach the medium.
// There are no processes to fork on a watch or a television.
#ifndef LARDER_DARWIN_UNISTD_H
#define LARDER_DARWIN_UNISTD_H

#include <fcntl.h>
#include <sys/types.h>

#define STDERR_FILENO 2

#define _SC_PAGESIZE 29
#define _SC_NPROCESSORS_ONLN 58
#define _SC_PHYS_PAGES 200

__attribute__((availability(watchos, unavailable), availability(tvos, unavailable))) pid_t
fork(void);
int close(int file);
int fsync(int file);
int ftruncate(int file, off_t length);
uid_t geteuid(void);
char *getcwd(char *out, size_t size);
pid_t getpid(void);
ssize_t pread(int file, void *target, size_t length, off_t offset);
ssize_t pwrite(int file, const void *source, size_t length, off_t offset);
int rmdir(const char *path);
long sysconf(int name);
int unlinkat(int folder, const char *path, int flags);

#endif
