// SPDX-License-Identifier: MIT
/** @file larder_os_machine.h
    Private to Larder: boot identity, clocks, random numbers and what the processor can do. */
#ifndef LARDER_OS_MACHINE_H
#define LARDER_OS_MACHINE_H

#include <stdbool.h>

#include "larder_base.h"

// liblarder-store calls them in liblarder.
#pragma GCC visibility push(default)

/** 16 bytes that stay the same until the machine restarts; zeros where the system has no such
    thing. A step of the wall clock does not change them. */
void larder_os_boot_id(uint8_t out[16]);
/** Since 1970. */
int64_t larder_os_wall_clock_ns(void);
/** Since some moment; never goes backwards. */
int64_t larder_os_monotonic_ns(void);
/** The same, a few milliseconds late and several times as fast, and including the time for which
    the machine was suspended: an entry also expires in a laptop's bag. */
int64_t larder_os_coarse_ns(void);
/** The same, but not late. */
int64_t larder_os_fine_ns(void);
uint32_t larder_os_random(void);
/** At most 256 bytes. */
void larder_os_random_fill(uint8_t *out, size_t length);
/** Whether this 64-bit ARM processor has the instructions for CRC-32C; false on any other. */
bool larder_os_has_arm_crc32(void);

enum { LARDER_OS_LIBRARY_KINDS = 8 };
/** Which C library this is, with pointers of which size: a mutex that processes share is only for
    those of one kind. */
uint32_t larder_os_library_kind(void);
/** Whose files the process makes. */
uint32_t larder_os_user(void);
/** Whether a thread that lives, or one that never did, holds a mutex that processes share, so that
    whoever takes it would wait. False where the library's mutexes are not known. */
bool larder_os_mutex_is_held(const void *mutex);
/** Whether reading mapped bytes waits for no device: a moment ago the system had their pages in
    memory. Believed where the process may not ask: of another user's file that it cannot write to.
    What was asked is remembered for a second, in groups of pages: O(groups), and mostly without a
    system call. */
bool larder_os_is_in_memory(const void *at, size_t length);

#pragma GCC visibility pop

/** How many bytes of memory the process may use: the machine's, or what its control group allows if
    that is less; 0 if nobody knows. Reads two files. */
uint64_t larder_os_memory_bytes(void);

#endif
