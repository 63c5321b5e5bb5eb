// SPDX-License-Identifier: MIT
/** @file environment_readers.c
    Readers' places: a place is taken with one exchange on a cache line of its own, which its thread
    remembers. If nothing was committed since it was used last, which the meta page of the next
    transaction shows, it is as it was. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "environment_internal.h"
#include "tree_page.h"

enum {
    /** How often a place is renewed for a state that is gone before it was read. */
    RENEW_ATTEMPTS = 16,
    /** How long a read waits for one of all places, in steps of a millisecond. */
    WAIT_STEPS = 2000,
    /** How often a drain looks for a place in use to be given back. */
    DRAIN_ATTEMPTS = 40
};

static _Atomic uint32_t thread_count;
/** The place that this thread used last, plus one. */
static _Thread_local uint32_t thread_place;

static bool place_take(place *taken) {
    return atomic_load_explicit(&taken->is_taken, memory_order_relaxed) == 0 &&
           atomic_exchange_explicit(&taken->is_taken, 1, memory_order_acquire) == 0;
}

static void place_give(place *taken) {
    atomic_store_explicit(&taken->is_taken, 0, memory_order_release);
}

static place *place_of(snapshot *seen) {
    return (place *)((char *)seen - offsetof(place, snapshot));
}

/** Whether a newer state was committed, by this process or by another one. */
static bool place_is_stale(const place *taken) {
    return __atomic_load_n(taken->newer, __ATOMIC_ACQUIRE) > taken->snapshot.tree.transaction;
}

static void place_reset(place *taken) {
    if (!taken->is_live) return;
    mdb_txn_reset(taken->txn);
    taken->is_live = false;
}

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
    taken->newer =
        (const uint64_t *)(const void *)(map->bytes + (which ? 0 : (size_t)state.page_bytes) +
                                         META_TRANSACTION_OFFSET);
    // Once the next state is there, the one after it may be in the middle of being written to the
    // page that was just read.
    if (__atomic_load_n(taken->newer, __ATOMIC_ACQUIRE) > transaction && !is_last_attempt)
        return EAGAIN;

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
    return LARDER_OK;
}

static larder_status place_renew(environment *env, place *taken) {
    larder_status status = EAGAIN;
    for (int attempt = 1; status == EAGAIN && attempt <= RENEW_ATTEMPTS; attempt++) {
        place_reset(taken);
        int code = place_renew_txn(env, taken);
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
        taken->snapshot.tree.transaction = 0;
        status = place_parse(env, taken, transaction, attempt == RENEW_ATTEMPTS);
    }
    if (status) {
        place_reset(taken);
        taken->newer = NULL;
    }
    return status;
}

/** Makes a place at `index`, taken; NULL there still if another thread made it meanwhile. */
static larder_status place_make(environment *env, uint32_t index, place **out) {
    *out = NULL;
    place *made =
        aligned_alloc(CACHE_LINE, (sizeof *made + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (!made) return ENOMEM;
    memset(made, 0, sizeof *made);
    atomic_init(&made->is_taken, 1);
    made->snapshot.environment = env;
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&env->lock);
    bool is_free = atomic_load(&env->places[index]) == NULL;
    if (is_free) {
        int code = mdb_txn_begin(env->lmdb, NULL, MDB_RDONLY, &made->txn);
        int dead;
        if (code == MDB_READERS_FULL && mdb_reader_check(env->lmdb, &dead) == 0 && dead > 0)
            code = mdb_txn_begin(env->lmdb, NULL, MDB_RDONLY, &made->txn);
        status = environment_status(code);
        if (!status) {
            mdb_txn_reset(made->txn);
            atomic_store_explicit(&env->places[index], made, memory_order_release);
            *out = made;
        }
        // LMDB's map is too small by now; it is made larger without the lock.
        if (code == MDB_MAP_RESIZED) status = EAGAIN;
    }
    pthread_mutex_unlock(&env->lock);
    if (!*out) free(made);
    return status;
}

/** Finds or makes a place, when the thread's own one is in use or there is none. */
static larder_status place_find(environment *env, place **out) {
    *out = NULL;
    if (thread_place == 0) thread_place = atomic_fetch_add(&thread_count, 1) % PLACES_SPREAD + 1;
    for (int step = 0; step < WAIT_STEPS; step++) {
        bool is_table_full = false;
        for (uint32_t i = 0; i < PLACES_MAX; i++) {
            uint32_t index = (thread_place - 1 + i) % PLACES_MAX;
            place *found = atomic_load_explicit(&env->places[index], memory_order_acquire);
            if (!found) {
                if (is_table_full) continue;
                larder_status status = place_make(env, index, &found);
                if (status == EAGAIN) status = environment_resize(env, 0);
                // The table may be full of other processes' readers: then what we have must do.
                is_table_full = status == LARDER_ENOSLOT;
                if (status && !is_table_full) return status;
                if (!found) continue;
            } else if (!place_take(found)) {
                continue;
            }
            thread_place = index + 1;
            *out = found;
            return LARDER_OK;
        }
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    return LARDER_ENOSLOT;
}

larder_status environment_read(environment *env, snapshot **out) {
    place *taken = NULL;
    if (thread_place != 0) {
        place *mine = atomic_load_explicit(&env->places[thread_place - 1], memory_order_acquire);
        if (mine && place_take(mine)) taken = mine;
    }
    if (!taken) {
        larder_status status = place_find(env, &taken);
        if (status) return status;
    }
    if (!taken->is_live || place_is_stale(taken)) {
        larder_status status = place_renew(env, taken);
        if (status) {
            place_give(taken);
            return status;
        }
    }
    *out = &taken->snapshot;
    return LARDER_OK;
}

larder_status environment_read_long(environment *env, snapshot **out) {
    if (atomic_fetch_add(&env->long_count, 1) >= PLACES_LONG_MAX) {
        atomic_fetch_sub(&env->long_count, 1);
        return LARDER_ENOSLOT;
    }
    larder_status status = environment_read(env, out);
    if (status) atomic_fetch_sub(&env->long_count, 1);
    else atomic_store(&place_of(*out)->is_long, true);
    return status;
}

void environment_release(environment *env, snapshot *seen) {
    place *taken = place_of(seen);
    if (atomic_load_explicit(&taken->is_long, memory_order_relaxed)) {
        atomic_store_explicit(&taken->is_long, false, memory_order_relaxed);
        atomic_fetch_sub(&env->long_count, 1);
    }
    // Where another process writes, nobody would reset the place when a newer state comes.
    if (!atomic_load_explicit(&env->has_writer, memory_order_relaxed)) place_reset(taken);
    place_give(taken);
}

void environment_reset_idle(environment *env, bool stale_only) {
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        place *idle = atomic_load_explicit(&env->places[i], memory_order_acquire);
        if (!idle || !place_take(idle)) continue;
        if (idle->is_live && (!stale_only || place_is_stale(idle))) place_reset(idle);
        place_give(idle);
    }
}

void environment_free_places(environment *env) {
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        place *gone = atomic_load(&env->places[i]);
        if (!gone) continue;
        mdb_txn_abort(gone->txn);
        free(gone->snapshot.touches.touches);
        free(gone->snapshot.touches.bytes);
        free(gone->snapshot.scratch);
        free(gone);
    }
}

void environment_drain_touches(environment *env, void (*body)(void *context, touch_buffer *touches),
                               void *context) {
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        place *drained = atomic_load_explicit(&env->places[i], memory_order_acquire);
        if (!drained) continue;
        // Its holder may be the caller itself, or wait for the caller: the wait has an end, and
        // what is left then comes with the next drain.
        for (int attempt = 0; attempt < DRAIN_ATTEMPTS; attempt++) {
            if (place_take(drained)) {
                body(context, &drained->snapshot.touches);
                place_give(drained);
                break;
            }
            if (atomic_load(&drained->is_long)) break;
            struct timespec pause = {.tv_nsec = 50000};
            nanosleep(&pause, NULL);
        }
    }
}
