// SPDX-License-Identifier: MIT
// Sources: directory(3), dir(5); xnu's bsd/sys/dirent.h.
#ifndef LARDER_DARWIN_DIRENT_H
#define LARDER_DARWIN_DIRENT_H

#include <sys/types.h>

struct dirent {
    uint64_t d_ino;
    uint64_t d_seekoff;
    uint16_t d_reclen;
    uint16_t d_namlen;
    uint8_t d_type;
    char d_name[1024];
};

typedef struct larder_darwin_directory DIR;

DIR *fdopendir(int file);
struct dirent *readdir(DIR *directory);
int closedir(DIR *directory);

#endif
