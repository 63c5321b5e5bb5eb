// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

/// Turns keys into bytes and bytes into keys, for caches on disk.
///
/// Ready-made are ``string``, ``data`` and ``bytes``, ``uuid``, ``url``, ``integer``, ``double``
/// and ``float``, `rawValue` for enumerations of those, and ``codable`` for everything else that
/// is `Codable`.
/// Any other one is two closures:
///
/// ```swift
/// let hosts = KeyCoder<Host>(
///   keepsPrefixes: true,
///   encode: { Data($0.name.utf8) },
///   decode: { Host(name: String(decoding: $0, as: UTF8.self)) })
/// ```
///
/// Equal keys must have equal bytes, and keys that differ bytes that differ: on disk a
/// key is its bytes. They may be any, none, zeros and slashes included, up to 64 KiB.
///
/// The ready-made ones see to that, within other types too: text is written composed, so that
/// an é in one piece and an e with an accent behind it are one key, as they are in Swift, and
/// −0.0 is written as 0.0. Not-a-number is equal to nothing, not even to itself, and so it is
/// no key: `.encoding`. A coder of your own has to do the same.
///
/// A folder remembers what bytes its keys are, and refuses a key coder of another kind with
/// `.configurationMismatch`: text is not read as UUIDs, nor `Int32` as `Int`. Of keys whose type
/// that does not tell (bytes, those of ``codable`` and of coders of two closures) some are decoded
/// and encoded again when the folder is opened; if half of them are none of this coder's, it is
/// refused likewise.
///
/// Earlier versions stored texts and zeros as they were given. Such an entry is found, listed
/// and removed as ever, by any key that is equal to its own; the next write to it replaces it.
///
/// **Concurrency.** A value; safe to pass between threads. Its closures are called on
/// whatever thread reads or writes, several at a time.
public struct KeyCoder<Key>: Sendable {
  /// Lends a key's bytes to a closure, once; what that throws comes out as it is.
  @usableFromInline
  typealias Borrow = @Sendable (Key, (StoreKey) throws -> Void) throws -> Void

  /// Whether bytes are in the order of the keys, so that ranges of keys can be listed.
  public let keepsOrder: Bool

  /// Whether a key that begins with another has bytes that begin with the other's, so
  /// that keys can be found by how they begin.
  public let keepsPrefixes: Bool

  /// What the folder remembers of it.
  let form: KeyForm

  @usableFromInline let borrow: Borrow
  @usableFromInline let decodeBytes: @Sendable (UnsafeRawBufferPointer) throws -> Key

  /// Makes a key coder of two closures.
  ///
  /// - Parameters:
  ///   - keepsOrder: Whether bytes, compared one after the other and as numbers from 0
  ///     to 255, are in the order of the keys. No by default.
  ///   - keepsPrefixes: Whether a key that begins with another has bytes that begin with
  ///     the other's. No by default.
  ///   - encode: Makes bytes of a key, always the same. What it throws comes out as the
  ///     `cause` of an `.encoding` error; a `LarderError` comes out as it is.
  ///   - decode: Makes a key of those bytes. What it throws comes out as the `cause` of a
  ///     `.decoding` error; a `LarderError` comes out as it is.
  /// - Complexity: O(1).
  public init(
    keepsOrder: Bool = false, keepsPrefixes: Bool = false,
    encode: @escaping @Sendable (Key) throws -> Data,
    decode: @escaping @Sendable (Data) throws -> Key
  ) {
    self.init(
      .unknown, keepsOrder: keepsOrder, keepsPrefixes: keepsPrefixes,
      borrow: { key, body in
        let bytes: Data
        do { bytes = try encode(key) } catch { throw Self.encodingFailure(error) }
        try bytes.withUnsafeBytes { try body(StoreKey($0)) }
      },
      decode: { try decode(Data(copied: $0)) })
  }

  /// Makes a key coder that needs no `Data`.
  init(
    _ form: KeyForm, keepsOrder: Bool, keepsPrefixes: Bool, borrow: @escaping Borrow,
    decode: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Key
  ) {
    self.form = form
    self.keepsOrder = keepsOrder
    self.keepsPrefixes = keepsPrefixes
    self.borrow = borrow
    self.decodeBytes = decode
  }

  /// Encodes a key.
  ///
  /// - Parameter key: The key.
  /// - Returns: Its bytes; possibly none.
  /// - Throws: `.encoding`, with the closure's own error as its `cause`.
  /// - Complexity: O(bytes).
  public func encode(_ key: Key) throws -> Data {
    var bytes = Data()
    try borrow(key) { bytes = Data(copied: $0.bytes) }
    return bytes
  }

  /// The key as the store has it.
  func own(_ key: Key) throws -> StoreOwnKey {
    var own = StoreOwnKey()
    try borrow(key) { own = StoreOwnKey($0) }
    return own
  }

  /// Decodes a key.
  ///
  /// - Parameter bytes: What ``encode(_:)`` made.
  /// - Returns: The key.
  /// - Throws: `.decoding`, with the closure's own error as its `cause`.
  /// - Complexity: O(bytes).
  public func decode(_ bytes: Data) throws -> Key {
    try bytes.withUnsafeBytes { try decode($0) }
  }

  func decode(_ bytes: UnsafeRawBufferPointer) throws -> Key {
    do { return try decodeBytes(bytes) } catch {
      if error is LarderError { throw error }
      throw LarderError(
        .decoding, "Could not decode a key of \(bytes.count) bytes.", cause: error)
    }
  }

  /// A key as a message has it, of its bytes; those themselves, if they are none of this coder's.
  func shown(_ bytes: UnsafeRawBufferPointer) -> String {
    if Key.self != Data.self, let key = try? decode(bytes) { return shown(key) }
    if let text = String(validating: bytes, as: UTF8.self), !text.isEmpty { return quoted(text) }
    return "0x" + bytes.prefix(100).hexadecimal + (bytes.count > 100 ? "…" : "")
  }

  func shown(_ key: Key) -> String { quoted(key as? String ?? "\(key)", isText: key is String) }

  private func quoted(_ text: String, isText: Bool = true) -> String {
    let text = isText ? text.debugDescription : text
    return text.count <= 200 ? text : text.prefix(200) + "…"
  }

  static func encodingFailure(_ error: any Error) -> any Error {
    if error is LarderError { return error }
    return LarderError(.encoding, "Could not encode a key of type \(Key.self).", cause: error)
  }

  /// What a coder of a fixed form throws for bytes that it did not make.
  static func unfit(_ bytes: UnsafeRawBufferPointer) -> LarderError {
    LarderError(
      .decoding,
      "A key of \(bytes.count) bytes is not one of type \(Key.self); the store has other keys.")
  }
}
