// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import Larder

/// Who writes which key: one writer a key, and tokens that know of all of them.
struct CacheWritersTests {
  /// A key whose group and hash say nothing.
  struct Crowded: Hashable, Sendable {
    let number: Int

    func hash(into hasher: inout Hasher) {}
  }

  @Test func aKeyHasOneWriterHoweverManyKeysAreHeldBesides() {
    let writers = CacheWriters<Crowded>()
    var random = SeededGenerator(seed: 1)
    var held: [Int: CacheWriters<Crowded>.Token] = [:]
    for _ in 0..<20_000 {
      let number = Int.random(in: 0..<8, using: &random)
      let key = Crowded(number: number)
      if let token = held[number], Bool.random(using: &random) {
        writers.end(key, token)
        held[number] = nil
      } else {
        let token = writers.take(key, true)
        #expect((token != nil) == (held[number] == nil))
        held[number] = held[number] ?? token
      }
    }
    for (number, token) in held { writers.end(Crowded(number: number), token) }
    for number in 0..<8 { #expect(writers.take(Crowded(number: number), true) != nil) }
  }

  @Test func keysOfAllGroupsAreHeldAtOnce() {
    let writers = CacheWriters<Int>()
    let tokens = (0..<1000).map { writers.begin($0) }
    for key in 0..<1000 { #expect(writers.take(key, true) == nil) }
    for (key, token) in tokens.enumerated() { writers.end(key, token) }
    for key in 0..<1000 { #expect(writers.take(key, true) != nil) }
  }

  /// Threads and tasks, for the key that is alone in its group and for the others.
  @Test(arguments: [0, 1], [false, true])
  func thoseWhoWaitForAKeyGetItInTurn(other: Int, blocks: Bool) async {
    let writers = CacheWriters<Crowded>()
    let tokens = (0...other).map { writers.begin(Crowded(number: $0)) }
    let key = Crowded(number: other)
    let order = Locked<[Int]>([])
    await withTaskGroup(of: Void.self) { group in
      for turn in 0..<4 {
        group.addTask {
          guard blocks else {
            let token = await writers.begin(key)
            order.withLock { $0.append(turn) }
            return writers.end(key, token)
          }
          await withCheckedContinuation { done in
            Thread.detachNewThread {
              let token = writers.begin(key)
              order.withLock { $0.append(turn) }
              writers.end(key, token)
              done.resume()
            }
          }
        }
        await until { writers.waiting(for: key) == turn + 1 }
      }
      #expect(order.withLock { $0 } == [])
      writers.end(key, tokens[other])
    }
    #expect(order.withLock { $0 } == [0, 1, 2, 3])
    #expect(writers.take(key, true) != nil)
  }

  @Test func tokensAreGoodWhileNobodyWrites() {
    let writers = CacheWriters<Int>()
    let before = writers.token(1)
    #expect(writers.isGood(before))
    let own = writers.begin(1)
    #expect(!writers.isGood(before) && writers.isGoodForAll(own))
    #expect(!writers.isGood(writers.token(1)))
    writers.end(1, own)
    #expect(!writers.isGood(before))
    let after = writers.token(1)
    let copying = writers.begin(1, counts: false)
    #expect(writers.isGood(after))
    writers.end(1, copying, counts: false)
    writers.beginAll()
    #expect(!writers.isGood(after))
    #expect(!writers.isGood(writers.token(1)))
    writers.endAll()
    #expect(!writers.isGood(after))
    #expect(writers.isGood(writers.token(1)))
  }

  /// A key that is not equal to itself cannot be held; nobody waits for it either.
  @Test func aKeyThatDiffersFromItselfLocksNobodyOut() {
    let writers = CacheWriters<Double>()
    for _ in 0..<10 {
      let token = writers.begin(.nan)
      writers.end(.nan, token)
    }
    for key in 0..<100 {
      let token = writers.begin(Double(key))
      #expect(writers.take(Double(key), true) == nil)
      writers.end(Double(key), token)
    }
  }
}

extension CacheWriters {
  /// How many wait for a key.
  fileprivate func waiting(for key: Key) -> Int {
    groups[group(of: key)].withLock { state in
      state.held == key ? state.waiting.count : state.others[key]?.count ?? 0
    }
  }
}
