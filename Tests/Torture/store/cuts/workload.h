// SPDX-License-Identifier: MIT
/** @file workload.h
    Short runs of a store's calls, written down in a line each, and what they have to leave.

    A step is a letter, most with a key behind it, in hexadecimal: `m3` puts a value of middle
    length under key 3. `m3-7` is five steps. What each letter does is in `acts` of workload.c; the
    workloads are in `workloads` of store_workloads.c.

    What the store holds after each step follows from the steps, so a store that was killed in one
    must hold what it held before it or after it; and one whose machine lost power in it what it
    held after some step behind the last that was promised to survive that. */
#ifndef TORTURE_WORKLOAD_H
#define TORTURE_WORKLOAD_H

#include "larder_store.h"
#include "torture.h"

enum { WORKLOAD_KEYS = 16, WORKLOAD_STEPS = 200, WORKLOAD_CHOICES = 5 };

typedef struct workload_tuning {
    /** In KiB. */
    uint16_t segment_min, segment_max;
    /** As in larder_store_tuning; 0 for many. */
    uint16_t memtable, transaction;
    /** Bytes of segments that one checkpoint cleans; 0 for many. */
    uint32_t clean;
    /** Values up to this lie in LMDB too. */
    uint16_t inline_bytes;
} workload_tuning;

typedef struct workload {
    const char *name;
    /** Done before anything is hurt. `!` ends the process without closing the store; `%` starts the
        machine again as well. */
    const char *before;
    const char *script;
    const workload_tuning *tuning;
} workload;

extern const workload workloads[];
extern const unsigned workload_count;

typedef struct workload_step {
    char act;
    uint8_t key;
} workload_step;

/** What lies under each key: a number from which the value follows, 0 for nothing. */
typedef struct shelf {
    uint32_t salt[WORKLOAD_KEYS];
    /** By which trims go: the step of the last write or read. */
    uint16_t order[WORKLOAD_KEYS];
    /** How often time has passed; and when an entry is gone, 0 for never. */
    uint8_t time, dies_in[WORKLOAD_KEYS];
} shelf;

/** One run, in memory that outlives the process. */
typedef struct workload_run {
    const workload *what;
    workload_step steps[WORKLOAD_STEPS];
    /** Steps in all; those before `first` are done before anything is hurt. */
    uint32_t count, first;
    /** The store, and where the script puts a copy. */
    char path[700], copy[720];
    /** Behind the last step that was begun, that returned, that was made safe. */
    _Atomic uint32_t begun, done, synced;
    /** Which start of the machine this is. */
    _Atomic uint32_t boot;
    _Atomic int64_t now_ns;
    /** A checkpoint was under way at the last system call. */
    _Atomic uint32_t is_inside;
    /** The error that calls are made to fail with; 0 if none is. Then steps may give it, and what
        lies under each key is one of these; and `now`, if nothing that failed was done. */
    int error;
    shelf now;
    uint32_t choices[WORKLOAD_KEYS][WORKLOAD_CHOICES];
    uint32_t choice_count[WORKLOAD_KEYS];
    /** The store as it is open. Of the process that runs the steps. */
    larder_store *store, *reader;
    torture *torture;
} workload_run;

/** Takes the script apart, and does what comes before it, in children.
    @return false, and a failed trial, if that went wrong. */
bool workload_begin(torture *run, workload_run *self, const workload *what, const char *root);
/** What was done since is forgotten: the files are again what they were. */
void workload_again(workload_run *self);
/** The folders are those below `root`. */
void workload_at(workload_run *self, const char *root);
/** Runs the script in this process, from opening the store to closing it. */
void workload_go(workload_run *self);
/** Opens the store, or the reader. */
larder_status workload_open(workload_run *self, bool reads_only);
void workload_close(workload_run *self);

/** The open store holds what it did after one of the steps `least` to `most`.
    @param which receives after which; may be NULL. */
bool workload_verify(workload_run *self, larder_store *store, uint32_t least, uint32_t most,
                     uint32_t *which);
/** The open store holds one of the choices for each key. */
bool workload_verify_choices(workload_run *self, const char *when);
/** The same; and what it holds is the only choice from now on. */
bool workload_settle(workload_run *self);
/** What the store holds is the only choice from now on, and one that is written anew, so many
    times. */
larder_status workload_write_more(workload_run *self, uint32_t times);
/** The machine was started again. */
void workload_boot(workload_run *self);

#endif
