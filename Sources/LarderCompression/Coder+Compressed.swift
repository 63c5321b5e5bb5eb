// SPDX-License-Identifier: MIT

import Foundation
public import LarderCore

extension Coder {
  /// The same coder with its bytes compressed by zlib.
  ///
  /// ```swift
  /// let log = try MessageLog<Event>(
  ///   at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest,
  ///   coder: .cbor.compressed())
  /// ```
  ///
  /// Values of which compression would make more bytes are stored as they are, at
  /// the price of 5. Text and structs of some hundred bytes begin to gain; each
  /// value is compressed by itself. To encrypt as well, compress first:
  /// `.cbor.compressed().encrypted(with: key)`. The bytes are described under
  /// "Compressed values" on the page "File formats".
  ///
  /// - Parameters:
  ///   - level: How much time to spend on fewer bytes.
  ///   - maximumBytes: How many bytes a value may have before it is compressed, for
  ///     writing and for reading; 1 GiB by default. Someone who can write a file
  ///     could otherwise make a few bytes claim all of a reader's memory.
  /// - Returns: A coder whose format has a `z` behind a plus sign: `cbor+z`. It
  ///   throws what this one does, and besides: `.tooLarge` for a value that has
  ///   more than `maximumBytes`; `.decoding` for bytes that are cut off, altered or
  ///   followed by others, or that claim more than `maximumBytes` or than they can
  ///   hold; `.invalidArgument` if `maximumBytes` is negative.
  /// - Complexity: O(1). Encoding and decoding take O(bytes), and hold all bytes of
  ///   one value in memory.
  public func compressed(
    level: CompressionLevel = .default, maximumBytes: Int = 1 << 30
  ) -> Coder<Value> {
    let compression = Compression(level: level, maximumBytes: maximumBytes)
    let encode: @Sendable (Value) throws -> Data = { value in
      try withEncodedBytes(of: value) { try compression.compress($0) }
    }
    return Coder(
      format: CoderFormat.adding("z", to: format), encode: encode,
      borrow: { value, body in try encode(value).withUnsafeBytes { try body($0) } },
      decode: { bytes in try compression.decompress(bytes) { try decodeBytes($0) } })
  }
}
