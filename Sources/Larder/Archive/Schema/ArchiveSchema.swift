// SPDX-License-Identifier: MIT

import Foundation
public import LarderCore

/// The version of an archive's elements, and how those of earlier versions become ones of this.
///
/// ```swift
/// let schema = ArchiveSchema<Book>(
///   version: 3,
///   migrations: [
///     ArchiveMigration(from: 1, BookV1.self) { BookV2(id: $0.id, title: $0.name) },
///     ArchiveMigration(from: 2, BookV2.self) { Book(id: $0.id, title: $0.title, year: 0) },
///   ])
/// let books = try Archive<Book>(at: .path(path), schema: schema)
/// ```
///
/// An archive that is opened without one has version 1. Opening a folder of an earlier version
/// migrates it; see <doc:Archives>.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ArchiveSchema<Element: Sendable>: Sendable {
  /// The version of elements that are stored from now on.
  public let version: Int

  /// Whether an archive that only reads also takes a folder of a later version, and decodes its
  /// elements as if they were of this one; false by default: it is refused with
  /// `.incompatibleVersion`.
  public var readsLaterVersions = false

  let migrations: [ArchiveMigration]

  /// Declares a version.
  ///
  /// - Parameters:
  ///   - version: From 1 to 255; opening throws `.invalidArgument` for others.
  ///   - migrations: A step from each earlier version that there may be to the next one, in their
  ///     order. Opening throws `.invalidArgument` unless each makes what the next one takes, and
  ///     the last one the archive's elements.
  /// - Complexity: O(migrations).
  public init(version: Int = 1, migrations: [ArchiveMigration] = []) {
    self.version = version
    self.migrations = migrations
  }
}

/// A step from one version of an archive's elements to the next.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ArchiveMigration: Sendable {
  /// The version of the elements that it takes.
  public let version: Int

  let old: Any.Type
  let new: Any.Type
  /// Of the coder.
  let format: String
  let decode: @Sendable (UnsafeRawBufferPointer) throws -> any Sendable
  let convert: @Sendable (any Sendable) throws -> any Sendable

  /// Declares a step for elements that another coder than CBOR has encoded.
  ///
  /// - Parameters:
  ///   - version: That of the elements that it takes.
  ///   - type: Their type.
  ///   - coder: What they were encoded with.
  ///   - body: Makes an element of the next version of one. Its primary key may be another one, of
  ///     another type too; two elements with one are `.duplicate`, before anything was changed.
  ///     What the closure throws comes out as the cause of a `.decoding` error.
  /// - Complexity: O(1).
  public init<Old: Sendable, New: Sendable>(
    from version: Int, _ type: Old.Type, coder: Coder<Old>,
    _ body: @escaping @Sendable (Old) throws -> New
  ) {
    self.version = version
    old = Old.self
    new = New.self
    format = coder.format
    decode = { try coder.decode($0) }
    convert = { value in
      guard let value = value as? Old else {
        throw LarderError(.invalidArgument, "A migration got another type than \(Old.self).")
      }
      return try body(value)
    }
  }

  /// Declares a step for elements that were encoded as CBOR.
  ///
  /// - Parameters:
  ///   - version: That of the elements that it takes.
  ///   - type: Their type.
  ///   - body: Makes an element of the next version of one; see
  ///     ``init(from:_:coder:_:)``.
  /// - Complexity: O(1).
  public init<Old: Codable & Sendable, New: Sendable>(
    from version: Int, _ type: Old.Type, _ body: @escaping @Sendable (Old) throws -> New
  ) {
    self.init(from: version, type, coder: .cbor, body)
  }
}

extension ArchiveSchema {
  /// What an element's extended data says: nothing of the first version.
  var tag: Data { version == 1 ? Data() : Data([UInt8(clamping: version)]) }

  /// The version that extended data says; nil if it is none.
  static func version(_ tag: UnsafeRawBufferPointer) -> Int? {
    switch tag.count {
    case 0: 1
    case 1 where tag[0] > 1: Int(tag[0])
    default: nil
    }
  }

  /// Refuses steps that lead nowhere.
  func validate() throws(LarderError) {
    guard (1...255).contains(version) else {
      throw LarderError(
        .invalidArgument, "The version of a schema is from 1 to 255, not \(version).")
    }
    var next = oldest
    for (number, migration) in migrations.enumerated() {
      let target: Any.Type =
        number + 1 < migrations.count ? migrations[number + 1].old : Element.self
      guard migration.version == next, next >= 1 else {
        throw LarderError(
          .invalidArgument,
          """
          The migrations to version \(version) of \(Element.self) have to come from the versions \
          before it, one after the other; the one from version \(migration.version) does not fit.
          """)
      }
      guard migration.new == target else {
        throw LarderError(
          .invalidArgument,
          """
          The migration from version \(migration.version) makes \(migration.new), and has to make \
          \(target).
          """)
      }
      next += 1
    }
  }

  /// The earliest version that steps lead on from.
  var oldest: Int { version - migrations.count }

  /// Whether an element is of a later version, and not to be decoded as it is.
  func isOutdated(by tag: UnsafeRawBufferPointer) -> Bool {
    !readsLaterVersions && Self.version(tag).map { $0 > version } ?? false
  }

  /// Decodes an element of whatever version.
  func decode(
    _ value: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer, _ coder: Coder<Element>,
    isReadOnly: Bool
  ) throws -> Element {
    let found = Self.version(tag)
    let isLater = found.map { $0 > version } ?? false
    if found == version || isLater && isReadOnly && readsLaterVersions {
      return try coder.decode(value)
    }
    return try element(value, ofVersion: found)
  }

  /// Makes an element of one of another version.
  private func element(_ value: UnsafeRawBufferPointer, ofVersion found: Int?) throws -> Element {
    guard let found, let first = migrations.firstIndex(where: { $0.version == found }) else {
      let number = found.map { "\($0)" } ?? "that is not known"
      throw LarderError(
        .incompatibleVersion,
        """
        An element has schema version \(number), and the schema of \(Element.self) has version \
        \(version), and no migration from there.
        """)
    }
    var made = try migrations[first].decode(value)
    for migration in migrations[first...] {
      do { made = try migration.convert(made) } catch {
        throw LarderError(
          .decoding, "The migration from version \(migration.version) failed.", cause: error)
      }
    }
    guard let element = made as? Element else {
      throw LarderError(.decoding, "A migration did not make \(Element.self).")
    }
    return element
  }
}
