// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport
import Synchronization
import Testing

@Suite("Index: payloads and where they lie") struct IndexPayloadTests {
  /// What `move` is told, and whether it was right.
  final class Ledger {
    let bytes: Int
    /// Where payloads are, so far as this knows.
    var addresses: Set<UnsafeMutableRawPointer> = []
    var moves = 0
    var isWrong = false

    init(bytes: Int) { self.bytes = bytes }

    func move(_ target: UnsafeMutableRawPointer, _ source: UnsafeMutableRawPointer) {
      moves += 1
      if addresses.remove(source) == nil || !addresses.insert(target).inserted { isWrong = true }
      target.copyMemory(from: source, byteCount: bytes)
      // Whoever reads what was moved away finds rubbish.
      source.initializeMemory(as: UInt8.self, repeating: 0xDD, count: bytes)
    }
  }

  private static func fill(_ payload: UnsafeMutableRawPointer, _ bytes: Int, _ key: UInt64) {
    payload.initializeMemory(as: UInt8.self, repeating: UInt8(key % 251), count: bytes)
  }

  private static func isRight(
    _ payload: UnsafeMutableRawPointer, _ bytes: Int, _ key: UInt64
  ) -> Bool {
    UnsafeRawBufferPointer(start: payload, count: bytes).allSatisfy { $0 == UInt8(key % 251) }
  }

  @Test(arguments: [0, 1, 8, 24, 4096], [1, 2, 4, 8, 16, 32, 64, 4096])
  func payloadsOfEverySizeLieWhereTheyShouldAndMoveAsTheyAre(bytes: Int, alignment: Int) throws {
    for isMoving in [false, true] {
      let ledger = Ledger(bytes: bytes)
      let index = try Index(LARDER_INDEX_LRU) { options in
        options.payload_bytes = bytes
        options.payload_alignment = alignment
        options.context = Unmanaged.passUnretained(ledger).toOpaque()
        options.clock = nil
        if isMoving {
          options.move = { target, source, context in
            context.map {
              Unmanaged<Ledger>.fromOpaque($0).takeUnretainedValue().move(target, source)
            }
          }
        }
      }
      let count: UInt64 = bytes < 4096 ? 300 : 40
      try index.writing {
        for key in 0..<count {
          var slot = Index.none
          try check(index.c.insert(index.raw, index.hash(key), 0, &slot))
          let payload = index.c.payload(index.raw, slot)
          #expect(Int(bitPattern: payload) % alignment == 0)
          if !ledger.addresses.insert(payload).inserted && bytes > 0 && isMoving {
            Issue.record("the place of \(key) is taken")
          }
          Self.fill(payload, bytes, key)
        }
        for key in 0..<count {
          var probe = larder_index_probe()
          index.c.first(index.raw, index.hash(key), &probe)
          while let other = probe.payload, !Self.isRight(other, bytes, key) {
            index.c.next(index.raw, &probe)
          }
          let payload = try #require(probe.payload)
          #expect(probe.slot != Index.none && payload == index.c.payload(index.raw, probe.slot))
        }
      }
      #expect((ledger.moves > 0) == isMoving)
      #expect(!ledger.isWrong || bytes == 0)
      #expect(index.contradiction == nil)
      withExtendedLifetime(ledger) {}
    }
  }

  @Test func whatCannotBeIsRefused() throws {
    func status(_ change: (inout larder_index_options) -> Void) -> Int {
      CLarderTests.status { try Index(LARDER_INDEX_LRU, change) }
    }
    #expect(status { $0.payload_alignment = 0 } == LARDER_EINVALID)
    #expect(status { $0.payload_alignment = 3 } == LARDER_EINVALID)
    #expect(status { $0.payload_alignment = 48 } == LARDER_EINVALID)
    #expect(status { $0.payload_alignment = 4096 } == LARDER_OK)
    #expect(status { $0.payload_alignment = 8192 } == LARDER_EINVALID)
    #expect(status { $0.payload_bytes = 1 << 20 } == LARDER_OK)
    #expect(status { $0.payload_bytes = 1 << 20 + 1 } == LARDER_EINVALID)
    #expect(status { $0.payload_bytes = .max } == LARDER_EINVALID)
    #expect(status { $0.policy = larder_index_policy(4) } == LARDER_EINVALID)
    #expect(status { $0.policy = larder_index_policy(.max) } == LARDER_EINVALID)
    for readers in [1, 2, 3, 64, 65, .max] as [UInt32] {
      #expect(status { $0.readers = readers } == LARDER_OK)
    }
    larder_index_destroy(nil)
  }

  @Test func theDefaultsAreWhatTheHeaderSays() {
    var options = larder_index_options()
    larder_index_options_init(&options)
    #expect(options.policy == LARDER_INDEX_ADAPTIVE)
    #expect(options.payload_bytes == 16 && options.payload_alignment == 8)
    #expect(options.count_limit == .max && options.cost_limit == .max)
    #expect(options.move == nil && options.clock == nil && options.context == nil)
    #expect(options.readers == 0)
  }

  @Test(arguments: IndexModelTests.policies)
  func aSlotStaysUntilTheNextInsertion(policy: larder_index_policy) throws {
    let index = try Index(policy, count: 200)
    for key in 0..<200 as Range<UInt64> { try index.set(key, key) }
    try index.writing {
      let slot = index.find(100)
      let payload = index.c.payload(index.raw, slot)
      for key in 0..<90 as Range<UInt64> {
        index.c.touch(index.raw, index.find(key))
        index.c.rewrite(index.raw, index.find(key), key)
        try check(index.c.pin(index.raw, index.find(key), key % 2 == 0))
        if key % 3 == 0 { index.c.take(index.raw, index.find(key), LARDER_INDEX_REMOVED) }
      }
      index.c.touch(index.raw, slot)
      var expiry = larder_index_expiry(write: 100)
      try check(index.c.setExpiry(index.raw, &expiry))
      try check(index.c.setLimits(index.raw, .max, .max))
      try check(index.c.pin(index.raw, slot, true))
      try check(index.c.setLimits(index.raw, 50, .max))
      _ = index.evictAll()
      #expect(index.find(100) == slot && index.c.payload(index.raw, slot) == payload)
      #expect(index.key(slot) == 100 && index.value(slot) == 100)
      // What was taken out stays readable until the next call.
      index.c.take(index.raw, slot, LARDER_INDEX_REPLACED)
      #expect(payload.load(as: UInt64.self) == 100)
      #expect(index.find(100) == Index.none)
    }
    #expect(index.contradiction == nil)
  }

  @Test func growthFromNothingMovesAFewTimesWhatIsThere() throws {
    let count: UInt64 = effort(60_000, long: 200_000, sanitized: 30_000)
    let index = try Index(LARDER_INDEX_LRU) { options in
      options.move = { target, source, context in
        target.copyMemory(from: source, byteCount: 16)
        context.map {
          let world = Unmanaged<IndexWorld>.fromOpaque($0).takeUnretainedValue()
          world.moves.add(1, ordering: .relaxed)
        }
      }
    }
    var moved = 0
    var most = 0
    for key in 0..<count {
      try index.set(key, key)
      let moves = index.world.moves.load(ordering: .relaxed)
      most = max(most, moves - moved)
      // A segment was replaced: each of the first sizes is looked at, and then some.
      if moves != moved && key < 6000 || key % 20_000 == 0 {
        if let contradiction = index.contradiction {
          Issue.record("with \(key + 1) entries: \(contradiction)")
          return
        }
      }
      moved = moves
    }
    // No insertion moves more than a segment.
    #expect(most <= 3840)
    #expect(moved < 5 * Int(count))
    #expect(index.contradiction == nil)
    for key in 0..<count where key % 7 == 0 { #expect(index.get(key) == key) }
    #expect(index.get(count) == nil)
    for key in 0..<count where key % 3 != 0 { #expect(index.remove(key)) }
    #expect(index.contradiction == nil)
    #expect(index.count == Int((count + 2) / 3))
    let full = index.statistics.memory_bytes
    index.clear(keepingCapacity: true)
    #expect(index.statistics.memory_bytes == full)
    #expect(index.contradiction == nil)
    index.clear()
    #expect(index.statistics.memory_bytes < full / 10)
    try index.set(1, 1)
    #expect(index.get(1) == 1)
    #expect(index.contradiction == nil)
  }

  @Test(arguments: [IndexPlan.Hashes.equal, .lowBits, .highBits])
  func badHashesAreSlowAndNotWrong(hashes: IndexPlan.Hashes) throws {
    // More than a segment holds.
    let count: UInt64 = effort(8000, long: 8000, sanitized: 4000)
    let index = try Index(LARDER_INDEX_LRU, hash: { hashes($0) })
    try index.writing {
      for key in 0..<count {
        var slot = Index.none
        try check(index.c.insert(index.raw, index.hash(key), 0, &slot))
        index.fill(slot, key, key)
        if key % 1000 == 999 { #expect(index.contradictionWhileHeld == nil) }
      }
    }
    for key in 0..<count where key % 40 == 0 { #expect(index.get(key) == key) }
    #expect(index.get(count) == nil)
    // A directory without end would be a lot larger.
    #expect(index.statistics.memory_bytes < 200 * count)
    for key in 0..<count where key % 2 == 0 && key % 16 != 0 {
      if key % 40 == 0 { #expect(index.remove(key)) }
    }
    #expect(index.contradiction == nil)
    for key in 0..<count where key % 40 == 0 {
      #expect(index.get(key) == (key % 16 == 0 ? key : nil))
    }
  }
}
