// SPDX-License-Identifier: MIT

import LarderCore
import Testing

/// The names of coders that are made of coders.
@Suite struct CoderFormatTests {
  @Test func suffixesAreCollectedBehindOnePlusSign() {
    let cases = [
      ("cbor", "z", "cbor+z"), ("cbor+z", "e", "cbor+ze"), ("cbor", "e", "cbor+e"),
      ("cbor+e", "z", "cbor+ez"), ("cbor+z", "z", "cbor+zz"), ("", "z", "+z"), ("+z", "e", "+ze"),
      ("a+b", "z", "a+b+z"), ("+", "z", "+z"), ("a+", "z", "a+z"), ("image+z", "e", "image+ze"),
    ]
    for (format, letter, expected) in cases {
      #expect(CoderFormat.adding(Character(letter), to: format) == expected, "\(format)")
    }
  }

  @Test func aNameThatWouldBeTooLongLosesTheEndOfItsBase() {
    let cases = [
      ("sixsix", "sixsix+z"), ("seven77", "seven7+z"), ("eight888", "eight8+z"),
      ("image+ez", "imag+ezz"), ("+zzzzzz", "+zzzzzzz"), ("+zzzzzzz", "zzzzzzzz"),
    ]
    for (format, expected) in cases {
      #expect(CoderFormat.adding("z", to: format) == expected, "\(format)")
    }
  }

  @Test func aNameThatNoFileTakesDoesNotBecomeOneThatFilesTake() {
    for format in ["ninechars", "a b", "größe", "seven 7"] {
      for letter in ["z", "e"] as [Character] {
        let composed = CoderFormat.adding(letter, to: format)
        #expect(composed == "\(format)+\(letter)")
      }
    }
  }
}
