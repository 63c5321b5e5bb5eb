// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

extension String: ArchiveIndexable {
  /// UTF-8 of the composed form (NFC), which is what Swift compares: texts that it calls equal
  /// have equal bytes.
  public var archiveIndexBytes: [UInt8] {
    // Below U+0300, whose first byte is 0xCC, no form differs from another.
    let bytes = [UInt8](utf8)
    if bytes.allSatisfy({ $0 < 0xCC }) { return bytes }
    return [UInt8](CanonicalText.composed(self).utf8)
  }
}

extension Data: ArchiveIndexable {
  /// The bytes as they are.
  public var archiveIndexBytes: [UInt8] { [UInt8](self) }
}

extension UUID: ArchiveIndexable {
  /// The 16 bytes.
  public var archiveIndexBytes: [UInt8] { withUnsafeBytes(of: uuid) { [UInt8]($0) } }
}

extension Date: ArchiveIndexable {
  /// Those of the seconds since 2001.
  public var archiveIndexBytes: [UInt8] { timeIntervalSinceReferenceDate.archiveIndexBytes }
}

extension Date: ArchivePartlyOrdered {
  static var archiveIndexEnd: [UInt8] { Double.archiveIndexEnd }
}

extension UUID: ArchiveFixedWidth { static var archiveIndexWidth: Int { 16 } }
extension Date: ArchiveFixedWidth { static var archiveIndexWidth: Int { 8 } }
