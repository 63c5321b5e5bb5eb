// SPDX-License-Identifier: MIT

@_exported public import LarderCore

#if LARDER_TSAN
  @usableFromInline typealias Mutex = WatchedMutex
#endif
