// SPDX-License-Identifier: MIT

#if Encryption
  import Crypto
  import Foundation
  import LarderCore

  /// The bytes of an encrypted value.
  ///
  ///     | 0x01 | nonce, 12 | ciphertext, as long as the value's bytes | tag, 16 |
  ///
  /// AES-GCM (NIST SP 800-38D) with a nonce of 96 random bits and a tag of 128. The
  /// additional authenticated data are the first byte and then the format of the
  /// coder underneath in UTF-8, so that bytes do not pass for another coder's.
  struct Encryption: Sendable {
    private static let version: UInt8 = 1
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// Unchecked, because only swift-crypto 4 says that a key can be shared. It never changes, in
    /// any version.
    private struct Keys: @unchecked Sendable {
      let current: SymmetricKey
      let all: [SymmetricKey]
    }

    private let keys: Keys
    private let authenticated: Data
    /// Why no key of these can be used.
    private let misuse: LarderError?

    init(key: SymmetricKey, oldKeys: [SymmetricKey], format: String) {
      self.keys = Keys(current: key, all: [key] + oldKeys)
      self.authenticated = Data([Self.version]) + Data(format.utf8)
      let wrong = keys.all.first { ![128, 192, 256].contains($0.bitCount) }
      self.misuse = wrong.map { key in
        LarderError(
          .invalidArgument, "A key of AES has 128, 192 or 256 bits, not \(key.bitCount).")
      }
    }

    func encrypt(_ bytes: UnsafeRawBufferPointer) throws -> Data {
      if let misuse { throw misuse }
      let box: AES.GCM.SealedBox
      do {
        box = try AES.GCM.seal(bytes, using: keys.current, authenticating: authenticated)
      } catch {
        throw LarderError(
          .encoding, "Could not encrypt \(bytes.count) bytes.", cause: error)
      }
      var sealed = Data(capacity: 1 + Self.nonceBytes + bytes.count + Self.tagBytes)
      sealed.append(Self.version)
      sealed.append(contentsOf: box.nonce)
      sealed.append(box.ciphertext)
      sealed.append(box.tag)
      return sealed
    }

    func decrypt(_ bytes: UnsafeRawBufferPointer) throws -> Data {
      if let misuse { throw misuse }
      guard let version = bytes.first else {
        throw LarderError(.decoding, "Encrypted bytes are never empty, as these are.")
      }
      guard version == Self.version else {
        throw LarderError(
          .decoding,
          """
          The bytes begin with \(version), and encrypted ones with \(Self.version): they were not \
          encrypted, were altered, or come from a later version.
          """)
      }
      let least = 1 + Self.nonceBytes + Self.tagBytes
      guard bytes.count >= least else {
        throw LarderError(
          .decoding, "The encrypted bytes are cut off: \(bytes.count) of at least \(least).")
      }
      let box: AES.GCM.SealedBox
      do {
        let behindVersion = UnsafeRawBufferPointer(rebasing: bytes[1...])
        box = try AES.GCM.SealedBox(combined: behindVersion)
      } catch {
        throw LarderError(
          .decoding, "Could not read \(bytes.count) encrypted bytes.", cause: error)
      }
      for key in keys.all {
        // Which key fails, and how, says nothing more than the error below.
        if let opened = try? AES.GCM.open(box, using: key, authenticating: authenticated) {
          return opened
        }
      }
      throw LarderError(
        .decoding,
        """
        Could not decrypt \(bytes.count) bytes with \(keys.all.count == 1 ? "the" : "any") key \
        given: they were altered, or encrypted with another key or by a coder of another format.
        """)
    }
  }
#endif
