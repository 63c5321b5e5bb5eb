// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

/// Makes an element of an entry's key, version and value.
@usableFromInline
typealias ArchiveFetch<Element> =
  @Sendable (UnsafeRawBufferPointer, UInt64, UnsafeRawBufferPointer) throws -> Element

extension ArchiveQuery {
  /// Takes elements from memory that are there in their version, and keeps others there.
  ///
  /// Made in programs, where it is specialised for their elements: that saves more than half of
  /// its time.
  @inlinable
  func makeFetch() -> ArchiveFetch<Element> {
    let archive = archive
    return { key, version, value in
      let id = try archive.keyCoder.decodeBytes(key)
      if let cell = archive.memory.peek(forKey: id), cell.trace.version == version {
        return cell.element
      }
      let element = try archive.coder.decode(value)
      archive.keep(element, id, StoreTrace(version: version), size: value.count)
      return element
    }
  }
}

extension Archive {
  /// Whether memory has room for everything. If not, a query leaves it alone: it would find
  /// little there, and drive out what is accessed.
  @usableFromInline var fitsIntoMemory: Bool {
    get throws {
      let limit = memoryLimit.load(ordering: .relaxed)
      return try limit > 0 && store.totals().bytes <= limit
    }
  }
}
