// SPDX-License-Identifier: MIT
/** @file spill_sync.c
    Values in files of their own, to the device.

    A sync that fails says so once: the system takes what it could not write for written, and the
    next sync of the file is told that all is well. So a file is remembered whose sync failed. What
    it holds is then compared with its reference, and written once more in the same place before it
    is synced again; until that succeeds its syncs fail as the first one did. */
#include <errno.h>
#include <stdlib.h>

#include "larder_crc32c.h"
#include "spill_internal.h"

enum { BLOCK_BYTES = 256 << 10 };

/** Where the file stands among those whose sync failed; their count if it does not. */
static size_t unsure_find(const spill *folder, const spill_reference *reference) {
    size_t at = 0;
    while (at < folder->unsure_count && (folder->unsure[at].number != reference->number ||
                                         folder->unsure[at].epoch != reference->epoch))
        at++;
    return at;
}

static void unsure_forget(spill *folder, size_t at) {
    if (at < folder->unsure_count) folder->unsure[at] = folder->unsure[--folder->unsure_count];
}

static void unsure_add(spill *folder, const spill_reference *reference, larder_status status) {
    size_t count = folder->unsure_count + 1;
    unsure_file *files = realloc(folder->unsure, count * sizeof *files);
    if (!files) {
        // Which one it is cannot be remembered, so none is believed.
        folder->unsure_all = status;
        return;
    }
    folder->unsure = files;
    files[folder->unsure_count++] = (unsure_file){reference->number, reference->epoch, status};
}

/** The checksum of what the file holds; or, if `writes`, all of it written where it is. */
static larder_status pass_over(int file, uint64_t length, bool writes, uint32_t *crc) {
    uint8_t *block = malloc(BLOCK_BYTES);
    if (!block) return ENOMEM;
    larder_status status = LARDER_OK;
    *crc = 0;
    for (uint64_t offset = 0; offset < length && !status; offset += BLOCK_BYTES) {
        size_t want = length - offset < BLOCK_BYTES ? (size_t)(length - offset) : BLOCK_BYTES;
        size_t got;
        status = file_read_at(file, block, want, offset, &got);
        if (!status && got != want) status = LARDER_EDAMAGED;
        if (!status) *crc = larder_crc32c(*crc, block, want);
        if (!status && writes) status = file_write_at(file, block, want, offset);
    }
    free(block);
    return status;
}

/** Writes once more what the file holds, if that is what it should be. */
static larder_status write_anew(int file, const spill_reference *reference) {
    file_facts facts;
    uint32_t crc;
    larder_status status = file_facts_get(file, &facts);
    if (!status && facts.bytes != reference->length) status = LARDER_EDAMAGED;
    if (!status) status = pass_over(file, reference->length, false, &crc);
    if (!status && crc != reference->crc) status = LARDER_EDAMAGED;
    if (!status) status = pass_over(file, reference->length, true, &crc);
    return status;
}

larder_status spill_sync(spill *folder, const spill_reference *reference) {
    spill_path path;
    spill_path_of_file(folder, reference->epoch, reference->number, &path);
    // One at a time: the failure that one caller is told of, another one would not be.
    pthread_mutex_lock(&folder->sync_lock);
    size_t at = unsure_find(folder, reference);
    bool is_unsure = at < folder->unsure_count;
    int file = -1;
    larder_status status = folder->unsure_all;
    if (!status) status = spill_check_store(folder);
    if (!status) {
        status = file_open(path.text, is_unsure ? FILE_WRITE : 0, 0, &file);
        if (status == ENOENT) {
            status = LARDER_ENOTFOUND;
            unsure_forget(folder, at);
        }
    }
    if (!status && is_unsure && write_anew(file, reference)) status = folder->unsure[at].status;
    if (!status) {
        status = file_sync(file);
        if (!status) unsure_forget(folder, at);
        else if (!is_unsure) unsure_add(folder, reference, status);
    }
    file_close(file);
    pthread_mutex_unlock(&folder->sync_lock);
    return status;
}
