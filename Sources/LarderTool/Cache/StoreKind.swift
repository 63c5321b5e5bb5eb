// SPDX-License-Identifier: MIT
import Larder

/// What a folder was made by, as its store's content format says: the page "File formats" has the
/// numbers.
enum StoreKind: Equatable, Sendable {
  /// A disk cache, with the name of its coder; empty if that is not said.
  case cache(format: String)
  /// An entry cache.
  case entries(valueCount: Int, version: UInt32)
  /// An archive; the number stands for the name of its coder, the version is that of its schema.
  case archive(coder: UInt16, version: Int)

  init(_ statistics: StoreStatistics) {
    let number = statistics.contentFormat
    if let archive = ArchiveFormat(number: number) {
      self = .archive(coder: archive.coder, version: Int(archive.version))
    } else if let entries = EntryFormat(number: number) {
      self = .entries(valueCount: entries.valueCount, version: entries.version)
    } else {
      self = .cache(format: statistics.format)
    }
  }

  /// What its values are, for people.
  var valueFormat: String {
    switch self {
    case .cache(let format): format.isEmpty ? "any" : format
    case .entries: "those of entries; see larder entry"
    case .archive: "those of an archive; see larder archive"
    }
  }

  /// What it is, with an article.
  var name: String {
    switch self {
    case .cache: "a cache of single values; see larder cache"
    case .entries: "a cache of entries with several values; see larder entry"
    case .archive: "an archive; see larder archive"
    }
  }
}
