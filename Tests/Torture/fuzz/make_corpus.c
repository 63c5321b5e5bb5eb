// SPDX-License-Identifier: MIT
// Writes the seeds of the fuzzers: small rings in every state worth starting from.
#include "make_corpus.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "larder.h"
#ifdef __clang__
#pragma clang diagnostic ignored "-Wnullability-completeness"
#endif
#include "larder_os_faults.h"
#include "larder_os_file.h"
#include "larder_os_machine.h"

static void fail(const char *what, larder_status status) {
    fprintf(stderr, "make-corpus: %s: %s\n", what, larder_strerror(status));
    exit(1);
}

static void make_ring(const char *folder, const char *name, uint32_t flags, unsigned messages,
                      size_t longest, unsigned removed, int stays_open) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = flags;
    options.cursor_slots = 2;
    options.capacity_bytes = 1024;
    larder_ring *ring = NULL;
    larder_status status = larder_ring_open(path, &options, NULL, &ring);
    if (status) {
        fail(path, status);
    }
    char text[256];
    memset(text, 'x', sizeof text);
    uint64_t sequence = 0;
    for (unsigned i = 0; i < messages && status == LARDER_OK; i++) {
        size_t length = (i * 7u) % (longest + 1);
        larder_message message = {{text, length}, i % 3 ? 0 : (uint32_t)LARDER_MESSAGE_PARTIAL};
        status = larder_ring_append_batch(ring, &message, 1, NULL, &sequence);
    }
    if (sequence && larder_ring_acknowledge(ring, (larder_bytes){"reader", 6}, 1)) {
        fail("acknowledge", LARDER_EINVALID);
    }
    if (removed && larder_ring_remove_through(ring, removed, NULL)) {
        fail("remove", LARDER_EINVALID);
    }
    if (stays_open) {
        _exit(0);
    }
    larder_ring_close(ring);
}

static void make_open_ring(const char *folder, const char *name, uint32_t flags,
                           unsigned messages) {
    pid_t child = fork();
    if (child == 0) {
        make_ring(folder, name, flags, messages, 60, 0, 1);
    }
    waitpid(child, NULL, 0);
}

void write_bytes(const char *folder, const char *name, const void *bytes, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) {
        fail(path, LARDER_EINVALID);
    }
}

int main(int count, char **values) {
    if (count != 2) {
        fputs("Usage: make-corpus FOLDER\n", stderr);
        return 64;
    }
    char rings[400], frames[400];
    // No trace of the machine in what is committed.
    larder_fault_boot_id((const uint8_t *)"0123456789abcdef");
    snprintf(rings, sizeof rings, "%s/corpus-ring", values[1]);
    snprintf(frames, sizeof frames, "%s/corpus-frame", values[1]);
    mkdir(rings, 0777);
    mkdir(frames, 0777);
    make_ring(rings, "empty", 0, 0, 0, 0, 0);
    make_ring(rings, "one-empty-message", 0, 1, 0, 0, 0);
    make_ring(rings, "half-full", 0, 8, 30, 0, 0);
    make_ring(rings, "full", 0, 1000, 40, 0, 0);
    make_ring(rings, "removed", 0, 10, 30, 4, 0);
    make_ring(rings, "all-removed", 0, 10, 30, 10, 0);
    make_ring(rings, "wrapped", LARDER_RING_OVERWRITE, 75, 60, 0, 0);
    make_ring(rings, "long-messages", LARDER_RING_OVERWRITE, 40, 200, 0, 0);
    make_open_ring(rings, "unclean", 0, 9);
    make_open_ring(rings, "unclean-wrapped", LARDER_RING_OVERWRITE, 90);

    write_bytes(frames, "varint-0", "\x00", 1);
    write_bytes(frames, "varint-300", "\xAC\x02", 2);
    write_bytes(frames, "varint-max", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 10);
    write_bytes(frames, "varint-long", "\x80\x80\x00", 3);
    write_bytes(frames, "frame-empty", "\x00", 1);
    write_bytes(frames, "frame-text", "\x05hello", 6);
    write_bytes(frames, "frame-cut", "\x20hello", 6);
    make_cbor_corpus(values[1]);
    make_store_fixtures(values[1]);
    return 0;
}
