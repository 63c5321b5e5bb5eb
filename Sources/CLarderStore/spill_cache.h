// SPDX-License-Identifier: MIT
/** @file spill_cache.h
    Private: mappings of files that were read lately, kept for the next time. To map a file and to
    give the mapping up costs more than to copy its bytes; to look whether it changed, a tenth.

    A mapping is shared by those who use it and by the cache; it ends with the last of them. What
    counts them lies in a page of its own before the mapping, so that nobody needs the cache to let
    go, and a mapping may outlive it. */
#ifndef LARDER_SPILL_CACHE_H
#define LARDER_SPILL_CACHE_H

#include <pthread.h>

#include "file_io.h"
#include "record.h"

enum { CACHED_FILES_MAX = 256, CACHED_FILE_MAX_BYTES = 8 << 20, CACHED_MAX_BYTES = 64 << 20 };

/** A checksum that agreed holds for so long, while the file does not change. */
#define SPILL_TRUST_NS ((int64_t)10000000000)
/** A file that was changed less than this ago may change again without its time telling. */
#define SPILL_SETTLE_NS ((int64_t)100000000)

typedef struct cached_file {
    spill_reference reference;
    uint8_t *map;
    file_facts facts;
    int64_t verified_ns;
    uint64_t used;
    uint16_t next;
} cached_file;

typedef struct spill_cache {
    pthread_mutex_t lock;
    uint64_t clock;
    uint64_t bytes;
    /** Place + 1 of the first file of each hash; 0 for none. */
    uint16_t heads[CACHED_FILES_MAX];
    cached_file files[CACHED_FILES_MAX];
} spill_cache;

void spill_cache_init(spill_cache *cache);
void spill_cache_destroy(spill_cache *cache);

/** Maps an open file, with one user. */
LARDER_MUST_CHECK larder_status spill_map_create(int file, size_t bytes, bool is_read_at_once,
                                                 uint8_t **out);
void spill_map_release(uint8_t *map, size_t bytes);

/** A mapping kept of that very file, with one user more.
    @param verified_ns receives when its checksum agreed last.
    @return NULL if there is none. */
uint8_t *spill_cache_take(spill_cache *cache, const spill_reference *reference, file_facts *facts,
                          int64_t *verified_ns);
/** Keeps a mapping whose checksum agreed at `verified_ns`, or notes that for one that is kept. */
void spill_cache_keep(spill_cache *cache, const spill_reference *reference, uint8_t *map,
                      const file_facts *facts, int64_t verified_ns);
/** Lets go of a file, or with number UINT64_MAX of an epoch's. */
void spill_cache_drop(spill_cache *cache, uint32_t epoch, uint64_t number);

#endif
