// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

extension ArchiveQuery {
  /// Deletes the results. What meanwhile was recorded again is deleted, too.
  ///
  /// Elements are decoded only if the filters need more than an index or the primary key tells.
  ///
  /// - Parameter durability: What the deletion survives once this has returned; that of the
  ///   archive by default.
  /// - Returns: How many there were.
  /// - Throws: What filters throw; `.invalidArgument`, `.decoding`, `.readOnly`, `.closed`,
  ///   `.damaged`, `.diskFull`, `.io`. Then some may have been deleted.
  /// - Complexity: That of the query, and O(results · log n).
  @discardableResult
  public func delete(durability: Durability? = nil) throws -> Int {
    try delete(durability) { true }
  }

  /// Deletes the results, on a thread of the archive's own. What meanwhile was recorded again is
  /// deleted, too.
  ///
  /// - Parameter durability: What the deletion survives once this has returned; that of the
  ///   archive by default.
  /// - Returns: How many there were.
  /// - Throws: `CancellationError`, before anything was deleted; and as the synchronous form.
  /// - Complexity: As the synchronous form, and a change of threads.
  @discardableResult
  public func delete(durability: Durability? = nil) async throws -> Int {
    try await archive.executor.runCancellable { goesOn in
      try self.delete(durability, goesOn: goesOn)
    }
  }

  private func delete(
    _ durability: Durability?, goesOn: @escaping @Sendable () -> Bool
  ) throws -> Int {
    let keys = try archive.withCurrentIndexes { try findKeys(goesOn) }
    try archive.remove(all: keys, durability)
    return keys.count
  }

  private func findKeys(_ goesOn: @escaping @Sendable () -> Bool) throws -> [Element.ID] {
    let plan = try ArchivePlan(stages, of: archive, wanted: nil)
    let path = plan.route.paths[0]
    guard plan.stages.isEmpty, plan.route.isComplete, plan.route.paths.count == 1 else {
      return try run(goesOn: goesOn).rows.map(\.element.id)
    }
    let format = archive.store.indexFormat.load(ordering: .acquiring)
    if path.index != nil { _ = try archive.unindexedCount() }
    var keys: [Element.ID] = []
    for range in path.ranges {
      var selection = plan.route.selection(range, of: path, descends: false)
      selection.isWithoutValues = true
      selection.indexFormat = format
      var cursor = try StoreCursor(archive.store, selection)
      while try cursor.next({ keys.append(try archive.keyCoder.decode($0.key)) }) {
        if keys.count & 63 == 0, !goesOn() { throw CancellationError() }
      }
    }
    return keys
  }
}
