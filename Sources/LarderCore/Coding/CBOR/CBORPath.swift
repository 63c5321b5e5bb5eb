// SPDX-License-Identifier: MIT

/// A step of a coding path, and through its parent the whole path.
///
/// Made only where a value has containers of its own: the key of a number or a
/// text is at hand when an error has to name it.
class CBORPath {
  /// nil for the outermost value, and for what is in it if that has no step of its own.
  final let parent: CBORPath?
  /// nil for an element of an array, and for the outermost value.
  private let key: (any CodingKey)?
  /// The position in an array, or -1. Changed only by whoever made the step and knows that nobody
  /// else refers to it.
  final var index = -1

  init(_ parent: CBORPath?, _ key: some CodingKey) {
    self.parent = parent
    self.key = key
  }

  /// A step to an element of an array.
  init(_ parent: CBORPath?, index: Int) {
    self.parent = parent
    self.index = index
    key = nil
  }

  /// The outermost value, which is no step at all.
  init() {
    parent = nil
    key = nil
  }

  /// Another step to the same position.
  init(beside other: CBORPath) {
    parent = other.parent
    key = other.key
    index = other.index
  }

  fileprivate final var codingKey: (any CodingKey)? { index < 0 ? key : CBORKey.index(index) }
}

extension Optional where Wrapped: CBORPath {
  /// The keys from the outermost value to here.
  var keys: [any CodingKey] {
    var keys: [any CodingKey] = []
    var step: CBORPath? = self
    while let path = step {
      if let key = path.codingKey { keys.append(key) }
      step = path.parent
    }
    keys.reverse()
    return keys
  }
}

extension CodingKey {
  /// The number that stands for the key in a map, if one does.
  ///
  /// Many types make the number of the text: of "05" and "+5" they make 5, which says less than the
  /// text, and so does not stand for it.
  @inline(__always)
  var integer: Int? {
    guard let number = intValue else { return nil }
    let text = stringValue.utf8
    switch text.first {
    case UInt8(ascii: "0"): return text.count == 1 ? number : nil
    case UInt8(ascii: "+"): return nil
    case UInt8(ascii: "-"):
      return text.dropFirst().first == UInt8(ascii: "0") ? nil : number
    default: return number
    }
  }
}

/// A key that no type of the caller's has: a position in an array, `super`, or what
/// a key strategy made of a key.
///
/// Small enough to be kept without a box, and spelled only when it is asked for.
enum CBORKey: CodingKey {
  case index(Int)
  case text(String)

  init(stringValue: String) { self = .text(stringValue) }
  init(intValue: Int) { self = .index(intValue) }

  /// An index is spelled as Foundation's coders spell it.
  var stringValue: String {
    switch self {
    case .index(let index): "Index \(index)"
    case .text(let text): text
    }
  }

  var intValue: Int? { if case .index(let index) = self { index } else { nil } }

  static let `super` = CBORKey.text("super")
}
