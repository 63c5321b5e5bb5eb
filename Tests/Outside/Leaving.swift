// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import Larder
import LarderTestSupport

/// A cache is released while it does something by itself, and opened again at once: that is waited
/// for, and nothing of it is lost.
enum Leaving {
  private enum Work: CaseIterable { case hotKeys, refresh, batchRefresh, writeBack }

  private static let (old, new) = (Data("old".utf8), Data("new".utf8))

  static func run(_ session: Session) async throws {
    for work in Work.allCases {
      let path = session.path("\(work)")
      let first = try cache(path, work)
      try await first.set(old, forKey: 1)
      try await first.close()
      try await leave(path, work)
      // On a thread that no work needs.
      let again = try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(with: Result { try cache(path, work) })
        }
      }
      let found = try await again.value(forKey: 1)
      expect(
        found == (work == .hotKeys ? old : new), "What a cache does by itself is waited for",
        "\(work): there is \(found.map { String(bytes: $0, encoding: .utf8) ?? "" } ?? "nothing")")
      try await again.close()
    }
  }

  /// Returns when the work alone has the cache, which it will for a while.
  private static func leave(_ path: String, _ work: Work) async throws {
    let (hasBegun, mayEnd) = (Locked(false), Locked(false))
    let begins: @Sendable () -> Void = {
      hasBegun.withLock { $0 = true }
      blockUntil { mayEnd.withLock { $0 } }
    }
    let load: @Sendable () async -> Data = {
      hasBegun.withLock { $0 = true }
      await until { mayEnd.withLock { $0 } }
      return new
    }
    let left = try cache(path, work) { if work == .hotKeys || work == .writeBack { begins() } }
    switch work {
    case .hotKeys: break
    case .writeBack: try await left.set(new, forKey: 1)
    case .refresh: _ = try await left.value(forKey: 1) { await load() }
    case .batchRefresh: _ = try await left.values(forKeys: [1]) { _ in [1: await load()] }
    }
    await until { hasBegun.withLock { $0 } }
    // Longer than an opening takes that does not wait.
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { mayEnd.withLock { $0 = true } }
  }

  private static func cache(
    _ path: String, _ work: Work, coding: @escaping @Sendable () -> Void = {}
  ) throws -> Cache<Int, Data> {
    var configuration = CacheConfiguration<Int, Data>()
    configuration.keepsHotKeys = work == .hotKeys
    configuration.writePolicy = work == .writeBack ? .writeBack() : .writeThrough
    configuration.memory.refreshAfter = .zero
    let coder = Coder<Data>(
      encode: { value in
        coding()
        return value
      },
      decode: { bytes in
        coding()
        return bytes
      })
    return try Cache(
      at: .path(path), coder: coder, keyCoder: .standard, configuration: configuration)
  }
}
