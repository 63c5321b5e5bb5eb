// SPDX-License-Identifier: MIT
// A writer and consumers of its feed, in processes of their own, are killed at random, and lose
// power at random: all of them, and what consumers have kept may be older then. Each mirror has to
// be what was written up to its token, or its consumer was told of a gap, or that it was rewound.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "feed_model.h"
#include "store_disk.h"

typedef struct scene {
    feed_truth *truth;
    disk *disk;
    char root[700], path[768], vault[700], image[700];
    rng random;
    uint8_t boot[16];
    pid_t writer, consumers[FEED_CONSUMERS];
} scene;

static pid_t start_writer(scene *self) {
    rng own = rng_make(rng_next(&self->random));
    rng versions = rng_make(rng_next(&self->random));
    fflush(NULL);
    pid_t child = fork();
    if (child != 0) return child;
    alarm(60);
    disk_watch(self->disk, versions, 40);
    feed_write_on(self->truth, self->path, own);
    for (;;) pause();
}

static pid_t start_consumer(scene *self, unsigned which) {
    rng own = rng_make(rng_next(&self->random));
    fflush(NULL);
    pid_t child = fork();
    if (child != 0) return child;
    alarm(60);
    feed_consume(self->truth, which, self->path, own);
    for (;;) pause();
}

static void end(pid_t *child) {
    int status;
    if (*child <= 0) return;
    kill(*child, SIGKILL);
    while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
    }
    *child = 0;
}

/** Whose changes are noted is killed at any moment but while it notes one. */
static void end_writer(scene *self) {
    int status;
    while (self->writer > 0) {
        kill(self->writer, SIGSTOP);
        bool is_there = waitpid(self->writer, &status, WUNTRACED) > 0 && WIFSTOPPED(status);
        if (!is_there) self->writer = 0;
        if (!is_there || !atomic_load(&self->disk->is_noting)) break;
        kill(self->writer, SIGCONT);
    }
    end(&self->writer);
}

static void end_all(scene *self) {
    end_writer(self);
    for (unsigned n = 0; n < FEED_CONSUMERS; n++) end(&self->consumers[n]);
}

/** Who waits for good is told of each write, or the writer says that it was not: nobody is killed
    before that. */
static void await_waiter(const feed_truth *truth) {
    const feed_consumer *waiter = &truth->consumers[0];
    uint64_t last = atomic_load(&truth->last), limit = now_ns() + 6000000000u;
    while (atomic_load(&waiter->told) != 0 && atomic_load(&waiter->told) < last &&
           !atomic_load(&truth->broken) && now_ns() < limit)
        usleep(100);
}

/** Lets the processes of a round run.
    @param is_short until just after a recovery: what it did may not be on the device yet.
    @param before the number that was given last when the writer began. */
static void run_on(scene *self, bool is_short, uint32_t before) {
    feed_truth *truth = self->truth;
    const uint64_t limit = now_ns() + 50000000;
    if (truth->pings) {
        usleep((useconds_t)rng_below(&self->random, 400000));
        await_waiter(truth);
    } else if (is_short) {
        while (atomic_load(&truth->next_number) == before && now_ns() < limit) usleep(20);
        usleep((useconds_t)rng_below(&self->random, 2000));
    } else {
        usleep((useconds_t)rng_below(&self->random, 30000));
    }
}

/** All processes run for a while; some are killed and started again meanwhile. */
static bool run_round(torture *run, scene *self) {
    feed_truth *truth = self->truth;
    atomic_store(&truth->stop, 0);
    bool reads_first = rng_one_in(&self->random, 3);
    const bool is_short = !truth->pings && rng_one_in(&self->random, 3);
    for (unsigned n = 0; n < FEED_CONSUMERS && reads_first; n++)
        self->consumers[n] = start_consumer(self, n);
    if (reads_first) usleep((useconds_t)rng_below(&self->random, 3000));
    const uint32_t before = atomic_load(&truth->next_number);
    self->writer = start_writer(self);
    // Also when the log is longer again than it was before it went back.
    if (!reads_first && rng_one_in(&self->random, 3))
        usleep((useconds_t)rng_below(&self->random, 30000));
    for (unsigned n = 0; n < FEED_CONSUMERS && !reads_first; n++)
        self->consumers[n] = start_consumer(self, n);
    unsigned kills = (unsigned)rng_below(&self->random, 5);
    for (unsigned n = 0; n < kills && !truth->pings && !is_short; n++) {
        unsigned which = (unsigned)rng_below(&self->random, FEED_CONSUMERS);
        usleep((useconds_t)rng_below(&self->random, 12000));
        end(&self->consumers[which]);
        atomic_fetch_add(&run->tally->kills, 1);
        if (rng_one_in(&self->random, 2)) usleep((useconds_t)rng_below(&self->random, 5000));
        self->consumers[which] = start_consumer(self, which);
    }
    run_on(self, is_short, before);
    if (rng_one_in(&self->random, 2)) end_writer(self);
    if (!atomic_load(&truth->broken)) usleep((useconds_t)rng_below(&self->random, 3000));
    end_all(self);
    atomic_fetch_add(&run->tally->kills, 1);
    return feed_verify(run, truth);
}

/** Nobody is killed until each consumer has been told everything. */
static bool settle(torture *run, scene *self) {
    feed_truth *truth = self->truth;
    bool pinged = truth->pings;
    atomic_store(&truth->stop, 0);
    truth->pings = false;
    for (unsigned n = 0; n < FEED_CONSUMERS; n++) atomic_store(&truth->consumers[n].told, 0);
    self->writer = start_writer(self);
    for (unsigned n = 0; n < FEED_CONSUMERS; n++) self->consumers[n] = start_consumer(self, n);
    usleep(10000);
    atomic_store(&truth->stop, 1);
    uint64_t limit = now_ns() + 15000000000u;
    bool is_told = false;
    while (!is_told && now_ns() < limit && !atomic_load(&truth->broken)) {
        usleep(1000);
        is_told = atomic_load(&truth->stop) == 1;
        for (unsigned n = 0; n < FEED_CONSUMERS; n++)
            if (atomic_load(&truth->consumers[n].told) != atomic_load(&truth->last))
                is_told = false;
    }
    end_all(self);
    truth->pings = pinged;
    const feed_consumer *all = truth->consumers;
    return feed_verify(run, truth) &&
           EXPECT(run, is_told,
                  "of %" PRIu64 " writes, consumers were told %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                  atomic_load(&truth->last), atomic_load(&all[0].told), atomic_load(&all[1].told),
                  atomic_load(&all[2].told));
}

/** The store as a power cut leaves it; and what consumers had not synced of their own. */
static bool cut_power(torture *run, scene *self) {
    if (atomic_load(&self->disk->overflow)) return false;
    if (!EXPECT(run, disk_image(self->disk, &self->random, DISK_SOME, self->image),
                "cannot make an image: %s", strerror(errno)))
        return false;
    atomic_fetch_add(&run->tally->images, 1);
    remove_tree(self->root);
    if (rename(self->image, self->root) != 0) return false;
    for (unsigned i = 0; i < 16; i++) self->boot[i] = (uint8_t)rng_next(&self->random);
    larder_fault_boot_id(self->boot);
    atomic_store(&self->truth->was_cut, 1);
    for (unsigned n = 0; n < FEED_CONSUMERS; n++) {
        feed_consumer *own = &self->truth->consumers[n];
        uint32_t kept = atomic_load(&own->kept);
        // One with a named cursor has synced what it acknowledged; but the disk's model knows of
        // the writer's syncs alone, and only what was told is sure to be there. So a snapshot is
        // lost.
        if (own->kind == FEED_NAMED && kept > 0 &&
            own->states[(kept - 1) % FEED_STATES].is_snapshot) {
            atomic_store(&own->kept, 0);
            atomic_store(&own->has_acknowledged, 0);
        }
        if (own->kind == FEED_NAMED || kept < FEED_STATES || !rng_one_in(&self->random, 2))
            continue;
        atomic_store(&own->kept, kept - (uint32_t)rng_below(&self->random, FEED_STATES - 2));
    }
    return EXPECT(run, disk_begin(self->disk, self->root, self->vault), "cannot begin a disk");
}

static bool prepare(torture *run, scene *self) {
    feed_truth *truth = self->truth;
    memset(truth, 0, sizeof *truth);
    truth->seed = rng_next(&self->random);
    truth->evicts = rng_one_in(&self->random, 4);
    truth->pings = rng_one_in(&self->random, 4);
    truth->keeps_all = !rng_one_in(&self->random, 4);
    truth->syncs_seldom = rng_one_in(&self->random, 3);
    for (unsigned n = 0; n < FEED_CONSUMERS; n++) truth->consumers[n].kind = (feed_consumer_kind)n;
    remove_tree(self->root);
    return EXPECT(run, make_directory(self->root), "cannot make a folder: %s", strerror(errno)) &&
           EXPECT(run, disk_begin(self->disk, self->root, self->vault), "cannot begin a disk");
}

static bool one_case(torture *run, scene *self) {
    unsigned sessions = (unsigned)rng_between(&self->random, 1, FEED_GENERATIONS - 2);
    if (!prepare(run, self)) return false;
    for (unsigned session = 0; session < sessions; session++) {
        unsigned rounds = (unsigned)rng_between(&self->random, 1, 3);
        for (unsigned round = 0; round < rounds; round++)
            if (!run_round(run, self)) return false;
        if (atomic_load(&self->truth->last) + 3000 > FEED_WRITES) break;
        if (!rng_one_in(&self->random, 3) && !cut_power(run, self)) return false;
        if (rng_one_in(&self->random, 4) && !settle(run, self)) return false;
    }
    return settle(run, self);
}

void family_feed(torture *run) {
    scene self = {.truth = shared_memory(sizeof(feed_truth)), .disk = shared_memory(sizeof(disk))};
    uint64_t events = 0, gaps = 0, rewounds = 0, snapshots = 0;
    snprintf(self.root, sizeof self.root, "%s/disk", run->directory);
    snprintf(self.path, sizeof self.path, "%s/store", self.root);
    snprintf(self.vault, sizeof self.vault, "%s/vault", run->directory);
    snprintf(self.image, sizeof self.image, "%s/image", run->directory);
    while (torture_next_case(run, &self.random)) {
        bool is_good = one_case(run, &self);
        end_all(&self);
        for (unsigned n = 0; n < FEED_CONSUMERS; n++) {
            const feed_consumer *own = &self.truth->consumers[n];
            events += atomic_load(&own->events);
            gaps += atomic_load(&own->gaps);
            rewounds += atomic_load(&own->rewounds);
            snapshots += atomic_load(&own->snapshots);
        }
        if (!is_good && run->keep) return;
    }
    printf("  %" PRIu64 " events, %" PRIu64 " gaps, %" PRIu64 " rewound, %" PRIu64 " snapshots\n",
           events, gaps, rewounds, snapshots);
    remove_tree(self.vault);
}
