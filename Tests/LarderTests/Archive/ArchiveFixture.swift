// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport

/// A folder for archives, and a clock that stands still until it is moved.
struct ArchivePlace {
  let directory: TemporaryDirectory
  let clock = DiskClock()

  init() throws { directory = try TemporaryDirectory() }

  var url: URL { directory.file("archive") }
  var path: String { url.path }

  /// What does nothing by itself, and lets little wait for a checkpoint.
  func configuration(
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) -> ArchiveConfiguration {
    var configuration = ArchiveConfiguration()
    configuration.autoTrimInterval = .zero
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    configuration.journalCapacity = 1 << 20
    configuration.clock = clock.clock
    change(&configuration)
    return configuration
  }

  func open<Element: Identifiable & Sendable & Codable>(
    _ type: Element.Type, indexes: [ArchiveIndex<Element>] = [],
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<Element> where Element.ID: Codable & Sendable & SendableMetatype {
    try Archive(
      at: .path(path), coder: .cbor, indexes: indexes, configuration: configuration(change))
  }

  /// An archive of persons, found by age and name.
  func openPersons(
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<ArchivePerson> {
    try open(
      ArchivePerson.self, indexes: [ArchiveIndex("age", \.age), ArchiveIndex("name", \.name)],
      change)
  }

  /// An archive of blocks, whose encoded size is known.
  func openBlocks(
    _ change: (inout ArchiveConfiguration) -> Void = { _ in }
  ) throws -> Archive<ArchiveBlock> {
    try Archive(at: .path(path), coder: ArchiveBlock.coder, configuration: configuration(change))
  }
}

/// Found by a number.
struct ArchivePerson: Codable, Identifiable, Equatable, Sendable {
  var id: Int
  var name: String
  var age: Int
  var mail: String?

  init(_ id: Int, name: String = "nobody", age: Int = 0, mail: String? = nil) {
    self.id = id
    self.name = name
    self.age = age
    self.mail = mail
  }
}

/// As many bytes as it says, all alike.
struct ArchiveBlock: Identifiable, Equatable, Sendable {
  var id: String
  var size: Int
  var byte: UInt8 = 0

  /// At least as long as the key and two more.
  static let coder = Coder<ArchiveBlock>(
    format: "block",
    encode: { block in
      var bytes = Data([UInt8(block.id.utf8.count), block.byte]) + Data(block.id.utf8)
      guard bytes.count <= block.size else { throw CocoaError(.coderInvalidValue) }
      bytes.append(Data(repeating: block.byte, count: block.size - bytes.count))
      return bytes
    },
    decode: { bytes in
      guard bytes.count >= 2, bytes.count >= 2 + Int(bytes[bytes.startIndex]) else {
        throw CocoaError(.coderReadCorrupt)
      }
      let key = bytes.dropFirst(2).prefix(Int(bytes[bytes.startIndex]))
      return ArchiveBlock(
        id: String(decoding: key, as: UTF8.self), size: bytes.count,
        byte: bytes[bytes.startIndex + 1])
    })
}

/// After Vellum's tests: an element with an optional text and an element within.
struct ArchiveStructure: Codable, Identifiable, Equatable, Sendable {
  var id: String
  var someNumber: Int
  var someText: String?
  var innerStructure: ArchiveInnerStructure?

  static func random(_ generator: inout SeededGenerator) -> ArchiveStructure {
    ArchiveStructure(
      id: generator.text(20), someNumber: .random(in: 0..<1000, using: &generator),
      someText: generator.text(.random(in: 50..<100, using: &generator)),
      innerStructure: .random(&generator))
  }
}

/// What is within it.
struct ArchiveInnerStructure: Codable, Equatable, Identifiable, Sendable {
  var id: String
  var someNumber = -1
  var someText: String?

  static func random(_ generator: inout SeededGenerator) -> ArchiveInnerStructure {
    ArchiveInnerStructure(
      id: generator.text(20), someNumber: .random(in: 0..<1000, using: &generator),
      someText: generator.text(.random(in: 50..<100, using: &generator)))
  }
}

extension SeededGenerator {
  /// A text of letters.
  mutating func text(_ count: Int) -> String {
    let letters = Array("abcdefghijklmnopqrstuvwxyz")
    return String((0..<count).map { _ in letters[Int(next() % 26)] })
  }
}
