// SPDX-License-Identifier: MIT
// Parts of a ring's header and of its table of consumers overwritten by zeros or noise, as no power
// cut does it: in files that were closed, closed without a sync, and left by a writer that was
// killed. Every message is read or counted as lost, no number is given twice, a consumer is told
// nothing that it has not had, and a check tells of what is not whole in a file that was closed.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring_bytes.h"

enum { BYTES = 32768, CURSORS = 2, MOST = 1200, PLACE = 150 };

typedef struct lines_bench {
    const char *path;
    /** A file by the way in which it was left: closed, closed without a sync, killed. */
    enum { LEFT_CLOSED, LEFT_UNSYNCED, LEFT_KILLED, LEFT_WAYS } how;
    bool overwrites, is_lapped;
    uint8_t bytes[BYTES];
    larder_ring_statistics had;
} lines_bench;

static larder_status append_all(larder_ring *ring, uint64_t count) {
    larder_status status = LARDER_OK;
    for (uint64_t i = 1; i <= count && !status; i++) {
        uint8_t bytes[40];
        size_t length = (size_t)(i * 7 % 39);
        message_fill(i, bytes, length);
        status = larder_ring_append(ring, bytes, length, NULL);
        // One that refuses goes on when room was made.
        if (status == LARDER_EFULL) {
            status = larder_ring_remove_through(ring, i - 400, NULL);
            i--;
        }
    }
    return status;
}

/** The file has its own numbers of device and inode all the time. */
static bool make_file(torture *run, lines_bench *self) {
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(BYTES, self->overwrites ? LARDER_RING_OVERWRITE : 0);
    options.cursor_slots = CURSORS;
    (void)unlink(self->path);
    larder_status status = larder_ring_open(self->path, &options, NULL, &ring);
    status = status ? status : append_all(ring, self->is_lapped ? MOST : 300);
    status = status ? status : larder_ring_acknowledge(ring, bytes_of_text("one"), PLACE);
    status = status ? status : larder_ring_statistics_get(ring, &self->had);
    bool is_killed = self->how == LEFT_KILLED;
    bool good = !is_killed || read_file(self->path, self->bytes, BYTES) == BYTES;
    if (!status && self->how == LEFT_CLOSED) {
        status = larder_ring_shutdown(ring);
    } else if (!status) {
        status = larder_ring_shutdown_unsynced(ring);
    }
    larder_ring_close(ring);
    good = good && (is_killed || read_file(self->path, self->bytes, BYTES) == BYTES);
    return EXPECT(run, good && !status, "making a ring gave %d", status);
}

static bool put_bytes(const char *path, const uint8_t *bytes) {
    int file = open(path, O_WRONLY);
    bool good = file >= 0 && pwrite(file, bytes, BYTES, 0) == BYTES;
    (void)close(file);
    return good;
}

static void look(torture *run, const lines_bench *self, uint32_t flags, bool *is_sound) {
    larder_ring *ring = NULL;
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_ring_report report;
    larder_ring_statistics has;
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = flags;
    if (!EXPECT_STATUS(run, larder_ring_open(self->path, &options, NULL, &ring), LARDER_OK)) {
        return;
    }
    EXPECT_STATUS(run, larder_ring_statistics_get(ring, &has), LARDER_OK);
    *is_sound = larder_ring_check(ring, &report) == LARDER_OK;
    uint64_t count = 0, before = 0, place = 0, lost = has.lost - self->had.lost;
    // Who reads a file that was closed finds what is missing when it comes there.
    lost = report.lost > lost ? report.lost : lost;
    if (EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        while (larder_ring_reader_next(reader, &record) == LARDER_OK) {
            EXPECT(run,
                   message_equals(record.sequence, record.payload.data, record.payload.length) &&
                       record.sequence > before,
                   "number %llu is another one", (unsigned long long)record.sequence);
            before = record.sequence;
            count++;
        }
    }
    larder_ring_reader_close(reader);
    // What was removed may come back: nothing says any more that it was.
    EXPECT(run,
           count >= self->had.count ||
               (has.lost >= self->had.lost && count + lost >= self->had.count),
           "%llu of %llu are there, and %llu lost", (unsigned long long)count,
           (unsigned long long)self->had.count, (unsigned long long)lost);
    EXPECT(run, has.next_sequence >= self->had.next_sequence, "%llu is given again",
           (unsigned long long)has.next_sequence);
    larder_status status = larder_ring_acknowledged(ring, bytes_of_text("one"), &place);
    EXPECT(run, status == LARDER_ENOTFOUND || (!status && place <= PLACE),
           "a consumer is at %llu (%d)", (unsigned long long)place, status);
    larder_ring_close(ring);
}

static void trial(torture *run, void *context, uint64_t index) {
    lines_bench *self = context;
    rng random = {mix2(run->seed, index)};
    static uint8_t bytes[BYTES];
    if (index % 50 == 0) {
        self->how = index / 50 % LEFT_WAYS;
        self->overwrites = index / 150 % 2;
        self->is_lapped = index / 300 % 2;
        if (!make_file(run, self)) {
            return;
        }
    }
    // The oldest messages too, in a log that drops none by itself.
    uint32_t reach = !self->overwrites && rng_one_in(&random, 4) ? 1000 : 0;
    uint32_t header = RING_HEADER + 64 * CURSORS + reach;
    uint32_t from =
        RING_FIXED + 8 * (uint32_t)rng_below(&random, (header - reach - RING_FIXED) / 8);
    uint32_t length = 8 * (uint32_t)(1 + rng_below(&random, (header - from) / 8));
    bool is_noise = rng_below(&random, 2);
    torture_note(run, "file left in way %d%s%s, %s of %u bytes at %u", (int)self->how,
                 self->overwrites ? ", overwriting" : "", self->is_lapped ? ", lapped" : "",
                 is_noise ? "noise" : "zeros", length, from);
    memcpy(bytes, self->bytes, BYTES);
    for (uint32_t i = 0; i < length; i++) {
        bytes[from + i] = is_noise ? (uint8_t)rng_below(&random, 256) : 0;
    }
    bool is_sound = false;
    if (EXPECT(run, put_bytes(self->path, bytes), "cannot write %s", self->path)) {
        look(run, self, LARDER_RING_READ_ONLY, &is_sound);
        // What the checksum of a closed header covers, if that is still there.
        bool tells = self->how != LEFT_KILLED && is_noise && from >= RING_FLOOR &&
                     from < RING_BELL && length < 100;
        EXPECT(run, !is_sound || !tells, "a check tells of nothing");
        look(run, self, self->overwrites ? LARDER_RING_OVERWRITE : 0, &is_sound);
    }
}

void family_lines(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    char path[600];
    snprintf(path, sizeof path, "%s", torture_path(run, "ring"));
    static lines_bench self;
    self.path = path;
    for (uint64_t i = 0; i < (run->brief ? 1200 : 60000) && torture_unhurt(run); i++) {
        torture_trial(run);
        trial(run, &self, i);
    }
}
