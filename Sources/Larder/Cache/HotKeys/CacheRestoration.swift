// SPDX-License-Identifier: MIT

public import LarderCore

/// What came of bringing hot keys back into memory; see ``CacheConfiguration/keepsHotKeys``.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheRestoration: Sendable {
  /// How many entries were brought back.
  public var count: Int
  /// Why the keys could not be read; nil if they could, or there were none. The file was left
  /// as it is.
  public var failure: LarderError?
}
