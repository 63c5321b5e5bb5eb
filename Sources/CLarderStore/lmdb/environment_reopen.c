// SPDX-License-Identifier: MIT
/** @file environment_reopen.c
    What LMDB leaves to its caller when a write fails. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "file_io.h"
#include "lmdb/environment_internal.h"

enum { TAKE_ATTEMPTS = 40 };

bool environment_hush(void) {
    sigset_t limit, before;
    sigemptyset(&limit);
    sigemptyset(&before);
    sigaddset(&limit, SIGXFSZ);
    (void)pthread_sigmask(SIG_BLOCK, &limit, &before);
    return sigismember(&before, SIGXFSZ) == 1;
}

void environment_unhush(bool was_hushed) {
    if (was_hushed) return;
    sigset_t limit, pending;
    int signal;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ)) (void)sigwait(&limit, &signal);
    (void)pthread_sigmask(SIG_UNBLOCK, &limit, NULL);
}

/** Takes the place within a few milliseconds, or not. */
static bool reopen_take(place *wanted) {
    for (int attempt = 0; attempt < TAKE_ATTEMPTS; attempt++) {
        if (atomic_exchange(&wanted->is_taken, 1) == 0) return true;
        struct timespec pause = {.tv_nsec = 50000};
        nanosleep(&pause, NULL);
    }
    return false;
}

/** LMDB opens the file by its path: another store may be there by now. */
static larder_status reopen_check(const environment *env) {
    char *path = environment_path(env->folder, "data.mdb");
    if (!path) return ENOMEM;
    file_facts facts;
    larder_status status = file_facts_at(path, &facts);
    free(path);
    if (!status && (facts.device != env->device || facts.inode != env->inode)) status = ENOENT;
    return status;
}

larder_status environment_reopen(environment *env) {
    larder_status same = reopen_check(env);
    if (same) return same;
    pthread_mutex_lock(&env->lock);
    larder_status status = LARDER_OK;
    uint32_t taken = 0, index = 0;
    place *other;
    while (!status && (other = place_next(env, &index))) {
        if (reopen_take(other)) taken = index;
        else status = EIO;
    }
    if (!status) {
        index = 0;
        while ((other = place_next(env, &index))) {
            if (!other->txn) continue;
            mdb_txn_abort(other->txn);
            other->txn = NULL;
            other->is_live = false;
        }
        mdb_env_close(env->lmdb);
        env->lmdb = NULL;
        status = environment_open_lmdb(env, !env->is_read_only, 0600);
    }
    index = 0;
    while (index < taken && (other = place_next(env, &index))) place_give(other);
    pthread_mutex_unlock(&env->lock);
    return status;
}
