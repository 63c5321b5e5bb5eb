// SPDX-License-Identifier: MIT
/** @file match.h
    Private: whether the tree and the log that lie in a folder belong together. */
#ifndef LARDER_MATCH_H
#define LARDER_MATCH_H

#include "handle/handle.h"
#include "log/survey.h"

/** Lists the log, and compares it with the newest state of the tree. Damage is no reason to refuse:
    what is whole can be read, and the rest is told of. But these are, because somebody could take
    what is old for the newest, or delete the only copy:

    - a segment was cleaned when more was in the tree than there is now: data.mdb is older than the
      log;
    - a segment lies under the name of another one, and is missing under its own;
    - a segment that rows lead to is missing, and there are others that no row knows, or that are of
      another store, which may have the same records.

    A tree that another process changes meanwhile is looked at again.
    @param out receives the list; larder_log_survey_free follows in any case.
    @return LARDER_OK; LARDER_EDAMAGED, and `detail` says of which part and segment; or an errno. */
LARDER_MUST_CHECK larder_status larder_store_match(larder_store *store, log_survey *out,
                                                   larder_store_detail *detail);
/** What the tree says of the segments. O(segments). larder_live_free follows in any case. */
LARDER_MUST_CHECK larder_status larder_store_live_load(const tree *from, live_table *table);

#endif
