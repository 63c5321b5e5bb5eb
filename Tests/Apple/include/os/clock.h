// SPDX-License-Identifier: MIT
// Sources: Libsystem's os/clock.h; os_sync_wait_on_address_with_timeout(3).
#ifndef LARDER_DARWIN_OS_CLOCK_H
#define LARDER_DARWIN_OS_CLOCK_H

#include <stdint.h>

typedef enum os_clockid : uint32_t {
    OS_CLOCK_MACH_ABSOLUTE_TIME = 32,
} os_clockid_t;

#endif
