// SPDX-License-Identifier: MIT

import CLarder
import Foundation

extension CBORInput {
  /// Decodes any value: those of known types at once, others by their `init(from:)`.
  ///
  /// - Parameter position: The value's own; asked for only if it is needed.
  func decode<T: Decodable>(
    _ type: T.Type, at offset: Int, _ position: () -> CBORPosition
  ) throws -> T {
    // Comparing a type with one that is known costs a compare; asking it costs a container. Nothing
    // here is generic over `T?`, the metadata of which would have to be looked up.
    do throws(CBORFault) {
      if T.self == String.self { return unsafeBitCast(try source.string(at: offset), to: T.self) }
      if T.self == Int.self {
        return unsafeBitCast(try source.integer(at: offset, as: Int.self), to: T.self)
      }
      if T.self == Double.self { return unsafeBitCast(try source.double(at: offset), to: T.self) }
      if T.self == Bool.self { return unsafeBitCast(try source.bool(at: offset), to: T.self) }
      if T.self == Date.self, let date = try date(at: offset) {
        return unsafeBitCast(date, to: T.self)
      }
      if T.self == Data.self { return unsafeBitCast(try source.data(at: offset), to: T.self) }
      if T.self == UUID.self { return unsafeBitCast(try source.uuid(at: offset), to: T.self) }
      if T.self == [Double].self, let doubles = try source.doubles(at: offset) {
        return unsafeBitCast(doubles, to: T.self)
      }
      if T.self == [Int].self, let integers = try source.integers(at: offset) {
        return unsafeBitCast(integers, to: T.self)
      }
      if T.self == [String].self, let strings = try source.strings(at: offset) {
        return unsafeBitCast(strings, to: T.self)
      }
      if T.self == [String: String].self, let dictionary = try source.dictionary(at: offset) {
        return unsafeBitCast(dictionary, to: T.self)
      }
      if T.self == URL.self { return unsafeBitCast(try source.url(at: offset), to: T.self) }
      if T.self == Decimal.self { return unsafeBitCast(try source.decimal(at: offset), to: T.self) }
      if T.self == Float.self { return unsafeBitCast(try source.float(at: offset), to: T.self) }
      if T.self == Int8.self {
        return unsafeBitCast(try source.integer(at: offset, as: Int8.self), to: T.self)
      }
      if T.self == Int16.self {
        return unsafeBitCast(try source.integer(at: offset, as: Int16.self), to: T.self)
      }
      if T.self == Int32.self {
        return unsafeBitCast(try source.integer(at: offset, as: Int32.self), to: T.self)
      }
      if T.self == Int64.self {
        return unsafeBitCast(try source.integer(at: offset, as: Int64.self), to: T.self)
      }
      if T.self == UInt.self {
        return unsafeBitCast(try source.integer(at: offset, as: UInt.self), to: T.self)
      }
      if T.self == UInt8.self {
        return unsafeBitCast(try source.integer(at: offset, as: UInt8.self), to: T.self)
      }
      if T.self == UInt16.self {
        return unsafeBitCast(try source.integer(at: offset, as: UInt16.self), to: T.self)
      }
      if T.self == UInt32.self {
        return unsafeBitCast(try source.integer(at: offset, as: UInt32.self), to: T.self)
      }
      if T.self == UInt64.self {
        return unsafeBitCast(try source.integer(at: offset, as: UInt64.self), to: T.self)
      }
      if T.self == CBORValue.self { return unsafeBitCast(try source.value(at: offset), to: T.self) }
    } catch {
      throw self.error(error, type, position())
    }
    let position = position()
    let array = arrays.answer(for: ObjectIdentifier(type)) { type as? any CBORArray.Type }
    if let array, arrayDepth < Self.mostArrayDepth,
      let elements = array.moderate(at: offset, source)
    {
      arrayDepth += 1
      defer { arrayDepth -= 1 }
      return try Self.decode(array, as: type, elements, position)
    }
    let decoding = CBORDecoding(position: position, offset: offset)
    if T.self == Date.self, case .custom(let decode) = options.values.dates {
      return unsafeBitCast(try decode(decoding), to: T.self)
    }
    return try T(from: decoding)
  }

  /// - Returns: nil for a date that reads itself, or that a closure reads.
  private func date(at offset: Int) throws(CBORFault) -> Date? {
    switch options.values.dates {
    case .tagged: try source.taggedDate(at: offset)
    case .secondsSince1970: Date(timeIntervalSince1970: try source.double(at: offset))
    case .millisecondsSince1970: Date(timeIntervalSince1970: try source.double(at: offset) / 1000)
    case .deferredToDate, .custom: nil
    }
  }
}

extension CBORSource {
  fileprivate func doubles(at offset: Int) throws(CBORFault) -> [Double]? {
    try elements(at: offset) { source, at throws(CBORFault) in try source.double(at: at) }
  }

  fileprivate func integers(at offset: Int) throws(CBORFault) -> [Int]? {
    try elements(at: offset) { source, at throws(CBORFault) in
      try source.integer(at: at, as: Int.self)
    }
  }

  fileprivate func strings(at offset: Int) throws(CBORFault) -> [String]? {
    try elements(at: offset) { source, at throws(CBORFault) in try source.string(at: at) }
  }

  fileprivate func url(at offset: Int) throws(CBORFault) -> URL {
    guard let url = URL(string: try string(at: offset)) else { throw .invalid("This is no URL.") }
    return url
  }

  /// Where the entries of an array or a map begin, and how many there are.
  ///
  /// - Returns: nil for anything else, and for a length that is not known or cannot be.
  @inline(__always)
  func entries(of major: Int, at offset: Int) -> (start: Int, count: Int)? {
    guard let head = try? rawHead(at: offset), Int(head.major) == major,
      Int(head.info) != LARDER_CBOR_INFO_INDEFINITE,
      head.argument <= UInt64(truncatingIfNeeded: count)
    else { return nil }
    return (offset + Int(head.length), Int(truncatingIfNeeded: head.argument))
  }

  /// The elements of an array of one simple type.
  ///
  /// - Returns: nil if one of them, or the array, is something else: then the array
  ///   decodes itself, and finds out where.
  @inline(__always)
  private func elements<Element>(
    at offset: Int, _ element: (CBORSource, Int) throws(CBORFault) -> Element
  ) throws(CBORFault) -> [Element]? {
    guard let (start, length) = entries(of: LARDER_CBOR_ARRAY, at: offset) else { return nil }
    var next = start
    var elements: [Element] = []
    elements.reserveCapacity(length)
    for _ in 0..<length {
      guard let value = try? element(self, next) else { return nil }
      elements.append(value)
      next = try end(of: next)
    }
    return elements
  }

  /// A dictionary of texts.
  ///
  /// - Returns: nil if something in it is no text: then it decodes itself, and finds
  ///   out where.
  fileprivate func dictionary(at offset: Int) throws(CBORFault) -> [String: String]? {
    guard let (start, length) = entries(of: LARDER_CBOR_MAP, at: offset) else { return nil }
    var next = start
    var pairs = [String: String](minimumCapacity: length)
    for _ in 0..<length {
      let value = try end(of: next)
      guard let key = try? string(at: next), let text = try? string(at: value) else { return nil }
      pairs[key] = text
      next = try end(of: value)
    }
    return pairs
  }

  fileprivate func taggedDate(at offset: Int) throws(CBORFault) -> Date {
    var offset = offset
    var head = try rawHead(at: offset)
    var isEpoch = false
    while Int(head.major) == LARDER_CBOR_TAG {
      isEpoch = head.argument == CBORTag.epoch
      offset += Int(head.length)
      head = try rawHead(at: offset)
    }
    if isEpoch { return Date(timeIntervalSince1970: try double(at: offset)) }
    guard Int(head.major) == LARDER_CBOR_TEXT else { throw mismatch(head) }
    let date = try withString(LARDER_CBOR_TEXT, at: offset) { RFC3339.date($0) }
    guard let date else { throw .invalid("This is no date as in RFC 3339.") }
    return date
  }

  fileprivate func uuid(at offset: Int) throws(CBORFault) -> UUID {
    var start = offset
    let head = try head(at: &start)
    if Int(head.major) == LARDER_CBOR_TEXT {
      guard let uuid = UUID(uuidString: try string(at: start)) else {
        throw .invalid("This is no UUID.")
      }
      return uuid
    }
    let uuid: UUID? = try withString(LARDER_CBOR_BYTES, at: start) { bytes in
      guard bytes.count == 16 else { return nil }
      var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      withUnsafeMutableBytes(of: &uuid) { $0.copyMemory(from: UnsafeRawBufferPointer(bytes)) }
      return UUID(uuid: uuid)
    }
    guard let uuid else { throw .invalid("A UUID has 16 bytes.") }
    return uuid
  }

  /// A decimal fraction, or any other number.
  fileprivate func decimal(at offset: Int) throws(CBORFault) -> Decimal {
    let head = try rawHead(at: offset)
    guard Int(head.major) == LARDER_CBOR_TAG, head.argument == CBORTag.decimal else {
      return try plainDecimal(at: offset)
    }
    let array = offset + Int(head.length)
    let pair = try rawHead(at: array)
    guard Int(pair.major) == LARDER_CBOR_ARRAY, try length(pair, at: array) == 2 else {
      throw .invalid("A decimal fraction is an array of two.")
    }
    let exponentAt = array + Int(pair.length)
    let exponent = try integer(at: exponentAt, as: Int8.self)
    let mantissa = try plainDecimal(at: try end(of: exponentAt))
    let value = Decimal(
      sign: mantissa.sign, exponent: Int(exponent), significand: mantissa.magnitude)
    guard !value.isNaN else { throw .outOfRange }
    return value
  }

  private func plainDecimal(at offset: Int) throws(CBORFault) -> Decimal {
    var start = offset
    if let (argument, isNegative) = try bignum(at: offset) {
      guard let value = Decimal(string: "\(argument)") else { throw .outOfRange }
      return isNegative ? -1 - value : value
    }
    let head = try head(at: &start)
    switch Int(head.major) {
    case LARDER_CBOR_UNSIGNED: return Decimal(head.argument)
    case LARDER_CBOR_NEGATIVE: return -1 - Decimal(head.argument)
    default:
      // By its shortest text, as a person who wrote 0.1 means it.
      let number = try double(at: start)
      if number.isNaN { return .nan }
      guard let value = Decimal(string: "\(number)") else { throw .outOfRange }
      return value
    }
  }
}
