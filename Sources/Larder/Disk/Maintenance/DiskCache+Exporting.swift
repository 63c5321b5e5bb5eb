// SPDX-License-Identifier: MIT

internal import CLarderSystem
public import Foundation

extension DiskCache {
  /// The name that an exported value's file has.
  ///
  /// It is what ``DiskCacheConfiguration/fileNameProvider`` says. If there is no provider,
  /// or its name is empty, it is made of the key's bytes: in hexadecimal, or, of more than
  /// 100 of them, a hash.
  ///
  /// - Parameter key: The key.
  /// - Returns: A name of 1 to 255 bytes that stays in its folder.
  /// - Throws: `.invalidArgument` if the provider's name has a slash or a NUL, is too long,
  ///   or is "." or ".."; `.encoding` (of the key); what the provider throws.
  /// - Complexity: O(bytes of the key).
  public func fileName(forKey key: Key) throws -> String {
    if let provided = try fileNameProvider?(key), !provided.isEmpty {
      try DiskFolder.validate(provided)
      return provided
    }
    var name = ""
    try keyCoder.borrow(key) { name = Self.fileName(of: $0.bytes) }
    return name
  }

  /// Writes the encoded bytes under a key to a file of their own in a folder of yours, as
  /// for handing them to another program. Does not count as a use.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - directory: The folder, which has to exist. A file of that name is replaced, whole.
  /// - Returns: The file; nil if there is no value, or it has expired.
  /// - Throws: As ``fileName(forKey:)``; `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(bytes).
  @discardableResult
  public func exportValue(forKey key: Key, to directory: URL) throws -> URL? {
    let file = directory.appendingPathComponent(try fileName(forKey: key), isDirectory: false)
    var found: Data?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, .peek) { found = $0.takeData() }
    }
    guard let found else { return nil }
    // Nor is what Foundation opens for a moment the program's standard output.
    _ = larder_os_standard_occupy()
    defer { larder_os_standard_vacate() }
    do { try found.write(to: file, options: .atomic) } catch {
      throw LarderError(.io, "Could not write \(found.count) bytes to \(file.path).", cause: error)
    }
    return file
  }

  private static func fileName(of key: UnsafeRawBufferPointer) -> String {
    if key.isEmpty { return "empty" }
    if key.count <= 100 { return key.hexadecimal }
    // FNV-1a with 128 bits (Fowler, Noll, Vo): told apart from the former by its letter.
    var hash: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d
    for byte in key { hash = (hash ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013B }
    return withUnsafeBytes(of: hash.bigEndian) { "h" + $0.hexadecimal }
  }
}
