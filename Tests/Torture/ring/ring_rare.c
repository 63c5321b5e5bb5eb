// SPDX-License-Identifier: MIT
// What happens seldom to a ring, each by itself: options of copies, copies that are too small,
// progress that is asked for, cursors that there is no room to list, files that are none.
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "power.h"
#include "ring_calls.h"

typedef struct rare {
    const char *path, *other;
    /** Of progress: how often it was told, and when it stops. */
    unsigned told, stops_at;
    uint64_t done;
} rare;

static int tell(void *context, uint64_t done, uint64_t total) {
    rare *self = context;
    self->done = done;
    return done > total || ++self->told == self->stops_at;
}

static bool make_ring(torture *run, const char *path, uint64_t capacity, uint32_t flags,
                      uint64_t count, size_t length) {
    static uint8_t bytes[1 << 20];
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(capacity, flags);
    options.cursor_slots = 3;
    options.content_format = 7;
    (void)unlink(path);
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    for (uint64_t i = 1; i <= count && !status; i++) {
        message_fill(i, bytes, length);
        status = larder_ring_append(ring, bytes, length, NULL);
    }
    status = status ? status : larder_ring_acknowledge(ring, bytes_of_text("one"), count / 2);
    status = status ? status : larder_ring_acknowledge(ring, bytes_of_text("two"), count);
    larder_ring_close(ring);
    return EXPECT(run, status == LARDER_OK, "making a ring gave %d", status);
}

/** @return how many messages there are, each as it was written. */
static uint64_t count_all(torture *run, const char *path) {
    larder_ring *ring = NULL;
    larder_ring_options options;
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_ring_options_init(&options);
    options.flags = LARDER_RING_READ_ONLY;
    uint64_t count = 0;
    if (EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK) &&
        EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        while (larder_ring_reader_next(reader, &record) == LARDER_OK) {
            count += message_equals(record.sequence, record.payload.data, record.payload.length);
        }
    }
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
    return count;
}

static void copies(torture *run, void *context) {
    rare *self = context;
    larder_ring_report report;
    larder_ring_options options;
    larder_ring_statistics figures;
    larder_ring *ring = NULL;
    if (!make_ring(run, self->path, 4 << 20, LARDER_RING_OVERWRITE, 300, 10000)) {
        return;
    }
    GIVES(larder_ring_salvage(self->path, self->other, NULL, tell, self, &report), LARDER_OK);
    EXPECT(run, self->told > 0 && report.intact == 300 && count_all(run, self->other) == 300,
           "%llu are copied", (unsigned long long)report.intact);
    (void)unlink(self->other);
    self->stops_at = self->told + 1;
    GIVES(larder_ring_salvage(self->path, self->other, NULL, tell, self, &report), ECANCELED);
    EXPECT(run, size_of_file(self->other) < 0, "a copy that was stopped is there");
    // Options of its own; and too small for all of them.
    larder_ring_options_init(&options);
    options.capacity_bytes = 200000;
    options.flags = LARDER_RING_OVERWRITE;
    options.content_format = 9;
    options.mode = 0;
    options.cursor_slots = 1;
    GIVES(larder_ring_salvage(self->path, self->other, &options, NULL, NULL, &report), LARDER_OK);
    uint64_t kept = count_all(run, self->other);
    EXPECT(run, kept > 10 && kept < 20, "%llu are kept", (unsigned long long)kept);
    options.flags = LARDER_RING_READ_ONLY;
    options.capacity_bytes = 0;
    GIVES(larder_ring_open(self->other, &options, NULL, &ring), LARDER_OK);
    GIVES(larder_ring_statistics_get(ring, &figures), LARDER_OK);
    EXPECT(run, figures.content_format == 9 && figures.cursor_slots == 1, "other options");
    larder_ring_close(ring);
    (void)unlink(self->other);
    // So small that not one fits: the newest is given up, or the copy.
    options.capacity_bytes = 8000;
    options.flags = LARDER_RING_OVERWRITE;
    GIVES(larder_ring_resize(self->path, &options, NULL), LARDER_OK);
    EXPECT(run, count_all(run, self->path) == 0, "what does not fit is there");
    if (make_ring(run, self->path, 100000, 0, 9, 10000)) {
        larder_ring_detail detail;
        options.flags = 0;
        GIVES(larder_ring_resize(self->path, &options, NULL), LARDER_EFULL);
        GIVES(larder_ring_resize(self->path, &options, &detail), LARDER_EFULL);
        options.capacity_bytes = 60000;
        GIVES(larder_ring_resize(self->path, &options, &detail), LARDER_EFULL);
        EXPECT(run, count_all(run, self->path) == 9, "a ring that was not resized is another");
    }
}

static const rare *replaced;
static bool was_opened;

/** As another process that has just resized the log: the first fcntl behind an open is the lock's.
    Those before it look at the standard descriptors. */
static void replace_once(const char *call, const void *what) {
    (void)what;
    if (strcmp(call, "system openat") == 0) was_opened = true;
    if (strcmp(call, "system fcntl") == 0 && was_opened && replaced) {
        (void)rename(replaced->other, replaced->path);
        replaced = NULL;
    }
}

/** A log that another takes the place of between opening its file and locking it. */
static void replaced_log(torture *run, void *context) {
    const rare *self = context;
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(16384, 0);
    if (!make_ring(run, self->path, 16384, 0, 2, 100) ||
        !make_ring(run, self->other, 16384, 0, 3, 100))
        return;
    uint8_t bytes[100];
    message_fill(4, bytes, sizeof bytes);
    uint64_t sequence = 0;
    replaced = self;
    was_opened = false;
    call_hook = replace_once;
    GIVES(larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK);
    call_hook = NULL;
    GIVES(larder_ring_append(ring, bytes, sizeof bytes, &sequence), LARDER_OK);
    larder_ring_close(ring);
    EXPECT(run, replaced == NULL && sequence == 4 && count_all(run, self->path) == 4,
           "message %llu went elsewhere", (unsigned long long)sequence);
}

/** What is no ring. */
static void no_rings(torture *run, void *context) {
    const rare *self = context;
    larder_ring_report report;
    GIVES(larder_ring_salvage("/dev/null", self->other, NULL, NULL, NULL, &report),
          LARDER_EFOREIGN);
    EXPECT(run, mkfifo(self->path, 0600) == 0, "no pipe");
    larder_status status = larder_ring_salvage(self->path, self->other, NULL, NULL, NULL, &report);
    EXPECT(run, status != LARDER_OK && size_of_file(self->other) < 0, "a copy of a pipe");
    (void)unlink(self->path);
    if (!make_ring(run, self->path, 16384, 0, 5, 100)) {
        return;
    }
    for (off_t length = 0; length < 1000; length += 40) {
        static uint8_t bytes[1000];
        torture_trial(run);
        read_file(self->path, bytes, sizeof bytes);
        (void)unlink(self->other);
        char cut[700];
        snprintf(cut, sizeof cut, "%s-cut", self->path);
        EXPECT(run, write_file(cut, bytes, (size_t)length), "cannot write %s", cut);
        status = larder_ring_salvage(cut, self->other, NULL, NULL, NULL, &report);
        // A few messages may be whole in front of where it is cut.
        EXPECT(run,
               status == LARDER_EDAMAGED || status == LARDER_EFOREIGN ||
                   (status == LARDER_OK && count_all(run, self->other) == report.intact),
               "of %lld bytes a salvage gave %d", (long long)length, status);
        (void)unlink(cut);
    }
}

static void cursors(torture *run, void *context) {
    const rare *self = context;
    larder_ring *ring = NULL;
    larder_ring_cursor list[2];
    size_t count = 0;
    uint64_t sequence = 0;
    if (!make_ring(run, self->path, 16384, 0, 5, 100)) {
        return;
    }
    GIVES(larder_ring_open(self->path, NULL, NULL, &ring), LARDER_OK);
    GIVES(larder_ring_cursors(ring, NULL, 0, &count), LARDER_OK);
    EXPECT(run, count == 2, "%zu cursors", count);
    GIVES(larder_ring_cursors(ring, NULL, 5, &count), LARDER_OK);
    GIVES(larder_ring_cursors(ring, list, 1, &count), LARDER_OK);
    EXPECT(run, count == 2 && strcmp(list[0].name, "one") == 0 && list[0].acknowledged == 2,
           "%zu cursors, the first is %s", count, list[0].name);
    GIVES(larder_ring_cursor_remove(ring, bytes_of_text("one")), LARDER_OK);
    GIVES(larder_ring_cursors(ring, list, 2, &count), LARDER_OK);
    EXPECT(run, count == 1 && strcmp(list[0].name, "two") == 0, "%zu cursors", count);
    // Of the same length, and another one.
    GIVES(larder_ring_acknowledged(ring, bytes_of_text("twx"), &sequence), LARDER_ENOTFOUND);
    GIVES(larder_ring_acknowledge(ring, bytes_of_text("twx"), 1), LARDER_OK);
    GIVES(larder_ring_acknowledged(ring, bytes_of_text("two"), &sequence), LARDER_OK);
    EXPECT(run, sequence == 5, "two is at %llu", (unsigned long long)sequence);
    larder_ring_reader_close(NULL);
    larder_ring_close(ring);
    larder_ring_close(NULL);
}

// Power cuts --------------------------------------------------------------------------------------

static void put_next(torture *run, larder_ring *ring, unsigned count, size_t length, bool synced) {
    static uint8_t bytes[4096];
    for (unsigned i = 0; i < count; i++) {
        uint64_t next = 0, got = 0;
        EXPECT_STATUS(run, larder_ring_next_sequence(ring, &next), LARDER_OK);
        message_fill(next, bytes, length);
        EXPECT_STATUS(run,
                      synced ? larder_ring_append_synced(ring, bytes, length, &got)
                             : larder_ring_append(ring, bytes, length, &got),
                      LARDER_OK);
    }
}

/** What is in an image must be these, and whole. */
static void image_holds(torture *run, const char *path, const uint8_t *bytes, size_t size,
                        uint64_t oldest, uint64_t newest) {
    larder_ring *ring = NULL;
    larder_ring_options options;
    larder_ring_statistics figures = {0};
    larder_ring_options_init(&options);
    options.flags = LARDER_RING_READ_ONLY;
    torture_trial(run);
    if (EXPECT(run, write_file(path, bytes, size), "cannot write %s", path) &&
        EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK)) {
        EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK);
        EXPECT(run, figures.oldest_sequence == oldest && figures.newest_sequence == newest,
               "found are %llu to %llu, not %llu to %llu",
               (unsigned long long)figures.oldest_sequence,
               (unsigned long long)figures.newest_sequence, (unsigned long long)oldest,
               (unsigned long long)newest);
    }
    larder_ring_close(ring);
    EXPECT(run, count_all(run, path) == newest - oldest + 1, "not all are whole");
}

/** Messages 11 to 19 are synced by a call that leaves it to the next header to say so. Then the
    last one that the device's header calls synced is dropped, for one that arrives without its
    head. The nine that have to be there begin at position 0, so nothing shows a lap before them. */
static void cut_in_drop(torture *run, const rare *self, uint32_t flags) {
    enum { SHORT = 1024 - 16, LONG = 3 * 1024 - 16, DATA = 320, LAP = 12 * 1024 };
    static uint8_t final[DATA + LAP + 64], image[sizeof final];
    const bool removes = !(flags & LARDER_RING_OVERWRITE);
    larder_ring_options options = ring_options(sizeof final, flags);
    options.cursor_slots = 0;
    larder_ring *ring = NULL;
    (void)unlink(self->path);
    vault_clear(power_vault);
    if (!EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK)) {
        return;
    }
    put_next(run, ring, 9, SHORT, false);
    put_next(run, ring, 1, LONG, false);
    GIVES(larder_ring_sync(ring), LARDER_OK);
    if (removes) {
        GIVES(larder_ring_remove_through(ring, 9, NULL), LARDER_OK);
    }
    put_next(run, ring, 8, SHORT, false);
    put_next(run, ring, 1, SHORT, true);
    if (removes) {
        GIVES(larder_ring_remove_through(ring, 10, NULL), LARDER_OK);
    }
    put_next(run, ring, 1, LONG, false);
    read_file(self->path, final, sizeof final);
    uint32_t base = atomic_load(&power_vault->base); // None where syncs are not intercepted.
    for (size_t at = DATA + 9 * 1024 + 16; base && at + 512 < DATA + LAP; at += 512) {
        memcpy(image, power_vault->bases[base - 1], sizeof image);
        memcpy(image + at, final + at, 512);
        image_holds(run, self->other, image, sizeof image, 11, 19);
        memcpy(image + at, final + at, sizeof image - at);
        image_holds(run, self->other, image, sizeof image, 11, 19);
    }
    larder_ring_close(ring);
}

static void power_cuts(torture *run, void *context) {
    const rare *self = context;
    power_vault = vault_make(65536);
    cut_in_drop(run, self, LARDER_RING_OVERWRITE);
    cut_in_drop(run, self, 0);
    power_vault = NULL;
    // A header that was never synced: of each half another version, for each place where it tears.
    static uint8_t image[16384];
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(sizeof image, 0);
    (void)unlink(self->path);
    GIVES(larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK);
    put_next(run, ring, 10, 100, false);
    read_file(self->path, image, sizeof image);
    for (size_t at = 320; at >= 64; at -= 8) {
        memset(image + at, 0, 320 - at);
        image_holds(run, self->other, image, sizeof image, 1, 10);
    }
    larder_ring_close(ring);
}

// Clocks ------------------------------------------------------------------------------------------

#ifdef LARDER_FAULTS
enum { CLOCK_AGE_DAYS = 7 };
#define DAY_NS INT64_C(86400000000000)

/** So many days pass, on both clocks. */
static void days_pass(int64_t *days, int64_t more) {
    *days += more;
    larder_fault_suspend(more * DAY_NS);
    larder_fault_set_clock(*days * DAY_NS);
}

/** One more message is appended; then these are there. */
static void holds_then(torture *run, larder_ring *ring, uint64_t oldest, uint64_t newest,
                       const char *when) {
    larder_ring_statistics figures;
    put_next(run, ring, 1, 100, false);
    EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK);
    EXPECT(run, figures.oldest_sequence == oldest && figures.newest_sequence == newest,
           "%s: %" PRIu64 " to %" PRIu64 ", not %" PRIu64 " to %" PRIu64, when,
           figures.oldest_sequence, figures.newest_sequence, oldest, newest);
}

/** A log of ten messages, which go when they are a week old. */
static larder_ring *open_of_a_week(torture *run, const rare *self, larder_ring_options *options) {
    larder_ring *ring = NULL;
    *options = ring_options(16384, 0);
    options->maximum_age_ns = CLOCK_AGE_DAYS * DAY_NS;
    (void)unlink(self->path);
    GIVES(larder_ring_open(self->path, options, NULL, &ring), LARDER_OK);
    put_next(run, ring, 10, 100, false);
    return ring;
}

/** A clock that is ahead for a while deletes nothing, and messages grow old all the same. */
static void clock_ahead(torture *run, void *context) {
    const rare *self = context;
    for (int reopens = 0; reopens < 2; reopens++) {
        larder_ring_options options;
        int64_t days = 0;
        larder_fault_set_clock(0);
        larder_ring *ring = open_of_a_week(run, self, &options);
        larder_fault_set_clock(30 * DAY_NS);
        holds_then(run, ring, 1, 11, "thirty days ahead");
        days_pass(&days, 0);
        if (reopens) {
            larder_ring_close(ring);
            GIVES(larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK);
        }
        put_next(run, ring, 5, 100, false);
        days_pass(&days, 6);
        holds_then(run, ring, 1, 17, "six days later");
        days_pass(&days, 2);
        // Those of the first day, the one of the wrong clock too, are older than a week.
        holds_then(run, ring, 17, 18, "eight days later");
        days_pass(&days, 4);
        holds_then(run, ring, 17, 19, "twelve days later");
        days_pass(&days, 2);
        holds_then(run, ring, 18, 20, "fourteen days later");
        // A clock that is put right ahead of all that was appended since makes nothing old either.
        larder_fault_set_clock(300 * DAY_NS);
        holds_then(run, ring, 18, 21, "three hundred days ahead");
        larder_fault_suspend(8 * DAY_NS);
        larder_fault_set_clock(308 * DAY_NS);
        holds_then(run, ring, 22, 22, "eight days after that");
        larder_ring_close(ring);
    }
    larder_fault_set_clock(0);
}

/** One that is ahead when the log is opened is believed; put right, it is, too. */
static void clock_set_back(torture *run, void *context) {
    larder_ring_options options;
    int64_t days = 0;
    larder_fault_set_clock(30 * DAY_NS);
    larder_ring *ring = open_of_a_week(run, context, &options);
    larder_fault_set_clock(0);
    put_next(run, ring, 1, 100, false);
    days_pass(&days, 6);
    holds_then(run, ring, 1, 12, "six days later");
    days_pass(&days, 2);
    holds_then(run, ring, 12, 13, "eight days later");
    larder_ring_close(ring);
    larder_fault_set_clock(0);
}
#else
static void clock_set_back(torture *run, void *context) { (void)run, (void)context; }
static void clock_ahead(torture *run, void *context) { (void)run, (void)context; }
#endif

void family_rare(torture *run) {
    static void (*const bodies[])(torture *, void *) = {
        copies,     replaced_log, no_rings,    cursors,     power_cuts,
        ring_calls, ring_hurt,    ring_places, clock_ahead, clock_set_back};
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    char path[600], other[600];
    snprintf(path, sizeof path, "%s", torture_path(run, "ring"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    rare self = {path, other, 0, 0, 0};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        (void)unlink(path);
        (void)unlink(other);
        torture_trial(run);
        torture_note(run, "number %zu of what is rare", i);
        torture_guard(run, 60, bodies[i], &self);
    }
}
