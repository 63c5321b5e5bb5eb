// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Synchronization

/// A status other than LARDER_OK.
struct RingFailure: Error, Equatable, CustomStringConvertible {
  let status: Int

  var description: String { "\(status): \(String(cString: larder_strerror(Int32(status))))" }
}

/// Throws what is not LARDER_OK.
func check(_ status: larder_status) throws {
  if status != 0 { throw RingFailure(status: Int(status)) }
}

/// The status that `body` fails with; LARDER_OK if it does not.
func status<R>(of body: () throws -> R) -> Int {
  do {
    _ = try body()
    return LARDER_OK
  } catch {
    return (error as? RingFailure)?.status ?? Int.min
  }
}

/// One message as read.
struct RingMessage: Equatable, CustomStringConvertible {
  var sequence: UInt64
  var payload: [UInt8]
  var isPartial = false
  var lost: UInt64 = 0
  /// Nanoseconds since 1970; 0 if it has none.
  var time: Int64 = 0

  init(_ record: larder_ring_record) {
    sequence = record.sequence
    payload = [UInt8](
      UnsafeRawBufferPointer(start: record.payload.data, count: record.payload.length))
    isPartial = record.flags & UInt32(LARDER_MESSAGE_PARTIAL) != 0
    lost = record.lost
    time = record.time_ns
  }

  /// Whether it is what `payload(_:_:)` made for its number.
  var isRight: Bool {
    let start = CLarderTests.start(sequence)
    guard payload.count > 0 else { return true }
    guard start + payload.count <= noise.count else { return false }
    // Unoptimised, arrays are compared one byte after the other.
    return payload.withUnsafeBytes { payload in
      noise.withUnsafeBytes {
        memcmp(payload.baseAddress!, $0.baseAddress! + start, payload.count) == 0
      }
    }
  }

  var description: String { "\(sequence) (\(payload.count) bytes, \(lost) lost)" }
}

extension [RingMessage] {
  /// Whether each is what `payload(_:_:)` made for its number.
  var areRight: Bool { allSatisfy { $0.isRight } }
}

private let noise: [UInt8] = {
  var generator = SeededGenerator(seed: 20)
  return [UInt8](generator.bytes(1 << 18))
}()

private func start(_ sequence: UInt64) -> Int { Int((sequence &* 7919) % (1 << 17)) }

/// What message `sequence` of `length` bytes, up to 128 KiB, holds in these tests.
func payload(_ sequence: UInt64, _ length: Int) -> [UInt8] {
  Array(noise[start(sequence)..<start(sequence) + length])
}

/// The smallest capacity whose data has `bytes` bytes.
func capacity(data bytes: UInt64, slots: UInt32 = 8) -> UInt64 {
  larder_ring_minimum_capacity(slots) - 16 + bytes
}

/// What a record of a message of `length` bytes takes.
func recordBytes(_ length: Int) -> Int { (16 + length + 7) / 8 * 8 }

/// The clock of rings that keep times, which does not move by itself. It has to outlive them.
final class RingClock: @unchecked Sendable {
  private let value: Atomic<Int64>

  init(_ now: Int64) { value = Atomic(now) }

  var now: Int64 {
    get { value.load(ordering: .relaxed) }
    set { value.store(newValue, ordering: .relaxed) }
  }

  func set(in options: inout larder_ring_options) {
    options.clock = { context in
      guard let context else { return 0 }
      return Unmanaged<RingClock>.fromOpaque(context).takeUnretainedValue().now
    }
    options.clock_context = Unmanaged.passUnretained(self).toOpaque()
  }
}

extension URL {
  /// A new file with these bytes, and so another inode than any ring was written to.
  func create(_ bytes: [UInt8]) throws {
    try? FileManager.default.removeItem(at: self)  // It need not be there.
    try Data(bytes).write(to: self)
  }

  /// The file that these bytes are of, as another boot finds it.
  func create(inAnotherBoot bytes: [UInt8]) throws {
    try create(bytes)
    var facts = stat()
    guard stat(path, &facts) == 0 else { throw CocoaError(.fileReadUnknown) }
    var bytes = bytes
    let isClosed = bytes.closedChecksum == bytes.integer(at: 124)
    // Zeros are what a power cut before the first sync leaves.
    if bytes.integer(at: 168, as: UInt64.self) != 0 {
      bytes.set(UInt64(facts.st_dev), at: 160)
      bytes.set(UInt64(facts.st_ino), at: 168)
      bytes[176] ^= 0xFF
    }
    if isClosed { bytes.set(bytes.closedChecksum, at: 124) }
    try patch(bytes)
  }
}

/// Runs `body` on `count` threads of their own at once, and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    Thread {
      body(index)
      group.leave()
    }.start()
  }
  group.wait()
}
