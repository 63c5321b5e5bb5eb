// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport

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

  init(_ record: larder_ring_record) {
    sequence = record.sequence
    payload = [UInt8](
      UnsafeRawBufferPointer(start: record.payload.data, count: record.payload.length))
    isPartial = record.flags & UInt32(LARDER_MESSAGE_PARTIAL) != 0
    lost = record.lost
  }

  /// Whether it is what `payload(_:_:)` made for its number.
  var isRight: Bool { payload == CLarderTests.payload(sequence, payload.count) }

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

/// What message `sequence` of `length` bytes, up to 128 KiB, holds in these tests.
func payload(_ sequence: UInt64, _ length: Int) -> [UInt8] {
  let start = Int((sequence &* 7919) % (1 << 17))
  return Array(noise[start..<start + length])
}

/// The smallest capacity whose data has `bytes` bytes.
func capacity(data bytes: UInt64, slots: UInt32 = 8) -> UInt64 {
  larder_ring_minimum_capacity(slots) - 16 + bytes
}

/// What a record of a message of `length` bytes takes.
func recordBytes(_ length: Int) -> Int { (16 + length + 7) / 8 * 8 }

extension URL {
  /// All bytes of the file.
  func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: self)) }

  /// Writes into the file as it is: its inode stays, and what has it mapped sees it.
  func patch(_ bytes: [UInt8], at offset: Int = 0) throws {
    let file = try FileHandle(forUpdating: self)
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  /// Turns bits of one byte round.
  func flip(at offset: Int, _ bits: UInt8 = 0xFF) throws {
    let file = try FileHandle(forUpdating: self)
    try file.seek(toOffset: UInt64(offset))
    let old = try file.read(upToCount: 1) ?? Data([0])
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data([old[old.startIndex] ^ bits]))
    try file.close()
  }

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

extension [UInt8] {
  /// What `closed_crc` is while the file is closed.
  var closedChecksum: UInt32 {
    var covered = Array(self[64..<320])
    covered.set(UInt32(0), at: 60)
    return Swift.max(covered.crc(0..<256), 1)
  }

  /// The little-endian integer at `offset`.
  func integer<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
    withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
  }

  /// Puts a little-endian integer at `offset`.
  mutating func set<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    Swift.withUnsafeBytes(of: value.littleEndian) { bytes in
      replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
  }

  /// The CRC of a part, going on from `seed`.
  func crc(_ range: Range<Int>, seed: UInt32 = 0) -> UInt32 {
    withUnsafeBytes { larder_crc32c(seed, $0.baseAddress! + range.lowerBound, range.count) }
  }

  /// Puts the checksum of the fixed header at `offset` right.
  mutating func sealFixed(at offset: Int = 0) { set(crc(offset..<offset + 60), at: offset + 60) }
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
