// SPDX-License-Identifier: MIT
/** @file spill_internal.h
    Private: what the source files share that deal with values in files of their own. */
#ifndef LARDER_SPILL_INTERNAL_H
#define LARDER_SPILL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "file_io.h"
#include "spill.h"
#include "spill_cache.h"

enum {
    EPOCH_DIGITS = 8,
    NUMBER_DIGITS = 16,
    /** A slash before each, and the final NUL. */
    NAME_ROOM = 1 + EPOCH_DIGITS + 1 + NUMBER_DIGITS + 1,
    /** What the system takes as a path at most, everywhere that Larder runs. */
    PATH_ROOM = 4096
};

/** A file whose sync failed, and how. */
typedef struct unsure_file {
    uint64_t number;
    uint32_t epoch;
    larder_status status;
} unsure_file;

struct spill {
    uint32_t mode;
    uint32_t folder_mode;
    /** The epoch whose folder's name is on the device, and 1; 0 if that is not known of any. */
    _Atomic uint64_t synced_epoch;
    spill_cache cache;
    /** Held while a file is synced; guards the list of those of which that failed. */
    pthread_mutex_t sync_lock;
    unsure_file *unsure;
    size_t unsure_count;
    /** A sync failed of a file that the list had no memory for; else LARDER_OK. */
    larder_status unsure_all;
    /** Which folder the store's is; 0 and 0 if it was none. */
    uint64_t device;
    uint64_t inode;
    size_t root_length;
    /** `<store>/spill`, and its end. */
    char root[];
};

/** The path of a file or folder below the root. */
typedef struct spill_path {
    char text[PATH_ROOM];
} spill_path;

/** Path of an epoch's folder. @return its end. */
char *spill_path_of_epoch(const spill *folder, uint32_t epoch, spill_path *path);
void spill_path_of_file(const spill *folder, uint32_t epoch, uint64_t number, spill_path *path);

#endif
