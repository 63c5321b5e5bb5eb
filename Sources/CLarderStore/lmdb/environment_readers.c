// SPDX-License-Identifier: MIT
/** @file environment_readers.c
    Readers' places: a place is taken with one exchange on a cache line of its own, which its thread
    remembers. If nothing was committed since it was used last, which the meta page of the next
    transaction shows, it is as it was.

    Else it is renewed: LMDB's table says which state is the newest one and keeps its pages from
    being used again; where its trees begin, our own map says. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

enum {
    /** How often all places are gone through until one is free. */
    FIND_ATTEMPTS = 32,
    /** How often a place is renewed for a state that is gone before it was read. */
    RENEW_ATTEMPTS = 16,
    /** How often a drain looks for a place in use to be given back. */
    DRAIN_ATTEMPTS = 40
};

static _Atomic uint32_t thread_count;
/** The place that this thread used last, plus one. */
static _Thread_local uint32_t thread_place;

static place *place_of(snapshot *seen) {
    return (place *)((char *)seen - offsetof(place, snapshot));
}

// A place and LMDB --------------------------------------------------------------------------------

/** From here on the place may call LMDB, which stays as it is. */
static void place_begin_renewal(environment *env, place *taken) {
    for (;;) {
        atomic_store(&taken->is_renewing, 1);
        if (!atomic_load(&env->is_changing)) return;
        atomic_store(&taken->is_renewing, 0);
        // Held by whoever changes it.
        pthread_mutex_lock(&env->lmdb_lock);
        pthread_mutex_unlock(&env->lmdb_lock);
    }
}

static void place_reset(environment *env, place *taken) {
    place_begin_renewal(env, taken);
    if (taken->is_live && taken->txn) mdb_txn_reset(taken->txn);
    atomic_store(&taken->is_live, false);
    atomic_store_explicit(&taken->is_renewing, 0, memory_order_release);
}

void larder_environment_begin_change(environment *env) {
    pthread_mutex_lock(&env->lmdb_lock);
    atomic_store(&env->is_changing, true);
    for (place *other = NULL; (other = place_next(env, other));)
        while (atomic_load(&other->is_renewing)) sched_yield();
}

void larder_environment_end_change(environment *env) {
    atomic_store(&env->is_changing, false);
    pthread_mutex_unlock(&env->lmdb_lock);
}

larder_status larder_environment_state(environment *env, int which, tree *out) {
    const environment_map *map = atomic_load_explicit(&env->map, memory_order_acquire);
    uint64_t covered = atomic_load_explicit(&map->covered, memory_order_acquire);
    larder_status status = larder_tree_of_meta_page(map->bytes, covered, which, out);
    out->damage_offset = &env->damage_offset;
    if (status) return status;
    // The file may be shorter than that for good: pages at its end that were free again before they
    // were written.
    if (out->next_page > covered / out->page_bytes) {
        status = larder_environment_extend(env);
        if (status) return status;
        map = atomic_load_explicit(&env->map, memory_order_acquire);
        covered = atomic_load_explicit(&map->covered, memory_order_acquire);
    }
    return larder_tree_attach(out, map->bytes, covered);
}

larder_status larder_environment_newest(environment *env, tree *out) {
    const environment_map *map = atomic_load(&env->map);
    tree state;
    *out = (tree){0};
    for (int which = 0; which < TREE_META_PAGES; which++)
        if (!larder_tree_of_meta_page(map->bytes, atomic_load(&map->covered), which, &state) &&
            state.transaction > out->transaction)
            *out = state;
    // What was committed is there, or cannot be read: an older state would hide it.
    return out->transaction < atomic_load(&env->committed) ? LARDER_EDAMAGED : LARDER_OK;
}

/** As mdb_txn_renew, for a place that may have no transaction yet. */
static int place_renew_txn(environment *env, place *taken) {
    if (!env->lmdb || atomic_load(&env->has_no_table)) return MDB_PANIC;
    if (taken->txn) return mdb_txn_renew(taken->txn);
    // Then no slot can be had, or what is there must do.
    if (larder_environment_mutexes(env, false)) return MDB_READERS_FULL;
    int code = mdb_txn_begin(env->lmdb, NULL, MDB_RDONLY, &taken->txn);
    int dead;
    if (code == MDB_READERS_FULL && mdb_reader_check(env->lmdb, &dead) == 0 && dead > 0)
        code = mdb_txn_begin(env->lmdb, NULL, MDB_RDONLY, &taken->txn);
    if (code) taken->txn = NULL;
    return code;
}

/** Protects the newest state, and says which one that is. While LMDB is closed, or refuses
    everything after a failed write of a meta page, nobody can write: until the next transaction
    begins the newest state stays as it is by itself.
    @return EAGAIN if LMDB's map is too small by now. */
static larder_status place_protect(environment *env, place *taken, uint64_t *transaction) {
    place_begin_renewal(env, taken);
    if (taken->is_live && taken->txn) mdb_txn_reset(taken->txn);
    atomic_store(&taken->is_live, false);
    int code = place_renew_txn(env, taken);
    larder_status status = larder_environment_status(code);
    if (code == MDB_PANIC && atomic_load(&env->has_writer)) {
        if (taken->txn) mdb_txn_abort(taken->txn);
        taken->txn = NULL;
        tree newest;
        status = larder_environment_newest(env, &newest);
        *transaction = newest.transaction;
    } else if (!code) {
        *transaction = mdb_txn_id(taken->txn);
    }
    if (!status) atomic_store(&taken->transaction, *transaction);
    if (!status) atomic_store(&taken->is_live, true);
    atomic_store_explicit(&taken->is_renewing, 0, memory_order_release);
    return status;
}

// What a place sees -------------------------------------------------------------------------------

/** The meta record of a state. */
static larder_status read_meta(environment *env, const tree *state, store_meta *meta) {
    larder_bytes value;
    larder_status status =
        larder_tree_get(state, (larder_bytes){&(uint8_t){SPACE_META}, 1}, &value);
    if (status == LARDER_ENOTFOUND) return LARDER_EFOREIGN;
    if (!status) status = larder_store_meta_read(value, meta);
    if (status == LARDER_EVERSION) env->unknown_version = meta->version;
    if (!status && meta->transaction != state->transaction) status = LARDER_EDAMAGED;
    return status == LARDER_EDAMAGED ? tree_damaged(state, state->main.root) : status;
}

/** Whether what it sees is of the file that is open now. */
static bool place_is_of_file(const place *taken) {
    return taken->generation == atomic_load(&taken->snapshot.environment->generation);
}

bool larder_environment_is_unprotected(const environment *env) {
    return atomic_load(&env->is_unprotected);
}

larder_status larder_environment_confirm(const snapshot *seen, larder_status status) {
    const tree *state = &seen->tree;
    if (!state->watched) return status;
    // The next commit may have segments deleted that this tree leads to, but none of the log
    // behind it: a checkpoint cleans nothing from where the tree ended on when it began. Those go
    // with the next but one at the earliest, which overwrites the meta page, and only the one
    // behind that overwrites other pages.
    const place *taken =
        (const place *)(const void *)((const char *)seen - offsetof(place, snapshot));
    bool is_overwritten = __atomic_load_n(state->watched, __ATOMIC_ACQUIRE) != state->transaction;
    bool may_be_missing =
        status == LARDER_EDAMAGED && (place_is_stale(taken) || !place_is_of_file(taken) ||
                                      larder_environment_is_replaced(seen->environment));
    if (!is_overwritten && !may_be_missing) return status;
    // What looked damaged was of a newer state.
    if (state->damage_offset) __atomic_store_n(state->damage_offset, 0, __ATOMIC_RELAXED);
    return LARDER_EBUSY;
}

/** Reads state number `transaction`, which is protected, from its meta page.
    @return EAGAIN if that page is or may be about to be written for a newer state. */
static larder_status place_parse(environment *env, place *taken, uint64_t transaction,
                                 bool is_last_attempt) {
    int which = (int)(transaction & 1);
    tree state;
    const uint32_t generation = atomic_load(&env->generation);
    larder_status status = larder_environment_state(env, which, &state);
    if (status || state.transaction != transaction) {
        if (!is_last_attempt) return EAGAIN;
        return status ? status : tree_damaged(&state, (uint64_t)which);
    }
    const uint64_t *newer =
        (const uint64_t *)(const void *)(state.map + (which ? 0 : (size_t)state.page_bytes) +
                                         offsetof(meta_page, transaction));
    // Once the next state is there, the one after it may be in the middle of being written to the
    // page that was just read.
    if (__atomic_load_n(newer, __ATOMIC_ACQUIRE) > transaction && !is_last_attempt) return EAGAIN;
    if (atomic_load_explicit(&env->is_unprotected, memory_order_acquire))
        state.watched =
            (const uint64_t *)(const void *)(state.map + (which ? (size_t)state.page_bytes : 0) +
                                             offsetof(meta_page, transaction));
    store_meta meta;
    status = read_meta(env, &state, &meta);
    if (state.watched && !is_last_attempt &&
        __atomic_load_n(state.watched, __ATOMIC_ACQUIRE) != transaction)
        return EAGAIN;
    uint64_t first = 0;
    if (!status && !atomic_compare_exchange_strong(&env->store_id, &first, meta.store_id) &&
        first != meta.store_id)
        status = LARDER_EREPLACED;
    if (status) return status;
    taken->generation = generation;
    taken->snapshot.tree = state;
    taken->snapshot.meta = meta;
    taken->newer = newer;
    return LARDER_OK;
}

/** Makes a place that was taken see the newest state. */
static larder_status place_renew(environment *env, place *taken) {
    larder_status status = EAGAIN;
    for (int attempt = 1; status == EAGAIN && attempt <= RENEW_ATTEMPTS; attempt++) {
        uint64_t transaction = 0;
        status = place_protect(env, taken, &transaction);
        if (status == EAGAIN) {
            larder_status resized = larder_environment_resize(env, 0);
            if (resized) status = resized;
            continue;
        }
        if (status) break;
        // The same state as before: all that was read of it still holds.
        if (taken->newer && transaction == taken->snapshot.tree.transaction &&
            place_is_of_file(taken))
            return LARDER_OK;
        taken->newer = NULL;
        status = place_parse(env, taken, transaction, attempt == RENEW_ATTEMPTS);
    }
    if (status) {
        place_reset(env, taken);
        taken->newer = NULL;
    }
    return status;
}

// Taking and releasing places ---------------------------------------------------------------------

/** Makes a place at `index`, taken; NULL if another thread made it meanwhile, or without memory. */
static place *place_make(environment *env, uint32_t index) {
    place *made =
        aligned_alloc(CACHE_LINE, (sizeof *made + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (!made) return NULL;
    memset(made, 0, sizeof *made);
    atomic_init(&made->is_taken, 1);
    made->index = index;
    made->snapshot.environment = env;
    pthread_mutex_lock(&env->lock);
    _Atomic(place_chunk *) *chunk = &env->chunks[index / PLACES_CHUNK];
    place_chunk *there = atomic_load(chunk);
    if (!there) atomic_store(chunk, there = calloc(1, sizeof *there));
    bool is_mine = there && !atomic_load(&there->places[index % PLACES_CHUNK]);
    if (is_mine) atomic_store(&there->places[index % PLACES_CHUNK], made);
    pthread_mutex_unlock(&env->lock);
    if (is_mine) return made;
    free(made);
    return NULL;
}

/** Takes a place that is free, or makes one, from the thread's own on; NULL if there is none.
    @param is_table_full only one that LMDB's table has already. */
static place *place_search(environment *env, bool is_table_full) {
    if (thread_place == 0) thread_place = atomic_fetch_add(&thread_count, 1) % PLACES_CHUNK + 1;
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        uint32_t index = (thread_place - 1 + i) % PLACES_MAX;
        place *found = place_at(env, index);
        if (!found && is_table_full) continue;
        if (!found) found = place_make(env, index);
        else if (!place_take(found)) continue;
        if (!found) continue;
        if (!is_table_full || found->txn) {
            thread_place = index + 1;
            return found;
        }
        place_give(found);
    }
    return NULL;
}

larder_status larder_environment_read(environment *env, snapshot **out) {
    bool is_table_full = false;
    if (atomic_load_explicit(&env->is_replaced, memory_order_relaxed)) {
        larder_status status = larder_environment_follow_file(env);
        if (status) return status;
    }
    for (int attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
        place *taken = place_search(env, is_table_full);
        larder_status status = LARDER_OK;
        if (taken && (!taken->is_live || place_is_stale(taken))) status = place_renew(env, taken);
        if (taken && !status) {
            *out = &taken->snapshot;
            return LARDER_OK;
        }
        if (taken) place_give(taken);
        // The table may be full of other processes' readers: then what we have must do.
        if (status == LARDER_ENOSLOT) is_table_full = true;
        else if (status) return status;
        // If reads are what has them all, one of them ends soon; for entries that nobody releases
        // there is no use in waiting, and the caller may hold the pending lock.
        else sched_yield();
    }
    return LARDER_ENOSLOT;
}

larder_status larder_environment_read_long(environment *env, snapshot **out) {
    larder_status status = LARDER_ENOSLOT;
    if (atomic_fetch_add(&env->long_count, 1) < PLACES_LONG_MAX)
        status = larder_environment_read(env, out);
    if (status) atomic_fetch_sub(&env->long_count, 1);
    else atomic_store(&place_of(*out)->is_long, true);
    return status;
}

void larder_environment_release(environment *env, snapshot *seen) {
    place *taken = place_of(seen);
    if (atomic_load_explicit(&taken->is_long, memory_order_relaxed)) {
        atomic_store_explicit(&taken->is_long, false, memory_order_relaxed);
        atomic_fetch_sub(&env->long_count, 1);
    }
    // Whoever had several goes on with the first of them: else a thread that takes two each time
    // would come by all places there may be, and each keeps its slot of LMDB's table.
    if (taken->index + 1 < thread_place) thread_place = taken->index + 1;
    // Where another process writes, nobody would reset the place when a newer state comes.
    if (!atomic_load_explicit(&env->has_writer, memory_order_relaxed)) place_reset(env, taken);
    place_give(taken);
}

void larder_environment_reset_idle(environment *env, bool stale_only) {
    for (place *idle = NULL; (idle = place_next(env, idle));) {
        if (!place_take(idle)) continue;
        if (idle->is_live && (!stale_only || place_is_stale(idle))) place_reset(env, idle);
        place_give(idle);
    }
}

void larder_environment_free_places(environment *env) {
    for (place *gone = place_next(env, NULL), *next; gone; gone = next) {
        next = place_next(env, gone);
        if (gone->txn) mdb_txn_abort(gone->txn);
        larder_touch_buffer_free(&gone->snapshot.touches);
        free(gone);
    }
    for (size_t i = 0; i < PLACES_MAX / PLACES_CHUNK; i++) free(atomic_load(&env->chunks[i]));
}

// The oldest reader -------------------------------------------------------------------------------

/** LMDB tells of its readers in lines: process, thread, transaction, or "-" for a place without. */
static int look_at_line(const char *line, void *context) {
    uint64_t *oldest = context;
    int pid;
    uint64_t thread;
    uint64_t transaction;
    if (sscanf(line, "%d %" SCNx64 " %" SCNu64, &pid, &thread, &transaction) == 3 &&
        transaction < *oldest)
        *oldest = transaction;
    return 0;
}

uint64_t larder_environment_oldest_reader(environment *shared) {
    uint64_t oldest = UINT64_MAX;
    // A place that nobody uses sees the state of its last read until the next transaction.
    larder_environment_reset_idle(shared, true);
    // A failure leaves places unseen: then every state may be in use.
    if (larder_environment_wake(shared, false) != LARDER_OK ||
        mdb_reader_list(shared->lmdb, look_at_line, &oldest) < 0)
        return 0;
    // LMDB's table orders nothing: what a reader of this process did with an older state comes
    // before it gave up its place or renewed it, and so before whatever follows here.
    for (place *other = NULL; (other = place_next(shared, other));) {
        (void)atomic_load_explicit(&other->is_taken, memory_order_acquire);
        (void)atomic_load_explicit(&other->is_renewing, memory_order_acquire);
        bool is_seen = !atomic_load(&shared->has_no_table) || !atomic_load(&other->is_live);
        if (!is_seen && atomic_load(&other->transaction) < oldest)
            oldest = atomic_load(&other->transaction);
    }
    return oldest;
}

bool larder_environment_keeps_pages(environment *env) {
    tree newest;
    larder_environment_clear_stale_readers(env);
    uint64_t oldest = larder_environment_oldest_reader(env);
    return oldest != UINT64_MAX && (larder_environment_newest(env, &newest) != LARDER_OK ||
                                    oldest + 1 < newest.transaction);
}

// Touches -----------------------------------------------------------------------------------------

bool larder_environment_drain_touches(environment *env, touch_buffer *into, pthread_mutex_t *lock,
                                      bool waits) {
    bool is_all = true;
    for (place *drained = NULL; (drained = place_next(env, drained));) {
        bool is_drained = false;
        // Its holder may be the caller itself, or wait for the caller: the wait has an end, and
        // what is left then comes with the next drain.
        for (int attempt = 0; attempt < DRAIN_ATTEMPTS; attempt++) {
            if (place_take(drained)) {
                pthread_mutex_lock(lock);
                larder_touch_buffer_move(&drained->snapshot.touches, into);
                pthread_mutex_unlock(lock);
                place_give(drained);
                is_drained = true;
                break;
            }
            if (!waits || atomic_load(&drained->is_long)) break;
            struct timespec pause = {.tv_nsec = 50000};
            nanosleep(&pause, NULL);
        }
        const touch_buffer *left = &drained->snapshot.touches;
        is_all &= is_drained || __atomic_load_n(&left->count, __ATOMIC_RELAXED) == 0;
    }
    return is_all;
}

void larder_environment_look_at_touches(environment *env,
                                        void (*body)(void *context, const touch_buffer *touches),
                                        void *context) {
    for (place *other = NULL; (other = place_next(env, other));)
        body(context, &other->snapshot.touches);
}

void larder_environment_search_touches(environment *env, uint64_t hash, uint64_t sequence,
                                       int64_t *deadline_ns) {
    for (place *other = NULL; (other = place_next(env, other));)
        larder_touch_buffer_search(&other->snapshot.touches, hash, sequence, deadline_ns);
}
