// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport
import Testing

@Suite("CBOR beside a reference")
struct CborModelTests {
  /// In parts, which run side by side.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func randomItemsAndDamagedOnesGetTheVerdictOfTheReference(part: UInt64) {
    var generator = CborGenerator(seed: 8949 + part)
    let seed = generator.seed
    var good = 0
    let count = effort(3_500, long: 14_000)
    for number in 0..<count {
      var bytes = generator.item()
      if number % 3 > 0 { bytes = generator.damaged(bytes) }
      let verdict = CborReference.verdict(bytes, depth: 4)
      let end = CborReference.end(bytes)
      good += verdict == .good ? 1 : 0
      // One comparison in most cases: an expectation costs more than all of the rest.
      if CborVerdict(checking: bytes, depth: 4) != verdict || CborEnd(skipping: bytes) != end
        || CborPairs(of: bytes) != CborReference.pairs(bytes)
      {
        #expect(CborVerdict(checking: bytes, depth: 4) == verdict, "\(hex(bytes)), seed \(seed)")
        #expect(CborEnd(skipping: bytes) == end, "\(hex(bytes)), seed \(seed)")
        #expect(CborPairs(of: bytes) == CborReference.pairs(bytes), "\(hex(bytes)), seed \(seed)")
      }
      if verdict == .good && end != CborEnd(status: 0, end: bytes.count) {
        Issue.record("good, and does not end: \(hex(bytes)), seed \(seed)")
      }
    }
    #expect(good > count / 5 && good < count / 5 * 4, "seed \(seed)")
  }

  @Test func everyInputOfUpToTwoBytesGetsTheVerdictOfTheReference() {
    for number in 0...UInt16.max {
      let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)]
      expectAgreement(bytes)
      if bytes[1] == 0 { expectAgreement([bytes[0]]) }
    }
  }

  @Test func everyByteAndEveryLengthOfADocumentIsTried() {
    let document = cbor(
      """
      a6 6269 64 1a 000f4240  64 6e616d65 6a 4cc3bc646572 e6b0b4 2e
      64 74616773 83 61 61 7f 61 62 61 63 ff 80  01 c1 fb 41d452d9e2000000
      20 5f 42 0102 41 03 ff  8102 bf 01 f4 02 f6 ff
      """)
    #expect(CborVerdict(checking: document) == .good)
    for place in document.indices {
      expectAgreement(Array(document[..<place]))
      for value in UInt8.min ... .max {
        var bytes = document
        bytes[place] = value
        expectAgreement(bytes)
      }
    }
  }

  private func expectAgreement(_ bytes: [UInt8]) {
    let verdict = CborVerdict(checking: bytes)
    if verdict != CborReference.verdict(bytes, depth: 64)
      || CborEnd(skipping: bytes) != CborReference.end(bytes)
      || CborPairs(of: bytes) != CborReference.pairs(bytes)
    {
      Issue.record("\(verdict), not \(CborReference.verdict(bytes, depth: 64)): \(hex(bytes))")
    }
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
