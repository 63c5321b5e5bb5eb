// SPDX-License-Identifier: MIT
/** @file rivals.h
    What Larder is measured against, as far as it is C, and the loops that measure both sides.

    The loops are here so that ours and the rival are called from the same machine code: a plain C
    loop that calls a function in another object file, which no compiler can inline into it. */
#ifndef RIVALS_H
#define RIVALS_H

#include <larder.h>
#include <stdbool.h>

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** Nanoseconds of a clock that only moves forward. */
uint64_t rivals_now_ns(void);

/** Makes the compiler believe that memory is read and written here. */
static inline void rivals_barrier(void) { __asm__ volatile("" ::: "memory"); }

// The bare store ----------------------------------------------------------------------------------

/** The least that a log in a mapped file can do: a length, the bytes, and the new end. No checksum,
    no lock, no sequence number, no oldest message; one thread only. What Larder's promises cost is
    what it takes beyond this. */
typedef struct rivals_bare rivals_bare;

/** Makes a file as Larder makes its own: reserved with posix_fallocate and mapped shared.
    @return 0 or an errno. */
LARDER_MUST_CHECK int32_t rivals_bare_open(const char *path, uint64_t capacity_bytes,
                                           rivals_bare *LARDER_NULLABLE *LARDER_NONNULL out);

/** Stores one message, at the start again when the file is full.
    @return 0; always, but the loops check it as they check Larder's status. */
LARDER_MUST_CHECK int32_t rivals_bare_append(rivals_bare *bare, const void *message, size_t length);

void rivals_bare_close(rivals_bare *LARDER_NULLABLE bare);

// Loops: each does `count` operations and stops with the first status that is not 0 ---------------

/** The same loop without a call: its time is subtracted from that of the others. */
LARDER_MUST_CHECK int32_t rivals_loop_empty(size_t count);
LARDER_MUST_CHECK int32_t rivals_loop_bare(rivals_bare *bare, const void *message, size_t length,
                                           size_t count);
LARDER_MUST_CHECK int32_t rivals_loop_ring(larder_ring *ring, const void *message, size_t length,
                                           size_t count);
LARDER_MUST_CHECK int32_t rivals_loop_ring_synced(larder_ring *ring, const void *message,
                                                  size_t length, size_t count);
/** One write(2) a message. */
LARDER_MUST_CHECK int32_t rivals_loop_write(int file, const void *message, size_t length,
                                            size_t count);
/** One write(2) and one fdatasync(2) a message. */
LARDER_MUST_CHECK int32_t rivals_loop_write_synced(int file, const void *message, size_t length,
                                                   size_t count);

/** Runs rivals_loop_ring, or rivals_loop_ring_synced, on `threads` threads at once, `count`
    messages each.
    @param elapsed_ns receives the time from the first thread's start to the last one's end.
    @return the first status that is not 0. */
LARDER_MUST_CHECK int32_t rivals_loop_ring_threads(larder_ring *ring, bool synced, unsigned threads,
                                                   const void *message, size_t length, size_t count,
                                                   uint64_t *elapsed_ns);

// Files -------------------------------------------------------------------------------------------

/** Opens `path` for writing, with so many bytes in it that are synced, to be overwritten.
    @return the file descriptor, or the negated errno. */
int rivals_file_create(const char *path, size_t bytes);
/** Reserves the file's blocks, as Larder does it: posix_fallocate. @return 0 or an errno. */
LARDER_MUST_CHECK int32_t rivals_file_reserve(int file, uint64_t capacity_bytes);
/** Goes back to the start of the file. @return 0 or an errno. */
LARDER_MUST_CHECK int32_t rivals_file_rewind(int file);
/** open with O_APPEND, write and close. @return 0 or an errno. */
LARDER_MUST_CHECK int32_t rivals_file_append_one(const char *path, const void *bytes,
                                                 size_t length);
/** open of a new file, reserving `capacity_bytes` for it, and write.
    @return the file descriptor, or the negated errno. */
int rivals_file_create_one(const char *path, uint64_t capacity_bytes, const void *bytes,
                           size_t length);
/** Makes what was written to the file survive a power cut. @return 0 or an errno. */
LARDER_MUST_CHECK int32_t rivals_file_sync(int file);
void rivals_file_close(int file);

/** Gives back the pages of the file at `path` from `offset` on, so that closing it has nothing left
    to write: a 100 MB sync after each sample would only slow the run down. Does nothing where the
    system cannot. */
void rivals_file_forget(const char *path, uint64_t offset, uint64_t length);

// Heap allocations --------------------------------------------------------------------------------

/** Whether the counts below mean anything: malloc is replaced with a counting one on glibc only. */
bool rivals_allocations_countable(void);
/** Counts from 0 on, in every thread. */
void rivals_allocations_start(void);
/** Stops counting. @return how often memory was asked for since the start. */
uint64_t rivals_allocations_stop(void);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
