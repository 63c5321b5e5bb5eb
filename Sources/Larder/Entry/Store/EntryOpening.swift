// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

/// Opening the store of a cache of entries.
enum EntryOpening {
  /// Opens the store, which starts afresh if it has entries of another form.
  ///
  /// - Throws: `.configurationMismatch` if it holds something else, and then it is as it
  ///   was.
  static func open(
    _ path: String, _ format: EntryFormat, _ options: StoreOptions
  ) throws -> StoreHandle {
    let handle = try openAny(path, format, options)
    // A store that does not say what it holds is let in by any number. That of an index which had
    // to be made without the old one does not.
    if try handle.statistics().content_format == 0 {
      guard try holdsEntries(handle, format) else { throw otherKind(path) }
      if !options.isReadOnly { try handle.setContentFormat(format.number) }
    }
    if !options.isReadOnly { EntrySpool.clean(try handle.folder.open()) }
    return handle
  }

  private static func openAny(
    _ path: String, _ format: EntryFormat, _ options: StoreOptions
  ) throws -> StoreHandle {
    var number: UInt64 = 0
    let failure: LarderError
    do throws(LarderError) {
      return try StoreHandle(path: path, options: options, foundFormat: &number)
    } catch {
      guard error.code == .configurationMismatch else { throw error }
      failure = error
    }
    guard let found = EntryFormat(number: number) else { throw otherKind(path) }
    if found == format { throw failure }
    if options.isReadOnly { throw otherForm(path, found, format) }
    let keyForm = options.keyForm
    var options = options
    options.contentFormatNumber = number
    options.keyForm = .unknown
    let handle = try StoreHandle(path: path, options: options)
    handle.options.withLock { $0.keyForm = keyForm }
    // If we crash here, the next opening does it all again: the number is the old one until
    // the entries are gone.
    try handle.removeAll(progress: nil)
    try handle.setContentFormat(format.number)
    return handle
  }

  /// Whether there are entries, the first of which have as many values as those of the format.
  private static func holdsEntries(_ handle: StoreHandle, _ format: EntryFormat) throws -> Bool {
    var selection = StoreSelection()
    selection.isWithoutValues = true
    var cursor = try StoreCursor(handle, selection)
    var (seen, alien) = (0, false)
    while seen < 64, !alien,
      try cursor.next({ entry in
        let head = EntryHead(
          entry.extended, valueCount: format.valueCount, size: entry.valueCount)
        alien = head == nil
      })
    {
      seen += 1
    }
    return seen > 0 && !alien
  }

  private static func otherKind(_ path: String) -> LarderError {
    LarderError(
      .configurationMismatch,
      """
      Could not open \(path): it holds something else than entries of several values; it was \
      left as it was.
      """)
  }

  private static func otherForm(
    _ path: String, _ found: EntryFormat, _ wanted: EntryFormat
  ) -> LarderError {
    LarderError(
      .configurationMismatch,
      """
      Could not open \(path) for reading: its entries have \(found.valueCount) values and version \
      \(found.version), not \(wanted.valueCount) values and version \(wanted.version).
      """)
  }
}
