// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("CBOR heads")
struct CborHeadTests {
  /// Both sides of each step in length, and how many bytes a head then has.
  static let boundaries: [(argument: UInt64, bytes: Int)] = [
    (0, 1), (1, 1), (22, 1), (23, 1), (24, 2), (25, 2), (254, 2), (255, 2), (256, 3), (257, 3),
    (65_534, 3), (65_535, 3), (65_536, 5), (65_537, 5), (0xFFFF_FFFE, 5), (0xFFFF_FFFF, 5),
    (0x1_0000_0000, 9), (0x1_0000_0001, 9), (.max - 1, 9), (.max, 9),
  ]

  @Test func aHeadIsWrittenInTheShortestForm() {
    for (argument, bytes) in Self.boundaries {
      for major in 0..<8 {
        let head = cborHead(major, argument)
        #expect(head.count == bytes, "\(major) \(argument)")
        #expect(Int(head[0] >> 5) == major)
      }
    }
  }

  @Test func aHeadHasTheBytesOfTheRFC() {
    #expect(cborHead(LARDER_CBOR_UNSIGNED, 1_000_000) == cbor("1a 000f4240"))
    #expect(cborHead(LARDER_CBOR_UNSIGNED, 1_000_000_000_000) == cbor("1b 000000e8d4a51000"))
    #expect(cborHead(LARDER_CBOR_NEGATIVE, 999) == cbor("39 03e7"))
    #expect(cborHead(LARDER_CBOR_NEGATIVE, .max) == cbor("3b ffffffffffffffff"))
    #expect(cborHead(LARDER_CBOR_BYTES, 4) == cbor("44"))
    #expect(cborHead(LARDER_CBOR_TEXT, 255) == cbor("78 ff"))
    #expect(cborHead(LARDER_CBOR_ARRAY, 25) == cbor("98 19"))
    #expect(cborHead(LARDER_CBOR_MAP, 5) == cbor("a5"))
    #expect(cborHead(LARDER_CBOR_TAG, 32) == cbor("d8 20"))
    #expect(cborHead(LARDER_CBOR_SIMPLE, 20) == cbor("f4"))
  }

  @Test func everyFormOfAnArgumentIsRead() {
    for (argument, least) in Self.boundaries {
      for bytes in [1, 2, 3, 5, 9] where bytes >= least {
        for major in 0..<8 {
          let form = Self.head(major, argument, bytes: bytes)
          for rest in [[], [0xFF], [0, 1, 2, 3, 4, 5, 6, 7]] as [[UInt8]] {
            var head = larder_cbor_head()
            #expect(larder_cbor_read_head(form + rest, form.count + rest.count, &head))
            #expect(head.argument == argument && Int(head.major) == major)
            #expect(Int(head.length) == bytes && head.info == form[0] & 31)
          }
        }
      }
    }
  }

  @Test func aHeadThatIsCutOffIsNotRead() {
    var head = larder_cbor_head()
    #expect(!larder_cbor_read_head(nil, 0, &head))
    for bytes in [1, 2, 3, 5, 9] {
      let form = Self.head(0, 7, bytes: bytes)
      for length in 0..<bytes {
        #expect(!larder_cbor_read_head(form, length, &head), "\(length) of \(bytes)")
      }
      #expect(larder_cbor_read_head(form, bytes, &head))
    }
  }

  @Test func whatMeansNothingIsNotReadAndWhatIsIndefiniteHasNoArgument() {
    for initial in UInt8.min ... .max {
      let (major, info) = (Int(initial >> 5), Int(initial & 31))
      var head = larder_cbor_head()
      let isRead = larder_cbor_read_head([initial, 0, 0, 0, 0, 0, 0, 0, 0], 9, &head)
      let hasIndefinite =
        major != LARDER_CBOR_UNSIGNED && major != LARDER_CBOR_NEGATIVE && major != LARDER_CBOR_TAG
      #expect(isRead == (info < 28 || info == 31 && hasIndefinite), "\(initial)")
      if isRead && info == LARDER_CBOR_INFO_INDEFINITE {
        #expect(head.argument == 0 && head.length == 1 && Int(head.info) == info)
      }
    }
  }

  /// A head of a length that may be longer than needed.
  static func head(_ major: Int, _ argument: UInt64, bytes: Int) -> [UInt8] {
    if bytes == 1 { return [UInt8(major << 5) | UInt8(argument)] }
    let info = [2: 24, 3: 25, 5: 26, 9: 27][bytes]!
    return [UInt8(major << 5 | info)]
      + (0..<bytes - 1).reversed().map { UInt8(truncatingIfNeeded: argument >> (8 * UInt64($0))) }
  }
}
