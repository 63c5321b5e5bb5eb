// SPDX-License-Identifier: MIT
// A program whose standard input, output or error is closed, in all eight combinations: whatever it
// opens of ours, no file is ever one of the three, not for a moment. Another thread prints to them
// all the time, and at each call that the linker sends here somebody looks.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "store.h"

enum { STANDARD = 3, COUNT = 300, LIMIT_SECONDS = 60 };

/** Shared with the child, which may have no output to tell anything. */
typedef struct standard {
    /** Bit n: descriptor n is closed. */
    unsigned closed;
    char ring[600], store[600], other[640];
    char step[64], wrong[256];
    _Atomic bool is_wrong, stops;
} standard;

static standard *here;

static void tell(const char *what, int number) {
    if (!atomic_exchange(&here->is_wrong, true)) {
        snprintf(here->wrong, sizeof here->wrong, "%s %d, closed 0x%x, in: %.60s", what, number,
                 here->closed, here->step);
    }
}

static bool holds(const char *what, larder_status status, larder_status wanted) {
    if (status != wanted) {
        tell(what, status);
    }
    return status == wanted;
}

#define GOOD(call) holds(#call " gave", call, LARDER_OK)

/** Of descriptor `file`, past what the harness has put before the system's calls. */
static bool look_at(int file, struct stat *facts) {
    return fstatat(file, "", facts, AT_EMPTY_PATH) == 0;
}

static bool is_closed(int file) { return (here->closed >> file & 1) != 0; }

/** While something is opened, what is closed may be what nobody can write to, and no file. */
static void look_while_opening(const char *call, const void *what) {
    (void)call, (void)what;
    struct stat facts, root;
    int before = errno;
    for (int file = 0; file < STANDARD; file++) {
        if (!is_closed(file) || !look_at(file, &facts)) {
            continue;
        }
        bool is_root = S_ISDIR(facts.st_mode) && stat("/", &root) == 0 &&
                       root.st_ino == facts.st_ino && root.st_dev == facts.st_dev;
        if (!S_ISCHR(facts.st_mode) && !is_root) {
            tell("a file is open as descriptor", file);
        }
    }
    errno = before;
}

/** Between calls they are closed, and no program that is started gets a file of ours. */
static bool look_between(const char *step) {
    struct stat facts;
    for (int file = 0; file < STANDARD; file++) {
        if (is_closed(file) && look_at(file, &facts)) {
            tell("something is left open as descriptor", file);
        }
    }
    for (int file = STANDARD; file < 1000; file++) {
        char link[64], path[1024];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 1);
        path[length < 0 ? 0 : length] = '\0';
        bool is_ours = strstr(path, here->ring) == path || strstr(path, here->store) == path;
        if (is_ours && !(fcntl(file, F_GETFD) & FD_CLOEXEC)) {
            tell("a program that is started gets descriptor", file);
        }
    }
    snprintf(here->step, sizeof here->step, "behind %s", step);
    return !atomic_load(&here->is_wrong);
}

/** What a thread does that knows nothing of Larder. */
static void *print_all_the_time(void *context) {
    (void)context;
    while (!atomic_load(&here->stops)) {
        for (int file = 0; file < STANDARD; file++) {
            if (is_closed(file) && write(file, "a line of output\n", 17) >= 0) {
                tell("a line of output got into descriptor", file);
            }
        }
    }
    return NULL;
}

// What is opened ----------------------------------------------------------------------------------

static bool count_messages(const char *path, uint32_t flags, uint64_t wanted) {
    larder_ring *ring = NULL;
    larder_ring_report report;
    larder_ring_options options = ring_options(0, flags);
    bool good = GOOD(larder_ring_open(path, &options, NULL, &ring)) && look_between("open") &&
                GOOD(larder_ring_check(ring, &report)) &&
                holds("messages", (larder_status)report.intact, (larder_status)wanted);
    larder_ring_close(ring);
    return good;
}

static bool use_rings(void) {
    larder_ring *ring = NULL;
    larder_ring_report report;
    larder_ring_options options = ring_options(1 << 20, 0);
    bool good =
        GOOD(larder_ring_open(here->ring, &options, NULL, &ring)) && look_between("a new ring");
    for (int i = 0; i < COUNT && good; i++) {
        good = GOOD(larder_ring_append(ring, "message", 7, NULL));
    }
    good = good && GOOD(larder_ring_sync(ring)) && look_between("a sync") &&
           count_messages(here->ring, LARDER_RING_READ_ONLY, COUNT) && look_between("a reader");
    larder_ring_close(ring);
    good = good && look_between("a close") && count_messages(here->ring, 0, COUNT);
    options.capacity_bytes = 2 << 20;
    snprintf(here->other, sizeof here->other, "%s.saved", here->ring);
    return good && GOOD(larder_ring_resize(here->ring, &options, NULL)) &&
           look_between("a resize") &&
           GOOD(larder_ring_salvage(here->ring, here->other, NULL, NULL, NULL, &report)) &&
           look_between("a ring's salvage") && count_messages(here->ring, 0, COUNT) &&
           count_messages(here->other, 0, COUNT);
}

static larder_store *open_store(const char *path, uint32_t flags) {
    larder_store *store = NULL;
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_HOST_MAINTENANCE | flags;
    (void)GOOD(larder_store_open(path, &options, NULL, &store));
    return store;
}

static bool put_all(larder_store *store) {
    for (uint32_t i = 0; i < COUNT; i++) {
        larder_store_item item;
        larder_store_item_init(&item, bytes_of(&i, sizeof i), bytes_of_text("value"));
        if (!GOOD(larder_store_put(store, &item, NULL))) {
            return false;
        }
    }
    return true;
}

static bool count_entries(const char *path, uint32_t flags) {
    larder_store *store = open_store(path, flags);
    uint64_t count = 0, cost = 0;
    larder_store_report report;
    bool good = store && look_between("an open") &&
                GOOD(larder_store_totals(store, &count, &cost)) &&
                holds("entries", (larder_status)count, COUNT) &&
                GOOD(larder_store_check(store, NULL, NULL, &report)) &&
                holds("damaged entries", (larder_status)report.damaged, 0);
    larder_store_close(store);
    return good && look_between("a close");
}

static bool use_stores(void) {
    larder_store *store = open_store(here->store, 0);
    larder_store_report report;
    bool good = store && look_between("a new store") && put_all(store) &&
                GOOD(larder_store_sync(store)) && look_between("a sync") &&
                GOOD(larder_store_flush(store)) && look_between("a flush") &&
                count_entries(here->store, LARDER_STORE_READ_ONLY) &&
                GOOD(larder_store_maintain(store)) && look_between("maintenance");
    snprintf(here->other, sizeof here->other, "%s-backup", here->store);
    good = good && GOOD(larder_store_backup(store, here->other, NULL, NULL)) &&
           look_between("a backup") && count_entries(here->other, LARDER_STORE_READ_ONLY);
    larder_store_close(store);
    good = good && GOOD(larder_store_compact(here->store, NULL, NULL, NULL, NULL, NULL)) &&
           look_between("a compaction") &&
           GOOD(larder_store_rebuild(here->store, NULL, NULL, NULL, &report)) &&
           look_between("a rebuild") && count_entries(here->store, 0);
    snprintf(here->other, sizeof here->other, "%s-saved", here->store);
    return good &&
           GOOD(larder_store_salvage(here->store, here->other, NULL, NULL, NULL, &report)) &&
           look_between("a store's salvage") && count_entries(here->other, 0);
}

// The children ------------------------------------------------------------------------------------

static void close_standard(void) {
    for (int file = 0; file < STANDARD; file++) {
        if (is_closed(file)) {
            close(file);
        }
    }
}

static void use_all_while_printing(torture *run, void *context) {
    (void)run, (void)context;
    pthread_t printer;
    close_standard();
    bool prints = pthread_create(&printer, NULL, print_all_the_time, NULL) == 0;
    call_hook = look_while_opening;
    if (use_rings() && use_stores()) {
        snprintf(here->step, sizeof here->step, "the end");
    }
    call_hook = NULL;
    atomic_store(&here->stops, true);
    if (prints) {
        pthread_join(printer, NULL);
    }
}

/** A root has nothing to put there, and a process no descriptor to spare: our own files are moved
    away from there, and LMDB's are not opened. */
static void use_all_without_placeholders(torture *run, void *context) {
    (void)run, (void)context;
    close_standard();
    larder_fault_set("standard", -1, EMFILE);
    if (!use_rings()) {
        return;
    }
    larder_store *store = open_store(here->store, 0);
    bool is_refused = store && put_all(store) && here->closed;
    larder_status status = is_refused ? larder_store_flush(store) : EMFILE;
    (void)(holds("flush gave", status, EMFILE) && look_between("a flush that was refused"));
    larder_fault_set(NULL, 0, 0);
    is_refused = is_refused && GOOD(larder_store_flush(store));
    larder_store_close(store);
    if (is_refused) {
        (void)count_entries(here->store, 0);
    }
}

static int own_file = -1;

static void open_its_own(const char *call, const void *what) {
    (void)what;
    if (own_file >= 0 && strcmp(call, "system openat") == 0) {
        (void)dup2(own_file, STDOUT_FILENO);
        close(own_file);
        own_file = -1;
        here->closed &= ~(1u << STDOUT_FILENO);
    }
}

/** What the program itself opens there in the midst of it stays open. */
static void open_beside_the_program(torture *run, void *context) {
    (void)run, (void)context;
    struct stat own, facts;
    snprintf(here->other, sizeof here->other, "%s.own", here->ring);
    own_file = open(here->other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (own_file < 0 || !look_at(own_file, &own)) {
        tell("cannot make a file", errno);
        return;
    }
    close_standard();
    call_hook = open_its_own;
    (void)count_messages(here->ring, 0, COUNT);
    call_hook = NULL;
    if (!look_at(STDOUT_FILENO, &facts) || facts.st_ino != own.st_ino) {
        tell("the program's own file is gone from descriptor", STDOUT_FILENO);
    }
}

/** Nothing is where placeholders come from, but the folder itself. */
static void use_rings_in_a_bare_root(torture *run, void *context) {
    (void)context;
    if (chroot(run->directory) != 0 || chdir("/") != 0) {
        return; // Not everybody may.
    }
    snprintf(here->ring, sizeof here->ring, "/bare");
    close_standard();
    call_hook = look_while_opening;
    (void)use_rings();
    call_hook = NULL;
}

static void try_with(torture *run, const char *name, void (*body)(torture *, void *)) {
    torture_trial(run);
    torture_note(run, "%s with 0x%x closed", name, here->closed);
    bool ended = torture_guard(run, LIMIT_SECONDS, body, NULL);
    if (ended) {
        EXPECT(run, !atomic_load(&here->is_wrong), "%s", here->wrong);
    }
}

static void begin(torture *run, unsigned closed) {
    remove_tree(run->directory);
    make_directory(run->directory);
    memset(here, 0, sizeof *here);
    here->closed = closed;
    snprintf(here->ring, sizeof here->ring, "%s", torture_path(run, "ring"));
    snprintf(here->store, sizeof here->store, "%s", torture_path(run, "store"));
}

void family_descriptors(torture *run) {
    rng random;
    (void)torture_next_case(run, &random);
#if defined(TORTURE_WRAPS_CALLS) && !defined(__SANITIZE_THREAD__)
    here = shared_memory(sizeof *here);
    for (unsigned closed = 0; closed < 1u << STANDARD; closed++) {
        begin(run, closed);
        try_with(run, "everything", use_all_while_printing);
        if (closed & 1u << STDOUT_FILENO && torture_unhurt(run)) {
            atomic_store(&here->stops, false);
            begin(run, closed);
            try_with(run, "a bare root", use_rings_in_a_bare_root);
        }
        begin(run, closed);
        try_with(run, "no placeholders", use_all_without_placeholders);
        if (closed & 1u << STDOUT_FILENO) {
            try_with(run, "the program's own file", open_beside_the_program);
        }
    }
#else
    torture_skip(run, "calls are not intercepted here");
#endif
}
