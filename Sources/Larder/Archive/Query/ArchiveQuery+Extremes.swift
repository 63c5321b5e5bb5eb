// SPDX-License-Identifier: MIT

public import Foundation

extension ArchiveQuery {
  /// The least value of a property.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if there are no results. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As `first()` of the query, sorted by the property: an index of it finds the
  ///   value at once.
  @inlinable
  public func min<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value> & Sendable
  ) throws -> Value? {
    try ordered(property).sorted(by: property).first()?[keyPath: property]
  }

  /// The greatest value of a property.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if there are no results. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As `min(_:)`.
  @inlinable
  public func max<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value> & Sendable
  ) throws -> Value? {
    try ordered(property).sorted(by: property, .reverse).first()?[keyPath: property]
  }

  /// The least value of an optional property, but for nil.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if no result has one. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As `min(_:)` of a property that is not optional.
  @inlinable
  public func min<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value?> & Sendable
  ) throws -> Value? {
    try ordered(property).sorted(by: property).first()?[keyPath: property]
  }

  /// The greatest value of an optional property, but for nil.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if no result has one. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As `min(_:)` of a property that is not optional.
  @inlinable
  public func max<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value?> & Sendable
  ) throws -> Value? {
    try ordered(property).sorted(by: property, .reverse).first()?[keyPath: property]
  }

  /// As the synchronous form, on a thread of the archive's own: the least value of a property.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if there are no results. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As the synchronous form, and a change of threads.
  @inlinable
  public func min<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value> & Sendable
  ) async throws -> Value? {
    try await ordered(property).sorted(by: property).first()?[keyPath: property]
  }

  /// As the synchronous form, on a thread of the archive's own: the greatest value of a property.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if there are no results. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As the synchronous form, and a change of threads.
  @inlinable
  public func max<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value> & Sendable
  ) async throws -> Value? {
    try await ordered(property).sorted(by: property, .reverse).first()?[keyPath: property]
  }

  /// As the synchronous form, on a thread of the archive's own: the least value of an optional
  /// property, but for nil.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if no result has one. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As the synchronous form, and a change of threads.
  @inlinable
  public func min<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value?> & Sendable
  ) async throws -> Value? {
    try await ordered(property).sorted(by: property).first()?[keyPath: property]
  }

  /// As the synchronous form, on a thread of the archive's own: the greatest value of an optional
  /// property, but for nil.
  ///
  /// - Parameter property: Which one.
  /// - Returns: The value; nil if no result has one. What is not a number does not count.
  /// - Throws: As `first()`.
  /// - Complexity: As the synchronous form, and a change of threads.
  @inlinable
  public func max<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value?> & Sendable
  ) async throws -> Value? {
    try await ordered(property).sorted(by: property, .reverse).first()?[keyPath: property]
  }

  /// Without elements whose value is not a number.
  @usableFromInline
  func ordered<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value> & Sendable
  ) -> ArchiveQuery {
    if !(Value.self is any ArchivePartlyOrdered.Type) { return self }
    return self.where(ArchiveProperty(property).satisfies { $0 == $0 })
  }

  /// Without elements that have no value, or none that is a number.
  @usableFromInline
  func ordered<Value: Comparable & Sendable>(
    _ property: any KeyPath<Element, Value?> & Sendable
  ) -> ArchiveQuery {
    let found = self.where(ArchiveProperty(property) != nil)
    if !(Value.self is any ArchivePartlyOrdered.Type) { return found }
    return found.where(ArchiveProperty(property).satisfies { $0 == $0 })
  }
}
