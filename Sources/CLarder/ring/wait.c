// SPDX-License-Identifier: MIT
/** @file wait.c
    Waiting for messages: on a condition in the writer's process, elsewhere on the file's bell.

    A waiter reads `word`, sets `armed`, and only then looks for messages. Whoever has published
    some looks at `armed`; if it is set, it clears it, changes `word`, which ends the waiting, and
    wakes all. The writer has no fence between the two, which would cost each append more than all
    else that is done for followers: its processor may look before others see what it published, and
    then neither sees the other. So the first sleep is a short one; at its end each has long seen
    what the other wrote.

    A waiter that was killed costs one wake-up. A writer that was killed before it woke anybody is
    made up for by the next one, which wakes all when it opens the ring, or by the end of a long
    sleep.

    A writer of a version without a bell leaves `bell.epoch` as it is, so that it is not that of the
    ring. Then, while nobody writes, and where the file may only be read, a waiter looks now and
    then. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>

#include "larder_os_condition.h"
#include "larder_os_machine.h"
#include "larder_os_wait.h"
#include "ring/ring_internal.h"

static const int64_t SHORT_SLEEP_NS = 1000000;
static const int64_t LONG_SLEEP_NS = (int64_t)20 * 1000000000;

// The bell ----------------------------------------------------------------------------------------

static void bell_ring(ring_bell *bell) {
    atomic_fetch_add(&bell->word, 1);
    larder_os_shared_wake_all(&bell->word);
}

void larder_ring_bell_ring(larder_ring *ring) {
    ring_bell *bell = &ring->header->floor.bell;
    // A waiter that sets it from here on has read the word before or after it changes; before, and
    // its sleep ends at once.
    atomic_store(&bell->armed, 0);
    bell_ring(bell);
}

void larder_ring_bell_begin(larder_ring *ring) {
    STORE_RELEASE(ring->header->floor.bell.epoch, (uint16_t)LOAD(ring->header->state.epoch));
    larder_ring_bell_ring(ring);
}

void larder_ring_bell_end(larder_ring *ring) {
    ring_bell *bell = &ring->header->floor.bell;
    // A version without a bell has these bytes in its checksum, as zeros.
    STORE(bell->epoch, 0);
    STORE(bell->armed, 0);
    atomic_store(&bell->word, 0);
    larder_os_shared_wake_all(&bell->word);
}

/** Maps the header of the same file, where it may be written to. */
static void bell_map(larder_ring *ring) {
    larder_os_facts own, found;
    int file = -1;
    ring->has_no_bell = true;
    if (!ring->path || larder_os_file_open(ring->path, LARDER_OS_WRITE, 0, &file)) return;
    larder_status status = ring_lock(ring);
    if (!status) {
        status = larder_os_file_facts_get(ring->file, &own);
        ring_unlock(ring);
    }
    if (!status) status = larder_os_file_facts_get(file, &found);
    if (!status && larder_os_is_same_file(&own, &found))
        ring->has_no_bell =
            larder_os_file_map(file, RING_HEADER_BYTES, true, &ring->bell_map) != LARDER_OK;
    larder_os_file_close(file);
}

void larder_ring_bell_unmap(larder_ring *ring) {
    larder_os_file_unmap(ring->bell_map, RING_HEADER_BYTES);
    ring->bell_map = NULL;
}

static ring_bell *bell_of(const larder_ring *ring) {
    return ring->bell_map ? &((ring_header *)(void *)ring->bell_map)->floor.bell : NULL;
}

/** Says that somebody waits, where a writer may look at that.
    @return what to sleep on `word` for, unless there is something new. */
static uint32_t bell_arm(ring_bell *bell) {
    uint32_t word = atomic_load(&bell->word);
    if (LOAD(bell->epoch) != 0 && LOAD(bell->armed) == 0) atomic_store(&bell->armed, 1);
    atomic_thread_fence(memory_order_seq_cst);
    return word;
}

static bool bell_is_rung(const ring_bell *bell, uint32_t epoch) {
    uint16_t own = LOAD(bell->epoch);
    return own != 0 && own == (uint16_t)epoch;
}

// Waiting -----------------------------------------------------------------------------------------

void larder_ring_wake_waiters(larder_ring *ring) {
    pthread_mutex_lock(&ring->wait_mutex);
    pthread_cond_broadcast(&ring->wait_appended);
    if (ring->bell_map) bell_ring(bell_of(ring));
    pthread_mutex_unlock(&ring->wait_mutex);
}

void larder_ring_interrupt(larder_ring *ring) {
    if (atomic_load_explicit(ring->lock, memory_order_relaxed) == LOCK_FORKED) return;
    atomic_store(&ring->is_interrupted, true);
    larder_ring_wake_waiters(ring);
}

/** What wakes nobody here: how long to sleep before looking again, if `newest` was just seen. Of
    all waits of the handle, however short each is. */
static int64_t look_again_ns(larder_ring *ring, uint64_t newest) {
    int64_t now = larder_os_monotonic_ns();
    if (newest != ring->seen_newest) {
        ring->seen_newest = newest;
        ring->seen_newest_ns = now;
    }
    return larder_os_look_again_ns(now - ring->seen_newest_ns);
}

/** Where a wait is. */
typedef struct ring_waiting {
    uint64_t sequence;
    /** On the monotonic clock; INT64_MAX for ever. */
    int64_t until_ns;
    /** As it was when it was looked at last, and whether it was at all. */
    uint32_t word;
    bool has_looked;
} ring_waiting;

/** Sleeps until it is time to look again; `wait_mutex` is held, but not over a sleep. */
static void sleep_once(larder_ring *ring, ring_waiting *self, ring_bell *bell, uint32_t word,
                       int64_t left, int64_t pause) {
    if (bell) {
        bool is_settled = self->has_looked && self->word == word;
        self->has_looked = true;
        self->word = word;
        pause = is_settled ? LONG_SLEEP_NS : SHORT_SLEEP_NS;
        pthread_mutex_unlock(&ring->wait_mutex);
        larder_os_shared_wait(&bell->word, word, left < pause ? left : pause);
        pthread_mutex_lock(&ring->wait_mutex);
        return;
    }
    self->has_looked = false;
    if (left > pause) left = pause;
    if (left == INT64_MAX) pthread_cond_wait(&ring->wait_appended, &ring->wait_mutex);
    else (void)larder_os_condition_wait(&ring->wait_appended, &ring->wait_mutex, left);
}

/** Looks, and sleeps if there is nothing; `wait_mutex` is held.
    @return whether the wait has ended, with `status`. */
static bool wait_once(larder_ring *ring, ring_waiting *self, larder_status *status) {
    if (ring->read_only && !ring->bell_map && !ring->has_no_bell) bell_map(ring);
    ring_bell *bell = bell_of(ring);
    uint32_t word = bell ? bell_arm(bell) : 0;
    // Before looking: whoever replaced the file had what was appended to it behind them.
    larder_status placed = ring->read_only ? larder_ring_check_place(ring) : LARDER_OK;
    *status = ring_lock(ring);
    if (*status) return true;
    ring_view view = larder_ring_view_get(ring);
    ring_unlock(ring);
    int64_t pause = ring->read_only ? look_again_ns(ring, view.newest) : INT64_MAX;
    if (view.newest > self->sequence && view.end > view.oldest) return true;
    *status = placed;
    if (placed) return true;
    int64_t left = self->until_ns;
    if (left != INT64_MAX) left -= larder_os_monotonic_ns();
    if (left <= 0) *status = ETIMEDOUT;
    else if (atomic_exchange(&ring->is_interrupted, false)) *status = ECANCELED;
    if (*status) return true;
    if (bell && !bell_is_rung(bell, view.epoch)) bell = NULL;
    sleep_once(ring, self, bell, word, left, pause);
    return false;
}

larder_status larder_ring_wait(larder_ring *ring, uint64_t sequence, int64_t timeout_ns) {
    if (atomic_load_explicit(ring->lock, memory_order_relaxed) == LOCK_FORKED)
        return LARDER_EFORKED;
    int64_t now = larder_os_monotonic_ns();
    bool is_endless = timeout_ns < 0 || timeout_ns > INT64_MAX - now;
    ring_waiting self = {.sequence = sequence,
                         .until_ns = is_endless ? INT64_MAX : now + timeout_ns};
    pthread_mutex_lock(&ring->wait_mutex);
    // Before looking: see ring_announce.
    atomic_fetch_add_explicit(&ring->waiters, 1, memory_order_relaxed);
    larder_status status;
    while (!wait_once(ring, &self, &status)) {
    }
    atomic_fetch_sub_explicit(&ring->waiters, 1, memory_order_relaxed);
    pthread_mutex_unlock(&ring->wait_mutex);
    return status;
}
