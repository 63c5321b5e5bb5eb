// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rivals.h"
#include "rivals_disk.h"

// Plain files -------------------------------------------------------------------------------------

enum { PATH_BYTES = 1024 };

static int32_t path_of(char target[PATH_BYTES], const char *folder, uint64_t number,
                       const char *suffix) {
    int length = snprintf(target, PATH_BYTES, "%s/%" PRIu64 "%s", folder, number, suffix);
    return length > 0 && length < PATH_BYTES ? 0 : ENAMETOOLONG;
}

int32_t rivals_file_put(const char *folder, uint64_t number, const void *bytes, size_t length) {
    char fresh[PATH_BYTES], path[PATH_BYTES];
    int32_t status = path_of(fresh, folder, number, ".new");
    if (status == 0) status = path_of(path, folder, number, "");
    if (status != 0) return status;
    int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return errno;
    ssize_t written = write(file, bytes, length);
    if (written != (ssize_t)length) status = written < 0 ? errno : EIO;
    if (close(file) != 0 && status == 0) status = errno;
    if (status == 0 && rename(fresh, path) != 0) status = errno;
    return status;
}

int32_t rivals_file_get(const char *folder, uint64_t number, size_t length, int64_t *sum) {
    char path[PATH_BYTES];
    int32_t status = path_of(path, folder, number, "");
    if (status != 0) return status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno;
    uint8_t *bytes = malloc(length);
    if (bytes == NULL) {
        status = ENOMEM;
    } else {
        ssize_t got = read(file, bytes, length);
        if (got != (ssize_t)length) status = got < 0 ? errno : EIO;
    }
    close(file);
    if (status == 0) *sum = length > 0 ? bytes[0] + bytes[length - 1] : 0;
    free(bytes);
    return status;
}

// The C store -------------------------------------------------------------------------------------

int32_t rivals_loop_store_put(larder_store *store, const int64_t *keys, size_t count,
                              uint32_t flags) {
    for (size_t i = 0; i < count; i++) {
        int64_t key = keys[i], value = (int64_t)((uint64_t)key + 1);
        larder_store_item item;
        larder_store_item_init(&item, (larder_bytes){&key, sizeof key},
                               (larder_bytes){&value, sizeof value});
        item.flags = flags;
        int32_t status = larder_store_put(store, &item, NULL);
        rivals_barrier();
        if (status != 0) return status;
    }
    return 0;
}

int32_t rivals_loop_store_get(larder_store *store, const int64_t *keys, size_t count,
                              int64_t *sum) {
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t key = keys[i];
        larder_store_entry entry;
        int32_t status = larder_store_get(store, (larder_bytes){&key, sizeof key}, 0, &entry);
        if (status != 0) return status;
        uint64_t number = 0;
        if (entry.value.length == sizeof number) memcpy(&number, entry.value.data, sizeof number);
        total += number;
        larder_store_release(&entry);
        rivals_barrier();
    }
    *sum = (int64_t)total;
    return 0;
}

int32_t rivals_loop_ring_entries(larder_ring *ring, const int64_t *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t entry[8] = {keys[i], (int64_t)((uint64_t)keys[i] + 1)};
        int32_t status = larder_ring_append(ring, entry, sizeof entry, NULL);
        rivals_barrier();
        if (status != 0) return status;
    }
    return 0;
}
