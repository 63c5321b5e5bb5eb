// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: several threads")
struct RingConcurrencyTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  /// Messages hold the thread and its count, and as many bytes more as that says.
  private static func message(_ thread: Int, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: UInt8(thread), count: 8 + count % 50)
    bytes.set(UInt32(count), at: 4)
    return bytes
  }

  @Test(arguments: [UInt64(3000), 4_000_000], [false, true])
  func fourThreadsAppendAndOneReads(data: UInt64, readOnly: Bool) throws {
    let each = 4000
    let ring = try Ring(url, data: data)
    let reading = try readOnly ? Ring(reading: url) : ring
    let failures = Locked<[String]>([])
    let seen = Locked<UInt64>(0)
    onThreads(5) { thread in
      do {
        if thread < 4 {
          for count in 1...each { try ring.append(Self.message(thread, count)) }
          return
        }
        let reader = try RingReader(reading)
        var last: UInt64 = 0
        var counts = [UInt32](repeating: 0, count: 4)
        while last < UInt64(4 * each) {
          guard let message = try reader.next() else {
            try check(larder_ring_wait(reading.raw, last, -1))
            continue
          }
          let writer = Int(message.payload[0])
          let count: UInt32 = message.payload.integer(at: 4)
          if message.payload != Self.message(writer, Int(count)) || count <= counts[writer]
            || message.sequence <= last
            || message.lost != (last == 0 ? 0 : message.sequence - last - 1)
          {
            throw RingFailure(status: LARDER_EDAMAGED)
          }
          counts[writer] = count
          last = message.sequence
          seen.withLock { $0 += 1 }
        }
      } catch {
        failures.withLock { $0.append("thread \(thread): \(error)") }
      }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try ring.statistics.next_sequence == UInt64(4 * each) + 1)
    if data > 3000 { #expect(seen.withLock { $0 } == UInt64(4 * each)) }
    #expect(ring.isSound)
  }

  @Test func aShutdownAmidAppendsGivesOnlyClosedAndKeepsEveryMessageThatWasConfirmed() throws {
    for _ in 0..<20 {
      try? FileManager.default.removeItem(at: url)  // It need not be there.
      let ring = try Ring(url, data: 4_000_000, syncInterval: 1_000_000)
      let statuses = Locked<Set<Int>>([])
      let confirmed = Locked<UInt64>(0)
      onThreads(4) { thread in
        for count in 1... {
          if thread == 3 && count == 100 {
            let status = larder_ring_shutdown(ring.raw)
            if status != LARDER_OK { statuses.withLock { _ = $0.insert(Int(status)) } }
          }
          var sequence: UInt64 = 0
          let message = Self.message(thread, count)
          let status =
            thread == 2 && count % 16 == 0
            ? larder_ring_append_synced(ring.raw, message, message.count, &sequence)
            : larder_ring_append(ring.raw, message, message.count, &sequence)
          if sequence > 0 { confirmed.withLock { $0 = max($0, sequence) } }
          if status != LARDER_OK {
            statuses.withLock { _ = $0.insert(Int(status)) }
            break
          }
        }
      }
      #expect(statuses.withLock { $0 } == [LARDER_ECLOSED])
      ring.close()
      let again = try Ring(url)
      #expect(try again.recovery.was_closed == 1)
      #expect(try again.statistics.newest_sequence == confirmed.withLock { $0 })
      #expect(again.isSound)
    }
  }

  @Test func batchesAndReservationsOfSeveralThreadsDoNotMix() throws {
    let ring = try Ring(url, data: 200_000)
    let failures = Locked<[Int32]>([])
    onThreads(3) { thread in
      for count in 1...300 {
        let bytes = Self.message(thread, count)
        var status: larder_status = 0
        if thread == 0 {
          var reservation = larder_reservation()
          status = larder_ring_reserve(ring.raw, 100, &reservation)
          if status == LARDER_OK {
            reservation.bytes?.copyMemory(from: bytes, byteCount: bytes.count)
            status = larder_ring_commit(ring.raw, &reservation, bytes.count, 0, nil)
          }
        } else {
          bytes.withUnsafeBytes { buffer in
            let payload = larder_bytes(data: buffer.baseAddress, length: buffer.count)
            let messages = [larder_message](
              repeating: larder_message(payload: payload, flags: 0), count: 3)
            status = larder_ring_append_batch(ring.raw, messages, 3, nil, nil)
          }
        }
        if status != LARDER_OK { failures.withLock { $0.append(status) } }
      }
    }
    #expect(failures.withLock { $0 } == [])
    let payloads = try ring.messages.map(\.payload)
    #expect(payloads.count == 300 + 2 * 900)
    var index = 0
    while index < payloads.count {
      let size = payloads[index][0] == 0 ? 1 : 3
      if !payloads[index..<index + size].allSatisfy({ $0 == payloads[index] }) {
        Issue.record("a batch at \(index) is torn apart")
        return
      }
      index += size
    }
    #expect(ring.isSound)
  }
}
