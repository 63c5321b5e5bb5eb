// SPDX-License-Identifier: MIT

// Everything in this module is behind the trait `Remote`: without it the module is empty, and
// swift-nio is not even fetched.
#if Remote && LARDER_TSAN
  import LarderCore

  typealias Mutex = WatchedMutex
#endif
