// SPDX-License-Identifier: MIT
// Ends every workload at every one of its system calls: by a kill, also of those that take up what
// was left; by a power cut, with nothing, everything and any part of what no sync covers; and by
// each kind of failure of the call, once and from then on.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"
#include "store_disk.h"
#include "workload.h"

enum { PLACES_MOST = 100000, IMAGES = 4, ROW_MOST = 3 };
/** In how many seconds of a core all of it can be done, about. Who has less does a small part of
    everything, and then another one. */
enum { SECONDS_FOR_ALL = 400, SECONDS_FOR_PARTS = 4 * SECONDS_FOR_ALL };

typedef struct explorer {
    torture *run;
    /** As it is, and as an image of it goes on. */
    workload_run *self, *other;
    disk *disk;
    /** The folder whose fate is modelled, as it is and as it was; and what else there is. */
    char root[600], base[600], vault[600], image[600];
    /** Of this case, and of the place that it is at. */
    uint64_t seed;
    rng random;
    /** One place in so many, from `offset` on. */
    int stride, offset;
    bool is_whole;
} explorer;

static bool goes_on(explorer *self) {
    bool does = torture_unhurt(self->run) && (self->run->is_whole || torture_goes_on(self->run));
    self->is_whole &= does;
    return does;
}

static bool start_again(explorer *self) {
    workload_again(self->self);
    remove_tree(self->root);
    return EXPECT(self->run, copy_tree(self->base, self->root), "cannot copy the store: %s",
                  strerror(errno));
}

static workload_run *inspected;
static void look_inside(void) {
    atomic_store(&inspected->is_inside, store_is_inside(inspected->store));
}

typedef enum ending { WAS_KILLED, ENDED, WENT_WRONG } ending;

/** Runs `body` in a child that is killed before a system call of that number. */
static ending run_to(explorer *self, int place, int error, bool loses_power,
                     void (*body)(workload_run *self)) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        inspected = self->self;
        inspected->store = inspected->reader = NULL; // Of a process that is gone.
        disk_on_call(look_inside);
        disk_watch(loses_power ? self->disk : NULL, self->random, 0);
        disk_fail(self->root, error == DISK_KILLS ? "any" : "growth", place, error, true);
        body(self->self);
        disk_fail(NULL, NULL, 0, 0, false);
        _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        return WAS_KILLED;
    }
    return EXPECT(self->run, child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "a child ended with 0x%x, at call %d", status, place)
               ? ENDED
               : WENT_WRONG;
}

/** What every store must be, that was hurt and is open again. */
static bool is_sound(torture *run, workload_run *self, bool lost_power) {
    static book notes = {.tracks = true};
    larder_store_report report;
    return EXPECT_STATUS(run, larder_store_recovery(self->store, &report), LARDER_OK) &&
           EXPECT(run, report.journal_lost == 0 || lost_power,
                  "recovery tells of %" PRIu64 " writes lost", report.journal_lost) &&
           book_verify_sound(run, &notes, self->store, self->path, false) &&
           book_verify_sound(run, &notes, self->store, self->path, true);
}

// Kills -------------------------------------------------------------------------------------------

static void recover(workload_run *self) {
    if (workload_open(self, false) == LARDER_OK) {
        (void)!larder_store_flush(self->store);
        workload_close(self);
    }
}

static void verify_after_kill(torture *run, void *context) {
    workload_run *self = context;
    uint32_t least = atomic_load(&self->done), most = atomic_load(&self->begun);
    (void)(EXPECT_STATUS(run, workload_open(self, false), LARDER_OK) &&
           workload_verify(self, self->store, least, most, NULL) && is_sound(run, self, false) &&
           workload_verify(self, self->store, least, most, NULL));
    workload_close(self);
}

/** @return false when the run ended before that place, or something is wrong. */
static bool kill_at(explorer *self, int place) {
    torture_trial(self->run);
    self->random = rng_make(mix2(self->seed, (uint64_t)place));
    torture_note(self->run, "%s, killed at call %d", self->self->what->name, place);
    if (!start_again(self) || run_to(self, place, DISK_KILLS, false, workload_go) != WAS_KILLED) {
        return false;
    }
    tally *counts = self->run->tally;
    atomic_fetch_add(&counts->kills, 1);
    atomic_fetch_add(&counts->calls, 1);
    for (int row = 1; row < ROW_MOST && !rng_one_in(&self->random, 3); row++) {
        bool is_full = rng_one_in(&self->random, 4);
        int next = (int)rng_between(&self->random, 1, 1ull << rng_between(&self->random, 1, 7));
        torture_note(self->run, "%s, killed at call %d, then %s at %d", self->self->what->name,
                     place, is_full ? "a full disk" : "killed", next);
        ending how = run_to(self, next, is_full ? ENOSPC : DISK_KILLS, false, recover);
        if (how == WENT_WRONG) {
            return false;
        }
        atomic_fetch_add(&counts->kills, how == WAS_KILLED);
        atomic_fetch_add(&counts->kills_in_a_row, how == WAS_KILLED);
    }
    return torture_guard(self->run, 60, verify_after_kill, self->self);
}

// Power cuts --------------------------------------------------------------------------------------

static void verify_image(torture *run, void *context) {
    const explorer *from = context;
    static workload_run own; // The image lies elsewhere.
    memcpy(&own, from->self, sizeof own);
    workload_at(&own, from->image);
    workload_boot(&own);
    uint32_t least = atomic_load(&own.synced), most = atomic_load(&own.begun), which = 0;
    bool good = EXPECT_STATUS(run, workload_open(&own, false), LARDER_OK) &&
                workload_verify(&own, own.store, least, most, &which) &&
                is_sound(run, &own, true) && workload_verify(&own, own.store, least, most, NULL);
    workload_close(&own);
    // Closed, what was recovered is as durable as anything, and nothing older comes back.
    (void)(good && EXPECT_STATUS(run, workload_open(&own, false), LARDER_OK) &&
           workload_verify(&own, own.store, which, which < most ? which + 1 : most, NULL));
    workload_close(&own);
}

/** Where the machine is back, a write is acknowledged and its process killed: nothing that the
    power cut took comes back behind it. */
static void write_after_cut(torture *run, void *context) {
    const explorer *from = context;
    workload_run *own = from->other;
    memcpy(own, from->self, sizeof *own);
    workload_at(own, from->image);
    workload_boot(own);
    (void)(EXPECT_STATUS(run, workload_open(own, false), LARDER_OK) &&
           workload_verify(own, own->store, atomic_load(&own->synced), atomic_load(&own->begun),
                           NULL) &&
           EXPECT_STATUS(run, workload_write_more(own, 1 + atomic_load(&own->begun) % 3),
                         LARDER_OK));
}

static void verify_write_after_cut(torture *run, void *context) {
    workload_run *own = ((const explorer *)context)->other;
    own->store = own->reader = NULL;
    (void)(EXPECT_STATUS(run, workload_open(own, false), LARDER_OK) &&
           workload_verify_choices(own, "killed behind a power cut") && is_sound(run, own, true));
    workload_close(own);
}

static bool cut_at(explorer *self, int place) {
    static const disk_shape shapes[IMAGES] = {DISK_NOTHING, DISK_EVERYTHING, DISK_SOME, DISK_SOME};
    tally *counts = self->run->tally;
    self->random = rng_make(mix2(self->seed, PLACES_MOST + (uint64_t)place));
    torture_note(self->run, "%s, without power at call %d", self->self->what->name, place);
    if (!start_again(self) ||
        !EXPECT(self->run, disk_begin(self->disk, self->root, self->vault),
                "cannot begin a disk: %s", strerror(errno)) ||
        run_to(self, place, DISK_KILLS, true, workload_go) != WAS_KILLED) {
        return false;
    }
    for (int i = 0; i < IMAGES && torture_unhurt(self->run); i++) {
        torture_trial(self->run);
        torture_note(self->run, "%s, without power at call %d, image %d", self->self->what->name,
                     place, i);
        if (!EXPECT(self->run, disk_image(self->disk, &self->random, shapes[i], self->image),
                    "cannot make an image: %s", strerror(errno))) {
            return false;
        }
        atomic_fetch_add(&counts->images, 1);
        atomic_fetch_add(&counts->images_inside, atomic_load(&self->self->is_inside) != 0);
        if (i + 1 < IMAGES) {
            torture_guard(self->run, 60, verify_image, self);
        } else if (torture_guard(self->run, 60, write_after_cut, self)) {
            torture_guard(self->run, 60, verify_write_after_cut, self);
            atomic_fetch_add(&counts->kills, 1);
        }
    }
    return torture_unhurt(self->run);
}

// Failures ----------------------------------------------------------------------------------------

typedef struct fault {
    /** As disk_fail has it; behind a dot, a fault point of the library, for what that cannot see.
        */
    const char *call;
    int error;
    bool for_good;
} fault;

static const fault faults[] = {
    {"any", EIO, false},        {"any", EIO, true},          {"growth", ENOSPC, false},
    {"growth", ENOSPC, true},   {"growth", EDQUOT, false},   {"growth", EDQUOT, true},
    {"slow", EINTR, false},     {"open", EMFILE, false},     {"map", ENOMEM, false},
    {".fchmod", EIO, false},    {".opendir", EMFILE, false}, {".statvfs", EIO, false},
    {".getcwd", ENOMEM, false}, {".lstat", EIO, false},
};
enum { FAULTS = sizeof faults / sizeof *faults };

typedef struct failure {
    explorer *explorer;
    const fault *fault;
    int place;
    _Atomic uint32_t *was_reached;
} failure;

static void fail_and_go_on(torture *run, void *context) {
    const failure *what = context;
    workload_run *self = what->explorer->self;
    self->error = what->fault->error;
    const char *call = what->fault->call;
    if (*call == '.') {
        larder_fault_set(call + 1, what->place, self->error);
    } else {
        disk_fail(what->explorer->root, call, what->place, self->error, what->fault->for_good);
    }
    workload_go(self);
    int passes = *call == '.' ? larder_fault_passes() - what->place + 1 : disk_failures();
    atomic_store(what->was_reached, passes > 0);
    larder_fault_set(NULL, 0, 0);
    disk_fail(NULL, NULL, 0, 0, false);
    self->error = 0;
    larder_store_close(self->reader);
    self->reader = NULL;
    bool good = torture_unhurt(run) &&
                (self->store || EXPECT_STATUS(run, workload_open(self, false), LARDER_OK)) &&
                workload_verify_choices(self, "after the failure") &&
                EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_OK) &&
                workload_verify_choices(self, "flushed");
    workload_close(self);
    good = good && EXPECT_STATUS(run, workload_open(self, false), LARDER_OK) &&
           workload_verify_choices(self, "opened again") && is_sound(run, self, false) &&
           workload_verify_choices(self, "settled");
    workload_close(self);
}

static bool fail_at(explorer *self, const fault *what, int place) {
    static _Atomic uint32_t *reached;
    reached = reached ? reached : shared_memory(sizeof *reached);
    atomic_store(reached, 1);
    torture_trial(self->run);
    torture_note(self->run, "%s, call %d of %s fails with %d (%s)%s", self->self->what->name, place,
                 what->call, what->error, strerror(what->error),
                 what->for_good ? ", and all behind it" : "");
    failure all = {self, what, place, reached};
    if (!start_again(self) || !torture_guard(self->run, 60, fail_and_go_on, &all)) {
        return false;
    }
    atomic_fetch_add(&self->run->tally->faults, atomic_load(reached));
    return atomic_load(reached) && torture_unhurt(self->run);
}

// Doubt -------------------------------------------------------------------------------------------

/** A sync fails once; whoever asks again afterwards has everything on the device, or is told. */
static void doubt_and_go_on(torture *run, void *context) {
    const failure *what = context;
    workload_run *self = what->explorer->self;
    self->error = EIO;
    disk_watch(what->explorer->disk, what->explorer->random, 0);
    disk_fail(what->explorer->root, "sync", what->place, EIO, false);
    workload_go(self);
    atomic_store(what->was_reached, disk_failures() > 0);
    disk_fail(NULL, NULL, 0, 0, false);
    self->error = 0;
    if (self->store || EXPECT_STATUS(run, workload_open(self, false), LARDER_OK)) {
        // The keys are as sure now as they will be.
        (void)(workload_settle(self) &&
               (what->place % 2 ? EXPECT_STATUS(run, larder_store_sync(self->store), LARDER_OK)
                                : EXPECT_STATUS(run, larder_store_flush(self->store), LARDER_OK)));
    }
}

static void verify_doubted(torture *run, void *context) {
    const failure *what = context;
    static workload_run own;
    memcpy(&own, what->explorer->self, sizeof own);
    workload_at(&own, what->explorer->image);
    workload_boot(&own);
    (void)(EXPECT_STATUS(run, workload_open(&own, false), LARDER_OK) &&
           workload_verify_choices(&own, "synced behind a failure") && is_sound(run, &own, true));
    workload_close(&own);
}

static bool doubt_at(explorer *self, int place) {
    static _Atomic uint32_t *reached;
    reached = reached ? reached : shared_memory(sizeof *reached);
    self->random = rng_make(mix2(self->seed, 2 * PLACES_MOST + (uint64_t)place));
    failure all = {self, NULL, place, reached};
    torture_trial(self->run);
    torture_note(self->run, "%s, sync %d fails, then the power", self->self->what->name, place);
    if (!start_again(self) ||
        !EXPECT(self->run, disk_begin(self->disk, self->root, self->vault),
                "cannot begin a disk: %s", strerror(errno)) ||
        !torture_guard(self->run, 60, doubt_and_go_on, &all) || !torture_unhurt(self->run)) {
        return false;
    }
    static const disk_shape shapes[] = {DISK_NOTHING, DISK_SOME};
    for (int i = 0; i < 2 && atomic_load(reached) && torture_unhurt(self->run); i++) {
        torture_trial(self->run);
        if (!EXPECT(self->run, disk_image(self->disk, &self->random, shapes[i], self->image),
                    "cannot make an image: %s", strerror(errno))) {
            return false;
        }
        atomic_fetch_add(&self->run->tally->images, 1);
        torture_guard(self->run, 60, verify_doubted, &all);
    }
    atomic_fetch_add(&self->run->tally->faults, atomic_load(reached));
    return atomic_load(reached) && torture_unhurt(self->run);
}

// All of it ---------------------------------------------------------------------------------------

static void explore(explorer *self, const workload *what) {
    torture_note(self->run, "%s, whole", what->name);
    remove_tree(self->root);
    if (!EXPECT(self->run, make_directory(self->root), "cannot make a folder") ||
        !workload_begin(self->run, self->self, what, self->root)) {
        return;
    }
    remove_tree(self->base);
    if (!EXPECT(self->run, copy_tree(self->root, self->base), "cannot copy the store")) {
        return;
    }
    for (int i = self->offset; goes_on(self) && kill_at(self, i + 1); i += self->stride) {
    }
    for (int i = self->offset; goes_on(self) && cut_at(self, i + 1); i += self->stride) {
    }
    int few = self->run->brief ? 8 : self->stride / 4 + 1; // There are fewer syncs than calls.
    for (int i = self->offset % few; goes_on(self) && doubt_at(self, i + 1); i += few) {
    }
    for (int k = 0; k < FAULTS; k++) {
        int place = (self->offset + k) % self->stride;
        if (self->run->brief && (k + (int)self->run->case_index) % 7) {
            continue;
        }
        while (goes_on(self) && fail_at(self, &faults[k], place + 1)) {
            place += self->stride;
        }
    }
}

void family_store_explore(torture *run) {
    explorer self = {.run = run,
                     .self = shared_memory(sizeof(workload_run)),
                     .other = shared_memory(sizeof(workload_run)),
                     .disk = shared_memory(sizeof(disk))};
    snprintf(self.root, sizeof self.root, "%s/disk", run->directory);
    snprintf(self.base, sizeof self.base, "%s/base", run->directory);
    snprintf(self.vault, sizeof self.vault, "%s/vault", run->directory);
    snprintf(self.image, sizeof self.image, "%s/image", run->directory);
    uint64_t budget = (run->deadline_ns - run->started_ns) / 1000000000u * run->jobs / 2;
    self.stride = run->brief                  ? 97
                  : budget >= SECONDS_FOR_ALL ? 1
                                              : (int)(SECONDS_FOR_PARTS / (budget + 1)) + 1;
    // Whatever the place is, a case that is asked for by its number comes upon it.
    self.stride = run->is_whole || run->only_case != UINT64_MAX ? 1 : self.stride;
    rng random;
    while ((!run->brief || run->case_index + run->jobs < workload_count ||
            run->case_index == UINT64_MAX) &&
           torture_next_case(run, &random)) {
        self.seed = rng_next(&random);
        self.offset = (int)rng_below(&random, (uint64_t)self.stride);
        self.is_whole = self.stride == 1;
        torture_trial(run);
        explore(&self, &workloads[run->case_index % workload_count]);
        atomic_fetch_add(&run->tally->workloads, self.is_whole && torture_unhurt(run));
        if (run->is_whole && run->case_index + run->jobs >= workload_count) {
            break;
        }
        if (!torture_unhurt(run) && run->keep) {
            return;
        }
    }
    remove_tree(self.vault);
}
