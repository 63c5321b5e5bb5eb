// SPDX-License-Identifier: MIT

import Synchronization

/// A place for one object that is not in use, for all threads together.
///
/// To make a writer, with its memory, costs more than to encode a small value with it. A thread
/// that finds the place empty makes one of its own.
struct Spare<Object: AnyObject>: ~Copyable, Sendable {
  /// The address of a retained object, or 0.
  private let address = Atomic<UInt>(0)

  /// The object, which belongs to the caller now; nil if it is in use.
  @inline(__always)
  func take() -> Object? {
    let address = address.exchange(0, ordering: .acquiring)
    return UnsafeRawPointer(bitPattern: address).map {
      Unmanaged<Object>.fromOpaque($0).takeRetainedValue()
    }
  }

  /// Keeps an object that nobody else refers to.
  @inline(__always)
  func give(_ object: Object) {
    let mine = UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
    let other = address.exchange(mine, ordering: .acquiringAndReleasing)
    if let other = UnsafeRawPointer(bitPattern: other) {
      Unmanaged<Object>.fromOpaque(other).release()
    }
  }
}
