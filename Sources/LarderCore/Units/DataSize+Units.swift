// SPDX-License-Identifier: MIT

// MARK: - A size in units

extension DataSize {
  /// The number of kilobytes, of 1,024 bytes each.
  ///
  /// - Complexity: O(1).
  public var kilobytes: Double { Double(bytes) / Double(1 << 10) }

  /// The number of megabytes, of 1,024 kilobytes each.
  ///
  /// - Complexity: O(1).
  public var megabytes: Double { Double(bytes) / Double(1 << 20) }

  /// The number of gigabytes, of 1,024 megabytes each.
  ///
  /// - Complexity: O(1).
  public var gigabytes: Double { Double(bytes) / Double(1 << 30) }

  /// The number of terabytes, of 1,024 gigabytes each.
  ///
  /// - Complexity: O(1).
  public var terabytes: Double { Double(bytes) / Double(1 << 40) }
}

// MARK: - Units made a size

extension DataSize {
  /// So many bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func bytes(_ count: Int) -> DataSize { DataSize(bytes: count) }

  /// So many bytes, rounded up.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func bytes(_ count: Double) -> DataSize { DataSize(count, unit: 1) }

  /// So many times 1,024 bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func kilobytes(_ count: Int) -> DataSize { DataSize(count, unit: 1 << 10) }

  /// So many times 1,024 bytes, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func kilobytes(_ count: Double) -> DataSize {
    DataSize(count, unit: Double(1 << 10))
  }

  /// So many times 1,024 kilobytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func megabytes(_ count: Int) -> DataSize { DataSize(count, unit: 1 << 20) }

  /// So many times 1,024 kilobytes, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func megabytes(_ count: Double) -> DataSize {
    DataSize(count, unit: Double(1 << 20))
  }

  /// So many times 1,024 megabytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func gigabytes(_ count: Int) -> DataSize { DataSize(count, unit: 1 << 30) }

  /// So many times 1,024 megabytes, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func gigabytes(_ count: Double) -> DataSize {
    DataSize(count, unit: Double(1 << 30))
  }

  /// So many times 1,024 gigabytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func terabytes(_ count: Int) -> DataSize { DataSize(count, unit: 1 << 40) }

  /// So many times 1,024 gigabytes, rounded up to bytes.
  ///
  /// - Parameter count: How many.
  /// - Complexity: O(1).
  public static func terabytes(_ count: Double) -> DataSize {
    DataSize(count, unit: Double(1 << 40))
  }
}
