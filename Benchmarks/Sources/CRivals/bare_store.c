// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rivals.h"

/* The file: the end of the newest message at offset 0, alone in its cache line, then messages. */
enum { DATA_OFFSET = 64 };

struct rivals_bare {
    uint8_t *base;
    uint64_t capacity;
    uint64_t end;
};

int32_t rivals_file_reserve(int file, uint64_t capacity_bytes) {
#if defined(__APPLE__)
    fstore_t store = {F_ALLOCATEALL, F_PEOFPOSMODE, 0, (off_t)capacity_bytes, 0};
    if (fcntl(file, F_PREALLOCATE, &store) != 0) return errno;
    return ftruncate(file, (off_t)capacity_bytes) == 0 ? 0 : errno;
#else
    return posix_fallocate(file, 0, (off_t)capacity_bytes);
#endif
}

int32_t rivals_bare_open(const char *path, uint64_t capacity_bytes, rivals_bare **out) {
    *out = NULL;
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    int32_t status = rivals_file_reserve(file, capacity_bytes);
    rivals_bare *bare = status == 0 ? calloc(1, sizeof *bare) : NULL;
    if (status == 0 && bare == NULL) status = ENOMEM;
    if (status == 0) {
        void *base =
            mmap(NULL, (size_t)capacity_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (base == MAP_FAILED) {
            status = errno;
        } else {
            *bare = (rivals_bare){base, capacity_bytes, DATA_OFFSET};
            *out = bare;
        }
    }
    if (status != 0) free(bare);
    close(file);
    return status;
}

int32_t rivals_bare_append(rivals_bare *bare, const void *message, size_t length) {
    uint64_t size = (sizeof(uint32_t) + length + 7) & ~(uint64_t)7;
    uint64_t start = bare->end;
    if (size > bare->capacity - start) start = DATA_OFFSET;
    uint32_t prefix = (uint32_t)length;
    memcpy(bare->base + start, &prefix, sizeof prefix);
    memcpy(bare->base + start + sizeof prefix, message, length);
    bare->end = start + size;
    atomic_store_explicit((_Atomic uint64_t *)(void *)bare->base, bare->end, memory_order_release);
    return 0;
}

void rivals_bare_close(rivals_bare *bare) {
    if (bare == NULL) return;
    munmap(bare->base, (size_t)bare->capacity);
    free(bare);
}
