// SPDX-License-Identifier: MIT
// What fails just as a ring makes a call of the system, or happens just then: somebody else makes
// the file, appends, closes, or syncs. Nothing here waits for a time: the call itself says when.
#include "ring_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "larder_os_fork.h"
// The harness has a reckoning of its own.
#define record_bytes ring_record_bytes
#include "ring/ring_internal.h"
#undef record_bytes

enum { LENGTH = 100, SMALL = 16384 };

static larder_status put(larder_ring *ring, uint64_t count) {
    larder_status status = LARDER_OK;
    for (; count > 0 && !status; count--) {
        uint8_t bytes[LENGTH];
        uint64_t next;
        status = larder_ring_next_sequence(ring, &next);
        message_fill(next, bytes, sizeof bytes);
        status = status ? status : larder_ring_append(ring, bytes, sizeof bytes, NULL);
    }
    return status;
}

/** @return the ring, with so many messages; NULL if that failed. */
static larder_ring *made(torture *run, const char *path, const larder_ring_options *options,
                         uint64_t count) {
    larder_ring *ring = NULL;
    (void)unlink(path);
    torture_trial(run);
    if (EXPECT_STATUS(run, larder_ring_open(path, options, NULL, &ring), LARDER_OK)) {
        EXPECT_STATUS(run, put(ring, count), LARDER_OK);
    }
    return ring;
}

static void holds(torture *run, const char *path, uint64_t first, uint64_t last) {
    larder_ring *ring = NULL;
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    torture_trial(run);
    if (EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), LARDER_OK) &&
        EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        uint64_t next = first;
        while (larder_ring_reader_next(reader, &record) == LARDER_OK) {
            EXPECT(run,
                   record.sequence == next &&
                       message_equals(next, record.payload.data, record.payload.length),
                   "message %llu in place of %llu", (unsigned long long)record.sequence,
                   (unsigned long long)next);
            next++;
        }
        EXPECT(run, next == last + 1, "the last message is %llu, not %llu",
               (unsigned long long)next - 1, (unsigned long long)last);
    }
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
}

// Calls of files ----------------------------------------------------------------------------------

static void no_space_to_write(const char *call, const void *what) {
    (void)what;
    if (strcmp(call, "system pwrite") == 0) {
        call_hook = NULL;
        larder_fault_set("system pwrite", 1, ENOSPC);
    }
}

/** A file system that can reserve no blocks: zeros are written, for which there is room or not. */
static void reserving(torture *run, const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    larder_fault_set("system fallocate", 1, ENOSYS);
    GIVES(larder_os_file_reserve(file, 100000), LARDER_OK);
    EXPECT(run, size_of_file(path) == 100000, "it has another size");
    larder_fault_set("system fallocate", 1, EOPNOTSUPP);
    call_hook = no_space_to_write;
    GIVES(larder_os_file_reserve(file, 200000), ENOSPC);
    call_hook = NULL;
    larder_fault_set(NULL, 0, 0);
    (void)close(file);
    (void)unlink(path);
}

/** Names that are relative, or in the root. */
static void names(torture *run, const char *path) {
    char folder[600], here[600], *whole = NULL;
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    if (!EXPECT(run, getcwd(here, sizeof here) && chdir("/") == 0, "no root")) {
        return;
    }
    GIVES(larder_os_absolute_path("ring", &whole), LARDER_OK);
    EXPECT(run, whole && strcmp(whole, "/ring") == 0, "%s", whole);
    free(whole);
    GIVES(larder_os_file_sync_parent("/ring"), LARDER_OK);
    EXPECT(run, chdir(folder) == 0, "no %s", folder);
    larder_ring_options options = ring_options(SMALL, 0);
    larder_ring_close(made(run, "ring", &options, 7));
    options.capacity_bytes = 2 * SMALL;
    GIVES(larder_ring_resize("ring", &options, NULL), LARDER_OK);
    holds(run, path, 1, 7);
    EXPECT(run, chdir(here) == 0, "no way back");
    // Folders that no sync is for, and one that is interrupted.
    larder_fault_set("system fsync", 1, EINTR);
    GIVES(larder_os_file_sync_parent(path), LARDER_OK);
    larder_fault_set("system fsync", 1, EINVAL);
    GIVES(larder_os_file_sync_parent(path), LARDER_OK);
    larder_fault_set("system fdatasync", 1, EINTR);
    larder_ring_close(made(run, path, &options, 3));
    larder_fault_set(NULL, 0, 0);
    holds(run, path, 1, 3);
}

static const char *shrinking;
static unsigned reads_left;

static void shrink_at_read(const char *call, const void *what) {
    (void)what;
    if (strcmp(call, "system pread") == 0 && --reads_left == 0) {
        call_hook = NULL;
        (void)!truncate(shrinking, 10);
    }
}

static larder_status opened(const char *path, const larder_ring_options *options) {
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(path, options, NULL, &ring);
    larder_ring_close(ring);
    return status;
}

/** A file whose making was cut short, and one that only looks so: read with failures, and while
    somebody makes it shorter. */
static void torn_files(torture *run, const char *path) {
    static uint8_t bytes[8192];
    larder_ring_options options = ring_options(sizeof bytes, 0);
    bytes[5000] = 1;
    for (int nth = 1; nth <= 8; nth++) {
        torture_trial(run);
        EXPECT(run, write_file(path, bytes, sizeof bytes), "cannot write %s", path);
        larder_fault_set("pread", nth, EIO);
        larder_status status = opened(path, &options);
        bool failed = larder_fault_passes() >= nth;
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, !failed || status == EIO || status == LARDER_EFOREIGN, "read %d gave %d", nth,
               status);
        EXPECT(run, failed || status == LARDER_OK, "a torn file gave %d", status);
        // What is made of it then is mapped, and must not become shorter.
        if (nth > 6) {
            continue;
        }
        EXPECT(run, write_file(path, bytes, sizeof bytes), "cannot write %s", path);
        shrinking = path;
        reads_left = (unsigned)nth;
        call_hook = shrink_at_read;
        status = opened(path, &options);
        call_hook = NULL;
        EXPECT(run, status == LARDER_OK || status == LARDER_EFOREIGN || status == LARDER_EDAMAGED,
               "a shorter file gave %d", status);
    }
    // The backup is of something else.
    memset(bytes + sizeof bytes - 64, 0x77, 64);
    EXPECT(run, write_file(path, bytes, sizeof bytes), "cannot write %s", path);
    GIVES(opened(path, &options), LARDER_EFOREIGN);
    // Nothing but zeros, which cannot be made shorter.
    memset(bytes, 0, sizeof bytes);
    EXPECT(run, write_file(path, bytes, sizeof bytes), "cannot write %s", path);
    larder_fault_set("ftruncate", 1, EIO);
    GIVES(opened(path, &options), EIO);
    larder_fault_set(NULL, 0, 0);
    GIVES(opened(path, &options), LARDER_OK);
}

static void another_makes_it(const char *call, const void *what) {
    (void)what;
    if (strcmp(call, "system openat") == 0 && --reads_left == 0) {
        call_hook = NULL;
        (void)close(open(shrinking, O_RDWR | O_CREAT, 0600));
    }
}

static void opening(torture *run, const char *path, const char *other) {
    larder_ring_options options = ring_options(SMALL, 0);
    larder_ring_detail detail;
    larder_ring *ring = NULL, *second = NULL;
    // Somebody makes the file between the look at it and the making.
    (void)unlink(path);
    shrinking = path;
    reads_left = 2;
    call_hook = another_makes_it;
    GIVES(larder_ring_open(path, &options, NULL, &ring), LARDER_OK);
    EXPECT(run, call_hook == NULL, "it was made at once");
    EXPECT_STATUS(run, put(ring, 4), LARDER_OK);
    // Who has it cannot be read.
    larder_fault_set("pread", 1, EIO);
    GIVES(larder_ring_open(path, &options, &detail, &second), LARDER_EBUSY);
    EXPECT(run, detail.holder_pid == 0, "a holder out of nowhere");
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_ring_open(path, &options, &detail, &second), LARDER_EBUSY);
    EXPECT(run, detail.holder_pid == getpid(), "another holder");
    larder_ring_close(ring);
    // A format is asked for where there is none.
    options.content_format = 5;
    GIVES(opened(path, &options), LARDER_OK);
    options.content_format = 0;
    // A system without boot ids believes nothing but what was sealed.
    larder_fault_boot_id((const uint8_t[16]){0});
    GIVES(opened(path, &options), LARDER_OK);
    holds(run, path, 1, 4);
    larder_fault_boot_id(NULL);
    // A copy in which not all fit, and which drops nothing.
    larder_ring_report report;
    options = ring_options(larder_ring_capacity_for(2, LENGTH, 0), 0);
    options.cursor_slots = 0;
    GIVES(larder_ring_salvage(path, other, &options, NULL, NULL, &report), LARDER_EFULL);
    EXPECT(run, size_of_file(other) < 0, "half a copy is there");
    EXPECT(run, larder_ring_capacity_for(LARDER_RING_CAPACITY_MAX_BYTES / 16, 0, 0) == 0,
           "a capacity of more than there may be");
    holds(run, path, 1, 4);
}

/** A file of so many bytes, of which but a few are there. */
static void large_file(torture *run, const char *path) {
    larder_ring_options options = ring_options(SMALL, 0);
    static uint8_t bytes[SMALL];
    larder_ring_close(made(run, path, &options, 0));
    EXPECT(run, read_file(path, bytes, SMALL) == SMALL, "cannot read %s", path);
    ring_fixed fixed, small;
    memcpy(&small, bytes, sizeof small);
    options.capacity_bytes = (uint64_t)3 << 30;
    if (options.capacity_bytes > MAPPED_MAX_BYTES) {
        return;
    }
    EXPECT_STATUS(run, larder_ring_fixed_make(&options, &fixed), LARDER_OK);
    larder_ring_fixed_seal(&fixed, small.created_ns, small.salt);
    memcpy(bytes, &fixed, sizeof fixed);
    const ring_fixed backup = larder_ring_backup(&fixed, true);
    // The same file, as a copy would be walked.
    int file = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
    uint64_t place = options.capacity_bytes - sizeof backup;
    larder_ring *ring = NULL;
    if (ftruncate(file, (off_t)options.capacity_bytes) == 0 &&
        EXPECT(run,
               pwrite(file, bytes, 4096, 0) == 4096 &&
                   pwrite(file, &backup, sizeof backup, (off_t)place) == sizeof backup,
               "cannot write %s", path)) {
        GIVES(larder_ring_open(path, NULL, NULL, &ring), LARDER_OK);
    }
    if (ring) {
        uint8_t byte = 7;
        size_t most = LARDER_RING_MESSAGE_MAX_BYTES;
        GIVES(larder_ring_append(ring, &byte, most + 1, NULL), LARDER_ETOOLARGE);
        // Nothing was ever synced in it, as far as it says: its first numbers are passed over.
        uint64_t next = 0;
        GIVES(larder_ring_next_sequence(ring, &next), LARDER_OK);
        GIVES(put(ring, 3), LARDER_OK);
        larder_ring_close(ring);
        holds(run, path, next, next + 2);
    }
    (void)close(file);
    (void)unlink(path);
}

// Locks -------------------------------------------------------------------------------------------

static void no_handler(const char *call, const void *what) {
    (void)what;
    if (strcmp(call, "system mmap") == 0) {
        call_hook = NULL;
        larder_fault_set("pthread_atfork", 1, ENOMEM);
    }
}

/** The page of a ring's lock: more than are kept, without memory, of kernels that cannot empty it
    in a child; and where a child could not be told either, no ring is opened. */
static void lock_pages(torture *run, const char *path) {
    enum { PAGES = 12 };
    void *pages[PAGES] = {NULL}, *page = NULL;
    larder_ring_options options = ring_options(SMALL, 0);
    larder_ring_close(made(run, path, &options, 5));
    for (unsigned i = 0; i < PAGES; i++) {
        GIVES(larder_os_fork_page_make(&pages[i]), LARDER_OK);
    }
    larder_fault_set("system mmap", 1, ENOMEM);
    GIVES(opened(path, NULL), ENOMEM);
    larder_fault_set("wipe on fork", 1, ENOSYS);
    call_hook = no_handler;
    larder_status status = opened(path, NULL);
    call_hook = NULL;
    larder_fault_set("system madvise", 1, EINVAL);
    // The handler is set once in a process, and what became of that holds.
    GIVES(larder_os_fork_page_make(&page), status);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, status == ENOMEM || status == LARDER_OK, "without a handler it gave %d", status);
    larder_os_fork_page_free(page);
    for (unsigned i = 0; i < PAGES; i++) {
        larder_os_fork_page_free(pages[i]);
    }
    holds(run, path, 1, 5);
}

// Syncs -------------------------------------------------------------------------------------------

typedef struct meeting {
    torture *run;
    larder_ring *ring;
    pthread_t thread;
    sem_t waits;
    larder_status status;
} meeting;

static meeting met;

static void meets(const char *call, const void *what) {
    if (strcmp(call, "pthread_cond_wait") == 0 && met.ring && what == &met.ring->sync_done) {
        (void)sem_post(&met.waits);
    }
}

static void append_at_sync(const char *call, const void *what) {
    (void)what;
    if (strcmp(call, "system fdatasync") == 0) {
        call_hook = NULL;
        EXPECT_STATUS(met.run, put(met.ring, 1), LARDER_OK);
    }
}

static void *shut_unsynced(void *context) {
    met.status = larder_ring_shutdown_unsynced(context);
    return NULL;
}

/** In the midst of one caller's sync another one closes the ring, and has to wait. */
static void close_at_sync(const char *call, const void *what) {
    static _Atomic bool has_begun;
    meets(call, what);
    if (strcmp(call, "system fdatasync") == 0 && !atomic_exchange(&has_begun, true)) {
        EXPECT(met.run, pthread_create(&met.thread, NULL, shut_unsynced, met.ring) == 0, "none");
        (void)sem_wait(&met.waits);
    }
}

/** In the midst of it an append has the background sync begin, which has to wait. */
static void wake_at_sync(const char *call, const void *what) {
    static _Atomic bool has_begun;
    meets(call, what);
    if (strcmp(call, "system fdatasync") == 0 && !atomic_exchange(&has_begun, true)) {
        EXPECT_STATUS(met.run, put(met.ring, 1), LARDER_OK);
        (void)sem_wait(&met.waits);
    }
}

static void tell_sync(const char *call, const void *what) {
    (void)what;
    if (strcmp(call, "system fdatasync") == 0) {
        (void)sem_post(&met.waits);
    }
}

static bool meet(torture *run, const char *path, int64_t interval_ns, uint64_t count) {
    larder_ring_options options = ring_options(SMALL, 0);
    options.sync_interval_ns = interval_ns;
    met.run = run;
    met.ring = made(run, path, &options, count);
    return met.ring && sem_init(&met.waits, 0, 0) == 0;
}

static void part(void) {
    call_hook = NULL;
    larder_fault_set(NULL, 0, 0);
    larder_ring_close(met.ring);
    met.ring = NULL;
    (void)sem_destroy(&met.waits);
}

static void meetings(torture *run, const char *path) {
    if (!meet(run, path, INT64_MAX / 4, 1)) {
        return;
    }
    // Behind the last sync there is a message, and no thread is woken for it.
    call_hook = append_at_sync;
    GIVES(larder_ring_shutdown(met.ring), LARDER_OK);
    larder_ring_report report;
    GIVES(larder_ring_recovery(met.ring, &report), LARDER_ECLOSED);
    part();
    holds(run, path, 1, 2);
    if (meet(run, path, 0, 3)) {
        call_hook = close_at_sync;
        GIVES(larder_ring_sync(met.ring), LARDER_OK);
        (void)pthread_join(met.thread, NULL);
        EXPECT(run, met.status == LARDER_OK, "a close without a sync gave %d", met.status);
        part();
        holds(run, path, 1, 3);
    }
    if (meet(run, path, 1, 1)) {
        call_hook = wake_at_sync;
        larder_fault_set("system fdatasync", 1, EIO);
        GIVES(larder_ring_sync(met.ring), EIO);
        call_hook = NULL;
        GIVES(larder_ring_shutdown(met.ring), EIO);
        part();
        holds(run, path, 1, 2);
    }
    // A sync in the background fails, which the next caller hears.
    if (meet(run, path, 1, 0)) {
        call_hook = tell_sync;
        larder_fault_set("system fdatasync", 1, EIO);
        GIVES(put(met.ring, 2), LARDER_OK);
        (void)sem_wait(&met.waits);
        GIVES(larder_ring_sync(met.ring), EIO);
        GIVES(larder_ring_shutdown(met.ring), EIO);
        part();
        holds(run, path, 1, 2);
    }
    // After a sync that failed, a close that needs none leaves the file as a kill does.
    if (meet(run, path, 0, 2)) {
        larder_fault_set("fdatasync", 1, EIO);
        GIVES(larder_ring_sync(met.ring), EIO);
        GIVES(larder_ring_shutdown_unsynced(met.ring), LARDER_OK);
        part();
        holds(run, path, 1, 2);
    }
}

static void syncing(torture *run, const char *path) {
    larder_ring_options options = ring_options(SMALL, 0);
    larder_ring *ring = made(run, path, &options, 3);
    if (!ring) {
        return;
    }
    uint64_t next = 0;
    GIVES(larder_ring_sync_through(ring, 2), LARDER_OK);
    GIVES(larder_ring_sync_through(ring, 2), LARDER_OK);
    GIVES(larder_ring_sync_through(ring, 77), LARDER_OK);
    // Of the last group nobody but this one comes back.
    ring->sync_group = 2;
    ring->sync_took_ns = 80000000;
    GIVES(put(ring, 1), LARDER_OK);
    GIVES(larder_ring_sync(ring), LARDER_OK);
    GIVES(larder_ring_wait(ring, 3, INT64_MAX), LARDER_OK);
    GIVES(larder_ring_remove_through(ring, 4, NULL), LARDER_OK);
    GIVES(larder_ring_wait(ring, 3, 0), ETIMEDOUT);
    GIVES(larder_ring_next_sequence(ring, &next), LARDER_OK);
    EXPECT(run, next == 5, "the next number is %llu", (unsigned long long)next);
    larder_ring_close(ring);
}

/** What has to be brought to the device before an append may go on, and does not get there. */
static void marking(torture *run, const char *path) {
    enum { MANY = 100 };
    static uint8_t bytes[MANY][LENGTH];
    larder_message messages[MANY];
    larder_ring_options options = ring_options(4 * SMALL, LARDER_RING_OVERWRITE);
    for (uint64_t i = 0; i < MANY; i++) {
        message_fill(i + 1, bytes[i], LENGTH);
        messages[i] = (larder_message){bytes_of(bytes[i], LENGTH), 0};
    }
    larder_fault_ring_limits(16, (uint64_t)1 << 20);
    larder_ring *ring = made(run, path, &options, 0);
    size_t done = 0;
    larder_fault_set("fdatasync", 1, EIO);
    GIVES(larder_ring_append_batch(ring, messages, MANY, &done, NULL), EIO);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, done > 0 && done < MANY, "%zu were appended", done);
    GIVES(larder_ring_append_batch(ring, messages + done, MANY - done, NULL, NULL), LARDER_OK);
    larder_ring_close(ring);
    larder_fault_ring_limits((uint64_t)1 << 22, (uint64_t)256 * 1024);
    holds(run, path, 1, MANY);
    // The oldest message is durable, which the header on the device does not say yet.
    options.capacity_bytes = larder_ring_capacity_for(8, LENGTH, options.cursor_slots);
    ring = made(run, path, &options, 0);
    GIVES(larder_ring_append_synced(ring, bytes[0], LENGTH, NULL), LARDER_OK);
    GIVES(put(ring, 7), LARDER_OK);
    larder_fault_set("fdatasync", 1, EIO);
    GIVES(put(ring, 1), EIO);
    larder_fault_set(NULL, 0, 0);
    GIVES(put(ring, 1), LARDER_OK);
    larder_ring_close(ring);
    holds(run, path, 2, 9);
    // The same, behind one that was dropped and one that is damaged.
    ring = made(run, path, &options, 0);
    GIVES(larder_ring_append_synced(ring, bytes[0], LENGTH, NULL), LARDER_OK);
    GIVES(put(ring, 3), LARDER_OK);
    GIVES(larder_ring_append_synced(ring, bytes[4], LENGTH, NULL), LARDER_OK);
    GIVES(put(ring, 3), LARDER_OK);
    memset(ring->data + record_bytes(LENGTH) + 8, 0xEE, 8);
    static uint8_t longer[230];
    message_fill(9, longer, sizeof longer);
    larder_fault_set("fdatasync", 1, EIO);
    GIVES(larder_ring_append(ring, longer, sizeof longer, NULL), EIO);
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_ring_append(ring, longer, sizeof longer, NULL), LARDER_OK);
    larder_ring_close(ring);
    holds(run, path, 4, 9);
}

// Making a log ------------------------------------------------------------------------------------

enum { LOOKS = 3 };

static struct {
    const char *path;
    int count;
    larder_status found[LOOKS];
} looks;

static void look_at_it(const char *call, const void *what) {
    larder_ring *ring = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    (void)what;
    bool makes = strcmp(call, "system fallocate") == 0 || strcmp(call, "system pwrite") == 0;
    if (!makes || looks.count == LOOKS) {
        return;
    }
    call_hook = NULL;
    looks.found[looks.count++] = larder_ring_open(looks.path, &reading, NULL, &ring);
    larder_ring_close(ring);
    call_hook = look_at_it;
}

static void making(torture *run, const char *path) {
    const struct {
        const char *call;
        int nth;
        larder_status error, opened;
    } fails[] = {{"system mmap", 1, ENOMEM, ENOMEM},
                 {"getcwd", 1, EIO, EIO},
                 // A signal each time.
                 {"system fallocate", -1, EINTR, LARDER_OK}};
    larder_ring_options options = ring_options(1 << 20, LARDER_RING_OVERWRITE);
    larder_ring *ring = NULL;
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
        for (int is_there = 0; is_there < 2; is_there++) {
            (void)unlink(path);
            EXPECT(run, !is_there || write_file(path, "", 0), "cannot write the file");
            torture_note(run, "a log is made, and %s fails", fails[i].call);
            larder_fault_set(fails[i].call, fails[i].nth, fails[i].error);
            GIVES(larder_ring_open(path, &options, NULL, &ring), fails[i].opened);
            larder_fault_set(NULL, 0, 0);
            int64_t left = fails[i].opened ? is_there - 1 : 1 << 20;
            EXPECT(run, size_of_file(path) == left, "%lld bytes are left, not %lld",
                   (long long)size_of_file(path), (long long)left);
            larder_ring_close(ring);
        }
    }
    // Nothing yet, while it is empty and while it is blank.
    (void)unlink(path);
    looks.path = path;
    looks.count = 0;
    call_hook = look_at_it;
    GIVES(larder_ring_open(path, &options, NULL, &ring), LARDER_OK);
    call_hook = NULL;
    EXPECT(run,
           looks.count == LOOKS && looks.found[0] == ENOENT && looks.found[1] == ENOENT &&
               looks.found[2] == LARDER_OK,
           "%d looks, which gave %d, %d and %d", looks.count, looks.found[0], looks.found[1],
           looks.found[2]);
    // Its folder cannot be opened now, or not for reading.
    GIVES(put(ring, 1), LARDER_OK);
    larder_fault_set("system openat", 1, EMFILE);
    GIVES(larder_ring_sync(ring), EMFILE);
    larder_fault_set("system openat", 1, EACCES);
    GIVES(larder_ring_sync(ring), LARDER_OK);
    larder_fault_set(NULL, 0, 0);
    larder_ring_close(ring);
    holds(run, path, 1, 1);
    (void)unlink(path);
}

void ring_calls(torture *run, void *context) {
    char path[600], other[600];
    (void)context;
    snprintf(path, sizeof path, "%s", torture_path(run, "ring"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    opening(run, path, other);
    large_file(run, path);
    syncing(run, path);
    marking(run, path);
    if (failing_call_count > 0) {
        making(run, path);
        reserving(run, path);
        names(run, path);
        torn_files(run, path);
        meetings(run, path);
        lock_pages(run, path);
    }
}
