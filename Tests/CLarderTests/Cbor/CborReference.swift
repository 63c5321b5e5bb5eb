// SPDX-License-Identifier: MIT
import CLarder

/// What the C functions have to say, found in the simplest way: by a function
/// that calls itself, with a set for the keys, and no thought of speed.
struct CborReference {
  /// Why it went no further.
  struct Fault: Error {
    var fault: larder_cbor_fault
    var offset: Int
  }

  /// Equal for keys that are equal.
  enum Key: Hashable {
    case integer(major: UInt8, UInt64)
    case string(major: UInt8, [UInt8])
    case other([UInt8])
  }

  private let bytes: [UInt8]
  private let depth: Int
  /// Without it, only what the end of an item depends on is looked at.
  private let isFull: Bool
  private var at = 0

  static func verdict(_ bytes: [UInt8], depth: Int) -> CborVerdict {
    var reference = CborReference(bytes, depth: depth, isFull: true)
    do {
      _ = try reference.item(level: 0)
      if reference.at < bytes.count {
        throw Fault(fault: LARDER_CBOR_TRAILING, offset: reference.at)
      }
      return .good
    } catch {
      let fault = error as! Fault
      return CborVerdict(fault.fault, at: fault.offset)
    }
  }

  static func end(_ bytes: [UInt8], at offset: Int = 0) -> CborEnd {
    var reference = CborReference(
      bytes, depth: Int(LARDER_CBOR_MAX_DEPTH), isFull: false, at: offset)
    do {
      _ = try reference.item(level: 0)
      return CborEnd(status: 0, end: reference.at)
    } catch {
      return CborEnd(status: CborVerdict((error as! Fault).fault, at: 0).status, end: 0)
    }
  }

  static func pairs(_ bytes: [UInt8], at offset: Int = 0) -> CborPairs {
    var reference = CborReference(
      bytes, depth: Int(LARDER_CBOR_MAX_DEPTH), isFull: false, at: offset)
    do {
      let head = try reference.head()
      guard head.major == 5 else { return CborPairs(status: Int32(LARDER_EDAMAGED)) }
      let pairs = try reference.pairs(start: offset, head, level: 1)
      return CborPairs(status: 0, pairs: pairs, end: reference.at)
    } catch {
      return CborPairs(status: CborVerdict((error as! Fault).fault, at: 0).status)
    }
  }

  private init(_ bytes: [UInt8], depth: Int, isFull: Bool, at: Int = 0) {
    self.bytes = bytes
    self.depth = depth
    self.isFull = isFull
    self.at = at
  }

  private typealias Head = (major: UInt8, info: UInt8, argument: UInt64)

  private mutating func head() throws -> Head {
    let start = at
    guard start < bytes.count else { throw Fault(fault: LARDER_CBOR_CUT_OFF, offset: start) }
    let (major, info) = (bytes[start] >> 5, bytes[start] & 31)
    at += 1
    switch info {
    case 0..<24: return (major, info, UInt64(info))
    case 24...27:
      var argument: UInt64 = 0
      for _ in 0..<(1 << Int(info - 24)) {
        guard at < bytes.count else { throw Fault(fault: LARDER_CBOR_CUT_OFF, offset: start) }
        argument = argument << 8 | UInt64(bytes[at])
        at += 1
      }
      return (major, info, argument)
    case 31 where (2...5).contains(major) || major == 7: return (major, info, 0)
    default: throw Fault(fault: LARDER_CBOR_RESERVED, offset: start)
    }
  }

  /// Reads an item. `level` is how many enclose it.
  private mutating func item(level: Int) throws -> Key {
    let start = at
    let head = try head()
    switch head.major {
    case 0, 1: return .integer(major: head.major, head.argument)
    case 2, 3: return .string(major: head.major, try string(start: start, head))
    case 4:
      try count(start: start, head, each: 1, level: level)
      if head.info == 31 {
        while try !isBreak() { _ = try item(level: level + 1) }
      } else {
        for _ in 0..<head.argument { _ = try item(level: level + 1) }
      }
    case 5: _ = try pairs(start: start, head, level: level + 1)
    case 6:
      try count(start: start, (6, 1, 0), each: 1, level: level)
      _ = try item(level: level + 1)
    default:
      if head.info == 31 { throw Fault(fault: LARDER_CBOR_STRAY_BREAK, offset: start) }
      if head.info == 24 && head.argument < 32 {
        throw Fault(fault: LARDER_CBOR_BAD_SIMPLE, offset: start)
      }
    }
    return .other(Array(bytes[start..<at]))
  }

  private mutating func string(start: Int, _ head: Head) throws -> [UInt8] {
    if head.info != 31 { return try content(start: start, head) }
    var whole: [UInt8] = []
    while try !isBreak() {
      let chunk = at
      if chunk < bytes.count, bytes[chunk] >> 5 != head.major || bytes[chunk] & 31 == 31 {
        throw Fault(fault: LARDER_CBOR_BAD_CHUNK, offset: chunk)
      }
      whole += try content(start: chunk, self.head())
    }
    return whole
  }

  private mutating func content(start: Int, _ head: Head) throws -> [UInt8] {
    guard head.argument <= UInt64(bytes.count - at) else {
      throw Fault(fault: LARDER_CBOR_CUT_OFF, offset: start)
    }
    let content = Array(bytes[at..<at + Int(head.argument)])
    if isFull && head.major == 3 && String(validating: content, as: UTF8.self) == nil {
      // A prefix that ends inside of a sequence is not good either.
      let good = (0..<content.count).last {
        String(validating: content[..<$0], as: UTF8.self) != nil
      }
      throw Fault(fault: LARDER_CBOR_BAD_UTF8, offset: at + good!)
    }
    at += content.count
    return content
  }

  private mutating func pairs(start: Int, _ head: Head, level: Int) throws -> [[Int]] {
    try count(start: start, head, each: 2, level: level - 1)
    var pairs: [[Int]] = []
    var keys: [(key: Key, offset: Int)] = []
    while try head.info == 31 ? !isBreak() : UInt64(pairs.count) < head.argument {
      let offset = at
      keys.append((try item(level: level), offset))
      pairs.append([offset, at])
      _ = try item(level: level)
    }
    var seen: Set<Key> = []
    if isFull, let again = keys.first(where: { !seen.insert($0.key).inserted }) {
      throw Fault(fault: LARDER_CBOR_DUPLICATE_KEY, offset: again.offset)
    }
    return pairs
  }

  /// Whether so many items can follow, and on one level more.
  private func count(start: Int, _ head: Head, each: UInt64, level: Int) throws {
    if head.info != 31 && head.argument > UInt64(bytes.count - at) / each {
      throw Fault(fault: LARDER_CBOR_CUT_OFF, offset: start)
    }
    if level == depth { throw Fault(fault: LARDER_CBOR_TOO_DEEP, offset: start) }
  }

  private mutating func isBreak() throws -> Bool {
    guard at < bytes.count, bytes[at] == 0xFF else { return false }
    at += 1
    return true
  }
}
