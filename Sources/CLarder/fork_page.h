// SPDX-License-Identifier: MIT
/** @file fork_page.h
    Private: a page of memory that a child of fork(2) finds filled with zeros, so that a handle
    knows for the price of one load whether it is its process's own. */
#ifndef LARDER_FORK_PAGE_H
#define LARDER_FORK_PAGE_H

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "larder_status.h"

/** Makes the page, full of zeros. ENOMEM. */
static inline larder_status fork_page_make(void **out) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *out = NULL;
    if (memory == MAP_FAILED) return ENOMEM;
#if defined(MADV_WIPEONFORK)
    (void)madvise(memory, page, MADV_WIPEONFORK);
#elif defined(__APPLE__)
    (void)minherit(memory, page, VM_INHERIT_ZERO);
#endif
    *out = memory;
    return LARDER_OK;
}

/** NULL is allowed. */
static inline void fork_page_free(void *page) {
    if (page != NULL) munmap(page, (size_t)sysconf(_SC_PAGESIZE));
}

#endif
