// SPDX-License-Identifier: MIT
// Sources: sysctlbyname(3); xnu's bsd/sys/sysctl.h.
#ifndef LARDER_DARWIN_SYS_SYSCTL_H
#define LARDER_DARWIN_SYS_SYSCTL_H

#include <sys/types.h>

int sysctlbyname(const char *name, void *value, size_t *length, void *set, size_t set_length);

#endif
