// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import LarderCore
import Synchronization

/// Owns one `larder_store_cursor`, and keeps what it reads from mapped meanwhile.
///
/// Belongs to one thread at a time.
struct StoreCursor: ~Copyable {
  private let cursor: OpaquePointer
  private let store: StoreHandle
  private let owner: any SuspendableHandle.Owner
  /// What it goes over says what becomes of damage.
  private var selection: StoreSelection
  /// What is wrong with the first entry that was passed because it is damaged.
  private(set) var damage: LarderError?

  init(_ store: StoreHandle, _ selection: StoreSelection) throws(LarderError) {
    var opened: OpaquePointer?
    // The bounds are copied by the call.
    let format = selection.indexFormat ?? store.indexFormat.load(ordering: .acquiring)
    let (status, owner) = try store.suspension.callKeeping { pointer in
      selection.withQuery(format) { larder_store_cursor_open(pointer, &$0, &opened) }
    }
    if status == LARDER_EMISMATCH { throw store.hasOtherIndexes }
    guard status == LARDER_OK, let opened else {
      throw store.failure(
        status == LARDER_OK ? Int32(LARDER_EINVALID) : status, "list the entries of \(store.path)")
    }
    cursor = opened
    self.store = store
    self.owner = owner
    self.selection = selection
  }

  /// Goes over everything, by key.
  ///
  /// - Parameter token: Receives where a feed goes on that tells what is written later.
  init(snapshotOf store: StoreHandle, token: inout ChangeToken?) throws(LarderError) {
    var opened: OpaquePointer?
    var raw = larder_store_token()
    let (status, owner) = try store.suspension.callKeeping { pointer in
      StoreSelection().withQuery(0) { larder_store_snapshot_open(pointer, &$0, &raw, &opened) }
    }
    guard status == LARDER_OK, let opened else {
      throw store.failure(
        status == LARDER_OK ? Int32(LARDER_EINVALID) : status, "list the entries of \(store.path)")
    }
    token = ChangeToken(raw)
    cursor = opened
    self.store = store
    self.owner = owner
    selection = StoreSelection()
  }

  deinit { larder_store_cursor_close(cursor) }

  /// Goes over something else, as of the same moment.
  mutating func seek(_ selection: StoreSelection) throws {
    let format = selection.indexFormat ?? store.indexFormat.load(ordering: .acquiring)
    let status = selection.withQuery(format) { larder_store_cursor_seek(cursor, &$0) }
    if status == LARDER_EMISMATCH { throw store.hasOtherIndexes }
    if status == LARDER_ECLOSED, !store.suspension.isClosed { throw interruption }
    try store.check(status, "list the entries of \(store.path)")
    self.selection = selection
  }

  /// Lends the next entry to the body. One that is damaged is passed: see ``damage``.
  ///
  /// - Returns: false at the end.
  /// - Throws: `.damaged`, if the selection refuses that; `.suspended` if the store was suspended
  ///   since the cursor was opened.
  mutating func next(_ body: (inout StoreEntry) throws -> Void) throws -> Bool {
    var entry = StoreEntry(raw: larder_store_entry())
    guard try step(&entry) else { return false }
    try body(&entry)
    return true
  }

  /// As ``next(_:)``, with an entry that is valid until the cursor is gone.
  mutating func step(_ entry: inout StoreEntry) throws -> Bool {
    while true {
      let status = larder_store_cursor_next(cursor, &entry.raw)
      if status == LARDER_OK { return true }
      if status == LARDER_END { return false }
      if status == LARDER_EDAMAGED {
        if !selection.refusesDamage, damage != nil { continue }
        let found = store.damage(in: selection, entry.key)
        if selection.refusesDamage { throw found }
        damage = found
        continue
      }
      if status == LARDER_ECLOSED, !store.suspension.isClosed { throw interruption }
      try store.check(status, "list the entries of \(store.path)")
    }
  }

  /// What comes after the resumption is another state of the store.
  private var interruption: LarderError {
    LarderError(
      .suspended,
      "\(store.path) was suspended while its entries were being listed; list them again.")
  }
}

/// What a cursor goes over: `larder_store_query` in Swift's types.
struct StoreSelection: Sendable {
  var isByRecency = false
  /// By the values in this index: then the bounds are of values, not of keys.
  var index: UInt16?
  /// The content format that the index has to be of; nil: the one that the store's handle has.
  var indexFormat: UInt64?
  /// The content format that the store has to be of, whatever the order; nil: any.
  var storeFormat: UInt64?
  var flags: UInt32 = 0
  var lower: [UInt8] = []
  var upper: [UInt8] = []
  var prefix: [UInt8] = []
  /// Whether damage is an error at once. By an index it may be in the way to an entry that is
  /// intact, and is found by key.
  var refusesDamage = false
  /// A key as a message has it; nil: as nothing.
  var showsKey: (@Sendable (UnsafeRawBufferPointer) -> String)?
  /// How many entries will be asked for; 0 if nobody knows.
  var expected = 0

  init() {}

  var isDescending: Bool {
    get { flags & UInt32(LARDER_STORE_DESCENDING) != 0 }
    set { set(LARDER_STORE_DESCENDING, newValue) }
  }

  var isWithoutValues: Bool {
    get { flags & UInt32(LARDER_STORE_WITHOUT_VALUE) != 0 }
    set { set(LARDER_STORE_WITHOUT_VALUE, newValue) }
  }

  /// Whether nobody asks when entries expire.
  var isWithoutExpiry: Bool {
    get { flags & UInt32(LARDER_STORE_WITHOUT_EXPIRY) != 0 }
    set { set(LARDER_STORE_WITHOUT_EXPIRY, newValue) }
  }

  mutating func setLower(_ bytes: [UInt8], isExclusive: Bool = false) {
    lower = bytes
    set(LARDER_STORE_HAS_LOWER, true)
    set(LARDER_STORE_LOWER_EXCLUSIVE, isExclusive)
  }

  mutating func setUpper(_ bytes: [UInt8], isExclusive: Bool) {
    upper = bytes
    set(LARDER_STORE_HAS_UPPER, true)
    set(LARDER_STORE_UPPER_EXCLUSIVE, isExclusive)
  }

  /// Whether a key's bytes are within the bounds.
  func contains(_ key: UnsafeRawBufferPointer) -> Bool {
    if flags & UInt32(LARDER_STORE_HAS_LOWER) != 0 {
      if key.lexicographicallyPrecedes(lower) { return false }
      let isExclusive = flags & UInt32(LARDER_STORE_LOWER_EXCLUSIVE) != 0
      if isExclusive, key.elementsEqual(lower) { return false }
    }
    if flags & UInt32(LARDER_STORE_HAS_UPPER) != 0 {
      if upper.lexicographicallyPrecedes(key) { return false }
      let isExclusive = flags & UInt32(LARDER_STORE_UPPER_EXCLUSIVE) != 0
      if isExclusive, key.elementsEqual(upper) { return false }
    }
    return key.starts(with: prefix)
  }

  /// Lends the selection as the store takes it.
  ///
  /// - Parameter format: The content format that an index has to be of; 0: any.
  fileprivate func withQuery(
    _ format: UInt64, _ body: (inout larder_store_query) -> larder_status
  ) -> larder_status {
    var query = larder_store_query()
    larder_store_query_init(&query)
    query.order = isByRecency ? LARDER_STORE_BY_RECENCY : LARDER_STORE_BY_KEY
    if let index {
      query.order = LARDER_STORE_BY_INDEX
      query.index = index
    }
    if let format = storeFormat ?? (index == nil ? nil : format) { query.content_format = format }
    query.flags = flags
    query.expected = UInt64(expected)
    return lower.withUnsafeBytes { lower in
      upper.withUnsafeBytes { upper in
        prefix.withUnsafeBytes { prefix in
          query.lower = larder_bytes(lower)
          query.upper = larder_bytes(upper)
          query.prefix = larder_bytes(prefix)
          return body(&query)
        }
      }
    }
  }

  private mutating func set(_ flag: some BinaryInteger, _ isOn: Bool) {
    if isOn { flags |= UInt32(flag) } else { flags &= ~UInt32(flag) }
  }
}

/// The cause of an error that says that the indexes in a store are not those that were asked for,
/// or not all of them.
struct StoreHasOtherIndexes: Error { var areDamaged = false }

extension StoreHandle {
  fileprivate var hasOtherIndexes: LarderError {
    LarderError(
      .configurationMismatch,
      "\(path) has another version of entries, or other indexes, than when it was opened.",
      cause: StoreHasOtherIndexes())
  }

  /// What is wrong where an entry, or what leads to it, is damaged.
  ///
  /// - Parameter key: Empty if nobody knows it.
  fileprivate func damage(
    in selection: StoreSelection, _ key: UnsafeRawBufferPointer = .init(start: nil, count: 0)
  ) -> LarderError {
    if selection.index != nil {
      return LarderError(
        .damaged, "An index in \(path), or an entry that it leads to, is damaged.",
        cause: StoreHasOtherIndexes(areDamaged: true))
    }
    let name = key.isEmpty ? "" : selection.showsKey.map { " with the key " + $0(key) } ?? ""
    return LarderError(
      .damaged,
      """
      An entry of \(path)\(name) is damaged, and was left as it is; remove it or write it again; \
      rebuild makes a new index of the log, and salvage copies what is intact.
      """)
  }

  /// Counts the entries that a cursor would give, without a look at each.
  ///
  /// Where pages are damaged, those count that can be read, as a cursor gives them.
  ///
  /// - Parameter limit: How many are enough.
  func count(_ selection: StoreSelection, upTo limit: Int) throws(LarderError) -> Int {
    if limit <= 0 { return 0 }
    var count: UInt64 = 0
    let format = selection.indexFormat ?? indexFormat.load(ordering: .acquiring)
    let status = try suspension.call { store in
      selection.withQuery(format) { larder_store_count(store, &$0, UInt64(limit), &count) }
    }
    if status == LARDER_EMISMATCH { throw hasOtherIndexes }
    if status == LARDER_EDAMAGED, selection.refusesDamage { throw damage(in: selection) }
    if status != LARDER_EDAMAGED { try check(status, "count the entries of \(path)") }
    return Int(clamping: count)
  }
}
