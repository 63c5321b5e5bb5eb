// SPDX-License-Identifier: MIT
import Dispatch
import LarderCore
import LarderLogTool
import Synchronization

/// The memory cache: what it keeps when there is too much, and how often it loads.
enum DemoCache {
  private static let limit = 1_000
  private static let scan = 10_000

  static func run(_ tour: Tour) throws {
    try tour.heading("A memory cache")
    tour.explain(
      """
      Two caches for \(Quantity.count(limit)) entries. 500 keys are used often; then \
      \(Quantity.count(scan)) others
      come along that nobody asks for again.
      """)
    let adaptive = kept(.adaptive)
    let lru = kept(.lru)
    tour.show("of the 500, .adaptive keeps \(adaptive.popular), .lru \(lru.popular)")
    try tour.claim(
      max(adaptive.most, lru.most) <= limit,
      "Neither held more than \(Quantity.count(limit)) entries at any time.")
    try tour.claim(
      adaptive.popular > 400 && lru.popular == 0,
      ".adaptive keeps what is used, .lru exactly what came last.",
      otherwise: "They kept \(adaptive.popular) and \(lru.popular).")
    try tour.claim(loads() == 1, "Eight threads ask for a key that is missing: it is loaded once.")
  }

  private static func kept(_ policy: EvictionPolicy) -> (popular: Int, most: Int) {
    let cache = MemoryCache<Int, Int>(policy: policy, countLimit: limit)
    var most = 0
    for round in 0..<20 {
      for key in 0..<500 where cache.value(forKey: key) == nil { cache[key] = round }
    }
    for key in 500..<500 + scan {
      cache[key] = 0
      most = max(most, cache.count)
    }
    return ((0..<500).count { cache.contains($0) }, most)
  }

  /// How often a key is loaded that eight threads want.
  private static func loads() -> Int {
    let cache = MemoryCache<String, Int>()
    let loads = Atomic(0)
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      // The load below does not throw.
      _ = try? cache.value(forKey: "answer") {
        loads.add(1, ordering: .relaxed)
        return 42
      }
    }
    return loads.load(ordering: .relaxed)
  }
}
