// SPDX-License-Identifier: MIT
/** @file lmdb_supported.h
    Private: LMDB's header, of the one version that Larder works with. Its 0.9 writes the pages that
    tree_page.h reads, data version 1; later ones write others. What a program is linked with when
    it runs, larder_environment_open looks at. */
#ifndef LARDER_LMDB_SUPPORTED_H
#define LARDER_LMDB_SUPPORTED_H

#if __has_include(<clmdb.h>)
// Of the package that LARDER_LMDB=bundled brings.
#include <clmdb.h>
#elif __has_include(<lmdb.h>)
#include <lmdb.h>
#else
#error "There is no lmdb.h: install LMDB 0.9, or build with LARDER_LMDB=bundled."
#endif

#if MDB_VERSION_MAJOR != 0 || MDB_VERSION_MINOR != 9
#error "Larder works with LMDB 0.9 (data version 1); the lmdb.h found here is of another version."
#endif

#endif
