// SPDX-License-Identifier: MIT
/* Counts heap allocations by being malloc: an executable's definition comes before the C library's
   for every library it loads. glibc keeps its own under the names used here, for this purpose. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "rivals.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

static atomic_bool counting;
static atomic_uint_fast64_t allocations;

#if defined(__GLIBC__) && !defined(UNDER_SANITIZER)
#include <errno.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static inline void count_one(void) {
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    count_one();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    count_one();
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *out = memory;
    return 0;
}

bool rivals_allocations_countable(void) { return true; }
#else
bool rivals_allocations_countable(void) { return false; }
#endif

void rivals_allocations_start(void) {
    atomic_store(&allocations, 0);
    atomic_store(&counting, true);
}

uint64_t rivals_allocations_stop(void) {
    atomic_store(&counting, false);
    return atomic_load(&allocations);
}
