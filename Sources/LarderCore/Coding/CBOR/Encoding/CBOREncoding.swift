// SPDX-License-Identifier: MIT

import CLarder

/// What a type's `encode(to:)` is given.
struct CBOREncoding: Encoder {
  let writer: CBORWriter
  let item: CBORItem
  let path: CBORPath?

  var codingPath: [any CodingKey] { path.keys }

  var userInfo: [CodingUserInfoKey: Any] { writer.options.values.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    writer.become(.map, item, path)
    return writer.container(item, path, type)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    writer.become(.array, item, path)
    return CBORUnkeyedEncoding(writer: writer, item: item, path: path)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension CBORWriter {
  /// Makes a container of the place of a value. A second one of the same kind is the same one, and
  /// so is one behind a whole value of that kind.
  func become(_ kind: Kind, _ item: CBORItem, _ path: CBORPath?) {
    guard isCurrent(item) else { return }
    let record = items + Int(item.index)
    if record.pointee.kind == kind { return }
    guard record.pointee.kind == .pending, item.index >= firstMovable else {
      if item.index >= firstMovable, reopen(Int(item.index), as: kind) { return }
      return fail(unusable(path, "A value asked for two kinds of containers."))
    }
    record.pointee.kind = kind
    bytes[record.pointee.head] = kind == .array ? 0x80 : 0xa0
  }

  /// Makes the place of a value ready for the one that is its whole.
  ///
  /// - Returns: Whether `endLate` has to be called when it is written.
  func beginSingle(_ item: CBORItem, _ path: CBORPath?) throws -> Bool {
    guard isCurrent(item), item.index >= firstMovable else {
      throw unusable(path, "An encoder was used after its value was encoded.")
    }
    let record = items + Int(item.index)
    guard record.pointee.kind == .pending else {
      throw unusable(path, "A value was encoded twice.")
    }
    record.pointee.kind = .single
    if record.pointee.isSealed {
      beginLate(item, isReplacing: true)
      return true
    }
    seal(downTo: item.index)
    count = record.pointee.head
    return false
  }
}

extension CBORWriter {
  /// Puts the empty map back in the place of a value that failed.
  func abandonSingle(_ item: CBORItem) {
    guard isCurrent(item), !items[Int(item.index)].isSealed else { return }
    let record = items + Int(item.index)
    itemCount = Int(item.index) + 1
    top = item.index
    record.pointee.kind = .pending
    count = record.pointee.head
    write(byte: 0xa0)
  }
}

extension CBOREncoding: SingleValueEncodingContainer {
  /// Writes the one value there is.
  @inline(__always)
  private func write(_ body: (CBORWriter) throws -> Void) throws {
    let isLate = try writer.beginSingle(item, path)
    defer { if isLate { writer.endLate() } }
    try body(writer)
  }

  func encodeNil() throws { try write { $0.writeNil() } }
  func encode(_ value: Bool) throws { try write { $0.write(value) } }
  func encode(_ value: String) throws { try write { $0.write(value) } }
  func encode(_ value: Double) throws { try write { $0.write(value) } }
  func encode(_ value: Float) throws { try encode(Double(value)) }
  func encode(_ value: Int) throws { try encode(Int64(value)) }
  func encode(_ value: Int8) throws { try encode(Int64(value)) }
  func encode(_ value: Int16) throws { try encode(Int64(value)) }
  func encode(_ value: Int32) throws { try encode(Int64(value)) }
  func encode(_ value: Int64) throws { try write { $0.write(value) } }
  func encode(_ value: Int128) throws { try write { $0.write(value) } }
  func encode(_ value: UInt) throws { try encode(UInt64(value)) }
  func encode(_ value: UInt8) throws { try encode(UInt64(value)) }
  func encode(_ value: UInt16) throws { try encode(UInt64(value)) }
  func encode(_ value: UInt32) throws { try encode(UInt64(value)) }
  func encode(_ value: UInt64) throws { try write { $0.write(value) } }
  func encode(_ value: UInt128) throws { try write { $0.write(value) } }

  func encode<T: Encodable>(_ value: T) throws {
    try write { writer in
      do {
        try writer.write(value, at: { path })
      } catch {
        writer.abandonSingle(item)
        throw error
      }
    }
  }
}
