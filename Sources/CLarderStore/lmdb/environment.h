// SPDX-License-Identifier: MIT
/** @file environment.h
    Private: one open LMDB file, shared by every handle of this process, and its readers' places.

    LMDB does three things here: it keeps the table of readers, writes pages, and syncs. Its own
    map is never read through; the readers have one of their own, which can be left behind by a
    larger one while they use it, so that growing never waits for anybody.

    A reader keeps its place in LMDB's table between two reads as long as nothing was committed;
    after a commit, and before each transaction, the writer frees the places that are not in use, so
    that idle readers never hold old pages. Where the writer is another process, a place is freed
    after each read.

    LMDB itself is opened for the first transaction, and closed when the handle that writes rests:
    as long as nobody writes, readers need no place in the table.

    Nobody else in a process may open lock.mdb while an environment is open: closing any descriptor
    of it would drop LMDB's locks, which belong to the process. */
#ifndef LARDER_ENVIRONMENT_H
#define LARDER_ENVIRONMENT_H

#include "format/meta.h"
#include "larder_os_file.h"
#include "lmdb/lmdb_supported.h"
#include "lmdb/touch.h"
#include "pages/tree.h"

typedef struct environment environment;

/** A reader's place, held by one thread at a time. */
typedef struct snapshot {
    /** The newest state when it was taken. */
    tree tree;
    store_meta meta;
    /** Whose place it is. */
    environment *environment;
    /** What was read through this place and not yet folded in. */
    touch_buffer touches;
} snapshot;

enum {
    /** Nobody but this handle will write; one handle at most does, its lock sees to that. */
    ENVIRONMENT_WRITES = 1,
    /** What LMDB finds by its name is what was checked, whoever owns the folder. */
    ENVIRONMENT_TRUSTS_OTHERS = 2
};

/** Opens `<folder>/data.mdb`, or takes part in it if this process has it open already (found by
    device and inode; entries of a parent process are not used).
    Before LMDB sees the file both meta pages are checked; one that is damaged while the other is
    whole is LARDER_EDAMAGED too, for it may be the newer one.
    @param flags of ENVIRONMENT_….
    @param fresh if it will: made with this as its meta record if the file is missing or empty.
    @param map_bytes how large LMDB's map is at first; 0: some times the file's size.
    @param detail receives version, content format or offset of a failure.
    @return LARDER_OK; ENOENT, LARDER_EFOREIGN, LARDER_EVERSION (also of LMDB itself, before a file
            is touched), LARDER_EDAMAGED, or an errno. */
LARDER_MUST_CHECK larder_status larder_environment_open(const char *folder, uint32_t flags,
                                                        const store_meta *fresh, uint32_t mode,
                                                        uint64_t map_bytes,
                                                        larder_store_detail *detail,
                                                        environment **out);
/** To be called by the writer when nothing waits to be written: closes LMDB, unless other handles
    or readers of older states need it. The next transaction opens it again. */
void larder_environment_rest(environment *env);
/** The writing handle will not write any more, although it stays open: to be called before it
    releases its lock, because another handle may write then. */
void larder_environment_end_writing(environment *env);
/** Releases it; the last handle closes the file. A child of fork(2) only forgets it.
    @param environment may be NULL.
    @param writes as at larder_environment_open. */
void larder_environment_close(environment *env, bool writes);

/** Brings data.mdb, its name, and that of its folder to the device: before anything is promised to
    be there, after its making. */
LARDER_MUST_CHECK larder_status larder_environment_settle(environment *env);
/** Opens the folder in which data.mdb is still the one that is open: what is done by its descriptor
    is done to this store, whatever comes into the folder's place.
    @return LARDER_OK; LARDER_EREPLACED if it is not there, or an errno. */
LARDER_MUST_CHECK larder_status larder_environment_folder(const environment *env, int *folder);
/** Whether `<folder>/data.mdb` is still the one that is open. */
bool larder_environment_is_there(const environment *env);
/** Whether `<folder>/data.mdb` is missing, or may be what a power cut left of a new one. */
bool larder_environment_is_unmade(const char *folder);
/** Keeps every process from opening the environment in `folder`, as long as `lock` is open, which
    may stay -1 if there is nothing to lock yet. LARDER_EBUSY if somebody has it open. */
LARDER_MUST_CHECK larder_status larder_environment_shut_out(const char *folder, int *lock);

/** Takes a place with the newest committed state; the meta record was verified, and belongs to the
    very transaction that the place sees. For a file that another process writes, too.
    @return LARDER_OK; LARDER_ENOSLOT if all are in use; LARDER_EDAMAGED; LARDER_EFORKED;
            ENOMEM or another errno. */
LARDER_MUST_CHECK larder_status larder_environment_read(environment *env, snapshot **out);
/** Whether readers have no places in LMDB's table, because lock.mdb cannot be had: then nothing
    protects what they read from a writer. */
bool larder_environment_is_unprotected(const environment *env);
/** Whether readers are unprotected and another file is in the place of data.mdb by now: the next
    place that is taken sees that one. To be asked where something is missing: a system call. */
bool larder_environment_is_replaced(environment *env);
/** What came of a read through a place, as the caller may believe it.
    @return `status`; of an unprotected one LARDER_EBUSY where a writer may have used its pages
            again, deleted what they led to, or put another file in the place of data.mdb, before it
            was through. */
larder_status larder_environment_confirm(const snapshot *seen, larder_status status);

/** Gives the place back. */
void larder_environment_release(environment *env, snapshot *snapshot);

/** Takes a place that keeps its state until it is released, for a cursor: never more than the pool
    can spare, LARDER_ENOSLOT beyond. */
LARDER_MUST_CHECK larder_status larder_environment_read_long(environment *env, snapshot **out);

/** Moves the touches of each place that is not in use to `into`, which `lock` guards: the store's,
    which the caller does not hold.
    @param waits a place in use is waited for at most two milliseconds, for its holder may be the
    caller, and is then left for the next drain; a cursor's is left at once. Else all are.
    @return whether none was left. */
bool larder_environment_drain_touches(environment *env, touch_buffer *into, pthread_mutex_t *lock,
                                      bool waits);

/** Calls `body` with the touches of every place, also of those in use: only for a search that may
    meet them changing (touch.h). Never waits. */
void larder_environment_look_at_touches(environment *env,
                                        void (*body)(void *context, const touch_buffer *touches),
                                        void *context);
/** As larder_touch_buffer_search, in those of every place. Never waits. */
void larder_environment_search_touches(environment *env, uint64_t hash, uint64_t sequence,
                                       int64_t *deadline_ns);

/** Begins the one transaction that writes; it must end in the same thread. If the last one failed
    so that LMDB refuses to continue, LMDB is reopened first, for which no reader may hold an older
    snapshot: EIO otherwise.
    @param main receives LMDB's number of the one database. */
LARDER_MUST_CHECK larder_status larder_environment_begin(environment *env, MDB_txn **txn,
                                                         MDB_dbi *main);
/** To be called inside a transaction before each change, with its key: looks at the pages that LMDB
    may change for it, unless they were seen or written before: see tree_guard.h.
    @return LARDER_OK; LARDER_EDAMAGED, from then on for every transaction; ENOMEM. */
LARDER_MUST_CHECK larder_status larder_environment_guard(environment *env, const void *key,
                                                         size_t length);
/** The same for what is put behind the last row. */
LARDER_MUST_CHECK larder_status larder_environment_guard_last(environment *env);
/** The same for a change that reaches every page. O(pages), once. */
LARDER_MUST_CHECK larder_status larder_environment_guard_all(environment *env);
/** Puts a row, or deletes it if `value` is NULL, after a look at the pages that this changes.
    @return LARDER_OK, also where there is none to delete; EAGAIN: the map is too small … */
LARDER_MUST_CHECK larder_status larder_environment_row(environment *env, MDB_txn *txn, MDB_dbi main,
                                                       larder_bytes key, const larder_bytes *value);
/** Ends the transaction: commits if `status` is LARDER_OK, with LMDB's full sync, and releases
    the reader slots of older snapshots.
    @return EAGAIN where the map was too small and has grown: begin again. Of an EIO the reason, if
            there is one: a write that was cut short is EIO to LMDB, be it that the disk is full or
            a limit reached. Else `status`, or why the commit failed. */
LARDER_MUST_CHECK larder_status larder_environment_end(environment *env, MDB_txn *txn,
                                                       larder_status status);
/** Where the disk has little room left, keeps some blocks behind the file's end reserved, so that a
    full disk does not stop the transaction that would make room: LMDB writes new pages even to
    delete. A hint: failure is ignored. */
void larder_environment_reserve(environment *env);
/** Gives them back. */
void larder_environment_unreserve(environment *env);
/** Bytes that the file system has left; UINT64_MAX if it does not say. */
uint64_t larder_environment_room(const environment *env);
/** Whether a transaction met pages that it must not write to, and none begins any more; or a reader
    met damage. */
bool larder_environment_is_damaged(const environment *env);
/** Whether the disk has little room left. */
bool larder_environment_is_short(const environment *env);
/** Bytes of the file, and of what is reserved behind it, where the newest state leads nowhere: new
    pages come from there. */
uint64_t larder_environment_free_bytes(environment *env);
/** Bytes of the file up to the last page that the newest state knows; 0 if that cannot be read. */
uint64_t larder_environment_bytes(environment *env);
/** Bytes that the file grows by, about, when every page of the tree is written again. */
uint64_t larder_environment_growth_bytes(environment *env);
/** How many pages a transaction may write; UINT64_MAX for any number, unless the disk has little
    room for so large a tree: then it is a part of the room or of the pages that are free. The pages
    that a transaction frees are used again by the next but one, so many small ones take less room
    than one. */
uint64_t larder_environment_spare_pages(environment *env);
/** LMDB's codes as ours: MDB_MAP_FULL is EAGAIN, MDB_CORRUPTED and its like LARDER_EDAMAGED. */
larder_status larder_environment_status(int code);

/** Sizes for statistics; frees the places of readers that died (other processes' too). */
void larder_environment_look(environment *env, larder_store_statistics *statistics);
void larder_environment_clear_stale_readers(environment *env);
/** The least transaction that a reader of any process still looks at; UINT64_MAX if there is none.
    */
uint64_t larder_environment_oldest_reader(environment *env);
/** Whether somebody looks at so old a state that pages which were freed since cannot be used again:
    then each transaction takes new ones. */
bool larder_environment_keeps_pages(environment *env);
/** Longer than any path that a system takes: one that does not fit is cut, and refused there. */
typedef char file_path[4160];
/** Permissions of a file that processes lock in, of a store whose files have those: whoever cannot
    write to it cannot read it either, for a lock to read would keep writers out. */
static inline uint32_t larder_lock_mode(uint32_t mode) { return mode & ~((~mode & 0022u) << 1); }
/** `<folder>/<name>`.
    @return `out`. */
char *larder_environment_path(file_path out, const char *folder, const char *name);

#endif
