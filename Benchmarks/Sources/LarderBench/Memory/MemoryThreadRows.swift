// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

// The rows with more than one thread.
extension MemoryArea {
  static var getTwoThreads: Row {
    Row(
      id: "memory.get.2threads",
      ours: """
        two threads, one MemoryCache<Int, Int>, value(forKey:), default policy, no limits; 200,000 \
        keys in random order, after each thread has read them; wall time divided by the reads of \
        both
        """,
      rival: Rival(
        name: "ours, one thread",
        settings: "the same number of reads, on one thread, after it has read them"),
      goal: .ratio(0.6)
    ) { bench in
      let keys = Keys.integers(count)
      let ours = cache()
      ours.fill(with: keys)
      let order = Keys.shuffled(keys)
      return Contest(
        ours: { bench.onThreads(2, order, ours) { sum(of: $0, in: $1) } },
        rival: { bench.onThreads(1, order, ours) { sum(of: $0, in: $1) } })
    }
  }

  static var mixedTwoThreads: Row {
    Row(
      id: "memory.mixed.2threads",
      ours: """
        two threads, one MemoryCache<Int, Int>, default policy, no limits: nine value(forKey:), \
        one set, of 200,000 keys in random order; wall time divided by the calls of both
        """,
      rival: .lockedDictionary, goal: .none
    ) { bench in
      let keys = Keys.integers(count)
      let (ours, theirs) = filled(with: keys)
      let order = Keys.shuffled(keys)
      return Contest(
        ours: { bench.onThreads(2, order, ours) { mix($0, in: $1) } },
        rival: { bench.onThreads(2, order, theirs) { mix($0, in: $1) } })
    }
  }
}
