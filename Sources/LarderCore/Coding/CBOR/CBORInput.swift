// SPDX-License-Identifier: MIT

import CLarder
import Foundation

// How bytes become values.
//
// The whole input is checked once, in C: one well-formed item and nothing else, no key twice, all
// text UTF-8, not too deep. What a type then asks for is found at an offset in place; nothing is
// built in between. Types mostly ask for keys in the order in which they wrote them, so a map
// remembers where it stands and compares its next key first.
//
// Every read is held to the bounds of the input all the same: a container that a type keeps finds
// an input of no bytes.

/// The bytes that are being decoded.
///
/// Belongs to one call of `decode`, and so to one thread.
final class CBORInput {
  private(set) var options: CBOROptions<CBORDecoder.Options>
  /// Whether keys are read as they are.
  private(set) var hasPlainKeys: Bool
  private(set) var bytes: UnsafePointer<UInt8>?
  private(set) var count: Int

  /// Containers that were read to their end, the outer ones first: where each begins, and where it
  /// ends or, as a complement, where its last value begins.
  private var ended: ContiguousArray<(container: Int, end: Int)> = []

  init(_ bytes: UnsafeRawBufferPointer, _ options: CBOROptions<CBORDecoder.Options>) {
    self.options = options
    hasPlainKeys = options.values.hasPlainKeys
    self.bytes = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    count = bytes.count
  }

  /// One input that is not in use.
  private static let spare = Spare<CBORInput>()

  /// The spare input, or a new one.
  static func take(_ bytes: UnsafeRawBufferPointer, _ options: CBOROptions<CBORDecoder.Options>)
    -> CBORInput
  {
    guard let input = spare.take() else { return CBORInput(bytes, options) }
    if input.options !== options { input.set(options) }
    input.bytes = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    input.count = bytes.count
    return input
  }

  private func set(_ options: CBOROptions<CBORDecoder.Options>) {
    self.options = options
    hasPlainKeys = options.values.hasPlainKeys
  }

  /// Ends the use of the bytes, which belong to the caller again, and keeps the input for the next
  /// one who needs it, if nobody else refers to it.
  static func giveBack(_ input: consuming CBORInput) {
    input.bytes = nil
    input.count = 0
    if !input.ended.isEmpty {
      input.ended.removeAll(keepingCapacity: input.ended.capacity <= 1024)
    }
    // What a caller put into options, such as userInfo, lives no longer than the call.
    if !input.options.areDefaults { input.set(CBORDecoder.Options.defaults) }
    if isKnownUniquelyReferenced(&input) { spare.give(input) }
  }

  // MARK: - Heads

  /// The head at `offset`, with every tag before it skipped.
  ///
  /// - Parameter offset: Receives where the head is; a negative one stands for null.
  @inline(__always)
  func head(at offset: inout Int) throws(CBORFault) -> larder_cbor_head {
    var head = try rawHead(at: offset)
    while Int(head.major) == LARDER_CBOR_TAG {
      offset += Int(head.length)
      head = try rawHead(at: offset)
    }
    return head
  }

  @inline(__always)
  func rawHead(at offset: Int) throws(CBORFault) -> larder_cbor_head {
    var head = larder_cbor_head()
    if offset < 0 {
      head.major = UInt8(LARDER_CBOR_SIMPLE)
      head.info = UInt8(LARDER_CBOR_NULL & 31)
      return head
    }
    guard offset < count, let bytes,
      larder_cbor_read_head(bytes + offset, count - offset, &head)
    else { throw .unreadable }
    return head
  }

  /// Whether null or undefined stands at `offset`.
  @inline(__always)
  func isNil(at offset: Int) -> Bool {
    var offset = offset
    guard let head = try? head(at: &offset) else { return false }
    return isNil(head)
  }

  /// Whether `head` is null or undefined.
  @inline(__always)
  func isNil(_ head: larder_cbor_head) -> Bool {
    Int(head.major) == LARDER_CBOR_SIMPLE
      && (Int(head.info) == LARDER_CBOR_NULL & 31 || Int(head.info) == LARDER_CBOR_UNDEFINED & 31)
  }

  /// How many entries a container has. The check has seen that they are there; bytes that were
  /// changed since claim no more than there can be.
  @inline(__always)
  func clampedCount(_ head: larder_cbor_head) -> Int {
    Int(truncatingIfNeeded: min(head.argument, UInt64(truncatingIfNeeded: count)))
  }

  // MARK: - Ends

  /// Where the item at `offset` ends.
  @inline(__always)
  func end(of offset: Int) throws(CBORFault) -> Int {
    let container = offset
    var offset = offset
    let head = try head(at: &offset)
    switch Int(head.major) {
    case LARDER_CBOR_UNSIGNED, LARDER_CBOR_NEGATIVE, LARDER_CBOR_SIMPLE:
      return offset + Int(head.length)
    case LARDER_CBOR_BYTES where head.info < 28, LARDER_CBOR_TEXT where head.info < 28:
      let start = offset + Int(head.length)
      guard head.argument <= UInt64(truncatingIfNeeded: count - start) else { throw .unreadable }
      return start + Int(truncatingIfNeeded: head.argument)
    default:
      return try end(ofContainer: container)
    }
  }

  @inline(never)
  private func end(ofContainer offset: Int) throws(CBORFault) -> Int {
    // What began behind it is in it, and was asked for before it or never will be.
    while let last = ended.last, last.container >= offset {
      ended.removeLast()
      if last.container == offset {
        return last.end < 0 ? try end(of: ~last.end) : last.end
      }
    }
    var end = 0
    guard larder_cbor_skip(bytes, count, offset, &end) == LARDER_OK else { throw .unreadable }
    return end
  }

  /// Remembers where a container ends, for whoever goes on behind it.
  @inline(__always)
  func note(container: Int, endsAt end: Int) {
    // Nobody goes on behind the outermost.
    guard container > 0 else { return }
    // One that is asked for its last key again and again is noted once.
    if ended.last?.container == container { ended.removeLast() }
    ended.append((container, end))
  }
}

/// Why what is at an offset cannot be what it is asked to be. The caller knows the path, and makes
/// a `DecodingError` of it.
enum CBORFault: Error {
  /// Null where a value has to be.
  case null
  /// Another type of value.
  case mismatch
  /// A number that the type cannot represent.
  case outOfRange
  /// A value of the right type that does not say what it has to.
  case invalid(String)
  /// The bytes are gone, or were changed while they were being decoded.
  case unreadable
}
