// SPDX-License-Identifier: MIT
/** @file environment_writer.c
    The one transaction that writes, and how the maps grow. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "file_io.h"
#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

bool environment_hush(void) {
    sigset_t limit, before;
    sigemptyset(&limit);
    sigemptyset(&before);
    sigaddset(&limit, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &limit, &before);
    return sigismember(&before, SIGXFSZ) == 1;
}

void environment_unhush(bool was_hushed) {
    if (was_hushed) return;
    sigset_t limit, pending;
    int signal;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ)) (void)sigwait(&limit, &signal);
    (void)pthread_sigmask(SIG_UNBLOCK, &limit, NULL);
}

// Maps --------------------------------------------------------------------------------------------

/** The first map, so that a store grows for a while before there is a second one. */
static const uint64_t first_map_bytes = UINT64_C(64) << 20;

/** Makes a larger map of the file; `lock` is held. */
static larder_status map_anew(environment *env, int file, uint64_t bytes) {
    if (bytes < PAGE_MIN_BYTES) return LARDER_EDAMAGED;
    if (bytes > SIZE_MAX / 4) return EFBIG;
    if (env->map_count == MAPS_MAX) return ENOMEM;
    uint64_t length = first_map_bytes;
    while (length < bytes + bytes / 2) length *= 2;
    environment_map *made = &env->maps[env->map_count];
    larder_status status = file_map(file, (size_t)length, false, &made->bytes);
    // Where address space is scarce: less and less beyond the file's end.
    while (status == ENOMEM && length > bytes) {
        length = bytes + (length - bytes) / 4;
        status = file_map(file, (size_t)length, false, &made->bytes);
    }
    if (status) return status;
    made->length = (size_t)length;
    atomic_store(&made->covered, bytes);
    env->map_count++;
    atomic_store_explicit(&env->map, made, memory_order_release);
    return LARDER_OK;
}

/** As environment_file. LMDB has it open, also when it was removed and others still read it. */
static larder_status reopen_file(environment *env, int *file) {
    mdb_filehandle_t opened;
    *file = -1;
    pthread_mutex_lock(&env->lmdb_lock);
    if (env->lmdb && mdb_env_get_fd(env->lmdb, &opened) == 0)
        *file = fcntl(opened, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&env->lmdb_lock);
    return *file >= 0 ? LARDER_OK : environment_file(env, 0, file);
}

larder_status environment_extend(environment *env) {
    int file;
    file_facts facts;
    larder_status status = reopen_file(env, &file);
    if (status) return status;
    pthread_mutex_lock(&env->lock);
    status = file_facts_get(file, &facts);
    environment_map *map = atomic_load(&env->map);
    if (!status && (!map || facts.bytes > map->length)) status = map_anew(env, file, facts.bytes);
    else if (!status && facts.bytes > atomic_load(&map->covered))
        atomic_store(&map->covered, facts.bytes);
    pthread_mutex_unlock(&env->lock);
    file_close(file);
    return status;
}

/** Twice what is in use. LMDB would take the size that the file says, without a look at it. */
static uint64_t resize_bytes(environment *env) {
    const environment_map *map = atomic_load(&env->map);
    uint64_t bytes = atomic_load(&env->lmdb_map_bytes);
    for (int which = 0; which < TREE_META_PAGES; which++) {
        tree state;
        if (tree_of_meta_page(map->bytes, atomic_load(&map->covered), which, &state)) continue;
        uint64_t used = state.next_page * state.page_bytes;
        while (bytes < used && bytes <= SIZE_MAX / 2) bytes *= 2;
    }
    return bytes;
}

larder_status environment_resize(environment *env, uint64_t bytes) {
    environment_begin_change(env);
    if (bytes == 0) bytes = resize_bytes(env);
    // LMDB gives its map up before it makes the new one: if that failed, there would be none.
    larder_status status = !env->lmdb ? EIO : environment_has_room(bytes) ? LARDER_OK : ENOMEM;
    if (!status) status = environment_status(mdb_env_set_mapsize(env->lmdb, (size_t)bytes));
    MDB_envinfo info;
    if (!status && mdb_env_info(env->lmdb, &info) == 0) env->lmdb_map_bytes = info.me_mapsize;
    environment_end_change(env);
    return status;
}

larder_status environment_grow(environment *env) {
    uint64_t bytes = atomic_load(&env->lmdb_map_bytes);
    return bytes > SIZE_MAX / 2 ? ENOMEM : environment_resize(env, bytes * 2);
}

// Transactions ------------------------------------------------------------------------------------

/** Takes the state that the next transaction begins with; the first time, its pages as those to be
    looked at. Its pages stay as they are until that transaction is committed. */
static larder_status environment_guard_begin(environment *env) {
    snapshot *seen;
    larder_status status = environment_read(env, &seen);
    if (status) return status;
    env->guarded = seen->tree;
    if (!env->is_guarded) status = tree_guard_begin(&env->guard, &seen->tree);
    environment_release(env, seen);
    env->is_guarded = !status;
    return status;
}

larder_status environment_guard(environment *env, const void *key, size_t length) {
    larder_status status = tree_guard_look(&env->guard, &env->guarded, (larder_bytes){key, length});
    if (status == LARDER_EDAMAGED) env->is_damaged = true;
    return status;
}

larder_status environment_guard_all(environment *env) {
    if (!env->guard.unseen) return LARDER_OK;
    // The audit goes in the order of keys; the device is faster in its own.
    (void)posix_madvise((void *)(uintptr_t)env->guarded.map,
                        (size_t)(env->guarded.page_count * env->guarded.page_bytes),
                        POSIX_MADV_WILLNEED);
    tree_report report;
    larder_status status = tree_audit(&env->guarded, &report);
    if (status == LARDER_EDAMAGED) environment_note_damage(env, report.first_damage_offset);
    if (status == LARDER_EDAMAGED) env->is_damaged = true;
    else if (!status) tree_guard_end(&env->guard);
    return status;
}

larder_status environment_begin(environment *env, MDB_txn **txn, MDB_dbi *main) {
    *txn = NULL;
    if (env->is_damaged) return LARDER_EDAMAGED;
    larder_status guarded = environment_guard_begin(env);
    if (guarded) return guarded;
    // Pages of states that nobody looks at can be used again.
    environment_reset_idle(env, true);
    larder_status status = environment_wake(env);
    // Before it is full: a transaction that finds it so has to be run again.
    uint64_t used = env->guarded.next_page * env->guarded.page_bytes;
    if (!status && used > env->lmdb_map_bytes / 2) (void)!environment_grow(env);
    for (int attempt = 0; !status && attempt < 2; attempt++) {
        env->was_hushed = environment_hush();
        int code = mdb_txn_begin(env->lmdb, NULL, 0, txn);
        if (!code) {
            code = mdb_dbi_open(*txn, NULL, 0, main);
            if (!code) return LARDER_OK;
            mdb_txn_abort(*txn);
        }
        environment_unhush(env->was_hushed);
        *txn = NULL;
        if (code == MDB_MAP_RESIZED && attempt == 0) status = environment_resize(env, 0);
        else if (code == MDB_PANIC && attempt == 0) status = environment_reopen(env);
        else status = environment_status(code);
    }
    return status;
}

larder_status environment_reason(environment *env, larder_status status) {
    static const uint8_t zeros[NEW_PAGE_BYTES];
    file_facts facts;
    int file;
    if (status != EIO || environment_file(env, FILE_WRITE, &file) != LARDER_OK) return status;
    bool was_hushed = environment_hush();
    // If it succeeds, the page is one that nobody has used yet.
    if (file_facts_get(file, &facts) == LARDER_OK) {
        larder_status written = file_write_at(file, zeros, sizeof zeros, facts.bytes);
        if (written) status = written;
    }
    environment_unhush(was_hushed);
    file_close(file);
    return status;
}

larder_status environment_commit(environment *env, MDB_txn *txn) {
    if (env->is_damaged) {
        environment_abort(env, txn);
        return LARDER_EDAMAGED;
    }
    larder_status status = environment_status(mdb_txn_commit(txn));
    environment_unhush(env->was_hushed);
    status = environment_reason(env, status);
    if (status == MDB_MAP_FULL) {
        status = environment_grow(env);
        return status ? status : EAGAIN;
    }
    if (!status) environment_reset_idle(env, true);
    return status;
}

bool environment_is_short(const environment *env) {
    const uint64_t little = 64 << 20;
    uint64_t room;
    return file_system_room(env->folder, &room) == LARDER_OK && room < little;
}

void environment_unreserve(environment *env) {
    file_facts facts;
    int file;
    if (env->reserved_to == 0 || environment_file(env, FILE_WRITE, &file) != LARDER_OK) return;
    // To the length that it has: what was reserved behind that goes.
    if (file_facts_get(file, &facts) == LARDER_OK && file_truncate(file, facts.bytes) == LARDER_OK)
        env->reserved_to = 0;
    file_close(file);
}

void environment_reserve(environment *env) {
    const uint64_t least = 256 << 10, most = 1 << 20;
    file_facts facts;
    int file;
    if (!environment_is_short(env) || environment_file(env, FILE_WRITE, &file) != LARDER_OK) return;
    larder_status status = file_facts_get(file, &facts);
    uint64_t bytes = status ? 0 : facts.bytes / 8;
    if (bytes < least) bytes = least;
    if (bytes > most) bytes = most;
    // Asked for again only when a good part is used up.
    if (!status && facts.bytes + bytes / 2 >= env->reserved_to &&
        file_reserve_behind(file, facts.bytes, bytes) == LARDER_OK)
        env->reserved_to = facts.bytes + bytes;
    file_close(file);
}

void environment_abort(environment *env, MDB_txn *txn) {
    mdb_txn_abort(txn);
    environment_unhush(env->was_hushed);
}

void environment_reap(environment *env) {
    int dead;
    pthread_mutex_lock(&env->lmdb_lock);
    if (env->lmdb) (void)mdb_reader_check(env->lmdb, &dead);
    pthread_mutex_unlock(&env->lmdb_lock);
}

void environment_look(environment *env, larder_store_statistics *statistics) {
    environment_reap(env);
    statistics->map_bytes = env->lmdb_map_bytes;
    snapshot *seen;
    (void)!environment_extend(env);
    statistics->data_bytes = atomic_load(&atomic_load(&env->map)->covered);
    if (environment_read(env, &seen) != LARDER_OK) return;
    const tree *state = &seen->tree;
    uint64_t pages = TREE_META_PAGES;
    pages += state->counts.branch_pages + state->counts.leaf_pages + state->counts.overflow_pages;
    pages += state->free_counts.branch_pages + state->free_counts.leaf_pages +
             state->free_counts.overflow_pages;
    statistics->data_used_bytes = pages * state->page_bytes;
    environment_release(env, seen);
}
