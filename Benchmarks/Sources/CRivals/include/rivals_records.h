// SPDX-License-Identifier: MIT
/** @file rivals_records.h
    LMDB as a store of records under integers: what YCSB asks for. One thread only. */
#ifndef RIVALS_RECORDS_H
#define RIVALS_RECORDS_H

#include <larder_base.h>
#include <stdint.h>

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** An environment, and one read transaction that is reset and renewed. */
typedef struct rivals_records rivals_records;

/** Opens a new environment in the folder at `path`: MDB_NOSYNC and MDB_WRITEMAP, so that a commit
    copies nothing and syncs nothing, and MDB_INTEGERKEY. */
LARDER_MUST_CHECK int32_t rivals_records_open(const char *path, uint64_t map_bytes,
                                              rivals_records *LARDER_NULLABLE *LARDER_NONNULL out);
void rivals_records_close(rivals_records *LARDER_NULLABLE records);

/** Begins and commits a transaction of many puts. */
LARDER_MUST_CHECK int32_t rivals_records_begin(rivals_records *records);
LARDER_MUST_CHECK int32_t rivals_records_commit(rivals_records *records);
/** Stores a record, in the transaction that was begun, or in one of its own. */
LARDER_MUST_CHECK int32_t rivals_records_put(rivals_records *records, uint64_t key,
                                             const void *bytes, size_t length);
/** Overwrites some bytes of a record of `record_length`, in a transaction of its own. */
LARDER_MUST_CHECK int32_t rivals_records_update(rivals_records *records, uint64_t key,
                                                size_t record_length, size_t offset,
                                                const void *bytes, size_t length);

/** The record under `key`, valid until rivals_records_end. */
LARDER_MUST_CHECK int32_t rivals_records_get(rivals_records *records, uint64_t key,
                                             larder_bytes *record);
/** Begins to go over the records from `key` on. @return 0; ENOENT behind the last one. */
LARDER_MUST_CHECK int32_t rivals_records_seek(rivals_records *records, uint64_t *key,
                                              larder_bytes *record);
LARDER_MUST_CHECK int32_t rivals_records_next(rivals_records *records, uint64_t *key,
                                              larder_bytes *record);
/** Ends the reading. */
void rivals_records_end(rivals_records *records);

/** Makes everything survive a power cut. */
LARDER_MUST_CHECK int32_t rivals_records_sync(rivals_records *records);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
