// SPDX-License-Identifier: MIT
/** @file children.h
    Child processes that are another user, or that get little time, memory and disk. */
#ifndef TORTURE_CHILDREN_H
#define TORTURE_CHILDREN_H

#include "torture.h"

/** Whether this process may become another user. */
bool hostile_has_other_user(void);
/** Runs `body` in a child that is another user, in the folder `path`, and waits for its end.
    @return whether it could, and `body` returned true. */
bool hostile_as_other(const char *path, bool (*body)(void *context), void *context);
/** The same, and goes on as soon as the child says so, or has ended; it is to be killed.
    @param body calls `ready` with what it is given.
    @return the child, or -1. */
pid_t hostile_start(const char *path, bool is_other, void (*body)(void *context, int ready),
                    void *context);
void hostile_end(pid_t child);

// In the child of torture_guard_each, whose trials each get so much and no more:

/** So many seconds of processor, and 256 MB of memory. More of the one ends the process, more of
    the other gives ENOMEM, or where a sanitizer needs addresses fails the trial at its end. */
void hostile_begin(unsigned seconds);
void hostile_end_of(torture *run);
/** Files of so many bytes; a longer one gives EFBIG. */
void hostile_limit_files(uint64_t bytes);

#endif
