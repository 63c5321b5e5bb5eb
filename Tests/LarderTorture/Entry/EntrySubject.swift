// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// The cache that is hurt, in the terms of the steps; and where the defects are planted.
///
/// Unchecked, because its own state is behind a lock or, what is planted, of one thread.
final class EntrySubject: @unchecked Sendable {
  let cache: EntryCache<String>
  private let plant: Plant?
  private let lock = NSLock()
  private var waiting: EntryStep?
  private var drifted = 0

  init(
    path: String, valueCount: Int, version: UInt32 = 1, plant: Plant? = nil,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    self.plant = plant
    cache = try EntryCache(
      at: .path(path), valueCount: valueCount, version: Int(version), configuration: configuration)
  }

  static func name(_ key: Int) -> String { "entry-\(key)" }

  // MARK: - Steps

  func perform(_ step: EntryStep) throws -> EntryAnswer {
    if plant == .earlyAcknowledgement, step.key != nil {
      lock.lock()
      defer { lock.unlock() }
      let before = waiting
      waiting = step
      if let before { _ = try really(before) }
      return .done
    }
    return try really(step)
  }

  private func really(_ step: EntryStep) throws -> EntryAnswer {
    switch step {
    case .set(let key, let version):
      let values = (0..<cache.valueCount).map { bytes(key, $0, version) }
      if plant == .tornCommit, let old = try self.values(key) {
        try cache.setValues([values[0]] + old.dropFirst(), forKey: Self.name(key))
      }
      if plant == .sizeDrifts, let old = try self.values(key) { drift(old) }
      try cache.setValues(values, forKey: Self.name(key))
      return .done
    case .update(let key, let version, let indices):
      return try unlessRefused {
        let values = indices.map { ($0, bytes(key, $0, version)) }
        try cache.update(
          Dictionary(uniqueKeysWithValues: values), forKey: Self.name(key))
      }
    case .edit(let key, let version, let indices, let isStreamed, let ending):
      return try edit(key, version, indices, isStreamed, ending)
    case .remove(let key): return .removed(try cache.remove(forKey: Self.name(key)))
    case .removeAll:
      try cache.removeAll()
      return .done
    case .flush:
      try cache.checkpoint()
      return .done
    }
  }

  private func edit(
    _ key: Int, _ version: UInt64, _ indices: [Int], _ isStreamed: Bool, _ ending: EntryStep.Ending
  ) throws -> EntryAnswer {
    guard let editor = try cache.edit(Self.name(key)) else {
      throw Broken("nobody edits the key, and it cannot be edited")
    }
    for index in indices {
      let value = bytes(key, index, version)
      if isStreamed {
        let writer = try editor.writer(at: index)
        let half = value.count / 2
        try writer.write(value.prefix(half))
        try writer.write(value.dropFirst(half))
        try writer.close()
      } else {
        try editor.set(value, at: index)
      }
    }
    switch ending {
    case .commit: return try unlessRefused { try editor.commit() }
    case .abort:
      try editor.abort()
      if plant == .abortRemoves { _ = try cache.remove(forKey: Self.name(key)) }
      return .done
    case .drop: return .done
    }
  }

  /// `.refused` for what misses something, and throws what else is thrown.
  private func unlessRefused(_ body: () throws -> Void) throws -> EntryAnswer {
    do {
      try body()
      return .done
    } catch let error as LarderError where error.code == .invalidArgument {
      return .refused
    }
  }

  private func bytes(_ key: Int, _ index: Int, _ version: UInt64) -> Data {
    Filler.bytes(key: key, index: index, version: version)
  }

  private func drift(_ old: [Data]) {
    lock.lock()
    defer { lock.unlock() }
    drifted += old.reduce(0) { $0 + $1.count }
  }

  // MARK: - Answers

  func values(_ key: Int) throws -> [Data]? {
    if let found = try values(named: Self.name(key)) { return found }
    return plant == .neighbour ? try values(named: Self.name(key + 1)) : nil
  }

  private func values(named name: String) throws -> [Data]? {
    guard let snapshot = try cache.snapshot(forKey: name) else { return nil }
    return try (0..<cache.valueCount).map { try snapshot.data(at: $0) }
  }

  var size: Int { get throws { try cache.size.bytes + drifted } }
  var count: Int { get throws { try cache.count } }

  /// The keys in a cache that has no others.
  func keys() throws -> [Int] {
    try cache.keys().map { name in
      guard let key = Int(name.dropFirst(6)), Self.name(key) == name else {
        throw Broken("there is a key that nobody stored")
      }
      return key
    }
  }
}
