// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import LarderCore

/// Owns one `larder_store_batch`, and keeps its store open meanwhile.
///
/// Belongs to one thread at a time.
struct StoreBatch: ~Copyable {
  private let batch: OpaquePointer
  private let store: StoreHandle

  init(_ store: StoreHandle) throws(LarderError) {
    var made: OpaquePointer?
    let status = larder_store_batch_create(store.store, &made)
    guard status == LARDER_OK, let made else {
      throw store.failure(
        status == LARDER_OK ? Int32(LARDER_EINVALID) : status, "begin a batch for \(store.path)")
    }
    batch = made
    self.store = store
  }

  deinit { larder_store_batch_destroy(batch) }

  func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    extended: UnsafeRawBufferPointer, terms: StoreTerms
  ) throws(LarderError) {
    var item = StoreItem.make(key, value, extended: extended, terms: terms)
    try store.check(
      larder_store_batch_put(batch, &item),
      "store \(value.count) bytes under a key of \(key.count) bytes in a batch for \(store.path)")
  }

  /// The same, with what the entry is found by besides its key.
  func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    extended: UnsafeRawBufferPointer, terms: StoreTerms, indexes: [StoreIndexValue]
  ) throws(LarderError) {
    var item = StoreItem.make(key, value, extended: extended, terms: terms)
    let status = indexes.withItems(in: &item) { larder_store_batch_put(batch, &$0) }
    try store.check(
      status,
      "store \(value.count) bytes under a key of \(key.count) bytes in a batch for \(store.path)")
  }

  func remove(_ key: UnsafeRawBufferPointer) throws(LarderError) {
    try store.check(
      larder_store_batch_remove(batch, larder_bytes(key)),
      "remove an entry in a batch for \(store.path)")
  }

  /// Makes the commit depend on the key having that version; 0: on there being none.
  func require(
    _ key: UnsafeRawBufferPointer, version: UInt64
  ) throws(LarderError) {
    try store.check(
      larder_store_batch_require(batch, larder_bytes(key), version),
      "require a version in a batch for \(store.path)")
  }

  /// Writes everything, or nothing.
  ///
  /// - Returns: the version of all entries; nil if a requirement did not hold.
  func commit(isSynced: Bool) throws(LarderError) -> UInt64? {
    var sequence: UInt64 = 0
    let status = larder_store_batch_commit(
      batch, isSynced ? UInt32(LARDER_STORE_SYNCED) : 0, &sequence)
    if status == LARDER_ECONFLICT { return nil }
    try store.check(status, "commit a batch to \(store.path)")
    return sequence
  }
}
