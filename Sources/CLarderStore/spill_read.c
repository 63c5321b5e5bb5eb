// SPDX-License-Identifier: MIT
/** @file spill_read.c
    Reading values in files of their own: by a mapping that was kept, or a new one. */
#include <errno.h>

#include "larder_crc32c.h"
#include "spill_internal.h"

static bool is_same_file(const file_facts *a, const file_facts *b) {
    return a->inode == b->inode && a->device == b->device && a->bytes == b->bytes &&
           a->changed_ns == b->changed_ns && a->is_regular && b->is_regular;
}

/** Looks whether a mapping that was kept still is the file's, and verifies it again where it is not
    known to be what it was.
    @return LARDER_OK; LARDER_END if it has to be mapped anew. */
static larder_status map_kept(spill *folder, const spill_reference *reference, const char *path,
                              uint8_t **map) {
    file_facts then, now = {0};
    int64_t verified_ns;
    *map = spill_cache_take(&folder->cache, reference, &then, &verified_ns);
    if (!*map) return LARDER_END;
    size_t length = (size_t)reference->length;
    // A file that was cut short must not be touched through the mapping: that would be a signal.
    bool is_same = file_facts_at(path, &now) == LARDER_OK && is_same_file(&then, &now);
    int64_t time = is_same ? system_wall_clock_ns() : 0;
    bool is_trusted = verified_ns - now.changed_ns > SPILL_SETTLE_NS && time >= verified_ns &&
                      time - verified_ns < SPILL_TRUST_NS;
    if (is_same && !is_trusted) {
        is_same = larder_crc32c(0, *map, length) == reference->crc;
        if (is_same) spill_cache_keep(&folder->cache, reference, *map, &now, time);
    }
    if (is_same) return LARDER_OK;
    spill_map_release(*map, length);
    spill_cache_drop(&folder->cache, reference->epoch, reference->number);
    *map = NULL;
    return LARDER_END;
}

/** Maps the file, whatever was mapped before. */
static larder_status map_anew(spill *folder, const spill_reference *reference, const char *path,
                              bool verifies, uint8_t **map) {
    int file;
    larder_status status = file_open(path, 0, 0, &file);
    // A link or a folder in its place is not the file that was written.
    if (status == ELOOP || status == ENXIO) return LARDER_EDAMAGED;
    if (status) return status;
    file_facts facts;
    // The time comes first: what changes from now on has a later one.
    int64_t time = system_wall_clock_ns();
    status = file_facts_get(file, &facts);
    if (!status &&
        (!facts.is_regular || facts.bytes != reference->length || reference->length > PTRDIFF_MAX))
        status = LARDER_EDAMAGED;
    size_t length = (size_t)reference->length;
    if (!status && length > 0) status = spill_map_create(file, length, verifies, map);
    file_close(file);
    if (status || !verifies) return status;
    if (larder_crc32c(0, *map, length) != reference->crc) {
        if (length) spill_map_release(*map, length);
        return LARDER_EDAMAGED;
    }
    if (length) spill_cache_keep(&folder->cache, reference, *map, &facts, time);
    return LARDER_OK;
}

larder_status spill_map(spill *folder, const spill_reference *reference, bool verifies,
                        larder_bytes *mapped) {
    *mapped = (larder_bytes){NULL, 0};
    spill_path path;
    spill_path_of_file(folder, reference->epoch, reference->number, &path);
    uint8_t *map = NULL;
    larder_status status = map_kept(folder, reference, path.text, &map);
    if (status == LARDER_END) status = map_anew(folder, reference, path.text, verifies, &map);
    if (!status) *mapped = (larder_bytes){map, (size_t)reference->length};
    return status;
}

void spill_unmap(larder_bytes mapped) {
    if (mapped.length) spill_map_release((uint8_t *)(uintptr_t)mapped.data, mapped.length);
}
