// SPDX-License-Identifier: MIT
/** @file rivals_entry.h
    What entries with two values are measured against: two plain files for each, as DiskLruCache
    keeps them. */
#ifndef RIVALS_ENTRY_H
#define RIVALS_ENTRY_H

#include <larder_base.h>
#include <stdint.h>

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** Writes both values to new files, and gives them the names of entry `number` once both are
    whole: two open, two write, two close, two rename. */
LARDER_MUST_CHECK int32_t rivals_pair_put(const char *folder, uint64_t number, const void *bytes,
                                          size_t length);

/** The same for `count` entries from `number` on. */
LARDER_MUST_CHECK int32_t rivals_loop_pair_put(const char *folder, uint64_t number, size_t count,
                                               const void *bytes, size_t length);

/** Both files of many entries, open. */
typedef struct rivals_pairs rivals_pairs;

/** Opens the files of entries 0 to `count` - 1, whose values have `length` bytes each. */
LARDER_MUST_CHECK int32_t rivals_pairs_open(const char *folder, size_t count, size_t length,
                                            rivals_pairs *LARDER_NULLABLE *LARDER_NONNULL out);
void rivals_pairs_close(rivals_pairs *LARDER_NULLABLE pairs);

/** Reads both files of each entry from their start, one pread(2) each, into the same buffer.
    @param sum receives what depends on the first and the last byte of each value. */
LARDER_MUST_CHECK int32_t rivals_loop_pair_read(rivals_pairs *pairs, const int64_t *numbers,
                                                size_t count, int64_t *sum);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
