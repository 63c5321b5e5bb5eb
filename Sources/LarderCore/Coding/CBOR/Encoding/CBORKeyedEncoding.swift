// SPDX-License-Identifier: MIT

import CLarder

/// The entries of a map.
struct CBORKeyedEncoding<Key: CodingKey>: CBORKeyedEncodingContainer {
  let writer: CBORWriter
  let item: CBORItem
  let path: CBORPath?
  /// Whether a key that has a number is written as one.
  let writesIntegers: Bool
  /// Whether no key can come twice.
  let hasUniqueKeys: Bool

  init(writer: CBORWriter, item: CBORItem, path: CBORPath?) {
    self.writer = writer
    self.item = item
    self.path = path
    hasUniqueKeys = ObjectIdentifier(Key.self) == DictionaryKeys.codingKeyType
    writesIntegers = !hasUniqueKeys || DictionaryKeys.areIntegers(of: writer.valueType)
  }

  var codingPath: [any CodingKey] { path.keys }

  /// Writes a key, and makes the place behind it ready for the value.
  @inline(__always)
  private func begin(_ key: Key) throws -> CBORWriter.Mark {
    let isLate = try writer.focus(item, path)
    var mark = CBORWriter.Mark(
      count: writer.count, itemCount: writer.itemCount, isLate: isLate, keyEnd: writer.count)
    let record = writer.items + Int(item.index)
    record.pointee.count += 1
    let hash: UInt16
    if writesIntegers, let number = key.integer {
      writer.write(number)
      hash = UInt16(truncatingIfNeeded: number)
    } else if hasUniqueKeys || writer.hasPlainKeys {
      hash = writer.write(key: key.stringValue)
    } else {
      hash = writer.write(key: writer.options.values.converted(key, path))
    }
    if !hasUniqueKeys, writer.noteKey(hash, item, at: mark) {
      record.pointee.mayRepeatKeys = true
      mark.mayRepeatKey = true
    }
    mark.keyEnd = writer.count
    return mark
  }

  /// Ends the entry whose value was written.
  @inline(__always)
  private func end(_ mark: CBORWriter.Mark) {
    if mark.mayRepeatKey { writer.disown(item, at: mark) }
    if mark.isLate { writer.endLate() }
  }

  @inline(__always)
  private func write(_ key: Key, _ body: (CBORWriter) -> Void) throws {
    let mark = try begin(key)
    body(writer)
    end(mark)
  }

  func encodeNil(forKey key: Key) throws { try write(key) { $0.writeNil() } }
  func encode(_ value: Bool, forKey key: Key) throws { try write(key) { $0.write(value) } }
  func encode(_ value: String, forKey key: Key) throws { try write(key) { $0.write(value) } }
  func encode(_ value: Double, forKey key: Key) throws { try write(key) { $0.write(value) } }
  func encode(_ value: Float, forKey key: Key) throws { try encode(Double(value), forKey: key) }
  func encode(_ value: Int, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
  func encode(_ value: Int8, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
  func encode(_ value: Int16, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
  func encode(_ value: Int32, forKey key: Key) throws { try encode(Int64(value), forKey: key) }
  func encode(_ value: Int64, forKey key: Key) throws { try write(key) { $0.write(value) } }
  func encode(_ value: Int128, forKey key: Key) throws { try write(key) { $0.write(value) } }
  func encode(_ value: UInt, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
  func encode(_ value: UInt8, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
  func encode(_ value: UInt16, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
  func encode(_ value: UInt32, forKey key: Key) throws { try encode(UInt64(value), forKey: key) }
  func encode(_ value: UInt64, forKey key: Key) throws { try write(key) { $0.write(value) } }
  func encode(_ value: UInt128, forKey key: Key) throws { try write(key) { $0.write(value) } }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let mark = try begin(key)
    do {
      try writer.write(value, at: { CBORPath(path, key) })
    } catch {
      writer.rollBack(item, to: mark)
      throw error
    }
    end(mark)
  }

  /// Writes an empty container that can be added to as long as this one.
  private func open(_ kind: CBORWriter.Kind, _ key: Key) -> CBOREncoding {
    let path = CBORPath(path, key)
    do {
      var mark = try begin(key)
      if mark.mayRepeatKey {
        if let earlier = writer.takeBack(kind, in: item, begunAt: mark) {
          return CBOREncoding(writer: writer, item: earlier, path: path)
        }
        mark = try begin(key)
      }
      let nested = writer.open(kind, keyBytes: mark.keyEnd - mark.count)
      end(mark)
      return CBOREncoding(writer: writer, item: nested, path: path)
    } catch {
      writer.fail(error)
      return CBOREncoding(writer: writer, item: .none, path: path)
    }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    open(.map, key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    open(.array, key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    let named = CBORKeyedEncoding<CBORKey>(writer: writer, item: item, path: path)
    return named.open(.pending, .super)
  }

  func superEncoder(forKey key: Key) -> any Encoder { open(.pending, key) }
}

extension CBORItem {
  /// Names no record.
  static let none = CBORItem(index: .max, serial: 0)
}
