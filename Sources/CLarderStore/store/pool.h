// SPDX-License-Identifier: MIT
/** @file pool.h
    Private: the few threads that look after all stores of a process. A store asks to be looked
    after at a time, or not at all: one that nobody uses costs no thread and wakes nobody. */
#ifndef LARDER_POOL_H
#define LARDER_POOL_H

#include <stdbool.h>

#include "larder_status.h"

/** Does what there is to do. @return when to be called again, by the monotonic clock; INT64_MAX:
    when it is asked for. */
typedef int64_t (*pool_body)(void *context);

/** Embedded in what is looked after; zero before larder_pool_add. The pool's lock guards it. */
typedef struct pool_task {
    pool_body body;
    void *context;
    /** INT64_MAX: it waits for nothing. */
    int64_t due_ns;
    bool is_added;
    bool is_running;
} pool_task;

/** @return LARDER_OK; ENOMEM, or why no thread could be started. */
LARDER_MUST_CHECK larder_status larder_pool_add(pool_task *task, pool_body body, void *context);
/** To be called at `due_ns` at the latest; any thread, also the task's own body. */
void larder_pool_wake(pool_task *task, int64_t due_ns);
/** Waits until the body is not running, and is never called again. Not from the body. Harmless for
    a task that was not added. */
void larder_pool_remove(pool_task *task);

#endif
