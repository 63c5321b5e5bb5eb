// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Many tasks at once.
struct CacheConcurrencyTests {
  /// Every value under a key has its number in it: what a reader sees never becomes older.
  @Test(arguments: [false, true])
  func whatManyTasksReadNeverBecomesOlder(isWriteBack: Bool) async throws {
    let directory = try TemporaryDirectory()
    var configuration = CacheConfiguration<Int, Int>()
    configuration.memory.countLimit = 2
    configuration.memory.policy = .lru
    if isWriteBack { configuration.writePolicy = .writeBack(queueLimit: 4) }
    let near = FakeTier<Int, Int>("near")
    configuration.furtherTiers = [near]
    let cache = try Cache(at: .path(directory.file("many").path), configuration: configuration)
    let keys = 4
    let rounds = 300
    try await withThrowingTaskGroup(of: Void.self) { group in
      for key in 0..<keys {
        group.addTask {
          for number in 1...rounds { try await cache.set(number, forKey: key) }
        }
        for _ in 0..<2 {
          group.addTask {
            var last = 0
            while last < rounds {
              let seen = try await cache.value(forKey: key) ?? 0
              #expect(seen >= last)
              if seen < last { return }
              last = seen
              await Task.yield()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    try await cache.checkpoint()
    for key in 0..<keys {
      #expect(near[key] == rounds)
      #expect(try await cache.diskCache?.value(forKey: key) == rounds)
      #expect(try await cache.value(forKey: key) == rounds)
    }
    try await cache.close()
  }

  /// Memory agrees with the disk whenever nobody writes, whatever was done at once.
  @Test func memoryAgreesWithTheDiskAfterAnything() async throws {
    let directory = try TemporaryDirectory()
    let cache = try Cache<Int, Int>(at: .path(directory.file("mixed").path))
    for round in 0..<10 {
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<8 {
          group.addTask {
            var random = SeededGenerator(seed: UInt64(round * 100 + task))
            for step in 0..<60 {
              let key = Int.random(in: 0..<6, using: &random)
              do {
                switch Int.random(in: 0..<12, using: &random) {
                case 0..<4: try await cache.set(task * 1000 + step, forKey: key)
                case 4..<6: try await cache.remove(forKey: key)
                case 6..<9: _ = try await cache.value(forKey: key)
                case 9: try await cache.update(forKey: key) { $0 = ($0 ?? 0) + 1 }
                case 10: _ = try await cache.value(forKey: key) { -step }
                default: if step % 20 == 0 { try await cache.removeAll() }
                }
              } catch {
                Issue.record(error)
              }
            }
          }
        }
      }
      for entry in cache.memoryCache.entries() {
        #expect(try await cache.diskCache?.value(forKey: entry.key) == entry.value)
      }
    }
    try await cache.close()
  }
}
