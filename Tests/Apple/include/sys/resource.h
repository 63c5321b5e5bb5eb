// SPDX-License-Identifier: MIT
// Sources: getrlimit(2); xnu's bsd/sys/resource.h.
#ifndef LARDER_DARWIN_SYS_RESOURCE_H
#define LARDER_DARWIN_SYS_RESOURCE_H

#include <sys/types.h>

#define RLIM_INFINITY (((uint64_t)1 << 63) - 1)
#define RLIMIT_FSIZE 1
#define RLIMIT_AS 5
#define RLIMIT_NOFILE 8

typedef uint64_t rlim_t;

struct rlimit {
    rlim_t rlim_cur;
    rlim_t rlim_max;
};

int getrlimit(int resource, struct rlimit *limit);

#endif
