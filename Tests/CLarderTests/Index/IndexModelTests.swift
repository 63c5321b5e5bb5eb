// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// Random calls for each policy, each compared with what a dictionary and arrays do: a million in a
/// long run. With `LARDER_MODEL_CALLS` in the environment, so many in each of its plans.
@Suite("Index: against a model")
struct IndexModelTests {
  private static let calls = ProcessInfo.processInfo.environment["LARDER_MODEL_CALLS"]
    .flatMap { Int($0) }

  /// A million calls in all.
  static func plans(_ policy: larder_index_policy) -> [IndexPlan] {
    let seed = UInt64(policy.rawValue) * 100
    return [
      IndexPlan(
        policy: policy, seed: seed + 1, operations: 150_000, keys: 30, countLimit: 9,
        liftsLimits: true, pins: true, expires: true),
      IndexPlan(policy: policy, seed: seed + 2, operations: 120_000, keys: 400, countLimit: 120),
      IndexPlan(policy: policy, seed: seed + 3, operations: 220_000, keys: 100, countLimit: 25),
      IndexPlan(
        policy: policy, seed: seed + 4, operations: 110_000, keys: 200, costLimit: 400,
        mostCost: 24, liftsLimits: true, pins: true),
      IndexPlan(
        policy: policy, seed: seed + 5, operations: 110_000, keys: 100, countLimit: 30,
        costLimit: 150, mostCost: 12, liftsLimits: true, expires: true),
      IndexPlan(
        policy: policy, seed: seed + 6, operations: 100_000, keys: 100, pins: true, expires: true),
      IndexPlan(
        policy: policy, seed: seed + 7, operations: 30_000, keys: 12_000, countLimit: 2500,
        liftsLimits: true),
      IndexPlan(
        policy: policy, seed: seed + 8, operations: 60_000, keys: 100, countLimit: 40,
        hashes: .equal),
      IndexPlan(
        policy: policy, seed: seed + 9, operations: 50_000, keys: 300, countLimit: 100,
        liftsLimits: true, hashes: .lowBits),
      IndexPlan(
        policy: policy, seed: seed + 10, operations: 50_000, keys: 300, countLimit: 100,
        liftsLimits: true, expires: true, hashes: .highBits),
    ]
  }

  static let policies = [
    LARDER_INDEX_LRU, LARDER_INDEX_FIFO, LARDER_INDEX_S3FIFO, LARDER_INDEX_ADAPTIVE,
  ]

  /// The first of each policy has the deep check after each of a hundred thousand calls.
  @Test(arguments: policies.flatMap(plans))
  func anIndexDoesWhatItsModelDoes(plan: IndexPlan) throws {
    var plan = plan
    let operations = plan.operations
    plan.operations =
      Self.calls ?? effort(operations / 5, long: operations, sanitized: operations / 10)
    var driver = try IndexDriver(plan)
    do {
      try driver.run(checks: plan.seed % 100 == 1 ? 100_000 : 1000)
      if isSanitized { return }
      // All that can happen did.
      #expect(driver.hits > 0 && driver.misses > 0)
      let gone = driver.model.gone
      #expect(gone[0] > 0 && gone[1] > 0)
      #expect((gone[2] > 0) == plan.expires)
      #expect((gone[3] > 0) == (plan.countLimit != nil))
      #expect((gone[4] > 0) == (plan.costLimit != nil))
    } catch {
      Issue.record("\(plan), started with \(driver.generator.seed), step \(driver.step): \(error)")
    }
  }

  @Test func aMillionCallsAreMadeForEachPolicy() {
    for policy in Self.policies {
      #expect(Self.plans(policy).map(\.operations).reduce(0, +) >= 1_000_000)
    }
  }
}
