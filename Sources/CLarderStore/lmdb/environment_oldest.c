// SPDX-License-Identifier: MIT
/** @file environment_oldest.c
    The oldest state that somebody still looks at, in this process or another one. */
#include <inttypes.h>
#include <stdio.h>

#include "lmdb/environment_internal.h"

/** LMDB tells of its readers in lines: process, thread, transaction, or "-" for a place without. */
static int look_at_line(const char *line, void *context) {
    uint64_t *oldest = context;
    int pid;
    uint64_t thread;
    uint64_t transaction;
    if (sscanf(line, "%d %" SCNx64 " %" SCNu64, &pid, &thread, &transaction) == 3 &&
        transaction < *oldest)
        *oldest = transaction;
    return 0;
}

uint64_t environment_oldest_reader(environment *shared) {
    uint64_t oldest = UINT64_MAX;
    // A place that nobody uses sees the state of its last read until the next transaction.
    environment_reset_idle(shared, true);
    // A failure leaves places unseen: then every state may be in use.
    if (mdb_reader_list(shared->lmdb, look_at_line, &oldest) < 0) return 0;
    // LMDB's table orders nothing: what a reader of this process did with an older state comes
    // before it gave up its place or renewed it, and so before whatever follows here.
    uint32_t index = 0;
    for (place *other; (other = place_next(shared, &index));) {
        (void)atomic_load_explicit(&other->is_taken, memory_order_acquire);
        (void)atomic_load_explicit(&other->is_renewing, memory_order_acquire);
    }
    return oldest;
}
