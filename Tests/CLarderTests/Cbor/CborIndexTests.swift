// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("CBOR index")
struct CborIndexTests {
  /// A container, by its start and end and its keys as bits.
  struct Container: Equatable {
    var start: Int
    var end: Int
    var keys: UInt64
  }

  /// A check with an index, which is used for one input after the other.
  final class Index {
    private var index = larder_cbor_index()

    deinit { larder_cbor_index_destroy(&index) }

    func check(_ bytes: [UInt8], depth: Int = 64) -> (CborVerdict, [Container]) {
      var detail = larder_cbor_detail(fault: LARDER_CBOR_TRAILING, offset: 77)
      let status = larder_cbor_check_and_index(
        bytes, bytes.count, UInt32(depth), &index, &detail)
      var verdict = CborVerdict(detail.fault, at: detail.offset)
      verdict.status = status
      let containers = UnsafeBufferPointer(start: index.containers, count: index.count)
      return (verdict, containers.map { Container(start: $0.start, end: $0.end, keys: $0.keys) })
    }
  }

  @Test func containersAreListedInTheOrderOfTheirStarts() {
    // {"a": [1, {2: []}], -1: 0([_ ])}, and the bits of "a", 2 and -1.
    let bytes = cbor("a2 61 61 82 01 a1 02 80 20 c0 9f ff")
    let (verdict, containers) = Index().check(bytes)
    #expect(verdict == .good)
    let outer = larder_cbor_text_bit([0x61], 1) | larder_cbor_integer_bit(1, 0)
    #expect(
      containers == [
        Container(start: 0, end: 12, keys: outer), Container(start: 3, end: 8, keys: 0),
        Container(start: 5, end: 8, keys: larder_cbor_integer_bit(0, 2)),
        Container(start: 10, end: 12, keys: 0),
      ])
  }

  @Test func whatIsNotGoodHasNoContainers() {
    let index = Index()
    #expect(index.check(cbor("82 80 81 01")).1.count == 2)
    for bytes in ["82 81 01", "81 01 00", "81 81 ff", "a2 01 81 02 01 00", "", "01"] {
      #expect(index.check(cbor(bytes)).1.isEmpty, "\(bytes)")
    }
    #expect(index.check(cbor("81 81 01"), depth: 1).1.isEmpty)
    #expect(index.check(cbor("81 81 01"), depth: 2).1.count == 2)
  }

  @Test(arguments: [63, 64, 65, 10_000])
  func anIndexGrowsAsItHasTo(count: Int) {
    let bytes =
      cborHead(LARDER_CBOR_ARRAY, UInt64(count))
      + [[UInt8]](
        repeating: [0x81, 0x00], count: count
      ).joined()
    let (verdict, containers) = Index().check(bytes)
    #expect(verdict == .good && containers.count == count + 1)
    let head = bytes.count - 2 * count
    for (number, container) in containers.dropFirst().enumerated() {
      let start = head + 2 * number
      guard container == Container(start: start, end: start + 2, keys: 0) else {
        Issue.record("container \(number): \(container)")
        return
      }
    }
  }

  @Test func aDestroyedIndexIsOneOfNothing() {
    var index = larder_cbor_index()
    let bytes: [UInt8] = [0x81, 0x00]
    #expect(larder_cbor_check_and_index(bytes, 2, 4, &index, nil) == 0 && index.count == 1)
    larder_cbor_index_destroy(&index)
    #expect(index.count == 0 && index.capacity == 0 && index.containers == nil)
    larder_cbor_index_destroy(&index)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func randomItemsHaveTheVerdictOfTheCheckAndTheirContainers(part: UInt64) {
    var generator = CborGenerator(seed: 71 + part)
    let seed = generator.seed
    let index = Index()
    var listed = 0
    for number in 0..<6_000 {
      var bytes = generator.item()
      if number % 2 > 0 { bytes = generator.damaged(bytes) }
      let (verdict, containers) = index.check(bytes, depth: 4)
      var wanted: [Container] = []
      if verdict == .good {
        var offset = 0
        Self.collect(bytes, &offset, &wanted)
      }
      listed += wanted.count
      if verdict != CborVerdict(checking: bytes, depth: 4) || containers != wanted {
        Issue.record("\(containers), not \(wanted): \(bytes), seed \(seed)")
      }
    }
    #expect(listed > 1_200, "seed \(seed)")
  }

  /// The containers of a good item, found by a function that calls itself.
  private static func collect(
    _ bytes: [UInt8], _ offset: inout Int, _ containers: inout [Container]
  ) {
    var head = larder_cbor_head()
    bytes.withUnsafeBufferPointer {
      _ = larder_cbor_read_head($0.baseAddress! + offset, $0.count - offset, &head)
    }
    let start = offset
    let major = Int(head.major)
    if major == LARDER_CBOR_TAG {
      offset += Int(head.length)
      return collect(bytes, &offset, &containers)
    }
    guard major == LARDER_CBOR_ARRAY || major == LARDER_CBOR_MAP else {
      offset = CborEnd(skipping: bytes, at: offset).end
      return
    }
    let isIndefinite = Int(head.info) == LARDER_CBOR_INFO_INDEFINITE
    let place = containers.count
    if isIndefinite || head.argument > 0 {
      containers.append(Container(start: start, end: 0, keys: 0))
    }
    offset += Int(head.length)
    var keys: UInt64 = 0
    var left = isIndefinite ? UInt64.max : head.argument
    while left > 0, bytes[offset] != 0xFF {
      if major == LARDER_CBOR_MAP {
        keys |= bit(ofKey: Array(bytes[offset..<CborEnd(skipping: bytes, at: offset).end]))
        collect(bytes, &offset, &containers)
      }
      collect(bytes, &offset, &containers)
      left -= 1
    }
    if isIndefinite { offset += 1 }
    guard containers.count > place else { return }
    containers[place].end = offset
    containers[place].keys = keys
  }

  /// The bit of a key by what it says, in whatever form.
  private static func bit(ofKey key: [UInt8]) -> UInt64 {
    var head = larder_cbor_head()
    guard larder_cbor_read_head(key, key.count, &head) else { return 0 }
    switch Int(head.major) {
    case LARDER_CBOR_UNSIGNED, LARDER_CBOR_NEGATIVE:
      return larder_cbor_integer_bit(UInt32(head.major), head.argument)
    case LARDER_CBOR_TEXT where Int(head.info) != LARDER_CBOR_INFO_INDEFINITE:
      let text = Array(key.dropFirst(Int(head.length)))
      return larder_cbor_text_bit(text, text.count)
    case LARDER_CBOR_TEXT:
      var text: [UInt8] = []
      var rest = key.dropFirst()
      while rest.first != 0xFF {
        let chunk = Array(rest)
        guard larder_cbor_read_head(chunk, chunk.count, &head) else { return 0 }
        rest = rest.dropFirst(Int(head.length))
        text += rest.prefix(Int(head.argument))
        rest = rest.dropFirst(Int(head.argument))
      }
      return larder_cbor_text_bit(text, text.count)
    default: return 0
    }
  }
}
