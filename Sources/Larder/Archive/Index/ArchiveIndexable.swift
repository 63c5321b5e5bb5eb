// SPDX-License-Identifier: MIT

/// A value that elements of an ``Archive`` can be found by.
///
/// Whole numbers, `Double`, `Float`, `Bool`, `String`, `Date`, `UUID`, `Data`, and optional
/// values of these are. An enumeration, or any other type with a raw value that is, only has
/// to say so:
///
/// ```swift
/// enum Level: Int, Codable, ArchiveIndexable { case low, high }
/// ```
///
/// A type of your own gives bytes:
///
/// ```swift
/// struct Version: ArchiveIndexable, Comparable {
///   var major: UInt16, minor: UInt16
///   var archiveIndexBytes: [UInt8] { major.archiveIndexBytes + minor.archiveIndexBytes }
///   static func < (a: Self, b: Self) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
/// }
/// ```
public protocol ArchiveIndexable: Sendable {
  /// The value as bytes: equal values have equal ones, values that differ have ones that
  /// differ. Those that share their first 1,000 bytes are slower to find.
  var archiveIndexBytes: [UInt8] { get }

  /// Whether bytes, compared one after the other and as numbers from 0 to 255, are in the
  /// order that `<` gives the values. If not, the index finds equal values only, and does not
  /// sort.
  ///
  /// Yes by default; no for types with a raw value, whose `<` may mean something else. One
  /// whose `<` compares raw values may say yes.
  static var archiveIndexKeepsOrder: Bool { get }
}

extension ArchiveIndexable {
  /// Yes.
  public static var archiveIndexKeepsOrder: Bool { true }
}

extension ArchiveIndexable where Self: RawRepresentable, RawValue: ArchiveIndexable {
  /// The bytes of the raw value.
  public var archiveIndexBytes: [UInt8] { rawValue.archiveIndexBytes }

  /// No: `<` may mean something else than the order of raw values.
  public static var archiveIndexKeepsOrder: Bool { false }
}

/// Whose values are not all in one order with each other, because some compare as neither
/// less nor equal nor greater. Those have bytes behind those of all others.
protocol ArchivePartlyOrdered {
  /// Where the values begin that are not in the order.
  static var archiveIndexEnd: [UInt8] { get }
}

extension Optional: ArchiveIndexable where Wrapped: ArchiveIndexable {
  /// A zero for nil; a one and the bytes of the value for others: nil comes first.
  public var archiveIndexBytes: [UInt8] {
    switch self {
    case nil: [0]
    case let value?: [1] + value.archiveIndexBytes
    }
  }

  /// As the values do that are not nil.
  public static var archiveIndexKeepsOrder: Bool { Wrapped.archiveIndexKeepsOrder }
}

extension Optional: ArchivePartlyOrdered where Wrapped: ArchivePartlyOrdered {
  static var archiveIndexEnd: [UInt8] { [1] + Wrapped.archiveIndexEnd }
}
