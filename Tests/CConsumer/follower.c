// SPDX-License-Identifier: MIT
/** @file follower.c
    How often a handle that only reads wakes up for larder_ring_wait beside a writer that wakes
    nobody, by a clock of its own: the library's calls of clock_gettime and pthread_cond_timedwait
    lead here, so that seconds pass without waiting for them. The argument is a folder. Ends with
    `N passed, M failed`. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define MS ((int64_t)1000000)
#define SECOND (1000 * MS)

static int64_t now_ns = 100 * SECOND;
static int wakeups;
static int64_t longest_ns;

/** Appended when the clock gets there, as another process would; 0: nothing is. */
static larder_ring *writer;
static int64_t next_message_ns, message_every_ns;

int clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    time->tv_sec = (time_t)(now_ns / SECOND);
    time->tv_nsec = (long)(now_ns % SECOND);
    return 0;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
    (void)condition, (void)mutex;
    int64_t until_ns = (int64_t)until->tv_sec * SECOND + until->tv_nsec;
    wakeups++;
    if (until_ns - now_ns > longest_ns) longest_ns = until_ns - now_ns;
    while (message_every_ns && next_message_ns <= until_ns) {
        CHECK_OK(larder_ring_append(writer, "x", 1, NULL));
        next_message_ns += message_every_ns;
    }
    now_ns = until_ns;
    return ETIMEDOUT;
}

static larder_ring *reader;
/** The newest number that the follower saw. */
static uint64_t last;

/** Follows for so long, in waits of at most `slice_ns`, as `larder log tail -f` does. */
static void follow(int64_t ns, int64_t slice_ns) {
    wakeups = 0;
    longest_ns = 0;
    int64_t until = now_ns + ns;
    while (now_ns < until) {
        int64_t left = until - now_ns;
        larder_status status = larder_ring_wait(reader, last, left < slice_ns ? left : slice_ns);
        CHECK(status == LARDER_OK || status == ETIMEDOUT);
        if (status != LARDER_OK) continue;
        uint64_t next = 0;
        CHECK_OK(larder_ring_next_sequence(reader, &next));
        last = next - 1;
    }
}

/** Something every 10 ms, the first after 10 ms. */
static void begin_messages(void) {
    message_every_ns = 10 * MS;
    next_message_ns = now_ns + message_every_ns;
}

static void check_follower(int64_t slice_ns) {
    begin_messages();
    follow(SECOND, slice_ns);
    CHECK(longest_ns <= 2 * MS);
    CHECK(last >= 99);

    // Nothing comes: once it was quiet for a second, there are at most 20 looks in each.
    message_every_ns = 0;
    follow(SECOND, slice_ns);
    CHECK(wakeups <= 60);
    follow(10 * SECOND, slice_ns);
    CHECK(wakeups <= 200);
    CHECK(longest_ns == 50 * MS);

    // What comes then is found within 50 ms, and what follows it within 2.
    begin_messages();
    uint64_t before = last;
    follow(50 * MS, slice_ns);
    CHECK(last > before);
    follow(SECOND, slice_ns);
    CHECK(longest_ns <= 2 * MS);
    message_every_ns = 0;
}

static void one_long_wait(void) { check_follower(1000 * SECOND); }
static void many_short_waits(void) { check_follower(200 * MS); }

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    char path[4096];
    snprintf(path, sizeof path, "%s/ring", argv[1]);
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.capacity_bytes = 1 << 20;
    CHECK_OK(larder_ring_open(path, &options, NULL, &writer));
    // As a writer of an earlier version leaves it: that of another opening.
    const uint16_t bell_epoch = 0x7777;
    FILE *file = fopen(path, "r+b");
    CHECK(file != NULL && fseek(file, 254, SEEK_SET) == 0 &&
          fwrite(&bell_epoch, sizeof bell_epoch, 1, file) == 1 && fclose(file) == 0);
    options.flags = LARDER_RING_READ_ONLY;
    CHECK_OK(larder_ring_open(path, &options, NULL, &reader));
    RUN(one_long_wait);
    RUN(many_short_waits);
    larder_ring_close(reader);
    larder_ring_close(writer);
    return check_summary();
}
