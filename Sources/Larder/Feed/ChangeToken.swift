// SPDX-License-Identifier: MIT

import CLarderStore
public import Foundation
import LarderCore

/// A position in the changes of one store, behind a write.
///
/// Keep it where you like, also in another process or a file, and pass it to
/// `changes(since:named:options:)` to go on behind that write.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ChangeToken: Sendable, Hashable {
  private static let count = Int(LARDER_STORE_TOKEN_BYTES)

  /// The token as it can be stored: 32 bytes.
  public let data: Data

  /// A token that was stored.
  ///
  /// - Parameter data: What ``data`` was.
  /// - Throws: `.invalidArgument` if it has another length. Whether it is a token, opening a feed
  ///   finds out.
  /// - Complexity: O(1).
  public init(data: Data) throws {
    guard data.count == Self.count else {
      throw LarderError(
        .invalidArgument, "A change token has \(Self.count) bytes, not \(data.count).")
    }
    self.data = data
  }

  init(_ raw: larder_store_token) {
    data = withUnsafeBytes(of: raw) { Data($0) }
  }

  var raw: larder_store_token {
    var raw = larder_store_token()
    withUnsafeMutableBytes(of: &raw) { _ = data.copyBytes(to: $0) }
    return raw
  }

  /// The version of the last write before it: that of the entries it stored. 0 for the start.
  ///
  /// - Complexity: O(1).
  public var version: UInt64 { withUnsafePointer(to: raw) { larder_store_token_sequence($0) } }
}

extension ChangeToken: Codable {
  /// Reads a token from its 32 bytes.
  ///
  /// - Parameter decoder: Has them as one `Data`.
  /// - Throws: `DecodingError` if there are not so many; and what the decoder throws.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let data = try container.decode(Data.self)
    guard data.count == Self.count else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "A change token has \(Self.count) bytes.")
    }
    self.data = data
  }

  /// Writes the token's 32 bytes, as one `Data`.
  ///
  /// - Parameter encoder: Gets them.
  /// - Throws: What the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(data)
  }
}
