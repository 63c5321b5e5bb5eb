// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport

/// A difference between an index and its model.
struct IndexDifference: Error, CustomStringConvertible {
  var description: String
}

/// Makes random calls of an index and of its model, and compares what they do.
struct IndexDriver {
  let plan: IndexPlan
  var generator: SeededGenerator
  let index: Index
  var model: IndexModel
  var now: Int64 = 0
  var hits: UInt64 = 0
  var misses: UInt64 = 0
  var step = 0

  init(_ plan: IndexPlan, functions: IndexFunctions = .linked) throws {
    self.plan = plan
    generator = SeededGenerator(seed: plan.seed)
    let count = plan.countLimit.map { UInt64($0) } ?? .max
    let cost = plan.costLimit.map { UInt64($0) } ?? .max
    let hashes = plan.hashes
    index = try Index(
      plan.policy, count: count, cost: cost, functions: functions, hash: { hashes($0) })
    model = IndexModel(policy: plan.model, countLimit: count, costLimit: cost)
  }

  /// Runs the plan: the deep check after each of the first calls and then now and then.
  mutating func run(checks: Int) throws {
    while step < plan.operations {
      try call()
      model.endHold()
      step += 1
      if step <= checks || step % 1000 == 0 {
        if let contradiction = index.contradiction { throw IndexDifference(contradiction) }
      }
      if step % (step <= checks ? 100 : 1000) == 0 { try compare() }
    }
    try compare()
  }

  private mutating func below(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: ((generator.next() >> 32) &* UInt64(bound)) >> 32)
  }

  /// Small ones more often.
  private mutating func randomKey() -> UInt64 {
    UInt64(below(4) == 0 ? below(plan.keys) : below(1 + plan.keys / 8))
  }

  private func expect(_ isRight: Bool, _ comment: @autoclosure () -> String) throws {
    if !isRight { throw IndexDifference(comment()) }
  }

  // MARK: - Calls

  private mutating func call() throws {
    let key = randomKey()
    switch below(1000) {
    case 0..<470: try get(key)
    case 470..<850: try set(key)
    case 850..<880: try peek(key)
    case 880..<900: try touch(key)
    case 900..<930: try remove(key)
    case 930..<950: if plan.pins { try pin(key) }
    case 950..<970: if plan.expires { try expire(key) }
    case 970..<990: if plan.expires { advance() }
    case 990..<995: try changeLimits()
    case 995..<997: if plan.expires { try changeExpiry() }
    case 997: if below(20) == 0 { try clear() }
    case 998:
      // More reads than are noted before somebody has to hear of them.
      for _ in 0..<below(200) { try get(randomKey()) }
    default: try compare()
    }
  }

  private mutating func get(_ key: UInt64) throws {
    let value = index.get(key)
    let should = model.find(key, now: now)?.value
    try expect(value == should, "get of \(key): \(value as Any), not \(should as Any)")
    if should != nil { model.touch(key, now: now) }
    if should == nil { misses += 1 } else { hits += 1 }
  }

  private func peek(_ key: UInt64) throws {
    let value = index.get(key, quietly: true)
    let should = model.find(key, now: now)?.value
    try expect(value == should, "peek of \(key): \(value as Any), not \(should as Any)")
  }

  /// As one who holds the index for writing while he reads.
  private mutating func touch(_ key: UInt64) throws {
    let isThere = index.writing {
      let slot = index.find(key)
      if slot != Index.none { index.c.touch(index.raw, slot) }
      return slot != Index.none
    }
    let should = model.find(key, now: now) != nil
    try expect(isThere == should, "\(key) there: \(isThere), not \(should)")
    if should { model.touch(key, now: now) }
  }

  private mutating func set(_ key: UInt64) throws {
    let cost = UInt64(plan.mostCost > 0 ? below(plan.mostCost + 1) : 0)
    let expired = model.expire(now: now).map { IndexGone($0, LARDER_INDEX_EXPIRED) }
    let own = plan.expires && below(8) == 0 ? randomExpiry() : nil
    let gone = try index.set(
      key, UInt64(step), cost: cost, expiry: own.map { larder_index_expiry($0) })
    if model.entries[key] == nil {
      model.insert(
        key, hash: plan.hashes(key), cost: cost, value: UInt64(step), now: now)
    } else {
      model.rewrite(key, cost: cost, value: UInt64(step), now: now)
    }
    if let own { model.setExpiry(own, of: key, now: now) }
    try expectGone(gone, expired, "set of \(key) at \(cost)")
  }

  /// What went is what had to go: what expired in any order, the rest in the model's.
  private mutating func expectGone(
    _ gone: [IndexGone], _ expired: [IndexGone], _ what: String
  ) throws {
    var should: [IndexGone] = []
    while let (key, cause) = model.evict() {
      should.append(IndexGone(key, larder_index_cause(UInt32(cause.rawValue))))
    }
    let first = gone.prefix(expired.count)
    try expect(
      gone.dropFirst(expired.count).elementsEqual(should)
        && (expired.isEmpty || Set(first.map(\.key)) == Set(expired.map(\.key)))
        && first.allSatisfy { $0.cause == LARDER_INDEX_EXPIRED },
      "\(what): \(gone) went, not \(expired + should)")
  }

  private mutating func remove(_ key: UInt64) throws {
    let isReplaced = below(4) == 0
    let isThere = index.remove(key, isReplaced ? LARDER_INDEX_REPLACED : LARDER_INDEX_REMOVED)
    let should = model.find(key, now: now) != nil
    try expect(isThere == should, "remove of \(key): \(isThere), not \(should)")
    if should { model.take(key, isReplaced ? .replaced : .removed) }
  }

  private mutating func pin(_ key: UInt64) throws {
    guard model.find(key, now: now) != nil else { return }
    // Most are let go soon, or nothing could be evicted any more.
    let isPinned = below(3) == 0
    try index.pin(key, isPinned)
    model.pin(key, isPinned)
    if !isPinned { try expectGone(index.writing { index.evictAll() }, [], "unpin of \(key)") }
  }

  private mutating func changeLimits() throws {
    var count = plan.countLimit.map { UInt64(below($0 + 1)) } ?? .max
    var cost = plan.costLimit.map { UInt64(below($0 + 1)) } ?? .max
    if below(2) == 0 { count = plan.countLimit.map { UInt64($0) } ?? .max }
    if below(2) == 0 { cost = plan.costLimit.map { UInt64($0) } ?? .max }
    if plan.liftsLimits, below(3) == 0 { (count, cost) = (.max, .max) }
    let gone = try index.setLimits(count: count, cost: cost)
    model.setLimits(count: count, cost: cost)
    try expectGone(gone, [], "limits \(count) and \(cost)")
  }

  private mutating func clear() throws {
    index.clear(keepingCapacity: below(2) == 0)
    model.clear()
    try compare()
  }

  // MARK: - Time

  private mutating func advance() {
    // Sometimes all that is there is over at once.
    now += Int64(below(20) == 0 ? below(1_000_000) : below(100))
    index.world.time = now
  }

  private mutating func randomExpiry() -> IndexModel.Expiry {
    var expiry = IndexModel.Expiry()
    let kinds = below(8)
    if kinds & 1 != 0 { expiry.afterWrite = Int64(below(2000)) }
    if kinds & 2 != 0 { expiry.afterAccess = Int64(below(500)) }
    if kinds & 4 != 0 { expiry.at = now + Int64(below(3000)) - 100 }
    return expiry
  }

  private mutating func expire(_ key: UInt64) throws {
    guard model.find(key, now: now) != nil else { return }
    let own = below(4) == 0 ? nil : randomExpiry()
    try index.at(key) { slot in
      if let own {
        var expiry = larder_index_expiry(own)
        try check(index.c.setEntryExpiry(index.raw, slot, &expiry))
      } else {
        try check(index.c.setEntryExpiry(index.raw, slot, nil))
      }
    }
    model.setExpiry(own, of: key, now: now)
  }

  private mutating func changeExpiry() throws {
    let expiry = below(2) == 0 ? IndexModel.Expiry() : randomExpiry()
    try index.setExpiry(write: expiry.afterWrite, access: expiry.afterAccess, at: expiry.at)
    model.setExpiry(expiry, now: now)
  }
}

extension IndexDifference {
  init(_ description: String) { self.description = description }
}

extension larder_index_expiry {
  init(_ expiry: IndexModel.Expiry) {
    self.init(write: expiry.afterWrite, access: expiry.afterAccess, at: expiry.at)
  }
}
