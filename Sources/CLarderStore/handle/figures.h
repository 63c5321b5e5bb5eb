// SPDX-License-Identifier: MIT
/** @file figures.h
    Private: what is counted, by any thread, without a lock. */
#ifndef LARDER_FIGURES_H
#define LARDER_FIGURES_H

#include "format/record.h"

typedef struct figures {
    _Atomic uint64_t hits, misses, damaged, written, removed, evicted, expired;
    _Atomic uint64_t flushes, flush_failures, flush_ns, touches_dropped;
    _Atomic uint64_t appended_bytes, cleaned_bytes;
    /** How the last checkpoint ended. */
    _Atomic larder_status last_failure;
} figures;

#endif
