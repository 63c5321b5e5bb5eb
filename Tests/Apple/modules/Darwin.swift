// SPDX-License-Identifier: MIT
// What Swift sees of the C library is Linux's here.

@_exported import Glibc
