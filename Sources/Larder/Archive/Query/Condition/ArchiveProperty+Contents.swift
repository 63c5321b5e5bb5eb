// SPDX-License-Identifier: MIT

import Foundation

// What is in a collection or a text, and how a text begins. nil, of an optional text, meets none of
// these. How many members there are is a property of the property: `$0.tags.count > 2`.

extension ArchiveProperty where Value: Collection, Value.Element: Equatable & Sendable {
  /// Elements whose collection has a member.
  ///
  /// - Parameter member: What has to be in the collection.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(members) for each element.
  public func contains(_ member: Value.Element) -> ArchiveCondition<Element> {
    condition(nil) { $0.contains(member) }
  }

  /// Elements whose collection has one of some members, or more.
  ///
  /// - Parameter members: Of which one has to be in the collection. If there are none, no
  ///   collection will do.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(members²) for each element.
  public func contains(anyOf members: [Value.Element]) -> ArchiveCondition<Element> {
    condition(nil) { value in members.contains { value.contains($0) } }
  }

  /// Elements whose collection has each of some members.
  ///
  /// - Parameter members: What has to be in the collection. If there are none, any collection
  ///   will do.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(members²) for each element.
  public func contains(allOf members: [Value.Element]) -> ArchiveCondition<Element> {
    condition(nil) { value in members.allSatisfy { value.contains($0) } }
  }
}

extension ArchiveProperty where Value == String {
  /// Elements whose text has another in it.
  ///
  /// - Parameters:
  ///   - text: What has to be in it; an empty one is in every text.
  ///   - caseSensitive: Whether "a" and "A" differ; they do by default.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(length) for each element.
  public func contains(_ text: String, caseSensitive: Bool = true) -> ArchiveCondition<Element> {
    let search = ArchiveTextSearch(text, isCaseSensitive: caseSensitive)
    return condition(nil) { search.isFound(in: $0) }
  }

  /// Elements in whose text a regular expression matches anywhere.
  ///
  /// - Parameter pattern: The expression, as `NSRegularExpression` takes it. If it is none,
  ///   the query throws `.invalidArgument`.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(pattern), and matching for each element.
  public func matches(regex pattern: String) -> ArchiveCondition<Element> {
    let regex = ArchiveRegex(pattern)
    return condition(nil) { try regex.matches($0) }
  }

  /// Elements whose text begins with another.
  ///
  /// - Parameter prefix: What it has to begin with; every text begins with an empty one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1), and O(prefix) for each element.
  public func hasPrefix(_ prefix: String) -> ArchiveCondition<Element> {
    condition(ArchiveRanges.prefix(prefix)) { $0.hasPrefix(prefix) }
  }
}

extension ArchiveProperty where Value == String? {
  /// Elements whose text has another in it.
  ///
  /// - Parameters:
  ///   - text: What has to be in it; an empty one is in every text.
  ///   - caseSensitive: Whether "a" and "A" differ; they do by default.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(length) for each element.
  public func contains(_ text: String, caseSensitive: Bool = true) -> ArchiveCondition<Element> {
    let search = ArchiveTextSearch(text, isCaseSensitive: caseSensitive)
    return condition(nil) { $0.map { search.isFound(in: $0) } ?? false }
  }

  /// Elements in whose text a regular expression matches anywhere.
  ///
  /// - Parameter pattern: The expression, as `NSRegularExpression` takes it. If it is none,
  ///   the query throws `.invalidArgument`.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(pattern), and matching for each element.
  public func matches(regex pattern: String) -> ArchiveCondition<Element> {
    let regex = ArchiveRegex(pattern)
    return condition(nil) { try $0.map { try regex.matches($0) } ?? false }
  }

  /// Elements whose text begins with another.
  ///
  /// - Parameter prefix: What it has to begin with; every text begins with an empty one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1), and O(prefix) for each element.
  public func hasPrefix(_ prefix: String) -> ArchiveCondition<Element> {
    condition(ArchiveRanges.prefix(prefix, isOptional: true)) {
      $0?.hasPrefix(prefix) ?? false
    }
  }
}
