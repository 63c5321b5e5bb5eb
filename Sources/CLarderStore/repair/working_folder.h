// SPDX-License-Identifier: MIT
/** @file working_folder.h
    Private: folders in which a store or an index grows under another name. */
#ifndef LARDER_WORKING_FOLDER_H
#define LARDER_WORKING_FOLDER_H

#include "lmdb/environment.h"

/** Removes a store's folder, or what there is of one, as far as that can be done. */
void larder_folder_remove_all(const char *path);

#endif
