// SPDX-License-Identifier: MIT
// Several processes and one file: one writes, any number read.
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "concurrency.h"
#include "faults.h"

bool exact_by_number(torture *run, const ledger *book, const larder_ring_record *record) {
    uint64_t key = ledger_key(book, record->sequence, record->sequence);
    return EXPECT(run,
                  record->payload.length == message_length(&book->profile, key) &&
                      message_equals(key, record->payload.data, record->payload.length),
                  "message %" PRIu64 " (%zu bytes) has a wrong value", record->sequence,
                  record->payload.length);
}

/** Runs `body` in a child of this scene. */
static pid_t spawn(torture *run, scene *self, void (*body)(torture *, scene *)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        body(run, self);
        _exit(0);
    }
    return child;
}

static void join(torture *run, pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT(run, WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "another process ended with status 0x%x", status);
}

// Openers -----------------------------------------------------------------------------------------

static void open_busy(torture *run, scene *self) {
    larder_ring *ring = NULL;
    larder_ring_detail detail = {0};
    int64_t owner = (int64_t)atomic_load(&self->book->acknowledged);
    EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), NULL, &detail, &ring),
                  LARDER_EBUSY);
    EXPECT(run, ring == NULL && detail.holder_pid == owner,
           "the holder is said to be %" PRId64 ", and is %" PRId64, detail.holder_pid, owner);
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    larder_ring_statistics figures;
    if (EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), &reading, NULL, &ring),
                      LARDER_OK) &&
        EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK)) {
        EXPECT(run, figures.count == 1 && figures.writer_pid == owner,
               "a reader sees %" PRIu64 " messages of process %" PRId64, figures.count,
               figures.writer_pid);
    }
    larder_ring_close(ring);
}

void second_opener(torture *run, void *context) {
    scene *self = context;
    larder_ring *ring = NULL;
    if (!scene_open(run, self, torture_path(run, "ring"), 8192, 0, &ring)) {
        return;
    }
    EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, NULL), LARDER_OK);
    atomic_store(&self->book->acknowledged, (uint64_t)getpid());
    open_busy(run, self);
    join(run, spawn(run, self, open_busy));
    // The failed attempts took nothing away: the ring is still ours, and then free.
    EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, NULL), LARDER_OK);
    larder_ring_close(ring);
    ring = NULL;
    EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), NULL, NULL, &ring), LARDER_OK);
    larder_ring_close(ring);
}

static void open_and_append(torture *run, scene *self) {
    for (unsigned done = 0; done < 40;) {
        larder_ring *ring = NULL;
        larder_ring_options options = ring_options(65536, 0);
        larder_status status = larder_ring_open(torture_path(run, "ring"), &options, NULL, &ring);
        if (status == LARDER_EBUSY) {
            continue;
        }
        uint64_t sequence = 0;
        if (!EXPECT_STATUS(run, status, LARDER_OK) ||
            !EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, &sequence), LARDER_OK)) {
            larder_ring_close(ring);
            return;
        }
        // Nobody else can have appended since: the numbers of all processes are one row.
        uint64_t before = atomic_fetch_add(&self->book->acknowledged, 1);
        EXPECT(run, sequence == before + 1, "number %" PRIu64 " after %" PRIu64 " appends",
               sequence, before);
        larder_ring_close(ring);
        done++;
    }
}

void openers_race(torture *run, void *context) {
    scene *self = context;
    (void)unlink(torture_path(run, "ring"));
    atomic_store(&self->book->acknowledged, 0);
    pid_t children[4];
    for (unsigned i = 0; i < 4; i++) {
        children[i] = spawn(run, self, open_and_append);
    }
    for (unsigned i = 0; i < 4; i++) {
        join(run, children[i]);
    }
}

// fork --------------------------------------------------------------------------------------------

static larder_ring *inherited;

static void use_inherited(torture *run, scene *self) {
    (void)self;
    larder_ring_reader *reader = NULL;
    larder_ring_report report;
    larder_ring_statistics figures;
    larder_reservation room = {0};
    uint64_t place, next;
    size_t count;
    EXPECT_STATUS(run, larder_ring_append(inherited, "x", 1, NULL), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_reserve(inherited, 1, &room), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_remove_through(inherited, 1, NULL), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_sync(inherited), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_next_sequence(inherited, &next), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_acknowledge(inherited, bytes_of("a", 1), 1), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_reader_open(inherited, 0, &reader), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_check(inherited, &report), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_wait(inherited, 1000, 0), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_sync_through(inherited, 1), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_acknowledged(inherited, bytes_of("a", 1), &place),
                  LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_cursor_remove(inherited, bytes_of("a", 1)), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_cursors(inherited, NULL, 0, &count), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_statistics_get(inherited, &figures), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_recovery(inherited, &report), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_shutdown(inherited), LARDER_EFORKED);
    EXPECT_STATUS(run, larder_ring_shutdown_unsynced(inherited), LARDER_EFORKED);
    larder_ring_close(inherited);
    // Its own handle it may have, once the parent's is closed; reading always.
    larder_ring *ring = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), NULL, NULL, &ring),
                  LARDER_EBUSY);
    EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), &reading, NULL, &ring),
                  LARDER_OK);
    larder_ring_close(ring);
}

static void linger(torture *run, scene *self) {
    (void)run;
    while (!atomic_load(&self->book->ready)) {
        usleep(200);
    }
}

/** @param wipes whether the kernel empties what tells a child that the ring is its parent's; where
           it does not know how, as on Apple systems, a handler of fork does. */
static void fork_with_ring(torture *run, scene *self, bool wipes) {
    larder_fault_set(wipes ? NULL : "wipe on fork", 1, ENOSYS);
    bool is_open = scene_open(run, self, torture_path(run, "ring"), 8192, 0, &inherited);
    EXPECT(run, wipes || larder_fault_passes() == 1, "nobody asked the kernel to wipe");
    larder_fault_set(NULL, 0, 0);
    if (!is_open) {
        return;
    }
    EXPECT_STATUS(run, larder_ring_append(inherited, "x", 1, NULL), LARDER_OK);
    join(run, spawn(run, self, use_inherited));
    EXPECT_STATUS(run, larder_ring_append(inherited, "x", 1, NULL), LARDER_OK);
    larder_ring_statistics figures;
    EXPECT_STATUS(run, larder_ring_statistics_get(inherited, &figures), LARDER_OK);
    EXPECT(run, figures.count == 2, "%" PRIu64 " messages", figures.count);
    // A child that only lives on with the descriptors it got must not keep the ring locked.
    atomic_store(&self->book->ready, 0);
    pid_t child = spawn(run, self, linger);
    larder_ring_close(inherited);
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(torture_path(run, "ring"), NULL, NULL, &ring);
    EXPECT(run, status == LARDER_OK, "closed, but held by a forked child: open gave %d", status);
    larder_ring_close(ring);
    atomic_store(&self->book->ready, 1);
    join(run, child);
}

void forked_handle(torture *run, void *context) {
    fork_with_ring(run, context, true);
    fork_with_ring(run, context, false);
}

// Following ---------------------------------------------------------------------------------------

static void follow(torture *run, scene *self) {
    ledger *book = self->book;
    larder_ring *ring = NULL;
    larder_ring_reader *reader = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    if (!EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), &reading, NULL, &ring),
                       LARDER_OK) ||
        !EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return;
    }
    atomic_fetch_add(&book->ready, 1);
    uint64_t previous = 0, first = 0, count = 0, lost = 0;
    bool dawdles = rng_one_in(&self->random, 2);
    for (;;) {
        larder_ring_record record;
        // Read before looking: what was appended before the end is there afterwards.
        uint64_t end = atomic_load(&book->removed);
        larder_status status = larder_ring_reader_next(reader, &record);
        if (status == LARDER_END) {
            if (end && previous >= end) {
                break;
            }
            if (!EXPECT(run, !end,
                        "%" PRIu64 " was the last message, the follower ends at %" PRIu64, end,
                        previous)) {
                break;
            }
            status = larder_ring_wait(ring, previous, 20000000);
            if (!EXPECT(run, status == LARDER_OK || status == ETIMEDOUT, "wait gave %d", status)) {
                break;
            }
            continue;
        }
        if (!EXPECT_STATUS(run, status, LARDER_OK) ||
            !EXPECT(run, record.sequence > previous, "%" PRIu64 " follows %" PRIu64,
                    record.sequence, previous) ||
            !exact_by_number(run, book, &record)) {
            break;
        }
        first = first ? first : record.sequence;
        lost += record.lost;
        count++;
        previous = record.sequence;
        if (dawdles && rng_one_in(&self->random, 300)) {
            usleep(300);
        }
    }
    EXPECT(run, count == 0 || count + lost == previous - first + 1,
           "%" PRIu64 " read and %" PRIu64 " lost from %" PRIu64 " to %" PRIu64, count, lost, first,
           previous);
    // What is shown is whole: with room for all, no look comes too early or too late for a message.
    EXPECT(run, !self->keeps_all || lost == 0, "%" PRIu64 " lost of a ring that keeps all", lost);
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
}

void follower_elsewhere(torture *run, void *context) {
    scene *self = context;
    larder_ring *ring = NULL;
    // Small rings, so that the reader is overtaken in the middle of a record; or one that keeps
    // all.
    uint64_t capacity =
        rng_between(&self->random, 3000, rng_one_in(&self->random, 2) ? 6000 : 80000);
    uint64_t messages = run->brief ? 20000 : 100000;
    self->keeps_all = rng_one_in(&self->random, 3);
    if (self->keeps_all) {
        capacity = (uint64_t)8 << 20;
        messages = 5000;
    }
    if (!scene_open(run, self, torture_path(run, "ring"), capacity,
                    self->keeps_all ? 0 : LARDER_RING_OVERWRITE, &ring)) {
        return;
    }
    ledger *book = self->book;
    atomic_store(&book->removed, 0);
    pid_t children[2];
    for (unsigned i = 0; i < 2; i++) {
        (void)rng_next(&self->random);
        children[i] = spawn(run, self, follow);
    }
    while (atomic_load(&book->ready) < 2 && !atomic_load(&run->tally->failures)) {
        usleep(100);
    }
    uint8_t bytes[1024];
    for (uint64_t sequence = 1; sequence <= messages; sequence++) {
        uint64_t key = ledger_key(book, sequence, sequence);
        size_t length = message_length(&book->profile, key);
        message_fill(key, bytes, length);
        if (!EXPECT_STATUS(run, larder_ring_append(ring, bytes, length, NULL), LARDER_OK)) {
            break;
        }
        if (sequence % 64 == 0 && rng_one_in(&self->random, 40)) {
            usleep(200); // Let the readers catch up now and then.
        }
        if (sequence % 4096 == 0 && rng_one_in(&self->random, 4)) {
            // Readers live through the end of a writer and the beginning of another one.
            larder_ring_close(ring);
            ring = NULL;
            if (!EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), NULL, NULL, &ring),
                               LARDER_OK)) {
                break;
            }
        }
    }
    atomic_store(&book->removed, messages);
    for (unsigned i = 0; i < 2; i++) {
        join(run, children[i]);
    }
    larder_ring_close(ring);
}

/** Less than a waiter sleeps for at most. */
#define WAKE_LIMIT_NS ((int64_t)10000000000)

static void be_woken(torture *run, scene *self) {
    ledger *book = self->book;
    larder_ring *ring = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    if (!EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), &reading, NULL, &ring),
                       LARDER_OK))
        return;
    uint64_t rounds = atomic_load(&book->removed);
    for (uint64_t seen = 0; seen < rounds; seen++) {
        const uint64_t start = now_ns();
        larder_status status = larder_ring_wait(ring, seen, WAKE_LIMIT_NS);
        bool is_woken = status == LARDER_OK && now_ns() - start < (uint64_t)WAKE_LIMIT_NS;
        if (!EXPECT(run, is_woken, "nobody was woken for %" PRIu64 ": %d", seen + 1, status)) break;
        atomic_store(&book->ready, (uint32_t)seen + 1);
    }
    larder_ring_close(ring);
}

/** One message at a time, at any moment of the wait for it. */
void woken_elsewhere(torture *run, void *context) {
    scene *self = context;
    ledger *book = self->book;
    larder_ring *ring = NULL;
    const uint64_t rounds = run->brief ? 100 : 1000;
    if (!scene_open(run, self, torture_path(run, "ring"), 4096, LARDER_RING_OVERWRITE, &ring))
        return;
    atomic_store(&book->removed, rounds);
    atomic_store(&book->ready, 0);
    pid_t child = spawn(run, self, be_woken);
    for (uint64_t round = 0; round < rounds && !atomic_load(&run->tally->failures); round++) {
        uint64_t until = now_ns() + rng_below(&self->random, 3000000);
        while (atomic_load(&book->ready) < round && !atomic_load(&run->tally->failures)) usleep(50);
        // Also in the microseconds between its look and its sleep.
        if (rng_one_in(&self->random, 2)) until = now_ns() + rng_below(&self->random, 20000);
        while (now_ns() < until) {
        }
        if (round % 50 == 49) {
            // Also by a writer that came later.
            larder_ring_close(ring);
            if (!EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), NULL, NULL, &ring),
                               LARDER_OK))
                break;
        }
        if (!EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, NULL), LARDER_OK)) break;
    }
    join(run, child);
    larder_ring_close(ring);
}

// Copies ------------------------------------------------------------------------------------------

/** @return how many messages the ring has, each of which is exact; 0 after a failure. */
static uint64_t count_exact(torture *run, const ledger *book, larder_ring *ring) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    uint64_t count = 0;
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return 0;
    }
    while (larder_ring_reader_next(reader, &record) == LARDER_OK &&
           exact_by_number(run, book, &record)) {
        count++;
    }
    larder_ring_reader_close(reader);
    return count;
}

/** Copies the file while its writer goes on, so that its parts are of different moments. */
static void copy_and_open(torture *run, scene *self) {
    char copy[600], target[600];
    snprintf(copy, sizeof copy, "%s", torture_path(run, "copy"));
    snprintf(target, sizeof target, "%s", torture_path(run, "salvaged"));
    for (unsigned i = 0; i < 20; i++) {
        (void)unlink(copy);
        (void)unlink(target);
        larder_ring_report before, after;
        larder_ring *ring = NULL;
        if (!EXPECT(run, copy_file(torture_path(run, "ring"), copy), "cannot copy the file") ||
            !EXPECT_STATUS(run, larder_ring_salvage(copy, target, NULL, NULL, NULL, &before),
                           LARDER_OK) ||
            !EXPECT_STATUS(run, larder_ring_open(copy, NULL, NULL, &ring), LARDER_OK)) {
            break;
        }
        uint64_t opened = count_exact(run, self->book, ring);
        larder_ring_close(ring);
        (void)unlink(target);
        if (!EXPECT_STATUS(run, larder_ring_salvage(copy, target, NULL, NULL, NULL, &after),
                           LARDER_OK) ||
            !EXPECT(run, opened >= before.intact && after.intact >= before.intact,
                    "salvage finds %" PRIu64 " messages in a copy, opening %" PRIu64
                    ", salvage again %" PRIu64,
                    before.intact, opened, after.intact)) {
            break;
        }
    }
    atomic_store(&self->book->removed, 1);
}

void copied_elsewhere(torture *run, void *context) {
    scene *self = context;
    ledger *book = self->book;
    larder_ring *ring = NULL;
    if (!scene_open(run, self, torture_path(run, "ring"), (uint64_t)1 << 20, LARDER_RING_OVERWRITE,
                    &ring)) {
        return;
    }
    atomic_store(&book->removed, 0);
    pid_t child = spawn(run, self, copy_and_open);
    uint8_t bytes[1024];
    for (uint64_t sequence = 1; !atomic_load(&book->removed); sequence++) {
        uint64_t key = ledger_key(book, sequence, sequence);
        size_t length = message_length(&book->profile, key);
        message_fill(key, bytes, length);
        if (!EXPECT_STATUS(run, larder_ring_append(ring, bytes, length, NULL), LARDER_OK)) {
            break;
        }
    }
    join(run, child);
    larder_ring_close(ring);
}
