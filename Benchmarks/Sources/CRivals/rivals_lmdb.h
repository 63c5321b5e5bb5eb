// SPDX-License-Identifier: MIT
// Private: LMDB's header, of the system or of the package that stands in for it.
#ifndef RIVALS_LMDB_H
#define RIVALS_LMDB_H

#if __has_include(<clmdb.h>)
#include <clmdb.h>
#else
#include <lmdb.h>
#endif

#endif
