// SPDX-License-Identifier: MIT
import CLarder
import CRivals
import Foundation
import LarderCore

// The rows on what comes before the first append.
extension LogArea {
  static var openAppend: Row {
    Row(
      id: "log.open.append",
      ours: """
        MessageLog<Data>.init of an overwriting log full of 100,000 messages of 100 B that was \
        closed, one append, durability .process, and close
        """,
      rival: Rival(
        name: "open, write, close",
        settings:
          "open with O_APPEND of a plain file of the same size, one write(2) of 104 B, close"
      ),
      goal: .ratio(8)
    ) { bench in
      let count = 100_000
      let url = URL(fileURLWithPath: bench.fresh("ring"))
      let capacity = MessageLog<Data>.capacity(forMessages: count, ofSize: payload.count) ?? 0
      func openLog() throws -> MessageLog<Data> {
        try MessageLog(
          at: .url(url), capacity: capacity, whenFull: .overwriteOldest, coder: .data)
      }
      let log = try openLog()
      for _ in 0..<count { try log.append(payload) }
      try log.close()
      let path = bench.fresh("written")
      let frame = Data(count: 4) + payload
      try Data(count: frame.count * count).write(to: URL(fileURLWithPath: path))
      let piece = 10
      return Contest(
        ours: {
          try bench.time(piece, loop: .swift) {
            for _ in 0..<piece {
              let log = try openLog()
              try log.append(payload)
              try log.close()
            }
          }
        },
        rival: {
          try frame.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return .nan }
            return try bench.time(piece, loop: .swift) {
              for _ in 0..<piece { try check(rivals_file_append_one(path, base, bytes.count)) }
            }
          }
        })
    }
  }

  static var create: Row {
    Row(
      id: "log.create",
      ours: """
        MessageLog<Data>.init of a 1 MiB log that is not there, overwriting, and one append of \
        100 B, durability .process; closing is not timed
        """,
      rival: Rival(
        name: "open, fallocate, write",
        settings: """
          open of a file that is not there, posix_fallocate of 1 MiB, one write(2) of 104 B; \
          closing is not timed
          """),
      goal: .ratio(3), effort: Effort(fewest: Effort.judged, most: 101, seconds: 4)
    ) { bench in
      let path = try bench.freshPaths("logs")
      let piece = 5
      let frame = Data(count: 4) + payload
      return Contest(
        ours: {
          let urls = (0..<piece).map { _ in URL(fileURLWithPath: path()) }
          var logs: [MessageLog<Data>] = []
          let time = try bench.time(piece, loop: .none) {
            for url in urls {
              let log = try MessageLog<Data>(
                at: .url(url), capacity: smallCapacity,
                whenFull: .overwriteOldest, coder: .data)
              try log.append(payload)
              logs.append(log)
            }
          }
          for log in logs { try log.close() }
          return time
        },
        rival: {
          let paths = (0..<piece).map { _ in path() }
          var files: [Int32] = []
          defer { files.forEach(rivals_file_close) }
          return try frame.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return .nan }
            return try bench.time(piece, loop: .none) {
              for path in paths {
                let file = rivals_file_create_one(path, smallRing, base, bytes.count)
                if file < 0 { try check(-file) }
                files.append(file)
              }
            }
          }
        })
    }
  }

  static var openKilled: Row {
    Row(
      id: "log.open.killed",
      ours: """
        larder_ring_open of a 1 GiB ring (quick: 64 MiB) full of messages of 100 B whose writer \
        was killed, file in the page cache, the same start of the machine; closing is not timed
        """,
      rival: Rival(name: "ours, closed", settings: "the same ring after its writer closed it"),
      goal: .ratio(3)
    ) { bench in
      let path = bench.fresh("ring")
      let capacity: UInt64 = bench.quick ? 64 << 20 : 1 << 30
      do {
        let ring = try RingFile(path, capacity: capacity, overwrite: true)
        try ring.append(payload, count: Int(capacity) / 110)
      }
      func open(afterKill isKilled: Bool) throws -> Double {
        try OtherWriter(path: path, capacity: capacity, isKilled: isKilled).run()
        var ring: RingFile?
        let time = try bench.time(1, loop: .none) {
          ring = try RingFile(path, capacity: capacity, overwrite: true)
        }
        withExtendedLifetime(ring) {}
        return time
      }
      return Contest(
        ours: { try open(afterKill: true) },
        rival: { try open(afterKill: false) },
        close: { unlink(path) })
    }
  }
}
