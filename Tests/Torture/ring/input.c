// SPDX-License-Identifier: MIT
// What no caller should pass and no path should name. Nothing may crash, and every answer is a
// status that says what was wrong.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "torture.h"

static larder_status open_with(const char *path, uint64_t capacity, uint32_t flags) {
    larder_ring_options options = ring_options(capacity, flags);
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    if (status != LARDER_OK && ring) {
        abort(); // On failure there is nothing to close.
    }
    larder_ring_close(ring);
    return status;
}

static void capacities(torture *run, const char *path) {
    static const uint64_t wrong[] = {1,
                                     7,
                                     8,
                                     63,
                                     64,
                                     255,
                                     256,
                                     ((uint64_t)1 << 40) + 1,
                                     ((uint64_t)1 << 40) + 8,
                                     (uint64_t)1 << 63,
                                     UINT64_MAX - 7,
                                     UINT64_MAX};
    uint64_t least = larder_ring_minimum_capacity(LARDER_RING_DEFAULT_CURSOR_SLOTS);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        torture_trial(run);
        torture_note(run, "capacity %" PRIu64, wrong[i]);
        EXPECT_STATUS(run, open_with(path, wrong[i], 0), LARDER_EINVALID);
        EXPECT(run, size_of_file(path) < 0, "capacity %" PRIu64 " left a file", wrong[i]);
        (void)unlink(path);
    }
    larder_ring_options options = ring_options(least - 1, 0);
    larder_ring_detail detail;
    larder_ring *ring = NULL;
    torture_trial(run);
    EXPECT_STATUS(run, larder_ring_open(path, &options, &detail, &ring), LARDER_EINVALID);
    EXPECT(run, detail.capacity_bytes == least,
           "the smallest is said to be %" PRIu64 ", and is %" PRIu64, detail.capacity_bytes, least);
    for (uint64_t capacity = least; capacity < least + 80; capacity++) {
        torture_trial(run);
        torture_note(run, "capacity %" PRIu64, capacity);
        options.capacity_bytes = capacity;
        options.flags = capacity % 2 ? LARDER_RING_OVERWRITE : 0;
        larder_ring_statistics figures;
        if (EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK)) {
            EXPECT_STATUS(run, larder_ring_append(ring, NULL, 0, NULL), LARDER_OK);
            EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK);
            EXPECT(run, figures.capacity_bytes == capacity && figures.count == 1,
                   "capacity %" PRIu64 " and count %" PRIu64, figures.capacity_bytes,
                   figures.count);
        }
        larder_ring_close(ring);
        EXPECT_STATUS(run, open_with(path, 0, 0), LARDER_OK);
        (void)unlink(path);
    }
    // 1 TiB is allowed, and more than there is.
    torture_trial(run);
    larder_status huge = open_with(path, (uint64_t)1 << 40, 0);
    EXPECT(run, huge == ENOSPC || huge == EFBIG || huge == LARDER_OK, "1 TiB gave %d", huge);
    (void)unlink(path);
    torture_trial(run);
    options = ring_options(65536, 0);
    options.cursor_slots = LARDER_RING_CURSOR_SLOTS_MAX + 1;
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_EINVALID);
    options.cursor_slots = UINT32_MAX;
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_EINVALID);
    torture_trial(run);
    EXPECT_STATUS(run, open_with(path, 65536, 1u << 31), LARDER_EINVALID);
    EXPECT_STATUS(run, open_with(path, 65536, 1u << 5), LARDER_EINVALID);
    EXPECT_STATUS(run, open_with(path, 65536, LARDER_RING_EXISTING), ENOENT);
    EXPECT_STATUS(run, open_with(path, 0, LARDER_RING_READ_ONLY), ENOENT);
    EXPECT(run, size_of_file(path) < 0, "a file was left");
}

static void sizes_of_count(torture *run, const char *path) {
    static const size_t lengths[] = {0, 1, 7, 8, 9, 15, 16, 17, 100, 1000, 4080, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (uint64_t count = 1; count < 40; count += 1 + count / 3) {
            torture_trial(run);
            torture_note(run, "%" PRIu64 " messages of %zu bytes", count, lengths[i]);
            uint8_t bytes[4096] = {0};
            larder_ring_options options =
                ring_options(larder_ring_capacity_for(count, lengths[i], 3), 0);
            options.cursor_slots = 3;
            larder_ring *ring = NULL;
            if (!EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK)) {
                continue;
            }
            // Full, emptied by one and full again, at every place in the ring.
            uint64_t sequence = 0;
            for (uint64_t k = 0; k < count; k++) {
                EXPECT_STATUS(run, larder_ring_append(ring, bytes, lengths[i], &sequence),
                              LARDER_OK);
            }
            for (uint64_t k = 0; k < count + 2; k++) {
                EXPECT_STATUS(run, larder_ring_append(ring, bytes, lengths[i], NULL), LARDER_EFULL);
                EXPECT_STATUS(run, larder_ring_remove_through(ring, k + 1, NULL), LARDER_OK);
                EXPECT_STATUS(run, larder_ring_append(ring, bytes, lengths[i], &sequence),
                              LARDER_OK);
                EXPECT(run, sequence == count + k + 1, "number %" PRIu64, sequence);
            }
            larder_ring_report report;
            EXPECT_STATUS(run, larder_ring_check(ring, &report), LARDER_OK);
            EXPECT(run, report.intact == count, "%" PRIu64 " messages of %" PRIu64, report.intact,
                   count);
            larder_ring_close(ring);
            (void)unlink(path);
        }
    }
    torture_trial(run);
    EXPECT(run, larder_ring_capacity_for(UINT64_MAX, 8, 8) == 0, "a capacity overflows");
    EXPECT(run, larder_ring_capacity_for(1, SIZE_MAX, 8) == 0, "a capacity overflows");
    EXPECT(run, larder_ring_capacity_for(UINT64_MAX / 24, 8, 8) == 0, "a capacity overflows");
    EXPECT(run, larder_ring_capacity_for(1, 8, UINT32_MAX) == 0, "too many slots have a capacity");
}

static void messages(torture *run, const char *path) {
    larder_ring_options options = ring_options(8192, LARDER_RING_OVERWRITE);
    larder_ring *ring = NULL;
    torture_trial(run);
    if (!EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK)) {
        return;
    }
    static const size_t huge[] = {8192,       0x7FFFEFFF, 0x7FFFF000,   0x7FFFF001,   0x7FFFFFFF,
                                  0x80000000, 0xFFFFFFFF, SIZE_MAX / 2, SIZE_MAX - 8, SIZE_MAX};
    uint64_t kept = 0;
    EXPECT_STATUS(run, larder_ring_append(ring, "kept", 4, &kept), LARDER_OK);
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        torture_trial(run);
        torture_note(run, "a message of %zu bytes", huge[i]);
        uint64_t sequence = 7;
        larder_reservation room = {0};
        // Too large is found before a byte is read: a short array stands for 2 GiB.
        EXPECT_STATUS(run, larder_ring_append(ring, path, huge[i], &sequence), LARDER_ETOOLARGE);
        EXPECT(run, sequence == 0, "a failed append gave number %" PRIu64, sequence);
        EXPECT_STATUS(run, larder_ring_reserve(ring, huge[i], &room), LARDER_ETOOLARGE);
        larder_message pair[2] = {{bytes_of("y", 1), 0}, {bytes_of(path, huge[i]), 0}};
        size_t done = 9;
        EXPECT_STATUS(run, larder_ring_append_batch(ring, pair, 2, &done, &sequence),
                      LARDER_ETOOLARGE);
        EXPECT(run, done == 1 && sequence == kept + 1 + i, "a batch appended %zu", done);
    }
    torture_trial(run);
    larder_reservation room = {0};
    EXPECT_STATUS(run, larder_ring_commit(ring, &room, 0, 0, NULL), LARDER_EINVALID);
    EXPECT_STATUS(run, larder_ring_reserve(ring, 10, &room), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_commit(ring, &room, room.capacity + 1, 0, NULL),
                  LARDER_EINVALID);
    EXPECT_STATUS(run, larder_ring_commit(ring, &room, 0, 0, NULL), LARDER_OK);
    larder_ring_abort(ring, &room);
    EXPECT_STATUS(run, larder_ring_append_batch(ring, NULL, 0, NULL, NULL), LARDER_OK);
    torture_trial(run);
    uint64_t removed = 0;
    larder_ring_statistics figures;
    EXPECT_STATUS(run, larder_ring_remove_through(ring, 0, &removed), LARDER_OK);
    EXPECT(run, removed == 0, "%" PRIu64 " were removed through 0", removed);
    EXPECT_STATUS(run, larder_ring_remove_through(ring, UINT64_MAX, &removed), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_statistics_get(ring, &figures), LARDER_OK);
    EXPECT(run, figures.count == 0 && removed > 0, "%" PRIu64 " messages are left", figures.count);
    EXPECT_STATUS(run, larder_ring_remove_through(ring, UINT64_MAX, &removed), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_sync_through(ring, UINT64_MAX), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_wait(ring, figures.next_sequence, 0), ETIMEDOUT);
    larder_ring_close(ring);
    (void)unlink(path);
}

static void names(torture *run, const char *path) {
    larder_ring_options options = ring_options(8192, 0);
    options.cursor_slots = 2;
    larder_ring *ring = NULL;
    torture_trial(run);
    if (!EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK)) {
        return;
    }
    static const uint8_t odd[33] = {0, 0xFF, 0xFE, '/', '.', '.', '/', 0x80, '\n'};
    uint64_t found = 0, sequence = 0;
    EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, &sequence), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(NULL, 0), 1), LARDER_EINVALID);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 33), 1), LARDER_EINVALID);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, SIZE_MAX), 1), LARDER_EINVALID);
    EXPECT_STATUS(run, larder_ring_acknowledged(ring, bytes_of(odd, 33), &found), LARDER_EINVALID);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 32), 2), LARDER_EINVALID);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 32), UINT64_MAX),
                  LARDER_EINVALID);
    torture_trial(run);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 32), 1), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 1), 1), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 2), 1), LARDER_ENOSLOT);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 1), 0), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_acknowledged(ring, bytes_of(odd, 1), &found), LARDER_OK);
    EXPECT(run, found == 1, "a place moved back to %" PRIu64, found);
    EXPECT_STATUS(run, larder_ring_acknowledged(ring, bytes_of(odd, 2), &found), LARDER_ENOTFOUND);
    EXPECT_STATUS(run, larder_ring_cursor_remove(ring, bytes_of(odd, 2)), LARDER_ENOTFOUND);
    EXPECT_STATUS(run, larder_ring_cursor_remove(ring, bytes_of(odd, 1)), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_acknowledge(ring, bytes_of(odd, 2), 1), LARDER_OK);
    larder_ring_cursor one;
    size_t count = 0;
    EXPECT_STATUS(run, larder_ring_cursors(ring, &one, 1, &count), LARDER_OK);
    EXPECT(run, count == 2, "%zu cursors", count);
    EXPECT_STATUS(run, larder_ring_cursors(ring, NULL, 0, &count), LARDER_OK);
    larder_ring_close(ring);
    (void)unlink(path);
}

static void kinds_of_file(torture *run, const char *path) {
    const char *other = torture_path(run, "other");
    torture_trial(run);
    larder_status nothing = open_with("", 65536, 0);
    EXPECT(run, nothing == ENOENT || nothing == LARDER_EINVALID, "an empty path gave %d", nothing);
    EXPECT_STATUS(run, open_with(path, 0, 0), ENOENT); // 0 takes a file as it is.
    EXPECT_STATUS(run, open_with(run->directory, 65536, 0), EISDIR);
    larder_status reading = open_with(run->directory, 0, LARDER_RING_READ_ONLY);
    EXPECT(run, reading == EISDIR, "reading a folder gave %d", reading);
    torture_trial(run);
    EXPECT_STATUS(run, open_with(other, 65536, 0), LARDER_OK);
    EXPECT(run, symlink(other, path) == 0, "cannot make a link");
    EXPECT_STATUS(run, open_with(path, 65536, 0), ELOOP);
    EXPECT_STATUS(run, open_with(path, 0, LARDER_RING_READ_ONLY), ELOOP);
    (void)unlink(path);
    EXPECT(run, symlink("nowhere", path) == 0, "cannot make a link");
    EXPECT_STATUS(run, open_with(path, 65536, 0), ELOOP);
    (void)unlink(path);
    torture_trial(run);
    torture_note(run, "a FIFO");
    EXPECT(run, mkfifo(path, 0600) == 0, "cannot make a FIFO");
    EXPECT_STATUS(run, open_with(path, 65536, 0), LARDER_EFOREIGN);
    larder_status fifo = open_with(path, 0, LARDER_RING_READ_ONLY);
    EXPECT(run, fifo == LARDER_EFOREIGN, "reading a FIFO gave %d", fifo);
    (void)unlink(path);
    torture_trial(run);
    torture_note(run, "a device");
    larder_status device = open_with("/dev/null", 65536, 0);
    EXPECT(run, device == LARDER_EFOREIGN || device == EACCES, "/dev/null gave %d", device);
    char long_name[5000];
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    EXPECT_STATUS(run, open_with(long_name, 65536, 0), ENAMETOOLONG);
    (void)unlink(other);
}

static void foreign(torture *run, const char *path) {
    static uint8_t bytes[70000], after[70000];
    const char *target = torture_path(run, "target");
    static const size_t sizes[] = {1, 8, 63, 64, 65, 255, 256, 4096, 65536, 70000};
    larder_ring_report report;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned kind = 0; kind < 3; kind++) {
            torture_trial(run);
            torture_note(run, "a foreign file of %zu bytes, kind %u", sizes[i], kind);
            message_fill(sizes[i] + kind, bytes, sizes[i]);
            if (kind == 1) {
                memset(bytes, 'a', sizes[i]);
            }
            if (kind == 2) { // A file that only begins like a ring.
                memcpy(bytes, "LARDRING", sizes[i] < 8 ? sizes[i] : 8);
            }
            write_file(path, bytes, sizes[i]);
            larder_status writing = open_with(path, 65536, 0);
            larder_status reading = open_with(path, 0, LARDER_RING_READ_ONLY);
            larder_status salvage = larder_ring_salvage(path, target, NULL, NULL, NULL, &report);
            EXPECT(run, writing == LARDER_EFOREIGN || (kind == 2 && writing == LARDER_EDAMAGED),
                   "opening gave %d", writing);
            EXPECT(run, reading == LARDER_EFOREIGN || (kind == 2 && reading == LARDER_EDAMAGED),
                   "reading gave %d", reading);
            EXPECT(run, salvage == LARDER_EFOREIGN || (kind == 2 && salvage == LARDER_EDAMAGED),
                   "salvage gave %d", salvage);
            EXPECT(run, size_of_file(target) < 0, "a failed salvage left its target");
            EXPECT(run,
                   read_file(path, after, sizeof after) == (int64_t)sizes[i] &&
                       memcmp(bytes, after, sizes[i]) == 0,
                   "a foreign file of %zu bytes was changed", sizes[i]);
        }
    }
    (void)unlink(path);
}

static void versions_and_mismatches(torture *run, const char *path) {
    static uint8_t bytes[8192], after[8192];
    larder_ring_options options = ring_options(8192, LARDER_RING_OVERWRITE);
    options.content_format = 0x6E6F736A;
    larder_ring *ring = NULL;
    larder_ring_detail detail;
    torture_trial(run);
    EXPECT_STATUS(run, larder_ring_open(path, &options, NULL, &ring), LARDER_OK);
    EXPECT_STATUS(run, larder_ring_append(ring, "x", 1, NULL), LARDER_OK);
    larder_ring_close(ring);
    larder_ring_options other = options;
    other.capacity_bytes = 16384;
    EXPECT_STATUS(run, larder_ring_open(path, &other, &detail, &ring), LARDER_EMISMATCH);
    EXPECT(run,
           detail.capacity_bytes == 8192 && detail.flags == LARDER_RING_OVERWRITE &&
               detail.content_format == options.content_format,
           "the detail has capacity %" PRIu64 " and flags %u", detail.capacity_bytes, detail.flags);
    other = options;
    other.flags = 0;
    EXPECT_STATUS(run, larder_ring_open(path, &other, &detail, &ring), LARDER_EMISMATCH);
    other = options;
    other.content_format++;
    EXPECT_STATUS(run, larder_ring_open(path, &other, &detail, &ring), LARDER_EMISMATCH);
    other.content_format = 0;
    EXPECT_STATUS(run, larder_ring_open(path, &other, &detail, &ring), LARDER_OK);
    larder_ring_close(ring);
    EXPECT_STATUS(run, open_with(path, 0, 0), LARDER_OK);
    // A later version, in a header that is intact in both places.
    torture_trial(run);
    read_file(path, bytes, sizeof bytes);
    uint32_t version = 4;
    memcpy(bytes + 8, &version, 4);
    uint32_t crc = larder_crc32c(0, bytes, 60);
    memcpy(bytes + 60, &crc, 4);
    memcpy(bytes + sizeof bytes - 64, bytes, 64);
    write_file(path, bytes, sizeof bytes);
    EXPECT_STATUS(run, larder_ring_open(path, NULL, &detail, &ring), LARDER_EVERSION);
    EXPECT(run, detail.version == 4, "the version is said to be %u", detail.version);
    EXPECT_STATUS(run, open_with(path, 8192, LARDER_RING_OVERWRITE), LARDER_EVERSION);
    EXPECT_STATUS(run, open_with(path, 0, LARDER_RING_READ_ONLY), LARDER_EVERSION);
    EXPECT(run, read_file(path, after, sizeof after) == 8192 && memcmp(bytes, after, 8192) == 0,
           "a file of a later version was changed");
    (void)unlink(path);
}

static void all_inputs(torture *run, void *context) {
    const char *path = context;
    capacities(run, path);
    sizes_of_count(run, path);
    messages(run, path);
    names(run, path);
    kinds_of_file(run, path);
    foreign(run, path);
    versions_and_mismatches(run, path);
}

void family_input(torture *run) {
    rng random;
    char path[640];
    snprintf(path, sizeof path, "%s/ring", run->directory);
    if (torture_next_case(run, &random)) {
        torture_guard(run, 60, all_inputs, path);
    }
}
