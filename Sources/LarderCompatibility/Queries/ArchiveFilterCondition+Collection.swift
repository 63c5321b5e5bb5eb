// SPDX-License-Identifier: MIT

import Larder

// How much a collection holds, and what. No index helps with these.

extension ArchiveFilterCondition where Value: Collection {
  /// So many members.
  ///
  /// - Parameter count: How many.
  /// - Returns: A condition.
  /// - Complexity: O(1), and counting for each element.
  public static func countEqual(with count: Int) -> Self {
    Self { $0.satisfies { $0.count == count } }
  }

  /// More members than that.
  ///
  /// - Parameter count: How many are too few still.
  /// - Returns: A condition.
  /// - Complexity: O(1), and counting for each element.
  public static func countGreater(than count: Int) -> Self {
    Self { $0.satisfies { $0.count > count } }
  }

  /// Fewer members than that.
  ///
  /// - Parameter count: How many are too many already.
  /// - Returns: A condition.
  /// - Complexity: O(1), and counting for each element.
  public static func countLess(than count: Int) -> Self {
    Self { $0.satisfies { $0.count < count } }
  }

  /// At least so many members.
  ///
  /// - Parameter count: How many.
  /// - Returns: A condition.
  /// - Complexity: O(1), and counting for each element.
  public static func countGreaterOrEqual(with count: Int) -> Self {
    Self { $0.satisfies { $0.count >= count } }
  }

  /// At most so many members.
  ///
  /// - Parameter count: How many.
  /// - Returns: A condition.
  /// - Complexity: O(1), and counting for each element.
  public static func countLessOrEqual(with count: Int) -> Self {
    Self { $0.satisfies { $0.count <= count } }
  }

  /// No members.
  ///
  /// - Returns: A condition.
  /// - Complexity: O(1).
  public static func isEmpty() -> Self { Self { $0.satisfies { $0.isEmpty } } }

  /// Any members.
  ///
  /// - Returns: A condition.
  /// - Complexity: O(1).
  public static func isNotEmpty() -> Self { Self { $0.satisfies { !$0.isEmpty } } }
}

extension ArchiveFilterCondition where Value: Collection, Value.Element: Equatable & Sendable {
  /// A member.
  ///
  /// - Parameter member: What has to be in the collection.
  /// - Returns: A condition.
  /// - Complexity: O(1), and O(members) for each element.
  public static func contains(with member: Value.Element) -> Self { Self { $0.contains(member) } }

  /// One of some members, or more.
  ///
  /// - Parameter members: Of which one has to be in the collection. If there are none, no
  ///   collection will do.
  /// - Returns: A condition.
  /// - Complexity: O(1), and O(members²) for each element.
  public static func contains(atLeastOne members: [Value.Element]) -> Self {
    Self { $0.contains(anyOf: members) }
  }

  /// Each of some members.
  ///
  /// - Parameter members: What has to be in the collection. If there are none, any collection
  ///   will do.
  /// - Returns: A condition.
  /// - Complexity: O(1), and O(members²) for each element.
  public static func contains(all members: [Value.Element]) -> Self {
    Self { $0.contains(allOf: members) }
  }

  /// Each of some members.
  ///
  /// - Parameter members: What has to be in the collection. If there are none, any collection
  ///   will do.
  /// - Returns: A condition.
  /// - Complexity: O(1), and O(members²) for each element.
  public static func contains(_ members: Value.Element...) -> Self { contains(all: members) }
}
