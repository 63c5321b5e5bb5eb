// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rivals.h"
#include "rivals_entry.h"

enum { PATH_BYTES = 1024, VALUES = 2 };

static int32_t path_of(char target[PATH_BYTES], const char *folder, uint64_t number, int value,
                       const char *suffix) {
    int length = snprintf(target, PATH_BYTES, "%s/%" PRIu64 ".%d%s", folder, number, value, suffix);
    return length > 0 && length < PATH_BYTES ? 0 : ENAMETOOLONG;
}

static int32_t write_new(const char *path, const void *bytes, size_t length) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    int32_t status = 0;
    ssize_t written = write(file, bytes, length);
    if (written != (ssize_t)length) status = written < 0 ? errno : EIO;
    if (close(file) != 0 && status == 0) status = errno;
    return status;
}

int32_t rivals_pair_put(const char *folder, uint64_t number, const void *bytes, size_t length) {
    char fresh[VALUES][PATH_BYTES], path[VALUES][PATH_BYTES];
    int32_t status = 0;
    for (int i = 0; i < VALUES && status == 0; i++) {
        status = path_of(fresh[i], folder, number, i, ".tmp");
        if (status == 0) status = path_of(path[i], folder, number, i, "");
        if (status == 0) status = write_new(fresh[i], bytes, length);
    }
    for (int i = 0; i < VALUES && status == 0; i++) {
        if (rename(fresh[i], path[i]) != 0) status = errno;
    }
    return status;
}

int32_t rivals_loop_pair_put(const char *folder, uint64_t number, size_t count, const void *bytes,
                             size_t length) {
    int32_t status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        status = rivals_pair_put(folder, number + i, bytes, length);
        rivals_barrier();
    }
    return status;
}

struct rivals_pairs {
    size_t count, length;
    uint8_t *buffer;
    int files[];
};

int32_t rivals_pairs_open(const char *folder, size_t count, size_t length, rivals_pairs **out) {
    *out = NULL;
    rivals_pairs *pairs = malloc(sizeof *pairs + count * VALUES * sizeof(int));
    if (pairs == NULL) return ENOMEM;
    *pairs = (rivals_pairs){.count = 0, .length = length, .buffer = malloc(length)};
    int32_t status = pairs->buffer == NULL ? ENOMEM : 0;
    for (; pairs->count < count * VALUES && status == 0; pairs->count++) {
        char path[PATH_BYTES];
        status = path_of(path, folder, pairs->count / VALUES, (int)(pairs->count % VALUES), "");
        if (status != 0) break;
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            status = errno;
            break;
        }
        pairs->files[pairs->count] = file;
    }
    if (status != 0) {
        rivals_pairs_close(pairs);
    } else {
        *out = pairs;
    }
    return status;
}

void rivals_pairs_close(rivals_pairs *pairs) {
    if (pairs == NULL) return;
    for (size_t i = 0; i < pairs->count; i++) close(pairs->files[i]);
    free(pairs->buffer);
    free(pairs);
}

int32_t rivals_loop_pair_read(rivals_pairs *pairs, const int64_t *numbers, size_t count,
                              int64_t *sum) {
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t value = 0; value < VALUES; value++) {
            int file = pairs->files[(size_t)numbers[i] * VALUES + value];
            ssize_t got = pread(file, pairs->buffer, pairs->length, 0);
            if (got != (ssize_t)pairs->length) return got < 0 ? errno : EIO;
            total += pairs->buffer[0] + pairs->buffer[pairs->length - 1];
        }
        rivals_barrier();
    }
    *sum = total;
    return 0;
}
