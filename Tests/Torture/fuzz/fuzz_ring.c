// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as a ring file, opened for reading and for writing, read both
// ways, checked, appended to, salvaged. Nothing may crash, hang or read out of bounds, and
// what recovery keeps must be sound.
//
// Random bytes never get past a checksum, so the mutator repairs the checksums of header, state and
// records in most of what it makes.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "larder.h"
#include "ring/layout.h"

int LLVMFuzzerInitialize(int *count, char ***values);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/** As `make fuzz` limits the inputs. */
enum { FUZZ_MAX_BYTES = 8192 };

static char path[128], target[128];

int LLVMFuzzerInitialize(int *count, char ***values) {
    (void)count;
    (void)values;
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof path, "%s/larder-fuzz-%d", folder, (int)getpid());
    snprintf(target, sizeof target, "%s/larder-fuzz-%d-salvaged", folder, (int)getpid());
    return 0;
}

static void violated(const char *condition, int line) {
    fprintf(stderr, "line %d: does not hold: %s\n", line, condition);
    unlink(path);
    unlink(target);
    abort();
}

#define HOLD(condition) ((condition) ? (void)0 : violated(#condition, __LINE__))

/** Reads everything. @return how many messages there are. */
static uint64_t read_all(larder_ring *ring) {
    larder_ring_reader *reader = NULL;
    HOLD(larder_ring_reader_open(ring, 0, &reader) == LARDER_OK);
    larder_ring_record record;
    larder_status status;
    uint64_t forwards = 0, backwards = 0, previous = 0, sum = 0;
    while ((status = larder_ring_reader_next(reader, &record)) == LARDER_OK) {
        HOLD(record.sequence > previous);
        previous = record.sequence;
        forwards++;
        for (size_t i = 0; i < record.payload.length; i += 64) {
            sum += ((const uint8_t *)record.payload.data)[i];
        }
    }
    HOLD(status == LARDER_END);
    while ((status = larder_ring_reader_previous(reader, &record)) == LARDER_OK) {
        backwards++;
    }
    // Numbers out of order, with checksums that agree, are skipped by the one and not by the other.
    HOLD(status == LARDER_END && backwards <= FUZZ_MAX_BYTES / 16 && sum != UINT64_MAX);
    HOLD(larder_ring_reader_seek(reader, previous / 2) == LARDER_OK);
    status = larder_ring_reader_next(reader, &record);
    HOLD(status == LARDER_OK || status == LARDER_END);
    larder_ring_reader_close(reader);
    return forwards;
}

static void use_for_writing(void) {
    larder_ring *ring = NULL;
    if (larder_ring_open(path, NULL, NULL, &ring) != LARDER_OK) {
        return;
    }
    read_all(ring);
    larder_ring_report report;
    (void)!larder_ring_check(ring, &report);
    larder_ring_statistics before, after;
    HOLD(larder_ring_statistics_get(ring, &before) == LARDER_OK);
    uint64_t sequence = 0;
    for (size_t length = 0; length < 40; length += 13) {
        larder_status status = larder_ring_append(ring, path, length, &sequence);
        HOLD(status == LARDER_OK || status == LARDER_EFULL || status == LARDER_ETOOLARGE);
        HOLD(status != LARDER_OK || sequence >= before.next_sequence);
    }
    (void)!larder_ring_acknowledge(ring, (larder_bytes){"fuzz", 4}, sequence);
    HOLD(larder_ring_remove_through(ring, before.oldest_sequence, NULL) == LARDER_OK);
    HOLD(larder_ring_statistics_get(ring, &after) == LARDER_OK);
    HOLD(after.used_bytes <= after.data_bytes);
    read_all(ring);
    larder_ring_close(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unlink(path);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    HOLD(file >= 0 && write(file, data, size) == (ssize_t)size);
    close(file);
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = LARDER_RING_READ_ONLY;
    larder_ring *ring = NULL;
    larder_ring_report report;
    if (larder_ring_open(path, &options, NULL, &ring) == LARDER_OK) {
        read_all(ring);
        (void)!larder_ring_check(ring, &report);
        larder_ring_close(ring);
    }
    unlink(target);
    if (larder_ring_salvage(path, target, NULL, NULL, NULL, &report) == LARDER_OK) {
        HOLD(larder_ring_open(target, NULL, NULL, &ring) == LARDER_OK);
        HOLD(read_all(ring) == report.intact);
        HOLD(larder_ring_check(ring, &report) == LARDER_OK);
        larder_ring_close(ring);
        unlink(target);
    }
    use_for_writing();
    unlink(path);
    return 0;
}

// Mutation ----------------------------------------------------------------------------------------

/** Gives what looks like a record at `position` the checksum it would have. */
static uint64_t repair_record(uint8_t *bytes, uint64_t position, uint64_t data_bytes,
                              uint32_t salt) {
    record_head head;
    memcpy(&head, bytes + position, sizeof head);
    if (!record_is_plausible(head, position, data_bytes)) {
        return 8;
    }
    bool is_pad = head.word == RECORD_PAD;
    size_t length = is_pad ? 0 : record_length(head.word);
    uint32_t crc = larder_crc32c(salt, bytes + position + RING_HEAD_BYTES, length);
    head.crc = record_crc(crc, head.word, position, head.tag);
    memcpy(bytes + position, &head, sizeof head);
    return is_pad ? data_bytes - position : record_bytes(length);
}

static void repair(uint8_t *data, size_t size, unsigned what) {
    ring_fixed fixed;
    if (size < RING_HEADER_BYTES + RING_FIXED_BYTES) {
        return;
    }
    memcpy(&fixed, data, sizeof fixed);
    memcpy(fixed.magic, RING_MAGIC, 8);
    if (what & 1) {
        fixed.version = what & 16 ? RING_VERSION_TIMES : RING_VERSION;
        fixed.capacity_bytes = size;
    }
    fixed.crc = larder_crc32c(0, &fixed, offsetof(ring_fixed, crc));
    memcpy(data, &fixed, sizeof fixed);
    if (what & 2) {
        memcpy(data + size - sizeof fixed, &fixed, sizeof fixed);
    }
    bool fits = fixed.data_offset <= size && fixed.data_bytes <= size - fixed.data_offset;
    if ((what & 4) && fits && fixed.data_offset % 8 == 0) {
        uint8_t *records = data + fixed.data_offset;
        for (uint64_t position = 0;
             position <= fixed.data_bytes && fixed.data_bytes - position >= RING_HEAD_BYTES;) {
            position += repair_record(records, position, fixed.data_bytes, fixed.salt);
        }
    }
    if (what & 8) {
        ring_header header;
        memcpy(&header, data, sizeof header);
        atomic_store(&header.state.closed_crc, larder_ring_closed_crc(&header));
        memcpy(data, &header, sizeof header);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, capacity);
    if (seed % 8) {
        repair(data, size, seed >> 3);
    }
    return size;
}
