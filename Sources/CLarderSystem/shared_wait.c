// SPDX-License-Identifier: MIT
/** @file shared_wait.c
    Sleeping on a word that several processes map. */
#include <time.h>

#include "larder_os_wait.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <os/clock.h>
#include <os/os_sync_wait_on_address.h>
#endif

void larder_os_shared_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns) {
    if (limit_ns <= 0) return;
#if defined(__linux__)
    struct timespec limit = {.tv_sec = (time_t)(limit_ns / 1000000000),
                             .tv_nsec = (long)(limit_ns % 1000000000)};
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT, expected, &limit, NULL, 0);
#elif defined(__APPLE__)
    os_sync_wait_on_address_with_timeout(word, expected, sizeof *word,
                                         OS_SYNC_WAIT_ON_ADDRESS_SHARED,
                                         OS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)limit_ns);
#else
    const int64_t look_ns = 1000000;
    (void)word, (void)expected;
    larder_os_sleep(limit_ns < look_ns ? limit_ns : look_ns);
#endif
}

void larder_os_shared_wake_all(_Atomic uint32_t *word) {
#if defined(__linux__)
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
#elif defined(__APPLE__)
    os_sync_wake_by_address_all(word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_SHARED);
#else
    (void)word;
#endif
}

void larder_os_sleep(int64_t ns) {
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};
    if (ns > 0) (void)nanosleep(&time, NULL);
}
