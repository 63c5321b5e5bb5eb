// SPDX-License-Identifier: MIT
/** @file failing_calls.h
    Every call of the library that can fail, and how. */
#ifndef TORTURE_FAILING_CALLS_H
#define TORTURE_FAILING_CALLS_H

#include "torture.h"

enum { FAILING_ERRORS = 3 };

typedef struct failing_call {
    /** For larder_fault_set. */
    const char *name;
    /** Unused ones are 0. */
    int errors[FAILING_ERRORS];
} failing_call;

/** Empty where the linker cannot wrap calls. */
extern const failing_call failing_calls[];
extern const size_t failing_call_count;

/** Called before each call that the linker sends here, by whoever makes it: for what is to happen
    just then. `what` is the condition of a wait. NULL for nothing. */
extern void (*call_hook)(const char *call, const void *what);
/** Calls the hook. @return what the call is to fail with, or 0. */
int call_passes(const char *call, const void *what);
/** So many bytes are free on every file system, as the system says; UINT64_MAX for the truth. */
extern uint64_t failing_room;
/** The next of these is what the system gives as a random number; NULL for the truth. */
extern const uint32_t *failing_random;

/** What is done while a call fails, and what must hold then. */
typedef struct failing_trial {
    const char *name;
    larder_status (*act)(void *context);
} failing_trial;

typedef struct failing_bench {
    const failing_trial *trials;
    size_t trial_count;
    /** Before each trial. */
    bool (*prepare)(torture *run, void *context, const failing_trial *trial);
    /** After it, when nothing fails any more; `error` is how the call failed. */
    void (*verify)(torture *run, void *context, const failing_trial *trial, larder_status status,
                   int error);
    void *context;
} failing_bench;

/** Does each trial over and over, each time with another pass of another call failing in another
    way, until the passes that it makes have failed: each of the first ones, and then some. The
    short form tries one in eight of these ways. */
void fail_every_call(torture *run, const failing_bench *bench);

void family_failures(torture *run);
void family_descriptors(torture *run);
void family_store_failures(torture *run);
void family_statuses(torture *run);

#endif
