// SPDX-License-Identifier: MIT

package import Synchronization

/// What is counted of the loads of one cache.
package final class MemoryLoadCounts: Sendable {
  package let loads = Atomic<UInt64>(0)
  package let failures = Atomic<UInt64>(0)
  private let nanoseconds = Atomic<UInt64>(0)
  package let refreshes = Atomic<UInt64>(0)
  /// Callers that waited for a load that another one had started.
  package let shared = Atomic<UInt64>(0)
  /// Old values returned because a load failed or took too long.
  package let stale = Atomic<UInt64>(0)
  package let timeouts = Atomic<UInt64>(0)

  @usableFromInline
  package init() {}

  package var time: Duration {
    .nanoseconds(Int64(clamping: nanoseconds.load(ordering: .relaxed)))
  }

  /// Counts the end of a call of a loader, unless it was counted when it took too long.
  package func count(_ run: MemoryLoadRun, nanoseconds time: Int64, failed: Bool) {
    if run.count() { count(nanoseconds: time, failed: failed) }
  }

  func count(nanoseconds time: Int64, failed: Bool) {
    loads.add(1, ordering: .relaxed)
    if failed { failures.add(1, ordering: .relaxed) }
    // A clock of the caller's may tell anything.
    nanoseconds.wrappingAdd(UInt64(max(0, time)), ordering: .relaxed)
  }

  package func reset() {
    loads.store(0, ordering: .relaxed)
    failures.store(0, ordering: .relaxed)
    nanoseconds.store(0, ordering: .relaxed)
    refreshes.store(0, ordering: .relaxed)
    shared.store(0, ordering: .relaxed)
    stale.store(0, ordering: .relaxed)
    timeouts.store(0, ordering: .relaxed)
  }
}
