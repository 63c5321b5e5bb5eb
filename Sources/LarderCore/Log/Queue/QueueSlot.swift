// SPDX-License-Identifier: MIT

import CLarder

/// What the file of a queue says of one message, in 16 bytes: see "File formats".
struct QueueSlot: Equatable {
  enum State: UInt8 {
    case pending = 1
    case done, dead
  }

  static let size = 16

  let sequence: UInt64
  let state: State
  let attempts: UInt32

  init(_ sequence: UInt64, _ state: State, attempts: UInt32) {
    self.sequence = sequence
    self.state = state
    self.attempts = attempts
  }

  func bytes(seed: UInt32) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.size)
    bytes.store(sequence | UInt64(state.rawValue) << 56, at: 0)
    bytes.store(attempts, at: 8)
    bytes.store(bytes.checksum(0..<12, from: seed), at: 12)
    return bytes
  }

  /// nil if there is none, or it is damaged.
  init?(_ bytes: ArraySlice<UInt8>, seed: UInt32) {
    let bytes = Array(bytes)
    guard bytes.count == Self.size,
      bytes.load(at: 12, as: UInt32.self) == bytes.checksum(0..<12, from: seed)
    else { return nil }
    let word = bytes.load(at: 0, as: UInt64.self)
    let sequence = word & (1 << 56 - 1)
    guard let state = State(rawValue: UInt8(word >> 56)), sequence > 0 else { return nil }
    self.init(sequence, state, attempts: bytes.load(at: 8, as: UInt32.self))
  }
}

/// What the file of a queue begins with, in 64 bytes.
struct QueueHeader: Equatable {
  enum Verdict {
    case intact(QueueHeader)
    case damaged, foreign
    case unknownVersion(UInt32)
  }

  static let size = 64
  static let magic = Array("LARDQUEU".utf8)
  static let version: UInt32 = 1
  static let windows = 1...65_536

  /// How many slots follow.
  let window: UInt32
  /// When the log was created, which tells one log from another.
  let logCreated: Int64
  let name: String

  var bytes: [UInt8] {
    var bytes = Self.magic + [UInt8](repeating: 0, count: Self.size - 8)
    bytes.store(Self.version, at: 8)
    bytes.store(window, at: 12)
    bytes.store(logCreated, at: 16)
    bytes.replaceSubrange(24..<24 + name.utf8.count, with: name.utf8)
    bytes.store(bytes.checksum(0..<60, from: 0), at: 60)
    return bytes
  }

  /// Continues in the checksum of every slot.
  var checksum: UInt32 { bytes.load(at: 60, as: UInt32.self) }

  init(window: UInt32, logCreated: Int64, name: String) {
    self.window = window
    self.logCreated = logCreated
    self.name = name
  }

  static func read(_ bytes: [UInt8]) -> Verdict {
    let hasMagic = bytes.prefix(8) == magic[...]
    // Zeros over its beginning, or that alone, or all but that as its checksum says: it was one of
    // ours.
    guard bytes.count >= size,
      bytes.load(at: 60, as: UInt32.self) == (magic + bytes.dropFirst(8)).checksum(0..<60, from: 0)
    else {
      let isOurs = magic.starts(with: bytes.prefix(8)) || bytes.prefix(8).allSatisfy { $0 == 0 }
      return isOurs ? .damaged : .foreign
    }
    guard hasMagic else { return .damaged }
    let found = bytes.load(at: 8, as: UInt32.self)
    if found != version { return .unknownVersion(found) }
    let window = bytes.load(at: 12, as: UInt32.self)
    guard windows.contains(Int(window)) else { return .damaged }
    let name = String(decoding: bytes[24..<56].prefix { $0 != 0 }, as: UTF8.self)
    return .intact(
      QueueHeader(window: window, logCreated: bytes.load(at: 16, as: Int64.self), name: name))
  }
}

extension [UInt8] {
  /// A little-endian number.
  func load<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
    withUnsafeBytes {
      Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
  }

  mutating func store(_ number: some FixedWidthInteger, at offset: Int) {
    Swift.withUnsafeBytes(of: number.littleEndian) { bytes in
      replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
  }

  fileprivate func checksum(_ range: Range<Int>, from seed: UInt32) -> UInt32 {
    withUnsafeBytes { bytes in
      larder_crc32c(seed, bytes.baseAddress.map { $0 + range.lowerBound }, range.count)
    }
  }
}
