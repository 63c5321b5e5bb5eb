// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// Reads and writes several elements in one step: nothing else happens meanwhile, and all that
  /// is written is stored, or nothing.
  ///
  /// ```swift
  /// try accounts.transaction { accounts in
  ///   try accounts.update(id: payer) { $0.balance -= amount }
  ///   try accounts.update(id: payee) { $0.balance += amount }
  /// }
  /// ```
  ///
  /// Nothing is locked: when the closure has returned, it is compared whether what it read is still
  /// there. If not, it is run again. While it runs, two reads may show states of two moments; but
  /// what it returns, or throws, is of one in which all of it was true.
  ///
  /// Properties that are archived themselves go to their archives before, and are no part of it.
  ///
  /// - Parameters:
  ///   - durability: What the writes survive once the call returns; nil: as the configuration
  ///     said.
  ///   - body: Reads and writes through its argument; may be run several times. If it throws,
  ///     nothing is stored.
  /// - Returns: What the closure returned when it was run last.
  /// - Throws: What the closure throws; `.conflict` if others were faster a thousand times;
  ///   `.duplicate` for a value that a unique index has; `.tooLarge` if the writes do not fit into
  ///   half of ``StoreConfiguration/journalCapacity``, or into ``sizeLimit``; `.encoding`,
  ///   `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`. Nothing was stored then.
  /// - Complexity: O(bytes + elements · log n) for each run.
  @discardableResult
  public func transaction<R>(
    durability: Durability? = nil, _ body: (ArchiveTransaction<Element>) throws -> R
  ) throws -> R {
    if isReadOnly {
      throw LarderError(
        .readOnly, "\(path) has no transactions: it was opened for reading only.")
    }
    let durability = durability ?? self.durability
    for _ in 0..<1000 {
      let transaction = ArchiveTransaction(self)
      defer { transaction.end() }
      let result: R
      do { result = try body(transaction) } catch {
        // What it threw about may be two states, of which each was right.
        if try transaction.commit(durability, writes: false) { throw error }
        continue
      }
      if try transaction.commit(durability) { return result }
    }
    throw LarderError(
      .conflict,
      "A transaction on \(path) was run 1000 times, and each time others wrote what it read.")
  }
}
