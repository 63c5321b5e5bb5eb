// SPDX-License-Identifier: MIT
/** @file fail_at.h
    Private: the fault points of the system layer. */
#ifndef LARDER_FAIL_AT_H
#define LARDER_FAIL_AT_H

#include <errno.h>

#ifdef LARDER_FAULTS
#include "larder_os_faults.h"

#define FAULT(call) larder_fault_at(call)
#else
#define FAULT(call) 0
#endif

/** Fails the enclosing function at the fault point `call`. EINTR counts as a retry, as in life. */
#define FAIL_AT(call)                                                                              \
    do {                                                                                           \
        int fault_ = FAULT(call);                                                                  \
        if (fault_ > 0 && fault_ != EINTR) return fault_;                                          \
    } while (0)

#endif
