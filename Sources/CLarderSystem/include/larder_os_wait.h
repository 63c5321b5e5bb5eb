// SPDX-License-Identifier: MIT
/** @file larder_os_wait.h
    Private to Larder: sleeping on a word of memory (futex on Linux, os_sync_wait_on_address on
    Apple systems). */
#ifndef LARDER_OS_WAIT_H
#define LARDER_OS_WAIT_H

#include <stdatomic.h>

#include "larder_base.h"

// liblarder-store calls them in liblarder.
#pragma GCC visibility push(default)

/** Sleeps while `*word` is `expected`, until somebody wakes its sleepers. May return early: ask the
    word again. A system without such a call yields the processor instead. */
void larder_os_wait(_Atomic uint32_t *word, uint32_t expected);
/** Wakes every thread of this process that sleeps on the word. */
void larder_os_wake_all(_Atomic uint32_t *word);

#pragma GCC visibility pop

#endif
