// SPDX-License-Identifier: MIT
#include "ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void ledger_reset(ledger *book, uint64_t seed, uint64_t capacity, uint32_t flags) {
    memset(book, 0, sizeof *book);
    book->seed = seed;
    book->capacity = capacity;
    book->flags = flags;
    book->threads = 1;
}

void ledger_begin_epoch(ledger *book, uint64_t first_sequence) {
    // Epochs of which no message is left over, because their numbers come again, are forgotten.
    while (book->epoch_count &&
           book->epochs[book->epoch_count - 1].first_sequence >= first_sequence) {
        book->epoch_count--;
    }
    if (book->epoch_count == LEDGER_EPOCHS) {
        memmove(book->epochs, book->epochs + 1, sizeof book->epochs - sizeof book->epochs[0]);
        book->epoch_count--;
    }
    book->epochs[book->epoch_count++] =
        (ledger_epoch){first_sequence, mix2(book->seed, ++book->epochs_begun)};
    for (unsigned i = 0; i < LEDGER_THREADS; i++) {
        atomic_store(&book->started[i], 0);
    }
}

uint64_t ledger_salt(const ledger *book, uint64_t sequence) {
    for (uint32_t i = book->epoch_count; i-- > 0;) {
        if (book->epochs[i].first_sequence <= sequence) {
            return book->epochs[i].salt;
        }
    }
    return 0;
}

uint64_t ledger_key(const ledger *book, uint64_t sequence, uint64_t tag) {
    return mix2(ledger_salt(book, sequence), tag);
}

larder_bytes ledger_cursor_name(unsigned index) {
    static const char *const names[LEDGER_CURSORS] = {"a", "mailer",
                                                      "exactly-32-bytes-long-a-name-ok."};
    return bytes_of_text(names[index]);
}

/** Whether an epoch began with this message. */
static bool begins_epoch(const ledger *book, uint64_t sequence) {
    for (uint32_t i = 0; i < book->epoch_count; i++) {
        if (book->epochs[i].first_sequence == sequence) {
            return true;
        }
    }
    return false;
}

/** What reading a run of threaded messages remembers: the count each thread had last. */
typedef struct threads_seen {
    uint64_t salt;
    uint64_t last[LEDGER_THREADS];
} threads_seen;

static bool verify_tagged(torture *run, const ledger *book, const larder_ring_record *record,
                          threads_seen *seen) {
    uint64_t tag = 0;
    if (!EXPECT(run, record->payload.length >= 8, "message %" PRIu64 " is too short: foreign",
                record->sequence)) {
        return false;
    }
    memcpy(&tag, record->payload.data, 8);
    uint64_t thread = tag >> 40, number = tag & 0xFFFFFFFFFFu;
    uint64_t salt = ledger_salt(book, record->sequence);
    if (seen->salt != salt) {
        memset(seen, 0, sizeof *seen);
        seen->salt = salt;
    }
    if (!EXPECT(run, thread >= 1 && thread <= LEDGER_THREADS && number > 0,
                "message %" PRIu64 " is foreign", record->sequence)) {
        return false;
    }
    uint64_t *last = &seen->last[thread - 1];
    if (!EXPECT(run, *last == 0 || number == *last + 1,
                "message %" PRIu64 " is number %" PRIu64 " of its thread, behind number %" PRIu64,
                record->sequence, number, *last)) {
        return false;
    }
    *last = number;
    uint64_t key = mix2(salt, tag);
    message_profile profile = book->profile;
    size_t length = message_length(&profile, key);
    length = length < 8 ? 8 : length;
    return EXPECT(run,
                  record->payload.length == length &&
                      message_equals(key, (const uint8_t *)record->payload.data + 8, length - 8) &&
                      record->flags == message_flags(key),
                  "message %" PRIu64 " (%zu bytes) is not what thread %" PRIu64 " wrote",
                  record->sequence, record->payload.length, thread);
}

static bool verify_plain(torture *run, const ledger *book, const larder_ring_record *record) {
    uint64_t key = ledger_key(book, record->sequence, record->sequence);
    size_t length = message_length(&book->profile, key);
    if (!EXPECT(run, record->payload.length == length, "message %" PRIu64 " has %zu bytes, not %zu",
                record->sequence, record->payload.length, length)) {
        return false;
    }
    return EXPECT(run, message_equals(key, record->payload.data, length),
                  "message %" PRIu64 " (%zu bytes) has wrong bytes", record->sequence, length) &&
           EXPECT(run, record->flags == message_flags(key), "message %" PRIu64 " has flags %u",
                  record->sequence, record->flags);
}

static bool verify_check(torture *run, larder_ring *ring, uint64_t count, uint64_t gaps) {
    larder_ring_report report;
    larder_status status = larder_ring_check(ring, &report);
    return EXPECT(
        run,
        status == LARDER_OK && report.intact == count && (report.lost == 0 || report.lost == gaps),
        "check gave %d (%s): %" PRIu64 " messages intact of %" PRIu64 ", %" PRIu64 " lost, %" PRIu64
        " damaged places, the first at %" PRIu64 ", header damaged %u, state damaged %u",
        status, larder_strerror(status), report.intact, count, report.lost, report.damaged_places,
        report.first_damage_offset, report.header_damaged, report.state_damaged);
}

bool ledger_verify(torture *run, const ledger *book, larder_ring *ring, ledger_contents *out) {
    memset(out, 0, sizeof *out);
    larder_ring_reader *reader = NULL;
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return false;
    }
    threads_seen seen = {0};
    uint64_t gaps = 0;
    larder_ring_record record;
    larder_status status;
    bool good = true;
    while (good && (status = larder_ring_reader_next(reader, &record)) == LARDER_OK) {
        uint64_t gap = out->newest ? record.sequence - out->newest - 1 : 0;
        bool may_gap = book->gaps_between_epochs && begins_epoch(book, record.sequence);
        gaps += gap;
        good =
            EXPECT(run, gap == 0 || (may_gap && record.sequence > out->newest),
                   "a hole: message %" PRIu64 " follows %" PRIu64, record.sequence, out->newest) &&
            EXPECT(run, record.lost == gap,
                   "message %" PRIu64 " says that %" PRIu64 " before it were lost", record.sequence,
                   record.lost) &&
            (book->threads > 1 ? verify_tagged(run, book, &record, &seen)
                               : verify_plain(run, book, &record));
        out->oldest = out->oldest ? out->oldest : record.sequence;
        out->newest = record.sequence;
        out->count++;
        out->record_bytes += ledger_record_bytes(book, record.payload.length);
    }
    larder_ring_reader_close(reader);
    if (!good || !EXPECT_STATUS(run, status, LARDER_END)) {
        return false;
    }
    larder_ring_statistics figures;
    if (!EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK)) {
        return false;
    }
    out->next = figures.next_sequence;
    return EXPECT(run, figures.count == out->count,
                  "statistics count %" PRIu64 " messages, reading %" PRIu64, figures.count,
                  out->count) &&
           EXPECT(run,
                  figures.oldest_sequence == out->oldest && figures.newest_sequence == out->newest,
                  "statistics say %" PRIu64 " to %" PRIu64 ", reading %" PRIu64 " to %" PRIu64,
                  figures.oldest_sequence, figures.newest_sequence, out->oldest, out->newest) &&
           EXPECT(run, figures.next_sequence > out->newest,
                  "the next number %" PRIu64 " is taken: the newest message is %" PRIu64,
                  figures.next_sequence, out->newest) &&
           EXPECT(run,
                  figures.used_bytes <= figures.data_bytes &&
                      figures.used_bytes >= out->record_bytes,
                  "%" PRIu64 " bytes used of %" PRIu64 ", messages take %" PRIu64,
                  figures.used_bytes, figures.data_bytes, out->record_bytes) &&
           verify_check(run, ring, out->count, gaps) && ledger_verify_times(run, book, ring);
}

bool ledger_verify_acknowledged(torture *run, const ledger *book, const ledger_contents *held) {
    uint64_t acknowledged = atomic_load(&book->acknowledged);
    uint64_t removed = atomic_load(&book->removed);
    uint64_t removed_intent = atomic_load(&book->removed_intent);
    uint64_t oldest = atomic_load(&book->oldest);
    // No message has the numbers that were passed over after a power cut.
    uint64_t passed_from = atomic_load(&book->passed_from);
    uint64_t shown = acknowledged;
    if (acknowledged > passed_from && acknowledged <= atomic_load(&book->passed_to)) {
        shown = passed_from;
    }
    if (removed_intent >= atomic_load(&book->passed_from) &&
        removed_intent < atomic_load(&book->passed_to)) {
        removed_intent = atomic_load(&book->passed_to);
    }
    if (!EXPECT(run, held->next > acknowledged,
                "number %" PRIu64 " was given out, and comes again: next is %" PRIu64, acknowledged,
                held->next)) {
        return false;
    }
    if (held->count == 0) {
        return EXPECT(run, acknowledged <= removed_intent,
                      "nothing is left, %" PRIu64 " were acknowledged and %" PRIu64 " removed",
                      acknowledged, removed_intent);
    }
    if (!EXPECT(run, held->newest >= shown || removed_intent >= shown,
                "message %" PRIu64 " was acknowledged, the newest is %" PRIu64, shown,
                held->newest) ||
        !EXPECT(run, held->oldest > removed,
                "message %" PRIu64 " is back, removal through %" PRIu64 " was acknowledged",
                held->oldest, removed)) {
        return false;
    }
    if (oldest == 0 || held->oldest <= oldest || held->oldest <= removed_intent + 1) {
        return true;
    }
    if (!EXPECT(run, book->flags & LARDER_RING_OVERWRITE,
                "messages %" PRIu64 " to %" PRIu64 " are gone from a ring that drops none", oldest,
                held->oldest - 1)) {
        return false;
    }
    // The call that was under way may have made room, but no more of it than its messages need: it
    // shows a batch when it is whole.
    uint64_t largest =
        ledger_record_bytes(book, book->profile.longest < 8 ? 8 : book->profile.longest);
    uint64_t room = larder_ring_capacity_for(1, 0, LARDER_RING_DEFAULT_CURSOR_SLOTS);
    uint64_t data = book->capacity > room ? book->capacity - room : 0;
    return EXPECT(run, held->record_bytes + (book->threads + LEDGER_BATCH + 2) * largest >= data,
                  "messages %" PRIu64 " to %" PRIu64 " are gone, with %" PRIu64 " bytes of %" PRIu64
                  " in use",
                  oldest, held->oldest - 1, held->record_bytes, data);
}

bool ledger_verify_cursors(torture *run, const ledger *book, larder_ring *ring,
                           const _Atomic uint64_t *at_least) {
    for (unsigned i = 0; i < LEDGER_CURSORS; i++) {
        uint64_t found = 0;
        uint64_t wanted = atomic_load(&at_least[i]);
        larder_status status = larder_ring_acknowledged(ring, ledger_cursor_name(i), &found);
        if (status == LARDER_ENOTFOUND && wanted == 0) {
            continue;
        }
        uint64_t intent = atomic_load(&book->cursor_intent[i]);
        if (!EXPECT_STATUS(run, status, LARDER_OK) ||
            !EXPECT(run, found >= wanted && found <= intent,
                    "cursor %u is at %" PRIu64 ", not from %" PRIu64 " to %" PRIu64, i, found,
                    wanted, intent)) {
            return false;
        }
    }
    return true;
}

bool ledger_append_more(torture *run, ledger *book, larder_ring *ring, rng *random,
                        unsigned messages) {
    static uint8_t *scratch;
    larder_ring_statistics figures;
    if (!scratch) {
        scratch = shared_memory(1 << 20);
    }
    if (!EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK)) {
        return false;
    }
    ledger_begin_epoch(book, figures.next_sequence);
    uint64_t next = figures.next_sequence;
    for (unsigned i = 0; i < messages; i++) {
        bool tagged = book->threads > 1;
        uint64_t tag = tagged ? ((uint64_t)1 << 40) + i + 1 : next;
        uint64_t key = ledger_key(book, next, tag);
        size_t length = message_length(&book->profile, key);
        length = tagged && length < 8 ? 8 : length;
        message_fill(key, scratch + (tagged ? 8 : 0), length - (tagged ? 8 : 0));
        if (tagged) {
            memcpy(scratch, &tag, 8);
        }
        larder_message message = {{scratch, length}, message_flags(key)};
        uint64_t sequence = 0;
        larder_status status = larder_ring_append_batch(ring, &message, 1, NULL, &sequence);
        if (status == LARDER_EFULL && !(book->flags & LARDER_RING_OVERWRITE)) {
            break;
        }
        if (!EXPECT_STATUS(run, status, LARDER_OK) ||
            !EXPECT(run, sequence == next, "append gave number %" PRIu64 ", not %" PRIu64, sequence,
                    next)) {
            return false;
        }
        next++;
        atomic_store(&book->acknowledged, sequence);
    }
    ledger_contents held;
    (void)random;
    return ledger_verify(run, book, ring, &held) &&
           EXPECT(run, next == figures.next_sequence || held.newest == next - 1,
                  "message %" PRIu64 " was just appended, the newest is %" PRIu64, next - 1,
                  held.newest);
}

// Times: a clock that is set back now and then, and what has to hold ------------------------------

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
