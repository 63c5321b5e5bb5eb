// SPDX-License-Identifier: MIT

// Keyed containers are generic over their keys. To make one takes its type and its conformance,
// which generic code has the runtime look up in tables of all generic types each time. An object
// that has them as its own type's parameters need not: a maker for one type of keys.

/// Makes containers to decode from.
class CBORDecodingMaker<Key: CodingKey> {
  func container(of map: CBORPosition) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(CBORKeyedDecoding<Key>(map: map))
  }
}

private final class CBORDecodingMakerFor<Container: CBORKeyedDecodingContainer>:
  CBORDecodingMaker<Container.Key>
{
  override func container(of map: CBORPosition) -> KeyedDecodingContainer<Container.Key> {
    KeyedDecodingContainer(Container(map: map))
  }
}

/// Makes containers to encode into.
class CBOREncodingMaker<Key: CodingKey> {
  func container(
    _ writer: CBORWriter, _ item: CBORItem, _ path: CBORPath?
  ) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(CBORKeyedEncoding<Key>(writer: writer, item: item, path: path))
  }
}

private final class CBOREncodingMakerFor<Container: CBORKeyedEncodingContainer>:
  CBOREncodingMaker<Container.Key>
{
  override func container(
    _ writer: CBORWriter, _ item: CBORItem, _ path: CBORPath?
  ) -> KeyedEncodingContainer<Container.Key> {
    KeyedEncodingContainer(Container(writer: writer, item: item, path: path))
  }
}

/// What there is to a keyed container to decode from, whatever its keys are.
protocol CBORKeyedDecodingContainer: KeyedDecodingContainerProtocol {
  init(map: CBORPosition)
}

/// What there is to a keyed container to encode into, whatever its keys are.
protocol CBORKeyedEncodingContainer: KeyedEncodingContainerProtocol {
  init(writer: CBORWriter, item: CBORItem, path: CBORPath?)
}

extension CBORInput {
  /// A container for the map at a position of this input.
  @inline(__always)
  func container<Key: CodingKey>(
    of map: CBORPosition, _ type: Key.Type
  ) -> KeyedDecodingContainer<Key> {
    let maker = makers.answer(for: ObjectIdentifier(type)) {
      CBORDecodingMakerFor<CBORKeyedDecoding<Key>>()
    }
    // The answer for a type of keys is a maker for it.
    return unsafeDowncast(maker, to: CBORDecodingMaker<Key>.self).container(of: map)
  }
}

extension CBORWriter {
  /// A container for the map that an item has become.
  @inline(__always)
  func container<Key: CodingKey>(
    _ item: CBORItem, _ path: CBORPath?, _ type: Key.Type
  ) -> KeyedEncodingContainer<Key> {
    let maker = makers.answer(for: ObjectIdentifier(type)) {
      CBOREncodingMakerFor<CBORKeyedEncoding<Key>>()
    }
    // The answer for a type of keys is a maker for it.
    return unsafeDowncast(maker, to: CBOREncodingMaker<Key>.self).container(self, item, path)
  }
}
