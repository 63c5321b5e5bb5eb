// SPDX-License-Identifier: MIT
// The system's zlib, for Swift.
#ifndef LARDER_SHIM_H
#define LARDER_SHIM_H

#include <zlib.h>

#endif
