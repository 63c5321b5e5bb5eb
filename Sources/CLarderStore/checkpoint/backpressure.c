// SPDX-License-Identifier: MIT
/** @file backpressure.c
    Slows writers that are faster than the flusher, each a little, instead of stopping one of them
    for a whole flush.

    The last eighth of the journal is given out over the flush that the first byte of it calls for:
    after the time t, of about T that the last flush took, t / (t + T/8) of it. That hands out seven
    eighths in the time T, and never all: a flush that takes ten times as long makes the wait for a
    small write longer by some hundred microseconds, not by the rest of the flush. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "condition.h"
#include "store/store_internal.h"

enum {
    /** A writer may be so far ahead; a sleep is at least as long, so that sleeps are few. */
    AHEAD_MAX_NS = 500000,
    SLEEP_MAX_NS = 10000000,
    /** What the first flush is thought to take, for each byte of the journal. */
    FIRST_NS_PER_BYTE = 4
};
static const int64_t TOOK_MAX_NS = 1000000000;

/** Where the last eighth begins. */
static uint64_t free_part(const store_journal *journal) {
    return journal->data_bytes - journal->data_bytes / 8;
}

/** How long to wait before so many more bytes are taken; 0: not at all. */
static int64_t time_ahead(larder_store *store, size_t length) {
    const store_journal *journal = &store->journal;
    backpressure *pressure = &store->backpressure;
    uint64_t used = journal->used_bytes + length;
    // Nobody will come and make room, or nobody can.
    if (!store->has_thread || atomic_load(&store->last_failure) != LARDER_OK) return 0;
    int64_t now = system_monotonic_ns();
    if (pressure->since_ns == 0) pressure->since_ns = now;
    // What does not fit at all is the flush's.
    if (used >= journal->data_bytes) return 0;
    int64_t took = pressure->took_ns;
    if (took == 0) took = (int64_t)(journal->data_bytes * FIRST_NS_PER_BYTE);
    if (took > TOOK_MAX_NS) took = TOOK_MAX_NS;
    double taken = (double)(used - free_part(journal));
    double left = (double)(journal->data_bytes - used);
    double due = (double)took / 8 * taken / left;
    int64_t elapsed = now - pressure->since_ns;
    if (due >= (double)(elapsed + SLEEP_MAX_NS)) return SLEEP_MAX_NS;
    int64_t ahead = (int64_t)due - elapsed;
    return ahead < AHEAD_MAX_NS ? 0 : ahead;
}

bool store_hold_back(larder_store *store, size_t length) {
    if (store->journal.used_bytes + length <= free_part(&store->journal)) return false;
    int64_t wait = time_ahead(store, length);
    if (wait == 0) return false;
    // Before the write that reaches the last eighth nobody has told the flusher.
    if (store->frozen == NULL && !store->wants_flush) {
        store->wants_flush = true;
        pthread_cond_signal(&store->wake);
    }
    condition_wait(&store->backpressure.relief, &store->lock, wait);
    return true;
}

void store_relieve(larder_store *store) {
    backpressure *pressure = &store->backpressure;
    if (pressure->since_ns == 0 || store->journal.used_bytes > free_part(&store->journal)) return;
    pressure->took_ns = system_monotonic_ns() - pressure->since_ns;
    pressure->since_ns = 0;
    pthread_cond_broadcast(&pressure->relief);
}
