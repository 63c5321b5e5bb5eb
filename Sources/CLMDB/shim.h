// SPDX-License-Identifier: MIT
// The system's LMDB.
#ifndef LARDER_SHIM_H
#define LARDER_SHIM_H

#include <lmdb.h>

#endif
