// SPDX-License-Identifier: MIT
#include "larder_os_fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef LARDER_FAULTS
#include "larder_os_faults.h"
#endif

/** What lies in the page. Where the kernel empties it, the links stay empty, too. */
typedef struct fork_page {
    uint8_t bytes[LARDER_OS_FORK_PAGE_BYTES];
    struct fork_page *next;
    /** What leads to this page; NULL if the kernel empties it. */
    struct fork_page **link;
} fork_page;

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/** Asks the kernel to empty the page in a child. Old ones do not know how. */
static bool kernel_wipes(void *page) {
#if defined(MADV_WIPEONFORK)
    return madvise(page, page_bytes(), MADV_WIPEONFORK) == 0;
#else
    (void)page;
    return false;
#endif
}

// The handler of fork -----------------------------------------------------------------------------

static pthread_mutex_t pages_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t pages_once = PTHREAD_ONCE_INIT;
static larder_status pages_status;
static fork_page *pages;

// The child inherits the list as it was at the fork, so nobody else may be changing it then.
static void pages_before_fork(void) { pthread_mutex_lock(&pages_lock); }

static void pages_in_parent(void) { pthread_mutex_unlock(&pages_lock); }

static void pages_in_child(void) {
    for (fork_page *page = pages; page; page = page->next)
        memset(page->bytes, 0, sizeof page->bytes);
    pthread_mutex_unlock(&pages_lock);
}

static void pages_init(void) {
    pages_status = pthread_atfork(pages_before_fork, pages_in_parent, pages_in_child);
}

static larder_status pages_add(fork_page *page) {
    (void)pthread_once(&pages_once, pages_init);
    // Without the handler a child would take the handle for its own, and two would write one file.
    if (pages_status) return pages_status;
    pthread_mutex_lock(&pages_lock);
    page->next = pages;
    page->link = &pages;
    if (pages) pages->link = &page->next;
    pages = page;
    pthread_mutex_unlock(&pages_lock);
    return LARDER_OK;
}

static void pages_remove(fork_page *page) {
    pthread_mutex_lock(&pages_lock);
    *page->link = page->next;
    if (page->next) page->next->link = page->link;
    pthread_mutex_unlock(&pages_lock);
}

// Pages -------------------------------------------------------------------------------------------

/** Pages that the kernel empties, kept for reuse: creating and releasing one is a quarter of what
    opening and closing a log costs. Without a lock, because a child may be forked at any moment. */
static _Atomic(fork_page *) kept[8];

static fork_page *kept_take(void) {
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (!atomic_load_explicit(&kept[i], memory_order_relaxed)) continue;
        fork_page *page = atomic_exchange_explicit(&kept[i], NULL, memory_order_acquire);
        if (page) return page;
    }
    return NULL;
}

static bool kept_add(fork_page *page) {
    memset(page->bytes, 0, sizeof page->bytes);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        fork_page *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&kept[i], &none, page, memory_order_release,
                                                    memory_order_relaxed))
            return true;
    }
    return false;
}

larder_status larder_os_fork_page_make(void **out) {
    bool may_wipe = true;
#if defined(LARDER_FAULTS)
    may_wipe = !larder_fault_at("wipe on fork");
#endif
    *out = may_wipe ? kept_take() : NULL;
    if (*out) return LARDER_OK;
    void *memory =
        mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return ENOMEM;
    if (!may_wipe || !kernel_wipes(memory)) {
        larder_status status = pages_add(memory);
        if (status) {
            munmap(memory, page_bytes());
            return status;
        }
    }
    *out = memory;
    return LARDER_OK;
}

void larder_os_fork_page_free(void *page) {
    if (!page) return;
    fork_page *freed = page;
    if (freed->link) pages_remove(freed);
    else if (kept_add(freed)) return;
    munmap(page, page_bytes());
}
