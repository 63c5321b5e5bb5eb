// SPDX-License-Identifier: MIT
/** @file fork_page.h
    Private: a page of memory that a child of fork(2) finds filled with zeros, so that a handle
    knows for the price of one load whether it is its process's own.

    Linux empties such a page by itself, however the child is made. Elsewhere a handler of fork
    empties it in the child before fork returns there; a child that was made by a bare system call
    would miss that. */
#ifndef LARDER_FORK_PAGE_H
#define LARDER_FORK_PAGE_H

#include "larder_status.h"

/** Bytes of the page that are the caller's. */
enum { FORK_PAGE_BYTES = 64 };

/** Makes the page, full of zeros. ENOMEM. */
LARDER_MUST_CHECK larder_status fork_page_make(void **out);
/** In a child, too. NULL is allowed. */
void fork_page_free(void *page);

#endif
