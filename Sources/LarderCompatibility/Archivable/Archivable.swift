// SPDX-License-Identifier: MIT

public import Foundation
public import Larder
public import LarderCore

/// An element that knows how it is archived: its key is a text, its archive has a name of its
/// own, and its properties may have archives, too.
///
/// What is `Codable` only has to give its key:
///
/// ```swift
/// struct User: ArchiveCodable {
///   var primaryKey: String { email }
///   var email: String
///   var address: Address?
/// }
///
/// let users = try ArchiveFactory.shared.archive(for: User.self)
/// ```
///
/// An ``Archive`` takes any `Identifiable` element; this is for those who want more of it.
public protocol Archivable: Identifiable, Sendable where ID == String {
  /// What the element is found by; `id` is the same.
  var primaryKey: String { get }

  /// The name of the folder of the elements' archive. By default `vellum_` and the name of
  /// the type in small letters, as in `vellum_user_profile`.
  static var archiveName: String { get }

  /// What becomes of properties that are archivable themselves;
  /// ``ArchivePropertyBehavior/insertIfNotPresent`` by default. `.ignore` spares recording
  /// to look for them.
  static var archivePropertyBehavior: ArchivePropertyBehavior { get }

  /// What elements are found by besides their primary key; nothing by default.
  static var archiveIndexes: [ArchiveIndex<Self>] { get }

  /// The version of the elements, and what becomes of those of earlier ones; version 1 by default.
  static var archiveSchema: ArchiveSchema<Self> { get }

  /// The name of the encoding, up to 8 visible ASCII characters; a folder with another one
  /// is refused. `cbor` by default for what is `Codable`, else empty: then nothing is
  /// compared. Give another one with an encoding of your own.
  static var archiveFormat: String { get }

  /// Encodes the element. As CBOR by default, for what is `Codable`.
  func archiveData() throws -> Data

  /// Decodes an element. From CBOR by default, for what is `Codable`.
  static func decode(archive: Data) throws -> Self
}

/// What is archivable by way of `Codable`.
public typealias ArchiveCodable = Archivable & Codable

extension Archivable {
  /// The primary key.
  public var id: String { primaryKey }

  /// `vellum_` and the name of the type in small letters, as in `vellum_user_profile`.
  public static var archiveName: String { ArchiveName.standard(for: Self.self) }

  /// ``ArchivePropertyBehavior/insertIfNotPresent``.
  public static var archivePropertyBehavior: ArchivePropertyBehavior { .insertIfNotPresent }

  /// None.
  public static var archiveIndexes: [ArchiveIndex<Self>] { [] }

  /// Version 1.
  public static var archiveSchema: ArchiveSchema<Self> { ArchiveSchema() }

  /// Empty: nothing is compared.
  public static var archiveFormat: String { "" }

  /// How large the element is when it is encoded.
  ///
  /// - Throws: What ``archiveData()`` throws.
  /// - Complexity: That of encoding.
  public var sizeOfData: DataSize {
    get throws { try archiveData().dataSize }
  }

  /// What an archive of such elements encodes with.
  static var archiveCoder: Coder<Self> {
    Coder(
      format: archiveFormat, encode: { try $0.archiveData() },
      decode: { try decode(archive: $0) })
  }
}

extension Archivable where Self: Codable {
  /// `cbor`.
  public static var archiveFormat: String { "cbor" }

  /// The element as CBOR.
  public func archiveData() throws -> Data { try CBOREncoder().encode(self) }

  /// An element from CBOR.
  public static func decode(archive: Data) throws -> Self {
    try CBORDecoder().decode(Self.self, from: archive)
  }
}
