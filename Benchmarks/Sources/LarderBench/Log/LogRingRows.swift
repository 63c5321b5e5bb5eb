// SPDX-License-Identifier: MIT
import CLarder
import CRivals
import Foundation

// The rows of the C ring, without Swift in the loop.
extension LogArea {
  static var appendC: Row {
    Row(
      id: "log.append.c", ours: "larder_ring_append, 100 B, 1 MiB overwriting ring, C loop",
      rival: Rival(
        name: "bare store",
        settings: """
          length + memcpy + one release store of the end, 1 MiB file reserved and mapped the same \
          way, the same C loop; no lock, checksum or sequence number
          """),
      goal: .ratio(4)
    ) { bench in
      let ring = try RingFile(bench.fresh("ring"), capacity: smallRing, overwrite: true)
      let bare = try BareFile(bench.fresh("bare"), capacity: smallRing)
      let count = 40_000
      let stores = 200_000
      return Contest(
        ours: {
          try ring.append(payload, count: oneLap)
          return try bench.time(count, loop: .c) { try ring.append(payload, count: count) }
        },
        rival: {
          try bare.append(payload, count: oneLap)
          return try bench.time(stores, loop: .c) { try bare.append(payload, count: stores) }
        })
    }
  }

  static var appendFill: Row {
    Row(
      id: "log.append.fill",
      ours: """
        larder_ring_append until a new 100 MB ring is full, 100 B, refusing ring; creating, \
        reserving and mapping the file is inside the time, closing is not
        """,
      rival: Rival(
        name: "bare store",
        settings: """
          the same number of messages into a new file of the same size; creating, reserving with \
          posix_fallocate and mapping inside the time, unmapping not
          """),
      goal: .ratio(1.5)
    ) { bench in
      let slots = UInt32(LARDER_RING_DEFAULT_CURSOR_SLOTS)
      let count = 833_000
      let capacity = larder_ring_capacity_for(UInt64(count), payload.count, slots)
      return Contest(
        ours: {
          let path = bench.fresh("ring")
          var ring: RingFile?
          let time = try bench.time(count, loop: .c) {
            ring = try RingFile(path, capacity: capacity, overwrite: false)
            try ring?.append(payload, count: count)
          }
          ring?.forget(capacity: capacity)
          ring = nil
          unlink(path)
          return time
        },
        rival: {
          let path = bench.fresh("bare")
          var bare: BareFile?
          let time = try bench.time(count, loop: .c) {
            bare = try BareFile(path, capacity: capacity)
            try bare?.append(payload, count: count)
          }
          rivals_file_forget(path, 0, capacity)
          bare = nil
          unlink(path)
          return time
        })
    }
  }

  static var appendTwoThreads: Row {
    Row(
      id: "log.append.2threads",
      ours: "two threads, one ring, larder_ring_append, 100 B, 1 MiB overwriting ring; wall time",
      rival: Rival(
        name: "ours, one thread", settings: "the same number of messages in all, on one thread"),
      goal: .ratio(1)
    ) { bench in
      let ring = try RingFile(bench.fresh("ring"), capacity: smallRing, overwrite: true)
      let count = 400_000  // Long enough that who starts or ends first does not matter.
      func run(threads: Int) throws -> Double {
        let elapsed = try ring.append(
          payload, count: count / threads, threads: threads, synced: false)
        return bench.perOperation(elapsed, count, loop: .c, threads: threads)
      }
      return Contest(ours: { try run(threads: 2) }, rival: { try run(threads: 1) })
    }
  }

  static var appendPower: Row {
    Row(
      id: "log.append.power",
      ours: "larder_ring_append_synced, 100 B, 1 MiB overwriting ring",
      rival: Rival(
        name: "write + fdatasync",
        settings: """
          104 B a write(2) over the bytes of a 1 MiB file, round and round, fdatasync(2) after each
          """),
      goal: .ratio(1.1)
    ) { bench in
      let ring = try RingFile(bench.fresh("ring"), capacity: smallRing, overwrite: true)
      let file = try WrittenFile(bench.fresh("written"), message: payload)
      let count = 60
      return Contest(
        ours: { try bench.time(count, loop: .c) { try ring.appendSynced(payload, count: count) } },
        rival: {
          try bench.time(count, loop: .c) { try file.append(count: count, synced: true) }
        })
    }
  }

  static var appendPowerEightThreads: Row {
    Row(
      id: "log.append.power.8threads",
      ours: "eight threads, one ring, larder_ring_append_synced, 100 B: group commit; wall time",
      rival: Rival(
        name: "ours, one thread", settings: "larder_ring_append_synced on one thread"),
      goal: .ratio(0.3)
    ) { bench in
      let ring = try RingFile(bench.fresh("ring"), capacity: smallRing, overwrite: true)
      func run(threads: Int, count: Int) throws -> Double {
        let elapsed = try ring.append(
          payload, count: count / threads, threads: threads, synced: true)
        return bench.perOperation(elapsed, count, loop: .c, threads: threads)
      }
      return Contest(
        ours: { try run(threads: 8, count: 160) }, rival: { try run(threads: 1, count: 60) })
    }
  }

  static var open: Row {
    Row(
      id: "log.open",
      ours: """
        larder_ring_open of a 100 MiB ring with 1 M messages of 88 B that was closed, file in the \
        page cache; closing is not timed
        """,
      rival: nil, goal: .nanoseconds(1e6)
    ) { bench in
      let path = bench.fresh("ring")
      let capacity: UInt64 = 100 << 20
      do {
        let ring = try RingFile(path, capacity: capacity, overwrite: false)
        try ring.append(payload.prefix(88), count: 1_000_000)
      }
      return Contest(
        ours: {
          var ring: RingFile?
          let time = try bench.time(1, loop: .none) {
            ring = try RingFile(path, capacity: capacity, overwrite: false)
          }
          guard let ring else { return .nan }
          var statistics = larder_ring_statistics()
          try check(larder_ring_statistics_get(ring.ring, &statistics))
          guard statistics.count == 1_000_000 else {
            throw Failure(description: "\(statistics.count) messages instead of 1,000,000")
          }
          return time
        },
        close: { unlink(path) })
    }
  }

  static var allocations: Row {
    Row(
      id: "log.append.allocations",
      ours: "calls of malloc and its kin during larder_ring_append, 100 B, 1 MiB overwriting ring",
      rival: rivals_allocations_countable()
        ? nil : Rival(name: "–", settings: "–", absence: "malloc cannot be counted here"),
      goal: .count(0, of: "allocations"), isExact: true
    ) { bench in
      let ring = try RingFile(bench.fresh("ring"), capacity: smallRing, overwrite: true)
      let count = 100_000
      return Contest(ours: {
        guard rivals_allocations_countable() else { return .nan }
        rivals_allocations_start()
        let result = Result { try ring.append(payload, count: count) }
        let allocations = rivals_allocations_stop()
        try result.get()
        return Double(allocations) / Double(count)
      })
    }
  }
}
