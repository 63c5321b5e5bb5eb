// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// Cleaning gives room back, and takes nothing with it: not an entry, not a removal that hides an
/// older one, and nothing that somebody holds.
@Suite("Store: cleaning")
struct StoreCleaningTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  /// What salvage finds in the store's log alone, without its tree.
  private func truth(_ name: String) throws -> [[UInt8]: [UInt8]] {
    let bare = directory.file("bare-" + name)
    let salvaged = directory.file("salvaged-" + name)
    try FileManager.default.copyItem(at: url, to: bare)
    try FileManager.default.removeItem(at: bare.appendingPathComponent("data.mdb"))
    try salvage(bare, to: salvaged)
    let store = try Store(salvaged)
    var found: [[UInt8]: [UInt8]] = [:]
    for key in try store.keys() { found[key] = try store.get(key)?.value }
    #expect(store.isSound)
    return found
  }

  private func content(_ store: Store) throws -> [[UInt8]: [UInt8]] {
    var found: [[UInt8]: [UInt8]] = [:]
    for key in try store.keys() { found[key] = try store.get(key)?.value }
    return found
  }

  // MARK: - Room

  @Test(arguments: [UInt64(100), 140, 300], [0, 1024])
  func segmentsTakeNoMoreThanTheyMayAndNothingIsLost(percent: UInt64, inline: UInt64) throws {
    var tuning = small(4096, upTo: 16 << 10)
    tuning.space_percent = percent
    var wanted: [[UInt8]: [UInt8]] = [:]
    for session in UInt8(0)..<3 {
      let store = try Store(url, tuning: tuning) { $0.inline_threshold_bytes = inline }
      #expect(try content(store) == wanted)
      for round in UInt8(0)..<12 {
        for number in UInt8(0)..<30 {
          let key = [number &* (round + 1) % 60]
          let value = [UInt8](repeating: session &* 50 &+ round, count: 200 + Int(number))
          try store.put(key, value)
          wanted[key] = value
        }
        try store.flush()
      }
      for _ in 0..<3 { try store.flush() }
      let figures = try store.figures
      #expect(figures.cleaned_bytes > 0)
      #expect(figures.log_used_bytes <= figures.log_live_bytes * percent / 100 + 2 * (16 << 10))
      #expect(figures.segment_count == UInt64(try StoreLog(url).segments.count))
      #expect(try content(store) == wanted && store.isSound)
    }
    #expect(try content(try Store(url)) == wanted)
    #expect(try truth("end") == wanted)
  }

  @Test func whatWasTooMuchAtOpeningIsCleanedAsMoreIsWritten() throws {
    func fill(_ store: Store, _ keys: some Sequence<UInt8>, _ byte: UInt8) throws {
      for key in keys { try store.put([key], [UInt8](repeating: byte, count: 300)) }
      try store.flush()
    }
    var tuning = small()
    tuning.clean_max_bytes = 0
    let before = try Store(url, tuning: tuning)
    try fill(before, 0..<100, 1)
    try fill(before, stride(from: 0, to: 100, by: 3), 2)
    before.close()
    let store = try Store(url, tuning: small())
    let most = { try store.figures.log_live_bytes + 2 * 4096 }
    try fill(store, 0..<1, 3)
    #expect(try store.figures.cleaned_bytes == 0 && store.figures.log_used_bytes > most())
    for byte in UInt8(4)..<8 { try fill(store, stride(from: byte, to: 100, by: 8), byte) }
    #expect(try store.figures.cleaned_bytes > 0)
    for _ in 0..<3 { try store.flush() }
    #expect(try store.figures.log_used_bytes <= most())
    #expect(store.isSound)
  }

  @Test func segmentsWithoutAnEntryGoWithTheNextCheckpoint() throws {
    let store = try Store(url, tuning: small()) { $0.journal_bytes = 1 << 20 }
    for key in UInt8(0)..<50 { try store.put([key], [UInt8](repeating: key, count: 1000)) }
    try store.flush()
    let full = try StoreLog(url).segments.count
    for key in UInt8(0)..<50 { try store.remove([key]) }
    for _ in 0..<3 { try store.flush() }
    #expect(try full > 15 && StoreLog(url).segments.count <= 4)
    #expect(try store.figures.log_live_bytes == 0)
    #expect(store.isSound)
    #expect(try truth("empty").isEmpty)
  }

  @Test func compactingFreesWhatReplacedEntriesLeft() throws {
    var tuning = small()
    tuning.space_percent = 100_000
    let store = try Store(url, tuning: tuning) { $0.journal_bytes = 1 << 20 }
    for round in UInt8(0)..<20 {
      for key in UInt8(0)..<20 { try store.put([key], [UInt8](repeating: round, count: 300)) }
      // One of each round stays.
      try store.put([100 + round], [UInt8](repeating: round, count: 300))
      try store.flush()
    }
    let wanted = try content(store)
    store.close()
    #expect(try StoreLog(url).segments.count > 15)
    try check(larder_store_compact(url.path, nil, nil, nil, nil, nil))
    // Those that were full of what is needed, copies of the rest, and an empty one to go on in.
    #expect(try StoreLog(url).segments.count <= 5)
    #expect(try content(try Store(url)) == wanted)
    #expect(try truth("compacted") == wanted)
  }

  // MARK: - Removals

  @Test func whatWasRemovedOrReplacedStaysSoWithoutTheTree() throws {
    let store = try Store(url, tuning: small())
    func fill(_ byte: UInt8) throws {
      for key in UInt8(0)..<12 { try store.put([key], [UInt8](repeating: byte, count: 500)) }
      try store.flush()
    }
    try fill(1)
    try store.remove([3])
    try store.put([4], [4])
    try store.flush()
    // The segments of the removals are cleaned before those of what they hide, and after.
    for round in UInt8(0)..<20 {
      // Some of each segment stays.
      for number in UInt8(0)..<6 {
        let key = 20 + (number &* number &+ round &* 7) % 20
        try store.put([key], [UInt8](repeating: round, count: 700))
      }
      try store.flush()
      let found = try truth("\(round)")
      #expect(try found == content(store), "round \(round)")
      #expect(found[[3]] == nil && found[[4]] == [4])
    }
    #expect(try store.figures.cleaned_bytes > 0)
  }

  /// Puts, removals, batches, removals of everything, and evictions never, for those only the tree
  /// knows: after each checkpoint the log alone tells the same as the store.
  @Test(arguments: [UInt64(1), 2, 3, 4])
  func theLogAloneIsTheWholeTruthAfterEveryCheckpoint(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var tuning = small(4096, upTo: 8192)
    tuning.transaction_max_count = 10
    tuning.space_percent = [100, 140, 200].randomElement(using: &random)!
    var wanted: [[UInt8]: [UInt8]] = [:]
    var store = try Store(url, tuning: tuning)
    for round in 0..<40 {
      for _ in 0..<Int.random(in: 1...25, using: &random) {
        let key = [UInt8.random(in: 0..<30, using: &random)]
        let length = Int.random(in: 0...1200, using: &random)
        let value = [UInt8](repeating: UInt8(round), count: length)
        switch Int.random(in: 0..<100, using: &random) {
        case 0:
          try check(larder_store_remove_all(store.pointer, nil, nil))
          wanted = [:]
        case 1..<40:
          try store.remove(key)
          wanted[key] = nil
        case 40..<50:
          try store.commit { batch in
            try put(key, value, in: batch)
            try put([key[0] + 1], value, in: batch)
            try withBytes(key) { try check(larder_store_batch_remove(batch, $0)) }
          }
          wanted[[key[0] + 1]] = value
          wanted[key] = nil
        default:
          try store.put(key, value)
          wanted[key] = value
        }
      }
      if round % 8 == 7 {
        store.close()
        store = try Store(url, tuning: tuning)
      }
      try store.flush()
      #expect(try content(store) == wanted, "seed \(random.seed), round \(round)")
      #expect(store.isSound, "seed \(random.seed), round \(round)")
      #expect(try truth("\(round)") == wanted, "seed \(random.seed), round \(round)")
    }
  }

  // MARK: - What is held

  @Test func aRetainedValueOutlivesReplacementCleaningAndClose() throws {
    let store = try Store(url, tuning: small())
    let value = [UInt8](repeating: 7, count: 3000)
    try store.put([1], value)
    try store.flush()
    var entry = larder_store_entry()
    try withBytes([1]) { try check(larder_store_get(store.pointer, $0, 0, &entry)) }
    var retained: UnsafeMutableRawPointer?
    try check(larder_store_retain_value(&entry, &retained))
    let bytes = entry.value
    larder_store_release(&entry)
    defer { larder_store_release_value(retained) }
    for round in UInt8(0)..<5 {
      try store.put([1], [UInt8](repeating: round, count: 3000))
      try store.flush()
    }
    // Its file is gone.
    #expect(try StoreLog(url).segments(with: Data(value)).isEmpty)
    #expect(bytes.array == value)
    store.close()
    #expect(bytes.array == value)
    try FileManager.default.removeItem(at: url)
    #expect(bytes.array == value)
  }

  @Test func anEntryThatIsHeldKeepsItsSegment() throws {
    let store = try Store(url, tuning: small())
    let value = [UInt8](repeating: 7, count: 3000)
    try store.put([1], value)
    try store.flush()
    var entry = larder_store_entry()
    try withBytes([1]) { try check(larder_store_get(store.pointer, $0, 0, &entry)) }
    for round in UInt8(0)..<5 {
      try store.put([1], [UInt8](repeating: round, count: 3000))
      try store.flush()
    }
    #expect(try StoreLog(url).segments(with: Data(value)).count == 1)
    #expect(entry.value.array == value && store.isSound)
    larder_store_release(&entry)
    try store.flush()
    #expect(try StoreLog(url).segments(with: Data(value)).isEmpty)
  }

  @Test func onlyAValueInTheLogCanBeRetained() throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.flush()
    var entry = larder_store_entry()
    var retained: UnsafeMutableRawPointer?
    #expect(larder_store_retain_value(&entry, &retained) == LARDER_EINVALID)
    try withBytes([1]) { try check(larder_store_get(store.pointer, $0, 0, &entry)) }
    #expect(larder_store_retain_value(&entry, &retained) == LARDER_EINVALID && retained == nil)
    larder_store_release(&entry)
    larder_store_release_value(nil)
  }
}
