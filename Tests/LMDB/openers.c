// SPDX-License-Identifier: MIT
/** @file openers.c
    Processes that open, read and close one store while another one opens, writes, flushes and
    closes it: no call may fail, and none may wait for ever, whichever LMDB they run with and
    however many of them are killed.

        openers race DIRECTORY SECONDS [stays] [kills COUNT] [readers]
        openers write DIRECTORY
        openers read DIRECTORY

    `stays`: the writer opens the store once. `kills`: so many of the processes are killed, one
    after the other, and others take their places. `readers`: there is no writer here.
    `write` makes a store that `read` has to find as it was made. */
#include <errno.h>
#include <inttypes.h>
#include <larder_store.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 5, ENTRIES = 5000, STUCK_SECONDS = 20 };

/** What the processes tell the one that began them. */
typedef struct account {
    _Atomic uint64_t steps[PROCESSES];
    _Atomic uint64_t failures;
    char failure[200];
} account;

static account *told;
static double end_time;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/** Whether a call did what it should. */
static bool works(const char *call, larder_status status) {
    if (status == LARDER_OK) return true;
    if (atomic_fetch_add(&told->failures, 1) == 0)
        snprintf(told->failure, sizeof told->failure, "%s: %s (%d)", call, larder_strerror(status),
                 (int)status);
    return false;
}

static larder_bytes text(const char *of) { return (larder_bytes){of, strlen(of)}; }

static void read_on(const char *directory, int me) {
    while (now() < end_time) {
        larder_store_options options;
        larder_store_options_init(&options);
        options.flags |= LARDER_STORE_READ_ONLY;
        larder_store *store;
        if (!works("open to read", larder_store_open(directory, &options, NULL, &store))) continue;
        larder_store_entry entry;
        if (works("get", larder_store_get(store, text("k"), 0, &entry)) && entry.value.length != 10)
            works("a value of another length", EIO);
        larder_store_release(&entry);
        larder_store_close(store);
        atomic_fetch_add(&told->steps[me], 1);
    }
}

static void write_on(const char *directory, int me, bool stays) {
    uint64_t written = 0;
    while (now() < end_time) {
        larder_store *store;
        if (!works("open", larder_store_open(directory, NULL, NULL, &store))) continue;
        do {
            char value[11];
            snprintf(value, sizeof value, "%010" PRIu64, ++written % 1000000000);
            larder_store_item item;
            larder_store_item_init(&item, text("k"), text(value));
            works("put", larder_store_put(store, &item, NULL));
            works("flush", larder_store_flush(store));
            atomic_fetch_add(&told->steps[me], 1);
        } while (stays && now() < end_time);
        works("close", larder_store_shutdown(store));
        larder_store_close(store);
    }
}

static pid_t begin(const char *directory, int me, bool stays) {
    pid_t child = fork();
    if (child != 0) return child;
    if (me == 0) write_on(directory, me, stays);
    else read_on(directory, me);
    _exit(0);
}

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); }

/** Kills one after the other, and sees that the others go on. */
static bool watch(const char *directory, pid_t *children, int first, bool stays, long kills) {
    uint64_t seen[PROCESSES] = {0};
    double moved[PROCESSES];
    for (int me = 0; me < PROCESSES; me++) moved[me] = now();
    for (long killed = 0; now() < end_time; rest()) {
        for (int me = first; me < PROCESSES; me++) {
            uint64_t steps = atomic_load(&told->steps[me]);
            if (steps != seen[me]) moved[me] = now();
            seen[me] = steps;
            if (now() - moved[me] < STUCK_SECONDS) continue;
            printf("process %d has waited for %d s\n", me, STUCK_SECONDS);
            return false;
        }
        if (killed == kills) continue;
        int me = first + rand() % (PROCESSES - first);
        kill(children[me], SIGKILL);
        while (waitpid(children[me], NULL, 0) < 0 && errno == EINTR) continue;
        children[me] = begin(directory, me, stays);
        killed++;
    }
    return true;
}

static int race(const char *directory, char **words) {
    double seconds = atof(words[0]);
    bool stays = false, has_writer = true;
    long kills = 0;
    for (char **word = words + 1; *word; word++) {
        if (strcmp(*word, "stays") == 0) stays = true;
        if (strcmp(*word, "readers") == 0) has_writer = false;
        if (strcmp(*word, "kills") == 0 && word[1]) kills = atol(*++word);
    }
    pid_t children[PROCESSES];
    int first = has_writer ? 0 : 1;
    end_time = now() + seconds;
    fflush(stdout);
    for (int me = first; me < PROCESSES; me++) children[me] = begin(directory, me, stays);
    bool goes_on = watch(directory, children, first, stays, kills);
    for (int me = first; me < PROCESSES; me++) {
        if (!goes_on) kill(children[me], SIGKILL);
        while (waitpid(children[me], NULL, 0) < 0 && errno == EINTR) continue;
    }
    uint64_t opens = 0, failures = atomic_load(&told->failures);
    for (int me = 1; me < PROCESSES; me++) opens += atomic_load(&told->steps[me]);
    printf("%" PRIu64 " opens to read, %" PRIu64 " writes, %ld killed, %" PRIu64 " failed %s\n",
           opens, atomic_load(&told->steps[0]), kills, failures, told->failure);
    return goes_on && failures == 0 ? 0 : 1;
}

static void entry_of(int number, char key[32], char value[32]) {
    snprintf(key, 32, "key %d", number);
    snprintf(value, 32, "value of %d", number * 7);
}

static int write_all(const char *directory) {
    larder_store *store;
    if (!works("open", larder_store_open(directory, NULL, NULL, &store))) return 1;
    larder_store_item item;
    larder_store_item_init(&item, text("k"), text("0000000000"));
    works("put", larder_store_put(store, &item, NULL));
    for (int number = 0; number < ENTRIES; number++) {
        char key[32], value[32];
        entry_of(number, key, value);
        larder_store_item_init(&item, text(key), text(value));
        works("put", larder_store_put(store, &item, NULL));
    }
    works("flush", larder_store_flush(store));
    larder_store_close(store);
    return atomic_load(&told->failures) == 0 ? 0 : 1;
}

static int read_all(const char *directory) {
    larder_store *store;
    larder_store_report report;
    if (!works("open", larder_store_open(directory, NULL, NULL, &store))) return 1;
    for (int number = 0; number < ENTRIES; number++) {
        char key[32], value[32];
        entry_of(number, key, value);
        larder_store_entry entry;
        if (works("get", larder_store_get(store, text(key), 0, &entry)) &&
            (entry.value.length != strlen(value) ||
             memcmp(entry.value.data, value, strlen(value)) != 0))
            works("another value", EIO);
        larder_store_release(&entry);
    }
    works("check", larder_store_check(store, NULL, NULL, &report));
    larder_store_close(store);
    return atomic_load(&told->failures) == 0 ? 0 : 1;
}

int main(int count, char **words) {
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told == MAP_FAILED || count < 3) {
        fputs("usage: openers race DIRECTORY SECONDS [stays] [kills COUNT] [readers]\n"
              "       openers write|read DIRECTORY\n",
              stderr);
        return 64;
    }
    int result = 64;
    if (strcmp(words[1], "race") == 0 && count > 3) {
        larder_store *store;
        larder_store_item item;
        larder_store_item_init(&item, text("k"), text("0000000000"));
        bool is_made = access(words[2], F_OK) == 0;
        if (!is_made && works("open", larder_store_open(words[2], NULL, NULL, &store))) {
            works("put", larder_store_put(store, &item, NULL));
            larder_store_close(store);
        }
        result = race(words[2], words + 3);
    }
    if (strcmp(words[1], "write") == 0) result = write_all(words[2]);
    if (strcmp(words[1], "read") == 0) result = read_all(words[2]);
    if (result == 1) printf("failed: %s\n", told->failure);
    return result;
}
