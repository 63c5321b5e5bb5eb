// SPDX-License-Identifier: MIT

/// What is nil or not, for code that knows no more of a type.
protocol ArchiveOptional {
  /// The type of what is not nil.
  static var wrapped: Any.Type { get }

  var isNil: Bool { get }
}

extension Optional: ArchiveOptional {
  static var wrapped: Any.Type { Wrapped.self }

  var isNil: Bool {
    switch self {
    case nil: true
    case .some: false
    }
  }
}
