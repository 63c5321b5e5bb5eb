// SPDX-License-Identifier: MIT
// Holding an index: a lock that readers of different processors do not share a cache line of.
//
// A reader marks its own place as busy, and looks if the gate is open; a writer closes the gate, and
// looks if the places are free. Both first write and then look, in sequentially consistent order, so
// one of them sees the other. (Linux had such locks as "big reader locks"; the idea of the flags is
// Dekker's.) Reading costs one exchange of a line that no other processor wants.
//
// A place is also where a reader notes what it read. So notes need no lock of their own, and a
// writer, who waits for all places anyway, finds them there.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index_internal.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#elif defined(__APPLE__)
#include <os/os_sync_wait_on_address.h>
#include <sched.h>
#else
#include <sched.h>
#endif

enum {
    GATE_OPEN = 0,
    GATE_CLOSED = 1,
    /** And somebody sleeps until it opens. */
    GATE_CLOSED_WAITED = 2,
    SPINS = 100,
    /** A token of one who holds the index for writing in order to read. */
    TOKEN_EXCLUSIVE = READERS_MAX,
};

static void spin_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Sleeps while the gate is closed and waited for; may wake for no reason.
static void gate_sleep(_Atomic uint32_t *gate) {
#if defined(__linux__)
    syscall(SYS_futex, (uint32_t *)gate, FUTEX_WAIT_PRIVATE, GATE_CLOSED_WAITED, NULL, NULL, 0);
#elif defined(__APPLE__)
    os_sync_wait_on_address(gate, GATE_CLOSED_WAITED, sizeof *gate, OS_SYNC_WAIT_ON_ADDRESS_NONE);
#else
    sched_yield();
#endif
}

static void gate_wake_all(_Atomic uint32_t *gate) {
#if defined(__linux__)
    syscall(SYS_futex, (uint32_t *)gate, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
#elif defined(__APPLE__)
    os_sync_wake_by_address_all(gate, sizeof *gate, OS_SYNC_WAKE_BY_ADDRESS_NONE);
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
            gate_sleep(gate);
    }
}

static void gate_close(_Atomic uint32_t *gate) {
    uint32_t open = GATE_OPEN;
    if (atomic_compare_exchange_strong(gate, &open, GATE_CLOSED)) return;
    gate_wait(gate);
    // Others may sleep: whoever has slept, or may have, leaves word for them.
    while (atomic_exchange(gate, GATE_CLOSED_WAITED) != GATE_OPEN) gate_sleep(gate);
}

static void gate_open(_Atomic uint32_t *gate) {
    if (atomic_exchange_explicit(gate, GATE_OPEN, memory_order_release) == GATE_CLOSED_WAITED)
        gate_wake_all(gate);
}

// Readers -----------------------------------------------------------------------------------------

larder_status index_readers_create(larder_index *index) {
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

void index_readers_destroy(larder_index *index) { free(index->readers); }

// Threads are numbered as they come, so that the first few have a place each.
static uint32_t thread_number(void) {
    static _Atomic uint32_t last;
    static _Thread_local uint32_t own __attribute__((tls_model("initial-exec")));
    if (own == 0) own = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return own;
}

static void take_time(larder_index *index) {
    const int64_t now = larder_index_now(index);
    // Readers come together; the line is written when the clock has moved, and not by each of them.
    if (atomic_load_explicit(&index->now, memory_order_relaxed) < now)
        atomic_store_explicit(&index->now, now, memory_order_relaxed);
}

uint32_t larder_index_read_begin(larder_index *index) {
    if (atomic_load_explicit(&index->reads_exclusively, memory_order_relaxed)) {
        larder_index_write_begin(index);
        return TOKEN_EXCLUSIVE;
    }
    uint32_t at = thread_number() & index->reader_mask;
    for (int tries = 1;; tries++) {
        index_reader *reader = &index->readers[at];
        if (atomic_exchange(&reader->busy, 1) == 0) {
            if (atomic_load(&index->gate) == GATE_OPEN) break;
            atomic_store_explicit(&reader->busy, 0, memory_order_release);
            gate_wait(&index->gate);
        } else if ((tries & (SPINS - 1)) == 0) {
            sched_yield();
        } else {
            spin_pause();
            at = (at + 1) & index->reader_mask;
        }
    }
    if (index->is_timed) take_time(index);
    return at;
}

// The stamp of a read: later than all that were given to earlier reads of this thread.
static uint32_t reader_stamp(larder_index *index, index_reader *reader) {
    if (reader->stamps_left == 0) {
        reader->stamp = (uint32_t)atomic_fetch_add_explicit(&index->stamp, INDEX_STAMPS_TAKEN,
                                                            memory_order_relaxed);
        reader->stamps_left = INDEX_STAMPS_TAKEN;
    }
    reader->stamps_left--;
    return ++reader->stamp;
}

// Whether a writer has to come: a buffer is full, or stamps run out.
static bool reader_note(larder_index *index, index_reader *reader, larder_index_slot slot) {
    if (index->notes_reads) {
        if (reader->noted < READER_NOTES) reader->notes[reader->noted++] = slot;
        return reader->noted == READER_NOTES;
    }
    if (index->stamps_reads) {
        const uint32_t stamp = reader_stamp(index, reader);
        atomic_store_explicit(index_stamp_of(index, slot), stamp, memory_order_relaxed);
        return stamp >= INDEX_STAMPS_END;
    }
    if (index->marks_reads) index_mark_read(index, slot);
    return false;
}

static void read_end_exclusive(larder_index *index, larder_index_slot outcome) {
    if (outcome == LARDER_INDEX_NONE) {
        index->readers[0].misses++;
    } else if (outcome != LARDER_INDEX_QUIET) {
        index->readers[0].hits++;
        larder_index_touch(index, outcome);
    }
    larder_index_write_end(index);
}

void larder_index_read_end(larder_index *index, uint32_t token, larder_index_slot outcome) {
    if (token == TOKEN_EXCLUSIVE) {
        read_end_exclusive(index, outcome);
        return;
    }
    index_reader *reader = &index->readers[token];
    bool wants_writer = false;
    if (outcome == LARDER_INDEX_NONE) {
        reader->misses++;
    } else if (outcome != LARDER_INDEX_QUIET) {
        reader->hits++;
        if (index->is_timed) index_extend_life(index, outcome);
        wants_writer = reader_note(index, reader, outcome);
    }
    atomic_store_explicit(&reader->busy, 0, memory_order_release);
#ifndef LARDER_PLANT_INDEX_NOTES // A defect that tests can put in.
    if (wants_writer) {
        larder_index_write_begin(index);
        larder_index_write_end(index);
    }
#else
    (void)wants_writer;
#endif
}

// Writers -----------------------------------------------------------------------------------------

// Brings what the policy will touch nearer, so that it does not wait for each entry in turn.
static void prefetch_notes(const larder_index *index, const index_reader *reader) {
    for (uint32_t i = 0; i < reader->noted; i++) {
        __builtin_prefetch(index_mark_of(index, reader->notes[i]), 1);
        __builtin_prefetch(index_link_of(index, reader->notes[i]), 1);
    }
}

static void tell_notes(larder_index *index, index_reader *reader) {
    prefetch_notes(index, reader);
    for (uint32_t i = 0; i < reader->noted; i++) index_used(index, reader->notes[i]);
    reader->noted = 0;
}

static void wait_for_reader(const index_reader *reader) {
    for (int spins = 1; atomic_load(&reader->busy) != 0; spins++) {
        if (spins % SPINS == 0) sched_yield();
        else spin_pause();
    }
}

void larder_index_write_begin(larder_index *index) {
    gate_close(&index->gate);
    for (uint32_t at = 0; at <= index->reader_mask; at++) {
        index_reader *reader = &index->readers[at];
        wait_for_reader(reader);
        // Stamps that were taken and not given are older than what is written now.
        reader->stamps_left = 0;
        if (reader->noted != 0) tell_notes(index, reader);
    }
    if (index->is_timed) take_time(index);
    if (atomic_load_explicit(&index->stamp, memory_order_relaxed) >= INDEX_STAMPS_END)
        index_renumber(index);
}

void larder_index_write_end(larder_index *index) {
    // Only who wrote it now may not be the one to go for it.
    index->newest = LARDER_INDEX_NONE;
    const bool exclusively =
        index->options.policy == LARDER_INDEX_LRU && index->count <= INDEX_EXCLUSIVE_MAX;
    if (atomic_load_explicit(&index->reads_exclusively, memory_order_relaxed) != exclusively)
        atomic_store_explicit(&index->reads_exclusively, exclusively, memory_order_relaxed);
    gate_open(&index->gate);
}
