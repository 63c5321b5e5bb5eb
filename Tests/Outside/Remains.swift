// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// Small versions of what the other programs leave, and how it is read again.
struct Remains: Sendable {
  let name: String
  /// Writes a store, half of it behind the last checkpoint, and leaves it open.
  let leave: @Sendable (_ path: String) throws -> any Sendable
  /// Opens it for writing, as a program that starts again does, and reads all of it.
  let read: @Sendable (_ path: String, _ finding: Finding) throws -> Void

  static let all = [images, answers, tracks, pages, log]

  private static func bytes(_ id: Int, _ version: Int) -> Data {
    Stamp(id: id, version: version).bytes(count: 40 + Int(Dice.mixed(id, version) % 2_000))
  }

  /// Stores each version in turn, and removes some.
  private static func write(
    _ set: (Int, Int) throws -> Void, _ remove: (Int) throws -> Void, _ flush: () throws -> Void
  ) throws {
    for version in 1...3 {
      for id in 0..<Folders.idCount where Folders.versions(id).all.contains(version) {
        try set(id, version)
      }
      if version == 2 { try flush() }
    }
    for id in 0..<Folders.idCount where Folders.versions(id).last == 0 { try remove(id) }
  }

  private static let images = Remains(
    name: "images",
    leave: { path in
      let cache = try DiskCache<String, Data>(at: .path(path))
      try write(
        { try cache.set(bytes($0, $1), forKey: Images.address($0)) },
        { try cache.remove(forKey: Images.address($0)) }, { try cache.checkpoint() })
      return cache
    },
    read: { path, finding in
      let cache = try DiskCache<String, Data>(at: .path(path))
      for id in 0..<Folders.idCount {
        try finding.reading {
          if let data = try cache.value(forKey: Images.address(id)) {
            finding.take(id, Stamp(data))
          }
        }
      }
      finding.tell(if: try !cache.recovery.isIntact)
      finding.tell(if: try !cache.verify().isIntact)
      // Damage may keep a checkpoint from being made.
      try finding.reading { try cache.close() }
    })

  private static let answers = Remains(
    name: "api",
    leave: { path in
      let cache = try Cache<Int, Data>(at: .path(path))
      try write(
        { try cache.set(bytes($0, $1), forKey: $0) }, { try cache.remove(forKey: $0) },
        { try cache.diskCache?.checkpoint() })
      return cache
    },
    read: { path, finding in
      let cache = try Cache<Int, Data>(at: .path(path))
      for id in 0..<Folders.idCount {
        try finding.reading {
          if let data = try cache.value(forKey: id) { finding.take(id, Stamp(data)) }
        }
      }
      if let disk = cache.diskCache {
        finding.tell(if: try !disk.recovery.isIntact)
        finding.tell(if: try !disk.verify().isIntact)
      }
      try finding.reading { try cache.close() }
    })

  private static let tracks = Remains(
    name: "archive",
    leave: { path in
      let archive = try Archive<Library.Track>(at: .path(path), indexes: Library.indexes)
      try write(
        { try archive.upsert(Library.Track($0, $1)) }, { try archive.delete(id: $0) },
        { try archive.checkpoint() })
      return archive
    },
    read: { path, finding in
      let archive = try Archive<Library.Track>(at: .path(path), indexes: Library.indexes)
      func take(_ track: Library.Track, _ id: Int) {
        let isSame = track == Library.Track(id, track.version)
        finding.take(id, isSame ? Stamp(id: id, version: track.version) : nil)
      }
      for id in 0..<Folders.idCount {
        try finding.reading { if let track = try archive.element(forID: id) { take(track, id) } }
      }
      for year in stride(from: 1700, to: 2020, by: 40) {
        try finding.reading {
          let found = try archive.where { $0.year.within(year..<year + 40) }.results()
          for track in found { take(track, (year..<year + 40) ~= track.year ? track.id : -1) }
        }
      }
      finding.tell(if: try !archive.recovery.isIntact)
      finding.tell(if: try !archive.verify().isIntact)
      try finding.reading { try archive.close() }
    })

  private static let pages = Remains(
    name: "entries",
    leave: { path in
      let cache = try EntryCache<String>(at: .path(path), valueCount: 2)
      try write(
        { try cache.setValues([bytes($0, $1), bytes($0 + 1_000, $1)], forKey: "\($0)") },
        { try cache.remove(forKey: "\($0)") }, { try cache.checkpoint() })
      return cache
    },
    read: { path, finding in
      let cache = try EntryCache<String>(at: .path(path), valueCount: 2)
      for id in 0..<Folders.idCount {
        try finding.reading {
          guard let snapshot = try cache.snapshot(forKey: "\(id)") else { return }
          let (one, two) = (Stamp(try snapshot.data(at: 0)), Stamp(try snapshot.data(at: 1)))
          let isOne = two == one.map { Stamp(id: id + 1_000, version: $0.version) }
          finding.take(id, isOne ? one : nil)
        }
      }
      finding.tell(if: try cache.statistics.damaged > 0)
      finding.tell(if: try !cache.recovery.isIntact)
      finding.tell(if: try !cache.verify().isIntact)
      try finding.reading { try cache.close() }
    })

  /// The newest message of an id counts; those with nothing in the end say so in one of their own.
  private static let log = Remains(
    name: "log",
    leave: { path in
      let log = try MessageLog(
        at: .path(path), capacity: 2.megabytes, whenFull: .overwriteOldest,
        coder: .data)
      try write(
        { try log.append(bytes($0, $1)) }, { try log.append(bytes($0 + 1_000, 0)) },
        { try log.sync() })
      return log
    },
    read: { path, finding in
      let log = try MessageLog(
        at: .path(path), capacity: 2.megabytes, whenFull: .overwriteOldest,
        coder: .data)
      finding.tell(if: try log.recovery.lost > 0)
      for entry in log.entries {
        finding.tell(if: entry.lost > 0)
        let stamp = Stamp(try entry.message)
        let id = stamp?.id ?? -1
        if id >= 1_000 { finding.remove(id - 1_000) } else { finding.take(id, stamp) }
      }
      finding.tell(if: try log.statistics.lost > 0)
      finding.tell(if: try !log.verify().isIntact)
      try log.close()
    })
}
