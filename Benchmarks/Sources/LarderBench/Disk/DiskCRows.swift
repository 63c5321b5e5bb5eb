// SPDX-License-Identifier: MIT
import CLarderStore
import CRivals
import Foundation

// The rows of the C store, without Swift in the loop.
extension DiskArea {
  static var setC: Row {
    Row(
      id: "disk.set.c",
      ours: """
        larder_store_put, keys and values of 8 B, process-durable, defaults: of 200,000 keys that \
        are there, 20,000 at a time in random order, C loop; \(Bench.timing(false))
        """,
      rival: Rival(
        name: "ring append",
        settings: """
          larder_ring_append of 64 B, as many as such a record has, to a 1 MiB overwriting ring, \
          the same C loop: what the log alone would take
          """),
      goal: .none
    ) { bench in
      let keys = Keys.integers(count)
      let store = try StoreFile(bench.freshFolder("store"), keys: keys)
      let ring = try RingFile(bench.fresh("ring"), capacity: LogArea.smallRing, overwrite: true)
      let order = Keys.shuffled(keys)
      let ourRounds = Rounds(writing: order, size: piece)
      let theirRounds = Rounds(writing: order, size: piece)
      return Contest(
        ours: {
          let time = try ourRounds.sample { keys in
            (0, try bench.time(keys.count, loop: .c) { try store.put(keys) })
          }
          try store.flush()
          return time
        },
        rival: {
          try theirRounds.sample { keys in
            (
              0,
              try bench.time(keys.count, loop: .c) {
                try keys.asInt64s { try check(rivals_loop_ring_entries(ring.ring, $0, $1)) }
              }
            )
          }
        })
    }
  }

  static var getC: Row {
    Row(
      id: "disk.get.c",
      ours: """
        larder_store_get and larder_store_release, 100,000 entries of 8 B, flushed, warm, in \
        random order, C loop
        """,
      rival: .lmdb(", the same keys in the same order"), goal: .none
    ) { bench in
      let keys = Keys.integers(readCount)
      let store = try StoreFile(bench.freshFolder("store"), keys: keys)
      let theirs = try LMDBStore(bench.freshFolder("lmdb"), keys: keys)
      let order = Keys.shuffled(keys)
      let ourRounds = Rounds(reading: order, size: piece)
      let theirRounds = Rounds(reading: order, size: piece)
      return Contest(
        ours: {
          try ourRounds.warmUp { consume(try store.sum(of: $0)) }
          return try ourRounds.sample { keys in
            var found = 0
            let time = try bench.time(keys.count, loop: .c) { found = try store.sum(of: keys) }
            return (found, time)
          }
        },
        rival: { try bench.read(theirRounds, in: theirs) })
    }
  }
}

/// A store of the C core, and the loops over it. Closed when the last reference goes.
private final class StoreFile {
  private let store: OpaquePointer

  /// A new one with these keys, all of them in LMDB.
  init(_ path: String, keys: [Int]) throws {
    var opened: OpaquePointer?
    try check(larder_store_open(path, nil, nil, &opened))
    guard let opened else { throw Failure(description: "no store") }
    store = opened
    try keys.withUnsafeBufferPointer { try put($0) }
    try flush()
  }

  deinit { larder_store_close(store) }

  func put(_ keys: UnsafeBufferPointer<Int>) throws {
    try keys.asInt64s { try check(rivals_loop_store_put(store, $0, $1, 0)) }
  }

  func flush() throws { try check(larder_store_flush(store)) }

  func sum(of keys: UnsafeBufferPointer<Int>) throws -> Int {
    var sum: Int64 = 0
    try keys.asInt64s { try check(rivals_loop_store_get(store, $0, $1, &sum)) }
    return Int(sum)
  }
}
