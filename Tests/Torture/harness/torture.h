// SPDX-License-Identifier: MIT
/** @file torture.h
    What every trial family shares: the run, its tally, guarded children, messages, files.

    A family is a function that tries something over and over until its time is up. Random choices
    of a family follow from the run's seed and the number of the case, so that
    `larder-torture --family F --seed N --case K` repeats one case. Where a case kills a process
    the moment of death is the scheduler's; everything else is repeated exactly. */
#ifndef TORTURE_H
#define TORTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "larder.h"
#include "rng.h"

// The run -----------------------------------------------------------------------------------------

/** Counts, in memory that forked children share. */
typedef struct tally {
    _Atomic uint64_t trials;
    _Atomic uint64_t failures;
    /** Of the families that kill and cut: processes that were killed, and of them those that were
        taking up what another one left; images of a disk without power, and of them those of a
        moment inside a checkpoint; and what the explorer went through. */
    _Atomic uint64_t kills, kills_in_a_row, images, images_inside, faults, calls, workloads;
    /** Set by the first failure of a trial, so that a trial fails once. */
    _Atomic uint32_t failed_already;
    /** How far a guarded loop is. */
    _Atomic uint64_t step;
    /** What is going on, for the report of a crash. */
    char note[256];
} tally;

typedef struct torture {
    const char *family;
    uint64_t seed;
    /** The case that runs now; and the only one to run, or UINT64_MAX. */
    uint64_t case_index;
    uint64_t only_case;
    /** How many there are to be of what store-many makes; 0 for the usual number. */
    uint64_t count;
    /** Of store-kill-large. */
    uint64_t rounds;
    /** So many processes share the cases: this one has every `jobs`-th from `job` on. */
    unsigned jobs, job;
    uint64_t started_ns;
    uint64_t deadline_ns;
    /** The short form: fewer repeats of everything that is not bounded by time. */
    bool brief;
    /** Everything there is to try, however long it takes. */
    bool is_whole;
    bool stop_at_failure;
    bool progress;
    /** Leave files behind for whoever looks into a failure. */
    bool keep;
    /** Where files go; this family's own. */
    char directory[512];
    tally *tally;
    /** Those of all processes that share the cases. */
    const tally *tallies;
} torture;

typedef void (*torture_family)(torture *run);

void family_kill(torture *run);
void family_power(torture *run);
void family_failed_syncs(torture *run);
void family_wreck(torture *run);
void family_others(torture *run);
void family_hostile(torture *run);
void family_resize_cut(torture *run);
void family_damage(torture *run);
void family_fields(torture *run);
void family_lines(torture *run);
void family_rare(torture *run);
void family_exhaustion(torture *run);
void family_input(torture *run);
void family_concurrency(torture *run);
void family_model(torture *run);
void family_soak(torture *run);
void family_coding(torture *run);

/** Starts the next case. False when time is up (but never before the first case). */
bool torture_next_case(torture *run, rng *random);
/** True while there is time left and nothing asked to stop. */
bool torture_goes_on(const torture *run);
/** Whether the current trial has not failed. */
bool torture_unhurt(const torture *run);
/** Counts one trial. */
void torture_trial(torture *run);
/** Says that the current trial failed, and why. From any thread and any child. */
void torture_fail(torture *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Says what is going on, in case this process dies of it; a guard's limit begins anew. */
void torture_note(torture *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Prints why something is not tried on this machine. */
void torture_skip(torture *run, const char *why);

/** Fails the trial unless `condition` holds. Evaluates to whether it does. */
#define EXPECT(run, condition, ...) ((condition) ? true : (torture_fail((run), __VA_ARGS__), false))

/** Fails the trial unless `call` gives `wanted`. Evaluates to whether it does. */
#define EXPECT_STATUS(run, call, wanted)                                                           \
    torture_status((run), (call), (wanted), #call, __FILE__, __LINE__)
bool torture_status(torture *run, larder_status status, larder_status wanted, const char *call,
                    const char *file, int line);
/** A trial of `run`: `call` gives `wanted`. */
#define GIVES(call, wanted) (torture_trial(run), (void)EXPECT_STATUS(run, call, wanted))

/** The longest mapping that there is: an emulator keeps books of every page, also of those that
    nobody touches. */
#ifdef TORTURE_EMULATED
#define MAPPED_MAX_BYTES ((uint64_t)1 << 30)
#else
#define MAPPED_MAX_BYTES UINT64_MAX
#endif

/** Runs `body` in a child process. A crash there, or more than `limit_seconds`, fails the trial.
    @return whether the child ended by itself and well. */
bool torture_guard(torture *run, unsigned limit_seconds, void (*body)(torture *, void *),
                   void *context);

/** Runs `body` for 0 to `count` - 1 in a child process, each a trial with a limit of its own, and
    goes on behind one that crashed or hung. Stops early when time is up, unless `complete`. */
void torture_guard_each(torture *run, uint64_t count, unsigned limit_seconds, bool complete,
                        void (*body)(torture *, void *, uint64_t), void *context);

/** Memory that children share, zeroed; lives until the process ends. Aborts without memory. */
void *shared_memory(size_t size);

uint64_t now_ns(void);

// Messages ----------------------------------------------------------------------------------------

/** How long messages are. */
typedef struct message_profile {
    uint32_t shortest;
    /** Most messages are no longer than `usual`; one in sixteen goes up to `longest`. */
    uint32_t usual;
    uint32_t longest;
} message_profile;

/** Length, flags and bytes of the message with this key. */
size_t message_length(const message_profile *profile, uint64_t key);
uint32_t message_flags(uint64_t key);
void message_fill(uint64_t key, void *bytes, size_t length);
bool message_equals(uint64_t key, const void *bytes, size_t length);

/** Bytes that a message takes in a ring: a head of 16, and padding to a multiple of 8. */
static inline uint64_t record_bytes(size_t length) { return 16 + (((uint64_t)length + 7) & ~7ull); }

// Files -------------------------------------------------------------------------------------------

/** `directory/name` of this family, in one of a few static buffers. */
const char *torture_path(const torture *run, const char *name);
bool make_directory(const char *path);
void remove_tree(const char *path);
bool copy_file(const char *from, const char *to);
/** Copies a folder with all in it. `to` must not exist. */
bool copy_tree(const char *from, const char *to);
/** Reads up to `capacity` bytes. @return the file's size, or -1. */
int64_t read_file(const char *path, void *bytes, size_t capacity);
bool write_file(const char *path, const void *bytes, size_t size);
/** Writes into the file that is there, which stays the same one: write_file makes a new one, which
    a ring takes for a copy. */
bool write_over(const char *path, const void *bytes, size_t size);
int64_t size_of_file(const char *path);
unsigned open_descriptors(void);
uint64_t resident_bytes(void);

// Rings -------------------------------------------------------------------------------------------

larder_ring_options ring_options(uint64_t capacity, uint32_t flags);
static inline larder_bytes bytes_of(const void *data, size_t length) {
    return (larder_bytes){data, length};
}
larder_bytes bytes_of_text(const char *text);

#endif
