// SPDX-License-Identifier: MIT
/** @file larder_os_pool.h
    Private to Larder: the few threads that do the maintenance of all stores of a process. A task
    asks to be run at a time, or not at all: one that waits for nothing costs no thread and wakes
    nobody. */
#ifndef LARDER_OS_POOL_H
#define LARDER_OS_POOL_H

#include <stdbool.h>

#include "larder_status.h"

// liblarder-store calls them in liblarder.
#pragma GCC visibility push(default)

/** Does what there is to do. @return when to be called again, by the monotonic clock; INT64_MAX:
    when it is asked for. */
typedef int64_t (*larder_os_task_body)(void *context);

/** Embedded in its owner; zero before larder_os_pool_add. The pool's lock guards it. */
typedef struct larder_os_task {
    larder_os_task_body body;
    void *context;
    /** INT64_MAX: it waits for nothing. */
    int64_t due_ns;
    bool is_added;
    bool is_running;
} larder_os_task;

/** @return LARDER_OK; ENOMEM, or why no thread could be started. */
LARDER_MUST_CHECK larder_status larder_os_pool_add(larder_os_task *task, larder_os_task_body body,
                                                   void *context);
/** To be called at `due_ns` at the latest; any thread, also the task's own body. */
void larder_os_pool_wake(larder_os_task *task, int64_t due_ns);
/** Waits until the body is not running, and is never called again. Not from the body. Harmless for
    a task that was not added. */
void larder_os_pool_remove(larder_os_task *task);

#pragma GCC visibility pop

#endif
