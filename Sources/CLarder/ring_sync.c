// SPDX-License-Identifier: MIT
/** @file ring_sync.c
    Durability: group commit, the background sync, and waiting for messages. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "condition.h"
#include "ring_internal.h"

/** How often a handle of another process looks for new messages. */
#define LOOK_AGAIN_NS ((int64_t)2000000)

void ring_sync_init(larder_ring *ring, int64_t interval_ns) {
    pthread_mutex_init(&ring->sync_mutex, NULL);
    pthread_mutex_init(&ring->wait_mutex, NULL);
    condition_init(&ring->sync_done);
    condition_init(&ring->sync_wanted);
    condition_init(&ring->wait_appended);
    ring->sync_interval_ns = interval_ns;
    ring->is_dirty = interval_ns == 0;
}

void ring_sync_destroy(larder_ring *ring) {
    pthread_cond_destroy(&ring->wait_appended);
    pthread_cond_destroy(&ring->sync_wanted);
    pthread_cond_destroy(&ring->sync_done);
    pthread_mutex_destroy(&ring->wait_mutex);
    pthread_mutex_destroy(&ring->sync_mutex);
}

// Group commit ------------------------------------------------------------------------------------

/** Lets the callers of the last group come back before the next sync sets out, for at most an
    eighth of what a sync takes: woken together, they are about to append, and without this the
    first of them would sync alone. Measured with eight threads: 0.29 of a lone caller's time
    instead of 0.38. `sync_mutex` is held, and given up in between. */
static void sync_gather(larder_ring *ring) {
    if (ring->sync_group <= 1) return;
    int64_t until = system_monotonic_ns() + ring->sync_took_ns / 8;
    while (ring->sync_callers < ring->sync_group && system_monotonic_ns() < until) {
        pthread_mutex_unlock(&ring->sync_mutex);
        sched_yield();
        pthread_mutex_lock(&ring->sync_mutex);
    }
}

/** The system call. `sync_mutex` is held, and given up over it. */
static larder_status sync_unlocked(larder_ring *ring) {
    pthread_mutex_unlock(&ring->sync_mutex);
    int64_t start = system_monotonic_ns();
#ifdef LARDER_PLANT_NO_SYNC
    larder_status status = LARDER_OK;
#else
    larder_status status = file_sync(ring->file);
#endif
    int64_t took = system_monotonic_ns() - start;
    pthread_mutex_lock(&ring->sync_mutex);
    ring->sync_took_ns = took;
    if (status && !ring->sync_failure) ring->sync_failure = status;
    return status;
}

/** Brings the mark of the last sync to the device too, so that no append has to (invariant 9).
    `sync_mutex` is held, and given up over the system call. */
static larder_status sync_mark(larder_ring *ring) {
    larder_status status = ring_lock(ring);
    if (status) return status;
    uint64_t mark = ring->synced;
    bool is_needed = mark > ring->marked;
    ring_unlock(ring);
    if (!is_needed) return LARDER_OK;
    ring->is_syncing = true;
    status = sync_unlocked(ring);
    if (status == LARDER_OK) status = ring_lock(ring);
    if (status == LARDER_OK) {
        if (mark > ring->marked) ring->marked = mark;
        ring_unlock(ring);
    }
    ring->is_syncing = false;
    pthread_cond_broadcast(&ring->sync_done);
    return status;
}

/** One sync of everything appended so far. `sync_mutex` is held and given up over the system call.
    @param synced receives what is now durable. */
static larder_status sync_once(larder_ring *ring, uint64_t *synced) {
    ring->is_syncing = true;
    sync_gather(ring);
    ring->sync_group = ring->sync_callers;
    larder_status status = ring_lock(ring);
    if (status) {
        ring->is_syncing = false;
        pthread_cond_broadcast(&ring->sync_done);
        return status;
    }
    ring_state *state = &ring->header->state;
    uint64_t target = ring->newest;
    uint64_t mark = ring->synced;
    uint8_t generation = (uint8_t)(record_generation(ring->generation_bits) + 1);
    // If we crash here, or in the sync, the header names a sync that may not have been completed;
    // recovery finds out whether it was.
    STORE(state->syncing, record_tag(target, generation));
    ring_unlock(ring);

    status = sync_unlocked(ring);
    if (status == LARDER_OK) status = ring_lock(ring);
    if (status == LARDER_OK) {
        if (mark > ring->marked) ring->marked = mark;
        ring->synced = target;
        ring->generation_bits = record_tag(0, generation);
        STORE(state->synced, record_tag(target, generation));
        ring_unlock(ring);
        *synced = target;
    }
    ring->is_syncing = false;
    pthread_cond_broadcast(&ring->sync_done);
    return status;
}

/** Waits for the sync under way, if there is one, and then lets one caller make the next: all who
    came meanwhile are served by it. */
static larder_status ring_sync_until(larder_ring *ring, uint64_t sequence, bool must_sync) {
    if (ring->read_only) return LARDER_EREADONLY;
    if (atomic_load_explicit(ring->lock, memory_order_relaxed) == LOCK_FORKED)
        return LARDER_EFORKED;
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&ring->sync_mutex);
    ring->sync_callers++;
    while (status == LARDER_OK) {
        if (ring->is_shut) status = LARDER_ECLOSED;
        else if (ring->sync_failure) status = ring->sync_failure;
        else if (!must_sync && record_sequence(LOAD(ring->header->state.synced)) >= sequence) break;
        else if (ring->is_syncing) pthread_cond_wait(&ring->sync_done, &ring->sync_mutex);
        else {
            uint64_t synced = 0;
            status = sync_once(ring, &synced);
            if (synced >= sequence) break;
        }
    }
    ring->sync_callers--;
    pthread_mutex_unlock(&ring->sync_mutex);
    return status;
}

larder_status larder_ring_sync(larder_ring *ring) {
    if (ring->read_only) return LARDER_EREADONLY;
    larder_status status = ring_lock(ring);
    if (status) return status;
    uint64_t newest = ring->newest;
    bool writes = ring->is_writing;
    ring_unlock(ring);
    // Also removals and cursors are made durable, which have no number of their own.
    return writes ? ring_sync_until(ring, newest, true) : LARDER_OK;
}

larder_status larder_ring_sync_through(larder_ring *ring, uint64_t sequence) {
    if (ring->read_only) return LARDER_EREADONLY;
    larder_status status = ring_lock(ring);
    if (status) return status;
    if (sequence > ring->newest) sequence = ring->newest;
    ring_unlock(ring);
    return ring_sync_until(ring, sequence, false);
}

larder_status larder_ring_append_synced(larder_ring *ring, const void *message, size_t length,
                                        uint64_t *sequence) {
    uint64_t appended = 0;
    larder_status status = larder_ring_append(ring, message, length, &appended);
    if (sequence) *sequence = appended;
    return status ? status : ring_sync_until(ring, appended, false);
}

// The background sync -----------------------------------------------------------------------------

static void *sync_loop(void *context) {
    larder_ring *ring = context;
    pthread_mutex_lock(&ring->sync_mutex);
    while (!ring->stops_sync_thread) {
        // Not dirty: sleep until an append says so. Dirty: let more come, up to the interval.
        larder_status status = ring_lock(ring);
        if (status) break;
        bool is_dirty = ring->is_dirty;
        ring_unlock(ring);
        if (!is_dirty) {
            pthread_cond_wait(&ring->sync_wanted, &ring->sync_mutex);
            continue;
        }
        if (condition_wait(&ring->sync_wanted, &ring->sync_mutex, ring->sync_interval_ns) !=
            ETIMEDOUT)
            continue;
        if (ring->stops_sync_thread) break;
        if (ring_lock(ring) == LARDER_OK) {
            ring->is_dirty = false;
            ring_unlock(ring);
        }
        while (ring->is_syncing) pthread_cond_wait(&ring->sync_done, &ring->sync_mutex);
        uint64_t synced;
        // A failure stays in sync_failure, where the next caller of sync finds it.
        if (ring->sync_failure || sync_once(ring, &synced) || sync_mark(ring)) break;
    }
    pthread_mutex_unlock(&ring->sync_mutex);
    return NULL;
}

void ring_sync_wake(larder_ring *ring) {
    pthread_mutex_lock(&ring->sync_mutex);
    if (!ring->has_sync_thread && !ring->stops_sync_thread && !ring->is_shut &&
        ring->sync_interval_ns > 0) {
        // Without a thread there is no background sync, and everything else works.
        ring->has_sync_thread = pthread_create(&ring->sync_thread, NULL, sync_loop, ring) == 0;
    }
    pthread_cond_signal(&ring->sync_wanted);
    pthread_mutex_unlock(&ring->sync_mutex);
}

void ring_sync_stop(larder_ring *ring) {
    pthread_mutex_lock(&ring->sync_mutex);
    bool joins = ring->has_sync_thread;
    ring->has_sync_thread = false;
    ring->stops_sync_thread = true;
    pthread_cond_broadcast(&ring->sync_wanted);
    pthread_mutex_unlock(&ring->sync_mutex);
    if (joins) pthread_join(ring->sync_thread, NULL);
}

// Waiting for messages ----------------------------------------------------------------------------

void ring_wake_waiters(larder_ring *ring) {
    pthread_mutex_lock(&ring->wait_mutex);
    pthread_cond_broadcast(&ring->wait_appended);
    pthread_mutex_unlock(&ring->wait_mutex);
}

larder_status larder_ring_wait(larder_ring *ring, uint64_t sequence, int64_t timeout_ns) {
    if (atomic_load_explicit(ring->lock, memory_order_relaxed) == LOCK_FORKED)
        return LARDER_EFORKED;
    int64_t now = system_monotonic_ns();
    bool is_endless = timeout_ns < 0 || timeout_ns > INT64_MAX - now;
    int64_t until = is_endless ? INT64_MAX : now + timeout_ns;
    pthread_mutex_lock(&ring->wait_mutex);
    // Before looking: see ring_announce.
    atomic_fetch_add_explicit(&ring->waiters, 1, memory_order_relaxed);
    larder_status status;
    for (;;) {
        status = ring_lock(ring);
        if (status) break;
        ring_view view = ring_view_get(ring);
        ring_unlock(ring);
        if (view.newest > sequence && view.end > view.oldest) break;
        int64_t left = until == INT64_MAX ? INT64_MAX : until - system_monotonic_ns();
        if (left <= 0) {
            status = LARDER_END;
            break;
        }
        if (ring->read_only && left > LOOK_AGAIN_NS) left = LOOK_AGAIN_NS;
        if (left == INT64_MAX) pthread_cond_wait(&ring->wait_appended, &ring->wait_mutex);
        else (void)condition_wait(&ring->wait_appended, &ring->wait_mutex, left);
    }
    atomic_fetch_sub_explicit(&ring->waiters, 1, memory_order_relaxed);
    pthread_mutex_unlock(&ring->wait_mutex);
    return status;
}
