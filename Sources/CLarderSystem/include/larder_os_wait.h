// SPDX-License-Identifier: MIT
/** @file larder_os_wait.h
    Private to Larder: sleeping on a word of memory (futex on Linux, os_sync_wait_on_address on
    Apple systems), and looking again for what wakes nobody. */
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

/** The same for a word in a file that processes map, for at most that long. A system without such a
    call sleeps a millisecond at most. */
void larder_os_shared_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns);
/** Wakes every thread of every process that sleeps on the word. */
void larder_os_shared_wake_all(_Atomic uint32_t *word);
void larder_os_sleep(int64_t ns);

/** How long to sleep before another look for what another process may write, which was last seen to
    change `quiet_ns` ago: an eighth of that, so that what comes is found while it is fresh; 2 ms at
    least, and 50 at most, which is 20 looks a second at a file that nobody writes to. */
static inline int64_t larder_os_look_again_ns(int64_t quiet_ns) {
    int64_t least = 2000000, most = 50000000;
    int64_t pause = quiet_ns / 8;
    return pause < least ? least : pause > most ? most : pause;
}

#pragma GCC visibility pop

#endif
