// SPDX-License-Identifier: MIT
// Sources: Libc's include/inttypes.h. 64 bits are a long long.
#ifndef LARDER_DARWIN_INTTYPES_H
#define LARDER_DARWIN_INTTYPES_H

#include <stdint.h>

#define SCNu64 "llu"
#define SCNx64 "llx"

#endif
