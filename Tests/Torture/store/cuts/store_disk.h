// SPDX-License-Identifier: MIT
/** @file store_disk.h
    A model of a disk that loses power, for a whole folder.

    System calls of this process are intercepted by name, LMDB's too: functions of an executable
    come before those of a shared library. What counts as durable is

    - of a file, what it held when a sync of it began that has returned, and what was written
    through a descriptor that syncs by itself (O_DSYNC): then every page, or sector, may be in any
    version it had since;
    - of names, what was made, moved and deleted in a folder before a sync of that folder began that
      has returned; of everything later any part may be there, or only a beginning of it.

    A folder `vault` beside it keeps the versions, and a link to each file, so that one that was
    deleted can come back. Events are in shared memory: they outlive the process. */
#ifndef TORTURE_STORE_DISK_H
#define TORTURE_STORE_DISK_H

#include "torture.h"

enum { DISK_KILLS = -1 };
enum { DISK_EVENTS = 16384, DISK_NAMES = 4096, DISK_NAME_MAX = 40, DISK_SNAPSHOTS = 4 };

typedef struct disk_name {
    uint64_t folder;
    uint64_t inode;
    char name[DISK_NAME_MAX];
    bool is_folder;
} disk_name;

typedef enum disk_event_kind { DISK_MADE = 1, DISK_GONE, DISK_MOVED } disk_event_kind;

typedef struct disk_event {
    disk_event_kind kind;
    /** Made, gone, or as it is after the move. */
    disk_name what;
    /** Where it was before a move. */
    disk_name from;
    _Atomic bool is_durable;
} disk_event;

typedef struct disk {
    char root[512];
    char vault[512];
    uint64_t root_inode;
    disk_name names[DISK_NAMES];
    uint32_t name_count;
    /** Counts what is written completely. */
    _Atomic uint32_t event_count;
    disk_event events[DISK_EVENTS];
    /** There was no room for an event: no image of this says anything. */
    _Atomic uint32_t overflow;
    _Atomic uint64_t syncs;
    /** A name is changed and noted: whoever is killed in between leaves a change that no image has,
        whatever is synced later. */
    _Atomic uint32_t is_noting;
} disk;

/** Starts anew with what lies in `root` now, all of it durable. */
bool disk_begin(disk *self, const char *root, const char *vault);
/** From now on the calls of this process are noted; NULL ends that. `chance`: one in so many writes
    keeps a version of what is written. */
void disk_watch(disk *self, rng random, unsigned chance);
/** Keeps what the files hold now as one version that their pages may have. */
void disk_snapshot(void);

/** From now on the `nth` call of that name on a file below `root` fails, and all after it if
    `for_good`; NULL ends that. Names: write (pwrite and writev too), sync, open, room (fallocate,
    ftruncate), make (mkdir, and open where there is nothing), gone (unlink, rmdir), name (rename),
    read, map, facts (fstat), lock; any; growth, that is every call which may need room on the disk;
    slow, that is every one which a signal may interrupt, but for LMDB's.
    @param error an errno; DISK_KILLS: the process is killed before the call. */
void disk_fail(const char *root, const char *call, int nth, int error, bool for_good);
/** Called before every call that could be made to fail. */
void disk_on_call(void (*hook)(void));
/** How many calls were made to fail since. */
int disk_failures(void);
/** How many calls there were since that could have. */
int disk_passes(void);

/** What an image has of what was not synced. */
typedef enum disk_shape { DISK_SOME, DISK_NOTHING, DISK_EVERYTHING } disk_shape;

/** Puts together, in the new folder `target`, what a disk may hold. */
bool disk_image(const disk *self, rng *random, disk_shape shape, const char *target);

#endif
