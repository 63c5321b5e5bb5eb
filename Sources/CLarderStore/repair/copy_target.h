// SPDX-License-Identifier: MIT
/** @file copy_target.h
    Private: a new store that a backup or a salvage fills. It grows under another name beside the
    target, and gets its own when everything in it is on the device: so there is a whole store at
    the target, or nothing. */
#ifndef LARDER_COPY_TARGET_H
#define LARDER_COPY_TARGET_H

#include "lmdb/environment.h"

typedef struct copy_target {
    file_path path, working_path;
    larder_store *store;
} copy_target;

/** Opens a new store, to become `path`.
    @return LARDER_OK; EEXIST if there is something at `path`; as larder_store_open. On failure
    nothing is left, and larder_copy_target_finish need not follow. */
LARDER_MUST_CHECK larder_status larder_copy_target_open(const char *path,
                                                        const larder_store_options *options,
                                                        copy_target *out);
/** Adds an entry: its record as it is, with the next number.
    @param source was verified.
    @param deadline_ns when it expires by its own times and the last read; LARDER_STORE_NEVER if no
           read is known of. */
LARDER_MUST_CHECK larder_status larder_copy_target_put(copy_target *target, larder_bytes source,
                                                       int64_t deadline_ns);
/** Everything to the device, and the target's name to it. On failure nothing is left.
    @param status of the filling: unless it is LARDER_OK, the target is given up.
    @return that, or why it could not be finished. */
LARDER_MUST_CHECK larder_status larder_copy_target_finish(copy_target *copy, larder_status status);

#endif
