// SPDX-License-Identifier: MIT
/** @file close.c
    From a ring back to a file: with a sync, which seals it, or without one. */
#include <stdlib.h>

#include "larder_os_fork.h"
#include "ring/ring_internal.h"

/** After the last sync: what the next open may believe in any start of the machine. */
static void ring_seal_file(larder_ring *ring) {
    ring_header *header = ring->header;
    uint64_t tag = record_tag(ring->newest, record_generation(LOAD(header->floor.syncing)));
    STORE(header->floor.syncing, tag);
    STORE(header->floor.synced, tag);
    STORE(header->session.promised, ring->newest);
    // Whoever opens it next has these numbers, for what may be written before a header that is not
    // sealed is on the device; more would only make the gap larger that a power cut leaves.
    uint64_t floor = ring->next_sequence + larder_ring_window_bytes / RING_HEAD_BYTES;
    if (floor < LOAD(header->session.floor_synced)) {
        ring_store_next_floor(header, floor);
        STORE(header->session.floor_synced, floor);
    }
    uint64_t free_bytes = ring->oldest + ring->data_bytes - ring->end;
    uint64_t window = larder_ring_window_bytes < free_bytes ? larder_ring_window_bytes : free_bytes;
    STORE(header->session.sealed_limit, ring->end + window);
    STORE(header->session.unsynced, UNSYNCED_NOTHING);
}

/** Marks the file as closed, unless a sync has failed, and releases it; both locks are held. */
static larder_status ring_leave(larder_ring *ring, larder_status status, bool syncs) {
    ring->is_shut = true;
    ring_header *header = ring->header;
    if (!ring->read_only) {
        // Others may have appended after the sync.
        if (syncs && !status && !ring->sync_failure && ring->synced < ring->newest)
            status = larder_ring_mark(ring);
        bool is_good = !status && !ring->sync_failure;
        if (syncs && is_good) ring_seal_file(ring);
        // While it is open, `closed_crc` may be that of the open without a change.
        STORE_RELEASE(header->state.closed_crc, 0);
        STORE(header->opened.writer_pid, 0);
        larder_ring_bell_end(ring);
        if (ring->is_writing && !is_good) larder_ring_unsettle(ring);
        else STORE_RELEASE(header->state.closed_crc, larder_ring_closed_crc(header));
    }
    larder_os_file_unmap(ring->map, ring->map_bytes);
    ring->map = NULL;
    if (!ring->read_only) larder_os_file_unlock(ring->file);
    larder_os_file_close(ring->file);
    ring->file = -1;
    return status;
}

static larder_status ring_end(larder_ring *ring, bool may_sync) {
    if (atomic_load_explicit(ring->lock, memory_order_relaxed) == LOCK_FORKED)
        return LARDER_EFORKED;
    larder_ring_sync_stop(ring);
    larder_status status = LARDER_OK;
    bool writes = false;
    if (!ring->read_only && ring_lock(ring) == LARDER_OK) {
        writes = LOAD(ring->header->session.unsynced) != UNSYNCED_NOTHING;
        ring_unlock(ring);
    }
    bool syncs = writes && may_sync;
    if (syncs) status = larder_ring_sync_last(ring);
    larder_status placed = writes ? larder_ring_check_place(ring) : LARDER_OK;
    if (placed == LARDER_ECLOSED) placed = LARDER_OK;
    pthread_mutex_lock(&ring->sync_mutex);
    while (ring->is_syncing) pthread_cond_wait(&ring->sync_done, &ring->sync_mutex);
    if (ring_lock(ring) == LARDER_OK) {
        status = ring_leave(ring, status, syncs);
        atomic_store_explicit(ring->lock, LOCK_SHUT, memory_order_release);
    }
    pthread_mutex_unlock(&ring->sync_mutex);
    larder_ring_wake_waiters(ring);
    return status ? status : placed;
}

larder_status larder_ring_shutdown(larder_ring *ring) { return ring_end(ring, true); }

larder_status larder_ring_shutdown_unsynced(larder_ring *ring) { return ring_end(ring, false); }

void larder_ring_close(larder_ring *ring) {
    if (!ring) return;
    if (larder_ring_shutdown(ring) == LARDER_EFORKED) {
        // The child's copy: the parent's lock, file and threads are not ours to touch.
        larder_os_file_unmap(ring->map, ring->map_bytes);
        larder_os_file_close(ring->file);
        larder_ring_bell_unmap(ring);
        larder_os_fork_page_free((void *)ring->lock);
        free(ring->path);
        free(ring);
        return;
    }
    larder_ring_free(ring);
}
