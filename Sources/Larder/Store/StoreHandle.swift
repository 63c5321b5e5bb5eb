// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import Foundation
public import LarderCore
import Synchronization

/// Closes a store when its handle, and what else uses it, are gone.
///
/// Sendable, although Swift cannot see it: the pointer never changes, and the C core allows
/// `larder_store_close` on any thread as the last call, which `deinit` is.
private final class StoreOwner: @unchecked Sendable {
  private let store: OpaquePointer
  /// C calls it as long as the store is open.
  private let host: StoreHost

  init(_ store: OpaquePointer, _ host: StoreHost) {
    self.store = store
    self.host = host
  }

  deinit { larder_store_close(store) }
}

/// Owns one `larder_store`, which can be suspended: bytes in, bytes out, every status an error.
///
/// Any function may be called from any thread at any time.
@usableFromInline
final class StoreHandle: Sendable {
  @usableFromInline let suspension: SuspendableHandle
  private let opened: Mutex<StoreFolder>
  /// How to open it again.
  let options: Mutex<StoreOptions>
  /// The content format under which the values in indexes mean what the caller thinks; 0: any.
  let indexFormat = Atomic<UInt64>(0)
  let isDeleted = Atomic(false)

  /// Opens the store in the folder at `path`.
  ///
  /// - Throws: what `LarderError` makes of the statuses of `larder_store_open`; the
  ///   message of `.busy` names the process that holds the store.
  convenience init(path: String, options: StoreOptions) throws(LarderError) {
    var unused: UInt64 = 0
    try self.init(path: path, options: options, foundFormat: &unused)
  }

  /// The same; `foundFormat` receives the content format that a `.configurationMismatch`
  /// is about.
  init(path: String, options: StoreOptions, foundFormat: inout UInt64) throws(LarderError) {
    try Self.validate(path: path)
    let location = try DiskFolder.absolute(path)
    let store: SuspendableHandle.Opened
    do throws(LarderError) {
      store = try Self.open(location, named: path, options, foundFormat: &foundFormat)
    } catch {
      guard error.errno == ENOENT, !options.isReadOnly, !options.mustExist,
        try DiskFolder.makeParents(of: location)
      else { throw error }
      store = try Self.open(location, named: path, options, foundFormat: &foundFormat)
    }
    opened = Mutex(
      try StoreFolder(path: path, location: location, isReadOnly: options.isReadOnly))
    suspension = SuspendableHandle("The store at \(path)", store)
    var options = options
    options.progress = nil
    self.options = Mutex(options)
  }

  deinit { suspension.abandon() }

  /// The folder that was opened, which its path may not lead to any more.
  var folder: StoreFolder { opened.withLock { $0 } }

  /// The folder as it was given, for messages alone.
  var path: String { folder.path }

  /// The most bytes of a batch, other than a first entry that is larger.
  var batchCapacity: UInt64 { options.withLock { $0.journalCapacity / 2 } }

  /// Notes the folder that was made in place of one that was gone.
  func found(at past: StoreFolder) throws(LarderError) {
    let now = try StoreFolder(
      path: past.path, location: past.location, isReadOnly: options.withLock { $0.isReadOnly })
    opened.withLock { $0 = now }
  }

  /// - Parameters:
  ///   - location: The folder from the root on.
  ///   - path: What messages call it.
  static func open(
    _ location: String, named path: String, _ options: StoreOptions, foundFormat: inout UInt64
  ) throws(LarderError) -> SuspendableHandle.Opened {
    var raw = try options.raw()
    let host = StoreHost(options)
    host.install(in: &raw)
    var detail = larder_store_detail()
    var opened: OpaquePointer?
    var status: larder_status
    var isTriedAgain = false
    let start = ContinuousClock.now
    repeat {
      if isTriedAgain { Thread.sleep(forTimeInterval: 0.001) }
      // Before it is tried: what ended since then holds it no more.
      isTriedAgain = start.duration(to: .now) < waitingLimit(BackgroundWork.isUnderWay)
      if var tuning = options.tuning?.raw {
        status = withUnsafePointer(to: &tuning) { tuning in
          raw.tuning = tuning
          defer { raw.tuning = nil }
          return larder_store_open(location, &raw, &detail, &opened)
        }
      } else {
        status = larder_store_open(location, &raw, &detail, &opened)
      }
    } while Int(status) == LARDER_EBUSY && detail.holder_pid == Int64(getpid()) && isTriedAgain
    guard status == LARDER_OK, let opened else {
      foundFormat = detail.content_format
      throw LarderError(
        status: status == LARDER_OK ? Int32(LARDER_EINVALID) : status, doing: "open \(path)",
        reason: StoreFailure.reason(status, detail: detail, asked: raw))
    }
    host.forgetProgress()
    let owner = StoreOwner(opened, host)
    if !options.isReadOnly { try options.files.apply(to: location) }
    return SuspendableHandle.Opened(pointer: opened, owner: owner)
  }

  /// C ends a path at its first NUL, so one inside would name another folder.
  static func validate(path: String) throws(LarderError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw LarderError(.invalidArgument, "A folder's path must not be empty or contain NUL.")
    }
  }

  /// How long opening waits for a store that is open in this process: a moment, in which a task
  /// that is over may release it; longer where the library does something by itself.
  private static func waitingLimit(_ isAtWork: Bool) -> Duration {
    isAtWork ? .seconds(5) : .milliseconds(100)
  }

  // MARK: - Writing

  /// Stores an entry and gives its version.
  ///
  /// - Parameter indexes: What the entry is found by besides its key.
  @usableFromInline
  func put(
    _ key: StoreKey, _ value: UnsafeRawBufferPointer, extended: UnsafeRawBufferPointer,
    terms: StoreTerms, indexes: [StoreIndexValue] = []
  ) throws(LarderError) -> UInt64 {
    if !key.others.isNone {
      if !terms.waits { throw putFailure(EAGAIN, key: key.bytes.count, value: value.count) }
      let others = try others(key)
      if !others.isEmpty {
        return try put(
          key, value, extended: extended, terms: terms, indexes: indexes, insteadOf: others)
      }
    }
    var item = StoreItem.make(key.bytes, value, extended: extended, terms: terms)
    var sequence: UInt64 = 0
    let status = try suspension.call(waits: terms.waits) { store in
      if indexes.isEmpty { return larder_store_put(store, &item, &sequence) }
      return indexes.withItems(in: &item) { larder_store_put(store, &$0, &sequence) }
    }
    if status != LARDER_OK { throw putFailure(status, key: key.bytes.count, value: value.count) }
    return sequence
  }

  /// Throws what a write of any value with such a key and extended data would.
  func checkFits(key: Int, extended: Int) throws(LarderError) {
    let isReadOnly = options.withLock { $0.isReadOnly }
    let fits =
      key <= Int(LARDER_STORE_KEY_MAX_BYTES) && extended <= Int(LARDER_STORE_EXTENDED_MAX_BYTES)
    if fits && !isReadOnly { return }
    throw failure(
      Int32(isReadOnly ? LARDER_EREADONLY : LARDER_ETOOLARGE),
      "store \(extended) bytes of extended data under a key of \(key) bytes in \(path)")
  }

  /// Removes the entry under a key, if there is one.
  @usableFromInline
  func remove(
    _ key: StoreKey, isSynced: Bool, _ how: StoreReading = .use
  ) throws(LarderError) {
    let waits = !how.contains(.withoutWaiting)
    if !waits, !key.others.isNone { throw failure(EAGAIN, "remove an entry from \(path)") }
    // The last removal syncs them all.
    for bytes in try others(key) { try remove(bytes, isSynced: false) }
    let flags = how.rawValue | (isSynced ? UInt32(LARDER_STORE_SYNCED) : 0)
    let status = try suspension.call(waits: waits) {
      larder_store_remove($0, larder_bytes(key.bytes), flags)
    }
    if status != LARDER_OK { throw failure(status, "remove an entry from \(path)") }
  }

  // MARK: - Reading

  /// Lends the entry under a key to the body.
  ///
  /// - Returns: false, and the body was not called, if there is none.
  @usableFromInline
  func read(
    _ key: StoreKey, _ how: StoreReading, _ body: (inout StoreEntry) throws -> Void
  ) throws -> Bool {
    if try read(bytes: key.bytes, how, body) { return true }
    return try !key.others.isNone && readOther(key, how, body)
  }

  func read(
    bytes key: UnsafeRawBufferPointer, _ how: StoreReading,
    _ body: (inout StoreEntry) throws -> Void
  ) throws -> Bool {
    while true {
      let found = try suspension.withPointer { store -> Bool? in
        var entry = StoreEntry(raw: larder_store_entry())
        let status = larder_store_get(store, larder_bytes(key), how.rawValue, &entry.raw)
        if status == LARDER_OK {
          defer { larder_store_release(&entry.raw) }
          try body(&entry)
          return true
        }
        if status == LARDER_ENOTFOUND { return false }
        if status == LARDER_ECLOSED { return nil }
        if status == EAGAIN { throw StoreWait() }
        throw failure(status, "read an entry of \(path)")
      }
      if case let found?? = found { return found }
      if how.contains(.withoutWaiting) { throw StoreWait() }
      guard try suspension.waitForResumption() else {
        throw failure(Int32(LARDER_ECLOSED), "read an entry of \(path)")
      }
    }
  }

  /// Whether the entry that a trace is of is still the same: then this counts as a read. Else
  /// the trace gets the store's state, for another one.
  @usableFromInline
  func readAgain(
    _ key: StoreKey, _ how: StoreReading, _ trace: inout StoreTrace
  ) throws(LarderError) -> Bool {
    let resumptions = suspension.resumptionCount
    // After a resumption the store counts its states from the start.
    if trace.resumptions != resumptions { trace.state = 0 }
    trace.resumptions = resumptions
    let status = try suspension.call(waits: !how.contains(.withoutWaiting)) { store in
      larder_store_get_again(
        store, larder_bytes(key.bytes), trace.expires, trace.idle, &trace.state)
    }
    if status == LARDER_OK { return true }
    if status == LARDER_ENOTFOUND { return false }
    throw failure(status, "read an entry of \(path)")
  }

  /// Has the life of an entry begin again, if it is renewable.
  ///
  /// - Returns: Whether that write is still there.
  func renew(_ key: StoreKey, _ sequence: UInt64) throws(LarderError) -> Bool {
    let status = try suspension.call { larder_store_renew($0, larder_bytes(key.bytes), sequence) }
    // Without memory to note it, it is written.
    if status == LARDER_ENOTFOUND || status == ENOMEM { return false }
    if status != LARDER_OK { throw failure(status, "renew an entry of \(path)") }
    return true
  }

  /// Whether there is an entry under a key.
  @usableFromInline
  func contains(_ key: StoreKey) throws(LarderError) -> Bool {
    let status = try suspension.call { larder_store_contains($0, larder_bytes(key.bytes)) }
    if status == LARDER_OK { return true }
    if status != LARDER_ENOTFOUND { throw failure(status, "look for an entry in \(path)") }
    return try !others(key).isEmpty
  }

  /// The same without waiting: throws ``StoreWait`` instead.
  func contains(_ key: StoreKey, _ how: StoreReading) throws -> Bool {
    try read(key, how.union([.peek, .withoutValue])) { _ in }
  }

  // MARK: - Errors

  /// An error for a status that is not 0, in the words of a store.
  @inline(never)
  func failure(
    _ status: Int32, _ doing: @autoclosure () -> String, file: StaticString = #fileID,
    line: UInt = #line, function: StaticString = #function
  ) -> LarderError {
    if let replaced = folder.replaced(status) { return replaced }
    return LarderError(
      status: status, doing: doing(), reason: StoreFailure.reason(status), file: file, line: line,
      function: function)
  }

  /// Throws what a status means; does nothing for 0.
  func check(
    _ status: Int32, _ doing: @autoclosure () -> String, file: StaticString = #fileID,
    line: UInt = #line, function: StaticString = #function
  ) throws(LarderError) {
    if status == LARDER_OK { return }
    throw failure(status, doing(), file: file, line: line, function: function)
  }

  @inline(never)
  private func putFailure(_ status: Int32, key: Int, value: Int) -> LarderError {
    failure(status, "store \(value) bytes under a key of \(key) bytes in \(path)")
  }
}

extension larder_bytes {
  /// Borrows the bytes for a call.
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(data: bytes.baseAddress, length: bytes.count)
  }
}

extension UnsafeRawBufferPointer {
  /// What the C core lends.
  init(_ bytes: larder_bytes) {
    self.init(start: bytes.data, count: bytes.data == nil ? 0 : bytes.length)
  }
}
