// SPDX-License-Identifier: MIT
/** @file trust.h
    Private: whose a store's files are, before anything is written to them.

    Somebody else may have put a folder or a file where a store is to be made, to read what is
    written there, or a second name of a file that the process may write to. */
#ifndef LARDER_TRUST_H
#define LARDER_TRUST_H

#include "lmdb/environment.h"

/** Looks at the folder, at what a store has in it, and at each segment. What is missing, or is no
    file, is for others. Files of a group's members may be written to by them: a store that has the
    permissions that the options say is what they say.
    @param detail receives what is not to be written to.
    @return as larder_os_trust_check, or an errno. O(segments). */
LARDER_MUST_CHECK larder_status larder_store_trust(const char *folder,
                                                   const larder_store_options *options,
                                                   larder_store_detail *detail);

#endif
