// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// Damaged pages of the tree, on the way of a write: LMDB trusts them, and the store must not.
@Suite("Store: damaged pages")
struct StorePageTests {
  let directory: TemporaryDirectory
  let url: URL
  let copy: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
    copy = directory.file("copy")
    let store = try Store(url) { $0.journal_bytes = 1 << 20 }
    for round in 0..<2 {
      for key in 0..<250 {
        try store.put([UInt8(key)], Self.value(key, round), indexes: [(1, [UInt8(key / 2)])]) {
          $0.expires_ns = (1 << 62) - 1 - Int64(key)
        }
      }
      try store.flush()
    }
  }

  private static func value(_ key: Int, _ round: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(round), count: 40 + key % 20)
  }

  /// Writes here and there; every call gives OK or that the store is damaged.
  private func use(_ store: Store) throws -> Bool {
    var isDamaged = false
    func attempt(_ body: () throws -> Void) {
      let status = status(of: body)
      #expect(status == Int(LARDER_OK) || status == Int(LARDER_EDAMAGED))
      if status != Int(LARDER_OK) { isDamaged = true }
    }
    for key in stride(from: UInt8(0), to: 250, by: 3) {
      attempt { try store.put([key], [1], indexes: [(1, [key])]) }
      attempt { try store.remove([key + 1]) }
    }
    attempt { try store.flush() }
    for key in 0..<5 { attempt { try store.put([250, UInt8(key)], [1]) } }
    attempt { try store.flush() }
    attempt { try check(larder_store_remove_all(store.pointer, nil, nil)) }
    attempt { try store.flush() }
    attempt { try check(larder_store_shutdown(store.pointer)) }
    return isDamaged
  }

  /// The places of a page's head, of its first pointer, and one in its rows.
  @Test(arguments: [0, 8, 10, 12, 13, 14, 15, 16, 17, 24, 2048, 4000])
  func aFlippedByteInAPageIsFoundBeforeAWriteComesThere(place: Int) throws {
    let file = "data.mdb"
    let whole = try Data(contentsOf: url.appendingPathComponent(file))
    try FileManager.default.copyItem(at: url, to: copy)
    let log = try StoreLog(url).segments
    var damaged = 0
    for page in 0..<whole.count / 4096 {
      for mask in [UInt8(0x01), 0x80] {
        var bytes = whole
        bytes[page * 4096 + place] ^= mask
        try FileManager.default.removeItem(at: copy)
        try FileManager.default.createDirectory(
          at: copy.appendingPathComponent("log"), withIntermediateDirectories: true)
        for segment in log {
          try FileManager.default.copyItem(
            at: segment,
            to: copy.appendingPathComponent("log").appendingPathComponent(segment.lastPathComponent)
          )
        }
        try bytes.write(to: copy.appendingPathComponent(file))
        do {
          let store = try Store(copy) { $0.journal_bytes = 1 << 20 }
          if try use(store) { damaged += 1 }
        } catch let failure as StoreFailure {
          // Where both heads, or the page with what the store knows of itself, cannot be read.
          let known = [LARDER_EDAMAGED, LARDER_EFOREIGN, LARDER_EVERSION].map { Int($0) }
          #expect(known.contains(failure.status), "page \(page)")
        }
      }
    }
    // In unused room it is of no account; in a head it always is.
    if place < 16 && place > 8 { #expect(damaged > 0) }
  }

  @Test func whatIsWrittenWhileTheTreeIsDamagedIsThereAndIsSalvaged() throws {
    try FileManager.default.copyItem(at: url, to: copy)
    let data = copy.appendingPathComponent("data.mdb")
    var bytes = try Data(contentsOf: data)
    // Every leaf but the one with what the store knows of itself.
    for page in 2..<bytes.count / 4096 where bytes[page * 4096 + 10] == 2 {
      let range = page * 4096..<(page + 1) * 4096
      if bytes.range(of: Data("LARDERST".utf8), in: range) == nil {
        bytes[range.lowerBound + 12] ^= 0x40
      }
    }
    try bytes.write(to: data)
    let store = try Store(copy)
    try store.put([1], "new".bytes)
    #expect(status { try store.flush() } == Int(LARDER_EDAMAGED))
    #expect(try store.get([1])?.value == "new".bytes)
    #expect(status { try store.get([200]) } == Int(LARDER_EDAMAGED))
    #expect(try store.figures.last_failure == LARDER_EDAMAGED)
    #expect(larder_store_shutdown(store.pointer) == LARDER_EDAMAGED)
    store.close()
    let salvaged = directory.file("salvaged")
    let report = try salvage(copy, to: salvaged)
    #expect(report.intact == 250)
    let rescued = try Store(salvaged)
    for key in 0..<250 {
      let wanted = key == 1 ? "new".bytes : Self.value(key, 1)
      #expect(try rescued.get([UInt8(key)])?.value == wanted)
    }
    #expect(rescued.isSound)
  }

  @Test(arguments: [0, 1, 2])
  func aStoreOfFewTransactionsOpensAgain(flushes: Int) throws {
    let young = directory.file("young")
    let store = try Store(young)
    for number in 0..<flushes {
      try store.put([UInt8(number)], [1])
      try store.flush()
    }
    try FileManager.default.copyItem(at: young, to: copy)
    store.close()
    for folder in [young, copy] {
      for flags in [LARDER_STORE_READ_ONLY, LARDER_STORE_HOST_MAINTENANCE] {
        let again = try Store(folder) { $0.flags = UInt32(flags) }
        #expect(try again.totals.count == UInt64(flushes) && again.isSound)
      }
    }
  }
}
