// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("Checking CBOR text")
struct CborTextTests {
  @Test func everyScalarIsGoodAndEverySurrogateIsNot() {
    for number in stride(from: UInt32(0), through: 0x11_0000, by: 1) {
      // Every scalar near a step, and one in 257 of the others.
      let isNear = [0x80, 0x800, 0xD800, 0xE000, 0x1_0000, 0x11_0000].contains {
        abs(Int(number) - $0) < 64
      }
      guard isNear || number % 257 == 0 else { continue }
      let encoded = encode(number)
      let isScalar = Unicode.Scalar(number) != nil
      for prefix in [0, 1, 7, 8, 9] {
        let text = [UInt8](repeating: 0x61, count: prefix) + encoded + [0x62]
        let bytes = cborHead(LARDER_CBOR_TEXT, UInt64(text.count)) + text
        let wanted = isScalar ? .good : CborVerdict(LARDER_CBOR_BAD_UTF8, at: 1 + prefix)
        if CborVerdict(checking: bytes) != wanted {
          Issue.record(
            "\(CborVerdict(checking: bytes)), not \(wanted): U+\(number) behind \(prefix)")
        }
      }
    }
  }

  @Test func badSequencesAreFoundAtEveryPlace() {
    let bad = [
      "80", "bf", "c0 80", "c1 bf", "c2", "c2 41", "c2 c2", "df 7f", "e0 80 80", "e0 9f bf",
      "e1 80",
      "e1 80 41", "e1 41 80", "ed a0 80", "ed bf bf", "ef bf", "f0 80 80 80", "f0 8f bf bf",
      "f1 80 80",
      "f1 80 80 41", "f4 90 80 80", "f5 80 80 80", "f8 88 80 80 80", "fe", "ff",
    ]
    for sequence in bad.map(cbor) {
      for prefix in 0..<20 {
        for suffix in [0, 1, 8, 20] {
          for filler in [[0x61], [0xC3, 0xA9]] as [[UInt8]] {
            let before = Array(repeatElement(filler, count: prefix).joined())
            let after = [UInt8](repeating: 0x62, count: suffix)
            let text = before + sequence + after
            let head = cborHead(LARDER_CBOR_TEXT, UInt64(text.count))
            let verdict = CborVerdict(checking: head + text)
            let wanted = CborVerdict(LARDER_CBOR_BAD_UTF8, at: head.count + before.count)
            if verdict != wanted {
              Issue.record("\(verdict), not \(wanted): \(sequence), \(prefix)")
            }
          }
        }
      }
    }
  }

  @Test func aKeyIsLookedAtAsAnyText() {
    for length in 1..<40 {
      for place in 0..<length {
        var text = [UInt8](repeating: 0x61, count: length)
        text[place] = 0xFE
        let head = [0xA1] + cborHead(LARDER_CBOR_TEXT, UInt64(length))
        let wanted = CborVerdict(LARDER_CBOR_BAD_UTF8, at: head.count + place)
        for behind in [1, 40] {
          let value =
            cborHead(LARDER_CBOR_BYTES, UInt64(behind - 1))
            + [UInt8](repeating: 0, count: behind - 1)
          let verdict = CborVerdict(checking: head + text + value)
          if verdict != wanted { Issue.record("\(verdict), not \(wanted)") }
        }
      }
    }
  }

  /// By the pattern of UTF-8 alone, so for surrogates and beyond the last scalar too.
  private func encode(_ number: UInt32) -> [UInt8] {
    let low = { (shift: UInt32) in UInt8(0x80 | number >> shift & 0x3F) }
    switch number {
    case ..<0x80: return [UInt8(number)]
    case ..<0x800: return [UInt8(0xC0 | number >> 6), low(0)]
    case ..<0x1_0000: return [UInt8(0xE0 | number >> 12), low(6), low(0)]
    default: return [UInt8(0xF0 | number >> 18), low(12), low(6), low(0)]
    }
  }
}
