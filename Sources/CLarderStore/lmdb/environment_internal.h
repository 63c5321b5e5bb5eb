// SPDX-License-Identifier: MIT
/** @file environment_internal.h
    Private: what the environment's source files share.

    Who holds what:
    - larder_registry_lock guards the list of environments, their opening and closing.
    - `lmdb_lock` guards LMDB's part: opening and closing it, and the size of its map. It may be
      taken under that lock.
    - `lock` guards the making of places and of our own maps. It may be taken under every other one.
    - A place belongs to whoever set `is_taken`; everything in it but its atomics and `txn` is
      theirs.
    - LMDB's part comes and goes, and its map moves. `is_changing` and each place's `is_renewing`
      keep that apart from a place's calls of LMDB: whoever renews says so first and then looks for
      changes, whoever changes it says so first and then waits for renewals.

    **While nobody writes, LMDB is closed**, if the handle that writes is the only one: then a state
    stays as it is, and whoever reads it needs no protection. Before anything is written LMDB is
    opened, and its table gets the readers that there are by then. So an idle store has neither
    descriptors nor address space of LMDB. */
#ifndef LARDER_ENVIRONMENT_INTERNAL_H
#define LARDER_ENVIRONMENT_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "lmdb/environment.h"
#include "pages/tree_guard.h"

enum {
    /** In LMDB's table, for all processes. */
    TABLE_MAX = 1022,
    /** Readers' places in a process, of which there are only as many as were needed, and those of
        them that cursors may hold. Some of the table are left for other processes. */
    PLACES_MAX = 960,
    PLACES_LONG_MAX = 512,
    /** Pointers to places come so many at a time. Threads begin to share places beyond the first
        of these. */
    PLACES_CHUNK = 64,
    MAPS_MAX = 48,
    CACHE_LINE = 64,
    /** Pages of a store that is made; LMDB takes the size from the file. */
    NEW_PAGE_BYTES = 4096
};

/** Our own map of the file. It reaches beyond the file's end, so that it need not be replaced each
    time the file grows. Replaced maps stay until the environment is closed: as each is twice as
    large as the one before, together they take no more address space than the last. */
typedef struct environment_map {
    uint8_t *bytes;
    size_t length;
    /** Bytes that the file has, as far as anybody looked, and the map covers. Never shrinks. */
    _Atomic uint64_t covered;
} environment_map;

typedef struct place {
    _Alignas(CACHE_LINE) _Atomic uint32_t is_taken;
    _Atomic uint32_t is_renewing;
    _Atomic bool is_long;
    /** Which one it is. */
    uint32_t index;
    /** Of the environment, when it began to see that state. */
    uint32_t generation;
    /** It sees a state that is protected: by LMDB's table, or because LMDB is closed. */
    _Atomic bool is_live;
    /** The number of that state. */
    _Atomic uint64_t transaction;
    /** The number in the meta page that the next transaction will write; NULL if nothing was read.
        */
    const uint64_t *newer;
    /** Changed where `is_renewing` says so, and by whoever opens or closes LMDB. NULL as long as
        the place is not in LMDB's table. */
    MDB_txn *txn;
    snapshot snapshot;
} place;

typedef struct place_chunk {
    _Atomic(place *) places[PLACES_CHUNK];
} place_chunk;

/** Where the folder is, from the root on. */
typedef struct folder_path {
    /** Another one, by which a handle of the process has opened it before. */
    struct folder_path *before;
    char path[];
} folder_path;

struct environment {
    /** Made when they are needed, and never moved. */
    _Atomic(place_chunk *) chunks[PLACES_MAX / PLACES_CHUNK];
    /** The handle that writes is in this process: places may stay renewed, for it resets them. */
    _Atomic bool has_writer;
    _Atomic bool is_changing;
    _Atomic uint32_t long_count;
    _Atomic(environment_map *) map;

    pthread_mutex_t lmdb_lock;
    /** NULL while it is closed. */
    MDB_env *lmdb;
    /** As long as LMDB is open and protects readers: where its openers meet, -1 else; and the head
        of lock.mdb, for a look at LMDB's mutexes. */
    int gate;
    uint8_t *lock_head;
    _Atomic uint64_t lmdb_map_bytes;
    /** The last transaction that was committed here. */
    _Atomic uint64_t committed;

    pthread_mutex_t lock;
    environment_map maps[MAPS_MAX];
    size_t map_count;

    _Atomic(folder_path *) folder;
    uint32_t mode;
    /** Which file it is. It is open only for moments, by its path: see larder_environment_file. */
    uint64_t device, inode;
    pid_t pid;
    bool is_read_only;
    /** Places of this process, which writes, are not in LMDB's table: another process has its
        number there. No transaction begins that could overwrite what they see. */
    _Atomic bool has_no_table;
    /** The file is this user's, or one that is trusted. */
    bool is_own;
    /** LMDB has no table of readers. Then a compaction may put another file in the place of this
        one: that was seen, and how often the other one was opened. */
    _Atomic bool is_unprotected, is_replaced;
    _Atomic uint32_t generation;
    /** Of the first state that was read. */
    _Atomic uint64_t store_id;
    _Atomic uint32_t references;
    environment *next;

    // The writer's alone.
    bool is_guarded;
    /** LMDB's table names the newest state. */
    bool names_newest;
    /** Blocks up to there are reserved. */
    _Atomic uint64_t reserved_to;
    tree_guard guard;
    /** The state that the transaction under way began with. */
    tree guarded;
    bool is_damaged;
    bool was_blocked;

    /** Written by any reader that meets damage, with tree_damaged. */
    uint64_t damage_offset;
    /** Of a meta record that this version cannot read, or of LMDB's pages. */
    _Atomic uint32_t unknown_version;
};

/** NULL where there is none. */
static inline place *place_at(environment *env, uint32_t index) {
    place_chunk *chunk =
        atomic_load_explicit(&env->chunks[index / PLACES_CHUNK], memory_order_acquire);
    if (!chunk) return NULL;
    return atomic_load_explicit(&chunk->places[index % PLACES_CHUNK], memory_order_acquire);
}

/** The place behind `before`, the first one behind NULL; NULL behind the last. */
static inline place *place_next(environment *env, const place *before) {
    place *found = NULL;
    for (uint32_t i = before ? before->index + 1 : 0; i < PLACES_MAX && !found;) {
        bool has_chunk = atomic_load_explicit(&env->chunks[i / PLACES_CHUNK], memory_order_acquire);
        if (has_chunk) found = place_at(env, i++);
        else i += PLACES_CHUNK - i % PLACES_CHUNK;
    }
    return found;
}

static inline bool place_take(place *taken) {
    return atomic_load_explicit(&taken->is_taken, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&taken->is_taken, 1, memory_order_acquire) == 0;
}

static inline void place_give(place *taken) {
    atomic_store_explicit(&taken->is_taken, 0, memory_order_release);
}

/** Whether a newer state was committed, by this process or by another one. */
static inline bool place_is_stale(const place *taken) {
    return __atomic_load_n(taken->newer, __ATOMIC_ACQUIRE) > taken->snapshot.tree.transaction;
}

/** Makes `<folder>/data.mdb` with nothing but the meta record, in one step that a crash leaves done
    or undone; one that is there is replaced. */
LARDER_MUST_CHECK larder_status larder_environment_create(const char *folder,
                                                          const store_meta *fresh, uint32_t mode);
/** Maps the file and looks at its meta pages; LMDB is not opened. */
LARDER_MUST_CHECK larder_status larder_environment_start(environment *env, uint64_t map_bytes);
/** The folder's path; of several, by which the handles of a process have opened it, one at which it
    is still. */
const char *larder_environment_folder_path(const environment *env);
/** Opens the file, if it is still the same at its path.
    @param flags LARDER_OS_WRITE or 0.
    @return LARDER_OK; LARDER_EREPLACED if it is not, or an errno. */
LARDER_MUST_CHECK larder_status larder_environment_file(const environment *env, int flags,
                                                        int *file, larder_os_facts *facts);

/** Whether that is the file that the environment has open. */
static inline bool environment_is_of(const environment *env, const larder_os_facts *file) {
    return env->device == file->device && env->inode == file->inode;
}

/** The environments of this process, each once; to be called with the lock held. */
void larder_registry_lock(void);
void larder_registry_unlock(void);
/** That of the file; NULL. */
environment *larder_registry_find(const larder_os_facts *facts);
/** Whether one was opened by that path. */
bool larder_registry_has_folder(const char *folder);
/** Under that file, which becomes its own. */
void larder_registry_add(environment *env, const larder_os_facts *facts);
void larder_registry_remove(const environment *env);

/** Makes a map of the file, of which so many bytes are there, the one that counts from here on;
    `lock` is held. */
LARDER_MUST_CHECK larder_status larder_environment_map_file(environment *env, int file,
                                                            uint64_t bytes);
/** Reads on in the file that a compaction has put in the place of the one that is open. What was
    read so far stays as it is. */
LARDER_MUST_CHECK larder_status larder_environment_follow_file(environment *env);
/** Looks how long the file is, and makes a larger map if it does not fit into the one there is. */
LARDER_MUST_CHECK larder_status larder_environment_extend(environment *env);
/** The state that meta page `which` describes. Whoever committed it may have made the file longer
    than this process has mapped, so the map is extended before the state is judged.
    @return as larder_tree_of_meta_page and larder_tree_attach; ENOMEM or another errno. */
LARDER_MUST_CHECK larder_status larder_environment_state(environment *env, int which, tree *out);
/** The newest state that the meta pages describe, without its pages; zeros if there is none.
    @return LARDER_OK; LARDER_EDAMAGED: one that was committed here cannot be read. */
LARDER_MUST_CHECK larder_status larder_environment_newest(environment *env, tree *out);

/** Gives LMDB's map another size; 0: as much as the file needs, which another process has made
    larger. */
LARDER_MUST_CHECK larder_status larder_environment_resize(environment *env, uint64_t bytes);
/** Whether that much address space can be had now. */
bool larder_environment_has_room(uint64_t bytes);

/** Opens LMDB's part if it is closed; nobody reads unprotected then.
    @param reopens it is open, and is closed first: after a failed write of a meta page it refuses
           everything until then. EIO if a reader holds an older snapshot. */
LARDER_MUST_CHECK larder_status larder_environment_wake(environment *env, bool reopens);
/** Waits until nobody holds LMDB's mutexes, which takes a moment: whoever may write to lock.mdb can
    have them held for ever.
    @param writes that of the writer, too, which nobody else has.
    @return LARDER_OK; LARDER_EBUSY after a second. */
LARDER_MUST_CHECK larder_status larder_environment_mutexes(const environment *env, bool writes);
/** Closes LMDB's part, which is open; no place has a transaction. */
void larder_environment_close_lmdb(environment *env);
/** Between these two no place calls LMDB, and no other thread changes its part. */
void larder_environment_begin_change(environment *env);
void larder_environment_end_change(environment *env);

/** Resets the places that are not in use; those only that see an older state if `stale_only`. */
void larder_environment_reset_idle(environment *env, bool stale_only);
/** Ends and frees all places. None may be in use. */
void larder_environment_free_places(environment *env);

#endif
