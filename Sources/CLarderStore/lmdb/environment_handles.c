// SPDX-License-Identifier: MIT
/** @file environment_handles.c
    Opening and closing what the handles of a process share. */
#include <unistd.h>

#include "larder_os_faults.h"
#include "larder_os_machine.h"
#include "lmdb/environment_internal.h"

// Opening -----------------------------------------------------------------------------------------

/** Notes where the folder is. false without memory. */
static bool environment_place(environment *env, const char *path) {
    folder_path *now = malloc(sizeof *now + strlen(path) + 1);
    if (!now) return false;
    memcpy(now->path, path, strlen(path) + 1);
    now->before = atomic_load(&env->folder);
    atomic_store(&env->folder, now);
    return true;
}

/** Of no handle yet. */
static environment *environment_new(const char *path, const larder_os_facts *facts, uint32_t mode) {
    environment *env = calloc(1, sizeof *env);
    if (!env || !environment_place(env, path)) {
        free(env);
        return NULL;
    }
    pthread_mutex_init(&env->lock, NULL);
    pthread_mutex_init(&env->lmdb_lock, NULL);
    env->gate = -1;
    env->mode = mode;
    env->is_own = facts->owner == larder_os_user();
    env->pid = getpid();
    larder_registry_add(env, facts);
    return env;
}

/** Without one of its handles; the last one frees it. */
static void environment_drop(environment *env) {
    if (atomic_fetch_sub(&env->references, 1) > 1) return;
    larder_registry_remove(env);
    larder_environment_free_places(env);
    larder_tree_guard_end(&env->guard);
    if (env->lmdb) larder_environment_close_lmdb(env);
    for (size_t i = 0; i < env->map_count; i++)
        larder_os_file_unmap(env->maps[i].bytes, env->maps[i].length);
    pthread_mutex_destroy(&env->lock);
    pthread_mutex_destroy(&env->lmdb_lock);
    for (folder_path *at = atomic_load(&env->folder), *before; at; at = before) {
        before = at->before;
        free(at);
    }
    free(env);
}

/** The library that the system found may be another one than that whose header was there. */
static larder_status open_check_lmdb(larder_store_detail *detail) {
    int major, minor, patch;
    (void)mdb_version(&major, &minor, &patch);
    int found = MDB_VERINT(major, minor, patch);
#ifdef LARDER_FAULTS
    int other = larder_fault_at("mdb_version");
    if (other) found = other;
#endif
    if (found >> 16 == MDB_VERSION_FULL >> 16) return LARDER_OK;
    detail->version_of = LARDER_STORE_VERSION_OF_LMDB;
    detail->version = (uint32_t)found;
    return LARDER_EVERSION;
}

/** Which file it is; makes it if it is missing or empty and `fresh` is given. */
static larder_status open_file(const char *folder, const store_meta *fresh, uint32_t mode,
                               larder_os_facts *facts, bool *is_new) {
    file_path path;
    (void)larder_environment_path(path, folder, "data.mdb");
    for (*is_new = false;; *is_new = true) {
        int file = -1;
        larder_status status = larder_os_file_open(path, fresh ? LARDER_OS_WRITE : 0, mode, &file);
        if (!status) status = larder_os_file_facts_get(file, facts);
        if (status == EISDIR || (!status && !facts->is_regular)) status = LARDER_EFOREIGN;
        larder_os_file_close(file);
        bool is_missing = status == ENOENT || (!status && facts->bytes == 0);
        if (!is_missing || !fresh || *is_new) return status;
        status = larder_environment_create(folder, fresh, mode);
        if (status) return status;
    }
}

/** As larder_environment_open; LARDER_EREPLACED where another file came into the place of the one
    that it had begun with. */
static larder_status open_once(const char *folder, uint32_t flags, const store_meta *fresh,
                               uint32_t mode, uint64_t map_bytes, larder_store_detail *detail,
                               environment **out) {
    *out = NULL;
    const bool writes = (flags & ENVIRONMENT_WRITES) != 0;
    detail->part = LARDER_STORE_PART_DATA;
    larder_status status = open_check_lmdb(detail);
    if (status) return status;
    larder_registry_lock();
    larder_os_facts facts = {0};
    bool is_new;
    status = open_file(folder, fresh, mode, &facts, &is_new);
    environment *env = status ? NULL : larder_registry_find(&facts);
    bool is_shared = env != NULL, had_writer = is_shared && atomic_load(&env->has_writer);
    if (!status && !env && !(env = environment_new(folder, &facts, mode))) status = ENOMEM;
    if (env) atomic_fetch_add(&env->references, 1);
    if (env) atomic_store(&env->is_replaced, false);
    // The other handles of this process have opened it before it was moved here.
    if (is_shared && !larder_environment_is_there(env) && !environment_place(env, folder))
        status = ENOMEM;
    if (env && (flags & ENVIRONMENT_TRUSTS_OTHERS) != 0) env->is_own = true;
    if (env && !is_shared) status = larder_environment_start(env, map_bytes);
    if (status == LARDER_EVERSION) detail->version_of = LARDER_STORE_VERSION_OF_DATA;
    if (!status && writes) atomic_store(&env->has_writer, true);
    // LMDB's table is for all handles of this process where there are several.
    if (!status && (is_shared || !writes)) {
        status = larder_environment_wake(env, false);
        if (status) detail->part = LARDER_STORE_PART_READERS;
    }
    if (!status && is_shared && fresh && env->is_read_only) status = EACCES;
    if (!status && is_new) env->is_guarded = true;
    // Whether a store is in the file.
    snapshot *seen;
    if (!status && !(status = larder_environment_read(env, &seen)))
        larder_environment_release(env, seen);
    if (status && env) {
        detail->offset = __atomic_load_n(&env->damage_offset, __ATOMIC_RELAXED);
        if (status == LARDER_EVERSION) detail->version = env->unknown_version;
        atomic_store(&env->has_writer, had_writer);
        env->names_newest = env->names_newest && had_writer;
        environment_drop(env);
        env = NULL;
    }
    // From here on it is what readers meet.
    if (env && !is_shared) __atomic_store_n(&env->damage_offset, 0, __ATOMIC_RELAXED);
    larder_registry_unlock();
    *out = env;
    return status;
}

larder_status larder_environment_open(const char *folder, uint32_t flags, const store_meta *fresh,
                                      uint32_t mode, uint64_t map_bytes,
                                      larder_store_detail *detail, environment **out) {
    enum { ATTEMPTS = 16 };
    file_path path;
    larder_os_facts facts;
    larder_status status = LARDER_EREPLACED;
    (void)larder_environment_path(path, folder, "data.mdb");
    // A compaction may replace it between two looks.
    for (int attempt = 0; attempt < ATTEMPTS && status == LARDER_EREPLACED; attempt++) {
        status = open_once(folder, flags, fresh, mode, map_bytes, detail, out);
        if (status == LARDER_EREPLACED && larder_os_file_facts_at(path, &facts) != LARDER_OK)
            return ENOENT;
    }
    return status;
}

void larder_environment_end_writing(environment *env) {
    larder_registry_lock();
    larder_environment_reset_idle(env, false);
    // Entries may still be lent out. Another process can write from here on, so LMDB's table has to
    // protect them; without it what they lead to may be overwritten, which nobody would notice.
    bool has_readers = false;
    for (place *other = NULL; !has_readers && (other = place_next(env, other));)
        has_readers = other->is_live;
    if (has_readers) (void)!larder_environment_wake(env, false);
    atomic_store(&env->has_writer, false);
    // Another process may write before a handle of this one does again.
    env->is_guarded = env->names_newest = false;
    larder_tree_guard_end(&env->guard);
    larder_environment_reset_idle(env, false);
    if (atomic_load(&env->has_no_table)) (void)!larder_environment_wake(env, true);
    larder_registry_unlock();
}

void larder_environment_close(environment *env, bool writes) {
    // What a child has of its parent's environment it must not even close: that would take the
    // parent's places out of LMDB's table.
    if (!env || env->pid != getpid()) return;
    if (writes) larder_environment_end_writing(env);
    larder_registry_lock();
    environment_drop(env);
    larder_registry_unlock();
}

larder_status larder_environment_shut_out(const char *folder, int *lock) {
    *lock = -1;
    file_path path;
    larder_os_facts facts;
    larder_status status = LARDER_OK;
    larder_registry_lock();
    // By another path, if it was moved.
    if (larder_os_file_facts_at(larder_environment_path(path, folder, "data.mdb"), &facts) ==
            LARDER_OK &&
        larder_registry_find(&facts) != NULL)
        status = LARDER_EBUSY;
    if (larder_registry_has_folder(folder)) status = LARDER_EBUSY;
    // In a process that has it open, closing it would take LMDB's locks away.
    if (!status)
        status = larder_os_file_open(larder_environment_path(path, folder, "lock.mdb"),
                                     LARDER_OS_WRITE, 0, lock);
    larder_registry_unlock();
    if (status) return status == ENOENT ? LARDER_OK : status;
    status = larder_os_file_lock(*lock);
    if (!status) return LARDER_OK;
    larder_os_file_close(*lock);
    *lock = -1;
    // LMDB locks it for reading while a process opens the environment.
    return status == LARDER_ELOCKED ? LARDER_EBUSY : status;
}
