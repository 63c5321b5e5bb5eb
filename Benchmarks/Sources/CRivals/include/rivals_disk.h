// SPDX-License-Identifier: MIT
/** @file rivals_disk.h
    What the disk tier is measured against, as far as it is C: LMDB and plain files. And the loops
    over the C store, so that both sides of a row are called from the same machine code.

    Keys are integers, stored as their 8 bytes. Where values are integers, each is its key plus 1,
    and the loops add up what they read, so that a wrong answer shows. */
#ifndef RIVALS_DISK_H
#define RIVALS_DISK_H

#include <larder_store.h>

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

// LMDB --------------------------------------------------------------------------------------------

/** LMDB as one uses it for reading: one environment, one read transaction that is reset and renewed
    for each get, and the cheapest kind of keys that fits. One thread only. */
typedef struct rivals_lmdb rivals_lmdb;

/** The version of LMDB that is linked, as "0.9.24". */
void rivals_lmdb_version(char *text, size_t capacity);

/** Makes an environment in the folder at `path` with one entry for each of `keys`, in one
    transaction, in this order.
    @param value what each is given; NULL: its key plus 1. */
LARDER_MUST_CHECK int32_t rivals_lmdb_create(const char *path, const int64_t *keys, size_t count,
                                             const void *LARDER_NULLABLE value, size_t value_length,
                                             rivals_lmdb *LARDER_NULLABLE *LARDER_NONNULL out);
void rivals_lmdb_close(rivals_lmdb *LARDER_NULLABLE lmdb);

/** Gets each key, of which all must be there. @param sum receives the sum of the values. */
LARDER_MUST_CHECK int32_t rivals_loop_lmdb_get(rivals_lmdb *lmdb, const int64_t *keys, size_t count,
                                               int64_t *sum);
/** Gets each key, and copies its value to `target`, which has room for it. */
LARDER_MUST_CHECK int32_t rivals_lmdb_copy(rivals_lmdb *lmdb, int64_t key, void *target,
                                           size_t length);
/** Gets each key, of which none may be there. */
LARDER_MUST_CHECK int32_t rivals_loop_lmdb_miss(rivals_lmdb *lmdb, const int64_t *keys,
                                                size_t count);

/** Opens the environment in the folder at `path`, which may be any program's, and closes it again.
    @param elapsed_ns receives how long mdb_env_create, mdb_env_set_mapsize and mdb_env_open took.
    */
LARDER_MUST_CHECK int32_t rivals_lmdb_time_open(const char *path, uint64_t map_bytes,
                                                uint64_t *elapsed_ns);

// Plain files -------------------------------------------------------------------------------------

/** open, write, close and rename: the file `folder`/`number` has these bytes, or does not exist. */
LARDER_MUST_CHECK int32_t rivals_file_put(const char *folder, uint64_t number, const void *bytes,
                                          size_t length);
/** open, read and close, into a buffer made for it and freed again.
    @param sum receives something that depends on the first and the last byte. */
LARDER_MUST_CHECK int32_t rivals_file_get(const char *folder, uint64_t number, size_t length,
                                          int64_t *sum);

// The C store -------------------------------------------------------------------------------------

/** Puts each key with its key plus 1. @param flags LARDER_STORE_SYNCED or 0. */
LARDER_MUST_CHECK int32_t rivals_loop_store_put(larder_store *store, const int64_t *keys,
                                                size_t count, uint32_t flags);
/** Gets and releases each key, of which all must be there. @param sum of the values. */
LARDER_MUST_CHECK int32_t rivals_loop_store_get(larder_store *store, const int64_t *keys,
                                                size_t count, int64_t *sum);
/** The least that a put does: its key and value appended to a ring, 64 bytes in all, as many as the
    record of such an entry has. */
LARDER_MUST_CHECK int32_t rivals_loop_ring_entries(larder_ring *ring, const int64_t *keys,
                                                   size_t count);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
