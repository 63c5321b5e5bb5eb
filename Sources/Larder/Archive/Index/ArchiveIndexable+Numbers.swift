// SPDX-License-Identifier: MIT

extension ArchiveIndexable where Self: FixedWidthInteger {
  /// The most significant byte first, the sign turned round.
  public var archiveIndexBytes: [UInt8] {
    let sortable = self ^ (Self.isSigned ? Self.min : 0)
    return withUnsafeBytes(of: sortable.bigEndian) { [UInt8]($0) }
  }
}

extension Int8: ArchiveIndexable {}
extension Int16: ArchiveIndexable {}
extension Int32: ArchiveIndexable {}
extension Int64: ArchiveIndexable {}
extension UInt8: ArchiveIndexable {}
extension UInt16: ArchiveIndexable {}
extension UInt32: ArchiveIndexable {}
extension UInt64: ArchiveIndexable {}

extension Int: ArchiveIndexable {
  /// Those of an `Int64`: an archive may come from a system with words of another size.
  public var archiveIndexBytes: [UInt8] { Int64(self).archiveIndexBytes }
}

extension UInt: ArchiveIndexable {
  /// Those of a `UInt64`: an archive may come from a system with words of another size.
  public var archiveIndexBytes: [UInt8] { UInt64(self).archiveIndexBytes }
}

extension Bool: ArchiveIndexable {
  /// A zero for false, a one for true.
  public var archiveIndexBytes: [UInt8] { [self ? 1 : 0] }
}

extension Double: ArchiveIndexable {
  /// In the order of IEEE 754: negative ones turned round whole, others by their sign. Both
  /// zeros are one; not-a-number comes last.
  public var archiveIndexBytes: [UInt8] {
    isNaN ? Self.archiveIndexEnd : sortablePattern.archiveIndexBytes
  }
}

extension Double {
  /// In the order of the numbers; without a meaning for not-a-number.
  var sortablePattern: UInt64 {
    let pattern = self == 0 ? 0 : bitPattern
    return pattern >> 63 == 0 ? pattern | 1 << 63 : ~pattern
  }

  init(sortablePattern pattern: UInt64) {
    self.init(bitPattern: pattern >> 63 == 1 ? pattern ^ 1 << 63 : ~pattern)
  }
}

extension Double: ArchivePartlyOrdered {
  static var archiveIndexEnd: [UInt8] { UInt64.max.archiveIndexBytes }
}

extension Float: ArchiveIndexable {
  /// In the order of IEEE 754: negative ones turned round whole, others by their sign. Both
  /// zeros are one; not-a-number comes last.
  public var archiveIndexBytes: [UInt8] {
    isNaN ? Self.archiveIndexEnd : sortablePattern.archiveIndexBytes
  }
}

extension Float {
  /// In the order of the numbers; without a meaning for not-a-number.
  var sortablePattern: UInt32 {
    let pattern = self == 0 ? 0 : bitPattern
    return pattern >> 31 == 0 ? pattern | 1 << 31 : ~pattern
  }

  init(sortablePattern pattern: UInt32) {
    self.init(bitPattern: pattern >> 31 == 1 ? pattern ^ 1 << 31 : ~pattern)
  }
}

extension Float: ArchivePartlyOrdered {
  static var archiveIndexEnd: [UInt8] { UInt32.max.archiveIndexBytes }
}

extension ArchiveFixedWidth where Self: FixedWidthInteger {
  static var archiveIndexWidth: Int { bitWidth / 8 }
}

extension Int8: ArchiveFixedWidth {}
extension Int16: ArchiveFixedWidth {}
extension Int32: ArchiveFixedWidth {}
extension Int64: ArchiveFixedWidth {}
extension UInt8: ArchiveFixedWidth {}
extension UInt16: ArchiveFixedWidth {}
extension UInt32: ArchiveFixedWidth {}
extension UInt64: ArchiveFixedWidth {}
extension Int: ArchiveFixedWidth { static var archiveIndexWidth: Int { 8 } }
extension UInt: ArchiveFixedWidth { static var archiveIndexWidth: Int { 8 } }
extension Bool: ArchiveFixedWidth { static var archiveIndexWidth: Int { 1 } }
extension Double: ArchiveFixedWidth { static var archiveIndexWidth: Int { 8 } }
extension Float: ArchiveFixedWidth { static var archiveIndexWidth: Int { 4 } }
