// SPDX-License-Identifier: MIT
//
// libFuzzer target: arbitrary bytes as CBOR values of several types. Nothing may
// trap, and what was decoded has to survive being encoded and decoded again. Built
// as one module with the coder's own sources, so that the fuzzer sees its branches.

import CLarder
import Foundation

private struct Document: Codable {
  struct Inner: Codable {
    var id: Int
    var name: String?
  }

  var id: Int
  var name: String
  var when: Date?
  var data: Data?
  var link: URL?
  var uuid: UUID?
  var price: Decimal?
  var big: Int128?
  var small: UInt8?
  var ratio: Float?
  var tags: [String]?
  var inner: Inner?
}

private enum Shape: Codable {
  case circle(radius: Double)
  case text(String, Int)
  case nothing
}

/// As deep as the bytes say.
private final class Chain: Codable {
  var next: Chain?
}

private class Base: Codable {
  var id = 0
}

private final class Derived: Base {
  var name = ""

  private enum Keys: String, CodingKey { case name, base }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Keys.self)
    name = try container.decode(String.self, forKey: .name)
    try super.init(from: container.superDecoder(forKey: .base))
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Keys.self)
    try container.encode(name, forKey: .name)
    try super.encode(to: container.superEncoder(forKey: .base))
  }
}

private func violated(_ what: String) -> Never {
  FileHandle.standardError.write(Data("does not hold: \(what)\n".utf8))
  abort()
}

private let deterministic: CBOREncoder = {
  var encoder = CBOREncoder()
  encoder.isDeterministic = true
  return encoder
}()

/// Encodes what was decoded, and decodes that: the same, as far as its bytes tell
/// in the form in which equal values have equal bytes.
private func roundTrip<T: Codable>(_ value: T) {
  do {
    let again = try CBORDecoder().decode(T.self, from: CBOREncoder().encode(value))
    let bytes = try deterministic.encode(value)
    if try deterministic.encode(again) != bytes { violated("\(T.self) changes") }
    let ordered = try CBORDecoder().decode(T.self, from: bytes)
    if try deterministic.encode(ordered) != bytes { violated("\(T.self) changes in order") }
  } catch {
    violated("\(T.self) is not read back: \(error)")
  }
}

/// - Parameter hasDecimals: whether equal values may have different bytes, as the
///   `Decimal`s 1 and 1.0 have, but no more once they were written and read.
private func use<T: Codable>(
  _ type: T.Type, _ bytes: UnsafeRawBufferPointer, _ isGood: Bool, hasDecimals: Bool = false
) {
  do {
    var value = try CBORDecoder().decode(type, from: bytes)
    if !isGood { violated("\(type) was read from what is no item") }
    if hasDecimals { value = try CBORDecoder().decode(type, from: CBOREncoder().encode(value)) }
    roundTrip(value)
  } catch is DecodingError {
  } catch {
    violated("\(type): \(error)")
  }
}

/// Whether two keys of one map are the same in the shortest form, in which they
/// are written. The check compares floats, arrays and the like as they were.
private func repeatsAKey(_ value: CBORValue) -> Bool {
  switch value {
  case .array(let items): return items.contains(where: repeatsAKey)
  case .tagged(_, let item): return repeatsAKey(item)
  case .map(let pairs):
    let keys = Set(pairs.map { try? $0.key.encoded })
    return keys.count < pairs.count
      || pairs.contains { repeatsAKey($0.key) || repeatsAKey($0.value) }
  default: return false
  }
}

/// Any item at all is a `CBORValue`.
private func useValue(_ bytes: UnsafeRawBufferPointer, _ isGood: Bool) {
  do {
    let value = try CBORValue(bytes)
    if !isGood { violated("a value was read from what is no item") }
    _ = value.description
    if repeatsAKey(value) { return }
    roundTrip(value)
    // The order of pairs is part of it.
    let bytes = try value.encoded
    if try CBORValue(bytes).encoded != bytes { violated("a value changes") }
  } catch is DecodingError {
    if isGood { violated("a good item is no value") }
  } catch {
    violated("a value: \(error)")
  }
}

/// One input, as libFuzzer passes it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCBOR(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: data, count: size)
  let isGood = larder_cbor_check(data, size, 512, nil) == LARDER_OK
  useValue(bytes, isGood)
  use(Document.self, bytes, isGood, hasDecimals: true)
  use([Document].self, bytes, isGood, hasDecimals: true)
  use([String: [Int]].self, bytes, isGood)
  use([Int: String].self, bytes, isGood)
  use([Bool?].self, bytes, isGood)
  use([String: Double].self, bytes, isGood)
  // An array, in the order that a dictionary happens to have: not the same twice.
  _ = try? CBORDecoder().decode([Double: Bool?].self, from: bytes)
  use(Shape.self, bytes, isGood)
  use(Chain.self, bytes, isGood)
  use(Derived.self, bytes, isGood)
  use([[UInt16]].self, bytes, isGood)
  use(Date.self, bytes, isGood)
  use(Data.self, bytes, isGood)
  use(URL.self, bytes, isGood)
  use(UUID.self, bytes, isGood)
  use(Decimal.self, bytes, isGood, hasDecimals: true)
  use(Int128.self, bytes, isGood)
  use(UInt128.self, bytes, isGood)
  use(Float.self, bytes, isGood)
  return 0
}
