// SPDX-License-Identifier: MIT
// Sources: os_sync_wait_on_address(3); Libsystem's os/os_sync_wait_on_address.h.
#ifndef LARDER_DARWIN_OS_SYNC_WAIT_ON_ADDRESS_H
#define LARDER_DARWIN_OS_SYNC_WAIT_ON_ADDRESS_H

#include <os/clock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/cdefs.h>

#define DARWIN_SYNC                                                                                \
    __attribute__((availability(macos, introduced = 14.4), availability(ios, introduced = 17.4),   \
                   availability(tvos, introduced = 17.4),                                          \
                   availability(watchos, introduced = 10.4)))

typedef enum : uint32_t {
    OS_SYNC_WAIT_ON_ADDRESS_NONE = 0,
    OS_SYNC_WAIT_ON_ADDRESS_SHARED = 1,
} os_sync_wait_on_address_flags_t;

typedef enum : uint32_t {
    OS_SYNC_WAKE_BY_ADDRESS_NONE = 0,
    OS_SYNC_WAKE_BY_ADDRESS_SHARED = 1,
} os_sync_wake_by_address_flags_t;

DARWIN_SYNC int os_sync_wait_on_address(void *address, uint64_t value, size_t size,
                                        os_sync_wait_on_address_flags_t flags);
DARWIN_SYNC int os_sync_wait_on_address_with_timeout(void *address, uint64_t value, size_t size,
                                                     os_sync_wait_on_address_flags_t flags,
                                                     os_clockid_t clock, uint64_t timeout_ns);
DARWIN_SYNC int os_sync_wake_by_address_all(void *address, size_t size,
                                            os_sync_wake_by_address_flags_t flags);

#endif
