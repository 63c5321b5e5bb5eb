// SPDX-License-Identifier: MIT
/** @file environment_file.c
    The file of an environment, and what LMDB says. */
#include <errno.h>
#include <stdio.h>

#include "larder_os_file.h"
#include "lmdb/environment_internal.h"

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

char *larder_environment_path(file_path out, const char *folder, const char *name) {
    (void)snprintf(out, sizeof(file_path), "%s/%s", folder, name);
    return out;
}

larder_status larder_environment_file(const environment *env, int flags, int *file,
                                      larder_os_facts *facts) {
    file_path path;
    larder_status status =
        larder_os_file_open(larder_environment_path(path, env->folder, "data.mdb"), flags, 0, file);
    if (status) return status;
    status = larder_os_file_facts_get(*file, facts);
    if (!status && (facts->device != env->device || facts->inode != env->inode)) status = ENOENT;
    if (status) larder_os_file_close(*file);
    return status;
}
