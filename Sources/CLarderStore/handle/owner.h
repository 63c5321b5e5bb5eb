// SPDX-License-Identifier: MIT
/** @file owner.h
    Private: who has the store open for writing: the file `lock`. */
#ifndef LARDER_OWNER_H
#define LARDER_OWNER_H

#include "handle/handle.h"

/** What the last handle that wrote left in the lock's file. */
typedef struct owner_text {
    /** 0: it was shut down, with all that it had on the device. */
    int64_t pid;
    char boot[33];
    /** The machine has rebooted since then: pages may be missing that nobody synced. */
    bool is_other_boot;
} owner_text;

void larder_owner_boot(char out[33]);
LARDER_MUST_CHECK larder_status larder_owner_write(const larder_store *store, int64_t pid);
LARDER_MUST_CHECK larder_status larder_owner_take(larder_store *store, owner_text *past,
                                                  larder_store_detail *detail);
/** @param is_clean everything is on the device: 0 instead of the process says so. */
void larder_owner_release(larder_store *store, bool is_clean);
/** Whether whoever had the store open for writing last ran before the machine was started again.
    @param holder_pid receives the process, this one too, that has it open; 0 if there is none. */
bool larder_store_was_cut(const larder_store *store, int64_t *holder_pid);

#endif
