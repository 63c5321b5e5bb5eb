// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "lmdb/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "file_io.h"
#include "lmdb/environment_internal.h"

// The registry ------------------------------------------------------------------------------------

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t registry_once = PTHREAD_ONCE_INIT;
/** By inode: a process may have thousands. */
enum { REGISTRY_LISTS = 1024 };
static environment *registry[REGISTRY_LISTS];

// A child inherits the lock as it was at the fork, so nobody else may hold it then. What it
// inherits of the list is never used: the entries carry their process.
static void registry_before_fork(void) { pthread_mutex_lock(&registry_lock); }
static void registry_after_fork(void) { pthread_mutex_unlock(&registry_lock); }
static void registry_init(void) {
    (void)pthread_atfork(registry_before_fork, registry_after_fork, registry_after_fork);
}

static environment *registry_find(const file_facts *facts, pid_t pid) {
    for (environment *env = registry[facts->inode % REGISTRY_LISTS]; env; env = env->next)
        if (env->pid == pid && env->device == facts->device && env->inode == facts->inode)
            return env;
    return NULL;
}

static void registry_remove(const environment *env) {
    environment **link = &registry[env->inode % REGISTRY_LISTS];
    while (*link != env) link = &(*link)->next;
    *link = env->next;
}

// Opening -----------------------------------------------------------------------------------------

larder_status environment_status(int code) {
    switch (code) {
    case MDB_SUCCESS: return LARDER_OK;
    case MDB_MAP_FULL: return MDB_MAP_FULL;
    case MDB_NOTFOUND: return LARDER_ENOTFOUND;
    case MDB_KEYEXIST: return EEXIST;
    case MDB_VERSION_MISMATCH: return LARDER_EVERSION;
    case MDB_INVALID: return LARDER_EFOREIGN;
    case MDB_READERS_FULL: return LARDER_ENOSLOT;
    case MDB_MAP_RESIZED: return EAGAIN;
    case MDB_TXN_FULL: return ENOMEM;
    case MDB_BAD_VALSIZE: return LARDER_EINVALID;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL:
    case MDB_PAGE_FULL:
    case MDB_INCOMPATIBLE: return LARDER_EDAMAGED;
    // After a failed write of the meta page LMDB refuses everything until it is opened anew.
    case MDB_PANIC: return EIO;
    default: return code > 0 ? code : EIO;
    }
}

void environment_note_damage(environment *env, uint64_t offset) {
    __atomic_store_n(&env->damage_offset, offset, __ATOMIC_RELAXED);
}

static environment *environment_new(const char *folder, const file_facts *facts, uint32_t mode) {
    environment *env = calloc(1, sizeof *env);
    char *copy = strdup(folder);
    if (!env || !copy) {
        free(env);
        free(copy);
        return NULL;
    }
    pthread_mutex_init(&env->lock, NULL);
    pthread_mutex_init(&env->lmdb_lock, NULL);
    env->folder = copy;
    env->mode = mode;
    env->device = facts->device;
    env->inode = facts->inode;
    env->pid = getpid();
    return env;
}

static void environment_free(environment *env) {
    environment_free_places(env);
    tree_guard_end(&env->guard);
    if (env->lmdb) mdb_env_close(env->lmdb);
    for (size_t i = 0; i < env->map_count; i++) file_unmap(env->maps[i].bytes, env->maps[i].length);
    pthread_mutex_destroy(&env->lock);
    pthread_mutex_destroy(&env->lmdb_lock);
    free(env->folder);
    free(env);
}

/** The library that the system found may be another one than that whose header was there. */
static larder_status open_check_lmdb(larder_store_detail *detail) {
    int major, minor, patch;
    (void)mdb_version(&major, &minor, &patch);
#ifdef LARDER_FAULTS
    int found = larder_fault_at("mdb_version");
    if (found) {
        major = found >> 24;
        minor = found >> 16 & 0xff;
        patch = found & 0xffff;
    }
#endif
    if (major == MDB_VERSION_MAJOR && minor == MDB_VERSION_MINOR) return LARDER_OK;
    detail->version_of = LARDER_STORE_VERSION_OF_LMDB;
    detail->version = (uint32_t)MDB_VERINT(major, minor, patch);
    return LARDER_EVERSION;
}

/** Looks whether a store is in the file. */
static larder_status open_look(environment *env) {
    snapshot *seen;
    larder_status status = environment_read(env, &seen);
    if (status) return status;
    environment_release(env, seen);
    return status;
}

/** Which file it is; makes it if it is missing or empty and `fresh` is given. */
static larder_status open_file(const char *folder, bool writes, const store_meta *fresh,
                               uint32_t mode, file_facts *facts, bool *is_new) {
    char *path = environment_path(folder, "data.mdb");
    if (!path) return ENOMEM;
    larder_status status;
    *is_new = false;
    for (;;) {
        int file = -1;
        status = file_open(path, writes ? FILE_WRITE : 0, mode, &file);
        if (!status) status = file_facts_get(file, facts);
        if (status == EISDIR || (!status && !facts->is_regular)) status = LARDER_EFOREIGN;
        file_close(file);
        bool is_missing = status == ENOENT || (!status && facts->bytes == 0);
        if (!is_missing || !fresh || *is_new) break;
        status = environment_create(folder, fresh, mode);
        *is_new = true;
        if (status) break;
    }
    free(path);
    return status;
}

/** Another handle of this process has the file open: LMDB's table is for both from here on. */
static larder_status join(environment *env, bool writes) {
    larder_status status = environment_wake(env);
    return !status && writes && env->is_read_only ? EACCES : status;
}

larder_status environment_open(const char *folder, bool writes, const store_meta *fresh,
                               uint32_t mode, uint64_t map_bytes, larder_store_detail *detail,
                               environment **out) {
    *out = NULL;
    detail->part = LARDER_STORE_PART_DATA;
    larder_status status = open_check_lmdb(detail);
    if (status) return status;
    (void)pthread_once(&registry_once, registry_init);
    pthread_mutex_lock(&registry_lock);
    file_facts facts = {0};
    bool is_new;
    status = open_file(folder, writes, fresh, mode, &facts, &is_new);
    environment *env = status ? NULL : registry_find(&facts, getpid());
    bool is_shared = env != NULL;
    if (!status && !env) {
        env = environment_new(folder, &facts, mode);
        status = env ? environment_start(env, map_bytes) : ENOMEM;
    }
    if (env) atomic_fetch_add(&env->references, 1);
    bool had_writer = env && atomic_load(&env->has_writer);
    if (!status && writes) atomic_store(&env->has_writer, true);
    if (!status && is_shared) status = join(env, writes);
    else if (!status && !writes) status = environment_wake(env);
    if (!status && is_new) env->is_guarded = true;
    if (!status) status = open_look(env);
    if (status && env) detail->offset = __atomic_load_n(&env->damage_offset, __ATOMIC_RELAXED);
    if (status == LARDER_EVERSION && env) {
        detail->version = env->unknown_version;
        if (env->has_unknown_pages) detail->version_of = LARDER_STORE_VERSION_OF_DATA;
    }
    if (status && env) {
        atomic_store(&env->has_writer, had_writer);
        atomic_fetch_sub(&env->references, 1);
        if (!is_shared) environment_free(env);
    } else if (!status) {
        if (!is_shared) {
            env->next = registry[env->inode % REGISTRY_LISTS];
            registry[env->inode % REGISTRY_LISTS] = env;
        }
        *out = env;
    }
    pthread_mutex_unlock(&registry_lock);
    return status;
}

/** Whether a place sees a state, be it in use or not. */
static bool has_readers(environment *env) {
    uint32_t index = 0;
    for (place *other; (other = place_next(env, &index));)
        if (other->is_live) return true;
    return false;
}

void environment_end_writing(environment *env) {
    pthread_mutex_lock(&registry_lock);
    environment_reset_idle(env, false);
    // Entries may still be lent out. Another process can write from here on, so LMDB's table has to
    // protect them; without it what they lead to may be overwritten, which nobody would notice.
    if (has_readers(env)) (void)!environment_wake(env);
    atomic_store(&env->has_writer, false);
    // Another process may write before a handle of this one does again.
    env->is_guarded = false;
    tree_guard_end(&env->guard);
    environment_reset_idle(env, false);
    pthread_mutex_unlock(&registry_lock);
}

void environment_close(environment *env, bool writes) {
    // What a child has of its parent's environment it must not even close: that would take the
    // parent's places out of LMDB's table.
    if (!env || env->pid != getpid()) return;
    if (writes) environment_end_writing(env);
    pthread_mutex_lock(&registry_lock);
    if (atomic_fetch_sub(&env->references, 1) == 1) {
        registry_remove(env);
        environment_free(env);
    }
    pthread_mutex_unlock(&registry_lock);
}

larder_status environment_shut_out(const char *folder, int *lock) {
    *lock = -1;
    char *path = environment_path(folder, "lock.mdb");
    if (!path) return ENOMEM;
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&registry_lock);
    for (size_t list = 0; list < REGISTRY_LISTS; list++)
        for (const environment *env = registry[list]; env; env = env->next)
            if (env->pid == getpid() && strcmp(env->folder, folder) == 0) status = LARDER_EBUSY;
    // In a process that has it open, closing it would take LMDB's locks away.
    if (!status) status = file_open(path, FILE_WRITE, 0, lock);
    pthread_mutex_unlock(&registry_lock);
    free(path);
    if (status) return status == ENOENT ? LARDER_OK : status;
    status = file_lock(*lock);
    if (!status) return LARDER_OK;
    file_close(*lock);
    *lock = -1;
    return status;
}
