// SPDX-License-Identifier: MIT

public import Larder
import LarderCore
import Synchronization

/// A property whose value lies in the archive of its type.
///
/// ```swift
/// struct Session {
///   @Archived var user: User?
///   @Archived(initialPrimaryKey: "settings") var settings: Settings?
/// }
///
/// session.user = user  // is recorded
/// session.user = nil   // is deleted
/// if let error = session.$user.error { throw error }
/// ```
///
/// Assigning an element records it, assigning nil deletes the one that was there; an element
/// that another one replaces stays in its archive. An initial value is recorded at once. With
/// an initial primary key, that element is read when the property is read first. From then
/// on the property holds its element, whatever becomes of it in the archive:
/// ``reload()`` reads it again.
///
/// A property cannot throw. What fails is in ``error`` of the projected value; the property
/// then holds what was assigned to it all the same.
///
/// **Concurrency.** Safe to use from any number of threads at a time: reads and assignments
/// happen one after the other, and may wait for the disk. It may be a property of `Sendable`
/// structures, of actors, and of classes that belong to an actor. Swift lets no `Sendable`
/// class have a property that varies, even if the wrapper is safe: there, keep an `Archived`
/// in a constant and use its ``wrappedValue``. Copies of a structure share the property.
@propertyWrapper
public final class Archived<Element: Archivable>: Sendable {
  private struct State {
    var key: String?
    var element: Element?
    /// Whether `element` is what belongs to the key.
    var isLoaded: Bool
    var error: (any Error)?
  }

  /// Whose archive the element lies in.
  public let factory: ArchiveFactory

  private let state: Mutex<State>

  /// A property with an initial value, which is recorded at once.
  ///
  /// - Parameters:
  ///   - wrappedValue: The element; nil for none.
  ///   - factory: Whose archive; the shared one's by default.
  /// - Complexity: As recording; O(1) for nil.
  public init(wrappedValue: Element?, factory: ArchiveFactory = .shared) {
    self.factory = factory
    state = Mutex(
      State(key: wrappedValue?.primaryKey, element: wrappedValue, isLoaded: true, error: nil))
    if let wrappedValue { attempt { try archive.upsert(wrappedValue) } }
  }

  /// A property without a value.
  ///
  /// - Parameter factory: Whose archive; the shared one's by default.
  /// - Complexity: O(1).
  public convenience init(factory: ArchiveFactory = .shared) {
    self.init(wrappedValue: nil, factory: factory)
  }

  /// A property whose value is in the archive already, if it is.
  ///
  /// - Parameters:
  ///   - key: The element's primary key. Nothing is read before the property is.
  ///   - factory: Whose archive; the shared one's by default.
  /// - Complexity: O(1).
  public init(initialPrimaryKey key: String, factory: ArchiveFactory = .shared) {
    self.factory = factory
    state = Mutex(State(key: key, element: nil, isLoaded: false, error: nil))
  }

  /// The element; nil if there is none.
  ///
  /// - Complexity: O(1); as reading where there is an initial primary key, the first time.
  ///   Assigning: as recording or deleting.
  public var wrappedValue: Element? {
    get { state.withLock { load(&$0) } }
    set { state.withLock { assign(newValue, &$0) } }
  }

  /// The wrapper itself, for ``error``, ``key`` and ``archive``.
  ///
  /// - Complexity: O(1).
  public var projectedValue: Archived<Element> { self }

  /// Why the last recording, deleting or reading failed; nil if it did not.
  ///
  /// - Complexity: O(1).
  public var error: (any Error)? { state.withLock { $0.error } }

  /// The primary key of the element, also of one that was not read yet; nil if there is none.
  ///
  /// - Complexity: O(1).
  public var key: String? { state.withLock { $0.key } }

  /// The archive that the element lies in.
  ///
  /// - Throws: As ``ArchiveFactory/archive(for:maximumMemorySize:maximumDiskSize:)``.
  /// - Complexity: As there.
  public var archive: Archive<Element> {
    get throws { try factory.archive(for: Element.self) }
  }

  /// Forgets the element and reads it from the archive again; nil from then on if it is not
  /// there any more.
  ///
  /// - Returns: The element.
  /// - Throws: As `element(forID:)` of an archive; the property is as it was then.
  /// - Complexity: As there.
  @discardableResult
  public func reload() throws -> Element? {
    try state.withLock { state in
      guard let key = state.key else { return nil }
      let element = try archive.element(forID: key)
      state.element = element
      state.isLoaded = true
      state.error = nil
      return element
    }
  }
}

extension Archived {
  private func load(_ state: inout State) -> Element? {
    guard !state.isLoaded, let key = state.key else { return state.element }
    do {
      state.element = try archive.element(forID: key)
      // What failed is tried again with the next read.
      state.isLoaded = true
      state.error = nil
    } catch {
      state.error = error
    }
    return state.element
  }

  private func assign(_ element: Element?, _ state: inout State) {
    let old = state.key
    state.key = element?.primaryKey
    state.element = element
    state.isLoaded = true
    do {
      if let element {
        try archive.upsert(element)
      } else if let old {
        try archive.delete(id: old)
      }
      state.error = nil
    } catch {
      state.error = error
    }
  }

  private func attempt(_ body: () throws -> Void) {
    do { try body() } catch { state.withLock { $0.error = error } }
  }
}
