// SPDX-License-Identifier: MIT

/// The elements of an array.
struct CBORUnkeyedEncoding: UnkeyedEncodingContainer {
  let writer: CBORWriter
  let item: CBORItem
  let path: CBORPath?

  var codingPath: [any CodingKey] { path.keys }

  var count: Int { writer.isCurrent(item) ? writer.items[Int(item.index)].count : 0 }

  /// Makes the place behind the last element ready for another.
  @inline(__always)
  private func begin() throws -> CBORWriter.Mark {
    let isLate = try writer.focus(item, path)
    writer.items[Int(item.index)].count += 1
    return CBORWriter.Mark(
      count: writer.count, itemCount: writer.itemCount, isLate: isLate, keyEnd: writer.count)
  }

  @inline(__always)
  private func write(_ body: (CBORWriter) -> Void) throws {
    let mark = try begin()
    body(writer)
    if mark.isLate { writer.endLate() }
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
    let mark = try begin()
    do {
      try writer.write(value, at: { CBORPath(path, index: count - 1) })
    } catch {
      writer.rollBack(item, to: mark)
      throw error
    }
    if mark.isLate { writer.endLate() }
  }

  /// Writes an empty container that can be added to as long as this one.
  private func open(_ kind: CBORWriter.Kind) -> CBOREncoding {
    let path = CBORPath(path, index: count)
    do {
      let mark = try begin()
      let nested = writer.open(kind)
      if mark.isLate { writer.endLate() }
      return CBOREncoding(writer: writer, item: nested, path: path)
    } catch {
      writer.fail(error)
      return CBOREncoding(writer: writer, item: .none, path: path)
    }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    open(.map).container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    open(.array).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { open(.pending) }
}
