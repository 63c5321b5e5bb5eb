// SPDX-License-Identifier: MIT

import LarderCore

/// Which element is in the way: the ``LarderCore/LarderError/cause`` of an archive's `.duplicate`.
///
/// ```swift
/// do {
///   try users.insert(User(id: 1, name: "Ada", age: 36))
/// } catch let error as LarderError where error.code == .duplicate {
///   let duplicate = error.cause as? ArchiveDuplicate
///   print(duplicate?.index ?? "the primary key", "is that of", duplicate?.id ?? "another one")
/// }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ArchiveDuplicate: Error {
  /// The name of the unique index that would have a value twice; nil: the primary key.
  public let index: String?

  /// The primary key of the element that has the value, an `Element.ID`; nil if it was gone when it
  /// was looked for.
  public let id: (any Hashable & Sendable)?
}
