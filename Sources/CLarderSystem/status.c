// SPDX-License-Identifier: MIT
#include "larder_status.h"

#include <errno.h>

const char *larder_version(void) { return LARDER_VERSION; }

static const char *strerror_own(larder_status status) {
    switch (status) {
    case LARDER_OK: return "success";
    case LARDER_ETOOLARGE: return "the message, key or value is larger than can ever be stored";
    case LARDER_EFULL: return "the log is full, and its policy is to refuse new messages";
    case LARDER_EBUSY: return "another writer has the file open";
    case LARDER_EVERSION: return "the file was written by another version of Larder";
    case LARDER_EMISMATCH: return "the file has another capacity, policy or content format";
    case LARDER_EDAMAGED: return "the data is damaged";
    case LARDER_EREADONLY: return "the file was opened for reading only";
    case LARDER_ECLOSED: return "the handle is closed";
    case LARDER_EINVALID: return "an argument is out of range";
    case LARDER_EFOREIGN: return "the file is not a Larder file of this kind";
    case LARDER_EFORKED: return "the handle belongs to the parent process";
    case LARDER_END: return "there are no more records";
    case LARDER_ENOSLOT: return "every cursor slot of the file is taken";
    case LARDER_ENOTFOUND: return "nothing is stored under that name";
    case LARDER_EINCOMPLETE: return "the input ends in the middle of an item";
    case LARDER_ECONFLICT: return "an entry was changed meanwhile";
    case LARDER_EOWNER: return "another user owns the file or folder";
    case LARDER_EWRITABLE: return "every user may write to the file or folder";
    case LARDER_ELINKED: return "the file has a second name, a hard link";
    case LARDER_ELOCKED: return "a process that only reads the file holds a lock on it";
    case LARDER_ELIBRARY: return "a process with another C library has the store open";
    case LARDER_EREPLACED: return "it was deleted, or another one has its name";
    default: return "unknown status";
    }
}

static const char *strerror_system(larder_status status) {
    switch (status) {
    case EACCES: return "permission denied";
    case EAGAIN: return "the resource is temporarily unavailable";
    case EBADF: return "the file descriptor is not open";
    case EBUSY: return "the device or file is busy";
    case ECANCELED: return "the operation was cancelled";
    case EDEADLK: return "waiting for the lock would never end";
    case EDQUOT: return "the disk quota is used up";
    case EEXIST: return "the file exists already";
    case EFAULT: return "an address is outside of the process's memory";
    case EFBIG: return "the file would be larger than allowed";
    case EINTR: return "the call was interrupted by a signal";
    case EINVAL: return "the system does not accept an argument";
    case EIO: return "the device reported an input or output error";
    case EISDIR: return "a directory is where a file is needed";
    case ELOOP: return "the path has too many symbolic links, or ends in one";
    case EMFILE: return "the process has too many files open";
    case EMLINK: return "the file has too many links";
    case ENAMETOOLONG: return "the path or a name in it is too long";
    case ENFILE: return "the system has too many files open";
    case ENODEV: return "the device does not support this";
    case ENOENT: return "there is no such file or directory";
    case ENOLCK: return "the system has no more file locks";
    case ENOMEM: return "the system has not enough memory";
    case ENOSPC: return "no space is left on the device";
    case ENOSYS: return "the system does not have this function";
    case ENOTDIR: return "a part of the path is not a directory";
    case ENOTEMPTY: return "the directory is not empty";
    case ENOTSUP: return "the file system does not support this";
    case ENXIO: return "there is no such device or address";
    case EOVERFLOW: return "a number does not fit its type";
    case EPERM: return "the operation is not permitted";
    case EPIPE: return "nobody reads the other end of the pipe";
    case ERANGE: return "a result is out of range";
    case EROFS: return "the file system is read-only";
    case ESPIPE: return "a pipe or a socket is where a file is needed";
    case ESTALE: return "the file on the server is gone";
    case ETIMEDOUT: return "the operation took too long";
    case ETXTBSY: return "the file is a program that is running";
    case EXDEV: return "the two paths are on different file systems";
    default: return "unknown status";
    }
}

const char *larder_strerror(larder_status status) {
    return status > 0 ? strerror_system(status) : strerror_own(status);
}
