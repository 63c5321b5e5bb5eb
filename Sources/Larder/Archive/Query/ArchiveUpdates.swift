// SPDX-License-Identifier: MIT

import LarderCore

extension ArchiveQuery {
  /// The results as they are, and again whenever they are others.
  ///
  /// ```swift
  /// for try await newest in archive.sorted(by: \.date, .reverse).limit(10).updates() {
  ///   show(newest)
  /// }
  /// ```
  ///
  /// The first results come at once, further ones after a write through the same ``Archive``
  /// that changes them: another element, another order, or an element that was written again.
  /// What was written while nobody asked comes as one. Results that change because an element
  /// expired, or because another process wrote, are noticed with the next write.
  ///
  /// While the archive is suspended the sequence waits. It ends when the archive is closed or
  /// gone, or the task is cancelled. It does not keep the archive.
  ///
  /// - Returns: An asynchronous sequence of all results at a time.
  /// - Complexity: O(1); for each change that of the query.
  public func updates() -> ArchiveUpdates<Element> {
    ArchiveUpdates(archive: archive, stages: stages)
  }
}

/// The results of a query, whenever they are others; see ``ArchiveQuery/updates()``.
///
/// **Concurrency.** Safe to pass between tasks. Each iterator belongs to one task at a time, and
/// begins with the results of its own time.
public struct ArchiveUpdates<Item: Identifiable & Sendable>: AsyncSequence, Sendable
where Item.ID: Codable & Sendable & SendableMetatype {
  /// All results at a time.
  public typealias Element = [Item]

  private let archive: ArchiveReference<Item>
  private let signal: ArchiveSignal
  private let stages: [ArchiveStage<Item>]

  init(archive: Archive<Item>, stages: [ArchiveStage<Item>]) {
    self.archive = ArchiveReference(archive)
    signal = archive.changes.signal
    self.stages = stages
  }

  /// Begins to observe.
  ///
  /// - Returns: An iterator, whose first results come at once.
  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(updates: self) }

  /// One observer.
  ///
  /// **Concurrency.** Belongs to one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate struct Version: Equatable {
      var id: Item.ID
      var version: UInt64
    }

    fileprivate let updates: ArchiveUpdates
    /// What was handed over last.
    private var versions: [Version]?
    /// How many changes there were before that was read.
    private var seen: UInt64?
    private var isOver = false

    fileprivate init(updates: ArchiveUpdates) { self.updates = updates }

    /// Waits for other results.
    ///
    /// - Returns: All results; nil when the archive was closed or is gone, or the task was
    ///   cancelled.
    /// - Throws: What filters throw; `.invalidArgument`, `.decoding`, `.damaged`, `.io`. After
    ///   that the sequence ends.
    /// - Complexity: That of the query, for each change.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> [Item]? {
      if isOver { return nil }
      do {
        while !Task.isCancelled {
          if let seen { await updates.signal.wait(for: seen) }
          if Task.isCancelled || updates.signal.isFinished { break }
          // Counted before reading: what is written meanwhile is looked at again.
          let changes = updates.signal.changes
          guard let rows = try await updates.readWhenResumed() else { break }
          seen = changes
          let found = rows.map { Version(id: $0.element.id, version: $0.version) }
          if found == versions { continue }
          versions = found
          return rows.map(\.element)
        }
      } catch let error as LarderError where error.code == .closed {
        // The end that the documentation promises.
      } catch is CancellationError {
        // Likewise.
      } catch {
        isOver = true
        throw error
      }
      isOver = true
      return nil
    }
  }

  /// As `read`, also of an archive that is suspended first.
  fileprivate func readWhenResumed() async throws -> [ArchiveRow<Item>]? {
    guard let suspension = archive.archive?.store.suspension else { return nil }
    return try await suspension.retryingWhenResumed(always: true) { try await read() }
  }

  /// nil if the archive is gone.
  fileprivate func read() async throws -> [ArchiveRow<Item>]? {
    guard let archive = archive.archive else { return nil }
    let query = ArchiveQuery(archive: archive, stages: stages)
    return try await archive.executor.runCancellable { try query.run(goesOn: $0).rows }
  }
}

/// An archive that may go.
private final class ArchiveReference<Element: Identifiable & Sendable>: Sendable
where Element.ID: Codable & Sendable & SendableMetatype {
  weak let archive: Archive<Element>?

  init(_ archive: Archive<Element>) { self.archive = archive }
}
