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
    if let transaction { return try transaction.delete(self) }
    var keys = ArchiveKeys()
    let others = try archive.withCurrentIndexes {
      keys = ArchiveKeys()
      return try findKeys(&keys, goesOn)
    }
    try archive.remove(stored: keys, durability)
    try archive.remove(all: others, durability)
    return keys.count + others.count
  }

  /// - Parameter keys: Gets those of the results, as they are stored, if no element has to be
  ///   decoded for it.
  /// - Returns: The primary keys of all others.
  private func findKeys(
    _ keys: inout ArchiveKeys, _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [Element.ID] {
    let plan = try ArchivePlan(stages, of: archive, wanted: nil)
    guard plan.stages.isEmpty, plan.route.isComplete, plan.route.paths.count == 1 else {
      return try run(goesOn: goesOn).rows.map { $0.element.id }
    }
    let scan = try archive.scanKeys(plan.route, goesOn)
    while let found = try scan.next() { keys.append(found.key) }
    return []
  }
}
