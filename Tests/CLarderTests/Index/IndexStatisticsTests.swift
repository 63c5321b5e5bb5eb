// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport
import Testing

@Suite("Index: statistics, listing and hashes") struct IndexStatisticsTests {
  @Test(arguments: IndexModelTests.policies)
  func everyOutcomeIsCountedOnce(policy: larder_index_policy) throws {
    let index = try Index(policy, count: 3, cost: 100)
    for key in 1...3 as ClosedRange<UInt64> { try index.set(key, key, cost: 1) }
    for _ in 0..<70 { _ = index.get(1) }
    _ = index.get(9)
    _ = index.get(1, quietly: true)
    _ = index.get(9, quietly: true)
    #expect(index.statistics.hits == 70 && index.statistics.misses == 1)
    try index.set(4, 4)
    try index.set(4, 5, cost: 99)
    try index.set(5, 5, cost: 101)
    let evicted = index.statistics
    #expect(evicted.insertions == 5)
    #expect(evicted.gone.3 >= 1 && evicted.gone.4 >= 1)
    // Written over once.
    #expect(evicted.gone.1 == 1)
    #expect(evicted.insertions - evicted.byCause.reduce(0, +) + 1 == UInt64(index.count))
    let left = try index.keys()
    #expect(index.remove(left[0]))
    #expect(index.remove(9) == false)
    for key in left.dropFirst() { #expect(index.remove(key, LARDER_INDEX_REPLACED)) }
    try index.set(6, 6, expiry: larder_index_expiry(write: 0))
    #expect(index.expire().count == 1)
    try index.set(7, 7)
    index.clear()
    #expect(index.statistics.gone.0 == 2)
    #expect(index.statistics.gone.1 == UInt64(left.count))
    #expect(index.statistics.gone.2 == 1)
    index.writing { index.c.resetStatistics(index.raw) }
    let reset = index.statistics
    #expect(reset.hits == 0 && reset.misses == 0 && reset.insertions == 0)
    #expect(reset.byCause == [0, 0, 0, 0, 0])
    #expect(reset.memory_bytes > 0)
  }

  @Test func memoryGrowsWithWhatIsThere() throws {
    let index = try Index(LARDER_INDEX_LRU)
    let empty = index.statistics.memory_bytes
    for key in 0..<10_000 as Range<UInt64> { try index.set(key, key) }
    let full = index.statistics.memory_bytes
    #expect(full > empty + 10_000 * 16)
    #expect(full < empty + 10_000 * 64)
    // Links come with a limit, costs with the first cost, deadlines with the first expiry.
    try index.setLimits(count: 20_000)
    let limited = index.statistics.memory_bytes
    try index.set(1, 1, cost: 1)
    let costly = index.statistics.memory_bytes
    try index.setExpiry(write: 10)
    let timed = index.statistics.memory_bytes
    #expect(full < limited && limited < costly && costly < timed)
  }

  @Test(arguments: [LARDER_INDEX_S3FIFO, LARDER_INDEX_ADAPTIVE])
  func whatAPolicyRemembersIsBounded(policy: larder_index_policy) throws {
    let index = try Index(policy, count: 500)
    for key in 0..<2000 as Range<UInt64> { try index.set(key, key) }
    let bytes = index.statistics.memory_bytes
    for key in 0..<20_000 as Range<UInt64> { try index.set(key, key) }
    #expect(index.statistics.memory_bytes <= bytes * 3 / 2)
    #expect(index.contradiction == nil)
  }

  @Test(arguments: IndexModelTests.policies)
  func aListHasRoomForAsManyAsItIsGiven(policy: larder_index_policy) throws {
    let index = try Index(policy, count: 10)
    #expect(try index.keys() == [])
    for key in 0..<10 as Range<UInt64> { try index.set(key, key) }
    for order in [LARDER_INDEX_FIRST_TO_GO, LARDER_INDEX_LAST_TO_GO, LARDER_INDEX_UNORDERED] {
      let all = try index.keys(order)
      #expect(Set(all) == Set(0..<10))
      for limit in [0, 1, 9, 10, 11] {
        #expect(try index.keys(order, limit: limit) == Array(all.prefix(limit)))
      }
    }
    index.writing {
      var count = 77
      var status = index.c.list(index.raw, LARDER_INDEX_FIRST_TO_GO, nil, 0, &count)
      #expect(status == LARDER_OK && count == 0)
      status = index.c.list(index.raw, LARDER_INDEX_UNORDERED, nil, 0, &count)
      #expect(status == LARDER_OK && count == 0)
    }
  }

  @Test(arguments: IndexModelTests.policies)
  func theFirstToGoIsTheFirstThatGoes(policy: larder_index_policy) throws {
    let index = try Index(policy, count: 50)
    for key in 0..<50 as Range<UInt64> { try index.set(key, key) }
    // What a list says of the policies that move entries about is not what will happen.
    if policy == LARDER_INDEX_LRU || policy == LARDER_INDEX_FIFO {
      for key in 0..<50 as Range<UInt64> where key % 3 == 0 { _ = index.get(key) }
      let order = try index.keys()
      #expect(try index.setLimits(count: 20).map(\.key) == Array(order.prefix(30)))
    }
  }

  // MARK: - Hashes and comparisons

  @Test func everyBitOfAHashIsSetForHalfOfTheKeys() {
    let count = 10_000
    var integers = [Int](repeating: 0, count: 64)
    var bytes = integers
    for key in 0..<UInt64(count) {
      let ofInteger = larder_index_hash_u64(key)
      let ofBytes = withUnsafeBytes(of: key) { larder_index_hash_bytes($0.baseAddress, 8) }
      for bit in 0..<64 {
        integers[bit] += Int(ofInteger >> UInt64(bit) & 1)
        bytes[bit] += Int(ofBytes >> UInt64(bit) & 1)
      }
    }
    // Eight times the deviation that chance has.
    #expect(integers.allSatisfy { abs($0 - count / 2) < 400 }, "\(integers)")
    #expect(bytes.allSatisfy { abs($0 - count / 2) < 400 }, "\(bytes)")
    #expect(Set((0..<10_000 as Range<UInt64>).map(larder_index_hash_u64)).count == 10_000)
  }

  @Test func aHashOfBytesIsOfTheirContentAndLength() {
    let bytes = [UInt8](repeating: 7, count: 200)
    let copy = [9] + bytes
    var hashes: Set<UInt64> = [larder_index_hash_bytes(nil, 0)]
    #expect(larder_index_hash_bytes(bytes, 0) == larder_index_hash_bytes(nil, 0))
    for length in 1...200 {
      let hash = larder_index_hash_bytes(bytes, length)
      // Wherever they lie.
      let again = copy.withUnsafeBytes { larder_index_hash_bytes($0.baseAddress! + 1, length) }
      #expect(hash == again)
      hashes.insert(hash)
      for at in [0, length / 2, length - 1] {
        var other = bytes
        other[at] ^= 1
        hashes.insert(larder_index_hash_bytes(other, length))
      }
    }
    // Of a length of 1 the three are one, of 2 two.
    #expect(hashes.count == 1 + 200 * 4 - 3)
  }

  @Test func comparisonsAreOfTheWholeKey() {
    let numbers: [UInt64] = [1, 1 << 63, 1]
    #expect(larder_index_equals_u64([numbers[0], 5] as [UInt64], [numbers[2]]))
    #expect(!larder_index_equals_u64([numbers[0]], [numbers[1]]))
    let text = Array("larder".utf8), other = Array("larden".utf8)
    text.withUnsafeBytes { text in
      other.withUnsafeBytes { other in
        var keys = [
          larder_bytes(data: text.baseAddress, length: 6),
          larder_bytes(data: other.baseAddress, length: 6),
          larder_bytes(data: other.baseAddress, length: 5),
          larder_bytes(data: text.baseAddress, length: 5),
          larder_bytes(data: nil, length: 0),
          larder_bytes(data: text.baseAddress, length: 0),
        ]
        keys.withUnsafeMutableBufferPointer { keys in
          let first = keys.baseAddress!
          #expect(larder_index_equals_bytes(first, first))
          #expect(!larder_index_equals_bytes(first, first + 1))
          #expect(!larder_index_equals_bytes(first, first + 3))
          #expect(larder_index_equals_bytes(first + 2, first + 3))
          #expect(larder_index_equals_bytes(first + 4, first + 5))
          #expect(!larder_index_equals_bytes(first + 4, first))
        }
      }
    }
  }
}
