// SPDX-License-Identifier: MIT

#if LARDER_TSAN
  import Foundation

  /// Stands in for `Synchronization.Mutex` in a build for Thread Sanitizer, with the same calls.
  ///
  /// That one is a futex inside Swift's standard library, where Thread Sanitizer does not see on
  /// Linux that one holder comes after the other: it would report every access. A POSIX mutex it
  /// knows, so every value behind a lock is really watched. Each module calls it `Mutex`, which
  /// hides the standard library's.
  @usableFromInline
  package struct WatchedMutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value: UnsafeMutablePointer<Value>

    @usableFromInline
    package init(_ value: consuming sending Value) {
      pthread_mutex_init(lock, nil)
      self.value = .allocate(capacity: 1)
      self.value.initialize(to: value)
    }

    deinit {
      value.deinitialize(count: 1)
      value.deallocate()
      pthread_mutex_destroy(lock)
      lock.deallocate()
    }

    @usableFromInline
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
      pthread_mutex_lock(lock)
      defer { pthread_mutex_unlock(lock) }
      return try body(&value.pointee)
    }
  }

  @usableFromInline typealias Mutex = WatchedMutex
#endif
