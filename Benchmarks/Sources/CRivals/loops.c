// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "rivals.h"

uint64_t rivals_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int32_t rivals_file_sync(int file) {
#if defined(__APPLE__)
    return fcntl(file, F_FULLFSYNC) == -1 ? errno : 0;
#else
    return fdatasync(file) == 0 ? 0 : errno;
#endif
}

static int32_t write_whole(int file, const void *message, size_t length) {
    return write(file, message, length) == (ssize_t)length ? 0 : errno != 0 ? errno : EIO;
}

static int32_t write_and_sync(int file, const void *message, size_t length) {
    int32_t status = write_whole(file, message, length);
    return status != 0 ? status : rivals_file_sync(file);
}

/* One text for every loop, so that the sides differ in `operation` and in nothing else. */
#define LOOP(operation)                                                                            \
    for (size_t i = 0; i < count; i++) {                                                           \
        int32_t status = (operation);                                                              \
        rivals_barrier();                                                                          \
        if (status != 0) return status;                                                            \
    }                                                                                              \
    return 0

/* A status that the compiler must take for one that can fail, as it must for a function's. */
static inline int32_t unknown_zero(void) {
    int32_t zero = 0;
    __asm__ volatile("" : "+r"(zero));
    return zero;
}

int32_t rivals_loop_empty(size_t count) { LOOP(unknown_zero()); }

int32_t rivals_loop_bare(rivals_bare *bare, const void *message, size_t length, size_t count) {
    LOOP(rivals_bare_append(bare, message, length));
}

int32_t rivals_loop_ring(larder_ring *ring, const void *message, size_t length, size_t count) {
    LOOP(larder_ring_append(ring, message, length, NULL));
}

int32_t rivals_loop_ring_synced(larder_ring *ring, const void *message, size_t length,
                                size_t count) {
    LOOP(larder_ring_append_synced(ring, message, length, NULL));
}

int32_t rivals_loop_write(int file, const void *message, size_t length, size_t count) {
    LOOP(write_whole(file, message, length));
}

int32_t rivals_loop_write_synced(int file, const void *message, size_t length, size_t count) {
    LOOP(write_and_sync(file, message, length));
}

// Threads -----------------------------------------------------------------------------------------

typedef struct worker {
    pthread_t thread;
    larder_ring *ring;
    const void *message;
    size_t length;
    size_t count;
    bool synced;
    atomic_uint *ready;
    atomic_bool *go;
    uint64_t started_ns;
    uint64_t ended_ns;
    int32_t status;
} worker;

static void *work(void *context) {
    worker *self = context;
    atomic_fetch_add(self->ready, 1);
    while (!atomic_load(self->go)) sched_yield();
    self->started_ns = rivals_now_ns();
    self->status =
        self->synced ? rivals_loop_ring_synced(self->ring, self->message, self->length, self->count)
                     : rivals_loop_ring(self->ring, self->message, self->length, self->count);
    self->ended_ns = rivals_now_ns();
    return NULL;
}

int32_t rivals_loop_ring_threads(larder_ring *ring, bool synced, unsigned threads,
                                 const void *message, size_t length, size_t count,
                                 uint64_t *elapsed_ns) {
    *elapsed_ns = 0;
    worker *workers = calloc(threads, sizeof *workers);
    if (workers == NULL) return ENOMEM;
    atomic_uint ready = 0;
    atomic_bool go = false;
    int32_t status = 0;
    unsigned started = 0;
    for (; started < threads && status == 0; started++) {
        workers[started] = (worker){.ring = ring,
                                    .message = message,
                                    .length = length,
                                    .count = count,
                                    .synced = synced,
                                    .ready = &ready,
                                    .go = &go};
        status = pthread_create(&workers[started].thread, NULL, work, &workers[started]);
        if (status != 0) break;
    }
    while (atomic_load(&ready) < started) sched_yield();
    atomic_store(&go, true);
    uint64_t first = UINT64_MAX, last = 0;
    for (unsigned i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].started_ns < first) first = workers[i].started_ns;
        if (workers[i].ended_ns > last) last = workers[i].ended_ns;
        if (status == 0) status = workers[i].status;
    }
    free(workers);
    if (status == 0) *elapsed_ns = last - first;
    return status;
}

// Files -------------------------------------------------------------------------------------------

static int32_t write_zeros(int file, size_t bytes) {
    static const uint8_t zeros[4096];
    int32_t status = 0;
    for (size_t done = 0; done < bytes && status == 0; done += sizeof zeros)
        status = write_whole(file, zeros, sizeof zeros);
    return status;
}

int rivals_file_create(const char *path, size_t bytes) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return -errno;
    int32_t status = write_zeros(file, bytes);
    if (status == 0) status = rivals_file_sync(file);
    if (status == 0) status = rivals_file_rewind(file);
    if (status != 0) close(file);
    return status == 0 ? file : -status;
}

int32_t rivals_file_rewind(int file) { return lseek(file, 0, SEEK_SET) == 0 ? 0 : errno; }

int32_t rivals_file_append_one(const char *path, const void *bytes, size_t length) {
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return errno;
    int32_t status = write_whole(file, bytes, length);
    return close(file) == 0 || status != 0 ? status : errno;
}

int rivals_file_create_one(const char *path, uint64_t capacity_bytes, const void *bytes,
                           size_t length) {
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return -errno;
    int32_t status = rivals_file_reserve(file, capacity_bytes);
    if (status == 0) status = write_whole(file, bytes, length);
    if (status != 0) close(file);
    return status == 0 ? file : -status;
}

void rivals_file_close(int file) { close(file); }

void rivals_file_forget(const char *path, uint64_t offset, uint64_t length) {
#if defined(__linux__)
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    /* Only to save time: a file system without holes keeps the pages, and closing writes them. */
    (void)!fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                     (off_t)length);
    close(file);
#else
    (void)path, (void)offset, (void)length;
#endif
}
