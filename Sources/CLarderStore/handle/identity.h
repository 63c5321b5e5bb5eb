// SPDX-License-Identifier: MIT
/** @file identity.h
    Private: where a store is, and which process, since which start of the machine, has it open. */
#ifndef LARDER_IDENTITY_H
#define LARDER_IDENTITY_H

#include <pthread.h>

#include "lmdb/environment.h"

typedef struct store_identity {
    /** Absolute. */
    char *path;
    /** A byte in a page that fork(2) hands to the child as zeros. */
    const volatile uint8_t *not_forked;
    /** The one descriptor of an idle store. */
    int lock_file;
    /** This handle has made its file, and the folder. */
    bool made_lock, made_folder;
    /** The start of the machine that the lock's file names. */
    char boot[33];
    /** The log up to there is on the device, for all that the lock's file says, and its sum. */
    location synced;
    uint32_t synced_sum;
    _Atomic bool is_shut;
    /** Held by whoever shuts the store; taken before every other one. */
    pthread_mutex_t lock;
} store_identity;

/** What the last handle that wrote left in the lock's file. */
typedef struct lock_text {
    /** 0: it was shut down, with all that it had on the device. */
    int64_t pid;
    char boot[33];
    /** The machine has rebooted since then: pages may be missing that nobody synced. */
    bool is_other_boot;
    /** See larder_lock_text_synced. */
    location synced;
    uint32_t synced_sum;
} lock_text;

/** Up to where the log of the store was synced, whatever happened to the machine since; all zero
    if nothing is known of it. */
location larder_lock_text_synced(const lock_text *text, uint64_t store_id);

/** Makes this process the one that writes; the start of the machine that `boot` says stays the
    earlier one.
    @return LARDER_OK; LARDER_EBUSY, and whose it is in `detail`; or an errno. */
LARDER_MUST_CHECK larder_status larder_identity_lock(store_identity *identity, uint32_t mode,
                                                     lock_text *past, larder_store_detail *detail);
/** Opens the folder in which the locked file is: what is done by its descriptor is done to this
    store, whatever comes into the folder's place.
    @return LARDER_OK; LARDER_EREPLACED if it is not there, or an errno. */
LARDER_MUST_CHECK larder_status larder_identity_folder(const store_identity *identity, int *folder);
/** Whether a file called `lock` is none of ours: asked only where there is no store, as that of a
    store may be damaged. */
bool larder_identity_is_foreign(const store_identity *identity);
/** Releases the lock, and removes its file if this handle has made it: the folder is not a store's.
    */
void larder_identity_undo(store_identity *identity);
/** Notes this start of the machine. */
LARDER_MUST_CHECK larder_status larder_identity_note_boot(store_identity *identity);
/** Notes how far the log was synced. It is not synced itself: what an earlier sync noted holds. */
void larder_identity_note_synced(store_identity *identity, location synced, uint64_t store_id);
/** @param is_clean everything is on the device: 0 instead of the process says so. */
void larder_identity_unlock(store_identity *identity, bool is_clean);
/** Leaves word that the index is damaged: whoever opens the store to write next rebuilds it, if the
    whole log is there. */
void larder_identity_note_damage(const store_identity *identity, uint32_t mode);
bool larder_identity_has_damage(const store_identity *identity);
/** As word of the damage that a rebuild has mended, or cannot mend. */
void larder_identity_forget_damage(const store_identity *identity);
/** What whoever had the store open for writing last left in the lock's file.
    @param holder_pid receives the process, this one too, that has it open; 0 if there is none. */
lock_text larder_identity_look(const store_identity *identity, int64_t *holder_pid);

#endif
