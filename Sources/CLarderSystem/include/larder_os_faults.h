// SPDX-License-Identifier: MIT
/** @file larder_os_faults.h
    Private to Larder, and built with LARDER_FAULTS only: what makes the n-th pass of a fault point
    fail. */
#ifndef LARDER_OS_FAULTS_H
#define LARDER_OS_FAULTS_H

#include <stdbool.h>

#include "larder_base.h"

LARDER_ASSUME_NONNULL_BEGIN
/** What happens at a fault point instead of the call. */
enum { LARDER_FAULT_SHORT = -1 };
/** From now on the `nth` pass (1 is the next one) of the point `call` fails with `error`, an errno,
    and if `nth` is negative, the pass that its amount says and each that follows;
    with LARDER_FAULT_SHORT, a read or write moves a single byte. NULL ends it. */
LARDER_API void larder_fault_set(const char *LARDER_NULLABLE call, int nth, int error);
/** Passes the point `call`, for what is not a call on a file. 0, or what it fails with. */
LARDER_API int larder_fault_at(const char *call);
/** How often the point was passed since larder_fault_set. */
LARDER_API int larder_fault_passes(void);
/** Whether every file has one name from now on: for those whose other one is a harness's. */
LARDER_API void larder_fault_hide_links(bool hides);
/** The boot id that the next opens see; NULL for the real one. */
LARDER_API void larder_fault_boot_id(const uint8_t *LARDER_NULLABLE id);
/** From now on the machine was suspended `ns` nanoseconds longer. */
LARDER_API void larder_fault_suspend(int64_t ns);
/** From now on the coarse clock is `ns` nanoseconds later, where there is one. */
LARDER_API void larder_fault_late_clock(int64_t ns);
/** From now on the calendar's clock is `ns` nanoseconds ahead of what it was at the beginning. */
LARDER_API void larder_fault_set_clock(int64_t ns);
LARDER_ASSUME_NONNULL_END

#endif
