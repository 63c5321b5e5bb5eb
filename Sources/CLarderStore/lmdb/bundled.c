// SPDX-License-Identifier: MIT
/** @file bundled.c
    LMDB itself, compiled here from the sources of the package that Package.swift names,
    under names of ours, which Package.swift lists. The package's own objects are linked too, and
    nobody calls them.

    It is for Apple's systems, where LMDB 0.9 always locks with two named semaphores. The sandbox of
    a Mac app refuses those, and that of an app group if their names lack its prefix; a process that
    is killed leaves them taken, and in a table of the kernel until the next boot. With
    LARDER_LMDB_LOCKS each of them is a word in lock.mdb instead, behind its name, which is 16 of
    32 bytes: 0, or the process that holds it. What a dead process held, the next one takes over, as
    it would a robust mutex: LMDB repairs then what the dead one may have left half done.

    Nobody waits for long: the readers' lock is held while one claims a slot, and the writers' by
    the one process that has the store's lock. */
#ifdef LARDER_BUNDLED_LMDB
#ifdef LARDER_LMDB_LOCKS
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "larder_os_file.h"

typedef _Atomic int32_t lock_word;
enum { LOCK_OFFSET = 24 };

static sem_t *lock_at(char *name) { return (sem_t *)(void *)(name + LOCK_OFFSET); }

static void lock_reset(char *name) { atomic_store((lock_word *)(void *)(name + LOCK_OFFSET), 0); }

/** As sem_wait; fails with EOWNERDEAD if it was taken over. */
static int lock_acquire(sem_t *lock) {
    lock_word *word = (lock_word *)lock;
    const int32_t self = (int32_t)getpid();
    for (;;) {
        int32_t holder = 0;
        if (atomic_compare_exchange_strong(word, &holder, self)) return 0;
        bool is_dead = holder != self && kill((pid_t)holder, 0) != 0 && errno == ESRCH;
        if (is_dead && atomic_compare_exchange_strong(word, &holder, self)) {
            errno = EOWNERDEAD;
            return -1;
        }
        const struct timespec pause = {.tv_nsec = 20000};
        nanosleep(&pause, NULL);
    }
}

static void lock_release(sem_t *lock) { atomic_store((lock_word *)lock, 0); }

/** Its fsync would leave the pages in the drive's cache. */
static int sync_pages(int file) {
    larder_status status = larder_os_file_sync(file);
    errno = status > 0 ? status : EIO;
    return status ? -1 : 0;
}

#define MDB_USE_POSIX_SEM 1
#define MDB_OWNERDEAD EOWNERDEAD
#define mdb_mutex_consistent(lock) 0
#define sem_open(name, ...) lock_at(name)
#define sem_unlink(name) lock_reset(name)
#define sem_wait(lock) lock_acquire(lock)
#define sem_post(lock) lock_release(lock)
#define sem_close(lock) ((void)(lock))
#define fsync(file) sync_pages(file)
#endif

#if defined(__clang__)
#pragma clang diagnostic ignored "-Weverything"
#endif
// Beside the folder of the package's public headers.
#include <../mdb.c>
#include <../midl.c>
#else
/** A file must declare something. */
typedef int larder_lmdb_is_the_systems;
#endif
