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

#include "lmdb/environment_internal.h"

enum {
    /** How often all places are gone through until one is free. */
    FIND_ATTEMPTS = 32,
    /** How often a drain looks for a place in use to be given back. */
    DRAIN_ATTEMPTS = 40
};

static _Atomic uint32_t thread_count;
/** The place that this thread used last, plus one. */
static _Thread_local uint32_t thread_place;

static place *place_of(snapshot *seen) {
    return (place *)((char *)seen - offsetof(place, snapshot));
}

/** Where the pointer to a place lies, in a chunk that is made if need be; `lock` is held. NULL
    without memory. */
static _Atomic(place *) *place_pointer(environment *env, uint32_t index) {
    _Atomic(place_chunk *) *chunk = &env->chunks[index / PLACES_CHUNK];
    place_chunk *there = atomic_load(chunk);
    if (!there) {
        there = calloc(1, sizeof *there);
        atomic_store(chunk, there);
    }
    return there ? &there->places[index % PLACES_CHUNK] : NULL;
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
    pthread_mutex_lock(&env->lock);
    _Atomic(place *) *pointer = place_pointer(env, index);
    larder_status status = pointer ? LARDER_OK : ENOMEM;
    if (pointer && !atomic_load(pointer)) {
        int code = place_begin(env, made);
        // LMDB's map is too small by now; it is made larger without the lock.
        status = code == MDB_MAP_RESIZED ? EAGAIN : environment_status(code);
        if (code == MDB_PANIC) status = LARDER_OK;
        if (!status) {
            atomic_store_explicit(pointer, made, memory_order_release);
            *out = made;
        }
    }
    pthread_mutex_unlock(&env->lock);
    if (!*out) free(made);
    return status;
}

/** Takes a place that is free, or makes one, from the thread's own on; NULL if there is none. */
static larder_status place_search(environment *env, place **out) {
    bool is_table_full = false;
    *out = NULL;
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        uint32_t index = (thread_place - 1 + i) % PLACES_MAX;
        place *found = place_at(env, index);
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
    return LARDER_OK;
}

/** Finds or makes a place, when the thread's own one is in use or there is none. If reads are what
    has them all, one of them ends soon; for entries that nobody releases there is no use in
    waiting, and the caller may hold the store's lock. */
static larder_status place_find(environment *env, place **out) {
    if (thread_place == 0) thread_place = atomic_fetch_add(&thread_count, 1) % PLACES_CHUNK + 1;
    for (int attempt = 1;; attempt++) {
        larder_status status = place_search(env, out);
        if (status || *out) return status;
        if (attempt == FIND_ATTEMPTS) return LARDER_ENOSLOT;
        sched_yield();
    }
}

larder_status environment_read(environment *env, snapshot **out) {
    place *taken = NULL;
    if (thread_place != 0) {
        place *mine = place_at(env, thread_place - 1);
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
    uint32_t index = 0;
    for (place *idle; (idle = place_next(env, &index));) {
        if (!place_take(idle)) continue;
        if (idle->is_live && (!stale_only || place_is_stale(idle))) place_reset(idle);
        place_give(idle);
    }
}

void environment_free_places(environment *env) {
    uint32_t index = 0;
    for (place *gone; (gone = place_next(env, &index));) {
        if (gone->txn) mdb_txn_abort(gone->txn);
        free(gone->snapshot.touches.touches);
        free(gone->snapshot.touches.bytes);
        free(gone);
    }
    for (size_t i = 0; i < PLACES_MAX / PLACES_CHUNK; i++) free(atomic_load(&env->chunks[i]));
}

void environment_drain_touches(environment *env, void (*body)(void *context, touch_buffer *touches),
                               void *context) {
    uint32_t index = 0;
    for (place *drained; (drained = place_next(env, &index));) {
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

void environment_look_at_touches(environment *env,
                                 void (*body)(void *context, const touch_buffer *touches),
                                 void *context) {
    uint32_t index = 0;
    for (place *other; (other = place_next(env, &index));) body(context, &other->snapshot.touches);
}
