// SPDX-License-Identifier: MIT
/** @file environment_status.c
    LMDB's codes, said in the store's. */
#include "lmdb/environment.h"

larder_status larder_environment_status(int code) {
    switch (code) {
    case MDB_SUCCESS: return LARDER_OK;
    case MDB_NOTFOUND: return LARDER_ENOTFOUND;
    case MDB_KEYEXIST: return EEXIST;
    case MDB_VERSION_MISMATCH: return LARDER_EVERSION;
    case MDB_INVALID: return LARDER_EFOREIGN;
    case MDB_READERS_FULL: return LARDER_ENOSLOT;
    case MDB_MAP_FULL:
    case MDB_MAP_RESIZED: return EAGAIN;
    case MDB_TXN_FULL: return ENOMEM;
    case MDB_BAD_VALSIZE: return LARDER_EINVALID;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL:
    case MDB_PAGE_FULL:
    case MDB_INCOMPATIBLE: return LARDER_EDAMAGED;
    // After a failed write of the meta page LMDB refuses everything until it is reopened.
    case MDB_PANIC: return EIO;
    default: return code > 0 ? code : EIO;
    }
}
