// SPDX-License-Identifier: MIT
// What is used up or taken away: room on the disk, file size, descriptors, permissions, the folder.
// Each trial runs in a guarded child, which may change its own limits, user and mounts.
#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exhaustion.h"

bool fill_ring(torture *run, ledger *book, larder_ring *ring, unsigned messages) {
    rng random = rng_make(1);
    return ledger_append_more(run, book, ring, &random, messages);
}

bool make_ring(torture *run, ledger *book, const char *path, uint64_t capacity, uint32_t flags,
               unsigned messages) {
    ledger_reset(book, run->seed, capacity, flags);
    book->profile = (message_profile){0, 200, 1000};
    larder_ring_options options = ring_options(capacity, flags);
    larder_ring *ring = NULL;
    bool good = EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK) &&
                fill_ring(run, book, ring, messages);
    larder_ring_close(ring);
    return good;
}

bool ring_is_intact(torture *run, ledger *book, const char *path, uint64_t newest) {
    larder_ring *ring = NULL;
    ledger_contents held;
    bool good = EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), LARDER_OK) &&
                ledger_verify(run, book, ring, &held) &&
                EXPECT(run, held.newest == newest,
                       "the newest message is %" PRIu64 ", not %" PRIu64, held.newest, newest) &&
                fill_ring(run, book, ring, 3);
    larder_ring_close(ring);
    return good;
}

// Full disk ---------------------------------------------------------------------------------------

#ifdef __linux__
bool mount_small_disk(const char *path, const char *size) {
    if (geteuid() != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
        return false;
    }
    if (geteuid() == 0 && unshare(CLONE_NEWNS) != 0) {
        return false;
    }
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && make_directory(path) &&
           mount("tmpfs", path, "tmpfs", 0, size) == 0;
}

void fill_disk(const char *path) {
    static const uint8_t block[4096] = {1};
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (file >= 0 && write(file, block, sizeof block) > 0) {
    }
    if (file >= 0) {
        close(file);
    }
}

static void full_disk(torture *run, void *context) {
    ledger *book = context;
    const char *disk = torture_path(run, "disk");
    if (!mount_small_disk(disk, "size=1m")) {
        torture_skip(run, "a full disk: mounting a small one needs root or user namespaces");
        return;
    }
    const char *path = torture_path(run, "disk/ring"), *filler = torture_path(run, "disk/filler");
    const char *copy = torture_path(run, "disk/copy");
    larder_ring_options options = ring_options(4 << 20, LARDER_RING_OVERWRITE);
    larder_ring *ring = NULL;
    larder_ring_report report;
    torture_note(run, "creating a ring larger than the disk");
    if (!EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), ENOSPC)) {
        return;
    }
    torture_note(run, "filling a ring on a full disk");
    uint64_t capacity = 512 << 10;
    if (!make_ring(run, book, path, capacity, LARDER_RING_OVERWRITE, 3)) {
        return;
    }
    fill_disk(filler);
    if (!EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), LARDER_OK)) {
        return;
    }
    // Several times around: every page is written, and none may be missing.
    larder_ring_statistics figures = {0};
    bool good = true;
    while (good && figures.wraps < 3) {
        good = fill_ring(run, book, ring, 500) &&
               EXPECT_STATUS(run, larder_ring_sync(ring), LARDER_OK) &&
               EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK);
    }
    larder_ring_close(ring);
    uint64_t newest = atomic_load(&book->acknowledged);
    options = ring_options(1 << 20, LARDER_RING_OVERWRITE);
    torture_note(run, "resize and salvage on a full disk");
    good = good && EXPECT_STATUS(run, larder_ring_resize(path, &options, NULL), ENOSPC) &&
           EXPECT_STATUS(run, larder_ring_salvage(path, copy, NULL, NULL, NULL, &report), ENOSPC) &&
           EXPECT(run, size_of_file(copy) < 0, "a failed salvage left its target") &&
           ring_is_intact(run, book, path, newest);
    newest = atomic_load(&book->acknowledged);
    (void)unlink(filler);
    torture_note(run, "resize with room again");
    options.capacity_bytes = 256 << 10;
    good = good && EXPECT_STATUS(run, larder_ring_resize(path, &options, NULL), LARDER_OK) &&
           ring_is_intact(run, book, path, newest);
}

static void read_only_disk(torture *run, void *context) {
    ledger *book = context;
    const char *disk = torture_path(run, "disk");
    if (!mount_small_disk(disk, "size=1m")) {
        torture_skip(run, "a read-only disk: mounting one needs root or user namespaces");
        return;
    }
    const char *path = torture_path(run, "disk/ring");
    if (!make_ring(run, book, path, 65536, 0, 50)) {
        return;
    }
    if (mount(NULL, disk, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0) {
        torture_skip(run, "a read-only disk: cannot remount");
        return;
    }
    larder_ring *ring = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    ledger_contents held;
    if (EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), EROFS) &&
        EXPECT_STATUS(run, larder_ring_open(path, &reading, NULL, &ring), LARDER_OK) &&
        ledger_verify(run, book, ring, &held)) {
        EXPECT(run, held.count == 50, "%" PRIu64 " messages of 50", held.count);
        EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, NULL), LARDER_EREADONLY);
        EXPECT_STATUS(run, larder_ring_sync(ring), LARDER_EREADONLY);
        EXPECT_STATUS(run, larder_ring_remove_through(ring, 1, NULL), LARDER_EREADONLY);
        EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of_text("a"), 1), LARDER_EREADONLY);
    }
    larder_ring_close(ring);
}
#endif

// Limits ------------------------------------------------------------------------------------------

static void file_size_limit(torture *run, void *context) {
    ledger *book = context;
    const char *path = torture_path(run, "limited"), *old = torture_path(run, "old");
    if (!make_ring(run, book, old, 1 << 20, LARDER_RING_OVERWRITE, 500)) {
        return;
    }
    uint64_t newest = atomic_load(&book->acknowledged);
    struct rlimit limit = {65536, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    torture_note(run, "creating a ring larger than RLIMIT_FSIZE");
    larder_ring_options options = ring_options(1 << 20, 0);
    larder_ring *ring = NULL;
    larder_ring_report report;
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), EFBIG);
    EXPECT_STATUS(run, larder_ring_salvage(old, path, NULL, NULL, NULL, &report), EFBIG);
    options.capacity_bytes = 2 << 20;
    EXPECT_STATUS(run, larder_ring_resize(old, &options, NULL), EFBIG);
    options.capacity_bytes = 65536;
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK);
    larder_ring_close(ring);
    torture_note(run, "using a ring larger than RLIMIT_FSIZE");
    ring_is_intact(run, book, old, newest);
}

static void descriptor_limit(torture *run, void *context) {
    ledger *book = context;
    const char *path = torture_path(run, "few"), *copy = torture_path(run, "few-copy");
    if (!make_ring(run, book, path, 65536, LARDER_RING_OVERWRITE, 100)) {
        return;
    }
    uint64_t newest = atomic_load(&book->acknowledged);
    unsigned before = open_descriptors();
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t plenty = limit.rlim_cur;
    for (unsigned spare = 0; spare < 6; spare++) {
        torture_note(run, "%u spare descriptors", spare);
        larder_ring *ring = NULL;
        larder_ring_report report;
        limit.rlim_cur = before + spare;
        setrlimit(RLIMIT_NOFILE, &limit);
        larder_status opened = larder_ring_open(path, NULL, NULL, &ring);
        larder_ring_close(ring);
        larder_status salvaged = larder_ring_salvage(path, copy, NULL, NULL, NULL, &report);
        larder_ring_options options = ring_options(70000 + 1000 * spare, LARDER_RING_OVERWRITE);
        larder_status resized = larder_ring_resize(path, &options, NULL);
        limit.rlim_cur = plenty;
        setrlimit(RLIMIT_NOFILE, &limit);
        (void)unlink(copy);
        if (!EXPECT(run, opened == LARDER_OK || opened == EMFILE, "open gave %d", opened) ||
            !EXPECT(run, salvaged == LARDER_OK || salvaged == EMFILE, "salvage gave %d",
                    salvaged) ||
            !EXPECT(run, resized == LARDER_OK || resized == EMFILE, "resize gave %d", resized) ||
            !EXPECT(run, open_descriptors() == before, "%u descriptors are open, not %u",
                    open_descriptors(), before) ||
            !ring_is_intact(run, book, path, newest)) {
            return;
        }
        newest = atomic_load(&book->acknowledged);
    }
}

// Permissions and the folder ----------------------------------------------------------------------

static void no_permission(torture *run, void *context) {
    ledger *book = context;
    // The workplace is the starting user's alone; a stranger gets a folder that it can enter.
    char folder[] = "/tmp/larder-torture-shut.XXXXXX";
    char path[64], missing[64];
    if (!mkdtemp(folder)) {
        torture_skip(run, "a shut folder: cannot make one in /tmp");
        return;
    }
    snprintf(path, sizeof path, "%s/ring", folder);
    snprintf(missing, sizeof missing, "%s/new", folder);
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(65536, 0);
    if (make_ring(run, book, path, 65536, 0, 20) && chmod(folder, 0555) == 0 &&
        chmod(path, 0444) == 0) {
        uid_t self = geteuid();
        if (self == 0 && seteuid(65534) != 0) {
            torture_skip(run, "a shut folder: cannot become nobody");
        } else {
            larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
            ledger_contents held;
            EXPECT_STATUS(run, larder_ring_open(missing, &options, NULL, &ring), EACCES);
            EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), EACCES);
            EXPECT_STATUS(run, larder_ring_resize(path, &options, NULL), EACCES);
            if (EXPECT_STATUS(run, larder_ring_open(path, &reading, NULL, &ring), LARDER_OK)) {
                ledger_verify(run, book, ring, &held);
            }
            larder_ring_close(ring);
            if (self == 0 && seteuid(0) != 0) {
                torture_fail(run, "cannot become root again");
            }
        }
    }
    (void)chmod(folder, 0700);
    remove_tree(folder);
}

static void folder_removed(torture *run, void *context) {
    ledger *book = context;
    const char *folder = torture_path(run, "folder"), *path = torture_path(run, "folder/ring");
    larder_ring *ring = NULL;
    if (!make_directory(folder) || !make_ring(run, book, path, 65536, LARDER_RING_OVERWRITE, 20) ||
        !EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &ring), LARDER_OK)) {
        return;
    }
    remove_tree(folder);
    larder_ring_reader *reader = NULL;
    larder_ring_record record = {0};
    uint64_t newest = 0;
    larder_status status = LARDER_OK;
    for (int i = 0; i < 1000 && !status; i++) status = larder_ring_append(ring, "gone", 4, &newest);
    EXPECT_STATUS(run, status, LARDER_OK);
    EXPECT_STATUS(run, larder_ring_sync(ring), LARDER_EREPLACED);
    // As long as it is open, what was appended can be read.
    EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
    while (larder_ring_reader_next(reader, &record) == LARDER_OK && record.sequence < newest) {
    }
    EXPECT(run, newest >= 1000 && record.sequence == newest,
           "message %llu is the last that is read", (unsigned long long)record.sequence);
    larder_ring_reader_close(reader);
    EXPECT_STATUS(run, larder_ring_shutdown(ring), LARDER_EREPLACED);
    larder_ring_close(ring);
    larder_ring_options options = ring_options(65536, 0);
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), ENOENT);
    make_directory(folder);
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK);
    larder_ring_close(ring);
}

void family_exhaustion(torture *run) {
    static void (*const bodies[])(torture *, void *) = {
#ifdef __linux__
        full_disk,       read_only_disk,
#endif
        file_size_limit, descriptor_limit, no_permission, folder_removed,
    };
    ledger *book = shared_memory(sizeof *book);
    rng random;
    run->deadline_ns = 0; // Every case once, however long it takes.
    if (!torture_next_case(run, &random)) {
        return;
    }
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        torture_trial(run);
        torture_guard(run, 60, bodies[i], book);
    }
    exhaustion_faults(run, book);
}
