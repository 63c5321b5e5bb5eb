// SPDX-License-Identifier: MIT

@_exported public import Larder

#if LARDER_TSAN
  @usableFromInline typealias Mutex = WatchedMutex
#endif
