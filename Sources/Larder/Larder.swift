// SPDX-License-Identifier: MIT

@_exported public import LarderCore

#if LARDER_TSAN
  typealias Mutex = WatchedMutex
#endif
