// SPDX-License-Identifier: MIT
// Sources: pthread(3); libpthread's include/pthread/pthread.h. There is no
// pthread_condattr_setclock: a wait is relative by pthread_cond_timedwait_relative_np, or ends by
// the wall clock.
#ifndef LARDER_DARWIN_PTHREAD_H
#define LARDER_DARWIN_PTHREAD_H

#include <sched.h>
#include <sys/types.h>
#include <time.h>

#define PTHREAD_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        0x32AAABA7, { 0 }                                                                          \
    }
#define PTHREAD_COND_INITIALIZER                                                                   \
    {                                                                                              \
        0x3CB0B1BB, { 0 }                                                                          \
    }
#define PTHREAD_ONCE_INIT                                                                          \
    {                                                                                              \
        0x30B1BCBA, { 0 }                                                                          \
    }

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *context);
int pthread_join(pthread_t thread, void **result);
int pthread_once(pthread_once_t *once, void (*body)(void));

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);

int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int pthread_cond_destroy(pthread_cond_t *condition);
int pthread_cond_broadcast(pthread_cond_t *condition);
int pthread_cond_signal(pthread_cond_t *condition);
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int pthread_cond_timedwait_relative_np(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                       const struct timespec *length);

#endif
