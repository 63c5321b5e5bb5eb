// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import Synchronization

  /// Who reads all the while, and how long it took them.
  final class Load: Sendable {
    /// Reads of one kind.
    struct Times: Sendable, CustomStringConvertible {
      /// In nanoseconds: of steps of a sixteenth of their power of two.
      private var counts = Array(repeating: 0, count: 64 * 16)
      private(set) var count = 0
      private(set) var failures = 0
      /// In nanoseconds.
      private(set) var longest: UInt64 = 0

      mutating func add(_ nanoseconds: UInt64, failed: Bool) {
        count += 1
        if failed { failures += 1 }
        longest = max(longest, nanoseconds)
        let power = UInt64.bitWidth - 1 - max(16, nanoseconds).leadingZeroBitCount
        counts[power * 16 + Int(max(16, nanoseconds) >> UInt64(power - 4) & 15)] += 1
      }

      private func quantile(_ part: Double) -> Double {
        var left = Int(Double(count) * part)
        for (step, counted) in counts.enumerated() {
          left -= counted
          if left < 0 { return Double(16 + step % 16) * pow(2, Double(step / 16 - 4)) }
        }
        return 0
      }

      var median: Double { quantile(0.5) }
      var p99: Double { quantile(0.99) }

      var description: String {
        let format = median < 10_000 ? "%d (%d failed, p50 %.0f ns, p99 %.0f ns)" : Self.long
        let unit = median < 10_000 ? 1.0 : 1e6
        return String(format: format, count, failures, median / unit, p99 / unit)
      }

      private static let long = "%d (%d failed, p50 %.1f ms, p99 %.1f ms)"
    }

    /// What was read from one call of `watch` to the next.
    struct Phase: Sendable {
      var hits = Times()
      var misses = Times()
    }

    private let phase = Mutex(Phase())
    private let isOver = Atomic(false)

    func end() { isOver.store(true, ordering: .releasing) }

    /// - Returns: What was read since the last call, when so many seconds more are over.
    func watch(for seconds: Double) -> Phase {
      Thread.sleep(forTimeInterval: seconds)
      return phase.withLock { phase in
        defer { phase = Phase() }
        return phase
      }
    }

    /// Reads what is in memory, in rounds, until the end; on a thread of its own.
    func hit(_ cache: Cache<Int, Stamped>, _ keys: Int) {
      var key = 0
      while !isOver.load(ordering: .acquiring) {
        for _ in 0..<1000 {
          key = (key + 1) % keys
          let start = monotonicTime()
          let value = try? cache.value(forKey: key)
          let time = monotonicTime() - start
          phase.withLock { $0.hits.add(time, failed: value?.id != 1) }
        }
        // One of two processors is enough.
        usleep(2000)
      }
    }

    /// Reads what is nowhere, each key once, until the end.
    func miss(_ cache: Cache<Int, Stamped>, beginningAt first: Int) async {
      var key = first
      while !isOver.load(ordering: .acquiring) {
        key += 1
        let start = monotonicTime()
        var failed = false
        do { _ = try await cache.value(forKey: key) } catch { failed = true }
        let time = monotonicTime() - start
        phase.withLock { $0.misses.add(time, failed: failed) }
        try? await Task.sleep(for: .milliseconds(1))
      }
    }
  }
#endif
