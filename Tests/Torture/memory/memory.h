// SPDX-License-Identifier: MIT
/** @file memory.h
    What the trials of indexes in memory share. */
#ifndef TORTURE_MEMORY_H
#define TORTURE_MEMORY_H

#include "torture.h"

/** Random operations beside a model: one case. */
void memory_model_case(torture *run, rng *random, uint64_t number);
/** Threads that read and write one index, and wait for each other. */
void memory_threads(torture *run, void *context);
/** Every contradiction that larder_index_check knows is put in, and has to be found. */
void memory_contradictions(torture *run, void *context);
/** Entries of different costs: what goes for what, and that the limits hold. */
void memory_weights(torture *run, void *context);
/** What seldom happens, each by itself. */
void memory_rare(torture *run, void *context);

void family_memory(torture *run);

#endif
