// SPDX-License-Identifier: MIT
/** @file sync.c
    Durability: group commit, and the background sync. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "larder_os_condition.h"
#include "larder_os_machine.h"
#include "ring/ring_internal.h"

/** No system has smaller pages. */
#define PAGE_BYTES ((uint64_t)4096)

/** After this time the background asks again for a descriptor that could not be had. */
#define RETRY_NS ((int64_t)10000000)

void larder_ring_sync_init(larder_ring *ring, int64_t interval_ns) {
    pthread_mutex_init(&ring->device_mutex, NULL);
    pthread_mutex_init(&ring->sync_mutex, NULL);
    pthread_mutex_init(&ring->wait_mutex, NULL);
    larder_os_condition_init(&ring->sync_done);
    larder_os_condition_init(&ring->sync_wanted);
    larder_os_condition_init(&ring->wait_appended);
    ring->seen_newest = UINT64_MAX;
    ring->sync_interval_ns = interval_ns;
    ring->is_dirty = interval_ns == 0;
}

void larder_ring_sync_destroy(larder_ring *ring) {
    pthread_cond_destroy(&ring->wait_appended);
    pthread_cond_destroy(&ring->sync_wanted);
    pthread_cond_destroy(&ring->sync_done);
    pthread_mutex_destroy(&ring->wait_mutex);
    pthread_mutex_destroy(&ring->sync_mutex);
    pthread_mutex_destroy(&ring->device_mutex);
}

// What the device has ----------------------------------------------------------------------------

static void pages_redirty(larder_ring *ring, uint64_t from, uint64_t until) {
    for (uint64_t at = from / PAGE_BYTES * PAGE_BYTES; at < until; at += PAGE_BYTES)
        atomic_fetch_or_explicit((_Atomic uint8_t *)(ring->map + at), 0, memory_order_relaxed);
}

/** Makes the pages dirty that a failed sync may have left as if they were written (invariant 12).
    */
static void ring_redirty(larder_ring *ring) {
    uint64_t start = ring->fixed.data_offset, capacity = ring->fixed.capacity_bytes;
    ring_view view = larder_ring_view_get(ring);
    uint64_t synced = record_sequence(LOAD(ring->header->floor.synced));
    uint64_t from = larder_ring_offset_of(ring, &view, synced);
    if (LOAD(ring->header->session.unsynced) == UNSYNCED_UNKNOWN_ALL) start = capacity;
    pages_redirty(ring, 0, start);
    pages_redirty(ring, capacity - RING_FIXED_BYTES, capacity);
    if (start == capacity) return;
    for (uint64_t rest; from < view.end; from += rest) {
        uint64_t position = from % ring->data_bytes;
        rest = ring->data_bytes - position;
        if (rest > view.end - from) rest = view.end - from;
        pages_redirty(ring, start + position, start + position + rest);
    }
}

larder_status larder_ring_sync_file(larder_ring *ring, const ring_marking *marking) {
    int folder = -1;
    pthread_mutex_lock(&ring->device_mutex);
    // With the first sync the name has to get there, too. Where there is no descriptor for that,
    // the device was asked for nothing, and the next sync tries again.
    const bool names = !ring->is_named && !ring->is_temporary;
    larder_status status = names ? larder_os_parent_open_to_sync(ring->path, &folder) : LARDER_OK;
    if (status) {
        pthread_mutex_unlock(&ring->device_mutex);
        return status;
    }
    status = larder_os_map_sync(ring->file, ring->map, ring->map_bytes);
    if (!status && names) status = larder_os_file_sync_name(ring->file, folder);
    larder_os_file_close(folder);
    if (status) atomic_fetch_add_explicit(&ring->sync_failures, 1, memory_order_relaxed);
    else if (LOAD(ring->sync_failures) != marking->failures) status = EIO;
    pthread_mutex_unlock(&ring->device_mutex);
    return status;
}

ring_marking larder_ring_mark_begin(larder_ring *ring) {
    ring_header *header = ring->header;
    uint32_t failures = LOAD(ring->sync_failures);
    if (failures != ring->sync_failures_mended) ring_redirty(ring);
    if (LOAD(header->session.unsynced) < UNSYNCED_UNKNOWN)
        STORE(header->session.unsynced, UNSYNCED_UNKNOWN);
    uint64_t next = LOAD(header->floor.next_floor);
    if (next < ring->next_sequence + larder_ring_numbers_ahead / 4 * 3 ||
        next > RING_SEQUENCE_MAX) {
        next = ring_floor_from(ring->next_sequence);
        ring_store_next_floor(header, next);
    }
    return (ring_marking){record_sequence(LOAD(header->floor.synced)), next, failures};
}

void larder_ring_mark_end(larder_ring *ring, ring_marking marking) {
    ring_session *session = &ring->header->session;
    if (marking.synced > ring->marked) ring->marked = marking.synced;
    if (marking.floor > ring->floor) ring->floor = marking.floor;
    STORE(session->marked, ring->marked);
    STORE(session->floor_synced, ring->floor);
    STORE(session->sealed_limit, 0);
    ring->wants_mark = false;
    ring->is_established = true;
    if (!ring->is_named && !ring->is_temporary) {
        // If we crash here, the backup may be torn; the header that it is a copy of is there.
        ring->is_named = true;
        larder_ring_store_backup(ring);
    }
    larder_ring_limit(ring);
    // Another one may have failed since this one succeeded.
    if (LOAD(ring->sync_failures) != marking.failures) return;
    ring->sync_failures_mended = marking.failures;
    STORE(session->unsynced, UNSYNCED_CHANGES);
}

larder_status larder_ring_mark(larder_ring *ring) {
    ring_marking marking = larder_ring_mark_begin(ring);
    larder_status status = larder_ring_sync_file(ring, &marking);
    if (!status) larder_ring_mark_end(ring, marking);
    return status;
}

void larder_ring_limit(larder_ring *ring) {
    uint64_t sealed = LOAD(ring->header->session.sealed_limit);
    uint64_t left = ring->floor > ring->next_sequence ? ring->floor - ring->next_sequence : 0;
    uint64_t early = larder_ring_numbers_ahead / 2;
    // A sealed ring has numbers for as many bytes as it may write, so those bytes are what counts.
    if (ring->wants_mark || sealed) early = 0;
    // A record takes at least its head.
    ring->soft_limit = ring->end + (left > early ? left - early : 0) * RING_HEAD_BYTES;
    if (!sealed) return;
    uint64_t limit = ring->wants_mark ? sealed : ring_sealed_half_way(sealed);
    if (limit < ring->soft_limit) ring->soft_limit = limit;
}

// Group commit ------------------------------------------------------------------------------------

/** Lets the callers of the last group come back before the next sync sets out, for at most an
    eighth of what a sync takes: woken together, they are about to append, and without this the
    first of them would sync alone. Measured with eight threads: 0.29 of a lone caller's time
    instead of 0.38. `sync_mutex` is held, and given up in between. */
static void sync_gather(larder_ring *ring) {
    if (ring->sync_group <= 1) return;
    int64_t until = larder_os_monotonic_ns() + ring->sync_took_ns / 8;
    while (ring->sync_callers < ring->sync_group && larder_os_monotonic_ns() < until) {
        pthread_mutex_unlock(&ring->sync_mutex);
        sched_yield();
        pthread_mutex_lock(&ring->sync_mutex);
    }
}

/** The system call, whose failure stays. `sync_mutex` is held, and given up over it. */
static larder_status sync_unlocked(larder_ring *ring, const ring_marking *marking) {
    pthread_mutex_unlock(&ring->sync_mutex);
    int64_t start = larder_os_monotonic_ns();
    larder_status status = larder_ring_sync_file(ring, marking);
    int64_t took = larder_os_monotonic_ns() - start;
    pthread_mutex_lock(&ring->sync_mutex);
    ring->sync_took_ns = took;
    if (status && LOAD(ring->sync_failures) != marking->failures) ring->sync_failure = status;
    return status;
}

/** Brings the header to the device once more (invariants 9 to 11), and then raises what callers are
    told to `promise`. `sync_mutex` is held, and given up over the system call. */
static larder_status sync_mark(larder_ring *ring, uint64_t promise) {
    larder_status locked = ring_lock(ring);
    if (locked) return locked;
    ring_marking marking = larder_ring_mark_begin(ring);
    ring_unlock(ring);
    ring->is_syncing = true;
    larder_status status = sync_unlocked(ring, &marking);
    if (!status) status = ring_lock(ring);
    if (!status) {
        larder_ring_mark_end(ring, marking);
        if (promise > ring->synced) {
            ring->synced = promise;
            STORE(ring->header->session.promised, promise);
        }
        ring_unlock(ring);
    }
    ring->is_syncing = false;
    pthread_cond_broadcast(&ring->sync_done);
    return status;
}

/** One sync of everything appended so far. `sync_mutex` is held and given up over the system call.
    @param keeps_silent nobody is told yet: sync_mark does, once no append can have to wait for it.
    @param synced receives what is now durable. */
static larder_status sync_once(larder_ring *ring, bool keeps_silent, uint64_t *synced) {
    ring->is_syncing = true;
    sync_gather(ring);
    ring->sync_group = ring->sync_callers;
    larder_status status = ring_lock(ring);
    if (!status && !ring->is_writing) status = larder_ring_begin_writing(ring);
    if (status) {
        ring->is_syncing = false;
        pthread_cond_broadcast(&ring->sync_done);
        return status;
    }
    ring_floor *floor = &ring->header->floor;
    ring_marking marking = larder_ring_mark_begin(ring);
    uint64_t target = ring->newest;
    uint8_t generation = (uint8_t)(record_generation(ring->generation_bits) + 1);
    // If we crash here, or in the sync, the header names a sync that may not have been completed;
    // recovery finds out whether it was.
    STORE(floor->syncing, record_tag(target, generation));
    ring_unlock(ring);

    status = sync_unlocked(ring, &marking);
    if (!status) status = ring_lock(ring);
    if (!status) {
        larder_ring_mark_end(ring, marking);
        ring->generation_bits = record_tag(0, generation);
        STORE(floor->synced, record_tag(target, generation));
        if (!keeps_silent) {
            ring->synced = target;
            STORE(ring->header->session.promised, target);
        }
        ring_unlock(ring);
        *synced = target;
    }
    ring->is_syncing = false;
    pthread_cond_broadcast(&ring->sync_done);
    return status;
}

/** A sync that no append has to wait for: two of the device, the second of which has little to do.
    A ring that drops nothing by itself does with one. */
static larder_status sync_quietly(larder_ring *ring, uint64_t *synced) {
    larder_status status = sync_once(ring, ring->overwrite, synced);
    if (!status && ring->overwrite) status = sync_mark(ring, *synced);
    return status;
}

/** What a caller waits for. */
typedef enum sync_kind {
    /** That what has a number is on the device. */
    SYNC_MESSAGE,
    /** That all is, also what has no number. */
    SYNC_ALL,
    /** The same for the last time: nobody will append. */
    SYNC_LAST
} sync_kind;

/** Of a handle that writes, and is this process's: whoever asks has had its lock. Waits for the
    sync under way, if there is one, and then lets one caller make the next: all who came meanwhile
    are served by it. */
static larder_status sync_until(larder_ring *ring, uint64_t sequence, sync_kind kind) {
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&ring->sync_mutex);
    ring->sync_callers++;
    while (!status) {
        if (ring->is_shut) status = LARDER_ECLOSED;
        else if (ring->sync_failure) status = ring->sync_failure;
        else if (kind == SYNC_MESSAGE && LOAD(ring->header->session.promised) >= sequence) break;
        else if (ring->is_syncing) pthread_cond_wait(&ring->sync_done, &ring->sync_mutex);
        else {
            uint64_t synced = 0;
            status =
                kind == SYNC_ALL ? sync_quietly(ring, &synced) : sync_once(ring, false, &synced);
            if (synced >= sequence) break;
        }
    }
    ring->sync_callers--;
    pthread_mutex_unlock(&ring->sync_mutex);
    return status;
}

/** What was synced is of use if the next open finds it. */
static larder_status sync_found(larder_ring *ring, larder_status status) {
    if (status) return status;
    status = larder_ring_check_place(ring);
    // Whoever shut it meanwhile was told.
    return status == LARDER_ECLOSED ? LARDER_OK : status;
}

larder_status larder_ring_sync_last(larder_ring *ring) {
    larder_status locked = ring_lock(ring);
    if (locked) return locked;
    uint64_t newest = ring->newest;
    ring_unlock(ring);
    return sync_until(ring, newest, SYNC_LAST);
}

larder_status larder_ring_sync(larder_ring *ring) {
    if (ring->read_only) return LARDER_EREADONLY;
    larder_status status = ring_lock(ring);
    if (status) return status;
    uint64_t newest = ring->newest;
    // Of a handle that has changed nothing, perhaps one before it has.
    bool writes = LOAD(ring->header->session.unsynced) != UNSYNCED_NOTHING;
    ring_unlock(ring);
    // Also removals and cursors are made durable, which have no number of their own.
    return sync_found(ring, writes ? sync_until(ring, newest, SYNC_ALL) : LARDER_OK);
}

larder_status larder_ring_sync_through(larder_ring *ring, uint64_t sequence) {
    if (ring->read_only) return LARDER_EREADONLY;
    larder_status status = ring_lock(ring);
    if (status) return status;
    if (sequence > ring->newest) sequence = ring->newest;
    ring_unlock(ring);
    return sync_found(ring, sync_until(ring, sequence, SYNC_MESSAGE));
}

larder_status larder_ring_append_synced(larder_ring *ring, const void *message, size_t length,
                                        uint64_t *sequence) {
    uint64_t appended = 0;
    larder_status status = larder_ring_append(ring, message, length, &appended);
    if (sequence) *sequence = appended;
    return status ? status : sync_found(ring, sync_until(ring, appended, SYNC_MESSAGE));
}

// The background sync -----------------------------------------------------------------------------

static void *sync_loop(void *context) {
    larder_ring *ring = context;
    pthread_mutex_lock(&ring->sync_mutex);
    // A failure stays in sync_failure, where the next caller of sync finds it.
    while (!ring->stops_sync_thread && !ring->sync_failure && ring_lock(ring) == LARDER_OK) {
        bool wants_mark = ring->wants_mark;
        bool is_dirty = ring->is_dirty && ring->sync_interval_ns > 0;
        ring_unlock(ring);
        // Not dirty: sleep until an append says so. Dirty: let more come, up to the interval.
        if (wants_mark && ring->is_syncing) {
            pthread_cond_wait(&ring->sync_done, &ring->sync_mutex);
        } else if (wants_mark) {
            if (sync_mark(ring, 0) && !ring->sync_failure)
                (void)larder_os_condition_wait(&ring->sync_wanted, &ring->sync_mutex, RETRY_NS);
        } else if (!is_dirty) {
            pthread_cond_wait(&ring->sync_wanted, &ring->sync_mutex);
        } else if (larder_os_condition_wait(&ring->sync_wanted, &ring->sync_mutex,
                                            ring->sync_interval_ns) == ETIMEDOUT &&
                   !ring->stops_sync_thread && ring_lock(ring) == LARDER_OK) {
            ring->is_dirty = false;
            ring_unlock(ring);
            while (ring->is_syncing) pthread_cond_wait(&ring->sync_done, &ring->sync_mutex);
            uint64_t synced;
            if (!ring->sync_failure && sync_quietly(ring, &synced) &&
                ring_lock(ring) == LARDER_OK) {
                // If it stays for want of a descriptor, the next interval tries again.
                ring->is_dirty = true;
                ring_unlock(ring);
            }
        }
    }
    pthread_mutex_unlock(&ring->sync_mutex);
    return NULL;
}

void larder_ring_sync_wake(larder_ring *ring) {
    pthread_mutex_lock(&ring->sync_mutex);
    if (!ring->has_sync_thread && !ring->stops_sync_thread) {
        // Without a thread there is no background sync, and everything else works.
        ring->has_sync_thread = pthread_create(&ring->sync_thread, NULL, sync_loop, ring) == 0;
    }
    pthread_cond_signal(&ring->sync_wanted);
    pthread_mutex_unlock(&ring->sync_mutex);
}

void larder_ring_sync_stop(larder_ring *ring) {
    pthread_mutex_lock(&ring->sync_mutex);
    bool joins = ring->has_sync_thread;
    ring->has_sync_thread = false;
    ring->stops_sync_thread = true;
    pthread_cond_broadcast(&ring->sync_wanted);
    pthread_mutex_unlock(&ring->sync_mutex);
    if (joins) pthread_join(ring->sync_thread, NULL);
}
