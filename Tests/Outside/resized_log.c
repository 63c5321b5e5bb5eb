// SPDX-License-Identifier: MIT
// Written from the documentation alone: three processes open a log, append some messages and close
// it, again and again, while a fourth gives it other sizes and is killed. What was acknowledged is
// there in the end, in order, with the number that it was given.
// usage: resized_log FILE SECONDS SEED
#define _GNU_SOURCE
#include <larder.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WRITERS = 3, MESSAGES_MAX = 200000, CAPACITY = 8 << 20 };

/** What was acknowledged, in memory that all processes share. */
typedef struct shared_account {
    uint64_t counts[WRITERS];
    uint64_t sequences[WRITERS][MESSAGES_MAX];
    uint64_t resizes, failures;
} shared_account;

typedef struct message {
    uint64_t writer, number;
} message;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(shared_account *account, larder_status status, const char *what) {
    if (status == LARDER_OK || status == LARDER_EBUSY) return;
    printf("%s: %s\n", what, larder_strerror(status));
    account->failures++;
}

static void append_until(double end, const char *path, uint64_t writer, shared_account *account) {
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = LARDER_RING_EXISTING;
    while (now() < end) {
        larder_ring *ring;
        larder_status status = larder_ring_open(path, &options, NULL, &ring);
        check(account, status, "open");
        if (status) {
            usleep((unsigned)rand() % 300);
            continue;
        }
        for (int left = rand() % 20; left >= 0 && account->counts[writer] < MESSAGES_MAX; left--) {
            message sent = {writer, account->counts[writer]};
            uint64_t *sequence = &account->sequences[writer][sent.number];
            status = larder_ring_append(ring, &sent, sizeof sent, sequence);
            check(account, status, "append");
            if (status) break;
            __atomic_store_n(&account->counts[writer], sent.number + 1, __ATOMIC_SEQ_CST);
        }
        larder_ring_close(ring);
        usleep((unsigned)rand() % 200);
    }
}

static void resize_for_ever(const char *path, shared_account *account) {
    for (uint64_t turn = 0;; turn++) {
        larder_ring_options options;
        larder_ring_options_init(&options);
        options.capacity_bytes = CAPACITY + (turn % 2) * (1 << 20) + 8 * (turn % 64);
        larder_status status = larder_ring_resize(path, &options, NULL);
        check(account, status, "resize");
        account->resizes += status == LARDER_OK;
        usleep(200);
    }
}

/** How many messages are missing, or are not those that were acknowledged. */
static uint64_t compare(const char *path, shared_account *account) {
    uint64_t wrong = 0, seen[WRITERS] = {0}, previous = 0;
    larder_ring *ring;
    larder_ring_reader *reader;
    larder_ring_record found;
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = LARDER_RING_EXISTING;
    if (larder_ring_open(path, &options, NULL, &ring)) return 1;
    if (larder_ring_reader_open(ring, 0, &reader)) return 1;
    while (larder_ring_reader_next(reader, &found) == LARDER_OK) {
        const message *sent = found.payload.data;
        uint64_t expected = seen[sent->writer]++;
        wrong += sent->number != expected || found.sequence != ++previous ||
                 account->sequences[sent->writer][expected] != found.sequence;
    }
    for (int writer = 0; writer < WRITERS; writer++)
        wrong += seen[writer] != account->counts[writer];
    larder_ring_reader_close(reader);
    larder_ring_close(ring);
    return wrong;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const char *path = argv[1];
    double end = now() + atof(argv[2]);
    unsigned seed = (unsigned)atoi(argv[3]), kills = 0;
    shared_account *account =
        mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    larder_ring *ring;
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.capacity_bytes = CAPACITY;
    if (account == MAP_FAILED || larder_ring_open(path, &options, NULL, &ring)) return 2;
    larder_ring_close(ring);
    pid_t writers[WRITERS];
    for (unsigned writer = 0; writer < WRITERS; writer++) {
        writers[writer] = fork();
        if (writers[writer]) continue;
        srand(seed * 10 + writer);
        append_until(end, path, writer, account);
        _exit(0);
    }
    for (srand(seed); now() < end; kills++) {
        pid_t resizer = fork();
        if (resizer == 0) resize_for_ever(path, account);
        usleep(20000 + (unsigned)rand() % 200000);
        (void)kill(resizer, SIGKILL);
        (void)waitpid(resizer, NULL, 0);
    }
    for (int writer = 0; writer < WRITERS; writer++) (void)waitpid(writers[writer], NULL, 0);
    uint64_t wrong = compare(path, account), total = 0;
    for (int writer = 0; writer < WRITERS; writer++) total += account->counts[writer];
    printf("a log of %llu messages, %llu times of another size, %u kills: %llu are wrong\n",
           (unsigned long long)total, (unsigned long long)account->resizes, kills,
           (unsigned long long)wrong);
    return wrong || account->failures || total == 0;
}
