// SPDX-License-Identifier: MIT
// The child of the kill and power families: does everything a writer can do, notes in the ledger
// what it is about to do and what came back, and expects to be killed at any instruction.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "ledger.h"

typedef struct writer {
    writer_plan *plan;
    ledger *book;
    larder_ring *ring;
    rng random;
    unsigned thread;
    /** Messages this thread appended in this epoch. */
    uint64_t count;
    /** The number that the next append must get; only known to a single thread. */
    uint64_t next;
    uint8_t *scratch[LEDGER_BATCH];
    /** A sync failed that was made to: the ring is to be opened again. */
    bool has_failed;
} writer;

static void broken(ledger *book, const char *format, ...) {
    if (atomic_exchange(&book->broken, 1) == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(book->broken_text, sizeof book->broken_text, format, arguments);
        va_end(arguments);
        atomic_store(&book->broken, 2);
    }
}

static bool came_well(writer *self, larder_status status, const char *call) {
    if (status == EIO && self->plan->fail_every) {
        self->has_failed = true;
    } else if (status != LARDER_OK) {
        broken(self->book, "%s gave %d (%s)", call, status, larder_strerror(status));
    }
    return status == LARDER_OK;
}

/** Writes the `ahead`-th message from here into `target`. */
static larder_message make_message(writer *self, unsigned ahead, uint8_t *target) {
    bool tagged = self->book->threads > 1;
    uint64_t tag =
        tagged ? ((uint64_t)self->thread << 40) + self->count + ahead + 1 : self->next + ahead;
    // All numbers of this session lie in the newest epoch.
    uint64_t key = mix2(self->book->epochs[self->book->epoch_count - 1].salt, tag);
    size_t length = message_length(&self->book->profile, key);
    if (tagged) {
        length = length < 8 ? 8 : length;
        memcpy(target, &tag, 8);
        message_fill(key, target + 8, length - 8);
    } else {
        message_fill(key, target, length);
    }
    return (larder_message){{target, length}, message_flags(key)};
}

static void note_oldest(writer *self) {
    larder_ring_statistics figures;
    if (came_well(self, larder_ring_statistics_get(self->ring, &figures), "statistics")) {
        raise_to(&self->book->oldest, figures.oldest_sequence);
    }
}

static void appended(writer *self, uint64_t count, uint64_t last) {
    if (count == 0) {
        return;
    }
    if (self->book->threads == 1 && last != self->next + count - 1) {
        broken(self->book, "append gave number %" PRIu64 ", not %" PRIu64, last,
               self->next + count - 1);
    }
    self->next += count;
    self->count += count;
    raise_to(&self->book->acknowledged, last);
}

static void make_room(writer *self) {
    larder_ring_statistics figures;
    if (!came_well(self, larder_ring_statistics_get(self->ring, &figures), "statistics") ||
        figures.count == 0) {
        return;
    }
    uint64_t through = figures.oldest_sequence + rng_below(&self->random, figures.count);
    if (self->book->threads == 1 && rng_one_in(&self->random, 16)) {
        through = figures.newest_sequence; // Everything.
    }
    raise_to(&self->book->removed_intent, through);
    if (came_well(self, larder_ring_remove_through(self->ring, through, NULL), "remove_through")) {
        raise_to(&self->book->removed, through);
    }
}

static void append_batch(writer *self, unsigned count) {
    larder_message messages[LEDGER_BATCH];
    for (unsigned i = 0; i < count; i++) {
        messages[i] = make_message(self, i, self->scratch[i]);
    }
    size_t done = 0;
    uint64_t last = 0;
    larder_status status = larder_ring_append_batch(self->ring, messages, count, &done, &last);
    appended(self, done, last);
    if (status == LARDER_EFULL && !(self->book->flags & LARDER_RING_OVERWRITE)) {
        make_room(self);
    } else if (status != LARDER_OK) {
        (void)came_well(self, status, "append_batch");
    }
}

static void append_reserved(writer *self) {
    larder_message message = make_message(self, 0, self->scratch[0]);
    larder_reservation reservation;
    size_t capacity = message.payload.length + rng_below(&self->random, 9);
    uint64_t most = self->book->profile.longest < 8 ? 8 : self->book->profile.longest;
    capacity = capacity > most ? message.payload.length : capacity;
    larder_status status = larder_ring_reserve(self->ring, capacity, &reservation);
    if (status == LARDER_EFULL && !(self->book->flags & LARDER_RING_OVERWRITE)) {
        make_room(self);
        return;
    }
    if (!came_well(self, status, "reserve")) {
        return;
    }
    if (reservation.capacity < capacity) {
        broken(self->book, "reserve gave %zu bytes, not %zu", reservation.capacity, capacity);
    }
    if (message.payload.length) {
        memcpy(reservation.bytes, message.payload.data, message.payload.length);
    }
    if (rng_one_in(&self->random, 6)) {
        larder_ring_abort(self->ring, &reservation);
        return;
    }
    uint64_t sequence = 0;
    if (came_well(self,
                  larder_ring_commit(self->ring, &reservation, message.payload.length,
                                     message.flags, &sequence),
                  "commit")) {
        appended(self, 1, sequence);
    }
}

static void append_one(writer *self, bool synced) {
    larder_message message = make_message(self, 0, self->scratch[0]);
    if (message.flags) {
        append_batch(self, 1); // Plain append has no flags.
        return;
    }
    uint64_t sequence = 0;
    larder_status status = synced ? larder_ring_append_synced(self->ring, message.payload.data,
                                                              message.payload.length, &sequence)
                                  : larder_ring_append(self->ring, message.payload.data,
                                                       message.payload.length, &sequence);
    if (status == LARDER_EFULL && !(self->book->flags & LARDER_RING_OVERWRITE)) {
        make_room(self);
        return;
    }
    bool came = came_well(self, status, synced ? "append_synced" : "append");
    // Where only the sync failed, it was appended.
    appended(self, sequence != 0, sequence);
    if (came && synced) {
        raise_to(&self->book->synced, sequence);
    }
}

static void sync_ring(writer *self) {
    uint64_t through = atomic_load(&self->book->acknowledged);
    uint64_t removed = atomic_load(&self->book->removed);
    uint64_t cursors[LEDGER_CURSORS];
    for (unsigned i = 0; i < LEDGER_CURSORS; i++) {
        cursors[i] = atomic_load(&self->book->cursor[i]);
    }
    if (came_well(self, larder_ring_sync(self->ring), "sync")) {
        raise_to(&self->book->synced, through);
        raise_to(&self->book->removed_synced, removed);
        for (unsigned i = 0; i < LEDGER_CURSORS; i++) {
            raise_to(&self->book->cursor_synced[i], cursors[i]);
        }
    }
}

static void acknowledge(writer *self) {
    uint64_t newest = atomic_load(&self->book->acknowledged);
    unsigned index = (unsigned)rng_below(&self->random, LEDGER_CURSORS);
    if (newest == 0) {
        return;
    }
    uint64_t through = newest - rng_below(&self->random, newest < 20 ? newest : 20);
    raise_to(&self->book->cursor_intent[index], through);
    if (came_well(self, larder_ring_acknowledge(self->ring, ledger_cursor_name(index), through),
                  "acknowledge")) {
        raise_to(&self->book->cursor[index], through);
    }
}

static void step(writer *self) {
    uint64_t choice = rng_below(&self->random, 100);
#ifdef LARDER_FAULTS
    if (self->plan->fail_every && rng_one_in(&self->random, self->plan->fail_every)) {
        const char *call = rng_one_in(&self->random, 6) ? "system fdatasync" : "system fsync";
        larder_fault_set(call, (int)rng_between(&self->random, 1, 3), EIO);
    }
#endif
    if (self->plan->sync_every && rng_one_in(&self->random, self->plan->sync_every)) {
        sync_ring(self);
    } else if (choice < 66) {
        append_one(self, choice < 4 && self->plan->sync_every);
    } else if (choice < 76) {
        append_batch(self, (unsigned)rng_between(&self->random, 1, LEDGER_BATCH));
    } else if (choice < 90) {
        append_reserved(self);
    } else if (choice < 97) {
        acknowledge(self);
    } else if (choice < 98) {
        make_room(self);
    }
    note_oldest(self);
}

static void *work(void *argument) {
    writer *self = argument;
    uint64_t steps = self->plan->steps;
    for (uint64_t done = 0; done < steps && !atomic_load(&self->book->broken); done++) {
        uint64_t synced = atomic_load(&self->book->synced);
        step(self);
        if (self->plan->stops_behind_sync && atomic_load(&self->book->synced) > synced &&
            rng_one_in(&self->random, 8)) {
            steps = done + rng_between(&self->random, 1, 4);
        }
        if (self->plan->after_step) {
            self->plan->after_step(self->plan->context);
        }
        if (self->has_failed && rng_one_in(&self->random, 2)) {
            break; // At once, or with a few steps more.
        }
        if (self->plan->reopens && rng_one_in(&self->random, 400)) {
            break; // The session ends here; writer_run begins another one.
        }
    }
    return NULL;
}

/** @param goes_on receives whether a sync failed, so that another session is to follow. */
static bool session(writer_plan *plan, uint8_t *scratch, bool *goes_on) {
    *goes_on = false;
    ledger *book = plan->book;
    larder_ring_options options = ledger_options(book);
    options.sync_interval_ns = plan->sync_interval_ns;
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(plan->path, &options, NULL, &ring);
    if (status == EIO && plan->fail_every) {
        status = larder_ring_open(plan->path, &options, NULL, &ring);
    }
    larder_ring_statistics figures = {0};
    if (status == LARDER_OK) {
        status = larder_ring_statistics_get(ring, &figures);
    }
    if (status != LARDER_OK) {
        broken(book, "open gave %d (%s)", status, larder_strerror(status));
        return false;
    }
    ledger_begin_epoch(book, figures.next_sequence);
    writer selves[LEDGER_THREADS];
    pthread_t threads[LEDGER_THREADS];
    for (unsigned i = 0; i < book->threads; i++) {
        selves[i] = (writer){.plan = plan,
                             .book = book,
                             .ring = ring,
                             .random = rng_make(rng_next(&plan->random)),
                             .thread = i + 1,
                             .next = figures.next_sequence};
        for (unsigned k = 0; k < LEDGER_BATCH; k++) {
            selves[i].scratch[k] = scratch + (i * LEDGER_BATCH + k) * (book->profile.longest + 16u);
        }
    }
    atomic_store(&book->ready, 1);
    unsigned started = 0;
    for (unsigned i = 1; i < book->threads; i++, started++) {
        if (pthread_create(&threads[i], NULL, work, &selves[i]) != 0) {
            break;
        }
    }
    work(&selves[0]);
    for (unsigned i = 1; i <= started; i++) {
        pthread_join(threads[i], NULL);
    }
    *goes_on = selves[0].has_failed;
    if (plan->dies_open && (!*goes_on || rng_one_in(&plan->random, 4))) {
        _exit(0);
    }
    if (rng_one_in(&plan->random, 3)) {
        (void)larder_ring_shutdown_unsynced(ring);
    }
    larder_ring_close(ring);
    return true;
}

void writer_run(writer_plan *plan) {
    size_t room = (size_t)LEDGER_THREADS * LEDGER_BATCH * (plan->book->profile.longest + 16u);
    uint8_t *scratch = malloc(room);
    if (!scratch) {
        broken(plan->book, "no memory");
        return;
    }
    bool goes_on;
    do {
        if (!session(plan, scratch, &goes_on)) {
            break;
        }
    } while ((plan->reopens || goes_on) && !atomic_load(&plan->book->broken));
    free(scratch);
}
