// SPDX-License-Identifier: MIT
// Rings whose bytes change under their handle: damage in the memory of a writer, in the file of one
// that was killed or had closed it, and writers that overtake a reader of another handle while it
// copies. For the last, a page of the reader's mapping is taken away until it is touched.
#include "ring_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
// The harness has a reckoning of its own.
#define record_bytes ring_record_bytes
#include "ring/ring_internal.h"
#undef record_bytes

enum { LENGTH = 100, RECORD = 120, SMALL = 16384, LARGE = 65536, LONG = 1000 };

static larder_status put(larder_ring *ring, uint64_t count, size_t length) {
    static uint8_t bytes[200000];
    larder_status status = LARDER_OK;
    for (; count > 0 && !status; count--) {
        uint64_t next;
        status = larder_ring_next_sequence(ring, &next);
        message_fill(next, bytes, length);
        status = status ? status : larder_ring_append(ring, bytes, length, NULL);
    }
    return status;
}

static larder_ring *made(torture *run, const char *path, uint64_t capacity, uint32_t flags,
                         uint64_t count) {
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(capacity, flags);
    (void)unlink(path);
    torture_trial(run);
    if (EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK)) {
        EXPECT_STATUS(run, put(ring, count, LENGTH), LARDER_OK);
    }
    return ring;
}

static larder_ring *reopened(torture *run, const char *path, uint32_t flags) {
    larder_ring *ring = NULL;
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = flags;
    torture_trial(run);
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK);
    return ring;
}

/** Changes the file that it is, so that it is still this one. */
static void patch(torture *run, const char *path, uint64_t at, const void *bytes, size_t length) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    EXPECT(run, pwrite(file, bytes, length, (off_t)at) == (ssize_t)length, "cannot hurt %s", path);
    (void)close(file);
}

/** Ends the handle, and leaves the file as if its writer had been killed in place of that. */
static void kill_ring(torture *run, larder_ring *ring, const char *path) {
    static uint8_t bytes[LARGE];
    int64_t size = read_file(path, bytes, sizeof bytes);
    larder_ring_close(ring);
    patch(run, path, 0, bytes, (size_t)size);
}

/** Every message that is there, which must be these. */
static void reads(torture *run, larder_ring *ring, const uint64_t *wanted, size_t count) {
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    torture_trial(run);
    if (!EXPECT_STATUS(run, larder_ring_reader_open(ring, 0, &reader), LARDER_OK)) {
        return;
    }
    size_t found = 0;
    for (; larder_ring_reader_next(reader, &record) == LARDER_OK; found++) {
        EXPECT(run,
               found < count && record.sequence == wanted[found] &&
                   message_equals(record.sequence, record.payload.data, record.payload.length),
               "message %llu is number %zu", (unsigned long long)record.sequence, found);
    }
    EXPECT(run, found == count, "%zu messages, not %zu", found, count);
    larder_ring_reader_close(reader);
}
#define READS(ring, ...)                                                                           \
    reads(run, ring, (const uint64_t[]){__VA_ARGS__},                                              \
          sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void loses(torture *run, larder_ring *ring, uint64_t count) {
    larder_ring_statistics figures;
    EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK);
    EXPECT(run, figures.lost == count, "%llu are lost, not %llu", (unsigned long long)figures.lost,
           (unsigned long long)count);
}

// Under a writer ----------------------------------------------------------------------------------

static void set_word(larder_ring *ring, uint64_t position, uint32_t word) {
    memcpy(ring->data + position, &word, sizeof word);
}

static void set_tag(larder_ring *ring, uint64_t position, uint64_t tag) {
    memcpy(ring->data + position + 8, &tag, sizeof tag);
}

static void drops(torture *run, const char *path) {
    // The record behind the oldest looks like the end of the lap, and the lap before like its next.
    larder_ring *ring = made(run, path, SMALL, 0, 5);
    GIVES(larder_ring_remove_through(ring, 2, NULL), LARDER_OK);
    set_word(ring, (uint64_t)3 * RECORD, RECORD_PAD);
    set_tag(ring, 0, 4);
    GIVES(larder_ring_remove_through(ring, 3, NULL), LARDER_OK);
    loses(run, ring, 2);
    GIVES(put(ring, 1, LENGTH), LARDER_OK);
    READS(ring, 6);
    larder_ring_close(ring);
    // A length that leads behind the newest message.
    ring = made(run, path, SMALL, 0, 5);
    set_word(ring, RECORD, 5000);
    GIVES(larder_ring_remove_through(ring, 1, NULL), LARDER_OK);
    GIVES(larder_ring_remove_through(ring, 2, NULL), LARDER_OK);
    READS(ring, 3, 4, 5);
    loses(run, ring, 0);
    larder_ring_close(ring);
    // The oldest and the one behind it, each in a way of its own.
    static const uint32_t words[] = {RECORD_PAD, 0x7FFFFFFF, 5};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        ring = made(run, path, SMALL, 0, 5);
        set_word(ring, 0, words[i]);
        set_tag(ring, RECORD, UINT64_MAX);
        GIVES(larder_ring_remove_through(ring, 1, NULL), LARDER_OK);
        READS(ring, 3, 4, 5);
        loses(run, ring, 1);
        larder_ring_close(ring);
        ring = reopened(run, path, 0);
        READS(ring, 3, 4, 5);
        larder_ring_close(ring);
    }
}

static void reservations(torture *run, const char *path) {
    larder_ring *ring = made(run, path, SMALL, 0, 1);
    larder_reservation held, copy;
    GIVES(larder_ring_reserve(ring, LENGTH, &held), LARDER_OK);
    copy = held;
    message_fill(2, held.bytes, LENGTH);
    GIVES(larder_ring_commit(ring, &held, LENGTH, 0, NULL), LARDER_OK);
    larder_reservation again = copy;
    GIVES(larder_ring_commit(ring, &again, LENGTH, 0, NULL), LARDER_EINVALID);
    GIVES(ring_lock(ring), LARDER_OK);
    GIVES(larder_ring_commit(ring, &again, LENGTH, 0, NULL), LARDER_EINVALID);
    ring_unlock(ring);
    larder_ring_abort(ring, &again);
    READS(ring, 1, 2);
    larder_ring_close(ring);
    ring = reopened(run, path, LARDER_RING_READ_ONLY);
    GIVES(larder_ring_append(ring, path, SMALL, NULL), LARDER_EREADONLY);
    GIVES(larder_ring_append_synced(ring, path, 1, NULL), LARDER_EREADONLY);
    GIVES(larder_ring_sync_through(ring, 1), LARDER_EREADONLY);
    GIVES(larder_ring_sync(ring), LARDER_EREADONLY);
    larder_ring_close(ring);
}

static void checks(torture *run, const char *path) {
    larder_ring_report report;
    larder_ring *ring = made(run, path, SMALL, 0, 3);
    _Atomic uint64_t *newest =
        &ring->header->state.published[ring_published_slot(ring->header)].newest;
    STORE(*newest, 4);
    GIVES(larder_ring_check(ring, &report), LARDER_EDAMAGED);
    EXPECT(run, report.state_damaged, "another damage");
    STORE(*newest, 3);
    // A slot that somebody was about to take is none; one whose name is damaged is.
    ring_cursor_slot *slot = larder_ring_cursor_slots(ring);
    memcpy(slot->name, "abc", 3);
    GIVES(larder_ring_check(ring, &report), LARDER_OK);
    slot->name_length = 3;
    GIVES(larder_ring_check(ring, &report), LARDER_EDAMAGED);
    EXPECT(run, report.first_damage_offset == RING_HEADER_BYTES, "another place");
    memset(slot, 0, sizeof *slot);
    GIVES(larder_ring_check(ring, &report), LARDER_OK);
    larder_ring_close(ring);
    // A header that is changed under one that reads it.
    ring = reopened(run, path, LARDER_RING_READ_ONLY);
    GIVES(larder_ring_check(ring, &report), LARDER_OK);
    patch(run, path, offsetof(ring_header, opened), &(uint64_t){9}, 8);
    GIVES(larder_ring_check(ring, &report), LARDER_EDAMAGED);
    EXPECT(run, report.state_damaged, "another damage");
    larder_ring_close(ring);
    ring = reopened(run, path, 0);
    READS(ring, 1, 2, 3);
    larder_ring_close(ring);
}

// Files -------------------------------------------------------------------------------------------

static void killed(torture *run, const char *path) {
    larder_ring *ring = made(run, path, SMALL, 0, 3);
    uint64_t data = ring->fixed.data_offset, next = 0;
    GIVES(larder_ring_remove_through(ring, 3, NULL), LARDER_OK);
    kill_ring(run, ring, path);
    ring = reopened(run, path, 0);
    GIVES(larder_ring_next_sequence(ring, &next), LARDER_OK);
    EXPECT(run, next == 4, "the next number is %llu", (unsigned long long)next);
    GIVES(put(ring, 1, LENGTH), LARDER_OK);
    READS(ring, 4);
    larder_ring_close(ring);
    // The oldest looks like a pad.
    kill_ring(run, made(run, path, SMALL, 0, 3), path);
    patch(run, path, data, &(uint32_t){RECORD_PAD}, 4);
    ring = reopened(run, path, 0);
    READS(ring, 2, 3);
    larder_ring_close(ring);
    // Its header is gone, and the copy of that is there, as something was synced.
    ring = made(run, path, SMALL, 0, 3);
    GIVES(larder_ring_sync(ring), LARDER_OK);
    kill_ring(run, ring, path);
    patch(run, path, 0, "header", 6);
    ring = reopened(run, path, 0);
    READS(ring, 1, 2, 3);
    larder_ring_close(ring);
    // Power was lost, and where the oldest lies nobody knows.
    kill_ring(run, made(run, path, SMALL, 0, 3), path);
    patch(run, path, offsetof(ring_header, state.oldest), &(uint64_t){4}, 8);
    patch(run, path, offsetof(ring_header, state.oldest_copy), &(uint64_t){4}, 8);
    larder_fault_boot_id((const uint8_t[16]){6});
    ring = reopened(run, path, 0);
    larder_fault_boot_id(NULL);
    READS(ring, 1, 2, 3);
    larder_ring_close(ring);
    // A reader has its own view of it, until a writer comes.
    kill_ring(run, made(run, path, SMALL, 0, 3), path);
    larder_ring *alone = reopened(run, path, LARDER_RING_READ_ONLY);
    READS(alone, 1, 2, 3);
    loses(run, alone, 0);
    ring = reopened(run, path, 0);
    GIVES(put(ring, 2, LENGTH), LARDER_OK);
    READS(alone, 1, 2, 3, 4, 5);
    loses(run, alone, 0);
    larder_ring_close(ring);
    larder_ring_close(alone);
}

static void closed(torture *run, const char *path) {
    // Its checksum is not that of the header.
    larder_ring *ring = made(run, path, SMALL, 0, 3);
    uint64_t data = ring->fixed.data_offset;
    larder_ring_close(ring);
    patch(run, path, offsetof(ring_header, opened), &(uint64_t){1}, 8);
    ring = reopened(run, path, 0);
    READS(ring, 1, 2, 3);
    larder_ring_close(ring);
    // Nothing is left.
    larder_ring_close(made(run, path, SMALL, 0, 5));
    uint8_t zeros[5 * RECORD] = {0};
    patch(run, path, data, zeros, sizeof zeros);
    ring = reopened(run, path, 0);
    GIVES(put(ring, 1, LENGTH), LARDER_OK);
    READS(ring, 6);
    loses(run, ring, 5);
    larder_ring_close(ring);
    // It says that there are none.
    larder_ring_close(made(run, path, SMALL, 0, 5));
    ring_header header;
    EXPECT(run, read_file(path, &header, sizeof header) == SMALL, "no header");
    STORE(header.state.count, 0);
    STORE(header.state.closed_crc, larder_ring_closed_crc(&header));
    patch(run, path, 0, &header, sizeof header);
    ring = reopened(run, path, 0);
    GIVES(larder_ring_remove_through(ring, 2, NULL), LARDER_OK);
    READS(ring, 3, 4, 5);
    larder_ring_close(ring);
}

/** Of two runs the first one does not fit into a copy. */
static void small_copy(torture *run, const char *path, const char *other) {
    larder_ring_report report;
    larder_ring_options options = ring_options(0, 0);
    larder_ring *ring = made(run, path, SMALL, 0, 9);
    memset(ring->data + (uint64_t)5 * RECORD, 0, RECORD);
    larder_ring_close(ring);
    options.capacity_bytes = larder_ring_capacity_for(3, LENGTH, options.cursor_slots);
    GIVES(larder_ring_salvage(path, other, &options, NULL, NULL, &report), LARDER_EFULL);
    EXPECT(run, size_of_file(other) < 0, "half a copy is there");
    options.capacity_bytes = SMALL;
    GIVES(larder_ring_salvage(path, other, &options, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 8 && report.lost == 1, "%llu are copied",
           (unsigned long long)report.intact);
    (void)unlink(other);
}

/** Records by themselves, as no writer leaves them. */
static void records_alone(torture *run) {
    static struct {
        ring_header header;
        uint8_t data[512];
    } file;
    const ring_records records = {file.data, sizeof file.data, 7, NULL, 0};
    record_runs runs;
    record_head head;
    uint64_t found;
    struct {
        uint64_t tag;
        uint32_t word;
    } placed[] = {{5, 8}, {3 | RECORD_AFTER_GAP, 8}};
    for (size_t i = 0; i < 2; i++) {
        uint8_t *at = file.data + i * 24;
        head = (record_head){placed[i].word, 0, placed[i].tag};
        head.crc =
            record_crc(larder_crc32c(7, at + RING_HEAD_BYTES, 8), head.word, i * 24, head.tag);
        memcpy(at, &head, sizeof head);
    }
    // One that says it comes behind a gap, and has a smaller number.
    GIVES(larder_record_runs_scan(&records, &file.header, 0, 0, &runs), LARDER_OK);
    EXPECT(run, runs.count == 2, "%zu runs", runs.count);
    larder_record_runs_free(&runs);
    if (failing_call_count > 0) {
        larder_fault_set("memory", 1, ENOMEM);
        GIVES(larder_record_runs_scan(&records, &file.header, 0, 0, &runs), ENOMEM);
        larder_fault_set(NULL, 0, 0);
        larder_record_runs_free(&runs);
    }
    // Behind each other, with a gap in the numbers that the later one tells of, or not.
    torture_trial(run);
    record_run before = {.start = 0, .end = 24, .first = 3, .last = 3, .count = 1};
    record_run after = {.start = 24, .end = 48, .first = 5, .last = 5, .count = 1};
    EXPECT(run, !larder_record_run_joins(&before, &after), "a hole is none");
    after.is_after_gap = true;
    EXPECT(run, larder_record_run_joins(&before, &after), "a gap is a hole");
    const record_bounds bounds = {.minimum = 9, .maximum = 9};
    torture_trial(run);
    EXPECT(run,
           !larder_record_find(&records, 0, UINT64_MAX, bounds, &found, &head) &&
               !larder_record_find(&records, 8, 8, bounds, &found, &head),
           "a record that is not there");
    // The oldest is a pad.
    record_write_pad(file.data, 0, 7, 5);
    STORE(file.header.state.published[0].newest, 5);
    STORE(file.header.state.published[0].end, 48);
    oldest_hint hint = larder_ring_oldest_hint(&records, sizeof file.data, &file.header, true);
    EXPECT(run, hint.is_known && hint.number == 0, "a pad has number %llu",
           (unsigned long long)hint.number);
}

// Readers -----------------------------------------------------------------------------------------

static void long_messages(torture *run, const char *path) {
    larder_ring *ring = made(run, path, 1 << 20, LARDER_RING_OVERWRITE, 0);
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    GIVES(put(ring, 1, LENGTH), LARDER_OK);
    GIVES(put(ring, 1, 60000), LARDER_OK);
    READS(ring, 1, 2);
    // Back over one that is longer than what is copied at once; before that, without memory.
    GIVES(larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
    GIVES(larder_ring_reader_seek(reader, 3), LARDER_OK);
    for (int nth = 1; failing_call_count > 0 && nth <= 2; nth++) {
        larder_fault_set("memory", nth, ENOMEM);
        GIVES(larder_ring_reader_previous(reader, &record), ENOMEM);
        larder_fault_set(NULL, 0, 0);
        GIVES(larder_ring_reader_seek(reader, 3), LARDER_OK);
    }
    for (uint64_t next = 2; next > 0; next--) {
        GIVES(larder_ring_reader_previous(reader, &record), LARDER_OK);
        EXPECT(run,
               record.sequence == next &&
                   message_equals(next, record.payload.data, record.payload.length),
               "message %llu", (unsigned long long)record.sequence);
    }
    GIVES(larder_ring_reader_previous(reader, &record), LARDER_END);
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
}

/** The message before a long one is damaged, or gone, when a reader that goes back comes to it. */
static void gone_meanwhile(torture *run, const char *path) {
    static const uint32_t words[] = {0x7FFFFFFF, RECORD_PAD, 500000};
    for (unsigned way = 0; way < 6; way++) {
        larder_ring *ring = made(run, path, 1 << 20, LARDER_RING_OVERWRITE, 1);
        larder_ring_reader *reader = NULL;
        larder_ring_record record;
        GIVES(put(ring, 1, 60000), LARDER_OK);
        GIVES(larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
        GIVES(larder_ring_reader_seek(reader, 3), LARDER_OK);
        GIVES(larder_ring_reader_previous(reader, &record), LARDER_OK);
        if (way < 3) {
            set_word(ring, 0, words[way]);
        } else if (way == 3) {
            set_tag(ring, 0, 77);
        } else {
            GIVES(larder_ring_remove_through(ring, way - 3, NULL), LARDER_OK);
        }
        GIVES(larder_ring_reader_previous(reader, &record), LARDER_END);
        larder_ring_reader_close(reader);
        larder_ring_close(ring);
    }
}

static void short_messages(torture *run, const char *path) {
    larder_ring *ring = made(run, path, LARGE, 0, 0);
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    GIVES(put(ring, 1000, 1), LARDER_OK);
    GIVES(larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
    GIVES(larder_ring_reader_seek(reader, 1001), LARDER_OK);
    for (uint64_t next = 1000; next > 0 && torture_unhurt(run); next--) {
        EXPECT_STATUS(run, larder_ring_reader_previous(reader, &record), LARDER_OK);
        EXPECT(run, record.sequence == next, "message %llu", (unsigned long long)record.sequence);
    }
    larder_ring_reader_close(reader);
    // In place, until the ring is shut.
    larder_ring_reader *copies = NULL;
    GIVES(larder_ring_reader_open(ring, LARDER_RING_BORROW, &reader), LARDER_OK);
    GIVES(larder_ring_reader_open(ring, 0, &copies), LARDER_OK);
    GIVES(larder_ring_reader_next(reader, &record), LARDER_OK);
    GIVES(larder_ring_shutdown(ring), LARDER_OK);
    GIVES(larder_ring_reader_next(reader, &record), LARDER_ECLOSED);
    GIVES(larder_ring_reader_previous(reader, &record), LARDER_ECLOSED);
    GIVES(larder_ring_reader_next(copies, &record), LARDER_ECLOSED);
    larder_ring_reader_close(reader);
    larder_ring_reader_close(copies);
    larder_ring_close(ring);
}

/** A lap whose rest is too short for a head, at which a reader waits while the ring is shut, or
    comes round. */
static void short_rest(torture *run, const char *path) {
    for (unsigned way = 0; way < 2; way++) {
        larder_ring_options defaults = ring_options(0, 0);
        uint64_t capacity = larder_ring_capacity_for(8, LENGTH, defaults.cursor_slots) + 8;
        larder_ring *ring = made(run, path, capacity, LARDER_RING_OVERWRITE, 8);
        larder_ring_reader *reader = NULL;
        larder_ring_record record;
        GIVES(larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
        for (unsigned i = 0; i < 8; i++) {
            GIVES(larder_ring_reader_next(reader, &record), LARDER_OK);
        }
        GIVES(larder_ring_reader_next(reader, &record), LARDER_END);
        if (way == 0) {
            GIVES(larder_ring_shutdown(ring), LARDER_OK);
            GIVES(larder_ring_reader_next(reader, &record), LARDER_ECLOSED);
        } else {
            GIVES(put(ring, 20, LENGTH), LARDER_OK);
            GIVES(larder_ring_reader_next(reader, &record), LARDER_OK);
            EXPECT(run, record.sequence == 21, "message %llu", (unsigned long long)record.sequence);
        }
        larder_ring_reader_close(reader);
        larder_ring_close(ring);
    }
}

/** The state says, beside its writer, that the ring ends where offsets do: a reader of another
    process goes back from there, and comes to an end. */
static void last_offset(torture *run, const char *path) {
    larder_ring *writer = made(run, path, 65536, LARDER_RING_OVERWRITE, 0), *ring = NULL;
    larder_ring_options reading = ring_options(0, LARDER_RING_READ_ONLY);
    larder_ring_reader *reader = NULL;
    larder_ring_record record;
    larder_ring_report report;
    GIVES(put(writer, 1, 60000), LARDER_OK);
    GIVES(larder_ring_open(path, &reading, NULL, &ring), LARDER_OK);
    ring_state *state = &writer->header->state;
    ring_publication *published = &state->published[ring_published_slot(writer->header)];
    uint64_t end = LOAD(published->end), last = UINT64_MAX - 7;
    STORE(state->oldest, last - last % writer->data_bytes);
    STORE(published->end, last);
    GIVES(larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
    GIVES(larder_ring_reader_seek(reader, 2), LARDER_OK);
    GIVES(larder_ring_reader_previous(reader, &record), LARDER_END);
    GIVES(larder_ring_reader_next(reader, &record), LARDER_END);
    GIVES(larder_ring_check(ring, &report), LARDER_EDAMAGED);
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
    STORE(state->oldest, 0);
    STORE(published->end, end);
    READS(writer, 1);
    larder_ring_close(writer);
}

// Traps -------------------------------------------------------------------------------------------

/** What is done when a page is touched, and the page; NULL for none. */
static struct {
    torture *run;
    larder_ring *writer;
    uint8_t *page, *other;
    size_t bytes;
    uint64_t appends;
    unsigned springs;
} trap;

static void arm(uint8_t *page) {
    trap.page = page;
    EXPECT(trap.run, mprotect(page, trap.bytes, PROT_NONE) == 0, "no trap");
}

/** Comes at the very instruction that reads the page, which is done again afterwards. */
static void spring(int signal_number) {
    uint8_t *page = trap.page;
    if (!page || mprotect(page, trap.bytes, PROT_READ) != 0) {
        (void)signal(signal_number, SIG_DFL);
        return;
    }
    trap.page = NULL;
    trap.springs++;
    if (trap.appends == 0) STORE(trap.writer->header->state.count, 99);
    else EXPECT_STATUS(trap.run, put(trap.writer, trap.appends, LONG), LARDER_OK);
    if (trap.other) {
        arm(trap.other);
        trap.other = page;
    }
}

/** The nth whole page of the records of a handle that reads. */
static uint8_t *page_of(const larder_ring *ring, size_t nth) {
    uintptr_t at = (uintptr_t)ring->data + trap.bytes * nth;
    return (uint8_t *)(at / trap.bytes * trap.bytes);
}

static void overtaken(torture *run, const char *path) {
    larder_ring_report report;
    larder_ring_record record;
    larder_ring_reader *reader = NULL;
    trap.run = run;
    trap.bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (trap.bytes > 8192) {
        return;
    }
    (void)signal(SIGSEGV, spring);
    (void)signal(SIGBUS, spring);
    // A message more, or a count that is about to be right: what was looked at is sound.
    trap.writer = made(run, path, LARGE, LARDER_RING_OVERWRITE, 0);
    larder_ring *ring = reopened(run, path, LARDER_RING_READ_ONLY);
    GIVES(put(trap.writer, 40, LONG), LARDER_OK);
    trap.appends = 1;
    arm(page_of(ring, 2));
    GIVES(larder_ring_check(ring, &report), LARDER_OK);
    EXPECT(run, report.intact == 40 && trap.springs == 1, "%llu messages",
           (unsigned long long)report.intact);
    trap.appends = 0;
    arm(page_of(ring, 2));
    GIVES(larder_ring_check(ring, &report), LARDER_OK);
    STORE(trap.writer->header->state.count, trap.writer->count);
    // All of them others: it looks again.
    trap.appends = 200;
    arm(page_of(ring, 2));
    GIVES(larder_ring_check(ring, &report), LARDER_OK);
    EXPECT(run, report.intact > 40 && trap.springs == 3, "%llu messages",
           (unsigned long long)report.intact);
    // And again, and again, until it takes what it saw.
    arm(page_of(ring, 2));
    trap.other = page_of(ring, 6);
    GIVES(larder_ring_check(ring, &report), LARDER_EDAMAGED);
    EXPECT(run, trap.springs > 18, "it looked %u times", trap.springs);
    (void)mprotect(trap.page, trap.bytes, PROT_READ);
    trap.page = trap.other = NULL;
    GIVES(larder_ring_check(ring, &report), LARDER_OK);
    // What a reader copies is written over, all of it.
    for (size_t nth = 1; nth < 6; nth++) {
        GIVES(larder_ring_reader_open(ring, 0, &reader), LARDER_OK);
        uint64_t before = trap.writer->newest;
        arm(page_of(ring, nth));
        while (torture_unhurt(run) && trap.page) {
            EXPECT_STATUS(run, larder_ring_reader_next(reader, &record), LARDER_OK);
        }
        EXPECT(run,
               record.sequence > before - 64 &&
                   message_equals(record.sequence, record.payload.data, record.payload.length),
               "message %llu behind %llu", (unsigned long long)record.sequence,
               (unsigned long long)before);
        larder_ring_reader_close(reader);
    }
    (void)signal(SIGSEGV, SIG_DFL);
    (void)signal(SIGBUS, SIG_DFL);
    larder_ring_close(ring);
    larder_ring_close(trap.writer);
}

void ring_hurt(torture *run, void *context) {
    char path[600], other[600];
    (void)context;
    snprintf(path, sizeof path, "%s", torture_path(run, "ring"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    drops(run, path);
    reservations(run, path);
    checks(run, path);
    killed(run, path);
    closed(run, path);
    small_copy(run, path, other);
    records_alone(run);
    long_messages(run, path);
    gone_meanwhile(run, path);
    short_messages(run, path);
    short_rest(run, path);
    last_offset(run, path);
    overtaken(run, path);
}
