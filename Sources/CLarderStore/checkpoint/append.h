// SPDX-License-Identifier: MIT
/** @file append.h
    Private: appending to the log. */
#ifndef LARDER_APPEND_H
#define LARDER_APPEND_H

#include "handle/handle.h"

/** Of its record. LARDER_EINVALID: flags that there are not; LARDER_ETOOLARGE. */
LARDER_MUST_CHECK larder_status larder_store_item_size(const larder_store_item *item, size_t *size);
/** Takes the pending lock for an append of `length` bytes of `count` records and makes
    room for it: waits a while if writers are ahead of the checkpoint, runs one if need be. On
    failure nothing is locked.
    @param flags with LARDER_STORE_NO_WAIT it gives EAGAIN instead of waiting.
    @param is_removal may use what is kept back for that on a full disk. */
LARDER_MUST_CHECK larder_status larder_store_begin_append(larder_store *store, size_t length,
                                                          uint32_t count, uint32_t flags,
                                                          bool is_removal, uint8_t **target);
/** Puts the `count` records at `target`, which the log has published, into the memtable; tells the
    checkpoint's thread if it is time; unlocks; syncs if `flags` ask for it.
    @param sequence receives their number; may be NULL. */
LARDER_MUST_CHECK larder_status larder_store_end_append(larder_store *store, const uint8_t *target,
                                                        size_t length, uint32_t count,
                                                        uint32_t flags, uint64_t *sequence);

#endif
