// SPDX-License-Identifier: MIT
/** @file environment_open.c
    From an open file to an environment: our map, a look at the meta pages, then LMDB. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "file_io.h"
#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

enum { META_ATTEMPTS = 200, LOCK_FILE_LEAST_BYTES = 8192 };
static const uint64_t default_map_bytes = UINT64_C(64) << 30;
static const uint64_t least_map_bytes = UINT64_C(1) << 20;

/** One look at both meta pages: one transaction apart, and the newer one whole. */
static larder_status open_look_at_metas(environment *env, const uint8_t *bytes, uint64_t length) {
    tree heads[TREE_META_PAGES];
    larder_status statuses[TREE_META_PAGES];
    for (int which = 0; which < TREE_META_PAGES; which++)
        statuses[which] = tree_meta_head(bytes, length, which, &heads[which]);
    env->damage_offset = statuses[0] ? 0 : heads[0].page_bytes;
    // One that is not LMDB's next to one that is: damage.
    if (statuses[0] == LARDER_EFOREIGN && statuses[1]) return LARDER_EFOREIGN;
    if (statuses[0] == LARDER_EVERSION && statuses[1] == LARDER_EVERSION) {
        env->unknown_version = load32(bytes + META_VERSION_OFFSET);
        env->has_unknown_pages = true;
        return LARDER_EVERSION;
    }
    if (statuses[0] || statuses[1]) return LARDER_EDAMAGED;
    uint64_t first = heads[0].transaction;
    uint64_t second = heads[1].transaction;
    env->damage_offset = 0;
    if (first + 1 != second && second + 1 != first && (first | second) != 0) return LARDER_EDAMAGED;
    int newer = second > first;
    env->damage_offset = newer ? heads[0].page_bytes : 0;
    return tree_of_meta_page(bytes, length, newer, &heads[newer]);
}

/** While another process writes, the pages may change between two looks, so a contradiction counts
    only if it stays. */
static larder_status open_check_metas(environment *env, uint64_t file_bytes) {
    const uint8_t *bytes = atomic_load(&env->map)->bytes;
    larder_status status = LARDER_EDAMAGED;
    for (int attempt = 0; status == LARDER_EDAMAGED && attempt < META_ATTEMPTS; attempt++) {
        if (attempt > 0) {
            struct timespec pause = {.tv_nsec = 100000};
            nanosleep(&pause, NULL);
        }
        status = open_look_at_metas(env, bytes, file_bytes);
    }
    return status;
}

bool environment_has_room(uint64_t bytes) {
    if (bytes > SIZE_MAX) return false;
#if defined(MAP_NORESERVE)
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
    void *room = mmap(NULL, (size_t)bytes, PROT_NONE, flags, -1, 0);
    if (room == MAP_FAILED) return false;
    munmap(room, (size_t)bytes);
    return true;
}

larder_status environment_open_lmdb(environment *env, bool writes, uint32_t mode) {
    // LMDB would follow a symbolic link, and obey the umask.
    char *path = environment_path(env->folder, "lock.mdb");
    if (!path) return ENOMEM;
    int file = -1;
    larder_status status = file_open(path, FILE_WRITE, mode, &file);
    if (status == ENOENT) {
        status = file_open(path, FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE, mode, &file);
        if (!status) (void)file_change_mode(file, mode);
        else if (status == EEXIST) status = file_open(path, FILE_WRITE, mode, &file);
    }
    // LMDB stores into a mapping of it that has no blocks yet: on a full disk that would be a
    // signal.
    if (!status) status = file_reserve_behind(file, 0, LOCK_FILE_LEAST_BYTES);
    if (status == ENOTSUP || status == EOPNOTSUPP) status = LARDER_OK;
    // Nobody in this process has it open, so closing it takes no lock away.
    file_close(file);
    free(path);
    if (status && !(status == EROFS && !writes)) return status;

    // Read-only handles open it for writing too if they may: a handle that writes may join them.
    for (unsigned flags = MDB_NOTLS;; flags |= MDB_RDONLY) {
        int code = mdb_env_create(&env->lmdb);
        if (code) return environment_status(code);
        code = mdb_env_set_maxreaders(env->lmdb, TABLE_MAX);
        if (!code) code = mdb_env_set_mapsize(env->lmdb, (size_t)env->lmdb_map_bytes);
        if (!code) code = mdb_env_open(env->lmdb, env->folder, flags, (mdb_mode_t)mode);
        if (!code) {
            int dead;
            env->is_read_only = (flags & MDB_RDONLY) != 0;
            (void)mdb_reader_check(env->lmdb, &dead);
            MDB_envinfo info;
            if (mdb_env_info(env->lmdb, &info) == 0) env->lmdb_map_bytes = info.me_mapsize;
            return LARDER_OK;
        }
        mdb_env_close(env->lmdb);
        env->lmdb = NULL;
        if (writes || (flags & MDB_RDONLY) || !(code == EACCES || code == EROFS || code == EPERM))
            return environment_status(code);
    }
}

static uint64_t open_map_bytes(uint64_t wanted) {
    // A multiple of every system's page.
    const uint64_t unit = 65536;
    if (wanted != 0) return wanted > SIZE_MAX - unit ? wanted : (wanted + unit - 1) / unit * unit;
    uint64_t bytes = default_map_bytes;
    while (bytes > least_map_bytes && !environment_has_room(bytes)) bytes /= 2;
    return bytes;
}

larder_status environment_start(const char *folder, int file, const struct file_facts *facts,
                                bool writes, uint32_t mode, uint64_t map_bytes, environment **out) {
    environment *env = calloc(1, sizeof *env);
    if (!env) {
        file_close(file);
        return ENOMEM;
    }
    pthread_mutex_init(&env->lock, NULL);
    env->file = file;
    env->device = facts->device;
    env->inode = facts->inode;
    env->pid = getpid();
    env->folder = strdup(folder);
    *out = env;
    if (!env->folder) return ENOMEM;
    if (facts->bytes < PAGE_MIN_BYTES) return LARDER_EDAMAGED;
    larder_status status = environment_extend(env);
    if (status) return status;
    status = open_check_metas(env, facts->bytes);
    if (status) return status;
    env->lmdb_map_bytes = open_map_bytes(map_bytes);
    return environment_open_lmdb(env, writes, mode);
}
