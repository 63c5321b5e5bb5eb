// SPDX-License-Identifier: MIT
/** @file spill.h
    Private: values in files of their own.

        <store>/spill/<epoch, 8 hex digits>/<number, 16 hex digits>

    A file is written once, whole, under a number that was never used before, and never changed.
    Its name says nothing of the key. The journal announces a number before its file is made
    (an intent), so that a crash leaves no file that nobody knows of. Removing everything opens a
    new epoch, and deletes the old folder. */
#ifndef LARDER_SPILL_H
#define LARDER_SPILL_H

#include "record.h"

typedef struct spill spill;

/** Takes hold of the folder `<store>/spill`; makes it when the first value comes.

    What is made, moved or deleted below it goes by paths. If somebody removed the store's folder,
    and perhaps made another store in its place, the numbers of files are the same there: so each of
    these calls first looks whether the folder is the one that it was, and gives ENOENT if not. */
LARDER_MUST_CHECK larder_status spill_open(const char *store, uint32_t mode, spill **out);
void spill_close(spill *spill);
/** Whether the store's folder is the one that was opened. @return LARDER_OK; ENOENT; an errno. */
LARDER_MUST_CHECK larder_status spill_check_store(const spill *spill);

/** Writes a value to its file, without a sync, and fills reference->length and ->crc; number and
    epoch are given. On failure the file is gone again. */
LARDER_MUST_CHECK larder_status spill_write(spill *spill, larder_bytes value,
                                            spill_reference *reference);
/** Moves a file to the folder of another epoch: a removal of everything came between. */
LARDER_MUST_CHECK larder_status spill_move(spill *spill, const spill_reference *from,
                                           uint32_t epoch);
/** Content of the file, and then with spill_sync_folders its name, to the device. Once that failed,
    the file is written anew before it is believed; until then it fails again.
    @return LARDER_ENOTFOUND if the file is not there. */
LARDER_MUST_CHECK larder_status spill_sync(spill *spill, const spill_reference *reference);
LARDER_MUST_CHECK larder_status spill_sync_folders(spill *spill, uint32_t epoch);

/** That a whole epoch's folder is gone, to the device. */
LARDER_MUST_CHECK larder_status spill_sync_deleted_epoch(spill *spill, uint32_t epoch);

/** Maps the file for reading; the length, and if `verifies` the checksum, must be the reference's.
    A mapping may be one that was kept; then a checksum that agreed in the last ten seconds holds,
    if the file system says that the file did not change since.
    `mapped` of an empty value is empty.
    @return LARDER_OK; ENOENT if the file is missing; LARDER_EDAMAGED; another errno. */
LARDER_MUST_CHECK larder_status spill_map(spill *spill, const spill_reference *reference,
                                          bool verifies, larder_bytes *mapped);
void spill_unmap(larder_bytes mapped);

/** Deletes a file; one that is missing is fine. */
LARDER_MUST_CHECK larder_status spill_delete(spill *spill, uint32_t epoch, uint64_t number);
/** Deletes a whole epoch's folder.
    @param progress may be NULL: files deleted so far, and of how many. ECANCELED leaves the rest.
    */
LARDER_MUST_CHECK larder_status spill_delete_epoch(spill *spill, uint32_t epoch,
                                                   larder_progress progress, void *context);
/** Calls `body` with every file there is, for larder_store_check and tests; O(files). */
LARDER_MUST_CHECK larder_status spill_list(
    spill *spill, int (*body)(void *context, uint32_t epoch, uint64_t number), void *context);

#endif
