// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

/// What an archive says about itself in its store: that it is one, its coder, the version of its
/// elements, and its indexes.
///
/// A number of 64 bits: highest `LA`, its letters in the order in which they lie in the
/// file, then 16 bits for the coder's format, 24 for the declarations of the indexes, and 8 that
/// count how often those were built. Both are FNV-1a hashes (Fowler, Noll, Vo), the first one
/// folded, of the other one the upper bits; 0 stands for a coder that says nothing, and for no
/// index. With a schema of a version above 1 it is `LS`, and the version takes 8 bits from those of
/// the indexes: a release that knows no schemas takes the folder for none of its own.
///
/// Indexes that are built again have another number even if they are declared as before: a reader
/// that has the folder open meanwhile may compute something else from the elements.
package struct ArchiveFormat: Hashable, Sendable {
  private static let mark: UInt64 = 0x414C
  private static let versionedMark: UInt64 = 0x534C

  package var coder: UInt16
  package var indexes: UInt32
  /// Of the elements.
  package var version: UInt8 = 1
  /// Counts how often the indexes were built, and begins again behind 255.
  package var generation: UInt8 = 0

  /// The format that a store says it has; nil if it is no archive.
  package init?(number: UInt64) {
    coder = UInt16(truncatingIfNeeded: number >> 32)
    generation = UInt8(truncatingIfNeeded: number)
    switch number >> 48 {
    case Self.mark: indexes = UInt32(truncatingIfNeeded: number >> 8) & 0xFF_FFFF
    case Self.versionedMark:
      indexes = UInt32(truncatingIfNeeded: number >> 16) & 0xFFFF
      version = UInt8(truncatingIfNeeded: number >> 8)
      // Those have the other mark.
      if version < 2 { return nil }
    default: return nil
    }
  }

  init<Element>(coder format: String, indexes: [ArchiveIndex<Element>], version: Int = 1) {
    coder = Self.number(ofCoder: format)
    self.version = UInt8(clamping: version)
    // In whatever order they are declared.
    let declarations = indexes.map(\.declaration).sorted()
    self.indexes = 0
    if !declarations.isEmpty {
      let hash = Self.hash(declarations.joined(separator: "\n").utf8)
      self.indexes = min(max(1, hash >> (version == 1 ? 8 : 16)), building - 1)
    }
  }

  /// Of indexes that are being built, which are nobody's.
  private var building: UInt32 { version == 1 ? 0xFF_FFFF : 0xFFFF }

  /// Whether indexes are being built, or that was cut short.
  var isBuilding: Bool { indexes == building }

  /// Whether elements have that version, and are found by the same.
  func hasElements(as other: ArchiveFormat) -> Bool {
    version == other.version && indexes == other.indexes
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
    format.indexes = building
    return format
  }

  package var number: UInt64 {
    let rest = UInt64(coder) << 32 | UInt64(generation)
    if version == 1 { return Self.mark << 48 | rest | UInt64(indexes) << 8 }
    return Self.versionedMark << 48 | rest | UInt64(indexes) << 16 | UInt64(version) << 8
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
  /// Opens a store of this format, or of one that only has other indexes, or elements of an earlier
  /// version.
  ///
  /// - Parameters:
  ///   - oldest: The earliest version that steps lead on from.
  ///   - oldCoders: The formats of those that earlier versions had.
  ///   - readsLater: Whether a later version will do.
  func openStore(
    path: String, options: StoreOptions, oldest: Int, oldCoders: [String], readsLater: Bool
  ) throws(LarderError) -> ArchiveStore {
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
    guard there.version >= oldest, there.version <= version || readsLater else {
      let reason =
        there.version < oldest
        ? "has no migration from there to version \(version)"
        : "knows version \(version); use a later one"
      throw LarderError(
        .incompatibleVersion,
        """
        Could not open \(path): its elements have schema version \(there.version), and this \
        program \(reason); nothing was changed.
        """)
    }
    let coders = [coder] + (version > 1 ? oldCoders.map(Self.number(ofCoder:)) : [])
    guard coder == 0 || there.coder == 0 || coders.contains(there.coder) else {
      throw LarderError(
        .configurationMismatch,
        "Could not open \(path): its elements were encoded by a coder of another format.")
    }
    let keyForm = options.keyForm
    options.contentFormatNumber = found
    // A migration gives elements new keys.
    if there.version < version, !options.isReadOnly { options.keyForm = .unknown }
    let store = try StoreHandle(path: path, options: options)
    store.options.withLock { $0.keyForm = keyForm }
    return ArchiveStore(store: store, there: there)
  }
}
