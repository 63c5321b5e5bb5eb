// SPDX-License-Identifier: MIT
// Many threads on one ring. Also built with the Thread Sanitizer, where a data race is a failure.
#include "concurrency.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

bool scene_open(torture *run, scene *self, const char *path, uint64_t capacity, uint32_t flags,
                larder_ring **out) {
    (void)unlink(path);
    ledger_reset(self->book, rng_next(&self->random), capacity, flags);
    self->book->profile = (message_profile){8, 100, 700};
    ledger_begin_epoch(self->book, 1);
    larder_ring_options options = ring_options(capacity, flags);
    options.sync_interval_ns = rng_one_in(&self->random, 2) ? 500000 : 0;
    return EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, out), LARDER_OK);
}

// Threads of every kind ---------------------------------------------------------------------------

enum { WRITERS = 3, READERS = 2 };

typedef struct crowd {
    torture *run;
    scene *scene;
    larder_ring *ring;
    uint64_t messages;
    _Atomic unsigned writing;
    _Atomic uint64_t appended;
    _Atomic uint64_t removed_through;
    _Atomic uint32_t stop;
} crowd;

typedef struct member {
    crowd *all;
    unsigned number;
    rng random;
} member;

/** A message that says which thread wrote it, as its how many-th. */
static size_t make_tagged(const ledger *book, uint64_t thread, uint64_t count, uint8_t *target) {
    uint64_t tag = (thread << 40) + count;
    uint64_t key = mix2(book->epochs[0].salt, tag);
    size_t length = message_length(&book->profile, key);
    memcpy(target, &tag, 8);
    message_fill(key, target + 8, length - 8);
    return length;
}

static bool exact_by_tag(const ledger *book, const larder_ring_record *record, uint64_t *last) {
    uint64_t tag = 0;
    if (record->payload.length < 8) {
        return false;
    }
    memcpy(&tag, record->payload.data, 8);
    uint64_t thread = tag >> 40, count = tag & 0xFFFFFFFFFFu;
    if (thread < 1 || thread > WRITERS || count <= last[thread - 1]) {
        return false;
    }
    last[thread - 1] = count;
    uint64_t key = mix2(book->epochs[0].salt, tag);
    return record->payload.length == message_length(&book->profile, key) &&
           message_equals(key, (const uint8_t *)record->payload.data + 8,
                          record->payload.length - 8);
}

static larder_status append_tagged(member *self, uint64_t count) {
    uint8_t bytes[2][1024];
    const ledger *book = self->all->scene->book;
    size_t length = make_tagged(book, self->number, count, bytes[0]);
    larder_reservation room;
    switch (rng_below(&self->random, 6)) {
    case 0: {
        larder_status status = larder_ring_reserve(self->all->ring, length, &room);
        if (status != LARDER_OK) {
            return status;
        }
        memcpy(room.bytes, bytes[0], length);
        if (rng_one_in(&self->random, 4)) {
            larder_ring_abort(self->all->ring, &room);
            return LARDER_EFULL; // As good as full: it has to be tried again.
        }
        return larder_ring_commit(self->all->ring, &room, length, 0, NULL);
    }
    case 1: {
        larder_message message = {{bytes[0], length}, 0};
        return larder_ring_append_batch(self->all->ring, &message, 1, NULL, NULL);
    }
    default: return larder_ring_append(self->all->ring, bytes[0], length, NULL);
    }
}

static void *write_messages(void *argument) {
    member *self = argument;
    crowd *all = self->all;
    for (uint64_t count = 1; count <= all->messages; count++) {
        larder_status status;
        while ((status = append_tagged(self, count)) == LARDER_EFULL) {
            // Full, and the remover is at work; or an aborted reservation.
            if (atomic_load(&all->run->tally->failures)) {
                goto end;
            }
            sched_yield();
        }
        if (!EXPECT(all->run, status == LARDER_OK, "append gave %d", status)) {
            break;
        }
        atomic_fetch_add(&all->appended, 1);
    }
end:
    atomic_fetch_sub(&all->writing, 1);
    return NULL;
}

static void *read_messages(void *argument) {
    member *self = argument;
    crowd *all = self->all;
    larder_ring_reader *reader = NULL;
    if (!EXPECT_STATUS(all->run, larder_ring_reader_open(all->ring, 0, &reader), LARDER_OK)) {
        return NULL;
    }
    uint64_t last[WRITERS] = {0}, previous = 0;
    for (bool ending = false;;) {
        larder_ring_record record;
        larder_status status = larder_ring_reader_next(reader, &record);
        if (status == LARDER_END) {
            if (ending) {
                break;
            }
            ending = atomic_load(&all->stop); // One more look after the last append.
            status = larder_ring_wait(all->ring, previous, 1000000);
            EXPECT(all->run, status == LARDER_OK || status == ETIMEDOUT, "wait gave %d", status);
            continue;
        }
        if (!EXPECT(all->run, status == LARDER_OK, "next gave %d", status) ||
            !EXPECT(all->run, record.sequence > previous, "%" PRIu64 " follows %" PRIu64,
                    record.sequence, previous) ||
            !EXPECT(all->run, previous == 0 || record.sequence == previous + 1 + record.lost,
                    "%" PRIu64 " follows %" PRIu64 " with %" PRIu64 " lost", record.sequence,
                    previous, record.lost) ||
            !EXPECT(all->run, exact_by_tag(all->scene->book, &record, last),
                    "message %" PRIu64 " has a wrong value or order", record.sequence)) {
            break;
        }
        previous = record.sequence;
        if (rng_one_in(&self->random, 500)) {
            EXPECT_STATUS(
                all->run,
                larder_ring_acknowledge(all->ring, ledger_cursor_name(self->number % 3), previous),
                LARDER_OK);
        }
    }
    larder_ring_reader_close(reader);
    return NULL;
}

static void *look_and_remove(void *argument) {
    member *self = argument;
    crowd *all = self->all;
    bool overwrites = (all->scene->book->flags & LARDER_RING_OVERWRITE) != 0;
    while (!atomic_load(&all->stop)) {
        larder_ring_statistics figures;
        larder_ring_report report;
        EXPECT_STATUS(all->run, larder_ring_statistics_get(all->ring, &figures), LARDER_OK);
        EXPECT(all->run,
               figures.used_bytes <= figures.data_bytes &&
                   (figures.count == 0 ||
                    figures.newest_sequence - figures.oldest_sequence + 1 == figures.count),
               "%" PRIu64 " messages, %" PRIu64 " to %" PRIu64, figures.count,
               figures.oldest_sequence, figures.newest_sequence);
        if (figures.count && (!overwrites || rng_one_in(&self->random, 20))) {
            EXPECT_STATUS(all->run,
                          larder_ring_remove_through(
                              all->ring, figures.oldest_sequence + figures.count / 2, NULL),
                          LARDER_OK);
        }
        if (rng_one_in(&self->random, 10)) {
            EXPECT_STATUS(all->run, larder_ring_check(all->ring, &report), LARDER_OK);
        }
        if (rng_one_in(&self->random, 10)) {
            EXPECT_STATUS(all->run, larder_ring_sync(all->ring), LARDER_OK);
        }
        sched_yield();
    }
    return NULL;
}

void threads_on_one_ring(torture *run, void *context) {
    scene *self = context;
    const char *path = torture_path(run, "ring");
    crowd all = {.run = run, .scene = self, .messages = run->brief ? 500 : 4000};
    uint32_t flags = rng_one_in(&self->random, 2) ? LARDER_RING_OVERWRITE : 0;
    if (!scene_open(run, self, path, rng_between(&self->random, 6000, 80000), flags, &all.ring)) {
        return;
    }
    enum { MEMBERS = WRITERS + READERS + 1 };
    pthread_t threads[MEMBERS];
    member members[MEMBERS];
    atomic_store(&all.writing, WRITERS);
    for (unsigned i = 0; i < MEMBERS; i++) {
        members[i] = (member){&all, i + 1, rng_make(rng_next(&self->random))};
        void *(*body)(void *) = i < WRITERS             ? write_messages
                                : i < WRITERS + READERS ? read_messages
                                                        : look_and_remove;
        pthread_create(&threads[i], NULL, body, &members[i]);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    atomic_store(&all.stop, 1);
    for (unsigned i = WRITERS; i < MEMBERS; i++) {
        pthread_join(threads[i], NULL);
    }
    larder_ring_statistics figures;
    larder_ring_report report;
    EXPECT_STATUS(run, larder_ring_statistics_get(all.ring, &figures), LARDER_OK);
    EXPECT(run, figures.next_sequence == atomic_load(&all.appended) + 1,
           "%" PRIu64 " messages were appended, the next number is %" PRIu64,
           atomic_load(&all.appended), figures.next_sequence);
    EXPECT_STATUS(run, larder_ring_check(all.ring, &report), LARDER_OK);
    larder_ring_close(all.ring);
}

// Group commit ------------------------------------------------------------------------------------

static void *append_synced(void *argument) {
    member *self = argument;
    for (unsigned i = 0; i < 50; i++) {
        uint64_t sequence = 0;
        larder_ring_statistics figures;
        EXPECT_STATUS(self->all->run,
                      larder_ring_append_synced(self->all->ring, &i, sizeof i, &sequence),
                      LARDER_OK);
        EXPECT_STATUS(self->all->run, larder_ring_statistics_get(self->all->ring, &figures),
                      LARDER_OK);
        EXPECT(self->all->run, figures.synced_sequence >= sequence && sequence > 0,
               "message %" PRIu64 " is synced, the ring says up to %" PRIu64, sequence,
               figures.synced_sequence);
    }
    return NULL;
}

void synced_together(torture *run, void *context) {
    scene *self = context;
    crowd all = {.run = run, .scene = self};
    if (!scene_open(run, self, torture_path(run, "ring"), 65536, LARDER_RING_OVERWRITE,
                    &all.ring)) {
        return;
    }
    pthread_t threads[6];
    member members[6];
    for (unsigned i = 0; i < 6; i++) {
        members[i] = (member){&all, i, rng_make(i)};
        pthread_create(&threads[i], NULL, append_synced, &members[i]);
    }
    for (unsigned i = 0; i < 6; i++) {
        pthread_join(threads[i], NULL);
    }
    larder_ring_close(all.ring);
}

// The end of a handle -----------------------------------------------------------------------------

static void *use_until_closed(void *argument) {
    member *self = argument;
    larder_ring *ring = self->all->ring;
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_ring_statistics figures;
    larder_ring_report report;
    larder_reservation room;
    larder_status status = larder_ring_reader_open(ring, 0, &reader);
    atomic_fetch_add(&self->all->writing, 1);
    while (status == LARDER_OK || status == LARDER_END) {
        switch ((self->number + rng_below(&self->random, 2)) % 8) {
        case 0: status = larder_ring_append(ring, "text", 4, NULL); break;
        case 1: status = larder_ring_wait(ring, UINT64_MAX - 1, -1); break;
        case 2: status = larder_ring_sync(ring); break;
        case 3: status = larder_ring_reader_next(reader, &record); break;
        case 4: status = larder_ring_statistics_get(ring, &figures); break;
        case 5: status = larder_ring_acknowledge(ring, bytes_of("c", 1), 1); break;
        case 6:
            status = larder_ring_reserve(ring, 8, &room);
            if (status == LARDER_OK) {
                memset(room.bytes, 1, 8);
                status = larder_ring_commit(ring, &room, 8, 0, NULL);
            }
            break;
        default: status = larder_ring_check(ring, &report); break;
        }
    }
    EXPECT(self->all->run, status == LARDER_ECLOSED, "thread %u met %d (%s) at the shutdown",
           self->number, status, larder_strerror(status));
    larder_ring_reader_close(reader);
    return NULL;
}

void shut_down_under_load(torture *run, void *context) {
    scene *self = context;
    crowd all = {.run = run, .scene = self};
    if (!scene_open(run, self, torture_path(run, "ring"), 32768, LARDER_RING_OVERWRITE,
                    &all.ring)) {
        return;
    }
    uint64_t one = 0;
    EXPECT_STATUS(run, larder_ring_append(all.ring, "text", 4, &one), LARDER_OK);
    pthread_t threads[8];
    member members[8];
    for (unsigned i = 0; i < 8; i++) {
        members[i] = (member){&all, i, rng_make(rng_next(&self->random))};
        pthread_create(&threads[i], NULL, use_until_closed, &members[i]);
    }
    while (atomic_load(&all.writing) < 8) {
        sched_yield();
    }
    for (uint64_t i = rng_below(&self->random, 200); i > 0; i--) {
        sched_yield();
    }
    EXPECT_STATUS(run, larder_ring_shutdown(all.ring), LARDER_OK);
    for (unsigned i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    EXPECT_STATUS(run, larder_ring_shutdown(all.ring), LARDER_OK);
    larder_ring_close(all.ring);
    larder_ring_report report = {0};
    EXPECT_STATUS(run, larder_ring_open(torture_path(run, "ring"), NULL, NULL, &all.ring),
                  LARDER_OK);
    EXPECT_STATUS(run, larder_ring_recovery(all.ring, &report), LARDER_OK);
    EXPECT(run, report.was_closed == 1, "the ring was shut down and is not closed");
    EXPECT_STATUS(run, larder_ring_check(all.ring, &report), LARDER_OK);
    larder_ring_close(all.ring);
}

void used_after_shutdown(torture *run, void *context) {
    scene *self = context;
    larder_ring *ring = NULL;
    if (!scene_open(run, self, torture_path(run, "ring"), 8192, 0, &ring)) {
        return;
    }
    larder_ring_reader *reader = NULL, *late = NULL;
    larder_ring_record record;
    larder_ring_statistics figures;
    larder_ring_report report;
    larder_reservation room = {0};
    larder_message message = {{"x", 1}, 0};
    uint64_t place = 0;
    size_t count = 0;
    EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_shutdown(ring), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, NULL), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_append_batch(ring, &message, 1, NULL, NULL), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_append_synced(ring, "x", 1, NULL), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_reserve(ring, 8, &room), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_remove_through(ring, 1, NULL), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_sync(ring), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_sync_through(ring, 1), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_reader_next(reader, &record), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_reader_previous(reader, &record), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_reader_seek(reader, 0), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &late), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_wait(ring, 0, -1), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of("a", 1), 0), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_acknowledged(ring, bytes_of("a", 1), &place), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_cursor_remove(ring, bytes_of("a", 1)), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_cursors(ring, NULL, 0, &count), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_ECLOSED);
    EXPECT_STATUS(run, larder_ring_check(ring, &report), LARDER_ECLOSED);
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
    larder_ring_close(NULL);
    larder_ring_reader_close(NULL);
}

void family_concurrency(torture *run) {
    static void (*const scenes[])(torture *, void *) = {
        threads_on_one_ring, second_opener,   follower_elsewhere, shut_down_under_load,
        forked_handle,       synced_together, openers_race,       used_after_shutdown,
        copied_elsewhere,    woken_elsewhere,
    };
    enum { SCENES = sizeof scenes / sizeof *scenes };
    scene self = {.book = shared_memory(sizeof(ledger))};
    // Every scene at least once, then whatever there is time for.
    for (unsigned i = 0; torture_next_case(run, &self.random) || i < SCENES; i++) {
        torture_trial(run);
        torture_note(run, "scene %u", (unsigned)(run->case_index % SCENES));
        torture_guard(run, 60, scenes[run->case_index % SCENES], &self);
        if (run->only_case == UINT64_MAX && i + 1 < SCENES && !torture_goes_on(run)) {
            run->deadline_ns = now_ns() + 1000000; // Not all of them had their turn.
        } else if (run->only_case != UINT64_MAX) {
            break;
        }
    }
}
