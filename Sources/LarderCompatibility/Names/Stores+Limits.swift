// SPDX-License-Identifier: MIT

public import Larder
public import LarderCore

// Counts, sizes and their limits, which have the same names in all stores by now.

extension MemoryCache {
  /// How many entries there are.
  ///
  /// - Complexity: O(1).
  @available(*, deprecated, renamed: "count")
  public var totalCount: Int { count }
}

extension StoreStatistics {
  /// The bytes of all values.
  @available(*, deprecated, renamed: "size")
  public var cost: Int { size }
}

extension DiskCacheConfiguration {
  /// The most encoded bytes that all values have together.
  @available(*, deprecated, renamed: "sizeLimit")
  public var costLimit: Int {
    get { sizeLimit.limit }
    set { sizeLimit = DataSize(limit: newValue) }
  }
}

extension DiskCache {
  /// How many entries there are.
  ///
  /// - Throws: As `count`.
  /// - Complexity: As `count`.
  @available(*, deprecated, renamed: "count")
  public var totalCount: Int { get throws { try count } }

  /// How many encoded bytes all values have together.
  ///
  /// - Throws: As `size`.
  /// - Complexity: As `size`.
  @available(*, deprecated, renamed: "size.bytes")
  public var totalCost: Int { get throws { try size.bytes } }

  /// The most encoded bytes that all values have together.
  ///
  /// - Complexity: O(1).
  @available(*, deprecated, renamed: "sizeLimit")
  public var costLimit: Int {
    get { sizeLimit.limit }
    set { sizeLimit = DataSize(limit: newValue) }
  }

  /// Evicts the least recently used entries until their values have no more bytes than this.
  ///
  /// - Throws: As `trim(toSize:)`.
  /// - Complexity: As `trim(toSize:)`.
  @available(*, deprecated, renamed: "trim(toSize:)")
  @discardableResult
  public func trim(toCost cost: Int) throws -> Int { try trim(toSize: DataSize(bytes: cost)) }

  /// As the synchronous form, on a thread of the cache's own.
  ///
  /// - Throws: As `trim(toSize:)`.
  /// - Complexity: As `trim(toSize:)`.
  @available(*, deprecated, renamed: "trim(toSize:)")
  @discardableResult
  public func trim(toCost cost: Int) async throws -> Int {
    try await trim(toSize: DataSize(bytes: cost))
  }
}

extension EntryCacheConfiguration {
  /// The most bytes that the values of all entries have together.
  @available(*, deprecated, renamed: "sizeLimit")
  public var byteLimit: Int {
    get { sizeLimit.limit }
    set { sizeLimit = DataSize(limit: newValue) }
  }
}

extension EntryCache {
  /// The most bytes that the values of all entries have together.
  ///
  /// - Complexity: O(1).
  @available(*, deprecated, renamed: "sizeLimit")
  public var byteLimit: Int {
    get { sizeLimit.limit }
    set { sizeLimit = DataSize(limit: newValue) }
  }
}

extension ArchiveConfiguration {
  /// The most encoded bytes that all elements have together.
  @available(*, deprecated, renamed: "sizeLimit")
  public var maximumDiskSize: DataSize? {
    get { sizeLimit }
    set { sizeLimit = newValue }
  }

  /// The most encoded bytes that the elements in memory have.
  @available(*, deprecated, renamed: "memorySizeLimit")
  public var maximumMemorySize: DataSize {
    get { memorySizeLimit }
    set { memorySizeLimit = newValue }
  }
}

extension Archive {
  /// The primary keys of all elements.
  ///
  /// - Throws: As `ids(limit:)`.
  /// - Complexity: As `ids(limit:)`.
  @available(*, deprecated, renamed: "ids(limit:)")
  public func ids(limitedBy limit: Int) throws -> [Element.ID] {
    try ids(limit: limit)
  }

  /// The primary keys of all elements, on a thread of the archive's own.
  ///
  /// - Throws: As `ids(limit:)`.
  /// - Complexity: As `ids(limit:)`.
  @available(*, deprecated, renamed: "ids(limit:)")
  public func ids(limitedBy limit: Int) async throws -> [Element.ID] {
    try await ids(limit: limit)
  }

  /// The primary keys of the elements that are in no index.
  ///
  /// - Throws: As `unindexedIDs(limit:)`.
  /// - Complexity: As `unindexedIDs(limit:)`.
  @available(*, deprecated, renamed: "unindexedIDs(limit:)")
  public func unindexedIDs(limitedBy limit: Int) throws -> [Element.ID] {
    try unindexedIDs(limit: limit)
  }

  /// The primary keys of the elements that are in no index, on a thread of the archive's own.
  ///
  /// - Throws: As `unindexedIDs(limit:)`.
  /// - Complexity: As `unindexedIDs(limit:)`.
  @available(*, deprecated, renamed: "unindexedIDs(limit:)")
  public func unindexedIDs(limitedBy limit: Int) async throws -> [Element.ID] {
    try await unindexedIDs(limit: limit)
  }

  /// How many encoded bytes all elements have together.
  ///
  /// - Throws: As `size`.
  /// - Complexity: As `size`.
  @available(*, deprecated, renamed: "size")
  public var currentDiskSize: DataSize { get throws { try size } }

  /// How many encoded bytes the elements in memory have.
  ///
  /// - Complexity: O(1).
  @available(*, deprecated, renamed: "memorySize")
  public var currentMemorySize: DataSize { memorySize }

  /// The most encoded bytes that all elements have together.
  ///
  /// - Complexity: O(1).
  @available(*, deprecated, renamed: "sizeLimit")
  public var maximumDiskSize: DataSize? { sizeLimit }

  /// Changes the most encoded bytes that all elements have together.
  ///
  /// - Throws: As `setSizeLimit(_:)`.
  /// - Complexity: As `setSizeLimit(_:)`.
  @available(*, deprecated, renamed: "setSizeLimit(_:)")
  public func setMaximumDiskSize(_ size: DataSize?) throws { try setSizeLimit(size) }

  /// As the synchronous form, on a thread of the archive's own.
  ///
  /// - Throws: As `setSizeLimit(_:)`.
  /// - Complexity: As `setSizeLimit(_:)`.
  @available(*, deprecated, renamed: "setSizeLimit(_:)")
  public func setMaximumDiskSize(_ size: DataSize?) async throws { try await setSizeLimit(size) }

  /// The most encoded bytes that the elements in memory have.
  ///
  /// - Complexity: O(1).
  @available(*, deprecated, renamed: "memorySizeLimit")
  public var maximumMemorySize: DataSize {
    get { memorySizeLimit }
    set { memorySizeLimit = newValue }
  }
}

extension DataSize {
  /// `Int.max` was no limit.
  fileprivate init?(limit: Int) {
    if limit == .max { return nil }
    self.init(bytes: limit)
  }
}

extension DataSize? {
  fileprivate var limit: Int { map { max(0, $0.bytes) } ?? .max }
}
