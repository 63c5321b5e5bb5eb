// SPDX-License-Identifier: MIT
// Holding an index when somebody else holds it: index/lock.h tells the idea.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index/lock.h"
#include "larder_os_wait.h"

enum { SPINS = 100 };

_Thread_local uint32_t larder_index_thread;

static void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Returns when the gate was open for a moment.
static void gate_wait(_Atomic uint32_t *gate) {
    for (int spins = 0; spins < SPINS; spins++) {
        if (atomic_load_explicit(gate, memory_order_relaxed) == GATE_OPEN) return;
        spin_pause();
    }
    for (;;) {
        uint32_t seen = atomic_load_explicit(gate, memory_order_relaxed);
        if (seen == GATE_OPEN) return;
        if (seen == GATE_CLOSED_WAITED ||
            atomic_compare_exchange_strong_explicit(gate, &seen, GATE_CLOSED_WAITED,
                                                    memory_order_relaxed, memory_order_relaxed))
            larder_os_wait(gate, GATE_CLOSED_WAITED);
    }
}

static uint32_t thread_number(void) {
    static _Atomic uint32_t last;
    if (larder_index_thread == 0)
        larder_index_thread = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return larder_index_thread;
}

uint32_t larder_lock_read_slowly(larder_index *index) {
    if (atomic_load_explicit(&index->reads_exclusively, memory_order_relaxed)) {
        lock_write(index);
        // In order to read: it finds what readers do.
        index->is_held_for_writing = false;
        return TOKEN_EXCLUSIVE;
    }
    const uint32_t own = thread_number() & index->reader_mask;
    uint32_t at = own;
    for (int tries = 1;; tries++) {
        index_reader *reader = &index->readers[at];
        if (atomic_exchange(&reader->busy, 1) == 0) {
            if (atomic_load(&index->gate) == GATE_OPEN) break;
            atomic_store_explicit(&reader->busy, 0, memory_order_release);
            gate_wait(&index->gate);
        } else if (tries % SPINS == 0) {
            sched_yield();
        } else {
            spin_pause();
            at = (at + 1) & index->reader_mask;
        }
    }
    // Two threads that met in a place would do so again with each read: one of them stays where it
    // found one that is free.
    if (at != own) larder_index_thread = at != 0 ? at : index->reader_mask + 1;
    if (index->is_timed) larder_lock_take_time(index);
    return at;
}

void larder_lock_write_slowly(larder_index *index) {
    gate_wait(&index->gate);
    // Others may sleep: whoever has slept, or may have, leaves word for them.
    while (atomic_exchange(&index->gate, GATE_CLOSED_WAITED) != GATE_OPEN)
        larder_os_wait(&index->gate, GATE_CLOSED_WAITED);
}

void larder_lock_wait_for_readers(larder_index *index) {
    for (uint32_t at = 0; at <= index->reader_mask; at++)
        for (int spins = 1; atomic_load(&index->readers[at].busy) != 0; spins++) {
            if (spins % SPINS == 0) sched_yield();
            else spin_pause();
        }
}

void larder_lock_wake(larder_index *index) { larder_os_wake_all(&index->gate); }

void larder_lock_take_time(larder_index *index) {
    int64_t now = larder_index_now(index);
    // What a writer does not find it may add: so what has expired has to leave before.
    if (index->is_held_for_writing && index->heap_count > 0 &&
        index_is_near(index->heap[0].at, now))
        now = larder_index_fine_now(index);
    // Readers come together; the line is written when the clock has moved, and not by each of them.
    if (atomic_load_explicit(&index->now, memory_order_relaxed) < now)
        atomic_store_explicit(&index->now, now, memory_order_relaxed);
}

// Readers -----------------------------------------------------------------------------------------

larder_status larder_index_readers_create(larder_index *index) {
    uint32_t wanted = index->options.readers;
    if (wanted == 0) {
        const long processors = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = processors > 0 ? (uint32_t)processors : 1;
    }
    uint32_t count = 1;
    while (count < wanted && count < READERS_MAX) count *= 2;
    void *readers = NULL;
    if (posix_memalign(&readers, _Alignof(index_reader), count * sizeof(index_reader)) != 0)
        return ENOMEM;
    memset(readers, 0, count * sizeof(index_reader));
    index->readers = readers;
    index->reader_mask = count - 1;
    return LARDER_OK;
}

void larder_index_readers_destroy(larder_index *index) { free(index->readers); }

// Notes -------------------------------------------------------------------------------------------

enum { NOTES_AHEAD = 8 };

// Brings nearer what the policy will touch, so that it does not wait for each entry in turn: first
// what is the entry's own; later, when that is there, what it leads to.
static void approach(const larder_index *index, larder_index_slot slot) {
    const index_segment *segment = index_segment_of(index, slot);
    const uint32_t place = index_place_of(slot);
    __builtin_prefetch(&segment->marks[place], 1);
    __builtin_prefetch(&segment->links[place], 1);
    __builtin_prefetch(&segment->entries[place]);
    if (index->has_costs) __builtin_prefetch(&segment->costs[place]);
}

static void approach_further(const larder_index *index, larder_index_slot slot) {
    const index_link link = *index_link_of(index, slot);
    if (link.newer != LARDER_INDEX_NONE) __builtin_prefetch(index_link_of(index, link.newer), 1);
    if (link.older != LARDER_INDEX_NONE) __builtin_prefetch(index_link_of(index, link.older), 1);
    if (index->policy->approach != NULL) index->policy->approach(index, slot);
}

void larder_lock_tell_notes(larder_index *index, index_reader *reader) {
    const uint32_t count = reader->noted;
    for (uint32_t i = 0; i < count + 2 * NOTES_AHEAD; i++) {
        if (i < count) approach(index, reader->notes[i]);
        if (i >= NOTES_AHEAD && i - NOTES_AHEAD < count)
            approach_further(index, reader->notes[i - NOTES_AHEAD]);
        if (i < 2 * NOTES_AHEAD) continue;
        const larder_index_slot slot = reader->notes[i - 2 * NOTES_AHEAD];
        reader->hit_cost += larder_index_cost(index, slot);
        larder_index_used(index, slot);
    }
    reader->noted = 0;
}
