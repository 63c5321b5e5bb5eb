// SPDX-License-Identifier: MIT

import Foundation
import Larder

// What is in a text, and how it begins. nil, of an optional property, meets none of these but
// `isNilOrEmpty()`.

extension ArchiveFilterCondition where Value == String {
  /// A text within the text.
  ///
  /// - Parameters:
  ///   - text: What has to be in it; an empty one is in every text.
  ///   - caseSensitive: Whether "a" and "A" differ; they do by default.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(length) for each element.
  public static func contains(string text: String, caseSensitive: Bool = true) -> Self {
    Self { $0.contains(text, caseSensitive: caseSensitive) }
  }

  /// A text within the text.
  ///
  /// - Parameter text: What has to be in it; an empty one is in every text.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(length) for each element.
  public static func contains(_ text: String) -> Self { contains(string: text) }

  /// A match of a regular expression anywhere in the text.
  ///
  /// - Parameter pattern: The expression, as `NSRegularExpression` takes it. If it is none,
  ///   the query throws `.invalidArgument`.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(pattern), and matching for each element.
  public static func matches(regex pattern: String) -> Self {
    Self { $0.matches(regex: pattern) }
  }

  /// A text that begins with another.
  ///
  /// - Parameter prefix: What it has to begin with; every text begins with an empty one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1), and O(prefix) for each element.
  public static func hasPrefix(_ prefix: String) -> Self {
    Self { $0.hasPrefix(prefix) }
  }
}

extension ArchiveFilterCondition where Value == String? {
  /// A text within the text.
  ///
  /// - Parameters:
  ///   - text: What has to be in it; an empty one is in every text.
  ///   - caseSensitive: Whether "a" and "A" differ; they do by default.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(length) for each element.
  public static func contains(string text: String, caseSensitive: Bool = true) -> Self {
    Self { $0.contains(text, caseSensitive: caseSensitive) }
  }

  /// A text within the text.
  ///
  /// - Parameter text: What has to be in it; an empty one is in every text.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1), and O(length) for each element.
  public static func contains(_ text: String) -> Self { contains(string: text) }

  /// A match of a regular expression anywhere in the text.
  ///
  /// - Parameter pattern: The expression, as `NSRegularExpression` takes it. If it is none,
  ///   the query throws `.invalidArgument`.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(pattern), and matching for each element.
  public static func matches(regex pattern: String) -> Self {
    Self { $0.matches(regex: pattern) }
  }

  /// A text that begins with another.
  ///
  /// - Parameter prefix: What it has to begin with; every text begins with an empty one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1), and O(prefix) for each element.
  public static func hasPrefix(_ prefix: String) -> Self {
    Self { $0.hasPrefix(prefix) }
  }

  /// No text, or one without characters.
  ///
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isNilOrEmpty() -> Self {
    Self { $0.isOne(of: [nil, ""]) }
  }
}
