// SPDX-License-Identifier: MIT
/** @file pool.c
    A queue of tasks by the time at which they are due, the first one at its end: one of ten
    thousand is found and moved in a few microseconds, beside the sync that it is there for. One of
    the threads waits for the first of them; the others wait to be told. Threads are started when
    they are needed; whoever removes the last task waits for their end, so that a program without
    stores has no code of ours running.

    A child of fork(2) has none of the threads, and begins with a pool of its own. */
#include "larder_os_pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "larder_os_array.h"
#include "larder_os_condition.h"
#include "larder_os_file.h"
#include "larder_os_machine.h"

/** Few: a checkpoint waits for the device most of its time, and takes memory while it runs. */
enum { THREADS_MAX = 4 };

static struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_cond_t done;
    larder_os_task **queue;
    size_t count;
    size_t capacity;
    /** Tasks that were added. */
    size_t task_count;
    pthread_t threads[THREADS_MAX];
    uint32_t thread_count;
    uint32_t running_count;
    /** Of the threads that shall go on. */
    uintptr_t generation;
    bool has_leader;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

static void before_fork(void) { pthread_mutex_lock(&pool.lock); }
static void in_parent(void) { pthread_mutex_unlock(&pool.lock); }
static void in_child(void) {
    pool.count = pool.task_count = 0;
    pool.thread_count = pool.running_count = 0;
    pool.has_leader = false;
    pool.generation++;
    larder_os_condition_init(&pool.work);
    larder_os_condition_init(&pool.done);
    pthread_mutex_unlock(&pool.lock);
}

static void pool_init(void) {
    larder_os_condition_init(&pool.work);
    larder_os_condition_init(&pool.done);
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

// The queue ---------------------------------------------------------------------------------------

/** There is room: see larder_os_pool_add. */
static void queue_put(larder_os_task *task, int64_t due_ns) {
    size_t from = 0, to = pool.count;
    task->due_ns = due_ns;
    if (due_ns == INT64_MAX) return;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (pool.queue[middle]->due_ns > due_ns) from = middle + 1;
        else to = middle;
    }
    memmove(&pool.queue[from + 1], &pool.queue[from], (pool.count++ - from) * sizeof *pool.queue);
    pool.queue[from] = task;
}

static void queue_take(const larder_os_task *task) {
    size_t at = 0;
    while (at < pool.count && pool.queue[at] != task) at++;
    if (at == pool.count) return;
    memmove(&pool.queue[at], &pool.queue[at + 1], (--pool.count - at) * sizeof *pool.queue);
}

/** There is one. */
static larder_os_task *queue_first(void) { return pool.queue[pool.count - 1]; }

// Threads -----------------------------------------------------------------------------------------

/** Waits until there may be something to do. */
static void wait_for_work(void) {
    if (pool.count == 0 || pool.has_leader) {
        pthread_cond_wait(&pool.work, &pool.lock);
        return;
    }
    int64_t span = queue_first()->due_ns - larder_os_monotonic_ns();
    if (span <= 0) return;
    pool.has_leader = true;
    larder_os_condition_wait(&pool.work, &pool.lock, span);
    pool.has_leader = false;
}

static void *pool_main(void *generation);

/** Starts a thread if all that there are may be at work. Signals go to those of the program. */
static larder_status start_thread(void) {
    if (pool.running_count < pool.thread_count || pool.thread_count == THREADS_MAX)
        return LARDER_OK;
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error =
        pthread_create(&pool.threads[pool.thread_count], NULL, pool_main, (void *)pool.generation);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) pool.thread_count++;
    return error;
}

static void run_first(void) {
    larder_os_task *task = pool.queue[--pool.count];
    task->is_running = true;
    task->due_ns = INT64_MAX;
    pool.running_count++;
    // Another one waits for the next.
    if (pool.count > 0) (void)!start_thread();
    pthread_cond_signal(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    int64_t next = task->body(task->context);
    pthread_mutex_lock(&pool.lock);
    pool.running_count--;
    task->is_running = false;
    // It may have been asked for meanwhile.
    if (task->due_ns < next) next = task->due_ns;
    if (task->is_added) queue_put(task, next);
    else pthread_cond_broadcast(&pool.done);
}

static void *pool_main(void *generation) {
    pthread_mutex_lock(&pool.lock);
    while (pool.generation == (uintptr_t)generation) {
        if (pool.count > 0 && queue_first()->due_ns <= larder_os_monotonic_ns()) run_first();
        else wait_for_work();
    }
    // It may have been the leader of those that follow.
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

// Tasks -------------------------------------------------------------------------------------------

larder_status larder_os_pool_add(larder_os_task *task, larder_os_task_body body, void *context) {
    (void)pthread_once(&pool_once, pool_init);
    pthread_mutex_lock(&pool.lock);
    larder_status status =
        larder_os_array_reserve(&pool.queue, pool.task_count, &pool.capacity, sizeof *pool.queue);
    if (!status && pool.thread_count == 0) status = start_thread();
    if (!status) {
        *task = (larder_os_task){
            .body = body, .context = context, .due_ns = INT64_MAX, .is_added = true};
        pool.task_count++;
    }
    pthread_mutex_unlock(&pool.lock);
    return status;
}

void larder_os_pool_wake(larder_os_task *task, int64_t due_ns) {
    pthread_mutex_lock(&pool.lock);
    bool is_sooner = task->is_added && due_ns < task->due_ns;
    if (is_sooner && task->is_running) {
        // Never by two threads at a time: whoever runs it sees to that.
        task->due_ns = due_ns;
    } else if (is_sooner) {
        queue_take(task);
        queue_put(task, due_ns);
        if (queue_first() == task) {
            (void)!start_thread();
            pthread_cond_broadcast(&pool.work);
        }
    }
    pthread_mutex_unlock(&pool.lock);
}

void larder_os_pool_remove(larder_os_task *task) {
    if (!task->is_added) return;
    pthread_mutex_lock(&pool.lock);
    task->is_added = false;
    queue_take(task);
    while (task->is_running) pthread_cond_wait(&pool.done, &pool.lock);
    pthread_t ended[THREADS_MAX];
    uint32_t count = 0;
    if (--pool.task_count == 0) {
        for (; count < pool.thread_count; count++) ended[count] = pool.threads[count];
        pool.thread_count = 0;
        pool.generation++;
        pthread_cond_broadcast(&pool.work);
    }
    pthread_mutex_unlock(&pool.lock);
    while (count > 0) (void)pthread_join(ended[--count], NULL);
}
