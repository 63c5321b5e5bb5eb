// SPDX-License-Identifier: MIT

/// A step of a coding path, and through its parent the whole path.
///
/// Made only where a value has containers of its own: the key of a number or a
/// text is at hand when an error has to name it.
final class CBORPath {
  let parent: CBORPath?
  let key: any CodingKey

  init(_ parent: CBORPath?, _ key: some CodingKey) {
    self.parent = parent
    self.key = key
  }
}

extension Optional where Wrapped == CBORPath {
  /// The keys from the outermost value to here.
  var keys: [any CodingKey] {
    var keys: [any CodingKey] = []
    var step = self
    while let path = step {
      keys.append(path.key)
      step = path.parent
    }
    keys.reverse()
    return keys
  }
}

/// A key that no type of the caller's has: a place in an array, `super`, or what
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
