// SPDX-License-Identifier: MIT

/// What Apple's systems are told of a store's files, besides what is in them.
///
/// ```swift
/// configuration.files.protection = .completeUnlessOpen
/// configuration.files.isExcludedFromBackup = true
/// ```
///
/// Set when a store is opened for writing, and again when it is resumed, wherever it is not set
/// yet. Elsewhere it has no effect.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct FileAttributes: Sendable, Hashable {
  /// When the files can be read: a class of Data Protection.
  public enum Protection: Sendable, Hashable {
    /// Always.
    case none

    /// While the device is unlocked. A store in use maps its files, and a process that reads a
    /// mapping of one that was locked is ended by the system: suspend the store before.
    case complete

    /// While the device is unlocked, and for as long as they are open. A store closes files and
    /// opens them again, so that suspending is needed here, too.
    case completeUnlessOpen

    /// From the first time on that the device is unlocked after it was started.
    case completeUntilFirstUserAuthentication
  }

  /// The class that files get on iOS, tvOS, watchOS and visionOS; `nil` leaves them that of the
  /// folder or the app.
  ///
  /// ``Protection/completeUntilFirstUserAuthentication`` by default, with which a store can be
  /// used in the background.
  public var protection: Protection? = .completeUntilFirstUserAuthentication

  /// Whether backups leave the files out, on all of Apple's systems; false by default, which
  /// changes nothing. Those in the user's caches folder are left out in any case.
  public var isExcludedFromBackup = false

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}
}
