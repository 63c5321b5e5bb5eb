// SPDX-License-Identifier: MIT

import CLarder
import Foundation

// How bytes become values.
//
// The whole input is checked once, in C: one well-formed item and nothing else, no key twice, all
// text UTF-8, not too deep. The check lists the containers; nothing else is built. What a type then
// asks for is found at an offset in place. Types mostly ask for keys in the order in which they
// wrote them, so a map remembers where it stands and compares its next key first.
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
  /// What is read, for as long as the call of `decode` lasts; then no bytes.
  let source: CBORSource
  /// By types of keys, a `CBORDecodingMaker` each.
  let makers = CBORTypeTable<AnyObject>()
  /// Arrays that are being decoded in place, one in the other.
  var arrayDepth = 0
  /// Deeper ones decode themselves, which takes a smaller part of a small thread's stack.
  static var mostArrayDepth: Int { 8 }
  /// Which types are arrays.
  let arrays = CBORTypeTable<(any CBORArray.Type)?>()

  private init(_ options: CBOROptions<CBORDecoder.Options>) {
    self.options = options
    hasPlainKeys = options.values.hasPlainKeys
    source = CBORSource()
  }

  deinit {
    source.deallocate()
    makers.deallocate()
    arrays.deallocate()
  }

  /// One input that is not in use.
  private static let spare = Spare<CBORInput>()

  /// The spare input, or a new one.
  static func take(_ options: CBOROptions<CBORDecoder.Options>) -> CBORInput {
    guard let input = spare.take() else { return CBORInput(options) }
    if input.options !== options { input.set(options) }
    return input
  }

  /// Begins the use of bytes that are one good item; nothing can be read of others.
  func begin(
    _ bytes: UnsafeRawBufferPointer, depthLimit: UInt32, _ detail: inout larder_cbor_detail
  ) -> larder_status {
    source.begin(bytes, depthLimit: depthLimit, &detail)
  }

  private func set(_ options: CBOROptions<CBORDecoder.Options>) {
    self.options = options
    hasPlainKeys = options.values.hasPlainKeys
  }

  /// Ends the use of the bytes, which belong to the caller again, and keeps the input for reuse,
  /// unless something else refers to it.
  static func giveBack(_ input: consuming CBORInput) {
    input.source.end()
    // What a caller put into options, such as userInfo, lives no longer than the call.
    if !input.options.areDefaults { input.set(CBORDecoder.Options.defaults) }
    if isKnownUniquelyReferenced(&input) { spare.give(input) }
  }
}

/// The bytes of an input, and what the check found in them.
///
/// The address of what is the input's own, without a reference to it, so that nothing has to be
/// counted where a value is read: whoever has one has the input, too.
struct CBORSource {
  private struct State {
    /// nil if there are none.
    var bytes: UnsafePointer<UInt8>?
    var count = 0
    /// Where containers end, and which keys they may have.
    var index = larder_cbor_index()
    /// The position in the index behind the container that was asked for last.
    var next = 0
  }

  /// Beyond this the memory of the index is given back when the bytes are.
  private static let mostSpareContainers = 1 << 11

  private let state: UnsafeMutablePointer<State>

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: State())
  }

  func deallocate() {
    larder_cbor_index_destroy(&state.pointee.index)
    state.deallocate()
  }

  @inline(__always)
  var bytes: UnsafePointer<UInt8>? { state.pointee.bytes }

  @inline(__always)
  var count: Int { state.pointee.count }

  func begin(
    _ bytes: UnsafeRawBufferPointer, depthLimit: UInt32, _ detail: inout larder_cbor_detail
  ) -> larder_status {
    let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let status = larder_cbor_check_and_index(
      start, bytes.count, depthLimit, &state.pointee.index, &detail)
    guard status == LARDER_OK else { return status }
    state.pointee.bytes = start
    state.pointee.count = bytes.count
    state.pointee.next = 0
    return status
  }

  func end() {
    state.pointee.bytes = nil
    state.pointee.count = 0
    state.pointee.index.count = 0
    if state.pointee.index.capacity > Self.mostSpareContainers {
      larder_cbor_index_destroy(&state.pointee.index)
    }
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
    if let initial = initialByte(at: offset), initial & 31 < 24 {
      return larder_cbor_head(
        argument: UInt64(initial & 31), major: initial >> 5, info: initial & 31, length: 1)
    }
    return try longHead(at: offset)
  }

  /// The byte at `offset`; nil if that is none of the input's.
  @inline(__always)
  func initialByte(at offset: Int) -> UInt8? {
    guard UInt(bitPattern: offset) < UInt(bitPattern: count), let bytes else { return nil }
    return bytes[offset]
  }

  /// As `rawHead`, for what is not one byte.
  @inline(never)
  private func longHead(at offset: Int) throws(CBORFault) -> larder_cbor_head {
    if offset < 0 {
      let info = UInt8(LARDER_CBOR_NULL & 31)
      return larder_cbor_head(
        argument: UInt64(info), major: UInt8(LARDER_CBOR_SIMPLE), info: info, length: 1)
    }
    var head = larder_cbor_head()
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
    if let initial = initialByte(at: offset), initial & 31 < 28 {
      let (major, info) = (Int(initial >> 5), Int(initial & 31))
      if major <= LARDER_CBOR_NEGATIVE || major == LARDER_CBOR_SIMPLE {
        let length = info < 24 ? 1 : 1 + (1 << (info - 24))
        if length <= count - offset { return offset + length }
      } else if major <= LARDER_CBOR_TEXT, info < 24, info < count - offset {
        return offset + 1 + info
      }
    }
    return try end(ofLong: offset)
  }

  /// As `end`, for what is neither a number nor a short string.
  @inline(never)
  private func end(ofLong item: Int) throws(CBORFault) -> Int {
    var offset = item
    let head = try head(at: &offset)
    switch Int(head.major) {
    case LARDER_CBOR_UNSIGNED, LARDER_CBOR_NEGATIVE, LARDER_CBOR_SIMPLE:
      return offset + Int(head.length)
    case LARDER_CBOR_BYTES where head.info < 28, LARDER_CBOR_TEXT where head.info < 28:
      let start = offset + Int(head.length)
      guard head.argument <= UInt64(truncatingIfNeeded: count - start) else { throw .unreadable }
      return start + Int(truncatingIfNeeded: head.argument)
    case LARDER_CBOR_BYTES, LARDER_CBOR_TEXT:
      return try end(ofChunks: item)
    default:
      if head.argument == 0 && head.info < 28 { return offset + Int(head.length) }
      return try container(at: offset).end
    }
  }

  @inline(never)
  private func end(ofChunks offset: Int) throws(CBORFault) -> Int {
    var end = 0
    guard larder_cbor_skip(bytes, count, offset, &end) == LARDER_OK else { throw .unreadable }
    return end
  }

  /// What is known of the container whose head is at `offset`, and shows that it is not empty.
  ///
  /// Types decode containers in their order, and go on behind one that they just decoded, or did
  /// not need: it is the one behind that of the last call most often, or a few before that.
  @inline(__always)
  func container(at offset: Int) throws(CBORFault) -> larder_cbor_container {
    let next = state.pointee.next
    if next < state.pointee.index.count, let container = state.pointee.index.containers?[next],
      container.start == offset
    {
      state.pointee.next = next + 1
      return container
    }
    return try otherContainer(at: offset)
  }

  @inline(never)
  private func otherContainer(at offset: Int) throws(CBORFault) -> larder_cbor_container {
    let count = state.pointee.index.count
    guard let containers = state.pointee.index.containers else { throw .unreadable }
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if containers[middle].start < offset { low = middle + 1 } else { high = middle }
    }
    // Bytes that were changed since the check can claim a container where there was none.
    guard low < count, containers[low].start == offset else { throw .unreadable }
    state.pointee.next = max(state.pointee.next, low + 1)
    return containers[low]
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
