// SPDX-License-Identifier: MIT
/** @file working_folder.h
    Private: folders in which a store or an index grows under another name. */
#ifndef LARDER_WORKING_FOLDER_H
#define LARDER_WORKING_FOLDER_H

#include "handle/handle.h"

/** Removes a store's folder, or what there is of one, as far as that can be done. */
void larder_folder_remove_all(const char *path);

/** Makes a new index in `folder`, of a store that nobody has open. */
typedef larder_status (*index_maker)(larder_store *store, const char *folder, void *work);
/** Has a new index made, which takes the place of the old one if that succeeds. If we crash before,
    the old one is there, and what is left over goes with the next attempt.
    @return as `make`, or why the new one cannot take its place. */
LARDER_MUST_CHECK larder_status larder_index_replace(larder_store *store, index_maker make,
                                                     void *work);

#endif
