// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport

/// Random items in every form that may be read, and damage to them.
struct CborGenerator {
  private var random: SeededGenerator
  var seed: UInt64 { random.seed }

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// A good item, but for keys that may be equal.
  mutating func item(depth: Int = 4) -> [UInt8] {
    switch below(depth > 0 ? 11 : 7) {
    case 0: return head(LARDER_CBOR_UNSIGNED, argument())
    case 1: return head(LARDER_CBOR_NEGATIVE, argument())
    case 2: return string(LARDER_CBOR_BYTES)
    case 3, 4: return string(LARDER_CBOR_TEXT)
    case 5: return [[0xF4], [0xF5], [0xF6], [0xF7], [0xE0], [0xF8, 0x20], [0xF8, 0xFF]][below(7)]
    case 6:
      let bytes = [2, 4, 8][below(3)]
      return [[2: 0xF9, 4: 0xFA, 8: 0xFB][bytes]!] + random.bytes(bytes)
    case 7: return head(LARDER_CBOR_TAG, argument()) + item(depth: depth - 1)
    case 8: return sequence(LARDER_CBOR_ARRAY, (0..<below(5)).map { _ in item(depth: depth - 1) })
    default:
      let pairs = (0..<below(5)).map { _ in key(depth: depth - 1) + item(depth: depth - 1) }
      return sequence(LARDER_CBOR_MAP, pairs)
    }
  }

  /// The same with something wrong, most of the time.
  mutating func damaged(_ item: [UInt8]) -> [UInt8] {
    var bytes = item
    for _ in 0...below(2) {
      let place = below(bytes.count + 1)
      switch below(6) {
      case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8(below(8))
      case 1 where place < bytes.count: bytes[place] = interestingByte()
      case 2 where place < bytes.count: bytes.remove(at: place)
      case 3: bytes.insert(interestingByte(), at: place)
      case 4:
        let part = bytes[below(place + 1)..<place]
        bytes.insert(contentsOf: part, at: below(bytes.count + 1))
      default: bytes.removeSubrange(place...)
      }
    }
    return bytes
  }

  /// Keys are short and few, so that equal ones meet, and their forms many.
  private mutating func key(depth: Int) -> [UInt8] {
    switch below(8) {
    case 0, 1: return head(LARDER_CBOR_UNSIGNED, UInt64(below(8)))
    case 2: return head(LARDER_CBOR_NEGATIVE, UInt64(below(8)))
    case 3...5:
      let text = Array(
        ["", "a", "ab", "é", "key", "a key of 16 byte", "a key of 16 Byte"][below(7)].utf8)
      return string(below(4) == 0 ? LARDER_CBOR_BYTES : LARDER_CBOR_TEXT, [text])
    default: return item(depth: depth)
    }
  }

  private mutating func string(_ major: Int) -> [UInt8] {
    let texts = [
      "", "a", "larder", "ü", "水", "𐅑", "0123456789", "every byte of it", "naïve, and more",
    ]
    return string(major, (0..<below(3)).map { _ in Array(texts[below(texts.count)].utf8) })
  }

  /// In chunks or whole.
  private mutating func string(_ major: Int, _ chunks: [[UInt8]]) -> [UInt8] {
    if below(4) == 0 {
      return [UInt8(major << 5 | 31)] + chunks.flatMap { head(major, UInt64($0.count)) + $0 } + [
        0xFF
      ]
    }
    let whole = chunks.flatMap { $0 }
    return head(major, UInt64(whole.count)) + whole
  }

  private mutating func sequence(_ major: Int, _ items: [[UInt8]]) -> [UInt8] {
    below(4) == 0
      ? [UInt8(major << 5 | 31)] + items.joined() + [0xFF]
      : head(major, UInt64(items.count)) + items.joined()
  }

  /// Mostly in the shortest form.
  private mutating func head(_ major: Int, _ argument: UInt64) -> [UInt8] {
    let shortest = cborHead(major, argument).count
    let longer = [1, 2, 3, 5, 9].filter { $0 >= shortest }
    let bytes = below(4) == 0 ? longer[below(longer.count)] : shortest
    return CborHeadTests.head(major, argument, bytes: bytes)
  }

  private mutating func argument() -> UInt64 {
    random.next() >> UInt64([63, 60, 56, 48, 32, 0][below(6)])
  }

  private mutating func interestingByte() -> UInt8 {
    let known: [UInt8] = [
      0x00, 0x17, 0x18, 0x1B, 0x1C, 0x1F, 0x3F, 0x5F, 0x61, 0x7B, 0x7F, 0x80, 0x9B, 0x9F, 0xA1,
      0xBB, 0xBF, 0xC2, 0xDB, 0xDF, 0xED, 0xF8, 0xFC, 0xFF,
    ]
    return below(3) == 0 ? UInt8(below(256)) : known[below(known.count)]
  }

  mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
}
