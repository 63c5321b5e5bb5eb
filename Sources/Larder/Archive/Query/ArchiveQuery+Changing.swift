// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

extension ArchiveQuery {
  /// Changes the results, in one step: all of them, or none. Nobody changes them meanwhile; what
  /// others insert meanwhile stays as it is.
  ///
  /// - Parameters:
  ///   - durability: What the changes survive once this has returned; that of the archive by
  ///     default.
  ///   - body: Gets each element and leaves what is to be stored, under the same primary key.
  ///     May be run several times. If it throws, nothing changes.
  /// - Returns: How many there were.
  /// - Throws: What the closure and filters throw; `.invalidArgument` if it changed a primary key;
  ///   `.conflict` if others were faster a thousand times; `.tooLarge` if the changes do not fit
  ///   into half of ``StoreConfiguration/journalCapacity``; `.encoding`, `.decoding`,
  ///   `.readOnly`, `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: That of the query, and O(bytes + results · log n), for each run.
  @discardableResult
  public func update(
    durability: Durability? = nil, _ body: (inout Element) throws -> Void
  ) throws -> Int {
    try update(durability, body) { true }
  }

  func update(
    _ durability: Durability?, _ body: (inout Element) throws -> Void,
    goesOn: @escaping @Sendable () -> Bool
  ) throws -> Int {
    if let transaction { return try transaction.update(self, body) }
    return try archive.retryingConflicts {
      let rows = try run(goesOn: goesOn).rows
      if rows.isEmpty { return 0 }
      var batch = ArchiveBatch(archive)
      for row in rows {
        let element = try archive.changed(row.element, body)
        try archive.recordProperties(of: element)
        batch.add(try batch.encode(element, ifVersion: row.version))
      }
      return try batch.commit(durability ?? archive.durability) ? rows.count : nil
    }
  }

  /// Deletes the results, in one step: all of them, or none. Nobody changes them meanwhile; what
  /// others insert meanwhile stays.
  ///
  /// Elements are decoded only if the filters need more than an index or the primary key tells, or
  /// what cannot be decoded is left out: that stays.
  ///
  /// - Parameter durability: What the deletion survives once this has returned; that of the
  ///   archive by default.
  /// - Returns: How many there were.
  /// - Throws: What filters throw; `.conflict` if others were faster a thousand times; `.tooLarge`
  ///   if there are more than fit into half of ``StoreConfiguration/journalCapacity``, at some
  ///   hundred bytes each: delete them with a limit then, until there are none.
  ///   `.invalidArgument`, `.decoding`, `.readOnly`, `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: That of the query, and O(results · log n).
  @discardableResult
  public func delete(durability: Durability? = nil) throws -> Int {
    try delete(durability) { true }
  }

  func delete(
    _ durability: Durability?, goesOn: @escaping @Sendable () -> Bool
  ) throws -> Int {
    if let transaction { return try transaction.delete(self) }
    return try archive.retryingConflicts {
      var keys = ArchiveKeys()
      let others = try archive.withCurrentIndexes { usesIndexes in
        keys = ArchiveKeys()
        return try findKeys(&keys, usesIndexes, goesOn)
      }
      let count = keys.count + others.count
      return try count == 0 || archive.remove(keys, others, durability) ? count : nil
    }
  }

  /// - Parameter keys: Gets those of the results, as they are stored, if no element has to be
  ///   decoded for it.
  /// - Returns: The primary keys of all others.
  private func findKeys(
    _ keys: inout ArchiveKeys, _ usesIndexes: Bool, _ goesOn: @escaping @Sendable () -> Bool
  ) throws -> [(id: Element.ID, version: UInt64)] {
    let plan = try ArchivePlan(stages, of: archive, wanted: nil, usesIndexes: usesIndexes)
    guard plan.stages.isEmpty, archive.needsNoElements(for: plan.route) else {
      return try run(goesOn: goesOn).rows.map { ($0.element.id, $0.version) }
    }
    let scan = try archive.scanKeys(plan.route, goesOn)
    while let found = try scan.next() { keys.append(found.key, found.version) }
    return []
  }
}
