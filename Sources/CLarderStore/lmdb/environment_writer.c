// SPDX-License-Identifier: MIT
/** @file environment_writer.c
    The one transaction that writes, and how the maps grow. */
#include <sys/mman.h>
#include <time.h>

#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

// Maps --------------------------------------------------------------------------------------------

/** The first map, so that a store grows for a while before there is a second one. */
static const uint64_t first_map_bytes = UINT64_C(16) << 20;

larder_status larder_environment_map_file(environment *env, int file, uint64_t bytes) {
    if (bytes < PAGE_MIN_BYTES) return LARDER_EDAMAGED;
    if (bytes > SIZE_MAX / 4) return EFBIG;
    if (env->map_count == MAPS_MAX) return ENOMEM;
    uint64_t length = first_map_bytes;
    while (length < bytes + bytes / 2) length *= 2;
    environment_map *made = &env->maps[env->map_count];
    larder_status status = larder_os_file_map(file, (size_t)length, false, &made->bytes);
    // Where address space is scarce: less and less beyond the file's end.
    while (status == ENOMEM && length > bytes) {
        length = bytes + (length - bytes) / 4;
        status = larder_os_file_map(file, (size_t)length, false, &made->bytes);
    }
    if (status) return status;
    // A page is found by its key: what lies beside it on the device is of other keys.
    (void)posix_madvise(made->bytes, (size_t)length, POSIX_MADV_RANDOM);
    made->length = (size_t)length;
    atomic_store(&made->covered, bytes);
    env->map_count++;
    atomic_store_explicit(&env->map, made, memory_order_release);
    return LARDER_OK;
}

/** As larder_environment_file. LMDB has it open, also when it was removed and others still read it.
    */
static larder_status reopen_file(environment *env, int *file, larder_os_facts *facts) {
    mdb_filehandle_t opened;
    *file = -1;
    pthread_mutex_lock(&env->lmdb_lock);
    if (env->lmdb && mdb_env_get_fd(env->lmdb, &opened) == 0)
        (void)!larder_os_file_duplicate(opened, file);
    pthread_mutex_unlock(&env->lmdb_lock);
    if (*file < 0) return larder_environment_file(env, 0, file, facts);
    larder_status status = larder_os_file_facts_get(*file, facts);
    if (status) larder_os_file_close(*file);
    return status;
}

larder_status larder_environment_extend(environment *env) {
    int file;
    larder_os_facts facts;
    larder_status status = reopen_file(env, &file, &facts);
    if (status) return status;
    pthread_mutex_lock(&env->lock);
    environment_map *map = atomic_load(&env->map);
    if (!map || facts.bytes > map->length)
        status = larder_environment_map_file(env, file, facts.bytes);
    else if (facts.bytes > atomic_load(&map->covered)) atomic_store(&map->covered, facts.bytes);
    pthread_mutex_unlock(&env->lock);
    larder_os_file_close(file);
    return status;
}

larder_status larder_environment_resize(environment *env, uint64_t bytes) {
    larder_status status = LARDER_OK;
    larder_environment_begin_change(env);
    if (bytes == 0) {
        // LMDB would take the size that the file says, without a look at it.
        tree newest;
        status = larder_environment_newest(env, &newest);
        bytes = atomic_load(&env->lmdb_map_bytes);
        while (bytes < newest.next_page * newest.page_bytes && bytes <= SIZE_MAX / 2) bytes *= 2;
    }
    // LMDB gives its map up before it makes the new one: if that failed, there would be none.
    if (!status)
        status = !env->lmdb ? EIO : larder_environment_has_room(bytes) ? LARDER_OK : ENOMEM;
    if (!status) status = larder_environment_status(mdb_env_set_mapsize(env->lmdb, (size_t)bytes));
    MDB_envinfo info;
    if (!status && mdb_env_info(env->lmdb, &info) == 0) env->lmdb_map_bytes = info.me_mapsize;
    larder_environment_end_change(env);
    return status;
}

static larder_status environment_grow(environment *env) {
    uint64_t bytes = atomic_load(&env->lmdb_map_bytes);
    return bytes > SIZE_MAX / 2 ? ENOMEM : larder_environment_resize(env, bytes * 2);
}

// Transactions ------------------------------------------------------------------------------------

/** Takes the state that the next transaction begins with; the first time, its pages as those to be
    looked at. Its pages stay as they are until that transaction is committed. */
static larder_status environment_guard_begin(environment *env) {
    snapshot *seen;
    larder_status status = larder_environment_read(env, &seen);
    if (status) return status;
    env->guarded = seen->tree;
    if (!env->is_guarded) status = larder_tree_guard_begin(&env->guard, &seen->tree);
    larder_environment_release(env, seen);
    env->is_guarded = !status;
    if (status == LARDER_EDAMAGED) env->is_damaged = true;
    return status;
}

larder_status larder_environment_guard(environment *env, const void *key, size_t length) {
    larder_status status =
        larder_tree_guard_look(&env->guard, &env->guarded, (larder_bytes){key, length});
    if (status == EAGAIN) return larder_environment_guard_all(env);
    if (status == LARDER_EDAMAGED) env->is_damaged = true;
    return status;
}

larder_status larder_environment_guard_last(environment *env) {
    uint8_t last[TREE_KEY_MAX_BYTES];
    memset(last, 0xFF, sizeof last);
    return larder_environment_guard(env, last, sizeof last);
}

larder_status larder_environment_guard_all(environment *env) {
    if (!env->guard.unseen) return LARDER_OK;
    // The audit goes in the order of keys; the device is faster in its own.
    (void)posix_madvise((void *)(uintptr_t)env->guarded.map,
                        (size_t)(env->guarded.page_count * env->guarded.page_bytes),
                        POSIX_MADV_WILLNEED);
    tree_report report;
    larder_status status = larder_tree_audit(&env->guarded, &report);
    if (!status) larder_tree_guard_end(&env->guard);
    if (status != LARDER_EDAMAGED) return status;
    __atomic_store_n(&env->damage_offset, report.first_damage_offset, __ATOMIC_RELAXED);
    env->is_damaged = true;
    return status;
}

larder_status larder_environment_row(environment *env, MDB_txn *txn, MDB_dbi main, larder_bytes key,
                                     const larder_bytes *value) {
    larder_status status = larder_environment_guard(env, key.data, key.length);
    if (status) return status;
    MDB_val name = {key.length, (void *)(uintptr_t)key.data}, bytes = {0};
    if (value) bytes = (MDB_val){value->length, (void *)(uintptr_t)value->data};
    int code = value ? mdb_put(txn, main, &name, &bytes, 0) : mdb_del(txn, main, &name, NULL);
    return code == MDB_NOTFOUND ? LARDER_OK : larder_environment_status(code);
}

/** Waits, where LMDB does not know of them, until this process's readers let another transaction
    begin: what a state leads to stays as it is over the two that follow it.
    @return LARDER_OK; LARDER_EBUSY if one keeps an older state. */
static larder_status environment_await_readers(environment *env) {
    enum { ATTEMPTS = 100, KEPT = 2 };
    for (int attempt = 0; atomic_load(&env->has_no_table); attempt++) {
        bool is_kept = false;
        larder_environment_begin_change(env);
        for (place *other = NULL; (other = place_next(env, other));)
            is_kept |= atomic_load(&other->is_live) &&
                       atomic_load(&other->transaction) + KEPT <= env->guarded.transaction;
        larder_environment_end_change(env);
        if (!is_kept) break;
        if (attempt == ATTEMPTS) return LARDER_EBUSY;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        larder_environment_reset_idle(env, true);
    }
    return LARDER_OK;
}

bool larder_environment_is_damaged(const environment *env) {
    return env->is_damaged || __atomic_load_n(&env->damage_offset, __ATOMIC_RELAXED) != 0;
}

larder_status larder_environment_begin(environment *env, MDB_txn **txn, MDB_dbi *main) {
    *txn = NULL;
    if (env->is_damaged) return LARDER_EDAMAGED;
    larder_status guarded = environment_guard_begin(env);
    if (guarded) return guarded;
    // Pages of states that nobody looks at can be used again.
    larder_environment_reset_idle(env, true);
    larder_status status = larder_environment_wake(env, false);
    if (!status) status = larder_environment_mutexes(env, true);
    if (!status) status = environment_await_readers(env);
    // Before it is full: a transaction that finds it so has to be run again.
    uint64_t used = env->guarded.next_page * env->guarded.page_bytes;
    if (!status && used > env->lmdb_map_bytes / 2) (void)!environment_grow(env);
    for (int attempt = 0; !status; attempt++) {
        env->was_blocked = larder_os_block_file_size_signal();
        int code = mdb_txn_begin(env->lmdb, NULL, 0, txn);
        if (!code) {
            code = mdb_dbi_open(*txn, NULL, 0, main);
            if (!code) return LARDER_OK;
            mdb_txn_abort(*txn);
        }
        larder_os_unblock_file_size_signal(env->was_blocked);
        *txn = NULL;
        if (code == MDB_MAP_RESIZED && attempt == 0) status = larder_environment_resize(env, 0);
        else if (code == MDB_PANIC && attempt == 0) status = larder_environment_wake(env, true);
        else status = larder_environment_status(code);
    }
    return status;
}

/** What a failed write of LMDB was about: the next one at the file's end says more than EIO. */
static larder_status reason_of_failure(environment *env) {
    static const uint8_t zeros[NEW_PAGE_BYTES];
    larder_os_facts facts;
    int file;
    if (larder_environment_file(env, LARDER_OS_WRITE, &file, &facts)) return EIO;
    // If it succeeds, the page is one that nobody has used yet.
    larder_status status = larder_os_file_write_at(file, zeros, sizeof zeros, facts.bytes);
    larder_os_file_close(file);
    return status ? status : EIO;
}

larder_status larder_environment_end(environment *env, MDB_txn *txn, larder_status status) {
    mdb_filehandle_t file;
    if (!status && env->is_damaged) status = LARDER_EDAMAGED;
    uint64_t transaction = mdb_txn_id(txn);
    if (status) mdb_txn_abort(txn);
    else status = larder_environment_status(mdb_txn_commit(txn));
    // Each one changes the meta record, so none is left out for having changed nothing.
    if (!status) atomic_store(&env->committed, transaction);
    if (!status && mdb_env_get_fd(env->lmdb, &file) == 0) status = larder_os_file_sync_lower(file);
    if (status == EIO) status = reason_of_failure(env);
    larder_os_unblock_file_size_signal(env->was_blocked);
    if (!status) larder_environment_reset_idle(env, true);
    if (status != EAGAIN) return status;
    status = environment_grow(env);
    return status ? status : EAGAIN;
}

uint64_t larder_environment_room(const environment *env) {
    uint64_t room;
    return larder_os_file_system_room(larder_environment_folder_path(env), &room) == LARDER_OK
               ? room
               : UINT64_MAX;
}

bool larder_environment_is_short(const environment *env) {
    const uint64_t little = 64 << 20;
    return larder_environment_room(env) < little;
}

/** Pages that a state leads to. */
static uint64_t used_pages(const tree *state) {
    const tree_counts *main = &state->main.counts, *free_list = &state->free_list.counts;
    return TREE_META_PAGES + main->branch_pages + main->leaf_pages + main->overflow_pages +
           free_list->branch_pages + free_list->leaf_pages + free_list->overflow_pages;
}

uint64_t larder_environment_free_bytes(environment *env) {
    tree state;
    if (larder_environment_newest(env, &state)) return 0;
    uint64_t end = state.next_page * state.page_bytes, reserved_to = atomic_load(&env->reserved_to);
    uint64_t used = used_pages(&state) * state.page_bytes;
    if (end < reserved_to) end = reserved_to;
    return end > used ? end - used : 0;
}

/** What is free is used by one transaction, freed by the next, and waits for the one after it. The
    file grows only until a third of that suffices for so many bytes of pages. */
static uint64_t least_bytes(const environment *env, const tree *state) {
    uint64_t room = larder_environment_room(env);
    uint64_t least = (128 << 10) + used_pages(state) * state->page_bytes / 64;
    if (least > room / 4) least = room / 4;
    return least > room / 32 ? least : room / 32;
}

uint64_t larder_environment_bytes(environment *env) {
    tree state;
    return larder_environment_newest(env, &state) ? 0 : state.next_page * state.page_bytes;
}

uint64_t larder_environment_growth_bytes(environment *env) {
    tree state;
    if (larder_environment_newest(env, &state)) return 0;
    uint64_t whole = used_pages(&state) * state.page_bytes, least = least_bytes(env, &state);
    uint64_t wanted = 3 * (whole < least ? whole : least);
    uint64_t free = larder_environment_free_bytes(env);
    return wanted > free ? wanted - free : 0;
}

uint64_t larder_environment_spare_pages(environment *env) {
    tree state;
    if (larder_environment_newest(env, &state) || state.page_bytes == 0) return UINT64_MAX;
    uint64_t bytes = larder_environment_free_bytes(env) / 3, least = least_bytes(env, &state);
    if (larder_environment_is_short(env) && larder_environment_keeps_pages(env)) bytes = 0;
    uint64_t pages = (bytes > least ? bytes : least) / state.page_bytes;
    return used_pages(&state) < pages ? UINT64_MAX : pages;
}

void larder_environment_unreserve(environment *env) {
    larder_os_facts facts;
    int file;
    if (env->reserved_to == 0 || larder_environment_file(env, LARDER_OS_WRITE, &file, &facts))
        return;
    // To the length that it has: what was reserved behind that goes.
    if (!larder_os_file_truncate(file, facts.bytes)) env->reserved_to = 0;
    larder_os_file_close(file);
}

void larder_environment_reserve(environment *env) {
    const uint64_t least = 256 << 10, most = 1 << 20;
    larder_os_facts facts;
    int file;
    if (!larder_environment_is_short(env) ||
        larder_environment_file(env, LARDER_OS_WRITE, &file, &facts))
        return;
    uint64_t bytes = facts.bytes / 8;
    if (bytes < least) bytes = least;
    if (bytes > most) bytes = most;
    // What an earlier handle has left is not known to this one, which could not give it back.
    if (env->reserved_to == 0) (void)!larder_os_file_truncate(file, facts.bytes);
    // Asked for again only when a good part is used up; the log needs the most of what there is.
    if (facts.bytes + bytes / 2 >= env->reserved_to && bytes <= larder_environment_room(env) / 4 &&
        !larder_os_file_reserve_behind(file, facts.bytes, bytes))
        env->reserved_to = facts.bytes + bytes;
    larder_os_file_close(file);
}

void larder_environment_clear_stale_readers(environment *env) {
    int dead;
    pthread_mutex_lock(&env->lmdb_lock);
    if (env->lmdb && !larder_environment_mutexes(env, false))
        (void)mdb_reader_check(env->lmdb, &dead);
    pthread_mutex_unlock(&env->lmdb_lock);
}

void larder_environment_look(environment *env, larder_store_statistics *statistics) {
    larder_environment_clear_stale_readers(env);
    statistics->map_bytes = env->lmdb_map_bytes;
    snapshot *seen;
    (void)!larder_environment_extend(env);
    statistics->data_bytes = atomic_load(&atomic_load(&env->map)->covered);
    if (larder_environment_read(env, &seen) != LARDER_OK) return;
    statistics->data_used_bytes = used_pages(&seen->tree) * seen->tree.page_bytes;
    larder_environment_release(env, seen);
}
