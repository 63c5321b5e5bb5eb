// SPDX-License-Identifier: MIT
/** @file backpressure.c
    Slows writers that are faster than checkpoints, each a little, instead of stopping one of them
    for a whole checkpoint.

    The last eighth of what may wait is released over the checkpoint that its first byte starts:
    after the time t, of about T that the last one took, t / (t + T/8) of it. That releases seven
    eighths in the time T, and never all: a checkpoint that takes ten times as long makes the wait
    for a small write longer by some hundred microseconds, not by the rest of the checkpoint. */
#include "checkpoint/checkpoint.h"

enum {
    /** A writer may be so far ahead; a sleep is at least as long, so that sleeps are few. */
    AHEAD_MAX_NS = 500000,
    SLEEP_MAX_NS = 10000000,
    /** What the first checkpoint is thought to take, for each byte that waits. */
    FIRST_NS_PER_BYTE = 4
};
static const int64_t TOOK_MAX_NS = 1000000000;

/** How long to wait before so much waits; 0: not at all. */
static int64_t time_ahead(pending_writes *pending, size_t length) {
    // How much waits, as a part of 1: of the bytes that may, or of the keys.
    double bytes = (double)(pending->active->bytes + length) / (double)pending->room.active_bytes;
    double keys = (double)pending->active->count / (double)pending->room.active_count;
    double filled = bytes > keys ? bytes : keys;
    backpressure *pressure = &pending->pressure;
    int64_t now = larder_os_monotonic_ns();
    if (pressure->since_ns == 0) pressure->since_ns = now;
    // What does not fit at all is the checkpoint's.
    if (filled >= 1) return 0;
    int64_t took = pressure->took_ns;
    if (took == 0) took = (int64_t)(pending->room.active_bytes * FIRST_NS_PER_BYTE);
    if (took > TOOK_MAX_NS) took = TOOK_MAX_NS;
    double due = (double)took / 8 * (filled - 7.0 / 8) / (1 - filled);
    int64_t elapsed = now - pressure->since_ns;
    if (due >= (double)(elapsed + SLEEP_MAX_NS)) return SLEEP_MAX_NS;
    int64_t ahead = (int64_t)due - elapsed;
    return ahead < AHEAD_MAX_NS ? 0 : ahead;
}

bool larder_store_hold_back(larder_store *store, size_t length) {
    pending_writes *pending = &store->pending;
    maintenance *work = &store->maintenance;
    // Nobody will come and make room, or nobody can.
    if (!pending_is_nearly_full(pending, length) || !work->has_thread ||
        atomic_load(&store->figures.last_failure) != LARDER_OK)
        return false;
    int64_t wait = time_ahead(pending, length);
    if (wait == 0) return false;
    // Before the write that reaches the last eighth nobody has told the thread.
    if (pending->frozen == NULL && !work->wants_flush) {
        work->wants_flush = true;
        larder_store_wake(store);
    }
    larder_os_condition_wait(&pending->pressure.relief, &pending->lock, wait);
    return true;
}

void larder_pending_relieve(pending_writes *pending) {
    backpressure *pressure = &pending->pressure;
    if (pressure->since_ns == 0 || pending_is_nearly_full(pending, 0)) return;
    pressure->took_ns = larder_os_monotonic_ns() - pressure->since_ns;
    pressure->since_ns = 0;
    pressure->is_behind = false;
    pthread_cond_broadcast(&pressure->relief);
}

void larder_pending_restart(pending_writes *pending) {
    backpressure *pressure = &pending->pressure;
    if (pressure->since_ns != 0) {
        const int64_t now = larder_os_monotonic_ns();
        // Eviction and cleaning took their time as well.
        if (pressure->is_behind) pressure->took_ns = now - pressure->since_ns;
        pressure->since_ns = now;
        pressure->is_behind = true;
    }
    pthread_cond_broadcast(&pressure->relief);
}

void larder_pending_wait(pending_writes *pending) {
    larder_os_condition_wait(&pending->pressure.relief, &pending->lock, SLEEP_MAX_NS);
}
