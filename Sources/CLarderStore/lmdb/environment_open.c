// SPDX-License-Identifier: MIT
/** @file environment_open.c
    Opening: our map and a look at the meta pages; LMDB's part when it is needed. */
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "larder_os_machine.h"
#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

enum {
    META_ATTEMPTS = 200,
    LOCK_FILE_LEAST_BYTES = 8192,
    /** How long another process may keep us from opening LMDB: a moment, unless it is stopped, or
        means it. */
    PATIENCE_MS = 1000,
    /** So small a file is not worth its pages while the store rests. */
    SMALL_BYTES = 1 << 18
};
/** LMDB's map at first: it grows before it is full, and so much address space can be had for many
    stores. */
static const uint64_t least_map_bytes = UINT64_C(16) << 20;

/** One look at both meta pages: one transaction apart, and the newer one whole. */
static larder_status open_look_at_metas(environment *env) {
    const environment_map *map = atomic_load(&env->map);
    uint64_t covered = atomic_load(&map->covered);
    meta_page heads[TREE_META_PAGES];
    tree state;
    larder_status statuses[TREE_META_PAGES];
    for (int which = 0; which < TREE_META_PAGES; which++)
        statuses[which] = larder_tree_meta_head(map->bytes, covered, which, &heads[which]);
    env->damage_offset = statuses[0] ? 0 : heads[0].free_list.pad;
    // One that is not LMDB's next to one that is: damage.
    if (statuses[0] == LARDER_EFOREIGN && statuses[1]) return LARDER_EFOREIGN;
    if (statuses[0] == LARDER_EVERSION && statuses[1] == LARDER_EVERSION) {
        env->unknown_version = heads[0].version;
        return LARDER_EVERSION;
    }
    if (statuses[0] || statuses[1]) return LARDER_EDAMAGED;
    uint64_t first = heads[0].transaction;
    uint64_t second = heads[1].transaction;
    env->damage_offset = 0;
    if (first + 1 != second && second + 1 != first && (first | second) != 0) return LARDER_EDAMAGED;
    int newer = second > first;
    env->damage_offset = newer ? heads[0].free_list.pad : 0;
    return larder_environment_state(env, newer, &state);
}

/** While another process writes, the pages may change between two looks, so a contradiction counts
    only if it stays. */
static larder_status open_check_metas(environment *env) {
    larder_status status = LARDER_EDAMAGED;
    for (int attempt = 0; status == LARDER_EDAMAGED && attempt < META_ATTEMPTS; attempt++) {
        if (attempt > 0) {
            struct timespec pause = {.tv_nsec = 100000};
            nanosleep(&pause, NULL);
        }
        status = open_look_at_metas(env);
    }
    return status;
}

bool larder_environment_has_room(uint64_t bytes) {
    if (bytes > SIZE_MAX) return false;
    void *room = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    munmap(room, (size_t)bytes);
    return true;
}

// LMDB's part -------------------------------------------------------------------------------------

/** LMDB would follow a symbolic link, and obey the umask; and it stores into a mapping of this file
    that has no blocks yet: on a full disk that would be a signal.

    Only whoever may write to it may read it: a lock that a reader has on it looks to LMDB like a
    process that has the file open, whose mutexes are good.
    @param out receives the file, open. */
static larder_status prepare_lock_file(const environment *env, int *out) {
    int folder = -1;
    larder_os_facts facts = {0};
    const uint32_t mode = larder_lock_mode(env->mode);
    // Another store may be at that path by now.
    larder_status status = larder_environment_folder(env, &folder);
    if (status) return status;
    status = larder_os_file_open_in(folder, "lock.mdb", LARDER_OS_WRITE, 0, out);
    // Who only reads another user's store leaves no file in it.
    bool makes = status == ENOENT && (atomic_load(&env->has_writer) || env->is_own);
    if (makes)
        status = larder_os_file_open_in(folder, "lock.mdb",
                                        LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE,
                                        mode, out);
    else if (status == ENOENT) status = EACCES;
    const bool is_made = makes && !status;
    // Another process was faster.
    if (makes && status == EEXIST)
        status = larder_os_file_open_in(folder, "lock.mdb", LARDER_OS_WRITE, 0, out);
    if (!status) status = larder_os_file_facts_get(*out, &facts);
    if (!status && !facts.is_regular) status = LARDER_EFOREIGN;
    if (!status && facts.links > 1) status = LARDER_ELINKED;
    if (!status && (is_made ? facts.mode != mode : facts.mode != larder_lock_mode(facts.mode)))
        (void)larder_os_file_change_mode(*out, is_made ? mode : larder_lock_mode(facts.mode));
    if (!status) status = larder_os_file_reserve_behind(*out, 0, LOCK_FILE_LEAST_BYTES);
    if (status == ENOTSUP || status == EOPNOTSUPP) status = LARDER_OK;
    if (status) {
        // Nobody in this process has it open, so closing it takes no lock away.
        larder_os_file_close(*out);
        *out = -1;
        if (is_made) (void)!larder_os_file_remove_in(folder, "lock.mdb");
    }
    larder_os_file_close(folder);
    return status;
}

/** Where openers meet: lock.mdb; data.mdb where files are locked as a whole, as LMDB locks the
    other one. @param lock lock.mdb, open: closed if it is not that. */
static larder_status open_gate(const environment *env, int lock, int *gate) {
    larder_os_facts ignored;
    *gate = lock;
    if (larder_os_file_locks_places()) return LARDER_OK;
    larder_os_file_close(lock);
    return larder_environment_file(env, LARDER_OS_WRITE, gate, &ignored);
}

/** Whether a handle that only reads does without the table of readers. */
static bool is_refused(larder_status status) {
    switch (status) {
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ELOOP:
    case EISDIR:
    case LARDER_EFOREIGN:
    case LARDER_ELINKED:
    case LARDER_EBUSY:
    case LARDER_ELIBRARY: return true;
    default: return false;
    }
}

/** mdb_env_open; neither its files' descriptors nor data.mdb's flags can be chosen.
    @return LARDER_EREPLACED if it has opened another store, which came to that path meanwhile. */
static larder_status open_files_of_lmdb(environment *env, unsigned flags) {
    mdb_filehandle_t file;
    larder_os_facts facts;
    int code = larder_os_standard_occupy();
    // It makes its table of readers as long as that is to be.
    const bool was_blocked = larder_os_block_file_size_signal();
    if (!code)
        code = mdb_env_open(env->lmdb, larder_environment_folder_path(env), flags,
                            (mdb_mode_t)env->mode);
    larder_os_unblock_file_size_signal(was_blocked);
    larder_os_standard_vacate();
    if (code == ENOENT || code == ENOTDIR) return LARDER_EREPLACED;
    if (code || mdb_env_get_fd(env->lmdb, &file) != 0) return larder_environment_status(code);
    larder_os_file_close_on_exec(file);
    larder_status status = larder_os_file_facts_get(file, &facts);
    return !status && !environment_is_of(env, &facts) ? LARDER_EREPLACED : status;
}

// Processes meet in lock.mdb, and three things go wrong there. LMDB 0.9.26 to 0.9.31 destroy its
// mutexes when the last process closes it, under one that waits to open it (ITS#9278, ITS#10095). A
// mutex of one C library means something else to another. And nobody who was killed may stop the
// others. So who opens or closes LMDB has a place in the file locked, far behind those that LMDB
// locks, which are as many as there are processes; and who has it open shares a place that stands
// for what its mutexes are. In data.mdb, whoever may only read it could lock them.

/** Of the gate. */
static const uint64_t gate_place = UINT64_C(1) << 40;

enum {
    KIND_PLACES = LARDER_OS_LIBRARY_KINDS,
    /** Behind the gate. */
    FIRST_KIND_PLACE = 1,
    /** Where a writer says that it waits. */
    FIRST_WAITING_PLACE = FIRST_KIND_PLACE + KIND_PLACES,
    /** One for each number that a process may have. */
    FIRST_NUMBER_PLACE = 1 << 20,
    KIND_WAITS = 500
};

/** Waits while others open or close LMDB, and while somebody has locked what LMDB would wait for
    without an end: LARDER_EBUSY. */
static larder_status gate_enter(int file) {
    const int64_t until = larder_os_monotonic_ns() + (int64_t)PATIENCE_MS * 1000000;
    for (int attempt = 0;; attempt++) {
        larder_status status = larder_os_file_lock_place(file, gate_place, false);
        bool is_held = !status && larder_os_file_is_place_locked(file, 0, 1, true);
        if (is_held) larder_os_file_unlock_place(file, gate_place);
        if (is_held) status = LARDER_EBUSY;
        if (status != LARDER_EBUSY || larder_os_monotonic_ns() > until) return status;
        nanosleep(&(struct timespec){.tv_nsec = attempt < 20 ? 50000 : 1000000}, NULL);
    }
}

/** Whether a process with other mutexes has locked its place among those from `first` on. */
static bool has_others(int file, uint64_t first) {
    const uint64_t kind = larder_os_library_kind();
    first += gate_place;
    return larder_os_file_is_place_locked(file, first, kind, false) ||
           larder_os_file_is_place_locked(file, first + kind + 1, KIND_PLACES - kind - 1, false);
}

/** LMDB knows processes by their numbers, and locks the place of that number when it reads first.
    In another PID namespace a process may have the same one: whoever is the second has no place,
    and closing LMDB would take those of the first.
    @return LARDER_EBUSY if another process has it. */
static larder_status number_take(int file) {
    const uint64_t number = (uint64_t)getpid();
    if (!larder_os_file_locks_places()) return LARDER_OK;
    if (larder_os_file_is_place_locked(file, number, 1, false)) return LARDER_EBUSY;
    return larder_os_file_lock_place(file, gate_place + FIRST_NUMBER_PLACE + number, false);
}

/** At once, where a child of fork(2) has the file, too. */
static void number_give(int file) {
    if (larder_os_file_locks_places())
        larder_os_file_unlock_place(file, gate_place + FIRST_NUMBER_PLACE + (uint64_t)getpid());
}

static larder_status environment_of_lmdb(environment *env, unsigned flags) {
    int dead, code = mdb_env_create(&env->lmdb);
    if (code) return larder_environment_status(code);
    code = mdb_env_set_maxreaders(env->lmdb, TABLE_MAX);
    if (!code) code = mdb_env_set_mapsize(env->lmdb, (size_t)env->lmdb_map_bytes);
    larder_status status = larder_environment_status(code);
    if (!status) status = open_files_of_lmdb(env, flags);
    if (!status) {
        env->is_read_only = (flags & MDB_RDONLY) != 0;
        (void)mdb_reader_check(env->lmdb, &dead);
        MDB_envinfo info;
        if (mdb_env_info(env->lmdb, &info) == 0) env->lmdb_map_bytes = info.me_mapsize;
        return LARDER_OK;
    }
    mdb_env_close(env->lmdb);
    env->lmdb = NULL;
    return status;
}

/** Opens it where nobody else opens or closes it.
    @param gate to be kept, on success.
    @return LARDER_ELIBRARY if a process with other mutexes has it open; LARDER_EBUSY. */
static larder_status open_behind_gate(environment *env, int gate) {
    larder_status status = gate_enter(gate);
    if (status) return status;
    // A writer that waits for readers comes before those that are still to come.
    if (has_others(gate, FIRST_KIND_PLACE) ||
        (!atomic_load(&env->has_writer) && has_others(gate, FIRST_WAITING_PLACE)))
        status = LARDER_ELIBRARY;
    larder_status numbered = status ? status : number_take(gate);
    const bool has_number = numbered == LARDER_OK;
    const bool has_no_table = numbered == LARDER_EBUSY && atomic_load(&env->has_writer);
    if (!has_no_table) status = numbered;
    atomic_store(&env->has_no_table, has_no_table);
    if (!status) status = environment_of_lmdb(env, MDB_NOTLS | MDB_NORDAHEAD);
    if (status && has_number) number_give(gate);
    // It ends when the file is closed. Where it cannot be had, nobody is told.
    if (!status)
        (void)!larder_os_file_lock_place(
            gate, gate_place + FIRST_KIND_PLACE + larder_os_library_kind(), true);
    larder_os_file_unlock_place(gate, gate_place);
    return status;
}

/** Opens LMDB and what it shares with other processes. */
static larder_status open_protected(environment *env) {
    int lock = -1, gate = -1;
    uint8_t *head = NULL;
    larder_status status = prepare_lock_file(env, &lock);
    // Without it nobody looks at the mutexes.
    if (!status) (void)!larder_os_file_map(lock, LOCK_FILE_LEAST_BYTES, false, &head);
    if (!status) status = open_gate(env, lock, &gate);
    if (!status) status = open_behind_gate(env, gate);
    const bool writes = atomic_load(&env->has_writer);
    // Most who read are through soon.
    if (writes && status == LARDER_ELIBRARY)
        (void)!larder_os_file_lock_place(
            gate, gate_place + FIRST_WAITING_PLACE + larder_os_library_kind(), true);
    for (int wait = 0; writes && status == LARDER_ELIBRARY && wait < KIND_WAITS; wait++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        status = open_behind_gate(env, gate);
    }
    larder_os_file_unlock_place(gate, gate_place + FIRST_WAITING_PLACE + larder_os_library_kind());
    env->gate = status ? -1 : gate;
    env->lock_head = status ? NULL : head;
    if (!status) return LARDER_OK;
    larder_os_file_unmap(head, LOCK_FILE_LEAST_BYTES);
    larder_os_file_close(gate);
    return status;
}

static larder_status open_lmdb(environment *env) {
    int file = -1;
    larder_os_facts ignored;
    larder_status status = larder_environment_file(env, LARDER_OS_WRITE, &file, &ignored);
    larder_os_file_close(file);
    // Read-only handles open it for writing too if they may: a handle that writes may join them.
    // But another user could put any file in its place, as LMDB finds it by its name.
    const bool only_reads = !atomic_load(&env->has_writer);
    if (!status) status = only_reads && !env->is_own ? EACCES : open_protected(env);
    const bool is_unprotected = only_reads && is_refused(status);
    atomic_store(&env->is_unprotected, is_unprotected);
    if (!is_unprotected) return status;
    return environment_of_lmdb(env, MDB_NOTLS | MDB_NORDAHEAD | MDB_RDONLY | MDB_NOLOCK);
}

larder_status larder_environment_mutexes(const environment *env, bool writes) {
    // As LMDB 0.9 has them in its file, where it uses mutexes: that of the table of readers, before
    // two numbers, and that of whoever writes, in a cache line of its own. How large they are is
    // the machine's affair.
    enum {
        READERS_OFFSET = 8,
        NUMBERS_BYTES = sizeof(size_t) + sizeof(unsigned),
        WRITER_OFFSET = (READERS_OFFSET + sizeof(pthread_mutex_t) + NUMBERS_BYTES + 63) / 64 * 64,
        ATTEMPTS = 1000
    };
    for (int attempt = 0; env->lock_head != NULL; attempt++) {
        if (!larder_os_mutex_is_held(env->lock_head + READERS_OFFSET) &&
            !(writes && larder_os_mutex_is_held(env->lock_head + WRITER_OFFSET)))
            break;
        if (attempt == ATTEMPTS) return LARDER_EBUSY;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return LARDER_OK;
}

void larder_environment_close_lmdb(environment *env) {
    // Without the gate, it is closed all the same.
    if (env->gate >= 0) (void)!gate_enter(env->gate);
    mdb_env_close(env->lmdb);
    env->lmdb = NULL;
    if (env->gate >= 0 && !atomic_load(&env->has_no_table)) number_give(env->gate);
    atomic_store(&env->has_no_table, false);
    if (env->gate >= 0) larder_os_file_unlock_place(env->gate, gate_place);
    larder_os_file_close(env->gate);
    larder_os_file_unmap(env->lock_head, LOCK_FILE_LEAST_BYTES);
    env->lock_head = NULL;
    env->gate = -1;
}

/** Readers keep what they see, as nobody writes until LMDB is opened again. */
static void close_lmdb(environment *env) {
    for (place *other = NULL; (other = place_next(env, other));) {
        if (other->txn) mdb_txn_abort(other->txn);
        other->txn = NULL;
    }
    larder_environment_close_lmdb(env);
}

/** Whether somebody looks at a state that is not the newest one: LMDB's table has to protect it. */
static bool has_older_readers(environment *env) {
    MDB_envinfo info;
    if (mdb_env_info(env->lmdb, &info) != 0) return true;
    for (place *other = NULL; (other = place_next(env, other));) {
        bool is_seen = other->txn || atomic_load(&env->has_no_table);
        uint64_t sees = other->txn ? mdb_txn_id(other->txn) : atomic_load(&other->transaction);
        if (other->is_live && is_seen && sees != info.me_last_txnid) return true;
    }
    return false;
}

/** A writer that was killed behind its meta page, before LMDB's table named the new state, leaves a
    table that names the one before: to whoever begins to read, and to a writer that would open it.
    LMDB puts that right for the first one who takes the mutex that it was killed with: the writer,
    once. LMDB is open. */
static larder_status name_newest(environment *env) {
    MDB_txn *txn;
    if (!atomic_load(&env->has_writer) || env->names_newest) return LARDER_OK;
    larder_status status = larder_environment_mutexes(env, true);
    if (status) return status;
    int code = mdb_txn_begin(env->lmdb, NULL, 0, &txn);
    if (!code) mdb_txn_abort(txn);
    env->names_newest = !code || code == MDB_MAP_RESIZED;
    return env->names_newest ? LARDER_OK : larder_environment_status(code);
}

/** Whoever reads gets a place in LMDB's table: of the newest state, which they all see. */
static larder_status wake(environment *env) {
    larder_status status = open_lmdb(env);
    if (!status) status = name_newest(env);
    for (place *other = NULL; !status && (other = place_next(env, other));)
        if (other->is_live && !atomic_load(&env->has_no_table))
            status =
                larder_environment_status(mdb_txn_begin(env->lmdb, NULL, MDB_RDONLY, &other->txn));
    if (status && env->lmdb) close_lmdb(env);
    return status;
}

larder_status larder_environment_wake(environment *env, bool reopens) {
    larder_environment_begin_change(env);
    larder_status status = reopens && has_older_readers(env) ? EIO : LARDER_OK;
    if (!status && reopens) close_lmdb(env);
    if (!status) status = env->lmdb ? name_newest(env) : wake(env);
    larder_environment_end_change(env);
    return status;
}

/** Goes over to the file, whose length that is. */
static larder_status change_file(environment *env, int file, uint64_t bytes) {
    larder_environment_begin_change(env);
    if (env->lmdb) close_lmdb(env);
    pthread_mutex_lock(&env->lock);
    larder_status status = larder_environment_map_file(env, file, bytes);
    pthread_mutex_unlock(&env->lock);
    // Behind the map: whoever has this has that one, too.
    if (!status) atomic_fetch_add(&env->generation, 1);
    if (!status) status = wake(env);
    if (!status) atomic_store(&env->is_replaced, false);
    larder_environment_end_change(env);
    return status;
}

/** As larder_environment_follow_file. LARDER_EREPLACED where one more came meanwhile. */
static larder_status follow_file(environment *env) {
    file_path path;
    larder_os_facts facts;
    int file = -1;
    (void)larder_environment_path(path, larder_environment_folder_path(env), "data.mdb");
    larder_status status = larder_os_file_open(path, 0, 0, &file);
    if (!status) status = larder_os_file_facts_get(file, &facts);
    if (!status && !facts.is_regular) status = LARDER_EFOREIGN;
    if (!status) {
        larder_registry_remove(env);
        larder_registry_add(env, &facts);
        env->is_own = env->is_own && facts.owner == larder_os_user();
        status = change_file(env, file, facts.bytes);
    }
    larder_os_file_close(file);
    return status;
}

larder_status larder_environment_follow_file(environment *env) {
    enum { ATTEMPTS = 16 };
    larder_status status = LARDER_OK;
    larder_registry_lock();
    // Another thread may have done it.
    for (int attempt = 0; attempt < ATTEMPTS && atomic_load(&env->is_replaced); attempt++) {
        status = follow_file(env);
        if (status != LARDER_EREPLACED) break;
    }
    larder_registry_unlock();
    return status;
}

void larder_environment_rest(environment *env) {
    larder_environment_reset_idle(env, true);
    larder_environment_begin_change(env);
    // Another handle of this process may be there when nobody writes any more.
    if (env->lmdb && atomic_load(&env->references) == 1 && !has_older_readers(env)) close_lmdb(env);
    larder_environment_end_change(env);
    // The pages stay in the system's cache, and come back with a touch.
    const environment_map *map = atomic_load(&env->map);
    uint64_t covered = atomic_load(&map->covered);
    if (covered <= SMALL_BYTES) (void)madvise(map->bytes, (size_t)covered, MADV_DONTNEED);
}

// Opening -----------------------------------------------------------------------------------------

static uint64_t open_map_bytes(uint64_t wanted, uint64_t file_bytes) {
    // A multiple of every system's page.
    const uint64_t unit = 65536;
    if (wanted != 0) return wanted > SIZE_MAX - unit ? wanted : (wanted + unit - 1) / unit * unit;
    uint64_t bytes = least_map_bytes;
    while (bytes < 4 * file_bytes && larder_environment_has_room(2 * bytes)) bytes *= 2;
    return bytes;
}

larder_status larder_environment_start(environment *env, uint64_t map_bytes) {
    larder_status status = larder_environment_extend(env);
    if (status) return status;
    status = open_check_metas(env);
    if (status) return status;
    env->lmdb_map_bytes = open_map_bytes(map_bytes, atomic_load(&atomic_load(&env->map)->covered));
    return larder_environment_has_room(env->lmdb_map_bytes) ? LARDER_OK : ENOMEM;
}
