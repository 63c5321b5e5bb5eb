// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

extension Archive {
  /// How many encoded bytes the elements have that are in memory too; never more than
  /// ``memorySizeLimit``.
  ///
  /// - Complexity: O(1).
  public var memorySize: DataSize { DataSize(bytes: memory.totalCost) }

  /// How many elements are in memory too.
  ///
  /// - Complexity: O(1).
  public var memoryCount: Int { memory.count }

  /// The most encoded bytes that all elements have together; nil for no limit.
  ///
  /// - Complexity: O(1).
  public var sizeLimit: DataSize? { room.maximum }

  /// Changes ``sizeLimit``, and evicts what is too much, the least recently accessed
  /// first.
  ///
  /// - Parameter size: The most encoded bytes that all elements have together; nil for no
  ///   limit. Less than 0 counts as 0.
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(elements that leave · log n), and a flush if any do.
  public func setSizeLimit(_ size: DataSize?) throws {
    try changeSizeLimit(size)
  }

  /// The most encoded bytes that the elements in memory have together. 0 and less: none is
  /// kept there; and none ever is that is an object.
  ///
  /// What is too much leaves before the assignment returns.
  ///
  /// - Complexity: O(1) for reading, O(elements that leave) for setting.
  public var memorySizeLimit: DataSize {
    get { DataSize(bytes: memoryLimit.load(ordering: .relaxed)) }
    set {
      let bytes = Self.bytesInMemory(newValue)
      memoryLimit.store(bytes, ordering: .relaxed)
      memory.costLimit = bytes
    }
  }

  /// No bytes of objects: whoever read one could change what is in memory, and not what is stored.
  static func bytesInMemory(_ size: DataSize) -> Int {
    Element.self is AnyObject.Type ? 0 : max(0, size.bytes)
  }

  func changeSizeLimit(_ size: DataSize?) throws {
    if isReadOnly {
      throw LarderError(
        .readOnly, "The size of \(path) cannot be changed: it was opened for reading only.")
    }
    var limits = StoreLimits()
    limits.size = size
    limits.expiration = expiration
    store.setLimits(limits)
    try room.setMaximum(size, store, expires: expiration != .never)
    changes.notify()
  }
}
