// SPDX-License-Identifier: MIT
import Foundation

/// What should be there: for each key the step that each of its values is from.
struct EntryModel: Equatable {
  let valueCount: Int
  var entries: [Int: [UInt64]] = [:]

  init(valueCount: Int) { self.valueCount = valueCount }

  /// Does the step, and gives what the call should answer.
  @discardableResult
  mutating func apply(_ step: EntryStep) -> EntryAnswer {
    switch step {
    case .set(let key, let version):
      entries[key] = [UInt64](repeating: version, count: valueCount)
      return .done
    case .update(let key, let version, let indices):
      return put(key, version, indices)
    case .edit(let key, let version, let indices, _, .commit):
      if entries[key] == nil, indices.count == valueCount {
        entries[key] = [UInt64](repeating: version, count: valueCount)
        return .done
      }
      return put(key, version, indices)
    case .edit: return .done
    case .remove(let key): return .removed(entries.removeValue(forKey: key) != nil)
    case .removeAll:
      entries = [:]
      return .done
    case .flush: return .done
    }
  }

  private mutating func put(_ key: Int, _ version: UInt64, _ indices: [Int]) -> EntryAnswer {
    guard var versions = entries[key] else { return .refused }
    for index in indices { versions[index] = version }
    entries[key] = versions
    return .done
  }

  /// The values under a key.
  func values(_ key: Int) -> [Data]? {
    entries[key].map { versions in
      versions.enumerated().map { Filler.bytes(key: key, index: $0.offset, version: $0.element) }
    }
  }

  /// Their bytes altogether.
  var size: Int {
    entries.keys.reduce(0) { sum, key in sum + (values(key) ?? []).reduce(0) { $0 + $1.count } }
  }
}
