// SPDX-License-Identifier: MIT
// What the other headers here share. Sources: xnu's bsd/sys/cdefs.h and compat(5).
//
// These headers declare what the C core uses of Darwin, as the manual pages and Apple's published
// headers (github.com/apple-oss-distributions) do, and nothing else: a constant that no Apple
// system has would let pass the very mistake that they are here to find. Values are Darwin's.
#ifndef LARDER_DARWIN_SYS_CDEFS_H
#define LARDER_DARWIN_SYS_CDEFS_H

#if defined(_POSIX_C_SOURCE) || defined(_XOPEN_SOURCE) || defined(_ANSI_SOURCE)
#error "Darwin hides its own declarations where one of these is defined; so ask for none of them."
#endif

#define DARWIN_FORMAT(text, first) __attribute__((__format__(__printf__, text, first)))
#define DARWIN_SCAN(text, first) __attribute__((__format__(__scanf__, text, first)))

#endif
