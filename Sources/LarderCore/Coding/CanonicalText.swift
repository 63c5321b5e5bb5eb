// SPDX-License-Identifier: MIT

/// The one form that texts have which Swift calls equal: composed (NFC), as it compares them.
package enum CanonicalText {
  /// The composed form; the text itself, without an allocation, where it surely has it already.
  package static func composed(_ text: String) -> String {
    if text.unicodeScalars.allSatisfy(isComposed) { return text }
    return String(decoding: pieces(of: text, withLetters: true, Platform.composed), as: UTF8.self)
  }

  /// Compares two texts by their characters in composed form, as their bytes are in an index.
  ///
  /// Swift's own `<` is no order of texts of which some are composed and some are not.
  ///
  /// - Returns: Less than 0, 0 or more than 0, as the first comes before the second, equals it or
  ///   comes after it.
  package static func compare(_ first: String, _ second: String) -> Int {
    var (first, second) = (first, second)
    let ofASCII: Int? = first.withUTF8 { first in
      second.withUTF8 { second in
        let (first, second) = (UnsafeRawBufferPointer(first), UnsafeRawBufferPointer(second))
        return first.isASCII && second.isASCII ? compare(first, second) : nil
      }
    }
    if let ofASCII { return ofASCII }
    (first, second) = (composed(first), composed(second))
    return first.withUTF8 { first in
      second.withUTF8 { compare(UnsafeRawBufferPointer(first), UnsafeRawBufferPointer($0)) }
    }
  }

  private static func compare(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
  ) -> Int {
    for (a, b) in zip(first, second) where a != b { return a < b ? -1 : 1 }
    return first.count - second.count
  }

  /// The UTF-8 of the decomposed form (NFD), in which file systems of Apple give names.
  package static func decomposed(_ text: String) -> [UInt8] {
    pieces(of: text, withLetters: false, Platform.decomposed)
  }

  /// Puts what is not ASCII into another form; all else stays as it is: nothing moves across it.
  ///
  /// - Parameter withLetters: With the ASCII before it, which may take it in.
  private static func pieces(
    of text: String, withLetters: Bool, _ form: (String) -> String
  ) -> [UInt8] {
    var text = text
    return text.withUTF8 { utf8 in
      var bytes: [UInt8] = []
      bytes.reserveCapacity(utf8.count * 2)
      var done = 0
      while let start = utf8[done...].firstIndex(where: { $0 > 0x7F }) {
        let end = utf8[start...].firstIndex { $0 < 0x80 } ?? utf8.count
        let first = withLetters ? max(done, start - 1) : start
        bytes.append(contentsOf: utf8[done..<first])
        let piece = String(decoding: utf8[first..<end], as: UTF8.self)
        bytes.append(contentsOf: isStrange(piece) ? piece.utf8 : form(piece).utf8)
        done = end
      }
      bytes.append(contentsOf: utf8[done...])
      return bytes
    }
  }

  /// Whether it has one of three vowels of Tibetan, which Unicode advises against: behind other
  /// marks, Swift does not call them equal to their parts.
  private static func isStrange(_ text: String) -> Bool {
    text.unicodeScalars.contains { $0 == "\u{F73}" || $0 == "\u{F75}" || $0 == "\u{F81}" }
  }

  /// Whether no other text is equal to this one; false if that would take long to find out.
  package static func hasOneForm(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      switch scalar.value {
      // What can neither be decomposed nor moved or taken in by a scalar before it: up to the
      // first letter with an accent, ideographs, and what emoji consist of.
      case 0..<0xC0, 0x200D, 0x4E00...0x9FFF, 0xFE0F, 0x1F300...0x1FAFF: true
      default: false
      }
    }
  }

  /// Whether a scalar stays what it is, whatever stands before it.
  private static func isComposed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x300, 0x4E00...0x9FFF, 0xAC00...0xD7A3: return true
    // Most of Greek, Cyrillic, Hiragana and Katakana, where asking for properties takes long.
    case 0x3A3...0x482, 0x48A...0x52F, 0x3041...0x3096, 0x30A1...0x30FA: return true
    // Jamo and vowels of Kirat Rai that a letter before them takes in, although no marks.
    case 0x1161...0x11FF, 0x16D40...0x16D7F: return false
    default: break
    }
    let properties = scalar.properties
    if properties.isFullCompositionExclusion { return false }
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .unassigned: return false
    default: return properties.canonicalCombiningClass == .notReordered
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether no byte is above 127.
  @inline(__always)
  package var isASCII: Bool {
    let words = count & ~7
    var bits: UInt64 = 0
    for offset in stride(from: 0, to: words, by: 8) {
      bits |= loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }
    for offset in words..<count { bits |= UInt64(self[offset]) }
    return bits & 0x8080_8080_8080_8080 == 0
  }
}
