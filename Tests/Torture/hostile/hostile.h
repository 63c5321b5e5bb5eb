// SPDX-License-Identifier: MIT
/** @file hostile.h
    What others may do to logs and stores: other users of the machine, and who makes their bytes. */
#ifndef TORTURE_HOSTILE_H
#define TORTURE_HOSTILE_H

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

#endif
