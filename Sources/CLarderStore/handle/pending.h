// SPDX-License-Identifier: MIT
/** @file pending.h
    Private: what waits for a checkpoint and for the device, and when that is due. */
#ifndef LARDER_PENDING_H
#define LARDER_PENDING_H

#include "handle/handle.h"

// pending.c and backpressure.c
/** Whether, with `length` bytes more, the last eighth of what may wait is being used; `lock` is
    held. */
bool larder_store_is_nearly_full(const larder_store *store, size_t length);
/** Sleeps a while if writers are ahead of the checkpoint: then true, and everything may have
    changed. `lock` is held, not meanwhile. */
bool larder_store_hold_back(larder_store *store, size_t length);
/** To be called when a checkpoint made room; `lock` is held. */
void larder_store_relieve(larder_store *store);
/** Records of one write become part of the active table; `lock` is held, room reserved. */
void larder_store_publish(larder_store *store, const uint8_t *records, uint32_t count,
                          uint32_t number);

// schedule.c
/** Tells the pool when there is something to do; `lock` is held. */
void larder_store_wake(larder_store *store);
/** Tells the checkpoint's thread of the first write after a pause, and when much waits: the more it
    carries, the fewer times a page of the tree is written. `lock` is held. */
void larder_schedule_tell(larder_store *store);
/** When that is due; INT64_MAX for never. `lock` is held. */
int64_t larder_schedule_trim(const larder_store *store);
int64_t larder_schedule_flush(const larder_store *store);
int64_t larder_schedule_sync(const larder_store *store);
/** When there is something to do next; INT64_MAX: when a call asks for it. `lock` is held. */
int64_t larder_schedule_next(const larder_store *store);

// sync.c
/** Everything that was written before on the device. */
LARDER_MUST_CHECK larder_status larder_store_sync_log(larder_store *store);
/** The same with `sync_lock` held. Before the first segment is marked as synced, the tree and all
    names are. */
LARDER_MUST_CHECK larder_status larder_store_sync_held(larder_store *store);

/** The same for writes up to `sequence`: whoever waited for the lock while another one synced may
    find that done. */
LARDER_MUST_CHECK larder_status larder_store_sync_through(larder_store *store, uint64_t sequence);

#endif
