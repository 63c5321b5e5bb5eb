// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

/// What a cache of entries is but for the type of its keys: here they are bytes.
final class EntryStore: Sendable {
  let handle: StoreHandle
  let format: EntryFormat
  let keyRule: EntryKeyRule
  let readingDamage: DamageReading
  let durability: Durability
  let isReadOnly: Bool
  let clock: CacheClock
  let executor: DiskExecutor
  let limits: Mutex<StoreLimits>
  let editing = EntryEditing()
  /// Entries that the store found whole, but that this cache cannot read.
  let unreadable = Atomic<UInt64>(0)
  let reference = EntryReference()
  /// What the store has to go on saying that it holds, where another process may change that.
  let expectedFormat: UInt64?

  var path: String { handle.path }
  var valueCount: Int { format.valueCount }

  init(
    path: String, format: EntryFormat, keyForm: KeyForm, _ configuration: EntryCacheConfiguration
  ) throws {
    if let limit = configuration.sizeLimit?.bytes, limit <= 0 {
      throw LarderError(
        .invalidArgument,
        "A size limit of \(limit) bytes leaves no room for an entry; use at least 1.")
    }
    var options = configuration.options(format)
    options.keyForm = keyForm
    handle = try EntryOpening.open(path, format, options)
    self.format = format
    keyRule = configuration.keyRule
    readingDamage = configuration.readingDamage
    durability = configuration.durability
    isReadOnly = configuration.isReadOnly
    clock = configuration.clock
    executor = DiskExecutor("larder.entries", handle.suspension)
    limits = Mutex(options.limits)
    let saysFormat = try handle.statistics().content_format == format.number
    expectedFormat = isReadOnly && saysFormat ? format.number : nil
    reference.set(self)
  }

  // MARK: - Who may write

  /// Begins an edit of a key.
  ///
  /// - Returns: false if it is being edited or written to.
  /// - Throws: `.closed`, `.readOnly`.
  func beginEdit(_ key: StoreOwnKey) throws(LarderError) -> Bool {
    try checkIsWritable()
    switch editing.beginEdit(key.bytes) {
    case .granted: return true
    case .refused: return false
    case .closed: throw closedFailure
    }
  }

  func endEdit(_ key: StoreOwnKey) { editing.endEdit(key.bytes) }

  /// Runs a write that is one call.
  ///
  /// - Returns: nil, and the body was not called, if the key is being edited.
  func writing<R>(_ key: StoreKey, _ body: () throws -> R) throws -> R? {
    try keyRule.check(key)
    try checkIsWritable()
    let copy = [UInt8](key.bytes)
    switch editing.beginWrite(copy) {
    case .granted: break
    case .refused: return nil
    case .closed: throw closedFailure
    }
    defer { editing.endWrite(copy) }
    return try body()
  }

  var isClosed: Bool { editing.isClosed }

  // MARK: - How long, how sure

  func terms(_ expiration: Expiration?, _ durability: Durability?) -> StoreTerms {
    let flags = StoreTerms.flags(durability ?? self.durability)
    let standard = limits.withLock { $0.expiration }
    if let own = expiration ?? (standard.spread != 0 ? standard : nil) {
      return StoreTerms(own, now: clock.nanoseconds, flags: flags)
    }
    return StoreTerms(idle: StoreTerms.idle(standard), flags: flags)
  }

  func changeLimits(_ body: (inout StoreLimits) -> Void) {
    limits.withLock { limits in
      body(&limits)
      handle.setLimits(limits)
    }
  }

  // MARK: - Errors

  private func checkIsWritable() throws(LarderError) {
    if !isReadOnly { return }
    throw LarderError(.readOnly, "The cache at \(path) was opened for reading only.")
  }

  var closedFailure: LarderError { LarderError(.closed, "The cache at \(path) is closed.") }

  var beingEditedFailure: LarderError {
    LarderError(
      .conflict, "An editor is open on the key; commit or abort it before writing to the key.")
  }
}
