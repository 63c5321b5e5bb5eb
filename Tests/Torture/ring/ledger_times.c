// SPDX-License-Identifier: MIT
// Times of a ring that keeps them: a clock that is set back now and then, and what has to hold.
#include <inttypes.h>
#include <stdlib.h>

#include "ledger.h"

/** Of ring/layout.h, which has names that this has, too. */
extern uint64_t larder_ring_seek_probes;

enum { CLOCK_STEP = 10, CLOCK_BACK = 2000, PICKS = 6 };
#define CLOCK_START ((int64_t)1700000000000000000)

static int64_t clock_of(uint64_t reads) { return CLOCK_START + CLOCK_STEP * (int64_t)reads; }

static int64_t ledger_clock(void *context) {
    ledger *book = context;
    uint64_t reads = atomic_fetch_add(&book->clock_reads, 1) + 1;
    uint64_t choice = mix2(book->seed, reads);
    // Set back, or standing still.
    int64_t back = choice % 16 == 0 ? (int64_t)(choice >> 8) % CLOCK_BACK : 0;
    return clock_of(choice % 4 == 1 ? reads - 1 : reads) - back;
}

int64_t ledger_clock_most(const ledger *book) { return clock_of(atomic_load(&book->clock_reads)); }

larder_ring_options ledger_options(ledger *book) {
    larder_ring_options options = ring_options(book->capacity, book->flags);
    options.clock = ledger_clock;
    options.clock_context = book;
    return options;
}

typedef struct timed {
    uint64_t sequence;
    int64_t time_ns;
} timed;

/** Reads the numbers and times of all messages, for the caller to free. */
static bool read_times(torture *run, larder_ring_reader *reader, timed **out, size_t *count) {
    size_t room = 0;
    larder_ring_record record;
    larder_status status = larder_ring_reader_seek(reader, 0);
    while (status == LARDER_OK) {
        status = larder_ring_reader_next(reader, &record);
        if (status != LARDER_OK) {
            break;
        }
        if (*count == room) {
            room = room ? 2 * room : 256;
            *out = realloc(*out, room * sizeof **out);
        }
        if (!EXPECT(run, *out != NULL, "no memory")) {
            return false;
        }
        (*out)[(*count)++] = (timed){record.sequence, record.time_ns};
    }
    return EXPECT_STATUS(run, status, LARDER_END);
}

static bool verify_seek(torture *run, larder_ring_reader *reader, const timed *all, size_t count,
                        int64_t time, uint64_t most_probes) {
    size_t wanted = 0;
    while (wanted < count && all[wanted].time_ns < time) {
        wanted++;
    }
    uint64_t probes = larder_ring_seek_probes;
    larder_ring_record record;
    if (!EXPECT_STATUS(run, larder_ring_reader_seek_time(reader, time), LARDER_OK)) {
        return false;
    }
    probes = larder_ring_seek_probes - probes;
    larder_status status = larder_ring_reader_next(reader, &record);
    return EXPECT(run,
                  wanted < count ? status == LARDER_OK && record.sequence == all[wanted].sequence &&
                                       record.time_ns == all[wanted].time_ns
                                 : status == LARDER_END,
                  "a seek to %" PRId64 " finds message %" PRIu64 " (status %d), not number %zu of "
                  "%zu",
                  time, record.sequence, status, wanted, count) &&
           EXPECT(run, probes <= most_probes, "a seek looked at %" PRIu64 " messages", probes);
}

bool ledger_verify_times(torture *run, const ledger *book, larder_ring *ring) {
    if (!(book->flags & LARDER_RING_KEEP_TIMES)) {
        return true;
    }
    larder_ring_statistics figures;
    larder_ring_reader *reader = NULL;
    if (!EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK) ||
        !EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return false;
    }
    timed *all = NULL;
    size_t count = 0;
    bool good = read_times(run, reader, &all, &count);
    for (size_t i = 0; good && i < count; i++) {
        int64_t least = i ? all[i - 1].time_ns : CLOCK_START - CLOCK_BACK;
        good = EXPECT(run, all[i].time_ns >= least && all[i].time_ns <= ledger_clock_most(book),
                      "message %" PRIu64 " is of %" PRId64 ", behind one of %" PRId64
                      " by a clock that was at %" PRId64 " at most",
                      all[i].sequence, all[i].time_ns, least, ledger_clock_most(book));
    }
    good = good && EXPECT(run,
                          figures.oldest_time_ns == (count ? all[0].time_ns : 0) &&
                              figures.newest_time_ns == (count ? all[count - 1].time_ns : 0),
                          "statistics say %" PRId64 " to %" PRId64, figures.oldest_time_ns,
                          figures.newest_time_ns);
    uint64_t most_probes = 3;
    for (uint64_t bytes = figures.data_bytes; bytes > 4096; bytes /= 2) {
        most_probes++;
    }
    for (uint64_t i = 0; good && count && i < PICKS; i++) {
        int64_t time = all[mix2(book->seed, i + count) % count].time_ns;
        good = verify_seek(run, reader, all, count, time, most_probes) &&
               verify_seek(run, reader, all, count, time + 1, most_probes);
    }
    good = good && verify_seek(run, reader, all, count, INT64_MAX, most_probes) &&
           verify_seek(run, reader, all, count, 0, most_probes);
    larder_ring_reader_close(reader);
    free(all);
    return good;
}
