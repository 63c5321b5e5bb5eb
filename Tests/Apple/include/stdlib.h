// SPDX-License-Identifier: MIT
// Sources: malloc(3), posix_memalign(3), bsearch(3); Libc's include/stdlib.h.
#ifndef LARDER_DARWIN_STDLIB_H
#define LARDER_DARWIN_STDLIB_H

#include <sys/types.h>

void *aligned_alloc(size_t alignment, size_t size);
void *bsearch(const void *key, const void *base, size_t count, size_t width,
              int (*compare)(const void *, const void *));
void *calloc(size_t count, size_t size);
void free(void *memory);
void *malloc(size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);
void qsort(void *base, size_t count, size_t width, int (*compare)(const void *, const void *));
void *realloc(void *memory, size_t size);

#endif
