// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

/// Keeps a store within its size, whatever is written to it at the same time.
///
/// Making room costs a flush. So it makes a tenth of the limit at a time, and between two
/// times of that it only adds up what comes: `bound` is never less than what is stored.
final class ArchiveRoom: Sendable {
  private let limit: Atomic<Int>
  private let bound = Mutex(Int.max)

  init(limit: DataSize?) {
    self.limit = Atomic(limit.map { max(0, $0.bytes) } ?? .max)
  }

  var isUnlimited: Bool { limit.load(ordering: .relaxed) == .max }

  /// nil for no limit.
  var maximum: DataSize? {
    let limit = limit.load(ordering: .relaxed)
    return limit == .max ? nil : DataSize(bytes: limit)
  }

  /// Sets another limit, and makes the store obey it.
  func setMaximum(_ maximum: DataSize?, _ store: StoreHandle, expires: Bool) throws(LarderError) {
    let bytes = maximum.map { max(0, $0.bytes) } ?? .max
    bound.withLock { bound in
      limit.store(bytes, ordering: .relaxed)
      bound = .max
    }
    try enforce(store, expires: expires)
  }

  /// Evicts what is too much.
  func enforce(_ store: StoreHandle, expires: Bool) throws(LarderError) {
    try bound.withLock { bound throws(LarderError) in
      let limit = limit.load(ordering: .relaxed)
      if limit == .max { return }
      if try store.size() > limit { try Self.trim(store, to: limit, expires: expires) }
      bound = try store.size()
    }
  }

  /// Believes nothing that was counted: others may have written.
  func forget() { bound.withLock { $0 = .max } }

  /// Calls the body, which writes so many bytes, when there is room for them.
  ///
  /// - Parameters:
  ///   - replaced: How many bytes what is written takes the place of; counts as a use of
  ///     them, so that they are not what leaves.
  /// - Throws: `.tooLarge` if there can never be room.
  func withRoom<R: Sendable>(
    for size: Int, in store: StoreHandle, expires: Bool,
    replacing replaced: () throws(LarderError) -> Int, _ body: () throws(LarderError) -> R
  ) throws(LarderError) -> R {
    if isUnlimited { return try body() }
    return try bound.withLock { bound throws(LarderError) in
      let limit = limit.load(ordering: .relaxed)
      guard size <= limit else {
        throw LarderError(
          .tooLarge,
          "\(size) bytes do not fit into \(store.path), which has a maximum size of \(limit).")
      }
      if bound > limit - size {
        bound = .max
        try Self.makeRoom(for: size, limit: limit, in: store, expires, replaced)
        bound = try store.size()
      }
      // Even if the body fails: it may have written some of it.
      bound = bound.adding(clamping: size)
      return try body()
    }
  }

  private static func makeRoom(
    for size: Int, limit: Int, in store: StoreHandle, _ expires: Bool,
    _ replaced: () throws(LarderError) -> Int
  ) throws(LarderError) {
    // What is replaced may leave in the first round; then there is nothing left of it in the
    // second, after which there is room for all.
    for _ in 0..<3 {
      let kept = try replaced()
      if try store.size().subtracting(clamping: kept) <= limit - size { return }
      let target = limit - size + min(kept, size)
      try trim(store, to: min(target, limit / 10 * 9 + limit % 10), expires: expires)
    }
  }

  private static func trim(_ store: StoreHandle, to size: Int, expires: Bool) throws(LarderError) {
    if expires {
      _ = try store.removeExpired()
      if try store.size() <= size { return }
    }
    _ = try store.trim(count: .max, bytes: UInt64(max(0, size)))
  }
}

extension StoreHandle {
  /// The bytes of all values.
  func size() throws(LarderError) -> Int { Int(clamping: try totals().bytes) }
}
