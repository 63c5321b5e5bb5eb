// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that write entries.
extension EntryArea {
  /// Both values of an entry by an editor.
  static func commit(_ id: String, size: Int, flushes: Bool = true, goal: Goal) -> Row {
    writes(
      id, size: size, flushes: flushes, does: "edit, set of both values and commit", goal: goal
    ) { cache, key, value in
      guard let editor = try cache.edit(key) else {
        throw Failure(description: "an entry cannot be edited")
      }
      try editor.set(value, at: 0)
      try editor.set(value, at: 1)
      try editor.commit()
    }
  }

  static func set(_ id: String, flushes: Bool) -> Row {
    writes(id, size: 100, flushes: flushes, does: "setValues", goal: .none) { cache, key, value in
      try cache.setValues([value, value], forKey: key)
    }
  }

  private static func writes(
    _ id: String, size: Int, flushes: Bool, does: String, goal: Goal,
    _ write: @escaping (EntryCache<Int>, Int, Data) throws -> Void
  ) -> Row {
    Row(
      id: id,
      ours: """
        EntryCache<Int>, 2 values of \(size) B, process-durable, defaults: \(does), of new keys; \
        \(Bench.timing(flushes))
        """,
      rival: .pairs("open, write, close of two new files, then rename of both to new names"),
      goal: goal
    ) { bench in
      let value = Payloads(size: size, kinds: 1)[0]
      let cache = try cache(bench, id)
      // Nothing is deleted before the end: that would slow the file system down for seconds.
      let files = try PairStore(bench.freshFolder(id + ".files"))
      let piece = size > 10_000 ? 20 : 500
      var (ourNext, theirNext) = (0, 0)
      return Contest(
        ours: {
          ourNext += piece
          return try bench.time(piece, loop: .swift, flushes: flushes) {
            for key in ourNext - piece..<ourNext { try write(cache, key, value) }
          } flush: {
            try cache.checkpoint()
          }
        },
        rival: {
          theirNext += piece
          return try bench.time(piece, loop: .c) {
            try files.put(value, under: theirNext - piece..<theirNext)
          }
        },
        close: { closeQuietly(cache) })
    }
  }

  static var update: Row {
    Row(
      id: "entry.update",
      ours: """
        EntryCache<Int>.update of one value of 100 B of an entry of two that is there, 1,000 \
        entries in random order; \(Bench.timing(true))
        """,
      rival: .pairs(
        """
        open, write, close of one new file and rename over the one that is there, which some file \
        systems answer by writing the new one to the device
        """),
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
          try bench.time(keys.count, loop: .swift) {
            for key in keys { try cache.update([1: value], forKey: key) }
            try cache.checkpoint()
          }
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
