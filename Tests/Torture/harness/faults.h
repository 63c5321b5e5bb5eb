// SPDX-License-Identifier: MIT
/** @file faults.h
    The fault points of the library's system calls, and what it is at. */
#ifndef TORTURE_FAULTS_H
#define TORTURE_FAULTS_H

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"
#endif
#include "larder_os_faults.h"
#include "larder_os_file.h"
#include "larder_os_machine.h"
#ifdef __clang__
#pragma clang diagnostic pop
#endif

/** As in ring/layout.h, which does not go together with the store's headers. */
void larder_fault_ring_limits(uint64_t numbers_ahead, uint64_t window_bytes);
struct larder_store;
/** Whether a checkpoint of this store is under way. NULL is allowed. */
bool store_is_inside(struct larder_store *store);
/** Takes the lock of pending writes, or gives it back. */
void store_hold(struct larder_store *store, bool holds);
/** Holds what reads the pages of data.mdb, whose bytes these are, to what it promises; they are
    those of a sound tree, aligned as a page is.
    @return NULL, or what did not hold. */
const char *tree_contract(const uint8_t *map, uint64_t bytes);
/** The same of what writes rows to the tree in `folder`, which nobody has open. It stays as it is.
    @param is_damaged the leaf of the last entry's key is. */
const char *rows_contract(const char *folder, bool is_damaged);

#endif
