// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore

extension Archive {
  /// Writes every element again with what it is found by now, then says so in the store.
  ///
  /// Until then the store says that it has the indexes of nobody. If we crash here, the next
  /// opening does it all again, be it with the new indexes or with the old ones.
  ///
  /// - Parameter progress: Told of elements; gives back whether to go on.
  /// - Throws: `CancellationError` if it said no.
  func reindex(format: ArchiveFormat, progress: StoreProgressReport?) throws {
    try store.setContentFormat(format.changing.number)
    let total = UInt64(try store.totals().count)
    // What waits for a checkpoint is most of the work, and counts as done too early.
    let flushedPart = max(total / 16, 1)
    var flushed: UInt64 = 0
    var selection = StoreSelection()
    // Least recent first, so that the order stays as it is.
    selection.isByRecency = true
    do {
      var cursor = try StoreCursor(store, selection)
      let batch = try StoreBatch(store)
      var (count, size) = (0, 0)
      var done: UInt64 = 0
      while try cursor.next({ entry in
        var values: [StoreIndexValue] = []
        // An element that cannot be decoded stays what it is, and is found by its key.
        if let element = try? coder.decode(entry.value) { values = indexValues(of: element) }
        let added =
          ArchiveBatchSize.overhead + entry.key.count + entry.value.count
          + values.reduce(0) { $0 + $1.bytes.count }
        if count == ArchiveBatchSize.count || (count > 0 && size > batchLimit - added) {
          _ = try batch.commit(isSynced: false)
          (count, size) = (0, 0)
          if done - flushed >= flushedPart {
            try store.flush()
            flushed = done
          }
          if let progress, !progress(done, max(done, total)) { throw CancellationError() }
        }
        done += 1
        try reindex(entry, values, batch)
        count += 1
        size += added
      }) {}
      _ = try batch.commit(isSynced: false)
      if let progress, !progress(done, done) { throw CancellationError() }
    }
    try store.setContentFormat(format.number)
  }

  private func reindex(
    _ entry: StoreEntry, _ values: [StoreIndexValue], _ batch: borrowing StoreBatch
  ) throws {
    var terms = terms(.process)
    terms.written = entry.raw.written_ns
    // The time of the last access would be lost otherwise. It can stand for the time of
    // writing, unless that is what ends the element's life.
    if expiration.afterWrite == nil, let accessed = entry.accessed {
      terms.written = max(terms.written, accessed)
    }
    try batch.put(
      StoreKey(entry.key), entry.value, extended: entry.extended, terms: terms, indexes: values)
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
