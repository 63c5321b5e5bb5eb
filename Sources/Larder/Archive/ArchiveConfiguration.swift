// SPDX-License-Identifier: MIT

public import LarderCore

/// How an archive is opened: everything has a default that keeps what is stored until it
/// is deleted.
///
/// ```swift
/// var configuration = ArchiveConfiguration()
/// configuration.sizeLimit = 100.megabytes
/// configuration.expiration = .days(30)
/// let users = try Archive<User>(at: .path(path), configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
@dynamicMemberLookup
public struct ArchiveConfiguration: Sendable {
  /// What all stores in folders have in common: durability, intervals, permissions and the like.
  /// Its properties are also properties of this configuration.
  public var store = StoreConfiguration()

  /// The most encoded bytes that all elements have together, at any time; nil, the
  /// default, for no limit. Less than 0 counts as 0.
  public var sizeLimit: DataSize?

  /// The most encoded bytes that the elements have that are kept in memory too; 1 MiB by
  /// default. 0 and less: none is kept there; and none ever is that is an object.
  public var memorySizeLimit: DataSize = 1.megabytes

  /// How long elements live, counted from when they were written or last accessed;
  /// `Expiration.never` by default. Its spread is of no effect here.
  public var expiration: Expiration = .never

  /// What becomes of elements that cannot be decoded, because the type has changed.
  public enum Undecodable: Sendable, Hashable {
    /// Whatever would have to look at one throws `.decoding`, with its primary key in the message;
    /// so does a query by an index as long as there is one that is in no index. Opening
    /// throws `.configurationMismatch` if none of the elements that it looks at can be decoded.
    /// Where an element's bytes are damaged, the same throws `.damaged`.
    case fail
    /// As if they were not there, nor any whose bytes are damaged. Queries and `elements(limit:)`
    /// leave them out, with or without an index, and opening takes any elements: `explain()` says
    /// how many were left out, `verify()` how many there are.
    case skip
  }

  /// What becomes of elements that cannot be decoded, because the type has changed, or their bytes;
  /// `.fail` by default.
  ///
  /// They stay as they are, are found by their primary keys, `ids()` lists them, and they can be
  /// deleted or replaced. As soon as the archive is opened with a type that decodes them,
  /// they are in its indexes again.
  public var undecodable: Undecodable = .fail

  /// Told how far opening is when it takes long, on the thread that opens the archive; gives
  /// back whether to go on. nil, the default, if nobody wants to know.
  ///
  /// It receives what is done and the total: bytes of a log that was not closed, and then, where
  /// the indexes are not those of before, elements that are stored again. When it says no, opening
  /// throws `CancellationError`; nothing is lost, and the next opening begins again. A migration to
  /// another version of the schema that has begun goes on then; until it does, the folder has the
  /// new version, and earlier releases refuse it.
  public var openingProgress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)?

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// A property of ``store``.
  ///
  /// - Parameter path: Which one.
  /// - Complexity: O(1).
  public subscript<Property>(
    dynamicMember path: WritableKeyPath<StoreConfiguration, Property>
  ) -> Property {
    get { store[keyPath: path] }
    set { store[keyPath: path] = newValue }
  }

  /// How many elements opening looks at to find out whether the indexes are theirs.
  var sampleCount = 64

  /// What is told of each element before it is stored; nil: nobody is.
  package var companion: (any ArchiveCompanion)?

  /// The same in the terms of the store.
  var options: StoreOptions {
    var options = store.options
    options.tracksAccess = true
    options.limits.size = sizeLimit
    options.limits.expiration = expiration
    options.progress = openingProgress
    return options
  }
}
