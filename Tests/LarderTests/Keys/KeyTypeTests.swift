// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// A folder whose keys are of another type is refused, or has the same keys as that type.
struct KeyTypeTests {
  private struct Element<ID: Codable & Hashable & Sendable>: Codable, Identifiable {
    var id: ID
    var name: String
  }

  fileprivate struct Typed: RawRepresentable, Codable, Hashable, Sendable { var rawValue: UUID }
  fileprivate enum Planet: String, Codable, CaseIterable { case earth, mars, venus }
  fileprivate enum Number: Int, Codable, CaseIterable { case one = 1, two, three }
  fileprivate struct Place: Codable, Hashable { var x, y: Int }
  fileprivate struct Named: Codable, Hashable { var x: Int, name: String }

  /// What is done with a folder by a program whose keys are of one type.
  struct Program: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Keys' bytes, which were written, or are listed and found.
    let write: @Sendable (Kind, String) throws -> Set<Data>
    let read: @Sendable (Kind, String) throws -> Set<Data>

    init<Key: Codable & Hashable & Sendable>(_ name: String, _ keys: [Key]) {
      let coder = KeyCoder<Key>.standard
      testDescription = name
      write = { kind, path in
        switch kind {
        case .archive:
          let archive = try Archive<Element<Key>>(at: .path(path))
          try archive.put(all: keys.map { Element(id: $0, name: name) })
          try archive.close()
        case .entries:
          let cache = try EntryCache<Key>(at: .path(path), valueCount: 1)
          for key in keys { try cache.setValues([Data(name.utf8)], forKey: key) }
          try cache.close()
        case .cache, .untold:
          // A coder of two closures tells nothing: so folders are that earlier versions made.
          let untold = KeyCoder<Key>(
            encode: { try coder.encode($0) }, decode: { try coder.decode($0) })
          let cache = try DiskCache<Key, String>(
            at: .path(path), coder: .cbor, keyCoder: kind == .cache ? coder : untold)
          for key in keys { try cache.set(name, forKey: key) }
          try cache.close()
        }
        return Set(try keys.map { try coder.encode($0) })
      }
      read = { kind, path in
        let found: [Key]
        switch kind {
        case .archive:
          let archive = try Archive<Element<Key>>(at: .path(path))
          found = try archive.elements().map(\.id)
          for key in found { #expect(try archive.element(forID: key)?.id == key) }
          #expect(try archive.verify().isIntact)
        case .entries:
          let cache = try EntryCache<Key>(at: .path(path), valueCount: 1)
          found = try cache.keys()
          for key in found { #expect(try cache.contains(key)) }
        case .cache, .untold:
          let cache = try DiskCache<Key, String>(at: .path(path))
          found = try cache.keys()
          for key in found { #expect(try cache.value(forKey: key) != nil) }
        }
        return Set(try found.map { try coder.encode($0) })
      }
    }
  }

  enum Kind: CaseIterable { case cache, untold, entries, archive }

  private static let uuids = (0..<5).map {
    UUID(uuidString: "0000000\($0)-A000-4000-8000-000000000000")!
  }

  static let programs = [
    Program("String", ["a", "eightlng", "sixteen letters.", "é", ""]),
    Program("Data", [Data([0xFF]), Data([1, 2, 3]), Data(count: 8)]),
    Program("UUID", uuids),
    Program("typed UUID", uuids.map(Typed.init)),
    Program("Int", [1, -5, 70_000, 0]),
    Program("UInt", [UInt(1), 5, 70_000, 0]),
    Program("Int32", [Int32(1), -5, 70_000, 0]),
    Program("UInt32", [UInt32(1), 5, 70_000, 0]),
    Program("UInt8", [UInt8(1), 5, 200, 0]),
    Program("Double", [0.1, 2.7, -3.14]),
    Program("Float", [Float(0.1), 2.7, -3.14]),
    Program("URL", [URL(string: "https://a.example/b")!, URL(string: "file:///c")!]),
    Program("Date", [Date(timeIntervalSince1970: 0.25), Date(timeIntervalSince1970: 1e9 / 3)]),
    Program("enum of String", Planet.allCases),
    Program("enum of Int", Number.allCases),
    Program("struct", [Place(x: 1, y: 2), Place(x: 70_000, y: -1)]),
    Program("other struct", [Named(x: 1, name: "a"), Named(x: 2, name: "b")]),
    Program("[String]", [["a"], ["b", "c"], []]),
    Program("Set<Int>", [Set([1, 2, 3]), [7, 70_000]]),
    Program("[String: Int]", [["a": 1], ["b": 2, "c": 3]]),
  ]

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test(arguments: Kind.allCases, programs)
  func anotherTypeIsRefusedOrReadsTheSameKeys(_ kind: Kind, _ writer: Program) throws {
    let path = directory.file("store").path
    let written = try writer.write(kind, path)
    let own = Self.programs.firstIndex { $0.testDescription == writer.testDescription }!
    for (index, reader) in Self.programs.enumerated()
    where (index - own) % effort(4, long: 1) == 0 {
      do {
        let read = try reader.read(kind, path)
        #expect(read == written, "as \(reader.testDescription)")
      } catch let error as LarderError {
        // Of what a folder does not tell, a few keys may be none of the type.
        let tells = kind != .untold && writer.testDescription != "Data"
        #expect(
          error.code == .configurationMismatch || (!tells && error.code == .decoding),
          "as \(reader.testDescription): \(error)")
        #expect(reader.testDescription != writer.testDescription, "\(error)")
      }
    }
    #expect(try writer.read(kind, path) == written)
  }

  @Test func theMessageNamesBoth() throws {
    let path = directory.file("store").path
    try DiskCache<Int32, String>(at: .path(path)).close()
    let failure = error { try DiskCache<Int, String>(at: .path(path)) }
    #expect(failure?.code == .configurationMismatch)
    #expect(failure?.message.contains("whole numbers of 32 bits with a sign") == true)
    #expect(failure?.message.contains("whole numbers of 64 bits with a sign") == true)
  }

  @Test func copiesKeepIt() throws {
    let path = directory.file("store").path
    let copy = directory.file("copy").path
    let cache = try DiskCache<Int, String>(at: .path(path))
    try cache.set("a", forKey: 1)
    try cache.backup(to: copy)
    try cache.close()
    for path in [path, copy] {
      #expect(
        error { try DiskCache<UInt, String>(at: .path(path)) }?.code == .configurationMismatch)
    }
    let salvaged = directory.file("salvaged").path
    _ = try DiskCache<Int, String>.salvage(from: .path(path), to: .path(salvaged))
    _ = try DiskCache<Int, String>.rebuild(at: .path(path))
    for path in [path, salvaged] {
      #expect(
        error { try DiskCache<UInt, String>(at: .path(path)) }?.code == .configurationMismatch)
      #expect(try DiskCache<Int, String>(at: .path(path)).value(forKey: 1) == "a")
    }
  }

  @Test func aCacheOfEntriesOfAnotherVersionMayHaveOtherKeys() throws {
    let path = directory.file("store").path
    let old = try EntryCache<String>(at: .path(path), valueCount: 1)
    try old.setValues([Data([1])], forKey: "a")
    try old.close()
    #expect(
      error { try EntryCache<Int>(at: .path(path), valueCount: 1) }?.code == .configurationMismatch)
    let new = try EntryCache<Int>(at: .path(path), valueCount: 1, version: 2)
    #expect(try new.keys().isEmpty)
    try new.setValues([Data([2])], forKey: 7)
    try new.close()
    #expect(
      error { try EntryCache<String>(at: .path(path), valueCount: 1, version: 2) }?.code
        == .configurationMismatch)
    #expect(try EntryCache<Int>(at: .path(path), valueCount: 1, version: 2).keys() == [7])
  }
}
