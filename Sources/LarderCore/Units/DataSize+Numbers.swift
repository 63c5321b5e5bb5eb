// SPDX-License-Identifier: MIT

public import Foundation

extension Int {
  /// So many bytes.
  ///
  /// - Complexity: O(1).
  public var bytes: DataSize { .bytes(self) }

  /// So many times 1,024 bytes.
  ///
  /// - Complexity: O(1).
  public var kilobytes: DataSize { .kilobytes(self) }

  /// So many times 1,024 kilobytes.
  ///
  /// - Complexity: O(1).
  public var megabytes: DataSize { .megabytes(self) }

  /// So many times 1,024 megabytes.
  ///
  /// - Complexity: O(1).
  public var gigabytes: DataSize { .gigabytes(self) }

  /// So many times 1,024 gigabytes.
  ///
  /// - Complexity: O(1).
  public var terabytes: DataSize { .terabytes(self) }
}

extension Double {
  /// So many bytes, rounded up.
  ///
  /// - Complexity: O(1).
  public var bytes: DataSize { .bytes(self) }

  /// So many times 1,024 bytes, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var kilobytes: DataSize { .kilobytes(self) }

  /// So many times 1,024 kilobytes, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var megabytes: DataSize { .megabytes(self) }

  /// So many times 1,024 megabytes, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var gigabytes: DataSize { .gigabytes(self) }

  /// So many times 1,024 gigabytes, rounded up to bytes.
  ///
  /// - Complexity: O(1).
  public var terabytes: DataSize { .terabytes(self) }
}

extension Data {
  /// How many bytes there are.
  ///
  /// - Complexity: O(1).
  public var dataSize: DataSize { DataSize(bytes: count) }
}
