// SPDX-License-Identifier: MIT
/** @file larder_os_file.h
    Private to Larder: the only place where Larder's C core makes system calls on files.

    Each function retries after EINTR, returns LARDER_OK or an errno, and passes a fault point named
    after its system call. Built with LARDER_FAULTS, a test can make the n-th pass of a point fail:
    that is how each call is seen to fail once. Without it the points cost nothing. */
#ifndef LARDER_OS_FILE_H
#define LARDER_OS_FILE_H

#include <stdbool.h>

#include "larder_status.h"

// liblarder-store calls them in liblarder.
#pragma GCC visibility push(default)

/** What there is to know of an open file. */
typedef struct larder_os_facts {
    uint64_t bytes;
    /** That the disk has, whole blocks of them; less where the file has holes. */
    uint64_t stored_bytes;
    uint64_t device;
    uint64_t inode;
    /** When content or permissions changed last, in nanoseconds since 1970. */
    int64_t changed_ns;
    /** How many names it has. */
    uint64_t links;
    uint32_t owner;
    uint32_t mode;
    bool is_regular;
    bool is_folder;
} larder_os_facts;

/** Which file or folder it is, wherever it is moved: one that gets its number later was born later.
    A handle that was opened by a path has this, so that it never takes what lies there now for its
    own. */
typedef struct larder_os_identity {
    uint64_t device;
    uint64_t inode;
    /** When it was made, in nanoseconds since 1970; 0 where the system does not say. */
    int64_t born_ns;
} larder_os_identity;

enum { LARDER_OS_WRITE = 1, LARDER_OS_CREATE = 2, LARDER_OS_EXCLUSIVE = 4 };

/** Opens `path`, as a descriptor above 2; never follows a symbolic link in its last component.
    `flags` of LARDER_OS_…. */
larder_status larder_os_file_open(const char *path, int flags, uint32_t mode, int *out);
/** The same for a name in the folder that the descriptor `folder` is of. */
larder_status larder_os_file_open_in(int folder, const char *name, int flags, uint32_t mode,
                                     int *out);
void larder_os_file_close(int file);
/** A second descriptor of an open file that somebody else opened, as LMDB does. */
larder_status larder_os_file_duplicate(int file, int *out);
/** A program that this one becomes or starts does not get the file. */
void larder_os_file_close_on_exec(int file);
/** What somebody else opens before larder_os_standard_vacate, in any thread, gets a descriptor
    above 2, even if some up to 2 are closed, as all that the functions here open does anyway: those
    belong to the program's input and output. Meanwhile reading from one gives nothing, and writing
    to it EBADF, as before. Thread-safe; to be vacated even if it fails. */
larder_status larder_os_standard_occupy(void);
void larder_os_standard_vacate(void);
larder_status larder_os_file_facts_get(int file, larder_os_facts *out);
/** Of whatever is at `path`; of a symbolic link itself. */
larder_status larder_os_file_facts_at(const char *path, larder_os_facts *out);
/** Of whatever is at `path`; of a symbolic link itself. */
larder_status larder_os_file_identify(const char *path, larder_os_identity *out);
/** The same for a name in the folder that the descriptor `folder` is of. */
larder_status larder_os_file_identify_in(int folder, const char *name, larder_os_identity *out);
larder_status larder_os_file_facts_in(int folder, const char *name, larder_os_facts *out);
/** Whether both are of the same file. */
static inline bool larder_os_is_same_file(const larder_os_facts *one,
                                          const larder_os_facts *other) {
    return one->device == other->device && one->inode == other->inode;
}
/** Whether a regular file or a folder that was there before may be written to: the effective user
    or root owns it, not every user may write to it, and a file has no second name, since what has
    that one would be changed, too. A group may write. To be asked before the first write, of an
    open descriptor, or by name where the folder was asked about first.
    @param trusts_others leaves owner and permissions to the caller, but not links.
    @return LARDER_OK, LARDER_EOWNER, LARDER_EWRITABLE, LARDER_ELINKED. */
larder_status larder_os_trust_check(const larder_os_facts *facts, bool trusts_others);

/** Whether an open file, of which these are facts, can be found at `path`.
    @return LARDER_OK; LARDER_EREPLACED if something else is there; LARDER_ENOTFOUND if nothing is,
            or it cannot be examined. */
larder_status larder_os_file_find(const larder_os_facts *file, const char *path);
/** Whether it can be found by whoever opens `path` next, or else was only moved: LARDER_EREPLACED
    if something else is there, or it was deleted. */
larder_status larder_os_file_check_place(int file, const larder_os_facts *facts, const char *path);
/** Opens the folder that holds `path`.
    @param folder receives the folder, -1 on failure; where it may be entered but not read, one that
           cannot be listed or synced (EBADF).
    @param name receives the last component of `path`, which is a part of that. */
larder_status larder_os_parent_open(const char *path, int *folder, const char **name);
/** The same, to change what lies there beside an open file.
    @return as larder_os_parent_open; LARDER_EREPLACED if that file is not there under that name. */
larder_status larder_os_file_folder_open(const larder_os_facts *file, const char *path, int *folder,
                                         const char **name);

/** Makes a file that is to take the place of `name` by a rename: beside it, under a name that
    nobody can guess, and only if nothing has that name. `name`.`kind`-XXXXXXXX, the digits random.
    @param made receives its name, to be freed; NULL on failure. */
larder_status larder_os_file_make_beside(int folder, const char *name, const char *kind,
                                         uint32_t mode, int *out, char **made);
/** Removes such files that a process left which was killed, and `name`.`kind`, as older releases
    called theirs: of these names the regular files that the effective user owns and that have no
    second name. Only for one who keeps all others from making them meanwhile. What cannot be
    removed stays, as nobody is in need of its name. */
void larder_os_file_sweep_beside(int folder, const char *name, const char *kind);

/** Gives the file `bytes` bytes with every block reserved: a later store into a mapping of it
    cannot run out of space. What it has stays, and is followed by zeros. EFBIG instead of
    SIGXFSZ. */
larder_status larder_os_file_reserve(int file, uint64_t bytes);
/** Reserves blocks for a range that may lie behind the file's end, which stays where it is. A
    system that cannot gives ENOTSUP. */
larder_status larder_os_file_reserve_behind(int file, uint64_t offset, uint64_t bytes);
/** Gives back the blocks of a range: the file keeps its length, and has zeros there. A system that
    cannot, or cannot reserve them again, gives ENOTSUP. */
larder_status larder_os_file_release(int file, uint64_t offset, uint64_t bytes);
/** Where the next bytes from `from` on lie that are no hole, and where the hole behind them begins.
    @return LARDER_OK; LARDER_END behind the last: then both are the greatest number; ENOTSUP where
            the system does not tell. */
larder_status larder_os_file_next_data(int file, uint64_t from, uint64_t *data, uint64_t *hole);
larder_status larder_os_file_truncate(int file, uint64_t bytes);
/** EFBIG if the process may not make a file of `bytes` bytes: to be asked before a write that makes
    one grow, which would be SIGXFSZ. */
larder_status larder_os_file_size_check(uint64_t bytes);
/** From here on a file size limit gives EFBIG to the writes of others, such as LMDB's, in this
    thread instead of SIGXFSZ, which would end the process.
    @return for larder_os_unblock_file_size_signal: whether the signal was blocked before. */
bool larder_os_block_file_size_signal(void);
void larder_os_unblock_file_size_signal(bool was_blocked);

larder_status larder_os_file_read_at(int file, void *target, size_t length, uint64_t offset,
                                     size_t *got);
larder_status larder_os_file_write_at(int file, const void *source, size_t length, uint64_t offset);

larder_status larder_os_file_map(int file, size_t bytes, bool writable, uint8_t **out);
void larder_os_file_unmap(uint8_t *map, size_t bytes);
/** Memory of the process's own, zero, which takes room only where it is written to.
    @return LARDER_OK; ENOMEM; ENOTSUP where larder_os_memory_move could not use it. */
larder_status larder_os_memory_map(size_t bytes, uint8_t **out);
/** Puts such memory in the place of a mapping as long as it, which ends: whoever reads there
    meanwhile sees the bytes of the one or the other.
    @return LARDER_OK; ENOMEM or another errno: then both are as they were. */
larder_status larder_os_memory_move(uint8_t *from, uint8_t *onto, size_t bytes);
/** The whole pages of a range of a mapping, made ready to be written by one call: touched one by
    one, each would be a fault (measured: 34 cycles more for each message of 100 bytes). A hint:
    failure is ignored. */
void larder_os_file_warm(uint8_t *map, uint64_t from, uint64_t until);

/** Content and size to the medium: fdatasync, on Apple systems F_FULLFSYNC. */
larder_status larder_os_file_sync(int file);
/** The same for what was stored through a mapping of the file from its start: every sync of mapped
    stores goes through here. On Apple systems msync comes first. */
larder_status larder_os_map_sync(int file, uint8_t *map, uint64_t bytes);
/** What somebody else synced with fsync(2), as LMDB does, from the drive to its medium. Nothing to
    do but on Apple systems. */
larder_status larder_os_file_sync_lower(int file);
/** Opens the folder that holds `path` for larder_os_file_sync_name.
    @param folder receives -1, too, where the system lets nobody have it. */
larder_status larder_os_parent_open_to_sync(const char *path, int *folder);
/** The name of an open file, or folder, that was just made or renamed: syncs the folder that holds
    it, or where that may be entered but not read, the whole file system. */
larder_status larder_os_file_sync_name(int file, int folder);
/** Both, of what is at `path`. */
larder_status larder_os_file_sync_parent(const char *path);

/** Takes the writer's lock, which belongs to the open file and not to the process, so that a second
    open in the same process meets it too. LARDER_EBUSY if another has it; LARDER_ELOCKED if nobody
    has it, but one who may only read the file holds a lock for reading. */
larder_status larder_os_file_lock(int file);
/** The process that holds that lock for reading, where the system knows; else 0. */
int64_t larder_os_file_lock_pid(int file);
/** The same of one place in a file, in which nothing need lie, for one or for several who share it;
    it ends when the open file is closed. Apple's systems lock whole files, and share nothing. */
larder_status larder_os_file_lock_place(int file, uint64_t place, bool is_shared);
/** At once, where a child of fork(2) has the open file too. */
void larder_os_file_unlock_place(int file, uint64_t place);
/** Whether somebody else has locked one of these places.
    @param by_writers alone; else also shared. */
bool larder_os_file_is_place_locked(int file, uint64_t first, uint64_t count, bool by_writers);
/** Releases it at once. Closing alone is not enough: a child that another thread is just starting
    has the open file too, up to its exec, and with it the lock. */
void larder_os_file_unlock(int file);
/** Whether places of a file are locked by themselves here, beside what others lock in it. */
bool larder_os_file_locks_places(void);
/** Whether somebody holds the writer's lock, which takes permission to write. Takes nothing. */
bool larder_os_file_is_locked(int file);

/** `path` from the root on, so that it means the same after the process goes to another folder; to
    be freed. Links and dots in it stay as they are. ENOENT if the folder that the process is in was
    removed, ENAMETOOLONG. */
LARDER_MUST_CHECK larder_status larder_os_absolute_path(const char *path, char **out);

/** Permissions as they are to be, whatever the umask took away when the file was made. */
larder_status larder_os_file_change_mode(int file, uint32_t mode);
larder_status larder_os_file_rename(const char *from, const char *to);
larder_status larder_os_file_rename_in(int folder, const char *from, const char *to);
larder_status larder_os_file_remove(const char *path);
larder_status larder_os_file_remove_in(int folder, const char *name);

/** Opens a folder, for the functions that take one; never follows a symbolic link in the last
    component. */
larder_status larder_os_folder_open(const char *path, int *out);
larder_status larder_os_folder_open_in(int folder, const char *name, int *out);
/** The names in it to the device. */
larder_status larder_os_folder_sync(int folder);
/** Makes a folder with these very permissions. EEXIST if there is something of that name. */
larder_status larder_os_folder_make(const char *path, uint32_t mode);
larder_status larder_os_folder_make_in(int folder, const char *name, uint32_t mode);
/** Removes an empty folder. */
larder_status larder_os_folder_remove(const char *path);
larder_status larder_os_folder_remove_in(int folder, const char *name);
/** Calls `body` with each name in the folder but `.` and `..`, in no order; names that are made or
    removed meanwhile may come or not. Does not follow a symbolic link in the last component.
    @param body returns 0 to go on, else ECANCELED comes back. */
larder_status larder_os_folder_list(const char *path, int (*body)(void *context, const char *name),
                                    void *context);
larder_status larder_os_folder_list_in(int folder, int (*body)(void *context, const char *name),
                                       void *context);

/** Bytes that an ordinary user can still write to the file system that holds `path`. */
larder_status larder_os_file_system_room(const char *path, uint64_t *bytes);

#pragma GCC visibility pop

#endif
