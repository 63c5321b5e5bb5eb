// SPDX-License-Identifier: MIT

public import LarderCore

extension Int {
  /// So many bits, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var bits: DataSize { .bits(self) }

  /// So many half bytes, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var nibbles: DataSize { .nibbles(self) }
}

extension Double {
  /// So many bits, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var bits: DataSize { .bits(self) }

  /// So many half bytes, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var nibbles: DataSize { .nibbles(self) }
}

extension DataSize {
  /// The number of bits; `Int.max` if there are more.
  ///
  /// - Complexity: O(1).
  public var bits: Int { DataSize(bytes, unit: 8).bytes }

  /// The number of half bytes; `Int.max` if there are more.
  ///
  /// - Complexity: O(1).
  public var nibbles: Int { DataSize(bytes, unit: 2).bytes }

  /// So many bits, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func bits(_ count: Int) -> DataSize { DataSize(count, parts: 8) }

  /// So many bits, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func bits(_ count: Double) -> DataSize { DataSize(count, parts: 8) }

  /// So many half bytes, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func nibbles(_ count: Int) -> DataSize { DataSize(count, parts: 2) }

  /// So many half bytes, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func nibbles(_ count: Double) -> DataSize { DataSize(count, parts: 2) }
}
