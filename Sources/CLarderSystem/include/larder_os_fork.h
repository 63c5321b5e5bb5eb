// SPDX-License-Identifier: MIT
/** @file larder_os_fork.h
    Private to Larder: a page of memory that a child of fork(2) finds filled with zeros, so that a
    handle knows for the price of one load whether it is its process's own.

    Linux empties such a page by itself, however the child is made. Elsewhere a handler of fork
    empties it in the child before fork returns there; a child that was made by a bare system call
    would miss that. */
#ifndef LARDER_OS_FORK_H
#define LARDER_OS_FORK_H

#include "larder_status.h"

// liblarder-store calls them in liblarder.
#pragma GCC visibility push(default)

/** Bytes of the page that are the caller's. */
enum { LARDER_OS_FORK_PAGE_BYTES = 64 };

/** Makes the page, full of zeros. ENOMEM. */
LARDER_MUST_CHECK larder_status larder_os_fork_page_make(void **out);
/** In a child, too. NULL is allowed. */
void larder_os_fork_page_free(void *page);

#pragma GCC visibility pop

#endif
