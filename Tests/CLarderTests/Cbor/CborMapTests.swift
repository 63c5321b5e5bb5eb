// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("CBOR maps")
struct CborMapTests {
  /// Forms of the same key; those of one line differ from those of every other.
  static let keys = [
    ["01", "18 01", "19 0001", "1a 00000001", "1b 0000000000000001"],
    ["20", "38 00", "3b 0000000000000000"], ["00", "18 00"], ["1b 8000000000000000"],
    ["60", "78 00", "7f ff", "7f 60 60 ff"],
    [
      "63 616263", "78 03 616263", "7f 61 61 62 6263 ff", "7f 63 616263 ff",
      "7f 61 61 60 61 62 61 63 ff",
    ],
    ["43 616263", "58 03 616263", "5f 41 61 42 6263 ff"], ["40", "5f ff", "5b 0000000000000000"],
    [
      "6c 6162636465666768696a6b6c", "7f 68 6162636465666768 64 696a6b6c ff",
      "7f 61 61 6b 62636465666768696a6b6c ff", "79 000c 6162636465666768696a6b6c",
    ],
    ["6c 6162636465666768696a6b6d"], ["6c 6162636465676768696a6b6c"],
    ["f4"], ["f5"], ["f6"], ["f0"], ["f9 0000"], ["f9 8000"], ["fa 00000000"],
    ["fb 0000000000000000"],
    ["80"], ["9f ff"], ["81 01"], ["81 18 01"], ["a1 01 02"], ["a1 02 01"], ["c1 01"], ["c2 41 01"],
    ["89 01 02 03 04 05 06 07 08 09"], ["89 01 02 03 04 05 06 07 08 0a"],
    ["89 01 02 03 04 06 06 07 08 09"],
  ]

  @Test func keysAreEqualInWhateverForm() {
    for (line, forms) in Self.keys.enumerated() {
      for first in forms {
        for (other, others) in Self.keys.enumerated() {
          for second in others {
            let bytes = cbor("a2 \(first) 00 \(second) 00")
            let offset = 2 + cbor(first).count
            let wanted = line == other ? CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: offset) : .good
            #expect(CborVerdict(checking: bytes) == wanted, "\(first) and \(second)")
            #expect(CborVerdict(checking: cbor("bf \(first) 00 \(second) 00 ff")) == wanted)
          }
        }
      }
    }
  }

  @Test func equalKeysOfDifferentMapsAreFine() {
    #expect(CborVerdict(checking: cbor("a2 01 a1 01 a1 01 00 02 a1 01 00")) == .good)
    #expect(CborVerdict(checking: cbor("82 a1 01 00 a1 01 00")) == .good)
    #expect(CborVerdict(checking: cbor("a2 a1 01 00 00 01 00")) == .good)
    // The outer map's keys are still known after an inner one: the fourth key is the first.
    let outer = cbor("a4 01 a2 05 00 06 00 02 a2 01 00 07 00 a1 01 00 00 18 01 00")
    #expect(CborVerdict(checking: outer) == CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: 17))
  }

  @Test(arguments: [1, 2, 15, 16, 17, 31, 32, 33, 1000, 100_000])
  func oneEqualPairAmongManyKeysIsFoundWhereverItIs(count: Int) {
    for text in [false, true] {
      let keys = (0..<count).map { number in
        text
          ? cborText("a key of some length \(number) and more")
          : cborHead(0, UInt64(number) &* 7919)
      }
      let (bytes, _) = map(keys)
      #expect(CborVerdict(checking: bytes) == .good)
      guard count > 1 else { continue }
      let some = [0, 1, 7, 14, 15, 16, count / 2, count - 2].filter { (0..<count - 1).contains($0) }
      for earlier in some {
        for later in [earlier + 1, count - 1] {
          var again = keys
          again[later] = keys[earlier]
          let (bytes, offsets) = map(again)
          let verdict = CborVerdict(checking: bytes)
          let wanted = CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: offsets[later])
          #expect(verdict == wanted, "\(earlier) and \(later) of \(count)")
        }
      }
    }
  }

  @Test(arguments: [2, 16, 17, 40, 5000])
  func ofManyEqualKeysTheFirstRepetitionIsTold(count: Int) {
    let (same, offsets) = map([[UInt8]](repeating: [0x05], count: count))
    #expect(CborVerdict(checking: same) == CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: offsets[1]))
    // Each key twice, those of the second half in the opposite order.
    let half = (0..<count / 2).map { cborText("key number \($0)") }
    let (twice, places) = map(half + half.reversed())
    let wanted = CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: places[count / 2])
    #expect(CborVerdict(checking: twice) == wanted)
  }

  @Test func keysThatAgreeInMostBytesAreToldApart() {
    // Nothing but the middle differs, so that no digest of both ends can tell them apart.
    let keys = (0..<3000).map { number -> [UInt8] in
      let middle = String(number + 100_000)
      return cborText("the same first bytes \(middle) the same last bytes")
    }
    #expect(CborVerdict(checking: map(keys).bytes) == .good)
    let (bytes, offsets) = map(keys + [keys[1234]])
    #expect(
      CborVerdict(checking: bytes) == CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: offsets[3000]))
    // In chunks of one byte, too.
    let chunks = keys[77].dropFirst(2).flatMap { [0x61, $0] as [UInt8] }
    let chunked: [UInt8] = [0x7F] + chunks + [0xFF]
    let (mixed, places) = map(keys + [chunked])
    #expect(
      CborVerdict(checking: mixed) == CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: places[3000]))
  }

  @Test func aKeyOfManyEmptyChunksIsComparedByItsContent() {
    let chunked: [UInt8] = [0x7F] + [UInt8](repeating: 0x60, count: 50_000) + cbor("63 616263 ff")
    let others = (0..<50_000).map { cborText(String($0 + 10_000)) }
    #expect(CborVerdict(checking: map([chunked] + others).bytes) == .good)
    let (bytes, offsets) = map([chunked] + others + [cborText("abc")])
    #expect(
      CborVerdict(checking: bytes) == CborVerdict(LARDER_CBOR_DUPLICATE_KEY, at: offsets[50_001]))
  }

  // MARK: - Pairs

  @Test func thePairsOfAMapAreListedInOrder() {
    let map = cbor("a3 01 02 61 61 82 03 04 20 a1 05 06")
    let pairs = [[1, 2], [3, 5], [8, 9]]
    #expect(CborPairs(of: map) == CborPairs(status: 0, pairs: pairs, end: 12))
    let endless = cbor("00 bf 01 02 61 61 82 03 04 20 a1 05 06 ff 00")
    let shifted = pairs.map { $0.map { $0 + 1 } }
    #expect(CborPairs(of: endless, at: 1) == CborPairs(status: 0, pairs: shifted, end: 14))
    #expect(CborPairs(of: cbor("a0")) == CborPairs(status: 0, end: 1))
    #expect(CborPairs(of: cbor("bf ff")) == CborPairs(status: 0, end: 2))
  }

  @Test func withoutRoomTheCountIsToldAllTheSame() {
    let map = cbor("a3 01 02 61 61 82 03 04 20 a1 05 06")
    for capacity in 0...4 {
      var pairs = [larder_cbor_pair](repeating: larder_cbor_pair(key: 77, value: 77), count: 4)
      var (count, end) = (0, 0)
      let status = larder_cbor_map_pairs(map, map.count, 0, &pairs, capacity, &count, &end)
      #expect(status == LARDER_OK && count == 3 && end == map.count)
      #expect(pairs.prefix { $0.key != 77 }.count == min(capacity, 3))
    }
    var (count, end) = (0, 0)
    #expect(larder_cbor_map_pairs(map, map.count, 0, nil, 0, &count, &end) == LARDER_OK)
    #expect(count == 3 && end == map.count)
  }

  @Test func whatIsNoMapHasNoPairs() {
    for hex in ["00", "80", "82 01 02", "c1 a0", "60", "f6", "ff"] {
      #expect(CborPairs(of: cbor(hex)) == CborPairs(status: Int32(LARDER_EDAMAGED)), "\(hex)")
    }
    for hex in ["", "a1", "a1 00", "bf", "bf 00 01", "b8", "bb 8000000000000000 00 00"] {
      #expect(CborPairs(of: cbor(hex)) == CborPairs(status: Int32(LARDER_EINCOMPLETE)), "\(hex)")
    }
  }

  // MARK: - Duplicates

  @Test func equalKeysInsideAMapThatIsBeingWrittenAreFound() {
    // Behind something else, and with more behind them.
    let bytes = cbor("ff ff 01 60 61 61 80 18 01 82 01 02 61 61 00 ff")
    for (count, wanted) in [(0, nil), (1, nil), (2, nil), (3, [2, 3, 7, 9]), (4, [2, 3, 7, 9])] {
      #expect(duplicate(bytes, at: 2, count: count) == wanted, "\(count)")
    }
    #expect(duplicate(bytes, at: 4, count: 3) == [4, 6, 12, 14])
    #expect(duplicate([], at: 0, count: 0) == nil)
  }

  @Test func pairsThatAreCutOffHaveNoAnswer() {
    var (first, second) = (larder_cbor_pair(key: 7, value: 7), larder_cbor_pair(key: 7, value: 7))
    let bytes = cbor("01 02 03")
    for (offset, count) in [(0, 2), (0, .max), (3, 1), (4, 1), (2, 1), (.max, 1)] {
      let status = larder_cbor_find_duplicate(bytes, 3, offset, count, &first, &second)
      #expect(status == LARDER_EINCOMPLETE && first.key == 0 && second.value == 0)
    }
    #expect(larder_cbor_find_duplicate(cbor("01 ff"), 2, 0, 1, &first, &second) == LARDER_EDAMAGED)
  }

  @Test func equalKeysAmongManyAreFound() {
    let keys = (0..<5000).map { cborHead(0, UInt64($0)) }
    let (bytes, offsets) = map(keys + [cbor("19 0003")])
    let start = offsets[0]
    #expect(duplicate(bytes, at: start, count: 5000) == nil)
    let wanted = [offsets[3], offsets[3] + 1, offsets[5000], offsets[5000] + 3]
    #expect(duplicate(bytes, at: start, count: 5001) == wanted)
  }

  // MARK: - Helpers

  /// A map with these keys, and where they are.
  private func map(_ keys: [[UInt8]]) -> (bytes: [UInt8], offsets: [Int]) {
    var bytes = cborHead(LARDER_CBOR_MAP, UInt64(keys.count))
    var offsets: [Int] = []
    for key in keys {
      offsets.append(bytes.count)
      bytes += key
      bytes.append(0xF6)
    }
    return (bytes, offsets)
  }

  /// Keys and values of the two pairs, or nil if no two keys are equal.
  private func duplicate(_ bytes: [UInt8], at offset: Int, count: Int) -> [Int]? {
    var (first, second) = (larder_cbor_pair(key: 7, value: 7), larder_cbor_pair(key: 7, value: 7))
    let status = larder_cbor_find_duplicate(bytes, bytes.count, offset, count, &first, &second)
    if status == LARDER_END { return nil }
    #expect(status == LARDER_OK)
    return [first.key, first.value, second.key, second.value]
  }
}
