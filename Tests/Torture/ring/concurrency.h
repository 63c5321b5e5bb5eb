// SPDX-License-Identifier: MIT
/** @file concurrency.h
    The two halves of the concurrency family: threads of one process, and processes. */
#ifndef TORTURE_CONCURRENCY_H
#define TORTURE_CONCURRENCY_H

#include "ledger.h"

/** One scenario: a context that children share, and the case's random numbers. */
typedef struct scene {
    ledger *book;
    rng random;
    /** The ring has room for every message, so a follower has to see each. */
    bool keeps_all;
} scene;

/** Opens a ring that the scene's book describes. */
bool scene_open(torture *run, scene *self, const char *path, uint64_t capacity, uint32_t flags,
                larder_ring **out);

/** Verifies a message whose bytes follow from its number. */
bool exact_by_number(torture *run, const ledger *book, const larder_ring_record *record);

void threads_on_one_ring(torture *run, void *context);
void synced_together(torture *run, void *context);
void shut_down_under_load(torture *run, void *context);
void used_after_shutdown(torture *run, void *context);

void second_opener(torture *run, void *context);
void forked_handle(torture *run, void *context);
void follower_elsewhere(torture *run, void *context);
void woken_elsewhere(torture *run, void *context);
void openers_race(torture *run, void *context);
void copied_elsewhere(torture *run, void *context);

#endif
