// SPDX-License-Identifier: MIT
// Mixed load at full speed in one process: memory, file size, descriptors and the time an operation
// takes must stay level.
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "torture.h"

// A sanitizer keeps freed memory back for a while, up to a quarter of a gigabyte.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif
#ifdef SANITIZED
#define MEMORY_SLACK ((uint64_t)512 << 20)
#else
#define MEMORY_SLACK ((uint64_t)4 << 20)
#endif

typedef struct soak {
    torture *run;
    larder_ring *ring;
    _Atomic uint32_t stop;
    _Atomic uint64_t read;
} soak;

static void *read_along(void *argument) {
    soak *self = argument;
    larder_ring_reader *reader = NULL;
    uint64_t previous = 0;
    for (unsigned round = 0; !atomic_load(&self->stop); round++) {
        larder_ring_record record;
        if (!reader &&
            !EXPECT_STATUS(self->run, larder_ring_reader_open(self->ring, 0, &reader), LARDER_OK)) {
            break;
        }
        larder_status status = larder_ring_reader_next(reader, &record);
        if (status == LARDER_END) {
            (void)!larder_ring_acknowledge(self->ring, bytes_of("soak", 4), previous);
            (void)!larder_ring_wait(self->ring, previous, 1000000);
        } else if (EXPECT(self->run, status == LARDER_OK, "next gave %d", status)) {
            previous = record.sequence;
            atomic_fetch_add(&self->read, 1);
        } else {
            break;
        }
        if (round % 100000 == 99999) {
            larder_ring_reader_close(reader);
            reader = NULL;
        }
    }
    larder_ring_reader_close(reader);
    return NULL;
}

static uint64_t thread_time_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Appends for a while. @return processor nanoseconds for each message. */
static double load(torture *run, soak *self, rng *random, unsigned messages) {
    static uint8_t bytes[4096];
    uint64_t begin = thread_time_ns();
    for (unsigned i = 0; i < messages; i++) {
        size_t length = rng_below(random, rng_one_in(random, 50) ? sizeof bytes : 200);
        larder_status status = larder_ring_append(self->ring, bytes, length, NULL);
        if (!EXPECT(run, status == LARDER_OK, "append gave %d", status)) {
            return 0;
        }
    }
    double taken = (double)(thread_time_ns() - begin) / messages;
    EXPECT_STATUS(run, larder_ring_sync(self->ring), LARDER_OK);
    return taken;
}

void family_soak(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    const char *path = torture_path(run, "ring"), *copy = torture_path(run, "copy");
    soak self = {.run = run};
    larder_ring_options options = ring_options(4 << 20, LARDER_RING_OVERWRITE);
    options.sync_interval_ns = 50000000;
    if (!EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &self.ring), LARDER_OK)) {
        return;
    }
    pthread_t reader;
    pthread_create(&reader, NULL, read_along, &self);
    uint64_t memory = 0;
    unsigned descriptors = 0;
    double fastest_early = 1e9, fastest_late = 1e9;
    uint64_t begin = now_ns(), middle = begin + (run->deadline_ns - begin) / 2;
    for (unsigned round = 0; round < 20 || torture_goes_on(run); round++) {
        torture_trial(run);
        double taken = load(run, &self, &random, 20000);
        // The fastest round of each half: noise of the machine only ever makes rounds slower.
        double *fastest = now_ns() < middle || round < 10 ? &fastest_early : &fastest_late;
        *fastest = taken < *fastest ? taken : *fastest;
        larder_ring *second = NULL;
        larder_ring_report report;
        larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
        EXPECT_STATUS(run, larder_ring_open(path, &reading, NULL, &second), LARDER_OK);
        larder_ring_close(second);
        EXPECT_STATUS(run, larder_ring_open(path, NULL, NULL, &second), LARDER_EBUSY);
        if (round % 8 == 0) {
            EXPECT_STATUS(run, larder_ring_check(self.ring, &report), LARDER_OK);
            (void)!larder_ring_salvage(path, copy, NULL, NULL, NULL, &report);
            (void)unlink(copy);
        }
        if (round == 9) {
            memory = resident_bytes();
            descriptors = open_descriptors();
        }
        if (round > 9) {
            uint64_t now = resident_bytes();
            EXPECT(run, now < memory + MEMORY_SLACK, "memory went from %" PRIu64 " to %" PRIu64,
                   memory, now);
            EXPECT(run, open_descriptors() <= descriptors + 2, "descriptors went from %u to %u",
                   descriptors, open_descriptors());
            EXPECT(run, size_of_file(path) == 4 << 20, "the file has %" PRId64 " bytes",
                   size_of_file(path));
        }
        if (atomic_load(&run->tally->failures)) {
            break;
        }
    }
    EXPECT(run, fastest_late == 1e9 || fastest_late < 4 * fastest_early + 100,
           "a message took %.0f ns and takes %.0f ns", fastest_early, fastest_late);
    atomic_store(&self.stop, 1);
    pthread_join(reader, NULL);
    larder_ring_close(self.ring);
}
