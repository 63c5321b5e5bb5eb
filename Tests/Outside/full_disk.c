// SPDX-License-Identifier: MIT
// Written from the documentation alone: a store fills its disk, and is emptied by what a program
// would call. The folder lies on a small disk with nothing else on it.
// usage: full_disk FOLDER BYTES prefix|cursor|process
//   prefix   removes by prefix
//   cursor   removes what a cursor of its own lists
//   process  removes while another process, which ends later, has a cursor open
#include <larder_store.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { VALUE_MOST = 4096 };

static int failures;

static larder_status expect(larder_status status, const char *what) {
    if (status) {
        printf("%s: %s\n", what, larder_strerror(status));
        failures++;
    }
    return status;
}

/** Every other key begins with "a". */
static larder_bytes key_of(unsigned number) {
    static char text[32];
    int length = snprintf(text, sizeof text, "%c%07u", "ab"[number % 2], number);
    return (larder_bytes){text, (size_t)length};
}

static larder_status put(larder_store *store, unsigned number, size_t bytes) {
    static const char value[VALUE_MOST];
    larder_store_item item;
    larder_store_item_init(&item, key_of(number), (larder_bytes){value, bytes});
    return larder_store_put(store, &item, NULL);
}

static larder_store_cursor *list(larder_store *store) {
    larder_store_query every;
    larder_store_cursor *cursor = NULL;
    larder_store_query_init(&every);
    expect(larder_store_cursor_open(store, &every, &cursor), "a cursor");
    return cursor;
}

/** Removals may find no room as long as the cursor is open. */
static void remove_what_is_listed(larder_store *store) {
    larder_store_entry entry;
    larder_store_cursor *cursor = list(store);
    while (cursor && larder_store_cursor_next(cursor, &entry) == LARDER_OK)
        if (larder_store_remove(store, entry.key, 0) != LARDER_OK) break;
    larder_store_cursor_close(cursor);
}

static pid_t look_elsewhere(const char *path) {
    int begun[2];
    char byte = 0;
    if (pipe(begun)) return -1;
    pid_t child = fork();
    if (child == 0) {
        larder_store *store;
        larder_store_options options;
        larder_store_options_init(&options);
        options.flags = LARDER_STORE_READ_ONLY;
        if (larder_store_open(path, &options, NULL, &store) || !list(store)) _exit(1);
        if (write(begun[1], &byte, 1) != 1) _exit(1);
        pause();
        _exit(0);
    }
    close(begun[1]);
    if (read(begun[0], &byte, 1) != 1) failures++;
    close(begun[0]);
    return child;
}

static void remove_beside(larder_store *store, const char *path, unsigned count) {
    pid_t child = look_elsewhere(path);
    for (unsigned number = 0; number < count; number++)
        if (larder_store_remove(store, key_of(number), 0) != LARDER_OK) break;
    if (child > 0) {
        (void)kill(child, SIGTERM);
        (void)waitpid(child, NULL, 0);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const char *path = argv[1], *way = argv[3];
    size_t bytes = strtoul(argv[2], NULL, 10);
    larder_store *store;
    if (bytes > VALUE_MOST || expect(larder_store_open(path, NULL, NULL, &store), "open")) return 2;
    unsigned count = 0, refused = 0;
    uint64_t left = 1, ignored;
    while (put(store, count, bytes) == LARDER_OK) count++;
    if (strcmp(way, "prefix") == 0)
        expect(larder_store_remove_prefix(store, (larder_bytes){"a", 1}, NULL), "by prefix");
    else if (strcmp(way, "cursor") == 0) remove_what_is_listed(store);
    else remove_beside(store, path, count);
    expect(larder_store_flush(store), "flush");
    for (unsigned number = 0; number < count; number++)
        refused += larder_store_remove(store, key_of(number), 0) != LARDER_OK;
    expect(larder_store_flush(store), "flush");
    expect(larder_store_totals(store, &left, &ignored), "totals");
    unsigned again = 0;
    while (again < count && put(store, again, bytes) == LARDER_OK) again++;
    expect(larder_store_remove_all(store, NULL, NULL), "remove all");
    expect(larder_store_shutdown(store), "shutdown");
    larder_store_close(store);
    printf("%zu bytes, %s: %u filled the disk, %u removals were refused, %u fit again\n", bytes,
           way, count, refused, again);
    return failures || refused || left || again < count / 5 * 4;
}
