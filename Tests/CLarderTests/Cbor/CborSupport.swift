// SPDX-License-Identifier: MIT
import CLarder

/// Bytes written as the RFC writes them: `cbor("83 01 02 03")`.
func cbor(_ hex: String) -> [UInt8] {
  let digits = hex.compactMap { $0.hexDigitValue }
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func cborHead(_ major: Int, _ argument: UInt64) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: 9) { buffer, count in
    count = larder_cbor_write_head(buffer.baseAddress!, UInt32(major), argument)
  }
}

func cborText(_ text: String) -> [UInt8] {
  cborHead(LARDER_CBOR_TEXT, UInt64(text.utf8.count)) + text.utf8
}

/// What a check says, and where.
struct CborVerdict: Equatable, CustomStringConvertible {
  var status: Int32
  var fault: larder_cbor_fault
  var offset: Int

  /// The status follows from the fault.
  init(_ fault: larder_cbor_fault, at offset: Int) {
    self.fault = fault
    self.offset = offset
    status =
      switch fault {
      case LARDER_CBOR_GOOD: Int32(LARDER_OK)
      case LARDER_CBOR_CUT_OFF: Int32(LARDER_EINCOMPLETE)
      case LARDER_CBOR_TOO_DEEP: Int32(LARDER_ETOOLARGE)
      default: Int32(LARDER_EDAMAGED)
      }
  }

  init(checking bytes: [UInt8], depth: Int = 64) {
    var detail = larder_cbor_detail(fault: LARDER_CBOR_TRAILING, offset: 77)
    status = larder_cbor_check(bytes, bytes.count, UInt32(depth), &detail)
    fault = detail.fault
    offset = detail.offset
  }

  static let good = CborVerdict(LARDER_CBOR_GOOD, at: 0)

  var description: String {
    "\(status): \(String(cString: larder_cbor_fault_text(fault))) at \(offset)"
  }
}

/// What finds an end gives.
struct CborEnd: Equatable {
  var status: Int32
  var end: Int

  init(status: Int32, end: Int) {
    self.status = status
    self.end = end
  }

  init(skipping bytes: [UInt8], at offset: Int = 0) {
    end = 77
    status = larder_cbor_skip(bytes, bytes.count, offset, &end)
  }
}

/// The pairs of a map, as offsets.
struct CborPairs: Equatable {
  var status: Int32
  var pairs: [[Int]] = []
  var end = 0

  init(status: Int32, pairs: [[Int]] = [], end: Int = 0) {
    self.status = status
    self.pairs = pairs
    self.end = end
  }

  /// With room for all pairs, or for fewer.
  init(of bytes: [UInt8], at offset: Int = 0, capacity: Int? = nil) {
    var count = 77
    end = 77
    var room = [larder_cbor_pair](
      repeating: larder_cbor_pair(key: 0, value: 0), count: capacity ?? bytes.count)
    status = larder_cbor_map_pairs(bytes, bytes.count, offset, &room, room.count, &count, &end)
    pairs = room.prefix(count).map { [$0.key, $0.value] }
  }
}
