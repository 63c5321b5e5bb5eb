// SPDX-License-Identifier: MIT
/** @file replay.h
    Private: the log, read when a store is opened. */
#ifndef LARDER_REPLAY_H
#define LARDER_REPLAY_H

#include "handle/handle.h"
#include "log/survey.h"

/** Reads what the log holds behind what the tree has, into the active table, and opens its last
    segment for appending. The log is entered.
    @param there what lies in it.
    @param was_cut the machine was started again since it was written to.
    @param was_closed since then, nobody wrote. */
LARDER_MUST_CHECK larder_status larder_store_replay(larder_store *store, const log_survey *there,
                                                    bool was_cut, bool was_closed,
                                                    larder_store_detail *detail);

#endif
