// SPDX-License-Identifier: MIT
/** @file larder_os_errno.h
    Private to Larder: the system's errors that Swift tells apart. Their numbers differ from system
    to system, and so does the module that Swift would have them of. */
#ifndef LARDER_OS_ERRNO_H
#define LARDER_OS_ERRNO_H

#include <errno.h>

enum {
    LARDER_OS_ECANCELED = ECANCELED,
    LARDER_OS_EDQUOT = EDQUOT,
    LARDER_OS_ENOENT = ENOENT,
    LARDER_OS_ENOSPC = ENOSPC,
    LARDER_OS_EROFS = EROFS
};

#endif
