// SPDX-License-Identifier: MIT
/** @file larder_status.h
    The one result type. 0 is success, a positive value is an errno, a negative one is Larder's own.

    Larder's own codes start at -41,000 and go down, clear of LMDB's (-30,799 and below -30,783) and
    of Berkeley DB's. A code's number never changes and is never reused. */
#ifndef LARDER_STATUS_H
#define LARDER_STATUS_H

#include "larder_base.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

typedef int32_t larder_status;

enum {
    /** The call did what it says. */
    LARDER_OK = 0,
    /** It can never be stored: a message of 2 KiB in a ring of 1 KiB, or of 2 GiB in any ring; a
        key of 1 MiB in a store. */
    LARDER_ETOOLARGE = -41000,
    /** A ring that refuses when full has no room left; a shorter message may still fit. */
    LARDER_EFULL = -41001,
    /** Another writer holds the file, in this process or in another one. */
    LARDER_EBUSY = -41002,
    /** The file was written by a version of Larder that this one does not know; or LMDB, beneath a
        store, is of a version that Larder does not. */
    LARDER_EVERSION = -41003,
    /** The file exists with another capacity, policy or content format than was asked for. */
    LARDER_EMISMATCH = -41004,
    /** Bytes on disk contradict each other: a truncated file, a checksum that does not agree. */
    LARDER_EDAMAGED = -41005,
    /** A write through a handle that was opened for reading. */
    LARDER_EREADONLY = -41006,
    /** The handle was shut down. */
    LARDER_ECLOSED = -41007,
    /** An argument that no call of this kind can take: a capacity of 63 bytes, an empty name. */
    LARDER_EINVALID = -41008,
    /** The file is not empty and is not a file of this kind. It was left as it was. */
    LARDER_EFOREIGN = -41009,
    /** The handle was inherited over fork(2); the child has to open its own. */
    LARDER_EFORKED = -41010,
    /** There is no further record. Not a failure. */
    LARDER_END = -41011,
    /** Every cursor slot of the file is taken by another name. */
    LARDER_ENOSLOT = -41012,
    /** Nothing is stored under that name. */
    LARDER_ENOTFOUND = -41013,
    /** The input ended inside an encoded item: a varint or a frame that is cut off. */
    LARDER_EINCOMPLETE = -41014,
    /** A batch required a version of an entry that it does not have any more. */
    LARDER_ECONFLICT = -41015,
    /** Another user owns the file or folder, and could read or change what is written to it: one
        that was there before is opened for writing if the effective user or root owns it. */
    LARDER_EOWNER = -41016,
    /** Every user of the system may write to the file or folder. */
    LARDER_EWRITABLE = -41017,
    /** The file has a second name, a hard link, and writing would change what bears that, too. */
    LARDER_ELINKED = -41018,
    /** No writer has the file open, but a process that may only read it holds a read lock on it,
        as fcntl(2) allows, and keeps the writer's lock from being taken. */
    LARDER_ELOCKED = -41019,
    /** A process with another C library, or with pointers of another size, has the store open: its
        locks are not like those of this one, and each would wait for ever. */
    LARDER_ELIBRARY = -41020,
    /** What the handle has open is not what its path leads to any more: it was deleted, or another
        one has its name. Nothing was changed there. */
    LARDER_EREPLACED = -41021
};

/** A sentence without a final full stop for any status: Larder's own, or the system's for an errno.
    @return a static string, never NULL. For an unknown code, "unknown status".
    Thread-safe. An errno's text comes from a table of the common ones, never from strerror(3),
    whose buffer is shared. */
LARDER_API const char *larder_strerror(larder_status status);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
