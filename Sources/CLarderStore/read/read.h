// SPDX-License-Identifier: MIT
/** @file read.h
    Private: what reads share, and who else needs of them. */
#ifndef LARDER_READ_H
#define LARDER_READ_H

#include "handle/handle.h"

/** The version of the entry under `key`, 0 if there is none or it expired; `lock` is held. */
LARDER_MUST_CHECK larder_status larder_store_version(larder_store *store, larder_bytes key,
                                                     uint64_t *sequence);

/** Takes a reader's slot, to be released, of a state that everything belongs to that was written
    before; `lock` is held. Of what is pending a handle that writes needs all, whatever the tree has
    of it by then; a read-only one only what is newer than the slot's meta.applied: another process
    writes, and the tree may be newer than what was followed. As store_enter, too. */
LARDER_MUST_CHECK larder_status larder_store_look(larder_store *store, bool is_long,
                                                  snapshot **place);

/** Notes a read of an entry with that idle time, LARDER_STORE_NEVER for none. */
void larder_store_touch(larder_store *store, snapshot *snapshot, larder_bytes stored,
                        int64_t idle_ns);

#endif
