// SPDX-License-Identifier: MIT
/** @file larder_os_condition.h
    Private to Larder: condition variables that wait by the monotonic clock, so that a clock that is
    set does not make them sleep for hours. */
#ifndef LARDER_OS_CONDITION_H
#define LARDER_OS_CONDITION_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline void larder_os_condition_init(pthread_cond_t *condition) {
#if defined(__APPLE__)
    pthread_cond_init(condition, NULL);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
#endif
}

/** Sleeps on the condition for at most `ns`; 0 or ETIMEDOUT. */
static inline int larder_os_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                           int64_t ns) {
    struct timespec until;
#if defined(__APPLE__)
    until.tv_sec = (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    return pthread_cond_timedwait_relative_np(condition, mutex, &until);
#else
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t sum = until.tv_nsec + ns % 1000000000;
    until.tv_sec += (time_t)(ns / 1000000000 + sum / 1000000000);
    until.tv_nsec = (long)(sum % 1000000000);
    return pthread_cond_timedwait(condition, mutex, &until);
#endif
}

#endif
