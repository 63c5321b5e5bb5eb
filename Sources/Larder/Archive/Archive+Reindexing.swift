// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore

extension Archive {
  /// Writes every element again with what it is found by now, then says so in the store.
  ///
  /// If we crash here, the store still says what it said before, and the next opening does
  /// it all again.
  func reindex(format: ArchiveFormat) throws {
    var selection = StoreSelection()
    // Least recent first, so that the order stays as it is.
    selection.isByRecency = true
    do {
      var cursor = try StoreCursor(store, selection)
      var isAtEnd = false
      while !isAtEnd {
        let batch = try StoreBatch(store)
        var bytes = 0
        var count = 0
        while bytes < batchLimit, count < ArchiveBatchSize.count {
          isAtEnd = try !cursor.next { entry in bytes += try reindex(entry, batch) }
          if isAtEnd { break }
          count += 1
        }
        _ = try batch.commit(isSynced: false)
      }
    }
    try store.setContentFormat(format.number)
  }

  /// - Returns: about how many bytes it takes in the journal.
  private func reindex(_ entry: StoreEntry, _ batch: borrowing StoreBatch) throws -> Int {
    var values: [StoreIndexValue] = []
    // An element that cannot be decoded stays what it is, and is found by its key.
    if let element = try? coder.decode(entry.value) { values = indexValues(of: element) }
    var terms = terms(.process)
    terms.written = entry.raw.written_ns
    // The time of the last access would be lost otherwise. It can stand for the time of
    // writing, unless that is what ends the element's life.
    if expiration.afterWrite == nil, let accessed = entry.accessed {
      terms.written = max(terms.written, accessed)
    }
    try batch.put(
      entry.key, entry.value, extended: entry.extended, terms: terms, indexes: values)
    let value = entry.isSpilled ? 0 : entry.value.count
    return ArchiveBatchSize.overhead + entry.key.count + value
      + values.reduce(0) { $0 + $1.bytes.count }
  }
}

extension StoreEntry {
  /// When it was accessed or written last, in nanoseconds since 1970, as far as that has
  /// been flushed. Elements are stored with an idle time for that alone.
  var accessed: Int64? {
    if raw.expires_ns == .max || raw.idle_ns == .max { return nil }
    let (accessed, overflows) = raw.expires_ns.subtractingReportingOverflow(raw.idle_ns)
    return overflows ? nil : accessed
  }
}
