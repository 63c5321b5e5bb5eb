// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that write entries.
extension EntryArea {
  /// Both values of an entry by an editor.
  static func commit(_ id: String, size: Int, goal: Goal) -> Row {
    writes(
      id, size: size, does: "edit, set of both values and commit", goal: goal
    ) { cache, key, value in
      guard let editor = try cache.edit(key) else {
        throw Failure(description: "an entry cannot be edited")
      }
      try editor.set(value, at: 0)
      try editor.set(value, at: 1)
      try editor.commit()
    }
  }

  static var set: Row {
    writes("entry.set", size: 100, does: "setValues", goal: .none) { cache, key, value in
      try cache.setValues([value, value], forKey: key)
    }
  }

  private static func writes(
    _ id: String, size: Int, does: String, goal: Goal,
    _ write: @escaping (EntryCache<Int>, Int, Data) throws -> Void
  ) -> Row {
    Row(
      id: id,
      ours: """
        EntryCache<Int>, 2 values of \(size) B, process-durable, defaults: \(does), of new keys; \
        the time until the last call returns. Everything is removed, and that flushed, between \
        samples
        """,
      rival: .pairs(
        """
        open, write, close of two new files, then rename of both to new names; deleted between \
        samples
        """),
      goal: goal
    ) { bench in
      let value = Payloads(size: size, kinds: 1)[0]
      let cache = try cache(bench, "entries")
      let files = try PairStore(bench.freshFolder("files"))
      let piece = size > 10_000 ? 50 : 1000
      var next = 0
      func keys() -> Range<Int> {
        next += piece
        return next - piece..<next
      }
      return Contest(
        ours: {
          let keys = keys()
          let time = try bench.time(keys.count, loop: .swift) {
            for key in keys { try write(cache, key, value) }
          }
          try cache.removeAll()
          try cache.flush()
          return time
        },
        rival: {
          let keys = keys()
          let time = try bench.time(keys.count, loop: .c) { try files.put(value, under: keys) }
          for key in keys { try files.delete(key) }
          return time
        },
        close: { closeQuietly(cache) })
    }
  }

  static var update: Row {
    Row(
      id: "entry.update",
      ours: """
        EntryCache<Int>.update of one value of 100 B of an entry of two that is there, 1,000 \
        entries in random order; flushed between samples
        """,
      rival: .pairs("open, write, close of one new file and rename over the one that is there"),
      goal: .none
    ) { bench in
      let value = Payloads(size: 100, kinds: 1)[0]
      let cache = try cache(bench, "entries")
      let files = try FileStore(bench.freshFolder("files"))
      let keys = Keys.shuffled(Array(0..<1000))
      for key in keys {
        try cache.setValues([value, value], forKey: key)
        try files.put(value, under: key)
      }
      return Contest(
        ours: {
          let time = try bench.time(keys.count, loop: .swift) {
            for key in keys { try cache.update([1: value], forKey: key) }
          }
          try cache.flush()
          return time
        },
        rival: {
          try bench.time(keys.count, loop: .swift) {
            for key in keys { try files.put(value, under: key) }
          }
        },
        close: { closeQuietly(cache) })
    }
  }
}

extension Rival {
  static func pairs(_ does: String) -> Rival {
    Rival(
      name: "two files",
      settings: "two plain files an entry, as DiskLruCache has them: \(does); in C")
  }
}
