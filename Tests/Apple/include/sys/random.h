// SPDX-License-Identifier: MIT
// Sources: getentropy(2); xnu's bsd/sys/random.h. There is no getrandom.
#ifndef LARDER_DARWIN_SYS_RANDOM_H
#define LARDER_DARWIN_SYS_RANDOM_H

#include <sys/types.h>

int getentropy(void *buffer, size_t length);

#endif
