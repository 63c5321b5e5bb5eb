// SPDX-License-Identifier: MIT
/** @file store_faults.h
    Private: what a test changes in the store to come upon what is rare. Nothing without
    LARDER_FAULTS. */
#ifndef LARDER_STORE_FAULTS_H
#define LARDER_STORE_FAULTS_H

#include "larder_status.h"

#ifdef LARDER_FAULTS
/** How much goes into one transaction of a flush, of writes or of removals for a limit, so that a
    small flush takes many of them. 0 for the usual. Not while a store is open. */
LARDER_API void larder_fault_transaction(uint32_t most_count, uint64_t most_bytes);
#endif

#endif
