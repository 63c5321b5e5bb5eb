// SPDX-License-Identifier: MIT
// What a program does that logs one message and ends. first_call.sh looks at its system calls
// between the marks: none may wait for the device or write more than a page.
#include <larder_ring.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

static void mark(const char *text) {
    MUST(write(STDOUT_FILENO, text, strlen(text)) == (ssize_t)strlen(text));
}

int main(int count, char **values) {
    MUST(count == 3);
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.capacity_bytes = (uint64_t)1 << 20;
    options.flags = LARDER_RING_OVERWRITE;
    options.sync_interval_ns = 1000000000;
    larder_ring *ring = NULL;
    mark("begin\n");
    MUST(larder_ring_open(values[1], &options, NULL, &ring) == LARDER_OK);
    MUST(larder_ring_append(ring, "a message", 9, NULL) == LARDER_OK);
    if (strcmp(values[2], "close") == 0) {
        MUST(larder_ring_shutdown_unsynced(ring) == LARDER_OK);
        larder_ring_close(ring);
    }
    mark("end\n");
    // "exit" leaves the ring open, as a program does that is killed.
    _exit(0);
}
