// SPDX-License-Identifier: MIT
// The child of the store's kill and power families: does what the book says, notes what came back,
// reads in between, and expects to be killed at any instruction.
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"
#include "store_disk.h"

typedef struct worker {
    store_plan *plan;
    book *book;
    larder_store *store;
    uint32_t which;
    rng random;
    /** What this lane knows to be there. */
    held state[BOOK_KEYS];
    uint8_t key[BOOK_KEY_MAX];
    uint8_t *room;
} worker;

static bool came_well(worker *self, larder_status status, const char *call) {
    if (status != LARDER_OK) {
        book_break(self->book, "%s gave %d (%s)", call, status, larder_strerror(status));
    }
    return status == LARDER_OK;
}

static larder_bytes key_of(worker *self, uint32_t key) {
    return bytes_of(self->key, book_key(self->which, key, self->key));
}

static larder_status write_batch(worker *self, const operation *what, uint32_t flags) {
    larder_store_batch *batch = NULL;
    larder_status status = larder_store_batch_create(self->store, &batch);
    for (uint32_t i = 0; i < what->part_count && status == LARDER_OK; i++) {
        operation_part part = what->parts[i];
        larder_bytes key = key_of(self, part.key);
        if (part.salt) {
            larder_store_item item;
            larder_store_index_entry index;
            book_item(self->book, part.salt, key, self->room, &index, &item);
            status = larder_store_batch_put(batch, &item);
        } else {
            status = larder_store_batch_remove(batch, key);
        }
    }
    if (status == LARDER_OK) {
        status = larder_store_batch_commit(batch, flags, NULL);
    }
    larder_store_batch_destroy(batch);
    return status;
}

static larder_status write_part(worker *self, operation_part part, uint32_t flags) {
    larder_bytes key = key_of(self, part.key);
    if (!part.salt) {
        return larder_store_remove(self->store, key, flags);
    }
    larder_store_item item;
    larder_store_index_entry index;
    book_item(self->book, part.salt, key, self->room, &index, &item);
    item.flags = flags;
    return larder_store_put(self->store, &item, NULL);
}

static larder_status perform(worker *self, const operation *what) {
    uint32_t flags = what->is_synced ? (uint32_t)LARDER_STORE_SYNCED : 0;
    uint8_t prefix[2] = {(uint8_t)('A' + self->which), (uint8_t)('a' + what->argument)};
    switch (what->kind) {
    case OPERATION_PUT:
    case OPERATION_REMOVE: return write_part(self, what->parts[0], flags);
    case OPERATION_BATCH: return write_batch(self, what, flags);
    case OPERATION_REMOVE_PREFIX:
        return larder_store_remove_prefix(self->store, bytes_of(prefix, 2), NULL);
    case OPERATION_FLUSH: return larder_store_flush(self->store);
    case OPERATION_SYNC: return larder_store_sync(self->store);
    case OPERATION_MAINTAIN: return larder_store_maintain(self->store);
    case OPERATION_REMOVE_ALL: return larder_store_remove_all(self->store, NULL, NULL);
    case OPERATION_TRIM:
        return larder_store_trim(self->store, what->argument, LARDER_STORE_UNLIMITED, NULL);
    }
    return LARDER_EINVALID;
}

/** Reads a key at random: this lane alone writes to it, so there is one right answer. */
static void read_one(worker *self) {
    uint32_t key = (uint32_t)rng_below(&self->random, BOOK_KEYS);
    uint64_t salt = self->state[key].salt;
    larder_store_entry entry;
    // A trim has reads count from there on, and goes by writes in the book.
    uint32_t flags = self->book->tracks ? 0 : (uint32_t)LARDER_STORE_PEEK;
    larder_status status = larder_store_get(self->store, key_of(self, key), flags, &entry);
    bool right = status == LARDER_OK ? salt && book_matches(self->book, salt, &entry)
                                     : status == LARDER_ENOTFOUND && !salt;
    if (!right) {
        book_break(self->book,
                   "get of key %u/%u gave %d with %zu bytes, version %" PRIu64
                   ", behind operation %" PRIu64 "; there is %s",
                   self->which, key, status, status ? 0 : entry.value.length,
                   status ? 0 : entry.sequence, atomic_load(&self->book->lane[self->which].done),
                   salt ? "another" : "none");
    }
    larder_store_release(&entry);
}

/** The one store that this process has open, and its book. */
static larder_store *watched_store;
static book *watched_book;

static void look_inside(void) {
    if (watched_book) {
        atomic_store(&watched_book->is_inside, store_is_inside(watched_store));
    }
}

static void *work(void *argument) {
    worker *self = argument;
    lane *own = &self->book->lane[self->which];
    for (uint64_t done = 0; done < self->plan->steps && !atomic_load(&self->book->broken); done++) {
        uint64_t number = atomic_load(&own->done);
        operation what = book_operation(self->book, self->which, number);
        uint64_t safe[BOOK_LANES];
        for (uint32_t i = 0; i < BOOK_LANES; i++) {
            safe[i] = atomic_load(&self->book->lane[i].done);
        }
        atomic_store(&own->begun, number + 1);
        if (!came_well(self, perform(self, &what), "an operation")) {
            break;
        }
        book_apply(self->which, &what, number, self->state);
        atomic_store(&own->done, number + 1);
        bool syncs = what.is_synced && what.part_count > 0;
        if (syncs || what.kind == OPERATION_SYNC || what.kind == OPERATION_FLUSH ||
            what.kind == OPERATION_TRIM) {
            for (uint32_t i = 0; i < BOOK_LANES; i++) {
                uint64_t before = atomic_load(&self->book->lane[i].synced);
                uint64_t now = i == self->which ? number + 1 : safe[i];
                while (before < now &&
                       !atomic_compare_exchange_weak(&self->book->lane[i].synced, &before, now)) {
                }
            }
        }
        look_inside();
        if (self->plan->after_step) {
            self->plan->after_step(self->plan->context);
        }
        if (rng_one_in(&self->random, 3)) {
            read_one(self);
        }
        if (self->plan->reopens && rng_one_in(&self->random, 300)) {
            break;
        }
    }
    return NULL;
}

static bool session(store_plan *plan) {
    book *notes = plan->book;
    larder_store_options options = book_options(notes, notes->flags);
    if (rng_one_in(&plan->random, 3)) {
        options.flush_interval_ns = 1000000;
        options.sync_interval_ns = 500000;
    }
    larder_store *store = NULL;
    larder_status status = larder_store_open(plan->path, &options, NULL, &store);
    if (status != LARDER_OK) {
        book_break(notes, "open gave %d (%s)", status, larder_strerror(status));
        return false;
    }
    watched_book = notes;
    watched_store = store;
    disk_on_call(look_inside);
    static worker workers[BOOK_LANES];
    pthread_t threads[BOOK_LANES];
    size_t room = (size_t)notes->longest + (size_t)notes->threshold_bytes + 4096;
    for (uint32_t i = 0; i < notes->lanes; i++) {
        free(workers[i].room);
        workers[i] = (worker){.plan = plan,
                              .book = notes,
                              .store = store,
                              .which = i,
                              .random = rng_make(rng_next(&plan->random)),
                              .room = malloc(room)};
        memcpy(workers[i].state, notes->lane[i].base, sizeof workers[i].state);
        for (uint64_t n = notes->lane[i].first; n < atomic_load(&notes->lane[i].done); n++) {
            operation what = book_operation(notes, i, n);
            book_apply(i, &what, n, workers[i].state);
        }
        if (!workers[i].room) {
            book_break(notes, "no memory");
            return false;
        }
    }
    atomic_store(&notes->ready, 1);
    uint32_t started = 0;
    for (uint32_t i = 1; i < notes->lanes; i++, started++) {
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) {
            break;
        }
    }
    work(&workers[0]);
    for (uint32_t i = 1; i <= started; i++) {
        pthread_join(threads[i], NULL);
    }
    if (plan->dies_open) {
        _exit(0);
    }
    (void)larder_store_shutdown(store);
    watched_store = NULL;
    larder_store_close(store);
    return true;
}

void store_writer_run(store_plan *plan) {
    do {
        if (!session(plan)) {
            break;
        }
    } while (plan->reopens && !atomic_load(&plan->book->broken));
}

// Killing -----------------------------------------------------------------------------------------

static void wait_ns(uint64_t duration) {
    uint64_t end = now_ns() + duration;
    if (duration > 300000) {
        struct timespec most = {0, (long)(duration - 200000)};
        nanosleep(&most, NULL);
    }
    while (now_ns() < end) { // Sleeping is too coarse for the last stretch.
    }
}

bool store_kill(torture *run, book *self, rng *random, const char *path, bool from_the_start,
                void (*body)(void *context), void *context) {
    atomic_store(&self->ready, 0);
    uint64_t span = 0;
    switch (rng_below(random, 8)) {
    case 0: span = rng_below(random, 100000); break;
    case 1:
    case 2: span = rng_below(random, 1000000); break;
    case 3: span = rng_below(random, 20000000); break;
    default: span = rng_below(random, 6000000); break;
    }
    // Before some system call, early ones more often than late ones.
    int place =
        rng_one_in(random, 2) ? (int)rng_between(random, 1, 1ull << rng_below(random, 10)) : 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        torture_fail(run, "fork failed: %s", strerror(errno));
        return false;
    }
    if (child == 0) {
        alarm(30);
        if (place) {
            disk_fail(path, "any", place, DISK_KILLS, true);
        }
        body(context);
        for (;;) {
            pause();
        }
    }
    int status = 0;
    bool is_dead = false;
    uint64_t limit = now_ns() + 20000000000u;
    while (!from_the_start && !is_dead && !atomic_load(&self->ready) &&
           !atomic_load(&self->broken) && now_ns() < limit) {
        wait_ns(5000);
        is_dead = waitpid(child, &status, WNOHANG) == child;
    }
    wait_ns(is_dead ? 0 : span);
    if (!is_dead) {
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (atomic_load(&self->broken)) {
        torture_fail(run, "the writer: %s", self->broken_text);
        return false;
    }
    atomic_fetch_add(&run->tally->kills, 1);
    return EXPECT(run, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                  "the writer ended by itself, with status 0x%x", status);
}
