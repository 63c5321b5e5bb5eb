// SPDX-License-Identifier: MIT
// Sources: xnu's bsd/sys/_types/_timespec.h and _timeval.h.
#ifndef LARDER_DARWIN_SYS_TIME_H
#define LARDER_DARWIN_SYS_TIME_H

#include <sys/types.h>

struct timespec {
    time_t tv_sec;
    long tv_nsec;
};

struct timeval {
    time_t tv_sec;
    suseconds_t tv_usec;
};

#endif
