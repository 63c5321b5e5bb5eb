// SPDX-License-Identifier: MIT
/** @file descriptor.h
    Private to the system layer: the one way to a descriptor.

    Descriptors 0 to 2 are the program's standard input, output and error, also while they are
    closed: the next printf goes to descriptor 1, whatever is open there by then. So no file of
    Larder's is ever open as one of them. */
#ifndef LARDER_DESCRIPTOR_H
#define LARDER_DESCRIPTOR_H

#include "larder_os_file.h"

/** As openat(2), and never followed by an exec; retries after EINTR.
    @param out receives a descriptor above 2, or -1. */
larder_status larder_os_descriptor_open(int folder, const char *name, int flags, uint32_t mode,
                                        int *out);
#endif
