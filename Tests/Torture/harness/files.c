// SPDX-License-Identifier: MIT
// Files and figures of this process, by plain system calls: the harness must not lean on the code
// that it tests.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "torture.h"

const char *torture_path(const torture *run, const char *name) {
    static _Thread_local char buffers[8][640];
    static _Thread_local unsigned next;
    char *buffer = buffers[next++ % 8];
    snprintf(buffer, sizeof buffers[0], "%s/%s", run->directory, name);
    return buffer;
}

bool copy_file(const char *from, const char *to) {
    int64_t size = size_of_file(from);
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    bool good = bytes && size >= 0 && read_file(from, bytes, (size_t)size) == size &&
                write_file(to, bytes, (size_t)size);
    free(bytes);
    return good;
}

bool make_directory(const char *path) { return mkdir(path, 0700) == 0 || errno == EEXIST; }

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

void remove_tree(const char *path) { (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

bool copy_tree(const char *from, const char *to) {
    DIR *entries = opendir(from);
    bool good = entries && mkdir(to, 0700) == 0;
    for (struct dirent *entry; good && (entry = readdir(entries));) {
        char one[1400], other[1400];
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(one, sizeof one, "%s/%s", from, entry->d_name);
        snprintf(other, sizeof other, "%s/%s", to, entry->d_name);
        good = lstat(one, &facts) == 0 &&
               (S_ISDIR(facts.st_mode) ? copy_tree(one, other) : copy_file(one, other));
    }
    if (entries) {
        closedir(entries);
    }
    return good;
}

int64_t size_of_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (int64_t)status.st_size : -1;
}

int64_t read_file(const char *path, void *bytes, size_t capacity) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    size_t done = 0;
    while (done < capacity) {
        ssize_t got = read(file, (uint8_t *)bytes + done, capacity - done);
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    close(file);
    return size_of_file(path);
}

bool write_over(const char *path, const void *bytes, size_t size) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool good = file >= 0 && ftruncate(file, (off_t)size) == 0 &&
                pwrite(file, bytes, size, 0) == (ssize_t)size;
    if (file >= 0) {
        close(file);
    }
    return good;
}

bool write_file(const char *path, const void *bytes, size_t size) {
    // A new file each time: a ring tells a copy from the file it was by the inode.
    (void)unlink(path);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) {
        return false;
    }
    size_t done = 0;
    while (done < size) {
        ssize_t put = write(file, (const uint8_t *)bytes + done, size - done);
        if (put <= 0) {
            break;
        }
        done += (size_t)put;
    }
    return close(file) == 0 && done == size;
}

unsigned open_descriptors(void) {
    unsigned count = 0;
    for (int file = 0; file < 1024; file++) {
        count += fcntl(file, F_GETFD) >= 0;
    }
    return count;
}

uint64_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) {
        return 0;
    }
    unsigned long long total = 0, resident = 0, shared = 0;
    int got = fscanf(file, "%llu %llu %llu", &total, &resident, &shared);
    fclose(file);
    // The mapped file is shared memory and comes and goes with the page cache.
    return got == 3 ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

larder_ring_options ring_options(uint64_t capacity, uint32_t flags) {
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.capacity_bytes = capacity;
    options.flags = flags;
    return options;
}

larder_bytes bytes_of_text(const char *text) { return bytes_of(text, strlen(text)); }
