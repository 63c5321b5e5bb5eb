// SPDX-License-Identifier: MIT

/// A number of bytes, said in the unit that suits it.
///
/// ```swift
/// let limit = 10.megabytes
/// let half: DataSize = limit - 5_242_880
/// print(limit.kilobytes, half)  // 10240.0 5 MiB
/// ```
///
/// A kilobyte is 1,024 bytes, a megabyte 1,024 kilobytes, and so on. What is not a whole
/// number of bytes is rounded up: 9 bits are 2 bytes. What does not fit into an `Int` is
/// the nearest that does; not a number is 0. Sums and differences stop there too.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct DataSize: Sendable, Hashable, Codable {
  /// The number of bytes.
  public var bytes: Int

  /// So many bytes.
  ///
  /// - Parameter bytes: How many; less than 0 too, as a difference may be.
  /// - Complexity: O(1).
  public init(bytes: Int) { self.bytes = bytes }

  /// No bytes.
  public static let zero = DataSize(bytes: 0)

  /// So many units of so many bytes each, rounded up.
  package init(_ count: Double, unit: Double) {
    let bytes = (count * unit).rounded(.up)
    if bytes.isNaN {
      self.bytes = 0
    } else {
      // The largest `Int` is no `Double`; the next one above it is.
      self.bytes = Int(exactly: bytes) ?? (bytes < 0 ? .min : .max)
    }
  }

  package init(_ count: Int, unit: Int) {
    let (bytes, overflows) = count.multipliedReportingOverflow(by: unit)
    self.bytes = overflows ? (count < 0 ? .min : .max) : bytes
  }

  /// So many parts of a byte, `parts` of which are one, rounded up.
  package init(_ count: Int, parts: Int) {
    let (whole, rest) = count.quotientAndRemainder(dividingBy: parts)
    bytes = rest > 0 ? whole + 1 : whole
  }

  package init(_ count: Double, parts: Double) { self.init(count, unit: 1 / parts) }
}

extension DataSize: Comparable {
  /// Whether one is less than the other.
  ///
  /// - Complexity: O(1).
  public static func < (left: DataSize, right: DataSize) -> Bool { left.bytes < right.bytes }
}

extension DataSize: AdditiveArithmetic {
  /// The sum, or the nearest there is.
  ///
  /// - Complexity: O(1).
  public static func + (left: DataSize, right: DataSize) -> DataSize {
    let (sum, overflows) = left.bytes.addingReportingOverflow(right.bytes)
    return DataSize(bytes: overflows ? (left.bytes < 0 ? .min : .max) : sum)
  }

  /// The difference, or the nearest there is.
  ///
  /// - Complexity: O(1).
  public static func - (left: DataSize, right: DataSize) -> DataSize {
    let (difference, overflows) = left.bytes.subtractingReportingOverflow(right.bytes)
    return DataSize(bytes: overflows ? (left.bytes < 0 ? .min : .max) : difference)
  }
}

extension DataSize: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
  /// So many bytes.
  ///
  /// - Complexity: O(1).
  public init(integerLiteral bytes: Int) { self.init(bytes: bytes) }

  /// So many bytes, rounded up.
  ///
  /// - Complexity: O(1).
  public init(floatLiteral bytes: Double) { self.init(bytes, unit: 1) }
}

extension DataSize: CustomStringConvertible {
  /// The largest unit of which there is at least one, with one digit after the point
  /// where it is needed, as in `1.5 MiB`.
  public var description: String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    var size = Double(bytes)
    if size.magnitude < 1024 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
    var unit = -1
    while size.magnitude >= 1024, unit < units.count - 1 {
      size /= 1024
      unit += 1
    }
    let tenths = (size * 10).rounded() / 10
    return tenths == tenths.rounded() ? "\(Int(tenths)) \(units[unit])" : "\(tenths) \(units[unit])"
  }
}
