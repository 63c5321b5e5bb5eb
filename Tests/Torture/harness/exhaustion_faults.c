// SPDX-License-Identifier: MIT
// Every system call fails once, by name and by count, in every operation that makes it.
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exhaustion.h"

#ifdef LARDER_FAULTS
#include "faults.h"

static const char *const calls[] = {"open",   "fstat",  "fallocate", "ftruncate", "pread",
                                    "pwrite", "mmap",   "fdatasync", "fsync",     "lock",
                                    "rename", "unlink", "fchmod"};
static const int errors[] = {EIO, EINTR, ENOSPC, ENOMEM, LARDER_FAULT_SHORT};
enum { CALLS = sizeof calls / sizeof *calls, ERRORS = sizeof errors / sizeof *errors };

typedef struct operation {
    const char *name;
    larder_status (*function)(const char *path, const char *other);
    /** Starts without a file, or with one whose writer died. */
    bool on_nothing;
    bool on_unclean;
} operation;

static larder_status do_open(const char *path, const char *other) {
    (void)other;
    larder_ring_options options = ring_options(16384, LARDER_RING_OVERWRITE);
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    if (status != LARDER_OK) {
        return ring ? LARDER_EINVALID : status; // A ring with a failure is a failure of its own.
    }
    status = larder_ring_shutdown(ring);
    larder_ring_close(ring);
    return status;
}

static larder_status do_read(const char *path, const char *other) {
    (void)other;
    larder_ring_options options = ring_options(0, LARDER_RING_READ_ONLY);
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    larder_ring_close(ring);
    return status;
}

static larder_status do_append(const char *path, const char *other) {
    (void)other;
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(path, NULL, NULL, &ring);
    larder_status first = status;
    // A sync that failed must not be the last one that works, nor harm what was appended.
    for (unsigned i = 0; i < 4 && status == LARDER_OK; i++) {
        larder_status append = larder_ring_append(ring, NULL, 0, NULL);
        larder_status sync = larder_ring_sync(ring);
        first = first ? first : (append ? append : sync);
    }
    if (ring) {
        (void)larder_ring_shutdown(ring);
    }
    larder_ring_close(ring);
    return first;
}

static larder_status do_salvage(const char *path, const char *other) {
    larder_ring_report report;
    larder_status status = larder_ring_salvage(path, other, NULL, NULL, NULL, &report);
    if (status != LARDER_OK && size_of_file(other) >= 0) {
        return LARDER_EINVALID; // No file may be left at the target.
    }
    return status;
}

static larder_status do_resize(const char *path, const char *other) {
    (void)other;
    larder_ring_options options = ring_options(20000, LARDER_RING_OVERWRITE);
    return larder_ring_resize(path, &options, NULL);
}

static const operation operations[] = {
    {"create", do_open, true, false},    {"open", do_open, false, false},
    {"recover", do_open, false, true},   {"read", do_read, false, false},
    {"append", do_append, false, false}, {"salvage", do_salvage, false, true},
    {"resize", do_resize, false, false},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

typedef struct fault_bench {
    ledger *book;
    uint8_t *closed;
    uint8_t *unclean;
    size_t size;
    uint64_t newest;
} fault_bench;

/** Runs `what` with the `nth` pass of a call failing. @return false when there are fewer passes. */
static bool fail_once(torture *run, fault_bench *self, const operation *what, const char *call,
                      int nth, int error) {
    const char *path = torture_path(run, "ring"), *other = torture_path(run, "other");
    (void)unlink(path);
    (void)unlink(other);
    if (!what->on_nothing) {
        write_file(path, what->on_unclean ? self->unclean : self->closed, self->size);
    }
    torture_note(run, "%s with pass %d of %s failing with %d", what->name, nth, call, error);
    unsigned before = open_descriptors();
    larder_fault_set(call, nth, error);
    larder_status status = what->function(path, other);
    bool reached = larder_fault_passes() >= nth;
    larder_fault_set(NULL, 0, 0);
    bool harmless = !reached || error == EINTR || error == LARDER_FAULT_SHORT;
    // Some failures may be survived (a folder that cannot be synced); none may change its name.
    EXPECT(run, status == LARDER_OK || (!harmless && status == error),
           "%s: pass %d of %s failed with %d, the operation gave %d", what->name, nth, call, error,
           status);
    EXPECT(run, open_descriptors() == before, "%s: pass %d of %s leaks a descriptor", what->name,
           nth, call);
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(what->on_nothing ? 16384 : 0, LARDER_RING_OVERWRITE);
    larder_status again = larder_ring_open(path, &options, NULL, &ring);
    ledger_contents held = {0};
    if (EXPECT(run, again == LARDER_OK, "%s: after pass %d of %s failed with %d, opening gives %d",
               what->name, nth, call, error, again) &&
        !what->on_nothing && what->function != do_append &&
        ledger_verify(run, self->book, ring, &held)) {
        EXPECT(run, held.newest == self->newest,
               "%s: after pass %d of %s failed with %d, the "
               "newest message is %" PRIu64 ", not %" PRIu64,
               what->name, nth, call, error, held.newest, self->newest);
    }
    larder_ring_close(ring);
    return reached;
}

static void fail_each(torture *run, void *context, uint64_t index) {
    fault_bench *self = context;
    const operation *what = &operations[index / (CALLS * ERRORS)];
    const char *call = calls[index / ERRORS % CALLS];
    for (int nth = 1; nth < 40; nth++) {
        if (nth > 1) {
            torture_trial(run);
        }
        if (!fail_once(run, self, what, call, nth, errors[index % ERRORS])) {
            break;
        }
    }
}

static void die_open(torture *run, void *context) {
    fault_bench *self = context;
    larder_ring *ring = NULL;
    if (EXPECT_STATUS(run, larder_ring_open(torture_path(run, "start"), NULL, NULL, &ring),
                      LARDER_OK)) {
        fill_ring(run, self->book, ring, 5);
    }
    _exit(0);
}

void exhaustion_faults(torture *run, ledger *book) {
    fault_bench self = {book, shared_memory(65536), shared_memory(65536), 0, 0};
    const char *path = torture_path(run, "start");
    if (!make_ring(run, book, path, 16384, LARDER_RING_OVERWRITE, 150)) {
        return;
    }
    // The closed file has the same messages, so that one book tells what both must hold.
    torture_guard(run, 20, die_open, &self);
    self.size = (size_t)read_file(path, self.unclean, 65536);
    larder_ring *ring = NULL;
    if (!EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), LARDER_OK)) {
        return;
    }
    larder_ring_close(ring);
    read_file(path, self.closed, 65536);
    self.newest = atomic_load(&book->acknowledged);
    torture_guard_each(run, OPERATIONS * CALLS * ERRORS, 20, true, fail_each, &self);
}
#else
void exhaustion_faults(torture *run, ledger *book) {
    (void)book;
    torture_skip(run, "failing system calls: the library was built without LARDER_FAULTS");
}
#endif
