// SPDX-License-Identifier: MIT
/** @file lock.h
    Private: holding an index, with a lock that readers of different processors share no line of.

    A reader marks its own place as busy, and looks if the gate is open; a writer closes the gate,
    and looks if the places are free. Both first write and then look, in sequentially consistent
    order, so one of them sees the other. (Linux had such locks as "big reader locks"; the idea of
    the flags is Dekker's.) To read costs one exchange of a line that no other processor wants.

    A place is also where a reader notes what it read. So notes need no lock of their own, and a
    writer, who waits for all places anyway, finds them there.

    Here is what happens when nobody else is there; all else is in index/lock.c. */
#ifndef LARDER_LOCK_H
#define LARDER_LOCK_H

#include "index/table.h"

enum {
    GATE_OPEN = 0,
    GATE_CLOSED = 1,
    /** And somebody sleeps until it opens. */
    GATE_CLOSED_WAITED = 2,
    /** A token of one who holds the index for writing in order to read. */
    TOKEN_EXCLUSIVE = READERS_MAX,
};

#if defined(__ELF__)
/** Found without a call also in a shared library. */
#define LOCK_TLS_MODEL __attribute__((tls_model("initial-exec")))
#else
#define LOCK_TLS_MODEL
#endif

/** The calling thread's number, 0 before it has one: it leads to the place where it reads. */
extern _Thread_local uint32_t larder_index_thread LOCK_TLS_MODEL;

uint32_t larder_lock_read_slowly(larder_index *index);
void larder_lock_write_slowly(larder_index *index);
void larder_lock_wait_for_readers(larder_index *index);
void larder_lock_wake(larder_index *index);
/** Reads the clock, for searches of this hold. */
void larder_lock_take_time(larder_index *index);
/** Tells the policy what a reader noted. */
void larder_lock_tell_notes(larder_index *index, index_reader *reader);

static inline uint32_t lock_read(larder_index *index) {
    const uint32_t at = larder_index_thread & index->reader_mask;
    index_reader *reader = &index->readers[at];
    if (larder_index_thread == 0 ||
        atomic_load_explicit(&index->reads_exclusively, memory_order_relaxed) ||
        atomic_exchange(&reader->busy, 1) != 0)
        return larder_lock_read_slowly(index);
    if (atomic_load(&index->gate) != GATE_OPEN) {
        atomic_store_explicit(&reader->busy, 0, memory_order_release);
        return larder_lock_read_slowly(index);
    }
    if (index->is_timed) larder_lock_take_time(index);
    return at;
}

static inline void lock_write(larder_index *index) {
    uint32_t open = GATE_OPEN;
    if (!atomic_compare_exchange_strong(&index->gate, &open, GATE_CLOSED))
        larder_lock_write_slowly(index);
    // All have to be out before the first note is told: it changes what readers look at.
    for (uint32_t at = 0; at <= index->reader_mask; at++)
        if (atomic_load(&index->readers[at].busy) != 0) larder_lock_wait_for_readers(index);
    for (uint32_t at = 0; at <= index->reader_mask; at++) {
        index_reader *reader = &index->readers[at];
        // Stamps that were taken and not given are older than what is written now.
        if (reader->stamps_left != 0) reader->stamps_left = 0;
        if (reader->noted != 0) larder_lock_tell_notes(index, reader);
    }
    index->is_held_for_writing = true;
    if (index->is_timed) larder_lock_take_time(index);
    if (atomic_load_explicit(&index->stamp, memory_order_relaxed) >= INDEX_STAMPS_END)
        larder_index_renumber(index);
}

static inline void unlock_write(larder_index *index) {
    // Only who wrote it now may not be the one to go for it.
    index->newest = LARDER_INDEX_NONE;
    index->is_held_for_writing = false;
    const bool exclusively =
        index->options.policy == LARDER_INDEX_LRU && index->count <= INDEX_EXCLUSIVE_MAX;
    if (atomic_load_explicit(&index->reads_exclusively, memory_order_relaxed) != exclusively)
        atomic_store_explicit(&index->reads_exclusively, exclusively, memory_order_relaxed);
    if (atomic_exchange_explicit(&index->gate, GATE_OPEN, memory_order_release) ==
        GATE_CLOSED_WAITED)
        larder_lock_wake(index);
}

#endif
