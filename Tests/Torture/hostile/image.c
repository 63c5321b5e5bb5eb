// SPDX-License-Identifier: MIT
// Stores to begin with, in memory and on disk.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

size_t hostile_key(unsigned number, unsigned kind, char *target) {
    size_t length = (size_t)sprintf(target, "%c/%04u", 'a' + (int)(number % 3), number);
    // Long ones make a deep tree, and some are longer than a key of it.
    size_t more = kind % 5 == 1 ? 380 : kind % 5 == 2 ? number % 620 : number % 30;
    memset(target + length, 'k', more);
    return length + more;
}

larder_status hostile_put(larder_store *store, unsigned number, unsigned kind, unsigned round) {
    static uint8_t value[9000];
    char key[1100];
    larder_store_item item;
    larder_store_index_entry index = {(uint16_t)(1 + number % 2), {"index-value", 3 + number % 8}};
    size_t length = number % 41 == 7 ? 6000 + round : number % 5 == 0 ? 300 : 10 + number % 50;
    memset(value, (int)('a' + round), length);
    larder_store_item_init(&item, (larder_bytes){key, hostile_key(number, kind, key)},
                           (larder_bytes){value, length});
    if (number % 3 == 0) {
        item.indexes = &index;
        item.index_count = 1;
    }
    if (number % 4 == 1) {
        item.expires_ns = INT64_MAX / 2;
    }
    if (number % 9 == 2) {
        item.idle_ns = (int64_t)1 << 50;
        item.extended = (larder_bytes){"extended", 8};
    }
    return larder_store_put(store, &item, NULL);
}

larder_status hostile_open(const char *path, uint32_t flags, larder_store **out) {
    larder_store_options options;
    larder_store_tuning tuning;
    larder_store_options_init(&options);
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = 4096;
    tuning.segment_max_bytes = 16384;
    tuning.transaction_max_count = 64;
    tuning.clean_max_bytes = 64 << 10;
    tuning.space_percent = 130;
    options.tuning = &tuning;
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS;
    options.journal_bytes = 256 << 10;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static unsigned keys_of(unsigned kind) {
    return kind < 2 ? 12 + 30 * kind : kind < 6 ? 90 : HOSTILE_KEYS;
}

/** In a child, which may leave it unclosed. */
static larder_status make(const char *folder, unsigned kind) {
    unsigned keys = keys_of(kind);
    larder_store *store;
    larder_status status = hostile_open(folder, 0, &store);
    for (unsigned round = 0; round < 2 + kind % 4 && !status; round++) {
        for (unsigned n = round; n < keys && !status; n += 1 + round * 2) {
            status = hostile_put(store, n, kind, round);
        }
        char key[1100];
        for (unsigned n = 5 + round; n < keys && !status; n += 7) {
            status = larder_store_remove(store, (larder_bytes){key, hostile_key(n, kind, key)}, 0);
        }
        if (round > 0 && !status) {
            status = larder_store_flush(store);
        }
    }
    for (unsigned n = 0; n < keys && !status; n += 3) {
        char key[1100];
        larder_store_entry entry;
        if (!larder_store_get(store, (larder_bytes){key, hostile_key(n, kind, key)}, 0, &entry)) {
            larder_store_release(&entry);
        }
    }
    if (kind == 9 && !status) {
        status = larder_store_remove_all(store, NULL, NULL);
        for (unsigned n = 0; n < 20 && !status; n++) {
            status = hostile_put(store, n, kind, 9);
        }
    }
    for (unsigned n = 1; n < keys && kind % 2 && !status; n += 9) {
        status = hostile_put(store, n, kind, 7);
    }
    if (kind % 2 == 0) {
        larder_store_close(store);
    } else if (!status) {
        status = larder_store_sync(store);
    }
    return status;
}

static bool read_into(image *out, const char *folder, const char *prefix) {
    DIR *entries = opendir(folder);
    bool good = entries != NULL;
    for (struct dirent *entry; good && (entry = readdir(entries));) {
        char path[1200];
        struct stat facts;
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        good = stat(path, &facts) == 0 && out->count < IMAGE_FILES;
        if (good && S_ISDIR(facts.st_mode)) {
            good = read_into(out, path, "log/");
        } else if (good) {
            image_file *file = &out->files[out->count++];
            snprintf(file->name, sizeof file->name, "%s%.24s", prefix, entry->d_name);
            file->size = (size_t)facts.st_size;
            file->apparent = file->size;
            file->bytes = calloc(1, file->size + 64);
            FILE *from = fopen(path, "rb");
            good = file->bytes && from && fread(file->bytes, 1, file->size, from) == file->size;
            if (from) {
                fclose(from);
            }
        }
    }
    if (entries) {
        closedir(entries);
    }
    return good;
}

bool image_make(image *out, const char *folder, unsigned kind) {
    int ended = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(make(folder, kind) ? 1 : 0);
    }
    *out = (image){.count = 0, .keys = keys_of(kind)};
    return child > 0 && waitpid(child, &ended, 0) == child && ended == 0 &&
           read_into(out, folder, "") && image_find(out, "data.mdb") != NULL;
}

bool image_copy(image *out, const image *from) {
    *out = *from;
    for (size_t i = 0; i < out->count; i++) {
        image_file *file = &out->files[i];
        file->bytes = malloc(file->size + 64);
        if (!file->bytes) {
            return false;
        }
        memcpy(file->bytes, from->files[i].bytes, file->size + 64);
    }
    return true;
}

void image_free(image *freed) {
    for (size_t i = 0; i < freed->count; i++) {
        free(freed->files[i].bytes);
    }
    freed->count = 0;
}

image_file *image_find(image *in, const char *name) {
    for (size_t i = 0; i < in->count; i++) {
        if (strcmp(in->files[i].name, name) == 0) {
            return &in->files[i];
        }
    }
    return NULL;
}

static bool write_one(const image_file *file, const char *path, const char *outside) {
    switch (file->kind) {
    case 'l': return symlink(outside, path) == 0;
    case 'h': return link(outside, path) == 0;
    case 'p': return mkfifo(path, 0600) == 0;
    case 'd': return mkdir(path, 0700) == 0;
    default: break;
    }
    int target = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    bool good = target >= 0 && write(target, file->bytes, file->size) == (ssize_t)file->size &&
                (file->apparent <= file->size || ftruncate(target, (off_t)file->apparent) == 0);
    if (target >= 0) {
        close(target);
    }
    return good;
}

bool image_write(const image *what, const char *folder, const char *outside) {
    char path[1200];
    snprintf(path, sizeof path, "%s/log", folder);
    bool good = mkdir(folder, 0700) == 0 && mkdir(path, 0700) == 0;
    for (size_t i = 0; good && i < what->count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, what->files[i].name);
        // Two may have come to one name: the first one stays.
        if (access(path, F_OK) != 0) {
            (void)write_one(&what->files[i], path, outside);
        }
    }
    return good;
}
