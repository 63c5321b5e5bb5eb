// SPDX-License-Identifier: MIT

/// What a feed tells: a write, or that some are missing.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ChangeEvent<Change: Sendable>: Sendable {
  /// What happened.
  public enum Kind: Sendable {
    /// A write, whole: one change, or those of a batch or transaction in their order.
    case changes([Change])
    /// Writes are missing before the next event, because cleaning deleted them or they are
    /// damaged. Take everything again with ``ChangeLog/snapshot(_:)``.
    ///
    /// `missing` is how many writes; nil where nobody knows, as with the token of another store.
    case gap(missing: Int?)
    /// A power cut took back every write behind the event's ``ChangeEvent/token``. Nothing that
    /// was told of them is true any more. Feeds that tell only what is synced are never rewound.
    case rewound
  }

  /// What happened.
  public let kind: Kind
  /// Goes on behind this event.
  public let token: ChangeToken
  /// The version of the write: that of the entries it stored. Of a gap or where it was rewound
  /// to, that of the last write before what comes next.
  public let version: UInt64

  /// The changes of a write; none for anything else.
  ///
  /// - Complexity: O(1).
  public var changes: [Change] {
    if case .changes(let changes) = kind { changes } else { [] }
  }
}

extension ChangeEvent.Kind: Equatable where Change: Equatable {}
extension ChangeEvent: Equatable where Change: Equatable {}
