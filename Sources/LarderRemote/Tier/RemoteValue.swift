// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore

  /// An entry as it is stored on the server.
  ///
  ///     offset 0    16   17   18
  ///     | version | 1 | flags | cost, 8 | times, 16 | count, 4 | extended data, count | value … |
  ///
  /// The version is 16 random bytes, of each write its own: two values with the same are the
  /// same, so a copy can be checked without the rest. The 1 is the format. The cost is there with
  /// flag 1, extended data and their count with flag 2, and with flag 4, which all but older
  /// entries have, when it was written and when it is to be loaded again; all others are 0. Numbers
  /// are little-endian. The value is what the tier's coder made of it.
  ///
  /// A marker of somebody who loads the value is a version and a 2, and nothing more. What stands
  /// in for a value that is too large for the server, and stays where it was written or loaded, is
  /// its version and a 3: so that its replacement and removal are announced as any.
  enum RemoteValue {
    static let versionBytes = CacheTierVersion.byteCount
    /// Of a marker, and of what stands in for a value. Every entry has more.
    static let markerBytes = versionBytes + 1
    private static let format: UInt8 = 1
    private static let markerFormat: UInt8 = 2
    private static let standInFormat: UInt8 = 3
    private static let hasCost: UInt8 = 1
    private static let hasExtendedData: UInt8 = 2
    private static let hasTimes: UInt8 = 4

    /// When an entry was written, and when it is to be loaded again, in nanoseconds since 1970;
    /// `Int64.max` for when the cache that has it says.
    struct Times: Equatable {
      var written: Int64
      var refresh: Int64
    }

    static func encode(
      value: Data, cost: Int?, extendedData: Data?, times: Times? = nil,
      version: CacheTierVersion = CacheTierVersion()
    ) -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(versionBytes + 30 + (extendedData?.count ?? 0) + value.count)
      bytes.append(contentsOf: version.bytes)
      bytes.append(format)
      bytes.append(
        (cost == nil ? 0 : hasCost) | (extendedData == nil ? 0 : hasExtendedData)
          | (times == nil ? 0 : hasTimes))
      if let cost { bytes.append(littleEndian: UInt64(bitPattern: Int64(cost))) }
      if let times {
        bytes.append(littleEndian: times.written)
        bytes.append(littleEndian: times.refresh)
      }
      if let extendedData {
        bytes.append(littleEndian: UInt32(clamping: extendedData.count))
        bytes.append(contentsOf: extendedData)
      }
      bytes.append(contentsOf: value)
      return bytes
    }

    /// What of an entry lies in front of its extended data and its value: what a renewal writes.
    static func head(of bytes: [UInt8]) -> [UInt8] {
      let flags = bytes[versionBytes + 1]
      let rest = (flags & hasCost != 0 ? 8 : 0) + (flags & hasTimes != 0 ? 16 : 0)
      return Array(bytes.prefix(versionBytes + 2 + rest))
    }

    static func marker() -> [UInt8] { CacheTierVersion().bytes + [markerFormat] }

    static func isMarker(_ bytes: [UInt8]) -> Bool {
      bytes.count == markerBytes && bytes.last == markerFormat
    }

    static func standIn(for version: CacheTierVersion) -> [UInt8] {
      version.bytes + [standInFormat]
    }

    static func isStandIn(_ bytes: [UInt8]) -> Bool {
      bytes.count == markerBytes && bytes.last == standInFormat
    }

    /// - Throws: `.incompatibleVersion` for another format, `.damaged` for what is none.
    static func decode(
      _ bytes: [UInt8]
    ) throws(LarderError) -> (value: Data, cost: Int?, times: Times?, extendedData: Data?) {
      var rest = bytes[...].dropFirst(versionBytes)
      guard let found = rest.popFirst(), let flags = rest.popFirst() else {
        throw LarderError(
          .damaged, "A remote value of \(bytes.count) bytes is not one of Larder's.")
      }
      guard found == format, flags & ~(hasCost | hasExtendedData | hasTimes) == 0 else {
        throw LarderError(
          .incompatibleVersion,
          "A remote value has the format \(found) with flags \(flags), not \(format).")
      }
      var cost: Int?
      if flags & hasCost != 0 {
        cost = Int(clamping: Int64(bitPattern: try number(&rest, as: UInt64.self)))
      }
      var times: Times?
      if flags & hasTimes != 0 {
        times = Times(
          written: Int64(bitPattern: try number(&rest, as: UInt64.self)),
          refresh: Int64(bitPattern: try number(&rest, as: UInt64.self)))
      }
      var extendedData: Data?
      if flags & hasExtendedData != 0 {
        let count = Int(clamping: try number(&rest, as: UInt32.self))
        guard count <= rest.count else { throw cutOff }
        extendedData = Data(rest.prefix(count))
        rest = rest.dropFirst(count)
      }
      return (Data(rest), cost, times, extendedData)
    }

    private static func number<Number: FixedWidthInteger>(
      _ rest: inout ArraySlice<UInt8>, as type: Number.Type
    ) throws(LarderError) -> Number {
      let size = MemoryLayout<Number>.size
      guard rest.count >= size else { throw cutOff }
      let number = rest.prefix(size).reversed().reduce(Number.zero) { $0 << 8 | Number($1) }
      rest = rest.dropFirst(size)
      return number
    }

    private static var cutOff: LarderError {
      LarderError(.damaged, "A remote value ends before its extended data, cost or times do.")
    }
  }

  extension [UInt8] {
    fileprivate mutating func append(littleEndian number: some FixedWidthInteger) {
      Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }
  }
#endif
