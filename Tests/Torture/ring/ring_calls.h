// SPDX-License-Identifier: MIT
/** @file ring_calls.h
    Of rings what has to be arranged: bodies for torture_guard. */
#ifndef TORTURE_RING_CALLS_H
#define TORTURE_RING_CALLS_H

#include "torture.h"

/** What fails, or happens, just as a call of the system is made. */
void ring_calls(torture *run, void *context);
/** Memory of a ring that is hurt under its handle, and files under those who read them. */
void ring_hurt(torture *run, void *context);
/** A log whose file is deleted, moved or replaced. */
void ring_places(torture *run, void *context);

#endif
