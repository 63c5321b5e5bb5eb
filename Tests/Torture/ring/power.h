// SPDX-License-Identifier: MIT
/** @file power.h
    A model of a disk that loses power.

    What counts as durable is what the file held when a sync system call on it ended: the calls are
    intercepted at link time, so a library that only says it synced is found out. After that every
    page may be in any version it had since.

    A sync that fails leaves every page as if it were written: the next one brings those pages alone
    to the device that were stored to in between, which write-protected mappings tell. */
#ifndef TORTURE_POWER_H
#define TORTURE_POWER_H

#include <sys/types.h>

#include "ledger.h"

enum { VAULT_SNAPSHOTS = 6, VAULT_PAGE_BYTES = 4096, VAULT_PAGES = 128 };

/** Versions of one file, in shared memory. */
typedef struct vault {
    size_t room;
    /** Which of the two bases holds: 0 none yet, 1 or 2. */
    _Atomic uint32_t base;
    _Atomic uint32_t snapshots;
    _Atomic uint64_t syncs;
    /** Syncs of folders that ended. */
    _Atomic uint64_t folder_syncs;
    /** Syncs of the file that failed, and the pages that were stored to since. */
    _Atomic uint64_t failures;
    _Atomic uint8_t stored[VAULT_PAGES];
    size_t base_size[2];
    size_t snapshot_size[VAULT_SNAPSHOTS];
    uint8_t *bases[2];
    uint8_t *snapshot[VAULT_SNAPSHOTS];
    uint8_t *final;
    size_t final_size;
} vault;

/** The vault that intercepted syncs go to, in this process; NULL for none. */
extern vault *power_vault;

/** A mapping begins or ends, and bytes were stored without one. */
void power_mapped(void *at, size_t size, int protection, int flags, int file, off_t offset);
void power_unmapped(void *at);
void power_stored(int file);

vault *vault_make(size_t room);
void vault_clear(vault *store);
/** Keeps what the file holds now as one version a page may have. */
void vault_snapshot(vault *store, int file);

/** Puts an image together at `target`: pages or sectors of any version since the last sync.
    @return its size. */
size_t power_image(const vault *store, rng *random, uint8_t *target);

#endif
