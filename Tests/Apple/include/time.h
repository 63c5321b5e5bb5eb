// SPDX-License-Identifier: MIT
// Sources: clock_gettime(3), nanosleep(2); Libc's include/time.h. There is neither CLOCK_BOOTTIME
// nor any of Linux's coarse clocks: CLOCK_MONOTONIC counts the time asleep, CLOCK_UPTIME_RAW does
// not.
#ifndef LARDER_DARWIN_TIME_H
#define LARDER_DARWIN_TIME_H

#include <sys/time.h>

// An enumeration there, too, and each constant also a macro.
typedef enum {
    CLOCK_REALTIME = 0,
    CLOCK_MONOTONIC_RAW = 4,
    CLOCK_MONOTONIC_RAW_APPROX = 5,
    CLOCK_MONOTONIC = 6,
    CLOCK_UPTIME_RAW = 8,
    CLOCK_UPTIME_RAW_APPROX = 9,
} clockid_t;
#define CLOCK_REALTIME CLOCK_REALTIME
#define CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC_RAW
#define CLOCK_MONOTONIC_RAW_APPROX CLOCK_MONOTONIC_RAW_APPROX
#define CLOCK_MONOTONIC CLOCK_MONOTONIC
#define CLOCK_UPTIME_RAW CLOCK_UPTIME_RAW
#define CLOCK_UPTIME_RAW_APPROX CLOCK_UPTIME_RAW_APPROX

int clock_gettime(clockid_t clock, struct timespec *now);
int nanosleep(const struct timespec *wanted, struct timespec *left);

#endif
