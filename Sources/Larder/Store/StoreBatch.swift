// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import LarderCore

/// Owns one `larder_store_batch`, which goes on with its store when that was suspended and resumed.
///
/// Belongs to one thread at a time.
struct StoreBatch: ~Copyable {
  /// What the batch belongs to has to be kept as long.
  private final class Binding {
    var owner: any SuspendableHandle.Owner
    /// Bytes of keys and values that were put into it.
    var size = 0

    init(_ owner: any SuspendableHandle.Owner) { self.owner = owner }
  }

  private let batch: OpaquePointer
  private let store: StoreHandle
  private let binding: Binding

  init(_ store: StoreHandle) throws(LarderError) {
    var made: OpaquePointer?
    let (status, owner) = try store.suspension.callKeeping {
      larder_store_batch_create($0, &made)
    }
    guard status == LARDER_OK, let made else {
      throw store.failure(
        status == LARDER_OK ? Int32(LARDER_EINVALID) : status, "begin a batch for \(store.path)")
    }
    batch = made
    self.store = store
    binding = Binding(owner)
  }

  deinit { larder_store_batch_destroy(batch) }

  /// Calls C; if the store was suspended, again with the reopened one.
  private func call(_ body: (OpaquePointer) -> larder_status) throws(LarderError) -> larder_status {
    while true {
      let status = body(batch)
      if status != LARDER_ECLOSED { return status }
      let moved = try store.suspension.callKeeping { larder_store_batch_move(batch, $0) }
      if moved.status != LARDER_OK { return moved.status }
      binding.owner = moved.owner
    }
  }

  /// - Parameter indexes: What the entry is found by besides its key.
  func put(
    _ key: StoreKey, _ value: UnsafeRawBufferPointer, extended: UnsafeRawBufferPointer,
    terms: StoreTerms, indexes: [StoreIndexValue] = []
  ) throws(LarderError) {
    try putAlone(key.bytes, value, extended: extended, terms: terms, indexes: indexes)
    for bytes in try store.others(key) { try remove(bytes) }
  }

  func putAlone(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    extended: UnsafeRawBufferPointer, terms: StoreTerms, indexes: [StoreIndexValue]
  ) throws(LarderError) {
    var item = StoreItem.make(key, value, extended: extended, terms: terms)
    let status = try call { batch in
      indexes.withItems(in: &item) { larder_store_batch_put(batch, &$0) }
    }
    try store.check(
      status,
      """
      store \(value.count) bytes under a key of \(key.count) bytes in \(store.path), in a batch \
      of \(binding.size) bytes of keys and values so far, which may have \(store.batchCapacity) \
      with what each entry takes beside them
      """)
    binding.size += key.count + value.count
  }

  func remove(_ key: StoreKey) throws(LarderError) {
    try remove(key.bytes)
    for bytes in try store.others(key) { try remove(bytes) }
  }

  func remove(_ key: [UInt8]) throws(LarderError) {
    let removed = key.withUnsafeBytes { key in
      Result { () throws(LarderError) in try remove(key) }
    }
    try removed.get()
  }

  func remove(_ key: UnsafeRawBufferPointer) throws(LarderError) {
    try store.check(
      call { larder_store_batch_remove($0, larder_bytes(key)) },
      "remove an entry in a batch for \(store.path)")
  }

  /// Makes the commit depend on the key having that version; 0: on there being none.
  func require(_ key: StoreKey, version: UInt64) throws(LarderError) {
    let others = try store.others(key)
    // An entry under another form has the version unless there is one under the key.
    if version != 0, let other = others.first, try !store.contains(StoreKey(key.bytes)) {
      try require(other, version: version)
      return try require(key.bytes, version: 0)
    }
    try require(key.bytes, version: version)
    if version == 0 { for other in others { try require(other, version: 0) } }
  }

  private func require(_ key: [UInt8], version: UInt64) throws(LarderError) {
    let required = key.withUnsafeBytes { key in
      Result { () throws(LarderError) in try require(key, version: version) }
    }
    try required.get()
  }

  private func require(
    _ key: UnsafeRawBufferPointer, version: UInt64
  ) throws(LarderError) {
    try store.check(
      call { larder_store_batch_require($0, larder_bytes(key), version) },
      "require a version in a batch for \(store.path)")
  }

  /// Makes the commit depend on no two entries having that value in its index behind it.
  func requireUnique(_ value: StoreIndexValue) throws(LarderError) {
    let status = value.bytes.withUnsafeBytes { bytes in
      larder_store_batch_require_unique(batch, value.index, larder_bytes(bytes))
    }
    try store.check(status, "require a unique value in a batch for \(store.path)")
  }

  /// Makes the commit depend on nothing having been written since that version.
  func requireUnchanged(since sequence: UInt64) {
    larder_store_batch_require_unchanged(batch, sequence)
  }

  /// Writes everything, or nothing.
  ///
  /// - Returns: the version of all entries; nil if a requirement did not hold.
  /// - Throws: `.duplicate` with a `StoreDuplicate` if it was that of a unique value, and all
  ///   others held.
  func commit(isSynced: Bool) throws(LarderError) -> UInt64? {
    var sequence: UInt64 = 0
    let status = try call {
      larder_store_batch_commit($0, isSynced ? UInt32(LARDER_STORE_SYNCED) : 0, &sequence)
    }
    if status == LARDER_ECONFLICT {
      var index: UInt16 = 0
      if larder_store_batch_duplicate(batch, &index) != LARDER_OK { return nil }
      throw LarderError(
        .duplicate, "An index of \(store.path) would have a value twice.",
        cause: StoreDuplicate(index: index))
    }
    if status == LARDER_EDAMAGED {
      throw LarderError(
        .damaged,
        """
        Whether a value would be twice in an index of \(store.path) that is unique cannot be told: \
        what may have it already is damaged. Remove that or write it again, or rebuild.
        """)
    }
    try store.check(status, "commit a batch to \(store.path)")
    return sequence
  }
}

/// The cause of an error that says that a value is not unique.
struct StoreDuplicate: Error {
  /// The index that it is of.
  var index: UInt16
}

extension StoreHandle {
  /// The version of the last write, of a removal too.
  func lastSequence(waits: Bool = true) throws(LarderError) -> UInt64 {
    var sequence: UInt64 = 0
    let status = try suspension.call(waits: waits) { larder_store_last_sequence($0, &sequence) }
    try check(status, "find out what was written last to \(path)")
    return sequence
  }
}
