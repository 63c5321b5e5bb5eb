// SPDX-License-Identifier: MIT

/// What becomes of the properties of an ``Archivable`` element that are archivable
/// themselves, when the element is recorded.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum ArchivePropertyBehavior: Sendable, Hashable, CaseIterable {
  /// Each is recorded in its own archive, in place of what is there.
  case replaceExisting
  /// Each is recorded in its own archive, unless there is one with its key.
  case insertIfNotPresent
  /// They are only stored within the element.
  case ignore
}
