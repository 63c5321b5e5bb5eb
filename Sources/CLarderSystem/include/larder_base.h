// SPDX-License-Identifier: MIT
/** @file larder_base.h
    Annotations and the borrowed byte range that every other header uses. */
#ifndef LARDER_BASE_H
#define LARDER_BASE_H

// Pointers may have 32 bits, as in watches.
#ifndef __SIZEOF_INT128__
#error "Larder needs a processor of 64 bits."
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define LARDER_BEGIN_DECLS extern "C" {
#define LARDER_END_DECLS }
#else
#define LARDER_BEGIN_DECLS
#define LARDER_END_DECLS
#endif

#if defined(__clang__)
// A program that is compiled with -Wpedantic need not hear that nullability is an extension.
#define LARDER_ASSUME_NONNULL_BEGIN                                                                \
    _Pragma("clang diagnostic push")                                                               \
        _Pragma("clang diagnostic ignored \"-Wnullability-extension\"")                            \
            _Pragma("clang assume_nonnull begin")
#define LARDER_ASSUME_NONNULL_END                                                                  \
    _Pragma("clang assume_nonnull end") _Pragma("clang diagnostic pop")
#define LARDER_NULLABLE _Nullable
#define LARDER_NONNULL _Nonnull
#else
#define LARDER_ASSUME_NONNULL_BEGIN
#define LARDER_ASSUME_NONNULL_END
#define LARDER_NULLABLE
#define LARDER_NONNULL
#endif

#if defined(__GNUC__) || defined(__clang__)
#define LARDER_MUST_CHECK __attribute__((warn_unused_result))
#define LARDER_API __attribute__((visibility("default")))
#else
#define LARDER_MUST_CHECK
#define LARDER_API
#endif
/** A function that is compiled into its caller, and that the library has, too, for who finds it by
    its name. */
#define LARDER_API_INLINE LARDER_API inline

/** The version of these headers, as `major.minor.patch`. */
#define LARDER_VERSION "0.1.0"
#define LARDER_VERSION_MAJOR 0
#define LARDER_VERSION_MINOR 1
#define LARDER_VERSION_PATCH 0
/** The same in one number, for `#if`; grows with each release. */
#define LARDER_VERSION_NUMBER                                                                      \
    (LARDER_VERSION_MAJOR * 1000000 + LARDER_VERSION_MINOR * 1000 + LARDER_VERSION_PATCH)

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** The version of the library that the program runs with, which may be a later one than that of
    the headers that it was compiled with: LARDER_VERSION as it was then. Any thread. */
LARDER_API const char *larder_version(void);

/** A borrowed range of bytes: whoever hands it out says how long it is valid.
    `data` may be NULL only when `length` is 0. */
typedef struct larder_bytes {
    const void *LARDER_NULLABLE data;
    size_t length;
} larder_bytes;

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
