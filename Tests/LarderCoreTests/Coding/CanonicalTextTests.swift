// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

struct CanonicalTextTests {
  private func bytes(_ text: String) -> [UInt8] { [UInt8](text.utf8) }

  private func decomposed(_ text: String) -> String {
    String(decoding: CanonicalText.decomposed(text), as: UTF8.self)
  }

  @Test func formsAreThoseOfUnicode() {
    let forms: [(given: String, composed: String, decomposed: String)] = [
      ("e\u{301}", "\u{E9}", "e\u{301}"), ("\u{E9}", "\u{E9}", "e\u{301}"),
      ("\u{212B}", "\u{C5}", "A\u{30A}"), ("\u{2126}", "\u{3A9}", "\u{3A9}"),
      ("\u{1100}\u{1161}\u{11A8}", "\u{AC01}", "\u{1100}\u{1161}\u{11A8}"),
      ("\u{AC00}\u{11A8}", "\u{AC01}", "\u{1100}\u{1161}\u{11A8}"),
      ("\u{1100}\u{1176}", "\u{1100}\u{1176}", "\u{1100}\u{1176}"),
      ("a\u{301}\u{323}", "\u{1EA1}\u{301}", "a\u{323}\u{301}"),
      ("xe\u{301}y\u{323}\u{301}z", "x\u{E9}\u{1EF5}\u{301}z", "xe\u{301}y\u{323}\u{301}z"),
      ("\u{10041}\u{301}", "\u{10041}\u{301}", "\u{10041}\u{301}"),
      ("\u{304B}\u{3099}", "\u{304C}", "\u{304B}\u{3099}"),
      ("\u{9C7}\u{9BE}", "\u{9CB}", "\u{9C7}\u{9BE}"),
    ]
    for form in forms {
      #expect(bytes(CanonicalText.composed(form.given)) == bytes(form.composed))
      #expect(CanonicalText.decomposed(form.given) == bytes(form.decomposed))
    }
  }

  @Test func noScalarIsTakenForComposedThatIsNot() {
    for value in UInt32(0)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      // Nothing is composed of what has no meaning yet: nine of ten.
      let category = scalar.properties.generalCategory
      if category == .unassigned || category == .privateUse { continue }
      // Behind letters that take much in; what is composed from its parts is the same.
      for text in [String(scalar), "e\(scalar)", "\u{1100}\(scalar)", "\u{AC00}\(scalar)"] {
        let composed = CanonicalText.composed(text)
        let again = CanonicalText.composed(decomposed(text))
        if bytes(composed) != bytes(again) {
          Issue.record("\(String(value, radix: 16)) in \(bytes(text))")
        }
      }
      let text = String(scalar)
      if CanonicalText.hasOneForm(text) {
        #expect(CanonicalText.decomposed(text) == bytes(text))
      }
    }
  }

  @Test func textsAreEqualExactlyIfTheirFormsAre() {
    var generator = SeededGenerator(seed: 61)
    let scalars: [Unicode.Scalar] = [
      "a", "\u{E9}", "e", "\u{301}", "\u{323}", "\u{327}", "\u{212B}", "\u{1100}", "\u{1161}",
      "\u{11A8}", "\u{AC00}", "\u{3099}", "\u{304B}", "\u{9C7}", "\u{9BE}", "\u{344}",
      "\u{F71}", "\u{F72}", "\u{1D15E}", "\u{1F600}", "\u{65E5}", "\u{10041}", "\u{103B5}",
    ]
    for _ in 0..<20_000 {
      let texts = (0..<2).map { _ in
        var text = ""
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
          text.unicodeScalars.append(scalars.randomElement(using: &generator) ?? "a")
        }
        return text
      }
      let forms = texts.map { bytes(CanonicalText.composed($0)) }
      #expect((texts[0] == texts[1]) == (forms[0] == forms[1]), "seed \(generator.seed): \(texts)")
      #expect(CanonicalText.composed(texts[0]) == texts[0])
      #expect(decomposed(texts[0]) == texts[0])
      let again = CanonicalText.composed(decomposed(texts[0]))
      #expect(bytes(again) == forms[0], "seed \(generator.seed): \(texts)")
    }
  }

  @Test func textsThatDifferHaveOtherForms() {
    // Behind another mark, Swift tells this vowel from its parts.
    let texts = ["\u{301}\u{F73}", "\u{F71}\u{F72}\u{301}", "\u{F73}\u{301}"]
    for a in texts {
      for b in texts where a != b {
        #expect(bytes(CanonicalText.composed(a)) != bytes(CanonicalText.composed(b)))
      }
    }
  }

  @Test func asciiIsTold() {
    var bytes = [UInt8](repeating: 0x7F, count: 40)
    #expect(bytes.withUnsafeBytes { $0.isASCII })
    for index in bytes.indices {
      bytes[index] = 0x80
      #expect(!bytes.withUnsafeBytes { $0.isASCII })
      #expect(bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[..<index]).isASCII })
      bytes[index] = 0x7F
    }
  }
}
