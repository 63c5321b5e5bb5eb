// SPDX-License-Identifier: MIT

#if Encryption
  public import Crypto
  import Foundation
  public import LarderCore

  extension Coder {
    /// The same coder with its bytes encrypted by AES-GCM.
    ///
    /// ```swift
    /// let key = SymmetricKey(size: .bits256)  // Store it where only this program can read it.
    /// let log = try MessageLog<Event>(
    ///   at: .url(file), capacity: 1.megabytes, whenFull: .overwriteOldest,
    ///   coder: .cbor.encrypted(with: key))
    /// ```
    ///
    /// Nobody without the key can read a value, and nobody can change one unnoticed.
    /// What can be seen is how many values there are, when they came and how long
    /// each one is: 29 bytes more than without encryption. Keys, index values and
    /// extended data are stored as they are. Someone who can write the file can also
    /// drop, repeat and reorder whole values, and swap those of two keys. The bytes
    /// are described under "Encrypted values" on the page "File formats".
    ///
    /// Each value gets a random nonce, so equal values have different bytes. Change
    /// the key before it has encrypted 2³² values (NIST SP 800-38D, section 8.3):
    /// make a coder with a new key, and name the former one among `oldKeys` as long
    /// as values of it are to be read.
    ///
    /// - Parameters:
    ///   - key: The key to encrypt with, and the first one to decrypt with: 128, 192
    ///     or 256 bits.
    ///   - oldKeys: More keys to try when decrypting, in this order; none by default.
    /// - Returns: A coder whose format has an `e` behind a plus sign: `cbor+e`. It
    ///   throws what this one does, and besides: `.decoding` for bytes that are cut
    ///   off, altered, or were encrypted with another key or by a coder of another
    ///   format; `.invalidArgument` if a key has another size.
    /// - Complexity: O(1). Encoding takes O(bytes), and decoding O(bytes) for each
    ///   key that is tried.
    public func encrypted(
      with key: SymmetricKey, alsoDecryptingWith oldKeys: [SymmetricKey] = []
    ) -> Coder<Value> {
      let encryption = Encryption(key: key, oldKeys: oldKeys, format: format)
      let encode: @Sendable (Value) throws -> Data = { value in
        try withEncodedBytes(of: value) { try encryption.encrypt($0) }
      }
      return Coder(
        format: CoderFormat.adding("e", to: format), encode: encode,
        borrow: { value, body in try encode(value).withUnsafeBytes { try body($0) } },
        decode: { bytes in
          try encryption.decrypt(bytes).withUnsafeBytes { try decodeBytes($0) }
        })
    }
  }
#endif
