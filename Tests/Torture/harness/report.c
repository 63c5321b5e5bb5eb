// SPDX-License-Identifier: MIT
// Counting and reporting, in memory that guarded children share with their parent.
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "torture.h"

/** Only so many failures of a family are told in full. */
enum { TOLD_FAILURES = 8 };

uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void *shared_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("larder-torture: mmap");
        abort();
    }
    return memory;
}

/** Whether the run is to end at a failure, and there was one. */
static bool is_stopped(const torture *run) {
    for (unsigned i = 0; run->stop_at_failure && i < run->jobs; i++) {
        if (atomic_load(&run->tallies[i].failures) > 0) {
            return true;
        }
    }
    return false;
}

bool torture_goes_on(const torture *run) { return !is_stopped(run) && now_ns() < run->deadline_ns; }

bool torture_unhurt(const torture *run) { return !atomic_load(&run->tally->failed_already); }

static void show_progress(const torture *run) {
    static uint64_t shown_ns;
    uint64_t now = now_ns();
    if (!run->progress || now - shown_ns < 200000000u) {
        return;
    }
    shown_ns = now;
    fprintf(stderr, "\r\033[K%-18s %8llu trials, %.0f s left", run->family,
            (unsigned long long)atomic_load(&run->tally->trials),
            now < run->deadline_ns ? (double)(run->deadline_ns - now) / 1e9 : 0.0);
}

bool torture_next_case(torture *run, rng *random) {
    show_progress(run);
    if (run->only_case != UINT64_MAX) {
        if (run->case_index == run->only_case) {
            return false;
        }
        run->case_index = run->only_case;
    } else {
        bool first = run->case_index == UINT64_MAX;
        if (!first && !torture_goes_on(run)) {
            return false;
        }
        run->case_index = first ? run->job : run->case_index + run->jobs;
    }
    uint64_t family = 0;
    for (const char *letter = run->family; *letter; letter++) {
        family = family * 31 + (uint8_t)*letter;
    }
    *random = rng_make(mix2(mix2(run->seed, family), run->case_index));
    return true;
}

/** This process is one that a guard waits for, or one of that one's. */
static bool is_guarded;

/** What the guard allows for a trial, or for each of the steps that it notes: a slow machine takes
    longer for hundreds of them, and not for ever for one. */
static unsigned step_limit_seconds;

void torture_trial(torture *run) {
    if (is_guarded && is_stopped(run)) {
        _exit(0);
    }
    atomic_store(&run->tally->failed_already, 0);
    atomic_fetch_add(&run->tally->trials, 1);
    show_progress(run);
}

/** Where failures are told: standard output, also when a trial has closed that. */
static int told_to = STDOUT_FILENO;

__attribute__((constructor)) static void keep_output(void) {
    int file = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    told_to = file < 0 ? STDOUT_FILENO : file;
}

void torture_fail(torture *run, const char *format, ...) {
    if (atomic_exchange(&run->tally->failed_already, 1)) {
        return; // The first reason is the one worth reading.
    }
    uint64_t failures = atomic_fetch_add(&run->tally->failures, 1) + 1;
    if (failures > TOLD_FAILURES) {
        return;
    }
    char text[1024];
    int used =
        snprintf(text, sizeof text, "%sFAILED %s: ", run->progress ? "\r\033[K" : "", run->family);
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    if ((size_t)used > sizeof text - 400) {
        used = (int)(sizeof text - 400);
    }
    if (run->tally->note[0]) {
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "\n       in: %s", run->tally->note);
    }
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "\n       again: --family %s --seed %llu --case %llu\n", run->family,
                     (unsigned long long)run->seed, (unsigned long long)run->case_index);
    if (write(told_to, text, (size_t)used) < 0) {
        abort();
    }
    if (is_guarded && is_stopped(run)) {
        alarm(1); // What is left of the trial tells nothing more, and may wait in vain.
    }
}

void torture_note(torture *run, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->tally->note, sizeof run->tally->note, format, arguments);
    va_end(arguments);
    if (is_guarded && !is_stopped(run)) alarm(step_limit_seconds);
}

void torture_skip(torture *run, const char *why) {
    printf("%s%-18s skipped: %s\n", run->progress ? "\r\033[K" : "", run->family, why);
    fflush(stdout);
}

bool torture_status(torture *run, larder_status status, larder_status wanted, const char *call,
                    const char *file, int line) {
    if (status == wanted) {
        return true;
    }
    const char *name = strrchr(file, '/');
    torture_fail(run, "%s gave %d (%s), not %d, at %s:%d", call, status, larder_strerror(status),
                 wanted, name ? name + 1 : file, line);
    return false;
}

static bool ended_well(torture *run, pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    if (WIFSIGNALED(status)) {
        torture_fail(run, "a child was ended by signal %d (%s) in: %s", WTERMSIG(status),
                     WTERMSIG(status) == SIGALRM ? "it took too long" : strsignal(WTERMSIG(status)),
                     run->tally->note);
    } else {
        torture_fail(run, "a child ended with status %d in: %s", WEXITSTATUS(status),
                     run->tally->note);
    }
    return false;
}

bool torture_guard(torture *run, unsigned limit_seconds, void (*body)(torture *, void *),
                   void *context) {
    if (is_stopped(run)) {
        return false;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        torture_fail(run, "fork failed");
        return false;
    }
    if (child == 0) {
        is_guarded = true;
        alarm(step_limit_seconds = limit_seconds);
        body(run, context);
        _exit(0);
    }
    return ended_well(run, child);
}

void torture_guard_each(torture *run, uint64_t count, unsigned limit_seconds, bool complete,
                        void (*body)(torture *, void *, uint64_t), void *context) {
    tally *shared = run->tally;
    atomic_store(&shared->step, 0);
    while (atomic_load(&shared->step) < count && !is_stopped(run) &&
           (complete || torture_goes_on(run))) {
        fflush(NULL);
        pid_t child = fork();
        if (child < 0) {
            torture_fail(run, "fork failed");
            return;
        }
        if (child == 0) {
            is_guarded = true;
            uint64_t index = atomic_load(&shared->step);
            for (; index < count && (complete || torture_goes_on(run)); index++) {
                atomic_store(&shared->step, index);
                torture_trial(run);
                alarm(step_limit_seconds = limit_seconds);
                body(run, context, index);
            }
            atomic_store(&shared->step, index);
            _exit(0);
        }
        if (!ended_well(run, child)) {
            atomic_fetch_add(&shared->step, 1);
        } else if (atomic_load(&shared->step) < count) {
            return; // Time was up.
        }
    }
}
