// SPDX-License-Identifier: MIT
/** @file environment_renew.c
    How a reader's place comes to see the newest state: LMDB's table says which one that is and
    keeps its pages from being used again; where its trees begin, our own map says. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>

#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

/** How often a place is renewed for a state that is gone before it was read. */
enum { RENEW_ATTEMPTS = 16 };

/** mdb_txn_renew, but never while LMDB's map moves. */
static int place_renew_txn(environment *env, place *taken) {
    for (;;) {
        atomic_store(&taken->is_renewing, 1);
        if (!atomic_load(&env->is_growing)) break;
        atomic_store(&taken->is_renewing, 0);
        // Held by whoever grows.
        pthread_mutex_lock(&env->lock);
        pthread_mutex_unlock(&env->lock);
    }
    int code = mdb_txn_renew(taken->txn);
    atomic_store_explicit(&taken->is_renewing, 0, memory_order_release);
    return code;
}

/** Reads state number `transaction`, which LMDB's table protects, from its meta page.
    @return EAGAIN if that page is or may be about to be written for a newer state. */
static larder_status place_parse(environment *env, place *taken, uint64_t transaction,
                                 bool is_last_attempt) {
    int which = (int)(transaction & 1);
    snapshot *seen = &taken->snapshot;
    tree state;
    environment_map *map;
    for (int attempt = 0;; attempt++) {
        map = atomic_load_explicit(&env->map, memory_order_acquire);
        uint64_t covered = atomic_load_explicit(&map->covered, memory_order_acquire);
        larder_status status = tree_of_meta_page(map->bytes, covered, which, &state);
        state.damage_offset = &env->damage_offset;
        if (status || state.transaction != transaction) {
            if (!is_last_attempt) return EAGAIN;
            return status ? status : tree_damaged(&state, (uint64_t)which);
        }
        // The file may be shorter than that for good: pages at its end that were free again before
        // they were written.
        if (state.next_page <= covered / state.page_bytes || attempt > 0) break;
        status = environment_extend(env);
        if (status) return status;
    }
    const uint64_t *newer =
        (const uint64_t *)(const void *)(map->bytes + (which ? 0 : (size_t)state.page_bytes) +
                                         META_TRANSACTION_OFFSET);
    // Once the next state is there, the one after it may be in the middle of being written to the
    // page that was just read.
    if (__atomic_load_n(newer, __ATOMIC_ACQUIRE) > transaction && !is_last_attempt) return EAGAIN;

    uint8_t key = SPACE_META;
    larder_bytes value;
    store_meta meta;
    larder_status status = tree_get(&state, (larder_bytes){&key, 1}, &value);
    if (status == LARDER_ENOTFOUND) return LARDER_EFOREIGN;
    if (!status) status = store_meta_read(value, &meta);
    if (status == LARDER_EVERSION) env->unknown_version = meta.version;
    if (!status && meta.transaction != transaction) status = LARDER_EDAMAGED;
    if (status == LARDER_EDAMAGED) return tree_damaged(&state, state.root);
    if (status) return status;
    seen->tree = state;
    seen->meta = meta;
    taken->newer = newer;
    return LARDER_OK;
}

/** After a failed write of a meta page LMDB gives no places. Nobody can write then, so the newest
    state stays as it is until environment_reopen, which waits for those who read. */
static larder_status place_parse_newest(environment *env, place *taken) {
    environment_map *map = atomic_load(&env->map);
    uint64_t newest = 0;
    for (int which = 0; which < TREE_META_PAGES; which++) {
        tree state;
        if (tree_of_meta_page(map->bytes, atomic_load(&map->covered), which, &state) == LARDER_OK &&
            state.transaction > newest)
            newest = state.transaction;
    }
    if (taken->newer && newest == taken->snapshot.tree.transaction) return LARDER_OK;
    return place_parse(env, taken, newest, true);
}

int place_begin(environment *env, place *made) {
    if (!env->lmdb) return MDB_PANIC;
    int code = mdb_txn_begin(env->lmdb, NULL, MDB_RDONLY, &made->txn);
    int dead;
    if (code == MDB_READERS_FULL && mdb_reader_check(env->lmdb, &dead) == 0 && dead > 0)
        code = mdb_txn_begin(env->lmdb, NULL, MDB_RDONLY, &made->txn);
    if (code) made->txn = NULL;
    else mdb_txn_reset(made->txn);
    return code;
}

/** As mdb_txn_renew. */
static int place_renew_any_txn(environment *env, place *taken) {
    if (!taken->txn) {
        pthread_mutex_lock(&env->lock);
        int code = place_begin(env, taken);
        pthread_mutex_unlock(&env->lock);
        if (code) return code;
    }
    return place_renew_txn(env, taken);
}

larder_status place_renew(environment *env, place *taken) {
    larder_status status = EAGAIN;
    for (int attempt = 1; status == EAGAIN && attempt <= RENEW_ATTEMPTS; attempt++) {
        place_reset(taken);
        int code = place_renew_any_txn(env, taken);
        if (code == MDB_PANIC && atomic_load(&env->has_writer))
            return place_parse_newest(env, taken);
        if (code == MDB_MAP_RESIZED) {
            status = environment_resize(env, 0);
            if (status) return status;
            status = EAGAIN;
            continue;
        }
        if (code) return environment_status(code);
        taken->is_live = true;
        uint64_t transaction = mdb_txn_id(taken->txn);
        // The same state as before: all that was read of it still holds.
        if (taken->newer && transaction == taken->snapshot.tree.transaction) return LARDER_OK;
        taken->newer = NULL;
        status = place_parse(env, taken, transaction, attempt == RENEW_ATTEMPTS);
    }
    if (status) {
        place_reset(taken);
        taken->newer = NULL;
    }
    return status;
}
