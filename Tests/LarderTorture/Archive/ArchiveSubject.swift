// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// The archive that is hurt, in the terms of the steps; and where the defects are planted.
///
/// Unchecked, because its own state is behind a lock.
final class ArchiveSubject: @unchecked Sendable {
  let archive: Archive<Exhibit>
  private let plant: Plant?
  private let lock = NSLock()
  private var waiting: ArchiveStep?

  init(
    path: String, way: Int, plant: Plant? = nil, configuration: ArchiveConfiguration = .init()
  ) throws {
    self.plant = plant
    if plant == .boundIncluded { BoundIncluded.isAtWork = true }
    archive = try Archive(
      at: .path(path), indexes: Exhibit.indexes(way), configuration: configuration)
  }

  // MARK: - Steps

  func perform(_ step: ArchiveStep) throws {
    if plant == .earlyAcknowledgement {
      lock.lock()
      defer { lock.unlock() }
      let before = waiting
      waiting = step
      if let before { try really(before) }
      return
    }
    try really(step)
  }

  private func really(_ step: ArchiveStep) throws {
    if plant == .staleIndex { StaleIndex.isAtWork = true }
    switch step {
    case .record(let key, let version): try archive.upsert(Exhibit(key: key, version: version))
    case .update(let key, let version): try archive.upsert(Exhibit(key: key, version: version))
    case .recordAll(let keys, let version):
      try archive.upsert(all: keys.map { Exhibit(key: $0, version: version) })
    case .delete(let key): try archive.delete(id: Exhibit.id(key))
    case .deleteKeys(let keys):
      let deleted = plant == .deleteForgets ? keys.dropLast() : keys[...]
      try archive.delete(ids: deleted.map { Exhibit.id($0) })
    case .deleteAll: try archive.deleteAll()
    case .flush: try archive.checkpoint()
    }
  }

  // MARK: - Answers

  func access(_ key: Int) throws -> Exhibit? {
    if let found = try archive.element(forID: Exhibit.id(key)) { return found }
    return plant == .neighbour ? try archive.element(forID: Exhibit.id(key + 1)) : nil
  }

  func all(limitedBy limit: Int = .max) throws -> [Exhibit] {
    try archive.elements(limit: plant == .limitIgnored ? .max : limit)
  }
}
