// SPDX-License-Identifier: MIT
/** @file lock.c
    Taking the ring's lock where others hold it, and the first change after that. Invariants are
    those of ring/layout.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <time.h>

#include "ring/ring_internal.h"

static inline void processor_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/** Waits longer and longer, without touching the lock's cache line in between. That is what makes
    two appending threads as fast as one: the one that holds the line appends hundreds of messages
    before the other looks again, where a queue would move the line at every message. */
COLD larder_status larder_ring_lock_slowly(larder_ring *ring) {
    uint32_t pauses = 64;
    struct timespec nap = {0, 20000};
    for (;;) {
        uint32_t seen = atomic_load_explicit(ring->lock, memory_order_relaxed);
        if (seen == LOCK_FREE) {
            if (atomic_compare_exchange_strong_explicit(ring->lock, &seen, LOCK_HELD,
                                                        memory_order_acquire, memory_order_relaxed))
                return LARDER_OK;
        }
        if (seen == LOCK_FORKED) return LARDER_EFORKED;
        if (seen == LOCK_SHUT) return LARDER_ECLOSED;
        if (pauses <= 2048) {
            for (uint32_t i = 0; i < pauses; i++) processor_pause();
            pauses *= 2;
        } else {
            // The holder may have lost its processor; leave it ours.
            nanosleep(&nap, NULL);
            if (nap.tv_nsec < 1000000) nap.tv_nsec *= 2;
        }
    }
}

larder_status larder_ring_begin_writing(larder_ring *ring) {
    if (ring->read_only) {
        ring_unlock(ring);
        return LARDER_EREADONLY;
    }
    STORE_RELEASE(ring->header->state.closed_crc, 0);
    // What an earlier writer left unknown stays so.
    if (LOAD(ring->header->session.unsynced) == UNSYNCED_NOTHING)
        STORE(ring->header->session.unsynced, UNSYNCED_CHANGES);
    ring->is_writing = true;
    // In a file that was made to hurt the oldest may be elsewhere without any damage.
    if (ring->damaged_oldest || LOAD(ring->header->state.oldest) != ring->oldest) {
        ring_opened *opened = &ring->header->opened;
        STORE(opened->lost, LOAD(opened->lost) + ring->damaged_oldest);
        larder_ring_unsettle(ring);
        STORE(ring->header->state.count, ring->count);
        ring_store_oldest(ring);
        larder_ring_settle(ring);
        ring->damaged_oldest = 0;
    }
    return LARDER_OK;
}

void larder_ring_unsettle(larder_ring *ring) {
    STORE(ring->header->session.unsettled, 1);
    // If we crash here, or before larder_ring_settle, the next open walks the file.
    atomic_thread_fence(memory_order_seq_cst);
    ring->is_unsettled = true;
}

void larder_ring_settle(larder_ring *ring) {
    ring_session *session = &ring->header->session;
    uint64_t missing = 0;
    if (ring->oldest < ring->end) missing = ring->newest - ring->oldest_sequence + 1 - ring->count;
    STORE(session->missing, missing);
    STORE(session->missing_complement, ~missing);
    STORE_RELEASE(session->unsettled, 0);
    ring->is_unsettled = false;
}
