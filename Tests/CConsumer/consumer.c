// SPDX-License-Identifier: MIT
/** @file consumer.c
    A program as a C user would write it, against the installed headers and library only. It is C11
    and C++17 at once, and is built as both. Ends with `N passed, M failed`. */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder;

static const char *path_of(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static larder_ring *open_ring(const char *name, uint64_t capacity, uint32_t flags) {
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.capacity_bytes = capacity;
    options.flags = flags;
    larder_ring *ring = NULL;
    CHECK_OK(larder_ring_open(path_of(name), &options, NULL, &ring));
    return ring;
}

static void append(larder_ring *ring, const char *text) {
    CHECK_OK(larder_ring_append(ring, text, strlen(text), NULL));
}

/// The texts from the oldest to the newest, each followed by a comma.
static void read_all(larder_ring *ring, char *target, size_t capacity) {
    larder_ring_reader *reader = NULL;
    CHECK_OK(larder_ring_reader_open(ring, 0, &reader));
    larder_ring_record record;
    size_t used = 0;
    larder_status status;
    while ((status = larder_ring_reader_next(reader, &record)) == LARDER_OK) {
        CHECK(used + record.payload.length + 2 <= capacity);
        if (record.payload.length > 0) {
            memcpy(target + used, record.payload.data, record.payload.length);
        }
        used += record.payload.length;
        target[used++] = ',';
    }
    target[used] = '\0';
    CHECK(status == LARDER_END);
    larder_ring_reader_close(reader);
}

static void appended_messages_are_read_back_after_a_reopen(void) {
    larder_ring *ring = open_ring("reopen", 4096, 0);
    uint64_t sequence = 0;
    CHECK_OK(larder_ring_append(ring, "one", 3, &sequence));
    CHECK(sequence == 1);
    CHECK_OK(larder_ring_append(ring, NULL, 0, &sequence));
    CHECK(sequence == 2);
    CHECK_OK(larder_ring_append_synced(ring, "three", 5, &sequence));
    CHECK(sequence == 3);
    CHECK_OK(larder_ring_sync(ring));
    larder_ring_close(ring);

    CHECK_OK(larder_ring_open(path_of("reopen"), NULL, NULL, &ring));
    char text[64];
    read_all(ring, text, sizeof text);
    CHECK_TEXT(text, "one,,three,");
    larder_ring_statistics statistics;
    CHECK_OK(larder_ring_statistics_get(ring, &statistics));
    CHECK(statistics.count == 3);
    CHECK(statistics.capacity_bytes == 4096);
    CHECK(statistics.next_sequence == 4);
    CHECK_OK(larder_ring_next_sequence(ring, &sequence));
    CHECK(sequence == 4);
    larder_ring_report report;
    CHECK_OK(larder_ring_check(ring, &report));
    CHECK(report.intact == 3 && report.lost == 0);
    larder_ring_close(ring);
}

static void a_reader_goes_both_ways_and_seeks(void) {
    larder_ring *ring = open_ring("seek", 4096, 0);
    append(ring, "a");
    append(ring, "b");
    append(ring, "c");
    larder_ring_reader *reader = NULL;
    CHECK_OK(larder_ring_reader_open(ring, LARDER_RING_BORROW, &reader));
    larder_ring_record record;
    CHECK_OK(larder_ring_reader_seek(reader, 3));
    CHECK_OK(larder_ring_reader_next(reader, &record));
    CHECK(record.sequence == 3 && record.lost == 0);
    CHECK(larder_ring_reader_next(reader, &record) == LARDER_END);
    CHECK_OK(larder_ring_reader_previous(reader, &record));
    CHECK(record.sequence == 3);
    CHECK_OK(larder_ring_reader_previous(reader, &record));
    CHECK(record.sequence == 2);
    CHECK(record.payload.length == 1 && memcmp(record.payload.data, "b", 1) == 0);
    CHECK_OK(larder_ring_reader_seek(reader, UINT64_MAX));
    CHECK(larder_ring_reader_next(reader, &record) == LARDER_END);
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
}

static void a_full_ring_of_n_equal_messages_holds_n(void) {
    uint64_t capacity = larder_ring_capacity_for(3, 4, LARDER_RING_DEFAULT_CURSOR_SLOTS);
    CHECK(capacity > 0);
    char text[64];

    larder_ring *ring = open_ring("overwrite", capacity, LARDER_RING_OVERWRITE);
    append(ring, "mes1");
    append(ring, "mes2");
    append(ring, "mes3");
    read_all(ring, text, sizeof text);
    CHECK_TEXT(text, "mes1,mes2,mes3,");
    append(ring, "mes4");
    read_all(ring, text, sizeof text);
    CHECK_TEXT(text, "mes2,mes3,mes4,");
    larder_ring_close(ring);

    ring = open_ring("refuse", capacity, 0);
    append(ring, "mes1");
    append(ring, "mes2");
    append(ring, "mes3");
    CHECK(larder_ring_append(ring, "mes4", 4, NULL) == LARDER_EFULL);
    uint64_t removed = 0;
    CHECK_OK(larder_ring_remove_through(ring, 1, &removed));
    CHECK(removed == 1);
    append(ring, "mes4");
    read_all(ring, text, sizeof text);
    CHECK_TEXT(text, "mes2,mes3,mes4,");
    char long_message[512] = {0};
    CHECK(larder_ring_append(ring, long_message, sizeof long_message, NULL) == LARDER_ETOOLARGE);
    larder_ring_close(ring);
}

static void batches_and_reservations_append_in_order(void) {
    larder_ring *ring = open_ring("batch", 8192, 0);
    larder_message messages[2];
    memset(messages, 0, sizeof messages);
    messages[0].payload.data = "first";
    messages[0].payload.length = 5;
    messages[1].payload.data = "second";
    messages[1].payload.length = 6;
    messages[1].flags = LARDER_MESSAGE_PARTIAL;
    size_t appended = 0;
    uint64_t last = 0;
    CHECK_OK(larder_ring_append_batch(ring, messages, 2, &appended, &last));
    CHECK(appended == 2 && last == 2);

    larder_reservation reservation;
    CHECK_OK(larder_ring_reserve(ring, 100, &reservation));
    CHECK(reservation.bytes != NULL && reservation.capacity >= 100);
    larder_ring_abort(ring, &reservation);
    CHECK_OK(larder_ring_reserve(ring, 100, &reservation));
    memcpy(reservation.bytes, "third", 5);
    CHECK_OK(larder_ring_commit(ring, &reservation, 5, 0, &last));
    CHECK(last == 3);
    char text[64];
    read_all(ring, text, sizeof text);
    CHECK_TEXT(text, "first,second,third,");
    larder_ring_close(ring);
}

static void a_named_cursor_goes_on_after_a_reopen(void) {
    larder_bytes name;
    name.data = "mailer";
    name.length = 6;
    larder_ring *ring = open_ring("cursors", 4096, 0);
    append(ring, "a");
    append(ring, "b");
    uint64_t sequence = 77;
    CHECK(larder_ring_acknowledged(ring, name, &sequence) == LARDER_ENOTFOUND);
    CHECK(sequence == 0);
    CHECK_OK(larder_ring_acknowledge(ring, name, 1));
    CHECK(larder_ring_acknowledge(ring, name, 3) == LARDER_EINVALID);
    larder_ring_close(ring);

    CHECK_OK(larder_ring_open(path_of("cursors"), NULL, NULL, &ring));
    CHECK_OK(larder_ring_acknowledged(ring, name, &sequence));
    CHECK(sequence == 1);
    larder_ring_cursor cursors[2];
    size_t count = 0;
    CHECK_OK(larder_ring_cursors(ring, cursors, 2, &count));
    CHECK(count == 1);
    CHECK_TEXT(cursors[0].name, "mailer");
    CHECK_OK(larder_ring_cursor_remove(ring, name));
    CHECK(larder_ring_cursor_remove(ring, name) == LARDER_ENOTFOUND);
    larder_ring_close(ring);
}

static void a_second_writer_is_refused_and_a_second_reader_is_not(void) {
    larder_ring *writer = open_ring("shared", 4096, 0);
    append(writer, "seen");
    larder_ring *second = writer;
    larder_ring_detail detail;
    CHECK(larder_ring_open(path_of("shared"), NULL, &detail, &second) == LARDER_EBUSY);
    CHECK(second == NULL);
    CHECK(detail.holder_pid == (int64_t)getpid());

    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = LARDER_RING_READ_ONLY;
    larder_ring *reader = NULL;
    CHECK_OK(larder_ring_open(path_of("shared"), &options, NULL, &reader));
    char text[64];
    read_all(reader, text, sizeof text);
    CHECK_TEXT(text, "seen,");
    CHECK(larder_ring_append(reader, "x", 1, NULL) == LARDER_EREADONLY);
    append(writer, "live");
    CHECK_OK(larder_ring_wait(reader, 1, -1));
    read_all(reader, text, sizeof text);
    CHECK_TEXT(text, "seen,live,");
    CHECK(larder_ring_wait(reader, 2, 0) == ETIMEDOUT);
    larder_ring_close(reader);

    CHECK_OK(larder_ring_shutdown(writer));
    CHECK(larder_ring_append(writer, "x", 1, NULL) == LARDER_ECLOSED);
    larder_ring_close(writer);
}

static void a_ring_can_grow_and_be_salvaged(void) {
    larder_ring *ring = open_ring("grow", 4096, 0);
    append(ring, "kept");
    larder_ring_close(ring);
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.capacity_bytes = 8192;
    CHECK_OK(larder_ring_resize(path_of("grow"), &options, NULL));

    char source[4096];
    snprintf(source, sizeof source, "%s", path_of("grow"));
    larder_ring_report report;
    CHECK_OK(larder_ring_salvage(source, path_of("saved"), NULL, NULL, NULL, &report));
    CHECK(report.intact == 1 && report.lost == 0);
    CHECK_OK(larder_ring_open(path_of("saved"), NULL, NULL, &ring));
    char text[64];
    read_all(ring, text, sizeof text);
    CHECK_TEXT(text, "kept,");
    larder_ring_statistics statistics;
    CHECK_OK(larder_ring_statistics_get(ring, &statistics));
    CHECK(statistics.capacity_bytes == 8192);
    larder_ring_close(ring);
}

static int64_t clock_at(void *context) { return *(const int64_t *)context; }

static void messages_are_found_and_removed_by_their_time(void) {
    int64_t now = 1000;
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.capacity_bytes = 4096;
    options.flags = LARDER_RING_OVERWRITE | LARDER_RING_KEEP_TIMES;
    options.clock = clock_at;
    options.clock_context = &now;
    larder_ring *ring = NULL;
    CHECK_OK(larder_ring_open(path_of("times"), &options, NULL, &ring));
    append(ring, "first");
    now = 2000;
    append(ring, "second");
    now = 1500; // Set back.
    append(ring, "third");
    now = 3000;
    append(ring, "fourth");

    larder_ring_reader *reader = NULL;
    CHECK_OK(larder_ring_reader_open(ring, 0, &reader));
    larder_ring_record record;
    CHECK_OK(larder_ring_reader_seek_time(reader, 1001));
    CHECK_OK(larder_ring_reader_next(reader, &record));
    CHECK(record.sequence == 2 && record.time_ns == 2000);
    CHECK(record.payload.length == 6 && memcmp(record.payload.data, "second", 6) == 0);
    CHECK_OK(larder_ring_reader_next(reader, &record));
    CHECK(record.sequence == 3 && record.time_ns == 2000);
    CHECK_OK(larder_ring_reader_seek_time(reader, 3001));
    CHECK(larder_ring_reader_next(reader, &record) == LARDER_END);
    larder_ring_reader_close(reader);

    uint64_t removed = 0;
    CHECK_OK(larder_ring_remove_before(ring, 3000, &removed));
    CHECK(removed == 3);
    larder_ring_statistics statistics;
    CHECK_OK(larder_ring_statistics_get(ring, &statistics));
    CHECK(statistics.oldest_time_ns == 3000 && statistics.newest_time_ns == 3000);
    CHECK(statistics.version == 3);
    CHECK(statistics.flags == (uint32_t)(LARDER_RING_OVERWRITE | LARDER_RING_KEEP_TIMES));
    larder_ring_close(ring);

    // What is too old goes with the next append.
    options.maximum_age_ns = 500;
    CHECK_OK(larder_ring_open(path_of("times"), &options, NULL, &ring));
    now = 3501;
    append(ring, "fifth");
    char text[64];
    read_all(ring, text, sizeof text);
    CHECK_TEXT(text, "fifth,");
    larder_ring_close(ring);
}

static void what_cannot_be_opened_is_an_error_and_leaves_nothing(void) {
    larder_ring_options options;
    larder_ring_options_init(&options);
    larder_ring *ring = NULL;
    options.flags = LARDER_RING_EXISTING;
    CHECK(larder_ring_open(path_of("missing"), &options, NULL, &ring) == ENOENT);
    CHECK(larder_ring_open(folder, &options, NULL, &ring) == EISDIR);
    const uint64_t too_small[] = {1, 63, larder_ring_minimum_capacity(8) - 1};
    for (size_t i = 0; i < sizeof too_small / sizeof too_small[0]; i++) {
        options.flags = 0;
        options.capacity_bytes = too_small[i];
        CHECK(larder_ring_open(path_of("small"), &options, NULL, &ring) == LARDER_EINVALID);
        CHECK(access(path_of("small"), F_OK) != 0);
    }
    FILE *file = fopen(path_of("foreign"), "w");
    CHECK(file != NULL);
    fprintf(file, "not a ring at all, but a file that somebody wants to keep\n");
    fclose(file);
    CHECK(larder_ring_open(path_of("foreign"), NULL, NULL, &ring) == LARDER_EFOREIGN);
    CHECK(ring == NULL);
    larder_ring_close(NULL);
}

static void checksums_and_frames_work(void) {
    CHECK(larder_crc32c(0, "123456789", 9) == 0xE3069283u);
    CHECK(larder_crc32c_portable(0, "123456789", 9) == 0xE3069283u);
    CHECK(strlen(larder_crc32c_implementation()) > 0);
    uint8_t frame[16];
    larder_bytes payload;
    payload.data = "payload";
    payload.length = 7;
    size_t written = 0;
    CHECK_OK(larder_frame_write(payload, frame, sizeof frame, &written));
    CHECK(written == larder_frame_size(7) && frame[0] == 7);
    size_t consumed = 0;
    larder_bytes back;
    CHECK_OK(larder_frame_read(frame, written, &back, &consumed));
    CHECK(back.length == 7 && consumed == written && memcmp(back.data, "payload", 7) == 0);
    CHECK(larder_frame_read(frame, written - 1, &back, &consumed) == LARDER_EINCOMPLETE);
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", LARDER_VERSION_MAJOR, LARDER_VERSION_MINOR,
             LARDER_VERSION_PATCH);
    CHECK_TEXT(larder_version(), version);
    CHECK_TEXT(LARDER_VERSION, version);
    CHECK(LARDER_VERSION_NUMBER == LARDER_VERSION_MINOR * 1000 + LARDER_VERSION_PATCH);
    CHECK_TEXT(larder_strerror(LARDER_OK), "success");
    CHECK(strcmp(larder_strerror(LARDER_EBUSY), larder_strerror(LARDER_EFULL)) != 0);
    CHECK_TEXT(larder_strerror(-1), "unknown status");
}

static size_t put_text(uint8_t *target, const char *text) {
    size_t length = strlen(text);
    size_t head = larder_cbor_write_head(target, LARDER_CBOR_TEXT, length);
    memcpy(target + head, text, length);
    return head + length;
}

/// Whether the text at `offset` is `text`.
static int is_text(const uint8_t *bytes, size_t length, size_t offset, const char *text) {
    larder_cbor_head head;
    return larder_cbor_read_head(bytes + offset, length - offset, &head) &&
           head.major == LARDER_CBOR_TEXT && head.argument == strlen(text) &&
           memcmp(bytes + offset + head.length, text, strlen(text)) == 0;
}

static void a_map_is_written_and_read_as_cbor(void) {
    // {"id": 1000000, "ratio": 0.5, "tags": ["a", "b"]}
    static const uint8_t wanted[] = {0xa3, 0x62, 'i', 'd',  0x1a, 0x00, 0x0f, 0x42, 0x40, 0x65,
                                     'r',  'a',  't', 'i',  'o',  0xf9, 0x38, 0x00, 0x64, 't',
                                     'a',  'g',  's', 0x82, 0x61, 'a',  0x61, 'b'};
    uint8_t bytes[64];
    size_t used = larder_cbor_write_head(bytes, LARDER_CBOR_MAP, 3);
    used += put_text(bytes + used, "id");
    used += larder_cbor_write_head(bytes + used, LARDER_CBOR_UNSIGNED, 1000000);
    used += put_text(bytes + used, "ratio");
    used += larder_cbor_write_float(bytes + used, 0.5);
    used += put_text(bytes + used, "tags");
    used += larder_cbor_write_head(bytes + used, LARDER_CBOR_ARRAY, 2);
    used += put_text(bytes + used, "a");
    used += put_text(bytes + used, "b");
    CHECK(used == sizeof wanted && memcmp(bytes, wanted, used) == 0);

    larder_cbor_detail detail;
    CHECK_OK(larder_cbor_check(bytes, used, 2, &detail));
    CHECK(detail.fault == LARDER_CBOR_GOOD);
    larder_cbor_pair pairs[4], first, second;
    size_t count = 0, end = 0;
    CHECK_OK(larder_cbor_map_pairs(bytes, used, 0, pairs, 4, &count, &end));
    CHECK(count == 3 && end == used);
    CHECK(larder_cbor_find_duplicate(bytes, used, 1, 3, &first, &second) == LARDER_END);
    CHECK(is_text(bytes, used, pairs[0].key, "id"));
    CHECK(is_text(bytes, used, pairs[1].key, "ratio"));
    CHECK(is_text(bytes, used, pairs[2].key, "tags"));
    larder_cbor_head head;
    CHECK(larder_cbor_read_head(bytes + pairs[0].value, used - pairs[0].value, &head));
    CHECK(head.major == LARDER_CBOR_UNSIGNED && head.argument == 1000000);
    CHECK(larder_cbor_read_head(bytes + pairs[1].value, used - pairs[1].value, &head));
    CHECK(head.info == LARDER_CBOR_INFO_HALF);
    CHECK(larder_cbor_half_value((uint16_t)head.argument) == 0.5);
    CHECK_OK(larder_cbor_skip(bytes, used, pairs[2].value, &end));
    CHECK(end == used);

    CHECK(larder_cbor_check(bytes, used, 1, &detail) == LARDER_ETOOLARGE);
    CHECK(detail.fault == LARDER_CBOR_TOO_DEEP && detail.offset == pairs[2].value);
    CHECK(larder_cbor_check(bytes, used - 1, 2, &detail) == LARDER_EINCOMPLETE);
    bytes[used - 1] = 0xff;
    CHECK(larder_cbor_check(bytes, used, 2, &detail) == LARDER_EDAMAGED);
    CHECK_TEXT(larder_cbor_fault_text(detail.fault), "text is not valid UTF-8");
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: %s FOLDER      (an empty folder to work in)\n", arguments[0]);
        return 64;
    }
    folder = arguments[1];
    RUN(checksums_and_frames_work);
    RUN(a_map_is_written_and_read_as_cbor);
    RUN(appended_messages_are_read_back_after_a_reopen);
    RUN(a_reader_goes_both_ways_and_seeks);
    RUN(a_full_ring_of_n_equal_messages_holds_n);
    RUN(batches_and_reservations_append_in_order);
    RUN(a_named_cursor_goes_on_after_a_reopen);
    RUN(a_second_writer_is_refused_and_a_second_reader_is_not);
    RUN(a_ring_can_grow_and_be_salvaged);
    RUN(messages_are_found_and_removed_by_their_time);
    RUN(what_cannot_be_opened_is_an_error_and_leaves_nothing);
    return check_summary();
}
