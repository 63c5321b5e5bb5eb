// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("Checking CBOR")
struct CborCheckTests {
  /// Items of RFC 8949, appendix A, that hold no float.
  static let good = [
    "00", "17", "18 18", "1b ffffffffffffffff", "20", "3b ffffffffffffffff",
    "c2 49 010000000000000000",
    "f4", "f5", "f6", "f7", "f0", "f8 ff", "c0 74 323031332d30332d32315432303a30343a30305a",
    "c1 1a 514b67b0", "d7 44 01020304", "d8 18 45 6449455446", "40", "44 01020304", "60", "61 61",
    "62 225c", "62 c3bc", "63 e6b0b4", "64 f0908591", "80", "83 01 02 03",
    "83 01 82 02 03 82 04 05",
    "a0", "a2 01 02 03 04", "a2 61 61 01 61 62 82 02 03", "82 61 61 a1 61 62 61 63",
    "5f 42 0102 43 030405 ff", "7f 65 7374726561 64 6d696e67 ff", "9f ff",
    "9f 01 82 02 03 9f 04 05 ff ff", "83 01 9f 02 03 ff 82 04 05",
    "bf 61 61 01 61 62 9f 02 03 ff ff", "82 61 61 bf 61 62 61 63 ff", "7f ff", "5f 40 40 ff",
  ]

  @Test func whatTheRFCShowsIsGoodAndEndsWhereItEnds() {
    for hex in Self.good {
      let bytes = cbor(hex)
      #expect(CborVerdict(checking: bytes) == .good, "\(hex)")
      #expect(CborEnd(skipping: bytes) == CborEnd(status: 0, end: bytes.count), "\(hex)")
      // And among other bytes.
      let end = CborEnd(skipping: [0xFF] + bytes + [0xFF], at: 1)
      #expect(end == CborEnd(status: 0, end: bytes.count + 1), "\(hex)")
    }
  }

  /// Each fault, at the start and further on.
  static let bad: [(hex: String, fault: larder_cbor_fault, offset: Int)] = [
    ("", LARDER_CBOR_CUT_OFF, 0), ("18", LARDER_CBOR_CUT_OFF, 0),
    ("1b 00000000000000", LARDER_CBOR_CUT_OFF, 0),
    ("81", LARDER_CBOR_CUT_OFF, 0), ("82 00", LARDER_CBOR_CUT_OFF, 0),
    ("82 81 00", LARDER_CBOR_CUT_OFF, 3),
    ("a1 00", LARDER_CBOR_CUT_OFF, 0), ("c1", LARDER_CBOR_CUT_OFF, 1),
    ("41", LARDER_CBOR_CUT_OFF, 0),
    ("82 00 62 61", LARDER_CBOR_CUT_OFF, 2), ("9f", LARDER_CBOR_CUT_OFF, 1),
    ("9f 00", LARDER_CBOR_CUT_OFF, 2),
    ("bf 00", LARDER_CBOR_CUT_OFF, 2), ("5f", LARDER_CBOR_CUT_OFF, 1),
    ("5f 41", LARDER_CBOR_CUT_OFF, 1),
    ("5f 58", LARDER_CBOR_CUT_OFF, 1), ("7f 61 61", LARDER_CBOR_CUT_OFF, 3),
    ("5b ffffffffffffffff 00", LARDER_CBOR_CUT_OFF, 0),
    ("9b ffffffffffffffff 00", LARDER_CBOR_CUT_OFF, 0),
    ("bb 8000000000000000 00", LARDER_CBOR_CUT_OFF, 0),
    ("81 7b 7fffffffffffffff 61", LARDER_CBOR_CUT_OFF, 1),
    ("1c", LARDER_CBOR_RESERVED, 0), ("3d", LARDER_CBOR_RESERVED, 0),
    ("81 fe", LARDER_CBOR_RESERVED, 1),
    ("1f", LARDER_CBOR_RESERVED, 0), ("82 00 3f", LARDER_CBOR_RESERVED, 2),
    ("df 00", LARDER_CBOR_RESERVED, 0),
    ("7f 7c", LARDER_CBOR_RESERVED, 1),
    ("ff", LARDER_CBOR_STRAY_BREAK, 0), ("82 00 ff", LARDER_CBOR_STRAY_BREAK, 2),
    ("c1 ff", LARDER_CBOR_STRAY_BREAK, 1),
    ("bf 00 ff", LARDER_CBOR_STRAY_BREAK, 2), ("a1 00 ff", LARDER_CBOR_STRAY_BREAK, 2),
    ("9f 81 ff ff", LARDER_CBOR_STRAY_BREAK, 2),
    ("5f 00 ff", LARDER_CBOR_BAD_CHUNK, 1), ("5f 61 61 ff", LARDER_CBOR_BAD_CHUNK, 1),
    ("7f 61 61 41 61 ff", LARDER_CBOR_BAD_CHUNK, 3),
    ("7f 7f 61 61 ff ff", LARDER_CBOR_BAD_CHUNK, 1), ("5f f6 ff", LARDER_CBOR_BAD_CHUNK, 1),
    ("f8 00", LARDER_CBOR_BAD_SIMPLE, 0), ("81 f8 14", LARDER_CBOR_BAD_SIMPLE, 1),
    ("f8 1f", LARDER_CBOR_BAD_SIMPLE, 0),
    ("61 80", LARDER_CBOR_BAD_UTF8, 1), ("7f 61 c3 61 bc ff", LARDER_CBOR_BAD_UTF8, 2),
    ("a1 61 ff 00", LARDER_CBOR_BAD_UTF8, 2),
    ("a2 01 00 01 00", LARDER_CBOR_DUPLICATE_KEY, 3),
    ("81 a2 60 00 60 00", LARDER_CBOR_DUPLICATE_KEY, 4),
    ("00 00", LARDER_CBOR_TRAILING, 1), ("80 ff", LARDER_CBOR_TRAILING, 1),
    ("9f ff ff", LARDER_CBOR_TRAILING, 2),
  ]

  @Test func everyFaultIsFoundWhereItIs() {
    for (hex, fault, offset) in Self.bad {
      #expect(CborVerdict(checking: cbor(hex)) == CborVerdict(fault, at: offset), "\(hex)")
    }
  }

  @Test func whatIsCutOffIsSeenAtEveryLength() {
    for hex in Self.good {
      let bytes = cbor(hex)
      for length in 0..<bytes.count {
        let part = Array(bytes[..<length])
        #expect(CborVerdict(checking: part).fault == LARDER_CBOR_CUT_OFF, "\(length) of \(hex)")
        #expect(CborEnd(skipping: part) == CborEnd(status: Int32(LARDER_EINCOMPLETE), end: 0))
      }
    }
  }

  @Test func aLengthOrCountOfOneTooManyIsCutOffAndOneLessLeavesBytes() {
    for count in [1, 2, 22, 23, 24, 25, 254, 255, 256, 257, 65_535, 65_536] {
      for major in [LARDER_CBOR_BYTES, LARDER_CBOR_TEXT, LARDER_CBOR_ARRAY, LARDER_CBOR_MAP] {
        // Keys that differ, for the map; else a letter, which is a small negative number, too.
        let content =
          major == LARDER_CBOR_MAP
          ? (0..<count).flatMap { cborHead(0, UInt64($0)) + [0x20] }
          : [UInt8](repeating: 0x30, count: count)
        let exact = cborHead(major, UInt64(count)) + content
        let more = cborHead(major, UInt64(count) + 1) + content
        let less = cborHead(major, UInt64(count) - 1) + content
        #expect(CborVerdict(checking: exact) == .good)
        let isSeenAtOnce = major != LARDER_CBOR_MAP || count < 24
        #expect(CborVerdict(checking: more).fault == LARDER_CBOR_CUT_OFF)
        #expect(!isSeenAtOnce || CborVerdict(checking: more).offset == 0)
        #expect(CborVerdict(checking: less).fault == LARDER_CBOR_TRAILING)
      }
    }
  }

  @Test(arguments: [1, 2, 63, 512, 1023, 1024])
  func nestingIsAllowedUpToTheLimit(limit: Int) {
    let inside: [(open: [UInt8], close: [UInt8])] = [
      (cbor("81"), []), (cbor("9f"), cbor("ff")), (cbor("a1 00"), []), (cbor("bf 00"), cbor("ff")),
      (cbor("c1"), []), (cbor("82 00"), []), (cbor("a1"), cbor("00")),
    ]
    for (open, close) in inside {
      for depth in [limit - 1, limit, limit + 1] {
        let bytes =
          Array(repeatElement(open, count: depth).joined()) + [0x00]
          + Array(repeatElement(close, count: depth).joined())
        let verdict = CborVerdict(checking: bytes, depth: limit)
        let tooDeep = CborVerdict(LARDER_CBOR_TOO_DEEP, at: limit * open.count)
        #expect(verdict == (depth <= limit ? .good : tooDeep), "\(depth) of \(open)")
        let end = CborEnd(skipping: bytes)
        let isWithin = depth <= Int(LARDER_CBOR_MAX_DEPTH)
        #expect(end.status == (isWithin ? 0 : Int32(LARDER_ETOOLARGE)))
        #expect(end.end == (isWithin ? bytes.count : 0))
      }
    }
  }

  @Test func anEmptyArrayIsALevelToo() {
    #expect(CborVerdict(checking: [0x00], depth: 0) == .good)
    #expect(CborVerdict(checking: [0x80], depth: 0) == CborVerdict(LARDER_CBOR_TOO_DEEP, at: 0))
    #expect(
      CborVerdict(checking: [0x81, 0xA0], depth: 1) == CborVerdict(LARDER_CBOR_TOO_DEEP, at: 1))
    #expect(CborVerdict(checking: [0x81, 0xA0], depth: 2) == .good)
  }

  @Test func aLimitBeyondWhatCanBeFollowedIsRefused() {
    var detail = larder_cbor_detail(fault: LARDER_CBOR_TRAILING, offset: 7)
    let limit = UInt32(LARDER_CBOR_MAX_DEPTH)
    #expect(larder_cbor_check([0], 1, limit, &detail) == LARDER_OK)
    for beyond in [limit + 1, .max] {
      #expect(larder_cbor_check([0], 1, beyond, &detail) == LARDER_EINVALID)
      #expect(detail.fault == LARDER_CBOR_GOOD && detail.offset == 0)
    }
    #expect(larder_cbor_check([0], 1, limit + 1, nil) == LARDER_EINVALID)
    #expect(larder_cbor_check(nil, 0, 1, nil) == LARDER_EINCOMPLETE)
  }

  @Test func anEndIsNotLookedForBehindTheInput() {
    let refused = CborEnd(status: Int32(LARDER_EINCOMPLETE), end: 0)
    for offset in [3, 4, .max] {
      #expect(CborEnd(skipping: cbor("00 01 02"), at: offset) == refused)
    }
    #expect(CborEnd(skipping: []) == refused)
    var end = 7
    #expect(larder_cbor_skip(nil, 0, 0, &end) == LARDER_EINCOMPLETE && end == 0)
  }

  @Test func everyFaultHasATextOfItsOwn() {
    let faults = (0...LARDER_CBOR_TRAILING.rawValue).map { larder_cbor_fault(rawValue: $0) }
    let texts = Set(faults.map { String(cString: larder_cbor_fault_text($0)) })
    #expect(texts.count == faults.count && texts.allSatisfy { !$0.hasSuffix(".") })
    let unknown = String(cString: larder_cbor_fault_text(larder_cbor_fault(rawValue: 99)))
    #expect(!texts.contains(unknown))
  }
}
