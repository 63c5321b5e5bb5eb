// SPDX-License-Identifier: MIT
// A child writes and is killed at a random moment; the parent opens the file and finds everything
// that the child was told was kept. A file lives through several kills, some of them while it is
// being created or recovered.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "ledger.h"

typedef struct life {
    ledger *book;
    const char *path;
    rng random;
    /** A child had the ring open, so that its creation was done. */
    bool was_opened;
} life;

static void wait_ns(uint64_t duration) {
    uint64_t end = now_ns() + duration;
    if (duration > 300000) {
        struct timespec most = {0, (long)(duration - 200000)};
        nanosleep(&most, NULL);
    }
    while (now_ns() < end) { // Sleeping is too coarse for the last stretch.
    }
}

/** Forks, lets the child run for a while of random length, kills it. */
static bool kill_one(torture *run, life *file, void (*body)(life *), bool from_the_start) {
    ledger *book = file->book;
    atomic_store(&book->ready, 0);
    rng child_random = rng_make(rng_next(&file->random));
    uint64_t span;
    switch (rng_below(&file->random, 8)) {
    case 0: span = rng_below(&file->random, 30000); break;
    case 1:
    case 2: span = rng_below(&file->random, 300000); break;
    case 3: span = rng_below(&file->random, 5000000); break;
    default: span = rng_below(&file->random, 1500000); break;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        torture_fail(run, "fork failed: %s", strerror(errno));
        return false;
    }
    if (child == 0) {
        alarm(20);
        file->random = child_random;
        body(file);
        for (;;) {
            pause();
        }
    }
    if (!from_the_start) {
        uint64_t limit = now_ns() + 10000000000u;
        while (!atomic_load(&book->ready) && !atomic_load(&book->broken) && now_ns() < limit) {
            wait_ns(5000);
        }
    }
    wait_ns(span);
    kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    file->was_opened |= atomic_load(&book->ready) != 0;
    if (atomic_load(&book->broken)) {
        torture_fail(run, "the writer: %s", book->broken_text);
        return false;
    }
    return EXPECT(run, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "the writer ended by itself, with status 0x%x", status);
}

static void write_until_killed(life *file) {
    writer_plan plan = {.book = file->book,
                        .path = file->path,
                        .random = file->random,
                        .sync_every = rng_one_in(&file->random, 2) ? 40 : 0,
                        .reopens = rng_one_in(&file->random, 3),
                        .sync_interval_ns = rng_one_in(&file->random, 8) ? 1000000 : 0,
                        .steps = UINT64_MAX};
    writer_run(&plan);
}

static void recover_until_killed(life *file) {
    larder_ring_options options = ledger_options(file->book);
    larder_ring *ring = NULL;
    if (larder_ring_open(file->path, &options, NULL, &ring) == LARDER_OK) {
        atomic_store(&file->book->ready, 1);
        larder_ring_close(ring);
    }
}

static bool verify_read_only(torture *run, life *file) {
    larder_ring_options options = ring_options(0, LARDER_RING_READ_ONLY);
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(file->path, &options, NULL, &ring);
    ledger_contents held;
    if (status == LARDER_EFOREIGN && !file->was_opened) {
        return true; // Killed before there was a header: a writer will make it anew.
    }
    bool good = EXPECT_STATUS(run, status, LARDER_OK) &&
                ledger_verify(run, file->book, ring, &held) &&
                ledger_verify_acknowledged(run, file->book, &held) &&
                ledger_verify_cursors(run, file->book, ring, file->book->cursor);
    larder_ring_close(ring);
    return good;
}

static bool verify(torture *run, life *file) {
    ledger *book = file->book;
    larder_ring_options options = ledger_options(book);
    larder_ring *ring = NULL;
    larder_ring_report report;
    ledger_contents held;
    bool good = EXPECT_STATUS(run, larder_ring_open(file->path, &options, NULL, &ring), LARDER_OK);
    good = good && EXPECT_STATUS(run, larder_ring_recovery(ring, &report), LARDER_OK) &&
           EXPECT(run, report.lost == 0 && report.cut == 0 && report.damaged_places == 0,
                  "recovery tells of %" PRIu64 " lost, %" PRIu64 " cut, %" PRIu64
                  " damaged places after a mere kill",
                  report.lost, report.cut, report.damaged_places) &&
           ledger_verify(run, book, ring, &held) && ledger_verify_acknowledged(run, book, &held) &&
           ledger_verify_cursors(run, book, ring, book->cursor);
    if (good) {
        // What the dead child had in hand is settled now, one way or the other.
        raise_to(&book->acknowledged, held.newest);
        raise_to(&book->oldest, held.oldest);
        if (held.count && atomic_load(&book->removed_intent) >= held.oldest) {
            atomic_store(&book->removed_intent, held.oldest - 1);
        }
        raise_to(&book->removed, atomic_load(&book->removed_intent));
        if (rng_one_in(&file->random, 3)) {
            good = ledger_append_more(run, book, ring, &file->random,
                                      (unsigned)rng_between(&file->random, 1, 12));
        }
    }
    larder_ring_close(ring);
    return good;
}

static void plan_life(life *file, uint64_t *capacity) {
    rng *random = &file->random;
    ledger *book = file->book;
    static const uint64_t sizes[] = {4096, 6000, 8192, 16384, 65536, 65536, 262144, 1048576};
    *capacity = sizes[rng_below(random, sizeof sizes / sizeof *sizes)];
    *capacity += 8 * rng_below(random, 40);
    uint32_t flags = rng_one_in(random, 3) ? 0 : LARDER_RING_OVERWRITE;
    flags |= rng_one_in(random, 2) ? 0 : LARDER_RING_KEEP_TIMES;
    ledger_reset(book, rng_next(random), *capacity, flags);
    bool small = rng_one_in(random, 2);
    larder_fault_ring_limits(small ? rng_between(random, 8, 2000) : (uint64_t)1 << 22,
                             small ? 512 * rng_between(random, 1, 200) : 256 * 1024);
    uint32_t usual = (uint32_t)rng_between(random, 1, rng_one_in(random, 2) ? 40 : 400);
    uint32_t longest =
        (uint32_t)rng_between(random, usual, *capacity / 3 < 20000 ? *capacity / 3 : 20000);
    book->profile = (message_profile){0, usual, longest};
    if (rng_one_in(random, 4)) {
        book->threads = (uint32_t)rng_between(random, 2, LEDGER_THREADS);
    }
}

void family_kill(torture *run) {
    life file = {.book = shared_memory(sizeof(ledger))};
    rng random;
    while (torture_next_case(run, &random)) {
        file.random = random;
        file.was_opened = false;
        file.path = torture_path(run, "ring");
        (void)unlink(file.path);
        uint64_t capacity;
        plan_life(&file, &capacity);
        unsigned kills = (unsigned)rng_between(&file.random, 1, 10);
        for (unsigned i = 0; i < kills; i++) {
            torture_trial(run);
            bool early = i == 0 ? rng_one_in(&file.random, 2) : rng_one_in(&file.random, 12);
            if (!kill_one(run, &file, write_until_killed, early)) {
                break;
            }
            if (rng_one_in(&file.random, 4)) {
                torture_trial(run);
                if (!kill_one(run, &file, recover_until_killed, true)) {
                    break;
                }
            }
            if (size_of_file(file.path) > 0 && rng_one_in(&file.random, 3) &&
                !verify_read_only(run, &file)) {
                break;
            }
            if (!verify(run, &file)) {
                break;
            }
        }
        (void)unlink(file.path);
    }
}
