// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore

/// What bytes the keys of a store are, as its folder remembers it; the page "File formats" has the
/// numbers.
package struct KeyForm: RawRepresentable, Hashable, Sendable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Of bytes as they are, which any key's are; of a coder of two closures; of a folder that does
  /// not say.
  static let unknown = KeyForm(rawValue: 0)
  static let text = KeyForm(rawValue: 1)
  static let uuid = KeyForm(rawValue: 2)
  /// Any `Codable` type.
  static let cbor = KeyForm(rawValue: 3)
  static let url = KeyForm(rawValue: 4)

  private static let integers: UInt16 = 0x100
  private static let floatingPoints: UInt16 = 0x200
  private static let signed: UInt16 = 0x80

  static func integer<Number: FixedWidthInteger>(_ type: Number.Type) -> KeyForm {
    KeyForm(
      rawValue: integers | (Number.isSigned ? signed : 0) | UInt16(Number.bitWidth / 8))
  }

  static func floatingPoint<Pattern: FixedWidthInteger>(_ type: Pattern.Type) -> KeyForm {
    KeyForm(rawValue: floatingPoints | UInt16(Pattern.bitWidth / 8))
  }

  /// Whether all keys of the form are of every type that has it.
  var tellsType: Bool { self != .unknown && self != .cbor }

  /// What keys are, in the plural.
  package var description: String {
    switch self {
    case .unknown: return "keys of an unknown form"
    case .text: return "keys that are text"
    case .uuid: return "keys that are UUIDs"
    case .cbor: return "keys in CBOR"
    case .url: return "keys that are URLs"
    default: break
    }
    let (kind, bits) = (rawValue & 0xFF00, rawValue & 0x7F * 8)
    if kind == Self.floatingPoints { return "keys that are floating-point numbers of \(bits) bits" }
    if kind != Self.integers { return "keys of the form \(rawValue)" }
    let sign = rawValue & Self.signed == 0 ? "no sign" : "a sign"
    return "keys that are whole numbers of \(bits) bits with \(sign)"
  }
}

extension DiskCache {
  /// Whether the folder says that its keys are text.
  package var hasTextKeys: Bool {
    (try? store.statistics().key_form) == UInt32(KeyForm.text.rawValue)
  }
}

extension KeyCoder {
  /// Whether bytes that were stored are those of a key, as they are written now or as earlier
  /// versions wrote them.
  func isForm(_ stored: UnsafeRawBufferPointer, of key: Key) -> Bool {
    var isSame = false
    try? borrow(key) { own in
      isSame =
        own.bytes.elementsEqual(stored)
        // Earlier versions wrote sets in any order.
        || form == .cbor && own.bytes.count == stored.count
        || own.others.bytes(besides: own.bytes).contains { stored.elementsEqual($0) }
    }
    return isSame
  }

  /// Whether what is stored under those bytes is found by a key.
  func finds(_ stored: UnsafeRawBufferPointer, by key: Key) -> Bool where Key: Equatable {
    guard isForm(stored, of: key) else { return false }
    var isSame = form != .cbor
    if !isSame { try? borrow(key) { isSame = $0.bytes.elementsEqual(stored) } }
    return isSame || (try? decode(stored)) == key
  }

  /// Refuses a store whose keys are obviously of another type: where its folder does not tell,
  /// some of them are decoded, and encoded again.
  ///
  /// - Throws: `.configurationMismatch`. What cannot be read is for others to find.
  /// - Complexity: O(1).
  func check(_ store: StoreHandle) throws(LarderError) {
    if form.tellsType, (try? store.statistics().key_form) == UInt32(form.rawValue) { return }
    var (ours, others) = (0, 0)
    var example = 0
    for isDescending in [false, true] {
      var selection = StoreSelection()
      selection.isWithoutValues = true
      selection.isDescending = isDescending
      guard var cursor = try? StoreCursor(store, selection) else { return }
      var left = 8
      while left > 0,
        (try? cursor.next({ entry in
          if let key = try? decode(entry.key), isForm(entry.key, of: key) {
            ours += 1
          } else {
            others += 1
            example = entry.key.count
          }
        })) == true
      { left -= 1 }
    }
    if others == 0 || others < ours { return }
    throw LarderError(
      .configurationMismatch,
      """
      Could not open \(store.path): its keys are not of type \(Key.self); one of \(example) bytes \
      is none that the key coder makes. Open it with the type and key coder that it was written \
      with; it was left as it was.
      """)
  }
}
