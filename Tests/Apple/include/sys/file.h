// SPDX-License-Identifier: MIT
// Sources: flock(2); xnu's bsd/sys/file.h.
#ifndef LARDER_DARWIN_SYS_FILE_H
#define LARDER_DARWIN_SYS_FILE_H

#include <fcntl.h>

int flock(int file, int operation);

#endif
