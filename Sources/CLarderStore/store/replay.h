// SPDX-License-Identifier: MIT
/** @file replay.h
    Private: recovery. */
#ifndef LARDER_REPLAY_H
#define LARDER_REPLAY_H

#include "handle/handle.h"

/** Reads what the log holds behind what the tree has, into the active table, and opens its last
    segment for appending. */
LARDER_MUST_CHECK larder_status larder_store_replay(larder_store *store, bool was_power_cut,
                                                    larder_store_detail *detail);

#endif
