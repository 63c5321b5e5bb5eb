// SPDX-License-Identifier: MIT

import LarderCore

/// What an archive says about itself in its store: that it is one, its coder and its
/// indexes.
///
/// A number of 64 bits: highest `LA`, its letters in the order in which they lie in the
/// file, then 16 bits for the coder's format, then 32 bits for the declarations of the
/// indexes. Both are FNV-1a hashes (Fowler, Noll, Vo), the first one folded; 0 stands for a
/// coder that says nothing, and for no index.
package struct ArchiveFormat: Hashable, Sendable {
  private static let mark: UInt64 = 0x414C

  package var coder: UInt16
  package var indexes: UInt32

  /// The format that a store says it has; nil if it is no archive.
  package init?(number: UInt64) {
    guard number >> 48 == Self.mark else { return nil }
    coder = UInt16(truncatingIfNeeded: number >> 32)
    indexes = UInt32(truncatingIfNeeded: number)
  }

  init<Element>(coder format: String, indexes: [ArchiveIndex<Element>]) {
    coder = Self.number(ofCoder: format)
    // In whatever order they are declared.
    let declarations = indexes.map(\.declaration).sorted()
    self.indexes =
      declarations.isEmpty ? 0 : max(1, Self.hash(declarations.joined(separator: "\n").utf8))
  }

  /// What stands for a coder's format.
  package static func number(ofCoder format: String) -> UInt16 {
    if format.isEmpty { return 0 }
    let hash = hash(format.utf8)
    return max(1, UInt16(truncatingIfNeeded: hash >> 16 ^ hash))
  }

  /// Of an archive that is being given these indexes: it has none that anybody declares.
  var changing: ArchiveFormat {
    var format = self
    format.indexes = indexes == .max ? .max - 1 : .max
    return format
  }

  package var number: UInt64 { Self.mark << 48 | UInt64(coder) << 32 | UInt64(indexes) }

  private static func hash(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  /// Refuses indexes that cannot be told apart, and more than there can be.
  static func validate<Element>(_ indexes: [ArchiveIndex<Element>]) throws(LarderError) {
    guard indexes.count <= 64 else {
      throw LarderError(
        .invalidArgument, "An archive has up to 64 indexes, not \(indexes.count).")
    }
    var names: [UInt16: String] = [:]
    for index in indexes {
      if let other = names.updateValue(index.name, forKey: index.number) {
        throw LarderError(
          .invalidArgument,
          """
          The indexes "\(other)" and "\(index.name)" would have one number in the store; give \
          one of them another name.
          """)
      }
    }
  }
}

/// A store that was opened for an archive.
struct ArchiveStore {
  let store: StoreHandle
  /// What the store is to say about itself.
  let format: ArchiveFormat
  /// Whether its elements were written with other indexes.
  let hasOtherIndexes: Bool
}

extension ArchiveFormat {
  /// Opens a store of this format, or of one that only has other indexes.
  func openStore(path: String, options: StoreOptions) throws(LarderError) -> ArchiveStore {
    var options = options
    options.contentFormatNumber = number
    var found: UInt64 = 0
    do {
      let store = try StoreHandle(path: path, options: options, foundFormat: &found)
      return ArchiveStore(store: store, format: self, hasOtherIndexes: false)
    } catch {
      guard error.code == .configurationMismatch else { throw error }
    }
    guard let there = ArchiveFormat(number: found) else {
      throw LarderError(
        .configurationMismatch,
        "Could not open \(path): the store in it is not an archive; it was left as it is.")
    }
    guard coder == there.coder || coder == 0 || there.coder == 0 else {
      throw LarderError(
        .configurationMismatch,
        "Could not open \(path): its elements were encoded by a coder of another format.")
    }
    options.contentFormatNumber = found
    let store = try StoreHandle(path: path, options: options)
    var format = self
    if coder == 0 { format.coder = there.coder }
    return ArchiveStore(store: store, format: format, hasOtherIndexes: indexes != there.indexes)
  }
}
