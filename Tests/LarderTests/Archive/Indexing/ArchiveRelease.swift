// SPDX-License-Identifier: MIT

import Foundation
@testable import Larder
import LarderTestSupport

/// What one release of a program makes of the elements in a folder.
struct ArchiveRelease: Sendable, CustomStringConvertible {
  /// What becomes of a field that older releases did not write.
  enum Missing: Sendable { case fails, is0, is7 }

  /// What the field `a` is called.
  var keyOfA = "a"
  /// What becomes of a missing field `c`; nil: the release knows no such field.
  var c: Missing?
  /// Whether `c` is a text rather than a number.
  var cIsText = false
  /// What is computed of `a` and `b`.
  var adds = true
  /// Which property the index of that name is of.
  var indexes: [String: String] = [:]

  var description: String {
    let c = c.map { "\($0)\(cIsText ? " text" : "")" } ?? "none"
    return "(\(keyOfA), c \(c), \(adds ? "a+b" : "a-b"), \(indexes.sorted { $0.key < $1.key }))"
  }

  static func random(_ generator: inout SeededGenerator) -> ArchiveRelease {
    var release = ArchiveRelease()
    for _ in 0..<4 { release.change(&generator) }
    return release
  }

  /// Changes one thing.
  mutating func change(_ generator: inout SeededGenerator) {
    let properties = ["a", "b", "c", "sum"]
    let name = ["k", "l"][Int(generator.next() % 2)]
    switch generator.next() % 10 {
    case 0: keyOfA = keyOfA == "a" ? "x" : "a"
    case 1: c = nil
    case 2, 3: c = [.fails, .is0, .is7][Int(generator.next() % 3)]
    case 4: if generator.next() % 3 == 0 { cIsText.toggle() }
    case 5: adds.toggle()
    case 6: indexes[name] = nil
    default: indexes[name] = properties[Int(generator.next() % 4)]
    }
  }

  var declared: [ArchiveIndex<ArchiveThing>] {
    indexes.sorted { $0.key < $1.key }.map { name, property in
      ArchiveIndex(name, ArchiveThing.keyPath(property))
    }
  }

  /// Text, so that what releases make of it is plain to see.
  var coder: Coder<ArchiveThing> {
    Coder(
      format: "thing",
      encode: { thing in
        var fields = ["id": "\(thing.id)", keyOfA: "\(thing.a)", "b": "\(thing.b)"]
        if c != nil { fields["c"] = cIsText ? "t\(thing.c)" : "\(thing.c)" }
        return try JSONEncoder().encode(fields)
      }, decode: { try thing($0) })
  }

  /// The same few elements are decoded again and again. What a global has in a `Data`, Address
  /// Sanitizer does not find, and takes for a leak.
  private static let known = Locked<[[UInt8]: [String: String]]>([:])

  private static func fields(_ bytes: Data) throws -> [String: String] {
    let key = [UInt8](bytes)
    if let fields = known.withLock({ $0[key] }) { return fields }
    let fields = try JSONDecoder().decode([String: String].self, from: bytes)
    known.withLock { $0[key] = fields }
    return fields
  }

  func thing(_ bytes: Data) throws -> ArchiveThing {
    let fields = try Self.fields(bytes)
    func number(_ name: String, _ prefix: String = "") throws -> Int? {
      guard let text = fields[name] else { return nil }
      guard text.hasPrefix(prefix), let number = Int(text.dropFirst(prefix.count)) else {
        throw CocoaError(.coderReadCorrupt)
      }
      return number
    }
    guard let id = try number("id"), let b = try number("b") else {
      throw CocoaError(.coderReadCorrupt)
    }
    var thing = ArchiveThing(id: id, a: try number(keyOfA) ?? 3, b: b, adds: adds)
    if let missing = c {
      switch (try number("c", cIsText ? "t" : ""), missing) {
      case (let value?, _): thing.c = value
      case (nil, .fails): throw CocoaError(.coderReadCorrupt)
      case (nil, .is0): thing.c = 0
      case (nil, .is7): thing.c = 7
      }
    }
    return thing
  }
}

/// An element of any release.
struct ArchiveThing: Identifiable, Sendable, Equatable {
  var id: Int
  var a: Int
  var b: Int
  var c = 0
  /// The release's, and not stored.
  var adds: Bool

  var sum: Int { adds ? a + b : a - b }

  static func keyPath(_ name: String) -> any KeyPath<ArchiveThing, Int> & Sendable {
    switch name {
    case "a": \.a
    case "b": \.b
    case "c": \.c
    default: \.sum
    }
  }
}
