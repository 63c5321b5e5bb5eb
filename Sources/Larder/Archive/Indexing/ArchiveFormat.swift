// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore

/// What an archive says about itself in its store: that it is one, its coder and its
/// indexes.
///
/// A number of 64 bits: highest `LA`, its letters in the order in which they lie in the
/// file, then 16 bits for the coder's format, 24 for the declarations of the indexes, and 8 that
/// count how often those were built. Both are FNV-1a hashes (Fowler, Noll, Vo), the first one
/// folded, of the other one the upper bits; 0 stands for a coder that says nothing, and for no
/// index.
///
/// Indexes that are built again have another number even if they are declared as before: a reader
/// that has the folder open meanwhile may compute something else from the elements.
package struct ArchiveFormat: Hashable, Sendable {
  private static let mark: UInt64 = 0x414C
  /// Of indexes that are being built, which are nobody's.
  private static let building: UInt32 = 0xFF_FFFF

  package var coder: UInt16
  package var indexes: UInt32
  /// Counts how often the indexes were built, and begins again behind 255.
  package var generation: UInt8 = 0

  /// The format that a store says it has; nil if it is no archive.
  package init?(number: UInt64) {
    guard number >> 48 == Self.mark else { return nil }
    coder = UInt16(truncatingIfNeeded: number >> 32)
    indexes = UInt32(truncatingIfNeeded: number >> 8) & Self.building
    generation = UInt8(truncatingIfNeeded: number)
  }

  init<Element>(coder format: String, indexes: [ArchiveIndex<Element>]) {
    coder = Self.number(ofCoder: format)
    // In whatever order they are declared.
    let declarations = indexes.map(\.declaration).sorted()
    if declarations.isEmpty {
      self.indexes = 0
    } else {
      let hash = Self.hash(declarations.joined(separator: "\n").utf8) >> 8
      self.indexes = min(max(1, hash), Self.building - 1)
    }
  }

  /// What stands for a coder's format.
  package static func number(ofCoder format: String) -> UInt16 {
    if format.isEmpty { return 0 }
    let hash = hash(format.utf8)
    return max(1, UInt16(truncatingIfNeeded: hash >> 16 ^ hash))
  }

  /// The same declarations, built once more behind what `there` says.
  func rebuilt(after there: ArchiveFormat) -> ArchiveFormat {
    var format = self
    format.generation = there.generation &+ 1
    return format
  }

  /// Of an archive that is being given these indexes: it has none that anybody declares.
  var changing: ArchiveFormat {
    var format = self
    format.indexes = Self.building
    return format
  }

  package var number: UInt64 {
    Self.mark << 48 | UInt64(coder) << 32 | UInt64(indexes) << 8 | UInt64(generation)
  }

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
  /// What the store says about itself.
  let there: ArchiveFormat
}

extension ArchiveFormat {
  /// Opens a store of this format, or of one that only has other indexes.
  func openStore(path: String, options: StoreOptions) throws(LarderError) -> ArchiveStore {
    var options = options
    options.contentFormatNumber = number
    var found: UInt64 = 0
    do {
      let store = try StoreHandle(path: path, options: options, foundFormat: &found)
      // A store that lost what it said about itself takes any format.
      let there = ArchiveFormat(number: try store.statistics().content_format)
      return ArchiveStore(store: store, there: there ?? changing)
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
    return ArchiveStore(store: store, there: there)
  }
}
