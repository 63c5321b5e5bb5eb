// SPDX-License-Identifier: MIT
// Sources: libpthread's include/pthread/sched.h.
#ifndef LARDER_DARWIN_SCHED_H
#define LARDER_DARWIN_SCHED_H

int sched_yield(void);

#endif
