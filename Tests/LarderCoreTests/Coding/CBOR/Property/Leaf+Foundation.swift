// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

extension Date: Leaf {
  static let shape = LeafShape.date
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Date {
    let seconds = Double.random(in: -6e10...2e11, using: &generator)
    return switch UInt8.random(in: 0..<4, using: &generator) {
    case 0: Date(timeIntervalSince1970: seconds.rounded())
    case 1: Date(timeIntervalSince1970: (seconds / 1e3).rounded() * 1e-3)
    case 2: Date(timeIntervalSinceReferenceDate: seconds * 1e-9)
    default: Date(timeIntervalSinceReferenceDate: seconds)
    }
  }
}

extension Data: Leaf {
  static let shape = LeafShape.data
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Data {
    generator.bytes(Int.random(in: 0..<40, using: &generator))
  }
}

extension URL: Leaf {
  static let shape = LeafShape.url
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> URL {
    let path = Int.random(in: 0..<1000, using: &generator)
    let text = ["https://larder.example/\(path)?q=a%20b#c", "file:///tmp/\(path)", "x:\(path)"]
    return URL(string: text.randomElement(using: &generator) ?? "") ?? URL(fileURLWithPath: "/")
  }
}

extension UUID: Leaf {
  static let shape = LeafShape.uuid
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> UUID {
    let high = generator.next()
    let low = generator.next()
    return withUnsafeBytes(of: (high, low)) { UUID(uuid: $0.load(as: uuid_t.self)) }
  }
}

extension Decimal: Leaf {
  static let shape = LeafShape.decimal
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Decimal {
    let digits = Int64.random(in: -1_000_000_000_000...1_000_000_000_000, using: &generator)
    let exponent = Int.random(in: -20...20, using: &generator)
    return Decimal(digits) * Decimal(sign: .plus, exponent: exponent, significand: 1)
  }
}

extension Array: Leaf where Element: Leaf {
  static var shape: LeafShape { .list(Element.shape) }
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> [Element] {
    (0..<Int.random(in: 0..<4, using: &generator)).map { _ in
      Element.make(&generator, plain: plain)
    }
  }
}

extension Dictionary: Leaf where Key: Leaf, Value: Leaf {
  static var shape: LeafShape {
    Key.self == Int.self ? .numbered(Value.shape) : .named(Value.shape)
  }
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> [Key: Value] {
    let count = Int.random(in: 0...(plain ? 1 : 4), using: &generator)
    let pairs = (0..<count).map { _ in
      (Key.make(&generator, plain: plain), Value.make(&generator, plain: plain))
    }
    return Dictionary(pairs) { first, _ in first }
  }
}
