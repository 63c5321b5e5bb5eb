// SPDX-License-Identifier: MIT
// Sources: sigaction(2), sigsetops(3), sigwait(2); xnu's bsd/sys/signal.h. There is no
// sigtimedwait.
#ifndef LARDER_DARWIN_SIGNAL_H
#define LARDER_DARWIN_SIGNAL_H

#include <sys/types.h>

#define SIGBUS 10
#define SIGXFSZ 25

#define SIG_BLOCK 1
#define SIG_UNBLOCK 2
#define SIG_SETMASK 3

typedef uint32_t sigset_t;

int sigaddset(sigset_t *set, int signal);
int sigemptyset(sigset_t *set);
int sigfillset(sigset_t *set);
int sigismember(const sigset_t *set, int signal);
int sigpending(sigset_t *set);
int sigwait(const sigset_t *set, int *signal);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

#endif
