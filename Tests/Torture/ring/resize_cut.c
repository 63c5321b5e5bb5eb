// SPDX-License-Identifier: MIT
// A resize that is killed at every call, or whose sync of the folder fails: until the folder is
// synced a power cut brings the old file back, so whoever is told that a message survives one must
// have had it synced.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "power.h"

enum { BEFORE = 10, MORE = 20, MOST_CALLS = 80 };

typedef struct replacing {
    const char *path;
    vault *store;
    uint64_t capacity;
    uint32_t flags;
    /** The resize dies at this call, or its sync of this number fails. */
    int nth;
    bool is_killed;
    /** Whether it came that far. */
    _Atomic uint32_t was_hurt;
    /** The file of that name at first; whether another has it, and the folder was synced since. */
    ino_t inode;
    _Atomic uint32_t was_replaced, was_named;
    _Atomic uint64_t folder_syncs;
} replacing;

static replacing *current;

static ino_t inode_at(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 ? facts.st_ino : 0;
}

static void look(void) {
    replacing *self = current;
    uint64_t syncs = atomic_load(&self->store->folder_syncs);
    if (!atomic_load(&self->was_replaced) && inode_at(self->path) != self->inode) {
        atomic_store(&self->was_replaced, 1);
        atomic_store(&self->folder_syncs, syncs);
    }
    atomic_store(&self->was_named, syncs > atomic_load(&self->folder_syncs));
}

static void at_call(const char *call, const void *what) {
    (void)call;
    (void)what;
    static int passes;
    look();
    if (current->is_killed && ++passes == current->nth) {
        atomic_store(&current->was_hurt, 1);
        kill(getpid(), SIGKILL);
    }
}

static void resize_and_die(replacing *self) {
    current = self;
    power_vault = self->store;
    call_hook = at_call;
#ifdef LARDER_FAULTS
    if (!self->is_killed) {
        larder_fault_set("system fsync", self->nth, EIO);
    }
#endif
    larder_ring_options options = ring_options(2 * self->capacity, self->flags);
    larder_status status = larder_ring_resize(self->path, &options, NULL);
    atomic_store(&self->was_hurt, status == EIO);
    look();
    _exit(0);
}

static void append_and_look(torture *run, void *context) {
    replacing *self = context;
    larder_ring *ring = NULL;
    power_vault = self->store;
    bool good = EXPECT_STATUS(run, larder_ring_open(self->path, NULL, NULL, &ring), LARDER_OK);
    larder_ring_statistics figures;
    for (uint64_t i = 0; good && i < MORE; i++) {
        good = EXPECT_STATUS(run, larder_ring_append_synced(ring, "more", 4, NULL), LARDER_OK);
        // The first that is told so must be right.
        good = good && EXPECT(run,
                              !atomic_load(&self->was_replaced) || atomic_load(&self->was_named) ||
                                  atomic_load(&self->store->folder_syncs) >
                                      atomic_load(&self->folder_syncs),
                              "message %" PRIu64 " is said to survive, in a file whose name does "
                              "not: pass %d %s",
                              BEFORE + i + 1, self->nth, self->is_killed ? "killed" : "failed");
    }
    good = good && EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK) &&
           EXPECT(run, figures.count == BEFORE + MORE, "it has %" PRIu64 " messages of %d",
                  figures.count, BEFORE + MORE);
    larder_ring_report report;
    (void)(good && EXPECT_STATUS(run, larder_ring_check(ring, &report), LARDER_OK));
    larder_ring_close(ring);
}

/** @return false if the resize was over before. */
static bool hurt_once(torture *run, replacing *self) {
    torture_trial(run);
    vault_clear(self->store);
    (void)unlink(self->path);
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(self->capacity, self->flags);
    bool good = EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK);
    for (unsigned i = 0; good && i < BEFORE; i++) {
        good = EXPECT_STATUS(run, larder_ring_append(ring, "before", 6, NULL), LARDER_OK);
    }
    good = good && EXPECT_STATUS(run, larder_ring_sync(ring), LARDER_OK);
    larder_ring_close(ring);
    self->inode = inode_at(self->path);
    atomic_store(&self->was_hurt, 0);
    atomic_store(&self->was_replaced, 0);
    atomic_store(&self->was_named, 0);
    atomic_store(&self->folder_syncs, UINT64_MAX);
    fflush(NULL);
    pid_t child = good ? fork() : -1;
    if (child == 0) {
        resize_and_die(self);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!good || !EXPECT(run, child > 0, "fork failed")) {
        return false;
    }
    if (inode_at(self->path) != self->inode && !atomic_load(&self->was_replaced)) {
        atomic_store(&self->was_replaced, 1); // Killed right behind the rename.
        atomic_store(&self->folder_syncs, atomic_load(&self->store->folder_syncs));
    }
    torture_guard(run, 20, append_and_look, self);
    return atomic_load(&self->was_hurt) && torture_unhurt(run);
}

void family_resize_cut(torture *run) {
#ifndef TORTURE_WRAPS_CALLS
    torture_skip(run, "the linker cannot intercept calls here");
    return;
#else
    replacing *self = shared_memory(sizeof *self);
    self->store = vault_make(256 * 1024);
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    self->path = torture_path(run, "ring");
    for (unsigned way = 0; way < 4; way++) {
        self->flags = way % 2 ? LARDER_RING_OVERWRITE : 0;
        self->is_killed = way < 2;
        self->capacity = 8192;
        for (self->nth = 1; self->nth < MOST_CALLS && hurt_once(run, self); self->nth++) {
        }
    }
#endif
}
