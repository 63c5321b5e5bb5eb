// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("Varints and frames")
struct FrameTests {
  /// Both sides of each step in length, and the ends.
  static let boundaries: [(value: UInt64, size: Int)] =
    [(0, 1), (.max, 10)]
    + (1...9).flatMap { groups in
      let limit = UInt64(1) << (7 * groups)
      return [(limit - 1, groups), (limit, groups + 1)]
    }

  @Test func aVarintTakesOneByteForEverySevenBits() {
    for (value, size) in Self.boundaries {
      #expect(larder_varint_size(value) == size, "\(value)")
      #expect(varint(value).count == size, "\(value)")
    }
  }

  @Test func aVarintHasTheBytesOfProtocolBuffers() {
    #expect(varint(0) == [0x00])
    #expect(varint(127) == [0x7F])
    #expect(varint(128) == [0x80, 0x01])
    #expect(varint(300) == [0xAC, 0x02])
    #expect(varint(.max) == [UInt8](repeating: 0xFF, count: 9) + [0x01])
  }

  @Test func everyVarintReadsBackAndConsumesExactlyItself() {
    var values = Self.boundaries.map(\.value)
    for shift in 0..<64 { values += [1 << UInt64(shift), 0x5555_5555_5555_5555 >> UInt64(shift)] }
    for value in values {
      let bytes = varint(value)
      #expect(readVarint(bytes) == .init(LARDER_OK, value, bytes.count))
      #expect(readVarint(bytes + [0xFF, 0x00]) == .init(LARDER_OK, value, bytes.count))
    }
  }

  @Test func aVarintThatIsCutOffIsIncomplete() {
    #expect(readVarint([]) == .init(LARDER_EINCOMPLETE))
    for (value, size) in Self.boundaries {
      for length in 0..<size {
        #expect(readVarint(Array(varint(value)[..<length])) == .init(LARDER_EINCOMPLETE))
      }
    }
  }

  @Test func aVarintLongerThanNeededIsDamaged() {
    #expect(readVarint([0x80, 0x00]) == .init(LARDER_EDAMAGED))
    #expect(readVarint([0xFF, 0x80, 0x00]) == .init(LARDER_EDAMAGED))
    #expect(readVarint([UInt8](repeating: 0x80, count: 9) + [0x00]) == .init(LARDER_EDAMAGED))
  }

  @Test func aVarintOfMoreThan64BitsIsDamaged() {
    let nine = [UInt8](repeating: 0xFF, count: 9)
    for tenth: UInt8 in [0x02, 0x7F, 0x80, 0x81, 0xFF] {
      #expect(readVarint(nine + [tenth]) == .init(LARDER_EDAMAGED))
      #expect(readVarint(nine + [tenth, 0x00]) == .init(LARDER_EDAMAGED))
    }
  }

  @Test func everyInputOfTwoBytesIsEitherReadAndWrittenBackTheSameOrRefused() {
    for number in 0...UInt16.max {
      let bytes = [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
      let read = readVarint(bytes)
      switch read.status {
      case Int32(LARDER_OK): #expect(varint(read.value) == Array(bytes[..<read.consumed]))
      case Int32(LARDER_EDAMAGED): #expect(bytes[0] >= 0x80 && bytes[1] == 0)
      default: #expect(read.status == Int32(LARDER_EINCOMPLETE) && bytes[1] >= 0x80)
      }
    }
  }

  @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 100_000])
  func aFrameReadsBackItsPayload(length: Int) throws {
    let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
    let size = larder_frame_size(length)
    let frame = try #require(writeFrame(payload, capacity: size + 3))
    #expect(frame.count == size)
    let read = readFrame(frame + [1, 2, 3])
    #expect(read.status == Int32(LARDER_OK))
    #expect(read.payload == payload)
    #expect(read.consumed == size)
  }

  @Test(arguments: [0, 1, 127, 128, 300])
  func aFrameWithoutRoomIsRefusedAndNothingIsWritten(length: Int) {
    let payload = [UInt8](repeating: 0x55, count: length)
    for capacity in 0..<larder_frame_size(length) {
      #expect(writeFrame(payload, capacity: capacity) == nil)
    }
    #expect(writeFrame(payload, capacity: larder_frame_size(length)) != nil)
  }

  @Test func aFrameThatIsCutOffIsIncompleteWhereverItIsCut() throws {
    let frame = try #require(writeFrame([UInt8](repeating: 9, count: 200), capacity: 300))
    for length in 0..<frame.count {
      let read = readFrame(Array(frame[..<length]))
      #expect(read.status == Int32(LARDER_EINCOMPLETE))
      #expect(read.payload == nil)
      #expect(read.consumed == 0)
    }
  }

  @Test func aFrameWithADamagedLengthIsDamagedAndAHugeLengthIsOnlyIncomplete() {
    #expect(readFrame([0x80, 0x00, 0x01]).status == Int32(LARDER_EDAMAGED))
    // Addressing 2^64 - 1 bytes behind the prefix would overflow a pointer.
    #expect(readFrame(varint(.max) + [1, 2, 3]).status == Int32(LARDER_EINCOMPLETE))
  }

  @Test func aFrameSizeThatDoesNotFitIsTheLargestNumber() {
    // Swift imports SIZE_MAX as -1 here.
    #expect(larder_frame_size(-1) == -1)
    #expect(larder_frame_size(-10) == -1)
    #expect(larder_frame_size(-12) == -2)
  }

  // MARK: - The C functions, on arrays

  private struct ReadVarint: Equatable {
    var status: Int32
    var value: UInt64
    var consumed: Int

    init(_ status: Int, _ value: UInt64 = 0, _ consumed: Int = 0) {
      self.status = Int32(status)
      self.value = value
      self.consumed = consumed
    }
  }

  private func varint(_ value: UInt64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 10) { buffer, count in
      count = larder_varint_write(value, buffer.baseAddress!)
    }
  }

  private func readVarint(_ bytes: [UInt8]) -> ReadVarint {
    var result = ReadVarint(0, 1, 1)
    result.status = larder_varint_read(bytes, bytes.count, &result.value, &result.consumed)
    return result
  }

  /// The frame, or nil if it was refused, and then the target is seen to be as it was.
  private func writeFrame(_ payload: [UInt8], capacity: Int) -> [UInt8]? {
    var target = [UInt8](repeating: 0xEE, count: capacity)
    var written = 77
    let status = payload.withUnsafeBytes { bytes in
      larder_frame_write(
        larder_bytes(data: bytes.baseAddress, length: bytes.count), &target, capacity, &written)
    }
    if status == LARDER_OK { return Array(target[..<written]) }
    #expect(status == LARDER_ETOOLARGE)
    #expect(written == 0)
    #expect(target.allSatisfy { $0 == 0xEE })
    return nil
  }

  private func readFrame(_ bytes: [UInt8]) -> (status: Int32, payload: [UInt8]?, consumed: Int) {
    bytes.withUnsafeBufferPointer { buffer in
      var payload = larder_bytes(data: nil, length: 7)
      var consumed = 7
      let status = larder_frame_read(buffer.baseAddress, buffer.count, &payload, &consumed)
      let range = UnsafeRawBufferPointer(start: payload.data, count: payload.length)
      return (status, status == LARDER_OK ? Array(range) : nil, consumed)
    }
  }
}
