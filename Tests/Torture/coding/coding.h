// SPDX-License-Identifier: MIT
/** @file coding.h
    What the trials of coded items share. */
#ifndef TORTURE_CODING_H
#define TORTURE_CODING_H

#include "torture.h"

/** What chance does not come to. */
void coding_rare(torture *run, void *context);

#endif
