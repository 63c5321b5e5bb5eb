// SPDX-License-Identifier: MIT
/** @file file_io.h
    Private: the only place where Larder's C core makes system calls on files.

    Each function retries after EINTR, returns LARDER_OK or an errno, and passes a fault point named
    after its system call. Built with LARDER_FAULTS, a test can make the n-th pass of a point fail:
    that is how each call is seen to fail once. Without it the points cost nothing. */
#ifndef LARDER_FILE_IO_H
#define LARDER_FILE_IO_H

#include <stdbool.h>

#include "larder_status.h"

/** What there is to know of an open file. */
typedef struct file_facts {
    uint64_t bytes;
    uint64_t device;
    uint64_t inode;
    /** When content or permissions changed last, in nanoseconds since 1970. */
    int64_t changed_ns;
    uint32_t mode;
    bool is_regular;
    bool is_folder;
} file_facts;

enum { FILE_WRITE = 1, FILE_CREATE = 2, FILE_EXCLUSIVE = 4 };

/** Opens `path`; never follows a symbolic link in its last component. `flags` of FILE_…. */
larder_status file_open(const char *path, int flags, uint32_t mode, int *out);
/** The same for a name in the folder that the descriptor `folder` is of. */
larder_status file_open_in(int folder, const char *name, int flags, uint32_t mode, int *out);
void file_close(int file);
larder_status file_facts_get(int file, file_facts *out);
/** Of whatever is at `path`; of a symbolic link itself. */
larder_status file_facts_at(const char *path, file_facts *out);

/** Gives the file `bytes` bytes with every block reserved: a later store into a mapping of it
    cannot run out of space. The content is zeros. EFBIG instead of SIGXFSZ. */
larder_status file_reserve(int file, uint64_t bytes);
/** Reserves blocks for a range that may lie behind the file's end, which stays where it is. A
    system that cannot gives ENOTSUP. */
larder_status file_reserve_behind(int file, uint64_t offset, uint64_t bytes);
larder_status file_truncate(int file, uint64_t bytes);
/** EFBIG if the process may not make a file of `bytes` bytes: to be asked before a write that makes
    one grow, which would be SIGXFSZ. */
larder_status file_size_check(uint64_t bytes);

larder_status file_read_at(int file, void *target, size_t length, uint64_t offset, size_t *got);
larder_status file_write_at(int file, const void *source, size_t length, uint64_t offset);

larder_status file_map(int file, size_t bytes, bool writable, uint8_t **out);
void file_unmap(uint8_t *map, size_t bytes);
/** The whole pages of a range of a mapping, made ready to be written by one call: touched one by
    one, each would be a fault (measured: 34 cycles more for each message of 100 bytes). A hint:
    failure is ignored. */
void file_warm(uint8_t *map, uint64_t from, uint64_t until);

/** Content and size to the device: fdatasync, on Apple systems F_FULLFSYNC. */
larder_status file_sync(int file);
/** The name of a file just made or renamed: fsync of the folder that holds `path`. */
larder_status file_sync_parent(const char *path);

/** Takes the writer's lock, which belongs to the open file and not to the process, so that a second
    open in the same process meets it too. LARDER_EBUSY if another has it. */
larder_status file_lock(int file);
/** Lets go of it at once. Closing alone is not enough: a child that another thread is just starting
    has the open file too, up to its exec, and with it the lock. */
void file_unlock(int file);
/** Whether somebody holds the writer's lock. Takes nothing. */
bool file_is_locked(int file);

/** `path` from the root on, so that it means the same after the process goes to another folder; to
    be freed. Links and dots in it stay as they are. ENOENT if the folder that the process is in was
    removed, ENAMETOOLONG. */
LARDER_MUST_CHECK larder_status path_from_root(const char *path, char **out);

/** Permissions as they are to be, whatever the umask took away when the file was made. */
larder_status file_change_mode(int file, uint32_t mode);
larder_status file_rename(const char *from, const char *to);
larder_status file_rename_in(int folder, const char *from, const char *to);
larder_status file_remove(const char *path);
larder_status file_remove_in(int folder, const char *name);

/** Opens a folder, for the functions that take one; never follows a symbolic link in the last
    component. */
larder_status folder_open(const char *path, int *out);
larder_status folder_open_in(int folder, const char *name, int *out);
/** The names in it to the device. */
larder_status folder_sync(int folder);
/** Makes a folder with these very permissions. EEXIST if there is something of that name. */
larder_status folder_make(const char *path, uint32_t mode);
larder_status folder_make_in(int folder, const char *name, uint32_t mode);
/** Removes an empty folder. */
larder_status folder_remove(const char *path);
/** Calls `body` with each name in the folder but `.` and `..`, in no order; names that are made or
    removed meanwhile may come or not. Does not follow a symbolic link in the last component.
    @param body returns 0 to go on, else ECANCELED comes back. */
larder_status folder_list(const char *path, int (*body)(void *context, const char *name),
                          void *context);
larder_status folder_list_in(int folder, int (*body)(void *context, const char *name),
                             void *context);

/** Bytes that an ordinary user can still write to the file system that holds `path`. */
larder_status file_system_room(const char *path, uint64_t *bytes);

/** 16 bytes that are the same until the machine starts anew; zeros where there is no such thing. */
void system_boot_id(uint8_t out[16]);
int64_t system_wall_clock_ns(void);
int64_t system_monotonic_ns(void);
uint32_t system_random(void);
/** At most 256 bytes. */
void system_random_fill(uint8_t *out, size_t length);

#ifdef LARDER_FAULTS
LARDER_ASSUME_NONNULL_BEGIN
/** What happens at a fault point instead of the call. */
enum { LARDER_FAULT_SHORT = -1 };
/** From now on the `nth` pass (1 is the next one) of the point `call` fails with `error`, an errno,
    and if `nth` is negative, the pass that its amount says and each that follows;
    with LARDER_FAULT_SHORT, a read or write moves a single byte. NULL ends it. */
LARDER_API void larder_fault_set(const char *LARDER_NULLABLE call, int nth, int error);
/** Passes the point `call`, for what is not a call on a file. 0, or what it fails with. */
LARDER_API int larder_fault_at(const char *call);
/** How often the point was passed since larder_fault_set. */
LARDER_API int larder_fault_passes(void);
/** The thresholds of rings, for all that are opened from now on: a test that is smaller than every
    threshold shows nothing. See ring_layout.h. */
LARDER_API void larder_fault_ring_limits(uint64_t numbers_ahead, uint64_t window_bytes);
/** The boot id that the next opens see; NULL for the real one. */
LARDER_API void larder_fault_boot_id(const uint8_t *LARDER_NULLABLE id);
LARDER_ASSUME_NONNULL_END
#endif

#endif
